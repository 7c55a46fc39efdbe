"""Each classic policy's rule on hand-made views: what runs next and where, with the numbers worked out
beside it.
"""

import pytest
from rental.policies.views import (
    HIGH,
    LOW,
    MEDIUM,
    decide,
    every_policy_but_random,
    gpu,
    order,
    queue_of,
    scenario_of,
    slot_for,
    stocked,
)

import cgrsp_simpy as cg
from cgrsp_simpy.rental.workload import COMPLEXITY_MIX


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
    view = scenario_of(gpu("best"), gpu("next", 1.0, 70.0)).moment(
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


# ---- c mu, ATC and COVERT: on types of 60, 70 and 100 s ----


def test_c_mu_is_shortest_first_but_for_late_jobs():
    # 1 / 100, 1 / 70, 1 / 60 twice, of which the second is due first
    assert order("c-mu", (9000, 3), (9000, 2), (9000, 1), (8000, 1, True)) == [3, 2, 1, 0]
    # 99 s are left for 100: 11 / 100 against 1 / 60; with 100 s it is not late yet
    assert order("c-mu", (9000, 1), (99, 3)) == [1, 0]
    assert order("c-mu", (9000, 1), (100, 3)) == [0, 1]
    assert order("c-mu:late=1", (9000, 1), (99, 3)) == [0, 1]
    assert order("c-mu:late=1.6", (9000, 1), (99, 3)) == [0, 1]  # .016 against .0167
    assert order("c-mu:late=1.7", (9000, 1), (99, 3)) == [1, 0]


MEAN_S = sum(share * s for share, s in zip(COMPLEXITY_MIX, (60.0, 70.0, 100.0)))


@pytest.mark.parametrize("policy", ["atc", "covert"])
def test_the_less_slack_the_sooner_and_late_jobs_shortest_first(policy):
    # slack 0 and less: 1 / 100, 1 / 60; and one with time
    assert order(policy, (9000, 1), (100, 3), (30, 1), (10, 3)) == [2, 3, 1, 0]


def test_atc_looks_ahead_by_a_multiple_of_the_mean_time():
    # slack 2 x the mean time: exp(-1) / 60 = .0061 against 1 / 100; exp(-.5) / 60 = .0101
    other = (60 + 2 * MEAN_S, 1)
    assert order("atc", other, (100, 3)) == [1, 0]
    assert order("atc:look_ahead=4", other, (100, 3)) == [0, 1]
    # far ahead the longer one is not worth more, however little both are
    assert order("atc", (1500, 3), (1500, 1)) == [1, 0]


def test_covert_is_worth_nothing_where_the_slack_is_all_the_wait_to_be_expected():
    # slack 1 x the mean time: (1 - 1 / 2) / 60 = .0083 against .01; (1 - 1 / 4) / 60 = .0125
    other = (60 + MEAN_S, 1)
    assert order("covert", other, (100, 3)) == [1, 0]
    assert order("covert:look_ahead=4", other, (100, 3)) == [0, 1]
    # nothing: by deadline, not by time; and any that is worth something goes before
    assert order("covert", (9000, 1), (8000, 3)) == [1, 0]
    assert order("covert", (60 + 2 * MEAN_S, 1), (100 + 1.9 * MEAN_S, 3)) == [1, 0]


@pytest.mark.parametrize("policy", ["c-mu", "atc", "covert"])
def test_an_index_is_by_the_times_on_the_idle_slots(policy):
    reference, odd = gpu("reference", times=(10.0, 20.0, 30.0)), gpu("odd", times=(20.0, 10.0, 5.0))
    view = scenario_of(odd, odd, gpus=(reference, odd)).moment(queue_of((5, 1), (5, 2)))
    assert [id for id, _ in decide(policy, view)] == [1, 0]


@pytest.mark.parametrize("policy", ["c-mu", "atc", "covert"])
def test_an_index_places_as_edf_does(policy):
    slow, middle, fast = gpu("slow", 1.0, 90.0), gpu("middle", 1.0, 60.0), gpu("fast", 1.0, 30.0)
    assert slot_for(policy, [stocked(fast, LOW), stocked(middle, MEDIUM), slow]) == 2
    assert slot_for(policy, [stocked(slow, LOW), stocked(middle, LOW), stocked(fast, LOW)]) == 2


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
