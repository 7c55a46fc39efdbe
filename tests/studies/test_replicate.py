"""Runs that fail, and the run behind a row."""

import json
import math
import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from studies.runs import never, normal, quiet, same, unlucky
from support import CGRSP, check_refused, csv_rows, outcome

import cgrsp_simpy as cg
from cgrsp_simpy.decide.month import days_of

# ---- runs that fail ----


@pytest.fixture(scope="module")
def failed():
    return cg.compare(normal, ["fifo", unlucky(normal, [4]), "spt"], range(3, 9))


def test_a_run_that_fails_is_a_row_with_its_error_among_others_that_are_intact(failed):
    assert [(row["policy"], row["seed"]) for row in failed.rows] == [
        (policy, seed) for policy in ("fifo", "rule", "spt") for seed in range(3, 9)
    ]
    [row] = failed.failures
    assert row == {"policy": "rule", "seed": 4, "error": row["error"]}
    assert row["error"].startswith("PolicyError: policy 'rule' at t = ")
    assert "raised ValueError: no luck (runs.py, line " in row["error"]
    alone = cg.compare(normal, ["fifo", "spt"], range(3, 9)).rows
    rule = [{**row, "policy": "rule"} for row in alone[:6] if row["seed"] != 4]
    rest = [row for row in failed.rows if row not in failed.failures]
    assert same(rest, [*alone[:6], *rule, *alone[6:]])


def test_means_and_differences_leave_the_failed_run_out(failed):
    assert math.isnan(failed.values("rule", "wait_min")[1])
    without = cg.compare(normal, ["fifo"], [3, 5, 6, 7, 8]).means()["fifo"]
    assert failed.means()["rule"] == without
    assert failed.means()["fifo"]["wait_min"].n == 6
    less = failed.differences()["rule"]["wait_min"]
    assert (less.n, less.mean, failed.tests()["rule"]["wait_min"].n) == (5, 0, 5)


def test_the_table_begins_with_the_failure_and_shows_the_smaller_number(failed):
    assert repr(failed).startswith(
        "<Comparison, 1 of 18 runs failed, of normal: policies fifo, ru"
    )
    sweep = cg.sweep(normal, {"slots": [3]}, [never], [0])
    assert repr(sweep).startswith(
        "<Sweep, 1 of 1 runs failed, of slots, 1 point: policy never"
    )
    lines = str(failed).splitlines()
    assert lines[1] == ""
    assert (
        lines[0] == "1 of 18 runs failed; the first: rule, seed 4:"
        f" {failed.failures[0]['error']}"
    )
    # means and differences
    assert [s.count("(n 5)") for s in lines if s.startswith("rule")] == [6, 4]
    assert sum("(n " in line for line in lines) == 2


def test_files_report_the_failure(failed, tmp_path):
    failed.to_csv(tmp_path / "rows.csv")
    failed.to_json(tmp_path / "summary.json")
    rows = csv_rows((tmp_path / "rows.csv").read_text())
    assert [bool(row["error"]) for row in rows] == [
        row in failed.failures for row in failed.rows
    ]
    assert [row["wait_min"] == "" for row in rows] == [
        row in failed.failures for row in failed.rows
    ]
    assert (
        json.loads((tmp_path / "summary.json").read_text())["failures"]
        == failed.failures
    )
    assert "failures" not in cg.compare(normal, ["fifo"], range(2)).as_dict()


RULES = """
import cgrsp_simpy as cg
scenario = cg.day("quiet")
first_s = next(iter(scenario.workload.generate(1, scenario.service)))[0].submit_s
def rule(view):
    if view.now_s == first_s:
        raise KeyError("lost")
    return zip(view.queue, view.idle)
"""
FAILING = [
    (
        "compare quiet --policies fifo,my_rules.py:rule --seeds 3",
        "1 of 6",
        "seed 1",
    ),
    (
        "sweep hectic name=quiet slots=3,5 --policies fifo,my_rules.py:rule --seeds 3",
        "2 of 12",
        "seed 1",
    ),
]


@pytest.mark.parametrize(("line", "number", "where"), FAILING, ids=["compare", "sweep"])
def test_a_command_with_failures_ends_with_status_1(
    line, number, where, tmp_path, monkeypatch, capsys, caplog
):
    monkeypatch.chdir(tmp_path)
    Path("my_rules.py").write_text(RULES)
    status, out, err = outcome(capsys, *line.split())
    assert (status, err, caplog.messages) == (1, "", [])  # the table says it
    assert re.match(
        rf"{number} runs failed; the first: my_rules.py:rule, {where}:"
        r" PolicyError: .*KeyError: 'lost' \(my_rules.py, line 7\)\n",
        out,
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_command_with_failures_reports_them_on_stderr_if_stdout_is_data(
    form, tmp_path
):
    (tmp_path / "my_rules.py").write_text(RULES)
    command = [*CGRSP, *FAILING[0][0].split(), "--format", form]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    [message] = done.stderr.splitlines()
    assert message.startswith(
        "cgrsp: 1 of 6 runs failed; the first: my_rules.py:rule, seed 1: PolicyError: "
    )
    if form == "json":
        assert [row["seed"] for row in json.loads(done.stdout)["failures"]] == [1]
    else:
        assert [row["seed"] for row in csv_rows(done.stdout) if row["error"]] == ["1"]


@pytest.mark.parametrize(
    "policies", [["fifo", never], [never, "fifo"]], ids=["second", "first"]
)
@pytest.mark.parametrize("seeds", [1, 2])
def test_a_policy_without_a_successful_run_has_no_numbers(policies, seeds):
    study = cg.compare(normal, policies, range(seeds))
    assert len(study.failures) == seeds
    assert all(
        math.isnan(value.mean) and value.n == 0
        for value in study.means()["never"].values()
    )
    rows = [line.split() for line in str(study).splitlines()]
    assert ["never"] + ["-"] * 6 in rows
    assert ([study.policies[1]] + ["-"] * 4 in rows) == (seeds > 1)
    plain = json.loads(study.json())
    figures = {row["alternative"]: row for row in plain["figures"]}
    unknown = {"mean": None, "ci95": [None, None], "n": 0}
    assert figures["never"]["wait_min"] == unknown
    names = ("t", "p", "p_holm", "wilcoxon_p", "d", "d_paired")
    tested = dict.fromkeys(names) | unknown | {"note": "fewer than 2 pairs"}
    [row] = plain["differences"]
    assert [row.pop("from"), row.pop("alternative")] == study.policies
    assert all(value == tested for value in row.values())


def test_a_table_reports_that_every_run_failed():
    study = cg.compare(normal, [never, unlucky(normal, range(9))], range(2))
    first = "4 of 4 runs failed; the first: never, seed 0: "
    assert str(study).startswith(first)
    assert study.figures == []
    assert json.loads(study.json())["figures"][0] == {"alternative": "never"}


class Jobless:
    """A workload that cannot make the jobs of seed 1, and draws wrongly for seed 2."""

    jobs, rate_per_s, mix, classes, gpus_per_job = (
        getattr(quiet.workload, name)
        for name in "jobs rate_per_s mix classes gpus_per_job".split()
    )

    def generate(self, seed, service):
        if seed == 1:
            raise RuntimeError("no jobs")
        if seed == 2:
            random.random()
        return quiet.workload.generate(seed, service)


def test_a_seed_whose_jobs_cannot_be_made_is_a_failed_run_of_each_policy():
    policies = ["fifo", "spt"]
    study = cg.compare(cg.Scenario("own", Jobless()), policies, range(3))
    assert [
        (row["policy"], row["seed"], row["error"].partition(",")[0])
        for row in study.failures
    ] == [
        (policy, seed, error)
        for policy in policies
        for seed, error in (
            (1, "RuntimeError: no jobs (test_replicate.py"),
            (
                2,
                "PolicyError: the run draws from the generator of the module random",
            ),
        )
    ]
    assert len(study.rows) == 3 * len(policies)


def not_on(slots):
    def rule(view):
        if len(view.slots) == slots:
            raise ValueError("not on these")
        return zip(view.queue, view.idle)

    return rule


@pytest.mark.parametrize("slots", [2, 3], ids=["the first", "the last"])
def test_a_point_of_a_sweep_at_which_every_run_fails_is_shown(slots):
    study = cg.sweep(
        cg.day, {"name": "quiet", "slots": [2, 3]}, [not_on(slots)], range(2)
    )
    lines = str(study).splitlines()
    assert lines[0].startswith("2 of 4 runs failed")
    assert len(study.failures) == 2
    other = 5 - slots
    assert any(
        line.split()[:3]
        == [
            str(other),
            "rule",
            f"{study.at(slots=other).means()['rule']['wait_min'].mean:.2f}",
        ]
        for line in lines
    )


def test_a_month_with_a_failed_day_is_a_failed_month():
    days = days_of({"quiet": 1.0}, 3, 1)
    rule = unlucky(quiet, [days[1].seed])
    month = cg.month({"quiet": 1.0}, 3)
    study = cg.compare(month, ["fifo", rule], range(3))
    assert [(row["policy"], row["seed"]) for row in study.failures] == [("rule", 1)]
    assert study.failures[0]["error"].startswith(
        f"PolicyError: day 2 (quiet, seed {days[1].seed}): policy 'rule' at t = "
    )
    assert same(study.rows[:3], cg.compare(month, ["fifo"], range(3)).rows)
    assert study.means()["rule"]["wait_min"].n == 2


# ---- the run behind a row ----


def test_the_run_behind_a_failed_row_fails_again(failed):
    with pytest.raises(cg.PolicyError, match="no"):
        failed.run("rule", 4)
    check_refused(
        lambda: failed.run("rul", 4), ["unknown policy 'rul'; did you mean 'rule'"]
    )


def test_the_run_of_a_day_of_a_month_is_bit_identical():
    month = cg.month({"quiet": 0.5, "normal": 0.5}, 4)
    result = cg.compare(month, ["fifo", "rh"], [3, 4]).run("rh", 4)
    row = result.rows()[1]
    run = result.day(2)
    for wrong in (0, 5):
        with pytest.raises(cg.InputError, match="1 to 4"):
            result.day(wrong)
    assert np.array_equal(
        run.jobs, cg.simulate(cg.day(row["kind"]), "rh", row["seed"]).jobs
    )
    assert same([run.summary()], [{name: row[name] for name in run.summary()}])
