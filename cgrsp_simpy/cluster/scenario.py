"""Scenario of a cluster and its jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from cgrsp_simpy.base.checks import InputError, check_one_of, require
from cgrsp_simpy.base.parameters import declared, parameter
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.base.table import Table, figure_text, many
from cgrsp_simpy.cluster.cluster import (
    PAPER_CLUSTER,
    PLACEMENTS,
    Nodes,
    Placement,
    Pools,
)
from cgrsp_simpy.cluster.jobs import COLUMNS, HIDDEN, Jobs, Offered, Row
from cgrsp_simpy.cluster.logs import NodesOfCluster
from cgrsp_simpy.cluster.policies import COMPARED, SCHEDULERS, make_scheduler
from cgrsp_simpy.cluster.report import ClusterReport, by_class
from cgrsp_simpy.cluster.view import PooledView, Scheduler, View
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, pools
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.studies.subject import Subject

# column of the jobs -> noun for it, if a scheduler needs the column
NEEDED = {
    "iterations": "the work of each job (iterations)",
    "family": "the model family of each job",
    "user": "jobs of at least two users",
    "qos": "the priority of each job's quality of service (qos)",
}

OVERRUN = (
    "easy expects such a job to end at once, conservative to run as long again; the"
    " others look at waiting jobs only"
)


class ClusterSubject(Subject):
    """Subject of studies; it checks that jobs have the columns that schedulers need."""

    pace_per_s = 4000.0  # a run also has jobs before and after the measured ones

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether jobs are drawn; a log is the same for every seed."""
        return not isinstance(self.model.source, Jobs)

    def left_out(self, names: Iterable[str] = COMPARED) -> dict[str, str]:
        """Return the schedulers that need columns the jobs lack, with reasons."""
        shortages = {name: self.model.shortage(make_scheduler(name)) for name in names}
        return {
            name: f"needs {' and '.join(columns)}, which the log does not have"
            for name, columns in shortages.items()
            if columns
        }

    def make_policy(self, policy: str | Scheduler) -> Scheduler:
        """Return a scheduler; InputError also if it needs a column that jobs lack."""
        scheduler: Scheduler = super().make_policy(policy)
        for column in self.model.shortage(scheduler):
            raise InputError(
                f"scheduler {policy_name(scheduler)} needs"
                f" {NEEDED.get(column, column)}, which {self.model.offered} does"
                " not record"
            )
        return scheduler

    def completed(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """As `Subject.completed`; cluster.sizes must not be nodes x GPUs."""
        sizes = parameters.get("cluster.sizes")
        for text in sizes if isinstance(sizes, tuple | list) else [sizes]:
            require(
                "x" not in str(text),
                "cluster.sizes",
                text,
                "the GPUs of each node, such as 8+8; for nodes x GPUs, use"
                f" cluster={text}",
            )
        return parameters

    def details(self, run: Any) -> tuple[Sequence[Table], Mapping[str, Any]]:
        """Return a table of waits by class, with notes on their validity."""
        classes, notes, jobs = by_class(run), list[str](), run.jobs
        if not run.plan.settled:
            notes.append(f"{run.policy} is {run.report.infinite}")
        elif number := int(run.summary()["censored"]):
            notes.append(
                f"{many(number, 'job')} had not started when the last one arrived:"
                " these waits depend on where the list of jobs ends"
            )
        longer = int((jobs["estimate_s"] < jobs["duration_s"]).sum())
        if longer and not jobs["killed"].any():
            notes.append(f"{many(longer, 'job')} took longer than estimated: {OVERRUN}")
        cells = [list(map(figure_text, row.values())) for row in classes]
        tables = [Table("waits by class", [list(classes[0]), *cells], "\n".join(notes))]
        return (tables if classes else []), {"classes": classes, "notes": notes}


@declared()
class Scenario(Model):
    """Jobs on a cluster: all parameters of a run except the scheduler and the seed.

    In a run, a job is represented by its index in order of arrival; its `Row` holds its
    columns. Raises InputError for an invalid parameter, or a job that the cluster
    cannot run.
    """

    source: Offered | Jobs = parameter(
        "The jobs: drawn from a mix for each seed, or from a log, the same for"
        " every seed.",
        default_factory=Offered,
    )
    cluster: NodesOfCluster = parameter(
        'The nodes and their GPUs, also written as "8x8" or "4x8+2x4" (nodes x GPUs),'
        " or a file, see `read_cluster`.",
        default=PAPER_CLUSTER,
    )
    placement: str | Placement = parameter(
        "Placement rule: a name of PLACEMENTS, or a function (size of a node, its"
        " free GPUs) -> key. A job is placed on the node with the least key among"
        " those with enough free GPUs; ties go to the first node.",
        default="best",
    )
    kill_at_limit: bool = parameter(
        "Whether a job ends when it has run for its estimate, as in Slurm.",
        default=False,
    )

    policies = SCHEDULERS
    compared = COMPARED
    policy_label = "scheduler"
    report = ClusterReport
    view_type = View
    subject = ClusterSubject

    def __post_init__(self) -> None:
        if not callable(self.placement):
            check_one_of("placement", self.placement, PLACEMENTS)
        jobs = self.source if isinstance(self.source, Jobs) else self.source.mix
        jobs.check_fit(self.cluster)

    # ---- the model ----

    def resources(self) -> tuple[ResourceSpec, ...]:
        cores = ("cores",) if self.cluster.cores else ()
        units = ("GPUs", *cores, f"{self.cluster.step_gb} GB")
        return tuple(
            pool
            for sizes, unit in zip(self.cluster.pools, units)
            for pool in pools(sizes, "node", unit)
        )

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, int, Row]]:
        source = self.source
        jobs = (
            source if isinstance(source, Jobs) else source.draw(self.cluster, draw.seed)
        )
        if jobs.earliest_s is None:
            return zip(jobs.arrival_s.tolist(), range(jobs.jobs), jobs.rows())
        rows = zip(jobs.earliest_s.tolist(), range(jobs.jobs), jobs.rows())
        return iter(sorted(rows, key=itemgetter(0, 1)))

    def set_up(self, run: Simulation) -> None:
        run.plan = StoppingRule(self.source)
        source: Any = self.source
        follows = getattr(source, "predecessor", None) is not None
        rows = (
            zip(source.predecessor.tolist(), source.think_s.tolist()) if follows else ()
        )
        # predecessor and think time of dependent jobs; end events of predecessors
        run.dependent_jobs = {job: row for job, row in enumerate(rows) if row[0] >= 0}
        run.predecessor_ends = {
            before: run.env.event() for before, _ in run.dependent_jobs.values()
        }

    def job_process(self, run: Simulation, job: int) -> Process:
        """Claim all GPUs of a job at once, and run it to its end or limit."""
        stopping = run.plan
        if job in run.dependent_jobs:
            yield from self.until_ready(run, job)
        row = run.hidden[job]
        _, gpus, duration_s, *_ = row
        time_s = self.time_s(row)
        # a whole number, so that the sum of the waiting work is exact
        gpu_s = int(gpus * time_s)
        run.stop_arrivals = stopping.arrives(job, gpu_s)
        with run.claim(job) as claim:
            yield claim
            stopping.starts(gpu_s)
            yield run.timeout(time_s, ("finish", job))
        stopping.ends(job)
        run.record(job, *row[1:], time_s < duration_s)  # whether it was killed
        if job in run.predecessor_ends:
            run.predecessor_ends[job].succeed(run.now_s)

    def until_ready(self, run: Simulation, job: int) -> Process:
        """Wait for the predecessor's end and the think time, then submit the job."""
        before, think_s = run.dependent_jobs[job]
        ended_s = yield run.predecessor_ends[before]
        if (rest_s := ended_s + think_s - run.now_s) > 0:
            yield run.timeout(rest_s, ("submit", job))
        run.job_processes[job].submit_s = run.now_s
        run.hidden[job] = (run.now_s, *run.hidden[job][1:])

    def time_s(self, row: Row) -> float:
        """Return a job's run time, seconds, up to its limit if killed there."""
        _, _, duration_s, estimate_s, *_ = row
        return float(min(duration_s, estimate_s) if self.kill_at_limit else duration_s)

    def view(self, run: Simulation) -> View:
        source = self.source
        # generated jobs need GPUs only, so one example of a need is enough
        needs = self.cluster.needs(source) if isinstance(source, Jobs) else (1,)
        nodes = self.cluster.nodes(needs, self._placement)
        needs = needs if isinstance(nodes, Pools) else ()
        in_order = getattr(source, "predecessor", None) is None
        return self.view_type(run, nodes, self.known, needs, in_order)

    @property
    def _placement(self) -> Placement:
        placement = self.placement
        return placement if callable(placement) else PLACEMENTS[placement]

    # ---- names and columns ----

    @property
    def name(self) -> str:
        """Description of the jobs and the cluster."""
        gpus, nodes = self.cluster.gpus, len(self.cluster.sizes)
        return f"{self.offered}, {many(gpus, 'GPU')} on {many(nodes, 'node')}"

    @property
    def offered(self) -> str:
        """Name of the source of jobs, for messages."""
        return self.source.name if isinstance(self.source, Jobs) else str(self.source)

    @property
    def known(self) -> tuple[str, ...]:
        """Columns that the jobs have, except hidden ones."""
        if isinstance(self.source, Jobs):
            return self.source.shown
        return tuple(column for column in COLUMNS if column not in ("qos", *HIDDEN))

    @property
    def columns(self) -> dict[str, str]:  # type: ignore[override]
        """The known columns of a job except its arrival, and whether it was killed."""
        return {**{name: COLUMNS[name] for name in self.known[1:]}, "killed": "?"}

    @property
    def jobs(self) -> int:
        """Number of measured jobs per run."""
        return self.source.jobs

    def shortage(self, scheduler: Scheduler) -> tuple[str, ...]:
        """Return the names of the columns that a scheduler needs and the jobs lack."""
        needs = getattr(scheduler, "needs", ())
        return tuple(column for column in needs if column not in self.known)

    def moment(self, now_s: float, seed: int = 0) -> View:
        """Return a view for testing a scheduler: all jobs wait and none runs."""
        run = Simulation(self, lambda _: (), seed)
        view: View = run.view
        for _, job, row in self.arrivals(Draw(seed)):
            run.hidden[job] = row
            view.on_enqueue(job)
        view.on_decision(now_s)
        return view


class Pooled(Scenario):
    """A replay of a log whose engine counts the GPUs of all nodes together.

    If the GPUs of all jobs are multiples of one number, schedulers get groups of so
    many nodes as one node. Nodes are taken in order, so a group is always taken as a
    whole.
    """

    view_type = PooledView

    def resources(self) -> tuple[ResourceSpec, ...]:
        return pools((self.cluster.gpus,), "cluster", "GPUs")

    def view(self, run: Simulation) -> View:
        jobs: Any = self.source
        unit = int(np.gcd.reduce(jobs.gpus))
        needs = (jobs.gpus // unit).tolist()
        nodes = Nodes((1,) * (self.cluster.gpus // unit))
        return PooledView(run, nodes, self.known, needs, jobs.predecessor is None)


def pooled(scenario: Scenario) -> Scenario:
    """Return a replay as `Pooled` if jobs take only GPUs and each node has one.

    The times of its jobs do not change.
    """
    jobs: Any = scenario.source
    cluster = scenario.cluster
    if type(scenario) is not Scenario or {*cluster.sizes} != {1}:
        return scenario
    nodes = cluster.nodes(cluster.needs(jobs))
    return Pooled(**vars(scenario)) if type(nodes) is Nodes else scenario


class StoppingRule:
    """Rule for when drawn jobs stop arriving (see `Offered`); jobs of a log all arrive.

    jobs: indices of the measured jobs. left: number of these that have not ended.
    waiting_gpu_s: work that waits now, GPU-seconds. settled: whether arrivals ended by
    the rule, so that the waits are known; if not, the jobs ran out first. Always True
    for a log, and for a source without jobs after the measured ones.
    """

    def __init__(self, source: Offered | Jobs) -> None:
        first = source.warm_up if isinstance(source, Offered) else 0
        self.jobs = range(first, first + source.jobs)
        self.settled = not isinstance(source, Offered) or not source.after
        self.left, self.waiting_gpu_s = source.jobs, 0
        # since the first measured job: sum of the work that waited at each arrival, and
        # number of arrivals
        self._met_gpu_s = self._arrived = 0

    def arrives(self, job: int, gpu_s: int) -> bool:
        """Count an arriving job and its work; return whether it is the last."""
        if job >= self.jobs.start:
            self._met_gpu_s += self.waiting_gpu_s
            self._arrived += 1
        # waiting <= met / arrived, in whole numbers
        stops = not self.left and self.waiting_gpu_s * self._arrived <= self._met_gpu_s
        self.settled |= stops
        self.waiting_gpu_s += gpu_s
        return stops

    def starts(self, gpu_s: int) -> None:
        """Count work that no longer waits."""
        self.waiting_gpu_s -= gpu_s

    def ends(self, job: int) -> None:
        """Count the end of a job."""
        if job in self.jobs:
            self.left -= 1
