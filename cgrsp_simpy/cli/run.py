"""Run one policy once: its figures, its records, its events one by one, or its Gantt chart."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

from cgrsp_simpy.cli.options import Answer, add_scenario, scenario_of
from cgrsp_simpy.engine.simulation import Simulation, run_once
from cgrsp_simpy.engine.stepping import steps
from cgrsp_simpy.experiments.replicate import label
from cgrsp_simpy.model.checks import check_whole, require
from cgrsp_simpy.model.decision import Policy
from cgrsp_simpy.model.files import write_whole
from cgrsp_simpy.model.record import Run
from cgrsp_simpy.model.scenario import Scenario
from cgrsp_simpy.model.table import csv_text, json_text
from cgrsp_simpy.policies import make_policy

# Suffix of a picture -> what is written into it in place of the date, so that the same run gives the same bytes.
PICTURES: dict[str, dict[str, Any]] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_scenario(parser)
    parser.add_argument("--policy", default="fifo", metavar="P", help="as in cgrsp compare (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
    listing = parser.add_mutually_exclusive_group()
    listing.add_argument("--events", action="store_true", help="list every event before the figures")
    listing.add_argument(
        "--step", action="store_true", help="the same with queue, slots and future event list, waiting for Enter after each"
    )
    parser.add_argument(
        "--format", choices=("table", "csv", "json"), default="table", help="figures as table or json, or records as csv"
    )
    parser.add_argument("--gantt", metavar="FILE", help=f"draw who ran where and when into FILE ({', '.join(PICTURES)})")


def carry_out(given: argparse.Namespace) -> Answer:
    """The run in the format asked for."""
    scenario = scenario_of(given)
    policy = make_policy(given.policy)
    check_whole("--seed", given.seed, least=0)
    if given.gantt is not None:
        require(_suffix(given.gantt) in PICTURES, "--gantt", given.gantt, f"a file that ends in {', '.join(PICTURES)}")
    run = _stepped(scenario, policy, given.seed) if given.step else _run(scenario, policy, given)
    if given.gantt is not None:
        _draw(run, given.gantt)
    if given.format == "csv":
        return Answer(csv_text(run.rows()).rstrip("\n"))
    figures = run.summary()
    if given.format == "json":
        named = {"scenario": scenario.name, "policy": label(given.policy), "seed": given.seed}
        return Answer(json_text({**named, "summary": figures}))
    title = f"{scenario.name}, {label(given.policy)}, seed {given.seed}"
    return Answer("\n".join([title, *(f"{name:16} {value:10.2f}" for name, value in figures.items())]))


def _run(scenario: Scenario, policy: Policy, given: argparse.Namespace) -> Run:
    jobs = tqdm(
        scenario.workload.generate(given.seed, scenario.service),
        total=scenario.workload.jobs,
        unit="job",
        delay=1,
        disable=True if given.events else None,  # None: off when stderr is not a terminal
        leave=False,
    )
    return run_once(scenario, policy, given.seed, jobs=jobs, listener=print if given.events else None)


def _stepped(scenario: Scenario, policy: Policy, seed: int) -> Run:
    """Print each step and wait for Enter; where there is no more input, go on without."""
    walk = steps(lambda listener: Simulation(scenario, policy, seed, None, True, listener))
    while True:
        try:
            print(next(walk), flush=True)
        except StopIteration as end:
            run: Run = end.value
            return run
        sys.stdin.readline()


def _suffix(path: str) -> str:
    return Path(path).suffix.lower()


def _draw(run: Run, path: str) -> None:
    from cgrsp_simpy.plots import gantt, styled  # matplotlib, only where it is needed

    picture = io.BytesIO()
    with styled("print"):
        figure: Any = gantt(run).figure
        figure.savefig(picture, format=_suffix(path)[1:], metadata=PICTURES[_suffix(path)])
    write_whole(Path(path), picture.getvalue())
