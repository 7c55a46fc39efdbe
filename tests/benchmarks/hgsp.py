"""Cost of HGSP's schedulers and simulations, compared with plain Python or bare SimPy.

Asserts nothing.

    python tests/benchmarks/hgsp.py [--repeats 5] [--moves 500000]

CPU time, the fastest of several runs that alternate with the reference:
- greedy assignment of 2,000 tasks to 9 GPUs, and a bare loop that records only when
  each GPU is free;
- moves of the search, its start included, and as many evaluations of the whole schedule
  in a bare loop; with the extra `fast`, or without (NUMBA_DISABLE_JIT=1);
- SAGreedy, 1000 iterations, on the same 2,000 tasks;
- a schedule carried out by the engine, and bare SimPy with as many slots.
"""

from __future__ import annotations

import numpy as np
from skeleton import beside, cpu_s, parser_of, skeleton

from cgrsp_simpy.hgsp.generate import generate
from cgrsp_simpy.hgsp.instance import Gpu, Instance
from cgrsp_simpy.hgsp.policies import Follow
from cgrsp_simpy.hgsp.report import schedule_of
from cgrsp_simpy.hgsp.scenario import Scenario
from cgrsp_simpy.hgsp.schedule import greedy_assignment
from cgrsp_simpy.hgsp.search import search
from cgrsp_simpy.papers.hgsp.sagreedy import sagreedy


def tell(what, number, unit, seconds, ratio="", reference=""):
    beside_it = f"{ratio:8.2f} x {reference}" if reference else ""
    print(
        f"{what:44} {number / seconds:12,.0f} {unit:14} {1000 * seconds:10,.1f} ms"
        f" {beside_it}",
        flush=True,
    )


def bare_greedy(arrivals, times, gpus):
    free_s = [0.0] * gpus
    for arrival, row in zip(arrivals, times):
        best = min(range(gpus), key=lambda j: max(free_s[j], arrival) + row[j])
        free_s[best] = max(free_s[best], arrival) + row[best]


def bare_evaluation(sequences, tasks):
    total = 0.0
    for j, sequence in enumerate(sequences):
        now = 0.0
        for task in sequence:
            arrival, deadline, weight, times = tasks[task]
            now = max(now, arrival) + times[j]
            total += weight * max(0.0, now - deadline)
    return total


def greedy(repeats):
    instance = generate("tasks4")
    arrivals, times = instance.arrival_s.tolist(), instance.times_s.tolist()
    seconds, ratio = beside(
        lambda: greedy_assignment(instance, range(instance.tasks)),
        lambda: bare_greedy(arrivals, times, 9),
        repeats,
    )
    tell(
        "greedy, 2,000 tasks on 9 GPUs",
        1,
        "evaluations/s",
        seconds,
        ratio,
        "a bare loop",
    )
    seconds = min(cpu_s(lambda: sagreedy(instance)) for _ in range(repeats))
    tell("sagreedy, K = 1000, 2,000 tasks on 9 GPUs", 1000, "iterations/s", seconds)


def single_machine(tasks=40):
    """In the manner of the OR-Library's: times to 100, weights to 10, due dates around
    0.6 of all work.
    """
    rng = np.random.default_rng(0)
    times = rng.integers(1, 101, tasks).astype(float)
    weights = rng.integers(1, 11, tasks).astype(float)
    due, none = rng.uniform(0.3, 0.9, tasks) * times.sum(), np.zeros(tasks)
    return Instance(
        times, none, due, weights, none, (Gpu("machine", 0.0, 1.0),), "single machine"
    )


def searching(moves, repeats):
    for what, instance in (
        ("tasks3, 1,500 tasks on 3 GPUs", generate("tasks3")),
        ("40 tasks on one machine", single_machine()),
    ):
        columns = (
            instance.arrival_s,
            instance.deadline_s,
            instance.weight,
            instance.times_s,
        )
        tasks = list(zip(*(column.tolist() for column in columns)))
        sequences = greedy_assignment(instance, range(instance.tasks)).sequences()
        seconds, ratio = beside(
            lambda instance=instance: search(instance, moves=moves),
            lambda sequences=sequences, tasks=tasks: [
                bare_evaluation(sequences, tasks) for _ in range(moves // 1000)
            ],
            repeats,
        )
        tell(
            f"search, {what}",
            moves,
            "moves/s",
            seconds,
            ratio,
            "1/1000 evaluation of the whole",
        )


def executed(schedule):
    return schedule_of(Scenario(schedule.instance).run(Follow(schedule)))


def engine(repeats):
    for level, load in (
        ("tasks1", "medium"),
        ("tasks2", "medium"),
        ("tasks4", "extreme"),
    ):
        instance = generate(level)
        schedule = greedy_assignment(instance, range(instance.tasks))
        slots = len(instance.gpus)
        run_s = (schedule.finish_s - schedule.start_s).tolist()
        jobs = [
            (arrival_s, 0.0, run)
            for arrival_s, run in zip(instance.arrival_s.tolist(), run_s)
        ]
        seconds, ratio = beside(
            lambda schedule=schedule: executed(schedule),
            lambda slots=slots, jobs=jobs: skeleton(slots, jobs),
            repeats,
        )
        tell(
            f"carried out by the engine, {level}, {load}",
            instance.tasks,
            "tasks/s",
            seconds,
            ratio,
            "bare SimPy",
        )


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--moves", type=int, default=500_000)
    given = parser.parse_args()
    greedy(given.repeats)
    searching(given.moves, given.repeats)
    engine(given.repeats)
