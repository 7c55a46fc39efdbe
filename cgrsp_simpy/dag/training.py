"""Graphs of neural-network training with data, model and pipeline parallelism (worl-rtgs.txt
Section 3.1 and Figure 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from itertools import pairwise, product
from math import ceil

import numpy as np

from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.model.checks import check_number, check_whole, require

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
        for name, value in zip(
            ("layers", "stages", "micro_batches", "replicas", "shards"), astuple(self)
        ):
            check_whole(name, value, least=1)
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
