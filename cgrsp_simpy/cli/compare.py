"""Compare policies on the same seeds: means with 95 % intervals, and paired tests against
the first policy.
"""

from __future__ import annotations

import argparse

from cgrsp_simpy.cli import pattern
from cgrsp_simpy.cli.options import Answer, add_options
from cgrsp_simpy.cli.rental import RENTAL
from cgrsp_simpy.studies.gaps import with_gaps


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    pattern.add_compare(parser, RENTAL)
    told = "how far each policy is above the lower bound; tens of seconds a seed"
    add_options(parser, ("--gap", bool, told))


def carry_out(given: argparse.Namespace) -> Answer:
    """The comparison in the format asked for."""
    return pattern.compared(given, RENTAL, *([with_gaps] if given.gap else []))
