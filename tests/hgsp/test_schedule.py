"""Schedules of HGSP: greedy ones, their figures, and the equations, worked out by
hand.
"""

import numpy as np
import pytest
from hgsp.tasks import FOUR, SLOW, instance_of
from support import refusals

from cgrsp_simpy.hgsp.policies import Online
from cgrsp_simpy.hgsp.schedule import (
    Schedule,
    atc,
    columns_of,
    dispatch,
    edd,
    from_sequences,
    greedy_assignment,
    wspt,
)

# ---- schedules, by hand ----


def test_fifo_takes_the_gpu_that_starts_first_and_greedy_the_one_that_finishes_first():
    """At 0 both GPUs are free: task 1 goes to the fast one and ends at 5.

    FIFO starts task 2 on the slow one (0 to 8), Greedy would end there at 8, too, and
    on the fast one at 9. Task 3 fits on the slow one alone, 8 to 12. Task 4: FIFO
    starts on the fast one at 5 and ends at 6, and so does Greedy.
    """
    fifo, greedy = (
        greedy_assignment(FOUR, range(4), least_start) for least_start in (True, False)
    )
    assert fifo.gpu.tolist() == greedy.gpu.tolist() == [0, 1, 1, 0]
    assert fifo.finish_s.tolist() == [5, 8, 12, 6]
    two = instance_of((10, 5, 6, 1, 0), (1, 5, 6, 1, 0), (8, 5, 5, 2, 2))
    # starts at 2 on the slow one
    assert greedy_assignment(two, range(3), least_start=True).finish_s.tolist() == [
        5,
        1,
        10,
    ]
    # waits for the fast one
    assert greedy_assignment(two, range(3)).finish_s.tolist() == [5, 1, 9]


def test_metrics_by_hand():
    """Finishes 5, 8, 12, 6 against deadlines 5, 5, 9, 4 and weights 1, 2, 3, 10,
    arrivals 0, 0, 1, 2.
    """
    assert greedy_assignment(FOUR, range(4)).metrics == pytest.approx(
        {
            "weighted_tardiness": 2 * 3 + 3 * 3 + 10 * 2,
            "act_s": (5 + 8 + 11 + 4) / 4,
            "twct": 5 + 2 * 8 + 3 * 11 + 10 * 4,
            "dmc": 3,
            "dmr_pct": 75,
            "makespan_s": 12,
            "utilisation_pct": 100 * (5 + 8 + 4 + 1) / (2 * 12),
        }
    )


@pytest.mark.parametrize(
    ("gpu", "start", "finish", "equation"),
    [
        (
            [0, 1, 0, 0],
            [0, 0, 5, 7],
            [5, 8, 7, 8],
            "task 3 runs on a GPU whose memory it exceeds (Eq. 3)",
        ),
        (
            [0, 1, 1, 0],
            [0, 0, 8, 5],
            [5, 8, 13, 6],
            "task 3 runs too long or short (Eq. 4)",
        ),
        (
            [0, 1, 1, 0],
            [0, 4, 0, 5],
            [5, 12, 4, 6],
            "task 3 starts before it arrives (Eq. 5)",
        ),
        ([0, 1, 1, 0], [0, 0, 7, 5], [5, 8, 11, 6], "tasks 2 and 3 overlap (Eq. 6)"),
        ([0, 1, 1, 0], [0, 0, 8, 5], [5, 8, 12, 6], ""),
        # rounding errors of a billionth, or of a nanosecond, are allowed
        (
            [0, 1, 1, 0],
            [0, 0, 8, 5],
            [5 + 4.9e-9, 8, 12, 6],
            "tasks 1 and 4 overlap (Eq. 6)",
        ),
        (
            [0, 1, 1, 0],
            [0, 0, 8, 5],
            [5 - 5.1e-9, 8, 12, 6],
            "task 1 runs too long or short (Eq. 4)",
        ),
        (
            [0, 1, 1, 0],
            [0, 0, 8, 0],
            [5, 8, 12, 1 - 1.1e-9],
            "task 4 runs too long or short (Eq. 4)",
        ),
    ],
)
def test_a_schedule_that_violates_an_equation_is_reported(gpu, start, finish, equation):
    assert (
        Schedule(
            FOUR, np.array(gpu), np.array(start, float), np.array(finish, float)
        ).fault()
        == equation
    )


def test_sequences_are_timed_as_early_as_can_be():
    result = from_sequences(FOUR, [[3, 0], [2, 1]])
    assert result.start_s.tolist() == [3, 5, 1, 2]
    assert result.sequences() == [[3, 0], [2, 1]]


# ---- rules ----


def test_the_first_job_of_each_rule():
    """Four tasks wait at 0 for one GPU of speed 1."""
    tasks = instance_of(
        (4, 0, 30, 4, 0),
        (2, 0, 20, 3, 0),
        (6, 0, 7, 5, 0),
        (9, 0, 100, 1, 0),
        gpus=(SLOW,),
    )
    firsts = {
        rule.__name__: dispatch(tasks, rule).sequences()[0] for rule in (wspt, edd, atc)
    }
    assert firsts == {"wspt": [1, 0, 2, 3], "edd": [2, 1, 0, 3], "atc": [2, 1, 0, 3]}


def test_atc_is_wspt_without_slack_and_looks_at_the_mean_time_with_it():
    tasks = instance_of((4, 0, 0, 4, 0), (2, 0, 8, 3, 0), gpus=(SLOW,))
    waiting = columns_of(tasks, [0, 1])
    np.testing.assert_allclose(atc(waiting, 0.0), [1.0, 1.5 * np.exp(-6 / (2 * 3))])
    np.testing.assert_allclose(atc(waiting, 20.0), wspt(waiting, 20.0))


test_a_rule_is_a_function_and_not_a_name = refusals(
    (lambda: dispatch(FOUR, "atc"), "priority(='atc') must be a function"),
    (lambda: Online("atc"), "priority(='atc') must be a function"),
)
