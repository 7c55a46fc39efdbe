"""Series of spot instances from files: what is read, and what is wrong told in one line."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgrsp_simpy.logs.series import Series, read_series
from cgrsp_simpy.model.checks import InputError

TRACES = Path(__file__).parents[3] / "shared" / "data" / "spot_traces"


def written(folder, text, name="zone.json"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def trace(data, gap=600):
    return json.dumps({"metadata": {"gap_seconds": gap}, "data": data})


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_a_series_keeps_the_status_of_every_poll(status):
    series = Series.of("a", 60, status)
    assert series.status.tolist() == status
    assert series.availability == np.mean(status)
    assert series.runs_s(True).sum() == 60 * sum(status)
    assert series.runs_s(False).sum() == 60 * (len(status) - sum(status))
    for up in (True, False):
        assert len(series.runs_s(up)) - series.ended(up).sum() == (status[-1] == up)
    for steps in range(1, len(status) + 1):
        assert series.first(steps).status.tolist() == status[:steps]


def test_json_csv_and_gzip_say_the_same(tmp_path):
    data = [1, 1, 0, 0, 1]
    rows = "".join(f"{600 * poll},{count}\n" for poll, count in enumerate(data))
    stamps = "".join(
        f"2023-02-15 0{poll}:00,{'up' if count else 'Down'}\n" for poll, count in enumerate(data)
    )
    found = [
        read_series(written(tmp_path, trace(data))),
        read_series(written(tmp_path, gzip.compress(trace(data).encode()), "zone.json.gz")),
        read_series(written(tmp_path, f"time,status\n{rows}", "zone.csv")),
        read_series(written(tmp_path, f"time,status\n{stamps}", "stamps.csv")),
    ]
    assert found[0] == found[1] == found[2] == Series("zone", 600, 5, True, (2, 4))
    assert (found[3].step_s, found[3].changes) == (3600, (2, 4))


def test_as_many_instances_as_are_needed_count_as_up(tmp_path):
    path = written(tmp_path, trace([16, 4, 3, 0, 16]))
    assert read_series(path).status.tolist() == [True, True, True, False, True]
    assert read_series(path, needed=4).status.tolist() == [True, True, False, False, True]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty"),
        (trace([]), "no polls"),
        (trace([1, None, 0]), "entry 1 of data(=None) must be a whole number >= 0"),  # a gap
        (trace([1, -1]), "entry 1 of data(=-1) must be a whole number >= 0"),
        (trace([1, 0.5]), "entry 1 of data(=0.5) must be"),
        (trace([1, True]), "entry 1 of data(=True) must be"),
        (trace("110"), "data(='110'"),
        (trace([1], gap=0), "metadata.gap_seconds(=0) must be a whole number >= 1"),
        (trace([1], gap=-5), "metadata.gap_seconds(=-5)"),
        (trace([1], gap="600"), "metadata.gap_seconds(='600')"),
        ('{"data": [1]}', "metadata(=None) must be an object with gap_seconds"),
        ('{"metadata": {"gap_seconds": 5}}', "must be a list of numbers"),
        ('{"metadata"', "not JSON"),
        ("a,b\n1,2\n", "columns(='a,b') must be time,status: there is no time"),
        ("time,status\n", "no polls"),
        ("time,status\n0,1\n", "at least two polls"),
        ("time,status\n0,1\n60,1\n180,0\n", "line 4: 120 s after the row before"),  # a gap
        ("time,status\n0,1\n60,1\n30,0\n", "line 4: its time must be after"),  # unsorted
        ("time,status\n0,1\n0,1\n", "line 3: its time must be after"),  # twice
        ("time,status\n0,1\nsoon,1\n", "line 3: time(='soon') must be"),
        ("time,status\n0,1\n60,maybe\n", "line 3: status(='maybe') must be"),
        ("time,status\n0,1\n60,-1\n", "line 3: status(='-1') must be"),
        ("time,status\n0,1\n60\n", "line 3: 1 cells, where the header has 2"),
        ("time,status\n0,1\n0.5,1\n", "the step between polls(=0.5) must be whole seconds"),
        ("time,status\n0,1\nnan,1\n", "line 3: its time must be after"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, text, told):
    path = written(tmp_path, text)
    with pytest.raises(InputError) as error:
        read_series(path)
    assert told in str(error.value)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_a_file_that_is_missing_is_one_line(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_series(tmp_path / "none.json")


@pytest.mark.skipif(not TRACES.is_dir(), reason="the traces are not here")
def test_every_trace_of_the_folder_is_read():
    files = sorted(TRACES.rglob("*.json"))
    assert len(files) == 19
    shares = {file.stem: read_series(file).availability for file in files[:6]}
    assert round(shares["us-east-1a_v100_1"], 2) == 0.17
    assert round(shares["us-west-2c_v100_1"], 2) == 0.89
