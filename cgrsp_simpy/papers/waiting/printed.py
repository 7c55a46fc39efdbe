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
    UNTESTABLE,
    Entry,
    claimed,
    compared,
    settings,
    untestable,
)
from cgrsp_simpy.papers.waiting.figures import (
    FIGURE_18_H,
    FIGURE_18_MIN,
    PRINTED,
    YEARS_3_H,
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
ON_DEMAND_USD = 0.096
LARGE_USD_PER_H, LARGE_3_YEARS_USD = 3.072, 16_046  # m5.16xlarge, Section 6.1
CLUSTER_PRICE, COMPOUND_PRICE, CLUSTER_USD = 0.6, 0.571, 2_421_965  # Section 6.2
CORES = 14_376  # Section 6.1
JOBS_PER_S, MEAN_RUN_S, YEAR_H, CLUSTER_WAIT_H = 0.4527, 6225, 8760, 13.3
POLICIES = ("njw", "ajw", "ajw-t", "sww", "ljw", "compound")
DRAWS = "cgrsp papers figures waiting"
BY_FORMULA, AMONG_PRINTED = "by the formulas", "from the printed numbers"
by_formula = partial(compared, reason=BY_FORMULA, otherwise=DIFFERENT)


def entries(*_: object) -> list[Entry]:
    """Return Table 1, the numbers of the text, and what the figures print."""
    return [
        *_table_one(),
        *_of_formulas(),
        *_of_figures(),
        *_numbers_of_the_log(),
        *_claims_of_the_log(),
        *_settings(),
        *_untestable(),
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
        by_formula("Table 1", f"{option}, {pct} %, {what}", text, ours)
        for option, pct, raw, cents, usd in PRINTED
        for share in [pct / 100 if option == "fixed" else 1.0]
        for used in [1.0 if option == "fixed" else pct / 100]
        for what, text, ours in (
            ("cents/h", f"{cents:g}", raw / share),
            ("USD in 3 years", f"{usd:,}", raw / 100 * YEARS_3_H * used),
        )
    ]


def _of_formulas() -> list[Entry]:
    price, wait_s = (
        dict(zip((101, 108, 120, 250), values.tolist()))
        for values in _at("ajw", [101, 108, 120, 250])
    )
    best, ljw = _best("njw"), [value.item() for value in _at("ljw", 101, short_s=180.0)]
    njw = best["price"] / PAPER_PRICES.on_demand
    usd = best["cost"] * ON_DEMAND_USD / PAPER_PRICES.on_demand
    on_demand_usd = RATE_PER_S * SERVICE_S * ON_DEMAND_USD * YEARS_3_H
    longest = int(AROUND[_at("sww", AROUND, 900.0)[1].argmax()])
    compound = analyze("compound", RATE_PER_S, SERVICE_S, 90, wait_s=900, short_s=180)
    as_printed = compound["wait_s_as_printed"]
    numbers: Sequence[tuple[Any, ...]] = (
        ("3.1", "AJW, price at s = 250", "1", price[250]),
        *(
            ("3.1", f"AJW, s = 120 {what}, %", text, 100 * ours)
            for what, text, ours in (
                ("below s = 250", "52", 1 - price[120] / price[250]),
                ("above s = 100", "20", price[120] / 0.4 - 1),
            )
        ),
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
        ("4.2", "LJW, wait at s = 101, t = 180 s, s", "near 0", ljw[1], 5),
        (
            *("4.2", "LJW above AJW, %", "about 10"),
            *(100 * (ljw[0] / price[101] - 1), 2),
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
            f"{as_printed:.1f}",
            compound["wait_s"],
            reason="as printed, and with the patience in units of the long jobs",
            within=0.05 * compound["wait_s"],
        ),
    ]


def _of_figures() -> list[Entry]:
    """Judge the sentences about the curves, for 80 to 120 machines."""
    waits_s, predicted = (60.0, 300.0, 900.0, 3600.0), (0.0, 0.05, 0.5, 0.9)
    _, of_waits = zip(*(_at("ajw-t", AROUND, wait_s) for wait_s in waits_s))
    price, wait_s = (
        dict(zip(POLICIES, values))
        for values in zip(*(_at(name, AROUND, 900.0, 180.0) for name in POLICIES))
    )
    cost = {name: price[name] * wait_s[name] for name in POLICIES}
    most = [_best("ajw-t", wait_s=wait_s)["servers"] for wait_s in waits_s]
    over = [
        _best("sww", wait_s=900.0, errors=Mispredictions(wait_over=share))["servers"]
        for share in predicted
    ]
    njw = _best("njw")["servers"]
    _, less = zip(*(_at("sww", AROUND, 900.0, wait_over=f) for f in predicted))
    _, more = zip(*(_at("sww", AROUND, 900.0, wait_under=f) for f in predicted))
    in_vain = _at("sww", AROUND, 900.0, wait_under=1.0)[1]
    at = 101 - AROUND[0]
    ljw, ajw = ((price[name][at], wait_s[name][at]) for name in ("ljw", "ajw"))
    curves = (
        ("Figure 4", "the best s decreases as b increases", _falls(most), _list(most)),
        ("Figure 5", "the wait increases with b", _falls(of_waits[::-1]), ""),
        (
            *("Figure 6", "SWW's wait is always less than that of AJW-T"),
            *(_falls([wait_s["ajw-t"], wait_s["sww"]]), ""),
        ),
        (
            *("Figure 7", "as f_over increases to one, the best s approaches NJW's"),
            abs(over[-1] - njw) < abs(over[0] - njw),
            f"{_list(over)} for f_over of {_list(predicted)}; NJW {njw:g}",
        ),
        ("Figure 8", "the wait decreases as f_over increases", _falls(less), ""),
        ("Figure 9", "the wait increases with f_under", _falls(more[::-1]), ""),
        (
            *("Figure 9", "until it is that of AJW-T"),
            *(np.allclose(in_vain, wait_s["ajw-t"]), ""),
        ),
        (
            *("Figure 10", "at t = 180 s LJW's price is slightly lower than NJW's"),
            *(ljw[0] < price["njw"][at], f"{ljw[0]:.3f}; NJW {price['njw'][at]:.3f}"),
        ),
        (
            *("Figure 12", "the compound policy's wait is at most that of LJW"),
            *(_falls([wait_s["ljw"], wait_s["compound"]]), ""),
        ),
        (
            *("Figure 13", "the compound policy has the lowest opportunity cost"),
            all(_falls([cost[name], cost["compound"]]) for name in POLICIES[1:]),
            "",
        ),
        (
            "Section 4.1.1",
            "under-predictions: (1 - f_under) r for r in the wait of AJW-T",
            _falls([wait_s["sww"], wait_s["ajw-t"]]),
            f"without errors the wait of AJW-T, {wait_s['ajw-t'][10]:.0f} s at s = 90;"
            f" SWW {wait_s['sww'][10]:.0f} s",
        ),
        (
            "Section 6.3",
            "the compound policy's wait is 0 as b approaches 0",
            _at("compound", AROUND, 0.0, 180.0)[1].max() == 0,
            "b = 0",
        ),
        (
            "Section 6.4",
            "SWW's wait approaches 0 as f_over increases",
            round(less[-1].max()) == 0,
            f"at most {less[-1].max():.2g} s if {predicted[-1]:.0%} are over-predicted",
        ),
        (
            "Section 6.4",
            "as in the model, SWW's wait falls monotonically to 0 as s increases",
            _falls(less[0]),
            f"{less[0][0]:.0f} s at s = {AROUND[0]}, {less[0][10]:.0f} s at s ="
            f" {AROUND[10]}; Section 4.1: longest at 93",
        ),
        (
            "Section 6.4",
            "SWW's wait approaches 0 as f_under increases",
            in_vain[10] < wait_s["sww"][10],
            f"{wait_s['sww'][10]:.0f} s without errors, {in_vain[10]:.0f} s if all are"
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
    )
    return [
        claimed(where, text, bool(holds), ours, BY_FORMULA)
        for where, text, holds, ours in curves
    ]


def _falls(values: Sequence[Any]) -> bool:
    """Return whether no value is greater than the one before, except for rounding."""
    return all(np.all(b <= a + 1e-9) for a, b in pairwise(values))


def _list(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _numbers_of_the_log() -> list[Entry]:
    """Judge the numbers of the log in Sections 3 to 6 by each other."""
    usd = CLUSTER_USD * COMPOUND_PRICE / CLUSTER_PRICE
    numbers: Sequence[tuple[Any, ...]] = (
        ("6.2", "cluster, USD per hour", "276.48", CLUSTER_USD / YEAR_H),
        ("6.2", "compound, USD per year", "2,304,903", usd),
        ("6.2", "compound below the cluster, USD", "100,000", CLUSTER_USD - usd, 2e4),
        *(
            ("6.2", f"compound below {what}, %", text, 100 * (1 - ours))
            for what, text, ours in (
                ("on demand", "43", COMPOUND_PRICE),
                ("the cluster", "5", COMPOUND_PRICE / CLUSTER_PRICE),
            )
        ),
        ("6.2", "shorter wait, times", "7", CLUSTER_WAIT_H / 1.74),
        (
            *("6.1", "cluster, USD per year", "2,421,965"),
            LARGE_USD_PER_H * 0.4 * 225 * YEAR_H,
        ),
        ("6.1", f"cluster of {CORES:,} cores in machines of 64", "225", CORES / 64),
        ("5", "cluster, thousands of cores", "14.3", CORES / 1000),
        ("5", "jobs in the year, millions", "14", JOBS_PER_S * YEAR_H * 0.0036),
        ("6.1", "mean running time, h", "1.73", MEAN_RUN_S / 3600),
        (
            *("6.1", "exponential running times of up to 3 minutes, %", "3"),
            -100 * math.expm1(-180 / MEAN_RUN_S),
        ),
        (
            *("6.1", "exponential gaps of up to a second, %", "less than 40"),
            *(-100 * math.expm1(-JOBS_PER_S), 5),
        ),
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
            f"${LARGE_3_YEARS_USD:,} over {YEARS_3_H:,} h at ${LARGE_USD_PER_H}, which"
            " is printed as $3,072/hour",
        ),
    ]


def _claims_of_the_log() -> list[Entry]:
    """Judge the claims about the log in Sections 4 to 6 by its numbers."""
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
                f"{share_pct:.0f} %",
                f"longer ones are about {log_pct} % of the log, by the printed numbers",
                span,
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
            f"{2 * CLUSTER_WAIT_H:g}",
            AMONG_PRINTED,
            "24",
        ),
        claimed(
            "Section 4.2",
            "mu_long > mu",
            1 / slower_s > 1 / SERVICE_S,
            f"{1 / slower_s:.4g}",
            f"Eq. 20: long jobs take {slower_s:g} s on average, all jobs"
            f" {SERVICE_S:g} s",
            "mu_long > mu > mu_short",
        ),
        Entry(
            "Section 5",
            "as predictions, time limits under-predict nearly 100 % of the jobs",
            CONTRADICTED,
            reason="the limits are many orders of magnitude greater than the running"
            " times (the same paragraph), so that they over-predict",
        ),
    ]


def _settings() -> list[Entry]:
    """Compare the paper's settings of the figures with the package's."""
    cutoff_min = SHORT_S / 60
    return settings(
        f"{DRAWS} takes the same",
        ("Section 4.4", "b and t, s", "900, 180", [BASELINE_WAIT_S, BASELINE_SHORT_S]),
        (
            "Section 6.1",
            "cores and memory of m5.16xlarge, GB",
            "64, 256",
            [MACHINE.cores, MACHINE.memory_gb],
        ),
        ("Section 6.2", "b, h, and t, min", "24, 3", [PATIENCE_S / 3600, cutoff_min]),
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
            [AMPLE, cutoff_min],
        ),
    )


def _untestable() -> list[Entry]:
    log, text = (
        "the log of 14 million jobs is not public",
        "no numbers except the text's",
    )
    return [
        *untestable(
            log,
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
        ),
        *(
            Entry(
                f"Figure {number}",
                "curves",
                UNTESTABLE,
                reason=(log if number > 14 else text) + f"; ours: {DRAWS} {number}",
            )
            for number in range(2, 23)
        ),
        *untestable(text, ("Figure 1", "curves", "")),
    ]


GROUPS = {"cgrsp papers check waiting": entries}
