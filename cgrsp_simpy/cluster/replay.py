"""Replay of your own log: which scheduler acts as recorded, and what changes would
bring.

A simulated schedule soon leaves the recorded one, even under the right scheduler, since
logs do not record the nodes of jobs. So the recorded schedule is followed, and each
scheduler is asked at each moment what it would start (all ours).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, count
from math import inf
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean, block_bootstrap_mean, mean
from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import InputError, check_one_of, check_whole, require
from cgrsp_simpy.base.policy import READERS, Wake, policy
from cgrsp_simpy.cluster.cluster import PLACEMENTS, Cluster
from cgrsp_simpy.cluster.jobs import Jobs
from cgrsp_simpy.cluster.policies import make_scheduler
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.cluster.view import Scheduler, View
from cgrsp_simpy.studies.isolation import isolated, run_isolated
from cgrsp_simpy.studies.replicate import check_policies
from cgrsp_simpy.studies.subject import subject_of

# a start so much later still counts as immediate: schedulers run in cycles
GRACE_S = 60.0
# weight of the second question; chosen on 30 separate logs
TIE = 0.02
MOMENTS = 2000  # maximum number judged, evenly spread
# recorded jobs end this much before others start: sums of times are rounded
EARLY_S = 1e-3
ZERO = np.zeros(1)
BLOCKS = 20  # of jobs, or moments, in a bootstrap


@dataclass(frozen=True)
class Replay:
    """A log under several schedulers.

    scenario: the log on its cluster, with the placement of `agreement` if there is one.
    waits_s: waits per job, seconds: simulated, by scheduler; "recorded": the log's or
    NaN. agreement: by scheduler, whether it would have acted as recorded at each judged
    moment; empty if the log has no starts, or no job waited.
    """

    scenario: Scenario
    waits_s: Mapping[str, Floats]
    agreement: Mapping[str, Floats]

    @property
    def moved(self) -> str:
        """Describe how many jobs were ready later than submitted, and by how much."""
        jobs: Any = self.scenario.source
        later_s = jobs.arrival_s - jobs.submit_s if jobs.submit_s is not None else ZERO
        if not later_s.any():
            return ""
        return (
            f"{np.count_nonzero(later_s):,} of {jobs.jobs:,} jobs were ready later than"
            f" submitted, by {later_s[later_s > 0].mean() / 3600:.2f} h on average:"
            " they wait from then on"
        )

    @property
    def best(self) -> str | None:
        """The scheduler that agrees most often, or None if unknown."""
        return max(
            self.agreement, key=lambda name: self.agreement[name].mean(), default=None
        )

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for the record, then one per scheduler, by decreasing agreement.

        Agreement in percent, its difference from the best with a 95 % interval (block
        bootstrap over moments), and waits in seconds.
        """
        agreement, best = self.agreement, self.best
        names = sorted(
            self.waits_s,
            key=lambda name: -agreement[name].mean() if name in agreement else -inf,
        )
        known = {
            name: wait_s[~np.isnan(wait_s)] for name, wait_s in self.waits_s.items()
        }
        return [
            {
                "scheduler": name,
                **(self._agrees(name) if best else {}),
                "wait_s": float(known[name].mean()),
                "wait_p50_s": float(np.percentile(known[name], 50)),
                "wait_p95_s": float(np.percentile(known[name], 95)),
            }
            for name in names
        ]

    def _agrees(self, name: str) -> dict[str, float | None]:
        """Agreement, percent, and by how much the best one agrees more often."""
        agrees, best = self.agreement.get(name), self.agreement[str(self.best)]
        below = (
            None
            if agrees is None or name == self.best
            else interval(100 * (best - agrees))
        )
        agrees_pct = None if agrees is None else 100 * float(agrees.mean())
        return {"agreement_pct": agrees_pct, **_plain("below_best_pct", below)}

    def what_if(self, changes: Sequence[str]) -> list[dict[str, Any]]:
        """Return one row per change of the scenario: mean wait, and paired difference.

        Job by job, both simulated, with a 95 % interval (block bootstrap). changes: see
        `changed`; of the best scheduler, else the first.
        """
        name = self.best or next(key for key in self.waits_s if key != "recorded")
        variants = [(text, *changed(self.scenario, name, text)) for text in changes]
        waits_s = [_waits(scenario, scheduler) for _, scenario, scheduler in variants]
        return [
            {
                "what_if": text,
                "scheduler": scheduler,
                "wait_s": float(wait_s.mean()),
                **_plain("wait_difference_s", interval(wait_s - self.waits_s[name])),
            }
            for (text, _, scheduler), wait_s in zip(variants, waits_s)
        ]


def replay(scenario: Scenario, schedulers: Sequence[Any] | None = None) -> Replay:
    """Replay a log, the source of a scenario, under schedulers, by default all
    possible.

    Raises InputError for jobs that are no log's, and like `Scenario`.
    """
    jobs = scenario.source
    require(isinstance(jobs, Jobs), "source", jobs, "the jobs of a log")
    assert isinstance(jobs, Jobs)
    every = [
        name
        for name in scenario.policies
        if not scenario.shortage(make_scheduler(name))
    ]
    policies = check_policies(schedulers or every, scenario)
    agrees, waits_s = dict[str, Floats](), dict[str, Floats]()
    if jobs.start_s is not None:
        waits_s["recorded"] = np.maximum(jobs.start_s - jobs.arrival_s, 0.0)
        isolated_policies = {
            name: isolated(scenario, subject_of(scenario).make_policy(scheduler))[1]
            for name, scheduler in policies.items()
        }
        agrees, placement = agreement(scenario, deepcopy(isolated_policies))
        scenario = replace(scenario, placement=placement or scenario.placement)
    waits_s |= {
        name: _waits(scenario, scheduler) for name, scheduler in policies.items()
    }
    return Replay(scenario, waits_s, agrees)


def _waits(scenario: Scenario, scheduler: Any) -> Floats:
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

Asked = Callable[[View, Sequence[int], set[int]], None]
"""Called with a view, the jobs that start now, and those that start soon."""


def agreement(
    scenario: Scenario, schedulers: Mapping[str, Scheduler]
) -> tuple[dict[str, Floats], str | None]:
    """Return by scheduler and moment whether it would have acted as recorded, 0 to 1;
    and the placement under which every recorded start finds room, if there is one.

    Judged are the moments at which some jobs go on waiting. A scheduler agrees if the
    job that it would start first was started, or if it would start none and none was.
    If no such placement is known, room is only known as follows: a job that was started
    shows that others of as many GPUs had room, and a job of g GPUs has room if more are
    free than nodes can hide, min(size, g - 1) each. So schedulers are asked what they
    would start if no wider job fitted and the other GPUs came free at the next end,
    and, with weight `TIE`, if all free GPUs were on one node. GPUs of one type and
    partition are then merged, or all of the cluster if a job needs more than that;
    cores and memory are ignored.
    """
    source = scenario.source
    assert isinstance(source, Jobs) and source.start_s is not None
    scores: dict[str, list[float]] = {name: [] for name in schedulers}
    sizes = scenario.cluster.sizes
    hidden = [sum(min(size, gpus) for size in sizes) for gpus in range(max(sizes))]

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

    exact = (replace(scenario, placement=placement) for placement in PLACEMENTS)
    on_its_nodes = next(filter(_follow, exact), None)
    with_gpus = np.flatnonzero(source.gpus)
    if on_its_nodes:
        _follow(on_its_nodes, on_nodes)
    elif with_gpus.size:
        bare = replace(
            source.chosen(with_gpus, ""), nodes=None, cores=None, memory_gb=None
        )
        _follow(Scenario(bare, _together(scenario.cluster, bare)), on_one)
    agreed = {
        name: np.array(values, float) for name, values in scores.items() if values
    }
    return agreed, str(on_its_nodes.placement) if on_its_nodes else None


def _follow(scenario: Scenario, ask: Asked | None = None) -> bool:
    """Start jobs as recorded, or once they fit; whether all fitted in time."""
    jobs, moments, late = scenario.source, count(), set[int]()
    assert isinstance(jobs, Jobs) and jobs.start_s is not None
    start_s = np.fmax(jobs.start_s, jobs.arrival_s).tolist()
    every = -(-2 * jobs.jobs // MOMENTS)

    @policy(asks_on_arrival=True)
    def recorded(view: View) -> Iterator[Any]:
        now_s, queue = view.now_s, view.queue
        due = [job for job in queue if start_s[job] <= now_s]
        soon = {job for job in queue if start_s[job] <= now_s + GRACE_S}
        if (
            ask
            and len(soon) < len(queue)
            and (due or not soon)
            and next(moments) % every == 0
        ):
            ask(view, due, soon)
        for job in due:
            if (place := view.room(view.needs[job])) is None:
                late.add(job)
            else:
                yield job, place
        if later := [start_s[job] for job in queue if start_s[job] > now_s]:
            yield Wake(min(later))

    early_s = np.maximum(jobs.duration_s - EARLY_S, jobs.duration_s / 2)
    as_recorded = replace(jobs, duration_s=early_s, predecessor=None, earliest_s=None)
    subject_of(replace(scenario, source=as_recorded)).run(recorded)
    return not late


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
