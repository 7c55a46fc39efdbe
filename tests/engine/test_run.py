"""The engine by itself: claims to slots and pools, patience, wakes, places that are taken away, suspension."""

import gc

import pytest
from engine.bench import Bench, one_each

import cgrsp_simpy as cg
from cgrsp_simpy.engine.events import Alarm
from cgrsp_simpy.model.policy import PolicyError, Suspend, Wake


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


def hold(view):
    """Nobody is sent."""
    return []


@pytest.mark.parametrize(
    ("policy", "size", "jobs", "log"),
    [
        pytest.param(
            one_each,
            1,
            [{"run_s": 10}, {"at_s": 4, "patience_s": 6}],
            [(0, "starts", 1), (10, "ends", 1), (10, "starts", 2), (11, "ends", 2)],
            id="who gets a place in the instant in which patience ends does not leave",
        ),
        pytest.param(  # in turn, on four GPUs: 1 has two of them, 2 asks for all, 3 for two
            cg.first_come,
            4,
            [
                {"run_s": 10, "need": 2},
                {"at_s": 1, "run_s": 5, "patience_s": 5, "need": 4},
                {"at_s": 2, "run_s": 3, "need": 2},
            ],
            [(0, "starts", 1), (6, "leaves", 2), (6, "starts", 3), (9, "ends", 3), (10, "ends", 1)],
            id="who stood behind a job that leaves is sent in that instant",
        ),
        pytest.param(
            one_each,
            1,
            [{"run_s": 10, "patience_s": 0}, {"at_s": 4, "patience_s": 0}],
            [(0, "starts", 1), (4, "leaves", 2), (10, "ends", 1)],
            id="without patience a job takes an idle place or leaves at once",
        ),
        pytest.param(
            hold,
            1,
            [{"at_s": 2, "patience_s": 6}],
            [(8, "leaves", 1)],
            id="a job that is held past its patience leaves, though a place is idle",
        ),
        pytest.param(
            one_each,
            1,
            [{"run_s": 10}, {"patience_s": 3}],
            [(0, "starts", 1), (3, "leaves", 2), (10, "ends", 1)],
            id="a job that is held at once leaves, though others of the instant start",
        ),
    ],
)
def test_when_patience_ends(policy, size, jobs, log):
    bench = Bench(policy, size)
    for number, own in enumerate(jobs, start=1):
        bench.job(number, **{"at_s": 0, "run_s": 1, **own})
    assert bench.go() == log


def test_a_place_of_nothing_is_never_free():
    bench = Bench(one_each, 0, 2)
    bench.job(1, 0, 10)
    assert bench.go() == [(0, "starts", 1), (10, "ends", 1)]


def test_wakes_with_no_grant_in_between_are_counted_one_by_one(monkeypatch):
    monkeypatch.setattr("cgrsp_simpy.engine.events.Alarm.most", 3)
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
    monkeypatch.setattr("cgrsp_simpy.engine.events.Alarm.most", 3)

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
    monkeypatch.setattr("cgrsp_simpy.engine.events.Alarm.most", 0)  # any wake is one too many

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


@pytest.mark.parametrize("seed", [-1, 1.5, "1"])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(cg.InputError, match=r"seed\(=.*\) must be a whole number >= 0"):
        cg.day("quiet").run("fifo", seed)
