"""Compiled runs that start from a state, with SimPy's bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.rental import kernel
from cgrsp_simpy.rental.bulk import Bulk, Made, tables
from cgrsp_simpy.rental.job import Job, Met


class ResumedBulk(Bulk):
    """A compiled run from the state of a `Resumed`."""

    def _state(self) -> kernel.State:
        resumed: Any = self.scenario
        state, run = resumed.state, super()._state()
        run.now_s[0] = state.now_s
        rows = max(len(run.rows), len(resumed.known_jobs))
        run = run._replace(
            rows=np.zeros((rows, run.rows.shape[1])),
            free=np.arange(rows),
            due_s=np.empty((len(run.due_s), rows)),
            who=np.empty((len(run.who), rows), np.int64),
        )
        number = run.number
        number[[kernel.LEFT, kernel.FREE]] = resumed.to_come, rows
        drawn = [(job, draws) for _, job, draws in resumed.arrivals(Draw(self.seed))]
        known = dict(zip(resumed.known_jobs, drawn))
        later = drawn[len(known) :]
        columns = tuple(map(np.array, zip(*[(*job, *draws) for job, draws in later])))
        self.tables = tables([columns] if later else [])
        pending = [self._hold(run, entry, *known[entry.id]) for entry in state.running]
        for order, (_, leaf, at_s) in enumerate(sorted(pending)):
            run.at_s[leaf], run.order[leaf] = at_s, order
        number[kernel.ORDER] = len(pending)
        for entry in sorted(state.waiting, key=lambda entry: entry.id):
            self._wait(run, *known[entry.id])
        idle = run.row < 0
        for group in np.unique(self.setting.group):
            slots = np.flatnonzero(idle & (self.setting.group == group))
            run.idle[group] = slots[0] if len(slots) else len(run.row)
        now = state.wake_s is None or state.wake_s <= state.now_s
        number[kernel.RUNG] = now and idle.any() and bool(state.waiting)
        if not now:
            run.at_s[len(run.row) + 1] = state.wake_s
        _set_tree(run)
        return run

    def _row(self, run: kernel.State, job: Job, draws: Any) -> int:
        """Fill an unused row with a job and its draws; return its number."""
        run.number[kernel.FREE] -= 1
        row = int(run.free[run.number[kernel.FREE]])
        run.rows[row, : kernel.DISPATCH] = job
        run.rows[row, kernel.STATUS : kernel.STATUS + 3] = draws
        return row

    def _wait(self, run: kernel.State, job: Job, draws: Any) -> None:
        """Add a job to the queue, as `kernel.join`."""
        job_class, key = 0, 0.0
        if not self.setting.how[kernel.FIRST_COME]:
            job_class = self.setting.alike[job.complexity - 1, job.deadline_class]
            key = job.deadline_s
        last, turn = run.last[job_class], run.turn
        if not last:
            turn[run.number[kernel.CLASSES]] = job_class
            run.number[kernel.CLASSES] += 1
        due_s, who = run.due_s[job_class], run.who[job_class]
        place = int(np.searchsorted(due_s[:last], key, "right"))
        due_s[place + 1 : last + 1] = due_s[place:last].copy()
        who[place + 1 : last + 1] = who[place:last].copy()
        due_s[place], who[place] = key, self._row(run, job, draws)
        run.last[job_class] += 1
        run.number[kernel.WAITING] += 1

    def _hold(
        self, run: kernel.State, entry: Any, job: Job, met: Met
    ) -> tuple[float, int, float]:
        """Give a job its slots, as `kernel.dispatch`; return since when its next event
        is scheduled, its first slot, and the time of the event.
        """
        resumed: Any = self.scenario
        number = self._row(run, job, met)
        row, gpus = run.rows[number], resumed.gpus_of(entry)
        mean_s = max(gpu.mean_execution_s[job.complexity - 1] for gpu in gpus)
        index = {gpu.name: place for place, gpu in enumerate(resumed.gpus)}
        price = gpus[0].price_usd_per_h
        for gpu in gpus[1:]:
            price += gpu.price_usd_per_h
        row[kernel.SLOT], row[kernel.GPU] = entry.slots[0], index[gpus[0].name]
        row[kernel.DISPATCH], row[kernel.COST] = entry.dispatch_s, price
        row[kernel.FINISH] = entry.dispatch_s + mean_s
        row[kernel.SERVICE] = met.service * mean_s
        row[-1 : -len(entry.slots) : -1] = entry.slots[1:]
        first, start_s = entry.slots[0], entry.dispatch_s + met.delay
        run.next[first] = kernel.STARTS
        at_s, since_s, started = start_s, entry.dispatch_s, entry.start_s is not None
        if started:
            row[kernel.START], run.next[first] = start_s, kernel.ENDS
            at_s, since_s = start_s + row[kernel.SERVICE], start_s
        run.number[kernel.IDLE] -= len(entry.slots)
        for slot, gpu in zip(entry.slots, gpus):
            run.row[slot] = number
            if self.setting.how[kernel.RENTS]:
                self._rent(run, row, number, slot, gpu, started)
        if self.setting.how[kernel.RENTS]:
            row[kernel.UNPAID] = len(entry.slots)
        return since_s, first, at_s

    def _rent(
        self, run: kernel.State, row: Any, number: int, slot: int, gpu: Any, up: bool
    ) -> None:
        """Rent the instance of a slot, as `kernel.rented` and, if it is up, `come`."""
        run.payer[slot], run.kind[slot] = number, self.kinds.index(gpu)
        run.since_s[slot] = math.inf
        if up:
            ordered = self.setting.terms[3]
            run.since_s[slot] = row[kernel.DISPATCH if ordered else kernel.START]
            if ordered:
                usd = row[kernel.DELAY] * gpu.price_usd_per_h / 3600.0
                row[kernel.PROVISIONING_USD] += usd

    def _jobs(self) -> None:
        if self.run.number[kernel.LEFT]:
            super()._jobs()


def _set_tree(run: kernel.State) -> None:
    """Set the tree of the earliest leaves from the leaves, as `kernel.comes` keeps
    it.
    """
    for node in range(len(run.at_s) - 1, 0, -1):
        one, other = run.tree[2 * node], run.tree[2 * node + 1]
        keys = [(run.at_s[leaf], run.order[leaf]) for leaf in (one, other)]
        run.tree[node] = other if keys[1] < keys[0] else one


def resumed_bulk(scenario: Any, policy: Made, seed: int, keep: bool) -> Run | None:
    """Run a policy from a state; None if SimPy must report an error."""
    return ResumedBulk(scenario, policy, seed, (), keep).finish()
