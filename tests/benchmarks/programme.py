"""Cost of `cgrsp papers tables thesis`, compared with bare SimPy for the same day-runs.

Prints; asserts nothing.

    python tests/benchmarks/programme.py

CPU time of the command with all its processes, with one worker and with one per core;
wall time of both; and the CPU time that bare SimPy needs for the published programme
(every table's runs, shared ones counted as often as they are published), measured
before and after on three seeds of each kind of day.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time

from skeleton import skeleton

import cgrsp_simpy as cg
from cgrsp_simpy.decide.month import THESIS_MIX
from cgrsp_simpy.papers.thesis.experiments import MONTH, TABLES

SEEDS = 3
MONTHS = 30  # days of each


def published():
    """Scenario -> day-runs of the published programme."""
    runs = {}
    for table in TABLES.values():
        if table.id in ("5.3", "5.4", "5.11", "5.12"):  # no runs of their own
            continue
        for scenario, _ in {
            source[:2] for cell in table.cells for source in cell.measure.sources
        }:
            days = (
                {cg.day(kind): share * MONTHS for kind, share in THESIS_MIX.items()}
                if scenario == MONTH
                else {scenario: 1}
            )
            for each, number in days.items():
                runs[each] = runs.get(each, 0) + number * table.n
    return runs


def bare_cpu_s(scenario):
    """CPU seconds of a day on bare SimPy: the fastest of three passes over the
    seeds.
    """
    inputs = []
    for seed in range(SEEDS):
        jobs = cg.simulate(scenario, "fifo", seed).jobs
        inputs.append(
            list(
                zip(
                    jobs["submit_s"].tolist(),
                    jobs["delay_s"].tolist(),
                    jobs["service_s"].tolist(),
                )
            )
        )
    passes = []
    for _ in range(3):
        begin = time.process_time()
        for jobs in inputs:
            skeleton(len(scenario.slots), jobs)
        passes.append(time.process_time() - begin)
    return min(passes) / SEEDS


def command(workers):
    """CPU and wall seconds of the command."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    arguments = [
        sys.executable,
        "-m",
        "cgrsp_simpy",
        "papers",
        "tables",
        "thesis",
        "--workers",
        str(workers),
    ]
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        time.perf_counter() - begin,
    )


if __name__ == "__main__":
    programme = published()
    jobs = sum(
        scenario.workload.jobs * number for scenario, number in programme.items()
    )
    print(
        f"published programme: {sum(programme.values()):.0f} day-runs, {jobs / 1e6:.2f}"
        " million jobs"
    )
    bare = [
        sum(bare_cpu_s(scenario) * number for scenario, number in programme.items())
    ]
    cores = os.cpu_count() or 1
    one_cpu, one_wall = command(1)
    all_cpu, all_wall = command(cores)
    bare.append(
        sum(bare_cpu_s(scenario) * number for scenario, number in programme.items())
    )
    print(f"bare SimPy: {bare[0]:.1f} s CPU before, {bare[1]:.1f} s after")
    for name, cpu, wall in (
        ("1 worker", one_cpu, one_wall),
        (f"{cores} workers", all_cpu, all_wall),
    ):
        print(
            f"{name}: {cpu:.1f} s CPU, {wall:.1f} s, {2 * cpu / sum(bare):.2f} x bare"
            " SimPy"
        )
    print(f"parallel efficiency on {cores} cores: {one_wall / (cores * all_wall):.2f}")
