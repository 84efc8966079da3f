from __future__ import annotations

import pytest


@pytest.fixture
def results(make_results):
    """The plain data of a whole run of one model, for a test to change before it is judged."""
    return make_results()
