"""Checks of all inputs, the error that they raise, and errors for old names."""

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
MOST_WHOLE = 1e15  # largest integer in a column, exact as a float
MOST_SHOWN = 400  # characters of a value in a message
MOST_DIGITS = 40  # digits of an integer shown in a message


class InputError(ValueError):
    """Error for an invalid value; the message names the value and what is allowed."""


class WorkerError(RuntimeError):
    """Error for a worker process or executor that ended before completing its work."""


def require(ok: bool, name: str, value: object, allowed: str) -> None:
    """Raise InputError for the named value if `ok` is false."""
    if not ok:
        raise InputError(f"{name}(={shown(value)}) must be {allowed}")


def shown(value: object) -> str:
    """Return a string representation of a value, shortened if long."""
    if isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
        return f"a whole number of more than {MOST_DIGITS} digits"
    try:
        # arrays have several lines
        text = " ".join(map(str.strip, repr(value).splitlines()))
    except Exception:
        # Python writes no list that is nested deeply; the __repr__ of a user's class
        # may fail
        text = f"a {type(value).__name__}"
    return cut(text)


def cut(text: str) -> str:
    """Return a text, shortened in the middle if long."""
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[: MOST_SHOWN // 2]}...{text[-20:]}"


def error_text(error: BaseException) -> str:
    """Return the class and message of an error in user code, on one line."""
    try:
        return " ".join(f"{type(error).__name__}: {error}".split())
    except Exception:  # in the error's own __str__
        return type(error).__name__


def is_number(value: object) -> bool:
    """Return whether a value is a finite real number; a bool is not."""
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
) -> None:
    """Check that a value is a finite number > `above`, or >= `least`."""
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


def check_whole(
    name: str, value: object, *, least: int, most: float | None = None
) -> None:
    """Check for a whole number from `least` to `most`; for least=1 by default 1e9."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    require(
        whole and value >= least,  # type: ignore[operator]
        name,
        value,
        f"a whole number >= {least}",
    )
    if most is None:
        most = BILLION if least > 0 else math.inf
    require(value <= most, name, value, f"at most {most:,}")  # type: ignore[operator]


def entries_of(name: str, value: object, what: str) -> tuple[Any, ...]:
    """Return an iterable's entries as a tuple; InputError for a string."""
    require(
        isinstance(value, Iterable) and not isinstance(value, (str, bytes)),
        name,
        value,
        what,
    )
    return tuple(python_number(entry) for entry in value)  # type: ignore[attr-defined]


def python_number(value: Any) -> Any:
    """Convert a NumPy number to a Python number; return other values unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def numbers(
    name: str, value: object, kind: Any, allowed: str = "numbers"
) -> np.ndarray[Any, Any]:
    """Return a new array; InputError for strings and rows of different lengths."""
    try:
        return np.array(value, kind)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name}(={shown(value)}) must be {allowed}") from None


def set_columns(instance: Any, kinds: Mapping[str, Any], row: str = "job") -> None:
    """Convert columns of a frozen dataclass to arrays of given types and equal length.

    row: noun for what an entry describes, for messages.
    """
    number = None
    for name, kind in kinds.items():
        values = numbers(name, getattr(instance, name), kind, f"numbers, one per {row}")
        number = values.size if number is None else number
        require(
            values.shape == (number,),
            f"shape of {name}",
            values.shape,
            f"({number},), one per {row}",
        )
        object.__setattr__(instance, name, values)


def order_columns(
    instance: Any, names: Iterable[str], order: np.ndarray[Any, Any]
) -> None:
    """Reorder columns (arrays or tuples) of a frozen dataclass, and its tags."""
    for name in names:
        column = getattr(instance, name)
        ordered = (
            tuple(map(column.__getitem__, order))
            if type(column) is tuple
            else column[order]
        )
        object.__setattr__(instance, name, ordered)
    instance.tags.check(len(order))
    object.__setattr__(instance, "tags", instance.tags.chosen(order))


def check_entries(
    name: str,
    values: np.ndarray[Any, Any],
    called: Callable[[int], str] = "job {}".format,
    *,
    above: float | None = None,
    least: float = 0,
    whole: bool = False,
) -> None:
    """Check each entry of a column; called: returns the name of entry 1, 2, ..."""
    right = np.isfinite(values) & (values >= least if above is None else values > above)
    allowed = f"a number >= {least}" if above is None else f"a number > {above}"
    if whole:
        right &= (values == np.floor(values)) & (values <= MOST_WHOLE)
        allowed = f"a whole number from {least} to {MOST_WHOLE:g}"
    refuse(
        ~right,
        lambda n: f"{name} of {called(n + 1)}(={values[n].item()!r}) must be {allowed}",
    )


def refuse(wrong: npt.ArrayLike, message: Callable[..., str]) -> None:
    """Raise InputError for the first wrong entry; message: function of its indices."""
    for place in np.argwhere(wrong)[:1].tolist():
        raise InputError(message(*place))


T = TypeVar("T")


def read_as(read: Callable[[str], T], text: str, message: str) -> T:
    """Return `read(text)`; if that fails, raise InputError with the message."""
    try:
        return read(text)
    except (KeyError, ValueError):
        raise InputError(message) from None


def tried(read: Callable[[str], T], text: str) -> T | None:
    """Return `read(text)`, or None if that raises ValueError."""
    with suppress(ValueError):
        return read(text)
    return None


def needed(module: str, message: str) -> Any:
    """Import a module of an optional package; InputError with a message if missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(message) from error


def check_one_of(what: str, name: object, allowed: Iterable[str]) -> None:
    """Check that a name is in `allowed`; the error suggests the most similar name."""
    allowed = list(dict.fromkeys(allowed))
    if name in allowed:
        return
    raise InputError(
        f"unknown {what} {shown(name)}{nearest(str(name)[:MOST_SHOWN], allowed)}"
        f" (allowed: {', '.join(allowed) or 'none'})"
    )


def nearest(name: str, allowed: Iterable[str]) -> str:
    """Return a message ending that suggests the most similar allowed name, or ""."""
    near = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


class RenamedError(InputError, AttributeError):
    """Error for a name of the previous release; the message states the new name."""


class Renamed:
    """Attribute of the previous release; its use raises an error with the new name."""

    def __init__(self, now: str) -> None:
        self.now = now

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"{owner.__name__}.{name}"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise RenamedError(f"{self.name} is now {self.now}")

    def __set__(self, instance: object, value: object) -> None:
        raise RenamedError(f"{self.name} is now {self.now}")
