"""Ordered CommonGen: one test per model, condition, template, concept set and order.

Copy this file and change the test to ask something else of the same replies: `ocg_case` is what was asked,
`ocg_generation` what came back, judged.
"""

from pytest_ocg import Record


def test_generation(ocg_generation: Record) -> None:
    """The reply uses all concepts, in the order asked for."""
    ocg_generation.check()
