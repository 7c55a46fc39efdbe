"""SPT+Rescue, Adaptive and CADR on hand-made views."""

from math import inf, nextafter

import pytest
from rental.policies.views import (
    HIGH,
    LOW,
    MEDIUM,
    decide,
    gpu,
    order,
    queue_of,
    scenario_of,
    slot_for,
    stocked,
)

import cgrsp_simpy as cg

# ---- SPT+Rescue ----


def test_a_laxity_of_exactly_theta_is_normal():
    # e = 100 s for complexity 3: L = 700 - 0 - 100 = theta = 600 s
    assert order("spt-rescue", (28800, 1), (700, 3)) == [0, 1]
    assert order("spt-rescue", (28800, 1), (nextafter(700, 0), 3)) == [1, 0]
    assert order("spt-rescue", (28800, 1), (800, 3), now_s=100.0) == [0, 1]
    assert order("spt-rescue:threshold_s=180", (28800, 1), (280, 3)) == [0, 1]
    assert order("spt-rescue:threshold_s=180", (28800, 1), (279, 3)) == [1, 0]


def test_rescued_jobs_go_by_deadline_then_normal_ones_by_time_and_deadline():
    assert order("spt-rescue", (9000, 3), (9000, 2), (8000, 2), (300, 3), (200, 1), (10, 2)) == [
        5,
        4,
        3,
        2,
        1,
        0,
    ]


def test_laxity_takes_the_fastest_of_the_idle_slots():
    scenario = scenario_of(
        gpu("fast", times=(50.0, 60.0, 70.0)), gpu("slow", times=(100.0, 110.0, 120.0))
    )
    queue = queue_of((9000, 1), (660, 2))
    # L = 660 - 60 = 600 s: normal
    assert [id for id, _ in decide("spt-rescue", scenario.moment(queue))] == [0, 1]
    # L = 660 - 110 = 550 s: urgent
    assert [id for id, _ in decide("spt-rescue", scenario.moment(queue, busy={0: 30.0}))] == [1]


def test_the_thesis_example_rescues_job_6():
    slot = gpu("rounded", times=(65.0, 75.0, 120.0))
    waiting = [
        cg.Job(3, 20.0, 28820.0),
        cg.Job(4, 30.0, 28830.0),
        cg.Job(5, 40.0, 28840.0),
        cg.Job(6, 50.0, 210.0, 2, True),
    ]
    view = scenario_of(*[slot] * 3).moment(waiting, 70.0, busy={0: 75.0, 2: 80.0})
    assert decide("fifo", view) == [(3, 1)]
    # L = 210 - 70 - 75 = 65 s < 600 s, thesis Eq. 4.4
    assert decide("spt-rescue", view) == [(6, 1)]


# ---- Adaptive ----


def test_adaptive_is_critical_then_safe_then_hopeless():
    # Complexity 1, 2, 3 takes 60, 70, 100 s. Critical from L = 0 (deadline e) to below L = 600 s
    # (deadline 600 + e).
    jobs = [(59, 1), (28800, 3), (28800, 1), (660, 1), (659, 1), (100, 3), (50, 2)]
    assert order("adaptive", *jobs) == [5, 4, 3, 2, 1, 6, 0]


def test_a_laxity_of_zero_is_critical_and_less_is_hopeless():
    assert order("adaptive", (28800, 1), (100, 3)) == [1, 0]
    assert order("adaptive", (28800, 1), (nextafter(100, 0), 3)) == [0, 1]


@pytest.mark.parametrize(
    ("waiting", "policy", "first"),
    [(10, "adaptive", 9), (11, "adaptive", 0), (11, "adaptive:pressure=11", 10)],
)
def test_adaptive_turns_to_deadlines_when_more_than_ten_jobs_wait(waiting, policy, first):
    # the last is due last, and shortest
    jobs = [(10_000 + id, 3) for id in range(waiting - 1)] + [(20_000, 1)]
    view = scenario_of(gpu("A", times=(60.0, 70.0, 100.0))).moment(queue_of(*jobs))
    assert decide(policy, view) == [(first, 0)]


def test_under_pressure_the_wide_threshold_ends_at_28800_s_of_laxity():
    # L = 28800 s and 28801 s: all safe, the shortest first
    jobs = [(28900.0, 3)] * 10 + [(28861.0, 1)]
    view = scenario_of(gpu("A", times=(60.0, 70.0, 100.0))).moment(queue_of(*jobs))
    assert decide("adaptive", view) == [(10, 0)]
    jobs[3] = (28899.0, 3)  # L = 28799 s: critical
    view = scenario_of(gpu("A", times=(60.0, 70.0, 100.0))).moment(queue_of(*jobs))
    assert decide("adaptive", view) == [(3, 0)]


def test_hopeless_jobs_stay_last_under_pressure():
    jobs = [(10, 1)] * 10 + [(20_000, 3)]
    assert decide("adaptive", scenario_of(gpu("A")).moment(queue_of(*jobs))) == [(10, 0)]


def test_adaptive_sends_critical_jobs_to_the_fastest_and_others_to_the_best_by_eq_4_1():
    slots = [gpu("cheap", 0.5, 65.0), gpu("fast", 1.0, 60.0)]
    # critical, speed alone: 1.083 against 1
    assert slot_for("adaptive", slots, deadline_s=600.0) == 1
    # 0.7 x 1.083 + 0.3 = 1.058 against 0.7 + 0.6 = 1.3
    assert slot_for("adaptive", slots, deadline_s=28800.0) == 0
    assert slot_for("adaptive", slots, deadline_s=30.0) == 0  # hopeless: as a safe one
    # 1.083 against 1.2
    assert slot_for("adaptive", [slots[0], stocked(slots[1], MEDIUM)], deadline_s=600.0) == 0


# ---- CADR ----


@pytest.mark.parametrize("policy", ["cadr", "cadr-oo"])
def test_critical_ratios_of_1_and_3_belong_to_the_tier_below(policy):
    # e = 100 s for complexity 3. Against a safe job of 60 s: at risk comes first, safe after
    # it, doomed last.
    assert order(policy, (28800, 1), (300, 3)) == [1, 0]  # CR = 3: at risk
    assert order(policy, (28800, 1), (nextafter(300, inf), 3)) == [0, 1]  # safe, and longer
    assert order(policy, (28800, 1), (101, 3), (100, 3)) == [1, 0, 2]  # CR = 1: doomed
    assert order(policy, (28800, 1), (1100, 3), now_s=1000.0) == [0, 1]
    assert order(policy, (28800, 1), (1300, 3), now_s=1000.0) == [1, 0]


@pytest.mark.parametrize("policy", ["cadr", "cadr-oo"])
def test_cadr_is_at_risk_by_deadline_safe_by_time_doomed_by_deadline(policy):
    jobs = [(50, 1), (9000, 3), (9000, 1), (8000, 1), (200, 3), (150, 1), (40, 2)]
    assert order(policy, *jobs) == [5, 4, 3, 2, 1, 6, 0]
    assert order(f"{policy}:critical_ratio=5", (28800, 1), (500, 3)) == [1, 0]
    assert order(f"{policy}:critical_ratio=5", (28800, 1), (501, 3)) == [0, 1]


def test_cadr_takes_the_cheapest_slot_that_is_in_time():
    slots = [gpu("fast", 3.0, 60.0), gpu("middle", 2.0, 80.0), gpu("cheap", 1.0, 100.0)]
    assert slot_for("cadr", slots, deadline_s=100.0) == 2
    assert slot_for("cadr", slots, deadline_s=99.0) == 1
    assert slot_for("cadr", slots, deadline_s=79.0) == 0
    assert slot_for("cadr", slots, deadline_s=1079.0, now_s=1000.0) == 0


def test_cadr_falls_back_to_the_fastest_slot_when_none_is_in_time():
    slots = [gpu("cheap", 1.0, 100.0), gpu("fast", 3.0, 60.0), gpu("middle", 2.0, 80.0)]
    assert slot_for("cadr", slots, deadline_s=59.0) == 1
    assert slot_for("cadr", [slots[0], stocked(slots[1], LOW), slots[2]], deadline_s=59.0) == 1


def test_cadr_breaks_ties_of_price_by_time():
    assert slot_for("cadr", [gpu("slow", 1.0, 100.0), gpu("fast", 1.0, 60.0)]) == 1


def test_cadr_avoids_low_stock_unless_all_is_low():
    slots = [
        gpu("cheap", 1.0, 90.0, LOW),
        gpu("dear", 2.0, 60.0, MEDIUM),
        gpu("dearer", 3.0, 60.0, HIGH),
    ]
    assert slot_for("cadr", slots) == 1
    assert slot_for("cadr", [stocked(slot, LOW) for slot in slots]) == 0


def test_cadr_oo_takes_the_fastest_slot_whatever_its_price_and_stock():
    slots = [gpu("cheap", 1.0, 65.0), gpu("fast", 2.0, 60.0, LOW)]
    assert slot_for("cadr-oo", slots) == 1
    assert slot_for("cadr", slots) == slot_for("spt", slots) == 0  # Eq. 4.1: 1.058 against 2.3
    assert slot_for("cadr-oo", slots, deadline_s=30.0) == 1
    rtx_3090, rtx_a4000 = cg.THESIS_GPUS[0], cg.THESIS_GPUS[3]
    assert slot_for("cadr-oo", [rtx_a4000, rtx_3090], complexity=1) == 1  # 60.0 against 59.7 s
    assert slot_for("cadr-oo", [rtx_a4000, rtx_3090], complexity=3) == 0  # 98.2 against 100.9 s
