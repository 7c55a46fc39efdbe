"""The event listing of a run, for lectures. A run without a listener pays one comparison an event."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cgrsp_simpy.model.job import Job

__all__ = ["Event", "Listener", "describe_job"]


class Event(NamedTuple):
    """Something that happened: at time_s, of the kind submit, decide, dispatch, start or finish.

    job: its id, or None. slots: the indices concerned.
    """

    time_s: float
    kind: str
    job: int | None
    slots: tuple[int, ...]
    detail: str

    def __str__(self) -> str:
        job = "" if self.job is None else f"job {self.job}"
        slots = f"slot {','.join(map(str, self.slots))}" if self.slots else ""
        return f"{self.time_s:10.2f}  {self.kind:<8}  {job:<8}  {slots:<7}  {self.detail}".rstrip()


Listener = Callable[[Event], object]


def describe_job(job: Job) -> str:
    """What a listing says of a job when it arrives."""
    kind = "tight" if job.tight else "loose"
    gpus = f", {job.gpus} GPUs" if job.gpus > 1 else ""
    return f"complexity {job.complexity}, {kind}, due {job.deadline_s:.2f}{gpus}"
