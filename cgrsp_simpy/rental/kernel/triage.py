"""Decisions by triage."""

from __future__ import annotations

import math

from cgrsp_simpy.base.compiled import called, inlined
from cgrsp_simpy.engine.events import delay_until
from cgrsp_simpy.market.stock import last_poll_s
from cgrsp_simpy.rental.kernel.queue import leave, offered, schedule, send
from cgrsp_simpy.rental.kernel.state import Setting, State
from cgrsp_simpy.rental.policies import triage
from cgrsp_simpy.rental.policies.outlook import (
    Forecasts,
    band_at,
    beyond,
    completed,
    until_s,
)
from cgrsp_simpy.rental.policies.triage import Queue

CALLED = (
    *(band_at, beyond, completed, delay_until, last_poll_s, until_s),
    *triage.COMPILED,
)
for function in CALLED:
    called(function)


@inlined
def by_cost(run: State, setting: Setting, forecasts: Forecasts) -> bool:
    """Dispatch jobs as triage does; return False if it would wake at once."""
    number, now_s = run.number, run.now_s[0]
    band, turn = band_at(forecasts, now_s), run.turn[: run.number.classes]
    queue = Queue(run.due_s, run.first, run.last, setting.weight, setting.level, turn)
    delays, chances = forecasts.delays[band], forecasts.later[band]
    now = triage.moment_of(forecasts, setting.of_order, queue, delays, chances, now_s)
    line_usd, left, again_s = triage.line_of(now), number.waiting, math.inf
    run.taken[:] = 0
    while number.idle:
        offers = run.offers[: on_offer(run, setting)]
        fronts = run.fronts[: triage.set_fronts(now, run.taken, run.fronts)]
        for front in fronts:
            job = run.rows[run.who[front.job_class, front.at]]
            front.id, front.gpus = job.id, job.gpus
        place, again_s = triage.choose(now, fronts, offers, line_usd, left)
        if place < 0 or fronts[place].gpus > number.idle:
            break
        front, left = fronts[place], left - 1
        kind = offers[front.offer]
        row = run.who[front.job_class, front.at]
        for nth in range(front.gpus):
            if nth:
                offers = run.offers[: on_offer(run, setting)]
                kind = offers[triage.soonest(now, offers)]
            kind %= len(setting.price)
            slot = run.idle[0 if setting.how.free_types else kind]
            send(run, setting, row, nth, kind, slot)
        run.taken[front.job_class, front.part] += 1
    for job_class in turn:
        for part in range(2):
            at = triage.late_of(now, job_class) if part else run.first[job_class]
            for _ in range(run.taken[job_class, part]):
                at += leave(run, job_class, at)
    at_s = now_s + max(setting.of_order[5], again_s)
    schedule(run, len(run.fleet) + 1, now_s + delay_until(now_s, at_s))
    return bool(at_s > now_s)


@inlined
def on_offer(run: State, setting: Setting) -> int:
    """As `offered`; a type with a warm slot has its index plus the number of types."""
    number, types = offered(run, setting), len(setting.price)
    for place in range(number):
        kind = run.offers[place]
        slot = run.idle[0 if setting.how.free_types else kind]
        run.offers[place] += types * (
            run.fleet[slot].payer >= 0 and run.fleet[slot].kind == kind
        )
    return number
