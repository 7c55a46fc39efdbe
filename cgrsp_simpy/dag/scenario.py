"""A graph and the GPUs on which schedulers place its nodes.

Equations and sections are those of worl-rtgs.txt.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from inspect import signature
from itertools import repeat
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import simpy
from simpy.events import EventPriority

from cgrsp_simpy.base.checks import check_one_of, require
from cgrsp_simpy.base.parameters import declared, from_text, parameter
from cgrsp_simpy.base.policy import Named, parameters
from cgrsp_simpy.base.streams import Draw, stream
from cgrsp_simpy.base.table import Table
from cgrsp_simpy.dag.generate import erdos_renyi, star, training_graph
from cgrsp_simpy.dag.graph import Graph, Node
from cgrsp_simpy.dag.logs import read_graph
from cgrsp_simpy.dag.platform import BUSY, IDLE, AnyPlatform, Platform, Servers
from cgrsp_simpy.dag.policies import (
    COMPARED,
    POLICIES,
    SEARCHES,
    InTurn,
    OwnPolicy,
    Planner,
    View,
    is_search,
)
from cgrsp_simpy.dag.problem import Plan, Problem, Schedule
from cgrsp_simpy.dag.report import DagReport
from cgrsp_simpy.dag.search import AnyBudget, Budget, Solution
from cgrsp_simpy.engine.events import PATIENCE_PRIORITY, Listener, ScheduledEvent
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, slots
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.studies.subject import Subject

# evaluations per search: the default budget, and an estimate for a budget of seconds
DEFAULT_EVALUATIONS = 1000


class Planned(NamedTuple):
    """Plan of a run, made before the run starts.

    problem: the graph and its GPUs. solution: the plan and the effort of the search, or
    None if a policy decides during the run.
    """

    problem: Problem
    solution: Solution | None = None


def at_once(problem: Problem) -> Iterator[tuple[float, Node]]:
    """Return the arrivals of the nodes: all at time 0."""
    return zip(repeat(0.0), problem.graph.jobs)


class DagSubject(Subject):
    """DAG subject: plans are made before a run, online policies decide during it."""

    pace_per_s = 10_000.0  # evaluations per second of a learning search

    def draw(self, seed: int) -> Problem:
        """Return the graph and the GPUs for a seed."""
        problem: Problem = self.model.problem(seed)
        return problem

    @property
    def work(self) -> int:
        """Number of nodes times the number of evaluations per search."""
        return int(
            self.model.jobs * (self.model.budget.evaluations or DEFAULT_EVALUATIONS)
        )

    def work_of(self, policies: Sequence[Any]) -> int:
        searches = sum(map(is_search, policies))
        return self.work * searches + int(self.model.jobs) * (len(policies) - searches)

    def is_random_under(self, policies: Sequence[Any]) -> bool:
        """Return whether the seed affects the graph, other usage or a scheduler."""
        graph = self.model.graph
        drawn = isinstance(graph, str) and graph.partition(":")[0] == "er"
        is_random = any(is_search(policy) or policy == "random" for policy in policies)
        return drawn or self.model.state != "free" or is_random

    def make_policy(self, policy: Any) -> Planner | Plan | OwnPolicy:
        """Return a scheduler for its name, or a plan or online policy unchanged."""
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
        """Set up a run, after the scheduler, if any, has made its plan."""
        problem, solution = self.draw(seed) if drawn is None else drawn, None
        if isinstance(policy, Plan):
            solution = Solution(policy, math.nan, 0)
        elif isinstance(policy, Planner):
            solution = policy(problem, self.model.budget, seed)
        online: Any = policy if solution is None else InTurn(problem, solution.plan)
        nodes, plan = at_once(problem), Planned(problem, solution)
        return Simulation(
            self.model,
            online,
            seed,
            drawn=nodes,
            records=records,
            listener=listener,
            plan=plan,
        )

    def check_effective(self, names: Sequence[str], policies: Sequence[Any]) -> None:
        limited = any(name.partition(".")[0] == "budget" for name in names)
        require(
            any(map(is_search, policies)) or not limited,
            "budget",
            self.model.budget,
            f"omitted unless one of these searches runs: {', '.join(SEARCHES)}",
        )

    def study_details(self, study: Any) -> tuple[Sequence[Table], Mapping[str, Any]]:
        """Return mean ranks, with Friedman's test and Nemenyi's critical difference.

        Return nothing for fewer than 3 schedulers, after failed runs, or if all seeds
        gave the same makespans.
        """
        values = np.array([study.values(name, "makespan_s") for name in study.policies])
        same = (values == values[:, :1]).all()
        if len(study.policies) < 3 or study.failures or same:
            return [], {}
        from cgrsp_simpy.analysis.ranks import rank_test  # loads part of SciPy

        test = rank_test(values.T)
        heading = (
            f"mean ranks of makespan_s: Friedman chi-square {test.statistic:.1f}, p"
            f" {test.p:.2g}; differences over {test.critical_difference:.2f} are"
            " significant (Nemenyi, 5 %)"
        )
        rows = sorted(zip(test.mean.tolist(), study.policies))
        cells = [[name, f"{rank:.2f}"] for rank, name in rows]
        return [Table(heading, [["scheduler", "rank"], *cells])], {}


STATES = {"free": None, "busy": BUSY, "idle": IDLE}
"""Name -> range of the share of a GPU that others use; None if they use none."""
DEFAULT_BUDGET = Budget(evaluations=DEFAULT_EVALUATIONS)

GRAPHS: dict[str, Callable[..., Graph]] = {
    "er": lambda seed, n=300, degree=3.0, times="small": erdos_renyi(
        n, degree, times, seed
    ),
    "training": partial(training_graph, layers=8, stages=4, micro_batches=4),
    "star": lambda n=11: star(n),
}
"""Name -> function that generates a graph."""


class Edge(NamedTuple):
    """An edge by which data reach a node.

    number: index of the edge in the graph. predecessor: the node that sends the data.
    completion: event of that node's end, whose value is the GPU on which it ran.
    """

    number: int
    predecessor: Node
    completion: simpy.Event


@declared()
class Scenario(Model):
    """A graph on GPUs: all parameters of a run except the scheduler and the seed."""

    graph: Annotated[str | Graph, from_text(read_graph)] = parameter(
        "A Graph; a file name, as for `read_graph`; or the parameters of a generated"
        ' graph, such as "er:n=300,degree=3" (drawn for each seed), "star:n=11"'
        ' or "training:stages=4".',
        default="er",
    )
    platform: AnyPlatform = parameter(
        "The GPUs, or a file of them, see `read_platform`.", default_factory=Servers
    )
    state: Literal["free", "busy", "idle"] = parameter(
        "Share of each GPU that other users occupy (worl-rtgs.txt Section 4.2),"
        " drawn for each seed.",
        default="free",
    )
    budget: AnyBudget = parameter(
        "Limit of each search for a plan; a number limits the evaluations.",
        default=DEFAULT_BUDGET,
    )

    policies = POLICIES
    compared = COMPARED
    columns: ClassVar = {"gpu": "i8", "ready_s": "f8"}
    policy_label = "scheduler"
    report = DagReport
    subject = DagSubject

    def __post_init__(self) -> None:
        _ = self.jobs  # generates a graph, so that wrong parameters are refused now

    def __str__(self) -> str:
        name = self.graph if isinstance(self.graph, str) else self.graph.name
        return f"{name} on {self.platform.name}, {self.state}"

    @property
    def name(self) -> str:
        """Description of the graph, the GPUs and the budget of a search."""
        return f"{self}, {self.budget} a search"

    @cached_property
    def jobs(self) -> int:
        """Number of nodes of the graph."""
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
        """Return the graph and the GPUs for a seed."""
        platform, used_range = self._gpus, STATES[self.state]
        if used_range is not None:
            used = stream(seed, "in use").uniform(*used_range, platform.gpus)
            platform = platform.in_use(used)
        if isinstance(self.graph, Graph):
            return Problem(self.graph, platform)
        name = self.graph.partition(":")[0]
        check_one_of("graph", name, GRAPHS)
        generate = GRAPHS[name]
        seeded = {"seed": seed} if "seed" in signature(generate).parameters else {}
        chosen = parameters("graph", self.graph, generate, but=seeded)
        return Problem(generate(**seeded, **chosen), platform)

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Node]]:
        return at_once(self.problem(draw.seed))

    def job_process(self, run: Simulation, node: Node) -> Process:
        """Run a node; return the number of the GPU on which it ran.

        Under a plan each predecessor sends its data to the node's GPU when it ends, and
        the node claims the GPU when all have arrived. Under an online policy the node
        claims a GPU when all predecessors have ended, and receives their data once it
        is granted one.
        """
        problem, solution = run.plan
        nodes = problem.graph.jobs
        edges = [
            Edge(number, nodes[before], run.completion(nodes[before]))
            for before, number in problem.graph.incoming[node.id]
        ]
        if solution is None:
            yield run.env.all_of([edge.completion for edge in edges])
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
        """Return an event for when all data of a node have arrived at its GPU."""
        process = run.env.process
        return run.env.all_of(
            [process(self._transfer(run, edge, node, gpu)) for edge in edges]
        )

    def _transfer(self, run: Simulation, edge: Edge, node: Node, gpu: int) -> Process:
        """Send an edge's data to a GPU once its first node has ended (Eq. 2 and 3).

        With contention, transfers over one link follow each other.
        """
        problem = run.plan.problem
        source = yield edge.completion
        data_gb = problem.graph.data_gb.item(edge.number)
        delay_s = float(problem.transfer_s(data_gb, source, gpu))
        if delay_s and problem.contention:
            # Request the link after all other events of the instant, in order of the
            # edges: then its queue does not depend on their order.
            last = ScheduledEvent(run.env)
            run.env.schedule(last, EventPriority(PATIENCE_PRIORITY + edge.number))
            yield last
            link = run.links[int(problem.platform.link(source, gpu))]
            with link.request() as turn:
                yield turn
                yield run.timeout(delay_s, ("data", node.id))
        else:
            yield run.timeout(delay_s, ("data", node.id))
        if delay_s and run.listener:
            nodes = f"of node {edge.predecessor.name} for node {node.name}"
            run.emit("data", node, f"{data_gb:.4g} GB {nodes}, GPU {source} to {gpu}")

    def set_up(self, run: Simulation) -> None:
        # by number of the link, made at its first transfer
        run.links = defaultdict(lambda: simpy.Resource(run.env))

    def view(self, run: Simulation) -> View:
        return View(run)


def schedule_of(run: Run) -> Schedule:
    """Return the measured schedule of a run of a `Scenario`."""
    problem, solution = run.plan
    jobs = run.jobs
    times_s = jobs["start_s"], jobs["finish_s"]
    if solution is not None:
        return Schedule(problem, solution.plan, *times_s)
    # by end, then by start, so that a node without duration follows one that ends when
    # it does, then by the order of the graph
    order = np.lexsort((np.argsort(problem.graph.order), *times_s))
    return Schedule(problem, Plan(jobs["gpu"], order, run.policy), *times_s)


def simulate(
    problem: Problem,
    scheduler: Plan | OwnPolicy | str,
    listener: Listener | None = None,
) -> Run:
    """Run a plan, a scheduler or an online policy on one graph and its GPUs.

    `schedule_of(run)` returns the measured schedule. Raises InputError for a plan that
    the problem does not allow, or that needs a missing connection; PolicyError for a
    decision that cannot be carried out.
    """
    scenario = Scenario(problem.graph, problem.platform)
    return DagSubject(scenario).run(scheduler, drawn=problem, listener=listener)
