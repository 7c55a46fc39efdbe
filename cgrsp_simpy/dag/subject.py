"""How studies run schedulers of graphs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.policy import Named
from cgrsp_simpy.base.table import Table
from cgrsp_simpy.dag.platform import read_platform
from cgrsp_simpy.dag.policies import SEARCHES, Planner, is_search
from cgrsp_simpy.dag.problem import Plan, Problem
from cgrsp_simpy.dag.search import Budget, Solution
from cgrsp_simpy.dag.view import InTurn, OwnPolicy
from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.engine.simulation import Simulation
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


class DagSubject(Subject):
    """DAG subject: plans are made before a run, online policies decide during it."""

    pace_per_s = 10_000.0  # of a search that learns

    def draw(self, seed: int) -> Problem:
        """Return the graph and the GPUs of a seed."""
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
        others = len(policies) - searches
        return self.work * searches + int(self.model.jobs) * others

    def is_random_under(self, policies: Sequence[Any]) -> bool:
        """Whether the seed affects the graph, the use by others or a scheduler."""
        graph = self.model.graph
        drawn = isinstance(graph, str) and graph.partition(":")[0] == "er"
        lucky = any(is_search(each) or each == "random" for each in policies)
        return drawn or self.model.state != "free" or lucky

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
        made: Any = policy if solution is None else InTurn(problem, solution.plan)
        nodes, plan = zip(repeat(0.0), problem.graph.jobs), Planned(problem, solution)
        return Simulation(
            self.model,
            made,
            seed,
            drawn=nodes,
            records=records,
            listener=listener,
            plan=plan,
        )

    def completed(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """As `Subject.completed`; budget may be evaluations, platform a file."""
        if isinstance(parameters.get("platform"), str):
            parameters["platform"] = read_platform(parameters["platform"])
        if isinstance(parameters.get("budget"), int):
            parameters["budget"] = Budget(evaluations=parameters["budget"])
        return parameters

    def check_effective(self, names: Sequence[str], policies: Sequence[Any]) -> None:
        limited = any(name.partition(".")[0] == "budget" for name in names)
        allowed = f"omitted unless one of these searches runs: {', '.join(SEARCHES)}"
        effective = any(map(is_search, policies)) or not limited
        require(effective, "budget", self.model.budget, allowed)

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
            f" {test.p:.2g}; ranks that differ by more than"
            f" {test.critical_difference:.2f} differ (Nemenyi, 5 %)"
        )
        rows = sorted(zip(test.mean.tolist(), study.policies))
        cells = [[name, f"{rank:.2f}"] for rank, name in rows]
        return [Table(heading, [["policy", "rank"], *cells])], {}
