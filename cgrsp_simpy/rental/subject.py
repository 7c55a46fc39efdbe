"""How studies run scenarios of rented slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.market.gpu import GpuType, catalogue, round_robin
from cgrsp_simpy.market.law import clock_of
from cgrsp_simpy.market.stock import DAY_S, start_s
from cgrsp_simpy.rental.instances import Budget
from cgrsp_simpy.rental.opening import slot_hours
from cgrsp_simpy.rental.record import Totals
from cgrsp_simpy.rental.report import figures_of
from cgrsp_simpy.rental.workload import Drawn
from cgrsp_simpy.studies.subject import Subject

# Term of renting -> terms of which it needs one to have an effect.
NEEDS = {
    "checkpoint_s": ("preemption_per_h", "taken_when_low"),
    "checkpoint_cost_s": ("checkpoint_s",),
    "restart_s": ("preemption_per_h", "taken_when_low", "suspension"),
}


class RentalSubject(Subject):
    """Runs in the compiled loop if possible; a study stores the totals of a run."""

    @property
    def common(self) -> str:  # type: ignore[override]
        """The name "starting day" if the market is replayed, otherwise ""."""
        return "starting day" if self.model.market.series else ""

    def in_common(self, seed: int) -> int:
        market = self.model.market
        return int(start_s(market, seed) // DAY_S) if market.series else seed

    def draw(self, seed: int) -> Drawn:
        return Drawn(self.model.workload, self.model.service, seed)

    def make_policy(self, policy: Any) -> Any:
        """As `Subject.make_policy`; InputError if the terms forbid its suspensions."""
        policy = super().make_policy(policy)
        allowed = (
            "a policy without suspension, unless the terms of the scenario allow it"
        )
        suspends = getattr(policy, "suspends", False)
        allows = self.model.terms.suspension or not suspends
        require(allows, "policy", policy_name(policy), allowed)
        return policy

    def simulation(self, policy: Any, seed: int, **how: Any) -> Simulation:
        usd = self.model.terms.budget_usd_per_day
        if usd is not None:
            policy = Budget(policy, usd, self.model.market.clock)
        return super().simulation(policy, seed, **how)

    def not_compiled(self, policy: Any) -> str:
        from cgrsp_simpy.rental.bulk import why_not_compiled  # numba loads for a second

        return why_not_compiled(self.model, policy)

    def compiled(self, policy: Any, seed: int, drawn: Any, records: bool) -> Run | None:
        from cgrsp_simpy.rental.bulk import bulk

        plain = isinstance(drawn, Drawn | None) and not self.not_compiled(policy)
        return bulk(self.model, policy, seed, drawn, records) if plain else None

    def outcome(self, run: Run) -> list[Any]:
        """Return the totals of a run, in the order of the fields of Totals."""
        return [getattr(run.tally, item.name) for item in fields(Totals)]

    def figures(self, outcome: Sequence[Any]) -> dict[str, Any]:
        return figures_of(self.model, Totals(*outcome))

    def completed(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """As `Subject.completed`.

        slots: number of slots, a list of type names, or pairs of an hour and a number.
        gpus: a catalogue ("thesis", "2025" or a CSV file). market.clock: "calibrated"
        or "printed", started at the hour of day of a log or of hourly rates.
        """
        gpus, clock = parameters.get("gpus"), parameters.get("market.clock")
        if "slots" in parameters:
            parameters["slots"], hours = slot_hours(parameters["slots"])
            parameters.setdefault("opening.hours", hours)
        if isinstance(gpus, int | str):
            parameters["gpus"] = catalogue(gpus)
            parameters.setdefault("slots", len(self.model.slots))
        slots = parameters.get("slots")
        if slots is not None and not _are_types(slots):
            types = parameters.get("gpus", self.model.gpus)
            if slots in [gpu.name for gpu in types]:  # one slot
                slots = [slots]
            parameters["slots"] = round_robin(slots, types)
        if isinstance(clock, str):
            workload = parameters.get("workload", self.model.workload)
            parameters["market.clock"] = clock_of(clock, workload)
        return parameters

    def check_effective(self, names: Sequence[str], policies: Sequence[Any]) -> None:
        terms = self.model.terms
        for name, owners in NEEDS.items():
            if f"terms.{name}" in names and not any(
                getattr(terms, owner) or f"terms.{owner}" in names for owner in owners
            ):
                raise InputError(f"terms.{name} is used only by {' and '.join(owners)}")


def _are_types(slots: Any) -> bool:
    return isinstance(slots, tuple) and all(isinstance(each, GpuType) for each in slots)
