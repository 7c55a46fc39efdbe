"""Cost of the schedulers of clusters, compared with bare SimPy in the same run.

Prints; asserts nothing.

    python tests/benchmarks/cluster.py [--repeats 5] [--jobs 1000] [--load 1.0]
        [--overestimate 0] [--trace FILE]

CPU time, the fastest of several runs that alternate with the reference: jobs of the
paper's mix on 8 nodes of 8 GPUs. The bare model has the same events: one container per
node, one process per job that claims all its GPUs at once from a dispatcher, first
come, first served on the first nodes with idle GPUs. With --trace, a log (Philly's in
Gavel's format, or SWF) on 20 nodes of 8 GPUs. Then the same wide jobs on one node of
256 GPUs and on 256 nodes of one; their starts are the same except under conservative
backfilling, whose reservations are of nodes.
"""

from __future__ import annotations

import numpy as np
import simpy
from skeleton import beside, parser_of, run

from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER, Cluster
from cgrsp_simpy.cluster.jobs import Jobs, Mix, generate
from cgrsp_simpy.cluster.logs import read_jobs
from cgrsp_simpy.cluster.policies import SCHEDULERS, make_scheduler
from cgrsp_simpy.cluster.scenario import Scenario, simulate


def bare(sizes: tuple[int, ...], jobs: list[tuple[float, int, float]]) -> int:
    """Simulate jobs (arrival, GPUs, duration) on bare SimPy; the number completed."""
    env = simpy.Environment()
    nodes = [simpy.Container(env, size, size) for size in sizes]
    idle, waiting = list(sizes), []
    total = sum(sizes)
    done = 0
    bell = env.event()

    def ring():
        if total and waiting and not bell.triggered:
            bell.succeed()

    def placed(number):
        for node, room in enumerate(idle):
            if room >= number:
                return [(node, number)]
        place = []
        for node, room in enumerate(idle):
            if room:
                place.append((node, min(room, number)))
                number -= place[-1][1]
                if not number:
                    break
        return place

    def dispatcher():
        nonlocal bell, total
        while True:
            yield bell
            bell = env.event()
            while waiting and waiting[0][1] <= total:
                granted, number = waiting.pop(0)
                place = placed(number)
                for node, gpus in place:
                    idle[node] -= gpus
                total -= number
                granted.succeed(place)

    def job_process(number, duration_s):
        nonlocal done, total
        granted = env.event()
        waiting.append((granted, number))
        ring()
        place = yield granted
        for node, gpus in place:
            yield nodes[node].get(gpus)
        yield env.timeout(duration_s)
        for node, gpus in place:
            nodes[node].put(gpus)
            idle[node] += gpus
        total += number
        done += 1
        ring()

    run(env, dispatcher, jobs, job_process)
    return done


def tell(jobs, cluster, names, repeats):
    listed = list(
        zip(jobs.arrival_s.tolist(), jobs.gpus.tolist(), jobs.duration_s.tolist())
    )
    assert bare(cluster.sizes, listed) == jobs.jobs
    where = f"{cluster.gpus} GPUs on {len(cluster.sizes)} nodes"
    print(
        f"{jobs.name}: {jobs.jobs} jobs, offered load {jobs.load(cluster):.2f} of"
        f" {where}"
    )
    for name in names:
        if Scenario(jobs, cluster).shortage(make_scheduler(name)):
            continue
        outcome = simulate(jobs, cluster, make_scheduler(name))
        seconds, ratio = beside(
            lambda name=name: simulate(jobs, cluster, make_scheduler(name)),
            lambda: bare(cluster.sizes, listed),
            repeats,
        )
        rate = jobs.jobs / seconds
        wait_h = np.mean(outcome.jobs["start_s"] - jobs.arrival_s) / 3600
        print(
            f"{name:14} {1000 * seconds:8,.0f} ms {rate:8,.0f} jobs/s {ratio:8.2f} x"
            f" bare SimPy {wait_h:8.2f} h wait",
            flush=True,
        )


def wide(number=2000, load=0.9):
    """Jobs of 1 to 256 GPUs, half of them powers of two, for a minute to ten hours;
    estimates up to three times too long.
    """
    rng = np.random.default_rng(0)
    gpus = np.where(
        rng.random(number) < 0.5,
        2 ** rng.integers(0, 9, number),
        rng.integers(1, 129, number),
    )
    duration_s = np.exp(rng.uniform(np.log(60), np.log(36_000), number))
    none = np.zeros(number)
    arrival_s = np.sort(
        rng.uniform(0, (gpus * duration_s).sum() / (256 * load), number)
    )
    return Jobs(
        arrival_s,
        gpus,
        duration_s,
        duration_s * rng.uniform(1, 3, number),
        None,
        none,
        None,
        None,
        "wide jobs",
    )


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--load", type=float, default=1.0)
    parser.add_argument(
        "--overestimate",
        type=float,
        default=0.0,
        help="users say up to 1 + this times the duration",
    )
    parser.add_argument("--trace", help="a log, .trace or .swf")
    given = parser.parse_args()
    mix = Mix(overestimate=given.overestimate)
    tell(
        generate(mix, given.jobs, given.load, PAPER_CLUSTER),
        PAPER_CLUSTER,
        SCHEDULERS,
        given.repeats,
    )
    if given.trace:
        cluster = Cluster((8,) * 20)
        tell(
            read_jobs(given.trace, cluster=cluster), cluster, SCHEDULERS, given.repeats
        )
    for cluster in (Cluster((256,)), Cluster((1,) * 256)):
        tell(wide(), cluster, ("fifo", "easy", "conservative"), 2)
