"""What to change, of a table of options: the cheapest of those that are shown to be better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cgrsp_simpy.analysis.statistics import Mean

__all__ = ["EQUAL_MISSES", "FIGURES", "SLACK", "Option", "cheapest", "recommended"]

FIGURES = ("wait_min", "miss_pct", "tardiness_min", "cost_usd")
EQUAL_MISSES = 0.1  # points within which options miss equally many deadlines
SLACK = 0.05  # share of what is now by which wait and rent may rise and still count as no worse


@dataclass(frozen=True)
class Option:
    """Something one could do.

    Attributes
    ----------
    policy : str
        Its name.
    slots : int
        Number of slots.
    free_types : bool
        Whether the policy chooses the type.
    figures : dict
        Means by name of FIGURES.
    change : dict
        Means of the paired differences from what is now, by the same names.
    """

    policy: str
    slots: int
    free_types: bool
    figures: dict[str, Mean]
    change: dict[str, Mean]

    def __str__(self) -> str:
        return (
            f"{self.policy} on {self.slots} slots of {'free' if self.free_types else 'fixed'} type"
        )

    def beats(self, other: Option) -> bool:
        """Whether misses, wait and rent are no more in the mean, and one of them is less.

        Parameters
        ----------
        other : Option
            Another option.

        Returns
        -------
        bool
            By the means alone, without their intervals.
        """
        pairs = [
            (self.figures[name].mean, other.figures[name].mean)
            for name in ("miss_pct", "wait_min", "cost_usd")
        ]
        return all(own <= theirs for own, theirs in pairs) and any(
            own < theirs for own, theirs in pairs
        )


def cheapest(options: Iterable[Option]) -> Option:
    """Of the options that miss fewest deadlines the one of least rent; of equals fewest slots,
    then shortest wait.

    Misses are equal within EQUAL_MISSES of the fewest, rents if they are to the cent.
    """
    options = list(options)
    fewest = min(option.figures["miss_pct"].mean for option in options)
    equal = [
        option for option in options if option.figures["miss_pct"].mean <= fewest + EQUAL_MISSES
    ]
    return min(
        equal,
        key=lambda one: (
            round(one.figures["cost_usd"].mean, 2),
            one.slots,
            one.figures["miss_pct"].mean,
            one.figures["wait_min"].mean,
        ),
    )


def recommended(options: Sequence[Option], now: Option) -> tuple[Option, str] | None:
    """The option to begin with, and what it is shown to do; None if none is shown to be better
    than what is now.

    First come the options that miss fewer deadlines, whatever else they do; then those that shorten
    the wait, lower the rent or do with fewer slots, and are no worse in all before it. Shown is
    what the 95 % interval of the paired differences says: fewer, if it lies below 0; no worse,
    if it ends below EQUAL_MISSES, or SLACK of what is now. Of the options that are shown to do the
    same, the `cheapest` is taken.
    """
    allowed = {"miss_pct": EQUAL_MISSES} | {
        name: SLACK * now.figures[name].mean for name in ("wait_min", "cost_usd")
    }

    def less(option: Option, name: str) -> bool:
        return option.change[name].high < 0

    def no_worse(option: Option, *names: str) -> bool:
        return all(option.change[name].high <= allowed[name] for name in names)

    others = [option for option in options if str(option) != str(now)]
    shown = {
        "misses fewer deadlines": [one for one in others if less(one, "miss_pct")],
        "shortens the wait": [
            one for one in others if less(one, "wait_min") and no_worse(one, "miss_pct", "cost_usd")
        ],
        "lowers the rent": [
            one for one in others if less(one, "cost_usd") and no_worse(one, "miss_pct", "wait_min")
        ],
        "does with fewer slots": [
            one for one in others if one.slots < now.slots and no_worse(one, *allowed)
        ],
    }
    return next(((cheapest(found), what) for what, found in shown.items() if found), None)
