"""Timelines of runs, for plots, and step functions of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import getattr_static
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import require

MOST_LETTERS = 40  # length of a phase or process name in a record
PHASES = ("provisioning", "executing")  # phases of a job at a place
CLAIM = np.dtype(
    [
        ("job", "i8"),
        ("resource", "i4"),
        ("amount", "f8"),
        ("phase", f"U{MOST_LETTERS}"),
        ("from_s", "f8"),
        ("to_s", "f8"),
    ]
)
"""Columns of a claim: job, resource, phase, start and end in seconds."""


def check_name(what: str, name: str) -> None:
    """Raise InputError for a name that a column of a record would cut off."""
    require(len(name) <= MOST_LETTERS, what, name, f"at most {MOST_LETTERS} characters")


VISIT = np.dtype(
    [
        ("job", "i8"),
        ("ready_s", "f8"),
        ("granted_s", "f8"),
        ("end_s", "f8"),
        ("due_s", "f8"),
    ]
)
"""Columns of a visit: the times when a job was ready, got resources, ended and was due,
in seconds.
"""


@dataclass(frozen=True, eq=False)
class Timeline:
    """A run as resources and jobs; times in seconds.

    label: noun for a resource (slot, node, machine, GPU). sizes: capacity of each.
    claims: one row per job, resource and phase of positive length, of dtype CLAIM:
    `amount` of the resource from from_s to to_s; phase: one of PHASES or a phase that
    the model defines. visits: one row per job, of dtype VISIT: when it began to wait,
    was granted resources (NaN: never), and completed or reneged, and its deadline (NaN:
    none). labels, kinds: label per job, and the kind that sets its colour. policy: name
    of the run.
    """

    label: str
    resources: tuple[str, ...]
    sizes: tuple[float, ...]
    claims: np.ndarray[Any, np.dtype[Any]] = field(repr=False)
    visits: np.ndarray[Any, np.dtype[Any]] = field(repr=False)
    labels: dict[int, str] = field(default_factory=dict, repr=False)
    kinds: dict[int, str] = field(default_factory=dict, repr=False)
    policy: str = ""

    @property
    def end_s(self) -> float:
        """The end of the last job, seconds."""
        return float(
            max(
                self.claims["to_s"].max(initial=0.0),
                self.visits["end_s"].max(initial=0.0),
            )
        )


class Choice(NamedTuple):
    """A decision of a policy: its remarks on waiting jobs and on resources for them.

    ranked: the first jobs of all, with a remark on each. offers: per job with a choice
    of resources, the remarks on them, the chosen one first. kept: number of idle
    resources that it withheld.
    """

    time_s: float
    ranked: Sequence[tuple[int, str]]
    offers: Mapping[int, Sequence[str]]
    kept: int


class Reasons(NamedTuple):
    """A policy's ordering and placement rules in words, and its decisions."""

    order: str
    place: str
    choices: list[Choice]


class Bands(NamedTuple):
    """Scarcity over time, the same under every policy.

    levels: per name, triples of a time (seconds), the level from that time, 0 (plenty)
    to 1, and its description. scarce: (begin, end) pairs with less than average
    availability, seconds.
    """

    levels: Mapping[str, Sequence[tuple[float, float, str]]]
    scarce: Sequence[tuple[float, float]]


class Timed(Protocol):
    """The record of a run of any model."""

    @property
    def timeline(self) -> Timeline:
        """The run as resources and jobs."""


def timeline_of(run: Timed | Timeline) -> Timeline:
    """Return a run's timeline; a timeline is returned unchanged, else InputError."""
    check_run(run)
    return run if isinstance(run, Timeline) else run.timeline


def check_run(run: object) -> None:
    """Raise InputError for an object without a timeline, such as a study."""
    has = isinstance(run, Timeline) or getattr_static(run, "timeline", None) is not None
    require(has, "run", run, "a run, such as study.run(policy, seed) of a study")


# ---- step functions of time ----


def counted(begins: npt.ArrayLike, ends: npt.ArrayLike) -> tuple[Any, Any]:
    """Return the sorted begin and end times, and the number present from each."""
    begins, ends = np.asarray(begins, float), np.asarray(ends, float)
    return summed_steps(begins, ends, np.ones(len(begins), int))


def summed_steps(begins: Floats, ends: Floats, weights: Any) -> tuple[Any, Any]:
    """Return the sorted begin and end times, and the weight present from each."""
    times = np.concatenate([begins, ends])
    changes = np.concatenate([weights, -weights])
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(changes[order])


def averages(times: Floats, values: Floats, edges: Floats) -> Floats:
    """Return a step function's time averages between edges; its initial value is 0."""
    times = np.concatenate([edges[:1], times, edges[-1:]]).clip(*edges[[0, -1]])
    area = np.append(0.0, np.cumsum(np.append(0.0, values) * np.diff(times)))
    return np.asarray(np.diff(np.interp(edges, times, area)) / np.diff(edges))
