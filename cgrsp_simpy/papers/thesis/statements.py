"""Sentences of the thesis, each restated as bounds on numbers; see `claims`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy

from cgrsp_simpy.papers.ledger import (
    DIFFERENT,
    REPRODUCED,
    Entry,
)
from cgrsp_simpy.papers.thesis.claims import Claim, Function, OfPrint, Part
from cgrsp_simpy.papers.thesis.experiments import (
    HECTIC,
    MONTH,
    NAMES,
    PRINTED_AS,
    SCORED,
    Excess,
    Measure,
    OfMeans,
    Source,
    Statistic,
    average,
    low_stock_pct,
    measure_of,
    pooled_d,
    queue_pct,
)
from cgrsp_simpy.papers.thesis.published import PRINTED
from cgrsp_simpy.papers.thesis.verdict import (
    composite_error,
    z_limit,
)
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.policies import make_policy
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.workload import DAYS
from cgrsp_simpy.studies.replicate import simulate

TEN = [policy for policy in NAMES.values() if policy != "cadr-oo"]
SEVEN = ("fifo", "spt", "edf", "lcf", "balanced", "random", "spt-rescue")
UNAWARE = ("fifo", "lcf", "balanced")  # policies that ignore deadlines
LARGE = 0.8  # |d| of a practically meaningful effect, thesis Section 5.1.3
LOOKED_AT = 10  # seeds of the runs whose records are examined
# shares of dispatches: "rarely" is below the first, "common" above the second
RARE_PCT, OFTEN_PCT = 5.0, 25.0
DEADLINE_S, THETA_S, LONGEST_S = 3600, 600, 150  # Section 4.5.8
WAIT, MISS, LATE, COST = "wait, min", "miss, %", "tardiness, min", "cost, USD"
THETAS = ("theta = 180 s", "theta = 600 s", "theta = 1200 s")
SERVICE_FIRST = tuple(  # rows in which cost weighs at most as much as service
    [f"w_cost = {weight}" for weight in (0.1, 0.3, 0.5)]
    + [f"ratio = {ratio}" for ratio in (1, 5, 10, 20, 50)]
)
MEAN_TIMES = replace(HECTIC, service=replace(HECTIC.service, sigma=(0.0, 0.0, 0.0)))
"""The hectic day with mean execution times in place of random ones."""
MEAN: Function = partial(np.mean, axis=0)  # over policies


# ---- Parts ----


def _part(
    text: str,
    statistic: Statistic,
    figure: str,
    policies: Sequence[str],
    low: float,
    high: float,
    scenario: Scenario | str = HECTIC,
    table: str = "",
) -> Part:
    name = scenario if isinstance(scenario, str) else scenario.name
    few = isinstance(scenario, str) or len(scenario.slots) != 5 or table == "5.7"
    measure = measure_of(statistic, scenario, figure, *policies)
    return Part(f"{name}: {text}", measure, low, high, 10 if few else 30, table)


def _less(
    a: str,
    b: str,
    figure: str,
    scenario: Scenario | str = HECTIC,
    factor: float = 1.0,
    table: str = "",
) -> Part:
    """Require a metric of policy a to be less than `factor` times that of b."""
    times = "" if factor == 1 else f"{factor:g} x "
    return _part(
        f"{figure} of {PRINTED_AS[a]} - {times}{PRINTED_AS[b]}",
        Excess(factor),
        figure,
        (a, b),
        -math.inf,
        0.0,
        scenario,
        table,
    )


def _least(
    policy: str,
    others: Sequence[str],
    figure: str,
    scenario: Scenario | str = HECTIC,
    table: str = "",
) -> tuple[Part, ...]:
    return tuple(
        _less(policy, other, figure, scenario, table=table)
        for other in others
        if other != policy
    )


def _tied(a: str, b: str, figure: str, scenario: Scenario | str = HECTIC) -> Part:
    """Require no practically meaningful effect between two policies."""
    return _part(
        f"Cohen's d of {figure}, {PRINTED_AS[a]} against {PRINTED_AS[b]}",
        pooled_d,
        figure,
        (a, b),
        -LARGE,
        LARGE,
        scenario,
    )


def _within(
    policy: str, figure: str, low: float, high: float, scenario: Scenario | str = HECTIC
) -> Part:
    return _part(
        f"{figure} of {PRINTED_AS[policy]}",
        average,
        figure,
        (policy,),
        low,
        high,
        scenario,
    )


def _tight(fraction: float) -> Scenario:
    return day("surge", tight_fraction=fraction)


def _column(
    text: str,
    function: Function,
    low: float,
    high: float,
    table: str,
    column: str,
    *rows: str,
) -> Part:
    return Part(text, OfPrint(function, table, column, rows), low, high)


def _sum(
    text: str, value: Callable[[], Any], low: float, high: float, source: str
) -> Part:
    """Bound a number computed from what the source prints."""
    return Part(text, OfPrint(lambda _: value(), source=source), low, high)


def _of_means(
    text: str,
    function: Function,
    low: float,
    high: float,
    sources: Sequence[Source],
    n: int = 30,
) -> Part:
    return Part(text, Measure(OfMeans(function), tuple(sources)), low, high, n)


def _spread_pct(means: np.ndarray) -> np.ndarray:
    return np.asarray(100 * (means.max(axis=0) / means.min(axis=0) - 1))


def _opposed(means: np.ndarray) -> np.ndarray:
    """Return a number below 0 if neither of two policies is better on both metrics."""
    return np.asarray((means[0] - means[1]) * (means[2] - means[3]))


def _slower(means: np.ndarray) -> np.ndarray:
    """Return the smallest excess of a decrease of the means over the next decrease."""
    return np.asarray(np.diff(means, n=2, axis=0).min(axis=0))


def _change_pct(means: np.ndarray) -> np.ndarray:
    half = len(means) // 2
    return np.asarray(abs(100 * (means[:half] / means[half:] - 1)).max(axis=0))


def _scores(table: str, *rows: str) -> np.ndarray:
    return np.array([PRINTED[table].rows[row] for row in rows], float)


def _won(policy: str, table: str, *rows: str) -> int:
    """Return the number of rows in which a policy has the lowest composite score."""
    place = PRINTED[table].columns.index(policy)
    return int(np.sum(_scores(table, *rows).argmin(axis=1) == place))


def _lead(policy: str, other: str, table: str, row: str) -> float:
    scores = dict(zip(PRINTED[table].columns, _scores(table, row)[0]))
    return float(scores[other] - scores[policy])


def _other_ranks(row: str) -> int:
    """Return how many places of the ranking differ between Tables 5.11 and 5.12."""
    one, other = (_scores(table, row)[0].argsort() for table in ("5.11", "5.12"))
    return int(np.sum(one != other))


def _d_of_intervals(pair: str, column: str) -> float:
    """Return Cohen's d of two policies from their intervals in Table 5.2."""
    place, n = PRINTED["5.2"].columns.index(column), PRINTED["5.2"].n
    (one, low), (other, least) = (
        [float(text) for text in re.findall(r"[\d.]+", cells[place])[:2]]
        for cells in (PRINTED["5.2"].rows[name] for name in pair.split(" vs "))
    )
    pooled = math.hypot(one - low, other - least) / math.sqrt(2)
    return (one - other) * z_limit(n) / (pooled * math.sqrt(n))


def _hours(name: str) -> float:
    """Return the arrival period of a day, hours, from the number and rate of jobs."""
    rate_per_s, jobs = DAYS[name]
    return jobs / rate_per_s / 3600


def _error_of_p() -> float:
    """Return the largest difference between a printed p of Table 5.3 and that of t."""
    t, p = (np.array(OfPrint(max, "5.3", name).figures(), float) for name in ("t", "p"))
    of_t = 2 * scipy.special.stdtr(PRINTED["5.3"].n - 1, -abs(t))
    # "< 0.001" is read as 0.001
    return float(np.max(np.where(p > 0.001, abs(of_t - p), np.maximum(of_t - p, 0))))


CLAIMS: tuple[Claim, ...] = (
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
        tuple(
            _part(
                f"{figure} of RH with one slot reserved - none",
                Excess(),
                figure,
                ("rh", "rh:reserve=0"),
                low,
                high,
                day("surge"),
            )
            for figure, low, high in (
                ("miss_pct", -math.inf, 0),
                ("wait_min", 0, math.inf),
            )
        ),
    ),
    Claim(
        "Section 5.6",
        "EDF is the least late of all policies over the month",
        _least("edf", TEN, "tardiness_min", MONTH),
    ),
    Claim(
        "Section 5.3",
        "SPT has the lowest hectic wait",
        _least("spt", TEN, "wait_min"),
    ),
    Claim(
        "Section 6.1.1",
        "RH has the fewest breaches over the month",
        _least("rh", TEN, "miss_pct", MONTH),
    ),
    Claim(
        "Section 6.1.1",
        "CADR has less miss and wait than SPT+Rescue over the month",
        (
            _less("cadr", "spt-rescue", "miss_pct", MONTH),
            _less("cadr", "spt-rescue", "wait_min", MONTH),
        ),
    ),
    Claim(
        "Section 5.6",
        "SPT+Rescue has less wait and miss than EDF over the month",
        (
            _less("spt-rescue", "edf", "wait_min", MONTH),
            _less("spt-rescue", "edf", "miss_pct", MONTH),
        ),
    ),
    Claim(
        "Section 6.1.1",
        "Neither of RH and CADR dominates the other on miss and tardiness",
        tuple(
            _of_means(
                f"{name}: difference of misses times that of tardiness",
                _opposed,
                -math.inf,
                0,
                [
                    Source(scenario, policy, figure)
                    for figure in ("miss_pct", "tardiness_min")
                    for policy in ("rh", "cadr")
                ],
                n,
            )
            for name, scenario, n in (("hectic", HECTIC, 30), (MONTH, MONTH, 10))
        ),
    ),
    Claim(
        "Section 5.4",
        "EDF cuts FIFO's miss by almost as much as SPT",
        (_part("miss_pct of EDF - SPT", Excess(), "miss_pct", ("edf", "spt"), 0, 2),),
    ),
    Claim(
        "Section 5.5.7",
        "At ten seeds, too, RH has the least wait and the least miss",
        tuple(
            part
            for figure in ("wait_min", "miss_pct")
            for part in _least("rh", SCORED, figure, table="5.7")
        ),
    ),
    Claim(
        "Sections 5.5.7 and 6.1",
        "EDF and CADR have the lowest tardiness",
        tuple(
            _less(policy, other, "tardiness_min")
            for policy in ("edf", "cadr")
            for other in TEN
            if other not in ("edf", "cadr")
        ),
    ),
    Claim(
        "Section 5.5.2",
        "Up to 30 % tight jobs SPT+Rescue misses second least",
        tuple(
            _less("spt-rescue", other, "miss_pct", _tight(share))
            for share in (0.1, 0.3)
            for other in SEVEN
            if other not in ("edf", "spt-rescue")
        ),
    ),
    Claim(
        "Figure 5.4",
        "On a normal day all policies wait less than 10 min",
        tuple(
            _within(policy, "wait_min", -math.inf, 10, day("normal"))
            for policy in SEVEN
        ),
    ),
    Claim(
        "Section 5.5.3",
        "Each further slot saves fewer misses than the one before",
        tuple(
            _of_means(
                f"{policy}: least excess of a fall of the miss over the next, from 3 to"
                " 5, 7 and 10 slots",
                _slower,
                0,
                math.inf,
                [
                    Source(day("hectic", slots=slots), policy, "miss_pct")
                    for slots in (3, 5, 7, 10)
                ],
                10,
            )
            for policy in ("fifo", "spt", "edf", "spt-rescue", "rh", "cadr", "adaptive")
        ),
    ),
    Claim(
        "Sections 6.1 and 6.3",
        "FIFO, LCF and Balanced miss about 22 %",
        (_part("mean miss_pct", OfMeans(MEAN), "miss_pct", UNAWARE, 21.5, 22.5),),
    ),
    Claim(
        "Section 5.5.1",
        "FIFO, LCF and Balanced miss about 23 %",
        (_part("mean miss_pct", OfMeans(MEAN), "miss_pct", UNAWARE, 22.5, 23.5),),
    ),
    Claim(
        "Section 3.8, Remark 1",
        "Mean execution times instead of random ones change hectic means by under 2 %",
        tuple(
            _of_means(
                f"greatest change of {figure} of the ten policies, %",
                _change_pct,
                -math.inf,
                2,
                [
                    Source(scenario, policy, figure)
                    for scenario in (HECTIC, MEAN_TIMES)
                    for policy in TEN
                ],
            )
            for figure in ("wait_min", "miss_pct", "tardiness_min", "cost_usd")
        ),
    ),
    Claim(
        "Figure 5.7",
        "Quiet days of the month have waits below 1 min",
        tuple(
            _within(policy, "wait_min", -math.inf, 1, f"{MONTH} quiet")
            for policy in TEN
        ),
    ),
    # arithmetic on what is printed
    Claim(
        "Section 4.5.8",
        "Miss varies by 2.28 points over theta = 180, 600 and 1200 s, least at 600 s",
        (
            _column("spread", np.ptp, 2.275, 2.285, "5.8", MISS, *THETAS),
            _column(
                "miss at 600 s less the least",
                lambda miss: miss[1] - miss.min(),
                -math.inf,
                0,
                "5.8",
                MISS,
                *THETAS,
            ),
        ),
    ),
    Claim(
        "Section 5.5.4",
        "Miss varies by 2.28 points over all five theta",
        (_column("spread", np.ptp, 2.265, 2.295, "5.8", MISS),),
    ),
    Claim(
        "Section 4.5.8",
        "A job that enters the rescue tier ends with at least 2,850 s to its deadline",
        (
            _sum(
                "seconds left to a job that is dispatched as it enters",
                lambda: THETA_S,
                DEADLINE_S - THETA_S - LONGEST_S,
                math.inf,
                f"its laxity is {THETA_S} s; {DEADLINE_S} - {THETA_S} - {LONGEST_S} s"
                " have passed since its arrival",
            ),
        ),
    ),
    Claim(
        "Section 5.5.4",
        "The mean wait varies by roughly eight minutes over theta",
        (_column("spread", np.ptp, 7, 9, "5.8", WAIT),),
    ),
    Claim(
        "Section 5.5.4",
        "theta = 180 s would save a fraction of a percentage point",
        (
            _column(
                "miss at 600 s less that at 180 s",
                lambda miss: miss[1] - miss[0],
                0,
                1,
                "5.8",
                MISS,
                *THETAS[:2],
            ),
        ),
    ),
    Claim(
        "Section 5.5.5",
        "CADR's miss varies by 2.13 points over CR*",
        (_column("spread", np.ptp, 2.125, 2.135, "5.9", MISS),),
    ),
    Claim(
        "Section 5.5.6",
        "Two or three reserved slots lower the tight miss of one slot further",
        tuple(
            _column(
                f"tight miss with {number} slots less that with one",
                lambda miss: miss[1] - miss[0],
                -math.inf,
                0,
                "5.10",
                "tight miss, %",
                "surge, 1 reserved",
                f"surge, {number} reserved",
            )
            for number in (2, 3)
        ),
    ),
    Claim(
        "Section 5.2",
        "EDF's miss on seed 42 is near SPT's",
        (
            _column(
                "share of SPT's, %",
                lambda miss: 100 * miss[1] / miss[0],
                80,
                125,
                "5.1",
                MISS,
                "SPT",
                "EDF",
            ),
        ),
    ),
    Claim(
        "Section 5.3",
        "Table 5.3 has 22 comparisons, of which 15 are significant",
        (
            _column("comparisons", len, 22, 22, "5.3", "p"),
            _column("significant", lambda p: np.sum(p < 0.05), 15, 15, "5.3", "p"),
        ),
    ),
    Claim(
        "Section 5.3",
        "Of 22 comparisons 15 stay significant after Holm's correction",
        (
            _column(
                "greatest p of a significant one, 0.003, by Holm",
                lambda p: (22 - 15 + 1) * p[p < 0.05].max(),
                0,
                0.05,
                "5.3",
                "p",
            ),
        ),
    ),
    Claim(
        "Section 5.3",
        "The p-values are those of Student's t",
        (_sum("greatest difference", _error_of_p, 0, 0.00051, "Table 5.3"),),
    ),
    *(
        Claim(
            "Table 5.3",
            f"Cohen's d of {row} follows from the intervals of Table 5.2",
            (
                _sum(
                    "d",
                    partial(_d_of_intervals, pair, column),
                    float(cells[-1]) - 0.02,
                    float(cells[-1]) + 0.02,
                    "Table 5.2",
                ),
            ),
        )
        for row, cells in PRINTED["5.3"].rows.items()
        for pair, name in [row.split(", ")]
        for column in [WAIT if name == "wait" else MISS]
    ),
    Claim(
        "Section 5.1.2",
        "Student's t of 95 % with 9 degrees of freedom is 2.262",
        (_sum("t", lambda: z_limit(10), 2.2615, 2.2625, "10 replications"),),
    ),
    Claim(
        "Section 5.1.1",
        "Jobs arrive for about 2.1, 13.9, 2.6 and 10.1 h",
        tuple(
            _sum(
                f"{name}: hours",
                partial(_hours, name),
                hours - 0.05,
                hours + 0.05,
                "jobs and rate per second",
            )
            for name, hours in (
                ("quiet", 2.1),
                ("normal", 13.9),
                ("hectic", 2.6),
                ("surge", 10.1),
            )
        ),
    ),
    Claim(
        "Section 3.7",
        "For a job of medium complexity the RTX 3090 is faster than the A4000",
        (
            _column(
                "mean time on the RTX 3090 less that on the A4000, s",
                lambda seconds: seconds[0] - seconds[1],
                -math.inf,
                0,
                "4.1",
                "kappa 2, s",
                "RTX 3090",
                "RTX A4000",
            ),
        ),
    ),
    Claim(
        "Section 6.1.1",
        "The dearest policy is CADR at $6.13, 1.46 % above SPT",
        (
            _column("greatest cost", np.max, 6.125, 6.135, "5.2", COST),
            _column(
                "CADR's cost over SPT's, %",
                lambda cost: 100 * (cost[0] / cost[1] - 1),
                1.455,
                1.465,
                "5.2",
                COST,
                "CADR",
                "SPT",
            ),
        ),
    ),
    Claim(
        "Figure 5.7",
        "Waits of hectic days in the month are 152 to 190 min",
        (
            _column(
                "least wait on the same day with the same slots",
                np.min,
                152,
                190,
                "5.2",
                WAIT,
            ),
        ),
    ),
    Claim(
        "Section 5.6",
        "FIFO misses about 277, SPT about 167 deadlines of a hectic day",
        tuple(
            _column(
                f"{policy}: its rate of 950",
                lambda miss: 950 * miss[0] / 100,
                number - 1,
                number + 1,
                "Section 5.6",
                "hectic miss, %",
                policy,
            )
            for policy, number in (("FIFO", 277), ("SPT", 167))
        ),
    ),
    Claim(
        "Section 5.6",
        "SPT misses about 110 deadlines fewer than FIFO on a hectic day",
        (
            _column(
                "difference of the rates, of 950",
                lambda miss: 950 * (miss[0] - miss[1]) / 100,
                105,
                115,
                "Section 5.6",
                "hectic miss, %",
                "FIFO",
                "SPT",
            ),
        ),
    ),
    Claim(
        "Section 5.6",
        "From FIFO to RH the month's miss falls by about half",
        (
            _column(
                "fall, %",
                lambda miss: 100 * (1 - miss[0] / miss[1]),
                40,
                60,
                "5.13",
                MISS,
                "RH",
                "FIFO",
            ),
        ),
    ),
    Claim(
        "Section 6.1",
        "More than five slots are needed for a miss below 20 % over the month",
        (_column("greatest miss with five slots, %", np.max, 20, 100, "5.13", MISS),),
    ),
    Claim(
        "Eq. 3.10",
        "The objective adds seconds of wait and numbers of missed deadlines",
        (
            _sum(
                "greatest error of Table 5.11 from minutes and per cents of Table 5.7",
                composite_error,
                0.01,
                math.inf,
                "Table 5.7 at C_max = 5",
            ),
        ),
    ),
    Claim(
        "Section 3.4",
        "Tardiness in place of the miss gives the same ranking of policies",
        (
            _sum(
                "places of the ranking that differ",
                lambda: _other_ranks("ratio = 10"),
                0,
                0,
                "Tables 5.11 and 5.12 at a ratio of 10",
            ),
        ),
    ),
    Claim(
        "Section 5.5.7",
        "RH wins whenever service is weighted at least as heavily as cost",
        (
            _sum(
                "rows that it wins, of eight",
                lambda: _won("RH", "5.11", *SERVICE_FIRST),
                8,
                8,
                "Table 5.11, w_cost up to 0.5",
            ),
        ),
    ),
    Claim(
        "Section 5.5.7",
        "SPT wins where cost dominates, and with tardiness at every ratio",
        (
            _sum(
                "rows that it wins, of two",
                lambda: _won("SPT", "5.11", "w_cost = 0.7", "w_cost = 0.9"),
                2,
                2,
                "Table 5.11, w_cost from 0.7",
            ),
            _sum(
                "rows that it wins, of five",
                lambda: _won("SPT", "5.12", *PRINTED["5.12"].rows),
                5,
                5,
                "Table 5.12",
            ),
        ),
    ),
    Claim(
        "Section 5.5.7",
        "FIFO and EDF are clearly inferior under every weighting",
        (
            _sum(
                "EDF less CADR",
                lambda: _lead("CADR", "EDF", "5.11", "w_cost = 0.9"),
                0,
                1,
                "Table 5.11, w_cost = 0.9",
            ),
        ),
    ),
    Claim(
        "Section 6.1.1",
        "Under any tardiness-weighted objective CADR is better than RH",
        (
            _sum(
                "CADR less RH",
                lambda: _lead("RH", "CADR", "5.12", "ratio = 1"),
                -math.inf,
                0,
                "Table 5.12, ratio = 1",
            ),
        ),
    ),
    *(
        Claim(
            "Section 6.1.1",
            f"CADR is over 60 % less late than RH {when}",
            (
                _column(
                    "less, %",
                    lambda late: 100 * (1 - late[1] / late[0]),
                    60,
                    100,
                    table,
                    LATE,
                    "RH",
                    "CADR",
                ),
            ),
        )
        for table, when in (("5.2", "on the hectic day"), ("5.13", "over the month"))
    ),
    Claim(
        "Section 6.1",
        "SPT's wait is about 20 % below FIFO's",
        (
            _column(
                "less, %",
                lambda wait: 100 * (1 - wait[0] / wait[1]),
                18,
                22,
                "5.2",
                WAIT,
                "SPT",
                "FIFO",
            ),
        ),
    ),
    Claim(
        "Section 5.5.7",
        "Costs of the policies differ by noise only",
        (_column("spread over the month, %", _spread_pct, 0, 2, "5.13", COST),),
    ),
)
"""Sentences, each with the numbers that decide it."""


def of_records() -> Iterator[Entry]:
    """Yield the sentences that only records of runs can decide, under FIFO."""
    hectic, late, surge = (
        [simulate(scenario, make_policy("fifo"), seed) for seed in range(LOOKED_AT)]
        for scenario in (HECTIC, day("hectic", clock="printed"), day("surge"))
    )
    low_pct, queued_pct = (
        float(np.mean([share(run) for run in runs]))
        for share, runs in ((low_stock_pct, hectic), (queue_pct, surge))
    )
    wait, without = (
        float(np.mean([run.summary()["wait_min"] for run in runs]))
        for runs in (hectic, late)
    )
    yield Entry(
        "Section 5.1.1",
        "Stock is rarely Low",
        REPRODUCED if low_pct < RARE_PCT else DIFFERENT,
        reason=f"{low_pct:.1f} % of a hectic day's dispatches meet Low stock, less than"
        f" {RARE_PCT:g} as said; but they make the wait: {wait:.0f} min, against"
        f" {without:.0f} min if the peak comes late (the clock as printed);"
        f" {LOOKED_AT} seeds",
    )
    load = day("surge").known().offered_load
    yield Entry(
        "Section 5.5.1",
        "The surge day stays below saturation",
        REPRODUCED if queued_pct < OFTEN_PCT else DIFFERENT,
        reason=f"true of execution time alone (offered load {load:.2f}); more than ten"
        f" jobs wait at {queued_pct:.0f} % of its dispatches, less than {OFTEN_PCT:g}"
        f" needed; {LOOKED_AT} seeds",
    )
