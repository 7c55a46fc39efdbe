"""Judging policies on scenarios: costs beyond the best of the others."""

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

POINTS = 1.0  # per cent of deadlines missed: a greater difference counts


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

    scenarios: of rented slots, with different names. policies: two or more, as in
    `simulate`. seeds: of the runs in each scenario. executor: as in `compare`. prices:
    of misses, lateness and waiting, added to the rent; slots cost nothing. title: names
    the scenarios as a group. out: a results directory, from which the same call
    resumes. Raises InputError for a scenario, policy or seed that is not allowed.
    """
    models = [*entries_of("scenarios", scenarios, "a list of scenarios")]
    for model in models:
        require(
            isinstance(checked_model(model), Scenario),
            "scenario",
            model,
            "one of rented slots",
        )
    seeds = check_seeds(seeds)
    names = [model.name for model in models]
    require(
        len(set(names)) == len(names) > 0,
        "scenarios",
        names,
        "one or more, names that differ",
    )
    prices = given_or_usual(prices)
    named = check_policies(
        prices.passed_to(check_policies(policies, models[0]).values()), models[0]
    )
    require(len(named) > 1, "policies", list(named), "two or more")
    store = open_store(
        out, "suite", named, seeds, scenarios=models, prices=asdict(prices)
    )
    runs = replicate(
        [Replications(model, list(named.values()), seeds) for model in models],
        executor,
        store,
    )
    rows: list[Row] = []
    for model in models:
        for name, policy in named.items():
            for seed in seeds:
                row = runs.figures(model, policy, seed)
                if "error" not in row:
                    sums = Totals(*runs.outcome(model, policy, seed))
                    row = {
                        "usd_per_job": prices.bill(sums, 0, 1.0)[COST] / model.jobs,
                        **row,
                    }
                rows.append(
                    {"scenario": model.name, "policy": name, "seed": seed, **row}
                )
    begun = {
        model.name: [*map(subject_of(model).in_common, seeds)]
        for model in models
        if subject_of(model).common
    }
    study = Judgement(title, rows, begun)
    study.keep(store)
    return study


class Difference(NamedTuple):
    """Policy compared with the best of the others on a scenario.

    other: the policy with the least mean. difference: the policy's figure less the
    other's, paired by seed.
    """

    scenario: str
    policy: str
    other: str
    difference: Mean


@dataclass(frozen=True, repr=False)
class Judgement(Results):
    """Costs of policies on scenarios.

    Its rows are dicts, one per scenario, policy and seed: the expected cost
    `usd_per_job` and the figures of the run's summary. title: names the scenarios as a
    group.
    """

    title: str
    _rows: list[Row] = field(repr=False)
    # as in Study, by replayed scenario
    _clusters: dict[str, list[int]] = field(repr=False)

    @property
    def rows(self) -> list[Row]:
        """One dict per scenario, policy and seed."""
        return self._rows

    @property
    def _held(self) -> str:
        """The study in one line."""
        return (
            f"{self.title}: {counted('policy', self.policies)},"
            f" {many(len(self.seeds), 'seed')}"
        )

    def _each(self, key: str) -> list[Any]:
        return list(dict.fromkeys(row[key] for row in self.rows))

    @cached_property
    def scenarios(self) -> list[str]:
        """Names, in the order of the call."""
        return self._each("scenario")

    @cached_property
    def policies(self) -> list[str]:
        """Names, in the order of the call."""
        return self._each("policy")

    @cached_property
    def seeds(self) -> list[int]:
        """Seeds of the runs."""
        return self._each("seed")

    @cached_property
    def _by_run(self) -> dict[tuple[str, str], list[Row]]:
        return grouped(self.rows, lambda row: (row["scenario"], row["policy"]))

    @cached_property
    def _figures(self) -> list[str]:
        """Names of the figures of completed runs."""
        done = (row for row in self.rows if "error" not in row)
        names = dict.fromkeys(name for row in done for name in row)
        return [name for name in names if name not in ("scenario", "policy", "seed")]

    def values(
        self, scenario: str, policy: str, figure: str = "usd_per_job"
    ) -> list[float]:
        """Return a figure by seed, NaN for a failed run; InputError for an unknown
        name.
        """
        check_one_of("scenario", scenario, self.scenarios)
        check_one_of("policy", policy, self.policies)
        if self._figures:  # else all runs have failed
            check_one_of("figure", figure, self._figures)
        return [row.get(figure, math.nan) for row in self._by_run[scenario, policy]]

    def _independent(self, scenario: str, policy: str, figure: str) -> list[float]:
        """Return a figure by seed, or by first day of a replay; NaN if a run failed."""
        values = self.values(scenario, policy, figure)
        clusters = self._clusters.get(scenario)
        whole = values if not any(map(math.isnan, values)) else [math.nan] * len(values)
        return whole if clusters is None else cluster_means(whole, clusters)

    def against_best(
        self, policy: str, figure: str = "usd_per_job"
    ) -> list[Difference]:
        """Compare a policy with the best of the others on each scenario.

        Seeds that begin on the same day of a replayed market count once. The best is
        chosen on the same seeds, which flatters it: if several are equal, the
        difference is above 0 in expectation. A policy with a failed run is not chosen;
        its own difference is NaN.

        policy, figure: as named in the rows. The result has one entry per scenario: the
        regret, if the figure is the expected cost. Raises InputError for an unknown
        name.
        """
        rest = [each for each in self.policies if each != policy]
        differences = []
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
            differences.append(Difference(scenario, policy, best, less))
        return differences

    def regret(self, policy: str) -> Mean:
        """Return the expected cost beyond the best of the others, USD per job.

        A mean over scenarios of means over seeds, with the interval over scenarios;
        below 0 for the best, NaN for a policy with a failed run. Scenarios where a run
        of every other policy failed are left out.
        """
        own = self._mean(policy, "usd_per_job")
        found = mean([each.difference.mean for each in self.against_best(policy)])
        return mean([]) if math.isnan(own) else found

    @checked
    def worst(
        self, policy: str, figure: str = "usd_per_job", number: Whole = 5
    ) -> list[Difference]:
        """Return the scenarios where a policy is furthest behind the best other, worst
        first.

        Scenarios with failed runs, which have no difference, are left out. Raises
        InputError for an unknown name, or a number below 0.
        """
        known = [
            each for each in self.against_best(policy, figure) if each.difference.n
        ]
        return sorted(known, key=lambda each: -each.difference.mean)[:number]

    def behind(self, policy: str) -> list[Difference]:
        """Return the scenarios where a policy clearly misses more deadlines, worst
        first.

        The mean difference to the best other is above POINTS, and its 95 % interval,
        which needs two seeds, above 0. Intervals are not adjusted: without a difference
        one in forty is above 0 by chance, and more since the best is chosen on the same
        seeds. Confirm a difference on other seeds.
        """
        return [
            item
            for item in self.worst(policy, "miss_pct", len(self.scenarios))
            if item.difference.mean > POINTS and item.difference.low > 0
        ]

    def table(self) -> list[Row]:
        """Return one dict per policy.

        Expected cost, regret with its interval over scenarios, the greatest regret and
        its scenario; misses, wait, lateness (NaN, as costs and regret, if a run
        failed); the number of scenarios with misses more than one point above the best
        other, and of those among them whose 95 % interval is above 0.
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
        """Return the table and regrets as plain values."""
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
        """One line per policy, and the worst scenarios of the cheapest."""
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


def _row_text(item: Difference, scale: float, seeds: int) -> list[str]:
    """Format a comparison with the best other policy."""
    less = item.difference
    scaled = {name: scale * getattr(less, name) for name in ("mean", "low", "high")}
    return [item.scenario, item.other, interval(replace(less, **scaled), seeds, "+")]


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
