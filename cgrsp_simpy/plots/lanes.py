"""Lanes: positions of claims within a resource; simultaneous claims are stacked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cgrsp_simpy.base.timeline import CLAIM, Timeline

ROUNDING = 1e-9  # amounts are sums of doubles

Stretch = tuple[float, float]
"""Part of a resource, from and to, in its unit."""

BAR = np.dtype(
    [
        *((name, CLAIM[name]) for name in CLAIM.names or ()),
        ("stay", "i8"),
        ("low", "f8"),
        ("high", "f8"),
    ]
)
SPAN = np.dtype(
    [
        (name, BAR[name])
        for name in ("job", "resource", "stay", "low", "high", "from_s", "to_s")
    ]
)


def bars(timeline: Timeline) -> np.ndarray:
    """Return claims as bars: columns of the claims, `stay`, and low, high from 0 to 1.

    A claim to part of a resource is placed as low as possible, in several bars if no
    free stretch is long enough. The bars of a job that keeps a resource over several
    phases share one `stay`.
    """
    claims = timeline.claims[timeline.claims["to_s"] > timeline.claims["from_s"]]
    sizes = np.array(timeline.sizes, float)
    stay, begun, end_s = _stays(claims)
    stretches = _stretches(begun, end_s, sizes)
    parts = [stretches[stay_id] for stay_id in stay.tolist()]
    claim = np.repeat(np.arange(len(claims)), list(map(len, parts)))
    rectangles = np.empty(len(claim), BAR)
    for name in CLAIM.names or ():
        rectangles[name] = claims[name][claim]
    rectangles["stay"] = stay[claim]
    edges = np.array([stretch for some in parts for stretch in some]).reshape(-1, 2)
    rectangles["low"], rectangles["high"] = (
        edges.T / np.where(sizes > 0, sizes, 1.0)[rectangles["resource"]]
    )
    return rectangles


def stays(rectangles: np.ndarray) -> np.ndarray:
    """Join bars over the phases of a job; return an array of SPAN."""
    _, first, group = np.unique(
        rectangles[["stay", "low"]], return_index=True, return_inverse=True
    )
    joined = np.empty(len(first), SPAN)
    for name in SPAN.names or ():
        joined[name] = rectangles[name][first]
    np.minimum.at(joined["from_s"], group, rectangles["from_s"])
    np.maximum.at(joined["to_s"], group, rectangles["to_s"])
    return joined


def _stays(claims: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Join consecutive claims of a job to an amount of a resource.

    Returns each claim's stay number, and each stay's first claim and end, by resource.
    """
    order = np.lexsort((claims["from_s"], claims["job"], claims["resource"]))
    rows = claims[order]
    whose = rows[["job", "resource", "amount"]]
    begins = np.ones(len(rows), bool)
    begins[1:] = (whose[1:] != whose[:-1]) | (rows["from_s"][1:] != rows["to_s"][:-1])
    numbers = np.empty(len(rows), int)
    numbers[order] = np.cumsum(begins) - 1
    return numbers, rows[begins], rows["to_s"][np.roll(begins, -1)]


def _stretches(
    begun: np.ndarray, end_s: np.ndarray, sizes: np.ndarray
) -> list[list[Stretch]]:
    """Return the stretches that each stay holds; begun, end_s: sorted by resource."""
    stretches: list[list[Stretch]] = [
        [(0.0, size)] for size in sizes[begun["resource"]].tolist()
    ]
    edges = np.searchsorted(begun["resource"], np.arange(len(sizes) + 1)).tolist()
    for size, first, last in zip(sizes.tolist(), edges, edges[1:]):
        begun_here = begun[first:last]
        if (begun_here["amount"] < size).any():
            stretches[first:last] = _swept(
                begun_here["from_s"].tolist(),
                end_s[first:last].tolist(),
                begun_here["amount"].tolist(),
                size,
            )
    return stretches


def _swept(
    from_s: Sequence[float],
    to_s: Sequence[float],
    amounts: Sequence[float],
    size: float,
) -> list[list[Stretch]]:
    """Return the stretches that each stay holds; departures precede arrivals."""
    held: list[list[Stretch]] = [[] for _ in amounts]
    free = [(0.0, size)]
    ends = [(time_s, False, claim) for claim, time_s in enumerate(to_s)]
    for _, begins, claim in sorted(
        [*ends, *((time_s, True, claim) for claim, time_s in enumerate(from_s))]
    ):
        if begins:
            held[claim], free = _taken(free, amounts[claim])
        else:
            free = _joined(sorted(free + held[claim]))
    return held


def _taken(
    free: Sequence[Stretch], amount: float
) -> tuple[list[Stretch], list[Stretch]]:
    """Return the lowest stretch that is long enough, or several, and the free rest."""
    fits = next(
        (
            stretch
            for stretch in free
            if stretch[1] - stretch[0] >= amount * (1 - ROUNDING)
        ),
        None,
    )
    taken, left = [], []
    for low, high in free:
        part = min(amount, high - low) if fits in (None, (low, high)) else 0.0
        middle = high if part == high - low else low + part
        amount -= part
        taken += [(low, middle)] if middle > low else []
        left += [(middle, high)] if high > middle else []
    return taken, left


def _joined(stretches: Sequence[Stretch]) -> list[Stretch]:
    merged: list[Stretch] = []
    for low, high in stretches:
        if merged and merged[-1][1] == low:
            low = merged.pop()[0]
        merged.append((low, high))
    return merged
