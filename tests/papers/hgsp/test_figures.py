"""The figures of HGSP: what is plotted is what `solve` and the rows say."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support import rows_of

from cgrsp_simpy.analysis.statistics import paired_difference
from cgrsp_simpy.hgsp.generate import LEVELS, generate
from cgrsp_simpy.hgsp.scenario import solve
from cgrsp_simpy.papers.hgsp.figures import (
    COMPARED,
    FIGURES,
    UTILISED,
    Runs,
)
from cgrsp_simpy.plots.figure import numbers, where

SMALL = {"instances": 2, "moves": 2000}
TASKS = {"tasks1": 400, "tasks2": 150, "tasks3": 80, "tasks4": 80}


RUNS = Runs(**SMALL)


@cache
def plotted(id):
    return rows_of(FIGURES[id], RUNS)


@cache
def solved(level, name, seed=0):
    return solve(generate(level, seed), name, seed=seed, moves=SMALL["moves"])


@pytest.fixture(scope="module", autouse=True)
def fewer_tasks():
    """Levels of the same load, sooner done."""
    with pytest.MonkeyPatch.context() as patch:
        for level, tasks in TASKS.items():
            patch.setitem(LEVELS, level, replace(LEVELS[level], tasks=tasks))
        yield
    plotted.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("level", "name"),
    [
        ("tasks1", "edd"),
        ("tasks2", "greedy"),
        ("tasks3", "sagreedy"),
        ("tasks3", "search"),
    ],
)
def test_table_one_is_the_mean_of_what_solve_gives(level, name):
    (row,) = where(plotted("table1"), level=level, scheduler=name)
    found = [solved(level, name, seed).summary() for seed in range(SMALL["instances"])]
    assert (
        ("gap_pct" not in row)
        == any(np.isnan(each["gap_pct"]) for each in found)
        == (level in ("tasks1", "tasks2"))
    )
    metrics = (
        "weighted_tardiness",
        "dmr_pct",
        "utilisation_pct",
        "lower_bound",
        "gap_pct",
    )
    for metric in (metric for metric in metrics if metric in row):
        values = np.array([each[metric] for each in found])
        assert row[metric] == pytest.approx(values.mean())
        student_t = 12.7062  # of two instances, 95 %
        assert row[f"{metric}_half_width_95"] == pytest.approx(
            student_t * values.std(ddof=1) / 2**0.5, rel=1e-4, abs=1e-9
        )


@pytest.mark.slow
def test_the_claim_at_medium_load_is_judged_beside_its_print():
    """By the paired difference from Greedy on the same instances, which decides what is
    said.
    """
    line = FIGURES["table1"].seen(plotted("table1"))
    assert "printed are 393 for 503" in line
    pairs = [
        [
            solved("tasks1", name, seed).summary()["weighted_tardiness"]
            for name in ("sagreedy", "greedy")
        ]
        for seed in (0, 1)
    ]
    difference = paired_difference(*zip(*pairs))
    better, worse = difference.high < 0, difference.low >= 0
    verdict = "holds" if better else "fails" if worse else "is not shown"
    assert f"it {verdict} (" in line
    assert (
        f"difference {difference.mean:,.0f} ± {difference.half_width:,.0f} s)" in line
    )


@pytest.mark.slow
def test_busy_shares_are_the_metrics_utilisation_by_model():
    """Three GPUs of three models: the mean over the models is Eq. 12."""
    table = [row for row in plotted("table1") if row["level"] in UTILISED]
    assert len(table) == 2 * len(COMPARED)
    for row in table:
        own = where(
            plotted("utilisation"), level=row["level"], scheduler=row["scheduler"]
        )
        assert np.mean(numbers(own, "busy_pct")) == pytest.approx(
            row["utilisation_pct"]
        )
