"""Gaps between policies and lower bounds, by seed, and the frontier of wait and misses.

A bound is on an expectation over the draws, given the arrivals of a seed and the path
of persistent stock. It is compared with a policy's mean over many such draws, never
with one run.

The frontier is a lower bound on all combinations of wait and misses (ours). For each
price w of a per cent missed, in minutes of mean wait, the linear program gives b(w): no
policy has less of wait + w misses. So at a mean wait x, a policy's misses are at least
the greatest (b(w) - x) / w over the prices. Each b is a mean over the same seeds; a
seed without a known bound counts as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from math import inf, nan
from typing import Annotated, Any

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean, cluster_means, mean
from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.parameters import Count, UpToInfinity, checked, rule
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.base.table import progress
from cgrsp_simpy.decide.bounds import BIN_S, Bound, Weights, lower_bound
from cgrsp_simpy.decide.recommend import Prices
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.compare import Comparison
from cgrsp_simpy.studies.executors import as_they_come
from cgrsp_simpy.studies.isolation import run_isolated
from cgrsp_simpy.studies.replicate import check_seeds, engine_for
from cgrsp_simpy.studies.subject import subject_of

LUCKS = 20  # draws per seed, over which a policy's figures are averaged
# figure -> objective of its bound
OBJECTIVES = {"wait_min": "wait", "miss_pct": "miss"}
GAPS = {"wait_min": "wait_gap_min", "miss_pct": "miss_gap_pct"}


def lower_bounds(
    scenario: Scenario,
    objectives: Sequence[str | Weights | Prices],
    seeds: Sequence[int],
    executor: Executor | int | None = None,
    bin_s: float | None = None,
) -> list[list[Bound]]:
    """Return lower bounds by objective and seed; tens of seconds each, with a progress
    bar.
    """
    tasks = {
        (n, seed): (objective, seed)
        for n, objective in enumerate(objectives)
        for seed in seeds
    }
    results = as_they_come(partial(_bound, scenario, bin_s), tasks, executor)
    done = dict(progress(results, total=len(tasks), unit=" bounds", delay=0))
    return [[done[number, seed] for seed in seeds] for number in range(len(objectives))]


def _bound(
    scenario: Scenario, bin_s: float | None, task: tuple[str | Weights | Prices, int]
) -> Bound:
    objective, seed = task
    return lower_bound(scenario, seed, objective, bin_s)


def over_seeds(
    scenario: Scenario, seeds: Sequence[int], values: Sequence[float]
) -> Mean:
    """Return the mean of one value per seed.

    Seeds whose replayed stock begins on the same day count as one.
    """
    clusters = [subject_of(scenario).in_common(seed) for seed in seeds]
    return mean(
        cluster_means(values, clusters), in_order=bool(subject_of(scenario).common)
    )


@checked
def over_lucks(
    scenario: Scenario, policy: Any, seed: int, lucks: Count, engine: str = "simpy"
) -> list[dict[str, float]]:
    """Return a policy's figures on the arrivals of a seed, one run per set of draws.

    The seeds of the draws come from the stream "lucks"; the statuses that a policy sees
    and its random numbers follow them. Persistent stock takes the path of `seed`.
    """
    drawn, found = subject_of(scenario).draw(seed), []
    for own in stream(seed, "lucks").integers(2**62, size=lucks).tolist():
        path, jobs = seed if scenario.market.persists else own, drawn.redrawn(own)
        run = run_isolated(
            scenario, policy, path, drawn=jobs, records=False, engine=engine
        )
        found.append(subject_of(scenario).figures(subject_of(scenario).outcome(run)))
    return found


def expected(
    scenario: Scenario,
    policies: Mapping[str, Any],
    seeds: Sequence[int],
    executor: Executor | int | None = None,
    lucks: int = LUCKS,
) -> dict[tuple[str, str, int], float]:
    """Return means over draws by policy, figure (wait, misses, tardiness) and seed."""
    tasks = {
        (name, seed): (policies[name], seed) for name in policies for seed in seeds
    }
    engine = engine_for("auto", [], scenario.jobs * lucks * len(tasks))
    results = as_they_come(partial(_lucks, scenario, lucks, engine), tasks, executor)
    return {
        (name, figure, seed): mean([run[figure] for run in runs]).mean
        for (name, seed), runs in results
        for figure in ("wait_min", "miss_pct", "tardiness_min")
    }


def _lucks(
    scenario: Scenario, lucks: int, engine: str, task: tuple[Any, int]
) -> list[dict[str, float]]:
    return over_lucks(scenario, *task, lucks, engine)


def with_gaps(study: Comparison, executor: Executor | int | None = None) -> Comparison:
    """Add the figures wait_gap_min and miss_gap_pct to a comparison.

    A gap is the mean over LUCKS draws of a seed's arrivals less the lower bound of that
    seed; NaN if no bound is known for any seed. It can be below 0, since the mean over
    draws is random.
    """
    scenario = study.scenario
    told = "a scenario of rented slots: for others no bound is known"
    require(isinstance(scenario, Scenario), "scenario", scenario, told)
    assert isinstance(scenario, Scenario)
    bounds: dict[str, dict[int, float]] = {}
    found = lower_bounds(scenario, list(OBJECTIVES.values()), study.seeds, executor)
    for figure, own in zip(OBJECTIVES, found):
        unknown = 0.0 if any(bound.value for bound in own) else nan
        bounds[figure] = {
            seed: bound.value or unknown for seed, bound in zip(study.seeds, own)
        }
    done = [row for row in study.rows if "error" not in row]
    means: dict[tuple[str, str, int], float] = {}
    for policy in dict.fromkeys(row["policy"] for row in done):
        seeds = [row["seed"] for row in done if row["policy"] == policy]
        means |= expected(scenario, {policy: study.named[policy]}, seeds, executor)
    rows = [
        row
        | {
            GAPS[figure]: means[row["policy"], figure, row["seed"]] - own[row["seed"]]
            for figure, own in bounds.items()
            if figure in row
        }
        for row in study.rows
    ]
    return replace(study, _rows=rows)


PRICES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, inf)
"""Minutes of mean wait per per cent missed; infinity: misses alone."""


@dataclass(frozen=True)
class Frontier:
    """Half planes of wait and misses that contain every policy.

    scenario: the one examined. seeds: of the arrivals. bin_s: seconds between knots of
    the prices. least: price of a per cent missed, in minutes -> the least wait + price
    x misses, minutes, per seed; at price infinity the least misses, per cent.
    """

    scenario: Scenario
    seeds: tuple[int, ...]
    bin_s: float
    least: dict[float, list[float]]

    @property
    def means(self) -> dict[float, Mean]:
        """Means over the seeds, with their intervals."""
        return {
            price: over_seeds(self.scenario, self.seeds, values)
            for price, values in self.least.items()
        }

    @property
    def corners(self) -> dict[str, list[tuple[float, float]]]:
        """Corners of the bound: wait in minutes and misses in per cent, shortest wait
        first.

        Of the means, and of the low and high ends of their 95 % intervals.
        """
        means = self.means
        return {
            "bound": _corners({price: own.mean for price, own in means.items()}),
            "low": _corners({price: max(0.0, own.low) for price, own in means.items()}),
            "high": _corners({price: own.high for price, own in means.items()}),
        }

    def miss_pct(self, wait_min: float) -> float:
        """Return the least misses at a mean wait, per cent; inf if no policy waits so
        little.
        """
        means = {price: own.mean for price, own in self.means.items()}
        if wait_min < means.pop(0.0, 0.0):
            return inf
        most = means.pop(inf, 0.0)
        return max(
            most, 0.0, *((value - wait_min) / price for price, value in means.items())
        )


def _corners(least: dict[float, float]) -> list[tuple[float, float]]:
    """Return where two lines a wait + b misses = c meet and no other is above."""
    lines = [(0, 1, c) if b == inf else (1, b, c) for b, c in least.items()] + [
        (0, 1, 0)
    ]
    a, b, c = np.array(lines, float).T
    one, other = np.triu_indices(len(lines), 1)
    steep = a[one] * b[other] - a[other] * b[one]
    one, other, steep = one[steep != 0], other[steep != 0], steep[steep != 0]
    waits = (c[one] * b[other] - c[other] * b[one]) / steep
    misses = (a[one] * c[other] - a[other] * c[one]) / steep
    there = np.outer(waits, a) + np.outer(misses, b) >= c - 1e-9 * np.maximum(1.0, c)
    points = np.column_stack([waits, misses])[there.all(axis=1)].round(9)
    return sorted({(wait, miss + 0.0) for wait, miss in points.tolist()})


SeveralPrices = Annotated[
    Sequence[UpToInfinity],
    rule(
        "at least one number, without duplicates",
        lambda prices: len(prices) == len(set(prices)) > 0,
    ),
]


@checked
def frontier(
    scenario: Scenario,
    seeds: Iterable[int],
    executor: Executor | int | None = None,
    *,
    prices: SeveralPrices = PRICES,
    bin_s: float = BIN_S,
) -> Frontier:
    """Return the least misses at every mean wait, which no policy can beat.

    scenario, bin_s: as in `lower_bound`. seeds, executor: as in `compare`. prices:
    minutes of mean wait per per cent missed, >= 0, each once; infinity for misses
    alone. Computes one bound per price and seed, seconds to minutes each. Raises
    InputError for what is not allowed, or a scenario without a bound.
    """
    chosen = check_seeds(seeds)
    objectives = [
        Weights(miss=1) if price == inf else Weights(1, price) for price in prices
    ]
    found = lower_bounds(scenario, objectives, chosen, executor, bin_s)
    values = [[bound.value or 0.0 for bound in own] for own in found]
    return Frontier(scenario, tuple(chosen), bin_s, dict(zip(prices, values)))
