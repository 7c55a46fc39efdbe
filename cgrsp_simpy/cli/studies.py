"""Compare alternatives on the same seeds, at one point or at every point of a grid."""

from __future__ import annotations

import argparse
import itertools
from typing import Any

from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.base.policy import pairs
from cgrsp_simpy.cli.answers import Answer
from cgrsp_simpy.cli.bound import check_bounds
from cgrsp_simpy.cli.options import (
    add_options,
    add_policies,
    add_scenario,
    add_study,
    answer,
    check_work,
    policies_given,
    seeds_of,
)
from cgrsp_simpy.cli.parsing import Command
from cgrsp_simpy.cli.run import grouped_answer
from cgrsp_simpy.cli.scenarios import RENTAL_NAMES, Worded
from cgrsp_simpy.decide.bounds import check_proved
from cgrsp_simpy.decide.gaps import LUCKS, with_gaps
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.compare import by_column, compare
from cgrsp_simpy.studies.function import FunctionModel
from cgrsp_simpy.studies.replicate import check_policies
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.studies.sweep import points_of, scenarios_of, sweep

FUNCTION = "omitted with a function, whose parameters are compared"


def _add_compare(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser, "for a function, several values are compared: tellers=2,3")
    add_policies(parser)
    add_study(parser, 10)
    precision = (
        "add seeds until the 95 %% half width is at most R times the mean, such"
        " as 0.05 for the main figure, or wait_min=0.1,miss_pct=0.1"
    )
    gap = "for rented slots: report how far each policy is above the lower bound"
    add_options(
        parser,
        ("--by COLUMN", str, "report figures per value of a column of the log"),
        ("--precision R", str, precision),
        ("--gap", bool, gap),
    )


def _compare(args: argparse.Namespace) -> Answer:
    worded = Worded(args.scenario, args.words)
    if isinstance(worded.scenario, FunctionModel):
        return _compare_alternatives(args, worded)
    scenario = worded.single("compare")
    subject = subject_of(scenario)
    policies = policies_given(args, subject)
    subject.check_effective(worded.names, policies)
    seeds = seeds_of(args, subject.is_random_under(policies))
    jobs = subject.work_of(policies) * len(seeds)
    check_work(args, jobs, per_s=subject.pace_per_s)
    if args.by is not None:
        for option in ("out", "precision", "workers"):
            value = getattr(args, option)
            require(value is None, f"--{option}", value, "omitted if --by is given")
        require(not args.gap, "--gap", args.gap, "omitted if --by is given")
        named = check_policies(policies, scenario)
        rows = by_column(scenario, named, seeds, args.by)
        return grouped_answer(args, worded, rows, [*named], [*seeds])
    if args.gap:
        allowed = f"of rented slots with --gap: {RENTAL_NAMES}"
        require(isinstance(scenario, Scenario), "scenario", args.scenario, allowed)
        check_proved(scenario)
        runs = LUCKS * len(policies) * len(seeds)
        check_bounds(args, scenario, 2 * len(seeds), runs)
    study = compare(
        scenario,
        policies,
        seeds,
        args.workers,
        out=args.out,
        precision=_precision(args.precision, subject.report),
        engine=args.engine,
    )
    if args.gap:
        study = with_gaps(study, args.workers)
    return answer(study, args, worded, *subject.study_details(study))


def _compare_alternatives(args: argparse.Namespace, worded: Worded) -> Answer:
    """Compare all combinations of a function's words that have several values."""
    for option in ("policies", "by", "gap"):
        value = getattr(args, option)
        require(not value, f"--{option}", value, FUNCTION)
    varied = {word: values for word, values in worded.grid.items() if len(values) > 1}
    combinations = itertools.product(*varied.values())
    alternatives = [dict(zip(varied, values)) for values in combinations]
    study = compare(
        worded.scenario,
        alternatives if varied else [worded.scenario.name],
        seeds_of(args),
        args.workers,
        out=args.out,
        precision=_precision(args.precision, subject_of(worded.scenario).report),
    )
    return answer(study, args, worded)


def _precision(text: str | None, report: Any) -> dict[str, float] | None:
    """Parse relative half widths by figure from "0.05" or "a=0.1,b=0.05"."""
    if text is None:
        return None
    named = report.tested[1 % len(report.tested)] if report.tested else "wait_s"
    form = f"a number > 0, or figures and numbers, such as {named}=0.1"
    chief = report.precise
    parts = (part if "=" in part else f"{chief}={part}" for part in text.split(","))
    if not chief and "=" not in text:
        raise InputError(f"--precision(={text!r}) must name a figure: {named}={text}")
    return pairs(parts, lambda _: (float, form), form, "--precision: ")


def _add_sweep(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    add_policies(parser)
    add_study(parser, 10)


def _sweep(args: argparse.Namespace) -> Answer:
    worded = Worded(args.scenario, args.words)
    several = [word for word, values in worded.grid.items() if len(values) > 1]
    if not several:
        raise InputError(
            "a sweep needs a parameter with several values, such as slots=4,5,6"
        )
    grid = {
        word: values if len(values) > 1 else values[0]
        for word, values in worded.grid.items()
    }
    subject = subject_of(worded.scenario)
    is_function = isinstance(worded.scenario, FunctionModel)
    policies = [] if is_function else policies_given(args, subject)
    places = scenarios_of(worded.made, points_of(grid), policies)
    subjects = [subject_of(place) for place in places]
    require(not (is_function and args.policies), "--policies", args.policies, FUNCTION)
    subject.check_effective(worded.names, policies)
    seeds = seeds_of(args, any(each.is_random_under(policies) for each in subjects))
    jobs = sum(each.work_of(policies) for each in subjects) * len(seeds)
    check_work(args, jobs, per_s=subject.pace_per_s)
    study = sweep(
        worded.made,
        grid,
        policies or None,
        seeds,
        args.workers,
        out=args.out,
        engine=args.engine,
    )
    return answer(study, args, worded)


COMMANDS = {
    "compare": Command(_add_compare, _compare, parallel=True, engines=True),
    "sweep": Command(_add_sweep, _sweep, parallel=True, engines=True),
}
