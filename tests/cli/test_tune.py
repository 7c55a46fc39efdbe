"""`cgrsp tune`: ranges and values from words, formats, refusals in one line."""

import json

import pytest
from support import check_bad_input, csv_rows, outcome

import cgrsp_simpy as cg

FEW = ("--search", "training=2,population=6,generations=2", "--seeds", "2")
WORDS = (
    "tune",
    "slots=2:4",
    "rh:reserve=0:2",
    "jobs=30",
    "rh:gate=0.5",
    "--day",
    "surge",
    *FEW,
)


@pytest.mark.slow
def test_the_command_is_the_function(capsys):
    pytest.importorskip("pymoo")
    own = {"training": 2, "population": 6, "generations": 2}
    ranges = {"slots": (2, 4), "rh:reserve": (0, 2)}
    found = cg.tune(cg.day("surge", jobs=30), ranges, "rh:gate=0.5", range(2), **own)
    assert outcome(capsys, *WORDS) == (0, f"{found}\n", "")
    status, out, _ = outcome(capsys, *WORDS, "--format", "json")
    assert (status, json.loads(out)) == (0, json.loads(found.json()))
    status, out, _ = outcome(capsys, *WORDS, "--format", "csv")
    assert len(csv_rows(out)) == len(found.rows) == 4 * len(found.points)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("slots=4:8",), ["--policy"]),
        (("rh:reserve=0",), ["ranges", "at least one"]),
        (("rh:reserve=0,1",), ["rh:reserve", "LOW:HIGH"]),
        (("rh:reserve=2:0",), ["rh:reserve", "least"]),
        (("rh:reserve=a:b",), ["rh:reserve"]),
        (("rh:reserve=0:1:2",), ["rh:reserve"]),
        (("rh:reserve=0:2", "spt:x=0:2"), ["spt"]),
        (("rh:reserve",), ["name=value"]),
        (("slots=4:8", "--policy", "rhh"), ["rhh"]),
        (("slots=4:8", "--policy", "rh", "--search", "training=0"), ["training"]),
        (("day.toml",), ["grid"]),
    ],
)
def test_what_is_not_allowed_is_told_in_a_line(words, told, capsys):
    pytest.importorskip("pymoo")
    check_bad_input(outcome(capsys, "tune", *words), told)
