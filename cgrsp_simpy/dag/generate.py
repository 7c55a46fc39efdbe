"""Graphs that are made: drawn at random, the star of the paper's proof (worl-rtgs.txt Sections 3.3,
4.2 and 5.6), and neural-network training with data, model and pipeline parallelism (Section 3.1
and Figure 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import pairwise, product
from math import ceil

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.dag.graph import Floats, Graph, Ints
from cgrsp_simpy.model.checks import (
    check_fields,
    check_number,
    check_one_of,
    check_whole,
    entries_of,
    require,
)
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


TFLOP_PER_GB = 0.25e-3  # of an operation on each of a gigabyte of parameters, four bytes long


def training_graph(
    layers: int,
    stages: int = 1,
    micro_batches: int = 1,
    replicas: int = 1,
    shards: int = 1,
    *,
    samples: float = 32,
    work_tflop: float = 0.2,
    activation_gb: float = 0.017,
    parameters_gb: float = 0.2,
) -> Graph:
    """One iteration (mini-batch) of the training of a network of equal layers.

    Nodes: "r0 m1 l3.0 forward" and "... backward" of replica 0, micro-batch 1, layer 3, shard 0;
    "r0 l3.0 update", which follows all these backward nodes; and, of several replicas, between the
    two "l3.0 all-reduce", which sums the gradients of all. Nodes are numbered in topological order:
    all that is forward, then backward from the last layer down, all-reduces and updates. Units: a
    replica's nodes of a shard of a stage are one, each all-reduce is one of its own.

    Summing takes an operation a parameter and replica, an update two a parameter. A node holds its
    parameters, and forward and backward also the activations of the micro-batch. All this is ours;
    the defaults are about those of a transformer's layer of width 2048 at 2048 tokens a sample, in
    single precision.

    Parameters
    ----------
    layers : int
        Number of layers.
    stages : int
        Groups of layers, as equal as can be (pipeline parallelism).
    micro_batches : int
        Of a replica's share (pipeline parallelism).
    replicas : int
        Of the whole network, each with its share of the samples (data parallelism).
    shards : int
        Of each layer; every shard of a layer sends its share of the activations to every shard of
        the next (model parallelism).
    samples : float
        Of the mini-batch, > 0.
    work_tflop : float
        Forward, of a layer and sample, 10^12 operations; backward takes twice as much.
    activation_gb : float
        That a layer passes on of a sample, gigabytes; so large are its gradients too.
    parameters_gb : float
        Of a layer, gigabytes; so large are their gradients too.

    Returns
    -------
    Graph
        With the nodes' names.
    """
    cut = _Cut(layers, stages, micro_batches, replicas, shards)
    check_number("samples", samples, above=0)
    check_number("work_tflop", work_tflop, least=0)
    check_number("activation_gb", activation_gb, least=0)
    check_number("parameters_gb", parameters_gb, least=0)
    share = samples / (replicas * micro_batches * shards)  # samples of a node
    size_gb = {"activations": activation_gb * share, "gradients": parameters_gb / shards}
    operations = size_gb["gradients"] * TFLOP_PER_GB
    work = {"forward": work_tflop * share, "backward": 2 * work_tflop * share}
    work |= {"all-reduce": replicas * operations, "update": 2 * operations}
    names, units = zip(*cut.nodes())
    kinds = [name.rpartition(" ")[2] for name in names]
    held_gb = [
        sum(size_gb.values()) if kind in ("forward", "backward") else size_gb["gradients"]
        for kind in kinds
    ]
    number = {name: node for node, name in enumerate(names)}
    starts, ends, sent = zip(*cut.edges())
    return Graph(
        work_tflop=np.array([work[kind] for kind in kinds]),
        memory_mb=np.array([ceil(1000 * gb) for gb in held_gb]),
        edges=np.array([(number[start], number[end]) for start, end in zip(starts, ends)]),
        data_gb=np.array([size_gb[what] for what in sent]),
        unit=np.array(units),
        names=names,
        name=(
            f"training: layers {layers}, stages {stages}, micro-batches {micro_batches},"
            f" replicas {replicas}, shards {shards}"
        ),
    )


@dataclass(frozen=True)
class _Cut:
    """How the network and its mini-batch are cut."""

    layers: int
    stages: int
    micro_batches: int
    replicas: int
    shards: int

    def __post_init__(self) -> None:
        check_fields(self, check_whole, *(item.name for item in fields(self)), least=1)
        require(
            self.stages <= self.layers,
            "stages",
            self.stages,
            f"at most {self.layers}, the number of layers",
        )

    @property
    def parts(self) -> list[tuple[int, int]]:
        """All (layer, shard), the last layer first, as gradients come."""
        return list(product(reversed(range(self.layers)), range(self.shards)))

    def nodes(self) -> Iterator[tuple[str, int]]:
        """Name and unit of each node."""
        for replica, batch, layer, shard in product(
            *map(range, (self.replicas, self.micro_batches, self.layers, self.shards))
        ):
            yield f"r{replica} m{batch} l{layer}.{shard} forward", self._unit(replica, layer, shard)
        for replica, batch, (layer, shard) in product(
            range(self.replicas), range(self.micro_batches), self.parts
        ):
            yield (
                f"r{replica} m{batch} l{layer}.{shard} backward",
                self._unit(replica, layer, shard),
            )
        if self.replicas > 1:
            for number, (layer, shard) in enumerate(self.parts):
                yield (
                    f"l{layer}.{shard} all-reduce",
                    self.replicas * self.stages * self.shards + number,
                )
        for replica, (layer, shard) in product(range(self.replicas), self.parts):
            yield f"r{replica} l{layer}.{shard} update", self._unit(replica, layer, shard)

    def _unit(self, replica: int, layer: int, shard: int) -> int:
        return (replica * self.stages + layer * self.stages // self.layers) * self.shards + shard

    def edges(self) -> Iterator[tuple[str, str, str]]:
        """Start, end, and what is sent."""
        up = [(layer, "forward") for layer in range(self.layers)]
        down = [(layer, "backward") for layer in reversed(range(self.layers))]
        for replica, batch in product(range(self.replicas), range(self.micro_batches)):
            of = f"r{replica} m{batch}"
            for (layer, kind), (after, then) in pairwise(up + down):
                for one, other in product(range(self.shards), repeat=2):
                    yield (
                        f"{of} l{layer}.{one} {kind}",
                        f"{of} l{after}.{other} {then}",
                        "activations",
                    )
            # of the last, done above
            for layer, shard in product(range(self.layers - 1), range(self.shards)):
                yield (
                    f"{of} l{layer}.{shard} forward",
                    f"{of} l{layer}.{shard} backward",
                    "activations",
                )
        yield from self._gradients()

    def _gradients(self) -> Iterator[tuple[str, str, str]]:
        for replica, (layer, shard) in product(range(self.replicas), self.parts):
            update = f"r{replica} l{layer}.{shard} update"
            target = f"l{layer}.{shard} all-reduce" if self.replicas > 1 else update
            for batch in range(self.micro_batches):
                yield f"r{replica} m{batch} l{layer}.{shard} backward", target, "gradients"
            if target != update:
                yield target, update, "gradients"
