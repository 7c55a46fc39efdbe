"""Compiled runs that start from a state: as in SimPy, up to the last digit of times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.rental.bulk import Bulk, CompiledPolicy, tables
from cgrsp_simpy.rental.job import Job, Met
from cgrsp_simpy.rental.kernel import state as records


class ResumedBulk(Bulk):
    """A compiled run that starts from the state of a `Resumed`."""

    def _state(self) -> records.State:
        resumed: Any = self.scenario
        state, run = resumed.state, super()._state()
        run.now_s[0] = state.now_s
        rows = max(len(run.rows), len(resumed.known_jobs))
        run = run._replace(
            rows=np.zeros(rows, records.JOB),
            slots=np.zeros((rows, run.slots.shape[1]), np.int64),
            free=np.arange(rows),
            due_s=np.empty((len(run.due_s), rows)),
            who=np.empty((len(run.who), rows), np.int64),
        )
        number = run.number
        number["left"], number["free"] = resumed.to_come, rows
        drawn = [(job, draws) for _, job, draws in resumed.arrivals(Draw(self.seed))]
        known = dict(zip(resumed.known_jobs, drawn))
        later = drawn[len(known) :]
        columns = tuple(map(np.array, zip(*[(*job, *draws) for job, draws in later])))
        self.tables = tables([columns] if later else [])
        pending = [self._hold(run, entry, *known[entry.id]) for entry in state.running]
        for order, (_, leaf, at_s) in enumerate(sorted(pending)):
            run.at_s[leaf], run.order[leaf] = at_s, order
        number["order"] = len(pending)
        for entry in sorted(state.waiting, key=lambda entry: entry.id):
            self._wait(run, *known[entry.id])
        idle = run.fleet["row"] < 0
        for group in np.unique(self.setting.group):
            slots = np.flatnonzero(idle & (self.setting.group == group))
            run.idle[group] = slots[0] if len(slots) else len(run.fleet)
        now = state.wake_s is None or state.wake_s <= state.now_s
        number["rung"] = now and idle.any() and bool(state.waiting)
        if not now:
            run.at_s[len(run.fleet) + 1] = state.wake_s
        _set_tree(run)
        return run

    def _row(self, run: records.State, job: Job, draws: Sequence[float]) -> int:
        """Copy a job and its draws to an unused row; return the row's number."""
        run.number["free"] -= 1
        row = int(run.free[run.number["free"]])
        for name, value in zip(records.DRAWN, (*job, *draws)):
            run.rows[row][name] = value
        return row

    def _wait(self, run: records.State, job: Job, draws: Any) -> None:
        """Add a job to the queue, as `kernel.queue.join` does."""
        job_class = self.setting.alike[job.complexity - 1, job.deadline_class]
        key = 0.0 if self.setting.how["first_come"] else job.deadline_s
        number = run.number
        last = run.last[job_class]
        if not last:
            run.turn[number["classes"]] = job_class
            number["classes"] += 1
        due_s, who = run.due_s[job_class], run.who[job_class]
        place = int(np.searchsorted(due_s[:last], key, "right"))
        due_s[place + 1 : last + 1] = due_s[place:last].copy()
        who[place + 1 : last + 1] = who[place:last].copy()
        due_s[place], who[place] = key, self._row(run, job, draws)
        run.last[job_class] += 1
        number["waiting"] += 1

    def _hold(
        self, run: records.State, entry: Any, job: Job, met: Met
    ) -> tuple[float, int, float]:
        """Assign a job its slots, as `kernel.loop.dispatch`.

        Return the time at which its next event was scheduled, its first slot, and the
        event's time.
        """
        resumed: Any = self.scenario
        number = self._row(run, job, ())
        row, gpus = run.rows[number], resumed.gpus_of(entry)
        mean_s = max(gpu.mean_execution_s[job.complexity - 1] for gpu in gpus)
        index = {gpu.name: place for place, gpu in enumerate(resumed.gpus)}
        price = summed(gpu.price_usd_per_h for gpu in gpus)
        first, start_s = entry.slots[0], entry.dispatch_s + met.delay
        row["slot"], row["gpu"], row["status"] = first, index[gpus[0].name], met.status
        row["dispatch_s"], row["price_usd_per_h"] = entry.dispatch_s, price
        row["delay_s"], row["service_s"] = met.delay, met.service * mean_s
        row["finish_s"], row["mean_s"] = entry.dispatch_s + mean_s, mean_s
        run.slots[number, : len(entry.slots)] = entry.slots
        run.fleet[first]["next"] = records.STARTS
        at_s, since_s, started = start_s, entry.dispatch_s, entry.start_s is not None
        if started:
            row["start_s"], run.fleet[first]["next"] = start_s, records.ENDS
            at_s, since_s = start_s + row["service_s"], start_s
        run.number["idle"] -= len(entry.slots)
        for slot, gpu in zip(entry.slots, gpus):
            run.fleet[slot]["row"] = number
            if self.setting.how["rents"]:
                self._rent(run, row, number, slot, gpu, started)
        if self.setting.how["rents"]:
            row["unpaid"] = len(entry.slots)
        return since_s, first, at_s

    def _rent(
        self, run: records.State, row: Any, number: int, slot: int, gpu: Any, up: bool
    ) -> None:
        """Rent a slot's instance, as `kernel.bill.rented` and, if up, `come`."""
        held = run.fleet[slot]
        held["payer"], held["kind"] = number, self.kinds.index(gpu)
        held["since_s"] = math.inf
        if up:
            ordered = self.setting.terms["ordered"]
            held["since_s"] = row["dispatch_s" if ordered else "start_s"]
            if ordered:
                row["provisioning_usd"] += row["delay_s"] * gpu.price_usd_per_h / 3600.0

    def _jobs(self) -> None:
        if self.run.number["left"]:
            super()._jobs()


def _set_tree(run: records.State) -> None:
    """Build the tree of earliest events, as `kernel.queue.schedule` maintains it."""
    for node in range(len(run.at_s) - 1, 0, -1):
        one, other = run.tree[2 * node], run.tree[2 * node + 1]
        keys = [(run.at_s[leaf], run.order[leaf]) for leaf in (one, other)]
        run.tree[node] = other if keys[1] < keys[0] else one


def resumed_bulk(
    scenario: Any, policy: CompiledPolicy, seed: int, keep: bool
) -> Run | None:
    """Run a policy from a state; return None if SimPy must report an error."""
    return ResumedBulk(scenario, policy, seed, (), keep).finish()
