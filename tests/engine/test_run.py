"""The engine alone: claims to slots and pools, patience, wake-ups, resources that go
down, suspension.
"""

import gc
import math
from collections import namedtuple
from dataclasses import dataclass, make_dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
from engine.bench import Bench, Shop, one_each, waits
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.engine.resources import rounded_up, snapped, without_noise
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.plots.animation import encoded


def test_records_do_not_depend_on_the_length_of_their_blocks(monkeypatch):
    def records():
        bench = Bench(one_each, 2)
        for number in range(7):
            bench.job(number, 2 * number, 5, setup_s=1)
        bench.go()
        run = bench.left
        return run.jobs.tolist(), run.claims.tolist(), run.parts()

    whole = records()
    monkeypatch.setattr("cgrsp_simpy.engine.run.BLOCK", 2)
    assert records() == whole


@pytest.mark.parametrize(
    ("rounded", "expected"),
    [
        (snapped(1e-9, 0.5), 0),
        (snapped(-1e-9, 1.0), 0),
        (snapped(1.1e-9, 1.0), 1.1e-9),
        (snapped(1.1e-9, 2.0), 0),
        (snapped(2.0 - 1e-9, 2.0), 2),
        (snapped(1e-3, 1e6), 0),
        (snapped(1.1e-3, 1e7), 1.1e-3),
        (rounded_up(0.1234567891), 0.12345679),
        (rounded_up(0.123456789 + 5e-13), 0.123456789 + 5e-13),
        (rounded_up(0.123456789 + 2e-12), 0.12345679),
        (without_noise(0.1 + 0.2), 0.3),
        (without_noise(0.3 + 9.995e-13), 0.3),
        (without_noise(0.3 - 9.995e-13), 0.3),
        (without_noise(0.3 + 1.0005e-12), 0.3 + 1.0005e-12),
    ],
)
def test_amounts_are_rounded_to_nine_decimals(rounded, expected):
    assert rounded == expected


def test_a_run_without_jobs_has_the_columns_of_one_with_jobs():
    empty, bench = Bench(one_each, 1), Bench(one_each, 1)
    bench.job(1, 0, 10)
    empty.go()
    bench.go()
    assert len(empty.left.jobs) == len(empty.left.rows()) == 0
    assert empty.left.jobs.dtype == bench.left.jobs.dtype
    assert {"job", "wait_s", "claims"} <= set(empty.left.jobs.dtype.names)


def hold(view):
    """Assign no job."""
    return []


def test_a_resource_without_capacity_is_never_free():
    bench = Bench(one_each, 0, 2)
    bench.job(1, 0, 10)
    assert bench.go() == [(0, "starts", 1), (10, "ends", 1)]


def test_wakes_with_no_grant_in_between_are_counted_one_by_one(monkeypatch):
    monkeypatch.setattr("cgrsp_simpy.engine.dispatcher.Dispatcher.most_wakes", 3)
    asked = []

    def never(view):
        asked.append(view.now_s)
        return [cg.Wake(view.now_s + 1)]

    bench = Bench(never, 1)
    bench.job(1, 0, 1)
    check_refused(
        lambda: bench.go(), r"at t = 4 s .* for 3 consecutive wake-ups", cg.PolicyError
    )
    assert asked == [0, 1, 2, 3]


def test_a_grant_resets_the_count_of_wakes(monkeypatch):
    monkeypatch.setattr("cgrsp_simpy.engine.dispatcher.Dispatcher.most_wakes", 3)

    def every_third_second(view):
        """A grant at 3 and at 6 s."""
        now_s = view.now_s
        due = int(now_s > 0 and now_s % 3 == 0)
        return [
            *one_each(view)[:due],
            *([cg.Wake(now_s + 1)] if len(view.queue) > due else []),
        ]

    bench = Bench(every_third_second, 1, 1)
    bench.job(1, 0, 10)
    bench.job(2, 0, 10)
    assert bench.go()[:2] == [(3, "starts", 1), (6, "starts", 2)]


def test_once_nobody_waits_the_policy_is_not_woken(monkeypatch):
    # any wake is one too many
    monkeypatch.setattr("cgrsp_simpy.engine.dispatcher.Dispatcher.most_wakes", 0)

    def policy(view):
        return [*one_each(view), *([] if view.now_s else [cg.Wake(50)])]

    bench = Bench(policy, 1)
    bench.job(1, 0, 100)
    bench.job(2, 0, 1, patience_s=6)
    bench.job(3, 10, 1)
    assert bench.go()[-1] == (101, "ends", 3)


def test_a_claim_is_forgotten_once_it_is_released_without_the_garbage_collector():
    bench = Bench(one_each, 1)
    gc.disable()
    try:
        for number in range(5):
            bench.job(number, number, 10)
        bench.go()
        assert [claim() for claim in bench.claims] == [None] * 5
    finally:
        gc.enable()


# ---- suspension ----


def test_a_job_is_suspended_once():
    """It does not run any more, though its process has not given its place back yet."""

    def twice(view):
        return [cg.Suspend(1), cg.Suspend(1)] * (1 in view.running) or one_each(view)

    bench = Bench(twice, 1, asks_on_arrival=True)
    bench.job(1, 0, 10)
    bench.job(2, 4, 5)
    check_refused(
        lambda: bench.go(),
        "at t = 4 s suspended job 1, which is not running",
        cg.PolicyError,
    )


# ---- claims by processes other than the jobs ----


@dataclass(frozen=True)
class Maintained(cg.Model):
    """Jobs of 10 s on slots that a crew claims, too, as `claimant`, for 3 s each
    time.
    """

    jobs: int = 3
    slots: int = 2
    claimant: object = -1
    from_s: float = 4.0

    def resources(self):
        return cg.slots(self.slots)

    def arrivals(self, draw):
        return ((float(job), job) for job in range(self.jobs))

    def job_process(self, run, job):
        with run.claim(job) as claim:
            yield claim
            yield run.timeout(10.0)

    def processes(self, run):
        def crew():
            yield run.timeout(self.from_s)
            while True:
                with run.claim(self.claimant) as claim:
                    yield claim
                    yield run.timeout(3.0)

        return [crew()]


def jobs_first(view):
    """Jobs have precedence over a crew, whose number is negative."""
    return [*zip([job for job in view.queue if job >= 0], view.free)]


def test_a_run_ends_with_its_jobs_though_a_crew_still_waits():
    run = cg.simulate(Maintained(), jobs_first)
    assert run.jobs["finish_s"].tolist() == [10, 11, 20]
    assert run.claims["job"].tolist() == [0, 1, 2]


test_a_job_that_waits_for_ever_is_still_an_error_beside_a_crew = refusals(
    (
        lambda: cg.simulate(Maintained(), hold),
        "left 4 jobs waiting, job 0, job 1, job 2",
    ),
    error=cg.PolicyError,
)


@pytest.mark.parametrize(
    ("claimant", "number"), [(-1, -1), ((0, 2), 0), (np.int64(7), 7), (2.25, 2)]
)
def test_claims_by_other_processes_are_in_claims_timeline_and_pictures(
    claimant, number
):
    model = Maintained(claimant=claimant)
    run = cg.simulate(model, "first")
    crew = run.claims[(run.claims["job"] == number) & (run.claims["from_s"] >= 11)]
    assert crew[["resource", "from_s", "to_s"]].tolist() == [
        (1, 11, 14),
        (1, 14, 17),
        (1, 17, 20),
    ]
    assert run.timeline.claims.tolist() == run.claims.tolist()
    assert cg.plots.gantt(run).get_xlabel()
    bars = encoded([run], {})["runs"][0]
    shown = np.cumsum(bars["jobs"]["job"])[bars["bars"]["job"]].tolist()
    assert sorted(shown) == run.claims["job"].tolist()
    assert [row["job"] for row in run.rows()] == [0, 1, 2]
    assert any("start" in str(step) for step in cg.step_through(model, "first", 0))


@pytest.mark.parametrize(
    ("claimant", "job", "message"),
    [
        *(
            (claimant, 0, r"^number of a claim\(=.*must be a number of at most")
            for claimant in ("crew", ("crew", 2), None, math.nan, 2**63, (0, 1, 2))
        ),
        *(
            (-1, job, r"^number of a job of odd\(=.*must be a whole number")
            for job in ("a", (0, 2), 1.5, None, 2**63)
        ),
    ],
)
def test_a_claim_or_job_without_a_number_is_rejected(claimant, job, message):
    class Odd(Maintained):
        def arrivals(self, draw):
            return [(0.0, job)]

    check_refused(lambda: cg.simulate(Odd(claimant=claimant), "first"), message)


def test_hidden_draws_are_kept_until_their_job_ends():
    model = Shop(waits)
    model.jobs = [(0.0, 0, "its draw"), (1.0, 1, "another")]
    simulation = Simulation(model, one_each)
    simulation.finish()
    assert simulation.hidden == {}


# ---- fractions of a pool ----


def shared(needs, size, gap_s=0.0, job_process=waits, **more):
    """Jobs of 10 s that need fractions of a node, every `gap_s`."""
    arrivals, pool = [gap_s * n for n in range(len(needs))], cg.pools([size], "node")
    return Shop(job_process, arrivals, pool, need=lambda job: needs[job], **more)


@pytest.mark.parametrize(
    ("needs", "size", "starts_s"),
    [
        ((0.1, 0.2), 0.3, [0, 0]),
        ((0.1 + 0.2,), 0.3, [0]),
        ((0.6, 0.3, 0.1), 1, [0, 0, 0]),
        ((1 / 3,) * 4, 1, [0, 0, 0, 10]),
        ((1 / 6,) * 7, 1, [0] * 6 + [10]),
        ((0.1,) * 11, 1, [0] * 10 + [10]),
        ((0.7, 0.2, 0.1, 1.0), 1, [0, 0, 0, 10]),
        ((0.1, 0.2, 0.0001), 0.3, [0, 0, 10]),  # an excess is rejected as before
        ((2.0, 1.0), 2, [0, 10]),
    ],
)
@pytest.mark.parametrize("placed", ["whole", "in parts"])
def test_fractions_that_sum_to_a_pool_fit_in_it(needs, size, starts_s, placed):
    def in_parts(view):
        for job, node in cg.first_come(view):
            yield job, ((node, view.need(job) / 3), (node, view.need(job) * 2 / 3))

    policy = cg.first_come if placed == "whole" else in_parts
    run = cg.simulate(shared(needs, size), policy)
    assert run.jobs["start_s"].tolist() == starts_s


def closes_for_a_while(run):
    yield run.timeout(100.0)
    with run.down(run.resources[0], interrupt=False):
        yield run.timeout(5.0)


def test_after_many_fractions_and_a_downtime_the_whole_pool_is_free():
    amounts, rooms = [0.1, 0.15, 0.3, 0.35, 0.7, 1 / 3], []

    def policy(view):
        rooms.append(view.room(view.resources[0]))
        return cg.first_come(view)

    needs = [*np.random.default_rng(1).choice(amounts, 200).tolist(), 1.0]
    model = shared(needs, 1, gap_s=3.0, beside=[closes_for_a_while])
    simulation = Simulation(model, policy)
    run = simulation.finish()
    assert run.jobs["finish_s"][-1] == run.jobs["finish_s"].max()
    assert max(rooms) <= 1
    assert (simulation.free, simulation.resources[0].level) == ([1], 1)


def test_whole_amounts_of_a_large_pool_are_exact():
    gpu = 80 * 2**30  # bytes
    run = cg.simulate(shared([gpu - 1, 1, 1], gpu), "first")
    assert run.jobs["start_s"].tolist() == [0, 0, 10]


# ---- columns of jobs ----


class Plain(NamedTuple):
    id: int
    work_s: float


class Extra(NamedTuple):
    id: int
    extra: str


class Listed(Shop):
    """Jobs of any kind."""

    name = "listed"

    def __init__(self, *listed):
        super().__init__(waits)
        self.jobs = [*enumerate(listed)]


@pytest.mark.parametrize(
    "listed",
    [
        (Plain(0, 1.0), Extra(1, "x")),
        (Extra(0, "x"), Plain(1, 1.0)),
        (0, Plain(1, 1.0)),
        (Plain(0, 1.0), 1),
    ],
)
def test_jobs_with_attributes_unlike_earlier_ones_are_rejected(listed):
    message = r"of listed has the attributes .* all jobs must have the"
    check_refused(lambda: cg.simulate(Listed(*listed), "first"), message)


@pytest.mark.parametrize(
    "name", ["dispatch_s", "start_s", "finish_s", "resources", "job", "noted"]
)
@pytest.mark.parametrize("kind", [namedtuple, make_dataclass])
def test_a_job_attribute_that_would_be_overwritten_is_rejected(kind, name):
    class Noted(Listed):
        columns: ClassVar = {"noted": "f8"}

    options = {"frozen": True} if kind is make_dataclass else {}
    job = kind("Own", ["id", name], **options)(0, 1.0)
    message = f"the jobs of listed cannot contain '{name}'"
    check_refused(lambda: cg.simulate(Noted(job), "first"), message)


@pytest.mark.parametrize("name", ["submit_s", "finish_s", "job", "resources"])
def test_a_model_column_that_would_overwrite_another_is_rejected(name):
    class Noted(Listed):
        columns: ClassVar = {name: "f8"}

    message = f"columns of listed cannot contain '{name}'"
    check_refused(lambda: cg.simulate(Noted(0), "first"), message)


def test_jobs_of_several_classes_with_the_same_attributes_are_rows_of_one_table():
    other = make_dataclass("Other", ["id", "work_s"], frozen=True)
    run = cg.simulate(Listed(Plain(0, 1.0), other(1, 2.0), Plain(2, 3.0)), "first")
    assert run.jobs[["job", "work_s"]].tolist() == [(0, 1), (1, 2), (2, 3)]


def test_a_job_may_have_its_own_submission_time():
    job = namedtuple("Own", ["id", "submit_s"])(np.int64(3), -5.0)
    assert cg.simulate(Listed(job), "first").jobs["submit_s"].tolist() == [-5.0]


# ---- names that collide ----


TAKEN = "need policies report subject view columns job_process".split()
BASE = dataclass(frozen=True)(type("Base", (), {"__annotations__": {"need": int}}))


@pytest.mark.parametrize(
    ("bases", "body", "name"),
    [
        *(((), {"__annotations__": {name: int}, name: 3}, name) for name in TAKEN),
        *(((), {"__annotations__": {name: "int"}, name: 3}, name) for name in TAKEN),
        ((BASE,), {}, "need"),  # of a base that is no model
        ((), {"need": 10}, "need"),  # in place of a method
    ],
)
def test_a_field_named_like_an_attribute_of_model_is_rejected(bases, body, name):
    message = f"^Own: '{name}' is an attribute of every model; .*taken: .*\\b{name}\\b"
    check_refused(lambda: type("Own", (*bases, cg.Model), body), message)


test_a_class_attribute_of_a_wrong_kind_is_rejected = refusals(
    *(
        ({name: value}, f"Own.{name}(={value!r}) must be {allowed}")
        for name, value, allowed in (
            ("policies", ["first"], "a mapping from names to functions"),
            ("policies", {"own": "first"}, "a mapping from names to functions"),
            ("compared", "first", "a list of policies"),
            ("columns", ["late_s"], "a mapping from names to NumPy types"),
            ("columns", {"late_s": "seconds"}, "a mapping from names to NumPy types"),
            ("report", 5, "a subclass of Report"),
        )
    ),
    call=lambda body: type("Own", (cg.Model,), body),
)


@pytest.mark.parametrize(
    "annotation", [ClassVar, ClassVar[dict], "ClassVar", "t.ClassVar[dict]"]
)
def test_class_variables_and_names_of_their_own_are_fields_as_before(annotation):
    names = {"policies": annotation, "name": str, "jobs": int}
    assert type(
        "Own", (cg.Model,), {"__annotations__": names, "policies": {}, "work": 5}
    )


@pytest.mark.parametrize(
    "name", "pending_claims free mask decisions mark_finished claim view env".split()
)
@pytest.mark.parametrize("when", ["set_up", "process"])
def test_an_attribute_of_the_engine_cannot_be_set(name, when):
    def process(run):
        yield run.timeout(1.0)
        setattr(run, name, 0)

    model = Shop(waits, beside=[process] * (when == "process"))
    if when == "set_up":
        model.set_up = lambda run: setattr(run, name, 0)
    message = f"run.{name} is used by the engine and cannot be set; "
    assert name in check_refused(lambda: cg.simulate(model, "first"), [message])


def test_allowed_attributes_of_a_run_can_be_set_repeatedly():
    def set_up(run):
        run.plan, run.name, run.stop_arrivals, run.number = [], "mine", False, 0

    def job_process(run, job):
        run.number += 1
        run.plan.append(run.number)
        yield from waits(run, job)

    run = cg.simulate(Shop(job_process, 3, set_up=set_up), "first")
    assert (run.policy, run.plan) == ("mine", [1, 2, 3])


@pytest.mark.parametrize("name", ["started", "finished"])
def test_an_old_method_name_gives_an_error_with_the_new_name(name):
    run = Simulation(Maintained(), cg.first_come)
    check_refused(
        lambda: getattr(run, name),
        rf"^Simulation\.{name} is now run\.mark_{name}\(job, at_s\)$",
    )
