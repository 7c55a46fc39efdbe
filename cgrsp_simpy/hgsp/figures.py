"""The figures and tables of HGSP from instances and runs of our own: of each the data as CSV, and the picture as PNG and SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure as Canvas

from cgrsp_simpy.hgsp import figure_data as data
from cgrsp_simpy.hgsp import findings, panels
from cgrsp_simpy.hgsp.figure_data import Row, Rows, Runs, half
from cgrsp_simpy.hgsp.panels import Draw, amount
from cgrsp_simpy.model.checks import check_one_of
from cgrsp_simpy.model.files import write_whole
from cgrsp_simpy.plots import STYLE
from cgrsp_simpy.plots.gallery import write_figure

__all__ = ["FIGURES", "Figure", "draw_figures"]

INSTANCES = "{instances} generated instances a level, 95 % intervals"


@dataclass(frozen=True)
class Figure:
    """A figure. rows: what is plotted. draw: draws the rows. seen: a sentence on them. size: inches, in print.

    note: what stands above the picture; {instances} is replaced.
    """

    id: str
    title: str
    rows: Rows
    draw: Draw
    seen: Callable[[list[Row]], str]
    note: str = INSTANCES
    size: tuple[float, float] = (6.3, 3.2)

    @property
    def stem(self) -> str:
        """The name of its files, without the ending."""
        return f"hgsp_{self.id}"


FIGURES = {
    figure.id: figure
    for figure in (
        Figure(
            "gantt",
            "Fifty tasks on three GPUs",
            data.gantt,
            panels.gantt,
            findings.gantt,
            "50 tasks, twice as much work as three GPUs can do",
            (6.3, 5.4),
        ),
        Figure(
            "gantt_window",
            "Medium load (tasks1): FIFO's worst half hour",
            data.gantt_window,
            panels.gantt,
            findings.gantt,
            "tasks1, 1000 generated tasks: what starts in FIFO's worst half hour",
            (6.3, 5.4),
        ),
        Figure(
            "comparison",
            "Weighted tardiness beside FIFO's, by load",
            data.comparison,
            panels.comparison,
            findings.comparison,
        ),
        Figure(
            "table1",
            "Weighted tardiness and missed deadlines, by load (Table I)",
            data.table_one,
            panels.table_one,
            findings.table_one,
            size=(6.3, 5.0),
        ),
        Figure(
            "utilisation",
            "How busy the GPUs are",
            data.utilisation,
            panels.utilisation,
            findings.utilisation,
            size=(6.3, 4.4),
        ),
        Figure(
            "annealing",
            "The course of both annealings",
            data.searches,
            panels.searches,
            findings.searches,
            "one instance of 1000 tasks under high load (tasks3), and the fifty of the Gantt chart",
            (6.3, 4.2),
        ),
        Figure(
            "table2",
            "LLM inference: the printed workload in both modes (Table II)",
            data.table_two_rows,
            panels.table_two,
            findings.table_two,
            "20 requests on 16 GPUs. At once: a GPU is used as it falls idle; waves: when all are.\n"
            "Steps: decisions every 0.01 s alone, as in the paper",
            (6.3, 3.6),
        ),
    )
}


def draw_figures(
    folder: str | Path,
    ids: Sequence[str] = tuple(FIGURES),
    *,
    style: str = "print",
    executor: Executor | int | None = None,
    instances: int = 10,
    moves: int = data.MOVES,
) -> list[Path]:
    """Draw figures into a folder: of each the CSV of what is plotted, a PNG of 200 dpi and an SVG; and an index of all.

    style: "print" or "lecture". executor: as of `as_they_come`. instances: generated ones a load level, of seeds from 0. moves:
    of the annealing.

    Raises InputError for an unknown figure or style, a number that is not allowed, or a file that cannot be written.
    """
    check_one_of("style", style, STYLE)
    for id in ids:
        check_one_of("figure", id, FIGURES)
    chosen, runs = [FIGURES[id] for id in ids], Runs(instances, moves, executor)
    rows = {figure.id: figure.rows(runs) for figure in chosen}
    paths = [path for figure in chosen for path in _files(figure, rows[figure.id], Path(folder), style, instances)]
    if list(ids) == list(FIGURES):
        paths.append(Path(folder) / "README.md")
        write_whole(paths[-1], _index(rows, instances).encode())
    return paths


def _files(figure: Figure, rows: list[Row], folder: Path, style: str, instances: int) -> list[Path]:
    note = figure.note.format(instances=instances)

    def draw(canvas: Canvas, rows: list[Row]) -> None:
        figure.draw(canvas, rows, note)

    return write_figure(folder / figure.stem, rows, figure.size, draw, style)


# ---- the index ----


def _index(rows: dict[str, list[Row]], instances: int) -> str:
    """All figures on one page to scroll, with both tables."""
    lines = [
        "# Figures of HGSP, drawn from this package's instances and runs",
        "After “Heterogeneous GPU Scheduling”, whose data sets are not public: tasks1 to tasks4 are generated here, of the"
        f" printed sizes and clusters, {instances} instances each. A published value belongs to other instances; what can be"
        " compared is who is better than whom, and by what share. What stands after ± is half of a 95 % interval. fifo, greedy"
        " and sagreedy are the paper's; wspt, edd and atc are dispatch rules, annealing is ours. Each picture has an SVG and the"
        " CSV of what is plotted beside it. All of them: `cgrsp hgsp figures --out figures/hgsp`.",
    ]
    tables = {"table1": _table_one, "table2": _table_two}
    for figure in FIGURES.values():
        links = f"[SVG]({figure.stem}.svg), [CSV]({figure.stem}.csv)"
        lines += [f"## {figure.title}", f"![{figure.title}]({figure.stem}.png)"]
        lines += [tables[figure.id](rows[figure.id])] if figure.id in tables else []
        lines += [f"{figure.seen(rows[figure.id])} `cgrsp hgsp figures --only {figure.id} --out figures/hgsp`; {links}"]
    return "\n\n".join(lines) + "\n"


def _markdown(head: Sequence[str], texts: int, lines: Sequence[Sequence[str]]) -> str:
    """A table whose first columns are texts, the others numbers."""
    rule = "|" + "---|" * texts + "---:|" * (len(head) - texts)
    return "\n".join([f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(cells)} |" for cells in lines)])


def _table_one(rows: list[Row]) -> str:
    """Table I in Markdown."""
    head = (
        "level",
        "scheduler",
        "weighted tardiness, s",
        "published*",
        "missed, %",
        "published*",
        "utilisation, %",
        "lower bound, s",
    )
    lines = []
    for row in rows:
        tardiness, spread = row["weighted_tardiness"], row[half("weighted_tardiness")]
        printed = amount(row["published_weighted_tardiness"]) if "published_weighted_tardiness" in row else ""
        cells = [
            row["level"],
            row["scheduler"],
            f"{amount(tardiness)} ± {amount(spread, tardiness)}",
            printed,
        ]
        cells += [f"{row['dmr_pct']:.1f} ± {row[half('dmr_pct')]:.1f}", str(row.get("published_dmr_pct", ""))]
        lines.append([*cells, f"{row['utilisation_pct']:.1f}", amount(row["lower_bound"])])
    return _markdown(head, 2, lines) + "\n\n\\* of other instances"


def _table_two(rows: list[Row]) -> str:
    """Table II in Markdown."""
    head = ("scheduler", "mode", "decisions", "weighted waiting, s", "printed", "mean waiting, s", "printed", "completed")
    lines = []
    for row in rows:
        printed = [f"{row[f'printed_{name}']:.3f}" if row["step_s"] else "" for name in ("weighted_wait", "mean_wait_s")]
        cells = [row["scheduler"], row["mode"], f"every {row['step_s']} s" if row["step_s"] else "at any time"]
        cells += [f"{row['weighted_wait']:.3f}", printed[0], f"{row['mean_wait_s']:.3f}", printed[1], str(row["completed"])]
        lines.append(cells)
    return _markdown(head, 3, lines)
