"""Replications: one run a policy and seed, in this process or in others. The rows do not depend on where they were made."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from cgrsp_simpy.engine.dispatcher import policy_name
from cgrsp_simpy.engine.simulation import run_once
from cgrsp_simpy.engine.tracing import Listener
from cgrsp_simpy.model.checks import InputError, check_whole, entries_of, require
from cgrsp_simpy.model.decision import Policy
from cgrsp_simpy.model.record import Run
from cgrsp_simpy.model.scenario import Scenario
from cgrsp_simpy.policies import make_policy

__all__ = ["label", "replicate", "simulate"]

JOBS_PER_TASK = 20_000  # about half a second of work
MOST_JOBS_HELD = 50_000  # jobs of a seed that are kept for all policies
Row = dict[str, Any]


def simulate(
    scenario: Scenario,
    policy: str | Policy,
    seed: int = 0,
    *,
    records: bool = True,
    listener: Listener | None = None,
) -> Run:
    """Simulate one run, until the last job completes.

    policy: a name with parameters ("rh", "rh:reserve=2"), a function in a file ("my_rules.py:youngest_first"), or a function
    of a View. seed: whole number >= 0. records: keep a row a job. listener: is called with each Event of the run.

    Raises InputError for a policy or seed that is not allowed, PolicyError if the policy answers what cannot be carried out.
    """
    return run_once(scenario, make_policy(policy), seed, records=records, listener=listener)


def label(policy: str | Policy) -> str:
    """The name of a policy in tables: its text, or the name of the function."""
    return policy if isinstance(policy, str) else policy_name(policy)


def replicate(
    scenario: Scenario,
    policies: Sequence[str | Policy],
    seeds: Iterable[int],
    executor: Executor | int | None = None,
) -> list[Row]:
    """One row a policy and seed: policy, seed and the figures of `Run.summary`; by policy, then seed, as given.

    executor: None runs here, a number in as many processes, or any concurrent.futures.Executor.
    """
    seeds = list(entries_of("seeds", seeds, "several whole numbers, such as range(10)"))
    policies = entries_of("policies", policies, "a list of policies")
    names = [label(policy) for policy in policies]
    require(len(names) > 0, "policies", names, "at least one policy")
    require(len(set(names)) == len(names), "policies", names, "names that differ")
    require(len(seeds) > 0 and len(set(seeds)) == len(seeds), "seeds", seeds, "at least one seed, each once")
    for seed in seeds:
        check_whole("seed", seed, least=0)
    seeds = list(map(int, seeds))
    for policy in policies:
        make_policy(policy)  # a wrong name is an error before the first run
    step = max(1, JOBS_PER_TASK // (scenario.workload.jobs * len(names)))
    chunks = [seeds[first : first + step] for first in range(0, len(seeds), step)]
    rows: list[Row] = []
    with tqdm(total=len(names) * len(seeds), unit="run", delay=1, disable=None, leave=False) as bar:
        for part in _in_order(scenario, policies, chunks, executor):
            rows += part
            bar.update(len(part))
    rank = {name: place for place, name in enumerate(names)}
    return sorted(rows, key=lambda row: rank[row["policy"]])  # stable: by seed within a policy


def _in_order(
    scenario: Scenario, policies: Sequence[str | Policy], chunks: list[list[int]], executor: Executor | int | None
) -> Iterator[list[Row]]:
    """The rows of the chunks of seeds, in the order of the chunks, as they are ready."""
    if executor is None:
        for chunk in chunks:
            for row in _rows(scenario, policies, chunk):
                yield [row]
        return
    with _pool(executor, policies) as pool:
        with _deaf():
            futures = [pool.submit(_task, scenario, policies, chunk) for chunk in chunks]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures if pool is executor else ():  # another's pool goes on: take back what has not begun
                future.cancel()


def _rows(scenario: Scenario, policies: Sequence[str | Policy], seeds: list[int]) -> Iterator[Row]:
    """One row a seed and policy. The jobs of a seed, unless they are many, are made once and met by every policy."""
    few = scenario.workload.jobs <= MOST_JOBS_HELD
    for seed in seeds:
        jobs = list(scenario.workload.generate(seed, scenario.service)) if few else None
        for policy in policies:
            run = run_once(scenario, make_policy(policy), seed, jobs=jobs, records=False)
            yield {"policy": label(policy), "seed": seed, **run.summary()}


def _task(scenario: Scenario, policies: Sequence[str | Policy], seeds: list[int]) -> list[Row]:
    return list(_rows(scenario, policies, seeds))


@contextmanager
def _pool(executor: Executor | int, policies: Sequence[str | Policy]) -> Iterator[Executor]:
    """The executor given, or a pool of processes of our own, which ends at once when we are interrupted."""
    if isinstance(executor, Executor):
        yield executor
        return
    check_whole("executor", executor, least=1)
    for policy in policies:
        _check_picklable(policy)
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(executor, multiprocessing.get_context("spawn"), _ignore_interrupt)
    try:
        yield pool
    except BrokenProcessPool:
        raise WorkerError('a worker process died; a script must call this under if __name__ == "__main__":') from None
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


class WorkerError(RuntimeError):
    """A worker process ended before its work did."""


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes that start in here ignore Ctrl-C from their first instruction on; so do we, for this moment."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _ignore_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends the workers


def _check_picklable(policy: str | Policy) -> None:
    try:
        pickle.dumps(policy)
    except (pickle.PicklingError, AttributeError, TypeError):
        where = "name it as text, or define it at the top of a module"
        raise InputError(f"policy {label(policy)!r} cannot be sent to another process; {where}") from None
