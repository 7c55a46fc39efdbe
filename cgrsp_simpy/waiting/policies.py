"""The six waiting policies (which jobs wait for a machine), views and queue orders."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.base.checks import check_one_of, require, shown
from cgrsp_simpy.base.parameters import (
    Fraction,
    NotNegative,
    UpToInfinity,
    checked,
    declared,
    parameter,
)
from cgrsp_simpy.base.policy import AssignmentError, Wake, parameters
from cgrsp_simpy.engine import view as engine
from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.resources import ResourceSpec
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.engine.view import SealedList
from cgrsp_simpy.waiting.jobs import Job
from cgrsp_simpy.waiting.machines import Room, Size


class View(engine.View):
    """The waiting jobs, their running times, and the machines with room; read-only.

    A job has id, submit_s, run_s, cores and memory_gb. A machine is identified by its
    index, from 0; a job takes a whole machine, unless machines are shared.
    """

    __slots__ = ("_arrived", "_by_time", "_idle", "_machines")

    def __init__(self, run: Simulation) -> None:
        super().__init__(run)
        self._machines = len({place.index for place in run.declared})
        # in the order in which they became idle
        self._idle = list(reversed(range(self._machines)))
        # both from the first time that they are asked for
        self._arrived: deque[Job] | None = None  # by arrival; some wait no longer
        self._by_time: SealedList | None = None

    @property
    def by_time(self) -> Sequence[Job]:
        """Waiting jobs by increasing running time; ties in order of arrival."""
        if self._by_time is None:
            self._by_time = SealedList(sorted(self._run.pending_claims, key=_time))
        return self._by_time

    @property
    def full(self) -> bool:
        """Whether no machine has room for any job."""
        return not self._idle

    def first(self) -> Job | None:
        """Return the job that has waited longest, or None."""
        waiting, arrived = self._run.pending_claims, self._arrived
        if arrived is None:
            arrived = self._arrived = deque(waiting)
        while arrived and arrived[0] not in waiting:
            arrived.popleft()
        return arrived[0] if arrived else None

    def room(self, job: Any) -> Any:
        """Return a machine for a job (best fit, or last idle), or a resource's room."""
        return super().room(job) if type(job) is ResourceSpec else self._best(job)

    def rooms(self, job: Job) -> list[int]:
        """Return the indices of all machines with room for a job."""
        return sorted(self._idle)

    # ---- hooks of the engine ----

    def summary(self) -> str:
        return f"{len(self._run.pending_claims)} waiting"

    def parse_assignment(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        machine = chosen.index if type(chosen) is ResourceSpec else chosen
        number = self._machines
        if type(machine) is not int or not 0 <= machine < number:
            raise AssignmentError(
                f"machine {shown(machine)}; the machines are 0 to {number - 1}"
            )
        return self._parts(claim.job, machine)

    def on_enqueue(self, job: Job) -> None:
        self._queue = None
        if self._arrived is not None:
            self._arrived.append(job)
        if (line := self._by_time) is not None:
            list.insert(line, bisect_left(line, _time(job), key=_time), job)

    def on_dequeue(self, job: Job) -> None:
        self._queue = None
        if (line := self._by_time) is not None:
            list.__delitem__(line, bisect_left(line, _time(job), key=_time))

    def on_full(self, number: int) -> None:
        if self._idle[-1] == number:
            self._idle.pop()
        else:
            self._idle.remove(number)

    def on_available(self, number: int) -> None:
        self._idle.append(number)

    # ---- what depends on whether machines are shared ----

    def _best(self, job: Job) -> int | None:
        return self._idle[-1] if self._idle else None

    def _parts(self, job: Job, machine: int) -> Sequence[Part]:
        return ((machine, 1),)


class SharedView(View):
    """View of machines whose cores and memory jobs share; placement is best fit."""

    __slots__ = ("_room", "_stale")

    def __init__(self, run: Simulation, sizes: Sequence[Size]) -> None:
        super().__init__(run)
        # machines that have changed since
        self._room, self._stale = Room(sizes), set[int]()

    @property
    def full(self) -> bool:
        return self._book.most_cores == 0

    def rooms(self, job: Job) -> list[int]:
        return [
            index
            for index, (cores, memory_gb) in enumerate(self._book.free)
            if cores >= job.cores and memory_gb >= job.memory_gb
        ]

    def on_full(self, number: int) -> None:
        self._stale.add(number // 2)

    on_available = on_full

    def _best(self, job: Job) -> int | None:
        return self._book.best(job.cores, job.memory_gb)

    def _parts(self, job: Job, machine: int) -> Sequence[Part]:
        self._stale.add(machine)
        return (2 * machine, job.cores), (2 * machine + 1, job.memory_gb)

    @property
    def _book(self) -> Room:
        """The free cores and memory, updated for the machines that have changed."""
        free = self._run.free
        for index in self._stale:
            self._room.put(index, free[2 * index], free[2 * index + 1])
        self._stale.clear()
        return self._room


def _time(job: Job) -> tuple[float, int]:
    return job.run_s, job.id


# b and t of waiting-policies.txt Sections 3 and 4
BASELINE_WAIT_S, BASELINE_SHORT_S = 900.0, 180.0


@declared()
class WaitingPolicy:
    """Rule that decides which jobs wait; the others rent machines on demand."""

    name: str = parameter("The policy's name in tables.")
    wait_s: UpToInfinity = parameter(
        "b, maximum wait, seconds; 0: no waiting, infinite: no limit.",
        default=math.inf,
    )
    short_s: NotNegative = parameter(
        "t, seconds; a job with a shorter running time goes on demand without waiting.",
        default=0.0,
    )
    balks: bool = parameter(
        "Whether a job that would wait longer than wait_s goes on demand at once"
        " instead of after wait_s. Jobs know their wait, unlike in balking on the"
        " queue length.",
        default=False,
    )

    @property
    def rents(self) -> bool:
        """Whether jobs may run on demand; False only for ajw."""
        return self.wait_s < math.inf or self.short_s > 0


def ajw() -> WaitingPolicy:
    """All jobs wait, without limit (waiting-policies.txt Section 3.1)."""
    return WaitingPolicy("ajw")


def njw() -> WaitingPolicy:
    """No jobs wait: if no machine is idle, they go on demand (Section 3.2)."""
    return WaitingPolicy("njw", wait_s=0.0)


def ajw_t(wait_s: float = BASELINE_WAIT_S) -> WaitingPolicy:
    """All jobs wait, but no longer than a limit; then they go on demand.

    wait_s: b, seconds. waiting-policies.txt Section 3.3.
    """
    return WaitingPolicy("ajw-t", wait_s=wait_s)


def sww(wait_s: float = BASELINE_WAIT_S) -> WaitingPolicy:
    """Short waits wait: jobs that would exceed a limit go on demand at once.

    wait_s: b, seconds. waiting-policies.txt Section 4.1.
    """
    return WaitingPolicy("sww", wait_s=wait_s, balks=True)


def ljw(short_s: float = BASELINE_SHORT_S) -> WaitingPolicy:
    """Long jobs wait: short ones go on demand at once.

    short_s: t, seconds; jobs that run below it are short. waiting-policies.txt Section
    4.2.
    """
    return WaitingPolicy("ljw", short_s=short_s)


def compound(
    wait_s: float = BASELINE_WAIT_S, short_s: float = BASELINE_SHORT_S
) -> WaitingPolicy:
    """Combination of ljw and sww: long jobs wait if their wait would be short.

    wait_s, short_s: b and t, seconds. waiting-policies.txt Section 4.3.
    """
    return WaitingPolicy("compound", wait_s=wait_s, short_s=short_s, balks=True)


POLICIES: dict[str, Callable[..., WaitingPolicy]] = {
    "ajw": ajw,
    "njw": njw,
    "ajw-t": ajw_t,
    "sww": sww,
    "ljw": ljw,
    "compound": compound,
}
"""Name -> factory, with the paper's baseline for b and t."""


@checked
def waiting_policy(
    text: str,
    wait_s: NotNegative = BASELINE_WAIT_S,
    short_s: NotNegative = BASELINE_SHORT_S,
) -> WaitingPolicy:
    """Return a policy from a string such as "ajw" or "sww:wait_s=60".

    Parameters in the string override the arguments. wait_s: b, seconds, for ajw-t, sww
    and compound. short_s: t, seconds, for ljw and compound. Raises InputError for an
    unknown name or parameter.
    """
    require(isinstance(text, str), "waiting policy", text, "a string")
    name = text.partition(":")[0]
    check_one_of("waiting policy", name, POLICIES)
    factory, limits = POLICIES[name], {"wait_s": wait_s, "short_s": short_s}
    usual = {limit: limits[limit] for limit in limits_of(name)}
    return factory(**{**usual, **parameters("waiting policy", text, factory)})


def limits_of(name: str) -> tuple[str, ...]:
    """Return the parameters of a policy among wait_s and short_s."""
    return tuple(signature(POLICIES[name]).parameters)


@declared()
class Mispredictions:
    """Shares of wrong predictions; wait_over + wait_under must be at most 1.

    waiting-policies.txt Sections 4.1.1 and 4.2.1.
    """

    wait_over: Fraction = parameter(
        "Share of the jobs that a balking policy sends on demand although their"
        " wait would be within the limit.",
        default=0.0,
    )
    wait_under: Fraction = parameter(
        "Share of the jobs that stay in the queue although their wait is too long.",
        default=0.0,
    )
    run_over: Fraction = parameter(
        "Share of the short jobs that are predicted to be long.", default=0.0
    )
    run_under: Fraction = parameter(
        "Share of the long jobs that are predicted to be short.", default=0.0
    )

    def __post_init__(self) -> None:
        both = self.wait_over + self.wait_under
        require(both <= 1, "wait_over + wait_under", both, "at most 1")


NO_ERRORS = Mispredictions()
WAITS, RENTS_AT_ONCE, MISLED = 0, 1, 2
"""Prediction for a job on its arrival. WAITS: it may wait for a fixed machine; whether
the wait is too long for a policy that balks follows in the simulation. RENTS_AT_ONCE:
it goes on demand. MISLED: its wait is underestimated; it waits, in vain if too long.
"""
Predictions = npt.NDArray[np.int8]


Order = Callable[[View], Iterable[tuple[Job, int] | Wake] | None]
"""Answers with pairs of a job and the machine that it gets; a generator is asked for
the next pair when the last has its own.
"""


def first_come(view: View) -> Iterator[tuple[Job, int]]:
    """First come, first served: if the first job has no room, it blocks all others."""
    while (job := view.first()) is not None and (machine := view.room(job)) is not None:
        yield job, machine


def shortest_first(view: View) -> Iterator[tuple[Job, int]]:
    """Shortest job that has room first; ties are broken by arrival."""
    # needs without room now
    place, line, refused = 0, view.by_time, set[tuple[int, float]]()
    while place < len(line) and not view.full:
        job = line[place]
        needs = (job.cores, job.memory_gb)
        if needs not in refused and (machine := view.room(job)) is not None:
            yield job, machine
        else:
            refused.add(needs)
            place += 1


ORDERS: dict[str, Order] = {"fcfs": first_come, "sjf": shortest_first}
"""Orders of the waiting jobs by name."""
