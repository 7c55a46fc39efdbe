"""The checks that every input passes, the one error they raise, and old names."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

BILLION = 10**9
MOST_WHOLE = 1e15  # of a column: up to here floats are exact
MOST_SHOWN = 400  # characters of a value in a message


class InputError(ValueError):
    """A value that the model cannot use; the message names it and what is allowed."""


def require(ok: bool, name: str, value: object, allowed: str) -> None:
    """Raise InputError unless `ok`."""
    if not ok:
        raise InputError(f"{name}(={shown(value)}) must be {allowed}")


def shown(value: object) -> str:
    """Return a value as text, of a few lines at most."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        text = "a number with thousands of digits"
    return (
        text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN // 2]}...{text[-20:]}"
    )


def is_number(value: object) -> bool:
    """Return whether it is a finite real number, and not True or False."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the floating-point ones
        return False


def check_number(
    name: str,
    value: object,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float = math.inf,
) -> None:
    """Check a finite number > `above` or >= `least`, if set, and <= `most`."""
    if above is not None:
        require(
            is_number(value) and value > above,  # type: ignore[operator]
            name,
            value,
            f"a number > {above:g}",
        )
    elif least is not None:
        require(
            is_number(value) and value >= least,  # type: ignore[operator]
            name,
            value,
            f"a number >= {least:g}",
        )
    else:
        require(is_number(value), name, value, "a finite number")
    require(value <= most, name, value, f"at most {most:g}")  # type: ignore[operator]


def check_whole(
    name: str, value: object, *, least: int, most: float | None = None
) -> None:
    """Check a whole number from `least` to `most`; counts (from 1) up to a billion."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    require(
        whole and value >= least,  # type: ignore[operator]
        name,
        value,
        f"a whole number >= {least}",
    )
    most = (BILLION if least > 0 else math.inf) if most is None else most
    require(value <= most, name, value, f"at most {most:,}")  # type: ignore[operator]


def entries_of(name: str, value: object, what: str) -> tuple[Any, ...]:
    """Return the entries of a list, but not of a text, as a tuple of Python values."""
    require(
        isinstance(value, Iterable) and not isinstance(value, (str, bytes)),
        name,
        value,
        what,
    )
    return tuple(python_number(entry) for entry in value)  # type: ignore[attr-defined]


def python_number(value: Any) -> Any:
    """Return a number of NumPy as one of Python; all else is unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def numbers(
    name: str, value: object, kind: Any, allowed: str = "numbers"
) -> np.ndarray[Any, Any]:
    """Return a new array; InputError for texts and rows of different length."""
    try:
        return np.array(value, kind)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name}(={shown(value)}) must be {allowed}") from None


def set_columns(made: Any, kinds: Mapping[str, Any], row: str = "job") -> None:
    """Make columns of a frozen dataclass arrays of their kinds, of equal length.

    row: what an entry is of, for messages.
    """
    number = None
    for name, kind in kinds.items():
        values = numbers(name, getattr(made, name), kind, f"numbers, one per {row}")
        number = values.size if number is None else number
        allowed = f"({number},), one per {row}"
        require(values.shape == (number,), f"shape of {name}", values.shape, allowed)
        object.__setattr__(made, name, values)


def order_columns(made: Any, names: Iterable[str], order: np.ndarray[Any, Any]) -> None:
    """Put columns of a frozen dataclass, arrays or tuples, and its tags in an order."""
    for name in names:
        column = getattr(made, name)
        ordered = (
            tuple(map(column.__getitem__, order))
            if type(column) is tuple
            else column[order]
        )
        object.__setattr__(made, name, ordered)
    made.tags.check(len(order))
    object.__setattr__(made, "tags", made.tags.chosen(order))


def check_entries(
    name: str,
    values: np.ndarray[Any, Any],
    called: Callable[[int], str] = "job {}".format,
    *,
    above: float | None = None,
    least: float = 0,
    whole: bool = False,
) -> None:
    """Check each entry of a column; called: what an entry is of, by number from 1."""
    right = np.isfinite(values) & (values >= least if above is None else values > above)
    allowed = f"a number >= {least}" if above is None else f"a number > {above}"
    if whole:
        right &= (values == np.floor(values)) & (values <= MOST_WHOLE)
        allowed = f"a whole number from {least} to {MOST_WHOLE:g}"
    refuse(
        ~right,
        lambda n: f"{name} of {called(n + 1)}(={values[n].item()!r}) must be {allowed}",
    )


def refuse(wrong: npt.ArrayLike, told: Callable[..., str]) -> None:
    """Raise InputError for the first wrong entry; told: its message, from indices."""
    for place in np.argwhere(wrong)[:1].tolist():
        raise InputError(told(*place))


T = TypeVar("T")


def read_as(read: Callable[[str], T], text: str, told: str) -> T:
    """Return what `read` makes of a text; InputError with `told` if it fails."""
    try:
        return read(text)
    except (KeyError, ValueError):
        raise InputError(told) from None


def tried(read: Callable[[str], T], text: str) -> T | None:
    """Return what `read` makes of a text; None if it fails."""
    with suppress(ValueError):
        return read(text)
    return None


def needed(module: str, told: str) -> Any:
    """Return a module of an optional package; InputError with `told` if missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(told) from error


def check_one_of(what: str, name: object, allowed: Iterable[str]) -> None:
    """Check one of the names `allowed`; the message suggests the nearest."""
    allowed = list(dict.fromkeys(allowed))
    if name in allowed:
        return
    raise InputError(
        f"unknown {what} {name!r}{nearest(str(name), allowed)}"
        f" (allowed: {', '.join(allowed) or 'none'})"
    )


def nearest(name: str, allowed: Iterable[str]) -> str:
    """Return the end of a message that suggests the nearest of names, if any."""
    near = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


class RenamedError(InputError, AttributeError):
    """A name of the last release; the message has the new name."""


class Renamed:
    """An attribute of the last release: using it raises an error with its new name."""

    def __init__(self, now: str) -> None:
        self.now = now

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"{owner.__name__}.{name}"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise RenamedError(f"{self.name} is now {self.now}")

    def __set__(self, instance: object, value: object) -> None:
        raise RenamedError(f"{self.name} is now {self.now}")
