"""Findings of the thesis on other markets: persistent stock, hidden or visible, and
replayed stock.

In each market the criteria of `findings` are tested on the same seeds. A criterion that
compares two policies uses their differences seed by seed. On a replayed market, seeds
that begin on the same day count once, successive days may be correlated, and the months
count once all together; statistics other than means are jackknifed by day. Two-sided
p-values are by Student's t against the nearest bound, adjusted by Holm over all
criteria in the market. A criterion

    holds           inside its bounds, p < 0.05;
    does not hold   outside of them, p < 0.05;
    is gone         if neither, and a difference of two policies is less than any
                    user would notice, MARGINS, of either sign, p < 0.05 (Holm over
                    these tests);
    is undecided    otherwise.

A finding holds in a market if all its criteria do; it does not hold if one does not, is
gone if one is gone, and is undecided otherwise. Over a group of markets it holds if it
does so in each; it does not hold if in each it does not, or is gone; it depends if it
holds in one, and in another does not or is gone; it is undecided otherwise. Groups are
the thesis's own market, those with persistent stock, and measured ones, so that an
undecided group does not hide another's verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy

from cgrsp_simpy.analysis.statistics import cluster_means, holm, worth
from cgrsp_simpy.market.law import Measured
from cgrsp_simpy.papers.thesis.experiments import Excess, average
from cgrsp_simpy.papers.thesis.findings import (
    FAILS,
    HOLDS,
    Claim,
    Criterion,
    of_printed_figures,
)
from cgrsp_simpy.papers.thesis.runs import Results
from cgrsp_simpy.papers.thesis.verdict import deviation, half_width, pseudo_values
from cgrsp_simpy.rental.days import on_market
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.subject import subject_of

Row = dict[str, Any]
GONE, UNDECIDED, DEPENDS, NO_MEANING = "gone", "undecided", "depends", "no meaning"
"""Verdicts on a finding in another market, in addition to holding and failing."""
# Smaller differences go unnoticed: minutes, or percentage points.
MARGINS = {
    "wait_min": 1.0,
    "tardiness_min": 1.0,
    "miss_pct": 0.5,
    "tight_miss_pct": 0.5,
}
LEVEL = 0.05
PRINTED_ALONE = "judged on the thesis's printed figures alone, which no market changes"


# ---- markets ----


def persistent(tau_min: float, sight: str) -> Callable[[Scenario], Scenario]:
    """Puts a scenario where its stock persists for so many minutes, and is seen so."""
    return lambda scenario: subject_of(scenario).varied(
        persistence_s=60.0 * tau_min, sight=sight
    )


def replayed(market: Measured, sight: str) -> Callable[[Scenario], Scenario]:
    """Return a function that replays a market's types, in turn, as a scenario's stock.

    Prices stay the scenario's.
    """
    names, unpriced = [each.gpu for each in market.stock], market._replace(prices={})

    def put(scenario: Scenario) -> Scenario:
        types = {
            gpu.name: names[place % len(names)]
            for place, gpu in enumerate(scenario.gpus)
        }
        return on_market(scenario, unpriced, types, sight)

    return put


# ---- one market ----


class Tested(NamedTuple):
    """Test of a criterion in a market.

    n: seeds, or days on which they begin in a replay. value, half_width: the statistic
    and half of its 95 % interval. p, p_holm: of lying on the nearest bound. p_gone:
    adjusted; 1 if it cannot be gone.
    """

    part: Criterion
    n: int
    value: float
    half_width: float
    p: float
    p_holm: float
    p_gone: float
    verdict: str


def tested(findings: Sequence[Claim], results: Results) -> list[list[Tested]]:
    """Test the criteria of each finding on the runs of a market."""
    parts = [part for finding in findings for part in finding.parts]
    estimates = [_estimate(part, results) for part in parts]
    p_values = [_p(own, part.low, part.high) for part, own in zip(parts, estimates)]
    adjusted = holm(p_values)
    none = _p_gone(parts, estimates)
    done = iter(
        Tested(
            part,
            own.n,
            own.value,
            half_width(own.error, own.worth),
            p,
            p_holm,
            p_gone,
            verdict,
        )
        for part, own, p, p_holm, p_gone in zip(
            parts, estimates, p_values, adjusted, none
        )
        for verdict in [_verdict(part, own.value, p_holm, p_gone)]
    )
    return [[next(done) for _ in finding.parts] for finding in findings]


class _Estimate(NamedTuple):
    n: int
    value: float
    error: float
    worth: float  # independent values


def _estimate(part: Criterion, results: Results) -> _Estimate:
    seeds = results.replications or part.n
    values, statistic = results.sample(part.measure, seeds), part.measure.statistic
    clusters: Sequence[int] = results.clusters(part.measure, seeds)
    days = sorted(set(clusters))
    n, independent = len(days), float(len(days))
    if n == 1 < seeds:
        return _Estimate(n, float(statistic(*values)), math.inf, 1)
    if days == list(range(seeds)):
        value, error = float(statistic(*values)), deviation(statistic, values, n)
    else:  # successive days
        if isinstance(statistic, Excess):
            values, statistic = [statistic.by_seed(*values)], average
        if statistic is average:
            by_day = np.array(cluster_means(values[0], clusters))
            value = float(by_day.mean())
        else:
            value = float(statistic(*values))
            by_day = pseudo_values(statistic, values, clusters)
        share = worth(by_day)
        independent = max((n - 1) * share, 1.0) + 1
        error = float(by_day.std(ddof=1)) / math.sqrt(n * share)
    # An effect size is 0 for values that never differ, and certain if they always do.
    value, error = (0.0 if math.isnan(each) else each for each in (value, error))
    return _Estimate(n, value, error, independent)


def _p(own: _Estimate, low: float, high: float) -> float:
    """Return the two-sided p of the value being the nearest bound."""
    distance = min(abs(own.value - low), abs(own.value - high))
    if own.error == 0:
        return float(distance == 0)
    if math.isinf(own.error):  # a single day of a record
        return 1.0
    return float(2 * scipy.special.stdtr(own.worth - 1, -distance / own.error))


def _p_gone(parts: Sequence[Criterion], estimates: Sequence[_Estimate]) -> list[float]:
    """Return, per criterion, the adjusted p that its difference exceeds the margin."""
    margins = {  # margin of a difference of two policies
        place: MARGINS[part.measure.sources[0].figure]
        for place, part in enumerate(parts)
        if isinstance(part.measure.statistic, Excess)
    }
    tests = {
        place: _p(own, -margin, margin) if abs(own.value) < margin else 1.0
        for place, margin in margins.items()
        for own in [estimates[place]]
    }
    adjusted = dict(zip(tests, holm(list(tests.values()))))
    return [adjusted.get(place, 1.0) for place in range(len(parts))]


def _verdict(part: Criterion, value: float, p_holm: float, p_gone: float) -> str:
    if p_holm < LEVEL:
        return HOLDS if part.low <= value <= part.high else FAILS
    return GONE if p_gone < LEVEL else UNDECIDED


def in_market(verdicts: Sequence[str]) -> str:
    """Return the verdict on a finding in a market from those on its criteria."""
    return next((one for one in (FAILS, GONE, UNDECIDED) if one in verdicts), HOLDS)


# ---- groups of markets ----


def over_markets(verdicts: Sequence[str]) -> str:
    """Return the verdict on a finding over a group of markets."""
    there = set(verdicts)
    if there == {HOLDS}:
        return HOLDS
    if there <= {FAILS, GONE}:
        return FAILS
    return DEPENDS if HOLDS in there and there & {FAILS, GONE} else UNDECIDED


def finding_rows(
    findings: Sequence[Claim], groups: Mapping[str, Mapping[str, Results]]
) -> list[Row]:
    """Return one row per finding, market and criterion, and per finding without runs.

    groups: name -> market -> its runs.
    """
    found = {
        group: {name: tested(findings, results) for name, results in markets.items()}
        for group, markets in groups.items()
    }
    rows = []
    for place, finding in enumerate(findings):
        for group, markets in found.items():
            own = {name: tests[place] for name, tests in markets.items()}
            told = {
                name: in_market([part.verdict for part in own[name]]) for name in own
            }
            whole = over_markets(list(told.values()))
            rows += [
                _row(
                    finding.where,
                    finding.sentence,
                    group,
                    name,
                    told[name],
                    whole,
                    each,
                )
                for name, tests in own.items()
                for each in tests
            ]
    return rows + [_row(each.where, each.sentence) for each in of_printed_figures()]


def _row(
    where: str,
    sentence: str,
    group: str = "all",
    market: str = "all",
    verdict: str = NO_MEANING,
    whole: str = NO_MEANING,
    test: Tested | None = None,
) -> Row:
    names = Tested._fields[1:-1]
    return {
        "where": where,
        "sentence": sentence,
        "group": group,
        "market": market,
        "part": test.part.text if test else PRINTED_ALONE,
        **{name: getattr(test, name) if test else "" for name in names},
        "of_part": test.verdict if test else NO_MEANING,
        "in_market": verdict,
        "in_group": whole,
    }
