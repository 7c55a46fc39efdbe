"""CPU time of the compiled loop over SimPy's, and how it grows with the number of jobs;
M/M/c compared with a bare heap, bare SimPy, and Ciw and salabim if installed.

Prints tables; asserts nothing. Draws, set-up, sums of the records and the summary are
included. Each time is the fastest of several turns, taken one after the other, which a
busy machine disturbs least.

    python tests/benchmarks/bulk.py [--repeats 7]
"""

from __future__ import annotations

import importlib.util
import random
import resource
from functools import partial
from heapq import heappop, heappush
from statistics import fmean

import simpy
from skeleton import cpu_s, parser_of

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.queueing import mmc
from cgrsp_simpy.studies.subject import subject_of

POLICIES = (
    "fifo spt edf lcf balanced spt-rescue adaptive rh cadr cadr-oo random triage"
).split()


def least_s(scenario, policy, engine, seeds, repeats):
    made = subject_of(scenario).make_policy(policy)

    def runs():
        for seed in seeds:
            subject_of(scenario).run(made, seed, records=False, engine=engine).summary()

    return min(cpu_s(runs) for _ in range(repeats)) / len(seeds)


def days(repeats):
    for day in ("hectic", "surge"):
        scenario, ratios = cg.day(day), []
        for policy in POLICIES:
            simpy_s = least_s(scenario, policy, "simpy", range(1), repeats)
            own_s = least_s(scenario, policy, "compiled", range(10), repeats)
            ratios.append(simpy_s / own_s)
            print(
                f"{day:7} {policy:11} {1e3 * simpy_s:7.2f} ms {1e3 * own_s:6.3f} ms"
                f" {ratios[-1]:5.0f} x"
            )
        print(
            f"{day:7} mean {sum(ratios) / len(ratios):.0f} x, least"
            f" {min(ratios):.0f} x",
            flush=True,
        )


def growth(repeats):
    cases = [
        ("jobs", jobs, {"jobs": jobs, "slots": 12})
        for jobs in (1000, 10_000, 100_000, 1_000_000)
    ]
    cases += [
        ("slots", slots, {"jobs": 20_000, "slots": slots, "rate_per_s": slots / 120})
        for slots in (5, 50, 500, 2000)
    ]
    cases += [
        ("queue", jobs, {"jobs": jobs, "rate_per_s": 10.0})
        for jobs in (1000, 10_000, 50_000)
    ]
    for what, size, parts in cases:
        for policy in ("spt", "cadr"):
            scenario = cg.day("surge", **parts)
            seconds = least_s(scenario, policy, "compiled", range(1), min(2, repeats))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            each = 1e6 * seconds / parts["jobs"]
            print(
                f"{what} {size:9,} {policy:5} {each:6.2f} us a job, peak {peak:.0f} MB",
                flush=True,
            )


# ---- M/M/c: c servers of rate 1, first come, first served; mean waits ----


def rented(engine):
    def run(servers, rate, jobs):
        one = cg.GpuType("one", 1.0, (1.0, 1.0, 1.0), 1.0)
        scenario = cg.Scenario(
            "M/M/c",
            cg.PoissonWorkload(jobs, rate),
            (one,) * servers,
            (one,),
            market=cg.Market(delay_s=((0, 0),) * 3),
            service=cg.Service("exponential"),
        )
        return (
            60
            * subject_of(scenario)
            .run("fifo", records=False, engine=engine)
            .summary()["wait_min"]
        )

    return run


def bare_heap(servers, rate, jobs):
    draw, at_s, free_s, waits = random.Random(0).expovariate, 0.0, [0.0] * servers, 0.0
    for _ in range(jobs):
        at_s += draw(rate)
        start_s = max(at_s, heappop(free_s))
        waits += start_s - at_s
        heappush(free_s, start_s + draw(1.0))
    return waits / jobs


def bare_simpy(servers, rate, jobs):
    draw, env, waits = random.Random(0).expovariate, simpy.Environment(), []
    resource_ = simpy.Resource(env, servers)

    def job_process():
        begin_s = env.now
        with resource_.request() as request:
            yield request
            waits.append(env.now - begin_s)
            yield env.timeout(draw(1.0))

    def source():
        for _ in range(jobs):
            yield env.timeout(draw(rate))
            env.process(job_process())

    env.process(source())
    env.run()
    return fmean(waits)


def in_ciw(servers, rate, jobs):
    import ciw

    ciw.seed(0)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[servers],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(jobs)
    return fmean(each.waiting_time for each in simulation.get_all_records())


def in_salabim(servers, rate, jobs):
    import salabim

    draw, waits = random.Random(0).expovariate, []
    env = salabim.Environment(yieldless=False)
    resource_ = salabim.Resource(capacity=servers)

    class JobProcess(salabim.Component):
        def process(self):
            begin_s = env.now()
            yield self.request(resource_)
            waits.append(env.now() - begin_s)
            yield self.hold(draw(1.0))

    class Source(salabim.Component):
        def process(self):
            for _ in range(jobs):
                yield self.hold(draw(rate))
                JobProcess()

    Source()
    env.run()
    return fmean(waits)


def beside(repeats):
    ways = {
        "compiled": (rented("compiled"), 1_000_000),
        "bare heap": (bare_heap, 200_000),
        "bare SimPy": (bare_simpy, 20_000),
        "SimPy here": (rented("simpy"), 20_000),
    }
    for name, way in (("ciw", in_ciw), ("salabim", in_salabim)):
        if importlib.util.find_spec(name):
            ways[name] = way, 5000
    for servers in (1, 5, 108):
        wait_s = float(mmc(0.8 * servers, 1.0, servers).wait_s)
        for name, (way, jobs) in ways.items():
            call = partial(way, servers, 0.8 * servers, jobs)
            least_s = min(cpu_s(call) for _ in range(repeats))
            print(
                f"M/M/{servers:<4} {name:11} {jobs / least_s:11,.0f} jobs a second,"
                f" mean wait {call():.4f}, by the formula {wait_s:.4f}",
                flush=True,
            )


if __name__ == "__main__":
    given = parser_of(__doc__).parse_args()
    days(given.repeats)
    growth(given.repeats)
    beside(min(3, given.repeats))
