"""Figures of jobs on spot instances, from runs on a generated market."""

from __future__ import annotations

from concurrent.futures import Executor

from matplotlib.patches import Patch

from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.parameters import TwoOrMore, checked
from cgrsp_simpy.base.table import many
from cgrsp_simpy.market.zones import HOUR_S, TwoState
from cgrsp_simpy.papers.spot.table import deadline_study
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import (
    Canvas,
    Gallery,
    Handles,
    Row,
    distinct,
    markdown,
    numbers,
    where,
)
from cgrsp_simpy.plots.parts import plus_minus, titled
from cgrsp_simpy.spot.policies import COMPARED
from cgrsp_simpy.spot.scenario import Scenario
from cgrsp_simpy.studies.replicate import simulate

# mean times up and down of the zone us-east-1f, V100, February 2023, in SkyPilot's spot
# traces
MARKET = TwoState(up_h=2.3, down_h=1.6)
DEADLINES_H = (50.0, 52.0, 56.0, 62.0, 70.0)  # deadlines of the figure of costs, hours
OVERHEADS_H = (0.05, 0.2)  # changeover delays of the figure of costs, hours
DRAWN = ("greedy", "uniform-progress", "expected-cost", "optimum")
"""Policies in the figure of courses."""
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
SEED = 1  # seed of the plotted runs


KINDS = {  # label and colour, distinct for the colour-blind and in grey
    "market": ("spot available", "#c7e9c0"),
    "spot": ("computes on spot", "#41ab5d"),
    "on demand": ("computes on demand", "#08519c"),
    "changeover": ("changeover", "#7f7f7f"),
    "wasted": ("changeover cut short", "#000000"),
}
MADE_UP = (
    f"generated market of one zone: available for {MARKET.up_h:g} h,\n"
    f"unavailable for {MARKET.down_h:g} h on average, geometric, as long as those of"
    " us-east-1f\n(V100, February 2023) in SkyPilot's spot traces"
)


class Runs:
    """Inputs of the figures. seeds: number of seeds, from 0."""

    @checked
    def __init__(
        self, seeds: TwoOrMore = 20, executor: Executor | int | None = None
    ) -> None:
        self.seeds, self.executor = seeds, executor


def _intro(runs: Runs) -> list[str]:
    return [
        "# Figures of jobs on spot instances, drawn from this package's runs",
        (
            "After Wu et al., “Can't Be Late: Optimizing Spot Instance"
            " Savings under Deadlines” (NSDI 2024): one job of 48 h with a"
            f" deadline, {many(runs.seeds, 'seed')}. The paper's traces are not part"
            " of this"
            " package; the market here is generated: a zone that is"
            f" available for {MARKET.up_h:g} h and unavailable for {MARKET.down_h:g}"
            " h on average,"
            f" geometric in steps of {MARKET.step_s // 60} min, the mean times of one"
            " of those"
            " traces. next-spot, a heuristic, knows the next instance; the"
            " optimum, the bound, knows the whole future. expected-cost is"
            " ours, and estimates the distribution from two weeks before"
            " each run. With files of zones: `cgrsp compare spot"
            " trace=FILE`. Next to each picture is the CSV of its data. All"
            " of them: `cgrsp papers figures spot --out figures/spot`."
        ),
    ]


FIGURES = Gallery("spot", Runs, _intro)


@FIGURES.add(
    "course",
    "One job, four policies",
    (6.3, 3.8),
    note=(
        "48 h of computing within 52 h, 12 min of overhead per start;"
        " below each name its cost,\n"
        f"% of on demand only; one seed; a {MADE_UP}"
    ),
    legend={"columns": 3},
)
def course(runs: Runs) -> list[Row]:  # noqa: ARG001, one seed is drawn
    """Resource of one job over time per policy, and spot availability, hours."""
    scenario = Scenario(MARKET, deadline=52.0, overhead=0.2)
    by_policy = {name: simulate(scenario, name, SEED) for name in DRAWN}
    market = by_policy[DRAWN[0]].plan.market
    [zone] = market.zones
    ends = [change.from_s for change in market.changes(0)]
    there = [
        ("market", None, 0, "spot available", max(stretch.from_s, 0.0), to_s)
        for stretch, to_s in zip(zone.stretches, ends)
        if stretch.up
    ]
    held = [
        (name, cost_pct, place, phase, from_s, to_s)
        for name, run in by_policy.items()
        for cost_pct in [run.summary()["cost_pct"]]
        for _, place, _, phase, from_s, to_s in run.claims.tolist()
    ]
    return [
        {
            "policy": policy,
            "place": ("spot", "on demand")[place],
            "phase": phase,
            "from_h": from_s / HOUR_S,
            "to_h": to_s / HOUR_S,
            "cost_pct": cost_pct,
        }
        for policy, cost_pct, place, phase, from_s, to_s in there + held
    ]


@course.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    ax = canvas.add_subplot()
    lanes = ["market", *DRAWN]
    kinds = [
        next(row[name] for name in ("phase", "policy", "place") if row[name] in KINDS)
        for row in rows
    ]
    ax.barh(
        [lanes.index(row["policy"]) for row in rows],
        [row["to_h"] - row["from_h"] for row in rows],
        left=numbers(rows, "from_h"),
        height=0.66,
        color=[KINDS[kind][1] for kind in kinds],
    )
    cost_pct = {row["policy"]: row.get("cost_pct") for row in rows}
    labels = [f"{name}\n{cost_pct[name]:.0f} %" for name in DRAWN]
    ax.set_yticks(range(len(lanes)), ["market", *labels])
    ax.axvline(52, color="0.3", linewidth=1, linestyle=":")
    ax.annotate(
        "deadline",
        (52, -0.45),
        xytext=(-3, 0),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize="small",
    )
    ax.set(
        xlabel="time since the start (h)",
        xlim=(0, 52.6),
        ylim=(len(lanes) - 0.5, -0.75),
    )
    return [
        Patch(color=colour, label=label)
        for kind, (label, colour) in KINDS.items()
        if kind in kinds
    ]


@course.describes
def _(rows: list[Row]) -> str:
    cost_pct = {
        row["policy"]: row["cost_pct"] for row in rows if row["policy"] != "market"
    }
    costs = ", ".join(f"{name} {value:.0f}" for name, value in cost_pct.items())
    return f"Cost, % of on demand only: {costs}."


@FIGURES.add(
    "costs",
    "Cost of waiting for spot instances, by deadline and overhead",
    (6.3, 3.8),
    note=lambda runs: (
        "48 h of computing, 0.97 USD/h on spot, 3.06 on demand;"
        f" {many(runs.seeds, 'seed')},"
        " 95 % intervals;\n"
        f"{MADE_UP}"
    ),
)
def costs(runs: Runs) -> list[Row]:
    """Cost of each policy per deadline and overhead, percent of on demand only."""
    study = deadline_study(
        {"made up": MARKET},
        DEADLINES_H,
        OVERHEADS_H,
        [name for name in COMPARED if name != "on-demand"],
        range(runs.seeds),
        executor=runs.executor,
    )
    return [
        {name: row[name] for name in COLUMNS}
        for row in study.rows()
        if row["market"] == "all"
    ]


@costs.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    overheads = distinct(rows, "overhead_h")
    axes = canvas.subplots(1, len(overheads), sharey=True)
    for ax, overhead in zip(axes, overheads):
        selected = where(rows, overhead_h=overhead)
        deadlines = distinct(selected, "deadline_h")
        series = {
            name: (numbers(line, "cost_pct"), numbers(line, "cost_pct_half"))
            for name in distinct(selected, "policy")
            for line in [where(selected, policy=name)]
        }
        marks.lines(ax, deadlines, series)
        titled(
            ax,
            f"overhead {60 * overhead:g} min",
            xlabel="deadline (h), for 48 h of computing",
        )
    axes[0].set_ylabel("cost (% of on demand only)")


@costs.describes
def _(rows: list[Row]) -> str:
    missed = summed(row["missed"] for row in rows)
    saving_pct = {
        (row["deadline_h"], row["overhead_h"], row["policy"]): row["saving_pct"]
        for row in rows
    }
    parts = [
        f"deadline {deadline:g} h and overhead {60 * overhead:g} min: {savings}"
        for overhead in OVERHEADS_H
        for deadline in (DEADLINES_H[1], DEADLINES_H[-1])
        for savings in [
            ", ".join(
                f"{name} {saving_pct[deadline, overhead, name]:.0f}"
                for name in DRAWN[:-1]
            )
        ]
    ]
    return (
        f"Share of the optimum's saving, %: {'; '.join(parts)}. Deadlines missed:"
        f" {missed:g}."
    )


@costs.tables
def _(rows: list[Row]) -> str:
    policies = distinct(rows, "policy")
    cost = {
        (
            row["overhead_h"],
            row["deadline_h"],
            row["policy"],
        ): plus_minus(row["cost_pct"], row["cost_pct_half"])
        for row in rows
    }
    lines = [
        [
            f"{overhead:g}",
            f"{deadline:g}",
            *(cost[overhead, deadline, name] for name in policies),
        ]
        for overhead, deadline in sorted(
            {(overhead, deadline) for overhead, deadline, _ in cost}
        )
    ]
    return markdown(" | ".join(("overhead, h", "deadline, h", *policies)), 0, lines)
