"""What to change: the policy, the number of slots, their types, or the freedom to choose these?

Compared on the same seeds, in USD a day: prices make one cost a day of what each gives, and what is
shown to cost less than today can be advised.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import cycle, islice, product
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import (
    Mean,
    block_bootstrap_mean,
    holm,
    mean,
    paired_difference,
)
from cgrsp_simpy.decide.gaps import bounds_of, expected
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.model.checks import (
    InputError,
    check_number,
    check_whole,
    entries_of,
    python_numbers,
    require,
)
from cgrsp_simpy.model.policy import PolicyError
from cgrsp_simpy.rental.gpu import GpuType, round_robin
from cgrsp_simpy.rental.policies import POLICIES
from cgrsp_simpy.rental.policies.later import LooseLater, scarce_spans
from cgrsp_simpy.rental.scenario import Scenario, widths
from cgrsp_simpy.rental.terms import Preemption
from cgrsp_simpy.rental.view import Policy
from cgrsp_simpy.rental.workload import LoggedWorkload
from cgrsp_simpy.studies.replicate import check_policies, check_seeds
from cgrsp_simpy.studies.study import failures_told, many
from cgrsp_simpy.studies.sweep import Sweep, sweep

PARTS = ("rent_usd", "slots_usd", "misses_usd", "late_usd", "waits_usd")  # of the cost of a day
COST = "total_usd"  # the figure that options are ranked by
FIGURES = ("wait_min", "miss_pct", "tardiness_min", *PARTS, COST)  # figures of an option
FIXED, FREE = "fixed types", "free types"
"""Names of fleets: slots of given types, or types that the policy chooses."""
MOST_USD = 1e9  # of a price: sums stay finite
SHOWN = 0.05  # the chance that any option is taken for cheaper where none is
WORTH = 0.001  # share of today's cost below which a saving is not advised
LEAST_SEEDS = 3  # two may agree by chance, and then seem to leave no doubt


# a price, and the parameter of the policy that weighs by it
WEIGHS_BY = {
    "price_miss": "price_miss_usd",
    "price_late": "price_late_usd_per_min",
    "price_wait": "price_wait_usd_per_min",
}


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

    def passed_to(self, policies: Iterable[Any]) -> list[Any]:
        """The policies, `triage` with those of the prices that are not the default ones, where it
        has no parameters of its own.
        """
        own = [
            f"{parameter}={getattr(self, name)!r}"
            for name, parameter in WEIGHS_BY.items()
            if getattr(self, name) != getattr(Prices, name)
        ]
        weighed = f"triage:{','.join(own)}" if own else "triage"
        return [weighed if policy == "triage" else policy for policy in policies]

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


HOUR_S, DAY_S = 3600, 86_400
WEEK = 7  # days: of fewer, nothing is said of others


@dataclass(frozen=True)
class Advice:
    """Policies x fleets, as costs of a day.

    Attributes
    ----------
    scenario : Scenario
        What is now.
    found : Sweep
        The figures of each fleet, by its name.
    prices : Prices
        Of what is not in the rent.
    bounds : dict
        (types, figure) -> what no policy can be below, on average, with the scenario's own number
        of slots; one a seed, of the first of the seeds.
    spot : Spot, optional
        What spot instances are, where they were tried.
    unbounded : str
        Why there are no bounds, where the scenario allows none.
    means : dict
        (policy, types, figure) -> means over many draws of the same arrivals, with the scenario's
        own number of slots; one a seed of the bounds.
    loads : tuple of float
        Offered load of what is now by the hour, from the first submission to the last: what the
        jobs of the hour hold the slots for, provisioning included, over what the slots have; on
        the first seed.
    """

    scenario: Scenario
    found: Sweep = field(repr=False)
    prices: Prices
    bounds: dict[tuple[str, str], list[float]] = field(repr=False)
    spot: Spot | None = None
    unbounded: str = ""
    means: dict[tuple[str, str, str], list[float]] = field(default_factory=dict, repr=False)
    loads: tuple[float, ...] = ()
    _by_day: dict[str, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    @property
    def days(self) -> float:
        """Days that a run stands for: in so many as many jobs come at the mean rate (of a log, from
        its first to its last submission); at least one.
        """
        return max(1.0, self.scenario.jobs / self.scenario.workload.rate_per_s / DAY_S)

    @cached_property
    def options(self) -> list[Option]:
        """All that was tried, least cost first."""
        tried = [
            self._option(policy, *fleet) for fleet in self._fleets for policy in self.found.policies
        ]
        return sorted(tried, key=lambda option: (option.cost, option.slots))

    @property
    def pareto(self) -> list[Option]:
        """Options that no other beats, fewest misses first."""
        front = [one for one in self.options if not any(other.beats(one) for other in self.options)]
        return sorted(front, key=lambda option: option.figures["miss_pct"].mean)

    @property
    def now(self) -> Option:
        """The first policy on the scenario as it is."""
        own = self.at(len(self.scenario.slots), own_types(self.scenario))
        return next(option for option in own if option.policy == self.found.policies[0])

    @property
    def others(self) -> list[Option]:
        """All options but what is now, least cost first."""
        now = str(self.now)
        return [option for option in self.options if str(option) != now]

    def at(self, slots: int, types: str) -> list[Option]:
        """The options of a fleet.

        slots: number of slots. types: as of an option. Result: one a policy, least cost first; none
        for a fleet that was not tried.
        """
        return [option for option in self.options if (option.slots, option.types) == (slots, types)]

    def between(self, one: Option, other: Option, figure: str) -> Mean:
        """The mean of the paired differences of one option from another.

        figure: a name of FIGURES. Result: in the figure's unit, with its 95 % interval.
        """
        return with_enough(
            paired_difference(self._values(one, figure), self._values(other, figure))
        )

    @property
    def whole_days(self) -> int:
        """Parts of about a day that the days of a log are taken in; 0 where jobs are drawn."""
        drawn = not isinstance(self.scenario.workload, LoggedWorkload)
        return 0 if drawn else round(self.days)

    @property
    def block_days(self) -> int:
        """Days that are drawn together, as many as the cube root of all; 0 below a week."""
        return math.ceil(self.whole_days ** (1 / 3)) if self.whole_days >= WEEK else 0

    def for_days(self, option: Option) -> Mean | None:
        """What an option changes of the cost of a day, for days like those of the log: they are
        drawn again in blocks, each with its mean over the seeds.

        Simulates again, for the days of the jobs.

        Result: USD a day, with its 95 % interval; None where jobs are drawn, and below a week.
        """
        if not self.block_days:
            return None
        return block_bootstrap_mean(self._daily(option) - self._daily(self.now), self.block_days)

    def _daily(self, option: Option) -> np.ndarray:
        """The cost of each day, of the jobs that were submitted on it; the mean over the seeds."""
        if str(option) not in self._by_day:
            study = self.found.at(fleet=self._fleets[option.slots, option.types])
            runs = [study.run(option.policy, seed) for seed in study.seeds]
            by_seed = np.transpose([self._cost_by_day(run) for run in runs]).tolist()
            costs = np.mean(study.independent(*by_seed), axis=1)
            self._by_day[str(option)] = costs + self.prices.price_slot * option.slots
        return self._by_day[str(option)]

    def _cost_by_day(self, run: Run) -> np.ndarray:
        jobs, days = run.jobs, self.whole_days
        cost_usd = jobs["cost_usd"] + self.prices.of_jobs(
            late_s=np.maximum(0.0, jobs["finish_s"] - jobs["deadline_s"]),
            wait_s=jobs["start_s"] - jobs["submit_s"],
        )
        return _by_part(jobs["submit_s"], cost_usd, days) * (days / self.days)

    def gap(self, option: Option, figure: str) -> Mean | None:
        """How far the means of an option over many draws are above the bound of the same
        arrivals, paired on the seeds of the bound.

        figure: wait_min or miss_pct. Result: in the figure's unit; None without an interval.
        """
        own = option.slots == len(self.scenario.slots)
        bounds = self.bounds.get((option.types, figure), []) if own else []
        means = self.means.get((option.policy, option.types, figure), [])
        return paired_difference(means, bounds) if len(bounds) >= LEAST_SEEDS else None

    @cached_property
    def _fleets(self) -> dict[tuple[int, str], str]:
        """(slots, types) -> the name of a fleet of the sweep."""
        names = [str(point["fleet"]) for point in self.found.points]
        return {_parted(name): name for name in names}

    @cached_property
    def _figures(self) -> dict[tuple[str, int, str], dict[str, list[float]]]:
        """(policy, slots, types) -> the values of FIGURES, one an independent replication."""
        answer = {}
        for (slots, types), name in self._fleets.items():
            study = self.found.at(fleet=name)
            for policy in study.policies:
                runs = [row for row in study.rows if row["policy"] == policy]
                rows = [row | self.prices.bill(row, slots, self.days) for row in runs]
                values = study.independent(*([row[figure] for row in rows] for figure in FIGURES))
                answer[policy, slots, types] = dict(zip(FIGURES, values))
        return answer

    def _option(self, policy: str, slots: int, types: str) -> Option:
        now = self.found.policies[0], len(self.scenario.slots), own_types(self.scenario)
        values, before = self._figures[policy, slots, types], self._figures[now]
        return Option(
            policy,
            slots,
            types,
            {name: with_enough(mean(own)) for name, own in values.items()},
            {
                name: with_enough(paired_difference(own, before[name]))
                for name, own in values.items()
            },
        )

    def _values(self, option: Option, figure: str) -> list[float]:
        return self._figures[option.policy, option.slots, option.types][figure]


def _by_part(submit_s: np.ndarray, values: np.ndarray, parts: int, span_s: float = 0) -> np.ndarray:
    """The sums of values by equal parts of the time from the first submission to the last, or of
    a longer span.
    """
    since_s = submit_s - submit_s.min()
    part = since_s / (max(span_s, since_s.max()) or 1.0) * parts
    return np.bincount(np.minimum(part.astype(int), parts - 1), values, parts)


def _loads(run: Run) -> tuple[float, ...]:
    """Offered load by the hour, as of Advice; of a shorter time the hour from its first job."""
    jobs = run.jobs
    away_s = jobs["away_s"] if "away_s" in run.scenario.terms.columns else 0.0
    held_s = (jobs["finish_s"] - jobs["dispatch_s"] - away_s) * jobs["gpus"]
    span_s = max(HOUR_S, float(np.ptp(jobs["submit_s"])))
    hours = round(span_s / HOUR_S)
    room_s = len(run.held_s) * span_s / hours
    return tuple((_by_part(jobs["submit_s"], held_s, hours, span_s) / room_s).tolist())


def later(scenario: Scenario, policy: str | Policy) -> list[Policy]:
    """The policy in use with loose jobs later, where that can differ.

    scenario: what is now. policy: in use. Result: one, or none: for an own policy, where no hour is
    scarcer than another, and where all jobs are tight.
    """
    named = isinstance(policy, str) and policy.partition(":")[0] in POLICIES
    loose = any(not each.tight and each.share for each in scenario.workload.classes)
    spans = scarce_spans(scenario.known()) if named and loose else []
    return [LooseLater(str(policy))] if spans else []


def numbers_around(scenario: Scenario) -> list[int]:
    """The numbers of slots that are tried unless told: one less to two more than there are, each
    enough for the widest job.

    scenario: what is now. Result: rising.
    """
    own, least = len(scenario.slots), max(widths(scenario.workload), default=1)
    return [number for number in range(own - 1, own + 3) if number >= least]


def own_types(scenario: Scenario) -> str:
    """Whether the scenario's types are fixed or free, as an option has it."""
    return FREE if scenario.free_types else FIXED


def fleets(
    scenario: Scenario, slots: Iterable[int], spot: Spot | None = None
) -> dict[str, Scenario]:
    """The scenario on the fleets that advice compares, by their names.

    Parameters
    ----------
    scenario : Scenario
        What is now.
    slots : iterable of int
        Numbers of slots beside the scenario's own.
    spot : Spot, optional
        What spot instances are.

    Returns
    -------
    dict
        Each number of slots with fixed and with free types; the scenario's own number of slots,
        all of one type, for each type that can be rented; its own slots, with one type on spot
        instances, for each type among them. What cannot differ is left out, and so are other types
        that the terms of renting do not allow: that are never in stock, or on which no job ends.

    Raises
    ------
    InputError
        For spot instances beside others that are taken back.
    """
    own = len(scenario.slots)
    choices = (False, True) if len(scenario.gpus) > 1 else (scenario.free_types,)
    found: dict[str, Scenario] = {}
    for number, free in product(sorted({*slots, own}), choices):
        asked = free == scenario.free_types
        with nullcontext() if asked else suppress(InputError):
            found[_name(number, FREE if free else FIXED)] = variant(scenario, number, free)
    for gpu in scenario.gpus:
        if (gpu,) * own != scenario.slots:
            with suppress(InputError):
                alike = replace(scenario, slots=(gpu,) * own, free_types=False)
                found[_name(own, f"all {gpu.name}")] = alike
    if spot is None:
        return found
    require(isinstance(spot, Spot), "spot", spot, "a Spot")
    known = scenario.terms.preemptible
    require(not known, "spot", spot, "left out where instances are taken back already")
    rented = scenario.gpus if scenario.free_types else dict.fromkeys(scenario.slots)
    spots = {_name(own, f"spot {gpu.name}"): _on_spot(scenario, gpu, spot) for gpu in rented}
    return found | spots


def _on_spot(scenario: Scenario, gpu: GpuType, spot: Spot) -> Scenario:
    """The scenario with one type rented as spot instances."""
    cheap = replace(gpu, price_usd_per_h=spot.share * gpu.price_usd_per_h)
    own = (Preemption(gpu.name, spot.per_h),)
    return replace(
        scenario,
        slots=tuple(cheap if each == gpu else each for each in scenario.slots),
        gpus=tuple(cheap if each == gpu else each for each in scenario.gpus),
        terms=replace(scenario.terms, preemption=own),
    )


def _name(slots: int, types: str) -> str:
    return f"{slots}, {types}"


def _parted(name: str) -> tuple[int, str]:
    slots, _, types = name.partition(", ")
    return int(slots), types


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
    prices: Prices | None = None,
    spot: Spot | None = None,
    bound_seeds: int = 3,
    out: str | Path | None = None,
) -> Advice:
    """Compare policies on other numbers of slots, with fixed and free types, on slots of one type
    and on spot instances, by the expected cost of a day; and compute bounds for the scenario's own
    number of slots. A policy more is the first, with loose jobs later, where an hour is scarcer
    than another.

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
    prices : Prices, optional
        Of a missed deadline, a late minute, a waiting minute and a slot kept; `triage` weighs by
        them, too, unless it has parameters of its own.
    spot : Spot, optional
        What spot instances are; None tries none.
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
    PolicyError
        If a run fails.
    """
    numbers = entries_of("slots", slots, "a list of numbers")
    for number in numbers:
        check_whole("slots", number, least=1)
    check_whole("bound_seeds", bound_seeds, least=0)
    require(isinstance(scenario, Scenario), "scenario", scenario, "one of rented slots")
    prices = Prices() if prices is None else prices
    require(isinstance(prices, Prices), "prices", prices, "a Prices")
    policies = prices.passed_to(check_policies(policies, scenario).values())
    seeds, own = check_seeds(seeds), len(scenario.slots)
    tried = fleets(scenario, numbers, spot)
    policies = [*policies, *later(scenario, policies[0])]
    found = sweep(
        lambda fleet: tried[fleet], {"fleet": list(tried)}, policies, seeds, executor, out=out
    )
    if found.failures:  # nothing is said of means over other seeds
        raise PolicyError(failures_told(found)[-1])
    now = found.at(fleet=_name(own, own_types(scenario)))
    made = Advice(
        scenario, found, prices, {}, spot, loads=_loads(now.run(now.policies[0], seeds[0]))
    )
    if isinstance(scenario.workload, LoggedWorkload):
        why = "that of a log takes minutes; cgrsp bound tells it, or why there is none"
        return replace(made, unbounded=why)
    try:
        bounds = {
            (types, figure): values
            for types in (FIXED, FREE)
            if (fleet := tried.get(_name(own, types)))
            for figure, values in bounds_of(fleet, seeds[:bound_seeds], executor).items()
            if values
        }
    except InputError as error:  # jobs of several GPUs, or a market of which none is proved
        return replace(made, unbounded=str(error))
    means: dict[tuple[str, str, str], list[float]] = {}
    for types in dict.fromkeys(types for types, _ in bounds):
        fleet = tried[_name(own, types)]
        means |= _means(fleet, types, policies, seeds[:bound_seeds], executor)
    return replace(made, bounds=bounds, means=means)


def _means(
    fleet: Scenario,
    types: str,
    policies: Sequence[str | Policy],
    seeds: Sequence[int],
    executor: Executor | int | None,
) -> dict[tuple[str, str, str], list[float]]:
    """Means over many draws of the same arrivals, of all policies and the seeds of bounds."""
    named = check_policies(policies, fleet)
    own = expected(fleet, named, seeds, executor)
    return {
        (policy, types, figure): [own[policy, figure, seed] for seed in seeds]
        for policy, figure in product(named, ("wait_min", "miss_pct"))
    }
