"""A job, as far as a scheduler may know it, and its hidden draws."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from cgrsp_simpy.model.checks import InputError, check_bool, check_number, check_whole

__all__ = ["Draws", "Job", "check_job"]


class _Described(NamedTuple):
    id: int
    submit_s: float
    deadline_s: float
    complexity: int = 1
    tight: bool = False
    gpus: int = 1
    weight: float = 1.0


class Job(_Described):
    """A job as its submitter describes it; immutable. Two jobs are equal only if they are the same object.

    id: 0, 1, 2, ... in order of submission.
    submit_s, deadline_s: seconds from the start of the run; deadline_s >= submit_s >= 0.
    complexity: 1 is the lowest; it picks the mean execution time of a GPU type (thesis Section 4.4).
    tight: whether it is a rush order (thesis Section 3.4).
    gpus: slots that it holds at once.
    weight: its importance, for objectives that weigh jobs.

    A named tuple and not a dataclass: one is made for every job of every run, and a frozen dataclass takes four times as long.
    """

    __slots__ = ()
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__


def check_job(job: Job) -> None:
    """Raise InputError for a job that cannot be."""
    for name in ("submit_s", "deadline_s", "weight"):
        check_number(f"job {job.id}: {name}", getattr(job, name), least=0)
    for name in ("complexity", "gpus"):
        check_whole(f"job {job.id}: {name}", getattr(job, name), least=1)
    check_bool(f"job {job.id}: tight", job.tight)
    if not 0 <= job.submit_s <= job.deadline_s < inf:
        times = f"submit_s(={job.submit_s!r}) and deadline_s(={job.deadline_s!r})"
        raise InputError(f"job {job.id}: {times} must be finite, with 0 <= submit_s <= deadline_s")


class Draws(NamedTuple):
    """A job's luck, hidden from every scheduler and the same under each of them.

    status, delay: uniform on [0, 1), turned into a stock status (Eq. 3.1) and a delay (Eq. 3.2) at dispatch.
    service: realised over mean execution time; its mean is 1 (Eq. 3.12).
    """

    status: float
    delay: float
    service: float
