"""The figures of jobs on spot instances, from runs on a made-up market: of each the data as CSV,
and the picture as PNG and SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from cgrsp_simpy.plots.gallery import Picture, markdown, write_gallery
from cgrsp_simpy.spot import figure_data as data
from cgrsp_simpy.spot import panels
from cgrsp_simpy.spot.figure_data import DEADLINES_H, MARKET, OVERHEADS_H, Row, Runs

MADE_UP = (
    f"made-up market of one zone: up {MARKET.up_h:g} h, down {MARKET.down_h:g} h on average,\n"
    "geometric, as long as those of us-east-1f (V100, February 2023) in SkyPilot's spot traces"
)


def draw_figures(
    folder: str | Path,
    ids: Sequence[str] | None = None,
    *,
    style: str = "print",
    executor: Executor | int | None = None,
    seeds: int = 20,
) -> list[Path]:
    """Draw figures into a folder, made where it is not there: of each the CSV of what is plotted, a
    PNG of 200 dpi and an SVG; and an index of all. The files.

    ids: names of FIGURES. style: a key of `plots.STYLE`. executor: as of `cg.compare`. seeds: how
    many, from 0. Raises InputError for an unknown figure or style, a number that is not allowed, or
    a file that cannot be written.
    """
    ids = tuple(FIGURES) if ids is None else ids
    runs = Runs(seeds, executor)
    return write_gallery(
        folder, _pictures(seeds), ids, runs, style, _intro(seeds), "cgrsp spot figures"
    )


def _pictures(seeds: int) -> dict[str, Picture]:
    return {
        "course": Picture(
            "spot_course",
            "One job, four policies",
            data.course,
            panels.course,
            _course,
            "48 h of computing within 52 h, 12 min of overhead a start; below each name its cost,\n"
            f"% of on demand only; one seed; a {MADE_UP}",
            (6.3, 3.8),
        ),
        "costs": Picture(
            "spot_costs",
            "What waiting for spot instances costs, by deadline and overhead",
            data.costs,
            panels.costs,
            _costs,
            f"48 h of computing, 0.97 USD/h on spot, 3.06 on demand; {seeds} seeds, 95 %"
            f" intervals;\n{MADE_UP}",
            (6.3, 3.8),
            _table,
        ),
    }


def _intro(seeds: int) -> list[str]:
    return [
        "# Figures of jobs on spot instances, drawn from this package's runs",
        "After Wu et al., “Can't Be Late: Optimizing Spot Instance Savings under Deadlines” (NSDI"
        f" 2024): one job of 48 h under a deadline, {seeds} seeds. Its traces are not part of this"
        f" package; the market here is made up: a zone that is up for {MARKET.up_h:g} h and down"
        f" for {MARKET.down_h:g} h on average, geometric in steps of {MARKET.step_s // 60} min,"
        " the mean times of one of those traces. next-spot and optimum know what is to come;"
        " expected-cost is ours, and learns the law from two weeks before each run. With files of"
        " zones: `cgrsp spot compare --trace FILE`. Each picture has the CSV of what is plotted"
        " beside it. All of them: `cgrsp spot figures --out figures/spot`.",
    ]


def _course(rows: list[Row]) -> str:
    cost_pct = {row["policy"]: row["cost_pct"] for row in rows if row["policy"] != "market"}
    told = ", ".join(f"{name} {value:.0f}" for name, value in cost_pct.items())
    return f"Cost, % of on demand only: {told}."


def _costs(rows: list[Row]) -> str:
    missed = sum(row["missed"] for row in rows)
    parts = []
    for overhead in OVERHEADS_H:
        for deadline in (DEADLINES_H[1], DEADLINES_H[-1]):
            own = {
                row["policy"]: row["saving_pct"]
                for row in rows
                if (row["deadline_h"], row["overhead_h"]) == (deadline, overhead)
            }
            names = ("greedy", "uniform-progress", "expected-cost")
            told = ", ".join(f"{name} {own[name]:.0f}" for name in names)
            parts.append(f"deadline {deadline:g} h and overhead {60 * overhead:g} min: {told}")
    return f"Share of the optimum's saving, %: {'; '.join(parts)}. Deadlines missed: {missed:g}."


def _table(rows: list[Row]) -> str:
    """Costs in Markdown."""
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    terms = list(dict.fromkeys((row["overhead_h"], row["deadline_h"]) for row in rows))
    lines = []
    for overhead, deadline in sorted(terms):
        own = {
            row["policy"]: f"{row['cost_pct']:.1f} ± {row['cost_pct_half']:.1f}"
            for row in rows
            if (row["overhead_h"], row["deadline_h"]) == (overhead, deadline)
        }
        lines.append([f"{overhead:g}", f"{deadline:g}", *(own[name] for name in policies)])
    return markdown(" | ".join(("overhead, h", "deadline, h", *policies)), 0, lines)


FIGURES = _pictures(20)
"""The figures by id."""
