"""The three walks of docs/architecture.md, compared with the functions that a run enters."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "plugin" / "pytest_ocg"
STEP = re.compile(r"^\d+\. `(?P<file>[\w/]+\.py)`, `(?P<function>[\w.]+)`: \w", re.MULTILINE)
CASE = "From `--model` to the table"
REPLY = "From a reply to results.json"
THRESHOLDS = "From a threshold file to the exit status"
MOST_FILES = {CASE: 25, REPLY: 13, THRESHOLDS: 11}
RUN = (
    *("--pyargs", "ocg_tests", "--model", "scripted:quarter", "--ocg-concepts", "everyday", "--ocg-sets", "2"),
    *("--ocg-templates", "0", "-p", "no:cacheprovider"),
)
THRESHOLD_FILE = """
schema = 1
[selection.smoke]
sets = "2:0"
[selection.smoke.metrics.coverage_ordered]
min = 1.0
"""
TRACED = """
import inspect, json, sys
from pathlib import Path

import pytest
import sacrebleu, spacy  # not traced, because tracing takes longer than importing

PACKAGE = sys.argv[1] + "/"
phases, known = {"start": [], "reply": []}, set()
phase = phases["start"]


def file_of(code):
    is_ours = code.co_filename.startswith(PACKAGE) and code.co_flags & inspect.CO_OPTIMIZED
    return code.co_filename.removeprefix(PACKAGE) if is_ours else None


def trace(frame, event, _):
    code = frame.f_code
    if code in known or file_of(code) is None:
        return None
    known.add(code)
    files, above = set(), frame
    while above is not None:
        files.add(file_of(above.f_code))
        above = above.f_back
    phase.append([file_of(code), code.co_qualname, sorted(files - {None})])
    return end_of_start if code.co_name == "generate" else None


def end_of_start(frame, event, _):
    global phase
    if event == "return" and phase is phases["start"]:
        known.clear()
        phase = phases["reply"]
    return end_of_start


sys.settrace(trace)
status = pytest.main(sys.argv[3:])
sys.settrace(None)
Path(sys.argv[2]).write_text(json.dumps(phases))
sys.exit(status)
"""


def steps(title):
    """The file and the function of each step below a heading."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = re.split(r"^#", page.split(f"### {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    return [(found["file"], found["function"]) for found in STEP.finditer(section)]


@pytest.fixture(scope="module")
def entered(tmp_path_factory):
    """What a run with thresholds enters for the first time: file, function, files of the functions that led there.

    For the walk of a reply, what is entered after a backend returned the first replies.
    """
    folder = tmp_path_factory.mktemp("walks")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "thresholds").mkdir()
    (folder / "thresholds" / "scripted_quarter.toml").write_text(THRESHOLD_FILE, encoding="utf-8")
    traced = [sys.executable, "-c", TRACED, str(PACKAGE), "entered.json", *RUN, "--ocg-cache", "cache"]
    subprocess.run(traced, cwd=folder, capture_output=True, check=True)
    phases = json.loads((folder / "entered.json").read_text(encoding="utf-8"))
    whole = phases["start"] + phases["reply"]
    return {CASE: whole, REPLY: phases["reply"], THRESHOLDS: whole}


@pytest.mark.parametrize("title", MOST_FILES)
def test_a_run_goes_the_documented_way(title, entered):
    """Each step is entered, in this order."""
    first = {}
    for at, (file, function, _) in enumerate(entered[title]):
        for name in (function, function.rpartition(".")[0]):
            first.setdefault((file, name), at)
    assert sorted(steps(title), key=first.__getitem__) == steps(title)


@pytest.mark.parametrize("title", MOST_FILES)
def test_a_walk_names_every_file_that_leads_to_its_steps(title, entered):
    walk = steps(title)
    leading = {
        name: set(files)
        for file, function, files in reversed(entered[title])
        for name in ((file, function), (file, function.rpartition(".")[0]))
    }
    assert set().union(*(leading[step] for step in walk)) == {file for file, _ in walk}


@pytest.mark.parametrize(("title", "most"), MOST_FILES.items())
def test_a_walk_has_not_grown(title, most):
    files = [file for file, _ in steps(title)]
    assert 0 < len(files) == len(set(files)) <= most
