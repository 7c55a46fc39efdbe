"""The engine by itself: claims to slots and pools, patience, places that are taken away, and what
a wrong answer is told.
"""

import gc
import json
import math
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.engine import answers
from cgrsp_simpy.engine.instant import Alarm
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.model.policy import PolicyError, Suspend, Wake


class Bench(cg.Model):
    """A model of the smallest kind: jobs are numbers, and `log` takes down what happens."""

    name = "bench"

    def __init__(self, policy, *sizes, asks_on_arrival=False, stops=True):
        self.sizes, self.stops, self.jobs, self.times = sizes, stops, [], {}
        self.policy = cg.policy(asks_on_arrival=asks_on_arrival)(policy)
        self.log, self.claims, self.beside = [], [], []

    def job(self, number, at_s, run_s, setup_s=0.0, patience_s=math.inf, need=1):
        self.jobs.append((at_s, number))
        self.times[number] = run_s, setup_s, patience_s, need

    def places(self):
        pool = max(self.sizes) > 1
        return cg.pools(self.sizes, "node", "GPUs") if pool else cg.slots(len(self.sizes))

    def need(self, number):
        return self.times[number][3]

    def says(self, kind, claim):
        return f"number {claim.job}"

    def processes(self, run):
        return [process(run) for process in self.beside]

    def life(self, run, number):
        run_s, setup_s, patience_s, _ = self.times[number]
        with run.claim(number, patience_s, start=False) as claim:
            self.claims.append(weakref.ref(claim))
            if (yield claim) is None:
                self.log.append((run.now_s, "leaves", number))
                return
            try:
                yield run.timeout(setup_s)
                claim.start()
                self.log.append((run.now_s, "starts", number))
                yield run.timeout(run_s)
                self.log.append((run.now_s, "ends", number))
            except cg.Interrupt as interrupt:
                if not self.stops:
                    raise
                self.log.append((run.now_s, interrupt.cause, number))

    def go(self):
        self.simulation = Simulation(self, self.policy, drawn=self.jobs)
        self.left = self.simulation.finish()
        return self.log


def one_each(view):
    """First come, first served, a slot each; of free places the first."""
    return list(zip(view.queue, view.free))


def two_each(view):
    """As long as two GPUs of the node are free, the next job; asked again after each grant."""
    (node,) = view.places
    while view.queue and view.room(node) >= 2:
        yield view.queue[0], node


def test_three_jobs_on_a_slot_and_one_whose_patience_ends():
    bench = Bench(one_each, 1)
    bench.job(1, 0, 10, setup_s=3)
    bench.job(2, 1, 5)
    bench.job(3, 2, 5, patience_s=6)
    assert bench.go() == [
        (3, "starts", 1),
        (8, "leaves", 3),
        (13, "ends", 1),
        (13, "starts", 2),
        (18, "ends", 2),
    ]
    assert bench.left.claims.tolist() == [
        (1, 0, 1.0, "provisioning", 0.0, 3.0),
        (1, 0, 1.0, "executing", 3.0, 13.0),
        (2, 0, 1.0, "executing", 13.0, 18.0),
    ]


def test_jobs_share_a_pool_by_amounts():
    bench = Bench(two_each, 5)
    for number in range(3):
        bench.job(number, 0, 10, need=2)
    assert bench.go() == [
        (0, "starts", 0), (0, "starts", 1), (10, "ends", 0), (10, "ends", 1), (10, "starts", 2),
        (20, "ends", 2),
    ]  # fmt: skip
    assert bench.simulation.free == [5]
    assert bench.simulation.places[0].level == 5


def test_who_gets_a_place_in_the_instant_in_which_patience_ends_does_not_leave():
    bench = Bench(one_each, 1)
    bench.job(1, 0, 10)
    bench.job(2, 4, 1, patience_s=6)
    assert bench.go()[-1] == (11, "ends", 2)


def test_who_stood_behind_a_job_that_leaves_is_sent_in_that_instant():
    """In turn, on four GPUs: 1 has two of them, 2 asks for all, 3 for two."""
    bench = Bench(cg.first_come, 4)
    bench.job(1, 0, 10, need=2)
    bench.job(2, 1, 5, patience_s=5, need=4)
    bench.job(3, 2, 3, need=2)
    assert bench.go() == [
        (0, "starts", 1),
        (6, "leaves", 2),
        (6, "starts", 3),
        (9, "ends", 3),
        (10, "ends", 1),
    ]


def test_without_patience_a_job_takes_an_idle_place_or_leaves_at_once():
    bench = Bench(one_each, 1)
    bench.job(1, 0, 10, patience_s=0)
    bench.job(2, 4, 1, patience_s=0)
    assert bench.go() == [(0, "starts", 1), (4, "leaves", 2), (10, "ends", 1)]


def test_a_job_leaves_when_the_policy_holds_it_past_its_patience_though_a_place_is_idle():
    bench = Bench(lambda view: [], 1)
    bench.job(1, 2, 1, patience_s=6)
    assert bench.go() == [(8, "leaves", 1)]


def test_a_job_that_is_held_at_once_leaves_though_others_of_the_instant_start():
    bench = Bench(one_each, 1)
    bench.job(1, 0, 10)
    bench.job(2, 0, 1, patience_s=3)
    assert bench.go() == [(0, "starts", 1), (3, "leaves", 2), (10, "ends", 1)]


def test_wakes_with_no_grant_in_between_are_counted_one_by_one(monkeypatch):
    monkeypatch.setattr("cgrsp_simpy.engine.instant.Alarm.most", 3)
    asked = []

    def never(view):
        asked.append(view.now_s)
        return [Wake(view.now_s + 1)]

    bench = Bench(never, 1)
    bench.job(1, 0, 1)
    with pytest.raises(PolicyError, match=r"at t = 4 s .* through 3 wake-ups in a row"):
        bench.go()
    assert asked == [0, 1, 2, 3]


def test_a_grant_begins_the_count_of_wakes_anew(monkeypatch):
    monkeypatch.setattr("cgrsp_simpy.engine.instant.Alarm.most", 3)

    def every_third_second(view):
        """A grant at 3 and at 6 s."""
        now_s = view.now_s
        due = int(now_s > 0 and now_s % 3 == 0)
        return [*one_each(view)[:due], *([Wake(now_s + 1)] if len(view.queue) > due else [])]

    bench = Bench(every_third_second, 1, 1)
    bench.job(1, 0, 10)
    bench.job(2, 0, 10)
    assert bench.go()[:2] == [(3, "starts", 1), (6, "starts", 2)]


def test_once_nobody_waits_the_policy_is_not_woken(monkeypatch):
    monkeypatch.setattr("cgrsp_simpy.engine.instant.Alarm.most", 0)  # any wake is one too many

    def policy(view):
        return [*one_each(view), *([] if view.now_s else [Wake(50)])]

    bench = Bench(policy, 1)
    bench.job(1, 0, 100)
    bench.job(2, 0, 1, patience_s=6)
    bench.job(3, 10, 1)
    assert bench.go()[-1] == (101, "ends", 3)


def test_a_policy_may_hold_through_a_hundred_thousand_wakes():
    assert Alarm.most == 100_000


@pytest.mark.parametrize(
    ("at_s", "started"),
    [(1, []), (5, [(3, "starts", 1)])],
    ids=["while provisioned", "while it runs"],
)
def test_a_place_that_is_taken_away_is_free_for_the_next(at_s, started):
    bench = Bench(one_each, 1)
    bench.job(1, 0, 10, setup_s=3)
    bench.job(2, 0, 5)

    def taker(run):
        yield run.timeout(at_s)
        run.revoke(bench.claims[0](), "taken away")

    bench.beside.append(taker)
    assert bench.go() == [
        *started,
        (at_s, "taken away", 1),
        (at_s, "starts", 2),
        (at_s + 5, "ends", 2),
    ]
    assert bench.simulation.places[0].count == 0


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


@pytest.mark.parametrize("on_arrival", [False, True])
def test_a_policy_that_asks_on_arrival_is_asked_when_nothing_is_free(on_arrival):
    times = []

    def policy(view):
        times.append(view.now_s)
        return one_each(view)

    bench = Bench(policy, 1, asks_on_arrival=on_arrival)
    bench.job(1, 0, 10)
    bench.job(2, 4, 1)
    bench.go()
    assert times == ([0, 4, 10] if on_arrival else [0, 10])


WRONG = {
    "neither a pair": lambda view: [7],
    r"answered \(\[\], 0\), which is neither a pair": lambda view: [([], 0)],  # no key
    "assigned 'x', which is not a job": lambda view: [("x", view.free[0])],
    "assigned job 9, which is not waiting": lambda view: [(9, view.free[0])],
    "sent job 1 to node 0, which has 2 GPUs free; it needs 3": lambda view: [(1, view.free[0])],
    "sent job 1 to 'nowhere', which is no place": lambda view: [(1, "nowhere")],
    "raised ZeroDivisionError: division by zero": lambda view: (1 / 0 for _ in (1,)),
    "a finite time after 0 s": lambda view: [Wake(0.0)],
    r"answered None \(is a return missing\?\) and left 1 jobs waiting, job 1 \(number 1\), with 1 of"
    " 1 nodes idle and nothing": lambda view: None,
    "(?<=at t = 0 s )left 1 jobs waiting": lambda view: [],
}


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_answer_is_one_line(words):
    bench = Bench(WRONG[words], 2)
    bench.job(1, 0, 1, need=3)
    with pytest.raises(PolicyError, match=f"at t = 0 s .*{words}"):
        bench.go()


def test_an_error_of_a_policys_own_names_the_line_of_its_file():
    def share(nothing):
        return 1 / nothing

    def late(view):
        yield Wake(3.0)
        share(0)

    first = share.__code__.co_firstlineno
    for policy in (lambda view: share(0), late):
        bench = Bench(policy, 2)
        bench.job(1, 0, 1)
        line = rf"division by zero \(test_engine_core\.py, line {first + 1}\)$"
        with pytest.raises(PolicyError, match=line):
            bench.go()


@dataclass(frozen=True)
class Fixed:
    """That nobody may change."""

    value: int = 0


def test_an_error_in_a_library_names_the_line_of_the_users_file():
    def own(view):
        json.loads("{")

    def by_numpy(view):
        np.linalg.inv(np.zeros((2, 2)))

    def generated(view):
        Fixed().value = 1

    for policy in (own, by_numpy, generated):
        bench = Bench(policy, 2)
        bench.job(1, 0, 1)
        first = policy.__code__.co_firstlineno
        with pytest.raises(PolicyError, match=rf"\(test_engine_core\.py, line {first + 1}\)$"):
            bench.go()


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (answers.PACKAGE / "own.py", r" \(own\.py, line 2\)$"),  # one of the package's own
        (answers.PYTHON[0] / "own.py", r"\(char 1\)$"),
        ("/venv/lib/site-packages/own.py", r"\(char 1\)$"),
    ],
)
def test_an_error_within_a_library_names_the_packages_line_and_none_of_a_library(file, words):
    names = {"__name__": "own", "__file__": str(file), "json": json}
    exec(compile("def ask(view):\n    json.loads('{')", str(file), "exec"), names)
    bench = Bench(names["ask"], 2)
    bench.job(1, 0, 1)
    with pytest.raises(PolicyError, match=f"JSONDecodeError: .*{words}"):
        bench.go()


def test_an_error_in_the_call_of_a_policy_names_no_line():
    bench = Bench(lambda: None, 2)  # takes no view
    bench.job(1, 0, 1)
    with pytest.raises(PolicyError, match=r"raised TypeError: .* was given$"):
        bench.go()


# ---- suspension ----


def latest_first(view):
    """The job that came last runs: it takes the place of the one that does."""
    if not view.running:
        return [(max(view.queue), view.free[0])] if view.queue else []
    return [Suspend(job) for job in view.running if max(view.queue, default=-1) > job]


def test_a_suspended_job_makes_room_in_the_same_instant():
    bench = Bench(latest_first, 1, asks_on_arrival=True)
    bench.job(1, 0, 10)
    bench.job(2, 4, 5)
    assert bench.go() == [
        (0, "starts", 1),
        (4, Suspend(1), 1),
        (4, "starts", 2),
        (9, "ends", 2),
    ]


def test_a_job_is_suspended_once():
    """It does not run any more, though its process has not given its place back yet."""

    def twice(view):
        return [Suspend(1), Suspend(1)] * (1 in view.running) or one_each(view)

    bench = Bench(twice, 1, asks_on_arrival=True)
    bench.job(1, 0, 10)
    bench.job(2, 4, 5)
    with pytest.raises(PolicyError, match="at t = 4 s suspended job 1, which does not run"):
        bench.go()


SUSPENDED = {
    "suspended job 1; this scenario allows no suspension": lambda view: (
        [Suspend(1)] if 1 in view.running else one_each(view)
    ),
    "suspended job 7, which does not run": lambda view: [Suspend(7)],
    r"suspended job \[\], which does not run": lambda view: [Suspend([])],
    "suspended job 1 in the instant of its dispatch": lambda view: [*one_each(view), Suspend(1)],
}


@pytest.mark.parametrize("words", SUSPENDED)
def test_what_cannot_be_suspended_is_one_line(words):
    bench = Bench(SUSPENDED[words], 1, asks_on_arrival=True, stops=False)
    bench.job(1, 0, 10)
    bench.job(2, 4, 1)
    with pytest.raises(PolicyError, match=f"policy .* at t = [04] s {words}"):
        bench.go()
