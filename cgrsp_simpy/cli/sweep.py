"""Compare policies at every point of a grid of scenario and policy parameters, on
the same seeds.
"""

from __future__ import annotations

import argparse
import math

from cgrsp_simpy.cli import pattern
from cgrsp_simpy.cli.options import (
    Answer,
    answer,
    check_work,
    scenario_of,
    seeds_of,
    terms_of,
    workers_of,
)
from cgrsp_simpy.cli.rental import RENTAL
from cgrsp_simpy.model.checks import require
from cgrsp_simpy.rental.scenario import day
from cgrsp_simpy.rental.workload import DAYS
from cgrsp_simpy.studies.sweep import sweep

OF_DAYS = {  # parameter of a day -> its option
    **{name: name for name in ("slots", "tight_fraction", "free_types", "clock")},
    "jobs": "jobs_per_day",
    "rate_per_s": "rate",
    "persistence_s": "persistence",
    "sight": "sight",
    "gpus": "gpus",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    pattern.add_sweep(parser, RENTAL)


def carry_out(given: argparse.Namespace) -> Answer:
    """The sweep in the format asked for: over a file, a log, or days of the thesis, whose name is
    a parameter, too.
    """
    files = [text for text in given.grid if text.endswith(".toml") and "=" not in text]
    require(len(files) <= 1, "scenario files", files, "one")
    given.grid = [text for text in given.grid if text not in files]
    given.scenario = files[0] if files else None
    require(len(given.grid) > 0, "grid", given.grid, "at least one name=value,value,...")
    grid = pattern.grid_of(given.grid)
    for name, option in OF_DAYS.items():
        if name in grid:
            pattern.check_free(given, option, name)
    if "name" not in grid:
        return pattern.swept(given, RENTAL)
    named = [option for option in ("scenario", "day", "trace") if getattr(given, option)]
    require(not named, "name=... in the grid", named, "given without a file, --day or --trace")
    without = "left out where the grid has the name of a day"
    require(given.market is None, "--market", given.market, without)
    policies, seeds = pattern.policies_given(given, scenario_of(given)), seeds_of(given)
    most = (
        max(jobs for _, jobs in DAYS.values()) if given.jobs_per_day is None else given.jobs_per_day
    )
    points = math.prod(map(len, grid.values()))
    numbers = [value for value in grid.get("jobs", []) if isinstance(value, int)]
    check_work(given, max([most, *numbers]) * len(policies) * len(seeds) * points)
    own = {
        name: getattr(given, option)
        for name, option in OF_DAYS.items()
        if getattr(given, option) not in (None, False)
    }
    if (terms := terms_of(given)) is not None:
        own["terms"] = terms
    return answer(
        sweep(day, {**own, **grid}, policies, seeds, executor=workers_of(given), out=given.out),
        given,
    )
