"""Jobs of a cluster on the engine: a node is a pool of GPUs, a job claims all its GPUs at once,
a scheduler is a policy.
"""

from __future__ import annotations

import copy
from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import simpy

from cgrsp_simpy.cluster.jobs import KINDS, Cluster, Floats, Jobs
from cgrsp_simpy.cluster.metrics import by, metrics
from cgrsp_simpy.cluster.placement import Place
from cgrsp_simpy.cluster.view import ClusterState, Row, Scheduler, gpus_told, rows
from cgrsp_simpy.engine.claims import Pool
from cgrsp_simpy.engine.engine import Engine
from cgrsp_simpy.engine.events import Listener, policy_name
from cgrsp_simpy.engine.instant import delay_until
from cgrsp_simpy.model.shown import ShownRun
from cgrsp_simpy.model.timeline import CLAIM, VISIT, Timeline

if TYPE_CHECKING:
    from cgrsp_simpy.cluster.study import Setting

__all__ = ["Outcome", "Simulation"]

Process = Generator[simpy.Event, Any, None]


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(ShownRun):
    """What became of jobs; columns of shape (jobs,) in their order.

    Attributes
    ----------
    jobs : Jobs
        What was to be done.
    cluster : Cluster
        Where.
    scheduler : str
        Its name.
    start_s, finish_s : array
        When each job started and ended, seconds.
    places : tuple of Place
        Nodes of each job, and its GPUs on them.
    killed : array of bool
        Whether a job was ended at its limit.
    """

    jobs: Jobs
    cluster: Cluster
    scheduler: str
    start_s: Floats
    finish_s: Floats
    places: tuple[Place, ...]
    killed: npt.NDArray[np.bool_]

    @property
    def title(self) -> str:
        """The jobs, the cluster and the scheduler."""
        nodes = len(self.cluster.sizes)
        return f"{self.jobs.name}, {self.cluster.gpus} GPUs on {nodes} nodes: {self.scheduler}"

    @property
    def wait_s(self) -> Floats:
        """From arrival to start, seconds."""
        return self.start_s - self.jobs.arrival_s

    @property
    def run_s(self) -> Floats:
        """For how long each job ran, seconds."""
        return np.where(self.killed, self.jobs.estimate_s, self.jobs.duration_s)

    @cached_property
    def claims(self) -> np.ndarray[Any, np.dtype[Any]]:
        """What held the GPUs, a structured array of CLAIM: one row a job and node, by start.

        In the column place stands the node, in amount the GPUs, in from_s and to_s seconds.
        """
        by_start = np.argsort(self.start_s, kind="stable").tolist()
        return np.array(
            [
                (job, node, gpus, "executing", self.start_s[job], self.finish_s[job])
                for job in by_start
                for node, gpus in self.places[job]
            ],
            CLAIM,
        )

    def summary(self) -> dict[str, float]:
        """The figures of `metrics`, by name."""
        return metrics(self)

    def rows(self) -> list[dict[str, Any]]:
        """One dict a job: what it asked for, when it ran, seconds, its GPUs by node as "node:GPUs",
        and a log's own columns.
        """
        jobs = self.jobs
        columns = (
            jobs.arrival_s,
            jobs.gpus,
            jobs.duration_s,
            jobs.estimate_s,
            self.start_s,
            self.finish_s,
        )
        names = ("arrival_s", "gpus", "duration_s", "estimate_s", "start_s", "finish_s")
        rows = zip(zip(*(column.tolist() for column in columns)), self.places)
        told = [
            {
                "job": number,
                **dict(zip(names, row)),
                "nodes": " ".join(f"{node}:{gpus}" for node, gpus in place),
            }
            for number, (row, place) in enumerate(rows)
        ]
        return [{**row, **jobs.tags.of(number, row)} for number, row in enumerate(told)]

    def by(self, tag: str) -> list[dict[str, str | float]]:
        """The figures of the jobs of each value of a log's column, as of `metrics.by`.

        Parameters
        ----------
        tag : str
            The column's name.

        Returns
        -------
        list of dict
            A row for each value, in the order of the alphabet.

        Raises
        ------
        InputError
            For a column that the log does not have.
        """
        return by(self, tag)

    @property
    def timeline(self) -> Timeline:
        """The run as nodes and jobs, which it is drawn from; the kinds of the jobs are
        those of the paper.
        """
        visits = np.empty(self.jobs.jobs, VISIT)
        columns = (
            np.arange(self.jobs.jobs),
            self.jobs.arrival_s,
            self.start_s,
            self.finish_s,
            np.nan,
        )
        for name, column in zip(VISIT.names or (), columns):
            visits[name] = column
        kinds = {job: KINDS[kind] for job, kind in enumerate(self.jobs.kind.tolist())}
        nodes = tuple(f"{node}  {gpus_told(size)}" for node, size in enumerate(self.cluster.sizes))
        return Timeline(
            "node",
            nodes,
            self.cluster.sizes,
            self.claims,
            visits,
            kinds=kinds,
            policy=self.scheduler,
        )


class Simulation:
    """A run that has been set up, with its source of arrivals about to start, and has not been let
    go.

    The run works on a copy of the scheduler, so that one with memory is fresh for every run.

    Parameters
    ----------
    setting : Setting
        What is run.
    scheduler : Scheduler
        A function of a ClusterView.
    jobs : Jobs
        In order of arrival.
    listener : callable or None
        Called with each Event.
    """

    def __init__(
        self, setting: Setting, scheduler: Scheduler, jobs: Jobs, listener: Listener | None
    ) -> None:
        self.jobs, self.cluster, self.scheduler = jobs, setting.cluster, scheduler
        self.killed = (jobs.duration_s > jobs.estimate_s) & setting.kill_at_limit
        env = self.env = simpy.Environment()
        sizes = self.cluster.sizes
        self.state = ClusterState(self.cluster, setting.place, jobs.columns)
        nodes = [Pool(env, "node", index, size, "GPUs") for index, size in enumerate(sizes)]
        own, hears_all = copy.deepcopy(scheduler), getattr(scheduler, "hears_all", False)
        self.engine = Engine(env, nodes, self.state, own, listener, hears_all=hears_all)
        self.start_s, self.finish_s = np.zeros((2, jobs.jobs))
        self.places: list[Place] = [()] * jobs.jobs
        env.process(self.source())

    def close(self) -> Outcome:
        """What the run leaves, once nothing is left to happen."""
        self.engine.check_done()
        name, places = policy_name(self.scheduler), tuple(self.places)
        return Outcome(
            self.jobs, self.cluster, name, self.start_s, self.finish_s, places, self.killed
        )

    def source(self) -> Process:
        """Start the process of each job when it arrives."""
        env, run_s = self.env, np.where(self.killed, self.jobs.estimate_s, self.jobs.duration_s)
        for job, (row, time_s) in enumerate(zip(rows(self.jobs), run_s.tolist())):
            yield env.timeout(delay_until(env.now, row[0]), ("submit", job))
            env.process(self.job_process(job, row, time_s))

    def job_process(self, job: int, row: Row, time_s: float) -> Process:
        """A job: claim its GPUs, run until it has done its work or is killed.

        Parameters
        ----------
        job : int
            Its index.
        row : tuple
            What is known of it when it arrives.
        time_s : float
            How long it runs, seconds.

        Yields
        ------
        simpy.Event
            To be run by SimPy.
        """
        env, engine = self.env, self.engine
        self.state.arrives(row)
        claim = yield engine.claim(job)
        claim.acquire()
        self.start_s[job], self.places[job] = env.now, claim.parts
        if engine.listener:
            engine.tell("start", claim, f"{gpus_told(row[1])}, {env.now - row[0]:.2f} s of wait")
        yield env.timeout(time_s, ("finish", job))
        self.finish_s[job] = env.now
        if engine.listener:
            engine.tell(
                "finish",
                claim,
                f"{time_s:.2f} s of execution{', killed at its limit' if self.killed[job] else ''}",
            )
        engine.release(claim)
