"""Cost of a simulated day over bare SimPy on the same arrivals in the same run.

Prints a table; asserts nothing.

    python tests/benchmarks/speed.py [--days hectic,surge] [--repeats 7]
        [--beside COMMIT] [--memory]

CPU time of whole runs: set-up, draws, records and summary included. In each repeat the
skeleton and all policies take a turn, and a ratio is that of the fastest runs, which a
busy machine disturbs least. The stable figure is the number of calls per job, as
counted by cProfile. --beside measures the package of another commit, too, in turns with
this one. --memory runs 2 million jobs without records and prints the peak.
"""

from __future__ import annotations

import cProfile
import functools
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from skeleton import cpu_s, parser_of, skeleton

import cgrsp_simpy as cg

SEEDS = range(3)
THESIS = "fifo spt edf lcf balanced random spt-rescue adaptive rh cadr cadr-oo".split()
POLICIES = [*THESIS, *(name for name in ("watch", "triage") if name in cg.POLICIES)]
ROOT = Path(__file__).parents[2]


def one_day(name):
    """Least of two turns: CPU seconds of a day by policy and of bare SimPy; calls a
    job.
    """
    scenario = cg.day(name)
    columns = ("submit_s", "delay_s", "service_s")
    runs = [cg.simulate(scenario, "fifo", seed).jobs for seed in SEEDS]
    inputs = [
        list(zip(*(jobs[column].tolist() for column in columns))) for jobs in runs
    ]

    def bare():
        for jobs in inputs:
            skeleton(len(scenario.slots), jobs)

    def engine(policy, seeds=SEEDS):
        for seed in seeds:
            cg.simulate(scenario, policy, seed).summary()

    turns = {
        "bare": bare,
        **{each: functools.partial(engine, each) for each in POLICIES},
    }
    rounds = [[cpu_s(call) for call in turns.values()] for _ in range(2)]
    seconds = dict(zip(turns, (min(column) / len(SEEDS) for column in zip(*rounds))))
    calls = {}
    for policy in POLICIES:
        with cProfile.Profile() as profile:
            engine(policy, [0])
        calls[policy] = pstats.Stats(profile).total_calls / len(runs[0])
    return seconds, calls


def measured(folder, day):
    """As of `one_day`, with the package of a folder, in a process of its own."""
    own = [sys.executable, __file__, "--child", day]
    env = os.environ | {"PYTHONPATH": f"{folder}"}
    return json.loads(
        subprocess.run(own, env=env, check=True, capture_output=True).stdout
    )


def table(day, folders, repeats):
    """Print ratios to bare SimPy and calls per job, by the names of folders."""
    found = {name: [] for name in folders}
    for _ in range(repeats):
        for name, folder in folders.items():
            found[name].append(measured(folder, day))
    for name, rounds in found.items():
        least_s = {
            each: min(times[each] for times, _ in rounds) for each in rounds[0][0]
        }
        calls = rounds[0][1]
        ratios = {policy: least_s[policy] / least_s["bare"] for policy in calls}
        for policy, ratio in ratios.items():
            print(
                f"{day:8} {name:8} {policy:11} {1000 * least_s[policy]:6.1f} ms a day"
                f" {ratio:6.2f} x bare SimPy {calls[policy]:6.0f} calls a job"
            )
        eleven = [ratios[policy] for policy in THESIS]
        print(
            f"{day:8} {name:8} the thesis's eleven: mean"
            f" {sum(eleven) / len(eleven):.2f} x, greatest {max(eleven):.2f} x",
            flush=True,
        )


def memory(jobs=2_000_000):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = cg.simulate(
        cg.day("hectic", slots=20, jobs=jobs, rate_per_s=0.1), "fifo", records=False
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{run.tally.completed} jobs without records: peak {peak / 1024:.0f} MB,"
        f" {(peak - before) / 1024:.0f} MB above the start"
    )


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--days", default="hectic,surge")
    parser.add_argument("--beside", metavar="COMMIT")
    parser.add_argument("--child", help="not for people: measure a day, and print JSON")
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    if given.child:
        print(json.dumps(one_day(given.child)))
    elif given.memory:
        memory()
    else:
        with tempfile.TemporaryDirectory() as folder:
            folders = {"now": ROOT}
            if given.beside:
                archive = ["git", "-C", ROOT, "archive", given.beside, "cgrsp_simpy"]
                packed = subprocess.run(archive, check=True, capture_output=True).stdout
                subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)
                folders[given.beside[:8]] = Path(folder)
            for day in given.days.split(","):
                table(day, folders, given.repeats)
