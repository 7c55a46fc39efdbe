"""Schedulers compared on the same jobs: figures by scheduler and seed, with intervals and paired tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from cgrsp_simpy.cluster.jobs import PAPER_CLUSTER, Cluster, Jobs
from cgrsp_simpy.cluster.metrics import metrics
from cgrsp_simpy.cluster.mix import Mix, generate
from cgrsp_simpy.cluster.placement import PLACEMENTS
from cgrsp_simpy.cluster.schedulers import make_scheduler
from cgrsp_simpy.cluster.simulation import check_columns, simulate
from cgrsp_simpy.cluster.view import Scheduler
from cgrsp_simpy.model.checks import check_one_of, entries_of, require
from cgrsp_simpy.studies.configuration import open_store
from cgrsp_simpy.studies.replicate import carried_out, check_picklable, check_seeds, label
from cgrsp_simpy.studies.study import Row, Study

__all__ = ["Comparison", "Offered", "compare"]


@dataclass(frozen=True)
class Offered:
    """Jobs of a mix, drawn anew for each seed. load: offered, GPU-seconds that arrive per second over the GPUs."""

    mix: Mix = field(default_factory=Mix)
    jobs: int = 1000
    load: float = 0.9

    def __str__(self) -> str:
        return f"{self.jobs} jobs of the mix, offered load {self.load:g}"


Source = Offered | Jobs


@dataclass(frozen=True)
class _Task:
    """A seed, and the schedulers that meet its jobs."""

    source: Source
    cluster: Cluster
    placement: str
    kill_at_limit: bool
    schedulers: tuple[str | Scheduler, ...]
    seed: int


def compare(
    source: Source,
    schedulers: Sequence[str | Scheduler],
    seeds: Iterable[int] = range(10),
    cluster: Cluster = PAPER_CLUSTER,
    placement: str = "best",
    executor: Executor | int | None = None,
    *,
    kill_at_limit: bool = False,
    out: str | Path | None = None,
) -> Comparison:
    """Run each scheduler on the jobs of each seed.

    source: an Offered, or jobs that are there (a log), which are the same for every seed. schedulers: texts as of
    `make_scheduler`, or functions of a ClusterView; the first is the one that the others are tested against. kill_at_limit: as in
    `simulate`. executor, out: as in `cg.compare`. A run that raises an exception becomes a row with the key "error". Raises
    InputError for what is not allowed, such as a scheduler that looks at a column which the jobs lack.
    """
    schedulers = entries_of("schedulers", schedulers, "a list of schedulers")
    names = [label(scheduler) for scheduler in schedulers]
    require(len(set(names)) == len(names) > 0, "schedulers", names, "names that differ, at least one")
    made = [make_scheduler(scheduler) for scheduler in schedulers]
    check_one_of("placement", placement, PLACEMENTS)
    seeds = check_seeds(seeds)
    if isinstance(source, Jobs):
        source.check_fit(cluster)
        for scheduler in made:
            check_columns(source, scheduler)
    else:
        generate(source.mix, 1, source.load, cluster)  # an error before the first run
    if isinstance(executor, int):
        check_picklable(schedulers)
    told = {"source": source, "cluster": cluster, "placement": placement, "kill_at_limit": kill_at_limit}
    store = open_store(out, "cluster", dict(zip(names, schedulers)), seeds, **told)
    tasks = [_Task(source, cluster, placement, kill_at_limit, tuple(schedulers), seed) for seed in seeds]
    counts = [source.jobs * len(schedulers)] * len(tasks)
    done = carried_out(_carry_out, tasks, [[len(schedulers)]] * len(tasks), counts, executor, store)
    by_seed = [outcomes for ((outcomes),) in done]
    rows = [
        {"policy": name, "seed": seed, **outcomes[place]}
        for place, name in enumerate(names)
        for seed, outcomes in zip(seeds, by_seed)
    ]
    study = Comparison(source, cluster, rows)
    study.keep(store)
    return study


def _carry_out(task: _Task) -> list[list[dict[str, Any]]]:
    source, cluster = task.source, task.cluster
    jobs = source if isinstance(source, Jobs) else generate(source.mix, source.jobs, source.load, cluster, task.seed)

    def outcome(scheduler: str | Scheduler) -> dict[str, Any]:
        try:
            made, placement = make_scheduler(scheduler), PLACEMENTS[task.placement]
            return metrics(simulate(jobs, cluster, made, placement, kill_at_limit=task.kill_at_limit))
        except (Exception, SystemExit) as error:  # whatever a scheduler may raise: the other runs go on
            return {"error": " ".join(f"{type(error).__name__}: {error}".split())}

    return [[outcome(scheduler) for scheduler in task.schedulers]]


@dataclass(frozen=True)
class Comparison(Study):
    """Figures of several schedulers on the same seeds; rows: one dict a scheduler and seed, with the keys of `metrics`."""

    source: Source = field(repr=False)
    cluster: Cluster
    _rows: list[Row] = field(repr=False)
    shown: ClassVar[Sequence[str]] = (
        "throughput_per_h",
        "utilisation_pct",
        "wait_s",
        "wait_variance_min2",
        "starved",
        "success_pct",
        "fragmentation_pct",
    )
    tested: ClassVar[Sequence[str]] = ("throughput_per_h", "wait_s", "wait_variance_min2", "starved")

    @property
    def title(self) -> str:
        """What arrived, and where."""
        name = self.source.name if isinstance(self.source, Jobs) else str(self.source)
        return f"{name}, {self.cluster.gpus} GPUs on {len(self.cluster.sizes)} nodes"
