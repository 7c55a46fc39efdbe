"""The processes besides the dispatcher: the source of arrivals, and the life of a job."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any

import simpy

from cgrsp_simpy.engine.dispatcher import Dispatcher, delay_until
from cgrsp_simpy.engine.fleet import Slot
from cgrsp_simpy.engine.tracing import Event, Listener
from cgrsp_simpy.model.job import Draws, Job
from cgrsp_simpy.model.market import Market
from cgrsp_simpy.model.record import Recorder

__all__ = ["Setting", "life", "source"]

Process = Generator[simpy.Event, Any, None]


@dataclass(frozen=True, slots=True)
class Setting:
    """What the processes of one run share. gpu_index: place of a type's name among the scenario's types."""

    env: simpy.Environment
    dispatcher: Dispatcher
    market: Market
    recorder: Recorder
    gpu_index: dict[str, int]
    listener: Listener | None


def source(run: Setting, jobs: Iterable[tuple[Job, Draws]]) -> Process:
    """Start the life of each job when it is submitted."""
    env = run.env
    for job, draws in jobs:
        yield env.timeout(delay_until(env.now, job.submit_s), ("submit", job.id))
        env.process(life(run, job, draws))


def life(run: Setting, job: Job, draws: Draws) -> Process:
    """A job: wait for dispatch, provisioning delay, request of the slots, execution, release, record.

    A job on several slots starts when the last of them is provisioned, and runs at the pace of its slowest type.
    """
    env, market = run.env, run.market
    slots, gpus, mean_s = yield run.dispatcher.submit(job)
    dispatch_s = env.now
    status = market.status(gpus[0], dispatch_s, draws.status)  # thesis Eq. 3.1
    price_usd_per_h = gpus[0].price_usd_per_h
    for gpu in gpus[1:]:
        status = max(status, market.status(gpu, dispatch_s, draws.status))
        price_usd_per_h += gpu.price_usd_per_h
    delay_s = market.provisioning_s(status, draws.delay)
    if run.listener:
        tell(run, "dispatch", job, slots, f"{'+'.join(gpu.name for gpu in gpus)}, {status.name.title()} stock")
    yield env.timeout(delay_s, ("start", job.id))  # thesis Eq. 3.2

    requests = [slot.request() for slot in slots]
    for request in requests:
        assert request.triggered, "a slot was promised to two jobs"  # it is ours: no need to wait for it
    start_s = dispatch_s + delay_s
    if run.listener:
        tell(run, "start", job, slots, f"{delay_s:.2f} s of provisioning, {start_s - job.submit_s:.2f} s of wait in all")
    service_s = mean_s * draws.service  # thesis Eq. 3.12
    yield env.timeout(service_s, ("finish", job.id))

    finish_s = start_s + service_s
    for slot, request in zip(slots, requests):
        slot.release(request)
    if run.listener:
        late_s = finish_s - job.deadline_s
        tell(run, "finish", job, slots, f"{service_s:.2f} s of execution, " + ("late" if late_s > 0 else "in time"))
    cost_usd = service_s * price_usd_per_h / 3600.0  # thesis Eq. 3.11
    first, gpu = slots[0].index, run.gpu_index[gpus[0].name]
    run.recorder.add((*job, dispatch_s, start_s, finish_s, first, gpu, status, delay_s, service_s, cost_usd))
    if len(slots) > 1:
        run.recorder.add_gang(job.id, [(slot.index, run.gpu_index[gpu.name]) for slot, gpu in zip(slots, gpus)])
    run.dispatcher.complete(slots, finish_s)


def tell(run: Setting, kind: str, job: Job, slots: list[Slot], detail: str) -> None:
    """Report an event of a job to the listener."""
    assert run.listener is not None
    run.listener(Event(run.env.now, kind, job.id, tuple(slot.index for slot in slots), detail))
