"""Decide on a queue as it is now: its next dispatches, and a forecast."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.table import Table, cells_of, document
from cgrsp_simpy.cli.answers import Answer, formatted
from cgrsp_simpy.cli.options import (
    add_options,
    add_policies,
    add_study,
    check_work,
    policies_of,
    seeds_of,
)
from cgrsp_simpy.cli.parsing import Command
from cgrsp_simpy.cli.scenarios import RENTAL_NAMES, Worded
from cgrsp_simpy.decide.live import forecast, next_dispatches
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.state import State

POLICY = "triage"
PACE_PER_S = 5_000.0  # jobs that are simulated, roughly


def _add_state(parser: argparse.ArgumentParser) -> None:
    text = "the state of the queue and its slots, which names its scenario"
    parser.add_argument("state", metavar="STATE.json", help=text)


def _state_of(args: argparse.Namespace) -> tuple[State, Worded]:
    """Return the state of the options, and its scenario."""
    state = State.from_json(args.state)
    try:
        name, *words = shlex.split(state.scenario)
    except ValueError:
        allowed = f"a name and words, as in hectic slots=5 ({RENTAL_NAMES})"
        require(False, f"{args.state}: scenario", state.scenario, allowed)
    worded = Worded(name, words)
    scenario = worded.single(args.verb)
    require(isinstance(scenario, Scenario), "scenario", name, RENTAL_NAMES)
    return state, worded


def _add_next(parser: argparse.ArgumentParser) -> None:
    _add_state(parser)
    text = f"as in --policies of compare (default: {POLICY})"
    add_options(parser, ("--policy P", policies_of, text))


def _next(args: argparse.Namespace) -> Answer:
    state, worded = _state_of(args)
    policies = args.policy or [POLICY]
    require(len(policies) == 1, "--policy", ",".join(policies), "one policy")
    decision = next_dispatches(state, worded.scenario, policies[0])
    wake_s = decision.wake_s
    more: dict[str, Any] = {"waiting": decision.waiting, "wake_s": wake_s}
    content = document(
        worded.scenario.name,
        decision.rows,
        parameters=worded.parameters,
        alternatives=policies,
        next={**more, "memory": decision.memory},
    )
    note = f"Jobs that go on waiting: {decision.waiting}" + (
        "." if wake_s is None else f"; decide again at {wake_s:g} s at the latest."
    )
    rows = [row | {"slots": "+".join(map(str, row["slots"]))} for row in decision.rows]
    cells = cells_of(rows) if rows else [["no dispatch"]]
    title = f"{worded.scenario.name} at {state.now_s:g} s, {policies[0]}"
    return formatted(args, content, rows, lambda: [Table(title, cells, note)])


def _add_forecast(parser: argparse.ArgumentParser) -> None:
    _add_state(parser)
    add_policies(parser, f"{POLICY}; the first is the one in use")
    add_options(
        parser,
        ("--slot TYPE", str, "also with one more slot of this GPU type"),
        ("--later H", float, "also if nothing is dispatched for so many hours"),
    )
    add_study(parser, 200, out=False)


def _forecast(args: argparse.Namespace) -> Answer:
    state, worded = _state_of(args)
    policies, seeds = args.policies or [POLICY], seeds_of(args)
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
        forecast={"now_s": state.now_s, "jobs": result.jobs, "queue": result.queue},
    )
    return formatted(args, content, result.jobs, result.tables)


COMMANDS = {
    "next": Command(_add_next, _next),
    "forecast": Command(_add_forecast, _forecast, engines=True),
}
