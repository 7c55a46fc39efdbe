"""Objects to TOML tables and back; errors name the table, the key and the value."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import fields
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, TypeVar

from cgrsp_simpy.model.checks import InputError, check_one_of, python_number, require
from cgrsp_simpy.model.files import check_named, check_size

T = TypeVar("T")


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; InputError if it is none, OSError if it cannot be read."""
    try:
        check_named(path)
        check_size(path.stat().st_size)
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except InputError:
        raise
    except RecursionError:
        raise InputError("not TOML (nested too deeply)") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not TOML ({error})") from None
    except ValueError:  # Python reads no whole number of more than 4,300 digits
        raise InputError("not TOML (a number of thousands of digits)") from None


def table_of(made: Any) -> dict[str, Any]:
    """The fields of a dataclass with which it can be made again."""
    return {item.name: getattr(made, item.name) for item in fields(made) if item.init}


def toml_text(tables: dict[str, Any], path: str = "") -> str:
    """TOML text: the values first, then the tables.

    JSON's values of the kinds used here are TOML's.
    """
    lines, below = [], []
    for key, value in tables.items():
        name = f"{path}{key}"
        if isinstance(value, dict):
            below.append(f"\n[{name}]\n" + toml_text(value, f"{name}."))
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            below += [f"\n[[{name}]]\n" + toml_text(entry, f"{name}.") for entry in value]
        else:
            lines.append(f"{key} = {_json(value)}\n")
    return "".join(lines + below)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=python_number)


def check_keys(where: str, table: Any, allowed: Iterable[str]) -> None:
    """Refuse a key that is not allowed, with the nearest that is."""
    for key in mapping(where, table):
        check_one_of(f"key in {where}", key, allowed)


def mapping(where: str, table: Any) -> dict[str, Any]:
    """Refuse what is not a table."""
    if not isinstance(table, dict):
        raise InputError(f"{where}(={table!r}) must be a table")
    return table


def entries(table: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The tables of a list of tables; none if it is not there."""
    found = table.get(key, [])
    require(isinstance(found, list), f"[[{key}]]", found, "a list of tables")
    return list(found)


def make(cls: type[T], table: Any, where: str) -> T:
    """An object of a class from a table of its arguments, with an error that names the table, the
    key and the value.
    """
    own = signature(cls).parameters
    check_keys(where, table, own)
    missing = [
        name for name, item in own.items() if item.default is Parameter.empty and name not in table
    ]
    if missing:
        raise InputError(f"{where} lacks {', '.join(missing)}")
    try:
        return cls(**table)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: a value of the wrong kind ({error})") from None
