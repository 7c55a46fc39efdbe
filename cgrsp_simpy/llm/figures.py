"""The figure of LLM inference requests: Table II of the paper in both modes."""

from __future__ import annotations

from math import nan

from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from cgrsp_simpy.llm.paper import OWNED, table_two
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import Figures, Gallery, Handles, Row, markdown
from cgrsp_simpy.plots.style import LOOKS

SHORT = {"work-conserving": "at once", "waves": "waves"}


FIGURES = Figures("llm_", handlelength=1.6)


table2 = FIGURES.add(
    "table2",
    "LLM inference: the printed workload in both modes (Table II)",
    (6.3, 3.8),
    note="20 requests on 16 GPUs. At once: a GPU is used as it falls idle; waves:"
    " when all are.\n"
    "Steps: decisions every 0.01 s alone, as in the paper.\n"
    "Response: from arrival to completion, printed as waiting",
    rows=lambda _: table_two(),
)


@table2.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """Bars of both measures in each mode, the printed values as hollow marks."""
    names = [
        ", ".join([row["scheduler"], SHORT[row["mode"]], *(["steps"] if row["step_s"] else [])])
        for row in rows
    ]
    colours = [LOOKS[row["scheduler"]].colour for row in rows]
    labels = {"weighted_response": "weighted response (s)", "mean_response_s": "mean response (s)"}
    for ax, (metric, label) in zip(canvas.subplots(1, 2, sharey=True), labels.items()):
        printed = [row.get(f"printed_{metric}", nan) for row in rows]
        marks.bars(ax, names, [row[metric] for row in rows], [nan] * len(rows), printed, colours)
        ax.set_xlabel(label)
    return [Line2D([], [], label="as printed", **marks.hollow())]


@table2.says
def _(rows: list[Row]) -> str:
    found = {(row["scheduler"], row["mode"], row["step_s"] is not None): row for row in rows}
    waves, keeping = (found["wsrpt", mode, True] for mode in ("waves", "work-conserving"))
    fifo = found["fifo", "work-conserving", True]
    return (
        f"The printed {waves['printed_weighted_response']:.2f} of WSRPT comes out if"
        f" nothing starts until a whole batch has ended ({waves['weighted_response']:.2f});"
        f" if each GPU is used as it falls idle, it is {keeping['weighted_response']:.2f}, and the"
        f" mean {keeping['mean_response_s']:.3f} s in place of {waves['mean_response_s']:.3f} s."
        f" Apart from execution requests then wait {keeping['mean_wait_s']:.3f} s on average,"
        f" {fifo['mean_wait_s']:.3f} s under FIFO. {OWNED}"
    )


@table2.tables
def _(rows: list[Row]) -> str:
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


def _intro(_: None) -> list[str]:
    return [
        "# The figure of LLM inference requests, drawn from this package's runs",
        "After “Heterogeneous GPU Scheduling”, Section VI: its printed workload of 20 requests. The"
        " picture has the CSV of what is plotted beside it: `cgrsp llm figures --out figures/llm`.",
    ]


draw_figures = Gallery("llm", lambda **_: None, FIGURES, _intro).draw
