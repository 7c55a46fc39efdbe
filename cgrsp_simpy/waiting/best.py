"""The best number of fixed machines for jobs of one's own: tried, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
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

__all__ = ["best_number"]


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
        Of the case with that number of machines.

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
    return _best(tried, by).outcome


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
