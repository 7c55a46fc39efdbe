"""Compare policies at every point of a grid of scenario and policy parameters, on the same seeds."""

from __future__ import annotations

import argparse
from typing import Any

from cgrsp_simpy.cli.options import Answer, add_policies, add_study, answer, policies_of, seeds_of, workers_of
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.studies.sweep import sweep


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "grid",
        nargs="+",
        metavar="NAME=V,V,...",
        help="a parameter of a day (name, slots, tight_fraction, jobs, rate_per_s, clock, free_types) or of a policy (rh:reserve)"
        " and its values; several parameters mean the cross product; the day is hectic unless name=... says otherwise",
    )
    add_policies(parser)
    add_study(parser)


def carry_out(given: argparse.Namespace) -> Answer:
    """The sweep in the format asked for."""
    seeds, workers, policies = seeds_of(given), workers_of(given), policies_of(given.policies)
    grid: dict[str, Any] = {"name": "hectic"}
    for text in given.grid:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise InputError(f"grid: {text!r} must be of the form name=value,value,...")
        if name in grid and (name != "name" or grid["name"] != "hectic"):
            raise InputError(f"grid: {name} is given twice")
        grid[name] = [_value(each) for each in values.split(",")]
    return answer(sweep(grid, policies, seeds, executor=workers, out=given.out), given)


def _value(text: str) -> Any:
    """A whole number, a number, true or false, or the text itself."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
