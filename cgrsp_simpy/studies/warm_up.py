"""Warm-up length of a steady-state simulation, estimated from pilot runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import MSER_BATCH, mser5
from cgrsp_simpy.base.checks import InputError, check_one_of, check_whole, require
from cgrsp_simpy.base.timeline import averages
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.studies.function import FunctionRun
from cgrsp_simpy.studies.replicate import (
    check_seeds,
    checked_model,
    simulate_for_study,
)
from cgrsp_simpy.studies.subject import subject_of

# series with one value per entity; others are levels, which hold until the next time
OBSERVED = ("wait", "response", "value")
COLUMNS = {"wait": "start_s", "response": "finish_s"}  # end times of a cg.Model


@dataclass(frozen=True, eq=False)
class WarmUp:
    """A suggested warm-up, and the pilot runs that it is based on.

    time: end of the transient, in the model's unit of time. figure: the observed
    series, such as "desk queue". seeds: number of pilot runs. times, means: ends of
    equal time intervals, and the mean over the pilot runs in each interval.
    """

    time: float
    figure: str
    seeds: int
    times: np.ndarray[Any, Any] = field(repr=False)
    means: np.ndarray[Any, Any] = field(repr=False)


def warm_up_time(
    scenario: Model | Callable[..., Any],
    policy: Any = None,
    *,
    monitor: str | None = None,
    what: str = "wait",
    seeds: Iterable[int] = range(10),
    spans: int = 200,
) -> WarmUp:
    """Suggest a warm-up by MSER-5, from the mean over pilot runs per time interval.

    scenario, policy: as in `simulate`; a warm-up that the function sets is ignored.
    monitor: for a function, the name of the observed monitor; default: the only
    monitor. what: as in `FunctionRun.series` ("wait", "queue", "level", "value" ...);
    for a cg.Model "wait", by start time, or "response", by completion time. seeds:
    seeds of the pilot runs; five or more are advisable. spans: number of time
    intervals, at least 15. Raises InputError for an unknown monitor or series, an
    interval without observations, or runs of less than twice the transient.
    """
    check_whole("spans", spans, least=3 * MSER_BATCH)
    model, seeds = checked_model(scenario), check_seeds(seeds)
    if policy is None:
        policy = subject_of(model).default_policies()[0]
    pilots = [
        _pilot(simulate_for_study(model, policy, seed), monitor, what) for seed in seeds
    ]
    end = min(last for _, _, last in pilots)
    if not end > 0:
        raise InputError(f"a pilot run of {model.name} ended at time 0")
    edges = np.linspace(0, end, spans + 1)
    rows = np.array(
        [_per_span(times, values, edges, what) for times, values, _ in pilots]
    )
    require(
        not np.isnan(rows).all(axis=0).any(),
        "spans",
        spans,
        "few enough that each has an observation in some run",
    )
    means = np.nanmean(rows, axis=0)
    deleted = mser5(means)
    # the last that MSER-5 may find
    if 2 * deleted >= (spans // MSER_BATCH - 2) * MSER_BATCH:
        raise InputError(
            f"the warm-up lasts longer than half of the pilot runs, which end at"
            f" {end:g}; simulate a longer time"
        )
    figure = " ".join(filter(None, [monitor, what]))
    return WarmUp(float(edges[deleted]), figure, len(seeds), edges[1:], means)


def _pilot(run: Any, monitor: str | None, what: str) -> tuple[Any, Any, float]:
    """Return the times and values that a pilot run observed, and its end time."""
    if isinstance(run, FunctionRun):
        names = list(run.plan.series)
        if not names:
            raise InputError(
                f"model {run.scenario.name} has no monitor to observe, such as a"
                " cg.Resource or cg.Monitor"
            )
        require(
            monitor is not None or len(names) == 1,
            "monitor",
            monitor,
            f"one of {names}",
        )
        end = run.plan.end_s / run.scenario.declaration.unit_s
        return (*run.series(monitor or names[0], what), end)
    require(monitor is None, "monitor", monitor, "omitted for a cg.Model")
    jobs = run.jobs[np.isfinite(run.jobs["start_s"])]
    check_one_of("series of a cg.Model", what, COLUMNS)
    times = jobs[COLUMNS[what]]
    order = np.argsort(times, kind="stable")
    return times[order], (times - jobs["submit_s"])[order], float(times.max(initial=0))


def _per_span(times: Any, values: Any, edges: Any, what: str) -> np.ndarray[Any, Any]:
    """Return the mean of the observations, or the time average, between the edges."""
    if what in OBSERVED:
        number, _ = np.histogram(times, edges)
        total, _ = np.histogram(times, edges, weights=values)
        number = np.where(number > 0, number, np.nan)
        return np.asarray(total / number)
    return averages(times, values, edges)
