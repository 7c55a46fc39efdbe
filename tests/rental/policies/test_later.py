"""Loose jobs that are held while the market is scarce."""

from dataclasses import replace

import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.decide.recommend import later
from cgrsp_simpy.rental.policies.later import LooseLater, scarce_spans
from cgrsp_simpy.studies.subject import subject_of

DAY = cg.day("hectic", jobs=300)
NOON_S = 4 * 3600.0  # a run starts at 08:00


@pytest.mark.parametrize(
    ("bands", "spans", "delays"),
    [
        (((0, 1.3), (8, 0.9), (12, 0.5), (18, 1.0)), [(12, 18)], {}),
        (((0, 1.3), (12, 0.5)), [], {"delay_s": ((0.0, 0.0),) * 3}),
        (((0, 1.0),), [], {}),
        (((0, 0.5), (6, 1.3), (20, 0.4)), [(20, 30)], {}),
        (
            ((0, 1.3), (3, 0.2), (5, 0.3), (7, 1.3), (12, 0.2), (13, 1.3)),
            [(3, 7), (12, 13)],
            {},
        ),
        (
            ((0, 0.2), (2, 1.3), (10, 0.2), (12, 1.3), (22, 0.2)),
            [(10, 12), (22, 26)],
            {},
        ),
    ],
)
def test_spans_are_those_in_which_provisioning_takes_longer_than_its_mean(
    bands, spans, delays
):
    scenario = replace(DAY, market=cg.Market(cg.Clock(bands, start_h=8), **delays))
    assert scarce_spans(scenario.known()) == spans


def decided(*jobs, now_s, day=DAY):
    return list(LooseLater("fifo")(day.moment(jobs, now_s)))


def test_a_loose_job_waits_for_the_end_of_the_scarcity_if_it_can():
    done_s = NOON_S + 6 * 3600 + 1e-6 + DAY.known().fastest_s[1]
    patient, urgent = cg.Job(0, 0.0, done_s, 2), cg.Job(1, 0.0, done_s - 1e-9, 2)
    tight = cg.Job(2, 0.0, NOON_S + 9 * 3600, tight=True)
    *answers, wake = decided(patient, urgent, tight, now_s=NOON_S)
    assert [job.id for job, _ in answers] == [1, 2]
    assert isinstance(wake, cg.Wake) and wake.at_s == pytest.approx(NOON_S + 6 * 3600)
    assert [
        [job.id for job, _ in decided(patient, now_s=NOON_S + later_s)]
        for later_s in (-60, 6 * 3600)
    ] == [[0], [0]]
    assert decided(patient, now_s=NOON_S) == [cg.Wake(wake.at_s)]
    assert [job.id for job, _ in decided(urgent, tight, now_s=NOON_S)] == [1, 2]


def test_a_scarcity_over_midnight_ends_in_the_morning():
    clock = cg.Clock(((0, 0.5), (6, 1.3), (20, 0.4)), start_h=8)
    job, night = cg.Job(0, 0.0, 1e6), replace(DAY, market=cg.Market(clock))
    [wake] = decided(job, now_s=18 * 3600, day=night)
    assert wake.at_s == pytest.approx(22 * 3600)


@pytest.mark.parametrize("policy", ["cadr", "edf", "triage"])
def test_no_loose_job_starts_in_scarce_hours_that_could_be_in_time_after_them(policy):
    result = cg.simulate(DAY, LooseLater(policy), 3)
    jobs = result.jobs
    scarce = jobs[
        (jobs["dispatch_s"] >= NOON_S) & (jobs["dispatch_s"] < NOON_S + 6 * 3600)
    ]
    fastest_s = DAY.known().fastest_s
    for row in scarce:
        spare_s = row["deadline_s"] - fastest_s[row["complexity"] - 1]
        assert row["tight"] or spare_s < NOON_S + 6 * 3600 + 1


@pytest.mark.parametrize("policy", ["fifo", "rh", "cadr", "triage"])
def test_if_all_jobs_are_tight_nothing_changes(policy):
    tight = subject_of(DAY).varied(tight_fraction=1.0, jobs=80)
    one, other = (
        cg.simulate(tight, each, 1).rows() for each in (policy, LooseLater(policy))
    )
    assert one == other
    assert later(tight, policy) == []


def test_two_policies_of_one_name_have_a_memory_each():
    assert len({LooseLater("fifo"), LooseLater("fifo")}) == 2


def test_a_later_start_is_tried_if_it_can_differ():
    assert [each.name for each in later(DAY, "cadr")] == ["cadr-later"]
    constant = replace(DAY, market=cg.Market(cg.Clock(((0, 1.0),))))
    assert later(constant, "cadr") == later(DAY, LooseLater("cadr")) == []
    assert later(DAY, "own.py:rule") == []
