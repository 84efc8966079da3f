"""The names that users import from `pytest_ocg`, and what an import of them costs."""

import subprocess
import sys
from pathlib import Path

import pytest

import pytest_ocg
from pytest_ocg.cli import main

IMPORTED = """
import sys
import pytest_ocg
{use}
print(*sorted(name for name in sys.modules if name.startswith("pytest_ocg.")))
"""


def modules_after(use):
    """The modules of the package that are loaded after an import of it and a line of code."""
    script = IMPORTED.format(use=use)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return ran.stdout.split()


@pytest.mark.parametrize("name", pytest_ocg.__all__)
def test_every_public_name_is_there(name):
    found = getattr(pytest_ocg, name)
    if name not in ("__version__", "Replies"):  # a text and a type alias, which have no name of their own
        assert found.__name__ == name
    assert name in dir(pytest_ocg)


def test_every_name_that_has_a_module_is_public():
    assert sorted([*pytest_ocg._MODULES, "__version__"]) == sorted(pytest_ocg.__all__)


def test_a_star_import_brings_exactly_the_public_names():
    names = {}
    exec("from pytest_ocg import *", names)
    assert set(names) - {"__builtins__"} == set(pytest_ocg.__all__)


def test_an_import_of_the_package_loads_no_module_of_it():
    assert modules_after("") == []


def test_a_name_loads_only_its_own_module_and_what_that_needs():
    assert modules_after("pytest_ocg.ModelError") == ["pytest_ocg.errors"]


def test_an_unknown_name_gives_the_usual_errors():
    with pytest.raises(AttributeError, match=r"^module 'pytest_ocg' has no attribute 'nosuch'$"):
        _ = pytest_ocg.nosuch
    with pytest.raises(ImportError, match=r"^cannot import name 'nosuch' from 'pytest_ocg'"):
        from pytest_ocg import nosuch  # noqa: F401  # the name does not exist, which is the point


def test_pytest_and_ocg_show_the_same_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"ocg {pytest_ocg.__version__}\n"
    shown = subprocess.run([sys.executable, "-m", "pytest", "-VV"], capture_output=True, text=True, check=True)
    plugin = str(Path(pytest_ocg.__file__).with_name("plugin.py"))
    lines = [line for line in (shown.stdout + shown.stderr).splitlines() if line.endswith(plugin)]
    assert [line.split() for line in lines] == [[f"pytest-ordered-commongen-{pytest_ocg.__version__}", "at", plugin]]
