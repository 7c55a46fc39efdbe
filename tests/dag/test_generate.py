"""Random graphs, stars and training graphs: their structure, and invalid parameters."""

import re
from collections import Counter
from math import sqrt

import numpy as np
import pytest
from scipy.stats import chisquare, kstest, norm, truncnorm
from support import check_refused, refusals

from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.dag.generate import (
    LEAST_S,
    SCHEDULES,
    TIMES_S,
    erdos_renyi,
    star,
    training_graph,
)
from cgrsp_simpy.dag.listing import by_priority
from cgrsp_simpy.dag.platform import Platform
from cgrsp_simpy.dag.problem import Plan, Problem, carried_out


def gpus(number, bandwidth=1.0):
    """Equal GPUs."""
    return Platform(
        np.ones(number),
        np.full(number, 80_000),
        np.arange(number),
        np.full((number, number), bandwidth),
    )


# ---- random graphs ----


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("nodes", "degree"), [(100, 1), (100, 3), (150, 50), (1000, 3)]
)
def test_the_mean_degree_is_as_requested(nodes, degree):
    """Edges are binomial: their mean over 40 seeds is within 4 standard errors, and
    away from half as many.

    Counting the incoming and outgoing edges of a node together would give half as many.
    """
    pairs, seeds = nodes * (nodes - 1) / 2, 40
    edges = [len(erdos_renyi(nodes, degree, seed=seed).edges) for seed in range(seeds)]
    error = sqrt(pairs * (share := degree * nodes / pairs) * (1 - share) / seeds)
    assert abs(np.mean(edges) - degree * nodes) < 4 * error
    assert np.std(edges) > 0  # drawn, not rounded
    assert abs(np.mean(edges) - degree * nodes / 2) > 4 * error


@pytest.mark.slow
def test_every_pair_is_an_edge_equally_often_in_either_direction():
    """500 graphs of six nodes: without the random order, half of the 30 places
    would stay empty.
    """
    result = np.zeros((6, 6))
    for seed in range(500):
        start, end = erdos_renyi(6, 1.0, seed=seed).edges.T
        result[start, end] += 1
    off = result[~np.eye(6, dtype=bool)]
    # 6 edges among 15 pairs, in 2 directions
    assert chisquare(off).pvalue > 1e-4 and off.mean() == pytest.approx(
        500 * 0.2, rel=0.05
    )


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 50])
def test_at_the_maximum_degree_all_pairs_are_edges(nodes):
    full = erdos_renyi(nodes, (nodes - 1) / 2)
    assert len(full.edges) == nodes * (nodes - 1) / 2
    # one order alone is possible
    assert sorted(len(before) for before in full.predecessors) == list(range(nodes))
    assert len(erdos_renyi(nodes, 0).edges) == 0


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("law", TIMES_S)
def test_times_follow_the_truncated_normal_distribution(law):
    mean, sd = TIMES_S[law]
    work = erdos_renyi(20_000, 0, law, seed=3).work_tflop
    assert work.min() >= LEAST_S
    assert (
        kstest(work, truncnorm((LEAST_S - mean) / sd, np.inf, mean, sd).cdf).pvalue
        > 1e-3
    )
    # what a wrong spread would give
    assert kstest(work, norm(mean, 1.1 * sd).cdf).pvalue < 1e-6


def test_data_and_memory_stay_within_their_bounds():
    one = erdos_renyi(20_000, 3)
    assert one.data_gb.min() >= 0 and one.data_gb.max() <= 1
    assert one.data_gb.mean() == pytest.approx(0.5, abs=0.01)
    # both bounds included
    assert (one.memory_mb.min(), one.memory_mb.max()) == (500, 4000)
    assert erdos_renyi(3, 0, (LEAST_S, 0)).work_tflop.tolist() == [LEAST_S] * 3


def test_a_seed_gives_a_graph_and_each_of_its_parts_has_its_own_stream():
    one, again, other = (erdos_renyi(50, 3, seed=seed) for seed in (1, 1, 2))
    assert one.edges.tolist() == again.edges.tolist() != other.edges.tolist()
    denser = erdos_renyi(50, 10, seed=1)
    assert (
        denser.work_tflop.tolist() == one.work_tflop.tolist()
        and denser.memory_mb.tolist() == one.memory_mb.tolist()
    )
    assert one.work_tflop.tolist() == stream(1, "dag work").normal(10, 2, 50).tolist()
    assert (
        one.data_gb.tolist()
        == stream(1, "dag data").uniform(0, 1, len(one.edges)).tolist()
    )
    assert (
        one.memory_mb.tolist()
        == stream(1, "dag memory").integers(500, 4001, 50).tolist()
    )
    slower = erdos_renyi(50, 3, "large", seed=1)
    assert (
        slower.edges.tolist() == one.edges.tolist()
        and slower.data_gb.tolist() == one.data_gb.tolist()
    )


test_an_impossible_random_graph_is_rejected = refusals(
    ({"nodes": 0}, r"nodes\(=0\) must be a whole number from 1 to 1,000,000"),
    ({"nodes": 10**8}, r"nodes\(=100000000\) must be .* from 1 to 1,000,000"),
    (
        {"nodes": 10**5, "degree": 1000},
        r"edges\(=100000000\) must be at most 10,000,000",
    ),
    (
        {"degree": 5},
        r"degree\(=5\) must be at most 4.5, which connects all pairs of 10 nodes",
    ),
    ({"degree": -1}, r"degree\(=-1\) must be a number >= 0"),
    ({"degree": float("nan")}, r"degree\(=nan\) must be a number >= 0"),
    ({"times": "smal"}, "unknown distribution of times 'smal'; did you mean 'small'"),
    (
        {"times": (10,)},
        r"times\(=\(10,\)\) must be a name, or a mean and a standard deviation",
    ),
    (
        {"times": 10},
        r"times\(=10\) must be a name, or a mean and a standard deviation",
    ),
    ({"times": (0, 1)}, r"mean time\(=0\) must be a number >= 0.01"),
    (
        {"times": (1, -1)},
        r"standard deviation of times\(=-1\) must be a number >= 0",
    ),
    ({"seed": -1}, r"seed\(=-1\) must be a whole number >= 0"),
    call=lambda given: erdos_renyi(**{"nodes": 10, "degree": 1, **given}),
)


# ---- stars ----


@pytest.mark.parametrize("on_first", [5, 7, 10])
def test_a_star_on_two_gpus_takes_as_long_as_the_fuller_one(on_first):
    """Section 4.2: of n - 1 = 10 entry nodes, n1 on one GPU and the others on the
    second.
    """
    plan = Plan(np.array([0] * on_first + [1] * (10 - on_first) + [1]))
    assert carried_out(Problem(star(11), gpus(2)), plan).makespan_s == on_first


def edges_of(one, *columns):
    """Attributes of the edges, by the names of their ends."""
    rows = zip(*(getattr(one, column).tolist() for column in columns))
    return {
        (one.names[start], one.names[end]): row[0] if len(row) == 1 else row
        for (start, end), row in zip(one.edges.tolist(), rows)
    }


def test_two_replicas_of_two_layers_by_hand():
    one = training_graph(
        2, replicas=2, samples=10, work_tflop=0.5, activation_gb=0.1, parameters_gb=4
    )
    assert one.nodes == 2 * (2 + 2 + 2 * 2 + 2) and one.units == 2
    result = edges_of(one, "data_gb", "held_mb")
    for r, other in ((0, 1), (1, 0)):
        own = {
            (f"r{r} m0 l0.0 forward", f"r{r} m0 l1.0 forward"): (0.5, 0),
            (f"r{r} m0 l0.0 forward", f"r{r} m0 l0.0 backward"): (0.5, 500),
            (f"r{r} m0 l1.0 forward", f"r{r} m0 l1.0 backward"): (0.5, 500),
            (f"r{r} m0 l1.0 backward", f"r{r} m0 l0.0 backward"): (0.5, 0),
        }
        for at in ("l0.0", "l1.0"):
            own |= {
                (f"r{r} m0 {at} backward", f"r{r} {at} ring 1"): (0, 0),
                (f"r{other} m0 {at} backward", f"r{r} {at} ring 1"): (2, 0),
                (f"r{r} {at} ring 1", f"r{r} {at} ring 2"): (0, 0),
                (f"r{other} {at} ring 1", f"r{r} {at} ring 2"): (2, 0),
                (f"r{r} {at} ring 2", f"r{r} {at} update"): (0, 0),
            }
        assert {ends: result.pop(ends) for ends in own} == own
    assert not result
    work = dict(zip(one.names, one.work_tflop))
    assert work["r1 m0 l1.0 forward"] == 2.5 and work["r1 m0 l1.0 backward"] == 5
    # of half of 10^9 parameters a sum, and nothing; two operations per parameter
    names = ("r0 l0.0 ring 1", "r0 l0.0 ring 2", "r0 l0.0 update")
    assert [work[name] for name in names] == [0.0005, 0, 0.002]
    # forward by layer, then all others back
    assert [
        re.sub(r"r1 (m0 )?|\.0", "", name) for name in one.names if "r1" in name
    ] == [
        *("l0 forward", "l1 forward", "l1 backward", "l0 backward"),
        *("l1 ring 1", "l0 ring 1", "l1 ring 2", "l0 ring 2"),
        *("l1 update", "l0 update"),
    ]


def test_shards_feed_all_shards_of_the_next_layer():
    one = training_graph(
        2, shards=3, samples=6, work_tflop=1, activation_gb=0.5, parameters_gb=3
    )
    after = {
        one.names[node]
        for node in one.successors[one.names.index("r0 m0 l0.1 forward")]
    }
    assert after == {
        *(f"r0 m0 l1.{shard} forward" for shard in range(3)),
        "r0 m0 l0.1 backward",
    }
    turn = {
        one.names[node]
        for node in one.predecessors[one.names.index("r0 m0 l1.2 backward")]
    }
    assert turn == {f"r0 m0 l1.{shard} forward" for shard in range(3)}
    assert one.work_tflop[0] == 2 and one.data_gb[0] == 1 and one.units == 3
    assert one.resident_mb.sum() == 2 * 3 * 4000


@pytest.mark.parametrize(
    "cut",
    [
        (1, 1, 1, 1, 1),
        (4, 2, 3, 2, 2),
        (5, 3, 2, 1, 4),
        (3, 3, 1, 3, 1),
        (7, 3, 4, 4, 1),
    ],
)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_numbers_of_nodes_and_units(cut, schedule):
    layers, stages, batches, replicas, shards = cut
    one, parts = training_graph(*cut, schedule), layers * shards
    kinds = Counter(re.sub(r" \d+$", "", name).split()[-1] for name in one.names)
    assert kinds == Counter(
        {
            "forward": replicas * batches * parts,
            "backward": replicas * batches * parts,
            "ring": 2 * (replicas - 1) * replicas * parts,
            "update": replicas * parts,
        }
    )
    assert one.units == replicas * stages * shards


@pytest.mark.parametrize(
    ("schedule", "stage", "turns"),
    [
        ("gpipe", 0, "f0 f1 f2 f3 b0 b1 b2 b3"),
        ("gpipe", 1, "f0 f1 f2 f3 b0 b1 b2 b3"),
        ("1f1b", 0, "f0 f1 b0 f2 b1 f3 b2 b3"),
        ("1f1b", 1, "f0 b0 f1 b1 f2 b2 f3 b3"),
    ],
)
def test_a_stage_keeps_the_order_of_its_schedule_whatever_the_order_of_the_plan(
    schedule, stage, turns
):
    """Two layers per stage; every order of the graph has the same turns in it."""
    one = training_graph(4, 2, 4, schedule=schedule)
    # of each micro-batch ten edges have data, four of which are held
    assert ((one.data_gb > 0).sum(), (one.held_mb > 0).sum()) == (10 * 4, 4 * 4)
    for priority in (np.zeros(one.nodes), np.random.default_rng(0).random(one.nodes)):
        order = by_priority(one, priority)
        layer = 2 * stage
        results = [
            one.names[node].split()
            for node in order
            if f"l{layer}.0 " in one.names[node]
        ]
        assert [
            word[-1][0] + word[1][1] for word in results if word[1][0] == "m"
        ] == turns.split()


test_an_impossible_training_graph_is_rejected = refusals(
    ({"layers": 0}, r"layers\(=0\) must be a whole number >= 1"),
    ({"layers": 10**7}, r"nodes\(=\d+\) must be at most 1,000,000"),
    ({"stages": 5}, r"stages\(=5\) must be at most 4, the number of layers"),
    ({"micro_batches": 1.5}, r"micro_batches\(=1.5\) must be a whole number >= 1"),
    ({"replicas": 0}, r"replicas\(=0\) must be a whole number >= 1"),
    ({"shards": 0}, r"shards\(=0\) must be a whole number >= 1"),
    ({"schedule": "pipe"}, "unknown schedule 'pipe'; did you mean 'gpipe'"),
    ({"samples": 0}, r"samples\(=0\) must be a number > 0"),
    ({"work_tflop": float("nan")}, r"work_tflop\(=nan\) must be a number >= 0"),
    ({"activation_gb": -1}, r"activation_gb\(=-1\) must be a number >= 0"),
    ({"parameters_gb": -1}, r"parameters_gb\(=-1\) must be a number >= 0"),
    ({"parameters_gb": 1e308}, r"resident_mb of node r0 l3.0 update\(=inf\) must be"),
    call=lambda given: training_graph(**{"layers": 4, **given}),
)


@pytest.mark.parametrize(
    ("limit", "number", "words"),
    [("MOST_EDGES", 80, "edges between layers"), ("MOST_NODES", 84, "nodes")],
)
def test_the_numbers_of_nodes_and_edges_are_limited(limit, number, words, monkeypatch):
    """Five passes from layer to layer per replica and micro-batch, of 2 x 2 shards."""
    monkeypatch.setattr(f"cgrsp_simpy.dag.generate.{limit}", number)
    assert training_graph(3, 1, 2, 2, 2).nodes == 84
    monkeypatch.setattr(f"cgrsp_simpy.dag.generate.{limit}", number - 1)
    words = f"{words}(={number}) must be at most {number - 1}"
    check_refused(lambda: training_graph(3, 1, 2, 2, 2), words)
