"""The thesis's figures, drawn from this package's own runs: the data of each as CSV, and the
picture as PNG and SVG.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure as Canvas

from cgrsp_simpy.model.checks import check_one_of
from cgrsp_simpy.model.files import write_whole
from cgrsp_simpy.model.shown import progress
from cgrsp_simpy.plots import STYLE
from cgrsp_simpy.plots.gallery import write_figure
from cgrsp_simpy.thesis import figure_data as data
from cgrsp_simpy.thesis import panels
from cgrsp_simpy.thesis.experiments import COUNTED
from cgrsp_simpy.thesis.report import IDS, run_tables
from cgrsp_simpy.thesis.runs import Results, known_directory
from cgrsp_simpy.thesis.seen import seen_decision, seen_front

Row = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A figure.

    id: the thesis's number, or a name of ours. title: what it shows. size: inches, in print.

    tables: those whose runs it needs. rows: what is plotted, from these runs. draw: draws the rows
    on a canvas. seen: what is seen in its rows, as read from their file, for the index.
    """

    id: str
    title: str
    size: tuple[float, float]
    rows: Callable[[Results], list[Row]]
    draw: Callable[[Canvas, list[Row]], None]
    tables: tuple[str, ...] = ()
    seen: Callable[[list[dict[str, str]]], str] = lambda _: ""

    @property
    def stem(self) -> str:
        """The name of its files, without the ending."""
        return f"figure_{self.id.replace('.', '_')}"


def _of_table(id: str) -> Callable[[Results], list[Row]]:
    return lambda results: data.table_rows(id, results)


def _reservations(results: Results) -> list[Row]:
    return [row for row in data.table_rows("5.10", results) if row["row"].startswith("surge")]


def _thresholds(results: Results) -> list[Row]:
    return [{"table": id, **row} for id in ("5.8", "5.9") for row in data.table_rows(id, results)]


def _cells(results: Results) -> list[Row]:
    return [
        {"table": id, **row}
        for id in COUNTED
        for row in data.table_rows(id, results)
        if row["counted"]
    ]


def _alone(rows: Callable[[], list[Row]]) -> Callable[[Results], list[Row]]:
    return lambda _: rows()


FIGURES = {
    figure.id: figure
    for figure in (
        Figure(
            "3.1",
            (
                "The decision at one event: a tight job and two loose ones, simulated by the rule"
                " of Section 3.7"
            ),
            (6.3, 3.2),
            _alone(data.decision),
            panels.decision,
            seen=seen_decision,
        ),
        Figure(
            "3.2",
            "Three jobs: execution, deadlines and costs",
            (6.3, 3.4),
            _alone(data.three_jobs),
            panels.three_jobs,
        ),
        Figure(
            "4.1",
            "Seven jobs on three nodes: FIFO, and SPT+Rescue that saves J6",
            (6.3, 4.2),
            _alone(data.seven_jobs),
            panels.seven_jobs,
        ),
        Figure(
            "5.1",
            "Jobs by hour, and execution times by GPU type (generated data)",
            (6.3, 3.0),
            _alone(data.generated_jobs),
            panels.data_set,
        ),
        Figure(
            "5.2",
            "The four components and the event queue, with the names that carry them out",
            (6.3, 4.6),
            _alone(data.architecture),
            panels.architecture,
        ),
        Figure(
            "5.3",
            (
                "The stock multiplier over the day, calibrated and printed, the snapshots, and"
                " arrivals (generated data)"
            ),
            (6.3, 4.6),
            _alone(data.multiplier),
            panels.multiplier,
        ),
        Figure(
            "5.4",
            "Seven policies on a normal and on a hectic day",
            (6.3, 5.6),
            data.benchmark,
            panels.benchmark,
            ("5.2", "5.5"),
        ),
        Figure(
            "5.5",
            "Day types: wait and miss of ten policies",
            (6.3, 7.8),
            _of_table("5.5"),
            panels.day_types,
            ("5.5",),
        ),
        Figure(
            "5.6",
            "Missed deadlines by share of tight deadlines, surge day",
            (6.3, 4.0),
            _of_table("5.6"),
            panels.tightness,
            ("5.6",),
        ),
        Figure(
            "5.7",
            "The month: wait by day type, miss and wait by policy",
            (6.3, 7.4),
            data.month,
            panels.month,
            ("5.13",),
        ),
        Figure(
            "5.8",
            "The month: missed deadlines against tardiness, with the Pareto front",
            (6.3, 4.2),
            data.lateness,
            panels.front,
            ("5.13",),
            seen_front,
        ),
        Figure(
            "5.9",
            "Missed deadlines day by day over one month",
            (6.3, 3.6),
            data.daily_rows,
            panels.daily,
            ("5.13",),
        ),
        Figure(
            "slots",
            "Wait and miss by number of slots, hectic day (Table 5.7)",
            (6.3, 3.6),
            _of_table("5.7"),
            panels.slots,
            ("5.7",),
        ),
        Figure(
            "thresholds",
            (
                "Wait and miss by rescue threshold and by critical ratio, hectic day"
                " (Tables 5.8 and 5.9)"
            ),
            (6.3, 4.4),
            _thresholds,
            panels.thresholds,
            ("5.8", "5.9"),
        ),
        Figure(
            "reservations",
            "Slots reserved by RH, surge day (Table 5.10)",
            (6.3, 3.2),
            _reservations,
            panels.reservations,
            ("5.10",),
        ),
        Figure(
            "stock",
            "Stock status met at dispatch, by hour of the run",
            (6.3, 3.4),
            _alone(data.stock_over_the_day),
            panels.stock,
        ),
        Figure(
            "queue",
            "Waiting jobs over the hectic day",
            (6.3, 3.6),
            _alone(data.queues),
            panels.queues,
        ),
        Figure(
            "cells",
            "Every counted cell: published against reproduced",
            (6.3, 5.0),
            _cells,
            panels.cells,
            COUNTED,
        ),
    )
}
"""The thesis's figures by number."""


def draw_figures(
    folder: str | Path,
    ids: Sequence[str] = tuple(FIGURES),
    runs_from: str | Path | None = None,
    style: str = "print",
    executor: Executor | int | None = None,
) -> list[Path]:
    """Draw figures into a folder: of each the CSV of what is plotted, a PNG of 200 dpi and an SVG;
    and an index of all.

    runs_from: a results directory of `cgrsp thesis tables --out`, whose runs are used; without one
    those needed are carried out. style: a key of `plots.STYLE`.

    Raises InputError for an unknown figure or style, or a directory of other runs.
    """
    check_one_of("style", style, STYLE)
    for id in ids:
        check_one_of("figure", id, FIGURES)
    chosen = [FIGURES[id] for id in ids]
    if runs_from is not None:
        tables, replications = known_directory(runs_from, IDS)
        results, _ = run_tables(tables, replications, executor, runs_from)
    else:
        results, _ = run_tables(
            list(dict.fromkeys(id for figure in chosen for id in figure.tables)), None, executor
        )
    paths = [
        path
        for figure in progress(chosen, unit=" figures")
        for path in write_figure(
            Path(folder) / figure.stem, figure.rows(results), figure.size, figure.draw, style
        )
    ]
    if list(ids) == list(FIGURES):
        paths.append(Path(folder) / "README.md")
        write_whole(paths[-1], _index(Path(folder)).encode())
    return paths


def _index(folder: Path) -> str:
    """All figures on one page to scroll."""
    lines = [
        "# Figures of the thesis, drawn from this package's runs",
        "Hollow marks and figures in italics are published values, below our bars or as rings"
        " around our marks; bars and lines are ours, with their 95 % intervals. Each picture has"
        " the CSV of what is plotted beside it."
        " All of them: `cgrsp thesis figures --out figures`.",
    ]
    for figure in FIGURES.values():
        head = f"Figure {figure.id}" if figure.id[0].isdigit() else "More"
        rows = list(
            csv.DictReader((folder / f"{figure.stem}.csv").read_text(encoding="utf-8").splitlines())
        )
        links = f"[CSV]({figure.stem}.csv)"
        lines += [f"## {head}. {figure.title}", f"![{figure.title}]({figure.stem}.png)"]
        lines += [
            (
                f"{_compared(rows)}{figure.seen(rows)}`cgrsp thesis figure {figure.id} --out"
                f" figures`; {links}"
            )
        ]
    return "\n\n".join(lines) + "\n"


def _compared(rows: list[dict[str, str]]) -> str:
    """One sentence on published beside reproduced, where values are published and judged: how many
    agree, and each that does not.
    """
    judged = [row for row in rows if row.get("verdict")]
    if not judged:
        return ""
    differing = [row for row in judged if row["verdict"] != "agrees"]
    but = f", all but {'; '.join(map(_differing, differing))}" if differing else ""
    return (
        f"{len(judged) - len(differing)} of {len(judged)} published values agree with ours within"
        f" sampling noise{but}. "
    )


def _differing(row: dict[str, str]) -> str:
    name = ", ".join(row[key] for key in ("row", "column", "part") if row[key])
    ours = f"{float(row['reproduced']):.2f} ± {float(row['half_width_95']):.2f}"
    return f"{name} (published {row['published']}, ours {ours})"
