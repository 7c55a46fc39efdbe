"""The thesis's days: the calibrated reading gives its published figures within sampling
noise.

z = (ours - reference) / standard error. A long-run reference counts as exact; a
published mean over n seeds has its own error, estimated by our between-seed deviation,
and its own rounding.
"""

import math

import numpy as np
import pytest

import cgrsp_simpy as cg

# Hectic day, C_max = 5: mean wait min, miss %, tardiness min, cost USD, of an
# independent simulator over 300 seeds.
LONG_RUN = {
    "rh": (130.46, 7.86, 20.40, 6.11),
    "cadr": (135.20, 8.31, 6.27, 6.13),
    "spt-rescue": (135.26, 12.30, 5.99, 6.12),
    "adaptive": (155.86, 9.68, 3.10, 6.14),
    "spt": (130.30, 15.08, 15.24, 6.11),
    "edf": (156.29, 11.42, 3.17, 6.14),
    "lcf": (156.16, 22.13, 23.74, 6.15),
    "balanced": (155.04, 21.67, 23.22, 6.15),
    "fifo": (156.05, 22.07, 23.60, 6.15),
    "random": (155.79, 21.35, 30.03, 6.14),
}
FIGURES = ("wait_min", "miss_pct", "tardiness_min", "cost_usd")

# Table 5.5: mean wait min / miss %, 30 seeds.
TABLE_5_5_POLICIES = (
    "spt",
    "lcf",
    "balanced",
    "fifo",
    "edf",
    "random",
    "spt-rescue",
    "rh",
    "cadr",
    "adaptive",
)
TABLE_5_5 = {
    "quiet": (
        "0.5/0.0 0.5/0.0 0.5/0.0 0.7/0.0 0.5/0.0 0.6/0.0 0.5/0.0 0.5/0.0 0.5/0.0"
        " 0.5/0.0"
    ),
    "normal": (
        "5.2/0.8 4.7/0.6 5.5/0.9 7.0/1.2 6.0/1.0 6.6/0.9 5.2/0.8 5.5/0.8 5.2/0.9"
        " 5.2/0.8"
    ),
    "hectic": (
        "129.4/13.8 157.2/22.3 153.9/20.7 158.8/23.0 158.2/11.8 155.9/21.0 135.2/12.4"
        " 128.8/7.5 132.8/7.9 154.8/9.3"
    ),
    "surge": (
        "90.2/6.3 98.3/11.0 93.4/10.6 94.3/10.7 96.3/1.7 93.7/9.3 89.8/3.1 109.6/1.4"
        " 94.8/4.1 95.3/1.3"
    ),
}

# Table 5.7: mean wait min / miss % on the hectic day by C_max, 10 seeds.
TABLE_5_7_POLICIES = ("fifo", "spt", "edf", "spt-rescue", "rh", "cadr", "adaptive")
TABLE_5_7 = {
    3: "387.5/57.5 358.9/55.2 382.7/50.7 364.1/48.9 358.5/45.9 364.2/47.3 382.2/48.9",
    7: "40.9/5.2 36.0/3.2 40.8/0.0 36.0/0.0 35.7/2.9 35.7/0.0 40.8/0.0",
    10: "6.7/0.0 5.6/0.0 6.7/0.0 5.6/0.0 10.7/0.0 5.8/0.0 6.6/0.0",
}

# The cells of these two tables that the reading does not explain: CADR on the normal
# day, z 2.5 for wait and for miss.
KNOWN_FAR = {("normal", "cadr")}


def z_scores(study, policy, figures, references, published=None, rounding=0.0):
    scores = []
    for figure, reference in zip(figures, references):
        values = np.array(study.values(policy, figure))
        beyond = max(0.0, abs(values.mean() - reference) - rounding)
        error = values.std(ddof=1) * math.sqrt(
            1 / len(values) + (1 / published if published else 0)
        )
        scores.append(beyond / error if beyond else 0.0)
    return scores


def cells(row):
    return [tuple(float(number) for number in cell.split("/")) for cell in row.split()]


@pytest.mark.long
def test_hectic_day_wait_and_miss_over_30_seeds():
    study = cg.compare(cg.day("hectic"), list(LONG_RUN), range(30))
    far = {
        p: z
        for p, ref in LONG_RUN.items()
        if max(z := z_scores(study, p, FIGURES[:2], ref)) > 2.5
    }
    assert not far


def test_hectic_day_with_the_printed_clock_is_not_the_thesis():
    study = cg.compare(cg.day("hectic", clock="printed"), ["fifo", "rh"], range(10))
    assert min(z_scores(study, "fifo", FIGURES[:2], LONG_RUN["fifo"])) > 4
    assert min(z_scores(study, "rh", FIGURES[:2], LONG_RUN["rh"])) > 4


@pytest.mark.parametrize(
    "day", ["quiet", "normal", pytest.param("surge", marks=pytest.mark.long)]
)
def test_row_of_table_5_5(day, seeds=30):
    study = cg.compare(cg.day(day), TABLE_5_5_POLICIES, range(seeds))
    assert far_cells(study, day, TABLE_5_5_POLICIES, TABLE_5_5[day], published=30) == {}


@pytest.mark.parametrize("slots", [3, 7, 10])
@pytest.mark.long  # the slow tests have all of Table 5.7 in test_thesis_tables.py
def test_row_of_table_5_7(slots, seeds=10):
    study = cg.compare(cg.day("hectic", slots=slots), TABLE_5_7_POLICIES, range(seeds))
    assert (
        far_cells(study, slots, TABLE_5_7_POLICIES, TABLE_5_7[slots], published=10)
        == {}
    )


def far_cells(study, row, policies, printed, published):
    far = {}
    for policy, reference in zip(policies, cells(printed)):
        scores = z_scores(
            study, policy, ("wait_min", "miss_pct"), reference, published, rounding=0.05
        )
        if max(scores) > (3.5 if (row, policy) in KNOWN_FAR else 2.5):
            far[policy] = scores
    return far


@pytest.mark.long
def test_hectic_day_all_figures_over_100_seeds():
    study = cg.compare(cg.day("hectic"), list(LONG_RUN), range(100))
    far = {
        p: z
        for p, ref in LONG_RUN.items()
        if max(z := z_scores(study, p, FIGURES, ref, rounding=0.005)) > 2.5
    }
    assert not far


@pytest.mark.long
@pytest.mark.parametrize("day", list(TABLE_5_5))
def test_row_of_table_5_5_over_300_seeds(day):
    test_row_of_table_5_5(day, seeds=300)


@pytest.mark.long
@pytest.mark.parametrize("slots", list(TABLE_5_7))
def test_row_of_table_5_7_over_100_seeds(slots):
    test_row_of_table_5_7(slots, seeds=100)
