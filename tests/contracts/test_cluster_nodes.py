"""What is free on nodes as one whole number, against the same by lists of nodes, on
random clusters.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from cgrsp_simpy.cluster.cluster import PLACEMENTS, Nodes

MANY = settings(max_examples=300)
SIZES = st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=9)


@st.composite
def cases(draw):
    """Sizes, free GPUs, and the key of a placement."""
    sizes = draw(SIZES)
    return (
        sizes,
        [draw(st.integers(0, size)) for size in sizes],
        PLACEMENTS[draw(st.sampled_from(list(PLACEMENTS)))],
    )


def plain(sizes, free, key, gpus):
    """Where a job goes: on the first node of least key with room; of a wide one whole
    nodes, the largest first, then the rest.
    """
    if gpus <= max(sizes):
        left = [node for node, idle in enumerate(free) if idle >= gpus]
        return (
            ((min(left, key=lambda node: key(sizes[node], free[node])), gpus),)
            if left
            else None
        )
    whole = {}
    for node in sorted(
        (node for node, idle in enumerate(free) if idle == sizes[node]),
        key=lambda node: -sizes[node],
    ):
        if sizes[node] <= gpus:
            whole[node] = sizes[node]
            gpus -= sizes[node]
    if not gpus:
        return tuple(whole.items())
    rest = (
        plain(
            sizes,
            [0 if node in whole else idle for node, idle in enumerate(free)],
            key,
            gpus,
        )
        if gpus <= max(sizes)
        else None
    )
    return (*whole.items(), *rest) if rest else None


@MANY
@given(cases())
def test_room_is_found_where_lists_of_nodes_find_it(case):
    sizes, free, key = case
    nodes = Nodes(sizes, key)
    for gpus in range(1, sum(sizes) + 2):
        place = nodes.room(nodes.packed(free), gpus)
        assert place == plain(sizes, free, key, gpus)
        assert nodes.fits(nodes.packed(free), gpus) == (place is not None)


@MANY
@given(cases(), st.integers(1, 20))
def test_what_is_taken_is_what_is_given_back(case, gpus):
    sizes, free, key = case
    nodes = Nodes(sizes, key)
    before = nodes.packed(free)
    assert nodes.counts(before) == free
    place = nodes.room(before, gpus)
    if place is not None:
        left = nodes.take(before, place)
        taken = dict(place)
        assert nodes.counts(left) == [
            idle - taken.get(node, 0) for node, idle in enumerate(free)
        ]
        assert nodes.give(left, place) == before


@MANY
@given(cases(), st.data())
def test_what_is_free_in_both_is_the_lesser_on_every_node(case, data):
    sizes, free, key = case
    other = [data.draw(st.integers(0, size)) for size in sizes]
    nodes = Nodes(sizes, key)
    assert nodes.counts(nodes.packed(free) & nodes.packed(other)) == list(
        map(min, free, other)
    )
    assert nodes.counts(nodes.all) == sizes


@MANY
@given(cases())
def test_what_a_job_can_use_is_what_is_free_on_nodes_with_room_or_all_of_empty_ones(
    case,
):
    sizes, free, _ = case
    nodes = Nodes(sizes)
    for gpus in range(1, sum(sizes) + 2):
        least = [gpus if gpus <= max(sizes) else size for size in sizes]
        usable = sum(idle for idle, needed in zip(free, least) if idle >= needed)
        assert nodes.usable(nodes.packed(free), gpus) == usable


@MANY
@given(cases(), st.data())
def test_the_count_of_a_node_can_be_replaced(case, data):
    sizes, free, _ = case
    nodes, node = Nodes(sizes), data.draw(st.integers(0, len(sizes) - 1))
    idle = data.draw(st.integers(0, sizes[node]))
    now = nodes.counts(nodes.put(nodes.packed(free), node, idle))
    assert now == [idle if other == node else each for other, each in enumerate(free)]
