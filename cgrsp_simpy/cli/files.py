"""Verify results directories, and write small files to try out commands."""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

import cgrsp_simpy as cg
from cgrsp_simpy.base.checks import check_whole, require
from cgrsp_simpy.base.files import is_there, write_whole
from cgrsp_simpy.cli.options import add_options, add_words
from cgrsp_simpy.cli.parsing import Answer, Command
from cgrsp_simpy.cli.scenarios import Worded
from cgrsp_simpy.decide.verify import Again, verify
from cgrsp_simpy.hgsp.instance import write_instance
from cgrsp_simpy.hgsp.scenario import Scenario
from cgrsp_simpy.papers.thesis.printed import run_tables
from cgrsp_simpy.rental.policies import later
from cgrsp_simpy.studies.study import many
from cgrsp_simpy.studies.subject import subject_of

# modules with classes of a configuration, each imported when its name is looked up
CLASSES = (cg.Scenario, cg.cluster, cg.dag, cg.hgsp, cg.spot, cg.waiting, later)


def _add_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory", metavar="DIR", help="results directory of a command with --out"
    )
    add_options(
        parser,
        ("--sample N", int, "number of tasks to run again (default: %(default)s)", 5),
        ("--seed N", int, "seed of the sample (default: %(default)s)", 0),
        (
            "--run-code",
            bool,
            "import the policy files that DIR names, which runs their code",
        ),
    )


def _verify(args: argparse.Namespace) -> Answer:
    """Report the number of tasks reproduced; status 1 if one was not."""
    out = Path(args.directory)
    thesis: dict[str, Again] = {
        "thesis": lambda told, _, out: run_tables(
            told["tables"], told["replications"], None, out
        )
    }
    found = verify(out, args.sample, args.seed, args.run_code, thesis)
    if found.differing:
        number = f"{len(found.differing)} of {len(found.tasks)}"
        return Answer(
            f"{out}: task {found.differing[0]} gave another result ({number})", 1
        )
    tasks = many(len(found.tasks), "task")
    return Answer(f"{out}: {tasks} run again, with identical results")


def _add_sample(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE.csv",
        help="file to write; an existing file is not overwritten",
    )
    parser.add_argument(
        "scenario",
        nargs="?",
        metavar="SCENARIO",
        help="hgsp or hgsp:LEVEL, to write its tasks instead of a log (default: a log"
        " of 600 jobs over two days)",
    )
    add_words(parser, "parameters of the level, such as source.tasks=50")
    add_options(parser, ("--seed N", int, "seed of the tasks (default: 0)"))


def _sample(args: argparse.Namespace) -> Answer:
    file = Path(args.file)
    require(file.suffix == ".csv", "FILE.csv", args.file, "a file that ends in .csv")
    if args.scenario is not None:
        return _tasks(args, file)
    require(
        args.seed is None,
        "--seed",
        args.seed,
        "omitted: it applies only to the scenario hgsp",
    )
    text = (files("cgrsp_simpy") / "data" / "studio.csv").read_bytes()
    if not (file.is_file() and file.read_bytes() == text):
        require(
            not is_there(file),
            "FILE.csv",
            args.file,
            "a file that does not exist yet, or this log",
        )
        write_whole(file, text)
    columns, *jobs = text.decode().splitlines()
    return Answer(f"{file}: {len(jobs)} generated jobs; columns {columns}")


def _tasks(args: argparse.Namespace, file: Path) -> Answer:
    seed = args.seed or 0
    check_whole("--seed", seed, least=0)
    scenario = Worded(args.scenario, args.words).single("sample")
    is_hgsp = isinstance(scenario, Scenario)
    require(is_hgsp, "scenario", args.scenario, "hgsp or hgsp:LEVEL")
    require(not is_there(file), "FILE.csv", args.file, "a file that does not exist yet")
    instance = subject_of(scenario).draw(seed)
    write_instance(instance, file)
    hours = instance.arrival_s[-1] / 3600
    gpus = ", ".join(gpu.name for gpu in instance.gpus)
    return Answer(f"{file}: {instance.tasks} tasks over {hours:.1f} h for {gpus}")


COMMANDS = {
    "verify": Command(_add_verify, _verify, formats=()),
    "sample": Command(_add_sample, _sample, formats=()),
}
