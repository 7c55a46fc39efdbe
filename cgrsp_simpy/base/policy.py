"""Requests that policies return, their errors, and policies from text.

"rh:reserve=2,gate=0.9" becomes a name and keyword arguments; "own.py:oldest" becomes a
function of a file.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from functools import cache
from pathlib import Path
from traceback import extract_tb
from typing import Any, NamedTuple, TypeVar, cast

import cloudpickle

from cgrsp_simpy.base.checks import (
    InputError,
    check_one_of,
    error_text,
    read_as,
    require,
    shown,
)
from cgrsp_simpy.base.files import check_named

Decided = TypeVar("Decided", bound=Callable[..., Any])


class PolicyError(RuntimeError):
    """Error for a policy's decision that cannot be carried out or halts the run."""


class AssignmentError(ValueError):
    """Error for an assignment that cannot be carried out.

    It follows "assigned job 7 to", as in "slot 9, which is not a slot of the fleet".
    """


class Wake(NamedTuple):
    """Request of a policy to be called again at at_s at the latest.

    at_s: seconds on the run's clock, later than now.
    """

    at_s: float


class Suspend(NamedTuple):
    """Request to suspend a running job, if the scenario allows it.

    The job releases its resources and waits again; its completed work is kept. The
    policy is called again in the same instant. A job cannot be suspended in the instant
    of its dispatch.
    """

    job: Any


class Named(NamedTuple):
    """A policy, or its text, with a label."""

    name: str
    policy: Any


def policy(
    *,
    asks_on_arrival: bool = False,
    suspends: bool = False,
    needs: Sequence[str] = (),
    keep_s: Callable[[Any, Any], float] | None = None,
) -> Callable[[Decided], Decided]:
    """Declare in advance what the simulation needs to know of a policy.

    A policy is a function of a view; a callable object has attributes of these names.
    asks_on_arrival: call it at every arrival, even if nothing is free. suspends: it may
    return Suspend requests, so it is also called at arrivals. needs: log columns
    without which it cannot decide. keep_s: for rented slots, keep_s(view, slot) returns
    how long an instance is kept warm, seconds.
    """

    def declared(function: Decided) -> Decided:
        flags = {"asks_on_arrival": asks_on_arrival or suspends, "suspends": suspends}
        for name, value in {**flags, "needs": tuple(needs), "keep_s": keep_s}.items():
            setattr(function, name, value)
        return function

    return declared


class WrapsPolicy:
    """Base of policies that call another, with the declarations of that policy."""

    policy: Any

    def __getattr__(self, name: str) -> Any:
        if name == "policy":  # not set yet, while copying
            raise AttributeError(name)
        return getattr(self.policy, name)


class HoldsPolicies:
    """Base of classes that pickle any policies and scenarios, by value if necessary."""

    def __getstate__(self) -> bytes:
        return bytes(cloudpickle.dumps(vars(self)))

    def __setstate__(self, state: bytes) -> None:
        vars(self).update(cloudpickle.loads(state))


def is_policy(value: Callable[..., Any]) -> bool:
    """Return whether a function is a policy, not a factory (all arguments optional)."""
    positional = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    return any(
        parameter.kind in positional and parameter.default is inspect.Parameter.empty
        for parameter in inspect.signature(value).parameters.values()
    )


Created = TypeVar("Created")

READERS: dict[type, tuple[Callable[[str], Any], str]] = {
    bool: ({"true": True, "false": False}.__getitem__, "true or false"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    str: (str, "a string"),
}


def chosen(
    what: str, policy: str | Created, factories: Mapping[str, Callable[..., Any]]
) -> Created:
    """Return the policy that a text describes; a class is called, a function unchanged.

    Texts: "rh", "rh:reserve=2", "own.py:oldest". what: noun for errors, such as policy
    or scheduler. Raises InputError for an unknown name, parameter or file, for an
    invalid value of a parameter, for a value that is neither text nor a function, and
    for a class that cannot be called without arguments.
    """
    value: Any = policy.policy if isinstance(policy, Named) else policy
    if isinstance(value, str):
        if not in_file(value):
            return cast(Created, create(what, value, factories))
        value = from_file(what, value)
    if isinstance(value, type):
        try:
            value = value()
        except Exception as error:
            raise InputError(
                f"{what}(={value.__name__}) must be a class that can be called without"
                f" arguments; it raised {error_text(error)}"
            ) from None
    if not callable(value):
        raise InputError(
            f"{what}(={shown(value)}) must be a name or a function of a view"
        )
    return cast(Created, value)


@cache
def offered(module: str) -> dict[str, Any]:
    """Return the schedulers that installed packages provide for a module, by name.

    They are EntryPoints of the group "cgrsp_simpy.MODULE", imported when first used.
    """
    from importlib.metadata import entry_points  # loads Python's e-mail package

    points = entry_points(group=f"cgrsp_simpy.{module}")
    return {entry.name: entry for entry in sorted(points, key=lambda point: point.name)}


def in_file(text: str) -> bool:
    """Return whether a text names a function in a file."""
    return text.partition(":")[0].endswith(".py")


@contextmanager
def errors_of(text: str) -> Iterator[None]:
    """Convert an error in the file that a text names to an InputError with its line."""
    try:
        yield
    except (InputError, PolicyError):
        raise
    except Exception as error:
        if not in_file(text):
            raise
        path = Path(text.partition(":")[0]).resolve()
        frames = extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if Path(frame.filename) == path]
        where = f", line {lines[-1]}" if lines else ""
        raise InputError(f"{text}{where}: {error_text(error)}") from error


def from_file(what: str, text: str) -> Callable[..., Any]:
    """Load the function that a text such as "own.py:oldest" names, or InputError."""
    name, _, function = text.partition(":")
    check_named(name)
    path, module_name = Path(name), f"cgrsp_simpy_rules.{Path(name).stem}"
    if not path.is_file():
        raise InputError(f"{what} file {shown(name)} does not exist")
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None
    folder = str(path.parent.resolve())
    if folder not in sys.path:  # the file may import modules next to it
        sys.path.append(folder)
    # dataclasses look their module up
    module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
    try:
        with chdir(os.curdir):  # the command's paths are relative to its own folder
            spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, too
        raise InputError(
            f"{what} file {shown(name)} cannot be loaded: {error_text(error)}"
        ) from None
    functions = [
        key
        for key, value in vars(module).items()
        if callable(value) and not key.startswith("_")
    ]
    check_one_of(f"function in {path}", function, functions)
    return cast(Callable[..., Any], getattr(module, function))


def create(what: str, text: str, factories: Mapping[str, Callable[..., Any]]) -> Any:
    """Return the result of a factory for a text such as "rh" or "rh:reserve=2".

    what: noun for errors, such as policy or scheduler. Raises InputError for an unknown
    name or parameter, or a value whose type is not that of the parameter's default.
    """
    require(isinstance(text, str), what, text, "a string")
    name = text.partition(":")[0]
    check_one_of(what, name, factories)
    if is_policy(factories[name]):
        require(text == name, what, text, f"{name}: it has no parameters")
        return factories[name]
    return factories[name](**parameters(what, text, factories[name]))


def parameters(
    what: str, text: str, factory: Callable[..., Any], but: Iterable[str] = ()
) -> dict[str, Any]:
    """Parse keyword arguments of a factory from a text such as "name:a=1,b=true".

    Values have the types of the defaults. but: arguments that a text cannot set, like
    those whose default has no type in READERS. Raises InputError as `create` does.
    """
    name, _, rest = text.partition(":")
    if not rest:
        return {}
    defaults = {
        key: type(value.default)
        for key, value in inspect.signature(factory).parameters.items()
        if key not in but and type(value.default) in READERS
    }

    kind = typed(f"parameter of {what} {name}", defaults)
    return pairs(rest.split(","), kind, "parameter=value", f"{what} {shown(text)}: ")


def typed(
    what: str, types: Mapping[str, type]
) -> Callable[[str], tuple[Callable[[str], Any], str]]:
    """Return the function from a name to its reader, for `pairs`.

    what: the kind of name, for the InputError of one that is not in types.
    """

    def kind(name: str) -> tuple[Callable[[str], Any], str]:
        check_one_of(what, name, types)
        return READERS[types[name]]

    return kind


def pairs(
    parts: Iterable[str],
    kind: Callable[[str], tuple[Callable[[str], Any], str]],
    form: str,
    where: str = "",
) -> dict[str, Any]:
    """Parse parts such as "a=1" to values by name.

    kind: function from a name to its parser and what is allowed; InputError for an
    unknown name. form, where: for errors, the syntax of a part and its location.
    """
    values: dict[str, Any] = {}
    for part in parts:
        name, equals, text = part.partition("=")
        if not equals:
            raise InputError(f"{where}{shown(part)} must be of the form {form}")
        if name in values:
            raise InputError(f"{where}{name} is given twice")
        read, allowed = kind(name)
        if not text:
            raise InputError(
                f"{where}{shown(part)} must be of the form {form}, {allowed}"
            )
        values[name] = read_as(
            read, text, f"{where}{name}(={shown(text)}) must be {allowed}"
        )
    return values
