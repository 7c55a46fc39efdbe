"""Backfilling worked out by hand: EASY, conservative, and profiles of what is free."""

from math import inf
from time import process_time

import numpy as np
import pytest
from cluster.cases import TWO_NODES, grant, jobs_of, simulate, starts, view_of

from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.cluster.backfilling import Conservative, Profile, Reservation, shadow
from cgrsp_simpy.cluster.cluster import Cluster, Nodes, first_fit
from cgrsp_simpy.cluster.jobs import Mix, generate

# ---- backfilling ----


def test_easy_fills_gaps_without_delaying_the_head():
    """8 GPUs; 6 run to 10 s and the head needs 8.

    What ends by 10 s may use the other 2, what is longer may not.
    """
    jobs = jobs_of((0, 6, 10), (1, 8, 10), (2, 2, 9), (2, 2, 8), (3, 1, 1))
    assert starts("easy", jobs) == [0, 10, 20, 2, 20]
    assert starts("fifo", jobs) == [0, 10, 20, 20, 20]
    assert starts("fifo-skip", jobs) == [0, 18, 2, 10, 10]


def test_easy_lets_long_jobs_start_on_nodes_that_the_head_does_not_need():
    """The head takes the node that is free at 10 s; on the other there are 4 GPUs to
    spare for as long as one likes.
    """
    jobs = jobs_of((0, 8, 10), (0, 4, 50), (1, 8, 10), (2, 4, 99), (2, 1, 99))
    assert starts("easy", jobs, TWO_NODES) == [0, 0, 10, 2, 20]


def test_easy_looks_at_nodes_and_not_at_the_sum_of_gpus():
    """At 10 s there are 10 GPUs free, but if the 2-GPU job takes 2 of the first node's,
    no node has 8.
    """
    jobs = jobs_of((0, 6, 10), (0, 4, 50), (0, 4, 50), (1, 8, 10), (2, 2, 20))
    assert starts("easy", jobs, TWO_NODES) == [0, 0, 0, 10, 20]


def test_easy_counts_what_it_has_backfilled_already():
    """At 10 s the head needs 6 of 8 GPUs: either of the long jobs leaves them, not
    both.
    """
    assert starts("easy", jobs_of((0, 4, 10), (1, 6, 10), (2, 2, 50), (2, 2, 50))) == [
        0,
        10,
        2,
        20,
    ]


def test_easy_tries_a_job_like_one_refused_once_its_place_has_changed():
    """The head waits for the first node.

    A long job would go there, and is refused; after a short one has, the next may go.
    """
    jobs = jobs_of(
        (0, 6, 10), (0, 5, 100), (1, 8, 10), (2, 2, 50), (2, 2, 5), (2, 2, 50)
    )
    assert starts("easy", jobs, TWO_NODES) == [0, 0, 10, 20, 2, 2]


def test_shadow_is_the_first_end_that_makes_room_with_all_that_ends_at_that_time():
    view = view_of(jobs_of((0, 4, 10), (0, 2, 30), (0, 2, 30), (0, 8, 10), (0, 6, 5)))
    for job in range(3):
        grant(view, job, ((0, view.gpus[job]),))
    assert view.idle() == [0]
    for job in (3, 4):
        start_s, free = shadow(view, job)
        assert (start_s, view.nodes.counts(free)) == (30.0, [8])


def test_shadow_of_a_job_that_has_exceeded_its_estimate_is_now():
    view = view_of(jobs_of((0, 8, 10), (0, 8, 10)))
    grant(view, 0, ((0, 8),))
    view.on_decision(15.0)
    assert shadow(view, 1) == (15.0, view.nodes.all)


def test_conservative_reserves_for_every_job_in_the_queue():
    """Under EASY a long job on 4 GPUs starts next to the head and delays the third job;
    conservative backfilling does not allow that.
    """
    jobs = jobs_of((0, 4, 10), (0, 6, 10), (0, 6, 10), (1, 2, 25), (1, 2, 9))
    assert starts("easy", jobs) == [0, 10, 20, 1, 1]
    assert starts("conservative", jobs) == [0, 10, 20, 1, 1]
    jobs = jobs_of((0, 4, 10), (0, 6, 10), (0, 8, 10), (1, 2, 25), (1, 2, 9))
    assert starts("easy", jobs) == [0, 10, 26, 1, 1]
    assert starts("conservative", jobs) == [0, 10, 20, 30, 1]


def test_a_reserved_job_starts_on_its_node_whatever_else_is_free():
    """2 GPUs are left on the head's node and 3 on the other.

    EASY places the long job by best fit, and makes it wait.
    """
    jobs = jobs_of((0, 6, 10), (0, 5, 100), (1, 8, 10), (2, 2, 50))
    assert starts("conservative", jobs, TWO_NODES) == [0, 0, 10, 2]
    assert starts("easy", jobs, TWO_NODES) == [0, 0, 10, 10]


def test_reservations_move_up_when_a_job_ends_early_and_none_moves_back():
    """The first ends at 4 s instead of 10: the head moves there from 10, the next from
    20.
    """
    jobs = jobs_of((0, 8, 4), (1, 8, 10), (2, 8, 10), estimate_s=[10, 10, 10])
    assert starts("conservative", jobs) == [0, 4, 14]


def test_a_job_that_overruns_is_expected_to_run_as_long_again():
    """6 GPUs, 5 s by its estimate.

    At 6 s it is expected at 12 s, when the second would start: only what ends by then
    may go.

    At 12 s it is expected at 24 s, and there is time for 7 s.
    """
    jobs = jobs_of(
        (0, 6, 30), (1, 8, 10), (6, 2, 7), (6, 2, 6), estimate_s=[5, 10, 7, 6]
    )
    assert starts("conservative", jobs) == [0, 30, 12, 6]


def test_overdue_starts_do_not_use_each_others_gpus():
    """The first overruns to 20 s; two jobs have reservations at 5 s and 6 s, on the
    same GPUs.
    """
    jobs = jobs_of((0, 8, 20), (1, 8, 1), (1, 8, 1), estimate_s=[5, 1, 1])
    assert starts("conservative", jobs) == [0, 20, 21]


class Plain:
    """Conservative backfilling by its definition, which looks at all reservations each
    time.
    """

    asks_on_arrival = True

    def __init__(self):
        self.reserved, self.kept = {}, {}

    def __call__(self, view):
        now_s, early = view.now_s, False
        for job in self.kept.keys() - view.running.keys():
            early |= self.kept.pop(job).end_s > now_s
        overrun = [job for job, kept in self.kept.items() if kept.end_s <= now_s]
        for job in overrun:
            self.kept[job] = self.kept[job]._replace(
                end_s=2 * now_s - self.kept[job].start_s
            )
        if overrun or any(kept.start_s < now_s for kept in self.reserved.values()):
            self.reserved.clear()
        elif early:
            for job, kept in sorted(
                self.reserved.items(), key=lambda item: (item[1][0], item[0])
            ):
                del self.reserved[job]
                self.reserved[job] = self.earliest(view, job, kept.start_s) or kept
        for job in view.queue:
            if job not in self.reserved:
                self.reserved[job] = self.earliest(view, job)
        for job in sorted(
            job for job, kept in self.reserved.items() if kept.start_s <= now_s
        ):
            self.kept[job] = self.reserved.pop(job)
            yield job, self.kept[job].place

    def earliest(self, view, job, before_s=inf):
        nodes, held = view.nodes, [*self.kept.values(), *self.reserved.values()]
        times = sorted(
            {view.now_s, *(t for kept in held for t in kept[:2] if t > view.now_s)}
        )
        free = dict.fromkeys(times, nodes.all)
        for kept in held:
            for time_s in times:
                if kept.start_s <= time_s < kept.end_s:
                    free[time_s] = nodes.take(free[time_s], kept.place)
        for start_s in times:
            end_s, left = start_s + view.estimate_s[job], nodes.all
            for time_s in times:
                left &= free[time_s] if start_s <= time_s < end_s else left
            place = nodes.room(left, view.gpus[job])
            if place is not None and start_s < before_s:
                return Reservation(start_s, end_s, place)
        return None


@pytest.mark.quick_cases(9)
@pytest.mark.parametrize("estimates", [(1.0,), (1.0, 2.0, 3.0), (0.5, 1.0, 2.0)])
@pytest.mark.parametrize("sizes", [(4, 4, 4), (3, 5, 8), (1,) * 12])
@pytest.mark.parametrize("seed", range(3))
def test_conservative_starts_all_jobs_when_and_where_its_definition_does(
    sizes, estimates, seed
):
    """Exact, too long and too short estimates, in whole seconds, so that much happens
    at once.
    """
    draw, jobs = stream(seed, "cases"), 60
    gpus = draw.choice([1, 2, 3, 4, 8, 10], jobs)
    duration_s = np.ceil(draw.exponential(20, jobs))
    arrival_s = np.cumsum(draw.poisson(gpus.mean() * 20 / (1.1 * sum(sizes)), jobs))
    rows = zip(arrival_s, gpus, duration_s)
    many = jobs_of(*rows, estimate_s=duration_s * draw.choice(estimates, jobs))
    found, plain = (
        simulate(many, Cluster(sizes), each) for each in (Conservative(), Plain())
    )
    assert found.jobs["start_s"].tolist() == plain.jobs["start_s"].tolist()
    assert (
        found.parts() == plain.parts() and found.jobs["start_s"].max() > arrival_s.max()
    )


def test_a_job_moves_into_what_others_have_left_in_the_same_compression():
    """Nodes 2 and 3 are free from 2 s, and reserved from 30 s.

    That is too short for job 4, of 29 s, which keeps its start on node 0. Jobs 6 and 7
    leave node 3, so that job 8, of 45 s, starts there when job 7 has ended.
    """
    running = [(0, 1, 20), (0, 1, 30), (0, 1, 2), (0, 1, 2)]
    waiting = [(1, 1, 29), (1, 2, 100), (1, 1, 5), (1, 1, 8), (1, 1, 45)]
    limits_s = [20, 30, 30, 30, 29, 100, 5, 8, 45]
    jobs = jobs_of(*running, *waiting, estimate_s=limits_s)
    start_s = starts("conservative", jobs, Cluster((1,) * 4))
    assert start_s == [0, 0, 0, 0, 20, 30, 2, 2, 10]
    plain = simulate(jobs, Cluster((1,) * 4), Plain())
    assert start_s == plain.jobs["start_s"].tolist()


@pytest.mark.long
def test_conservative_backfills_fifty_thousand_jobs_on_256_nodes_within_a_minute():
    began_s = process_time()
    cluster = Cluster((8,) * 256)
    simulate(generate(Mix(), 50_000, 0.9, cluster, 0), cluster, "conservative")
    assert process_time() - began_s < 60


# ---- the profile of free GPUs ----


def test_a_profile_finds_the_earliest_start_on_a_node():
    profile = Profile(0.0, Nodes((8, 8), first_fit))
    profile.take(Reservation(0.0, 10.0, ((0, 8),)))
    profile.take(Reservation(5.0, 20.0, ((1, 6),)))
    assert profile.starts_s == [0, 5, 10, 20]
    assert [profile.nodes.counts(free) for free in profile.free] == [
        [0, 8],
        [0, 2],
        [8, 2],
        [8, 8],
    ]
    assert profile.earliest(4, 5.0) == Reservation(0.0, 5.0, ((1, 4),))
    assert profile.earliest(4, 5.5) == Reservation(10.0, 15.5, ((0, 4),))
    assert profile.earliest(16, 1.0) == Reservation(20.0, 21.0, ((0, 8), (1, 8)))
    assert profile.earliest(10, 1.0) == Reservation(10.0, 11.0, ((0, 8), (1, 2)))
    assert profile.earliest(16, 1.0, before_s=20.0) is None
    assert profile.earliest(1, 1.0, before_s=0.0) is None


def test_a_job_starts_where_the_node_that_stays_free_becomes_so():
    """Node 0 is free up to 10 s, node 1 from 5 s on: 12 s fit on node 1, from 5 s."""
    profile = Profile(0.0, Nodes((1, 1), first_fit))
    profile.take(Reservation(10.0, 99.0, ((0, 1),)))
    profile.take(Reservation(0.0, 5.0, ((1, 1),)))
    assert profile.earliest(1, 10.0) == Reservation(0.0, 10.0, ((0, 1),))
    assert profile.earliest(1, 12.0) == Reservation(5.0, 17.0, ((1, 1),))


def test_a_profile_that_forgets_up_to_a_step_begins_with_it():
    profile = Profile(0.0, Nodes((8,), first_fit))
    profile.take(Reservation(0.0, 5.0, ((0, 6),)))
    profile.take(Reservation(5.0, 9.0, ((0, 3),)))
    profile.forget(5.0)
    assert profile.starts_s == [5, 9]
    assert [profile.nodes.counts(free) for free in profile.free] == [[5], [8]]


def test_a_profile_forgets_the_past_and_steps_without_change():
    profile = Profile(0.0, Nodes((8,), first_fit))
    kept = [
        Reservation(start_s, end_s, ((0, 3),))
        for start_s, end_s in ((0.0, 10.0), (5.0, 20.0), (10.0, 15.0))
    ]
    for each in kept:
        profile.take(each)
    profile.forget(7.0)
    profile.give(kept[2])
    profile.give(kept[0]._replace(start_s=7.0))
    assert profile.starts_s == [7, 20]
    assert [profile.nodes.counts(free) for free in profile.free] == [[5], [8]]
