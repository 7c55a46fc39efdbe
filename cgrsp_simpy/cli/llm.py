"""LLM inference requests on a cluster of GPUs, all of which a request owns from start to end: run,
compare and sweep schedulers.
"""

from __future__ import annotations

import argparse
from typing import Any

from cgrsp_simpy.cli import pattern
from cgrsp_simpy.cli.options import (
    READING,
    Answer,
    add_by,
    add_format,
    add_options,
    add_reading,
    reading_of,
    refuse_idle,
    those_given,
)
from cgrsp_simpy.cli.pattern import Module, add_actions
from cgrsp_simpy.cli.watch import add_watching
from cgrsp_simpy.hgsp.llm import OWNED, table_two
from cgrsp_simpy.hgsp.llm_policies import SCHEDULERS
from cgrsp_simpy.hgsp.llm_requests import QWEN3, WEIGHTS, LlmCluster, LlmModel, read_requests
from cgrsp_simpy.hgsp.serving import Requests
from cgrsp_simpy.model.shown import figure_text
from cgrsp_simpy.model.table import aligned, csv_text, json_text

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
    for action in actions.choices.values():
        action.epilog = f"{RESPONSE} {OWNED}"


def add_table(parser: argparse.ArgumentParser) -> None:
    """Add the options of the table of all schedulers, in both modes."""
    parser.epilog = f"{RESPONSE} {OWNED} `cgrsp llm` compares and sweeps."
    _add_requests(parser)
    names = f"one, in one mode: {', '.join(SCHEDULERS)}, or own.py:function of a RequestView"
    parser.add_argument("--scheduler", dest="policy", metavar="NAME", help=names)
    add_by(parser)
    add_watching(parser)
    add_format(parser, "figures; csv: the rows, or a row a request")


def _add_requests(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("requests: the printed workload, or a log")
    log = "such as a CSV of TIMESTAMP, ContextTokens, GeneratedTokens"
    group.add_argument("--trace", metavar="FILE", help=log)
    add_reading(group, "azure")
    add_options(
        group,
        ("--weight LAW", str, f"of a log's requests: {' or '.join(WEIGHTS)} (default: equal)"),
        ("--tensor N", int, "GPUs that a log's request claims at once (default: 2)"),
        ("--model-memory GB", float, "of the model, on these GPUs together (default: 30)"),
    )
    add_options(
        parser.add_argument_group("the cluster"),
        ("--gpus N", int, "default: 16"),
        ("--memory GB", float, "of each GPU (default: 80)"),
        ("--prefill R", float, "prompt tokens per second of a request (default: 1000)"),
        ("--decode R", float, "output tokens per second of a request (default: 5000)"),
        ("--waves", bool, "start nothing until all that runs has ended"),
    )


OF_LOG = (*READING, "weight", "tensor", "model_memory")
OF_CLUSTER = {
    "gpus": "gpus",
    "memory": "memory_gb",
    "prefill": "prefill_tokens_per_s",
    "decode": "decode_tokens_per_s",
}


def _requests(given: argparse.Namespace) -> Requests:
    there = [] if given.trace is None else ["trace"]
    refuse_idle(given, dict.fromkeys(OF_LOG, ("trace",)), there, "the printed workload", "--")
    cluster = LlmCluster(**those_given(given, OF_CLUSTER))
    if given.trace is None:
        return Requests(cluster=cluster, waves=given.waves)
    requests = read_requests(
        given.trace,
        weight="equal" if given.weight is None else given.weight,
        gpus=2 if given.tensor is None else given.tensor,
        model=QWEN3 if given.model_memory is None else LlmModel("the model", given.model_memory),
        format="azure" if given.trace_format is None else given.trace_format,
        **reading_of(given),
    )
    return Requests(requests, cluster, given.waves)


MODULE = Module(
    Requests,
    _add_requests,
    _requests,
    options={name: option for option, name in OF_CLUSTER.items()},
)


def carry_out(given: argparse.Namespace) -> Answer:
    """What the action answers, in the format asked for."""
    return pattern.carry_out(given, MODULE)


# ---- the table of all schedulers ----

OF_TABLE = {
    **dict.fromkeys(OF_LOG, ("trace",)),
    **dict.fromkeys(OF_CLUSTER, ("trace", "scheduler")),
    **dict.fromkeys(("waves", "by", "events", "step", "gantt", "animate"), ("scheduler",)),
}


def table(given: argparse.Namespace) -> Answer:
    """The printed table, or that of a log; or one scheduler's run."""
    there = list(those_given(given, {"trace": "trace", "policy": "scheduler"}))
    refuse_idle(given, OF_TABLE, there, "a log" if given.trace else "the printed workload", "--")
    if given.policy is not None:
        return pattern.run(argparse.Namespace(**vars(given), seed=0), MODULE)
    rows = table_two() if given.trace is None else _served(given)
    if given.format == "json":
        return Answer(json_text({"rows": rows}))
    if given.format == "csv":
        return Answer(csv_text(rows).rstrip("\n"))
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [[_told(row.get(key)) for key in columns] for row in rows]
    return Answer("\n".join([*aligned([columns, *lines]), "", RESPONSE, OWNED]))


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
