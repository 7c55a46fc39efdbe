"""Compare policies over months of days drawn at random from a mix of day types."""

from __future__ import annotations

import argparse
from functools import partial

from cgrsp_simpy.cli.fields import Field, add_pairs
from cgrsp_simpy.cli.options import (
    Answer,
    add_options,
    add_study,
    answer,
    check_work,
    policies_of,
    seeds_of,
)
from cgrsp_simpy.decide.month import THESIS_MIX, month
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.workload import DAYS

POLICIES = ",".join(Scenario.compared)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    shares = {
        name: Field(name, float, "probability", THESIS_MIX[name]) for name in DAYS
    }
    add_pairs(parser, "mix", shares, "types of day (default: as in the thesis)")
    add_options(
        parser,
        ("--days N", int, "days per month (default: %(default)s)", 30),
        ("--slots N", int, "GPU slots, types in turn (default: %(default)s)", 5),
        ("--policies P,P", str, "as in cgrsp compare (default: %(default)s)", POLICIES),
    )
    add_study(parser, 10)
    parser.set_defaults(engines=True)


def carry_out(args: argparse.Namespace) -> Answer:
    """Return the months in the requested format."""
    policies = policies_of(args.policies)
    seeds, most = seeds_of(args), max(jobs for _, jobs in DAYS.values())
    check_work(args, most * args.days * len(seeds) * len(policies))
    numbers = (args.days, len(seeds), seeds.start)
    of_day, mix = partial(day, slots=args.slots), args.mix or THESIS_MIX
    return answer(
        month(mix, policies, *numbers, of_day, args.workers, out=args.out), args
    )
