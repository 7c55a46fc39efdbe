"""The data behind the figures of GPU clusters, from runs of our own: for each the rows that are
plotted, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from functools import cached_property
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import paired_difference
from cgrsp_simpy.cluster import table
from cgrsp_simpy.cluster.hybrid import hps_aging
from cgrsp_simpy.cluster.jobs import PAPER_CLUSTER, Floats, Ints
from cgrsp_simpy.cluster.metrics import course as course_of
from cgrsp_simpy.cluster.mix import Offered
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.cluster.schedulers import SCHEDULERS
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.model.checks import check_whole
from cgrsp_simpy.model.table import half
from cgrsp_simpy.plots.lanes import bars
from cgrsp_simpy.studies.compare import Comparison, compare
from cgrsp_simpy.studies.executors import as_they_come

Row = dict[str, Any]
LOAD = 0.9  # of the figures that show one load
WAITS = ("fifo", "sjf", "hps", "pbs", "easy", "conservative")
COURSE = ("fifo", "hps", "easy")
GANTT = ("fifo", "hps", "easy")
GANTT_H = 24.0
BLOCK = ["job", "place", "low", "high", "from_s", "to_s"]  # of a bar
# the paper's classes of GPUs, and the most of each
WIDTHS = {"1": 1.0, "2": 2.0, "4": 4.0, "8": 8.0, "16+": np.inf}
QUANTILES = (5, 25, 50, 75, 95)
SPAN_S = 4 * 3600.0  # over which a time course is averaged
HPS = (300.0, 2.0, 1800.0)  # aging threshold, boost and longest wait, as by default
AGED = ((1, 600.0), (2, 3600.0), (8, 14_400.0))  # jobs whose scores are drawn: GPUs, seconds
FORMS = {"program": "authors' program", "monotone": "monotone, ours"}

# Column -> label, factor to its unit, and whether its axis is logarithmic; UNITS of Table II.
METRICS = {
    "throughput_per_h": ("throughput (jobs/h)", 1.0, False),
    "utilisation_pct": ("utilisation (%)", 1.0, False),
    "starved": ("starved (jobs of {jobs})", 1.0, False),
    "wait_s": ("mean wait (h)", 1 / 3600, True),
    "wait_variance_min2": ("wait variance (1000 min²)", 1e-3, True),
    "fragmentation_pct": ("fragmentation (%)", 1.0, False),
}
# Column -> unit, of those whose least is best.
LEAST = {"starved": "", "wait_s": " s", "wait_variance_min2": " min²"}
UNITS = {
    "throughput_per_h": ("throughput (jobs/h)", 1.0, False),
    "utilisation_pct": ("utilisation (%)", 1.0, False),
    "starved": ("starved (jobs)", 1.0, True),
    "wait_s": ("mean wait (s)", 1.0, True),
    "wait_variance_s2": ("wait variance (min²)", 1 / 3600, True),
}


class Runs:
    """Runs that figures share, each made once. seeds: how many, from 0. jobs: of each run."""

    def __init__(
        self, seeds: int = 10, jobs: int = 1000, executor: Executor | int | None = None
    ) -> None:
        check_whole("seeds", seeds, least=1)
        check_whole("jobs", jobs, least=2)
        self.seeds, self.jobs, self.executor = seeds, jobs, executor
        self._runs: dict[str, Run] = {}

    @cached_property
    def compared(self) -> Comparison:
        """All schedulers at one load."""
        return compare(
            Scenario(Offered(jobs=self.jobs, load=LOAD)),
            tuple(SCHEDULERS),
            range(self.seeds),
            self.executor,
        )

    @cached_property
    def tabled(self) -> dict[float, Comparison]:
        """The paper's schedulers at each load; at LOAD the others as well."""
        others = [load for load in table.LOADS if load != LOAD]
        found = table.studies(others, range(self.seeds), self.jobs, self.executor) | {
            LOAD: self.compared
        }
        return {load: found[load] for load in table.LOADS}

    def run(self, scheduler: str) -> Run:
        """A run of seed 0."""
        if scheduler not in self._runs:
            self._runs[scheduler] = _run(scheduler, self.jobs, 0)
        return self._runs[scheduler]


Rows = Callable[[Runs], list[Row]]


def _run(scheduler: str, jobs: int, seed: int) -> Run:
    run: Run = Scenario(Offered(jobs=jobs, load=LOAD)).run(scheduler, seed)
    return run


# ---- all seeds, one load ----


def metrics(runs: Runs) -> list[Row]:
    """Each scheduler's figures, and what they differ by from the least, paired by seed; with 95 %
    half widths.
    """
    rows, study = [], runs.compared
    means = study.means()
    least = {
        metric: study.values(min(means, key=lambda name: means[name][metric].mean), metric)
        for metric in LEAST
    }
    for name, known in means.items():
        row: Row = {"scheduler": name, "load": LOAD, "jobs": runs.jobs, "seeds": runs.seeds}
        for metric in METRICS:
            row |= {metric: known[metric].mean, half(metric): known[metric].half_width}
        for metric in LEAST:
            more = paired_difference(study.values(name, metric), least[metric])
            row |= {above_least(metric): more.mean, half(above_least(metric)): more.half_width}
        rows.append(row)
    return rows


def above_least(metric: str) -> str:
    """The column of what a figure is more than the least of all schedulers."""
    return f"{metric}_above_least"


def waits(runs: Runs) -> list[Row]:
    """Quantiles of the waits by scheduler and class of GPUs, over the jobs of all seeds."""
    tasks = [(name, runs.jobs, seed) for name in WAITS for seed in range(runs.seeds)]
    found = dict(as_they_come(_waits, dict(enumerate(tasks)), runs.executor))
    rows = []
    for place, name in enumerate(WAITS):
        own = [found[place * runs.seeds + seed] for seed in range(runs.seeds)]
        width, wait_s = (np.concatenate(columns) for columns in zip(*own))
        for number, gpus in enumerate(WIDTHS):
            if len(chosen := wait_s[width == number]):
                quantiles = dict(
                    zip((f"p{q}_s" for q in QUANTILES), np.percentile(chosen, QUANTILES).tolist())
                )
                rows.append(
                    {
                        "scheduler": name,
                        "gpus": gpus,
                        "jobs": len(chosen),
                        **quantiles,
                        "longest_s": float(chosen.max()),
                    }
                )
    return rows


def _waits(task: tuple[str, int, int]) -> tuple[Ints, Floats]:
    """Of each job its class of GPUs, as an index, and its wait."""
    jobs = _run(*task).jobs
    return np.searchsorted(list(WIDTHS.values()), jobs["gpus"]), jobs["start_s"] - jobs["submit_s"]


# ---- one seed ----


def course(runs: Runs) -> list[Row]:
    """Means over spans of four hours of what is busy, waits and is fragmented, by scheduler."""
    rows = []
    for name in COURSE:
        run, columns = runs.run(name), course_of(runs.run(name))
        time_s = columns["time_s"]
        edges_s = np.append(np.arange(0, time_s[-1], SPAN_S), time_s[-1])
        means = [
            _means(time_s, columns[column], edges_s).tolist()
            for column in ("busy", "waiting", "fragmentation")
        ]
        last_h = float(run.jobs["submit_s"][-1]) / 3600
        for from_h, to_h, busy, waiting, fragmented in zip(
            edges_s[:-1] / 3600, edges_s[1:] / 3600, *means
        ):
            row = {
                "scheduler": name,
                "from_h": float(from_h),
                "to_h": float(to_h),
                "last_arrival_h": last_h,
            }
            row |= {"utilisation_pct": 100 * busy / PAPER_CLUSTER.gpus, "waiting": waiting}
            rows.append(row | {"fragmentation_pct": 100 * fragmented})
    return rows


def _means(time_s: Floats, values: Floats, edges_s: Floats) -> Floats:
    """Means, between the edges, of what holds from each time to the next, and is 0
    before the first.
    """
    total = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(time_s))])
    return np.asarray(np.diff(np.interp(edges_s, time_s, total)) / np.diff(edges_s))


def gantt(runs: Runs) -> list[Row]:
    """Where jobs run in the day that begins halfway through the arrivals; a row a block of
    neighbouring GPUs on a node.
    """
    rows = []
    for name in GANTT:
        run, sizes = runs.run(name), PAPER_CLUSTER.sizes
        begin_h = float(np.floor(run.jobs["submit_s"][-1] / 7200))
        first = np.cumsum([0, *sizes]).tolist()
        for job, node, low, high, from_s, to_s in bars(run.timeline)[BLOCK].tolist():
            if from_s < 3600 * (begin_h + GANTT_H) and to_s > 3600 * begin_h:
                row = {
                    "scheduler": name,
                    "begin_h": begin_h,
                    "job": job,
                    "job_gpus": int(run.jobs["gpus"][job]),
                }
                row |= {
                    "gpu": first[node] + round(low * sizes[node]),
                    "gpus": round((high - low) * sizes[node]),
                }
                rows.append({**row, "start_h": from_s / 3600, "finish_h": to_s / 3600})
    return rows


# ---- HPS ----


def aging(runs: Runs) -> list[Row]:  # noqa: ARG001, as of every figure
    """Aging and score of jobs by what they have waited, in the authors' form and in the
    monotone one, ours.
    """
    wait_s = np.sort(np.append(np.arange(0.0, 2401.0, 30.0), np.nextafter(HPS[0], np.inf)))
    return [
        {
            "form": form,
            "gpus": gpus,
            "time_s": time_s,
            "wait_s": wait,
            "aging": factor,
            "score": factor * fresh,
        }
        for form in FORMS
        for gpus, time_s in AGED
        for fresh in [1 / (1 + time_s / 3600) / (1 + gpus / 4)]
        for wait, factor in zip(
            wait_s.tolist(), hps_aging(wait_s, *HPS, form == "monotone").tolist()
        )
    ]


# ---- Table II ----


def table_two(runs: Runs) -> list[Row]:
    """Table II over loads, published beside reproduced."""
    return table.rows(runs.tabled)


def claims(runs: Runs) -> list[Row]:
    """Dynamic minus static over loads, with 95 % half widths."""
    return table.claims(runs.tabled)
