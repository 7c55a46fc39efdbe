"""FCFS, SJF, F1 and EASY on one pool against a queue simulator of its own, and against
figures printed by another program.

The simulator here keeps a number of idle GPUs and lists of who waits and who runs; it
knows no engine, view, node or placement.
"""

from itertools import accumulate
from math import inf, log10
from pathlib import Path

import numpy as np
import pytest

from cgrsp_simpy.cluster.backfilling import shadow
from cgrsp_simpy.cluster.cluster import Cluster
from cgrsp_simpy.cluster.jobs import Jobs
from cgrsp_simpy.cluster.metrics import metrics
from cgrsp_simpy.cluster.policies import make_scheduler
from cgrsp_simpy.cluster.scenario import simulate

LUBLIN = (
    Path(__file__).resolve().parents[3] / "shared" / "data" / "swf" / "lublin_256.swf"
)
GPUS = 256


# Keys of arrival, GPUs and requested time; F1: Carastan-Santos and de Camargo (2017),
# SC '17.
def fcfs(arrival_s, gpus, request_s):
    return (arrival_s,)


def sjf(arrival_s, gpus, request_s):
    return request_s, arrival_s


def f1(arrival_s, gpus, request_s):
    return (log10(request_s) * gpus + 870 * log10(arrival_s),)


class InTurn:
    """The waiting job of least key is the next; while it does not fit, nothing starts,
    or with `fill` what ends before it can.

    That time is what the estimates say when the job becomes the next. Jobs fill in by
    arrival.
    """

    asks_on_arrival = True

    def __init__(self, key, fill):
        self.key, self.fill, self.next = key, fill, None

    def __call__(self, view):
        while view.head is not None:
            if self.next is None:
                known = view.jobs
                columns = known.arrival_s, known.gpus, known.estimate_s
                self.next = min(
                    view.queue,
                    key=lambda job: self.key(*(column[job] for column in columns)),
                )
                self.start_s = shadow(view, self.next)[0]
            place = view.room(view.gpus[self.next])
            if place is None:
                break
            job, self.next = self.next, None
            yield job, place
        for job in view.queue if self.fill else ():
            if (
                job != self.next
                and view.now_s + view.estimate_s[job] < self.start_s
                and (place := view.room(view.gpus[job]))
            ):
                yield job, place


def plain(jobs, key, fill):
    """Starts, by a loop over times.

    fill: none; short: jobs that end before the next can start; easy: also those that
    leave room.

    With easy the time is computed again at each decision, and jobs may end at it.
    """
    arrival_s, gpus, run_s, limit_s = (
        getattr(jobs, name).tolist()
        for name in ("arrival_s", "gpus", "duration_s", "estimate_s")
    )
    coming = list(range(jobs.jobs))
    waiting = []
    running = []
    start_s = {}
    first = None
    free = GPUS
    at_s = inf

    def reckon():
        ends = sorted(
            (max(start_s[job] + limit_s[job], now_s), gpus[job]) for job in running
        )
        sums = accumulate(width for _, width in ends)
        return next(
            (
                end_s,
                free + sum(w for other_s, w in ends if other_s <= end_s) - gpus[first],
            )
            for (end_s, _), more in zip(ends, sums)
            if free + more >= gpus[first]
        )

    def begin(job):
        nonlocal free
        waiting.remove(job)
        running.append(job)
        start_s[job] = now_s
        free -= gpus[job]

    while coming or waiting or running:
        now_s = min(
            [arrival_s[job] for job in coming[:1]]
            + [start_s[job] + run_s[job] for job in running]
        )
        for job in [job for job in running if start_s[job] + run_s[job] <= now_s]:
            running.remove(job)
            free += gpus[job]
        while coming and arrival_s[coming[0]] <= now_s:
            waiting.append(coming.pop(0))
        while waiting:
            if first is None:
                first = min(
                    waiting,
                    key=lambda job: key(arrival_s[job], gpus[job], limit_s[job]),
                )
                if gpus[first] > free:
                    at_s, _ = reckon()
            if gpus[first] > free:
                break
            begin(first)
            first = None
        if not waiting or fill == "none":
            continue
        spare = 0
        if fill == "easy":
            at_s, spare = reckon()
        for job in [job for job in waiting if job != first]:
            ends_s = now_s + limit_s[job]
            if gpus[job] <= free and (
                ends_s < at_s
                or (fill == "easy" and (ends_s == at_s or gpus[job] <= spare))
            ):
                spare -= gpus[job] * (ends_s > at_s)
                begin(job)
    return np.array([start_s[job] for job in range(jobs.jobs)])


seeds = pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=[pytest.mark.slow] * (seed > 1)) for seed in range(6)],
)


def drawn(seed, shares=(1.0, 1.0, 1.5, 3.0)):
    """200 jobs that overload the pool. shares: of estimates over durations."""
    rng = np.random.default_rng(seed)
    gpus = np.where(
        rng.random(200) < 0.5,
        2 ** rng.integers(0, 9, 200),
        rng.integers(1, GPUS + 1, 200),
    )
    duration_s, none = np.exp(rng.uniform(0, 9, 200)), np.zeros(200)
    arrival_s = 100 + np.sort(
        rng.uniform(0, (gpus * duration_s).sum() / GPUS / rng.uniform(0.7, 1.3), 200)
    )
    return Jobs(
        arrival_s,
        gpus,
        duration_s,
        duration_s * rng.choice(shares, 200),
        None,
        none,
        None,
        None,
    )


def bounded_slowdown(jobs, start_s):
    run_s = jobs.duration_s
    return np.mean(
        [
            max(1.0, (wait + run) / max(run, 10.0))
            for wait, run in zip(start_s - jobs.arrival_s, run_s)
        ]
    )


@pytest.mark.parametrize(
    "sizes", [(GPUS,), (1,) * GPUS], ids=["one node", "a node a GPU"]
)
@seeds
@pytest.mark.parametrize(
    ("scheduler", "key", "fill"),
    [
        (make_scheduler("fifo"), fcfs, "none"),
        (make_scheduler("easy"), fcfs, "easy"),
        (InTurn(sjf, fill=False), sjf, "none"),
        (InTurn(f1, fill=False), f1, "none"),
        (InTurn(sjf, fill=True), sjf, "short"),
        (InTurn(f1, fill=True), f1, "short"),
    ],
    ids=["fcfs", "easy", "sjf", "f1", "sjf, filled", "f1, filled"],
)
def test_starts_and_bounded_slowdown_are_those_of_a_plain_queue_simulator(
    scheduler, key, fill, seed, sizes
):
    jobs = drawn(seed)
    run = simulate(jobs, Cluster(sizes), scheduler)
    start_s = plain(jobs, key, fill)
    assert np.array_equal(run.jobs["start_s"], start_s)
    assert metrics(run)["bounded_slowdown"] == pytest.approx(
        bounded_slowdown(jobs, start_s)
    )


@seeds
def test_fifo_and_easy_are_so_with_estimates_that_are_too_short(seed):
    jobs = drawn(seed, (0.3, 0.7, 1.0, 2.0))
    for name, fill in (("fifo", "none"), ("easy", "easy")):
        assert np.array_equal(
            simulate(jobs, Cluster((GPUS,)), make_scheduler(name)).jobs["start_s"],
            plain(jobs, fcfs, fill),
        ), name


def test_the_cases_tell_the_schedulers_apart():
    jobs = drawn(0)
    found = {
        bounded_slowdown(jobs, plain(jobs, key, fill))
        for key in (fcfs, sjf, f1)
        for fill in ("none", "short", "easy")
    }
    assert len(found) == 9


@pytest.mark.skipif(not LUBLIN.is_file(), reason="the log is not here")
@pytest.mark.parametrize(
    ("key", "fill", "printed"),
    [
        (fcfs, False, 8626.0437),
        (sjf, False, 453.3415),
        (f1, False, 368.6423),
        (sjf, True, 78.2297),
        (f1, True, 49.5533),
    ],
)
def test_bounded_slowdown_on_a_published_log_is_as_another_program_prints_it(
    key, fill, printed
):
    """Jobs 300 to 1323 of lublin_256 (Zhang et al. 2020, RLScheduler, SC '20), one pool
    of 256 processors.

    Columns of the log: 2 submission, 4 run time, 5 and 8 processors, 9 requested time,
    or -1 for the run time.
    """
    lines = [
        line.split()
        for line in LUBLIN.read_text().splitlines()
        if not line.startswith(";")
    ]
    rows = np.array(
        [
            [float(line[column]) for column in (1, 3, 4, 7, 8)]
            for line in lines
            if float(line[3]) > 0
        ]
    )[300:1324]
    arrival_s, run_s, allocated, requested, request_s = rows.T
    none = np.zeros(len(rows))
    limit_s = np.where(request_s == -1, run_s, request_s)
    jobs = Jobs(
        arrival_s,
        np.maximum(allocated, requested),
        run_s,
        limit_s,
        None,
        none,
        None,
        None,
    )
    found = metrics(simulate(jobs, Cluster((GPUS,)), InTurn(key, fill)))
    assert found["bounded_slowdown"] == pytest.approx(printed, abs=5e-5)
