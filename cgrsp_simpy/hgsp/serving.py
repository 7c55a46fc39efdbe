"""LLM requests on a cluster of GPUs: what their schedulers are simulated, compared and swept on."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import partial
from math import inf
from typing import Any

from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.hgsp.llm import Simulation, printed_requests
from cgrsp_simpy.hgsp.llm_policies import SCHEDULERS, RequestPolicy
from cgrsp_simpy.hgsp.llm_requests import LlmCluster, RequestList
from cgrsp_simpy.model.checks import check_bool, check_number, require
from cgrsp_simpy.model.model import Metric

__all__ = ["METRICS", "Requests"]

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
"""What the figures of `Served.metrics` are."""


def _as_it_is(policy: RequestPolicy) -> RequestPolicy:
    return policy


POLICIES = {name: partial(_as_it_is, policy) for name, policy in SCHEDULERS.items()}


@dataclass(frozen=True)
class Requests(Model):
    """LLM inference requests on a cluster: all that a run depends on, but the scheduler.

    Parameters
    ----------
    source : RequestList
        The requests; those of Table II unless given.
    cluster : LlmCluster
        Its GPUs with their memory and throughputs; 16 H100 unless given.
    waves : bool
        Start nothing until all that runs has ended; else a GPU that falls idle is used at once.
    step_s : float, optional
        Seconds between decisions; unless given they are made at any time.
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
    policies = POLICIES
    compared = tuple(SCHEDULERS)
    noun = "scheduler"
    is_random = False

    def __post_init__(self) -> None:
        require(isinstance(self.source, RequestList), "source", self.source, "a RequestList")
        require(isinstance(self.cluster, LlmCluster), "cluster", self.cluster, "an LlmCluster")
        self.cluster.check(self.source)
        check_bool("waves", self.waves)
        for name in ("step_s", "horizon_s"):
            value = getattr(self, name)
            if value not in (None, inf):
                check_number(name, value, above=0)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The requests, the cluster and the mode."""
        mode = "waves" if self.waves else "work-conserving"
        return f"{self.source.name}, {self.cluster.gpus} {self.cluster.gpu}, {mode}"

    @property
    def jobs(self) -> int:
        """Number of requests."""
        return self.source.requests

    def simulation(
        self,
        policy: RequestPolicy,
        seed: int,
        *,
        drawn: None = None,
        records: bool = True,
        listener: Listener | None = None,
    ) -> Simulation:
        """A run that has been set up and not let go.

        Parameters
        ----------
        policy, seed, drawn, records, listener
            As of `Model.simulation`; nothing is drawn, and every record is kept.

        Returns
        -------
        Simulation
            Its `close()` answers with the outcome once `env` has run.
        """
        mode = {"waves": self.waves, "step_s": self.step_s, "horizon_s": self.horizon_s}
        return Simulation(self.source, self.cluster, policy, listener, **mode)  # type: ignore[arg-type]

    def varied(self, **parameters: Any) -> Requests:
        """The requests with other parameters.

        Parameters
        ----------
        **parameters : Any
            Their own, and those of the cluster (gpus, memory_gb and so on).

        Returns
        -------
        Requests
            A copy.

        Raises
        ------
        InputError
            For a name that is no parameter, or a value that is not allowed.
        """
        names = [item.name for item in fields(LlmCluster)]
        return self._varied(parameters, "cluster", self.cluster, names)
