"""Plans of DAGs on GPUs worked out by hand: every start and finish, simulated and
computed; and what is not allowed.
"""

import numpy as np
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.dag.problem import Plan, Problem, carried_out, makespans
from cgrsp_simpy.dag.scenario import simulate

ONE = cg.dag.Platform([1], [10], [0], [[0]])


# ---- invalid plans ----

UNITS = cg.dag.Graph(
    [1] * 4,
    [2, 2, 12, 2],
    [(0, 1), (1, 2), (2, 3)],
    [1, 1, 1],
    unit=[0, 1, 2, 1],
    names=tuple("abcd"),
)
APART = cg.dag.Platform(
    [1, 1, 1], [10, 20, 20], [0, 1, 2], [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
)

BAD_PLANS = [
    ([1, 1, 1], None, "shape of gpu(=(3,)) must be (4,), one per node"),
    ([1, 1, 1, 3], None, "GPU of node d(=3) must be 0 to 2"),
    ([-1, 1, 1, 1], None, "GPU of node a(=-1) must be 0 to 2"),
    ([1, 1, 1, 2], None, "node b is not on the GPU of its unit"),
    ([1, 1, 0, 1], None, "node c or its unit does not fit on GPU 0"),
    ([1, 1, 1, 1], [0, 2, 1, 3], "order: node c comes before b, whose data it needs"),
    ([1, 1, 1, 1], [0, 1, 2, 2], "order must contain each of 4 nodes once"),
    ([1, 1, 1, 1], [0, 1, 2, -1], "order must contain each of 4 nodes once"),
    ([1, 1, 1, 1], [0, 5], "order must contain each of 4 nodes once"),
    ([1, 1, 1, 1], [0, 1, 2], "order must contain each of 4 nodes once"),
]


test_plans_that_are_not_allowed_are_named = refusals(
    *(
        (carry_out, gpu, order, [message])
        for gpu, order, message in BAD_PLANS
        for carry_out in (simulate, carried_out)
    ),
    call=lambda carry_out, gpu, order: carry_out(
        Problem(UNITS, APART),
        Plan(np.array(gpu), None if order is None else np.array(order)),
    ),
)


test_plans_have_whole_numbers = refusals(
    ([0.5], None, r"gpu of node 0\(=0.5\) must be a whole number"),
    ([0], [0.5], r"order of node 0\(=0.5\) must be a whole number"),
    call=Plan,
)


def test_data_without_a_connection_are_named_and_take_for_ever():
    problem, plan = Problem(UNITS, APART), Plan(np.array([0, 2, 1, 2]))
    check_refused(
        lambda: simulate(problem, plan),
        "node a on GPU 0 sends data to b on GPU 2, but they are not connected",
    )
    assert makespans(problem, plan.gpu[None]) == [np.inf]
    assert carried_out(problem, plan).start_s.tolist() == [0, np.inf, np.inf, np.inf]
    # 1 MB stays, and each node takes 9 more
    full = Problem(cg.dag.Graph([1, 1], [9, 9], [], [], resident_mb=[1, 0]), ONE)
    assert makespans(full, [[0, 0]]) == [2] and full.lasts.tolist() == [True, False]


test_a_problem_whose_unit_fits_nowhere_names_it = refusals(
    (lambda: Problem(UNITS, ONE), "node c needs 12 MB; the largest GPU has 10 MB"),
    (
        lambda: Problem(
            cg.dag.Graph([1, 1], [1, 7], [], [], unit=[3, 3], names=("x", "y")),
            cg.dag.Platform([1], [5], [0], [[0]]),
        ),
        "node y, of a unit of 2 nodes, needs 7 MB; the largest GPU has 5 MB",
    ),
    *(
        (
            lambda kept=kept: Problem(
                cg.dag.Graph([1, 1], [7, 7], [(0, 1)], [1], unit=[0, 0], **kept), ONE
            ),
            f" needs 11 MB: {message} between nodes, as activations, 7 of its own",
        )
        for kept, message in (
            ({"resident_mb": (4, 0)}, "4 resident, of 1 unit, 0 held"),
            ({"held_mb": [4]}, "0 resident, of 1 unit, 4 held"),
        )
    ),
)


BAD_PLATFORMS = [
    (([], [], [], np.empty((0, 0))), "GPUs(=0) must be at least one"),
    (
        ([1, 0], [9, 9], [0, 0], np.ones((2, 2))),
        "tflops of GPU 1(=0.0) must be a number > 0",
    ),
    (
        ([1, np.inf], [9, 9], [0, 0], np.ones((2, 2))),
        "tflops of GPU 1(=inf) must be a number > 0",
    ),
    (
        ([1, 1], [9, 0], [0, 0], np.ones((2, 2))),
        "memory_mb of GPU 1(=0.0) must be a whole number from 1 to",
    ),
    ((["a"], [9], [0], [[1]]), "tflops(=['a']) must be numbers, one per GPU"),
    (
        ([[1], [1, 2]], [9], [0], [[1]]),
        "tflops(=[[1], [1, 2]]) must be numbers, one per GPU",
    ),
    (
        ([1, 1], [9], [0, 0], np.ones((2, 2))),
        "shape of memory_mb(=(1,)) must be (2,), one per GPU",
    ),
    (
        ([1, 1], [9, 9], [0], np.ones((2, 2))),
        "shape of server(=(1,)) must be (2,), one per GPU",
    ),
    (
        ([1, 1], [9, 9], [0, 0], np.ones((2, 3))),
        "shape of bandwidth_gb_per_s(=(2, 3)) must be (2, 2)",
    ),
    (
        ([1, 1], [9, 9], [0, 0], [[1, -1], [1, 1]]),
        "bandwidth_gb_per_s from GPU 0 to GPU 1(=-1.0) must be a number >= 0",
    ),
    (
        ([1, 1], [9, 9], [0, 0], [[1, 1], [np.nan, 1]]),
        "bandwidth_gb_per_s from GPU 1 to GPU 0(=nan) must be a number >= 0",
    ),
    (
        ([1, 1], [9, 9], [0, 0], np.ones((2, 2)), [[0, 1]]),
        "shape of latency_s(=(1, 2)) must be (2, 2)",
    ),
    (
        ([1, 1], [9, 9], [0, 0], np.ones((2, 2)), [[0, -1], [0, 0]]),
        "latency_s from GPU 0 to GPU 1(=-1.0) must be a number >= 0",
    ),
    (
        ([1, 1], [9, 9], [0, 0], np.ones((2, 2)), [[0, 0], [np.inf, 0]]),
        "latency_s from GPU 1 to GPU 0(=inf) must be a number",
    ),
    (
        ([1, 1], [9, 9], [0, 0], np.ones((2, 2)), (), ("a",)),
        "number of names(=1) must be 2, one per GPU",
    ),
]


test_platforms_that_cannot_be_are_named = refusals(
    *BAD_PLATFORMS, call=lambda columns: cg.dag.Platform(*columns)
)


def test_servers_deal_speeds_in_turn_and_connect_gpus():
    result = cg.dag.Servers(
        5,
        per_server=2,
        tflops=(1.0, 2.0),
        memory_gb=0.5,
        intra_gb_per_s=8,
        inter_gb_per_s=1,
    ).platform()
    assert [
        column.tolist()
        for column in (
            *(result.tflops, result.server, result.memory_mb),
            result.in_use(np.array([0, 0, 0.5, 0.75, 0])).tflops,
        )
    ] == [
        [1, 2, 1, 2, 1],
        [0, 0, 1, 1, 2],
        [500] * 5,
        [1, 2, 0.5, 0.5, 1],
    ]
    assert result.bandwidth_gb_per_s[0, 1:].tolist() == [8, 1, 1, 1]
    # GPUs 0 and 2 are on a server, and 1 on another: two links within, and two between
    links = (
        cg.dag.Platform([1] * 3, [9] * 3, [0, 1, 0], np.ones((3, 3)))
        .link(np.array([0, 2, 0, 2, 1, 1]), np.array([2, 0, 1, 1, 0, 2]))
        .tolist()
    )
    assert [links.index(link) for link in links] == [0, 1, 2, 2, 4, 4]
    check_refused(
        lambda: result.in_use(np.array([0.0, 1.0, 0.0, 0.0, 0.0])),
        r"share in use of GPU 1\(=1.0\) must be at least 0 and below 1",
    )
