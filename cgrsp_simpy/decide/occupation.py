"""Slot occupation: provisioning plus execution (thesis Eq. 3.1, 3.2, 3.12)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy

from cgrsp_simpy.base.table import grouped
from cgrsp_simpy.market.gpu import GpuType
from cgrsp_simpy.rental.job import Draws, Job, Service
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.workload import LoggedWorkload

TAIL = 1e-3  # probability of a longer time at the truncation of a distribution
# ratio of factors within a level of a log, larger if that takes more levels per
# class
NEAR, MOST_LEVELS = 1.25, 8
ROUNDING_S = 1e-9  # rounding error of an instant
SAME_S = 0.01  # bounds of a delay that are closer count as the lower one

Factor = Callable[[np.ndarray], np.ndarray]
"""From x to P(F <= x), E max(0, x - F) and half of E max(0, x - F)^2 of a factor F;
shape (3, values of x).
"""


class Level(NamedTuple):
    """Jobs with one distribution of execution times and one weight.

    complexity: index of the complexity, from 0. factor: distribution of the execution
    time divided by its mean. most: factor at which the distribution is truncated.
    """

    complexity: int
    factor: Factor
    most: float
    weight: float


def levels_of(
    scenario: Scenario, drawn: Sequence[tuple[Job, Draws]], weighed: bool = False
) -> tuple[list[Level], list[int]]:
    """Return the levels, and the index of each job's level.

    Generated jobs have one level per complexity. Measured times and weights are grouped
    into levels of similar values, each rounded down to its least, so that jobs hold
    their slots no longer than in the log. weighed: whether weights matter.
    """
    measured = isinstance(scenario.workload, LoggedWorkload)
    factors = np.array([draws.service if measured else 1.0 for _, draws in drawn])
    weights = np.array([job.weight if weighed else 1.0 for job, _ in drawn])
    complexities = [job.complexity - 1 for job, _ in drawn]
    keys = list(zip(complexities, _spans(factors), _spans(weights)))
    places = grouped(range(len(keys)), keys.__getitem__)
    levels: list[Level] = []
    for (c, _, _), jobs in places.items():
        factor, weight = float(factors[jobs].min()), float(weights[jobs].min())
        service, most = (
            (partial(_certain, factor), factor)
            if measured
            else _drawn(scenario.service, c)
        )
        levels.append(Level(c, service, most, weight))
    numbers = {key: number for number, key in enumerate(places)}
    return levels, [numbers[key] for key in keys]


def _spans(values: np.ndarray) -> list[float]:
    """Return one number per value, equal for values within the same ratio."""
    least, most = float(values[values > 0].min(initial=math.inf)), float(values.max())
    ratio = max(NEAR, (most / least) ** (1 / MOST_LEVELS))
    with np.errstate(divide="ignore"):
        numbers: list[float] = np.floor(
            np.log(values / least) / math.log(ratio)
        ).tolist()
    return numbers


class HoldTimes:
    """Distributions of L = D + S by level c, type g and probabilities v of the stock.

    Arrays are over u = 0, 1, ... steps after dispatch. held_s: E min(L, u). beyond: P(L
    > u). ends: P(u <= L < u + 1). mean_s: E L. delay_s: E D, by v. rent_usd: rent of E
    S, by level and type.
    """

    def __init__(
        self,
        gpus: Sequence[GpuType],
        levels: Sequence[Level],
        delays_s: Sequence[tuple[float, float]],
        step_s: float,
        chances: Sequence[tuple[float, ...]],
    ) -> None:
        longest_s = max(most for _, most in delays_s) + longest_execution_s(
            gpus, levels
        )
        self.step_s, self.last = step_s, math.ceil(longest_s / step_s) + 1
        at_s, chance = np.arange(self.last + 1) * step_s, np.array(chances)
        self.delay_s = chance @ np.array(
            [(least + most) / 2 for least, most in delays_s]
        )
        tables = np.array(
            [
                [
                    [
                        _tables(
                            at_s,
                            gpu.mean_execution_s[level.complexity],
                            level.factor,
                            bounds,
                        )
                        for bounds in delays_s
                    ]
                    for gpu in gpus
                ]
                for level in levels
            ]
        )
        self.held_s, self.beyond, least = np.moveaxis(
            np.einsum("vs,cgskr->cgvkr", chance, tables), 3, 0
        )
        self.ends = -np.diff(least, append=0.0)
        self.mean_s = self.held_s[..., -1]
        # thesis Eq. 3.11
        usd_per_s = np.array([gpu.price_usd_per_h / 3600 for gpu in gpus])
        self.rent_usd = usd_per_s * (self.mean_s - self.delay_s)[..., 0]

    def miss(
        self, c: int, g: np.ndarray | int, v: np.ndarray | int, slack: np.ndarray
    ) -> np.ndarray:
        """Return P(L > slack). slack: in steps."""
        return np.asarray(
            np.where(slack < 0, 1.0, self.beyond[c, g, v, np.clip(slack, 0, self.last)])
        )

    def late_s(
        self, c: int, g: np.ndarray | int, v: np.ndarray | int, slack: np.ndarray
    ) -> np.ndarray:
        """Return E max(0, L - slack) in seconds. slack: in steps."""
        within_s = self.held_s[c, g, v, np.clip(slack, 0, self.last)]
        return np.asarray(
            self.mean_s[c, g, v] - within_s + self.step_s * np.maximum(0, -slack)
        )


def longest_execution_s(gpus: Sequence[GpuType], levels: Sequence[Level]) -> float:
    """Return the longest execution on any type, with distributions truncated."""
    return max(
        gpu.mean_execution_s[level.complexity] * level.most
        for gpu in gpus
        for level in levels
    )


def _drawn(service: Service, c: int) -> tuple[Factor, float]:
    """Return the Factor of a complexity (thesis Eq. 3.12) and its truncation."""
    if service.distribution == "exponential":
        return _exponential, -math.log(TAIL)
    sigma = service.sigma[c]
    if sigma == 0:
        return partial(_certain, 1.0), 1.0
    most = math.exp(-sigma * float(scipy.special.ndtri(TAIL)) - sigma**2 / 2)
    return partial(_lognormal, sigma), most


def _certain(factor: float, x: np.ndarray) -> np.ndarray:
    spare = np.maximum(0.0, x - factor)
    return np.array([x >= factor, spare, spare**2 / 2])


def _exponential(x: np.ndarray) -> np.ndarray:
    x = np.maximum(0.0, x)
    below = -np.expm1(-x)
    return np.array([below, x - below, x**2 / 2 - x + below])


def _lognormal(sigma: float, x: np.ndarray) -> np.ndarray:
    """Evaluate a lognormal Factor of mean 1.

    E F^k over F <= x is exp(k (k - 1) sigma^2 / 2) Phi(z - k sigma).
    """
    x = np.maximum(0.0, x)
    # log 0; a tiny sigma
    with np.errstate(divide="ignore", over="ignore"):
        z = np.log(x) / sigma + sigma / 2
    below, first = scipy.special.ndtr(z), scipy.special.ndtr(z - sigma)
    second = np.exp(sigma**2 + scipy.special.log_ndtr(z - 2 * sigma))
    spare, half = x * below - first, (x**2 * below - 2 * x * first + second) / 2
    return np.array([below, np.maximum(0.0, spare), np.maximum(0.0, half)])


def _tables(
    at_s: np.ndarray, mean_s: float, factor: Factor, delay_s: tuple[float, float]
) -> np.ndarray:
    """Return E min(L, u), P(L > u) and P(L >= u) at times u, shape (3, times).

    D is uniform between its bounds, S is a mean time multiplied by a factor, and L is
    truncated at the last time. P(L <= u) is the mean of P(S <= u - D) over D, and E
    max(0, u - L) is the mean of E max(0, u - D - S): both are differences of integrals
    over u, which are the next entry of `factor`.
    """
    least, most = delay_s
    rows = []
    for shift_s in (ROUNDING_S, -ROUNDING_S):  # an equal time is in time, or late
        below, spare = factor((at_s + shift_s - least) / mean_s)[:2]
        if most - least >= SAME_S:
            sooner, later = (
                factor((at_s + shift_s - delay) / mean_s) for delay in delay_s
            )
            below, spare = (sooner[1:] - later[1:]) * (mean_s / (most - least))
        beyond = 1 - np.minimum(1.0, below)
        beyond[-1] = 0.0
        rows += [at_s + shift_s - mean_s * spare, beyond]
    return np.array([rows[0], rows[1], rows[3]])
