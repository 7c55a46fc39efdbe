"""A graph and the GPUs it runs on: what schedulers are simulated, compared and swept
on.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import signature
from itertools import repeat
from typing import Any, ClassVar, NamedTuple

import numpy as np
import simpy
from simpy.events import EventPriority

from cgrsp_simpy.base.checks import InputError, check_one_of, require
from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.base.policy import Named, parameters
from cgrsp_simpy.base.streams import Draw, stream
from cgrsp_simpy.base.timeline import Timeline
from cgrsp_simpy.dag.generate import erdos_renyi, star, training_graph
from cgrsp_simpy.dag.graph import Graph, Node
from cgrsp_simpy.dag.logs import read_alibaba, read_wfformat
from cgrsp_simpy.dag.platform import BUSY, IDLE, Platform, Servers
from cgrsp_simpy.dag.policies import COMPARED, POLICIES, Planner, is_search
from cgrsp_simpy.dag.problem import Plan, Problem, Schedule, lower_bound_s
from cgrsp_simpy.dag.search import Budget, Solution
from cgrsp_simpy.dag.view import InTurn, OwnPolicy, View
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.events import AT_LAST, DecisionEvent, Listener
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, slots
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Process, Simulation

METRICS = {
    "makespan_s": Metric("makespan", "s"),
    "bound_s": Metric("what no plan ends before", "s", ""),
    "over_bound": Metric("makespan over what no plan ends before"),
    "evaluations": Metric("plans evaluated to find this one", better=""),
}
"""What the figures of a run are."""

STATES = {"free": None, "busy": BUSY, "idle": IDLE}
"""By name, the range from which the share of a GPU that others use is drawn."""
SEARCHED = 1000
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


class Planned(NamedTuple):
    """What there is before a run, as its `plan`.

    problem: the graph and its GPUs. solution: the plan, and what finding it took; None
    where a policy decides as it goes.
    """

    problem: Problem
    solution: Solution | None = None


@dataclass(frozen=True)
class Scenario(Model):
    """A graph on GPUs: everything that a run depends on, but the scheduler and the
    seed.

    Parameters
    ----------
    graph : Graph or str
        A Graph, the name of a file as of `read_graph`, or the text of one that is
        generated, such as "er:n=300,degree=3" (drawn anew for each seed), "star:n=11"
        or "training:stages=4".
    platform : Servers or Platform
        The GPUs.
    state : str
        "free", "busy" or "idle": how much of the GPUs others use (worl-rtgs.txt Section
        4.2), drawn by the seed.
    budget : Budget
        Of each search for a plan.
    """

    graph: str | Graph = "er"
    platform: Servers | Platform = field(default_factory=Servers)
    state: str = "free"
    budget: Budget = SHORT

    metrics = METRICS
    shown = ("makespan_s", "over_bound", "evaluations")
    tested = ("makespan_s",)
    precise = "makespan_s"
    policies = POLICIES
    compared = COMPARED
    columns: ClassVar = {"gpu": "i8", "ready_s": "f8"}
    policy_label = "scheduler"
    pace_per_s = 10_000.0  # of a search that learns

    def __post_init__(self) -> None:
        if isinstance(self.graph, str):
            object.__setattr__(self, "graph", read_graph(self.graph))
        require(
            isinstance(self.graph, (str, Graph)),
            "graph",
            self.graph,
            "a text or a Graph",
        )
        known = isinstance(self.platform, (Servers, Platform))
        require(known, "platform", self.platform, "Servers or a Platform")
        require(isinstance(self.budget, Budget), "budget", self.budget, "a Budget")
        check_one_of("state", self.state, STATES)
        _ = self.jobs  # draws a graph: what is wrong with it is told now

    def __str__(self) -> str:
        name = self.graph if isinstance(self.graph, str) else self.graph.name
        return f"{name} on {self.platform.name}, {self.state}"

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

    def work_of(self, policies: Sequence[Any]) -> int:
        searches = sum(map(is_search, policies))
        return self.work * searches + self.jobs * (len(policies) - searches)

    def is_random_under(self, policies: Sequence[Any]) -> bool:
        """Whether the seed draws the graph, what others use, or what one of the
        schedulers does.
        """
        drawn = isinstance(self.graph, str) and self.graph.partition(":")[0] == "er"
        lucky = any(is_search(each) or each == "random" for each in policies)
        return drawn or self.state != "free" or lucky

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

    def draw(self, seed: int = 0) -> Problem:
        """The graph and the GPUs of a seed."""
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
        return zip(repeat(0.0), self.draw(draw.seed).graph.jobs)

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
        """Happens when all data of a node have arrived at a GPU."""
        process = run.env.process
        return run.env.all_of(
            [process(self._transfer(run, each, node, gpu)) for each in edges]
        )

    def _transfer(self, run: Simulation, edge: Edge, node: Node, gpu: int) -> Process:
        """The data of an edge on their way (worl-rtgs.txt Equations 2 and 3)."""
        ended, before, number = edge
        source, problem = (yield ended), run.plan.problem
        data_gb = problem.graph.data_gb.item(number)
        delay_s = float(problem.transfer_s(data_gb, source, gpu))
        with ExitStack() as until_there:
            if delay_s and problem.contention:
                # after all else of the instant, in order of the edges
                run.env.schedule(
                    asked := DecisionEvent(run.env), EventPriority(AT_LAST + 1 + number)
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

    def says(self, kind: str, claim: Claim) -> str:
        node = claim.job
        if kind == "submit":
            return f"node {node.name} is ready, {node.memory_mb} MB"
        if kind == "finish":
            return f"node {node.name}"
        time_s = claim.run.plan.problem.time_s[node.id, claim.parts[0][0]]
        return f"node {node.name}, {time_s:.4g} s"

    # ---- figures, rows and pictures ----

    def summary(self, run: Run) -> dict[str, float]:
        """The figures of METRICS, by name."""
        (problem, solution), makespan_s = run.plan, run.tally.end_s
        bound_s = lower_bound_s(problem)
        return {
            "makespan_s": makespan_s,
            "bound_s": bound_s,
            # a graph without work ends when its data have arrived
            "over_bound": makespan_s / bound_s if bound_s else 1.0,
            "evaluations": float(solution.evaluations) if solution else 0.0,
        }

    def summary_of(self, run: Run, chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
        jobs = run.jobs[chosen]
        return {
            "jobs": len(jobs),
            "gpu_hours": float(((jobs["finish_s"] - jobs["start_s"]) / 3600).sum()),
            "wait_s": float((jobs["dispatch_s"] - jobs["ready_s"]).mean()),
            "first_start_s": float(jobs["start_s"].min()),
            "last_finish_s": float(jobs["finish_s"].max()),
        }

    @property
    def tags(self) -> Any:
        return getattr(self.graph, "tags", {})

    def row_columns(self, run: Run) -> dict[str, Any]:
        names = ("unit", "gpu", "start_s", "finish_s")
        return {"node": run.jobs["name"], **{name: run.jobs[name] for name in names}}

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        graph, platform = run.plan.problem.graph, run.plan.problem.platform
        called = platform.names or [
            f"{tflops:g} TFLOP/s" for tflops in platform.tflops.tolist()
        ]
        places = tuple([f"{gpu}  {name}" for gpu, name in enumerate(called)])
        labels = dict(enumerate(graph.names))
        made = super().timeline(run, **{"resources": places, "labels": labels, **parts})
        made.visits["ready_s"] = run.jobs["ready_s"]
        return made

    # ---- studies ----

    def make_policy(self, policy: Any) -> Planner | Plan | OwnPolicy:
        """A scheduler from its text, a plan that is there, or an online policy, a
        function of a `View`.
        """
        plan = policy.policy if isinstance(policy, Named) else policy
        return plan if isinstance(plan, Plan) else super().make_policy(policy)

    def simulation(
        self,
        policy: Planner | Plan | OwnPolicy,
        seed: int,
        *,
        drawn: Problem | None = None,
        records: bool = True,
        listener: Listener | None = None,
    ) -> Simulation:
        """As of `Model`; a plan is solution first."""
        problem, solution = self.draw(seed) if drawn is None else drawn, None
        if isinstance(policy, Plan):
            solution = Solution(policy, math.nan, 0)
        elif isinstance(policy, Planner):
            solution = policy(problem, self.budget, seed)
        made: Any = policy if solution is None else InTurn(problem, solution.plan)
        nodes, plan = zip(repeat(0.0), problem.graph.jobs), Planned(problem, solution)
        return Simulation(
            self, made, seed, drawn=nodes, records=records, listener=listener, plan=plan
        )

    @property
    def parts(self) -> dict[str, Servers]:
        return {"platform": self.platform} if isinstance(self.platform, Servers) else {}

    def varied(self, **parameters: Any) -> Scenario:
        """The scenario with other parameters: its own (budget: a Budget, or a number of
        evaluations), and, where it has Servers, theirs.
        """
        if isinstance(parameters.get("budget"), int):
            parameters["budget"] = Budget(evaluations=parameters["budget"])
        return super().varied(**parameters)


def schedule_of(run: Run) -> Schedule:
    """The schedule that was measured in a run of a `Scenario`."""
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
    return scenario.run(scheduler, drawn=problem, listener=listener)


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
