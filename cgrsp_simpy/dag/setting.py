"""A graph by name or file, and the GPUs it runs on: what a study or a command is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cgrsp_simpy.dag.generate import erdos_renyi, star
from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.dag.logs import read_alibaba, read_wfformat
from cgrsp_simpy.dag.platform import BUSY, IDLE, servers
from cgrsp_simpy.dag.problem import Problem
from cgrsp_simpy.dag.training import training_graph
from cgrsp_simpy.model.checks import InputError, check_one_of
from cgrsp_simpy.model.parameters import parameters

__all__ = ["GRAPHS", "STATES", "Setting", "read_graph"]

STATES = {"free": None, "busy": BUSY, "idle": IDLE}


def _er(n: int = 300, degree: float = 3.0, times: str = "small", seed: int = 0) -> Graph:
    return erdos_renyi(n, degree, times, seed)


def _training(layers: int = 8, stages: int = 4, micro_batches: int = 4, replicas: int = 1, shards: int = 1) -> Graph:
    return training_graph(layers, stages, micro_batches, replicas, shards)


def _star(n: int = 11) -> Graph:
    return star(n)


GRAPHS: dict[str, Callable[..., Graph]] = {"er": _er, "training": _training, "star": _star}


@dataclass(frozen=True)
class Setting:
    """What is to be placed, and on what.

    graph: a Graph, or the text of one that is generated, such as "er:n=300,degree=3" (drawn anew for each seed), "star:n=11" or
    "training:stages=4". gpus, per_server, tflops, memory_gb, intra_gb_per_s, inter_gb_per_s: as of `servers`. state: "free",
    "busy" or "idle", how much of the GPUs others use (worl-rtgs.txt Section 4.2), drawn by the seed. reading: as of `Problem`.
    """

    graph: str | Graph = "er"
    gpus: int = 10
    per_server: int = 8
    tflops: tuple[float, ...] = (15.7, 19.5, 66.9)
    memory_gb: float = 80.0
    intra_gb_per_s: float = 300.0
    inter_gb_per_s: float = 25.0
    state: str = "free"
    reading: str = "exclusive"

    def __str__(self) -> str:
        name = self.graph if isinstance(self.graph, str) else self.graph.name
        return f"{name} on {self.gpus} GPUs, {self.state}, {self.reading}"

    def problem(self, seed: int = 0) -> Problem:
        """The problem of a seed. Raises InputError for what is not allowed."""
        check_one_of("state", self.state, STATES)
        platform = servers(
            self.gpus,
            self.per_server,
            self.tflops,
            self.memory_gb,
            self.intra_gb_per_s,
            self.inter_gb_per_s,
            STATES[self.state],
            seed,
        )
        graph = _generated(self.graph, seed) if isinstance(self.graph, str) else self.graph
        return Problem(graph, platform, self.reading)


def _generated(text: str, seed: int) -> Graph:
    name = text.partition(":")[0]
    check_one_of("graph", name, GRAPHS)
    make = GRAPHS[name]
    given = parameters("graph", text, make, but=("seed",))
    return make(**given, seed=seed) if name == "er" else make(**given)


def read_graph(text: str) -> str | Graph:
    """A graph from a file, by its ending: WfFormat (.json), or a job of Alibaba's batch tasks (tasks.csv:j_17); else the text."""
    path, _, job = text.partition(":")
    if path.endswith((".json", ".json.gz")):
        return read_wfformat(path)
    if path.endswith((".csv", ".csv.gz")):
        if not job:
            raise InputError(f"--graph(={text!r}) must name a job of the file, as in {path}:j_17")
        return read_alibaba(path, job)
    return text
