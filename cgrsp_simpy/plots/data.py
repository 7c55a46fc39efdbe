"""What the plots take: studies by their structure, and the names that figures bear on
an axis.
"""

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
    """Figures of policies on the same seeds, such as `Comparison` and `Month`."""

    @property
    def title(self) -> str:
        """What was studied."""

    @property
    def policies(self) -> list[str]:
        """The policies in order."""

    @property
    def seeds(self) -> list[int]:
        """The seeds, one a replication."""

    def means(self) -> dict[str, dict[str, Mean]]:
        """Policy -> figure -> mean with its 95 % interval."""

    def differences(self) -> dict[str, dict[str, Mean]]:
        """Policy -> figure -> mean of the paired differences from the first policy."""


class Sweep(Protocol):
    """Studies at the points of a grid."""

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Study]]:
        """Pairs of what varies, name -> value, and the study there."""


class Month(Protocol):
    """Days, each a run of its own."""

    @property
    def days(self) -> list[dict[str, Any]]:
        """One dict a policy and day: policy, replication, day, kind, seed, and the
        figures of the day's run.
        """


def axis(name: str, study: Study | Month | None = None) -> str:
    """A figure of a study, or a parameter, on an axis: with its unit; its own name
    where nothing is known of it.
    """
    return str(metrics_of(study).get(name, PARAMETERS.get(name, name)))


def metrics_of(study: Any) -> Mapping[str, Metric]:
    """What the figures of a study are, where it says."""
    return getattr(study, "metrics", {})


def replications(study: Study) -> str:
    """How many replications there are, and with two or more what the bars at a mean
    are.
    """
    seeds = len(study.seeds)
    n = getattr(study, "n", seeds)  # fewer where seeds are not independent
    told = (
        f"mean of {seeds} seeds{f' (n = {n})' * (n < seeds)}" if seeds > 1 else "1 seed"
    )
    return f"{told} with 95 % interval" if n > 1 else told


def found(
    study: Study, metric: str, among: Iterable[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Means and half widths of a figure by policy, in order; NaN where there are none.

    among: figures that are allowed, where not only this study's. Raises InputError for
    an unknown figure.
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
    """Seconds in the unit in which so many seconds are best told, and its name."""
    return (
        (3600.0, "h")
        if span_s >= 3 * 3600
        else (60.0, "min")
        if span_s >= 600
        else (1.0, "s")
    )


def runs_of(runs: AnyRun | Iterable[AnyRun]) -> list[AnyRun]:
    """The runs, of one or several; raises InputError for none, and for what is no
    run.
    """
    listed = list(runs) if isinstance(runs, Iterable) else [runs]
    require(len(listed) > 0, "runs", listed, "at least one run")
    for each in listed:
        check_run(each)
    return listed


def named(runs: Sequence[Drawn], policies: Iterable[str]) -> list[str]:
    """A name for each run: its policy, with scenario and seed, or else a number, where
    that is needed to tell the runs apart.
    """
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


def check_published(
    published: Mapping[str, Any] | None, policies: Iterable[str]
) -> None:
    """Raise InputError for a published policy that the study does not have."""
    published = {} if published is None else published
    require(
        isinstance(published, Mapping),
        "published",
        published,
        "policy -> what was published",
    )
    for policy in published:
        check_one_of("published policy", policy, policies)
