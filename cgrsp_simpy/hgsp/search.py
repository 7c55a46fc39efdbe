"""Iterated local search: descent by swaps and insertions, kicks, and descent again.

Sources: M. den Besten, T. Stützle, M. Dorigo, "Design of iterated local search
algorithms", EvoWorkshops 2001, 441-451; R. K. Congram, C. N. Potts, S. L. van de Velde,
"An iterated dynasearch algorithm for the single-machine total weighted tardiness
scheduling problem", INFORMS Journal on Computing 14 (2002) 52-67.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.base.parameters import Count, Positive, checked
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.schedule import Iteration, Schedule, best_listed, from_sequences

if TYPE_CHECKING:
    from cgrsp_simpy.hgsp.descent import State

log = logging.getLogger(__name__)

AT_ONCE = 5000  # moves between checks of the clock and steps of the course
ROUNDS = 100  # per draw of random numbers
MOST_STEPS = 1000  # maximum steps of the reported course


@checked
def search(
    instance: Instance,
    seed: int = 0,
    *,
    moves: Count | None = None,
    time_budget_s: Positive | None = None,
) -> tuple[Schedule, list[Iteration]]:
    """Return the best schedule, never worse than the dispatch rules', and all steps.

    moves: approximate number of moves to try, for a reproducible result. time_budget_s:
    wall time in seconds, without compilation. The search ends at the first limit
    reached. Raises InputError if neither is set.
    """
    if moves is None and time_budget_s is None:
        raise InputError("the search needs a limit: moves or a time budget")
    begin_s = time.perf_counter()
    start = best_listed(instance)
    value, done = start.weighted_tardiness, 0
    course = [Iteration(0, value, value)]
    if value == 0:
        return start, course
    loading_s = time.perf_counter()
    from cgrsp_simpy.base.compiled import rows_of
    from cgrsp_simpy.hgsp import descent  # numba takes a second to load

    state, best = state_of(start), state_of(start)
    begin_s += time.perf_counter() - loading_s
    rng, draws = stream(seed, "search"), np.empty((0, descent.PER_ROUND))
    while (moves is None or done < moves) and (
        time_budget_s is None or time.perf_counter() - begin_s < time_budget_s
    ):
        draws = draws if len(draws) else rng.random((ROUNDS, descent.PER_ROUND))
        most = min(AT_ONCE, moves - done) if moves else AT_ONCE
        rows, tried = descent.rounds(state, best, rows_of(draws), most)
        done += tried
        value = descent.objective(state)
        # sums may differ by rounding
        least = min(course[-1].best, value, descent.objective(best))
        course.append(Iteration(done, value, least))
        if rows < len(draws) and tried < most:
            break  # nothing is late
        draws = draws[rows:]
    schedules = [
        start,
        *(from_sequences(instance, sequences_of(final)) for final in (best, state)),
    ]
    chosen = min(schedules, key=lambda schedule: schedule.weighted_tardiness)
    return chosen, [*course[: -1 : 1 + len(course) // MOST_STEPS], course[-1]]


def state_of(start: Schedule) -> State:
    """Convert a schedule to the inner loop's state, with all tasks queued."""
    from cgrsp_simpy.base.compiled import COMPILED, cache_folder, rows_of
    from cgrsp_simpy.hgsp import descent

    jobs, (n, m) = start.instance, start.instance.times_s.shape
    tasks, finish_s = np.zeros((m, n), np.int64), np.zeros((m, n + 1))
    for j, sequence in enumerate(start.sequences()):
        tasks[j, : len(sequence)] = sequence
    finish_s[:, 0] = jobs.free_s
    size = np.array([len(sequence) for sequence in start.sequences()], np.int64)
    columns = np.array([jobs.arrival_s, jobs.deadline_s, jobs.weight]).T
    arrays = (
        np.array([np.column_stack([columns, times_s]) for times_s in jobs.times_s.T]),
        tasks,
        finish_s,
        np.zeros((m, n + 1)),
        size,
        *np.zeros((4, n), np.int64),
        np.zeros(2, np.int64),
    )
    state = descent.State(*map(rows_of, arrays))
    if COMPILED:
        inner: Any = descent.rounds
        folder = cache_folder(inner)
        cached = folder is not None and any(folder.glob("descent.rounds*"))
        if not (inner.signatures or cached):  # nor called in this process
            log.info("compiling the search, once")
        inner(state, state, rows_of(np.empty((0, descent.PER_ROUND))), 0)
    for j in range(m):
        descent.retime(state, j, 0, int(size[j]))
    return state


def sequences_of(state: State) -> list[list[int]]:
    """Return the tasks of each GPU in their order."""
    return [
        [int(task) for task in tasks[:size]]
        for tasks, size in zip(state.tasks, state.size)
    ]
