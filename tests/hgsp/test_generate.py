"""Generated instances: each level is what it says."""

import numpy as np
import pytest

from cgrsp_simpy.hgsp.generate import LEVELS, Level, generate
from cgrsp_simpy.hgsp.instance import (
    cluster,
)
from cgrsp_simpy.hgsp.schedule import (
    greedy_assignment,
)

# ---- generated instances ----


@pytest.mark.parametrize(
    ("level", "missed_pct"), [("tasks1", 5.7), ("tasks2", 1.9), ("tasks3", 99.5), ("tasks4", 99.1)]
)
def test_fifo_misses_about_as_many_deadlines_as_in_table_1(level, missed_pct):
    """The shape of the table, on ten instances: within a factor of two where few are missed, within
    1 % where all are.
    """
    found = [generate(level, seed) for seed in range(10)]
    missed = np.mean(
        [greedy_assignment(each, range(each.tasks), True).metrics["dmr_pct"] for each in found]
    )
    assert missed_pct / 2 < missed < missed_pct * 2
    assert missed_pct < 50 or abs(missed - missed_pct) < 1


def test_a_level_is_what_it_says():
    level = Level(5000, "medium", 0.8, (1.5, 2.5))
    made = generate(level, seed=2)
    speed = sum(gpu.speed for gpu in made.gpus)
    assert made.workload.sum() / made.arrival_s[-1] / speed == pytest.approx(0.8, rel=0.05)
    slack = (made.deadline_s - made.arrival_s) / (made.workload / 30)
    assert 1.5 <= slack.min() < slack.max() <= 2.5
    assert slack.mean() == pytest.approx(2, abs=0.02)
    shares = np.histogram(made.memory_gb, [0, 24.001, 48.001, 80.001])[0] / 5000
    assert shares == pytest.approx([0.8, 0.15, 0.05], abs=0.02)
    assert set(made.weight) == set(range(1, 11))


def test_the_same_seed_makes_the_same_instance_on_any_gpus():
    one, other, more = (
        generate("tasks1", 3),
        generate("tasks1", 4),
        generate("tasks1", 3, cluster("large")),
    )
    assert (one.workload == more.workload).all()
    assert (one.arrival_s == more.arrival_s).all()
    assert len(more.gpus) == 9
    assert (one.workload != other.workload).any()
    assert set(LEVELS) == {"tasks1", "tasks2", "tasks3", "tasks4"}
