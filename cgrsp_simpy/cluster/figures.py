"""The figures of GPU clusters from runs of our own: of each the data as CSV, and the picture
as PNG and SVG.
"""

from __future__ import annotations

from cgrsp_simpy.cluster import figure_data as data
from cgrsp_simpy.cluster import findings, panels
from cgrsp_simpy.cluster.figure_data import LOAD, METRICS, UNITS, Row, Runs
from cgrsp_simpy.cluster.table import implied
from cgrsp_simpy.model.table import half
from cgrsp_simpy.plots.gallery import Gallery, Picture, markdown
from cgrsp_simpy.plots.parts import decimals


def pictures(runs: Runs) -> dict[str, Picture]:
    """How each figure is drawn."""
    seeds, jobs = runs.seeds, runs.jobs
    every = f"{jobs} jobs on 8 nodes of 8 GPUs, {seeds} seeds"
    one = f"offered load {LOAD:g}, {jobs} jobs on 8 nodes of 8 GPUs, one seed"
    return {
        "metrics": Picture(
            "cluster_metrics",
            "All schedulers at one load",
            data.metrics,
            panels.metrics,
            findings.metrics,
            f"offered load {LOAD:g}, {every}, 95 % intervals.\n"
            "Throughput and utilisation: from the first submission to the last.\n"
            "Starved: waits of more than 30 min. Fragmentation: share of the free GPUs that\n"
            "the widest waiting job cannot use, mean over the time in which jobs wait",
            (6.3, 5.6),
            _metrics,
        ),
        "waits": Picture(
            "cluster_waits",
            "Who waits how long: waits by the GPUs of a job",
            data.waits,
            panels.waits,
            findings.waits,
            f"offered load {LOAD:g}, {every} taken together",
            (6.3, 4.2),
        ),
        "course": Picture(
            "cluster_course",
            "Utilisation, queue and fragmentation over time",
            data.course,
            panels.course,
            findings.course,
            f"{one}, means over 4 h.\n"
            "Grey line: last arrival. Fragmentation: free GPUs that the widest waiting"
            " job cannot use",
            (6.3, 4.4),
        ),
        "gantt": Picture(
            "cluster_gantt",
            "A day of the cluster, GPU by GPU",
            data.gantt,
            panels.gantt,
            findings.gantt,
            f"{one}.\n"
            "A day of it, a line a GPU; white is idle. The colour tells how many GPUs"
            " the job has:",
            (6.3, 5.0),
        ),
        "aging": Picture(
            "cluster_aging",
            "HPS: how waiting changes the score of a job",
            data.aging,
            panels.aging,
            findings.aging,
            "HPS by default; aging begins at 5 min and ends at 30 min (grey lines)",
            (6.3, 3.2),
        ),
        "table2": Picture(
            "cluster_table2",
            "Table II over offered loads",
            data.table_two,
            panels.table_two,
            findings.table_two,
            f"{every}, 95 % intervals.\n"
            "Throughput and utilisation: from the first submission to the last. Hollow, on grey:"
            " published,\n"
            "at a load that is not printed; the variance, printed without a unit, as if in min²",
            (6.3, 4.6),
            _table_two,
        ),
        "claims": Picture(
            "cluster_claims",
            "Do dynamic schedulers beat static ones?",
            data.claims,
            panels.claims,
            findings.claims,
            "dynamic (hps, pbs, sbs) minus static (fifo, sjf, shortest, shortest-gpu),"
            " paired by seed;\n"
            f"{jobs} jobs, {seeds} seeds, 95 % intervals; throughput from the first submission"
            " to the last",
            (6.3, 4.2),
        ),
    }


def _intro(runs: Runs) -> list[str]:
    return [
        "# Figures of GPU clusters, drawn from this package's runs",
        "After “Reducing Fragmentation and Starvation in GPU Clusters through Dynamic"
        f" Multi-Objective Scheduling”: its mix of jobs on 8 nodes of 8 GPUs, {runs.jobs} jobs a"
        f" run, {runs.seeds} seeds. The paper prints neither how its jobs arrive nor the law of"
        " durations within its classes; both are ours, and what is published belongs to other jobs."
        " Nor does it say over what time throughput and utilisation are measured; here it is from"
        " the first submission to the last, while jobs arrive. What stands after ± is half of"
        " a 95 % interval. fifo, sjf, shortest and shortest-gpu are the paper's static schedulers,"
        " hps, pbs and sbs its dynamic ones, adaptive the one that it gave up; fifo-skip, easy,"
        " conservative and las are beside them for comparison. Each picture has the CSV of what is"
        " plotted beside it. All of them: `cgrsp cluster figures --out figures/cluster`.",
    ]


def _metrics(rows: list[Row]) -> str:
    """Every scheduler's figures in Markdown."""
    head = (
        "scheduler | jobs/h | utilisation, % | starved | mean wait, s | variance of waits, min²"
        " | fragmentation, %"
    )
    lines = [
        [row["scheduler"], *(f"{_told(row[name])} ± {_told(row[half(name)])}" for name in METRICS)]
        for row in rows
    ]
    return markdown(head, 1, lines)


def _table_two(rows: list[Row]) -> str:
    """Table II in Markdown, and what follows from what is printed."""
    head = " | ".join(["scheduler | load", *(f"{each[0]} | published" for each in UNITS.values())])
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
        "Of each scheduler the load at which its utilisation is closest to the published one;"
        f" where none is published, {LOAD:g}. The published variance has no unit."
    )
    points = "\n".join(f"- {line}" for line in implied())
    return "\n\n".join([markdown(head, 1, lines), told, points])


def _told(value: float) -> str:
    return f"{value:,.{decimals(value)}f}"


draw_figures = Gallery("cluster", Runs, pictures, _intro).draw
FIGURES = pictures(Runs())
"""The figures by id."""
