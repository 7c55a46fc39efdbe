"""What to change: the policy, the number of slots, or the freedom to choose the GPU type?

Compared on the same seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

from cgrsp_simpy.analysis.statistics import Mean, mean, paired_difference
from cgrsp_simpy.model.checks import InputError, check_whole, entries_of, require
from cgrsp_simpy.model.policy import PolicyError
from cgrsp_simpy.rental.gpu import round_robin
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.view import Policy
from cgrsp_simpy.rental.workload import LoggedWorkload
from cgrsp_simpy.studies.compare import Comparison
from cgrsp_simpy.studies.gaps import bounds_of, expected
from cgrsp_simpy.studies.recommend import FIGURES, Option
from cgrsp_simpy.studies.study import failures_told
from cgrsp_simpy.studies.sweep import Sweep, sweep

__all__ = ["Advice", "Option", "advise", "variant"]


@dataclass(frozen=True)
class Advice:
    """Policies x slots x fixed or free types.

    Attributes
    ----------
    scenario : Scenario
        What is now.
    found : Sweep
        The figures at each point of the grid.
    bounds : dict
        (slots, free_types, figure) -> what no policy can be below, on average; one a seed, of the
        first of the seeds.
    unbounded : str
        Why there are no bounds, where the scenario allows none.
    means : dict
        (policy, slots, free_types, figure) -> means over many draws of the same arrivals; one a
        seed of the bounds.
    """

    scenario: Scenario
    found: Sweep = field(repr=False)
    bounds: dict[tuple[int, bool, str], list[float]] = field(repr=False)
    unbounded: str = ""
    means: dict[tuple[str, int, bool, str], list[float]] = field(default_factory=dict, repr=False)

    @cached_property
    def options(self) -> list[Option]:
        """All that was tried."""
        return [
            self._option(policy, point["slots"], point["free_types"])
            for point, study in self.found
            for policy in study.policies
        ]

    @property
    def pareto(self) -> list[Option]:
        """Options that no other beats, fewest misses first."""
        front = [one for one in self.options if not any(other.beats(one) for other in self.options)]
        return sorted(front, key=lambda option: option.figures["miss_pct"].mean)

    @property
    def now(self) -> Option:
        """The first policy on the scenario as it is."""
        return self.at(len(self.scenario.slots), self.scenario.free_types)[0]

    def at(self, slots: int, free_types: bool) -> list[Option]:
        """The options with so many slots, of fixed or free types.

        Parameters
        ----------
        slots : int
            Number of slots.
        free_types : bool
            Whether the policy chooses the type.

        Returns
        -------
        list of Option
            One a policy; none for a point that was not tried.
        """
        return [
            option
            for option in self.options
            if (option.slots, option.free_types) == (slots, free_types)
        ]

    def gap(self, option: Option, figure: str) -> Mean | None:
        """How far the means of an option over many draws are above the bound of the same
        arrivals, paired on the seeds of the bound.

        Parameters
        ----------
        option : Option
            Of `options`.
        figure : str
            wait_min or miss_pct.

        Returns
        -------
        Mean or None
            In the figure's unit; None without an interval: below two seeds.
        """
        bounds = self.bounds.get((option.slots, option.free_types, figure), [])
        means = self.means.get((option.policy, option.slots, option.free_types, figure), [])
        return paired_difference(means, bounds) if len(bounds) > 1 else None

    def _option(self, policy: str, slots: int, free_types: bool) -> Option:
        now = self.found.policies[0], len(self.scenario.slots), self.scenario.free_types
        values = {name: self._values(policy, slots, free_types, name) for name in FIGURES}
        change = {
            name: paired_difference(values[name], self._values(*now, name)) for name in FIGURES
        }
        return Option(
            policy, slots, free_types, {name: mean(own) for name, own in values.items()}, change
        )

    def _values(self, policy: str, slots: int, free_types: bool, figure: str) -> list[float]:
        study: Comparison = self.found.at(slots=slots, free_types=free_types)
        return study.values(policy, figure)


def variant(scenario: Scenario, slots: int, free_types: bool) -> Scenario:
    """The scenario with so many slots, of fixed or free types.

    If its slots are the rentable types in turn, further ones go on so, as another number of slots
    would have them; else with the scenario's own slots from the first.
    """
    own = scenario.slots
    in_turn = own == round_robin(len(own), scenario.gpus)
    types = round_robin(slots, scenario.gpus) if in_turn else tuple(islice(cycle(own), slots))
    return replace(scenario, slots=types, free_types=free_types)


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
    """Compare policies x slots x fixed or free types, and compute bounds for the scenario's own
    number of slots.

    Parameters
    ----------
    scenario : Scenario
        What is now.
    policies : sequence of str or Policy
        The first is the one in use.
    slots : sequence of int
        Numbers of slots to try, >= 1; the scenario's own is tried as well.
    seeds, executor
        As of `compare`.
    bound_seeds : int
        How many seeds, the first of all, get bounds; 0 for none.
    out : str or Path, optional
        As of `compare`.

    Returns
    -------
    Advice
        `print` shows it.

    Raises
    ------
    InputError
        For what is not allowed.
    PolicyError
        If a run fails.
    """
    numbers = entries_of("slots", slots, "a list of numbers")
    for number in numbers:
        check_whole("slots", number, least=1)
    check_whole("bound_seeds", bound_seeds, least=0)
    require(len(policies) > 0, "policies", policies, "at least one")
    seeds, own = list(seeds), len(scenario.slots)
    grid: dict[str, Any] = {"slots": sorted({*numbers, own}), "free_types": [False, True]}
    found = sweep(
        grid,
        policies,
        seeds,
        lambda slots, free_types: variant(scenario, slots, free_types),
        executor,
        out=out,
    )
    if found.failures:  # nothing is said of means over other seeds
        raise PolicyError(failures_told(found)[-1])
    if isinstance(scenario.workload, LoggedWorkload):
        return Advice(scenario, found, {}, "that of a log takes minutes; cgrsp bound computes it")
    try:
        bounds = {
            (own, free, figure): values
            for free in (False, True)
            for figure, values in bounds_of(
                variant(scenario, own, free), seeds[:bound_seeds], executor
            ).items()
            if values
        }
    except InputError as error:  # jobs of several GPUs, or a market of which none is proved
        return Advice(scenario, found, {}, str(error))
    return Advice(scenario, found, bounds, means=_means(scenario, found, bounds, executor))


def _means(
    scenario: Scenario,
    found: Sweep,
    bounds: Mapping[tuple[int, bool, str], list[float]],
    executor: Executor | int | None,
) -> dict[tuple[str, int, bool, str], list[float]]:
    """Means over many draws, of all policies and the seeds that have bounds."""
    means: dict[tuple[str, int, bool, str], list[float]] = {}
    points = {(slots, free): len(values) for (slots, free, _), values in bounds.items()}
    for (slots, free), number in points.items():
        study: Comparison = found.at(slots=slots, free_types=free)
        seeds = study.seeds[:number]
        own = expected(variant(scenario, slots, free), study.named, seeds, executor)
        for policy, figure in product(study.policies, ("wait_min", "miss_pct")):
            means[policy, slots, free, figure] = [own[policy, figure, seed] for seed in seeds]
    return means
