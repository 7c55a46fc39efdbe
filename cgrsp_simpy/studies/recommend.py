"""What to change, of a table of options: prices make one cost a day of what each gives, and what
is shown to cost less than today can be advised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import nan

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean, holm
from cgrsp_simpy.model.checks import check_number, python_numbers, require
from cgrsp_simpy.studies.study import many

PARTS = ("rent_usd", "slots_usd", "misses_usd", "late_usd", "waits_usd")  # of the cost of a day
COST = "total_usd"  # the figure that options are ranked by
FIGURES = ("wait_min", "miss_pct", "tardiness_min", *PARTS, COST)  # figures of an option
FIXED, FREE = "fixed types", "free types"
"""Names of fleets: slots of given types, or types that the policy chooses."""
MOST_USD = 1e9  # of a price: sums stay finite
SHOWN = 0.05  # the chance that any option is taken for cheaper where none is
WORTH = 0.001  # share of today's cost below which a saving is not advised
LEAST_SEEDS = 3  # two may agree by chance, and then seem to leave no doubt


@dataclass(frozen=True)
class Prices:
    """What a day costs beside the rent, each price from 0 to MOST_USD.

    The default prices of misses and waits give the thesis's trade-off, in which a minute of mean
    wait weighs as much as a tenth of a per cent missed; a late minute counts as ten waiting ones.
    A slot kept is an hour's rent of the cheapest type (thesis Table 4.1) a day: what is paid for
    its quota and disk whether it is used or not.

    Parameters
    ----------
    price_miss : float
        USD a missed deadline.
    price_late : float
        USD a minute that a job ends after its deadline.
    price_wait : float
        USD a minute that a job waits.
    price_slot : float
        USD a slot and day, used or not.

    Raises
    ------
    InputError
        For a price below 0 or above MOST_USD.
    """

    price_miss: float = 1.0
    price_late: float = 0.01
    price_wait: float = 0.001
    price_slot: float = 0.25

    def __post_init__(self) -> None:
        python_numbers(self)
        for item in fields(self):
            price = getattr(self, item.name)
            check_number(item.name, price, least=0)
            require(price <= MOST_USD, item.name, price, f"at most {MOST_USD:,.0f} USD")

    def of_jobs(self, late_s: np.ndarray, wait_s: np.ndarray) -> np.ndarray:
        """What jobs cost beside rent and slots, each by its lateness and wait; USD, (jobs,)."""
        late_usd = self.price_miss * (late_s > 0) + self.price_late * late_s / 60
        return np.asarray(late_usd + self.price_wait * wait_s / 60)

    def bill(self, row: Mapping[str, float], slots: int, days: float) -> dict[str, float]:
        """The cost of a day by its parts, and their sum.

        row: figures of a run, as of its `summary`. slots: that are kept. days: that the run stands
        for, > 0. Result: USD a day by name of PARTS, and COST.
        """
        jobs = row["completed"] / days
        parts = {
            "rent_usd": row["cost_usd"] / days,
            "slots_usd": self.price_slot * slots,
            "misses_usd": self.price_miss * jobs * row["miss_pct"] / 100,
            "late_usd": self.price_late * jobs * row["tardiness_min"],
            "waits_usd": self.price_wait * jobs * row["wait_min"],
        }
        return parts | {COST: sum(parts.values())}


@dataclass(frozen=True)
class Spot:
    """Spot instances of a type: cheaper, and taken back now and then.

    share: their price, as a share of the type's, from 0 to 1. per_h: rate per hour at which one is
    taken back, > 0.
    """

    share: float
    per_h: float

    def __post_init__(self) -> None:
        python_numbers(self)
        check_number("share of a spot price", self.share, least=0)
        require(self.share <= 1, "share of a spot price", self.share, "a number from 0 to 1")
        check_number("per_h of spot instances", self.per_h, above=0)


@dataclass(frozen=True)
class Option:
    """Something one could do.

    policy: its name. slots: number of slots. types: FIXED, FREE (the policy chooses the type), "all
    " and the name of one type, or "spot " and the name of the type whose instances are spot
    instances. figures: means by name of FIGURES; the money is of a day. change: means of the paired
    differences from what is now, by the same names.
    """

    policy: str
    slots: int
    types: str
    figures: dict[str, Mean]
    change: dict[str, Mean]

    def __str__(self) -> str:
        return f"{self.policy} on {many(self.slots, 'slot')}, {self.types}"

    @property
    def cost(self) -> float:
        """USD a day, the mean."""
        return self.figures[COST].mean

    @property
    def is_worth(self) -> bool:
        """Whether it costs less than what is now in the mean, by at least WORTH of its cost."""
        saved = -self.change[COST].mean
        return saved > 0 and saved >= WORTH * (self.cost + saved)

    def beats(self, other: Option) -> bool:
        """Whether misses, wait, and what is paid for rent and slots are no more in the mean, and
        one of them is less.

        other: another option. Result: by the means alone, without their intervals.
        """
        pairs = list(zip(self._paid(), other._paid()))
        return all(own <= theirs for own, theirs in pairs) and any(
            own < theirs for own, theirs in pairs
        )

    def _paid(self) -> tuple[float, float, float]:
        means = {name: value.mean for name, value in self.figures.items()}
        return means["miss_pct"], means["wait_min"], means["rent_usd"] + means["slots_usd"]


def with_enough(found: Mean) -> Mean:
    """The mean, without interval and p where it is of fewer than LEAST_SEEDS."""
    return found if found.n >= LEAST_SEEDS else replace(found, low=nan, high=nan, p=nan)


def cheapest(options: Iterable[Option]) -> Option:
    """The option of least mean cost a day; of equals the first with fewest slots."""
    return min(options, key=lambda option: (option.cost, option.slots))


def shown_cheaper(options: Sequence[Option]) -> list[Option]:
    """The options that are shown to cost less than what is now, by at least WORTH of its cost.

    Shown is what Student's t-test of the paired differences says, by Holm's adjustment over all
    options: the chance that any is named where none is cheaper stays below SHOWN.

    options: all others that were tried; what is now is not one of them. Result: in the order given;
    none from fewer than LEAST_SEEDS.
    """
    adjusted = holm([option.change[COST].p for option in options])
    return [option for option, p in zip(options, adjusted) if p < SHOWN and option.is_worth]
