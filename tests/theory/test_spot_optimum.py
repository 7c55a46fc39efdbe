"""The omniscient optimum against a search through every course on a grid twice as fine,
and cases with an obvious optimum.
"""

import math
from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from spot.cases import a_coarse_program  # noqa: F401
from support import refusals

from cgrsp_simpy.market.series import Series
from cgrsp_simpy.market.zones import Price, Stretch, Zone
from cgrsp_simpy.spot.job import FREE, Checkpoints, Job
from cgrsp_simpy.spot.optimum import Market, optimum
from cgrsp_simpy.spot.scenario import Scenario
from cgrsp_simpy.studies.subject import subject_of

STEP_S = 60
HISTORY = Series.of("seen", STEP_S, [True, False, True, True])


def zone(status, name="a", prices=(), kept=False):
    """A zone with a status, and a price, in each step from the start on."""
    changes = [0, *(k for k in range(1, len(status)) if status[k] != status[k - 1])]
    stretches = tuple(Stretch(float(k * STEP_S), bool(status[k])) for k in changes)
    moves = [k for k in range(len(prices)) if not k or prices[k] != prices[k - 1]]
    own = tuple(Price(float(k * STEP_S), prices[k]) for k in moves)
    return Zone(name, stretches, HISTORY, own, kept)


def terms(work, deadline, overhead, k=3.0):
    return Job(
        0, *(float(each * STEP_S) for each in (work, deadline, overhead)), 1.0, k
    )


def run_on(market, policy):
    scenario = Scenario(zones=len(market.zones))
    return subject_of(scenario).run(policy, drawn=[(0.0, market.job, market)])


class Place(NamedTuple):
    """A place of the search: status and price in each step."""

    status: list
    prices: list
    kept: bool
    region: str | None


def searched_usd(job, places, saved=FREE, finer=2):
    """The least cost over every course in steps of STEP_S / finer: at each step the job
    is idle, or has an instance, kept or begun again; one that it leaves takes the last
    computing with it.
    """
    step_s = STEP_S / finer
    work, deadline, overhead, write = (
        round(each / step_s)
        for each in (job.work_s, job.deadline_s, job.overhead_s, saved.write_s)
    )
    storing = saved.size_gb * saved.storage_usd_per_gb_month / 730 * step_s / 3600

    @cache
    def least(time, place, begun, recent, left, region):
        """place: None or one; begun: steps of its changeover that are done; recent:
        steps computed there, as far as they would be lost; region: of the checkpoint.
        """
        if left == 0:
            return 0.0
        if time == deadline:
            return float("inf")
        best = storing + least(time + 1, None, 0, 0, left + recent, region)
        for other, own in enumerate(places):
            closing = (
                own.kept and time % finer == 0 < time and own.status[time // finer - 1]
            )
            there = own.status[time // finer] or closing
            starts = [(begun, recent, left, region, 0.0)] if other == place else []
            if there:
                home = own.region or region
                moving = saved.size_gb * saved.transfer_usd_per_gb * (home != region)
                starts.append((0, 0, left + recent, home, moving))
            elif not own.kept:
                continue
            for so_far, at_risk, to_do, home, moving in starts:
                computes = so_far >= overhead
                then = least(
                    time + 1,
                    other,
                    min(so_far + 1, overhead),
                    min(at_risk + computes, write),
                    to_do - computes,
                    home,
                )
                usd = own.prices[time // finer] * step_s / 3600
                best = min(best, usd + storing + moving + then)
        return best

    return least(0, None, 0, 0, work, places[0].region)


@st.composite
def cases(draw):
    """A job and the status of zones in each step, at one price."""
    work, overhead = draw(st.integers(1, 7)), draw(st.integers(1, 2))
    deadline = work + overhead + draw(st.integers(0, 6))
    status = st.lists(st.booleans(), min_size=deadline, max_size=deadline)
    statuses = draw(st.lists(status, min_size=1, max_size=2))
    return terms(
        work, deadline, overhead, draw(st.sampled_from([1.2, 2.0, 3.0]))
    ), statuses


@given(cases())
@settings(max_examples=60)
# on demand comes first, and ends within a cell, since spot is needed to the very end
@example((terms(6, 9, 1), [[0, 0, 0, 0, 1, 1, 1, 1, 1]]))
def test_the_optimum_equals_that_of_a_search(case):
    job, statuses = case
    zones = tuple(zone(status, str(number)) for number, status in enumerate(statuses))
    result = optimum(job, zones)
    steps = int(job.deadline_s / STEP_S)
    places = [Place(status, [1.0] * steps, False, None) for status in statuses]
    places.append(Place([True] * steps, [job.on_demand_usd_per_h] * steps, True, None))
    assert result.cost_usd == pytest.approx(searched_usd(job, places), abs=1e-9)
    figures = run_on(Market(job, zones), "optimum").summary()
    assert figures["cost_usd"] == pytest.approx(result.cost_usd, abs=1e-9)
    assert not figures["missed"]


@st.composite
def priced_cases(draw):
    """Prices that move, instances that are kept, on demand that runs out,
    checkpoints.
    """
    work, overhead = draw(st.integers(1, 5)), draw(st.integers(1, 2))
    deadline = work + overhead + draw(st.integers(0, 5))
    job = terms(work, deadline, overhead)
    usual = st.sampled_from([True, True, True, False])
    regions = ["us-east-1", "us-west-2"][: draw(st.integers(1, 2))]
    places = []
    for _ in range(draw(st.integers(1, 2))):
        moving = st.sampled_from([0.3, 1.0, 1.7, 2.9])
        prices = draw(st.lists(moving, min_size=deadline, max_size=deadline))
        if draw(st.booleans()):
            prices = prices[:1] * deadline
        status = draw(st.lists(usual, min_size=deadline, max_size=deadline))
        places.append(
            Place(status, prices, draw(st.booleans()), draw(st.sampled_from(regions)))
        )
    dear = draw(st.lists(usual, min_size=deadline, max_size=deadline))
    dear = dear if draw(st.booleans()) else [True] * deadline
    places.append(Place(dear, [3.0] * deadline, True, None))
    saved = Checkpoints(
        write_s=draw(st.sampled_from([0.0, STEP_S / 2, STEP_S])),
        checkpoint_s=draw(st.sampled_from([0.0, 2.0 * STEP_S])),
        size_gb=1.0,
        transfer_usd_per_gb=draw(st.sampled_from([0.0, 0.01, 0.1])),
        storage_usd_per_gb_month=draw(st.sampled_from([0.0, 100.0])),
    )
    return job, places, saved


# on demand is begun in the last instant in which it is to be had, when spot is taken
CLOSES = [
    Place([1, 1, 1, 1, 1, 0, 0, 1, 1], [0.3] * 9, False, "us-east-1"),
    Place([1, 1, 1, 1, 1, 0, 1, 1, 1], [3.0] * 9, True, None),
]


# the same, and there is none on demand two changes before
BRIEFLY = [CLOSES[0], Place([0, 0, 0, 1, 1, 0, 0, 0, 0], [3.0] * 9, True, None)]
# the checkpoint is in the second region when its instance is taken, and stays there
AWAY = [
    Place([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [2.9] * 11, False, "us-east-1"),
    Place([1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1], [0.3] * 11, False, "us-west-2"),
    Place([1] * 11, [3.0] * 11, True, None),
]


@given(priced_cases())
# the instance begins before the price falls, and not at a change of the market
@example(
    (
        terms(4, 7, 1),
        [
            Place([1] * 6 + [0], [1.7] * 3 + [0.3] * 4, False, "us-east-1"),
            Place([1] * 7, [3.0] * 7, True, None),
        ],
        FREE,
    )
)
@example((terms(5, 9, 1), CLOSES, Checkpoints(write_s=30.0)))
@example((terms(5, 9, 1), BRIEFLY, Checkpoints(write_s=30.0)))
@example((terms(5, 11, 1), AWAY, Checkpoints(size_gb=1, transfer_usd_per_gb=0.01)))
@settings(max_examples=100)
def test_the_optimum_with_prices_and_checkpoints_equals_that_of_a_search(case):
    job, places, saved = case
    zones = tuple(
        zone(own.status, f"{own.region}{'ab'[number]}", own.prices, own.kept)
        for number, own in enumerate(places[:-1])
    )
    market = Market(job, zones, saved, zone(places[-1].status, "on demand"))
    least = searched_usd(job, places, saved)
    assert market.optimum.cost_usd == pytest.approx(least, abs=1e-9)
    figures = run_on(market, "optimum").summary()
    if math.isinf(least):
        assert market.optimum.plan == ()
        return
    assert figures["cost_usd"] == pytest.approx(least, abs=1e-7)
    assert not figures["missed"]
    bill = [
        figures[f"{part}_usd"] for part in ("spot", "on_demand", "transfer", "storage")
    ]
    assert sum(bill) == pytest.approx(figures["cost_usd"], abs=1e-9)


def test_a_zone_is_used_from_its_first_second_on():
    """Up from second 1 to the deadline, for a changeover of 1 s and work of 60 s."""
    assert optimum(
        Job(0, 60.0, 62.0, 1.0, 1.0, 3.0),
        (Zone("a", (Stretch(0.0, False), Stretch(1.0, True)), HISTORY),),
    ).cost_usd == pytest.approx(61 / 3600)


def test_a_zero_cost_run_still_ends_with_the_work():
    """It is left when the work is done, without a last checkpoint, although that were
    as cheap.
    """
    free = zone([0, 1, 1, 1, 1, 1], prices=[0.0] * 6)
    result = optimum(
        terms(2, 6, 1), (free,), Checkpoints(checkpoint_s=60.0, write_s=60.0)
    )
    (stay,) = result.plan
    assert (result.cost_usd, stay.place, stay.from_s, stay.to_s) == (
        0.0,
        0,
        60.0,
        240.0,
    )


test_an_optimum_is_of_whole_seconds_and_of_a_zone = refusals(
    (90.5, (zone([1] * 6),), "time(=90.5) must be whole seconds"),
    (
        90.0,
        (Zone("a", (Stretch(0.0, True), Stretch(7.2, False)), HISTORY),),
        "time(=7.2)",
    ),
    (90.0, (), "zones(=()) must be at least one Zone"),
    call=lambda work_s, zones: optimum(terms(2, 6, 1)._replace(work_s=work_s), zones),
)
