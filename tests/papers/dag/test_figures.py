"""Figures of DAGs: the plotted data come from runs."""

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.dag.scenario import simulate
from cgrsp_simpy.papers.dag import figures
from cgrsp_simpy.papers.dag.figures import (
    FIGURES,
    Runs,
    run_rows,
)


@pytest.fixture(scope="module")
def runs():
    return Runs(3, 30, 30)


def test_a_run_as_rows():
    """Two nodes in a row, of 2 and 4 s, on two GPUs; half a gigabyte takes half a
    second.
    """
    graph = cg.dag.Graph([2.0, 4.0], [0, 0], [(0, 1)], [0.5], names=("a", "b"))
    problem = cg.dag.Problem(
        graph, cg.dag.Servers(2, 1, tflops=(1.0,), inter_gb_per_s=1.0).platform()
    )
    rows = run_rows(simulate(problem, cg.dag.Plan(np.array([0, 1]))), "hand")
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


def test_learning_that_takes_over_a_minute_is_announced(monkeypatch, caplog):
    monkeypatch.setattr(figures, "_course", lambda _: [(1, 1.0)])
    caplog.set_level("INFO")
    FIGURES["searches"].rows(Runs(3, 30, 30))
    assert caplog.messages == []
    FIGURES["searches"].rows(Runs())
    # 1,000 plans: 6 of ddqn on 300 nodes, 10 of worl-rtgs on 300 and on 1,000 each
    minutes = 1000 * (6 * 300 * 2.2e-4 + 10 * (300 + 1000) * 2.5e-5) / 60
    assert f"take about {minutes:.0f} minutes" in caplog.text
