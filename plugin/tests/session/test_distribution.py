"""Scheduling: batches stay whole, models follow one another, finished work is removed, lost work is assigned again."""

import itertools
from types import SimpleNamespace

import pytest

from pytest_ocg.inputs.cases import expand_cases
from pytest_ocg.inputs.concepts import Concept, ConceptSet
from pytest_ocg.session.distribution import BatchScheduling, Distribution, tolerate_dead_worker

SETS = [ConceptSet("cs000", tuple(Concept(word, "N") for word in ("ant", "bee", "cat", "dog")))]


class Node:
    """A worker that only remembers what it was sent."""

    def __init__(self, name):
        self.gateway = SimpleNamespace(id=name)
        self.sent = []
        self.shutting_down = False

    def send_runtest_some(self, places):
        self.sent.append(list(places))

    def shutdown(self):
        self.shutting_down = True


@pytest.fixture
def cases():
    return expand_cases(["a", "b"], SETS, conditions=["ordered"], templates=[0], shots=0)


@pytest.fixture
def distribution(cases):
    plan = SimpleNamespace(cases=cases)
    benchmark = SimpleNamespace(
        plan=plan, planned_ids=frozenset(case.id for case in cases), batch_sizes={"a": 10, "b": 24}
    )
    return Distribution(benchmark, SimpleNamespace())


@pytest.fixture
def nodeids(cases):
    return [f"test_x.py::test_generation[{case.id}]" for case in cases]


def scheduling(pytester, distribution, nodeids, workers):
    config = pytester.parseconfig("-n", str(workers))
    config.option.tx = [f"{workers}*popen"]
    sched = BatchScheduling(config, None, distribution.scopes)
    nodes = [Node(f"gw{number}") for number in range(workers)]
    for node in nodes:
        sched.add_node(node)
        sched.add_node_collection(node, nodeids)
    sched.schedule()
    return sched, nodes


@pytest.mark.parametrize(
    ("wrapped", "found"),
    [("{}", True), ("{}-extra", True), ("other-{}", True), ("1-{}-2", True), ("nothing", False)],
)
def test_a_case_is_found_in_a_node_id_among_other_parameters(distribution, cases, wrapped, found):
    case = cases[5]
    nodeid = f"test_x.py::test_y[{wrapped.format(case.id)}]"
    assert distribution.case_id(nodeid) == (case.id if found else None)
    assert distribution.case_id("test_x.py::test_plain") is None


def test_a_batch_is_a_scope_and_the_scope_of_another_test_is_its_file(distribution, nodeids):
    scopes = distribution.scopes([*nodeids, "test_own.py::test_other"])
    assert [len(list(group)) for _, group in itertools.groupby(scopes[nodeid] for nodeid in nodeids)] == [10, 10, 4, 24]
    assert scopes["test_own.py::test_other"] == "test_own.py"


def test_each_worker_gets_whole_batches_of_one_model_before_the_next(pytester, distribution, nodeids):
    sched, (one, two) = scheduling(pytester, distribution, nodeids, 2)
    assert [len(places) for places in one.sent + two.sent] == [10, 10]
    for place in one.sent[0][:8]:
        sched.mark_test_complete(one, place)
    assert [len(places) for places in one.sent] == [10, 4]


def test_finished_batches_are_removed_and_the_run_ends(pytester, distribution, nodeids):
    sched, (node,) = scheduling(pytester, distribution, nodeids, 1)
    done = 0
    while node.sent:
        for place in node.sent.pop(0):
            sched.mark_test_complete(node, place)
            done += 1
            assert len(sched.assigned_work[node]) <= 2
    assert done == len(nodeids)
    assert sched.tests_finished
    assert not sched.has_pending
    assert node.shutting_down


def test_the_work_of_a_crashed_worker_goes_to_another_except_the_test_it_crashed_in(pytester, distribution, nodeids):
    sched, (one, two) = scheduling(pytester, distribution, nodeids, 2)
    for place in one.sent[0][:3]:
        sched.mark_test_complete(one, place)
    lost = sched.remove_node(one)
    assert lost == nodeids[one.sent[0][3]]
    left = [nodeid for unit in sched.workqueue.values() for nodeid in unit]
    assert lost not in left
    assert {nodeids[place] for place in one.sent[0][4:]} <= set(left)
    assert sched.nodes == [two]


@pytest.mark.parametrize("dist", ["load", "loadfile", "loadgroup", "loadscope"])
def test_after_a_workers_death_the_other_does_the_rest_and_the_run_ends(pytester, distribution, nodeids, dist):
    config = pytester.parseconfig("--dist", dist)
    config.option.tx = ["2*popen"]
    nodeids = [nodeid.replace("test_x.py", f"test_{place // 16}.py") for place, nodeid in enumerate(nodeids)]
    sched = distribution.pytest_xdist_make_scheduler(config, None)
    one, two = Node("gw0"), Node("gw1")
    for node in (one, two):
        sched.add_node(node)
        sched.add_node_collection(node, nodeids)
    sched.schedule()
    finished, running, *_ = itertools.chain.from_iterable(one.sent)
    sched.mark_test_complete(one, finished)
    assert sched.remove_node(one) == nodeids[running]
    done = 0
    while two.sent:
        for place in two.sent.pop(0):
            sched.mark_test_complete(two, place)
            done += 1
    assert done == len(nodeids) - 2
    assert sched.tests_finished


def test_a_worker_lost_without_work_loses_no_test(pytester, distribution, nodeids):
    sched, (one, _) = scheduling(pytester, distribution, nodeids, 2)
    sched.assigned_work[one].clear()
    assert sched.remove_node(one) is None


def test_a_command_to_a_worker_that_has_just_died_does_not_end_the_run():
    sent = []

    class Worker:
        is_dead = False

        def sendcommand(self, name, **arguments):
            if self.is_dead:
                raise OSError("cannot send (already closed?)")
            sent.append((name, arguments))

    worker = Worker()
    tolerate_dead_worker(worker)
    worker.sendcommand("runtests", indices=[1])
    worker.is_dead = True
    worker.sendcommand("steal", indices=[1])
    assert sent == [("runtests", {"indices": [1]})]
