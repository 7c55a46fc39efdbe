"""How long a dispatch holds its slot: provisioning plus execution, by level, type and stock (thesis
Eq. 3.1, 3.2, 3.12).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from cgrsp_simpy.rental.job import Draws, Job
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.service import Service
from cgrsp_simpy.rental.workload import LoggedWorkload

__all__ = ["Laws", "Level", "levels_of"]

POINTS = 200
# of a log: factors of a level are this near to each other, unless that takes more levels a class
NEAR, MOST_LEVELS = 1.25, 8
ROUNDING_S = 1e-9  # of an instant


class Level(NamedTuple):
    """Jobs whose execution times follow one law: index of their complexity, and equally likely
    values of realised over mean execution time.
    """

    complexity: int
    factors: np.ndarray


def levels_of(
    scenario: Scenario, drawn: Sequence[tuple[Job, Draws]]
) -> tuple[list[Level], list[int]]:
    """The levels of jobs, and the level of each job.

    Drawn times have a level a complexity. Measured ones have levels of nearly equal times, each
    with its least: jobs that hold their slots no longer than the log's.
    """
    if not isinstance(scenario.workload, LoggedWorkload):
        levels = range(len(scenario.workload.mix))
        own = [Level(c, _factors(scenario.service, c)) for c in levels]
        return own, [job.complexity - 1 for job, _ in drawn]
    factors = np.array([draws.service for _, draws in drawn])
    ratio = max(NEAR, float(factors.max() / factors.min()) ** (1 / MOST_LEVELS))
    rounded = np.floor(np.log(factors / factors.min()) / math.log(ratio)).tolist()
    keys = [(job.complexity - 1, part) for (job, _), part in zip(drawn, rounded)]
    least: dict[tuple[int, float], float] = {}
    for key, factor in zip(keys, factors.tolist()):
        least[key] = min(factor, least.get(key, factor))
    places = {key: place for place, key in enumerate(least)}
    return (
        [Level(c, np.array([factor])) for (c, _), factor in least.items()],
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
        execution_s = [
            [gpu.mean_execution_s[level.complexity] * level.factors for gpu in gpus]
            for level in levels
        ]
        longest_s = max(most for _, most in market.delay_s) + float(np.max(execution_s))
        self.step_s, self.last = step_s, math.ceil(longest_s / step_s) + 1
        at_s = np.arange(self.last + 1) * step_s
        chance = np.array(
            [[market.probabilities(gpu, instant) for instant in instants_s] for gpu in gpus]
        )
        self.delay_s = chance @ np.array([(least + most) / 2 for least, most in market.delay_s])
        tables = np.array(
            [
                [[_tables(at_s, s, bounds) for bounds in market.delay_s] for s in row]
                for row in execution_s
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


def _factors(service: Service, c: int) -> np.ndarray:
    """Equally likely values of realised over mean execution time (thesis Eq. 3.12);
    their mean is 1.
    """
    middle = (np.arange(POINTS) + 0.5) / POINTS
    drawn: np.ndarray = (
        -np.log1p(-middle)
        if service.distribution == "exponential"
        else np.exp(service.sigma[c] * scipy.special.ndtri(middle))
    )
    factors: np.ndarray = drawn / drawn.mean()
    return factors


def _tables(
    at_s: np.ndarray, execution_s: np.ndarray, delay_s: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """E min(L, u) and P(L > u) at times u, for D uniform between bounds and S one of
    equally likely times.
    """
    least, most = delay_s
    after = at_s[:, None] - execution_s - least
    surely = after >= most - least - ROUNDING_S  # an equal time is in time
    inside = np.clip(after, 0.0, most - least)
    share = np.where(surely, 1.0, inside / max(most - least, ROUNDING_S))
    spare_s = share * inside / 2 + np.maximum(0.0, after - inside)  # E max(0, u - L)
    return at_s - spare_s.mean(axis=1), 1 - share.mean(axis=1)
