"""Cost of a simulated day, as ratios to bare SimPy and to the same day written by hand
(`floor`): in instructions if valgrind is installed, otherwise in CPU time.

Prints a table with limits; it asserts nothing.

    python tests/benchmarks/instructions.py [--days hectic,surge] [--jobs 400]
        [--policies fifo,spt] [--repeats 5]

Instructions do not depend on what else the machine does. All runs are counted in one
process under callgrind, which takes about five minutes. CPU time is the minimum
of several rounds in which the runs alternate.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from floor import FLOORS
from skeleton import cpu_s, parser_of, skeleton

import cgrsp_simpy as cg

# greatest ratio to bare SimPy, in instructions, and to the floor
BARE = {"fifo": 1.8, "rh": 2.4, "mean": 2.1}
FLOOR = {"fifo": 1.4, "spt": 1.6, "edf": 1.6, "cadr": 1.7, "rh": 1.7}
# the C function of sys.call_tracing, which nothing else calls: callgrind counts within
# it, and writes the count at its end
COUNTED = "_PyEval_CallTracing"


def calls(day, jobs, policies):
    """Return the runs to measure by name, each of one seed."""
    scenario = cg.day(day, jobs=jobs)
    table = cg.simulate(scenario, "fifo").jobs
    columns = [table[name].tolist() for name in ("submit_s", "delay_s", "service_s")]
    runs = {"bare": partial(skeleton, len(scenario.slots), list(zip(*columns)))}
    for policy in FLOOR:
        by_hand = FLOORS[policy]
        runs[f"floor {policy}"] = lambda by_hand=by_hand: by_hand(scenario, 0).run()
    for policy in policies:
        runs[policy] = lambda policy=policy: cg.simulate(scenario, policy).summary()
    return runs


def cpu_times(runs, repeats):
    """Return CPU seconds by name: the minimum of the rounds."""
    rounds = [[cpu_s(run) for run in runs.values()] for _ in range(repeats)]
    return dict(zip(runs, map(min, zip(*rounds))))


def count(days, jobs, policies):
    """Run each day once for callgrind, after a short day for the first use of code."""
    for day in days:
        for run in calls(day, 50, policies).values():
            run()
        for run in calls(day, jobs, policies).values():
            gc.collect()
            sys.call_tracing(run, ())


def instructions(arguments):
    """Return the counts of a child process with these arguments, in order."""
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder, "counts")
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}"]
        tool += [f"--toggle-collect={COUNTED}", f"--dump-after={COUNTED}"]
        env = os.environ | {"PYTHONHASHSEED": "0"}
        child = [__file__, "--child", *arguments]
        subprocess.run(
            [*tool, sys.executable, *child], check=True, capture_output=True, env=env
        )
        texts = [path.read_text() for path in Path(folder).glob("counts.*")]
    parts = [int(re.search(r"^part: (\d+)", text, re.M)[1]) for text in texts]
    totals = [int(re.search(r"^totals: (\d+)", text, re.M)[1]) for text in texts]
    return [total for _, total in sorted(zip(parts, totals))]


def table(day, costs, unit):
    """Print the ratios of a day with their limits."""
    policies = [name for name in costs if name != "bare" and "floor" not in name]
    ratios = {name: costs[name] / costs["bare"] for name in policies}
    ratios["mean"] = sum(ratios.values()) / len(ratios)
    for name, ratio in ratios.items():
        text = f"{day:8} {name:11} {ratio:5.2f} x bare SimPy in {unit}"
        if name in BARE and unit == "instructions":
            text += f" (limit {BARE[name]})"
        if name in FLOOR:
            over = costs[name] / costs[f"floor {name}"]
            text += f", {over:.2f} x the day by hand (limit {FLOOR[name]})"
        print(text, flush=True)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--days", default="hectic,surge")
    parser.add_argument("--jobs", type=int, default=400)
    names = "fifo spt edf lcf balanced random spt-rescue adaptive rh cadr cadr-oo"
    parser.add_argument("--policies", default=names.replace(" ", ","))
    parser.add_argument("--child", action="store_true", help="count, under callgrind")
    options = parser.parse_args()
    days, policies = options.days.split(","), options.policies.split(",")
    if options.child:
        count(days, options.jobs, policies)
        return
    runs = {day: calls(day, options.jobs, policies) for day in days}
    if shutil.which("valgrind"):
        counts = iter(instructions(sys.argv[1:]))
        for day in days:
            table(day, dict(zip(runs[day], counts)), "instructions")
        return
    print("valgrind is not installed: CPU time, which varies with the machine's load")
    for day in days:
        table(day, cpu_times(runs[day], options.repeats), "CPU time")


if __name__ == "__main__":
    main()
