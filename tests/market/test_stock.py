"""Persistent stock and its observation: by definition, by its model, and in runs."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.judge import judge
from hypothesis import example, given
from hypothesis import strategies as st
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.decide.gaps import over_seeds
from cgrsp_simpy.market.model import CLOCKS
from cgrsp_simpy.market.stock import Stock, last_poll_s, law_changes_s
from cgrsp_simpy.studies.subject import subject_of

GPU = cg.THESIS_GPUS[0]

HOUR = 3600.0
LASTING = cg.Market(persistence_s=900, sight="now")


def recorded(gpu, statuses, step_s=HOUR, start_h=None):
    """A series with one status per step."""
    changes = [
        0,
        *(i for i in range(1, len(statuses)) if statuses[i] != statuses[i - 1]),
    ]
    times = tuple(i * step_s for i in changes)
    kept = tuple(statuses[i] for i in changes)
    return cg.StockSeries(gpu, times, kept, len(statuses) * step_s, start_h)


# ---- the model ----


def test_the_marginal_distribution_at_every_hour_is_that_of_the_thesis():
    """600 seeds, one look per hour: shares within 4 standard errors of Eq. 3.1; a model
    of another clock is not.
    """
    stocks, far = [Stock(LASTING, seed) for seed in range(600)], 0
    for hour in range(24):
        met = np.array([stock.status(GPU, hour * HOUR, 0.5) for stock in stocks])
        for status, chance in enumerate(LASTING.probabilities(GPU, hour * HOUR)):
            share = np.mean(met == status)
            error = math.sqrt(chance * (1 - chance) / 600)
            assert abs(share - chance) <= 4 * error
            other = cg.Market(CLOCKS["printed"]).probabilities(GPU, hour * HOUR)[status]
            far += abs(share - other) > 4 * error
    assert far > 20


TWO = cg.HourlyStock(GPU.name, [(0.6, 0.0, 0.4)] * 24, 36000.0, 500.0, 0.75, 600)
ON_TWO = cg.Market(cg.Clock(((0, 1.0),)), stock=(TWO,), sight="now")


def test_on_two_scales_stock_changes_only_at_polls_and_lasts_as_modelled():
    """120 days of polls, seed 1: mean runs d / ((1 - l) (1 - w(d))) of Low and d /
    (l (1 - w(d))) of other stock within 10 %; between the reported changes it stays.
    """
    stock = Stock(ON_TWO, 1)
    low = np.array([stock.status(GPU, 600.0 * i, 0.0) == 2 for i in range(120 * 144)])
    assert all(
        stock.status(GPU, 600.0 * i + 599.0, 0.0) == 2 * low[i]
        for i in range(0, 9000, 7)
    )
    leaves = 1 - ON_TWO.holding(GPU.name).kept(0.0, 600.0)
    assert cg.Market().holding(GPU.name).kept(0.0, 1e-9) == 0  # does not persist
    for inside, share in ((low, 0.6), (~low, 0.4)):
        ends = np.sum(inside[:-1] & ~inside[1:])
        assert inside.sum() / ends == pytest.approx(1 / (share * leaves), rel=0.1)
    message = set(stock.changes_s(GPU, -1.0, 9e5))
    assert {600.0 * i for i in range(1, 1500) if low[i] != low[i - 1]} <= message
    assert all(at_s % 600 == 0 for at_s in message if at_s % 3600)


def test_the_epochs_follow_the_types_own_stream():
    rng = stream(7, f"market {GPU.name}")
    first, gaps, values = rng.random(), rng.exponential(900, 256), rng.random(256)
    stock, epochs = Stock(LASTING, 7), gaps.cumsum()
    for place in range(5):
        just = epochs[place]
        before = first if place == 0 else values[place - 1]
        assert stock.status(GPU, just - 1e-6, 0.0) == LASTING.status(
            GPU, just - 1e-6, before
        )
        assert stock.status(GPU, just, 0.0) == LASTING.status(GPU, just, values[place])


@given(
    seed=st.integers(0, 2**32),
    times=st.lists(st.floats(0, 1e6), min_size=2, max_size=9),
)
def test_the_stock_is_the_same_in_whatever_order_it_is_asked_for(seed, times):
    one, other = Stock(LASTING, seed), Stock(LASTING, seed)
    gpus = cg.THESIS_GPUS
    asked = [one.status(gpu, time_s, 0.1) for time_s in times for gpu in gpus]
    again = [
        other.status(gpu, time_s, 0.9)
        for time_s in reversed(times)
        for gpu in reversed(gpus)
    ]
    assert asked == again[::-1]


def test_a_type_with_its_own_persistence_and_one_without():
    own = cg.HourlyStock("RTX A4000", [(0.5, 0.0, 0.5)] * 24, persistence_s=1e9)
    stock = Stock(cg.Market(stock=(own,), sight="now"), 0)
    lasting, other = cg.THESIS_GPUS[3], GPU
    assert len({stock.status(lasting, 50.0 * i, (i % 7) / 7) for i in range(100)}) == 1
    assert len({stock.status(other, 50.0 * i, (i % 7) / 7) for i in range(100)}) > 1
    stock.redraw(other, lambda status: 0)
    assert [stock.seen_s(gpu, 5.0) for gpu in (lasting, other)] == [5.0, None]


# ---- in runs ----


@pytest.mark.parametrize("sight", ["now", "poll:600"])
def test_the_view_shows_the_status_at_the_last_poll(sight):
    seen = []

    def looking(view):
        own = [(slot.gpu, view.status(slot), view.seen_s(slot)) for slot in view.idle]
        seen.extend((view.now_s, *each) for each in own)
        return list(zip(view.queue, view.idle))

    day = cg.day("normal", jobs=200, persistence_s=900, sight=sight, clock="printed")
    cg.simulate(day, looking, 2)
    stock = Stock(day.market, 2)
    for now_s, gpu, status, seen_s in seen:
        assert seen_s == (now_s if sight == "now" else 600 * math.floor(now_s / 600))
        assert status == stock.status(gpu, seen_s, 0.0)
    assert len({status for _, _, status, _ in seen}) == 3


@given(st.floats(0.1, 1e4), st.integers(0, 10**6), st.sampled_from([-1, 0, 1]))
@example(0.1, 17, -1)
@example(7.3, 21, 0)
def test_the_last_poll_is_not_after_now_and_the_next_one_is(poll_s, number, way):
    """Though quotients are rounded; at a poll, and next to it."""
    now_s = number * poll_s + way * math.ulp(number * poll_s)
    last_s = last_poll_s(now_s, poll_s)
    assert last_s <= now_s < (round(last_s / poll_s) + 1) * poll_s


# ---- replay ----


def test_a_replayed_series_is_met_from_the_clock_s_hour_of_one_of_its_days_on():
    statuses = np.random.default_rng(0).integers(0, 3, 24 * 10).tolist()
    series = recorded(GPU.name, statuses, start_h=20.0)
    market = cg.Market(series=(series,), sight="now")  # the clock starts at 8
    starts = set()
    for seed in range(60):
        stock = Stock(market, seed)
        met = [int(stock.status(GPU, (h + 0.9999) * HOUR, 0.0)) for h in range(300)]
        fits = [
            d
            for d in range(10)
            if all(met[h] == statuses[(12 + 24 * d + h) % 240] for h in range(300))
        ]
        assert len(fits) == 1
        starts |= set(fits)
    assert starts == set(range(9))  # the tenth is not whole


def test_a_series_without_hours_begins_anywhere_and_wraps():
    series = recorded(GPU.name, [0, 2], step_s=100.0)
    stocks = [Stock(cg.Market(series=(series,)), seed) for seed in range(400)]
    first = [int(stock.status(GPU, 0.0, 0.0)) for stock in stocks]
    assert abs(np.mean(first) - 1) < 4 / math.sqrt(400)
    for stock in stocks[:20]:
        changes = stock.changes_s(GPU, 0.0, 1000.0)
        assert len(changes) in (9, 10)
        assert np.allclose(np.diff(changes), 100)


def four_days_replayed():
    """A quiet day of 20 jobs on a slot, on a record of four days with three
    midnights.
    """
    statuses = np.random.default_rng(0).integers(0, 3, 24 * 4).tolist()
    series = recorded(GPU.name, statuses, start_h=20.0)
    return replace(
        cg.day("quiet", jobs=20, slots=1), market=cg.Market(series=(series,))
    )


def test_seeds_that_begin_on_one_day_of_a_record_count_once():
    """By definition: means over the days of the means of their runs; n is the number of
    days.
    """
    day, seeds = four_days_replayed(), range(9)
    begun = [
        int(12 + 24 * int(3 * stream(s, "market start").random())) // 24 for s in seeds
    ]
    assert [subject_of(day).in_common(seed) for seed in seeds] == begun and set(
        begun
    ) == {0, 1, 2}
    study = cg.compare(day, ["fifo", "spt"], seeds)
    waits, other = (
        np.array(study.values(name, "wait_min")) for name in ("spt", "fifo")
    )
    by_day = [
        [waits[np.equal(begun, d)].mean(), other[np.equal(begun, d)].mean()]
        for d in range(3)
    ]
    mine, reference = np.transpose(by_day)
    result = study.means()["spt"]["wait_min"]
    less = study.differences()["spt"]["wait_min"]
    assert (result.n, less.n, study.tests()["spt"]["wait_min"].n) == (3, 3, 3)
    expected, difference = (
        cg.statistics.mean(mine),
        cg.statistics.paired_difference(mine, reference),
    )
    assert (result.mean, result.half_width) == pytest.approx(
        (expected.mean, expected.half_width)
    )
    assert (less.mean, less.p) == pytest.approx((difference.mean, difference.p))
    title = "mean of 9 seeds, n = 3 starting days ± 95 % half width"
    assert study.tables[0].title == f"quiet: {title}"
    assert "paired by seed, n = 3 starting days (t-tests" in study.tables[1].title
    assert title in str(cg.sweep(day, {}, ["fifo"], seeds))
    assert "(n " not in str(study)
    check_refused(
        lambda: cg.compare(day, ["fifo"], seeds, precision=0.1),
        r"precision\(=0\.1\) must be omitted if a market is",
    )
    alone = cg.compare(cg.day("quiet", jobs=20, slots=1), ["fifo", "spt"], seeds)
    assert alone.n == alone.means()["spt"]["wait_min"].n == 9 and "n =" not in str(
        alone
    )


@pytest.mark.slow
def test_days_that_follow_each_other_may_be_correlated():
    """A record of ten days whose stock runs out in the middle, with nine midnights."""
    series = recorded(GPU.name, [0] * 120 + [2] * 120, start_h=20.0)
    day = replace(cg.day("quiet", jobs=20, slots=1), market=cg.Market(series=(series,)))
    seeds = range(40)
    study = cg.compare(day, ["fifo", "spt"], seeds)
    begun = [subject_of(day).in_common(seed) for seed in seeds]
    late, other = (
        np.array(study.values(name, "tardiness_min")) for name in ("spt", "fifo")
    )
    mine, reference = (
        [values[np.equal(begun, d)].mean() for d in range(9)]
        for values in (late, other)
    )
    expected = cg.statistics.mean(mine, in_order=True)
    assert study.means()["spt"]["tardiness_min"] == expected
    less = study.differences()["spt"]["tardiness_min"]
    assert less == cg.statistics.paired_difference(mine, reference, in_order=True)
    assert study.tests()["spt"]["tardiness_min"].p == less.p
    assert (
        less.half_width
        > 2 * cg.statistics.paired_difference(mine, reference).half_width
    )
    [judged] = judge([day], ["fifo", "spt"], seeds).against_best("spt", "tardiness_min")
    assert judged.difference == less
    assert over_seeds(day, seeds, study.values("spt", "tardiness_min")) == expected


def test_a_policy_knows_the_model_of_a_replay_and_not_its_future():
    day = cg.day("quiet", jobs=5)
    market = cg.Market(
        series=(recorded(GPU.name, [0, 2, 1]),), persistence_s=60, sight="now"
    )
    known = cg.Scenario("replay", day.workload, market=market).known().market
    assert (known.series, known.persistence_s, known.sight) == ((), 60, "now")


@pytest.mark.parametrize("start_h", [0.1, 7.7, 13.3, 22.9])
def test_the_chances_change_in_order_at_the_hours_of_the_clock(start_h):
    """Never too early, and at most a nanosecond late, by exact fractions of hours."""
    hours = (0, 0.7, 8.3, 17.9)
    market = cg.Market(cg.Clock([(hour, 1.0) for hour in hours], start_h))
    times_s = law_changes_s(market, 0.0, 3 * 24 * HOUR)
    exact_s = [
        ((Fraction(hour) - Fraction(start_h)) % 24 + 24 * day) * 3600
        for day in range(3)
        for hour in hours
    ]
    late_s = [Fraction(s) - exact for s, exact in zip(times_s, sorted(exact_s))]
    assert len(late_s) == 12 and -1e-10 < min(late_s) <= max(late_s) < 1.05e-9
    assert all(market.band(at_s) != market.band(at_s - 1e-8) for at_s in times_s)


# ---- tables and files ----


test_invalid_values_give_a_one_line_error = refusals(
    (
        lambda: cg.Market(persistence_s=-1),
        "persistence_s(=-1) must be a number >= 0",
    ),
    (
        lambda: replace(cg.Market(persistence_s=1), persistence_s=1e-6),
        "persistence_s(=1e-06) must be 0, or at least 1 s",
    ),
    (
        lambda: cg.Market(persistence_s="1h"),
        "persistence_s(='1h') must be a number >= 0",
    ),
    (
        lambda: cg.HourlyStock("A", [(1, 0, 0)] * 24, 9, 5, 0.5),
        (
            "persistence_s, switch_s and every_s of A(=[9, 5, 0]) must be all"
            " three > 0 with"
        ),
    ),
    (
        lambda: cg.HourlyStock("A", [(1, 0, 0)] * 24, 9, 5, 1, 600),
        "first_share < 1",
    ),
    (
        lambda: cg.HourlyStock("A", [(1, 0, 0)] * 24, None, 5, 0.5, 600),
        "(=[None, 5, 600])",
    ),
    (
        lambda: cg.HourlyStock("A", [(1, 0, 0)] * 24, 9, 0.5),
        "switch_s of A(=0.5) must be 0, or",
    ),
    (
        lambda: cg.HourlyStock("A", [(1, 0, 0)] * 24, 9, 5, 0.5, 1.5),
        "every_s of A(=1.5) must be",
    ),
    (lambda: cg.Market(sight="now"), "'none' if no stock persists"),
    (
        lambda: cg.Market(persistence_s=9, sight="later"),
        "'none', 'now' or 'poll:SECONDS'",
    ),
    (
        lambda: cg.Market(persistence_s=9, sight="poll:0"),
        "'none', 'now' or 'poll:SECONDS'",
    ),
    (
        lambda: cg.Market(persistence_s=9, sight="now:3"),
        "'none', 'now' or 'poll:SECONDS'",
    ),
    (
        lambda: cg.Market(persistence_s=9, sight=None),
        "sight(=None) must be a string",
    ),
    (
        lambda: cg.StockSeries("A", (), (), 1),
        "times_s of A(=()) must be an increasing list of seconds",
    ),
    (
        lambda: cg.StockSeries("A", (1,), (0,), 2),
        "times_s of A(=(1,)) must be an increasing list of seconds",
    ),
    (
        lambda: cg.StockSeries("A", (0, 0), (0, 1), 2),
        "an increasing list of seconds",
    ),
    (
        lambda: cg.StockSeries("A", (0,), (3,), 2),
        "statuses[0] of A(=3) must be 0, 1 or 2",
    ),
    (lambda: cg.StockSeries("A", (0, 2), (0, 1), 2), "length_s of A(=2) must be"),
    (lambda: cg.StockSeries("A", (0,), (0, 1), 2), "statuses of A(=2) must be 1"),
    (lambda: cg.StockSeries("A", (0,), (0,), 2, 24), "start_h of A(=24) must be"),
    (lambda: cg.Market(series=(1,)), "series[0](=1) must be of type StockSeries"),
    (
        lambda: cg.Scenario(
            "x",
            cg.day("quiet").workload,
            market=cg.Market(series=(recorded("B", [0]),)),
        ),
        "unknown GPU type of a stock series 'B'",
    ),
)


def test_a_series_that_changes_at_both_ends_of_a_span_changes_between_them_alone():
    own = cg.StockSeries("A", (0, 600, 900), (0, 2, 0), 1200)
    assert own.changes_s(600, 1200) == [900]
    assert own.changes_s(0, 1800.5) == [600, 900, 1200, 1800]
