"""What renting means: refusals, warm instances, bills and budgets. The thesis's terms are
the default of each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from cgrsp_simpy.model.checks import check_number, check_one_of
from cgrsp_simpy.model.model import Metric

__all__ = ["BILLED_FROM", "Terms"]

BILLED_FROM = ("execution", "provisioning")
ROUNDING = 1e-9  # of an increment: sums of doubles


@dataclass(frozen=True)
class Terms:
    """The terms of renting instances for the slots.

    An instance is rented for a slot when a job is sent there, and given back when the job
    ends, unless it is kept warm. All costs of an instance are those of the job that holds
    it, or held it last.

    Parameters
    ----------
    retry_s : float, optional
        Low stock is a refusal: the job leaves its slot at once, and waits again in the queue
        after so many seconds, > 0. None: Low stock is a long delay that holds the slot.
    warm_s : float
        Seconds for which an instance is kept after its job. A job sent to the slot in that
        time, as the same type, starts at once. A policy with a method keep_s(view, slot)
        decides how many seconds of these; idle time is paid.
    billed_from : str
        "execution" or "provisioning": what an instance is paid from.
    minimum_s, increment_s : float
        The seconds billed for an instance are at least `minimum_s`, and rounded up to whole
        increments; 0: as they are.
    budget_usd_per_day : float, optional
        When what has been billed since midnight has reached it, no job is dispatched before
        the next midnight; those that run go on. None: no budget.

    Raises
    ------
    InputError
        For a value that is not allowed.

    References
    ----------
    The defaults: thesis Eq. 3.2 (the delay at Low stock) and 3.11 (execution by the second).
    """

    retry_s: float | None = None
    warm_s: float = 0.0
    billed_from: str = "execution"
    minimum_s: float = 0.0
    increment_s: float = 0.0
    budget_usd_per_day: float | None = None

    def __post_init__(self) -> None:
        if self.retry_s is not None:
            check_number("retry_s", self.retry_s, above=0)
        for name in ("warm_s", "minimum_s", "increment_s"):
            check_number(name, getattr(self, name), least=0)
        check_one_of("billed_from", self.billed_from, BILLED_FROM)
        if self.budget_usd_per_day is not None:
            check_number("budget_usd_per_day", self.budget_usd_per_day, above=0)

    @cached_property
    def columns(self) -> dict[str, Metric]:
        """What a record of a job has beside the thesis's, and a run sums up: by name."""
        found: dict[str, Metric] = {}
        if self.retry_s is not None:
            found["refusals"] = Metric("refusals")
        if self.warm_s:
            found["warm_starts"] = Metric("warm starts", better="more")
        parts = [part for part, has in self._parts().items() if has]
        if len(parts) > 1:
            for part in parts:
                found[f"{part}_usd"] = Metric(f"cost of {PARTS[part]}", "USD")
        return found

    def _parts(self) -> dict[str, bool]:
        """Whether there can be costs of each part."""
        return {
            "executing": True,
            "provisioning": self.billed_from == "provisioning",
            "idle": self.warm_s > 0,
            "rounding": self.minimum_s > 0 or self.increment_s > 0,
        }

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """The figures of a run beside the thesis's."""
        if self.budget_usd_per_day is None:
            return self.columns
        return {**self.columns, "budget_days": Metric("days whose budget was spent", "days")}

    def rounding_s(self, used_s: float) -> float:
        """Seconds that are billed for an instance beyond those for which it was used."""
        if not used_s:
            return 0.0
        billed_s = max(used_s, self.minimum_s)
        if self.increment_s:
            billed_s = self.increment_s * math.ceil(billed_s / self.increment_s - ROUNDING)
        return max(0.0, billed_s - used_s)


PARTS = {
    "executing": "execution",
    "provisioning": "provisioning",
    "idle": "idle instances",
    "rounding": "minimum and increment",
}
"""Parts of the cost, which add up to it, in words."""
