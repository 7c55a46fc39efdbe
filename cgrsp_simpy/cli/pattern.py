"""Actions of every module: run a policy, compare, sweep, draw figures."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from cgrsp_simpy.base.checks import check_whole, require
from cgrsp_simpy.base.files import number_or_text
from cgrsp_simpy.base.policy import pairs
from cgrsp_simpy.base.table import csv_text, figure_text, json_text
from cgrsp_simpy.cli.fields import flag
from cgrsp_simpy.cli.options import (
    BY,
    FORMATTED,
    Answer,
    add_gallery,
    add_options,
    add_study,
    answer,
    by_answer,
    check_work,
    draw_gallery,
    policies_of,
    refuse,
    seeds_of,
)
from cgrsp_simpy.cli.watch import add_show, check_show, draw, watch
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.studies.compare import Comparison, by_column, compare
from cgrsp_simpy.studies.replicate import check_policies, label
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.studies.sweep import points_of, scenarios_of, sweep


class Module(NamedTuple):
    """What a module adds to its commands.

    model: class of its scenarios. add_scenario, scenario_of: the options of a scenario,
    and the scenario from them. seeds: default number of replications. figures: module
    that draws them. more: text and values, for JSON, below the figures of a run.
    beside: text below a comparison's table. drawn: draws passed to a run. sizes: of the
    runs of figures.
    """

    model: type[Model]
    add_scenario: Callable[[argparse.ArgumentParser], None]
    scenario_of: Callable[[argparse.Namespace], Model]
    seeds: int = 10
    figures: str = ""
    more: Callable[[Any, argparse.Namespace], tuple[str, Mapping[str, Any]]] = (
        lambda *_: ("", {})
    )
    beside: Callable[[Comparison], str] = lambda _: ""
    drawn: Callable[[Any, argparse.Namespace], Any] = lambda *_: None
    sizes: Callable[[argparse.Namespace], Mapping[str, Any]] = lambda _: {}


def add_run(parser: argparse.ArgumentParser, module: Module) -> None:
    """Add the options of a run."""
    module.add_scenario(parser)
    _add_policies(parser, module, "--policy", module.model.compared[0])
    add_options(parser, ("--seed N", int, "default: %(default)s", 0), BY)
    add_show(parser)
    # csv: one row per job
    parser.set_defaults(carry_out=partial(run, module), formats=FORMATTED)


def add_compare(parser: argparse.ArgumentParser, module: Module) -> None:
    """Add the options of a comparison."""
    module.add_scenario(parser)
    _add_policies(parser, module, "--policies", None)
    add_study(parser, module.seeds)
    told = (
        "add seeds until the 95 %% half width is at most R times the mean: 0.05 for"
        f" {module.model.report.precise}, or {module.model.report.precise}=0.1,..."
    )
    add_options(parser, BY, ("--precision R", str, told))
    parser.set_defaults(carry_out=partial(compared, module))


def add_sweep(parser: argparse.ArgumentParser, module: Module) -> None:
    """Add the options of a sweep."""
    parser.add_argument(
        "grid",
        nargs="+",
        metavar="NAME=V,V,...",
        help=(
            "a parameter of the scenario, or of a policy (name:parameter), and its"
            " values; several mean the cross product"
        ),
    )
    module.add_scenario(parser)
    _add_policies(parser, module, "--policies", None)
    add_study(parser, module.seeds)
    parser.set_defaults(carry_out=partial(swept, module))


def _add_policies(
    parser: argparse.ArgumentParser, module: Module, option: str, default: str | None
) -> None:
    """Add the option for a policy, or without a default for several."""
    model = module.model
    several = default is None
    told = (
        f"{', '.join(model.policies)}, with parameters as in name:parameter=2, or"
        " functions of a view (own.py:function) (default:"
        f" {','.join(model.compared) if several else default})"
    )
    add_options(parser, (f"{option} {'P,P' if several else 'P'}", str, told, default))


def add_actions(
    parser: argparse.ArgumentParser, module: Module, helps: Mapping[str, str]
) -> Any:
    """Add the actions with their options, and the module's options to the others.

    helps: one line per action before the figures.
    """
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    common = {"run": add_run, "compare": add_compare, "sweep": add_sweep}
    for name, told in helps.items():
        added = actions.add_parser(
            name, help=told, description=told if name in common else None
        )
        if name in common:
            common[name](added, module)
    drawn = actions.add_parser(
        "figures", help="the figures: PNG, SVG, and the CSV of what is plotted"
    )
    add_gallery(drawn, f"figures/{module.figures.split('.')[1]}")
    drawn.set_defaults(carry_out=partial(_figures, module))
    return actions


def run(module: Module, args: argparse.Namespace) -> Answer:
    """Run one policy once; a second one is shown next to it."""
    check_whole("--seed", args.seed, least=0)
    policies = policies_of(args.policy)
    check_show(args, policies)
    scenario = module.scenario_of(args)
    args.policy, policy, *beside = (
        policies[0],
        *map(subject_of(scenario).make_policy, policies),
    )
    work = subject_of(scenario).work_of(policies)
    check_work(args, work, kept=scenario.jobs, per_s=subject_of(scenario).pace_per_s)
    drawn = module.drawn(scenario, args)
    found = watch(
        args,
        lambda listener: subject_of(scenario).simulation(
            policy, args.seed, drawn=drawn, listener=listener
        ),
    )
    rows = (
        None if args.by is None else found.by(args.by)
    )  # check it before files are written
    draw(args, found, [subject_of(scenario).run(other, args.seed) for other in beside])
    text, values = module.more(found, args)
    if rows is not None:
        return by_answer(rows, args)
    if args.format == "csv":
        return Answer(csv_text(found.rows()).rstrip("\n"))
    figures = found.summary()
    if args.format == "json":
        named = {
            "scenario": scenario.name,
            scenario.policy_label: label(args.policy),
            "seed": args.seed,
        }
        return Answer(json_text({**named, "summary": figures, **values}))
    title = f"{scenario.name}, {label(args.policy)}, seed {args.seed}"
    width = max(16, *map(len, figures))
    lines = [
        f"{name:{width}} {figure_text(value):>10}" for name, value in figures.items()
    ]
    return Answer(
        "\n".join(
            [title, *lines, *filter(None, [text, subject_of(scenario).report.note])]
        )
    )


def compared(
    module: Module,
    args: argparse.Namespace,
    more: Callable[[Comparison, int | None], Comparison] = lambda study, _: study,
    check: Callable[[Any, Sequence[str], Sequence[int]], None] = lambda *_: None,
) -> Answer:
    """Compare policies.

    more: extends the study. check: refuses scenario, policies and seeds.
    """
    workers, precision = args.workers, _precision(args.precision, module)
    scenario = module.scenario_of(args)
    policies = policies_given(args, scenario)
    seeds = seeds_of(args, subject_of(scenario).is_random_under(policies))
    work = subject_of(scenario).work_of(policies) * len(seeds)
    check_work(args, work, per_s=subject_of(scenario).pace_per_s)
    check(scenario, policies, seeds)
    if args.by is not None:
        refuse(args, "left out with --by", "out", "precision", "workers")
        named = check_policies(policies, scenario)
        return by_answer(by_column(scenario, named, seeds, args.by), args)
    study = compare(
        scenario, policies, seeds, workers, out=args.out, precision=precision
    )
    study = more(study, workers)
    found = answer(study, args)
    beside = module.beside(study) if args.format == "table" else ""
    return found._replace(text=f"{found.text}\n\n{beside}") if beside else found


def policies_given(args: argparse.Namespace, scenario: Model) -> list[str]:
    """Return the policies of the options, or those of the scenario."""
    own = args.policies
    return (
        list(subject_of(scenario).default_policies())
        if own is None
        else policies_of(own)
    )


def _precision(text: str | None, module: Module) -> dict[str, float] | None:
    """Parse figure -> relative half width, as in "0.05" or "a=0.1,b=0.05"."""
    if text is None:
        return None
    named = module.model.report.tested[1 % len(module.model.report.tested)]
    form = f"a number > 0, or figures and numbers, such as {named}=0.1"
    parts = (
        part if "=" in part else f"{module.model.report.precise}={part}"
        for part in text.split(",")
    )
    return pairs(parts, lambda _: (float, form), form, "--precision: ")


def swept(module: Module, args: argparse.Namespace) -> Answer:
    """Sweep parameters."""
    grid, scenario = grid_of(args.grid), module.scenario_of(args)
    check_free(args, grid)
    policies = policies_given(args, scenario)
    places = scenarios_of(scenario, points_of(grid), policies)
    seeds = seeds_of(args, any(subject_of(place).is_random for place in places))
    work = sum(subject_of(place).work_of(policies) for place in places) * len(seeds)
    check_work(args, work, per_s=subject_of(scenario).pace_per_s)
    return answer(
        sweep(scenario, grid, policies, seeds, args.workers, out=args.out), args
    )


def check_free(args: argparse.Namespace, grid: Mapping[str, Any]) -> None:
    """Raise InputError for an option that the grid overrides."""
    for option, value in vars(args).items():
        for part in value if isinstance(value, list | tuple) else [value]:
            told = part if isinstance(part, dict) else {option: part}
            for name in grid:
                allowed = f"left out if the grid has {name}"
                require(told.get(name) is None, flag(option), value, allowed)


def grid_beside_file(args: argparse.Namespace) -> dict[str, Any]:
    """Return the grid, whose words may include a scenario file."""
    files = [text for text in args.grid if text.endswith(".toml") and "=" not in text]
    require(len(files) <= 1, "scenario files", files, "one")
    args.grid = [text for text in args.grid if text not in files]
    args.scenario = files[0] if files else None
    require(len(args.grid) > 0, "grid", args.grid, "at least one name=value,value,...")
    return grid_of(args.grid)


def grid_of(texts: list[str]) -> dict[str, Any]:
    """Parse the grid in "slots=3,4" "rh:reserve=0,1": name -> values."""
    return pairs(texts, lambda _: (_values, ""), "name=value,value,...", "grid: ")


def _values(text: str) -> list[Any]:
    return [value_of(each) for each in text.split(",")]


def value_of(text: str) -> Any:
    """Parse a whole number, a number, true or false, or else a text."""
    return text == "true" if text in ("true", "false") else number_or_text(text)


def _figures(module: Module, args: argparse.Namespace) -> Answer:
    # loads matplotlib
    return draw_gallery(args, import_module(module.figures), **module.sizes(args))
