"""Declared parameters: accepted and rejected values, and unchanged class behaviour."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import pytest
from support import check_refused, refusals

from cgrsp_simpy.base.checks import InputError, check_whole, require
from cgrsp_simpy.base.parameters import (
    Count,
    Entries,
    Fraction,
    Hour,
    NotNegative,
    Positive,
    Shares,
    UpToInfinity,
    checked,
    declared,
    listed,
    meanings,
    parameter,
    rule,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

Even = Annotated[int, rule("an even number", lambda value: value % 2 == 0)]


Span = Annotated[tuple[Positive, Positive], listed("a pair of numbers", 2)]


@declared("{} of {name}")
class Oven:
    """An oven.

    References
    ----------
    None.
    """

    name: str = parameter("What it is called.")
    share: Fraction = parameter("Share of the bread.", default=0.5)
    warm_s: Positive | None = parameter("Until it is warm, seconds.", default=None)
    fuel: Literal["wood", "gas"] = parameter("What it burns.", default="gas")
    steps: Entries[NotNegative] = parameter("How it heats.", default=())
    heat: NotNegative | Entries[NotNegative] = parameter("How hot it is.", default=1)
    fan: bool = parameter("Whether it has one.", default=False)
    trays: Count = parameter("As many as fit.", default=1)
    mix: Shares | None = parameter("Shares of the breads.", default=None)
    open_h: Hour = parameter("When it is opened.", default=0)
    span: Span = parameter("From when to when.", default=(1, 2))
    most: UpToInfinity = parameter("Most loaves.", default=0)
    pairs: Even = parameter("Loaves.", default=2)

    def __post_init__(self):
        require(self.trays != 13, "trays", self.trays, "another number")
        if self.trays == 14:
            raise ValueError("a fault of the program")
        assert self.trays != 15, "another fault"


@declared()
class Kitchen:
    """A kitchen."""

    first: Oven
    others: Entries[Oven] = ()


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("warm_s", 8, 8),
        ("warm_s", 8.0, 8.0),
        ("warm_s", np.float64(8), 8.0),
        ("warm_s", np.int64(8), 8),
        ("warm_s", None, None),
        ("trays", np.int64(8), 8),
        ("steps", [1, 2.0, np.float64(3), np.int64(4)], (1, 2.0, 3.0, 4)),
        ("steps", np.arange(2.0), (0.0, 1.0)),
        ("steps", iter([1]), (1,)),
        ("heat", [1, 2.0], (1, 2.0)),
        ("most", np.inf, np.inf),
        ("fan", np.bool_(True), True),
        ("mix", [0.25, 0.75], (0.25, 0.75)),
    ],
)
def test_a_value_stays_what_it_is_and_a_number_of_numpy_becomes_pythons(
    name, value, kept
):
    assert repr(getattr(Oven("small", **{name: value}), name)) == repr(kept)


test_an_invalid_value_gives_a_one_line_error = refusals(
    ({"share": 2}, "share of small(=2) must be a number from 0 to 1"),
    ({"warm_s": 0}, "warm_s of small(=0) must be a number > 0"),
    ({"warm_s": True}, "warm_s of small(=True) must be a number > 0"),
    ({"warm_s": "60"}, "warm_s of small(='60') must be a number > 0"),
    ({"warm_s": np.nan}, "warm_s of small(=nan) must be a number > 0"),
    ({"warm_s": np.inf}, "warm_s of small(=inf) must be a number > 0"),
    ({"trays": 8.0}, "trays of small(=8.0) must be a whole number >= 1"),
    ({"trays": True}, "trays of small(=True) must be a whole number >= 1"),
    (
        {"trays": 10**10},
        "(=10000000000) must be a whole number >= 1, at most 1,000",
    ),
    ({"open_h": 24}, "(=24) must be an hour of day, from 0 to below 24"),
    ({"fan": 1}, "fan of small(=1) must be true or false"),
    ({"steps": "12"}, "steps of small(='12') must be a list"),
    ({"steps": [1, -2]}, "steps[1] of small(=-2) must be a number >= 0"),
    ({"heat": [1, -2]}, "heat[1] of small(=-2) must be a number >= 0"),
    ({"heat": "hot"}, "heat of small(='hot') must be a number >= 0 or a list"),
    ({"mix": [0.5, 0.6]}, "(=[0.5, 0.6]) must be shares that sum to 1 (here 1.1)"),
    ({"mix": [0.5, "x"]}, "mix[1] of small(='x') must be a number from 0 to 1"),
    ({"span": 3}, "span of small(=3) must be a pair of numbers"),
    ({"span": [3]}, "span of small(=[3]) must be a pair of numbers (here 1)"),
    ({"span": [3, 0]}, "span[1] of small(=0) must be a number > 0"),
    ({"most": np.nan}, "most of small(=nan) must be a number >= 0"),
    ({"pairs": 3}, "pairs of small(=3) must be an even number"),
    ({"name": 3}, "name of Oven(=3) must be a string"),
    ({"trays": 13}, "trays(=13) must be another number"),
    (
        {"fuel": "wod"},
        "unknown fuel of small 'wod'; did you mean 'wood'? (allowed: wood, gas)",
    ),
    call=lambda values: Oven(**{"name": "small", **values}),
)


test_a_number_beyond_the_float_range_is_rejected = refusals(
    (lambda: Oven("small", warm_s=10**400), ["must be a number > 0"])
)


def test_parts_are_kept_unchanged_and_others_rejected():
    oven = Oven("small")
    assert Kitchen(oven, [oven]).others[0] is oven
    check_refused(lambda: Kitchen(3), ["first(=3) must be of type Oven"])
    check_refused(
        lambda: Kitchen(oven, [oven, 4]), ["others[1](=4) must be of type Oven"]
    )


@pytest.mark.parametrize(("trays", "error"), [(14, ValueError), (15, AssertionError)])
def test_a_fault_of_the_program_is_not_an_error_of_the_user(trays, error):
    with pytest.raises(error, match="fault") as caught:
        Oven("small", trays=trays)
    assert not isinstance(caught.value, InputError)


@pytest.mark.parametrize(
    "call", [Oven, lambda: Oven("a", tray=2), lambda: Oven("a", name="b")]
)
def test_arguments_that_do_not_fit_the_signature_are_type_errors(call):
    check_refused(call, "argument", TypeError)


def test_a_declared_class_is_a_frozen_dataclass():
    oven = Oven("small", 0.2, trays=3)
    same = [pickle.loads(pickle.dumps(oven)), copy.deepcopy(oven)]
    assert [*same, dataclasses.replace(oven, trays=3)] == [oven] * 3
    assert len({oven, *same}) == 1
    assert repr(oven).startswith("Oven(name='small', share=0.2, warm_s=None, fuel=")
    with pytest.raises(dataclasses.FrozenInstanceError):
        oven.trays = 4
    with pytest.raises(InputError):
        dataclasses.replace(oven, trays=0)


@checked
def bake(
    loaves: Count, heat: NotNegative | None = None, what: Hashable = "bread"
) -> object:
    return loaves, heat, what


def test_the_arguments_of_a_function_are_checked_too():
    assert bake(np.int64(3), heat=np.float64(0.5), what=7) == (3, 0.5, 7)
    assert [*inspect.signature(bake).parameters] == ["loaves", "heat", "what"]
    check_refused(lambda: bake(0), ["loaves(=0) must be a whole number >= 1"])
    check_refused(lambda: bake(1, heat=-1), ["heat(=-1) must be a number >= 0"])
    with pytest.raises(TypeError, match="loaves"):
        bake()


SCRIPT = """
import sys, cloudpickle
from cgrsp_simpy.base.parameters import Count, checked, declared

@declared()
class Mine:
    n: Count = 1

@checked
def twice(n: Count):
    return 2 * n

sys.stdout.buffer.write(cloudpickle.dumps((Mine(twice(1)), twice)))
"""
READER = """
import pickle, sys
mine, twice = pickle.load(sys.stdin.buffer)
print(mine.n, twice(2))
for call in (type(mine), twice):
    try:
        call(0)
    except ValueError as error:
        print(error)
"""


@pytest.mark.slow
def test_declarations_of_a_script_reach_other_processes():
    command = [sys.executable, "-c"]
    sent = subprocess.run([*command, SCRIPT], capture_output=True, check=True).stdout
    done = subprocess.run([*command, READER], input=sent, capture_output=True)
    lines = done.stdout.decode().splitlines()
    assert (lines[0], len(lines)) == ("2 4", 3)
    assert all(line.startswith("n(=0) must be a whole number") for line in lines[1:])


@checked
def mix(
    parts: Annotated[Mapping[str, Fraction], rule("parts, not none", bool)],
    names: Annotated[Sequence[str], rule("two at most", lambda names: len(names) < 3)],
    exact: bool = False,
) -> tuple[object, ...]:
    return parts, names, exact


def test_entries_of_a_mapping_and_of_a_sequence_are_checked():
    assert mix({"a": np.float64(0.5)}, ["a", "b"]) == ({"a": 0.5}, ("a", "b"), False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({}, []), "parts(={}) must be parts, not none"),
        ((3, []), "parts(=3) must be a mapping"),
        (({"a": 2}, []), "parts(=2) must be a number from 0 to 1"),
        (({3: 0.5}, []), "parts[3](=3) must be a string"),
        (({"a": 1}, "ab"), "names(='ab') must be a list"),
        (({"a": 1}, ["a", 3]), "names[1](=3) must be a string"),
        (({"a": 1}, ["a", "b", "c"]), "names(=['a', 'b', 'c']) must be two at most"),
        (({"a": 1}, [], "no"), "exact(='no') must be true or false"),
    ],
)
def test_a_wrong_entry_or_flag_of_a_function_is_rejected(arguments, message):
    with pytest.raises(InputError) as refused:
        mix(*arguments)
    assert str(refused.value) == message


def test_a_field_keeps_its_metadata_with_its_meaning():
    @declared()
    class Queue:
        order: str = parameter("Order.", default="fcfs", metadata={"policy": True})

    [field] = dataclasses.fields(Queue)
    assert field.metadata == {"policy": True, "meaning": "Order."}


def test_a_class_derived_from_a_declared_one_is_checked_too():
    class Grill(Oven):
        pass

    @dataclasses.dataclass(frozen=True)
    class Smoker(Oven):
        wood: str = "oak"

    for cls in (Grill, Smoker):
        assert Kitchen(cls("hot")).first.name == "hot"
        with pytest.raises(InputError, match="trays of hot"):
            cls("hot", trays=0)
        with pytest.raises(InputError, match="another number"):
            cls("hot", trays=13)


def test_signature_and_docstring_show_the_parameters():
    items = inspect.signature(Oven).parameters
    assert [*items] == [item.name for item in dataclasses.fields(Oven)]
    assert items["name"].default is inspect.Parameter.empty
    assert items["share"].default == 0.5
    assert meanings(Oven)["trays"] == "As many as fit."
    lines = Oven.__doc__.splitlines()
    assert lines[:4] == ["An oven.", "", "Parameters", "----------"]
    assert "share : Fraction\n    Share of the bread." in Oven.__doc__
    assert lines[-4:] == ["", "References", "----------", "None."]


@pytest.mark.parametrize(("most", "bounds"), [(9, {"most": 9}), (10**9, {})])
def test_the_greatest_whole_number_is_allowed(most, bounds):
    check_whole("seats", most, least=1, **bounds)
    check_whole("seed", 10**9 + 1, least=0)
    check_refused(
        lambda: check_whole("seats", most + 1, least=1, **bounds), f"at most {most:,}"
    )
