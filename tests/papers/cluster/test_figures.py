"""The figures of GPU clusters: what is plotted is what the runs say."""

from collections import Counter
from functools import cache

import pytest
from support import rows_of

import cgrsp_simpy as cg
from cgrsp_simpy.papers.cluster import table
from cgrsp_simpy.papers.cluster.figures import (
    FIGURES,
    METRICS,
    REFERENCE,
)
from cgrsp_simpy.papers.cluster.table import (
    LOAD,
    UNCUT,
    Runs,
)
from cgrsp_simpy.plots.figure import where
from cgrsp_simpy.studies.compare import Comparison

SMALL = {"seeds": 2, "jobs": 60}


RUNS = Runs(**SMALL)


@cache
def plotted(id):
    return rows_of(FIGURES[id], RUNS)


@pytest.mark.slow
def test_the_index_tables_every_scheduler_and_says_what_table_two_cannot_be():
    index = "\n".join(FIGURES[id].table(plotted(id)) for id in ("metrics", "table2"))
    names = Counter(
        line.split(" | ")[0][2:] for line in index.splitlines() if line.startswith("| ")
    )
    near = Counter(row["scheduler"] for row in where(plotted("table2"), closest=True))
    assert {name: names[name] for name in cg.cluster.SCHEDULERS} == {
        name: 1 + near[name] - (name in ("multifactor", "ordered"))
        for name in cg.cluster.SCHEDULERS
    }
    assert "78.2 % of 64 GPUs allow at most 14.1 jobs per hour" in index


# ---- all seeds, one load ----


def of_made_up_runs(known):
    """Rows of the metrics of schedulers whose metrics all have these values by seed."""
    rows = [
        {"policy": name, "seed": seed, **dict.fromkeys(METRICS, value)}
        for name, values in known.items()
        for seed, value in enumerate(values)
    ]
    runs = Runs(seeds=4, jobs=60)
    runs.tabled = {(UNCUT, LOAD): Comparison(cg.cluster.Scenario(), known, rows)}
    return FIGURES["metrics"].rows(runs)


def test_paired_differences_decide_which_schedulers_differ():
    """Intervals of all overlap; at each seed easy has less than hps."""
    known = {"fifo": [11, 4, 6, 8], "hps": [3, 6, 7, 10], "easy": [2, 4, 6, 8]}
    rows = of_made_up_runs(known)
    text = FIGURES["metrics"].seen(rows)
    assert "starved: less under easy, more under none;" in text
    (row,) = where(rows, scheduler="easy")
    column = f"wait_s_more_than_{REFERENCE}"
    assert -row[column] == 1.5 > row[f"{column}_half_width_95"]


# ---- Table II ----


def test_all_schedulers_are_tabled_except_those_for_logs(monkeypatch):
    monkeypatch.setattr(table, "studies", lambda *given: given)
    assert {*cg.cluster.SCHEDULERS} - {*Runs().tabled[-1]} == {"multifactor", "ordered"}
