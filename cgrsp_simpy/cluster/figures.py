"""The figures of GPU clusters from runs of our own: of each the data as CSV, and the picture as PNG and SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure as Canvas

from cgrsp_simpy.cluster import figure_data as data
from cgrsp_simpy.cluster import findings, panels
from cgrsp_simpy.cluster.figure_data import LOAD, METRICS, UNITS, Row, Rows, Runs, half
from cgrsp_simpy.cluster.panels import Draw
from cgrsp_simpy.cluster.table import impossible
from cgrsp_simpy.model.checks import check_one_of
from cgrsp_simpy.model.files import write_whole
from cgrsp_simpy.plots import STYLE
from cgrsp_simpy.plots.gallery import write_figure

__all__ = ["FIGURES", "Figure", "draw_figures"]

ALL = f"offered load {LOAD:g}, {{jobs}} jobs on 8 nodes of 8 GPUs, {{seeds}} seeds"
ONE = f"offered load {LOAD:g}, {{jobs}} jobs on 8 nodes of 8 GPUs, one seed"


@dataclass(frozen=True)
class Figure:
    """A figure. rows: what is plotted. draw: draws the rows. seen: a sentence on them. size: inches, in print.

    note: what stands above the picture; {seeds} and {jobs} are replaced.
    """

    id: str
    title: str
    rows: Rows
    draw: Draw
    seen: Callable[[list[Row]], str]
    note: str
    size: tuple[float, float]

    @property
    def stem(self) -> str:
        """The name of its files, without the ending."""
        return f"cluster_{self.id}"


FIGURES = {
    figure.id: figure
    for figure in (
        Figure(
            "metrics",
            "All schedulers at one load",
            data.metrics,
            panels.metrics,
            findings.metrics,
            f"{ALL}, 95 % intervals.\n"
            "Starved: waits of more than 30 min. Fragmentation: share of the free GPUs that\n"
            "the widest waiting job cannot use, mean over the time in which jobs wait",
            (6.3, 5.6),
        ),
        Figure(
            "waits",
            "Who waits how long: waits by the GPUs of a job",
            data.waits,
            panels.waits,
            findings.waits,
            f"{ALL} taken together",
            (6.3, 4.2),
        ),
        Figure(
            "course",
            "Utilisation, queue and fragmentation over time",
            data.course,
            panels.course,
            findings.course,
            f"{ONE}, means over 4 h.\nGrey line: last arrival. Fragmentation: free GPUs that the widest waiting job cannot use",
            (6.3, 4.4),
        ),
        Figure(
            "gantt",
            "A day of the cluster, GPU by GPU",
            data.gantt,
            panels.gantt,
            findings.gantt,
            f"{ONE}.\nA day of it, a line a GPU; white is idle. The colour tells how many GPUs the job has:",
            (6.3, 5.0),
        ),
        Figure(
            "aging",
            "HPS: how waiting changes the score of a job",
            data.aging,
            panels.aging,
            findings.aging,
            "HPS by default; aging begins at 5 min and ends at 30 min (grey lines)",
            (6.3, 3.2),
        ),
        Figure(
            "table2",
            "Table II over offered loads",
            data.table_two,
            panels.table_two,
            findings.table_two,
            "{jobs} jobs on 8 nodes of 8 GPUs, {seeds} seeds, 95 % intervals. Hollow, on grey: published,\n"
            "at a load that is not printed; the variance, printed without a unit, as if in min²",
            (6.3, 4.6),
        ),
        Figure(
            "claims",
            "Do dynamic schedulers beat static ones?",
            data.claims,
            panels.claims,
            findings.claims,
            "dynamic (hps, pbs, sbs) minus static (fifo, sjf, shortest, shortest-gpu), paired by seed;\n"
            "{jobs} jobs, {seeds} seeds, 95 % intervals",
            (6.3, 4.2),
        ),
    )
}


def draw_figures(
    folder: str | Path,
    ids: Sequence[str] = tuple(FIGURES),
    *,
    style: str = "print",
    executor: Executor | int | None = None,
    seeds: int = 10,
    jobs: int = 1000,
) -> list[Path]:
    """Draw figures into a folder: of each the CSV of what is plotted, a PNG of 200 dpi and an SVG; and an index of all.

    style: "print" or "lecture". executor: as of `as_they_come`. seeds: how many, from 0. jobs: of each run.

    Raises InputError for an unknown figure or style, a number that is not allowed, or a file that cannot be written.
    """
    check_one_of("style", style, STYLE)
    for id in ids:
        check_one_of("figure", id, FIGURES)
    chosen, runs = [FIGURES[id] for id in ids], Runs(seeds, jobs, executor)
    rows = {figure.id: figure.rows(runs) for figure in chosen}
    paths = [path for figure in chosen for path in _files(figure, rows[figure.id], Path(folder), style, seeds, jobs)]
    if list(ids) == list(FIGURES):
        paths.append(Path(folder) / "README.md")
        write_whole(paths[-1], _index(rows, seeds, jobs).encode())
    return paths


def _files(figure: Figure, rows: list[Row], folder: Path, style: str, seeds: int, jobs: int) -> list[Path]:
    note = figure.note.format(seeds=seeds, jobs=jobs)

    def draw(canvas: Canvas, rows: list[Row]) -> None:
        figure.draw(canvas, rows, note)

    return write_figure(folder / figure.stem, rows, figure.size, draw, style)


# ---- the index ----


def _index(rows: dict[str, list[Row]], seeds: int, jobs: int) -> str:
    """All figures on one page to scroll, with two tables."""
    lines = [
        "# Figures of GPU clusters, drawn from this package's runs",
        "After “Reducing Fragmentation and Starvation in GPU Clusters through Dynamic Multi-Objective Scheduling”: its mix of"
        f" jobs on 8 nodes of 8 GPUs, {jobs} jobs a run, {seeds} seeds. The paper prints neither how its jobs arrive nor the law"
        " of durations within its classes; both are ours, and what is published belongs to other jobs. What stands after ± is"
        " half of a 95 % interval. fifo, sjf, shortest and shortest-gpu are the paper's static schedulers, hps, pbs and sbs its"
        " dynamic ones, adaptive the one that it gave up; fifo-skip, easy, conservative and las are beside them for comparison."
        " Each picture has an SVG and the CSV of what is plotted beside it. All of them: `cgrsp cluster figures --out"
        " figures/cluster`.",
    ]
    tables = {"metrics": _metrics, "table2": _table_two}
    for figure in FIGURES.values():
        links = f"[SVG]({figure.stem}.svg), [CSV]({figure.stem}.csv)"
        lines += [f"## {figure.title}", f"![{figure.title}]({figure.stem}.png)"]
        lines += [tables[figure.id](rows[figure.id])] if figure.id in tables else []
        lines += [f"{figure.seen(rows[figure.id])} `cgrsp cluster figures --only {figure.id} --out figures/cluster`; {links}"]
    return "\n\n".join(lines) + "\n"


def _markdown(head: Sequence[str], texts: int, lines: Sequence[Sequence[str]]) -> str:
    """A table whose first columns are texts, the others numbers."""
    rule = "|" + "---|" * texts + "---:|" * (len(head) - texts)
    return "\n".join([f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(cells)} |" for cells in lines)])


def _metrics(rows: list[Row]) -> str:
    """Every scheduler's figures in Markdown."""
    head = ("scheduler", "jobs/h", "utilisation, %", "starved", "mean wait, s", "variance of waits, min²", "fragmentation, %")
    lines = [[row["scheduler"], *(f"{_told(row[name])} ± {_told(row[half(name)])}" for name in METRICS)] for row in rows]
    return _markdown(head, 1, lines)


def _table_two(rows: list[Row]) -> str:
    """Table II in Markdown, and what it cannot be."""
    head = ["scheduler", "load", *(cell for label, *_ in UNITS.values() for cell in (label, "published"))]
    lines = []
    for row in rows:
        if row["closest"] or (row["published_utilisation_pct"] is None and row["load"] == LOAD):
            cells = [row["scheduler"], f"{row['load']:g}"]
            for figure, (_, unit, _) in UNITS.items():
                printed = row[f"published_{figure}"]
                cells += [f"{_told(row[figure] * unit)} ± {_told(row[half(figure)] * unit)}"]
                cells += ["" if printed is None else f"{printed:g}"]
            lines.append(cells)
    told = (
        "Of each scheduler the load at which its utilisation is closest to the published one; where none is published,"
        f" {LOAD:g}. The published variance has no unit."
    )
    return "\n\n".join([_markdown(head, 1, lines), told, "\n".join(f"- {line}" for line in impossible())])


def _told(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
