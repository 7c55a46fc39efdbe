"""Options from the parameters of classes and functions."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest
from support import check_refused

from cgrsp_simpy.base.parameters import (
    Count,
    Entries,
    Finite,
    declared,
    parameter,
)
from cgrsp_simpy.cli.fields import (
    add_fields,
    fields_of,
    given_of,
    named_pairs,
    pairs_of,
)


@declared()
class Oven:
    """An oven."""

    heat_c: Finite = parameter("Degrees at which it bakes.", default=180.0)
    least_c: Finite = parameter(
        "Degrees below which it does not; 100 % of them.", default=50.0
    )
    trays: Count | None = parameter("As many as fit.", default=None)
    fan: bool = parameter("Whether it has one.", default=False)
    name: str | Callable[[], str] = parameter("What it is called.", default="oven")
    steps: Entries[Finite] = parameter("How it heats.", default=(1.0,))
    other: object = None


@declared()
class Kitchen:
    """A kitchen."""

    oven: Oven = parameter("What is in it.")
    people: int = parameter("Who works there.", default=2)


def test_name_kind_default_and_help_are_the_parameters_own():
    found = fields_of(Oven)
    assert list(found) == ["heat_c", "least_c", "trays", "fan", "name", "steps"]
    assert [item.kind for item in found.values()] == [
        float,
        float,
        int,
        bool,
        str,
        tuple,
    ]
    told = "Degrees below which it does not; 100 % of them."
    assert found["least_c"].help == f"{told} (default: 50)"
    assert found["trays"].help == "As many as fit."
    assert found["fan"].help == "Whether it has one."


def test_what_a_docstring_says_in_prose_is_told_too():
    def bake(heat_c: float, trays: int = 2) -> None:
        """Bake. heat_c: degrees [1]_ of
        an `Oven`. trays: how many. Raises InputError for none.
        """

    found = fields_of(bake)
    assert [item.help for item in found.values()] == [
        "degrees of an Oven.",
        "how many. (default: 2)",
    ]


def test_a_dataclass_is_one_option_of_pairs_which_may_be_given_again():
    parser = argparse.ArgumentParser()
    add_fields(parser, Kitchen)
    given = parser.parse_args("--oven heat_c=200,fan=yes --oven steps=1:2.5".split())
    assert given_of(given, "oven", "people") == {
        "oven": {"heat_c": 200.0, "fan": True, "steps": (1.0, 2.5)}
    }
    assert "100 % of them" in " ".join(parser.format_help().split())
    with pytest.raises(SystemExit):
        parser.parse_args("--oven trays=2 --oven trays=3".split())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("heat=3", "unknown name 'heat'; did you mean 'heat_c'?"),
        ("heat_c", "'heat_c' must be of the form name=value"),
        ("heat_c=", "'heat_c=' must be of the form name=value"),
        ("trays=1.5", "trays(='1.5') must be a whole number"),
        ("fan=maybe", "fan(='maybe') must be yes or no"),
        ("steps=1:x", "steps(='1:x') must be numbers, such as 1:2"),
        ("trays=1,trays=2", "trays is given twice"),
    ],
)
def test_pairs_that_cannot_be_are_told(text, said):
    check_refused(lambda: pairs_of(fields_of(Oven), text), [said])


@pytest.mark.parametrize(
    ("text", "name", "pairs"),
    [
        ("small", "small", {}),
        ("small:trays=3", "small", {"trays": 3}),
        ("C:/oven.csv:trays=3,name=x", "C:/oven.csv", {"trays": 3, "name": "x"}),
        ("a:b", "a:b", {}),
    ],
)
def test_a_name_or_a_file_may_have_pairs_behind_it(text, name, pairs):
    assert named_pairs(fields_of(Oven), text) == (name, pairs)
