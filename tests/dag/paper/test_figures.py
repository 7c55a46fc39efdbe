"""Figures of DAGs: what is plotted comes from runs, and every picture is drawn from it."""

import csv
from pathlib import Path

import numpy as np
import pytest

from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.dag.listing import ORDERS, heft, run_order
from cgrsp_simpy.dag.paper import distance_figures, rank_figures
from cgrsp_simpy.dag.paper.figures import FIGURES, draw_figures, run_rows
from cgrsp_simpy.dag.paper.search_figures import LOOKS, ORDERED, Runs, over_heft
from cgrsp_simpy.dag.platform import Servers
from cgrsp_simpy.dag.policies import SCHEDULERS
from cgrsp_simpy.dag.problem import Plan, Problem
from cgrsp_simpy.dag.scenario import schedule_of, simulate
from cgrsp_simpy.model.checks import InputError


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """All figures, small."""
    folder = tmp_path_factory.mktemp("figures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            distance_figures,
            "SIZES",
            {"small": (30, "small"), "medium": (40, "medium"), "large": (50, "large")},
        )
        patch.setattr(
            rank_figures,
            "SENSITIVITY",
            {
                "episodes": ("1", "2", "3"),
                "gamma": ("0.9", "0.95", "0.99"),
                "b": ("0.5", "1", "2"),
                "iterations": ("2", "5", "9"),
            },
        )
        paths = draw_figures(folder, graphs=3, nodes=30, evaluations=30)
    return folder, paths


@pytest.fixture(scope="module")
def runs():
    return Runs(3, 30, 30)


def rows_of(folder, id):
    with (folder / f"dag_{id}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_every_figure_has_its_files_and_a_place_in_the_index(drawn):
    folder, paths = drawn
    assert len(paths) == 3 * len(FIGURES) + 1 and all(path.stat().st_size > 0 for path in paths)
    index = (folder / "README.md").read_text(encoding="utf-8")
    assert all(f"(dag_{id}.png)" in index and f"--only {id}`" in index for id in FIGURES)


def test_a_run_as_rows():
    """Two nodes in a row, of 2 and 4 s, on two GPUs; half a gigabyte takes half a second."""
    graph = Graph([2.0, 4.0], [0, 0], [(0, 1)], [0.5], names=("a", "b"))
    problem = Problem(graph, Servers(2, 1, tflops=(1.0,), inter_gb_per_s=1.0).platform())
    rows = run_rows(simulate(problem, Plan(np.array([0, 1]))), "hand")
    assert [
        (row["what"], row["name"], row["gpu"], row["to_gpu"], row["start_s"], row["end_s"])
        for row in rows
    ] == [
        ("node", "a", 0, 0, 0.0, 2.0),
        ("node", "b", 1, 1, 2.5, 6.5),
        ("transfer", "a to b", 0, 1, 2.0, 2.5),
    ]


@pytest.mark.slow
def test_bests_over_evaluations_fall_and_end_with_the_result(runs):
    rows = FIGURES["convergence"].rows(runs)
    for name in {row["scheduler"] for row in rows}:
        course = [row["over_heft"] for row in rows if row["scheduler"] == name]
        assert course == sorted(course, reverse=True)
    heft = np.array(runs.compared.values("heft", "makespan_s"))
    rtgs = np.array(runs.compared.values("rtgs", "makespan_s")) / heft
    assert [row["over_heft"] for row in rows if row["scheduler"] == "rtgs"][-1] == pytest.approx(
        np.median(rtgs)
    )


@pytest.mark.slow
def test_ranks_and_losses_are_those_of_the_study(runs):
    ranks = {row["scheduler"]: row["rank"] for row in FIGURES["ranks"].rows(runs)}
    assert sum(ranks.values()) == pytest.approx(len(ranks) * (len(ranks) + 1) / 2)
    full, without = (
        np.array(runs.compared.values(name, "makespan_s")) for name in ("worl-rtgs", "woa")
    )
    loss = {row["variant"]: row["increase_pct"] for row in FIGURES["ablation"].rows(runs)}
    assert loss["without RL"] == pytest.approx(np.mean(100 * (without / full - 1)))
    assert loss["full"] == 0
    by_chance = np.array(runs.compared.values("random-search", "makespan_s"))
    assert loss["without both"] == pytest.approx(np.mean(100 * (by_chance / full - 1)))


@pytest.mark.slow
def test_rows_of_the_orders_are_those_of_the_study_and_of_hefts_placement(runs):
    over = over_heft(FIGURES["order"].rows(runs))
    heft_s = np.array(runs.compared.values("heft", "makespan_s"))
    for name in ("random-search", "woa", "rtgs", "worl-rtgs"):  # annealing starts elsewhere here
        assert over[name, "graph"] == pytest.approx(
            np.array(runs.compared.values(name, "makespan_s")) / heft_s
        )
    for seed in range(3):
        problem = runs.scenario.draw(seed)
        placed = {order: Plan(heft(problem).gpu, run_order(problem, order)) for order in ORDERS}
        for order, plan in placed.items():
            assert over["heft", order][seed] == pytest.approx(
                schedule_of(simulate(problem, plan)).makespan_s / heft_s[seed]
            )
    assert len(over) == 2 * (1 + len(ORDERED))


def test_each_scheduler_has_a_look_of_its_own():
    looks = [LOOKS[name] for name in SCHEDULERS]
    for part in ("colour", "marker"):
        assert len({getattr(look, part) for look in looks}) == len(looks)


@pytest.mark.slow
def test_relative_makespans_have_mean_1_on_each_graph(drawn):
    rows = [row for row in rows_of(drawn[0], "sensitivity") if row["parameter"] == "b"]
    for seed in {row["seed"] for row in rows}:
        assert np.mean(
            [float(row["relative"]) for row in rows if row["seed"] == seed]
        ) == pytest.approx(1.0)


@pytest.mark.slow
def test_levels_of_the_small_graph_follow_its_edges(drawn):
    rows = rows_of(drawn[0], "placement")
    level = {row["name"]: float(row["x"]) for row in rows if row["what"] == "node"}
    assert all(level[row["name"]] < level[row["to"]] for row in rows if row["what"] == "edge")


@pytest.mark.slow
def test_the_same_files_each_time(tmp_path):
    one, other = (
        draw_figures(tmp_path / name, ["scatter", "gantt"], nodes=30) for name in ("one", "other")
    )
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
    assert not (tmp_path / "one" / "README.md").exists()  # an index is of all


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"graphs": 1}, "graphs"),
        ({"nodes": 3}, "nodes"),
        ({"style": "poster"}, "style"),
        ({"evaluations": 0}, "evaluations"),
    ],
)
def test_bad_input_is_refused_and_nothing_written(tmp_path, given, message):
    with pytest.raises(InputError, match=message):
        draw_figures(Path(tmp_path) / "none", ["gantt"], **given)
    assert not (tmp_path / "none").exists()
