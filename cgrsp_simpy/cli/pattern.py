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


def run(module: Module, given: argparse.Namespace) -> Answer:
    """Run one policy once; a second one is shown next to it."""
    check_whole("--seed", given.seed, least=0)
    policies = policies_of(given.policy)
    check_show(given, policies)
    scenario = module.scenario_of(given)
    given.policy, policy, *beside = (
        policies[0],
        *map(subject_of(scenario).make_policy, policies),
    )
    work = subject_of(scenario).work_of(policies)
    check_work(given, work, kept=scenario.jobs, per_s=subject_of(scenario).pace_per_s)
    drawn = module.drawn(scenario, given)
    found = watch(
        given,
        lambda listener: subject_of(scenario).simulation(
            policy, given.seed, drawn=drawn, listener=listener
        ),
    )
    rows = (
        None if given.by is None else found.by(given.by)
    )  # check it before files are written
    draw(
        given, found, [subject_of(scenario).run(other, given.seed) for other in beside]
    )
    text, values = module.more(found, given)
    if rows is not None:
        return by_answer(rows, given)
    if given.format == "csv":
        return Answer(csv_text(found.rows()).rstrip("\n"))
    figures = found.summary()
    if given.format == "json":
        named = {
            "scenario": scenario.name,
            scenario.policy_label: label(given.policy),
            "seed": given.seed,
        }
        return Answer(json_text({**named, "summary": figures, **values}))
    title = f"{scenario.name}, {label(given.policy)}, seed {given.seed}"
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
    given: argparse.Namespace,
    more: Callable[[Comparison, int | None], Comparison] = lambda study, _: study,
    check: Callable[[Any, Sequence[str], Sequence[int]], None] = lambda *_: None,
) -> Answer:
    """Compare policies.

    more: extends the study. check: refuses scenario, policies and seeds.
    """
    workers, precision = given.workers, _precision(given.precision, module)
    scenario = module.scenario_of(given)
    policies = policies_given(given, scenario)
    seeds = seeds_of(given, subject_of(scenario).is_random_under(policies))
    work = subject_of(scenario).work_of(policies) * len(seeds)
    check_work(given, work, per_s=subject_of(scenario).pace_per_s)
    check(scenario, policies, seeds)
    if given.by is not None:
        refuse(given, "left out with --by", "out", "precision", "workers")
        named = check_policies(policies, scenario)
        return by_answer(by_column(scenario, named, seeds, given.by), given)
    study = compare(
        scenario, policies, seeds, workers, out=given.out, precision=precision
    )
    study = more(study, workers)
    found = answer(study, given)
    beside = module.beside(study) if given.format == "table" else ""
    return found._replace(text=f"{found.text}\n\n{beside}") if beside else found


def policies_given(given: argparse.Namespace, scenario: Model) -> list[str]:
    """Return the policies of the options, or those of the scenario."""
    own = given.policies
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


def swept(module: Module, given: argparse.Namespace) -> Answer:
    """Sweep parameters."""
    grid, scenario = grid_of(given.grid), module.scenario_of(given)
    check_free(given, grid)
    policies = policies_given(given, scenario)
    places = scenarios_of(scenario, points_of(grid), policies)
    seeds = seeds_of(given, any(subject_of(place).is_random for place in places))
    work = sum(subject_of(place).work_of(policies) for place in places) * len(seeds)
    check_work(given, work, per_s=subject_of(scenario).pace_per_s)
    return answer(
        sweep(scenario, grid, policies, seeds, given.workers, out=given.out), given
    )


def check_free(given: argparse.Namespace, grid: Mapping[str, Any]) -> None:
    """Raise InputError for an option that the grid overrides."""
    for option, value in vars(given).items():
        for part in value if isinstance(value, list | tuple) else [value]:
            told = part if isinstance(part, dict) else {option: part}
            for name in grid:
                allowed = f"left out if the grid has {name}"
                require(told.get(name) is None, flag(option), value, allowed)


def grid_beside_file(given: argparse.Namespace) -> dict[str, Any]:
    """Return the grid, whose words may include a scenario file."""
    files = [text for text in given.grid if text.endswith(".toml") and "=" not in text]
    require(len(files) <= 1, "scenario files", files, "one")
    given.grid = [text for text in given.grid if text not in files]
    given.scenario = files[0] if files else None
    require(
        len(given.grid) > 0, "grid", given.grid, "at least one name=value,value,..."
    )
    return grid_of(given.grid)


def grid_of(texts: list[str]) -> dict[str, Any]:
    """Parse the grid in "slots=3,4" "rh:reserve=0,1": name -> values."""
    return pairs(texts, lambda _: (_values, ""), "name=value,value,...", "grid: ")


def _values(text: str) -> list[Any]:
    return [value_of(each) for each in text.split(",")]


def value_of(text: str) -> Any:
    """Parse a whole number, a number, true or false, or else a text."""
    return text == "true" if text in ("true", "false") else number_or_text(text)


def _figures(module: Module, given: argparse.Namespace) -> Answer:
    # loads matplotlib
    return draw_gallery(given, import_module(module.figures), **module.sizes(given))
