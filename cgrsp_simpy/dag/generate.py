"""Graphs that are drawn at random, and the star of the paper's proof (worl-rtgs.txt
Sections 3.3, 4.2 and 5.6).
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.dag.graph import Floats, Graph, Ints
from cgrsp_simpy.model.checks import check_number, check_one_of, check_whole, entries_of, require
from cgrsp_simpy.model.streams import stream

Law = tuple[float, float]
TIMES_S: dict[str, Law] = {  # mean and standard deviation of the nodes' times, seconds
    "small": (10.0, 2.0),  # Section 4.2, with degrees 1 and 3
    "medium": (20.0, 4.0),
    "large": (30.0, 6.0),
    "short": (2.0, 1.0),  # Section 5.6, with degree 100
}
LEAST_S = 0.01  # ours: a normal time may be negative, a node's not


def erdos_renyi(
    nodes: int,
    degree: float,
    times: str | Law = "small",
    seed: int = 0,
    *,
    data_gb: Law = (0.0, 1.0),
    memory_mb: tuple[int, int] = (500, 4000),
    per_unit: int = 1,
) -> Graph:
    """An Erdos-Renyi DAG: of the pairs of nodes in a random order, each is an edge with the same
    chance, independently.

    Ours, for the paper prints none: the laws of data and memory.

    Parameters
    ----------
    nodes : int
        Number of nodes, >= 1.
    degree : float
        Mean number of edges a node, which is the mean in-degree and the mean out-degree; 1, 3 or
        100 in the paper. The number of edges is drawn too: degree is its mean over graphs. At most
        (nodes - 1) / 2, that of all pairs.
    times : str or tuple of (float, float)
        The normal law of the nodes' times, a name of TIMES_S or (mean, standard deviation) in
        seconds. Ours: these are times on a GPU of 1 TFLOPS, so that the work in 10^12 operations is
        the same number; and times below LEAST_S are drawn again, which lifts the mean of "short"
        from 2 to 2.06 s and leaves the others as they are.
    seed : int
        Of the draws, >= 0.
    data_gb : tuple of (float, float)
        Bounds of the data of an edge, uniform between them, gigabytes.
    memory_mb : tuple of (int, int)
        Bounds of the memory of a node, uniform between them, whole megabytes.
    per_unit : int
        Number of nodes, next to each other in the random order, that are a computational unit,
        >= 1.

    Returns
    -------
    Graph
        Named by its parameters.
    """
    check_whole("nodes", nodes, least=1)
    check_whole("per_unit", per_unit, least=1)
    check_whole("seed", seed, least=0)
    check_number("degree", degree, least=0)
    require(
        degree <= (nodes - 1) / 2,
        "degree",
        degree,
        f"at most {(nodes - 1) / 2:g}, all pairs of {nodes} nodes",
    )
    mean_s, sd_s = _time_law(times)
    for name, bounds in (("data_gb", data_gb), ("memory_mb", memory_mb)):
        _check_bounds(name, bounds)
    label, edges = _drawn_edges(nodes, degree, stream(seed, "dag edges"))
    unit = np.empty(nodes, dtype=np.int64)
    unit[label] = np.arange(nodes) // per_unit
    return Graph(
        work_tflop=_normal(mean_s, sd_s, nodes, stream(seed, "dag work")),
        memory_mb=stream(seed, "dag memory").integers(*memory_mb, nodes, endpoint=True),
        edges=edges,
        data_gb=stream(seed, "dag data").uniform(*data_gb, len(edges)),
        unit=unit,
        name=f"random, {nodes} nodes, degree {degree:g}, seed {seed}",
    )


def star(nodes: int) -> Graph:
    """Entry nodes of one second on a GPU of 1 TFLOPS each, and an exit node, the last, of no work;
    no data.

    No node needs memory (ours).

    nodes: number of nodes, >= 2. Result: of nodes - 1 edges. Raises InputError for fewer than two
    nodes. worl-rtgs.txt Section 4.2.
    """
    check_whole("nodes", nodes, least=2)
    entries = np.arange(nodes - 1)
    return Graph(
        work_tflop=np.append(np.ones(nodes - 1), 0.0),
        memory_mb=np.zeros(nodes, dtype=np.int64),
        edges=np.column_stack((entries, np.full(nodes - 1, nodes - 1))),
        data_gb=np.zeros(nodes - 1),
        name=f"star of {nodes} nodes",
    )


def _time_law(times: str | Law) -> Law:
    if isinstance(times, str):
        check_one_of("law of times", times, TIMES_S)
        return TIMES_S[times]
    law = entries_of("times", times, "a name, or a mean and a standard deviation")
    require(len(law) == 2, "times", times, "a name, or a mean and a standard deviation")
    check_number("mean time", law[0], least=LEAST_S)
    check_number("standard deviation of times", law[1], least=0)
    return law[0], law[1]


def _check_bounds(name: str, bounds: tuple[float, float]) -> None:
    require(len(entries_of(name, bounds, "two bounds")) == 2, name, bounds, "two bounds")
    low, high = bounds
    if name == "memory_mb":
        check_whole("least memory_mb", low, least=0)
        check_whole("greatest memory_mb", high, least=int(low))
    else:
        check_number(f"least {name}", low, least=0)
        check_number(f"greatest {name}", high, least=low)


def _drawn_edges(nodes: int, degree: float, generator: Generator) -> tuple[Ints, Ints]:
    """A random order of the nodes, and edges that all lead forward in it, shape (edges, 2).

    Drawing their number and then that many different pairs is the same as asking of each pair
    whether it is an edge, but takes memory for the edges alone.
    """
    label = generator.permutation(nodes)
    pairs = nodes * (nodes - 1) // 2
    number = generator.binomial(pairs, min(1.0, 2 * degree / max(nodes - 1, 1)))
    pair = generator.choice(pairs, number, replace=False, shuffle=False)
    # pairs (0, later), (1, later) and so on are numbered from here
    first = np.arange(nodes) * (np.arange(nodes) - 1) // 2
    later = np.searchsorted(first, pair, side="right") - 1
    return label, label[np.column_stack((pair - first[later], later))]


def _normal(mean: float, sd: float, number: int, generator: Generator) -> Floats:
    """Normal variates of at least LEAST_S: those below are drawn again."""
    values = generator.normal(mean, sd, number)
    while (low := np.flatnonzero(values < LEAST_S)).size:
        values[low] = generator.normal(mean, sd, len(low))
    return values
