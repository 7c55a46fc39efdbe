"""Intervals, paired tests and effect sizes for replications and for one long run.

NaN is a missing value, such as a figure of a failed run. It is omitted, and `n` counts
the values used. Ordered series must not contain NaN. The parameter confidence is the
level of the interval, between 0 and 1; InputError for another value.

With every supported version of NumPy and SciPy, Wilcoxon's p of up to 50 differences,
Holm's adjustment and the counts are identical. Means, Student's t and its p, effect
sizes and the normal distribution of Wilcoxon's test agree to a relative 1e-12. Half
widths agree to 1e-10, the accuracy of the quantiles of Student's t in SciPy 1.13.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from cgrsp_simpy.base.checks import (
    InputError,
    numbers,
    refuse,
    require,
)
from cgrsp_simpy.base.metric import ratio
from cgrsp_simpy.base.parameters import Count, Positive, TwoOrMore, checked
from cgrsp_simpy.base.table import many

__all__ = [
    "Mean",
    "PairedTest",
    "batch_means",
    "block_bootstrap_mean",
    "cluster_means",
    "cohens_d",
    "cohens_d_paired",
    "holm",
    "mean",
    "mser5",
    "paired_difference",
    "paired_test",
    "replications_needed",
    "worth",
]


Values = Sequence[float] | np.ndarray
# relative difference below which numbers differ by floating-point rounding alone
ROUNDING = 2.0**-40
FEW_PAIRS = 5
EXACT_PAIRS = 50  # most differences for which Wilcoxon's test is exact
MSER_BATCH = 5


# ---- means ----


@dataclass(frozen=True)
class Mean:
    """Sample mean with its confidence interval.

    mean, low, high, sd: in the unit of the values; sd is the sample standard deviation
    (n - 1 in the denominator). n: number of values used. p: two-sided p-value of
    Student's t-test of mean 0. The mean is NaN without values; all fields except mean
    and n are NaN for fewer than two values.
    """

    mean: float
    low: float
    high: float
    n: int
    p: float = math.nan
    sd: float = math.nan

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2


def mean(values: Values, confidence: float = 0.95, in_order: bool = False) -> Mean:
    """Mean and interval x-bar +- t* s / sqrt(n).

    in_order: whether successive values may be correlated, such as means of batches or
    days; if so, n and the degrees of freedom are multiplied by `worth` in the interval
    and the p-value. All NaN gives n = 0 and NaN; an infinite value gives an infinite
    mean and no interval. Source: thesis Section 5.1.3.
    """
    _check_confidence(confidence)
    x = _known(values)
    n, (centre, sd) = len(x), _moments(x)
    if n < 2:
        return Mean(centre, math.nan, math.nan, n)
    share = worth(x) if in_order else 1.0
    freedom, error = max((n - 1) * share, 1.0), sd / math.sqrt(n * share)
    half = _half_width(sd, n * share, confidence, freedom)
    return Mean(
        centre, centre - half, centre + half, n, _p_value(centre, error, freedom), sd
    )


def worth(values: Values) -> float:
    """Effective share of independent values in a series, (1 - r) / (1 + r), at most 1.

    It assumes a first-order autoregression. The correlation r of successive values is
    corrected for its small-sample bias, -(1 + 4 r) / n, and limited to 0 to 0.9.
    Constant values give 1. Source: Law, Simulation Modeling and Analysis, Section
    9.5.3; Kendall, Biometrika 41 (1954) 403-404.
    """
    x = _known(values)
    centre, sd = _moments(x)
    if not 0 < sd < math.inf:
        return 1.0
    apart = x - centre
    raw = float(apart[1:] @ apart[:-1] / (apart @ apart))
    r = min(max(raw + (1 + 4 * raw) / len(x), 0.0), 0.9)
    return (1 - r) / (1 + r)


def cluster_means(values: Values, clusters: Sequence[int]) -> list[float]:
    """Mean of each cluster of values, such as runs that begin on the same recorded day.

    clusters: cluster number of each value. Returns means in the order of the cluster
    numbers; NaN for a cluster without a value. Raises InputError for unequal lengths.
    """
    x, numbers = _array(values), np.asarray(clusters)
    require(
        len(numbers) == len(x),
        "clusters",
        clusters,
        f"{many(len(x), 'number')}, one per value",
    )
    return [mean(x[numbers == number]).mean for number in np.unique(numbers)]


@checked
def _check_confidence(confidence: Positive) -> None:
    require(confidence < 1, "confidence", confidence, "a number between 0 and 1")


def _array(values: Values, name: str = "values") -> np.ndarray:
    x = numbers(name, values, float, "a list of numbers")
    require(x.ndim == 1, name, f"{x.ndim} dimensions", "a list of numbers")
    return x


def _known(values: Values) -> np.ndarray:
    x = _array(values)
    return np.asarray(x[~np.isnan(x)])


def _refuse(name: str, x: np.ndarray, bad: np.ndarray, allowed: str) -> None:
    """Raise InputError for the first number marked in `bad`."""
    refuse(
        bad, lambda index: f"{name}[{index}](={float(x[index])!r}) must be {allowed}"
    )


def _moments(x: np.ndarray) -> tuple[float, float]:
    """Return mean and sample standard deviation, which is 0 despite rounding errors."""
    if len(x) < 2:
        return (float(x[0]) if len(x) else math.nan), math.nan
    with np.errstate(invalid="ignore", over="ignore"):  # an infinite value
        if np.ptp(x) < ROUNDING * np.abs(x).max():
            return float(x[0]), 0.0
        return float(x.mean()), float(x.std(ddof=1))


def _half_width(
    sd: float, n: float, confidence: float, freedom: float | None = None
) -> float:
    t = scipy.special.stdtrit(
        n - 1 if freedom is None else freedom, 0.5 + confidence / 2
    )
    return float(t) * sd / math.sqrt(n)


def _t(centre: float, error: float) -> float:
    """Return Student's t; NaN if all values are 0."""
    if error == 0:
        return math.copysign(math.inf, centre) if centre else math.nan
    return centre / error


def _p_value(centre: float, error: float, freedom: float) -> float:
    if error == centre == 0:
        return 1.0
    return float(2 * scipy.special.stdtr(freedom, -abs(_t(centre, error))))


# ---- pairs ----


@dataclass(frozen=True)
class PairedTest:
    """Paired tests of values against a reference; NaN if undefined.

    n: number of pairs used. difference: mean of values - reference, in their unit. t,
    p: two-sided paired t-test. wilcoxon_p: two-sided Wilcoxon signed-rank test, without
    zero differences, with mean ranks of ties; exact for up to 50, normal for more. d,
    d_paired: effect sizes `cohens_d` and `cohens_d_paired`. note: the reason why the
    tests should not be trusted, or "".
    """

    n: int
    difference: float
    t: float
    p: float
    wilcoxon_p: float
    d: float
    d_paired: float
    note: str


def paired_difference(
    values: Values, reference: Values, confidence: float = 0.95, in_order: bool = False
) -> Mean:
    """Mean paired difference, values - reference, with its interval and p-value.

    Pairs with a NaN are omitted. in_order: as in `mean`. Raises InputError for unequal
    lengths. Source: thesis Section 5.1.3.
    """
    _, _, differences, _ = _pairs(values, reference)
    return mean(differences, confidence, in_order)


def paired_test(
    values: Values, reference: Values, in_order: bool = False
) -> PairedTest:
    """Paired t-test, Wilcoxon's signed-rank test and effect sizes.

    Pairs with a NaN, or two equal infinities, are omitted. in_order: as in `mean`; then
    the signed-rank test, which needs independent pairs, is omitted. If all differences
    are 0, t is NaN and both p are 1; if they are otherwise equal, t is infinite and p
    0. For fewer than two pairs, only the difference is returned. Raises InputError for
    unequal lengths. Source: thesis Section 5.1.3.
    """
    x, y, differences, rounding = _pairs(values, reference)
    estimate = mean(differences, in_order=in_order)
    share = worth(differences) if in_order else 1.0
    return PairedTest(
        n=estimate.n,
        difference=estimate.mean,
        t=_t(estimate.mean, estimate.sd / math.sqrt(max(estimate.n, 1) * share)),
        p=estimate.p,
        wilcoxon_p=math.nan if in_order else _wilcoxon_p(differences, rounding),
        d=ratio(estimate.mean, _pooled_sd(x, y)),
        d_paired=ratio(estimate.mean, estimate.sd),
        note=_note(estimate),
    )


def _pairs(
    values: Values, reference: Values
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return matched values, differences without rounding errors, and tolerances."""
    x, y = _array(values), _array(reference, "reference")
    if len(x) != len(y):
        raise InputError(
            f"values (length {len(x)}) and reference (length {len(y)}) must"
            " have the same length: they are compared entry by entry"
        )
    with np.errstate(invalid="ignore", over="ignore"):  # two infinities
        differences = x - y
    x, y, differences = (array[~np.isnan(differences)] for array in (x, y, differences))
    rounding = ROUNDING * np.maximum(np.abs(x), np.abs(y))
    return x, y, _unrounded(differences, rounding), rounding


def _unrounded(differences: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Remove rounding errors that make differences nonzero, such as .3 - (.1 + .2)."""
    exact = np.where(np.abs(differences) < rounding, 0.0, differences)
    if len(exact) == 0:
        return exact
    surest = exact[np.argmin(rounding)]
    with np.errstate(invalid="ignore"):  # two infinities
        equal = np.all(np.abs(exact - surest) < rounding)
    return np.full_like(exact, surest) if equal else exact


def _wilcoxon_p(differences: np.ndarray, rounding: np.ndarray) -> float:
    """Return the two-sided p of Wilcoxon's signed-rank test, for independent pairs.

    Up to EXACT_PAIRS differences the distribution of the sum of positive ranks is
    exact; for more, normal with the same mean and variance, including ties, without
    continuity correction. Source: Wilcoxon (1945), Biometrics Bulletin 1, 80-83.
    """
    if len(differences) < 2:
        return math.nan
    left = differences != 0
    ranks2 = doubled_ranks(np.abs(differences[left]), rounding[left])
    positive2, most2 = int(ranks2[differences[left] > 0].sum()), int(ranks2.sum())
    if len(ranks2) > EXACT_PAIRS:
        z = (positive2 - most2 / 2) / math.sqrt(
            float(np.square(ranks2.astype(float)).sum()) / 4
        )
        return math.erfc(abs(z) / math.sqrt(2))
    chances = np.zeros(most2 + 1)  # by sum of doubled positive ranks
    chances[0] = 1.0
    for rank2 in ranks2:
        chances[rank2:] += chances[: most2 + 1 - rank2]
        chances /= 2
    return min(1.0, 2 * float(chances[: min(positive2, most2 - positive2) + 1].sum()))


def doubled_ranks(magnitudes: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Return doubled ranks, as integers; values equal up to rounding are ties."""
    order = np.argsort(magnitudes, kind="stable")
    known = magnitudes[order]
    allowed = np.where(np.isinf(magnitudes), 0, rounding)[order]
    with np.errstate(invalid="ignore"):  # two infinities, which are equal
        apart = np.diff(known) > np.maximum(allowed[1:], allowed[:-1])
    starts = np.flatnonzero(np.append(len(known) > 0, apart))
    ends = np.append(starts[1:], len(known))[: len(starts)]
    ranks2 = np.empty(len(known), np.int64)  # their sum has more than 32 bits
    ranks2[order] = np.repeat(starts + 1 + ends, ends - starts)
    return ranks2


def _note(difference: Mean) -> str:
    """Return the first reason not to trust a test of these differences."""
    reasons = {
        "fewer than 2 pairs": difference.n < 2,
        "all differences are zero": difference.mean == difference.sd == 0,
        "all differences are equal": difference.sd == 0,
        "a difference is infinite": math.isinf(difference.mean)
        or math.isnan(difference.mean),
        f"fewer than {FEW_PAIRS} pairs": difference.n < FEW_PAIRS,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


# ---- effect sizes ----


def cohens_d(values: Values, reference: Values) -> float:
    """(mean of values - mean of reference) / s_pooled, without a unit.

    s_pooled = sqrt(((n1 - 1) s1^2 + (n2 - 1) s2^2) / (n1 + n2 - 2)). Values are not
    matched. NaN if s_pooled is 0, and for fewer than two values on either side. Source:
    thesis Section 5.1.3.
    """
    x, y = _known(values), _known(reference)
    return ratio(_moments(x)[0] - _moments(y)[0], _pooled_sd(x, y))


def cohens_d_paired(values: Values, reference: Values) -> float:
    """Mean of values - reference over the standard deviation of differences (d_z).

    Pairs with a NaN are omitted. NaN if all differences are equal, and for fewer than
    two pairs. Raises InputError for unequal lengths.
    """
    difference = paired_difference(values, reference)
    return ratio(difference.mean, difference.sd)


def _pooled_sd(x: np.ndarray, y: np.ndarray) -> float:
    (_, s1), (_, s2) = _moments(x), _moments(y)
    n1, n2 = len(x), len(y)
    if min(n1, n2) < 2:
        return math.nan
    return math.sqrt(((n1 - 1) * s1 * s1 + (n2 - 1) * s2 * s2) / (n1 + n2 - 2))


# ---- many tests ----


def holm(p_values: Values) -> list[float]:
    """Holm's step-down adjusted p-values, in the order of the input.

    The k-th smallest is multiplied by (m - k + 1), made non-decreasing, at most 1.
    Rejecting adjusted values below alpha limits the probability of any false rejection
    to alpha. NaN is not counted in m and stays NaN. Raises InputError for values
    outside 0 to 1. Source: Holm (1979), Scandinavian Journal of Statistics 6, 65-70.
    """
    p = _array(p_values, "p_values")
    _refuse("p_values", p, (p < 0) | (p > 1), "a number from 0 to 1")
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]  # NaN sorts last
    adjusted = np.full_like(p, math.nan)
    adjusted[order] = np.minimum(
        1, np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    )
    return [float(value) for value in adjusted]


# ---- how many replications ----


@checked
def replications_needed(
    values: Values, relative_half_width: Positive, confidence: float = 0.95
) -> int:
    """Least n >= 2 with t* s / sqrt(n) <= relative_half_width |x-bar|.

    t* has n - 1 degrees of freedom; x-bar and s are estimated from the values of a few
    initial replications. For an error relative to the true mean of at most gamma, use
    gamma / (1 + gamma). Returns the total number of replications; 2 if s = 0. Raises
    InputError for fewer than two values, an infinite one, or a mean of 0 with s > 0.
    Source: Law, Simulation Modeling and Analysis, Section 9.4.1, with the width
    relative to x-bar.
    """
    _check_confidence(confidence)
    x = _array(values)
    _refuse("values", x, np.isinf(x), "finite")
    x = _known(x)
    if len(x) < 2:
        raise InputError(
            f"a standard deviation needs at least two values, not {len(x)}"
        )
    centre, sd = _moments(x)
    if abs(centre) < ROUNDING * sd:
        raise InputError(
            "the half width relative to the mean of the values is undefined: the"
            " mean is zero"
        )
    allowed = relative_half_width * abs(centre)
    # least is not enough; most is, once doubled often enough, as the half width falls
    # with n
    least, most = 1, 2
    while not _half_width(sd, most, confidence) <= allowed:
        least, most = most, 2 * most
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (
            (least, middle)
            if _half_width(sd, middle, confidence) <= allowed
            else (middle, most)
        )
    return most


# ---- one long run ----


@checked
def batch_means(
    series: Values, batches: TwoOrMore = 20, confidence: float = 0.95
) -> Mean:
    """Mean of a stationary series, with an interval from means of equal batches.

    series: observations in order; the first len(series) % batches are omitted. batches:
    number of batches; each must be much longer than the correlation lasts. n, p and sd
    are those of the batch means. Raises InputError for fewer than two observations per
    batch, NaN or infinity. Source: Law, Simulation Modeling and Analysis, Section
    9.5.3.
    """
    x = _series(series, 2 * batches)
    return mean(x[len(x) % batches :].reshape(batches, -1).mean(axis=1), confidence)


def mser5(series: Values) -> int:
    """Number of initial observations to delete as transient, by the MSER-5 rule.

    Of the m means of batches of five, the first d < m / 2 are deleted, for the d that
    minimises the squared standard error: sum of squares of the rest about its mean / (m
    - d)^2. A result near half of the series means that it is too short. Raises
    InputError for fewer than 10 observations, NaN or infinity. Source: White (1997),
    Simulation 69, 323-334; batches of five: White, Cobb and Spratt (2000), Winter
    Simulation Conference, 755-760.
    """
    x = _series(series, 2 * MSER_BATCH)
    number = len(x) // MSER_BATCH
    y = x[: number * MSER_BATCH].reshape(number, MSER_BATCH).mean(axis=1)
    # the sums below lose no digits to a large mean, nor to a large transient
    y = y - np.median(y)
    left = np.arange(len(y), 0, -1)
    squares = _sums_to_end(y**2) - _sums_to_end(y) ** 2 / left
    return MSER_BATCH * int(np.argmin((squares / left**2)[: (len(y) + 1) // 2]))


def _sums_to_end(y: np.ndarray) -> np.ndarray:
    """Return the sums from each position to the end."""
    return np.cumsum(y[::-1])[::-1]


def _series(series: Values, least: int) -> np.ndarray:
    x = _array(series, "series")
    if len(x) < least:
        raise InputError(
            f"series has {many(len(x), 'observation')}, but at least {least} are needed"
        )
    _refuse("series", x, ~np.isfinite(x), "a finite number")
    return x


# ---- bootstrap ----


@checked
def block_bootstrap_mean(
    values: Values, block: Count, confidence: float = 0.95
) -> Mean:
    """Mean of a series with an interval from the circular block bootstrap.

    Use it for successive days that may be correlated. Blocks of neighbours on a circle
    are resampled; the variance of their means is computed exactly and corrected for the
    number of blocks, and the interval is Student's with one degree of freedom less than
    blocks. values: in order of time, without NaN or infinity. block: length of a block,
    at most half of the values. p is NaN. Source: Politis and Romano (1992), Exploring
    the limits of bootstrap, 263-270.
    """
    _check_confidence(confidence)
    x = _series(values, 2 * block)
    blocks = len(x) / block
    around = np.concatenate([x, x[: block - 1]])
    means = np.convolve(around, np.full(block, 1 / block), "valid")
    (centre, sd), error = _moments(x), math.sqrt(float(means.var()) / (blocks - 1))
    half = float(scipy.special.stdtrit(blocks - 1, 0.5 + confidence / 2)) * error
    return Mean(centre, centre - half, centre + half, len(x), sd=sd)
