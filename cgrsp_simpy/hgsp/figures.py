"""The figures and tables of HGSP from instances and runs of our own: of each the data as CSV, and
the picture as PNG and SVG.
"""

from __future__ import annotations

from cgrsp_simpy.hgsp import figure_data as data
from cgrsp_simpy.hgsp import findings, panels
from cgrsp_simpy.hgsp.figure_data import Row, Runs
from cgrsp_simpy.hgsp.panels import amount
from cgrsp_simpy.model.table import half
from cgrsp_simpy.plots.gallery import Gallery, Picture, markdown


def pictures(runs: Runs) -> dict[str, Picture]:
    """How each figure is drawn."""
    generated = f"{runs.instances} generated instances a level, 95 % intervals"
    return {
        "gantt": Picture(
            "hgsp_gantt",
            "Fifty tasks on three GPUs",
            data.gantt,
            panels.gantt,
            findings.gantt,
            "50 tasks, twice as much work as three GPUs can do",
            (6.3, 5.4),
        ),
        "gantt_window": Picture(
            "hgsp_gantt_window",
            "Medium load (tasks1): FIFO's worst half hour",
            data.gantt_window,
            panels.gantt,
            findings.gantt,
            "tasks1, 1000 generated tasks: what starts in FIFO's worst half hour",
            (6.3, 5.4),
        ),
        "comparison": Picture(
            "hgsp_comparison",
            "Weighted tardiness beside FIFO's, by load",
            data.comparison,
            panels.comparison,
            findings.comparison,
            generated,
            (6.3, 3.6),
        ),
        "table1": Picture(
            "hgsp_table1",
            "Weighted tardiness and missed deadlines, by load (Table I)",
            data.table_one,
            panels.table_one,
            findings.table_one,
            generated,
            (6.3, 6.2),
            _table_one,
        ),
        "utilisation": Picture(
            "hgsp_utilisation",
            "How busy the GPUs are",
            data.utilisation,
            panels.utilisation,
            findings.utilisation,
            generated,
            (6.3, 4.4),
        ),
        "annealing": Picture(
            "hgsp_annealing",
            "The course of both annealings",
            data.searches,
            panels.searches,
            findings.searches,
            "one instance of 1000 tasks under high load (tasks3), and the fifty of the Gantt chart",
            (6.3, 4.2),
        ),
        "table2": Picture(
            "hgsp_table2",
            "LLM inference: the printed workload in both modes (Table II)",
            data.table_two_rows,
            panels.table_two,
            findings.table_two,
            "20 requests on 16 GPUs. At once: a GPU is used as it falls idle; waves:"
            " when all are.\n"
            "Steps: decisions every 0.01 s alone, as in the paper.\n"
            "Response: from arrival to completion, printed as waiting",
            (6.3, 3.8),
            _table_two,
        ),
    }


def _intro(runs: Runs) -> list[str]:
    return [
        "# Figures of HGSP, drawn from this package's instances and runs",
        "After “Heterogeneous GPU Scheduling”. Its data sets are in its own repository, not here:"
        " tasks1 to tasks4 are generated, of the printed sizes and clusters,"
        f" {runs.instances} instances each. A published value belongs to other instances; what can"
        " be compared is who is better than whom, and by what share. What stands after ± is half of"
        " a 95 % interval. fifo, greedy, sagreedy and sagreedy-arrived are the paper's, the last"
        " two its SAGreedy in two readings; wspt, edd and atc are dispatch rules, annealing is"
        " ours. Each picture has the CSV of what is plotted beside it. All of them: `cgrsp hgsp"
        " figures --out figures/hgsp`.",
    ]


def _table_one(rows: list[Row]) -> str:
    """Table I in Markdown."""
    head = (
        "level | scheduler | weighted tardiness, s | published* | missed, % | published*"
        " | utilisation, % | lower bound, s"
    )
    lines = []
    for row in rows:
        tardiness, spread = row["weighted_tardiness"], row[half("weighted_tardiness")]
        printed = row.get("published_weighted_tardiness")
        cells = [
            row["level"],
            row["scheduler"],
            f"{amount(tardiness)} ± {amount(spread, tardiness)}",
        ]
        cells += ["" if printed is None else amount(printed)]
        cells += [f"{row['dmr_pct']:.1f} ± {row[half('dmr_pct')]:.1f}"]
        cells += [str(row.get("published_dmr_pct", "")), f"{row['utilisation_pct']:.1f}"]
        cells += [amount(row["lower_bound"]) if row["lower_bound"] else "none known"]
        lines.append(cells)
    return markdown(head, 2, lines) + "\n\n\\* of other instances"


def _table_two(rows: list[Row]) -> str:
    """Table II in Markdown."""
    waits = ("mean_wait_s", "wait_p50_s", "wait_p90_s", "wait_p99_s")
    head = (
        "scheduler | mode | decisions | weighted response, s | printed* | mean response, s"
        " | printed* | mean wait, s | p50 | p90 | p99 | completed"
    )
    lines = []
    for row in rows:
        steps = f"every {row['step_s']} s" if row["step_s"] else "at any time"
        cells = [row["scheduler"], row["mode"], steps]
        for name in ("weighted_response", "mean_response_s"):
            printed = f"{row[f'printed_{name}']:.3f}" if row["step_s"] else ""
            cells += [f"{row[name]:.3f}", printed]
        lines.append([*cells, *(f"{row[name]:.3f}" for name in waits), str(row["completed"])])
    note = "\\* as waiting; it is the time from arrival to completion"
    return f"{markdown(head, 3, lines)}\n\n{note}"


draw_figures = Gallery("hgsp", Runs, pictures, _intro).draw
FIGURES = pictures(Runs())
"""The figures by id."""
