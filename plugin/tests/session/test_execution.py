"""The process that runs tests: what it does to the garbage collector ends with the session."""

import gc

FROZEN_IN_THE_END = """
import gc, pathlib

def pytest_sessionfinish():
    pathlib.Path("frozen").write_text(str(gc.get_freeze_count()))
"""


def test_a_process_that_goes_on_has_no_frozen_objects(bench):
    bench.pytester.makeconftest(FROZEN_IN_THE_END)
    before = gc.get_freeze_count()
    for _ in range(2):
        bench.run()
        assert int((bench.path / "frozen").read_text()) > 10_000
        assert gc.get_freeze_count() <= before
        assert gc.isenabled()
