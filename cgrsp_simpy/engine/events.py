"""The event listing of a run, for lectures.

A run without a listener pays one comparison an event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Event(NamedTuple):
    """Something that happened in a run.

    Attributes
    ----------
    time_s : float
        Seconds.
    kind : str
        submit, decide, dispatch, start, finish, or one of the model's own.
    job : int or None
        The job's id, or None.
    slots : tuple of int
        The indices of the places concerned.
    detail : str
        What more there is to say, "" for nothing.
    noun : str
        What the listing calls a place.
    """

    time_s: float
    kind: str
    job: int | None
    slots: tuple[int, ...]
    detail: str
    noun: str = "slot"

    def __str__(self) -> str:
        job = "" if self.job is None else f"job {self.job}"
        slots = f"{self.noun} {','.join(map(str, self.slots))}" if self.slots else ""
        return (
            f"{self.time_s:10.2f}  {self.kind:<8}  {job:<8}  {slots:<7}  {self.detail}"
        ).rstrip()


Listener = Callable[[Event], object]  # called with each event of a run


def job_id(job: Any) -> Any:
    """What listings and messages call a job."""
    return getattr(job, "id", job)


def policy_name(policy: Any) -> str:
    """The name under which a policy is reported."""
    return str(
        getattr(policy, "name", None)
        or getattr(policy, "__name__", None)
        or type(policy).__name__
    )
