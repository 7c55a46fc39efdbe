"""Statistics that are the same with every supported version of NumPy and SciPy.

The values do not come from this package: Wilcoxon's p was counted in whole numbers, all
else computed to 40 digits with mpmath. The figures that are bit-identical are listed in
`cgrsp_simpy/analysis/statistics.py`.
"""

import pytest

from cgrsp_simpy.analysis.statistics import holm, mean, paired_difference, paired_test

FIFTY = [k * 7919 % 101 - 40 for k in range(50)]  # one of them is 0
EIGHTY = [k * 7919 % 103 - 45 for k in range(80)]
SMALL = [
    # differences; Wilcoxon's p as a share of the 2^n choices of signs; Student's t, its
    # p, d_paired
    (
        # SciPy's own test gives .0431 up to 1.13 and .0625 since
        [0, 0, 1, 2, 3, 4, 5],
        (2, 5),
        (2.9047375096555626639, 0.027166117541688800568, 1.0978875820670998268),
    ),
    (
        [0, -1, 1, 2, 3, 4, 5],  # 1 and -1 share their rank
        (6, 6),
        (2.4494897427831780982, 0.049825262780576764086, 0.92582009977255146157),
    ),
    (
        [3, -1, 4, -1, 5, 9, -2, 6, 5, 3, -5, 8],
        (214, 12),
        (2.303731458102648066, 0.041756872018479555246, 0.66502998873808646474),
    ),
    (
        [2, 2, -2, 2, 2, -2, 0, 2],  # all share one rank: a test of signs
        (58, 7),
        (1.1577674774819396424, 0.28493138084232196232, 0.40933261718236149148),
    ),
    (
        FIFTY,
        (24499631023420, 49),
        (2.1408228403947481911, 0.037289629047607462583, 0.30275806955243447275),
    ),
]


@pytest.mark.parametrize(
    ("differences", "share", "student"), SMALL, ids=range(len(SMALL))
)
def test_wilcoxon_is_bit_identical_and_t_agrees_to_12_digits(
    differences, share, student
):
    result = paired_test(differences, [0] * len(differences))
    choices, n = share
    assert result.wilcoxon_p == choices / 2**n
    assert (result.t, result.p, result.d_paired) == pytest.approx(student, rel=1e-12)
    assert paired_difference(differences, [0] * len(differences)).p == result.p


def test_wilcoxon_beyond_50_differences_is_the_normal_distribution_to_12_digits():
    result = paired_test(EIGHTY, [0] * 80)
    assert result.wilcoxon_p == pytest.approx(0.074448970027865647211, rel=1e-12)
    student = (1.8536568045392216955, 0.067521242153481184321, 0.20724513109523702227)
    assert (result.t, result.p, result.d_paired) == pytest.approx(student, rel=1e-12)


@pytest.mark.parametrize(
    ("n", "t"),
    [
        (3, 4.302652729749463852321),
        (10, 2.262157162798205542608),
        (30, 2.045229642132704298194),
    ],
)
def test_half_widths_to_10_digits(n, t):
    values = list(range(n))
    s2 = n * (n + 1) / 12  # of 0 to n - 1
    assert mean(values).half_width == pytest.approx(t * (s2 / n) ** 0.5, rel=1e-10)


def test_holm_is_bit_identical():
    assert holm([2 / 2**5, 6 / 2**6, 1 / 2**8]) == [2 / 2**4, 2 / 2**4, 3 / 2**8]
