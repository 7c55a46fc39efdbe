"""Table 1 and Figures 2 to 14 of waiting-policies.txt, by formulas and by simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.model.table import half
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import Figures, Handles, Row, Rows, markdown
from cgrsp_simpy.plots.parts import beside_point, told
from cgrsp_simpy.waiting.formulas import closed_form
from cgrsp_simpy.waiting.jobs import ExponentialJobs, Floats
from cgrsp_simpy.waiting.machines import PAPER_PRICES
from cgrsp_simpy.waiting.paper.curve_figures import (
    BOTH,
    BUSY,
    COSTLY,
    FAINT,
    PRICE,
    PRICED,
    RENTED,
    SERVERS,
    SIMULATED,
    SIZE,
    WAITED,
    WRONG,
    Panel,
    at,
    curves,
    gain,
    least,
    measured,
    mispredicted,
    numbered,
    seen_run_errors,
)
from cgrsp_simpy.waiting.paper.runs import (
    METRICS,
    RATE_PER_S,
    SERVICE_S,
    WAIT_OVER,
    WAIT_UNDER,
    Batches,
    Point,
    Runs,
    mistaken,
    run_errors,
    with_half,
)
from cgrsp_simpy.waiting.policies import (
    BASELINE_SHORT_S,
    NO_ERRORS,
    POLICIES,
    Mispredictions,
    WaitingPolicy,
    waiting_policy,
)
from cgrsp_simpy.waiting.scenario import Scenario
from cgrsp_simpy.waiting.tally import batched

COUNTS = range(80, 141)
MARKS = (80, 87, 93, 98, 101, 104, 108, 120, 140)  # where formulas are simulated as well
# coefficient of variation of the long jobs' times (Section 4.2)
LONG_CV = SERVICE_S / (SERVICE_S + BASELINE_SHORT_S)
TIGHT = 101  # servers of Figures 10 and 11
PAIR, ALL_BUT_NJW = ("normalized_price", "wait_s"), ("ajw", "ajw-t", "sww", "ljw", "compound")
NEAR, NARROW = range(101, 141), range(80, 121)
THREE = ("normalized_price", "wait_s", "opportunity_cents")


BETWEEN = "ajw-t with longest wait b, between njw and ajw"
OVER = "sww by share of jobs whose wait is over-predicted, and njw"
UNDER = "sww by share of long waits that are under-predicted, and ajw-t"


FIGURES = Figures("waiting_", Runs, columns=99, handlelength=2.6)


YEARS_3_H = 3 * 8760
RESERVED_CENTS_PER_H = 98_800 / YEARS_3_H  # $988 for three years of an m5.large
PRINTED = {
    "on demand": {100: (9.6, 2523), 60: (9.6, 1514), 40: (9.6, 1009)},
    "fixed": {100: (3.8, 988), 60: (6.3, 988), 40: (9.5, 988)},
}


@dataclass(frozen=True)
class Line:
    """A policy, and a name of its line."""

    name: str
    policy: WaitingPolicy
    errors: Mispredictions = NO_ERRORS

    def formula(self, servers: Sequence[int], metrics: Sequence[str], **where: float) -> list[Row]:
        """A row for each number of servers with a steady state.

        where: name and value of another x than the servers.
        """
        found = closed_form(
            self.policy, RATE_PER_S, SERVICE_S, np.array(servers), PAPER_PRICES, self.errors
        )
        figures = {
            "price": found.price,
            "wait_s": found.wait_s,
            "opportunity": found.price * found.wait_s / 3600,
        }
        figures["cost_per_h"] = found.last_utilisation
        columns: dict[str, Floats] = {
            name: figures[METRICS[name][0]] / METRICS[name][1] for name in metrics
        }
        return [
            {"line": self.name, "from": "formula", **(where or {"servers": number})}
            | {name: column[place].item() for name, column in columns.items()}
            for place, number in enumerate(servers)
            if math.isfinite(found.wait_s[place])
        ]

    def points(
        self, jobs: ExponentialJobs, servers: Sequence[int], order: str = "fcfs"
    ) -> list[Point]:
        """A mark for each number of servers with a steady state."""
        wait_s = closed_form(self.policy, RATE_PER_S, SERVICE_S, np.array(servers)).wait_s
        steady = [number for number, wait in zip(servers, wait_s) if wait < math.inf]
        return [
            (self.name, number, Scenario(jobs, self.policy, number, order, errors=self.errors))
            for number in steady
        ]


def _by_servers(
    lines: Sequence[Line], metrics: Sequence[str], servers: Sequence[int], marks: Sequence[int]
) -> Rows:
    """Formulas and marks over the servers."""

    def rows(runs: Runs) -> list[Row]:
        formulas = [row for line in lines for row in line.formula(servers, metrics)]
        points = [
            point
            for line in lines
            for point in line.points(runs.exponential, [at for at in marks if at in servers])
        ]
        return formulas + runs.rows(points, "servers", metrics)

    return rows


def policies(
    *names: str,
    metrics: Sequence[str],
    servers: Sequence[int] = COUNTS,
    marks: Sequence[int] = MARKS,
) -> Rows:
    """Policies over the servers."""
    return _by_servers(
        [Line(name, waiting_policy(name)) for name in names], metrics, servers, marks
    )


def patience(
    metric: str, servers: Sequence[int] = COUNTS, waits_s: Sequence[float] = (30, 120, 300, 900)
) -> Rows:
    """Ajw-t for several b, between njw and ajw."""
    none, *all_of_it = (Line(name, waiting_policy(name)) for name in ("njw", "ajw"))
    between = [
        Line(f"b = {wait_s:g} s", waiting_policy("ajw-t", wait_s=wait_s)) for wait_s in waits_s
    ]
    return _by_servers([none, *between, *all_of_it], (metric,), servers, MARKS)


def wait_errors(kind: str, metric: str, beside: str, servers: Sequence[int] = COUNTS) -> Rows:
    """Sww with mispredicted waits, beside the policy that it comes near to.

    kind: over or under.
    """
    shares = WAIT_OVER if kind == "over" else WAIT_UNDER
    lines = [Line(*mistaken(waiting_policy("sww"), kind, share)) for share in shares]
    lines.append(Line(beside, waiting_policy(beside)))
    return _by_servers(lines, (metric,), servers, MARKS if kind == "over" else MARKS[::2])


@FIGURES.add(
    "table1",
    "What an hour of work costs, by utilisation",
    SIZE,
    note="m5.large, rented on demand or bought for three years",
    stem="waiting_table_1",
    head="Table 1",
)
def table1(_: Runs) -> list[Row]:
    """What an hour of work costs on a machine that works a share of the time; the printed
    values beside it.
    """
    rows = []
    for option, lines in PRINTED.items():
        fixed, raw = (
            option == "fixed",
            RESERVED_CENTS_PER_H if option == "fixed" else PAPER_PRICES.on_demand,
        )
        for pct, printed in lines.items():
            effective, worked = (100 * raw / pct, 1.0) if fixed else (raw, pct / 100)
            row = {
                "option": option,
                "utilisation_pct": pct,
                "raw_cents_per_h": raw,
                "effective_cents_per_h": effective,
            }
            row |= {
                "three_years_usd": raw / 100 * YEARS_3_H * worked,
                "normalized_price": effective / PAPER_PRICES.on_demand,
            }
            rows.append(
                {
                    **row,
                    "printed_effective_cents_per_h": printed[0],
                    "printed_three_years_usd": printed[1],
                }
            )
    return rows


@table1.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """Table 1 as bars."""
    ax = canvas.add_subplot()
    names = [f"{row['option']}, {row['utilisation_pct']} %" for row in rows]
    effective, printed = (
        [row[f"{which}effective_cents_per_h"] for row in rows] for which in ("", "printed_")
    )
    colours = [BUSY if row["option"] == "fixed" else RENTED for row in rows]
    marks.bars(ax, names, effective, [math.nan] * len(rows), printed, colours)
    ax.set(xlabel="effective price (US cents per hour of work)", ylabel="machine, utilisation")
    return [Line2D([], [], label="as printed", **marks.hollow())]


@table1.says
def _(rows: list[Row]) -> str:
    fixed = next(row for row in rows if row["option"] == "fixed" and row["utilisation_pct"] == 100)
    return (
        "A fixed machine is the cheaper one if it works more than"
        f" {100 * fixed['normalized_price']:.0f} % of the time."
    )


@table1.tables
def _(rows: list[Row]) -> str:
    head = "option | utilisation | raw price | effective price | printed | three years | normalized"
    lines = []
    for row in rows:
        cells = [row["option"], f"{row['utilisation_pct']} %"]
        cells += [f"{row[f'{which}_cents_per_h']:.2f} ¢/h" for which in ("raw", "effective")]
        cells += [f"{row['printed_effective_cents_per_h']} ¢/h", f"${row['three_years_usd']:.0f}"]
        lines.append([*cells, f"{row['normalized_price']:.2f}"])
    return markdown(head, 1, lines)


@numbered(
    FIGURES,
    2,
    "All jobs wait: price and wait",
    BOTH,
    rows=policies(
        "ajw", metrics=PAIR, servers=NEAR, marks=(101, 102, 103, 105, 108, 113, 120, 130, 140)
    ),
    draw=curves("servers", SERVERS, PRICED, WAITED),
).says
def _(rows: list[Row]) -> str:
    near, far, low, high = _both(rows, "ajw", {"servers": 101}, {"servers": 120})
    return (
        f"From s = 101 to 120 the wait falls from {told(near)} s (simulation:"
        f" {measured(rows, 'ajw', 'wait_s', servers=101)}) to {told(far)} s, and the price rises by"
        f" {gain(low, high)}."
    )


def _both(rows: Sequence[Row], line: str, *ends: Mapping[str, float]) -> list[float]:
    """By formula the waits at both ends, and then the prices."""
    metrics = ("wait_s", "normalized_price")
    return [at(rows, line, metric, "formula", **x) for metric in metrics for x in ends]


@numbered(FIGURES, 3, "No jobs wait: price, and use of the last machine", BOTH)
def last_machine(runs: Runs) -> list[Row]:
    """The price of njw, and the work that the last machine takes over."""
    line = Line("njw", waiting_policy("njw"))
    points = line.points(runs.exponential, MARKS)
    bare = [
        scenario.varied(fixed=0.0, on_demand=1.0).varied(machines=number)
        for *_, scenario in points
        for number in (scenario.machines, int(scenario.fixed_per_h) - 1)
    ]
    trials = runs.of(bare)
    return [
        *line.formula(COUNTS, ("normalized_price", "last_utilisation")),
        *runs.rows(points, "servers", ("normalized_price",)),
        *(
            {
                "line": name,
                "from": "simulation",
                "servers": place,
                **with_half("last_utilisation", _last(full, fewer), 1.0),
            }
            for (name, place, _), full, fewer in zip(points, trials[::2], trials[1::2])
        ),
    ]


@last_machine.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles | None:
    """The price, and the work of the last machine beside the break-even."""
    price = Panel("normalized_price", PRICE)
    work = Panel("last_utilisation", "utilisation of the last machine", low=0)
    handles = curves("servers", SERVERS, price, work)(canvas, rows)
    formula = [row for row in rows if row["from"] == "formula"]
    best = min(formula, key=lambda row: float(row["normalized_price"]))["servers"]
    discount = PAPER_PRICES.fixed / PAPER_PRICES.on_demand
    for ax in canvas.axes:
        ax.axvline(best, **FAINT)
    canvas.axes[1].axhline(discount, **FAINT)
    beside_point(canvas.axes[1], f"d = {discount:g}, s = {best}", (best, discount), (4, 4))
    return handles


@last_machine.says
def _(rows: list[Row]) -> str:
    price, s = least(rows, "njw")
    work = measured(rows, "njw", "last_utilisation", servers=s)
    return (
        f"Cheapest are s = {s} machines, P = {price:.3f}, where the last one works {work} of the"
        " time by simulation."
    )


def _last(full: list[Batches], fewer: list[Batches]) -> Mean:
    """What one machine fewer sends on demand an hour beyond what all do, on the same jobs."""
    pairs = [np.subtract(less["cost_per_h"], each["cost_per_h"]) for less, each in zip(fewer, full)]
    return batched(pairs[0]) if len(pairs) == 1 else mean([pair[0].item() for pair in pairs])


@numbered(
    FIGURES,
    4,
    "All jobs wait, threshold: price by longest wait b",
    f"{BOTH}\n{BETWEEN}",
    rows=patience("normalized_price"),
    draw=curves("servers", SERVERS, PRICED),
).says
def _(rows: list[Row]) -> str:
    names = [name for name in dict.fromkeys(row["line"] for row in rows) if name != "ajw"]
    told_of = (
        f"{price:.3f} at s = {s} ({name})" for name in names for price, s in [least(rows, name)]
    )
    return (
        "The longer jobs may wait, the fewer machines are best: the least price is"
        f" {', '.join(told_of)}."
    )


@numbered(
    FIGURES,
    5,
    "All jobs wait, threshold: wait by longest wait b",
    f"{BOTH}\n{BETWEEN}",
    rows=patience("wait_s", NARROW),
    draw=curves("servers", SERVERS, WAITED),
).says
def _(rows: list[Row]) -> str:
    waits = (
        f"{told(at(rows, name, 'wait_s', 'formula', servers=101))} s ({name})"
        for name in dict.fromkeys(row["line"] for row in rows)
    )
    return f"At s = 101 the mean wait is {', '.join(waits)}."


@numbered(
    FIGURES,
    6,
    "Short waits wait, beside all jobs wait, threshold: wait",
    BOTH,
    rows=policies("sww", "ajw-t", metrics=("wait_s",), servers=NARROW),
    draw=curves("servers", SERVERS, WAITED),
).says
def _(rows: list[Row]) -> str:
    formula = [row for row in rows if (row["line"], row["from"]) == ("sww", "formula")]
    low, s = max((row["wait_s"], row["servers"]) for row in formula)
    high = at(rows, "ajw-t", "wait_s", "formula", servers=s)
    return (
        f"The wait under sww is longest at s = {s}, {told(low)} s, where it is {told(high)} s"
        " under ajw-t."
    )


@numbered(
    FIGURES,
    7,
    "Short waits wait: price where waits are over-predicted",
    f"{BOTH}\n{OVER}",
    rows=wait_errors("over", "normalized_price", "njw"),
    draw=curves("servers", SERVERS, PRICED),
).says
def _(rows: list[Row]) -> str:
    (low, s), (high, other) = least(rows, "0 %"), least(rows, "5 %")
    return (
        f"Over-predicting 5 % of the waits raises the least price by {gain(low, high)} and moves"
        f" it from s = {s} to {other}."
    )


@numbered(
    FIGURES,
    8,
    "Short waits wait: wait where waits are over-predicted",
    f"{BOTH}\n{OVER}",
    rows=wait_errors("over", "wait_s", "njw", NARROW),
    draw=curves("servers", SERVERS, WAITED),
).says
def _(rows: list[Row]) -> str:
    none, some = (measured(rows, line, "wait_s", servers=98) for line in ("0 %", "5 %"))
    return (
        f"At s = 98 over-predicting 5 % of the waits shortens the mean wait from {none} s to"
        f" {some} s (simulation)."
    )


@numbered(
    FIGURES,
    9,
    "Short waits wait: wait where waits are under-predicted",
    f"{BOTH}\n{UNDER}",
    rows=wait_errors("under", "wait_s", "ajw-t", NARROW),
    draw=curves("servers", SERVERS, WAITED),
).says
def _(rows: list[Row]) -> str:
    few, many = (
        [at(rows, line, "wait_s", "formula", servers=s) for line in ("0 %", "50 %")]
        for s in (80, 104)
    )
    return (
        f"Under-predicting half of the waits lengthens the mean wait by {gain(*few)} at s = 80,"
        f" where many jobs should not wait, and by {gain(*many)} at s = 104."
    )


@numbered(
    FIGURES,
    10,
    "Long jobs wait: price and wait by t, 101 machines",
    BOTH,
    draw=curves("short_s", "short jobs: below t (s)", PRICED, WAITED),
)
def thresholds(runs: Runs) -> list[Row]:
    """The policy ljw by t at 101 servers, between ajw (t = 0) and njw."""
    steps, metrics = range(0, 361, 10), ("normalized_price", "wait_s")
    ljw = {t: waiting_policy("ljw", short_s=t) for t in steps}
    lines = [
        row for t in steps for row in Line("ljw", ljw[t]).formula((TIGHT,), metrics, short_s=t)
    ]
    bounds = [Line(name, waiting_policy(name)) for name in ("ajw", "njw")]
    ends = [
        row
        for line in bounds
        for t in (0, 360)
        for row in line.formula((TIGHT,), metrics, short_s=t)
    ]
    marks = (0, 20, 40, 60, 90, 130, 180, 240, 300, 360)
    return (
        lines
        + ends
        + runs.rows(
            [("ljw", t, Scenario(runs.exponential, ljw[t], TIGHT)) for t in marks],
            "short_s",
            metrics,
        )
    )


@thresholds.says
def _(rows: list[Row]) -> str:
    none, some, low, high = _both(rows, "ljw", {"short_s": 0}, {"short_s": 180})
    simulated = measured(rows, "ljw", "wait_s", short_s=180)
    return (
        f"With t = 180 s the mean wait is {told(some)} s (simulation: {simulated}) in place of"
        f" {told(none)} s, at a price {gain(low, high)} higher."
    )


@numbered(
    FIGURES,
    11,
    "Long jobs wait: running times mispredicted, 101 machines",
    SIMULATED,
    draw=mispredicted("error_pct", WRONG, PRICED, WAITED, COSTLY),
    seen=seen_run_errors,
)
def with_errors(runs: Runs) -> list[Row]:
    """The policy ljw at 101 servers with mispredicted running times."""
    cases = run_errors(
        lambda errors: Scenario(runs.exponential, waiting_policy("ljw"), TIGHT, errors=errors)
    )
    return runs.rows(cases, "error_pct", THREE)


@numbered(
    FIGURES,
    12,
    "The compound policy, beside long jobs wait: price and wait",
    BOTH,
    rows=policies("compound", "ljw", metrics=PAIR, servers=NARROW),
    draw=curves("servers", SERVERS, PRICED, WAITED._replace(high=700)),
).says
def _(rows: list[Row]) -> str:
    return (
        f"At s = 98 the mean wait is {measured(rows, 'compound', 'wait_s', servers=98)} s under the"
        f" compound policy and {measured(rows, 'ljw', 'wait_s', servers=98)} s under ljw"
        " (simulation);"
        " below s = 95 ljw has no steady state."
    )


@numbered(
    FIGURES,
    13,
    "Opportunity cost of waiting, first come, first served",
    BOTH,
    rows=policies(*ALL_BUT_NJW, metrics=("opportunity_cents",), servers=NARROW),
    draw=curves("servers", SERVERS, COSTLY._replace(high=1.4)),
).says
def seen_costs(rows: list[Row]) -> str:
    """Of costs over the servers."""
    names = [row["line"] for row in rows if row["from"] == "simulation" and row["servers"] == 101]
    costs = sorted((at(rows, name, "opportunity_cents", servers=101), name) for name in names)
    told_of = ", ".join(f"{told(cost)} ({name})" for cost, name in costs)
    return f"At s = 101 a job's wait costs, from the least to the most, in cents: {told_of}."


@numbered(
    FIGURES,
    14,
    "Opportunity cost of waiting, shortest job first",
    SIMULATED,
    draw=curves("servers", SERVERS, COSTLY),
    seen=seen_costs,
)
def shortest_first(runs: Runs) -> list[Row]:
    """The policies of Figure 13 where the shortest job goes first; no
    formula is known.
    """
    lines = [Line(name, waiting_policy(name)) for name in POLICIES if name != "njw"]
    points = [point for line in lines for point in line.points(runs.fewer, MARKS[:-1], "sjf")]
    return runs.rows(points, "servers", ("opportunity_cents",))


@FIGURES.add(
    "errors",
    "How far the approximate waits are from simulation",
    SIZE,
    note="Eq. 23 (ljw) and Eq. 26 (compound) against simulation, with 95 % intervals",
    head="More",
)
def approximations(runs: Runs) -> list[Row]:
    """How far Eq. 23 and Eq. 26 are from simulation: wait by formula less the wait by simulation,
    over the latter.
    """
    rows = []
    for name in ("ljw", "compound"):
        line = Line(name, waiting_policy(name))
        points = line.points(runs.exponential, (80, 84, 87, 90, 93)) + line.points(
            runs.more, (96, 98, 101, 104, 108)
        )
        for row in runs.rows(points, "servers", ("wait_s",)):
            (formula,) = line.formula((row["servers"],), ("wait_s",))
            row |= {
                "formula_wait_s": formula["wait_s"],
                "error_pct": 100 * (formula["wait_s"] / row["wait_s"] - 1),
            }
            rows.append(
                {
                    **row,
                    half("error_pct"): 100
                    * formula["wait_s"]
                    * row[half("wait_s")]
                    / row["wait_s"] ** 2,
                }
            )
    return rows


@approximations.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles | None:
    """Errors of formulas, about 0."""
    panel = Panel("error_pct", "wait by formula, error (%)")
    handles = curves("servers", SERVERS, panel)(canvas, rows)
    canvas.axes[0].axhline(0, **FAINT)
    return handles


@approximations.says
def _(rows: list[Row]) -> str:
    small = [row["error_pct"] for row in rows if row["line"] == "compound" and row["servers"] <= 93]
    at_101 = {
        line: measured(rows, line, "error_pct", servers=TIGHT) for line in ("compound", "ljw")
    }
    return (
        "Up to s = 93, where the long jobs alone would keep more machines busy than there are, Eq."
        f" 26 errs by {told(min(small))} to {told(max(small))} %: there b bounds the wait whatever"
        f" the running times, yet Eq. 26 multiplies it by (CV² + 1)/2 = {(LONG_CV**2 + 1) / 2:.2f}."
        f" At s = {TIGHT} it errs by {at_101['compound']} %, Eq. 23 (ljw) by {at_101['ljw']} %."
    )
