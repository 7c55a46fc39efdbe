"""The figure of a plan: money against wait."""

from __future__ import annotations

from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from cgrsp_simpy.plots.figure import Figures, Handles, Row
from cgrsp_simpy.waiting.plan import Plan

FIGURES = Figures("waiting_")
CHOSEN = "chosen, with its 95 % interval on days on which it was not chosen"


@FIGURES.add("plan", "Money against wait", (6.3, 3.2))
def frontier(plan: Plan) -> list[Row]:
    """The frontier, and the plan that is chosen, with the interval of its price."""
    own = {"p95_wait_s": plan.p95_wait_s, "price": plan.price.mean, "low": plan.price.low}
    rest = {"high": plan.price.high, "machines": sum(plan.own.values()), "policy": "chosen"}
    return [*plan.frontier, {**own, **rest}]


@frontier.draws
def draw(canvas: Canvas, rows: list[Row]) -> Handles:
    """A step line of the least money by wait, the number of machines beside its points."""
    ax, (*line, own) = canvas.subplots(), rows
    ax.step(
        [row["p95_wait_s"] / 60 for row in line],
        [row["price"] for row in line],
        where="post",
        color="0.45",
        marker="o",
        ms=3,
    )
    named = 0
    for row in line:
        if row["machines"] != named:
            named = row["machines"]
            at = row["p95_wait_s"] / 60, row["price"]
            ax.annotate(f"{named:,}", at, (3, 3), textcoords="offset points", fontsize="small")
    price = own["price"]
    ends = [[price - own["low"]], [own["high"] - price]]
    at_min = own["p95_wait_s"] / 60
    ax.errorbar(at_min, price, yerr=ends, fmt="D", color="#d55e00", capsize=3)
    ax.set_xscale("symlog", linthresh=1)
    ax.set_xlim(left=-0.1)
    ax.set_xlabel("wait that 95 % of the jobs do not exceed, min")
    ax.set_ylabel("price of an hour's work")
    return [
        Line2D([], [], color="0.45", marker="o", ms=3, label="least money (machines owned)"),
        Line2D([], [], color="#d55e00", marker="D", ls="", label=CHOSEN),
    ]
