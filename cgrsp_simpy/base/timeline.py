"""Who waited, and who held what and when: the data from which runs are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import getattr_static
from typing import Any, NamedTuple, Protocol

import numpy as np

from cgrsp_simpy.base.checks import require

PHASES = ("provisioning", "executing")  # phases of a job at a place
CLAIM = np.dtype(
    [
        ("job", "i8"),
        ("resource", "i4"),
        ("amount", "f8"),
        ("phase", "U12"),
        ("from_s", "f8"),
        ("to_s", "f8"),
    ]
)
"""Columns of a claim: a job, its place and phase, from when to when in seconds."""
VISIT = np.dtype(
    [
        ("job", "i8"),
        ("ready_s", "f8"),
        ("granted_s", "f8"),
        ("end_s", "f8"),
        ("due_s", "f8"),
    ]
)
"""Columns of a visit: when a job was ready, was given places, ended and was due,
seconds."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """A run as places and jobs; times in seconds.

    Attributes
    ----------
    label : str
        Noun for a place (slot, node, machine, GPU).
    places : tuple of str
        Their names.
    sizes : tuple of float
        How much each has to hold.
    claims : array
        One row per job, place and phase, of dtype CLAIM: `amount` of the place from
        from_s to to_s; phase: one of PHASES, or of the model's own. Phases of no length
        are left out.
    visits : array
        One row per job, of dtype VISIT: when it began to wait, was granted places (NaN:
        never), and ended, or gave up waiting, and its deadline (NaN: none).
    labels : dict
        By job, what is written on it.
    kinds : dict
        By job, the kind by which it is coloured.
    policy : str
        Name of the run among others.
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
        """When all have ended, seconds."""
        return float(
            max(
                self.claims["to_s"].max(initial=0.0),
                self.visits["end_s"].max(initial=0.0),
            )
        )


class Choice(NamedTuple):
    """A decision of a policy: its remarks on the waiting jobs and on their places.

    time_s: of the decision. ranked: the first jobs of all, with a remark on each.
    offers: by job that was given a choice of places, the remarks on them, the chosen
    one first. kept: number of idle places that it withheld.
    """

    time_s: float
    ranked: Sequence[tuple[int, str]]
    offers: Mapping[int, Sequence[str]]
    kept: int


class Reasons(NamedTuple):
    """How a policy says that it decides: its order and its placement in words; its
    choices.
    """

    order: str
    place: str
    choices: list[Choice]


class Bands(NamedTuple):
    """What was scarce when, whatever a policy did.

    levels: by name, triples of a time in seconds, the level from then on, 0 (plenty) to
    1, and that in words. scarce: from when to when less is to be had than on average,
    seconds.
    """

    levels: Mapping[str, Sequence[tuple[float, float, str]]]
    scarce: Sequence[tuple[float, float]]


class Timed(Protocol):
    """The record of a run of any model."""

    @property
    def timeline(self) -> Timeline:
        """The run as places and jobs."""


def timeline_of(run: Timed | Timeline) -> Timeline:
    """The timeline of a run, or the one given; raises InputError for neither."""
    check_run(run)
    return run if isinstance(run, Timeline) else run.timeline


def check_run(run: object) -> None:
    """Raise InputError for what has no timeline, such as a study."""
    has = isinstance(run, Timeline) or getattr_static(run, "timeline", None) is not None
    require(has, "run", run, "a run, such as study.run(policy, seed) of a study")
