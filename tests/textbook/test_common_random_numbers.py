"""Common random numbers in the textbook models: the half width of a paired difference
over that of independent runs.
"""

import math

import numpy as np
import pytest
from scipy import stats
from textbook.models import NAMES, SMALL, model

import cgrsp_simpy as cg

SEEDS = range(9000, 9020)
QUICK = ("mmc", "tandem")  # the others: pytest -m slow
# Both alternatives meet the same arrivals and works, and the figure is monotone in
# them: a seed that is busy for one is busy for the other, and about as much.
HALVED = {
    "balking": ({}, {"places": 3}, "balked_pct"),
    "bank": ({}, {"work": 95.0}, "plain"),
    "emergency_ward": ({}, {"works": (24.0, 14.5, 9.5)}, "minor"),
    # the same orders at the same times: with another `low`, cycles drift apart
    "inventory": ({}, {"lead": 4.8}, "stock_immediate_pct"),
    "job_shop": ({}, {"machines": (4, 2, 4, 3, 1)}, "response"),
    "machine_repair": ({}, {"repair": 4.5}, "crew_wait"),
    "mmc": ({}, {"work": 95.0}, "desk_wait"),
    "reneging": ({}, {"patience": 100.0}, "desk_withdrawn_pct"),
    "tandem": ({}, {"places": 3}, "throughput"),
    "traffic_light": ({}, {"gap": 6.6}, "wait"),
}


def cases(names):
    """Return a case per model, all but a few marked as slow."""
    return [
        pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow)
        for name in names
    ]


def values_of(name, first, second, figure):
    alternatives = {"first": first, "second": second}
    study = cg.compare(model(name, **SMALL[name]), alternatives, seeds=SEEDS)
    return [np.array(study.values(policy, figure)) for policy in alternatives]


def half_widths(first, second):
    """Return the half width of the paired and of the independent 95 % interval."""
    n = len(first)
    independent = math.sqrt((first.var(ddof=1) + second.var(ddof=1)) / n)
    return (
        stats.t.ppf(0.975, n - 1) * (second - first).std(ddof=1) / math.sqrt(n),
        stats.t.ppf(0.975, 2 * n - 2) * independent,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", cases(HALVED))
def test_common_random_numbers_halve_the_interval(name):
    paired, independent = half_widths(*values_of(name, *HALVED[name]))
    assert paired <= independent / 2, paired / independent


def test_every_model_has_its_comparison():
    assert set(HALVED) == set(NAMES)
