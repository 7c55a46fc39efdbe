"""A cluster with its jobs: what schedulers are simulated, compared and swept on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cgrsp_simpy.cluster.jobs import PAPER_CLUSTER, Cluster, Jobs
from cgrsp_simpy.cluster.metrics import METRICS
from cgrsp_simpy.cluster.mix import Mix, generate
from cgrsp_simpy.cluster.placement import PLACEMENTS, Placement
from cgrsp_simpy.cluster.schedulers import COMPARED, SCHEDULERS, make_scheduler
from cgrsp_simpy.cluster.simulation import Outcome, Simulation
from cgrsp_simpy.cluster.view import Scheduler
from cgrsp_simpy.engine.events import Listener, policy_name
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.model.checks import (
    InputError,
    check_bool,
    check_number,
    check_one_of,
    check_whole,
    require,
)

__all__ = ["Offered", "Setting", "simulate"]

NEEDED = {  # what jobs that lack a column do not tell
    "iterations": "the work of each job (iterations)",
    "family": "the model family of each job",
    "user": "jobs of at least two users",
}


@dataclass(frozen=True)
class Offered:
    """Jobs of a mix, drawn anew for each seed.

    Parameters
    ----------
    mix : Mix
        The laws of the jobs.
    jobs : int
        Number of jobs of a run.
    load : float
        Offered load, > 0: GPU-seconds that arrive per second over the GPUs of the cluster.

    Raises
    ------
    InputError
        For numbers that are not allowed.
    """

    mix: Mix = field(default_factory=Mix)
    jobs: int = 1000
    load: float = 0.9

    def __str__(self) -> str:
        return f"{self.jobs} jobs of the mix, offered load {self.load:g}"

    def __post_init__(self) -> None:
        require(isinstance(self.mix, Mix), "mix", self.mix, "a Mix")
        check_whole("jobs", self.jobs, least=1)
        # below, the clock runs so long that it cannot tell one job's end
        check_number("load", self.load, least=1e-6)


@dataclass(frozen=True)
class Setting(Model):
    """Jobs on a cluster: everything that a run depends on, but the scheduler and the seed.

    Parameters
    ----------
    source : Offered or Jobs
        A mix, drawn anew for each seed, or jobs that are there (a log), the same for every seed.
    cluster : Cluster
        The nodes and their GPUs.
    placement : str or callable
        On which nodes a job is put: a name of PLACEMENTS, or a function (size of a node, GPUs free
        on it) -> key; of the nodes with room the first of those of least key is taken.
    kill_at_limit : bool
        End a job that has run for its estimate, as Slurm does.

    Raises
    ------
    InputError
        For what is not allowed, such as a job that the cluster cannot run.
    """

    source: Offered | Jobs = field(default_factory=Offered)
    cluster: Cluster = PAPER_CLUSTER
    placement: str | Placement = "best"
    kill_at_limit: bool = False

    metrics = METRICS
    shown = (
        "throughput_per_h",
        "utilisation_pct",
        "wait_s",
        "wait_variance_min2",
        "starved",
        "success_pct",
        "fragmentation_pct",
    )
    tested = ("throughput_per_h", "wait_s", "wait_variance_min2", "starved")
    precise = "wait_s"
    policies = SCHEDULERS
    compared = COMPARED
    noun = "scheduler"

    def __post_init__(self) -> None:
        require(
            isinstance(self.source, Offered | Jobs), "source", self.source, "an Offered, or Jobs"
        )
        require(isinstance(self.cluster, Cluster), "cluster", self.cluster, "a Cluster")
        if not callable(self.placement):
            check_one_of("placement", self.placement, PLACEMENTS)
        check_bool("kill_at_limit", self.kill_at_limit)
        source = self.source if isinstance(self.source, Jobs) else self.source.mix
        source.check_fit(self.cluster)

    @property
    def name(self) -> str:  # type: ignore[override]
        """What arrives, and where."""
        return f"{self.offered}, {self.cluster.gpus} GPUs on {len(self.cluster.sizes)} nodes"

    @property
    def offered(self) -> str:
        """What arrives, for messages."""
        return self.source.name if isinstance(self.source, Jobs) else str(self.source)

    @property
    def note(self) -> str:  # type: ignore[override]
        """How many jobs of a log have no limit, and what schedulers see instead."""
        none = self.source.unlimited if isinstance(self.source, Jobs) else 0
        if none == 0:
            return ""
        whose = "s" if none == self.jobs else f" of {none} of {self.jobs} jobs"
        see = "the" if none == self.jobs else "their"
        seen = f"schedulers that look at limits see {see} run times"
        return f"{self.offered} tells no limit{whose}: {seen}"

    @property
    def place(self) -> Placement:
        """The placement as a function."""
        return self.placement if callable(self.placement) else PLACEMENTS[self.placement]

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether jobs are drawn; a log has no luck."""
        return not isinstance(self.source, Jobs)

    def default_policies(self) -> tuple[str, ...]:
        """The schedulers of a comparison, but for those that look at what the jobs do not tell."""
        return tuple(name for name in COMPARED if not self.lacks(make_scheduler(name)))

    def lacks(self, scheduler: Scheduler) -> tuple[str, ...]:
        """The columns that a scheduler needs and the jobs lack.

        Parameters
        ----------
        scheduler : Scheduler
            As of `make_policy`.

        Returns
        -------
        tuple of str
            Names of columns.
        """
        if not isinstance(self.source, Jobs):
            return ()
        there, needs = self.source.columns, getattr(scheduler, "needs", ())
        return tuple(column for column in needs if column not in there)

    @property
    def jobs(self) -> int:
        """Number of jobs of a run."""
        return self.source.jobs

    def make_policy(self, policy: str | Scheduler) -> Scheduler:
        """A scheduler from its text, or a function of a ClusterView.

        Parameters
        ----------
        policy : str or Scheduler
            A name of SCHEDULERS with parameters, "own.py:function", or a function of a ClusterView.

        Returns
        -------
        Scheduler
            What `simulation` takes.

        Raises
        ------
        InputError
            For an unknown name, parameter or file, a value that is not allowed, or a scheduler that
            needs a column that the jobs lack.
        """
        made: Scheduler = super().make_policy(policy)
        for column in self.lacks(made)[:1]:
            name, needs = policy_name(made), NEEDED.get(column, column)
            raise InputError(f"scheduler {name} needs {needs}, which {self.offered} does not tell")
        return made

    def draw(self, seed: int) -> Jobs:
        """The jobs of a seed.

        Parameters
        ----------
        seed : int
            Of the draws; the jobs of a log are the same for all.

        Returns
        -------
        Jobs
            In order of arrival.
        """
        if isinstance(self.source, Jobs):
            return self.source
        return generate(self.source.mix, self.source.jobs, self.source.load, self.cluster, seed)

    def simulation(
        self,
        policy: Scheduler,
        seed: int,
        *,
        drawn: Jobs | None = None,
        records: bool = True,
        listener: Listener | None = None,
    ) -> Simulation:
        """A run that has been set up and not let go.

        Parameters
        ----------
        policy, seed, drawn, records, listener
            As of `Model.simulation`; every record is kept.

        Returns
        -------
        Simulation
            Its `close()` answers with the outcome once `env` has run.
        """
        jobs = self.draw(seed) if drawn is None else drawn
        return Simulation(self, policy, jobs, listener)

    def varied(self, **parameters: Any) -> Setting:
        """The setting with other parameters.

        Parameters
        ----------
        **parameters : Any
            Its own, and load, jobs and mix where the jobs are of a mix.

        Returns
        -------
        Setting
            A copy.

        Raises
        ------
        InputError
            For a name that is no parameter, or a value that is not allowed.
        """
        names = ("load", "jobs", "mix") if isinstance(self.source, Offered) else ()
        return self._varied(parameters, "source", self.source, names)


def simulate(
    jobs: Jobs,
    cluster: Cluster,
    scheduler: str | Scheduler,
    placement: str | Placement = "best",
    *,
    kill_at_limit: bool = False,
    listener: Listener | None = None,
) -> Outcome:
    """Simulate jobs that are there, until the last of them ends: a run of their `Setting`.

    Parameters
    ----------
    jobs, cluster
        As of `Setting`.
    scheduler : str or Scheduler
        As of `cg.simulate`.
    placement, kill_at_limit
        As of `Setting`.
    listener : callable, optional
        As of `cg.simulate`.

    Returns
    -------
    Outcome
        When and where each job ran.

    Raises
    ------
    InputError
        For a job that the cluster cannot run, or a column that the scheduler needs and the jobs
        lack.
    PolicyError
        If the scheduler answers what cannot be carried out, or leaves jobs waiting for ever.
    """
    return Setting(jobs, cluster, placement, kill_at_limit).run(scheduler, listener=listener)
