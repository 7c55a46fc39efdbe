"""Recommend the next dispatches for the current queue, forecast it, or forecast the
waits of a log.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from typing import Any

from cgrsp_simpy.base.checks import (
    InputError,
    require,
    shown,
)
from cgrsp_simpy.base.files import faults_of
from cgrsp_simpy.base.table import Table, cells_of, document
from cgrsp_simpy.cli.options import (
    check_omitted,
    check_work,
    number_of,
    policies_of,
    policies_option,
    seeds_of,
    seeds_option,
    words_argument,
)
from cgrsp_simpy.cli.parsing import Answer, Command, argument, formatted
from cgrsp_simpy.cli.scenarios import RENTAL_NAMES, Worded
from cgrsp_simpy.decide.live import PARTS, forecast, late_jobs, next_dispatches
from cgrsp_simpy.engine.report import Report
from cgrsp_simpy.engine.state import State, table_of

NAMED = f"a scenario and parameters, such as hectic slots=5 ({RENTAL_NAMES}; cluster)"
USUAL = "triage; for a cluster, easy"
PACE_PER_S = 1_000.0  # jobs that are simulated in SimPy, roughly
SEEDS = 200  # of a forecast, by default


def _state_of(args: argparse.Namespace) -> tuple[State, Worded]:
    """Return the state that the options name, and its scenario."""
    table = table_of(args.state)
    name, *words = _words(args.state, table) or [""]
    require(bool(name), f"{args.state}: scenario", name, NAMED)
    worded = Worded(name, words)
    scenario = worded.single(args.verb)
    report = scenario.report(scenario)
    has_states = type(report).state_class is not Report.state_class
    require(has_states, "scenario", name, NAMED)
    with faults_of(args.state):
        state: State = report.state_class().from_table(table)
    return state, worded


def _words(path: str, table: Mapping[str, Any]) -> list[str]:
    """Return the name and the NAME=VALUE words of a state's scenario."""
    text = table.get("scenario", "")
    try:
        return shlex.split(text)
    except (ValueError, AttributeError):
        raise InputError(f"{path}: scenario(={shown(text)}) must be {NAMED}") from None


def _next(args: argparse.Namespace) -> Answer:
    state, worded = _state_of(args)
    policies = args.policy or [state.usual]
    require(len(policies) == 1, "--policy", ",".join(policies), "one policy")
    decision = next_dispatches(state, worded.scenario, policies[0])
    wake_s = decision.wake_s
    content = document(
        worded.scenario.name,
        decision.rows,
        parameters=worded.parameters,
        alternatives=policies,
        next={
            "waiting": decision.waiting,
            "past_estimate": state.past_estimate,
            "wake_s": wake_s,
            "memory": decision.memory,
        },
    )
    again = "" if wake_s is None else f"; decide again at {wake_s:g} s at the latest"
    note = f"Jobs that remain waiting: {decision.waiting}{again}.{late_jobs(state)}"
    rows = [
        {
            name: "+".join(map(str, value)) if isinstance(value, list) else value
            for name, value in row.items()
        }
        for row in decision.rows
    ]
    cells = cells_of(rows) if rows else [["no dispatch"]]
    title = f"{worded.scenario.name} at {state.now_s:g} s, {policies[0]}"
    return formatted(args, content, rows, lambda: [Table(title, cells, note)])


def _forecast_log(args: argparse.Namespace) -> Answer:
    """Return forecast quantiles of waits for a log that no scheduler explains."""
    check_omitted(args, ("slot", "later", "seeds"), "omitted if a log is given")
    # these load part of SciPy
    from cgrsp_simpy.cli.records import replayed, verdict

    worded, result = replayed(args, args.state)
    names, title = result.explained_by, verdict(result)
    rows, scores = ([], []) if names else _waits(result.scenario)
    content = document(
        result.scenario.name,
        scores,
        parameters=worded.parameters,
        alternatives=["model", "control"] if scores else [],
        explained_by=names,
        forecast={"jobs": rows},
    )
    instead = f"forecast by simulation, from a state, with --policies {','.join(names)}"
    note = (
        "Of the last 70 % of the jobs, from what was known at each submission; pinball"
        " loss of the 5, 50 and 95 % quantiles, and the share of waits between the"
        " outer ones. The control are the quantiles of the last 200 known waits of the"
        " same size class. One row per job in --format csv and json."
    )
    table = Table(
        title, cells_of(scores) if scores else [[instead]], note * bool(scores)
    )
    return formatted(args, content, rows, lambda: [table])


def _waits(scenario: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a row per forecast job, and the scores of the model and the control."""
    from cgrsp_simpy.cluster import waits

    known = waits.known_waits(scenario.source)
    first = max(1, int(waits.LEARNED_FROM * len(known.wait_s)))
    model = waits.rolling_forecast(known, first)
    wait_s, control = known.wait_s[first:], known.control[first:]
    names = [f"wait_{part}_s" for part in PARTS]
    rows = [
        {"job": job, **dict(zip(names, quantiles)), "wait_s": recorded_s}
        for job, (quantiles, recorded_s) in enumerate(
            zip(model.tolist(), wait_s.tolist()), first
        )
    ]
    return rows, [
        {
            "alternative": name,
            "pinball_s": waits.pinball_s(wait_s, quantiles),
            "coverage_pct": 100 * waits.coverage(wait_s, quantiles),
        }
        for name, quantiles in (("model", model), ("control", control))
    ]


def _forecast(args: argparse.Namespace) -> Answer:
    if not args.state.endswith(".json"):
        return _forecast_log(args)
    require(
        not args.words,
        "parameters",
        " ".join(args.words),
        "omitted if a state is given",
    )
    state, worded = _state_of(args)
    policies, seeds = args.policies or [state.usual], seeds_of(args, SEEDS)
    alternatives = len(policies) + (args.slot is not None) + (args.later is not None)
    jobs = state.resumed(worded.scenario).jobs
    check_work(args, jobs * len(seeds) * alternatives, per_s=PACE_PER_S)
    result = forecast(
        state, worded.scenario, policies, seeds, slot=args.slot, later_h=args.later
    )
    content = document(
        worded.scenario.name,
        result.figures,
        parameters=worded.parameters,
        alternatives=[*result.samples],
        seeds=seeds,
        differences=result.differences,
        forecast={
            "now_s": state.now_s,
            "past_estimate": state.past_estimate,
            "jobs": result.jobs,
            "queue": result.queue,
        },
    )
    return formatted(args, content, result.jobs, result.tables)


NEXT_ARGUMENTS = [
    argument(
        "state STATE.json",
        "state of the queue and its slots, including the name of its scenario",
    ),
    argument(
        "--policy P",
        f"policy, written as in --policies of compare (default: {USUAL})",
        type=policies_of,
    ),
]
FORECAST_ARGUMENTS = [
    argument(
        "state STATE.json|LOG",
        "state of a queue, FILE.json, including the name of its scenario; or a"
        " log of jobs. If no scheduler explains the waits of the log, they are"
        " forecast from the data known at each submission",
    ),
    words_argument(
        "parameters for a log, as in cgrsp replay: cluster=4x8 or log.window=FROM:TO"
    ),
    policies_option(
        f"{USUAL}; the first is the current policy; for a log, the candidates that may"
        " explain it"
    ),
    argument(
        "--slot TYPE",
        "add a forecast with one more slot of this GPU type, or one more node of GPUs",
    ),
    argument(
        "--later H",
        "add a forecast without dispatches for H hours",
        type=number_of("--later", above=0),
    ),
    seeds_option(SEEDS),
]
COMMANDS = {
    "next": Command(NEXT_ARGUMENTS, _next),
    "forecast": Command(FORECAST_ARGUMENTS, _forecast, engines=True),
}
