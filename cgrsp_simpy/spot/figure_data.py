"""The data behind the figures of jobs on spot instances, from a made-up market: for each the rows
that are plotted, and nothing else.
"""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

from cgrsp_simpy.model.checks import check_whole
from cgrsp_simpy.spot.market import HOUR_S, TwoState
from cgrsp_simpy.spot.policies import COMPARED
from cgrsp_simpy.spot.scenario import Scenario
from cgrsp_simpy.spot.study import deadline_study
from cgrsp_simpy.studies.replicate import simulate

Row = dict[str, Any]  # a row of a figure's CSV
# mean times up and down of the zone us-east-1f, V100, February 2023, in SkyPilot's spot traces
MARKET = TwoState(up_h=2.3, down_h=1.6)
DEADLINES_H = (50.0, 52.0, 56.0, 62.0, 70.0)  # deadlines of the figure of costs, hours
OVERHEADS_H = (0.05, 0.2)  # changeover delays of the figure of costs, hours
DRAWN = ("greedy", "uniform-progress", "expected-cost", "optimum")
"""Policies whose courses are drawn."""
COLUMNS = (
    "deadline_h",
    "overhead_h",
    "policy",
    "cost_pct",
    "cost_pct_half",
    "saving_pct",
    "saving_pct_half",
    "missed",
)
SEED = 1  # of the one run of each that is drawn


class Runs:
    """What the figures share.

    seeds: how many, from 0.
    """

    def __init__(self, seeds: int, executor: Executor | int | None = None) -> None:
        check_whole("seeds", seeds, least=2)
        self.seeds, self.executor = seeds, executor


def course(runs: Runs) -> list[Row]:  # noqa: ARG001, one seed is drawn
    """Where one job is, and when, under some policies; and when there are spot instances. Hours."""
    scenario = Scenario(MARKET, deadline=52.0, overhead=0.2)
    found = [simulate(scenario, name, SEED) for name in DRAWN]
    market = found[0].plan.market
    [zone] = market.zones
    ends = [stretch.from_s for stretch in (*zone.stretches[1:], market.end)]
    rows: list[Row] = [
        _row("market", 0, "spot to be had", max(stretch.from_s, 0.0), to_s, None)
        for stretch, to_s in zip(zone.stretches, ends)
        if stretch.up
    ]
    for name, run in zip(DRAWN, found):
        cost_pct = run.summary()["cost_pct"]
        rows += [
            _row(name, place, phase, from_s, to_s, cost_pct)
            for _, place, _, phase, from_s, to_s in run.claims.tolist()
        ]
    return rows


def _row(
    policy: str, place: int, phase: str, from_s: float, to_s: float, cost_pct: float | None
) -> Row:
    return {
        "policy": policy,
        "place": ("spot", "on demand")[place],
        "phase": phase,
        "from_h": from_s / HOUR_S,
        "to_h": to_s / HOUR_S,
        "cost_pct": cost_pct,
    }


def costs(runs: Runs) -> list[Row]:
    """The cost of each policy by deadline and overhead, percent of on demand only."""
    study = deadline_study(
        {"made up": MARKET},
        DEADLINES_H,
        OVERHEADS_H,
        [name for name in COMPARED if name != "on-demand"],
        range(runs.seeds),
        executor=runs.executor,
    )
    return [{name: row[name] for name in COLUMNS} for row in study.rows() if row["market"] == "all"]
