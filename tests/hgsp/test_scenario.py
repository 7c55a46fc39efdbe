"""Simulated HGSP schedules: noise, delay, replanning, users' policies, listings and
pictures; and that every command simulates.
"""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hgsp.tasks import SLOW, execute, instance_of, simulate
from hypothesis import given, settings
from hypothesis import strategies as st
from support import outcome, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.hgsp.policies import OWNERS, SCHEDULERS, Follow, Online, Replan
from cgrsp_simpy.hgsp.report import schedule_of
from cgrsp_simpy.hgsp.scenario import Scenario, noise_factors, solve
from cgrsp_simpy.hgsp.schedule import (
    RULES,
    Schedule,
    Solution,
    atc,
    dispatch,
    greedy_assignment,
)
from cgrsp_simpy.hgsp.search import search
from cgrsp_simpy.papers.hgsp.sagreedy import inserter, sagreedy
from cgrsp_simpy.studies.subject import subject_of

ROOT = Path(__file__).parents[2]
SMALL = ["hgsp:tasks3", "source.tasks=12"]
THIRTY = cg.hgsp.generate(cg.hgsp.Level(30, "small", 2.0, (1.0, 3.0)), seed=1)


def greedy(instance):
    return greedy_assignment(instance, range(instance.tasks))


of = partial(instance_of, gpus=(SLOW,))


# ---- noise and delay ----


def test_noise_has_mean_1_and_the_coefficient_of_variation_asked_for():
    """Of 200,000 draws, within four standard errors; that of the variation is larger
    than 1 / sqrt(2 n) of it for a long tail.
    """
    n, cv = 200_000, 0.3
    factors = noise_factors(cv, 5, n)
    assert factors.mean() == pytest.approx(1, abs=4 * cv / n**0.5)
    assert factors.std() == pytest.approx(cv, rel=4 * (1 + cv) ** 3 / (2 * n) ** 0.5)
    # log-normal
    assert np.log(factors).std() == pytest.approx(
        np.log1p(cv**2) ** 0.5, rel=4 / (2 * n) ** 0.5
    )
    assert (noise_factors(0.0, 0, 9) == 1).all()


def test_the_draws_belong_to_tasks_under_every_scheduler():
    policies = [Follow(greedy(THIRTY)), Online(atc), Replan(greedy, 20.0)]
    for policy in policies:
        result = simulate(THIRTY, policy, 0.4, 3.0, seed=2)
        planned_s = THIRTY.times_s[np.arange(30), result.gpu]
        np.testing.assert_allclose(
            (result.finish_s - result.start_s) / planned_s, noise_factors(0.4, 2, 30)
        )
        np.testing.assert_allclose(result.start_s - result.granted_s, 3)
        # works on a copy of the policy
        again = simulate(THIRTY, policy, 0.4, 3.0, seed=2)
        np.testing.assert_array_equal(result.finish_s, again.finish_s)


@pytest.mark.parametrize("delay_s", [0.0, 2.0])
def test_a_frozen_plan_keeps_its_order_and_waits_for_nobody_else(delay_s):
    plan = sagreedy(THIRTY, iterations=20)[0]
    result = execute(plan, 0.5, delay_s)
    assert result.sequences() == plan.sequences()
    for sequence in result.sequences():
        free_s = 0.0
        for task in sequence:
            assert result.granted_s[task] == pytest.approx(
                max(free_s, THIRTY.arrival_s[task])
            )
            free_s = result.finish_s[task]


def test_a_gpu_that_a_plan_leaves_idle_on_purpose_idles_as_long():
    """Task 2 is there at 0 and planned for 5; task 1 runs 0 to 2, or with the delay
    of 1 s 1 to 3.
    """
    two = of((2, 0, 9, 1, 0), (2, 0, 9, 1, 0))
    plan = Schedule(two, np.array([0, 0]), np.array([0.0, 5.0]), np.array([2.0, 7.0]))
    starts_s = [execute(plan, 0.0, delay_s).start_s.tolist() for delay_s in (0, 1, 5)]
    assert starts_s == [[0, 5], [1, 6], [5, 12]]


def test_a_run_that_deviates_from_its_plan_is_an_error(monkeypatch):
    wrong = greedy(THIRTY)
    wrong.finish_s[-1] += 1
    monkeypatch.setitem(SCHEDULERS, "greedy", lambda *_: Solution(wrong))
    with pytest.raises(RuntimeError, match="differs from the plan"):
        solve(THIRTY, "greedy").summary()


# ---- replanning ----


def test_plans_are_made_at_the_steps_and_know_only_arrived_tasks():
    """Every 10 s: task 1 (arrives at 3, 12 s) is granted at 10; the delay is 1 s.

    At 20 tasks 2 and 3 are planned behind it, the heavier first by WSPT, at 23, 2 s
    each; task 4 arrives at 23 and is planned at 30.
    """
    four = of(
        (12, 0, 99, 1, 3), (2, 0, 99, 1, 12), (2, 0, 99, 5, 13), (2, 0, 99, 1, 23)
    )
    seen = []

    def plan(instance):
        seen.append((instance.task_names, instance.free_s.tolist()))
        return dispatch(instance, RULES["wspt"])

    result = simulate(four, Replan(plan, 10.0), 0.0, 1.0)
    assert result.start_s.tolist() == [11, 27, 24, 31]
    assert seen == [(("1",), [10]), (("2", "3"), [23]), (("4",), [30])]


@given(
    st.integers(0, 9), st.sampled_from([0.75, 10.0, 60.0]), st.sampled_from([0.0, 0.3])
)
@settings(max_examples=25)
def test_no_new_plan_uses_future_tasks_or_a_gpu_before_it_is_free(seed, every_s, noise):
    instance = cg.hgsp.generate(cg.hgsp.Level(25, "small", 1.5, (1.0, 3.0)), seed)
    due_s = np.ceil(instance.arrival_s / every_s) * every_s
    result = simulate(instance, Replan(greedy, every_s), noise, seed=seed)
    assert (result.start_s >= due_s - 1e-9).all()
    assert noise or result.fault() == ""
    assert np.isfinite(instance.times_s[np.arange(25), result.gpu]).all()


PLANNERS = {
    "fifo": lambda instance: greedy_assignment(instance, range(instance.tasks), True),
    "greedy": greedy,
    "insertion": lambda instance: inserter(instance)(np.arange(instance.tasks)[::-1]),
    "sagreedy": lambda instance: sagreedy(instance, iterations=5)[0],
    "search": lambda instance: search(instance, moves=300)[0],
    **{
        name: lambda instance, rule=rule: dispatch(instance, rule)
        for name, rule in RULES.items()
    },
}


LATER = replace(THIRTY, free_s=np.array([40.0, 5.0, 90.0]))


@pytest.mark.parametrize("name", PLANNERS)
def test_planners_use_no_gpu_before_it_is_available(name):
    plan = PLANNERS[name](LATER)
    assert plan.fault() == ""
    assert (plan.start_s >= LATER.free_s[plan.gpu]).all()
    first_s = [plan.start_s[sequence[0]] for sequence in plan.sequences() if sequence]
    assert 40.0 in first_s  # the A100 is wanted as soon as it is there


def test_no_policy_uses_a_gpu_before_it_is_available():
    seen_s = []

    def first_look(view):
        seen_s.append(view.free_s)
        return Online(atc)(view)

    schedules = [solve(LATER, name) for name in ("atc", "atc:online=true")]
    schedules += [solve(LATER, "greedy:replan_s=5"), solve(LATER, first_look)]
    for schedule in map(schedule_of, schedules):
        assert (schedule.start_s >= LATER.free_s[schedule.gpu]).all()
    planned, online, _, own = map(schedule_of, schedules)
    assert online.start_s.tolist() == planned.start_s.tolist() == own.start_s.tolist()
    assert seen_s[0][::2] == (40.0, 90.0)


# ---- ways, and what they are worth ----


def test_without_arrival_times_rules_are_compared_unless_plans_are_made_again():
    compared = [
        subject_of(Scenario(**values)).default_policies()
        for values in (
            {"unknown_arrivals": True},
            {"unknown_arrivals": True, "replan_s": 9.0},
            {"moves": 9},
            {"seconds": 9.0},
        )
    ]
    assert compared == [
        ("wspt", "edd", "atc"),
        Scenario.compared,
        *[("fifo", "greedy", "sagreedy", "search", "atc")] * 2,
    ]


test_a_scheduler_that_cannot_plan_or_replan_is_rejected = refusals(
    (
        "greedy",
        {"unknown_arrivals": True},
        "greedy plans in advance, which is impossible with",
    ),
    (
        "greedy:online=true",
        {},
        "greedy does not use online (used by: wspt, edd, atc)",
    ),
    ("milp:replan_s=9", {}, "milp does not use replan_s"),
    ("milp", {"replan_s": 9.0}, "milp does not use replan_s"),
    ("fifo:moves=9", {}, "fifo does not use moves (used by: search)"),
    (
        "atc:online=true,replan_s=9",
        {},
        "replan_s(=9.0) must be 0 if a rule decides online",
    ),
    ("atc:replan_s=-1", {}, "replan_s(=-1.0) must be a number >= 0"),
    (
        "atc:replan=1",
        {},
        "unknown parameter of scheduler atc 'replan'; did you mean 'replan_s'?",
    ),
    ("search", {"replan_s": 9.0}, "search with replan_s needs a limit per plan"),
    ("act", {}, "unknown scheduler 'act'; did you mean 'atc'?"),
    call=lambda scheduler, reality: subject_of(Scenario(THIRTY, **reality)).make_policy(
        scheduler
    ),
)


test_an_impossible_scenario_is_rejected = refusals(
    ({"source": "tasks9"}, "unknown load level 'tasks9'"),
    ({"source": 9}, "source(=9) must be a string or of type Level or of type I"),
    ({"noise": -1}, "noise(=-1) must be"),
    ({"delay_s": -1}, "delay_s(=-1) must be"),
    ({"delay_s": 1e308}, "delay_s(=1e+308) must be a number >= 0, at most 1e+09"),
    ({"replan_s": 0}, "replan_s(=0) must be a number > 0"),
    ({"moves": 0}, "moves(=0) must be"),
    ({"unknown_arrivals": 1}, "unknown_arrivals(=1) must be true or false"),
    call=lambda arguments: Scenario(**arguments),
)


def test_a_scenario_runs_like_its_parts():
    scenario = Scenario(THIRTY, noise=0.3, delay_s=2.0)
    result = cg.simulate(scenario, "greedy", 5)
    np.testing.assert_array_equal(
        result.jobs["finish_s"], execute(greedy(THIRTY), 0.3, 2.0, seed=5).finish_s
    )
    assert (
        result.summary()["planned_weighted_tardiness"]
        == greedy(THIRTY).weighted_tardiness
    )
    assert "lower_bound" not in result.summary()  # of times that nobody knew
    certain = cg.simulate(Scenario(THIRTY), first_fit)
    assert (
        cg.hgsp.plan_of(certain).weighted_tardiness
        == cg.hgsp.schedule_of(certain).weighted_tardiness
    )
    assert certain.summary().keys() >= {"lower_bound", "gap_pct"}
    # in time; and late behind a task without weight
    figures = [
        cg.simulate(Scenario(of(*tasks)), "fifo").summary()
        for tasks in ([(9, 0, 9, 1, 0)], [(9, 0, 99, 0, 0), (2, 0, 3, 1, 1)])
    ]
    bounds = [(row["lower_bound"], row["gap_pct"]) for row in figures]
    np.testing.assert_array_equal(bounds, [(0, 0), (0, np.nan)])
    assert "planned_weighted_tardiness" not in certain.summary()
    np.testing.assert_array_equal(
        schedule_of(solve(THIRTY, "search", seed=3, moves=300)).start_s,
        search(THIRTY, 3, moves=300)[0].start_s,
    )
    random = [subject_of(run.scenario).is_random for run in (result, certain)]
    assert random == [True, False]
    assert (
        certain.timeline.policy,
        result.timeline.policy,
        cg.hgsp.plan_of(result).timeline.policy,
    ) == (
        "first_fit",
        "greedy",
        "greedy",
    )


@pytest.mark.long
def test_the_results_on_plans_and_reality():
    """tasks1, ten instances, service times that vary by 20 %: mean weighted tardiness,
    differences paired by instance.
    """
    page = " ".join(
        (ROOT / "docs" / "explanation" / "results.md")
        .read_text(encoding="utf-8")
        .split()
    )
    names = [
        "atc:online=true",
        "atc",
        "atc:replan_s=60",
        "greedy",
        "greedy:replan_s=60",
    ]
    result = cg.compare(Scenario("tasks1", noise=0.2), names, range(10))
    online, frozen, anew = (
        np.mean(result.values(name, "weighted_tardiness")) for name in names[:3]
    )
    planned = np.mean(result.values("atc", "planned_weighted_tardiness"))
    assert (
        f"ATC's plan of {planned:,.0f} s becomes {frozen:,.0f} s if its order is kept,"
        f" {online:,.0f} s if ATC decides online, and {anew:,.0f} s if it plans again"
        " every minute" in page
    )
    for name in ("greedy", "atc", "atc:replan_s=60"):
        assert result.differences()[name]["weighted_tardiness"].low > 0


# ---- own policies ----


def first_fit(view):
    for task in view.queue:
        fitting = [gpu for gpu in view.free if task.memory_gb <= gpu.kind.memory_gb]
        if fitting:
            yield task, fitting[0]


@pytest.mark.parametrize(
    ("scheduler", "reality", "name"),
    [
        ("greedy", {}, "greedy"),
        ("greedy", {"replan_s": 60}, "greedy:replan_s=60"),
        (
            "greedy:replan_s=9",
            {"replan_s": 60, "unknown_arrivals": True},
            "greedy:replan_s=9",
        ),
        ("atc:online=true", {"replan_s": 60}, "atc:online=true"),
        ("atc", {"unknown_arrivals": True}, "atc:online=true"),
        (
            "search",
            {"replan_s": 1.5, "moves": 9, "unknown_arrivals": True},
            "search:replan_s=1.5,moves=9",
        ),
        ("search:moves=5", {"moves": 9}, "search:moves=5"),
        ("fifo", {"moves": 9}, "fifo"),
        (first_fit, {"replan_s": 60}, "first_fit"),
        (Online(atc), {}, "atc"),
        (Online(atc, "mine"), {}, "mine"),
    ],
)
def test_schedulers_under_uncertainty(scheduler, reality, name):
    subject = subject_of(Scenario(THIRTY, **reality))
    assert subject.make_policy(scheduler).name == name


# ---- claims, listings, pictures ----


def test_claims_and_timeline_by_hand():
    """Two GPUs, 1 s of provisioning: b (20 GB) on the slow one 0 to 1 to 5; a on the
    fast one at its arrival at 2.
    """
    two = cg.hgsp.Instance(
        [4, 4],
        [5, 20],
        [4, 9],
        [1, 1],
        [2, 0],
        (cg.hgsp.Gpu("fast", 10, 2.0), SLOW),
        task_names=("a", "b"),
    )
    run = cg.simulate(Scenario(two, delay_s=1), first_fit)
    measured = cg.hgsp.schedule_of(run)
    assert (
        run.claims.tolist()
        == measured.claims.tolist()
        == [
            (1, 1, 1.0, "provisioning", 0.0, 1.0),
            (1, 1, 1.0, "executing", 1.0, 5.0),
            (2, 0, 1.0, "provisioning", 2.0, 3.0),
            (2, 0, 1.0, "executing", 3.0, 5.0),
        ]
    )
    drawn = run.timeline
    assert (drawn.label, drawn.resources, drawn.sizes) == (
        "GPU",
        ("1 fast", "2 slow"),
        (1.0, 1.0),
    )
    assert drawn.visits.tolist() == [(1, 0, 0, 5, 9), (2, 2, 2, 5, 4)]
    assert (drawn.labels, drawn.kinds) == (
        {1: "b", 2: "a"},
        {1: "up to 40 GB", 2: "up to 10 GB"},
    )
    # a plan has them, too
    assert greedy(two).claims["phase"].tolist() == ["executing"] * 2


def test_listing_steps_and_places_call_a_gpu_by_the_same_number():
    """Of fourteen GPUs, more than are shown when idle, each that is held is named by
    its number, as in the events.
    """
    gpus = tuple(cg.hgsp.Gpu(f"G{number}", 40, 1.0) for number in range(1, 15))
    fourteen = of(*((5, 0, 9, 1, 0) for _ in gpus), gpus=gpus)
    walk = list(cg.step_through(Scenario(fourteen), "atc:online=true"))
    dispatched = [step for step in walk if step.event.kind == "dispatch"]
    assert dispatched[-1].event.slots == (14,)
    assert "GPU 14" in str(dispatched[-1])
    assert " 14:14…" in str(dispatched[-1])
    assert "1:1…" in str(dispatched[0])
    assert " 0:" not in str(dispatched[0])
    measured = cg.simulate(Scenario(fourteen), "atc")
    assert measured.timeline.resources[13] == "14 G14"


def test_events_speak_of_tasks_and_gpus(capsys, file):
    path = file(
        "task,workload,memory_gb,deadline_s,weight,arrival_s\n"
        "late,60,9,8,1,5\n"
        "big,570,60,12,2,0\n",
        "tasks.csv",
    )
    words = [
        "run",
        "hgsp",
        f"instance={path}",
        "instance.cluster=small-30",
        "delay_s=2",
        "--policy",
        "greedy",
        "--show",
        "events",
    ]
    assert outcome(capsys, *words)[1].splitlines()[:10] == [
        "      0.00  submit    job 1              task big, 60 GB, weight 2, due 12.00",
        "      0.00  decide                       1 waiting, 3 of 3 GPUs idle",
        "      0.00  dispatch  job 1     GPU 1    task big, A100 of 80 GB",
        "      2.00  start     job 1     GPU 1    task big, 2.00 s after its arrival",
        "      5.00  submit    job 2              task late, 9 GB, weight 1, due 8.00",
        "      5.00  decide                       1 waiting, 2 of 3 GPUs idle",
        "      5.00  dispatch  job 2     GPU 3    task late, L40 of 48 GB",
        "      7.00  start     job 2     GPU 3    task late, 2.00 s after its arrival",
        "      8.08  finish    job 2     GPU 3    task late, 1.08 s of execution, late",
        (
            "     12.00  finish    job 1     GPU 1    task big, 10.00 s of execution,"
            " in time"
        ),
    ]


# ---- the commands ----


def test_a_scheduler_is_listed_with_the_parameters_that_it_has(capsys):
    code, printed, _ = outcome(capsys, "policies", "hgsp", "--format", "json")
    assert code == 0
    for row in json.loads(printed)["figures"]:
        names = {pair.partition("=")[0] for pair in row["parameters"].split(",")}
        has = {name for name in OWNERS if row["policy"] in OWNERS[name]}
        assert names == (has or {""})
