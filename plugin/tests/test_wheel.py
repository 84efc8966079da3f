"""The wheel: built, installed into an environment of its own, and run from there."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(CHECKOUT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """An environment with the wheel alone; dependencies are borrowed from this one, our own checkout is not."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    purelib = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    (Path(purelib) / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, text=True)
    return python


def run(python, folder, *arguments):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [python, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_the_wheel_carries_code_data_and_benchmark_and_no_tests_of_its_own(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for needed in (
        "pytest_ocg/plugin.py",
        "pytest_ocg/py.typed",
        "pytest_ocg/fixtures/concepts/everyday.jsonl",
        "pytest_ocg/fixtures/templates.toml",
        "pytest_ocg/fixtures/models.toml",
        "pytest_ocg/fixtures/published/table1_zero_shot.csv",
        "pytest_ocg/report/html/templates/report.html.j2",
        "pytest_ocg/report/html/templates/macros.html.j2",
        "pytest_ocg/report/html/templates/report.css",
        "pytest_ocg/report/html/templates/replies.js",
        "pytest_ocg/thresholds/README.md",
        "pytest_ocg/thresholds/gemma2-9b.toml",
        "ocg_tests/test_ordered_commongen.py",
    ):
        assert needed in names
    assert not [name for name in names if "commongen_lite" in name or "coverage_gold" in name or "plugin/tests" in name]


@pytest.mark.slow
def test_the_benchmark_runs_from_the_installed_wheel(python, tmp_path):
    where = run(python, tmp_path, "-c", "import pytest_ocg; print(pytest_ocg.__file__)")
    assert Path(where.stdout.strip()).is_relative_to(python.parents[1])
    ran = run(
        python,
        tmp_path,
        *("-m", "pytest", "--pyargs", "ocg_tests", "--model", "scripted:quarter", "--ocg-concepts", "everyday"),
        *("--ocg-sets", "2", "--ocg-cache", "cache", "-W", "error"),
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "288 cases: 72 hit, 216 missed" in ran.stdout
    assert (tmp_path / "ocg-results" / "results.json").exists()
    models = run(python, tmp_path, "-m", "pytest_ocg.cli", "models")
    assert "gemma2-9b" in models.stdout
