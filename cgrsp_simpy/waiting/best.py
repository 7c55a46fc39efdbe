"""The best number of fixed machines for jobs of one's own: tried, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.model.checks import check_one_of, require
from cgrsp_simpy.model.shown import progress
from cgrsp_simpy.waiting.formulas import OBJECTIVES, waited_s
from cgrsp_simpy.waiting.jobs import JobSource
from cgrsp_simpy.waiting.policies import njw
from cgrsp_simpy.waiting.scenario import Scenario

__all__ = ["best_number"]


def best_number(scenario: Scenario, by: str = "price", seed: int = 0) -> Run:
    """The run on the best number of fixed machines, 0 among them unless no job may go on demand
    (ajw).

    Numbers are tried up to that with which no job waits, or until the machines alone, paid only
    until all jobs can have ended, cost more than the best number.

    Parameters
    ----------
    scenario : Scenario
        Its machines name the kind.
    by : str
        "price", "opportunity" or "total", as of `optimum`.
    seed : int
        Of the jobs.

    Returns
    -------
    Run
        Its scenario has that number of machines.

    Raises
    ------
    InputError
        For a fixed price of 0, of which no number is the best, and for jobs without any work.
    """
    check_one_of("objective", by, OBJECTIVES)
    fixed = scenario.prices.fixed
    allowed = "above 0 for an optimum: free machines are never too many"
    require(fixed > 0, "fixed price", fixed, allowed)
    none = _try(replace(scenario, policy=njw()), 0, by, seed)
    tried = [none] if scenario.policy.rents else []
    # least share in the price
    machine = fixed * scenario.varied(machines=1).fixed_per_h / none.run.summary()["load"]
    most = _most_at_once(scenario.source, seed)
    for number in progress(range(1, most + 1), unit=" numbers"):
        if tried and number * machine > _limit(tried, by):
            break
        tried.append(_try(scenario, number, by, seed))
    return _best(tried, by).run


class _Tried(NamedTuple):
    """A number of machines, its run, the price, and the value of the objective; the least of these
    is the best.
    """

    value: float
    price: float
    number: int
    run: Run


def _try(scenario: Scenario, number: int, by: str, seed: int) -> _Tried:
    own = scenario.varied(machines=number)
    run = own.run(own.policy, seed, records=False)
    figures = run.summary()
    value = figures["price"] * waited_s(by, figures["wait_s"], figures["service_s"])
    return _Tried(value, figures["price"], number, run)


def _most_at_once(source: JobSource, seed: int) -> int:
    """How many jobs there are at most at a time if none waits, the one that ends and the one that
    comes at the same moment both.
    """
    chunks = list(source.chunks(seed))
    submit_s = np.concatenate([chunk.submit_s for chunk in chunks])
    run_s = np.concatenate([chunk.run_s for chunk in chunks])
    ended = np.searchsorted(np.sort(submit_s + run_s), submit_s)
    return int(np.max(np.arange(1, len(ended) + 1) - ended))


def _best(tried: Sequence[_Tried], by: str) -> _Tried:
    """By opportunity cost, the best that costs no more than renting for every job; if none
    does, the cheapest.
    """
    if by != "opportunity":
        return min(tried)
    rent = tried[0].run.scenario.prices.on_demand
    paying = [each for each in tried if each.number > 0 and each.price <= rent]
    return min(paying, default=min(tried, key=lambda each: each.price))


def _limit(tried: Sequence[_Tried], by: str) -> float:
    """The price above which no number is better than the best of those tried."""
    best = _best(tried, by)
    if by == "opportunity":
        rent: float = best.run.scenario.prices.on_demand
        return max(rent, best.price)
    # of jobs that do not wait
    return best.value / waited_s(by, 0.0, best.run.summary()["service_s"])
