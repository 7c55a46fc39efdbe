"""Months: separate runs of days drawn from a mix of day types (thesis Section 5.6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from cgrsp_simpy.base.checks import (
    check_one_of,
    require,
)
from cgrsp_simpy.base.parameters import Count, Fraction, Whole, checked, rule
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.base.table import csv_text, grouped
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.record import Totals, figures
from cgrsp_simpy.rental.report import RentalReport
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.view import Policy
from cgrsp_simpy.studies.replicate import (
    Replications,
    Runs,
    check_policies,
    check_seeds,
    replicate,
    simulate_for_study,
)
from cgrsp_simpy.studies.store import Store, open_store
from cgrsp_simpy.studies.study import Row, Study
from cgrsp_simpy.studies.subject import subject_of

# inferred: the thesis does not print it
THESIS_MIX = {"quiet": 0.20, "normal": 0.55, "hectic": 0.15, "surge": 0.10}


class Day(NamedTuple):
    """Day of a month.

    replication: the month's seed. number: from 1. kind: a name of the mix. seed: of the
    day's run.
    """

    replication: int
    number: int
    kind: str
    seed: int


def days_of(mix: Mapping[str, float], days: int, replication: int) -> list[Day]:
    """Draw the days of one month, each with a kind from the mix and a seed."""
    rng = stream(replication, "days")
    kinds = rng.choice(list(mix), size=days, p=list(mix.values()))
    seeds = rng.integers(2**48, size=days)
    return [
        Day(replication, number, str(kind), int(seed))
        for number, (kind, seed) in enumerate(zip(kinds, seeds), start=1)
    ]


Mix = Annotated[
    Mapping[str, Fraction],
    rule("a mapping from day types to probabilities, not empty", bool),
    rule(
        "shares that sum to 1",
        lambda mix: abs(math.fsum(mix.values()) - 1) < 1e-9,
        lambda mix: f"{math.fsum(mix.values()):g}",
    ),
]


@checked
def month(
    mix: Mix = THESIS_MIX,
    policies: Sequence[str | Policy] = ("fifo", "spt", "edf", "rh", "cadr"),
    days: Count = 30,
    replications: Count = 10,
    first_seed: Whole = 0,
    scenario: Callable[[str], Scenario] = day,
    executor: Executor | int | None = None,
    *,
    out: str | Path | None = None,
) -> Month:
    """Simulate months of days drawn from a mix of day types; every day starts empty at
    0 s.

    mix: name of a day type -> probability. policies, executor, out: as in `compare`.
    days: per month, >= 1. replications: number of months, >= 1, with the seeds
    first_seed, first_seed + 1, ... first_seed: at least 0. scenario: returns the
    scenario of a day type, by name. Raises WorkerError if the executor dies. Source:
    thesis Section 5.6.
    """
    named = check_policies(policies, day("quiet"))
    require(
        callable(scenario), "scenario", scenario, "a function of the name of a day type"
    )
    seeds = check_seeds(range(first_seed, first_seed + replications))
    scenarios = {kind: scenario(kind) for kind in mix}
    for item in scenarios.values():
        require(isinstance(item, Scenario), "scenario", item, "a Scenario")
    calendar = [drawn for seed in seeds for drawn in days_of(mix, days, seed)]
    store = open_store(
        out, "month", named, seeds, mix=dict(mix), days=days, scenarios=scenarios
    )
    runs = replicate(
        wanted_days(calendar, scenarios, list(named.values())), executor, store
    )
    rows = month_rows(calendar, scenarios, named, runs)
    study = Month(
        scenarios, named, rows, day_rows(calendar, scenarios, named, runs), dict(mix)
    )
    study.keep(store)
    return study


def wanted_days(
    calendar: Sequence[Day],
    scenarios: Mapping[str, Scenario],
    policies: Sequence[str | Policy],
) -> list[Replications]:
    """Return the runs needed for a calendar."""
    return [
        Replications(scenarios[drawn.kind], policies, [drawn.seed])
        for drawn in calendar
    ]


def month_rows(
    calendar: Sequence[Day],
    scenarios: Mapping[str, Scenario],
    named: Mapping[str, str | Policy],
    runs: Runs,
) -> list[Row]:
    """Return one row per policy and replication: figures over jobs, summed costs."""
    months = grouped(calendar, lambda day: day.replication)
    return [
        {
            "policy": name,
            "seed": replication,
            **_month_figures(days, scenarios, policy, runs),
        }
        for name, policy in named.items()
        for replication, days in months.items()
    ]


def _month_figures(
    days: Sequence[Day],
    scenarios: Mapping[str, Scenario],
    policy: str | Policy,
    runs: Runs,
) -> dict[str, Any]:
    sums, capacity_s = [], 0.0
    for each in days:
        outcome = runs.outcome(scenarios[each.kind], policy, each.seed)
        if isinstance(outcome, str):
            return {
                "error": f"day {each.number} ({each.kind}, seed {each.seed}): {outcome}"
            }
        sums.append(Totals(*outcome))
        capacity_s += len(scenarios[each.kind].slots) * sums[-1].end_s
    jobs = sum(scenarios[each.kind].workload.jobs for each in days)
    return figures(reduce(add, sums), jobs, capacity_s)


def day_rows(
    calendar: Sequence[Day],
    scenarios: Mapping[str, Scenario],
    named: Mapping[str, str | Policy],
    runs: Runs,
) -> list[Row]:
    """Return one row per policy and day, with the figures of its run."""
    return [
        {
            "policy": name,
            "replication": drawn.replication,
            "day": drawn.number,
            "kind": drawn.kind,
            "seed": drawn.seed,
            **runs.figures(scenarios[drawn.kind], policy, drawn.seed),
        }
        for name, policy in named.items()
        for drawn in calendar
    ]


@dataclass(frozen=True, repr=False)
class Month(Study):
    """Figures of several policies over the same months.

    Its rows are dicts, one per policy and replication (key seed): means over the jobs
    of the month, costs summed. days: one dict per policy and day, with replication,
    day, kind, seed and the figures of `Run.summary`. mix: name of a day type ->
    probability.
    """

    _scenarios: dict[str, Scenario]
    _named: dict[str, str | Policy]
    _rows: list[Row]
    days: list[Row]
    mix: dict[str, float]
    _report = RentalReport

    @property
    def title(self) -> str:
        """Length of the month and its mix."""
        number = max(row["day"] for row in self.days)
        return f"{number} days of " + ", ".join(
            f"{kind} {share:g}" for kind, share in self.mix.items()
        )

    @property
    def common(self) -> str:
        """The record, where a market is replayed: every month takes its days from the
        same one.
        """
        return (
            "record"
            if any(subject_of(each).common for each in self._scenarios.values())
            else ""
        )

    @property
    def clusters(self) -> list[int]:
        """The seeds, or one value for all if a market is replayed."""
        return [0] * len(self.seeds) if self.common else self.seeds

    def run(self, policy: str, replication: int, day: int) -> Run:
        """Simulate one day again, with its per-job records; equal to the bit.

        policy: its name in the table. replication: the month's seed. day: of the month,
        as in `days`. Raises InputError for a policy or day that is not in this study.
        """
        check_one_of("policy", policy, self._named)
        key = {"policy": policy, "replication": replication, "day": day}
        row = next((row for row in self.days if key.items() <= row.items()), None)
        require(
            row is not None,
            "day",
            (replication, day),
            "a replication and day of this study",
        )
        assert row is not None
        scenario = self._scenarios[row["kind"]]
        return simulate_for_study(scenario, self._named[policy], row["seed"])

    def keep(self, store: Store | None) -> None:
        super().keep(store)
        if store:
            store.write("days.csv", csv_text(self.days))
