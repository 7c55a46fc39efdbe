"""A search by simulated annealing over the sequences of the GPUs, in which tasks are moved and
swapped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from random import Random

from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.rules import RULES, dispatch
from cgrsp_simpy.hgsp.sagreedy import Iteration
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
