"""Triage's rules on hand-made views, each beside the same view with the rule switched off."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cgrsp_simpy as cg
from cgrsp_simpy.rental.policies.scarcity import (
    all_scarce_h,
    late,
    law_of,
    next_band_s,
    occupation_s,
    overrun_s,
    variation,
)

HOUR = 3600.0
# within the peak of the calibrated clock, 4 h to 10 h, in which every type may be Low
PEAK_S, END_S = 6 * HOUR, 10 * HOUR
# in the peak an RTX 3090 is Low with chance 0.375, an RTX A4000 with 0.0625
SLOW, FAST = "RTX 3090", "RTX A4000"


def loose(id, left_s, now_s=0.0, complexity=1):
    """A job with so many seconds to its deadline."""
    return cg.Job(id, 0.0, now_s + left_s, complexity)


def tight(id, left_s, now_s=0.0, complexity=1):
    """A rush order with so many seconds to its deadline."""
    return cg.Job(id, 0.0, now_s + left_s, complexity, True)


def answer(queue, now_s, slots, parameters="", busy=None, **scenario):
    return cg.make_policy(f"triage:{parameters}")(
        cg.day("hectic", slots=slots, **scenario).moment(queue, now_s, busy)
    )


def sent(*args, **kwargs):
    """Pairs (job id, slot index)."""
    return [
        (item[0].id, item[1].index)
        for item in answer(*args, **kwargs)
        if not isinstance(item, cg.Wake)
    ]


def order(queue, now_s=0.0, parameters="", slot=FAST):
    """The ids in the order in which they are taken, on as many slots of one type."""
    return [id for id, _ in sent(queue, now_s, [slot] * len(queue), parameters)]


# ---- the law of the stock ----


def scarcity_left_s(market, gpu, now_s):
    known = replace(cg.day("hectic", slots=[gpu.name]), market=market).known()
    return law_of(known, gpu, now_s).left_s(market.clock.start_h + now_s / HOUR)


def test_the_end_of_the_scarcity_is_that_of_the_clock():
    market, gpu = cg.Market(), cg.THESIS_GPUS[0]
    assert scarcity_left_s(market, gpu, 3.9 * HOUR) == 0
    assert scarcity_left_s(market, gpu, 4 * HOUR) == pytest.approx(6 * HOUR)
    assert scarcity_left_s(market, gpu, 9.75 * HOUR) == pytest.approx(900)
    assert scarcity_left_s(market, gpu, 10 * HOUR) == 0
    assert scarcity_left_s(market, gpu, 30 * HOUR) == pytest.approx(4 * HOUR)  # the next day


def test_two_scarce_bands_that_touch_are_one_and_a_scarce_day_has_no_end():
    gpu = cg.THESIS_GPUS[0]
    assert scarcity_left_s(
        cg.Market(cg.Clock(((0, 1.0), (8, 0.5), (10, 0.3), (12, 1.0)), 9)), gpu, 0.0
    ) == pytest.approx(3 * HOUR)
    assert scarcity_left_s(cg.Market(cg.Clock(((0, 0.5), (8, 0.3)))), gpu, 0.0) == inf
    assert scarcity_left_s(cg.Market(cg.Clock(((0, 1.0),))), gpu, 0.0) == 0


def test_the_overrun_is_the_integral_over_the_delay():
    market = cg.Market()
    assert overrun_s(market, 0.5, 75.0, 0.0) == pytest.approx(0.5 * (3900 + 75))
    assert overrun_s(market, 0.5, 75.0, 7275.0) == 0
    # Left 3975 s: half of the delays overrun, by 1650 s on average
    assert overrun_s(market, 1.0, 75.0, 3975.0) == pytest.approx(0.5 * 1650)
    certain = cg.Market(delay_s=((0, 0), (0, 0), (900, 900)))
    assert overrun_s(certain, 0.5, 100.0, 400.0) == pytest.approx(300)


def test_a_slow_type_is_worth_it_from_a_number_of_jobs_that_grows_with_the_better_slots():
    def enough(gpu, slots):
        return law_of(cg.day("hectic", slots=slots).known(), gpu, PEAK_S).enough

    rtx_3090, a4000 = cg.THESIS_GPUS[0], cg.THESIS_GPUS[3]
    # Occupations: High 0.25, Medium 0.375, Low 0.375 -> 1492 s and 72.1 s of work; 0.375, 0.5625,
    # 0.0625 -> 287.8 s and 71.1 s
    own_s, better_s = 1.25 + 28.125 + 1462.5 + 72.14, 1.875 + 42.1875 + 243.75 + 71.12
    assert enough(rtx_3090, [SLOW, FAST]) == pytest.approx((own_s - better_s) / better_s, rel=1e-3)
    assert enough(rtx_3090, [SLOW, FAST, FAST]) == pytest.approx(2 * enough(rtx_3090, [SLOW, FAST]))
    assert enough(a4000, [SLOW, FAST]) == enough(rtx_3090, [SLOW, SLOW]) == 0


def test_the_next_hours_in_which_all_types_are_scarce():
    known = cg.day("hectic").known()
    assert all_scarce_h(known, 0.0) == (12, 18)
    assert all_scarce_h(known, END_S) == (12, 18)  # the next day's
    assert all_scarce_h(known, PEAK_S) is None
    half = replace(cg.day("hectic"), market=cg.Market(cg.Clock(((0, 1.0), (6, 0.55)), 0))).known()
    assert all_scarce_h(half, 0.0) is None  # an A4000 is not scarce at 0.55
    assert all_scarce_h(cg.day("hectic", slots=[FAST]).known(), 0.0) == (12, 18)


def test_the_law_changes_next_where_the_clock_says():
    market = cg.Market()
    assert next_band_s(market, 0.0) == pytest.approx(4 * HOUR + 1)
    assert next_band_s(market, 4 * HOUR + 2) == pytest.approx(10 * HOUR + 1)
    assert next_band_s(cg.Market(cg.Clock(((0, 1.0),))), 0.0) > 0


@given(
    st.lists(st.tuples(st.floats(0, 900), st.floats(0, 900)), min_size=3, max_size=3),
    st.floats(-100, 2000),
)
def test_chance_and_time_of_lateness_are_those_of_the_mixture(ranges, laxity_s):
    delay_s = tuple((least, least + width) for least, width in ranges)
    market = cg.Market(delay_s=delay_s)
    law = law_of(replace(cg.day("hectic"), market=market).known(), cg.THESIS_GPUS[0], PEAK_S)
    chance, mean_s = late(market, law, laxity_s)
    uniform = (np.arange(2000) + 0.5) / 2000
    delays = [least + (most - least) * uniform for least, most in delay_s]
    wanted = [(own > laxity_s).mean() for own in delays]
    assert chance == pytest.approx(np.dot(law.chances, wanted), abs=2e-3)
    wanted_s = [np.maximum(own - laxity_s, 0).mean() for own in delays]
    assert mean_s == pytest.approx(np.dot(law.chances, wanted_s), abs=1)


# ---- not scarce ----


def test_shortest_first_then_deadline_while_nothing_is_urgent():
    queue = [
        loose(0, 9000, complexity=3),
        loose(1, 8000, complexity=1),
        tight(2, 3000, complexity=2),
        loose(3, 7000, complexity=1),
    ]
    assert order(queue) == [3, 1, 2, 0]


def test_an_urgent_job_goes_first_by_deadline_whatever_its_class():
    queue = [loose(0, 9000), loose(1, 350, complexity=3), tight(2, 340, complexity=3)]
    assert order(queue) == [2, 1, 0]
    assert order(queue, parameters="urgent_s=0") == [0, 2, 1]


def test_urgent_begins_at_the_threshold_before_the_latest_start():
    below, at = [[loose(0, 9000), loose(1, 98.2 + x, complexity=3)] for x in (299.9, 300.1)]
    assert order(below, parameters="line=false") == [1, 0]
    assert order(at, parameters="line=false") == [0, 1]


def test_a_job_that_a_medium_delay_would_make_late_comes_after_the_safe_ones_and_before_the_doomed():
    queue = [loose(0, 40), loose(1, 60 + 119), loose(2, 60 + 121), loose(3, 9000, complexity=3)]
    assert order(queue, parameters="late_first=false,line=false") == [2, 3, 1, 0]
    assert order(queue, parameters="margin=false,late_first=false,line=false") == [1, 2, 3, 0]
    barely = [loose(0, 60.5), loose(1, 9000)]
    assert order(barely, parameters="margin=false") == [0, 1]


def rushes(left_s, now_s=0.0):
    """A short loose job, and ten long rush orders with so many seconds to their deadline."""
    return [loose(0, 12_000, now_s), *(tight(id, left_s, now_s, 3) for id in range(1, 11))]


def first(*args, **kwargs):
    """Whom the only slot is given to."""
    return sent(*args, **kwargs)[0][0]


def test_a_tight_class_is_pressed_when_its_line_leaves_no_time():
    # the slot completes a job every 99 s; ten take 989 s, and 98 s are the last one's work
    assert first(rushes(1400), 0.0, [FAST], "spread=false") == 0
    assert first(rushes(1370), 0.0, [FAST], "spread=false") == 1
    assert first(rushes(1370), 0.0, [FAST], "line=false") == 0
    assert first(rushes(1370)[:3], 0.0, [FAST]) == 0  # two have time


def met(known, time_s):
    """By type the chances of each stock that a dispatch meets."""
    return {gpu: known.market.probabilities(gpu, time_s) for gpu in known.types}


def test_a_line_leaves_time_for_a_standard_deviation_of_its_own():
    known = cg.day("hectic", slots=[FAST]).known()
    one_s = occupation_s(known, known.fleet[0], 0.0)
    due_s = 98.2 + 10 * one_s + 300 + 10**0.5 * one_s * variation(known, met(known, 0.0))
    assert 1500 < due_s < 1520
    assert first(rushes(due_s + 1), 0.0, [FAST]) == 0
    assert first(rushes(due_s - 1), 0.0, [FAST]) == 1
    assert first(rushes(due_s - 1), 0.0, [FAST], "spread=false") == 0


@pytest.mark.parametrize("time_s", [0.0, PEAK_S])
def test_the_variation_is_that_of_drawn_delays_and_times(time_s):
    known = cg.day("hectic", slots=[SLOW, FAST, FAST]).known()
    rng = np.random.default_rng(1)
    held_s = []
    for gpu in known.fleet:
        chances = known.market.probabilities(gpu, time_s)
        low, high = np.array(known.market.delay_s)[rng.choice(3, 200_000, p=chances)].T
        work_s = rng.choice(gpu.mean_execution_s, 200_000, p=known.complexity_mix)
        held_s.append(rng.uniform(low, high) + work_s)
    wanted = np.std(held_s) / np.mean(held_s)
    assert variation(known, met(known, time_s)) == pytest.approx(wanted, rel=0.02)


def test_what_is_certain_does_not_vary():
    one = cg.GpuType("one", 0.1, (60.0,) * 3, 1.0)
    certain = cg.Market(cg.Clock(((0, 1.0),)), delay_s=((20.0, 20.0),) * 3)
    day = replace(cg.day("hectic"), gpus=(one,), slots=(one,), market=certain)
    assert variation(day.known(), met(day.known(), 0.0)) == 0


def test_no_class_is_pressed_when_its_line_is_in_vain():
    # three quarters of the line take 742 s
    assert first(rushes(850), 0.0, [FAST]) == 1
    assert first(rushes(830), 0.0, [FAST]) == 0


def test_a_loose_class_is_pressed_while_its_line_of_all_jobs_leaves_time_but_little():
    known = cg.day("hectic", slots=[FAST]).known()
    one_s = occupation_s(known, known.fleet[0], 0.0)
    whole_s = 98.2 + 11 * one_s  # ten that are alike, and one beside them
    spare_s = 300 + 11**0.5 * one_s * variation(known, met(known, 0.0))

    def taken(left_s, parameters=""):
        alike = [loose(id, left_s, 0.0, 3) for id in range(1, 11)]
        return first([loose(0, 12_000), *alike], 0.0, [FAST], parameters)

    assert taken(whole_s + spare_s + 1) == 0
    assert taken(whole_s + spare_s - 1) == 1
    assert taken(whole_s + 1) == 1
    assert taken(whole_s - 1) == 0  # in vain
    assert taken(whole_s + 1, "line=false") == 0


def test_loose_jobs_are_pressed_by_their_deadlines_not_by_the_scarce_hours_to_come():
    now_s = 4 * HOUR - 450
    assert first([loose(0, 30_000, now_s), loose(1, 3000, now_s, 3)], now_s, [FAST]) == 0


def test_a_deadline_in_the_scarce_hours_to_come_counts_as_their_start():
    now_s = 4 * HOUR - 450
    queue = [loose(0, 30_000, now_s), tight(1, 3000, now_s, 3)]
    assert first(queue, now_s, [FAST]) == 1
    assert first(queue, now_s, [FAST], "foresight=false") == 0
    assert first(queue, now_s - 200, [FAST]) == 0
    after = [queue[0], tight(1, 450 + 6 * HOUR + 400, now_s, 3)]  # the recovery will serve it
    assert first(after, now_s, [FAST]) == 0
    # it takes 98.2 s, and is urgent 300 s before its latest start
    rescued = [queue[0], tight(1, 450 + 6 * HOUR + 397, now_s, 3)]
    assert first(rescued, now_s, [FAST]) == 1


def test_a_late_job_goes_by_what_its_minutes_cost_while_all_is_calm():
    queue = [loose(0, 9000), loose(1, 40, complexity=3)]
    assert order(queue) == [1, 0]
    assert order(queue, parameters="late_first=false") == [0, 1]
    assert order(queue, parameters="price_late_usd_per_min=0") == [0, 1]
    # not if one is due after the scarce hours begin, or if others have no time to lose
    assert order([*queue, loose(2, 5 * HOUR)]) == [0, 2, 1]
    assert first([*queue, *(loose(id, 2000, 0.0) for id in range(2, 40))], 0.0, [FAST]) != 1


def test_a_slot_is_never_held_outside_the_scarce_hours():
    assert len(sent([loose(id, 9000) for id in range(5)], 0.0, 5)) == 5
    assert sent([loose(0, 9000)], 0.0, [SLOW], busy={}) == [(0, 0)]


def test_the_slot_of_least_expected_occupation_is_taken():
    assert sent([loose(0, 9000)], 0.0, [SLOW, "RTX A5000", FAST, "RTX A4500"]) == [(0, 2)]
    # Complexity 3 takes 88.7 s on an RTX A4500 and 98.2 s on an RTX A4000, whose delay is 3.2 s
    # shorter on average
    assert sent([loose(0, 9000, complexity=3)], 0.0, [FAST, "RTX A4500"]) == [(0, 1)]


# ---- scarce ----


def test_earliest_deadline_first_while_low_stock_is_possible():
    queue = [loose(0, 20_000, PEAK_S, 1), loose(1, 15_000, PEAK_S, 3), loose(2, 18_000, PEAK_S, 2)]
    assert order(queue, PEAK_S) == [1, 2, 0]
    assert order(queue, PEAK_S, "scarce_edf=false") == [0, 2, 1]


def test_shortest_first_in_scarcity_if_rush_orders_are_too_many():
    queue = [tight(0, 3000, PEAK_S, 1), tight(1, 2900, PEAK_S, 3)]
    assert order(queue, PEAK_S) == [1, 0]

    def taken(number, *others, parameters=""):
        many = [*queue, *(tight(id, 2950, PEAK_S, 2) for id in range(2, number)), *others]
        return first(many, PEAK_S, [FAST], parameters)

    # one takes some 359 s: of the line of twenty there is time for .4, of that of forty for .2
    outlives = loose(60, 15_000, PEAK_S, 3)
    assert (taken(20), taken(20, outlives)) == (0, 1)
    assert (taken(40), taken(40, outlives)) == (0, 0)
    assert taken(40, parameters="line=false") == 1


def test_tight_jobs_go_before_loose_ones_and_doomed_tight_ones_before_those_due_later():
    queue = [
        loose(0, 16_000, PEAK_S),
        loose(1, 30, PEAK_S),
        tight(2, 3000, PEAK_S),
        tight(3, 40, PEAK_S),
    ]
    assert order(queue, PEAK_S) == [2, 3, 0, 1]


def test_a_loose_job_without_margin_comes_after_the_safe_ones():
    queue = [loose(0, 100, PEAK_S), loose(1, 16_000, PEAK_S)]
    assert order(queue, PEAK_S) == [1, 0]
    assert order(queue, PEAK_S, "margin=false") == [0, 1]


def test_a_tight_job_that_the_recovery_will_serve_is_held_and_the_policy_asks_to_be_woken():
    now_s = END_S - 1800
    early, late = tight(0, 1800 + 60 + 299, now_s), tight(1, 1800 + 60 + 301, now_s)
    assert sent([early, late], now_s, [FAST, FAST]) == [(0, 0)]
    assert answer([early, late], now_s, [FAST, FAST])[-1] == cg.Wake(END_S + 1)
    assert len(sent([early, late], now_s, [FAST, FAST], "recovery=false")) == 2
    assert sent([early, late], END_S, [FAST, FAST]) != []


def test_a_slow_slot_waits_until_enough_jobs_do():
    # 0.3 of the threshold with one better slot: 0.3 x 3.36 = 1.01
    one, two = [[loose(id, 16_000, PEAK_S) for id in range(number)] for number in (1, 2)]
    busy = {1: PEAK_S + 60}
    assert sent(one, PEAK_S, [SLOW, FAST], busy=busy) == []
    assert sent(two, PEAK_S, [SLOW, FAST], busy=busy) == [(0, 0)]
    assert sent(one, PEAK_S, [SLOW, FAST], "gate=0", busy=busy) == [(0, 0)]
    assert sent(one, PEAK_S, [FAST, FAST], busy=busy) == [(0, 0)]


def test_the_gate_for_tight_jobs_counts_tight_jobs_alone():
    queue = [tight(0, 3000, PEAK_S), loose(1, 16_000, PEAK_S)]
    busy = {1: PEAK_S + 60}
    assert sent(queue, PEAK_S, [SLOW, FAST], busy=busy) == [(1, 0)]
    assert sent([*queue, tight(2, 3100, PEAK_S)], PEAK_S, [SLOW, FAST], busy=busy) == [(0, 0)]
    assert sent(queue, PEAK_S, [SLOW, FAST], "gate=0", busy=busy) == [(0, 0)]


def test_a_slot_is_closed_when_a_dispatch_costs_those_who_wait_more_than_it_gives():
    # 20 min before the end a Low draw holds an RTX 3090 for 1037 s beyond it on average: 20 jobs
    # lose 20 x (1037 - 112) / 1
    now_s = END_S - 1200
    queue = [loose(id, 9000, now_s) for id in range(20)]
    assert sent(queue, now_s, [SLOW]) == []
    [wake] = answer(queue, now_s, [SLOW])
    assert wake.at_s == pytest.approx(END_S + 1)
    assert sent(queue, now_s, [SLOW], "closing=false") == [(0, 0)]
    assert sent(queue[:1], now_s, [SLOW]) == [(0, 0)]  # one job: 925 s against 1200 s
    # early in the peak no draw reaches beyond it
    assert sent(queue, END_S - 5.9 * HOUR, [SLOW]) == [(0, 0)]
    assert sent(queue, END_S, [SLOW]) == [(0, 0)]


def test_a_closed_slot_still_serves_a_tight_job_that_cannot_wait():
    now_s = END_S - 1200
    queue = [
        *(loose(id, 9000, now_s) for id in range(20)),
        tight(20, 600, now_s),
        tight(21, 30, now_s),
    ]
    assert sent(queue, now_s, [SLOW, SLOW]) == [(20, 0)]


# ---- what a slot costs ----

CHEAP = cg.GpuType("cheap", 0.3, (60.0,) * 3, 0.6)
DEAR = cg.GpuType("dear", 10.0, (15.0,) * 3, 0.6)


def taken(waiting, parameters="", gpus=(CHEAP, DEAR), now_s=0.0, left_s=9000, **market):
    """The type that the first of some waiting jobs is put on, one slot of free type."""
    scenario = cg.Scenario(
        "prices", cg.PoissonWorkload(9, 0.1), (gpus[0],), gpus, True, cg.Market(**market)
    )
    queue = [tight(id, left_s, now_s) for id in range(waiting)]
    answer = cg.make_policy(f"triage:{parameters}")(scenario.moment(queue, now_s))
    return answer[0][1].gpu.name


def test_a_dear_type_is_taken_when_what_it_saves_the_others_is_worth_its_rent():
    # 45 s shorter at .001 USD a minute of each; 15 x 10 - 60 x .3 USD s / h = .0367 USD more
    worth = 0.0367 / (45 * 0.001 / 60)
    assert taken(int(worth) - 1) == "cheap"
    assert taken(int(worth) + 2) == "dear"
    assert taken(1, "score=false") == "dear"
    assert taken(1, "price_wait_usd_per_min=0.1") == "dear"


def test_a_type_whose_low_stock_may_make_a_job_late_is_worth_less_than_a_slow_one():
    risky = cg.GpuType("risky", 0.3, (20.0,) * 3, 0.75)  # Low with chance .0625 in the peak
    sure = cg.GpuType("sure", 0.3, (260.0,) * 3, 0.9)
    pair = {"gpus": (risky, sure), "now_s": PEAK_S, "left_s": 2000}
    assert taken(1, **pair) == "sure"
    assert taken(1, "price_miss_usd=0,price_late_usd_per_min=0", **pair) == "risky"
    assert taken(1, **pair | {"left_s": 9000}) == "risky"  # no Low delay is so long


def test_low_stock_that_takes_little_of_the_shortest_window_is_no_scarcity():
    clock = cg.Clock(((0, 0.5),))
    for longest_s, parameters, scarce in (
        (360, "", False),
        (361, "", True),
        (361, "harmless=0.2", False),
        (100, "harmless=0", True),
    ):
        market = cg.Market(clock, ((0, 10), (30, 120), (100, longest_s)))
        day = replace(cg.day("hectic", slots=[FAST]), market=market)
        queue = [loose(0, 9000), tight(1, 3400, complexity=3)]
        [(job, _), *_] = cg.make_policy(f"triage:{parameters}")(day.moment(queue, 0.0))
        assert job.tight == scarce  # where it is, rush orders go first


# ---- free types, several GPUs, other markets ----


def test_with_free_types_the_type_of_least_expected_occupation_is_provisioned():
    for now_s in (0.0, PEAK_S):
        [(_, slot)] = answer([loose(0, 16_000, now_s)], now_s, 1, free_types=True)
        assert slot.gpu.name == FAST


def test_a_job_of_several_gpus_takes_the_slots_of_least_delay_and_is_not_overtaken():
    pair, single = cg.Job(0, 0.0, 200.0 + 61, gpus=2), loose(1, 9000)
    [(_, slots), _] = answer([pair, single], 0.0, [SLOW, FAST, FAST])
    assert [slot.index for slot in slots] == [1, 2]
    assert answer([pair, single], 0.0, [SLOW, FAST, FAST], busy={0: 60.0, 1: 60.0}) == []


def test_a_gang_is_served_on_slots_that_are_too_slow_for_one():
    gang = cg.Job(0, 0.0, PEAK_S + 16_000, gpus=2)
    [(_, slots)] = answer([gang], PEAK_S, [SLOW, FAST])
    assert sorted(slot.index for slot in slots) == [0, 1]


@pytest.mark.parametrize(
    "bands",
    [((0, 0.5),), ((0, 0.0),), ((0, 0.5), (23, 1.0)), ((0, 0.9), (1, 0.3), (2, 1.3), (23.9, 0.1))],
)
@pytest.mark.parametrize("free_types", [False, True])
def test_no_market_makes_it_hold_for_ever(bands, free_types):
    for jobs, rate_per_s in ((40, 0.1), (5, 0.0001)):
        load = cg.PoissonWorkload(jobs, rate_per_s)
        market = cg.Market(cg.Clock(bands))
        run = cg.simulate(
            cg.Scenario("any", load, market=market, free_types=free_types), "triage", 1
        )
        assert run.summary()["completed"] == jobs


def test_one_policy_object_serves_runs_in_different_markets():
    policy = cg.make_policy("triage")
    calm = cg.Scenario(
        "calm", cg.PoissonWorkload(60, 0.05), market=cg.Market(cg.Clock(((0, 1.0),)))
    )
    scarce = cg.Scenario("scarce", calm.workload, market=cg.Market(cg.Clock(((0, 0.5), (2, 1.0)))))
    for scenario in (calm, scarce, calm):
        assert cg.simulate(scenario, policy, 3).summary() == pytest.approx(
            cg.simulate(scenario, "triage", 3).summary()
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("urgent_s=-1", "urgent_s"),
        ("gate=-0.1", "gate"),
        ("gate=nan", "gate"),
        ("margin=2", "margin"),
        ("closing=no", "true or false"),
        ("hold=true", "hold"),
        ("price_miss_usd=-1", "price_miss_usd"),
        ("price_wait_usd_per_min=inf", "price_wait_usd_per_min"),
        ("harmless=-0.1", "harmless"),
        ("score=1", "score"),
    ],
)
def test_wrong_parameters_are_named(text, message):
    with pytest.raises(cg.InputError, match=message):
        cg.make_policy(f"triage:{text}")


def test_switches_are_truth_values():
    with pytest.raises(cg.InputError, match="recovery"):
        cg.POLICIES["triage"](recovery=1)
