"""Fixed machines and machines on demand, process by process: jobs wait, give up, balk, or go on
demand at once.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import simpy

from cgrsp_simpy.engine.claims import Held
from cgrsp_simpy.engine.engine import Engine
from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.engine.instant import delay_until
from cgrsp_simpy.model.checks import check_whole
from cgrsp_simpy.waiting.claims import claims_of
from cgrsp_simpy.waiting.jobs import CHUNK, Chunk
from cgrsp_simpy.waiting.orders import Line, order_of
from cgrsp_simpy.waiting.outcome import Outcome
from cgrsp_simpy.waiting.policies import GOES, MISLED, Kinds
from cgrsp_simpy.waiting.resources import (
    Arriving,
    Machines,
    Plan,
    SharedMachines,
    SharedPlan,
    WholeMachines,
    WholePlan,
)
from cgrsp_simpy.waiting.tally import Columns, Tally, joined

if TYPE_CHECKING:
    from cgrsp_simpy.waiting.case import Case

__all__ = ["Simulation", "simulate"]

Process = Generator[simpy.Event, Any, None]
_number = itemgetter(0)


def simulate(case: Case, seed: int = 0, *, keep: bool = False) -> Outcome:
    """Simulate a case under its own policy, in SimPy, until its last job has ended.

    Parameters
    ----------
    case : Case
        What to simulate.
    seed : int
        At least 0.
    keep : bool
        Keep what became of each job, and who held which machine; without it memory does not grow
        with the number of jobs.

    Returns
    -------
    Outcome
        Figures in `summary()`; with `keep`, jobs in `rows()`, `claims` and `timeline`.

    Raises
    ------
    InputError
        For a job that fits on no machine, or a seed that is not allowed.
    PolicyError
        For an order of one's own that answers what cannot be carried out.
    """
    run = Simulation(case, seed, keep=keep)
    run.env.run()
    return run.close()


class Simulation:
    """A case that has been set up, with its source of jobs about to start.

    A balking job that is served in another order than first come first served, where that takes
    knowledge of the jobs to come, stays in the queue unseen, and if it has not started after the
    longest wait it has never been there. With sjf that is exact, as waiting jobs hold up nobody
    there who would start.

    Parameters
    ----------
    case : Case
        What is run.
    seed : int
        Of its random numbers, >= 0.
    listener : callable, optional
        Called with each Event.
    keep : bool
        Keep what became of each job, and who held which machine.

    Raises
    ------
    InputError
        For a seed that is not allowed.
    """

    def __init__(
        self, case: Case, seed: int = 0, listener: Listener | None = None, *, keep: bool = False
    ) -> None:
        check_whole("seed", seed, least=0)
        self.case, self.seed, self.policy = case, seed, case.policy
        env = self.env = simpy.Environment()
        machines: Machines = (
            WholeMachines(case.machines)
            if isinstance(case.machines, int)
            else SharedMachines(case.machines)
        )
        log: list[Held] | None = [] if keep else None
        self.engine = Engine(
            env, machines.places(env), Line(machines), order_of(case.order), listener, log
        )
        self.plan = _plan(case)
        self.ledger = _Ledger(case, keep)
        env.process(self.source(self.arrivals(case.foreseen(seed))))

    def close(self) -> Outcome:
        """What the run leaves, once the last job has ended."""
        self.engine.check_done()
        ledger = self.ledger
        ledger.count()
        if self.engine.log is None:
            return Outcome(self.case, self.seed, ledger.tally)
        jobs = joined(ledger.kept)
        claims = claims_of(self.case.machines, jobs, self.engine.log)
        return Outcome(self.case, self.seed, ledger.tally, jobs, claims)

    def arrivals(self, foreseen: Iterable[tuple[Chunk, Kinds]]) -> Iterator[tuple[Arriving, int]]:
        """The jobs one by one, and what is foreseen for each.

        Parameters
        ----------
        foreseen : iterable of tuple of (Chunk, array)
            As of `Case.foreseen`.

        Yields
        ------
        tuple of (Arriving, int)
            A job, and what is foreseen: WAITS, GOES or MISLED.
        """
        numbers = count(1)
        for chunk, kinds in foreseen:
            self.ledger.chunks.append(chunk)
            columns = (column.tolist() for column in (*chunk, kinds))
            for submit_s, run_s, cores, memory_gb, kind in zip(*columns):
                yield Arriving(next(numbers), submit_s, run_s, cores, memory_gb), kind

    def source(self, jobs: Iterable[tuple[Arriving, int]]) -> Process:
        """Start the process of each job when it is submitted.

        Parameters
        ----------
        jobs : iterable of tuple of (Arriving, int)
            In order of submission, with what is foreseen for each.

        Yields
        ------
        simpy.Event
            To be run by SimPy.
        """
        env = self.env
        for job, kind in jobs:
            yield env.timeout(delay_until(env.now, job.submit_s), ("submit", job.id))
            env.process(self.job_process(job, kind))

    def job_process(self, job: Arriving, kind: int) -> Process:
        """A job: perhaps a wait, then execution, on a fixed machine or on demand.

        Parameters
        ----------
        job : Arriving
            That has just been submitted.
        kind : int
            What is foreseen for it: WAITS, GOES or MISLED.

        Yields
        ------
        simpy.Event
            To be run by SimPy.
        """
        env, engine = self.env, self.engine
        claim = None
        if kind != GOES or self.case.work_conserving:
            claim = yield engine.claim(job, self.patience_s(job, kind))
        elif engine.listener:
            engine.tell("submit", job, engine.state.describe(job))
        if claim is None:
            start_s, ends_in_s = self.on_demand(job, kind)
            yield env.timeout(ends_in_s, ("finish", job.id))
            if engine.listener:
                engine.tell("finish", job, "on demand")
        else:
            start_s = env.now
            claim.acquire()
            if engine.listener:
                engine.tell("start", claim, f"waited {start_s - job.submit_s:.2f} s")
            yield env.timeout(job.run_s, ("finish", job.id))
            if engine.listener:
                engine.tell("finish", claim, f"ran {job.run_s:.2f} s")
            engine.release(claim)
        self.ledger.record((job.id, start_s, claim is None))

    def patience_s(self, job: Arriving, kind: int) -> float:
        """How long a job stays in the queue, at most.

        Parameters
        ----------
        job : Arriving
            That has just been submitted.
        kind : int
            What is foreseen for it.

        Returns
        -------
        float
            Seconds; infinite for no limit.
        """
        wait_s = 0.0 if kind == GOES else self.policy.wait_s
        if self.plan is None:
            return wait_s
        if self.plan.admits(job, wait_s):
            return math.inf
        if kind != MISLED:
            return 0.0
        self.plan.lingers(job, wait_s)
        return wait_s

    def on_demand(self, job: Arriving, kind: int) -> tuple[float, float]:
        """A job goes on demand.

        Parameters
        ----------
        job : Arriving
            The job.
        kind : int
            What is foreseen for it.

        Returns
        -------
        tuple of (float, float)
            Since when it has run there, and how long from now it does, seconds.
        """
        now_s, tell = self.env.now, self.engine.tell
        if self.policy.balks and kind != MISLED and job.submit_s < now_s:
            tell(
                "rents",
                job,
                (
                    f"since {job.submit_s:.2f} s: it foresaw a wait of more than"
                    f" {self.policy.wait_s:g} s"
                ),
            )
            return job.submit_s, delay_until(now_s, job.submit_s + job.run_s)
        if now_s > job.submit_s:
            tell("gives up", job, f"after {now_s - job.submit_s:.2f} s")
        tell("rents", job, f"on demand, for {job.run_s:.2f} s")
        return now_s, job.run_s


def _plan(case: Case) -> Plan | None:
    """By which a balking job knows its wait on arrival, first come, first served; None
    for any other.
    """
    if not case.policy.balks or case.order != "fcfs":
        return None
    return WholePlan(case.machines) if isinstance(case.machines, int) else SharedPlan(case.machines)


class _Ledger:
    """Takes down what becomes of jobs, and counts them chunk by chunk, in order of submission.

    So are they counted by the recursion, and the sums are the same to the bit.

    chunks: jobs that have come and have not been counted.
    """

    def __init__(self, case: Case, keep: bool) -> None:
        self.tally = Tally(case.jobs, case.sizes if case.shared else None, case.steady)
        self.kept: list[Columns] = []
        self.chunks: deque[Chunk] = deque()
        self._keep, self._counted = keep, 0
        self._rows: list[tuple[int, float, bool]] = []  # of jobs: id, start_s, whether on demand
        self._enough = CHUNK

    def record(self, row: tuple[int, float, bool]) -> None:
        """Take down a job that has ended."""
        self._rows.append(row)
        if len(self._rows) >= self._enough:
            self.count()
            self._enough = len(self._rows) + CHUNK

    def count(self) -> None:
        """Count the oldest chunks, up to the first of which a job has not ended."""
        rows = self._rows
        rows.sort(key=_number)
        while self.chunks and self._has_ended(len(self.chunks[0].run_s)):
            chunk = self.chunks.popleft()
            number = len(chunk.run_s)
            place, start_s, on_demand = (np.array(column) for column in zip(*rows[:number]))
            done = Columns(place - 1, chunk, start_s, on_demand)
            del rows[:number]
            self._counted += number
            self.tally.add(done)
            if self._keep:
                self.kept.append(done)

    def _has_ended(self, number: int) -> bool:
        """Whether all of the next jobs have ended, so many."""
        rows = self._rows
        return len(rows) >= number and rows[number - 1][0] == self._counted + number
