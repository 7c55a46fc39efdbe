"""Figures, rows and texts of runs of an LLM service."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Any, ClassVar

import numpy as np

from cgrsp_simpy.base.metric import Metric, summed
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.report import Report
from cgrsp_simpy.engine.run import Run

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
