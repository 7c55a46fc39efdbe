"""DAGs on GPUs: simulated and computed times are identical; no rule is broken; no plan
is below the lower bound.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.dag.listing import (
    ORDERS,
    SIMPLE,
    Draft,
    best_simple,
    by_priority,
    heft,
    random_plan,
    upward_rank_s,
)
from cgrsp_simpy.dag.policies import STARTS, anneal, random_search
from cgrsp_simpy.dag.problem import (
    FEW,
    Plan,
    Problem,
    carried_out,
    lower_bound_s,
    makespans,
)
from cgrsp_simpy.dag.scenario import schedule_of, simulate
from cgrsp_simpy.dag.search import Budget, random_units

QUICK = settings(max_examples=100)
FULL = 12  # MB, the largest GPU; some have less
ALL = (random_plan, *SIMPLE, best_simple)


@st.composite
def problems(draw, missing=False):
    """Up to ten nodes and four GPUs; small whole numbers, so that many events coincide,
    and thirds and tenths.
    """
    nodes, gpus = draw(st.integers(1, 10)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    number = rng.permutation(nodes)
    pairs = np.argwhere(
        np.triu(rng.random((nodes, nodes)) < rng.choice([0, 0.2, 0.5]), 1)
    )
    unit = rng.integers(0, nodes, nodes) if draw(st.booleans()) else ()
    whole = draw(st.booleans())
    work = rng.integers(0, 5, nodes) if whole else rng.integers(0, 30, nodes) / 10
    lasting = {}  # memory for longer than a node runs, of which there is then enough
    if lasts := draw(st.booleans()):
        unit = np.array(unit) if len(unit) else np.arange(nodes)
        together = np.equal(*unit[number[pairs]].T)
        lasting = {
            "resident_mb": rng.integers(0, 9, nodes),
            "held_mb": rng.integers(0, 9, len(pairs)) * together,
        }
    graph = cg.dag.Graph(
        work,
        rng.integers(0, FULL + 1, nodes),
        number[pairs],
        rng.integers(0, 4, len(pairs)),
        unit,
        **lasting,
    )
    bandwidth = rng.choice(
        [0.0, 1.0] if missing else [1.0, 2.0, 3.0, np.inf], (gpus, gpus)
    )
    memory = (
        np.where(np.arange(gpus) == 0, FULL, rng.integers(4, FULL + 1, gpus))
        + 1000 * lasts
    )
    latency_s = rng.choice([0.0, 1.0, 0.3], (gpus, gpus)) if draw(st.booleans()) else ()
    speeds = rng.choice([1.0, 2.0] if whole else [0.7, 1.0, 3.0], gpus)
    contention = draw(st.sampled_from([None, False, True]))
    platform = cg.dag.Platform(
        speeds,
        memory,
        np.arange(gpus) // 2,
        bandwidth,
        latency_s,
        contention=contention,
    )
    return Problem(graph, platform)


@st.composite
def planned(draw, missing=False):
    """A problem and a plan: random GPUs, and a random topological order or the
    graph's.
    """
    problem = draw(problems(missing))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    gpu = random_units(problem, 1, rng)[0][problem.graph.unit]
    order = (
        np.array(by_priority(problem.graph, rng.random(problem.graph.nodes)))
        if draw(st.booleans())
        else None
    )
    return problem, Plan(gpu, order)


def never_more_at_once(schedule, sizes, most):
    """Of the nodes that run at the start of one, those on its GPU are together at most
    so much.
    """
    gpu, start_s, finish_s = schedule.plan.gpu, schedule.start_s, schedule.finish_s
    for node in np.flatnonzero(start_s < finish_s):
        runs = (
            (gpu == gpu[node]) & (start_s <= start_s[node]) & (start_s[node] < finish_s)
        )
        assert sizes[runs].sum() <= most[gpu[node]]


@QUICK
@given(planned(missing=True))
def test_a_missing_connection_stops_the_simulation_and_makes_the_makespan_infinite(
    given_,
):
    problem, plan = given_
    if np.isfinite(carried_out(problem, plan).makespan_s):
        result = schedule_of(simulate(problem, plan))
        assert result.makespan_s == carried_out(problem, plan).makespan_s
    else:
        check_refused(lambda: simulate(problem, plan), ["but they are not connected"])


@QUICK
@given(problems() | problems(missing=True))
def test_plans_evaluated_together_or_one_by_one_are_equal(problem):
    gpu = random_units(problem, 2 * FEW, np.random.default_rng(0))[
        :, problem.graph.unit
    ]
    at_once = makespans(problem, gpu)
    assert at_once.tolist() == [
        carried_out(problem, Plan(row)).makespan_s for row in gpu
    ]
    assert at_once[:FEW].tolist() == makespans(problem, gpu[:FEW]).tolist()
    assert makespans(problem, gpu[:0]).shape == (0,)


def memory_in_use_mb(graph, on, order, node):
    """Count what is resident, held, and needed by a node, from the order alone."""
    place, own = np.argsort(order), on == on[node]
    held = sum(
        held
        for (start, end), held in zip(graph.edges.tolist(), graph.held_mb)
        if own[start] and place[start] <= place[node] <= place[end]
    )
    return graph.resident_mb[own].sum() + held + graph.memory_mb[node]


@settings(max_examples=200)
@given(planned())
def test_a_run_equals_the_computed_schedule_and_breaks_no_rule(given_):
    problem, plan = given_
    run = schedule_of(simulate(problem, plan))
    computed = carried_out(problem, plan)
    assert np.array_equal(run.start_s, computed.start_s)
    assert np.array_equal(run.finish_s, computed.finish_s)
    if plan.order is None:
        assert makespans(problem, plan.gpu[None]).tolist() == [run.makespan_s]
    graph, on = problem.graph, plan.gpu
    assert np.array_equal(
        run.finish_s, run.start_s + problem.time_s[np.arange(graph.nodes), on]
    )
    ready_s, targets = np.zeros(graph.nodes), graph.edges[:, 1]
    np.maximum.at(ready_s, targets, run.arrivals_s())
    assert (ready_s <= run.start_s).all()  # data arrive before the start
    if not problem.contention:  # it waits for nothing but data and its GPU
        for node in np.flatnonzero(run.start_s > ready_s):
            assert run.start_s[node] in run.finish_s[on == on[node]]
    never_more_at_once(run, graph.memory_mb, problem.platform.memory_mb)
    never_more_at_once(run, np.ones(graph.nodes), np.ones(problem.platform.gpus))
    order = graph.order if plan.order is None else plan.order
    for gpu in range(problem.platform.gpus):
        # each in its turn
        assert (np.diff(run.start_s[order[on[order] == gpu]]) >= 0).all()
    in_use_mb = [memory_in_use_mb(graph, on, order, n) for n in range(graph.nodes)]
    assert graph.in_use_mb(on, order).tolist() == in_use_mb


@settings(max_examples=25)
@given(problems())
def test_every_scheduler_makes_a_plan_that_is_allowed_and_not_below_the_bound(problem):
    plans = [make(problem, 3) for make in ALL] + [
        random_search(problem, Budget(5), 3, order).plan for order in ORDERS
    ]
    plans += [
        anneal(problem, Budget(20), 3, order, start=start).plan
        for order in ("best-simple", *ORDERS)
        for start in STARTS
    ]
    least_s = lower_bound_s(problem) * (1 - 1e-12)
    # which checks the plan
    assert all(
        schedule_of(simulate(problem, plan)).makespan_s >= least_s for plan in plans
    )


@pytest.mark.slow
@QUICK
@given(problems(missing=True))
def test_no_plan_beats_the_bound_if_connections_are_missing(problem):
    for plan in [make(problem) for make in ALL] + [anneal(problem, Budget(20)).plan]:
        assert carried_out(problem, plan).makespan_s >= lower_bound_s(problem) * (
            1 - 1e-12
        )


@QUICK
@given(problems(), st.booleans())
def test_a_plan_without_contention_is_not_later_than_its_draft(problem, insertion):
    """Without contention, since a draft ignores waits for links."""
    assume(not problem.contention)
    draft = Draft(problem, insertion)
    for node in by_priority(problem.graph, upward_rank_s(problem)):
        draft.place(node)
    assert (carried_out(problem, draft.plan("draft")).finish_s <= draft.finish_s).all()


@QUICK
@given(problems(), st.integers(0, 5))
def test_annealing_is_never_worse_than_heft_and_reports_its_makespan(problem, seed):
    result = anneal(problem, Budget(30), seed)
    assert result.makespan_s <= carried_out(problem, heft(problem)).makespan_s
    assert result.makespan_s == schedule_of(simulate(problem, result.plan)).makespan_s
    assert result.evaluations <= 30
