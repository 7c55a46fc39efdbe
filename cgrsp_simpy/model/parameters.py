"""Parameters from text: "rh:reserve=2,gate=0.9" becomes a name and keyword arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from cgrsp_simpy.model.checks import InputError, check_one_of

__all__ = ["made", "parameters"]

Made = TypeVar("Made")

READERS: dict[type, tuple[Callable[[str], Any], str]] = {
    bool: ({"true": True, "false": False}.__getitem__, "true or false"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    str: (str, "a text"),
}


def made(what: str, text: str, factories: Mapping[str, Callable[..., Made]]) -> Made:
    """What a factory makes of a text such as "rh" or "rh:reserve=2"; what: policy, scheduler and so on, for errors.

    Raises InputError for an unknown name or parameter, or a value that is not of the kind of the parameter's default.
    """
    name = text.partition(":")[0]
    check_one_of(what, name, factories)
    return factories[name](**parameters(what, text, factories[name]))


def parameters(what: str, text: str, factory: Callable[..., Any], but: Iterable[str] = ()) -> dict[str, Any]:
    """Keyword arguments for a factory from "name:a=1,b=true", each of the kind of its default.

    but: arguments of the factory that a text cannot give. Raises InputError as `made` does.
    """
    name, _, rest = text.partition(":")
    own = {key: value for key, value in inspect.signature(factory).parameters.items() if key not in but}
    given: dict[str, Any] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"{what} {text!r}: {part!r} must be of the form parameter=value")
        check_one_of(f"parameter of {what} {name}", key, own)
        if key in given:
            raise InputError(f"{what} {text!r}: {key} is given twice")
        read, allowed = READERS[type(own[key].default)]
        try:
            given[key] = read(value)
        except (KeyError, ValueError):
            raise InputError(f"{what} {text!r}: {key}(={value!r}) must be {allowed}") from None
    return given
