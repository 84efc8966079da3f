"""Ordered CommonGen: one test per model, condition, template, concept set and order.

Copy this file and change the test to check something else on the same replies. `ocg_case` is the question,
`ocg_generation` is the judged reply.
"""

from pytest_ocg import Record


def test_generation(ocg_generation: Record) -> None:
    """The reply uses all concepts, in the order asked for."""
    ocg_generation.check()
