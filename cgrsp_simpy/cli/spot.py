"""One long job under a deadline, on spot instances or on demand: run a policy, compare several,
figures.
"""

from __future__ import annotations

import argparse
from typing import Any

from cgrsp_simpy.cli import pattern
from cgrsp_simpy.cli.options import Answer
from cgrsp_simpy.cli.pattern import Module, add_actions, grid_of
from cgrsp_simpy.model.checks import require
from cgrsp_simpy.spot.market import TwoState, read_traces
from cgrsp_simpy.spot.scenario import Scenario


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add_actions(
        actions,
        MODULE,
        {
            "run": "one policy: figures; event by event, or drawn",
            "compare": "policies from the same starts: means, intervals, paired tests",
            "sweep": (
                "policies at every point of a grid: deadline, overhead, hours, zones, prices,"
                " or policy:parameter"
            ),
        },
    )


def carry_out(given: argparse.Namespace) -> Answer:
    """What the action answers, in the format asked for."""
    return pattern.carry_out(given, MODULE)


def _add_scenario(parser: argparse.ArgumentParser) -> None:
    usual, market = Scenario(), TwoState()
    group = parser.add_argument_group("the job, and the market: files of zones, or made up")
    group.add_argument(
        "--trace",
        nargs="+",
        metavar="FILE",
        help="series of zones, one a file: JSON of spot traces, or CSV of time and status",
    )
    for name, help_line in (
        ("hours", "computing that the job needs, h"),
        ("deadline", "by when it must be done, h"),
        ("overhead", "time of each start without progress, h"),
    ):
        group.add_argument(
            f"--{name}",
            type=float,
            default=getattr(usual, name),
            metavar="H",
            help=f"{help_line} (default: %(default)g)",
        )
    group.add_argument(
        "--prices",
        default=f"{usual.spot_usd_per_h},{usual.on_demand_usd_per_h}",
        metavar="SPOT,ON_DEMAND",
        help="USD an hour (default: %(default)s)",
    )
    group.add_argument(
        "--zones", type=int, metavar="N", help="the first N (default: all files; 1 made up)"
    )
    group.add_argument(
        "--needed", type=int, metavar="N", help="of a trace: instances at once (default: 1)"
    )
    group.add_argument(
        "--history",
        type=float,
        metavar="F",
        help="of a trace: share that is known before every start (default: 0.5)",
    )
    for name, help_line in (("up", "up"), ("down", "down")):
        group.add_argument(
            f"--{name}",
            type=float,
            metavar="H",
            help=f"of a made-up market: mean time {help_line}, h"
            f" (default: {getattr(market, f'{name}_h'):g})",
        )


def _scenario(given: argparse.Namespace) -> Scenario:
    own: dict[str, Any] = {
        name: getattr(given, name) for name in ("hours", "deadline", "overhead", "zones")
    }
    if given.action == "sweep":  # a point of the grid, so that what is checked is what is run
        own |= {name: value[0] for name, value in grid_of(given.grid).items() if name in own}
    spot, on_demand = _prices(given.prices)
    return Scenario(_source(given), **own, spot_usd_per_h=spot, on_demand_usd_per_h=on_demand)


def _source(given: argparse.Namespace) -> Any:
    """The market that the options name."""
    files = given.trace is not None
    for name in ("up", "down") if files else ("needed", "history"):
        value = getattr(given, name)
        goes_with = "left out beside --trace" if files else "given with --trace"
        require(value is None, f"--{name}", value, goes_with)
    names = (
        {"needed": "needed", "history": "history"} if files else {"up": "up_h", "down": "down_h"}
    )
    own = {
        key: getattr(given, name) for name, key in names.items() if getattr(given, name) is not None
    }
    return read_traces(given.trace, **own) if files else TwoState(**own)


def _prices(text: str) -> tuple[float, float]:
    """Two numbers from "0.97,3.06"."""
    try:
        spot, on_demand = map(float, text.split(","))
    except ValueError:
        require(False, "--prices", text, "two numbers, as in 0.97,3.06")
        raise
    return spot, on_demand


MODULE = Module(Scenario, _add_scenario, _scenario, seeds=30, figures="cgrsp_simpy.spot.figures")
