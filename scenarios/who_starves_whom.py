"""Which jobs wait without end on a cluster?

If small jobs are favoured, wide ones; under reservations, small jobs wait for hours.

At this load only fifo-skip, easy and conservative are stable. Under the others the
queue grows; inf: measured jobs still wait when 8,000 more have arrived.
"""

import cgrsp_simpy as cg
from cgrsp_simpy.cluster.report import GPU_CLASSES, measured

SCHEDULERS = (
    "fifo",
    "fifo-skip",
    "sjf",
    "shortest",
    "hps",
    "hps:monotone=true",
    "las",
    "easy",
    "conservative",
)
SEEDS = range(5)
SCENARIO = cg.cluster.Scenario(cg.cluster.Offered(jobs=1000, load=0.9))
GPUS = GPU_CLASSES

if __name__ == "__main__":
    print("1000 jobs of the mix at offered load 0.9 on 8 x 8 GPUs, mean of 5 seeds,")
    print("while others go on arriving; *: not stable at this load")
    print("share of jobs that wait more than 30 min, %, by GPUs; mean wait, h\n")
    print(
        f"{'':20}",
        *(f"{name:>7}" for name in GPUS),
        f"{'all':>7}{'9+ GPUs':>11}{'others':>9}",
    )
    for name in SCHEDULERS:
        starved, waits = dict.fromkeys(GPUS, 0.0), {True: 0.0, False: 0.0}
        stable = True
        for seed in SEEDS:
            run = cg.simulate(SCENARIO, name, seed)
            stable &= run.plan.settled
            for row in cg.cluster.by_class(run):
                if row["by"] == "GPUs":
                    starved[row["value"]] += row["starved_pct"] / len(SEEDS)
            jobs = measured(run)
            wait_s = jobs["start_s"] - jobs["submit_s"]
            for wide in waits:
                chosen = (jobs["gpus"] > 8) == wide
                waits[wide] += wait_s[chosen].mean() / 3600 / len(SEEDS)
            all_pct = 100 * (wait_s > 1800).mean() / len(SEEDS)
            starved["all"] = starved.get("all", 0.0) + all_pct
        print(
            f"{name + ' *' * (not stable):20}",
            *(f"{share:7.1f}" for share in starved.values()),
            f"{waits[True]:10.1f}{waits[False]:9.2f}",
        )
