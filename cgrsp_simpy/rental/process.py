"""Job processes on rented GPUs, under the thesis's terms of renting and others."""

from __future__ import annotations

import math
from typing import Any

import simpy

from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.market.model import LOW
from cgrsp_simpy.rental.instances import RentedJob, provisioning
from cgrsp_simpy.rental.job import Draws, Job


def job_process(run: Simulation, job: Job) -> Process:
    """Wait for dispatch and provisioning, execute the job, and record it.

    A job on several slots starts when the last of them is provisioned, and runs at the
    speed of its slowest type.
    """
    draws: Draws = run.hidden[job]
    with run.claim(job, request=False) as claim:
        yield claim
        gpus, mean_s = claim.terms  # by View.parse_assignment
        status, delay_s = provisioning(run.stock, gpus, claim.granted_s, draws)
        if run.listener:
            names = "+".join(gpu.name for gpu in gpus)
            run.emit("dispatch", claim, f"{names}, {status.name.title()} stock")
        yield run.timeout(delay_s)

        with claim.request() as turn:
            yield turn
            service_s = mean_s * draws.service  # thesis Eq. 3.12
            yield run.timeout(service_s)

    price_usd_per_h = gpus[0].price_usd_per_h
    for gpu in gpus[1:]:  # mostly none
        price_usd_per_h += gpu.price_usd_per_h
    cost_usd = service_s * price_usd_per_h / 3600.0  # thesis Eq. 3.11
    slot, gpu = claim.parts[0][0], run.gpu_index[gpus[0].name]
    run.record(job, slot, gpu, status, delay_s, service_s, cost_usd)


def renting_job_process(run: Simulation, job: Job) -> Process:
    """Run a job that may be refused, suspended or preempted, and then waits again.

    It ends when the job's last instance is paid, which may stay warm after the job.
    """
    rented = RentedJob(run.renting, job, run.hidden[job])
    while not rented.done:
        with run.claim(job, request=False) as claim:
            yield claim
            delay_s = rented.rent(claim)
            if delay_s is not None:
                try:
                    yield run.timeout(delay_s, ("start", job.id))
                    with claim.request() as turn:
                        yield turn
                        yield run.timeout(rented.start(), ("finish", job.id))
                except simpy.Interrupt as interrupt:
                    rented.stop(interrupt.cause)
                else:
                    rented.finish()
        if delay_s is None:  # refused
            yield run.timeout(run.renting.terms.retry_s, ("retry", job.id))
    run.mark_finished(job)
    yield rented.all_paid


def slot_process(run: Simulation, number: int) -> Process:
    """Close a slot outside its hours, and order it again when they begin.

    `run.view._closed` maps a closed slot to the time until which it is billed, seconds.
    """
    slot, opening = run.resources[number], run.model.opening
    draw = run.draw("opening", number)
    for open_s, close_s in opening.spans_s(number, run.model.market.clock.start_h):
        ordered_s = open_s
        if open_s > 0:
            run.view._closed.setdefault(number, 0.0)
            with run.down(slot, interrupt=False):
                yield run.timeout(open_s - run.now_s)
                if number in run.view._busy:  # with a job of its last hours
                    run.view.bill_overtime(number)
                else:
                    ordered_s = yield from _order(run, slot, draw, close_s)
            del run.view._closed[number]
        if close_s == math.inf:
            return
        yield run.timeout(close_s - run.now_s)
        least_s = opening.minimum_s if ordered_s < close_s else 0.0
        billed_s = max(close_s, ordered_s + least_s)
        run.records.tally.more["overtime_h"] += (
            open_s - ordered_s + billed_s - close_s
        ) / 3600.0
        run.view._closed[number] = billed_s
        if number in run.view._warm:
            run.view._warm[number].end_warm()


def _order(run: Simulation, slot: Any, draw: Any, close_s: float) -> Process:
    """Order and boot a slot; return the time of the order, or close_s if refused."""
    terms, boot_s = run.model.terms, run.model.opening.boot_s
    while run.now_s < close_s:
        status_draw, delay_draw = draw.random(2).tolist()
        draws = Draws(status_draw, delay_draw, 1.0)
        status, delay_s = provisioning(run.stock, [slot.kind], run.now_s, draws)
        ordered_s = run.now_s
        is_refused = terms.retry_s is not None and status == LOW
        wait_s = terms.retry_s if is_refused else boot_s + delay_s
        yield run.timeout(min(wait_s, close_s - ordered_s))
        if not is_refused:
            return ordered_s
    return close_s
