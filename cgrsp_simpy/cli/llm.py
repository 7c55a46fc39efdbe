"""LLM inference requests on a cluster of GPUs, all of which a request owns from start to end: run,
compare and sweep schedulers, the paper's table.
"""

from __future__ import annotations

import argparse
from typing import Any

from cgrsp_simpy.cli import pattern
from cgrsp_simpy.cli.fields import Field, add_fields, given_of
from cgrsp_simpy.cli.options import FORMATTED, Answer, add_log, formatted, reading_of, refuse
from cgrsp_simpy.cli.pattern import Module, add_actions
from cgrsp_simpy.llm.paper import OWNED, table_two
from cgrsp_simpy.llm.policies import SCHEDULERS
from cgrsp_simpy.llm.requests import WEIGHTS, LlmCluster, LlmModel, read_requests
from cgrsp_simpy.llm.scenario import Scenario
from cgrsp_simpy.model.table import aligned, figure_text

RESPONSE = (
    "wait: from arrival to start. response: from arrival to completion, which the paper"
    " calls waiting."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add_actions(
        actions,
        MODULE,
        {
            "run": "one scheduler: figures, or a row a request; event by event, or drawn",
            "compare": "schedulers on the same requests",
            "sweep": (
                "schedulers at every point of a grid: gpus, memory_gb, prefill_tokens_per_s,"
                " decode_tokens_per_s, waves, step_s, horizon_s"
            ),
        },
    )
    told = "all schedulers, at once and in waves: of the printed workload, or of a log"
    table = actions.add_parser("table", help=told, description=told)
    _add_requests(table)
    table.set_defaults(formats=FORMATTED)
    for action in actions.choices.values():
        action.epilog = f"{RESPONSE} {OWNED}"


def _add_requests(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scenario: the printed requests, or a log, on a cluster")
    log = "such as a CSV of TIMESTAMP, ContextTokens, GeneratedTokens"
    add_log(group, log, OF_LOG)
    add_fields(group, Scenario, *FIELDS)


FIELDS = ("cluster", "waves", "step_s", "horizon_s")
OF_LOG = {
    "weight": Field("weight", str, f"of a request: {' or '.join(WEIGHTS)}", "equal"),
    "gpus": Field("gpus", int, "GPUs that a request claims at once", 2),
    "model_gb": Field("model_gb", float, "of the model, on these GPUs together", 30.0),
}


def _requests(given: argparse.Namespace) -> Scenario:
    own = given_of(given, *FIELDS)
    own["cluster"] = LlmCluster(**own.get("cluster", {}))
    if given.trace is None:
        refuse(given, "given with --trace", "log")
        return Scenario(**own)
    reading = reading_of(given, *OF_LOG)
    if "model_gb" in reading:
        reading["model"] = LlmModel("the model", reading.pop("model_gb"))
    return Scenario(read_requests(given.trace, **reading), **own)


MODULE = Module(Scenario, _add_requests, _requests, figures="cgrsp_simpy.llm.figures")


def carry_out(given: argparse.Namespace) -> Answer:
    """What the action answers, in the format asked for."""
    return _table(given) if given.action == "table" else pattern.carry_out(given, MODULE)


# ---- the table of all schedulers ----


def _table(given: argparse.Namespace) -> Answer:
    """The printed table, or that of a log."""
    if given.trace is None:
        refuse(given, "given with --trace: the table is of the printed cluster", "log", *FIELDS)
    refuse(given, "left out: the table has both modes", "waves")
    rows = table_two() if given.trace is None else _served(given)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [[_told(row.get(key)) for key in columns] for row in rows]
    text = "\n".join([*aligned([columns, *lines]), "", RESPONSE, OWNED])
    return formatted(given, {"rows": rows}, rows, lambda: text)


def _served(given: argparse.Namespace) -> list[dict[str, Any]]:
    """A row a scheduler and mode."""
    requests = _requests(given)
    return [
        {"scheduler": name, "mode": mode, **requests.varied(waves=waves).run(name).summary()}
        for mode, waves in (("work-conserving", False), ("waves", True))
        for name in SCHEDULERS
    ]


def _told(value: Any) -> str:
    if isinstance(value, float) and value == value:
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return figure_text(value)
