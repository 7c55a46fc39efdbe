"""The limit that no policy can beat on a scenario: a lower bound by linear
programming, seed by seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.cli.options import (
    FIRST_SEED,
    WORKERS,
    Answer,
    add_format,
    add_options,
    add_scenario,
    add_yes,
    check_work,
    scenario_of,
    seeds_of,
    workers_of,
)
from cgrsp_simpy.model.checks import check_number, check_one_of
from cgrsp_simpy.model.table import aligned, csv_text, json_text
from cgrsp_simpy.rental.bounds import OBJECTIVES, Bound, lower_bound
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.executors import as_they_come
from cgrsp_simpy.studies.study import interval, plain_mean

BOUNDED_PER_S = 100  # jobs, roughly
UNITS = {
    "wait": "minutes of mean wait",
    "miss": "per cent missed",
    "tardiness": "minutes of mean tardiness",
}
MIX = "wait in minutes + missed in per cent + tardiness in minutes"
SHOWN = ("value", "program", "wait_min", "miss_pct", "tardiness_min", "seconds")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_scenario(parser)
    add_yes(parser)
    add_options(
        parser,
        ("--objective NAME", str, f"{', '.join(OBJECTIVES)} (default: %(default)s)", "mix"),
        ("--seeds N", int, "number of seeds (default: %(default)s)", 10),
        FIRST_SEED,
        ("--bin MIN", float, "minutes between price knots (default: %(default)s)", 10),
        WORKERS,
    )
    add_format(parser)


def carry_out(given: argparse.Namespace) -> Answer:
    """The bounds in the format asked for."""
    check_one_of("objective", given.objective, OBJECTIVES)
    check_number("--bin", given.bin, above=0)
    seeds, workers, scenario = seeds_of(given), workers_of(given), scenario_of(given)
    check_work(given, scenario.work * len(seeds), per_s=BOUNDED_PER_S, done="bounded")
    work = partial(_bound, scenario, given.objective, given.bin * 60)
    found = dict(as_they_come(work, {seed: seed for seed in seeds}, workers))
    bounds = [found[seed] for seed in seeds]
    shown = {"table": _table, "csv": _csv, "json": _json}[given.format]
    return Answer(shown(scenario.name, given.objective, seeds, bounds))


def _bound(scenario: Scenario, objective: str, bin_s: float, seed: int) -> Bound:
    return lower_bound(scenario, objective, seed, bin_s)


def _rows(seeds: Sequence[int], bounds: Sequence[Bound]) -> list[dict[str, float]]:
    return [
        {"seed": seed, **{name: getattr(bound, name) for name in SHOWN}}
        for seed, bound in zip(seeds, bounds)
    ]


def _csv(name: str, objective: str, seeds: Sequence[int], bounds: Sequence[Bound]) -> str:
    return csv_text(_rows(seeds, bounds)).rstrip("\n")


def _json(name: str, objective: str, seeds: Sequence[int], bounds: Sequence[Bound]) -> str:
    value = mean([bound.value for bound in bounds])
    found = {
        "scenario": name,
        "objective": objective,
        "bound": plain_mean(value),
        "seeds": _rows(seeds, bounds),
    }
    return json_text(found | ({"note": _too_few(value)} if value.low < 0 else {}))


def _table(name: str, objective: str, seeds: Sequence[int], bounds: Sequence[Bound]) -> str:
    value = mean([bound.value for bound in bounds])
    rows = [
        [str(row["seed"]), *(f"{row[name]:z.2f}" for name in SHOWN)] for row in _rows(seeds, bounds)
    ]
    told = f"{value.mean:.2f}" if value.low < 0 else interval(value, len(bounds))
    heading = (
        f"{name}: no policy has less than {told} {UNITS.get(objective, MIX)}, in the mean"
        " over the draws"
    )
    note = [_too_few(value)] if value.low < 0 else []
    return "\n".join([heading, *note, *aligned([["seed", *SHOWN], *rows])])


def _too_few(value: Mean) -> str:
    """What is wrong with an interval that reaches below 0, where no bound is."""
    return (
        f"that is the mean of these {value.n} seeds; they are too few for an interval of other"
        " seeds: it would reach below 0"
    )
