"""A cluster with its jobs: what schedulers are simulated, compared and swept on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from cgrsp_simpy.cluster.jobs import PAPER_CLUSTER, Cluster, Jobs
from cgrsp_simpy.cluster.metrics import METRICS
from cgrsp_simpy.cluster.mix import Mix, generate
from cgrsp_simpy.cluster.placement import PLACEMENTS
from cgrsp_simpy.cluster.schedulers import COMPARED, SCHEDULERS
from cgrsp_simpy.cluster.simulation import Outcome, Simulation, check_columns, lacking
from cgrsp_simpy.cluster.view import Scheduler
from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.model.checks import check_number, check_one_of, check_whole
from cgrsp_simpy.model.model import Model

__all__ = ["Offered", "Setting"]


@dataclass(frozen=True)
class Offered:
    """Jobs of a mix, drawn anew for each seed. load: offered, GPU-seconds that arrive per second over the GPUs."""

    mix: Mix = field(default_factory=Mix)
    jobs: int = 1000
    load: float = 0.9

    def __str__(self) -> str:
        return f"{self.jobs} jobs of the mix, offered load {self.load:g}"

    def __post_init__(self) -> None:
        check_whole("jobs", self.jobs, least=1)
        check_number("load", self.load, least=1e-6)  # below, the clock runs so long that it cannot tell one job's end


@dataclass(frozen=True)
class Setting(Model[Outcome]):
    """Jobs on a cluster: everything that a run depends on, but the scheduler and the seed.

    Parameters
    ----------
    source : Offered or Jobs
        A mix, drawn anew for each seed, or jobs that are there (a log), the same for every seed.
    cluster : Cluster
        The nodes and their GPUs.
    placement : str
        A name of PLACEMENTS: on which nodes a job is put.
    kill_at_limit : bool
        End a job that has run for its estimate, as Slurm does.

    Raises
    ------
    InputError
        For what is not allowed, such as a job that the cluster cannot run.
    """

    source: Offered | Jobs = field(default_factory=Offered)
    cluster: Cluster = PAPER_CLUSTER
    placement: str = "best"
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
        check_one_of("placement", self.placement, PLACEMENTS)
        if isinstance(self.source, Jobs):
            self.source.check_fit(self.cluster)

    @property
    def name(self) -> str:  # type: ignore[override]
        """What arrives, and where."""
        name = self.source.name if isinstance(self.source, Jobs) else str(self.source)
        return f"{name}, {self.cluster.gpus} GPUs on {len(self.cluster.sizes)} nodes"

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether jobs are drawn; a log has no luck."""
        return not isinstance(self.source, Jobs)

    def default_policies(self) -> tuple[str, ...]:
        """The schedulers of a comparison, but for those that look at what the jobs do not tell."""
        return tuple(name for name in COMPARED if not self.lacks(self.make_policy(name)))

    def lacks(self, scheduler: Scheduler) -> tuple[str, ...]:
        """The columns that a scheduler needs and the jobs lack."""
        return lacking(self.source, scheduler) if isinstance(self.source, Jobs) else ()

    @property
    def jobs(self) -> int:
        """Number of jobs of a run."""
        return self.source.jobs

    def make_policy(self, policy: str | Scheduler) -> Scheduler:
        """A scheduler from its text, or a function of a ClusterView; InputError also if it needs a column that the jobs lack."""
        made: Scheduler = super().make_policy(policy)
        if isinstance(self.source, Jobs):
            check_columns(self.source, made)
        return made

    def draw(self, seed: int) -> Jobs:
        """The jobs of a seed."""
        if isinstance(self.source, Jobs):
            return self.source
        return generate(self.source.mix, self.source.jobs, self.source.load, self.cluster, seed)

    def simulation(
        self,
        policy: Scheduler,
        seed: int,
        *,
        drawn: Jobs | None = None,
        records: bool = True,  # noqa: ARG002, the figures need every job
        listener: Listener | None = None,
    ) -> Simulation:
        """A run that has been set up and not let go; see `Model.simulation`."""
        jobs = self.draw(seed) if drawn is None else drawn
        return Simulation(jobs, self.cluster, policy, PLACEMENTS[self.placement], self.kill_at_limit, listener)

    def varied(self, **parameters: Any) -> Setting:
        """The setting with other parameters: its own, and load, jobs and mix where the jobs are of a mix."""
        own = {name: value for name, value in parameters.items() if name in ("load", "jobs", "mix")}
        changed = self
        if own and isinstance(self.source, Offered):
            changed = replace(self, source=replace(self.source, **own))
            parameters = {name: value for name, value in parameters.items() if name not in own}
        return super(Setting, changed).varied(**parameters)
