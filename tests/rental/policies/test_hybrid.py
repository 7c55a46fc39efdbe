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


# ---- Rolling Horizon ----


def rh_order(*jobs, busy_until=500.0, now_s=0.0, **scenario):
    """The order of RH on idle slots of 60, 70, 100 s, with one more that is busy."""
    slots = [gpu("only", times=(60.0, 70.0, 100.0))] * (len(jobs) + 1)
    return [
        id
        for id, _ in decide(
            "rh",
            scenario_of(*slots, **scenario).moment(
                queue_of(*jobs), now_s, {len(jobs): busy_until}
            ),
        )
    ]


@pytest.mark.parametrize(
    ("jobs", "moment", "taken"),
    [
        # urgent by deadline, normal by time, hopeless by deadline
        (
            [(99, 3), (9000, 3), (9000, 1), (8000, 1), (599, 3), (400, 1), (50, 2)],
            {},
            [5, 4, 3, 2, 1, 6, 0],
        ),
        # Complexity 3 takes 100 s and t_free = 500 s: hopeless below 100 s, urgent
        # below 600 s.
        ([(28800, 1), (nextafter(100, 0), 3)], {}, [0, 1]),
        ([(28800, 1), (100, 3)], {}, [1, 0]),
        ([(28800, 1), (nextafter(600, 0), 3)], {}, [1, 0]),
        ([(28800, 1), (600, 3)], {}, [0, 1]),
        # An overdue slot counts as free now: then no job is urgent, what is not
        # hopeless can wait for that slot.
        ([(28800, 1), (1300, 3)], {"busy_until": 900.0, "now_s": 1000.0}, [0, 1]),
        ([(28800, 1), (1300, 3)], {"busy_until": 1201.0, "now_s": 1000.0}, [1, 0]),
    ],
)
def test_rh_orders_by_what_can_wait_for_the_next_slot(jobs, moment, taken):
    assert rh_order(*jobs, **moment) == taken


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
        # 80 s are left, too few for the slow slot; 100 s are enough
        ([SLOW, DEAR], {"deadline_s": 180.0, "now_s": 100.0}, 1),
        ([SLOW, DEAR], {"deadline_s": 200.0, "now_s": 100.0}, 0),
    ],
)
def test_rh_places_by_miss_then_stock_then_cost(slots, moment, place):
    assert slot_for("rh", slots, **moment) == place


def test_t_free_is_the_first_of_the_busy_slots_and_now_if_all_are_idle():
    slots = [gpu("only", times=(60.0, 70.0, 100.0))] * 4
    queue = queue_of((28800, 1), (599, 3))
    assert [
        id
        for id, _ in decide(
            "rh", scenario_of(*slots).moment(queue, busy={0: 800.0, 1: 500.0})
        )
    ] == [1, 0]
    assert [
        id
        for id, _ in decide(
            "rh", scenario_of(*slots).moment(queue, busy={0: 800.0, 1: 400.0})
        )
    ] == [0, 1]
    assert [id for id, _ in decide("rh", scenario_of(*slots).moment(queue))] == [0, 1]


def test_rh_estimates_over_all_slots_idle_or_not():
    slow, fast = gpu("slow", times=100.0), gpu("fast", times=50.0)
    # on the idle slot hopeless, with e over all slots urgent
    queue = queue_of((9000, 1), (80, 2))
    assert decide("rh", scenario_of(slow, fast).moment(queue, busy={1: 60.0})) == [
        (1, 0)
    ]


LOW_RATE = 0.01  # per second; 60 s on 3 slots or more: a load of 0.2 or less


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
        for id, _ in decide(
            policy, scenario_of(*[gpu("A")] * 3, rate_per_s=LOW_RATE).moment(queue)
        )
    ] == taken


def test_a_slot_held_by_rh_goes_to_the_tight_job_that_comes():
    slots, loose = [gpu("A")] * 3, cg.Job(0, 0.0, 28800.0)
    view = scenario_of(*slots, rate_per_s=LOW_RATE).moment(
        [loose], busy={0: 50.0, 1: 60.0}
    )
    assert decide("rh", view) == []
    view = scenario_of(*slots, rate_per_s=LOW_RATE).moment(
        [loose, cg.Job(1, 0.0, 3600.0, tight=True)], busy={0: 50.0, 1: 60.0}
    )
    assert decide("rh", view) == [(1, 2)]


def test_below_the_gate_tight_jobs_are_eager_and_by_deadline():
    slots = 6 * [gpu("A", times=(60.0, 70.0, 100.0))]
    jobs = [(150, 1), (28800, 1), (9000, 1, True), (8000, 3, True), (59, 1, True)]
    eager = scenario_of(*slots, rate_per_s=LOW_RATE).moment(
        queue_of(*jobs), busy={5: 500.0}
    )
    # tight, urgent, normal, hopeless
    assert [id for id, _ in decide("rh", eager)] == [3, 2, 0, 1, 4]
    saturated = scenario_of(*slots).moment(queue_of(*jobs), busy={5: 500.0})
    # urgent, normal by e and deadline, hopeless
    assert [id for id, _ in decide("rh", saturated)] == [0, 2, 1, 3, 4]


def test_a_load_of_exactly_the_gate_closes_it():
    scenario = scenario_of(*[gpu("A")] * 3, rate_per_s=LOW_RATE)
    queue = queue_of(*[(28800,)] * 3)
    load = scenario.known().offered_load
    assert load == pytest.approx(0.01 * 60 / 3)
    assert len(decide(f"rh:gate={load!r}", scenario.moment(queue))) == 3
    assert len(decide(f"rh:gate={nextafter(load, 1)!r}", scenario.moment(queue))) == 2


def test_the_reservation_leaves_a_way_in_to_a_loose_job_that_needs_the_whole_fleet():
    view = scenario_of(*[gpu("A")] * 2, rate_per_s=LOW_RATE).moment(
        [cg.Job(0, 0.0, 28800.0, gpus=2)]
    )
    assert [job.id for job, _ in cg.make_policy("rh")(view)] == [0]


def test_a_reserved_loose_job_is_not_overtaken_by_a_loose_job_of_fewer_gpus():
    scenario = scenario_of(*[gpu("A")] * 4, rate_per_s=LOW_RATE)
    queue = [cg.Job(0, 0.0, 28800.0, gpus=3), cg.Job(1, 0.0, 28900.0)]
    taken = [
        job.id
        for job, _ in cg.make_policy("rh")(scenario.moment(queue, busy={3: 50.0}))
    ]
    assert 1 not in taken
