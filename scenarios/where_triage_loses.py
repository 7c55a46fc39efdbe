"""Where triage loses: more work arrives than the cheap type can do, with free types.

Triage prices a second of a slot by the waiting jobs and, at most as many again, by
those that arrive before the queue is empty. While the queue is short it chooses the
type of least rent, and the queue grows. The scenario is one of the random ones that
were used to develop policies: 831 jobs on three slots, each provisioned as one of four
types, of which the fast one costs 17 times as much per hour as the cheapest. Adaptive
rents it more often. Costs are those of `cgrsp advise` without the slots: rent, misses,
lateness and waiting.
"""

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.statistics import mean, paired_difference
from cgrsp_simpy.decide.recommend import COST, Prices
from cgrsp_simpy.rental.job import DeadlineClasses

TYPES = (
    cg.GpuType("cheap", 0.28, (137.3, 157.9, 219.7), 0.7),
    cg.GpuType("fast", 4.79, (39.5, 45.5, 63.3), 0.62),
    cg.GpuType("slow", 0.59, (169.3, 194.6, 270.8), 0.65),
    cg.GpuType("slowest", 0.44, (217.0, 249.5, 347.2), 0.42),
)


def dear_and_fast():
    """Return the scenario."""
    deadlines = DeadlineClasses(0.63, 3225, 36330)
    return cg.Scenario(
        "dear and fast",
        cg.PoissonWorkload(831, 0.02948, deadlines=deadlines),
        cg.round_robin(3, TYPES),
        TYPES,
        free_types=True,
        market=cg.Market(cg.Clock(((0, 1.26),), 19)),
        terms=cg.Terms(retry_s=31),
    )


def cents(policy, seeds):
    """Return the cost per job by seed in US cents."""
    day = dear_and_fast()
    runs = [cg.simulate(day, policy, seed) for seed in seeds]
    return [100 * Prices().bill(run.tally, 0, 1.0)[COST] / day.jobs for run in runs]


if __name__ == "__main__":
    seeds = range(5000, 5020)
    triage = cents("triage", seeds)
    print(f"US cents per job, {len(seeds)} seeds, and triage minus the policy")
    print(f"triage    {mean(triage).mean:.2f}")
    for policy in ("adaptive", "c-mu"):
        other = cents(policy, seeds)
        more = paired_difference(triage, other)
        print(f"{policy:9} {mean(other).mean:.2f}  ", end="")
        print(f"{more.mean:+.2f} ± {more.half_width:.2f}")
