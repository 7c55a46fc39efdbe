"""A graph and the GPUs on which schedulers place its nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from inspect import signature
from itertools import repeat
from typing import ClassVar, Literal

import numpy as np
import simpy
from simpy.events import EventPriority

from cgrsp_simpy.base.checks import InputError, check_one_of, require
from cgrsp_simpy.base.parameters import declared, parameter
from cgrsp_simpy.base.policy import parameters
from cgrsp_simpy.base.streams import Draw, stream
from cgrsp_simpy.dag.generate import erdos_renyi, star, training_graph
from cgrsp_simpy.dag.graph import Graph, Node
from cgrsp_simpy.dag.logs import read_alibaba, read_wfformat
from cgrsp_simpy.dag.platform import BUSY, IDLE, Platform, Servers
from cgrsp_simpy.dag.policies import COMPARED, POLICIES
from cgrsp_simpy.dag.problem import Plan, Problem, Schedule
from cgrsp_simpy.dag.report import DagReport
from cgrsp_simpy.dag.search import Budget
from cgrsp_simpy.dag.subject import SEARCHED, DagSubject
from cgrsp_simpy.dag.view import OwnPolicy, View
from cgrsp_simpy.engine.events import PATIENCE_PRIORITY, Listener, ScheduledEvent
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, slots
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Process, Simulation

STATES = {"free": None, "busy": BUSY, "idle": IDLE}
"""By name, the range from which the share of a GPU that others use is drawn."""
SHORT = Budget(evaluations=SEARCHED)


GRAPHS: dict[str, Callable[..., Graph]] = {
    "er": lambda seed, n=300, degree=3.0, times="small": erdos_renyi(
        n, degree, times, seed
    ),
    "training": partial(training_graph, layers=8, stages=4, micro_batches=4),
    "star": lambda n=11: star(n),
}
"""By name, what makes a graph."""


# the end of a predecessor, which it is, and the edge
Edge = tuple[simpy.Event, Node, int]


@declared()
class Scenario(Model):
    """A graph on GPUs: everything that a run depends on, but the scheduler and the
    seed.
    """

    graph: str | Graph = parameter(
        "A Graph, the name of a file as for `read_graph`, or the text of one that is"
        ' generated, such as "er:n=300,degree=3" (drawn for each seed), "star:n=11" or'
        ' "training:stages=4".',
        default="er",
    )
    platform: Servers | Platform = parameter("The GPUs.", default_factory=Servers)
    state: Literal["free", "busy", "idle"] = parameter(
        "How much of the GPUs others use (worl-rtgs.txt Section 4.2), drawn by the"
        " seed.",
        default="free",
    )
    budget: Budget = parameter("Limit of each search for a plan.", default=SHORT)

    policies = POLICIES
    compared = COMPARED
    columns: ClassVar = {"gpu": "i8", "ready_s": "f8"}
    policy_label = "scheduler"
    report = DagReport
    subject = DagSubject

    def __post_init__(self) -> None:
        if isinstance(self.graph, str):
            object.__setattr__(self, "graph", read_graph(self.graph))
        _ = self.jobs  # a graph is drawn to refuse a wrong one now

    def __str__(self) -> str:
        name = self.graph if isinstance(self.graph, str) else self.graph.name
        return f"{name} on {self.platform.name}, {self.state}"

    @property
    def name(self) -> str:
        """The graph, the GPUs and the budget of a search."""
        return f"{self}, {self.budget} a search"

    @cached_property
    def jobs(self) -> int:
        """Number of nodes of a run."""
        return self.problem(0).graph.nodes

    # ---- as a model ----

    @cached_property
    def _gpus(self) -> Platform:
        return (
            self.platform.platform()
            if isinstance(self.platform, Servers)
            else self.platform
        )

    def resources(self) -> tuple[ResourceSpec, ...]:
        return slots(self._gpus.gpus, "GPU")

    def problem(self, seed: int = 0) -> Problem:
        """Return the graph and the GPUs of a seed."""
        platform, used = self._gpus, STATES[self.state]
        if used is not None:
            platform = platform.in_use(
                stream(seed, "in use").uniform(*used, platform.gpus)
            )
        if isinstance(self.graph, Graph):
            return Problem(self.graph, platform)
        name = self.graph.partition(":")[0]
        check_one_of("graph", name, GRAPHS)
        make = GRAPHS[name]
        drawn = {"seed": seed} if "seed" in signature(make).parameters else {}
        graph = make(**drawn, **parameters("graph", self.graph, make, but=drawn))
        return Problem(graph, platform)

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Node]]:
        return zip(repeat(0.0), self.problem(draw.seed).graph.jobs)

    def job_process(self, run: Simulation, node: Node) -> Process:
        """A node; it returns the number of the GPU on which it ran.

        Where there is a plan, data are sent on as soon as they are there, and the node
        claims its GPU when it has them. Else its GPU is known, and they are sent, once
        a policy has granted it.
        """
        problem, solution = run.plan
        nodes, incoming = problem.graph.jobs, problem.graph.incoming[node.id]
        edges = [
            (run.completion(nodes[each]), nodes[each], edge) for each, edge in incoming
        ]
        if solution is None:
            yield run.env.all_of([ended for ended, *_ in edges])
        else:
            # Equation 1
            yield self._data(run, edges, node, solution.plan.gpu.item(node.id))
        ready_s = run.now_s

        with run.claim(node, request=False) as claim:
            yield claim  # Equation 4
            gpu, _ = claim.parts[0]
            if solution is None:
                run.emit("dispatch", claim, f"node {node.name}")
                yield self._data(run, edges, node, gpu)
                if run.now_s > claim.granted_s:
                    claim.phase("data", claim.granted_s)

            with claim.request() as turn:
                yield turn
                work_s = problem.time_s.item(node.id, gpu)  # Equation 15
                yield run.timeout(work_s, ("finish", node.id))
        run.record(node, gpu, ready_s)
        return gpu

    def _data(
        self, run: Simulation, edges: Sequence[Edge], node: Node, gpu: int
    ) -> simpy.Event:
        """Return the event that all data of a node have arrived at a GPU."""
        process = run.env.process
        return run.env.all_of(
            [process(self._transfer(run, each, node, gpu)) for each in edges]
        )

    def _transfer(self, run: Simulation, edge: Edge, node: Node, gpu: int) -> Process:
        """Send the data of an edge (worl-rtgs.txt Equations 2 and 3)."""
        ended, before, number = edge
        source, problem = (yield ended), run.plan.problem
        data_gb = problem.graph.data_gb.item(number)
        delay_s = float(problem.transfer_s(data_gb, source, gpu))
        with ExitStack() as until_there:
            if delay_s and problem.contention:
                # after all else of the instant, in order of the edges
                run.env.schedule(
                    asked := ScheduledEvent(run.env),
                    EventPriority(PATIENCE_PRIORITY + 1 + number),
                )
                yield asked
                link = run.links[int(problem.platform.link(source, gpu))]
                yield until_there.enter_context(link.request())
            yield run.timeout(delay_s, ("data", node.id))
        if delay_s and run.listener:
            nodes = f"of node {before.name} for node {node.name}"
            run.emit("data", node, f"{data_gb:.4g} GB {nodes}, GPU {source} to {gpu}")

    def set_up(self, run: Simulation) -> None:
        run.links = defaultdict(lambda: simpy.Resource(run.env))

    def view(self, run: Simulation) -> View:
        return View(run)


def schedule_of(run: Run) -> Schedule:
    """Return the measured schedule of a run of a `Scenario`."""
    (problem, solution), jobs = run.plan, run.jobs
    times_s = jobs["start_s"], jobs["finish_s"]
    if solution is not None:
        return Schedule(problem, solution.plan, *times_s)
    # of those that start at once, first what takes no time
    order = np.lexsort((np.argsort(problem.graph.order), *times_s[::-1]))
    return Schedule(problem, Plan(jobs["gpu"], order, run.policy), *times_s)


def simulate(
    problem: Problem,
    scheduler: Plan | OwnPolicy | str,
    listener: Listener | None = None,
) -> Run:
    """The run of a plan or a policy on a graph and GPUs that are there, as of
    `Scenario` and `cg.simulate`; `schedule_of(run)` is what was measured.

    listener: called with each Event. Raises InputError for a plan that the problem does
    not allow, or that needs a missing connection; PolicyError for an answer that cannot
    be carried out.
    """
    scenario = Scenario(problem.graph, problem.platform)
    return DagSubject(scenario).run(scheduler, drawn=problem, listener=listener)


def read_graph(text: str) -> str | Graph:
    """A graph from a file, by its ending; any other text as it is.

    text: a file in WfFormat (.json or .json.gz), or a file of Alibaba's batch tasks and
    a job of it, as in "tasks.csv:j_17" (.csv or .csv.gz). Result: the text itself where
    it names no file. Raises InputError with the file's name, and the line where there
    is one.
    """
    path, colon, job = text.partition(":")
    if path.endswith((".json", ".json.gz")):
        require(
            not colon, "graph", text, "without a job: a file in WfFormat is one graph"
        )
        return read_wfformat(path)
    if path.endswith((".csv", ".csv.gz")):
        if not job:
            raise InputError(
                f"graph(={text!r}) must name a job of the file, as in {path}:j_17"
            )
        return read_alibaba(path, job)
    return text
