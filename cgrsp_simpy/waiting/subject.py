"""How studies run waiting policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

from cgrsp_simpy.base.policy import Named, chosen
from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.studies.subject import Subject
from cgrsp_simpy.waiting.jobs import ListedJobs
from cgrsp_simpy.waiting.policies import NO_ERRORS, ORDERS, Order, WaitingPolicy
from cgrsp_simpy.waiting.recursion import follow
from cgrsp_simpy.waiting.report import first_of


class WaitingSubject(Subject):
    """The policies of a study replace the scenario's."""

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether jobs are generated or predictions may be wrong."""
        return bool(self.model.steady or self.model.errors != NO_ERRORS)

    def draw(self, seed: int) -> None:
        """Draw nothing: jobs are drawn as they arrive."""

    def make_policy(self, policy: Any) -> WaitingPolicy | Order:
        """A policy from its text, or an order, a function of a View, of the scenario's
        policy.

        Raises InputError for an unknown name, parameter or file, and where a listed job
        would wait for a machine that no fixed machine is large enough for.
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
        """Run a policy on a seed; by the recursion if only figures are needed, which is
        several times as fast with figures equal to the bit.
        """
        own = self.model.under(self.make_policy(policy))
        if own.recursive and not records and listener is None:
            return follow(own, seed)
        return super().run(
            policy, seed, drawn=drawn, records=records, listener=listener
        )

    @property
    def parts(self) -> dict[str, Any]:
        made = {"prices": self.model.prices, "errors": self.model.errors}
        return made | (
            {"source": self.model.source} if is_dataclass(self.model.source) else {}
        )

    def varied(self, **parameters: Any) -> Any:
        """Return the scenario with other parameters: its own (machines, also as a
        number if they are shared), those of its source (jobs, rate_per_s, service_s),
        prices (fixed, on_demand) and errors (wait_over, wait_under, run_over,
        run_under).
        """
        if isinstance(parameters.get("machines"), int) and not isinstance(
            self.model.machines, int
        ):
            parameters["machines"] = self.model.machines[:1] * parameters["machines"]
        return super().varied(**parameters)

    def outcome(self, run: Run) -> dict[str, list[float]]:
        """Return by name the figure of the whole run, then of each batch."""
        batches: dict[str, list[float]] = self.report.batches(run)  # type: ignore[attr-defined]
        return batches

    def figures(self, outcome: Mapping[str, Sequence[float]]) -> dict[str, float]:
        return first_of(outcome)

    @property
    def pace_per_s(self) -> float:  # type: ignore[override]
        """Pace of the recursion, if it covers the scenario."""
        if not self.model.recursive:
            return Subject.pace_per_s
        return 1e5 if self.model.shared else 1e6
