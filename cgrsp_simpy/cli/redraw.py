"""Draw figures again from their CSV files, in another style, without simulating."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from cgrsp_simpy.base.checks import check_one_of, require
from cgrsp_simpy.cli.options import Answer, add_style

GALLERIES = {  # by the prefix of their files
    "advice": "decide.figures",
    "figure": "thesis.figures",
    "frontier": "decide.figures",
    "market": "thesis.persistence",
    "cluster": "cluster.paper.figures",
    "dag": "dag.paper.figures",
    "hgsp": "hgsp.paper.figures",
    "llm": "llm.figures",
    "spot": "spot.paper.figures",
    "waiting": "waiting.paper.figures",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    told = "of a figure of any module, as its command wrote it, under the same name"
    parser.add_argument("files", nargs="+", metavar="FILE.csv", help=told)
    add_style(parser)


def carry_out(args: argparse.Namespace) -> Answer:
    """Return the files written."""
    drawn = []
    from cgrsp_simpy.plots.figure import Figure  # loads matplotlib

    for path in map(Path, args.files):
        allowed = f"a CSV file whose name begins with {', '.join(GALLERIES)}"
        require(
            path.stem.partition("_")[0] in GALLERIES, "FILE.csv", str(path), allowed
        )
        module = import_module(f"cgrsp_simpy.{GALLERIES[path.stem.partition('_')[0]]}")
        own = [each for each in vars(module).values() if isinstance(each, Figure)]
        known = {figure.stem: figure for figure in (*module.FIGURES.values(), *own)}
        check_one_of("figure", path.stem, known)
        drawn += known[path.stem].write(path.parent, None, **args.style)
    return Answer("\n".join(map(str, drawn)))
