"""What the commands on rented slots share: the scenario that their options name."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from cgrsp_simpy.cli.options import add_scenario, scenario_of
from cgrsp_simpy.cli.pattern import Module
from cgrsp_simpy.model.shown import progress
from cgrsp_simpy.model.streams import Draw
from cgrsp_simpy.rental.scenario import Scenario


def _drawn(scenario: Scenario, given: argparse.Namespace) -> Iterable[Any]:
    """The arrivals as they come, with a bar where nothing is listed."""
    jobs: Iterable[Any] = progress(
        scenario.arrivals(Draw(given.seed)),
        total=scenario.jobs,
        unit="job",
        # None: off when stderr is not a terminal
        disable=True if given.events or given.step else None,
    )
    return jobs


RENTAL = Module(Scenario, add_scenario, scenario_of, seeds=30, drawn=_drawn)
