"""The figures of GPU clusters: the plotted data are those of the runs."""

from collections import Counter
from functools import cache
from math import inf

import pytest
from support import rows_of

import cgrsp_simpy as cg
from cgrsp_simpy.cluster.jobs import Offered
from cgrsp_simpy.papers import ledger
from cgrsp_simpy.papers.cluster import printed, table
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
from cgrsp_simpy.studies.study import Comparison

SMALL = {"seeds": 2, "jobs": 60}


RUNS = Runs(**SMALL)


@cache
def plotted(id):
    return rows_of(FIGURES[id], RUNS)


def test_studies_are_cut_as_printed_and_whole_below_a_load_of_one():
    studies = table.studies([0.5, 1.0], [0], 4, None, ["fifo"])
    assert [*studies] == [(table.CUT, 0.5), (table.CUT, 1.0), (UNCUT, 0.5)]
    assert table.scenario(table.CUT, 0.5, 10).source == Offered(
        jobs=10, load=0.5, warm_up=0, after=0
    )
    assert table.scenario(UNCUT, 0.5, 10).source == Offered(
        jobs=10, load=0.5, warm_up=10, after=80
    )


@pytest.mark.slow
def test_the_index_tables_every_scheduler_and_explains_table_two():
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
    text = FIGURES["metrics"].sentence(rows)
    assert "starved: less under easy, more under none;" in text
    (row,) = where(rows, scheduler="easy")
    column = f"wait_s_more_than_{REFERENCE}"
    assert -row[column] == 1.5 > row[f"{column}_half_width_95"]


# ---- Table II ----


def test_all_schedulers_are_tabled_except_those_for_logs(monkeypatch):
    monkeypatch.setattr(table, "studies", lambda *given: given)
    assert {*cg.cluster.SCHEDULERS} - {*Runs().tabled[-1]} == {"multifactor", "ordered"}
    assert len(RUNS.run("fifo").jobs) == 3 * SMALL["jobs"]


# ---- claims and cells, on made-up runs ----

SEEDS, NAMES = range(5), (*table.STATIC, *table.DYNAMIC)


def made_up(load):
    """Utilisation 100 x load; dynamic schedulers start 3 more jobs per hour, or 30 at
    load 1; of the waits' variance nothing is known.
    """
    rows = [
        {
            "policy": name,
            "seed": seed,
            "throughput_per_h": 20.0
            + seed
            + index
            + (3 if load < 1 else 30) * (name in table.DYNAMIC),
            "utilisation_pct": 100 * load + seed,
            "wait_s": 800.0 + seed,
            "wait_variance_s2": inf,
            "starved": 10.0 - 20.0 * (name in table.DYNAMIC) * (load > 0.5) + index,
            "success_pct": 100.0 if name in table.DYNAMIC else 79.0,  # as printed
        }
        for index, name in enumerate(NAMES)
        for seed in SEEDS
    ]
    return Comparison(cg.cluster.Scenario(), NAMES, rows)


MADE_UP = {(table.CUT, load): made_up(load) for load in (0.45, 0.7, 1.0)}


def test_the_load_of_a_scheduler_gives_its_printed_utilisation():
    loads = {"fifo": 0.45, "hps": 0.7} | dict.fromkeys(["shortest", "shortest-gpu"], 1)
    result = table.closest(MADE_UP)
    assert loads.items() <= result.items()
    rows = table.rows(MADE_UP)
    assert len(rows) == 3 * len(table.PUBLISHED)
    assert {row["scheduler"]: row["load"] for row in rows if row["closest"]} == result
    (fifo,) = where(rows, scheduler="fifo", load=0.7)
    known = {"throughput_per_h": 22.0, "published_throughput_per_h": 12.5}
    assert (known | {"published_wait_s": None}).items() <= fifo.items()


def test_claims_compare_the_groups_and_the_worst_with_the_best():
    """Static ones have 20 to 23 jobs per hour, dynamic ones 24 to 26, and 3 or 30
    more: the means differ by 3.5 and the extremes by 1, and these.
    """
    rows = table.claims(MADE_UP)
    result = {
        (row["load"], kind): (row[kind], row[f"{kind}_holds"])
        for row in where(rows, figure="throughput_per_h")
        for kind in ("mean", "best")
    }
    assert result == {
        (load, kind): (pytest.approx(difference), "yes")
        for load, *both in ((0.45, 6.5, 4.0), (0.7, 6.5, 4.0), (1.0, 33.5, 31.0))
        for kind, difference in zip(("mean", "best"), both)
    }
    starved = {
        row["load"]: (row["mean_holds"], row["best_holds"])
        for row in where(rows, figure="starved")
    }
    assert starved == {0.45: ("no", "no"), 0.7: ("yes", "yes"), 1.0: ("yes", "yes")}
    unknown = where(rows, figure="wait_variance_s2")
    assert {row["mean_holds"] for row in unknown} == {"open"}
    assert [
        table.verdict(rows, figure, kind)
        for figure, kind in (
            ("throughput_per_h", "mean"),
            ("starved", "best"),
            ("wait_variance_s2", "best"),
        )
    ] == [
        (ledger.REPRODUCED, "true at every load"),
        (ledger.DIFFERENT, "true at loads 0.7, 1"),
        (ledger.UNDECIDED, "true at none of the loads"),
    ]


def test_cells_are_judged_at_the_closest_load(monkeypatch):
    monkeypatch.setattr(
        printed,
        "studies",
        lambda *case, **_: {(table.LOADS, range(3)): MADE_UP}[case],
    )
    entries = {(entry.where, entry.statement): entry for entry in printed.simulated(3)}
    hps = entries["Table II", "hps, utilisation_pct"]
    assert (hps.verdict, hps.printed) == (ledger.UNTESTABLE, "78.2")
    assert hps.ours.startswith("72.0 ± ") and "0.7" in hps.reason
    assert entries["Table II", "hps, wait_s"].verdict == ledger.DIFFERENT
    assert ("Table II", "hps, wait_variance_s2") not in entries
    assert [
        entries[cell].ours
        for cell in (("Table II", "pbs, wait_s"), ("Section VI", "sjf, starved"))
    ] == ["802.0 ± 2.0", "11.0 ± 0.0"]
    assert [
        (entry.verdict, entry.ours)
        for name in ("static", "dynamic")
        for entry in [entries["Section VI.B", f"{name} schedulers, jobs completed, %"]]
    ] == [(ledger.REPRODUCED, "79.0 to 79.0"), (ledger.REPRODUCED, "100.0 to 100.0")]
