"""One long job under a deadline, on spot instances or on demand."""

from __future__ import annotations

import argparse
from typing import Any

from cgrsp_simpy.cli.fields import add_fields, add_pairs, fields_of, given_of
from cgrsp_simpy.cli.options import refuse
from cgrsp_simpy.cli.pattern import Module, add_actions, grid_of
from cgrsp_simpy.spot.market import Checkpoints, TwoState, read_traces
from cgrsp_simpy.spot.scenario import Scenario

FIELDS = tuple(name for name in fields_of(Scenario) if name != "source")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    add_actions(
        parser,
        MODULE,
        {
            "run": "one policy: figures; event by event, or drawn",
            "compare": "policies from the same starts: means, intervals, paired tests",
            "sweep": (
                "policies at every point of a grid: deadline, overhead, hours, zones,"
                " prices, or policy:parameter"
            ),
        },
    )


def _add_scenario(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "scenario: the job, and its market: files of zones, or made up"
    )
    told = (
        "series of zones: JSON of spot traces, CSV of time, status and price, or offers"
        " of providers as JSON lines"
    )
    group.add_argument("--trace", nargs="+", metavar="FILE", help=told)
    add_pairs(group, "log", fields_of(read_traces), "how they are read")
    add_pairs(group, "market", fields_of(TwoState), "the market that is made up")
    add_fields(group, Scenario, *FIELDS)


def _scenario(args: argparse.Namespace) -> Scenario:
    own = given_of(args, *FIELDS)
    # a point of the grid, so that the checked scenario is the simulated one
    if args.action == "sweep":
        own |= {
            name: value[0]
            for name, value in grid_of(args.grid).items()
            if name in FIELDS
        }
    own["checkpoints"] = Checkpoints(**own.get("checkpoints", {}))
    return Scenario(_source(args), **own)


def _source(args: argparse.Namespace) -> Any:
    """Return the market of the options."""
    if args.trace is None:
        refuse(args, "given with --trace", "log")
        return TwoState(**args.market or {})
    refuse(args, "left out with --trace", "market")
    return read_traces(args.trace, **args.log or {})


MODULE = Module(
    Scenario,
    _add_scenario,
    _scenario,
    seeds=30,
    figures="cgrsp_simpy.spot.paper.figures",
)
