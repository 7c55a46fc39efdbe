"""Replications: one run a scenario, policy and seed. The results do not depend on where, when or in which order they are made."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tqdm import tqdm

from cgrsp_simpy.engine.events import Listener, policy_name
from cgrsp_simpy.engine.stepping import Step, steps
from cgrsp_simpy.model.checks import InputError, check_whole, entries_of, require
from cgrsp_simpy.rental.policies import make_policy
from cgrsp_simpy.rental.record import Run, Totals, figures
from cgrsp_simpy.rental.scenario import Scenario, foreign_part
from cgrsp_simpy.rental.simulation import Simulation, run_once
from cgrsp_simpy.rental.view import Policy
from cgrsp_simpy.studies.executors import WorkerError, as_they_come
from cgrsp_simpy.studies.store import Store

__all__ = [
    "Runs",
    "Wanted",
    "check_policies",
    "check_seeds",
    "checked_scenario",
    "label",
    "replicate",
    "simulate",
    "step_through",
]

JOBS_PER_TASK = 20_000  # about half a second of work
Outcome = Totals | str  # the sums of a run, or the error that ended it


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


def step_through(scenario: Scenario, policy: str | Policy, seed: int = 0) -> Iterator[Step]:
    """The run that `simulate` makes, one event at a time: a Step after each, with the queue, the slots and the future events.

    policy, seed, errors: as in `simulate`. `print(step)` prints the event and the state that it leaves.
    """
    check_whole("seed", seed, least=0)
    made = make_policy(policy)
    return steps(lambda listener: Simulation(scenario, made, seed, None, True, listener))


def label(policy: Any) -> str:
    """The name of a policy in tables: its text, or the name of the function."""
    return policy if isinstance(policy, str) else policy_name(policy)


def check_policies(policies: Sequence[str | Policy]) -> dict[str, str | Policy]:
    """Policies by their labels; a wrong one is an error before the first run."""
    policies = entries_of("policies", policies, "a list of policies")
    names = [label(policy) for policy in policies]
    require(len(names) > 0, "policies", names, "at least one policy")
    require(len(set(names)) == len(names), "policies", names, "names that differ")
    for policy in policies:
        make_policy(policy)
    return dict(zip(names, policies))


def check_seeds(seeds: Iterable[int]) -> list[int]:
    """Seeds as a list of whole numbers, each once."""
    seeds = list(entries_of("seeds", seeds, "several whole numbers, such as range(10)"))
    require(len(seeds) > 0 and len(set(seeds)) == len(seeds), "seeds", seeds, "at least one seed, each once")
    for seed in seeds:
        check_whole("seed", seed, least=0)
    return list(map(int, seeds))


def checked_scenario(made: object) -> Scenario:
    """What a user's function made, if it is a scenario."""
    require(isinstance(made, Scenario), "scenario", made, "a Scenario")
    return made  # type: ignore[return-value]


class Wanted(NamedTuple):
    """Runs that are wanted: each of some policies on each of some seeds."""

    scenario: Scenario
    policies: Sequence[str | Policy]
    seeds: Iterable[int]


class Unit(NamedTuple):
    """A seed of a scenario, and the policies that meet its jobs."""

    scenario: Scenario
    seed: int
    policies: tuple[str | Policy, ...]


@dataclass(frozen=True)
class Runs:
    """The outcomes of runs, by scenario, policy and seed."""

    _outcomes: dict[tuple[Hashable, str, int], Outcome] = field(default_factory=dict, repr=False)

    def outcome(self, scenario: Scenario, policy: str | Policy, seed: int) -> Outcome:
        """The sums of a run, or its error."""
        return self._outcomes[_key(scenario), label(policy), seed]

    def figures(self, scenario: Scenario, policy: str | Policy, seed: int) -> dict[str, Any]:
        """The figures of a run, as in `Run.summary`, or its error under "error"."""
        sums = self.outcome(scenario, policy, seed)
        if isinstance(sums, str):
            return {"error": sums}
        capacity_s = len(scenario.slots) * sums.end_s
        return {**figures(sums, scenario.workload.jobs, capacity_s), "makespan_h": sums.end_s / 3600}

    def take(self, unit: Unit, outcomes: Sequence[Outcome]) -> None:
        """Add the outcomes of a unit."""
        for policy, outcome in zip(unit.policies, outcomes):
            self._outcomes[_key(unit.scenario), label(policy), unit.seed] = outcome


def replicate(wanted: Iterable[Wanted], executor: Executor | int | None = None, store: Store | None = None) -> Runs:
    """Carry out all runs that are wanted, each once, however often it is wanted.

    executor: None runs here, a number in as many processes, or any concurrent.futures.Executor. store: keeps what is done,
    and gives back what it has.
    """
    tasks = list(_tasks(_units(wanted)))
    if isinstance(executor, int):
        check_picklable(policy for task in tasks for unit in task for policy in unit.policies)
    shapes = [[len(unit.policies) for unit in task] for task in tasks]
    done = carried_out(_carry_out, tasks, shapes, [_work(task) for task in tasks], executor, store)
    runs = Runs()
    for task, outcomes in zip(tasks, done):
        for unit, by_policy in zip(task, outcomes):
            runs.take(unit, by_policy)
    return runs


def carried_out(
    function: Callable[[Any], list[list[Any]]],
    tasks: Sequence[Any],
    shapes: Sequence[Sequence[int]],
    jobs: Sequence[int],
    executor: Executor | int | None,
    store: Store | None,
) -> list[list[list[Any]]]:
    """What a function makes of each task: the outcomes of its units; those that the store has are not made again.

    shapes: the number of outcomes of each unit of each task. jobs: that each task simulates, for the progress bar, which shows
    on a terminal only.
    """
    first = store.take_numbers(len(tasks)) if store else 0
    found = {number: store.load(first + number, shape) for number, shape in enumerate(shapes)} if store else {}
    done = {number: outcomes for number, outcomes in found.items() if outcomes is not None}
    with tqdm(total=sum(jobs), unit=" jobs", unit_scale=True, delay=1, disable=None, leave=False) as bar:
        bar.update(sum(jobs[number] for number in done))
        left = {number: task for number, task in enumerate(tasks) if number not in done}
        try:
            for number, outcomes in as_they_come(function, left, executor):
                if store:
                    store.save(first + number, outcomes)
                done[number] = outcomes
                bar.update(jobs[number])
        except WorkerError as error:
            kept = f"; {len(done)} of {len(tasks)} tasks are kept in {store.path}" if store else ""
            raise WorkerError(f"{error}{kept}") from error
    return [done[number] for number in range(len(tasks))]


def _units(wanted: Iterable[Wanted]) -> list[Unit]:
    """A unit a scenario and seed, with all policies that are wanted there, so that its jobs are made once."""
    groups: dict[tuple[Hashable, int], tuple[Scenario, dict[str, str | Policy]]] = {}
    for scenario, policies, seeds in wanted:
        key = _key(scenario)
        for seed in seeds:
            _, named = groups.setdefault((key, seed), (scenario, {}))
            named.update((label(policy), policy) for policy in policies)
    return [Unit(scenario, seed, tuple(named.values())) for (_, seed), (scenario, named) in groups.items()]


def _key(scenario: Scenario) -> Hashable:
    """Equal scenarios have equal keys; one with a part of a user's class, or one that cannot be hashed, is like no other."""
    try:
        hash(scenario)
    except TypeError:
        return id(scenario)
    return scenario if foreign_part(scenario) is None else id(scenario)


def _work(units: Sequence[Unit]) -> int:
    return sum(unit.scenario.workload.jobs * len(unit.policies) for unit in units)


def _tasks(units: Iterable[Unit]) -> Iterator[list[Unit]]:
    """Units in tasks of half a second of work or more; one with very many jobs becomes a task a policy."""
    task: list[Unit] = []
    for unit in units:
        if unit.scenario.workload.jobs > JOBS_PER_TASK:
            yield from ([unit._replace(policies=(policy,))] for policy in unit.policies)
            continue
        task.append(unit)
        if _work(task) >= JOBS_PER_TASK:
            yield task
            task = []
    if task:
        yield task


def _carry_out(task: Sequence[Unit]) -> list[list[Outcome]]:
    """The outcomes of each unit, by policy."""
    return [_outcomes(unit) for unit in task]


def _outcomes(unit: Unit) -> list[Outcome]:
    scenario, seed, policies = unit
    try:
        shared = list(scenario.workload.generate(seed, scenario.service)) if len(policies) > 1 else None
    except (Exception, SystemExit) as error:
        return [_told(error)] * len(policies)

    def outcome(policy: str | Policy) -> Outcome:
        try:
            return run_once(scenario, make_policy(policy), seed, jobs=shared, records=False).totals
        except (Exception, SystemExit) as error:  # whatever a policy may raise: the other runs go on
            return _told(error)

    return [outcome(policy) for policy in policies]


def _told(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def check_picklable(policies: Iterable[Any]) -> None:
    """Refuse a policy that cannot be sent to another process."""
    for policy in policies:
        if isinstance(policy, str):
            continue
        try:
            pickle.dumps(policy)
        except (pickle.PicklingError, AttributeError, TypeError):
            where = "name it as text, or define it at the top of a module"
            raise InputError(f"policy {label(policy)!r} cannot be sent to another process; {where}") from None
