"""One run of a graph: events, claims, timeline, and your own policies."""

import numpy as np
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from support import refusals

import cgrsp_simpy as cg
from cgrsp_simpy.dag.problem import Plan, Problem, carried_out
from cgrsp_simpy.dag.scenario import Scenario, schedule_of, simulate
from cgrsp_simpy.engine.stepping import steps
from cgrsp_simpy.studies.subject import subject_of


def fork(unit=(), memory=(10, 4), bandwidth=1.0, **more):
    """Node a sends 2 GB to b and 1 GB to c; GPU 1 is twice as fast as GPU 0."""
    graph = cg.dag.Graph(
        [4, 6, 8], [3, 2, 5], [(0, 1), (0, 2)], [2, 1], unit, ("a", "b", "c"), **more
    )
    return Problem(
        graph, cg.dag.Platform([1, 2], memory, [0, 0], [[0, bandwidth], [bandwidth, 0]])
    )


def set_up(problem, scheduler, listener=None):
    scenario = Scenario(problem.graph, problem.platform)
    return subject_of(scenario).simulation(scheduler, 0, listener=listener)


def events_of(problem, scheduler):
    return support.events_of(set_up, problem, scheduler)


def soonest(view):
    """Each node that is ready, where it ends first of the GPUs with room; a user's
    words.
    """
    for node in view.queue:
        if rooms := view.rooms(node):
            ends_s = [view.data_s(node, gpu) + view.time_s(node, gpu) for gpu in rooms]
            yield node, rooms[ends_s.index(min(ends_s))]


def test_the_events_of_a_plan():
    assert events_of(fork(memory=(10, 10)), Plan(np.array([1, 0, 1]))) == [
        (0, "submit", 0, ()), (0, "start", 0, (1,)), (2, "finish", 0, (1,)),
        (2, "submit", 2, ()), (2, "start", 2, (1,)),
        (4, "data", 1, ()), (4, "submit", 1, ()), (4, "start", 1, (0,)),
        (6, "finish", 2, (1,)), (10, "finish", 1, (0,)),
    ]  # fmt: skip


def test_events_of_a_policy_whose_nodes_hold_their_gpu_during_transfers():
    problem = fork()  # c needs 5 MB, more than GPU 1 has
    assert events_of(problem, soonest) == [
        (0, "submit", 0, ()), (0, "dispatch", 0, (1,)), (0, "start", 0, (1,)),
        (2, "finish", 0, (1,)),
        (2, "submit", 1, ()), (2, "submit", 2, ()), (2, "dispatch", 1, (1,)),
        (2, "dispatch", 2, (0,)),
        (2, "start", 1, (1,)), (3, "data", 2, ()), (3, "start", 2, (0,)),
        (5, "finish", 1, (1,)), (11, "finish", 2, (0,)),
    ]  # fmt: skip
    run = simulate(problem, soonest)
    assert run.jobs["gpu"].tolist() == [1, 1, 0] and run.policy == "soonest"
    assert run.claims[
        ["job", "resource", "amount", "phase", "from_s", "to_s"]
    ].tolist() == [
        (0, 1, 1.0, "executing", 0.0, 2.0),
        (1, 1, 1.0, "executing", 2.0, 5.0),
        (2, 0, 1.0, "data", 2.0, 3.0),
        (2, 0, 1.0, "executing", 3.0, 11.0),
    ]
    assert run.timeline.visits[["ready_s", "granted_s", "end_s"]].tolist() == [
        (0, 0, 2),
        (2, 2, 5),
        (2, 2, 11),
    ]


def test_a_listing_describes_nodes_data_and_memory():
    messages = []
    simulate(fork(), soonest, messages.append)
    assert {str(event)[40:].strip() for event in messages if event.job == 2} == {
        "node c is ready, 5 MB", "node c", "1 GB of node a for node c, GPU 1 to 0",
        "node c, 8 s",
    }  # fmt: skip
    ends = [str(event)[40:].strip() for event in messages if event.kind == "finish"]
    assert sorted(ends) == ["node a", "node b", "node c"]
    walk = list(steps(lambda listener: set_up(fork(), soonest, listener)))
    held = next(
        step for step in walk if step.event.kind == "dispatch" and step.event.job == 2
    )
    assert "GPUs: 2… 1…" in str(held) and (3.0, "data", 2) not in held.future
    assert (3.0, "data", 2) in next(
        step for step in walk if step.event.kind == "start" and step.event.job == 1
    ).future


def test_a_policy_sees_only_nodes_that_are_ready():
    seen = []

    def policy(view):
        seen.append(
            (
                view.now_s,
                [node.name for node in view.queue],
                [view.room(gpu) for gpu in view.free],
                [
                    view.node(number) and view.node(number).name
                    for number in (-1, 0, 1, 2, 3)
                ],
                [
                    [(gpu.index, gb) for gpu, gb in view.data(node)]
                    for node in view.queue
                ],
            )
        )
        return soonest(view)

    simulate(fork(), policy)
    assert seen == [
        (0, ["a"], [1, 1], [None, "a", None, None, None], [[]]),
        (2, ["b", "c"], [1, 1], [None, None, "b", "c", None], [[(1, 2.0)], [(1, 1.0)]]),
    ]
    for node, times_s in zip(fork().graph.jobs, ((4, 2), (6, 3), (8, 4))):
        assert tuple(fork().time_s[node.id]) == times_s


# ---- rules ----


@st.composite
def problems(draw):
    """Up to ten nodes of few units and four GPUs, some too small for some nodes; whole
    numbers, so that many events coincide.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    nodes, gpus = draw(st.integers(1, 10)), draw(st.integers(1, 4))
    pairs = np.argwhere(np.triu(rng.random((nodes, nodes)) < 0.3, 1))
    unit = rng.integers(0, nodes, nodes) if draw(st.booleans()) else ()
    work, memory_gb = rng.integers(0, 5, nodes), rng.integers(0, 13, nodes)
    graph = cg.dag.Graph(work, memory_gb, pairs, rng.integers(0, 4, len(pairs)), unit)
    memory = np.where(np.arange(gpus) == 0, 12, rng.integers(4, 13, gpus))
    bandwidth = rng.choice([1.0, 2.0, np.inf], (gpus, gpus))
    latency_s = rng.choice([0.0, 1.0], (gpus, gpus))
    platform = cg.dag.Platform(
        rng.choice([1.0, 2.0], gpus), memory, np.zeros(gpus), bandwidth, latency_s
    )
    return Problem(graph, platform)


@given(problems())
@settings(max_examples=150)
def test_a_policy_s_run_breaks_no_rule(problem):
    run, graph = simulate(problem, soonest), problem.graph
    result = schedule_of(run)
    # units, memory, and an order in which data come before those that need them
    result.plan.check(problem)
    claims, sizes = run.claims, run.timeline.sizes
    for at_s in claims["from_s"]:
        claimed = claims[(claims["from_s"] <= at_s) & (at_s < claims["to_s"])]
        in_use = np.bincount(claimed["resource"], claimed["amount"], len(sizes))
        assert (in_use <= sizes).all()
    moved_s = np.zeros(graph.nodes)
    before, after = graph.edges.T
    gpu = result.plan.gpu
    np.maximum.at(
        moved_s, after, problem.transfer_s(graph.data_gb, gpu[before], gpu[after])
    )
    waited_s = result.start_s - (run.jobs["dispatch_s"] + moved_s)  # for links
    assert (waited_s >= 0).all() and (problem.contention or not waited_s.any())
    assert (run.jobs["dispatch_s"][after] >= result.finish_s[before]).all()
    assert (
        result.finish_s.tolist()
        == (result.start_s + problem.time_s[np.arange(graph.nodes), gpu]).tolist()
    )
    # without holding GPUs for data, no node ends later in the same order
    if not problem.contention:
        assert carried_out(problem, result.plan).makespan_s <= result.makespan_s


# ---- wrong answers ----


def first(gpu):
    return lambda view: [(node, gpu) for node in view.queue[:1]]


def all_to(gpu):
    return lambda view: [(node, view.resources[gpu]) for node in view.queue]


def by_name(**gpus):
    return lambda view: [
        (node, gpu)
        for node in view.queue
        if view.room(gpu := view.resources[gpus[node.name]]) >= view.need(node)
    ]


WRONG = {
    "assigned job 0 to 7, which is not a resource of the view": (fork(), first(7)),
    r"assigned job 0 to \(.*\), which is not a resource of the view": (
        fork(),
        lambda view: [(view.queue[0], ((view.resources[0], 1),))],
    ),
    "assigned job 2 to GPU 1, whose memory of 4 MB is too small for the node or"
    " its unit": (
        fork(),
        by_name(a=0, b=0, c=1),
    ),
    "assigned job 1 to GPU 0; its unit is on GPU 1": (
        fork(unit=(0, 0, 1)),
        by_name(a=1, b=0, c=0),
    ),
    "assigned job 2 to GPU 1, which has no connection to the GPUs with its data": (
        fork(bandwidth=0, memory=(9, 9)),
        by_name(a=0, b=0, c=1),
    ),
    "assigned job 2 to GPU 0, which is busy or already assigned": (fork(), all_to(0)),
    # each unit keeps 3 MB, and nodes a and b have ended
    "assigned job 2 to GPU 0, of whose memory 4 MB are left; it takes 8 MB": (
        fork(resident_mb=(3, 3, 3)),
        by_name(a=0, b=0, c=0),
    ),
    "returned 0, which is neither a pair": (fork(), lambda view: [0]),
    "assigned 0, which is not a job": (fork(), lambda view: [(0, 0)]),
    "raised IndexError": (fork(), lambda view: [(view.queue[3], 0)]),
    r"left 1 job waiting, job 0 \(node a is ready, 3 MB\), with 2 of 2 GPUs idle": (
        fork(),
        lambda view: [],
    ),
}


test_a_wrong_answer_gives_a_one_line_error = refusals(
    *(
        (problem, policy, f"policy .* at t = [0-9.]+ s {words}")
        for words, (problem, policy) in WRONG.items()
    ),
    call=simulate,
    error=cg.PolicyError,
)
