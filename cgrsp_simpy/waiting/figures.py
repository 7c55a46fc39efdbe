"""The table and the figures of waiting-policies.txt, drawn anew: of each the data as CSV, and the
picture as PNG and SVG.

Figures 2 to 14 are the paper's own setting. Figures 15 to 22 are about a year-long log that is
not at hand: here they are of generated jobs with that log's printed features, at a fortieth of its
rate, or of a log of the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

from cgrsp_simpy.model.checks import check_one_of
from cgrsp_simpy.plots.gallery import Picture, markdown, write_gallery
from cgrsp_simpy.plots.style import STYLE
from cgrsp_simpy.waiting import figure_data as data
from cgrsp_simpy.waiting import panels
from cgrsp_simpy.waiting.figure_data import SCALE, Row, Rows, Runs
from cgrsp_simpy.waiting.jobs import ListedJobs
from cgrsp_simpy.waiting.panels import PRICE, SERVERS, Draw, Panel, curves

BOTH = "line: formula; marks: simulation with 95 % intervals"
SIMULATED = "simulation with 95 % intervals"
GENERATED = f"generated bursty jobs, not a log, at 1/{SCALE} of the paper's cluster"
SIZE = (6.3, 3.2)  # inches

_PRICE = Panel("normalized_price", PRICE)
_WAIT, _HOURS = Panel("wait_s", "mean wait w (s)", low=0), Panel("wait_h", "mean wait w (h)", low=0)
_COST = Panel("opportunity_cents", "opportunity cost P w (cents)", low=0)
_PAIR, _TRIPLE = ("normalized_price", "wait_s"), (_PRICE, _HOURS, _COST)
_ALL_BUT_NJW = ("ajw", "ajw-t", "sww", "ljw", "compound")
_NEAR, _NARROW = range(101, 141), range(80, 121)
_WRONG = "mispredicted (%)"


def draw_figures(
    folder: str | Path,
    ids: Sequence[str] | None = None,
    *,
    trace: ListedJobs | None = None,
    style: str = "print",
    executor: Executor | int | None = None,
    jobs: int = 400_000,
    trials: int = 5,
) -> list[Path]:
    """Draw figures into a folder: of each the CSV of what is plotted, a PNG of 200 dpi and an SVG;
    and an index of all.

    trace: jobs for Figures 15 to 22 in place of generated ones. style: a key of `plots.STYLE`.
    executor: as of `compare`.
    jobs, trials: of Figures 2 to 13, by the recursion; the simulations have a fixed share of the
    jobs, those of Figures 15 to 22 one trial.

    Raises InputError for an unknown figure or style, for too few jobs, or a file that
    cannot be written.
    """
    check_one_of("style", style, STYLE)
    runs, figures, workload = Runs(jobs, trials, trace), FIGURES, GENERATED
    if trace is not None:
        workload = f"log {trace.name}"
        own = _pictures_of(workload, " --trace FILE")
        figures = {id: own.get(id, picture) for id, picture in FIGURES.items()}
    ids = tuple(figures) if ids is None else ids
    for id in ids:
        check_one_of("figure", id, figures)
    for id in ids:
        figures[id].rows(runs)
    while runs.carry_out(executor):  # Figures 18 and 19 need the runs of 16
        for id in ids:
            figures[id].rows(runs)
    return write_gallery(
        folder, figures, ids, runs, style, _intro(workload), "cgrsp waiting figures"
    )


def _figure(
    number: int,
    title: str,
    rows: Rows,
    draw: Draw,
    seen: Callable[[list[Row]], str],
    note: str = BOTH,
    size: tuple[float, float] = SIZE,
    options: str = "",
) -> Picture:
    """A figure with the number that it has in the paper."""
    name = f"Figure {number}"
    return Picture(
        f"waiting_figure_{number}", title, rows, draw, seen, note, size, name=name, options=options
    )


def _pictures() -> dict[str, Picture]:
    """Of the paper's own setting."""
    by_servers = partial(curves, "servers", SERVERS)
    by_wait = "ajw-t with longest wait b, between njw and ajw"
    over = "sww by share of jobs whose wait is over-predicted, and njw"
    under = "sww by share of long waits that are under-predicted, and ajw-t"
    return {
        "table1": Picture(
            "waiting_table_1",
            "What an hour of work costs, by utilisation",
            data.price_table,
            panels.price_table,
            panels.seen_prices,
            "m5.large, rented on demand or bought for three years",
            SIZE,
            _table,
            "Table 1",
        ),
        "2": _figure(
            2,
            "All jobs wait: price and wait",
            data.policies(
                "ajw",
                metrics=_PAIR,
                servers=_NEAR,
                marks=(101, 102, 103, 105, 108, 113, 120, 130, 140),
            ),
            by_servers(_PRICE, _WAIT),
            panels.seen_ajw,
        ),
        "3": _figure(
            3,
            "No jobs wait: price, and use of the last machine",
            data.last_machine,
            panels.last_machine,
            panels.seen_njw,
        ),
        "4": _figure(
            4,
            "All jobs wait, threshold: price by longest wait b",
            data.patience("normalized_price"),
            by_servers(_PRICE, title=by_wait),
            panels.seen_patience,
        ),
        "5": _figure(
            5,
            "All jobs wait, threshold: wait by longest wait b",
            data.patience("wait_s", _NARROW),
            by_servers(_WAIT, title=by_wait),
            panels.seen_waits,
        ),
        "6": _figure(
            6,
            "Short waits wait, beside all jobs wait, threshold: wait",
            data.policies("sww", "ajw-t", metrics=("wait_s",), servers=_NARROW),
            by_servers(_WAIT),
            panels.seen_balking,
        ),
        "7": _figure(
            7,
            "Short waits wait: price where waits are over-predicted",
            data.wait_errors("over", "normalized_price", "njw"),
            by_servers(_PRICE, title=over),
            panels.seen_over_price,
        ),
        "8": _figure(
            8,
            "Short waits wait: wait where waits are over-predicted",
            data.wait_errors("over", "wait_s", "njw", _NARROW),
            by_servers(_WAIT, title=over),
            panels.seen_over_wait,
        ),
        "9": _figure(
            9,
            "Short waits wait: wait where waits are under-predicted",
            data.wait_errors("under", "wait_s", "ajw-t", _NARROW),
            by_servers(_WAIT, title=under),
            panels.seen_under_wait,
        ),
        "10": _figure(
            10,
            "Long jobs wait: price and wait by t, 101 machines",
            data.thresholds,
            curves("short_s", "short jobs: below t (s)", _PRICE, _WAIT),
            panels.seen_thresholds,
        ),
        "11": _figure(
            11,
            "Long jobs wait: running times mispredicted, 101 machines",
            data.run_errors,
            panels.run_errors("error_pct", _WRONG, _PRICE, _WAIT, _COST),
            panels.seen_run_errors,
            SIMULATED,
        ),
        "12": _figure(
            12,
            "The compound policy, beside long jobs wait: price and wait",
            data.policies("compound", "ljw", metrics=_PAIR, servers=_NARROW),
            by_servers(_PRICE, _WAIT._replace(high=700)),
            panels.seen_compound,
        ),
        "13": _figure(
            13,
            "Opportunity cost of waiting, first come, first served",
            data.policies(*_ALL_BUT_NJW, metrics=("opportunity_cents",), servers=_NARROW),
            by_servers(_COST._replace(high=1.4)),
            panels.seen_costs,
        ),
        "14": _figure(
            14,
            "Opportunity cost of waiting, shortest job first",
            data.shortest_first,
            by_servers(_COST),
            panels.seen_costs,
            SIMULATED,
        ),
        "errors": Picture(
            "waiting_errors",
            "How far the approximate waits are from simulation",
            data.approximations,
            panels.approximations,
            panels.seen_errors,
            "Eq. 23 (ljw) and Eq. 26 (compound) against simulation, with 95 % intervals",
            SIZE,
            name="More",
        ),
    }


def _pictures_of(workload: str, options: str) -> dict[str, Picture]:
    """Of a workload, generated or a log's. options: those of the command that name the log."""
    by_machines = partial(curves, "machines", SERVERS)
    by_short = partial(curves, "short_min", "short: below t (min)")
    by_errors = partial(curves, "error_pct", "running times wrong (%)")
    over = "sww, work-conserving, by share of waits over-predicted, and njw"
    under = "sww by share of long waits that are under-predicted, and ajw-t"
    figure = partial(_figure, note=f"{workload}; {SIMULATED}", options=options)
    return {
        "15": figure(
            15,
            "The workload",
            data.features,
            panels.features,
            panels.seen_features,
            note=workload,
            size=(6.3, 5.0),
        ),
        "16": figure(
            16,
            "The policies on the workload, first come, first served",
            data.workload_policies("fcfs"),
            by_machines(*_TRIPLE),
            panels.seen_workload,
        ),
        "17": figure(
            17,
            "The policies on the workload, shortest job first",
            data.workload_policies("sjf"),
            by_machines(*_TRIPLE),
            panels.seen_workload,
        ),
        "18": figure(
            18,
            "The compound policy on the workload, by t and b",
            data.workload_thresholds,
            by_short(*_TRIPLE, title="compound with longest wait b"),
            panels.seen_workload_thresholds,
        ),
        "19": figure(
            19,
            "The compound policy on the workload, with mispredictions",
            data.workload_errors,
            by_errors(*_TRIPLE, title="compound by share of waits mispredicted"),
            panels.seen_workload_errors,
        ),
        "20": figure(
            20,
            "Short waits wait on the workload, waits over-predicted",
            data.workload_wait_errors("over", "njw", ("normalized_price", "wait_h")),
            by_machines(_PRICE, _HOURS, title=over),
            panels.seen_workload_over,
        ),
        "21": figure(
            21,
            "Short waits wait on the workload, waits under-predicted",
            data.workload_wait_errors("under", "ajw-t", ("wait_h",)),
            by_machines(_HOURS, title=under),
            panels.seen_workload_under,
        ),
        "22": figure(
            22,
            "Long jobs wait on the workload, running times mispredicted",
            data.workload_run_errors,
            panels.run_errors("error_pct", _WRONG, *_TRIPLE),
            panels.seen_run_errors,
        ),
    }


def _intro(workload: str) -> list[str]:
    return [
        "# Figures of the waiting policies, drawn from this package's formulas and runs",
        "After Ambati, Bashir, Irwin and Shenoy, “Modeling and Analyzing Waiting Policies for"
        " Cloud-Enabled Schedulers”. A price is relative to that of renting for every job;"
        " an opportunity cost is P w with P in US cents per hour of an m5.large; what stands after"
        " ± is half of a 95 % interval. Each picture has the CSV of what is plotted beside it."
        " All of them: `cgrsp waiting figures --out figures/waiting`.",
        f"Figures 15 to 22: {workload}. Their intervals are from the batches of one run,"
        " all lines share the jobs, and so most of what an interval holds moves all lines alike.",
    ]


def _table(rows: list[Row]) -> str:
    """Table 1 in Markdown."""
    head = "option | utilisation | raw price | effective price | printed | three years | normalized"
    lines = []
    for row in rows:
        cells = [row["option"], f"{row['utilisation_pct']} %"]
        cells += [f"{row[f'{which}_cents_per_h']:.2f} ¢/h" for which in ("raw", "effective")]
        cells += [f"{row['printed_effective_cents_per_h']} ¢/h", f"${row['three_years_usd']:.0f}"]
        lines.append([*cells, f"{row['normalized_price']:.2f}"])
    return markdown(head, 1, lines)


FIGURES = _pictures() | _pictures_of(GENERATED, "")
"""The figures by id."""
