"""Draw docs/calibration.svg: how often each judge detects a drop, by its points. The numbers go to calibration.json.

Run `python benchmarks/calibration_picture.py` by hand when the statistics have changed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from calibration import Alarms, alarms

DOCS = Path(__file__).parents[1] / "docs"
DROPS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
JUDGES = {
    "paired": ("gate, paired with a baseline", "#0072b2"),
    "number": ("gate, baseline a number", "#e69f00"),
    "naive": ("test over cases", "#cc79a7"),
}
LEFT, TOP, WIDTH, HEIGHT = 60, 30, 420, 260


def render_picture(found: Sequence[Alarms]) -> str:
    """The alarms by true drop as SVG, with a line for each judge, and the 5 % that are allowed at no drop."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 230}" height="{TOP + HEIGHT + 60}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{LEFT + WIDTH + 230}" height="{TOP + HEIGHT + 60}" fill="white"/>',
    ]
    for percent in (0, 5, 25, 50, 75, 100):
        dash = ' stroke-dasharray="4 3"' if percent == 5 else ""
        parts.append(
            f'<path d="M{LEFT} {_y(percent):.1f}h{WIDTH}" stroke="#bbb"{dash}/>'
            f'<text x="{LEFT - 8}" y="{_y(percent) + 4:.1f}" text-anchor="end">{percent} %</text>'
        )
    for drop in sorted({round(one.drop) for one in found}):
        parts.append(f'<text x="{_x(drop):.1f}" y="{TOP + HEIGHT + 20}" text-anchor="middle">{drop}</text>')
    parts.append(
        f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 45}" text-anchor="middle">true drop of coverage with order, '
        f"in points, over {found[0].sets} sets</text>"
        f'<text x="{LEFT}" y="{TOP - 12}">runs called worse than their baseline</text>'
    )
    for place, (judge, (label, colour)) in enumerate(JUDGES.items()):
        points = " ".join(f"{_x(one.drop):.1f},{_y(getattr(one, judge)):.1f}" for one in found)
        x, y = LEFT + WIDTH + 20, TOP + 20 + 22 * place
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
            f'<path d="M{x} {y - 4}h18" stroke="{colour}" stroke-width="2"/><text x="{x + 24}" y="{y}">{label}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(drop: float) -> float:
    return LEFT + WIDTH * drop / DROPS[-1]


def _y(percent: float) -> float:
    return TOP + HEIGHT * (1 - percent / 100)


def main(runs: int = 1000) -> None:
    """Simulate and write both files."""
    found = [alarms("usual", drop, runs) for drop in DROPS]
    DOCS.mkdir(exist_ok=True)
    numbers = json.dumps([asdict(one) for one in found], indent=1)
    (DOCS / "calibration.json").write_text(f"{numbers}\n", encoding="ascii")
    (DOCS / "calibration.svg").write_text(render_picture(found), encoding="ascii")


if __name__ == "__main__":
    main()
