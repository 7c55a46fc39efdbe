"""Figures of DAGs: what is plotted comes from runs."""

import numpy as np
import pytest

from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.dag.listing import ORDERS, heft, run_order
from cgrsp_simpy.dag.platform import Servers
from cgrsp_simpy.dag.policies import SCHEDULERS, find
from cgrsp_simpy.dag.problem import Plan, Problem, lower_bound_s
from cgrsp_simpy.dag.scenario import schedule_of, simulate
from cgrsp_simpy.papers.dag import figures
from cgrsp_simpy.papers.dag.figures import (
    FIGURES,
    ORDERED,
    SEARCHED,
    Runs,
    by,
    ended,
    run_rows,
)
from cgrsp_simpy.plots.style import LOOKS


@pytest.fixture(scope="module")
def runs():
    return Runs(3, 30, 30)


@pytest.fixture(scope="module")
def searched(runs):
    return FIGURES["searches"].rows(runs)


def test_a_run_as_rows():
    """Two nodes in a row, of 2 and 4 s, on two GPUs; half a gigabyte takes half a
    second.
    """
    graph = Graph([2.0, 4.0], [0, 0], [(0, 1)], [0.5], names=("a", "b"))
    problem = Problem(
        graph, Servers(2, 1, tflops=(1.0,), inter_gb_per_s=1.0).platform()
    )
    rows = run_rows(simulate(problem, Plan(np.array([0, 1]))), "hand")
    assert [
        (
            row["what"],
            row["name"],
            row["gpu"],
            row["to_gpu"],
            row["start_s"],
            row["end_s"],
        )
        for row in rows
    ] == [
        ("node", "a", 0, 0, 0.0, 2.0),
        ("node", "b", 1, 1, 2.5, 6.5),
        ("transfer", "a to b", 0, 1, 2.0, 2.5),
    ]


def test_learning_of_more_than_a_minute_is_announced(monkeypatch, caplog):
    monkeypatch.setattr(figures, "_course", lambda _: [(1, 1.0)])
    caplog.set_level("INFO")
    FIGURES["searches"].rows(Runs(3, 30, 30))
    assert caplog.messages == []
    FIGURES["searches"].rows(Runs())
    # 1,000 plans: 6 of ddqn on 300 nodes, 10 of worl-rtgs on 300 and on 1,000 each
    minutes = 1000 * (6 * 300 * 2.2e-4 + 10 * (300 + 1000) * 2.5e-5) / 60
    assert f"compute for {minutes:.0f} minutes" in caplog.text


@pytest.mark.slow
def test_bests_over_evaluations_fall_and_end_with_the_result(runs, searched):
    for course in by(searched, "over_bound", "tasks", "scheduler", "seed").values():
        assert (np.diff(course) <= 0).all()
    for (tasks, name), found in ended(searched).items():
        problem = runs.tasks[tasks].problem(1)
        best = find(problem, SEARCHED[name], runs.budget, 1)
        assert found[1] == best.makespan_s / lower_bound_s(problem)
        assert len(found) == 3
    assert {tasks for tasks, name in ended(searched)} == {30, 100}
    assert [key for key in ended(searched) if "ddqn" in key] == [(30, "ddqn")]


@pytest.mark.slow
def test_the_table_has_the_changes_and_the_ranks(searched):
    found = ended(searched)
    lines = FIGURES["searches"].table(searched).splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [(int(tasks), name) for tasks, name, *_ in cells] == list(found)
    for (tasks, name), (*_, over, control, ablated, _, rank) in zip(found, cells):
        own = found[tasks, name]
        assert over.startswith(f"{own.mean():.2f} ± ")
        for other, told in (("random-search", control), ("worl-rtgs", ablated)):
            both = min(len(own), len(found[tasks, other]))
            percent = 100 * np.mean(own[:both] / found[tasks, other][:both] - 1)
            assert (
                told.startswith(f"{percent:+.1f} ± ") if name != other else told == ""
            )
        rivals = [
            each for (size, _), each in found.items() if (size, len(each)) == (tasks, 3)
        ]
        if len(own) < 3:
            assert rank == ""
        else:
            better = np.less(rivals, own).sum(axis=0)
            equal = np.equal(rivals, own).sum(axis=0)
            assert rank.startswith(f"{np.mean(better + (equal + 1) / 2):.1f}")


@pytest.mark.slow
def test_rows_of_the_orders_are_those_of_the_study_and_of_hefts_placement(runs):
    over = by(FIGURES["order"].rows(runs), "over_heft", "scheduler", "order")
    problems = [runs.scenario.problem(seed) for seed in range(3)]
    heft_s = [find(problem, "heft", runs.budget).makespan_s for problem in problems]
    for seed, problem in enumerate(problems):
        for name in ("random-search", "woa", "rtgs", "worl-rtgs"):
            found_s = find(problem, name, runs.budget, seed).makespan_s
            assert over[name, "graph"][seed] == pytest.approx(found_s / heft_s[seed])
        placed = {
            order: Plan(heft(problem).gpu, run_order(problem, order))
            for order in ORDERS
        }
        for order, plan in placed.items():
            assert over["heft", order][seed] == pytest.approx(
                schedule_of(simulate(problem, plan)).makespan_s / heft_s[seed]
            )
    assert len(over) == 2 * (1 + len(ORDERED))


def test_each_scheduler_has_a_look_of_its_own():
    looks = [LOOKS[name] for name in SCHEDULERS]
    for part in ("colour", "marker"):
        assert len({getattr(look, part) for look in looks}) == len(looks)
