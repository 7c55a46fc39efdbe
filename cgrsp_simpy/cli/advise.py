"""What to change: the policy, the number of slots, or the freedom to choose the GPU type? A report,
and advice in words.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any

from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.cli.options import (
    Answer,
    add_options,
    add_scenario,
    add_study,
    check_work,
    policies_of,
    scenario_of,
    seeds_of,
    workers_of,
)
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.model.files import write_whole
from cgrsp_simpy.model.table import csv_text, json_text
from cgrsp_simpy.studies.advice import hours, html_page, markdown, rows
from cgrsp_simpy.studies.advise import Advice, advise

log = logging.getLogger(__name__)
POLICIES = "fifo,spt,edf,rh,cadr,triage"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_scenario(parser)
    add_options(
        parser,
        ("--policies P,P", str, "the first is the one in use (default: %(default)s)", POLICIES),
        ("--try-slots N,N", str, "numbers of slots to try (default: one less to two more)"),
        ("--bound-seeds N", int, "seeds with a lower bound (default: %(default)s)", 3),
        ("--report DIR", str, "write advice.md, advice.html and advice.csv into DIR"),
    )
    add_study(parser, number=20)


def carry_out(given: argparse.Namespace) -> Answer:
    """The advice in the format asked for."""
    scenario, seeds = scenario_of(given), seeds_of(given)
    slots = _numbers(given.try_slots) if given.try_slots else _around(len(scenario.slots))
    policies, workers = policies_of(given.policies), workers_of(given)
    both = 2  # types that are fixed, and types that are free
    check_work(given, scenario.work * both * (len(slots) + 1) * len(policies) * len(seeds))
    found = advise(
        scenario, policies, slots, seeds, workers, bound_seeds=given.bound_seeds, out=given.out
    )
    if given.report is not None:
        texts = {
            "advice.md": markdown(found),
            "advice.html": html_page(found),
            "advice.csv": csv_text(rows(found)),
        }
        for name, text in texts.items():
            write_whole(Path(given.report) / name, text.encode())
        _draw(found, Path(given.report))
        log.info("the report is in %s", given.report)
    if given.format == "json":
        return Answer(json_text({"scenario": scenario.name, "rows": rows(found)}))
    return Answer(
        (csv_text(rows(found)) if given.format == "csv" else markdown(found)).rstrip("\n")
    )


def _draw(found: Advice, folder: Path) -> None:
    """Misses against wait for fixed and for free types, and where the slots' hours go on
    the first seed.
    """
    from cgrsp_simpy.plots.advice import slot_hours, trade_off  # matplotlib, for reports alone
    from cgrsp_simpy.plots.gallery import write_figure

    slots = len(found.scenario.slots)

    def draw_points(canvas: Any, rows: list[dict[str, Any]]) -> None:
        for ax, free in zip(canvas.subplots(2, 1), (False, True)):
            own = [row for row in rows if row["free_types"] == free]
            bounds = {
                name: mean(values)
                for (_, choice, name), values in found.bounds.items()
                if choice == free and len(values) > 1
            }
            seeds = f"; bound of {bounds['wait_min'].n} seeds" if bounds else ""
            trade_off(own, bounds, ax, f"{slots} slots, {'free' if free else 'fixed'} types{seeds}")

    def draw_hours(canvas: Any, rows: list[dict[str, Any]]) -> None:
        slot_hours(
            {row.pop("policy"): row for row in map(dict, rows)},
            canvas.add_subplot(),
            f"{found.scenario.name}, one seed",
        )

    write_figure(
        folder / "advice_points",
        [row for row in rows(found) if row["slots"] == slots],
        (6.3, 6.0),
        draw_points,
    )
    write_figure(folder / "advice_hours", hours(found), (6.3, 3.0), draw_hours)


def _around(slots: int) -> list[int]:
    return [number for number in range(slots - 1, slots + 3) if number > 0]


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--try-slots(={text!r}) must be whole numbers, such as 4,5,6") from None
