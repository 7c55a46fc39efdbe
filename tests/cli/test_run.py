"""Output of `run` apart from its figures."""

import json

import pytest
from support import csv_rows, output


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_pictures_and_a_schedule_are_written(folder, capsys):
    output(capsys, *"run quiet jobs=3 --show a.png --show a.svg --show b.html".split())
    assert {path.name for path in folder.iterdir()} == {"a.png", "a.svg", "b.html"}
    line = "run cluster jobs=20 warm_up=0 after=0 --policy easy --show s.swf"
    rows = csv_rows(output(capsys, *line.split(), "--format", "csv"))
    again = json.loads(output(capsys, *"run cluster trace=s.swf --format json".split()))
    assert len(rows) == 20 and again["alternatives"] == ["fifo"]
