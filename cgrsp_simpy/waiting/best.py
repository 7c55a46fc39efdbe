"""The best number of fixed machines for jobs of one's own: tried, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.model.checks import check_one_of, require
from cgrsp_simpy.model.table import progress
from cgrsp_simpy.waiting.formulas import OBJECTIVES, waited_s
from cgrsp_simpy.waiting.jobs import JobSource
from cgrsp_simpy.waiting.policies import njw
from cgrsp_simpy.waiting.recursion import follow
from cgrsp_simpy.waiting.scenario import Scenario


def best_number(scenario: Scenario, by: str = "price", seed: int = 0) -> Run:
    """The run on the best number of fixed machines, 0 among them unless no job may go on demand
    (ajw).

    Numbers are tried up to that with which no job waits, or until the machines alone, paid only
    until all jobs can have ended, cost more than the best number.

    scenario: its machines name the kind. by: "price", "opportunity" or "total", as of `optimum`.
    seed: of the jobs. Result: its scenario has that number of machines; its jobs are kept. Raises
    InputError for a fixed price of 0, of which no number is the best, and for jobs without any
    work.
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
    best: Scenario = _best(tried, by).run.scenario  # type: ignore[assignment]
    if best.recursive:
        return follow(best, seed, keep=True)
    return best.run(best.policy, seed)


def strain(run: Run) -> dict[str, float]:
    """How hard the fixed machines are pressed, of a run that keeps its jobs.

    p95_wait_s: the wait that 95 % of all jobs do not exceed. backlog: jobs that wait at the last
    submission. own_load: offered load of the fixed machines, the work of the jobs that they do over
    what they can do from the first submission to the last; of shared machines the greater of cores
    and memory; 0 without machines, infinite where all come at once.
    """
    jobs, machines = run.jobs, run.scenario.machines
    submit_s, own_s = jobs["submit_s"], jobs["run_s"] * ~jobs["on_demand"]
    if isinstance(machines, int):
        loads = [(own_s.sum(), machines)]
    else:
        loads = [
            (own_s @ jobs[name], sum(getattr(size, name) for size in machines))
            for name in ("cores", "memory_gb")
        ]
    span_s = submit_s.max() - submit_s.min()
    with np.errstate(divide="ignore"):
        return {
            "p95_wait_s": float(np.quantile(jobs["start_s"] - submit_s, 0.95)),
            "backlog": float(np.count_nonzero(jobs["start_s"] > submit_s.max())),
            "own_load": max(float(np.divide(work, room * span_s)) for work, room in loads if work)
            if own_s.any()
            else 0.0,
        }


def strained(figures: Mapping[str, float]) -> str:
    """Why few would do as recommended: the fixed machines get at least the work that they can do
    and leave a backlog, or jobs wait longer in the mean than they run.

    figures: wait_s and service_s; those of `strain`, where the jobs are listed. Result: "" where
    neither holds.
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
