"""List the policies: name, section of the thesis, parameters, what each does."""

from __future__ import annotations

import argparse
import inspect

from cgrsp_simpy.cli.options import Answer, summary
from cgrsp_simpy.rental.policies import POLICIES, PREEMPTIVE, SECTIONS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no option."""


def carry_out(args: argparse.Namespace) -> Answer:
    """List one line per policy."""
    lines = []
    for name, factory in (POLICIES | PREEMPTIVE).items():
        parameters = " ".join(
            f"{item.name}={item.default}".lower()  # as on the command line: true, false
            for item in inspect.signature(factory).parameters.values()
        )
        lines.append(
            f"{name:<10}  {SECTIONS[name]:<6}  {summary(factory.__doc__)}"
            + (f" [{parameters}]" if parameters else "")
        )
    return Answer("\n".join(["policy      section what it does [parameters]", *lines]))
