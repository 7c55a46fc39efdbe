"""A job, as far as a scheduler may know it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from cgrsp_simpy.model.checks import InputError

__all__ = ["Draws", "Job"]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A job as its submitter describes it; two jobs are equal only if they are the same object.

    id: 0, 1, 2, ... in order of submission.
    complexity: 1 is the lowest; it picks the mean execution time of a GPU type (thesis Section 4.4).
    submit_s, deadline_s: seconds from the start of the run; deadline_s >= submit_s >= 0.
    tight: whether it is a rush order (thesis Section 3.4).
    gpus: slots that it holds at once.
    weight: its importance, for objectives that weigh jobs.
    """

    id: int
    submit_s: float
    deadline_s: float
    complexity: int = 1
    tight: bool = False
    gpus: int = 1
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.submit_s <= self.deadline_s < inf:
            times = f"submit_s(={self.submit_s!r}) and deadline_s(={self.deadline_s!r})"
            raise InputError(f"job {self.id}: {times} must be finite, with 0 <= submit_s <= deadline_s")
        if not (self.complexity >= 1 and self.gpus >= 1 and self.weight >= 0):
            rest = f"complexity(={self.complexity!r}), gpus(={self.gpus!r}) and weight(={self.weight!r})"
            raise InputError(f"job {self.id}: {rest} must be at least 1, 1 and 0")


class Draws(NamedTuple):
    """A job's luck, hidden from every scheduler and the same under each of them.

    status, delay: uniform on [0, 1), turned into a stock status (Eq. 3.1) and a delay (Eq. 3.2) at dispatch.
    service: realised over mean execution time; its mean is 1 (Eq. 3.12).
    """

    status: float
    delay: float
    service: float
