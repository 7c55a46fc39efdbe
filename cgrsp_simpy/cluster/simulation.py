"""Jobs of a cluster on the engine: a GPU is a slot, a job claims all its GPUs at once, a scheduler is a policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cgrsp_simpy.cluster.jobs import Cluster, Floats, Jobs
from cgrsp_simpy.cluster.placement import Place, Placement, best_fit
from cgrsp_simpy.engine.simulation import run_once
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.model.decision import Assignment, View
from cgrsp_simpy.model.gpu import GpuType
from cgrsp_simpy.model.job import Draws, Job
from cgrsp_simpy.model.market import Market
from cgrsp_simpy.model.scenario import Scenario
from cgrsp_simpy.model.service import Service
from cgrsp_simpy.model.workload import JobList

__all__ = ["Moment", "Outcome", "Running", "Scheduler", "check_columns", "lacking", "simulate"]


class Running(NamedTuple):
    """A job that runs. place: its nodes. end_s: when it ends by its estimate, seconds."""

    job: int
    place: Place
    end_s: float


class Moment:
    """What a scheduler sees at a decision, and how it starts jobs. Jobs go by their index in `jobs`.

    now_s: the clock. waiting: jobs in the queue, oldest first. running: by job. sizes, free: GPUs of each node, and those idle.
    gpus: those that each job needs, as a list, for loops over jobs.
    A scheduler may look at all columns of `jobs` but duration_s, and only at jobs that have arrived. One that looks at columns
    that jobs may lack names them in its attribute `needs`.
    """

    def __init__(self, jobs: Jobs, cluster: Cluster, placement: Placement) -> None:
        self.jobs, self.sizes, self.placement = jobs, cluster.sizes, placement
        self.gpus: list[int] = jobs.gpus.tolist()
        self.now_s = 0.0
        self.waiting: list[int] = []
        self.free: list[int] = []
        self.running: dict[int, Running] = {}
        self.started: list[tuple[int, Place]] = []

    def room(self, gpus: int) -> Place | None:
        """Where a job of so many GPUs could go now; None if it does not fit."""
        return self.placement(self.free, self.sizes, gpus)

    def start(self, job: int, place: Place | None = None) -> bool:
        """Start a job at a place, or where it fits now; False if that is nowhere."""
        place = place or self.room(self.gpus[job])
        if place is None:
            return False
        for node, gpus in place:
            self.free[node] -= gpus
        self.running[job] = Running(job, place, self.now_s + float(self.jobs.estimate_s[job]))
        self.waiting.remove(job)
        self.started.append((job, place))
        return True


Scheduler = Callable[[Moment], None]
"""Starts what it chooses at a moment, `moment.start(job)`, and leaves the others waiting."""


class _Gang:
    """The policy that lets a scheduler decide, and gives each job it starts its GPUs on the nodes where it was placed."""

    def __init__(self, jobs: Jobs, cluster: Cluster, scheduler: Scheduler, placement: Placement) -> None:
        self.places: dict[int, Place] = {}
        self._scheduler, self._moment = scheduler, Moment(jobs, cluster, placement)
        self._moment.free = list(cluster.sizes)
        self._slots: dict[int, tuple[int, ...]] = {}  # of each job that runs
        self._node_of = cluster.node_of
        self._idle: list[list[int]] = [[] for _ in cluster.sizes]  # slots by node, the first at the end
        for slot in reversed(range(cluster.gpus)):
            self._idle[self._node_of[slot]].append(slot)

    def decide(self, view: View) -> list[Assignment]:
        """What the scheduler starts now, with its slots."""
        moment, waiting = self._moment, {job.id: job for job in view.queue}
        idle = {slot.index: slot for slot in view.idle}
        for job in [job for job, slots in self._slots.items() if slots[0] in idle]:
            self._take_back(job)
        moment.now_s, moment.waiting, moment.started = view.now_s, list(waiting), []
        self._scheduler(moment)
        self.places.update(moment.started)
        return [(waiting[job], tuple([idle[slot] for slot in self._take(job, place)])) for job, place in moment.started]

    def _take(self, job: int, place: Place) -> tuple[int, ...]:
        self._slots[job] = slots = tuple([self._idle[node].pop() for node, gpus in place for _ in range(gpus)])
        return slots

    def _take_back(self, job: int) -> None:
        """A job has ended: its GPUs are free again."""
        place = self._moment.running.pop(job).place
        for slot in self._slots.pop(job):
            self._idle[self._node_of[slot]].append(slot)
        for node, gpus in place:
            self._moment.free[node] += gpus
            self._idle[node].sort(reverse=True)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of jobs; columns of shape (jobs,) in their order. start_s, finish_s: seconds. places: nodes of each job."""

    jobs: Jobs
    cluster: Cluster
    scheduler: str
    start_s: Floats = field(repr=False)
    finish_s: Floats = field(repr=False)
    places: tuple[Place, ...] = field(repr=False)

    @property
    def wait_s(self) -> Floats:
        """From arrival to start, seconds."""
        return self.start_s - self.jobs.arrival_s


NEEDED = {
    "iterations": "the work of each job (iterations)",
    "family": "the model family of each job",
    "user": "jobs of at least two users",
}


def lacking(jobs: Jobs, scheduler: Scheduler) -> tuple[str, ...]:
    """The columns that a scheduler needs and the jobs lack."""
    return tuple(column for column in getattr(scheduler, "needs", ()) if column not in jobs.columns)


def check_columns(jobs: Jobs, scheduler: Scheduler) -> None:
    """Raise InputError if a scheduler needs a column that the jobs lack."""
    for column in lacking(jobs, scheduler)[:1]:
        name = getattr(scheduler, "__name__", type(scheduler).__name__)
        raise InputError(f"scheduler {name} needs {NEEDED.get(column, column)}, which {jobs.name} does not tell")


def simulate(jobs: Jobs, cluster: Cluster, scheduler: Scheduler, placement: Placement = best_fit) -> Outcome:
    """Simulate until the last job completes.

    Raises InputError for a job that the cluster cannot run, or a column that the scheduler needs and the jobs lack; PolicyError
    if the scheduler leaves jobs waiting for ever.
    """
    jobs.check_fit(cluster)
    check_columns(jobs, scheduler)
    gang = _Gang(jobs, cluster, scheduler, placement)

    def policy(view: View) -> list[Assignment]:  # a function, of which a run makes no copy: the places are kept in `gang`
        return gang.decide(view)

    policy.__name__ = name = getattr(scheduler, "__name__", type(scheduler).__name__)
    scenario, listed = _scenario(jobs, cluster)
    done = run_once(scenario, policy, jobs=listed).jobs
    places = tuple(gang.places[job] for job in range(jobs.jobs))
    return Outcome(jobs, cluster, name, done["start_s"].copy(), done["finish_s"].copy(), places)


def _scenario(jobs: Jobs, cluster: Cluster) -> tuple[Scenario, list[tuple[Job, Draws]]]:
    """The jobs for the engine: a complexity level for each estimate, and of each job's luck the duration over the estimate."""
    levels_s, level = np.unique(jobs.estimate_s, return_inverse=True)
    gpu = GpuType("GPU", 0.0, tuple(levels_s.tolist()), high_stock_probability=1.0)
    columns = (jobs.arrival_s.tolist(), (level + 1).tolist(), jobs.gpus.tolist(), (jobs.duration_s / jobs.estimate_s).tolist())
    listed = [
        (Job(number, arrival_s, arrival_s, complexity, gpus=gpus), Draws(0.0, 0.0, share))  # no deadlines: none is looked at
        for number, (arrival_s, complexity, gpus, share) in enumerate(zip(*columns))
    ]
    at_once, certain = Market(delay_s=((0.0, 0.0),) * 3), Service(sigma=(0.0,) * len(levels_s))
    slots = (gpu,) * cluster.gpus
    scenario = Scenario(jobs.name, JobList(tuple(job for job, _ in listed)), slots, (gpu,), market=at_once, service=certain)
    return scenario, listed
