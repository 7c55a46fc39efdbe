"""Sweeps: points of a grid, each a comparison of its own."""

import json
from functools import partial

import numpy as np
import pytest
from studies.runs import normal, quiet, same

import cgrsp_simpy as cg
from cgrsp_simpy.base.table import csv_text

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


def test_each_point_is_a_comparison_of_its_own():
    study = cg.sweep(
        cg.day,
        {"name": "hectic", "jobs": 60, "slots": [2, 4], "tight_fraction": [0.1, 0.5]},
        ["edf", "random"],
        range(3),
    )
    assert len(study.studies) == 4
    for point, found in study:
        alone = cg.compare(
            cg.day("hectic", jobs=60, **point), ["edf", "random"], range(3)
        )
        assert same(found.rows, alone.rows)
        assert str(found) == str(alone)
        assert study.at(**point) is found
    assert len({found.means()["edf"]["wait_min"].mean for _, found in study}) == 4


def test_a_point_is_found_by_what_varies():
    study = cg.sweep(
        cg.day,
        {"name": "quiet", "slots": [2, 3], "tight_fraction": [0.1, 0.5]},
        ["fifo"],
        [0],
    )
    assert study.at(slots=3, tight_fraction=0.1) is study.studies[2]
    for where in ({"slots": 3}, {}, {"slots": 4}):
        with pytest.raises(
            cg.InputError, match=r"at\(=.*must be one of the points .*'slots': 2"
        ):
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
        alone = cg.compare(
            cg.day("surge", jobs=60), ["fifo", text, "rh:gate=0.5"], range(3)
        )
        assert same(
            found.rows,
            [
                {**row, "policy": "rh" if row["policy"] == text else row["policy"]}
                for row in alone.rows
            ],
        )
        assert np.array_equal(found.run("rh", 1).jobs, alone.run(text, 1).jobs)
    means = {
        tuple(point.values()): found.means()["rh"]["wait_min"].mean
        for point, found in study
    }
    assert means[2, 5.0] != means[0, 5.0]  # the reserve does matter there


def test_a_policy_that_has_parameters_takes_another():
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


def test_a_scenario_may_stay_as_it_is():
    study = cg.sweep(normal, {"rh:reserve": [0, 2]}, ["rh"], range(2))
    alone = cg.compare(normal, ["rh:reserve=2"], range(2))
    assert study.at(**{"rh:reserve": 2}).means()["rh"] == alone.means()["rh:reserve=2"]
    assert same(
        cg.sweep(normal, {}, ["fifo"], range(2)).rows,
        cg.compare(normal, ["fifo"], range(2)).rows,
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
    study = cg.sweep(
        cg.day, {"name": "quiet", "slots": [2, 3]}, ["fifo", "rh"], range(2)
    )
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


def test_a_sweep_as_json_holds_the_figures_of_every_point():
    study = cg.sweep(
        cg.day, {"name": "quiet", "slots": [2, 3]}, ["fifo", "rh"], range(2)
    )
    found = json.loads(study.json())
    for name in ("figures", "differences"):
        rows = [
            {"slots": slots, **row}
            for slots, part in zip((2, 3), study.studies)
            for row in json.loads(part.json())[name]
        ]
        assert found[name] == rows
    assert (found["subject"], found["seeds"]) == ("quiet", [0, 1])


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


def test_the_command_sweeps(printed):
    line = (
        "sweep hectic name=quiet slots=3,5 rh:reserve=0,1 --policies fifo,rh --seeds 2"
    )
    study = cg.sweep(
        cg.day,
        {"name": "quiet", "slots": [3, 5], "rh:reserve": [0, 1]},
        ["fifo", "rh"],
        range(2),
    )
    assert printed(line) == f"{study}\n"
    assert printed(f"{line} --format csv") == csv_text(study.rows)
    found = json.loads(printed(f"{line} --format json"))
    words = {"name": "quiet", "slots": [3, 5], "rh:reserve": [0, 1]}
    assert found == json.loads(study.json()) | {"parameters": words}


def test_a_value_that_is_a_list_is_labelled_as_a_word_has_it():
    one, two = "RTX 3090", "RTX 3090+RTX A5000"
    grid = {"name": "quiet", "jobs": 2, "slots": [[one], two.split("+")]}
    study = cg.sweep(cg.day, grid, ["fifo"], range(2))
    assert {row["slots"] for row in study.rows} == {one, two}
    assert study.at(slots=two.split("+")) is study.studies[1]


def test_the_command_reads_values_as_what_they_are(printed):
    line = (
        "sweep hectic name=quiet,normal jobs=9 free_types=true,false clock=printed"
        " tight_fraction=0.5 --policies spt --seeds 1"
    )
    grid = {
        "name": ["quiet", "normal"],
        "jobs": 9,
        "free_types": [True, False],
        "clock": "printed",
        "tight_fraction": 0.5,
    }
    assert printed(f"{line} --format csv") == csv_text(
        cg.sweep(cg.day, grid, ["spt"], [0]).rows
    )


def test_the_point_of_a_sweep_stands_in_json_although_a_figure_has_its_name():
    found = cg.sweep(cg.day("quiet"), {"jobs": [3, 4]}, ["fifo"], range(2)).as_dict()
    assert [row["jobs"] for row in found["figures"]] == [3, 4]
