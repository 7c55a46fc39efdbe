"""One run of waiting jobs: its events in the module's words, its claims and timeline,
users' orders, and the command.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from support import check_refused, refusals, simulated
from waiting.cases import jobs_of

import cgrsp_simpy as cg
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.engine.stepping import steps
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.waiting.policies import Mispredictions, waiting_policy
from cgrsp_simpy.waiting.recursion import follow

PAIR = (cg.waiting.Size("four", 4, 16.0, 0.0), cg.waiting.Size("two", 2, 8.0, 0.0))


def set_up(case, seed, listener):
    return subject_of(case).simulation(case.policy, seed, listener=listener)


def events_of(case, seed=0):
    return support.events_of(partial(set_up, case, seed))


FOUR = jobs_of((0, 100, 1, 0), (10, 50, 1, 0), (20, 30, 1, 0), (100, 5, 1, 0))


@pytest.mark.parametrize(
    ("policy", "events"),
    [
        ("ajw-t:wait_s=60", [
            (0, "submit", 1, ()), (0, "start", 1, (0,)),
            (10, "submit", 2, ()), (20, "submit", 3, ()),
            (70, "gives up", 2, ()), (70, "rents", 2, ()),
            (80, "gives up", 3, ()), (80, "rents", 3, ()),
            (100, "finish", 1, (0,)), (100, "submit", 4, ()), (100, "start", 4, (0,)),
            (105, "finish", 4, (0,)), (110, "finish", 3, ()), (120, "finish", 2, ()),
        ]),
        # jobs 3 and 4 are shorter than 50 s
        ("ljw:short_s=50", [
            (0, "submit", 1, ()), (0, "start", 1, (0,)), (10, "submit", 2, ()),
            (20, "submit", 3, ()), (20, "rents", 3, ()), (50, "finish", 3, ()),
            (100, "finish", 1, (0,)), (100, "submit", 4, ()), (100, "rents", 4, ()),
            (100, "start", 2, (0,)), (105, "finish", 4, ()), (150, "finish", 2, (0,)),
        ]),
    ],
)  # fmt: skip
def test_the_events_of_four_jobs_on_one_machine(policy, events):
    assert events_of(cg.waiting.Scenario(FOUR, waiting_policy(policy), 1)) == events


def test_a_hindsight_balking_job_rents_from_its_arrival():
    message = events_of(
        cg.waiting.Scenario(FOUR, waiting_policy("sww", wait_s=60), 1, order="sjf")
    )
    assert [event for event in message if event[2] == 2] == [
        (10, "submit", 2, ()),
        (70, "rents", 2, ()),
        (70, "finish", 2, ()),
    ]
    line = simulated(
        cg.waiting.Scenario(
            jobs_of((0, 100, 1, 0), (10, 90, 1, 0), (10, 0, 1, 0)),
            waiting_policy("sww", wait_s=60),
            1,
            order="sjf",
        ),
        keep=True,
    ).timeline
    claims = line.claims[["job", "resource", "from_s", "to_s"]].tolist()
    assert (line.resources, line.sizes, claims) == (
        ("0", "on demand"),
        (1, 1),
        [(1, 0, 0, 100), (2, 1, 10, 100)],
    )


def test_future_events_include_patience_but_no_dispatch_of_reneging_jobs():
    walk = list(
        steps(
            partial(
                set_up,
                cg.waiting.Scenario(FOUR, waiting_policy("ajw-t", wait_s=60), 1),
                0,
            )
        )
    )
    came = next(step for step in walk if step.event.job == 2)
    assert came.waiting == (2,)
    assert came.future == ((20, "submit", 3), (70, "gives up", 2), (100, "finish", 1))
    assert next(step.future[0] for step in walk if step.event.kind == "decide") == (
        0,
        "dispatch",
        1,
    )
    assert not any(
        due.kind == "dispatch" and due.job in (2, 3)
        for step in walk
        for due in step.future
    )


def test_a_step_shows_a_shared_machine_once():
    # the first takes all memory, both take all cores
    jobs = jobs_of((0, 10, 3, 16), (1, 10, 1, 0))
    case = cg.waiting.Scenario(jobs, waiting_policy("ajw"), PAIR, by_hand)
    walk = list(steps(partial(set_up, case, 0)))
    assert "machines: 1(3)+2 -" in str(
        next(
            step for step in walk if step.event.kind == "start" and step.event.job == 2
        )
    )


# ---- claims and timeline ----


@st.composite
def cases(draw):
    """Up to thirty jobs; whole or shared machines, every policy and order."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    number = draw(st.integers(1, 30))
    columns = (
        np.cumsum(rng.integers(0, 20, number)),
        rng.integers(0, 60, number),
        rng.integers(1, 5, number),
    )
    jobs = cg.waiting.ListedJobs(*columns, columns[2] * rng.integers(0, 4, number))
    policy = waiting_policy(
        draw(st.sampled_from(["ajw", "njw", "ajw-t", "sww", "ljw", "compound"])), 30, 20
    )
    machines = draw(st.sampled_from([1, 2, 5, (PAIR[0],), PAIR]))
    return cg.waiting.Scenario(
        jobs, policy, machines, draw(st.sampled_from(["fcfs", "sjf", by_hand]))
    )


@given(cases())
@settings(max_examples=60)
def test_claims_agree_with_the_jobs_and_no_machine_is_overbooked(case):
    outcome = simulated(case, keep=True)
    jobs, line = outcome.jobs, outcome.timeline
    claims, ran = line.claims, jobs["finish_s"] > jobs["start_s"]
    by_job = claims[np.argsort(claims["job"])]
    assert by_job["job"].tolist() == jobs["job"][ran].tolist()
    assert by_job["from_s"].tolist() == jobs["start_s"][ran].tolist()
    assert by_job["to_s"].tolist() == jobs["finish_s"][ran].tolist()
    own = len(case.machines) if case.shared else case.machines
    assert ((by_job["resource"] == own) == jobs["on_demand"][ran]).all()
    assert (
        by_job["amount"].tolist()
        == (jobs["cores"][ran] if case.shared else np.ones(ran.sum())).tolist()
    )
    for at_s in claims["from_s"]:
        holds = claims[(claims["from_s"] <= at_s) & (at_s < claims["to_s"])]
        held = np.bincount(holds["resource"], holds["amount"], len(line.sizes))
        assert (held <= line.sizes).all()
    assert line.visits["granted_s"].tolist() == jobs["start_s"].tolist()
    assert set(line.kinds) == set(line.visits["job"].tolist())


def test_without_a_simulation_or_records_there_is_no_timeline():
    case = cg.waiting.Scenario(FOUR, waiting_policy("ajw"), 1)
    for outcome in (simulated(case), follow(case, keep=True)):
        with pytest.raises(cg.InputError, match="records=True"):
            _ = outcome.timeline


# ---- users' orders ----


def by_hand(view):
    """First come, first served, in a user's words."""
    for job in view.queue:
        rooms = view.rooms(job)
        if not rooms:
            return
        yield job, rooms[0]


def test_an_order_sees_only_jobs_that_have_arrived_and_wait():
    seen = []

    def order(view):
        seen.append(
            (
                view.now_s,
                [job.id for job in view.queue],
                [job.id for job in view.by_time],
            )
        )
        return by_hand(view)

    simulated(cg.waiting.Scenario(FOUR, waiting_policy("ajw"), 1, order))
    assert seen == [
        (0, [1], [1]),
        (100, [2, 3, 4], [4, 3, 2]),
        (150, [3, 4], [4, 3]),
        (180, [4], [4]),
    ]


def test_an_order_may_wait():
    def at_noon(view):
        return (
            zip(view.queue[:2], reversed(view.rooms(None)))
            if view.now_s >= 500
            else [cg.Wake(500.0)]
        )

    outcome = simulated(
        cg.waiting.Scenario(FOUR, waiting_policy("ajw"), 3, at_noon), keep=True
    )
    assert outcome.jobs["start_s"].tolist() == [500, 500, 550, 550]


WRONG = {
    "assigned job 1 to machine 7; the machines are 0 to 1": lambda view: [
        (view.queue[0], 7)
    ],
    "assigned job 1 to machine 'a'; the machines are 0 to 1": lambda view: [
        (view.queue[0], "a")
    ],
    "assigned job 1 to machine True; the machines are 0 to 1": lambda view: [
        (view.queue[0], True)
    ],
    "neither a pair": lambda view: [view.queue[0].id],
    "assigned 1, which is not a job": lambda view: [(1, 0)],
    "raised IndexError": lambda view: [(view.queue[5], 0)],
    "assigned job 1, which is not waiting": lambda view: [(view.queue[0], 0)] * 2,
    "left 4 jobs waiting": lambda view: [],
    "with 2 of 2 machines idle": lambda view: None,
}


test_a_wrong_answer_gives_a_one_line_error = refusals(
    *(
        (machines, order, f"policy .* at t = [0-9]+ s .*{words}")
        for words, order in WRONG.items()
        for machines in (2, PAIR)
    ),
    call=lambda machines, order: simulated(
        cg.waiting.Scenario(FOUR, waiting_policy("ajw"), machines, order)
    ),
    error=cg.PolicyError,
)


test_a_machine_that_is_too_small_is_rejected = refusals(
    (1, "assigned job 2 to machine 0, which is busy or already assigned"),
    (
        (PAIR[0],),
        "assigned job 2 to machine 0, which has 1 cores free; the job needs 3",
    ),
    (
        (cg.waiting.Size("a", 8, 4.0, 0.0),),
        "assigned job 2 to machine 0, which has 1 GB free; the job needs 3",
    ),
    call=lambda machines: simulated(
        cg.waiting.Scenario(
            jobs_of((0, 10, 3, 3), (0, 10, 3, 3)),
            waiting_policy("ajw"),
            machines,
            lambda view: [(job, 0) for job in view.queue],
        )
    ),
    error=cg.PolicyError,
)


# ---- studies ----


def test_a_study_is_simulated_in_simpy_only_if_the_recursion_does_not_apply(
    monkeypatch,
):
    made, finish = [], Simulation.finish
    monkeypatch.setattr(
        Simulation, "finish", lambda run: (made.append(run), finish(run))[1]
    )
    cg.compare(cg.waiting.Scenario(FOUR, machines=2), ["ajw", "njw"], [0])
    assert not made
    cg.compare(cg.waiting.Scenario(FOUR, machines=2), ["ajw", by_hand], [0])
    assert len(made) == 2  # the first run is repeated
    cg.simulate(cg.waiting.Scenario(FOUR, machines=2), "ajw")
    assert len(made) == 3


def test_a_function_of_a_view_orders_the_jobs_under_the_policy_of_the_case(file):
    path = file(OWN, "own.py")
    case = cg.waiting.Scenario(FOUR, waiting_policy("ajw-t", wait_s=100), 1)
    result = cg.compare(case, ["ajw", by_hand, f"{path}:longest"], [0])
    for policy, order in ((by_hand, by_hand), (f"{path}:longest", f"{path}:longest")):
        own = simulated(replace(case, order=order))
        name = policy if isinstance(policy, str) else "by_hand"
        assert result.values(name, "wait_s") == [own.summary()["wait_s"]]
        assert own.summary()["on_demand_fraction"] == 0.25


def test_an_unavailable_requirement_of_a_policy_is_rejected_before_the_first_run():
    check_refused(
        lambda: cg.compare(
            cg.waiting.Scenario(FOUR, waiting_policy("njw"), 0), ["njw", "ajw"], [0]
        ),
        "machines",
    )
    wide = cg.waiting.Scenario(jobs_of((0, 1, 9, 0)), waiting_policy("njw"), PAIR)
    check_refused(
        lambda: cg.compare(wide, ["njw", "ajw"], [0]),
        r"job 1 .* fits on no fixed machine",
    )


# ---- the command ----

OWN = (
    "def longest(view):\n"
    "    jobs = sorted(view.queue, key=lambda job: -job.run_s)\n"
    "    return zip(jobs, view.rooms(None))\n"
)


def test_core_hours_per_group_are_cores_times_running_time():
    jobs = cg.waiting.ListedJobs(
        np.zeros(3), np.array([3600.0, 7200, 1800]), np.array([2, 4, 8]), np.ones(3)
    )
    run = cg.simulate(cg.waiting.Scenario(jobs, machines=3), "ajw")
    assert [row["core_hours"] for row in run.by("cores")] == [2.0, 8.0, 4.0]


def test_rented_machines_are_billed_by_size_row_by_row():
    """Full hours with a boot of two minutes: jobs of half an hour and of 59 min on
    demand.
    """
    size = cg.waiting.Size("two", 2, 0.0, 1.0, increment_s=3600.0, boot_s=120.0)
    jobs = jobs_of((0, 1800, 2, 0), (60, 1800, 1, 0), (90, 3540, 4, 0))
    run = simulated(
        cg.waiting.Scenario(jobs, waiting_policy("njw"), (size,), sizes=(size,)),
        keep=True,
    )
    assert run.jobs["on_demand"].tolist() == [False, True, True]
    assert [row["wait_s"] for row in run.rows()] == [0, 0, 0]
    # to the last end; two machines, two hours each
    owned, rented = 0.4 * 3630 / 3600, 1 + 2 * 2
    work = (1800 + 1800 + 2 * 3540) / 3600
    assert run.summary()["price"] == pytest.approx(9.6 * (owned + rented) / work)


@pytest.mark.parametrize(
    ("policy", "changes", "is_known"),
    [
        ("ljw", {}, True),
        ("sww", {"errors": Mispredictions(0.1)}, True),
        ("sww", {"errors": Mispredictions(0.1, run_over=0.1)}, False),
        ("sww", {"errors": Mispredictions(0.1, run_under=0.1)}, False),
        ("ljw", {"errors": Mispredictions(0.1)}, False),
        ("ljw", {"work_conserving": True}, False),
        ("ljw", {"order": "sjf"}, False),
        ("njw", {"machines": 0}, False),
        ("njw", {"machines": 1}, True),
    ],
)
def test_a_formula_covers_no_errors_except_of_waits_under_sww(
    policy, changes, is_known
):
    case = cg.waiting.Scenario(
        cg.waiting.ExponentialJobs(9),
        waiting_policy(policy),
        **({"machines": 105} | changes),
    )
    assert (case.formula() is not None) == is_known


def test_seeds_matter_if_predictions_may_be_wrong():
    cases = (
        cg.waiting.Scenario(
            FOUR, waiting_policy("njw"), 1, errors=Mispredictions(wait_over=share)
        )
        for share in (0.0, 0.5)
    )
    assert [subject_of(case).is_random for case in cases] == [False, True]
