"""A service of LLM inference: replicas serve requests in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import nan
from typing import Any, ClassVar

import numpy as np

from cgrsp_simpy.base.checks import refuse
from cgrsp_simpy.base.metric import Metric, summed
from cgrsp_simpy.base.parameters import Positive, declared, parameter
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.report import Report
from cgrsp_simpy.engine.resources import ResourceSpec, pools
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.llm.batch import Batch, Request
from cgrsp_simpy.llm.policies import POLICIES, View
from cgrsp_simpy.llm.requests import Offered, RequestList
from cgrsp_simpy.llm.service import Service
from cgrsp_simpy.llm.steps import Roofline, StepTable, StepTime, llama2_70b
from cgrsp_simpy.studies.subject import Subject

TIMES = {
    "ttft_s": "time to first token",
    "tpot_s": "time per output token",
    "e2e_s": "time from arrival to completion",
}
PERCENTILES = (50, 90, 99)

# what the figures of a run are
METRICS = {
    name: metric
    for time, told in TIMES.items()
    for name, metric in (
        (time, Metric(f"mean {told}", "s")),
        *(
            (
                f"{time[:-2]}_p{percent}_s",
                Metric(f"{percent}th percentile of {told}", "s"),
            )
            for percent in PERCENTILES
        ),
    )
} | {
    "weighted_e2e_s": Metric("mean time from arrival to completion, by weight", "s"),
    "wait_s": Metric("mean wait for a replica", "s"),
    "goodput_pct": Metric("requests within the targets", "%", "more"),
    "goodput_per_s": Metric("requests within the targets a second", "/s", "more"),
    "tokens_per_s": Metric("output tokens a second", "/s", "more"),
    "utilisation_pct": Metric("replicas at work", "%", "more"),
}


class LlmReport(Report):
    """Latencies of requests, and the rates at which they are served."""

    claim_columns: ClassVar[Mapping[str, str]] = {}
    metrics: Mapping[str, Metric] = METRICS
    shown = (
        *("ttft_s", "ttft_p99_s", "tpot_s", "tpot_p99_s", "e2e_s", "e2e_p99_s"),
        *("goodput_pct", "utilisation_pct"),
    )
    tested = ("ttft_s", "e2e_s", "weighted_e2e_s", "goodput_pct")
    precise: ClassVar[str] = "e2e_s"
    keeps_jobs = True

    def summary(self, run: Run) -> dict[str, float]:
        """The figures of `metrics`.

        Rates are over the time from the first arrival to the last completion. The time
        per output token is that of the tokens after the first; a request of one token
        has none, and keeps to its target.
        """
        jobs, batches = run.jobs, run.plan
        span_s = float(jobs["finish_s"].max() - jobs["submit_s"].min())
        found = self._of_requests(jobs)
        busy_s = summed(batch.busy_s for batch in batches)
        return {
            **found,
            "goodput_per_s": found["goodput_pct"] / 100 * len(jobs) / span_s,
            "tokens_per_s": float(jobs["output_tokens"].sum()) / span_s,
            "utilisation_pct": 100 * busy_s / (len(batches) * span_s),
        }

    def _of_requests(self, jobs: np.ndarray[Any, Any]) -> dict[str, float]:
        """Return the metrics of requests."""
        found = dict[str, float]()
        for time in TIMES:
            values = jobs[time][~np.isnan(jobs[time])]
            names = [name for name in METRICS if name.startswith(time[:-1])]
            more = (
                np.percentile(values, PERCENTILES).tolist()
                if len(values)
                else [nan] * 3
            )
            found |= dict(
                zip(names, [float(values.mean()) if len(values) else nan, *more])
            )
        late = (jobs["ttft_s"] > self.model.ttft_target_s) | (
            jobs["tpot_s"] > self.model.tpot_target_s
        )
        return {
            **found,
            # hgsp.txt Eq. 16, over the weights
            "weighted_e2e_s": float(np.average(jobs["e2e_s"], weights=jobs["weight"])),
            "wait_s": float((jobs["start_s"] - jobs["submit_s"]).mean()),
            "goodput_pct": 100.0 * float((~late).mean()),
        }

    def summary_of(self, run: Run, chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
        return {"jobs": int(chosen.sum()), **self._of_requests(run.jobs[chosen])}

    def describe(self, kind: str, claim: Claim) -> str:
        request, now_s = claim.job, claim.env.now
        if kind == "submit":
            tokens = (
                f"{request.prompt_tokens} prompt tokens, {request.output_tokens} to"
                " come"
            )
            return f"request {request.name}, {tokens}, weight {request.weight:g}"
        told = "of wait" if kind == "start" else "after its arrival"
        return f"{now_s - request.submit_s:.2f} s {told}"


class LlmSubject(Subject):
    """Requests are drawn, or those of a log."""

    pace_per_s = 3000.0

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether requests are drawn."""
        return isinstance(self.model.source, Offered)

    @property
    def parts(self) -> dict[str, Any]:
        return {"service": self.model.service} | (
            {"source": self.model.source} if self.is_random else {}
        )


@declared()
class Scenario(Model):
    """Requests on the replicas of a service: all that a run depends on, but the policy.

    A request claims room in the cache of a replica for all its tokens, joins its batch
    at the next step, and leaves it with its last token.

    Raises
    ------
    InputError
        For what is not allowed, such as a request that no replica has room for.
    """

    source: Offered | RequestList = parameter(
        "The requests: drawn for each seed, or those of a log, the same for every"
        " seed.",
        default_factory=Offered,
    )
    service: Service = parameter(
        "The GPUs, and the model on them.", default_factory=Service
    )
    steps: StepTable | Roofline = parameter(
        "How long steps take; by default as measured for Llama 2 70B.",
        default_factory=llama2_70b,
    )
    ttft_target_s: Positive = parameter(
        "Longest time to first token that counts for the goodput, seconds; by default"
        " that of MLPerf Inference.",
        default=2.0,
    )
    tpot_target_s: Positive = parameter(
        "Longest time per output token that counts for the goodput, seconds; by default"
        " that of MLPerf Inference.",
        default=0.2,
    )

    policies = POLICIES
    compared = tuple(POLICIES)
    report = LlmReport
    subject = LlmSubject
    columns: ClassVar[Mapping[str, str]] = dict.fromkeys(TIMES, "f8")

    def __post_init__(self) -> None:
        self.step_time()
        if isinstance(self.source, RequestList):
            self._check_room(self.source)

    # ---- the model ----

    def resources(self) -> tuple[ResourceSpec, ...]:
        return pools(
            [self.service.kv_tokens] * self.service.replicas, "replica", "tokens"
        )

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Request]]:
        source = self.source
        requests = source if isinstance(source, RequestList) else source.draw(draw)
        self._check_room(requests)
        step_s = self.step_time()
        columns = (getattr(requests, name).tolist() for name in COLUMNS)
        rows = enumerate(zip(requests.request_names, *columns), start=1)
        for id, (name, at_s, prompt, output, weight) in rows:
            decode_s = (output - 1) * step_s(0, 0, 1, prompt + output // 2)
            alone_s = step_s(1, prompt, 0, 0) + decode_s
            yield at_s, Request(id, name, at_s, prompt, output, weight, alone_s)

    def set_up(self, run: Simulation) -> None:
        step_s = self.step_time()
        run.plan = [Batch(run, self.service, step_s) for _ in run.resources]

    def processes(self, run: Simulation) -> list[Process]:
        return [batch.serve() for batch in run.plan]

    def job_process(self, run: Simulation, request: Request) -> Process:
        with run.claim(request) as claim:
            yield claim
            first_s = yield run.plan[claim.parts[0][0]].join(request)
            claim.phase("decoding", first_s)
        ttft_s, e2e_s = first_s - request.submit_s, run.now_s - request.submit_s
        more = request.output_tokens - 1
        run.record(request, ttft_s, (e2e_s - ttft_s) / more if more else nan, e2e_s)

    def view(self, run: Simulation) -> View:
        return View(run)

    def need(self, job: Request) -> int:
        return job.tokens

    def step_time(self) -> StepTime:
        """Return the function of a step's time on the service's GPUs."""
        return self.steps.of(self.service)

    def _check_room(self, requests: RequestList) -> None:
        """Refuse a request for which an empty cache has no room."""
        tokens = requests.prompt_tokens + requests.output_tokens
        most = self.service.kv_tokens
        refuse(
            tokens > most,
            lambda place: (
                f"request {requests.request_names[place]} needs a cache of"
                f" {tokens[place]} tokens; a replica of {self.service} has {most}"
            ),
        )

    @property
    def name(self) -> str:
        """The requests and the service."""
        return f"{self.source.name}, {self.service}"

    @property
    def jobs(self) -> int:
        """Number of requests."""
        return self.source.requests


COLUMNS = ("arrival_s", "prompt_tokens", "output_tokens", "weight")
