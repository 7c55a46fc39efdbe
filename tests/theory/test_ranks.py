"""Friedman and Nemenyi against published examples and the distribution of their
statistics.
"""

import math

import numpy as np
import pytest
from scipy import stats
from support import refusals

from cgrsp_simpy.analysis.ranks import critical_difference, rank_test


@pytest.mark.parametrize(
    ("treatments", "q"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (10, 3.164)],
)
def test_quantiles_equal_demsar_table_5(treatments, q):
    assert critical_difference(treatments, 1) * np.sqrt(
        6 / (treatments * (treatments + 1))
    ) == pytest.approx(q, abs=1e-3)


test_tables_without_ranks_are_rejected = refusals(
    ([[1, 2, math.nan], [1, 2, 3]], "values[0, 2] must not be NaN"),
    ([["a", "b", "c"]] * 2, "must be numbers, as many in every row"),
    ([[1, 2, 3], [1, 2]], "must be numbers, as many in every row"),
    *(
        (values, r"shape of values.* must be \(2 or more, 3 or more\)")
        for values in ([[1, 2, 3]], [[1, 2], [2, 1]], [1, 2, 3])
    ),
    call=rank_test,
)


def test_the_critical_differences_of_the_paper_on_whales_lack_the_square_root_of_two():
    """worl-rtgs.txt Section 5.6 prints 3.374 for 10 jobs and 4.033 for 7, of six
    algorithms.
    """
    assert critical_difference(6, 10) * np.sqrt(2) == pytest.approx(3.374, abs=0.004)
    assert critical_difference(6, 7) * np.sqrt(2) == pytest.approx(4.033, abs=0.004)


def test_ranks_and_friedman_by_hand():
    """Ranks (1, 2, 3), (1, 3, 2), (2, 1, 3), (1, 2, 3): sums 5, 8, 11; 12 / (4 x 3 x 4)
    x (25 + 64 + 121) - 3 x 4 x 4 = 4.5.
    """
    result = rank_test([[1, 2, 3], [1, 9, 4], [5, 1, 7], [0, 1, 2]])
    assert result.mean == pytest.approx([1.25, 2.0, 2.75])
    assert result.statistic == pytest.approx(4.5)
    # chi-square with two degrees of freedom
    assert result.p == pytest.approx(np.exp(-2.25))


def test_ties_share_their_rank():
    assert rank_test([[1, 1, 2], [3, 3, 4]]).mean == pytest.approx([1.5, 1.5, 3.0])
    equal = rank_test([[1, 1, 1], [2, 2, 2]])
    assert (equal.statistic, equal.p) == (0, 1)


def test_a_pair_at_the_critical_difference_has_the_p_value_alpha():
    result = rank_test(np.tile([1.0, 2.0, 3.0], (7, 1)))
    gap = result.critical_difference / np.sqrt(3 * 4 / (6 * 7)) * np.sqrt(2)
    assert stats.studentized_range.sf(gap, 3, np.inf) == pytest.approx(0.05)
