"""Output in five formats, of every command that returns rows."""

import csv
import json
import re

import pytest
from support import output, swf_of_three

from cgrsp_simpy.cli import VERBS, command_of
from cgrsp_simpy.cli.parsing import FORMATS

LINES = {  # a command -> how many rows its figures have
    "run quiet jobs=3": 1,
    "run waiting jobs=3 machines=105": 1,
    "run rental trace=log.csv --by user": 2,
    "compare quiet jobs=5 --policies fifo,rh:reserve=2 --seeds 2": 2,
    "compare rental trace=log.csv --policies fifo,spt --by user --seeds 2": 4,
    "sweep quiet jobs=3,4 rh:reserve=0,1 --policies rh,fifo --seeds 2": 8,
    "parameters spot": None,
    "policies spot": None,
    "advise quiet jobs=5 --policies fifo,spt --seeds 2": None,
    "next state.json": 1,
    "forecast state.json --policies fifo,spt --seeds 2": 2,
    "bound quiet jobs=1 --seeds 2": 2,
    "bound quiet jobs=3 --seeds 2 --clairvoyant": 2,
    "plan waiting --policies ajw,njw": 2,
    "replay three.swf cluster=1x8 --policies fifo,easy --what-if nodes=1": None,
    "market report stock.csv": 1,
    "papers tables llm": None,
}
SLOW = ("advise", "bound quiet")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{60 * n},{30 + n},a_{n % 2}\n" for n in range(8))
    (tmp_path / "log.csv").write_text(f"submit_s,service_s,user\n{rows}")
    rows = "".join(f"{3600 * hour},{hour % 5 and 1}\n" for hour in range(60))
    (tmp_path / "stock.csv").write_text(f"time,status\n{rows}")
    (tmp_path / "state.json").write_text(
        '{"scenario": "quiet", "now_s": 60, "slots": ["RTX 3090"], "waiting":'
        ' [{"id": 1, "submit_s": 50, "deadline_s": 3650}]}'
    )
    swf_of_three(tmp_path)


def check_csv(text):
    """Every row of a CSV has a cell per column."""
    head, *rows = csv.reader(text.splitlines())
    assert len({*head}) == len(head) > 1 and rows
    assert {len(row) for row in rows} == {len(head)}


def check_markdown(text):
    """Every table has a rule below its head, and rows of as many cells."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [len(re.findall(r"(?<!\\)\|", line)) - 1 for line in lines]
    rules = [n for n, line in enumerate(lines) if re.fullmatch(r"(\| -+:? )+\|", line)]
    assert rules
    for rule, end in zip(rules, [*(n - 1 for n in rules[1:]), len(lines)]):
        assert len({*cells[rule - 1 : end]}) == 1


def check_latex(text):
    """Environments end in the order in which they begin; rows have all their cells."""
    begun = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if what == "begin":
            begun.append(name)
        else:
            assert begun.pop() == name
    assert not begun
    for table in re.split(r"(?=\\begin\{tabular\})", text)[1:]:
        columns = re.match(r"\\begin\{tabular\}\{([lr]+)\}", table)[1]
        rows = [line for line in table.splitlines() if line.endswith(r" \\")]
        counts = {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows}
        assert rows and counts == {len(columns)}
    assert not re.search(r"(?<!\\)[_%#]", re.sub(r"\\\w+\{\w+\}", "", text))


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=[pytest.mark.slow] * line.startswith(SLOW))
        for line in LINES
    ],
)
def test_an_answer_has_five_formats(line, folder, capsys):
    texts = {name: output(capsys, *line.split(), "--format", name) for name in FORMATS}
    check_csv(texts["csv"])
    check_markdown(texts["markdown"])
    check_latex(texts["latex"])
    figures = json.loads(texts["json"])["figures"]
    assert len(figures) == (LINES[line] or len(figures)) > 0


def test_every_verb_with_formats_is_tried():
    verbs = {line.split()[0] for line in LINES}
    assert verbs == {verb for verb in VERBS if command_of(verb).formats}
    assert all(command_of(verb).formats[:5] in ((), FORMATS) for verb in VERBS)
