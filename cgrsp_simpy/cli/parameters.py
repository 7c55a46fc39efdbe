"""List the parameters of a scenario, and its policies."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.files import is_there, toml_text, write_whole
from cgrsp_simpy.base.parameters import options_of, unit
from cgrsp_simpy.base.parts import schema, tables_of
from cgrsp_simpy.base.policy import is_policy
from cgrsp_simpy.base.table import Table, document, json_text, visible
from cgrsp_simpy.cli.options import scenario_arguments
from cgrsp_simpy.cli.parsing import (
    MODULES,
    Answer,
    Command,
    argument,
    formatted,
    wrapped,
)
from cgrsp_simpy.cli.scenarios import MARKET_WORDS, MODULE, Worded, word_of
from cgrsp_simpy.logs import FORMATS
from cgrsp_simpy.rental.policies import SECTIONS
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.toml import tables, tables_schema
from cgrsp_simpy.studies.subject import Parameter, subject_of

WIDEST = 40  # characters of a value in the list
LOG_WORDS = {
    "trace": "Log of jobs, plain or gzipped.",
    "log.format": f"{', '.join(FORMATS)}; by default recognised by the content.",
    "log.window": "FROM:TO, two dates or numbers of seconds.",
    "log.strict": "Whether a log with bad rows is refused.",
    "log.tz": "Time zone of the log, such as Europe/Berlin.",
    "log.delimiter": "Delimiter between cells, such as tab or ;",
    "log.decimal": "Decimal separator: . or ,",
    "log.header": "Column names, joined by +, of a file without a header line.",
    "log.COLUMN": "Name of a column in the log, such as log.submit=created.",
}
SOURCE_WORDS = {
    "rental": LOG_WORDS,
    "waiting": LOG_WORDS,
    "cluster": {
        **LOG_WORDS,
        "cluster": "GPUs of the nodes: 4x8+2x4 is four nodes of 8 GPUs and two of 4.",
        "log.skip_wide": "Whether jobs that are too wide for the cluster are left out.",
        "qos.NAME": "Priority of a quality of service in the log.",
    },
    "llm": {**LOG_WORDS, "log.weight": "Weights of the requests: equal or short."},
    "spot": {
        "trace": "Files of zones, joined by +: JSON, CSV or JSON lines.",
        "log.needed": "Number of instances that the job needs at once.",
        "log.history": "Share of the series before every run.",
        "log.on_demand": "File of the availability of on-demand instances.",
    },
    "hgsp": {
        "instance": "CSV file of tasks, plain or gzipped.",
        "instance.cluster": "GPUs of the tasks: small, medium, large or a file.",
        "instance.skip_unfit": "Whether tasks that fit on no GPU are left out.",
        "orlib": "Weighted tardiness file of the OR-Library.",
        "orlib.index": "Number of the instance in the file, from 1.",
        "orlib.machines": "Number of identical machines.",
        "orlib.tasks": "Number of tasks per instance in the file.",
    },
}
"""Module -> parameters that name the files of its jobs -> their meaning."""
Row = dict[str, str]


def _parameters(args: argparse.Namespace) -> Answer:
    """List name, value, unit and meaning; write the scenario's file."""
    worded = Worded(args.scenario, args.words)
    scenario = worded.single("parameters")
    if args.out or args.schema:
        allowed = f"rental or one of {', '.join(MODULES)}, whose scenarios can be files"
        has_file = module_of(scenario) in ("rental", *MODULES)
        require(has_file, "module of the scenario", args.scenario, allowed)
    if args.out:
        out, allowed = str(args.out), "a file that does not exist yet"
        require(args.out.suffix == ".toml", "--out", out, "a file that ends in .toml")
        require(not is_there(args.out), "--out", out, allowed)
        write_whole(args.out, file_text(scenario).encode())
    if args.schema:
        require(
            args.format == "table",
            "--format",
            args.format,
            "omitted if --schema is given, which prints JSON",
        )
        return Answer(json_text(file_schema(scenario)))
    rows = [*_rows(subject_of(scenario).parameters), *_of_files(scenario)]
    columns = ["name", "value", "unit", "meaning"]
    return _listed(args, worded, columns, rows, _lines(rows))


def _listed(
    args: argparse.Namespace,
    worded: Worded,
    columns: list[str],
    rows: list[Row],
    lines: Iterable[str],
) -> Answer:
    """Return rows in the requested format; lines: the rows for a terminal."""
    if args.format == "table":
        return Answer("\n".join(map(visible, lines)))
    table = Table(worded.scenario.name, [columns, *([*row.values()] for row in rows)])
    return formatted(
        args,
        document(worded.scenario.name, rows, parameters=worded.parameters),
        rows,
        lambda: [table],
    )


def _lines(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        yield " ".join(filter(None, [f"{row['name']}={row['value']}", row["unit"]]))
        yield from wrapped(row["meaning"], "    ")


def _rows(parameters: Mapping[str, Parameter]) -> Iterator[Row]:
    """Yield rows of name, value, unit and meaning for parameters that are not parts."""
    for name, item in parameters.items():
        if any(other.startswith(f"{name}.") for other in parameters):
            continue
        options = [text for text in options_of(item.hint) if text not in item.meaning]
        meaning = f"{item.meaning} One of {', '.join(options_of(item.hint))}."
        yield {
            "name": name,
            "value": shortened(item.value),
            "unit": unit(name.rpartition(".")[2], item.owner),
            "meaning": meaning.strip() if options else item.meaning,
        }


def _of_files(scenario: Any) -> Iterator[Row]:
    module = module_of(scenario)
    market = MARKET_WORDS if module == "rental" else {}
    for name, meaning in {**SOURCE_WORDS.get(module, {}), **market}.items():
        yield {"name": name, "value": "-", "unit": unit(name), "meaning": meaning}


def shortened(value: Any) -> str:
    """Format a value, if possible as in a word, in at most WIDEST characters."""
    entries = value if isinstance(value, tuple | list) else ()
    if entries and all(hasattr(entry, "name") for entry in entries):
        text = "+".join(entry.name for entry in entries)
    elif any(map(is_dataclass, entries)):
        text = f"list of {len(entries)}"
    else:
        text = getattr(value, "__name__", None) or word_of(value)
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."


def file_text(scenario: Any) -> str:
    """Return the content of a TOML file for a scenario of any module."""
    if isinstance(scenario, Scenario):
        return toml_text(tables(scenario))
    return toml_text({MODULE: module_of(scenario), **tables_of(scenario)})


def file_schema(scenario: Any) -> dict[str, Any]:
    """Return the JSON schema of the files of a scenario's module."""
    if isinstance(scenario, Scenario):
        return tables_schema()
    content = schema(type(scenario))
    content["properties"][MODULE] = {"const": module_of(scenario)}
    return {**content, "required": [MODULE, *content["required"]]}


def module_of(scenario: Any) -> str:
    """Return the module of a scenario: "waiting" of cgrsp_simpy.waiting.scenario."""
    return type(scenario).__module__.partition(".")[2].partition(".")[0]


# ---- policies ----


def _policies(args: argparse.Namespace) -> Answer:
    """List one line per policy of a scenario."""
    worded = Worded(args.scenario, args.words)
    scenario = worded.single("policies")
    sections = SECTIONS if isinstance(scenario, Scenario) else {}
    rows = [
        {
            "policy": name,
            "parameters": _of_policy(factory),
            "section": sections.get(name, ""),
            "meaning": summary(inspect.getdoc(factory)),
        }
        for name, factory in scenario.policies.items()
    ]
    columns = ["policy", "parameters", "section", "meaning"]
    none = f"{scenario.name} has no policies: its parameters are compared"
    return _listed(args, worded, columns, rows, [*_policy_lines(rows)] or [none])


def _of_policy(factory: Any) -> str:
    """Return a policy's parameters in the form of its text; "" if it has none."""
    if is_policy(factory):
        return ""
    return ",".join(
        f"{item.name}={item.default}".lower()
        for item in inspect.signature(factory).parameters.values()
        if item.default is not None and item.name not in getattr(factory, "lacks", ())
    )


def _policy_lines(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        thesis = "thesis " if row["section"][:1].isdigit() else ""
        section = f" ({thesis}{row['section']})" * bool(row["section"])
        name = ":".join(filter(None, [row["policy"], row["parameters"]]))
        yield f"{name}{section}"
        yield from wrapped(row["meaning"], "    ")


def summary(docstring: str | None) -> str:
    """Return the first paragraph of a docstring, on one line."""
    return " ".join((docstring or "").split("\n\n")[0].split())


COMMANDS = {
    "parameters": Command(
        [
            *scenario_arguments(),
            argument(
                "--out FILE.toml",
                "write the scenario to a file that can be edited",
                type=Path,
            ),
            argument("--schema", "print the JSON schema of scenario files"),
        ],
        _parameters,
    ),
    "policies": Command(scenario_arguments(), _policies),
}
