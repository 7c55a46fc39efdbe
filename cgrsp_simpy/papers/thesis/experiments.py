"""Experiments of the thesis: runs and statistic behind each cell, and the runs made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.policy import PolicyError
from cgrsp_simpy.base.table import grouped
from cgrsp_simpy.decide.month import THESIS_MIX, Month, MonthSubject
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.market.model import Status
from cgrsp_simpy.papers.thesis.published import PRINTED
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.replicate import Replications, Runs, replicate
from cgrsp_simpy.studies.store import Store, kept_json
from cgrsp_simpy.studies.subject import subject_of

# function of arrays of figures, reduced over the seeds, their last axis
Statistic = Callable[..., np.ndarray]

# The thesis's names -> ours.
NAMES = {
    "RH": "rh",
    "CADR": "cadr",
    "SPT+Rescue": "spt-rescue",
    "Adaptive": "adaptive",
    "SPT": "spt",
    "EDF": "edf",
    "LCF": "lcf",
    "Balanced": "balanced",
    "FIFO": "fifo",
    "Random": "random",
    "CADR-order-only": "cadr-oo",
}
PRINTED_AS = {policy: name for name, policy in NAMES.items()}  # and back
# The thesis's columns -> metrics of a run.
COLUMNS = {
    "wait, min": "wait_min",
    "miss, %": "miss_pct",
    "tight miss, %": "tight_miss_pct",
    "loose miss, %": "loose_miss_pct",
    "hectic miss, %": "miss_pct",
    "tardiness, min": "tardiness_min",
    "cost, USD": "cost_usd",
    "completed": "completed",
    "d of wait": "wait_min",
    "d of miss": "miss_pct",
}
HECTIC = day("hectic")  # the thesis's hectic day
# instead of a scenario: 30 days of the thesis's mix; with a kind of day, these alone
MONTH = "month"
MONTHLY = tuple(PRINTED["5.13"].rows)  # policies of the month
SINGLE_SEED = 42  # seed of Table 5.1
SPREAD_SEEDS = 200  # seeds for the distribution that contains Table 5.1's seed


class Source(NamedTuple):
    """Source of values per seed: a metric of a policy on a scenario, or over months."""

    scenario: Scenario | str
    policy: str
    figure: str


class Measure(NamedTuple):
    """Statistic of values per seed that gives a cell's figure."""

    statistic: Statistic
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Cell:
    """Printed figure and its measure.

    part: which of two figures in one printed cell. printed: printed text, with the
    interval if there is one. again: whether another table prints the same figure of the
    same runs, so that it is not counted twice.
    """

    row: str
    column: str
    part: str
    printed: str
    measure: Measure
    again: bool = False

    @property
    def figure(self) -> str:
        """The printed figure without its interval."""
        return self.printed.split()[0]


@dataclass(frozen=True)
class Table:
    """Table of the thesis. n: replications per cell. cells: by row, then column."""

    id: str
    n: int
    cells: tuple[Cell, ...]

    def seeds(self, wanted: int | None) -> int:
        """Return the replications to run: the wanted or the printed number."""
        return max(wanted or 0, SPREAD_SEEDS) if self.n == 1 else wanted or self.n


# ---- Measures ----


def measure_of(
    statistic: Statistic, scenario: Scenario | str, figure: str, *policies: str
) -> Measure:
    """Return a statistic of one metric of policies on a scenario."""
    return Measure(
        statistic, tuple(Source(scenario, policy, figure) for policy in policies)
    )


def mean_of(scenario: Scenario | str, policy: str, figure: str) -> Measure:
    """Return the mean of a metric."""
    return measure_of(average, scenario, figure, policy)


def average(values: np.ndarray) -> np.ndarray:
    """Return the mean over seeds."""
    return np.asarray(values.mean(axis=-1))


@dataclass(frozen=True)
class Excess:
    """Mean over seeds of one metric minus `factor` times another, per seed."""

    factor: float = 1.0

    def __call__(self, values: np.ndarray, others: np.ndarray) -> np.ndarray:
        return average(self.by_seed(values, others))

    def by_seed(self, values: np.ndarray, others: np.ndarray) -> np.ndarray:
        return values - self.factor * others


@dataclass(frozen=True)
class OfMeans:
    """Function of an array of the means over seeds, with figures on its first axis."""

    function: Callable[[np.ndarray], np.ndarray]

    def __call__(self, *figures: np.ndarray) -> np.ndarray:
        return np.asarray(
            self.function(np.stack([average(values) for values in figures]))
        )


def pooled_d(values: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Cohen's d with pooled deviation, equal sample sizes (thesis Section 5.1.3)."""
    pooled = np.sqrt((values.var(axis=-1, ddof=1) + reference.var(axis=-1, ddof=1)) / 2)
    return _ratio(average(values) - average(reference), pooled)


def paired_t(n: int) -> Statistic:
    """Return the t statistic of n paired differences, proportional to the root of n."""

    def statistic(values: np.ndarray, reference: np.ndarray) -> np.ndarray:
        differences = values - reference
        return np.asarray(
            np.sqrt(n) * _ratio(average(differences), differences.std(axis=-1, ddof=1))
        )

    return statistic


# the six policies of Tables 5.11 and 5.12
SCORED = ("fifo", "spt", "edf", "spt-rescue", "rh", "cadr")


def composite(policy: int, cost_weight: float, ratio: float) -> Statistic:
    """Return the normalised objective of a scored policy (thesis Section 5.5.7).

    As in the printed figures it uses wait in minutes, miss in percent (Table 5.12:
    tardiness in minutes) and cost. Eq. 3.10 has seconds and numbers of misses, which do
    not reproduce its Table 5.11.
    """

    def function(means: np.ndarray) -> np.ndarray:
        wait, late, cost = (means[place::3] for place in range(3))
        return np.asarray(composites(wait, late, cost, cost_weight, ratio)[policy])

    return OfMeans(function)


def composites(
    wait: np.ndarray,
    late: np.ndarray,
    cost: np.ndarray,
    cost_weight: float,
    ratio: float,
) -> np.ndarray:
    """Return w_cost x minmax(cost) + (1 - w_cost) x minmax(wait + ratio x late).

    Policies are on the first axis.
    """
    return cost_weight * _minmax(cost) + (1 - cost_weight) * _minmax(
        wait + ratio * late
    )


def _minmax(values: np.ndarray) -> np.ndarray:
    return _ratio(values - values.min(axis=0), np.ptp(values, axis=0))


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Divide; NaN or infinity if the values do not differ."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(above / below)


# ---- Tables: from row and column to measures ----

Rule = Callable[[str, str], list[Measure]]


def _by_policy(scenario: Scenario | str) -> Rule:
    return lambda row, column: [mean_of(scenario, NAMES[row], COLUMNS[column])]


def _ablation(row: str, column: str) -> list[Measure]:
    if not column.startswith("d of"):
        return _by_policy(HECTIC)(row, column)
    reference = "spt" if row == "SPT+Rescue" else "fifo"  # as in the caption
    return [measure_of(pooled_d, HECTIC, COLUMNS[column], NAMES[row], reference)]


def _wait_and_miss(scenario_of: Callable[[str], Scenario]) -> Rule:
    return lambda row, column: [
        mean_of(scenario_of(row), NAMES[column], figure)
        for figure in ("wait_min", "miss_pct")
    ]


def _swept(
    policy: str, parameter: str, default: float, row: str, column: str
) -> list[Measure]:
    """Return the measure of a policy with the number in the row as its parameter."""
    value = number_in(row)
    text = policy if value == default else f"{policy}:{parameter}={value:g}"
    # only rows of reservations begin with the name of a day
    name, comma, _ = row.partition(",")
    return [mean_of(day(name) if comma else HECTIC, text, COLUMNS[column])]


def _extreme(row: str, column: str) -> list[Measure]:
    least = partial(np.min if column.startswith("least") else np.max, axis=0)
    policies = (NAMES[name] for name in MONTHLY)
    return [measure_of(OfMeans(least), f"{MONTH} {row}", "wait_min", *policies)]


def _tests(row: str, column: str) -> list[Measure]:
    pair, figure = row.split(", ")
    statistic = pooled_d if column == "d" else paired_t(PRINTED["5.3"].n)
    policies = (NAMES[name] for name in pair.split(" vs "))
    return [measure_of(statistic, HECTIC, COLUMNS[f"d of {figure}"], *policies)]


def _composite(late: str, row: str, column: str) -> list[Measure]:
    cost_weight, ratio = weights_in(row)
    sources = tuple(
        Source(HECTIC, policy, figure)
        for policy in SCORED
        for figure in ("wait_min", late, "cost_usd")
    )
    return [
        Measure(composite(SCORED.index(NAMES[column]), cost_weight, ratio), sources)
    ]


def weights_in(row: str) -> tuple[float, float]:
    """Return w_cost and the ratio of lateness to wait of a row of Tables 5.11, 5.12."""
    return (number_in(row), 10.0) if row.startswith("w_cost") else (0.5, number_in(row))


def number_in(row: str) -> float:
    """Return the number in a row's name."""
    match = re.search(r"[\d.]+", row)
    assert match is not None, row
    return float(match[0])


RULES: dict[str, Rule] = {
    "5.1": _by_policy(HECTIC),
    "5.2": _by_policy(HECTIC),
    "5.3": _tests,
    "5.4": _ablation,
    "5.5": _wait_and_miss(day),
    "5.6": lambda row, column: [
        mean_of(
            day("surge", tight_fraction=number_in(row) / 100), NAMES[column], "miss_pct"
        )
    ],
    "5.7": _wait_and_miss(lambda row: day("hectic", slots=int(number_in(row)))),
    "5.8": partial(_swept, "spt-rescue", "threshold_s", 600),
    "5.9": partial(_swept, "cadr", "critical_ratio", 3),
    "5.10": partial(_swept, "rh", "reserve", 1),
    "5.11": partial(_composite, "miss_pct"),
    "5.12": partial(_composite, "tardiness_min"),
    "5.13": _by_policy(MONTH),
    "Section 5.5.6": partial(_swept, "rh", "reserve", 1),
    "Section 5.6": _by_policy(f"{MONTH} hectic"),
    "Figure 5.7": _extreme,
}

# Rows whose means are in an earlier table already, from the same runs; the hectic day
# of 5.10 has the same ones four times. (Three rows that are printed twice, but to
# different decimals, count twice: 5.7 and 5.8, 5.7 and 5.9, 5.5 and 5.10.)
AGAIN = {
    "5.4": tuple(name for name in NAMES if name != "CADR-order-only"),
    "5.5": ("hectic",),
    "5.10": ("hectic, 1 reserved", "hectic, 2 reserved", "hectic, 3 reserved"),
}
# tables of means over seeds
COUNTED = ("5.2", "5.4", "5.5", "5.6", "5.7", "5.8", "5.9", "5.10", "5.13")
# judged in other ways
NO_MEASURE = {("5.1", "utilisation, %"), ("5.3", "p"), ("5.3", "significant")}


def _cells(id: str) -> Iterator[Cell]:
    printed = PRINTED[id]
    for row, texts in printed.rows.items():
        for column, text in zip(printed.columns, texts):
            if not text or (id, column) in NO_MEASURE:
                continue
            numbers = text.split("/") if column != "completed" else [text.split("/")[0]]
            parts = ("wait, min", "miss, %") if len(numbers) == 2 else ("",)
            for part, number, measure in zip(parts, numbers, RULES[id](row, column)):
                yield Cell(row, column, part, number, measure, row in AGAIN.get(id, ()))


TABLES = {
    id: Table(id, printed.n, tuple(_cells(id))) for id, printed in PRINTED.items()
}
"""The thesis's tables by number, with the run behind each cell."""


def of_policies(table: Table, policies: Mapping[str, Any]) -> Table:
    """Return the table with other policies, by name.

    A policy that is not printed has the cells of the first printed one, without
    figures. Raises InputError for a table without a choice of policies.
    """
    by: dict[str, list[Cell]] = {}
    for cell in table.cells:
        for name in {cell.row, cell.column} & NAMES.keys():
            by.setdefault(NAMES[name], []).append(cell)
    require(
        bool(by),
        "policies",
        ",".join(policies),
        f"left out: Table {table.id} has no choice of them",
    )
    (first, cells), *_ = by.items()
    selected = [
        printed_cell
        for name, policy in policies.items()
        for printed_cell in by.get(name) or _of(cells, first, name, policy)
    ]
    return replace(table, cells=tuple(selected))


def _of(cells: Sequence[Cell], first: str, name: str, policy: Any) -> Iterator[Cell]:
    named = {PRINTED_AS[first]: name}
    for cell in cells:
        sources = tuple(
            source._replace(policy=policy) if source.policy == first else source
            for source in cell.measure.sources
        )
        yield replace(
            cell,
            row=named.get(cell.row, cell.row),
            column=named.get(cell.column, cell.column),
            printed="nan",
            measure=cell.measure._replace(sources=sources),
        )


# ---- runs behind the tables, each simulated once ----

LONG_QUEUE = 10  # jobs


def low_stock_pct(run: Run) -> float:
    """Return the share of dispatches with Low stock."""
    return 100 * float(np.mean(run.jobs["status"] == Status.LOW))


def queue_pct(run: Run) -> float:
    """Return the share of dispatches with over ten jobs in the queue, incl. itself."""
    jobs = run.jobs
    arrived = np.searchsorted(np.sort(jobs["submit_s"]), jobs["dispatch_s"], "right")
    gone = np.searchsorted(np.sort(jobs["dispatch_s"]), jobs["dispatch_s"], "left")
    return 100 * float(np.mean(arrived - gone > LONG_QUEUE))


def thesis_market(scenario: Scenario) -> Scenario:
    """Return the scenario unchanged."""
    return scenario


@dataclass(frozen=True)
class Results:
    """Figures per seed, for the simulated tables.

    replications: number for every table; None: as printed. market: function that
    changes each scenario's market. policies: policies by name; None: those of the
    thesis. tables: tables with these policies. other: deviations from the thesis.
    """

    replications: int | None
    days: list[dict[str, Any]] = field(repr=False)  # days of the months, as in MonthRun
    _runs: Runs = field(repr=False)
    _month: Month = field(repr=False)
    market: Callable[[Scenario], Scenario] = thesis_market
    policies: Mapping[str, Any] | None = None
    tables: Mapping[str, Table] = field(default_factory=lambda: TABLES, repr=False)
    other: str = ""

    def values(self, source: Source, n: int) -> np.ndarray:
        """Return values of the seeds 0 to n - 1."""
        if isinstance(source.scenario, str):
            kind = source.scenario.removeprefix(MONTH).strip()
            if kind:
                return self._of_days(kind, source, n)
            model: Any = self._month
        else:
            model = self.market(source.scenario)
        rows = [self._runs.figures(model, source.policy, seed) for seed in range(n)]
        failed = next((row["error"] for row in rows if "error" in row), None)
        if failed:
            raise PolicyError(f"{source.policy}: {failed}")
        return np.array([row[source.figure] for row in rows])

    def _of_days(self, kind: str, source: Source, n: int) -> np.ndarray:
        """Return means over the days of a kind, for the months that have such days."""
        months = grouped(
            (
                row
                for row in self.days
                if (row["kind"], row["policy"]) == (kind, source.policy)
                and row["replication"] < n
            ),
            lambda row: int(row["replication"]),
        )
        return np.array(
            [np.mean([row[source.figure] for row in days]) for days in months.values()]
        )

    def sample(self, measure: Measure, n: int) -> list[np.ndarray]:
        """Return values per seed of each source of a measure."""
        return [self.values(source, n) for source in measure.sources]


def reproduce(
    measures: Sequence[tuple[Measure, int]],
    replications: int | None = None,
    executor: Executor | int | None = None,
    store: Store | None = None,
    market: Callable[[Scenario], Scenario] = thesis_market,
) -> Results:
    """Simulate the runs behind measures, each on a number of seeds, every run once.

    market: function that changes the market of each scenario and day of a month.
    """
    most = _most(measures)
    wanted = [
        Replications(market(scenario), [policy], range(n))
        for (scenario, policy), n in most.items()
        if isinstance(scenario, Scenario)
    ]
    monthly = {policy: n for (scenario, policy), n in most.items() if scenario == MONTH}
    month = Month({kind: market(day(kind)) for kind in THESIS_MIX}, THESIS_MIX)
    wanted += [Replications(month, [policy], range(n)) for policy, n in monthly.items()]
    runs = replicate(wanted, executor, store)
    days = [
        {"policy": policy_name(policy), "replication": seed, **row}
        for policy, n in monthly.items()
        for seed in range(n)
        for row in _days_of(month, policy, seed, runs)
    ]
    return Results(replications, days, runs, month, market)


def _days_of(month: Month, policy: str, seed: int, runs: Runs) -> list[dict[str, Any]]:
    """Return one row per day of a month, none if the run failed."""
    outcome = runs.outcome(month, policy, seed)
    if isinstance(outcome, str):
        return []
    return MonthSubject(month).run_of(policy, seed, outcome).rows()


def _most(
    measures: Sequence[tuple[Measure, int]],
) -> dict[tuple[Scenario | str, str], int]:
    most: dict[tuple[Scenario | str, str], int] = {}
    for measure, n in measures:
        for scenario, policy, _ in measure.sources:
            model = MONTH if isinstance(scenario, str) else scenario
            most[model, policy] = max(n, most.get((model, policy), 0))
    return most


def work_of(measures: Sequence[tuple[Measure, int]]) -> int:
    """Return the number of jobs to simulate; a month counts as 30 average days."""
    month = 30 * summed(
        share * subject_of(day(kind)).work for kind, share in THESIS_MIX.items()
    )
    job_counts = (
        n * (subject_of(scenario).work if isinstance(scenario, Scenario) else month)
        for (scenario, _), n in _most(measures).items()
    )
    return round(summed(job_counts))


def known_directory(
    path: str | Path, ids: Sequence[str]
) -> tuple[list[str], int | None]:
    """Return the tables and replications of a results directory of the thesis.

    Raises InputError for any other directory.
    """
    try:
        configuration = kept_json(Path(path) / "configuration.json")
        tables, replications = configuration["tables"], configuration["replications"]
        if not isinstance(tables, list) or type(replications) not in (int, type(None)):
            raise TypeError("of another form")
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        raise InputError(
            f"{path} is not a results directory of cgrsp papers tables thesis"
        ) from None
    missing = [id for id in ids if id not in tables]
    if missing:
        raise InputError(
            f"{path} lacks the runs of Table {missing[0]}; create it with cgrsp"
            " papers tables thesis --out DIR"
        )
    return tables, replications
