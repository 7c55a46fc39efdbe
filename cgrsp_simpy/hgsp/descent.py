"""Inner loops of both searches: descent by moves, kicks, and insertion into gaps.

Compiled, with arrays instead of lists, if possible; see `cgrsp_simpy.base.compiled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from cgrsp_simpy.base.compiled import compiled

NEAR = 8  # positions around a change that are examined again; also reach of kicks
KICKS = 10  # maximum number of random moves before a descent
PER_KICK = 4  # random numbers
PER_ROUND = 2 + KICKS * PER_KICK
ROUNDING = 1e-12  # relative error of sums in another order
NONE = -1  # instead of a task, or of a GPU


Jobs = Sequence[Sequence[float]]
"""Per task: arrival, deadline, weight, and time on one GPU."""


class State(NamedTuple):
    """A schedule: the tasks of each GPU in order, each run as early as possible.

    jobs[j]: Jobs of GPU j. tasks[j][k]: task k of its size[j] tasks. finish_s[j][k],
    late[j][k]: end and weighted tardiness of its first k tasks. gpu, place: GPU and
    position per task. queue: ring buffer of tasks to examine. waits: whether a task is
    in it. ends: numbers removed and added.
    """

    jobs: Sequence[Jobs]
    tasks: Sequence[list[int]]
    finish_s: Sequence[list[float]]
    late: Sequence[list[float]]
    size: list[int]
    gpu: list[int]
    place: list[int]
    queue: list[int]
    waits: list[int]
    ends: list[int]


@compiled
def then(jobs: Jobs, task: int, now_s: float, late: float) -> tuple[float, float]:
    """Return the next task's end and the tardiness including it (Eq. 1, 4, 5)."""
    arrival_s, deadline_s, weight, time_s = jobs[task]
    end_s = (now_s if now_s > arrival_s else arrival_s) + time_s
    if end_s > deadline_s:
        late += weight * (end_s - deadline_s)
    return end_s, late


@compiled
def worsening(
    jobs: Jobs,
    tasks: list[int],
    finish_s: list[float],
    late: list[float],
    size: int,
    change: tuple[int, int, int, int, int, int],
    most: float,
) -> float:
    """Return the increase of a GPU's weighted tardiness by a change.

    change: (first, head, begin, end, tail, on): from position `first`, the GPU then
    runs task `head`, the tasks at positions begin to end - 1, task `tail`, and the
    tasks from position `on`; head and tail may be NONE. Returns infinity if the
    increase is certainly `most` or more.
    """
    first, head, begin, end, tail, on = change
    now_s, sum_late = finish_s[first], late[first]
    if head != NONE:
        now_s, sum_late = then(jobs, head, now_s, sum_late)
    for k in range(begin, end):
        now_s, sum_late = then(jobs, tasks[k], now_s, sum_late)
    if tail != NONE:
        now_s, sum_late = then(jobs, tail, now_s, sum_late)
    for k in range(on, size):
        delay_s = now_s - finish_s[k]
        if abs(delay_s) <= ROUNDING * now_s:
            return sum_late - late[k]
        if sum_late - late[k if delay_s > 0 else size] >= most:
            return inf
        now_s, sum_late = then(jobs, tasks[k], now_s, sum_late)
    return sum_late - late[size]


@compiled
def retime(state: State, j: int, first: int, last: int) -> None:
    """Recompute GPU j from position `first`, and queue the tasks near the change."""
    tasks = state.tasks[j]
    finish_s = state.finish_s[j]
    late = state.late[j]
    size = state.size[j]
    for k in range(first, size):
        task = tasks[k]
        finish_s[k + 1], late[k + 1] = then(state.jobs[j], task, finish_s[k], late[k])
        state.gpu[task], state.place[task] = j, k
    for k in range(max(0, first - NEAR), min(size, last + NEAR + 1)):
        if not state.waits[tasks[k]]:
            state.waits[tasks[k]] = 1
            state.queue[state.ends[1] % len(state.queue)] = tasks[k]
            state.ends[1] += 1


@compiled
def move(state: State, task: int, j: int, k: int, swap: bool) -> None:
    """Move a task to position k of GPU j; swap it with the task there or insert it."""
    source, was = state.gpu[task], state.place[task]
    here, there = state.tasks[source], state.tasks[j]
    if swap:
        here[was], there[k] = there[k], task
    else:
        state.size[source] -= 1
        for place in range(was, state.size[source]):
            here[place] = here[place + 1]
        for place in range(state.size[j], k, -1):
            there[place] = there[place - 1]
        there[k] = task
        state.size[j] += 1
    if source == j:
        retime(state, j, min(was, k), max(was, k))
    else:
        retime(state, source, was, was)
        retime(state, j, k, k)


@compiled
def ended(finish_s: list[float], size: int, at_s: float) -> int:
    """Return how many of a GPU's tasks have ended by a time."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if finish_s[middle + 1] > at_s:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def best_move(
    state: State, task: int, least: float
) -> tuple[float, int, int, bool, int]:
    """Return a task's best move: gain, GPU or NONE, position, swap, moves tried.

    least: gain to exceed. Moves that cannot be better are skipped.
    """
    source, was = state.gpu[task], state.place[task]
    mine = (
        state.jobs[source],
        state.tasks[source],
        state.finish_s[source],
        state.late[source],
    )
    last = state.size[source]
    gain = -worsening(*mine, last, (was, NONE, was, was, NONE, was + 1), inf)
    best, to, at, swaps, tried = -least, NONE, 0, False, 1
    for j in range(len(state.size)):
        finish_s = state.finish_s[j]
        there = (state.jobs[j], state.tasks[j], finish_s, state.late[j])
        arrival_s, deadline_s, weight, time_s = state.jobs[j][task]
        if gain <= least or time_s == inf:
            continue
        size = state.size[j]
        for k in range(ended(finish_s, size, arrival_s), size + (j != source)):
            late_s = max(finish_s[k], arrival_s) + time_s - deadline_s
            if weight * late_s >= best + gain and (j != source or k <= was):
                break
            if j == source and k == was:
                continue
            other = state.tasks[j][k] if k < size else NONE
            swapped = inf
            if j != source:
                inserted = (k, task, k, k, NONE, k)
                moved = worsening(*there, size, inserted, best + gain) - gain
                if other != NONE and state.jobs[source][other][3] < inf:
                    swapped = worsening(
                        *mine, last, (was, other, was, was, NONE, was + 1), inf
                    )
                    replaced = (k, task, k, k, NONE, k + 1)
                    swapped += worsening(*there, size, replaced, best - swapped)
            elif k < was:
                moved = worsening(*mine, last, (k, task, k, was, NONE, was + 1), best)
                swapped = worsening(
                    *mine, last, (k, task, k + 1, was, other, was + 1), best
                )
            else:
                moved = worsening(
                    *mine, last, (was, NONE, was + 1, k + 1, task, k + 1), best
                )
                swapped = worsening(
                    *mine, last, (was, other, was + 1, k, task, k + 1), best
                )
            tried += 2
            if min(moved, swapped) < best:
                best, to, at, swaps = min(moved, swapped), j, k, swapped < moved
    return best, to, at, swaps, tried


@compiled
def descend(state: State, least: float, moves: int) -> int:
    """Make the best move of each queued task; return the number of moves tried."""
    tried = 0
    while state.ends[0] < state.ends[1] and tried < moves:
        task = state.queue[state.ends[0] % len(state.queue)]
        state.ends[0] += 1
        state.waits[task] = 0
        _, j, k, swap, looked = best_move(state, task, least)
        tried += looked
        if j != NONE:
            move(state, task, j, k, swap)
    return tried


@compiled
def kick(state: State, draw: Sequence[float]) -> None:
    """Move random tasks near a late task to other GPUs, or swap them."""
    late = int(draw[1] * len(state.gpu))
    while (
        state.late[state.gpu[late]][state.place[late] + 1]
        <= (state.late[state.gpu[late]][state.place[late]])
    ):
        late = (late + 1) % len(state.gpu)
    for first in range(2, 2 + PER_KICK * (1 + int(draw[0] * KICKS)), PER_KICK):
        source = state.gpu[late]
        least = max(0, state.place[late] - NEAR)
        most = min(state.size[source], state.place[late] + NEAR + 1)
        was = least + int(draw[first] * (most - least))
        task, j = state.tasks[source][was], int(draw[first + 1] * len(state.size))
        swap = draw[first + 2] < 0.5
        middle = ended(state.finish_s[j], state.size[j], state.finish_s[source][was])
        last = state.size[j] - (swap or j == source)
        k = min(last, max(0, middle - NEAR + int(draw[first + 3] * (2 * NEAR + 1))))
        if (j == source and k == was) or k < 0 or state.jobs[j][task][3] == inf:
            continue
        if not swap or state.jobs[source][state.tasks[j][k]][3] < inf:
            move(state, task, j, k, swap)


@compiled
def objective(state: State) -> float:
    """Return the total weighted tardiness (hgsp.txt Eq. 1)."""
    total = 0.0
    for j in range(len(state.size)):
        total += state.late[j][state.size[j]]
    return total


@compiled
def copy(source: State, target: State) -> None:
    """Copy a state except its queue."""
    for j in range(len(source.size)):
        target.size[j] = source.size[j]
        for k in range(source.size[j]):
            task = source.tasks[j][k]
            target.tasks[j][k], target.gpu[task], target.place[task] = task, j, k
            target.finish_s[j][k + 1] = source.finish_s[j][k + 1]
            target.late[j][k + 1] = source.late[j][k + 1]


@compiled
def rounds(
    state: State, best: State, draws: Sequence[Sequence[float]], moves: int
) -> tuple[int, int]:
    """Per row of random numbers: descend, restore the best state if worse, and kick.

    Stops after `moves` moves or if no task is late. Returns the rows and moves used.
    """
    tried = 0
    for row in range(len(draws)):
        least = 1e-9 * (1 + objective(best))
        tried += descend(state, least, moves - tried)
        if state.ends[0] < state.ends[1]:
            return row, tried
        if objective(state) <= objective(best):
            copy(state, best)
        else:
            copy(best, state)
        if objective(best) <= least or tried >= moves:
            return row, tried
        kick(state, draws[row])
        tried += 1
    return len(draws), tried


# ---- insertion, of SAGreedy ----


class Gaps(NamedTuple):
    """Free times of GPUs: GPU j's gap k is from opens[j][k] to closes[j][k].

    number[j]: number of gaps, the last endless. shortest_s[j]: shortest gap kept.
    """

    opens: Sequence[list[float]]
    closes: Sequence[list[float]]
    number: list[int]
    shortest_s: Sequence[float]


@compiled
def gap_for(gaps: Gaps, j: int, arrival_s: float, time_s: float) -> tuple[int, float]:
    """Return the earliest gap of GPU j for a task, and the task's start there."""
    opens, closes, low, high = gaps.opens[j], gaps.closes[j], 0, gaps.number[j] - 1
    while low < high:
        middle = (low + high) // 2
        if closes[middle] >= arrival_s + time_s:
            high = middle
        else:
            low = middle + 1
    while (opens[low] if opens[low] > arrival_s else arrival_s) + time_s > closes[low]:
        low += 1
    return low, opens[low] if opens[low] > arrival_s else arrival_s


@compiled
def take(gaps: Gaps, j: int, k: int, start_s: float, finish_s: float) -> None:
    """Remove a run from GPU j's gap k."""
    opens, closes, number = gaps.opens[j], gaps.closes[j], gaps.number[j]
    before = start_s - opens[k] >= gaps.shortest_s[j]
    behind = closes[k] - finish_s >= gaps.shortest_s[j]
    if before and behind:
        for place in range(number, k, -1):
            opens[place], closes[place] = opens[place - 1], closes[place - 1]
        opens[k + 1], closes[k], gaps.number[j] = finish_s, start_s, number + 1
    elif before:
        closes[k] = start_s
    elif behind:
        opens[k] = finish_s
    else:
        for place in range(k, number - 1):
            opens[place], closes[place] = opens[place + 1], closes[place + 1]
        gaps.number[j] = number - 1


@compiled
def insert(
    order: Sequence[int],
    arrivals_s: Sequence[float],
    times_s: Sequence[Sequence[float]],
    gaps: Gaps,
    gpu: list[int],
    start_s: list[float],
) -> None:
    """Insert each task in turn into the gap in which it ends first."""
    for task in order:
        best_s, chosen, where, begin_s = inf, 0, 0, 0.0
        for j in range(len(times_s[task])):
            if times_s[task][j] < inf:
                k, from_s = gap_for(gaps, j, arrivals_s[task], times_s[task][j])
                if from_s + times_s[task][j] < best_s:
                    best_s = from_s + times_s[task][j]
                    chosen = j
                    where = k
                    begin_s = from_s
        gpu[task], start_s[task] = chosen, begin_s
        take(gaps, chosen, where, begin_s, best_s)
