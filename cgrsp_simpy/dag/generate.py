"""Generated graphs: random, star (worl-rtgs.txt 3.3, 4.2, 5.6), training (Fig. 1)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.base.arrays import Ints
from cgrsp_simpy.base.checks import (
    check_number,
    check_one_of,
    check_whole,
    entries_of,
    require,
)
from cgrsp_simpy.base.parameters import Count, NotNegative, Positive, checked, limits
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.base.table import many
from cgrsp_simpy.dag.graph import Graph

Normal = tuple[float, float]
TIMES_S: dict[
    str, Normal
] = {  # mean and standard deviation of the nodes' times, seconds
    "small": (10.0, 2.0),  # Section 4.2, with degrees 1 and 3
    "medium": (20.0, 4.0),
    "large": (30.0, 6.0),
    "short": (2.0, 1.0),  # Section 5.6, with degree 100
}
MOST_NODES, MOST_EDGES = 10**6, 10**7  # ours: limits of a generated graph
LEAST_S = 0.01  # ours: a normal variate may be negative, a node's time may not


@checked
def erdos_renyi(
    nodes: Annotated[
        int, limits(f"a whole number from 1 to {MOST_NODES:,}", ge=1, le=MOST_NODES)
    ],
    degree: NotNegative,
    times: str | Normal = "small",
    seed: int = 0,
) -> Graph:
    """Generate an Erdos-Renyi DAG: random node order, pairs equally likely to be edges.

    Not from the paper: data and memory are uniform, from 0 to 1 gigabyte per edge and
    from 500 to 4000 whole megabytes per node. degree: mean number of edges per node, at
    most (nodes - 1) / 2; 1, 3 or 100 in the paper. times: normal distribution of the
    nodes' times on a GPU of 1 TFLOPS: a name of TIMES_S, or (mean, standard deviation)
    in seconds. Times below LEAST_S are drawn again, so the mean of "short" is 2.06 s,
    not 2 s.
    """
    require(
        degree <= (nodes - 1) / 2,
        "degree",
        degree,
        f"at most {(nodes - 1) / 2:g}, which connects all pairs of"
        f" {many(nodes, 'node')}",
    )
    check_whole("edges", round(nodes * float(degree)), least=0, most=MOST_EDGES)
    if isinstance(times, str):
        check_one_of("distribution of times", times, TIMES_S)
        times = TIMES_S[times]
    allowed = "a name, or a mean and a standard deviation"
    moments = entries_of("times", times, allowed)
    require(len(moments) == 2, "times", times, allowed)
    check_number("mean time", moments[0], least=LEAST_S)
    check_number("standard deviation of times", moments[1], least=0)
    work, of_work = np.zeros(nodes), stream(seed, "dag work")
    while (low := np.flatnonzero(work < LEAST_S)).size:
        work[low] = of_work.normal(moments[0], moments[1], len(low))
    label, edges = random_edges(nodes, degree, stream(seed, "dag edges"))
    return Graph(
        work_tflop=work,
        memory_mb=stream(seed, "dag memory").integers(500, 4000, nodes, endpoint=True),
        edges=edges,
        data_gb=stream(seed, "dag data").uniform(0.0, 1.0, len(edges)),
        unit=np.argsort(label),
        name=f"random, {many(nodes, 'node')}, degree {degree:g}, seed {seed}",
    )


@checked
def star(
    nodes: Annotated[
        int, limits(f"a whole number from 2 to {MOST_NODES:,}", ge=2, le=MOST_NODES)
    ],
) -> Graph:
    """Generate entry nodes of 1 s on 1 TFLOPS and a last node, the exit, without work.

    There are no data (as printed) and no memory needs (not printed). Section 4.2.
    """
    return Graph(
        work_tflop=np.append(np.ones(nodes - 1), 0.0),
        memory_mb=np.zeros(nodes, dtype=np.int64),
        edges=np.column_stack((np.arange(nodes - 1), np.full(nodes - 1, nodes - 1))),
        data_gb=np.zeros(nodes - 1),
        name=f"star of {many(nodes, 'node')}",
    )


def random_edges(nodes: int, degree: float, generator: Generator) -> tuple[Ints, Ints]:
    """Draw a random order of the nodes, and edges along that order, shape (edges, 2).

    The number of edges is drawn first, then the pairs: distributed as pair by pair.
    """
    label = generator.permutation(nodes)
    pairs = nodes * (nodes - 1) // 2
    number = generator.binomial(pairs, 2 * degree / max(nodes - 1, 1))
    pair = generator.choice(pairs, number, replace=False, shuffle=False)
    # first number of the pairs (0, later), (1, later), ...
    later = np.arange(nodes, dtype=np.int64)  # its square has more than 32 bits
    first = later * (later - 1) // 2
    later = np.searchsorted(first, pair, side="right") - 1
    return label, label[np.column_stack((pair - first[later], later))]


# one operation per parameter of four bytes
TFLOP_PER_GB = 0.25e-3
STATES = 4  # per parameter: its value, its gradient and two moments of Adam
SCHEDULES = ("gpipe", "1f1b")

NAMES = {  # kind -> name by replica, micro-batch or step, layer and shard
    "forward": "r{} m{} l{}.{} forward",
    "backward": "r{} m{} l{}.{} backward",
    "ring": "r{0} l{2}.{3} ring {1}",
    "update": "r{0} l{2}.{3} update",
}
# kind, replica, micro-batch or step, layer, shard
Part = tuple[str, int, int, int, int]
Edges = dict[tuple[Part, Part], tuple[float, float]]
"""Pairs of nodes -> gigabytes that are sent and held."""


class _Network(NamedTuple):
    """Numbers of the parts of a network in training; see `training_graph`."""

    layers: int
    stages: int
    micro_batches: int
    replicas: int
    shards: int

    def stage(self, layer: int) -> int:
        """Return the number of a layer's stage."""
        return layer * self.stages // self.layers

    def passes(self, passed_gb: float) -> Edges:
        """Return the edges from layer to layer, forward and back.

        A layer holds its activations from its forward node to its backward node.
        """
        edges: Edges = {}
        for replica, batch in product(range(self.replicas), range(self.micro_batches)):
            forward, backward = (
                [
                    [
                        (kind, replica, batch, layer, shard)
                        for shard in range(self.shards)
                    ]
                    for layer in range(self.layers)
                ]
                for kind in ("forward", "backward")
            )
            for one, other in pairwise([*forward, *backward[::-1]]):
                edges |= dict.fromkeys(product(one, other), (passed_gb, 0.0))
            for one, other in zip(forward, backward):
                edges |= dict.fromkeys(zip(one, other), (passed_gb, passed_gb))
        return edges

    def turns(self, schedule: str) -> Iterator[tuple[Part, Part]]:
        """Yield the edges that enforce the order of the schedule within each stage."""
        for replica, stage, shard in product(
            range(self.replicas), range(self.stages), range(self.shards)
        ):
            layers = [
                layer for layer in range(self.layers) if self.stage(layer) == stage
            ]
            ways = {"forward": layers, "backward": layers[::-1]}
            ahead = self.micro_batches
            if schedule == "1f1b":
                ahead = min(self.stages - stage, self.micro_batches)
            in_turn = sorted(
                product(("forward", "backward"), range(self.micro_batches)),
                key=lambda task: task[1] + (0.5 - ahead) * (task[0] == "forward"),
            )
            for (kind, batch), (next_kind, next_batch) in pairwise(in_turn):
                yield (
                    (kind, replica, batch, ways[kind][-1], shard),
                    (next_kind, replica, next_batch, ways[next_kind][0], shard),
                )

    def all_reduce(self, gradients_gb: float) -> Edges:
        """Return the edges between the last backward nodes and the updates.

        They are those of a ring all-reduce of each shard's gradients.
        """
        edges: Edges = {}
        steps = product(["ring"], range(1, 2 * self.replicas - 1))
        links = [("backward", self.micro_batches - 1), *steps, ("update", 0)]
        for replica, layer, shard in product(
            range(self.replicas), reversed(range(self.layers)), range(self.shards)
        ):
            here, left = (
                [(kind, member, turn, layer, shard) for kind, turn in links]
                for member in (replica, (replica - 1) % self.replicas)
            )
            sent_gb = gradients_gb / self.replicas
            edges |= dict.fromkeys(pairwise(here), (0.0, 0.0))
            edges |= dict.fromkeys(zip(left[:-2], here[1:-1]), (sent_gb, 0.0))
        return edges

    def work(self, forward_tflop: float, gradients_gb: float) -> dict[Part, float]:
        """Return the work of each node, 10^12 operations, in the order of the graph."""
        batches, steps = range(self.micro_batches), range(1, 2 * self.replicas - 1)
        up, operations = range(self.layers), gradients_gb * TFLOP_PER_GB
        return {
            (kind, *part): tflop * (kind != "ring" or part[1] < self.replicas)
            for kind, turns, way, tflop in (
                ("forward", batches, up, forward_tflop),
                ("backward", batches, up[::-1], 2 * forward_tflop),
                ("ring", steps, up[::-1], operations / self.replicas),
                ("update", range(1), up[::-1], 2 * operations),
            )
            for part in product(range(self.replicas), turns, way, range(self.shards))
        }

    def unit(self, replica: int, layer: int, shard: int) -> int:
        """Return the number of the unit of a replica, a layer's stage and a shard."""
        return (replica * self.stages + self.stage(layer)) * self.shards + shard

    def graph(
        self,
        schedule: str,
        forward_tflop: float,
        passed_gb: float,
        gradients_gb: float,
    ) -> Graph:
        """Return the graph; forward_tflop, passed_gb: work and data of a node."""
        work = self.work(forward_tflop, gradients_gb)
        edges = self.passes(passed_gb)
        for ends in self.turns(schedule):
            edges.setdefault(ends, (0.0, 0.0))
        edges |= self.all_reduce(gradients_gb)
        number = {part: node for node, part in enumerate(work)}
        sent_gb, held_gb = np.array(list(edges.values())).T
        resident_mb = np.ceil(1000 * STATES * gradients_gb)
        return Graph(
            work_tflop=np.array(list(work.values())),
            memory_mb=np.zeros(len(work), dtype=np.int64),
            edges=np.array([(number[start], number[end]) for start, end in edges]),
            data_gb=sent_gb,
            unit=np.array(
                [
                    self.unit(replica, layer, shard)
                    for _, replica, _, layer, shard in work
                ]
            ),
            names=tuple(NAMES[kind].format(*part) for kind, *part in work),
            name=(
                f"training: layers {self.layers}, stages {self.stages}, micro-batches"
                f" {self.micro_batches}, replicas {self.replicas}, shards"
                f" {self.shards}, {schedule}"
            ),
            resident_mb=np.array(
                [resident_mb if kind == "update" else 0.0 for kind, *_ in work]
            ),
            held_mb=np.ceil(1000 * held_gb),
        )


@checked
def training_graph(
    layers: Count,
    stages: Count = 1,
    micro_batches: Count = 1,
    replicas: Count = 1,
    shards: Count = 1,
    schedule: str = "gpipe",
    *,
    samples: Positive = 32.0,
    work_tflop: NotNegative = 0.2,
    activation_gb: NotNegative = 0.017,
    parameters_gb: NotNegative = 0.2,
) -> Graph:
    """Build one iteration (mini-batch) of the training of a network of equal layers.

    Nodes: "r0 m1 l3.0 forward" and "... backward" of replica 0, micro-batch 1, layer 3,
    shard 0; "r0 l3.0 update" once its gradients of all micro-batches are summed. With
    several replicas, "r0 l3.0 ring 1" and so on precede the update: the 2 (r - 1) steps
    of a ring all-reduce, in each of which a replica sends an r-th of its gradients to
    the next. Units: the nodes of a replica, stage and shard are one unit.

    Edges without data enforce the schedule's order within a stage. Summing takes one
    operation per parameter, an update two. Parameters, their gradients and two moments
    of Adam are resident; from forward to backward a layer holds the activations that it
    passes on, not its inner ones. All this is not from the paper; defaults are about
    those of a transformer layer of width 2048 with 2048 tokens per sample in single
    precision.

    stages: groups of layers of (nearly) equal size (pipeline parallelism).
    micro_batches: number per replica; with one stage, gradient accumulation. replicas:
    copies of the whole network, each with its share of the samples (data parallelism).
    shards: parts of each layer; every shard sends its share of the activations to every
    shard of the next layer (model parallelism). schedule: "gpipe": all micro-batches
    forward, then all backward; or "1f1b": one forward, one backward, once as many
    micro-batches are in flight as stages remain. samples: size of the mini-batch.
    work_tflop: forward, per layer and sample, 10^12 operations; backward takes twice as
    much. activation_gb: passed on per layer and sample. parameters_gb: per layer. Their
    gradients are as large.

    References
    ----------
    Huang et al. (2019), GPipe, NeurIPS 32. Narayanan et al. (2019), PipeDream, SOSP,
    and (2021), Megatron-LM, SC: 1F1B. Patarasuk and Yuan (2009), J. Parallel Distrib.
    Comput. 69: the ring.
    """
    nodes = layers * replicas * shards * (2 * micro_batches + 2 * replicas - 1)
    check_whole("nodes", nodes, least=1, most=MOST_NODES)
    edges = (2 * layers - 1) * replicas * micro_batches * shards**2
    check_whole("edges between layers", edges, least=1, most=MOST_EDGES)
    require(
        stages <= layers, "stages", stages, f"at most {layers}, the number of layers"
    )
    check_one_of("schedule", schedule, SCHEDULES)
    network = _Network(layers, stages, micro_batches, replicas, shards)
    share = samples / (replicas * micro_batches * shards)  # samples of a node
    return network.graph(
        schedule, work_tflop * share, activation_gb * share, parameters_gb / shards
    )
