"""Forecasts of the stock: expected delays, information from a look, better hours, jobs
that are completed.
"""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import cgrsp_simpy as cg
from cgrsp_simpy.market.model import LOW, Status
from cgrsp_simpy.market.stock import Stock
from cgrsp_simpy.rental.policies.outlook import (
    Band,
    Later,
    Outlook,
    beyond,
    completed,
    delay_of,
    last_look_s,
    mean_work_s,
    next_look_s,
    seen_chances,
)
from cgrsp_simpy.rental.policies.triage import after_of

HOUR, DAY_S, QUARTER_S = 3600.0, 86_400.0, 900.0
PEAK_S, END_S = 6 * HOUR, 10 * HOUR  # of 4 h to 10 h, in which every type may be Low
SLOW, FAST = "RTX 3090", "RTX A4000"
GPU, QUICK = cg.THESIS_GPUS[0], cg.THESIS_GPUS[3]


def known_of(market=None, slots=(SLOW, FAST, FAST), **day):
    made = cg.day("hectic", slots=list(slots), **day)
    return (replace(made, market=market) if market else made).known()


# ---- the distribution of a delay ----

RANGES = st.tuples(st.floats(0, 900), st.just(0.0) | st.floats(0.01, 900)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)
SHARES = st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any)


@example([(0.0, 0.0), (30.0, 120.0), (600.0, 7200.0)], [1, 1, 1], 0.0, 0)
@settings(max_examples=100)
@given(
    st.lists(RANGES, min_size=3, max_size=3),
    SHARES,
    st.floats(-300, 2000),
    st.integers(0, 6),
)
def test_chance_and_excess_match_the_mixture(delay_s, shares, left_s, at):
    """By the midpoints of 2000 parts of each range; at the ends of the ranges, too."""
    left_s = [left_s, *delay_s[0], *delay_s[1], *delay_s[2]][at]
    chances = [share / sum(shares) for share in shares]
    chance, mean_s = beyond(delay_of(delay_s, chances), left_s)
    uniform = (np.arange(2000) + 0.5) / 2000
    delays = [least + (most - least) * uniform for least, most in delay_s]
    wanted = np.dot(chances, [(own > left_s).mean() for own in delays])
    assert chance == pytest.approx(wanted, abs=1e-3)
    wanted_s = np.dot(chances, [np.maximum(own - left_s, 0).mean() for own in delays])
    assert mean_s == pytest.approx(wanted_s, abs=0.5)


def test_the_delay_at_chances_is_of_the_statuses_that_are_possible():
    market = cg.Market()
    assert delay_of(market.delay_s, (0.25, 0.375, 0.375)) == (
        ((0.25, 0, 10), (0.375, 30, 120), (0.375, 600, 7200)),
        0.25 * 5 + 0.375 * 75 + 0.375 * 3900,
        7200,
        0.25 * 5 + 0.375 * 75 + 0.375 * 3900,
    )
    assert delay_of(market.delay_s, (0.4, 0.6, 1e-9)) == (
        ((0.4, 0, 10), (0.6, 30, 120)),
        47.0,
        120,
        47.0,
    )
    assert delay_of(market.delay_s, (1.0, 0.0, 0.0)) == (((1.0, 0, 10),), 5.0, 10, 5.0)


# ---- information from a look ----


@given(st.sampled_from(list(Status)), st.floats(0, 20_000), st.floats(60, 20_000))
def test_probabilities_converge_from_the_observed_status_to_the_model(
    status, age_s, tau_s
):
    """Within a band: q_k = f [k = s] + (1 - f) p_k, f = exp(-age / tau)."""
    market = cg.Market(cg.Clock(((0, 0.5),)), persistence_s=tau_s, sight="now")
    chances = seen_chances(market, GPU, age_s, 0.0, status)
    law, kept = market.probabilities(GPU, 0.0), math.exp(-age_s / tau_s)
    wanted = [kept * (k == status) + (1 - kept) * law[k] for k in Status]
    assert chances == pytest.approx(wanted)
    assert sum(chances) == pytest.approx(1)


TWO = cg.HourlyStock(
    SLOW, [(0.4, 0.2, 0.4)] * 4 + [(0.3, 0.1, 0.6)] * 20, 9000, 700, 0.75, 600
)
ON_TWO = cg.Market(cg.Clock(((0, 1.0),)), stock=(TWO,), sight="poll:1300")


@pytest.mark.parametrize(
    ("market", "after_s", "seeds", "least"),
    [
        pytest.param(
            cg.Market(persistence_s=1500, sight="poll:5000"),
            500,
            4000,
            1000,
            marks=pytest.mark.slow,
        ),
        (ON_TWO, 700, 500, 75),
    ],
)
def test_over_a_change_of_the_model_the_chances_match_the_market_frequencies(
    market, after_s, seeds, least
):
    """Seen 500 s before hour 4, at which the model changes, met after it; 4 standard
    errors.
    """
    then_s, now_s = 4 * HOUR - 500, 4 * HOUR + after_s
    met = {status: Counter() for status in Status}
    for seed in range(seeds):
        stock = Stock(market, seed)
        met[stock.status(GPU, then_s, 0.0)][stock.status(GPU, now_s, 0.0)] += 1
    for status, result in met.items():
        number = result.total()
        for k, chance in zip(Status, seen_chances(market, GPU, now_s, then_s, status)):
            error = math.sqrt(max(chance * (1 - chance), 1e-12) / max(number, 1))
            assert result[k] / max(number, 1) == pytest.approx(
                chance, abs=4 * error + 1e-9
            )
    assert met[Status.HIGH].total() > least and met[Status.MEDIUM].total() > least


@pytest.mark.slow
def test_on_two_scales_low_stock_recovers_in_the_mean_when_the_band_says():
    """From a poll at which it is Low, in hours of one model: 1000 seeds, 4 standard
    errors; the slow scale alone is far off.
    """
    later = replace(ON_TWO, stock=(replace(TWO, chances=[(0.3, 0.1, 0.6)] * 24),))
    known = replace(cg.day("hectic", slots=[SLOW]), market=later).known()
    waits_s = []
    for seed in range(1000):
        stock, at_s = Stock(later, seed), 6000.0
        while stock.status(GPU, at_s, 0.0) == LOW:
            at_s += 600
        waits_s += [at_s - 6000] * (at_s > 6000)
    mean_s, error_s = np.mean(waits_s), np.std(waits_s) / math.sqrt(len(waits_s))
    assert abs(1 / Outlook(known).band(0.0).recovers_per_s(GPU) - mean_s) <= 4 * error_s
    assert abs(9000 / 0.4 - mean_s) > 4 * error_s


def test_on_two_scales_an_observation_loses_weight_by_the_model():
    """Stock is Low at the next observation with the model's current probability."""
    made = replace(cg.day("hectic", slots=[SLOW]), market=ON_TWO)
    now_s, look_s = 2000.0, 600.0
    seeds = (i for i in range(99) if Stock(ON_TWO, i).status(GPU, 1300.0, 0.0) == LOW)
    view = made.moment([], now_s, seed=next(seeds))
    outlook = Outlook(view.known)
    delay, later = outlook.moment(view, view.slots[0])
    band = outlook.band(now_s)
    low = seen_chances(ON_TWO, GPU, now_s + look_s, 1300.0, LOW)[LOW]
    assert delay == delay_of(
        ON_TWO.delay_s, seen_chances(ON_TWO, GPU, now_s, 1300.0, LOW)
    )
    poll_s = ON_TWO.poll_s
    back_s = low * poll_s / (1 - math.exp(-poll_s * band.recovers_per_s(GPU)))
    assert later[-1].after_s == pytest.approx(look_s + back_s) and later[-1].seen


def test_an_observed_status_that_the_model_excludes_is_accepted():
    market = cg.Market(cg.Clock(((0, 1.0),)), persistence_s=900, sight="now")
    assert market.probabilities(GPU, 0.0)[LOW] == 0  # .5, .5, 0
    assert seen_chances(market, GPU, 900.0, 0.0, LOW)[LOW] == pytest.approx(
        math.exp(-1)
    )


@pytest.mark.parametrize(
    ("sight", "now_s", "expected", "last"),
    [
        ("now", 7.0, 0, [10, 60, 150]),
        ("poll:50", 130.0, 20, [10, 20, 120]),
        ("poll:60", 120.0, 60, [10, 60, 120]),
        ("poll:600", 0.5, 599.5, [10, 60, 150]),
        ("none", 7.0, 0, [10, 60, 150]),
    ],
)
def test_the_stock_is_looked_at_again_at_the_next_poll(sight, now_s, expected, last):
    market = cg.Market(persistence_s=900, sight=sight)
    assert next_look_s(market, now_s) == expected
    assert [last_look_s(market, now_s, within_s) for within_s in (10, 60, 150)] == last


# ---- the hours of a day ----

SMALL = cg.GpuType("small", 0.36, (50.0, 100.0, 200.0), 0.5)
LARGE = cg.GpuType("large", 3.6, (20.0, 30.0, 40.0), 0.75)


def plain_busy_s(market, gpu, mix, time_s):
    """Mean work and mean delay."""
    work_s = sum(share * own_s for share, own_s in zip(mix, gpu.mean_execution_s))
    chances = market.probabilities(gpu, time_s)
    return work_s + sum(p * (a + b) / 2 for p, (a, b) in zip(chances, market.delay_s))


def plain_rate(known, time_s):
    """Jobs per second, summed over the slots; with free types, all slots as the fastest
    type.
    """
    mix, market = known.complexity_mix, known.market
    if known.free_types:
        times_s = [plain_busy_s(market, gpu, mix, time_s) for gpu in known.gpus]
        return len(known.fleet) / min(times_s)
    return sum(1 / plain_busy_s(market, gpu, mix, time_s) for gpu in known.fleet)


@st.composite
def quarters(draw):
    """A market that changes every 15 minutes or, for some types, every hour."""
    hours = draw(st.lists(st.integers(1, 95), max_size=5, unique=True))
    bands = [(hour / 4, draw(st.floats(0, 1.4))) for hour in [0, *sorted(hours)]]
    clock = cg.Clock(tuple(bands), draw(st.integers(0, 95)) / 4)
    one = st.sampled_from([(1.0, 0.0, 0.0), (0.2, 0.5, 0.3), (0.6, 0.4, 0.0)])
    own = cg.HourlyStock(SLOW, draw(st.lists(one, min_size=24, max_size=24)))
    return cg.Market(clock, stock=draw(st.sampled_from([(), (own,)])))


@settings(max_examples=30)
@given(quarters(), st.integers(-100, 300), st.floats(0, 900), st.booleans())
def test_the_completed_work_is_the_sum_over_15_minute_intervals(
    market, quarter, rest_s, free_types
):
    """From a day before the run, over midnight, to three days after its start."""
    known = known_of(market, free_types=free_types)
    whole = [number * QUARTER_S for number in range(min(quarter, 0), max(quarter, 0))]
    total = sum(plain_rate(known, begin_s + 450) * QUARTER_S for begin_s in whole)
    total = math.copysign(total, quarter) if quarter else 0.0
    total += plain_rate(known, quarter * QUARTER_S + 450) * rest_s
    outlook = Outlook(known)
    assert completed(outlook.forecasts, quarter * QUARTER_S + rest_s) == pytest.approx(
        total, abs=1e-6
    )
    band = outlook.band(quarter * QUARTER_S + 450)
    assert band.rate == pytest.approx(plain_rate(known, quarter * QUARTER_S + 450))
    assert band in outlook.bands


@settings(max_examples=30)
@given(
    quarters(), st.integers(0, 200), st.floats(1, 899), st.sampled_from([SLOW, FAST])
)
def test_better_hours_have_less_delay_than_all_earlier_ones(
    market, quarter, rest_s, name
):
    """Compared with a walk through the next 24 hours by quarters."""
    made = replace(cg.day("hectic", slots=[SLOW, FAST]), market=market)
    gpu = next(gpu for gpu in made.slots if gpu.name == name)
    now_s, wanted = quarter * QUARTER_S + rest_s, []

    def mean_delay_s(time_s):
        chances = market.probabilities(gpu, time_s)
        return sum(p * (a + b) / 2 for p, (a, b) in zip(chances, market.delay_s))

    least_s = mean_delay_s(now_s)
    for ahead in range(1, 96):
        begin_s = (quarter + ahead) * QUARTER_S
        if mean_delay_s(begin_s + 450) < least_s - 1e-6:
            least_s = mean_delay_s(begin_s + 450)
            wanted.append((begin_s - now_s, least_s))
    result = better_hours(made, name, now_s)
    assert [after_of(each, now_s) for each in result] == pytest.approx(
        [after_s for after_s, _ in wanted]
    )
    assert [each.delay.mean_s for each in result] == pytest.approx(
        [own_s for _, own_s in wanted]
    )
    assert not any(each.seen for each in result)


def better_hours(made, name, now_s):
    """Return the hours of less delay that the outlook expects for a type."""
    view = made.moment([], now_s)
    slot = next(slot for slot in view.slots if slot.gpu.name == name)
    return Outlook(view.known).moment(view, slot)[1]


def test_a_slot_works_except_while_low_stock_is_waited_out():
    """Low stock has probability .375 and lasts 2408 / .625 s on average, just less than
    the difference of its delay, 3,900 s, and that of other stock, 47 s.
    """
    seen = Outlook(known_of(persistence_s=2408, sight="now")).band(PEAK_S)
    assert seen.chances[SLOW] == (0.25, 0.375, 0.375)
    work_s = mean_work_s(seen.known, GPU)
    assert seen.recovers_per_s(GPU) == pytest.approx(0.625 / 2408)
    assert seen.good(GPU) == delay_of(seen.market.delay_s, (0.4, 0.6, 0.0))
    assert seen.busy_s[SLOW] == pytest.approx((work_s + 0.4 * 5 + 0.6 * 75) / 0.625)
    through_s = work_s + 0.25 * 5 + 0.375 * 75 + 0.375 * 3900
    # it recovers after 2409 / .625 s in the mean; or nobody sees it
    for stock in ({"persistence_s": 2409, "sight": "now"}, {"persistence_s": 900}):
        assert Outlook(known_of(**stock)).band(PEAK_S).busy_s[SLOW] == pytest.approx(
            through_s
        )
    # as long as the delay of Low stock
    equal = cg.Market(
        delay_s=((0.0, 0.0), (0.0, 0.0), (1800.0, 1800.0)),
        stock=(cg.HourlyStock(SLOW, [(0.5, 0.0, 0.5)] * 24, persistence_s=900),),
        sight="now",
    )
    assert Band(known_of(equal), 0.0).busy_s[SLOW] == pytest.approx(work_s + 900)


def test_stock_that_does_not_persist_or_is_always_low_does_not_recover():
    assert Outlook(known_of()).band(PEAK_S).recovers_per_s(GPU) == 0
    own = cg.HourlyStock(SLOW, [(0.0, 0.0, 1.0)] * 24)
    market = cg.Market(stock=(own,), persistence_s=900, sight="now")
    band = Band(known_of(market), 0.0)
    assert band.recovers_per_s(GPU) == 0
    assert band.busy_s[SLOW] == pytest.approx(mean_work_s(band.known, GPU) + 3900)


EQUAL = cg.GpuType("equal", 0.36, (64.0, 64.0, 64.0), 0.5)
EQUAL_TIMES = cg.Scenario(
    "equal",
    cg.PoissonWorkload(9, 0.01),
    (EQUAL,),
    (EQUAL,),
    market=cg.Market(delay_s=((8.0, 8.0),) * 3),
)


@pytest.mark.parametrize(
    ("known", "time_s"),
    [(known_of(), 0.0), (known_of(), PEAK_S), (EQUAL_TIMES.known(), 0.0)],
)
def test_the_variation_matches_drawn_delays_and_times(known, time_s):
    rng = np.random.default_rng(1)
    held_s = []
    for gpu in known.fleet:
        chances = known.market.probabilities(gpu, time_s)
        low, high = np.array(known.market.delay_s)[rng.choice(3, 50_000, p=chances)].T
        work_s = rng.choice(gpu.mean_execution_s, 50_000, p=known.complexity_mix)
        held_s.append(rng.uniform(low, high) + work_s)
    wanted = np.std(held_s) / np.mean(held_s)
    assert Outlook(known).band(time_s).variation == pytest.approx(wanted, 0.02, 1e-4)


def two_types(rate_per_s, free_types=False):
    """Three slots, on which a job of mean time 1 s has no delay."""
    gpus = (LARGE, SMALL)
    market = cg.Market(cg.Clock(((0, 1.0),)), delay_s=((0.0, 0.0),) * 3)
    load = cg.PoissonWorkload(9, rate_per_s)
    slots = (LARGE, SMALL, SMALL)
    return Band(cg.Scenario("two", load, slots, gpus, free_types, market).known(), 0.0)


def test_the_lines_are_of_the_cheapest_types_and_empty_at_half_their_rate_at_least():
    known = two_types(0.001).known
    mix = known.complexity_mix
    small, large = (
        1 / sum(s * t for s, t in zip(mix, gpu.mean_execution_s))
        for gpu in (SMALL, LARGE)
    )
    # 50 s at .36 USD per hour are .5 cents, 20 s at 3.6 USD are 2; complexity 3: both 2
    # cents
    for level in (0, 1):
        cheap, both = two_types(0.001).lines[level]
        assert cheap == (
            1,
            pytest.approx(SMALL.mean_execution_s[level] * 0.36 / 3600),
            pytest.approx(2 * small - 0.001),
        )
        both_spare = 2 * small + large - 0.001
        usd = LARGE.mean_execution_s[level] * 3.6 / 3600
        assert both == (0, pytest.approx(usd), pytest.approx(both_spare))
    # more arrives than they can serve: half of their rate
    for rate_per_s in (1.5 * small, 2 * small + 0.001, 9.0):
        cheap, both = two_types(rate_per_s).lines[0]
        assert cheap[2] == pytest.approx(max(2 * small - rate_per_s, small))
        all_two = 2 * small + large
        assert both[2] == pytest.approx(max(all_two - rate_per_s, all_two / 2))
    assert two_types(0.001, free_types=True).lines == [[], [], []]


# ---- a moment ----


def look(now_s, status=None, slot=0, seen_s=None, warm=False, slots=(SLOW,), **stock):
    """Return the moment at which a type has this observed status, and the outlook."""
    made = cg.day("hectic", slots=list(slots), **stock)
    view = made.moment([], now_s)
    outlook = Outlook(view.known)

    class Seen:
        known, waiting = view.known, 0
        warm = staticmethod(lambda own: given_warm)
        seen_s = staticmethod(lambda own: given_s)
        status = staticmethod(lambda own: given_status)

    given_warm, given_s, given_status = warm, seen_s, status
    Seen.now_s = now_s
    return (*outlook.moment(Seen, view.slots[slot]), outlook.band(now_s))


def test_without_persistence_a_moment_follows_the_model_of_its_hour():
    delay, later, band = look(PEAK_S)
    assert (
        delay
        == band.delays[SLOW]
        == delay_of(cg.Market().delay_s, (0.25, 0.375, 0.375))
    )
    assert [(after_of(each, PEAK_S), each.seen) for each in later] == [
        (4 * HOUR, False),
        (10 * HOUR, False),
    ]
    # it persists, and nobody looks
    unseen, later_too, _ = look(PEAK_S, persistence_s=900)
    assert (unseen, later_too) == (delay, later)


def test_low_stock_recovers_or_has_a_better_hour():
    delay, later, band = look(
        PEAK_S, LOW, seen_s=PEAK_S, persistence_s=9000, sight="now"
    )
    assert delay == delay_of(cg.Market().delay_s, (0, 0, 1))
    assert [each.seen for each in later] == [False, False, True]
    # at rate .625 / 9000, and no later than the better of the hours, in ten hours
    rate = 0.625 / 9000
    mean_s = (1 - math.exp(-rate * 10 * HOUR)) / rate
    assert later[-1].after_s == pytest.approx(mean_s)
    assert later[-1].delay.mean_s == pytest.approx(band.good(GPU).mean_s)
    near = look(END_S - 60, LOW, seen_s=END_S - 60, persistence_s=9000, sight="now")[1]
    assert after_of(near[0], END_S - 60) == pytest.approx(60)
    far_s = (1 - math.exp(-rate * (6 * HOUR + 60))) / rate
    assert near[-1].after_s == pytest.approx(far_s)


def test_stock_seen_high_long_ago_may_be_low_before_and_after_the_next_poll():
    now_s, sight = PEAK_S + 800, {"persistence_s": 900, "sight": "poll:900"}
    delay, later, _ = look(now_s, Status.HIGH, seen_s=PEAK_S, **sight)
    kept = math.exp(-800 / 900)
    chances = [kept + (1 - kept) * 0.25, (1 - kept) * 0.375, (1 - kept) * 0.375]
    assert [own for own, _, _ in delay.parts] == pytest.approx(chances)
    assert delay.mean_s == pytest.approx(np.dot(chances, [5, 75, 3900]))
    # 100 s to the next look, with these chances; then polls until one shows other stock
    kept = math.exp(-100 / 900)
    low = 0.375 + (chances[2] - 0.375) * kept
    rate = 0.625 / 900
    back_s = (
        900 / (1 - math.exp(-rate * 900)) * (1 - math.exp(-rate * (10 * HOUR - 800)))
    )
    assert later[-1].after_s == pytest.approx(100 + low * back_s)
    medium = 0.375 + (chances[1] - 0.375) * kept + low * 0.6
    assert later[-1].delay.mean_s == pytest.approx(medium * 75 + (1 - medium) * 5)
    assert len(later) == 3
    fresh, soon, _ = look(PEAK_S + 1, Status.HIGH, seen_s=PEAK_S, **sight)
    assert 0 < beyond(fresh, 600)[0] < 0.001 and soon[-1].after_s > 899


def test_low_stock_that_never_recovers_leaves_the_better_hours():
    always = [(1e-10, 0.0, 1 - 1e-10)] * 12 + [(1.0, 0.0, 0.0)] * 12
    own = cg.HourlyStock(SLOW, always)
    market = cg.Market(
        cg.Clock(((0, 1.0),)), stock=(own,), persistence_s=900, sight="now"
    )
    made = replace(cg.day("hectic", slots=[SLOW]), market=market)
    view = made.moment([], HOUR)
    assert view.status(view.slots[0]) == LOW
    delay, later = Outlook(view.known).moment(view, view.slots[0])
    assert delay == delay_of(market.delay_s, (0, 0, 1))
    assert later == [Later(12 * HOUR, delay_of(market.delay_s, (1, 0, 0)))]
