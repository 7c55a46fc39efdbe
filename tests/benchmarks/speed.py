"""CPU time of each module, next to that of bare SimPy with as many jobs.

Prints tables; asserts nothing.

    python tests/benchmarks/speed.py [PART ...] [--repeats 5] [--jobs 2000]

PART: rental, growth, compiled, waiting, cluster, hgsp, dag, llm, textbook (default:
all these), queue, memory (2 million jobs). Times are of whole runs with draws, records
and summary: the least of the repeats, in which a run and its reference take turns, as a
busy machine disturbs these least.
"""

import resource
import sys
import tracemalloc
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import simpy
from skeleton import beside, cpu_s, parser_of, skeleton

sys.path.insert(0, str(Path(__file__).parents[1]))

from textbook.models import NAMES, bare, model

import cgrsp_simpy as cg
from cgrsp_simpy.dag.policies import CONSTRUCTIVE
from cgrsp_simpy.dag.problem import makespans
from cgrsp_simpy.dag.scenario import simulate
from cgrsp_simpy.dag.search import random_units
from cgrsp_simpy.hgsp.generate import generate
from cgrsp_simpy.hgsp.search import search
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.waiting.policies import waiting_policy
from cgrsp_simpy.waiting.recursion import follow

MOST_GROWTH = 1.5  # of the time per job in a queue ten times as long
MOST_KB = 0.4  # per job with records


def rows_of(run, *columns):
    """Return tuples of the columns of a run's jobs."""
    return list(zip(*(run.jobs[column].tolist() for column in columns)))


def in_simpy(scenario):
    """Return a call of bare SimPy with the arrivals and times of a rental scenario."""
    run = cg.simulate(scenario, "fifo", 0)
    jobs = rows_of(run, "submit_s", "delay_s", "service_s")
    return partial(skeleton, len(scenario.slots), jobs)


def figures(scenario, policy, **how):
    return subject_of(scenario).run(policy, 0, **how).summary()


def rental(jobs):
    """Policies on two days of the thesis."""
    for day in ("hectic", "surge"):
        scenario = cg.day(day)
        reference = in_simpy(scenario)
        for policy in cg.POLICIES:
            call = partial(figures, scenario, policy)
            yield f"{day}, {policy}", scenario.jobs, call, reference


def growth(jobs):
    """More slots at equal load, and more jobs that all wait."""
    usual = cg.day("normal")
    sizes = [
        {"slots": slots, "rate_per_s": usual.workload.rate_per_s * slots / 4}
        for slots in (5, 50, 500, 2000)
    ]
    sizes += [{"rate_per_s": 1e5, "jobs": number} for number in (1000, 10_000)]
    for size in sizes:
        scenario = cg.day("normal", **{"jobs": jobs, **size})
        reference = in_simpy(scenario)
        for policy in ("fifo", "edf", "cadr", "triage"):
            call = partial(figures, scenario, policy)
            yield f"{size}, {policy}", scenario.jobs, call, reference


def compiled(jobs):
    """The compiled loop, next to the package's simulation in SimPy."""
    for day in ("hectic", "surge"):
        for policy in ("fifo", "spt", "rh", "cadr", "triage"):
            call, reference = (
                partial(figures, cg.day(day), policy, records=False, engine=engine)
                for engine in ("compiled", "simpy")
            )
            yield f"{day}, {policy}", cg.day(day).jobs, call, reference


def waiting(jobs):
    """Simulation and recursion of the waiting policies at the paper's baseline."""
    case = cg.waiting.Scenario(cg.waiting.ExponentialJobs(20 * jobs), machines=108)
    run = cg.simulate(case, "njw")
    reference = partial(
        skeleton, 108, [(at_s, 0.0, s) for at_s, s in rows_of(run, "submit_s", "run_s")]
    )
    for name in cg.waiting.POLICIES:
        own = replace(case, policy=waiting_policy(name))
        yield name, 20 * jobs, partial(cg.simulate, own, name), reference
        yield f"{name}, recursion", 20 * jobs, partial(follow, own), reference


def cluster(jobs):
    """Schedulers on the paper's cluster; the reference has one slot per GPU."""
    scenario = cg.cluster.Scenario(cg.cluster.Offered(jobs=jobs // 4, load=0.9))
    run = cg.simulate(scenario, "fifo")
    work = [(at_s, 0.0, s) for at_s, s in rows_of(run, "submit_s", "duration_s")]
    for name in ("fifo", "hps", "easy", "conservative", "las"):
        call = partial(cg.simulate, scenario, name)
        yield name, len(work), call, partial(skeleton, 64, work)


def hgsp(jobs):
    """Schedules that the engine carries out, and moves of the search."""
    for level in ("tasks1", "tasks2", "tasks4"):
        instance = generate(level)
        scenario = cg.hgsp.Scenario(instance)
        run = cg.simulate(scenario, "greedy")
        work = [
            (submit_s, 0.0, finish_s - start_s)
            for submit_s, start_s, finish_s in rows_of(
                run, "submit_s", "start_s", "finish_s"
            )
        ]
        reference = partial(skeleton, len(instance.gpus), work)
        yield level, instance.tasks, partial(cg.simulate, scenario, "greedy"), reference
        moves = partial(search, instance, moves=50 * jobs)
        yield f"{level}, moves of the search", 50 * jobs, moves, reference


def dag(jobs):
    """Plans of a graph, a thousand at once, and the simulation of one."""
    problem = cg.dag.Scenario("er:n=1000,degree=3", cg.dag.Servers(50)).problem(0)
    plans = random_units(problem, 1000, np.random.default_rng(0))
    reference = partial(simulate, problem, CONSTRUCTIVE["round-robin"](problem))
    yield "plans at once", 1000, partial(makespans, problem, plans), reference
    for name, plan in CONSTRUCTIVE.items():
        yield name, 1, partial(plan, problem), reference


def llm(jobs):
    """A service of LLM requests; the reference has a timeout per step."""
    for policy, rate_per_s in (("fifo", 2.5), ("wsrpt", 9.0)):
        offered = cg.llm.Offered(jobs, rate_per_s, weight="short")
        scenario = cg.llm.Scenario(offered)
        steps = sum(batch.steps for batch in subject_of(scenario).run(policy).plan)
        yield (
            policy,
            jobs,
            partial(cg.simulate, scenario, policy),
            partial(ticks, steps),
        )


def ticks(number):
    def process():
        for _ in range(number):
            yield env.timeout(1.0)

    env = simpy.Environment()
    env.process(process())
    env.run()


def textbook(jobs):
    """The models of scenarios/textbook, with and without records."""
    for name in NAMES:
        for records in (False, True):
            call = partial(cg.simulate, model(name), name, 1, records=records)
            yield f"{name}, records={records}", 1, call, partial(bare(name), 1)


def queue():
    """Print how the time per job grows from 2,000 to 20,000 jobs that all wait."""
    for policy in cg.POLICIES:
        per_job_s = []
        for jobs in (2000, 20_000):
            scenario = cg.day("normal", rate_per_s=1e5, jobs=jobs)
            run = partial(figures, scenario, policy, records=False, engine="simpy")
            per_job_s.append(min(cpu_s(run) for _ in range(2)) / jobs)
        growth = per_job_s[1] / per_job_s[0]
        print(f"{policy:12} {growth:.2f} x the time per job (limit {MOST_GROWTH})")


def memory():
    """Print the memory that records take per job, and the greatest memory of 2 million
    jobs without records.
    """
    scenario = cg.day("hectic", slots=8, jobs=20_000)
    tracemalloc.start()
    run = subject_of(scenario).run("fifo", 0, engine="simpy")
    kept_kb = tracemalloc.get_traced_memory()[0] / 1000 / scenario.jobs
    tracemalloc.stop()
    print(f"{run.title}: {kept_kb:.2f} kB per job (limit {MOST_KB})")
    scenario = cg.day("hectic", slots=20, jobs=2_000_000, rate_per_s=0.1)
    seconds = cpu_s(partial(figures, scenario, "fifo", records=False))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"2 million jobs: {seconds:.0f} s, peak {peak:.0f} MB")


PARTS = rental, growth, compiled, waiting, cluster, hgsp, dag, llm, textbook
BY_NAME = {part.__name__: part for part in PARTS}


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("parts", nargs="*", default=[*BY_NAME], metavar="PART")
    parser.add_argument("--jobs", type=int, default=2000)
    options = parser.parse_args()
    for check in (queue, memory):
        if check.__name__ in options.parts:
            check()
    for part in [BY_NAME[name] for name in options.parts if name in BY_NAME]:
        print(f"\n{part.__doc__}")
        for label, number, call, reference in part(options.jobs):
            seconds, ratio = beside(call, reference, options.repeats)
            print(
                f"{label:44} {1000 * seconds:10.1f} ms {number / seconds:12,.0f} /s"
                f" {ratio:8.2f} x the reference",
                flush=True,
            )
