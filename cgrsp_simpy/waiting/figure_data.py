"""The data behind the figures of waiting-policies.txt: for each the rows that are plotted,
and nothing else.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.model.checks import InputError, require
from cgrsp_simpy.model.table import half
from cgrsp_simpy.studies.replicate import Runs as Done
from cgrsp_simpy.studies.replicate import Wanted, replicate
from cgrsp_simpy.waiting.bursty import BurstyJobs
from cgrsp_simpy.waiting.formulas import closed_form
from cgrsp_simpy.waiting.jobs import Chunk, ExponentialJobs, Floats, ListedJobs
from cgrsp_simpy.waiting.machines import M5, PAPER_PRICES, Size, rent_per_h
from cgrsp_simpy.waiting.policies import (
    BASELINE_SHORT_S,
    NO_ERRORS,
    POLICIES,
    Mispredictions,
    WaitingPolicy,
    waiting_policy,
)
from cgrsp_simpy.waiting.scenario import Scenario
from cgrsp_simpy.waiting.tally import batched, of_trials

log = logging.getLogger(__name__)
Row = dict[str, Any]
Batches = dict[str, list[float]]  # figure -> of the whole run first, then of each batch
# the name of a line, where on the x axis, and what is simulated there
Point = tuple[str, float, Scenario]

RATE_PER_S, SERVICE_S = 0.2, 500.0  # lambda and 1 / mu of Figures 2 to 14 (Section 3.1)
SERVERS = range(80, 141)
MARKS = (80, 87, 93, 98, 101, 104, 108, 120, 140)  # where formulas are simulated as well
# coefficient of variation of the long jobs' times (Section 4.2)
LONG_CV = SERVICE_S / (SERVICE_S + BASELINE_SHORT_S)
TIGHT = 101  # servers of Figures 10 and 11
ERRORS_SHARE = 4  # times as many jobs where small errors are to be told from noise
SJF_SHARE, WORKLOAD_SHARE = 1 / 16, 3 / 20  # of the jobs, for the simulations that are slower

# the generated workload comes at a fortieth of the rate of Section 6.1, to be met by a fortieth of
# the 225 machines
SCALE = 40
CLUSTER_RATE_PER_S = 0.4527
PATIENCE_S, SHORT_S = 86_400.0, 180.0  # b and t of Section 6.2
MACHINE = M5[-1]

METRICS = {  # column of the rows -> figure of a run, and what it is divided by
    "normalized_price": ("price", PAPER_PRICES.on_demand),
    "last_utilisation": ("cost_per_h", 1.0),
    "wait_s": ("wait_s", 1.0),
    "wait_h": ("wait_s", 3600.0),
    "opportunity_cents": ("opportunity", 1.0),
}
UNKNOWN = {figure: Mean(math.nan, math.nan, math.nan, 0) for figure, _ in METRICS.values()}


class Runs:
    """What simulation says of cases.

    Those that are asked for and not known are noted, and `carry_out` runs them.

    jobs: of a trial of Figures 2 to 13; "errors" has up to 4 times as many, Figure 14 a 16th,
    Figures 15 to 22 have 3 of 20. trials: of all but Figures 15 to 22, which have one, with
    intervals from batch means. trace: jobs for Figures 15 to 22 in place of generated ones.
    """

    def __init__(self, jobs: int, trials: int, trace: ListedJobs | None = None) -> None:
        self.trials = trials
        self.exponential = ExponentialJobs(jobs, RATE_PER_S, SERVICE_S)
        self.more = replace(self.exponential, jobs=jobs * ERRORS_SHARE)
        self.fewer = replace(self.exponential, jobs=math.ceil(jobs * SJF_SHARE))
        self.source = trace or BurstyJobs(
            math.ceil(jobs * WORKLOAD_SHARE), rate_per_s=CLUSTER_RATE_PER_S / SCALE
        )
        self._known: dict[Scenario, list[Batches]] = {}
        self._wanted: dict[Scenario, None] = {}

    def trial(self, scenario: Scenario) -> list[Batches] | None:
        """The figures of each trial of a scenario, whole and by batch; None while they
        are not known.
        """
        if scenario not in self._known:
            self._wanted[scenario] = None
        return self._known.get(scenario)

    def __call__(self, scenario: Scenario) -> dict[str, Mean]:
        """The figures of a scenario: means over the trials, of one trial from its batches; NaN
        while they are not known.
        """
        if (trials := self.trial(scenario)) is None:
            return UNKNOWN
        return of_trials(trials)

    def carry_out(self, executor: Executor | int | None) -> bool:
        """Run all that is wanted; whether there was any."""
        seeds = {
            scenario: range(1 if scenario.shared else self.trials) for scenario in self._wanted
        }
        done = replicate(
            [Wanted(scenario, [scenario.policy], own) for scenario, own in seeds.items()], executor
        )
        for scenario, own in seeds.items():
            self._known[scenario] = [_figures(done, scenario, seed) for seed in own]
        self._wanted.clear()
        return bool(seeds)

    @cached_property
    def workload(self) -> Workload:
        """The jobs of Figures 15 to 22, and the machines that suit them."""
        return Workload(self.source)

    def rows(self, points: Iterable[Point], x: str, metrics: Sequence[str]) -> list[Row]:
        """A row a point. x: the name of its column."""
        found = []
        for line, where, scenario in points:
            row: Row = {"line": line, "from": "simulation", x: where}
            for metric in metrics:
                figure, unit = METRICS[metric]
                row |= _told(metric, self(scenario)[figure], unit)
            found.append(row)
        return found


def _figures(done: Done, scenario: Scenario, seed: int) -> Batches:
    """What was kept of a run. Raises InputError for one that failed."""
    outcome: Batches | str = done.outcome(scenario, scenario.policy, seed)
    if isinstance(outcome, str):
        raise InputError(outcome.removeprefix("InputError: "))
    return outcome


def _told(metric: str, value: Mean, unit: float) -> Row:
    """A metric with the half width of its interval."""
    return {metric: value.mean / unit, half(metric): value.half_width / unit}


Rows = Callable[[Runs], list[Row]]


# ---- Table 1 ----

YEARS_3_H = 3 * 8760
RESERVED_CENTS_PER_H = 98_800 / YEARS_3_H  # $988 for three years of an m5.large
PRINTED = {
    "on demand": {100: (9.6, 2523), 60: (9.6, 1514), 40: (9.6, 1009)},
    "fixed": {100: (3.8, 988), 60: (6.3, 988), 40: (9.5, 988)},
}


def price_table(runs: Runs) -> list[Row]:  # noqa: ARG001, as of every figure
    """Table 1: what an hour of work costs on a machine that works a share of the time; the printed
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


# ---- Figures 2 to 14: exponential jobs, each on a machine of its own ----


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
    servers: Sequence[int] = SERVERS,
    marks: Sequence[int] = MARKS,
) -> Rows:
    """Figures 2, 6, 12 and 13: policies over the servers."""
    return _by_servers(
        [Line(name, waiting_policy(name)) for name in names], metrics, servers, marks
    )


def last_machine(runs: Runs) -> list[Row]:
    """Figure 3: njw's price, and the work that the last machine takes over."""
    line = Line("njw", waiting_policy("njw"))
    points = line.points(runs.exponential, MARKS)
    return [
        *line.formula(SERVERS, ("normalized_price", "last_utilisation")),
        *runs.rows(points, "servers", ("normalized_price",)),
        *(
            {
                "line": name,
                "from": "simulation",
                "servers": at,
                **_told("last_utilisation", _last(runs, scenario), 1.0),
            }
            for name, at, scenario in points
        ),
    ]


def _last(runs: Runs, scenario: Scenario) -> Mean:
    """What one machine fewer sends on demand an hour beyond what the scenario does, on the same
    jobs; NaN while not known.
    """
    bare = scenario.varied(fixed=0.0, on_demand=1.0)
    trials, fewer = (
        runs.trial(bare.varied(machines=number))
        for number in (scenario.machines, int(scenario.fixed_per_h) - 1)
    )
    if trials is None or fewer is None:
        return UNKNOWN["cost_per_h"]
    pairs = [
        np.subtract(less["cost_per_h"], full["cost_per_h"]) for less, full in zip(fewer, trials)
    ]
    return batched(pairs[0]) if len(pairs) == 1 else mean([pair[0].item() for pair in pairs])


def patience(
    metric: str, servers: Sequence[int] = SERVERS, waits_s: Sequence[float] = (30, 120, 300, 900)
) -> Rows:
    """Figures 4 and 5: ajw-t for several b, between njw and ajw."""
    none, *all_of_it = (Line(name, waiting_policy(name)) for name in ("njw", "ajw"))
    between = [
        Line(f"b = {wait_s:g} s", waiting_policy("ajw-t", wait_s=wait_s)) for wait_s in waits_s
    ]
    return _by_servers([none, *between, *all_of_it], (metric,), servers, MARKS)


def wait_errors(kind: str, metric: str, beside: str, servers: Sequence[int] = SERVERS) -> Rows:
    """Figures 7 to 9: sww with mispredicted waits, beside the policy that it comes near to.

    kind: over or under.
    """
    shares = WAIT_OVER if kind == "over" else WAIT_UNDER
    lines = [Line(*_mistaken(waiting_policy("sww"), kind, share)) for share in shares]
    lines.append(Line(beside, waiting_policy(beside)))
    return _by_servers(lines, (metric,), servers, MARKS if kind == "over" else MARKS[::2])


WAIT_OVER, WAIT_UNDER = (0.0, 0.01, 0.03, 0.05, 0.1, 0.2), (0.0, 0.25, 0.5, 0.75, 1.0)
RUN_ERRORS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
THREE = ("normalized_price", "wait_s", "opportunity_cents")


def _mistaken(
    policy: WaitingPolicy, kind: str, share: float
) -> tuple[str, WaitingPolicy, Mispredictions]:
    return f"{100 * share:g} %", policy, Mispredictions(**{f"wait_{kind}": share})


def thresholds(runs: Runs) -> list[Row]:
    """Figure 10: ljw by t at 101 servers, between ajw (t = 0) and njw."""
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


def run_errors(runs: Runs) -> list[Row]:
    """Figure 11: ljw at 101 servers with mispredicted running times."""
    cases = _run_errors(
        lambda errors: Scenario(runs.exponential, waiting_policy("ljw"), TIGHT, errors=errors)
    )
    return runs.rows(cases, "error_pct", THREE)


def _run_errors(scenario: Callable[[Mispredictions], Scenario]) -> list[Point]:
    return [
        (f"{kind}-predictions", 100 * share, scenario(Mispredictions(**{f"run_{kind}": share})))
        for kind in ("over", "under")
        for share in RUN_ERRORS
    ]


def shortest_first(runs: Runs) -> list[Row]:
    """Figure 14: the policies of Figure 13 where the shortest job goes first; no
    formula is known.
    """
    lines = [Line(name, waiting_policy(name)) for name in POLICIES if name != "njw"]
    points = [point for line in lines for point in line.points(runs.fewer, MARKS[:-1], "sjf")]
    return runs.rows(points, "servers", ("opportunity_cents",))


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


# ---- Figures 15 to 22: jobs of a log, or generated ones, that share large machines ----


class Workload:
    """Jobs, and the numbers of fixed machines to try for them.

    source: the jobs. columns: theirs. load: fixed machines that could be rented for what renting
    for all jobs costs, until the last submission, or for a log until all jobs can have ended.
    machines: numbers to try. ample: the number of Figure 22, as ample as the paper's 200 machines
    are for a load of 150. policies: the six with the paper's b and t; without ajw if some job fits
    on no fixed machine, and rents several at a time.
    """

    def __init__(self, source: BurstyJobs | ListedJobs) -> None:
        self.source = source
        self.columns = Chunk(*(np.concatenate(column) for column in zip(*source.chunks(0))))
        submit_s, run_s, cores, memory_gb = self.columns
        require(
            len(run_s) > 1 and float(run_s.max()) > 0,
            "jobs of the workload",
            len(run_s),
            "at least 2, and not all of no running time",
        )
        self.policies = {name: waiting_policy(name, PATIENCE_S, SHORT_S) for name in POLICIES}
        largest = math.ceil(max(cores.max() / MACHINE.cores, memory_gb.max() / MACHINE.memory_gb))
        self.sizes = (*M5, *map(_several, range(2, largest + 1)))
        if largest > 1:
            del self.policies["ajw"]
            log.warning(
                "ajw is left out: some job fits on no %s, and under ajw every job waits for one",
                MACHINE.name,
            )
        rent = float(rent_per_h(cores, memory_gb, self.sizes) @ run_s)
        last_s = np.max(submit_s + run_s) if isinstance(source, ListedJobs) else submit_s[-1]
        self.load = rent / MACHINE.price_per_h / float(last_s - submit_s[0])
        self.machines, self.ample = tuple(range(2, 10)), 200 // SCALE
        if isinstance(source, ListedJobs):
            self.machines = tuple(
                sorted(
                    {
                        max(1, round(self.load * share))
                        for share in np.linspace(0.5, 2.4, 8).tolist()
                    }
                )
            )
            self.ample = math.floor(self.load * 200 / 150) + 1

    def scenario(self, policy: WaitingPolicy, machines: int, **more: Any) -> Scenario:
        """The jobs under a policy on a number of machines. more: as of a Scenario."""
        return Scenario(self.source, policy, (MACHINE,) * machines, sizes=self.sizes, **more)

    def points(self, line: str, policy: WaitingPolicy, **more: Any) -> list[Point]:
        """A mark for each number of machines; where no wait is limited, for those that
        can do the work.
        """
        fewest = self.load if policy.wait_s == math.inf else 0
        return [
            (line, number, self.scenario(policy, number, **more))
            for number in self.machines
            if number >= fewest
        ]

    def cheapest(self, runs: Runs) -> int | None:
        """The number of machines that minimises the compound policy's price in Figure 16; None
        while that is not known.
        """
        points = self.points("compound", self.policies["compound"])
        found = [runs(scenario) for *_, scenario in points]
        if any(figures is UNKNOWN for figures in found):
            return None
        return min(zip((figures["price"].mean for figures in found), self.machines))[1]


def _several(number: int) -> Size:
    """Several of the largest machines at a time."""
    return Size(
        f"{number} {MACHINE.name}",
        number * MACHINE.cores,
        number * MACHINE.memory_gb,
        number * MACHINE.price_per_h,
    )


GAPS_S = (0, 1, 15, 60, 180, 900, 3600, 6 * 3600, math.inf)
RUN_TIMES_S = (0, 180, 1800, 3600, 3 * 3600, 6 * 3600, 86_400, 7 * 86_400, math.inf)
SHOWN = 1500  # needs in the scatter, the most frequent ones
HOURS = ("normalized_price", "wait_h", "opportunity_cents")


def features(runs: Runs) -> list[Row]:
    """Figure 15: gaps and running times beside exponential ones, the share of short jobs, and
    what jobs need.
    """
    submit_s, run_s, cores, memory_gb = runs.workload.columns
    rows: list[Row] = [
        *_histogram("gaps", np.diff(submit_s), GAPS_S),
        *_histogram("running times", run_s, RUN_TIMES_S),
    ]
    for minutes in range(31):
        short = run_s < 60 * minutes
        work = 100 * float((run_s * cores)[short].sum() / (run_s * cores).sum())
        rows.append(
            {
                "panel": "short jobs",
                "short_min": minutes,
                "jobs_pct": 100 * short.mean().item(),
                "core_hours_pct": work,
            }
        )
    needs, counts = np.unique(np.column_stack([cores, memory_gb]), axis=0, return_counts=True)
    common = np.argsort(-counts, kind="stable")[:SHOWN]
    shares = (100 * counts[common] / len(cores)).tolist()
    return rows + [
        {"panel": "needs", "cores": int(number), "memory_gb": memory, "jobs_pct": share}
        for (number, memory), share in zip(needs[common].tolist(), shares)
    ]


def _histogram(panel: str, values: Floats, edges: Sequence[float]) -> list[Row]:
    counts = np.histogram(values, edges)[0]
    beyond = np.exp(-np.array(edges) / max(values.mean(), 1e-9))
    return [
        {
            "panel": panel,
            "from_s": low,
            "to_s": high,
            "jobs_pct": 100 * count / len(values),
            "exponential_pct": 100 * share,
        }
        for low, high, count, share in zip(
            edges, edges[1:], counts.tolist(), (-np.diff(beyond)).tolist()
        )
    ]


def workload_policies(order: str) -> Rows:
    """Figures 16 and 17: the policies over the number of machines."""

    def rows(runs: Runs) -> list[Row]:
        chosen = runs.workload.policies.values()
        points = [
            point
            for policy in chosen
            for point in runs.workload.points(policy.name, policy, order=order)
        ]
        return runs.rows(points, "machines", HOURS)

    return rows


def workload_thresholds(runs: Runs) -> list[Row]:
    """Figure 18: the compound policy by t, for several b, at the cheapest number of machines."""
    if (machines := runs.workload.cheapest(runs)) is None:
        return []
    points = [
        (
            f"b = {hours} h",
            minutes,
            runs.workload.scenario(
                waiting_policy("compound", 3600 * hours, 60 * minutes), machines
            ),
        )
        for hours in (6, 12, 24, 48)
        for minutes in (3, 6, 10, 15, 20, 30)
    ]
    return runs.rows(points, "short_min", HOURS)


def workload_errors(runs: Runs) -> list[Row]:
    """Figure 19: the compound policy by errors of predicted running times, for several of waits,
    over and under alike.
    """
    if (machines := runs.workload.cheapest(runs)) is None:
        return []
    compound, shares = runs.workload.policies["compound"], (0.0, 0.1, 0.2, 0.3, 0.4)
    points = [
        (
            f"{100 * wait:g} %",
            100 * run,
            runs.workload.scenario(compound, machines, errors=Mispredictions(wait, wait, run, run)),
        )
        for wait in shares
        for run in (*shares, 0.5)
    ]
    return runs.rows(points, "error_pct", HOURS)


def workload_wait_errors(kind: str, beside: str, metrics: Sequence[str]) -> Rows:
    """Figures 20 and 21: sww over the number of machines with mispredicted waits; over-predicted
    ones work-conserving.
    """

    def rows(runs: Runs) -> list[Row]:
        work, points = runs.workload, []
        for share in WAIT_OVER if kind == "over" else WAIT_UNDER:
            name, policy, errors = _mistaken(work.policies["sww"], kind, share)
            points += work.points(name, policy, errors=errors, work_conserving=errors.wait_over > 0)
        return runs.rows(
            [*points, *work.points(beside, work.policies[beside])], "machines", metrics
        )

    return rows


def workload_run_errors(runs: Runs) -> list[Row]:
    """Figure 22: ljw with mispredicted running times, on as ample machines as the paper's 200."""
    work = runs.workload
    points = _run_errors(
        lambda errors: work.scenario(work.policies["ljw"], work.ample, errors=errors)
    )
    return runs.rows(points, "error_pct", HOURS)
