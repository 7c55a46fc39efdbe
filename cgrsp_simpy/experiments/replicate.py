"""Replications: one run a policy and seed, in this process or in others. The rows do not depend on where they were made."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from cgrsp_simpy.engine.dispatcher import policy_name
from cgrsp_simpy.engine.simulation import run_once
from cgrsp_simpy.engine.tracing import Listener
from cgrsp_simpy.model.checks import InputError, check_whole, require
from cgrsp_simpy.model.decision import Policy
from cgrsp_simpy.model.record import Run
from cgrsp_simpy.model.scenario import Scenario
from cgrsp_simpy.policies import make_policy

__all__ = ["label", "replicate", "simulate"]

JOBS_PER_TASK = 20_000  # about half a second of work
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
    seeds = list(seeds)
    names = [label(policy) for policy in policies]
    require(len(names) > 0, "policies", policies, "at least one policy")
    require(len(set(names)) == len(names), "policies", names, "names that differ")
    require(len(seeds) > 0 and len(set(seeds)) == len(seeds), "seeds", seeds, "at least one seed, each once")
    for seed in seeds:
        check_whole("seed", seed, least=0)
    for policy in policies:
        make_policy(policy)  # a wrong name is an error before the first run
    step = max(1, JOBS_PER_TASK // scenario.workload.jobs)
    chunks = [(policy, seeds[at : at + step]) for policy in policies for at in range(0, len(seeds), step)]
    rows: list[Row] = []
    with tqdm(total=len(names) * len(seeds), unit="run", delay=1, disable=None, leave=False) as bar:
        for part in _in_order(scenario, chunks, executor):
            rows += part
            bar.update(len(part))
    return rows


def _in_order(
    scenario: Scenario, chunks: list[tuple[str | Policy, list[int]]], executor: Executor | int | None
) -> Iterator[list[Row]]:
    """The rows of the chunks, in the order of the chunks, as they are ready."""
    if executor is None:
        for policy, seeds in chunks:
            for seed in seeds:
                yield _rows(scenario, policy, [seed])
        return
    with _pool(executor, chunks) as pool:
        futures = [pool.submit(_rows, scenario, policy, seeds) for policy, seeds in chunks]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


def _rows(scenario: Scenario, policy: str | Policy, seeds: list[int]) -> list[Row]:
    name = label(policy)
    return [{"policy": name, "seed": seed, **simulate(scenario, policy, seed, records=False).summary()} for seed in seeds]


@contextmanager
def _pool(executor: Executor | int, chunks: list[tuple[str | Policy, list[int]]]) -> Iterator[Executor]:
    """The executor given, or a pool of processes of our own, which ends at once when we are interrupted."""
    if isinstance(executor, Executor):
        yield executor
        return
    check_whole("executor", executor, least=1)
    for policy, _ in chunks:
        _check_picklable(policy)
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(executor, multiprocessing.get_context("spawn"), _ignore_interrupt)
    try:
        yield pool
    except BrokenProcessPool:
        raise RuntimeError('a worker process died; a script must call this under if __name__ == "__main__":') from None
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _ignore_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends the workers


def _check_picklable(policy: str | Policy) -> None:
    try:
        pickle.dumps(policy)
    except (pickle.PicklingError, AttributeError, TypeError):
        where = "name it as text, or define it at the top of a module"
        raise InputError(f"policy {label(policy)!r} cannot be sent to another process; {where}") from None
