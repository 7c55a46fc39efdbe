"""The event loop of a run."""

from __future__ import annotations

import math

from cgrsp_simpy.base.compiled import inlined, standalone
from cgrsp_simpy.engine.events import delay_until
from cgrsp_simpy.rental.kernel.bill import (
    come,
    done,
    end_idle,
    release_instance,
    rented,
)
from cgrsp_simpy.rental.kernel.queue import join, offer, schedule
from cgrsp_simpy.rental.kernel.rules import by_law, by_rules, held
from cgrsp_simpy.rental.kernel.state import (
    DECIDE,
    ENDED,
    ENDS,
    EXPIRES,
    FAILED,
    JOBS,
    ROOM,
    ROWS,
    SEEN,
    STARTS,
    STOCK,
    Setting,
    State,
)
from cgrsp_simpy.rental.kernel.triage import by_cost
from cgrsp_simpy.rental.policies.outlook import Forecasts


@inlined
def dispatch(
    run: State, setting: Setting, row: int, nth: int, kind: int, slot: int
) -> None:
    """Assign a job one of its slots, as a type; the last assignment dispatches it."""
    now_s = run.now_s[0]
    job = run.rows[row]
    first, status, rents = slot, -1, setting.how.rents
    if not (rents and rented(run, setting, row, kind, slot)):
        uniform = held(run, kind, now_s) if setting.holds[kind] else job.status_draw
        status = by_law(setting, kind, now_s, uniform)
    mean_s = setting.mean_s[kind, job.complexity - 1]
    price_usd_per_h = setting.price[kind]
    run.slots[row, nth] = slot
    if nth:
        first = job.slot
        status, mean_s = max(status, job.status), max(mean_s, job.mean_s)
        price_usd_per_h += job.price_usd_per_h
    else:
        job.slot, job.gpu = slot, setting.gpu[kind]
    job.status, job.mean_s, job.price_usd_per_h = status, mean_s, price_usd_per_h
    if nth + 1 < job.gpus:
        return
    if rents:
        job.warm_starts, job.unpaid = int(status < 0), job.gpus
    least_s, most_s = setting.delay_s[status, 0], setting.delay_s[status, 1]
    job.delay_s = least_s + (most_s - least_s) * job.delay_draw  # thesis Eq. 3.2
    job.service_s = job.service_draw * mean_s  # thesis Eq. 3.12
    job.dispatch_s, job.status, job.finish_s = now_s, max(0, status), now_s + mean_s
    run.fleet[first].next = STARTS
    run.number.waiting -= 1
    schedule(run, first, now_s + job.delay_s)


@inlined
def announce(run: State) -> None:
    """Schedule the next arrival; immediately, if its time has passed."""
    at_s, now_s = run.jobs[run.number.next].submit_s, run.now_s[0]
    schedule(run, len(run.fleet), now_s + delay_until(now_s, at_s))


@inlined
def vacate(run: State, setting: Setting, slot: int) -> None:
    """Make a slot idle, and keep or return its instance."""
    now_s = run.now_s[0]
    run.fleet[slot].held_s += now_s - run.rows[run.fleet[slot].row].dispatch_s
    run.fleet[slot].row = -1
    run.number.idle += 1
    if setting.terms.warm_s:
        run.fleet[slot].next = EXPIRES
        schedule(run, slot, now_s + setting.terms.warm_s)
    elif setting.how.rents:
        release_instance(run, setting, slot)
    offer(run, setting, slot)


@inlined
def end(run: State, setting: Setting, first: int) -> None:
    """End the job whose first slot is given."""
    row = run.fleet[first].row
    job = run.rows[row]
    job.finish_s = run.now_s[0]
    job.cost_usd = job.service_s * job.price_usd_per_h / 3600.0  # thesis Eq. 3.11
    schedule(run, first, math.inf)
    vacate(run, setting, first)
    for nth in range(1, job.gpus):
        vacate(run, setting, run.slots[row, nth])
    if not setting.how.rents:
        done(run, row)


@inlined
def expire(run: State, setting: Setting, slot: int) -> None:
    """Return a warm instance that no job used in time."""
    end_idle(run, setting, slot)
    release_instance(run, setting, slot)
    schedule(run, slot, math.inf)
    offer(run, setting, slot)


@inlined
def carry_out(run: State, setting: Setting) -> None:
    """Dispatch the jobs that a decision assigned."""
    number = run.number
    for sent in run.sent[: number.sent]:
        dispatch(run, setting, sent.row, sent.nth, sent.kind, sent.slot)
    number.sent = number.rung = 0
    number.decisions += 1


@inlined
def until_decision(run: State, setting: Setting) -> int:
    """Process events until the policy decides, data are needed or the run ends."""
    number, kinds = run.number, len(setting.price)
    while True:
        if number.open:
            if number.next < number.loaded:
                announce(run)
            elif number.left:
                return JOBS
            else:
                schedule(run, len(run.fleet), math.inf)
            number.open = 0
        leaf = run.tree[1]
        at_s = run.at_s[leaf]
        if number.rung and at_s > run.now_s[0]:  # after all else of this instant
            if setting.how.by_score == 2 and number.looked + kinds > len(run.seen):
                return SEEN
            if run.now_s[0] >= run.horizon_s[0]:
                return STOCK
            return DECIDE  # some job waits: else no event asks for a decision
        if at_s == math.inf:
            return FAILED if number.waiting else ENDED
        if number.done >= len(run.out) - len(run.fleet):
            return ROWS
        run.now_s[0] = at_s
        if leaf == len(run.fleet):
            if not join(run, setting):
                return ROOM
            number.open = 1
            number.rung |= number.idle > 0
        elif leaf > len(run.fleet):
            schedule(run, leaf, math.inf)
            number.rung |= number.waiting > 0 and number.idle > 0
        elif run.fleet[leaf].next == ENDS:
            end(run, setting, leaf)
            number.rung |= number.waiting > 0
        elif run.fleet[leaf].next == EXPIRES:
            expire(run, setting, leaf)
        else:
            job = run.rows[run.fleet[leaf].row]
            job.start_s, run.fleet[leaf].next = at_s, ENDS
            if setting.how.rents:
                come(run, setting, leaf)
            schedule(run, leaf, at_s + job.service_s)


@standalone
def advance(run: State, setting: Setting, forecasts: Forecasts | None) -> int:
    """Process events until data are needed or the run ends; return which.

    forecasts: for triage; None for decisions by rules. It is compiled once for each.
    """
    while True:
        need = until_decision(run, setting)
        if need != DECIDE:
            return need
        if forecasts is None:
            if run.at_s[len(run.fleet) + 1] < math.inf:  # set in the run's first state
                schedule(run, len(run.fleet) + 1, math.inf)
            succeeded = by_rules(run, setting)
        else:
            succeeded = by_cost(run, setting, forecasts)
        if not succeeded:
            return FAILED
        carry_out(run, setting)
