"""What to change: the policy, the number of slots, or the freedom to choose the GPU type? Compared on the same seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from cgrsp_simpy.analysis.statistics import Mean, mean, paired_difference
from cgrsp_simpy.experiments.compare import Comparison
from cgrsp_simpy.experiments.gaps import bounds_of
from cgrsp_simpy.experiments.sweep import Sweep, sweep
from cgrsp_simpy.model.checks import InputError, check_whole, entries_of, require
from cgrsp_simpy.model.decision import Policy
from cgrsp_simpy.model.scenario import Scenario

__all__ = ["Advice", "Option", "advise", "variant"]

FIGURES = ("wait_min", "miss_pct", "tardiness_min", "cost_usd")
LESS_IS_BETTER = ("miss_pct", "wait_min", "cost_usd")  # by which the Pareto set is told


@dataclass(frozen=True)
class Option:
    """Something one could do. slots: how many; free_types: whether the policy chooses the type. figures: means by name."""

    policy: str
    slots: int
    free_types: bool
    figures: dict[str, Mean]

    def __str__(self) -> str:
        return f"{self.policy} on {self.slots} slots of {'free' if self.free_types else 'fixed'} type"

    def beats(self, other: Option) -> bool:
        """Whether it is no worse in every figure of LESS_IS_BETTER, and better in one."""
        pairs = [(self.figures[name].mean, other.figures[name].mean) for name in LESS_IS_BETTER]
        return all(own <= theirs for own, theirs in pairs) and any(own < theirs for own, theirs in pairs)


@dataclass(frozen=True)
class Advice:
    """Policies x slots x fixed or free types. bounds: (slots, free_types, figure) -> what no policy can be below, on average.

    unbounded: why there are no bounds, where the scenario allows none.
    """

    scenario: Scenario
    found: Sweep = field(repr=False)
    bounds: dict[tuple[int, bool, str], Mean] = field(repr=False)
    unbounded: str = ""

    @property
    def options(self) -> list[Option]:
        """All that was tried."""
        return [
            Option(policy, point["slots"], point["free_types"], {name: figures[name] for name in FIGURES})
            for point, study in self.found
            for policy, figures in study.means().items()
        ]

    @property
    def pareto(self) -> list[Option]:
        """Options that no other beats, fewest misses first."""
        options = self.options
        front = [one for one in options if not any(other.beats(one) for other in options)]
        return sorted(front, key=lambda option: option.figures["miss_pct"].mean)

    @property
    def now(self) -> Option:
        """The first policy on the scenario as it is."""
        return next(option for option in self.options if (option.slots, option.free_types) == self._as_it_is)

    @property
    def _as_it_is(self) -> tuple[int, bool]:
        return len(self.scenario.slots), self.scenario.free_types

    def best(self, slots: int, free_types: bool) -> Option:
        """The option of fewest misses there, of equals the shortest wait."""
        own = [option for option in self.options if (option.slots, option.free_types) == (slots, free_types)]
        return min(own, key=lambda option: (option.figures["miss_pct"].mean, option.figures["wait_min"].mean))

    def gap(self, option: Option, figure: str) -> float | None:
        """How far an option is above the bound, both on the seeds of the bound; None where none was computed."""
        bound = self.bounds.get((option.slots, option.free_types, figure))
        return None if bound is None else mean(self._values(option, figure)[: bound.n]).mean - bound.mean

    def change(self, option: Option, figure: str) -> Mean:
        """Mean of the paired differences of an option from what is now."""
        return paired_difference(self._values(option, figure), self._values(self.now, figure))

    def _values(self, option: Option, figure: str) -> list[float]:
        study: Comparison = self.found.at(slots=option.slots, free_types=option.free_types)
        return study.values(option.policy, figure)


def variant(scenario: Scenario, slots: int, free_types: bool) -> Scenario:
    """The scenario with so many slots, whose types go on in turn, and fixed or free types."""
    return replace(scenario, slots=tuple(islice(cycle(scenario.slots), slots)), free_types=free_types)


def advise(
    scenario: Scenario,
    policies: Sequence[str | Policy],
    slots: Sequence[int],
    seeds: Iterable[int],
    executor: Executor | int | None = None,
    *,
    bound_seeds: int = 3,
    out: str | Path | None = None,
) -> Advice:
    """Compare policies x slots x fixed or free types, and compute bounds for the scenario's own number of slots.

    policies: the first is the one in use. slots: numbers to try; the scenario's own is tried as well. bound_seeds: seeds, the
    first of all, whose bounds are averaged; 0 for none. Other arguments as of `compare`. Raises InputError for what is not
    allowed.
    """
    numbers = entries_of("slots", slots, "a list of numbers")
    for number in numbers:
        check_whole("slots", number, least=1)
    check_whole("bound_seeds", bound_seeds, least=0)
    require(len(policies) > 0, "policies", policies, "at least one")
    seeds, own = list(seeds), len(scenario.slots)
    grid: dict[str, Any] = {"slots": sorted({*numbers, own}), "free_types": [False, True]}
    found = sweep(grid, policies, seeds, lambda slots, free_types: variant(scenario, slots, free_types), executor, out=out)
    try:
        bounds = {
            (own, free, figure): mean(values)
            for free in (False, True)
            for figure, values in bounds_of(variant(scenario, own, free), seeds[:bound_seeds], executor).items()
            if values
        }
    except InputError as error:  # a log has no laws, and jobs of several GPUs no bound
        return Advice(scenario, found, {}, str(error))
    return Advice(scenario, found, bounds)
