"""Compare policies over months of days drawn at random from a mix of day types."""

from __future__ import annotations

import argparse
from functools import partial

from cgrsp_simpy.cli.options import (
    Answer,
    add_options,
    add_policies,
    add_study,
    answer,
    check_work,
    policies_of,
    workers_of,
)
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.rental.scenario import day
from cgrsp_simpy.rental.workload import DAYS
from cgrsp_simpy.studies.month import THESIS_MIX, month


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    mix = ",".join(f"{kind}={share:g}" for kind, share in THESIS_MIX.items())
    add_options(
        parser,
        ("--mix DAY=P,...", str, "day types and their probabilities (default: %(default)s)", mix),
        ("--days N", int, "days of a month (default: %(default)s)", 30),
        ("--slots N", int, "GPU slots, types in turn (default: %(default)s)", 5),
    )
    add_policies(parser)
    add_study(parser, "--replications", 10)


def carry_out(given: argparse.Namespace) -> Answer:
    """The months in the format asked for."""
    policies, most = policies_of(given.policies), max(jobs for _, jobs in DAYS.values())
    check_work(given, most * given.days * given.replications * len(policies))
    numbers = (given.days, given.replications, given.first_seed)
    of_day, workers = partial(day, slots=given.slots), workers_of(given)
    return answer(month(_mix(given.mix), policies, *numbers, of_day, workers, out=given.out), given)


def _mix(text: str) -> dict[str, float]:
    mix = {}
    for part in text.split(","):
        kind, _, share = part.partition("=")
        if kind in mix:
            raise InputError(f"--mix: {kind} is given twice")
        try:
            mix[kind] = float(share)
        except ValueError:
            raise InputError(f"--mix: {part!r} must be of the form day=probability") from None
    return mix
