"""What to change: the policy, the number of slots, or their GPU types? Advice in USD a day, in
words, and a page to print.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.cli.bound import check_bounds
from cgrsp_simpy.cli.fields import add_pairs, fields_of
from cgrsp_simpy.cli.options import Answer, add_options, add_study, formatted, policies_of, seeds_of
from cgrsp_simpy.cli.rental import add_scenario, scenario_of
from cgrsp_simpy.decide.advice import hours, html_page, markdown, rows, sentences
from cgrsp_simpy.decide.gaps import LUCKS
from cgrsp_simpy.decide.recommend import (
    FIXED,
    FREE,
    LEAST_SEEDS,
    Advice,
    Option,
    Prices,
    Spot,
    advise,
    fleets,
    later,
    numbers_around,
)
from cgrsp_simpy.model.checks import InputError, require
from cgrsp_simpy.model.files import check_folder, write_whole
from cgrsp_simpy.model.table import csv_text
from cgrsp_simpy.rental.workload import LoggedWorkload
from cgrsp_simpy.studies.study import many

log = logging.getLogger(__name__)
BOUNDED = (FIXED, FREE)  # types of the fleets that have bounds, two of each seed
POLICIES = "fifo,spt,edf,rh,cadr,triage"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_scenario(parser)
    report = "write advice.html, a page to print, advice.md, advice.csv and figures"
    add_options(
        parser,
        ("--policies P,P", str, "the first is the one in use (default: %(default)s)", POLICIES),
        ("--try-slots N,N", str, "numbers of slots to try (default: one less to two more)"),
        ("--bound-seeds N", int, "seeds with a lower bound (default: %(default)s)", 3),
        ("--report DIR", str, report),
    )
    add_pairs(parser, "spot", fields_of(Spot), "try spot instances, at a share of the price")
    add_pairs(parser, "prices", fields_of(Prices), "what options are ordered by, beside the rent")
    add_study(parser, 20)


def carry_out(given: argparse.Namespace) -> Answer:
    """The advice in the format asked for."""
    scenario, seeds = scenario_of(given), seeds_of(given)
    slots = _numbers(given.try_slots) if given.try_slots is not None else numbers_around(scenario)
    policies, workers = policies_of(given.policies), given.workers
    if given.report is not None:
        check_folder(Path(given.report))
    prices, spot = Prices(**given.prices or {}), _spot(given.spot)
    tried, of_log = fleets(scenario, slots, spot), isinstance(scenario.workload, LoggedWorkload)
    bounded = 0 if of_log else len(seeds[: max(0, given.bound_seeds)])
    runs = len(tried) * len(seeds) + LUCKS * len(BOUNDED) * bounded
    number = len(policies) + len(later(scenario, policies[0]))
    check_bounds(given, scenario, 2 * len(BOUNDED) * bounded, runs * number)
    found = advise(
        scenario,
        policies,
        slots,
        seeds,
        workers,
        prices=prices,
        spot=spot,
        bound_seeds=given.bound_seeds,
        out=given.out,
    )
    if given.report is not None:
        _report(found, Path(given.report))
        log.info("the report is in %s", given.report)
    told = {"scenario": scenario.name, "prices": asdict(prices)}
    values = {**told, "advice": sentences(found), "rows": rows(found)}
    return formatted(given, values, rows(found), lambda: markdown(found).rstrip("\n"))


def _report(found: Advice, folder: Path) -> None:
    """The page with its figures, and the same as Markdown and as a table."""
    pictures = _draw(found, folder)
    texts = {
        "advice.md": markdown(found),
        "advice.html": html_page(found, pictures),
        "advice.csv": csv_text(rows(found)),
    }
    for name, text in texts.items():
        write_whole(folder / name, text.encode())


def _draw(found: Advice, folder: Path) -> dict[str, bytes]:
    """The figures of the page as PNG by name, and where the slots' hours go on the first seed."""
    from cgrsp_simpy.decide.figures import (  # matplotlib, for reports alone
        cost_bars,
        cost_by_slots,
        slot_hours,
        trade_off,
    )
    from cgrsp_simpy.plots.figure import Figure

    now, every = found.now, rows(found)
    choices = [types for types in (FIXED, FREE) if found.at(now.slots, types)]
    bounds = {
        types: {
            name: mean(values)
            for (each, name), values in found.bounds.items()
            if each == types and len(values) >= LEAST_SEEDS
        }
        for types in choices
    }

    def draw_points(canvas: Any, rows: list[dict[str, Any]]) -> None:
        for ax, types in zip(canvas.subplots(len(choices), 1, squeeze=False)[:, 0], choices):
            own, bound = [row for row in rows if row["types"] == types], bounds[types]
            seeds = f"; bound of {many(bound['wait_min'].n, 'seed')}" if bound else ""
            trade_off(own, bound, ax, f"{many(now.slots, 'slot')}, {types}{seeds}")

    def draw_slots(canvas: Any, rows: list[dict[str, Any]]) -> None:
        panels = canvas.subplots(1, len(choices), sharey=True, squeeze=False)[0]
        for ax, types in zip(panels, choices):
            cost_by_slots([row for row in rows if row["types"] == types], ax, types)
            ax.label_outer()
        panels[0].set_ylim(0, 1.1 * max(row["total_usd"] for row in rows))

    def draw_bars(canvas: Any, rows: list[dict[str, Any]]) -> None:
        cost_bars(rows, canvas.add_subplot())

    def draw_hours(canvas: Any, rows: list[dict[str, Any]]) -> None:
        slot_hours(
            {row.pop("policy"): row for row in map(dict, rows)},
            canvas.add_subplot(),
            f"{found.scenario.name}, one seed",
        )

    shown = _of_each_fleet(every, now)
    points = [row for row in every if row["slots"] == now.slots and row["types"] in choices]
    by_slots = [row for row in every if row["types"] in choices]
    figures = [
        (Figure("advice_cost", "", (6.3, 1.2 + 0.27 * len(shown)), draw=draw_bars), shown),
        (Figure("advice_points", "", (6.3, 3.0 * len(choices)), draw=draw_points), points),
        (Figure("advice_slots", "", (6.3, 3.4), draw=draw_slots), by_slots),
    ]
    pictures = {figure.stem: figure.write(folder, own)[1] for figure, own in figures}
    if "away_s" in found.scenario.terms.columns:
        log.info(
            "there is no figure of where the slots' hours go: jobs are stopped, and go on later"
        )
    else:
        Figure("advice_hours", "", (6.3, 3.0), draw=draw_hours).write(folder, hours(found))
    return {name: path.read_bytes() for name, path in pictures.items()}


def _of_each_fleet(every: Sequence[dict[str, Any]], now: Option) -> list[dict[str, Any]]:
    """Today's row, and of each fleet that of the cheapest policy, least cost first."""
    today = (now.policy, now.slots, now.types)
    first: dict[tuple[int, str], dict[str, Any]] = {}
    for row in every:
        first.setdefault((row["slots"], row["types"]), row)
    cheapest = list(first.values())
    return [
        row | {"today": _key(row) == today}
        for row in every
        if row in cheapest or _key(row) == today
    ]


def _key(row: dict[str, Any]) -> tuple[str, int, str]:
    return row["policy"], row["slots"], row["types"]


def _spot(pairs: dict[str, float] | None) -> Spot | None:
    if pairs is None:
        return None
    for item in fields_of(Spot):
        require(item in pairs, "--spot", pairs, "both, as in share=.4,per_h=.2")
    return Spot(**pairs)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--try-slots(={text!r}) must be whole numbers, such as 4,5,6") from None
