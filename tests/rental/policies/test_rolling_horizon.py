"""RH on hand-made views: tiers, placement, gate and reservation."""

from math import nextafter

import pytest
from rental.policies.views import (
    LOW,
    MEDIUM,
    decide,
    gpu,
    queue_of,
    scenario_of,
    slot_for,
    stocked,
)

import cgrsp_simpy as cg

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


DEAR, CHEAP = gpu("fast", 4.0, 60.0), gpu("slow", 1.0, 90.0)


@pytest.mark.parametrize(
    ("slots", "moment", "place"),
    [
        # 0.5 x 60 x 4 / 3600 = 0.033 against 0.5 x 90 / 3600 = 0.0125 USD
        ([DEAR, CHEAP], {}, 1),
        ([CHEAP, DEAR], {"deadline_s": 80.0}, 1),  # a miss costs 0.5 x 10 = 5
        # more than Low stock, 1.0
        ([CHEAP, stocked(DEAR, LOW)], {"deadline_s": 80.0}, 1),
        ([stocked(CHEAP, MEDIUM), DEAR], {}, 1),  # 0.2 is more than 0.02 USD
        ([stocked(CHEAP, MEDIUM), stocked(DEAR, LOW)], {}, 0),
        ([CHEAP, DEAR], {"deadline_s": 90.0}, 0),  # due at the very end is in time
        # 80 s are left, too few for the slow slot; 100 s are enough
        ([CHEAP, DEAR], {"deadline_s": 180.0, "now_s": 100.0}, 1),
        ([CHEAP, DEAR], {"deadline_s": 200.0, "now_s": 100.0}, 0),
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
