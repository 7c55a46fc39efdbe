"""Compare policies on the same seeds: means with 95 % intervals, and paired tests against the first policy."""

from __future__ import annotations

import argparse

from cgrsp_simpy.cli.options import (
    Answer,
    add_policies,
    add_scenario,
    add_study,
    answer,
    policies_of,
    scenario_of,
    seeds_of,
    workers_of,
)
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.studies.compare import compare
from cgrsp_simpy.studies.gaps import with_gaps


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_scenario(parser)
    add_policies(parser)
    add_study(parser)
    parser.add_argument("--gap", action="store_true", help="how far each policy is above the lower bound; tens of seconds a seed")
    parser.add_argument(
        "--precision",
        metavar="R",
        help="add seeds until the 95 %% half width is at most R times the mean: 0.05 for the wait, or miss_pct=0.1,wait_min=0.05",
    )


def carry_out(given: argparse.Namespace) -> Answer:
    """The comparison in the format asked for."""
    seeds, workers, precision = seeds_of(given), workers_of(given), _precision(given.precision)
    policies = policies_of(given.policies)
    study = compare(scenario_of(given), policies, seeds, workers, out=given.out, precision=precision)
    return answer(with_gaps(study, workers) if given.gap else study, given)


def _precision(text: str | None) -> dict[str, float] | None:
    """Figure -> relative half width, from "0.05" or "a=0.1,b=0.05"."""
    if text is None:
        return None
    wanted = {}
    for part in text.split(","):
        figure, _, width = part.rpartition("=")
        figure = figure or "wait_min"
        if figure in wanted:
            raise InputError(f"--precision: {figure} is given twice")
        try:
            wanted[figure] = float(width)
        except ValueError:
            raise InputError(
                f"--precision(={text!r}) must be a number > 0, or figures and numbers, such as miss_pct=0.1"
            ) from None
    return wanted
