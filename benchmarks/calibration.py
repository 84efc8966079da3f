"""Simulated error rates of the gate: false alarms where nothing changed, and drops that are detected.

A concept set's hits are drawn from a logistic model with three standard deviations in log odds: sets are hard or easy
(`hardness`), a run is better or worse on a set than other runs (`taste`), and on a set under a template (`WORDING`). A
run hits half of the cases on average, unless a drop is simulated. Because of taste the 144 replies to one set change
together from run to run. A test that treats all cases as independent ignores this.

`python benchmarks/calibration_picture.py` draws the alarms at several drops for the documentation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rows import Row

from pytest_ocg.statistics.differences import differences, drop_from_number, paired_drop
from pytest_ocg.statistics.intervals import intervals
from pytest_ocg.statistics.resampling import RowStatistics

SETS, TEMPLATES, ORDERS = 192, 6, 24
WORDING = 0.5
METRIC = "coverage_ordered"
WORLDS = {"alike": (1.0, 0.0), "usual": (1.0, 0.5), "whimsical": (0.5, 1.0)}


@dataclass(frozen=True, slots=True)
class Alarms:
    """In percent of `runs`, how often each judge reports that a run with a true drop of `drop` points is worse.

    `paired` is the gate with the results of a baseline, `number` the gate with the number of a baseline, and `naive` a
    one-sided z test at 5 % that treats cases as independent.
    """

    world: str
    drop: float
    sets: int
    runs: int
    paired: float
    number: float
    naive: float


def simulated_hits(random: np.random.Generator, sets: int, drop: float, world: str) -> np.ndarray:
    """Hits of an old and a new run over the same sets (2 x templates x sets), the new one `drop` points lower."""
    hardness, taste = WORLDS[world]
    odds = random.normal(0, hardness, sets) + random.normal(0, taste, (2, 1, sets))
    shares = 1 / (1 + np.exp(-(odds + random.normal(0, WORDING, (2, TEMPLATES, sets)))))
    shares[1] *= 1 - drop / 50
    return random.binomial(ORDERS, shares)


def statistics_of(hits: np.ndarray) -> RowStatistics:
    """Hits (templates x sets) as the statistics of a results row."""
    return {
        METRIC: {
            str(template): {f"cs{place:03d}": (100.0 * number, ORDERS) for place, number in enumerate(of_template)}
            for template, of_template in enumerate(hits.tolist())
        }
    }


def alarms(world: str, drop: float, runs: int, *, sets: int = SETS) -> Alarms:
    """The alarms in `runs` simulated pairs of runs with no drop allowed; equal for equal arguments."""
    random = np.random.default_rng([runs, sets, round(10 * drop), [*WORLDS].index(world)])
    counts = dict.fromkeys(("paired", "number", "naive"), 0)
    for _ in range(runs):
        hits = simulated_hits(random, sets, drop, world)
        old, new = map(statistics_of, hits)
        [difference] = differences(old, new, resamples=1000, swaps=1)
        alone = intervals(new, resamples=1000)[METRIC]
        share, cases = hits.mean() / ORDERS, TEMPLATES * sets * ORDERS
        counts["paired"] += bool(paired_drop(difference).is_shown(0))
        counts["number"] += bool(drop_from_number(alone, difference.old).is_shown(0))
        counts["naive"] += difference.difference < -164.5 * (share * (1 - share) * 2 / cases) ** 0.5
    return Alarms(world, drop, sets, runs, **{judge: 100 * int(count) / runs for judge, count in counts.items()})


def held(sets: int, runs: int) -> float:
    """In percent of `runs`, how often the 95 % interval over this number of sets contains the true value of 50."""
    random = np.random.default_rng([runs, sets])
    inside = 0
    for _ in range(runs):
        found = intervals(statistics_of(simulated_hits(random, sets, 0, "usual")[0]), resamples=1000)[METRIC].bounds
        inside += found is not None and found.low <= 50 <= found.high
    return 100 * inside / runs


def tolerance(percent: float, runs: int) -> float:
    """Two standard errors, in points, of a share from this number of simulated runs."""
    return 2 * (percent * (100 - percent) / runs) ** 0.5


def measure(runs: int = 1000) -> list[Row]:
    """Rows for false alarms in each world, for power at two points, and for the coverage of intervals."""
    most = round(5 + tolerance(5, runs), 1)
    rows = []
    for world in WORLDS:
        found = alarms(world, 0.0, runs)
        rows += [
            Row("false alarms of the gate in %, paired", world, found.paired, at_most=most),
            Row("false alarms of the gate in %, baseline a number", world, found.number, at_most=most),
            Row("false alarms of a test over cases in %: far more", world, found.naive, at_least=most),
        ]
    found = alarms("usual", 2.0, runs // 3)
    rows.append(
        Row(
            "a drop of 2 points detected in %, paired, 192 sets",
            f"usual; {found.number:.0f} with a number as baseline",
            found.paired,
            at_least=40,
        )
    )
    for sets in (6, 12, 24, SETS):
        least = round(92 - tolerance(92, runs // 2), 1)
        rows.append(
            Row(f"95 % intervals over {sets} sets that contain the true value, in %", "", held(sets, runs // 2), least)
        )
    return rows
