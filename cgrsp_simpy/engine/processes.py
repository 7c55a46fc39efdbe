"""The processes besides the dispatcher: the source of arrivals, and the life of a job."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any

import simpy

from cgrsp_simpy.engine.dispatcher import Dispatcher
from cgrsp_simpy.engine.fleet import Slot
from cgrsp_simpy.engine.tracing import Event, Listener
from cgrsp_simpy.model.job import Draws, Job
from cgrsp_simpy.model.market import HIGH, Market
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
        while env.now < job.submit_s:  # a second, tiny step where now + (submit - now) rounds to below submit
            yield env.timeout(job.submit_s - env.now)
        env.process(life(run, job, draws))


def life(run: Setting, job: Job, draws: Draws) -> Process:
    """A job: wait for dispatch, provisioning delay, request of the slots, execution, release, record.

    A job on several slots starts when the last of them is provisioned, and runs at the pace of its slowest type.
    """
    env, market = run.env, run.market
    slots, gpus = yield run.dispatcher.submit(job)
    dispatch_s = env.now
    status, mean_s, price_usd_per_h = HIGH, 0.0, 0.0
    for gpu in gpus:
        status = max(status, market.status(gpu, dispatch_s, draws.status))  # thesis Eq. 3.1
        mean_s = max(mean_s, gpu.mean_execution_s[job.complexity - 1])
        price_usd_per_h += gpu.price_usd_per_h
    delay_s = market.provisioning_s(status, draws.delay)
    if run.listener:
        tell(run, "dispatch", job, slots, f"{'+'.join(gpu.name for gpu in gpus)}, {status.name.title()} stock")
    yield env.timeout(delay_s)  # thesis Eq. 3.2

    requests = [slot.request() for slot in slots]
    for request in requests:
        assert request.triggered, "a slot was promised to two jobs"
        yield request
    start_s = env.now
    if run.listener:
        tell(run, "start", job, slots, f"{delay_s:.2f} s of provisioning, {start_s - job.submit_s:.2f} s of wait in all")
    service_s = mean_s * draws.service  # thesis Eq. 3.12
    yield env.timeout(service_s)

    finish_s = env.now
    for slot, request in zip(slots, requests):
        slot.release(request)
    if run.listener:
        late_s = finish_s - job.deadline_s
        tell(run, "finish", job, slots, f"{service_s:.2f} s of execution, " + ("late" if late_s > 0 else "in time"))
    cost_usd = service_s * price_usd_per_h / 3600.0  # thesis Eq. 3.11
    # fmt: off
    run.recorder.add((
        job.id, job.complexity, job.tight, job.gpus, job.submit_s, job.deadline_s, dispatch_s, start_s, finish_s,
        slots[0].index, run.gpu_index[gpus[0].name], status, delay_s, service_s, cost_usd,
    ))
    # fmt: on
    run.dispatcher.complete(slots)


def tell(run: Setting, kind: str, job: Job, slots: list[Slot], detail: str) -> None:
    """Report an event of a job to the listener."""
    assert run.listener is not None
    run.listener(Event(run.env.now, kind, job.id, tuple(slot.index for slot in slots), detail))
