"""The worked examples of the thesis: three jobs on two types (Section 3.7), seven jobs
on three slots (Section 4.5.9).
"""

import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.papers.thesis.examples import QOS_FIRST, SEVEN_JOBS, THREE_JOBS


def column(run, name):
    """A column of the records, by job."""
    return run.jobs[name].tolist()


# ---- three jobs, Section 3.7 ----


@pytest.fixture(scope="module")
def three_jobs():
    return cg.simulate(THREE_JOBS, QOS_FIRST)


def test_the_tight_job_of_three_goes_to_the_3090_and_the_loose_ones_to_a4000s(
    three_jobs,
):
    types = [THREE_JOBS.gpus[index].name for index in column(three_jobs, "gpu")]
    assert types == ["RTX 3090", "RTX A4000", "RTX A4000"]
    assert len(set(column(three_jobs, "slot"))) == 3


def test_the_three_jobs_start_at_once_and_end_by_the_table(three_jobs):
    assert column(three_jobs, "deadline_s") == [3600, 8 * 3600, 8 * 3600]
    assert column(three_jobs, "start_s") == [0, 0, 0]
    assert column(three_jobs, "finish_s") == [59.7, 68.7, 60.0]
    assert three_jobs.summary()["wait_min"] == three_jobs.summary()["miss_pct"] == 0
    assert three_jobs.decisions == 1


def test_the_three_jobs_cost_the_sum_in_the_text(three_jobs):
    # 0.01657; the text rounds it to 0.017
    cost_usd = 59.7 * 0.46 / 3600 + 68.7 * 0.25 / 3600 + 60.0 * 0.25 / 3600
    assert three_jobs.summary()["cost_usd"] == pytest.approx(cost_usd, rel=1e-12)
    assert round(cost_usd, 3) == 0.017
    # USD per second, as printed
    rounded_rates = 59.7 * 0.000128 + 68.7 * 0.0000694 + 60.0 * 0.0000694
    assert cost_usd == pytest.approx(rounded_rates, rel=1e-3)


# ---- seven jobs, Section 4.5.9 ----


def dispatches(run):
    """Pairs (seconds, node, job) in order of time."""
    return sorted(
        zip(column(run, "dispatch_s"), column(run, "slot"), column(run, "job"))
    )


@pytest.mark.parametrize(
    ("policy", "later", "wait_s", "finish_s", "late_s", "missed"),
    [
        (
            "fifo",
            [(70, 1, 3), (75, 2, 4), (120, 0, 5), (140, 2, 6)],
            90,
            215,
            5,
            {"tight_miss_pct": 100},
        ),
        # its laxity at 70, 210 - 70 - 75 = 65 s (thesis Eq. 4.4), is less than 600 s;
        # J3 to J5 shortest first
        (
            "spt-rescue",
            [(70, 1, 6), (75, 2, 4), (120, 0, 3), (140, 2, 5)],
            20,
            145,
            -65,
            {"miss_pct": 0},
        ),
    ],
)
def test_the_tight_job_of_seven_is_late_by_fifo_and_rescued_in_time(
    policy, later, wait_s, finish_s, late_s, missed
):
    run = cg.simulate(SEVEN_JOBS, policy)
    assert dispatches(run) == [(0, 0, 0), (5, 1, 1), (10, 2, 2), *later]
    tight = run.jobs[6]
    assert tight["start_s"] - tight["submit_s"] == wait_s
    assert (tight["finish_s"], tight["finish_s"] - tight["deadline_s"]) == (
        finish_s,
        late_s,
    )
    assert missed.items() <= run.summary().items()
