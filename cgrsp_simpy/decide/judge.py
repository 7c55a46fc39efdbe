"""Judging policies on scenarios: what each costs beyond the best of the others, and
where most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from cgrsp_simpy.analysis.statistics import Mean, cluster_means, mean, paired_difference
from cgrsp_simpy.base.checks import check_one_of, entries_of, require
from cgrsp_simpy.base.parameters import Whole, checked
from cgrsp_simpy.base.table import Table, figure_text, grouped
from cgrsp_simpy.decide.recommend import COST, Prices, given_or_usual
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.rental.record import Totals
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.replicate import (
    Replications,
    check_policies,
    check_seeds,
    checked_model,
    replicate,
)
from cgrsp_simpy.studies.store import open_store
from cgrsp_simpy.studies.study import Results, Row, counted, interval, many, plain_mean
from cgrsp_simpy.studies.subject import subject_of

POINTS = 1.0  # per cent of deadlines missed: from more on a policy is behind another


def judge(
    scenarios: Iterable[Model],
    policies: Sequence[Any],
    seeds: Iterable[int] = range(4),
    executor: Executor | int | None = None,
    *,
    prices: Prices | None = None,
    title: str = "scenarios",
    out: str | Path | None = None,
) -> Judgement:
    """Run policies on scenarios, all on the same seeds.

    Parameters
    ----------
    scenarios : iterable of Scenario
        Of rented slots, with names that differ.
    policies : sequence
        As in `simulate`, two or more.
    seeds : iterable of int
        Of the runs in each scenario.
    executor : Executor or int, optional
        As in `compare`.
    prices : Prices, optional
        Difference the rent; the slots are given, and cost nothing.
    title : str
        What the scenarios are.
    out : str or Path, optional
        A results directory, from which the same call resumes.

    Returns
    -------
    Judgement
        Its rows, regrets and table.

    Raises
    ------
    InputError
        For a scenario, policy or seed that is not allowed.
    """
    made = [*entries_of("scenarios", scenarios, "a list of scenarios")]
    for each in made:
        require(
            isinstance(checked_model(each), Scenario),
            "scenario",
            each,
            "one of rented slots",
        )
    seeds = check_seeds(seeds)
    names = [each.name for each in made]
    require(
        len(set(names)) == len(names) > 0,
        "scenarios",
        names,
        "one or more, names that differ",
    )
    prices = given_or_usual(prices)
    named = check_policies(
        prices.passed_to(check_policies(policies, made[0]).values()), made[0]
    )
    require(len(named) > 1, "policies", list(named), "two or more")
    store = open_store(
        out, "suite", named, seeds, scenarios=made, prices=asdict(prices)
    )
    runs = replicate(
        [Replications(each, list(named.values()), seeds) for each in made],
        executor,
        store,
    )
    rows: list[Row] = []
    for each in made:
        for name, policy in named.items():
            for seed in seeds:
                row = runs.figures(each, policy, seed)
                if "error" not in row:
                    sums = Totals(*runs.outcome(each, policy, seed))
                    row = {
                        "usd_per_job": prices.bill(sums, 0, 1.0)[COST] / each.jobs,
                        **row,
                    }
                rows.append(
                    {"scenario": each.name, "policy": name, "seed": seed, **row}
                )
    begun = {
        each.name: [*map(subject_of(each).in_common, seeds)]
        for each in made
        if subject_of(each).common
    }
    study = Judgement(title, rows, begun)
    study.keep(store)
    return study


class Difference(NamedTuple):
    """A policy on a scenario beside the best of the others.

    Attributes
    ----------
    scenario, policy, other : str
        The other is the one of least mean.
    difference : Mean
        Paired by seed, the policy's less the other's.
    """

    scenario: str
    policy: str
    other: str
    difference: Mean


@dataclass(frozen=True, repr=False)
class Judgement(Results):
    """What policies cost on scenarios.

    Its rows are dicts, one a scenario, policy and seed: the expected cost `usd_per_job`
    and the figures of the run's summary.

    Attributes
    ----------
    title : str
        What the scenarios are.
    """

    title: str
    _rows: list[Row] = field(repr=False)
    # as in Study, by replayed scenario
    _clusters: dict[str, list[int]] = field(repr=False)

    @property
    def rows(self) -> list[Row]:
        """One dict a scenario, policy and seed."""
        return self._rows

    @property
    def _held(self) -> str:
        """What was studied, in a line."""
        return (
            f"{self.title}: {counted('policy', self.policies)},"
            f" {many(len(self.seeds), 'seed')}"
        )

    def _each(self, key: str) -> list[Any]:
        return list(dict.fromkeys(row[key] for row in self.rows))

    @cached_property
    def scenarios(self) -> list[str]:
        """Their names, as given."""
        return self._each("scenario")

    @cached_property
    def policies(self) -> list[str]:
        """Their names, as given."""
        return self._each("policy")

    @cached_property
    def seeds(self) -> list[int]:
        """Those of the runs."""
        return self._each("seed")

    @cached_property
    def _by_run(self) -> dict[tuple[str, str], list[Row]]:
        return grouped(self.rows, lambda row: (row["scenario"], row["policy"]))

    @cached_property
    def _figures(self) -> list[str]:
        """Names of what the rows tell of runs that were completed."""
        done = (row for row in self.rows if "error" not in row)
        found = dict.fromkeys(name for row in done for name in row)
        return [name for name in found if name not in ("scenario", "policy", "seed")]

    def values(
        self, scenario: str, policy: str, figure: str = "usd_per_job"
    ) -> list[float]:
        """A figure by seed, NaN where the run failed; InputError for an unknown
        name.
        """
        check_one_of("scenario", scenario, self.scenarios)
        check_one_of("policy", policy, self.policies)
        if self._figures:  # else all runs have failed
            check_one_of("figure", figure, self._figures)
        return [row.get(figure, math.nan) for row in self._by_run[scenario, policy]]

    def _independent(self, scenario: str, policy: str, figure: str) -> list[float]:
        """A figure by seed, or by the day on which a replay begins; NaN where a run
        failed.
        """
        values = self.values(scenario, policy, figure)
        clusters = self._clusters.get(scenario)
        whole = values if not any(map(math.isnan, values)) else [math.nan] * len(values)
        return whole if clusters is None else cluster_means(whole, clusters)

    def against_best(
        self, policy: str, figure: str = "usd_per_job"
    ) -> list[Difference]:
        """A policy beside the best of the others, on each scenario.

        Seeds that begin on one day of a market that is replayed count once.

        The best is chosen on the same seeds, which flatters it: where several are
        equal, the difference is above 0 in expectation. A policy of which a run failed
        there is not chosen; its own difference does not exist.

        policy, figure: as they are called in the rows. Result: as the scenarios; the
        regret, where the figure is the expected cost. Raises InputError for an unknown
        name.
        """
        rest = [each for each in self.policies if each != policy]
        found = []
        for scenario in self.scenarios:
            means = {
                each: mean(self._independent(scenario, each, figure)).mean
                for each in rest
            }
            best = min(means, key=lambda each: (math.isnan(means[each]), means[each]))
            own, other = (
                self._independent(scenario, each, figure) for each in (policy, best)
            )
            less = paired_difference(own, other, in_order=scenario in self._clusters)
            found.append(Difference(scenario, policy, best, less))
        return found

    def regret(self, policy: str) -> Mean:
        """Expected cost beyond the best of the others, USD a job; below 0: it is the
        best.

        A mean over the scenarios, each a mean over its seeds, with the interval over
        scenarios; NaN for a policy of which a run failed. Scenarios where one of all
        others did are left out.
        """
        own = self._mean(policy, "usd_per_job")
        found = mean([each.difference.mean for each in self.against_best(policy)])
        return mean([]) if math.isnan(own) else found

    @checked
    def worst(
        self, policy: str, figure: str = "usd_per_job", number: Whole = 5
    ) -> list[Difference]:
        """The scenarios where it is furthest behind the best of the others, the worst
        first; without those where there is no difference, since runs failed.

        Raises InputError for an unknown name, or a number below 0.
        """
        known = [
            each for each in self.against_best(policy, figure) if each.difference.n
        ]
        return sorted(known, key=lambda each: -each.difference.mean)[:number]

    def behind(self, policy: str) -> list[Difference]:
        """The scenarios where it misses more deadlines than the best of the others, by
        more than POINTS on average, and by the 95 % interval, which one seed does not
        have; the worst first.

        Each interval is taken by itself: where nothing differs, one in forty is above 0
        by chance, and more as the best is chosen on the same seeds. Whether a
        difference is real, other seeds tell.
        """
        return [
            each
            for each in self.worst(policy, "miss_pct", len(self.scenarios))
            if each.difference.mean > POINTS and each.difference.low > 0
        ]

    def table(self) -> list[Row]:
        """A dict a policy: expected cost, regret with its interval over scenarios, the
        greatest regret and where; misses, wait, lateness; in how many scenarios its
        misses are more than one point above the best of the others, and in how many of
        these the 95 % interval, each by itself, is above 0. Costs, regret, misses, wait
        and lateness of a policy of which a run failed are NaN.
        """
        return [self._row(policy) for policy in self.policies]

    def _row(self, policy: str) -> Row:
        regret, worst = self.regret(policy), self.worst(policy, number=1)
        missed = [each.difference for each in self.against_best(policy, "miss_pct")]
        figures = ("usd_per_job", "miss_pct", "tardiness_min", "wait_min")
        return {
            "policy": policy,
            **{name: self._mean(policy, name) for name in figures},
        } | {
            "regret_usd": regret.mean,
            "regret_low": regret.low,
            "regret_high": regret.high,
            "worst_regret_usd": worst[0].difference.mean if worst else math.nan,
            "worst": worst[0].scenario if worst else "",
            "behind": sum(each.mean > POINTS for each in missed),
            "behind_by_interval": len(self.behind(policy)),
        }

    def _mean(self, policy: str, figure: str) -> float:
        found = [
            self._independent(scenario, policy, figure) for scenario in self.scenarios
        ]
        means = [mean(own).mean for own in found]
        return math.nan if any(map(math.isnan, means)) else mean(means).mean

    def as_dict(self) -> dict[str, Any]:
        """Table and regrets as plain values."""
        regrets = {
            policy: [
                {
                    "scenario": each.scenario,
                    "best": each.other,
                    **plain_mean(each.difference),
                }
                for each in self.against_best(policy)
            ]
            for policy in self.policies
        }
        found = {
            "suite": self.title,
            "scenarios": self.scenarios,
            "seeds": self.seeds,
            "policies": self.table(),
            "regrets": regrets,
        }
        return {**found, "failures": self.failures} if self.failures else found

    @property
    def tables(self) -> list[Table]:
        """A line a policy, and where the one that costs least is worst."""
        number, seeds, table = len(self.scenarios), len(self.seeds), self.table()
        cost = {row["policy"]: row["usd_per_job"] for row in table}
        least = min(cost, key=lambda policy: (math.isnan(cost[policy]), cost[policy]))
        title = (
            f"{self.title}: means of {number} scenarios, {seeds} seeds each; regret:"
            " USD a job"
        )
        found = [Table(title, [list(HEADINGS), *map(_cells, table)])]
        for figure, unit in (
            ("usd_per_job", "US cents a job"),
            ("miss_pct", "points missed"),
        ):
            title = f"{least} beside the best of the others, {unit}: where it is worst"
            scale = 100 if figure == "usd_per_job" else 1
            rows = [_row_text(each, scale, seeds) for each in self.worst(least, figure)]
            found.append(Table(title, [["scenario", "best", "difference"], *rows]))
        return found


HEADINGS = (
    *(
        "policy",
        "usd_per_job",
        "regret",
        "greatest",
        "where",
        "miss_pct",
        "tardiness_min",
    ),
    *("wait_min", "1 point behind", "by interval"),
)


def _text(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)


def _row_text(each: Difference, scale: float, seeds: int) -> list[str]:
    """A line on a policy beside another."""
    less = each.difference
    scaled = {name: scale * getattr(less, name) for name in ("mean", "low", "high")}
    return [each.scenario, each.other, interval(replace(less, **scaled), seeds, "+")]


def _cells(row: Row) -> list[str]:
    half = (row["regret_high"] - row["regret_low"]) / 2
    return [
        row["policy"],
        _text(row["usd_per_job"], ".4f"),
        _text(row["regret_usd"], "+.4f")
        + ("" if math.isnan(half) else f" ± {half:.4f}"),
        _text(row["worst_regret_usd"], "+.3f"),
        row["worst"] or "-",
        *(
            figure_text(row[figure])
            for figure in ("miss_pct", "tardiness_min", "wait_min")
        ),
        str(row["behind"]),
        str(row["behind_by_interval"]),
    ]
