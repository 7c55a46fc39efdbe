"""`claim`: a sentence is checked against the results. `same`: results are compared."""

import math

import pytest
from support import refusals

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.exercises.exercise import ClaimError, same

LESS = cg.statistics.mean([-1.0, -1.2, -1.1, -1.3])
AROUND_0 = cg.statistics.mean([-1.0, 1.2, -1.1, 1.3])


@pytest.mark.parametrize(
    ("found", "bounds"),
    [
        (LESS, {"below": 0}),
        (LESS, {"above": -2, "below": -0.5}),
        (AROUND_0, {"above": -5, "below": 5}),  # no difference that would matter
        (8, {"equal": 8}),
        (13.6, {"above": 13, "below": 15}),
    ],
)
def test_a_true_claim_is_printed_with_its_number(found, bounds):
    assert claim("it is so", found, **bounds).startswith("checked: it is so (")


@pytest.mark.parametrize(
    ("found", "bounds"),
    [
        (LESS, {"above": 0}),  # the other sign
        (LESS, {"below": -1.1}),  # the mean is, the interval is not
        (AROUND_0, {"below": 1}),
        (AROUND_0, {"above": 0}),
        (cg.statistics.mean([0.0, 0.0]), {"below": 0}),  # the bound itself is excluded
        (0.0, {"below": 0}),
        (8, {"equal": 9}),
        (math.nan, {"below": 1}),
        (math.nan, {"equal": math.nan}),
        (cg.statistics.mean([1.0]), {"above": 0}),  # no interval
    ],
)
def test_a_false_claim_is_an_error(found, bounds):
    with pytest.raises(ClaimError, match=r"false: it is so \("):
        claim("it is so", found, **bounds)


def test_the_line():
    assert (
        claim("EDF waits less", LESS, below=0)
        == "checked: EDF waits less (-1.15 ± 0.21: below 0)"
    )
    assert claim("two", 2, above=1, below=3) == "checked: two (2: above 1, below 3)"
    assert claim("yes", True, equal=True) == "checked: yes"
    with pytest.raises(ClaimError, match=r"^false: no$"):
        claim("no", False, equal=True)


test_a_sentence_without_a_claim_is_none = refusals(
    (
        lambda: claim("what?", 1.0),
        r"claim\(='what\?'\) must be given together with above, below",
    )
)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ([math.inf, 2.0], ""),
        ([math.inf, 2 + 1e-6], ""),
        ([math.inf, 3.0], "[inf, 3] comes out, it should be [inf, 2]"),
        ([5.0, 2.0], "[5, 2] comes out, it should be [inf, 2]"),
        ([-math.inf, 2.0], "[-inf, 2] comes out, it should be [inf, 2]"),
    ],
)
def test_an_infinite_number_does_not_widen_the_tolerance_of_others(answer, fault):
    assert same(lambda: [math.inf, 2.0])(lambda: answer) == fault
