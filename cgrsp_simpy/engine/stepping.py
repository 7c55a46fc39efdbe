"""A run, one event at a time: after each, the clock, what happened, the queue, the
resources and the future event list.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import simpy
from simpy.core import Infinity

from cgrsp_simpy.engine.claim import STARTED
from cgrsp_simpy.engine.events import DecisionEvent, Event, Listener, Patience, job_id
from cgrsp_simpy.engine.simulation import JobProcess, Simulation

SHOWN = 12  # resources; of more, only those that are held are shown


class Due(NamedTuple):
    """An entry of the future event list.

    Attributes
    ----------
    time_s : float
        When it is due, seconds.
    kind : str
        submit, decide, dispatch, start, finish, wake (a policy has asked to be woken),
        gives up (a job waits no longer), or one of the model's own.
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
    """A job that holds a resource, how much of it, and whether it has started; until
    then it is being provisioned.
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
        What has just happened.
    waiting : tuple of int
        Ids of the jobs in the queue, oldest first.
    holders : tuple of tuple of Holder
        Per resource, the jobs that hold it.
    indices : tuple of int
        Per resource, its number in listings.
    future : tuple of Due
        The future event list, in the order in which it will happen.
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

    @property
    def executing(self) -> tuple[bool, ...]:
        """Per resource, whether that job has started."""
        return tuple(bool(held) and held[0].executing for held in self.holders)

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

    set_up: returns the run, given a listener. Raises PolicyError at the step at which
    the policy goes wrong.
    """
    heard: list[Event] = []
    run = set_up(heard.append)
    grants: dict[simpy.Event, Any] = {}
    while run.env.peek() < Infinity and run.advance(1):
        grants = {event: job for event, job in grants.items() if not event.processed}
        grants |= {claim: job_id(job) for job, claim in run.pending_claims.items()}
        for event in heard:
            waiting = tuple(map(job_id, run.pending_claims))
            holders = _holders(run)
            yield Step(
                event,
                waiting,
                tuple(holders.values()),
                tuple(holders),
                _future(run.env, grants, run.granted_claims),
            )
        heard.clear()
    return run.close()


def _holders(run: Simulation) -> dict[int, tuple[Holder, ...]]:
    """Return the jobs that hold each resource, by its index; of the resources of one
    machine, its cores and its memory, the first is shown.
    """
    numbers: dict[int, int] = {}  # of the first resource, by index
    for number, resource in enumerate(run.resources):
        numbers.setdefault(resource.index, number)
    holders: dict[int, tuple[Holder, ...]] = dict.fromkeys(numbers, ())
    for claim in run.granted_claims:
        # else its job does not know of the grant yet
        if claim.processed or claim.state == STARTED:
            for number, amount in claim.parts:
                index = run.resources[number].index
                if numbers[index] == number:
                    holder = Holder(job_id(claim.job), amount, claim.state == STARTED)
                    holders[index] += (holder,)
    return holders


def _future(
    env: simpy.Environment, grants: Mapping[simpy.Event, Any], holding: Iterable[Any]
) -> tuple[Due, ...]:
    """SimPy's queue, without the entries that set nothing off: the ends of processes,
    requests granted at once, releases, timeouts that nobody waits for any more.
    """
    entries = sorted(env._queue, key=lambda entry: entry[:3])
    return tuple(
        Due(time_s, *due)
        for time_s, _, _, event in entries
        if (due := _due(event, grants, holding)) is not None
    )


def _due(
    event: simpy.Event, grants: Mapping[simpy.Event, Any], holding: Iterable[Any]
) -> tuple[str, int | None] | None:
    if isinstance(event, DecisionEvent):
        return "decide", None
    if event in grants:
        return "gives up" if event.value is None else "dispatch", grants[event]
    if isinstance(event, Patience):
        # a claim that has been answered has cleared them
        return ("gives up", job_id(event.claim.job)) if event.callbacks else None
    if not isinstance(event, simpy.Timeout) or not event.callbacks:
        return None  # nobody waits any longer for what has no callbacks
    process = getattr(event.callbacks[0], "__self__", None)
    if event.value is not None or not isinstance(process, simpy.Process):
        return event.value
    if not isinstance(process, JobProcess):
        return None  # beside the jobs'
    started = any(
        claim.state == STARTED for claim in holding if claim.job == process.job
    )
    return "finish" if started else "start", job_id(process.job)
