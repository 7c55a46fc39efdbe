"""SPT+Rescue, Adaptive and CADR on hand-made views."""

from math import nextafter

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

# Compared with a job of 60 s that is due last; orders: tests/contracts/test_fast_orders
ELEVEN = [(10_000 + id, 3) for id in range(10)] + [(20_000, 1)]
PARAMETERS = [
    # e = 100 s for complexity 3: a laxity of 180 s is normal
    ("spt-rescue:threshold_s=180", [(28800, 1), (280, 3)], [0, 1]),
    ("spt-rescue:threshold_s=180", [(28800, 1), (279, 3)], [1, 0]),
    # of 11 jobs none is safe; of ten, or where 11 may wait, the shortest is first
    ("adaptive", ELEVEN[1:], [9, *range(9)]),
    ("adaptive", ELEVEN, [*range(11)]),
    ("adaptive:pressure=11", ELEVEN, [10, *range(10)]),
    ("adaptive", [(28800, 1), (699, 3)], [1, 0]),  # a laxity of 599 s is critical
    ("adaptive", [(28800, 1), (700, 3)], [0, 1]),
    # a tight job goes first, and keeps the other slot, if there is a reserve
    ("rh:gate=1e9", [(9000, 1), (20_000, 1, True)], [1]),
    ("rh:gate=1e9,reserve=0", [(9000, 1), (20_000, 1, True)], [0, 1]),
    ("cadr:critical_ratio=5", [(28800, 1), (500, 3)], [1, 0]),
    ("cadr:critical_ratio=5", [(28800, 1), (501, 3)], [0, 1]),
]


@pytest.mark.parametrize(("policy", "jobs", "taken"), PARAMETERS)
def test_parameters_move_the_limits_between_the_classes(policy, jobs, taken):
    """Types of 60, 70 and 100 s; jobs: deadline, complexity, tight."""
    assert order(policy, *jobs) == taken


CHEAP, FAST = gpu("cheap", 0.5, 65.0), gpu("fast", 1.0, 60.0)
FREE, DEAREST = gpu("free", 0.0, 85.0), gpu("fast", 3.0, 60.0)
MIDDLE, CHEAPEST = gpu("middle", 2.0, 80.0), gpu("cheap", 1.0, 100.0)
BY_PRICE = [DEAREST, MIDDLE, CHEAPEST]
BY_STOCK = [
    gpu("cheap", 1.0, 90.0, LOW),
    gpu("dear", 2.0, 60.0, MEDIUM),
    gpu("dearer", 3.0, 60.0, HIGH),
]
FAST_AND_LOW = [gpu("cheap", 1.0, 65.0), gpu("fast", 2.0, 60.0, LOW)]
RTX = [cg.THESIS_GPUS[3], cg.THESIS_GPUS[0]]  # A4000, 3090
PLACES = {
    "adaptive critical jobs to the fastest, others to the best by Eq. 4.1": [
        # critical, speed alone: 1.083 against 1
        ("adaptive", [CHEAP, FAST], {"deadline_s": 60.0}, 1),
        ("adaptive", [CHEAP, FAST], {"deadline_s": 659.0}, 1),
        ("adaptive", [CHEAP, FAST], {"deadline_s": 660.0}, 0),
        ("adaptive:pressure=0", [CHEAP, FAST], {"deadline_s": 660.0}, 1),
        ("adaptive:pressure=1", [CHEAP, FAST], {"deadline_s": 660.0}, 0),
        # 0.7 x 1.083 + 0.3 = 1.058 against 0.7 + 0.6 = 1.3
        ("adaptive", [CHEAP, FAST], {"deadline_s": 28800.0}, 0),
        # hopeless: like a safe job, 1.083 against 1.2
        ("adaptive", [CHEAP, FAST], {"deadline_s": 30.0}, 0),
        ("adaptive", [CHEAP, stocked(FAST, MEDIUM)], {"deadline_s": 600.0}, 0),
        # next to a free slot cost is the price: 0.7 x 1.417 = 0.992 against 0.7 + 0.3
        ("adaptive", [FREE, FAST], {"deadline_s": 28800.0}, 0),
    ],
    "cadr to the cheapest that is in time": [
        ("cadr", BY_PRICE, {"deadline_s": 100.0}, 2),
        ("cadr", BY_PRICE, {"deadline_s": 99.0}, 1),
        ("cadr", BY_PRICE, {"deadline_s": 79.0}, 0),
        ("cadr", BY_PRICE, {"deadline_s": 1079.0, "now_s": 1000.0}, 0),
        ("cadr", [gpu("dear", 99.0, 60.0), MIDDLE], {"deadline_s": 79.0}, 0),
    ],
    "cadr to the fastest where none is in time": [
        ("cadr", [CHEAPEST, DEAREST, MIDDLE], {"deadline_s": 59.0}, 1),
        ("cadr", [CHEAPEST, stocked(DEAREST, LOW), MIDDLE], {"deadline_s": 59.0}, 1),
    ],
    "cadr of equal prices to the fastest": [
        ("cadr", [gpu("slow", 1.0, 100.0), gpu("fast", 1.0, 60.0)], {}, 1),
    ],
    "cadr not to Low stock, unless all is Low": [
        ("cadr", BY_STOCK, {}, 1),
        ("cadr", [stocked(slot, LOW) for slot in BY_STOCK], {}, 0),
    ],
    "cadr-oo to the fastest, whatever its price and stock": [
        ("cadr-oo", FAST_AND_LOW, {}, 1),
        ("cadr", FAST_AND_LOW, {}, 0),
        ("spt", FAST_AND_LOW, {}, 0),  # Eq. 4.1: 1.058 against 2.3
        ("cadr-oo", FAST_AND_LOW, {"deadline_s": 30.0}, 1),
        ("cadr-oo", RTX, {"complexity": 1}, 1),  # 60.0 against 59.7 s
        ("cadr-oo", RTX, {"complexity": 3}, 0),  # 98.2 against 100.9 s
    ],
}


@pytest.mark.parametrize(
    ("rule", "policy", "slots", "job", "place"),
    [(rule, *case) for rule, cases in PLACES.items() for case in cases],
)
def test_a_job_goes_to_the_slot_of_the_policy(rule, policy, slots, job, place):
    assert slot_for(policy, slots, **job) == place, rule


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


# ---- Rolling Horizon ----


DEAR, SLOW = gpu("fast", 4.0, 60.0), gpu("slow", 1.0, 90.0)


@pytest.mark.parametrize(
    ("slots", "moment", "place"),
    [
        # 0.5 x 60 x 4 / 3600 = 0.033 against 0.5 x 90 / 3600 = 0.0125 USD
        ([DEAR, SLOW], {}, 1),
        ([SLOW, DEAR], {"deadline_s": 80.0}, 1),  # a miss costs 0.5 x 10 = 5
        # more than Low stock, 1.0
        ([SLOW, stocked(DEAR, LOW)], {"deadline_s": 80.0}, 1),
        ([stocked(SLOW, MEDIUM), DEAR], {}, 1),  # 0.2 is more than 0.02 USD
        ([stocked(SLOW, MEDIUM), stocked(DEAR, LOW)], {}, 0),
        ([SLOW, DEAR], {"deadline_s": 90.0}, 0),  # due at the very end is in time
        # a miss of 5 against a rent of 0.5 x 9.5
        ([SLOW, gpu("dearest", 570.0, 60.0)], {"deadline_s": 80.0}, 1),
        # Medium stock of 0.2 against 0.5 x 60 x 24.003 / 3600
        ([gpu("free", 0.0, 90.0, MEDIUM), gpu("dear", 24.003, 60.0)], {}, 0),
        # 80 s are left, too few for the slow slot; 100 s are enough
        ([SLOW, DEAR], {"deadline_s": 180.0, "now_s": 100.0}, 1),
        ([SLOW, DEAR], {"deadline_s": 200.0, "now_s": 100.0}, 0),
    ],
)
def test_rh_places_by_miss_then_stock_then_cost(slots, moment, place):
    assert slot_for("rh", slots, **moment) == place


LOW_RATE = 0.01  # per second; 60 s on 3 slots or more: a load of 0.2 or less


def test_a_load_of_exactly_the_gate_closes_it():
    scenario = scenario_of(*[gpu("A")] * 3, rate_per_s=LOW_RATE)
    moment = scenario.moment(queue_of((28800,), (28800,), (28900, 1, True)))
    load = scenario.known().offered_load
    assert [job for job, _ in decide(f"rh:gate={load!r}", moment)] == [0, 1, 2]
    # the tight job is the first, and one slot stays idle
    assert [job for job, _ in decide(f"rh:gate={nextafter(load, 1)!r}", moment)] == [
        2,
        0,
    ]
    scenario = scenario_of(gpu("A"), rate_per_s=LOW_RATE)  # the only slot
    assert decide("rh", scenario.moment(moment.queue)) == [(0, 0)]


def test_a_reserved_loose_job_is_not_overtaken_by_a_loose_job_of_fewer_gpus():
    scenario = scenario_of(*[gpu("A")] * 4, rate_per_s=LOW_RATE)
    queue = [cg.Job(0, 0.0, 28800.0, gpus=3), cg.Job(1, 0.0, 28900.0)]
    taken = [
        job.id
        for job, _ in cg.make_policy("rh")(scenario.moment(queue, busy={3: 50.0}))
    ]
    assert 1 not in taken
