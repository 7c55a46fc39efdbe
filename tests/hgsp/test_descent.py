"""The inner loop of the search: the computed gains of moves are right, with the
extra or not.
"""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from hgsp.tasks import instances
from hypothesis import given, settings
from hypothesis import strategies as st

import cgrsp_simpy as cg
from cgrsp_simpy.base.compiled import rows_of
from cgrsp_simpy.hgsp import descent
from cgrsp_simpy.hgsp.schedule import from_sequences
from cgrsp_simpy.hgsp.search import sequences_of, state_of


def check(instance, state):
    """A state is the schedule of its sequences, in which each task is once."""
    whole = from_sequences(instance, sequences_of(state))
    assert sorted(chain(*sequences_of(state))) == list(range(instance.tasks))
    assert whole.fault() == ""
    assert descent.objective(state) == pytest.approx(whole.weighted_tardiness, abs=1e-9)
    for task in range(instance.tasks):
        assert state.tasks[state.gpu[task]][state.place[task]] == task


@given(instances(), st.integers(0, 2**32))
@settings(max_examples=60)
def test_moves_change_the_objective_as_predicted(instance, seed):
    """Incremental evaluation against the whole schedule, along a descent and random
    moves.
    """
    start = cg.hgsp.dispatch(instance, cg.hgsp.RULES["edd"])
    if start.weighted_tardiness == 0:
        return
    state, rng = state_of(start), np.random.default_rng(seed)
    check(instance, state)
    for task in rng.permutation(instance.tasks).tolist():
        before = descent.objective(state)
        if before > 0:
            descent.kick(state, rows_of(rng.random(descent.PER_ROUND)))
            check(instance, state)
        before = descent.objective(state)
        worsening, j, k, swap, _ = descent.best_move(state, task, 1e-9)
        if j >= 0:
            descent.move(state, task, j, k, swap)
            assert descent.objective(state) == pytest.approx(
                before + worsening, abs=1e-9
            )
            check(instance, state)


@given(instances(most=6))
@settings(max_examples=120)
def test_no_insertion_is_better_than_the_best_move(instance):
    """By trying each task at each position. A swap may be better: only its partner
    would gain. From all tasks on one GPU, last first, much is better.
    """
    start = from_sequences(
        instance,
        [[*range(instance.tasks)][::-1], *([] for _ in instance.gpus[1:])],
    )
    if start.weighted_tardiness == 0:
        return
    state, sequences = state_of(start), start.sequences()
    for task in range(instance.tasks):
        best = min(0.0, descent.best_move(state, task, 1e-9)[0])
        without = [[one for one in own if one != task] for own in sequences]
        for j in np.flatnonzero(np.isfinite(instance.times_s[task])):
            for k in range(len(without[j]) + 1):
                moved = [own.copy() for own in without]
                moved[j].insert(k, task)
                value = from_sequences(instance, moved).weighted_tardiness
                assert start.weighted_tardiness + best <= value + 1e-6


@pytest.mark.parametrize(
    ("k", "start_s", "finish_s", "left_s"),
    [
        (0, 0.0, 5.0, [(10, 20), (30, np.inf)]),
        (1, 10.0, 12.0, [(0, 5), (12, 20), (30, np.inf)]),
        (1, 11.9, 12.0, [(0, 5), (12, 20), (30, np.inf)]),
        (1, 18.0, 20.0, [(0, 5), (10, 18), (30, np.inf)]),
        (1, 12.0, 18.0, [(0, 5), (10, 12), (18, 20), (30, np.inf)]),
    ],
)
def test_a_run_leaves_gaps_in_which_the_shortest_task_has_room(
    k, start_s, finish_s, left_s
):
    """The shortest task takes 2 s."""
    opens, closes = np.array([[0.0, 10, 30, 0, 0], [5, 20, np.inf, 0, 0]])[:, None]
    gaps = descent.Gaps(*map(rows_of, (opens, closes, np.array([3]), np.array([2.0]))))
    assert descent.gap_for(gaps, 0, start_s, finish_s - start_s) == (k, start_s)
    descent.take(gaps, 0, k, start_s, finish_s)
    assert [*zip(gaps.opens[0], gaps.closes[0])][: gaps.number[0]] == left_s


def test_rounds_end_when_their_moves_are_made():
    instance = replace(
        cg.hgsp.generate(cg.hgsp.Level(30, "small", 4.0, (1, 2)), 3),
        free_s=[9.0, 5.0, 3.0],
    )
    start = cg.hgsp.dispatch(instance, cg.hgsp.RULES["edd"])
    state, draws = state_of(start), rows_of(np.zeros((9, descent.PER_ROUND)))
    moves = descent.descend(state, 1e-6, 10**6)  # of the first round
    assert descent.rounds(state_of(start), state, draws, moves) == (0, moves)
    assert (
        0
        < descent.objective(state)
        < descent.objective(state_of(start))
        == pytest.approx(start.weighted_tardiness)
    )


@pytest.mark.slow
def test_a_descent_never_goes_up():
    """Rounding once made a move that had been given up look better than the best."""
    state = state_of(
        cg.hgsp.dispatch(cg.hgsp.generate("tasks1", 3), cg.hgsp.RULES["atc"])
    )
    values = [descent.objective(state)]
    while state.ends[0] < state.ends[1]:
        descent.descend(state, 1e-9 * (1 + values[0]), 500)
        values.append(descent.objective(state))
    assert values == sorted(values, reverse=True)
    assert len(values) > 10
    assert values[-1] < values[0] / 4
