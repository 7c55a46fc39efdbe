"""How long a dispatch holds its slot: provisioning plus execution, by level, type and stock (thesis
Eq. 3.1, 3.2, 3.12).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy

from cgrsp_simpy.rental.job import Draws, Job, Service
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.workload import LoggedWorkload

TAIL = 1e-3  # the chance of a longer time, where a law of times is cut off
# of a log: factors of a level are this near to each other, unless that takes more levels a class
NEAR, MOST_LEVELS = 1.25, 8
ROUNDING_S = 1e-9  # of an instant
SAME_S = 0.01  # delays that differ by less are the least of them

Factor = Callable[[np.ndarray], np.ndarray]
"""From x to P(F <= x), E max(0, x - F) and half of E max(0, x - F)^2 of a factor F; shape
(3, values of x).
"""


class Level(NamedTuple):
    """Jobs whose execution times follow one law: index of their complexity, the law of
    realised over mean execution time, and the greatest of these, where the law is cut off.
    """

    complexity: int
    factor: Factor
    most: float


def levels_of(
    scenario: Scenario, drawn: Sequence[tuple[Job, Draws]]
) -> tuple[list[Level], list[int]]:
    """The levels of jobs, and the level of each job.

    Drawn times have a level a complexity. Measured ones have levels of nearly equal times, each
    with its least: jobs that hold their slots no longer than the log's.
    """
    if not isinstance(scenario.workload, LoggedWorkload):
        levels = range(len(scenario.workload.mix))
        return [_drawn(scenario.service, c) for c in levels], [
            job.complexity - 1 for job, _ in drawn
        ]
    factors = np.array([draws.service for _, draws in drawn])
    ratio = max(NEAR, float(factors.max() / factors.min()) ** (1 / MOST_LEVELS))
    rounded = np.floor(np.log(factors / factors.min()) / math.log(ratio)).tolist()
    keys = [(job.complexity - 1, part) for (job, _), part in zip(drawn, rounded)]
    least: dict[tuple[int, float], float] = {}
    for key, factor in zip(keys, factors.tolist()):
        least[key] = min(factor, least.get(key, factor))
    places = {key: place for place, key in enumerate(least)}
    return (
        [Level(c, partial(_certain, factor), factor) for (c, _), factor in least.items()],
        [places[key] for key in keys],
    )


class Laws:
    """L = D + S by level c, type g and multiplier v of the clock: arrays over u = 0, 1, ...

    steps after dispatch.

    held_s: E min(L, u). beyond: P(L > u). mean_s: E L. delay_s: E D. pool: which slots a type
    takes, of those counted in `slots`.
    """

    def __init__(
        self, scenario: Scenario, levels: Sequence[Level], step_s: float, instants_s: list[float]
    ) -> None:
        market, fleet = scenario.market, Counter(scenario.slots)
        gpus = list(scenario.gpus if scenario.free_types else fleet)
        self.slots = np.array(
            [len(scenario.slots)] if scenario.free_types else list(fleet.values()), float
        )
        self.pool = [0] * len(gpus) if scenario.free_types else list(range(len(gpus)))
        longest_s = max(most for _, most in market.delay_s) + max(
            gpu.mean_execution_s[level.complexity] * level.most for gpu in gpus for level in levels
        )
        self.step_s, self.last = step_s, math.ceil(longest_s / step_s) + 1
        at_s = np.arange(self.last + 1) * step_s
        chance = np.array(
            [[market.probabilities(gpu, instant) for instant in instants_s] for gpu in gpus]
        )
        self.delay_s = chance @ np.array([(least + most) / 2 for least, most in market.delay_s])
        tables = np.array(
            [
                [
                    [
                        _tables(at_s, gpu.mean_execution_s[level.complexity], level.factor, bounds)
                        for bounds in market.delay_s
                    ]
                    for gpu in gpus
                ]
                for level in levels
            ]
        )
        self.held_s, self.beyond = np.moveaxis(np.einsum("gvs,cgskr->cgvkr", chance, tables), 3, 0)
        self.mean_s = self.held_s[..., -1]

    def miss(
        self, c: int, g: np.ndarray | int, v: np.ndarray | int, slack: np.ndarray
    ) -> np.ndarray:
        """P(L > slack), slack in steps."""
        missed: np.ndarray = np.where(
            slack < 0, 1.0, self.beyond[c, g, v, np.clip(slack, 0, self.last)]
        )
        return missed

    def late_s(
        self, c: int, g: np.ndarray | int, v: np.ndarray | int, slack: np.ndarray
    ) -> np.ndarray:
        """E max(0, L - slack), slack in steps."""
        within_s = self.held_s[c, g, v, np.clip(slack, 0, self.last)]
        late_s: np.ndarray = self.mean_s[c, g, v] - within_s + self.step_s * np.maximum(0, -slack)
        return late_s


def _drawn(service: Service, c: int) -> Level:
    """The level of a complexity whose factors are drawn (thesis Eq. 3.12)."""
    if service.distribution == "exponential":
        return Level(c, _exponential, -math.log(TAIL))
    sigma = service.sigma[c]
    if sigma == 0:
        return Level(c, partial(_certain, 1.0), 1.0)
    most = math.exp(-sigma * float(scipy.special.ndtri(TAIL)) - sigma**2 / 2)
    return Level(c, partial(_lognormal, sigma), most)


def _certain(factor: float, x: np.ndarray) -> np.ndarray:
    spare = np.maximum(0.0, x - factor)
    return np.array([x >= factor, spare, spare**2 / 2])


def _exponential(x: np.ndarray) -> np.ndarray:
    x = np.maximum(0.0, x)
    below = -np.expm1(-x)
    return np.array([below, x - below, x**2 / 2 - x + below])


def _lognormal(sigma: float, x: np.ndarray) -> np.ndarray:
    """Of mean 1: E F^k of F <= x is exp(k (k - 1) sigma^2 / 2) Phi(z - k sigma)."""
    x = np.maximum(0.0, x)
    with np.errstate(divide="ignore", over="ignore"):  # log 0; a sigma of next to nothing
        z = np.log(x) / sigma + sigma / 2
    below, first = scipy.special.ndtr(z), scipy.special.ndtr(z - sigma)
    second = np.exp(sigma**2 + scipy.special.log_ndtr(z - 2 * sigma))
    spare, half = x * below - first, (x**2 * below - 2 * x * first + second) / 2
    return np.array([below, np.maximum(0.0, spare), np.maximum(0.0, half)])


def _tables(
    at_s: np.ndarray, mean_s: float, factor: Factor, delay_s: tuple[float, float]
) -> np.ndarray:
    """E min(L, u) and P(L > u) at times u, for D uniform between bounds and S a mean time by a
    factor; L is cut off at the last of the times. Shape (2, times).

    P(L <= u) is the mean of P(S <= u - D) over D, and E max(0, u - L) that of E max(0, u - D - S):
    differences of the integrals of these over u, which are one place later in `factor`.
    """
    least, most = delay_s
    at_s = at_s + ROUNDING_S  # an equal time is in time
    found = factor((at_s - least) / mean_s)
    below, spare = found[0], found[1]
    if most - least >= SAME_S:
        later = factor((at_s - most) / mean_s)
        below, spare = (found[1:] - later[1:]) * (mean_s / (most - least))
    beyond = 1 - np.minimum(1.0, below)
    beyond[-1] = 0.0
    return np.array([at_s - mean_s * spare, beyond])
