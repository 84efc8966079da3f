"""The simulation of `benchmarks/calibration.py` in short, with fixed draws."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def calibration(monkeypatch):
    if not BENCHMARKS.is_dir():
        pytest.skip("the benchmarks are in a checkout alone")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("calibration")


@pytest.mark.parametrize("world", ["alike", "usual", "whimsical"])
def test_where_nothing_changed_the_gate_seldom_alarms_and_a_test_over_cases_often_does(calibration, world):
    found = calibration.alarms(world, 0.0, runs=200, sets=24)
    most = 5 + calibration.tolerance(5, runs=200)
    assert found.paired <= most
    assert found.number <= most
    assert found.naive > found.paired


def test_a_clear_drop_is_seen_best_by_pairing(calibration):
    found = calibration.alarms("usual", 10.0, runs=50, sets=24)
    assert found.paired > 80
    assert found.number < found.paired


@pytest.mark.parametrize("sets", [6, 12, 24])
def test_intervals_hold_the_truth_about_as_often_as_they_say(calibration, sets):
    assert calibration.held(sets, runs=200) >= 92 - calibration.tolerance(92, runs=200)
