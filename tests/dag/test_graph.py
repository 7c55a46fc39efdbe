"""Graphs: invalid input, and derived attributes."""

import numpy as np
from support import refusals

from cgrsp_simpy.dag.graph import Graph


def graph(
    work=(1.0, 2.0, 3.0),
    memory=(0, 0, 0),
    edges=((0, 1), (1, 2)),
    data=(1.0, 1.0),
    **more,
):
    return Graph(
        np.array(work), np.array(memory), np.array(edges), np.array(data), **more
    )


# ---- graphs ----

REFUSED = [
    (
        {"work": [], "memory": [], "edges": np.empty((0, 2)), "data": []},
        r"nodes of the graph\(=0\) must be at least one",
    ),
    ({"work": (1, np.nan, 1)}, r"work_tflop of node 1\(=nan\) must be a number >= 0"),
    ({"work": (1, 1, np.inf)}, r"work_tflop of node 2\(=inf\) must be a number >= 0"),
    (
        {"work": (-1, 1, 1), "names": ("a", "b", "c")},
        r"work_tflop of node a\(=-1.0\) must be a number >= 0",
    ),
    ({"memory": (0, 0)}, r"shape of memory_mb\(=\(2,\)\) must be \(3,\), one per node"),
    (
        {"memory": (0, -5, 0)},
        r"memory_mb of node 1\(=-5.0\) must be a whole number from 0 to 1e",
    ),
    (
        {"memory": (0, 0.5, 0)},
        r"memory_mb of node 1\(=0.5\) must be a whole number from 0 to 1e",
    ),
    (
        {"memory": (0, np.nan, 0)},
        r"memory_mb of node 1\(=nan\) must be a whole number from 0 to 1e",
    ),
    ({"data": (1.0,)}, r"shape of data_gb\(=\(1,\)\) must be \(2,\), one per edge"),
    ({"data": (1.0, -1.0)}, r"data_gb of edge 1\(=-1.0\) must be a number >= 0"),
    ({"data": (np.nan, 1.0)}, r"data_gb of edge 0\(=nan\) must be a number >= 0"),
    (
        {"edges": ((0, 1), (1, 3))},
        r"edge 1 \(1 to 3\): there is no node 3 \(allowed: 0 to 2\)",
    ),
    ({"edges": ((0, 1), (-1, 2))}, r"edge 1 \(-1 to 2\): there is no node -1"),
    (
        {"edges": ((0, 1), (0, 1))},
        r"the edge 0 to 1 occurs 2 times \(first as edge 0\)",
    ),
    ({"edges": ((0, 1), (1, 1))}, "the graph has a cycle: 1 to 1"),
    (
        {
            "edges": ((0, 1), (1, 2), (2, 0)),
            "data": (1, 1, 1),
            "names": ("a", "b", "c"),
        },
        (
            "the graph has a cycle: (a to b to c to a|b to c to a to b|c to a to b to"
            " c|a to c to b to a)"
        ),
    ),
    (
        {"unit": np.array([0, 1])},
        r"shape of unit\(=\(2,\)\) must be \(3,\), one per node",
    ),
    (
        {"memory": (0, np.inf, 0)},
        r"memory_mb of node 1\(=inf\) must be a whole number from 0 to 1e",
    ),
    (
        {"unit": np.array([0, -1, 1])},
        r"unit of node 1\(=-1.0\) must be a whole number from 0 to 1e",
    ),
    ({"edges": ((0, 1), (0.5, 2))}, r"edge 1 \(0.5 to 2.0\): there is no node 0.5"),
    ({"edges": ((0, 1), (np.nan, 2))}, r"edge 1 \(nan to 2.0\): there is no node nan"),
    ({"edges": ((0, 1, 1, 2),)}, r"shape of edges\(=\(1, 4\)\) must be \(edges, 2\)"),
    ({"names": ("a",)}, r"number of names\(=1\) must be 3, one per node"),
]


test_an_invalid_graph_gives_a_one_line_error = refusals(
    *REFUSED, call=lambda wrong: graph(**wrong)
)


def test_the_order_takes_the_first_by_number_of_those_that_are_ready():
    one = graph(edges=((2, 0), (2, 1)))
    assert (
        one.order.tolist() == [2, 0, 1]
        and one.names == ("0", "1", "2")
        and one.unit.tolist() == [0, 1, 2]
    )


def test_neighbours_and_their_data_are_in_one_order():
    one = graph(edges=((1, 2), (0, 2)), data=(5, 7), unit=np.array([9, 4, 9]))
    assert [before.tolist() for before in one.predecessors] == [[], [], [1, 0]]
    assert [after.tolist() for after in one.successors] == [[2], [2], []]
    assert [one.data_gb[edges].tolist() for edges in one.edges_in] == [[], [], [5, 7]]
    assert one.units == 2 and one.unit.tolist() == [1, 0, 1]
