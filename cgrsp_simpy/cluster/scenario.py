"""A cluster with its jobs, on which schedulers are simulated."""

from __future__ import annotations

from collections.abc import Iterator

from cgrsp_simpy.base.checks import InputError, check_one_of
from cgrsp_simpy.base.parameters import declared, parameter
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.cluster.cluster import (
    PAPER_CLUSTER,
    PLACEMENTS,
    Cluster,
    Placement,
    Pools,
)
from cgrsp_simpy.cluster.jobs import COLUMNS, HIDDEN, Jobs, Offered, Row
from cgrsp_simpy.cluster.policies import COMPARED, SCHEDULERS, make_scheduler
from cgrsp_simpy.cluster.report import ClusterReport
from cgrsp_simpy.cluster.view import Scheduler, View
from cgrsp_simpy.engine.events import Listener, policy_name
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, pools
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.studies.subject import Subject

NEEDED = {  # what jobs that lack a column do not tell
    "iterations": "the work of each job (iterations)",
    "family": "the model family of each job",
    "user": "jobs of at least two users",
    "qos": "the priority of each job's quality of service (qos)",
}


class ClusterSubject(Subject):
    """Schedulers run if the jobs have the columns that they need."""

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether jobs are drawn; a log is the same for every seed."""
        return not isinstance(self.model.source, Jobs)

    def default_policies(self) -> tuple[str, ...]:
        """Return the schedulers of a comparison, except those whose columns the jobs
        lack.
        """
        return tuple(
            name for name in COMPARED if not self.model.shortage(make_scheduler(name))
        )

    def make_policy(self, policy: str | Scheduler) -> Scheduler:
        """As of `Model`; InputError also for a scheduler that needs a column that the
        jobs lack.
        """
        made: Scheduler = super().make_policy(policy)
        for column in self.model.shortage(made)[:1]:
            raise InputError(
                f"scheduler {policy_name(made)} needs {NEEDED.get(column, column)},"
                f" which {self.model.offered} does not tell"
            )
        return made

    @property
    def parts(self) -> dict[str, Offered]:
        return (
            {"source": self.model.source}
            if isinstance(self.model.source, Offered)
            else {}
        )


class Measured:
    """Which jobs of a run are measured, and whether enough have arrived to know their
    waits.

    jobs: their indices; all of a log. left: how many of them have not ended.
    waiting_gpu_s: work that waits, GPU-seconds. settled: whether enough have arrived;
    that is not asked of a log, nor where none come after the measured jobs.
    """

    def __init__(self, source: Offered | Jobs) -> None:
        first = source.warm_up if isinstance(source, Offered) else 0
        self.jobs = range(first, first + source.jobs)
        self.settled = not isinstance(source, Offered) or not source.after
        self.left, self.waiting_gpu_s = source.jobs, 0
        # since the first of them: what jobs met, and how many
        self._met_gpu_s = self._came = 0

    def arrives(self, job: int, gpu_s: int) -> bool:
        """Take a job with so much work into account; whether it is the last that need
        arrive.
        """
        if job >= self.jobs.start:
            self._met_gpu_s = self._met_gpu_s + self.waiting_gpu_s
            self._came = self._came + 1
        enough = not self.left and self.waiting_gpu_s * self._came <= self._met_gpu_s
        self.settled |= enough
        self.waiting_gpu_s += gpu_s
        return enough


@declared()
class Scenario(Model):
    """Jobs on a cluster: everything that a run depends on, but the scheduler and the
    seed.

    In a run jobs go by their index, in order of arrival.

    Raises
    ------
    InputError
        For what is not allowed, such as a job that the cluster cannot run.
    """

    source: Offered | Jobs = parameter(
        "A mix, drawn for each seed, or the jobs of a log, the same for every seed.",
        default_factory=Offered,
    )
    cluster: Cluster = parameter("The nodes and their GPUs.", default=PAPER_CLUSTER)
    placement: str | Placement = parameter(
        "Which nodes a job gets: a name of PLACEMENTS, or a function (size of a node,"
        " GPUs free on it) -> key; the first of the nodes with room that have the least"
        " key.",
        default="best",
    )
    kill_at_limit: bool = parameter(
        "End a job that has run for its estimate, as Slurm does.", default=False
    )

    policies = SCHEDULERS
    compared = COMPARED
    policy_label = "scheduler"
    report = ClusterReport
    subject = ClusterSubject

    def __post_init__(self) -> None:
        if not callable(self.placement):
            check_one_of("placement", self.placement, PLACEMENTS)
        (self.source if isinstance(self.source, Jobs) else self.source.mix).check_fit(
            self.cluster
        )

    # ---- the model ----

    def set_up(self, run: Simulation) -> None:
        run.plan = Measured(self.source)

    def resources(self) -> tuple[ResourceSpec, ...]:
        units = (
            "GPUs",
            *("cores",) * bool(self.cluster.cores),
            f"{self.cluster.step_gb} GB",
        )
        return tuple(
            place
            for sizes, unit in zip(self.cluster.pools, units)
            for place in pools(sizes, "node", unit)
        )

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, int, Row]]:
        source = self.source
        jobs = (
            source if isinstance(source, Jobs) else source.draw(self.cluster, draw.seed)
        )
        return zip(jobs.arrival_s.tolist(), range(jobs.jobs), jobs.rows())

    def job_process(self, run: Simulation, job: int) -> Process:
        """A job: it claims its GPUs, all at once, and runs until its work is done, or
        it is killed at its limit.
        """
        told, seen = run.hidden[job], run.plan
        time_s = self.time_s(told)
        gpu_s = int(told[1] * time_s)  # whole numbers, whose sum comes back to 0
        run.stop_arrivals = seen.arrives(job, gpu_s)
        with run.claim(job) as claim:
            yield claim
            seen.waiting_gpu_s -= gpu_s
            yield run.timeout(time_s, ("finish", job))
        seen.left -= job in seen.jobs
        run.record(job, *told[1:], time_s < told[2])

    def time_s(self, told: Row) -> float:
        """For how long a job runs, seconds."""
        return float(min(told[2], told[3]) if self.kill_at_limit else told[2])

    def view(self, run: Simulation) -> View:
        needs = (
            self.cluster.needs(self.source) if isinstance(self.source, Jobs) else (1,)
        )
        named = self.placement
        nodes = self.cluster.nodes(
            needs, named if callable(named) else PLACEMENTS[named]
        )
        return View(run, nodes, self.known, needs if isinstance(nodes, Pools) else ())

    @property
    def name(self) -> str:
        """The jobs and the cluster."""
        nodes = len(self.cluster.sizes)
        return (
            f"{self.offered}, {self.cluster.gpus} GPUs on {nodes}"
            f" node{'s' * (nodes > 1)}"
        )

    @property
    def offered(self) -> str:
        """Name of the source of jobs, for messages."""
        return self.source.name if isinstance(self.source, Jobs) else str(self.source)

    @property
    def known(self) -> tuple[str, ...]:
        """Columns that the jobs have."""
        drawn = tuple(column for column in COLUMNS if column not in ("qos", *HIDDEN))
        return self.source.shown if isinstance(self.source, Jobs) else drawn

    @property
    def columns(self) -> dict[str, str]:  # type: ignore[override]
        """What is known of a job besides its number, and whether it was killed."""
        return {**{name: COLUMNS[name] for name in self.known[1:]}, "killed": "?"}

    @property
    def jobs(self) -> int:
        """Number of measured jobs of a run."""
        return self.source.jobs

    def shortage(self, scheduler: Scheduler) -> tuple[str, ...]:
        """The columns that a scheduler needs and the jobs lack, by name."""
        return tuple(
            each for each in getattr(scheduler, "needs", ()) if each not in self.known
        )

    def moment(self, now_s: float, seed: int = 0) -> View:
        """A view to try a scheduler on without a simulation: all jobs wait, and nothing
        runs.
        """
        run = Simulation(self, lambda _: (), seed)
        view: View = run.view
        for _, job, told in self.arrivals(Draw(seed)):
            run.hidden[job] = told
            view.on_enqueue(job)
        view.on_decision(now_s)
        return view


def simulate(
    jobs: Jobs,
    cluster: Cluster,
    scheduler: str | Scheduler,
    placement: str | Placement = "best",
    *,
    kill_at_limit: bool = False,
    listener: Listener | None = None,
) -> Run:
    """A run of jobs that are there, as of `Scenario` and `cg.simulate`."""
    scenario = Scenario(jobs, cluster, placement, kill_at_limit)
    return ClusterSubject(scenario).run(scheduler, listener=listener)
