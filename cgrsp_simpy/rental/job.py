"""A job, as far as a scheduler may know it, and its hidden draws."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from cgrsp_simpy.model.checks import InputError, check_bool, check_number, check_whole, require


class _Described(NamedTuple):
    id: int
    submit_s: float
    deadline_s: float
    complexity: int
    tight: bool
    gpus: int
    weight: float
    deadline_class: int


class Job(_Described):
    """A job as its submitter describes it; immutable. Two are equal only if they are the same.

    A named tuple and not a dataclass: one is made for every job of every run, and a frozen
    dataclass takes four times as long.

    Parameters
    ----------
    id : int
        0, 1, 2, ... in order of submission.
    submit_s, deadline_s : float
        Seconds from the start of the run; deadline_s >= submit_s >= 0.
    complexity : int
        1 is the lowest; it picks the mean execution time of a GPU type (thesis Section 4.4).
    tight : bool
        Whether it is a rush order (thesis Section 3.4): whether its deadline class is marked
        tight. What the policies that know two kinds of jobs go by.
    gpus : int
        Slots that it holds at once.
    weight : float
        Its importance, >= 0, for objectives that weigh jobs.
    deadline_class : int, optional
        Index of its class among those of the workload. Unless given, that of the thesis's two:
        0 for a tight job, 1 for a loose one.
    """

    __slots__ = ()
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__

    def __new__(
        cls,
        id: int,
        submit_s: float,
        deadline_s: float,
        complexity: int = 1,
        tight: bool = False,
        gpus: int = 1,
        weight: float = 1.0,
        deadline_class: int | None = None,
    ) -> Job:
        """A job; only by hand, workloads make theirs from columns."""
        own = int(not tight) if deadline_class is None else deadline_class
        return super().__new__(cls, id, submit_s, deadline_s, complexity, tight, gpus, weight, own)


def check_job(job: Job) -> None:
    """Raise InputError for a job that cannot be."""
    for name in ("submit_s", "deadline_s", "weight"):
        check_number(f"job {job.id}: {name}", getattr(job, name), least=0)
    for name in ("complexity", "gpus"):
        check_whole(f"job {job.id}: {name}", getattr(job, name), least=1)
    check_bool(f"job {job.id}: tight", job.tight)
    check_whole(f"job {job.id}: deadline_class", job.deadline_class, least=0)
    if not 0 <= job.submit_s <= job.deadline_s < inf:
        times = f"submit_s(={job.submit_s!r}) and deadline_s(={job.deadline_s!r})"
        raise InputError(f"job {job.id}: {times} must be finite, with 0 <= submit_s <= deadline_s")


def check_class(job: Job, names: Sequence[str]) -> None:
    """Raise InputError for a job whose deadline class is none of these."""
    index, allowed = job.deadline_class, f"an index up to {len(names) - 1} ({', '.join(names)})"
    require(index < len(names), f"job {job.id}: deadline_class", index, allowed)


class Draws(NamedTuple):
    """A job's luck, hidden from every scheduler and the same under each of them.

    status: uniform on [0, 1), turned into a stock status (thesis Eq. 3.1) at dispatch. delay:
    uniform on [0, 1), turned into a provisioning delay (thesis Eq. 3.2) at dispatch. service:
    realised over mean execution time; its mean is 1 (thesis Eq. 3.12).
    """

    status: float
    delay: float
    service: float
