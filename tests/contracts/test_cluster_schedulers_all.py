"""Properties of every scheduler and placement, on random small clusters, and the
guarantees of FIFO, EASY and conservative backfilling.
"""

from functools import reduce
from types import SimpleNamespace

import numpy as np
import pytest
from cluster.cases import simulate
from hypothesis import given, settings
from hypothesis import strategies as st
from support import placed

import cgrsp_simpy as cg
from cgrsp_simpy.cluster.backfilling import Conservative, Profile, Reservation, shadow
from cgrsp_simpy.cluster.cluster import PLACEMENTS, Cluster, Nodes, best_fit

QUICK = settings(max_examples=12)
MANY = settings(QUICK, max_examples=60)
VARIANTS = [
    "hps:monotone=true",
    "pbs:mode=text",
    "pbs:pairs=true,tolerance=1",
    "sbs:time_unit_s=10",
    "adaptive:short_queue=1",
    "ordered:by=widest",
    "ordered:by=shortest,blocked=wait",
    "ordered:by=shortest,blocked=backfill",
]
# keep GPUs idle for jobs that wait
HOLD = ("fifo", "easy", "conservative", "multifactor", *VARIANTS[-2:])
every_scheduler = pytest.mark.parametrize(
    "scheduler", [*cg.cluster.SCHEDULERS, *VARIANTS]
)
placements = st.sampled_from(list(PLACEMENTS.values()))


@st.composite
def settings_of(draw, estimates=(0.5, 1.0, 1.0, 2.0)):
    """A cluster and its jobs, in whole and half seconds, so that many events coincide.

    estimates: over duration.
    """
    cluster = Cluster(
        tuple(draw(st.lists(st.sampled_from([1, 2, 4, 4]), min_size=1, max_size=4)))
    )
    row = st.tuples(
        st.integers(0, 30),
        st.integers(1, cluster.gpus),
        st.integers(1, 12),
        st.sampled_from(estimates),
        st.integers(1, 50),
        st.integers(0, 2),
        st.integers(0, 2),
    )
    rows = draw(st.lists(row, min_size=1, max_size=25))
    arrival_s, gpus, duration_s, share, iterations, family, user = np.array(
        rows, dtype=float
    ).T
    return cluster, cg.cluster.Jobs(
        arrival_s,
        gpus,
        duration_s,
        share * duration_s,
        iterations,
        np.zeros(len(rows)),
        family,
        user,
    )


def watched(cluster, jobs, scheduler, look, placement=best_fit):
    """A run; look(view, started) is called after each decision, with the jobs that
    it has started.
    """
    decide = cg.cluster.make_scheduler(scheduler)

    def look_on(view):
        started = []
        for job, place in decide(view):
            started.append(job)
            yield job, place
        look(view, started)

    look_on.asks_on_arrival = getattr(decide, "asks_on_arrival", False)
    return simulate(jobs, cluster, look_on, placement)


# ---- all ----


def check_places(cluster, jobs, run):
    """Jobs run once, for their durations, on GPUs of their own; a gang is on one node,
    or on whole nodes except for a rest.
    """
    start_s, finish_s, places = run.jobs["start_s"], run.jobs["finish_s"], placed(run)
    assert (start_s >= jobs.arrival_s).all()
    assert finish_s == pytest.approx(start_s + jobs.duration_s)
    for at_s in start_s:
        used = np.zeros(len(cluster.sizes))
        for job in np.flatnonzero((start_s <= at_s) & (finish_s > at_s + 1e-9)):
            for node, gpus in places[job]:
                used[node] += gpus
        assert (used <= cluster.sizes).all()
    for place, gpus in zip(places, jobs.gpus, strict=True):
        assert sum(taken for _, taken in place) == gpus
        assert len({node for node, _ in place}) == len(place)
        assert sum(taken < cluster.sizes[node] for node, taken in place) <= 1
        assert len(place) == 1 or gpus > max(cluster.sizes)


@every_scheduler
@QUICK
@given(case=settings_of(), placement=placements)
def test_every_scheduler_keeps_the_rules(scheduler, case, placement):
    cluster, jobs = case

    def look(view, _):
        used = np.zeros(len(cluster.sizes))
        for running in view.running.values():
            for node, gpus in running.place:
                used[node] += gpus
        assert np.array_equal(used + view.idle(), cluster.sizes)
        assert not set(view.queue) & set(view.running)
        assert view.ends == sorted(
            (running.end_s, running.job) for running in view.running.values()
        )
        assert view.head == (view.queue[0] if view.queue else None)
        fitting = [job for job in view.queue if view.room(view.needs[job])]
        assert view.fitting() == fitting
        assert scheduler in HOLD or not fitting

    check_places(cluster, jobs, watched(cluster, jobs, scheduler, look, placement))


@every_scheduler
@QUICK
@given(case=settings_of(), at_s=st.integers(0, 40))
def test_starts_do_not_depend_on_unended_durations_or_future_jobs(
    scheduler, case, at_s
):
    cluster, jobs = case
    result = simulate(jobs, cluster, cg.cluster.make_scheduler(scheduler))
    known = np.flatnonzero(jobs.arrival_s <= at_s)
    if not len(known):
        return
    before = jobs.chosen(known, "known")
    longer_s = before.duration_s + 7.5 * (result.jobs["finish_s"][known] > at_s + 1e-9)
    columns = {
        name: getattr(before, name)
        for name in (
            "arrival_s",
            "gpus",
            "estimate_s",
            "iterations",
            "kind",
            "family",
            "user",
        )
    }
    again = simulate(
        cg.cluster.Jobs(**columns, duration_s=longer_s),
        cluster,
        cg.cluster.make_scheduler(scheduler),
    )
    assert np.array_equal(
        *(
            np.where(start_s <= at_s, start_s, np.inf)
            for start_s in (result.jobs["start_s"][known], again.jobs["start_s"])
        )
    )


# ---- FIFO ----


@MANY
@given(case=settings_of(), placement=placements)
def test_fifo_never_lets_a_job_overtake(case, placement):
    cluster, jobs = case
    run = simulate(jobs, cluster, cg.cluster.make_scheduler("fifo"), placement)
    assert (np.diff(run.jobs["start_s"]) >= 0).all()


# ---- EASY ----


def without_backfill(view, started):
    """The view as if nothing had been started past the head of the queue."""
    past = {job for job in started if job > view.head}
    return SimpleNamespace(
        ends=[(end_s, job) for end_s, job in view.ends if job not in past],
        free=reduce(lambda free, job: view.without(job, free), past, view.free),
        **{
            name: getattr(view, name) for name in ("nodes", "needs", "now_s", "without")
        },
    )


@MANY
@given(case=settings_of(), placement=placements)
def test_easy_does_not_delay_the_first_job(case, placement):
    """Backfilled jobs leave the head its shadow time whatever the estimates; if
    none is too short, the head starts by its first shadow time.
    """
    promised = {}

    def look(view, started):
        if view.head is not None:
            start_s, _ = shadow(without_backfill(view, started), view.head)
            assert shadow(view, view.head)[0] == start_s
            promised.setdefault(view.head, start_s)

    cluster, jobs = case
    run = watched(cluster, jobs, "easy", look, placement)
    if (jobs.estimate_s >= jobs.duration_s).all():
        assert all(run.jobs["start_s"][job] <= at_s for job, at_s in promised.items())


# ---- conservative ----


def least_free(cluster, taken, start_s, end_s):
    """The fewest GPUs that are free on each node at any time from a start to an end."""
    frees = []
    for at_s in {start_s} | {
        kept.start_s for kept in taken if start_s < kept.start_s < end_s
    }:
        free = list(cluster.sizes)
        for kept in taken:
            for node, gpus in kept.place if kept.start_s <= at_s < kept.end_s else ():
                free[node] -= gpus
        frees.append(free)
    return [min(free) for free in zip(*frees)]


@MANY
@given(case=settings_of(estimates=(0.5, 1.0, 1.5, 3.0)), placement=placements)
def test_reservations_never_overlap_and_are_kept(case, placement):
    """If no estimate is too short, a job starts by the first start reserved for it, and
    at that start if all estimates are exact.
    """
    cluster, jobs = case
    scheduler, promised_s = Conservative(), {}

    def look(view, started):
        promised_s.update({job: view.now_s for job in started if job not in promised_s})
        running = view.running.values()
        kept = [Reservation(one.start_s, one.end_s, one.place) for one in running]
        kept += scheduler.reserved.values()
        for at_s in {one.start_s for one in kept}:
            assert min(least_free(cluster, kept, at_s, at_s)) >= 0
        assert list(scheduler.reserved) == view.queue
        for job, reservation in scheduler.reserved.items():
            assert reservation.start_s > view.now_s
            promised_s.setdefault(job, reservation.start_s)

    start_s = watched(cluster, jobs, scheduler, look, placement).jobs["start_s"]
    if (jobs.estimate_s >= jobs.duration_s).all():
        assert all(start_s[job] <= at_s for job, at_s in promised_s.items())
    if (jobs.estimate_s == jobs.duration_s).all():
        assert all(start_s[job] == at_s for job, at_s in promised_s.items())


@MANY
@given(
    case=settings_of(),
    gpus=st.integers(1, 16),
    time_s=st.integers(1, 20),
    before_s=st.sampled_from([5.0, 20.0, np.inf]),
)
def test_the_earliest_start_in_a_profile_is_the_first_by_trying_all(
    case, gpus, time_s, before_s
):
    cluster, jobs = case
    gpus = min(gpus, cluster.gpus)
    nodes = Nodes(cluster.sizes)
    profile, taken = Profile(0.0, nodes), []
    for job in range(jobs.jobs):
        taken.append(profile.earliest(int(jobs.gpus[job]), float(jobs.duration_s[job])))
        profile.take(taken[-1])
    result = profile.earliest(gpus, time_s, before_s)
    for start_s in sorted({0.0} | {kept.end_s for kept in taken}):
        place = nodes.room(
            nodes.packed(least_free(cluster, taken, start_s, start_s + time_s)), gpus
        )
        if place is not None:
            assert result == (
                Reservation(start_s, start_s + time_s, place)
                if start_s < before_s
                else None
            )
            return
