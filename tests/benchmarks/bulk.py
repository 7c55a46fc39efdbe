"""The compiled loop beside SimPy: the ratio of their CPU times, and how the loop's grows.

Prints a table; asserts nothing. Draws, set-up, records' sums and summary are included; the fastest
of several turns, taken one after the other, since a busy machine disturbs these least.

    python tests/benchmarks/bulk.py [--repeats 7]
"""

from __future__ import annotations

import resource

from skeleton import cpu_s, parser_of

import cgrsp_simpy as cg

POLICIES = "fifo spt edf lcf balanced spt-rescue adaptive rh cadr cadr-oo".split()


def least_s(scenario, policy, engine, seeds, repeats):
    made = scenario.make_policy(policy)

    def runs():
        for seed in seeds:
            scenario.run(made, seed, records=False, engine=engine).summary()

    return min(cpu_s(runs) for _ in range(repeats)) / len(seeds)


def days(repeats):
    for day in ("hectic", "surge"):
        scenario, ratios = cg.day(day), []
        for policy in POLICIES:
            simpy_s = least_s(scenario, policy, "simpy", range(1), repeats)
            own_s = least_s(scenario, policy, "compiled", range(10), repeats)
            ratios.append(simpy_s / own_s)
            print(
                f"{day:7} {policy:11} {1e3 * simpy_s:7.2f} ms {1e3 * own_s:6.3f} ms {ratios[-1]:5.0f} x"
            )
        print(
            f"{day:7} mean {sum(ratios) / len(ratios):.0f} x, least {min(ratios):.0f} x", flush=True
        )


def growth(repeats):
    cases = [
        ("jobs", jobs, {"jobs": jobs, "slots": 12}) for jobs in (1000, 10_000, 100_000, 1_000_000)
    ]
    cases += [
        ("slots", slots, {"jobs": 20_000, "slots": slots, "rate_per_s": slots / 120})
        for slots in (5, 50, 500, 2000)
    ]
    cases += [
        ("queue", jobs, {"jobs": jobs, "rate_per_s": 10.0}) for jobs in (1000, 10_000, 50_000)
    ]
    for what, size, parts in cases:
        for policy in ("spt", "cadr"):
            scenario = cg.day("surge", **parts)
            seconds = least_s(scenario, policy, "compiled", range(1), min(2, repeats))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            each = 1e6 * seconds / parts["jobs"]
            print(
                f"{what} {size:9,} {policy:5} {each:6.2f} us a job, peak {peak:.0f} MB", flush=True
            )


if __name__ == "__main__":
    given = parser_of(__doc__).parse_args()
    days(given.repeats)
    growth(given.repeats)
