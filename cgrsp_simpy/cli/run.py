"""Run one policy once: its figures, its records, its events one by one, or its Gantt chart."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from tqdm import tqdm

from cgrsp_simpy.cli.options import Answer, add_scenario, scenario_of
from cgrsp_simpy.cli.watch import add_watching, check_watching, draw, watch
from cgrsp_simpy.model.checks import check_whole
from cgrsp_simpy.model.table import csv_text, json_text
from cgrsp_simpy.rental.job import Draws, Job
from cgrsp_simpy.rental.policies import make_policy
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.simulation import Simulation
from cgrsp_simpy.studies.replicate import label


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_scenario(parser)
    parser.add_argument("--policy", default="fifo", metavar="P", help="as in cgrsp compare (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--format", choices=("table", "csv", "json"), default="table", help="figures as table or json, or records as csv"
    )
    add_watching(parser)


def carry_out(given: argparse.Namespace) -> Answer:
    """The run in the format asked for."""
    scenario = scenario_of(given)
    policy = make_policy(given.policy)
    check_whole("--seed", given.seed, least=0)
    check_watching(given)
    run = watch(given, lambda listener: Simulation(scenario, policy, given.seed, _jobs(scenario, given), True, listener))
    draw(given, run)
    if given.format == "csv":
        return Answer(csv_text(run.rows()).rstrip("\n"))
    figures = run.summary()
    if given.format == "json":
        named = {"scenario": scenario.name, "policy": label(given.policy), "seed": given.seed}
        return Answer(json_text({**named, "summary": figures}))
    title = f"{scenario.name}, {label(given.policy)}, seed {given.seed}"
    wide = max(16, *map(len, figures))
    return Answer("\n".join([title, *(f"{name:{wide}} {value:10.2f}" for name, value in figures.items())]))


def _jobs(scenario: Scenario, given: argparse.Namespace) -> Iterable[tuple[Job, Draws]]:
    """The jobs, with a bar where nothing is listed."""
    return tqdm(
        scenario.workload.generate(given.seed, scenario.service),
        total=scenario.workload.jobs,
        unit="job",
        delay=1,
        disable=True if given.events or given.step else None,  # None: off when stderr is not a terminal
        leave=False,
    )
