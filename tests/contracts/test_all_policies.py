"""Properties of every scenario and policy, on random small scenarios."""

from concurrent.futures import ThreadPoolExecutor
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
every_policy = pytest.mark.parametrize("policy", cg.POLICIES)


# ---- looking on ----


@dataclass
class Decision:
    """A decision as it was taken. answer: pairs of a job and the tuple of its slots."""

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


def slots_of_jobs(decisions):
    """The slots that each job was sent to, by its id."""
    return {job.id: slots for decision in decisions for job, slots in decision.answer}


# ---- every policy ----


@every_policy
@QUICK
@given(scenario=any_scenario, seed=seeds)
def test_every_job_completes_exactly_once(policy, scenario, seed):
    run, decisions = watched(scenario, policy, seed)
    assert run.jobs["job"].tolist() == list(range(scenario.workload.jobs))
    assert run.summary()["completed"] == run.summary()["jobs"] == scenario.workload.jobs
    assert sum(len(decision.answer) for decision in decisions) == scenario.workload.jobs


@every_policy
@QUICK
@given(scenario=any_scenario, seed=seeds)
def test_submission_dispatch_start_and_finish_follow_each_other(policy, scenario, seed):
    jobs = cg.simulate(scenario, policy, seed).jobs
    assert (jobs["dispatch_s"] >= jobs["submit_s"]).all()
    assert (jobs["start_s"] >= jobs["dispatch_s"]).all()
    assert (jobs["finish_s"] >= jobs["start_s"]).all()
    rounding_s = 2 * np.spacing(jobs["finish_s"])
    assert (
        abs(jobs["start_s"] - jobs["dispatch_s"] - jobs["delay_s"]) <= rounding_s
    ).all()
    assert (
        abs(jobs["finish_s"] - jobs["start_s"] - jobs["service_s"]) <= rounding_s
    ).all()


@every_policy
@pytest.mark.parametrize(
    ("first_s", "second_s"), [(21.6, 118.7), (44.7, 196.1), (33.2, 228.1)]
)
def test_rounding_of_the_clock_dispatches_no_job_before_its_submission(
    policy, first_s, second_s
):
    assert first_s + (second_s - first_s) < second_s
    jobs = [
        cg.Job(id, time_s, time_s + 600, tight=True)
        for id, time_s in enumerate((first_s, second_s))
    ]
    run = cg.simulate(cg.Scenario("rounding", cg.JobList(jobs)), policy)
    assert (run.jobs["dispatch_s"] >= run.jobs["submit_s"]).all()


@every_policy
@QUICK
@given(scenario=scenarios(), seed=seeds)
def test_a_slot_serves_one_job_at_a_time(policy, scenario, seed):
    jobs = cg.simulate(scenario, policy, seed).jobs
    for slot in range(len(scenario.slots)):
        served = np.sort(jobs[jobs["slot"] == slot], order="dispatch_s")
        assert (served["dispatch_s"][1:] >= served["finish_s"][:-1]).all()


@every_policy
@QUICK
@given(scenario=scenarios(gangs=True), seed=seeds)
def test_jobs_of_several_gpus_share_no_slot_and_exceed_no_fleet(policy, scenario, seed):
    run, decisions = watched(scenario, policy, seed)
    slots = slots_of_jobs(decisions)
    held = [[] for _ in scenario.slots]
    changes = []
    for row in run.jobs:
        assert len({slot.index for slot in slots[row["job"]]}) == row["gpus"]
        for slot in slots[row["job"]]:
            held[slot.index].append((row["dispatch_s"], row["finish_s"]))
        # what ends, ends first
        changes += [(row["finish_s"], -row["gpus"]), (row["dispatch_s"], row["gpus"])]
    assert np.cumsum([change for _, change in sorted(changes)]).max() <= len(
        scenario.slots
    )
    for intervals in map(sorted, held):
        assert all(end <= begin for (_, end), (begin, _) in pairwise(intervals))


@every_policy
@QUICK
@given(scenario=any_scenario, seed=seeds)
def test_one_decision_an_instant_and_none_sees_the_future(policy, scenario, seed):
    run, decisions = watched(scenario, policy, seed)
    times = [decision.now_s for decision in decisions]
    assert all(earlier < later for earlier, later in pairwise(times))
    assert run.decisions == len(decisions)
    for decision in decisions:
        assert decision.queue and decision.idle, "nothing to decide"
        assert all(job.submit_s <= decision.now_s for job in decision.queue)


@every_policy
@QUICK
@given(scenario=any_scenario, seed=seeds)
def test_a_view_shows_which_slots_are_busy_and_until_when_by_the_mean_times(
    policy, scenario, seed
):
    run, decisions = watched(scenario, policy, seed)
    finish_s, expected_s = {}, {}  # by slot, of the job that it serves
    for decision in decisions:
        now_s = decision.now_s
        busy = {slot for slot, time_s in finish_s.items() if time_s > now_s}
        assert {slot.index: slot.expected_end_s for slot in decision.slots} == {
            slot: expected_s[slot] if slot in busy else None
            for slot in range(len(scenario.slots))
        }
        assert [slot.index for slot in decision.idle] == sorted(
            set(range(len(scenario.slots))) - busy
        )
        for job, slots in decision.answer:
            mean_s = max(
                slot.gpu.mean_execution_s[job.complexity - 1] for slot in slots
            )
            for slot in slots:
                finish_s[slot.index] = run.jobs["finish_s"][job.id]
                expected_s[slot.index] = now_s + mean_s


@every_policy
@QUICK
@given(scenario=any_scenario, seed=seeds)
def test_same_seed_gives_the_same_records_to_the_bit(policy, scenario, seed):
    first, _ = watched(scenario, policy, seed)
    again = cg.simulate(scenario, policy, seed)
    assert np.array_equal(first.jobs, again.jobs)
    assert first.held_s == again.held_s


@QUICK
@given(scenario=any_scenario, seed=seeds)
def test_jobs_and_draws_depend_on_the_seed_alone(scenario, seed):
    def generate():
        made = list(scenario.workload.generate(seed, scenario.service))
        return [
            (job.id, job.submit_s, job.deadline_s, job.complexity, job.tight, job.gpus)
            for job, _ in made
        ], [tuple(draws) for _, draws in made]

    assert generate() == generate()


@every_policy
@QUICK
@given(scenario=any_scenario, seed=seeds)
def test_a_job_meets_the_same_luck_under_every_policy(policy, scenario, seed):
    run, decisions = watched(scenario, policy, seed)
    slots, market = slots_of_jobs(decisions), scenario.market
    stock = Stock(market, seed)  # of types whose stock persists, the market's
    for row, (job, draws) in zip(
        run.jobs, scenario.workload.generate(seed, scenario.service)
    ):
        gpus = [slot.gpu for slot in slots[job.id]]
        # the slowest sets the pace
        mean_s = max(gpu.mean_execution_s[job.complexity - 1] for gpu in gpus)
        assert row["service_s"] / mean_s == pytest.approx(draws.service, rel=1e-12)
        status = max(stock.status(gpu, row["dispatch_s"], draws.status) for gpu in gpus)
        assert row["status"] == status
        assert row["delay_s"] == market.provisioning_s(status, draws.delay)


@QUICK
@given(scenario=scenarios(), seed=seeds)
def test_service_factors_in_the_records_agree_between_all_policies(scenario, seed):
    means = np.array([gpu.mean_execution_s for gpu in scenario.gpus])
    runs = [cg.simulate(scenario, policy, seed).jobs for policy in cg.POLICIES]
    factors = [
        jobs["service_s"] / means[jobs["gpu"], jobs["complexity"] - 1] for jobs in runs
    ]
    for jobs, factor in zip(runs, factors):
        assert np.allclose(factor, factors[0], rtol=1e-12, atol=0)
        assert np.array_equal(jobs["submit_s"], runs[0]["submit_s"])
        assert np.array_equal(jobs["deadline_s"], runs[0]["deadline_s"])


# ---- order of service and idling ----


@QUICK
@given(scenario=any_scenario, seed=seeds)
def test_fifo_dispatches_in_order_of_submission(scenario, seed):
    assert (np.diff(cg.simulate(scenario, "fifo", seed).jobs["dispatch_s"]) >= 0).all()


@pytest.mark.parametrize(
    "policy", [name for name in cg.POLICIES if name not in ("rh", "triage", "watch")]
)
@QUICK
@given(scenario=scenarios(), seed=seeds)
def test_no_slot_idles_while_a_job_waits(policy, scenario, seed):
    for decision in watched(scenario, policy, seed)[1]:
        assert len(decision.answer) == min(len(decision.idle), len(decision.queue))


@QUICK
@given(
    scenario=scenarios(),
    seed=seeds,
    reserve=st.integers(0, 8),
    gate=st.sampled_from([0.0, 0.5, 0.95, 5.0, "at load", "above"]),
)
def test_rh_idles_exactly_where_its_reservation_says(scenario, seed, reserve, gate):
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


def test_rh_holds_nothing_above_the_gate():
    scenario = cg.day("hectic", jobs=100)
    assert scenario.known().offered_load > 0.95
    assert not any(
        decision.left_idle and decision.left_waiting
        for decision in watched(scenario, "rh:reserve=3", 0)[1]
    )


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


# ---- workers ----


@pytest.mark.slow
def test_rows_do_not_depend_on_the_workers(monkeypatch):
    # several tasks
    monkeypatch.setattr("cgrsp_simpy.studies.replicate.TASK_S", 0.01)
    scenario = cg.day("surge", jobs=50, tight_fraction=0.5)
    policies = ["random", "rh", "cadr:critical_ratio=5"]
    seeds = range(5)
    here = cg.compare(scenario, policies, seeds).rows
    pairs = [(policy, seed) for policy in policies for seed in seeds]
    assert here == [
        {"policy": p, "seed": seed, **cg.simulate(scenario, p, seed).summary()}
        for p, seed in pairs
    ]
    assert len({row["wait_min"] for row in here}) == len(here)
    assert cg.compare(scenario, policies, seeds, executor=1).rows == here
    assert cg.compare(scenario, policies, seeds, executor=2).rows == here
    with ThreadPoolExecutor(3) as threads:
        assert cg.compare(scenario, policies, seeds, executor=threads).rows == here
