"""Users' models: the scripts in scenarios/ that are examples of one, compared with
formulas, and in every use of a model.
"""

import json
import math
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from engine.bench import Shop, eager_watchdog, waits
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.studies.subject import subject_of

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(SCENARIOS))
    yield
    for name in ("repair_shop", "breakdowns", "emergencies", "licences", "tiles"):
        sys.modules.pop(name, None)


MODELS = {
    "repairs": (
        lambda: import_module("repair_shop").RepairShop(jobs=200),
        {"mechanics": [2, 3]},
    ),
    "frail": (
        lambda: import_module("breakdowns").FrailShop(jobs=200),
        {"ill_s": [50.0, 100.0]},
    ),
    "ward": (
        lambda: import_module("emergencies").Ward(jobs=200),
        {"urgent": [0.1, 0.3]},
    ),
    "licensed": (
        lambda: cg.day(
            "hectic", jobs=60, kind=import_module("licences").Licensed, licences=3
        ),
        {"licences": [2, 4]},
    ),
}


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("made", "grid"), [pytest.param(*each, id=name) for name, each in MODELS.items()]
)
def test_a_user_model_supports_every_use_of_a_model(made, grid, tmp_path):
    model = made()
    policies = list(subject_of(model).default_policies())[:2]
    study = cg.compare(model, policies, range(3), out=tmp_path / "out")
    again = cg.compare(model, policies, range(3), out=tmp_path / "out")
    assert not study.failures
    assert json.dumps(again.rows) == json.dumps(study.rows)
    run = study.run(policies[0], 1)
    assert len(run.jobs) == model.jobs
    assert set(run.summary()) <= set(subject_of(model).report.metrics)
    assert run.claims["to_s"].max() <= run.jobs["finish_s"].max()
    assert [row["job"] for row in run.rows()] == run.jobs["job"].tolist()
    steps = list(cg.step_through(model, policies[0], 1))
    assert sum(step.event.kind == "start" for step in steps) >= model.jobs
    swept = cg.sweep(model, grid, policies[:1], range(2))
    assert [list(point.values()) for point in swept.points] == [
        [v] for v in next(iter(grid.values()))
    ]


def test_with_ample_licences_a_day_is_the_plain_day():
    kind = import_module("licences").Licensed
    ample = cg.day("hectic", jobs=200, kind=kind, licences=10_000)
    for policy in ("fifo", "cadr"):
        one = cg.simulate(ample, policy, 3)
        other = cg.simulate(cg.day("hectic", jobs=200), policy, 3)
        assert one.jobs.tolist() == other.jobs.tolist()


@pytest.mark.slow
def test_one_mechanic_who_falls_ill_is_the_queue_of_white_and_christie():
    """White and Christie (1958): M/M/1 with breakdowns, work resumed."""
    shop = import_module("breakdowns").FrailShop(
        mechanics=1, repair_s=30.0, jobs=50_000
    )
    result = cg.compare(shop, ["first"], range(8)).means()["first"]["response_s"]
    a, m, f, r = 1 / 60, 1 / 30, 1 / 900, 1 / 100
    formula_s = ((f + r) ** 2 + f * m) / ((f + r) * (r * m - a * (f + r)))
    assert result.low <= formula_s <= result.high


@dataclass(frozen=True)
class Waiting(cg.Model):
    """Jobs of 10 s on one slot."""

    jobs: int = 3

    def resources(self):
        return cg.slots(1)

    def arrivals(self, draw):
        return ((0.0, job) for job in range(self.jobs))

    def job_process(self, run, job):
        return waits(run, job)


def moves(run, job):
    """A job of 100 s that would move to another slot within 10 s."""
    with run.claim(job) as stay:
        yield stay
        with run.claim(job, patience_s=10.0, instead_of=stay):
            yield run.timeout(100.0)


def test_a_claim_whose_patience_ends_leaves_the_job_where_it_is():
    def hold(view):
        return [] if view.running else zip(view.queue, view.free)

    assert cg.simulate(Shop(moves, 1, slots=2), hold).jobs["finish_s"].tolist() == [100]


test_moving_a_job_in_the_instant_of_its_dispatch_is_an_error = refusals(
    (
        lambda: cg.simulate(Shop(moves, 1, slots=2), "first"),
        "'first_come' at t = 0 s moved job 0 in the instant of its dispatch",
    ),
    error=cg.PolicyError,
)


def test_policies_have_distinct_names():
    study = cg.compare(
        Waiting(), {"a": lambda view: zip(view.queue, view.free), "b": "first"}, [0]
    )
    assert study.policies == ["a", "b"]
    assert study.rows[0]["wait_s"] == study.rows[1]["wait_s"] == 10
    check_refused(
        lambda: cg.compare(Waiting(), [lambda view: (), lambda view: ()], [0]),
        ["a dict gives each policy a name"],
    )


# ---- downtimes ----


def down(from_s, to_s, error=None):
    """A process that takes the slot down; it ends by an error, if there is one."""

    def fault(run):
        yield run.timeout(from_s)
        with suppress(LookupError), run.down(run.resources[0]):
            yield run.timeout(to_s - from_s)
            if error:
                raise error

    return fault


def resumes(run, job):
    yield run.timeout(1.0)
    yield from run.resumed(job, 10.0)


def cleans(run, job):
    """2 s of work, followed by 3 s of cleaning by the job itself."""
    with run.claim(job) as claim:
        yield claim
        yield run.timeout(2.0)
        with run.down(run.resources[0]):
            yield run.timeout(3.0)


@pytest.mark.parametrize(
    ("job_process", "faults", "claims"),
    [
        # twice down: up after both; 2 s of work before, 8 s after the second
        (resumes, [down(3, 6), down(4, 9)], [(1, 3), (9, 17)]),
        (resumes, [down(3, 5, LookupError())], [(1, 3), (5, 13)]),
        # half a second before its end, and at its end
        (resumes, [down(10.5, 12)], [(1, 10.5), (12, 12.5)]),
        (resumes, [down(11, 12)], [(1, 11)]),
        (cleans, [], [(0, 5)]),
    ],
)
def test_a_slot_is_up_again_after_its_downtimes(job_process, faults, claims):
    run = cg.simulate(Shop(job_process, 1, beside=faults), "first")
    assert (run.claims[["from_s", "to_s"]].tolist(), run.jobs["finish_s"][0]) == (
        claims,
        claims[-1][1],
    )


def test_a_model_may_leave_its_number_of_jobs_open():
    @dataclass(frozen=True)
    class Open(Waiting):
        jobs: int | None = None

        def arrivals(self, draw):
            return [(0.0, 0)]

    assert len(cg.simulate(Open()).jobs) == 1


def in_phase(name):
    def job_process(run, job):
        with run.claim(job) as claim:
            yield claim
            claim.phase(name)
            yield run.timeout(10.0)

    return job_process


def test_a_phase_keeps_its_whole_name():
    claims = cg.simulate(Shop(in_phase("p" * 40), 1), "first").claims
    assert claims["phase"].tolist() == ["p" * 40]


test_a_number_of_a_stream_is_whole_and_not_negative = refusals(
    (-1, "number of the stream 'work'(=-1) must be a whole number >= 0"),
    (1.5, "number of the stream 'work'(=1.5)"),
    (None, "number of the stream 'work'(=None)"),
    call=lambda number: cg.Draw(0)("work", number),
)


def boosted(boost=None, first=1):
    return lambda view: list(zip(view.queue[:first], view.free))


@dataclass(frozen=True)
class Boosted(Waiting):
    jobs: int = 2
    policies: ClassVar = {"first": cg.first_come, "boosted": boosted}


def test_a_policy_text_lists_no_parameter_without_a_text_form():
    assert (
        cg.simulate(Boosted(), "boosted:first=2").summary()
        == cg.simulate(Boosted(), "boosted").summary()
    )
    check_refused(
        lambda: cg.simulate(Boosted(), "boosted:boost=3"),
        ["unknown parameter of policy boosted 'boost'", "allowed: first"],
    )


def test_an_interrupt_of_the_program_comes_out_as_it_went_in(monkeypatch):
    """Between the grant and the use, too: what is not held is not released."""

    def job_process(run, job):
        with run.claim(job, request=False) as claim:
            yield claim
            claim.request()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("cgrsp_simpy.engine.resources.Slot.request", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cg.simulate(Shop(job_process), "first")


@pytest.mark.parametrize(
    ("amounts", "told"),
    [
        ((2, -1), "an amount is not above 0"),
        ((2, 0), "an amount is not above 0"),
        ((2, float("nan")), "nan in total; the job needs 2"),
        ((1, 2), "3 in total; the job needs 2"),
        ((), "not a resource of the view"),
    ],
)
def test_a_policy_must_grant_the_need_of_a_job(amounts, told):
    def policy(view):
        return [(view.queue[0], tuple(zip(view.resources, amounts)))]

    model = Shop(waits, 1, cg.pools([4, 4], "node", "GPUs"), need=lambda job: 2)
    check_refused(lambda: cg.simulate(model, policy), told, cg.PolicyError)


# ---- errors in one line ----


def unreleased(run, job):
    yield run.claim(job)


def twice(run, job):
    with run.claim(job) as first, run.claim(job) as second:
        yield first & second


def endless(run, job):
    yield run.env.event()


def impatient(run, job):
    with run.claim(job, patience_s=math.nan) as claim:
        yield claim


def noted(*values):
    def job_process(run, job):
        with run.claim(job) as claim:
            yield claim
        run.record(job, *values)

    return job_process


def downs_a_text(run, job):
    with run.down("slot 0"):
        yield run.timeout(1.0)


def whirl(run):
    while True:
        yield run.timeout(0)


WRONG = {
    "job_process() of shop must be a generator function, which yields; it"
    " returned None": {"job_process": lambda run, job: None},
    "the process of job 0 has ended without releasing its claim: use `with"
    " run.claim(job)": {"job_process": unreleased},
    "job 0 makes a claim while another of its claims is pending": {
        "job_process": twice
    },
    "the process of job 0 has not ended, but no event that it waits for": {
        "job_process": endless
    },
    "patience_s(=nan) must be a number >= 0": {"job_process": impatient},
    f"phase(='{'p' * 41}') must be at most 40 characters": {
        "job_process": in_phase("p" * 41)
    },
    "record of job 0 has 1 value; the columns of shop are a, b": {
        "job_process": noted(1.0)
    },
    "column a of jobs: could not convert string to float: 'x'": {
        "job_process": noted("x", 1)
    },
    "down(='slot 0') must be one of run.resources": {"job_process": downs_a_text},
    "1,000 events at t = 0 s without progress: a process of shop loops without"
    " advancing time": {"processes": lambda run: [whirl(run)]},
    "job 0 arrives before an equal job has ended": {
        "arrivals": lambda draw: [(0.0, 0), (0.0, 0)]
    },
    "(2.0, 2), which is not a pair of a time in seconds, at least 5 (times ascend)": {
        "arrivals": lambda draw: [(5.0, 1), (2.0, 2)]
    },
    "yielded (-1.0, 1), which is not a pair of a time in seconds, at least 0": {
        "arrivals": lambda draw: [(-1.0, 1)]
    },
    "yielded ('a', 1), which is not a pair": {"arrivals": lambda draw: [("a", 1)]},
    "yielded 7, which is not a pair": {"arrivals": lambda draw: [7]},
    "yielded (0.0, [1]), which is not a pair": {"arrivals": lambda draw: [(0.0, [1])]},
    "resources() of shop(=3) must be resources, such as those of cg.slots": {
        "resources": lambda: 3
    },
    "need() of shop must be above 0; it is 0 for job 0": {"need": lambda job: 0},
    "arrivals() of shop yielded None, which is not a": {"arrivals": lambda draw: None},
    "a process of shop(=None) must be a generator; processes() returns a list": {
        "processes": lambda run: None
    },
    "a process of shop(=<Timeout(0) object at": {"processes": whirl},
}


class Columns(Shop):
    name = "shop"
    columns: ClassVar = {"a": "f8", "b": "i4"}

    def __init__(self, *, job_process=waits, **methods):
        super().__init__(job_process)
        vars(self).update(methods)


@pytest.mark.parametrize("message", WRONG)
def test_an_error_in_a_model_gives_one_line(message, monkeypatch):
    eager_watchdog(monkeypatch)
    check_refused(lambda: cg.simulate(Columns(**WRONG[message]), "first"), [message])


def test_half_a_slot_is_not_a_valid_resource():
    def halves(view):
        (slot,) = view.free
        return [(view.queue[0], ((slot, 0.5), (slot, 0.5)))]

    message = "slot 0, which is assigned to one job as a whole; the job needs"
    check_refused(lambda: cg.simulate(Shop(waits), halves), message, cg.PolicyError)


def test_unrecorded_values_are_nan_and_minus_one_for_integers():
    jobs = cg.simulate(Columns(), "first").jobs
    assert np.isnan(jobs["a"]).all() and (jobs["b"] == -1).all()


# ---- tiles ----


@pytest.mark.slow
@pytest.mark.parametrize("day", ["normal", "surge"])
def test_frames_of_one_tile_are_identical_to_the_jobs_of_the_day(day):
    whole = import_module("tiles").tiled(day, 1, 0.1, 0.3, 5.0, False)
    for seed in range(2):
        own = cg.simulate(whole, "edf", seed)
        theirs = cg.simulate(cg.day(day), "edf", seed)
        assert own.jobs.tobytes() == theirs.jobs.tobytes()
