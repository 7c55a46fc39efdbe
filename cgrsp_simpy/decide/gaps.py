"""Gaps between policies and lower bounds per seed, and the frontier of wait and misses.

A bound applies to an expectation over the random draws, given the arrivals of a seed
and the path of persistent stock. It is compared with a policy's mean over many such
draws, never with one run.

The frontier is a lower bound on all combinations of wait and misses, proposed in this
package. For each price w of one per cent missed, in minutes of mean wait, the linear
program gives a lower bound b(w) on wait + w x misses under any policy. So at a mean
wait x, a policy's misses are at least the maximum of (b(w) - x) / w over the prices.
Each b(w) is a mean over the same seeds; a seed without a known bound counts as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from math import inf, nan
from operator import call
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
from cgrsp_simpy.studies.executors import as_they_come
from cgrsp_simpy.studies.isolation import run_isolated
from cgrsp_simpy.studies.replicate import check_seeds, engine_for
from cgrsp_simpy.studies.study import Comparison
from cgrsp_simpy.studies.subject import subject_of

DRAWS = 20  # draws per seed, over which a policy's figures are averaged
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
    """Return the bounds per objective and seed; each takes tens of seconds."""
    tasks = {
        (n, seed): partial(lower_bound, scenario, seed, objective, bin_s)
        for n, objective in enumerate(objectives)
        for seed in seeds
    }
    results = as_they_come(call, tasks, executor)
    done = dict(progress(results, total=len(tasks), unit=" bounds", delay=0))
    return [[done[number, seed] for seed in seeds] for number in range(len(objectives))]


def over_seeds(
    scenario: Scenario, seeds: Sequence[int], values: Sequence[float]
) -> Mean:
    """Return the mean of values, one per seed.

    Seeds whose replayed stock starts on the same recorded day count as one observation.
    """
    return mean(
        cluster_means(values, [subject_of(scenario).in_common(seed) for seed in seeds]),
        in_order=bool(subject_of(scenario).common),
    )


@checked
def over_draws(
    scenario: Scenario, policy: Any, seed: int, number: Count, engine: str = "simpy"
) -> list[dict[str, float]]:
    """Return a policy's metrics on the arrivals of a seed, one dict per set of draws.

    number: number of sets. Their seeds come from the stream "lucks", and also determine
    the statuses that the policy observes and its random numbers. Persistent stock
    follows the path of `seed`.
    """
    drawn, rows = subject_of(scenario).draw(seed), []
    for other in stream(seed, "lucks").integers(2**62, size=number).tolist():
        path = seed if scenario.market.persists else other
        run = run_isolated(
            scenario,
            policy,
            path,
            drawn=drawn.redrawn(other),
            records=False,
            engine=engine,
        )
        rows.append(subject_of(scenario).figures(subject_of(scenario).outcome(run)))
    return rows


def expected(
    scenario: Scenario,
    policies: Mapping[str, Any],
    seeds: Sequence[int],
    executor: Executor | int | None = None,
    number: int = DRAWS,
) -> dict[tuple[str, str, int], float]:
    """Return means over draws by policy, metric (wait, misses, tardiness) and seed."""
    engine = engine_for("auto", [], scenario.jobs * number * len(policies) * len(seeds))
    tasks = {
        (name, seed): partial(over_draws, scenario, policy, seed, number, engine)
        for name, policy in policies.items()
        for seed in seeds
    }
    return {
        (name, figure, seed): mean([run[figure] for run in runs]).mean
        for (name, seed), runs in as_they_come(call, tasks, executor)
        for figure in ("wait_min", "miss_pct", "tardiness_min")
    }


def with_gaps(study: Comparison, executor: Executor | int | None = None) -> Comparison:
    """Return a comparison with the additional metrics wait_gap_min and miss_gap_pct.

    A gap is a policy's mean over DRAWS sets of draws for a seed's arrivals, minus the
    lower bound of that seed; NaN if no bound is known for any seed. It can be negative,
    since the mean over draws is random.
    """
    scenario: Any = study.scenario
    require(
        isinstance(scenario, Scenario),
        "scenario",
        scenario,
        "a scenario of rented slots: for others no bound is known",
    )
    bounds: dict[str, dict[int, float]] = {}
    computed = lower_bounds(scenario, list(OBJECTIVES.values()), study.seeds, executor)
    for figure, per_seed in zip(OBJECTIVES, computed):
        unknown = 0.0 if any(bound.value for bound in per_seed) else nan
        bounds[figure] = {
            seed: bound.value or unknown for seed, bound in zip(study.seeds, per_seed)
        }
    done = [row for row in study.rows if "error" not in row]
    means: dict[tuple[str, str, int], float] = {}
    for policy in dict.fromkeys(row["policy"] for row in done):
        seeds = [row["seed"] for row in done if row["policy"] == policy]
        means |= expected(scenario, {policy: study.named[policy]}, seeds, executor)
    rows = [
        row
        | {
            GAPS[figure]: means[row["policy"], figure, row["seed"]] - least[row["seed"]]
            for figure, least in bounds.items()
            if figure in row
        }
        for row in study.rows
    ]
    return replace(study, _rows=rows)


PRICES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, inf)
"""Minutes of mean wait per per cent missed; infinity: misses alone."""


@dataclass(frozen=True)
class Frontier:
    """Lower bounds on weighted sums of wait and misses, valid for every policy.

    seeds: seeds of the arrivals. bin_s: seconds between knots of the prices. least:
    maps the price of one per cent missed, in minutes, to the lower bounds on wait +
    price x misses, minutes, per seed; at price infinity, to those on misses, per cent.
    """

    scenario: Scenario
    seeds: tuple[int, ...]
    bin_s: float
    least: dict[float, list[float]]

    @property
    def means(self) -> dict[float, Mean]:
        """Mean of the bounds over the seeds per price, with confidence interval."""
        return {
            price: over_seeds(self.scenario, self.seeds, values)
            for price, values in self.least.items()
        }

    @property
    def corners(self) -> dict[str, list[tuple[float, float]]]:
        """Corners of the frontier as (wait_min, miss_pct), shortest wait first.

        "bound" uses the means, "low" and "high" the ends of their 95 % intervals,
        which need two seeds (in a replayed market: two recorded days).
        """
        means = self.means
        ends = {"bound": {price: value.mean for price, value in means.items()}}
        if all(value.n > 1 for value in means.values()):
            ends["low"] = {price: max(0, value.low) for price, value in means.items()}
            ends["high"] = {price: value.high for price, value in means.items()}
        return {kind: _corners(least) for kind, least in ends.items()}

    def miss_pct(self, wait_min: float) -> float:
        """Return the least misses at a mean wait, per cent; inf if it is too short."""
        means = {price: estimate.mean for price, estimate in self.means.items()}
        if wait_min < means.pop(0.0, 0.0):
            return inf
        most = means.pop(inf, 0.0)
        return max(
            most, 0.0, *((value - wait_min) / price for price, value in means.items())
        )


def _corners(least: dict[float, float]) -> list[tuple[float, float]]:
    """Return the corners of the region above all lines, shortest wait first.

    A corner is a pair (wait, misses); a line is a wait + b misses = c. Neither is
    negative.
    """
    lines = [(0, 1, c) if b == inf else (1, b, c) for b, c in least.items()]
    lines += [(0, 1, 0), (1, 0, 0)]
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
    """Return lower bounds on the misses of any policy at every mean wait.

    Takes seconds to minutes per price and seed. scenario, bin_s: as in `lower_bound`.
    seeds, executor: as in `compare`. prices: minutes of mean wait that equal one per
    cent missed, >= 0, all different; infinity for misses alone. Raises InputError for
    invalid arguments, or a scenario without a bound.
    """
    chosen = check_seeds(seeds)
    objectives = [
        Weights(miss=1) if price == inf else Weights(1, price) for price in prices
    ]
    computed = lower_bounds(scenario, objectives, chosen, executor, bin_s)
    values = [[bound.value or 0.0 for bound in per_seed] for per_seed in computed]
    return Frontier(scenario, tuple(chosen), bin_s, dict(zip(prices, values)))
