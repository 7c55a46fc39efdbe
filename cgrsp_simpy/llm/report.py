"""Figures and descriptions of runs of an LLM inference service."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np

from cgrsp_simpy.base.metric import Metric, summed
from cgrsp_simpy.base.table import many
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.report import NO_COLUMNS, Report
from cgrsp_simpy.engine.run import Run

PERCENTILES = (50, 90, 99)


def _statistics(name: str, label: str) -> dict[str, Metric]:
    """Return the metrics of a latency: its mean, then its percentiles."""
    stem = name.removesuffix("_s")
    return {name: Metric(f"mean {label}", "s")} | {
        f"{stem}_p{percent}_s": Metric(f"{percent}th percentile of {label}", "s")
        for percent in PERCENTILES
    }


LATENCIES = {
    "ttft_s": _statistics("ttft_s", "time to first token"),
    "tpot_s": _statistics("tpot_s", "time per output token"),
    "e2e_s": _statistics("e2e_s", "time from arrival to completion"),
}
"""Column of `Run.jobs` -> its metrics."""
METRICS = {
    **LATENCIES["ttft_s"],
    **LATENCIES["tpot_s"],
    **LATENCIES["e2e_s"],
    "weighted_e2e_s": Metric("mean time from arrival to completion, by weight", "s"),
    "wait_s": Metric("mean wait for a replica", "s"),
    "goodput_pct": Metric("requests within the targets", "%", "more"),
    "goodput_per_s": Metric("requests within the targets per second", "/s", "more"),
    "tokens_per_s": Metric("output tokens per second", "/s", "more"),
    "utilisation_pct": Metric("replicas in use", "%", "more"),
}
"""The figures of a run."""


class LlmReport(Report):
    """Latencies of requests, and the rates at which they are served."""

    claim_columns = NO_COLUMNS
    metrics = METRICS
    shown = (
        *("ttft_s", "ttft_p99_s", "tpot_s", "tpot_p99_s", "e2e_s", "e2e_p99_s"),
        *("goodput_pct", "utilisation_pct"),
    )
    tested = ("ttft_s", "e2e_s", "weighted_e2e_s", "goodput_pct")
    precise = "e2e_s"
    keeps_jobs = True
    groups = ("job", "name", "prompt_tokens", "output_tokens", "resources")

    def summary(self, run: Run) -> dict[str, float]:
        """Return the figures of `metrics`.

        Rates refer to the time from the first arrival to the last completion. The time
        per output token is a mean over the tokens after the first; a request of one
        token has no such time, and meets the target.
        """
        jobs, batches = run.jobs, run.plan
        span_s = float(jobs["finish_s"].max() - jobs["submit_s"].min())
        figures = self._of_requests(jobs)
        busy_s = summed(batch.busy_s for batch in batches)
        return {
            **figures,
            "goodput_per_s": figures["goodput_pct"] / 100 * len(jobs) / span_s,
            "tokens_per_s": float(jobs["output_tokens"].sum()) / span_s,
            "utilisation_pct": 100 * busy_s / (len(batches) * span_s),
        }

    def _of_requests(self, jobs: np.ndarray[Any, Any]) -> dict[str, float]:
        """Return the figures that are means or percentiles over requests."""
        figures = dict[str, float]()
        for column, metrics in LATENCIES.items():
            values = jobs[column][~np.isnan(jobs[column])]
            statistics = [nan] * len(metrics)
            if len(values):
                percentiles = np.percentile(values, PERCENTILES).tolist()
                statistics = [float(values.mean()), *percentiles]
            figures |= dict(zip(metrics, statistics))
        misses_target = (jobs["ttft_s"] > self.model.ttft_target_s) | (
            jobs["tpot_s"] > self.model.tpot_target_s
        )
        return {
            **figures,
            # hgsp.txt Eq. 16, over the weights
            "weighted_e2e_s": float(np.average(jobs["e2e_s"], weights=jobs["weight"])),
            "wait_s": float((jobs["start_s"] - jobs["submit_s"]).mean()),
            "goodput_pct": 100.0 * float((~misses_target).mean()),
        }

    def summary_of(self, run: Run, chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
        return {"jobs": int(chosen.sum()), **self._of_requests(run.jobs[chosen])}

    def describe(self, kind: str, claim: Claim) -> str:
        request = claim.job
        if kind == "submit":
            return (
                f"request {request.name}, {request.prompt_tokens} prompt and"
                f" {many(request.output_tokens, 'output token')}, weight"
                f" {request.weight:g}"
            )
        since = "of wait" if kind == "start" else "after its arrival"
        return f"{claim.env.now - request.submit_s:.2f} s {since}"
