"""Months of days drawn from a mix of day types (thesis Section 5.6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Annotated, Any, ClassVar, NamedTuple

from cgrsp_simpy.base.checks import (
    InputError,
    check_one_of,
    require,
    shown,
)
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.parameters import Count, Fraction, declared, parameter, rule
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.base.table import HasRows, many, visible
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.record import Totals, figures
from cgrsp_simpy.rental.report import RentalReport
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.isolation import run_isolated
from cgrsp_simpy.studies.replicate import simulate_for_study
from cgrsp_simpy.studies.study import Row
from cgrsp_simpy.studies.subject import Parameter, Subject, subject_of

# inferred: the thesis does not print it
THESIS_MIX = {"quiet": 0.20, "normal": 0.55, "hectic": 0.15, "surge": 0.10}
Mix = Annotated[
    Mapping[str, Fraction],
    rule("a mapping from day types to probabilities, not empty", bool),
    rule(
        "shares that sum to 1",
        lambda mix: abs(math.fsum(mix.values()) - 1) < 1e-9,
        lambda mix: f"{math.fsum(mix.values()):g}",
    ),
]


class Day(NamedTuple):
    """Day of a month: its number, from 1, its type, and the seed of its run."""

    number: int
    kind: str
    seed: int


def days_of(mix: Mapping[str, float], days: int, seed: int) -> list[Day]:
    """Draw the days of a month, each with a type from the mix and a seed."""
    rng = stream(seed, "days")
    kinds = rng.choice(list(mix), size=days, p=list(mix.values()))
    seeds = rng.integers(2**48, size=days)
    return [
        Day(number, str(kind), int(day_seed))
        for number, (kind, day_seed) in enumerate(zip(kinds, seeds), start=1)
    ]


@dataclass(frozen=True, repr=False)
class MonthRun(HasRows):
    """One month under a policy, as sums per day.

    scenario, seed: the month's. policy: name of the policy. rule: the policy itself.
    days: pairs of a day and the totals of its run.
    """

    scenario: Month
    policy: str
    rule: Any
    seed: int
    days: Sequence[tuple[Day, Totals]]

    def __repr__(self) -> str:
        return visible(f"<{self.scenario.name}, {self.policy}, seed {self.seed}>")

    def summary(self) -> dict[str, Any]:
        """Return means over the jobs of the month, and total costs."""
        scenarios = self.scenario.scenarios
        capacity_s = summed(
            len(scenarios[month_day.kind].slots) * totals.end_s
            for month_day, totals in self.days
        )
        return figures(
            reduce(add, (totals for _, totals in self.days)),
            sum(scenarios[month_day.kind].workload.jobs for month_day, _ in self.days),
            capacity_s,
        )

    def rows(self) -> list[Row]:
        """Return one dict per day: its number, kind, seed and metrics."""
        return [
            {
                "day": month_day.number,
                "kind": month_day.kind,
                "seed": month_day.seed,
                **subject_of(self.scenario.scenarios[month_day.kind]).figures(
                    [*vars(totals).values()]
                ),
            }
            for month_day, totals in self.days
        ]

    def day(self, number: int) -> Run:
        """Simulate a day again, bit for bit, with job records. number: from 1 on."""
        require(
            number in range(1, len(self.days) + 1),
            "day",
            number,
            f"1 to {len(self.days)}",
        )
        drawn = self.days[number - 1][0]
        scenario = self.scenario.scenarios[drawn.kind]
        return simulate_for_study(scenario, self.rule, drawn.seed)

    def by(self, column: str) -> list[Row]:
        """Raise InputError: days have no log."""
        subject_of(self.scenario).report.check_column(column)
        return []


class MonthSubject(Subject):
    """Runs of months; each day is a separate run with a new policy object."""

    has_timeline = False

    @property
    def common(self) -> str:  # type: ignore[override]
        """The name "record" if a market is replayed: all months share one record."""
        replayed = any(subject_of(scenario).common for scenario in self._days)
        return "record" if replayed else ""

    def in_common(self, seed: int) -> int:
        return 0 if self.common else seed

    @property
    def _days(self) -> list[Scenario]:
        return list(self.model.scenarios.values())

    @property
    def work(self) -> int:
        mix, scenarios = self.model.mix, self.model.scenarios
        mean = summed(
            share * subject_of(scenarios[kind]).work for kind, share in mix.items()
        )
        return math.ceil(mean * int(self.model.days))

    def draw(self, seed: int) -> None:
        """Draw nothing: the days draw their own jobs."""

    def make_policy(self, policy: Any) -> Any:
        return subject_of(self._days[0]).make_policy(policy)

    def not_compiled(self, policy: Any) -> str:
        reasons = (subject_of(scenario).not_compiled(policy) for scenario in self._days)
        return next(filter(None, reasons), "")

    def simulation(self, policy: Any, seed: int, **how: Any) -> Any:
        """Raise InputError: a month consists of several simulations."""
        raise InputError(
            f"{self.model.name} is not a single simulation; run one of its days,"
            " such as cgrsp run hectic"
        )

    def run(  # type: ignore[override]
        self,
        policy: Any,
        seed: int = 0,
        *,
        drawn: None = None,
        records: bool = True,
        listener: Any = None,
        engine: str = "simpy",
    ) -> MonthRun:
        """Run a month; records has no effect, as `MonthRun.day` repeats a day."""
        if listener is not None:
            self.simulation(policy, seed)
        days = []
        for month_day in days_of(self.model.mix, self.model.days, seed):
            scenario = self.model.scenarios[month_day.kind]
            try:
                run = run_isolated(
                    scenario, policy, month_day.seed, records=False, engine=engine
                )
            except Exception as error:
                place = (
                    f"day {month_day.number} ({month_day.kind}, seed {month_day.seed})"
                )
                error.args = (f"{place}: {error}",)
                raise
            days.append((month_day, Totals(*subject_of(scenario).outcome(run))))
        return MonthRun(self.model, policy_name(policy), policy, seed, days)

    def outcome(self, run: MonthRun) -> list[list[Any]]:
        """Return the number, type, seed and totals of each day."""
        return [
            [*month_day, [*vars(totals).values()]] for month_day, totals in run.days
        ]

    def figures(self, outcome: Sequence[Sequence[Any]]) -> dict[str, Any]:
        return self.run_of("", 0, outcome).summary()

    def run_of(
        self, policy: str, seed: int, outcome: Sequence[Sequence[Any]]
    ) -> MonthRun:
        """Return the run that has a given outcome, as returned by `outcome`."""
        days = [(Day(*drawn), Totals(*sums)) for *drawn, sums in outcome]
        return MonthRun(self.model, policy, policy, seed, days)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The number of days, the shares of the mix, and the parameters of each day."""
        month = {
            name: item for name, item in super().parameters.items() if name == "days"
        }
        shares = {
            f"mix.{kind}": Parameter(
                f"mix.{kind}", share, Share, f"Share of {kind} days."
            )
            for kind, share in self.model.mix.items()
        }
        day_parameters = subject_of(self._days[0]).parameters
        rest = {name: item for name, item in day_parameters.items() if name != "name"}
        return month | shares | rest

    def varied(self, **parameters: Any) -> Month:
        """Return the month with other days, shares ("mix.quiet"), or parameters of all
        day types, such as slots.
        """
        full = self.full_names(parameters)
        mix, days, other = dict(self.model.mix), self.model.days, dict[str, Any]()
        for name, value in parameters.items():
            if full[name].startswith("mix."):
                mix[full[name].removeprefix("mix.")] = value
            elif full[name] == "days":
                days = value
            else:
                other[name] = value
        scenarios = {
            kind: subject_of(scenario).varied(**other) if other else scenario
            for kind, scenario in self.model.scenarios.items()
        }
        month: Month = self.model
        return replace(month, mix=mix, days=days, scenarios=scenarios)


class Share:
    """The type of a share of the mix."""

    share: Fraction


class MonthReport(RentalReport):
    """Metrics of a month, aggregated over its days."""

    def __init__(self, model: Any) -> None:
        super().__init__(next(iter(model.scenarios.values())))

    def check_column(self, column: str, names: Iterable[str] | None = None) -> None:
        """Raise InputError: days have no log."""
        raise InputError(
            f"column {shown(column)}: results of a month cannot be grouped by a column"
            " of a log"
        )


@declared()
class Month(Model):
    """Days drawn from a mix of day types; each starts at time 0 without jobs.

    References
    ----------
    Thesis Section 5.6.
    """

    scenarios: Mapping[str, Scenario] = parameter(
        "Mapping from day type to its scenario.", hash=False
    )
    mix: Mix = parameter("Mapping from day type to its share of the days.", hash=False)
    days: Count = parameter("Number of days.", default=30)

    policies: ClassVar = Scenario.policies
    compared: ClassVar = Scenario.compared
    report = MonthReport
    subject = MonthSubject

    def __post_init__(self) -> None:
        for kind in self.mix:
            check_one_of("day type of the mix", kind, self.scenarios)

    @property
    def name(self) -> str:
        """The number of days and the mix."""
        shares = ", ".join(f"{kind} {share:g}" for kind, share in self.mix.items())
        return f"{many(self.days, 'day')} of {shares}"

    @property
    def jobs(self) -> int:
        """Mean number of jobs of a month."""
        return MonthSubject(self).work

    def resources(self) -> tuple[()]:
        """Return no resources: each day has its own."""
        return ()


def month(
    mix: Mapping[str, float] = THESIS_MIX,
    days: int = 30,
    scenario: Callable[..., Scenario] = day,
    **more: Any,
) -> Month:
    """Return months of days drawn from a mix of day types, as a scenario.

        cg.compare(cg.month(slots=6), ["fifo", "rh"], seeds=range(10))

    Parameters
    ----------
    mix : mapping
        Name of a day type -> its share of the days; by default as in the thesis.
    days : int
        Number of days.
    scenario : callable
        Function from the name of a day type to its scenario.
    **more
        Further arguments of `scenario`, the same for every day type.

    Returns
    -------
    Month
        Each seed draws the types of the days and the events of each day.

    Raises
    ------
    InputError
        If shares do not sum to 1, or an argument is invalid.

    References
    ----------
    Thesis Section 5.6.
    """
    require(
        callable(scenario), "scenario", scenario, "a function of the name of a day type"
    )
    require(isinstance(mix, Mapping), "mix", mix, "a mapping of day types to shares")
    scenarios = {kind: scenario(kind, **more) for kind in mix}
    for day_scenario in scenarios.values():
        require(
            isinstance(day_scenario, Scenario), "scenario", day_scenario, "a Scenario"
        )
    return Month(scenarios, mix, days)
