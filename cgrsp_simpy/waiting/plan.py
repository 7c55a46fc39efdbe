"""Plans for a log: machines to own, jobs that wait, and the cost with its interval.

The search varies machines, policy, t and b. Each candidate is run once over the log, by
the recursion; its cost, work and waits are recorded per day. A plan is chosen on some
days and priced on the others; intervals are from a block bootstrap of days.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from operator import attrgetter
from typing import Annotated, NamedTuple

import numpy as np
import scipy

from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.base.arrays import Bools, Floats, Ints
from cgrsp_simpy.base.checks import (
    InputError,
    refuse,
    require,
)
from cgrsp_simpy.base.parameters import Positive, Whole, checked, limits, rule
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.base.table import many, progress
from cgrsp_simpy.waiting.jobs import DAY_S, Chunk, ListedJobs
from cgrsp_simpy.waiting.machines import (
    M5,
    PAPER_PRICES,
    Prices,
    Size,
    exact_gb,
    fits,
    paid_s,
    rented,
)
from cgrsp_simpy.waiting.policies import (
    POLICIES,
    RENTS_AT_ONCE,
    WAITS,
    WaitingPolicy,
    limits_of,
    njw,
    waiting_policy,
)
from cgrsp_simpy.waiting.recursion import COMPILED_FROM, started

YEAR_D = 365
# lengths of resampled blocks, days, and minimum number of blocks in a log
LENGTHS_D, LEAST_BLOCKS = (1, 3, 7), 4
YEAR_H = 24.0 * YEAR_D
REDRAWN = 2_000  # resamples of the days
LEAST_D = 14  # shortest sufficient log: each day of the week twice
# shares of the price, above which a log is too short
MOST_WIDTH, MOST_REGRET = 0.25, 0.1
# share of the limit that a policy without its own limit may use up in the worst part
MARGIN = 0.5
LEAST_GAIN = 0.001  # relative gain for which other t and b are tried
STEP = 1.1  # ratio of consecutive numbers of machines
FREE_WAIT_S = 3600.0  # initial b if there is a budget and no limit
UNITS = {"d": DAY_S, "h": 3600, "min": 60}
VALUE = attrgetter("value")


class Limit(NamedTuple):
    """Limit of the waits, seconds: of their mean, or of a share of the jobs.

    wait_s: infinite for none. share: share that may exceed it; 1: limit of the mean.
    """

    wait_s: float = math.inf
    share: float = 1.0

    @classmethod
    def read(cls, text: str) -> Limit:
        """Read "p95=30min", "p99=2h" or "mean=600"; units are s, min, h and d."""
        matched = re.fullmatch(
            r"(?:mean|p([1-9]\d?(?:\.\d+)?))=(\d+\.?\d*)(s|min|h|d|)", text
        )
        require(
            matched is not None,
            "limit",
            text,
            "a quantile or mean with its limit, such as p95=30min, p99=2h or mean=600",
        )
        percent, number, unit = matched.groups()  # type: ignore[union-attr]
        return cls(float(number) * UNITS.get(unit, 1), 1 - float(percent or 0) / 100)

    def used(self, wait_s: Floats) -> Floats:
        """Return each job's contribution, whose mean must not exceed `share`."""
        if self.share == 1:
            return wait_s / max(self.wait_s, 1e-9)
        return (wait_s > self.wait_s).astype(float)


class Tried(NamedTuple):
    """A candidate, run over the log of each year.

    own: number of machines of each size. spot: whether jobs use spot instances if these
    are expected to be cheaper and cannot break the limit. cost: years of the
    reservation -> cost, shape (years, days). least_cost: least total. wait_s: total
    wait, shape (years, days). value: violation, objective, tie-breaker. p95_s: 95th
    percentile of the first year's waits. shares: shares of its jobs that wait, and that
    are rented.
    """

    own: tuple[int, ...]
    policy: WaitingPolicy
    spot: bool
    cost: dict[int, Floats]
    least_cost: float
    wait_s: Floats
    value: tuple[float, float, float]
    p95_s: float
    shares: tuple[float, float]


@dataclass(frozen=True)
class Plan:
    """Machines to own, jobs that wait, and costs.

    own: number of machines by size. years: length of the reservation, 1 or 3. policy:
    which jobs wait. spot: whether rented jobs use spot instances if that is expected to
    be cheaper. price, bill: cost per hour of work of a core, GPU or machine, and cost
    per year, in the prices' currency, from days not used to choose the plan; with 95 %
    intervals for a future year (NaN for a log of less than four days). load: cores,
    GPUs or machines kept busy, with an interval. wait_s, p95_wait_s: mean and 95th
    percentile of the waits of all jobs. waiting, on_demand: shares of the jobs. regret:
    excess cost over the best plan in resampled logs, as a share, 95th percentile; NaN
    for a log of less than four days. range: interval of the best number of machines in
    95 % of them. reason: why the log is too short for a reliable plan, or "". frontier:
    least cost for each wait: p95_wait_s, wait_s, price, bill, machines and policy.
    """

    own: dict[str, int]
    years: int
    policy: WaitingPolicy
    spot: bool
    price: Mean
    bill: Mean
    load: Mean
    wait_s: float
    p95_wait_s: float
    waiting: float
    on_demand: float
    regret: float
    range: tuple[int, int] | None
    reason: str
    frontier: list[dict[str, float | str]] = field(repr=False)

    def __str__(self) -> str:
        """Three lines: machines to own, jobs that wait, and cost with interval."""
        numbers = " and ".join(
            f"{number:,} x {name}" for name, number in self.own.items()
        )
        term = "one year" if self.years == 1 else f"{self.years} years"
        owned = (
            f"{numbers}, reserved for {term}; rent the rest"
            if self.own
            else "nothing; rent"
        )
        policy, bill, price = self.policy, self.bill, self.price
        who = {
            "ajw": "all jobs, as long as it takes",
            "njw": "none",
            "ajw-t": f"all jobs, up to {_time(policy.wait_s)}",
            "sww": f"jobs that get a machine within {_time(policy.wait_s)}",
            "ljw": f"jobs of {_time(policy.short_s)} or more",
            "compound": (
                f"jobs of {_time(policy.short_s)} or more that get a machine within"
                f" {_time(policy.wait_s)}"
            ),
        }[policy.name]
        lines = [f"the log is too short to say: {self.reason}"] if self.reason else []
        lines += [
            f"own: {owned}{', on spot instances if they are cheaper' * self.spot}",
            (
                f"wait: {who} ({policy_text(policy)}); {self.waiting:.1%} of the jobs"
                f" wait, 95 % of all at most {_time(self.p95_wait_s)};"
                f" {self.on_demand:.1%} are rented"
            ),
            (
                f"cost: {bill.mean:,.6g} per year ({bounds(bill, ',.6g')}),"
                f" {price.mean:.4g} per hour of work ({bounds(price, '.4g', '')}), on"
                " days that were not used to choose the plan"
            ),
        ]
        return "\n".join(lines)


@checked
def plan(
    jobs: ListedJobs,
    limit: str | Limit | None = None,
    *,
    budget: Positive | None = None,
    sizes: Annotated[Sequence[Size], rule("at least one Size", bool)] = M5,
    prices: Prices = PAPER_PRICES,
    policies: Annotated[Sequence[str], rule("at least one name", bool)] = tuple(
        POLICIES
    ),
    growth: Annotated[float, limits("a number > -1", gt=-1)] = 0.0,
    seed: Whole = 0,
) -> Plan:
    """Return the cheapest plan within a limit of waits, or the least wait in a budget.

    Time counts from the first submission. A policy whose longest wait, plus the boot
    time of a rented machine, is within the limit always keeps it; others may use up
    half of it in the worst part of the log.

    limit: limit of the waits, such as "p95=30min", "p99=2h" or "mean=600". budget:
    money per year, above the interval of the bill; either this or a limit. sizes: for
    rent; those with a reserved price can be owned. If none has one, the largest can, at
    prices.fixed / prices.on_demand times its price. policies: names of POLICIES,
    optionally with parameters; t and b are searched unless set. growth: relative
    increase of the number of jobs in the first year, and per year. seed: for added
    jobs, spot interruptions and the bootstrap. Raises InputError for a log without work
    or of less than two days (with a budget: four), or if no plan keeps the limit or the
    budget.
    """
    require(isinstance(jobs, ListedJobs), "jobs", jobs, "ListedJobs")
    require(
        (limit is None) != (budget is None),
        "limit and budget",
        f"{limit} and {budget}",
        "exactly one of the two",
    )
    limit = Limit() if limit is None else limit
    search = Search(
        replace(jobs, submit_s=jobs.submit_s - jobs.submit_s[0]),
        sizes,
        prices,
        limit if isinstance(limit, Limit) else Limit.read(str(limit)),
        budget,
        growth,
        seed,
    )
    for text in sorted(policies, key=lambda text: search.first(text).wait_s):
        search.climb(text)
    search.refine()
    return search.chosen()


def grown(jobs: ListedJobs, factor: float, seed: int) -> ListedJobs:
    """Return the log with `factor` times its jobs.

    Added jobs are copies on another day at the same time; on the same day of the week
    if the log has at least two weeks.
    """
    if factor == 1:
        return jobs
    draws, days, span_s = stream(seed, "growth"), _days(jobs), float(jobs.submit_s[-1])
    copies = np.floor(factor + draws.random(jobs.jobs)).astype(np.intp)
    row = np.repeat(np.arange(jobs.jobs), copies)
    first = np.diff(row, prepend=-1) > 0
    step = 7 if days >= LEAST_D else 1
    moved = draws.integers(1, max(days // step, 2), len(row)) * step * DAY_S * ~first
    submit_s = jobs.submit_s[row] + moved
    submit_s = np.where(submit_s > span_s, submit_s % span_s, submit_s)
    order = np.argsort(submit_s, kind="stable")
    row = row[order]
    return ListedJobs(
        submit_s[order],
        jobs.run_s[row],
        jobs.cores[row],
        jobs.memory_gb[row],
        jobs.name,
    )


def _days(jobs: ListedJobs) -> int:
    return max(1, round(float(jobs.submit_s[-1]) / DAY_S))


class _Year:
    """Jobs of a year, and the payment for each if it is rented.

    boot_s, paid: boot time and payment on demand. lost_s, spot_paid: delay and payment
    for a job that starts on a spot instance and, if an interruption destroys its work,
    starts again on demand. spot: whether a spot instance is expected to be cheaper.
    """

    def __init__(
        self,
        jobs: ListedJobs,
        day_s: float,
        days: int,
        sizes: Sequence[Size],
        seed: int,
    ) -> None:
        self.chunk = Chunk(
            jobs.submit_s, jobs.run_s, jobs.cores, exact_gb(jobs.memory_gb)
        )
        run_s = jobs.run_s
        index, number, rent_per_h = rented(
            self.chunk.cores, self.chunk.memory_gb, sizes
        )
        refuse(
            np.isinf(number),
            lambda row: (
                f"job {row + 1} ({jobs.memory_gb[row]:g} GB) does not fit on any"
                " machine"
            ),
        )
        self.day = np.minimum(jobs.submit_s // day_s, days - 1).astype(np.intp)
        self.work_h = np.bincount(self.day, jobs.cores * run_s / 3600, days)
        self.number = np.bincount(self.day, np.ones(jobs.jobs), days)
        self.boot_s, spot_per_h, rate = (
            np.array([getattr(size, name) for size in sizes])[index]
            for name in ("boot_s", "spot_per_h", "interruptions_per_h")
        )
        self.paid = rent_per_h / 3600 * paid_s(run_s, index, sizes)
        draws = stream(seed, "interruptions").standard_exponential(jobs.jobs)
        # never, and if there is no spot
        with np.errstate(divide="ignore", invalid="ignore"):
            after_s = draws * 3600 / (number * rate)
            risk = -np.expm1(-number * rate * run_s / 3600)
            hours = np.where(rate > 0, risk / (number * rate), run_s / 3600)
            lost, spot_s = after_s < run_s, np.minimum(after_s, run_s)
            first = paid_s(spot_s, index, sizes) / 3600 * spot_per_h * number
            self.spot = spot_per_h * number * hours + risk * self.paid < self.paid
        self.lost_s = np.where(lost, spot_s + self.boot_s, 0.0)
        self.spot_paid = first + lost * self.paid


class Search:
    """Search for a plan; each candidate is run once over the log of each of its years.

    Without a budget, minimise cost under a limit of waits; with one, minimise waits.
    """

    def __init__(
        self,
        jobs: ListedJobs,
        sizes: Sequence[Size],
        prices: Prices,
        limit: Limit,
        budget: float | None,
        growth: float,
        seed: int,
    ) -> None:
        self.limit, self.budget, self.seed = limit, budget, seed
        self.sizes, self.reserved = _owned(sizes, prices)
        self.boot_s = max(size.boot_s for size in sizes)
        years = max(self.reserved) if growth else 1
        require(
            bool(jobs.run_s.any()),
            "work of the log",
            0,
            "above 0, so that there is a price",
        )
        self.days = _days(jobs)
        least = 2 if budget is None else LEAST_BLOCKS
        reason = (
            ""
            if budget is None
            else " for a budget, which the interval of the bill is to keep"
        )
        require(
            self.days >= least,
            "days of the log",
            self.days,
            f"at least {least}{reason}",
        )
        self.day_h = float(jobs.submit_s[-1]) / self.days / 3600
        arguments = (3600 * self.day_h, self.days, sizes, seed)
        self.years = [
            _Year(grown(jobs, (1 + growth) ** n, seed), *arguments)
            for n in range(bool(growth), years + bool(growth))
        ]
        self.work_h = np.array([year.work_h for year in self.years])
        self.number = np.array([year.number for year in self.years])
        # jobs that take a machine as a whole
        self.whole = {size.cores for size in self.sizes} == {1} and not any(
            year.chunk.memory_gb.any() for year in self.years
        )
        self.tried: dict[tuple[tuple[int, ...], WaitingPolicy, bool], Tried] = {}
        self._bar = progress(unit=" candidates")

    # ---- one candidate ----

    def rows(
        self, numbers: tuple[int, ...], policy: WaitingPolicy, spot: bool, year: int = 0
    ) -> tuple[Floats, Floats, Bools]:
        """Return, per job, its wait, its rent, and whether it is rented."""
        at = self.years[year]
        chunk = at.chunk
        machines = [
            size for number, size in zip(numbers, self.sizes) for _ in range(number)
        ]
        owned = (size for number, size in zip(numbers, self.sizes) if number)
        stays = fits(chunk.cores, chunk.memory_gb, owned) & (
            chunk.run_s >= policy.short_s
        )
        kinds = np.where(stays, WAITS, RENTS_AT_ONCE).astype(np.int8)
        held = len(machines) if self.whole else machines
        fast = len(kinds) * 100 >= COMPILED_FROM
        ((_, _, starts),) = started([(chunk, kinds)], policy, held, fast=fast)
        goes = np.isnan(starts)
        rented_s = (
            np.where(goes & stays & (not policy.balks), policy.wait_s, 0.0) + at.boot_s
        )
        # not if an interruption at the last moment would break the limit
        latest_s = rented_s + chunk.run_s + at.boot_s
        on_spot = goes & at.spot & spot & (latest_s <= self.limit.wait_s)
        wait_s = np.where(goes, rented_s + on_spot * at.lost_s, starts - chunk.submit_s)
        return wait_s, np.where(on_spot, at.spot_paid, goes * at.paid), goes

    def attempt(
        self, numbers: tuple[int, ...], policy: WaitingPolicy, spot: bool = False
    ) -> Tried:
        """Run a candidate once; without machines, every job is rented at once."""
        key = numbers, policy if any(numbers) else njw(), spot
        if key not in self.tried:
            self.tried[key] = self._run(*key)
            self._bar.update()
        return self.tried[key]

    def _run(
        self, numbers: tuple[int, ...], policy: WaitingPolicy, spot: bool
    ) -> Tried:
        waits_s, money, goes = zip(
            *[self.rows(numbers, policy, spot, year) for year in range(len(self.years))]
        )
        rent, wait_s, used = (
            np.array(
                [
                    np.bincount(y.day, column, self.days)
                    for y, column in zip(self.years, columns)
                ]
            )
            for columns in (money, waits_s, map(self.limit.used, waits_s))
        )
        cost = {
            years: rent + self.day_h * np.dot(numbers, prices)
            for years, prices in self.reserved.items()
        }
        least_cost = min(float(by_day.sum()) for by_day in cost.values())
        waited_s = float(wait_s.sum())
        if self.budget is None:
            value = self._breach(policy, used), least_cost, waited_s
        else:
            bill = least_cost / self.work_h.size / self.day_h * YEAR_H
            value = max(0.0, bill - self.budget / 1.1), waited_s, least_cost
        waiting = np.mean(waits_s[0] > self.years[0].boot_s * goes[0])
        shares = float(waiting), float(goes[0].mean())
        p95_s = float(np.quantile(waits_s[0], 0.95))
        return Tried(
            numbers, policy, spot, cost, least_cost, wait_s, value, p95_s, shares
        )

    def _breach(self, policy: WaitingPolicy, used: Floats) -> float:
        """Share of the limit used in the log's worst part; 0 if the limit is kept."""
        worst = max(
            float(used[:, part].sum() / max(self.number[:, part].sum(), 1))
            for part in self.parts()
        )
        kept = policy.wait_s + self.boot_s <= self.limit.wait_s
        return 0.0 if kept or worst <= MARGIN * self.limit.share else worst

    def parts(self) -> list[Ints]:
        """Return the weeks of the log; two halves if it is shorter than three weeks."""
        return np.array_split(np.arange(self.days), max(2, self.days // 7))

    # ---- the search ----

    def climb(self, text: str) -> None:
        """Search the numbers of machines for a policy, then t and b if not set."""
        policy = self.first(text)
        most_s = DAY_S if self.limit == Limit() else 8 * self.limit.wait_s
        free = [name for name in limits_of(policy.name) if f"{name}=" not in text]
        start = self.best().own if self.tried else (0,) * len(self.sizes)
        best = self._along(start, policy)
        while best.value[:2] <= self.worst_near():
            others = [
                replace(best.policy, **{name: getattr(best.policy, name) * factor})
                for name in free
                for factor in (0.5, 2.0)
            ]
            near = [
                self.attempt(best.own, other)
                for other in others
                if other.wait_s == math.inf or other.wait_s <= most_s
            ]
            improved = min([best, *near], key=VALUE)
            improved = (
                self._along(improved.own, improved.policy)
                if improved is not best
                else best
            )
            if improved.value >= tuple(part * (1 - LEAST_GAIN) for part in best.value):
                return
            best = improved

    def best(self) -> Tried:
        """Return the best candidate so far."""
        return min(self.tried.values(), key=VALUE)

    def worst_near(self) -> tuple[float, float]:
        """Return the worst value that still counts as near the best."""
        fails, least, _ = self.best().value
        return fails, least * (1 + MOST_REGRET)

    def first(self, text: str) -> WaitingPolicy:
        """Return a policy with the longest wait that always keeps the limit."""
        slack_s = (
            FREE_WAIT_S if self.limit == Limit() else self.limit.wait_s - self.boot_s
        )
        return waiting_policy(text, wait_s=max(0.0, slack_s))

    def _along(self, numbers: tuple[int, ...], policy: WaitingPolicy) -> Tried:
        """Optimise the number of machines of each size in turn, while that improves."""
        best = self.attempt(numbers, policy)
        while True:
            starts = [best]
            starts += [
                self._at(best.own, policy, place, math.floor(number / STEP))
                for place, number in enumerate(best.own if len(numbers) > 1 else ())
            ]
            pairs = product(starts, range(len(numbers)))
            candidate = min((self._of_size(*pair, policy) for pair in pairs), key=VALUE)
            if candidate.value >= best.value or len(numbers) == 1:
                return min(best, candidate, key=VALUE)
            best = candidate

    def _of_size(self, best: Tried, place: int, policy: WaitingPolicy) -> Tried:
        """Optimise the number of machines of one size, from the current or the load."""
        load = (
            0
            if any(best.own)
            else self.work_h.mean() / self.day_h / self.sizes[place].cores
        )
        start = best.own[place] or round(load)
        numbers = _numbers(start)
        tried = [self._at(best.own, policy, place, start)]
        for step in (-1, 1):
            at, worse = numbers.index(start) + step, 0
            while (
                0 <= at < len(numbers) and worse < 2 and not self._ends(tried[-1], step)
            ):
                tried.append(self._at(best.own, policy, place, numbers[at]))
                worse = 0 if tried[-1].value <= min(map(VALUE, tried)) else worse + 1
                at += step
        return min([best, *tried], key=VALUE)

    def _ends(self, tried: Tried, step: int) -> bool:
        """Return whether a further step would break the limit, or cost too much."""
        fails, least = self.worst_near()
        too_few, too_many = tried.value[0] > 0, fails == 0 and tried.value[1] > least
        return self.budget is None and (too_many if step == 1 else too_few)

    def _at(
        self, numbers: tuple[int, ...], policy: WaitingPolicy, place: int, number: int
    ) -> Tried:
        return self.attempt((*numbers[:place], number, *numbers[place + 1 :]), policy)

    def refine(self) -> None:
        """Try half to twice the best numbers of machines, and spot instances."""
        best = self.best()
        for place, number in enumerate(best.own):
            between = np.linspace(number / STEP, number * STEP, 9)
            wide = [
                other for other in _numbers(number) if number <= 2 * other <= 4 * number
            ]
            for other in {*np.rint(between).astype(int).tolist(), *wide}:
                self._at(best.own, best.policy, place, other)
        if any(year.spot.any() for year in self.years):
            for candidate in sorted(self.tried.values(), key=VALUE)[:20]:
                self.attempt(candidate.own, candidate.policy, True)

    # ---- what is chosen ----

    def choice(self, tried: Sequence[Tried], weights: Floats) -> tuple[int, int]:
        """Return the years of the best reservation, and the index of its candidate.

        weights: per day. With one-year reservations, each year has its own choice.
        """
        options = []
        for years in self.reserved:
            cost = np.array([candidate.cost[years] for candidate in tried]) @ weights
            sums = cost.sum(axis=1)
            total, first = (
                (sums.min(), sums)
                if years > 1
                else (cost.min(axis=0).sum(), cost[:, 0])
            )
            options.append((float(total), years, int(first.argmin())))
        return min(options)[1:]

    def money(self, tried: Tried, years: int) -> tuple[Floats, Floats]:
        """Return cost and work per day, averaged over the years of a reservation."""
        among = slice(None) if years > 1 else slice(1)
        return tried.cost[years][among].mean(axis=0), self.work_h[among].mean(axis=0)

    def chosen(self) -> Plan:
        """Return the best candidate as a plan, with its uncertainty."""
        every = sorted(self.tried.values(), key=VALUE)
        kept = [
            candidate
            for candidate in every
            if candidate.value[0] == 0 or self.budget is not None
        ]
        if not kept:
            raise InputError(
                "no plan satisfies the limit with a margin: the closest,"
                f" {every[0].policy.name}, has p95 {every[0].p95_s:,.0f} s;"
                f" rented machines take up to {self.boot_s:g} s to boot"
            )
        if self.budget is not None:
            kept = [self._within(kept)]
        years, place = self.choice(kept, np.ones(self.days))
        best, (cost, work_h) = kept[place], self.money(kept[place], years)
        for part in self.parts() if self.budget is None else ():
            others = np.ones(self.days)
            others[part] = 0
            unseen = self.choice(kept, others)
            cost[part] = self.money(kept[unseen[1]], unseen[0])[0][part]
        day = np.full(self.days, self.day_h)
        price, bill = self.interval(cost, work_h), self.interval(cost * YEAR_H, day)
        load = self.interval(work_h, day)
        regret, among = self._regret(kept, years, place)
        return Plan(
            {size.name: n for size, n in zip(self.sizes, best.own) if n},
            years,
            best.policy,
            best.spot,
            price,
            bill,
            load,
            float(best.wait_s[0].sum()) / float(self.number[0].sum()),
            best.p95_s,
            *best.shares,
            regret,
            among,
            self._reason(price, load, regret, among),
            self._frontier(),
        )

    def _within(self, every: Sequence[Tried]) -> Tried:
        """Return the candidate with the least wait whose bill is within the budget."""
        assert self.budget is not None
        day, cheapest = np.full(self.days, self.day_h), math.inf
        for candidate in sorted(
            every, key=lambda candidate: float(candidate.wait_s.sum())
        ):
            bill = min(
                self.interval(self.money(candidate, years)[0] * YEAR_H, day).high
                for years in self.reserved
            )
            if bill <= self.budget:
                return candidate
            cheapest = min(cheapest, bill)
        raise InputError(
            f"budget(={self.budget:g}) is too small: the bill of the cheapest"
            f" plan may reach {cheapest:,.6g} per year"
        )

    def interval(self, amount: Floats, per: Floats) -> Mean:
        """Return a ratio of sums over days, with a 95 % interval for a future year.

        Blocks of 1, 3 and 7 days, if the log has at least four of them, are resampled
        with replacement, as many as in the log and as in a year. The spread of the
        difference, widened by Student's t, is centred at the log's ratio. There is no
        interval for less than four days, or if a resampled log has no work.
        """
        ratio, ends = float(amount.sum() / per.sum()), [np.zeros(2)]
        if self.days < LEAST_BLOCKS:
            return Mean(ratio, math.nan, math.nan, self.days)
        for length in [days for days in LENGTHS_D if self.days >= LEAST_BLOCKS * days]:
            number = self.days // length
            wrapped = (np.arange(self.days)[:, None] + np.arange(length)) % self.days
            sums = [column[wrapped].sum(axis=1) for column in (amount, per)]
            draws = stream(self.seed, "bootstrap", length)
            known, unseen = (
                draws.multinomial(n, np.full(self.days, 1 / self.days), REDRAWN)
                for n in (number, YEAR_D // length)
            )
            totals = [days @ column for days in (unseen, known) for column in sums]
            if min(total.min() for total in totals) <= 0:
                return Mean(ratio, math.nan, math.nan, self.days)
            spread = np.log(totals[0] / totals[1]) - np.log(totals[2] / totals[3])
            wider = scipy.special.stdtrit(number - 1, 0.975) / scipy.special.ndtri(
                0.975
            )
            wider *= math.sqrt(number / (number - 1))
            ends.append(np.quantile(spread, [0.025, 0.975]) * wider)
        lows, highs = zip(*ends)
        low, high = ratio * np.exp([min(lows), max(highs)])
        return Mean(ratio, float(low), float(high), self.days)

    def _regret(
        self, tried: Sequence[Tried], years: int, place: int
    ) -> tuple[float, tuple[int, int] | None]:
        """Return the attributes regret and range of a `Plan`, from resampled logs."""
        if self.days < LEAST_BLOCKS:
            return math.nan, None
        weights = stream(self.seed, "bootstrap").multinomial(
            self.days, np.full(self.days, 1 / self.days), REDRAWN
        )
        cost = (
            np.array([self.money(candidate, years)[0] for candidate in tried])
            @ weights.T
        )
        owned = np.array([sum(candidate.own) for candidate in tried])
        if cost.min() <= 0:  # a resampled log has no work
            return math.nan, None
        numbers = owned[cost.argmin(axis=0)]
        low, high = np.quantile(numbers, [0.025, 0.975], method="nearest").tolist()
        return float(np.quantile(cost[place] / cost.min(axis=0) - 1, 0.95)), (low, high)

    def _reason(
        self, price: Mean, load: Mean, regret: float, among: tuple[int, int] | None
    ) -> str:
        """Return why the log is too short, with the number that matters most, or ""."""
        best = (
            f", by which {among[0]:,} to {among[1]:,} machines are best"
            if among
            else ""
        )
        decides = (
            f"what decides is the load, {load.mean:,.3g} ({bounds(load, ',.3g')}){best}"
        )
        width = price.half_width / price.mean
        if self.days < LEAST_D:
            return f"{many(self.days, 'day')}, and less than {LEAST_D}; {decides}"
        if width > MOST_WIDTH:
            enough = f"{self.days * (width / MOST_WIDTH) ** 2:,.0f} days or so would do"
            return f"the price is known to ±{width:.0%}, {enough}; {decides}"
        if regret > MOST_REGRET:
            return f"another plan may be {regret:.0%} cheaper; {decides}"
        return ""

    def _frontier(self) -> list[dict[str, float | str]]:
        """Return the candidates that no other dominates in both cost and wait."""
        rows, least = list[dict[str, float | str]](), math.inf
        work_h, hours = float(self.work_h.sum()), self.work_h.size * self.day_h
        for candidate in sorted(
            self.tried.values(),
            key=lambda candidate: (candidate.p95_s, candidate.least_cost),
        ):
            if candidate.p95_s <= DAY_S and candidate.least_cost < least * (
                1 - LEAST_GAIN
            ):
                least = candidate.least_cost
                rows.append(
                    {
                        "p95_wait_s": candidate.p95_s,
                        "wait_s": float(candidate.wait_s.sum() / self.number.sum()),
                        "price": least / work_h,
                        "bill": least / hours * YEAR_H,
                        "machines": sum(candidate.own),
                        "policy": policy_text(candidate.policy),
                    }
                )
        return rows


def _owned(
    sizes: Sequence[Size], prices: Prices
) -> tuple[tuple[Size, ...], dict[int, tuple[float, ...]]]:
    """Return the sizes to own, and their prices per hour by years of reservation."""
    columns = {1: "reserved_1y_per_h", 3: "reserved_3y_per_h"}
    ownable = tuple(
        s for s in sizes if any(getattr(s, c) < math.inf for c in columns.values())
    )
    if not ownable:
        largest = max(sizes, key=lambda size: (size.cores, size.memory_gb))
        ownable = (
            replace(largest, reserved_1y_per_h=prices.share * largest.price_per_h),
        )
    prices_by_years = {
        y: tuple(getattr(size, name) for size in ownable) for y, name in columns.items()
    }
    reserved = {
        years: row for years, row in prices_by_years.items() if max(row) < math.inf
    }
    require(
        bool(reserved),
        "prices of the sizes reserved",
        prices_by_years,
        "all for one year or all for three years",
    )
    require(
        min(map(min, reserved.values())) > 0,
        "reserved price",
        reserved,
        "above 0 in a plan",
    )
    rent = min(size.price_per_h for size in sizes)
    require(rent > 0, "least price of the sizes for rent", rent, "above 0 in a plan")
    return ownable, reserved


def _numbers(start: int) -> list[int]:
    """Return numbers of machines: `start` times powers of STEP, and 0 to 29."""
    steps = np.rint(start * STEP ** np.arange(-60.0, 60.0))
    return [int(number) for number in np.unique([*range(30), *steps])]


def bounds(value: Mean, form: str, name: str = "95 %: ") -> str:
    """Return the interval of a mean as text."""
    if math.isnan(value.half_width):
        return "no interval"
    return f"{name}{value.low:{form}} to {value.high:{form}}"


def _time(seconds: float) -> str:
    fit = (
        item for item in UNITS.items() if seconds >= 2 * item[1] or seconds == item[1]
    )
    unit, size = next(fit, ("s", 1))
    return f"{seconds / size:.3g} {unit}"


def policy_text(policy: WaitingPolicy) -> str:
    """Return the name and parameters of a policy, such as "sww:wait_s=60"."""
    text = ",".join(
        f"{name}={getattr(policy, name):g}" for name in limits_of(policy.name)
    )
    return f"{policy.name}:{text}" if text else policy.name
