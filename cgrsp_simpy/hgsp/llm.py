"""LLM inference requests on a tensor-parallel cluster: FIFO and WSRPT, simulated by the engine (hgsp.txt Section VI).

A request owns its tau GPUs from its start to its end; this is the paper's model. A server that batches runs many requests on the
same GPUs: in the decode phase each step reads all weights for one more token of every request of the batch, so that a step for
many takes hardly longer than a step for one. By the paper's own figures (Section VI.A) a single request decodes 100 to 500
tokens/s; the 5000 that it gives to each request are those of a batch of 10 to 50. Requests that own their GPUs need many times
the GPUs of a batching server: read a number of GPUs here as that of places to run in, not as that of GPUs to buy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import product
from math import inf
from typing import Any

import numpy as np

from cgrsp_simpy.engine.simulation import run_once
from cgrsp_simpy.hgsp.instance import Floats
from cgrsp_simpy.hgsp.llm_requests import QWEN3, LlmCluster, Requests
from cgrsp_simpy.model.checks import check_bool, check_number, check_one_of, require
from cgrsp_simpy.model.decision import Assignment, Policy, View, Wake
from cgrsp_simpy.model.gpu import GpuType
from cgrsp_simpy.model.job import Job
from cgrsp_simpy.model.market import Market
from cgrsp_simpy.model.scenario import Scenario
from cgrsp_simpy.model.service import Service
from cgrsp_simpy.model.workload import JobList
from cgrsp_simpy.policies.rules import ListPolicy, Order, by_submission, first_idle

__all__ = [
    "OWNED",
    "SCHEDULERS",
    "STEP_S",
    "Served",
    "Stepped",
    "Waves",
    "by_weight_over_time",
    "printed_cluster",
    "printed_requests",
    "simulate",
    "table_two",
]

STEP_S = 0.01  # Section VI.D
MOST_STEPS = 10**9  # a minute of adding them up
OWNED = (
    "A request owns its GPUs from start to end, which is the paper's model; it needs many times the GPUs of a server that batches"
    " requests."
)
WAIT_PERCENTILES = {"wait_p50_s": 50, "wait_p90_s": 90, "wait_p99_s": 99}


# ---- schedulers: orders of the waiting requests, and when a decision may be made ----


def by_weight_over_time(view: View) -> Iterable[Job]:
    """WSRPT: the largest w / (p_prefill + p_decode) first, equal ones by arrival, then number (hgsp.txt Eq. 17).

    Nothing is interrupted, so that what remains of a waiting request is the whole of it.
    """
    times_s = view.known.gpus[0].mean_execution_s
    return nlargest(len(view.idle), view.queue, key=lambda job: job.weight / times_s[job.complexity - 1])  # stable


SCHEDULERS: dict[str, Order] = {"fifo": by_submission, "wsrpt": by_weight_over_time}


class Waves:
    """A policy that is asked only when every GPU is idle: nothing starts until the whole running batch has ended."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def __call__(self, view: View) -> Iterable[Assignment | Wake] | None:
        """The next batch, if none runs."""
        return self.policy(view) if len(view.idle) == len(view.known.fleet) else []


class Stepped:
    """A policy that is asked only at steps of a clock, as in the loop of hgsp.txt Section VI.D.

    At each step, requests whose completion is reached free their GPUs, arrivals join the queue, and then the policy decides;
    whatever happens between two steps is noticed at the second. A request's completion is its start plus its execution time,
    not the step at which that is noticed.

    The clock is a running sum of `step_s` in floating point, t = t + step, and this is where the printed late step comes from.
    Two hundred steps of 0.01 s sum to 2.0000000000000013, so that a request that ends at 2.0 is noticed at step 200. But 250 of
    them sum to 2.4999999999999907: a request that ends at 2.5 is not yet complete at step 250, and its GPUs start the next
    request at step 251, at 2.51 s. A clock of exact multiples would be late nowhere on that workload.
    """

    def __init__(self, policy: Policy, step_s: float = STEP_S) -> None:
        check_number("step_s", step_s, above=0)
        self.policy, self.step_s = policy, step_s
        self._clock_s = 0.0
        self._woken = False

    def __call__(self, view: View) -> Iterable[Assignment | Wake] | None:
        """What the policy decides at a step; between steps, to be woken at the next."""
        on_step = self._woken and view.now_s >= self._clock_s  # the wake may come a rounding after its time
        if not on_step:
            while self._clock_s < view.now_s:
                self._clock_s += self.step_s
            on_step = self._clock_s == view.now_s
        self._woken = not on_step
        return self.policy(view) if on_step else [Wake(self._clock_s)]


# ---- simulation ----


@dataclass(frozen=True, eq=False)
class Served:
    """What became of requests; columns of shape (requests,) in their order. start_s: seconds. finish_s: c_i, seconds.

    waves, step_s: the mode. horizon_s: T_max of the completion rate.
    """

    requests: Requests
    cluster: LlmCluster
    scheduler: str
    waves: bool
    step_s: float | None
    horizon_s: float
    start_s: Floats = field(repr=False)
    finish_s: Floats = field(repr=False)

    @property
    def wait_s(self) -> Floats:
        """From arrival to start, seconds; the execution is no part of it."""
        return self.start_s - self.requests.arrival_s

    @property
    def response_s(self) -> Floats:
        """c_i - a_i, from arrival to completion, seconds: what hgsp.txt Section VI calls waiting time."""
        return self.finish_s - self.requests.arrival_s

    @property
    def metrics(self) -> dict[str, float]:
        """weighted_response (hgsp.txt Eq. 16), mean_response_s, waits, makespan_s, completions, utilisation_pct.

        mean_wait_s, wait_p50_s, wait_p90_s, wait_p99_s: mean and percentiles of `wait_s`, without the execution. completed,
        completion_rate_pct: requests with c_i <= T_max. utilisation_pct: GPU-seconds held over those there are between the first
        arrival and the last completion (as Eq. 12).
        """
        makespan_s, completed = float(self.finish_s.max()), int((self.finish_s <= self.horizon_s).sum())
        held_s = float(self.requests.gpus @ (self.finish_s - self.start_s))
        return {
            "weighted_response": float(self.requests.weight @ self.response_s),
            "mean_response_s": float(self.response_s.mean()),
            "mean_wait_s": float(self.wait_s.mean()),
            **dict(zip(WAIT_PERCENTILES, np.percentile(self.wait_s, list(WAIT_PERCENTILES.values())).tolist())),
            "makespan_s": makespan_s,
            "completed": completed,
            "completion_rate_pct": 100 * completed / self.requests.requests,
            "utilisation_pct": 100 * held_s / (self.cluster.gpus * (makespan_s - float(self.requests.arrival_s[0]))),
        }


def simulate(
    requests: Requests,
    cluster: LlmCluster,
    scheduler: str = "wsrpt",
    *,
    waves: bool = False,
    step_s: float | None = None,
    horizon_s: float = inf,
) -> Served:
    """Simulate until the last request completes.

    scheduler: "fifo" or "wsrpt". Requests start in its order, each on its tau GPUs at once. The first of the order is never
    overtaken: if it needs more GPUs than are idle, those stay idle until it fits (the paper does not say; this is ours).
    waves: start nothing until all that runs has ended; else a GPU that falls idle is used at once (work-conserving but for the
    GPUs that the first one waits for).
    step_s: seconds between decisions, as of `Stepped`; None for decisions at any time. horizon_s: T_max, for the completion rate.

    Raises InputError for a request that the cluster cannot run, or an option that is not allowed.
    """
    check_one_of("LLM scheduler", scheduler, SCHEDULERS)
    check_bool("waves", waves)
    if horizon_s != inf:
        check_number("horizon_s", horizon_s, above=0)
    cluster.check(requests)
    policy: Policy = ListPolicy(SCHEDULERS[scheduler], first_idle, scheduler)
    if step_s is not None:
        policy = Stepped(policy, step_s)
        end_s = float(requests.arrival_s[-1] + cluster.times_s(requests).sum())  # no request runs longer
        require(step_s >= end_s / MOST_STEPS, "step_s", step_s, f"at least {end_s / MOST_STEPS:g} for requests of {end_s:g} s")
    if waves:
        policy = Waves(policy)
    done = run_once(_scenario(requests, cluster), policy).jobs
    return Served(requests, cluster, scheduler, waves, step_s, horizon_s, done["start_s"].copy(), done["finish_s"].copy())


def _scenario(requests: Requests, cluster: LlmCluster) -> Scenario:
    """The requests for the engine: a slot a GPU, a complexity level for each execution time, GPUs that are there at once."""
    levels_s, level = np.unique(cluster.times_s(requests), return_inverse=True)
    gpu = GpuType(cluster.gpu, 0.0, tuple(levels_s.tolist()), high_stock_probability=1.0)
    columns = (requests.arrival_s.tolist(), (level + 1).tolist(), requests.gpus.tolist(), requests.weight.tolist())
    jobs = tuple(
        Job(number, arrival_s, arrival_s, complexity, gpus=gpus, weight=weight)  # no deadlines here: none is looked at
        for number, (arrival_s, complexity, gpus, weight) in enumerate(zip(*columns))
    )
    at_once, certain = Market(delay_s=((0.0, 0.0),) * 3), Service(sigma=(0.0,) * len(levels_s))
    return Scenario(requests.name, JobList(jobs), (gpu,) * cluster.gpus, (gpu,), market=at_once, service=certain)


# ---- Table II ----

PRINTED = {"fifo": (336.400, 2.402, 20), "wsrpt": (108.040, 1.802, 20)}  # "Weighted Wait", "Avg Wait", "Completed"
PRINTED_NAMES = ("weighted_response", "mean_response_s", "completed")  # what these are called here
PRINTED_CHANGE_PCT = (-67.9, -25.0)


def printed_requests() -> Requests:
    """The workload of Table II: 20 requests at 0 with tau = 2, 8 long ones of weight 1, then 12 short ones of weight 10.

    All tokens are prompt tokens: the printed waiting times are those of 2000 / 1000 s and 500 / 1000 s, without a decode phase.
    """
    long = np.arange(20) < 8
    prompt, weight = np.where(long, 2000, 500), np.where(long, 1.0, 10.0)
    return Requests(np.zeros(20), prompt, np.zeros(20, np.int64), weight, np.full(20, 2), (QWEN3,) * 20, "Table II")


def printed_cluster() -> LlmCluster:
    """The cluster of Table II: 16 H100 of 80 GB."""
    return LlmCluster()


def table_two() -> list[dict[str, Any]]:
    """Table II in every mode: work-conserving and in waves, at any time and at steps of 0.01 s; a row a scheduler.

    Columns: scheduler, mode, step_s (None: at any time), and of `Served.metrics` weighted_response, mean_response_s (which the
    paper prints as waits), the waits proper, and completed; of wsrpt also weighted_change_pct and mean_change_pct, by how much it
    changes the responses that FIFO gives in the same mode (printed as "improvement", negative where they are shorter). At steps
    of 0.01 s, which is how the paper simulates (Section VI.D), the printed value stands beside each under printed_ and its name.
    The paper's loop is work-conserving; its figures for WSRPT come out in waves only.
    """
    rows: list[dict[str, Any]] = []
    for waves, step_s in product((False, True), (None, STEP_S)):
        fifo, wsrpt = (_row(scheduler, waves, step_s) for scheduler in ("fifo", "wsrpt"))
        changes = [100 * (wsrpt[name] / fifo[name] - 1) for name in PRINTED_NAMES[:2]]
        wsrpt |= dict(zip(("weighted_change_pct", "mean_change_pct"), changes))
        if step_s:
            wsrpt |= dict(zip(("printed_weighted_change_pct", "printed_mean_change_pct"), PRINTED_CHANGE_PCT))
        rows += [fifo, wsrpt]
    return rows


def _row(scheduler: str, waves: bool, step_s: float | None) -> dict[str, Any]:
    found = simulate(printed_requests(), printed_cluster(), scheduler, waves=waves, step_s=step_s).metrics
    shown = (*PRINTED_NAMES[:2], "mean_wait_s", *WAIT_PERCENTILES, "completed")
    mode = {"scheduler": scheduler, "mode": "waves" if waves else "work-conserving", "step_s": step_s}
    printed = {f"printed_{name}": value for name, value in zip(PRINTED_NAMES, PRINTED[scheduler])} if step_s else {}
    return {**mode, **{name: found[name] for name in shown}, **printed}
