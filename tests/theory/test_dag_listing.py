"""HEFT and CPOP against their authors' example; schedulers and bounds against brute
force and cases with a known answer.
"""

from itertools import permutations, product

import numpy as np
import pytest
from support import refusals

import cgrsp_simpy as cg
from cgrsp_simpy.dag.listing import (
    Draft,
    best_simple,
    by_priority,
    by_work,
    cpop,
    critical_path,
    downward_rank_s,
    heft,
    min_min,
    random_plan,
    round_robin,
    run_order,
    upward_rank_s,
)
from cgrsp_simpy.dag.policies import STARTS, anneal
from cgrsp_simpy.dag.problem import (
    Plan,
    Problem,
    capacity_s,
    carried_out,
    critical_path_s,
    lower_bound_s,
)

BUILD = (by_work, min_min, heft, cpop)
ALL = (random_plan, round_robin, *BUILD)


def alike(gpus, memory_mb=10, bandwidth=1.0):
    """GPUs of 1 TFLOPS, all connected; the diagonal must not count."""
    between = np.where(np.eye(gpus), 99.0, bandwidth)
    return cg.dag.Platform(
        np.ones(gpus), np.full(gpus, memory_mb), np.zeros(gpus), between
    )


# ---- the authors' example: Topcuoglu, Hariri and Wu (2002), Figure 2 and Table 1 ----

TIMES_S = [[14, 16, 9], [13, 19, 18], [11, 13, 19], [13, 8, 17], [12, 13, 10]]
TIMES_S += [[13, 16, 9], [7, 15, 11], [5, 11, 14], [18, 12, 20], [21, 7, 16]]
SENT = {
    (1, 2): 18,
    (1, 3): 12,
    (1, 4): 9,
    (1, 5): 11,
    (1, 6): 14,
    (2, 8): 19,
    (2, 9): 16,
    (3, 7): 23,
    (4, 8): 27,
    (4, 9): 23,
}
SENT |= {(5, 9): 13, (6, 8): 15, (7, 10): 17, (8, 10): 11, (9, 10): 13}


def authors_example():
    """Ten tasks on three processors; the times are not work over speed, so they are put
    in.
    """
    problem = Problem(
        cg.dag.Graph(
            np.ones(10), np.ones(10), np.array(list(SENT)) - 1, list(SENT.values())
        ),
        alike(3),
    )
    vars(problem)["time_s"] = np.array(TIMES_S, dtype=float)
    return problem


def test_ranks_and_makespans_equal_the_printed_ones():
    """CPOP puts the critical tasks on the second processor."""
    problem = authors_example()
    upward_s = upward_rank_s(problem)
    assert upward_s.round(3).tolist() == [
        *(108.000, 77.000, 80.000, 80.000, 69.000, 63.333),
        *(42.667, 35.667, 44.333, 14.667),
    ]
    assert carried_out(problem, heft(problem)).makespan_s == 80
    critical, plan = critical_path(problem), cpop(problem)
    assert critical == [0, 1, 8, 9] and {*plan.gpu[critical]} == {1}
    assert carried_out(problem, plan).makespan_s == 86
    # both ranks of critical tasks sum to the length of the critical path
    both = upward_s + downward_rank_s(problem)
    assert both[critical] == pytest.approx(108) and both.max() == pytest.approx(108)


# ---- brute force ----


def problem_to_list(seed):
    """A random graph with nodes that take no time, or less than the clock can show, and
    units that keep memory, often more than there is.
    """
    rng = np.random.default_rng(seed)
    nodes, gpus = rng.integers(2, 40), rng.integers(1, 5)
    edges = np.argwhere(
        np.triu(rng.random((nodes, nodes)) < rng.choice([0.05, 0.2]), 1)
    )
    units = int(rng.integers(1, nodes + 1))
    unit = rng.integers(0, units, nodes)
    resident_mb = rng.integers(0, 50, nodes) * (rng.random() < 0.7)
    graph = cg.dag.Graph(
        rng.choice([0, 1e-20, 1, 2, 3], nodes) + rng.choice([0, rng.random()], nodes),
        np.ones(nodes),
        edges,
        rng.uniform(0, 3, len(edges)),
        unit,
        resident_mb=resident_mb,
    )
    most_mb = np.bincount(graph.unit, graph.resident_mb).max() + 1
    memory_mb = np.maximum(
        most_mb * rng.choice([0.5, 1, 1], gpus),
        resident_mb.sum() / gpus * rng.choice([0.2, 1.1]),
    )
    memory_mb[0] = memory_mb.max() + most_mb
    between = rng.uniform(0.5, 3, (gpus, gpus))
    return Problem(
        graph,
        cg.dag.Platform(
            rng.uniform(0.5, 3, gpus), memory_mb // 1 + 1, np.zeros(gpus), between
        ),
    )


def listed_by_hand(problem):
    """GPU and start of each node, as HEFT and `Room` are described."""
    graph, gpus = problem.graph, range(problem.platform.gpus)
    needs_mb = np.where(problem.lasts, problem.unit_mb, 0)
    free_mb = problem.platform.memory_mb.astype(float)
    left_s, runs = np.zeros(len(gpus)), [[] for _ in gpus]
    allowed, placed, plan, finish_s = problem.fits.copy(), {}, {}, {}

    def start_s(node, gpu):
        arrivals_s = [
            finish_s[before]
            + problem.transfer_s(graph.data_gb[edge], plan[before][0], gpu).item()
            for before, edge in graph.incoming[node]
        ]
        ready_s, time_s = max(arrivals_s, default=0.0), problem.time_s[node, gpu]
        begins_s = [ready_s, *sorted(b for _, b in runs[gpu] if b > ready_s)]
        return next(
            begin_s
            for begin_s in begins_s
            if all(b <= begin_s or begin_s + time_s <= a for a, b in runs[gpu])
        )

    for node in by_priority(graph, upward_rank_s(problem)):
        unit = graph.unit[node]
        rest_s = problem.time_s[node]
        if unit not in placed:
            rest_s = problem.unit_s[unit] + left_s
        starts_s = np.array([start_s(node, gpu) for gpu in gpus])
        ends_s = starts_s + rest_s
        gpu = min(gpus, key=lambda gpu: (not allowed[unit, gpu], ends_s[gpu]))
        if unit not in placed:
            placed[unit] = gpu
            left_s[gpu] += problem.unit_s[unit, gpu]
            allowed[unit] = [gpu == other for other in gpus]
            free_mb[gpu] -= needs_mb[unit]
            for other in (
                set(range(graph.units)) - placed.keys() if needs_mb[unit] else ()
            ):
                allowed[other, gpu] &= needs_mb[other] <= free_mb[gpu]
                if not allowed[other].any():
                    allowed[other] = problem.fits[other]
        time_s = problem.time_s[node, gpu].item()
        plan[node] = gpu, starts_s[gpu].item()
        finish_s[node] = plan[node][1] + time_s
        left_s[gpu] -= time_s
        runs[gpu].append((plan[node][1], finish_s[node]))
    return [plan[node] for node in range(graph.nodes)]


@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 240), marks=pytest.mark.slow)]
)
def test_heft_order_matches_a_hand_calculation(seeds):
    for seed in seeds:
        problem = problem_to_list(seed)
        draft = Draft(problem, insertion=True)
        for node in by_priority(problem.graph, upward_rank_s(problem)):
            draft.place(node)
        by_hand = listed_by_hand(problem)
        assert list(zip(draft.gpu.tolist(), draft.start_s.tolist())) == by_hand, seed
        assert heft(problem).gpu.tolist() == draft.gpu.tolist(), seed


def small_problem(seed, nodes, units=False):
    """A random graph on two GPUs, of which the second is slower and smaller."""
    rng = np.random.default_rng(seed)
    edges = np.argwhere(np.triu(rng.random((nodes, nodes)) < 0.35, 1))
    edges = rng.permutation(nodes)[edges]
    unit = rng.integers(0, nodes - 1, nodes) if units else ()
    graph = cg.dag.Graph(
        rng.uniform(1, 9, nodes),
        rng.integers(1, 6, nodes),
        edges,
        rng.uniform(0, 3, len(edges)),
        unit,
    )
    return Problem(graph, cg.dag.Platform([1.5, 1], [9, 6], [0, 1], [[0, 1], [1, 0]]))


def placements(problem):
    """All placements of the units on two GPUs, shape (placements, nodes)."""
    return np.array(list(product((0, 1), repeat=problem.graph.units)))[
        :, problem.graph.unit
    ]


def best_in_order(problem, order):
    """The least makespan of all placements when the nodes run in an order."""
    return min(
        carried_out(problem, Plan(gpu, order)).makespan_s for gpu in placements(problem)
    )


every_case = pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=[pytest.mark.slow] * (seed > 0)) for seed in range(3)],
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("units", [False, True])
def test_annealing_finds_the_best_of_all_placements_in_its_order(seed, units):
    """Hotter than usual: what seven nodes may lose by a move is large."""
    problem = small_problem(seed, 7, units)
    orders = {
        "graph": None,
        "best-simple": best_simple(problem).order,
        "rank": run_order(problem, "rank"),
    }
    for order, nodes in orders.items():
        best_s = best_in_order(problem, nodes)
        for start in STARTS:
            result = anneal(
                problem, cg.dag.Budget(2000), 0, order, 0.3, start=start, reorders=0
            )
            assert result.makespan_s == best_s


@every_case
def test_no_scheduler_is_below_the_best_of_all_plans_and_that_not_below_the_bound(seed):
    """All placements of five nodes in all topological orders: the optimum."""
    problem = small_problem(seed, 5)
    edges = problem.graph.edges
    orders = [
        order
        for order in permutations(range(5))
        if all(order.index(one) < order.index(two) for one, two in edges)
    ]
    best_s = min(best_in_order(problem, np.array(order)) for order in orders)
    assert lower_bound_s(problem) <= best_s
    assert all(
        carried_out(problem, make(problem, seed)).makespan_s >= best_s for make in ALL
    )
    assert anneal(problem, cg.dag.Budget(500)).makespan_s >= best_s


# ---- cases with a known answer ----


@pytest.mark.parametrize("make", ALL)
def test_one_gpu_takes_all_the_work(make):
    problem = Problem(small_problem(1, 7).graph, alike(1))
    assert carried_out(problem, make(problem)).makespan_s == pytest.approx(
        problem.graph.work_tflop.sum()
    )
    assert lower_bound_s(problem) == pytest.approx(problem.graph.work_tflop.sum())


@pytest.mark.parametrize("make", BUILD)
def test_a_chain_with_much_data_stays_on_the_fastest_gpu(make):
    graph = cg.dag.Graph([2, 4, 6], [1, 1, 1], [(0, 1), (1, 2)], [100, 100])
    problem = Problem(
        graph, cg.dag.Servers(8, tflops=(1.0, 2.0), inter_gb_per_s=1).platform()
    )
    assert set(make(problem).gpu) == {1}
    assert (
        carried_out(problem, make(problem)).makespan_s
        == critical_path_s(problem)
        == lower_bound_s(problem)
        == 6
    )


@pytest.mark.parametrize("make", [round_robin, *BUILD])
def test_equal_independent_nodes_are_dealt_evenly(make):
    problem = Problem(cg.dag.Graph(np.ones(12), np.ones(12), [], []), alike(4))
    assert np.bincount(make(problem).gpu).tolist() == [3, 3, 3, 3]
    assert (
        carried_out(problem, make(problem)).makespan_s
        == capacity_s(problem)
        == lower_bound_s(problem)
        == 3
    )


@pytest.mark.parametrize(
    ("make", "work", "edges", "gpus", "finish_s"),
    [
        # by work 3 | 1 1 1, which is best; min-min deals the short ones and ends at 4
        (by_work, [3, 1, 1, 1], [], 2, [3, 1, 2, 3]),
        (min_min, [3, 1, 1, 1], [], 2, [4, 1, 1, 2]),
        # after 0, node 2 is ready at 1 and ends at 2.5; 1, ready since 0, would at 3
        (min_min, [1, 2, 1.5], [(0, 2)], 1, [1, 4.5, 2.5]),
    ],
)
def test_ends_of_a_few_nodes(make, work, edges, gpus, finish_s):
    graph = cg.dag.Graph(work, np.ones(len(work)), edges, [0] * len(edges))
    problem = Problem(graph, alike(gpus))
    assert carried_out(problem, make(problem)).finish_s.tolist() == finish_s


@pytest.mark.parametrize(
    ("memory_mb", "resident_mb", "gpu"),
    [
        ([5, 20, 5, 20, 5], [0, 0, 0, 0, 0], [0, 1, 2, 1, 2]),
        ([0, 0, 0, 0, 0], [5, 5, 5, 4, 15], [0, 1, 2, 0, 1]),  # to the last MB
    ],
)
def test_round_robin_passes_over_gpus_without_the_memory(memory_mb, resident_mb, gpu):
    graph = cg.dag.Graph(np.ones(5), memory_mb, [], [], resident_mb=resident_mb)
    platform = cg.dag.Platform(np.ones(3), [9, 20, 9], np.zeros(3), np.ones((3, 3)))
    assert round_robin(Problem(graph, platform)).gpu.tolist() == gpu


@pytest.mark.parametrize("make", BUILD)
def test_a_plan_from_one_entry_stays_on_connected_gpus(make):
    """Two servers without a connection; a fan out of one node and in again."""
    graph = cg.dag.Graph(
        np.ones(8),
        np.ones(8),
        [
            (0, 1),
            (0, 2),
            (0, 3),
            (0, 4),
            (1, 5),
            (2, 5),
            (3, 6),
            (4, 6),
            (5, 7),
            (6, 7),
        ],
        np.ones(10),
    )
    problem = Problem(
        graph,
        cg.dag.Servers(
            6, per_server=3, inter_gb_per_s=0, tflops=(1.0, 2.0, 3.0)
        ).platform(),
    )
    assert np.isfinite(carried_out(problem, make(problem)).makespan_s)


def test_ranks_count_no_data_within_a_unit():
    graph = cg.dag.Graph(
        [1, 2, 3], np.ones(3), [(0, 1), (1, 2)], [5, 7], unit=[0, 0, 1]
    )
    assert upward_rank_s(Problem(graph, alike(2))).tolist() == [13, 12, 3]
    assert downward_rank_s(Problem(graph, alike(2))).tolist() == [0, 1, 10]


def test_cpop_takes_the_gpu_with_the_memory_for_most_of_the_critical_path():
    problem = Problem(
        cg.dag.Graph([2, 2, 2], [1, 9, 9], [(0, 1), (1, 2)], [0, 0]),
        cg.dag.Platform([2, 1], [5, 9], [0, 0], np.ones((2, 2))),
    )
    assert cpop(problem).gpu.tolist() == [1, 1, 1]


def test_cpop_leaves_its_gpu_where_the_data_cannot_reach_it():
    """Node 2, critical, needs data of 1, which only GPU 1 has the memory for, and none
    of 0; nothing connects the GPUs.
    """
    graph = cg.dag.Graph([8, 1, 8], [1, 9, 1], [(0, 2), (1, 2)], [0, 1])
    problem = Problem(graph, cg.dag.Platform([2, 1], [5, 9], [0, 1], np.zeros((2, 2))))
    assert cpop(problem).gpu.tolist() == [0, 1, 1]
    assert carried_out(problem, cpop(problem)).finish_s.tolist() == [4, 1, 12]


# ---- lower bounds ----


def test_bound_of_the_critical_path_counts_the_fastest_gpu_with_the_memory():
    graph = cg.dag.Graph([2, 6], [5, 1], [(0, 1)], [100])
    assert (
        critical_path_s(
            Problem(graph, cg.dag.Platform([4, 1], [1, 5], [0, 0], [[0, 1], [1, 0]]))
        )
        == 2 + 1.5
    )


def test_bound_of_a_unit_that_is_more_than_its_share():
    problem = Problem(
        cg.dag.Graph([3, 3, 1], np.ones(3), [], [], unit=[0, 0, 1]), alike(2)
    )
    assert capacity_s(problem) == 6  # of 7 / 2, all work over all speed


# ---- parameters ----


test_annealing_names_a_bad_parameter = refusals(
    ({"hot": 0.0}, "hot"),
    ({"cold": -1.0}, "cold"),
    call=lambda bad: anneal(authors_example(), cg.dag.Budget(10), **bad),
)
