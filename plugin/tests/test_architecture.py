"""What the contracts of `lint-imports` cannot say: who owns a library, and what an unused plugin loads."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pytest_ocg"
FILES = {path.relative_to(PACKAGE).with_suffix("").as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
OWNERS = {
    "difflib": {"errors"},
    "tomllib": {"inputs/files"},
    "huggingface_hub": {"inputs/hub", "backends/huggingface/runtime", "metrics/bleurt_model"},
    "spacy": {"run/judging/words"},
    "sqlite3": {"run/cache/cache", "run/cache/database", "run/cache/opening", "run/cache/schema"},
    "jinja2": {"backends/huggingface/chat", "report/html/page"},
    "markupsafe": {"report/html/page"},
    "matplotlib": {"report/html/charts"},
    "openai": {"backends/openai/client"},
    "sacrebleu": {"metrics/pbleu"},
    "psutil": {"run/cache/opening"},
    "pyarrow": {"inputs/concept_sources", "report/export"},
    "tabulate": {"report/markup"},
    "tomlkit": {"gate/renewal"},
    "xdist": {"session/distribution"},
}
LAZY = (
    "torch",
    "transformers",
    "bitsandbytes",
    "accelerate",
    "safetensors",
    "huggingface_hub",
    "sentencepiece",
    "gguf",
)
MOST_LINES = 400


def imported(path):
    """The libraries that a file names in an import, at any depth, or hands to `import_module`."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import, which these rules do not read"
            names.add(node.module)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            names.update(arg.value for arg in node.args if isinstance(arg, ast.Constant))
    return {name.partition(".")[0] for name in names}


def imported_at_once(path):
    """The libraries that are imported when the file is."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return {name.partition(".")[0] for node in top for name in _names(node)}


def _names(node):
    return [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]


def test_there_is_something_to_look_at():
    assert {"plugin", "run/runner", "backends/huggingface/backend", "metrics/pbleu"} <= FILES.keys()


@pytest.mark.parametrize(("library", "owners"), OWNERS.items())
def test_a_library_is_imported_by_the_files_that_own_it(library, owners):
    assert {name for name, path in FILES.items() if library in imported(path)} == owners


@pytest.mark.parametrize("name", sorted(FILES))
def test_model_libraries_are_imported_on_use(name):
    assert not imported_at_once(FILES[name]) & set(LAZY)


@pytest.mark.parametrize("name", sorted(FILES))
def test_no_file_has_outgrown_its_noun(name):
    assert len(FILES[name].read_text(encoding="utf-8").splitlines()) <= MOST_LINES


LIGHT = """
import sys

def test_own():
    heavy = {"torch", "transformers", "spacy", "openai", "numpy", "sacrebleu", "sqlite3", "huggingface_hub", "msgspec"}
    assert not heavy & set(sys.modules)
    own = {name.removeprefix("pytest_ocg.") for name in sys.modules if name.startswith("pytest_ocg.")}
    assert own == {
        "errors", "inputs", "inputs.settings", "plugin", "run", "run.option_readers", "run.options", "session",
        "session.hookspecs", "session.keys", "session.options",
    }
"""


def test_a_session_that_does_not_use_the_plugin_loads_nothing_heavy(pytester):
    pytester.makepyfile(LIGHT)
    result = pytester.runpytest_subprocess("-p", "no:hypothesispytest", "-p", "no:anyio")
    result.assert_outcomes(passed=1)


def test_a_warm_run_loads_neither_torch_nor_spacy(bench):
    bench.run("-n", "0")
    bench.pytester.makepyfile(
        test_last="import sys\n"
        "def test_light(ocg_generation):\n"
        "    assert not {'torch', 'transformers', 'spacy', 'openai', 'thinc'} & set(sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *bench.arguments("test_last.py")],
        cwd=bench.path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
