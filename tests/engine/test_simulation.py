"""Runs on rented slots: whole event logs of tiny models, and the order of events within
an instant.
"""

import math

import numpy as np
import pytest
from engine.jobs import AT_ONCE, DAY_S, HECTIC, jobs
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.engine.events import Event
from cgrsp_simpy.rental.policies.rules import by_submission, first_idle
from cgrsp_simpy.rental.view import SlotView
from cgrsp_simpy.studies.subject import subject_of

# Types of which every status, delay and service time is certain: A is always High, B
# always Low.
A = cg.GpuType("A", 3.60, (60, 100), 1.0)  # USD 0.001 per second
B = cg.GpuType("B", 1.80, (90, 150), 0.0)


def scenario(listed, slots, delay_s=AT_ONCE, **other):
    """Jobs with certain times on slots of the types above."""
    market = cg.Market(cg.Clock(((0, 1.0),)), delay_s=delay_s, high_cap=1.0)
    return cg.Scenario(
        "tiny",
        cg.JobList(listed),
        slots,
        (A, B),
        market=market,
        service=cg.Service("lognormal", (0, 0)),
        **other,
    )


def log_of(model, policy="fifo"):
    """All events of a run."""
    log = []
    cg.simulate(model, policy, listener=log.append)
    return log


def watched(inner=None):
    """A policy (first come, first served, if not given) and the list of what it sees:
    time, waiting jobs, idle slots.
    """
    inner, seen = inner or cg.ListPolicy(by_submission, first_idle), []

    def policy(view):
        seen.append(
            (
                view.now_s,
                [job.id for job in view.queue],
                [slot.index for slot in view.idle],
            )
        )
        return inner(view)

    return policy, seen


def seen_by(model, inner=None):
    """The views of a policy in a run, and the run."""
    policy, seen = watched(inner)
    return seen, cg.simulate(model, policy)


def hold_until(at_s):
    """First come, first served from a time on; until then nothing, and a Wake at that
    time.
    """

    def policy(view):
        return zip(view.queue, view.idle) if view.now_s >= at_s else [cg.Wake(at_s)]

    return policy


def script(**answers):
    """Answers by decision time, at_0=..., as functions of a view; first come, first
    served at any other.
    """

    def policy(view):
        answer = answers.get(f"at_{view.now_s:g}")
        return answer(view) if answer else zip(view.queue, view.idle)

    return policy


def start_one(view):
    """The first waiting job on the first idle slot."""
    return [(view.queue[0], view.idle[0])]


def wakes(*times_s):
    """An answer that asks to be woken at these times."""
    return lambda view: [cg.Wake(at_s) for at_s in times_s]


# ---- the whole log ----


def test_the_log_of_three_jobs_on_two_slots():
    listed = [
        cg.Job(0, 0, 100, tight=True),
        cg.Job(1, 0, DAY_S, complexity=2),
        cg.Job(2, 20, 150, tight=True),
    ]
    log = log_of(scenario(listed, (A, B), delay_s=((5, 5), (30, 30), (600, 600))))
    assert log == [
        Event(0, "submit", 0, (), "complexity 1, tight, due 100.00"),
        Event(0, "submit", 1, (), "complexity 2, loose, due 86400.00"),
        Event(0, "decide", None, (), "2 waiting, 2 idle"),
        Event(0, "dispatch", 0, (0,), "A, High stock"),
        Event(0, "dispatch", 1, (1,), "B, Low stock"),
        Event(5, "start", 0, (0,), "5.00 s of provisioning, 5.00 s of wait in all"),
        Event(20, "submit", 2, (), "complexity 1, tight, due 150.00"),
        Event(65, "finish", 0, (0,), "60.00 s of execution, in time"),
        Event(65, "decide", None, (), "1 waiting, 1 idle"),
        Event(65, "dispatch", 2, (0,), "A, High stock"),
        Event(70, "start", 2, (0,), "5.00 s of provisioning, 50.00 s of wait in all"),
        Event(130, "finish", 2, (0,), "60.00 s of execution, in time"),
        Event(
            600, "start", 1, (1,), "600.00 s of provisioning, 600.00 s of wait in all"
        ),
        Event(750, "finish", 1, (1,), "150.00 s of execution, in time"),
    ]


def test_a_line_of_the_listing():
    assert list(map(str, log_of(scenario([cg.Job(0, 10, 50)], (A,))))) == [
        "     10.00  submit    job 0              complexity 1, loose, due 50.00",
        "     10.00  decide                       1 waiting, 1 idle",
        "     10.00  dispatch  job 0     slot 0   A, High stock",
        (
            "     10.00  start     job 0     slot 0   0.00 s of provisioning, 0.00 s of"
            " wait in all"
        ),
        "     70.00  finish    job 0     slot 0   60.00 s of execution, late",
    ]


def test_the_records_of_three_jobs_on_two_slots():
    listed = [
        cg.Job(0, 0, 100, tight=True),
        cg.Job(1, 0, DAY_S, complexity=2),
        cg.Job(2, 20, 100, tight=True),
    ]
    run = cg.simulate(
        scenario(listed, (A, B), delay_s=((5, 5), (30, 30), (600, 600))), "fifo"
    )
    assert run.jobs.tolist() == [
        # job, submit, deadline, complexity, tight, gpus, weight, class, dispatch,
        # start, finish, slot, gpu, status, delay, service, cost
        (0, 0, 100, 1, True, 1, 1, 0, 0, 5, 65, 0, 0, 0, 5, 60, pytest.approx(0.060)),
        (
            1,
            0,
            DAY_S,
            2,
            False,
            1,
            1,
            1,
            0,
            600,
            750,
            1,
            1,
            2,
            600,
            150,
            pytest.approx(0.075),
        ),
        (
            2,
            20,
            100,
            1,
            True,
            1,
            1,
            0,
            65,
            70,
            130,
            0,
            0,
            0,
            5,
            60,
            pytest.approx(0.060),
        ),
    ]
    assert run.held_s == (65 + 65, 750)
    assert run.summary() == {
        "jobs": 3,
        "completed": 3,
        "wait_min": pytest.approx((5 + 600 + 50) / 3 / 60),
        "miss_pct": pytest.approx(100 / 3),
        "tight_miss_pct": 50,
        "loose_miss_pct": 0,
        "tardiness_min": pytest.approx(30 / 3 / 60),
        "cost_usd": pytest.approx(0.195),
        "utilisation_pct": pytest.approx(100 * (65 + 65 + 750) / (2 * 750)),
        "makespan_h": 750 / 3600,
    }


def test_a_job_that_ends_at_its_deadline_is_in_time():
    run = cg.simulate(scenario([cg.Job(0, 0, 60), cg.Job(1, 0, 119.9)], (A,)), "fifo")
    assert run.jobs["finish_s"].tolist() == [60, 120]
    assert run.summary()["miss_pct"] == 50


# ---- within one instant ----


SLOW = ((30, 30),) * 3
UNEQUAL = [
    cg.Job(0, 0, DAY_S, complexity=2),
    cg.Job(1, 0, DAY_S),
    cg.Job(2, 0, DAY_S, complexity=2),
    cg.Job(3, 120, DAY_S),
]


def case(name, model, seen, policy=None):
    """The views of a policy in a run: time, waiting jobs and idle slots of each
    decision.
    """
    return pytest.param(model, policy, seen, id=name)


@pytest.mark.parametrize(
    ("model", "policy", "expected"),
    [
        case(
            "jobs at one time are one decision",
            scenario(jobs(*[0] * 20), (A,) * 20),
            [(0, list(range(20)), list(range(20)))],
        ),
        case(
            "a completion and an arrival, scheduled first, are one decision that sees"
            " both",
            scenario(jobs(0, 60), (A,)),
            [(0, [0], [0]), (60, [1], [0])],
        ),
        case(
            "a completion, scheduled first, and an arrival are one decision that sees"
            " both",
            scenario(jobs(0, 30, 60), (A,)),
            [(0, [0], [0]), (60, [1, 2], [0]), (120, [2], [0])],
        ),
        case(
            "completions of several jobs at the same instant are one decision",
            scenario(jobs(0, 0, 0, 10), (A, A, A)),
            [(0, [0, 1, 2], [0, 1, 2]), (60, [3], [0, 1, 2])],
        ),
        case(
            "a wake and an arrival at the same instant are one decision",
            scenario(jobs(0, 100), (A, A)),
            [(0, [0], [0, 1]), (100, [0, 1], [0, 1])],
            hold_until(100),
        ),
        case(
            "jobs that arrive together queue in the order of their list",
            scenario(jobs(0, 5, 5, 5), (A,)),
            [(0, [0], [0]), (60, [1, 2, 3], [0]), (120, [2, 3], [0]), (180, [3], [0])],
        ),
        case(
            "without an idle slot an arrival is no decision",
            scenario(jobs(0, 10, 20), (A,)),
            [(0, [0], [0]), (60, [1, 2], [0]), (120, [2], [0])],
        ),
        case(
            "without a waiting job a completion is no decision",
            scenario(jobs(0, 100), (A,)),
            [(0, [0], [0]), (100, [1], [0])],
        ),
        case(
            "a slot under provisioning is not idle",
            scenario(jobs(0, 10), (A, A), delay_s=SLOW),
            [(0, [0], [0, 1]), (10, [1], [1])],
        ),
        case(
            "nor is the only one",
            scenario(jobs(0, 10), (A,), delay_s=SLOW),
            [(0, [0], [0]), (90, [1], [0])],
        ),
        case(
            "idle slots are in the order of registration, whichever came back first",
            scenario(UNEQUAL, (A, A, A)),
            [(0, [0, 1, 2], [0, 1, 2]), (120, [3], [0, 1, 2])],
        ),
        case(
            "a policy that holds is woken at the time that it asked for",
            scenario(jobs(0), (A,)),
            [(0, [0], [0]), (100, [0], [0])],
            hold_until(100),
        ),
        case(  # at 100 s job 1 waits and slot 1 is idle
            "an arrival before the wake is a decision, and the stale wake is none",
            scenario(jobs(0, 70), (A, A)),
            [(0, [0], [0, 1]), (70, [0, 1], [0, 1]), (130, [1], [0, 1])],
            script(at_0=wakes(100), at_70=start_one),
        ),
        case(
            "a completion before the wake is a decision, and the stale wake is none",
            scenario(jobs(0, 0, 0), (A, A)),
            [(0, [0, 1, 2], [0, 1]), (60, [1, 2], [0, 1]), (120, [2], [0, 1])],
            script(at_0=lambda view: [*start_one(view), cg.Wake(100)], at_60=start_one),
        ),
        case(
            "a new wake that is earlier replaces the old one",
            scenario(jobs(0, 70), (A, A)),
            [(0, [0], [0, 1]), (70, [0, 1], [0, 1]), (80, [0, 1], [0, 1])],
            script(at_0=wakes(100), at_70=wakes(80)),
        ),
        case(
            "a new wake that is later replaces the old one",
            scenario(jobs(0, 70), (A, A)),
            [(0, [0], [0, 1]), (70, [0, 1], [0, 1]), (130, [0, 1], [0, 1])],
            script(at_0=wakes(100), at_70=wakes(130)),
        ),
        case(
            "of several wakes in an answer the first to come counts",
            scenario(jobs(0), (A,)),
            [(0, [0], [0]), (40, [0], [0])],
            script(at_0=wakes(90, 40, 70)),
        ),
        case(
            "a wake that finds no waiting job is no decision",
            scenario(jobs(0), (A, A)),
            [(0, [0], [0, 1])],
            script(at_0=lambda view: [*start_one(view), cg.Wake(30)]),
        ),
    ],
)
def test_a_decision_is_made_once_per_instant_after_all_its_events(
    model, policy, expected
):
    seen, run = seen_by(model, policy)
    assert seen == expected
    assert run.decisions == len(seen)


# ---- jobs of several GPUs ----


def test_a_job_of_two_gpus_starts_when_the_slower_slot_is_provisioned():
    model = scenario(
        [cg.Job(0, 0, DAY_S, gpus=2), cg.Job(1, 1, DAY_S)],
        (A, B),
        delay_s=((5, 5), (30, 30), (600, 600)),
    )
    assert [(e.time_s, e.kind, e.job, e.slots) for e in log_of(model)] == [
        (0, "submit", 0, ()),
        (0, "decide", None, ()),
        (0, "dispatch", 0, (0, 1)),
        (1, "submit", 1, ()),
        (600, "start", 0, (0, 1)),
        (690, "finish", 0, (0, 1)),  # at the pace of the slower type
        (690, "decide", None, ()),
        (690, "dispatch", 1, (0,)),
        (695, "start", 1, (0,)),
        (755, "finish", 1, (0,)),
    ]


def test_a_job_of_two_gpus_pays_for_both_and_holds_both():
    run = cg.simulate(
        scenario(
            [cg.Job(0, 0, DAY_S, gpus=2)],
            (A, B),
            delay_s=((5, 5), (30, 30), (600, 600)),
        ),
        "fifo",
    )
    assert run.jobs["cost_usd"].tolist() == [pytest.approx(90 * (3.60 + 1.80) / 3600)]
    assert run.jobs["gpus"].tolist() == [2]
    assert run.held_s == (690, 690)
    assert run.summary()["utilisation_pct"] == pytest.approx(100)


test_a_job_of_more_gpus_than_there_are_slots_is_an_error_with_a_name = refusals(
    (
        lambda: scenario([cg.Job(0, 0, DAY_S, gpus=3)], (A, A)),
        ["GPUs of job 0(=3) must be at most 2"],
    )
)


# ---- holding and wakes ----


# EARLY_S + (LATER_S - EARLY_S) rounds to below LATER_S
EARLY_S, LATER_S = 3.711012679280552, 30.358353097512282


def test_a_wake_never_comes_before_the_time_it_asked_for():
    assert EARLY_S + (LATER_S - EARLY_S) < LATER_S
    seen, _ = seen_by(scenario(jobs(EARLY_S), (A,)), hold_until(LATER_S))
    assert len(seen) == 2
    assert LATER_S <= seen[1][0] < LATER_S + 1e-9


def test_a_job_never_arrives_before_its_submission():
    seen, _ = seen_by(scenario(jobs(EARLY_S, LATER_S), (A, A)))
    assert LATER_S <= seen[1][0] < LATER_S + 1e-9


test_a_wake_must_lie_in_the_future = refusals(
    *(
        (at_s, r"requested a wake-up at .*; it must be a finite time after 0 s")
        for at_s in (-1, 0, float("inf"), float("nan"), "soon", None)
    ),
    call=lambda at_s: cg.simulate(
        scenario(jobs(0), (A,)), lambda view: [cg.Wake(at_s)]
    ),
    error=cg.PolicyError,
)


# ---- free choice of type ----


def test_with_free_types_the_policy_chooses_the_type_and_the_record_shows_it():
    chosen = []

    def policy(view):
        chosen.append([(slot.index, slot.gpu.name) for slot in view.slots])
        return [
            (view.queue[0], next(offer for offer in view.offers() if offer.gpu is B))
        ]

    run = cg.simulate(
        scenario(
            jobs(0, 10), (A, A), delay_s=((5, 5), (30, 30), (600, 600)), free_types=True
        ),
        policy,
    )
    assert chosen == [[(0, "A"), (1, "A")], [(0, "B"), (1, "A")]]
    assert [run.scenario.gpus[index].name for index in run.jobs["gpu"]] == ["B", "B"]
    assert run.jobs[["status", "service_s"]].tolist() == [(cg.Status.LOW, 90)] * 2
    assert run.jobs["cost_usd"].tolist() == [pytest.approx(90 * 1.80 / 3600)] * 2


def test_with_fixed_types_a_slot_keeps_its_own():
    model = scenario(jobs(0), (A, A))
    view = model.moment(model.workload.listed, busy={0: 50.0})
    assert view.offers() == list(view.idle) == [view.slots[1]]
    check_refused(
        lambda: cg.simulate(model, lambda view: [(view.queue[0], SlotView(0, B))]),
        r"assigned job 0 to slot 0 as B, which the view does not offer",
        cg.PolicyError,
    )


@pytest.mark.parametrize("policy", ["random", "rh", "watch"])
def test_a_listener_changes_nothing(policy):
    log = []
    watched_run = cg.simulate(HECTIC, policy, seed=4, listener=log.append)
    assert np.array_equal(watched_run.jobs, cg.simulate(HECTIC, policy, seed=4).jobs)
    assert sum(event.kind == "decide" for event in log) == watched_run.decisions


def test_a_run_of_no_jobs_has_no_means():
    run = subject_of(cg.day("quiet")).run("fifo", drawn=[])
    assert len(run.jobs) == 0
    figures = run.summary()
    assert figures["completed"] == figures["cost_usd"] == figures["makespan_h"] == 0
    assert all(
        math.isnan(figures[name])
        for name in ("wait_min", "miss_pct", "tardiness_min", "utilisation_pct")
    )


def test_a_run_has_at_most_29_attributes():
    """CPython looks up methods of an object with more attributes by a slower path."""
    subject = subject_of(cg.day("normal"))
    run = subject.simulation(subject.make_policy("fifo"), 0)
    assert len(vars(run)) <= 29
