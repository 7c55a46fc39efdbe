"""The table and the figures of waiting-policies.txt, by formula and by simulation.

The log of Figures 15 to 22 is not available. The figures use your own log, or generated
jobs with its printed features and rate, on the printed numbers of machines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.patches import Patch

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.table import half, many, with_halves
from cgrsp_simpy.papers.waiting.run_figures import (
    BUSY,
    COSTLY,
    HOURLY,
    KINDS,
    METRICS,
    PRICED,
    RATE_PER_S,
    RENTED,
    SERVICE_S,
    TRIPLE,
    WAITED,
    Panel,
    Point,
    Runs,
    at,
    best,
    curves,
    differences,
    filled,
    gain,
    measured,
    of,
    ranked,
)
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import (
    Canvas,
    Figure,
    Gallery,
    Handles,
    Row,
    distinct,
    markdown,
    numbers,
    where,
)
from cgrsp_simpy.plots.parts import beside_point, key, no_flat_axis, three_digits
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.waiting.formulas import closed_form
from cgrsp_simpy.waiting.jobs import DAY_S, ExponentialJobs
from cgrsp_simpy.waiting.machines import PAPER_PRICES
from cgrsp_simpy.waiting.plan import Plan
from cgrsp_simpy.waiting.policies import (
    BASELINE_SHORT_S,
    NO_ERRORS,
    Mispredictions,
    WaitingPolicy,
    waiting_policy,
)
from cgrsp_simpy.waiting.report import of_trials
from cgrsp_simpy.waiting.scenario import Scenario

SIZE = (6.3, 3.2)  # inches
WAIT_ERRORS = {
    "over": (0.0, 0.01, 0.03, 0.05, 0.1, 0.2),
    "under": (0.0, 0.25, 0.5, 0.75, 1.0),
}
RUN_ERRORS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
Line = tuple[str, WaitingPolicy, Mispredictions]  # (name of the line, policy, errors)


def _intro(runs: Runs) -> list[str]:
    return [
        (
            "# Figures of the waiting policies, drawn from this package's formulas and"
            " runs"
        ),
        (
            "After Ambati, Bashir, Irwin and Shenoy, “Modeling and"
            " Analyzing Waiting Policies for Cloud-Enabled Schedulers”. A"
            " price is relative to that of renting for every job; an"
            " opportunity cost is P w with P in US cents per hour of an"
            " m5.large; the number after ± is the half width of a 95 %"
            " interval. Next to each picture is the CSV of its data. All of"
            " them: `cgrsp papers figures waiting --out figures/waiting`."
        ),
        (
            f"Figures 15 to 22: {runs.description}. One run each, of"
            f" {many(runs.source.jobs, 'job', ',')} (Figure 17: {runs.few.jobs:,}),"
            " with intervals from its batches. All policies serve the same jobs, so"
            " differences are more precise than means; the bars show intervals of"
            " differences. Figure 17 is simulated event by event, on few"
            " days: most of its intervals are wider than the differences."
        ),
    ]


FIGURES = Gallery("waiting", Runs, _intro, columns=99, handlelength=2.6)


def numbered(number: int, title: str, note: Any, **more: Any) -> Figure:
    """Declare a figure with the number that it has in the paper."""
    more = {"stem": f"waiting_figure_{number}", "head": f"Figure {number}", **more}
    return FIGURES.add(str(number), title, **{"size": SIZE, "note": note, **more})


def by_wait_errors(kind: str, policy: WaitingPolicy, every: int = 1) -> list[Line]:
    """Return one line per `every`-th share of mispredicted waits, "over" or "under"."""
    return [
        (f"{100 * share:g} %", policy, Mispredictions(**{f"wait_{kind}": share}))
        for share in WAIT_ERRORS[kind][::every]
    ]


def by_run_errors(scenario: Callable[[Mispredictions], Scenario]) -> list[Point]:
    """Return the points of a policy by shares of mispredicted running times."""
    return [
        (
            f"{kind}-predictions",
            100 * share,
            scenario(Mispredictions(**{f"run_{kind}": share})),
        )
        for kind in ("over", "under")
        for share in RUN_ERRORS
    ]


def on_run_errors(wait: str) -> Callable[[list[Row]], str]:
    """Return a function that describes ljw with mispredictions. wait: a column."""
    (over, under), unit = KINDS, wait.removeprefix("wait_")
    return filled(
        "If half of the short jobs are taken for long, the mean wait goes from {}"
        f" {unit} to {{}} {unit} and the price from {{:.3f}} to {{:.3f}}; if half of"
        f" the long ones are taken for short, the wait goes to {{}} {unit} and the"
        " price to {:.3f}.",
        lambda rows: (
            *(measured(rows, over, wait, error_pct=pct) for pct in (0, 50)),
            *(at(rows, over, "normalized_price", error_pct=pct) for pct in (0, 50)),
            measured(rows, under, wait, error_pct=50),
            at(rows, under, "normalized_price", error_pct=50),
        ),
    )


BOTH = "line: formula; marks: simulation with 95 % intervals"
SIMULATED = "simulation with 95 % intervals"
BETWEEN = f"{BOTH}\najw-t with maximum wait b, between njw and ajw"
OVER = f"{BOTH}\nsww by share of jobs whose wait is over-predicted, and njw"
UNDER = f"{BOTH}\nsww by share of long waits that are under-predicted, and ajw-t"
COUNTS, NARROW = range(80, 141), range(80, 121)
# servers at which formulas are simulated as well
MARKS = (80, 87, 93, 98, 101, 104, 108, 120, 140)
TIGHT = 101  # servers of Figures 10 and 11
DISCOUNT = PAPER_PRICES.share
PRICES, WAITS = ("normalized_price",), ("wait_s",)
WITH_WAIT = ("ajw", "ajw-t", "sww", "ljw", "compound")


def named(*names: str) -> list[Line]:
    """Return one line per policy, with the paper's b and t."""
    return [(name, waiting_policy(name), NO_ERRORS) for name in names]


PATIENCE = [
    *named("njw"),
    *(
        (f"b = {b} s", waiting_policy("ajw-t", b), NO_ERRORS)
        for b in (30, 120, 300, 900)
    ),
    *named("ajw"),
]


def formula(
    line: Line,
    servers: Sequence[int],
    metrics: Sequence[str],
    printed: bool = False,
    **x: float,
) -> list[Row]:
    """Return one row per number of servers with a steady state.

    x: name and value of the x variable, if not servers. printed: Eq. 26 as printed.
    """
    name, policy, errors = line
    arguments = (RATE_PER_S, SERVICE_S, np.array(servers), PAPER_PRICES, errors)
    analysis = closed_form(policy, *arguments, as_printed=printed)
    figures = {
        "price": analysis.price,
        "wait_s": analysis.wait_s,
        "cost_per_h": analysis.last_utilisation,
        "opportunity": analysis.price * analysis.wait_s / 3600,
    }
    columns = {
        metric: figures[METRICS[metric][0]] / METRICS[metric][1] for metric in metrics
    }
    return [
        {"line": name, "from": "formula", **(x or {"servers": number})}
        | {metric: column[place].item() for metric, column in columns.items()}
        for place, number in enumerate(servers)
        if math.isfinite(analysis.wait_s[place])
    ]


def over_servers(
    jobs: ExponentialJobs,
    lines: Sequence[Line],
    servers: Sequence[int],
    order: str = "fcfs",
) -> list[Point]:
    """Return one point per number of servers with a steady state."""
    return [
        (name, number, scenario)
        for name, policy, errors in lines
        for number in servers
        for scenario in [Scenario(jobs, policy, number, order, errors=errors)]
        if not scenario.unsteady
    ]


def _options(runs: Runs) -> str:
    return " trace=FILE" if runs.trace else ""


def declare(
    number: int,
    title: str,
    note: str,
    panels: Sequence[Panel],
    sentence: Callable[[list[Row]], str],
    *,
    lines: Sequence[Line] = (),
    servers: Sequence[int] = COUNTS,
    marked: Sequence[int] = MARKS,
    points: Callable[[Runs], list[Point]] | None = None,
    x: str = "servers",
    reference: str = "",
    printed: Sequence[Row] = (),
) -> None:
    """Declare a figure of panels over an axis, with its number in the paper.

    lines: policies computed by formula, with simulated marks at the servers `marked`.
    points: points to simulate instead. reference: policy on the workload of Figures 15
    to 22, with the paper's b and t, from which differences are computed. printed:
    values printed in the text.
    """
    metrics = [panel.metric for panel in panels]

    def rows(runs: Runs) -> list[Row]:
        result = [row for line in lines for row in formula(line, servers, metrics)]
        places = [number for number in marked if number in servers]
        simulated = (
            points(runs) if points else over_servers(runs.exponential, lines, places)
        )
        result += runs.rows(
            simulated,
            x,
            metrics,
            runs.workload.policies[reference] if reference else None,
        )
        known = printed if runs.trace is None or not reference else ()
        return result + [{"from": "printed", **row} for row in known]

    def long_note(runs: Runs) -> str:
        return (
            f"{runs.description}\nbars: 95 % intervals of the difference from"
            f" {reference} on the same jobs{note}"
        )

    numbered(
        number,
        title,
        long_note if reference else note,
        rows=rows,
        draw=curves(x, *panels),
        sentence=sentence,
        options=_options if reference else "",
    )


# ---- Table 1 ----

YEARS_3_H = 3 * 8760
# m5.large: option, use in per cent, cents per hour of all time (on demand, and $988 for
# three years); effective cents per hour and dollars for three years as printed
PRINTED = [
    *(
        ("on demand", pct, 9.6, 9.6, usd)
        for pct, usd in ((100, 2523), (60, 1514), (40, 1009))
    ),
    *(
        ("fixed", pct, 98_800 / YEARS_3_H, cents, 988)
        for pct, cents in ((100, 3.8), (60, 6.3), (40, 9.5))
    ),
]

CELLS = (
    "{option}|{utilisation_pct} %|{raw_cents_per_h:.2f} ¢/h|{effective_cents_per_h:.2f}"
    " ¢/h|{printed_effective_cents_per_h}"
    " ¢/h|${three_years_usd:.0f}|{normalized_price:.2f}"
)


@FIGURES.add(
    "table1",
    "Cost per hour of work, by utilisation",
    SIZE,
    note="m5.large, rented on demand or bought for three years",
    stem="waiting_table_1",
    head="Table 1",
    sentence=filled(
        "A fixed machine is cheaper if it is busy more than {:.0f} % of the time.",
        lambda rows: [
            100 * row["normalized_price"]
            for row in where(rows, option="fixed", utilisation_pct=100)
        ],
    ),
    table=lambda rows: markdown(
        "option | utilisation | raw price | effective price | printed | three years |"
        " normalized",
        1,
        [CELLS.format_map(row).split("|") for row in rows],
    ),
)
def table1(_: Runs) -> list[Row]:
    """Prices of a partly used machine, next to the printed values."""
    return [
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
        for option, pct, raw, printed, printed_usd in PRINTED
        for effective, worked in [
            (100 * raw / pct, 1.0) if option == "fixed" else (raw, pct / 100)
        ]
    ]


@table1.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    ax = canvas.add_subplot()
    names = [f"{row['option']}, {row['utilisation_pct']} %" for row in rows]
    ours, printed = (
        numbers(rows, f"{which}effective_cents_per_h") for which in ("", "printed_")
    )
    colours = [BUSY if row["option"] == "fixed" else RENTED for row in rows]
    marks.bars(ax, names, ours, [math.nan] * len(rows), printed, colours)
    ax.set(
        xlabel="effective price (US cents per hour of work)",
        ylabel="machine, utilisation",
    )
    return [marks.published()]


# ---- Figures 2 to 14 ----

declare(
    2,
    "All jobs wait: price and wait",
    BOTH,
    (PRICED, WAITED),
    filled(
        "From s = 101 to 120 the wait falls from {} s (simulation: {}) to {} s, and the"
        " price rises by {}.",
        lambda rows: (
            three_digits(at(rows, "ajw", "wait_s", servers=101)),
            measured(rows, "ajw", "wait_s", servers=101),
            three_digits(at(rows, "ajw", "wait_s", servers=120)),
            gain(*(at(rows, "ajw", "normalized_price", servers=s) for s in (101, 120))),
        ),
    ),
    lines=named("ajw"),
    servers=range(101, 141),
    marked=(101, 102, 103, 105, 108, 113, 120, 130, 140),
    printed=[
        {"line": "ajw", "servers": 108, "normalized_price": 0.432, "wait_s": 20},
        {"line": "ajw", "servers": 101, "wait_s": 450},
        {"line": "ajw", "servers": 120, "normalized_price": 0.48},
    ],
)


@numbered(
    3,
    "No job waits: price, and utilisation of the last machine",
    (
        f"{BOTH}; faint: the discount d = {DISCOUNT:g}, above which the last"
        " machine reduces the price"
    ),
    draw=curves(
        "servers",
        PRICED,
        Panel(
            "last_utilisation",
            "utilisation of the last machine",
            low=0,
            lines=(DISCOUNT,),
        ),
    ),
    sentence=filled(
        (
            "The price is lowest with s = {1} machines, P = {0:.3f}; the"
            " last one is busy {2} of the time (simulation)."
        ),
        lambda rows: (
            *best(rows, "njw"),
            measured(rows, "njw", "last_utilisation", servers=best(rows, "njw")[1]),
        ),
    ),
)
def last_machine(runs: Runs) -> list[Row]:
    """Price of njw, and the work that the last machine takes over on the same jobs."""
    (line,), metric = named("njw"), "last_utilisation"
    simulated = over_servers(runs.exponential, [line], MARKS)
    bare = [
        subject_of(scenario).varied(fixed=0.0, on_demand=1.0)
        for *_, scenario in simulated
    ]
    fewer = [
        subject_of(scenario).varied(machines=int(scenario.fixed_per_h) - 1)
        for scenario in bare
    ]
    pairs = zip(runs.rows(simulated, "servers", PRICES), runs.of(fewer), runs.of(bare))
    return [
        *formula(line, COUNTS, (*PRICES, metric)),
        *(
            row
            | with_halves({metric: of_trials(differences(less, full))["cost_per_h"]})
            for row, less, full in pairs
        ),
        {"line": "njw", "from": "printed", "servers": 108, "normalized_price": 0.467},
    ]


declare(
    4,
    "All jobs wait up to a threshold: price by maximum wait b",
    BETWEEN,
    (PRICED,),
    filled(
        (
            "The longer jobs may wait, the fewer machines are best. The"
            " lowest price is {}."
        ),
        lambda rows: [
            ", ".join(
                f"{price:.3f} at s = {s} ({name})"
                for name in distinct(rows, "line")
                if name != "ajw"
                for price, s in [best(rows, name)]
            )
        ],
    ),
    lines=PATIENCE,
)


declare(
    5,
    "All jobs wait up to a threshold: wait by maximum wait b",
    BETWEEN,
    (WAITED,),
    filled(
        "At s = 101 the mean wait is {}.",
        lambda rows: [
            ", ".join(
                f"{three_digits(at(rows, name, 'wait_s', servers=101))} s ({name})"
                for name in distinct(rows, "line")
            )
        ],
    ),
    lines=PATIENCE,
    servers=NARROW,
)
declare(
    6,
    "Short waits wait, and all jobs wait up to a threshold: wait",
    BOTH,
    (WAITED,),
    filled(
        "The wait under sww is longest at s = {2}, {0} s, where it is {1} s under"
        " ajw-t.",
        lambda rows: [
            value
            for _, longest in [best(rows, "sww", "wait_s", choose=max)]
            for value in (
                *(
                    three_digits(at(rows, name, "wait_s", servers=longest))
                    for name in ("sww", "ajw-t")
                ),
                longest,
            )
        ],
    ),
    lines=named("sww", "ajw-t"),
    servers=NARROW,
)
declare(
    7,
    "Short waits wait: price if waits are over-predicted",
    OVER,
    (PRICED,),
    filled(
        "Over-predicting 5 % of the waits raises the least price by {} and moves it"
        " from s = {} to {}.",
        lambda rows: (
            gain(best(rows, "0 %")[0], best(rows, "5 %")[0]),
            *(best(rows, line)[1] for line in ("0 %", "5 %")),
        ),
    ),
    lines=[*by_wait_errors("over", waiting_policy("sww")), *named("njw")],
)
declare(
    8,
    "Short waits wait: wait if waits are over-predicted",
    OVER,
    (WAITED,),
    filled(
        "At s = 98 over-predicting 5 % of the waits shortens the mean wait from {} s to"
        " {} s (simulation).",
        lambda rows: [
            measured(rows, line, "wait_s", servers=98) for line in ("0 %", "5 %")
        ],
    ),
    lines=[*by_wait_errors("over", waiting_policy("sww")), *named("njw")],
    servers=NARROW,
)
declare(
    9,
    "Short waits wait: wait if waits are under-predicted",
    UNDER,
    (WAITED,),
    filled(
        "Under-predicting half of the waits lengthens the mean wait by {} at s = 80,"
        " where many jobs should not wait, and by {} at s = 104.",
        lambda rows: [
            gain(*(at(rows, line, "wait_s", servers=s) for line in ("0 %", "50 %")))
            for s in (80, 104)
        ],
    ),
    lines=[*by_wait_errors("under", waiting_policy("sww")), *named("ajw-t")],
    servers=NARROW,
    marked=MARKS[::2],
)


@numbered(
    10,
    "Long jobs wait: price and wait by t, 101 machines",
    BOTH,
    draw=curves("short_s", PRICED, WAITED),
    sentence=filled(
        (
            "With t = 180 s the mean wait is {} s (simulation: {}) instead"
            " of {} s, at a price {} higher."
        ),
        lambda rows: (
            three_digits(at(rows, "ljw", "wait_s", short_s=180)),
            measured(rows, "ljw", "wait_s", short_s=180),
            three_digits(at(rows, "ljw", "wait_s", short_s=0)),
            gain(*(at(rows, "ljw", "normalized_price", short_s=t) for t in (0, 180))),
        ),
    ),
)
def thresholds(runs: Runs) -> list[Row]:
    """The policy ljw by t at 101 servers, between ajw (t = 0) and njw."""
    ljw = {
        t: ("ljw", waiting_policy("ljw", short_s=t), NO_ERRORS)
        for t in range(0, 361, 10)
    }
    lines = [
        *ljw.items(),
        *((t, line) for line in named("ajw", "njw") for t in (0, 360)),
    ]
    marked, metrics = (0, 20, 40, 60, 90, 130, 180, 240, 300, 360), PRICES + WAITS
    simulated = [
        ("ljw", t, Scenario(runs.exponential, ljw[t][1], TIGHT)) for t in marked
    ]
    return [
        *(
            row
            for t, line in lines
            for row in formula(line, (TIGHT,), metrics, short_s=t)
        ),
        *runs.rows(simulated, "short_s", metrics),
        {"line": "ajw", "from": "printed", "short_s": 0, "wait_s": 450},
    ]


declare(
    11,
    "Long jobs wait: running times mispredicted, 101 machines",
    SIMULATED,
    (
        PRICED,
        WAITED,
        COSTLY,
    ),
    on_run_errors("wait_s"),
    points=lambda runs: by_run_errors(
        lambda errors: Scenario(
            runs.exponential, waiting_policy("ljw"), TIGHT, errors=errors
        )
    ),
    x="error_pct",
)
declare(
    12,
    "The compound policy, and long jobs wait: price and wait",
    BOTH,
    (
        PRICED,
        WAITED._replace(high=700),
    ),
    filled(
        "At s = 98 the mean wait is {} s under the compound policy and {} s under ljw"
        " (simulation); below s = {} ljw has no steady state.",
        lambda rows: (
            *(
                measured(rows, name, "wait_s", servers=98)
                for name in ("compound", "ljw")
            ),
            min(row["servers"] for row in of(rows, "ljw")),
        ),
    ),
    lines=named("compound", "ljw"),
    servers=NARROW,
)
ON_COSTS = filled(
    ("Opportunity costs of a job's wait at s = 101, in ascending order (cents): {}."),
    lambda rows: [ranked(rows, "opportunity_cents", servers=101)],
)
declare(
    13,
    "Opportunity cost of waiting, first come, first served",
    BOTH,
    (COSTLY._replace(high=1.4),),
    ON_COSTS,
    lines=named(*WITH_WAIT),
    servers=NARROW,
)


# no formula is known
declare(
    14,
    "Opportunity cost of waiting, shortest job first",
    SIMULATED,
    (COSTLY,),
    ON_COSTS,
    points=lambda runs: over_servers(
        runs.exponentials(1 / 16), named(*WITH_WAIT), MARKS[:-1], "sjf"
    ),
)


# ---- how far the approximations are off ----

AS_PRINTED = "compound, Eq. 26 as printed"


@FIGURES.add(
    "errors",
    "Errors of the approximate waits",
    SIZE,
    note=(
        "Eq. 23 (ljw) and Eq. 26 (compound, its patience rescaled), and as printed,"
        " against simulation, with 95 % intervals"
    ),
    head="More",
    draw=curves(
        "servers", Panel("error_pct", "wait by formula, error (%)", lines=(0,))
    ),
    sentence=filled(
        (
            "Up to s = 93 the load of the long jobs alone exceeds the"
            " number of machines, and the error of Eq. 26 as printed is {}"
            " to {} %: b bounds the wait there, but Eq. 26 multiplies it by"
            " (CV² + 1)/2 = {:.2f}. With b divided by this factor, the"
            " error is {} to {} %. At s = 101 the errors are {} %"
            " (rescaled), {} % (as printed) and {} % (Eq. 23, ljw)."
        ),
        lambda rows: (
            *_ends(rows, AS_PRINTED),
            (1 + (SERVICE_S / (SERVICE_S + BASELINE_SHORT_S)) ** 2) / 2,
            *_ends(rows, "compound"),
            *(
                measured(rows, line, "error_pct", servers=101)
                for line in ("compound", AS_PRINTED, "ljw")
            ),
        ),
    ),
)
def approximations(runs: Runs) -> list[Row]:
    """Relative error of the waits by formula, compared with simulated ones."""
    result, few = [], (80, 84, 87, 90, 93)
    for name, line in zip(
        ("ljw", "compound", AS_PRINTED), named("ljw", "compound", "compound")
    ):
        points = over_servers(runs.exponential, [line], few)
        points += over_servers(runs.exponentials(4), [line], (96, 98, 101, 104, 108))
        for row in runs.rows(points, "servers", WAITS):
            [by_formula] = formula(line, (row["servers"],), WAITS, name == AS_PRINTED)
            wait_s = by_formula["wait_s"]
            simulated_s = row["wait_s"] or math.nan  # perhaps no job waited
            ratio, spread = wait_s / simulated_s, row[half("wait_s")] / simulated_s
            result.append(
                {
                    **row,
                    "line": name,
                    "formula_wait_s": wait_s,
                    "error_pct": 100 * (ratio - 1),
                    half("error_pct"): 100 * ratio * spread,
                }
            )
    return result


def _ends(rows: Sequence[Row], line: str) -> list[str]:
    selected = [row for row in rows if row["servers"] <= 93]
    return [
        three_digits(best(selected, line, "error_pct", choose=choose)[0])
        for choose in (min, max)
    ]


# ---- Figures 15 to 22 ----

# distribution -> (label of the x axis, label -> upper bound of its bins)
BINS: dict[str, tuple[str, dict[str, float]]] = {
    "gaps": (
        "time between submissions",
        {"": 0, "1\ns": 1, "15\ns": 15, "1\nmin": 60, "3\nmin": 180, "15\nmin": 900}
        | {"1\nh": 3600, "6\nh": 6 * 3600, "more": math.inf},
    ),
    "running times": (
        "running time",
        {"": 0, "3\nmin": 180, "30\nmin": 1800, "1\nh": 3600, "3\nh": 3 * 3600}
        | {"6\nh": 6 * 3600, "1\nd": DAY_S, "7\nd": 7 * DAY_S, "more": math.inf},
    ),
}
SHOWN = 1500  # needs in the scatter, the most frequent ones


@numbered(
    15,
    "The workload",
    lambda runs: runs.description,
    options=_options,
    size=(6.3, 5.0),
    sentence=filled(
        (
            "{:.0f} % of the jobs arrive within a second of the previous"
            " one; {:.0f} % run for less than 3 min, and account for {} %"
            " of the core-hours."
        ),
        lambda rows: (
            *(
                where(rows, panel=panel)[0]["jobs_pct"]
                for panel in ("gaps", "running times")
            ),
            three_digits(where(rows, short_min=3)[0]["core_hours_pct"]),
        ),
    ),
)
def features(runs: Runs) -> list[Row]:
    """Gaps and running times compared with exponential ones, short jobs, and needs."""
    submit_s, run_s, cores, memory_gb = runs.workload.columns
    needs, counts = np.unique(cores + 1j * memory_gb, return_counts=True)
    common = np.argsort(-counts, kind="stable")[:SHOWN]
    return [
        *_shares("gaps", np.diff(submit_s)),
        *_shares("running times", run_s),
        *(
            {
                "panel": "short jobs",
                "short_min": minutes,
                "jobs_pct": 100 * float(np.mean(short)),
                "core_hours_pct": 100 * float(work[short].sum() / work.sum()),
            }
            for work in [run_s * cores]
            for minutes in range(31)
            for short in [run_s < 60 * minutes]
        ),
        *(
            {
                "panel": "needs",
                "cores": int(need.real),
                "memory_gb": need.imag,
                "jobs_pct": share,
            }
            for need, share in zip(
                needs[common].tolist(), (100 * counts[common] / len(cores)).tolist()
            )
        ),
    ]


def _shares(panel: str, values: Floats) -> list[Row]:
    edges = np.array(list(BINS[panel][1].values()))
    beyond = 100 * np.exp(-edges / max(values.mean(), 1e-9))
    shares = 100 * np.histogram(values, edges)[0] / len(values)
    names = ("from_s", "to_s", "jobs_pct", "exponential_pct")
    rows = zip(
        *(array.tolist() for array in (edges, edges[1:], shares, -np.diff(beyond)))
    )
    return [{"panel": panel, **dict(zip(names, row))} for row in rows]


@features.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    *upper, short, needs = canvas.subplots(2, 2).ravel()
    for ax, (panel, (label, bins)) in zip(upper, BINS.items()):
        places, selected = np.arange(len(bins) - 1), where(rows, panel=panel)
        ax.bar(places - 0.2, numbers(selected, "jobs_pct"), 0.4, color=BUSY)
        ax.bar(places + 0.2, numbers(selected, "exponential_pct"), 0.4, color=RENTED)
        ax.set_xticks(places, list(bins)[1:], fontsize="small")
        ax.set(xlabel=f"{label}, up to", ylabel="jobs (%)")
    selected = where(rows, panel="short jobs")
    for column, name, line in (
        ("jobs", "of the jobs", "-"),
        ("core_hours", "of the core-hours", "--"),
    ):
        short.plot(
            numbers(selected, "short_min"),
            numbers(selected, f"{column}_pct"),
            line,
            color=BUSY,
        )
        beside_point(
            short, name, (30, selected[-1][f"{column}_pct"]), (0, 4), ha="right"
        )
    short.set(
        xlabel="short are jobs below t (min)", ylabel="short jobs (%)", ylim=(0, 100)
    )
    selected = where(rows, panel="needs")
    cores, memory_gb, pct = (
        np.array(numbers(selected, name)) for name in ("cores", "memory_gb", "jobs_pct")
    )
    # at most three markers across
    areas = np.maximum((3 * rcParams["lines.markersize"]) ** 2 * pct / pct.max(), 1)
    needs.scatter(cores, memory_gb, areas, color=BUSY, alpha=0.5, linewidths=0)
    needs.set(xlabel="cores (area of a dot: share of the jobs)", ylabel="memory (GB)")
    needs.margins(0.12)
    needs.set_xscale("log", base=2)
    if memory_gb.min() > 0:
        needs.set_yscale("log", base=2)
        needs.yaxis.set_major_formatter("{x:g}")
    needs.xaxis.set_major_formatter("{x:g}")
    no_flat_axis(needs, y=memory_gb)
    return [
        Patch(color=BUSY, label="the jobs"),
        Patch(color=RENTED, label="exponential, the same mean"),
    ]


def _printed(line: str, place: str, x: float, price: float, wait_h: float) -> Row:
    return {
        "line": line,
        place: x,
        "normalized_price": price,
        "wait_h": wait_h,
        "opportunity_cents": PAPER_PRICES.on_demand * price * wait_h,
    }


def _policies(runs: Runs, **more: Any) -> list[Point]:
    work = runs.workload
    return [
        point
        for policy in work.policies.values()
        for point in work.points(policy.name, policy, **more)
    ]


def _on_cheapest(
    runs: Runs, policy: WaitingPolicy, errors: Mispredictions = NO_ERRORS
) -> Scenario:
    """Return a policy on the number of machines cheapest for compound in Figure 16."""
    work = runs.workload
    points = work.points("", work.policies["compound"])
    trials = zip(runs.of([scenario for *_, scenario in points]), work.machines)
    return work.scenario(
        policy, min((run[0]["price"][0], s) for run, s in trials)[1], errors=errors
    )


ON_POLICIES = filled(
    (
        "The compound policy is cheapest with {0} machines, P = {1},"
        " at a mean wait of {2} h. With as many machines, njw costs {3}"
        " more and sww {4} more, and the mean wait under sww is {5} h"
        " longer. Opportunity costs of a job's wait, in ascending order"
        " (cents): {6}."
    ),
    lambda rows: [
        value
        for _, number in [best(rows, "compound", x="machines")]
        for value in (
            number,
            *(
                measured(rows, "compound", name, machines=number)
                for name in ("normalized_price", "wait_h")
            ),
            *(
                measured(rows, line, "normalized_price_difference", machines=number)
                for line in ("njw", "sww")
            ),
            measured(rows, "sww", "wait_h_difference", machines=number),
            ranked(rows, "opportunity_cents", machines=number),
        )
    ],
)
declare(
    16,
    "The policies on the workload, first come, first served",
    "",
    TRIPLE,
    ON_POLICIES,
    points=_policies,
    x="machines",
    reference="compound",
    printed=[
        _printed("ajw", "machines", 225, 0.6, 13.3),
        _printed("compound", "machines", 150, 0.571, 1.74),
    ],
)
declare(
    17,
    "The policies on the workload, shortest job first",
    "",
    TRIPLE,
    ON_POLICIES,
    points=lambda runs: [
        (line, machines, scenario)
        for line, machines, scenario in _policies(runs, order="sjf", source=runs.few)
        if machines in runs.workload.machines[::2]
    ],
    x="machines",
    reference="compound",
)
FIGURE_18_H, FIGURE_18_MIN = (6, 12, 24, 48), (3, 10, 20, 30)  # b and t
declare(
    18,
    "The compound policy on the workload, by t and b",
    "; lines: maximum wait b",
    TRIPLE,
    filled(
        (
            "If t increases from 3 to 30 min, the mean wait goes {}, and"
            " the price with b = 24 h from {:.3f} to {:.3f}."
        ),
        lambda rows: (
            ", ".join(
                f"from {three_digits(at(rows, name, 'wait_h', short_min=3))} to"
                f" {three_digits(at(rows, name, 'wait_h', short_min=30))} h ({name})"
                for name in distinct(rows, "line")
            ),
            *(at(rows, "b = 24 h", "normalized_price", short_min=t) for t in (3, 30)),
        ),
    ),
    points=lambda runs: [
        (
            f"b = {hours} h",
            minutes,
            _on_cheapest(runs, waiting_policy("compound", 3600 * hours, 60 * minutes)),
        )
        for hours in FIGURE_18_H
        for minutes in FIGURE_18_MIN
    ],
    x="short_min",
    reference="compound",
    printed=[_printed("b = 24 h", "short_min", 3, 0.571, 1.74)],
)
declare(
    19,
    "The compound policy on the workload, with mispredictions",
    "; lines: share of waits mispredicted",
    TRIPLE,
    filled(
        "Mispredicting 10 % of the running times raises the price by {}, mispredicting"
        " 10 % of the waits by {}.",
        lambda rows: [
            gain(*(at(rows, *line, error_pct=x) for line, x in (zero, other)))
            for zero in [(("0 %", "normalized_price"), 0)]
            for other in (
                (("0 %", "normalized_price"), 10),
                (("10 %", "normalized_price"), 0),
            )
        ],
    ),
    points=lambda runs: [
        (
            f"{100 * wait:g} %",
            100 * run,
            _on_cheapest(
                runs,
                runs.workload.policies["compound"],
                Mispredictions(wait, wait, run, run),
            ),
        )
        for wait in (0.0, 0.1, 0.2, 0.3, 0.4)
        for run in (0.0, 0.1, 0.25, 0.5)
    ],
    x="error_pct",
    reference="compound",
    printed=[_printed("0 %", "error_pct", 0, 0.571, 1.74)],
)


def _mistaken(runs: Runs, kind: str, reference: str) -> list[Point]:
    """Return points of sww with mispredicted waits, and of its limiting policy."""
    work = runs.workload
    return [
        point
        for name, policy, errors in by_wait_errors(kind, work.policies["sww"], 2)
        for lent in [errors.wait_over > 0]
        for point in work.points(name, policy, errors=errors, work_conserving=lent)
    ] + work.points(reference, work.policies[reference])


declare(
    20,
    "Short waits wait on the workload, waits over-predicted",
    "; lines: sww, work-conserving, by share over-predicted, and njw",
    (PRICED, HOURLY),
    filled(
        "With {} machines the price goes from {:.3f} to {:.3f} with 3 % and {:.3f} with"
        " 10 % of the waits over-predicted, {:.3f} under njw; the mean wait from {} h"
        " to {} h and {} h.",
        lambda rows: [
            value
            for _, number in [best(rows, "0 %", x="machines")]
            for value in (
                number,
                *(
                    at(rows, line, "normalized_price", machines=number)
                    for line in ("0 %", "3 %", "10 %", "njw")
                ),
                *(
                    measured(rows, line, "wait_h", machines=number)
                    for line in ("0 %", "3 %", "10 %")
                ),
            )
        ],
    ),
    points=lambda runs: _mistaken(runs, "over", "njw"),
    x="machines",
    reference="sww",
)
declare(
    21,
    "Short waits wait on the workload, waits under-predicted",
    "; lines: sww by share of long waits under-predicted, and ajw-t",
    (HOURLY,),
    filled(
        "Under-predicting half of the waits moves the mean wait {}.",
        lambda rows: [
            ", and ".join(
                f"from {measured(rows, '0 %', 'wait_h', machines=number)} h to"
                f" {measured(rows, '50 %', 'wait_h', machines=number)} h with {number}"
                " machines"
                for numbers in [sorted({row["machines"] for row in rows})]
                for number in (numbers[0], numbers[len(numbers) // 2])
            )
        ],
    ),
    points=lambda runs: _mistaken(runs, "under", "ajw-t"),
    x="machines",
    reference="sww",
)
declare(
    22,
    "Long jobs wait on the workload, running times mispredicted",
    "",
    TRIPLE,
    on_run_errors("wait_h"),
    points=lambda runs: by_run_errors(
        lambda errors: runs.workload.scenario(
            runs.workload.policies["ljw"], runs.workload.ample, errors=errors
        )
    ),
    x="error_pct",
    reference="ljw",
)


# ---- the figure of a plan ----

CHOSEN = "chosen plan, with its 95 % interval on days not used to choose it"
PLANNED = Figure("waiting_plan", "Money against wait", (6.3, 3.2))


@PLANNED
def frontier(plan: Plan) -> list[Row]:
    """Return the frontier and the chosen plan with the interval of its price."""
    return [
        *plan.frontier,
        {
            "p95_wait_s": plan.p95_wait_s,
            "price": plan.price.mean,
            "low": plan.price.low,
            "high": plan.price.high,
            "machines": sum(plan.own.values()),
            "policy": "chosen",
        },
    ]


@PLANNED.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    ax, (*line, selected) = canvas.subplots(), rows
    at_min, price = (np.array(numbers(rows, name)) for name in ("p95_wait_s", "price"))
    at_min /= 60
    ax.step(at_min[:-1], price[:-1], where="post", color="0.45", marker="o", ms=3)
    named = [0, *(row["machines"] for row in line)]
    for before, number, *point in zip(named, named[1:], at_min, price):
        if number != before:
            beside_point(ax, f"{number:,}", point, (3, 3))
    ends = [[price[-1] - selected["low"]], [selected["high"] - price[-1]]]
    ax.errorbar(at_min[-1], price[-1], yerr=ends, fmt="D", color="#d55e00", capsize=3)
    ax.set_xscale("symlog", linthresh=1)
    ax.set(
        xlim=(-0.1, None),
        xlabel="wait that 95 % of the jobs do not exceed, min",
        ylabel="price per hour of work",
    )
    return [
        key(color="0.45", marker="o", ms=3, label="lowest cost (machines owned)"),
        key(color="#d55e00", marker="D", ls="", label=CHOSEN),
    ]
