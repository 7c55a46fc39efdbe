"""Verify results directories, and write small files to try out commands."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path
from typing import Any

import cgrsp_simpy as cg
from cgrsp_simpy.base.checks import InputError, check_whole, require
from cgrsp_simpy.base.files import is_there, naming_nothing, write_whole
from cgrsp_simpy.cli.answers import Answer
from cgrsp_simpy.cli.options import add_options
from cgrsp_simpy.cli.parsing import Command
from cgrsp_simpy.cli.scenarios import Worded
from cgrsp_simpy.decide.judge import judge
from cgrsp_simpy.decide.recommend import Prices, Spot
from cgrsp_simpy.hgsp.instance import write_instance
from cgrsp_simpy.hgsp.scenario import Scenario
from cgrsp_simpy.rental.policies import later
from cgrsp_simpy.studies.identity import Restored
from cgrsp_simpy.studies.store import kept_json, verifying
from cgrsp_simpy.studies.study import many
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.thesis.report import run_tables

# modules with classes of a configuration, each imported when its name is looked up
CLASSES = (cg.Scenario, cg.cluster, cg.dag, cg.hgsp, cg.spot, cg.waiting, later)
DIGEST = frozenset("0123456789abcdef")


def _add_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", help="made by a command with --out")
    add_options(
        parser,
        ("--sample N", int, "tasks to run again (default: %(default)s)", 5),
        ("--seed N", int, "of the sample (default: %(default)s)", 0),
        (
            "--run-code",
            bool,
            "import the policy files that DIR names, which runs their code",
        ),
    )


def _verify(args: argparse.Namespace) -> Answer:
    """Report how many tasks were reproduced; status 1 if one was not."""
    out = Path(args.directory)
    if not is_there(out / "configuration.json"):
        raise InputError(f"{out} is no results directory of a command")
    try:
        with (
            nullcontext() if args.run_code else naming_nothing(),
            verifying(args.sample, args.seed) as found,
        ):
            _run_again(out, kept_json(out / "configuration.json"))
    except InputError as error:
        told = str(error)
        raise InputError(
            told if told.startswith(str(out)) else f"{out}: {told}"
        ) from None
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ):
        raise InputError(
            f"{out / 'configuration.json'} is damaged or altered"
        ) from None
    if found.differing:
        number = f"{len(found.differing)} of {len(found.tasks)}"
        return Answer(
            f"{out}: task {found.differing[0]} gave another result ({number})", 1
        )
    tasks = many(len(found.tasks), "task")
    return Answer(f"{out}: {tasks} run again, with identical results")


def _run_again(out: Path, configuration: Any) -> None:
    """Run the study of a configuration."""
    require(isinstance(configuration, dict), "configuration", configuration, "a table")
    code = configuration.pop("code", {})
    own = [_policy(told, code) for told in configuration.pop("policies").values()]

    def data(name: Any) -> Any:
        if not isinstance(name, str) or not set(name) <= DIGEST:
            raise InputError(f"data {name!r} is no digest")
        return kept_json(out / "data" / f"{name}.json")

    restored = Restored(data)
    policies = [restored.of(policy) for policy in own]
    told = {name: restored.of(part) for name, part in configuration.items()}
    AGAIN[told["study"]](told, policies, out)


def _policy(told: Any, code: Mapping[str, Any]) -> Any:
    """Return a policy from its record; a function has a name and digest."""
    if isinstance(told, list):
        return told[0]
    if isinstance(told, str) and told in code:
        raise InputError(
            f"the policy {told!r} is of a script: there, run the study within"
            " cgrsp_simpy.studies.store.verifying"
        )
    return told


def _swept(told: Mapping[str, Any], policies: Sequence[Any], out: Path) -> None:
    points = [point for point, _ in told["points"]]
    places = {_arguments(point): place for point, place in told["points"]}
    grid = {
        name: list(dict.fromkeys(point[name] for point in points)) for name in points[0]
    }
    number = math.prod(map(len, grid.values()))
    require(
        number == len(points), "points", len(points), f"{number}, those of the grid"
    )
    cg.sweep(
        lambda **point: places[_arguments(point)],
        grid,
        policies,
        told["seeds"],
        out=out,
    )


def _arguments(point: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the scenario's arguments at a point of a grid."""
    return tuple(item for item in point.items() if ":" not in item[0])


# kind of study -> runs it from its record, with policies, into DIR
AGAIN: dict[str, Callable[[Mapping[str, Any], Sequence[Any], Path], Any]] = {
    "compare": lambda told, policies, out: cg.compare(
        told["scenario"],
        policies,
        told["seeds"],
        out=out,
        precision=told["precision"] or None,
    ),
    "sweep": _swept,
    "suite": lambda told, policies, out: judge(
        told["scenarios"],
        policies,
        told["seeds"],
        prices=Prices(**told["prices"]),
        out=out,
    ),
    "advice": lambda told, policies, out: cg.advise(
        told["scenario"],
        policies,
        told["seeds"],
        prices=Prices(**told["prices"]),
        spot=told["spot"] and Spot(**told["spot"]),
        target=told["target"],
        budget_usd=told["budget_usd"],
        out=out,
    ),
    "tune": lambda told, policies, out: cg.tune(
        told["scenario"],
        told["ranges"],
        policies[0],
        told["seeds"],
        out=out,
        training=told["training"],
        population=told["population"],
        generations=told["generations"],
        figures=told["figures"],
    ),
    "thesis": lambda told, _, out: run_tables(
        told["tables"], told["replications"], None, out
    ),
}


def _add_sample(parser: argparse.ArgumentParser) -> None:
    file = "to write; another existing file is kept"
    parser.add_argument("file", metavar="FILE.csv", help=file)
    scenario = (
        "hgsp or hgsp:LEVEL, for its tasks in place of a log (default: a log of 600"
        " jobs of two days)"
    )
    parser.add_argument("scenario", nargs="?", metavar="SCENARIO", help=scenario)
    words = "parameters of the level, as in source.tasks=50"
    parser.add_argument(
        "words", nargs="*", default=[], metavar="NAME=VALUE", help=words
    )
    add_options(parser, ("--seed N", int, "of the tasks (default: 0)"))


def _sample(args: argparse.Namespace) -> Answer:
    """Report what was written."""
    file = Path(args.file)
    require(file.suffix == ".csv", "FILE.csv", args.file, "a file that ends in .csv")
    if args.scenario is not None:
        return _tasks(args, file)
    require(args.seed is None, "--seed", args.seed, "given with hgsp")
    text = (files("cgrsp_simpy") / "data" / "studio.csv").read_bytes()
    if not (file.is_file() and file.read_bytes() == text):
        allowed = "a file that is not there yet, or this log"
        require(not is_there(file), "FILE.csv", args.file, allowed)
        write_whole(file, text)
    columns, *jobs = text.decode().splitlines()
    return Answer(f"{file}: {len(jobs)} generated jobs; columns {columns}")


def _tasks(args: argparse.Namespace, file: Path) -> Answer:
    seed = args.seed or 0
    check_whole("--seed", seed, least=0)
    scenario = Worded(args.scenario, args.words).single("sample")
    is_hgsp = isinstance(scenario, Scenario)
    require(is_hgsp, "scenario", args.scenario, "hgsp or hgsp:LEVEL")
    require(not is_there(file), "FILE.csv", args.file, "a file that is not there yet")
    instance = subject_of(scenario).draw(seed)
    write_instance(instance, file)
    hours = instance.arrival_s[-1] / 3600
    gpus = ", ".join(gpu.name for gpu in instance.gpus)
    return Answer(f"{file}: {instance.tasks} tasks over {hours:.1f} h for {gpus}")


COMMANDS = {
    "verify": Command(_add_verify, _verify, formats=()),
    "sample": Command(_add_sample, _sample, formats=()),
}
