"""The processes besides the dispatcher: the source of arrivals, and a job's."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import simpy

from cgrsp_simpy.engine.engine import Engine
from cgrsp_simpy.engine.instant import delay_until
from cgrsp_simpy.rental.gpu import GpuType
from cgrsp_simpy.rental.job import Draws, Job
from cgrsp_simpy.rental.market import Market, Status
from cgrsp_simpy.rental.record import Recorder
from cgrsp_simpy.rental.stock import Stock

__all__ = ["Process", "Setting", "job_process", "provisioning", "source"]

Process = Generator[simpy.Event, Any, None]  # what SimPy runs


@dataclass(frozen=True, slots=True)
class Setting:
    """What the processes of one run share.

    stock: what a dispatch meets. gpu_index: place of a type's name among the scenario's
    types.
    """

    env: simpy.Environment
    engine: Engine
    market: Market
    stock: Stock
    recorder: Recorder
    gpu_index: dict[str, int]


def source(
    env: simpy.Environment,
    jobs: Iterable[tuple[Job, Draws]],
    process: Callable[[Job, Draws], Process],
) -> Process:
    """Start the process of each job when it is submitted."""
    for job, draws in jobs:
        yield env.timeout(delay_until(env.now, job.submit_s), ("submit", job.id))
        env.process(process(job, draws))


def provisioning(
    stock: Stock, gpus: Sequence[GpuType], time_s: float, draws: Draws
) -> tuple[Status, float]:
    """The stock status that a dispatch meets, the scarcest of its types, and the
    provisioning delay in seconds.
    """
    status = stock.status(gpus[0], time_s, draws.status)  # thesis Eq. 3.1
    for gpu in gpus[1:]:
        status = max(status, stock.status(gpu, time_s, draws.status))
    delay_s = stock.market.provisioning_s(status, draws.delay)  # thesis Eq. 3.2
    return status, delay_s


def job_process(run: Setting, job: Job, draws: Draws) -> Process:
    """A job: wait for dispatch, provisioning, request, execution, release, record.

    A job on several slots starts when the last of them is provisioned, and runs at the
    pace of its slowest type.
    """
    env, engine = run.env, run.engine
    claim = yield engine.claim(job)
    dispatch_s = env.now
    gpus, mean_s = claim.terms
    status, delay_s = provisioning(run.stock, gpus, dispatch_s, draws)
    if engine.listener:
        names = "+".join(gpu.name for gpu in gpus)
        engine.tell("dispatch", claim, f"{names}, {status.name.title()} stock")
    yield env.timeout(delay_s, ("start", job.id))

    claim.acquire()
    start_s = dispatch_s + delay_s
    if engine.listener:
        wait_s = start_s - job.submit_s
        detail = f"{delay_s:.2f} s of provisioning, {wait_s:.2f} s of wait in all"
        engine.tell("start", claim, detail)
    service_s = mean_s * draws.service  # thesis Eq. 3.12
    yield env.timeout(service_s, ("finish", job.id))

    finish_s = start_s + service_s
    if engine.listener:
        late = "late" if finish_s > job.deadline_s else "in time"
        engine.tell("finish", claim, f"{service_s:.2f} s of execution, {late}")
    price_usd_per_h = gpus[0].price_usd_per_h
    for gpu in gpus[1:]:
        price_usd_per_h += gpu.price_usd_per_h
    cost_usd = service_s * price_usd_per_h / 3600.0  # thesis Eq. 3.11
    first, gpu = claim.parts[0][0], run.gpu_index[gpus[0].name]
    met = status, delay_s, service_s, cost_usd
    run.recorder.add((*job, dispatch_s, start_s, finish_s, first, gpu, *met))
    if len(gpus) > 1:
        slots = [slot for slot, _ in claim.parts]
        types = [run.gpu_index[gpu.name] for gpu in gpus]
        run.recorder.add_gang(job.id, list(zip(slots, types)))
    engine.release(claim)
