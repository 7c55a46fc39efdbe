"""What is seen in each figure of DAGs, in a sentence on its rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cgrsp_simpy.dag.figure_data import CONCENTRATIONS, DRAWN, SENSITIVITY, Row

__all__ = ["ablation", "coefficients", "convergence", "gantt", "placement", "ranks", "scatter", "sensitivity"]


def gantt(rows: list[Row]) -> str:
    """Makespans of the plans drawn, and how much moves."""
    told = []
    for name in DRAWN:
        own = [row for row in rows if row["scheduler"] == name]
        moved = sum(row["what"] == "transfer" for row in own)
        told.append(f"{name} ends after {max(row['end_s'] for row in own):.3g} s with {moved} transfers between GPUs")
    return f"{'; '.join(told)}. A unit, here a stage of the pipeline, stays on one GPU."


def placement(rows: list[Row]) -> str:
    """How many edges change the GPU."""
    gpu = {row["name"]: row["gpu"] for row in rows if row["what"] == "node"}
    edges = [row for row in rows if row["what"] == "edge"]
    crossing = sum(gpu[row["name"]] != gpu[row["to"]] for row in edges)
    return f"{len(gpu)} nodes on {len(set(gpu.values()))} GPUs; {crossing} of {len(edges)} edges change the GPU."


def convergence(rows: list[Row]) -> str:
    """Where each search ends."""
    last = {row["scheduler"]: row for row in rows}
    told = ", ".join(
        f"{name} {row['over_heft']:.2f}" for name, row in sorted(last.items(), key=lambda item: item[1]["over_heft"])
    )
    number = max(row["evaluations"] for row in rows)
    return f"After {number:,} plans the best makespan over HEFT's, in the median, is: {told}. HEFT itself evaluates none."


def sensitivity(rows: list[Row]) -> str:
    """Whether each parameter matters, and its best value."""
    told = []
    for parameter in SENSITIVITY:
        own = [row for row in rows if row["parameter"] == parameter]
        ranks = {row["value"]: row["rank"] for row in own}
        best = min(ranks, key=ranks.__getitem__)
        p = own[0]["p"]
        seen = f"best mean rank at {best}" if p < 0.05 else "no difference shown"
        told.append(f"{parameter}: p = {p:.2g}, {seen}")
    return f"{'; '.join(told)}. The paper finds all of them to matter, with b = 1 to 1.5, gamma = 0.97 and more episodes best."


def ranks(rows: list[Row]) -> str:
    """The best, and who does not differ from it."""
    ordered = sorted(rows, key=lambda row: float(row["rank"]))
    best, difference = ordered[0], rows[0]["critical_difference"]
    near = [row["scheduler"] for row in ordered[1:] if row["rank"] - best["rank"] <= difference]
    also = f" not shown to differ from it: {', '.join(near)}." if near else " every other differs from it."
    return (
        f"{best['scheduler']} has the best mean rank, {best['rank']:.2f};{also}"
        " The paper's critical differences, 3.374 and 4.033, lack a division by the square root of 2: 2.38 and 2.85 are right."
    )


def ablation(rows: list[Row]) -> str:
    """The losses beside the printed ones."""
    told = []
    for row in rows:
        if row["published_low_pct"] != "":
            own = f"{row['increase_pct']:+.1f} ± {row['half_width_pct']:.1f} %"
            printed = f"published {row['published_low_pct']:+g} to {row['published_high_pct']:+g} %"
            told.append(f"{row['variant']} ({row['scheduler']}) {own}, {printed}")
    return (
        f"The makespan changes by: {'; '.join(told)}. The bodies of Tables 13 to 15 are not in the text; these are the prose's."
    )


def scatter(rows: list[Row]) -> str:
    """Both coefficients for both kinds of plans."""
    found = {row["plans"]: row for row in rows}
    told = "; ".join(
        f"{kind}: Pearson {found[kind]['pearson']:.2f}, Spearman {found[kind]['spearman']:.2f}" for kind in CONCENTRATIONS
    )
    return f"{told}. SPD goes with FTG where plans differ in how even they are, and hardly where all are even."


def coefficients(rows: list[Row]) -> str:
    """Ranges and means of both coefficients, and how often Spearman's is the larger."""
    told = []
    for kind in CONCENTRATIONS:
        own = [row for row in rows if row["plans"] == kind]
        pearson, spearman = (np.array([row[name] for row in own]) for name in ("pearson", "spearman"))
        larger = 100 * float(np.mean(spearman > pearson))
        told.append(f"{kind} plans: Pearson {_range(pearson)}, Spearman {_range(spearman)}, the larger in {larger:.0f} %")
    return f"{'; '.join(told)}. Published: Pearson 0.16 to 0.57, mean 0.46; Spearman's mean 0.51, the larger in 92 %."


def _range(values: Sequence[float] | np.ndarray) -> str:
    return f"{np.min(values):.2f} to {np.max(values):.2f}, mean {np.mean(values):.2f}"
