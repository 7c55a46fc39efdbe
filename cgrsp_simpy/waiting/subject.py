"""How studies run the waiting policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cgrsp_simpy.base.policy import Named, chosen
from cgrsp_simpy.base.table import Table, rounded
from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.studies.subject import Subject
from cgrsp_simpy.waiting.jobs import ListedJobs
from cgrsp_simpy.waiting.machines import read_sizes, shared_machines
from cgrsp_simpy.waiting.policies import NO_ERRORS, ORDERS, Order, WaitingPolicy
from cgrsp_simpy.waiting.recursion import follow
from cgrsp_simpy.waiting.report import first_of


class WaitingSubject(Subject):
    """Subject of a study; each of its policies replaces that of the scenario."""

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether jobs are generated or predictions may be wrong."""
        return bool(self.model.steady or self.model.errors != NO_ERRORS)

    def left_out(self) -> dict[str, str]:
        """Return the policies without a steady state, each with the reason."""
        reasons = {
            name: self.model.under(self.make_policy(name)).unsteady
            for name in self.model.compared
        }
        return {name: reason for name, reason in reasons.items() if reason}

    def draw(self, seed: int) -> None:
        """Do nothing: jobs are drawn as they arrive."""

    def make_policy(self, policy: Any) -> WaitingPolicy | Order:
        """Return a policy from its name, or an order, which is a function of a View.

        Raises InputError for an unknown name, parameter or file, and if a listed job
        would wait but fits on no fixed machine.
        """
        own = policy.policy if isinstance(policy, Named) else policy
        made = own if isinstance(own, WaitingPolicy) else super().make_policy(own)
        scenario = self.model.under(made)
        if scenario.shared and isinstance(self.model.source, ListedJobs):
            list(scenario.foreseen(0))
        return made

    def simulation(
        self,
        policy: WaitingPolicy | Order,
        seed: int,
        *,
        drawn: None = None,
        records: bool = True,
        listener: Listener | None = None,
    ) -> Simulation:
        own = self.model.under(policy)
        order = chosen("order", own.order, ORDERS)
        run = Simulation(own, order, seed, records=records, listener=listener)
        run.name = own.label
        return run

    def run(
        self,
        policy: Any,
        seed: int = 0,
        *,
        drawn: None = None,
        records: bool = True,
        listener: Listener | None = None,
        engine: str = "simpy",
    ) -> Run:
        """Run a policy; without records by the recursion, bit-identical."""
        own = self.model.under(self.make_policy(policy))
        if own.recursive and not records and listener is None:
            return follow(own, seed)
        return super().run(
            policy, seed, drawn=drawn, records=records, listener=listener
        )

    def completed(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Convert strings to values, as in `Subject.completed`.

        machines: for shared machines "3x64" (number x cores), or "3x64x256" with memory
        in GB; a number alone keeps the size of shared ones. sizes: path of a CSV file.
        """
        machines, present = parameters.get("machines"), self.model.machines
        if isinstance(machines, str):
            parameters["machines"] = shared_machines(machines)
        elif isinstance(machines, int) and not isinstance(present, int):
            parameters["machines"] = present[:1] * machines
        if isinstance(parameters.get("sizes"), str):
            parameters["sizes"] = read_sizes(parameters["sizes"])
        return parameters

    def outcome(self, run: Run) -> dict[str, list[float]]:
        """Return name -> the figure of the whole run, then those of its batches."""
        batches: dict[str, list[float]] = self.report.batches(run)  # type: ignore[attr-defined]
        return batches

    def figures(self, outcome: Mapping[str, Sequence[float]]) -> dict[str, float]:
        return first_of(outcome)

    @property
    def pace_per_s(self) -> float:  # type: ignore[override]
        """Jobs per second of the recursion, if it covers the scenario."""
        if not self.model.recursive:
            return Subject.pace_per_s
        return 1e5 if self.model.shared else 1e6

    def study_details(self, study: Any) -> tuple[Sequence[Table], Mapping[str, Any]]:
        """Return a table of simulation and formula, if there is a formula."""
        formulas = {name: self._formula(each) for name, each in study.named.items()}
        if not any(formulas.values()):
            return [], {"formula": formulas}
        names = self.report.shown
        cells = [["policy", *(cell for name in names for cell in (name, "formula"))]]
        for policy, row in study.means().items():
            closed_form = formulas[policy]
            cells.append([policy])
            for name in names:
                known = f"{closed_form[name]:.4g}" if closed_form else "-"
                cells[-1] += [rounded(row[name].mean, row[name].half_width), known]
        return [Table("simulation and formula", cells)], {"formula": formulas}

    def _formula(self, policy: Any) -> dict[str, float] | None:
        made = self.make_policy(policy)
        if not isinstance(made, WaitingPolicy):
            return None
        formula: dict[str, float] | None = self.model.under(made).formula()
        return formula
