"""The compiled loop, run as plain Python, leaves the same runs as SimPy; this takes
seconds, compiling it minutes.
"""

import random
from dataclasses import replace
from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pytest
from rental.test_bulk import (
    INDICES,
    KNOWN,
    OTHERS,
    POLICIES,
    RESERVED,
    broken,
    differing,
    equal,
    tied,
    why_not,
)
from support import check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.base.compiled import COMPILED
from cgrsp_simpy.rental import bulk
from cgrsp_simpy.rental.kernel import loop, rules
from cgrsp_simpy.rental.policies.rules import (
    Index,
    Score,
    Tiers,
    by_deadline,
    fastest,
    index,
    score,
    tiers,
)
from cgrsp_simpy.studies import replicate
from cgrsp_simpy.studies.subject import subject_of

pytestmark = pytest.mark.skipif(COMPILED, reason="the loop is compiled")


class Fields:
    """A record of an array, its fields as attributes."""

    def __init__(self, record):
        self.__dict__["record"] = record

    def __getattr__(self, name):
        return self.record[name]

    def __setattr__(self, name, value):
        self.record[name] = value


def with_fields(value):
    """A tuple of arrays and records, their fields as attributes, as numba has them."""
    if isinstance(value, np.void):
        return Fields(value)
    if isinstance(value, np.ndarray) and value.dtype.names:
        return value.view(np.recarray)
    if hasattr(value, "_asdict"):
        return type(value)(*map(with_fields, value))
    return value


@pytest.fixture
def plain(monkeypatch):
    """Replacement for what only numba can do."""
    called, advance = [None], loop.advance

    def cached(rule, *_):
        called.append(rule)
        return SimpleNamespace(address=len(called) - 1)

    def ask(address, figures, *others):
        called[address](figures[0].item(), *others)

    def advanced(*arguments):
        return advance(*map(with_fields, arguments))

    numba = SimpleNamespace(
        __version__="", carray=lambda values, _: values, njit=lambda rule: rule, cfunc=0
    )
    bulk.compiled_rule.cache_clear()
    for module, name, value in (
        *((bulk, "COMPILED", True), (bulk, "numba", numba), (bulk, "cached", cached)),
        *((bulk, "RULE", None), (bulk, "KEPT", None)),
        *((rules, "ask", ask), (loop, "advance", advanced)),
        (bulk, "ROOM", 4),  # of jobs in the system, to begin with
    ):
        monkeypatch.setattr(module, name, value, raising=False)
    yield
    bulk.compiled_rule.cache_clear()


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(("scenario", "policy", "why"), KNOWN)
def test_unsupported_terms_run_in_simpy(scenario, policy, why):
    assert why_not(scenario, policy)[: len(why) or None] == why


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("engine", "within", "jobs", "runs"),
    [
        ("auto", "auto", replicate.MANY - 1, "simpy"),
        ("auto", "auto", replicate.MANY, "auto"),
        ("auto", "compiled", 1, "compiled"),
        ("auto", "simpy", 10**9, "simpy"),
        ("simpy", "compiled", 10**9, "simpy"),
        ("compiled", "simpy", 1, "compiled"),
    ],
)
def test_small_studies_stay_with_simpy_unless_told(engine, within, jobs, runs):
    wanted = [replicate.Replications(cg.day("quiet"), ["fifo"], range(1))]
    with replicate.studies_on(within):
        assert replicate.engine_for(engine, wanted, jobs) == runs
    with replicate.studies_on(within), replicate.studies_on(jobs=jobs):
        assert replicate.engine_for(engine, wanted, 1) == runs


def test_the_error_gives_the_reason_without_a_compiled_loop():
    nodes = cg.cluster.Scenario(cg.cluster.Offered(jobs=20, load=0.5))
    check_refused(
        lambda: cg.simulate(nodes, "fifo", engine="compiled"), "has no compiled loop"
    )
    check_refused(
        lambda: cg.simulate(cg.day("quiet"), "fifo", engine="compiled", listener=print),
        "must be simpy or auto if a listener is given",
    )
    check_refused(
        lambda: cg.simulate(cg.day("quiet"), "fifo", engine="fast"),
        "auto, simpy, compiled",
    )


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("policy", [*POLICIES, *INDICES, *RESERVED])
def test_simultaneous_events_occur_in_simpys_order(policy):
    cases = [tied(seed, seed % 3 == 0, seed) for seed in (2, 3)]
    assert differing(cases, [policy], range(1)) == []


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("name", OTHERS)
def test_other_compiled_scenarios_equal_simpy(name):
    scenario = subject_of(OTHERS[name]).varied(jobs=40)
    policies = ["rh", "cadr"] + ["triage"] * (scenario.market.poll_s is None)
    assert differing([scenario], policies, range(1)) == []


@pytest.mark.usefixtures("plain")
def test_few_simultaneous_jobs_on_warm_instances_equal_simpy():
    cases = []
    for case in (*range(12), 16, 18, 20):
        drawn = random.Random(case)
        jobs = [
            cg.Job(job, 0, drawn.uniform(300, 4000), drawn.randint(1, 3))
            for job in range(drawn.randint(3, 6))
        ]
        day = cg.day(
            drawn.choice(["quiet", "hectic", "surge"]),
            slots=drawn.randint(1, 2 if case < 12 else 5),
            free_types=drawn.random() < 0.7,
            terms=cg.Terms(warm_s=1e4),
            persistence_s=600.0 * (case == 20),
        )
        cases.append(replace(day, workload=cg.JobList(jobs)))
    assert differing(cases, ["triage", "cadr"], range(1)) == []


GANGS = replace(
    cg.day("quiet"),
    workload=cg.JobList([cg.Job(n, 0, 9e3, 1, False, 1 + n // 2) for n in range(3)]),
)
STATE = {
    "now_s": 1,
    "slots": ["RTX 3090"] * 2,
    "to_come": 0,
    "running": [
        {"id": job, "submit_s": 0, "deadline_s": 9e3, "dispatch_s": 0, "slots": [job]}
        for job in range(2)
    ],
}


def from_state(scenario, waiting, policy, **more):
    """A scenario from a state in which two jobs run, and its compiled run, or None."""
    table = STATE | {"waiting": waiting} | more
    model = cg.State.from_table(table).resumed(scenario)
    subject = model.subject(model)
    return model, subject.compiled(subject.make_policy(policy), 1, None, True)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("before_end", [0, 1], ids=["between ends", "before both"])
def test_a_wake_up_of_a_state_is_for_its_first_decision_and_an_idle_slot(before_end):
    """A gang of two waits for two jobs; the state's wake-up is before a slot is idle,
    or between the ends, when there was a decision already.
    """
    gang = [{"id": 2, "submit_s": 0, "deadline_s": 9e3, "gpus": 2}]
    _, run = from_state(GANGS, gang, "fifo")
    ends_s = run.jobs["finish_s"][:2]
    wake_s = float(ends_s.min() / 2 if before_end else ends_s.mean())
    model, compiled = from_state(GANGS, gang, "fifo", wake_s=wake_s)
    assert compiled.decisions == 2
    assert cg.simulate(model, "fifo", 1, engine="simpy").decisions == 2


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("unlike", [{"gpus": 2}, {"weight": 3}])
def test_a_state_with_other_jobs_than_the_workload_is_not_compiled(unlike):
    job = {"id": 2, "submit_s": 0, "deadline_s": 9e3}
    assert from_state(cg.day("quiet"), [job], "c-mu")[1] is not None
    assert from_state(cg.day("quiet"), [job | unlike], "c-mu")[1] is None


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("jobs", "runs", "slots", "wake_s"),
    [((5, 6), [1], [1, 0, 2], 1), ((5,), [0, 1], [0, 1, 2], 2)],
)
def test_jobs_of_a_state_start_on_the_first_idle_slots(jobs, runs, slots, wake_s):
    waiting = [{"id": job, "submit_s": 0, "deadline_s": 9e3} for job in jobs]
    running = [STATE["running"][job] for job in runs]
    more = {"slots": ["RTX 3090"] * 3, "running": running, "wake_s": wake_s}
    model, run = from_state(cg.day("quiet"), waiting, "fifo", **more)
    assert np.array_equal(run.jobs, cg.simulate(model, "fifo", 1, engine="simpy").jobs)
    assert run.jobs["slot"].tolist() == slots


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("policy", "free_types", "last_s"), [("fifo", True, 2150.0), ("rh", False, 2000.0)]
)
def test_compiled_runs_from_states_equal_simpy(policy, free_types, last_s):
    """Jobs of up to three GPUs that run, and some that are provisioned."""
    day = replace(
        tied(7, free_types, 3),
        terms=cg.Terms(billed_from="provisioning", minimum_s=600),
        service=cg.Service(),
    )
    whole = subject_of(day).run(policy, 0, engine="simpy")
    for at_s, wake_s in (
        *((70.0, None), (70.0, 120.0), (200.0, None)),
        (last_s, last_s + 10),  # no job waits
    ):
        state = replace(whole.state(at_s), wake_s=wake_s)
        assert equal(state.resumed(day), policy, 1)


@tiers
def tiers_after_0(now_s):
    return ((inf, 0, 1 / now_s),)


@index
def undefined_at(deadline_s, due_s=1000.0):
    return 1 / (deadline_s - due_s)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("order", "place"),
    [
        (tiers_after_0, fastest),
        (undefined_at, fastest),
        (undefined_at.with_parameters(due_s=2000.0), fastest),
        (undefined_at.with_parameters(due_s=nan), fastest),
        (by_deadline, broken),
    ],
)
def test_a_run_whose_rule_fails_is_left_to_simpy(order, place):
    """Two wait at once; the first is due at 1000 and the other at 2000. For the third,
    the rule may be defined again.
    """
    jobs = [cg.Job(0, 0, 1000.0), cg.Job(1, 0, 2000.0), cg.Job(2, 9, 1000.0)]
    day = replace(cg.day("hectic"), workload=cg.JobList(jobs))
    subject, policy = subject_of(day), cg.ListPolicy(order, place, "failing")
    assert subject.compiled(subject.make_policy(policy), 0, None, True) is None


def of_all_figures(kind, form):
    """A function of all figures of a kind of rule: a sum that is folded into 0 to 1, so
    that a slight error in any of them gives other ranks.
    """
    names = [*kind.figures]
    value = " + ".join(
        f"{(place + 2) ** 0.5} * {name}"
        for place, name in enumerate(names)
        if name != "deadline_s" or kind is Score
    )
    for power in range(16, -1, -1):
        value = f"abs({value} - {2.0**power})"
    scope = {"inf": inf}
    exec(f"def ranks({', '.join(names)}): return {form.format(value)}", scope)
    return scope["ranks"]


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    "order",
    [
        tiers(of_all_figures(Tiers, "((inf, 0, {}),)")),
        index(of_all_figures(Index, "{} - 0.001 * deadline_s")),
    ],
    ids=["tiers", "index"],
)
def test_rules_see_the_figures_of_simpy(order):
    policy = cg.ListPolicy(order, score(of_all_figures(Score, "({},)")), "all figures")
    classes = subject_of(OTHERS["classes"]).varied(jobs=40, free_types=True)
    cases = [tied(2, True), classes, replace(classes, gpus=classes.gpus[::-1])]
    assert differing(cases, [policy], range(1)) == []
