"""The actions that every module has: run one policy, compare several, sweep parameters,
draw the figures.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.cli.options import (
    Answer,
    add_by,
    add_gallery,
    add_study,
    add_yes,
    answer,
    by_answer,
    check_work,
    gallery_of,
    policies_of,
    seeds_of,
    workers_of,
)
from cgrsp_simpy.cli.watch import add_watching, check_watching, draw, watch
from cgrsp_simpy.model.checks import InputError, check_whole, require
from cgrsp_simpy.model.model import Model
from cgrsp_simpy.model.table import csv_text, json_text
from cgrsp_simpy.studies.compare import Comparison, compare
from cgrsp_simpy.studies.replicate import check_policies, label, simulate
from cgrsp_simpy.studies.sweep import sweep

__all__ = [
    "Module",
    "add_actions",
    "add_compare",
    "add_run",
    "add_sweep",
    "carry_out",
    "check_free",
    "compared",
    "grid_of",
    "policies_given",
    "run",
    "swept",
]


class Module(NamedTuple):
    """What a module brings to its commands.

    model: the class of its scenarios. add_scenario, scenario_of: the options that name one, and
    what they name. seeds: number of replications unless told. figures: the module that draws them.
    more: text and values, for JSON, that stand below the figures of a run. beside: text below
    a comparison's table. drawn: what a run is given of the draws of its seed.
    """

    model: type[Model[Any]]
    add_scenario: Callable[[argparse.ArgumentParser], None]
    scenario_of: Callable[[argparse.Namespace], Model[Any]]
    seeds: int = 10
    figures: str = ""
    more: Callable[[Any, argparse.Namespace], tuple[str, Mapping[str, Any]]] = lambda *_: ("", {})
    beside: Callable[[Comparison], str] = lambda _: ""
    drawn: Callable[[Any, argparse.Namespace], Any] = lambda *_: None


def add_run(parser: argparse.ArgumentParser, module: Module) -> None:
    """Add the options of a run."""
    module.add_scenario(parser)
    _add_policies(parser, module, "--policy", module.model.compared[0])
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--format",
        choices=("table", "csv", "json"),
        default="table",
        help="figures; csv: a row a job",
    )
    add_by(parser)
    add_yes(parser)
    add_watching(parser)


def add_compare(parser: argparse.ArgumentParser, module: Module) -> None:
    """Add the options of a comparison."""
    module.add_scenario(parser)
    _add_policies(parser, module, "--policies", None)
    add_study(parser, number=module.seeds)
    add_by(parser)
    parser.add_argument(
        "--precision",
        metavar="R",
        help=(
            "add seeds until the 95 %% half width is at most R times the mean: 0.05 for"
            f" {module.model.precise}, or {module.model.precise}=0.1,..."
        ),
    )


def add_sweep(parser: argparse.ArgumentParser, module: Module) -> None:
    """Add the options of a sweep."""
    parser.add_argument(
        "grid",
        nargs="+",
        metavar="NAME=V,V,...",
        help=(
            "a parameter of the scenario, or of a policy (name:parameter), and its values;"
            " several mean the cross product"
        ),
    )
    module.add_scenario(parser)
    _add_policies(parser, module, "--policies", None)
    add_study(parser, number=module.seeds)
    parser.set_defaults(default_of=parser.get_default)


def _add_policies(
    parser: argparse.ArgumentParser, module: Module, option: str, default: str | None
) -> None:
    """Add the option that names policies, under the module's own word as well."""
    model = module.model
    own = f"--{model.noun}{'s' * (default is None)}"
    names = [option] if model.noun == "policy" else [option, own]
    several = default is None
    parser.add_argument(
        *names,
        dest="policies" if several else "policy",
        default=default,
        metavar="P,P,..." if several else "P",
        help=(
            f"{', '.join(model.policies)}, with parameters as in name:parameter=2,"
            " or functions of a view (own.py:function); default:"
            f" {','.join(model.compared) if several else default}"
        ),
    )


def add_actions(actions: Any, module: Module, helps: Mapping[str, str]) -> None:
    """Add the actions with their options. helps: a line on each action that the module has."""
    for name, add in (("run", add_run), ("compare", add_compare), ("sweep", add_sweep)):
        add(actions.add_parser(name, help=helps[name], description=helps[name]), module)
    if module.figures:
        drawn = actions.add_parser(
            "figures", help="the figures: PNG, SVG, and the CSV of what is plotted"
        )
        add_gallery(drawn, f"figures/{module.figures.split('.')[1]}")


def carry_out(given: argparse.Namespace, module: Module) -> Answer:
    """What one of the actions answers."""
    return {"run": run, "compare": compared, "sweep": swept, "figures": _figures}[given.action](
        given, module
    )


def run(given: argparse.Namespace, module: Module) -> Answer:
    """Run one policy once."""
    check_whole("--seed", given.seed, least=0)
    check_watching(given)
    scenario = module.scenario_of(given)
    policy = scenario.make_policy(given.policy)
    check_work(given, scenario.work, kept=scenario.jobs)
    drawn = module.drawn(scenario, given)
    found = watch(
        given,
        lambda listener: scenario.simulation(policy, given.seed, drawn=drawn, listener=listener),
    )
    draw(given, found)
    text, values = module.more(found, given)
    if given.by is not None:
        return by_answer(by_column(found, given.by), given)
    if given.format == "csv":
        return Answer(csv_text(found.rows()).rstrip("\n"))
    figures = found.summary()
    if given.format == "json":
        named = {"scenario": scenario.name, scenario.noun: label(given.policy), "seed": given.seed}
        return Answer(json_text({**named, "summary": figures, **values}))
    title = f"{scenario.name}, {label(given.policy)}, seed {given.seed}"
    width = max(16, *map(len, figures))
    lines = [f"{name:{width}} {told(value):>10}" for name, value in figures.items()]
    return Answer("\n".join([title, *lines, *([text] if text else [])]))


def by_column(run: Any, column: str) -> list[dict[str, Any]]:
    """The figures of a run by the values of a log's column."""
    require(hasattr(run, "by"), "--by", column, "left out: these jobs have no columns of a log")
    return run.by(column)  # type: ignore[no-any-return]


def told(value: Any) -> str:
    """A figure as text: what is not known is a dash."""
    if value is None or value != value:
        return "-"
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


def compared(
    given: argparse.Namespace,
    module: Module,
    more: Callable[[Comparison, int | None], Comparison] = lambda study, _: study,
) -> Answer:
    """Compare policies. more: what is added to the study."""
    workers, precision, scenario = (
        workers_of(given),
        _precision(given.precision, module),
        module.scenario_of(given),
    )
    policies = policies_given(given, scenario)
    seeds = seeds_of(given) if scenario.is_random_under(policies) else range(1)
    check_work(given, scenario.work * len(policies) * len(seeds))
    if given.by is not None:
        for name in ("out", "precision", "workers"):
            value = getattr(given, name)
            require(value is None, f"--{name}", value, "left out beside --by")
        return by_answer(_compared_by(scenario, policies, seeds, given.by), given)
    study = compare(scenario, policies, seeds, workers, out=given.out, precision=precision)
    study = more(study, workers)
    found = answer(study, given)
    beside = module.beside(study) if given.format == "table" else ""
    return found._replace(text=f"{found.text}\n\n{beside}") if beside else found


def _compared_by(
    scenario: Model[Any], policies: Sequence[str], seeds: Sequence[int], column: str
) -> list[dict[str, Any]]:
    """A row a value of a log's column and policy: the means over the seeds of what became of the
    jobs of that value.
    """
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for policy in check_policies(policies, scenario):
        for seed in seeds:
            for row in by_column(simulate(scenario, policy, seed), column):
                found.setdefault((row["value"], policy), []).append(row)
    return [
        {"by": column, "value": value, "policy": policy, **_means(rows)}
        for (value, policy), rows in sorted(found.items())
    ]


def _means(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    names = [name for name in rows[0] if name not in ("by", "value")]
    return {name: mean([row[name] for row in rows]).mean for name in names}


def policies_given(given: argparse.Namespace, scenario: Model[Any]) -> list[str]:
    """The policies that the options name, or those of the scenario."""
    return (
        list(scenario.default_policies()) if given.policies is None else policies_of(given.policies)
    )


def _precision(text: str | None, module: Module) -> dict[str, float] | None:
    """Figure -> relative half width, from "0.05" or "a=0.1,b=0.05"."""
    if text is None:
        return None
    wanted = {}
    for part in text.split(","):
        figure, _, width = part.rpartition("=")
        figure = figure or module.model.precise
        if figure in wanted:
            raise InputError(f"--precision: {figure} is given twice")
        try:
            wanted[figure] = float(width)
        except ValueError:
            allowed = (
                "a number > 0, or figures and numbers, such as"
                f" {module.model.tested[1 % len(module.model.tested)]}=0.1"
            )
            raise InputError(f"--precision(={text!r}) must be {allowed}") from None
    return wanted


def swept(given: argparse.Namespace, module: Module) -> Answer:
    """Sweep parameters."""
    grid, workers, scenario = grid_of(given.grid), workers_of(given), module.scenario_of(given)
    for name in grid:
        check_free(given, name, name)
    seeds = seeds_of(given) if scenario.is_random else range(1)
    policies, points = policies_given(given, scenario), math.prod(map(len, grid.values()))
    check_work(given, scenario.work * len(policies) * len(seeds) * points)
    return answer(sweep(grid, policies, seeds, scenario, workers, out=given.out), given)


def check_free(given: argparse.Namespace, option: str, name: str) -> None:
    """Raise InputError for an option without effect, since the grid has its parameter."""
    value = getattr(given, option, None)
    told = f"--{option.replace('_', '-')}"
    require(value == given.default_of(option), told, value, f"left out where the grid has {name}")


def grid_of(texts: list[str]) -> dict[str, Any]:
    """The grid in "slots=3,4" "rh:reserve=0,1": name -> values."""
    grid: dict[str, Any] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise InputError(f"grid: {text!r} must be of the form name=value,value,...")
        if name in grid:
            raise InputError(f"grid: {name} is given twice")
        grid[name] = [_value(each) for each in values.split(",")]
    return grid


def _value(text: str) -> Any:
    """A whole number, a number, true or false, or the text itself."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _figures(given: argparse.Namespace, module: Module) -> Answer:
    drawn = import_module(module.figures)  # with matplotlib, for this action alone
    ids, executor = gallery_of(given, drawn.FIGURES)
    return Answer(
        "\n".join(
            map(str, drawn.draw_figures(given.out, ids, style=given.style, executor=executor))
        )
    )
