"""Conservative backfilling against its definition, and shadow times.

test_replay.py compares EASY with an independent simulator.
"""

from math import inf
from time import process_time

import numpy as np
import pytest
from cluster.cases import ONE_NODE, TWO_NODES, jobs_of, simulate, starts

from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.cluster.backfilling import Conservative, Reservation, shadow
from cgrsp_simpy.cluster.cluster import Cluster, Nodes
from cgrsp_simpy.cluster.jobs import Mix, generate
from cgrsp_simpy.cluster.policies import SCHEDULERS

# ---- backfilling ----


# the head waits for the first node
WAITS = ((0, 6, 10), (0, 5, 100), (1, 8, 10), (2, 2, 50))
LAST = ((1, 2, 25), (1, 2, 9))


@pytest.mark.parametrize(
    ("scheduler", "rows", "nodes", "start_s"),
    [
        # at 10 s the head needs 6 of 8 GPUs: either of the long jobs leaves them, not
        # both
        (
            "easy",
            ((0, 4, 10), (1, 6, 10), (2, 2, 50), (2, 2, 50)),
            ONE_NODE,
            [0, 10, 2, 20],
        ),
        # a long job would go to the head's node, and is refused; after a short one has,
        # the next may go
        (
            "easy",
            (*WAITS, (2, 2, 5), (2, 2, 50)),
            TWO_NODES,
            [0, 0, 10, 20, 2, 2],
        ),
        # two equal jobs do not fit; a narrow one behind them does
        (
            "easy",
            ((0, 4, 10), (1, 8, 10), (2, 6, 5), (2, 6, 5), (2, 2, 5)),
            ONE_NODE,
            [0, 10, 20, 25, 2],
        ),
        # under EASY a long job on 4 GPUs starts next to the head and delays the third
        # job; conservative backfilling reserves for every job
        *(
            (name, ((0, 4, 10), (0, 6, 10), (0, 6, 10), *LAST), ONE_NODE, start_s)
            for name, start_s in (
                ("easy", [0, 10, 20, 1, 1]),
                ("conservative", [0, 10, 20, 1, 1]),
            )
        ),
        *(
            (name, ((0, 4, 10), (0, 6, 10), (0, 8, 10), *LAST), ONE_NODE, start_s)
            for name, start_s in (
                ("easy", [0, 10, 26, 1, 1]),
                ("conservative", [0, 10, 20, 30, 1]),
            )
        ),
        # of three jobs that come at once, 20 s and 30 s long ones fit before the job of
        # 8 GPUs, one after the other, and the job of 150 s does not
        (
            "conservative",
            ((0, 4, 100), (1, 8, 100), (2, 4, 20), (2, 4, 150), (2, 4, 30)),
            ONE_NODE,
            [0, 100, 2, 200, 22],
        ),
        # 2 GPUs are left on the head's node and 3 on the other: EASY places the long
        # job by best fit, and makes it wait; a reserved job starts on its node
        ("conservative", WAITS, TWO_NODES, [0, 0, 10, 2]),
        ("easy", WAITS, TWO_NODES, [0, 0, 10, 10]),
    ],
)
def test_jobs_that_are_backfilled(scheduler, rows, nodes, start_s):
    assert starts(scheduler, jobs_of(*rows), nodes) == start_s


def test_shadow_of_a_job_that_has_exceeded_its_estimate_is_now():
    seen = []

    def look(view):
        seen.extend(shadow(view, job) for job in view.queue if view.running)
        return SCHEDULERS["fifo"](view)

    jobs = jobs_of((0, 6, 30), (15, 8, 10), estimate_s=[10, 10])
    simulate(jobs, ONE_NODE, look)
    assert seen == [(15.0, Nodes((8,)).all)]


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
def test_conservative_starts_all_jobs_as_defined(sizes, estimates, seed):
    """Exact, too long and too short estimates, in whole seconds, so that events
    coincide.
    """
    draw, jobs = stream(seed, "cases"), 60
    gpus = draw.choice([1, 2, 3, 4, 8, 10], jobs)
    duration_s = np.ceil(draw.exponential(20, jobs))
    arrival_s = np.cumsum(draw.poisson(gpus.mean() * 20 / (1.1 * sum(sizes)), jobs))
    rows = zip(arrival_s, gpus, duration_s)
    many = jobs_of(*rows, estimate_s=duration_s * draw.choice(estimates, jobs))
    result, plain = (
        simulate(many, Cluster(sizes), each) for each in (Conservative(), Plain())
    )
    assert result.jobs["start_s"].tolist() == plain.jobs["start_s"].tolist()
    assert (
        result.parts() == plain.parts()
        and result.jobs["start_s"].max() > arrival_s.max()
    )


@pytest.mark.long
def test_conservative_backfills_fifty_thousand_jobs_on_256_nodes_within_a_minute():
    began_s = process_time()
    cluster = Cluster((8,) * 256)
    simulate(generate(Mix(), 50_000, 0.9, cluster, 0), cluster, "conservative")
    assert process_time() - began_s < 60
