"""Fixed machines and machines on demand, process by process: jobs wait, give up, balk, or go on demand at once."""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import simpy

from cgrsp_simpy.engine.claims import Claim, Part
from cgrsp_simpy.engine.engine import Engine
from cgrsp_simpy.engine.instant import delay_until
from cgrsp_simpy.waiting.jobs import Chunk
from cgrsp_simpy.waiting.policies import GOES, MISLED, Kinds, WaitingPolicy
from cgrsp_simpy.waiting.resources import Arriving, Machines, Plan

__all__ = ["ORDERS", "Row", "WaitingRun", "WaitingView", "arrivals"]

Process = Generator[simpy.Event, Any, None]
Row = tuple[int, float, float, int, float, float, bool]
"""What a job leaves: place, submit_s, run_s, cores, memory_gb, start_s, and whether it ran on demand."""


# ---- what a policy sees: jobs in line for fixed machines ----


class WaitingView:
    """Jobs that wait for a fixed machine, and the machines. waiting: the jobs, oldest first. now_s: the clock."""

    def __init__(self, machines: Machines) -> None:
        self.machines, self.now_s = machines, 0.0
        self.waiting: dict[Arriving, Claim] = {}
        self._line: deque[Arriving] = deque()
        self._by_time: list[tuple[float, int, Arriving]] | None = None  # kept from the first time that it is asked for

    def first(self) -> Arriving | None:
        """The job that has waited longest."""
        line = self._line
        while line and line[0] not in self.waiting:
            line.popleft()
        return line[0] if line else None

    def shortest(self) -> list[tuple[float, int, Arriving]]:
        """Jobs by running time, of equals the first to come; those that wait no longer are among them."""
        if self._by_time is None:
            self._by_time = sorted((job.run_s, job.place, job) for job in self.waiting)
        return self._by_time

    # ---- what the engine tells ----

    def view(self, now_s: float) -> WaitingView:
        """Itself, at the time that it is."""
        self.now_s = now_s
        return self

    def summary(self) -> str:
        """What a listing says of a decision."""
        return f"{len(self.waiting)} waiting"

    def describe(self, job: Arriving) -> str:
        """What a listing says of a job that comes to wait."""
        return f"{job.run_s:.2f} s, {job.cores} cores, {job.memory_gb:g} GB"

    def add(self, job: Arriving) -> None:
        """A job waits."""
        self._line.append(job)
        if self._by_time is not None:
            insort(self._by_time, (job.run_s, job.place, job))

    def gave_up(self, job: Arriving) -> None:
        """A job waits no longer; it is passed over when its turn comes."""

    def granted(self, claim: Claim, machine: int) -> Sequence[Part]:
        """A job waits no longer: it has room on a machine."""
        claim.terms = machine
        return self.machines.take(claim.job, machine)

    def released(self, claim: Claim, now_s: float) -> None:  # noqa: ARG002
        """A job has left its machine."""
        self.machines.free(claim.job, claim.terms)


Answer = Iterator[tuple[Arriving, int]]


def first_come(view: WaitingView) -> Answer:
    """First come, first served: while the first finds no room, those behind it wait."""
    while (job := view.first()) is not None and (machine := view.machines.room(job)) is not None:
        yield job, machine


def shortest_first(view: WaitingView) -> Answer:
    """The job of the shortest running time first of those that find room; of equals the first to come."""
    place, line, refused = 0, view.shortest(), set[tuple[int, float]]()  # needs that find no room now
    while place < len(line) and not view.machines.full:
        job = line[place][2]
        needs = (job.cores, job.memory_gb)
        if needs in refused:
            place += 1
        elif job not in view.waiting:  # has given up
            del line[place]
        elif (machine := view.machines.room(job)) is not None:
            del line[place]
            yield job, machine
        else:
            refused.add(needs)
            place += 1


ORDERS: dict[str, Callable[[WaitingView], Answer]] = {"fcfs": first_come, "sjf": shortest_first}


# ---- the processes ----


class WaitingRun:
    """A run: who waits by `policy`, in what order they are served by `order`.

    plan: by which a balking job knows its wait on arrival. Without one, as under shortest job first, where that takes
    knowledge of the jobs to come, a job stays in the queue unseen, and if it has not started after the longest wait it has never
    been there. That is exact, as waiting jobs hold up nobody there who would start.
    """

    def __init__(
        self,
        machines: Machines,
        order: str,
        policy: WaitingPolicy,
        plan: Plan | None,
        work_conserving: bool,
        record: Callable[[Row], None],
    ) -> None:
        self.env = simpy.Environment()
        self.engine = Engine(self.env, machines.places(self.env), WaitingView(machines), ORDERS[order])
        self.policy, self.plan, self.work_conserving, self.record = policy, plan, work_conserving, record

    def source(self, jobs: Iterable[Arriving]) -> Process:
        """Start the process of each job when it is submitted."""
        env = self.env
        for job in jobs:
            yield env.timeout(delay_until(env.now, job.submit_s))
            env.process(self.job_process(job))

    def job_process(self, job: Arriving) -> Process:
        """A job: perhaps a wait, then execution, on a fixed machine or on demand."""
        env = self.env
        claim = None
        if job.kind != GOES or self.work_conserving:
            claim = yield self.engine.claim(job, self.patience_s(job))
        if claim is None:
            start_s = self.left_s(job)
            yield env.timeout(job.run_s)
        else:
            start_s = env.now
            claim.acquire()
            yield env.timeout(job.run_s)
            self.engine.release(claim)
        self.record((job.place, job.submit_s, job.run_s, job.cores, job.memory_gb, start_s, claim is None))

    def patience_s(self, job: Arriving) -> float:
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

    def left_s(self, job: Arriving) -> float:
        """Since when a job that runs on demand has done so."""
        foretold = self.policy.balks and job.kind != MISLED
        return job.submit_s if foretold else self.env.now


def arrivals(foreseen: Iterable[tuple[Chunk, Kinds]]) -> Iterator[Arriving]:
    """The jobs one by one."""
    places = count()
    for chunk, kinds in foreseen:
        for job in zip(*(column.tolist() for column in (*chunk, kinds))):
            yield Arriving(next(places), *job)
