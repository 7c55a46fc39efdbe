"""Costs of policies on scenarios, compared with the best other policy of each."""

import math
from dataclasses import dataclass
from functools import cached_property

from cgrsp_simpy.analysis.statistics import Mean, cluster_means, mean, paired_difference
from cgrsp_simpy.base.table import grouped
from cgrsp_simpy.decide.recommend import COST, Prices
from cgrsp_simpy.rental.record import Totals
from cgrsp_simpy.studies.replicate import Replications, check_policies, replicate
from cgrsp_simpy.studies.subject import subject_of

POINTS = 1.0  # percentage points of missed deadlines: a greater difference counts
FIGURES = ("usd_per_job", "miss_pct", "tardiness_min", "wait_min")


def judge(scenarios, policies, seeds=range(4), executor=None, prices=None):
    """Run policies on scenarios of rented slots, all on the same seeds.

    scenarios: with different names. policies: two or more, as in `simulate`. executor:
    as in `compare`. prices: of misses, lateness and waiting, added to the rent; slots
    cost nothing.
    """
    models, seeds, prices = list(scenarios), list(seeds), prices or Prices()
    named = check_policies(policies, models[0])
    named = check_policies(prices.passed_to(named.values()), models[0])
    runs = replicate(
        [Replications(model, list(named.values()), seeds) for model in models], executor
    )
    rows = []
    for model in models:
        for name, policy in named.items():
            for seed in seeds:
                row = {"scenario": model.name, "policy": name, "seed": seed}
                row |= runs.figures(model, policy, seed)
                if "error" not in row:
                    sums = Totals(*runs.outcome(model, policy, seed))
                    row["usd_per_job"] = prices.bill(sums, 0, 1.0)[COST] / model.jobs
                rows.append(row)
    days = {
        model.name: [*map(subject_of(model).in_common, seeds)]
        for model in models
        if subject_of(model).common
    }
    return Judgement(rows, days)


@dataclass(frozen=True)
class Difference:
    """Figure of a policy less that of the best other policy, paired by seed."""

    scenario: str
    policy: str
    other: str
    difference: Mean


@dataclass(frozen=True)
class Judgement:
    """Costs of policies on scenarios.

    rows: one dict per scenario, policy and seed with the expected cost `usd_per_job`
    and the figures of the run's summary, or its "error". days: recorded day on which
    each seed starts, by replayed scenario.
    """

    rows: list
    days: dict

    @cached_property
    def scenarios(self):
        """Names in the order of the call."""
        return list(dict.fromkeys(row["scenario"] for row in self.rows))

    @cached_property
    def policies(self):
        """Names in the order of the call."""
        return list(dict.fromkeys(row["policy"] for row in self.rows))

    @cached_property
    def _by_run(self):
        return grouped(self.rows, lambda row: (row["scenario"], row["policy"]))

    def values(self, scenario, policy, figure="usd_per_job"):
        """Return a figure by seed, NaN for a failed run."""
        return [row.get(figure, math.nan) for row in self._by_run[scenario, policy]]

    def _independent(self, scenario, policy, figure):
        """Return a figure by seed, or by first day of a replay; NaN if a run failed."""
        values, days = self.values(scenario, policy, figure), self.days.get(scenario)
        if any(map(math.isnan, values)):
            values = [math.nan] * len(values)
        return values if days is None else cluster_means(values, days)

    def against_best(self, policy, figure="usd_per_job"):
        """Compare a policy with the best of the others on each scenario.

        The best is chosen on the same seeds, which favours it: if several are equal,
        the difference is above 0 in expectation. A policy with a failed run is not
        chosen; its own difference is NaN.
        """
        differences = []
        for scenario in self.scenarios:
            values = {
                name: self._independent(scenario, name, figure)
                for name in self.policies
            }
            means = {name: mean(values[name]).mean for name in values if name != policy}
            best = min(means, key=lambda name: (math.isnan(means[name]), means[name]))
            less = paired_difference(
                values[policy], values[best], in_order=scenario in self.days
            )
            differences.append(Difference(scenario, policy, best, less))
        return differences

    def mean(self, policy, figure="usd_per_job"):
        """Return the mean over scenarios, NaN if a run failed."""
        means = [
            mean(self._independent(scenario, policy, figure)).mean
            for scenario in self.scenarios
        ]
        return math.nan if any(map(math.isnan, means)) else mean(means).mean

    def regret(self, policy):
        """Return the expected cost beyond the best of the others, USD per job.

        A mean over scenarios of means over seeds, with the interval over scenarios;
        below 0 for the best, NaN for a policy with a failed run. Scenarios where a run
        of every other policy failed are left out.
        """
        if math.isnan(self.mean(policy)):
            return mean([])
        return mean([item.difference.mean for item in self.against_best(policy)])

    def worst(self, policy, figure="usd_per_job"):
        """Return the comparisons with the best other policy, the worst first.

        Scenarios with failed runs, which have no difference, are left out.
        """
        items = [
            item for item in self.against_best(policy, figure) if item.difference.n
        ]
        return sorted(items, key=lambda item: -item.difference.mean)

    def behind(self, policy):
        """Return the scenarios where a policy clearly misses more deadlines.

        The mean difference to the best other is above POINTS, and its 95 % interval,
        which needs two seeds, above 0. Intervals are not adjusted: without a difference
        one in forty is above 0 by chance, and more since the best is chosen on the same
        seeds. Confirm a difference on other seeds.
        """
        return [
            item
            for item in self.worst(policy, "miss_pct")
            if item.difference.mean > POINTS and item.difference.low > 0
        ]

    def table(self):
        """Return one dict per policy.

        Means of FIGURES, regret with its interval over scenarios, the greatest regret
        and its scenario; the number of scenarios with misses more than POINTS above the
        best other, and of those among them whose 95 % interval is above 0.
        """
        return [self._row(policy) for policy in self.policies]

    def _row(self, policy):
        regret, worst = self.regret(policy), self.worst(policy)
        missed = [item.difference for item in self.against_best(policy, "miss_pct")]
        return {
            "policy": policy,
            **{name: self.mean(policy, name) for name in FIGURES},
            "regret_usd": regret.mean,
            "regret_low": regret.low,
            "regret_high": regret.high,
            "worst_regret_usd": worst[0].difference.mean if worst else math.nan,
            "worst": worst[0].scenario if worst else "",
            "behind": sum(each.mean > POINTS for each in missed),
            "behind_by_interval": len(self.behind(policy)),
        }
