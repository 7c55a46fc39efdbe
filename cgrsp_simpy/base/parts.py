"""Scenarios and their parts as plain tables, and back: what a TOML file holds, and its
schema.

A part is an object of a dataclass or a named tuple. Its table holds its parameters by
name. "kind" in it names its class, unless the parameter allows only one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_args, get_origin

import numpy as np

from cgrsp_simpy.base.checks import InputError, check_one_of
from cgrsp_simpy.base.files import make, mapping
from cgrsp_simpy.base.metric import PLAIN
from cgrsp_simpy.base.parameters import hints, meanings, schema_of

KIND = "kind"


# ---- to tables ----


def tables_of(part: Any, whole: bool = False) -> dict[str, Any]:
    """Return the parameters of a part as a table; whole: those that equal the default,
    too.

    Raises InputError for a function, or for an object that no table can hold.
    """
    if not is_dataclass(part):
        return {name: _plain(value) for name, value in part._asdict().items()}
    table: dict[str, Any] = {}
    for item in fields(part):
        value = getattr(part, item.name)
        if not item.init or value is None or (not whole and _is_default(item, value)):
            continue
        hint = hints(part.__class__).get(item.name)
        table[item.name] = _plain(value, whole, item.name)
        if _is_part(value) and list(classes_of(hint)) != [type(value)]:
            table[item.name] = {KIND: type(value).__name__, **table[item.name]}
    return table


def _is_part(value: Any) -> bool:
    named_tuple = isinstance(value, tuple) and hasattr(value, "_asdict")
    return (is_dataclass(value) or named_tuple) and not isinstance(value, type)


def _is_default(item: Any, value: Any) -> bool:
    default = item.default
    if item.default_factory is not MISSING:
        default = item.default_factory()
    return bool(type(value) is type(default) and np.all(value == default))


def _plain(value: Any, whole: bool = False, name: str = "") -> Any:
    if _is_part(value):
        return tables_of(value, whole)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(entry, whole, name) for entry in value]
    if isinstance(value, dict):
        return {key: _plain(entry, whole, name) for key, entry in value.items()}
    if not isinstance(value, PLAIN):
        raise InputError(f"{name}(={value!r}) cannot be written to a file")
    return value


# ---- from tables ----


def part_of(cls: Any, table: Any, where: str) -> Any:
    """Return the part of a class that a table describes.

    where: the table, for messages, such as "market". Values that are no tables pass as
    they are. Raises InputError that names the table, the key and the value.
    """
    name = f"[{where}]" if where else "the file"
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
    """Yield the classes of parts that a type allows."""
    if is_dataclass(hint) or hasattr(hint, "_fields"):
        yield hint
    elif get_origin(hint) is not tuple:
        for part in get_args(hint):
            yield from classes_of(part)


def _entry(hint: Any) -> Any:
    """The type of the entries of the list that a type allows."""
    if get_origin(hint) is tuple:
        return get_args(hint)[0]
    return next(filter(None, map(_entry, get_args(hint))), None)


def _classes_beside(cls: Any) -> dict[str, Any]:
    """The dataclasses of the modules beside that of a class, by name."""
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
    """Return the JSON schema of the tables of a class, for editors."""
    entries = {item.name: item for item in fields(cls) if item.init}
    properties = {
        name: _schema(schema_of(hints(cls)[name]))
        | ({"description": meanings(cls)[name]} if name in meanings(cls) else {})
        for name in entries
    }
    required = [
        name
        for name, item in entries.items()
        if item.default is item.default_factory is MISSING
    ]
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
    """The JSON schema of one of pydantic-core's schemas."""
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
