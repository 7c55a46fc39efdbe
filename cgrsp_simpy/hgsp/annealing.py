"""Two searches by simulated annealing: SAGreedy, over orders of tasks (hgsp.txt Section III.C),
and ours, over the sequences of the GPUs, in which tasks are moved and swapped.

SAGreedy evaluates each order by greedy assignment, in two readings: its neighbour puts late tasks
at the front of the order, before tasks that arrive long before them, and the text can be read in
two ways as to what greedy assignment (Section III.B) makes of a task that is put in front of the
queue and has not arrived:

- "For each task i in order", with c_ij = max(a_i, avail_j) + L_i / v_j and avail_j the time at
  which GPU j finishes what it has been assigned: the task takes a GPU at once, and blocks it until
  the task arrives and has run (`greedy_assignment`).
- "At any scheduling decision point", "tasks arrive dynamically" (Section III): only tasks that have
  arrived are in the queue, and the order says which of them goes first; the task blocks nothing
  before it arrives (`greedy_as_they_arrive`).

In order of arrival both give Greedy's schedule, from which the search starts.
"""

from __future__ import annotations

import math
import time
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.rules import RULES, dispatch
from cgrsp_simpy.hgsp.schedule import Schedule, from_sequences, greedy_assignment
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.model.streams import stream

ROUNDS = 10  # each after the first starts from the best so far, reheated
# first temperature of a round, of the mean weighted tardiness of the start's late tasks, unless
# that is far too hot
HOT = 0.1
COLD = 0.01  # its last temperature, of its first
SAMPLE = 1000  # moves that are tried to see what is too hot
BATCH = 100  # moves at one temperature
MOST_STEPS = 1000  # of the course that is reported

Change = tuple[int, int, list[int], int]
"""On a GPU, from a position on: these tasks come instead of the so many that are there."""


class Sequences:
    """The tasks of each GPU in order, each as early as it can be, with finish times and weighted
    tardiness up to each position.

    finish_s[j][k], late[j][k]: of the first k tasks of GPU j; so the first entries are when the GPU
    is there, and 0.
    """

    def __init__(self, instance: Instance, sequences: Sequence[Sequence[int]]) -> None:
        self._tasks = list(
            zip(instance.arrival_s.tolist(), instance.deadline_s.tolist(), instance.weight.tolist())
        )
        self.times_s = instance.times_s.T.tolist()
        self.tasks = [list(sequence) for sequence in sequences]
        self.finish_s = [[free_s] for free_s in instance.free_s.tolist()]
        self.late = [[0.0] for _ in sequences]
        for j in range(len(self.tasks)):
            self._time(j, 0)

    @property
    def objective(self) -> float:
        """Total weighted tardiness (hgsp.txt Eq. 1)."""
        return sum(late[-1] for late in self.late)

    def _time(self, j: int, first: int) -> None:
        """Work out finish times and tardiness of a GPU from a position on."""
        finish_s, late, times_s = self.finish_s[j], self.late[j], self.times_s[j]
        del finish_s[first + 1 :], late[first + 1 :]
        now_s, sum_late = finish_s[first], late[first]
        for task in self.tasks[j][first:]:
            arrival_s, deadline_s, weight = self._tasks[task]
            now_s = (now_s if now_s > arrival_s else arrival_s) + times_s[task]
            if now_s > deadline_s:
                sum_late += weight * (now_s - deadline_s)
            finish_s.append(now_s)
            late.append(sum_late)

    def worsening(self, change: Change) -> float:
        """By how much a change raises the objective; only what it moves in time is looked at."""
        j, first, new, old = change
        finish_s, late, times_s, tasks = (
            self.finish_s[j],
            self.late[j],
            self.times_s[j],
            self._tasks,
        )
        now_s, sum_late = finish_s[first], 0.0
        for task in new:
            arrival_s, deadline_s, weight = tasks[task]
            now_s = (now_s if now_s > arrival_s else arrival_s) + times_s[task]
            if now_s > deadline_s:
                sum_late += weight * (now_s - deadline_s)
        place = first + old
        if now_s != finish_s[place]:
            for task in self.tasks[j][place:]:
                arrival_s, deadline_s, weight = tasks[task]
                now_s = (now_s if now_s > arrival_s else arrival_s) + times_s[task]
                if now_s > deadline_s:
                    sum_late += weight * (now_s - deadline_s)
                place += 1
                if now_s == finish_s[place]:
                    break  # from here on all is as it was
        return sum_late - (late[place] - late[first])

    def make(self, change: Change) -> None:
        """Carry out a change."""
        j, first, new, old = change
        self.tasks[j][first : first + old] = new
        self._time(j, first)


class _Moves:
    """Random moves: a task to another position, or two swapped, on the same GPU; a task or a
    stretch between two GPUs.
    """

    def __init__(self, state: Sequences, rng: Random) -> None:
        self._state, self._random, self._gpus = state, rng.random, len(state.tasks)

    def __call__(self) -> list[Change]:
        """The changes that a move is made of; none if what was drawn is no move."""
        random, tasks = self._random, self._state.tasks
        j = int(random() * self._gpus)
        own = tasks[j]
        if not own:
            return []
        place = int(random() * len(own))
        if self._gpus == 1 or random() < 0.5:
            return self._within(j, own, place)
        other = (j + 1 + int(random() * (self._gpus - 1))) % self._gpus
        return self._between(j, place, other)

    def _within(self, j: int, own: list[int], place: int) -> list[Change]:
        to = int(self._random() * len(own))
        if to == place:
            return []
        first, last = (place, to) if place < to else (to, place)
        new = own[first : last + 1]
        if self._random() < 0.5:
            new[0], new[-1] = new[-1], new[0]
        elif place < to:
            new.append(new.pop(0))
        else:
            new.insert(0, new.pop())
        return [(j, first, new, len(new))]

    def _between(self, j: int, place: int, other: int) -> list[Change]:
        tasks, times_s, random = self._state.tasks, self._state.times_s, self._random
        own, theirs = tasks[j], tasks[other]
        to = int(random() * (len(theirs) + 1))
        if random() < 0.5:
            out, back = 1, int(random() * 2)
        else:  # a length of each order of magnitude is as likely
            out, back = (
                int((len(own) - place + 1) ** random()),
                int((len(theirs) - to + 1) ** random()),
            )
        going, coming = own[place : place + out], theirs[to : to + back]
        if any(times_s[other][task] == math.inf for task in going) or any(
            times_s[j][task] == math.inf for task in coming
        ):
            return []
        return [(j, place, coming, len(going)), (other, to, going, len(coming))]


def anneal(
    instance: Instance,
    seed: int = 0,
    *,
    moves: int | None = None,
    time_budget_s: float | None = None,
) -> tuple[Schedule, list[Iteration]]:
    """The best schedule found, and the course of the search; never worse than Greedy or a dispatch
    rule, from which it starts.

    moves: how many are tried, for an answer that is the same each time. time_budget_s: seconds
    until it stops. Of both, what comes first. Raises InputError if neither is given.
    """
    if moves is None and time_budget_s is None:
        raise InputError("the annealing needs moves or a time budget")
    begin = time.perf_counter()
    starts = [
        greedy_assignment(instance, range(instance.tasks)),
        *(dispatch(instance, rule) for rule in RULES.values()),
    ]
    start = min(starts, key=lambda schedule: schedule.weighted_tardiness)

    def spent(done: int) -> float:
        by_moves = done / moves if moves else 0.0
        return max(
            by_moves, (time.perf_counter() - begin) / time_budget_s if time_budget_s else 0.0
        )

    rng = Random(int.from_bytes(stream(seed, "annealing").bytes(16)))
    sequences, course = _search(start, rng, spent)
    found = from_sequences(instance, sequences)
    return min(found, start, key=lambda schedule: schedule.weighted_tardiness), course


def _search(
    start: Schedule, rng: Random, spent: Callable[[int], float]
) -> tuple[list[list[int]], list[Iteration]]:
    best, least = start.sequences(), start.weighted_tardiness
    hot = min(HOT * least / max(1, (start.tardiness_s > 0).sum()), _small_worsening(start, rng))
    course, done, share = [Iteration(0, hot, least, least)], 0, 0.0
    for number in range(ROUNDS):
        state = Sequences(start.instance, best)
        move, value = _Moves(state, rng), least
        while least > 0 and (share := spent(done)) < (number + 1) / ROUNDS:
            temperature = hot * COLD ** (share * ROUNDS - number)
            for _ in range(BATCH):
                changes = move()
                worsening = sum([state.worsening(change) for change in changes])
                if worsening <= 0 or rng.random() < math.exp(-worsening / temperature):
                    for change in changes:
                        state.make(change)
                    value += worsening
                    if value < least - 1e-9 * (1 + least):
                        best, least = [tasks.copy() for tasks in state.tasks], value
            done += BATCH
            course.append(Iteration(done, temperature, value, least))
    return best, course[:: 1 + len(course) // MOST_STEPS] + course[-1:]


def _small_worsening(start: Schedule, rng: Random) -> float:
    """What one in twenty of the random moves that worsen the start stays below."""
    state = Sequences(start.instance, start.sequences())
    move = _Moves(state, rng)
    tried = (sum(state.worsening(change) for change in move()) for _ in range(SAMPLE))
    worse = sorted(worsening for worsening in tried if worsening > 0)
    return worse[len(worse) // 20] if worse else math.inf


INITIAL, COOLING, ITERATIONS = 1000.0, 0.95, 100  # T_initial, alpha, K; Section IV.A
LEAST = INITIAL * COOLING**ITERATIONS  # T_min is not printed: what the schedule ends at
LEAST_RATIO, MOST_RATIO = 0.1, 0.8

Assign = Callable[[Instance, Iterable[int]], Schedule]
"""From an instance and the order of its tasks to a schedule."""


@dataclass(frozen=True)
class Iteration:
    """One step of a search. objective: of the solution that it goes on from. best: least so far."""

    iteration: int
    temperature: float
    objective: float
    best: float


def greedy_as_they_arrive(instance: Instance, order: Iterable[int]) -> Schedule:
    """Decide whenever a task arrives or a GPU falls idle: greedy assignment of the tasks that have
    arrived, in a given order.

    A task whose earliest finish is on an idle GPU starts; one that would end sooner on a busy
    GPU waits for that, and those after it count with it. What waits is decided anew at the next
    decision. order: indices of all tasks.
    """
    rank = {task: place for place, task in enumerate(order)}
    n, arrivals, times = instance.tasks, instance.arrival_s.tolist(), instance.times_s.tolist()
    gpu, start, finish = [0] * n, [0.0] * n, [0.0] * n
    free_s, queue, coming, now_s = instance.free_s.tolist(), list[tuple[int, int]](), 0, 0.0
    while coming < n or queue:
        ends_s = [end_s for end_s in free_s if end_s > now_s] if queue else []
        # nothing starts before a GPU is idle
        now_s = max(min(ends_s + arrivals[coming : coming + 1]), min(free_s))
        while coming < n and arrivals[coming] <= now_s:
            insort(queue, (rank[coming], coming))
            coming += 1
        for task, j, finish_s in _start(queue, times, free_s, now_s):
            gpu[task], start[task], finish[task], free_s[j] = j, now_s, finish_s, finish_s
    return Schedule(instance, np.array(gpu), np.array(start), np.array(finish))


def _start(
    queue: list[tuple[int, int]], times: list[list[float]], free_s: list[float], now_s: float
) -> list[tuple[int, int, float]]:
    """Take out of a queue of (rank, task) what starts now: task, GPU and finish of each.

    free_s: when each GPU falls idle.
    """
    planned_s, place, started = [max(now_s, end_s) for end_s in free_s], 0, []
    while place < len(queue) and now_s in planned_s:
        task = queue[place][1]
        finish_s, j = min([(planned_s[j] + time_s, j) for j, time_s in enumerate(times[task])])
        if planned_s[j] == now_s:
            started.append((task, j, finish_s))
            del queue[place]
        else:
            place += 1
        planned_s[j] = finish_s
    return started


def sagreedy(
    instance: Instance,
    seed: int = 0,
    iterations: int = ITERATIONS,
    assign: Assign = greedy_assignment,
) -> tuple[Schedule, list[Iteration]]:
    """The best schedule of a run, and its course; never worse than Greedy, from which it starts.

    assign: what evaluates an order, `greedy_assignment` or `greedy_as_they_arrive`.
    """
    rng = Random(int.from_bytes(stream(seed, "sagreedy").bytes(16)))
    order, temperature = np.arange(instance.tasks), INITIAL
    current = best = assign(instance, order.tolist())
    value = least = current.weighted_tardiness
    course = [Iteration(0, temperature, value, least)]
    for iteration in range(1, iterations + 1):
        neighbour = _neighbour(order, current, temperature)
        found = assign(instance, neighbour.tolist())
        worse = found.weighted_tardiness - value
        if worse <= 0 or rng.random() < math.exp(-worse / temperature):
            order, current, value = neighbour, found, found.weighted_tardiness
        if value < least:
            best, least = current, value
        course.append(Iteration(iteration, temperature, value, least))
        temperature *= COOLING
    return best, course


def _neighbour(order: np.ndarray, schedule: Schedule, temperature: float) -> np.ndarray:
    """The worst of the tardy tasks to the front, by weighted tardiness; the others
    stay in order.
    """
    weighted = schedule.instance.weight * schedule.tardiness_s
    tardy = int((schedule.tardiness_s > 0).sum())
    ratio = min(MOST_RATIO, max(LEAST_RATIO, (temperature - LEAST) / (INITIAL - LEAST)))  # Eq. 15
    first = np.argsort(-weighted, kind="stable")[: math.floor(ratio * tardy)]
    return np.concatenate([first, order[~np.isin(order, first)]])
