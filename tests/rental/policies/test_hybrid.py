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

ORDERS = {
    # e = 100 s for complexity 3: L = 700 - 0 - 100 = theta = 600 s
    "a laxity of exactly theta is normal": [
        ("spt-rescue", 0.0, [(28800, 1), (700, 3)], [0, 1]),
        ("spt-rescue", 0.0, [(28800, 1), (nextafter(700, 0), 3)], [1, 0]),
        ("spt-rescue", 100.0, [(28800, 1), (800, 3)], [0, 1]),
        ("spt-rescue:threshold_s=180", 0.0, [(28800, 1), (280, 3)], [0, 1]),
        ("spt-rescue:threshold_s=180", 0.0, [(28800, 1), (279, 3)], [1, 0]),
    ],
    "rescued jobs by deadline, then normal ones by time and deadline": [
        (
            "spt-rescue",
            0.0,
            [(9000, 3), (9000, 2), (8000, 2), (300, 3), (200, 1), (10, 2)],
            [5, 4, 3, 2, 1, 0],
        ),
    ],
    # Complexity 1, 2, 3 takes 60, 70, 100 s. Critical from L = 0 (deadline e) to below
    # L = 600 s (deadline 600 + e).
    "adaptive is critical, then safe, then hopeless": [
        (
            "adaptive",
            0.0,
            [(59, 1), (28800, 3), (28800, 1), (660, 1), (659, 1), (100, 3), (50, 2)],
            [5, 4, 3, 2, 1, 6, 0],
        ),
    ],
    "a laxity of zero is critical, and less is hopeless": [
        ("adaptive", 0.0, [(28800, 1), (100, 3)], [1, 0]),
        ("adaptive", 0.0, [(28800, 1), (nextafter(100, 0), 3)], [0, 1]),
    ],
    # e = 100 s for complexity 3. Against a safe job of 60 s: at risk comes first, safe
    # after it, doomed last.
    "critical ratios of 1 and 3 belong to the tier below": [
        (policy, now_s, jobs, taken)
        for policy in ("cadr", "cadr-oo")
        for now_s, jobs, taken in (
            (0.0, [(28800, 1), (300, 3)], [1, 0]),  # CR = 3: at risk
            (0.0, [(28800, 1), (nextafter(300, inf), 3)], [0, 1]),  # safe, and longer
            (0.0, [(28800, 1), (101, 3), (100, 3)], [1, 0, 2]),  # CR = 1: doomed
            (1000.0, [(28800, 1), (1100, 3)], [0, 1]),
            (1000.0, [(28800, 1), (1300, 3)], [1, 0]),
        )
    ],
    "cadr is at risk by deadline, safe by time, doomed by deadline": [
        (f"{policy}{ratio}", 0.0, jobs, taken)
        for policy in ("cadr", "cadr-oo")
        for ratio, jobs, taken in (
            (
                "",
                [(50, 1), (9000, 3), (9000, 1), (8000, 1), (200, 3), (150, 1), (40, 2)],
                [5, 4, 3, 2, 1, 6, 0],
            ),
            (":critical_ratio=5", [(28800, 1), (500, 3)], [1, 0]),
            (":critical_ratio=5", [(28800, 1), (501, 3)], [0, 1]),
        )
    ],
}


@pytest.mark.parametrize("cases", ORDERS.values(), ids=ORDERS)
def test_jobs_are_taken_in_the_order_of_the_policy(cases):
    """Types of 60, 70 and 100 s; jobs: deadline, complexity, tight."""
    for policy, now_s, jobs, taken in cases:
        assert order(policy, *jobs, now_s=now_s) == taken, (policy, jobs)


CHEAP, FAST = gpu("cheap", 0.5, 65.0), gpu("fast", 1.0, 60.0)
DEAREST = gpu("fast", 3.0, 60.0)
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
        ("adaptive", [CHEAP, FAST], {"deadline_s": 600.0}, 1),
        # 0.7 x 1.083 + 0.3 = 1.058 against 0.7 + 0.6 = 1.3
        ("adaptive", [CHEAP, FAST], {"deadline_s": 28800.0}, 0),
        ("adaptive", [CHEAP, FAST], {"deadline_s": 30.0}, 0),  # hopeless: as a safe one
        # 1.083 against 1.2
        ("adaptive", [CHEAP, stocked(FAST, MEDIUM)], {"deadline_s": 600.0}, 0),
    ],
    "cadr to the cheapest that is in time": [
        ("cadr", BY_PRICE, {"deadline_s": 100.0}, 2),
        ("cadr", BY_PRICE, {"deadline_s": 99.0}, 1),
        ("cadr", BY_PRICE, {"deadline_s": 79.0}, 0),
        ("cadr", BY_PRICE, {"deadline_s": 1079.0, "now_s": 1000.0}, 0),
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


@pytest.mark.parametrize("cases", PLACES.values(), ids=PLACES)
def test_a_job_goes_to_the_slot_of_the_policy(cases):
    for policy, slots, job, place in cases:
        assert slot_for(policy, slots, **job) == place, (policy, slots, job)


def test_laxity_takes_the_fastest_of_the_idle_slots():
    scenario = scenario_of(
        gpu("fast", times=(50.0, 60.0, 70.0)), gpu("slow", times=(100.0, 110.0, 120.0))
    )
    queue = queue_of((9000, 1), (660, 2))
    # L = 660 - 60 = 600 s: normal
    assert [id for id, _ in decide("spt-rescue", scenario.moment(queue))] == [0, 1]
    # L = 660 - 110 = 550 s: urgent
    assert [
        id for id, _ in decide("spt-rescue", scenario.moment(queue, busy={0: 30.0}))
    ] == [1]


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


@pytest.mark.parametrize(
    ("waiting", "policy", "first"),
    [(10, "adaptive", 9), (11, "adaptive", 0), (11, "adaptive:pressure=11", 10)],
)
def test_adaptive_turns_to_deadlines_when_more_than_ten_jobs_wait(
    waiting, policy, first
):
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
    assert decide("adaptive", scenario_of(gpu("A")).moment(queue_of(*jobs))) == [
        (10, 0)
    ]
