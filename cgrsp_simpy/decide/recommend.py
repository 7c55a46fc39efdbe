"""Search over policies, numbers of slots and their types for a better configuration.

Options are compared in pairs on the same few seeds; the result is then compared with
today's configuration on seeds that the search did not use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import combinations, compress, cycle, islice, pairwise, product
from math import ceil, isnan, nan
from typing import Annotated, Any, NamedTuple

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean, cluster_means, mean, paired_difference
from cgrsp_simpy.base.checks import (
    InputError,
    require,
)
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.parameters import (
    Fraction,
    Positive,
    declared,
    limits,
    parameter,
)
from cgrsp_simpy.base.policy import PolicyError
from cgrsp_simpy.base.table import many
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.market.gpu import GpuType, round_robin
from cgrsp_simpy.market.stock import DAY_S
from cgrsp_simpy.rental.job import Draws, Job
from cgrsp_simpy.rental.policies import POLICIES
from cgrsp_simpy.rental.policies.later import LooseLater, scarce_spans
from cgrsp_simpy.rental.record import Totals
from cgrsp_simpy.rental.report import figures_of
from cgrsp_simpy.rental.scenario import THESIS_TERMS, Scenario
from cgrsp_simpy.rental.terms import Preemption, describe_hours
from cgrsp_simpy.rental.view import Policy
from cgrsp_simpy.rental.workload import (
    HourlyWorkload,
    LoggedWorkload,
    PoissonWorkload,
    widths,
)
from cgrsp_simpy.studies.replicate import (
    Replications,
    check_policies,
    replicate,
    simulate_for_study,
)
from cgrsp_simpy.studies.store import Store
from cgrsp_simpy.studies.subject import subject_of

BILLS = {"rent_usd": "rent", "slots_usd": "slots"}
INCONVENIENCE = {"misses_usd": "misses", "late_usd": "lateness", "waits_usd": "waiting"}
PARTS = BILLS | INCONVENIENCE  # parts of the daily cost -> their names
COST = "total_usd"  # their sum
# the same with other prices of misses, lateness and waits: factors of these
REPRICED = {"half_price_usd": 0.5, "double_price_usd": 2.0}
Hours = tuple[tuple[float, int], ...]
DAY_H = 24.0
FIXED, FREE = "fixed types", "free types"
"""Slots with fixed types, or types that the policy chooses."""
MOST_USD = 1e9  # greatest price, so that sums stay finite
PERCENT = (90, 95, 99)  # quantiles that a target can limit
BOUNDED = re.compile("(miss_pct|wait_min|tardiness_min)$")  # by `least_figures`
ROUNDING = 1e-9  # rounding error of a figure when compared with a limit
LEAST_SEEDS = 3  # two may agree by chance and give a narrow interval

# a price -> the policy parameter that uses it
WEIGHS_BY = {
    "price_miss": "price_miss_usd",
    "price_late": "price_late_usd_per_min",
    "price_wait": "price_wait_usd_per_min",
}


Usd = Annotated[
    float, limits(f"a number >= 0, at most {MOST_USD:,.0f} USD", ge=0, le=MOST_USD)
]


@declared()
class Prices:
    """Costs of a day other than rent, each price from 0 to MOST_USD.

    The first three apply to a job of weight 1 and are multiplied by the job's weight.
    By default a minute of mean wait costs as much as a tenth of a per cent missed (the
    thesis's trade-off) and as a tenth of a late minute. The price of a slot, equal to
    an hour's rent of the cheapest type (thesis Table 4.1), covers its quota and disk.

    Raises
    ------
    InputError
        For a price below 0 or above MOST_USD.
    """

    price_miss: Usd = parameter("USD per missed deadline.", default=1.0)
    price_late: Usd = parameter(
        "USD per minute that a job ends after its deadline.", default=0.01
    )
    price_wait: Usd = parameter("USD per minute that a job waits.", default=0.001)
    price_slot: Usd = parameter(
        "USD per slot and day, whether it is used or not.", default=0.25
    )

    def passed_to(self, policies: Iterable[Any]) -> list[Any]:
        """Return the policies; a plain `triage` gets these prices as parameters."""
        parameters = [
            f"{parameter}={getattr(self, name)!r}"
            for name, parameter in WEIGHS_BY.items()
            if getattr(self, name) != getattr(Prices, name)
        ]
        weighed = f"triage:{','.join(parameters)}" if parameters else "triage"
        return [weighed if policy == "triage" else policy for policy in policies]

    def of_jobs(self, jobs: Mapping[str, np.ndarray] | np.ndarray) -> np.ndarray:
        """Return the cost per job without rent and slots, in USD; shape (jobs,).

        jobs: columns as in JobRecord.
        """
        late_s = np.maximum(0.0, jobs["finish_s"] - jobs["deadline_s"])
        wait_s = jobs["start_s"] - jobs["submit_s"]
        usd = self.price_miss * (late_s > 0) + self.price_late * late_s / 60
        return np.asarray(jobs["weight"] * (usd + self.price_wait * wait_s / 60))

    def bill(self, sums: Totals, slots: float, days: float) -> dict[str, float]:
        """Return a run's cost per day in USD, by PARTS, and their sum, COST.

        slots: mean number of slots that are billed.
        """
        parts = {
            "rent_usd": sums.cost_usd / days,
            "slots_usd": self.price_slot * slots,
            "misses_usd": self.price_miss * sums.weighted_missed / days,
            "late_usd": self.price_late * sums.weighted_tardiness_s / 60 / days,
            "waits_usd": self.price_wait * sums.weighted_wait_s / 60 / days,
        }
        return parts | {COST: summed(parts.values())}


@declared("{} of spot instances")
class Spot:
    """Spot instances of a type, which are cheaper and preempted at random."""

    share: Fraction = parameter(
        "Spot price as a share of the type's price, from 0 to 1."
    )
    per_h: Positive = parameter("Preemptions per hour, > 0.")


class Option(NamedTuple):
    """Configuration to compare.

    types: FIXED, FREE, or a word and the name of a type: "all" (all slots are of this
    type), "plus" (further slots are), or "spot" (it is rented as spot instances).
    hours: as in `Opening`. slots: number of slots; with hours, the greatest.
    """

    policy: str
    slots: int
    types: str
    hours: Hours = ()

    @property
    def number(self) -> str:
        """The number of slots in words, by hour if it changes."""
        return describe_hours(self.hours) if self.hours else many(self.slots, "slot")

    def as_row(self) -> dict[str, Any]:
        """Return the option as columns, with hours written as in `slots=0:2+10:5`."""
        hours = [f"{hour:g}:{number}" for hour, number in self.hours]
        return {**self._asdict(), "hours": "+".join(hours)}

    def __str__(self) -> str:
        return f"{self.policy} on {self.number}, {self.types}"


# ---- what can be changed ----


def later(scenario: Scenario, policy: str | Policy) -> list[Policy]:
    """Return the current policy with jobs of loose deadlines postponed, in a list.

    Empty for a policy that is not built in, and if there are no scarce hours or no
    loose jobs.
    """
    named = isinstance(policy, str) and policy.partition(":")[0] in POLICIES
    loose = any(
        not job_class.tight and job_class.share
        for job_class in scenario.workload.classes
    )
    helps = named and loose and scarce_spans(scenario.known())
    return [LooseLater(str(policy))] if helps else []


def own_types(scenario: Scenario) -> str:
    """Return FREE or FIXED, as the scenario has it."""
    return FREE if scenario.free_types else FIXED


def variant(scenario: Scenario, free_types: bool, slots: int) -> Scenario:
    """Return the scenario with another number of slots, of fixed or free types.

    If its slots are the rentable types in turn, further slots continue the sequence;
    otherwise the scenario's slots are repeated from the first.
    """
    slot_types = scenario.slots
    in_turn = slot_types == round_robin(len(slot_types), scenario.gpus)
    types = (
        round_robin(slots, scenario.gpus)
        if in_turn
        else tuple(islice(cycle(slot_types), slots))
    )
    return replace(scenario, slots=types, free_types=free_types)


def _alike(scenario: Scenario, gpu: GpuType, slots: int) -> Scenario:
    return replace(scenario, slots=(gpu,) * slots, free_types=False)


def _plus(scenario: Scenario, gpu: GpuType, slots: int) -> Scenario:
    more = slots - len(scenario.slots)
    require(more > 0, "slots", slots, "more than the present number")
    return replace(scenario, slots=(*scenario.slots, *(gpu,) * more))


def _on_spot(scenario: Scenario, gpu: GpuType, spot: Spot, slots: int) -> Scenario:
    """Return the scenario with one type rented as spot instances."""
    known = scenario.terms.preemptible
    require(not known, "spot", spot, "omitted if the scenario already has preemptions")
    changed = variant(scenario, scenario.free_types, slots)
    cheap = replace(gpu, price_usd_per_h=spot.share * gpu.price_usd_per_h)
    return replace(
        changed,
        slots=tuple(cheap if owned == gpu else owned for owned in changed.slots),
        gpus=tuple(cheap if owned == gpu else owned for owned in changed.gpus),
        terms=replace(changed.terms, preemption=(Preemption(gpu.name, spot.per_h),)),
    )


Fleets = dict[str, Callable[[int], Scenario]]


def fleets(scenario: Scenario, spot: Spot | None = None) -> Fleets:
    """Return the possible types of slots, as functions from a number to a scenario.

    Today's types are first; there are no duplicates. Raises InputError for spot
    instances if the scenario already has preemptions.
    """
    today, gpus = own_types(scenario), scenario.gpus
    kinds = (today, FREE, FIXED) if len(gpus) > 1 else (today,)
    kinds_of: Fleets = {
        kind: partial(variant, scenario, kind == FREE) for kind in kinds
    }
    for gpu in gpus:
        if set(scenario.slots) != {gpu}:
            kinds_of[f"all {gpu.name}"] = partial(_alike, scenario, gpu)
            if not scenario.free_types:
                kinds_of[f"plus {gpu.name}"] = partial(_plus, scenario, gpu)
    if spot is not None:
        # refuse before the search
        _on_spot(scenario, gpus[0], spot, len(scenario.slots))
        kinds_of |= {
            f"spot {gpu.name}": partial(_on_spot, scenario, gpu, spot)
            for gpu in scenario.types
        }
    return kinds_of


def days_of(scenario: Scenario) -> float:
    """Return the days that a run represents: jobs divided by the mean rate, at least 1.

    For a log the rate is that between its first and last submission.
    """
    return max(1.0, scenario.jobs / scenario.workload.rate_per_s / DAY_S)


def under_load(scenario: Scenario, factor: float) -> Scenario:
    """Return a scenario with its arrival rate multiplied by a factor, > 0.

    For generated jobs, their number and rates are multiplied. For a log, interarrival
    times are divided, as usual, so that its hours of the day no longer match the
    market's. Raises InputError for other workloads.
    """
    load, jobs = scenario.workload, max(1, round(factor * scenario.jobs))
    if factor == 1:
        return scenario
    if isinstance(load, PoissonWorkload):
        load = replace(load, jobs=jobs, rate_per_s=factor * load.rate_per_s)
        return replace(scenario, workload=load)
    if isinstance(load, HourlyWorkload):
        per_h = tuple(tuple(factor * rate for rate in day) for day in load.rates.per_h)
        load = replace(load, jobs=jobs, rates=replace(load.rates, per_h=per_h))
        return replace(scenario, workload=load)
    if not isinstance(load, LoggedWorkload):
        raise InputError(
            "load can change only jobs that are generated from a rate or read"
            " from a log"
        )
    first, old = load.submit_s[0], load.submit_s
    new = tuple(first + (at_s - first) / factor for at_s in old)
    due_s = tuple(at_s + due - was for at_s, due, was in zip(new, load.deadline_s, old))
    return replace(
        scenario, workload=replace(load, submit_s=new, deadline_s=due_s, origin={})
    )


# ---- runs ----


def quantiles(jobs: Mapping[str, np.ndarray] | np.ndarray) -> dict[str, float]:
    """Return quantiles of the waits and the tardiness of jobs, in minutes, by name.

    jobs: columns as in JobRecord. The 95th percentile is the least value that at most 5
    % of the jobs exceed, rounded to remove floating-point errors of differences.
    """
    return {
        f"p{percent}_{name}_min": round(
            float(np.percentile(seconds, percent, method="inverted_cdf")) / 60, 9
        )
        for name, seconds in {
            "wait": jobs["start_s"] - jobs["submit_s"],
            "tardiness": np.maximum(0.0, jobs["finish_s"] - jobs["deadline_s"]),
        }.items()
        for percent in PERCENT
    }


def _with_quantiles(run: Run) -> list[Any]:
    return [subject_of(run.scenario).outcome(run), quantiles(run.jobs)]


def least_figures(scenario: Scenario, seed: int) -> dict[str, float]:
    """Return lower limits of wait, miss and tardiness metrics under any plan.

    They are those of a run in which each job is dispatched to its fastest type on
    submission, at the stock status with the least delay.
    """
    jobs, draws = zip(*scenario.workload.generate(seed, scenario.service))
    columns = {name: np.array(column) for name, column in zip(Job._fields, zip(*jobs))}
    drawn = {name: np.array(column) for name, column in zip(Draws._fields, zip(*draws))}
    # under other terms a later dispatch has another delay, or finds a warm instance
    share = drawn["delay"] if scenario.terms == THESIS_TERMS else 0.0 * drawn["delay"]
    delays_s = [low + (high - low) * share for low, high in scenario.market.delay_s]
    delay_s = np.min(delays_s, axis=0) * (scenario.terms.warm_s == 0)
    fastest_s = np.min([gpu.mean_execution_s for gpu in scenario.gpus], axis=0)
    start_s = columns["submit_s"] + delay_s
    service_s = fastest_s[columns["complexity"] - 1] * drawn["service"]
    columns |= {
        "dispatch_s": columns["submit_s"],
        "start_s": start_s,
        "finish_s": start_s + service_s,
        "cost_usd": np.zeros_like(service_s),
    }
    totals = Totals.of(scenario.workload.classes)
    totals.add(columns)
    figures = figures_of(scenario, totals) | quantiles(columns)
    return {name: value for name, value in figures.items() if BOUNDED.search(name)}


class Trials:
    """Runs of options, each simulated once.

    scenario: today's. policies: policies by label, the current one first. prices: used
    for the bills. quantiles: whether the metrics include quantiles of the jobs.
    """

    def __init__(
        self,
        scenario: Scenario,
        policies: Sequence[Any],
        prices: Prices,
        spot: Spot | None = None,
        executor: Executor | int | None = None,
        store: Store | None = None,
        quantiles: bool = False,
    ) -> None:
        self.keep = _with_quantiles if quantiles else None
        weighed = prices.passed_to(check_policies(policies, scenario).values())
        weighed += later(scenario, weighed[0])
        self.scenario, self.prices, self.spot = scenario, prices, spot
        self.policies = check_policies(weighed, scenario)
        always_open = replace(scenario, opening=replace(scenario.opening, hours=()))
        self.fleets = fleets(always_open, spot)
        self.now = Option(
            next(iter(self.policies)),
            len(scenario.slots),
            own_types(scenario),
            scenario.opening.hours,
        )
        self.least = max(widths(scenario.workload), default=1)
        self.executor, self.store, self.days = executor, store, days_of(scenario)
        self._scenarios: dict[tuple[int, str, Hours], Scenario] = {
            self.now[1:]: scenario
        }
        self.figures: dict[Option, dict[int, dict[str, float]]] = {}

    def fleet(self, option: Option) -> Scenario:
        """Return the scenario with an option's fleet.

        Raises InputError for an impossible fleet: a job does not fit, a type is never
        in stock, or no job would end on it.
        """
        _, slots, types, hours = option
        if option[1:] not in self._scenarios:
            fleet = self.fleets[types](slots)
            opening = replace(fleet.opening, hours=hours)
            self._scenarios[option[1:]] = replace(fleet, opening=opening)
        return self._scenarios[option[1:]]

    def billed_slots(self, option: Option, sums: Totals) -> float:
        """Return the mean number of slots that are billed in a run."""
        fleet = self.fleet(option)
        more = sums.more.get("overtime_h", 0.0) / DAY_H / self.days
        return fleet.opening.mean_slots(len(fleet.slots)) + more

    def able(self, option: Option) -> bool:
        """Return whether the option's fleet is possible."""
        with suppress(InputError):
            return bool(self.fleet(option))
        return False

    def run(self, options: Iterable[Option], seeds: Sequence[int]) -> None:
        """Simulate the runs that are missing. Raises PolicyError if one fails."""
        wanted: dict[Option, tuple[Scenario, list[int]]] = {}
        for option in options:
            done, fleet = self.figures.setdefault(option, {}), self.fleet(option)
            left = [seed for seed in seeds if seed not in done]
            if left:
                wanted[option] = fleet, left
        tasks = [
            Replications(fleet, [self.policies[option.policy]], left)
            for option, (fleet, left) in wanted.items()
        ]
        runs = replicate(tasks, self.executor, self.store, keep=self.keep)
        for option, (fleet, left) in wanted.items():
            for seed in left:
                outcome = runs.outcome(fleet, self.policies[option.policy], seed)
                # means over fewer seeds would not be comparable
                if isinstance(outcome, str):
                    raise PolicyError(f"{option}, seed {seed}: {outcome}")
                more = {}
                if self.keep:
                    outcome, more = outcome
                totals = Totals(*outcome)
                billed = self.billed_slots(option, totals)
                parts = self.prices.bill(totals, billed, self.days)
                groups = {"bills_usd": BILLS, "inconvenience_usd": INCONVENIENCE}
                sums = {
                    name: summed(parts[part] for part in group)
                    for name, group in groups.items()
                }
                for name, factor in REPRICED.items():
                    sums[name] = sums["bills_usd"] + factor * sums["inconvenience_usd"]
                self.figures[option][seed] = (
                    subject_of(fleet).figures(outcome) | parts | sums | more
                )

    def values(self, option: Option, figure: str, seeds: Sequence[int]) -> list[float]:
        """Return one value per seed, or per starting day of a replayed market."""
        return cluster_means(
            [self.figures[option][seed][figure] for seed in seeds],
            [subject_of(self.scenario).in_common(seed) for seed in seeds],
        )

    def mean(self, option: Option, figure: str, seeds: Sequence[int]) -> Mean:
        """Return the mean of a metric; at least LEAST_SEEDS give a 95 % interval."""
        values = self.values(option, figure, seeds)
        return _with_enough(
            mean(values, in_order=bool(subject_of(self.scenario).common))
        )

    def change(
        self, option: Option, other: Option, figure: str, seeds: Sequence[int]
    ) -> Mean:
        """Return the paired difference of two options; interval as in `mean`."""
        values, other_values = (
            self.values(choice, figure, seeds) for choice in (option, other)
        )
        return _with_enough(
            paired_difference(
                values, other_values, in_order=bool(subject_of(self.scenario).common)
            )
        )


def _with_enough(value: Mean) -> Mean:
    return value if value.n >= LEAST_SEEDS else replace(value, low=nan, high=nan, p=nan)


# ---- slots by the hour ----

FACTORS = (1.0, 1.5, 2.0, 3.0)  # multiples of the mean number of slots in use
MOST_SPANS = 4  # spans of a first schedule, few enough for people to follow
MOVES_H = (1, -1, 3, -3)  # shifts of opening and closing hours
STEP_S = 300.0  # between counts of the slots in use


def varies_by_hour(scenario: Scenario) -> bool:
    """Return whether the arrivals of a scenario depend on the hour of the day."""
    load = scenario.workload
    if isinstance(load, HourlyWorkload):
        return len({rate for day in load.rates.per_h for rate in day}) > 1
    return isinstance(load, LoggedWorkload)


def scheduled(option: Option, numbers: Sequence[int]) -> Option:
    """Return the option with an hourly schedule of at most MOST_SPANS spans.

    numbers: slots per hour of the day; spans that differ least are merged.
    """
    spans = [(float(hour), int(number)) for hour, number in enumerate(numbers)]
    while len(spans) > MOST_SPANS or any(a[1] == b[1] for a, b in pairwise(spans)):
        ends = [hour for hour, _ in spans[1:]] + [24.0]
        added = [
            abs(b - a) * (end - begin if a < b else after - end)
            for (begin, a), (end, b), after in zip(spans, spans[1:], ends[1:])
        ]
        place = int(np.argmin(added))
        number = max(spans[place][1], spans[place + 1][1])
        spans[place : place + 2] = [(spans[place][0], number)]
    return _with_hours(option, spans)


def _with_hours(option: Option, spans: Sequence[tuple[float, int]]) -> Option:
    """Return the option with these hours, merging adjacent equal numbers."""
    before = [number for _, number in [*spans[-1:], *spans[:-1]]]
    hours = tuple(span for span, number in zip(spans, before) if span[1] != number)
    return option._replace(slots=max(number for _, number in spans), hours=hours)


def neighbours(option: Option, least: int) -> list[Option]:
    """Return options that differ by one change of the schedule.

    A number of slots changes by one, an hour moves by one of MOVES_H, or a span is
    merged with the previous one. least: number of slots always open, so that every job
    ends.
    """
    hours, options = list(option.hours), []
    for place, (hour, number) in enumerate(hours):
        changed = [
            *((hour, number + more) for more in (1, -1)),
            *((hour + later_h, number) for later_h in MOVES_H),
            (hour, hours[place - 1][1]),
        ]
        for span in changed:
            spans = sorted([*hours[:place], span, *hours[place + 1 :]])
            differ = len({at for at, _ in spans}) == len(spans)
            if differ and 0 <= span[0] < 24 and span[1] >= least:
                options.append(_with_hours(option, spans))
    return options


# ---- the search ----

CHANGES = ("policy", "types", "slots")
# kinds of change, the smallest first
LEVELS = [level for number in range(4) for level in combinations(CHANGES, number)]
SEARCHED_JOBS = 2000  # approximate number of jobs per option
MOST_SEEDS = 6
KEPT = 3  # survivors per race
TIE = 0.02  # maximum cost difference of plans called equal, as a share of the cost
FINALISTS = 4


class Search:
    """Search for the best option.

    limits: maps a metric to its greatest allowed value. least: the metric to minimise.
    first: first seed of the search.
    """

    def __init__(
        self, trials: Trials, limits: Mapping[str, float], least: str, first: int
    ) -> None:
        self.trials, self.limits, self.least = trials, limits, least
        number = min(
            MOST_SEEDS, max(2, SEARCHED_JOBS // subject_of(trials.scenario).work)
        )
        self.seeds = range(first, first + 3 * number)
        self.few, self.fewer = self.seeds[:number], self.seeds[: number // 2]

    def reached(self, option: Option, figure: str, seeds: Sequence[int]) -> float:
        """Return the upper end of the interval, or the mean if there is none."""
        value = self.trials.mean(option, figure, seeds)
        return value.mean if isnan(value.high) else value.high

    def excess(self, option: Option, seeds: Sequence[int]) -> float:
        """Return the sum of relative excesses over the limits; 0 if all are met."""
        return summed(
            max(0.0, self.reached(option, figure, seeds) - most - ROUNDING)
            / (most or 1.0)
            for figure, most in self.limits.items()
        )

    def best(
        self, options: Iterable[Option], seeds: Sequence[int], number: int = 1
    ) -> list[Option]:
        """Return the best `number` of the possible options; ties keep their order."""
        able = [option for option in dict.fromkeys(options) if self.trials.able(option)]
        self.trials.run(able, seeds)

        def key(option: Option) -> tuple[float, float]:
            least = self.trials.mean(option, self.least, seeds).mean
            return self.excess(option, seeds), least

        return sorted(able, key=key)[:number]

    def race(self, options: Iterable[Option]) -> Option:
        """Return the best of several options, most of which run on few seeds."""
        return self.best(self.best(options, self.fewer, KEPT), self.few)[0]

    def climb(self, option: Option, seeds: Sequence[int]) -> Option:
        """Change the number of slots until no change improves; on fewer seeds first."""
        if seeds == self.few != self.fewer:
            option = self.climb(option, self.fewer)
        step = 1
        while step:
            for slots in (option.slots + step, option.slots - step):
                [better] = self.best([option, option._replace(slots=slots)], seeds)
                if better != option:
                    option, step = better, 2 * step
                    break
            else:
                step //= 2
        return option

    def changed(self, option: Option) -> tuple[str, ...]:
        """Return which of CHANGES an option makes."""
        now, plus = self.trials.now, option.types.startswith("plus ")
        differs = (
            option.policy != now.policy,
            option.types != now.types and not plus,
            (option.slots, option.hours) != (now.slots, now.hours),
        )
        return tuple(compress(CHANGES, differs))

    @cached_property
    def starts(self) -> list[Option]:
        """All policies and types with today's number of slots, or one more."""
        now, options = self.trials.now, []
        for types, policy in product(self.trials.fleets, self.trials.policies):
            option = now._replace(policy=policy, types=types)
            if types.startswith("plus "):
                option = Option(policy, now.slots + 1, types)
            options.append(option)
        return options

    def cheapest(self) -> Option:
        """Return the best option, with any changes."""
        ranked = self.best(
            (start for start in self.starts if start.slots == self.trials.now.slots),
            self.fewer,
            len(self.starts),
        )
        by_types = {start.types: start for start in reversed(ranked)}
        climbed = [
            self.climb(option._replace(hours=()), self.few)
            for option in (self.trials.now, *list(by_types.values())[::-1][:KEPT])
        ]
        [best], last = self.best(climbed, self.few), None
        while best != last:
            last = best
            others = [last._replace(policy=policy) for policy in self.trials.policies]
            others += [last._replace(types=types) for types in self.trials.fleets]
            [best] = self.best([last, self.race(others)], self.few)
            best = best if best == last else self.climb(best, self.few)
        self.schedules([best])
        return self.best([self.trials.now, *self.finalists()], self.seeds)[0]

    def schedules(self, options: Iterable[Option]) -> list[Option]:
        """Return each option's best hourly schedule; none if it could save nothing."""
        pays = varies_by_hour(self.trials.scenario) and self.trials.prices.price_slot
        return [self.by_hour(option) for option in options if pays]

    def by_hour(self, option: Option) -> Option:
        """Return the best hourly schedule, starting from the load of a fixed number.

        The search begins with multiples of the mean number of slots in use per hour of
        the day, and changes numbers and hours until no change improves.
        """
        fixed = option._replace(hours=())
        used = self.slots_in_use(fixed)
        ahead = ceil(self.trials.scenario.opening.boot_s / 3600)
        # slots for a peak are ordered before it
        used = np.max([np.roll(used, -hours) for hours in range(ahead + 1)], axis=0)
        least = self.trials.least
        starts = [
            scheduled(fixed, np.maximum(least, np.ceil(factor * used).astype(int)))
            for factor in FACTORS
        ]
        best, last = self.race(starts), None
        while best != last:
            last = best
            better = self.race(neighbours(last, least) or [last])
            [best] = self.best([last, better], self.few)
        return best

    def slots_in_use(self, option: Option) -> np.ndarray:
        """Return the mean number of slots in use per hour of day, on the first seed."""
        place = self.trials.fleet(option)
        policy = self.trials.policies[option.policy]
        jobs = simulate_for_study(place, policy, self.seeds[0]).jobs
        begin_s, end_s = (
            np.sort(np.repeat(jobs[name], jobs["gpus"]))
            for name in ("dispatch_s", "finish_s")
        )
        at_s = np.arange(0.0, end_s[-1], STEP_S)
        number = np.searchsorted(begin_s, at_s) - np.searchsorted(end_s, at_s)
        hour = (place.market.clock.start_h + at_s / 3600).astype(int) % 24
        times = np.maximum(1, np.bincount(hour, minlength=24))
        return np.asarray(np.bincount(hour, number, 24) / times)

    def finalists(self) -> list[Option]:
        """Return the best options among those that ran on at least the seeds `few`."""
        options = [
            option
            for option, runs in self.trials.figures.items()
            if runs.keys() >= set(self.few)
        ]
        return self.best(options, self.few, FINALISTS)

    def ties(self, best: Option, seeds: Sequence[int]) -> list[Option]:
        """Return the best option and the finalists that do not differ from it.

        Their paired difference on these seeds is not significant, and at most TIE.
        """
        if self.limits or best == self.trials.now:
            return [best]
        known = best, self.trials.now
        rivals = [rival for rival in self.finalists() if rival not in known]
        self.trials.run([best, *rivals], seeds)
        most_usd = TIE * self.trials.mean(best, self.least, seeds).mean

        def is_equal(option: Option) -> bool:
            more = self.trials.change(option, best, self.least, seeds)
            return more.low <= 0 <= more.high and abs(more.mean) <= most_usd

        return [best, *filter(is_equal, rivals)]

    def repriced(self, best: Option, figure: str) -> Option:
        """Return the best option by another metric: `best`, unless another is
        significantly better on the seeds of the search.
        """
        search = Search(self.trials, {}, figure, self.seeds[0])
        climbed = search.climb(search.finalists()[0], self.few)
        other = search.best([best, climbed, *search.finalists()], self.seeds)[0]
        gain = self.trials.change(best, other, figure, self.seeds)
        return other if gain.low > 0 else best

    def least_change(self) -> Option:
        """Return the smallest change that meets the limits, or else the nearest."""
        nearest = self.trials.now
        for level in LEVELS:
            options = [
                start
                for start in self.starts
                if set(self.changed(start)) - {"slots"} == set(level) - {"slots"}
            ]
            if "slots" in level:
                options = [
                    self.climb(option._replace(hours=()), self.few)
                    for option in self.best(options, self.few, KEPT)
                ]
                options += self.schedules(self.best(options, self.few))
            options = self.best(
                (e for e in options if self.changed(e) == level), self.few, KEPT
            )
            for best in self.best(options, self.seeds):
                if "slots" in level and self.excess(best, self.seeds):
                    best = self.climb(best, self.seeds)
                if not self.excess(best, self.seeds):
                    return best
                [nearest] = self.best([nearest, best], self.seeds)
        return nearest

    def first_step(self) -> Option | None:
        """Return the smallest single change that reduces the cost significantly on the
        seeds of the search: policy, types or one slot.
        """
        now, cost = self.trials.now, self.least
        one = [start._replace(slots=now.slots + 1) for start in self.starts]
        one += [now._replace(slots=now.slots - 1)]
        for change in CHANGES:
            options = [
                start
                for start in (*self.starts, *one)
                if self.changed(start) == (change,)
            ]
            for best in self.best(self.best(options, self.few, 1), self.seeds):
                self.trials.run([now], self.seeds)
                if self.trials.change(best, now, cost, self.seeds).high < 0:
                    return best
        return None
