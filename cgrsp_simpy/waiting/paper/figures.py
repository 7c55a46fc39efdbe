"""The table and the figures of waiting-policies.txt, drawn anew; here Figures 15 to 22.

These are about a year-long log that is not at hand: here they are of generated jobs with that log's
printed features, at its rate on as many machines, or of a log of the user's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch

from cgrsp_simpy.plots.figure import Gallery, Handles, Row, numbers, where
from cgrsp_simpy.plots.parts import beside_point, no_flat_axis, told
from cgrsp_simpy.waiting.jobs import Floats
from cgrsp_simpy.waiting.machines import PAPER_PRICES
from cgrsp_simpy.waiting.paper.formula_figures import (
    BUSY,
    HOURLY,
    PRICED,
    RENTED,
    TRIPLE,
    Panel,
    at,
    best,
    by_run_errors,
    by_wait_errors,
    curves,
    gain,
    measured,
    numbered,
    ranked,
    run_errors_said,
    said,
)
from cgrsp_simpy.waiting.paper.formula_figures import (
    FIGURES as FIGURES,
)
from cgrsp_simpy.waiting.paper.runs import Point, Runs
from cgrsp_simpy.waiting.policies import NO_ERRORS, Mispredictions, WaitingPolicy, waiting_policy
from cgrsp_simpy.waiting.scenario import Scenario

# bounds of the bins, with the label of the upper one
GAPS = {"": 0.0, "1\ns": 1, "15\ns": 15, "1\nmin": 60, "3\nmin": 180, "15\nmin": 900}
GAPS |= {"1\nh": 3600, "6\nh": 6 * 3600, "more": math.inf}
RUN_TIMES = {"": 0.0, "3\nmin": 180, "30\nmin": 1800, "1\nh": 3600, "3\nh": 3 * 3600}
RUN_TIMES |= {"6\nh": 6 * 3600, "1\nd": 86_400, "7\nd": 7 * 86_400, "more": math.inf}
SHOWN = 1500  # needs in the scatter, the most frequent ones


def _options(runs: Runs) -> str:
    return " --trace FILE" if runs.trace else ""


@numbered(15, "The workload", lambda runs: runs.told, options=_options, size=(6.3, 5.0))
def features(runs: Runs) -> list[Row]:
    """Gaps and running times beside exponential ones, the share of short jobs, and
    what jobs need.
    """
    submit_s, run_s, cores, memory_gb = runs.workload.columns
    needs, counts = np.unique(cores + 1j * memory_gb, return_counts=True)
    common = np.argsort(-counts, kind="stable")[:SHOWN]
    return [
        *_shares("gaps", np.diff(submit_s), GAPS),
        *_shares("running times", run_s, RUN_TIMES),
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
            {"panel": "needs", "cores": int(need.real), "memory_gb": need.imag, "jobs_pct": share}
            for need, share in zip(
                needs[common].tolist(), (100 * counts[common] / len(cores)).tolist()
            )
        ),
    ]


def _shares(panel: str, values: Floats, bins: Mapping[str, float]) -> list[Row]:
    edges = np.array(list(bins.values()))
    beyond = 100 * np.exp(-edges / max(values.mean(), 1e-9))
    shares = 100 * np.histogram(values, edges)[0] / len(values)
    names = ("from_s", "to_s", "jobs_pct", "exponential_pct")
    rows = zip(*(each.tolist() for each in (edges, edges[1:], shares, -np.diff(beyond))))
    return [{"panel": panel, **dict(zip(names, row))} for row in rows]


@features.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """Two histograms, whose bins the ticks name, short jobs by t, and a dot for each kind of needs,
    its area as the share of the jobs.
    """
    (gaps, times), (short, needs) = canvas.subplots(2, 2)
    times_of = {"time between submissions": (gaps, "gaps", GAPS)}
    times_of |= {"running time": (times, "running times", RUN_TIMES)}
    for label, (ax, panel, bins) in times_of.items():
        places, own = np.arange(len(bins) - 1), where(rows, panel=panel)
        ax.bar(places - 0.2, numbers(own, "jobs_pct"), 0.4, color=BUSY)
        ax.bar(places + 0.2, numbers(own, "exponential_pct"), 0.4, color=RENTED)
        ax.set_xticks(places, list(bins)[1:], fontsize="small")
        ax.set(xlabel=f"{label}, up to", ylabel="jobs (%)")
    own = where(rows, panel="short jobs")
    for column, name, line in (
        ("jobs", "of the jobs", "-"),
        ("core_hours", "of the core-hours", "--"),
    ):
        short.plot(numbers(own, "short_min"), numbers(own, f"{column}_pct"), line, color=BUSY)
        beside_point(short, name, (30, own[-1][f"{column}_pct"]), (0, 4), ha="right")
    short.set(xlabel="short are jobs below t (min)", ylabel="short jobs (%)", ylim=(0, 100))
    own = where(rows, panel="needs")
    cores, memory_gb, pct = (np.array(numbers(own, name)) for name in NEEDS)
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
    return [Patch(color=colour, label=name) for name, colour in BOTH.items()]


BOTH = {"the jobs": BUSY, "exponential, the same mean": RENTED}
NEEDS = ("cores", "memory_gb", "jobs_pct")
features.seen = said(
    "{:.0f} % of the jobs come within a second of the one before; {:.0f} % run for less than 3 min,"
    " and bring {} % of the core-hours.",
    lambda rows: (
        *(where(rows, panel=panel)[0]["jobs_pct"] for panel in ("gaps", "running times")),
        told(where(rows, short_min=3)[0]["core_hours_pct"]),
    ),
)


def _declare(
    number: int,
    title: str,
    points: Callable[[Runs], list[Point]],
    seen: Callable[[list[Row]], str],
    beside: str = "compound",
    x: str = "machines",
    lines: str = "",
    printed: Sequence[Row] = (),
    panels: Sequence[Panel] = TRIPLE,
) -> None:
    """Declare a figure of policies on the workload.

    points: what is simulated. beside: the policy from which differences are taken, with the paper's
    b and t. lines: what they
    are, where their names do not speak for themselves. printed:
    what the text says of the paper's log.
    """

    def rows(runs: Runs) -> list[Row]:
        metrics = [panel.metric for panel in panels]
        found = runs.rows(points(runs), x, metrics, runs.workload.policies[beside])
        return found + [{"from": "printed", **row} for row in printed if runs.trace is None]

    bars = f"bars: 95 % intervals of the difference from {beside} on the same jobs"
    texts = {"note": lambda runs: "\n".join((runs.told, f"{bars}{lines}")), "options": _options}
    numbered(number, title, **texts, rows=rows, draw=curves(x, *panels), seen=seen)


def _printed(line: str, place: str, x: float, price: float, wait_h: float) -> Row:
    """Price and wait of the paper's cluster, and what they come to in cents."""
    return {
        "line": line,
        place: x,
        "normalized_price": price,
        "wait_h": wait_h,
        "opportunity_cents": PAPER_PRICES.on_demand * price * wait_h,
    }


def _policies(runs: Runs, **more: Any) -> list[Point]:
    """The policies over the number of machines."""
    work = runs.workload
    return [
        each
        for policy in work.policies.values()
        for each in work.points(policy.name, policy, **more)
    ]


def _on_cheapest(runs: Runs, policy: WaitingPolicy, errors: Mispredictions = NO_ERRORS) -> Scenario:
    """A policy on as many machines as make the compound policy's price in Figure 16 least."""
    work = runs.workload
    points = work.points("", work.policies["compound"])
    trials = zip(runs.of([each for *_, each in points]), work.machines)
    return work.scenario(
        policy, min((run[0]["price"][0], s) for run, s in trials)[1], errors=errors
    )


POLICIES_SAID = said(
    "The compound policy is cheapest with {0} machines, P = {1}, at a mean wait of {2} h. There njw"
    " costs {3} more, sww {4} more, and jobs wait {5} h longer under sww; a job's wait costs, from"
    " the least to the most, in cents: {6}.",
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
_declare(
    16,
    "The policies on the workload, first come, first served",
    _policies,
    POLICIES_SAID,
    # Sections 6.1 and 6.2
    printed=[
        _printed("ajw", "machines", 225, 0.6, 13.3),
        _printed("compound", "machines", 150, 0.571, 1.74),
    ],
)
_declare(
    17,
    "The policies on the workload, shortest job first",
    lambda runs: [
        each
        for each in _policies(runs, order="sjf", source=runs.few)
        if each[1] in runs.workload.machines[::2]
    ],
    POLICIES_SAID,
)
_declare(
    18,
    "The compound policy on the workload, by t and b",
    lambda runs: [
        (
            f"b = {hours} h",
            minutes,
            _on_cheapest(runs, waiting_policy("compound", 3600 * hours, 60 * minutes)),
        )
        for hours in (6, 12, 24, 48)
        for minutes in (3, 10, 20, 30)
    ],
    said(
        "From t = 3 to 30 min the mean wait goes {}; the price, with b = 24 h, from {:.3f} to"
        " {:.3f}.",
        lambda rows: (
            ", ".join(
                f"from {told(at(rows, name, 'wait_h', short_min=3))} to"
                f" {told(at(rows, name, 'wait_h', short_min=30))} h ({name})"
                for name in dict.fromkeys(row["line"] for row in rows)
            ),
            *(at(rows, "b = 24 h", "normalized_price", short_min=t) for t in (3, 30)),
        ),
    ),
    x="short_min",
    lines="; lines: longest wait b",
    printed=[_printed("b = 24 h", "short_min", 3, 0.571, 1.74)],
)
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4)
_declare(
    19,
    "The compound policy on the workload, with mispredictions",
    lambda runs: [
        (
            f"{100 * wait:g} %",
            100 * run,
            _on_cheapest(
                runs, runs.workload.policies["compound"], Mispredictions(wait, wait, run, run)
            ),
        )
        for wait in SHARES
        for run in (0.0, 0.1, 0.25, 0.5)
    ],
    said(
        "Mispredicting 10 % of the running times raises the price by {}, mispredicting 10 % of the"
        " waits by {}.",
        lambda rows: [
            gain(*(at(rows, *line, error_pct=x) for line, x in (zero, other)))
            for zero in [(("0 %", "normalized_price"), 0)]
            for other in ((("0 %", "normalized_price"), 10), (("10 %", "normalized_price"), 0))
        ],
    ),
    x="error_pct",
    lines="; lines: share of waits mispredicted",
    printed=[_printed("0 %", "error_pct", 0, 0.571, 1.74)],
)


def _mistaken(runs: Runs, kind: str, beside: str) -> list[Point]:
    """The policy sww with mispredicted waits, work-conserving where they are over-predicted, and
    what it comes near to.
    """
    work = runs.workload
    return [
        each
        for name, policy, errors in by_wait_errors(kind, work.policies["sww"], 2)
        for lent in [errors.wait_over > 0]
        for each in work.points(name, policy, errors=errors, work_conserving=lent)
    ] + work.points(beside, work.policies[beside])


_declare(
    20,
    "Short waits wait on the workload, waits over-predicted",
    lambda runs: _mistaken(runs, "over", "njw"),
    said(
        "With {} machines the price goes from {:.3f} to {:.3f} with 3 % and {:.3f} with 10 % of the"
        " waits over-predicted, {:.3f} under njw; the mean wait from {} h to {} h and {} h.",
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
    "sww",
    lines="; lines: sww, work-conserving, by share over-predicted, and njw",
    panels=(PRICED, HOURLY),
)
_declare(
    21,
    "Short waits wait on the workload, waits under-predicted",
    lambda runs: _mistaken(runs, "under", "ajw-t"),
    said(
        "Under-predicting half of the waits moves the mean wait {}.",
        lambda rows: [
            ", and ".join(
                f"from {measured(rows, '0 %', 'wait_h', machines=number)} h to"
                f" {measured(rows, '50 %', 'wait_h', machines=number)} h with {number} machines"
                for numbers in [sorted({row["machines"] for row in rows})]
                for number in (numbers[0], numbers[len(numbers) // 2])
            )
        ],
    ),
    "sww",
    lines="; lines: sww by share of long waits under-predicted, and ajw-t",
    panels=(HOURLY,),
)
_declare(
    22,
    "Long jobs wait on the workload, running times mispredicted",
    lambda runs: by_run_errors(
        lambda errors: runs.workload.scenario(
            runs.workload.policies["ljw"], runs.workload.ample, errors=errors
        )
    ),
    run_errors_said("wait_h"),
    "ljw",
    "error_pct",
)


def _intro(runs: Runs) -> list[str]:
    return [
        "# Figures of the waiting policies, drawn from this package's formulas and runs",
        "After Ambati, Bashir, Irwin and Shenoy, “Modeling and Analyzing Waiting Policies for"
        " Cloud-Enabled Schedulers”. A price is relative to that of renting for every job;"
        " an opportunity cost is P w with P in US cents per hour of an m5.large; what stands after"
        " ± is half of a 95 % interval. Each picture has the CSV of what is plotted beside it."
        " All of them: `cgrsp waiting figures --out figures/waiting`.",
        f"Figures 15 to 22: {runs.told}. One run each, of {runs.source.jobs:,} jobs (Figure 17:"
        f" {runs.few.jobs:,}), with intervals from its batches. All lines share the jobs, so that a"
        " difference between two is much surer than either: bars are of differences. Figure 17,"
        " event by event, is of too few days: most of its intervals exceed the differences.",
    ]


draw_figures = Gallery("waiting", Runs, FIGURES, _intro).draw
