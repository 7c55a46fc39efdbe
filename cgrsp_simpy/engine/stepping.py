"""Stepping through a run event by event: the clock, the event, the queue, the resources
and the future event list.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import simpy

from cgrsp_simpy.engine.claim import REQUESTED, Claim
from cgrsp_simpy.engine.events import (
    DecisionEvent,
    Event,
    Listener,
    Patience,
    event_list,
    job_id,
)
from cgrsp_simpy.engine.simulation import JobProcess, Simulation

SHOWN = 12  # resources; of more, only those that are held are shown


class Due(NamedTuple):
    """An entry of the future event list.

    Attributes
    ----------
    time_s : float
        Time at which it is due, seconds.
    kind : str
        submit, decide, dispatch, start, finish, wake (a wake-up that a policy
        requested), gives up (a job reneges), or a kind that the model defines.
    job : int or None
        The job's id, or None.
    """

    time_s: float
    kind: str
    job: int | None

    def __str__(self) -> str:
        return f"{self.time_s:.2f} {self.kind}" + (
            "" if self.job is None else f" {self.job}"
        )


class Holder(NamedTuple):
    """A job that holds a resource, the amount, and whether the job has started; until
    then the resource is being provisioned.
    """

    job: int
    amount: float
    executing: bool

    def __str__(self) -> str:
        amount = "" if self.amount == 1 else f"({self.amount:g})"
        return f"{self.job}{amount}{'' if self.executing else '…'}"


@dataclass(frozen=True)
class Step:
    """The state right after an event.

    Attributes
    ----------
    event : Event
        The last event.
    waiting : tuple of int
        Ids of the jobs in the queue, oldest first.
    holders : tuple of tuple of Holder
        Per resource, the jobs that hold it.
    indices : tuple of int
        Per resource, its number in listings.
    future : tuple of Due
        The future event list, in order of processing.
    """

    event: Event
    waiting: tuple[int, ...]
    holders: tuple[tuple[Holder, ...], ...]
    indices: tuple[int, ...]
    future: tuple[Due, ...]

    @property
    def time_s(self) -> float:
        """Time on the clock, seconds."""
        return self.event.time_s

    @property
    def slots(self) -> tuple[int | None, ...]:
        """Per resource, the id of the job that holds it, or None."""
        return tuple(held[0].job if held else None for held in self.holders)

    def __str__(self) -> str:
        states = ["+".join(map(str, held)) or "-" for held in self.holders]
        if len(states) > SHOWN:
            states = [
                f"{index}:{state}"
                for index, state in zip(self.indices, states)
                if state != "-"
            ]
        return "\n".join(
            (
                str(self.event),
                f"{'':12}queue: {' '.join(map(str, self.waiting)) or '-'}",
                f"{'':12}{self.event.label}s: {' '.join(states) or '-'}",
                f"{'':12}to come: {', '.join(map(str, self.future)) or 'nothing'}",
            )
        )


def steps(
    set_up: Callable[[Listener], Simulation],
) -> Generator[Step, None, Any]:
    """Yield the state after each listed event of a run; return the finished run.

    set_up: function of a listener that returns the run. Raises PolicyError at the step
    at which the policy makes a mistake.
    """
    heard: list[Event] = []
    run = set_up(heard.append)
    while run.advance(1):
        for event in heard:
            waiting = tuple(map(job_id, run.pending_claims))
            holders = _holders(run)
            yield Step(
                event, waiting, tuple(holders.values()), tuple(holders), _future(run)
            )
        heard.clear()
    return run.close()


def _holders(run: Simulation) -> dict[int, tuple[Holder, ...]]:
    """Return the jobs that hold each resource, by its index; of one machine's
    resources, such as cores and memory, only the first is used.
    """
    numbers: dict[int, int] = {}  # claims per index of the first resource
    for number, resource in enumerate(run.resources):
        numbers.setdefault(resource.index, number)
    holders: dict[int, tuple[Holder, ...]] = dict.fromkeys(numbers, ())
    for claim in run.granted_claims:
        # else the grant has not been delivered to its job
        if claim.processed or claim.state == REQUESTED:
            for number, amount in claim.parts:
                index = run.resources[number].index
                if numbers[index] == number:
                    holder = Holder(job_id(claim.job), amount, claim.state == REQUESTED)
                    holders[index] += (holder,)
    return holders


def _future(run: Simulation) -> tuple[Due, ...]:
    """Return SimPy's event list without entries that have no effect: ends of processes,
    requests granted at once, releases, and timeouts for which no process waits.
    """
    entries = event_list(run.env)
    listed = [(time_s, _kind_and_job(run, event)) for time_s, _, _, event in entries]
    return tuple(Due(time_s, *due) for time_s, due in listed if due is not None)


def _kind_and_job(run: Simulation, event: Any) -> tuple[str, int | None] | None:
    """Return kind and job of a future event; None if it is not listed.

    The value of a timeout may contain them; otherwise the timeout of a job's process is
    the job's start until the job has requested resources, then its finish.
    """
    if isinstance(event, DecisionEvent):
        return "decide", None
    if isinstance(event, Claim):
        return "gives up" if event.value is None else "dispatch", job_id(event.job)
    # nobody waits any longer for what has no callbacks, such as a cancelled event
    if not (event.callbacks and isinstance(event, Patience | simpy.Timeout)):
        return None
    if isinstance(event, Patience):
        return "gives up", job_id(event.claim.job)
    process = getattr(event.callbacks[0], "__self__", None)
    if event.value is not None or not isinstance(process, simpy.Process):
        return event.value
    if not isinstance(process, JobProcess):
        return None
    started = any(
        claim.state == REQUESTED and claim.job == process.job
        for claim in run.granted_claims
    )
    return "finish" if started else "start", job_id(process.job)
