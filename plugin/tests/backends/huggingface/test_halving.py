import pytest

from pytest_ocg.backends.huggingface.runtime import is_out_of_memory, run_in_batches
from pytest_ocg.errors import BackendError

FULL = RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")


def _runs(room):
    sizes = []

    def run(items):
        sizes.append(len(items))
        if len(items) > room:
            raise FULL
        return [item * 10 for item in items]

    return run, sizes


@pytest.mark.parametrize(
    ("count", "size", "room", "sizes", "left"),
    [
        (0, 4, 9, [], 4),
        (1, 4, 9, [1], 4),
        (8, 4, 9, [4, 4], 4),
        (9, 4, 9, [4, 4, 1], 4),
        (9, 8, 4, [8, 4, 4, 1], 4),
        (5, 8, 2, [5, 2, 2, 1], 2),
        (7, 7, 1, [7, 3, 1, 1, 1, 1, 1, 1, 1], 1),
    ],
)
def test_batches_are_halved_until_they_fit_and_stay_at_that_size(count, size, room, sizes, left):
    run, seen = _runs(room)
    freed, notices = [], []
    done = run_in_batches(range(count), size, run, free_memory=lambda: freed.append(1), notice=notices.append)
    assert done.results == [item * 10 for item in range(count)]
    assert (seen, done.size) == (sizes, left)
    assert len(freed) == len(notices) == sum(tried > room for tried in sizes)


def test_a_single_prompt_that_does_not_fit_ends_the_run():
    run, _ = _runs(0)
    with pytest.raises(BackendError, match="out of memory with a single prompt; pass --ocg-quantization 4bit"):
        run_in_batches([1, 2], 2, run, free_memory=lambda: None, notice=lambda text: None)


def test_other_errors_do_not_count_as_out_of_memory():
    def run(items):
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes do not match"):
        run_in_batches([1, 2], 2, run, free_memory=lambda: None, notice=lambda text: None)


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        (FULL, True),
        (MemoryError(), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"), True),
        (RuntimeError("device-side assert triggered"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_which_errors_mean_out_of_memory(error, is_memory):
    assert is_out_of_memory(error) is is_memory
