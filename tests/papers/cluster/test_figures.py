"""The figures of GPU clusters: what is plotted is what the runs say."""

import inspect
from collections import Counter
from functools import cache
from itertools import pairwise

import matplotlib.colors
import numpy as np
import pytest
from support import canvas_of, placed, rows_of, waited

from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER, Cluster
from cgrsp_simpy.cluster.jobs import Jobs
from cgrsp_simpy.cluster.metrics import measured, metrics
from cgrsp_simpy.cluster.policies import SCHEDULERS, hps, make_scheduler
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.papers.cluster import table
from cgrsp_simpy.papers.cluster.figures import (
    AGED,
    COURSE,
    FIGURES,
    GANTT,
    GANTT_H,
    HOLDS,
    HPS,
    METRICS,
    REFERENCE,
    SHAPES,
    SPAN_S,
    UNITS,
    WAITS,
    WIDTH_COLOURS,
    WIDTHS,
    spread,
)
from cgrsp_simpy.papers.cluster.table import (
    CLAIMS,
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
from cgrsp_simpy.plots.style import LOOKS
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


def test_a_difference_outside_the_axes_is_written_at_the_edge():
    known = {"fifo": [9000, 9100], "hps": [3, 6], "easy": [2, 4]}
    rows = of_made_up_runs(known)
    for ax, (metric, (label, unit)) in zip(
        canvas_of(FIGURES["metrics"], rows).axes, METRICS.items(), strict=True
    ):
        assert ax.get_xlabel() == label
        at = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
        column = f"{metric}_more_than_{REFERENCE}"
        assert at == pytest.approx([row[column] * unit for row in rows[1:]])
        [text] = [text.get_text() for text in ax.texts]
        values = rows[0][column] * unit, rows[0][f"{column}_half_width_95"] * unit
        assert text == f"{spread(*values)} \N{RIGHTWARDS ARROW}"


@pytest.mark.slow
def test_a_line_ends_at_the_highest_load_not_shown_to_be_unstable():
    rows = plotted("loads")
    assert {row["load"] for row in rows} == {load for load in LOADS if load < 1}
    (row,) = where(rows, scheduler="hps", load=0.7)
    values = [metrics(outcome("hps", seed))["wait_s"] for seed in range(2)]
    assert row["wait_s"] == pytest.approx(np.mean(values))
    rows = [
        {"scheduler": name, "load": load, "wait_s": wait_s, "wait_s_half_width_95": 1.0}
        for name in SCHEDULERS
        for load, wait_s in ((0.6, 3600.0), (0.7, np.inf if name == "hps" else 7200.0))
    ]
    ends = {
        line.get_color(): line.get_xdata()
        for line in canvas_of(FIGURES["loads"], rows).axes[0].lines
    }
    assert {name: len(ends[LOOKS[name].colour]) for name in ("hps", "easy")} == {
        "hps": 1,
        "easy": 2,
    }
    told = FIGURES["loads"].seen(rows)
    assert told.endswith("up to 0.6 hps.") and "up to 0.7 fifo, fifo-skip, sjf" in told


@pytest.mark.slow
def test_waits_are_quantiles_over_the_jobs_of_all_seeds():
    rows = plotted("waits")
    assert {row["scheduler"] for row in rows} == set(WAITS)
    for row in rows:
        runs = [outcome(row["scheduler"], seed) for seed in range(2)]
        fits = {"1": (1,), "2": (2,), "4": (4,), "8": (8,), "16+": (16, 24, 32)}[
            row["gpus"]
        ]
        own = [jobs[np.isin(jobs["gpus"], fits)] for jobs in map(measured, runs)]
        wait_s = np.concatenate([jobs["start_s"] - jobs["submit_s"] for jobs in own])
        assert row["jobs"] == len(wait_s)
        assert row["p50_s"] == pytest.approx(np.median(wait_s))
        assert row["p95_s"] == pytest.approx(np.percentile(wait_s, 95))
        assert row["longest_s"] == wait_s.max()
    assert Counter(row["scheduler"] for row in rows)["hps"] == len(WIDTHS)


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


@pytest.mark.slow
def test_the_gantt_chart_gives_each_job_its_gpus_and_no_gpu_to_two():
    rows = plotted("gantt")
    for name in GANTT:
        run, own = single(name), [row for row in rows if row["scheduler"] == name]
        begin_s = 3600 * own[0]["begin_h"]
        there = np.flatnonzero(
            (run.jobs["start_s"] < begin_s + 3600 * GANTT_H)
            & (run.jobs["finish_s"] > begin_s)
        )
        blocks = {job: [row for row in own if row["job"] == job] for job in there}
        assert sum(map(len, blocks.values())) == len(own)
        for job, mine in blocks.items():
            gpus = np.concatenate(
                [np.arange(row["gpu"], row["gpu"] + row["gpus"]) for row in mine]
            ).astype(int)
            # nodes of 8 GPUs
            assert Counter((gpus // 8).tolist()) == dict(placed(run)[job])
            times_h = np.unique(
                [(row["start_h"], row["finish_h"]) for row in mine], axis=0
            )
            assert times_h * 3600 == pytest.approx(
                np.array([[run.jobs["start_s"][job], run.jobs["finish_s"][job]]])
            )
        for gpu in range(PAPER_CLUSTER.gpus):
            spans = sorted(
                (row["start_h"], row["finish_h"])
                for row in own
                if row["gpu"] <= gpu < row["gpu"] + row["gpus"]
            )
            assert all(before[1] <= after[0] for before, after in pairwise(spans))


@pytest.mark.slow
def test_blocks_have_the_colour_of_the_jobs_gpus():
    rows = plotted("gantt")
    ax = canvas_of(FIGURES["gantt"], rows).axes[0]
    own = [row for row in rows if row["scheduler"] == GANTT[0]]
    for block, row in zip(ax.patches, own, strict=True):
        colour = WIDTH_COLOURS[
            (
                ["1", "2", "4", "8"].index(f"{row['job_gpus']:g}")
                if row["job_gpus"] <= 8
                else 4
            )
        ]
        assert matplotlib.colors.to_hex(block.get_facecolor()) == colour
        assert (block.get_y(), block.get_height()) == (row["gpu"], row["gpus"])


# ---- HPS ----


@pytest.mark.slow
def test_the_program_s_aging_drops_just_past_the_threshold_and_the_monotone_one_never():
    by_default = [each.default for each in inspect.signature(hps).parameters.values()]
    assert tuple(by_default[:3]) == HPS
    rows = plotted("aging")
    factor = {(row["form"], row["wait_s"]): row["aging"] for row in rows}
    assert (
        factor["program", 300.0],
        factor["program", 900.0],
        factor["program", 1800.0],
    ) == (
        1.0,
        1.0,
        2.0,
    )
    just_past = np.nextafter(300.0, np.inf)
    assert factor["program", just_past] == pytest.approx(1 / 3)
    assert factor["monotone", just_past] == pytest.approx(1.0)
    for gpus, _ in AGED:
        own = [
            row["score"]
            for row in rows
            if (row["form"], row["gpus"]) == ("monotone", gpus)
        ]
        assert (np.diff(own) >= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "text"), [("program", "hps"), ("monotone", "hps:monotone=true")]
)
def test_the_scores_are_those_by_which_hps_starts_jobs(form, text):
    """All jobs of the figure wait together, and there is room for all: the scheduler
    starts them by their scores.
    """
    rows = [
        row
        for row in plotted("aging")
        if row["form"] == form and row["wait_s"] % 30 == 0
    ]
    wait_s, gpus, time_s, score = (
        np.array([row[name] for row in rows])
        for name in ("wait_s", "gpus", "time_s", "score")
    )
    rest = {name: np.zeros(len(rows)) for name in ("kind", "family", "user")}
    jobs = Jobs(3000 - wait_s, gpus, time_s, time_s, np.ones(len(rows)), **rest)
    by_arrival = score[np.argsort(-wait_s, kind="stable")]
    view = Scenario(jobs, Cluster((10_000,))).moment(3000.0)
    started = by_arrival[[job for job, _ in make_scheduler(text)(view)]]
    assert len(started) == len(rows)
    assert (np.diff(started) < 1e-12).all()


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
def test_published_values_are_hollow_and_ours_are_filled_at_the_load_that_is_closest():
    rows = plotted("table2")
    canvas = canvas_of(FIGURES["table2"], rows)
    near = [row for row in rows if row["closest"]]
    assert {row["scheduler"] for row in near} == set(PUBLISHED)
    for ax, (figure, (_, unit, _)) in zip(canvas.axes, UNITS.items()):
        hollow = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
        assert [line.get_xdata()[0] for line in hollow] == [
            known[figure] for known in PUBLISHED.values() if figure in known
        ]
        for setting, shape in SHAPES.items():
            at = [
                line.get_xdata()[0] for line in ax.lines if line.get_marker() == shape
            ]
            assert at == pytest.approx(
                [
                    row[figure] * unit
                    for row in near
                    if row["setting"] == setting and np.isfinite(row[figure])
                ]
            )


@pytest.mark.slow
def test_claims_are_coloured_by_whether_they_hold():
    rows = plotted("claims")
    loads = sorted({row["load"] for row in rows})
    for ax, setting in zip(
        canvas_of(FIGURES["claims"], rows).axes, (CUT, UNCUT), strict=True
    ):
        found = {
            (line.get_ydata()[0], line.get_xdata()[0]): line.get_color()
            for line in ax.lines
            if line.get_marker() in "osX"
        }
        assert found == {
            (
                2 * list(CLAIMS).index(row["figure"]) + (kind == "best"),
                loads.index(row["load"]),
            ): HOLDS[row[f"{kind}_holds"]][0]
            for row in rows
            if row["setting"] == setting
            for kind in ("mean", "best")
        }


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


@pytest.mark.slow
def test_runs_in_which_no_job_waits_can_be_drawn():
    rows = FIGURES["metrics"].rows(Runs(seeds=1, jobs=2))
    column = f"wait_s_more_than_{REFERENCE}"
    for value in (0.0, np.inf):
        assert canvas_of(FIGURES["metrics"], [{**row, column: value} for row in rows])
