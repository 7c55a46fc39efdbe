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
from cgrsp_simpy.cli.options import (
    Answer,
    add_options,
    add_scenario,
    add_study,
    flag,
    policies_of,
    scenario_of,
    seeds_of,
    workers_of,
)
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.model.files import check_folder, write_whole
from cgrsp_simpy.model.table import csv_text, json_text
from cgrsp_simpy.rental.workload import LoggedWorkload
from cgrsp_simpy.studies.advice import hours, html_page, markdown, rows, sentences
from cgrsp_simpy.studies.advise import Advice, advise, fleets, later, numbers_around
from cgrsp_simpy.studies.gaps import LUCKS
from cgrsp_simpy.studies.recommend import FIXED, FREE, LEAST_SEEDS, Option, Prices, Spot
from cgrsp_simpy.studies.study import many

log = logging.getLogger(__name__)
BOUNDED = (FIXED, FREE)  # types of the fleets that have bounds, two of each seed
POLICIES = "fifo,spt,edf,rh,cadr,triage"
PRICES = {
    "price_miss": "a missed deadline",
    "price_late": "a minute after a deadline",
    "price_wait": "a minute that a job waits",
    "price_slot": "a slot kept a day, used or not",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_scenario(parser)
    add_options(
        parser,
        ("--policies P,P", str, "the first is the one in use (default: %(default)s)", POLICIES),
        ("--try-slots N,N", str, "numbers of slots to try (default: one less to two more)"),
        (
            "--spot SHARE:RATE",
            str,
            "try spot instances, at a share of the price, taken back at a rate per hour: .4:.2",
        ),
        ("--bound-seeds N", int, "seeds with a lower bound (default: %(default)s)", 3),
        (
            "--report DIR",
            str,
            "write advice.html, a page to print, advice.md, advice.csv and figures",
        ),
    )
    told = "price of {} in USD (default: %(default)s)"
    add_options(
        parser.add_argument_group("prices, by which options are ordered; the rent is the market's"),
        *(
            (f"{flag(option)} USD", float, told.format(noun), getattr(Prices(), option))
            for option, noun in PRICES.items()
        ),
    )
    add_study(parser, number=20)


def carry_out(given: argparse.Namespace) -> Answer:
    """The advice in the format asked for."""
    scenario, seeds = scenario_of(given), seeds_of(given)
    slots = _numbers(given.try_slots) if given.try_slots is not None else numbers_around(scenario)
    policies, workers = policies_of(given.policies), workers_of(given)
    if given.report is not None:
        check_folder(Path(given.report))
    prices = Prices(**{option: getattr(given, option) for option in PRICES})
    spot = _spot(given.spot) if given.spot is not None else None
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
    if given.format == "json":
        told = {"scenario": scenario.name, "prices": asdict(prices)}
        return Answer(json_text({**told, "advice": sentences(found), "rows": rows(found)}))
    return Answer(
        (csv_text(rows(found)) if given.format == "csv" else markdown(found)).rstrip("\n")
    )


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
    from cgrsp_simpy.plots.advice import (  # matplotlib, for reports alone
        cost_bars,
        cost_by_slots,
        slot_hours,
        trade_off,
    )
    from cgrsp_simpy.plots.gallery import write_figure

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
    figures: dict[str, tuple[list[dict[str, Any]], tuple[float, float], Any]] = {
        "advice_cost": (shown, (6.3, 1.2 + 0.27 * len(shown)), draw_bars),
        "advice_points": (points, (6.3, 3.0 * len(choices)), draw_points),
        "advice_slots": (by_slots, (6.3, 3.4), draw_slots),
    }
    for name, drawn in figures.items():
        write_figure(folder / name, *drawn)
    if "away_s" in found.scenario.terms.columns:
        log.info(
            "there is no figure of where the slots' hours go: jobs are stopped, and go on later"
        )
    else:
        write_figure(folder / "advice_hours", hours(found), (6.3, 3.0), draw_hours)
    return {name: (folder / f"{name}.png").read_bytes() for name in figures}


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


def _spot(text: str) -> Spot:
    share, _, rate = text.partition(":")
    try:
        return Spot(float(share), float(rate))
    except InputError:
        raise
    except ValueError:
        raise InputError(f"--spot(={text!r}) must be SHARE:RATE, such as .4:.2") from None


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--try-slots(={text!r}) must be whole numbers, such as 4,5,6") from None
