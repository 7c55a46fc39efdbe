"""Tasks that tests write row by row, and small instances at random."""

import numpy as np
import pytest
from hypothesis import strategies as st
from support import DATA

from cgrsp_simpy.hgsp.instance import COLUMNS, Gpu, Instance, read_orlib
from cgrsp_simpy.hgsp.policies import Follow
from cgrsp_simpy.hgsp.report import schedule_of
from cgrsp_simpy.hgsp.scenario import Scenario
from cgrsp_simpy.studies.subject import subject_of

FAST, SLOW = Gpu("fast", 10, 2.0), Gpu("slow", 40, 1.0)
ORLIB = DATA / "orlib_wt"
needs_orlib = pytest.mark.skipif(
    not ORLIB.is_dir(), reason="the instances are not here"
)


def orlib(index, machines=1):
    return read_orlib(ORLIB / "wt40.txt", index, machines)


def optimum_of(index):
    return int((ORLIB / "wtopt40.txt").read_text().split()[index - 1])


def instance_of(*rows, gpus=(FAST, SLOW), **more):
    """Rows of workload, memory, deadline, weight, arrival."""
    return Instance(*np.array(rows, dtype=float).T, gpus=gpus, **more)


def simulate(instance, policy, *reality, seed=0):
    """reality: noise and delay."""
    return schedule_of(subject_of(Scenario(instance, *reality)).run(policy, seed))


def execute(plan, *reality, seed=0):
    return simulate(plan.instance, Follow(plan), *reality, seed=seed)


# Two GPUs; the third task fits on the slow one alone. Worked out below.
FOUR = instance_of(
    (10, 5, 5, 1, 0), (8, 5, 5, 2, 0), (4, 20, 9, 3, 1), (2, 5, 4, 10, 2)
)


@st.composite
def instances(draw, most=12):
    """Small instances in whole numbers, so that many events coincide."""
    number = draw(st.integers(1, most))
    row = st.tuples(
        st.integers(1, 12),
        st.sampled_from([0, 5, 20, 40]),
        st.integers(0, 40),
        st.integers(0, 5),
        st.integers(0, 12),
    )
    rows = draw(st.lists(row, min_size=number, max_size=number))
    gpus = draw(
        st.lists(
            st.sampled_from([FAST, SLOW, Gpu("odd", 20, 1.5)]), min_size=0, max_size=3
        )
    )
    return unrelated(draw, instance_of(*rows, gpus=(SLOW, *gpus)))


def unrelated(draw, instance):
    """The same instance, or with times of their own for each task on each GPU."""
    if draw(st.booleans()):
        return instance
    shape = (instance.tasks, len(instance.gpus))
    entry = st.one_of(st.integers(1, 12), st.just(np.inf))
    times_s = np.reshape(
        draw(
            st.lists(entry, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
        ),
        shape,
    )
    times_s[:, 0] = np.minimum(times_s[:, 0], 12)  # the first holds every task
    columns = [getattr(instance, column) for column in COLUMNS]
    return Instance(*columns, gpus=instance.gpus, times_s=times_s)
