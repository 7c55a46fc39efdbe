"""Comparison of treatments by ranks in blocks: Friedman and Nemenyi.

Source: Demsar (2006), "Statistical comparisons of classifiers over multiple data sets",
JMLR 7, 1-30.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import numbers, refuse, require


@dataclass(frozen=True, eq=False)
class Ranks:
    """Ranks of k treatments in n blocks; 1 is the lowest, ties share their mean rank.

    mean: mean rank of each treatment, shape (k,). statistic, p: Friedman's chi-square,
    corrected for ties, and its p-value. critical_difference: of mean ranks at level
    0.05.
    """

    mean: Floats
    statistic: float
    p: float
    critical_difference: float


def rank_test(values: npt.ArrayLike) -> Ranks:
    """Compare treatments on the same blocks; values: shape (blocks, treatments).

    Raises InputError for fewer than 2 blocks or 3 treatments, and for NaN.
    """
    table = numbers("values", values, float, "numbers, as many in every row")
    require(
        table.ndim == 2 and table.shape[0] >= 2 and table.shape[1] >= 3,
        "shape of values",
        table.shape,
        "(2 or more, 3 or more)",
    )
    refuse(
        np.isnan(table),
        lambda block, treatment: f"values[{block}, {treatment}] must not be NaN",
    )
    blocks, treatments = table.shape
    mean = stats.rankdata(table, axis=1).mean(axis=0)
    constant = (table == table[:, :1]).all()
    statistic, p = (
        (0.0, 1.0) if constant else map(float, stats.friedmanchisquare(*table.T))
    )
    return Ranks(mean, statistic, p, critical_difference(treatments, blocks))


def critical_difference(treatments: int, blocks: int) -> float:
    """Return Nemenyi's critical difference at level 0.05: q sqrt(k (k + 1) / (6 n)).

    q is the quantile of the studentized range, with infinite degrees of freedom,
    divided by the square root of 2.
    """
    q = stats.studentized_range.ppf(0.95, treatments, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(treatments * (treatments + 1) / (6 * blocks)))
