"""Output of `run` apart from its figures."""

import json

import pytest
from support import check_bad_input, csv_rows, outcome, output

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main


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


def test_two_policies_have_a_column_each(capsys):
    line = "run quiet jobs=9 --policy edf,cadr --show a.html"
    lines = output(capsys, *line.split()).splitlines()
    assert lines[1].split() == ["figure", "edf", "cadr"]
    jobs = csv_rows(output(capsys, *line.split(), "--format", "csv"))
    assert [row["alternative"] for row in jobs] == ["edf"] * 9 + ["cadr"] * 9
    found = json.loads(output(capsys, *line.split(), "--format", "json"))
    for row in found["figures"]:
        run = cg.simulate(cg.day("quiet", jobs=9), row["alternative"]).summary()
        assert row["wait_min"] == run["wait_min"]


def test_events_come_before_the_figures(capsys):
    lines = output(capsys, *"run quiet jobs=2 --show events".split()).splitlines()
    assert " submit " in lines[0] and "quiet, fifo, seed 0" in lines


@pytest.mark.parametrize(
    ("scenario", "title", "key"),
    [
        ("cluster jobs=20 warm_up=0", "waits by class", "classes"),
        ("hgsp:tasks1 source.tasks=9 noise=0.3", "plan and run", "measured"),
    ],
)
def test_a_module_adds_its_own_table(scenario, title, key, capsys):
    line = f"run {scenario}"
    assert title in output(capsys, *line.split())
    assert r"\begin{table}" in output(capsys, *line.split(), "--format", "latex")
    assert json.loads(output(capsys, *line.split(), "--format", "json"))[key]


def test_two_policies_have_a_table_each(capsys):
    """One run may go on to more jobs than the other, until the first jobs have left."""
    line = "run cluster jobs=20 load=0.9 --policy fifo,sjf --show a.html"
    printed = output(capsys, *line.split())
    assert all(f"waits by class, {policy}" in printed for policy in ("fifo", "sjf"))
    content = json.loads(output(capsys, *line.split(), "--format", "json"))
    assert [*content["details"]] == ["fifo", "sjf"]
    assert content["details"]["sjf"]["classes"]


def test_a_function_runs_without_policies(folder, capsys):
    (folder / "own.py").write_text(
        "import cgrsp_simpy as cg\n\n@cg.model\ndef walk(env, draw, steps=3):\n"
        "    env.run(steps)\n    return {'sum': draw('x').random() * steps}\n"
    )
    found = json.loads(
        output(capsys, *"run own.py:walk steps=4 --seed 2 --format json".split())
    )
    assert found["parameters"] == {"steps": 4} and found["seeds"] == [2]
    assert main("run own.py:walk --show events".split()) == 2


def test_waits_by_formula_stand_beside_those_of_a_comparison(capsys):
    line = "compare waiting jobs=900 machines=105 --policies ajw,njw --seeds 2"
    assert "simulation and formula" in output(capsys, *line.split())
    found = json.loads(output(capsys, *line.split(), "--format", "json"))
    assert found["formula"]["njw"]["wait_s"] == 0


def test_ranks_stand_beside_a_comparison_of_graphs(capsys):
    line = "compare dag:er:n=9 --policies heft,cpop,work --seeds 4"
    assert "mean ranks of makespan_s" in output(capsys, *line.split())


BANK = "def bank(env, tellers=2):\n    return {'share': 1 / tellers}\n"


def test_an_error_of_a_script_is_one_line_with_its_place(folder, capsys):
    (folder / "bank.py").write_text(BANK)
    words = ["bank.py:bank, line 2: ZeroDivisionError: division by zero"]
    check_bad_input(outcome(capsys, "run", "bank.py:bank", "tellers=0"), words)


def test_a_function_needs_no_decorator_on_the_command_line(folder, capsys):
    (folder / "bank.py").write_text(BANK)
    line = "compare bank.py:bank tellers=2,4 --seeds 2 --format json"
    figures = json.loads(output(capsys, *line.split()))["figures"]
    assert [row["share"]["mean"] for row in figures] == [0.5, 0.25]
