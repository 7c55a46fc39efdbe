"""Identity of a study: the plain values and user code on which it depends."""

from __future__ import annotations

import builtins
import copyreg
import dis
import functools
import hashlib
import importlib
import importlib.util
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from cgrsp_simpy.base.checks import InputError, require, shown
from cgrsp_simpy.base.files import table_of
from cgrsp_simpy.base.policy import from_file, in_file
from cgrsp_simpy.engine.policy_caller import is_library

LONG = 100  # longer lists of numbers or texts are replaced by a digest
PACKAGE = __name__.partition(".")[0]
NUMBERS = "biuf"  # kinds of arrays that are kept
EMPTY = CellType()  # an empty cell of a closure; others never equal it
GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")


class Identity:
    """Conversion of objects to plain JSON values that are equal only for equal objects.

    Objects become class and content. code: by name, a digest of each user function and
    class, from its compiled code (without comments), defaults, closure and used module
    values. Functions and classes among these have separate entries. Names in strings,
    as for eval, are not followed. data: long lists and arrays, by digest.
    """

    def __init__(self) -> None:
        self.code: dict[str, str] = {}
        self.data: dict[str, list[Any]] = {}
        self._names: dict[int, str] = {}
        # objects that are being described, outermost first
        self._open: list[object] = []
        # so that no other object gets the id of one that was described
        self._kept: list[object] = []
        # types -> function that describes their values
        self._kinds: dict[Any, Callable[[Any], Any]] = {
            bytes: digest,
            (set, frozenset): lambda many: sorted(map(self.of, many), key=json.dumps),
            MethodType: lambda bound: self._entries([bound.__func__, bound.__self__]),
            Enum: lambda member: [self.of(type(member)), member.name],
            (staticmethod, classmethod): lambda method: self.of(method.__func__),
            property: lambda item: self._entries([item.fget, item.fset, item.fdel]),
            functools.cached_property: lambda item: self.of(item.func),
        }

    def of(self, value: Any) -> Any:
        """Convert a value to plain values; InputError for an opaque object."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else ["float", str(value)]
        if isinstance(value, np.generic) and not isinstance(
            value, (np.longdouble, np.clongdouble)
        ):
            return self.of(value.item())
        if isinstance(value, (FunctionType, type, ModuleType)) or _is_builtin(value):
            return self._named(value)
        return self._within(value, self._held)

    def policy(self, value: Any) -> Any:
        """Convert a policy to plain values; "own.py:oldest" includes the function."""
        if type(value) is str and in_file(value):
            return [value, self.of(from_file("policy", value))]
        return self.of(value)

    def _within(self, value: Any, describe: Callable[[Any], Any]) -> Any:
        """Describe a value; return "itself" if the value is already being described."""
        if any(value is other for other in self._open):
            return "itself"
        self._open.append(value)
        try:
            return describe(value)
        finally:
            self._open.pop()

    def _held(self, value: Any) -> Any:
        """Describe the content of an object."""
        # a subclass, such as a masked array, holds more than its numbers
        if type(value) in (np.ndarray, np.memmap) and not value.dtype.hasobject:
            name = digest(np.ascontiguousarray(value).tobytes())
            if value.dtype.kind in NUMBERS:
                self.data[name] = value.ravel().tolist()
            return {"array": str(value.dtype), "shape": list(value.shape), "data": name}
        if type(value) in (list, tuple):
            return self._entries(value)
        if type(value) in (dict, MappingProxyType):
            return {self._key(key): self.of(entry) for key, entry in value.items()}
        for kinds, describe in self._kinds.items():
            if isinstance(value, kinds):
                return describe(value)
        # such as functools.cache; an object of a user's class holds more
        if hasattr(value, "__wrapped__") and home(type(value)) != "user":
            return self.of(value.__wrapped__)
        if is_dataclass(value) and home(type(value)) == "own":
            policies = {
                item.name for item in fields(value) if "policy" in item.metadata
            }
            held = {
                name: self.policy(part) if name in policies else self.of(part)
                for name, part in table_of(value).items()
            }
            return {"class": _name(type(value)), **held}
        return self._object(value)

    def _key(self, key: Any) -> str:
        return (
            key
            if type(key) is str
            else f"{type(key).__name__} {json.dumps(self.of(key))}"
        )

    def _entries(self, value: Sequence[Any]) -> Any:
        if len(value) > LONG and {type(entry) for entry in value} <= {int, float, str}:
            name = digest(repr(tuple(value)).encode())
            self.data[name] = list(value)
            return {"list": len(value), "data": name}
        return [self.of(entry) for entry in value]

    def _object(self, value: Any) -> Any:
        """Describe an object as pickle would copy it: its class and its content."""
        try:
            reducer = copyreg.dispatch_table.get(type(value))
            how = reducer(value) if reducer else value.__reduce_ex__(4)
        except Exception:  # a lock, a file, a generator
            raise InputError(
                "a results directory cannot identify this study: it uses"
                f" {shown(value)}"
            ) from None
        if isinstance(how, str):
            return [self.of(type(value)), how]
        make, arguments, state, *more = (*how, None)[: max(3, len(how))]
        plain: dict[str, Any] = {"class": self.of(type(value))}
        if make is copyreg.__newobj__:  # type: ignore[attr-defined]
            arguments = arguments[1:]  # the class
        else:
            plain["made by"] = self.of(make)
        state = _without_caches(type(value), state)
        held = [
            list(part) if isinstance(part, Iterator) else part
            for part in more
            if part is not None
        ]
        if arguments or held:
            plain["from"] = self.of([arguments, held])
        if type(state) is dict:
            return {**plain, **self.of(state)}
        return plain if state is None else {**plain, "state": self.of(state)}

    # ---- code ----

    def _named(self, value: Any) -> Any:
        """Name a function, class or module; add a digest of user code to `code`."""
        if id(value) in self._names:
            return self._names[id(value)]
        name = _name(value)
        if isinstance(value, ModuleType) or home(value) != "user":
            closure = self._within(value, self._closure)
            return [name, closure] if closure else name
        while name in self.code:
            name += "'"  # another of the same name, such as two lambdas
        self._names[id(value)], self.code[name] = name, ""
        self._kept.append(value)
        self.code[name] = digest(json.dumps(self._of_code(value)).encode())
        return name

    def _of_code(self, value: Any) -> Any:
        if isinstance(value, type):
            return self._of_class(value)
        if isinstance(value, FunctionType):
            return self._of_function(value)
        # written in C: the file that it is compiled to
        file = getattr(sys.modules.get(_module(value)), "__file__", None)
        if file is None:
            raise InputError(
                f"a results directory cannot identify this study: it uses {value!r},"
                " which is in no file"
            )
        return digest(Path(file).read_bytes())

    def _closure(self, value: Any) -> dict[str, Any]:
        return {name: self.of(part) for name, part in captured(value).items()}

    def _of_function(self, function: FunctionType) -> list[Any]:
        code, around = function.__code__, function.__globals__
        names, attributes, _ = names_in(code)
        return [
            self._compiled(code),
            self.of(
                [
                    function.__defaults__,
                    function.__kwdefaults__,
                    self._closure(function),
                    vars(function),
                ]
            ),
            {
                name: self._taken(around[name], attributes, ())
                for name in sorted(names)
                if name in around
            },
            [self._taken(module, attributes, ()) for module in imported_by(function)],
        ]

    def _compiled(self, code: CodeType) -> list[Any]:
        constants = [
            self._compiled(constant)
            if isinstance(constant, CodeType)
            else _constant(constant)
            for constant in code.co_consts
        ]
        return [
            code.co_code.hex(),
            code.co_exceptiontable.hex(),
            code.co_flags,
            code.co_argcount,
            constants,
            [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars],
        ]

    def _taken(
        self, value: Any, attributes: frozenset[str], within: tuple[ModuleType, ...]
    ) -> Any:
        """Describe a global value that a function uses; of a module, the part used."""
        if (
            not isinstance(value, ModuleType)
            or home(value) != "user"
            or value in within
        ):
            return self.of(value)
        taken = {
            name: vars(value)[name] for name in sorted(attributes & vars(value).keys())
        }
        file = Path(value.__file__ or "")
        return [
            value.__name__,
            digest(file.read_bytes()) if file.is_file() else None,
            {
                name: self._taken(part, attributes, (*within, value))
                for name, part in taken.items()
            },
        ]

    def _of_class(self, cls: type) -> list[Any]:
        parents = [self.of(base) for base in (*cls.__bases__, type(cls))]
        if issubclass(cls, Enum):
            return [
                parents,
                {member.name: self.of(member.value) for member in cls},
                self._methods(cls, values=False),
            ]
        return [parents, self._methods(cls, values=True)]

    def _methods(self, cls: type, *, values: bool) -> dict[str, Any]:
        """Describe a class's code (and values), without what Python adds to it."""
        held = {
            name: value
            for name, value in sorted(vars(cls).items())
            if name not in _ANNOTATE
        }
        return {
            name: self.of(value)
            for name, value in held.items()
            if callable(value)
            or isinstance(value, (classmethod, property))
            or (values and not name.startswith(("__", "_abc_impl")))
        }


class Restored:
    """Restores values from the plain values of Identity without running user code.

    Equal plain values become one object. data: function that maps a digest to its list.
    """

    def __init__(self, data: Callable[[str], Sequence[Any]]) -> None:
        self._data = data
        self._restored: dict[str, Any] = {}

    def of(self, plain: Any) -> Any:
        """Restore a value; InputError for a class of another package, or bad data."""
        if isinstance(plain, list):
            if (
                len(plain) == 2
                and plain[0] == "float"
                and plain[1] in ("inf", "-inf", "nan")
            ):
                return float(plain[1])
            kind = _own_class(plain[0]) if len(plain) == 2 else None
            return kind[plain[1]] if kind else tuple(map(self.of, plain))
        if not isinstance(plain, dict):
            return plain
        key = json.dumps(plain)
        if key not in self._restored:
            self._restored[key] = self._value(plain)
        return self._restored[key]

    def _value(self, plain: dict[str, Any]) -> Any:
        if set(plain) == {"list", "data"}:
            return tuple(self._data(plain["data"]))
        if set(plain) == {"array", "shape", "data"}:
            dtype = np.dtype(plain["array"])
            require(dtype.kind in NUMBERS, "array", plain["array"], "one of numbers")
            return np.array(self._data(plain["data"]), dtype).reshape(plain["shape"])
        held = {name: self.of(part) for name, part in plain.items() if name != "class"}
        if "class" not in plain:
            return held
        kind, function = _own_class(plain["class"]), plain.get("function")
        if kind is None or isinstance(function, str):  # a model of a script
            name = plain["class"] if kind is None else function
            raise InputError(
                f"it contains {name!r}, which only the script that wrote it can"
                " create: run the study in that script within"
                " cgrsp_simpy.studies.store.verifying"
            )
        return kind(**held)


def _own_class(name: Any) -> Any:
    """Return the imported class of this package with a given name, or None."""
    module, _, last = str(name).partition(":")
    cls = getattr(sys.modules.get(module), last, None)
    if not isinstance(cls, type) or home(cls) != "own" or _name(cls) != name:
        return None
    return cls if is_dataclass(cls) or issubclass(cls, Enum) else None


# from Python 3.14: make __annotations__
_ANNOTATE = ("__annotate__", "__annotate_func__")


def digest(content: bytes) -> str:
    """Return a short digest of bytes."""
    return hashlib.sha256(content).hexdigest()[:16]


def _name(value: Any) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    name = f"{_module(value)}:{value.__qualname__}"
    return (
        f"{name} in line {value.__code__.co_firstlineno}"
        if "<" in name and home(value) == "own"
        else name
    )


def _is_builtin(value: Any) -> bool:
    """Return whether a value is a function written in C, but not a method."""
    # each module of Cython has a type of its own for its functions
    return type(value).__name__ == "cython_function_or_method" or (
        isinstance(value, BuiltinFunctionType)
        and isinstance(value.__self__, (ModuleType, type(None)))
    )


def home(value: Any) -> str:
    """Return the origin: "own" (this package), "library" (or Python), or "user"."""
    name = _module(value)
    if name.partition(".")[0] == PACKAGE:
        return "own"
    # run by exec without a __name__
    is_unnamed = (
        name == "builtins"
        and (
            isinstance(value, FunctionType)
            or "__module__" in getattr(value, "__dict__", ())
        )
        and not hasattr(builtins, value.__name__)
    )
    return "library" if _is_library(name) and not is_unnamed else "user"


def _module(value: Any) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    name = getattr(value, "__module__", None)
    # types written in C may have none
    return name if isinstance(name, str) else "builtins"


@functools.cache
def _is_library(module: str) -> bool:
    if module.partition(".")[0] == "__main__":
        return False
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return False
    if spec is None or spec.origin is None:
        return False
    if spec.origin in ("built-in", "frozen"):
        return True
    file = Path(spec.origin)
    depth = module.count(".") + (spec.submodule_search_locations is not None)
    # installed into a folder of another name, as by pip's --target
    installed = len(file.parents) > depth and any(
        file.parents[depth].glob("*.dist-info/RECORD")
    )
    return installed or is_library(file)


def _constant(value: Any) -> str:
    """Return a constant of compiled code as text, with the entries of sets sorted."""
    return (
        f"set {sorted(map(repr, value))}"
        if isinstance(value, frozenset)
        else f"{type(value).__name__} {value!r}"
    )


def imported_by(function: FunctionType) -> list[ModuleType]:
    """Return the user's modules that a function imports when it is called."""
    around, imports = function.__globals__, names_in(function.__code__)[2]
    modules = (_imported(name, level, around) for name, level in sorted(imports))
    return list(dict.fromkeys(itertools.chain.from_iterable(modules)))


def captured(value: Any) -> dict[str, Any]:
    """Return the values that a function has captured in its closure, by name."""
    cells = getattr(value, "__closure__", None) or ()
    names = value.__code__.co_freevars if cells else ()
    return {
        name: cell.cell_contents for name, cell in zip(names, cells) if cell != EMPTY
    }


@functools.cache
def names_in(
    code: CodeType,
) -> tuple[frozenset[str], frozenset[str], frozenset[tuple[str, int]]]:
    """Return global names, attribute names, and imports with dot level of code."""
    steps = list(dis.get_instructions(code))
    names = frozenset(str(step.argval) for step in steps if step.opname in GLOBAL)
    attributes = frozenset(
        str(step.argval)
        for step in steps
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")
    )
    imports = frozenset(
        (str(step.argval), steps[place - 2].argval)
        for place, step in enumerate(steps)
        if step.opname == "IMPORT_NAME"
    )
    for inner in (
        constant for constant in code.co_consts if isinstance(constant, CodeType)
    ):
        more = names_in(inner)
        names = names | more[0]
        attributes = attributes | more[1]
        imports = imports | more[2]
    return names, attributes, imports


def _imported(name: str, level: int, around: Mapping[str, Any]) -> list[ModuleType]:
    """Return the user's packages and module of an import; none for a library."""
    try:
        if level:
            name = importlib.util.resolve_name(
                "." * level + name, around.get("__package__")
            )
        if name.partition(".")[0] == PACKAGE or _is_library(name):
            return []
        names = itertools.accumulate(name.split("."), "{}.{}".format)
        return list(map(importlib.import_module, names))
    except Exception:  # the run repeats a failed import
        return []


def _without_caches(cls: type, state: Any) -> Any:
    """Return an object's state without cached properties."""
    if type(state) is not dict:
        return state
    return {
        name: value
        for name, value in state.items()
        if not isinstance(getattr(cls, name, None), functools.cached_property)
    }
