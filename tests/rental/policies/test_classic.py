"""Each classic policy's rule on hand-made views: what runs next and where, with the
numbers worked out next to it.
"""

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
from cgrsp_simpy.rental.workload import COMPLEXITY_MIX

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
    "c mu shortest first, except late jobs": [
        # 99 s are left for 100: 11 / 100 against 1 / 60; with 100 s it is not late yet
        ("c-mu", [(9000, 1), (99, 3)], [1, 0]),
        ("c-mu", [(9000, 1), (100, 3)], [0, 1]),
        ("c-mu:late=1", [(9000, 1), (99, 3)], [0, 1]),
        ("c-mu:late=1.6", [(9000, 1), (99, 3)], [0, 1]),  # .016 against .0167
        ("c-mu:late=1.7", [(9000, 1), (99, 3)], [1, 0]),
    ],
    "atc and covert by slacks of less than a second": [
        ("atc:look_ahead=0.01", [(60.5, 1), (100, 3)], [1, 0]),
        ("covert:look_ahead=0.01", [(60.5, 1), (100, 3)], [1, 0]),
    ],
    "atc looks ahead by a multiple of the mean time": [
        ("atc", TWICE_AHEAD, [1, 0]),
        ("atc:look_ahead=4", TWICE_AHEAD, [0, 1]),
    ],
    "watch takes jobs of little laxity, then the shortest, then those that are late": [
        ("watch", [(9000, 3), (9000, 1), (59, 1), (699, 3), (60, 1)], [4, 3, 1, 0, 2]),
        ("watch", [(700, 3), (9000, 1)], [1, 0]),
    ],
    "covert is worth nothing where the slack is all the wait to be expected": [
        ("covert", ONCE_AHEAD, [1, 0]),
        ("covert:look_ahead=4", ONCE_AHEAD, [0, 1]),
        ("covert", [(60 + 2 * MEAN_S, 1), (100 + 1.95 * MEAN_S, 3)], [1, 0]),
    ],
}


@pytest.mark.parametrize(
    ("rule", "policy", "jobs", "taken"),
    [(rule, *case) for rule, cases in ORDERS.items() for case in cases],
)
def test_jobs_are_taken_in_the_order_of_the_policy(rule, policy, jobs, taken):
    """Types of 60, 70 and 100 s; jobs: deadline, complexity, tight."""
    assert order(policy, *jobs) == taken, rule


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
    "spt by the price next to a slot that is free of charge": [
        # 0.7 x 85 / 60 = 0.992 against 0.7 + 0.3
        ("spt", [gpu("free", 0.0, 85.0), gpu("fast", 1.0, 60.0)], {}, 0),
    ],
    "triage of equal slots to the first": [("triage", [gpu("A"), gpu("B")], {}, 0)],
    "fifo by the index of a slot": [
        (
            "fifo",
            [gpu("dear and slow", 9.0, 900.0, LOW), gpu("good", 0.1, 10.0)],
            {},
            0,
        ),
    ],
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
        ("balanced", [gpu("fast", 1.0, 100.0), gpu("cheap", 0.5, 200.0)], {}, 0),
        # 0.05 + 0.9 against 0.1 + 0.45
        (
            "balanced:alpha=0.1",
            [gpu("fast", 1.0, 100.0), gpu("cheap", 0.5, 200.0)],
            {},
            1,
        ),
    ],
}


@pytest.mark.parametrize(
    ("rule", "policy", "slots", "job", "place"),
    [(rule, *case) for rule, cases in PLACES.items() for case in cases],
)
def test_a_job_goes_to_the_slot_of_the_policy(rule, policy, slots, job, place):
    assert slot_for(policy, slots, **job) == place, rule


# ---- SPT and Balanced ----


@pytest.mark.parametrize(
    ("policy", "slots", "place"),
    [
        # Eq. 4.1 normalises over the idle slots alone: 0.7 + 0.3 x 2 = 1.3 against
        # 0.7 x 1.5 + 0.3 = 1.35. The busy slot at 0.1 USD and 30 s would turn it:
        # 0.7 x 2 + 0.3 x 20 = 7.4 against 0.7 x 3 + 0.3 x 10 = 5.1
        ("spt", ((2.0, 60.0), (1.0, 90.0), (0.1, 30.0)), 0),
        # Balanced divides by the slowest and dearest of the whole fleet: 0.8 x 0.1 +
        # 0.2 = 0.28 against 0.8 x 0.2 + 0.2 x 0.5 = 0.26; over the idle ones alone 0.6
        # against 0.9
        ("balanced", ((1.0, 100.0), (0.5, 200.0), (1.0, 1000.0)), 1),
    ],
)
def test_a_busy_slot_counts_only_for_balanced(policy, slots, place):
    gpus = [gpu(str(number), *each) for number, each in enumerate(slots)]
    view = scenario_of(*gpus).moment([cg.Job(0, 0.0, 28800.0)], busy={2: 50.0})
    assert decide(policy, view) == [(0, place)]


# ---- Random ----


def test_random_has_a_separate_stream():
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
