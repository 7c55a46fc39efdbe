"""Studies: failed runs, precision, sweeps, months, what is said of the differences, and
the progress bar.
"""

import csv
import functools
import io
import json
import math
import os
import pickle
import re
import subprocess
import sys
import time
from dataclasses import FrozenInstanceError
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from support import CGRSP, seen_on_a_terminal

import cgrsp_simpy as cg
from cgrsp_simpy.analysis import statistics
from cgrsp_simpy.cli import main
from cgrsp_simpy.model.table import csv_text
from cgrsp_simpy.studies import replicate
from cgrsp_simpy.studies.month import days_of

TESTED = ("wait_min", "miss_pct", "tardiness_min", "cost_usd")
NAN, INF = float("nan"), float("inf")
quiet, normal = cg.day("quiet"), cg.day("normal", jobs=30)
busy = cg.day("hectic", jobs=60)


@pytest.fixture
def runs(monkeypatch):
    """The runs that are carried out: the slots of the scenario, the policy and the seed of each."""
    made, run = [], cg.Scenario.run

    def counted(scenario, policy, seed, **more):
        named = scenario.make_policy(policy)
        made.append((len(scenario.slots), getattr(named, "name", type(named).__name__), seed))
        return run(scenario, policy, seed, **more)

    monkeypatch.setattr(cg.Scenario, "run", counted)
    return made


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def same(rows, others):
    """Whether rows are equal to the bit; as text, since NaN differs from itself."""
    return csv_text(rows) == csv_text(others)


def first_s(scenario, seed):
    return next(iter(scenario.workload.generate(seed, scenario.service)))[0].submit_s


def unlucky(scenario, seeds):
    """FIFO that raises on some seeds; it knows them by their first submission."""
    times_s = {first_s(scenario, seed) for seed in seeds}

    def rule(view):
        if view.now_s in times_s:
            raise ValueError("no\nluck")
        return zip(view.queue, view.idle)

    return rule


# ---- names that a study does not have ----


@pytest.mark.parametrize(
    ("looked_up", "words"),
    [
        (
            lambda study: study.values("fifo", "wait_mn"),
            "unknown figure 'wait_mn'; did you mean 'wait_min'?",
        ),
        (
            lambda study: study.values("fiffo", "wait_min"),
            "unknown policy 'fiffo'; did you mean 'fifo'?",
        ),
        (lambda study: study.means()["ss"], "unknown policy 'ss'"),
        (
            lambda study: study.means()["spt"]["mis_pct"],
            "unknown figure 'mis_pct'; did you mean 'miss_pct'?",
        ),
        # the one compared with
        (lambda study: study.differences()["fifo"], r"unknown policy 'fifo' \(allowed: spt\)"),
        # is not tested
        (lambda study: study.differences()["spt"]["jobs"], "unknown figure 'jobs'"),
        (
            lambda study: study.tests()["spt"]["waitmin"],
            "unknown figure 'waitmin'; did you mean 'wait_min'?",
        ),
        (
            lambda study: cg.plots.policy_bars(study, "wait_mn"),
            "unknown metric 'wait_mn'; did you mean 'wait_min'?",
        ),
        (
            lambda study: cg.plots.pareto(study, "wait_mn", "miss_pct"),
            "unknown metric 'wait_mn'; did you mean 'wait_min'?",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["compare", "month"])
def test_an_unknown_name_is_refused_with_the_nearest(looked_up, words, kind):
    with pytest.raises(cg.InputError, match=words):
        looked_up(tried(kind))


@functools.cache
def tried(kind):
    if kind == "month":
        return cg.month({"quiet": 1.0}, ["fifo", "spt"], days=1, replications=2)
    return cg.compare(quiet, ["fifo", "spt"], range(2))


def test_a_sweep_refuses_an_unknown_name_with_the_nearest():
    study = cg.sweep(cg.day, {"name": "quiet", "slots": [1, 2]}, ["fifo"], range(2))
    for where in ({"slot": 1}, {"slots": 1, "rate": 3}, {"name": "quiet", "slots": 1}):
        with pytest.raises(cg.InputError, match="unknown name in the grid"):
            study.at(**where)
    with pytest.raises(cg.InputError, match="did you mean 'wait_min'"):
        study.at(slots=1).values("fifo", "wait_mins")
    with pytest.raises(cg.InputError, match="did you mean 'wait_min'"):
        cg.plots.sweep_lines(study, "wait_mins")


def test_names_that_are_there_are_looked_up_as_ever():
    study = tried("compare")
    assert isinstance(study.means(), dict)
    assert study.means()["fifo"].get("nothing") is None
    assert "nothing" not in study.means()["fifo"]
    assert repr(pickle.loads(pickle.dumps(study.means()))) == repr(study.means())
    with pytest.raises(cg.InputError, match="unknown figure"):
        pickle.loads(pickle.dumps(study.means()))["fifo"]["nothing"]


# ---- runs that fail ----


def leaves(view):
    raise SystemExit(0)


def is_interrupted(view):
    raise KeyboardInterrupt


def leaves_late(view):
    yield from zip(view.queue, view.idle)
    sys.exit("enough")


@pytest.mark.parametrize("policy", [leaves, leaves_late])
@pytest.mark.parametrize("workers", [None, pytest.param(1, marks=pytest.mark.slow)])
def test_a_policy_that_leaves_the_program_is_a_failed_run(policy, workers):
    study = cg.compare(quiet, ["fifo", policy, "spt"], range(2), workers)
    assert [row["policy"] for row in study.failures] == [policy.__name__] * 2
    assert all("raised SystemExit" in row["error"] for row in study.failures)
    assert same(
        [row for row in study.rows if row["policy"] != policy.__name__],
        cg.compare(quiet, ["fifo", "spt"], range(2)).rows,
    )
    with pytest.raises(cg.PolicyError, match="raised SystemExit"):
        cg.simulate(quiet, policy)


def test_a_policy_that_leaves_the_program_does_not_end_a_command_with_status_0(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("my_rules.py").write_text("def rule(view):\n    raise SystemExit(0)\n")
    assert main("compare --day quiet --policies fifo,my_rules.py:rule --seeds 2".split()) == 1
    assert "2 of 4 runs failed" in capsys.readouterr().out
    Path("my_rules.py").write_text("raise SystemExit(0)\n")
    assert main("compare --day quiet --policies fifo,my_rules.py:rule --seeds 2".split()) == 2
    assert "cannot be loaded: SystemExit" in capsys.readouterr().err


def test_an_interruption_is_no_failed_run():
    with pytest.raises(KeyboardInterrupt):
        cg.compare(quiet, ["fifo", is_interrupted], range(2))


@pytest.fixture(scope="module")
def failed():
    return cg.compare(normal, ["fifo", unlucky(normal, [4]), "spt"], range(3, 9))


def test_a_run_that_fails_is_a_row_with_its_error(failed):
    [row] = [row for row in failed.rows if row["policy"] == "rule" and row["seed"] == 4]
    assert set(row) == {"policy", "seed", "error"}
    assert row["error"].startswith("PolicyError: policy 'rule' at t = ")
    assert (
        row["error"].partition(" (test_studies.py, line ")[0].endswith("raised ValueError: no luck")
    )
    assert failed.failures == [row]


def test_the_other_rows_of_a_study_with_a_failure_are_intact(failed):
    rest = [row for row in failed.rows if row not in failed.failures]
    assert [(row["policy"], row["seed"]) for row in failed.rows] == [
        (p, s) for p in ("fifo", "rule", "spt") for s in range(3, 9)
    ]
    assert len(rest) == 17
    for row in rest:
        policy = "spt" if row["policy"] == "spt" else "fifo"
        assert same(
            [row],
            [{**cg.compare(normal, [policy], [row["seed"]]).rows[0], "policy": row["policy"]}],
        )


def test_means_and_differences_leave_the_failed_run_out(failed):
    assert math.isnan(failed.values("rule", "wait_min")[1])
    without = cg.compare(normal, ["fifo"], [3, 5, 6, 7, 8]).means()["fifo"]
    assert failed.means()["rule"] == without
    assert failed.means()["fifo"]["wait_min"].n == 6
    difference = failed.differences()["rule"]["wait_min"]
    assert (difference.n, difference.mean) == (5, 0)
    assert failed.tests()["rule"]["wait_min"].n == 5


def test_the_table_begins_with_the_failure_and_shows_the_smaller_number(failed):
    assert repr(failed).startswith("<Comparison, 1 of 18 runs failed, of normal: policies fifo, ru")
    sweep = cg.sweep(normal, {"slots": [3]}, [never], [0])
    assert repr(sweep).startswith("<Sweep, 1 of 1 runs failed, of slots, 1 point: policy never")
    lines = str(failed).splitlines()
    assert lines[1] == ""
    assert (
        lines[0]
        == f"1 of 18 runs failed; the first: policy rule, seed 4: {failed.failures[0]['error']}"
    )
    shown = [line for line in lines if line.startswith("rule")]
    assert len(shown) == 2  # means and differences
    assert [line.count("(n 5)") for line in shown] == [6, 4]
    assert sum("(n " in line for line in lines) == 2


def test_files_tell_of_the_failure(failed, tmp_path):
    failed.to_csv(tmp_path / "rows.csv")
    failed.to_json(tmp_path / "summary.json")
    rows = rows_of((tmp_path / "rows.csv").read_text())
    assert [bool(row["error"]) for row in rows] == [row in failed.failures for row in failed.rows]
    assert [row["wait_min"] == "" for row in rows] == [
        row in failed.failures for row in failed.rows
    ]
    assert json.loads((tmp_path / "summary.json").read_text())["failures"] == failed.failures
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
    ("compare --day quiet --policies fifo,my_rules.py:rule --seeds 3", "1 of 6", "seed 1"),
    ("sweep name=quiet slots=3,5 --policies fifo,my_rules.py:rule --seeds 3", "2 of 12", "seed 1"),
]


@pytest.mark.parametrize(("line", "number", "where"), FAILING, ids=["compare", "sweep"])
def test_a_command_with_failures_ends_with_status_1(
    line, number, where, tmp_path, monkeypatch, capsys, caplog
):
    monkeypatch.chdir(tmp_path)
    Path("my_rules.py").write_text(RULES)
    assert main(line.split()) == 1
    out, err = capsys.readouterr()
    assert (err, caplog.messages) == ("", [])  # the table says it
    told = out.splitlines()[0]
    assert told.startswith(
        f"{number} runs failed; the first: policy my_rules.py:rule, {where}: PolicyError: "
    )
    assert told.endswith("KeyError: 'lost' (my_rules.py, line 7)")


@pytest.mark.parametrize("form", ["csv", pytest.param("json", marks=pytest.mark.slow)])
def test_a_command_with_failures_says_so_on_stderr_where_stdout_is_data(form, tmp_path):
    (tmp_path / "my_rules.py").write_text(RULES)
    command = [*CGRSP, *FAILING[0][0].split(), "--format", form]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    [told] = done.stderr.splitlines()
    assert told.startswith(
        "cgrsp: 1 of 6 runs failed; the first: policy my_rules.py:rule, seed 1: PolicyError: "
    )
    if form == "json":
        assert [row["seed"] for row in json.loads(done.stdout)["failures"]] == [1]
    else:
        assert [row["seed"] for row in rows_of(done.stdout) if row["error"]] == ["1"]


def never(view):
    raise ValueError("never")


@pytest.mark.parametrize("policies", [["fifo", never], [never, "fifo"]], ids=["second", "first"])
@pytest.mark.parametrize("seeds", [1, 2, 6])
def test_where_no_run_of_a_policy_succeeds_there_are_no_numbers(policies, seeds):
    study = cg.compare(normal, policies, range(seeds))
    assert len(study.failures) == seeds
    assert all(math.isnan(value.mean) and value.n == 0 for value in study.means()["never"].values())
    [differences], [tests] = study.differences().values(), study.tests().values()
    assert all(math.isnan(value.mean) and math.isnan(value.p) for value in differences.values())
    assert all(math.isnan(value.difference) and math.isnan(value.p) for value in tests.values())
    rows = [line.split() for line in str(study).splitlines()]
    assert ["never"] + ["-"] * 6 in rows
    if seeds > 1:
        assert [study.policies[1]] + ["-"] * 4 in rows
    plain = json.loads(study.json())
    assert plain["policies"]["never"]["wait_min"] == {"mean": None, "ci95": [None, None], "n": 0}
    [told] = plain["differences"]["policies"].values()
    for value in told.values():
        assert value.pop("ci95") == [None, None]
        assert (value.pop("n"), value.pop("note")) == (0, "fewer than 2 pairs")
        assert set(value.values()) == {None}


@pytest.mark.parametrize(
    "policies", [[never], [never, unlucky(normal, range(9))]], ids=["one", "two"]
)
def test_where_every_run_fails_the_table_still_says_so(policies):
    study = cg.compare(normal, policies, range(2))
    number = 2 * len(policies)
    assert (
        str(study)
        .splitlines()[0]
        .startswith(f"{number} of {number} runs failed; the first: policy never, seed 0: ")
    )
    assert study.figures == []
    assert json.loads(study.json())["policies"]["never"] == {}


class Jobless:
    """A workload that cannot make the jobs of seed 1."""

    jobs, rate_per_s, mix, classes, gpus_per_job = (
        getattr(quiet.workload, name) for name in "jobs rate_per_s mix classes gpus_per_job".split()
    )

    def generate(self, seed, service):
        if seed == 1:
            raise RuntimeError("no jobs")
        return quiet.workload.generate(seed, service)


@pytest.mark.parametrize(
    "policies",
    [["fifo"], ["fifo", "spt"]],
    ids=["one policy", "two"],
)
def test_a_seed_whose_jobs_cannot_be_made_is_a_failed_run_of_each_policy(policies):
    study = cg.compare(cg.Scenario("own", Jobless()), policies, range(3))
    assert study.failures == [
        {"policy": policy, "seed": 1, "error": "RuntimeError: no jobs"} for policy in policies
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
    study = cg.sweep(cg.day, {"name": "quiet", "slots": [2, 3]}, [not_on(slots)], range(2))
    lines = str(study).splitlines()
    assert lines[0].startswith("2 of 4 runs failed")
    assert len(study.failures) == 2
    other = 5 - slots
    assert any(
        line.split()[:3]
        == [str(other), "rule", f"{study.at(slots=other).means()['rule']['wait_min'].mean:.2f}"]
        for line in lines
    )


def test_a_month_with_a_failed_day_is_a_failed_month():
    days = days_of({"quiet": 1.0}, 3, 1)
    rule = unlucky(quiet, [days[1].seed])
    study = cg.month({"quiet": 1.0}, ["fifo", rule], 3, 3)
    assert [(row["policy"], row["seed"]) for row in study.failures] == [("rule", 1)]
    assert study.failures[0]["error"].startswith(
        f"day 2 (quiet, seed {days[1].seed}): PolicyError: policy 'rule' at t = "
    )
    assert [(row["replication"], row["day"]) for row in study.days if "error" in row] == [(1, 2)]
    assert same(study.rows[:3], cg.month({"quiet": 1.0}, ["fifo"], 3, 3).rows)
    assert study.means()["rule"]["wait_min"].n == 2


# ---- the run behind a row ----


@pytest.mark.parametrize(
    "policy", ["random", "rh:reserve=2", unlucky(normal, [])], ids=["name", "text", "function"]
)
def test_the_run_behind_a_row_is_the_same_to_the_bit(policy):
    study = cg.compare(normal, ["fifo", policy], range(5, 8))
    label = policy if isinstance(policy, str) else "rule"
    run, alone = study.run(label, 6), cg.simulate(normal, policy, 6)
    assert np.array_equal(run.jobs, alone.jobs)
    assert same(
        [{"policy": label, "seed": 6, **run.summary()}],
        [row for row in study.rows if (row["policy"], row["seed"]) == (label, 6)],
    )


def test_the_run_behind_a_failed_row_fails_again(failed):
    with pytest.raises(cg.PolicyError, match="no"):
        failed.run("rule", 4)


def test_a_run_of_a_policy_that_is_not_there_is_refused(failed):
    with pytest.raises(cg.InputError, match="unknown policy 'rul'; did you mean 'rule'"):
        failed.run("rul", 4)


def test_the_run_behind_a_day_of_a_month_is_the_same_to_the_bit():
    study = cg.month({"quiet": 0.5, "normal": 0.5}, ["fifo", "rh"], 4, 2, first_seed=3)
    [row] = [
        row for row in study.days if (row["policy"], row["replication"], row["day"]) == ("rh", 4, 2)
    ]
    run = study.run("rh", 4, 2)
    assert np.array_equal(run.jobs, cg.simulate(cg.day(row["kind"]), "rh", row["seed"]).jobs)
    assert same([run.summary()], [{name: row[name] for name in run.summary()}])


@pytest.mark.parametrize(
    ("where", "words"),
    [(("rhh", 0, 1), "unknown policy 'rhh'"), (("rh", 2, 1), "day"), (("rh", 0, 3), "day")],
)
def test_a_day_that_is_not_in_the_study_is_refused(where, words):
    study = cg.month({"quiet": 1.0}, ["rh"], 2, 2)
    with pytest.raises(cg.InputError, match=words):
        study.run(*where)


# ---- precision ----


def widths(study, figure="wait_min"):
    found = [value[figure] for value in study.means().values()]
    return [value.half_width / abs(value.mean) for value in found]


@pytest.mark.parametrize("precision", [0.05, 0.1, np.float64(0.1)])
def test_a_precision_adds_seeds_until_every_policy_has_it(precision):
    short = cg.compare(busy, ["fifo", "spt"], range(5, 8))
    study = cg.compare(busy, ["fifo", "spt"], range(5, 8), precision=precision)
    assert max(widths(short)) > precision >= max(widths(study))
    assert study.seeds == list(range(5, 5 + len(study.seeds)))
    assert same([row for row in study.rows if row["seed"] < 8], short.rows)
    assert same(study.rows, cg.compare(busy, ["fifo", "spt"], study.seeds).rows)


def test_a_precision_does_not_add_many_more_seeds_than_it_needs():
    study = cg.compare(busy, ["fifo", "spt"], range(3), precision=0.05)
    half = cg.compare(busy, ["fifo", "spt"], range(len(study.seeds) // 2))
    assert max(widths(half)) > 0.05


def test_the_added_seeds_follow_the_greatest():
    study = cg.compare(busy, ["fifo"], [9, 2, 4], precision=0.1)
    assert study.seeds == [9, 2, 4, *range(10, 7 + len(study.seeds))]


def test_a_precision_that_is_there_adds_nothing():
    assert cg.compare(busy, ["fifo", "spt"], range(4), precision=1).seeds == list(range(4))
    # 0 ± 0
    assert cg.compare(quiet, ["fifo"], range(4), precision={"tardiness_min": 0.01}).seeds == list(
        range(4)
    )
    assert cg.compare(quiet, ["fifo"], range(4), precision={}).seeds == list(range(4))


def test_each_figure_has_its_own_precision():
    wanted = {"wait_min": 0.2, "cost_usd": 0.02}
    study = cg.compare(busy, ["fifo", "spt"], range(3), precision=wanted)
    for figure, width in wanted.items():
        assert max(widths(study, figure)) <= width
        assert len(
            cg.compare(busy, ["fifo", "spt"], range(3), precision={figure: width}).seeds
        ) <= len(study.seeds)
    assert len(study.seeds) > 3


def test_a_precision_is_reached_without_the_runs_that_fail():
    study = cg.compare(busy, ["fifo", unlucky(busy, [1, 7])], range(5), precision=0.1)
    assert max(widths(study)) <= 0.1
    assert [row["seed"] for row in study.failures] == [1, 7]


def test_a_policy_that_always_fails_does_not_keep_others_from_their_precision():
    study = cg.compare(busy, ["fifo", never], range(3), precision=0.1)
    assert widths(study)[0] <= 0.1
    assert len(study.failures) == len(study.seeds) > 3


@pytest.mark.parametrize(
    "policies",
    [
        ["fifo", unlucky(busy, [0, 1])],
        [unlucky(busy, [0, 1])],
    ],
    ids=["with another policy", "alone"],
)
def test_a_precision_with_one_run_that_does_not_fail_goes_on(policies):
    study = cg.compare(busy, policies, range(3), precision=0.1)
    assert max(widths(study)) <= 0.1
    assert len(study.failures) == 2


def test_a_precision_out_of_reach_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr("cgrsp_simpy.studies.compare.MOST_SEEDS", 20)
    with pytest.raises(cg.InputError, match=r"'wait_min': 0.001.* is not reached with 20 seeds"):
        cg.compare(busy, ["fifo"], range(3), precision=0.001)
    assert main("compare --day quiet --policies fifo --seeds 3 --precision 0.001".split()) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_precision_resumes(tmp_path, runs, monkeypatch):
    monkeypatch.setattr(replicate, "JOBS_PER_TASK", 300)
    study = partial(cg.compare, busy, ["fifo", "spt"], range(3), out=tmp_path, precision=0.1)
    first = study()
    chunks, done = sorted((tmp_path / "chunks").iterdir()), len(runs)
    assert done == 2 * len(first.seeds)
    assert len(chunks) > 4
    for path in chunks[len(chunks) // 2 :]:  # as if it had been interrupted
        path.unlink()
    again = study()
    assert done < len(runs) < 2 * done
    assert same(again.rows, first.rows)
    study()
    assert sorted((tmp_path / "chunks").iterdir()) == chunks


@pytest.mark.parametrize(
    ("text", "precision"),
    [
        ("0.2", 0.2),
        ("miss_pct=0.9,wait_min=0.2", {"miss_pct": 0.9, "wait_min": 0.2}),
        ("0.2,cost_usd=0.02", {"wait_min": 0.2, "cost_usd": 0.02}),
    ],
)
def test_the_command_takes_a_precision(printed, text, precision):
    out = printed(
        "compare --day hectic --jobs-per-day 60 --policies fifo,spt --seeds 3 --precision"
        f" {text} --format csv"
    )
    assert out == csv_text(cg.compare(busy, ["fifo", "spt"], range(3), precision=precision).rows)


# ---- sweeps ----


def test_a_sweep_is_the_cross_product_in_order():
    study = cg.sweep(
        cg.day,
        {"slots": (2, 3), "name": "quiet", "tight_fraction": [0.5, 0.1]},
        ["fifo", "spt"],
        range(2),
    )
    assert study.points == tuple(
        {"slots": slots, "tight_fraction": share} for slots in (2, 3) for share in (0.5, 0.1)
    )
    assert [point for point, _ in study] == list(study.points)
    keys = [(row["slots"], row["tight_fraction"], row["policy"], row["seed"]) for row in study.rows]
    assert keys == [
        (n, share, p, s)
        for n in (2, 3)
        for share in (0.5, 0.1)
        for p in ("fifo", "spt")
        for s in (0, 1)
    ]
    assert list(study.rows[0]) == [
        "slots",
        "tight_fraction",
        *cg.compare(quiet, ["fifo"], [0]).rows[0],
    ]
    assert study.policies == ["fifo", "spt"]


@pytest.mark.parametrize(
    "values",
    [[2, 4], (2, 4), range(2, 5, 2), {2: 0, 4: 0}, (slots for slots in (2, 4))],
    ids=lambda it: type(it).__name__,
)
def test_a_grid_takes_any_values(values):
    assert [
        row["slots"]
        for row in cg.sweep(cg.day, {"name": "quiet", "slots": values}, ["fifo"], [0]).rows
    ] == [2, 4]


def test_a_grid_takes_an_array():
    assert [
        row["slots"]
        for row in cg.sweep(cg.day, {"name": "quiet", "slots": np.arange(2, 4)}, ["fifo"], [0]).rows
    ] == [2, 3]


@pytest.mark.parametrize(
    "study",
    [
        pytest.param(
            partial(cg.compare, cg.day("quiet", jobs=np.int64(5)), ["fifo"], [0]),
            id="compare",
        ),
        pytest.param(
            partial(cg.sweep, cg.day, {"name": "quiet", "jobs": np.arange(2, 4)}, ["fifo"], [0]),
            id="sweep",
        ),
        pytest.param(partial(cg.month, {"quiet": 1.0}, ["fifo"], np.int64(2), 2), id="month"),
    ],
)
def test_numbers_of_numpy_go_into_a_results_directory(study, tmp_path):
    study(out=tmp_path)


def test_each_point_is_a_comparison_of_its_own():
    study = cg.sweep(
        cg.day,
        {"name": "hectic", "jobs": 60, "slots": [2, 4], "tight_fraction": [0.1, 0.5]},
        ["edf", "random"],
        range(3),
    )
    assert len(study.studies) == 4
    for point, found in study:
        alone = cg.compare(cg.day("hectic", jobs=60, **point), ["edf", "random"], range(3))
        assert same(found.rows, alone.rows)
        assert str(found) == str(alone)
        assert study.at(**point) is found
    assert len({found.means()["edf"]["wait_min"].mean for _, found in study}) == 4


def test_a_point_is_found_by_what_varies():
    study = cg.sweep(
        cg.day, {"name": "quiet", "slots": [2, 3], "tight_fraction": [0.1, 0.5]}, ["fifo"], [0]
    )
    assert study.at(slots=3, tight_fraction=0.1) is study.studies[2]
    for where in ({"slots": 3}, {}, {"slots": 4}):
        with pytest.raises(cg.InputError, match=r"at\(=.*must be one of the points .*'slots': 2"):
            study.at(**where)


def test_a_parameter_of_a_policy_is_that_of_its_text():
    study = cg.sweep(
        cg.day,
        {"name": "surge", "jobs": 60, "rh:reserve": [0, 2], "rh:gate": [0.9, 5.0]},
        ["fifo", "rh", "rh:gate=0.5"],
        range(3),
    )
    for point, found in study:
        text = f"rh:reserve={point['rh:reserve']},gate={point['rh:gate']}"
        alone = cg.compare(cg.day("surge", jobs=60), ["fifo", text, "rh:gate=0.5"], range(3))
        assert same(
            found.rows,
            [
                {**row, "policy": "rh" if row["policy"] == text else row["policy"]}
                for row in alone.rows
            ],
        )
        assert np.array_equal(found.run("rh", 1).jobs, alone.run(text, 1).jobs)
    means = {tuple(point.values()): found.means()["rh"]["wait_min"].mean for point, found in study}
    assert means[2, 5.0] != means[0, 5.0]  # the reserve does matter there


def test_a_policy_that_has_parameters_takes_another():
    study = cg.sweep(
        cg.day, {"name": "surge", "jobs": 60, "rh:gate=5:reserve": [0, 2]}, ["rh:gate=5"], range(2)
    )
    alone = cg.compare(cg.day("surge", jobs=60), ["rh:gate=5,reserve=2"], range(2))
    assert (
        study.at(**{"rh:gate=5:reserve": 2}).means()["rh:gate=5"]
        == alone.means()["rh:gate=5,reserve=2"]
    )


def test_a_scenario_may_stay_as_it_is():
    study = cg.sweep(normal, {"rh:reserve": [0, 2]}, ["rh"], range(2))
    alone = cg.compare(normal, ["rh:reserve=2"], range(2))
    assert study.at(**{"rh:reserve": 2}).means()["rh"] == alone.means()["rh:reserve=2"]
    assert same(
        cg.sweep(normal, {}, ["fifo"], range(2)).rows, cg.compare(normal, ["fifo"], range(2)).rows
    )


def small(jobs, **more):
    return cg.day("surge", jobs=jobs, **more)


@pytest.mark.parametrize(
    ("scenario", "grid", "expected"),
    [
        (
            lambda count, fleet=2: cg.day("normal", fleet, jobs=count),
            {"count": [5, 9]},
            lambda count: cg.day("normal", 2, jobs=count),
        ),
        (
            partial(cg.day, "normal", jobs=9),
            {"slots": [2, 4]},
            lambda slots: cg.day("normal", slots, jobs=9),
        ),
        (
            partial(cg.day, name="normal", jobs=9),
            {"slots": [2, 4]},
            lambda slots: cg.day("normal", slots, jobs=9),
        ),
        (small, {"jobs": 9, "slots": [2, 4]}, lambda slots: cg.day("surge", slots, jobs=9)),
    ],
    ids=["a function", "a partial", "a partial by name", "any keywords"],
)
def test_a_scenario_may_come_from_a_function_of_ones_own(scenario, grid, expected):
    study = cg.sweep(scenario, grid, ["fifo"], range(2))
    for point, found in study:
        assert found.scenario == expected(**point)
        assert same(found.rows, cg.compare(expected(**point), ["fifo"], range(2)).rows)


def test_runs_that_points_share_are_run_once(runs):
    study = cg.sweep(
        cg.day,
        {"name": "quiet", "slots": [2, 3], "rh:reserve": [0, 1, 2]},
        ["fifo", "rh"],
        range(2),
    )
    assert len(study.rows) == 2 * 3 * 2 * 2
    assert len(runs) == 2 * 2 + 2 * 3 * 2  # FIFO has no reserve
    for slots in (2, 3):
        waits = {
            tuple(study.at(slots=slots, **{"rh:reserve": n}).values("fifo", "wait_min"))
            for n in range(3)
        }
        assert len(waits) == 1


def test_the_table_of_a_sweep_has_a_line_a_point_and_policy():
    study = cg.sweep(cg.day, {"name": "quiet", "slots": [2, 3]}, ["fifo", "rh"], range(2))
    title, head, *lines = str(study).splitlines()
    assert title == "quiet: mean of 2 seeds ± 95 % half width"
    assert head.split()[:3] == ["slots", "policy", "wait_min"]
    assert [line.split()[:2] for line in lines] == [
        ["2", "fifo"],
        ["2", "rh"],
        ["3", "fifo"],
        ["3", "rh"],
    ]
    assert f"{study.at(slots=3).means()['rh']['wait_min'].mean:.2f} ±" in lines[-1]
    one = cg.sweep(cg.day, {"name": ["quiet", "normal"]}, ["fifo"], [0])
    assert str(one).splitlines()[0] == "quiet, normal: 1 seed (an interval needs two)"
    assert "±" not in str(one)


def test_a_sweep_as_json_holds_a_comparison_a_point():
    study = cg.sweep(cg.day, {"name": "quiet", "slots": [2, 3]}, ["fifo", "rh"], range(2))
    found = json.loads(study.json())
    assert [point.pop("at") for point in found["points"]] == [{"slots": 2}, {"slots": 3}]
    assert found["points"] == [json.loads(each.json()) for each in study.studies]


@pytest.mark.parametrize("name", ["policy", "seed", "cost_usd", "error"])
def test_a_parameter_that_is_called_like_a_column_is_not_hidden(name):
    try:
        study = cg.sweep(
            lambda **more: cg.day("quiet", slots=more[name]), {name: [1, 2]}, ["fifo"], [7]
        )
    except cg.InputError as error:
        assert repr(name) in str(error)
    else:
        assert [row[name] for row in study.rows] == [1, 2]
        assert study.failures == []


def test_the_command_sweeps(printed):
    line = "sweep name=quiet slots=3,5 rh:reserve=0,1 --policies fifo,rh --seeds 2"
    study = cg.sweep(
        cg.day, {"name": ["quiet"], "slots": [3, 5], "rh:reserve": [0, 1]}, ["fifo", "rh"], range(2)
    )
    assert printed(line) == f"{study}\n"
    assert printed(f"{line} --format csv") == csv_text(study.rows)
    assert json.loads(printed(f"{line} --format json")) == json.loads(study.json())


def test_the_command_reads_values_as_what_they_are(printed):
    line = (
        "sweep name=quiet,normal jobs=9 free_types=true,false clock=printed tight_fraction=0.5"
        " --policies spt --seeds 1"
    )
    grid = {
        "name": ["quiet", "normal"],
        "jobs": [9],
        "free_types": [True, False],
        "clock": ["printed"],
        "tight_fraction": [0.5],
    }
    assert printed(f"{line} --format csv") == csv_text(cg.sweep(cg.day, grid, ["spt"], [0]).rows)


def test_the_command_sweeps_a_hectic_day_unless_told(printed):
    rows = rows_of(printed("sweep jobs=9,10 --policies fifo --seeds 1 --format csv"))
    assert "name" not in rows[0]
    waits = [
        cg.simulate(cg.day("hectic", jobs=jobs), "fifo").summary()["wait_min"] for jobs in (9, 10)
    ]
    assert [float(row["wait_min"]) for row in rows] == waits


# ---- months ----

MIX = {"quiet": 0.6, "normal": 0.3, "hectic": 0.1}


def day_of(kind):
    """Days of few jobs, and of slots of their own."""
    slots, jobs = {"quiet": (2, 4), "normal": (3, 20), "hectic": (4, 250)}[kind]
    return cg.day(kind, slots, tight_fraction=0.5, jobs=jobs)


@pytest.fixture(scope="module")
def months():
    return cg.month(MIX, ["fifo", "spt", "rh:reserve=2"], 8, 3, first_seed=5, scenario=day_of)


def test_days_depend_on_the_replication_alone():
    assert days_of(MIX, 40, 3) == days_of(MIX, 40, 3)
    assert [each.number for each in days_of(MIX, 40, 3)] == list(range(1, 41))
    every = [days_of(MIX, 40, replication) for replication in range(5)]
    assert len({tuple(each.kind for each in days) for days in every}) == 5
    assert len({each.seed for days in every for each in days}) == 200


def test_a_month_is_the_same_among_others(months):
    alone = cg.month(MIX, ["rh:reserve=2", "fifo"], 8, 1, first_seed=6, scenario=day_of)
    days = [row for row in months.days if row["replication"] == 6]
    assert same(alone.days[:8], [row for row in days if row["policy"] == "rh:reserve=2"])
    assert same(
        alone.rows[1:], [row for row in months.rows if (row["policy"], row["seed"]) == ("fifo", 6)]
    )


def test_kinds_follow_the_mix():
    kinds = [each.kind for each in days_of(MIX, 3000, 0)]
    counts = [kinds.count(kind) for kind in MIX]
    assert stats.chisquare(counts, [3000 * share for share in MIX.values()]).pvalue > 0.001
    # another mix is seen
    assert stats.chisquare(counts, [3000 * share for share in (0.5, 0.4, 0.1)]).pvalue < 1e-6


def test_kinds_follow_the_mix_over_many_months():
    kinds = [
        each.kind for replication in range(150) for each in days_of(cg.THESIS_MIX, 20, replication)
    ]
    counts = [kinds.count(kind) for kind in cg.THESIS_MIX]
    assert (
        stats.chisquare(counts, [3000 * share for share in cg.THESIS_MIX.values()]).pvalue > 0.001
    )
    wrong = [3000 * share for share in (0.25, 0.5, 0.15, 0.1)]
    assert stats.chisquare(counts, wrong).pvalue < 1e-6


def test_every_day_is_a_run_of_its_own(months):
    assert len(months.days) == 3 * 3 * 8
    for row in months.days:
        run = cg.simulate(day_of(row["kind"]), row["policy"], row["seed"])
        assert same(
            [
                {
                    name: value
                    for name, value in row.items()
                    if name not in ("policy", "replication", "day", "kind", "seed")
                }
            ],
            [run.summary()],
        )


def test_every_policy_meets_the_same_days(months):
    days = [
        [
            (row["replication"], row["day"], row["kind"], row["seed"])
            for row in months.days
            if row["policy"] == policy
        ]
        for policy in months.policies
    ]
    assert days[0] == [tuple(each) for seed in (5, 6, 7) for each in days_of(MIX, 8, seed)]
    assert days[0] == days[1] == days[2]


def days_behind(study, row):
    return [
        each
        for each in study.days
        if (each["policy"], each["replication"]) == (row["policy"], row["seed"])
    ]


def weighted(days, figure, weights):
    return np.average([each[figure] for each in days], weights=weights)


def test_figures_of_a_month_are_those_of_its_jobs(months):
    for row in months.rows:
        days = days_behind(months, row)
        jobs = [each["completed"] for each in days]
        assert len(set(jobs)) > 1
        assert (row["jobs"], row["completed"]) == (sum(jobs), sum(jobs))
        for figure in ("wait_min", "miss_pct", "tardiness_min"):
            assert row[figure] == pytest.approx(weighted(days, figure, jobs), rel=1e-12)
        assert row["cost_usd"] == pytest.approx(sum(each["cost_usd"] for each in days), rel=1e-12)
        held = [len(day_of(each["kind"]).slots) * each["makespan_h"] for each in days]
        assert row["utilisation_pct"] == pytest.approx(
            weighted(days, "utilisation_pct", held), rel=1e-12
        )
        # not a mean over days
        assert row["wait_min"] != pytest.approx(weighted(days, "wait_min", None), rel=1e-3)
        assert row["utilisation_pct"] != pytest.approx(
            weighted(days, "utilisation_pct", None), rel=1e-3
        )


def test_misses_of_a_month_are_those_of_its_tight_and_loose_jobs(months):
    for row in months.rows:
        records = [
            months.run(row["policy"], row["seed"], each["day"]).jobs
            for each in days_behind(months, row)
        ]
        jobs = np.concatenate(records)
        late = jobs["finish_s"] > jobs["deadline_s"]
        assert row["miss_pct"] == pytest.approx(100 * late.mean(), rel=1e-12)
        assert row["tight_miss_pct"] == pytest.approx(100 * late[jobs["tight"]].mean(), rel=1e-12)
        assert row["loose_miss_pct"] == pytest.approx(100 * late[~jobs["tight"]].mean(), rel=1e-12)
        assert row["wait_min"] == pytest.approx(
            (jobs["start_s"] - jobs["submit_s"]).mean() / 60, rel=1e-12
        )


def test_some_job_of_the_months_misses(months):
    assert any(row["miss_pct"] > 0 for row in months.rows)  # or the test above would compare zeros


def test_what_a_study_has_found_stands_for_nothing_else_later(months):
    day = cg.day("quiet", jobs=2)
    found = [
        (months, "mix"),
        (cg.compare(day, ["fifo"], range(1)), "scenario"),
        (cg.sweep(cg.day, {"name": "quiet", "jobs": [2]}, ["fifo"], range(1)), "points"),
    ]
    for study, name in found:
        with pytest.raises(FrozenInstanceError):
            setattr(study, name, None)


def test_months_are_compared_as_days_are(months):
    assert months.seeds == [5, 6, 7]
    assert months.title == "8 days of quiet 0.6, normal 0.3, hectic 0.1"
    assert str(months).splitlines()[0] == f"{months.title}: mean of 3 seeds ± 95 % half width"
    first, second = months.values("fifo", "wait_min"), months.values("spt", "wait_min")
    assert months.differences()["spt"]["wait_min"] == statistics.paired_difference(second, first)


def test_the_command_compares_months(printed):
    line = "month --mix quiet=0.9,normal=0.1 --days 3 --replications 2 --first-seed 4 --slots 3"
    line += " --policies fifo,rh:reserve=2,gate=0.9"
    study = cg.month(
        {"quiet": 0.9, "normal": 0.1},
        ["fifo", "rh:reserve=2,gate=0.9"],
        3,
        2,
        4,
        partial(cg.day, slots=3),
    )
    assert printed(line) == f"{study}\n"
    assert printed(f"{line} --format csv") == csv_text(study.rows)
    assert printed(f"{line} --format json") == study.json()


# ---- what is said of the differences ----


@pytest.fixture(scope="module")
def study():
    return cg.compare(cg.day("hectic", jobs=300), ["fifo", "spt", "edf", "rh"], range(12))


def told(study):
    return json.loads(study.json())["differences"]["policies"]


def test_the_tests_are_those_of_the_values(study):
    for policy, row in told(study).items():
        assert list(row) == list(TESTED)
        for figure, value in row.items():
            ours, first = study.values(policy, figure), study.values("fifo", figure)
            if np.array_equal(ours, first):
                continue
            t = stats.ttest_rel(ours, first)
            assert (value["t"], value["p"]) == pytest.approx((t.statistic, t.pvalue), rel=1e-9)
            assert value["ci95"] == pytest.approx(list(t.confidence_interval()), rel=1e-9)
            assert value["wilcoxon_p"] == statistics.paired_test(ours, first).wilcoxon_p
            assert value["d"] == pytest.approx(statistics.cohens_d(ours, first), rel=1e-9)
            assert value["d_paired"] == pytest.approx(
                statistics.cohens_d_paired(ours, first), rel=1e-9
            )
            assert value["n"] == 12
            assert "note" not in value


def test_holm_is_over_every_policy_and_figure(study):
    cells = [value for row in told(study).values() for value in row.values()]
    assert len(cells) == 3 * 4
    p = [value["p"] for value in cells]
    assert [value["p_holm"] for value in cells] == statistics.holm(p)
    by_policy = [each for k in range(3) for each in statistics.holm(p[4 * k : 4 * k + 4])]
    assert statistics.holm(p) != by_policy
    assert "Holm over these 12:" in str(study)


def test_the_family_named_is_that_of_holm():
    assert "Holm over these 4:" in str(cg.compare(busy, ["fifo", "spt", never], range(6)))


def test_stars_are_those_of_the_adjusted_p_values(study):
    stars = 0
    lines = {line.split()[0]: line for line in str(study).splitlines()[7:] if line}
    for policy, row in told(study).items():
        shown = re.findall(r"[+-][\d.]+ ± *[\d.]+(?: (\*+))?", lines[policy])
        assert shown == [
            "*" * sum(value["p_holm"] < limit for limit in (0.05, 0.01, 0.001))
            for value in row.values()
        ]
        stars += sum(map(len, shown))
    assert stars > 9


@pytest.mark.parametrize("seeds", [2, 4, 5])
def test_few_seeds_are_noted(seeds):
    study = cg.compare(busy, ["fifo", "spt"], range(seeds))
    few = seeds < 5
    assert ("fewer than 5 pairs" in str(study)) == few
    wait = told(study)["spt"]["wait_min"]
    assert wait.get("note") == ("fewer than 5 pairs" if few else None)


def test_one_seed_has_no_interval_and_says_so():
    study = cg.compare(busy, ["fifo", "spt"], [3])
    assert str(study).splitlines()[0] == "hectic: 1 seed (an interval needs two)"
    assert "±" not in str(study)
    assert "difference" not in str(study)
    wait = told(study)["spt"]["wait_min"]
    assert wait["mean"] == study.values("spt", "wait_min")[0] - study.values("fifo", "wait_min")[0]
    assert wait.pop("note") == "fewer than 2 pairs"
    assert [wait[name] for name in ("t", "p", "p_holm", "wilcoxon_p", "d", "d_paired", "ci95")] == [
        *[None] * 6,
        [None, None],
    ]


def test_differences_that_are_all_zero_are_noted():
    twin = cg.ListPolicy(cg.rules.by_submission, cg.rules.first_idle, name="twin")
    wait = told(cg.compare(normal, [twin, unlucky(normal, [])], range(6)))["rule"]["wait_min"]
    assert (wait["mean"], wait["p"], wait["t"], wait["note"]) == (
        0,
        1,
        None,
        "all differences are zero",
    )


# ---- bad input ----


def compared(**more):
    return cg.compare(quiet, ["fifo"], range(3), **more)


def swept(grid, policies=("fifo", "rh"), scenario=cg.day):
    return cg.sweep(scenario, grid, policies, [0])


def over_months(mix=None, **more):
    return cg.month(
        mix or {"quiet": 1.0}, **{"policies": ["fifo"], "days": 2, "replications": 2, **more}
    )


def two(a, b):
    return cg.day("quiet", a, jobs=b)


def wrong(study, *words):
    return pytest.param(study, words, id=" ".join(words))


BAD = [
    # (the call, what its line must name)
    wrong(lambda: compared(precision=0), "precision", "0", "number > 0"),  # none
    wrong(lambda: compared(precision=-0.1), "precision", "-0.1", "number > 0"),  # negative
    wrong(lambda: compared(precision=NAN), "precision", "nan", "number > 0"),  # not a number
    wrong(lambda: compared(precision=INF), "precision", "inf", "number > 0"),  # not finite
    wrong(lambda: compared(precision=5), "precision", "5", "at most 1: 5 per cent is 0.05"),
    wrong(lambda: compared(precision={"wait_min": 12.5}), "12.5 per cent is 0.125"),
    wrong(lambda: compared(precision=True), "precision", "True", "number > 0"),  # a truth value
    wrong(lambda: compared(precision="0.05"), "precision", "'0.05'"),  # a text
    wrong(lambda: compared(precision=[0.05]), "precision", "[0.05]"),  # a list
    # a text
    wrong(lambda: compared(precision={"wait_min": "x"}), "precision", "'x'", "number > 0"),
    # no figure; the nearest
    wrong(lambda: compared(precision={"waitmin": 1}), "precision", "'waitmin'", "mean 'wait_min'"),
    # a figure that is given
    wrong(lambda: compared(precision={"jobs": 1}), "precision", "'jobs'", "cost_usd"),
    # no interval to begin with
    wrong(lambda: cg.compare(quiet, ["fifo"], [4], precision=1), "seeds", "[4]", "two or more"),
    # not a parameter; the nearest
    wrong(lambda: swept({"slot": [2, 3]}), "'slot'", "mean 'slots'", "rh:<parameter>"),
    # a value twice
    wrong(
        lambda: swept({"name": "quiet", "slots": [2, 3, 2]}),
        "values of slots",
        "[2, 3, 2]",
        "different",
    ),
    # equal
    wrong(
        lambda: swept({"name": "quiet", "slots": [2, 2.0]}),
        "values of slots",
        "[2, 2.0]",
        "different",
    ),
    # none
    wrong(lambda: swept({"name": "quiet", "slots": []}), "values of slots", "[]", "at least one"),
    wrong(lambda: swept({"slots": [2, 3]}), "grid", "missing", "'name'"),  # which day?
    # a function of one's own
    wrong(lambda: swept({"a": [2, 3]}, scenario=two), "grid", "missing", "'b'"),
    # no such parameter
    wrong(lambda: swept({"a": [2], "b": 2, "c": 3}, scenario=two), "'c'", "allowed: a, b"),
    wrong(lambda: swept({}), "grid", "missing", "'name'"),  # nothing at all
    wrong(lambda: swept({"name": "quiett"}), "day", "'quiett'", "mean 'quiet'"),  # a wrong value
    # the second is wrong
    wrong(lambda: swept({"name": "quiet", "slots": [2, 0]}), "slots", "0", "whole number >= 1"),
    # not among the policies
    wrong(lambda: swept({"name": "quiet", "rh:reserve": [0]}, ["fifo"]), "'rh'", "allowed: fifo"),
    # it has none
    wrong(
        lambda: swept({"name": "quiet", "fifo:reserve": [0]}),
        "parameter of policy fifo",
        "'reserve'",
    ),
    # no such; the nearest
    wrong(lambda: swept({"name": "quiet", "rh:reserv": [0]}), "'reserv'", "mean 'reserve'"),
    # a text
    wrong(
        lambda: swept({"name": "quiet", "rh:reserve": [0, "x"]}), "reserve", "'x'", "whole number"
    ),
    # negative
    wrong(
        lambda: swept({"name": "quiet", "rh:reserve": [0, -1]}),
        "reserve",
        "-1",
        "whole number >= 0",
    ),
    wrong(
        lambda: swept({"name": "quiet", "rh:reserve": [1]}, ["rh", "rh:reserve=1"]),
        "policies",
        "rh:reserve=1",
        "differ",
    ),
    # a function has none
    wrong(
        lambda: swept({"name": "quiet", "never:x": [0]}, [never, "rh"]), "'never'", "allowed: rh"
    ),
    # no such parameter
    wrong(lambda: swept({"slot": [2, 3]}, scenario=quiet), "'slot'", "did you mean 'slots'"),
    wrong(lambda: swept([("slots", 2)]), "grid", "[('slots', 2)]", "mapping"),  # pairs
    wrong(lambda: swept("slots"), "grid", "'slots'", "mapping"),  # a text
    wrong(lambda: swept({3: [2]}), "3"),  # a number as a name
    wrong(lambda: swept({"name": "quiet"}, []), "policies", "[]", "at least one"),  # no policy
    # no seed
    wrong(lambda: cg.sweep(cg.day, {"name": "quiet"}, ["fifo"], []), "seeds", "[]", "at least one"),
    # a name in place of a scenario
    wrong(lambda: swept({}, scenario="hectic"), "scenario", "'hectic'"),
    # nothing came of it
    wrong(lambda: swept({"a": [2]}, scenario=lambda a: None), "scenario", "None"),
    # too little
    wrong(
        lambda: over_months({"quiet": 0.5, "normal": 0.4}), "mix", "(0.5, 0.4)", "sum to 1", "0.9"
    ),
    # no shares
    wrong(lambda: over_months({"quiet": 1.5, "normal": -0.5}), "mix", "1.5", "from 0 to 1"),
    wrong(lambda: over_months({"quiet": NAN}), "mix", "nan", "from 0 to 1"),  # not a number
    wrong(lambda: over_months({"quiet": "1"}), "mix", "'1'", "from 0 to 1"),  # a text
    # not a day; the nearest
    wrong(lambda: over_months({"quiett": 1.0}), "day", "'quiett'", "mean 'quiet'"),
    wrong(lambda: cg.month({}), "mix", "{}", "mapping"),  # none
    wrong(lambda: over_months(["quiet"]), "mix", "['quiet']", "mapping"),  # a list
    # numbers as names
    wrong(lambda: over_months({1: 0.5, 2: 0.5}, scenario=lambda kind: quiet), "mix", "1"),
    # nothing came of it
    wrong(lambda: over_months(scenario=lambda kind: None), "scenario", "None"),
    wrong(lambda: over_months(days=0), "days", "0", "whole number >= 1"),  # none
    wrong(lambda: over_months(days=1.5), "days", "1.5", "whole number >= 1"),  # a fraction
    wrong(lambda: over_months(replications=0), "replications", "0", "whole number >= 1"),  # none
    # a text
    wrong(lambda: over_months(replications="3"), "replications", "'3'", "whole number >= 1"),
    wrong(lambda: over_months(first_seed=-1), "first_seed", "-1", "whole number >= 0"),  # negative
    # not a policy; the nearest
    wrong(lambda: over_months(policies=["fifoo"]), "policy", "'fifoo'", "mean 'fifo'"),
    wrong(lambda: over_months(policies=[]), "policies", "[]", "at least one"),  # none
    wrong(lambda: compared(executor="2"), "executor", "'2'", "whole number >= 1"),  # a text
    # a truth value
    wrong(lambda: compared(executor=True), "executor", "True", "whole number >= 1"),
]


@pytest.mark.parametrize(("study", "words"), BAD)
def test_a_wrong_study_is_one_line_before_anything_runs(study, words, runs):
    with pytest.raises(cg.InputError) as caught:
        study()
    line = str(caught.value)
    assert "\n" not in line
    assert not [word for word in words if word not in line], line
    assert runs == []


LINES = [
    # (the command line, what its one line must name)
    ("sweep", ["NAME=V,V,...", "required"]),  # no grid
    ("sweep slots", ["'slots'", "name=value"]),  # no values
    ("sweep slots=", ["'slots='", "name=value"]),  # none
    ("sweep slots=3 slots=4", ["slots", "twice"]),  # which of them?
    ("sweep name=quiet name=normal", ["name", "twice"]),  # which of them?
    ("sweep name=quiet slots=3,3", ["values of slots", "[3, 3]", "different"]),  # a value twice
    ("sweep slot=3", ["'slot'", "mean 'slots'"]),  # not a parameter; the nearest
    ("sweep slots=x", ["slots", "'x'", "whole number >= 1"]),  # a text
    ("sweep slots=3,", ["slots", "''", "whole number >= 1"]),  # an empty value after the comma
    ("sweep tight_fraction=nan", ["tight_fraction", "nan", "from 0 to 1"]),  # not a number
    ("sweep rh:reserve=0,1 --policies fifo", ["'rh'", "fifo"]),  # not among the policies
    ("sweep rh:reserve=0.5 --policies rh", ["reserve", "'0.5'", "whole number"]),  # a fraction
    ("sweep slots=3 --seeds 0", ["--seeds", "0", "whole number >= 1"]),  # none
    ("sweep slots=3 --workers 0", ["--workers", "0", "whole number >= 1"]),  # none
    ("month --mix quiet", ["--mix", "'quiet'", "day=probability"]),  # no share
    ("month --mix quiet=x", ["--mix", "'quiet=x'", "day=probability"]),  # a text
    ("month --mix quiet=0.5", ["mix", "(0.5,)", "sum to 1"]),  # too little
    ("month --mix quiett=1", ["day", "'quiett'", "mean 'quiet'"]),  # not a day; the nearest
    ("month --mix quiet=1,quiet=1", ["quiet", "twice"]),  # which of them?
    ("month --days 0", ["days", "0", "whole number >= 1"]),  # none
    ("month --days x", ["--days", "'x'", "int"]),  # a text
    ("month --replications 0", ["replications", "0", "whole number >= 1"]),  # none
    ("month --first-seed -1", ["first", "-1", "whole number >= 0"]),  # negative
    ("month --slots 0", ["slots", "0", "whole number >= 1"]),  # none
    ("month --seeds 3", ["--seeds"]),  # they are called replications
    ("compare --day quiet --precision x", ["--precision", "'x'", "miss_pct=0.1"]),  # a text
    ("compare --day quiet --precision 0", ["precision", "0", "number > 0"]),  # none
    # no figure; the nearest
    ("compare --day quiet --precision waitmin=0.1", ["precision", "'waitmin'", "mean 'wait_min'"]),
    # no interval to begin with
    ("compare --day quiet --precision 0.1 --seeds 1", ["seeds", "[0]", "two or more"]),
    # which of them?
    ("compare --day quiet --seeds 2 --precision 9,wait_min=8", ["wait_min", "twice"]),
]


@pytest.mark.parametrize(("line", "words"), LINES, ids=[line for line, _ in LINES])
def test_a_wrong_option_is_one_line(line, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        status = main([*line.split(), "--out", "results"])
    except SystemExit as left:
        status = left.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith("cgrsp")
    assert err.count("\n") == 1
    assert not [word for word in words if word not in err], err
    assert not list(tmp_path.iterdir())


# ---- progress ----

SECONDS = [
    "compare --day hectic --policies fifo --seeds 200",
    "sweep slots=5,6 --policies fifo --seeds 100",
    "month --mix hectic=1 --policies fifo --days 20",
]
BAR = re.compile(rb"\d+%\|[^|]+\| \d[\d.]*k/\d[\d.]*k \[\d\d:\d\d<\d\d:\d\d, +\d[\d.]*k jobs/s\]")


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are those of POSIX")
@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, id=line.split()[0], marks=[pytest.mark.slow] * (line != SECONDS[0]))
        for line in SECONDS
    ],
)
def test_a_terminal_sees_how_fast_a_study_goes_and_how_long_it_takes(line):
    assert b"/190k " in seen_on_a_terminal(line, BAR.search, 100)  # of all jobs of the study


@pytest.mark.slow
def test_without_a_terminal_nothing_is_said_of_progress():
    begin = time.monotonic()
    done = subprocess.run(
        [*CGRSP, *SECONDS[0].split()], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - begin > 2  # a terminal would have seen it
