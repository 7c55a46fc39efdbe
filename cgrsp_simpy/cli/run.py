"""Run one policy once: its figures, its records, or its events."""

from __future__ import annotations

import argparse
import json

from tqdm import tqdm

from cgrsp_simpy.cli.options import Answer, add_scenario, scenario_of
from cgrsp_simpy.engine.simulation import run_once
from cgrsp_simpy.experiments.replicate import label
from cgrsp_simpy.model.checks import check_whole
from cgrsp_simpy.model.table import csv_text, plain
from cgrsp_simpy.policies import make_policy


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_scenario(parser)
    parser.add_argument("--policy", default="fifo", metavar="P", help="as in cgrsp compare (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
    parser.add_argument("--events", action="store_true", help="list every event before the figures")
    parser.add_argument(
        "--format", choices=("table", "csv", "json"), default="table", help="figures as table or json, or records as csv"
    )


def carry_out(given: argparse.Namespace) -> Answer:
    """The run in the format asked for."""
    scenario = scenario_of(given)
    policy = make_policy(given.policy)
    check_whole("--seed", given.seed, least=0)
    jobs = tqdm(
        scenario.workload.generate(given.seed, scenario.service),
        total=scenario.workload.jobs,
        unit="job",
        delay=1,
        disable=True if given.events else None,  # None: off when stderr is not a terminal
        leave=False,
    )
    run = run_once(scenario, policy, given.seed, jobs=jobs, listener=print if given.events else None)
    if given.format == "csv":
        return Answer(csv_text(run.rows()).rstrip("\n"))
    figures = run.summary()
    if given.format == "json":
        named = {"scenario": scenario.name, "policy": label(given.policy), "seed": given.seed}
        return Answer(json.dumps({**named, "summary": plain(figures)}, indent=2))
    title = f"{scenario.name}, {label(given.policy)}, seed {given.seed}"
    return Answer("\n".join([title, *(f"{name:16} {value:10.2f}" for name, value in figures.items())]))
