"""EASY or HPS on a Philly log?

HPS more than halves the mean wait, but uses fewer GPUs, and one job waits for five
weeks.

Of 1,181 jobs, 5 to 35 are censored: they had not started when the last one arrived, and
their waits would differ if the log continued.

The log is one virtual cluster of Microsoft's Philly traces in Gavel's format; its
durations are steps divided by rates that we assume. Used is the share of all GPUs from
the first submission to the last; fragmented is the share of the free GPUs while jobs
wait. Run it as: python scenarios/easy_or_hps.py PATH
"""

import sys

import cgrsp_simpy as cg

if __name__ == "__main__":
    cluster = cg.cluster.Cluster((8,) * 20)
    jobs = cg.cluster.read_jobs(sys.argv[1], "philly", cluster)
    print(
        f"{jobs.jobs} jobs, offered load {jobs.load(cluster):.2f} of"
        f" {cluster.gpus} GPUs on {len(cluster.sizes)} nodes\n"
    )
    print(
        f"{'':20}{'mean wait, h':>14}{'95 %, h':>10}{'longest, h':>12}"
        f"{'starved, %':>12}{'used, %':>10}{'fragmented, %':>15}{'censored':>10}"
    )
    for name in ("fifo", "easy", "conservative", "hps", "hps:monotone=true"):
        found = cg.simulate(cg.cluster.Scenario(jobs, cluster), name).summary()
        hours = [found[key] / 3600 for key in ("wait_s", "wait_p95_s", "wait_max_s")]
        shares = [
            found[key]
            for key in ("starved_pct", "utilisation_pct", "fragmentation_pct")
        ]
        print(
            f"{name:20}{hours[0]:14.1f}{hours[1]:10.1f}{hours[2]:12.1f}"
            f"{shares[0]:12.1f}{shares[1]:10.1f}{shares[2]:15.1f}"
            f"{found['censored']:10.0f}"
        )
