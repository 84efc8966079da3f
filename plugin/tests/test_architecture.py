"""The house rules that imports can break: who may import what, and which way the arrows go."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pytest_ocg"
FILES = {path.relative_to(PACKAGE).with_suffix("").as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
EDGE = {
    "plugin", "options", "scoreboard", "schedule", "switch", "execution", "case_item", "benchmark", "progress",
    "hookspecs", "rootdir", "report/terminal",
}  # fmt: skip
OWNERS = {
    "spacy": {"words"},
    "jinja2": {"backends/chat", "report/html"},
    "markupsafe": {"report/html"},
    "matplotlib": {"report/charts"},
    "openai": {"backends/openai_client"},
    "sacrebleu": {"metrics/pbleu"},
    "pyarrow": {"export"},
    "tabulate": {"report/table"},
    "tomlkit": {"threshold_renewal"},
    "xdist": {"schedule"},
}
MUST_NOT_KNOW = {
    "backends/": ("cache", "record", "runner", "coverage", "metrics", "gate", "report"),
    "metrics/": ("record", "runner", "coverage", "gate", "report", "cache"),
    "gate": ("runner", "record", "report", "metrics", "backends"),
    "gate_checks": ("runner", "record", "report", "metrics", "backends", "gate", "results_files"),
    "gate_baseline": ("runner", "record", "report", "metrics", "backends", "gate"),
    "gate_status": ("runner", "record", "report", "metrics", "backends"),
    "thresholds": ("runner", "record", "report", "backends"),
    "threshold_parsing": ("runner", "record", "report", "backends", "comparability", "gate"),
    "published_thresholds": ("runner", "record", "report", "backends", "gate"),
    "coverage": ("runner", "record", "metrics", "backends", "cache"),
    "cases": ("runner", "record", "metrics", "coverage", "cache"),
    "analysis/": ("runner", "record", "cache", "backends", "gate", "report"),
    "export": ("runner", "cache", "backends", "gate", "report"),
    "resampling": ("record", "results_files", "metrics", "gate", "report", "comparison"),
    "statistics": ("record", "results_files", "metrics", "gate", "report", "comparison"),
    "paired": ("record", "results_files", "metrics", "gate", "report", "comparison"),
    "drop": ("record", "results_files", "metrics", "gate", "report", "comparison"),
    "comparison": ("runner", "metrics", "gate", "report", "commands", "backends", "cache"),
    "shards": ("runner", "record", "metrics", "coverage", "cache", "backends"),
    "parts": ("runner", "metrics", "summary", "gate", "report", "commands", "backends", "cache", "results"),
    "agreement": ("runner", "metrics", "summary", "gate", "report", "commands", "backends", "cache", "results"),
    "merging": ("runner", "gate", "report", "commands", "backends", "cache", "results", "plan"),
    "results_files": ("runner", "metrics", "gate", "report", "commands", "results"),
    "report/": ("runner", "cache", "backends", "metrics"),
}


def imported(path):
    """Top-level and inner imports alike, as dotted names."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def test_there_is_something_to_look_at():
    assert {"plugin", "runner", "backends/huggingface", "metrics/pbleu"} <= FILES.keys()


@pytest.mark.parametrize("name", sorted(FILES))
def test_pytest_is_imported_at_the_edge_only(name):
    if name not in EDGE:
        assert not [other for other in imported(FILES[name]) if other.split(".")[0] in ("pytest", "_pytest")]


@pytest.mark.parametrize(("library", "owners"), OWNERS.items())
def test_a_library_is_imported_by_the_one_file_that_owns_it(library, owners):
    found = {name for name, path in FILES.items() if any(one.split(".")[0] == library for one in imported(path))}
    assert found == owners


@pytest.mark.parametrize("name", sorted(FILES))
def test_arrows_never_turn_back(name):
    for place, unknown in MUST_NOT_KNOW.items():
        if name == place or (place.endswith("/") and name.startswith(place)):
            known = {other.split(".")[1] for other in imported(FILES[name]) if other.startswith("pytest_ocg.")}
            assert not known & set(unknown), f"{name} knows {known & set(unknown)}"


@pytest.mark.parametrize("name", sorted(FILES))
def test_no_file_has_outgrown_its_noun(name):
    assert len(FILES[name].read_text(encoding="utf-8").splitlines()) <= 250


LIGHT = """
import sys

def test_own():
    heavy = {"torch", "transformers", "spacy", "openai", "numpy", "sacrebleu", "sqlite3", "huggingface_hub"}
    assert not heavy & set(sys.modules)
    own = {name.removeprefix("pytest_ocg.") for name in sys.modules if name.startswith("pytest_ocg.")}
    assert own == {"plugin", "options", "declarations", "option_values", "errors", "hookspecs"}
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
