"""The figures of GPU clusters: what is plotted is what the runs say."""

from collections import Counter
from functools import cache

import numpy as np
import pytest
from support import rows_of, waited

from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER
from cgrsp_simpy.cluster.policies import SCHEDULERS
from cgrsp_simpy.cluster.report import metrics
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.papers.cluster import table
from cgrsp_simpy.papers.cluster.figures import (
    COURSE,
    FIGURES,
    METRICS,
    REFERENCE,
    SPAN_S,
    UNITS,
)
from cgrsp_simpy.papers.cluster.table import (
    CUT,
    DYNAMIC,
    FULL,
    LOAD,
    LOADS,
    PUBLISHED,
    STATIC,
    UNCUT,
    Runs,
    scenario,
)
from cgrsp_simpy.plots.figure import where
from cgrsp_simpy.studies.compare import Comparison
from cgrsp_simpy.studies.subject import subject_of

SMALL = {"seeds": 2, "jobs": 60}


RUNS = Runs(**SMALL)


@cache
def plotted(id):
    return rows_of(FIGURES[id], RUNS)


@cache
def outcome(scheduler, seed=0, load=LOAD, setting=UNCUT):
    return subject_of(scenario(setting, load, SMALL["jobs"])).run(scheduler, seed)


def single(scheduler):
    """The run of the figures of one run."""
    return subject_of(scenario(CUT, FULL, 3 * SMALL["jobs"])).run(scheduler)


@pytest.fixture(scope="module", autouse=True)
def forgotten():
    yield
    plotted.cache_clear()
    outcome.cache_clear()


@pytest.mark.slow
def test_the_index_tables_every_scheduler_and_says_what_table_two_cannot_be():
    index = "\n".join(FIGURES[id].table(plotted(id)) for id in ("metrics", "table2"))
    names = Counter(
        line.split(" | ")[0][2:] for line in index.splitlines() if line.startswith("| ")
    )
    near = Counter(row["scheduler"] for row in where(plotted("table2"), closest=True))
    assert {name: names[name] for name in SCHEDULERS} == {
        name: 1 + near[name] - (name in ("multifactor", "ordered"))
        for name in SCHEDULERS
    }
    assert "78.2 % of 64 GPUs allow at most 14.1 jobs per hour" in index


# ---- all seeds, one load ----


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fifo", "hps", "easy", "las"])
def test_the_metrics_are_means_and_paired_differences_of_the_runs(name):
    (row,) = where(plotted("metrics"), scheduler=name)
    runs, others = (
        [metrics(outcome(each, seed)) for seed in range(2)]
        for each in (name, REFERENCE)
    )
    for metric in METRICS:
        values = np.array([run[metric] for run in runs])
        differences = values - [run[metric] for run in others]
        assert row[metric] == pytest.approx(values.mean())
        column = f"{metric}_more_than_{REFERENCE}"
        assert row[column] == pytest.approx(differences.mean())
        student_t = 12.7062  # of two seeds, 95 %
        assert row[f"{column}_half_width_95"] == pytest.approx(
            student_t * differences.std(ddof=1) / 2**0.5, rel=1e-4
        )


def of_made_up_runs(known):
    """Rows of the metrics of schedulers whose metrics all have these values by seed."""
    rows = [
        {"policy": name, "seed": seed, **dict.fromkeys(METRICS, value)}
        for name, values in known.items()
        for seed, value in enumerate(values)
    ]
    runs = Runs(seeds=4, jobs=60)
    runs.tabled = {(UNCUT, LOAD): Comparison(Scenario(), known, rows)}
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


# ---- one run ----


@pytest.mark.slow
def test_the_course_holds_the_work_and_the_waits_of_all_jobs():
    """GPU-seconds of the jobs are the area below the utilisation, their work times
    their waits that below the work that waits (Little).
    """
    rows = plotted("course")
    for name in COURSE:
        own, run = [row for row in rows if row["scheduler"] == name], single(name)
        span_s = 3600 * np.array([row["to_h"] - row["from_h"] for row in own])
        busy = (
            np.array([row["utilisation_pct"] for row in own]) / 100 * PAPER_CLUSTER.gpus
        )
        assert busy @ span_s == pytest.approx(run.jobs["gpus"] @ run.jobs["duration_s"])
        work_h = run.jobs["gpus"] * run.jobs["duration_s"] / 3600 / PAPER_CLUSTER.gpus
        waiting_h = np.array([row["waiting_h"] for row in own])
        assert waiting_h @ span_s == pytest.approx(work_h @ waited(run))
        assert span_s[:-1] == pytest.approx(SPAN_S)
        assert own[-1]["to_h"] == pytest.approx(run.jobs["finish_s"].max() / 3600)


# ---- HPS ----


# ---- Table II ----


@pytest.mark.slow
def test_table_two_has_published_and_reproduced_values_at_every_load():
    rows = plotted("table2")
    assert Counter(
        (row["scheduler"], row["setting"], row["load"]) for row in rows
    ) == Counter(
        (name, setting, load)
        for name in PUBLISHED
        for setting in (CUT, UNCUT)
        for load in LOADS
        if setting == CUT or load < 1
    )
    for row in rows:
        assert {figure: row[f"published_{figure}"] for figure in UNITS} == {
            figure: PUBLISHED[row["scheduler"]].get(figure) for figure in UNITS
        }
    for setting in (CUT, UNCUT):
        own = next(
            row
            for row in rows
            if (row["scheduler"], row["setting"], row["load"]) == ("pbs", setting, LOAD)
        )
        values = [
            metrics(outcome("pbs", seed, LOAD, setting))["wait_s"] for seed in range(2)
        ]
        assert own["wait_s"] == pytest.approx(np.mean(values))


@pytest.mark.slow
@pytest.mark.parametrize("setting", [CUT, UNCUT])
def test_a_claim_is_dynamic_minus_static(setting):
    (row,) = (
        row
        for row in plotted("claims")
        if (row["figure"], row["setting"], row["load"]) == ("starved", setting, LOAD)
    )
    found = {
        name: [
            metrics(outcome(name, seed, LOAD, setting))["starved"] for seed in range(2)
        ]
        for name in STATIC + DYNAMIC
    }
    means = [np.mean([found[name] for name in group]) for group in (DYNAMIC, STATIC)]
    assert row["mean"] == pytest.approx(means[0] - means[1])
    worst = np.max([found[name] for name in DYNAMIC], axis=0)
    best = np.min([found[name] for name in STATIC], axis=0)
    assert row["best"] == pytest.approx(np.mean(worst - best))


def test_all_schedulers_are_tabled_except_those_for_logs(monkeypatch):
    monkeypatch.setattr(table, "studies", lambda *given: given)
    assert {*SCHEDULERS} - {*Runs().tabled[-1]} == {"multifactor", "ordered"}
