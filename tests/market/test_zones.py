"""Markets of spot instances: traces, and generated ones of a known model."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from support import check_refused

from cgrsp_simpy.market.series import Series
from cgrsp_simpy.market.zones import Traces, TwoState, Zone, read_traces
from cgrsp_simpy.spot.job import Checkpoints
from cgrsp_simpy.spot.scenario import Scenario
from cgrsp_simpy.studies.subject import subject_of

# ---- markets ----


def test_a_run_uses_the_poll_in_which_it_ends():
    market = TwoState(0.5, 0.5, step_s=600, history_h=1.0)
    runs = [
        [market.draw(1, length_s, seed) for seed in range(20)]
        for length_s in (1200, 900)
    ]
    assert runs[0] == runs[1]
    assert {len(own.stretches) for [own] in runs[0]} == {1, 2}


def test_a_series_shorter_than_a_run_or_than_another_is_reported():
    short = Series.of("a", 3600, [True] * 10 + [False, True, True, False])
    alone, both = (
        Traces(series, 0.7)
        for series in ((short,), (short, Series.of("b", 3600, [True] * 20)))
    )
    notes = [
        subject_of(Scenario(market, 4.0, deadline_h)).report.note
        for market, deadline_h in ((alone, 5.0), (alone, 10.0), (both, 5.0))
    ]
    repeated = "a: the 5.0 h after the history are shorter than the run of "
    assert [(repeated in note, "cut to the shortest" in note) for note in notes] == [
        (False, False),
        (True, False),
        (False, True),
    ]


def test_zones_of_a_made_up_market_do_not_depend_on_their_number():
    market = TwoState(2.0, 1.0)
    one, three = market.draw(1, 50 * 3600.0, 4), market.draw(3, 50 * 3600.0, 4)
    assert one[0] == three[0]
    assert len({result.stretches for result in three}) == 3


def test_the_generated_market_has_the_requested_mean_times():
    [zone] = TwoState(2.0, 1.0, history_h=10_000.0).draw(1, 3600.0, 1)
    series = zone.history
    for up, mean_h in ((True, 2.0), (False, 1.0)):
        runs_h = series.runs_s(up) / 3600
        error = runs_h.std(ddof=1) / math.sqrt(len(runs_h))
        assert abs(runs_h.mean() - mean_h) < 4 * error


# ---- prices, several steps, on demand ----


@pytest.mark.parametrize("hours", [7, 42, 50])  # there are 42 after the history
def test_a_run_starting_later_uses_a_later_part_of_its_series(hours):
    """Polls, prices and histories of zones and of on demand, of several steps, are
    those from one time on, and from the end of the history on after the end.
    """
    rng, listed = np.random.default_rng(0), []
    for step_s in (600, 900, 1800):
        polls = 216_000 // step_s
        status, prices = rng.random(polls) < 0.5, rng.integers(1, 4, polls) / 2
        series = Series.of(f"every {step_s} s", step_s, status, prices)
        listed.append((series, status, prices, step_s // 300))
    columns = [(each, finer) for _, *both, finer in listed for each in both]
    one, other, dear = (series for series, *_ in listed)
    trace = Traces((one, other), 0.3, dear)
    assert (trace.step_s, trace.steps, trace.before) == (300, 720, 216)

    steps = np.arange(12 * hours)
    for seed in range(8):
        drawn = trace.draw(2, 3600.0 * hours, seed)
        met = [
            np.array(course).T[1][
                np.searchsorted([each.from_s for each in course], 300 * steps, "right")
                - 1
            ]
            for own in drawn
            for course in (own.stretches, own.prices)
        ]
        [start] = (
            start
            for start in range(216, 721 - 12 * hours if hours <= 42 else 720)
            if all(
                (values == recorded[(216 + (start - 216 + steps) % 504) // finer]).all()
                for values, (recorded, finer) in zip(met, columns)
            )
        )
        for own, (series, _, prices, finer) in zip(drawn, listed):
            assert own.history == series.first((start if hours < 42 else 216) // finer)
            turns = [finer * turn for turn in (0, *series.changes)]
            last = max(turn for turn in turns if turn <= start)
            assert own.stretches[0].from_s == 300 * (last - start)
            assert all(one.up != other.up for one, other in pairwise(own.stretches))
            assert own.usd(450.0, 3000.0) == pytest.approx(
                sum(
                    prices[(216 + (start - 216 + step // 6) % 504) // finer] / 72
                    for step in range(9, 60)
                )
            )


def test_prices_of_a_file_equal_those_of_its_polls(file):
    prices = [1.0 + (k // 10) / 8 for k in range(30)]
    trace = {"metadata": {"gap_seconds": 600}, "data": [1] * 30, "prices": prices}
    rows = (f"{600 * k},up,{prices[k]}\n" for k in range(30))
    csv = file("".join(["time,status,price\n", *rows]), "b.csv")
    for path in (file(trace, "us-east-1a.json"), csv):
        [series] = read_traces([path]).series
        assert series.first(25).prices == ((0, 1.0), (10, 1.125), (20, 1.25))


def snapshot(minute, **offers):
    message = {
        name: {"count": count, "min": usd, "avg": usd}
        for name, (count, usd) in offers.items()
    }
    return json.dumps(
        {"timestamp": f"2025-10-19T21:{minute:02}:30+00:00", "by_provider": message}
    )


def test_offers_are_one_zone_per_provider_with_kept_instances(file, monkeypatch):
    monkeypatch.setattr("cgrsp_simpy.market.zones.MOST_POLLS", 4)
    listed = [
        snapshot(0, a=(3, 2.0), b=(1, 1.5)),
        # between two polls
        snapshot(1, a=(0, 9.0), b=(1, 1.5)).replace(":30+", ":20+"),
        snapshot(10, a=(1, 2.0)),
        snapshot(20, b=(4, 1.0)),
    ]
    a, b = read_traces([file("\n".join([*listed, snapshot(40, a=(2, 2.5))]))]).series
    assert (a.name, a.step_s, a.kept, b.kept) == ("a", 600, True, True)
    assert [zone.status.tolist() for zone in (a, b)] == [
        [True, True, False, False, True],
        [True, False, True, True, False],
    ]
    assert (a.prices, b.prices) == (((0, 2.0), (4, 2.5)), ((0, 1.5), (2, 1.0)))
    # the last poll is less than half a step after the last snapshot
    listed.append(snapshot(36, a=(2, 2.5)))
    a, _ = read_traces([file("\n".join(listed))], needed=3).series
    assert a.status.tolist() == [True, False, False, False, False]


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
        (
            snapshot(0) + "\n" + snapshot(10).replace("+00:00", ""),
            "line 2: a time without a zone, where line 1 has one with a zone",
        ),
        (
            "\n".join([*map(snapshot, range(3)), snapshot(3).replace("2025", "9025")]),
            (
                "(=220898620980.0) must be at most 600,000,000, 10,000,000 times the"
                " median step"
            ),
        ),
        ("time,status,status\n0,up,down\n", "but 'status' occurs twice"),
        (snapshot(0, a=(-1, 1)), "line 1: count(=-1) must be a whole number >= 0"),
        (snapshot(0, a=(1, "x")), "line 1: min(='x') must be a number >= 0"),
        (snapshot(0)[:-1] + "x", "line 1: not JSON"),
        ('{"by_provider":' + "[" * 100_000, "must be an object with timestamp"),
        (
            "\n".join(snapshot(hour, a=(1, 1), b=(1, 1)) for hour in range(3)),
            ") must be a file of one series, not 2",
        ),
    ],
)
def test_a_bad_price_file_gives_a_one_line_error(text, told, file):
    path = file(text)
    message = check_refused(lambda: read_traces([path], on_demand=path), [told])
    assert message.startswith((f"{path}: ", "on_demand(="))


def test_regions_are_recognised_by_name():
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
def test_the_work_lost_when_an_instance_ends(computed_s, taken, terms, lost_s):
    saved = Checkpoints(**terms)
    assert saved.lost_s(computed_s, taken) == pytest.approx(lost_s)
    assert lost_s <= saved.most_lost_s
