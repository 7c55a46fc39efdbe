"""The first task of each rule of HGSP."""

import numpy as np
from hgsp.tasks import SLOW, instance_of

from cgrsp_simpy.hgsp.rules import atc, columns_of, dispatch, edd, wspt

# ---- rules ----


def test_what_each_rule_puts_first():
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
