"""What a terminal is told of commands: what they do and for how long, and beforehand
that it will be long.
"""

import io
import logging
import shlex
import sys
import time

import pytest
from support import messages

from cgrsp_simpy import cli
from cgrsp_simpy.cli.options import Answer

told = sys.modules["cgrsp_simpy.cli.working"]
SMALL = {  # a command of each kind -> what the line says
    "compare --day quiet --seeds 2": "cgrsp compare",
    "sweep slots=2,3 --day quiet --policies fifo --seeds 1": "cgrsp sweep",
    "month --mix quiet=1 --days 2 --seeds 2 --policies fifo": "cgrsp month",
    "run --day quiet": "cgrsp run",
    "thesis table 4.1": "cgrsp thesis table 4.1",
    "thesis figure 3.2 --out {}": "cgrsp thesis figure 3.2",
    "waiting optimize --rate-per-s 0.02 --service-s 500": "cgrsp waiting optimize",
    (
        "waiting compare --rate-per-s 0.02 --service-s 500 --machines 12 --jobs 500"
        " --seeds 2"
    ): "cgrsp waiting",
    "hgsp solve --policy greedy --level tasks1": "cgrsp hgsp solve",
    "llm table": "cgrsp llm table",
    "llm run --policy fifo": "cgrsp llm run",
    "cluster run --policy easy --jobs 50": "cgrsp cluster run",
    "dag solve --graph er:n=20 --policies heft,random-search --budget evaluations=9": (
        "cgrsp dag solve"
    ),
    "dag correlate --graph er:n=20 --pairs 20": "cgrsp dag correlate",
    "spot run --hours 2 --deadline 3": "cgrsp spot run",
}
# the others: pytest -m slow
QUICK = ("compare", "waiting optimize", "dag solve", "spot run")
LONG = {  # a command of hours -> what is told of it before it starts
    "compare --day hectic --seeds 1000000": "jobs are to be simulated",
    "sweep slots=3,4 --day hectic --seeds 1000000": "jobs are to be simulated",
    "month --days 30 --seeds 1000000": "jobs are to be simulated",
    "thesis tables --seeds 10000": "jobs are to be simulated",
    "thesis check --seeds 10000": "jobs are to be simulated",
    (
        "waiting compare --rate-per-s 0.2 --service-s 500 --machines 104 --jobs 1000000"
        " --seeds 10000"
    ): "jobs",
    "cluster table --seeds 100000": "jobs are to be simulated",
    "dag solve --graph er:n=300 --policies worl-rtgs --budget evaluations=10000000": (
        "be placed"
    ),
    "dag compare --graph er:n=300 --budget evaluations=10000000": (
        "jobs are to be simulated"
    ),
    "hgsp compare --level tasks4 --seeds 1000000": "jobs are to be simulated",
    "spot compare --seeds 100000000": "jobs are to be simulated",
}


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """In place of stderr; and no second of silence."""
    seen = Terminal()
    monkeypatch.setattr("sys.stderr", seen)
    monkeypatch.setattr(told, "SILENT_S", 0.0)
    return seen


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            line,
            id=" ".join(line.split()[:2]),
            marks=[pytest.mark.slow] * (not line.startswith(QUICK)),
        )
        for line in SMALL
    ],
)
def test_a_command_says_what_it_does(line, monkeypatch, tmp_path, capsys):
    seen = terminal(monkeypatch)
    assert cli.main(shlex.split(line.format(tmp_path))) == 0
    assert SMALL[line] in seen.getvalue()


def test_the_line_counts_and_goes(monkeypatch, capsys):
    def works(given):
        time.sleep(0.3)
        return Answer("done")

    monkeypatch.setattr(told, "EVERY_S", 0.05)
    monkeypatch.setattr("cgrsp_simpy.cli.policies.carry_out", works)
    line = terminal(monkeypatch)
    assert cli.main(["policies"]) == 0
    seen = line.getvalue()
    assert seen.count("cgrsp policies: 00:0") >= 3
    assert seen.split("\r")[-1].strip() == "" and not seen.split("\r")[-2].strip()
    assert capsys.readouterr().out == "done\n"


def test_a_quick_command_and_a_file_are_told_nothing(monkeypatch, capsys):
    seen = Terminal()
    monkeypatch.setattr("sys.stderr", seen)
    assert cli.main(["policies"]) == 0
    monkeypatch.setattr(told, "SILENT_S", 0.0)
    monkeypatch.setattr("sys.stderr", plain := io.StringIO())
    assert cli.main(["policies"]) == 0
    assert seen.getvalue() == plain.getvalue() == ""


def test_what_a_command_prints_as_it_goes_stands_alone(monkeypatch, capsys):
    seen = terminal(monkeypatch)
    assert cli.main(["run", "--day", "quiet", "--jobs", "3", "--show", "events"]) == 0
    assert seen.getvalue() == ""


@pytest.mark.parametrize("line", LONG, ids=lambda line: " ".join(line.split()[:2]))
def test_hours_are_told_before_they_begin(line, capsys):
    assert cli.main(line.split()) == 2
    refused = capsys.readouterr().err
    assert LONG[line] in refused
    assert "--yes" in refused


@pytest.mark.parametrize(
    "line",
    [
        "hgsp figures",
        *(
            pytest.param(f"{name} figures", marks=pytest.mark.slow)
            for name in ("thesis", "waiting", "cluster", "dag", "spot")
        ),
    ],
)
def test_all_figures_are_told_to_take_minutes(line, monkeypatch, caplog, tmp_path):
    caplog.set_level(logging.INFO)
    name = line.split()[0]
    place = f"cgrsp_simpy.{name}{'' if name == 'thesis' else '.paper'}.figures"
    monkeypatch.setattr(f"{place}.draw_figures", lambda *_, **__: [])
    assert cli.main([*line.split(), "--out", str(tmp_path)]) == 0
    assert any("may take minutes" in each for each in messages(caplog, logging.INFO))
