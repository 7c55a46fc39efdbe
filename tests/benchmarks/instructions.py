"""Cost of a simulated day over bare SimPy, and over the same day written by hand
(`floor`).

In instructions if valgrind is installed, else in CPU time. Prints a table with limits;
asserts nothing. Instructions do not depend on the load of the machine; each figure is a
process of its own and takes about a minute.

    python tests/benchmarks/instructions.py [--days hectic,surge] [--policies fifo,spt]
        [--repeats 5]

CPU time is the least of several turns, in which all take part one after the other.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import partial

from floor import Floor
from skeleton import cpu_s, parser_of, skeleton

import cgrsp_simpy as cg

# greatest ratio to bare SimPy, in instructions, and to the floor
BARE = {"fifo": 1.2, "rh": 1.8, "mean": 1.5}
FLOOR = {"fifo": 1.4, "spt": 1.5}


def calls(day, policies):
    """Return the runs to measure by name, each of one seed."""
    scenario = cg.day(day)
    jobs = cg.simulate(scenario, "fifo").jobs
    columns = [jobs[name].tolist() for name in ("submit_s", "delay_s", "service_s")]
    runs = {"bare": partial(skeleton, len(scenario.slots), list(zip(*columns)))}
    for policy in FLOOR:
        runs[f"floor {policy}"] = lambda policy=policy: Floor(scenario, policy, 0).run()
    for policy in policies:
        runs[policy] = lambda policy=policy: cg.simulate(scenario, policy).summary()
    return runs


def cpu_times(day, policies, repeats):
    """Return CPU seconds by name: the least of the turns."""
    runs = calls(day, policies)
    turns = [[cpu_s(run) for run in runs.values()] for _ in range(repeats)]
    return dict(zip(runs, map(min, zip(*turns))))


def instructions(day, policies):
    """Return instructions by name: those of two runs less those of one."""

    def counted(name, number):
        child = [sys.executable, __file__, "--child", name, "--days", day]
        child += ["--policies", ",".join(policies), "--repeats", str(number)]
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}"]
        env = os.environ | {"PYTHONHASHSEED": "0"}
        done = subprocess.run(
            [*tool, *child], env=env, check=True, capture_output=True, text=True
        )
        return int(re.search(r"Collected : (\d+)", done.stderr)[1])

    return {name: counted(name, 2) - counted(name, 1) for name in calls(day, policies)}


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


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--days", default="hectic,surge")
    names = "fifo spt edf lcf balanced random spt-rescue adaptive rh cadr cadr-oo"
    parser.add_argument("--policies", default=names.replace(" ", ","))
    parser.add_argument("--child", help="not for people: the run to count")
    options = parser.parse_args()
    policies = options.policies.split(",")
    if options.child:
        call = calls(options.days, policies)[options.child]
        for _ in range(options.repeats):
            call()
    else:
        for day in options.days.split(","):
            if shutil.which("valgrind"):
                table(day, instructions(day, policies), "instructions")
            else:
                table(day, cpu_times(day, policies, options.repeats), "CPU time")
