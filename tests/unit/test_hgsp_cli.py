"""`cgrsp hgsp`: what it prints, and with what status."""

import csv
import io
import json
from pathlib import Path

import pytest

from cgrsp_simpy.cli import main

DATA = Path(__file__).parents[3] / "shared" / "data"
FIGURES = [
    "weighted_tardiness",
    "act_s",
    "twct",
    "dmc",
    "dmr_pct",
    "makespan_s",
    "utilisation_pct",
    "lower_bound",
    "gap_pct",
    "scheduler",
    "seconds",
]
SMALL = ["--level", "tasks3", "--tasks", "30"]


def told(capsys, *words):
    """Status, stdout and stderr of a command."""
    try:
        status = main(["hgsp", *words])
    except SystemExit as left:
        status = left.code
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize("scheduler", ["fifo", "greedy", "sagreedy", "annealing", "wspt", "edd", "atc"])
def test_solve_prints_the_metrics_with_bound_and_gap(capsys, scheduler):
    status, out, _ = told(capsys, "solve", "--scheduler", scheduler, *SMALL, "--moves", "2000", "--format", "json")
    found = json.loads(out)
    assert status == 0
    assert list(found) == FIGURES
    assert found["scheduler"] == scheduler
    assert found["lower_bound"] <= found["weighted_tardiness"]
    assert 0 <= found["gap_pct"] <= 100


def test_the_program_proves_a_small_instance(capsys):
    options = ["--level", "tasks3", "--tasks", "4", "--slack", "0.3:0.8"]
    found = json.loads(told(capsys, "solve", "--scheduler", "milp", *options, "--format", "json")[1])
    assert found["gap_pct"] < 0.01


def test_what_is_generated_can_be_solved(capsys, tmp_path):
    path = tmp_path / "tasks.csv"
    assert told(capsys, "generate", *SMALL, "--out", str(path)) == (0, f"{path}\n", "")
    from_file = told(capsys, "solve", "--scheduler", "atc", "--instance", str(path), "--format", "csv")[1]
    assert from_file == told(capsys, "solve", "--scheduler", "atc", *SMALL, "--format", "csv")[1]
    assert len(list(csv.DictReader(io.StringIO(from_file)))) == 30


@pytest.mark.skipif(not DATA.is_dir(), reason="the instances are not here")
def test_the_orlib_layout(capsys):
    path = str(DATA / "orlib_wt" / "wt40.txt")
    options = ["solve", "--scheduler", "annealing", "--orlib", path, "--index", "2", "--moves", "100000", "--format", "json"]
    found = json.loads(told(capsys, *options)[1])
    listed = int((DATA / "orlib_wt" / "wtopt40.txt").read_text().split()[1])
    assert listed <= found["weighted_tardiness"] <= 1.01 * listed
    two = json.loads(told(capsys, *options, "--machines", "2")[1])
    assert two["makespan_s"] < found["makespan_s"]


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_compare(capsys, form):
    names = "fifo,atc"
    status, out, _ = told(capsys, "compare", *SMALL, "--schedulers", names, "--instances", "3", "--format", form)
    assert status == 0
    if form == "json":
        assert list(json.loads(out)["schedulers"]) == ["fifo", "atc"]
    elif form == "csv":
        assert len(list(csv.DictReader(io.StringIO(out)))) == 6
    else:
        assert "difference from fifo, paired by instance" in out


def test_llm_prints_table_two(capsys):
    rows = json.loads(told(capsys, "llm", "--format", "json")[1])["rows"]
    values = {(row["scheduler"], row["mode"], row["step_s"]): (row["weighted_wait"], row["mean_wait_s"]) for row in rows}
    assert values["fifo", "work-conserving", None] == pytest.approx((336, 2.4))
    assert values["wsrpt", "work-conserving", None] == pytest.approx((102, 1.5))
    assert values["wsrpt", "waves", None] == pytest.approx((108, 1.8))
    assert values["fifo", "waves", 0.01] == pytest.approx((336.4, 2.402))
    assert told(capsys, "llm")[0] == 0


@pytest.mark.parametrize(
    ("words", "told_words"),
    [
        (["solve", "--scheduler", "luck", "--level", "tasks1"], ["'luck'", "sagreedy"]),
        (["solve", "--scheduler", "atc"], ["--level, --instance and --orlib"]),
        (["solve", "--scheduler", "atc", "--level", "tasks1", "--instance", "x.csv"], ["one of"]),
        (["solve", "--scheduler", "atc", "--level", "tasks7"], ["'tasks7'"]),
        (["solve", "--scheduler", "atc", "--instance", "none.csv"], ["none.csv", "No such file"]),
        (["solve", "--scheduler", "atc", *SMALL, "--slack", "1"], ["--slack(='1')", "1:2"]),
        (["solve", "--scheduler", "atc", *SMALL, "--load", "0"], ["load(=0.0)"]),
        (["solve", "--scheduler", "atc", *SMALL, "--cluster", "huge"], ["'huge'"]),
        (["solve", "--scheduler", "annealing", *SMALL, "--moves", "0"], ["moves(=0)"]),
        (["solve", "--scheduler", "annealing", *SMALL, "--time-budget", "0"], ["time_budget_s(=0.0)"]),
        (["compare", *SMALL, "--schedulers", "atc,atc"], ["names that differ"]),
        (["generate", "--out", "x.csv"], ["--level"]),
        (["llm", "--gpus", "4"], ["--gpus", "--trace"]),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, words, told_words):
    status, out, err = told(capsys, *words)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert all(word in err for word in told_words), err


def test_a_task_that_fits_nowhere_is_named_or_left_out(capsys, tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text("workload,memory_gb,deadline_s,weight,arrival_s\n1,99,3,1,0\n1,9,3,1,0\n", encoding="utf-8")
    status, _, err = told(capsys, "solve", "--scheduler", "atc", "--instance", str(path))
    assert status == 2
    assert "task 1" in err
    assert "80 GB" in err
    assert told(capsys, "solve", "--scheduler", "atc", "--instance", str(path), "--skip-unfit")[0] == 0
