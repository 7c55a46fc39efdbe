"""Results are the same in 32-bit Python, as in a browser.

NumPy counts and repeats by indexes of the platform's width there, and refuses int64;
its default integer has 32 bits, and overflows without an error.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from cgrsp_simpy.analysis import statistics
from cgrsp_simpy.cluster.policies import Multifactor
from cgrsp_simpy.dag import generate as graphs
from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.dag.platform import Servers
from cgrsp_simpy.dag.problem import Problem
from cgrsp_simpy.hgsp.generate import generate
from cgrsp_simpy.hgsp.schedule import RULES, dispatch
from cgrsp_simpy.hgsp.search import state_of
from cgrsp_simpy.papers.dag.distance import node_loads_s
from cgrsp_simpy.waiting.jobs import ListedJobs
from cgrsp_simpy.waiting.machines import Size
from cgrsp_simpy.waiting.plan import _Year, grown

NARROW = np.dtype(np.int32)


def plans():
    graph = Graph([4, 2], np.zeros(2), [(0, 1)], [0])
    problem = Problem(graph, Servers(2, tflops=(1.0, 2.0)).platform())
    return node_loads_s(problem, np.array([[0, 1], [1, 1]], np.int64))


def log():
    return ListedJobs(
        np.arange(40) * 7200.0, np.full(40, 60.0), np.ones(40), np.ones(40)
    )


class OneRuns:
    """A view in which four jobs have arrived and the first one runs."""

    jobs = SimpleNamespace(gpus=np.ones(4), run_s=np.zeros(4), end_s=np.zeros(4))
    running, now_s = {0: SimpleNamespace(job=0, start_s=0.0)}, 1.0

    def ended(self, number):
        return []


CASES = {
    "plans on GPUs": plans,
    "memory of a graph": lambda: Graph([4, 2], [1, 2], [(0, 1)], [0]).in_use_mb(
        np.zeros(2, np.int64), np.arange(2, dtype=np.int64)
    ),
    "more jobs": lambda: grown(log(), 1.5, 0).submit_s,
    "bills of a year": lambda: (
        _Year(log(), 86_400.0, 4, [Size("one", 1, 4.0, 1.0)], 0).number
    ),
    "sequences of tasks": lambda: state_of(
        dispatch(generate("tasks1", 3), RULES["atc"])
    )[0][0],
    "shares of users": lambda: Multifactor()._received.shares(
        OneRuns(), np.array([0, 2, 2, 1], np.int64), np.array([1, 2, 3])
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_counts_and_repeats_use_indexes_of_the_platforms_width(name, monkeypatch):
    bincount, repeat, wide = np.bincount, np.repeat, CASES[name]()

    def counted(values, *rest, **more):
        assert np.asarray(values).dtype == NARROW
        return bincount(values, *rest, **more)

    def repeated(values, times, *rest, **more):
        assert np.ndim(times) == 0 or np.asarray(times).dtype == NARROW
        return repeat(values, times, *rest, **more)

    monkeypatch.setattr(np, "intp", np.int32)
    monkeypatch.setattr(np, "bincount", counted)
    monkeypatch.setattr(np, "repeat", repeated)
    assert np.array_equal(CASES[name](), wide)


def test_edges_of_large_graphs_do_not_overflow(monkeypatch):
    def edges():
        return graphs.random_edges(100_000, 0.001, np.random.default_rng(1))

    arange, wide = np.arange, edges()[1]

    def narrow(*limits, dtype=np.int32):
        return arange(*limits, dtype=dtype)

    monkeypatch.setattr(np, "arange", narrow)
    assert len(wide) > 50 and np.array_equal(edges()[1], wide)


def test_sums_of_ranks_do_not_overflow(monkeypatch):
    empty = np.empty

    def narrow(shape, dtype=float):
        return empty(shape, np.int32 if dtype is int else dtype)

    monkeypatch.setattr(np, "empty", narrow)
    ranks2 = statistics.doubled_ranks(np.arange(3.0), np.zeros(3))
    assert ranks2.tolist() == [2, 4, 6] and ranks2.dtype == np.int64
