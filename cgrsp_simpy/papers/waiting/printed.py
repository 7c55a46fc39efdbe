"""Every printed statement of the paper on waiting policies, as entries of the ledger.

Numbers of Sections 3 and 4 are recomputed by its formulas; its log of 14 million jobs
is not public.
"""

from __future__ import annotations

from collections.abc import Iterator

from cgrsp_simpy.papers import ledger
from cgrsp_simpy.papers.ledger import Entry
from cgrsp_simpy.papers.waiting.figures import PRINTED, YEARS_3_H
from cgrsp_simpy.waiting.formulas import analyze, closed_form, optimum
from cgrsp_simpy.waiting.machines import PAPER_PRICES
from cgrsp_simpy.waiting.policies import waiting_policy

RATE_PER_S, SERVICE_S, ON_DEMAND_USD = 0.2, 500.0, 0.096
LARGE_USD_PER_H, LARGE_3_YEARS_USD = 3.072, 16_046  # m5.16xlarge, Section 6.1
CLUSTER_PRICE, COMPOUND_PRICE, CLUSTER_USD = 0.6, 0.571, 2_421_965  # Section 6.2
CLUSTER, CLUSTER_WAIT_H, COMPOUND_WAIT_H = 225, 13.3, 1.74


def entries(*_: object) -> Iterator[Entry]:
    """Yield Table 1, the numbers of the text, and what the figures print."""
    yield from _table_one()
    yield from _of_formulas()
    yield from _of_the_log()
    yield from _untestable()


def _at(policy: str, servers: int, **how: float) -> dict[str, float]:
    """Return the figures of a policy by formula; the price over that on demand."""
    chosen = waiting_policy(policy, **{"wait_s": 0.0, "short_s": 0.0, **how})
    state = closed_form(chosen, RATE_PER_S, SERVICE_S, servers)
    price = state.price.item() / PAPER_PRICES.on_demand
    return {"price": price, "wait_s": state.wait_s.item()}


def _entry(
    where: str,
    what: str,
    printed: str,
    ours: float,
    within: float,
    wanted: float | None = None,
    reason: str = "by the formulas",
    otherwise: str = ledger.DIFFERENT,
) -> Entry:
    """Judge a number. within: its rounding, or what "about" allows."""
    value = float(printed.replace(",", "")) if wanted is None else wanted
    agrees = abs(ours - value) <= within
    verdict = ledger.REPRODUCED if agrees else otherwise
    shown = f"{ours:,.0f}" if abs(ours) >= 1000 else f"{ours:.4g}"
    return Entry("waiting", where, what, verdict, printed, shown, reason)


def _table_one() -> Iterator[Entry]:
    for option, pct, raw, cents, usd in PRINTED:
        fixed = option == "fixed"
        effective = 100 * raw / pct if fixed else raw
        cost = raw / 100 * YEARS_3_H * (1 if fixed else pct / 100)
        name = f"{option}, {pct} %"
        yield _entry("Table 1", f"{name}, cents/h", f"{cents:g}", effective, 0.05)
        yield _entry("Table 1", f"{name}, USD in 3 years", f"{usd:,}", cost, 1)


def _of_formulas() -> Iterator[Entry]:
    ajw = {s: _at("ajw", s)["price"] for s in (101, 108, 120, 250)}
    yield _entry("Section 3.1", "AJW, price at s = 250", "1", ajw[250], 0.005)
    less = 100 * (1 - ajw[120] / ajw[250])
    yield _entry("Section 3.1", "AJW, s = 120 below s = 250, %", "52", less, 0.5)
    more = 100 * (ajw[120] / 0.4 - 1)
    yield _entry("Section 3.1", "AJW, s = 120 above s = 100, %", "20", more, 0.5)
    wait = _at("ajw", 120)["wait_s"]
    yield _entry("Section 3.1", "AJW, wait at s = 120, s", "about 0", wait, 3, 0)
    best = optimum("njw", RATE_PER_S, SERVICE_S, duration_h=YEARS_3_H)
    price = best["price"] / PAPER_PRICES.on_demand
    yield _entry("Section 3.2", "NJW, best s", "108", best["servers"], 0)
    yield _entry("Section 3.2", "NJW, price at its best", "0.467", price, 0.0005)
    share = best["on_demand_fraction"]
    yield _entry("Section 3.2", "NJW, share on demand", "0.035", share, 0.0005)
    usd = best["cost"] * ON_DEMAND_USD / PAPER_PRICES.on_demand
    yield _entry("Section 3.2", "NJW, USD in 3 years", "117,818", usd, 120)
    usd = RATE_PER_S * SERVICE_S * ON_DEMAND_USD * YEARS_3_H
    yield _entry("Section 3.2", "on demand alone, USD in 3 years", "252,288", usd, 1)
    yield _entry("Section 3.2", "AJW, price at s = 108", "0.432", ajw[108], 0.0005)
    gap = 100 * (1 - ajw[108] / price)
    yield _entry(
        "Section 3.2", "AJW below NJW at s = 108, %", "about 7.5", gap, 0.5, 7.5
    )
    wait = _at("ajw", 108)["wait_s"]
    yield _entry("Section 3.2", "AJW, wait at s = 108, s", "20", wait, 2)
    waits = {s: _at("sww", s, wait_s=900)["wait_s"] for s in range(80, 121)}
    peak = max(waits, key=waits.__getitem__)
    yield _entry("Section 4.1", "SWW, s of the longest wait, b = 900 s", "93", peak, 0)
    wait = _at("ajw", 101)["wait_s"]
    yield _entry("Section 4.2", "AJW, wait at s = 101, s", "450", wait, 10)
    ljw = _at("ljw", 101, short_s=180)
    wait = ljw["wait_s"]
    yield _entry(
        "Section 4.2", "LJW, wait at s = 101, t = 180 s, s", "near 0", wait, 5, 0
    )
    more = 100 * (ljw["price"] / ajw[101] - 1)
    yield _entry("Section 4.2", "LJW above AJW, %", "about 10", more, 2, 10)
    printed, exact = (
        analyze("compound", RATE_PER_S, SERVICE_S, 90, wait_s=900, short_s=180)[name]
        for name in ("wait_s_as_printed", "wait_s")
    )
    yield _entry(
        "Eq. 26",
        "compound, wait at s = 90, s",
        f"{printed:.1f}",
        exact,
        0.05 * exact,
        printed,
        "as printed, and with the patience in units of the long jobs",
    )


def _of_the_log() -> Iterator[Entry]:
    """Judge what the numbers of Section 6 say about one another."""
    discount = LARGE_3_YEARS_USD / (LARGE_USD_PER_H * YEARS_3_H)
    own = "from the printed numbers"
    yield _entry(
        "Section 6.1",
        "discount of m5.16xlarge, 3 years over on demand",
        "about 0.4",
        discount,
        0.05,
        0.4,
        f"${LARGE_3_YEARS_USD:,} over {YEARS_3_H:,} h at ${LARGE_USD_PER_H}, which is"
        " printed as $3,072/hour",
        ledger.CONTRADICTED,
    )
    usd = CLUSTER_USD * COMPOUND_PRICE / CLUSTER_PRICE
    against = (own, ledger.CONTRADICTED)
    for what, printed, ours, within in (
        ("cluster, USD per hour", "276.48", CLUSTER_USD / 8760, 0.005),
        ("compound, USD a year", "2,304,903", usd, 1),
    ):
        yield _entry("Section 6.2", what, printed, ours, within, None, *against)
    pct = 100 * (1 - COMPOUND_PRICE)
    yield _entry(
        "Section 6.2", "compound below on demand, %", "43", pct, 0.5, None, *against
    )
    pct = 100 * (1 - COMPOUND_PRICE / CLUSTER_PRICE)
    yield _entry(
        "Section 6.2", "compound below the cluster, %", "5", pct, 0.5, None, *against
    )
    times = CLUSTER_WAIT_H / COMPOUND_WAIT_H
    yield _entry("Section 6.2", "shorter wait, times", "7", times, 0.5, None, *against)
    hourly = LARGE_USD_PER_H * 0.4 * CLUSTER
    for where, what, printed, ours, within in (
        ("Section 6.1", "cluster, USD a year", "2,421,965", hourly * 8760, 1),
        ("Section 6.1", "cluster in machines of 64 cores", "225", 14_376 / 64, 0.5),
        ("Section 6.1", "mean running time, h", "1.73", 6225 / 3600, 0.005),
    ):
        yield _entry(where, what, printed, ours, within, None, *against)
    more = 100 * (0.467 / 0.432 - 1)
    yield _entry("Section 3.2", "NJW above AJW, %", "7.5", more, 0.05, None, *against)
    slower = SERVICE_S + 180  # Eq. 20: the mean running time of jobs over t = 180 s
    yield _entry(
        "Section 4.2",
        "mu_long > mu",
        "mu_long > mu > mu_short",
        1 / slower,
        0,
        1 / SERVICE_S,
        f"Eq. 20: long jobs take {slower:g} s on average, all jobs {SERVICE_S:g} s",
        ledger.CONTRADICTED,
    )


def _untestable() -> Iterator[Entry]:
    log = "the log of 14 million jobs is not public"
    for where, what, printed in (
        ("Section 6.1", "cluster, mean wait, h", "13.3"),
        ("Section 6.2", "cluster, price at 225 machines", "0.6"),
        ("Section 6.2", "compound, price at 150 machines", "0.571"),
        ("Section 6.2", "compound, mean wait, h", "1.74"),
        ("Section 6.2", "NJW above SWW, %", "about 26"),
        ("Section 6.2", "jobs on demand under LJW, %", "60"),
        ("Section 6.1", "jobs per second", "0.4527"),
        ("Section 6.1", "mean running time, s", "6225"),
    ):
        yield Entry("waiting", where, what, ledger.UNTESTABLE, printed, reason=log)
    for number in range(1, 23):
        drawn = "" if number == 1 else f"; ours: cgrsp papers figures waiting {number}"
        data = log if number > 14 else "no numbers beside those of the text"
        yield Entry(
            "waiting",
            f"Figure {number}",
            "curves",
            ledger.UNTESTABLE,
            reason=f"{data}{drawn}",
        )


GROUPS = {"cgrsp papers check waiting": entries}
