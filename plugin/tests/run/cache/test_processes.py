"""The cache among processes: sixteen at once, killed ones, one with its quota used up."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pytest_ocg
from pytest_ocg.backends.base import Generation
from pytest_ocg.run.cache.cache import FILE_NAME, Cache

ROWS = 2000
KEYS = [f"key {row}" for row in range(ROWS)]
SOURCE = Path(pytest_ocg.__file__).parent.parent

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork, SIGKILL and resource limits")


def fill(cache, prefix="key", rows=ROWS, length=200):
    batch = [(f"{prefix} {row}", Generation(f"{row} " * length)) for row in range(rows)]
    cache.add_replies(batch, model="m", provenance={})


def start(script, *arguments):
    """A process of its own that runs `script` with the package to hand."""
    prelude = f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n"
    return subprocess.Popen(
        [sys.executable, "-c", prelude + textwrap.dedent(script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    return output


def torn(path):
    content = bytearray(path.read_bytes())
    content[4096 * 20 : 4096 * 400] = b"\xa5" * (4096 * 380)
    path.write_bytes(content)


@pytest.fixture
def path(tmp_path):
    with Cache.open(tmp_path, pytest.fail) as cache:
        fill(cache)
    return tmp_path / FILE_NAME


def test_a_quota_used_up_stops_with_a_message_and_leaves_what_was_there(path):
    script = """
        import resource
        from pathlib import Path
        from pytest_ocg.backends.base import Generation
        from pytest_ocg.run.cache.cache import Cache
        from pytest_ocg.errors import CacheError
        cache = Cache.open(Path(sys.argv[1]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        for number in range(100):
            try:
                cache.add_replies([(f"new {number}", Generation("word " * 2000))], model="m", provenance={})
            except CacheError as error:
                print(number, error)
                break
        print(len(cache.replies([f"new {number}" for number in range(100)])))
        """
    said, readable = finish(start(script, path.parent)).splitlines()
    number, _, message = said.partition(" ")
    assert 0 < int(number) == int(readable) < 100
    assert message.startswith(f"{path}: the disk failed or its quota is used up (disk I/O error); this batch was not")
    with Cache.open(path.parent, pytest.fail) as cache:
        assert len(cache.replies([f"new {row}" for row in range(100)])) == int(readable)
        assert len(cache.replies(KEYS)) == ROWS


TOGETHER = """
    import multiprocessing
    from pathlib import Path
    from pytest_ocg.backends.base import Generation
    from pytest_ocg.run.cache import schema as cache_schema
    from pytest_ocg.run.cache.cache import Cache

    folder, processes, lives, batches = Path(sys.argv[1]), 16, 4, 5
    is_checked = sys.argv[2:] != ["unchecked"]
    context = multiprocessing.get_context("fork")
    together = context.Barrier(processes)

    def write(worker):
        if not is_checked:
            cache_schema.CHECKED_BYTES = 0
        together.wait()
        for life in range(lives):
            with Cache.open(folder, lambda notice: print(notice, flush=True)) as cache:
                if not is_checked:
                    cache.replies([f"key {row}" for row in range(2000)])
                for batch in range(life * batches, (life + 1) * batches):
                    cache.add_replies([(f"{worker} {batch} {row}", Generation(f"{worker}")) for row in range(8)]
                                      + [(f"shared {row}", Generation("same")) for row in range(3)],
                                      model="m", provenance={"worker": worker % 2})
                    cache.add_analyses("s", {f"{worker} {batch}": "packed", "shared": "packed"})

    children = [context.Process(target=write, args=(worker,)) for worker in range(processes)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * processes
    """


def expect_all_rows(folder):
    replies = [f"{worker} {batch} {row}" for worker in range(16) for batch in range(20) for row in range(8)]
    with Cache.open(folder, pytest.fail) as cache:
        assert len(cache.replies([*replies, "shared 0", "shared 1", "shared 2"])) == 16 * 20 * 8 + 3
        texts = [f"{worker} {batch}" for worker in range(16) for batch in range(20)]
        assert len(cache.analyses("s", [*texts, "shared"])) == 16 * 20 + 1


@pytest.mark.parametrize("attempt", range(3))
def test_sixteen_processes_open_a_fresh_cache_together_and_lose_nothing(tmp_path, attempt):
    assert finish(start(TOGETHER, tmp_path / "cache")) == ""
    expect_all_rows(tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("*.damaged-*"))


@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.parametrize("found", ["checked", "unchecked"])
def test_sixteen_processes_find_a_damaged_cache_together_and_rename_it_once(path, found, attempt):
    torn(path)
    assert finish(start(TOGETHER, path.parent, found)).count("it was renamed to") == 1
    expect_all_rows(path.parent)
    assert len(list(path.parent.glob("*.damaged-*[0-9]"))) == 1


@pytest.mark.parametrize("statement", ["INSERT OR IGNORE INTO replies", "COMMIT"])
def test_a_process_killed_within_a_transaction_leaves_a_usable_cache(path, statement):
    script = """
        import os, signal
        from pathlib import Path
        from pytest_ocg.backends.base import Generation
        from pytest_ocg.run.cache.cache import Cache
        cache, seen = Cache.open(Path(sys.argv[1])), []
        cache.add_replies([("stored before", Generation("x"))], model="m", provenance={})

        def trace(statement):
            seen.extend([statement] if statement.startswith(sys.argv[2]) else [])
            if len(seen) == int(sys.argv[3]):
                os.kill(os.getpid(), signal.SIGKILL)

        cache.file.read(lambda connection: connection.set_trace_callback(trace))
        cache.add_replies([(f"new {row}", Generation("word " * 200)) for row in range(5000)], model="m", provenance={})
        """
    process = start(script, path.parent, statement, 1 if statement == "COMMIT" else 4000)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    with Cache.open(path.parent, pytest.fail) as cache:
        assert cache.replies([f"new {row}" for row in range(5000)]) == {}
        assert len(cache.replies([*KEYS, "stored before"])) == ROWS + 1
        fill(cache, "new", rows=5000)
        assert len(cache.replies([f"new {row}" for row in range(5000)])) == 5000


def test_a_process_killed_at_any_moment_loses_no_finished_batch_and_keeps_no_half_one(tmp_path):
    script = """
        from pathlib import Path
        from pytest_ocg.backends.base import Generation
        from pytest_ocg.run.cache.cache import Cache
        cache = Cache.open(Path(sys.argv[1]))
        for batch in range(10_000):
            cache.add_replies([(f"{sys.argv[2]} {batch} {row}", Generation("word " * 100)) for row in range(200)],
                              model="m", provenance={})
            print(batch, flush=True)
        """
    for life in range(4):
        process = start(script, tmp_path, life)
        for _ in range(3 + 2 * life):
            finished = int(process.stdout.readline())
        process.kill()
        finished = int(([finished, *process.communicate(timeout=120)[0].split()])[-1])
        with Cache.open(tmp_path, pytest.fail) as cache:
            batches = [[f"{life} {batch} {row}" for row in range(200)] for batch in range(finished + 3)]
            kept = [len(cache.replies(batch)) for batch in batches]
        assert kept[: finished + 1] == [200] * (finished + 1)
        assert set(kept[finished + 1 :]) <= {0, 200}
