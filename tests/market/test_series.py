"""Series and snapshots of spot instances from files, and one-line errors."""

import gzip
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from market.snapshots import trace
from support import check_bad_input, check_refused, outcome, refusals

from cgrsp_simpy.market.series import Series, read_market, read_series


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_a_series_keeps_the_status_of_every_poll(status):
    series = Series.of("a", 60, status)
    assert (series.status.tolist(), series.availability) == (status, np.mean(status))
    assert series.runs_s(True).sum() == 60 * sum(status)
    assert series.runs_s(False).sum() == 60 * (len(status) - sum(status))
    for up in (True, False):
        assert len(series.runs_s(up)) - series.ended(up).sum() == (status[-1] == up)
    for steps in range(1, len(status) + 1):
        assert series.first(steps).status.tolist() == status[:steps]


def test_json_csv_and_gzip_have_the_same_content(file):
    data = [1, 1, 0, 0, 1]
    rows = "".join(f"{600 * poll},{count}\n" for poll, count in enumerate(data))
    stamps = "".join(
        f"2023-02-15 0{poll}:00,{'up' if count else 'Down'}\n"
        for poll, count in enumerate(data)
    )
    results = [
        read_series(file(trace(data), "zone.json")),
        read_series(file(gzip.compress(trace(data).encode()), "zone.json.gz")),
        read_series(file(f"time,status\n{rows}", "zone.csv")),
        read_series(file(f"time,status\n{stamps}", "stamps.csv")),
    ]
    assert (
        results[0] == results[1] == results[2] == Series("zone", 600, 5, True, (2, 4))
    )
    assert (results[3].step_s, results[3].changes) == (3600, (2, 4))


def test_as_many_instances_as_are_needed_count_as_up(file):
    path = file(trace([16, 4, 3, 0, 16]), "zone.json")
    assert read_series(path).status.tolist() == [True, True, True, False, True]
    assert read_series(path, needed=4).status.tolist() == [
        True,
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (trace([]), "polls(=0) must be at least two"),
        (trace([1, 0.5]), "entry 1 of data(=0.5) must be"),
        (trace([1, True]), "entry 1 of data(=True) must be"),
        (trace([1], gap=-5), "metadata.gap_seconds(=-5)"),
        (trace([1], gap="600"), "metadata.gap_seconds(='600')"),
        ('{"metadata": {"gap_seconds": 5}}', "must be a list of numbers"),
        ("time,status\n", "polls(=0) must be at least two"),
        ("time,status\n0,1\n", "polls(=1) must be at least two"),
        # a gap
        ("time,status\n0,1\n60,1\n180,0\n", "line 4: 120 s after the previous row"),
        # unsorted
        ("time,status\n0,1\n60,1\n30,0\n", "line 4: its time must be after"),
        ("time,status\n0,1\n0,1\n", "line 3: its time must be after"),  # twice
        (
            "time,status\n0,1\n0.5,1\n",
            "the step between polls(=0.5) must be whole seconds",
        ),
        (
            "time,status\n0,1\n60,low\n",
            "line 3: status must be up, down, or a whole number >= 0",
        ),
        ("time,status,type\n0,1,a\n60,1,b\n", "types(=['a', 'b']) must be one"),
    ],
)
def test_wrong_input_gives_a_one_line_error(file, text, told):
    path = file(text, "zone.json")
    assert check_refused(lambda: read_series(path), [told]).startswith(f"{path}: ")


test_prices_of_polls_are_checked = refusals(
    ([1.0, -0.5], "price of poll 1(=-0.5) must be a number >= 0"),
    ([float("nan"), 1.0], "price of poll 0(=nan)"),
    ([1.0], "number of prices(=1) must be 2, one per poll"),
    call=lambda usd_per_h: Series.of("a", 60, [True, False], usd_per_h),
)


def tracked(at, high=0, medium=0, low=0, price=2.5):
    """A line of the GPU price tracker."""
    result = {
        "timestamp": at,
        "gpu_type": "H100",
        "socket_type": "SXM5",
        "availability": {"high": high, "medium": medium, "low": low},
        "price_stats": {"median": price},
    }
    return json.dumps(result)


# ---- formats ----


def test_a_spot_trace_is_low_at_none_high_at_the_most_and_medium_between(file):
    [own] = read_market(file(trace([0, 3, 16, 16, 0]), "us-east-1a_v100_1.json"))
    assert (own.gpu, own.status.tolist()) == ("us-east-1a_v100_1", [2, 1, 0, 0, 2])
    assert (own.start, own.start_h, *own.time_s) == (None, 0, 0, 600, 1200, 1800, 2400)
    assert replace(own, begins_s=90_000.0).start_h == 1  # 25 hours later


def test_prices_of_a_spot_trace_are_read(file):
    prices = ', "prices": [0.9, null, 1.1]}'
    [zone] = read_market(file(f"{trace([1, 0, 1])[:-1]}{prices}"))
    assert zone.price_usd_per_h.tolist() == pytest.approx(
        [0.9, np.nan, 1.1], nan_ok=True
    )


def test_the_best_label_of_offers_counts_and_no_offers_mean_not_fetched(tmp_path):
    path = tmp_path / "h100.jsonl.gz"
    lines = [
        tracked("2025-10-19T21:30:00+00:00", low=3),
        tracked("2025-10-19T22:00:00+00:00", low=3, medium=1),
        tracked("2025-10-20T00:30:00+02:00", high=1, low=9),
        tracked("2025-10-19T23:00:00+00:00", price=None),
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    [own] = read_market(path)
    assert (own.gpu, own.start_h) == ("H100 SXM5", 21.5)
    columns = np.transpose([own.time_s, own.status, own.price_usd_per_h])
    expected = (0, 2, 2.5), (1800, 1, 2.5), (3600, 0, 2.5), (5400, -1, math.nan)
    assert np.array_equal(columns, expected, equal_nan=True)


def test_a_table_may_hold_several_types_by_name_or_number(file):
    path = file(
        "time,type,status,price\n"
        "0,A,High,1.5\n"
        "0,B,4,\n"
        "600,A,low,\n"
        "600,B,0,2\n"
        "1200,A,,1\n"
        "1200,B,1,2\n",
        "market.csv",
    )
    one, other = read_market(path)
    assert (one.gpu, one.status.tolist()) == ("A", [0, 2, -1])
    assert (other.gpu, other.status.tolist()) == ("B", [0, 2, 1])
    path.write_text("status,time\nlow,2025-01-01 06:00:00\nhigh,2025-01-01 07:00:00\n")
    [own] = read_market(path)
    assert (own.gpu, own.start_h, own.time_s.tolist()) == ("market", 6.0, [0, 3600])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty"),
        ("  \n", "time is missing"),
        ("time,status\n", "snapshots(=0) must be at least one"),
        ("when,status\n0,low\n", "time is missing"),
        ("time,state\n0,low\n", "status is missing"),
        (
            "time,status\n0,low\n0,high\n",
            "line 3: the time of x must be after that of line 2",
        ),
        (
            "time,status\n9,low\n0,high\n",
            "line 3: the time of x must be after that of line 2",
        ),
        ("time,status\n0,lo\n", "unknown status in line 2 'lo'; did you mean 'low'?"),
        ("time,status\n0,-1\n", "unknown status in line 2 '-1'"),
        ("time,status\n0,low,1\n", "line 2: 3 cells, not 2"),
        ("time,status\n0,low\n \n,\n", "line 4: time(='') must be seconds, or a"),
        (
            "time,status\nnoon,low\n",
            "line 2: time(='noon') must be seconds, or a timestamp",
        ),
        ("time,status\n-5,low\n", "line 2: time(=-5.0) must be a number >= 0"),
        ("time,status\nnan,low\n", "line 2: time(=nan) must be a number >= 0"),
        (
            "time,status\n0,low\n2025-01-01,low\n",
            "line 3: times must be all timestamps or all seconds",
        ),
        (
            "time,type,status\n2025-01-01,A,low\n2025-01-02 01:00Z,B,low\n",
            (
                "line 3: a time with a zone, where line 2 has one without a zone: all"
                " times of a file"
            ),
        ),
        (
            tracked("2025-10-19T01:00Z") + "\n" + tracked("2025-10-19T02:00"),
            "line 2: a time without a zone, where line 1 has one with a zone",
        ),
        ("time,status,price\n0,low,-1\n", "line 2: price(=-1.0) must be a number >= 0"),
        (
            "time,status,price\n0,low,dear\n",
            "line 2: price(='dear') must be a number >= 0",
        ),
        (trace([0, -1]), "entry 1 of data(=-1) must be a whole number >= 0"),
        (trace([0, None]), "entry 1 of data(=None) must be a whole number >= 0"),
        (trace([]), "snapshots(=0) must be at least one"),
        (
            f" {trace([1], gap=0)}",
            "metadata.gap_seconds(=0) must be a whole number >= 1",
        ),
        (trace("11"), "data(='11') must be a list of numbers of instances"),
        ('{"data": [1]}', "metadata(=None) must be an object with gap_seconds"),
        ("Timestamp,SpotPrice\n2025-01-01,x\n", "'SpotPrice': 'x'} must be a price of"),
        ("Timestamp,SpotPrice\n2025-01-01\n", "line 2: 1 cell, not 2"),
        ("{nothing", "line 1: not JSON"),
        (trace(["N"]).replace('"N"', "9" * 5000), "or a number with thousands of"),
        ('{"data": ' + "[" * 200_000, "not JSON (nested too deeply, or"),
        (
            tracked("2025-10-19") + "\n" + '{"timestamp": ' * 200_000,
            "must be an object with gpu_type, socket_type",
        ),
        (
            json.dumps(
                {
                    "SpotPriceHistory": [
                        {"Timestamp": "2025-01-01", "SpotPrice": 10**400}
                    ]
                }
            ),
            "must be a price of AWS: Timestamp, SpotPrice, a number",
        ),
        (tracked("2025" * 999), "202...0252025202520252025') must"),
        (tracked("2025-10-19", low=1) + "\n{", "line 2: not JSON"),
        (
            tracked("2025-10-19", low=1) + '\n{"timestamp": "x"}',
            'line 2: \'{"timestamp": "x"}\' must be an object with gpu_type',
        ),
        (tracked("2025-10-19", low=-1), "line 1: low(=-1) must be a whole number >= 0"),
        (
            tracked("2025-10-19", low=1, price=-2),
            "line 1: price(=-2) must be a number >= 0",
        ),
        (
            tracked("soon", low=1),
            "line 1: timestamp(='soon') must be of the form YYYY",
        ),
        (
            tracked("2025-10-19") + "\n" + tracked("2025-10-19"),
            "line 2: the time of H100 SXM5",
        ),
    ],
)
def test_an_invalid_file_content_gives_a_one_line_error(text, told, file, capsys):
    path = file(text, "x.csv")
    assert check_refused(lambda: read_market(path), [told]).startswith(f"{path}: ")
    check_bad_input(outcome(capsys, "market", "report", path), [])


def test_a_missing_or_damaged_file_and_a_duplicate_type_are_errors(tmp_path, capsys):
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"time,status\n" * 99)[:20])
    (tmp_path / "a.csv").write_text("time,type,status\n0,A,low\n")
    for files in (["none"], ["cut.gz"], ["a.csv", "a.csv"]):
        check_bad_input(
            outcome(capsys, "market", "report", *map(tmp_path.joinpath, files)), []
        )


AWS = [
    ("2026-01-01T03:11:40+00:00", "us-east-1a", "0.4107"),
    ("2026-01-01T00:11:40+00:00", "us-east-1a", "0.4012"),
    ("2026-01-01T00:20:00+00:00", "us-east-1b", "0.39"),
]
NAMES = "Timestamp,InstanceType,AvailabilityZone,ProductDescription,SpotPrice"


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_price_history_of_aws_is_a_series_of_prices_per_zone(file, form):
    """The newest price comes first in the file."""
    rows = [
        dict(zip(NAMES.split(","), (at, "g5.xlarge", zone, "Linux/UNIX", usd)))
        for at, zone, usd in AWS
    ]
    lines = [NAMES, *(",".join(row.values()) for row in rows), ""]
    text = (
        json.dumps({"SpotPriceHistory": rows}) if form == "json" else "\n".join(lines)
    )
    one, two = read_market(file(text))
    assert (one.gpu, two.gpu) == ("g5.xlarge us-east-1a", "g5.xlarge us-east-1b")
    assert [*zip(one.time_s, one.price_usd_per_h)] == [(0, 0.4012), (10_800, 0.4107)]
    assert one.status.tolist() == [0, 0] and two.begins_s == 500


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"{NAMES}\n2026-01-01T00:00:12Z,g5.xlarge,us-east-1a,Linux/UNIX,cheap\n",
            "must be a price of AWS",
        ),
        (
            f"{NAMES}\n2026-01-01T00:00:12Z,g5.xlarge,us-east-1a,Linux/UNIX,-1\n",
            "SpotPrice(=-1.0) must be a number >= 0",
        ),
        (
            '{"SpotPriceHistory": [{"SpotPrice": "1"}]}',
            "log: line 1: {'SpotPrice': '1'} must be a price of AWS",
        ),
        ('{"SpotPriceHistory": [1]}', "log: line 1: 1 must be a price of AWS"),
    ],
)
def test_a_wrong_price_history_gives_a_one_line_error(file, text, words):
    check_refused(lambda: read_market(file(text)), ["log: line ", words])


@pytest.mark.parametrize("row", ["0,{}", "{},low", "0,low,{}"])
@pytest.mark.parametrize("sign", ["9", "x"])
def test_a_cell_of_thousands_of_characters_is_shortened_in_the_message(row, sign, file):
    path = file(f"time,status,price\n{row.format(sign * 5000)},1\n")
    assert len(check_refused(lambda: read_market(path), ["line 2"])) < 1000
