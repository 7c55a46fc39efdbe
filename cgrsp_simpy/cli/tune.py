"""Tune parameters of a policy, and the slots, on wait, misses and cost together
(NSGA-II); the result is judged on seeds that the search did not use.
"""

from __future__ import annotations

import argparse

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.cli import pattern
from cgrsp_simpy.cli.fields import add_pairs, fields_of
from cgrsp_simpy.cli.options import (
    Answer,
    add_options,
    add_study,
    answer,
    check_work,
    seeds_of,
)
from cgrsp_simpy.cli.rental import add_scenario, scenario_of
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.studies.sweep import policies_at, scenarios_of
from cgrsp_simpy.studies.tune import tune

SIZES = fields_of(tune, "training", "population", "generations")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    told = (
        "a parameter of the scenario, or of the policy (name:parameter): its range, in"
        " whole numbers where both ends are (0.0:2.0 is not), or its value where that"
        " stays"
    )
    parser.add_argument("grid", nargs="+", metavar="NAME=LOW:HIGH", help=told)
    add_scenario(parser, own=False)
    add_options(
        parser, ("--policy P", str, "default: the one whose parameters are named")
    )
    add_pairs(parser, "search", SIZES, "how large it is")
    add_study(parser)
    parser.set_defaults(engines=True)


def carry_out(args: argparse.Namespace) -> Answer:
    """Return the front in the requested format."""
    grid = pattern.grid_beside_file(args)
    pattern.check_free(args, grid)
    named = [args.policy, *(name.partition(":")[0] for name in grid if ":" in name)]
    policy = next(filter(None, named), "")
    require(
        bool(policy), "--policy", args.policy, "given where no range is of a policy's"
    )
    ranges, stays = {}, {}
    for name, values in grid.items():
        require(
            len(values) == 1,
            f"values of {name}",
            values,
            "one, or its range as LOW:HIGH",
        )
        ends = [pattern.value_of(end) for end in str(values[0]).split(":")]
        if len(ends) > 1:
            ranges[name] = ends
        else:
            stays[name] = values[0]
    seeds = seeds_of(args)
    [scenario] = scenarios_of(scenario_of(args), [stays], [policy])
    [policy] = policies_at(stays, {policy: policy}, scenario).values()
    sizes = {name: item.default for name, item in SIZES.items()} | (args.search or {})
    training, population, generations = sizes.values()
    runs = (training * generations + len(seeds)) * population
    check_work(
        args, subject_of(scenario).work * runs, per_s=subject_of(scenario).pace_per_s
    )
    found = tune(scenario, ranges, policy, seeds, args.workers, out=args.out, **sizes)
    return answer(found, args)
