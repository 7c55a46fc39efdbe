"""Compare policies at every point of a grid of parameters, on the same seeds."""

from __future__ import annotations

import argparse
import math

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.cli import pattern
from cgrsp_simpy.cli.fields import given_of
from cgrsp_simpy.cli.options import Answer, answer, check_work, refuse, seeds_of
from cgrsp_simpy.cli.rental import OF_DAY, RENTAL, scenario_of
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.workload import DAYS
from cgrsp_simpy.studies.sweep import sweep


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    pattern.add_sweep(parser, RENTAL)
    parser.set_defaults(engines=True)


def carry_out(args: argparse.Namespace) -> Answer:
    """Return the sweep in the requested format: over a file, a log, or days of the
    thesis.

    The name of a day is a parameter, too.
    """
    grid = pattern.grid_beside_file(args)
    if "name" not in grid:
        return pattern.swept(RENTAL, args)
    pattern.check_free(args, grid)
    refuse(
        args,
        "left out if the grid has the name of a day",
        "scenario",
        "day",
        "trace",
    )
    now = scenario_of(args)  # terms and types of the options, for all days
    require(
        not now.market.series,
        "--market",
        args.market,
        "without files if days are swept",
    )
    policies, seeds = pattern.policies_given(args, now), seeds_of(args)
    most = args.jobs or max(jobs for _, jobs in DAYS.values())
    points = math.prod(map(len, grid.values()))
    numbers = [value for value in grid.get("jobs", []) if isinstance(value, int)]
    check_work(args, max([most, *numbers]) * len(policies) * len(seeds) * points)
    own = given_of(args, *OF_DAY) | ({"terms": now.terms} if args.terms else {})
    for part in args.market or ():
        own |= part
    found = sweep(
        day, {**own, **grid}, policies, seeds, executor=args.workers, out=args.out
    )
    return answer(found, args)
