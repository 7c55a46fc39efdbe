"""List the parameters of a scenario: name, value, unit and meaning."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.base.files import faults_of, read_toml, toml_text, write_whole
from cgrsp_simpy.base.parts import part_of, schema, tables_of
from cgrsp_simpy.base.table import json_text, visible
from cgrsp_simpy.cli.fields import meanings_of
from cgrsp_simpy.cli.options import Answer
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.toml import tables, tables_schema
from cgrsp_simpy.rental.workload import DAYS

MODULES = ("waiting", "cluster", "hgsp", "llm", "dag", "spot")
MODULE = "module"
"""The key of a file that names its module; files of rented slots have none."""
UNITS = {"usd": "USD", "gb": "GB", "mb": "MB"}
UNIT = "(?:usd|gb|mb|ms|s|min|h|day|month)"
WIDEST = 40  # in characters of a value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the scenario, and what is printed of it."""
    names = (
        f"{', '.join(DAYS)}, {', '.join(MODULES)}, hgsp:LEVEL, dag:GRAPH or FILE.toml"
    )
    parser.add_argument("scenario", metavar="SCENARIO", help=names)
    file = "a TOML file to write, with the scenario, to be edited"
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help=file)
    schema = "print a JSON schema of such files"
    parser.add_argument("--schema", action="store_true", help=schema)


def carry_out(args: argparse.Namespace) -> Answer:
    """Print the parameters or the schema of a scenario, and write its file."""
    scenario = scenario_of(args.scenario)
    if args.file:
        write_whole(args.file, file_text(scenario).encode())
    if args.schema:
        return Answer(json_text(file_schema(scenario)))
    rows = [("name", "value", "unit", "meaning"), *_rows(scenario)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ["  ".join([*map(str.ljust, row, widths), row[3]]).rstrip() for row in rows]
    return Answer("\n".join(map(visible, lines)))


def _rows(part: Any, prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Yield name, value, unit and meaning of the parameters of a part and its parts."""
    meanings = meanings_of(type(part))
    for item in fields(part):
        value = getattr(part, item.name)
        if item.init and is_dataclass(value):
            yield from _rows(value, f"{prefix}{item.name}.")
        elif item.init:
            meaning = meanings.get(item.name, "")
            yield f"{prefix}{item.name}", shortened(value), unit(item.name), meaning


def unit(name: str) -> str:
    """Return the unit in a name: "price_usd_per_h" gives "USD per h"."""
    words = re.search(rf"((^|_)({UNIT}))?((^|_)per(_{UNIT})+)?$", name)
    assert words is not None
    return " ".join(UNITS.get(word, word) for word in words[0].split("_")).strip()


def shortened(value: Any) -> str:
    """Format a value as one line of at most WIDEST characters."""
    text = getattr(value, "__name__", None) or " ".join(str(value).split())
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."


# ---- scenarios by name, and their files ----


def scenario_of(name: str) -> Any:
    """Return a scenario by name: a day, a module (with a variant), or a file."""
    if name.endswith(".toml"):
        return from_file(Path(name))
    short, _, source = name.partition(":")
    if short in DAYS:
        return day(name)
    check_one_of("scenario", short, (*DAYS, *MODULES, "FILE.toml"))
    module = import_module(f"cgrsp_simpy.{short}.scenario")
    if short == "waiting":  # as its commands without options
        jobs = import_module("cgrsp_simpy.waiting.jobs")
        return module.Scenario(jobs.ExponentialJobs(100_000))
    return module.Scenario(*filter(None, [source]))


def from_file(path: Path) -> Any:
    """Return the scenario that a TOML file of any module describes."""
    with faults_of(path):
        table = read_toml(path)
        name = table.pop(MODULE, None)
        if name is None:
            return Scenario.from_toml(path)
        check_one_of(MODULE, name, MODULES)
        module = import_module(f"cgrsp_simpy.{name}.scenario")
        return part_of(module.Scenario, table, "")


def file_text(scenario: Any) -> str:
    """Return the TOML file of a scenario of any module."""
    if isinstance(scenario, Scenario):
        return toml_text(tables(scenario))
    return toml_text({MODULE: module_of(scenario), **tables_of(scenario)})


def file_schema(scenario: Any) -> dict[str, Any]:
    """Return the JSON schema of the files of a scenario's module."""
    if isinstance(scenario, Scenario):
        return tables_schema()
    found = schema(type(scenario))
    found["properties"][MODULE] = {"const": module_of(scenario)}
    return {**found, "required": [MODULE, *found["required"]]}


def module_of(scenario: Any) -> str:
    """Return the module of a scenario: "waiting" of cgrsp_simpy.waiting.scenario."""
    return type(scenario).__module__.split(".")[1]
