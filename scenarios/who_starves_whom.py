"""Who starves whom on a cluster? Whatever favours the small lets the wide wait for a day; reservations cost the small hours."""

from cgrsp_simpy.cluster.jobs import PAPER_CLUSTER
from cgrsp_simpy.cluster.metrics import GPU_CLASSES, by_class
from cgrsp_simpy.cluster.mix import Mix, generate
from cgrsp_simpy.cluster.schedulers import make_scheduler
from cgrsp_simpy.cluster.simulation import simulate

SCHEDULERS = ("fifo", "fifo-skip", "sjf", "shortest", "hps", "hps:monotone=true", "las", "easy", "conservative")
SEEDS = range(5)

if __name__ == "__main__":
    print("1000 jobs of the mix at offered load 0.9 on 8 x 8 GPUs, mean of 5 seeds")
    print("share of jobs that wait more than 30 min, %, by GPUs; mean wait, h\n")
    print(f"{'':20}", *(f"{name:>7}" for name in GPU_CLASSES), f"{'all':>7}{'9+ GPUs':>11}{'others':>9}")
    for name in SCHEDULERS:
        starved, waits = dict.fromkeys(GPU_CLASSES, 0.0), {True: 0.0, False: 0.0}
        for seed in SEEDS:
            jobs = generate(Mix(), 1000, 0.9, PAPER_CLUSTER, seed)
            outcome = simulate(jobs, PAPER_CLUSTER, make_scheduler(name))
            for row in by_class(outcome):
                if row["by"] == "GPUs":
                    starved[row["value"]] += row["starved_pct"] / len(SEEDS)
            for wide in waits:
                waits[wide] += outcome.wait_s[(jobs.gpus > 8) == wide].mean() / 3600 / len(SEEDS)
            starved["all"] = starved.get("all", 0.0) + 100 * (outcome.wait_s > 1800).mean() / len(SEEDS)
        print(f"{name:20}", *(f"{share:7.1f}" for share in starved.values()), f"{waits[True]:10.1f}{waits[False]:9.2f}")
