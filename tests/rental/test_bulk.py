"""Compiled runs are bit-identical to SimPy; unsupported ones run in SimPy."""

import itertools
import os
import random
import subprocess
import sys
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest
from benchmarks.suite import TEST, TRAIN, wide
from benchmarks.suite import scenario as of_suite
from hypothesis import given, settings
from hypothesis import strategies as st
from random_scenarios import scenarios
from support import check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.rental.policies.rules import (
    by_atc,
    by_deadline,
    by_submission,
    fastest,
    index,
    score,
    tiers,
    withheld,
)
from cgrsp_simpy.rental.workload import DAYS as THESIS_DAYS
from cgrsp_simpy.studies import replicate
from cgrsp_simpy.studies.subject import subject_of

pytest.importorskip("numba")
bulk = pytest.importorskip("cgrsp_simpy.rental.bulk")
pytestmark = pytest.mark.compiled

POLICIES = "fifo spt edf lcf balanced spt-rescue adaptive rh cadr cadr-oo".split()
INDICES = ["c-mu", "atc", "covert", "triage"]
VARIANTS = [
    "atc:look_ahead=5",
    "rh:reserve=3,gate=100",
    "rh:gate=0",
    "adaptive:pressure=2,wide_s=900",
]
VARIANTS += ["spt-rescue:threshold_s=-50", "cadr:critical_ratio=1", "spt:cost_weight=0"]
VARIANTS += ["triage:price_late_usd_per_min=1,spread=0,ahead_s=40", "triage:look_s=3"]


def equal(scenario, policy, seed=0):
    """Return whether both engines leave the same records, claims and figures; they are
    compiled.
    """
    made = subject_of(scenario).make_policy(policy)
    assert subject_of(scenario).not_compiled(made) == ""
    # a compiled run that fails would be repeated in SimPy
    result = subject_of(scenario).compiled(made, seed, None, True)
    assert result is not None
    wanted = subject_of(scenario).run(made, seed, engine="simpy")
    return (
        np.array_equal(result.jobs, wanted.jobs)
        and result.jobs.dtype == wanted.jobs.dtype
        and np.array_equal(result.claims, wanted.claims)
        and repr(result.summary()) == repr(wanted.summary())  # NaN differs from NaN
        and subject_of(scenario).outcome(result) == subject_of(scenario).outcome(wanted)
        and (result.decisions, result.held_s) == (wanted.decisions, wanted.held_s)
        and (result.policy, result.seed) == (wanted.policy, wanted.seed)
    )


def differing(scenarios, policies, seeds):
    return [
        (scenario.name, policy, seed)
        for scenario, policy, seed in itertools.product(scenarios, policies, seeds)
        if not equal(scenario, policy, seed)
    ]


DAYS = [cg.day(name, jobs=min(jobs, 150)) for name, (_, jobs) in THESIS_DAYS.items()]


@pytest.mark.parametrize("policy", POLICIES + INDICES + VARIANTS)
def test_compiled_days_equal_simpy(policy):
    assert differing(DAYS, [policy], range(1)) == []


@pytest.mark.long
def test_the_compiled_thesis_policies_equal_simpy_on_four_days_of_fifty_seeds():
    days = [cg.day(name) for name in THESIS_DAYS]
    assert differing(days, POLICIES + INDICES, range(50)) == []


def why_not(scenario, policy):
    subject = subject_of(scenario)
    return subject.not_compiled(subject.make_policy(policy))


def compilable(seeds):
    made = [of_suite(seed) for seed in seeds]
    return [each for each in made if not why_not(each, "fifo")]


@pytest.mark.long
def test_compiled_scenarios_of_the_suite_are_bit_identical_to_simpy():
    scenarios = compilable([*TRAIN, *TEST])
    assert len(scenarios) > 20
    assert differing(scenarios, [*POLICIES, *INDICES[:3]], range(1)) == []
    both = [*map(of_suite, [*TRAIN, *TEST]), *map(wide, [*TRAIN, *TEST])]
    unseen = [each for each in both if not why_not(each, "triage")]
    assert len(unseen) > 200
    assert differing(unseen, ["triage"], range(1)) == []


# ---- features that days do not have ----

FOUR = (
    cg.DeadlineClass("rush", 0.2, 3600, tight=True, weight=4),
    cg.DeadlineClass("day", 0.3, 14400, complexity_mix=(0.2, 0.2, 0.6)),
    cg.DeadlineClass("night", 0.5, 36000),
)
CHANCES = tuple((hour / 46, 0.5 - hour / 92, 0.5 - hour / 92) for hour in range(24))
OTHERS = {
    "types that are chosen": cg.day("surge", jobs=150, free_types=True),
    "stock that persists": cg.day("surge", jobs=150, persistence_s=3600),
    "seen": cg.day("surge", jobs=150, persistence_s=3600, sight="now"),
    "polled": cg.day(
        "surge", jobs=150, persistence_s=900, sight="poll:300", free_types=True
    ),
    "printed clock": cg.day("hectic", jobs=150, clock="printed"),
    "classes": cg.Scenario("classes", cg.PoissonWorkload(150, 0.05, deadlines=FOUR)),
    "hours": cg.Scenario(
        "hours",
        cg.HourlyWorkload(150, cg.ArrivalRates(tuple(range(10, 34)), start_h=8)),
    ),
    "hourly stock": cg.Scenario(
        "hourly",
        cg.PoissonWorkload(150, 0.02),
        market=cg.Market(
            stock=(
                cg.HourlyStock("RTX 3090", CHANCES, persistence_s=7200),
                cg.HourlyStock("RTX A4000", CHANCES),
            ),
            persistence_s=600,
            sight="now",
        ),
    ),
    "one slot": cg.day("normal", slots=1),
    "many slots": cg.day("hectic", slots=150, jobs=400),
    "kept warm": cg.day("surge", jobs=150, terms=cg.Terms(warm_s=600)),
    "kept warm, of any type": cg.day(
        "hectic",
        jobs=150,
        free_types=True,
        terms=cg.Terms(warm_s=1e5, billed_from="provisioning"),
    ),
    "billed by the hour": cg.day(
        "quiet", terms=cg.Terms(minimum_s=4000, increment_s=3600)
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_compiled_scenarios_equal_simpy(name):
    policies, own = ["fifo", "rh", "cadr", "adaptive", *INDICES], OTHERS[name]
    if own.market.poll_s is not None:
        policies.remove("triage")
    assert differing([own], policies, range(1)) == []


def test_a_compiled_log_replay_equals_simpy(tmp_path):
    path = tmp_path / "log.csv"
    for most in (1, 3):
        rows = [f"{40 * n},{30 + 7 * n % 90},{1 + n % most}" for n in range(200)]
        path.write_text("\n".join(["submit_s,service_s,gpus", *rows]), encoding="utf-8")
        assert (
            differing([cg.trace(path)], ["fifo", "spt", "rh", "cadr"], range(1)) == []
        )


EXACT = (
    cg.GpuType("A", 0.5, (60, 70, 100), 0.5),
    cg.GpuType("B", 0.25, (50, 90, 95), 0.9),
    cg.GpuType("C", 1.0, (60, 60, 60), 0.7),
)
BILLED = [
    cg.Terms(),
    cg.Terms(warm_s=60),
    cg.Terms(warm_s=10, billed_from="provisioning", minimum_s=120, increment_s=60),
    cg.Terms(warm_s=600, increment_s=100),
]


def tied(seed, free_types=False, most=1):
    """Whole seconds throughout: arrivals, starts, ends and the last of warm instances
    at the same instants; jobs of up to so many GPUs.
    """
    rng, jobs = random.Random(seed), []
    for at_s in sorted(rng.choice((0, 10, 60, 120, 180, 240, 300)) for _ in range(40)):
        due_s, level = at_s + rng.choice((60, 120, 600, 6000)), rng.randint(1, 3)
        tight, gpus = rng.random() < 0.4, rng.randint(1, most)
        jobs.append(cg.Job(len(jobs), at_s, due_s, level, tight, gpus))
    slots = [rng.choice(EXACT) for _ in range(rng.randint(most, 6))]
    market, service = (
        cg.Market(delay_s=((0, 0), (10, 10), (60, 60))),
        cg.Service(sigma=(0, 0, 0)),
    )
    terms = BILLED[seed % len(BILLED)]
    jobs = cg.JobList(jobs)
    return cg.Scenario(
        f"ties {seed}", jobs, slots, EXACT, free_types, market, service, terms=terms
    )


@pytest.mark.parametrize("policy", POLICIES + INDICES)
def test_simultaneous_events_occur_in_simpys_order(policy):
    cases = [tied(seed, seed % 3 == 0, most) for seed in range(12) for most in (1, 3)]
    assert differing(cases, [policy], range(1)) == []
    ends = subject_of(cases[2]).run(policy).jobs["finish_s"]
    assert len(set(ends.tolist())) < len(ends)


@withheld
def all_but_one(slots):
    return slots - 1


RESERVED = [
    cg.ListPolicy(order, fastest, "own", all_but_one) for order in (by_deadline, by_atc)
]


@pytest.mark.parametrize("policy", [*RESERVED, "rh:reserve=2,gate=100"])
def test_loose_jobs_of_several_gpus_are_passed_over_unless_they_do_not_fit(policy):
    cases = [tied(seed, seed % 3 == 0, 4) for seed in range(12)]
    assert differing(cases, [policy], range(1)) == []


def test_an_instance_that_ran_for_no_time_is_warm_all_the_same():
    """At 2^30 s a job of 1 ns ends as it starts: its instance waits a minute for
    another's.
    """
    types = [cg.GpuType(name, 1.0, (1e-9,) * 3, 1.0) for name in "AB"]
    chances = {"A": (1.0, 0.0, 0.0), "B": (0.0, 0.0, 1.0)}
    stock = tuple(cg.HourlyStock(name, (each,) * 24) for name, each in chances.items())
    market = cg.Market(delay_s=((0, 0), (0, 0), (60, 60)), stock=stock)
    jobs = cg.JobList([cg.Job(n, 2.0**30, 2.0**31, gpus=1 + n) for n in range(2)])
    service = cg.Service(sigma=(0, 0, 0))
    terms = cg.Terms(warm_s=90, billed_from="provisioning")
    two = cg.Scenario("two", jobs, types, types, False, market, service, terms=terms)
    assert subject_of(two).run("fifo").jobs["idle_usd"][1] >= 60 / 3600
    assert equal(two, "fifo")


seconds = st.sampled_from([0.0, 1.0, 60.0, 900.0, 1e5])
bills = st.builds(
    cg.Terms,
    warm_s=seconds,
    billed_from=st.sampled_from(["execution", "provisioning"]),
    minimum_s=seconds,
    increment_s=seconds,
)


@settings(max_examples=120)
@given(
    scenarios() | scenarios(gangs=True),
    st.sampled_from(POLICIES + INDICES),
    st.none() | bills,
)
def test_any_compiled_scenario_equals_simpy(scenario, policy, terms):
    scenario = subject_of(scenario).varied(terms=terms) if terms else scenario
    if not subject_of(scenario).not_compiled(subject_of(scenario).make_policy(policy)):
        assert equal(scenario, policy)


def test_jobs_stock_and_rows_pass_through_in_blocks():
    long = cg.day("normal", jobs=20_000, persistence_s=300)
    waits = cg.day("hectic", jobs=9000)
    kept = subject_of(waits).varied(terms=cg.Terms(warm_s=1e5))
    assert differing([long, waits, kept], ["spt", "cadr"], range(1)) == []


# ---- users' rules ----


@tiers
def by_patience(now_s, submitted=0.0, patience_s=900.0):
    return ((now_s + patience_s, 1, submitted), (inf, 0, 0.0))


@tiers
def with_words(now_s):
    return ((inf, 0, len(str(now_s))),)


@tiers
def by_list(now_s):
    return [(inf, 0, now_s)]


@score
def by_ratio(mean_s, price_usd_per_h, status, power=0.5):
    return status, power * mean_s - price_usd_per_h / power


@score
def broken(mean_s, best_status):
    return (mean_s / (best_status - best_status),)


@score
def squared(mean_s):
    return (mean_s**2,)


def test_user_rules_run_compiled():
    patient = cg.ListPolicy(
        by_patience.with_parameters(patience_s=3e4),
        by_ratio.with_parameters(power=0.25),
        "own",
    )
    assert equal(cg.day("surge", jobs=200), patient)


@score
def summed_up(mean_s):
    mean_s += 1.0
    return (mean_s,)


NO_RULE = [
    (cg.ListPolicy(by_deadline, squared, "own"), "rule squared uses **"),
    (cg.ListPolicy(with_words, fastest, "own"), "rule with_words uses len"),
    (
        cg.ListPolicy(lambda view: view.queue, fastest, "own"),
        "the order of own is not a rule",
    ),
    (
        cg.ListPolicy(by_submission, lambda view, job, offers: offers[0], "own"),
        "the placement of own",
    ),
    (
        cg.ListPolicy(by_deadline, fastest, "own", lambda view: 1),
        "the reserve of own",
    ),
    ("watch", "policy watch is not composed of an order and a placement rule"),
]


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        *NO_RULE,
        (cg.ListPolicy(by_list, fastest, "own"), "rule by_list cannot be compiled"),
    ],
)
def test_policies_that_are_not_rules_run_in_simpy(policy, why):
    scenario = cg.day("quiet")
    assert why_not(scenario, policy).startswith(why)
    check_refused(
        lambda: cg.compare(scenario, [policy], range(2), engine="compiled"),
        "cannot run",
    )
    assert not cg.compare(scenario, [policy], range(2)).failures


KEEPER = cg.make_policy("fifo")
KEEPER.keep_s = lambda view, slot: 30.0
WEIGHTS = cg.Scenario(
    "weights", cg.JobList([cg.Job(n, 0, 4000, weight=1 + n % 2) for n in range(30)])
)


KNOWN = [
    *[(cg.day("quiet"), policy, why) for policy, why in NO_RULE],
    (cg.day("quiet"), cg.ListPolicy(by_deadline, summed_up, "own"), ""),
    (cg.day("quiet", slots=["0:2", "10:5"]), "fifo", "its slots open and close by"),
    (
        replace(cg.day("quiet"), service=type("Own", (cg.Service,), {})()),
        "fifo",
        "a part of the scenario is an instance of a user-defined class",
    ),
    (
        replace(
            cg.day("quiet"),
            market=cg.Market(
                stock=[cg.HourlyStock("RTX 3090", CHANCES, 60, 900.0, 0.5, 30)]
            ),
        ),
        "fifo",
        "its stock is replayed, or has two time scales",
    ),
    (
        cg.day("quiet", terms=cg.Terms(warm_s=60, retry_s=60, restart_s=9)),
        "fifo",
        "its terms of renting have retry_s, restart_s",
    ),
    (cg.day("quiet", terms=BILLED[2]), "fifo", ""),
    (
        cg.day("quiet", terms=cg.Terms(warm_s=60)),
        KEEPER,
        "the policy decides how long instances are kept",
    ),
    (cg.day("quiet"), KEEPER, ""),
    (WEIGHTS, "c-mu", "jobs of one deadline class differ in weight"),
    (WEIGHTS, "atc", "jobs of one deadline class differ in weight"),
    (WEIGHTS, "triage", "jobs of one deadline class differ in weight"),
    (WEIGHTS, "edf", ""),
    (OTHERS["seen"], "triage", "triage depends on the observed stock"),
    (OTHERS["seen"], "cadr", ""),
]


def test_a_failing_rule_gives_the_error_of_simpy():
    scenario = cg.day("surge", jobs=50)
    assert_fails_as_in_simpy(scenario, cg.ListPolicy(by_deadline, broken, "own"))
    assert_fails_as_in_simpy(
        cg.day("hectic"), cg.ListPolicy(of_nothing, fastest, "own")
    )


def assert_fails_as_in_simpy(scenario, failing):
    with pytest.raises(cg.PolicyError) as simpy:
        subject_of(scenario).run(failing, engine="simpy")
    with pytest.raises(cg.PolicyError) as compiled:
        subject_of(scenario).run(failing, engine="compiled")
    assert str(compiled.value) == str(simpy.value)
    assert "division by zero" in str(simpy.value)


def holding(number, **parameters):
    """Jobs that are held at the end of the scarcity, and nothing else to come."""
    at_s = 10 * 3600 - 1200.0
    jobs = [cg.Job(id, at_s, at_s + 9000) for id in range(number)]
    message = ",".join(f"{name}={value!r}" for name, value in parameters.items())
    return (
        subject_of(cg.Scenario("held", cg.JobList(jobs))).varied(slots=["RTX 3090"]),
        f"triage:{message}",
    )


def test_a_slot_that_is_held_is_woken_as_in_simpy():
    scenario, policy = holding(20, look_s=60.0)
    assert equal(scenario, policy)
    run = subject_of(scenario).run(policy, engine="compiled")
    assert run.jobs["dispatch_s"].min() == 36000 and run.decisions > 20


def test_a_wake_while_no_slot_is_idle_has_no_effect_as_in_simpy():
    assert equal(of_suite(5009), "triage")


def test_the_jobs_of_classes_are_summed_in_order_of_arrival():
    """Weights whose sums depend on the order."""
    classes = [
        cg.DeadlineClass(str(n), 0.2, 2000 + 900 * n, weight=w)
        for n, w in enumerate((0.1, 0.7, 1.3, 0.3, 2.9))
    ]
    load = cg.PoissonWorkload(200, 0.08, deadlines=classes)
    assert differing([cg.Scenario("weights", load)], ["triage"], range(3)) == []


def test_the_modules_of_the_loop():
    names = {Path(module.__file__).stem for module in bulk.FILES}
    assert names == {"state", "queue", "rules", "bill", "loop", "triage"}


@index
def by_submission_of_day(deadline_s, weight, tight, late_usd=2.0):
    return (weight if tight else late_usd) / deadline_s


@index
def of_nothing(deadline_s, now_s):
    return (deadline_s - now_s) / 0.0 if deadline_s < now_s else 0.0


def test_a_user_index_runs_compiled():
    for order in (
        by_submission_of_day,
        by_submission_of_day.with_parameters(late_usd=0.5),
    ):
        own = cg.ListPolicy(order, fastest, "own")
        assert differing([OTHERS["classes"], tied(3)], [own], range(2)) == []


def test_jobs_that_would_wait_for_ever_are_an_error_as_in_simpy():
    @withheld
    def all_of_them(slots):
        return slots

    scenario = cg.day("quiet", tight_fraction=0)
    holds = cg.ListPolicy(by_deadline, fastest, "holds", all_of_them)
    check_refused(
        lambda: subject_of(scenario).run(holds, engine="compiled"),
        "left 6 jobs waiting",
        cg.PolicyError,
    )


# ---- engine= ----


def test_studies_are_the_same_by_either_engine(tmp_path):
    day, policies = cg.day("normal"), ["fifo", "cadr", "rh"]
    own = [
        cg.compare(day, policies, range(4), engine=each, out=tmp_path / each)
        for each in ("simpy", "compiled")
    ]
    assert own[0].rows == own[1].rows
    kept = [
        tmp_path / each / "chunks" / "000000.json" for each in ("simpy", "compiled")
    ]
    assert kept[0].read_bytes() == kept[1].read_bytes()
    again = cg.compare(
        day, policies, range(4), engine="compiled", out=tmp_path / "simpy"
    )
    assert again.rows == own[0].rows
    grid = {"name": "normal", "slots": [4, 5]}
    swept = [
        cg.sweep(cg.day, grid, ["spt"], range(2), engine=e)
        for e in ("simpy", "compiled")
    ]
    assert swept[0].rows == swept[1].rows


def test_auto_uses_the_compiled_loop_if_possible_and_otherwise_simpy(monkeypatch):
    monkeypatch.setattr(replicate, "MANY", 1)
    day = cg.day("quiet")
    study = cg.compare(day, ["fifo", "random", "watch", "cadr", "triage"], range(3))
    simpy = cg.compare(day, list(study.policies), range(3), engine="simpy")
    assert study.rows == simpy.rows


def test_without_a_compiler_all_runs_use_simpy():
    message = (
        "import cgrsp_simpy as cg; day = cg.day('quiet'); print(cg.simulate(day,"
        " 'cadr').policy); subject = day.subject(day);"
        " print(subject.not_compiled(subject.make_policy('cadr')))"
    )
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", message], env=env, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[0] == "cadr", done.stderr
    assert "it needs numba, the extra fast" in done.stdout
