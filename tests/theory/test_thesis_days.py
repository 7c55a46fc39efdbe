"""The hectic day of the thesis against the long-run means of another simulator, in
standard errors of ours.
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


def z_scores(study, policy, figures, references, rounding=0.0):
    scores = []
    for figure, reference in zip(figures, references):
        values = np.array(study.values(policy, figure))
        beyond = max(0.0, abs(values.mean() - reference) - rounding)
        error = values.std(ddof=1) / math.sqrt(len(values))
        scores.append(beyond / error if beyond else 0.0)
    return scores


def test_hectic_day_with_the_printed_clock_is_not_the_thesis():
    study = cg.compare(cg.day("hectic", clock="printed"), ["fifo", "rh"], range(10))
    assert min(z_scores(study, "fifo", FIGURES[:2], LONG_RUN["fifo"])) > 4
    assert min(z_scores(study, "rh", FIGURES[:2], LONG_RUN["rh"])) > 4


@pytest.mark.long
def test_hectic_day_all_figures_over_100_seeds():
    study = cg.compare(cg.day("hectic"), list(LONG_RUN), range(100))
    far = {
        p: z
        for p, ref in LONG_RUN.items()
        if max(z := z_scores(study, p, FIGURES, ref, rounding=0.005)) > 2.5
    }
    assert not far
