"""Step functions of time."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgrsp_simpy.base.timeline import averages, counted, summed_steps

TIMES = st.lists(
    st.tuples(st.floats(0, 100), st.floats(0, 50)), min_size=1, max_size=12
)


@given(TIMES)
def test_the_number_present_counts_begins_without_an_end(spans):
    begins = [begin for begin, _ in spans]
    ends = [begin + length for begin, length in spans]
    times, numbers = counted(begins, ends)
    last = np.append(times[1:] > times[:-1], True)  # of several at one time
    for time, number in zip(times[last], numbers[last]):
        assert number == sum(b <= time < e for b, e in zip(begins, ends))


@given(TIMES, st.lists(st.floats(1, 40), min_size=1, max_size=6))
def test_averages_refer_to_each_span(spans, widths):
    begins = np.array([begin for begin, _ in spans])
    ends = begins + [length for _, length in spans]
    weights = np.arange(1.0, len(spans) + 1)
    edges = np.append(5.0, 5.0 + np.cumsum(widths))
    expected = [
        sum(
            w * max(0.0, min(e, high) - max(b, low))
            for b, e, w in zip(begins, ends, weights)
        )
        / (high - low)
        for low, high in itertools.pairwise(edges)
    ]
    result = averages(*summed_steps(begins, ends, weights), edges)
    assert result == pytest.approx(expected, abs=1e-8)
