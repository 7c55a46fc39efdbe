"""Compare policies on the same seeds: means with 95 % intervals, and paired tests against the first policy."""

from __future__ import annotations

import argparse
import json

from cgrsp_simpy.cli.options import add_scenario, scenario_of
from cgrsp_simpy.experiments.compare import compare
from cgrsp_simpy.model.checks import check_whole
from cgrsp_simpy.model.table import csv_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_scenario(parser)
    parser.add_argument(
        "--policies",
        default="fifo,spt,edf,rh,cadr",
        metavar="P,P,...",
        help="names with parameters (rh, rh:reserve=2,gate=0.9) or functions (my_rules.py:youngest_first); default: %(default)s",
    )
    parser.add_argument("--seeds", type=int, default=30, metavar="N", help="number of replications (default: %(default)s)")
    parser.add_argument("--first-seed", type=int, default=0, metavar="N", help="the first seed (default: %(default)s)")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: this one)")
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table", help="default: %(default)s")


def carry_out(given: argparse.Namespace) -> str:
    """The comparison in the format asked for."""
    check_whole("--seeds", given.seeds, least=1)
    if given.workers is not None:
        check_whole("--workers", given.workers, least=1)
    check_whole("--first-seed", given.first_seed, least=0)
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    study = compare(scenario_of(given), policies_of(given.policies), seeds, given.workers)
    if given.format == "json":
        return json.dumps(study.as_dict(), indent=2)
    if given.format == "csv":
        return csv_text(study.rows).rstrip("\n")
    return str(study)


def policies_of(text: str) -> list[str]:
    """The policies in "a,b:x=1,y=2,c"; a part like y=2 belongs to the policy before it."""
    policies: list[str] = []
    for part in text.split(","):
        if policies and "=" in part and ":" not in part:
            policies[-1] += f",{part}"
        else:
            policies.append(part)
    return policies
