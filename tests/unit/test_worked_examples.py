"""The worked examples of the thesis: three jobs on two types (Section 3.7), seven jobs on three slots (Section 4.5.9)."""

import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.policies.rules import by_submission, cheapest, fastest

HOUR_S = 3600
BY_TABLE = cg.Service("lognormal", (0, 0, 0))  # the mean execution times themselves
ALL_HIGH = cg.Market(cg.Clock(((0, 4.0),)), delay_s=((0, 0),) * 3, high_cap=1.0)  # High stock, delays negligible


def column(run, name):
    """A column of the records, by job."""
    return run.jobs[name].tolist()


# ---- three jobs, Section 3.7 ----

RTX_3090, RTX_A4000 = cg.round_robin(["RTX 3090", "RTX A4000"])
THREE_JOBS = cg.Scenario(
    "three jobs",
    cg.JobList(
        (
            cg.Job(0, submit_s=0, deadline_s=1 * HOUR_S, complexity=1, tight=True),
            cg.Job(1, submit_s=0, deadline_s=8 * HOUR_S, complexity=2),
            cg.Job(2, submit_s=0, deadline_s=8 * HOUR_S, complexity=1),
        )
    ),
    slots=(RTX_3090, RTX_A4000, RTX_A4000, RTX_A4000, RTX_A4000),
    gpus=(RTX_3090, RTX_A4000),
    market=ALL_HIGH,
    service=BY_TABLE,
)


def fast_if_tight(view, job, offers):
    """The text's rule: a tight job on the fastest idle slot, a loose one on the cheapest."""
    return (fastest if job.tight else cheapest)(view, job, offers)


@pytest.fixture(scope="module")
def three_jobs():
    return cg.simulate(THREE_JOBS, cg.ListPolicy(by_submission, fast_if_tight))


def test_the_tight_job_of_three_goes_to_the_3090_and_the_loose_ones_to_a4000s(three_jobs):
    types = [THREE_JOBS.gpus[index].name for index in column(three_jobs, "gpu")]
    assert types == ["RTX 3090", "RTX A4000", "RTX A4000"]
    assert len(set(column(three_jobs, "slot"))) == 3


def test_the_three_jobs_start_at_once_and_end_by_the_table(three_jobs):
    assert column(three_jobs, "start_s") == [0, 0, 0]
    assert column(three_jobs, "finish_s") == [59.7, 68.7, 60.0]
    assert three_jobs.summary()["wait_min"] == three_jobs.summary()["miss_pct"] == 0
    assert three_jobs.decisions == 1


def test_the_three_jobs_cost_the_texts_sum(three_jobs):
    cost_usd = 59.7 * 0.46 / 3600 + 68.7 * 0.25 / 3600 + 60.0 * 0.25 / 3600  # 0.01657; the text rounds it to 0.017
    assert three_jobs.summary()["cost_usd"] == pytest.approx(cost_usd, rel=1e-12)
    assert round(cost_usd, 3) == 0.017
    rounded_rates = 59.7 * 0.000128 + 68.7 * 0.0000694 + 60.0 * 0.0000694  # USD per second, as printed
    assert cost_usd == pytest.approx(rounded_rates, rel=1e-3)


def test_three_of_five_slots_run_at_time_0(three_jobs):
    jobs = three_jobs.jobs
    running = ((jobs["start_s"] <= 0) & (jobs["finish_s"] > 0)).sum()
    assert running / len(THREE_JOBS.slots) == 0.60  # the text's utilisation: of slots at time 0
    held_s = 59.7 + 68.7 + 60.0
    assert three_jobs.summary()["utilisation_pct"] == pytest.approx(100 * held_s / (5 * 68.7))  # ours: a time average


def test_cadr_finds_a_cheaper_schedule_of_the_same_quality():
    """By Eq. 3.10 the tight job belongs on an A4000 too: 0.3 s later, no wait, no miss, and less rent."""
    run = cg.simulate(THREE_JOBS, "cadr")
    assert column(run, "finish_s") == [60.0, 68.7, 60.0]
    assert run.summary()["wait_min"] == run.summary()["miss_pct"] == 0
    assert run.summary()["cost_usd"] == pytest.approx((60.0 + 68.7 + 60.0) * 0.25 / 3600)


# ---- seven jobs, Section 4.5.9 ----

NODE = cg.GpuType("node", 0.25, (65, 75, 120), 1.0)  # the rounded times of Figure 4.1
# The text gives J6 and the times at which nodes N1 and N2 become free, 70 and 75 s. These submissions and complexities make
# them so, with N0 busy until 120 s and, under FIFO, no node free for J6 before N2 at 140 s.
SUBMIT_S = (0, 5, 10, 20, 30, 40, 50)
COMPLEXITY = (3, 1, 1, 2, 1, 3, 2)
SEVEN_JOBS = cg.Scenario(
    "seven jobs",
    cg.JobList(
        tuple(
            cg.Job(i, submit_s, 210 if i == 6 else submit_s + 8 * HOUR_S, complexity, tight=i == 6)
            for i, (submit_s, complexity) in enumerate(zip(SUBMIT_S, COMPLEXITY))
        )
    ),
    slots=(NODE, NODE, NODE),
    gpus=(NODE,),
    market=ALL_HIGH,
    service=BY_TABLE,
)


def dispatches(run):
    """Pairs (seconds, node, job) in order of time."""
    return sorted(zip(column(run, "dispatch_s"), column(run, "slot"), column(run, "job")))


@pytest.mark.parametrize("policy", ["fifo", "spt-rescue"])
def test_the_first_three_of_seven_jobs_fill_the_nodes_within_10_seconds(policy):
    run = cg.simulate(SEVEN_JOBS, policy)
    assert dispatches(run)[:3] == [(0, 0, 0), (5, 1, 1), (10, 2, 2)]
    assert column(run, "finish_s")[1:3] == [70, 75]  # N1 and N2 become free


def test_fifo_dispatches_the_tight_job_at_140_and_misses_by_5_seconds():
    run = cg.simulate(SEVEN_JOBS, "fifo")
    assert dispatches(run)[3:] == [(70, 1, 3), (75, 2, 4), (120, 0, 5), (140, 2, 6)]
    tight = run.jobs[6]
    assert tight["start_s"] - tight["submit_s"] == 90
    assert tight["finish_s"] == 215
    assert tight["finish_s"] - tight["deadline_s"] == 5
    assert run.summary()["tight_miss_pct"] == 100


def test_spt_rescue_dispatches_the_tight_job_at_70_and_ends_it_65_seconds_early():
    laxity_s = 210 - 70 - 75  # thesis Eq. 4.4
    assert laxity_s == 65 < 600

    run = cg.simulate(SEVEN_JOBS, "spt-rescue")
    assert dispatches(run)[3:] == [(70, 1, 6), (75, 2, 4), (120, 0, 3), (140, 2, 5)]  # J3 to J5 shortest first
    tight = run.jobs[6]
    assert tight["finish_s"] == 145
    assert tight["deadline_s"] - tight["finish_s"] == 65
    assert run.summary()["miss_pct"] == 0


def test_without_the_rescue_the_shorter_j4_takes_the_first_free_node():
    run = cg.simulate(SEVEN_JOBS, "spt-rescue:threshold_s=0")
    assert dispatches(run)[3:5] == [(70, 1, 4), (75, 2, 6)]
