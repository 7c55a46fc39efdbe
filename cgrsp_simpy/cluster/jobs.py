"""Jobs of a multi-GPU cluster, as columns, and jobs generated from the paper's mix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from math import inf
from typing import Annotated, Any, TypeVar

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.base.arrays import Bools, Floats, Ints
from cgrsp_simpy.base.checks import (
    InputError,
    check_entries,
    check_number,
    is_number,
    order_columns,
    refuse,
    require,
    set_columns,
)
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.parameters import (
    AtLeastAMillionth,
    Count,
    Entries,
    NotNegative,
    Positive,
    Shares,
    Whole,
    checked,
    declared,
    limits,
    parameter,
    prepared,
    rule,
)
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.base.table import many
from cgrsp_simpy.cluster.cluster import Cluster
from cgrsp_simpy.logs import Tags

# kinds of jobs, in the order of their indices
KINDS = ("inference", "training", "research")
# longest run time or estimate, seconds, as in logs: GPU-seconds stay finite
LONGEST_S = 1e15
Seconds = Annotated[
    float, limits(f"a number > 0, at most {LONGEST_S:g}", gt=0, le=LONGEST_S)
]
# columns of jobs: those that no scheduler sees; those that may be lacking
DEPENDENCY = ("submit_s", "predecessor", "think_s", "earliest_s")
HIDDEN = (
    *("limited", "running", "start_s", "nodes", "cores", "memory_gb"),
    *DEPENDENCY,
)
MAY_LACK = ("iterations", "family", "user", "qos", *HIDDEN)
KIND = dict.fromkeys(
    ("gpus", "kind", "family", "user", "nodes", "cores", "predecessor"), "i8"
) | dict.fromkeys(("limited", "running"), "?")
Row = tuple[Any, ...]  # a job: its values of the columns that are there
Number = TypeVar("Number", np.float64, np.int64)


@dataclass(frozen=True, eq=False)
class Jobs:
    """Jobs in order of arrival, then as listed; columns of shape (jobs,), or None.

    arrival_s: when a job is ready, seconds, >= 0. gpus: GPUs used at once, >= 1.
    duration_s, estimate_s: actual and expected run time, seconds, > 0, at most 1e15.
    iterations: work that is known before a job runs, > 0, for the efficiency of PBS and
    SBS. kind: index into KINDS. family, user: numbers >= 0. tags: for jobs from a log,
    its ids and all other columns, as strings. limited: whether the estimate was
    recorded, not replaced by the run time; None: always. qos: priority of the quality
    of service relative to the highest, 0 to 1. running: whether a job was still running
    when its log was written, so that its duration is a guess. start_s: recorded start,
    on the clock of arrival_s; NaN if unknown. nodes: number of nodes; 0: as few as
    possible. cores, memory_gb: demand, if the cluster has these. submit_s: recorded
    submission, seconds, at or before the arrival. predecessor: index of the job that
    must end before a job is ready in a simulation; -1 for none. think_s: seconds from
    that end until the job is ready. earliest_s: time before which it is not ready.

    Raises InputError for an invalid value, naming the column and the job (numbered from
    1 as listed).
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
    limited: Bools | None = field(default=None, repr=False)
    qos: Floats | None = field(default=None, repr=False)
    running: Bools | None = field(default=None, repr=False)
    start_s: Floats | None = field(default=None, repr=False)
    nodes: Ints | None = field(default=None, repr=False)
    cores: Ints | None = field(default=None, repr=False)
    memory_gb: Floats | None = field(default=None, repr=False)
    submit_s: Floats | None = field(default=None, repr=False)
    predecessor: Ints | None = field(default=None, repr=False)
    think_s: Floats | None = field(default=None, repr=False)
    earliest_s: Floats | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        set_columns(self, {column: COLUMNS[column] for column in self.columns})
        if self.jobs == 0:
            raise InputError(f"{self.name} contains no jobs")
        positive = (
            "duration_s",
            "estimate_s",
            "iterations",
            *("gpus",) * (self.cores is None),
        )
        for column in {*self.columns} - {"start_s", *DEPENDENCY}:
            check_entries(
                column, getattr(self, column), above=(0 if column in positive else None)
            )
        longer_s = np.maximum(self.duration_s, self.estimate_s)
        refuse(
            longer_s > LONGEST_S,
            lambda job: (
                f"duration_s or estimate_s of job {job + 1}(={longer_s[job]}) must be"
                f" at most {LONGEST_S:g}"
            ),
        )
        refuse(
            self.kind >= len(KINDS),
            lambda job: (
                f"kind of job {job + 1}(={self.kind[job]}) must be below {len(KINDS)}"
            ),
        )
        order = np.argsort(self.arrival_s, kind="stable")
        order_columns(self, self.columns, order)
        if self.predecessor is not None:
            object.__setattr__(
                self, "predecessor", _renumbered(self.predecessor, order)
            )
            refuse(
                self.predecessor >= np.arange(self.jobs),
                lambda job: (
                    f"job {job + 1} must come after its predecessor in the list"
                ),
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are not None."""
        return tuple(
            column
            for column in COLUMNS
            if column not in MAY_LACK or getattr(self, column) is not None
        )

    @property
    def shown(self) -> tuple[str, ...]:
        """The names of the columns in `rows`."""
        return tuple(column for column in self.columns if column not in HIDDEN)

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.arrival_s)

    def rows(self) -> Iterator[Row]:
        """Yield the values of `shown` per job."""
        return zip(*(getattr(self, column).tolist() for column in self.shown))

    def load(self, cluster: Cluster) -> float:
        """Return the offered load per GPU from the first to the last arrival.

        It is infinite if all jobs arrive at once.
        """
        span_s = float(self.arrival_s[-1] - self.arrival_s[0])
        return (
            float(self.gpus @ self.duration_s) / (span_s * cluster.gpus)
            if span_s
            else inf
        )

    def check_fit(self, cluster: Cluster) -> None:
        """Raise InputError for a job that does not fit on the empty cluster."""
        refuse(
            self.too_wide(cluster),
            lambda job: f"job {job + 1} {self.shortage(job, cluster)}",
        )

    def too_wide(self, cluster: Cluster) -> Bools:
        """Return which jobs do not fit on the empty cluster."""
        needs = cluster.needs(self)
        nodes = cluster.nodes(needs)
        fits = {need: nodes.fits(nodes.all, need) for need in {*needs}}
        return np.array([not fits[need] for need in needs])

    def shortage(self, job: int, cluster: Cluster) -> str:
        """Describe the demand of a job and the cluster's capacity."""
        columns = {"nodes": self.nodes, "cores": self.cores, "GB": self.memory_gb}
        more = [
            f", {column[job]:g} {unit}"
            for unit, column in columns.items()
            if column is not None
        ]
        more += [
            f", {name} {self.tags[name][job] or 'any'}" for name in cluster.marks(self)
        ]
        return (
            f"needs {many(self.gpus[job], 'GPU')}{''.join(more)}; the cluster has"
            f" {cluster.gpus} on {many(len(cluster.sizes), 'node')}"
        )

    def chosen(self, index: Sequence[int] | Ints, name: str) -> Jobs:
        """Return some of the jobs, by index and in the order given, with tags."""
        columns: dict[str, Any] = dict.fromkeys(MAY_LACK)
        columns |= {column: getattr(self, column)[index] for column in self.columns}
        if self.predecessor is not None:
            columns["predecessor"] = _renumbered(
                columns["predecessor"], np.asarray(index)
            )
        return Jobs(**columns, name=name, tags=self.tags.chosen(index))


def _renumbered(jobs: Ints, chosen: Ints) -> Ints:
    """Return indices of jobs as positions among the chosen jobs; -1 if not chosen."""
    place = {job: number for number, job in enumerate(chosen.tolist())}
    return np.array([place.get(job, -1) for job in jobs.tolist()], np.int64)


# columns of jobs, and their types
COLUMNS = {
    item.name: KIND.get(item.name, "f8")
    for item in fields(Jobs)
    if item.name not in ("name", "tags")
}


def known(column: npt.NDArray[Number] | None) -> npt.NDArray[Number]:
    """Return a column; InputError if it is None."""
    if column is None:
        raise InputError("the scheduler uses a column that these jobs do not have")
    return column


HOUR_S = 3600.0
SLOWEST, FASTEST = 0.1, 10.0  # iterations per second of a family on one GPU
SCALING = 0.9  # iterations grow with GPUs to this power: wide jobs do less per GPU


# each has a share, so that many take memory
UpToAMillion = Annotated[
    int, limits("a whole number >= 1, at most 1,000,000", ge=1, le=10**6)
]
Widths = Annotated[
    Entries[Count],
    rule("a list of at least one width", bool),
    prepared(lambda value: (value,) if is_number(value) else value),
]


@declared()
class Mix:
    """Shares of kinds, GPUs and durations; the defaults are the paper's.

    The shares are from cluster-schedulers.txt Section IV.A. Our assumptions: the widths
    of a class ("16+": 16, 24 and 32) are equally likely, durations are log-uniform
    within each class, and kind, GPUs and duration are independent. Families of a kind,
    and users, have shares in proportion to 1, 1/2, 1/3 and so on. A family runs at 0.1
    to 10 iterations per second on one GPU (log-uniform, drawn per seed); a job's
    iterations are this rate times its duration times its GPUs^0.9. Overestimates are
    those of [1]_.

    Raises InputError if shares do not sum to 1 or are not one per class, or if limits
    do not increase.

    References
    ----------
    .. [1] Mu'alem and Feitelson (2001), IEEE TPDS 12, 529-543.
    """

    kind_shares: Shares = parameter(
        "Shares of inference, training and research.", default=(0.5, 0.3, 0.2)
    )
    gpus: Entries[Widths] = parameter(
        "Numbers of GPUs per width class.",
        default=((1,), (2,), (4,), (8,), (16, 24, 32)),
    )
    gpu_shares: Shares = parameter(
        "Shares of the width classes.", default=(0.35, 0.25, 0.20, 0.15, 0.05)
    )
    limits_s: Entries[Positive] = parameter(
        "Limits between the duration classes, seconds.",
        default=(1800.0, 7200.0, 28_800.0),
    )
    duration_shares: Shares = parameter(
        "Shares of the duration classes.", default=(0.40, 0.35, 0.20, 0.05)
    )
    shortest_s: AtLeastAMillionth = parameter(
        "Shortest duration of the first class, seconds.", default=60.0
    )
    longest_s: Seconds = parameter(
        "Longest duration of the last class, seconds.", default=86_400.0
    )
    overestimate: NotNegative = parameter(
        "An estimate is the duration times a uniform number from 1 to 1 +"
        " overestimate; 0: estimates are exact.",
        default=0.0,
    )
    families: UpToAMillion = parameter("Number of model families per kind.", default=5)
    users: UpToAMillion = parameter("Number of users.", default=20)

    def __post_init__(self) -> None:
        for name, number in {
            "kind_shares": len(KINDS),
            "gpu_shares": len(self.gpus),
            "duration_shares": len(self.limits_s) + 1,
        }.items():
            shares = getattr(self, name)
            require(
                len(shares) == number,
                name,
                shares,
                f"{many(number, 'share')}, one per class",
            )
        for earlier, later in pairwise(self.edges_s):
            check_number("limits_s, longest_s", later, above=earlier)

    @property
    def edges_s(self) -> tuple[float, ...]:
        """Bounds of the classes of durations, seconds; the outermost are our choice."""
        return (self.shortest_s, *self.limits_s, self.longest_s)

    @property
    def width_shares(self) -> tuple[tuple[int, ...], Floats]:
        """The widths, and the share of the jobs of each."""
        pairs = [
            (width, share / len(widths))
            for widths, share in zip(self.gpus, self.gpu_shares)
            for width in widths
        ]
        return tuple(width for width, _ in pairs), np.array(
            [share for _, share in pairs]
        )

    def check_fit(self, cluster: Cluster) -> None:
        """Raise InputError if the widest job does not fit on the empty cluster."""
        widest = max(width for width, share in zip(*self.width_shares) if share > 0)
        require(
            widest <= cluster.gpus,
            "widest job of the mix",
            widest,
            f"at most {cluster.gpus} GPUs, those of the cluster: use a larger cluster,"
            " or a share of 0 in gpu_shares for wider jobs",
        )


@declared()
class Offered:
    """Jobs of a mix, drawn per seed; the nth job is the same for any number of jobs.

    Jobs arrive until the measured ones have ended and the waiting work, in GPU-seconds,
    is at most its mean at the arrivals since the first measured job. So no wait depends
    on when the run ends.
    """

    mix: Mix = parameter("Distributions of the jobs.", default_factory=Mix)
    jobs: Count = parameter("Number of measured jobs per run.", default=1000)
    load: AtLeastAMillionth = parameter(
        "Offered load, > 0: GPU-seconds that arrive per second, divided by the"
        " GPUs of the cluster.",
        default=0.9,
    )
    warm_up: Whole = parameter(
        "Number of warm-up jobs, run before the measured ones.", default=1000
    )
    after: Whole = parameter(
        "Maximum number of jobs after the measured ones. If more are needed, the"
        " scheduler is unstable at this load, or this number is too small to"
        " decide, and its waits are infinite. 0: no jobs arrive after the"
        " measured ones, as in the paper.",
        default=8000,
    )

    def __str__(self) -> str:
        return (
            f"{many(self.jobs, 'job')} of the"
            f" mix{'' if self.after else ', none after them'},"
            f" offered load {self.load:g}"
        )

    def draw(self, cluster: Cluster, seed: int) -> Jobs:
        """Return all jobs that may arrive for a seed, in order of arrival."""
        return generate(
            self.mix, self.warm_up + self.jobs + self.after, self.load, cluster, seed
        )


def least_gpu_hours(mix: Mix) -> float:
    """Return the least mean GPU-hours per job, for any distribution within the classes.

    GPUs and duration are assumed independent (otherwise: `least_of_any_law`). The first
    class of durations begins at 0.
    """
    return (
        summed(share * min(widths) for widths, share in zip(mix.gpus, mix.gpu_shares))
        * summed(
            share * low_s
            for low_s, share in zip((0.0, *mix.limits_s), mix.duration_shares)
        )
        / HOUR_S
    )


def least_of_any_law(mix: Mix) -> float:
    """Return the bound of `least_gpu_hours` for any dependence of GPUs and duration.

    It is reached if the widest jobs are the shortest (rearrangement inequality).
    """
    by_width = sorted(
        (min(widths), share) for widths, share in zip(mix.gpus, mix.gpu_shares)
    )
    by_length = sorted(zip((0.0, *mix.limits_s), mix.duration_shares), reverse=True)
    (gpus, width_ends), (low_s, length_ends) = (
        (
            np.array([value for value, _ in pairs]),
            np.cumsum([share for _, share in pairs]),
        )
        for pairs in (by_width, by_length)
    )
    edges = np.unique(np.concatenate([[0.0], width_ends, length_ends]))
    middles = (edges[1:] + edges[:-1]) / 2
    width, length = (
        np.minimum(np.searchsorted(ends, middles), len(ends) - 1)
        for ends in (width_ends, length_ends)
    )
    return float(np.diff(edges) @ (gpus[width] * low_s[length])) / HOUR_S


def mean_gpu_hours(mix: Mix) -> float:
    """Return the expected GPU-hours per job: mean GPUs x mean duration."""
    widths, shares = mix.width_shares
    edges_s = np.array(mix.edges_s, float)  # whole numbers may be too long for NumPy
    # mean of a log-uniform distribution: (b - a) / ln(b / a)
    means_s = np.diff(edges_s) / np.diff(np.log(edges_s))
    return float(shares @ widths * (means_s @ mix.duration_shares)) / HOUR_S


@checked
def generate(
    mix: Mix, jobs: Count, load: Positive, cluster: Cluster, seed: Whole = 0
) -> Jobs:
    """Draw jobs of a mix; each quantity has its own stream of random numbers.

    Arrivals are Poisson (our choice; the paper does not describe them), at the rate
    whose expected load is the offered load. load: GPU-seconds that arrive per second
    over the GPUs of the cluster. Raises InputError if the mix has jobs that the cluster
    cannot run.
    """
    mix.check_fit(cluster)
    widths, shares = mix.width_shares
    gap_s = mean_gpu_hours(mix) * HOUR_S / (load * cluster.gpus)
    arrival_s = gap_s * np.cumsum(stream(seed, "arrivals").exponential(size=jobs))
    gpus = stream(seed, "gpus").choice(widths, jobs, p=shares)
    ends = np.concatenate([[0.0], np.cumsum(mix.duration_shares)])
    uniform = stream(seed, "durations").random(jobs)
    duration_s = np.exp(np.interp(uniform, ends, np.log(mix.edges_s)))  # by inversion
    estimate_s = duration_s * (
        1 + mix.overestimate * stream(seed, "estimates").random(jobs)
    )
    kind = stream(seed, "kinds").choice(len(KINDS), jobs, p=mix.kind_shares)
    family = kind * mix.families + stream(seed, "families").choice(
        mix.families, jobs, p=_harmonic(mix.families)
    )
    rate = np.exp(
        stream(seed, "rates").uniform(
            np.log(SLOWEST), np.log(FASTEST), len(KINDS) * mix.families
        )
    )
    iterations = rate[family] * duration_s * gpus**SCALING
    return Jobs(
        arrival_s,
        gpus,
        duration_s,
        estimate_s,
        iterations,
        kind,
        family,
        stream(seed, "users").choice(mix.users, jobs, p=_harmonic(mix.users)),
        f"mix seed {seed}",
    )


def _harmonic(number: int) -> Floats:
    shares = 1 / np.arange(1.0, number + 1)
    return np.asarray(shares / shares.sum())
