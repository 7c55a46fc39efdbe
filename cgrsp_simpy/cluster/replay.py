"""Replay of your own log: which scheduler explains it, and what changes would bring.

Two things are asked of a scheduler. At each moment of the recorded schedule, would it
have acted as recorded? And does a simulation of all jobs give the recorded waits?
Neither is enough: where hardly any job fits, all schedulers act alike, and different
schedulers may give equal mean waits (all ours).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, count, takewhile
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean, block_bootstrap_mean, mean
from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import InputError, check_one_of, check_whole, require
from cgrsp_simpy.base.policy import READERS, Wake, in_file, policy
from cgrsp_simpy.cluster.cluster import PLACEMENTS, Cluster, Nodes
from cgrsp_simpy.cluster.jobs import Jobs
from cgrsp_simpy.cluster.policies import make_scheduler
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.cluster.view import PooledView, Scheduler, View
from cgrsp_simpy.engine.resources import ResourceSpec, pools
from cgrsp_simpy.studies.isolation import isolated, run_isolated
from cgrsp_simpy.studies.replicate import check_policies
from cgrsp_simpy.studies.subject import subject_of

# orders that no other scheduler has: LIFO, widest first, strict and EASY by time
ORDERED = (
    "ordered:by=latest",
    "ordered:by=widest",
    "ordered:by=shortest,blocked=wait",
    "ordered:by=shortest,blocked=backfill",
)
# both limits were fixed on generated logs: the scheduler of a log agreed at 79 % of the
# moments or more, and its simulation left nothing unexplained; for logs of schedulers
# unknown here, the nearest simulation left 38 % or more, if jobs waited for minutes
FLOOR = 0.7
MOST_UNEXPLAINED = 0.1
# a start so much later still counts as immediate: schedulers run in cycles
GRACE_S = 60.0
# weight of the second question; chosen on 30 separate logs
TIE = 0.02
MOMENTS = 2000  # maximum number judged, evenly spread
# recorded jobs end this much before others start: sums of times are rounded
EARLY_S = 1e-3
ROUNDING_S = 1.0  # times of a log are often in whole seconds
BLOCKS = 20  # of jobs in a bootstrap


@dataclass(frozen=True)
class Replay:
    """A log under several schedulers.

    scenario: the log on its cluster, with the placement under which a simulation comes
    nearest to the record. waits_s: waits per job, seconds: simulated, by scheduler;
    "recorded": the log's or NaN. agreement: by scheduler, whether it would have acted
    as recorded at each judged moment; empty if the log has no starts, or no job waited.
    """

    scenario: Scenario
    waits_s: Mapping[str, Floats]
    agreement: Mapping[str, Floats]

    @property
    def moved(self) -> str:
        """Describe how many jobs were ready later than submitted, and by how much."""
        jobs: Any = self.scenario.source
        submit_s = jobs.arrival_s if jobs.submit_s is None else jobs.submit_s
        later_s = jobs.arrival_s - submit_s
        if not later_s.any():
            return ""
        return (
            f"{np.count_nonzero(later_s):,} of {jobs.jobs:,} jobs were ready later than"
            f" submitted, by {later_s[later_s > 0].mean() / 3600:.2f} h on average:"
            " they wait from then on"
        )

    @property
    def explained_by(self) -> list[str]:
        """Schedulers that explain the log: one, several that tie, or none.

        Their agreement is at least `FLOOR`. Their simulated waits meet the recorded
        ones: the 95 % interval of the mean paired difference comes within `GRACE_S` of
        0, and the differences make up at most `MOST_UNEXPLAINED` of the recorded waits.
        Of those, the nearest to the record is taken, with others whose distance from it
        cannot be distinguished. If it gives every recorded wait to the second, so do
        they.
        """
        off_s = {
            name: abs(self._difference_s(name))
            for name, agrees in self.agreement.items()
            if agrees.mean() >= FLOOR
            and self._unexplained(name) <= MOST_UNEXPLAINED
            and interval(self._difference_s(name)).low <= GRACE_S
            and interval(self._difference_s(name)).high >= -GRACE_S
        }
        least_s = min(off_s.values(), key=np.mean, default=np.zeros(1))
        exact = least_s.max() <= ROUNDING_S
        return [
            name
            for name, own_s in off_s.items()
            if interval(own_s - least_s).low <= 0
            and (own_s.max() <= ROUNDING_S) == exact
        ]

    @property
    def unexplained(self) -> float:
        """Share of the recorded waits that no scheduler explains: the sum of absolute
        differences over that of the waits, for the nearest; at most 1.
        """
        return min(1.0, *map(self._unexplained, self.agreement))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for the record, then one per scheduler, the nearest first.

        Whether it explains the log; agreement and the unexplained share of the waits in
        percent; mean paired difference from the recorded waits with its 95 % interval
        (block bootstrap), and waits, in seconds.
        """
        explained_by = self.explained_by
        names = sorted(
            self.waits_s,
            key=lambda name: self._unexplained(name) if name in self.agreement else -1,
        )
        known = {
            name: wait_s[~np.isnan(wait_s)] for name, wait_s in self.waits_s.items()
        }
        return [
            {
                "scheduler": name,
                **(self._evidence(name, explained_by) if self.agreement else {}),
                "wait_s": float(known[name].mean()),
                "wait_p50_s": float(np.percentile(known[name], 50)),
                "wait_p95_s": float(np.percentile(known[name], 95)),
            }
            for name in names
        ]

    def _evidence(self, name: str, explained_by: Sequence[str]) -> dict[str, Any]:
        """Columns of the evidence; all None for the record."""
        agrees = self.agreement.get(name)
        near = None if agrees is None else interval(self._difference_s(name))
        return {
            "explains": near and ("yes" if name in explained_by else "no"),
            "agreement_pct": None if agrees is None else 100 * float(agrees.mean()),
            "unexplained_pct": near and 100 * self._unexplained(name),
            **_plain("wait_difference_s", near),
        }

    def _difference_s(self, name: str) -> Floats:
        """Simulated minus recorded waits of the jobs whose starts are recorded."""
        difference_s = self.waits_s[name] - self.waits_s["recorded"]
        return np.round(difference_s[~np.isnan(difference_s)], 6)  # sums of times

    def _unexplained(self, name: str) -> float:
        return float(
            abs(self._difference_s(name)).sum() / np.nansum(self.waits_s["recorded"])
        )

    def what_if(self, changes: Sequence[str]) -> list[dict[str, Any]]:
        """Return one row per change of the scenario: mean wait, and paired difference.

        Job by job, both simulated, with a 95 % interval (block bootstrap). changes: see
        `changed`; of each scheduler that explains the log, or of the first one if the
        log has no starts. Raises InputError for a wrong change in any case.
        """
        for text in changes:
            changed(self.scenario, "fifo", text)
        names = self.explained_by if "recorded" in self.waits_s else [*self.waits_s][:1]
        variants = [
            (name, text, *changed(self.scenario, name, text))
            for text in changes
            for name in names
        ]
        waits_s = [_waits(scenario, scheduler) for *_, scenario, scheduler in variants]
        return [
            {
                "what_if": text,
                "scheduler": scheduler,
                "wait_s": float(wait_s.mean()),
                **_plain("wait_difference_s", interval(wait_s - self.waits_s[name])),
            }
            for (name, text, _, scheduler), wait_s in zip(variants, waits_s)
        ]


def replay(scenario: Scenario, schedulers: Sequence[Any] | None = None) -> Replay:
    """Replay a log, the source of a scenario, under schedulers, by default all possible
    and those of `ORDERED`.

    Raises InputError for jobs that are no log's, and like `Scenario`.
    """
    jobs = scenario.source
    require(isinstance(jobs, Jobs), "source", jobs, "the jobs of a log")
    assert isinstance(jobs, Jobs)
    every = [
        name
        for name in (*scenario.policies, *ORDERED)
        if name != "ordered" and not scenario.shortage(make_scheduler(name))
    ]
    policies = check_policies(schedulers or every, scenario)
    agrees, waits_s = dict[str, Floats](), dict[str, Floats]()
    tried = dict[tuple[str, Any], Floats]()
    if jobs.start_s is not None:
        waits_s["recorded"] = np.maximum(jobs.start_s - jobs.arrival_s, 0.0)
        isolated_policies = {
            name: isolated(scenario, subject_of(scenario).make_policy(scheduler))[1]
            for name, scheduler in policies.items()
        }
        agrees = agreement(scenario, isolated_policies)
        tried = {
            (name, placement): _waits(replace(scenario, placement=placement), scheduler)
            for placement in _placements(scenario)
            for name, scheduler in policies.items()
            if name in agrees and agrees[name].mean() >= FLOOR
        }
    if tried:
        off_s = {
            pair: np.nansum(abs(wait_s - waits_s["recorded"]))
            for pair, wait_s in tried.items()
        }
        nearest, placement = min(off_s, key=off_s.__getitem__)
        scenario = replace(scenario, placement=placement)
        near = off_s[nearest, placement] / np.nansum(waits_s["recorded"])
        if near <= MOST_UNEXPLAINED:
            agrees = agreement(scenario, isolated_policies, nearest) or agrees
    waits_s |= {
        name: tried[name, scenario.placement]
        if (name, scenario.placement) in tried
        else _waits(scenario, scheduler)
        for name, scheduler in policies.items()
    }
    return Replay(scenario, waits_s, agrees)


def _placements(scenario: Scenario) -> Sequence[Any]:
    """The scenario's placement, then others if they make a difference."""
    pools = scenario.cluster.pools
    others = PLACEMENTS if len(pools[0]) > 1 and max(map(max, pools)) > 1 else ()
    return [*dict.fromkeys((scenario.placement, *others))]


class Pooled(Scenario):
    """A scenario whose engine counts the GPUs of all nodes together, as `PooledView`."""

    view_type = PooledView

    def resources(self) -> tuple[ResourceSpec, ...]:
        return pools((self.cluster.gpus,), "cluster", "GPUs")


def _waits(scenario: Scenario, scheduler: Any) -> Floats:
    """Simulated waits; nodes of one GPU are pooled in the engine."""
    trusted = isinstance(scheduler, str) and not in_file(scheduler)
    if trusted and type(scenario) is Scenario and {*scenario.cluster.sizes} == {1}:
        nodes = scenario.cluster.nodes(scenario.cluster.needs(scenario.source))
        if type(nodes) is Nodes:
            scenario = Pooled(**vars(scenario))
    jobs = run_isolated(scenario, scheduler, 0).jobs
    return np.asarray(jobs["start_s"] - jobs["submit_s"])


def interval(differences: Floats) -> Mean:
    """Mean with a 95 % interval from `BLOCKS` blocks of neighbours, if possible."""
    if len(differences) < 2:
        return mean(differences)
    return block_bootstrap_mean(differences, max(1, len(differences) // BLOCKS))


def _plain(name: str, value: Mean | None) -> dict[str, float | None]:
    """A mean and its interval, as columns."""
    names = {"mean": name, "low": f"{name}_low", "high": f"{name}_high"}
    return {column: getattr(value, part, None) for part, column in names.items()}


def changed(scenario: Scenario, scheduler: str, text: str) -> tuple[Scenario, str]:
    """Apply a change to a scenario and its scheduler.

    "nodes=4" (that many more, like the last), "scheduler=easy:depth=10",
    "placement=pack" or "kill_at_limit=true". Raises InputError for any other.
    """
    name, _, value = text.partition("=")
    check_one_of("what-if", name, ("nodes", "scheduler", "placement", "kill_at_limit"))
    if name == "scheduler":
        subject_of(scenario).make_policy(value)
        return scenario, value
    if name == "nodes":
        allowed = "the number of nodes to add, a whole number >= 1"
        require(value.isdecimal(), "what-if nodes", value, allowed)
        check_whole("what-if nodes", int(value), least=1, most=100_000)
        more = {
            key: values + values[-1:] * int(value)
            for key, values in vars(scenario.cluster).items()
        }
        return replace(scenario, cluster=Cluster(**more)), scheduler
    read, allowed = READERS[bool if name == "kill_at_limit" else str]
    try:
        return replace(scenario, **{name: read(value)}), scheduler
    except KeyError:
        raise InputError(f"what-if {name}(={value!r}) must be {allowed}") from None


# ---- moment by moment ----


def agreement(
    scenario: Scenario, schedulers: Mapping[str, Scheduler], guide: str = ""
) -> dict[str, Floats]:
    """Return by scheduler and moment whether it would have acted as recorded, 0 to 1.

    The recorded schedule is followed. Judged are the moments at which some jobs go on
    waiting. A scheduler agrees if the job that it would start first was started, or if
    it would start none and none was.

    With a guide, jobs are placed on the nodes of the scenario, those of one instant in
    the order of this scheduler. If a recorded start finds no room, nothing is returned.

    Without a guide, nodes are unknown. Then a job that was started shows that others of
    as many GPUs had room, and a job of g GPUs has room if more are free than nodes can
    hide, min(size, g - 1) each. So schedulers are asked what they would start if no
    wider job fitted and the other GPUs came free at the next end, and, with weight
    `TIE`, if all free GPUs were on one node. GPUs of one type and partition are merged,
    or all of the cluster if a job needs more than that; cores and memory are ignored.
    """
    schedulers, late = deepcopy(schedulers), set[int]()
    order: Any = deepcopy(schedulers[guide]) if guide else lambda _: ()
    source: Any = scenario.source
    cluster = scenario.cluster
    if not guide:
        if not source.gpus.any():  # cores are judged as GPUs
            source, cluster = (
                replace(source, gpus=source.cores),
                replace(cluster, sizes=cluster.cores),
            )
        source = replace(
            source.chosen(np.flatnonzero(source.gpus), ""),
            nodes=None,
            cores=None,
            memory_gb=None,
        )
        hidden = [
            sum(min(size, gpus) for size in cluster.sizes)
            for gpus in range(max(cluster.sizes))
        ]
        scenario = Scenario(source, _together(cluster, source))
    start_s = np.fmax(source.start_s, source.arrival_s).tolist()
    scores: dict[str, list[float]] = {name: [] for name in schedulers}
    moments, every = count(), -(-2 * source.jobs // MOMENTS)

    def agrees(name: str, view: View, due: Sequence[int], soon: set[int]) -> bool:
        first: Any = next(iter(schedulers[name](view) or ()), None)
        return first[0] in soon if due and first else not (due or first)

    def on_nodes(view: View, due: Sequence[int], soon: set[int]) -> None:
        for name, values in scores.items():
            values.append(agrees(name, view, due, soon))

    def on_one(view: View, due: Sequence[int], soon: set[int]) -> None:
        sure = [0] * len(view.sizes)
        if len(sure) == 1:
            sure[0] = bisect_left(hidden, sum(view.idle()))
        for node, gpus in chain.from_iterable(
            view.room(view.needs[job]) or () for job in due
        ):
            sure[node] = max(sure[node], gpus)
        if any(sure):
            supposed = view.supposing(sure)
            for name, values in scores.items():
                surely = agrees(name, supposed, due, soon)
                values.append(
                    (surely + TIE * (not due or agrees(name, view, due, soon)))
                    / (1 + TIE)
                )

    @policy(asks_on_arrival=True)
    def recorded(view: View) -> Iterator[Any]:
        now_s, queue = view.now_s, view.queue
        due = [job for job in queue if start_s[job] <= now_s]
        soon = {job for job in queue if start_s[job] <= now_s + GRACE_S}
        if len(soon) < len(queue) and (due or not soon) and next(moments) % every == 0:
            (on_nodes if guide else on_one)(view, due, soon)
        for job, place in takewhile(lambda start: start[0] in due, order(view) or ()):
            due.remove(job)
            yield job, place
        for job in due:
            if (place := view.room(view.needs[job])) is None:
                late.add(job)
            else:
                yield job, place
        if later := [start_s[job] for job in queue if start_s[job] > now_s]:
            yield Wake(min(later))

    as_recorded = replace(
        source,
        duration_s=np.maximum(source.duration_s - EARLY_S, source.duration_s / 2),
        predecessor=None,
        earliest_s=None,
    )
    subject_of(replace(scenario, source=as_recorded)).run(recorded)
    return {
        name: np.array(values, float)
        for name, values in scores.items()
        if values and not (guide and late)
    }


def _together(cluster: Cluster, jobs: Jobs) -> Cluster:
    """Merge the nodes of each pair of GPU type and partitions into one.

    If a job does not fit then, as one that spans two partitions, all nodes are merged.
    """
    none = ("",) * len(cluster.sizes)
    gpus = Counter[tuple[str, str]]()
    for kind, size in zip(
        zip(cluster.types or none, cluster.partitions or none), cluster.sizes
    ):
        gpus[kind] += size
    types, partitions = zip(*+gpus)  # those that have GPUs
    merged = Cluster(
        tuple((+gpus).values()),
        types=types if cluster.types else (),
        partitions=partitions if cluster.partitions else (),
    )
    return Cluster((cluster.gpus,)) if jobs.too_wide(merged).any() else merged
