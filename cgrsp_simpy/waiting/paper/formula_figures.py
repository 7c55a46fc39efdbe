"""Table 1 and Figures 2 to 14 of waiting-policies.txt, by formulas and by simulation; and what all
its figures share: curves, and what is read from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from cgrsp_simpy.model.table import half
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import (
    Draw,
    Figure,
    Figures,
    Handles,
    Row,
    Rows,
    markdown,
    numbers,
    where,
)
from cgrsp_simpy.plots.parts import Several, hollow, told, whole_numbers
from cgrsp_simpy.plots.style import Look, looks
from cgrsp_simpy.waiting.formulas import closed_form
from cgrsp_simpy.waiting.jobs import ExponentialJobs
from cgrsp_simpy.waiting.machines import PAPER_PRICES
from cgrsp_simpy.waiting.paper.runs import METRICS, RATE_PER_S, SERVICE_S, Point, Runs, differences
from cgrsp_simpy.waiting.policies import (
    BASELINE_SHORT_S,
    NO_ERRORS,
    POLICIES,
    Mispredictions,
    WaitingPolicy,
    waiting_policy,
)
from cgrsp_simpy.waiting.scenario import Scenario
from cgrsp_simpy.waiting.tally import of_trials

SIZE = (6.3, 3.2)  # inches
BUSY, RENTED = "#0B4F9C", "#E69F00"
FAINT: dict[str, Any] = {"color": "0.6", "linewidth": 0.8, "zorder": 0}
WAIT_ERRORS = {"over": (0.0, 0.01, 0.03, 0.05, 0.1, 0.2), "under": (0.0, 0.25, 0.5, 0.75, 1.0)}
RUN_ERRORS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
Line = tuple[str, WaitingPolicy, Mispredictions]  # a policy, and the name of its line
KINDS = {
    "over-predictions": Look("#C04A00", "o", "-"),
    "under-predictions": Look(BUSY, "^", (0, (6, 1.5, 1, 1.5))),
}
SHAPES = "osD^vP"


class Panel(NamedTuple):
    """What stands on a y axis: the column, its label, limits where they are not those of the data,
    and where faint lines are.
    """

    metric: str
    label: str
    low: float | None = None
    high: float | None = None
    lines: tuple[float, ...] = ()


PRICED = Panel("normalized_price", "price P (on demand = 1)")
WAITED = Panel("wait_s", "mean wait w (s)", low=0)
HOURLY = Panel("wait_h", "mean wait w (h)", low=0)
COSTLY = Panel("opportunity_cents", "opportunity cost P w (cents)", low=0)
TRIPLE = (PRICED, HOURLY, COSTLY)
LABELS = {
    "servers": "fixed machines s",
    "machines": "fixed machines s",
    "short_s": "short jobs: below t (s)",
    "short_min": "short: below t (min)",
    "error_pct": "mispredicted (%)",
}
FIGURES = Figures("waiting_", Runs, columns=99, handlelength=2.6)


def numbered(number: int, title: str, note: Any, **more: Any) -> Figure:
    """Declare a figure with the number that it has in the paper."""
    own = {"size": SIZE, "stem": f"waiting_figure_{number}", "head": f"Figure {number}", **more}
    return FIGURES.add(str(number), title, note=note, **own)


def by_wait_errors(kind: str, policy: WaitingPolicy, every: int = 1) -> list[Line]:
    """A line a share of mispredicted waits. kind: over or under. every: of the shares."""
    return [
        (f"{100 * share:g} %", policy, Mispredictions(**{f"wait_{kind}": share}))
        for share in WAIT_ERRORS[kind][::every]
    ]


def by_run_errors(scenario: Callable[[Mispredictions], Scenario]) -> list[Point]:
    """A policy by shares of mispredicted running times."""
    return [
        (f"{kind}-predictions", 100 * share, scenario(Mispredictions(**{f"run_{kind}": share})))
        for kind in ("over", "under")
        for share in RUN_ERRORS
    ]


def _looks(names: Sequence[str]) -> dict[str, Look]:
    """The looks of policies; other lines are in order, from dark to light."""
    others = [name for name in names if name not in POLICIES and name not in KINDS]
    colours = map(to_hex, colormaps["viridis"](np.linspace(0.0, 0.85, max(2, len(others)))))
    own = {name: Look(colour, mark, "-") for name, colour, mark in zip(others, colours, SHAPES)}
    return {name: (own | KINDS).get(name) or looks([name])[0] for name in names}


def curves(x: str, *panels: Panel) -> Draw:
    """Panels side by side: formulas as lines and simulation as marks; simulation alone as marks
    joined by lines; what the text prints as hollow marks. Of mispredictions a faint line is where
    there are none.
    """

    def draw(canvas: Canvas, rows: list[Row]) -> Handles:
        by_name = _looks(lines_of(rows))
        for ax, panel in zip(canvas.subplots(1, len(panels), squeeze=False)[0], panels):
            drawn = {
                name: _curve(ax, where(rows, line=name), x, panel, by_name[name])
                for name in by_name
            }
            right = where(rows, line="over-predictions", error_pct=0)  # nothing mispredicted
            for level in (*panel.lines, *(row[panel.metric] for row in right)):
                ax.axhline(level, **FAINT)
            ax.set(xlabel=LABELS[x], ylabel=panel.label, ylim=(panel.low, panel.high))
            whole_numbers(ax.xaxis)
        printed = lines_of(where(rows, **{"from": "printed"}))
        rings = [Line2D([], [], **hollow(by_name[name])) for name in printed]
        return [*drawn.values(), *([Several("hollow: as printed", rings)] if rings else [])]

    return draw


def _curve(ax: Axes, rows: Sequence[Row], x: str, panel: Panel, look: Look) -> Line2D:
    """Draws a line of a panel, and gives its handle."""
    metric, highest = panel.metric, math.inf if panel.high is None else panel.high
    formula, simulated, printed = (
        [row for row in where(rows, **{"from": source}) if row.get(metric) is not None]
        for source in ("formula", "simulation", "printed")
    )
    line: dict[str, Any] = {"color": look.colour, "linestyle": look.line}
    ax.plot(numbers(formula, x), numbers(formula, metric), **line)
    ax.plot(numbers(printed, x), numbers(printed, metric), **hollow(look))
    paired = half(f"{metric}_difference")
    spread = paired if any(paired in row for row in simulated) else half(metric)
    places, values, halves = (numbers(simulated, name) for name in (x, metric, spread))
    own = {**line, "marker": look.marker, **({"linestyle": "none"} if formula else {})}
    if simulated:  # marks at 0 are seen as a whole
        ax.plot(places, values, **own, clip_on=any(value > highest for value in values))
        colour = look.colour if formula else f"{look.colour}80"
        marks.intervals(ax, places, values, y_half=halves, colour=colour)
    return Line2D([], [], **line, marker=look.marker if simulated else "", label=rows[0]["line"])


# ---- what is read from the rows ----


def said(text: str, values: Callable[[list[Row]], Sequence[Any]]) -> Callable[[list[Row]], str]:
    """A sentence with values of the rows in its braces."""
    return lambda rows: text.format(*values(rows))


def lines_of(rows: Sequence[Row]) -> list[str]:
    """The names of the lines, in order."""
    return list(dict.fromkeys(row["line"] for row in rows))


def of(rows: Sequence[Row], line: str, **x: float) -> list[Row]:
    """The rows of a line, perhaps at a place of the x axis: by formula where there is one, else by
    simulation.
    """
    own = where(rows, line=line, **x)
    return where(own, **{"from": "formula"}) or where(own, **{"from": "simulation"})


def at(rows: Sequence[Row], line: str, metric: str, **x: float) -> float:
    """A value that is plotted, as of `of`."""
    return float(of(rows, line, **x)[0][metric])


def best(
    rows: Sequence[Row],
    line: str,
    metric: str = "normalized_price",
    x: str = "servers",
    choose: Callable[..., tuple[float, float]] = min,
) -> tuple[float, float]:
    """The least, or the greatest, value of a line, and where."""
    return choose((float(row[metric]), row[x]) for row in of(rows, line))


def measured(rows: Sequence[Row], line: str, metric: str, **x: float) -> str:
    """A simulated value with half of its interval."""
    (row,) = where(rows, line=line, **{"from": "simulation"}, **x)
    return f"{told(row[metric])} ± {told(row[half(metric)])}"


def gain(before: float, after: float) -> str:
    """By how much one value differs from another."""
    return f"{told(100 * abs(after / before - 1))} %"


def ranked(rows: list[Row], metric: str, **x: float) -> str:
    """The lines at a place, from the least value to the most, without njw."""
    own = [row for row in where(rows, **{"from": "simulation"}, **x) if row["line"] != "njw"]
    found = sorted((float(row[metric]), row["line"]) for row in own)
    return ", ".join(f"{told(value)} ({line})" for value, line in found)


def run_errors_said(wait: str) -> Callable[[list[Row]], str]:
    """Of ljw with mispredicted running times. wait: the column of the waits."""
    (over, under), unit = KINDS, wait.removeprefix("wait_")
    return said(
        f"If half of the short jobs are taken for long, the mean wait goes from {{}} {unit} to {{}}"
        f" {unit} and the price from {{:.3f}} to {{:.3f}}; if half of the long ones are taken for"
        f" short, the wait goes to {{}} {unit} and the price to {{:.3f}}.",
        lambda rows: (
            *(measured(rows, over, wait, error_pct=pct) for pct in (0, 50)),
            *(at(rows, over, "normalized_price", error_pct=pct) for pct in (0, 50)),
            measured(rows, under, wait, error_pct=50),
            at(rows, under, "normalized_price", error_pct=50),
        ),
    )


BOTH = "line: formula; marks: simulation with 95 % intervals"
SIMULATED = "simulation with 95 % intervals"
BETWEEN = f"{BOTH}\najw-t with longest wait b, between njw and ajw"
OVER = f"{BOTH}\nsww by share of jobs whose wait is over-predicted, and njw"
UNDER = f"{BOTH}\nsww by share of long waits that are under-predicted, and ajw-t"
COUNTS, NARROW = range(80, 141), range(80, 121)
MARKS = (80, 87, 93, 98, 101, 104, 108, 120, 140)  # where formulas are simulated as well
TIGHT = 101  # servers of Figures 10 and 11
DISCOUNT = PAPER_PRICES.fixed / PAPER_PRICES.on_demand
PRICES, WAITS, COSTS = ("normalized_price",), ("wait_s",), ("opportunity_cents",)
WITH_WAIT = ("ajw", "ajw-t", "sww", "ljw", "compound")


def named(*names: str) -> list[Line]:
    """A line a policy, with the paper's b and t."""
    return [(name, waiting_policy(name), NO_ERRORS) for name in names]


PATIENCE = [
    *named("njw"),
    *((f"b = {b} s", waiting_policy("ajw-t", b), NO_ERRORS) for b in (30, 120, 300, 900)),
    *named("ajw"),
]


def formula(
    line: Line, servers: Sequence[int], metrics: Sequence[str], printed: bool = False, **x: float
) -> list[Row]:
    """A row for each number of servers with a steady state.

    x: name and value of another x than the servers. printed: Eq. 26 as printed.
    """
    name, policy, errors = line
    own = (RATE_PER_S, SERVICE_S, np.array(servers), PAPER_PRICES, errors)
    found = closed_form(policy, *own, as_printed=printed)
    figures = {
        "price": found.price,
        "wait_s": found.wait_s,
        "cost_per_h": found.last_utilisation,
        "opportunity": found.price * found.wait_s / 3600,
    }
    columns = {each: figures[METRICS[each][0]] / METRICS[each][1] for each in metrics}
    return [
        {"line": name, "from": "formula", **(x or {"servers": number})}
        | {each: column[place].item() for each, column in columns.items()}
        for place, number in enumerate(servers)
        if math.isfinite(found.wait_s[place])
    ]


def points(
    line: Line, jobs: ExponentialJobs, servers: Sequence[int], order: str = "fcfs"
) -> list[Point]:
    """A mark for each number of servers with a steady state."""
    name, policy, errors = line
    own = [(s, Scenario(jobs, policy, s, order, errors=errors)) for s in servers]
    return [(name, s, scenario) for s, scenario in own if not scenario.unsteady]


def over_servers(
    lines: Sequence[Line],
    metrics: Sequence[str],
    servers: Sequence[int] = COUNTS,
    marked: Sequence[int] = MARKS,
    printed: Sequence[Row] = (),
) -> Rows:
    """Formulas and marks over the servers. printed: what the text says at a place."""

    def rows(runs: Runs) -> list[Row]:
        by_formula = [row for line in lines for row in formula(line, servers, metrics)]
        places = [number for number in marked if number in servers]
        simulated = [each for line in lines for each in points(line, runs.exponential, places)]
        told_of = [{"from": "printed", **row} for row in printed]
        return by_formula + runs.rows(simulated, "servers", metrics) + told_of

    return rows


# ---- Table 1 ----

YEARS_3_H = 3 * 8760
# of an m5.large: option, use in per cent, cents per hour of all time (on demand, and $988 for three
# years); effective cents per hour and dollars for three years as printed
PRINTED = [
    *(("on demand", pct, 9.6, 9.6, usd) for pct, usd in ((100, 2523), (60, 1514), (40, 1009))),
    *(
        ("fixed", pct, 98_800 / YEARS_3_H, cents, 988)
        for pct, cents in ((100, 3.8), (60, 6.3), (40, 9.5))
    ),
]


@FIGURES.add(
    "table1",
    "What an hour of work costs, by utilisation",
    SIZE,
    note="m5.large, rented on demand or bought for three years",
    stem="waiting_table_1",
    head="Table 1",
)
def table1(_: Runs) -> list[Row]:
    """Prices of a machine of which some of the time is used; the printed values beside them."""
    rows = []
    for option, pct, raw, printed, printed_usd in PRINTED:
        effective, worked = (100 * raw / pct, 1.0) if option == "fixed" else (raw, pct / 100)
        rows.append(
            {
                "option": option,
                "utilisation_pct": pct,
                "raw_cents_per_h": raw,
                "effective_cents_per_h": effective,
                "three_years_usd": raw / 100 * YEARS_3_H * worked,
                "normalized_price": effective / PAPER_PRICES.on_demand,
                "printed_effective_cents_per_h": printed,
                "printed_three_years_usd": printed_usd,
            }
        )
    return rows


@table1.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    ax = canvas.add_subplot()
    names = [f"{row['option']}, {row['utilisation_pct']} %" for row in rows]
    ours, printed = (numbers(rows, f"{which}effective_cents_per_h") for which in ("", "printed_"))
    colours = [BUSY if row["option"] == "fixed" else RENTED for row in rows]
    marks.bars(ax, names, ours, [math.nan] * len(rows), printed, colours)
    ax.set(xlabel="effective price (US cents per hour of work)", ylabel="machine, utilisation")
    return [Line2D([], [], label="as printed", **marks.hollow())]


table1.seen = said(
    "A fixed machine is the cheaper one if it works more than {:.0f} % of the time.",
    lambda rows: [
        100 * row["normalized_price"] for row in where(rows, option="fixed", utilisation_pct=100)
    ],
)
table1.table = lambda rows: markdown(
    "option | utilisation | raw price | effective price | printed | three years | normalized",
    1,
    [CELLS.format_map(row).split("|") for row in rows],
)
CELLS = (
    "{option}|{utilisation_pct} %|{raw_cents_per_h:.2f} ¢/h|{effective_cents_per_h:.2f} ¢/h"
    "|{printed_effective_cents_per_h} ¢/h|${three_years_usd:.0f}|{normalized_price:.2f}"
)

# ---- Figures 2 to 14 ----

numbered(
    2,
    "All jobs wait: price and wait",
    BOTH,
    rows=over_servers(
        named("ajw"),
        PRICES + WAITS,
        range(101, 141),
        (101, 102, 103, 105, 108, 113, 120, 130, 140),
        [
            {"line": "ajw", "servers": 108, "normalized_price": 0.432, "wait_s": 20},
            {"line": "ajw", "servers": 101, "wait_s": 450},
            {"line": "ajw", "servers": 120, "normalized_price": 0.48},
        ],
    ),
    draw=curves("servers", PRICED, WAITED),
    seen=said(
        "From s = 101 to 120 the wait falls from {} s (simulation: {}) to {} s, and the price rises"
        " by {}.",
        lambda rows: (
            told(at(rows, "ajw", "wait_s", servers=101)),
            measured(rows, "ajw", "wait_s", servers=101),
            told(at(rows, "ajw", "wait_s", servers=120)),
            gain(*(at(rows, "ajw", "normalized_price", servers=s) for s in (101, 120))),
        ),
    ),
)


@numbered(
    3,
    "No jobs wait: price, and use of the last machine",
    f"{BOTH}; faint: the discount d = {DISCOUNT:g}, at which the last machine still pays",
    draw=curves(
        "servers",
        PRICED,
        Panel("last_utilisation", "utilisation of the last machine", low=0, lines=(DISCOUNT,)),
    ),
)
def last_machine(runs: Runs) -> list[Row]:
    """The price of njw, and the work that the last machine takes over: what one fewer sends on
    demand an hour beyond what all do, on the same jobs.
    """
    (line,), metric = named("njw"), "last_utilisation"
    simulated = points(line, runs.exponential, MARKS)
    bare = [each.varied(fixed=0.0, on_demand=1.0) for *_, each in simulated]
    fewer = [each.varied(machines=int(each.fixed_per_h) - 1) for each in bare]
    pairs = zip(runs.rows(simulated, "servers", PRICES), runs.of(fewer), runs.of(bare))
    rows = formula(line, COUNTS, (*PRICES, metric))
    for row, less, full in pairs:
        found = of_trials(differences(less, full))["cost_per_h"]
        rows.append({**row, metric: found.mean, half(metric): found.half_width})
    return [*rows, {"line": "njw", "from": "printed", "servers": 108, "normalized_price": 0.467}]


last_machine.seen = said(
    "Cheapest are s = {1} machines, P = {0:.3f}, where the last one works {2} of the time by"
    " simulation.",
    lambda rows: (
        *best(rows, "njw"),
        measured(rows, "njw", "last_utilisation", servers=best(rows, "njw")[1]),
    ),
)
numbered(
    4,
    "All jobs wait, threshold: price by longest wait b",
    BETWEEN,
    rows=over_servers(PATIENCE, PRICES),
    draw=curves("servers", PRICED),
    seen=said(
        "The longer jobs may wait, the fewer machines are best: the least price is {}.",
        lambda rows: [
            ", ".join(
                f"{price:.3f} at s = {s} ({name})"
                for name in lines_of(rows)
                if name != "ajw"
                for price, s in [best(rows, name)]
            )
        ],
    ),
)


numbered(
    5,
    "All jobs wait, threshold: wait by longest wait b",
    BETWEEN,
    rows=over_servers(PATIENCE, WAITS, NARROW),
    draw=curves("servers", WAITED),
    seen=said(
        "At s = 101 the mean wait is {}.",
        lambda rows: [
            ", ".join(
                f"{told(at(rows, name, 'wait_s', servers=101))} s ({name})"
                for name in lines_of(rows)
            )
        ],
    ),
)
numbered(
    6,
    "Short waits wait, beside all jobs wait, threshold: wait",
    BOTH,
    rows=over_servers(named("sww", "ajw-t"), WAITS, NARROW),
    draw=curves("servers", WAITED),
    seen=said(
        "The wait under sww is longest at s = {2}, {0} s, where it is {1} s under ajw-t.",
        lambda rows: [
            value
            for _, longest in [best(rows, "sww", "wait_s", choose=max)]
            for value in (
                *(told(at(rows, name, "wait_s", servers=longest)) for name in ("sww", "ajw-t")),
                longest,
            )
        ],
    ),
)
numbered(
    7,
    "Short waits wait: price where waits are over-predicted",
    OVER,
    rows=over_servers([*by_wait_errors("over", waiting_policy("sww")), *named("njw")], PRICES),
    draw=curves("servers", PRICED),
    seen=said(
        "Over-predicting 5 % of the waits raises the least price by {} and moves it from s = {} to"
        " {}.",
        lambda rows: (
            gain(best(rows, "0 %")[0], best(rows, "5 %")[0]),
            *(best(rows, line)[1] for line in ("0 %", "5 %")),
        ),
    ),
)
numbered(
    8,
    "Short waits wait: wait where waits are over-predicted",
    OVER,
    rows=over_servers(
        [*by_wait_errors("over", waiting_policy("sww")), *named("njw")], WAITS, NARROW
    ),
    draw=curves("servers", WAITED),
    seen=said(
        "At s = 98 over-predicting 5 % of the waits shortens the mean wait from {} s to {} s"
        " (simulation).",
        lambda rows: [measured(rows, line, "wait_s", servers=98) for line in ("0 %", "5 %")],
    ),
)
numbered(
    9,
    "Short waits wait: wait where waits are under-predicted",
    UNDER,
    rows=over_servers(
        [*by_wait_errors("under", waiting_policy("sww")), *named("ajw-t")],
        WAITS,
        NARROW,
        MARKS[::2],
    ),
    draw=curves("servers", WAITED),
    seen=said(
        "Under-predicting half of the waits lengthens the mean wait by {} at s = 80, where many"
        " jobs should not wait, and by {} at s = 104.",
        lambda rows: [
            gain(*(at(rows, line, "wait_s", servers=s) for line in ("0 %", "50 %")))
            for s in (80, 104)
        ],
    ),
)


@numbered(
    10,
    "Long jobs wait: price and wait by t, 101 machines",
    BOTH,
    draw=curves("short_s", PRICED, WAITED),
)
def thresholds(runs: Runs) -> list[Row]:
    """The policy ljw by t at 101 servers, between ajw (t = 0) and njw."""
    ljw = {t: ("ljw", waiting_policy("ljw", short_s=t), NO_ERRORS) for t in range(0, 361, 10)}
    lines = [*ljw.items(), *((t, line) for line in named("ajw", "njw") for t in (0, 360))]
    marked, metrics = (0, 20, 40, 60, 90, 130, 180, 240, 300, 360), PRICES + WAITS
    simulated = [("ljw", t, Scenario(runs.exponential, ljw[t][1], TIGHT)) for t in marked]
    return [
        *(row for t, line in lines for row in formula(line, (TIGHT,), metrics, short_s=t)),
        *runs.rows(simulated, "short_s", metrics),
        {"line": "ajw", "from": "printed", "short_s": 0, "wait_s": 450},
    ]


thresholds.seen = said(
    "With t = 180 s the mean wait is {} s (simulation: {}) in place of {} s, at a price {} higher.",
    lambda rows: (
        told(at(rows, "ljw", "wait_s", short_s=180)),
        measured(rows, "ljw", "wait_s", short_s=180),
        told(at(rows, "ljw", "wait_s", short_s=0)),
        gain(*(at(rows, "ljw", "normalized_price", short_s=t) for t in (0, 180))),
    ),
)
numbered(
    11,
    "Long jobs wait: running times mispredicted, 101 machines",
    SIMULATED,
    rows=lambda runs: runs.rows(
        by_run_errors(
            lambda errors: Scenario(runs.exponential, waiting_policy("ljw"), TIGHT, errors=errors)
        ),
        "error_pct",
        PRICES + WAITS + COSTS,
    ),
    draw=curves("error_pct", PRICED, WAITED, COSTLY),
    seen=run_errors_said("wait_s"),
)
numbered(
    12,
    "The compound policy, beside long jobs wait: price and wait",
    BOTH,
    rows=over_servers(named("compound", "ljw"), PRICES + WAITS, NARROW),
    draw=curves("servers", PRICED, WAITED._replace(high=700)),
    seen=said(
        "At s = 98 the mean wait is {} s under the compound policy and {} s under ljw (simulation);"
        " below s = {} ljw has no steady state.",
        lambda rows: (
            *(measured(rows, name, "wait_s", servers=98) for name in ("compound", "ljw")),
            min(row["servers"] for row in of(rows, "ljw")),
        ),
    ),
)
COSTS_SAID = said(
    "At s = 101 a job's wait costs, from the least to the most, in cents: {}.",
    lambda rows: [ranked(rows, "opportunity_cents", servers=101)],
)
numbered(
    13,
    "Opportunity cost of waiting, first come, first served",
    BOTH,
    rows=over_servers(named(*WITH_WAIT), COSTS, NARROW),
    draw=curves("servers", COSTLY._replace(high=1.4)),
    seen=COSTS_SAID,
)


@numbered(
    14,
    "Opportunity cost of waiting, shortest job first",
    SIMULATED,
    draw=curves("servers", COSTLY),
    seen=COSTS_SAID,
)
def shortest_first(runs: Runs) -> list[Row]:
    """The policies of Figure 13 where the shortest job goes first; no
    formula is known.
    """
    own = (runs.exponentials(1 / 16), MARKS[:-1], "sjf")
    simulated = [each for line in named(*WITH_WAIT) for each in points(line, *own)]
    return runs.rows(simulated, "servers", COSTS)


# ---- how far the approximations are off ----

AS_PRINTED = "compound, Eq. 26 as printed"


@FIGURES.add(
    "errors",
    "How far the approximate waits are from simulation",
    SIZE,
    note="Eq. 23 (ljw) and Eq. 26 (compound, its patience rescaled), and as printed, against"
    " simulation, with 95 % intervals",
    head="More",
    draw=curves("servers", Panel("error_pct", "wait by formula, error (%)", lines=(0,))),
)
def approximations(runs: Runs) -> list[Row]:
    """Wait by formula less the wait by simulation, over the latter."""
    found, few = [], (80, 84, 87, 90, 93)
    readings = [("ljw", "ljw", False), ("compound", "compound", False)]
    for name, policy, printed in (*readings, (AS_PRINTED, "compound", True)):
        (line,) = named(policy)
        own = points(line, runs.exponential, few)
        own += points(line, runs.exponentials(4), (96, 98, 101, 104, 108))
        for row in runs.rows(own, "servers", WAITS):
            wait_s = formula(line, (row["servers"],), WAITS, printed)[0]["wait_s"]
            ratio, spread = wait_s / row["wait_s"], row[half("wait_s")] / row["wait_s"]
            errors = {"error_pct": 100 * (ratio - 1), half("error_pct"): 100 * ratio * spread}
            found.append({**row, "line": name, "formula_wait_s": wait_s, **errors})
    return found


approximations.seen = said(
    "Up to s = 93, where the long jobs alone would keep more machines busy than there are, Eq. 26"
    " as printed errs by {} to {} %: there b bounds the wait whatever the running times, yet it is"
    " multiplied by (CV² + 1)/2 = {:.2f}. With b divided by that, it errs by {} to {} %. At s = 101"
    " it errs by {} %, as printed by {} %, Eq. 23 (ljw) by {} %.",
    lambda rows: (
        *_ends(rows, AS_PRINTED),
        (1 + (SERVICE_S / (SERVICE_S + BASELINE_SHORT_S)) ** 2) / 2,
        *_ends(rows, "compound"),
        *(
            measured(rows, line, "error_pct", servers=101)
            for line in ("compound", AS_PRINTED, "ljw")
        ),
    ),
)


def _ends(rows: Sequence[Row], line: str) -> list[str]:
    """The least and the greatest error of a line up to s = 93."""
    own = [row for row in rows if row["servers"] <= 93]
    return [told(best(own, line, "error_pct", choose=choose)[0]) for choose in (min, max)]
