"""The paper's sets of tasks: distributions, and the files that they were fitted to."""

import numpy as np
import pytest
from scipy import stats
from support import DATA

from cgrsp_simpy.hgsp.generate import LEVELS, SIZES_GB, Level, generate
from cgrsp_simpy.hgsp.instance import COLUMNS, cluster, read_instance

AUTHORS = DATA / "hgsp_authors"
has_files = pytest.mark.skipif(
    not AUTHORS.is_dir(), reason="the authors' files are not here"
)


@has_files
@pytest.mark.parametrize("level", ["tasks3", "tasks4"])
def test_the_tasks_of_the_paper_are_reproduced_row_by_row(level):
    read = read_instance(AUTHORS / f"{level}.csv", LEVELS[level].gpus)
    made = generate(level)
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(made, column), getattr(read, column))
    assert (generate(level, 1).workload != read.workload).any()


@has_files
@pytest.mark.parametrize("level", ["tasks1", "tasks2"])
def test_files_without_a_known_seed_follow_their_distribution(level):
    """Each column against a large sample of the distribution, by Kolmogorov and
    Smirnov; gaps that were exponential, or those of uniform times, would be found at
    once.
    """
    read = read_instance(AUTHORS / f"{level}.csv", LEVELS[level].gpus)
    law = generate(Level(**{**vars(LEVELS[level]), "tasks": 20_000}), seed=5)
    assert read.tasks == LEVELS[level].tasks == 1000
    for column in ("workload", "memory_gb", "weight"):
        assert stats.ks_2samp(getattr(read, column), getattr(law, column)).pvalue > 0.01
        for end in (min, max):
            assert end(getattr(read, column)) == end(getattr(law, column))
    slack_s = [each.deadline_s - each.arrival_s for each in (read, law)]
    assert stats.ks_2samp(*slack_s).pvalue > 0.01
    gaps_s = np.diff(read.arrival_s)
    assert stats.ks_2samp(gaps_s, np.diff(law.arrival_s)).pvalue > 0.01
    assert 4.9 < gaps_s.max() <= 5.001
    assert stats.kstest(gaps_s, stats.expon(scale=2.5).cdf).pvalue < 1e-9


def test_a_level_has_its_stated_value():
    level = Level(5000, "medium", 0.8, (1.5, 2.5))
    made = generate(level, seed=2)
    speed = sum(gpu.speed for gpu in made.gpus)
    assert made.workload.sum() / made.arrival_s[-1] / speed == pytest.approx(
        0.8, rel=0.05
    )
    slack = (made.deadline_s - made.arrival_s) / (made.workload / 30)
    assert slack.min() + 0.01 >= 1.5
    assert slack.max() <= 2.51
    assert slack.mean() == pytest.approx(2, abs=0.02)
    assert set(made.memory_gb) == set(SIZES_GB)
    assert set(made.weight) == {1, 2, 3, 4, 5}
    assert (made.workload.min(), made.workload.max()) == (100, 800)
    both = generate(Level(500, "small", 0.8, (1.0, 1.0), (3.0, 3.0), (1, 9)), seed=1)
    expected = both.workload / 30 + 3
    assert both.deadline_s - both.arrival_s == pytest.approx(expected, abs=0.011)


def test_the_same_seed_makes_the_same_instance_on_any_gpus():
    one, more = generate("tasks1", 3), generate("tasks1", 3, cluster("large"))
    for column in COLUMNS:
        assert (getattr(one, column) == getattr(more, column)).all()
