"""Jobs as the waiting policies meet them: when they come, how long they run, what they need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.logs import Tags
from cgrsp_simpy.model.checks import InputError, check_fields, check_number, check_whole, require
from cgrsp_simpy.model.streams import stream

CHUNK = 65_536  # jobs made at a time; the numbers do not depend on it
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Chunk(NamedTuple):
    """Some jobs in order of submission, each column of shape (jobs,).

    submit_s: seconds from the start, not falling. run_s: running time, seconds, >= 0. cores:
    needed, >= 1. memory_gb: needed, GB, >= 0.
    """

    submit_s: Floats
    run_s: Floats
    cores: Ints
    memory_gb: Floats


class Job(NamedTuple):
    """A job, as an order sees it.

    Attributes
    ----------
    id : int
        Its number in the order of submission, from 1.
    submit_s, run_s : float
        When it is submitted, and its running time, seconds.
    cores, memory_gb
        What it needs; GB.
    """

    id: int
    submit_s: float
    run_s: float
    cores: int
    memory_gb: float

    def __str__(self) -> str:
        memory = f", {self.memory_gb:g} GB" if self.memory_gb else ""
        return f"{self.run_s:.2f} s on {self.cores} core{'s' if self.cores > 1 else ''}{memory}"


# a job is itself alone: it is looked up at every turn, and its numbers need not be hashed
Job.__eq__ = object.__eq__  # type: ignore[method-assign]
Job.__hash__ = object.__hash__  # type: ignore[method-assign]


class JobSource(Protocol):
    """What the simulation and the recursion ask of a workload."""

    @property
    def jobs(self) -> int:
        """Number of jobs."""

    def chunks(self, seed: int) -> Iterator[Chunk]:
        """The jobs of a seed, chunk by chunk."""


@dataclass(frozen=True)
class ExponentialJobs:
    """The paper's baseline: exponential gaps and running times; each job takes one core.

    Parameters
    ----------
    jobs : int
        Number of jobs, >= 1.
    rate_per_s : float
        lambda, jobs per second, > 0.
    service_s : float
        1 / mu, seconds, > 0.

    References
    ----------
    waiting-policies.txt Section 3.
    """

    jobs: int
    rate_per_s: float = 0.2
    service_s: float = 500.0

    def __post_init__(self) -> None:
        check_whole("jobs", self.jobs, least=1)
        check_fields(self, check_number, "rate_per_s", "service_s", above=0)

    def __str__(self) -> str:
        return f"{self.jobs} jobs ({self.rate_per_s:g}/s, mean {self.service_s:g} s)"

    def chunks(self, seed: int) -> Iterator[Chunk]:
        """The jobs of a seed, chunk by chunk; the first comes after one gap.

        seed: of the draws. Each: in order of submission.
        """
        arrivals, services = stream(seed, "arrivals"), stream(seed, "service")
        now = 0.0
        for first in range(0, self.jobs, CHUNK):
            number = min(CHUNK, self.jobs - first)
            gaps = arrivals.exponential(1.0 / self.rate_per_s, number)
            gaps[0] += now
            submit = np.cumsum(gaps)
            now = submit[-1]
            yield Chunk(
                submit,
                services.exponential(self.service_s, number),
                np.ones(number, np.int64),
                np.zeros(number),
            )


@dataclass(frozen=True, eq=False)
class ListedJobs:
    """Jobs that are written down, such as those of a log; the seed changes nothing.

    Parameters
    ----------
    submit_s, run_s, cores, memory_gb
        As of a Chunk.
    name : str
        Of the jobs, for messages.
    tags : Tags
        Of jobs of a log, its own ids and all other columns, as texts.

    Raises
    ------
    InputError
        Names the first job that is wrong (numbered from 1), for columns of unequal length, negative
        or endless times, submissions out of order, or needs below one core or 0 GB.
    """

    submit_s: Floats = field(repr=False)
    run_s: Floats = field(repr=False)
    cores: Ints = field(repr=False)
    memory_gb: Floats = field(repr=False)
    name: str = "jobs"
    tags: Tags = field(default_factory=Tags, repr=False)

    def __post_init__(self) -> None:
        for column, kind in (
            ("submit_s", np.float64),
            ("run_s", np.float64),
            ("cores", np.int64),
            ("memory_gb", np.float64),
        ):
            values = np.ascontiguousarray(getattr(self, column), dtype=kind)
            require(
                values.shape == (self.jobs,), f"shape of {column}", values.shape, f"({self.jobs},)"
            )
            object.__setattr__(self, column, values)
        if self.jobs == 0:
            raise InputError(f"{self.name}: no usable job")
        for column, least in (("submit_s", 0), ("run_s", 0), ("cores", 1), ("memory_gb", 0)):
            values = getattr(self, column)
            for index in np.flatnonzero(~(np.isfinite(values) & (values >= least)))[:1]:
                require(
                    False,
                    f"{column} of job {index + 1}",
                    values[index].item(),
                    f"a number >= {least}",
                )
        for index in np.flatnonzero(np.diff(self.submit_s) < 0)[:1]:
            require(
                False,
                f"submit_s of job {index + 2}",
                self.submit_s[index + 1].item(),
                "not before the job before it",
            )

    def __str__(self) -> str:
        return f"{self.jobs} jobs" if self.name == "jobs" else f"{self.name}, {self.jobs} jobs"

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.submit_s)

    def chunks(self, seed: int) -> Iterator[Chunk]:
        """The jobs, chunk by chunk.

        seed: not used. Each: in order of submission.
        """
        for first in range(0, self.jobs, CHUNK):
            part = slice(first, first + CHUNK)
            yield Chunk(
                self.submit_s[part], self.run_s[part], self.cores[part], self.memory_gb[part]
            )


def scenario_jobs(scenario: Any, gpu: str, seed: int = 0) -> ListedJobs:
    """The jobs of a thesis scenario as run on one GPU type, each on one slot: its execution times
    with the jobs' own draws.

    Provisioning has no part in it: owned machines stand ready.

    scenario: a `cgrsp_simpy.Scenario`. gpu: name of one of its types. seed: of the jobs. Result:
    cores are the jobs' GPUs. Raises InputError for another type.
    """
    types = {each.name: each for each in scenario.gpus}
    require(gpu in types, "gpu", gpu, f"one of {', '.join(types)}")
    means = types[gpu].mean_execution_s
    rows = [
        (job.submit_s, means[job.complexity - 1] * draws.service, job.gpus)
        for job, draws in scenario.workload.generate(seed, scenario.service)
    ]
    submit, run, cores = (np.array(column) for column in zip(*rows))
    return ListedJobs(submit, run, cores, np.zeros(len(rows)), scenario.name)
