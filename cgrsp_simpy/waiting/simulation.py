"""Fixed machines and machines on demand, process by process: jobs wait, give up, balk, or go on demand at once."""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import count
from typing import Any

import simpy
from simpy.events import EventPriority

from cgrsp_simpy.engine.dispatcher import Bell, delay_until
from cgrsp_simpy.waiting.jobs import Chunk
from cgrsp_simpy.waiting.policies import GOES, MISLED, Kinds, WaitingPolicy
from cgrsp_simpy.waiting.resources import Arriving, Machines, Plan

__all__ = ["ORDERS", "Dispatcher", "Row", "arrivals", "life", "source"]

AT_LAST = EventPriority(3)  # patience ends after every decision of the instant: who gets a machine now does not leave
Process = Generator[simpy.Event, Any, None]
Row = tuple[int, float, float, int, float, float, bool]
"""What a job leaves: place, submit_s, run_s, cores, memory_gb, start_s, and whether it ran on demand."""


class Claim(simpy.Event):
    """A job's wish for a fixed machine: triggered with the machine, or with None when the job gives up."""

    def __init__(self, env: simpy.Environment, job: Arriving, patience_s: float) -> None:
        super().__init__(env)
        self.job, self.patience_s = job, patience_s


class FirstCome:
    """Waiting jobs, first come, first served: while the first finds no room, those behind it wait."""

    def __init__(self) -> None:
        self._line: deque[Claim] = deque()

    def add(self, claim: Claim) -> None:
        """Queue a claim."""
        self._line.append(claim)

    def next(self, machines: Machines) -> tuple[Claim, Any] | None:
        """The next claim that can be met, and its machine."""
        line = self._line
        while line and line[0].triggered:  # has given up
            line.popleft()
        machine = machines.place(line[0].job) if line else None
        return (line.popleft(), machine) if machine is not None else None


class ShortestFirst:
    """Waiting jobs, the one of the shortest running time first of those that find room; of equals the first to come."""

    def __init__(self) -> None:
        self._line: list[tuple[float, int, Claim]] = []

    def add(self, claim: Claim) -> None:
        """Queue a claim."""
        insort(self._line, (claim.job.run_s, claim.job.place, claim))

    def next(self, machines: Machines) -> tuple[Claim, Any] | None:
        """The next claim that can be met, and its machine."""
        if machines.full:
            return None
        place, refused = 0, set[tuple[int, float]]()  # needs that find no room now
        while place < len(self._line):
            claim = self._line[place][2]
            needs = (claim.job.cores, claim.job.memory_gb)
            if needs in refused:
                place += 1
                continue
            if claim.triggered:  # has given up
                del self._line[place]
                continue
            machine = machines.place(claim.job)
            if machine is not None:
                del self._line[place]
                return claim, machine
            refused.add(needs)
            place += 1
        return None


ORDERS: dict[str, Callable[[], FirstCome | ShortestFirst]] = {"fcfs": FirstCome, "sjf": ShortestFirst}


class Dispatcher:
    """Keeps the queue and promises machines, at the end of each instant.

    plan: by which a balking job knows its wait on arrival. Without one, as under shortest job first, where that takes
    knowledge of the jobs to come, it has it from the future: it stays in the queue unseen, and if it has not started after the
    longest wait it has never been there. That is exact, as waiting jobs hold up nobody there who would start.
    """

    def __init__(
        self,
        env: simpy.Environment,
        machines: Machines,
        queue: FirstCome | ShortestFirst,
        policy: WaitingPolicy,
        plan: Plan | None,
        work_conserving: bool,
    ) -> None:
        self.env, self.machines, self.queue, self.policy, self.plan = env, machines, queue, policy, plan
        self.work_conserving = work_conserving
        self._bell, self._rung = Bell(env), False
        self._waiting = 0
        self._new: list[Claim] = []  # that have come since the last decision
        env.process(self._run())

    def ask(self, job: Arriving) -> Claim:
        """Queue a job; the event returned is triggered with its machine, or with None once its patience has ended."""
        claim = Claim(self.env, job, self._patience_s(job))
        self.queue.add(claim)
        self._waiting += 1
        if self.machines.full:
            self._let_wait(claim)
        else:
            self._new.append(claim)
            self.ring()
        return claim

    def _patience_s(self, job: Arriving) -> float:
        """How long a job stays in the queue, at most."""
        wait_s = 0.0 if job.kind == GOES else self.policy.wait_s
        if self.plan is None:
            return wait_s
        if self.plan.admits(job, wait_s):
            return math.inf
        if job.kind != MISLED:
            return 0.0
        self.plan.lingers(job, wait_s)
        return wait_s

    def _let_wait(self, claim: Claim) -> None:
        """Have a claim given up when its patience ends."""
        if claim.triggered or claim.patience_s == math.inf:
            return
        end = simpy.Event(self.env)
        end._ok, end._value = True, None
        end.callbacks.append(lambda _: self._give_up(claim))
        self.env.schedule(end, AT_LAST, claim.patience_s)

    def _give_up(self, claim: Claim) -> None:
        if not claim.triggered:
            claim.succeed(None)
            self._waiting -= 1
            self.ring()  # the next in line may find room

    def left_s(self, job: Arriving) -> float:
        """Since when a job that runs on demand has done so."""
        foretold = self.policy.balks and job.kind != MISLED
        return job.submit_s if foretold else self.env.now

    def free(self, machine: Any, job: Arriving) -> None:
        """Take back a machine that a job has left."""
        self.machines.free(machine, job)
        self.ring()

    def ring(self) -> None:
        """Have the queue looked at, at the end of the instant."""
        if self._waiting and not self._rung:
            self._rung = True
            self._bell.ring()

    def _run(self) -> Process:
        while True:
            yield self._bell
            self._bell, self._rung = Bell(self.env), False
            while self._waiting and (met := self.queue.next(self.machines)):
                claim, machine = met
                claim.succeed(machine)
                self._waiting -= 1
            if self._waiting:
                for claim in self._new:
                    self._let_wait(claim)
            self._new.clear()


def arrivals(foreseen: Iterable[tuple[Chunk, Kinds]]) -> Iterator[Arriving]:
    """The jobs one by one."""
    places = count()
    for chunk, kinds in foreseen:
        for job in zip(*(column.tolist() for column in (*chunk, kinds))):
            yield Arriving(next(places), *job)


def source(desk: Dispatcher, jobs: Iterable[Arriving], record: Callable[[Row], None]) -> Process:
    """Start the life of each job when it is submitted."""
    env = desk.env
    for job in jobs:
        yield env.timeout(delay_until(env.now, job.submit_s))
        env.process(life(desk, job, record))


def life(desk: Dispatcher, job: Arriving, record: Callable[[Row], None]) -> Process:
    """A job: perhaps a wait, then execution, on a fixed machine or on demand."""
    env = desk.env
    machine = None
    if job.kind != GOES or desk.work_conserving:
        machine = yield desk.ask(job)
    if machine is None:
        start_s = desk.left_s(job)
        yield env.timeout(job.run_s)
    else:
        start_s = env.now
        held = machine.take(job)
        yield env.timeout(job.run_s)
        machine.give_back(job, held)
        desk.free(machine, job)
    record((*job[:5], start_s, machine is None))
