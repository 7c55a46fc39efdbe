"""Intervals, tests, effect sizes and truncation, each against SciPy, a number
worked by hand, or its definition.
"""

from math import inf, isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from support import refusals

import cgrsp_simpy as cg

QUICK = settings(max_examples=200)
WAITS = [158.2, 161.0, 149.7, 170.3, 155.5, 163.1, 152.4, 158.8]
OTHERS = [131.9, 128.4, 133.0, 139.6, 120.7, 137.7, 126.3, 130.2]
numbers = st.floats(-1e6, 1e6).map(lambda number: round(number, 3))


# ---- means ----


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_a_mean_has_the_interval_of_students_t(confidence):
    result = cg.statistics.mean(WAITS, confidence)
    low, high = stats.t.interval(
        confidence, len(WAITS) - 1, loc=np.mean(WAITS), scale=stats.sem(WAITS)
    )

    moments = np.mean(WAITS), np.std(WAITS, ddof=1), 8
    assert (result.mean, result.sd, result.n) == pytest.approx(moments, rel=1e-12)
    interval = low, high, (high - low) / 2
    result = result.low, result.high, result.half_width
    assert result == pytest.approx(interval, rel=1e-9)


def test_equal_values_have_no_spread_though_their_computed_mean_is_off():
    assert np.mean([0.1] * 3) != 0.1
    assert [*map(cg.statistics.mean, ([0.1] * 3, [0.3, 0.1 + 0.2], [0, 0]))] == [
        cg.statistics.Mean(0.1, 0.1, 0.1, 3, p=0.0, sd=0.0),
        cg.statistics.Mean(0.3, 0.3, 0.3, 2, p=0.0, sd=0.0),
        cg.statistics.Mean(0, 0, 0, 2, p=1.0, sd=0.0),
    ]
    more = cg.statistics.paired_difference([1.0, 1.0], [0.5, 0.5 - 2**-40])
    assert cg.statistics.mean([0.1 + 0.2, 0.3]).sd == 0 < more.sd
    assert cg.statistics.mean([0.3, 0.3 + 1e-9]).sd == pytest.approx(
        1e-9 / sqrt(2), rel=1e-6
    )


def test_an_infinite_value_leaves_an_infinite_mean_without_an_interval():
    result = cg.statistics.mean([inf, 1, 2])
    assert (result.mean, result.n) == (inf, 3)
    assert all(map(isnan, (result.low, result.high, result.p, result.sd)))
    undefined, equal = map(cg.statistics.mean, ([inf, -inf], [inf, inf]))
    assert isnan(undefined.mean) and isnan(equal.sd)


# ---- pairs ----


@pytest.mark.parametrize("n", [2, 5, 50, 51])
def test_paired_tests_are_scipys(n):
    generator = np.random.default_rng(n)
    common = generator.normal(150, 10, n)
    values, reference = common + generator.normal(-2, 3, n), common
    result = cg.statistics.paired_test(values, reference)
    t, p = stats.ttest_rel(values, reference)

    difference = np.mean(values) - np.mean(reference)
    figures = result.n, result.difference, result.t, result.p
    assert figures == pytest.approx((n, difference, t, p), rel=1e-9)
    method = "exact" if n <= 50 else "approx"
    assert result.wilcoxon_p == pytest.approx(
        stats.wilcoxon(values, reference, method=method).pvalue, rel=1e-9
    )
    # the unpaired test includes the common variation
    assert result.p != pytest.approx(
        stats.ttest_ind(values, reference).pvalue, rel=1e-2
    )
    assert result.d == pytest.approx(
        cg.statistics.cohens_d(values, reference), rel=1e-9
    )
    assert result.d_paired == pytest.approx(result.t / sqrt(n), rel=1e-9)
    assert result.note == ("" if n >= 5 else "fewer than 5 pairs")


def signed_ranks(differences):
    """The sum of the positive ranks under every choice of signs, and the one found;
    zeros left out, ties at their mean rank.
    """
    left = np.array([each for each in differences if each])
    ranks = stats.rankdata(abs(left))
    signs = np.arange(2 ** len(left))[:, None] >> np.arange(len(left)) & 1
    return signs @ ranks, ranks[left > 0].sum(), ranks.sum() / 2


@pytest.mark.parametrize("seed", range(5))
def test_wilcoxon_is_the_share_of_all_choices_of_signs_that_are_as_extreme(seed):
    rng = np.random.default_rng(seed)
    # zeros and ties abound
    differences = rng.integers(-4, 6, rng.integers(2, 18)).astype(float)
    sums, result, middle = signed_ranks(differences)
    share = np.mean(abs(sums - middle) >= abs(result - middle))
    assert cg.statistics.paired_test(
        differences, np.zeros(len(differences))
    ).wilcoxon_p == pytest.approx(share, rel=1e-12)


def test_wilcoxon_of_differences_that_are_equal_but_for_rounding():
    """0.2 - 0.3, 0.2 - 0.1 and 0.5 - 0 have the ranks 1.5, 1.5 and 3: p is 3/4; the
    ranks 1, 2 and 3 would give 1/2.
    """
    assert 0.3 - 0.2 != 0.2 - 0.1
    assert (
        cg.statistics.paired_test([0.2, 0.2, 0.5], [0.3, 0.1, 0.0]).wilcoxon_p == 3 / 4
    )
    assert cg.statistics.paired_test([2, 3, 5], [3, 1, 0]).wilcoxon_p == 1 / 2


@pytest.mark.parametrize(
    ("values_and_rounding", "doubled"),
    [
        (([], []), []),
        (([5.0], [0.0]), [2]),
        (([0.5, 0.5 + 2**-40], [2**-40, 0.0]), [3, 3]),  # no further apart than that
        (([0.5, 0.5 + 2**-39], [2**-40, 0.0]), [2, 4]),
        (([3.0, 1.0, 2.0], [0.0, 0.0, 1.5]), [4, 4, 4]),
        (([inf, 7.0, inf], [inf, 0.0, inf]), [5, 2, 5]),
    ],
)
def test_ranks_of_values_that_are_equal_up_to_rounding(values_and_rounding, doubled):
    assert [
        *cg.statistics.doubled_ranks(*map(np.array, values_and_rounding))
    ] == doubled


@pytest.mark.parametrize("n", [51, 400])
@pytest.mark.parametrize("ties", [False, True])
def test_wilcoxon_of_many_equals_scipys_normal_approximation(n, ties):
    rng = np.random.default_rng(n)
    differences = (
        rng.integers(-9, 11, n).astype(float) if ties else rng.normal(0.2, 1, n)
    )
    differences = differences[differences != 0] if ties else differences
    differences = np.append(differences, np.ones(max(0, 51 - len(differences))))
    z = stats.wilcoxon(differences, method="approx", correction=False)
    assert cg.statistics.paired_test(
        differences, np.zeros(len(differences))
    ).wilcoxon_p == pytest.approx(z.pvalue, rel=1e-9)


def shown(test):
    """The fields of a test after n, as text, in which NaN equals NaN."""
    return " ".join(
        f"{x:.4g}"
        for x in (
            test.difference,
            test.t,
            test.p,
            test.wilcoxon_p,
            test.d,
            test.d_paired,
        )
    )


@pytest.mark.parametrize(
    ("values", "reference", "n", "numbers", "note"),
    [
        #                                  difference t p wilcoxon_p d d_paired
        ([], [], 0, "nan nan nan nan nan nan", "fewer than 2 pairs"),
        ([nan, nan], [1, 2], 0, "nan nan nan nan nan nan", "fewer than 2 pairs"),
        ([3], [1], 1, "2 nan nan nan nan nan", "fewer than 2 pairs"),
        ([3, nan, 4], [1, 2, nan], 1, "2 nan nan nan nan nan", "fewer than 2 pairs"),
        (
            [1, 2, 3, 4, 5],
            [1, 2, 3, 4, 5],
            5,
            "0 nan 1 1 0 nan",
            "all differences are zero",
        ),
        ([4, 4, 4], [4, 4, 4], 3, "0 nan 1 1 nan nan", "all differences are zero"),
        (
            [0.1 + 0.2, 1, 2],
            [0.3, 1, 2],
            3,
            "0 nan 1 1 0 nan",
            "all differences are zero",
        ),
        # 2 / sqrt 2.5
        (
            [3, 4, 5, 6, 7],
            [1, 2, 3, 4, 5],
            5,
            "2 inf 0 0.0625 1.265 nan",
            "all differences are equal",
        ),
        ([1, 2, 3], [3, 4, 5], 3, "-2 -inf 0 0.25 -2 nan", "all differences are equal"),
        (
            [1.1, 2.1, 3.1],
            [1, 2, 3],
            3,
            "0.1 inf 0 0.25 0.1 nan",
            "all differences are equal",
        ),
        (
            [1e9 + 0.1, 1.1, 2.1],
            [1e9, 1, 2],
            3,
            "0.1 inf 0 0.25 1.732e-10 nan",
            "all differences are equal",
        ),
        ([3, 3, 3], [1, 1, 1], 3, "2 inf 0 0.25 nan nan", "all differences are equal"),
        # t = 2.5 / (sqrt 0.5 / sqrt 2)
        ([3, 4], [1, 1], 2, "2.5 5 0.1257 0.5 5 3.536", "fewer than 5 pairs"),
        (
            [inf, 1, 2],
            [0, 0, 0],
            3,
            "inf nan nan 0.25 nan nan",
            "a difference is infinite",
        ),
        ([inf, inf], [0, 0], 2, "inf nan nan 0.5 nan nan", "a difference is infinite"),
        ([inf, 3, 4], [inf, 1, 1], 2, "2.5 5 0.1257 0.5 5 3.536", "fewer than 5 pairs"),
    ],
)
def test_an_undefined_value_is_nan_and_a_note_gives_the_reason(
    values, reference, n, numbers, note
):
    result = cg.statistics.paired_test(values, reference)
    assert (result.n, shown(result), result.note) == (n, numbers, note)


def test_a_large_pair_does_not_hide_the_differences_of_small_ones():
    values, reference = [1e15, 300, 400], [1e15 - 1000, 100, 100]
    assert cg.statistics.paired_test(values, reference).t == pytest.approx(
        stats.ttest_rel(values, reference).statistic, rel=1e-9
    )


# ---- effect sizes ----


def test_cohens_d_by_hand():
    # means 4 and 2; s1^2 = 4, s2^2 = 2/3; s_pooled^2 = (2 * 4 + 3 * 2/3) / (3 + 4 - 2)
    # = 2
    assert cg.statistics.cohens_d([2, 4, 6], [1, 2, 3, 2]) == pytest.approx(
        2 / sqrt(2), rel=1e-12
    )
    assert cg.statistics.cohens_d([1, 2, 3, 2], [2, 4, 6]) == pytest.approx(
        -2 / sqrt(2), rel=1e-12
    )
    # differences 2, 3, 4: mean 3, standard deviation 1
    assert cg.statistics.cohens_d_paired([3, 5, 10], [1, 2, 6]) == pytest.approx(
        3, rel=1e-12
    )


# ---- many tests ----


def test_holm_leaves_nan_out_of_the_family():
    assert cg.statistics.holm([nan, 0.01, nan, 0.04, 0.03, 0.005]) == pytest.approx(
        [nan, 3 * 0.01, nan, 2 * 0.03, 2 * 0.03, 4 * 0.005], nan_ok=True
    )


def holm_by_definition(p_values):
    """Each p-value's adjusted value is the greatest over the k least up to it of (m - k
    + 1) p.
    """
    m, ordered = len(p_values), sorted(p_values)
    return [
        min(1, max((m - k) * q for k, q in enumerate(ordered) if q <= p))
        for p in p_values
    ]


@QUICK
@given(
    st.lists(st.floats(0, 1), max_size=12).flatmap(
        lambda ps: st.tuples(st.just(ps), st.permutations(range(len(ps))))
    )
)
def test_holm_lies_between_the_p_value_and_bonferroni_in_any_order(case):
    p_values, order = case
    result = cg.statistics.holm(p_values)
    assert all(
        p <= adjusted <= min(1, len(p_values) * p)
        for p, adjusted in zip(p_values, result)
    )
    assert [result[k] for k in order] == cg.statistics.holm(
        [p_values[k] for k in order]
    )
    assert result == pytest.approx(holm_by_definition(p_values), rel=1e-12)


# ---- how many replications ----


def test_replications_needed_by_hand():
    # mean 10, s = 1, half width 0.5: t* / sqrt n is 2.120 / 4.123 = 0.514 for n = 17
    # and 2.110 / 4.243 = 0.497 for n = 18
    assert cg.statistics.replications_needed([9, 10, 11], 0.05) == 18
    assert cg.statistics.replications_needed([-9, nan, -10, -11], 0.05) == 18
    assert (
        cg.statistics.replications_needed([7, 7], 0.05)
        == cg.statistics.replications_needed([0, 0], 0.05)
        == cg.statistics.replications_needed([0.1] * 3, 1e-15)
        == 2
    )
    # found by bisection, beyond what an index of a list can be, too
    for width in (1e-6, 1e-12):
        wanted = (1.959964 / (10 * width)) ** 2
        assert cg.statistics.replications_needed([9, 10, 11], width) == pytest.approx(
            wanted, rel=1e-5
        )


@QUICK
@given(
    st.lists(numbers, min_size=2, max_size=20),
    st.floats(0.001, 10),
    st.sampled_from([0.8, 0.95, 0.99]),
)
def test_replications_needed_are_enough_and_one_fewer_is_not(values, width, confidence):
    result = cg.statistics.mean(values)
    assume(abs(result.mean) > 1e-6 * result.sd)

    def exceeds(n):
        half_width = stats.t.ppf(0.5 + confidence / 2, n - 1) * result.sd / sqrt(n)
        return half_width / (width * abs(result.mean) or 1)

    n = cg.statistics.replications_needed(values, width, confidence)
    assert n >= 2
    assert exceeds(n) <= 1 + 1e-9
    assert n == 2 or exceeds(n - 1) >= 1 - 1e-9


# ---- one long run ----


def test_batch_means_by_hand():
    # the first is left over; batch means 2 and 6
    result = cg.statistics.batch_means([100, 1, 3, 5, 7], batches=2)
    assert (result.mean, result.n, result.sd) == pytest.approx(
        (4, 2, sqrt(8)), rel=1e-12
    )
    assert result == cg.statistics.mean([2, 6])
    assert cg.statistics.batch_means(range(40)) == cg.statistics.mean(
        np.arange(20) * 2 + 0.5
    )


def test_a_mean_in_order_by_hand():
    """Of 1, 2, 4, 5: deviations -2, -1, 1, 2, so r = (2 - 1 + 2) / 10 + (1 + 4 x .3) /
    4 = .85, of which four values are worth 4 x .15 / 1.85; t has 1 degree of freedom at
    least.
    """
    result = cg.statistics.mean([1, 2, 4, 5], in_order=True)
    test = cg.statistics.paired_test([1, 2, 4, 5], [0] * 4, True)
    error = sqrt(10 / 3) / 2 / sqrt(0.15 / 1.85)
    assert result.mean == 3
    shares = [cg.statistics.worth(x) for x in ([1, 2, 4, 5], [2, 2, 2], [1, inf])]
    assert shares == pytest.approx([0.15 / 1.85, 1, 1])
    assert result.half_width == pytest.approx(12.7062 * error, rel=1e-5)
    assert test.t == pytest.approx(3 / error)
    assert result.p == test.p == pytest.approx(2 * stats.t.sf(3 / error, 1))
    assert isnan(test.wilcoxon_p)
    assert (
        cg.statistics.paired_difference([2, 3, 5, 6], [1] * 4, in_order=True) == result
    )
    # correlated negatively: as if they were independent
    alternating = [1, 2, 1, 2, 1, 2]
    assert cg.statistics.mean(alternating, in_order=True) == cg.statistics.mean(
        alternating
    )
    one, two = (cg.statistics.mean([2.0] * n, in_order=True) for n in (1, 2))
    assert isnan(one.low) and two.half_width == 0


def mser5_by_definition(series):
    """Try every number of batches to delete."""
    batches = [np.mean(series[k : k + 5]) for k in range(0, len(series) - 4, 5)]
    errors = [
        np.sum((batches[d:] - np.mean(batches[d:])) ** 2) / (len(batches) - d) ** 2
        for d in range(len(batches))
    ]
    return 5 * int(np.argmin(errors[: (len(batches) + 1) // 2]))


def decaying(length, height, scale, seed):
    """White noise upon a transient that decays exponentially."""
    return height * np.exp(-np.arange(length) / scale) + np.random.default_rng(
        seed
    ).normal(size=length)


@pytest.mark.parametrize("length", [10, 14, 15, 57, 500])
@pytest.mark.parametrize("height", [0, 10, -1e9])
@pytest.mark.parametrize("seed", range(5))
def test_mser5_matches_its_definition(length, height, seed):
    series = decaying(length, height, 10, seed) + 1e6 * (seed % 2)
    assert cg.statistics.mser5(series) == mser5_by_definition(series)


# ---- bootstrap ----


def test_the_block_bootstrap_by_hand():
    """Blocks of 2 of 1, 2, 3, 6 in a circle: means 1.5, 2.5, 4.5, 3.5, of variance
    1.25.
    """
    result = cg.statistics.block_bootstrap_mean([1, 2, 3, 6], 2)
    assert (result.mean, result.n) == (3, 4)
    assert result.half_width == pytest.approx(
        stats.t.ppf(0.975, 1) * sqrt(1.25 / (2 - 1))
    )
    alone = cg.statistics.block_bootstrap_mean(WAITS, 1)  # blocks of one: Student's t
    assert low_and_high(alone) == pytest.approx(low_and_high(cg.statistics.mean(WAITS)))


@pytest.mark.parametrize(
    ("values", "block"), [([1, 2, 3], 2), ([1, nan, 3, 4], 1), (WAITS, 0), (WAITS, 1.5)]
)
def test_a_block_is_at_most_half_of_known_values(values, block):
    with pytest.raises(cg.InputError):
        cg.statistics.block_bootstrap_mean(values, block)


def low_and_high(found):
    return found.low, found.high


# ---- missing values, bad input ----


@pytest.mark.parametrize(
    "function",
    [
        cg.statistics.mean,
        lambda values: cg.statistics.cohens_d(values, OTHERS),
        lambda values: cg.statistics.cohens_d(OTHERS, values),
        lambda values: cg.statistics.replications_needed(values, 0.01),
    ],
)
def test_nan_is_left_out(function):
    assert repr(function([nan, *WAITS[:3], nan, *WAITS[3:]])) == repr(function(WAITS))


@pytest.mark.parametrize(
    "function",
    [
        cg.statistics.paired_test,
        cg.statistics.paired_difference,
        cg.statistics.cohens_d_paired,
    ],
)
def test_pairs_with_nan_are_left_out(function):
    assert function([nan, *WAITS, 1e9], [1e9, *OTHERS, nan]) == function(WAITS, OTHERS)


@pytest.mark.parametrize("values", [[], [nan], [nan, nan, nan]])
def test_nan_never_becomes_a_number(values):
    result = cg.statistics.mean(values)
    assert result.n == 0
    assert all(
        map(
            isnan,
            (
                result.mean,
                result.low,
                result.high,
                result.p,
                result.sd,
                result.half_width,
            ),
        )
    )


test_bad_input_is_rejected_by_name = refusals(
    (lambda: cg.statistics.mean([1, 2], 95), r"confidence\(=95\)"),
    (lambda: cg.statistics.mean([1, 2], 0), r"confidence\(=0\)"),
    (lambda: cg.statistics.mean([1, 2], "much"), r"confidence\(='much'\)"),
    (
        lambda: cg.statistics.block_bootstrap_mean(range(9), 2, 1.5),
        r"confidence\(=1.5\)",
    ),
    (lambda: cg.statistics.mean([[1, 2]]), "values.*2 dimensions"),
    (lambda: cg.statistics.mean(3), "values.*0 dimensions"),
    (lambda: cg.statistics.mean(["many"]), "values.*'many'"),
    (
        lambda: cg.statistics.paired_test([1, 2, 3], [1, 2]),
        r"values \(length 3\) and reference \(length 2\)",
    ),
    (
        lambda: cg.statistics.paired_difference([1], [1, 2]),
        r"values \(length 1\) and reference \(length 2\)",
    ),
    (
        lambda: cg.statistics.cohens_d_paired([1], []),
        r"values \(length 1\) and reference \(length 0\)",
    ),
    (lambda: cg.statistics.paired_test([1], "x"), "reference.*'x'"),
    (lambda: cg.statistics.holm([0.5, 1.5]), r"p_values\[1\]\(=1.5\)"),
    (lambda: cg.statistics.holm([-0.1]), r"p_values\[0\]\(=-0.1\)"),
    (lambda: cg.statistics.replications_needed([1], 0.1), "two values, not 1"),
    (lambda: cg.statistics.replications_needed([1, nan], 0.1), "two values, not 1"),
    (lambda: cg.statistics.replications_needed([-1, 1], 0.1), "mean is zero"),
    (lambda: cg.statistics.replications_needed([0.1, 0.2, -0.3], 0.1), "mean is zero"),
    (lambda: cg.statistics.replications_needed([1, inf], 0.1), r"values\[1\]\(=inf\)"),
    (
        lambda: cg.statistics.replications_needed([1, 2], 0),
        r"relative_half_width\(=0\)",
    ),
    (
        lambda: cg.statistics.replications_needed([1, 2], nan),
        r"relative_half_width\(=nan\)",
    ),
    (lambda: cg.statistics.replications_needed([1, 2], 0.1, 1), r"confidence\(=1\)"),
    (lambda: cg.statistics.batch_means([1] * 39), "39 observations.*at least 40"),
    (lambda: cg.statistics.batch_means([1] * 9, 1), r"batches\(=1\)"),
    (lambda: cg.statistics.batch_means([1] * 9, 2.5), r"batches\(=2.5\)"),
    (lambda: cg.statistics.batch_means([1, 2, nan, 4], 2), r"series\[2\]\(=nan\)"),
    (lambda: cg.statistics.batch_means([1, 2, 3, 4], 2, -1), r"confidence\(=-1\)"),
    (lambda: cg.statistics.mser5([1] * 9), "9 observations.*at least 10"),
    (lambda: cg.statistics.mser5([1] * 12 + [nan]), r"series\[12\]\(=nan\)"),
    (lambda: cg.statistics.mser5([inf] + [1] * 12), r"series\[0\]\(=inf\)"),
)


@pytest.mark.parametrize("values", [[], [1], [1, 1], [0.1] * 3, [1, nan]])
def test_without_a_spread_there_is_no_effect_size(values):
    assert isnan(cg.statistics.cohens_d(values, [3.0] * len(values)))
    assert isnan(cg.statistics.cohens_d(values, values))
    assert isnan(cg.statistics.cohens_d_paired(values, [3.0] * len(values)))
