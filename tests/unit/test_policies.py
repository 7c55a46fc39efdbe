"""Each policy's rule on hand-made views: what runs next and where, with the numbers worked
out beside it.
"""

from dataclasses import replace
from math import inf, nextafter

import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.rental.policies.rules import by_deadline, cheapest, fastest

# Stock that is certain: beta_g = 1 is always shown High, 1e-9 Medium, 0 Low.
HIGH, MEDIUM, LOW = 1.0, 1e-9, 0.0
CERTAIN = cg.Market(cg.Clock(((0, 1.0),)), high_cap=1.0, medium_factor=1e9, medium_cap=1.0)


def gpu(name, price=1.0, times=60.0, stock=HIGH):
    """A type; times: for complexity 1, 2 and 3, or one for all."""
    return cg.GpuType(name, price, times if isinstance(times, tuple) else (times,) * 3, stock)


def scenario_of(*slots, gpus=None, free_types=False, rate_per_s=100.0):
    """Slots of these types; at the usual rate the load is far above any gate."""
    gpus = tuple(dict.fromkeys(slots)) if gpus is None else gpus
    return cg.Scenario(
        "by hand", cg.PoissonWorkload(100, rate_per_s), slots, gpus, free_types, CERTAIN
    )


def stocked(gpu, stock):
    """The same type, with another stock."""
    return replace(gpu, high_stock_probability=stock)


def queue_of(*jobs):
    """Jobs from (deadline, complexity, tight), each shortened from the right; all
    submitted at 0.
    """
    return [cg.Job(id, 0.0, *job) for id, job in enumerate(jobs)]


def decide(policy, view):
    """The answer as pairs (job id, slot index)."""
    return [(job.id, slot.index) for job, slot in cg.make_policy(policy)(view)]


def order(policy, *jobs, now_s=0.0, slot=None, **view):
    """The ids in the order in which a policy takes jobs, on as many equal slots."""
    slots = [slot or gpu("only", times=(60.0, 70.0, 100.0))] * len(jobs)
    return [
        id for id, _ in decide(policy, scenario_of(*slots).moment(queue_of(*jobs), now_s, **view))
    ]


def slot_for(policy, slots, deadline_s=28800.0, complexity=1, now_s=0.0, **scenario):
    """The slot to which a policy sends a single job."""
    [(_, slot)] = decide(
        policy,
        scenario_of(*slots, **scenario).moment([cg.Job(0, 0.0, deadline_s, complexity)], now_s),
    )
    return slot


every_policy_but_random = pytest.mark.parametrize(
    "policy", [name for name in cg.POLICIES if name != "random"]
)


@pytest.mark.parametrize("now_s", [0.0, 30_000.0, 80_000.0])
@pytest.mark.parametrize("stock", [HIGH, MEDIUM, LOW])
def test_the_stock_of_these_tests_is_certain(stock, now_s):
    view = scenario_of(*[gpu("A", stock=stock)] * 50).moment([], now_s)
    assert {view.status(slot) for slot in view.idle} == {
        cg.Status([HIGH, MEDIUM, LOW].index(stock))
    }


# ---- FIFO ----


def test_fifo_sends_the_oldest_jobs_to_the_first_idle_slots():
    queue = [cg.Job(2, 20.0, 100.0), cg.Job(0, 0.0, 9000.0, 3), cg.Job(1, 10.0, 50.0)]
    view = scenario_of(*[gpu("A")] * 4).moment(queue, 30.0, busy={0: 60.0, 2: 70.0})
    assert decide("fifo", view) == [(0, 1), (1, 3)]


def test_fifo_looks_at_nothing_but_the_order_of_submission():
    assert order("fifo", (28800, 3), (10, 1), (5, 2, True)) == [0, 1, 2]
    assert slot_for("fifo", [gpu("dear and slow", 9.0, 900.0, LOW), gpu("good", 0.1, 10.0)]) == 0


# ---- SPT ----


def test_spt_takes_the_least_complex_job_first():
    assert order("spt", (10, 3), (20, 2), (30, 1)) == [2, 1, 0]


def test_spt_breaks_ties_by_deadline_not_by_arrival():
    assert order("spt", (300, 1), (100, 1), (200, 1)) == [1, 2, 0]


def test_spt_breaks_ties_of_deadline_by_arrival():
    assert order("spt", (100, 2), (100, 1), (100, 1, True), (100, 1)) == [1, 2, 3, 0]


def test_spt_estimates_on_the_reference_type_not_on_the_idle_one():
    reference, odd = gpu("reference", times=(10.0, 20.0, 30.0)), gpu("odd", times=(20.0, 10.0, 5.0))
    view = scenario_of(odd, odd, gpus=(reference, odd)).moment(queue_of((100, 2), (100, 1)))
    assert [id for id, _ in decide("spt", view)] == [1, 0]
    # all urgent and due together: by arrival
    assert [id for id, _ in decide("spt-rescue", view)] == [0, 1]
    late = scenario_of(odd, odd, gpus=(reference, odd)).moment(queue_of((9000, 1), (9000, 2)))
    # normal tier: by e_j over the idle slots
    assert [id for id, _ in decide("spt-rescue", late)] == [1, 0]


def test_eq_4_1_weighs_speed_price_and_stock():
    rtx_3090, rtx_a5000 = (stocked(gpu, HIGH) for gpu in cg.THESIS_GPUS[:2])
    # 0.7 x 59.7 / 59.7 + 0.3 x 0.46 / 0.27 = 1.2111 against 0.7 x 60.9 / 59.7 + 0.3 x
    # 0.27 / 0.27 = 1.0141
    assert slot_for("spt", [rtx_3090, rtx_a5000]) == 1
    # With Medium stock the A5000 pays 0.2: 1.2141
    assert slot_for("spt", [rtx_3090, stocked(rtx_a5000, MEDIUM)]) == 0
    # With both at Medium the A5000 is ahead again; with Low it pays 1.0: 2.0141 against 1.4111
    assert slot_for("spt", [stocked(rtx_3090, MEDIUM), stocked(rtx_a5000, MEDIUM)]) == 1
    assert slot_for("spt", [stocked(rtx_3090, MEDIUM), stocked(rtx_a5000, LOW)]) == 0


def test_cost_weight_shifts_eq_4_1_from_speed_to_price():
    slots = [gpu("fast", 2.0, 60.0), gpu("cheap", 1.0, 90.0)]
    # w_c = 0.3: 0.7 + 0.6 = 1.3 against 0.7 x 1.5 + 0.3 = 1.35; w_c = 0.4: 0.6 + 0.8 = 1.4 against
    # 0.9 + 0.4 = 1.3
    assert slot_for("spt", slots) == 0
    assert slot_for("spt:cost_weight=0.4", slots) == 1
    assert slot_for("spt-rescue", slots) == 0
    assert slot_for("spt-rescue:cost_weight=0.4", slots) == 1


def test_eq_4_1_normalises_over_the_idle_slots_alone():
    # Idle only: 0.7 + 0.3 x 2 = 1.3 against 0.7 x 1.5 + 0.3 = 1.35. The busy slot at 0.1 USD and
    # 30 s would turn it: 0.7 x 2 + 0.3 x 20 = 7.4 against 0.7 x 3 + 0.3 x 10 = 5.1
    slots = [gpu("fast", 2.0, 60.0), gpu("cheap", 1.0, 90.0), gpu("busy", 0.1, 30.0)]
    view = scenario_of(*slots).moment([cg.Job(0, 0.0, 28800.0)], busy={2: 50.0})
    assert decide("spt", view) == [(0, 0)]


@every_policy_but_random
def test_equal_scores_take_the_slot_registered_first(policy):
    assert slot_for(policy, [gpu("A")] * 3) == 0


@every_policy_but_random
def test_each_slot_is_given_once(policy):
    view = scenario_of(gpu("best"), gpu("next", 2.0, 70.0)).moment(
        queue_of((9000,), (9000,), (9000,))
    )
    assert decide(policy, view) == [(0, 0), (1, 1)]


# ---- EDF ----


def test_edf_takes_the_earliest_deadline_and_of_equal_ones_the_earliest_submission():
    assert order("edf", (300, 1), (100, 3), (200, 2, True), (100, 1, True)) == [1, 3, 2, 0]


def test_edf_places_by_stock_tier_before_time():
    slow, middle, fast = gpu("slow", 1.0, 90.0), gpu("middle", 1.0, 60.0), gpu("fast", 1.0, 30.0)
    assert slot_for("edf", [stocked(fast, LOW), stocked(middle, MEDIUM), slow]) == 2
    assert slot_for("edf", [stocked(fast, LOW), stocked(middle, MEDIUM), stocked(slow, LOW)]) == 1
    assert slot_for("edf", [stocked(slow, LOW), stocked(middle, LOW), stocked(fast, LOW)]) == 2


def test_edf_times_are_those_of_the_jobs_own_complexity():
    slots = [stocked(gpu, HIGH) for gpu in (cg.THESIS_GPUS[0], cg.THESIS_GPUS[3])]
    assert slot_for("edf", slots, complexity=1) == 0  # 59.7 against 60.0 s
    assert slot_for("edf", slots, complexity=3) == 1  # 100.9 against 98.2 s


# ---- LCF and Balanced ----


def test_lcf_takes_the_least_price_x_time_x_stock_factor():
    slots = [gpu("low", 1.0, 60.0, LOW), gpu("medium", 1.0, 65.0, MEDIUM), gpu("high", 1.0, 68.5)]
    assert slot_for("lcf", slots) == 1  # 60 x 1.15 = 69, 65 x 1.05 = 68.25, 68.5
    assert slot_for("lcf", [*slots, gpu("better", 1.0, 68.2)]) == 3
    assert slot_for("lcf", [slots[0], slots[2]]) == 1  # 69 against 68.5
    assert slot_for("lcf", [gpu("dear", 2.0, 40.0), slots[0]]) == 1  # 80 against 69


def test_balanced_divides_by_the_slowest_and_dearest_of_the_whole_fleet():
    slots = [gpu("fast", 1.0, 100.0), gpu("cheap", 0.5, 200.0), gpu("busy", 1.0, 1000.0)]
    view = scenario_of(*slots).moment([cg.Job(0, 0.0, 28800.0)], busy={2: 50.0})
    # 0.8 x 0.1 + 0.2 = 0.28 against 0.8 x 0.2 + 0.2 x 0.5 = 0.26; over the idle ones alone
    # 0.6 against 0.9
    assert decide("balanced", view) == [(0, 1)]
    assert slot_for("balanced", slots[:2]) == 0
    assert slot_for("balanced:alpha=0.1", slots[:2]) == 1  # 0.05 + 0.9 against 0.1 + 0.45


def test_balanced_pays_for_stock():
    slots = [gpu("fast", 1.0, 100.0), gpu("slow", 1.0, 120.0)]
    # Over 120 s: 0.8 x 0.8333 + 0.2 = 0.867 against 1.0; Medium costs 0.2, Low 1.0
    assert slot_for("balanced", slots) == 0
    assert slot_for("balanced", [stocked(slots[0], MEDIUM), slots[1]]) == 1  # 1.067
    assert slot_for("balanced", [stocked(slots[0], MEDIUM), stocked(slots[1], LOW)]) == 0


@pytest.mark.parametrize("policy", ["lcf", "balanced"])
def test_lcf_and_balanced_take_jobs_in_order_of_submission(policy):
    assert order(policy, (28800, 3), (10, 1), (5, 2, True)) == [0, 1, 2]


# ---- Random ----


def test_random_has_a_stream_of_its_own():
    scenario, queue = scenario_of(*[gpu("A")] * 3), queue_of(*[(9000,)] * 10)
    answers = [decide("random", scenario.moment(queue, seed=seed)) for seed in (1, 1, 2, 3, 4)]
    assert answers[0] == answers[1]
    assert len(set(map(tuple, answers))) == 4
    # What the scheduler has seen of the stock does not move it.
    looked = scenario.moment(queue, seed=1)
    assert [looked.status(slot) for slot in looked.idle]
    assert decide("random", looked) == answers[0]


def test_random_fills_the_idle_slots_or_empties_the_queue():
    few, many = queue_of(*[(9000,)] * 2), queue_of(*[(9000,)] * 9)
    for queue, number in ((few, 2), (many, 4)):
        answer = decide("random", scenario_of(*[gpu("A")] * 4).moment(queue))
        assert (
            len(answer)
            == len({id for id, _ in answer})
            == len({slot for _, slot in answer})
            == number
        )


def test_random_reaches_every_pair_of_job_and_slot():
    view = scenario_of(*[gpu("A")] * 2).moment(queue_of(*[(9000,)] * 3))
    assert {pair for _ in range(200) for pair in decide("random", view)} == {
        (j, m) for j in range(3) for m in range(2)
    }


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


# ---- Rolling Horizon ----


def rh_order(*jobs, busy_until=500.0, now_s=0.0, **scenario):
    """The order of RH on idle slots of 60, 70, 100 s, with one more that is busy."""
    slots = [gpu("only", times=(60.0, 70.0, 100.0))] * (len(jobs) + 1)
    return [
        id
        for id, _ in decide(
            "rh",
            scenario_of(*slots, **scenario).moment(queue_of(*jobs), now_s, {len(jobs): busy_until}),
        )
    ]


def test_rh_is_urgent_by_deadline_normal_by_time_hopeless_by_deadline():
    jobs = [(99, 3), (9000, 3), (9000, 1), (8000, 1), (599, 3), (400, 1), (50, 2)]
    assert rh_order(*jobs) == [5, 4, 3, 2, 1, 6, 0]


def test_rh_bounds_of_hopeless_and_urgent():
    # Complexity 3 takes 100 s and t_free = 500 s: hopeless below 100 s, urgent below 600 s.
    assert rh_order((28800, 1), (nextafter(100, 0), 3)) == [0, 1]
    assert rh_order((28800, 1), (100, 3)) == [1, 0]
    assert rh_order((28800, 1), (nextafter(600, 0), 3)) == [1, 0]
    assert rh_order((28800, 1), (600, 3)) == [0, 1]


def test_an_overdue_slot_counts_as_free_now():
    # Then no job is urgent: what is not hopeless can wait for that slot.
    assert rh_order((28800, 1), (1300, 3), busy_until=900.0, now_s=1000.0) == [0, 1]
    assert rh_order((28800, 1), (1300, 3), busy_until=1201.0, now_s=1000.0) == [1, 0]


def test_t_free_is_the_first_of_the_busy_slots_and_now_if_all_are_idle():
    slots, queue = [gpu("only", times=(60.0, 70.0, 100.0))] * 4, queue_of((28800, 1), (599, 3))
    assert [
        id for id, _ in decide("rh", scenario_of(*slots).moment(queue, busy={0: 800.0, 1: 500.0}))
    ] == [1, 0]
    assert [
        id for id, _ in decide("rh", scenario_of(*slots).moment(queue, busy={0: 800.0, 1: 400.0}))
    ] == [0, 1]
    assert [id for id, _ in decide("rh", scenario_of(*slots).moment(queue))] == [0, 1]


def test_rh_estimates_over_all_slots_idle_or_not():
    slow, fast = gpu("slow", times=100.0), gpu("fast", times=50.0)
    queue = queue_of((9000, 1), (80, 2))  # on the idle slot hopeless, with e over all slots urgent
    assert decide("rh", scenario_of(slow, fast).moment(queue, busy={1: 60.0})) == [(1, 0)]


def test_rh_places_by_miss_then_stock_then_cost():
    fast, slow = gpu("fast", 4.0, 60.0), gpu("slow", 1.0, 90.0)
    # 0.5 x 60 x 4 / 3600 = 0.033 against 0.5 x 90 / 3600 = 0.0125 USD
    assert slot_for("rh", [fast, slow]) == 1
    assert slot_for("rh", [slow, fast], deadline_s=80.0) == 1  # a miss costs 0.5 x 10 = 5
    # more than Low stock, 1.0
    assert slot_for("rh", [slow, stocked(fast, LOW)], deadline_s=80.0) == 1
    assert slot_for("rh", [stocked(slow, MEDIUM), fast]) == 1  # 0.2 is more than 0.02 USD
    assert slot_for("rh", [stocked(slow, MEDIUM), stocked(fast, LOW)]) == 0
    assert slot_for("rh", [slow, fast], deadline_s=90.0) == 0  # due at the very end is in time
    # 80 s are left, too few for the slow slot; 100 s are enough
    assert slot_for("rh", [slow, fast], deadline_s=180.0, now_s=100.0) == 1
    assert slot_for("rh", [slow, fast], deadline_s=200.0, now_s=100.0) == 0


LOW_RATE = 0.01  # 0.01 jobs a second of 60 s on 3 slots or more: a load of 0.2 or less


@pytest.mark.parametrize(
    ("policy", "jobs", "taken"),
    [
        ("rh", [False, False, False], [0, 1]),  # one slot stays idle
        ("rh:reserve=0", [False, False, False], [0, 1, 2]),
        ("rh:reserve=2", [False, False, False], [0]),
        ("rh:reserve=5", [False, False, False], [0]),  # one slot is left to loose jobs
        ("rh", [True, True, True], [0, 1, 2]),  # tight jobs may have any
        ("rh", [False, True, True], [1, 2]),  # and come first
        ("rh", [False, False, True], [2, 0]),
        ("rh:gate=0.1", [False, False, False], [0, 1, 2]),
    ],
)
def test_below_the_gate_rh_withholds_slots_from_loose_jobs(policy, jobs, taken):
    queue = queue_of(*[(28800, 1, tight) for tight in jobs])
    assert [
        id
        for id, _ in decide(policy, scenario_of(*[gpu("A")] * 3, rate_per_s=LOW_RATE).moment(queue))
    ] == taken


def test_a_slot_held_by_rh_goes_to_the_tight_job_that_comes():
    slots, loose = [gpu("A")] * 3, cg.Job(0, 0.0, 28800.0)
    view = scenario_of(*slots, rate_per_s=LOW_RATE).moment([loose], busy={0: 50.0, 1: 60.0})
    assert decide("rh", view) == []
    view = scenario_of(*slots, rate_per_s=LOW_RATE).moment(
        [loose, cg.Job(1, 0.0, 3600.0, tight=True)], busy={0: 50.0, 1: 60.0}
    )
    assert decide("rh", view) == [(1, 2)]


def test_below_the_gate_tight_jobs_are_eager_and_by_deadline():
    slots = 6 * [gpu("A", times=(60.0, 70.0, 100.0))]
    jobs = [(150, 1), (28800, 1), (9000, 1, True), (8000, 3, True), (59, 1, True)]
    eager = scenario_of(*slots, rate_per_s=LOW_RATE).moment(queue_of(*jobs), busy={5: 500.0})
    # tight, urgent, normal, hopeless
    assert [id for id, _ in decide("rh", eager)] == [3, 2, 0, 1, 4]
    saturated = scenario_of(*slots).moment(queue_of(*jobs), busy={5: 500.0})
    # urgent, normal by e and deadline, hopeless
    assert [id for id, _ in decide("rh", saturated)] == [0, 2, 1, 3, 4]


def test_a_load_of_exactly_the_gate_closes_it():
    scenario, queue = scenario_of(*[gpu("A")] * 3, rate_per_s=LOW_RATE), queue_of(*[(28800,)] * 3)
    load = scenario.known().offered_load
    assert load == pytest.approx(0.01 * 60 / 3)
    assert len(decide(f"rh:gate={load!r}", scenario.moment(queue))) == 3
    assert len(decide(f"rh:gate={nextafter(load, 1)!r}", scenario.moment(queue))) == 2


def test_the_reservation_leaves_a_way_in_to_a_loose_job_that_needs_the_whole_fleet():
    view = scenario_of(*[gpu("A")] * 2, rate_per_s=LOW_RATE).moment(
        [cg.Job(0, 0.0, 28800.0, gpus=2)]
    )
    assert [job.id for job, _ in cg.make_policy("rh")(view)] == [0]


def test_a_loose_job_that_the_reservation_holds_is_not_overtaken_by_a_loose_job_of_fewer_gpus():
    scenario = scenario_of(*[gpu("A")] * 4, rate_per_s=LOW_RATE)
    queue = [cg.Job(0, 0.0, 28800.0, gpus=3), cg.Job(1, 0.0, 28900.0)]
    taken = [job.id for job, _ in cg.make_policy("rh")(scenario.moment(queue, busy={3: 50.0}))]
    assert 1 not in taken


# ---- free choice of type ----


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [
        ("fifo", "A"),
        ("spt", "cheap"),
        ("edf", "fast"),
        ("lcf", "cheap"),
        ("balanced", "fast"),
        ("rh", "cheap"),
        ("cadr", "cheap"),
    ],
)
def test_with_free_types_an_idle_slot_is_offered_as_every_type(policy, chosen):
    types = (gpu("A", 2.0, 80.0), gpu("fast", 2.0, 60.0), gpu("cheap", 1.0, 70.0))
    view = scenario_of(types[0], types[0], gpus=types, free_types=True).moment(
        queue_of((28800,)), busy={0: 10.0}
    )
    [(_, slot)] = cg.make_policy(policy)(view)
    assert (slot.index, slot.gpu.name) == (1, chosen)


def test_with_free_types_estimates_are_over_all_types():
    types = (gpu("A", 1.0, (100.0, 100.0, 100.0)), gpu("fast", 1.0, (50.0, 60.0, 70.0)))
    scenario = scenario_of(types[0], types[0], gpus=types, free_types=True)
    urgent = scenario.moment(queue_of((9000, 1), (669, 3)))  # L = 669 - 70 = 599 s
    normal = scenario.moment(queue_of((9000, 1), (670, 3)))
    assert [job.id for job, _ in cg.make_policy("spt-rescue")(urgent)] == [1, 0]
    assert [job.id for job, _ in cg.make_policy("spt-rescue")(normal)] == [0, 1]


# ---- pairs of rules ----


def test_any_order_and_placement_make_a_policy():
    policy = cg.ListPolicy(by_deadline, cheapest)
    slots = [gpu("fast", 2.0, 60.0), gpu("cheap", 1.0, 70.0)]
    view = scenario_of(*slots).moment(queue_of((200,), (100,)))
    assert decide(policy, view) == [(1, 1), (0, 0)]
    assert decide(cg.ListPolicy(by_deadline, fastest), view) == [(1, 0), (0, 1)]


@every_policy_but_random
def test_a_job_of_several_gpus_gets_as_many_slots_and_is_not_overtaken(policy):
    queue = [cg.Job(0, 0.0, 100.0, gpus=2), cg.Job(1, 0.0, 100.0, gpus=2), cg.Job(2, 0.0, 100.0)]
    answer = cg.make_policy(policy)(scenario_of(*[gpu("A")] * 3).moment(queue))
    assert [(job.id, [slot.index for slot in slots]) for job, slots in answer] == [(0, [0, 1])]


# ---- policies by name ----


def test_parameters_are_given_behind_a_colon():
    # a load of 0.6
    scenario, queue = scenario_of(*[gpu("A")] * 4, rate_per_s=0.04), queue_of(*[(28800,)] * 4)
    assert len(decide("rh:reserve=2,gate=0.7", scenario.moment(queue))) == 2
    assert len(decide("rh:reserve=2,gate=0.5", scenario.moment(queue))) == 4


@pytest.mark.parametrize("name", cg.POLICIES)
def test_a_policy_is_reported_by_its_name(name):
    assert cg.make_policy(name).name == name
    assert cg.make_policy(f"{name}:").name == name


WRONG = [
    ("fif", ["unknown policy 'fif'", "'fifo'", "cadr-oo"]),  # the nearest, and all
    ("", ["unknown policy ''"]),
    ("FIFO", ["unknown policy 'FIFO'"]),
    ("spt_rescue", ["'spt-rescue'"]),
    ("rh:reserv=2", ["reserv", "'reserve'", "gate"]),
    ("rh:reserve", ["'reserve'", "parameter=value"]),
    ("rh:reserve=", ["reserve", "whole number"]),
    ("rh:reserve=1.5", ["reserve", "'1.5'", "whole number"]),
    ("rh:reserve=-1", ["reserve", "-1", ">= 0"]),
    ("rh:gate=high", ["gate", "'high'", "a number"]),
    ("rh:gate=nan", ["gate", "nan", "number"]),
    ("rh:gate=-0.1", ["gate", "-0.1", ">= 0"]),
    ("fifo:threshold_s=1", ["threshold_s"]),  # FIFO has no parameter
    # at risk would lie within doomed
    ("cadr:critical_ratio=0.5", ["critical_ratio", "0.5", ">= 1"]),
    ("adaptive:pressure=-1", ["pressure", "-1"]),
    ("adaptive:threshold_s=inf", ["threshold_s", "inf"]),
    ("adaptive:wide_s=nan", ["wide_s", "nan"]),
    ("spt-rescue:threshold_s=nan", ["threshold_s", "nan"]),
    # every comparison of scores would be false
    ("spt-rescue:cost_weight=nan", ["cost_weight", "nan"]),
    ("spt:cost_weight=nan", ["cost_weight", "nan"]),
    ("spt:cost_weight=1.5", ["cost_weight", "1.5", "0 to 1"]),  # the slowest slot would be the best
    ("balanced:alpha=-0.1", ["alpha", "-0.1", "0 to 1"]),
    ("no_such_file.py:rule", ["no_such_file.py", "exist"]),
]


@pytest.mark.parametrize(("text", "words"), WRONG, ids=[text or "empty" for text, _ in WRONG])
def test_a_wrong_name_or_parameter_is_an_error_that_says_what_is_allowed(text, words):
    with pytest.raises(cg.InputError) as error:
        cg.make_policy(text)
    for word in words:
        assert word in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("policy", [None, 3, ["fifo"]])
def test_what_is_neither_a_name_nor_callable_is_an_error(policy):
    with pytest.raises(cg.InputError, match="must be a name or a function of a view"):
        cg.make_policy(policy)


def test_a_policy_may_be_a_function_in_a_file(tmp_path):
    path = tmp_path / "my_rules.py"
    path.write_text(
        "def youngest_first(view):\n"
        "    return zip(sorted(view.queue, key=lambda job: -job.submit_s), view.idle)\n"
    )
    policy = cg.make_policy(f"{path}:youngest_first")
    queue = [cg.Job(0, 0.0, 100.0), cg.Job(1, 5.0, 100.0), cg.Job(2, 9.0, 100.0)]
    assert [
        (job.id, slot.index)
        for job, slot in policy(scenario_of(gpu("A"), gpu("A")).moment(queue, 10.0))
    ] == [(2, 0), (1, 1)]
    assert cg.simulate(cg.day("quiet"), f"{path}:youngest_first").summary()["completed"] == 6


@pytest.mark.parametrize(
    ("source", "name", "words"),
    [
        (
            "def youngest_first(view):\n    return []\n",
            "youngest",
            ["'youngest'", "'youngest_first'"],
        ),
        ("def youngest_first(view):\n    return []\n", "", ["''", "youngest_first"]),
        ("limit = 3\n", "limit", ["'limit'"]),  # not a function
        ("def broken(:\n", "broken", ["my_rules.py", "SyntaxError"]),
        ("import no_such_module_of_mine\n", "rule", ["my_rules.py", "no_such_module_of_mine"]),
    ],
)
def test_a_file_without_the_function_is_an_error(tmp_path, source, name, words):
    path = tmp_path / "my_rules.py"
    path.write_text(source)
    with pytest.raises(cg.InputError) as error:
        cg.make_policy(f"{path}:{name}")
    for word in words:
        assert word in str(error.value)


def test_a_callable_is_passed_through():
    def rule(view):
        return []

    assert cg.make_policy(rule) is rule
