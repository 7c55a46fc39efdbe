"""Triage where stock persists and is seen, where instances are warm, and jobs that yield."""

import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cgrsp_simpy as cg
from cgrsp_simpy.rental.market import LOW, Status
from cgrsp_simpy.rental.policies.scarcity import law_of, seen_chances, seen_law, sight_of
from cgrsp_simpy.rental.stock import Stock

HOUR = 3600.0
PEAK_S, END_S = 6 * HOUR, 10 * HOUR
SLOW, FAST = "RTX 3090", "RTX A4000"
GPU = cg.THESIS_GPUS[0]

# ---- what a look tells ----


@given(st.sampled_from(list(Status)), st.floats(0, 20_000), st.floats(60, 20_000))
def test_the_chances_fade_from_the_status_seen_to_the_law(status, age_s, tau_s):
    """Within a band: q_k = f [k = s] + (1 - f) p_k, f = exp(-age / tau)."""
    market = cg.Market(cg.Clock(((0, 0.5),)), persistence_s=tau_s, sight="now")
    chances = seen_chances(market, GPU, age_s, 0.0, status)
    law, kept = market.probabilities(GPU, 0.0), math.exp(-age_s / tau_s)
    wanted = [kept * (k == status) + (1 - kept) * law[k] for k in Status]
    assert chances == pytest.approx(wanted)
    assert sum(chances) == pytest.approx(1)


def test_over_a_change_of_the_law_the_chances_are_the_frequencies_of_the_market():
    """Seen 500 s before the peak begins, met 500 s after; 4 standard errors."""
    market = cg.Market(persistence_s=1500, sight="poll:5000")
    then_s, now_s = 4 * HOUR - 500, 4 * HOUR + 500
    met = {status: Counter() for status in Status}
    for seed in range(4000):
        stock = Stock(market, seed)
        met[stock.status(GPU, then_s, 0.0)][stock.status(GPU, now_s, 0.0)] += 1
    for status, found in met.items():
        number = found.total()
        for k, chance in zip(Status, seen_chances(market, GPU, now_s, then_s, status)):
            error = math.sqrt(max(chance * (1 - chance), 1e-12) / max(number, 1))
            assert found[k] / max(number, 1) == pytest.approx(chance, abs=4 * error + 1e-9)
    assert met[Status.HIGH].total() > 1000 and met[Status.MEDIUM].total() > 1000


def test_a_status_that_the_law_excludes_is_believed():
    market = cg.Market(cg.Clock(((0, 1.0),)), persistence_s=900, sight="now")
    assert market.probabilities(GPU, 0.0)[LOW] == 0  # .5, .5, 0
    assert seen_chances(market, GPU, 900.0, 0.0, LOW)[LOW] == pytest.approx(math.exp(-1))


def moment(tau_s, sight, now_s, status, free_types=False, seen_s=None):
    day = cg.day("hectic", persistence_s=tau_s, sight=sight, free_types=free_types)
    known = day.known()
    own = sight_of(known, GPU, now_s, law_of(known, GPU, now_s))
    seen_s = now_s if seen_s is None else seen_s
    return seen_law(known.market, GPU, own, now_s, seen_s, status), own


def test_what_is_seen_low_is_held_for_as_long_as_it_takes_to_recover():
    # p_Low .375: epochs end it at .625 / 900 s; a Low delay is 3900 s in the mean
    law, own = moment(900, "now", PEAK_S, LOW)
    rate = 0.625 / 900
    assert own.recovers_per_s == pytest.approx(rate)
    assert law.left_s(0.0) == pytest.approx((1 - math.exp(-rate * 4 * HOUR)) / rate)
    assert law.held and law.scarce
    # at 6120 s 7500 s against 3900, which holds the slot; half an hour before the end it pays
    assert not moment(6120, "now", END_S - 4 * HOUR, LOW)[0].held
    late = moment(6120, "now", END_S - 1800, LOW)[0]
    assert late.held and late.left_s(0.0) < 1800
    # with free types any of the four will do
    assert moment(6120, "now", END_S - 4 * HOUR, LOW, free_types=True)[0].held


def test_what_is_seen_otherwise_is_not_scarce_as_long_as_the_look_is_fresh():
    fresh = moment(900, "poll:300", PEAK_S + 1, Status.HIGH, seen_s=PEAK_S)[0]
    assert not fresh.scarce and 0 < fresh.chances[LOW] < 0.001
    old = moment(900, "poll:900", PEAK_S + 800, Status.HIGH, seen_s=PEAK_S)[0]
    assert old.scarce and old.recovery_s is None
    assert old.chances[LOW] == pytest.approx(0.375 * (1 - math.exp(-800 / 900)))
    # 864 s of Low stock are to be expected; 100 s later a look shows it
    assert old.held
    assert not moment(900, "poll:3600", PEAK_S + 800, Status.HIGH, seen_s=PEAK_S)[0].held


# ---- the policy ----


@pytest.mark.parametrize(
    "stock",
    [
        {},
        {"persistence_s": 900},
        {"persistence_s": 900, "sight": "now", "parameters": "sight=false"},
    ],
)
def test_without_sight_the_records_are_the_same_to_the_bit(stock):
    parameters = stock.pop("parameters", "sight=true,look_s=5")
    blind = {**stock, "sight": "none"}
    seen = cg.simulate(cg.day("hectic", jobs=200, **stock), f"triage:{parameters}", 3)
    other = cg.simulate(cg.day("hectic", jobs=200, **blind), "triage:sight=false", 3)
    assert seen.jobs.tobytes() == other.jobs.tobytes()


def one_slot(low_s, tau_s, sight="now"):
    own = cg.HourlyStock(GPU.name, [(0.5, 0.2, 0.3)] * 24)
    delay_s = ((0, 0), (60, 60), (low_s, low_s))
    market = cg.Market(delay_s=delay_s, stock=(own,), persistence_s=tau_s, sight=sight)
    job = cg.Job(0, 0.0, 1e5)
    return cg.Scenario("one", cg.JobList([job]), (GPU,), (GPU,), market=market), job


@settings(max_examples=30)
@given(st.floats(100, 9000), st.floats(10, 20000), st.integers(0, 30))
def test_where_scarcity_has_no_end_a_slot_is_held_when_watch_holds_it(low_s, tau_s, seed):
    day, job = one_slot(low_s, tau_s)

    def kinds(policy):
        return [type(each) for each in cg.make_policy(policy)(day.moment([job], seed=seed))]

    assert kinds("triage:gate=0") == kinds("watch")


def low_view(sight, parameters="", now_s=0.0):
    """The answer in a market that is Low at time 0."""
    day, job = one_slot(5000, 900, sight)
    seed = next(each for each in range(99) if Stock(day.market, each).status(GPU, 0, 0.0) == LOW)
    return cg.make_policy(f"triage:{parameters}")(day.moment([job], now_s, seed=seed))


def test_a_held_slot_is_looked_at_again():
    assert low_view("now") == [cg.Wake(30.0)]
    assert low_view("now", "look_s=7") == [cg.Wake(7.0)]
    assert low_view("poll:600", now_s=50.0) == [cg.Wake(600.0)]
    assert [type(each) for each in low_view("now", "sight=false")] == [tuple]


def test_of_two_types_the_one_seen_in_stock_is_sent_to_and_the_other_held():
    pair = (cg.GpuType("a", 0.3, (60.0,) * 3, 0.5), cg.GpuType("b", 0.3, (90.0,) * 3, 0.5))
    market = cg.Market(cg.Clock(((0, 0.5),)), persistence_s=900, sight="now")
    jobs = [cg.Job(i, 0.0, 1e5) for i in range(2)]
    day = cg.Scenario("two", cg.JobList(jobs), pair, pair, market=market)
    statuses = [[Stock(market, seed).status(gpu, 0.0, 0.0) for gpu in pair] for seed in range(99)]
    seed = next(i for i, (a, b) in enumerate(statuses) if a == LOW and b == Status.HIGH)
    (job, slot), wake = cg.make_policy("triage")(day.moment(jobs, seed=seed))
    assert (job.id, slot.gpu.name, wake) == (0, "b", cg.Wake(30.0))


@pytest.mark.slow
def test_on_the_hectic_day_stock_that_is_seen_shortens_the_wait():
    for free_types in (False, True):
        day = cg.day("hectic", persistence_s=900, sight="now", free_types=free_types)
        study = cg.compare(day, ["triage", "triage:sight=false"], range(4))
        seen, blind = (row["wait_min"].mean for row in study.means().values())
        assert seen < blind - (10 if free_types else 1)


def test_a_warm_slot_is_not_held():
    """Twenty minutes before the scarcity ends a slot is closed for a long queue, if it is cold."""
    now_s = END_S - 1200
    jobs = [cg.Job(i, now_s, now_s + 9000) for i in range(20)]

    class Kept:
        gpu = GPU

    def first(parameters, warm):
        day = replace(cg.day("hectic", slots=[SLOW]), terms=cg.Terms(warm_s=600))
        view = day.moment(jobs, now_s)
        view._warm.update({0: Kept} if warm else {})
        return cg.make_policy(f"triage:{parameters}")(view)[0]

    assert isinstance(first("", False), cg.Wake)
    assert isinstance(first("warm=false", True), cg.Wake)
    assert first("", True)[1].index == 0


def test_where_loose_jobs_have_no_time_to_lose_doomed_tight_ones_go_after_them():
    lost = [cg.Job(i, 0.0, PEAK_S + 10, 1, True) for i in range(3)]
    few = [cg.Job(3, 0.0, PEAK_S + 16_000)]
    many = [cg.Job(i, 0.0, PEAK_S + 16_000 + i) for i in range(3, 90)]

    def first(queue, parameters=""):
        view = cg.day("hectic", slots=[FAST]).moment(queue, PEAK_S)
        return cg.make_policy(f"triage:{parameters}")(view)[0][0].id

    assert first([*lost, *few]) == 0
    assert first([*lost, *many]) == 3
    assert first([*lost, *many], "yielding=false") == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [("sight=2", "sight"), ("warm=1", "warm"), ("look_s=0", "look_s"), ("yielding=no", "true or")],
)
def test_wrong_parameters_are_named(text, message):
    with pytest.raises(cg.InputError, match=message):
        cg.make_policy(f"triage:{text}")


def test_a_type_that_is_always_low_is_not_waited_for():
    """Where types are free another one recovers, and this one never does."""
    short = cg.GpuType("always Low", 0.2, (60, 60, 60), high_stock_probability=0.0)
    plenty = cg.GpuType("High at times", 0.4, (60, 60, 60), high_stock_probability=0.6)
    market = cg.Market(cg.Clock(((0, 0.5),)), persistence_s=600, sight="now")
    day = replace(
        cg.day("quiet"), gpus=(short, plenty), slots=(short,) * 2, free_types=True, market=market
    )
    assert market.probabilities(short, 0.0)[LOW] == 1
    assert cg.simulate(day, "triage", 0).summary()["completed"] == day.jobs


def test_of_stock_that_is_waited_out_a_dispatch_meets_none_that_is_low():
    """Low with chance .375 for 15 minutes in the mean; its delays take 3,900 s."""
    known = cg.day("hectic", persistence_s=900, sight="now").known()
    law = law_of(known, GPU, PEAK_S)
    sight = sight_of(known, GPU, PEAK_S, law)
    assert law.met == (0.25, 0.375, 0.375)
    assert sight.waits and sight.met == pytest.approx((0.4, 0.6, 0))
    assert sight.busy_s == pytest.approx((law.work_s + 0.4 * 5 + 0.6 * 75) / 0.625)
    slow = cg.day("hectic", persistence_s=9000, sight="now").known()
    sight = sight_of(slow, GPU, PEAK_S, law)
    assert not sight.waits and (sight.met, sight.busy_s) == (law.met, law.busy_s)
