"""Every printed statement of the paper on waiting policies, as entries of the ledger.

Numbers of Sections 3 and 4 are recomputed by its formulas; its log is not public.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.queueing import Servers
from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.papers.ledger import (
    CONTRADICTED,
    DIFFERENT,
    Entry,
    Setting,
    claimed,
    compared,
    settings,
    untestable,
)
from cgrsp_simpy.papers.waiting.figures import (
    FIGURE_18_H,
    FIGURE_18_MIN,
    YEARS_3_H,
    table1,
)
from cgrsp_simpy.papers.waiting.run_figures import (
    AMPLE,
    LOAD,
    MACHINE,
    PATIENCE_S,
    RATE_PER_S,
    SERVICE_S,
    SHORT_S,
)
from cgrsp_simpy.waiting.formulas import analyze, closed_form, optimum
from cgrsp_simpy.waiting.machines import PAPER_PRICES
from cgrsp_simpy.waiting.policies import (
    BASELINE_SHORT_S,
    BASELINE_WAIT_S,
    Mispredictions,
    waiting_policy,
)

AROUND = np.arange(80, 121)  # machines, around the 100 that are always busy
# places of 90 and of 101 machines among these
AT_90 = 10
TIGHT = 21
ON_DEMAND_USD = 0.096
LARGE_USD_PER_H, LARGE_3_YEARS_USD = 3.072, 16_046  # m5.16xlarge, Section 6.1
CLUSTER_PRICE, COMPOUND_PRICE, CLUSTER_USD = 0.6, 0.571, 2_421_965  # Section 6.2
CORES = 14_376  # Section 6.1
JOBS_PER_S, MEAN_RUN_S, YEAR_H, CLUSTER_WAIT_H = 0.4527, 6225, 8760, 13.3
POLICIES = ("njw", "ajw", "ajw-t", "sww", "ljw", "compound")
DRAWS = "cgrsp papers figures waiting"
BY_FORMULA = "by the formulas"
AMONG_PRINTED = "from the printed numbers"
NO_LOG = "the log of 14 million jobs is not public"
NO_NUMBERS = "no numbers except the text's"
by_formula = partial(compared, reason=BY_FORMULA, otherwise=DIFFERENT)


def entries(*_: object) -> list[Entry]:
    """Return Table 1, the numbers of the text, and what the figures print."""
    return [
        *_table_one(),
        *_of_formulas(),
        *_of_figures(),
        *_numbers_of_the_log(),
        *_claims_of_the_log(),
        *settings(SETTINGS),
        *untestable(NOT_TESTABLE),
    ]


def _at(
    policy: str,
    servers: Servers,
    wait_s: float = 0.0,
    short_s: float = 0.0,
    **errors: float,
) -> tuple[Floats, Floats]:
    """Return the price of a policy over that on demand, and its wait in seconds."""
    state = closed_form(
        waiting_policy(policy, wait_s=wait_s, short_s=short_s),
        RATE_PER_S,
        SERVICE_S,
        servers,
        errors=Mispredictions(**errors),
    )
    return state.price / PAPER_PRICES.on_demand, state.wait_s


def _best(policy: str, **how: Any) -> dict[str, float]:
    """Return the metrics of a policy at its cheapest number of machines."""
    return optimum(policy, RATE_PER_S, SERVICE_S, duration_h=YEARS_3_H, **how)


def _table_one() -> list[Entry]:
    return [
        by_formula(
            "Table 1",
            f"{row['option']}, {row['utilisation_pct']} %, {what}",
            f"{row[f'printed_{column}']:{form}}",
            row[column],
        )
        for row in table1.rows(None)
        for what, column, form in (
            ("cents/h", "effective_cents_per_h", "g"),
            ("USD in 3 years", "three_years_usd", ","),
        )
    ]


def _of_formulas() -> list[Entry]:
    price, wait_s = (
        dict(zip((101, 108, 120, 250), values.tolist()))
        for values in _at("ajw", [101, 108, 120, 250])
    )
    best = _best("njw")
    ljw_price, ljw_wait_s = (
        value.item() for value in _at("ljw", 101, short_s=BASELINE_SHORT_S)
    )
    njw = best["price"] / PAPER_PRICES.on_demand
    usd = best["cost"] * ON_DEMAND_USD / PAPER_PRICES.on_demand
    on_demand_usd = RATE_PER_S * SERVICE_S * ON_DEMAND_USD * YEARS_3_H
    longest = int(AROUND[_at("sww", AROUND, BASELINE_WAIT_S)[1].argmax()])
    compound = analyze(
        "compound",
        RATE_PER_S,
        SERVICE_S,
        90,
        wait_s=BASELINE_WAIT_S,
        short_s=BASELINE_SHORT_S,
    )
    numbers: Sequence[tuple[Any, ...]] = (
        ("3.1", "AJW, price at s = 250", "1", price[250]),
        (
            "3.1",
            "AJW, s = 120 below s = 250, %",
            "52",
            100 * (1 - price[120] / price[250]),
        ),
        ("3.1", "AJW, s = 120 above s = 100, %", "20", 100 * (price[120] / 0.4 - 1)),
        ("3.1", "AJW, wait at s = 120, s", "about 0", wait_s[120], 3),
        ("3.2", "NJW, best s", "108", best["servers"]),
        ("3.2", "NJW, price at its best", "0.467", njw),
        ("3.2", "NJW, share on demand", "0.035", best["on_demand_fraction"]),
        ("3.2", "NJW, USD in 3 years", "117,818", usd, 120),
        ("3.2", "on demand alone, USD in 3 years", "252,288", on_demand_usd),
        ("3.2", "AJW, price at s = 108", "0.432", price[108]),
        (
            "3.2",
            "AJW below NJW at s = 108, %",
            "about 7.5",
            100 * (1 - price[108] / njw),
        ),
        ("3.2", "AJW, wait at s = 108, s", "20", wait_s[108], 2),
        ("4.1", "SWW, s of the longest wait, b = 900 s", "93", longest),
        ("4.2", "AJW, wait at s = 101, s", "450", wait_s[101], 10),
        ("4.2", "LJW, wait at s = 101, t = 180 s, s", "near 0", ljw_wait_s, 5),
        (
            "4.2",
            "LJW above AJW, %",
            "about 10",
            100 * (ljw_price / price[101] - 1),
            2,
        ),
    )
    return [
        *(
            by_formula(
                *(f"Section {section}", what, text, ours),
                within=within[0] if within else None,
            )
            for section, what, text, ours, *within in numbers
        ),
        by_formula(
            "Eq. 26",
            "compound, wait at s = 90, s",
            f"{compound['wait_s_as_printed']:.1f}",
            compound["wait_s"],
            reason="as printed, and with the patience in units of the long jobs",
            within=0.05 * compound["wait_s"],
        ),
    ]


Curves = dict[str, Floats]  # policy -> values for 80 to 120 machines
Sentence = tuple[str, str, Any, str]  # place, claim, whether it holds, our values


def _of_figures() -> list[Entry]:
    """Judge the sentences about the curves."""
    price, wait_s = (
        dict(zip(POLICIES, curves))
        for curves in zip(
            *(_at(name, AROUND, BASELINE_WAIT_S, BASELINE_SHORT_S) for name in POLICIES)
        )
    )
    sentences = (
        *_on_limited_waits(wait_s),
        *_on_policies(price, wait_s),
        *_on_predictions(price, wait_s),
    )
    return [
        claimed(where, text, bool(holds), ours=ours, reason=BY_FORMULA)
        for where, text, holds, ours in sentences
    ]


def _sww_s(**errors: float) -> Floats:
    """Return the wait of SWW with mispredicted waits, seconds."""
    return _at("sww", AROUND, BASELINE_WAIT_S, **errors)[1]


def _on_limited_waits(wait_s: Curves) -> list[Sentence]:
    """Return the sentences on Figures 4 to 9, on AJW-T and SWW."""
    limits_s = (60.0, 300.0, 900.0, 3600.0)
    by_limit_s = [_at("ajw-t", AROUND, limit_s)[1] for limit_s in limits_s]
    cheapest = [_best("ajw-t", wait_s=limit_s)["servers"] for limit_s in limits_s]
    shares = (0.0, 0.05, 0.5, 0.9)
    cheapest_sww = [
        _best("sww", wait_s=BASELINE_WAIT_S, errors=Mispredictions(wait_over=share))
        for share in shares
    ]
    over = [best["servers"] for best in cheapest_sww]
    njw = _best("njw")["servers"]
    return [
        (
            "Figure 4",
            "the best s decreases as b increases",
            _falls(cheapest),
            _list(cheapest),
        ),
        ("Figure 5", "the wait increases with b", _falls(by_limit_s[::-1]), ""),
        (
            "Figure 6",
            "SWW's wait is always less than that of AJW-T",
            _falls([wait_s["ajw-t"], wait_s["sww"]]),
            "",
        ),
        (
            "Figure 7",
            "as f_over increases to one, the best s approaches NJW's",
            abs(over[-1] - njw) < abs(over[0] - njw),
            f"{_list(over)} for f_over of {_list(shares)}; NJW {njw:g}",
        ),
        (
            "Figure 8",
            "the wait decreases as f_over increases",
            _falls([_sww_s(wait_over=share) for share in shares]),
            "",
        ),
        (
            "Figure 9",
            "the wait increases with f_under",
            _falls([_sww_s(wait_under=share) for share in reversed(shares)]),
            "",
        ),
        (
            "Figure 9",
            "until it is that of AJW-T",
            np.allclose(_sww_s(wait_under=1.0), wait_s["ajw-t"]),
            "",
        ),
    ]


def _on_policies(price: Curves, wait_s: Curves) -> list[Sentence]:
    """Return the sentences on Figures 10 to 13, on LJW and the compound policy."""
    cost = {name: price[name] * wait_s[name] for name in POLICIES}
    ljw, njw = (price[name][TIGHT] for name in ("ljw", "njw"))
    return [
        (
            "Figure 10",
            "at t = 180 s LJW's price is slightly lower than NJW's",
            ljw < njw,
            f"{ljw:.3f}; NJW {njw:.3f}",
        ),
        (
            "Figure 12",
            "the compound policy's wait is at most that of LJW",
            _falls([wait_s["ljw"], wait_s["compound"]]),
            "",
        ),
        (
            "Figure 13",
            "the compound policy has the lowest opportunity cost",
            all(_falls([cost[name], cost["compound"]]) for name in POLICIES[1:]),
            "",
        ),
    ]


def _on_predictions(price: Curves, wait_s: Curves) -> list[Sentence]:
    """Return the sentences of Sections 4.1.1, 6.3 and 6.4."""
    sww, limit = wait_s["sww"], wait_s["ajw-t"]
    all_under = _sww_s(wait_under=1.0)
    least = _sww_s(wait_over=0.9).max()
    ljw, ajw = ((price[name][TIGHT], wait_s[name][TIGHT]) for name in ("ljw", "ajw"))
    return [
        (
            "Section 4.1.1",
            "under-predictions: (1 - f_under) r for r in the wait of AJW-T",
            _falls([sww, limit]),
            f"without errors the wait of AJW-T, {limit[AT_90]:.0f} s at s = 90;"
            f" SWW {sww[AT_90]:.0f} s",
        ),
        (
            "Section 6.3",
            "the compound policy's wait is 0 as b approaches 0",
            _at("compound", AROUND, 0.0, BASELINE_SHORT_S)[1].max() == 0,
            "b = 0",
        ),
        (
            "Section 6.4",
            "SWW's wait approaches 0 as f_over increases",
            round(least) == 0,
            f"at most {least:.2g} s if 90% are over-predicted",
        ),
        (
            "Section 6.4",
            "as in the model, SWW's wait falls monotonically to 0 as s increases",
            _falls(sww.tolist()),
            f"{sww[0]:.0f} s at s = {AROUND[0]}, {sww[AT_90]:.0f} s at s = 90;"
            " Section 4.1: longest at 93",
        ),
        (
            "Section 6.4",
            "SWW's wait approaches 0 as f_under increases",
            all_under[AT_90] < sww[AT_90],
            f"{sww[AT_90]:.0f} s without errors, {all_under[AT_90]:.0f} s if all are"
            " under-predicted, at s = 90; the same sentence: it increases",
        ),
        (
            "Section 6.4",
            "under-predicted running times hardly change LJW's price, and lengthen"
            " waits; over-predicted ones increase the price and shorten waits",
            ajw[0] > ljw[0] and ajw[1] < ljw[1],
            f"LJW {ljw[0]:.3f} and {ljw[1]:.0f} s; all jobs predicted to be long, as"
            f" under AJW, {ajw[0]:.3f} and {ajw[1]:.0f} s; all short, on demand without"
            " a wait (as Section 4.2.1 has it)",
        ),
    ]


def _falls(values: Sequence[Any]) -> bool:
    """Return whether no value is greater than the one before, except for rounding."""
    return all(np.all(b <= a + 1e-9) for a, b in pairwise(values))


def _list(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _numbers_of_the_log() -> list[Entry]:
    """Recompute numbers about the log, in Sections 3 to 6, from each other."""
    usd = CLUSTER_USD * COMPOUND_PRICE / CLUSTER_PRICE
    gaps_pct = -100 * math.expm1(-JOBS_PER_S)
    numbers: Sequence[tuple[Any, ...]] = (
        ("6.2", "cluster, USD per hour", "276.48", CLUSTER_USD / YEAR_H),
        ("6.2", "compound, USD per year", "2,304,903", usd),
        ("6.2", "compound below the cluster, USD", "100,000", CLUSTER_USD - usd, 2e4),
        ("6.2", "compound below on demand, %", "43", 100 * (1 - COMPOUND_PRICE)),
        (
            "6.2",
            "compound below the cluster, %",
            "5",
            100 * (1 - COMPOUND_PRICE / CLUSTER_PRICE),
        ),
        ("6.2", "shorter wait, times", "7", CLUSTER_WAIT_H / 1.74),
        (
            "6.1",
            "cluster, USD per year",
            "2,421,965",
            LARGE_USD_PER_H * 0.4 * 225 * YEAR_H,
        ),
        ("6.1", f"cluster of {CORES:,} cores in machines of 64", "225", CORES / 64),
        ("5", "cluster, thousands of cores", "14.3", CORES / 1000),
        ("5", "jobs in the year, millions", "14", JOBS_PER_S * YEAR_H * 0.0036),
        ("6.1", "mean running time, h", "1.73", MEAN_RUN_S / 3600),
        (
            "6.1",
            "exponential running times of up to 3 minutes, %",
            "3",
            -100 * math.expm1(-180 / MEAN_RUN_S),
        ),
        ("6.1", "exponential gaps of up to a second, %", "less than 40", gaps_pct, 5),
        ("3.2", "NJW above AJW, %", "7.5", 100 * (0.467 / 0.432 - 1)),
    )
    return [
        *(
            compared(f"Section {section}", what, text, ours, AMONG_PRINTED, *within)
            for section, what, text, ours, *within in numbers
        ),
        compared(
            "Section 6.1",
            "discount of m5.16xlarge, 3 years over on demand",
            "about 0.4",
            LARGE_3_YEARS_USD / (LARGE_USD_PER_H * YEARS_3_H),
            reason=f"${LARGE_3_YEARS_USD:,} over {YEARS_3_H:,} h at"
            f" ${LARGE_USD_PER_H}, which is printed as $3,072/hour",
        ),
    ]


def _claims_of_the_log() -> list[Entry]:
    """Judge the claims about the log, in Sections 4 to 6, by its printed numbers."""
    gaps_pct, times_pct = (
        100 * (math.exp(-least / mean) - math.exp(-greatest / mean))
        for mean, least, greatest in (
            (1 / JOBS_PER_S, 1, 15),
            (MEAN_RUN_S, 180, 6 * 3600),
        )
    )
    slower_s = SERVICE_S + 180  # Eq. 20: the mean running time of jobs over t = 180 s
    return [
        *(
            claimed(
                "Section 6.1",
                f"an exponential distribution has more {what} than the log",
                share_pct > log_pct,
                ours=f"{share_pct:.0f} %",
                reason=f"longer ones are about {log_pct} % of the log, by the printed"
                " numbers",
                printed=span,
            )
            for what, span, share_pct, log_pct in (
                ("gaps", "1 to 15 s", gaps_pct, 10),
                ("running times", "3 min to 6 h", times_pct, 40),
            )
        ),
        claimed(
            "Section 6.2",
            "b is slightly less than double the cluster's mean wait, h",
            PATIENCE_S / 3600 < 2 * CLUSTER_WAIT_H,
            ours=f"{2 * CLUSTER_WAIT_H:g}",
            reason=AMONG_PRINTED,
            printed="24",
        ),
        claimed(
            "Section 4.2",
            "mu_long > mu",
            1 / slower_s > 1 / SERVICE_S,
            ours=f"{1 / slower_s:.4g}",
            reason=f"Eq. 20: long jobs take {slower_s:g} s on average, all jobs"
            f" {SERVICE_S:g} s",
            printed="mu_long > mu > mu_short",
        ),
        Entry(
            "Section 5",
            "as predictions, time limits under-predict nearly 100 % of the jobs",
            CONTRADICTED,
            reason="the limits are many orders of magnitude greater than the running"
            " times (the same paragraph), so that they over-predict",
        ),
    ]


# reason -> place, subject, printed text and our values
SETTINGS: dict[str, list[Setting]] = {
    f"{DRAWS} takes the same": [
        ("Section 4.4", "b and t, s", "900, 180", [BASELINE_WAIT_S, BASELINE_SHORT_S]),
        (
            "Section 6.1",
            "cores and memory of m5.16xlarge, GB",
            "64, 256",
            [MACHINE.cores, MACHINE.memory_gb],
        ),
        ("Section 6.2", "b, h, and t, min", "24, 3", [PATIENCE_S / 3600, SHORT_S / 60]),
        ("Section 6.3", "machines of Figures 18 and 19", "150", [LOAD]),
        (
            "Section 6.3",
            "Figure 18: least and greatest b, h, and t, min",
            "6 to 48, 3 to 30",
            [FIGURE_18_H[0], FIGURE_18_H[-1], FIGURE_18_MIN[0], FIGURE_18_MIN[-1]],
        ),
        (
            "Section 6.4",
            "Figure 22: machines, and t, min",
            "200, 3",
            [AMPLE, SHORT_S / 60],
        ),
    ],
}


# reason -> place, subject and printed text of the statements that it concerns
NOT_TESTABLE: dict[str, list[tuple[str, str, str]]] = {
    NO_LOG: [
        ("Section 6.1", "cluster, mean wait, h", "13.3"),
        ("Section 6.2", "cluster, price at 225 machines", "0.6"),
        ("Section 6.2", "compound, price at 150 machines", "0.571"),
        ("Section 6.2", "compound, mean wait, h", "1.74"),
        ("Section 6.2", "NJW above SWW, %", "about 26"),
        ("Section 6.2", "jobs on demand under LJW, %", "60"),
        ("Section 6.1", "jobs per second", "0.4527"),
        ("Section 6.1", "mean running time, s", "6225"),
        ("Section 6.1", "gaps of up to a second, %", "nearly 90"),
        ("Section 6.1", "the longest gaps", "3 min to 50 h"),
        ("Section 6.1", "running times of up to 3 min, %", "over 60"),
        ("Section 6.2", "short and long jobs at t = 3 min, %", "60, 40"),
        (
            "Section 6.2",
            "AJW-T, SWW and compound, wait at 100 machines, h",
            "less than 13.3",
        ),
        ("Section 6.2", "least machines of LJW and AJW under SJF", "150"),
        (
            "Section 6.3",
            "higher price per 1 % of mispredicted running times, %",
            "1",
        ),
        (
            "Section 6.3",
            "price increases less for each further share of mispredicted waits, %",
            "10",
        ),
        ("Section 6.4", "over-predictions that alter price and wait, %", "3 to 5"),
    ],
    **{
        f"{reason}; ours: {DRAWS} {number}": [(f"Figure {number}", "curves", "")]
        for reason, numbers in ((NO_NUMBERS, range(2, 15)), (NO_LOG, range(15, 23)))
        for number in numbers
    },
    NO_NUMBERS: [("Figure 1", "curves", "")],
}


GROUPS = {"cgrsp papers check waiting": entries}
