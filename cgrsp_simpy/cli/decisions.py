"""Decisions on rented slots: lower bounds for all policies, and advice."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from dataclasses import fields
from math import inf
from pathlib import Path
from typing import Any

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.base.checks import (
    InputError,
    check_number,
    check_one_of,
    read_as,
    require,
    shown,
)
from cgrsp_simpy.base.table import (
    Table,
    cells_of,
    document,
    figure_text,
    many,
    progress,
)
from cgrsp_simpy.cli.options import (
    OUT,
    check_omitted,
    check_work,
    checked,
    number_of,
    policies_option,
    rental_of,
    scenario_arguments,
    seeds_of,
    seeds_option,
    to_folder,
)
from cgrsp_simpy.cli.parsing import Answer, Command, argument, formatted
from cgrsp_simpy.cli.scenarios import RENTAL_NAMES, Worded, group_of
from cgrsp_simpy.decide.advice import POLICIES, SEARCHED, advise
from cgrsp_simpy.decide.bounds import BIN_S, OBJECTIVES, Bound, check_bin
from cgrsp_simpy.decide.clairvoyant import MOST_JOBS, optimum
from cgrsp_simpy.decide.gaps import (
    DRAWS,
    PRICES,
    Frontier,
    expected,
    frontier,
    lower_bounds,
    over_seeds,
)
from cgrsp_simpy.decide.recommend import Prices, Spot
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.executors import as_they_come
from cgrsp_simpy.studies.replicate import check_policies
from cgrsp_simpy.studies.study import interval, plain_mean
from cgrsp_simpy.studies.subject import subject_of

log = logging.getLogger(__name__)
# approximate jobs per second with bins of BIN_S; four times as many at twice the width
BOUNDED_PER_S = 44
ON_FRONTIER = "rh,cadr,edf,triage"
BOUND_SEEDS, ADVICE_SEEDS = 10, 20  # numbers of seeds, by default
UNITS = {
    "wait": "minutes of mean wait",
    "miss": "per cent missed",
    "tardiness": "minutes of mean tardiness",
    "mix": "wait in minutes + missed in per cent + tardiness in minutes",
    "cost": "USD per day",
}
REACHED = ("value", "wait_min", "miss_pct", "tardiness_min")
NONE_KNOWN = "no bound known"
Row = dict[str, Any]


def _bound(args: argparse.Namespace) -> Answer:
    _check(args)
    objective = args.objective or "mix"
    seeds = seeds_of(args, BOUND_SEEDS)
    prices = group_of(args.words, "prices", Prices)
    if prices and objective != "cost":
        raise InputError(f"prices.{next(iter(prices))} requires --objective cost")
    asked = Prices(**prices) if objective == "cost" else objective
    worded = rental_of(args, "bound")
    scenario = worded.scenario
    if args.clairvoyant:
        rows, title, more = _clairvoyant(args, scenario, objective, seeds)
    else:
        bin_s = None if args.bin is None else 60 * args.bin
        named = args.policies or ON_FRONTIER.split(",")
        times, runs = (len(PRICES), DRAWS * len(named)) if args.frontier else (1, 0)
        check_bounds(
            args, scenario, times * len(seeds), runs * len(seeds), bin_s or BIN_S
        )
        if args.frontier:
            return _frontier(args, worded, named, seeds, bin_s or BIN_S)
        (bounds,) = lower_bounds(scenario, [asked], seeds, args.workers, bin_s)
        rows, title, more = _bounded(scenario, objective, seeds, bounds)
    note = "\n".join(more.get("notes", ()))
    table = Table(f"{scenario.name}: {title}", cells_of(rows), note)
    return formatted(
        args,
        document(
            scenario.name,
            rows,
            parameters=worded.parameters,
            seeds=seeds,
            objective=objective,
            **more,
        ),
        rows,
        lambda: [table],
    )


def check_bounds(
    args: argparse.Namespace,
    scenario: Scenario,
    bounds: int,
    runs: int,
    bin_s: float = BIN_S,
) -> None:
    """Announce the work of bounds and runs before it starts, like `check_work`."""
    jobs = (bounds + runs) * subject_of(scenario).work
    per_s = BOUNDED_PER_S * (bin_s / BIN_S) ** 2
    seconds = subject_of(scenario).work * (
        bounds / per_s + runs / subject_of(scenario).pace_per_s
    )
    done = "bounded or simulated" if runs else "bounded"
    check_work(args, jobs, per_s=jobs / seconds, done=done)


def _check(args: argparse.Namespace) -> None:
    if args.objective is not None:
        check_one_of(
            "objective", args.objective, OBJECTIVES if args.clairvoyant else UNITS
        )
    if args.bin is not None:
        check_bin("--bin", args.bin, 60)
    useless = ("objective", "clairvoyant") if args.frontier else ("policies", "report")
    check_omitted(
        args, useless, f"omitted with{'out' * (not args.frontier)} --frontier"
    )
    if args.clairvoyant:
        check_omitted(args, ["bin"], "omitted if --clairvoyant is given")


# ---- one objective ----


def _bounded(
    scenario: Scenario, objective: str, seeds: Sequence[int], bounds: Sequence[Bound]
) -> tuple[list[Row], str, Row]:
    """Return the rows, the title, and the other entries of the JSON document."""
    value = over_seeds(scenario, seeds, [bound.value or 0.0 for bound in bounds])
    rows = [
        {"seed": seed, "value": bound.value, "program": bound.program}
        for seed, bound in zip(seeds, bounds)
    ]
    programs = [bound for bound in bounds if bound.program is not None]
    known = any(bound.value is not None for bound in bounds)
    least = f"{value.mean:.2f}" if value.low < 0 else interval(value, value.n)
    title = (
        f"no policy has less than {least} {UNITS[objective]}, averaged over the draws"
    )
    more = {
        "bin_min": programs[0].step_s / 60 if programs else None,
        "bound": plain_mean(value) if known else None,
        "notes": caveats(scenario, bounds, programs, value),
    }
    return rows, title if known else NONE_KNOWN, more


def caveats(
    scenario: Scenario, bounds: Sequence[Bound], programs: Sequence[Bound], value: Mean
) -> list[str]:
    """Return caveats about the bounds, some of them by programs, and their mean."""
    unknown = sum(bound.value is None for bound in bounds)
    notes = []
    if 0 < unknown < len(bounds):
        notes.append(f"{NONE_KNOWN} for {many(unknown, 'seed')}, which count as 0")
    if value.low < 0:
        notes.append(
            f"mean of these {value.n} seeds alone: they are too few for an interval,"
            " which would include negative values"
        )
    if scenario.market.persists:
        notes.append(
            "the bound is for policies that know the future stock, which differs by"
            " seed"
        )
    if scenario.terms.warm_s or scenario.terms.retry_s is not None:
        notes.append("provisioning is left out, as instances may be warm or refused")
    if programs:
        below = mean(
            [(result.program or 0) - (result.value or 0) for result in programs]
        ).mean
        notes.append(
            f"prices in bins of {programs[0].step_s / 60:g} min: {below:.2f} below the"
            " program in groups; narrower bins raise the bound and take longer"
        )
    else:
        notes.append(f"all draws of each job, in steps of {bounds[0].step_s:g} s")
    return notes


# ---- with all draws known ----


def _clairvoyant(
    args: argparse.Namespace, scenario: Scenario, objective: str, seeds: Sequence[int]
) -> tuple[list[Row], str, Row]:
    """Return what `_bounded` returns, of the optima with all draws known."""
    tasks = {seed: (scenario, seed, objective) for seed in seeds}
    results = as_they_come(_optimum, tasks, args.workers)
    done = dict(progress(results, total=len(tasks), unit=" optima"))
    rows = [{"seed": seed, **done[seed]} for seed in seeds]
    value = over_seeds(scenario, seeds, [row["value"] for row in rows])
    title = f"with all draws known: {interval(value, value.n)} {UNITS[objective]}"
    return rows, title, {"optimum": plain_mean(value)}


def _optimum(task: tuple[Scenario, int, str]) -> Row:
    best = optimum(*task)
    return {name: getattr(best, name) for name in REACHED}


# ---- wait against misses ----


def _frontier(
    args: argparse.Namespace,
    worded: Worded,
    policies: Sequence[str],
    seeds: Sequence[int],
    bin_s: float,
) -> Answer:
    scenario = worded.scenario
    named = check_policies(policies, scenario)
    limits = frontier(scenario, seeds, args.workers, bin_s=bin_s)
    means = expected(scenario, named, seeds, args.workers)
    rows = _points(limits) + [_point(name, means, limits) for name in named]
    if args.report is not None:
        from cgrsp_simpy.decide import figures  # loads matplotlib

        title = f"{scenario.name}, {many(len(seeds), 'seed')}, {DRAWS} draws of each"
        titled = [{**row, "title": title} for row in rows]
        figures.FRONTIER.write(Path(args.report), titled)
        log.info("the figure is in %s", args.report)
    return formatted(
        args,
        document(
            scenario.name,
            rows,
            parameters=worded.parameters,
            alternatives=[*named],
            seeds=seeds,
            bin_min=bin_s / 60,
            least=[
                {
                    "price_min_a_pct": "inf" if price == inf else price,
                    **plain_mean(value),
                }
                for price, value in limits.means.items()
            ],
        ),
        rows,
        lambda: _frontier_tables(scenario.name, rows, limits),
    )


def _point(
    name: str, means: dict[tuple[str, str, int], float], limits: Frontier
) -> Row:
    """Return a policy's figures: means over seeds of the means over draws."""
    point: Row = {"kind": "policy", "name": name}
    for figure in ("wait_min", "miss_pct"):
        values = [means[name, figure, seed] for seed in limits.seeds]
        value = over_seeds(limits.scenario, limits.seeds, values)
        point |= {figure: value.mean, f"{figure}_half": value.half_width}
    return point


def _points(limits: Frontier) -> list[Row]:
    """Return the corners of the frontier and of its interval."""
    return [
        {
            "kind": kind,
            "name": "",
            "wait_min": wait,
            "wait_min_half": None,
            "miss_pct": miss,
            "miss_pct_half": None,
        }
        for kind, corners in limits.corners.items()
        for wait, miss in corners
    ]


def _frontier_tables(name: str, rows: Sequence[Row], limits: Frontier) -> list[Table]:
    shown = ("wait_min", "miss_pct")
    corners = [
        {column: row[column] for column in shown}
        for row in rows
        if row["kind"] == "bound"
    ]
    policies = [
        {
            "policy": row["name"],
            **{column: _spread(row, column) for column in shown},
            "least miss_pct at this wait": limits.miss_pct(row["wait_min"]),
        }
        for row in rows
        if row["kind"] == "policy"
    ]
    heading = (
        f"{name}: no policy is below the line through these corners;"
        f" {many(len(limits.seeds), 'seed')}, prices in bins of {limits.bin_s / 60:g}"
        " min"
    )
    spread = ", ± 95 % over seeds" if "high" in limits.corners else ""
    return [
        Table(heading, cells_of(corners)),
        Table(
            "policies",
            cells_of(policies),
            f"means over {DRAWS} draws of each seed's arrivals{spread};"
            f" 0: {NONE_KNOWN}",
        ),
    ]


def _spread(row: Row, figure: str) -> str:
    """Format a mean and its half width, which needs two seeds."""
    half = figure_text(row[f"{figure}_half"])
    return figure_text(row[figure]) + ("" if half == "-" else f" ± {half}")


# ---- advice ----


def _advise(args: argparse.Namespace) -> Answer:
    prices = Prices(**group_of(args.words, "prices", Prices))
    spot_words = group_of(args.words, "spot", Spot)
    require(
        len(spot_words) in (0, len(fields(Spot))),
        "parameters of spot",
        ",".join(spot_words),
        "spot.share and spot.per_h, both or neither, such as spot.share=.4"
        " spot.per_h=.2",
    )
    spot = Spot(**spot_words) if spot_words else None
    worded, seeds = rental_of(args, "advise"), seeds_of(args, ADVICE_SEEDS)
    scenario = worded.scenario
    policies = args.policies or [*POLICIES]
    runs = SEARCHED * len(policies) + 3 * len(seeds)
    check_work(args, subject_of(scenario).work * runs)
    advice = advise(
        scenario,
        policies,
        seeds,
        args.workers,
        prices=prices,
        spot=spot,
        target=args.target,
        budget_usd=args.budget,
        load=args.load,
        out=args.out,
    )
    if args.out is not None:
        log.info("results are in %s", args.out)
    if args.report is not None:
        # loads matplotlib
        from cgrsp_simpy.decide.figures import write_report

        write_report(advice, Path(args.report))
        log.info("the report is in %s", args.report)
    content = document(
        scenario.name,
        advice.rows,
        parameters=worded.parameters,
        alternatives=policies,
        seeds=seeds,
        advice=advice.as_dict(),
    )
    if args.format == "table":
        return Answer(str(advice).rstrip("\n"), int(bool(advice.failures)))
    return formatted(
        args, content, advice.rows, lambda: advice.tables, int(bool(advice.failures))
    )


def _load(text: str) -> float:
    """Parse a factor, or a change in per cent."""
    number = read_as(
        float,
        text.rstrip("%"),
        f"{shown(text)} must be a factor or a percentage increase, such as 1.3 or +30%",
    )
    factor = 1 + number / 100 if text.endswith("%") else number
    check_number("--load", factor, above=0)
    return factor


BOUND_ARGUMENTS = [
    *scenario_arguments(
        "with --objective cost also prices.price_miss and the other prices",
        RENTAL_NAMES,
    ),
    argument(
        "--objective NAME", f"{', '.join(UNITS)} (default: mix)", group="objective"
    ),
    argument(
        "--clairvoyant",
        f"compute the optimum with all draws known, for at most {MOST_JOBS} jobs,"
        " instead of the bound",
        group="objective",
    ),
    argument(
        "--frontier",
        "compute the fewest misses per mean wait, and compare policies with it",
        group="objective",
    ),
    argument(
        "--bin MIN",
        "minutes between the knots of the price function (default:"
        f" {BIN_S / 60:g}; unused with few jobs)",
        type=float,
    ),
    policies_option(f"for the frontier: {ON_FRONTIER}"),
    argument("--report DIR", "draw the frontier into DIR", type=to_folder),
    seeds_option(BOUND_SEEDS),
]
ADVISE_ARGUMENTS = [
    *scenario_arguments(
        "also prices.price_miss, prices.price_late, prices.price_wait and"
        " prices.price_slot (USD), which determine the ranking; and spot.share"
        " and spot.per_h, to try spot instances at a share of the price, with"
        " interruptions",
        RENTAL_NAMES,
    ),
    policies_option(f"{','.join(POLICIES)}; the first is the current policy"),
    argument(
        "--target FIGURE<=X",
        "limits to satisfy with the smallest change, such as miss<=1%%,p95_wait<=30",
    ),
    argument(
        "--budget USD",
        "upper limit of the cost of rent and slots, USD per day",
        type=number_of("--budget", above=0),
    ),
    argument(
        "--load X",
        "multiply the arrival rate by X, such as 1.3 or +30%%",
        type=checked(_load),
        default=1.0,
    ),
    argument(
        "--report DIR",
        "write a printable report with its figures and CSV files into DIR",
        type=to_folder,
    ),
    seeds_option(ADVICE_SEEDS),
    OUT,
]
COMMANDS = {
    "bound": Command(BOUND_ARGUMENTS, _bound, parallel=True),
    "advise": Command(ADVISE_ARGUMENTS, _advise, parallel=True),
}
