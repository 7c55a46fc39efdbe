"""Preemption by hand: checkpoints, restarts, instances that are taken, jobs that are
suspended.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from support import (
    check_bad_input,
    check_refused,
    outcome,
    phases,
    refusals,
    utilisation,
)

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.market.model import CLOCKS
from cgrsp_simpy.rental.instances import PreemptionTimes
from cgrsp_simpy.rental.policies import PREEMPTIVE
from cgrsp_simpy.rental.policies.classic import fitting
from cgrsp_simpy.studies.subject import subject_of

GPU = cg.GpuType("G", 3.6, (100.0,), 1.0)  # 0.001 USD per second
TEN_S = cg.Market(delay_s=((10, 10),) * 3)
AT_ONCE = cg.Market(delay_s=((0, 0),) * 3)
SPOT = {"preemption_per_h": 1.0}
SUSPENSION = cg.Terms(suspension=True)


def scenario(jobs, terms, market=TEN_S, slots=1):
    """Jobs (submission, deadline) of 100 s on slots of one type."""
    listed = [cg.Job(id, *times) for id, times in enumerate(jobs)]
    law = cg.Service(sigma=(0,))
    return cg.Scenario(
        "spot", cg.JobList(listed), (GPU,) * slots, (GPU,), False, market, law, terms
    )


@pytest.fixture
def taken_at(monkeypatch):
    """Let the market take instances at these times, of every slot."""

    def choose(*times_s):
        monkeypatch.setattr(
            PreemptionTimes,
            "after",
            lambda own, slot, gpu, now_s: min(
                (at_s for at_s in times_s if at_s > now_s), default=float("inf")
            ),
        )

    return choose


def test_a_job_resumes_from_its_last_checkpoint(taken_at):
    taken_at(80)
    terms = cg.Terms(**SPOT, checkpoint_s=30, checkpoint_cost_s=2, restart_s=5)
    run = cg.simulate(scenario([(0, 1e6)], terms), "fifo")
    # 70 s: 30 of work, 2 of writing, 30, 2, and 6 that are lost; 40 are left, with a
    # checkpoint
    assert phases(run) == [
        (0, 0, "provisioning", 0, 10),
        (0, 0, "executing", 10, 80),
        (0, 0, "provisioning", 80, 90),
        (0, 0, "restarting", 90, 95),
        (0, 0, "executing", 95, 137),
    ]
    (row,) = run.rows()
    expected = {
        "preemptions": 1,
        "lost_s": 6,
        "restarting_s": 5,
        "checkpoints_s": 6,
        "away_s": 0,
        "delay_s": 20,
        "service_s": 112,
        "dispatch_s": 0,
        "start_s": 10,
        "finish_s": 137,
        "executing_usd": 0.1,
        "checkpoints_usd": 0.006,
        "wasted_usd": 0.011,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert run.summary()["cost_usd"] == pytest.approx(0.117)


@pytest.mark.parametrize(
    ("at_s", "expected"),
    [
        # not up yet: nothing to take
        (5, [("provisioning", 0, 10), ("executing", 10, 110)]),
        (60, [("provisioning", 0, 10), ("executing", 10, 60), ("provisioning", 60, 70),
              ("executing", 70, 170)]),
    ],
)  # fmt: skip
def test_without_checkpoints_all_is_lost(taken_at, at_s, expected):
    taken_at(at_s)
    run = cg.simulate(scenario([(0, 1e6)], cg.Terms(**SPOT)), "fifo")
    assert [phase[2:] for phase in phases(run)] == expected


def test_an_instance_that_is_taken_while_it_restarts(taken_at):
    taken_at(60, 75)
    run = cg.simulate(scenario([(0, 1e6)], cg.Terms(**SPOT, restart_s=20)), "fifo")
    assert [phase[2:] for phase in phases(run)][2:] == [
        ("provisioning", 60, 70),
        ("restarting", 70, 75),
        ("provisioning", 75, 85),
        ("restarting", 85, 105),
        ("executing", 105, 205),
    ]
    assert run.jobs["lost_s"].tolist() == [50]
    assert run.jobs["restarting_s"].tolist() == [25]


def test_a_policy_sees_a_restart_as_no_progress(taken_at):
    taken_at(60)
    seen = []

    def look(view):
        seen.append((view.now_s, [each.left for each in view.running]))
        return cg.make_policy("fifo")(view)

    terms = cg.Terms(**SPOT, restart_s=20)
    cg.simulate(scenario([(0, 1e6), (100, 1e6)], terms, slots=2), look)
    assert seen == [(0, []), (60, []), (100, [0.9])]


def test_a_preempted_warm_instance_is_no_preemption_of_a_job(taken_at):
    taken_at(150)
    events = []
    idle = scenario([(0, 1e6), (200, 1e6)], cg.Terms(**SPOT, warm_s=300))
    run = subject_of(idle).run("fifo", listener=events.append)
    assert phases(run)[2:4] == [
        (0, 0, "idle-warm", 110, 150),
        (1, 0, "provisioning", 200, 210),
    ]
    assert run.summary()["preemptions"] == 0
    assert [
        (event.time_s, event.detail) for event in events if event.kind == "preempt"
    ] == [(150, "slot 0, idle")]


def test_one_of_two_slots_of_a_job_is_preempted_and_the_other_stays_warm(taken_at):
    taken_at(60)
    wide = cg.JobList([cg.Job(0, 0.0, 1e6, gpus=2)])
    terms = cg.Terms(**SPOT, warm_s=300)
    run = cg.simulate(
        cg.Scenario(
            "two", wide, (GPU,) * 2, (GPU,), False, TEN_S, cg.Service(sigma=(0,)), terms
        ),
        "fifo",
    )
    figures = *run.jobs["finish_s"], run.summary()["preemptions"], sum(run.held_s)
    assert figures == (170, 1, 2 * 170)


def test_instances_are_preempted_at_the_given_rate_per_hour():
    by_hour = [0.0] * 6 + [4.0] * 6 + [1.0] * 12
    terms = cg.Terms(preemption_per_h=2.0, preemption=[cg.Preemption("H", by_hour)])
    clock = CLOCKS["calibrated"]
    run = SimpleNamespace(
        terms=terms,
        seed=5,
        gpu_index={"G": 0, "H": 1},
        market=SimpleNamespace(clock=clock),
    )
    days, horizon_s = 100, 100 * 86400.0
    for name, expected in (("G", [2.0] * 24), ("H", by_hour)):
        gpu, times, now_s = SimpleNamespace(name=name), [], 0.0
        preemptions = PreemptionTimes(run)
        while (now_s := preemptions.after(3, gpu, now_s)) < horizon_s:
            times.append(now_s)
        hours = ((clock.start_h + np.array(times) / 3600) % 24).astype(int)
        counts, means = np.bincount(hours, minlength=24), days * np.array(expected)
        assert (np.abs(counts - means) <= 4 * np.sqrt(means)).all()


def test_every_policy_is_run_with_the_same_preemptions():
    spot = cg.day("hectic", jobs=200, slots=2, terms=cg.Terms(preemption_per_h=6.0))
    index = {gpu.name: place for place, gpu in enumerate(spot.gpus)}
    same = SimpleNamespace(
        terms=spot.terms, seed=1, gpu_index=index, market=spot.market
    )
    preemptions, epochs = PreemptionTimes(same), []
    for slot, gpu in enumerate(spot.slots):
        at_s = 0.0
        while (at_s := preemptions.after(slot, gpu, at_s)) < 1e5:
            epochs.append((slot, pytest.approx(at_s)))
    for policy in ("fifo", "spt", "rh"):
        events = []
        subject_of(spot).run(policy, 1, listener=events.append)
        taken = [event for event in events if event.kind == "preempt"]
        assert len(taken) > 5
        for event in taken:
            assert any((*event.slots, event.time_s) == each for each in epochs)


# ---- suspension ----


def test_a_suspended_job_keeps_its_completed_work():
    run = cg.simulate(scenario([(0, 1e6), (40, 200)], SUSPENSION, AT_ONCE), "edf-p")
    assert phases(run) == [
        (0, 0, "executing", 0, 40),
        (0, 0, "executing", 140, 200),
        (1, 0, "executing", 40, 140),
    ]
    assert run.jobs[["suspensions", "away_s"]].tolist() == [(1, 100), (0, 0)]
    assert (run.summary()["utilisation_pct"], *utilisation(run)) == (100, 1, 1)
    # a checkpoint of 2 s after 30 s each: by 40 s, 38 s are done; 62 s are left
    terms = cg.Terms(suspension=True, checkpoint_s=30, checkpoint_cost_s=2)
    run = cg.simulate(scenario([(0, 1e6), (40, 200)], terms, AT_ONCE), "edf-p")
    assert run.jobs[["checkpoints_s", "finish_s"]].tolist() == [(6, 212), (6, 146)]
    assert cg.simulate(
        scenario([(0, 1e6), (40, 200)], cg.Terms(), AT_ONCE), "edf"
    ).jobs["finish_s"].tolist() == [100, 200]


def test_the_instance_of_a_suspended_job_is_kept_warm_for_the_next_job():
    """Both jobs after the first delay of 10 s start at once."""
    terms = cg.Terms(suspension=True, warm_s=1e4)
    run = cg.simulate(scenario([(0, 1e6), (40, 200)], terms, TEN_S), "edf-p")
    assert run.jobs["finish_s"].tolist() == [210, 140]


@pytest.mark.parametrize(
    ("jobs", "finish_s"),
    [
        # 1 and 2 make room for 3 and 4; 2 goes on first, when 3 or 0 end
        ([(10, 200), (10, 4000)], [100, 200, 190, 110, 110]),
        # 3 and 4 need two of three slots each: 0 makes no room for 4
        ([(10, 200, 1, False, 2), (10, 300, 1, False, 2)], [100, 290, 200, 110, 210]),
    ],
)
def test_only_the_jobs_with_the_latest_deadlines_are_suspended(jobs, finish_s):
    jobs = [(0, 3000), (0, 9000), (0, 5000), *jobs]
    run = cg.simulate(scenario(jobs, SUSPENSION, AT_ONCE, slots=3), "edf-p")
    assert run.jobs["suspensions"].tolist() == [0, 1, 1, 0, 0]
    assert run.jobs["finish_s"].tolist() == finish_s


def test_no_job_overtakes_one_of_several_gpus_that_does_not_fit():
    jobs = [cg.Job(id, 0, 9, gpus=gpus) for id, gpus in enumerate((1, 2, 1))]
    assert fitting(jobs, 2) == {jobs[0]}


def test_srpt_continues_a_job_with_less_remaining_time():
    gpu = cg.GpuType("G", 3.6, (100.0, 50.0), 1.0)

    def finish(at_s):
        jobs = cg.JobList([cg.Job(0, 0.0, 1e6, 1), cg.Job(1, at_s, 1e6, 2)])
        law = cg.Service(sigma=(0, 0))
        return cg.simulate(
            cg.Scenario("srpt", jobs, (gpu,), (gpu,), False, AT_ONCE, law, SUSPENSION),
            "srpt",
        ).jobs["finish_s"].tolist()  # fmt: skip

    # if equal, the running job continues
    ends_s = {40.0: [150, 90], 60.0: [100, 150], 50.0: [100, 150]}
    assert {left_s: finish(left_s) for left_s in ends_s} == ends_s


def test_a_policy_sees_running_and_stopped_jobs():
    seen = []

    def look(view):
        shares = [
            (each.job.id, each.slots, each.since_s, each.left) for each in view.running
        ]
        seen.append(
            (view.now_s, shares, [(job.id, view.share_left(job)) for job in view.queue])
        )
        return cg.make_policy("edf-p")(view)

    look.suspends = True
    cg.simulate(scenario([(0, 1e6), (40, 200)], SUSPENSION, AT_ONCE), look)
    assert seen == [
        (0, [], [(0, 1.0)]),
        (40, [(0, (0,), 0.0, 0.6)], [(1, 1.0)]),
        (40, [], [(0, 0.6), (1, 1.0)]),
        (140, [], [(0, 0.6)]),
    ]


@pytest.mark.parametrize("policy", PREEMPTIVE)
def test_preemptive_policies_need_terms_that_allow_suspension(policy, capsys):
    words = (
        f"policy(='{policy}') must be a policy without suspension, unless the terms"
        " of the scenario allow it"
    )
    with pytest.raises(cg.InputError) as error:
        cg.compare(cg.day("quiet"), ["fifo", policy], range(2))
    assert str(error.value) == words
    check_bad_input(outcome(capsys, "run", "hectic", "--policy", policy), [words])
    assert main(["run", "normal", "terms.suspension=yes", "--policy", policy]) == 0


def test_a_policy_that_suspends_without_permission_gets_an_error():
    def suspend(view):
        return [cg.Suspend(view.queue[0])]

    def changeful(view):
        yield from (cg.Suspend(each.job) for each in view.running)
        yield from zip(view.queue, view.idle)

    check_refused(
        lambda: cg.simulate(cg.day("quiet"), changeful),
        "this scenario does not allow suspension",
        cg.PolicyError,
    )
    check_refused(
        lambda: cg.simulate(cg.day("quiet", terms=SUSPENSION), suspend),
        "suspended job 0, which is not running",
        cg.PolicyError,
    )


# ---- input ----


test_wrong_spot_terms_in_python = refusals(
    (lambda: cg.Preemption("G", -1), "per_h of G"),
    (
        lambda: cg.Preemption("G", [1.0] * 23),
        r"24 numbers, one per hour \(here 23\)",
    ),
    (
        lambda: cg.Preemption("G", "often"),
        "per_h of G.* must be a number >= 0 or 24 numbers",
    ),
    (lambda: cg.Preemption(3, 1.0), "gpu of Preemption.* must be a string"),
    (lambda: cg.Terms(preemption=[cg.Preemption("G", 1)] * 2), "different"),
    (lambda: cg.Terms(preemption=[0.5]), "of type Preemption"),
    (lambda: cg.Terms(suspension="yes"), "true or false"),
    (lambda: cg.Terms(checkpoint_s=0), "a number > 0"),
    (  # runs of millions of stays, each of which saves next to nothing
        lambda: cg.Terms(checkpoint_s=1e-6, checkpoint_cost_s=60),
        r"checkpoint_s\(=1e-06\) must be at least checkpoint_cost_s, 60 s",
    ),
    (
        lambda: cg.day("quiet", terms=cg.Terms(preemption=[cg.Preemption("H100", 1)])),
        "unknown GPU type of a preemption 'H100'",
    ),
    (
        lambda: cg.Scenario("x", cg.PoissonWorkload(1, 1.0), terms={}),
        "of type Terms",
    ),
)
