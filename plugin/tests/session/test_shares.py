"""Each worker has some of the caller's GPUs, or some of the cores on a machine without GPUs."""

import pytest

from pytest_ocg.session.distribution import set_wait_policy, set_worker_resources, worker_gpus, workers_for


@pytest.mark.parametrize(
    ("gpus", "per_worker", "workers"), [((), 1, 1), (("0",), 1, 1), (("2", "3"), 1, 2), (("0", "1", "2"), 2, 1)]
)
def test_auto_means_gpus_and_one_worker_without(gpus, per_worker, workers):
    assert workers_for(gpus, per_worker) == workers


@pytest.mark.parametrize(
    ("gpus", "per_worker", "shares"),
    [
        (("2", "3"), 1, [("2",), ("3",), ("2",), ("3",)]),
        (("GPU-a", "GPU-b", "GPU-c", "GPU-d"), 2, [("GPU-a", "GPU-b"), ("GPU-c", "GPU-d"), ("GPU-a", "GPU-b")]),
        (("0",), 2, [("0",), ("0",)]),
        ((), 1, [(), ()]),
    ],
)
def test_gpus_are_assigned_in_turn_and_only_those_of_the_caller(gpus, per_worker, shares):
    assert [worker_gpus(gpus, worker, per_worker) for worker in range(len(shares))] == shares


def test_a_worker_sees_its_gpu_and_keeps_its_threads():
    environment = {"CUDA_VISIBLE_DEVICES": "2,3"}
    set_worker_resources(environment, ("2", "3"), worker=1, workers=4, per_worker=1, cores=8)
    assert environment == {"CUDA_VISIBLE_DEVICES": "3"}


@pytest.mark.parametrize(
    ("before", "after"), [({}, {"OMP_NUM_THREADS": "2"}), ({"OMP_NUM_THREADS": "5"}, {"OMP_NUM_THREADS": "5"})]
)
def test_without_gpus_workers_divide_the_cores_unless_the_caller_has(before, after):
    set_worker_resources(before, (), worker=0, workers=4, per_worker=1, cores=8)
    assert before == after


def test_more_workers_than_cores_have_one_thread_each():
    environment = {}
    set_worker_resources(environment, (), worker=3, workers=16, per_worker=1, cores=2)
    assert environment == {"OMP_NUM_THREADS": "1"}


def test_waiting_threads_sleep_unless_the_caller_has_decided():
    undecided, decided = {}, {"OMP_WAIT_POLICY": "ACTIVE"}
    set_wait_policy(undecided)
    set_wait_policy(decided)
    assert undecided == {"OMP_WAIT_POLICY": "PASSIVE"}
    assert decided == {"OMP_WAIT_POLICY": "ACTIVE"}


@pytest.mark.parametrize(("gpus", "workers"), [((), 1), (("2", "3", "5"), 3)])
def test_auto_is_one_worker_a_gpu_and_one_on_a_machine_without(bench, monkeypatch, gpus, workers):
    monkeypatch.setattr("pytest_ocg.session.activation.visible_gpus", lambda: gpus)
    bench.pytester.makeconftest(
        "import pytest\ndef pytest_xdist_setupnodes(specs): pytest.exit(f'{len(specs)} would start')\n"
    )
    bench.run_here("-n", "auto").stdout.fnmatch_lines([f"*{workers} would start*"])
