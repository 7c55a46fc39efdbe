"""Properties of every scenario and policy, on random small scenarios."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_scenarios import scenarios
from support import several

import cgrsp_simpy as cg
from cgrsp_simpy.market.stock import Stock
from cgrsp_simpy.rental.view import SlotView

QUICK = settings(max_examples=25)
any_scenario = scenarios() | scenarios(gangs=True)
seeds = st.integers(0, 2**32)
# may leave a slot idle while jobs wait
HOLD = ("rh", "triage", "watch")
every_policy = pytest.mark.parametrize("policy", cg.POLICIES)


# ---- observers ----


@dataclass
class Decision:
    """Record of a decision. answer: pairs of a job and the tuple of its slots."""

    now_s: float
    queue: tuple[cg.Job, ...]
    slots: tuple[SlotView, ...]
    idle: tuple[SlotView, ...]
    answer: list[tuple[cg.Job, tuple[SlotView, ...]]]

    @property
    def left_idle(self):
        return len(self.idle) - sum(len(slots) for _, slots in self.answer)

    @property
    def left_waiting(self):
        return set(self.queue) - {job for job, _ in self.answer}


def watched(scenario, policy, seed):
    """A run and its decisions."""
    decide, decisions = cg.make_policy(policy), []

    def look_on(view):
        # as they are before the answer is carried out
        seen = view.queue, view.slots, view.idle
        answer = list(decide(view))
        pairs = [each for each in answer if not isinstance(each, cg.Wake)]
        answered = [(job, several(slots)) for job, slots in pairs]
        decisions.append(Decision(view.now_s, *seen, answered))
        return answer

    return cg.simulate(scenario, look_on, seed), decisions


# ---- every policy ----


def check_times(run):
    """Check that submission, dispatch, start and finish are in this order."""
    jobs = run.jobs
    assert (jobs["dispatch_s"] >= jobs["submit_s"]).all()
    assert (jobs["start_s"] >= jobs["dispatch_s"]).all()
    rounding_s = 2 * np.spacing(jobs["finish_s"])
    delays_s = jobs["start_s"] - jobs["dispatch_s"] - jobs["delay_s"]
    services_s = jobs["finish_s"] - jobs["start_s"] - jobs["service_s"]
    assert (abs(delays_s) <= rounding_s).all()
    assert (abs(services_s) <= rounding_s).all()


def check_slots(run, slots):
    """Jobs hold as many slots as they need, one job per slot at a time."""
    held = defaultdict(list)
    for row in run.jobs:
        assert len({slot.index for slot in slots[row["job"]]}) == row["gpus"]
        for slot in slots[row["job"]]:
            held[slot.index].append((row["dispatch_s"], row["finish_s"]))
    assert set(held) <= set(range(len(run.scenario.slots)))
    for intervals in map(sorted, held.values()):
        assert all(end <= begin for (_, end), (begin, _) in pairwise(intervals))


def check_views(run, decisions):
    """One decision per instant sees no future jobs, and which slots are busy until when
    by the mean times.
    """
    times = [decision.now_s for decision in decisions]
    assert all(earlier < later for earlier, later in pairwise(times))
    assert run.decisions == len(decisions)
    finish_s, expected_s = {}, {}  # by slot, of the job that it serves
    for decision in decisions:
        now_s = decision.now_s
        assert decision.queue and decision.idle, "nothing to decide"
        assert all(job.submit_s <= now_s for job in decision.queue)
        busy = {slot for slot, time_s in finish_s.items() if time_s > now_s}
        assert [slot.expected_end_s for slot in decision.slots] == [
            expected_s[slot] if slot in busy else None
            for slot in range(len(run.scenario.slots))
        ]
        assert [slot.index for slot in decision.idle] == sorted(
            set(range(len(run.scenario.slots))) - busy
        )
        for job, slots in decision.answer:
            level = job.complexity - 1
            mean_s = max(slot.gpu.mean_execution_s[level] for slot in slots)
            for slot in slots:
                finish_s[slot.index] = run.jobs["finish_s"][job.id]
                expected_s[slot.index] = now_s + mean_s


def check_draws(run, slots, seed):
    """Check that policies do not change service time, status and delay of a job."""
    scenario, stock = run.scenario, Stock(run.scenario.market, seed)
    drawn = scenario.workload.generate(seed, scenario.service)
    for row, (job, draws) in zip(run.jobs, drawn, strict=True):
        gpus = [slot.gpu for slot in slots[job.id]]
        # the slowest sets the pace
        mean_s = max(gpu.mean_execution_s[job.complexity - 1] for gpu in gpus)
        assert row["service_s"] / mean_s == pytest.approx(draws.service, rel=1e-12)
        status = max(stock.status(gpu, row["dispatch_s"], draws.status) for gpu in gpus)
        assert row["status"] == status
        assert row["delay_s"] == scenario.market.provisioning_s(status, draws.delay)
        assert (row["submit_s"], row["deadline_s"]) == (job.submit_s, job.deadline_s)


@every_policy
@QUICK
@given(scenario=any_scenario, seed=seeds)
def test_every_policy_keeps_the_rules_and_gives_the_same_bits(policy, scenario, seed):
    run, decisions = watched(scenario, policy, seed)
    slots = {job.id: slots for each in decisions for job, slots in each.answer}
    assert run.jobs["job"].tolist() == list(range(scenario.workload.jobs))
    assert run.summary()["completed"] == run.summary()["jobs"] == scenario.workload.jobs
    assert sum(len(decision.answer) for decision in decisions) == scenario.workload.jobs
    check_times(run)
    check_slots(run, slots)
    check_views(run, decisions)
    check_draws(run, slots, seed)
    if policy not in HOLD and scenario.workload.gpus_per_job == 1:
        for decision in decisions:
            most = min(len(decision.idle), len(decision.queue))
            assert len(decision.answer) == most
    again = cg.simulate(scenario, policy, seed)
    assert np.array_equal(run.jobs, again.jobs)
    assert run.held_s == again.held_s


# ---- order of service and idling ----


@QUICK
@given(scenario=any_scenario, seed=seeds)
def test_fifo_dispatches_in_order_of_submission(scenario, seed):
    assert (np.diff(cg.simulate(scenario, "fifo", seed).jobs["dispatch_s"]) >= 0).all()


@QUICK
@given(
    scenario=scenarios(),
    seed=seeds,
    reserve=st.integers(0, 8),
    gate=st.sampled_from([0.0, 0.5, 0.95, 5.0, "at load", "above"]),
)
def test_rh_idles_exactly_by_its_reservation(scenario, seed, reserve, gate):
    load = scenario.known().offered_load
    if isinstance(gate, str):
        gate = (
            0.0 if load == inf else load if gate == "at load" else nextafter(load, inf)
        )
    reserved = min(reserve, len(scenario.slots) - 1) if load < gate else 0
    for decision in watched(scenario, f"rh:reserve={reserve},gate={gate!r}", seed)[1]:
        if decision.left_idle and decision.left_waiting:
            assert decision.left_idle <= reserved
            assert not any(job.tight for job in decision.left_waiting)
        idle = len(decision.idle)
        for job, _ in decision.answer:
            idle -= 1
            assert job.tight or idle >= reserved


@pytest.mark.parametrize("reserve", [1, 2, 3])
def test_rh_does_hold_slots_below_the_gate(reserve):
    scenario = cg.day("surge", jobs=100)
    assert scenario.known().offered_load < 0.95
    held = [
        d
        for d in watched(scenario, f"rh:reserve={reserve}", 0)[1]
        if d.left_idle and d.left_waiting
    ]
    assert max(decision.left_idle for decision in held) == reserve


@every_policy
def test_a_job_may_need_the_whole_fleet(policy):
    jobs = [
        cg.Job(0, 0, 28800, gpus=2),
        cg.Job(1, 1000, 29800),
        cg.Job(2, 2000, 5600, tight=True, gpus=2),
    ]
    run = cg.simulate(
        cg.Scenario("whole fleet", cg.JobList(jobs), cg.round_robin(2)), policy
    )
    assert run.summary()["completed"] == 3
