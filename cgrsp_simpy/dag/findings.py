"""What is seen in each figure of DAGs, in a sentence on its rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.dag.figure_data import CONCENTRATIONS, DRAWN, ORDERED, SENSITIVITY, Row
from cgrsp_simpy.dag.heft import ORDERS


def gantt(rows: list[Row]) -> str:
    """Makespans of the plans drawn, and how much moves."""
    told = []
    for name in DRAWN:
        own = [row for row in rows if row["scheduler"] == name]
        moved = sum(row["what"] == "transfer" for row in own)
        told.append(
            f"{name} ends after {max(row['end_s'] for row in own):.3g} s with {moved} transfers"
            " between GPUs"
        )
    return f"{'; '.join(told)}. A unit, here a stage of the pipeline, stays on one GPU."


def placement(rows: list[Row]) -> str:
    """How many edges change the GPU."""
    gpu = {row["name"]: row["gpu"] for row in rows if row["what"] == "node"}
    edges = [row for row in rows if row["what"] == "edge"]
    crossing = sum(gpu[row["name"]] != gpu[row["to"]] for row in edges)
    return (
        f"{len(gpu)} nodes on {len(set(gpu.values()))} GPUs; {crossing} of {len(edges)} edges"
        " change the GPU."
    )


def convergence(rows: list[Row]) -> str:
    """Where each search ends, and where annealing begins."""
    last = {row["scheduler"]: row for row in rows}
    told = ", ".join(
        f"{name} {row['over_heft']:.2f}"
        for name, row in sorted(last.items(), key=lambda item: item[1]["over_heft"])
    )
    number = max(row["evaluations"] for row in rows)
    return (
        f"After {number:,} plans the best makespan over HEFT's, in the median, is: {told}."
        " HEFT itself evaluates none; annealing begins with HEFT's plan and runs all plans in its"
        " order; the others know neither."
    )


def order(rows: list[Row]) -> str:
    """What part of each makespan goes with the order, what part with the placement, and what
    random search does.
    """
    over, named = over_heft(rows), {"heft": "HEFT's own placement"}
    told = []
    for name in dict.fromkeys(row["scheduler"] for row in rows):
        graph, rank = (_plus_minus(mean(over[name, way])) for way in ORDERS)
        told.append(f"{named.get(name, name)} {graph} and {rank}")
    beside = "; ".join(
        f"{name} {_beside_random(over, name)}" for name in ORDERED if name != "random-search"
    )
    in_graph, in_rank = (over["worl-rtgs", way] for way in ORDERS)
    above, by_order, left = (
        _plus_minus(mean(each)) for each in (in_graph - 1, in_graph - in_rank, in_rank - 1)
    )
    return (
        "Makespans over HEFT's, run in the graph's order and in HEFT's rank order:"
        f" {', '.join(told)}. In the graph's order worl-rtgs is {above} times HEFT's makespan"
        f" above it; {by_order} of that go when the same search runs its plans in rank order,"
        f" and {left} are left to the placement. Beside random search in the same order: {beside}."
        " Annealing here starts from a random plan, too; ddqn is left out for its time."
    )


def over_heft(rows: list[Row]) -> dict[tuple[str, str], np.ndarray]:
    """By scheduler and order, the makespans over HEFT's, a graph each."""
    keys = dict.fromkeys((row["scheduler"], row["order"]) for row in rows)
    return {
        key: np.array([row["over_heft"] for row in rows if (row["scheduler"], row["order"]) == key])
        for key in keys
    }


def _beside_random(over: dict[tuple[str, str], np.ndarray], name: str) -> str:
    """Difference from random search on the same graph, percent, in each order; said to be one if
    the interval is without 0.
    """
    found = [mean(100 * (over[name, way] / over["random-search", way] - 1)) for way in ORDERS]
    return " and ".join(
        f"{each.mean:+.1f} ± {each.half_width:.1f}"
        f" %{' (not shown to differ)' if each.low <= 0 <= each.high else ''}"
        for each in found
    )


def _plus_minus(value: Mean) -> str:
    """A mean with the half width of its 95 % interval."""
    return f"{value.mean:.2f} ± {value.half_width:.2f}"


def sensitivity(rows: list[Row], studied: str) -> str:
    """Whether each parameter matters within the values tried, and its best.

    studied: which graphs, and the budget.
    """
    told = []
    for parameter, (first, *_, last) in SENSITIVITY.items():
        own = [row for row in rows if row["parameter"] == parameter]
        ranks = {row["value"]: row["rank"] for row in own}
        best = min(ranks, key=ranks.__getitem__)
        p = own[0]["p"]
        seen = f"best mean rank at {best}" if p < 0.05 else "no difference shown"
        told.append(
            f"{parameter} from {first} to {last}: p = {p:.2g}, {seen} (mean makespans within"
            f" {_spread_pct(own):.1f} %)"
        )
    return (
        f"On {studied}: {'; '.join(told)}. Of larger budgets and graphs this says nothing."
        " The paper, on graphs of 500 to 5,000 nodes with 1,000 episodes a move (100 to 3,000"
        " where it varies them) and up to 300 iterations, finds all of them to matter, with b = 1"
        " to 1.5, gamma = 0.97 and more episodes best."
    )


def _spread_pct(rows: list[Row]) -> float:
    """By how much the means of the values differ at most, percent of the mean makespan on
    the same graph.
    """
    means = [
        np.mean([row["relative"] for row in rows if row["value"] == value])
        for value in {row["value"] for row in rows}
    ]
    return 100 * float(np.ptp(means))


def ranks(rows: list[Row]) -> str:
    """The best, and who does not differ from it."""
    ordered = sorted(rows, key=lambda row: float(row["rank"]))
    best, difference = ordered[0], rows[0]["critical_difference"]
    near = [row["scheduler"] for row in ordered[1:] if row["rank"] - best["rank"] <= difference]
    also = (
        f"not shown to differ from it: {', '.join(near)}" if near else "every other differs from it"
    )
    return (
        f"{best['scheduler']} has the best mean rank, {best['rank']:.2f}; {also}. Annealing"
        " begins with HEFT's plan, and all of its plans run in its order; the other searches"
        f" know neither. {_control(rows)} The paper's critical differences, 3.374 and 4.033,"
        " lack a division by the square root of 2: 2.38 and 2.85 are right."
    )


def _control(rows: list[Row]) -> str:
    """Which of the paper's hybrid and its parts rank apart from random search by more than the
    critical difference.
    """
    rank = {row["scheduler"]: row["rank"] for row in rows}
    gaps = {
        name: rank[name] - rank["random-search"] for name in ("worl-rtgs", "rtgs", "woa", "ddqn")
    }
    apart = [
        f"{name} to be {'better' if gap < 0 else 'worse'} than random search"
        for name, gap in gaps.items()
        if abs(gap) > rows[0]["critical_difference"]
    ]
    shown = ", ".join(apart) or "none to differ from random search"
    return (
        f"Of {', '.join(gaps)}, this test shows {shown}, the control, of rank"
        f" {rank['random-search']:.2f}."
    )


def ablation(rows: list[Row]) -> str:
    """The losses beside the printed ones."""
    told = []
    for row in rows:
        if row["scheduler"] != "worl-rtgs":
            own = f"{row['increase_pct']:+.1f} ± {row['half_width_pct']:.1f} %"
            low, high = row["published_low_pct"], row["published_high_pct"]
            printed = "" if low == "" else f", published {low:+g} to {high:+g} %"
            told.append(f"{row['variant']} ({row['scheduler']}) {own}{printed}")
    return (
        f"The makespan changes by: {'; '.join(told)}. Here all run their plans in the graph's"
        " order, at the budget above; the published runs had that of the paper. The bodies of"
        " Tables 13 to 15 are not in the text; these are the prose's."
    )


def scatter(rows: list[Row]) -> str:
    """Both coefficients for both kinds of plans."""
    found = {row["plans"]: row for row in rows}
    told = "; ".join(
        f"{kind}: Pearson {found[kind]['pearson']:.2f}, Spearman {found[kind]['spearman']:.2f}"
        for kind in CONCENTRATIONS
    )
    return (
        f"{told}. SPD goes with FTG where plans differ in how even they are, and hardly where"
        " all are even."
    )


def coefficients(rows: list[Row]) -> str:
    """Ranges and means of both coefficients, and how often Spearman's is the larger."""
    told = []
    for kind in CONCENTRATIONS:
        own = [row for row in rows if row["plans"] == kind]
        pearson, spearman = (
            np.array([row[name] for row in own]) for name in ("pearson", "spearman")
        )
        larger = 100 * float(np.mean(spearman > pearson))
        told.append(
            f"{kind} plans: Pearson {_range(pearson)}, Spearman {_range(spearman)}, the larger"
            f" in {larger:.0f} %"
        )
    return (
        f"{'; '.join(told)}. Published: Pearson 0.16 to 0.57, mean 0.46; Spearman's mean 0.51,"
        " the larger in 92 %."
    )


def _range(values: Sequence[float] | np.ndarray) -> str:
    return f"{np.min(values):.2f} to {np.max(values):.2f}, mean {np.mean(values):.2f}"
