"""Protocols of the studies that plots accept, and axis labels of their metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.base.checks import check_one_of, require
from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.base.timeline import Timed, Timeline, check_run
from cgrsp_simpy.engine.run import Run

PARAMETERS = {
    "name": "day",
    "tight_fraction": "share of tight deadlines",
    "rate_per_s": "arrivals per second",
    "load": "offered load",
}

Drawn = Timed | Timeline  # a run, or its timeline
AnyRun = TypeVar("AnyRun", bound=Drawn)


class Study(Protocol):
    """Metrics of policies on the same seeds, such as a `Comparison`."""

    @property
    def title(self) -> str:
        """Subject of the study."""

    @property
    def policies(self) -> list[str]:
        """Names of the policies, in order."""

    @property
    def seeds(self) -> list[int]:
        """Seeds, one per replication."""

    def means(self) -> dict[str, dict[str, Mean]]:
        """Policy -> metric -> mean with its 95 % interval."""

    def differences(self) -> dict[str, dict[str, Mean]]:
        """Policy -> metric -> mean paired difference from the first policy."""


class Sweep(Protocol):
    """Studies at the points of a grid."""

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Study]]:
        """Iterate over pairs of the varied parameters, name -> value, and the study."""


def axis(name: str, metrics: Mapping[str, Metric] = {}) -> str:
    """Return the axis label of a metric or parameter, with its unit if known."""
    return str(metrics.get(name, PARAMETERS.get(name, name)))


def metrics_of(study: Any) -> Mapping[str, Metric]:
    """Return the metrics of a study, if it has any."""
    return getattr(study, "metrics", {})


def replications(study: Study) -> str:
    """Describe the number of replications and, if there are several, the intervals."""
    seeds = len(study.seeds)
    n = getattr(study, "n", seeds)  # fewer if seeds are not independent
    text = (
        f"mean of {seeds} seeds{f' (n = {n})' * (n < seeds)}" if seeds > 1 else "1 seed"
    )
    return f"{text} with 95 % interval" if n > 1 else text


def values_of(
    study: Study, metric: str, among: Iterable[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return means and half widths of a metric per policy, in order; NaN if missing.

    among: allowed metrics; default: those of the study. Raises InputError for another.
    """
    require(hasattr(study, "means"), "study", study, "a study, such as cg.compare(...)")
    means = study.means()
    check_one_of(
        "metric",
        metric,
        among or dict.fromkeys(name for row in means.values() for name in row),
    )
    values = [means[policy].get(metric) for policy in study.policies]
    pairs = [
        (value.mean, value.half_width) if value else (np.nan, np.nan)
        for value in values
    ]
    return np.array([mean for mean, _ in pairs]), np.array([half for _, half in pairs])


def time_unit(span_s: float) -> tuple[float, str]:
    """Return the best unit for a time span, as its length in seconds and its name."""
    if span_s >= 3 * 3600:
        return 3600.0, "h"
    return (60.0, "min") if span_s >= 600 else (1.0, "s")


def runs_of(runs: AnyRun | Iterable[AnyRun]) -> list[AnyRun]:
    """Return one or several runs as a list; raise InputError for anything else."""
    listed = list(runs) if isinstance(runs, Iterable) else [runs]
    require(len(listed) > 0, "runs", listed, "at least one run")
    for run in listed:
        check_run(run)
    return listed


def named(runs: Sequence[Drawn], policies: Iterable[str]) -> list[str]:
    """Return names for runs: their policies, with scenario and seed if needed."""
    names = [policy or "run" for policy in policies]
    for text in (
        "{run.policy}, seed {run.seed}",
        "{run.scenario.name}, {run.policy}, seed {run.seed}",
    ):
        often = Counter(names)
        names = [
            text.format(run=run) if often[name] > 1 and isinstance(run, Run) else name
            for name, run in zip(names, runs)
        ]
    often = Counter(names)
    return [
        f"{name} ({names[:place].count(name) + 1})" if often[name] > 1 else name
        for place, name in enumerate(names)
    ]
