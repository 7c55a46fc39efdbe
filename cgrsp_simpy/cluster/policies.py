"""Schedulers by name, or by a string such as "hps:monotone=true".

Single-objective schedulers (cluster-schedulers.txt III.B); HPS and the adaptive one
that the paper abandoned (III.D, V.A); the predictive PBS (V.B); the smart batch
scheduler SBS (V.C); and those of Slurm. t: a job's estimate. g: its GPUs. Ties go by
arrival.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from math import inf, log
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from cgrsp_simpy.base.arrays import Floats, Ints
from cgrsp_simpy.base.checks import (
    check_one_of,
    require,
)
from cgrsp_simpy.base.parameters import (
    AtLeastOne,
    Count,
    Fraction,
    NotNegative,
    Positive,
    Whole,
    checked,
)
from cgrsp_simpy.base.policy import chosen
from cgrsp_simpy.cluster.backfilling import Conservative, easy, easy_in_order
from cgrsp_simpy.cluster.jobs import known
from cgrsp_simpy.cluster.view import Arrived, Scheduler, Starts, View, named


def start_in_order(view: View, jobs: Iterable[int]) -> Starts:
    """Start the jobs that fit, in this order, and skip the others."""
    needs, full = view.needs, set[Any]()
    for job in jobs:
        if needs[job] in full:
            continue
        if (place := view.room(needs[job])) is None:
            # further starts only reduce the room
            full.add(needs[job])
        else:
            yield job, place


def start_by(view: View, key: Callable[[Ints], Floats | Ints]) -> Starts:
    """Start the waiting jobs that fit, by increasing `key` of their indices."""
    jobs = fitting(view)
    if len(jobs) > 1:
        jobs = jobs[key(jobs).argsort(kind="stable")]
    return start_in_order(view, jobs.tolist())


def fitting(view: View) -> Ints:
    """Return the waiting jobs that would fit now, each alone, oldest first."""
    return np.array(view.fitting(), dtype=np.int64)


def start_chosen(view: View, choose: Callable[[Ints], int]) -> Starts:
    """Start the job that `choose` selects of those that fit, until none fits."""
    while len(jobs := fitting(view)):
        yield from start_in_order(view, [choose(jobs)])


@named("fifo")
def fifo(view: View) -> Starts:
    """By arrival; the first job that does not fit blocks all others."""
    while (job := view.head) is not None and (
        place := view.room(view.needs[job])
    ) is not None:
        yield job, place


@named("fifo-skip")
def fifo_skip(view: View) -> Starts:
    """By arrival, skipping jobs that do not fit; not in the paper."""
    return start_in_order(view, view.fitting())


@named("sjf")
def sjf(view: View) -> Starts:
    """Fewest GPUs first, by g; the source's Table I swaps SJF and Shortest."""
    return start_by(view, lambda jobs: view.jobs.gpus[jobs])


@named("shortest")
def shortest(view: View) -> Starts:
    """Shortest estimated run time first, by t."""
    return start_by(view, lambda jobs: view.jobs.estimate_s[jobs])


@named("shortest-gpu")
def shortest_gpu(view: View) -> Starts:
    """Least GPU-time first, by t g."""
    return start_by(
        view, lambda jobs: view.jobs.estimate_s[jobs] * view.jobs.gpus[jobs]
    )


def start_until_blocked(view: View, jobs: Iterable[int]) -> Starts:
    """Start jobs in this order; the first that does not fit blocks all others."""
    for job in jobs:
        if (place := view.room(view.needs[job])) is None:
            return
        yield job, place


# keys of the queue, by increasing key; ties go by arrival
ORDERS: dict[str, Callable[[View, Ints], Floats | Ints]] = {
    "latest": lambda _, queue: np.arange(len(queue), 0, -1),
    "shortest": lambda view, queue: view.jobs.estimate_s[queue],
    "widest": lambda view, queue: -view.jobs.gpus[queue],
}
# treatment of jobs behind one that does not fit
BLOCKED: dict[str, Callable[[View, list[int]], Starts]] = {
    "skip": start_in_order,
    "wait": start_until_blocked,
    "backfill": easy_in_order,
}


@checked
def ordered(by: str = "latest", blocked: str = "skip") -> Scheduler:
    """Fixed order, and a rule for jobs behind one that does not fit; not in the paper.

    by: first the "latest" arrival (LIFO), the "shortest" by t, or the "widest" by g.
    blocked: "skip" starts later jobs that fit; "wait" starts none (strict order);
    "backfill" starts those that do not delay it, as EASY.
    """
    check_one_of("by of ordered", by, ORDERS)
    check_one_of("blocked of ordered", blocked, BLOCKED)

    @named("ordered")
    def schedule(view: View) -> Starts:
        queue = fitting(view)
        if len(queue) and blocked != "skip":
            queue = np.array(view.queue, dtype=np.int64)
        return BLOCKED[blocked](
            view, queue[ORDERS[by](view, queue).argsort(kind="stable")].tolist()
        )

    return schedule


class Received:
    """GPU-seconds received per user, weighted by 2^(-t / half_life_s) at age t."""

    def __init__(self, half_life_s: float = inf) -> None:
        self.half_life_s, self._now_s = half_life_s, -inf
        self._ended = defaultdict[int, float](float)  # usage by ended jobs, per user
        self._jobs_ended = 0  # how many of these have been added
        self._view: View | None = None

    def save(self) -> dict[str, Any]:
        """Return the GPU-seconds per user from jobs that have ended until now."""
        view = self._view
        if view is None:
            return {}
        user = known(view.jobs.user)
        seen = {*user[view.queue].tolist(), *self.by_user(view, user)}
        ended = [[number, self._ended[number]] for number in sorted(seen)]
        return {"now_s": self._now_s, "ended": ended}

    def restore(self, memory: dict[str, Any]) -> None:
        """Continue from a state that `save` returned."""
        self._now_s = memory.get("now_s", self._now_s)
        self._ended.update(memory.get("ended", ()))

    def by_user(self, view: View, user: Ints) -> defaultdict[int, float]:
        """Return the GPU-seconds of each user who received some; user: of each job."""
        self._view = view
        now_s, since_s = view.now_s, self._now_s
        for key in self._ended:
            self._ended[key] *= 0.5 ** ((now_s - since_s) / self.half_life_s)
        ended = sorted(view.ended(self._jobs_ended))
        run_s, end_s = view.jobs.run_s[ended], view.jobs.end_s[ended]
        self._add(self._ended, view, user, ended, run_s, now_s - end_s)
        self._jobs_ended += len(ended)
        self._now_s, received = now_s, self._ended.copy()
        # without the GPUs that are only supposed to be in use
        running = [run for run in view.running.values() if run.job >= 0]
        run_s = now_s - np.array([run.start_s for run in running])
        self._add(received, view, user, [run.job for run in running], run_s)
        return received

    def _add(
        self,
        received: dict[int, float],
        view: View,
        user: Ints,
        jobs: list[int],
        run_s: Floats,
        ago_s: Floats | float = 0.0,
    ) -> None:
        """Add the decayed GPU-seconds of runs that ended `ago_s` seconds ago."""
        if not jobs:
            return
        if self.half_life_s < inf:
            rate = log(2) / self.half_life_s
            run_s = np.exp(-rate * ago_s) * -np.expm1(-rate * run_s) / rate
        users = user[jobs].astype(np.intp)
        gpu_s = np.bincount(users, view.jobs.gpus[jobs] * run_s)
        for number in np.unique(users).tolist():
            received[number] += float(gpu_s[number])

    def shares(self, view: View, user: Ints, queue: Ints) -> Floats:
        """Return Slurm's fair-share factor 2^(-U / S) per user; user: of each job."""
        used = self.by_user(view, user)
        seen = {*user[queue].tolist(), *used}
        usage = np.array([used[number] for number in range(max(seen, default=0) + 1)])
        return np.asarray(0.5 ** (usage / (usage.sum() or 1.0) * len(seen)))


class LeastAttained:
    """Least attained service by user, in GPU-seconds, without preemption.

    Tiresias, which the paper cites, ranks jobs and preempts; this variant is ours.
    """

    __name__ = "las"
    needs = ("user",)

    def __init__(self) -> None:
        self._received = Received()
        self.save, self.restore = self._received.save, self._received.restore

    def __call__(self, view: View) -> Starts:
        user = known(view.jobs.user)
        by_user = self._received.by_user(view, user)
        return start_by(
            view, lambda jobs: np.array([by_user[of] for of in user[jobs].tolist()])
        )


BATCHES = (3, 4, 5)  # jobs, as in the authors' program


def at_least_one(gpus: Ints) -> Ints:
    """Return numbers of GPUs, at least 1: the efficiency of jobs on cores alone."""
    return np.maximum(gpus, 1)


@checked
def sbs(
    capacity: Count = 8,
    least_similarity: Fraction = 0.8,
    time_unit_s: Positive = 3600.0,
) -> Scheduler:
    """Smart batch: the first job of the best batch of fitting jobs, or a single job.

    A batch is 3 to 5 jobs of a family that are consecutive in its queue. It is feasible
    if the sum of g is at most `capacity` and its similarity, 1 / (1 + Var t + Var g),
    at least `least_similarity`; its score is efficiency x similarity, with efficiency =
    sum of iterations / (sum of g x max t). Without a feasible batch, the single job
    with the highest efficiency / (1 + g / 4) / (1 + t / 3600) starts. Jobs on cores
    alone count as jobs of 1 GPU. time_unit_s: unit of t in its variance; one hour is
    our choice. With 1 s, as in the authors' program, hardly any batch reaches 0.8, and
    the program ignores the threshold (least_similarity=0). cluster-schedulers.txt
    Section V.C.
    """

    @named("sbs", "iterations", "family")
    def schedule(view: View) -> Starts:
        return start_chosen(
            view,
            lambda fits: best_job(
                view.jobs, fits, capacity, least_similarity, time_unit_s
            ),
        )

    return schedule


def best_job(
    jobs: Arrived,
    queue: Ints,
    capacity: int,
    least_similarity: float,
    time_unit_s: float,
) -> int:
    """Return the first job of the best feasible batch, or else the best single job."""
    family, iterations = known(jobs.family), known(jobs.iterations)
    gpus, time_s = at_least_one(jobs.gpus[queue]), jobs.estimate_s[queue]
    alone = iterations[queue] / (gpus * time_s) / (1 + gpus / 4) / (1 + time_s / 3600)
    job, best_score = int(queue[np.argmax(alone)]), 0.0
    by_family = queue[np.argsort(family[queue], kind="stable")]
    for size in (size for size in BATCHES if size <= len(queue)):
        batches = sliding_window_view(by_family, size)
        batches = batches[family[batches[:, 0]] == family[batches[:, -1]]]
        gpus, time_s = at_least_one(jobs.gpus[batches]), jobs.estimate_s[batches]
        efficiency = iterations[batches].sum(axis=1) / (
            gpus.sum(axis=1) * time_s.max(axis=1)
        )
        similarity = 1 / (1 + (time_s / time_unit_s).var(axis=1) + gpus.var(axis=1))
        feasible = (gpus.sum(axis=1) <= capacity) & (similarity >= least_similarity)
        score = np.where(feasible, efficiency * similarity, 0.0)
        if score.max(initial=0.0) > best_score:
            job, best_score = int(batches[np.argmax(score), 0]), score.max()
    return job


@checked
def hps(
    aging_threshold_s: NotNegative = 300.0,
    aging_boost: AtLeastOne = 2.0,
    max_wait_s: Positive = 1800.0,
    monotone: bool = False,
) -> Scheduler:
    """Hybrid priority: the largest score first, score = Base x Aging x Penalty.

    Base = 1 / (1 + t / 3600), Penalty = 1 / (1 + g / 4); Aging: see `hps_aging`. Aging
    is at most the boost, and nothing is reserved, so waits are not bounded, contrary to
    the paper. aging_threshold_s: wait above which aging applies. aging_boost: greatest
    aging, reached at max_wait_s. monotone: aging never decreases (ours).
    cluster-schedulers.txt Section V.A; formulas from the authors' program.
    """
    require(
        max_wait_s > aging_threshold_s,
        "max_wait_s",
        max_wait_s,
        f"a number > {aging_threshold_s:g}",
    )

    @named("hps")
    def schedule(view: View) -> Starts:
        columns = view.jobs

        def last(jobs: Ints) -> Floats:
            aging = hps_aging(
                view.now_s - columns.arrival_s[jobs],
                aging_threshold_s,
                aging_boost,
                max_wait_s,
                monotone,
            )
            base = 1 / (1 + columns.estimate_s[jobs] / 3600)
            return np.asarray(-base * aging / (1 + columns.gpus[jobs] / 4))

        return start_by(view, last)

    return schedule


def hps_aging(
    wait_s: Floats, threshold_s: float, boost: float, max_wait_s: float, monotone: bool
) -> Floats:
    """Return the factor of a wait w: 1 up to the threshold, then boost x min(w / m, 1).

    m is max_wait_s. Just past the threshold the factor is below 1 (0.33 by default),
    until w = m / boost. The monotone form, which is ours, increases linearly from the
    threshold on.
    """
    if monotone:
        return 1 + (boost - 1) * np.clip(
            (wait_s - threshold_s) / (max_wait_s - threshold_s), 0, 1
        )
    return np.where(
        wait_s > threshold_s, boost * np.minimum(wait_s / max_wait_s, 1), 1.0
    )


@checked
def adaptive(
    efficiency: NotNegative = 0.4,
    fairness: NotNegative = 0.3,
    resources: NotNegative = 0.3,
    short_queue: Whole = 5,
    long_queue: Whole = 20,
    shift: AtLeastOne = 2.0,
) -> Scheduler:
    """The multi-factor scheduler that the paper abandoned: a weighted sum of scores.

    The paper gives no formula, so all numbers are ours. efficiency, fairness,
    resources: weights of `scores_of_queue`. The weight of efficiency is multiplied by
    `shift` while more than `long_queue` jobs wait, that of fairness while at most
    `short_queue` wait. cluster-schedulers.txt Section III.D.
    """
    weights = {"efficiency": efficiency, "fairness": fairness, "resources": resources}
    require(
        long_queue >= short_queue,
        "long_queue",
        long_queue,
        f"a whole number >= {short_queue}",
    )

    @named("adaptive")
    def schedule(view: View) -> Starts:
        queue = view.queue
        many, few = len(queue) > long_queue, len(queue) <= short_queue
        shifts = (shift if many else 1.0, shift if few else 1.0, 1.0)
        signed = -np.multiply(shifts, list(weights.values()))
        return start_by(
            view, lambda fits: (signed @ scores_of_queue(view))[np.isin(queue, fits)]
        )

    return schedule


def scores_of_queue(view: View) -> Floats:
    """Return scores of the waiting jobs from 0 (worst) to 1, of shape (3, waiting).

    Efficiency: a low GPU time t g. Fairness: a long wait. Resources: a low product of
    g and 1 + the number of GPUs that stay free on its nodes. Formulas ours, after
    Section III.D.
    """
    jobs, waiting, idle = view.jobs, view.queue, view.idle()

    def left(need: Any) -> int:
        """Return the GPUs left free on the nodes; without room, the largest node's."""
        place = view.room(need)
        if place is None:
            return max(view.sizes)
        return sum(idle[node] - taken for node, taken in place if node < len(idle))

    needs = [view.needs[job] for job in waiting]
    by_need = {need: left(need) for need in {*needs}}
    cost = jobs.estimate_s[waiting] * jobs.gpus[waiting]
    room = jobs.gpus[waiting] * (1 + np.array([by_need[need] for need in needs]))
    scores = np.array([-cost, view.now_s - jobs.arrival_s[waiting], -room])
    least = scores.min(axis=1, keepdims=True)
    spread = np.ptp(scores, axis=1, keepdims=True)
    return np.asarray((scores - least) / np.where(spread, spread, 1.0))


@checked
def pbs(
    mode: str = "program",
    pairs: bool = False,
    threshold: NotNegative = 0.1,
    small_gpus: Count = 2,
    medium_s: NotNegative = 3600.0,
    tolerance: NotNegative = 0.2,
) -> Scheduler:
    """Predictive backfill: the most efficient job that fits if it excels, or else
    rules.

    Efficiency is iterations / (g t); a job on cores alone counts as one of 1 GPU. The
    rules, in order: the shortest job with at most `small_gpus`; the job with fewest
    GPUs and t below `medium_s`; the shortest job.
    mode: when the best job excels. "program": its efficiency exceeds `threshold`, as in
    the authors' program; "text": it exceeds the next by at least this share. pairs:
    start the best pairs first (`best_pair`); the authors' program never calls its
    function for that. tolerance: greatest difference of t in a pair over the longer t;
    ours. cluster-schedulers.txt Section V.B; numbers from the authors' program.
    """
    check_one_of("mode of pbs", mode, ("program", "text"))

    @named("pbs", "iterations")
    def schedule(view: View) -> Starts:
        while pairs and (pair := best_pair(view, tolerance)):
            yield from start_in_order(view, pair)
        yield from start_chosen(view, lambda fits: choose(view.jobs, fits))

    def choose(jobs: Arrived, fits: Ints) -> int:
        gpus, time_s = at_least_one(jobs.gpus[fits]), jobs.estimate_s[fits]
        efficiency = known(jobs.iterations)[fits] / (gpus * time_s)
        *_, second, most = 0.0, *np.sort(efficiency)
        stands_out = (
            most > threshold if mode == "program" else most >= (1 + threshold) * second
        )
        rules = (  # (candidates, key)
            (np.full(len(fits), stands_out), -efficiency),
            (gpus <= small_gpus, time_s),
            (time_s < medium_s, gpus),
            (np.full(len(fits), True), time_s),
        )
        candidates, key = next(rule for rule in rules if rule[0].any())
        return int(fits[np.argmin(np.where(candidates, key, np.inf))])

    return schedule


def best_pair(view: View, tolerance: float) -> tuple[int, int] | None:
    """Return the pair with the largest (it1 + it2) / (g1 t1 + g2 t2), or None.

    it: iterations. The older job is first. One node must have room for both. |t1 - t2|
    <= tolerance (ours) x max(t1, t2).
    """
    room = max(view.idle())
    fits = fitting(view)
    fits = fits[view.jobs.gpus[fits] < room]
    gpus = at_least_one(view.jobs.gpus[fits])
    time_s = view.jobs.estimate_s[fits]
    work = known(view.jobs.iterations)[fits]
    first, second = np.triu_indices(len(fits), 1)
    longer_s = np.maximum(time_s[first], time_s[second])
    will_do = (gpus[first] + gpus[second] <= room) & (
        np.abs(time_s[first] - time_s[second]) <= tolerance * longer_s
    )
    if not will_do.any():
        return None
    first, second, gpu_s = first[will_do], second[will_do], gpus * time_s
    best = np.argmax((work[first] + work[second]) / (gpu_s[first] + gpu_s[second]))
    return int(fits[first[best]]), int(fits[second[best]])


class Multifactor:
    """Slurm's multifactor priority; jobs start by it as EASY starts them by arrival.

    Priority = age min(w / max_age, 1) + size g / G + fairshare 2^(-U / S) + qos Q. w:
    wait; g / G: share of the GPUs, or 1 - g / G if small jobs are favoured; U: the
    user's share of the GPU-seconds that all users have received, which decay; S: 1 over
    the number of users so far; Q: priority of the QOS relative to the highest.

    age, size, fairshare, qos: weights >= 0 (PriorityWeightAge, ...; Slurm's defaults
    are 0, these are ours). max_age_s, half_life_s: PriorityMaxAge,
    PriorityDecayHalfLife, seconds, with Slurm's defaults. favor_small:
    PriorityFavorSmall. depth: see easy (bf_max_job_test). Source: Slurm documentation,
    "Multifactor Priority Plugin" and "Classic Fairshare Algorithm" with a damping
    factor of 1, without accounts, partitions and nice values.
    """

    __name__ = "multifactor"

    @checked
    def __init__(
        self,
        age: NotNegative = 1000.0,
        size: NotNegative = 1000.0,
        fairshare: NotNegative = 1000.0,
        qos: NotNegative = 0.0,
        max_age_s: Positive = 604_800.0,
        half_life_s: Positive = 604_800.0,
        favor_small: bool = False,
        depth: Whole = 0,
    ) -> None:
        self.weights = {"age": age, "size": size, "fairshare": fairshare, "qos": qos}
        self.max_age_s, self.favor_small, self.depth = max_age_s, favor_small, depth
        self.needs = ("user",) * bool(fairshare) + ("qos",) * bool(qos)
        self._received = Received(half_life_s)
        self.save, self.restore = self._received.save, self._received.restore

    def __call__(self, view: View) -> Starts:
        queue = np.array(view.queue, dtype=np.int64)
        order = queue[np.argsort(-self.priority(view, queue), kind="stable")]
        return easy_in_order(view, order.tolist(), self.depth)

    def priority(self, view: View, queue: Ints) -> Floats:
        """Return the priorities of the waiting jobs in `queue`."""
        jobs, weights = view.jobs, self.weights
        share = jobs.gpus[queue] / sum(view.sizes)
        age = np.minimum((view.now_s - jobs.arrival_s[queue]) / self.max_age_s, 1)
        size = 1 - share if self.favor_small else share
        priority = weights["age"] * age + weights["size"] * size
        if weights["fairshare"]:
            user = known(jobs.user)
            shares = self._received.shares(view, user, queue)
            priority += weights["fairshare"] * shares[user[queue]]
        if weights["qos"]:
            priority += weights["qos"] * known(jobs.qos)[queue]
        return np.asarray(priority)


# Schedulers, and factories of those with parameters or state.
SCHEDULERS: dict[str, Callable[..., Any]] = {
    "fifo": fifo,
    "fifo-skip": fifo_skip,
    "sjf": sjf,
    "shortest": shortest,
    "shortest-gpu": shortest_gpu,
    "ordered": ordered,
    "adaptive": adaptive,
    "hps": hps,
    "pbs": pbs,
    "sbs": sbs,
    "easy": easy,
    "conservative": Conservative,
    "las": LeastAttained,
    "multifactor": Multifactor,
}

COMPARED = ("fifo", "sjf", "shortest", "shortest-gpu", "hps", "pbs", "sbs", "easy")
"""Names of the schedulers that are compared by default."""


def make_scheduler(scheduler: str | Scheduler) -> Scheduler:
    """Make a scheduler from a string; a callable is returned unchanged.

    scheduler: as in "easy", "hps:monotone=true,aging_boost=3", "own.py:widest_first".
    Raises InputError for an unknown name, parameter or file, or a wrong value.
    """
    return chosen("scheduler", scheduler, SCHEDULERS)
