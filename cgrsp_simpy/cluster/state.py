"""The state of a cluster and its queue, and runs that start from it.

The run time of a job in the state is drawn given its estimate and how long it has run:
from the distributions of a mix, or from the log's ratios of run time to estimate.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import check_whole, read_as, require, shown
from cgrsp_simpy.base.files import table_of
from cgrsp_simpy.base.parameters import (
    Count,
    Entries,
    Fraction,
    NotNegative,
    Positive,
    Whole,
    as_tuple,
    declared,
    limits,
    parameter,
    prepared,
    rule,
)
from cgrsp_simpy.base.streams import Draw, stream
from cgrsp_simpy.cluster.backfilling import Conservative, shadow
from cgrsp_simpy.cluster.cluster import Allocation, Pools
from cgrsp_simpy.cluster.jobs import (
    KINDS,
    Jobs,
    Mix,
    Offered,
    Row,
    Seconds,
    generate,
)
from cgrsp_simpy.cluster.report import ClusterReport
from cgrsp_simpy.cluster.scenario import ClusterSubject, Scenario
from cgrsp_simpy.cluster.view import Scheduler, View
from cgrsp_simpy.engine import state
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.logs import Tags

TAGS = ("gpu_type", "partition")  # requests of a job that are texts
REQUESTED = ("nodes", "cores", "memory_gb")  # requests that are numbers
Number = Annotated[int, limits("a whole number from 0 to 10,000,000", ge=0, le=10**7)]


@declared("{} of job {id}")
class WaitingJob(state.WaitingJob):
    """A job that waits."""

    id: Number = parameter("Number of the job, increasing in order of submission.")
    estimate_s: Seconds = parameter(
        "Estimated run time of the job, seconds.", kw_only=True
    )
    gpus: Whole = parameter("Number of GPUs that the job needs.", default=1)
    job_kind: Literal["inference", "training", "research"] = parameter(
        "Kind of the job.", default="inference"
    )
    user: Whole | None = parameter("Number of the job's user.", default=None)
    family: Whole | None = parameter("Number of the job's model family.", default=None)
    iterations: Positive | None = parameter("Work of the job.", default=None)
    qos: Fraction | None = parameter(
        "Priority of the job's quality of service, divided by the highest.",
        default=None,
    )
    nodes: Count | None = parameter(
        "Number of nodes of the job; by default as few as possible.", default=None
    )
    cores: Whole | None = parameter(
        "Cores of the job, if the cluster has cores.", default=None
    )
    memory_gb: NotNegative | None = parameter(
        "Memory of the job, if the cluster has memory.", default=None
    )
    gpu_type: str | None = parameter(
        "GPU type of the job, if the nodes have types.", default=None
    )
    partition: str | None = parameter(
        "Partition of the job, if the nodes have partitions.", default=None
    )


Part = Annotated[tuple[Whole, Whole], prepared(as_tuple)]


@declared("{} of job {id}")
class RunningJob(WaitingJob):
    """A job that runs."""

    place: Annotated[Entries[Part], rule("at least one node", bool)] = parameter(
        "Pairs (node, GPUs), with nodes numbered from 0. With n nodes, the"
        " numbers n + i and 2n + i denote the cores and the memory of node i, if"
        " jobs use these.",
        kw_only=True,
    )
    start_s: NotNegative = parameter("Start time of the job, seconds.", kw_only=True)

    @property
    def since_s(self) -> float:
        """Time of its start, seconds."""
        return self.start_s


@declared("{} of node {node}")
class ClosedNode:
    """A node on which no job starts, since it is down or draining."""

    node: Whole = parameter("Number of the node, from 0.")
    until_s: NotNegative | None = parameter(
        "Time at which jobs can start on the node again, seconds; null: not"
        " within the forecast.",
        default=None,
    )


@declared()
class State(state.State):
    """State of a cluster's queue and nodes at one time.

    Forecast a run from a state::

        run = cg.simulate(scenario, "easy")
        model = run.state(3600).resumed(scenario)
        cg.compare(model, ["easy", "fifo"], range(30))
    """

    waiting: Entries[WaitingJob] = parameter("Jobs in the queue.", default=())
    running: Entries[RunningJob] = parameter("Running jobs.", default=())
    closed: Entries[ClosedNode] = parameter(
        "Nodes that are down or draining.", default=(), kw_only=True
    )

    usual = "easy"

    def __post_init__(self) -> None:
        super().__post_init__()
        for job in self.running:
            times = [job.submit_s, job.start_s, self.now_s]
            require(
                times == sorted(times),
                f"times of job {job.id}",
                times,
                "in the order submission, start, now",
            )
        nodes = [entry.node for entry in self.closed]
        require(len({*nodes}) == len(nodes), "closed", nodes, "different nodes")

    @property
    def past_estimate(self) -> int:
        return sum(self.now_s - job.start_s > job.estimate_s for job in self.running)

    def resumed(self, scenario: Scenario) -> Resumed:
        require(
            type(scenario) is Scenario, "scenario", scenario, "a Scenario of a cluster"
        )
        return Resumed(**table_of(scenario), state=self)

    @classmethod
    def parts_of(cls, live: Simulation) -> dict[str, Any]:
        scenario, source = live.model, live.model.source
        listed, numbers, total = source, None, source.jobs
        ends_s = dict[int, float | None]()
        if isinstance(scenario, Resumed):
            listed, total = scenario._listed, scenario.jobs
            numbers = dict(zip(scenario._numbers, range(total)))
            ends_s = {entry.node: entry.until_s for entry in scenario.state.closed}
        elif isinstance(source, Offered):
            total += source.warm_up + source.after

        def entry(job: int) -> dict[str, Any]:
            row = dict(zip(scenario.known, live.hidden[job]))
            row |= {"job_kind": KINDS[row.pop("kind")], "id": job}
            place = job if numbers is None else numbers[job]
            if isinstance(listed, Jobs) and place < listed.jobs:
                row |= _requests(listed, place)
            row["submit_s"] = row.pop("arrival_s")
            del row["duration_s"]
            return row

        running = [
            RunningJob(
                **entry(claim.job),
                place=tuple((number, int(gpus)) for number, gpus in claim.parts),
                start_s=claim.granted_s,
            )
            for claim in live.granted_claims
        ]
        nodes = len(scenario.cluster.sizes)
        shut = dict.fromkeys(number % nodes for number in live.ledger.closed)
        return {
            "waiting": tuple(WaitingJob(**entry(job)) for job in live.pending_claims),
            "running": tuple(running),
            "closed": tuple(ClosedNode(node, ends_s.get(node)) for node in shut),
            "to_come": total - live.records.number - len(live.job_processes),
        }


def _requests(jobs: Jobs, job: int) -> dict[str, Any]:
    """Return what a job of a log requests in addition to GPUs."""
    numbers = {
        name: column[job].item() or None
        for name, column in {name: getattr(jobs, name) for name in REQUESTED}.items()
        if column is not None
    }
    texts = {name: jobs.tags[name][job] or None for name in TAGS if name in jobs.tags}
    return numbers | texts


class ResumedReport(ClusterReport):
    """Report without a log's columns, since the jobs are not those of the log."""

    tags: Any = Tags()


class ResumedSubject(state.FromStateSubject, ClusterSubject):
    """Subject of runs from a state; the run times of its jobs are drawn."""

    is_random = True

    def make_policy(self, policy: str | Scheduler) -> Scheduler:
        """Return a scheduler; InputError if it plans without regard to closed nodes."""
        scheduler = super().make_policy(policy)
        plans = isinstance(scheduler, Conservative) and bool(self.model.state.closed)
        allowed = (
            "another one, such as easy: it would reserve the nodes that are closed"
        )
        require(not plans, "scheduler", policy_name(scheduler), allowed)
        return scheduler


@declared()
class Resumed(Scenario, state.FromState):
    """A cluster that starts from a state; `State.resumed` returns it."""

    state: State = parameter("State in which runs start.", kw_only=True)

    report = ResumedReport
    subject = ResumedSubject

    def __post_init__(self) -> None:
        super().__post_init__()
        source: Any = self.source
        follows = getattr(source, "predecessor", None) is not None
        allowed = (
            "a source whose jobs have no predecessors: a state cannot contain them"
        )
        require(not follows, "source", self.offered, allowed)
        nodes = len(self.cluster.sizes)
        for entry in self.state.closed:
            allowed = f"below {nodes}, the number of nodes"
            require(entry.node < nodes, "node of closed", entry.node, allowed)
        for job in self.state.jobs:
            has_gpus = job.gpus > 0 or bool(self.cluster.cores)
            require(
                has_gpus,
                f"gpus of job {job.id}",
                job.gpus,
                "a whole number >= 1, since the cluster has no cores",
            )
        used = Counter[int]()
        for job in self.state.running:
            self._check_place(job)
            used.update(dict(job.place))
        sizes = [size for pool in self.cluster.pools for size in pool]
        for number, amount in used.items():
            allowed = f"at most {sizes[number]}, its capacity"
            require(amount <= sizes[number], f"use of node {number}", amount, allowed)
        self._check_fit()

    def _check_place(self, job: RunningJob) -> None:
        """Check that a running job has the resources that it needs."""
        most, place = len(self.cluster.pools) * len(self.cluster.sizes), job.place
        name, need = f"place of job {job.id}", self._needs[job.id]
        numbers = [number for number, _ in place]
        different = len({*numbers}) == len(numbers) and max(numbers) < most
        require(different, name, place, f"different nodes with numbers below {most}")
        if isinstance(self._nodes, Pools):
            right = self._nodes.serves(place, need)
        else:
            right = sum(gpus for _, gpus in place) == need
        require(right, name, place, f"its demand, {need}")

    def _check_fit(self) -> None:
        """Check that all waiting jobs fit on nodes that are or will be open."""
        shut = {entry.node for entry in self.state.closed if entry.until_s is None}
        nodes, number = self._nodes, len(self.cluster.sizes)
        free = nodes.all
        for place in range(number * len(self.cluster.pools)):
            free = nodes.put(free, place, 0) if place % number in shut else free
        running, fits = self.running, dict[Any, bool]()
        for job, need in self._needs.items():
            if job not in running:
                fits.setdefault(need, nodes.fits(free, need))
                allowed = "small enough for the nodes that are available at some time"
                require(fits[need], f"need of job {job}", need, allowed)

    # ---- jobs ----

    @cached_property
    def _known(self) -> list[WaitingJob]:
        """The jobs of the state, in order of submission."""
        return sorted(self.state.jobs, key=lambda entry: entry.id)

    @cached_property
    def _listed(self) -> Jobs | None:
        """The jobs of the state, then future jobs of a log; None if there are none.

        The former have their estimates as durations.
        """
        known = self._known
        columns: dict[str, Any] = dict.fromkeys(("iterations", "family", "user"))
        rows = {
            name: [getattr(entry, name) for entry in known]
            for name in ("estimate_s", "gpus", "user", "family", "iterations", "qos")
        }
        rows |= {name: [getattr(entry, name) for entry in known] for name in REQUESTED}
        rows["arrival_s"] = [entry.submit_s for entry in known]
        rows["duration_s"] = [*rows["estimate_s"]]
        rows["kind"] = [KINDS.index(entry.job_kind) for entry in known]
        texts = {name: [getattr(entry, name) or "" for entry in known] for name in TAGS}
        later = self._later
        if later is not None:
            for name, values in rows.items():
                column = getattr(later, name)
                values += [None] * later.jobs if column is None else column.tolist()
            for name, words in texts.items():
                words += later.tags.get(name, [""] * later.jobs)
        for name, values in rows.items():
            if any(value is not None for value in values) and name in REQUESTED:
                values = [value or 0 for value in values]
            if None not in values:
                columns[name] = np.array(values)
        tags = Tags({name: words for name, words in texts.items() if any(words)})
        return Jobs(**columns, name="state", tags=tags) if rows["gpus"] else None

    @cached_property
    def _later(self) -> Jobs | None:
        """The jobs of a log that are still to arrive."""
        source = self.source
        if not (isinstance(source, Jobs) and self.to_come):
            return None
        return source.chosen(range(source.jobs - self.to_come, source.jobs), "later")

    @cached_property
    def to_come(self) -> int:
        """Number of jobs that arrive after the state."""
        number, source = self.state.to_come, self.source
        if isinstance(source, Jobs):
            later = source.jobs - bisect_right(source.arrival_s, self.state.now_s)
            return later if number is None else min(number, later)
        return source.jobs if number is None else number

    @cached_property
    def _numbers(self) -> list[int]:
        """The numbers of all jobs; future jobs of a log keep theirs."""
        known = [entry.id for entry in self._known]
        first = max([-1, *known]) + 1
        if isinstance(self.source, Jobs):
            first = max(first, self.source.jobs - self.to_come)
        return [*known, *range(first, first + self.to_come)]

    @cached_property
    def _needs(self) -> dict[int, Any]:
        """Need of each job, by number; jobs that are drawn later are not included."""
        listed = self._listed
        needs: Sequence[Any] = () if listed is None else self.cluster.needs(listed)
        return dict(zip(self._numbers, needs))

    @cached_property
    def _nodes(self) -> Any:
        return self.cluster.nodes([*self._needs.values()] or (1,), self._placement)

    @property
    def jobs(self) -> int:
        return len(self._numbers)

    @property
    def known(self) -> tuple[str, ...]:
        """The columns that both the source's jobs and the state's jobs have."""
        columns, listed = super().known, self._listed
        shown = columns if listed is None else listed.shown
        return tuple(name for name in columns if name in shown)

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, int, Row]]:
        listed, numbers = self._listed, self._numbers
        if listed is not None:
            duration_s = listed.duration_s.copy()
            duration_s[: len(self._known)] = self.durations_s(draw.seed)
            yield from self._rows(replace(listed, duration_s=duration_s), numbers)
        if not isinstance(self.source, Jobs) and self.to_come:
            # not the jobs that arrived before the state in a run with this seed
            seed = int(stream(draw.seed, "state").integers(2**62))
            source, cluster = self.source, self.cluster
            jobs = generate(source.mix, self.to_come, source.load, cluster, seed)
            later = replace(jobs, arrival_s=jobs.arrival_s + self.state.now_s)
            yield from self._rows(later, numbers[len(self._known) :])

    def _rows(
        self, jobs: Jobs, numbers: Sequence[int]
    ) -> Iterator[tuple[float, int, Row]]:
        """Yield the arrivals of some jobs."""
        columns = [getattr(jobs, name).tolist() for name in self.known]
        return zip(jobs.arrival_s.tolist(), numbers, zip(*columns))

    def durations_s(self, seed: int) -> list[float]:
        """Return drawn run times of the state's jobs, given how long they have run.

        If the source has no longer run times, a job ends at its estimate; past it, the
        job runs for as long again, as in conservative backfilling.
        """
        durations_s = []
        for entry in self._known:
            uniform = float(stream(seed, "state", entry.id).random())
            start_s = getattr(entry, "start_s", self.state.now_s)
            above_s, estimate_s = self.state.now_s - start_s, entry.estimate_s
            if isinstance(self.source, Jobs):
                later = np.searchsorted(self._ratios, above_s / estimate_s, "right")
                ratios = self._ratios[later:]
                duration_s = estimate_s * (
                    float(ratios[int(uniform * len(ratios))]) if len(ratios) else 0.0
                )
            else:
                duration_s = duration_above(
                    self.source.mix, estimate_s, uniform, above_s
                )
            if duration_s <= above_s:
                duration_s = estimate_s if above_s <= estimate_s else 2 * above_s
            durations_s.append(max(duration_s, 1e-9))
        return durations_s

    @cached_property
    def _ratios(self) -> Floats:
        """Ratios of duration to estimate of the log's jobs, increasing."""
        source: Any = self.source
        return np.sort(source.duration_s / source.estimate_s)

    # ---- as a model ----

    def set_up(self, run: Simulation) -> None:
        super().set_up(run)
        run.plan.jobs, run.plan.left = range(self.jobs), math.inf
        run.plan.settled = True

    def processes(self, run: Simulation) -> Iterator[Process]:
        number = len(self.cluster.sizes)
        for entry in self.state.closed:
            for resource in run.resources[entry.node :: number]:
                yield self._closed(run, resource, entry.until_s)

    def _closed(self, run: Simulation, resource: Any, until_s: float | None) -> Process:
        """Close a node's resource from the state on; jobs running there continue."""
        yield run.timeout(self.state.now_s)
        with run.down(resource, interrupt=False):
            if until_s is None:
                yield run.env.event()
            else:
                yield run.timeout(max(0.0, until_s - run.now_s))

    def view(self, run: Simulation) -> View:
        needs = self._needs if isinstance(self._nodes, Pools) else ()
        return self.view_type(run, self._nodes, self.known, needs)

    # ---- answers ----

    def assignment(self, view: View, entry: RunningJob) -> tuple[int, Allocation]:
        return entry.id, entry.place

    def explained(self, policy: Any, view: View) -> tuple[Any, dict[int, str]]:
        reasons: dict[int, str] = {}

        def answer() -> Iterator[Any]:
            for item in policy(view) or ():
                # before it is carried out, which changes the view
                if isinstance(item, tuple) and item[0] in view.queue:
                    reasons[item[0]] = _reason(view, *item)
                yield item

        return answer(), reasons

    def described(
        self, job: int, chosen: Any, reasons: Mapping[int, str]
    ) -> dict[str, Any]:
        nodes = len(self.cluster.sizes)
        place = [f"{node}:{gpus}" for node, gpus in chosen if node < nodes]
        return {"job": job, "nodes": place, "reason": reasons.get(job, "")}

    def one_more(self, text: str) -> Resumed:
        gpus = read_as(int, text, f"{shown(text)} must be a number of GPUs per node")
        check_whole("GPUs of one more node", gpus, least=1)
        cluster, nodes = self.cluster, len(self.cluster.sizes)
        more: dict[str, Any] = {"sizes": (*cluster.sizes, gpus)}
        for name in ("cores", "memory_gb", "types", "partitions"):
            if values := getattr(cluster, name):
                more[name] = (*values, values[-1])

        def moved(job: RunningJob) -> RunningJob:
            """Return the job with the numbers of cores and memory on more nodes."""
            parts = ((number + number // nodes, part) for number, part in job.place)
            return replace(job, place=tuple(parts))

        state = replace(self.state, running=tuple(map(moved, self.state.running)))
        if state.policy == "conservative":  # its reservations are of these nodes
            state = replace(state, memory=None)
        return replace(self, cluster=replace(cluster, **more), state=state)


def _reason(view: View, job: int, place: Allocation) -> str:
    """Return what starting a job means for the first job in the queue."""
    head, fits = view.queue[0], view.nodes.fits
    if job == head:
        return "first in the queue"
    need = view.needs[head]
    if view.room(need) is not None:
        return f"preferred to job {head}, which fits too"
    start_s, free = shadow(view, head)
    if not fits(free, need):
        return f"fits now; job {head} cannot start before a node opens"
    if view.now_s + view.estimate_s[job] <= start_s:
        return f"ends by its estimate before job {head} could start, at {start_s:g} s"
    if fits(view.nodes.take(free, place), need):
        return f"leaves room for job {head}, which could start at {start_s:g} s"
    return f"fits now; may delay job {head}, which could start at {start_s:g} s"


def duration_above(
    mix: Mix, estimate_s: float, uniform: float, above_s: float
) -> float:
    """Return a duration of a mix given its estimate and a lower bound, `above_s`.

    It is drawn with a uniform variate on [0, 1); if no such duration is possible, it is
    the bound. An estimate is the duration d times a uniform number, so that d has the
    density of the mix over d, between estimate / (1 + overestimate) and the estimate.
    """
    edges_s = np.array(mix.edges_s, float)
    least_s = max(above_s, estimate_s / (1 + mix.overestimate))
    if not mix.overestimate:
        return max(above_s, estimate_s)
    ends_s = np.clip(edges_s, least_s, max(least_s, estimate_s))
    # log-uniform within a class: its density over d is its weight / d^2
    weights = np.array(mix.duration_shares) / np.diff(np.log(edges_s))
    masses = np.concatenate([[0.0], np.cumsum(weights * -np.diff(1 / ends_s))])
    if not masses[-1]:
        return above_s
    part = int(np.searchsorted(masses, uniform * masses[-1], "right")) - 1
    left = (uniform * masses[-1] - masses[part]) / weights[part]
    return float(1 / (1 / ends_s[part] - left))
