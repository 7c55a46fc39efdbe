"""Run one policy once: figures, records, events one by one, or a Gantt chart."""

from __future__ import annotations

import argparse

from cgrsp_simpy.cli import pattern
from cgrsp_simpy.cli.rental import RENTAL


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    pattern.add_run(parser, RENTAL)
