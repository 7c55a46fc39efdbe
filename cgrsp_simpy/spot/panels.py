"""How the rows behind each figure of jobs on spot instances are drawn on a canvas."""

from __future__ import annotations

from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch

from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.parts import legend_outside
from cgrsp_simpy.spot.figure_data import DRAWN, Row

COLOURS = {  # told apart by the colour-blind, and in grey
    "market": "#c7e9c0",
    "spot": "#41ab5d",
    "on demand": "#08519c",
    "changeover": "#7f7f7f",
    "wasted": "#000000",
}
NAMES = {
    "market": "spot to be had",
    "spot": "computes on spot",
    "on demand": "computes on demand",
    "changeover": "changeover",
    "wasted": "changeover cut short",
}


def course(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A line a policy: where the job is over time; on top, when there are spot instances."""
    ax = canvas.add_subplot()
    lanes = ["market", *DRAWN]
    there = set()
    for row in rows:
        what = "market" if row["policy"] == "market" else row["place"]
        what = row["phase"] if row["phase"] in ("changeover", "wasted") else what
        there.add(what)
        ax.barh(
            lanes.index(row["policy"]),
            row["to_h"] - row["from_h"],
            left=row["from_h"],
            height=0.66,
            color=COLOURS[what],
        )
    cost_pct = {row["policy"]: row["cost_pct"] for row in rows}
    names = [f"{name}\n{cost_pct[name]:.0f} %" for name in DRAWN]
    ax.set_yticks(range(len(lanes)), ["market", *names])
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
    ax.set(xlabel="time since the start (h)", xlim=(0, 52.6), ylim=(len(lanes) - 0.5, -0.75))
    handles = [Patch(color=COLOURS[what], label=NAMES[what]) for what in COLOURS if what in there]
    legend_outside(canvas, handles, note, 3)


def costs(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A panel an overhead: cost by deadline, a line a policy."""
    overheads = list(dict.fromkeys(row["overhead_h"] for row in rows))
    axes = canvas.subplots(1, len(overheads), sharey=True)
    for ax, overhead in zip(axes, overheads):
        own = [row for row in rows if row["overhead_h"] == overhead]
        deadlines = list(dict.fromkeys(row["deadline_h"] for row in own))
        series = {
            name: tuple(
                [row[column] for row in own if row["policy"] == name]
                for column in ("cost_pct", "cost_pct_half")
            )
            for name in dict.fromkeys(row["policy"] for row in own)
        }
        marks.lines(ax, deadlines, series)  # type: ignore[arg-type]
        ax.set_title(f"overhead {60 * overhead:g} min", loc="left", fontsize="medium")
        ax.set(xlabel="deadline (h), for 48 h of computing")
    axes[0].set_ylabel("cost (% of on demand only)")
    legend_outside(canvas, [], note)
