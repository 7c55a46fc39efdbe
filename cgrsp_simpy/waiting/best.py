"""The best number of fixed machines for jobs of one's own: tried, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cgrsp_simpy.model.checks import check_one_of, require
from cgrsp_simpy.model.shown import progress
from cgrsp_simpy.waiting.case import Case
from cgrsp_simpy.waiting.formulas import OBJECTIVES, waited_s
from cgrsp_simpy.waiting.outcome import Outcome
from cgrsp_simpy.waiting.policies import njw
from cgrsp_simpy.waiting.recursion import follow
from cgrsp_simpy.waiting.simulation import simulate
from cgrsp_simpy.waiting.tally import Columns

__all__ = ["best_number", "strain", "strained"]


def best_number(case: Case, by: str = "price", seed: int = 0) -> Outcome:
    """The outcome of the best number of fixed machines, 0 among them unless no job may go on demand
    (ajw).

    Numbers are tried up to that with which no job waits, or until the machines alone, paid only
    until all jobs can have ended, cost more than the best number.

    Parameters
    ----------
    case : Case
        Its machines name the kind.
    by : str
        "price", "opportunity" or "total", as of `optimum`.
    seed : int
        Of the jobs.

    Returns
    -------
    Outcome
        Of the case with that number of machines; its jobs are kept.

    Raises
    ------
    InputError
        For a fixed price of 0, of which no number is the best, and for jobs without any work.
    """
    check_one_of("objective", by, OBJECTIVES)
    require(
        case.prices.fixed > 0,
        "fixed price",
        case.prices.fixed,
        "above 0 for an optimum: free machines are never too many",
    )
    none = _try(replace(case, policy=njw()), 0, by, seed, keep=True)
    tried = [none] if case.policy.rents else []
    # least share in the price
    machine = (
        case.prices.fixed * case.varied(machines=1).fixed_per_h / none.outcome.summary()["load"]
    )
    for number in progress(range(1, _most_at_once(none.outcome.jobs) + 1), unit=" numbers"):
        if tried and number * machine > _limit(tried, by):
            break
        tried.append(_try(case, number, by, seed))
    best = _best(tried, by)
    return _try(best.outcome.case, best.number, by, seed, keep=True).outcome


def strain(outcome: Outcome) -> dict[str, float]:
    """How hard the fixed machines are pressed.

    Parameters
    ----------
    outcome : Outcome
        Its jobs were kept.

    Returns
    -------
    dict
        p95_wait_s: the wait that 95 % of all jobs do not exceed. backlog: jobs that wait at the
        last submission. own_load: offered load of the fixed machines, the work of the jobs that
        they do over what they can do from the first submission to the last; of shared machines
        the greater of cores and memory; 0 without machines, infinite where all come at once.
    """
    assert outcome.jobs is not None
    done, machines = outcome.jobs, outcome.case.machines
    submit_s, own_s = done.jobs.submit_s, done.jobs.run_s * ~done.on_demand
    if isinstance(machines, int):
        loads = [(own_s.sum(), machines)]
    else:
        held = {"cores": done.jobs.cores, "memory_gb": done.jobs.memory_gb}
        loads = [
            (own_s @ each, sum(getattr(size, name) for size in machines))
            for name, each in held.items()
        ]
    span_s = submit_s.max() - submit_s.min()
    with np.errstate(divide="ignore"):
        return {
            "p95_wait_s": float(np.quantile(done.wait_s, 0.95)),
            "backlog": float(np.count_nonzero(done.start_s > submit_s.max())),
            "own_load": max(float(np.divide(work, room * span_s)) for work, room in loads if work)
            if own_s.any()
            else 0.0,
        }


def strained(figures: Mapping[str, float]) -> str:
    """Why few would do as recommended: the fixed machines get at least the work that they can do
    and leave a backlog, or jobs wait longer in the mean than they run.

    Parameters
    ----------
    figures : mapping
        wait_s and service_s; those of `strain`, where the jobs are listed.

    Returns
    -------
    str
        "" where neither holds.
    """
    wait_s, service_s, load = figures["wait_s"], figures["service_s"], figures.get("own_load", 0.0)
    reasons = []
    if load >= 1 and figures["backlog"]:
        reasons.append(
            f"as much work comes as they can do or more (offered load {load:.2f}) and"
            f" {figures['backlog']:,.0f} jobs wait when the last one comes: the wait depends on"
            " how long the log goes on"
        )
    if wait_s > service_s:
        reasons.append(
            f"jobs wait longer in the mean ({wait_s / 3600:,.3g} h) than they run"
            f" ({service_s / 3600:,.3g} h)"
        )
    return "; ".join(reasons)


class _Tried(NamedTuple):
    """A number of machines, its outcome, the price, and the value of the objective; the least of
    these is the best.
    """

    value: float
    price: float
    number: int
    outcome: Outcome


def _try(case: Case, number: int, by: str, seed: int, *, keep: bool = False) -> _Tried:
    own = case.varied(machines=number)
    outcome = (follow if own.recursive else simulate)(own, seed, keep=keep)
    figures = outcome.summary()
    value = figures["price"] * waited_s(by, figures["wait_s"], figures["service_s"])
    return _Tried(value, figures["price"], number, outcome)


def _most_at_once(done: Columns | None) -> int:
    """How many jobs there are at most at a time, the one that ends and the one that comes at the
    same moment both.
    """
    assert done is not None
    ended = np.searchsorted(np.sort(done.end_s), done.start_s)
    return int(np.max(np.arange(1, len(ended) + 1) - ended))


def _best(tried: Sequence[_Tried], by: str) -> _Tried:
    """By opportunity cost, the best that costs no more than renting for every job; if none
    does, the cheapest.
    """
    if by != "opportunity":
        return min(tried)
    rent = tried[0].outcome.case.prices.on_demand
    paying = [each for each in tried if each.number > 0 and each.price <= rent]
    return min(paying, default=min(tried, key=lambda each: each.price))


def _limit(tried: Sequence[_Tried], by: str) -> float:
    """The price above which no number is better than the best of those tried."""
    best = _best(tried, by)
    figures, prices = best.outcome.summary(), best.outcome.case.prices
    if by == "opportunity":
        return max(prices.on_demand, best.price)
    return best.value / waited_s(by, 0.0, figures["service_s"])  # of jobs that do not wait
