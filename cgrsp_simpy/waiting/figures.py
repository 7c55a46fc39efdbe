"""The table and the figures of waiting-policies.txt, drawn anew: of each the data as CSV, and the picture as PNG and SVG.

Figures 2 to 14 are the paper's own setting. Figures 15 to 22 are about a year-long log that is not at hand: here they are of
generated jobs with that log's printed features, at a fortieth of its rate, or of a log of the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure as Canvas

from cgrsp_simpy.model.checks import check_one_of
from cgrsp_simpy.model.files import write_whole
from cgrsp_simpy.plots import STYLE
from cgrsp_simpy.plots.gallery import write_figure
from cgrsp_simpy.waiting import figure_data as data
from cgrsp_simpy.waiting import panels
from cgrsp_simpy.waiting.figure_data import SCALE, Row, Rows, Runs
from cgrsp_simpy.waiting.jobs import ListedJobs
from cgrsp_simpy.waiting.panels import PRICE, SERVERS, Draw, Panel, curves

__all__ = ["FIGURES", "Figure", "draw_figures"]

BOTH = "line: formula; marks: simulation with 95 % intervals"
SIMULATED = "simulation with 95 % intervals"
WORKLOAD = "{workload}; simulation with 95 % intervals"
GENERATED = f"generated bursty jobs, not a log, at 1/{SCALE} of the paper's cluster"


@dataclass(frozen=True)
class Figure:
    """A figure. id: the paper's number, "table1", or a name of ours. title: what it shows.

    rows: what is plotted. draw: draws the rows. seen: a sentence on them. note: what stands above the picture; {workload} is
    replaced. size: inches, in print.
    """

    id: str
    title: str
    rows: Rows
    draw: Draw
    seen: Callable[[list[Row]], str]
    note: str = BOTH
    size: tuple[float, float] = (6.3, 3.2)

    @property
    def stem(self) -> str:
        """The name of its files, without the ending."""
        return f"waiting_figure_{self.id}" if self.id.isdigit() else f"waiting_{self.id.replace('table', 'table_')}"

    @property
    def name(self) -> str:
        """What it is called in the paper."""
        return f"Figure {self.id}" if self.id.isdigit() else {"table1": "Table 1"}.get(self.id, "More")


_PRICE = Panel("normalized_price", PRICE)
_WAIT, _HOURS = Panel("wait_s", "mean wait w (s)", low=0), Panel("wait_h", "mean wait w (h)", low=0)
_COST = Panel("opportunity_cents", "opportunity cost P w (cents)", low=0)
_PAIR, _TRIPLE = ("normalized_price", "wait_s"), (_PRICE, _HOURS, _COST)
_ALL_BUT_NJW = ("ajw", "ajw-t", "sww", "ljw", "compound")
_NEAR, _NARROW = range(101, 141), range(80, 121)
_WRONG = "mispredicted (%)"

FIGURES = {
    figure.id: figure
    for figure in (
        Figure(
            "table1",
            "What an hour of work costs, by utilisation",
            data.price_table,
            panels.price_table,
            panels.seen_prices,
            "m5.large, rented on demand or bought for three years",
        ),
        Figure(
            "2",
            "All jobs wait: price and wait",
            data.policies("ajw", metrics=_PAIR, servers=_NEAR, marks=(101, 102, 103, 105, 108, 113, 120, 130, 140)),
            curves("servers", SERVERS, _PRICE, _WAIT),
            panels.seen_ajw,
        ),
        Figure("3", "No jobs wait: price, and use of the last machine", data.last_machine, panels.last_machine, panels.seen_njw),
        Figure(
            "4",
            "All jobs wait, threshold: price by longest wait b",
            data.patience("normalized_price"),
            curves("servers", SERVERS, _PRICE, title="ajw-t with longest wait b, between njw and ajw"),
            panels.seen_patience,
        ),
        Figure(
            "5",
            "All jobs wait, threshold: wait by longest wait b",
            data.patience("wait_s", _NARROW),
            curves("servers", SERVERS, _WAIT, title="ajw-t with longest wait b, between njw and ajw"),
            panels.seen_waits,
        ),
        Figure(
            "6",
            "Short waits wait, beside all jobs wait, threshold: wait",
            data.policies("sww", "ajw-t", metrics=("wait_s",), servers=_NARROW),
            curves("servers", SERVERS, _WAIT),
            panels.seen_balking,
        ),
        Figure(
            "7",
            "Short waits wait: price where waits are over-predicted",
            data.wait_errors("over", "normalized_price", "njw"),
            curves("servers", SERVERS, _PRICE, title="sww by share of jobs whose wait is over-predicted, and njw"),
            panels.seen_over_price,
        ),
        Figure(
            "8",
            "Short waits wait: wait where waits are over-predicted",
            data.wait_errors("over", "wait_s", "njw", _NARROW),
            curves("servers", SERVERS, _WAIT, title="sww by share of jobs whose wait is over-predicted, and njw"),
            panels.seen_over_wait,
        ),
        Figure(
            "9",
            "Short waits wait: wait where waits are under-predicted",
            data.wait_errors("under", "wait_s", "ajw-t", _NARROW),
            curves("servers", SERVERS, _WAIT, title="sww by share of long waits that are under-predicted, and ajw-t"),
            panels.seen_under_wait,
        ),
        Figure(
            "10",
            "Long jobs wait: price and wait by t, 101 machines",
            data.thresholds,
            curves("short_s", "short jobs: below t (s)", _PRICE, _WAIT),
            panels.seen_thresholds,
        ),
        Figure(
            "11",
            "Long jobs wait: running times mispredicted, 101 machines",
            data.run_errors,
            panels.run_errors("error_pct", _WRONG, _PRICE, _WAIT, _COST),
            panels.seen_run_errors,
            SIMULATED,
        ),
        Figure(
            "12",
            "The compound policy, beside long jobs wait: price and wait",
            data.policies("compound", "ljw", metrics=_PAIR, servers=_NARROW),
            curves("servers", SERVERS, _PRICE, _WAIT._replace(high=700)),
            panels.seen_compound,
        ),
        Figure(
            "13",
            "Opportunity cost of waiting, first come, first served",
            data.policies(*_ALL_BUT_NJW, metrics=("opportunity_cents",), servers=_NARROW),
            curves("servers", SERVERS, _COST._replace(high=1.4)),
            panels.seen_costs,
        ),
        Figure(
            "14",
            "Opportunity cost of waiting, shortest job first",
            data.shortest_first,
            curves("servers", SERVERS, _COST),
            panels.seen_costs,
            SIMULATED,
        ),
        Figure(
            "errors",
            "How far the approximate waits are from simulation",
            data.approximations,
            panels.approximations,
            panels.seen_errors,
            "Eq. 23 (ljw) and Eq. 26 (compound) against simulation, with 95 % intervals",
        ),
        Figure("15", "The workload", data.features, panels.features, panels.seen_features, "{workload}", (6.3, 5.0)),
        Figure(
            "16",
            "The policies on the workload, first come, first served",
            data.workload_policies("fcfs"),
            curves("machines", SERVERS, *_TRIPLE),
            panels.seen_workload,
            WORKLOAD,
        ),
        Figure(
            "17",
            "The policies on the workload, shortest job first",
            data.workload_policies("sjf"),
            curves("machines", SERVERS, *_TRIPLE),
            panels.seen_workload,
            WORKLOAD,
        ),
        Figure(
            "18",
            "The compound policy on the workload, by t and b",
            data.workload_thresholds,
            curves("short_min", "short: below t (min)", *_TRIPLE, title="compound with longest wait b"),
            panels.seen_workload_thresholds,
            WORKLOAD,
        ),
        Figure(
            "19",
            "The compound policy on the workload, with mispredictions",
            data.workload_errors,
            curves("error_pct", "running times wrong (%)", *_TRIPLE, title="compound by share of waits mispredicted"),
            panels.seen_workload_errors,
            WORKLOAD,
        ),
        Figure(
            "20",
            "Short waits wait on the workload, waits over-predicted",
            data.workload_wait_errors("over", "njw", ("normalized_price", "wait_h")),
            curves("machines", SERVERS, _PRICE, _HOURS, title="sww, work-conserving, by share of waits over-predicted, and njw"),
            panels.seen_workload_over,
            WORKLOAD,
        ),
        Figure(
            "21",
            "Short waits wait on the workload, waits under-predicted",
            data.workload_wait_errors("under", "ajw-t", ("wait_h",)),
            curves("machines", SERVERS, _HOURS, title="sww by share of long waits that are under-predicted, and ajw-t"),
            panels.seen_workload_under,
            WORKLOAD,
        ),
        Figure(
            "22",
            "Long jobs wait on the workload, running times mispredicted",
            data.workload_run_errors,
            panels.run_errors("error_pct", _WRONG, *_TRIPLE),
            panels.seen_run_errors,
            WORKLOAD,
        ),
    )
}


def draw_figures(
    folder: str | Path,
    ids: Sequence[str] = tuple(FIGURES),
    *,
    trace: ListedJobs | None = None,
    style: str = "print",
    executor: Executor | int | None = None,
    jobs: int = 400_000,
    trials: int = 5,
) -> list[Path]:
    """Draw figures into a folder: of each the CSV of what is plotted, a PNG of 200 dpi and an SVG; and an index of all.

    trace: jobs for Figures 15 to 22 in place of generated ones. style: "print" or "lecture". executor: as of `estimate`.
    jobs, trials: of Figures 2 to 13, by the recursion; the simulations have a fixed share of the jobs, those of Figures 15 to 22
    one trial.

    Raises InputError for an unknown figure or style, for too few jobs, or a file that cannot be written.
    """
    check_one_of("style", style, STYLE)
    for id in ids:
        check_one_of("figure", id, FIGURES)
    chosen, runs = [FIGURES[id] for id in ids], Runs(jobs, trials, trace)
    rows = {figure.id: figure.rows(runs) for figure in chosen}
    while runs.carry_out(executor):  # Figures 18 and 19 need the runs of 16
        rows = {figure.id: figure.rows(runs) for figure in chosen}
    workload = GENERATED if trace is None else f"log {trace.name}"
    paths = [path for figure in chosen for path in _files(figure, rows[figure.id], Path(folder), style, workload)]
    if list(ids) == list(FIGURES):
        paths.append(Path(folder) / "README.md")
        write_whole(paths[-1], _index(rows, workload).encode())
    return paths


def _files(figure: Figure, rows: list[Row], folder: Path, style: str, workload: str) -> list[Path]:
    note = figure.note.format(workload=workload)

    def draw(canvas: Canvas, rows: list[Row]) -> None:
        figure.draw(canvas, rows, note)

    return write_figure(folder / figure.stem, rows, figure.size, draw, style)


def _index(rows: dict[str, list[Row]], workload: str) -> str:
    """All figures on one page to scroll."""
    lines = [
        "# Figures of the waiting policies, drawn from this package's formulas and runs",
        "After Ambati, Bashir, Irwin and Shenoy, “Modeling and Analyzing Waiting Policies for Cloud-Enabled Schedulers”. A price"
        " is relative to that of renting for every job; an opportunity cost is P w with P in US cents per hour of an m5.large;"
        " what stands after ± is half of a 95 % interval. Each picture has an SVG and the CSV of what is plotted beside it. All"
        " of them: `cgrsp waiting figures --out figures/waiting`.",
        f"Figures 15 to 22: {workload}. Their intervals are from the batches of one run, all lines share the jobs, and so most of"
        " what an interval holds moves all lines alike.",
    ]
    for figure in FIGURES.values():
        links = f"[SVG]({figure.stem}.svg), [CSV]({figure.stem}.csv)"
        lines += [f"## {figure.name}. {figure.title}", f"![{figure.title}]({figure.stem}.png)"]
        lines += [_table(rows["table1"])] if figure.id == "table1" else []
        own = " --trace FILE" if workload != GENERATED and "{workload}" in figure.note else ""
        command = f"`cgrsp waiting figures --only {figure.id} --out figures/waiting{own}`"
        lines += [f"{figure.seen(rows[figure.id])} {command}; {links}"]
    return "\n\n".join(lines) + "\n"


def _table(rows: list[Row]) -> str:
    """Table 1 in Markdown."""
    lines = ["| option | utilisation | raw price | effective price | printed | three years | normalized |", "|---|" + "---:|" * 6]
    for row in rows:
        raw, effective = (f"{row[f'{which}_cents_per_h']:.2f} ¢/h" for which in ("raw", "effective"))
        printed, usd = f"{row['printed_effective_cents_per_h']} ¢/h", f"${row['three_years_usd']:.0f}"
        cells = (row["option"], f"{row['utilisation_pct']} %", raw, effective, printed, usd, f"{row['normalized_price']:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
