"""Comparisons and sweeps: precision, refusals before the first run, the progress
bar.
"""

import json
import os
import re
import subprocess
import time
from functools import partial

import numpy as np
import pytest
from studies.runs import busy, never, quiet, same, unlucky
from support import CGRSP, check_refused, seen_on_a_terminal

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main

NAN, INF = float("nan"), float("inf")


# ---- precision ----


def widths(study, figure="wait_min"):
    results = [value[figure] for value in study.means().values()]
    return [value.half_width / abs(value.mean) for value in results]


@pytest.mark.parametrize(
    "precision", [np.float64(0.15), pytest.param(0.05, marks=pytest.mark.slow)]
)
def test_a_precision_adds_seeds_until_every_policy_has_it(precision):
    short = cg.compare(busy, ["fifo", "spt"], range(5, 8))
    study = cg.compare(busy, ["fifo", "spt"], range(5, 8), precision=precision)
    assert max(widths(short)) > precision >= max(widths(study))
    assert study.seeds == list(range(5, 5 + len(study.seeds)))
    half = cg.compare(busy, ["fifo", "spt"], study.seeds[: len(study.seeds) // 2])
    assert max(widths(half)) > precision  # it does not add many more than it needs
    assert same([row for row in study.rows if row["seed"] < 8], short.rows)
    again = cg.compare(busy, ["spt"], study.seeds)
    assert same([row for row in study.rows if row["policy"] == "spt"], again.rows)


def always_the_same(env):
    env.run(1)
    return {"lost": 2}


def lost_from_20_on(env, seed):
    env.run(1)
    return {"lost": seed >= 20}


def alike_from_16_on(env, seed):
    env.run(1)
    return {"lost": 1 + (-1) ** seed * (seed < 16)}


@pytest.mark.parametrize(
    ("scenario", "policy", "precision", "number"),
    [
        (busy, "fifo", 1, 10),  # fewer values may be close together by chance
        (busy, "fifo", {}, 4),
        (quiet, "fifo", {"tardiness_min": 0.01}, 30),  # 0 ± 0
        (cg.model(lost_from_20_on), {}, {"lost": 0.7}, 30),
        (cg.model(always_the_same), {}, {"lost": 0.01}, 4),
        (cg.model(always_the_same), lost_from_20_on, {"lost": 0.7}, 30),
        # the first 10 ask for more than four times as many; the others are all equal
        (cg.model(alike_from_16_on), {}, {"lost": 0.17}, 40),
        # two seeds fail: the 10 values of 12 seeds are not enough, 11 are
        (
            cg.model(
                lambda env, seed: {"lost": 1 / (seed not in (9, 2)) + (-1) ** seed}
            ),
            {},
            {"lost": 0.72},
            13,
        ),
    ],
)
def test_a_reached_precision_needs_10_values_or_30_equal_ones(
    scenario, policy, precision, number, monkeypatch
):
    monkeypatch.setattr("cgrsp_simpy.studies.compare.MOST_SEEDS", number)
    study = cg.compare(scenario, [policy], [9, 2, 4, 5], precision=precision)
    # those that are added follow the greatest
    assert study.seeds == [9, 2, 4, 5, *range(10, 6 + number)]


@pytest.mark.parametrize(
    ("policies", "failed"),
    [
        (["fifo", unlucky(busy, [0, 1])], 2),
        ([unlucky(busy, [0, 1])], 2),
        (["fifo", unlucky(busy, [1, 7])], 2),
        ([never, "fifo"], None),  # it does not keep others from their precision
    ],
)
def test_a_precision_is_reached_without_the_runs_that_fail(policies, failed):
    study = cg.compare(busy, policies, range(3), precision=0.15)
    assert max(width for width in widths(study) if width == width) <= 0.15
    assert len(study.failures) == failed or len(study.failures) == len(study.seeds) > 3


def test_an_unreachable_precision_gives_a_one_line_error(monkeypatch, capsys):
    monkeypatch.setattr("cgrsp_simpy.studies.compare.MOST_SEEDS", 20)
    check_refused(
        lambda: cg.compare(busy, ["fifo"], range(3), precision=0.001),
        r"'wait_min': 0.001.* is not reached with 20 seeds",
    )
    assert (
        main("compare quiet --policies fifo --seeds 3 --precision 0.001".split()) == 2
    )
    assert capsys.readouterr().err.count("\n") == 1


# ---- bad input ----


def compared(scenario=quiet, **more):
    return cg.compare(scenario, ["fifo"], range(3), **more)


def swept(grid, policies=("fifo", "rh"), scenario=cg.day):
    return cg.sweep(scenario, grid, policies, [0])


def over_months(mix=None, policies=("fifo",), **more):
    month = cg.month(mix or {"quiet": 1.0}, **{"days": 2, **more})
    return cg.compare(month, policies, range(2))


def two(a, b):
    return cg.day("quiet", a, jobs=b)


def wrong(study, *words):
    return study, words


BAD = [
    # (the call, what its line must name)
    wrong(lambda: compared(precision=0), "precision", "0", "number > 0"),  # none
    # negative
    wrong(lambda: compared(precision=-0.1), "precision", "-0.1", "number > 0"),
    wrong(lambda: compared(precision=1.5), "precision", "1.5", "at most 1"),
    wrong(
        lambda: compared(
            cg.Scenario(
                "replay",
                quiet.workload,
                market=cg.Market(
                    series=[cg.StockSeries("RTX 3090", (0.0,), (0,), 172_800.0)]
                ),
            ),
            precision=0.1,
        ),
        "precision",
        "if a market is replayed",
    ),
    # not a number
    wrong(lambda: compared(precision=NAN), "precision", "nan", "number > 0"),
    # not finite
    wrong(lambda: compared(precision=INF), "precision", "inf", "number > 0"),
    wrong(
        lambda: compared(precision=5),
        "precision",
        "5",
        "at most 1: write 0.05 for 5 per cent",
    ),
    wrong(
        lambda: compared(precision={"wait_min": 12.5}), "write 0.125 for 12.5 per cent"
    ),
    # a truth value
    wrong(lambda: compared(precision=True), "precision", "True", "number > 0"),
    wrong(lambda: compared(precision="0.05"), "precision", "'0.05'"),  # a text
    wrong(lambda: compared(precision=[0.05]), "precision", "[0.05]"),  # a list
    # a text
    wrong(
        lambda: compared(precision={"wait_min": "x"}), "precision", "'x'", "number > 0"
    ),
    # no figure; the nearest
    wrong(
        lambda: compared(precision={"waitmin": 1}),
        "precision",
        "'waitmin'",
        "mean 'wait_min'",
    ),
    # a figure that is given
    wrong(lambda: compared(precision={"jobs": 1}), "precision", "'jobs'", "cost_usd"),
    # no interval to begin with
    wrong(
        lambda: cg.compare(quiet, ["fifo"], [4], precision=1),
        "seeds",
        "[4]",
        "at least two",
    ),
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
    wrong(
        lambda: swept({"name": "quiet", "slots": []}),
        "values of slots",
        "[]",
        "at least one",
    ),
    *(
        wrong(
            lambda values=values: swept({"name": "quiet", "slots": values}),
            "values of slots",
            "none of which is an array",
        )
        for values in (np.ones((2, 2)), np.array(3), [np.arange(2)])
    ),
    wrong(lambda: swept({"slots": [2, 3]}), "grid", "missing", "'name'"),  # which day?
    # a user's function
    wrong(lambda: swept({"a": [2, 3]}, scenario=two), "grid", "missing", "'b'"),
    # no such parameter
    wrong(
        lambda: swept({"a": [2], "b": 2, "c": 3}, scenario=two), "'c'", "allowed: a, b"
    ),
    wrong(lambda: swept({}), "grid", "missing", "'name'"),  # nothing at all
    # a wrong value
    wrong(lambda: swept({"name": "quiett"}), "day", "'quiett'", "mean 'quiet'"),
    # the second is wrong
    wrong(
        lambda: swept({"name": "quiet", "slots": [2, 0]}),
        "slots",
        "0",
        "whole number >= 1",
    ),
    # not among the policies
    wrong(
        lambda: swept({"name": "quiet", "rh:reserve": [0]}, ["fifo"]),
        "'rh'",
        "allowed: fifo",
    ),
    # it has none
    wrong(
        lambda: swept({"name": "quiet", "fifo:reserve": [0]}),
        "parameter of policy fifo",
        "'reserve'",
    ),
    # no such; the nearest
    wrong(
        lambda: swept({"name": "quiet", "rh:reserv": [0]}), "'reserv'", "mean 'reserve'"
    ),
    # a text
    wrong(
        lambda: swept({"name": "quiet", "rh:reserve": [0, "x"]}),
        "reserve",
        "'x'",
        "whole number",
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
        "duplicates",
    ),
    # a function has none
    wrong(
        lambda: swept({"name": "quiet", "never:x": [0]}, [never, "rh"]),
        "'never'",
        "allowed: rh",
    ),
    # no such parameter
    wrong(
        lambda: swept({"slot": [2, 3]}, scenario=quiet),
        "'slot'",
        "did you mean 'slots'",
    ),
    # the name of another column
    wrong(
        lambda: swept({"alternative": [2]}, scenario=lambda alternative: quiet),
        "'alternative'",
        "other columns of a row (policy, seed, error, alternative, ",
    ),
    wrong(lambda: swept([("slots", 2)]), "grid", "[('slots', 2)]", "mapping"),  # pairs
    wrong(lambda: swept("slots"), "grid", "'slots'", "mapping"),  # a text
    wrong(lambda: swept({3: [2]}), "3"),  # a number as a name
    # no policy
    wrong(lambda: swept({"name": "quiet"}, []), "policies", "[]", "at least one"),
    # no seed
    wrong(
        lambda: cg.sweep(cg.day, {"name": "quiet"}, ["fifo"], []),
        "seeds",
        "[]",
        "at least one",
    ),
    # a name in place of a scenario
    wrong(
        lambda: swept({}, scenario="hectic"),
        "scenario",
        "'hectic'",
        "the call is sweep",
    ),
    # every run failed
    wrong(lambda: swept({"a": [2]}, scenario=lambda a: None), "scenario", "None"),
    # too little
    wrong(
        lambda: over_months({"quiet": 0.5, "normal": 0.4}),
        "mix",
        "{'quiet': 0.5, 'normal': 0.4}",
        "sum to 1",
        "0.9",
    ),
    # no shares
    wrong(
        lambda: over_months({"quiet": 1.5, "normal": -0.5}), "mix", "1.5", "from 0 to 1"
    ),
    # not a number
    wrong(lambda: over_months({"quiet": NAN}), "mix", "nan", "from 0 to 1"),
    wrong(lambda: over_months({"quiet": "1"}), "mix", "'1'", "from 0 to 1"),  # a text
    # not a day; the nearest
    wrong(lambda: over_months({"quiett": 1.0}), "day", "'quiett'", "mean 'quiet'"),
    wrong(lambda: cg.month({}), "mix", "{}", "mapping"),  # none
    wrong(lambda: over_months(["quiet"]), "mix", "['quiet']", "mapping"),  # a list
    # numbers as names
    wrong(
        lambda: over_months({1: 0.5, 2: 0.5}, scenario=lambda kind: quiet),
        "scenarios[1](=1)",
    ),
    # every run failed
    wrong(lambda: over_months(scenario=lambda kind: None), "scenario", "None"),
    wrong(lambda: over_months(days=0), "days", "0", "whole number >= 1"),  # none
    # a fraction
    wrong(lambda: over_months(days=1.5), "days", "1.5", "whole number >= 1"),
    # none
    # negative
    # not a policy; the nearest
    wrong(lambda: over_months(policies=["fifoo"]), "policy", "'fifoo'", "mean 'fifo'"),
    wrong(lambda: over_months(policies=[]), "policies", "[]", "at least one"),  # none
    # a text
    wrong(lambda: compared(executor="2"), "executor", "'2'", "whole number >= 1"),
    # a truth value
    wrong(lambda: compared(executor=True), "executor", "True", "whole number >= 1"),
]


def test_a_wrong_study_gives_a_one_line_error_before_anything_runs(runs):
    for study, words in BAD:
        check_refused(study, words)
        assert runs == [], words


# ---- progress ----

SECONDS = [
    "compare hectic --policies fifo --seeds 200 --engine simpy",
    "sweep hectic slots=5,6 --policies fifo --seeds 100 --engine simpy",
    "compare month mix.quiet=0 mix.normal=0 mix.hectic=1 mix.surge=0 days=20"
    " --policies fifo --engine simpy",
]
BAR = re.compile(
    rb"\d+%\|[^|]+\| \d[\d.]*k/\d[\d.]*k \[\d\d:\d\d<\d\d:\d\d, +\d[\d.]*k jobs/s\]"
)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are those of POSIX")
@pytest.mark.parametrize("line", SECONDS)
def test_a_terminal_sees_how_fast_a_study_goes_and_how_long_it_takes(line):
    # of all jobs of the study
    assert b"/190k " in seen_on_a_terminal(line, BAR.search, 100)


@pytest.mark.slow
def test_without_a_terminal_no_progress_is_shown():
    begin = time.monotonic()
    done = subprocess.run(
        [*CGRSP, *SECONDS[0].split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - begin > 2  # a terminal would have seen it


# ---- sweeps ----


def test_a_sweep_is_the_cross_product_in_order():
    study = cg.sweep(
        cg.day,
        {"slots": (2, 3), "name": "quiet", "tight_fraction": [0.5, 0.1]},
        ["fifo", "spt"],
        range(2),
    )
    assert study.points == tuple(
        {"slots": slots, "tight_fraction": share}
        for slots in (2, 3)
        for share in (0.5, 0.1)
    )
    assert [point for point, _ in study] == list(study.points)
    keys = [
        (row["slots"], row["tight_fraction"], row["policy"], row["seed"])
        for row in study.rows
    ]
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
    [(2, 4), range(2, 5, 2), {2: 0, 4: 0}, (n for n in (2, 4)), np.arange(2, 5, 2)],
    ids=lambda it: type(it).__name__,
)
def test_a_grid_takes_any_values(values):
    assert [
        row["slots"]
        for row in cg.sweep(
            cg.day, {"name": "quiet", "slots": values}, ["fifo"], [0]
        ).rows
    ] == [2, 4]


@pytest.mark.parametrize(
    "study",
    [
        pytest.param(
            partial(cg.compare, cg.day("quiet", jobs=np.int64(5)), ["fifo"], [0]),
            id="compare",
        ),
        pytest.param(
            partial(
                cg.sweep,
                cg.day,
                {"name": "quiet", "jobs": np.arange(2, 4)},
                ["fifo"],
                [0],
            ),
            id="sweep",
        ),
        pytest.param(
            partial(
                cg.compare, cg.month({"quiet": 1.0}, np.int64(2)), ["fifo"], range(2)
            ),
            id="month",
        ),
    ],
)
def test_numbers_of_numpy_go_into_a_results_directory(study, tmp_path):
    study(out=tmp_path)


def test_a_point_is_found_by_the_varied_parameters():
    study = cg.sweep(
        cg.day,
        {"name": "quiet", "slots": [2, 3], "tight_fraction": [0.1, 0.5]},
        ["fifo"],
        [0],
    )
    assert study.at(slots=3, tight_fraction=0.1) is study.studies[2]
    for where in ({"slots": 3}, {}, {"slots": 4}):
        check_refused(
            partial(study.at, **where), r"at\(=.*must be one of the points .*'slots': 2"
        )


def test_a_policy_parameter_equals_the_one_in_its_text():
    study = cg.sweep(
        cg.day,
        {"name": "surge", "jobs": 60, "rh:reserve": [0, 2], "rh:gate": [0.9, 5.0]},
        ["rh", "rh:gate=0.5"],
        range(2),
    )
    for point, result in study:
        text = f"rh:reserve={point['rh:reserve']},gate={point['rh:gate']}"
        alone = cg.compare(cg.day("surge", jobs=60), [text, "rh:gate=0.5"], range(2))
        assert same(
            result.rows,
            [
                {**row, "policy": "rh" if row["policy"] == text else row["policy"]}
                for row in alone.rows
            ],
        )
        assert np.array_equal(result.run("rh", 1).jobs, alone.run(text, 1).jobs)
    means = {
        tuple(point.values()): result.means()["rh"]["wait_min"].mean
        for point, result in study
    }
    assert means[2, 5.0] != means[0, 5.0]  # the reserve does matter there


def test_a_policy_with_parameters_accepts_another_one():
    study = cg.sweep(
        cg.day,
        {"name": "surge", "jobs": 60, "rh:gate=5:reserve": [0, 2]},
        ["rh:gate=5"],
        range(2),
    )
    alone = cg.compare(cg.day("surge", jobs=60), ["rh:gate=5,reserve=2"], range(2))
    assert (
        study.at(**{"rh:gate=5:reserve": 2}).means()["rh:gate=5"]
        == alone.means()["rh:gate=5,reserve=2"]
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
        (
            small,
            {"jobs": 9, "slots": [2, 4]},
            lambda slots: cg.day("surge", slots, jobs=9),
        ),
    ],
    ids=["a function", "a partial", "a partial by name", "any keywords"],
)
def test_a_scenario_may_come_from_a_user_function(scenario, grid, expected):
    study = cg.sweep(scenario, grid, ["fifo"], range(2))
    for point, result in study:
        assert result.scenario == expected(**point)
        assert same(result.rows, cg.compare(expected(**point), ["fifo"], range(2)).rows)


def test_runs_that_points_share_are_run_once(runs):
    study = cg.sweep(
        cg.day,
        {"name": "quiet", "slots": [2, 3], "rh:reserve": [0, 1, 2]},
        ["fifo", "rh"],
        range(2),
    )
    # FIFO has no reserve
    assert (len(study.rows), len(runs)) == (2 * 3 * 2 * 2, 2 * 2 + 2 * 3 * 2)
    for slots in (2, 3):
        waits = {
            tuple(study.at(slots=slots, **{"rh:reserve": n}).values("fifo", "wait_min"))
            for n in range(3)
        }
        assert len(waits) == 1


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (["quiet", "normal", "hectic", "surge"], "quiet, normal, 2 more"),
        (["quiet", "normal", "hectic"], "quiet, normal, hectic"),
    ],
)
def test_the_table_of_a_sweep_has_a_line_a_point_and_policy(names, title):
    study = cg.sweep(
        cg.day, {"name": "quiet", "slots": [2, 3]}, ["fifo", "rh"], range(2)
    )
    first, head, *lines = str(study).splitlines()
    assert first == "quiet: mean of 2 seeds ± 95 % half width"
    assert head.split()[:3] == ["slots", "policy", "wait_min"]
    assert [line.split()[:2] for line in lines] == [
        ["2", "fifo"],
        ["2", "rh"],
        ["3", "fifo"],
        ["3", "rh"],
    ]
    assert f"{study.at(slots=3).means()['rh']['wait_min'].mean:.2f} ±" in lines[-1]
    one = cg.sweep(cg.day, {"name": names}, ["fifo"], [0])
    assert str(one).splitlines()[0] == f"{title}: 1 seed (an interval needs two)"
    assert "±" not in str(one)


@pytest.mark.parametrize("slots", [[2, 3], [2]])
def test_a_sweep_as_json_holds_the_figures_of_every_point(slots):
    study = cg.sweep(
        cg.day, {"name": "quiet", "slots": slots}, ["fifo", "rh"], range(2)
    )
    result = json.loads(study.json())
    for name in ("figures", "differences"):
        rows = [
            {"slots": number, **row}
            for number in slots
            for row in json.loads(study.at(slots=number).json())[name]
        ]
        assert result[name] == rows
    assert (result["subject"], result["seeds"]) == ("quiet", [0, 1])


@pytest.mark.parametrize("name", ["policy", "seed", "cost_usd", "error"])
def test_a_parameter_that_is_called_like_a_column_is_not_hidden(name):
    try:
        study = cg.sweep(
            lambda **more: cg.day("quiet", slots=more[name]),
            {name: [1, 2]},
            ["fifo"],
            [7],
        )
    except cg.InputError as error:
        assert repr(name) in str(error)
    else:
        assert [row[name] for row in study.rows] == [1, 2]
        assert study.failures == []


def test_a_value_that_is_a_list_is_labelled_as_a_word_has_it():
    one, two = "RTX 3090", "RTX 3090+RTX A5000"
    grid = {"name": "quiet", "jobs": 2, "slots": [[one], two.split("+")]}
    study = cg.sweep(cg.day, grid, ["fifo"], range(2))
    assert {row["slots"] for row in study.rows} == {one, two}
    assert study.at(slots=two.split("+")) is study.studies[1]
