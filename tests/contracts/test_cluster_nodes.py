"""Free GPUs of nodes as one integer, compared with lists, on random clusters."""

from hypothesis import given, settings
from hypothesis import strategies as st

from cgrsp_simpy.cluster.cluster import PLACEMENTS, Nodes

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


@settings(max_examples=300)
@given(cases(), st.data())
def test_a_number_is_the_same_as_lists_of_nodes(case, data):
    sizes, free, key = case
    nodes, largest = Nodes(sizes, key), max(sizes)
    packed = nodes.packed(free)
    assert (nodes.counts(packed), nodes.counts(nodes.all)) == (free, sizes)
    for gpus in range(1, sum(sizes) + 2):
        place = nodes.room(packed, gpus)
        assert place == plain(sizes, free, key, gpus)
        assert nodes.fits(packed, gpus) == (place is not None)
        least = [gpus if gpus <= largest else size for size in sizes]
        usable = sum(idle for idle, needed in zip(free, least) if idle >= needed)
        assert nodes.usable(packed, gpus) == usable
        if place is not None:
            left, taken = nodes.take(packed, place), dict(place)
            assert nodes.counts(left) == [
                idle - taken.get(node, 0) for node, idle in enumerate(free)
            ]
            assert nodes.give(left, place) == packed
    # the GPUs free in both are the minimum on every node
    other = [data.draw(st.integers(0, size)) for size in sizes]
    assert nodes.counts(packed & nodes.packed(other)) == [*map(min, free, other)]
    node = data.draw(st.integers(0, len(sizes) - 1))
    put = nodes.counts(nodes.put(packed, node, other[node]))
    assert put == [*free[:node], other[node], *free[node + 1 :]]
