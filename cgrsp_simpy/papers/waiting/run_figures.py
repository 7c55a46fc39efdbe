"""Runs and workload behind the figures of waiting-policies.txt, and rows of runs."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.base.table import half
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import (
    Canvas,
    Draw,
    Handles,
    Row,
    distinct,
    numbers,
    where,
)
from cgrsp_simpy.plots.parts import (
    Several,
    hollow,
    key,
    plus_minus,
    three_digits,
    whole_numbers,
)
from cgrsp_simpy.plots.style import Look, looks
from cgrsp_simpy.studies.replicate import Replications, replicate
from cgrsp_simpy.waiting.jobs import BurstyJobs, Chunk, ExponentialJobs, ListedJobs
from cgrsp_simpy.waiting.machines import M5, PAPER_PRICES, fits, rent_per_h
from cgrsp_simpy.waiting.policies import (
    NO_ERRORS,
    POLICIES,
    WaitingPolicy,
    waiting_policy,
)
from cgrsp_simpy.waiting.report import of_trials
from cgrsp_simpy.waiting.scenario import Scenario

log = logging.getLogger(__name__)
Batches = dict[str, list[float]]  # figure -> value of the run, then of each batch
# (name of a line, x, scenario)
Point = tuple[str, float, Scenario]

RATE_PER_S, SERVICE_S = 0.2, 500.0  # lambda and 1 / mu of Figures 2 to 14 (Section 3.1)
# multiples of a trial's jobs: half of the paper's year for Figures 15 to 22, 2.6 days
# for Figure 17
HALF_A_YEAR, DAYS = 18.0, 0.25
PATIENCE_S, SHORT_S = 86_400.0, 180.0  # b and t of Section 6.2
MACHINE, MACHINES, AMPLE, LOAD = M5[-1], (100, 125, 150, 175, 200, 225, 250), 200, 150

METRICS = {  # column of the rows -> (figure of a run, divisor)
    "normalized_price": ("price", PAPER_PRICES.on_demand),
    "last_utilisation": ("cost_per_h", 1.0),
    "wait_s": ("wait_s", 1.0),
    "wait_h": ("wait_s", 3600.0),
    "opportunity_cents": ("opportunity", 1.0),
}


class Runs:
    """Simulated scenarios, each run once.

    jobs: number per trial of Figures 2 to 13. "errors" has up to 4 times this number,
    Figure 14 1/16, Figure 17 1/4, and Figures 15 to 22 otherwise 18 times. trials:
    number of trials; Figures 15 to 22 have one trial, with batch means. trace: jobs for
    Figures 15 to 22.
    """

    def __init__(
        self,
        jobs: int = 400_000,
        trials: int = 5,
        trace: ListedJobs | None = None,
        executor: Executor | int | None = None,
    ) -> None:
        self.trials, self.trace, self.executor = trials, trace, executor
        self.exponential = ExponentialJobs(jobs, RATE_PER_S, SERVICE_S)
        self.source, self.few = (
            trace or BurstyJobs(math.ceil(jobs * share))
            for share in (HALF_A_YEAR, DAYS)
        )
        self._known: dict[Any, list[Batches]] = {}

    def of(self, scenarios: Sequence[Scenario]) -> list[list[Batches]]:
        """Return the metrics of each trial of each scenario, whole and per batch.

        Raises InputError for a run that failed.
        """
        wanted = [
            Replications(
                scenario,
                [scenario.policy],
                range(1 if scenario.shared else self.trials),
            )
            for scenario in dict.fromkeys(scenarios)
            if scenario not in self._known
        ]
        done = replicate(wanted, self.executor)
        for scenario, (policy,), seeds in wanted:
            self._known[scenario] = [
                done.outcome(scenario, policy, seed) for seed in seeds
            ]
            for outcome in self._known[scenario]:
                if isinstance(outcome, str):
                    raise InputError(outcome.removeprefix("InputError: "))
        return [self._known[scenario] for scenario in scenarios]

    def exponentials(self, share: float) -> ExponentialJobs:
        """Return a workload with `share` times the jobs of a trial."""
        return replace(self.exponential, jobs=math.ceil(self.exponential.jobs * share))

    @property
    def description(self) -> str:
        """Description of the jobs of Figures 15 to 22."""
        generated = "generated bursty jobs at the rate of the paper's log"
        return f"log {self.trace.name}" if self.trace else generated

    @cached_property
    def workload(self) -> Workload:
        """The jobs of Figures 15 to 22, and the machines that suit them."""
        return Workload(self.source)

    def rows(
        self,
        points: Sequence[Point],
        x: str,
        metrics: Sequence[str],
        reference: WaitingPolicy | None = None,
    ) -> list[Row]:
        """Return one row per point: means over trials, or over one trial's batches.

        x: name of its column. reference: a policy; each metric then has a column of the
        difference from that policy, without errors, on the same jobs and machines.
        """
        scenarios = [scenario for *_, scenario in points]
        if reference:
            scenarios += [
                replace(
                    scenario, policy=reference, errors=NO_ERRORS, work_conserving=False
                )
                for scenario in scenarios
            ]
        trials = self.of(scenarios)
        rows = [
            {
                "line": line,
                "from": "simulation",
                x: place,
                **_columns(of_trials(trial), metrics),
            }
            for (line, place, _), trial in zip(points, trials)
        ]
        for row, trial, other in zip(rows, trials, trials[len(points) :]):
            row |= _columns(
                of_trials(differences(trial, other)), metrics, "_difference"
            )
        return rows


def differences(trials: Sequence[Batches], others: Sequence[Batches]) -> list[Batches]:
    """Return the difference of two scenarios per trial, whole and per batch."""
    with np.errstate(invalid="ignore"):  # batches without work
        return [
            {
                name: np.subtract(values, other[name]).tolist()
                for name, values in trial.items()
            }
            for trial, other in zip(trials, others)
        ]


def _columns(figures: dict[str, Mean], metrics: Sequence[str], ending: str = "") -> Row:
    return {
        column: value / METRICS[metric][1]
        for metric in metrics
        for estimate in [figures[METRICS[metric][0]]]
        for column, value in (
            (metric + ending, estimate.mean),
            (half(metric + ending), estimate.half_width),
        )
    }


class Workload:
    """Jobs, and the numbers of fixed machines to try.

    load: as in the paper, 150; for a log, number of fixed machines that cost as much,
    over its time span, as renting for each job. machines, ample: numbers to try, and
    that of Figure 22, in the paper's ratios to the load. policies: the six with the
    paper's b and t, without ajw if some job fits on no fixed machine.
    """

    def __init__(self, source: BurstyJobs | ListedJobs) -> None:
        self.source, self.load = source, float(LOAD)
        self.columns = Chunk(
            *(np.concatenate(column) for column in zip(*source.chunks(0)))
        )
        submit_s, run_s, cores, memory_gb = self.columns
        require(
            len(run_s) > 1 and bool(run_s.any()),
            "jobs of the workload",
            len(run_s),
            "at least 2, and not all with a running time of 0",
        )
        self.policies = {
            name: waiting_policy(name, PATIENCE_S, SHORT_S) for name in POLICIES
        }
        if not fits(cores, memory_gb, [MACHINE]).all():
            del self.policies["ajw"]
            log.warning(
                "ajw is left out: some job fits on no %s, but under ajw every job"
                " waits for one",
                MACHINE.name,
            )
        if isinstance(source, ListedJobs):
            rent = float(rent_per_h(cores, memory_gb) @ run_s)
            self.load = (
                rent
                / MACHINE.price_per_h
                / float(np.max(submit_s + run_s) - submit_s[0])
            )
        numbers = [
            max(1, round(self.load * number / LOAD)) for number in (*MACHINES, AMPLE)
        ]
        self.machines, self.ample = sorted(set(numbers)), numbers[-1]

    def scenario(self, policy: WaitingPolicy, machines: int, **more: Any) -> Scenario:
        """Return a scenario with this policy and number of machines."""
        settings = {"source": self.source, "machines": (MACHINE,) * machines, **more}
        return Scenario(policy=policy, **settings)

    def points(self, line: str, policy: WaitingPolicy, **more: Any) -> list[Point]:
        """Return one point per number of machines, from the load if waits are
        unlimited.
        """
        fewest = self.load if policy.wait_s == math.inf else 0
        return [
            (line, number, self.scenario(policy, number, **more))
            for number in self.machines
            if number >= fewest
        ]


# ---- rows of several lines, drawn ----

BUSY, RENTED = "#0B4F9C", "#E69F00"
FAINT: dict[str, Any] = {"color": "0.6", "linewidth": 0.8, "zorder": 0}
KINDS = {
    "over-predictions": Look("#C04A00", "o", "-"),
    "under-predictions": Look(BUSY, "^", (0, (6, 1.5, 1, 1.5))),
}
SHAPES = "osD^vP"


class Panel(NamedTuple):
    """A y axis: column, label, limits (default: the data's), and faint lines."""

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


def _looks(names: Sequence[str]) -> dict[str, Look]:
    others = [name for name in names if name not in POLICIES and name not in KINDS]
    colours = map(
        to_hex, colormaps["viridis"](np.linspace(0.0, 0.85, max(2, len(others))))
    )
    styles = {
        name: Look(colour, mark, "-")
        for name, colour, mark in zip(others, colours, SHAPES)
    }
    return {name: (styles | KINDS).get(name) or looks([name])[0] for name in names}


def curves(x: str, *panels: Panel) -> Draw:
    """Draw panels: formulas as lines, simulation as marks, printed values hollow.

    Without formulas, marks are joined. A faint line is the level without errors.
    """

    def draw(canvas: Canvas, rows: list[Row]) -> Handles:
        by_name = _looks(distinct(rows, "line"))
        for ax, panel in zip(canvas.subplots(1, len(panels), squeeze=False)[0], panels):
            drawn = {
                name: _curve(ax, where(rows, line=name), x, panel, by_name[name])
                for name in by_name
            }
            exact = where(rows, line="over-predictions", error_pct=0)
            for level in (*panel.lines, *(row[panel.metric] for row in exact)):
                ax.axhline(level, **FAINT)
            ax.set(xlabel=LABELS[x], ylabel=panel.label, ylim=(panel.low, panel.high))
            values = [
                row[panel.metric] for row in rows if row.get(panel.metric) is not None
            ]
            if (
                min(values, default=-1) >= 0
                and 0 < 2.5 * max(values) < ax.get_ylim()[1]
            ):
                ax.set_ylim(0, 2.5 * max(values))  # longer intervals end in arrowheads
            whole_numbers(ax.xaxis)
        printed = distinct(where(rows, **{"from": "printed"}), "line")
        rings = [key(**hollow(by_name[name])) for name in printed]
        return [
            *drawn.values(),
            *([Several("hollow: published", rings)] if rings else []),
        ]

    return draw


def _curve(ax: Axes, rows: Sequence[Row], x: str, panel: Panel, look: Look) -> Line2D:
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
    style = {
        **line,
        "marker": look.marker,
        **({"linestyle": "none"} if formula else {}),
    }
    if simulated:  # marks at 0 are seen as a whole
        ax.plot(
            places, values, **style, clip_on=any(value > highest for value in values)
        )
        colour = look.colour if formula else f"{look.colour}80"
        marks.intervals(ax, places, values, y_half=halves, colour=colour)
    return Line2D(
        [], [], **line, marker=look.marker if simulated else "", label=rows[0]["line"]
    )


# ---- what is read from the rows ----


def filled(
    text: str, values: Callable[[list[Row]], Sequence[Any]]
) -> Callable[[list[Row]], str]:
    """Return a function that fills a sentence with values of the rows."""
    return lambda rows: text.format(*values(rows))


def of(rows: Sequence[Row], line: str, **x: float) -> list[Row]:
    """Return the rows of a line, by formula if possible, else by simulation."""
    selected = where(rows, line=line, **x)
    return where(selected, **{"from": "formula"}) or where(
        selected, **{"from": "simulation"}
    )


def at(rows: Sequence[Row], line: str, metric: str, **x: float) -> float:
    """Return a plotted value of a line; see `of`."""
    return float(of(rows, line, **x)[0][metric])


def best(
    rows: Sequence[Row],
    line: str,
    metric: str = "normalized_price",
    x: str = "servers",
    choose: Callable[..., tuple[float, float]] = min,
) -> tuple[float, float]:
    """Return the least, or the greatest, value of a line, and its x."""
    return choose((float(row[metric]), row[x]) for row in of(rows, line))


def measured(rows: Sequence[Row], line: str, metric: str, **x: float) -> str:
    """Format a simulated value with half of its interval."""
    (row,) = where(rows, line=line, **{"from": "simulation"}, **x)
    return plus_minus(row[metric], row[half(metric)])


def gain(before: float, after: float) -> str:
    """Format the relative difference of two values in percent."""
    return f"{three_digits(100 * abs(after / before - 1))} %"


def ranked(rows: list[Row], metric: str, **x: float) -> str:
    """List the lines at an x by increasing value, except njw."""
    simulated = where(rows, **{"from": "simulation"}, **x)
    pairs = sorted((float(row[metric]), row["line"]) for row in simulated)
    return ", ".join(
        f"{three_digits(value)} ({line})" for value, line in pairs if line != "njw"
    )
