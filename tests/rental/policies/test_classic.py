"""Each classic policy's rule on hand-made views: what runs next and where, with the
numbers worked out next to it.
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


# ---- orders ----

MEAN_S = sum(share * s for share, s in zip(COMPLEXITY_MIX, (60.0, 70.0, 100.0)))
# slack 2 x the mean time: exp(-1) / 60 = .0061 against 1 / 100; exp(-.5) / 60 = .0101
TWICE_AHEAD = [(60 + 2 * MEAN_S, 1), (100, 3)]
# slack 1 x the mean time: (1 - 1 / 2) / 60 = .0083 against .01; (1 - 1 / 4) / 60 =
# .0125
ONCE_AHEAD = [(60 + MEAN_S, 1), (100, 3)]
ORDERS = {
    "fifo, lcf and balanced by submission": [
        (policy, [(28800, 3), (10, 1), (5, 2, True)], [0, 1, 2])
        for policy in ("fifo", "lcf", "balanced")
    ],
    "spt the least complex first": [("spt", [(10, 3), (20, 2), (30, 1)], [2, 1, 0])],
    "spt ties by deadline, not by arrival": [
        ("spt", [(300, 1), (100, 1), (200, 1)], [1, 2, 0]),
    ],
    "spt ties of deadline by arrival": [
        ("spt", [(100, 2), (100, 1), (100, 1, True), (100, 1)], [1, 2, 3, 0]),
    ],
    "edf the earliest deadline, and of equal ones the earliest submission": [
        ("edf", [(300, 1), (100, 3), (200, 2, True), (100, 1, True)], [1, 3, 2, 0]),
    ],
    "c mu shortest first, except late jobs": [
        # 1 / 100, 1 / 70, 1 / 60 twice, of which the second is due first
        ("c-mu", [(9000, 3), (9000, 2), (9000, 1), (8000, 1, True)], [3, 2, 1, 0]),
        # 99 s are left for 100: 11 / 100 against 1 / 60; with 100 s it is not late yet
        ("c-mu", [(9000, 1), (99, 3)], [1, 0]),
        ("c-mu", [(9000, 1), (100, 3)], [0, 1]),
        ("c-mu:late=1", [(9000, 1), (99, 3)], [0, 1]),
        ("c-mu:late=1.6", [(9000, 1), (99, 3)], [0, 1]),  # .016 against .0167
        ("c-mu:late=1.7", [(9000, 1), (99, 3)], [1, 0]),
    ],
    "atc and covert the less slack the sooner, and late jobs shortest first": [
        # slack 0 and less: 1 / 100, 1 / 60; and one with time
        (policy, [(9000, 1), (100, 3), (30, 1), (10, 3)], [2, 3, 1, 0])
        for policy in ("atc", "covert")
    ],
    "atc looks ahead by a multiple of the mean time": [
        ("atc", TWICE_AHEAD, [1, 0]),
        ("atc:look_ahead=4", TWICE_AHEAD, [0, 1]),
        # far ahead the longer one is not worth more, however little both are
        ("atc", [(1500, 3), (1500, 1)], [1, 0]),
    ],
    "covert is worth nothing where the slack is all the wait to be expected": [
        ("covert", ONCE_AHEAD, [1, 0]),
        ("covert:look_ahead=4", ONCE_AHEAD, [0, 1]),
        # nothing: by deadline, not by time; and any that is worth something goes before
        ("covert", [(9000, 1), (8000, 3)], [1, 0]),
        ("covert", [(60 + 2 * MEAN_S, 1), (100 + 1.9 * MEAN_S, 3)], [1, 0]),
    ],
}


@pytest.mark.parametrize("cases", ORDERS.values(), ids=ORDERS)
def test_jobs_are_taken_in_the_order_of_the_policy(cases):
    """Types of 60, 70 and 100 s; jobs: deadline, complexity, tight."""
    for policy, jobs, taken in cases:
        assert order(policy, *jobs) == taken, (policy, jobs)


# ---- placements ----

RTX_3090, RTX_A5000, _, RTX_A4000 = (stocked(gpu, HIGH) for gpu in cg.THESIS_GPUS)
SLOW, MIDDLE, FAST = (gpu(f"{s:g} s", 1.0, s) for s in (90.0, 60.0, 30.0))
DEAR_OR_CHEAP = [gpu("fast", 2.0, 60.0), gpu("cheap", 1.0, 90.0)]
BY_STOCK = [
    gpu("low", 1.0, 60.0, LOW),
    gpu("medium", 1.0, 65.0, MEDIUM),
    gpu("high", 1.0, 68.5),
]
SOONER, LATER = gpu("fast", 1.0, 100.0), gpu("slow", 1.0, 120.0)
PLACES = {
    "spt by Eq. 4.1, of speed, price and stock": [
        # 0.7 x 59.7 / 59.7 + 0.3 x 0.46 / 0.27 = 1.2111 against 0.7 x 60.9 / 59.7 + 0.3
        # x 0.27 / 0.27 = 1.0141
        ("spt", [RTX_3090, RTX_A5000], {}, 1),
        # With Medium stock the A5000 pays 0.2: 1.2141
        ("spt", [RTX_3090, stocked(RTX_A5000, MEDIUM)], {}, 0),
        # With both at Medium the A5000 is ahead again; with Low it pays 1.0: 2.0141
        # against 1.4111
        ("spt", [stocked(RTX_3090, MEDIUM), stocked(RTX_A5000, MEDIUM)], {}, 1),
        ("spt", [stocked(RTX_3090, MEDIUM), stocked(RTX_A5000, LOW)], {}, 0),
    ],
    # w_c = 0.3: 0.7 + 0.6 = 1.3 against 0.7 x 1.5 + 0.3 = 1.35; w_c = 0.4: 0.6 + 0.8 =
    # 1.4 against 0.9 + 0.4 = 1.3
    "the cost weight shifts Eq. 4.1 from speed to price": [
        ("spt", DEAR_OR_CHEAP, {}, 0),
        ("spt:cost_weight=0.4", DEAR_OR_CHEAP, {}, 1),
        ("spt-rescue", DEAR_OR_CHEAP, {}, 0),
        ("spt-rescue:cost_weight=0.4", DEAR_OR_CHEAP, {}, 1),
    ],
    "edf, c mu, atc and covert by the tier of stock before time": [
        (policy, slots, {}, 2)
        for policy in ("edf", "c-mu", "atc", "covert")
        for slots in (
            [stocked(FAST, LOW), stocked(MIDDLE, MEDIUM), SLOW],
            [stocked(SLOW, LOW), stocked(MIDDLE, LOW), stocked(FAST, LOW)],
        )
    ],
    "edf by Medium before Low stock": [
        (
            "edf",
            [stocked(FAST, LOW), stocked(MIDDLE, MEDIUM), stocked(SLOW, LOW)],
            {},
            1,
        ),
    ],
    "edf by the times of the job's own complexity": [
        ("edf", [RTX_3090, RTX_A4000], {"complexity": 1}, 0),  # 59.7 against 60.0 s
        ("edf", [RTX_3090, RTX_A4000], {"complexity": 3}, 1),  # 100.9 against 98.2 s
    ],
    "lcf by the least price x time x stock factor": [
        ("lcf", BY_STOCK, {}, 1),  # 60 x 1.15 = 69, 65 x 1.05 = 68.25, 68.5
        ("lcf", [*BY_STOCK, gpu("better", 1.0, 68.2)], {}, 3),
        ("lcf", [BY_STOCK[0], BY_STOCK[2]], {}, 1),  # 69 against 68.5
        ("lcf", [gpu("dear", 2.0, 40.0), BY_STOCK[0]], {}, 1),  # 80 against 69
    ],
    # Over 120 s: 0.8 x 0.8333 + 0.2 = 0.867 against 1.0; Medium costs 0.2, Low 1.0
    "balanced pays for stock": [
        ("balanced", [SOONER, LATER], {}, 0),
        ("balanced", [stocked(SOONER, MEDIUM), LATER], {}, 1),  # 1.067
        ("balanced", [stocked(SOONER, MEDIUM), stocked(LATER, LOW)], {}, 0),
    ],
}


@pytest.mark.parametrize("cases", PLACES.values(), ids=PLACES)
def test_a_job_goes_to_the_slot_of_the_policy(cases):
    for policy, slots, job, place in cases:
        assert slot_for(policy, slots, **job) == place, (policy, slots, job)


# ---- FIFO ----


def test_fifo_sends_the_oldest_jobs_to_the_first_idle_slots():
    queue = [cg.Job(2, 20.0, 100.0), cg.Job(0, 0.0, 9000.0, 3), cg.Job(1, 10.0, 50.0)]
    view = scenario_of(*[gpu("A")] * 4).moment(queue, 30.0, busy={0: 60.0, 2: 70.0})
    assert decide("fifo", view) == [(0, 1), (1, 3)]


def test_fifo_looks_at_nothing_of_a_slot_but_its_place():
    assert (
        slot_for(
            "fifo", [gpu("dear and slow", 9.0, 900.0, LOW), gpu("good", 0.1, 10.0)]
        )
        == 0
    )


# ---- SPT ----


def test_spt_estimates_on_the_reference_type_not_on_the_idle_one():
    reference = gpu("reference", times=(10.0, 20.0, 30.0))
    odd = gpu("odd", times=(20.0, 10.0, 5.0))
    view = scenario_of(odd, odd, gpus=(reference, odd)).moment(
        queue_of((100, 2), (100, 1))
    )
    assert [id for id, _ in decide("spt", view)] == [1, 0]
    # all urgent and due together: by arrival
    assert [id for id, _ in decide("spt-rescue", view)] == [0, 1]
    late = scenario_of(odd, odd, gpus=(reference, odd)).moment(
        queue_of((9000, 1), (9000, 2))
    )
    # normal tier: by e_j over the idle slots
    assert [id for id, _ in decide("spt-rescue", late)] == [1, 0]


def test_eq_4_1_normalises_over_the_idle_slots_alone():
    # Idle only: 0.7 + 0.3 x 2 = 1.3 against 0.7 x 1.5 + 0.3 = 1.35. The busy slot at
    # 0.1 USD and 30 s would turn it: 0.7 x 2 + 0.3 x 20 = 7.4 against 0.7 x 3 + 0.3 x
    # 10 = 5.1
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


# ---- LCF and Balanced ----


def test_balanced_divides_by_the_slowest_and_dearest_of_the_whole_fleet():
    slots = [
        gpu("fast", 1.0, 100.0),
        gpu("cheap", 0.5, 200.0),
        gpu("busy", 1.0, 1000.0),
    ]
    view = scenario_of(*slots).moment([cg.Job(0, 0.0, 28800.0)], busy={2: 50.0})
    # 0.8 x 0.1 + 0.2 = 0.28 against 0.8 x 0.2 + 0.2 x 0.5 = 0.26; over the idle ones
    # alone 0.6 against 0.9
    assert decide("balanced", view) == [(0, 1)]
    assert slot_for("balanced", slots[:2]) == 0
    # 0.05 + 0.9 against 0.1 + 0.45
    assert slot_for("balanced:alpha=0.1", slots[:2]) == 1


# ---- c mu, ATC and COVERT: on types of 60, 70 and 100 s ----


@pytest.mark.parametrize("policy", ["c-mu", "atc", "covert"])
def test_an_index_is_by_the_times_on_the_idle_slots(policy):
    reference = gpu("reference", times=(10.0, 20.0, 30.0))
    odd = gpu("odd", times=(20.0, 10.0, 5.0))
    view = scenario_of(odd, odd, gpus=(reference, odd)).moment(queue_of((5, 1), (5, 2)))
    assert [id for id, _ in decide(policy, view)] == [1, 0]


# ---- Random ----


def test_random_has_a_stream_of_its_own():
    scenario, queue = scenario_of(*[gpu("A")] * 3), queue_of(*[(9000,)] * 10)
    answers = [
        decide("random", scenario.moment(queue, seed=seed)) for seed in (1, 1, 2, 3, 4)
    ]
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
