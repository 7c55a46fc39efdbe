"""Cases carried out, once or many times: by the recursion, in replications, with the best number of machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.model.checks import InputError, check_one_of, check_whole, require
from cgrsp_simpy.studies.executors import as_they_come
from cgrsp_simpy.waiting.case import Case, Outcome
from cgrsp_simpy.waiting.formulas import OBJECTIVES, waited_s
from cgrsp_simpy.waiting.outcome import Columns, Tally, in_order
from cgrsp_simpy.waiting.policies import POLICIES
from cgrsp_simpy.waiting.recursion import recursion
from cgrsp_simpy.waiting.simulation import simulate

__all__ = ["best_number", "estimate", "follow", "of_trials"]


def follow(case: Case, seed: int = 0, *, keep: bool = False) -> Outcome:
    """The same without events, by the recursion: for whole machines, first come, first served; a job takes about a microsecond.

    Raises InputError for another order or shared machines.
    """
    check_whole("seed", seed, least=0)
    if not isinstance(case.machines, int) or not case.recursive:
        raise InputError("the recursion is for machines that a job takes as a whole, first come, first served; simulate instead")
    tally, kept = Tally(case.jobs.jobs, steady=case.steady), []
    for done in recursion(case.foreseen(seed), case.policy, case.machines, case.work_conserving):
        tally.add(done)
        if keep:
            kept.append(done)
    return Outcome(case, seed, tally, in_order(kept) if keep else None)


# ---- several trials ----


def estimate(
    cases: Sequence[Case],
    trials: int = 5,
    seed: int = 0,
    executor: Executor | int | None = None,
    run: Callable[[Case, int], Outcome] = simulate,
) -> list[dict[str, Mean]]:
    """Means with 95 % intervals for each case: wait_s, price, on_demand_fraction, load, opportunity.

    trials: replications of seeds seed, seed + 1, ..., the same for all cases; with one the interval is from batch means.
    executor: None runs here, a number in as many processes, or any concurrent.futures.Executor. run: `simulate` or `follow`.
    """
    check_whole("trials", trials, least=1)
    tasks = dict(enumerate((case, seed + trial, run) for case in cases for trial in range(trials)))
    done: dict[int, Outcome] = {}
    with tqdm(total=len(tasks), unit=" runs", delay=1, disable=None, leave=False) as bar:
        for number, outcome in as_they_come(_carry_out, tasks, executor):
            done[number] = outcome
            bar.update()
    runs = [[done[first + trial] for trial in range(trials)] for first in range(0, len(tasks), trials)]
    return [of_trials(outcomes) for outcomes in runs]


def _carry_out(task: tuple[Case, int, Callable[[Case, int], Outcome]]) -> Outcome:
    case, seed, run = task
    return run(case, seed)


def of_trials(outcomes: Sequence[Outcome]) -> dict[str, Mean]:
    """Means with 95 % intervals over trials, or from the batches of a single one."""
    if len(outcomes) == 1:
        return outcomes[0].means
    figures = [outcome.figures for outcome in outcomes]
    return {name: mean([each[name] for each in figures]) for name in figures[0]}


# ---- the best number ----


def best_number(case: Case, by: str = "price", seed: int = 0) -> Outcome:
    """The outcome of the best number of fixed machines, 0 among them unless no job may go on demand (ajw).

    case: its machines name the kind. by: as of `formulas.optimum`. Numbers are tried up to that with which no job waits, or until
    the machines alone, paid only until all jobs can have ended, cost more than the best number. Raises InputError for a fixed
    price of 0, of which no number is the best, and for jobs without any work.
    """
    check_one_of("objective", by, OBJECTIVES)
    require(case.prices.fixed > 0, "fixed price", case.prices.fixed, "above 0 for an optimum: free machines are never too many")
    none = _try(replace(case, policy=POLICIES["njw"]), 0, by, seed, keep=True)
    tried = [none] if case.policy.rents else []
    machine = case.prices.fixed * _owning(case, 1).fixed_per_h / none.outcome.figures["load"]  # least share in the price
    for number in tqdm(range(1, _most_at_once(none.outcome.jobs) + 1), unit=" numbers", delay=1, disable=None, leave=False):
        if tried and number * machine > _limit(tried, by):
            break
        tried.append(_try(case, number, by, seed))
    return _best(tried, by).outcome


class _Tried(NamedTuple):
    """A number of machines, its outcome, the price, and the value of the objective; the least of these is the best."""

    value: float
    price: float
    number: int
    outcome: Outcome


def _try(case: Case, number: int, by: str, seed: int, *, keep: bool = False) -> _Tried:
    own = _owning(case, number)
    outcome = (follow if own.recursive else simulate)(own, seed, keep=keep)
    figures = outcome.figures
    value = figures["price"] * waited_s(by, figures["wait_s"], figures["service_s"])
    return _Tried(value, figures["price"], number, outcome)


def _owning(case: Case, number: int) -> Case:
    """The case with so many fixed machines of its kind."""
    return replace(case, machines=number if isinstance(case.machines, int) else case.machines[:1] * number)


def _most_at_once(done: Columns | None) -> int:
    """How many jobs there are at most at a time, the one that ends and the one that comes at the same moment both."""
    assert done is not None
    ended = np.searchsorted(np.sort(done.end_s), done.start_s)
    return int(np.max(np.arange(1, len(ended) + 1) - ended))


def _best(tried: Sequence[_Tried], by: str) -> _Tried:
    """By opportunity cost, the best that costs no more than renting for every job; if none does, the cheapest."""
    if by != "opportunity":
        return min(tried)
    rent = tried[0].outcome.case.prices.on_demand
    paying = [each for each in tried if each.number > 0 and each.price <= rent]
    return min(paying, default=min(tried, key=lambda each: each.price))


def _limit(tried: Sequence[_Tried], by: str) -> float:
    """The price above which no number is better than the best of those tried."""
    best = _best(tried, by)
    figures, prices = best.outcome.figures, best.outcome.case.prices
    if by == "opportunity":
        return max(prices.on_demand, best.price)
    return best.value / waited_s(by, 0.0, figures["service_s"])  # of jobs that do not wait
