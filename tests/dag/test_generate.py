"""Random graphs, stars and graphs of training: what they are made of, and what is refused."""

from collections import Counter
from math import sqrt

import numpy as np
import pytest
from scipy.stats import chisquare, kstest, norm, truncnorm

from cgrsp_simpy.dag.generate import LEAST_S, TIMES_S, erdos_renyi, star, training_graph
from cgrsp_simpy.dag.platform import Platform
from cgrsp_simpy.dag.problem import Plan, Problem, carried_out
from cgrsp_simpy.dag.scenario import schedule_of, simulate
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.model.streams import stream


def gpus(number, bandwidth=1.0):
    """Equal GPUs."""
    return Platform(
        np.ones(number),
        np.full(number, 80_000),
        np.arange(number),
        np.full((number, number), bandwidth),
    )


# ---- random graphs ----


@pytest.mark.parametrize(("nodes", "degree"), [(100, 1), (100, 3), (150, 50), (1000, 3)])
def test_the_mean_degree_is_the_one_that_was_asked_for(nodes, degree):
    """Edges are binomial: their mean over 40 seeds is within 4 standard errors, and away
    from half as many.

    Half as many has who counts the incoming and the outgoing edges of a node together.
    """
    pairs, seeds = nodes * (nodes - 1) / 2, 40
    edges = [len(erdos_renyi(nodes, degree, seed=seed).edges) for seed in range(seeds)]
    error = sqrt(pairs * (share := degree * nodes / pairs) * (1 - share) / seeds)
    assert abs(np.mean(edges) - degree * nodes) < 4 * error
    assert np.std(edges) > 0  # drawn, not rounded
    assert abs(np.mean(edges) - degree * nodes / 2) > 4 * error


def test_every_pair_is_an_edge_equally_often_in_either_direction():
    """1500 graphs of six nodes: without the random order, half of the 30 places
    would stay empty.
    """
    found = np.zeros((6, 6))
    for seed in range(1500):
        start, end = erdos_renyi(6, 1.0, seed=seed).edges.T
        found[start, end] += 1
    off = found[~np.eye(6, dtype=bool)]
    # 6 edges among 15 pairs, 2 ways
    assert chisquare(off).pvalue > 1e-4 and off.mean() == pytest.approx(1500 * 0.2, rel=0.05)


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 50])
def test_at_the_greatest_degree_all_pairs_are_edges(nodes):
    full = erdos_renyi(nodes, (nodes - 1) / 2)
    assert len(full.edges) == nodes * (nodes - 1) / 2
    # one order alone is possible
    assert sorted(len(before) for before in full.predecessors) == list(range(nodes))
    assert len(erdos_renyi(nodes, 0).edges) == 0


def test_node_numbers_say_nothing_of_the_order():
    start, end = erdos_renyi(1000, 10).edges.T
    assert 0.4 < np.mean(start < end) < 0.6


@pytest.mark.parametrize("law", TIMES_S)
def test_times_follow_the_truncated_normal_law(law):
    mean, sd = TIMES_S[law]
    work = erdos_renyi(20_000, 0, law, seed=3).work_tflop
    assert work.min() >= LEAST_S
    assert kstest(work, truncnorm((LEAST_S - mean) / sd, np.inf, mean, sd).cdf).pvalue > 1e-3
    assert kstest(work, norm(mean, 1.1 * sd).cdf).pvalue < 1e-6  # what a wrong spread would give


def test_drawing_again_lifts_the_mean_of_short_times_as_documented():
    least = (LEAST_S - 2) / 1
    assert 2 + norm.pdf(least) / norm.sf(least) == pytest.approx(2.06, abs=0.005)
    assert erdos_renyi(100_000, 0, "short").work_tflop.mean() == pytest.approx(
        2.056, abs=4 / sqrt(100_000)
    )


def test_a_law_of_ones_own():
    assert set(erdos_renyi(5, 1, (7.0, 0.0)).work_tflop) == {7.0}


def test_data_and_memory_stay_within_their_bounds():
    one = erdos_renyi(2000, 3, data_gb=(2, 5), memory_mb=(10, 12))
    assert (
        one.data_gb.min() >= 2
        and one.data_gb.max() <= 5
        and one.data_gb.mean() == pytest.approx(3.5, abs=0.06)
    )
    assert set(one.memory_mb) == {10, 11, 12}  # both bounds included
    assert set(erdos_renyi(10, 1, data_gb=(0, 0), memory_mb=(5, 5)).memory_mb) == {5}


def test_a_seed_gives_a_graph_and_each_of_its_parts_has_its_own_stream():
    one, again, other = (erdos_renyi(50, 3, seed=seed) for seed in (1, 1, 2))
    assert one.edges.tolist() == again.edges.tolist() != other.edges.tolist()
    denser = erdos_renyi(50, 10, data_gb=(0, 2), seed=1)
    assert (
        denser.work_tflop.tolist() == one.work_tflop.tolist()
        and denser.memory_mb.tolist() == one.memory_mb.tolist()
    )
    assert one.work_tflop.tolist() == stream(1, "dag work").normal(10, 2, 50).tolist()
    assert one.data_gb.tolist() == stream(1, "dag data").uniform(0, 1, len(one.edges)).tolist()
    assert one.memory_mb.tolist() == stream(1, "dag memory").integers(500, 4001, 50).tolist()
    slower = erdos_renyi(50, 3, "large", seed=1)
    assert (
        slower.edges.tolist() == one.edges.tolist()
        and slower.data_gb.tolist() == one.data_gb.tolist()
    )


def test_units_are_of_neighbours_in_the_random_order():
    """Of the complete graph there is one order: its units are the first three nodes of it, the next
    three, and the last.
    """
    one = erdos_renyi(7, 3, per_unit=3)
    assert one.unit[one.order].tolist() == [0, 0, 0, 1, 1, 1, 2] and one.units == 3
    assert erdos_renyi(7, 3).units == 7


def test_a_million_edges_are_drawn():
    """10,000 nodes of degree 100, the largest graph of the paper."""
    one = erdos_renyi(10_000, 100, "short")
    # all of them different, for a graph refuses others
    assert abs(len(one.edges) - 1_000_000) < 4 * 1000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nodes": 0}, r"nodes\(=0\) must be a whole number >= 1"),
        ({"degree": 5}, r"degree\(=5\) must be at most 4.5, all pairs of 10 nodes"),
        ({"degree": -1}, r"degree\(=-1\) must be a number >= 0"),
        ({"degree": float("nan")}, r"degree\(=nan\) must be a number >= 0"),
        ({"times": "smal"}, "unknown law of times 'smal'; did you mean 'small'"),
        ({"times": (10,)}, r"times\(=\(10,\)\) must be a name, or a mean and a standard deviation"),
        ({"times": 10}, r"times\(=10\) must be a name, or a mean and a standard deviation"),
        ({"times": (0, 1)}, r"mean time\(=0\) must be a number >= 0.01"),
        ({"times": (1, -1)}, r"standard deviation of times\(=-1\) must be a number >= 0"),
        ({"data_gb": (2, 1)}, r"greatest data_gb\(=1\) must be a number >= 2"),
        ({"data_gb": 1}, r"data_gb\(=1\) must be two bounds"),
        ({"memory_mb": (1, 1.5)}, r"greatest memory_mb\(=1.5\) must be a whole number >= 1"),
        ({"per_unit": 0}, r"per_unit\(=0\) must be a whole number >= 1"),
        ({"seed": -1}, r"seed\(=-1\) must be a whole number >= 0"),
    ],
)
def test_a_random_graph_that_cannot_be_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        erdos_renyi(**{"nodes": 10, "degree": 1, **given})


# ---- stars ----


def test_a_star_is_entry_nodes_of_a_second_and_an_exit():
    one = star(4)
    assert one.edges.tolist() == [[0, 3], [1, 3], [2, 3]] and one.work_tflop.tolist() == [
        1,
        1,
        1,
        0,
    ]
    assert not one.data_gb.any() and not one.memory_mb.any() and one.units == 4


@pytest.mark.parametrize("on_first", [5, 7, 10])
def test_a_star_on_two_gpus_takes_as_long_as_the_fuller_one(on_first):
    """Section 4.2: of n - 1 = 10 entry nodes, n1 on one GPU and the others on the second."""
    plan = Plan(np.array([0] * on_first + [1] * (10 - on_first) + [1]))
    assert carried_out(Problem(star(11), gpus(2)), plan).makespan_s == on_first


def test_a_star_of_one_node_is_refused():
    with pytest.raises(InputError, match=r"nodes\(=1\) must be a whole number >= 2"):
        star(1)


def longest_path_s(one):
    """Work along the longest path, at 1 TFLOPS."""
    finish_s = np.zeros(one.nodes)
    for node in one.order:
        finish_s[node] = one.work_tflop[node] + finish_s[one.predecessors[node]].max(initial=0)
    return finish_s.max()


def test_one_layer_by_hand():
    """Forward, backward and update, all on one GPU; no all-reduce, for there is nobody to share
    gradients with.
    """
    one = training_graph(1, samples=10, work_tflop=0.5, activation_gb=0.1, parameters_gb=4)
    assert (
        one.names == ("r0 m0 l0.0 forward", "r0 m0 l0.0 backward", "r0 l0.0 update")
        and one.units == 1
    )
    assert one.edges.tolist() == [[0, 1], [1, 2]] and one.data_gb.tolist() == [1, 4]
    # two operations on each of 10^9 parameters
    assert one.work_tflop.tolist() == pytest.approx([5, 10, 0.002])
    assert one.memory_mb.tolist() == [5000, 5000, 4000]


def test_two_replicas_of_two_layers_by_hand():
    one = training_graph(
        2, replicas=2, samples=10, work_tflop=0.5, activation_gb=0.1, parameters_gb=4
    )
    assert one.nodes == 2 * (2 + 2 + 2) + 2 and one.units == 2 + 2
    edges = {
        (one.names[start], one.names[end]): data
        for (start, end), data in zip(one.edges, one.data_gb)
    }
    assert edges == pytest.approx(
        {
            **{(f"r{r} m0 l0.0 forward", f"r{r} m0 l1.0 forward"): 0.5 for r in (0, 1)},
            **{(f"r{r} m0 l1.0 forward", f"r{r} m0 l1.0 backward"): 0.5 for r in (0, 1)},
            **{(f"r{r} m0 l1.0 backward", f"r{r} m0 l0.0 backward"): 0.5 for r in (0, 1)},
            **{(f"r{r} m0 l0.0 forward", f"r{r} m0 l0.0 backward"): 0.5 for r in (0, 1)},
            **{
                (f"r{r} m0 l{layer}.0 backward", f"l{layer}.0 all-reduce"): 4
                for r in (0, 1)
                for layer in (0, 1)
            },
            **{
                (f"l{layer}.0 all-reduce", f"r{r} l{layer}.0 update"): 4
                for r in (0, 1)
                for layer in (0, 1)
            },
        }
    )
    work = dict(zip(one.names, one.work_tflop))
    assert (
        work["r1 m0 l1.0 forward"] == 2.5
        and work["r1 m0 l1.0 backward"] == 5
        and work["l0.0 all-reduce"] == 0.002
    )


def test_shards_feed_all_shards_of_the_next_layer():
    one = training_graph(2, shards=3, samples=6, work_tflop=1, activation_gb=0.5, parameters_gb=3)
    after = {one.names[node] for node in one.successors[one.names.index("r0 m0 l0.1 forward")]}
    assert after == {*(f"r0 m0 l1.{shard} forward" for shard in range(3)), "r0 m0 l0.1 backward"}
    turn = {one.names[node] for node in one.predecessors[one.names.index("r0 m0 l1.2 backward")]}
    assert turn == {f"r0 m0 l1.{shard} forward" for shard in range(3)}
    assert (
        one.work_tflop[0] == 2
        and one.data_gb[0] == 1
        and one.memory_mb[0] == 2000
        and one.units == 3
    )


@pytest.mark.parametrize(
    "cut", [(1, 1, 1, 1, 1), (4, 2, 3, 2, 2), (5, 3, 2, 1, 4), (3, 3, 1, 3, 1)]
)
def test_numbers_of_nodes_edges_and_units(cut):
    layers, stages, batches, replicas, shards = cut
    one, parts = training_graph(*cut), layers * shards
    assert Counter(name.split()[-1] for name in one.names) == Counter(
        {
            "forward": replicas * batches * parts,
            "backward": replicas * batches * parts,
            "all-reduce": parts * (replicas > 1),
            "update": replicas * parts,
        }
    )
    of_batch = (2 * layers - 1) * shards**2 + (layers - 1) * shards
    gradients = replicas * batches * parts + replicas * parts * (replicas > 1)
    assert len(one.edges) == replicas * batches * of_batch + gradients
    assert one.units == replicas * stages * shards + parts * (replicas > 1)
    assert one.order.tolist() == list(range(one.nodes))


def test_a_stage_is_a_unit_and_so_is_an_all_reduce():
    one = training_graph(5, 2, 2, 2, 2)
    parts = {}
    for name, unit in zip(one.names, one.unit):
        words = name.split()
        layer, shard = next(word for word in words if word[0] == "l")[1:].split(".")
        # 3 layers and 2
        mark = (words[0], int(layer) >= 3, shard) if words[-1] != "all-reduce" else name
        assert parts.setdefault(mark, unit) == unit
    assert len(set(parts.values())) == len(parts) == one.units


@pytest.mark.parametrize("cut", [(4, 1, 1, 1, 1), (4, 2, 3, 1, 1), (6, 3, 4, 2, 2)])
def test_the_longest_path_is_forward_then_backward_of_one_micro_batch(cut):
    layers, _, batches, replicas, shards = cut
    one = training_graph(*cut, samples=24, work_tflop=1.0, parameters_gb=0)
    assert longest_path_s(one) == pytest.approx(layers * 3 * 24 / (batches * replicas * shards))


@pytest.mark.parametrize(
    "run",
    [carried_out, lambda problem, plan: schedule_of(simulate(problem, plan))],
    ids=["computed", "simulated"],
)
@pytest.mark.parametrize(
    ("stages", "batches", "per_stage"), [(1, 1, 1), (3, 1, 1), (4, 6, 1), (2, 5, 3), (4, 2, 2)]
)
def test_a_pipeline_takes_stages_plus_micro_batches_less_one_rounds(
    run, stages, batches, per_stage
):
    """(M + S - 1)(f + b): all forward, then all backward, as in GPipe (Huang et al., 2019); it is
    the graph's own order.
    """
    one = training_graph(
        stages * per_stage,
        stages,
        batches,
        samples=batches,
        work_tflop=1.0,
        parameters_gb=0,
        activation_gb=0,
    )
    forward, backward = per_stage * 1.0, per_stage * 2.0
    found = run(Problem(one, gpus(stages)), Plan(one.unit))
    assert found.makespan_s == pytest.approx((batches + stages - 1) * (forward + backward))


def test_a_pipeline_in_another_order_takes_longer():
    """Each micro-batch forward and backward before the next one starts: M S (f + b), as if there
    were no pipeline.
    """
    one = training_graph(3, 3, 4, samples=4, work_tflop=1.0, parameters_gb=0, activation_gb=0)
    batch = np.array([int(name.split()[1][1:]) if " m" in name else 4 for name in one.names])
    plan = Plan(one.unit, np.lexsort((np.arange(one.nodes), batch)))
    assert carried_out(Problem(one, gpus(3)), plan).makespan_s == pytest.approx(4 * 3 * 3)


def test_replicas_wait_for_the_slower_at_the_all_reduce():
    """Data parallelism by hand: one GPU of half the speed; 4 GB of gradients to and from the
    all-reduce at 2 GB/s.
    """
    one = training_graph(1, replicas=2, samples=2, work_tflop=1.0, activation_gb=0, parameters_gb=4)
    platform = Platform(
        np.array([1.0, 0.5]), np.full(2, 80_000), np.arange(2), np.full((2, 2), 2.0)
    )
    found = carried_out(Problem(one, platform), Plan(np.array([0, 1, 0, 1, 0, 0, 1])))
    finish_s = dict(zip(one.names, found.finish_s))
    assert finish_s["r0 m0 l0.0 backward"] == 3 and finish_s["r1 m0 l0.0 backward"] == 6
    assert finish_s["l0.0 all-reduce"] == pytest.approx(6 + 4 / 2 + 0.002)
    assert found.makespan_s == pytest.approx(8.002 + 4 / 2 + 0.002 / 0.5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"layers": 0}, r"layers\(=0\) must be a whole number >= 1"),
        ({"stages": 5}, r"stages\(=5\) must be at most 4, the number of layers"),
        ({"micro_batches": 1.5}, r"micro_batches\(=1.5\) must be a whole number >= 1"),
        ({"replicas": 0}, r"replicas\(=0\) must be a whole number >= 1"),
        ({"shards": 0}, r"shards\(=0\) must be a whole number >= 1"),
        ({"samples": 0}, r"samples\(=0\) must be a number > 0"),
        ({"work_tflop": float("nan")}, r"work_tflop\(=nan\) must be a number >= 0"),
        ({"activation_gb": -1}, r"activation_gb\(=-1\) must be a number >= 0"),
        ({"parameters_gb": -1}, r"parameters_gb\(=-1\) must be a number >= 0"),
    ],
)
def test_a_training_graph_that_cannot_be_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        training_graph(**{"layers": 4, **given})
