"""How studies run scenarios of rented slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import chain
from typing import Any

from cgrsp_simpy.base.checks import check_one_of, require
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.rental.deadlines import DeadlineClasses
from cgrsp_simpy.rental.gpu import round_robin
from cgrsp_simpy.rental.instances import Budget
from cgrsp_simpy.rental.market import clock_of
from cgrsp_simpy.rental.record import Totals
from cgrsp_simpy.rental.report import figures_of
from cgrsp_simpy.rental.stock import DAY_S, start_s
from cgrsp_simpy.rental.workload import Drawn
from cgrsp_simpy.studies.subject import Subject

MARKET = ("persistence_s", "sight")  # parameters of the market that a sweep may vary


class RentalSubject(Subject):
    """Runs in the compiled loop if possible; a study keeps the sums of a run."""

    @property
    def common(self) -> str:  # type: ignore[override]
        """The day of the record on which a run begins, if the market is replayed."""
        return "starting day" if self.model.market.series else ""

    def in_common(self, seed: int) -> int:
        market = self.model.market
        return int(start_s(market, seed) // DAY_S) if market.series else seed

    def draw(self, seed: int) -> Drawn:
        return Drawn(self.model.workload, self.model.service, seed)

    def make_policy(self, policy: Any) -> Any:
        """As `Subject.make_policy`; InputError also for a policy that suspends jobs, if
        the terms do not allow that.
        """
        policy = super().make_policy(policy)
        allowed = "of a scenario whose terms allow suspension"
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
        """Return the sums of a run, in the order of the fields of Totals."""
        return [getattr(run.tally, item.name) for item in fields(Totals)]

    def figures(self, outcome: Sequence[Any]) -> dict[str, Any]:
        return figures_of(self.model, Totals(*outcome))

    def varied(self, **parameters: Any) -> Any:
        """Return the scenario with other parameters: its own (slots: a number or a list
        of types; free_types), of its workload (jobs, rate_per_s or rates, deadlines),
        of the thesis's two deadline classes (tight_fraction, tight_window_s,
        loose_window_s), of the market (persistence_s, sight), of its terms (retry_s,
        warm_s, ...), or clock: "calibrated" or "printed", started at the hour of day of
        a log or of rates by hour.

        Raises InputError for a name that is no parameter, or a value that is not
        allowed.
        """
        scenario, changed = self.model, dict(parameters)
        two = getattr(scenario.workload, "deadlines", None)
        held: dict[str, Any] = {"market": scenario.market}
        held |= {"deadlines": two} if isinstance(two, DeadlineClasses) else {}
        held |= {"workload": scenario.workload, "": scenario, "terms": scenario.terms}
        names = {
            part: [item.name for item in fields(value) if item.init]
            for part, value in held.items()
            if is_dataclass(value)  # a user's workload may be of any class
        }
        names["market"] = ["clock", *MARKET]
        for name in changed:
            check_one_of("parameter of the scenario", name, chain(*names.values()))
        if "slots" in changed:
            changed["slots"] = round_robin(changed["slots"], scenario.gpus)
        if "clock" in changed:
            changed["clock"] = clock_of(changed["clock"], scenario.workload)
        outer = names.pop("")
        # the deadlines before the workload, which has them
        for part, inner in names.items():
            values = {
                name: changed.pop(name)
                for name in inner
                if name in changed and name not in outer
            }
            if values:
                changed[part] = replace(changed.get(part, held[part]), **values)
        return replace(scenario, **changed)
