"""Of eleven findings of the thesis, six or seven fail if stock persists; four or five
hold, most clearly that SPT+Rescue protects tight deadlines.

In the thesis every dispatch draws the stock that it meets independently. Here the
findings on single days are tested on three kinds of markets: the market of the thesis;
markets whose stock persists, for 15 minutes or for two hours on average; and, if files
of recorded stock are arguments, measured markets: the model fitted to the record, and
the record itself, replayed. Policies either do not see the stock (hidden) or see it
(visible).

A finding is a list of comparisons of two policies. All policies run on the same 30
seeds, and a comparison is a paired difference with its interval. The confidence is 95 %
for all comparisons of a finding together (Bonferroni). In a replay, seeds that start on
the same recorded day count as one observation.

    less        holds if the interval is below 0; fails otherwise if the interval
                excludes every improvement that users would notice (MARGINS)
    tied        holds if the interval is within 0.8 standard deviations over the seeds,
                the limit of a meaningful effect in the thesis (Section 5.1.3); fails if
                it is outside
    undecided   otherwise

A finding holds if all its comparisons hold, and fails if one fails. Each line of the
output shows one comparison that decides. Findings on a month, on shares of tight
deadlines and on a single policy are left out. Run it as:
python scenarios/research/market_findings.py FILE ...
"""

import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import cycle, permutations
from typing import NamedTuple

import numpy as np

import cgrsp_simpy as cg

SEEDS = range(30)
TEN = "fifo spt edf lcf balanced random spt-rescue adaptive rh cadr".split()
DAYS = {  # name -> scenario and its policies
    "hectic": (cg.day("hectic"), TEN),
    "hectic, 7 slots": (cg.day("hectic", slots=7), ["fifo", "edf", "rh", "cadr"]),
    "surge": (cg.day("surge"), ["rh", "rh:reserve=0"]),
}
# differences that users would notice: minutes, percentage points
MARGINS = {"wait_min": 1.0, "tardiness_min": 1.0, "miss_pct": 0.5}
MARGINS |= {"tight_miss_pct": 0.5, "cost_usd": 0.0}
MEANINGFUL = 0.8  # standard deviations
ORDER = ("fails", "undecided", "holds")  # which comparison decides


class Comparison(NamedTuple):
    """The metric of a policy is less than `factor` times that of another, or tied."""

    policy: str
    metric: str
    other: str
    factor: float = 1.0
    tied: bool = False

    def __str__(self):
        factor = "" if self.factor == 1 else f"{self.factor:g} x "
        sign = "tied with" if self.tied else "less than"
        return f"{self.metric} of {self.policy} {sign} {factor}{self.other}"


class Result(NamedTuple):
    """Verdict on a comparison, and its paired difference."""

    verdict: str
    comparison: Comparison
    difference: cg.statistics.Mean


def less(policy, metric, others, factor=1.0):
    """Return the comparisons by which a policy has less than each of the others."""
    return [
        Comparison(policy, metric, other, factor) for other in others if other != policy
    ]


def tied(policy, metric, other):
    """Return the comparison by which two policies tie."""
    return [Comparison(policy, metric, other, tied=True)]


FINDINGS = [  # source, sentence, day, comparisons
    (
        "Table 5.14, 1",
        "SPT has the lowest wait under saturation, and ties with EDF on misses",
        "hectic",
        less("spt", "wait_min", TEN) + tied("spt", "miss_pct", "edf"),
    ),
    (
        "Table 5.14, 2",
        "SPT+Rescue limits the starvation of tight deadlines",
        "hectic",
        less("spt-rescue", "tight_miss_pct", ["spt", "fifo"]),
    ),
    (
        "Table 5.14, 3",
        "EDF misses about as little as SPT, at FIFO's wait; SPT waits less",
        "hectic",
        tied("edf", "miss_pct", "spt")
        + tied("edf", "wait_min", "fifo")
        + less("spt", "wait_min", ["edf"]),
    ),
    (
        "Table 5.14, 6",
        "CADR ties with RH on misses, and beats SPT+Rescue on misses and wait",
        "hectic",
        tied("cadr", "miss_pct", "rh")
        + less("cadr", "miss_pct", ["spt-rescue"])
        + less("cadr", "wait_min", ["spt-rescue"]),
    ),
    (
        "Table 6.1, 1",
        "RH misses the fewest deadlines",
        "hectic",
        less("rh", "miss_pct", TEN),
    ),
    (
        "Table 6.1, 2",
        "CADR is over 60 % less late than RH",
        "hectic",
        less("cadr", "tardiness_min", ["rh"], 0.4),
    ),
    (
        "Table 6.1, 3",
        "RH has the least wait, tied with SPT",
        "hectic",
        tied("rh", "wait_min", "spt")
        + less("rh", "wait_min", [other for other in TEN if other != "spt"]),
    ),
    (
        "Table 6.1, 4",
        "The costs of all ten policies lie within 1.5 %",
        "hectic",
        [Comparison(one, "cost_usd", two, 1.015) for one, two in permutations(TEN, 2)],
    ),
    (
        "Section 5.3",
        "CADR beats Adaptive on wait, misses and tardiness",
        "hectic",
        less("cadr", "wait_min", ["adaptive"])
        + less("cadr", "miss_pct", ["adaptive"])
        + less("cadr", "tardiness_min", ["adaptive"]),
    ),
    (
        "Section 5.5.3",
        "With seven slots EDF, RH and CADR still miss fewer deadlines than FIFO",
        "hectic, 7 slots",
        [Comparison(policy, "miss_pct", "fifo") for policy in ("edf", "rh", "cadr")],
    ),
    (
        "Section 5.5.6",
        "One reserved slot lowers RH's misses, and raises its wait",
        "surge",
        less("rh", "miss_pct", ["rh:reserve=0"])
        + less("rh:reserve=0", "wait_min", ["rh"]),
    ),
]


def markets(files):
    """Yield names of markets, each with a function that puts a day on the market."""
    yield "thesis", lambda day: day
    kinds = {"15 min": lasting(900.0), "2 h": lasting(7200.0)}
    if files:
        record = cg.measured(*files)._replace(prices={})  # prices stay the thesis's
        kinds["fitted"] = measured(record._replace(series=()))
        kinds["replay"] = measured(record)
    for name, put in kinds.items():
        yield f"{name}, hidden", partial(put, sight="none")
        yield f"{name}, visible", partial(put, sight="now")


def lasting(mean_s):
    """Return a function that lets the stock of a day persist."""

    def put(day, sight):
        market = replace(day.market, persistence_s=mean_s, sight=sight)
        return replace(day, market=market)

    return put


def measured(record):
    """Return a function that gives the recorded types, in turn, to those of a day."""
    names = [model.gpu for model in record.stock]

    def put(day, sight):
        types = {gpu.name: name for gpu, name in zip(day.gpus, cycle(names))}
        return cg.on_market(day, record, types, sight)

    return put


def test(study, comparison, confidence):
    """Return the result of a comparison on the runs of a day."""
    values, others = study.independent(
        study.values(comparison.policy, comparison.metric),
        study.values(comparison.other, comparison.metric),
    )
    others = [comparison.factor * value for value in others]
    difference = cg.statistics.paired_difference(
        values, others, confidence, in_order=bool(study.common)
    )
    low, high = difference.low, difference.high
    if comparison.tied:
        limit = MEANINGFUL * np.sqrt(np.var([values, others], axis=1, ddof=1).mean())
        holds, fails = -limit <= low and high <= limit, high < -limit or limit < low
    else:
        holds, fails = high < 0, low > -MARGINS[comparison.metric]
    verdict = "holds" if holds else "fails" if fails else "undecided"
    return Result(verdict, comparison, difference)


def judge(study, comparisons):
    """Return the result of the comparison that decides on a finding."""
    confidence = 1 - 0.05 / len(comparisons)
    results = [test(study, comparison, confidence) for comparison in comparisons]
    return min(results, key=lambda result: ORDER.index(result.verdict))


if __name__ == "__main__":
    results, replications = {}, {}
    for market, put in markets(sys.argv[1:]):
        studies = {
            name: cg.compare(put(day), policies, SEEDS)
            for name, (day, policies) in DAYS.items()
        }
        replications[market] = min(study.n for study in studies.values())
        for _, sentence, day, comparisons in FINDINGS:
            results[sentence, market] = judge(studies[day], comparisons)
    for source, sentence, _, _ in FINDINGS:
        print(f"{source}: {sentence}")
        for market in replications:
            verdict, comparison, difference = results[sentence, market]
            interval = f"{difference.mean:+.2f} ± {difference.half_width:.2f}"
            print(f"  {market:15} {verdict:9}  {comparison}: {interval}")
    print("\nmarket          replications  holds  fails  undecided")
    for market, n in replications.items():
        counts = Counter(results[finding[1], market].verdict for finding in FINDINGS)
        cells = [counts[verdict] for verdict in ("holds", "fails", "undecided")]
        print("{:15} {:12} {:6} {:6} {:10}".format(market, n, *cells))
