"""Colours that mean the same in every figure and can be told apart by the colour-blind (Okabe and Ito's set, extended)."""

from __future__ import annotations

from matplotlib.axes import Axes

__all__ = ["COMPLEXITY", "MISSED", "POLICY", "PROVISIONING", "axes", "colour_of"]

POLICY = {
    "fifo": "#000000",
    "spt": "#E69F00",
    "edf": "#56B4E9",
    "lcf": "#999999",
    "balanced": "#B5A642",
    "random": "#CCCCCC",
    "spt-rescue": "#CC79A7",
    "adaptive": "#0072B2",
    "rh": "#D55E00",
    "cadr": "#009E73",
    "cadr-oo": "#8FD1B9",
}
COMPLEXITY = ("#9ecae1", "#4292c6", "#084594")  # complexity 1, 2, 3
PROVISIONING = "#e0e0e0"
MISSED = "#D55E00"


def colour_of(policy: str) -> str | None:
    """The colour of a policy by its name without parameters; None, the next in the cycle, for a user's own."""
    return POLICY.get(policy.partition(":")[0])


def axes(ax: Axes | None) -> Axes:
    """The Axes given, or those of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt  # only here: drawing on given Axes needs no backend

    return plt.subplots(layout="constrained")[1]
