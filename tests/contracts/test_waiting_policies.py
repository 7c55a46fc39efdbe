"""Properties of all waiting policies, on any jobs: the recursion and the simulation
agree, machines hold what they can hold.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import simulated, waits_s

import cgrsp_simpy as cg
from cgrsp_simpy.waiting.machines import M5, Size
from cgrsp_simpy.waiting.policies import POLICIES, Mispredictions, waiting_policy
from cgrsp_simpy.waiting.recursion import follow

MISTAKEN = Mispredictions(wait_over=0.2, wait_under=0.3, run_over=0.25, run_under=0.15)
every_policy = pytest.mark.parametrize("name", POLICIES)
orders = st.sampled_from(["fcfs", "sjf"])


@st.composite
def job_lists(draw, most_cores=1):
    """Jobs in whole seconds, so that many events coincide, some of them with running
    time 0.
    """
    number = draw(st.integers(1, 40))
    gaps = draw(st.lists(st.integers(0, 4), min_size=number, max_size=number))
    runs = draw(st.lists(st.integers(0, 12), min_size=number, max_size=number))
    cores = draw(st.lists(st.integers(1, most_cores), min_size=number, max_size=number))
    memory_gb = draw(
        st.lists(
            st.sampled_from([0.0, 0.1, 1.0, 2.5]), min_size=number, max_size=number
        )
    )
    return cg.waiting.ListedJobs(np.cumsum(gaps), runs, cores, memory_gb)


def small(name):
    return waiting_policy(name, wait_s=5, short_s=3)


def assert_same(one, other):
    np.testing.assert_array_equal(one.jobs["on_demand"], other.jobs["on_demand"])
    np.testing.assert_array_equal(one.jobs["start_s"], other.jobs["start_s"])


SIZES = (Size("a", 1, 4.0, 1.0), Size("b", 4, 2.0, 4.0), Size("c", 3, 8.0, 3.0))


@every_policy
@given(
    jobs=job_lists(most_cores=4),
    machines=st.one_of(
        st.integers(1, 4), st.lists(st.sampled_from(SIZES), min_size=1, max_size=4)
    ),
    mistaken=st.booleans(),
    conserving=st.booleans(),
)
@settings(max_examples=40)
def test_recursion_and_simulation_agree_job_by_job_even_if_events_coincide(
    name, jobs, machines, mistaken, conserving
):
    errors = MISTAKEN if mistaken else Mispredictions()
    own = (
        machines
        if isinstance(machines, int)
        else (SIZES[1], Size("d", 4, 8.0, 1), *machines)
    )
    case = cg.waiting.Scenario(
        jobs, small(name), own, errors=errors, work_conserving=conserving
    )
    assert_same(simulated(case, keep=True), follow(case, keep=True))


@every_policy
@pytest.mark.parametrize(
    "errors", [Mispredictions(), MISTAKEN], ids=["exact", "mistaken"]
)
@pytest.mark.slow
def test_recursion_and_simulation_agree_to_the_last_bit_on_exponential_jobs(
    name, errors
):
    case = cg.waiting.Scenario(
        cg.waiting.ExponentialJobs(20_000), waiting_policy(name), 101, errors=errors
    )
    assert_same(simulated(case, seed=3, keep=True), follow(case, seed=3, keep=True))


@pytest.mark.quick_cases(3)
@every_policy
@given(
    jobs=job_lists(),
    servers=st.integers(1, 4),
    order=orders,
    mistaken=st.booleans(),
)
@settings(max_examples=40)
def test_machines_of_one_core_are_whole_machines(name, jobs, servers, order, mistaken):
    errors = MISTAKEN if mistaken else Mispredictions()
    whole = cg.waiting.Scenario(jobs, small(name), servers, order, errors=errors)
    shared = replace(whole, machines=(Size("one core", 1, 4.0, 1.0),) * servers)
    assert_same(simulated(whole, keep=True), simulated(shared, keep=True))


@every_policy
@given(jobs=job_lists(most_cores=4), order=orders)
@settings(max_examples=40)
def test_each_policy_behaves_as_its_name_suggests(name, jobs, order):
    machines = (Size("a", 4, 4.0, 1.0),)
    done = simulated(
        cg.waiting.Scenario(jobs, small(name), machines, order), keep=True
    ).jobs
    wait_s, short = waits_s(done), done["run_s"] < 3
    if name == "ajw":
        assert not done["on_demand"].any()
    if name == "njw":
        assert (wait_s == 0).all()
    if name in ("ajw-t", "sww", "compound"):
        assert (wait_s <= 5).all()
    if name == "ajw-t":
        assert (wait_s[done["on_demand"]] == 5).all()
    if name in ("sww", "compound"):
        assert (wait_s[done["on_demand"]] == 0).all()
    if name == "ljw":
        np.testing.assert_array_equal(done["on_demand"], short)
    if name == "compound":
        assert done["on_demand"][short].all()


@given(jobs=job_lists(), servers=st.integers(1, 3), order=orders)
@settings(max_examples=40)
def test_the_jobs_that_balk_are_those_that_would_give_up(jobs, servers, order):
    """Section 4.1, after Liu and Kulkarni: the same set, and so the same waits of the
    others; under both orders.
    """
    gave_up, balked = (
        simulated(
            cg.waiting.Scenario(jobs, small(name), servers, order), keep=True
        ).jobs
        for name in ("ajw-t", "sww")
    )
    np.testing.assert_array_equal(gave_up["on_demand"], balked["on_demand"])
    np.testing.assert_array_equal(
        gave_up["start_s"][~gave_up["on_demand"]],
        balked["start_s"][~gave_up["on_demand"]],
    )


# ---- costs of a log, by an independent program ----

FIXED, ON_DEMAND = 3.84, 9.6


def by_the_second(jobs, policy, machines, order):
    """Submission, start, running time of each job and whether it is rented, for times
    in whole seconds; second by second.
    """
    rows = list(zip(jobs.submit_s.tolist(), jobs.run_s.tolist()))
    start = [0.0] * len(rows)
    rented = [False] * len(rows)
    ends = [-1.0] * machines
    line = []
    for index, (submit, run) in enumerate(rows):
        if machines == 0 or run < policy.short_s:
            start[index], rented[index] = submit, True
    for now in range(int(sum(map(sum, rows))) + 2):
        line += [
            index
            for index, (submit, _) in enumerate(rows)
            if submit == now and not rented[index]
        ]
        if order == "sjf":
            line.sort(key=lambda index: (rows[index][1], index))
        while line and ends and min(ends) <= now:
            index = line.pop(0)
            start[index] = now
            ends[ends.index(min(ends))] = now + rows[index][1]
        for index in [index for index in line if now - rows[index][0] >= policy.wait_s]:
            line.remove(index)
            start[index], rented[index] = rows[index][0] if policy.balks else now, True
    return [
        (submit, at, run, gone) for (submit, run), at, gone in zip(rows, start, rented)
    ]


def costs(told, fixed_per_h, rents=None):
    """Price and mean wait: machines from the first submission to the last end, and what
    is rented, over the work.
    """
    rents = rents or [1.0] * len(told)
    first = min(row[0] for row in told)
    last = max(start + run for _, start, run, _ in told)
    rented = sum(rent * run for rent, (_, _, run, gone) in zip(rents, told) if gone)
    work = sum(rent * run for rent, (_, _, run, _) in zip(rents, told))
    price = (FIXED * fixed_per_h * (last - first) + ON_DEMAND * rented) / work
    return price, sum(start - submit for submit, start, _, _ in told) / len(told)


@pytest.mark.quick_cases(3)
@every_policy
@given(jobs=job_lists(), machines=st.integers(0, 4), order=orders)
@settings(max_examples=40)
def test_a_log_has_the_cost_of_another_program_and_at_least_that_of_full_use(
    name, jobs, machines, order
):
    assume(jobs.run_s.any())
    policy, machines = small(name), max(machines, int(name == "ajw"))
    price, wait_s = costs(by_the_second(jobs, policy, machines, order), machines)
    case = cg.waiting.Scenario(jobs, policy, machines, order)
    for run in (simulated, follow) if order == "fcfs" else (simulated,):
        figures = run(case).summary()
        assert (figures["price"], figures["wait_s"]) == pytest.approx((price, wait_s))
        assert figures["price"] >= FIXED * (1 - 1e-12)


@pytest.mark.quick_cases(3)
@every_policy
@given(jobs=job_lists(most_cores=4), machines=st.integers(0, 3), order=orders)
@settings(max_examples=30)
def test_a_log_on_shared_machines_costs_the_sum_of_its_jobs(
    name, jobs, machines, order
):
    """From where each job ran; a job rents the smallest of m5 with its cores and 4 GB
    per core, at 0.048 per core and hour.
    """
    assume(jobs.run_s.any())
    case = cg.waiting.Scenario(
        jobs, small(name), (M5[2],) * max(machines, int(name == "ajw")), order
    )
    outcome = simulated(case, keep=True)
    done = outcome.jobs
    message = list(
        zip(done["submit_s"], done["start_s"], done["run_s"], done["on_demand"])
    )
    needs = np.maximum(done["cores"], np.ceil(done["memory_gb"] / 4))
    rents = [0.048 * 2 ** math.ceil(math.log2(need)) for need in needs]
    price, wait_s = costs(message, 4 * 0.048 * len(case.machines), rents)
    assert (outcome.summary()["price"], outcome.summary()["wait_s"]) == pytest.approx(
        (price, wait_s)
    )
