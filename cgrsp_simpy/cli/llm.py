"""LLM inference requests on replicas with batching: run, compare and sweep policies,
the paper's table, figures.
"""

from __future__ import annotations

import argparse

from cgrsp_simpy.base.table import aligned
from cgrsp_simpy.cli.fields import (
    Field,
    add_fields,
    add_pairs,
    fields_of,
    given_of,
    named_pairs,
)
from cgrsp_simpy.cli.options import (
    FORMATTED,
    Answer,
    add_log,
    add_options,
    cells_of,
    formatted,
    reading_of,
    refuse,
)
from cgrsp_simpy.cli.pattern import Module, add_actions
from cgrsp_simpy.llm.paper import table_two
from cgrsp_simpy.llm.requests import WEIGHTS, Offered, RequestList, read_requests
from cgrsp_simpy.llm.scenario import Scenario
from cgrsp_simpy.llm.service import Service
from cgrsp_simpy.llm.steps import Roofline, StepTable, read_steps
from cgrsp_simpy.logs import FORMATS

NOTE = (
    "response: from arrival to completion, which the paper calls waiting. double count:"
    " the authors' loop counts the requests that run twice."
)
LOG = "such as a CSV of TIMESTAMP, ContextTokens, GeneratedTokens"
OF_LOG = {
    "format": Field("format", str, ", ".join(FORMATS), "azure"),
    "weight": Field("weight", str, f"of a request: {' or '.join(WEIGHTS)}", "equal"),
}
OF_STEPS = {"model": Field("model", str, "whose steps are read, of the column model")}
TARGETS = ("ttft_target_s", "tpot_target_s")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = add_actions(
        parser,
        MODULE,
        {
            "run": "one policy: figures, one row per request; event by event, or drawn",
            "compare": "policies on the same requests",
            "sweep": (
                "policies at every point of a grid: gpus, tensor_parallel, max_batch,"
                " chunk_tokens, rate_per_s, ttft_target_s, ..."
            ),
        },
    )
    add_log(actions.choices["figures"], f"a log for the figure gpus, {LOG}", OF_LOG)
    told = (
        "the paper's table by its authors' loop, as printed, and without its double"
        " count"
    )
    table = actions.add_parser("table", help=told, description=told)
    table.set_defaults(carry_out=_table, formats=FORMATTED)


def _add_scenario(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "scenario: requests, drawn or of a log, and who serves them"
    )
    add_pairs(group, "requests", fields_of(Offered), "those that are drawn")
    add_log(group, LOG, OF_LOG)
    add_fields(group, Scenario, "service", *TARGETS)
    columns = (
        "how long steps take: CSV of gpu, tensor_parallel, phase, batch, tokens, ms,"
        " or of"
    )
    model = "(FILE:model=NAME if it has several models)"
    roofline = "roofline:tflops=X,bandwidth_gb_per_s=X,efficiency=X"
    usual = "(default: Llama 2 70B as measured)"
    add_options(
        group,
        (
            "--steps FILE",
            str,
            f"{columns} splitwise-sim {model}, or {roofline} {usual}",
        ),
    )


def _scenario(args: argparse.Namespace) -> Scenario:
    own = given_of(args, *TARGETS)
    if args.steps is not None:
        own["steps"] = _steps(args.steps)
    return Scenario(_source(args), Service(**args.service or {}), **own)


def _source(args: argparse.Namespace) -> Offered | RequestList:
    if args.trace is None:
        refuse(args, "given with --trace", "log")
        return Offered(**getattr(args, "requests", None) or {})
    refuse(args, "left out with --trace, which has the requests", "requests")
    return read_requests(args.trace, **reading_of(args, *OF_LOG))


def _steps(text: str) -> StepTable | Roofline:
    if text.partition(":")[0] != "roofline":
        path, model = named_pairs(OF_STEPS, text)
        return read_steps(path, **model)
    return Roofline(**named_pairs(fields_of(Roofline), text)[1])


MODULE = Module(
    Scenario,
    _add_scenario,
    _scenario,
    figures="cgrsp_simpy.llm.figures",
    sizes=lambda args: {"source": _source(args)},
)


def _table(args: argparse.Namespace) -> Answer:
    """Return the printed table."""
    rows = table_two()
    text = "\n".join([*aligned(cells_of(rows)), "", NOTE])
    return formatted(args, {"rows": rows}, rows, lambda: text)
