"""LLM inference requests on a tensor-parallel cluster: FIFO and WSRPT, simulated by the engine
(hgsp.txt Section VI).

A request owns its tau GPUs from its start to its end; this is the paper's model. A server that
batches runs many requests on the same GPUs: in the decode phase each step reads all weights for one
more token of every request of the batch, so that a step for many takes hardly longer than a step
for one. By the paper's own figures (Section VI.A) a single request decodes 100 to 500 tokens/s;
the 5000 that it gives to each request are those of a batch of 10 to 50. Requests that own their
GPUs need many times the GPUs of a batching server: read a number of GPUs here as that of places to
run in, not as that of GPUs to buy.
"""

from __future__ import annotations

import copy
from collections.abc import Generator
from dataclasses import dataclass
from itertools import product
from math import inf, nan
from typing import Any

import numpy as np
import simpy

from cgrsp_simpy.engine.claims import Pool, claims_table
from cgrsp_simpy.engine.engine import Engine
from cgrsp_simpy.engine.events import Listener, policy_name
from cgrsp_simpy.engine.instant import delay_until
from cgrsp_simpy.hgsp.instance import Floats
from cgrsp_simpy.hgsp.llm_policies import (
    SCHEDULERS,
    STEP_S,
    Request,
    RequestPolicy,
    RequestState,
    Stepped,
    Waves,
)
from cgrsp_simpy.hgsp.llm_requests import QWEN3, LlmCluster, RequestList
from cgrsp_simpy.model.checks import check_bool, check_number, check_one_of, require
from cgrsp_simpy.model.shown import ShownRun
from cgrsp_simpy.model.timeline import VISIT, Timeline

__all__ = [
    "OWNED",
    "SCHEDULERS",
    "STEP_S",
    "Served",
    "Simulation",
    "printed_cluster",
    "printed_requests",
    "simulate",
    "table_two",
]

Process = Generator[simpy.Event, Any, None]
MOST_STEPS = 10**9  # a minute of adding them up
OWNED = (
    "A request owns its GPUs from start to end, which is the paper's model; it needs many times"
    " the GPUs of a server that batches requests."
)
"""What figures of requests have to say of the model."""
ASKED = ("arrival_s", "prompt_tokens", "output_tokens", "weight", "gpus")
WAIT_PERCENTILES = {"wait_p50_s": 50, "wait_p90_s": 90, "wait_p99_s": 99}


@dataclass(frozen=True, eq=False, repr=False)
class Served(ShownRun):
    """What became of requests; arrays of shape (requests,) in their order, times in seconds.

    Attributes
    ----------
    requests, cluster
        What was served, and where.
    scheduler : str
        Its name.
    waves, step_s
        The mode, as of `Requests`.
    horizon_s : float
        T_max of the completion rate.
    start_s : array
        When each got its GPUs.
    finish_s : array
        When each was done, c_i.
    """

    requests: RequestList
    cluster: LlmCluster
    scheduler: str
    waves: bool
    step_s: float | None
    horizon_s: float
    start_s: Floats
    finish_s: Floats

    @property
    def title(self) -> str:
        """The requests, the cluster, the mode and the scheduler."""
        mode = "waves" if self.waves else "work-conserving"
        cluster = f"{self.cluster.gpus} {self.cluster.gpu}"
        return f"{self.requests.name}, {cluster}, {mode}: {self.scheduler}"

    @property
    def wait_s(self) -> Floats:
        """From arrival to start, seconds; the execution is no part of it."""
        return self.start_s - self.requests.arrival_s

    @property
    def response_s(self) -> Floats:
        """c_i - a_i, from arrival to completion, seconds: what hgsp.txt Section VI
        calls waiting time.
        """
        return self.finish_s - self.requests.arrival_s

    @property
    def claims(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Who holds how many of the cluster's GPUs when: a row a request, an array of CLAIM, by
        time of start; seconds.
        """
        columns = zip(self.requests.gpus.tolist(), self.start_s.tolist(), self.finish_s.tolist())
        rows = [
            (id, ((0, gpus),), start_s, start_s, end_s)
            for id, (gpus, start_s, end_s) in enumerate(columns, start=1)
        ]
        return claims_table(rows)

    @property
    def timeline(self) -> Timeline:
        """The run for plots: one place, the cluster with its GPUs."""
        ids = range(1, self.requests.requests + 1)
        rows = zip(ids, self.requests.arrival_s, self.start_s, self.finish_s, [nan] * len(ids))
        visits = np.array(list(rows), VISIT)
        size, kinds = (
            float(self.cluster.gpus),
            dict(zip(ids, (f"weight {weight:g}" for weight in self.requests.weight))),
        )
        labels = dict(zip(ids, self.requests.request_names))
        return Timeline(
            "cluster",
            (self.cluster.gpu,),
            (size,),
            self.claims,
            visits,
            labels,
            kinds,
            self.scheduler,
        )

    def summary(self) -> dict[str, float]:
        """The figures of `metrics`, by name."""
        return self.metrics

    def rows(self) -> list[dict[str, Any]]:
        """One dict a request, in order of arrival: its name, what it asked for, and when
        it ran, seconds; its log's other columns.
        """
        columns = {name: getattr(self.requests, name) for name in ASKED} | {
            "start_s": self.start_s,
            "finish_s": self.finish_s,
        }
        rows = zip(self.requests.request_names, *(column.tolist() for column in columns.values()))
        told = [dict(zip(("request", *columns), row)) for row in rows]
        return [{**row, **self.requests.tags.of(place, row)} for place, row in enumerate(told)]

    def by(self, tag: str) -> list[dict[str, Any]]:
        """What became of the requests of each value of a log's column: a row for each, in the
        order of the alphabet.

        Parameters
        ----------
        tag : str
            Name of the column.

        Returns
        -------
        list of dict
            by, value: the column and its value. jobs: number of requests. gpu_hours: GPUs held
            times the time. The others as of `metrics`.

        Raises
        ------
        InputError
            For a column that the log does not have.
        """
        gpu_h = self.requests.gpus * (self.finish_s - self.start_s) / 3600
        return self.requests.tags.report(
            tag,
            lambda chosen: {"gpu_hours": float(gpu_h[chosen].sum()), **self._of_requests(chosen)},
        )

    @property
    def metrics(self) -> dict[str, float]:
        """weighted_response (hgsp.txt Eq. 16), mean_response_s, waits, makespan_s, completions,
        utilisation_pct.

        mean_wait_s, wait_p50_s, wait_p90_s, wait_p99_s: mean and percentiles of `wait_s`, without
        the execution. completed, completion_rate_pct: requests with c_i <= T_max. utilisation_pct:
        GPU-seconds held over those there are between the first arrival and the last completion
        (as Eq. 12).
        """
        makespan_s = float(self.finish_s.max())
        completed = int((self.finish_s <= self.horizon_s).sum())
        held_s = float(self.requests.gpus @ (self.finish_s - self.start_s))
        return {
            **self._of_requests(slice(None)),
            "makespan_s": makespan_s,
            "completed": completed,
            "completion_rate_pct": 100 * completed / self.requests.requests,
            "utilisation_pct": 100
            * held_s
            / (self.cluster.gpus * (makespan_s - float(self.requests.arrival_s[0]))),
        }

    def _of_requests(self, chosen: Any) -> dict[str, float]:
        """The metrics that are those of requests, of some of them."""
        response_s, wait_s = self.response_s[chosen], self.wait_s[chosen]
        percentiles = np.percentile(wait_s, list(WAIT_PERCENTILES.values())).tolist()
        return {
            "weighted_response": float(self.requests.weight[chosen] @ response_s),
            "mean_response_s": float(response_s.mean()),
            "mean_wait_s": float(wait_s.mean()),
            **dict(zip(WAIT_PERCENTILES, percentiles)),
        }


def simulate(
    requests: RequestList,
    cluster: LlmCluster,
    scheduler: str | RequestPolicy = "wsrpt",
    *,
    waves: bool = False,
    step_s: float | None = None,
    horizon_s: float = inf,
) -> Served:
    """Simulate until the last request completes.

    scheduler: "fifo", "wsrpt", or a function of a RequestState. Under the two, requests start
    in their order, each on its tau GPUs at once. The first of the order is never overtaken:
    if it needs more GPUs than are idle, those stay idle until it fits (the paper does not say;
    this is ours).
    waves: start nothing until all that runs has ended; else a GPU that falls idle is used at once
    (work-conserving but for the GPUs that the first one waits for).
    step_s: seconds between decisions, as of `Stepped`; None for decisions at any time. horizon_s:
    T_max, for the completion rate.

    Raises InputError for a request that the cluster cannot run, or an option that is not allowed.
    """
    run = Simulation(requests, cluster, scheduler, waves=waves, step_s=step_s, horizon_s=horizon_s)
    run.env.run()
    return run.close()


class Simulation:
    """A run that has been set up and not let go.

    The cluster is one pool of GPUs, all alike.

    Parameters
    ----------
    requests, cluster
        The requests, and the GPUs that serve them.
    scheduler : str or callable
        A name of a scheduler of requests, or a function of a RequestState.
    listener : callable, optional
        Called with each Event.
    waves, step_s, horizon_s
        As of `Requests`.

    Raises
    ------
    InputError
        For a request that can never run here, or a value that is not allowed.
    """

    def __init__(
        self,
        requests: RequestList,
        cluster: LlmCluster,
        scheduler: str | RequestPolicy = "wsrpt",
        listener: Listener | None = None,
        *,
        waves: bool = False,
        step_s: float | None = None,
        horizon_s: float = inf,
    ) -> None:
        check_bool("waves", waves)
        if horizon_s != inf:
            check_number("horizon_s", horizon_s, above=0)
        cluster.check(requests)
        self.requests, self.cluster = requests, cluster
        self.waves, self.step_s, self.horizon_s = waves, step_s, horizon_s
        policy, env = self._policy(scheduler), simpy.Environment()
        self.env, self.name = env, policy_name(policy)
        pool = Pool(env, "cluster", 1, cluster.gpus, "GPUs")
        self.engine = Engine(env, [pool], RequestState(cluster.gpus), policy, listener)
        self.start_s, self.finish_s = np.zeros((2, requests.requests))
        env.process(self.source(requests, cluster.times_s(requests)))

    def _policy(self, scheduler: str | RequestPolicy) -> RequestPolicy:
        """The scheduler, asked in the mode of this run; a copy, so that one with memory is fresh
        for every run.
        """
        if not callable(scheduler):
            check_one_of("LLM scheduler", scheduler, SCHEDULERS)
        policy = copy.deepcopy(scheduler) if callable(scheduler) else SCHEDULERS[scheduler]
        if self.step_s is not None:
            policy = Stepped(policy, self.step_s)
            # no request runs longer
            end_s = float(self.requests.arrival_s[-1] + self.cluster.times_s(self.requests).sum())
            least_s = end_s / MOST_STEPS
            require(
                self.step_s >= least_s,
                "step_s",
                self.step_s,
                f"at least {least_s:g} for requests of {end_s:g} s",
            )
        return Waves(policy) if self.waves else policy

    def close(self) -> Served:
        """What became of the requests, once nothing is left to happen."""
        self.engine.check_done()
        mode = (self.waves, self.step_s, self.horizon_s)
        return Served(self.requests, self.cluster, self.name, *mode, self.start_s, self.finish_s)

    def source(self, requests: RequestList, times_s: Floats) -> Process:
        """Start the process of each request when it arrives.

        Parameters
        ----------
        requests : RequestList
            In order of arrival.
        times_s : array
            How long each holds its GPUs, seconds, of shape (requests,).

        Yields
        ------
        simpy.Event
            To be run by SimPy.
        """
        env = self.env
        columns = (requests.arrival_s, requests.weight, requests.gpus, times_s)
        for id, row in enumerate(
            zip(requests.request_names, *(column.tolist() for column in columns)), start=1
        ):
            request = Request(id, *row)
            yield env.timeout(delay_until(env.now, request.arrival_s), ("submit", id))
            env.process(self.request_process(request))

    def request_process(self, request: Request) -> Process:
        """A request: wait for all its GPUs, execution, release. They are there at once.

        Parameters
        ----------
        request : Request
            That has just arrived.

        Yields
        ------
        simpy.Event
            To be run by SimPy.
        """
        env, engine, index = self.env, self.engine, request.id - 1
        claim = yield engine.claim(request)
        claim.acquire()
        self.start_s[index] = env.now
        if engine.listener:
            engine.tell(
                "start",
                claim,
                (
                    f"request {request.name}, {request.gpus} GPUs,"
                    f" {env.now - request.arrival_s:.2f} s after its arrival"
                ),
            )
        yield env.timeout(request.time_s, ("finish", request.id))
        self.finish_s[index] = env.now
        if engine.listener:
            engine.tell(
                "finish", claim, f"request {request.name}, {request.time_s:.2f} s of execution"
            )
        engine.release(claim)


# ---- Table II ----

# "Weighted Wait", "Avg Wait", "Completed"
PRINTED = {"fifo": (336.400, 2.402, 20), "wsrpt": (108.040, 1.802, 20)}
PRINTED_NAMES = ("weighted_response", "mean_response_s", "completed")  # what these are called here
PRINTED_CHANGE_PCT = (-67.9, -25.0)


def printed_requests() -> RequestList:
    """The workload of Table II: 20 requests at 0 with tau = 2, 8 long ones of weight 1, then 12
    short ones of weight 10.

    All tokens are prompt tokens: the printed waiting times are those of 2000 / 1000 s and
    500 / 1000 s, without a decode phase.

    References
    ----------
    hgsp.txt Table II.
    """
    long = np.arange(20) < 8
    prompt, weight = np.where(long, 2000, 500), np.where(long, 1.0, 10.0)
    return RequestList(
        np.zeros(20),
        prompt,
        np.zeros(20, np.int64),
        weight,
        np.full(20, 2),
        (QWEN3,) * 20,
        "Table II",
    )


def printed_cluster() -> LlmCluster:
    """The cluster of Table II: 16 H100 of 80 GB."""
    return LlmCluster()


def table_two() -> list[dict[str, Any]]:
    """Table II in every mode: work-conserving and in waves, at any time and at steps of 0.01 s; a
    row a scheduler.

    Columns: scheduler, mode, step_s (None: at any time), and of `Served.metrics` weighted_response,
    mean_response_s (which the paper prints as waits), the waits proper, and completed; of wsrpt
    also weighted_change_pct and mean_change_pct, by how much it changes the responses that FIFO
    gives in the same mode (printed as "improvement", negative where they are shorter). At steps of
    0.01 s, which is how the paper simulates (Section VI.D), the printed value stands beside each
    under printed_ and its name. The paper's loop is work-conserving; its figures for WSRPT come out
    in waves only.

    References
    ----------
    hgsp.txt Table II.
    """
    rows: list[dict[str, Any]] = []
    for waves, step_s in product((False, True), (None, STEP_S)):
        fifo, wsrpt = (_row(scheduler, waves, step_s) for scheduler in ("fifo", "wsrpt"))
        changes = [100 * (wsrpt[name] / fifo[name] - 1) for name in PRINTED_NAMES[:2]]
        wsrpt |= dict(zip(("weighted_change_pct", "mean_change_pct"), changes))
        if step_s:
            wsrpt |= dict(
                zip(("printed_weighted_change_pct", "printed_mean_change_pct"), PRINTED_CHANGE_PCT)
            )
        rows += [fifo, wsrpt]
    return rows


def _row(scheduler: str, waves: bool, step_s: float | None) -> dict[str, Any]:
    found = simulate(
        printed_requests(), printed_cluster(), scheduler, waves=waves, step_s=step_s
    ).metrics
    shown = (*PRINTED_NAMES[:2], "mean_wait_s", *WAIT_PERCENTILES, "completed")
    mode = {
        "scheduler": scheduler,
        "mode": "waves" if waves else "work-conserving",
        "step_s": step_s,
    }
    printed = (
        {f"printed_{name}": value for name, value in zip(PRINTED_NAMES, PRINTED[scheduler])}
        if step_s
        else {}
    )
    return {**mode, **{name: found[name] for name in shown}, **printed}
