"""The limit that no policy can beat on a scenario: a lower bound by linear
programming, seed by seed.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from math import inf, isnan
from pathlib import Path
from typing import Any

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.cli.options import (
    Answer,
    add_options,
    add_study,
    check_work,
    policies_of,
    seeds_of,
)
from cgrsp_simpy.cli.rental import add_scenario, scenario_of
from cgrsp_simpy.decide.bounds import OBJECTIVES, Bound, check_bin
from cgrsp_simpy.decide.clairvoyant import MOST_JOBS, optimum
from cgrsp_simpy.decide.gaps import BIN_S, LUCKS, PRICES, Frontier, expected, frontier, lower_bounds
from cgrsp_simpy.model.checks import InputError, check_one_of, require
from cgrsp_simpy.model.files import check_folder
from cgrsp_simpy.model.table import aligned, csv_text, json_text, progress
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.executors import as_they_come
from cgrsp_simpy.studies.replicate import check_policies
from cgrsp_simpy.studies.study import interval, many, plain_mean

log = logging.getLogger(__name__)
BOUNDED_PER_S = 11  # jobs, roughly, in bins of BIN_MIN; four times as many in bins twice as wide
BIN_MIN = 5.0
POLICIES = "rh,cadr,edf,triage"
UNITS = {
    "wait": "minutes of mean wait",
    "miss": "per cent missed",
    "tardiness": "minutes of mean tardiness",
}
MIX = "wait in minutes + missed in per cent + tardiness in minutes"
SHOWN = ("value", "program", "wait_min", "miss_pct", "tardiness_min", "seconds")
REACHED = ("value", "wait_min", "miss_pct", "tardiness_min")
Row = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_scenario(parser)
    known = f"the optimum with all draws known, of at most {MOST_JOBS} jobs, in place of the bound"
    both = "the least misses at every mean wait, and policies beside it, in place of one objective"
    knots = f"minutes between price knots (default: {BIN_MIN:g}; 10 with --frontier)"
    add_options(
        parser,
        ("--objective NAME", str, f"{', '.join(OBJECTIVES)} (default: mix)"),
        ("--bin MIN", float, knots),
        ("--clairvoyant", bool, known),
        ("--frontier", bool, both),
        ("--policies P,P", str, f"of the frontier (default: {POLICIES})"),
        ("--report DIR", str, "draw the frontier into DIR"),
    )
    add_study(parser, 10, out=False)


def carry_out(given: argparse.Namespace) -> Answer:
    """The bounds in the format asked for."""
    _check(given)
    objective = given.objective or "mix"
    seeds, workers, scenario = seeds_of(given), given.workers, scenario_of(given)
    if given.clairvoyant:
        return Answer(_clairvoyant(given, scenario, objective, seeds, workers))
    bin_min = given.bin or (BIN_S / 60 if given.frontier else BIN_MIN)
    bin_s, named = 60 * bin_min, policies_of(POLICIES if given.policies is None else given.policies)
    times, runs = (len(PRICES), LUCKS * len(named)) if given.frontier else (1, 0)
    check_bounds(given, scenario, times * len(seeds), runs * len(seeds), bin_s)
    if given.frontier:
        return Answer(_frontier(given, scenario, named, seeds, workers, bin_s))
    (bounds,) = lower_bounds(scenario, [objective], seeds, workers, bin_s)
    shown = {"table": _table, "csv": _csv, "json": _json}[given.format]
    return Answer(shown(scenario.name, objective, seeds, bounds))


def check_bounds(
    given: argparse.Namespace, scenario: Scenario, bounds: int, runs: int, bin_s: float = BIN_S
) -> None:
    """Tell of the work of so many bounds and runs before it starts, as `check_work` does."""
    jobs = (bounds + runs) * scenario.work
    per_s = BOUNDED_PER_S * (bin_s / 60 / BIN_MIN) ** 2
    seconds = scenario.work * (bounds / per_s + runs / scenario.pace_per_s)
    done = " or ".join(["bounded"] * (bounds > 0) + ["simulated"] * (runs > 0))
    check_work(given, jobs, per_s=jobs / seconds, done=done)


def _check(given: argparse.Namespace) -> None:
    if given.report is not None:
        check_folder(Path(given.report))
    if given.objective is not None:
        check_one_of("objective", given.objective, OBJECTIVES)
    if given.bin is not None:
        check_bin("--bin", given.bin, 60)
    if given.clairvoyant and given.frontier:
        raise InputError("--clairvoyant and --frontier are two questions; give one of them")
    for name, of in (("policies", "frontier"), ("report", "frontier")):
        if getattr(given, name) is not None and not getattr(given, of):
            raise InputError(f"--{name} goes with --{of}")
    for name, value in (("frontier", given.objective), ("clairvoyant", given.bin)):
        own = "objective" if name == "frontier" else "bin"
        if getattr(given, name):
            require(value is None, f"--{own}", value, f"left out beside --{name}")


# ---- one objective ----


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
        "bin_min": bounds[0].bin_s / 60,
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
    return "\n".join([heading, *note, _tightness(bounds), *aligned([["seed", *SHOWN], *rows])])


def _tightness(bounds: Sequence[Bound]) -> str:
    """What the width of the bins has cost, as far as the program itself tells."""
    lost = mean([bound.program - bound.value for bound in bounds]).mean
    return (
        f"prices in bins of {bounds[0].bin_s / 60:g} min: {lost:.2f} below the program in groups;"
        " narrower bins raise the bound, and take longer"
    )


def _too_few(value: Mean) -> str:
    """What is wrong with an interval that reaches below 0, where no bound is."""
    return (
        f"that is the mean of these {value.n} seeds; they are too few for an interval of other"
        " seeds: it would reach below 0"
    )


# ---- with all draws known ----


def _clairvoyant(
    given: argparse.Namespace,
    scenario: Scenario,
    objective: str,
    seeds: Sequence[int],
    workers: int | None,
) -> str:
    tasks = {seed: (scenario, seed, objective) for seed in seeds}
    with progress(total=len(tasks), unit=" optima") as bar:
        done = {}
        for seed, row in as_they_come(_optimum, tasks, workers):
            done[seed] = row
            bar.update()
    rows = [{"seed": seed, **done[seed]} for seed in seeds]
    value = mean([row["value"] for row in rows])
    if given.format == "csv":
        return csv_text(rows).rstrip("\n")
    if given.format == "json":
        own = {"scenario": scenario.name, "objective": objective}
        return json_text({**own, "optimum": plain_mean(value), "seeds": rows})
    heading = (
        f"{scenario.name}: who knows every draw has {interval(value, len(rows))}"
        f" {UNITS.get(objective, MIX)}"
    )
    shown = [[str(row["seed"]), *(f"{row[name]:z.2f}" for name in REACHED)] for row in rows]
    return "\n".join([heading, *aligned([["seed", *REACHED], *shown])])


def _optimum(task: tuple[Scenario, int, str]) -> dict[str, float]:
    found = optimum(*task)
    return {name: getattr(found, name) for name in REACHED}


# ---- wait against misses ----


def _frontier(
    given: argparse.Namespace,
    scenario: Scenario,
    policies: Sequence[str],
    seeds: Sequence[int],
    workers: int | None,
    bin_s: float,
) -> str:
    named = check_policies(policies, scenario)
    found = frontier(scenario, seeds, workers, bin_s=bin_s)
    means = expected(scenario, named, seeds, workers)
    rows = _points(found) + [_point(name, means, seeds) for name in named]
    if given.report is not None:
        _draw(scenario.name, rows, found, Path(given.report))
        log.info("the figure is in %s", given.report)
    if given.format == "csv":
        return csv_text(rows).rstrip("\n")
    if given.format == "json":
        least = [
            {"price_min_a_pct": "inf" if price == inf else price, **plain_mean(value)}
            for price, value in found.means.items()
        ]
        own = {"scenario": scenario.name, "bin_min": bin_s / 60, "least": least}
        return json_text({**own, "points": rows})
    return _frontier_table(scenario.name, rows, found)


def _point(
    name: str, means: dict[tuple[str, str, int], float], seeds: Sequence[int]
) -> dict[str, Any]:
    """A policy's means over seeds, of means over draws."""
    point: Row = {"kind": "policy", "name": name}
    for figure in ("wait_min", "miss_pct"):
        own = mean([means[name, figure, seed] for seed in seeds])
        point |= {figure: own.mean, f"{figure}_half": own.half_width}
    return point


def _points(found: Frontier) -> list[Row]:
    """The corners of the frontier and of its interval."""
    return [
        {
            "kind": kind,
            "name": "",
            "wait_min": wait,
            "wait_min_half": None,
            "miss_pct": miss,
            "miss_pct_half": None,
        }
        for kind, corners in found.corners.items()
        for wait, miss in corners
        if kind == "bound" or len(found.seeds) > 1
    ]


def _frontier_table(name: str, rows: Sequence[Row], found: Frontier) -> str:
    corners = [
        [f"{row['wait_min']:.2f}", f"{row['miss_pct']:z.2f}"]
        for row in rows
        if row["kind"] == "bound"
    ]
    policies = [
        [
            row["name"],
            *(_spread(row, figure) for figure in ("wait_min", "miss_pct")),
            f"{found.miss_pct(row['wait_min']):.2f}",
        ]
        for row in rows
        if row["kind"] == "policy"
    ]
    heading = (
        f"{name}: no policy is below the line through these corners;"
        f" {many(len(found.seeds), 'seed')}, prices in bins of {found.bin_s / 60:g} min"
    )
    head = ["policy", "wait_min", "miss_pct", "least miss_pct at this wait"]
    spread = ", ± 95 % over seeds" if len(found.seeds) > 1 else ""
    note = f"policies: means over {LUCKS} draws of each seed's arrivals{spread}"
    tables = [*aligned([["wait_min", "miss_pct"], *corners]), "", *aligned([head, *policies])]
    return "\n".join([heading, *tables, note])


def _spread(row: Row, figure: str) -> str:
    """A mean and half of its interval, which one seed does not have."""
    half = row[f"{figure}_half"]
    return f"{row[figure]:.2f}" + ("" if isnan(half) else f" ± {half:.2f}")


def _draw(name: str, rows: list[Row], found: Frontier, folder: Path) -> None:
    from cgrsp_simpy.decide.figures import frontier  # matplotlib, for reports alone

    note = f"{name}, {many(len(found.seeds), 'seed')}, {LUCKS} draws of each"
    frontier(note).write(folder, rows)
