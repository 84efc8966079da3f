"""The largest numbers that a run may write, so that no arithmetic on files overflows."""

from __future__ import annotations

LARGEST_NUMBER = 1e300
"""The largest number in a file."""

LARGEST_SCORE = 1e290
"""The largest value or sum of a metric: differences and sums of a run's values are within LARGEST_NUMBER."""

LARGEST_SUM = 1e100
"""The largest sum of a concept set that can be compared or merged: the squares of larger ones would be infinite."""

LARGEST_COUNT = 10**12
"""The largest count in a file."""

LARGEST_SET_COUNT = 10**8
"""The largest number of values that one concept set may add to a metric under one template."""
