"""A decision considers one offer per type: it decides as if it saw all idle slots, and
costs no more as the fleet grows.
"""

import random as python_random
import sys

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.rental.view import SlotView, View
from cgrsp_simpy.studies.subject import subject_of

TRACED = ("fifo", "cadr", "triage")  # the others: pytest -m slow
# Prices and times with ties, so that the first slot registered must win them.
TYPES = (
    cg.GpuType("A", 0.25, (60, 70, 100), 0.4),
    cg.GpuType("B", 0.25, (60, 90, 95), 0.9),
    cg.GpuType("C", 0.0, (50, 70, 64), 0.6),
)


def crowds(seed, free_types=False, gangs=False):
    """A random fleet, and jobs of which many arrive at the same instant."""
    rng = python_random.Random(seed)
    slots = [rng.choice(TYPES) for _ in range(rng.randint(1, 9))]
    jobs, now_s = [], 0.0
    for id in range(120):
        now_s += rng.choice([0.0, 0.0, rng.expovariate(len(slots) / 250)])
        due_s = now_s + rng.choice([100, 400, 1800, 3600, 28800])
        gpus = rng.randint(1, min(3, len(slots))) if gangs else 1
        jobs.append(
            cg.Job(id, now_s, due_s, rng.randint(1, 3), rng.random() < 0.3, gpus)
        )
    return cg.Scenario("crowds", cg.JobList(jobs), slots, TYPES, free_types)


def all_offers(view):
    """Every idle slot; with free types, as every type."""
    gpus = view.known.gpus
    return (
        [SlotView(slot.index, gpu) for slot in view.idle for gpu in gpus]
        if view.known.free_types
        else list(view.idle)
    )


def without(view, offers, taken):
    return [offer for offer in offers if offer.index != taken.index]


def status_of_moment(view, slot):
    """A status of the type and the moment, however many others are looked at."""
    uniform = python_random.Random(f"{slot.gpu.name} {view.now_s}").random()
    return view.known.market.status(slot.gpu, view.now_s, uniform)


def random_over_all(view):
    """Random, by its definition."""
    answer, offers = [], all_offers(view)
    for job in view.rng.sample(view.queue, min(view.waiting, len(view.idle))):
        if job.gpus > len({offer.index for offer in offers}):
            break
        slots = []
        for _ in range(job.gpus):
            slots.append(view.rng.choice(offers) if len(offers) > 1 else offers[0])
            offers = without(view, offers, slots[-1])
        answer.append((job, tuple(slots)))
    return answer


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize(
    "policy", dict.fromkeys(["random", *cg.POLICIES, "rh:reserve=2,gate=100"])
)
@pytest.mark.parametrize("free_types", [False, True])
@pytest.mark.parametrize("gangs", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_policy_that_looks_at_every_idle_slot_leaves_the_same_records(
    policy, free_types, gangs, monkeypatch
):
    monkeypatch.setattr(View, "status", status_of_moment)
    scenarios = [crowds(seed, free_types, gangs) for seed in range(2)]
    results = [
        cg.simulate(scenario, policy, seed).jobs
        for seed, scenario in enumerate(scenarios)
    ]
    if policy == "random":
        policy = random_over_all
    monkeypatch.setattr(View, "offers", all_offers)
    monkeypatch.setattr(View, "offers_after", without)
    for seed, (scenario, jobs) in enumerate(zip(scenarios, results)):
        assert np.array_equal(cg.simulate(scenario, policy, seed).jobs, jobs)


def test_the_status_shown_is_drawn_once_per_type_and_decision(
    monkeypatch,
):
    shown, drawn, status = set(), [], cg.Market.status

    def counted(market, gpu, now_s, uniform):
        drawn.append(uniform)
        return status(market, gpu, now_s, uniform)

    monkeypatch.setattr(cg.Market, "status", counted)

    def look_on(view):
        drawn.clear()
        idle = {}
        for slot in view.idle:
            idle.setdefault(slot.gpu.name, []).append(view.status(slot))
        assert all(len(set(statuses)) == 1 for statuses in idle.values())
        assert len(drawn) == len(idle)
        shown.update(statuses[0] for statuses in idle.values() if len(statuses) > 1)
        return zip(view.queue, view.idle)

    cg.simulate(cg.day("surge", slots=9), look_on, seed=1)
    assert shown == set(cg.Status)


def test_offers_are_the_first_idle_slot_of_each_type_and_then_the_next_like_it():
    a, b, c = TYPES
    scenario = cg.Scenario(
        "fleet", cg.PoissonWorkload(9, 0.1), (a, b, a, c, b, a), TYPES
    )
    view = scenario.moment([], busy={0: 50.0, 3: 20.0})
    assert [slot.index for slot in view.offers()] == [1, 2]
    after = view.offers_after(view.offers(), view.slots[1])
    assert [slot.index for slot in after] == [2, 4]
    after = view.offers_after(after, after[1])
    assert [slot.index for slot in after] == [2]
    after = view.offers_after(after, after[0])
    assert [slot.index for slot in after] == [5]
    assert view.offers_after(after, after[0]) == []
    assert [slot.index for slot in view.idle] == [1, 2, 4, 5]
    assert [view.idle[place] for place in range(view.idle_count)] == list(view.idle)
    assert view.next_end_s == 20.0
    assert scenario.moment([]).next_end_s is None


def test_with_free_types_the_first_idle_slot_is_offered_as_each_type():
    scenario = cg.Scenario(
        "fleet", cg.PoissonWorkload(9, 0.1), TYPES, TYPES, free_types=True
    )
    view = scenario.moment([], busy={0: 50.0})
    assert [(slot.index, slot.gpu) for slot in view.offers()] == [
        (1, gpu) for gpu in TYPES
    ]
    after = view.offers_after(view.offers(), view.offers()[2])
    assert [(slot.index, slot.gpu) for slot in after] == [(2, gpu) for gpu in TYPES]
    assert view.offers_after(after, after[0]) == []


# ---- cost per job ----


def instructions(scenario, policy):
    """Bytecode instructions that a run executes, from the first arrival to the last
    completion.
    """
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    run = subject_of(scenario).simulation(cg.make_policy(policy), 0)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run.env.run()
    finally:
        sys.settrace(before)
    return count


def busy_fleet(slots, jobs=60):
    """The normal day, with an arrival rate in proportion to its slots."""
    usual = cg.day("normal").workload.rate_per_s / 5
    return cg.day("normal", slots=slots, jobs=jobs, rate_per_s=usual * slots)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(policy, marks=[pytest.mark.slow] * (policy not in TRACED))
        for policy in cg.POLICIES
    ],
)
def test_the_work_a_job_makes_does_not_grow_with_the_fleet(policy):
    # Python 3.12 counts none in the first run of a process that is traced
    _, few, many = (instructions(busy_fleet(slots), policy) for slots in (5, 5, 400))
    assert 0 < many < 1.25 * few
