"""How studies run schedulers of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.base.table import Table, figure_text
from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.hgsp.instance import CLUSTERS, Instance, cluster
from cgrsp_simpy.hgsp.policies import OWNERS, Planner
from cgrsp_simpy.hgsp.report import plan_of, schedule_of
from cgrsp_simpy.hgsp.rules import RULES
from cgrsp_simpy.studies.subject import Subject


class HgspSubject(Subject):
    """HGSP subject: plans are made before a run, rules decide during it."""

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether tasks or service times are random; if not, only searches are."""
        return self.model.noise > 0 or not isinstance(self.model.source, Instance)

    def draw(self, seed: int) -> Instance:
        """Return the tasks for a seed."""
        instance: Instance = self.model.instance(seed)
        return instance

    def default_policies(self) -> tuple[str, ...]:
        """Return only rules if no plan is possible; else all, with scenario limits."""
        if self.model.unknown_arrivals and self.model.replan_s is None:
            return tuple(RULES)
        limited = self.model.moves is not None or self.model.seconds is not None
        return tuple(
            name.partition(":")[0] if limited else name for name in self.model.compared
        )

    def make_policy(self, policy: Any) -> Planner:
        """Return the planner of a scheduler or policy, with its planning times.

        Also raises InputError for a scheduler that cannot plan at these times.
        """
        if isinstance(policy, str) and policy.partition(":")[0] == "annealing":
            raise InputError(
                "the scheduler annealing is now called search; its parameters are the"
                " same"
            )
        made: Any = super().make_policy(policy)
        own = made if isinstance(made, Planner) else Planner(made)
        planner = own.within(self.model.moves, self.model.seconds)
        if planner.is_frozen and self.model.replan_s is not None:
            planner = replace(planner, replan_s=self.model.replan_s)
        elif planner.is_frozen and self.model.unknown_arrivals:
            if planner.scheduler not in RULES:
                raise InputError(
                    f"{planner.name} plans in advance, which is impossible with"
                    " unknown arrivals; set replan_s to plan again at intervals,"
                    f" or use a rule ({', '.join(RULES)})"
                )
            planner = replace(planner, online=True)
        if (
            planner.scheduler == "search"
            and planner.replan_s
            and not (planner.moves or planner.seconds)
        ):
            raise InputError(
                "search with replan_s needs a limit per plan: set moves (a number"
                " of moves) or seconds"
            )
        return planner

    def simulation(
        self,
        policy: Planner,
        seed: int,
        *,
        drawn: Instance | None = None,
        records: bool = True,
        listener: Listener | None = None,
    ) -> Simulation:
        instance = self.draw(seed) if drawn is None else drawn
        plan, tasks = policy.plan(instance, seed), self.model.arriving(instance, seed)
        run = Simulation(
            self.model,
            policy.policy(plan, seed),
            seed,
            drawn=tasks,
            records=records,
            listener=listener,
        )
        run.plan = plan
        return run

    @property
    def parts(self) -> dict[str, Any]:
        """As `Subject.parts`, with a named load level as its Level."""
        source = self.model.resolved_source
        return super().parts | ({"source": source} if is_dataclass(source) else {})

    def completed(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """As `Subject.completed`; source.cluster may be a name or a file."""
        name = parameters.get("source.cluster")
        if isinstance(name, str) and name not in CLUSTERS:
            parameters["source.cluster"] = cluster(name)
        return parameters

    def check_effective(self, names: Sequence[str], policies: Sequence[Any]) -> None:
        schedulers = {str(policy).partition(":")[0] for policy in policies}
        for name in ("replan_s", "moves", "seconds"):
            allowed = f"omitted unless {' or '.join(OWNERS[name])} runs"
            effective = not schedulers.isdisjoint(OWNERS[name])
            require(
                effective or name not in names, name, getattr(self.model, name), allowed
            )

    def details(self, run: Any) -> tuple[Sequence[Table], Mapping[str, Any]]:
        """Return the planned and the measured metrics, if they can differ."""
        planned, measured = plan_of(run).metrics, schedule_of(run).metrics
        content = {"planned": planned, "measured": measured}
        if self.model.is_certain and not run.plan.planner.replan_s:
            return [], content
        cells = [
            [name, figure_text(planned[name]), figure_text(measured[name])]
            for name in planned
        ]
        return [Table("plan and run", [["", "planned", "measured"], *cells])], content
