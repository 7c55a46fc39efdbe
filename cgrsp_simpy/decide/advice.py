"""Advice on a scenario: what to change, the saving per day and its uncertainty."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from math import ceil, isnan, nan
from pathlib import Path
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean, block_bootstrap_mean, mean
from cgrsp_simpy.base.checks import check_one_of, require
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.parameters import Positive, checked
from cgrsp_simpy.base.table import Table, bullets, digits, html_text, many, paragraph
from cgrsp_simpy.decide.recommend import (
    BILLS,
    COST,
    FINALISTS,
    FREE,
    INCONVENIENCE,
    LEAST_SEEDS,
    PARTS,
    PERCENT,
    REPRICED,
    ROUNDING,
    TIE,
    Option,
    Prices,
    Search,
    Spot,
    Trials,
    least_figures,
    under_load,
)
from cgrsp_simpy.rental.record import slot_seconds
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.workload import JobList, LoggedWorkload
from cgrsp_simpy.studies.replicate import (
    check_policies,
    check_seeds,
    simulate_for_study,
    studies_on,
)
from cgrsp_simpy.studies.store import open_store
from cgrsp_simpy.studies.study import Results, Row, plain_mean
from cgrsp_simpy.studies.subject import subject_of

POLICIES = ("fifo", "spt", "edf", "cadr", "triage")
FIGURES = (
    COST,
    "bills_usd",
    "inconvenience_usd",
    *PARTS,
    "miss_pct",
    "wait_min",
    "tardiness_min",
)
WORSE = {  # figures that can get worse
    "miss_pct": "misses, %",
    "wait_min": "wait, min",
    "tardiness_min": "lateness, min",
    "rent_usd": "rent, USD",
    "slots_usd": "slots, USD",
}
HEAD = [
    "change",
    "policy",
    "slots",
    "types",
    COST,
    "saved_usd",
    "miss_pct",
    "wait_min",
    "seeds",
]
WORTH = 0.001  # least saving to advise, as a share of today's cost
SEARCHED = 60  # runs per policy, roughly
WEEK = 7  # days: with fewer, no conclusion for other days
BAD, BAD_DAYS = 0.95, 20  # a quantile, and the days that it needs
HOUR_S = 3600
PRINT = """
body { max-width: 60rem } figure { margin: 1.2rem 0; break-inside: avoid }
figure img { width: 100%; max-width: 42rem } td { padding: .25rem .5rem }
@page { size: A4; margin: 16mm }
@media print {
  body { font-size: 9.5pt; line-height: 1.3; margin: 0; padding: 0 }
  h1 { font-size: 14pt } .wide { overflow: visible }
  figure img { width: auto; max-width: 100%; max-height: 105mm }
  table { font-size: 6.5pt } td, th { padding: .3mm .6mm; white-space: normal }
}
"""
QUANTILES = [
    f"p{percent}_{name}_min" for name in ("wait", "tardiness") for percent in PERCENT
]
UNITS = re.compile("_(min|pct|usd)$")
NUMBER = r"([0-9]+\.?[0-9]*|\.[0-9]+) *%?"  # number in a target


@checked
def advise(
    scenario: Scenario,
    policies: Sequence[Any] = POLICIES,
    seeds: Iterable[int] = range(20),
    executor: Executor | int | None = None,
    *,
    prices: Prices | None = None,
    spot: Spot | None = None,
    target: str | None = None,
    budget_usd: Positive | None = None,
    load: Positive = 1.0,
    out: str | Path | None = None,
) -> Advice:
    """Search policies, numbers of slots and their types for the least cost per day.

    With a target or budget, search for the configuration that meets it. The result is
    compared with today's configuration on separate seeds.

    scenario: today's configuration. policies: the first is the current policy; if stock
    is scarcer in some hours, it is also tried with jobs of loose deadlines postponed.
    seeds: seeds on which today is compared with the advice; the search uses the seeds
    after the greatest of them. executor: as in `compare`. prices: costs of a missed
    deadline, a late minute, a waiting minute and a slot; `triage` also uses them,
    unless it has its own parameters. spot: price and preemptions of spot instances;
    None: do not try them. target: limits to reach with the least change, such as
    "miss<=1%,wait<=30": metrics of the summary without their units. budget_usd: limit
    on the cost of rent and slots per day; the cost of misses, lateness and waits is
    then minimised. load: factor that multiplies the arrival rate, > 0. out: a results
    directory, from which the same call resumes. Raises InputError for invalid
    arguments, and PolicyError if a run fails.
    """
    require(
        isinstance(scenario, Scenario),
        "scenario",
        scenario,
        "a scenario of rented slots",
    )
    prices = Prices() if prices is None else prices
    require(isinstance(prices, Prices), "prices", prices, "a Prices")
    require(spot is None or isinstance(spot, Spot), "spot", spot, "a Spot")
    limits, least = limits_of(scenario, target), COST
    if budget_usd is not None:
        require(not limits, "budget_usd", budget_usd, "omitted if a target is given")
        limits, least = {"bills_usd": budget_usd}, "inconvenience_usd"
    chosen, listed = under_load(scenario, load), check_seeds(seeds)
    named = check_policies(policies, chosen)
    store = open_store(
        out,
        "advice",
        named,
        listed,
        scenario=chosen,
        prices=asdict(prices),
        spot=spot and asdict(spot),
        target=target,
        budget_usd=budget_usd,
    )
    asks_quantile = not limits.keys().isdisjoint(QUANTILES)
    trials = Trials(
        chosen, list(named.values()), prices, spot, executor, store, asks_quantile
    )
    search = Search(trials, limits, least, max(listed) + 1)
    with studies_on(jobs=subject_of(chosen).work * SEARCHED * len(named)):
        best = search.least_change() if target else search.cheapest()
        first = None if limits or best == trials.now else search.first_step()
        advice = Advice(search, best, first, listed)
        tied = sorted(
            search.ties(best, listed), key=lambda tie: float(advice.daily(tie).std())
        )
        advice = replace(advice, best=tied[0], tied=tuple(tied))
    advice.keep(store)
    return advice


def limits_of(scenario: Scenario, target: str | None) -> dict[str, float]:
    """Return the metrics that a target names, with their greatest allowed values."""
    metrics = subject_of(scenario).report.metrics.items()
    with_unit = [name for name, metric in metrics if metric.unit]
    known = {UNITS.sub("", name): name for name in (*with_unit, *QUANTILES)}
    limits = {}
    for part in target.split(",") if target is not None else ():
        name, _, most = part.partition("<=")
        allowed = "a figure and its upper limit, such as miss<=1% or wait<=30"
        require(re.fullmatch(NUMBER, most.strip()) is not None, "target", part, allowed)
        check_one_of("figure of the target", name.strip(), known)
        figure = known[name.strip()]
        require(figure not in limits, "target", target, "different figures")
        is_share = most.strip()[-1] != "%" or figure.endswith("_pct")
        require(
            is_share, "target", part, f"a limit without %: {figure} is not a percentage"
        )
        limits[figure] = float(most.rstrip("% "))
    return limits


@dataclass(frozen=True, repr=False, eq=False)
class Advice(Results):
    """Advice on a scenario, which can be printed.

    search: the search, with all options tried and their runs. best: result of the
    search. first: the smallest single change that reduces the cost on the search's
    seeds. seeds: seeds on which `best` and `first` are compared with today. tied:
    options that do not differ significantly from `best` on these seeds, in increasing
    order of the standard deviation of the daily cost. tried: all options that were
    tried, today's option first.
    """

    search: Search
    best: Option
    first: Option | None
    seeds: list[int]
    tied: tuple[Option, ...] = ()
    tried: list[Option] = field(init=False)

    def __post_init__(self) -> None:
        self.trials.run(self.compared, self.seeds)
        self.trials.run([self.now], self.search.seeds)
        # now, since `repriced` tries others
        tried = list(dict.fromkeys([self.now, *self.trials.figures]))
        object.__setattr__(self, "tried", tried)

    # ---- figures ----

    @property
    def trials(self) -> Trials:
        """Runs of the search."""
        return self.search.trials

    @property
    def now(self) -> Option:
        """The current option: the first policy on today's scenario."""
        return self.trials.now

    @property
    def compared(self) -> list[Option]:
        """Today's option, the best option, the best fixed fleet and the first step."""
        options = (self.now, self.best, self.fixed, self.first)
        return list(dict.fromkeys(filter(None, options)))

    def mean(self, option: Option, figure: str = COST) -> Mean:
        """Return the mean of a metric for a compared option."""
        return self.trials.mean(option, figure, self.seeds)

    def saved(self, option: Option, figure: str = COST) -> Mean:
        """Return the paired difference, today's value minus that of an option."""
        return self.trials.change(self.now, option, figure, self.seeds)

    @cached_property
    def advised(self) -> Option:
        """The best option if it saves enough or limits are set, else today's option."""
        return self.best if self.search.limits or self.pays(self.best) else self.now

    def pays(self, option: Option) -> bool:
        """Return whether an option's saving is significant and at least WORTH of
        today's cost; of a log also when its days are resampled.
        """
        saved, days = self.saved(option), self.for_days(option)
        worth = saved.mean >= WORTH * self.mean(self.now).mean
        return worth and all(interval.low > 0 for interval in (saved, days) if interval)

    @cached_property
    def fixed(self) -> Option | None:
        """The best option with a fixed number of slots; None if `best` has one too."""
        searched = set(self.search.few)
        fixed = [
            option
            for option, runs in self.trials.figures.items()
            if not option.hours and runs.keys() >= searched
        ]
        if not self.best.hours:
            return None
        fixed = fixed or [self.now._replace(hours=())]
        best = self.search.best(fixed, self.search.few, FINALISTS)
        return self.search.best(best, self.search.seeds)[0]

    @cached_property
    def repriced(self) -> dict[str, Option]:
        """The best option for each metric of REPRICED."""
        return {name: self.search.repriced(self.best, name) for name in REPRICED}

    @property
    def whole_days(self) -> int:
        """Number of days of a log, rounded; 0 for randomly generated jobs."""
        logged = isinstance(self.trials.scenario.workload, LoggedWorkload)
        return round(self.trials.days) if logged else 0

    @property
    def block_days(self) -> int:
        """Cube root of the number of days, rounded up; 0 for less than a week."""
        return ceil(self.whole_days ** (1 / 3)) if self.whole_days >= WEEK else 0

    def for_days(self, option: Option) -> Mean | None:
        """Return the daily saving for days like those of the log.

        The daily savings, averaged over the seeds, are resampled in blocks. None for
        randomly generated jobs, and for logs of less than a week.
        """
        if not self.block_days:
            return None
        return block_bootstrap_mean(
            self.daily(self.now) - self.daily(option), self.block_days
        )

    @cache  # noqa: B019 - as long as the advice
    def daily(self, option: Option) -> np.ndarray:
        """Return the cost of each day in USD.

        For a log: one mean over the seeds per day of submission, from repeated runs
        with job records. For generated jobs: one cost per seed.
        """
        trials, days = self.trials, self.whole_days
        if days < 2:
            return np.array(trials.values(option, COST, self.seeds))
        place, costs = trials.fleet(option), []
        for seed in self.seeds:
            run = simulate_for_study(place, trials.policies[option.policy], seed)
            usd = run.jobs["cost_usd"] + trials.prices.of_jobs(run.jobs)
            by_day = _by_part(run.jobs["submit_s"], usd, days) * (days / trials.days)
            billed = trials.billed_slots(option, run.tally)
            costs.append(by_day + trials.prices.price_slot * billed)
        return np.asarray(sum(costs) / len(costs))

    @cached_property
    def hours(self) -> list[Row]:
        """Today's option per hour of the submissions, on the first seed.

        hour: hour of the day. load: slot time, with provisioning, of the jobs submitted
        in the hour, divided by the slots' time. usd: cost of these jobs without rent
        and slots.
        """
        scenario = self.trials.scenario
        run = simulate_for_study(
            scenario, self.trials.policies[self.now.policy], self.seeds[0]
        )
        jobs = run.jobs
        held_s = slot_seconds({name: jobs[name] for name in jobs.dtype.names})
        span_s = max(HOUR_S, float(np.ptp(jobs["submit_s"])))
        hours = round(span_s / HOUR_S)
        sums = [
            _by_part(jobs["submit_s"], column, hours, span_s).tolist()
            for column in (
                held_s * hours / span_s / len(run.held_s),
                self.trials.prices.of_jobs(jobs),
            )
        ]
        begin_h = scenario.market.clock.start_h + float(jobs["submit_s"].min()) / HOUR_S
        return [
            {"hour": (begin_h + number) % 24, "load": load, "usd": usd}
            for number, (load, usd) in enumerate(zip(*sums))
        ]

    # ---- three lines ----

    @property
    def lines(self) -> list[str]:
        """The advice, its saving per day, and how certain the saving is."""
        return [self._what(), self._saves(), self._sure()]

    def _what(self) -> str:
        other = f" {self.best}, the cheapest found, does not cost significantly less."
        return (
            "Recommendation:"
            f" {self.instruction(self.advised)}.{other * (self.best != self.advised)}"
        )

    def instruction(self, option: Option) -> str:
        """Describe an option's changes as an instruction."""
        now, changed = self.now, self.search.changed(option)
        kind, _, gpu = option.types.partition(" ")
        types = {"all": f"all slots of type {gpu}", "spot": f"{gpu} as spot instances"}
        types |= {"free": "free choice of the types", "fixed": "fixed types"}
        after, before = (
            Counter(gpu.name for gpu in self.trials.fleet(choice).slots)
            for choice in (option, now)
        )
        more = ", ".join(
            f"{number} {name}" for name, number in (after - before).items()
        )
        fewer = ", ".join(
            f"{number} {name}" for name, number in (before - after).items()
        )
        listed = "types" not in changed and option.types != FREE
        which = f" (+ {more})" * bool(listed and more) + f" (- {fewer})" * bool(
            listed and fewer
        )
        policy = f"{option.policy} instead of {now.policy}"
        if option.policy == f"{now.policy}-later":
            policy = f"loose jobs after the scarce hours, {now.policy} as today"
        today = now.number if now.hours else str(now.slots)
        slots = f"{option.number} instead of {today}{which}"
        if option.hours:
            slots = f"{option.number}, instead of {today}"
        parts = {"policy": policy, "types": types.get(kind, ""), "slots": slots}
        return "; ".join(parts[change] for change in changed) or f"no change, {now}"

    def _saves(self) -> str:
        estimate, sign = (self.mean, "") if self.best == self.now else (self.saved, "+")
        terms = [
            f"{name} {_spread(estimate(self.best, f'{name}_usd'), sign)} ("
            + ", ".join(
                f"{noun} {_spread(replace(estimate(self.best, part), low=nan), sign)}"
                for part, noun in group.items()
            )
            for name, group in (("bills", BILLS), ("inconvenience", INCONVENIENCE))
        ]
        parts, today = "); ".join(terms), f"{self.mean(self.now).mean:.2f}"
        saved = f"{_spread(self.saved(self.best))} of {today} USD"
        plan = "" if self.best == self.advised else f" with {self.best}"
        none = f"none; today's cost is {today} USD"
        return f"Saving per day{plan}: {saved if sign else none}: {parts})."

    def _sure(self) -> str:
        saved, common = self.saved(self.best), subject_of(self.trials.scenario).common
        logged = isinstance(self.trials.scenario.workload, (LoggedWorkload, JobList))
        unit = "run" if self.trials.days > 1 else "day"
        over = (
            f"{many(len(self.seeds), 'seed')} (the same jobs, other stock and delays)"
            if logged
            else f"{many(len(self.seeds), unit)} of the same distributions"
        )
        over += f" (n = {many(saved.n, common)})" if common else ""
        if saved.n < LEAST_SEEDS:
            text = (
                f"{many(saved.n, common or 'seed')}: no interval (at least"
                f" {LEAST_SEEDS})"
            )
        elif self.best == self.now:
            text = f"no option is better, of {len(self.tried) - 1} in the search"
        else:
            text = (
                f"95 % interval {saved.low:.2f} to {saved.high:.2f} USD, over"
                f" {over} that the search did not use, p = {saved.p:.1g}"
            )
            text += "" if saved.low > 0 or saved.high < 0 else ", not significant"
        if self.whole_days and self.best != self.now:
            text += f"; {self._other_days()}"
        return "".join([f"Confidence: {text}.", *map(self._kept, self.search.limits)])

    def _other_days(self) -> str:
        """Describe the saving for days like those of the log."""
        days = self.for_days(self.best)
        if days is None:
            return f"no interval for other days, since the log has fewer than {WEEK}"
        return (
            f"for days like these {days.low:.2f} to {days.high:.2f} USD (bootstrap of"
            f" {many(self.whole_days, 'day')} in blocks of {self.block_days})"
        )

    def _kept(self, figure: str) -> str:
        """Describe whether a limit is met."""
        most, value = self.search.limits[figure], self.mean(self.best, figure)
        shown = self.search.reached(self.best, figure, self.seeds) <= most + ROUNDING
        verdict = "met" if shown else "met by the mean, but not significantly"
        if value.mean > most + ROUNDING:
            verdict = "met by no option that was tried"
        least = self.least.get(figure, 0.0)
        if least > most + ROUNDING:
            verdict = f"no plan can be below {_number(least)}; the nearest option"
        return f" {figure} <= {most:g}: {verdict}, {_spread(value)}."

    @cached_property
    def least(self) -> dict[str, float]:
        """Lower limits of metrics under any plan, averaged over the seeds."""
        scenario = self.trials.scenario
        rows = [least_figures(scenario, seed) for seed in self.seeds]
        return {name: mean([row[name] for row in rows]).mean for name in rows[0]}

    # ---- the rest ----

    @property
    def rest(self) -> list[str]:
        """Lines on today, inevitable misses, the first step, a bad day and prices."""
        parts = (
            *(self._today, self._late, self._first, self._by_hour),
            *(self._bad, self._worse, self._priced),
        )
        return [text for text in (part() for part in parts) if text]

    def _today(self) -> str:
        miss, wait = (
            _spread(self.mean(self.now, name)) for name in ("miss_pct", "wait_min")
        )
        loads, usd = (
            [float(row[name]) for row in self.hours] for name in ("load", "usd")
        )
        load, above = summed(loads) / len(loads), sum(hourly > 1 for hourly in loads)
        top = self.hours[int(np.argmax(usd))]
        at = f"{int(top['hour'])}:{int(60 * (top['hour'] % 1)):02}"
        stable = f"Stable; above capacity in {above} of {many(len(loads), 'hour')}."
        over = (
            "Overloaded: the queue grows while such jobs arrive, so the cost per day"
            " depends on the length of the run."
        )
        return (
            f"Today, {self.now}: {miss} % of the deadlines are missed, and the mean"
            f" wait is {wait} min. While jobs arrive, the load is {load:.2f} times the"
            f" capacity of the slots, provisioning included, and {max(loads):.2f} times"
            f" in the busiest hour. {over if load > 1 else stable} The jobs of the hour"
            f" from {at} cause {100 * top['usd'] / (summed(usd) or 1):.0f} % of the"
            " inconvenience (first seed)."
        )

    def _late(self) -> str:
        late = self.least["miss_pct"]
        if not late:
            return ""
        return (
            f"{_number(late)} % of the jobs miss their deadlines under any policy, even"
            " if they start at once on the fastest type."
        )

    def _first(self) -> str:
        if self.first in (None, self.best):
            return ""
        smallest = "smallest single change that reduced the cost in the search"
        saved = f"{_spread(self.saved(self.first))} USD per day"
        change = self.instruction(self.first)
        if self.pays(self.first):
            return f"First step, the {smallest}: {change}; it saves {saved}."
        return f"The {smallest}, {change}, does not save significantly: {saved}."

    def _by_hour(self) -> str:
        """Return the saving of hourly slots over the best fixed number, in words."""
        if not any(option.hours for option in self.tried):
            return ""
        if self.fixed is None:
            return "Slots by the hour: no schedule is better than a fixed number."
        saved = self.trials.change(self.fixed, self.best, COST, self.seeds)
        return (
            f"Slots by the hour save {_spread(saved)} USD per day compared with"
            f" {self.fixed}, the best fixed fleet that was tried."
        )

    def _bad(self) -> str:
        return (
            f"Cost of a bad day, {self._of_days}: {self.bad(self.now):.2f} USD today,"
            f" {self.bad(self.best):.2f} after the change."
        )

    @property
    def _of_days(self) -> str:
        """The statistic that `bad` returns, in words."""
        logged, number = self.whole_days, len(self.daily(self.now))
        noun = "run" if logged == 1 or self.trials.days > 1 > logged else "day"
        if number >= BAD_DAYS:
            return f"the 95th percentile of {number} {noun}s"
        return f"the worst of {many(number, noun)} (a 95th percentile needs {BAD_DAYS})"

    def bad(self, option: Option) -> float:
        """Return the cost of a bad day, USD: 95th percentile, or worst of few days."""
        usd = self.daily(option)
        return float(max(usd) if len(usd) < BAD_DAYS else np.quantile(usd, BAD))

    def _worse(self) -> str:
        savings = {noun: self.saved(self.best, name) for name, noun in WORSE.items()}
        worse = [
            f"{name}: {_spread(replace(x, mean=-x.mean), '+')}"
            for name, x in savings.items()
            if x.high < 0
        ]
        return f"What gets worse: {'; '.join(worse)}." if worse else ""

    def _priced(self) -> str:
        """Describe the prices, and the plans at half and twice the first three."""
        price, best = self.trials.prices, self.best
        prices = (
            f"Prices: {price.price_miss:g} USD per missed deadline,"
            f" {price.price_late:g} per minute late, {price.price_wait:g} per minute"
            f" waiting, each times the job's weight;"
            f" {price.price_slot:g} per slot and day; rent at market prices."
        )
        if self.search.limits:
            return prices
        half, double = (
            "the same plan" if other == best else self.instruction(other)
            for other in self.repriced.values()
        )
        answers = f"halved: {half}; if doubled: {double}"
        answers = f"halved or doubled: {half}" if half == double else answers
        return f"{prices} If the first three are {answers}."

    # ---- what was tried ----

    def kind(self, option: Option) -> str:
        """Return the kind of change that an option makes, in a few words."""
        if option.types.startswith("spot "):
            return "spot"
        if option == self.now._replace(policy=f"{self.now.policy}-later"):
            return "start later"
        changed = ", ".join(self.search.changed(option)) or "today"
        return (
            changed.replace("slots", "slots by the hour") if option.hours else changed
        )

    @cached_property
    def rows(self) -> list[Row]:
        """One row per option, with means and half widths of 95 % intervals.

        First the compared options on the seeds of the comparison, then all options on
        the search seeds on which they ran.
        """
        runs = [(choice, self.seeds) for choice in self.compared]
        searched = set(self.search.seeds)
        runs += [
            (choice, sorted(searched & self.trials.figures[choice].keys()))
            for choice in self.tried
        ]
        rows = []
        for option, seeds in runs:
            row: Row = {
                "change": self.kind(option),
                **option.as_row(),
                "seeds": len(seeds),
                "compared": seeds is self.seeds,
            }
            values = {name: self.trials.mean(option, name, seeds) for name in FIGURES}
            values["saved_usd"] = self.trials.change(self.now, option, COST, seeds)
            for name, value in values.items():
                row |= {name: value.mean, f"{name}_half": value.half_width}
            rows.append(row)
        return rows

    @cached_property
    def shown(self) -> list[Row]:
        """The compared options, and the best of each other kind with the most seeds."""
        best = {row["change"]: row for row in self.rows if row["compared"]}
        for row in sorted(self.rows, key=lambda row: (-row["seeds"], row[COST])):
            best.setdefault(row["change"], row)
        return list(best.values())

    @property
    def tables(self) -> list[Table]:
        """Tables of tied plans, if any, and of the rows of `shown`."""
        cells = [
            [
                *(
                    row["hours"] * (name == "slots") or str(row[name])
                    for name in HEAD[:4]
                ),
                *(_half(row, name) for name in HEAD[4:-1]),
                f"{row['seeds']}{'' if row['compared'] else ' (search)'}",
            ]
            for row in self.shown
        ]
        days, spot = self.trials.days, self.trials.spot
        note = (
            f"A run counts as {many(days, 'day', '.3g')}. ± precedes the half"
            " width of a 95 % interval."
        )
        if spot:
            note += (
                f" Spot instances cost {spot.share:g} of a type's price and are"
                f" preempted {spot.per_h:g} times per hour."
            )
        title = (
            "Options compared, and the best of each other kind of change"
            f" ({len(self.tried)} tried)"
        )
        return [*self._ties(), Table(title, [HEAD, *cells], note)]

    def _ties(self) -> list[Table]:
        """Return a table of plans that do not differ, if there are several."""
        if len(self.tied) < 2:
            return []
        head = ["plan", COST, "difference", "sd_usd", "bad_day_usd"]
        cells = [
            [
                str(option),
                _spread(self.mean(option)),
                _spread(self.trials.change(option, self.best, COST, self.seeds), "+"),
                f"{self.daily(option).std():.2f}",
                f"{self.bad(option):.2f}",
            ]
            for option in self.tied
        ]
        note = (
            "The difference of each from the first, paired by seed, is not significant"
            f" and at most {TIE:.0%}. The first has the least standard deviation over"
            f" days. A bad day: {self._of_days}."
        )
        return [Table("Plans without a significant difference", [head, *cells], note)]

    @property
    def title(self) -> str:
        """Title: the scenario, the number of slots and the question."""
        return (
            f"{self.trials.scenario.name}, {many(self.now.slots, 'slot')}: what to"
            " change?"
        )

    @property
    def _held(self) -> str:
        return f"{self.title} {self._what()}"

    def as_dict(self) -> dict[str, Any]:
        """Return the advice as JSON-serialisable values."""
        return {
            "scenario": self.trials.scenario.name,
            "prices": asdict(self.trials.prices),
            "limits": self.search.limits,
            "lines": self.lines,
            "rest": self.rest,
            "advised": self.advised.as_row(),
            "found": self.best.as_row(),
            "first": self.first and self.first.as_row(),
            "tied": [option.as_row() for option in self.tied],
            "saved_usd": plain_mean(self.saved(self.best)),
            "least": self.least,
            "hours": self.hours,
            "rows": self.rows,
        }

    def __str__(self) -> str:
        texts = ["\n".join(self.lines), "\n".join(self.rest)]
        return "\n\n".join([self.title, *texts, *map(Table.text, self.tables)])

    def _repr_html_(self) -> str:
        return self.html()

    def html(self, pictures: str = "") -> str:
        """Return HTML elements. pictures: HTML between the text and the tables."""
        tables = "".join(
            f'<div class="wide">{table.html()}</div>' for table in self.tables
        )
        head = f"<h1>{html_text(self.title)}</h1>"
        text = "".join(map(paragraph, self.lines))
        return f"{head}{text}{bullets(self.rest)}{pictures}{tables}"


def _by_part(
    submit_s: np.ndarray, values: np.ndarray, parts: int, span_s: float = 0
) -> np.ndarray:
    """Sum the values in each of several equal intervals of time.

    They begin at the first submission and end at the last, or after span_s if later.
    """
    since_s = submit_s - submit_s.min()
    part = since_s / (max(span_s, since_s.max()) or 1.0) * parts
    return np.bincount(np.minimum(part.astype(int), parts - 1), values, parts)


def _number(value: float) -> str:
    """Format a number without an interval."""
    return _half({"": value, "_half": nan}, "")


def _spread(value: Mean, sign: str = "") -> str:
    """Format a mean with its half width, if it has one."""
    half = nan if isnan(value.low) else value.half_width
    return _half({"": value.mean, "_half": half}, "", sign)


def _half(row: Row, name: str, sign: str = "") -> str:
    """Format a value and its half width; only exact zeros are printed as 0."""
    value, half = row[name], row[f"{name}_half"] or 0.0
    form = digits(min(filter(None, (abs(value), half)), default=0.0))
    return f"{value:{sign}z{form}}" + f" ± {half:{form}}" * (half > 0)
