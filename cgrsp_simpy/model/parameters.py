"""Policies from text: "rh:reserve=2,gate=0.9" becomes a name and keyword arguments, "own.py:oldest"
a function of a file.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from cgrsp_simpy.model.checks import InputError, check_one_of, require
from cgrsp_simpy.model.files import check_named
from cgrsp_simpy.model.policy import Named, is_policy

Made = TypeVar("Made")

READERS: dict[type, tuple[Callable[[str], Any], str]] = {
    bool: ({"true": True, "false": False}.__getitem__, "true or false"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    str: (str, "a text"),
}


def chosen(what: str, given: str | Made, factories: Mapping[str, Callable[..., Any]]) -> Made:
    """What a text names: "rh", "rh:reserve=2", "own.py:oldest"; a function is passed through.

    what: policy, scheduler and so on, for errors. Raises InputError for an unknown name, parameter
    or file, for a value that a parameter cannot have, and for what is neither text nor function.
    """
    if isinstance(given, Named):
        return cast(Made, chosen(what, given.policy, factories))
    if not isinstance(given, str):
        if not callable(given):
            raise InputError(f"{what}(={given!r}) must be a name or a function of a view")
        return given
    named = from_file(what, given) if in_file(given) else made(what, given, factories)
    return cast(Made, named)


def in_file(text: str) -> bool:
    """Whether a text names a function of a file."""
    return text.partition(":")[0].endswith(".py")


def from_file(what: str, text: str) -> Callable[..., Any]:
    """The function that "own.py:oldest" names; raises InputError if there is none, or the file
    cannot be loaded.
    """
    name, _, function = text.partition(":")
    check_named(name)
    path, module_name = Path(name), f"cgrsp_simpy_rules.{Path(name).stem}"
    if not path.is_file():
        raise InputError(f"{what} file {name!r} does not exist")
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None
    # dataclasses look their module up
    module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, too
        raise InputError(
            f"{what} file {name!r} cannot be loaded: {type(error).__name__}: {error}"
        ) from None
    own = [
        key for key, value in vars(module).items() if callable(value) and not key.startswith("_")
    ]
    check_one_of(f"function in {path}", function, own)
    return cast(Callable[..., Any], getattr(module, function))


def made(what: str, text: str, factories: Mapping[str, Callable[..., Any]]) -> Any:
    """What a factory makes of a text such as "rh" or "rh:reserve=2"; what: policy, scheduler and
    so on, for errors.

    Raises InputError for an unknown name or parameter, or a value that is not of the kind of the
    parameter's default.
    """
    name = text.partition(":")[0]
    check_one_of(what, name, factories)
    if is_policy(factories[name]):
        require(text == name, what, text, f"{name}, which has no parameters")
        return factories[name]
    return factories[name](**parameters(what, text, factories[name]))


def parameters(
    what: str, text: str, factory: Callable[..., Any], but: Iterable[str] = ()
) -> dict[str, Any]:
    """Keyword arguments for a factory from "name:a=1,b=true", each of the kind of its default.

    but: arguments of the factory that a text cannot give. Raises InputError as `made` does.
    """
    name, _, rest = text.partition(":")
    if not rest:
        return {}
    own = {
        key: value for key, value in inspect.signature(factory).parameters.items() if key not in but
    }
    given: dict[str, Any] = {}
    for part in rest.split(","):
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
