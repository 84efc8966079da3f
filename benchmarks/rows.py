"""One line of the result of a benchmark."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """What was compared, details of the measurement, the measured value, and its limit."""

    what: str
    seen: str
    value: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the value is within its limit."""
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value <= self.at_most
        )

    def line(self) -> str:
        """The row as text."""
        limit = f"at least {self.at_least:g}" if self.at_least is not None else f"at most {self.at_most:g}"
        seen = f" ({self.seen})" if self.seen else ""
        return f"{'ok  ' if self.holds else 'OVER'}  {self.value:8.2f}  {limit:>12}  {self.what}{seen}"
