"""Findings of the thesis (Tables 5.14 and 6.1, and sentences of its text), each
restated as a test on the reproduced figures.

A criterion holds if the 95 % interval of a statistic is within its bounds, does not
hold if it is outside, and is not decidable at these seeds otherwise. A finding holds if
all its criteria hold, and does not hold if one does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.papers.thesis.contradictions import decided
from cgrsp_simpy.papers.thesis.experiments import (
    HECTIC,
    MONTH,
    NAMES,
    PRINTED_AS,
    Excess,
    Measure,
    OfMeans,
    Statistic,
    average,
    mean_of,
    measure_of,
    pooled_d,
)
from cgrsp_simpy.papers.thesis.runs import Results, low_stock_pct, queue_pct
from cgrsp_simpy.papers.thesis.verdict import (
    deviation,
    half_width,
    too_few,
)
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.policies import make_policy
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.replicate import simulate

HOLDS, FAILS, OPEN = "holds", "does not hold", "not decidable"  # verdicts on a finding
TEN = [policy for policy in NAMES.values() if policy != "cadr-oo"]
SEVEN = ("fifo", "spt", "edf", "lcf", "balanced", "random", "spt-rescue")
LARGE = 0.8  # |d| of a practically meaningful effect, thesis Section 5.1.3


@dataclass(frozen=True)
class Criterion:
    """Statistic of reproduced figures and the bounds that it must be in.

    n: replications of the printed one.
    """

    text: str
    measure: Measure
    low: float
    high: float
    n: int

    @property
    def bounds(self) -> str:
        """The bounds in words."""
        if math.isinf(self.low):
            return f"less than {self.high:g}"
        over = math.isinf(self.high)
        return f"more than {self.low:g}" if over else f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Claim:
    """Sentence of the thesis, restated, and its criteria.

    where: table and row, or section.
    """

    where: str
    sentence: str
    parts: tuple[Criterion, ...]


@dataclass(frozen=True)
class Verdict:
    """Finding with its verdict, and the figures that decide it."""

    where: str
    sentence: str
    verdict: str
    reasons: tuple[str, ...]


# ---- Criteria ----


def _part(
    told: str,
    statistic: Statistic,
    figure: str,
    policies: Sequence[str],
    low: float,
    high: float,
    scenario: Scenario | str = HECTIC,
) -> Criterion:
    """Return a criterion on one figure, with as many replications as printed."""
    name = scenario if isinstance(scenario, str) else scenario.name
    n = 10 if isinstance(scenario, str) or len(scenario.slots) != 5 else 30
    measure = measure_of(statistic, scenario, figure, *policies)
    return Criterion(f"{name}: {told}", measure, low, high, n)


def _less(
    a: str, b: str, figure: str, scenario: Scenario | str = HECTIC, factor: float = 1.0
) -> Criterion:
    """Require a figure of policy a to be less than `factor` times that of b."""
    times = "" if factor == 1 else f"{factor:g} x "
    told = f"{figure} of {PRINTED_AS[a]} - {times}{PRINTED_AS[b]}"
    return _part(told, Excess(factor), figure, (a, b), -math.inf, 0.0, scenario)


def _least(
    policy: str, others: Sequence[str], figure: str, scenario: Scenario | str = HECTIC
) -> tuple[Criterion, ...]:
    return tuple(
        _less(policy, other, figure, scenario) for other in others if other != policy
    )


def _tied(a: str, b: str, figure: str, scenario: Scenario | str = HECTIC) -> Criterion:
    """Require no practically meaningful effect between two policies."""
    told = f"Cohen's d of {figure}, {PRINTED_AS[a]} against {PRINTED_AS[b]}"
    return _part(told, pooled_d, figure, (a, b), -LARGE, LARGE, scenario)


def _within(
    policy: str, figure: str, low: float, high: float, scenario: Scenario | str = HECTIC
) -> Criterion:
    return _part(
        f"{figure} of {PRINTED_AS[policy]}",
        average,
        figure,
        (policy,),
        low,
        high,
        scenario,
    )


def _spread_pct(means: np.ndarray) -> np.ndarray:
    """Return by how much the greatest mean exceeds the least."""
    return np.asarray(100 * (means.max(axis=0) / means.min(axis=0) - 1))


def _reserved(figure: str, low: float, high: float) -> Criterion:
    """Bound the change of a figure of RH by one reserved slot on the surge day."""
    told = f"{figure} of RH with one slot reserved - none"
    policies = ("rh", "rh:reserve=0")
    return _part(told, Excess(), figure, policies, low, high, day("surge"))


def _tight(fraction: float) -> Scenario:
    return day("surge", tight_fraction=fraction)


FINDINGS = (
    Claim(
        "Table 5.14, 1",
        "SPT has the lowest wait under saturation, and ties with EDF on miss",
        (*_least("spt", TEN, "wait_min"), _tied("spt", "edf", "miss_pct")),
    ),
    Claim(
        "Table 5.14, 2",
        "SPT+Rescue limits the starvation of tight deadlines under saturation",
        (
            _less("spt-rescue", "spt", "tight_miss_pct"),
            _less("spt-rescue", "fifo", "tight_miss_pct"),
        ),
    ),
    Claim(
        "Table 5.14, 3",
        "EDF misses about as little as SPT, at FIFO's wait; SPT waits less",
        (
            _tied("edf", "spt", "miss_pct"),
            _tied("edf", "fifo", "wait_min"),
            _less("spt", "edf", "wait_min"),
        ),
    ),
    Claim(
        "Table 5.14, 4",
        "On the surge day EDF misses least up to 30 % tight jobs, SPT from 50 % on",
        (
            *(
                part
                for share in (0.1, 0.3)
                for part in _least("edf", SEVEN, "miss_pct", _tight(share))
            ),
            *(
                part
                for share in (0.5, 0.7, 0.9)
                for part in _least("spt", SEVEN, "miss_pct", _tight(share))
            ),
        ),
    ),
    Claim(
        "Table 5.14, 5",
        "Over the month RH ties with CADR on miss and with SPT on wait, and beats"
        " SPT+Rescue on both",
        (
            _tied("rh", "cadr", "miss_pct", MONTH),
            _tied("rh", "spt", "wait_min", MONTH),
            _less("rh", "spt-rescue", "miss_pct", MONTH),
            _less("rh", "spt-rescue", "wait_min", MONTH),
        ),
    ),
    Claim(
        "Table 5.14, 6",
        "CADR misses about as little as RH at far lower tardiness, and beats SPT+Rescue"
        " on miss and wait",
        (
            _tied("cadr", "rh", "miss_pct"),
            _less("cadr", "rh", "tardiness_min", factor=0.4),
            _less("cadr", "rh", "tardiness_min", MONTH, factor=0.4),
            _less("cadr", "spt-rescue", "miss_pct"),
            _less("cadr", "spt-rescue", "wait_min"),
        ),
    ),
    Claim(
        "Table 6.1, 1",
        "For the fewest breached deadlines choose RH",
        _least("rh", TEN, "miss_pct"),
    ),
    Claim(
        "Table 6.1, 2",
        "Where lateness costs choose CADR, over 60 % less late than RH",
        (_less("cadr", "rh", "tardiness_min", factor=0.4),),
    ),
    Claim(
        "Table 6.1, 3",
        "For the least wait choose RH, tied with SPT",
        (
            _tied("rh", "spt", "wait_min"),
            *(
                _less("rh", other, "wait_min")
                for other in TEN
                if other not in ("rh", "spt")
            ),
        ),
    ),
    Claim(
        "Table 6.1, 4",
        "For the lowest cost neither: all ten lie within 1.5 %",
        (
            _part(
                "greatest over least mean cost of ten policies, %",
                OfMeans(_spread_pct),
                "cost_usd",
                TEN,
                -math.inf,
                1.5,
            ),
        ),
    ),
    Claim(
        "Section 5.3",
        "About a third of the tight jobs miss their deadline under FIFO",
        (_within("fifo", "tight_miss_pct", 25, 42),),
    ),
    Claim(
        "Section 5.3",
        "CADR beats Adaptive on wait, miss and tardiness",
        tuple(
            _less("cadr", "adaptive", figure)
            for figure in ("wait_min", "miss_pct", "tardiness_min")
        ),
    ),
    Claim(
        "Section 5.5.3",
        "With seven slots deadline-aware policies come near zero miss, FIFO does not",
        (
            *(
                _within(policy, "miss_pct", -math.inf, 1, day("hectic", slots=7))
                for policy in ("edf", "spt-rescue", "rh", "cadr")
            ),
            _within("fifo", "miss_pct", 1, math.inf, day("hectic", slots=7)),
        ),
    ),
    Claim(
        "Section 5.5.6",
        "One reserved slot cuts RH's miss on the surge day, at the price of wait",
        (_reserved("miss_pct", -math.inf, 0), _reserved("wait_min", 0, math.inf)),
    ),
    Claim(
        "Section 5.6",
        "EDF is the least late of all policies over the month",
        _least("edf", TEN, "tardiness_min", MONTH),
    ),
)
"""Findings of the thesis, each as tests on figures."""


LOOKED_AT = 10  # seeds of the runs whose records are examined
# shares of dispatches: "rarely" is below the first, "common" above the second
RARE_PCT, OFTEN_PCT = 5.0, 25.0


def _rare(figure: str, text: str, scenario: Scenario, most_pct: float) -> Criterion:
    told, measure = f"{scenario.name}: {text}", mean_of(scenario, "fifo", figure)
    return Criterion(told, measure, -math.inf, most_pct, LOOKED_AT)


RECORDED = (
    Claim(
        "Section 5.1.1",
        "Stock is rarely Low",
        (
            _rare(
                "low_stock_pct", "dispatches that meet Low stock, %", HECTIC, RARE_PCT
            ),
        ),
    ),
    Claim(
        "Section 5.5.1",
        "The surge day stays below saturation",
        (
            _rare(
                "queue_pct",
                "dispatches with over ten in the queue, %",
                day("surge"),
                OFTEN_PCT,
            ),
        ),
    ),
)
"""Findings that only records of runs can decide, under FIFO."""


# ---- Verdicts ----


def told(results: Results) -> list[Verdict]:
    """Return every finding with its verdict."""
    return [
        *(_told(finding, results) for finding in FINDINGS),
        *_of_single_runs(),
        *(
            Verdict(where, sentence, _verdict(holds), (reason,))
            for where, sentence, holds, reason in decided()
        ),
    ]


def _told(finding: Claim, results: Results) -> Verdict:
    verdicts, reasons = zip(*(_decided(part, results) for part in finding.parts))
    verdict = FAILS if FAILS in verdicts else OPEN if OPEN in verdicts else HOLDS
    against = tuple(reason for one, reason in zip(verdicts, reasons) if one != HOLDS)
    return Verdict(finding.where, finding.sentence, verdict, against or reasons)


def _decided(part: Criterion, results: Results) -> tuple[str, str]:
    n = results.replications or part.n
    values = results.sample(part.measure, n)
    statistic = part.measure.statistic
    centre = float(statistic(*values))
    half = half_width(deviation(statistic, values, n), n)
    low, high = centre - half, centre + half
    inside = part.low <= low and high <= part.high
    outside = high < part.low or low > part.high
    # equal values at few seeds do not show a deviation of 0
    unsure = half == 0 and too_few(n, part.n)
    verdict = OPEN if unsure else HOLDS if inside else FAILS if outside else OPEN
    remark = "needed" if verdict != HOLDS else "as said"
    interval = f" ± {half:.2f}" if math.isfinite(half) else " without an interval"
    return verdict, f"{part.text} {centre:+.2f}{interval}, {part.bounds} {remark}"


def _verdict(holds: bool) -> str:
    return HOLDS if holds else FAILS


def _records(scenario: Scenario) -> list[Run]:
    return [simulate(scenario, make_policy("fifo"), seed) for seed in range(LOOKED_AT)]


def _of_single_runs() -> Iterator[Verdict]:
    """Judge RECORDED, and other claims on the records of runs."""
    rarely, below = RECORDED
    hectic, late = _records(HECTIC), _records(day("hectic", clock="printed"))
    low_pct = float(np.mean([low_stock_pct(run) for run in hectic]))
    wait, without = (
        float(np.mean([run.summary()["wait_min"] for run in runs]))
        for runs in (hectic, late)
    )
    yield Verdict(
        rarely.where,
        rarely.sentence,
        _verdict(low_pct < RARE_PCT),
        (
            (
                f"{low_pct:.1f} % of a hectic day's dispatches meet Low stock; but they"
                f" make the wait: {wait:.0f} min, against {without:.0f} min where the"
                f" peak comes late (the clock as printed); {LOOKED_AT} seeds"
            ),
        ),
    )
    share = float(np.mean([queue_pct(run) for run in _records(day("surge"))]))
    yield Verdict(
        below.where,
        below.sentence,
        _verdict(share < OFTEN_PCT),
        (
            (
                "true of execution time alone (offered load"
                f" {day('surge').known().offered_load:.2f}); more than ten jobs wait at"
                f" {share:.0f} % of its dispatches; {LOOKED_AT} seeds"
            ),
        ),
    )
