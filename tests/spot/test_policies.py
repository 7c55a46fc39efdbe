"""Policies of a job on spot instances, on small markets whose whole course is known."""

from dataclasses import replace

import pytest
from spot.cases import DOWN_UP_DOWN, carried_out, course, zone

from cgrsp_simpy.market.zones import Price
from cgrsp_simpy.spot.job import Checkpoints
from cgrsp_simpy.spot.view import Choice, Ruled


@pytest.mark.parametrize(
    ("policy", "stays"),
    [
        ("on-demand", [(1, 0.0, 1050.0, "done")]),
        # 250 s on spot are done; the slack is 350 s then, and is 2 d at 750 s
        ("greedy", [(0, 200.0, 500.0, "taken"), (1, 750.0, 1550.0, "done")]),
        # behind from the start; taken with 150 + 250 s done, which is ep(640 s)
        (
            "uniform-progress",
            [
                (1, 0.0, 200.0, "left"),
                (0, 200.0, 500.0, "taken"),
                (1, 640.0, None, None),
            ],
        ),
        # two moves at 0 s would be one too many
        (
            Ruled(
                "to and fro",
                lambda view: Choice(
                    view.on_demand if view.on is None or view.now_s else None
                ),
            ),
            [(1, 0.0, 1050.0, "done")],
        ),
        # what is left after spot is as cheap at any later time
        ("optimum", [(0, 200.0, 500.0, "taken"), (1, None, None, "done")]),
    ],
)
def test_the_course_of_a_small_market(policy, stays):
    result = course(policy, [DOWN_UP_DOWN])
    assert len(result) >= len(stays)
    for own, expected in zip(result, stays):
        for value, wanted in zip(own, expected):
            assert wanted is None or value == pytest.approx(wanted)


def test_uniform_progress_falls_behind_and_then_leads_by_two_overheads():
    """C / R = 0.8, d = 10: without spot, on demand from 0 until progress is ep(t + 2
    d); then idle until progress is ep(t).
    """
    down = zone((0, False))
    result = course(
        "uniform-progress", [down], work=800.0, deadline=1000.0, overhead=10.0
    )
    # progress t - 10 reaches 0.8 (t + 20) at t = 130; idle until 0.8 t is 120
    assert (*result[0][1:3], result[1][1]) == pytest.approx((0.0, 130.0, 150.0))
    assert result[-1][3] == "done"


def test_time_sliced_does_the_share_of_each_slice():
    result = course(
        "time-sliced:slices=2", [zone((0, False))], work=800.0, deadline=1200.0
    )
    # the first slice ends at 600 s: its 400 s of work and two overheads begin at 100 s
    assert result[0][3] == "left"
    assert (*result[0][1:3], result[1][1]) == pytest.approx((100.0, 550.0, 700.0))


def test_next_spot_skips_short_instances_and_uses_long_ones():
    short = zone((0, True), (75, False), name="short")
    long = zone((0, True), (900, False), name="long")
    # d k / (k - 1) = 75 s
    assert course("next-spot", [short])[0][0] == 1
    assert course("next-spot", [short, long])[0][:3] == (1, 0.0, 900.0)


@pytest.mark.parametrize(("next_s", "then"), [(500, (0, 500.0)), (510, (1, 400.0))])
def test_next_spot_waits_for_an_instance_until_it_is_two_overheads_behind(next_s, then):
    """250 s are done at 300 s, which is ep(500 s - 2 d), and ep(400 s)."""
    twice = zone((0, True), (300, False), (next_s, True), (1400, False))
    assert course("next-spot", [twice])[1][:2] == pytest.approx(then)


# ---- several places ----


def test_the_cheapest_zone_is_used_and_none_that_costs_more_than_on_demand():
    cheap, dear = (
        replace(zone((0, True), name=name), prices=(Price(0.0, usd_per_h),))
        for name, usd_per_h in (("cheap", 0.5), ("dear", 3.5))
    )
    assert course("greedy", [dear, cheap])[0][0] == 1
    assert course("uniform-progress", [dear])[0][0] == 1  # on demand


def test_failover_leaves_the_region_that_has_taken_an_instance():
    """Both are there when the first is taken: its neighbour, the cheaper one, and
    another region.
    """
    first = zone((0, True), (300, False), name="us-east-1a")
    near = zone((0, False), (100, True), name="us-east-1b")
    far = zone((0, True), name="us-west-2a")
    near = replace(near, prices=(Price(0.0, 0.5),))
    far = replace(far, prices=(Price(0.0, 1.2),))
    assert [stay[0] for stay in course("uniform-progress", [first, near, far])] == [
        0,
        1,
    ]
    assert [stay[0] for stay in course("uniform-failover", [first, near, far])] == [
        0,
        2,
    ]


def test_failover_stays_on_demand_until_it_is_two_overheads_ahead():
    """C / R = 0.8, d = 10: progress t - 10 reaches 0.8 (t + 20) at 130 s; spot is there
    from 20 s.
    """
    late = zone((0, False), (20, True))
    terms = {"work": 800.0, "deadline": 1000.0, "overhead": 10.0}
    assert course("uniform-progress", [late], **terms)[0][2] == pytest.approx(20.0)
    assert course("uniform-failover", [late], **terms)[0][2] == pytest.approx(130.0)


def test_lost_work_and_moved_data_are_paid_for():
    """900 s on spot in one region, then in another: 100 s lost, 10 GB moved."""
    zones = [
        zone((0, True), (400, False), name="us-east-1a"),
        zone((0, False), (400, True), name="us-west-2a"),
    ]
    saved = Checkpoints(
        write_s=100, size_gb=10, transfer_usd_per_gb=0.02, storage_usd_per_gb_month=7.3
    )
    run = carried_out("greedy", zones, checkpoints=saved)
    assert [stay.to_s for stay in run.plan.stays] == pytest.approx(
        [400.0, 400 + 50 + 1000 - 250]
    )
    expected = {
        "lost_h": 100 / 3600,
        "spot_usd": 1200 / 3600,
        "transfer_usd": 0.2,
        "storage_usd": 0.1 * 1200 / 3600,
        "cost_usd": 1200 / 3600 + 0.2 + 0.1 * 1200 / 3600,
    }
    assert {name: run.summary()[name] for name in expected} == pytest.approx(expected)


def test_jobs_wait_for_unavailable_on_demand_instances():
    late = course("optimum", [zone((0, False))], on_demand=zone((0, False)))
    assert late == [(1, 1600.0, 2650.0, "done")]
    out = zone((0, False), (400, True))
    result = course("on-demand", [zone((0, False))], on_demand=out)
    assert result == [(1, 400.0, 1450.0, "done")]
    assert course("on-demand", [zone((0, True), (100, False))], on_demand=out)[0][
        :2
    ] == (0, 0.0)
