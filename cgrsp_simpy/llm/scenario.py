"""LLM inference requests on a cluster of GPUs: what their schedulers are simulated, compared and
swept on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.places import Place, pools
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.llm.policies import (
    SCHEDULERS,
    Request,
    RequestPolicy,
    Stepped,
    View,
    Waves,
)
from cgrsp_simpy.llm.requests import LlmCluster, RequestList, printed_requests
from cgrsp_simpy.model.checks import check_bool, check_number, require
from cgrsp_simpy.model.metric import Metric
from cgrsp_simpy.model.streams import Draw
from cgrsp_simpy.model.timeline import Timeline

MOST_STEPS = 10**9  # a minute of adding them up
ASKED = ("arrival_s", "prompt_tokens", "output_tokens", "weight", "gpus")
# of waits, by the name of their figure
WAIT_PERCENTILES = {"wait_p50_s": 50, "wait_p90_s": 90, "wait_p99_s": 99}

# what the figures of a run are
METRICS = {
    "weighted_response": Metric("weighted time from arrival to completion", "s"),  # hgsp.txt Eq. 16
    "mean_response_s": Metric("mean time from arrival to completion", "s"),
    "mean_wait_s": Metric("mean wait", "s"),
    "wait_p50_s": Metric("median wait", "s"),
    "wait_p90_s": Metric("90th percentile of the wait", "s"),
    "wait_p99_s": Metric("99th percentile of the wait", "s"),
    "makespan_s": Metric("last completion", "s"),
    "completed": Metric("requests completed in time", "", "more"),
    "completion_rate_pct": Metric("requests completed in time", "%", "more"),
    "utilisation_pct": Metric("GPUs in use", "%", "more"),
}


@dataclass(frozen=True)
class Scenario(Model):
    """LLM inference requests on a cluster: all that a run depends on, but the scheduler.

    Under fifo and wsrpt, requests start in their order, each on its tau GPUs at once. The first of
    the order is never overtaken: if it needs more GPUs than are idle, those stay idle until it fits
    (the paper does not say; this is ours).

    Parameters
    ----------
    source : RequestList
        The requests; those of Table II unless given.
    cluster : LlmCluster
        Its GPUs with their memory and throughputs; 16 H100 unless given.
    waves : bool
        Start nothing until all that runs has ended; else a GPU that falls idle is used at once.
    step_s : float, optional
        Seconds between decisions, as of `Stepped`; unless given they are made at any time.
    horizon_s : float
        T_max of the completion rate, seconds.

    Raises
    ------
    InputError
        For what is not allowed, such as a request that the cluster cannot run.

    References
    ----------
    hgsp.txt Section VI.
    """

    source: RequestList = field(default_factory=printed_requests)
    cluster: LlmCluster = field(default_factory=LlmCluster)
    waves: bool = False
    step_s: float | None = None
    horizon_s: float = inf

    metrics = METRICS
    shown = (
        "weighted_response",
        "mean_response_s",
        "mean_wait_s",
        "wait_p50_s",
        "wait_p90_s",
        "wait_p99_s",
        "utilisation_pct",
    )
    tested = ("weighted_response", "mean_response_s", "mean_wait_s")
    precise = "mean_wait_s"
    policies = SCHEDULERS
    compared = tuple(SCHEDULERS)
    noun = "scheduler"
    is_random = False
    keeps_jobs = True

    def __post_init__(self) -> None:
        require(isinstance(self.source, RequestList), "source", self.source, "a RequestList")
        require(isinstance(self.cluster, LlmCluster), "cluster", self.cluster, "an LlmCluster")
        self.cluster.check(self.source)
        check_bool("waves", self.waves)
        for name in ("step_s", "horizon_s"):
            value = getattr(self, name)
            if value not in (None, inf):
                check_number(name, value, above=0)
        if self.step_s is not None:
            # no request runs longer
            end_s = float(self.source.arrival_s[-1] + self.cluster.times_s(self.source).sum())
            least_s = end_s / MOST_STEPS
            allowed = f"at least {least_s:g} for requests of {end_s:g} s"
            require(self.step_s >= least_s, "step_s", self.step_s, allowed)

    @property
    def name(self) -> str:
        """The requests, the cluster and the mode."""
        mode = "waves" if self.waves else "work-conserving"
        return f"{self.source.name}, {self.cluster.gpus} {self.cluster.gpu}, {mode}"

    @property
    def jobs(self) -> int:
        """Number of requests."""
        return self.source.requests

    # ---- as a model ----

    def places(self) -> tuple[Place, ...]:
        return pools([self.cluster.gpus], "cluster", "GPUs", first=1)

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Request]]:
        source = self.source
        columns = (source.arrival_s, source.weight, source.gpus, self.cluster.times_s(source))
        rows = zip(source.request_names, *(column.tolist() for column in columns))
        for id, (name, arrival_s, *row) in enumerate(rows, start=1):
            yield arrival_s, Request(id, name, arrival_s, *row)

    def life(self, run: Simulation, request: Request) -> Process:
        with run.claim(request) as claim:
            yield claim
            yield run.timeout(request.time_s, ("finish", request.id))

    def view(self, run: Simulation) -> View:
        return View(run)

    def need(self, job: Request) -> int:
        return job.gpus

    def says(self, kind: str, claim: Claim) -> str:
        request = claim.job
        named, gpus, time = f"request {request.name}", request.gpus, f"{request.time_s:.2f} s"
        if kind == "submit":
            return f"{named}, {gpus} GPUs for {time}, weight {request.weight:g}"
        if kind == "start":
            wait_s = claim.env.now - request.arrival_s
            return f"{named}, {gpus} GPUs, {wait_s:.2f} s after its arrival"
        return f"{named}, {time} of execution"

    # ---- figures, rows and pictures ----

    def summary(self, run: Run) -> dict[str, float]:
        """The figures of `metrics`: weighted_response is hgsp.txt Eq. 16.

        Waits are from arrival to start, without the execution; responses, c_i - a_i, are what
        Section VI calls waiting time. completed, completion_rate_pct: requests with c_i <= T_max.
        utilisation_pct: GPU-seconds held over those there are between the first arrival and the
        last completion (as Eq. 12).
        """
        source, start_s, finish_s = self.source, run.jobs["start_s"], run.jobs["finish_s"]
        makespan_s = float(finish_s.max())
        completed = int((finish_s <= self.horizon_s).sum())
        held_s = float(source.gpus @ (finish_s - start_s))
        return {
            **self._of_requests(run, slice(None)),
            "makespan_s": makespan_s,
            "completed": completed,
            "completion_rate_pct": 100 * completed / source.requests,
            "utilisation_pct": 100
            * held_s
            / (self.cluster.gpus * (makespan_s - float(source.arrival_s[0]))),
        }

    def _of_requests(self, run: Run, chosen: Any) -> dict[str, float]:
        """The metrics that are those of requests, of some of them."""
        arrival_s, jobs = self.source.arrival_s[chosen], run.jobs[chosen]
        response_s, wait_s = jobs["finish_s"] - arrival_s, jobs["start_s"] - arrival_s
        percentiles = np.percentile(wait_s, list(WAIT_PERCENTILES.values())).tolist()
        return {
            "weighted_response": float(self.source.weight[chosen] @ response_s),
            "mean_response_s": float(response_s.mean()),
            "mean_wait_s": float(wait_s.mean()),
            **dict(zip(WAIT_PERCENTILES, percentiles)),
        }

    def summary_of(self, run: Run, chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
        jobs = run.jobs
        gpu_h = self.source.gpus * (jobs["finish_s"] - jobs["start_s"]) / 3600
        own = self._of_requests(run, chosen)
        return {"jobs": int(chosen.sum()), "gpu_hours": float(gpu_h[chosen].sum()), **own}

    def row_columns(self, run: Run) -> dict[str, Any]:
        asked = {name: getattr(self.source, name) for name in ASKED}
        times_s = {name: run.jobs[name] for name in ("start_s", "finish_s")}
        return {"request": self.source.request_names, **asked, **times_s}

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        jobs = run.jobs
        kinds = {id: f"weight {weight:g}" for id, weight in jobs[["job", "weight"]].tolist()}
        own = {
            "places": (self.cluster.gpu,),
            "sizes": (float(self.cluster.gpus),),
            "labels": dict(jobs[["job", "name"]].tolist()),
            "kinds": kinds,
        }
        return super().timeline(run, **{**own, **parts})

    # ---- studies ----

    def make_policy(self, policy: Any) -> RequestPolicy:
        made: RequestPolicy = super().make_policy(policy)
        if self.step_s is not None:
            made = Stepped(made, self.step_s)
        return Waves(made) if self.waves else made

    @property
    def parts(self) -> dict[str, LlmCluster]:
        return {"cluster": self.cluster}
