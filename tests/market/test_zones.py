"""Markets of spot instances: traces, and made-up ones of a known law."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from support import check_refused

from cgrsp_simpy.market.series import Series
from cgrsp_simpy.market.zones import Price, Traces, TwoState, Zone, read_traces
from cgrsp_simpy.spot.job import Checkpoints
from cgrsp_simpy.spot.scenario import Scenario

# ---- markets ----


def test_a_run_meets_the_poll_in_which_it_ends():
    market = TwoState(0.5, 0.5, step_s=600, history_h=1.0)
    runs = [
        [market.draw(1, length_s, seed) for seed in range(20)]
        for length_s in (1200, 900)
    ]
    assert runs[0] == runs[1]
    assert {len(own.stretches) for [own] in runs[0]} == {1, 2}


def test_a_run_sees_the_trace_and_policies_all_that_lies_before_it():
    status = np.arange(400) % 7 < 3
    trace = Traces((Series.of("a", 900, status),), history=0.25)
    for seed in range(20):
        [found] = trace.draw(1, 20 * 3600.0, seed)
        seen = found.history.status
        assert seen.tolist() == status[: len(seen)].tolist()
        assert found.stretches[0].from_s <= 0
        polls = [
            [stretch for stretch in found.stretches if stretch.from_s <= 900 * k][-1].up
            for k in range(80)
        ]
        starts = [k for k in range(100, 321) if status[k : k + 80].tolist() == polls]
        assert len(seen) in starts
        since = {k - int(-found.stretches[0].from_s / 900) for k in starts}
        assert all(status[k - 1] != status[k] for k in since)


def test_a_short_series_begins_anew_and_that_is_said(caplog):
    trace = Traces(
        (Series.of("a", 3600, [True] * 10 + [False, True, True, False]),), 0.7
    )
    Scenario(trace, 8.0, 10.0)
    assert (
        "a: the 5.0 h after the history are shorter than the run of 10.0 h"
        in caplog.text
    )
    [found] = trace.draw(1, 36000.0, 1)
    assert all(one.up != other.up for one, other in pairwise(found.stretches))
    assert len(found.stretches) > 3


def test_zones_of_a_made_up_market_do_not_depend_on_their_number():
    market = TwoState(2.0, 1.0)
    one, three = market.draw(1, 50 * 3600.0, 4), market.draw(3, 50 * 3600.0, 4)
    assert one[0] == three[0]
    assert len({found.stretches for found in three}) == 3


def test_the_made_up_market_has_the_mean_times_asked_for():
    [zone] = TwoState(2.0, 1.0, history_h=10_000.0).draw(1, 3600.0, 1)
    series = zone.history
    for up, mean_h in ((True, 2.0), (False, 1.0)):
        runs_h = series.runs_s(up) / 3600
        error = runs_h.std(ddof=1) / math.sqrt(len(runs_h))
        assert abs(runs_h.mean() - mean_h) < 4 * error


# ---- prices, several steps, on demand ----


def test_zones_of_several_steps_run_on_one_clock():
    one = Series.of("a", 600, np.arange(300) % 5 < 2)
    other = Series.of("b", 900, np.arange(200) % 4 < 2)
    trace = Traces((one, other))
    assert (trace.step_s, trace.steps, trace.before) == (300, 600, 300)
    for seed in range(10):
        drawn = trace.draw(2, 8 * 3600.0, seed)
        at_s = [each.history.length_s for each in drawn]
        assert abs(at_s[0] - at_s[1]) < 900  # both are seen until the run begins
        for own, series in zip(drawn, (one, other)):
            polls = [stretch.from_s for stretch in own.stretches[1:]]
            assert {(b - a) % series.step_s for a, b in pairwise(polls)} == {0.0}


def test_prices_are_those_of_the_time(file):
    prices = [1.0 + (k // 10) / 8 for k in range(200)]
    told = {"metadata": {"gap_seconds": 600}, "data": [1] * 200, "prices": prices}
    trace = read_traces([file(told, "us-east-1a.json")])
    for seed in range(5):
        [zone] = trace.draw(1, 6 * 3600.0, seed)
        first = zone.history.steps
        assert zone.prices[0] == Price(0.0, prices[first])
        usd = sum(prices[first + k] * 600 / 3600 for k in range(36))
        assert zone.usd(0.0, 6 * 3600.0) == pytest.approx(usd)
        assert zone.usd(300.0, 900.0) == pytest.approx(
            (prices[first] + prices[first + 1]) / 12
        )
    assert trace.series[0].first(25).prices == ((0, 1.0), (10, 1.125), (20, 1.25))
    rows = (f"{600 * k},up,{prices[k]}\n" for k in range(200))
    csv = file("".join(["time,status,price\n", *rows]), "b.csv")
    assert read_traces([csv]).series[0].prices == trace.series[0].prices


def snapshot(minute, **offers):
    told = {
        name: {"count": count, "min": usd, "avg": usd}
        for name, (count, usd) in offers.items()
    }
    return json.dumps(
        {"timestamp": f"2025-10-19T21:{minute:02}:30+00:00", "by_provider": told}
    )


def test_offers_are_a_zone_a_provider_whose_instances_are_kept(file):
    listed = [
        snapshot(0, a=(3, 2.0), b=(1, 1.5)),
        snapshot(10, a=(1, 2.0)),
        snapshot(20, b=(4, 1.0)),
    ]
    path = file("\n".join([*listed, snapshot(30, a=(2, 2.5))]))
    a, b = read_traces([path]).series
    assert (a.name, a.step_s, a.kept, b.kept) == ("a", 600, True, True)
    assert a.status.tolist() == [True, True, False]
    assert b.status.tolist() == [True, False, True]
    assert (a.prices, b.prices) == (((0, 2.0),), ((0, 1.5), (2, 1.0)))
    assert read_traces([path], needed=3).series[0].status.tolist() == [
        True,
        False,
        False,
    ]


GOOD = {"metadata": {"gap_seconds": 600}, "data": [1, 0, 1, 1]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            json.dumps(GOOD | {"prices": [1.0]}),
            "prices(=[1.0]) must be a list of 4 prices, one per",
        ),
        (
            json.dumps(GOOD | {"prices": [1, 1, -1, 1]}),
            "entry 2 of prices(=-1) must be a number",
        ),
        (
            json.dumps(GOOD | {"prices": [1, None, 1, 1]}),
            "line 1: its price is missing, but other",
        ),
        (
            json.dumps(GOOD | {"prices": 3}),
            "prices(=3) must be a list of 4 prices, one per poll",
        ),
        (json.dumps(GOOD)[:-3], "line 1"),
        (
            "time,status,price\n0,up,1\n600,up,\n",
            "line 3: its price is missing, but other",
        ),
        (
            "time,status,price\n0,up,1\n600,up,-2\n",
            "line 3: price(=-2.0) must be a number >= 0",
        ),
        (
            "time,status,price\n0,up,1\n600,up,1\n1300,up,1\n",
            "line 4: 700 s after the previous row",
        ),
        (snapshot(0, a=(1, 1)), "times(=1) must be at least two, increasing"),
        (snapshot(0, a=(-1, 1)), "line 1: count(=-1) must be a whole number >= 0"),
        (snapshot(0, a=(1, "x")), "line 1: min(='x') must be a number >= 0"),
        (snapshot(0)[:-1] + "x", "line 1: does not have the format"),
        ('{"by_provider":' + "[" * 100_000, "line 1: does not have the format"),
    ],
)
def test_a_bad_file_of_prices_is_one_line(text, told, file):
    path = file(text)
    assert check_refused(lambda: read_traces([path]), [told]).startswith(f"{path}: ")


def test_regions_are_told_from_names():
    names = {
        "us-east-1f_v100_1": "us-east-1",
        "us-central1-a": "us-central1",
        "ap-northeast-1c": "ap-northeast-1",
        "runpod": "runpod",
        "zone 1": "zone 1",
    }
    history = Series.of("h", 60, [True])
    assert {name: Zone(name, (), history).region for name in names} == names


@pytest.mark.parametrize(
    ("computed_s", "taken", "terms", "lost_s"),
    [
        (1000, True, {}, 0),
        (1000, True, {"write_s": 60}, 60),
        (50, False, {"write_s": 60}, 50),
        (1000, True, {"checkpoint_s": 300}, 100),
        (1000, False, {"checkpoint_s": 300}, 0),
        (1000, True, {"checkpoint_s": 300, "write_s": 150}, 400),
        (1000, True, {"checkpoint_s": 300, "write_s": 150, "notice_s": 30}, 400),
        (1000, True, {"checkpoint_s": 300, "write_s": 100, "notice_s": 120}, 100),
        (1000, False, {"checkpoint_s": 300, "write_s": 150}, 150),
    ],
)
def test_what_is_lost_of_an_instance_that_ends(computed_s, taken, terms, lost_s):
    saved = Checkpoints(**terms)
    assert saved.lost_s(computed_s, taken) == pytest.approx(lost_s)
    assert lost_s <= saved.most_lost_s
