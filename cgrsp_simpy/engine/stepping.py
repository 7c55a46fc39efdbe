"""A run, one event at a time: after each, the clock, what happened, the queue, the slots and the future event list."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import simpy
from simpy.core import Infinity

from cgrsp_simpy.engine.engine import Bell
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.engine.events import Event
from cgrsp_simpy.model.decision import Policy
from cgrsp_simpy.model.record import Run
from cgrsp_simpy.model.scenario import Scenario

__all__ = ["Due", "Step", "steps"]


class Due(NamedTuple):
    """An entry of the future event list: at time_s, what is due, and the job's id, or None.

    kind: submit, decide, dispatch, start, finish, or wake (a policy has asked to be woken).
    """

    time_s: float
    kind: str
    job: int | None

    def __str__(self) -> str:
        return f"{self.time_s:.2f} {self.kind}" + ("" if self.job is None else f" {self.job}")


@dataclass(frozen=True)
class Step:
    """The state right after an event. Times in seconds.

    waiting: ids of the jobs in the queue, oldest first. slots: of each slot the id of the job that holds it, or None.
    executing: of each slot whether that job runs already; until it has started, its GPU is being provisioned.
    future: the future event list, in the order in which it will happen.
    """

    event: Event
    waiting: tuple[int, ...]
    slots: tuple[int | None, ...]
    executing: tuple[bool, ...]
    future: tuple[Due, ...]

    @property
    def time_s(self) -> float:
        """The clock."""
        return self.event.time_s

    def __str__(self) -> str:
        states = (f"{job}{'' if runs else '…'}" if job is not None else "-" for job, runs in zip(self.slots, self.executing))
        return "\n".join(
            (
                str(self.event),
                f"{'':12}queue: {' '.join(map(str, self.waiting)) or '-'}",
                f"{'':12}slots: {' '.join(states)}",
                f"{'':12}to come: {', '.join(map(str, self.future)) or 'nothing'}",
            )
        )


def steps(scenario: Scenario, policy: Policy, seed: int = 0) -> Generator[Step, None, Run]:
    """The states of a run, one an event that a listing shows, until the last job completes; what is returned then is the run.

    Raises PolicyError at the step at which the policy goes wrong.
    """
    heard: list[Event] = []
    simulation = Simulation(scenario, policy, seed, None, True, heard.append)
    holders: list[int | None] = [None] * len(scenario.slots)
    executing = [False] * len(scenario.slots)
    grants: dict[simpy.Event, int] = {}
    while simulation.env.peek() < Infinity:
        simulation.env.step()
        grants = {event: job for event, job in grants.items() if not event.processed}
        grants |= {event: job.id for job, event in simulation.engine.waiting.items()}
        for event in heard:
            for slot in event.slots:
                holders[slot] = None if event.kind == "finish" else event.job
                executing[slot] = event.kind == "start"
            waiting = tuple(job.id for job in simulation.engine.waiting)
            yield Step(event, waiting, tuple(holders), tuple(executing), _future(simulation.env, grants))
        heard.clear()
    return simulation.close()


def _future(env: simpy.Environment, grants: Mapping[simpy.Event, int]) -> tuple[Due, ...]:
    """SimPy's queue, without the entries that set nothing off: the ends of processes, requests granted at once, releases."""
    entries = sorted(env._queue, key=lambda entry: entry[:3])
    return tuple(Due(time_s, *due) for time_s, _, _, event in entries if (due := _due(event, grants)) is not None)


def _due(event: simpy.Event, grants: Mapping[simpy.Event, int]) -> tuple[str, int | None] | None:
    if isinstance(event, Bell):
        return "decide", None
    if event in grants:
        return "dispatch", grants[event]
    return event.value if isinstance(event, simpy.Timeout) else None
