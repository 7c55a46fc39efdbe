"""The life of a job on rented GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.rental.gpu import GpuType
from cgrsp_simpy.rental.job import Draws, Job
from cgrsp_simpy.rental.market import Status
from cgrsp_simpy.rental.stock import Stock


def life(run: Simulation, job: Job) -> Process:
    """A job: wait for dispatch, provisioning, request, execution, release.

    A job on several slots starts when the last of them is provisioned, and runs at the pace of its
    slowest type.
    """
    draws: Draws = run.luck[job]
    with run.claim(job, start=False) as claim:
        yield claim
        gpus, mean_s = claim.terms
        status, delay_s = provisioning(run.stock, gpus, run.env.now, draws)
        if run.listener:
            names = "+".join(gpu.name for gpu in gpus)
            run.tell("dispatch", claim, f"{names}, {status.name.title()} stock")
        yield run.timeout(delay_s)

        claim.start()
        service_s = mean_s * draws.service  # thesis Eq. 3.12
        yield run.timeout(service_s)

    price_usd_per_h = gpus[0].price_usd_per_h
    for gpu in gpus[1:]:
        price_usd_per_h += gpu.price_usd_per_h
    cost_usd = service_s * price_usd_per_h / 3600.0  # thesis Eq. 3.11
    slot, gpu = claim.parts[0][0], run.gpu_index[gpus[0].name]
    run.note(job, slot, gpu, status, delay_s, service_s, cost_usd)


def provisioning(
    stock: Stock, gpus: Sequence[GpuType], time_s: float, draws: Draws
) -> tuple[Status, float]:
    """The stock status that a dispatch meets, the scarcest of its types, and the provisioning delay
    in seconds.
    """
    status = stock.status(gpus[0], time_s, draws.status)  # thesis Eq. 3.1
    for gpu in gpus[1:]:
        status = max(status, stock.status(gpu, time_s, draws.status))
    delay_s = stock.market.provisioning_s(status, draws.delay)  # thesis Eq. 3.2
    return status, delay_s
