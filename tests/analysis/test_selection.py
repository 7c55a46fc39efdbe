"""Kim and Nelson's procedure: its guarantee on normals whose means are known, its
steps compared with a plain implementation of the paper, and its use on policies.
"""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.selection import kim_nelson
from cgrsp_simpy.studies.subject import subject_of

NAMES = tuple("ABCDE")


def normals(seed, means, correlation=0.0):
    """Observations of sd 1; those of a replication share a common term."""
    rng = np.random.default_rng(seed)
    common, own = rng.normal(size=2000), rng.normal(size=(len(means), 2000))
    drawn = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    values = np.asarray(means)[:, None] + drawn
    return lambda name, n: values[NAMES.index(name), n]


def slippage(best, better="less", systems=5, by=0.5):
    """The best is better by the indifference, all others are equal: the worst case."""
    sign = -1 if better == "less" else 1
    return [sign * by * (index == best) for index in range(systems)]


def selections(repetitions, correlation=0.0, better="less", **how):
    """Return by repetition whether the best was selected, and the observations."""
    right, taken = [], []
    for seed in range(repetitions):
        best = seed % 5
        result = kim_nelson(
            normals(seed, slippage(best, better), correlation),
            NAMES,
            better=better,
            **{"indifference": 0.5, "first": 10, **how},
        )
        right.append(result.best == NAMES[best])
        taken.append(sum(result.observations.values()))
    return np.array(right), np.array(taken)


@pytest.mark.parametrize(
    ("correlation", "better"),
    [
        pytest.param(0.0, "less", marks=pytest.mark.slow),
        pytest.param(0.0, "more", marks=pytest.mark.long),
        pytest.param(0.5, "less", marks=pytest.mark.long),
        pytest.param(0.9, "more", marks=pytest.mark.slow),
    ],
)
def test_the_best_is_selected_as_often_as_promised(correlation, better):
    right, _ = selections(600, correlation, better)
    assert right.mean() > 0.95 - 4 * math.sqrt(0.95 * 0.05 / len(right))


@pytest.mark.slow
def test_the_guarantee_fails_if_the_difference_is_less_than_the_indifference():
    right, _ = selections(600, indifference=1.5)
    assert right.mean() < 0.95 - 4 * math.sqrt(0.95 * 0.05 / len(right))


# ---- step by step ----


def as_printed(values, delta, alpha, n0):
    """The paper's procedure, pair by pair, in its notation; the larger mean is best."""
    k = len(values)
    eta = 0.5 * ((2 * alpha / (k - 1)) ** (-2 / (n0 - 1)) - 1)
    h2 = 2 * eta * (n0 - 1)
    s2 = {}
    for i, j in combinations(range(k), 2):
        gaps = [values[i][n] - values[j][n] for n in range(n0)]
        centre = sum(gaps) / n0
        s2[i, j] = s2[j, i] = sum((gap - centre) ** 2 for gap in gaps) / (n0 - 1)
    last = max(math.floor(h2 * each / delta**2) for each in s2.values())
    left, r = set(range(k)), n0
    taken = dict.fromkeys(left, n0)

    def mean(i):
        return sum(values[i][:r]) / r

    if n0 > last:
        return max(left, key=mean), taken
    while True:

        def w(i, j, r=r):
            return max(0.0, delta / (2 * r) * (h2 * s2[i, j] / delta**2 - r))

        left = {
            i for i in left if all(mean(i) >= mean(j) - w(i, j) for j in left - {i})
        }
        if len(left) == 1:
            return left.pop(), taken
        r += 1
        taken.update(dict.fromkeys(left, r))
        if r == last + 1:
            return max(left, key=mean), taken


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(2, 5),
    delta=st.floats(0.5, 3),
    alpha=st.floats(0.01, 0.4),
    n0=st.integers(4, 12),
)
def test_the_steps_match_the_paper(seed, k, delta, alpha, n0):
    rng = np.random.default_rng(seed)
    values = rng.normal(rng.normal(size=(k, 1)), rng.uniform(0.5, 2, (k, 1)), (k, 4000))
    best, taken = as_printed(values.tolist(), delta, alpha, n0)
    result = kim_nelson(
        lambda name, n: values[NAMES.index(name), n],
        NAMES[:k],
        delta,
        1 - alpha,
        n0,
        "more",
    )
    assert result.best == NAMES[best]
    assert list(result.observations.values()) == [taken[i] for i in range(k)]
    for i, name in enumerate(NAMES[:k]):
        assert result.means[name] == pytest.approx(values[i, : taken[i]].mean())


@pytest.mark.parametrize(
    ("observe", "systems", "indifference", "first", "taken"),
    [
        (lambda name, n: float(NAMES.index(name)), NAMES[:3], 0.1, 5, 5),
        # S^2 = 1 / 2 and h^2 = 24: after 12 / 2.2^2 = 2.5 observations the bound is 0
        (lambda name, n: (name == "A") * (0.5, -0.5, 0)[n], NAMES[:2], 2.2, 2, 3),
    ],
)
def test_equal_means_select_after_the_bound_is_0(
    observe, systems, indifference, first, taken
):
    result = kim_nelson(observe, systems, indifference, 0.9, first)
    assert (result.best, result.observations) == ("A", dict.fromkeys(systems, taken))
    assert str(result).splitlines()[1].split() == ["A", "0", str(taken), "selected"]


# ---- policies ----


def test_select_takes_the_policy_of_the_shortest_wait():
    day = cg.day("normal", slots=3)
    result = cg.select(day, ["fifo", "spt", "random"], indifference=3.0, first=5)
    assert result.best == "spt"
    own = cg.compare(day, ["spt"], range(result.observations["spt"])).values(
        "spt", "wait_min"
    )
    assert result.means["spt"] == pytest.approx(np.mean(own))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"policies": ["fifo"]}, "at least two different names"),
        ({"indifference": 0.0}, "indifference"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": 0.4}, "confidence"),
        ({"first": 1}, "first"),
        ({"figure": "makespan"}, "figure"),
        (
            {
                "scenario": subject_of(cg.day("quiet")).varied(
                    series=[cg.StockSeries("RTX 3090", (0.0,), (0,), 172_800.0)]
                )
            },
            "a scenario with independent seeds",
        ),
    ],
)
def test_bad_input_is_rejected(given, message):
    usual = {"scenario": cg.day("quiet"), "policies": ["fifo", "spt"]}
    check_refused(lambda: cg.select(**usual | {"indifference": 1.0} | given), message)


test_invalid_arguments_and_observations_are_rejected = refusals(
    (
        lambda: kim_nelson(lambda name, n: 1.0, NAMES[:2], 1.0, better="most"),
        "unknown better 'most'; did you mean 'more'? (allowed: less, more)",
    ),
    (
        lambda: kim_nelson(
            lambda name, n: math.inf if name == "B" else 1.0, NAMES[:2], 1.0
        ),
        "observation 0 of B",
    ),
)
