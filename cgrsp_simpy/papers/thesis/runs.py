"""Runs behind the tables, each simulated once for all tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.policy import PolicyError
from cgrsp_simpy.base.table import grouped
from cgrsp_simpy.decide.month import THESIS_MIX, Month, MonthSubject
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.market.law import Status
from cgrsp_simpy.papers.thesis.experiments import MONTH, TABLES, Measure, Source, Table
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.replicate import Replications, Runs, label, replicate
from cgrsp_simpy.studies.store import Store, kept_json
from cgrsp_simpy.studies.subject import subject_of

LONG_QUEUE = 10  # in jobs


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
    days: list[dict[str, Any]] = field(repr=False)  # of the months, as in MonthRun
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
        {"policy": label(policy), "replication": seed, **row}
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
    each = (
        n * (subject_of(scenario).work if isinstance(scenario, Scenario) else month)
        for (scenario, _), n in _most(measures).items()
    )
    return round(summed(each))


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
