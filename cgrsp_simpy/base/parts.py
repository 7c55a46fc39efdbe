"""Conversion of scenarios and their parts to and from TOML tables; JSON schema.

A part is an instance of a dataclass or a named tuple. Its table holds its parameters by
name. The key "kind" names its class if the parameter allows several.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_args, get_origin

import numpy as np

from cgrsp_simpy.base.checks import InputError, check_one_of, require
from cgrsp_simpy.base.files import FILE, make, mapping
from cgrsp_simpy.base.metric import users_part
from cgrsp_simpy.base.parameters import hints, meanings, schema_of

KIND = "kind"


# ---- to tables ----


def tables_of(part: Any, whole: bool = False) -> dict[str, Any]:
    """Return a part's parameters as a table, including defaults if `whole`.

    Raises InputError for what TOML cannot hold: a function, an object of a class
    outside this package, or None if the default is another value.
    """
    check_own(part)
    return _table(part, whole)


def check_own(part: Any) -> None:
    """Raise InputError for a function, or a part whose class is not this package's."""
    foreign = users_part(part)
    if foreign is not None:
        raise InputError(
            f"{type(foreign).__qualname__} cannot be written to TOML: it is not a class"
            " of this package"
        )


def _table(part: Any, whole: bool) -> dict[str, Any]:
    if not is_dataclass(part):
        return dict(part._asdict())
    types = hints(part.__class__)
    table = {}
    for item in fields(part):
        value, default = getattr(part, item.name), default_of(item)
        if not item.init or (_same(value, default) and (value is None or not whole)):
            continue
        require(
            value is not None, item.name, value, "a value that can be written to a file"
        )
        table[item.name] = _plain(value, types.get(item.name), whole)
    return table


def default_of(item: Any) -> Any:
    """Return the default of a field; MISSING if it has none."""
    has_factory = item.default_factory is not MISSING
    return item.default_factory() if has_factory else item.default


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray):
        return np.array_equal(value, default)
    return type(value) is type(default) and bool(value == default)


def _plain(value: Any, hint: Any, whole: bool) -> Any:
    """Convert a value to its form in a file; hint: its declared type."""
    if is_dataclass(value) or hasattr(value, "_asdict"):
        only = list(classes_of(hint)) == [type(value)]
        kind = {} if only else {KIND: type(value).__name__}
        if kind and hasattr(value, KIND):
            raise InputError(
                f"{type(value).__name__} cannot be written to TOML: its parameter"
                f" {KIND} has the key that TOML files use for the class"
            )
        return kind | _table(value, whole)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(entry, _entry(hint), whole) for entry in value]
    return dict(value) if isinstance(value, Mapping) else value


# ---- from tables ----


def part_of(cls: Any, table: Any, where: str) -> Any:
    """Create a part of a class from its table.

    where: name of the table for messages, such as "market". Values other than tables
    are passed unchanged. Raises InputError that names the table, the key and the value.
    """
    name = f"[{where}]" if where else FILE
    types = hints(cls)
    inner = {
        key: _value(cls, types.get(key), value, f"{where}.{key}".lstrip("."))
        for key, value in mapping(name, table).items()
    }
    return make(cls, inner, name)


def _value(owner: Any, hint: Any, value: Any, where: str) -> Any:
    if isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
        return [_value(owner, _entry(hint), entry, where) for entry in value]
    if not isinstance(value, dict):
        return value
    kinds = {cls.__name__: cls for cls in classes_of(hint)}
    if KIND in value:
        kinds = kinds or _classes_beside(owner)
        check_one_of(f"{KIND} of {where}", value[KIND], kinds)
    elif len(kinds) > 1:
        raise InputError(f"[{where}] lacks {KIND}, one of {', '.join(kinds)}")
    elif not kinds:
        return value
    cls = kinds[value.get(KIND, next(iter(kinds)))]
    table = {key: entry for key, entry in value.items() if key != KIND}
    return part_of(cls, table, where)


def classes_of(hint: Any) -> Iterator[Any]:
    """Yield the part classes that a type allows."""
    if is_dataclass(hint) or hasattr(hint, "_fields"):
        yield hint
    elif get_origin(hint) is not tuple:
        for part in get_args(hint):
            yield from classes_of(part)


def _entry(hint: Any) -> Any:
    """Return the entry type of a type that allows a list, or None."""
    if get_origin(hint) is tuple:
        return get_args(hint)[0]
    return next(filter(None, map(_entry, get_args(hint))), None)


def _classes_beside(cls: Any) -> dict[str, Any]:
    """Return the dataclasses of the modules in a class's folder, by name."""
    room = cls.__module__.rpartition(".")[0]
    modules = [
        sys.modules[name] for name in sorted(sys.modules) if name.startswith(f"{room}.")
    ]
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if is_dataclass(value) and isinstance(value, type)
    }


# ---- schema ----


def schema(cls: Any) -> dict[str, Any]:
    """Return the JSON schema of a class's tables, for editors."""
    entries = {item.name: item for item in fields(cls) if item.init}
    properties = {
        name: _schema(schema_of(hints(cls)[name]))
        | ({"description": meanings(cls)[name]} if name in meanings(cls) else {})
        for name in entries
    }
    required = [name for name, item in entries.items() if default_of(item) is MISSING]
    return {
        "title": cls.__name__,
        "type": "object",
        "properties": properties | {KIND: {"const": cls.__name__}},
        "required": required,
        "additionalProperties": False,
    }


TYPES = {"str": "string", "bool": "boolean", "int": "integer", "float": "number"}
BOUNDS = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
}


def _schema(core: Any) -> dict[str, Any]:
    """Convert a pydantic-core schema to a JSON schema."""
    kind = core["type"]
    if kind == "union":
        choices = [_schema(choice) for choice in core["choices"]]
        numbers = [choice.get("type") for choice in choices] == ["integer", "number"]
        return choices[1] if numbers else {"anyOf": choices}
    if kind in TYPES:
        bounds = {BOUNDS[key]: core[key] for key in BOUNDS.keys() & core.keys()}
        return {"type": TYPES[kind], **bounds}
    if kind == "literal":
        return {"enum": core["expected"]}
    if kind == "tuple":
        items = [_schema(item) for item in core["items_schema"]]
        fixed = core.get("variadic_item_index") is None
        of_items = {"prefixItems": items} if fixed else {"items": items[0]}
        return {"type": "array", **of_items}
    if kind == "is-instance":
        return schema(core["cls"]) if is_dataclass(core["cls"]) else {}
    return _schema(core["schema"]) if "schema" in core else {}
