"""Where triage loses: half of the jobs are tight and stock is scarce for twelve hours,
so that not all tight jobs can be saved.

Triage serves tight jobs first while stock is scarce: no more of them are late, but
the loose ones pay, and CADR misses fewer in all. On the thesis's days, with a fifth of
the jobs tight and six scarce hours, triage misses fewer.
"""

import cgrsp_simpy as cg

RTX_4090 = cg.GpuType("RTX 4090", 0.69, (42.0, 49.0, 71.0), high_stock_probability=0.45)
RTX_A5000 = cg.GpuType(
    "RTX A5000", 0.27, (60.9, 69.7, 99.6), high_stock_probability=0.65
)
# from which hour on, the multiplier of the stock
HOURS = ((0, 1.0), (3, 0.5), (9, 0.4), (12, 0.6), (15, 1.0))
LOAD = cg.PoissonWorkload(950, 0.033, deadlines=cg.DeadlineClasses(tight_fraction=0.5))


def long_scarcity():
    """950 jobs, half of them tight, on six slots of two types in turn."""
    gpus = (RTX_4090, RTX_A5000)
    return cg.Scenario(
        "long scarcity",
        LOAD,
        cg.round_robin(6, gpus),
        gpus,
        market=cg.Market(cg.Clock(HOURS)),
    )


if __name__ == "__main__":
    print(cg.compare(long_scarcity(), ["cadr", "triage", "edf"], range(5000, 5020)))
