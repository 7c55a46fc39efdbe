"""Replay of a log: the scheduler that explains it, and the effects of changes.

A scheduler must meet two criteria: at the moments of the recorded schedule it would
have acted as recorded, and a simulation of all jobs reproduces the recorded waits. One
criterion is not enough: if hardly any job fits, all schedulers act in the same way, and
different schedulers may give equal mean waits (all ours).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, count, repeat, takewhile
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean, block_bootstrap_mean, mean
from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import check_whole, require
from cgrsp_simpy.base.policy import Wake, in_file, pairs, policy, typed
from cgrsp_simpy.cluster.cluster import PLACEMENTS, Cluster
from cgrsp_simpy.cluster.jobs import Jobs
from cgrsp_simpy.cluster.policies import start_in_order
from cgrsp_simpy.cluster.scenario import Scenario, pooled
from cgrsp_simpy.cluster.view import Scheduler, View
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
# above this number of jobs, a rejected simulation is stopped: see `_waits`
LONG = 50_000
MOMENTS = 2000  # maximum number judged, evenly spread
# recorded jobs end this much before others start: sums of times are rounded
EARLY_S = 1e-3
ROUNDING_S = 1.0  # times of a log are often in whole seconds
BLOCKS = 20  # number of blocks of jobs in a bootstrap
FIGURES = ("wait_s", "wait_p50_s", "wait_p95_s")  # figures of the waits
# parameters that a what-if may change, and the types of their values
CHANGES: dict[str, type] = {
    "nodes": int,
    "scheduler": str,
    "placement": str,
    "kill_at_limit": bool,
}


@dataclass(frozen=True)
class Replay:
    """A log under several schedulers.

    scenario: the log on its cluster, with the placement under which a simulation comes
    nearest to the record. waits_s: waits per job, seconds: simulated, by scheduler;
    "recorded": the log's or NaN; without the schedulers whose simulations were ended,
    see `LONG`. agreement: by scheduler, whether it would have acted as recorded at each
    judged moment; empty if the log has no starts, or no job waited. lacking: by
    scheduler that was not tried, which columns it needs that the log lacks.
    """

    scenario: Scenario
    waits_s: Mapping[str, Floats]
    agreement: Mapping[str, Floats]
    lacking: Mapping[str, str]

    @property
    def left_out(self) -> str:
        """List the schedulers that were not simulated, or not to the end, and why."""
        ended = ", ".join(name for name in self.agreement if name not in self.waits_s)
        differ = (
            f"{ended} differ from the recorded waits by more than their sum, so their"
            " simulations ended"
        )
        reasons = [*map(" ".join, self.lacking.items()), *[differ] * bool(ended)]
        return f"left out: {'; '.join(reasons)}" if reasons else ""

    @property
    def moved(self) -> str:
        """Describe how many jobs were ready later than submitted, and by how much."""
        jobs: Any = self.scenario.source
        submit_s = jobs.arrival_s if jobs.submit_s is None else jobs.submit_s
        later_s = (jobs.arrival_s - submit_s)[jobs.arrival_s > submit_s]
        return (
            f"{len(later_s):,} of {jobs.jobs:,} jobs were ready later than submitted,"
            f" by {later_s.mean() / 3600:.2f} h on average: they wait from then on"
            if len(later_s)
            else ""
        )

    @property
    def explained_by(self) -> list[str]:
        """Schedulers that explain the log: one, several that tie, or none.

        Their agreement is at least `FLOOR`. Their simulated waits agree with the
        recorded ones: the 95 % interval of the mean paired difference comes within
        `GRACE_S` of 0, and the differences make up at most `MOST_UNEXPLAINED` of the
        recorded waits. Of those, the nearest to the record is selected, with others
        that cannot be distinguished from it by their distance. If it reproduces every
        recorded wait to the second, so do the others.
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
            for name, distance_s in off_s.items()
            if interval(distance_s - least_s).low <= 0
            and (distance_s.max() <= ROUNDING_S) == exact
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
        evidence = {
            name: {
                "explains": "yes" if name in explained_by else "no",
                "agreement_pct": 100 * float(agrees.mean()),
                "unexplained_pct": 100 * self._unexplained(name) if simulated else None,
                **_plain(interval(self._difference_s(name)) if simulated else None),
            }
            for name, agrees in self.agreement.items()
            for simulated in [name in self.waits_s]
        }
        figures = {
            name: (float(known_s.mean()), *np.percentile(known_s, [50, 95]).tolist())
            for name, wait_s in self.waits_s.items()
            for known_s in [wait_s[~np.isnan(wait_s)]]
        }
        unknown = dict.fromkeys(next(iter(evidence.values()), {}))
        return [
            {
                "scheduler": name,
                **evidence.get(name, unknown),
                **dict(zip(FIGURES, figures.get(name, (None,) * len(FIGURES)))),
            }
            for name in sorted(
                {**figures, **evidence},
                key=lambda name: self._unexplained(name) if name in evidence else -1,
            )
        ]

    def _difference_s(self, name: str) -> Floats:
        """Simulated minus recorded waits of the jobs whose starts are recorded.

        Infinite if the simulation was ended.
        """
        difference_s = self.waits_s.get(name, np.inf) - self.waits_s["recorded"]
        return np.round(difference_s[~np.isnan(difference_s)], 6)  # sums of times

    def _unexplained(self, name: str) -> float:
        """Return the sum of absolute differences over that of the recorded waits."""
        off_s = abs(self._difference_s(name)).sum()
        return float(off_s / np.nansum(self.waits_s["recorded"]))

    def what_if(self, changes: Sequence[str]) -> list[dict[str, Any]]:
        """Return one row per change of the scenario: mean wait, and paired difference.

        Job by job, both simulated, with a 95 % interval (block bootstrap). changes: see
        `changed`; of each scheduler that explains the log, or of the first one if the
        log has no starts. A change to the present value has no row. Raises InputError
        for a wrong change in any case.
        """
        names = self.explained_by if "recorded" in self.waits_s else [*self.waits_s][:1]
        variants = [
            (name, text, changed(self.scenario, name, text))
            for text in changes
            for name in names or [""]
        ]
        rows = [
            {
                "what_if": text,
                "scheduler": variant[1],
                "wait_s": float(wait_s.mean()),
                **_plain(interval(wait_s - self.waits_s[name])),
            }
            for name, text, variant in variants
            if names and variant != (self.scenario, name)
            for wait_s in [_waits(*variant)]
        ]
        # schedulers that tie may give equal rows
        return [row for place, row in enumerate(rows) if row not in rows[:place]]


def replay(scenario: Scenario, schedulers: Sequence[Any] | None = None) -> Replay:
    """Replay a log, the source of a scenario, under schedulers, by default all possible
    and those of `ORDERED`.

    Raises InputError for jobs that do not come from a log, and as `Scenario` does.
    """
    jobs: Any = scenario.source
    require(isinstance(jobs, Jobs), "source", jobs, "the jobs of a log")
    every = [name for name in (*scenario.policies, *ORDERED) if name != "ordered"]
    lacking = {} if schedulers else scenario.subject(scenario).left_out(every)
    policies = check_policies(
        schedulers or [name for name in every if name not in lacking], scenario
    )
    agrees, waits_s = dict[str, Floats](), dict[str, Floats]()
    if jobs.start_s is not None:
        waits_s["recorded"] = np.maximum(jobs.start_s - jobs.arrival_s, 0.0)
        agrees = agreement(scenario, policies)
    refutes_s = waits_s["recorded"] if agrees and jobs.jobs > LONG else None

    @cache
    def simulated(name: str, placement: Any) -> Floats:
        return _waits(replace(scenario, placement=placement), policies[name], refutes_s)

    pools = scenario.cluster.pools
    others = PLACEMENTS if len(pools[0]) > 1 and max(map(max, pools)) > 1 else ()
    off_s = {
        (name, placement): float(np.nansum(abs(wait_s - waits_s["recorded"])))
        for placement in dict.fromkeys((scenario.placement, *others))
        for name, acts in agrees.items()
        if acts.mean() >= FLOOR
        if len(wait_s := simulated(name, placement))
    }
    if off_s:
        nearest, placement = min(off_s, key=off_s.__getitem__)
        scenario = replace(scenario, placement=placement)
        if min(off_s.values()) / np.nansum(waits_s["recorded"]) <= MOST_UNEXPLAINED:
            agrees = agreement(scenario, policies, nearest) or agrees
    waits_s |= {
        name: wait_s
        for name in policies
        if len(wait_s := simulated(name, scenario.placement))
    }
    return Replay(scenario, waits_s, agrees, lacking)


def _waits(
    scenario: Scenario, scheduler: Any, recorded_s: Floats | None = None
) -> Floats:
    """Simulate the waits of all jobs.

    recorded_s: the simulation is ended, and nothing returned, once the differences from
    these add up to more than their sum.
    """
    if not isinstance(scheduler, str) or in_file(scheduler):
        run = run_isolated(scenario, scheduler, 0)
    else:
        subject = subject_of(pooled(scenario))
        simulation = subject.simulation(subject.make_policy(scheduler), 0)
        while simulation.advance(LONG):
            jobs = simulation.view.jobs
            wait_s = jobs.end_s - jobs.run_s - jobs.arrival_s  # NaN before the end
            if recorded_s is not None and (
                np.nansum(abs(wait_s - recorded_s[: len(wait_s)]))
                > np.nansum(recorded_s)
            ):
                return np.array(())
        run = simulation.close()
    return np.asarray(run.jobs["start_s"] - run.jobs["submit_s"])


def interval(differences: Floats) -> Mean:
    """Mean with a 95 % interval from `BLOCKS` blocks of neighbours, if possible."""
    return (
        block_bootstrap_mean(differences, max(1, len(differences) // BLOCKS))
        if len(differences) > 1
        else mean(differences)
    )


def _plain(difference: Mean | None) -> dict[str, float | None]:
    """A mean difference of waits and its interval, as columns."""
    return {
        f"wait_difference_s{end}": getattr(difference, part, None)
        for end, part in (("", "mean"), ("_low", "low"), ("_high", "high"))
    }


def changed(scenario: Scenario, scheduler: str, text: str) -> tuple[Scenario, str]:
    """Apply a change to a scenario and its scheduler.

    "nodes=4" (that many more, like the last), "scheduler=easy:depth=10",
    "placement=pack" or "kill_at_limit=true". Raises InputError for any other.
    """
    [(name, value)] = pairs(
        [text], typed("what-if", CHANGES), "name=value", "what-if "
    ).items()
    if name == "scheduler":
        subject_of(scenario).make_policy(value)
        return scenario, value
    if name != "nodes":
        return replace(scenario, **{name: value}), scheduler
    check_whole("what-if nodes", value, least=1, most=100_000)
    cluster = {
        name: entries + entries[-1:] * value
        for name, entries in vars(scenario.cluster).items()
    }
    return replace(scenario, cluster=Cluster(**cluster)), scheduler


# ---- moment by moment ----


def agreement(
    scenario: Scenario, policies: Mapping[str, Any], guide: str = ""
) -> dict[str, Floats]:
    """Return by scheduler and moment whether it would have acted as recorded, 0 to 1.

    The recorded schedule is followed. The judged moments are those after which some
    jobs still wait. A scheduler agrees if the job that it would start first was
    started, or if it would start no job and no job was started.

    With a guide, jobs are placed on the nodes of the scenario, those of one instant in
    the order of this scheduler. If a recorded start finds no room, nothing is returned.

    Without a guide, nodes are unknown. Then a job that was started shows that others of
    as many GPUs had room, and a job of g GPUs has room if more are free than nodes can
    hide, min(size, g - 1) each. So schedulers are asked what they would start if no
    wider job fitted and the other GPUs came free at the next end, and, with weight
    `TIE`, if all free GPUs were on one node. GPUs of one type and partition are merged,
    or all of the cluster if a job needs more than that; cores and memory are ignored.
    """
    schedulers = {
        name: deepcopy(isolated(scenario, subject_of(scenario).make_policy(policy))[1])
        for name, policy in policies.items()
    }
    order: Any = deepcopy(schedulers[guide]) if guide else lambda _: ()
    judge: Any = _judged
    if not guide:
        scenario, judge = _without_nodes(scenario)
    source: Any = scenario.source
    start_s = np.fmax(source.start_s, source.arrival_s).tolist()
    scores = defaultdict[str, list[float]](list)
    moments, every = count(), -(-2 * source.jobs // MOMENTS)
    # recorded starts of the jobs that wait, in order; number of jobs that have arrived;
    # whether a recorded start found no room
    waiting, arrived, late = list[tuple[float, int]](), 0, False

    @policy(asks_on_arrival=True)
    def recorded(view: View) -> Iterator[Any]:
        nonlocal arrived, late
        now_s = view.now_s
        while arrived < len(view.gpus):
            insort(waiting, (start_s[arrived], arrived))
            arrived += 1
        due = bisect_right(waiting, (now_s, np.inf))
        soon = bisect_right(waiting, (now_s + GRACE_S, np.inf))
        jobs = [job for _, job in waiting[:soon]]
        if soon < len(waiting) and (due or not soon) and next(moments) % every == 0:
            for name, score in judge(schedulers, view, jobs[:due], jobs).items():
                scores[name].append(score)
        first = takewhile(lambda start: start_s[start[0]] <= now_s, order(view) or ())
        others = (job for job in sorted(jobs[:due]) if job not in view.running)
        for job, place in chain(first, start_in_order(view, others)):
            del waiting[bisect_left(waiting, (start_s[job], job))]
            yield job, place
        due = bisect_right(waiting, (now_s, np.inf))
        late |= due > 0
        if due < len(waiting):
            yield Wake(waiting[due][0])

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
        if not (guide and late)
    }


def _judged(
    schedulers: Mapping[str, Scheduler],
    view: View,
    started: Sequence[int],
    soon: Sequence[int],
) -> dict[str, float]:
    """Judge schedulers by the free GPUs of each node.

    soon: jobs started within `GRACE_S`.
    """
    firsts: dict[str, Any] = {
        name: next(iter(scheduler(view) or ()), None)
        for name, scheduler in schedulers.items()
    }
    return {
        name: first[0] in soon if started and first else not (started or first)
        for name, first in firsts.items()
    }


def _judged_without_nodes(
    hidden: Sequence[int],
    schedulers: Mapping[str, Scheduler],
    view: View,
    started: Sequence[int],
    soon: Sequence[int],
) -> dict[str, float]:
    """Judge schedulers by the jobs that certainly had room; empty if there are none.

    hidden: by GPUs of a job, how many can be free although it has no room.
    """
    certain = (
        [0] * len(view.sizes)
        if len(view.sizes) > 1
        else [bisect_left(hidden, view.idle()[0])]
    )
    for node, gpus in chain.from_iterable(
        view.room(view.needs[job]) or () for job in started
    ):
        certain[node] = max(certain[node], gpus)
    if not any(certain):
        return {}
    on_certain = _judged(schedulers, view.supposing(certain), started, soon)
    on_all = _judged(schedulers, view, started, soon) if started else {}
    return {
        name: (score + TIE * on_all.get(name, 1.0)) / (1 + TIE)
        for name, score in on_certain.items()
    }


def _without_nodes(scenario: Scenario) -> tuple[Scenario, Any]:
    """The log on merged nodes, by GPUs alone, or cores if no job has GPUs; and what
    judges schedulers there.

    The nodes of each pair of GPU type and partitions are merged into one. If a job does
    not fit then, as one that spans two partitions, all nodes are.
    """
    source: Any = scenario.source
    cluster = scenario.cluster
    if not source.gpus.any():
        source = replace(source, gpus=source.cores)
        cluster = replace(cluster, sizes=cluster.cores)
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
    kinds = zip(cluster.types or repeat(""), cluster.partitions or repeat(""))
    # nodes with GPUs only
    gpus = Counter(chain.from_iterable(map(repeat, kinds, cluster.sizes)))
    types, partitions = zip(*gpus)
    merged = Cluster(
        tuple(gpus.values()),
        types=types if cluster.types else (),
        partitions=partitions if cluster.partitions else (),
    )
    if source.too_wide(merged).any():
        merged = Cluster((cluster.gpus,))
    return Scenario(source, merged), partial(_judged_without_nodes, hidden)
