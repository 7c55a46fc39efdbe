"""CPU time of the models of scenarios/textbook, as a ratio to the same models in bare
SimPy, with and without records.

It prints a table and asserts nothing.

    python tests/benchmarks/textbook_models.py [--repeats 5]

CPU time of whole runs with their figures: the minimum of the repeats, in which the runs
alternate.
"""

from __future__ import annotations

import functools
import gc
import sys
from pathlib import Path

from skeleton import cpu_s, parser_of

sys.path.insert(0, str(Path(__file__).parents[1]))

from textbook.models import NAMES, bare, model

import cgrsp_simpy as cg


def least_times(name, repeats):
    """Return the CPU seconds in bare SimPy, and of the model without and with
    records.
    """
    subject = model(name)
    calls = [
        functools.partial(bare(name), 1),
        functools.partial(cg.simulate, subject, name, 1, records=False),
        functools.partial(cg.simulate, subject, name, 1, records=True),
    ]
    for call in calls:
        call()
    rounds = [[cpu_s(call) for call in calls] for _ in range(repeats)]
    return [min(column) for column in zip(*rounds)]


def main():
    """Print a row per model."""
    repeats = parser_of(__doc__).parse_args().repeats
    gc.disable()
    print(f"{'model':15} {'bare_s':>7} {'no records':>11} {'records':>8}")
    for name in NAMES:
        bare_s, *model_s = least_times(name, repeats)
        ratios = [f"{seconds / bare_s:.2f}" for seconds in model_s]
        print(f"{name:15} {bare_s:7.4f} {ratios[0]:>11} {ratios[1]:>8}", flush=True)


if __name__ == "__main__":
    main()
