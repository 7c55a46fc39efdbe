"""Waiting policies in closed form, in the steady state (waiting-policies.txt 3, 4).

Poisson arrivals, exponential running times, one job per machine, first come, first
served. Exact for ajw, njw, ajw-t and sww; approximate for ljw and compound, whose long
jobs' times are not exponential: Eq. 26 is used with a rescaled patience (`_waiting`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cgrsp_simpy.analysis.queueing import Servers, erlang_b, mgc, mmc_patience
from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import (
    InputError,
    check_one_of,
    require,
)
from cgrsp_simpy.base.parameters import Count, Positive, checked
from cgrsp_simpy.waiting.machines import PAPER_PRICES, Prices
from cgrsp_simpy.waiting.policies import (
    BASELINE_SHORT_S,
    BASELINE_WAIT_S,
    NO_ERRORS,
    Mispredictions,
    WaitingPolicy,
    waiting_policy,
)


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """Steady state per number of servers; every attribute has shape (servers,).

    servers: s, number of fixed machines. wait_s: w, mean wait of all jobs, seconds;
    infinite without a steady state. price: P, cost of an hour of work, in the unit of
    the prices. on_demand_fraction: r, share of the jobs on demand. utilisation: that
    of the fixed machines, 0 to 1. last_utilisation: rho_s, that of the last machine
    added.
    """

    servers: Floats
    wait_s: Floats
    price: Floats
    on_demand_fraction: Floats
    utilisation: Floats
    last_utilisation: Floats


@checked
def closed_form(
    policy: WaitingPolicy,
    rate_per_s: Positive,
    service_s: Positive,
    servers: Servers,
    prices: Prices = PAPER_PRICES,
    errors: Mispredictions = NO_ERRORS,
    *,
    as_printed: bool = False,
) -> ClosedForm:
    """Return the steady state of a policy for each number of servers.

    rate_per_s: lambda, jobs per second. service_s: 1 / mu, mean running time, seconds.
    servers: s. prices: prices of a machine per hour. errors: mispredicted waits, only
    for sww. as_printed: use Eq. 26, for compound, as the paper prints it; the wait is
    then too low with few machines. Raises InputError for errors that no formula covers.
    waiting-policies.txt Eq. 1, 3, 4, 11, 15, 22, 24 and 25.
    """
    require(
        errors == NO_ERRORS
        or (policy.name == "sww" and errors.run_over == errors.run_under == 0),
        f"mispredictions of {policy.name}",
        ", ".join(f"{name}={share:g}" for name, share in vars(errors).items() if share),
        "none: formulas exist only for mispredicted waits of sww; simulate instead",
    )
    machines = np.asarray(servers, dtype=float)
    load = _Load(rate_per_s, service_s, policy.short_s)
    # for long jobs
    wait_s, share = _waiting(policy, load, servers, errors, as_printed)
    jobs, work = (
        short + (1 - short) * share for short in (load.short_jobs, load.short_work)
    )
    # an unlimited queue keeps all busy
    fixed = np.minimum(load.erlangs * (1 - share), machines)
    rented = rate_per_s * service_s * work
    # Eq. 1, 4, 15 with 22, 24 with 25
    price = (machines * prices.fixed + rented * prices.on_demand) / (fixed + rented)
    fewer = np.maximum(np.asarray(servers) - 1, 1)
    left = 1 - _waiting(policy, load, fewer, errors, as_printed)[1]
    before = np.minimum(load.erlangs * left, machines - 1)
    return ClosedForm(
        np.asarray(servers),
        load.long_jobs * wait_s,
        price,
        jobs,
        fixed / machines,
        fixed - before,  # Eq. 3 and 11
    )


class _Load:
    """Load of the jobs that run for t or longer (waiting-policies.txt Section 4.2).

    Running times are exponential. long_jobs, short_jobs: shares of the jobs.
    short_work: the short jobs' share of the work. rate_per_s: lambda_long, 0 if t is
    above 745 mean times. service_s: 1 / mu_long. kappa: (1 + CV^2) / 2, ratio of waits
    to those with exponential times (Eq. 23).
    """

    def __init__(self, rate_per_s: float, service_s: float, short_s: float) -> None:
        self.long_jobs = math.exp(-short_s / service_s)
        self.short_jobs = -math.expm1(-short_s / service_s)  # Eq. 17
        self.rate_per_s = rate_per_s * self.long_jobs  # Eq. 18
        self.service_s = short_s + service_s  # Eq. 20
        # r mu / mu_short, Eq. 21
        self.short_work = 1 - self.long_jobs * self.service_s / service_s
        self.cv = service_s / self.service_s
        self.kappa = (1 + self.cv**2) / 2
        self.erlangs = self.rate_per_s * self.service_s


def _waiting(
    policy: WaitingPolicy,
    load: _Load,
    servers: Servers,
    errors: Mispredictions,
    as_printed: bool,
) -> tuple[Floats, Floats]:
    """Return the long jobs' mean wait, seconds, and their share on demand.

    If t is 0, all jobs are long. Eq. 26 multiplies the waits of an M/M/s queue with
    patience b by kappa, so that none is longer than kappa b. Unless as_printed, the
    patience is rescaled to b / kappa, so that no wait exceeds b (not in the paper).
    """
    rate, mu = load.rate_per_s, 1 / load.service_s
    none = np.zeros(np.shape(servers))
    right = 1 - errors.wait_over
    if rate == 0 or right == 0:  # no job waits
        return none, none + errors.wait_over
    if policy.wait_s == math.inf:
        return mgc(rate, mu, servers, load.cv).wait_s, none  # Eq. 2; Eq. 23
    if policy.wait_s == 0:
        return none, erlang_b(servers, rate / mu)  # Section 3.2
    patience_s = policy.wait_s if as_printed else policy.wait_s / load.kappa
    queue = mmc_patience(rate * right, mu, servers, patience_s)  # Lemma 3.1, Eq. 12
    wait_s = queue.wait_s
    # Eq. 13, and f_under r b for jobs that wait in vain; the paper's substitution in
    # Eq. 12 gives (1 - f_under) r b
    if policy.balks:
        wait_s = wait_s - (1 - errors.wait_under) * queue.left * patience_s
    # Eq. 14, Eq. 26
    return right * load.kappa * wait_s, errors.wait_over + right * queue.left


# ---- the analyzer (waiting-policies.txt Section 5) ----

MOST_SERVERS = 1_000_000  # largest number tried
FIGURES = ("wait_s", "price", "on_demand_fraction", "servers")
OBJECTIVES = ("price", "opportunity", "total")
"""Objectives of `optimum`."""


@checked
def analyze(
    policy: str,
    rate_per_s: float,
    service_s: float,
    servers: Count,
    *,
    wait_s: float = BASELINE_WAIT_S,
    short_s: float = BASELINE_SHORT_S,
    prices: Prices = PAPER_PRICES,
    errors: Mispredictions = NO_ERRORS,
    duration_h: Positive | None = None,
) -> dict[str, float]:
    """Return the figures of one policy for one number of servers.

    policy, wait_s, short_s: see `waiting_policy`. duration_h: T, hours. Other
    parameters: see `closed_form`. Keys: wait_s, price, on_demand_fraction, servers; for
    compound wait_s_as_printed, by Eq. 26 as printed; with a duration cost, over T in
    the prices' unit (Eq. 5). Raises InputError without a steady state.
    """
    chosen = waiting_policy(policy, wait_s, short_s)
    arguments = (chosen, rate_per_s, service_s, servers, prices, errors)
    state = closed_form(*arguments)
    if not math.isfinite(state.wait_s):
        raise InputError(unsteady(chosen, rate_per_s, service_s, servers))
    row = {name: getattr(state, name).item() for name in FIGURES}
    if chosen.short_s and 0 < chosen.wait_s < math.inf:
        row["wait_s_as_printed"] = closed_form(
            *arguments, as_printed=True
        ).wait_s.item()
    return _with_cost(row, rate_per_s * service_s, duration_h)


def unsteady(
    policy: WaitingPolicy, rate_per_s: float, service_s: float, servers: int
) -> str:
    """Return why there is no steady state, and what to change."""
    load = _Load(rate_per_s, service_s, policy.short_s).erlangs
    whose = "the long jobs'" if policy.short_s else "a"
    return (
        f"servers(={servers}) under {policy.name} have no steady state: {whose} load of"
        f" {load:g} keeps {load:g} servers busy, so the queue grows forever; take at"
        f" least {math.floor(load) + 1} servers, or a policy that limits the wait"
        " (ajw-t, sww, compound)"
    )


@checked
def optimum(
    policy: str,
    rate_per_s: Positive,
    service_s: Positive,
    *,
    by: str = "price",
    wait_s: float = BASELINE_WAIT_S,
    short_s: float = BASELINE_SHORT_S,
    prices: Prices = PAPER_PRICES,
    errors: Mispredictions = NO_ERRORS,
    duration_h: Positive | None = None,
) -> dict[str, float]:
    """Return the result of `analyze` for the best number of servers; ties: the
    cheapest.

    Except under ajw, the best may be to own no machine (servers 0). by: "price": P.
    "opportunity": the opportunity cost P w (waiting-policies.txt Section 4.2.1); it
    decreases with the servers, so only numbers that cost no more than renting every job
    count. "total": P (w + 1 / mu), the cost of a job if its wait is valued like its
    running time. Raises InputError for invalid arguments, such as a fixed price of 0.
    """
    check_one_of("objective", by, OBJECTIVES)
    require(
        prices.fixed > 0,
        "fixed price",
        prices.fixed,
        "above 0: at a price of 0 there is no optimum",
    )
    load = rate_per_s * service_s
    chosen = waiting_policy(policy, wait_s, short_s)
    # with more, owning alone costs more than renting all
    most = max(load * prices.on_demand / prices.fixed, load + 1)
    require(
        most <= MOST_SERVERS,
        "fixed price",
        prices.fixed,
        f"high enough that {MOST_SERVERS:,} machines cost more than renting for a"
        f" load of {load:g}",
    )
    state = closed_form(
        chosen,
        rate_per_s,
        service_s,
        np.arange(1, math.floor(most) + 1),
        prices,
        errors,
    )
    pays = np.isfinite(state.wait_s) & (
        (state.price <= prices.on_demand) | (not chosen.rents)
    )
    waited_s = {
        "price": np.ones_like(state.wait_s),
        "opportunity": state.wait_s,
        "total": state.wait_s + service_s,
    }
    value = np.where(pays, state.price * waited_s[by], np.inf)
    best = int(np.lexsort((state.price, value))[0])  # the cheapest of equal ones
    if not pays.any() or (
        chosen.rents and by == "total" and prices.on_demand * service_s < value[best]
    ):
        return _with_cost(
            dict(zip(FIGURES, (0.0, prices.on_demand, 1.0, 0))), load, duration_h
        )
    return analyze(
        policy,
        rate_per_s,
        service_s,
        best + 1,
        wait_s=wait_s,
        short_s=short_s,
        prices=prices,
        errors=errors,
        duration_h=duration_h,
    )


def _with_cost(
    row: dict[str, float], load: float, duration_h: float | None
) -> dict[str, float]:
    if duration_h is not None:
        row["cost"] = row["price"] * load * duration_h  # Eq. 5
    return row
