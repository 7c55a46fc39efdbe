"""A graph and the GPUs it runs on: what schedulers are simulated, compared and swept on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from cgrsp_simpy.dag.generate import erdos_renyi, star
from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.dag.logs import read_alibaba, read_wfformat
from cgrsp_simpy.dag.platform import BUSY, IDLE, Platform, Servers
from cgrsp_simpy.dag.problem import METRICS, Problem
from cgrsp_simpy.dag.schedulers import COMPARED, SCHEDULERS, SEARCHES, Planner, make_scheduler
from cgrsp_simpy.dag.search import Budget
from cgrsp_simpy.dag.simulation import Simulation
from cgrsp_simpy.dag.training import training_graph
from cgrsp_simpy.dag.view import OwnPolicy
from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.model.checks import InputError, check_one_of, require
from cgrsp_simpy.model.parameters import chosen, in_file, parameters
from cgrsp_simpy.model.streams import stream

__all__ = ["GRAPHS", "STATES", "Setting", "read_graph"]

STATES = {"free": None, "busy": BUSY, "idle": IDLE}
"""By name, the range from which the share of a GPU that others use is drawn."""
SEARCHED = 1000
SHORT = Budget(evaluations=SEARCHED)


def _er(n: int = 300, degree: float = 3.0, times: str = "small", seed: int = 0) -> Graph:
    return erdos_renyi(n, degree, times, seed)


def _training(
    layers: int = 8, stages: int = 4, micro_batches: int = 4, replicas: int = 1, shards: int = 1
) -> Graph:
    return training_graph(layers, stages, micro_batches, replicas, shards)


def _star(n: int = 11) -> Graph:
    return star(n)


GRAPHS: dict[str, Callable[..., Graph]] = {"er": _er, "training": _training, "star": _star}
"""By name, what makes a graph."""


@dataclass(frozen=True)
class Setting(Model):
    """A graph on GPUs: everything that a run depends on, but the scheduler and the seed.

    Parameters
    ----------
    graph : Graph or str
        A Graph, the name of a file as of `read_graph`, or the text of one that is generated, such
        as "er:n=300,degree=3" (drawn anew for each seed), "star:n=11" or "training:stages=4".
    platform : Servers or Platform
        The GPUs.
    state : str
        "free", "busy" or "idle": how much of the GPUs others use (worl-rtgs.txt Section 4.2), drawn
        by the seed.
    reading : str
        "exclusive" or "shared", as of `Problem`.
    budget : Budget
        Of each search for a plan.

    Raises
    ------
    InputError
        For what is not allowed.
    """

    graph: str | Graph = "er"
    platform: Servers | Platform = field(default_factory=Servers)
    state: str = "free"
    reading: str = "exclusive"
    budget: Budget = SHORT

    metrics = METRICS
    shown = ("makespan_s", "over_bound", "evaluations", "seconds")
    tested = ("makespan_s",)
    precise = "makespan_s"
    policies = SCHEDULERS
    compared = COMPARED
    noun = "scheduler"
    pace_per_s = 10_000.0  # of a search that learns

    def __post_init__(self) -> None:
        if isinstance(self.graph, str):
            object.__setattr__(self, "graph", read_graph(self.graph))
        require(isinstance(self.graph, (str, Graph)), "graph", self.graph, "a text or a Graph")
        require(
            isinstance(self.platform, (Servers, Platform)),
            "platform",
            self.platform,
            "Servers or a Platform",
        )
        require(isinstance(self.budget, Budget), "budget", self.budget, "a Budget")
        check_one_of("state", self.state, STATES)
        _ = self.jobs  # draws a graph: what is wrong with it is told now

    def __str__(self) -> str:
        name = self.graph if isinstance(self.graph, str) else self.graph.name
        return f"{name} on {self.platform.name}, {self.state}, {self.reading}"

    @property
    def name(self) -> str:
        """What is placed, where, and with which budget."""
        return f"{self}, {self.budget} a search"

    @cached_property
    def jobs(self) -> int:
        """Number of nodes of a run."""
        return self.draw(0).graph.nodes

    @property
    def work(self) -> int:
        """Nodes, each as often as a search simulates it."""
        return self.jobs * (self.budget.evaluations or SEARCHED)

    def is_random_under(self, policies: Sequence[Any]) -> bool:
        """Whether the seed draws the graph, what others use, or what one of the schedulers does.

        Parameters
        ----------
        policies : sequence
            As `make_policy` takes.

        Returns
        -------
        bool
            False where one run is all there is.
        """
        drawn = isinstance(self.graph, str) and self.graph.partition(":")[0] == "er"
        names = [policy.partition(":")[0] for policy in policies if isinstance(policy, str)]
        return (
            drawn
            or self.state != "free"
            or any(name in SEARCHES or name == "random" for name in names)
        )

    def draw(self, seed: int = 0) -> Problem:
        """The graph and the GPUs of a seed.

        Parameters
        ----------
        seed : int
            Of the graph, where it is drawn, and of what others use.

        Returns
        -------
        Problem
            A graph and its GPUs.
        """
        platform = self.platform.platform() if isinstance(self.platform, Servers) else self.platform
        used = STATES[self.state]
        if used is not None:
            platform = platform.in_use(stream(seed, "in use").uniform(*used, platform.gpus))
        graph = _generated(self.graph, seed) if isinstance(self.graph, str) else self.graph
        return Problem(graph, platform, self.reading)

    def make_policy(self, policy: str | OwnPolicy) -> Planner | OwnPolicy:
        """A scheduler from its text, or an online policy.

        Parameters
        ----------
        policy : str or callable
            A name of SCHEDULERS with parameters, "own.py:function", or a function of the view
            `Ready`.

        Returns
        -------
        Planner or callable
            What `simulation` takes.

        Raises
        ------
        InputError
            For an unknown name, parameter or file, or a value that is not allowed.
        """
        if isinstance(policy, str) and not in_file(policy):
            return make_scheduler(policy)
        return chosen(self.noun, policy, {})

    def simulation(
        self,
        policy: Planner | OwnPolicy,
        seed: int,
        *,
        drawn: Problem | None = None,
        records: bool = True,
        listener: Listener | None = None,
    ) -> Simulation:
        """A run that has been set up, its plan found, and not let go.

        Parameters
        ----------
        policy, seed, drawn, records, listener
            As of `Model.simulation`; every record is kept.

        Returns
        -------
        Simulation
            Its `close()` answers with the schedule once `env` has run.
        """
        problem = self.draw(seed) if drawn is None else drawn
        if not isinstance(policy, Planner):
            return Simulation(problem, policy, listener)
        found = policy(problem, self.budget, seed)
        return Simulation(problem, found.plan, listener, found.evaluations, found.seconds)

    def varied(self, **parameters: Any) -> Setting:
        """The setting with other parameters, for sweeps.

        Parameters
        ----------
        **parameters
            Of the setting (budget: a Budget, or a number of evaluations), or, where it has Servers,
            of these: gpus, per_server, tflops, memory_gb, intra_gb_per_s, inter_gb_per_s.

        Returns
        -------
        Setting
            A copy.

        Raises
        ------
        InputError
            For a name that is no parameter, or a value that is not allowed.
        """
        if isinstance(parameters.get("budget"), int):
            parameters["budget"] = Budget(evaluations=parameters["budget"])
        of_servers = (
            [item.name for item in fields(Servers)] if isinstance(self.platform, Servers) else []
        )
        return self._varied(parameters, "platform", self.platform, of_servers)


def _generated(text: str, seed: int) -> Graph:
    name = text.partition(":")[0]
    check_one_of("graph", name, GRAPHS)
    make = GRAPHS[name]
    given = parameters("graph", text, make, but=("seed",))
    return make(**given, seed=seed) if name == "er" else make(**given)


def read_graph(text: str) -> str | Graph:
    """A graph from a file, by its ending; any other text as it is.

    Parameters
    ----------
    text : str
        A file in WfFormat (.json or .json.gz), or a file of Alibaba's batch tasks and a job of it,
        as in "tasks.csv:j_17" (.csv or .csv.gz).

    Returns
    -------
    str or Graph
        The text itself where it names no file.

    Raises
    ------
    InputError
        With the file's name, and the line where there is one.
    """
    path, colon, job = text.partition(":")
    if path.endswith((".json", ".json.gz")):
        require(not colon, "graph", text, "without a job: a file in WfFormat is one graph")
        return read_wfformat(path)
    if path.endswith((".csv", ".csv.gz")):
        if not job:
            raise InputError(f"graph(={text!r}) must name a job of the file, as in {path}:j_17")
        return read_alibaba(path, job)
    return text
