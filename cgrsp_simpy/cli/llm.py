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
    add_reading,
    reading_of,
    refuse_idle,
)
from cgrsp_simpy.cli.pattern import Module, add_actions
from cgrsp_simpy.cli.watch import add_watching
from cgrsp_simpy.hgsp.llm import OWNED, table_two
from cgrsp_simpy.hgsp.llm_policies import SCHEDULERS
from cgrsp_simpy.hgsp.llm_requests import QWEN3, WEIGHTS, LlmCluster, LlmModel, read_requests
from cgrsp_simpy.hgsp.serving import Requests
from cgrsp_simpy.model.shown import figure_text
from cgrsp_simpy.model.table import aligned, csv_text, json_text

__all__ = ["add_arguments", "add_table", "carry_out", "table"]

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
    parser.add_argument(
        "--scheduler",
        dest="policy",
        metavar="NAME",
        help=f"one, in one mode: {', '.join(SCHEDULERS)}, or own.py:function of a RequestState",
    )
    add_by(parser)
    add_watching(parser)
    parser.add_argument(
        "--format",
        choices=("table", "csv", "json"),
        default="table",
        help="figures; csv: the rows, or a row a request",
    )


def _add_requests(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("requests: the printed workload, or a log")
    group.add_argument(
        "--trace", metavar="FILE", help="such as a CSV of TIMESTAMP, ContextTokens, GeneratedTokens"
    )
    add_reading(group, "azure")
    group.add_argument(
        "--weight",
        metavar="LAW",
        help=f"of a log's requests: {' or '.join(WEIGHTS)} (default: equal)",
    )
    group.add_argument(
        "--tensor",
        type=int,
        metavar="N",
        help="GPUs that a log's request claims at once (default: 2)",
    )
    group.add_argument(
        "--model-memory",
        type=float,
        metavar="GB",
        help="of the model, on these GPUs together (default: 30)",
    )
    group = parser.add_argument_group("the cluster")
    group.add_argument("--gpus", type=int, metavar="N", help="default: 16")
    group.add_argument("--memory", type=float, metavar="GB", help="of each GPU (default: 80)")
    group.add_argument(
        "--prefill",
        type=float,
        metavar="R",
        help="prompt tokens per second of a request (default: 1000)",
    )
    group.add_argument(
        "--decode",
        type=float,
        metavar="R",
        help="output tokens per second of a request (default: 5000)",
    )
    group.add_argument(
        "--waves", action="store_true", help="start nothing until all that runs has ended"
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
    own = {
        name: getattr(given, option)
        for option, name in OF_CLUSTER.items()
        if getattr(given, option) is not None
    }
    cluster = LlmCluster(**own)
    if given.trace is None:
        return Requests(cluster=cluster, waves=given.waves)
    requests = read_requests(
        given.trace,
        weight=given.weight or "equal",
        gpus=2 if given.tensor is None else given.tensor,
        model=QWEN3 if given.model_memory is None else LlmModel("the model", given.model_memory),
        format=given.trace_format or "azure",
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
    sources = {"trace": given.trace, "scheduler": given.policy}
    there = [name for name, value in sources.items() if value is not None]
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
