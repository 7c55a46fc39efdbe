"""Distances between plans and their correlation (worl-rtgs.txt Section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import scipy
from numpy.random import Generator

from cgrsp_simpy.base.arrays import Floats, Ints
from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.base.parameters import Whole, checked, limits
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.dag.problem import Problem, makespans
from cgrsp_simpy.dag.search import random_units

# pairs evaluated at once, to limit memory
TOGETHER = 200


def node_loads_s(problem: Problem, gpu: Ints) -> Floats:
    """Return the load of each node's GPU, seconds; all of shape (plans, nodes)."""
    plans, gpus = len(gpu), problem.platform.gpus
    # number of a plan's GPU among the GPUs of all plans
    place = (gpu + gpus * np.arange(plans)[:, None]).astype(np.intp)
    time_s = problem.time_s[np.arange(problem.graph.nodes), gpu]
    return np.asarray(np.bincount(place.ravel(), time_s.ravel(), plans * gpus)[place])


def plan_distance_s(problem: Problem, one: Ints, other: Ints) -> Floats:
    """Return the plan distance SPD per pair, seconds, (plans,) (Equation 26)."""
    difference_s = node_loads_s(problem, one) - node_loads_s(problem, other)
    return np.asarray(np.abs(difference_s).mean(axis=1))


def finish_time_gap_s(problem: Problem, one: Ints, other: Ints) -> Floats:
    """Return the finish time gap FTG per pair, seconds, (plans,) (Equation 25).

    Raises InputError if a plan does not end, because GPUs are not connected.
    """
    ends_s = makespans(problem, one), makespans(problem, other)
    require(
        bool(np.isfinite(ends_s).all()),
        "GPUs",
        problem.platform.name,
        "connected, so that every plan ends",
    )
    return np.abs(ends_s[0] - ends_s[1])


@dataclass(frozen=True, eq=False)
class Correlation:
    """Correlation of SPD and FTG over random pairs of plans.

    spd_s, ftg_s: seconds, shape (pairs,). pearson, spearman: coefficients, -1 to 1.
    pearson_ci95, spearman_ci95: 95 % intervals by Fisher's transformation; Spearman's
    after Bonett and Wright (2000), Psychometrika 65, 23-28.
    """

    spd_s: Floats = field(repr=False)
    ftg_s: Floats = field(repr=False)
    pearson: float
    spearman: float
    pearson_ci95: tuple[float, float]
    spearman_ci95: tuple[float, float]


@checked
def correlate(
    problem: Problem,
    pairs: Annotated[int, limits("a whole number >= 4", ge=4)] = 1000,
    seed: Whole = 0,
    concentration: Annotated[
        float, limits("a number from 1e-6 to 1e6", ge=1e-6, le=1e6)
    ]
    | None = None,
) -> Correlation:
    """Compute the correlation of SPD and FTG over pairs of random plans.

    concentration: None: every GPU with enough memory is equally likely. A number:
    probabilities are drawn per plan from a symmetric Dirichlet distribution; a smaller
    number makes them more uneven (the paper does not define its random plans). Raises
    InputError if all pairs have the same distance. worl-rtgs.txt Section 4.2.
    """
    generator = stream(seed, "plan pairs")
    spd_s, ftg_s = np.empty((2, pairs))
    for first in range(0, pairs, TOGETHER):
        now = slice(first, min(first + TOGETHER, pairs))
        units = _plans(problem, 2 * (now.stop - now.start), concentration, generator)
        both = units[:, problem.graph.unit]
        spd_s[now] = plan_distance_s(problem, both[::2], both[1::2])
        ftg_s[now] = finish_time_gap_s(problem, both[::2], both[1::2])
    for name, values in (("SPD", spd_s), ("FTG", ftg_s)):
        if np.ptp(values) == 0:
            raise InputError(
                f"{name} is {values[0]:g} s for all {pairs} pairs of plans: there is no"
                " correlation"
            )
    from scipy import stats  # slow to import

    pearson = float(stats.pearsonr(spd_s, ftg_s).statistic)
    spearman = float(stats.spearmanr(spd_s, ftg_s).statistic)
    ends = (
        _interval(pearson, pairs),
        _interval(spearman, pairs, np.sqrt(1 + spearman**2 / 2)),
    )
    return Correlation(spd_s, ftg_s, pearson, spearman, *ends)


def _plans(
    problem: Problem, plans: int, concentration: float | None, generator: Generator
) -> Ints:
    """Draw random plans, (plans, units); units that do not fit are drawn again."""
    if concentration is None:
        return random_units(problem, plans, generator)
    fits, (units, gpus) = problem.fits, problem.fits.shape
    answer = np.empty((plans, units), dtype=np.int64)
    for plan, share in enumerate(
        generator.dirichlet(np.full(gpus, concentration), plans)
    ):
        gpu = np.asarray(generator.choice(gpus, units, p=share))
        wrong = np.flatnonzero(~fits[np.arange(units), gpu])
        with np.errstate(divide="ignore"):
            # Gumbel-max: the argmax is distributed as the shares
            key = np.log(share) + generator.gumbel(size=(len(wrong), gpus))
        gpu[wrong] = np.where(fits[wrong], key, -np.inf).argmax(axis=1)
        answer[plan] = gpu
    return answer


def _interval(
    coefficient: float, pairs: int, wider: float = 1.0
) -> tuple[float, float]:
    half = float(scipy.special.ndtri(0.975)) * wider / np.sqrt(pairs - 3)
    with np.errstate(divide="ignore"):  # a coefficient of 1
        low, high = np.tanh(np.arctanh(coefficient) + half * np.array([-1, 1]))
    return float(low), float(high)
