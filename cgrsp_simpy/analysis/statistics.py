"""Intervals and paired tests over independent replications."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

__all__ = ["Mean", "mean", "paired_difference"]


@dataclass(frozen=True)
class Mean:
    """A sample mean with its confidence interval by Student's t.

    mean: NaN for no values. low, high: bounds of the interval, NaN for fewer than two values. n: number of values.
    p: two-sided p-value of the mean being 0; NaN for fewer than two values.
    """

    mean: float
    low: float
    high: float
    n: int
    p: float = math.nan

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2


def mean(values: Sequence[float], confidence: float = 0.95) -> Mean:
    """Mean and interval x-bar +- t* s / sqrt(n) (thesis Section 5.1.3); values that are NaN are left out."""
    x = np.asarray(values, dtype=float)
    x = x[~np.isnan(x)]
    n = len(x)
    if n < 2:
        return Mean(float(x[0]) if n else math.nan, math.nan, math.nan, n)
    centre, error = float(x.mean()), float(x.std(ddof=1)) / math.sqrt(n)
    half = float(stdtrit(n - 1, 0.5 + confidence / 2)) * error
    return Mean(centre, centre - half, centre + half, n, _p_value(centre, error, n))


def _p_value(centre: float, error: float, n: int) -> float:
    if error == 0:
        return 1.0 if centre == 0 else 0.0
    return float(2 * stdtr(n - 1, -abs(centre / error)))


def paired_difference(values: Sequence[float], reference: Sequence[float], confidence: float = 0.95) -> Mean:
    """Mean of values - reference, matched one by one, with interval and p-value (paired t-test, thesis Section 5.1.3)."""
    return mean(np.asarray(values, dtype=float) - np.asarray(reference, dtype=float), confidence)
