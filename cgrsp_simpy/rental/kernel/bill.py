"""Instances under terms other than the thesis's, and their costs."""

from __future__ import annotations

import math

from cgrsp_simpy.base.compiled import called, inlined
from cgrsp_simpy.rental.kernel.queue import schedule
from cgrsp_simpy.rental.kernel.state import Setting, State
from cgrsp_simpy.rental.terms import rounding_s

called(rounding_s)


@inlined
def rented(run: State, setting: Setting, row: int, kind: int, slot: int) -> bool:
    """Rent the instance of a slot for a job; return whether it is a warm one."""
    warm = False
    if run.fleet[slot].payer >= 0:
        end_idle(run, setting, slot)
        warm = run.fleet[slot].kind == kind
        if warm:
            paid(run, slot)
        else:
            release_instance(run, setting, slot)
        schedule(run, slot, math.inf)
    run.fleet[slot].payer, run.fleet[slot].kind = row, kind
    if not warm:
        run.fleet[slot].since_s = math.inf
    return warm


@inlined
def come(run: State, setting: Setting, first: int) -> None:
    """Start the instances of a job; bill a warm one for waiting for the others."""
    row = run.fleet[first].row
    job = run.rows[row]
    for nth in range(job.gpus):
        slot = run.slots[row, nth]
        usd = job.delay_s * setting.price[run.fleet[slot].kind] / 3600.0
        if run.fleet[slot].since_s < math.inf:
            job.idle_usd += usd
            continue
        run.fleet[slot].since_s = run.now_s[0]
        if setting.terms.ordered:
            run.fleet[slot].since_s = job.dispatch_s
            job.provisioning_usd += usd


@inlined
def end_idle(run: State, setting: Setting, slot: int) -> None:
    """End the warm time of an instance and bill it."""
    now_s = run.now_s[0]
    job = run.rows[run.fleet[slot].payer]
    kept = run.kept[run.number.intervals]
    job.idle_usd += (
        (now_s - job.finish_s) * setting.price[run.fleet[slot].kind] / 3600.0
    )
    kept.job, kept.slot, kept.from_s, kept.to_s = job.id, slot, job.finish_s, now_s
    run.number.intervals += 1


@inlined
def release_instance(run: State, setting: Setting, slot: int) -> None:
    """Return an instance to the market, and bill the rounding."""
    job = run.rows[run.fleet[slot].payer]
    used_s = run.now_s[0] - run.fleet[slot].since_s
    more_s = rounding_s(used_s, setting.terms.minimum_s, setting.terms.increment_s)
    job.rounding_usd += more_s * setting.price[run.fleet[slot].kind] / 3600.0
    paid(run, slot)


@inlined
def paid(run: State, slot: int) -> None:
    """End a job's payments for an instance; after the last, record the job."""
    job = run.rows[run.fleet[slot].payer]
    job.unpaid -= 1
    if not job.unpaid:
        done(run, run.fleet[slot].payer)
    run.fleet[slot].payer = -1


@inlined
def done(run: State, row: int) -> None:
    """Record a completed job and free its row."""
    number = run.number
    run.out[number.done] = run.rows[row]
    for nth in range(run.rows[row].gpus):
        run.out_slots[number.done, nth] = run.slots[row, nth]
    run.free[number.free] = row
    number.done += 1
    number.free += 1
