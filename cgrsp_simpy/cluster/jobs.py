"""Jobs of a multi-GPU cluster, as columns, and the nodes that they run on (cluster-schedulers.txt
Section IV.A).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.logs import Tags
from cgrsp_simpy.model.checks import InputError, check_whole, entries_of, require

Floats = npt.NDArray[np.float64]  # an array of floats
Ints = npt.NDArray[np.int64]  # an array of whole numbers
KINDS = ("inference", "training", "research")  # kinds of jobs, in the order of their indices
MAY_LACK = ("iterations", "family", "user", "limited")  # columns of jobs
KIND = dict.fromkeys(("gpus", "kind", "family", "user"), "i8") | {"limited": "?"}
Row = tuple[Any, ...]  # a job: its values of the columns that are there
Number = TypeVar("Number", np.float64, np.int64)


@dataclass(frozen=True)
class Cluster:
    """Nodes with GPUs, which may differ in size.

    Parameters
    ----------
    sizes : sequence of int
        GPUs of each node.

    Raises
    ------
    InputError
        For no node, or one without GPUs.
    """

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", entries_of("sizes", self.sizes, "a list of GPUs by node"))
        require(len(self.sizes) > 0, "sizes", self.sizes, "at least one node")
        for node, size in enumerate(self.sizes):
            check_whole(f"GPUs of node {node}", size, least=1)

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return sum(self.sizes)

    def holds(self, gpus: int) -> bool:
        """Whether a job fits when nothing runs.

        gpus: of the job. Result: on one node, or, if it is too wide for any, on whole nodes.
        """
        return gpus <= max(self.sizes) or gpus <= self.gpus


PAPER_CLUSTER = Cluster((8,) * 8)  # 64 GPUs, cluster-schedulers.txt Section IV.A


@dataclass(frozen=True, eq=False)
class Jobs:
    """Jobs in order of arrival; columns of shape (jobs,).

    They are put in order of arrival, those that arrive together in the order given.

    Parameters
    ----------
    arrival_s : array
        Seconds, >= 0.
    gpus : array of int
        GPUs that a job holds all at once, >= 1.
    duration_s : array
        For how long it holds them, seconds, > 0.
    estimate_s : array
        What a scheduler is told of the duration, seconds, > 0.
    iterations : array or None
        The work that is known before a job runs, > 0, for the efficiency of PBS and SBS; None: not
        told.
    kind : array of int
        Index into KINDS.
    family, user : array of int or None
        Numbers >= 0 that tell model families and users apart; None: not told.
    name : str
        For tables and messages.
    tags : Tags
        Of jobs of a log, its own ids and all other columns, as texts.
    limited : array of bool or None
        Whether the estimate is one that was given, not the run time for want of one; None: all are.

    Raises
    ------
    InputError
        For what is not allowed, naming column and job (numbered from 1 in the order given).
    """

    arrival_s: Floats = field(repr=False)
    gpus: Ints = field(repr=False)
    duration_s: Floats = field(repr=False)
    estimate_s: Floats = field(repr=False)
    iterations: Floats | None = field(repr=False)
    kind: Ints = field(repr=False)
    family: Ints | None = field(repr=False)
    user: Ints | None = field(repr=False)
    name: str = "jobs"
    tags: Tags = field(default_factory=Tags, repr=False)
    limited: npt.NDArray[np.bool_] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for column in self.columns:
            values = np.array(getattr(self, column), dtype=COLUMNS[column])
            object.__setattr__(self, column, values)
        if self.jobs == 0:
            raise InputError(f"{self.name} holds no job")
        for column in self.columns:
            self._check(column, getattr(self, column))
        order = np.argsort(self.arrival_s, kind="stable")
        for column in self.columns:
            object.__setattr__(self, column, getattr(self, column)[order])
        object.__setattr__(self, "tags", self.tags.chosen(order))

    def _check(self, column: str, values: npt.NDArray[Any]) -> None:
        require(
            values.shape == (self.jobs,),
            f"shape of {column}",
            values.shape,
            f"({self.jobs},), one a job",
        )
        positive = column in ("gpus", "duration_s", "estimate_s", "iterations")
        bad = ~(np.isfinite(values) & (values > 0 if positive else values >= 0))
        for index in np.flatnonzero(bad)[:1]:
            allowed = "a number > 0" if positive else "a number >= 0"
            require(False, f"{column} of job {index + 1}", values[index].item(), allowed)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are there."""
        return tuple(
            column
            for column in COLUMNS
            if column not in MAY_LACK or getattr(self, column) is not None
        )

    @property
    def told(self) -> tuple[str, ...]:
        """The names of those that tell of a job."""
        return tuple(column for column in self.columns if column != "limited")

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.arrival_s)

    @property
    def underestimated(self) -> int:
        """Number of jobs that run longer than their estimate; for what backfilling makes of them,
        see `backfilling`.
        """
        return int((self.estimate_s < self.duration_s).sum())

    @property
    def unlimited(self) -> int:
        """Number of jobs without a limit, whose run time is the estimate."""
        return 0 if self.limited is None else int((~self.limited).sum())

    @property
    def gpu_seconds(self) -> float:
        """The work of all jobs, GPUs times duration."""
        return float(self.gpus @ self.duration_s)

    def rows(self) -> Iterator[Row]:
        """The jobs one by one: their values of `told`."""
        return zip(*(getattr(self, column).tolist() for column in self.told))

    def load(self, cluster: Cluster) -> float:
        """Offered load: work that arrives per second, from the first arrival to the last, over the
        GPUs there are.

        cluster: whose GPUs are counted. Result: without a unit; infinite if all arrive at once.
        """
        span_s = float(self.arrival_s[-1] - self.arrival_s[0])
        return self.gpu_seconds / (span_s * cluster.gpus) if span_s else float("inf")

    def check_fit(self, cluster: Cluster) -> None:
        """Refuse jobs of which the cluster cannot run one, even when it is empty.

        Raises InputError names the job.
        """
        for index in np.flatnonzero([not cluster.holds(int(gpus)) for gpus in self.gpus])[:1]:
            raise InputError(
                f"job {index + 1} needs {self.gpus[index]} GPUs; the cluster has {cluster.gpus} on"
                f" {len(cluster.sizes)} nodes"
            )

    def chosen(self, index: Sequence[int] | Ints, name: str) -> Jobs:
        """Some of the jobs.

        index: of those wanted, in their order. name: of the new jobs. Result: with their tags.
        """
        columns: dict[str, Any] = dict.fromkeys(MAY_LACK)
        columns |= {column: getattr(self, column)[index] for column in self.columns}
        return Jobs(**columns, name=name, tags=self.tags.chosen(index))


# columns of jobs, and their types
COLUMNS = {
    each.name: KIND.get(each.name, "f8")
    for each in fields(Jobs)
    if each.name not in ("name", "tags")
}


def known(column: npt.NDArray[Number] | None) -> npt.NDArray[Number]:
    """A column that may be lacking. Raises InputError if it is."""
    if column is None:
        raise InputError("the scheduler looks at a column that these jobs lack")
    return column


def gpus_told(gpus: int) -> str:
    """A number of GPUs in words."""
    return "1 GPU" if gpus == 1 else f"{gpus} GPUs"
