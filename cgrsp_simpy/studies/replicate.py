"""Replications: one run per scenario, policy and seed.

The results do not depend on where, when or in which order they are computed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from cgrsp_simpy.base.checks import (
    InputError,
    WorkerError,
    check_one_of,
    check_whole,
    entries_of,
    error_text,
    require,
)
from cgrsp_simpy.base.files import within
from cgrsp_simpy.base.metric import users_part
from cgrsp_simpy.base.parameters import Whole, checked
from cgrsp_simpy.base.policy import Named, PolicyError
from cgrsp_simpy.base.table import progress
from cgrsp_simpy.engine.events import Listener, policy_name
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.policy_caller import line_of
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.stepping import Step, steps
from cgrsp_simpy.studies.executors import as_they_come
from cgrsp_simpy.studies.function import as_model
from cgrsp_simpy.studies.isolation import isolated, run_isolated
from cgrsp_simpy.studies.store import Store
from cgrsp_simpy.studies.subject import subject_of

log = logging.getLogger(__name__)

TASK_S = 0.5  # minimum duration of a task that is worth a process
RUN_S = 0.001  # duration of a run without jobs
# plain values that a model keeps of a run, or the text of the error that ended it
Outcome = Any


@checked
def simulate(
    scenario: Model | Callable[..., Any],
    policy: Any = None,
    seed: Whole = 0,
    *,
    records: bool = True,
    listener: Listener | None = None,
    engine: str = "auto",
) -> Run:
    """Simulate one run, until the last job completes.

    Parameters
    ----------
    scenario : Model or function
        A scenario of any module, your own `cg.Model`, or a function with `@cg.model`.
    policy : str, callable or mapping, optional
        A name with parameters ("rh", "rh:reserve=2"), a function in a file
        ("own.py:youngest_first"), or a function of a view. For a function with
        `@cg.model`, a mapping of changed parameters, or another such function. Default:
        the first default policy of a comparison.
    seed : int
        At least 0.
    records : bool
        Whether to keep the records of jobs and claims.
    listener : callable, optional
        Called with each Event of the run.
    engine : str
        As in `compare`; with a listener, always SimPy.

    Raises
    ------
    InputError
        For an invalid policy or seed.
    PolicyError
        If the policy's decision cannot be carried out.
    """
    require(
        engine != "compiled" or listener is None,
        "engine",
        engine,
        "simpy or auto if a listener is given, which is called with every event",
    )
    model = checked_model(scenario)
    subject = subject_of(model)
    if policy is None:
        policy = subject.default_policies()[0]
    engine = engine_for(engine, [Replications(model, [policy], [seed])], subject.work)
    return subject.run(policy, seed, records=records, listener=listener, engine=engine)


@checked
def simulate_for_study(
    scenario: Model, policy: Any, seed: Whole, records: bool = True
) -> Run:
    """Simulate one run of a study, identical to the run of its row.

    Arguments and errors as in `simulate` and `run_isolated`.
    """
    engine = engine_for("auto", [], subject_of(scenario).work)
    return run_isolated(scenario, policy, seed, records=records, engine=engine)


@checked
def step_through(scenario: Model, policy: Any, seed: Whole = 0) -> Iterator[Step]:
    """Yield a Step after each event of the run that `simulate` would make.

    It holds the queue, resources and future events; `print(step)` prints the event and
    the state. Raises InputError for an invalid policy or seed; PolicyError if the
    policy's decision cannot be carried out.
    """
    subject = subject_of(checked_model(scenario))
    policy = subject.make_policy(policy)
    return steps(lambda listener: subject.simulation(policy, seed, listener=listener))


def check_policies(
    policies: Sequence[Any] | Mapping[str, Any] | None, scenario: Model
) -> dict[str, Any]:
    """Return policies by label; InputError for an invalid one.

    policies: a list, or a mapping from names; None: the scenario's default policies.
    """
    if policies is None:
        policies = subject_of(scenario).default_policies()
    if isinstance(policies, Mapping):
        policies = [Named(str(name), _kept(item)) for name, item in policies.items()]
    policies = list(map(_kept, entries_of("policies", policies, "a list of policies")))
    names = [policy_name(policy) for policy in policies]
    require(len(names) > 0, "policies", names, "at least one policy")
    require(
        len(set(names)) == len(names),
        "policies",
        names,
        "names without duplicates; in Python, a dict gives each policy a name",
    )
    for policy in policies:
        subject_of(scenario).make_policy(policy)
    return dict(zip(names, policies))


def _kept(policy: Any) -> Any:
    """Return a policy for a study, with a mapping of changed parameters copied."""
    return dict(policy) if isinstance(policy, Mapping) else policy


def check_seeds(seeds: Iterable[int]) -> list[int]:
    """Return seeds as a list; InputError unless they are distinct whole numbers."""
    seeds = list(
        entries_of("seeds", seeds, "a sequence of whole numbers, such as range(10)")
    )
    require(
        len(seeds) > 0 and len(set(seeds)) == len(seeds),
        "seeds",
        seeds,
        "at least one seed, without duplicates",
    )
    for seed in seeds:
        check_whole("seed", seed, least=0)
    return list(map(int, seeds))


def checked_model(scenario: Any) -> Model:
    """Convert a scenario to a Model; InputError if that is not possible."""
    model = as_model(scenario)
    require(
        isinstance(model, Model),
        "scenario",
        scenario,
        "a cg.Model, such as the Scenario of a module, or a function with @cg.model",
    )
    return model  # type: ignore[no-any-return]


class Replications(NamedTuple):
    """Requested runs of a scenario: every policy on every seed."""

    scenario: Model
    policies: Sequence[Any]
    seeds: Iterable[int]


class Block(NamedTuple):
    """A seed of a scenario, and the policies that run on its jobs."""

    scenario: Model
    seed: int
    policies: tuple[Any, ...]
    engine: str = "simpy"
    keep: Callable[[Run], Outcome] | None = None


ENGINES = ("auto", "simpy", "compiled")
# jobs of a process: fewer save less than the second that numba takes to load
MANY = 100_000
_ENGINE = ContextVar("engine", default=("auto", 0))


@contextmanager
def studies_on(engine: str = "auto", jobs: int = 0) -> Iterator[None]:
    """Set the engine of studies with engine="auto" within a with block.

    "auto" leaves the outer engine unchanged. jobs: number simulated in total.
    """
    check_one_of("engine", engine, ENGINES)
    outer, more = _ENGINE.get()
    with within(_ENGINE, (outer if engine == "auto" else engine, max(jobs, more))):
        yield


def engine_for(engine: str, wanted: Iterable[Replications], jobs: int) -> str:
    """Return the engine for runs, which is compiled if possible, otherwise "simpy".

    jobs: number that one process simulates. Raises InputError if "compiled" is
    requested but not possible.
    """
    check_one_of("engine", engine, ENGINES)
    outer, more = _ENGINE.get()
    engine = outer if engine == "auto" else engine
    if engine == "compiled":
        for scenario, policies, _ in wanted:
            for policy in policies:
                why = subject_of(scenario).not_compiled(
                    subject_of(scenario).make_policy(policy)
                )
                if why:
                    raise InputError(
                        f"engine(='compiled') cannot run {policy_name(policy)}: {why}"
                    )
    return "simpy" if engine == "auto" and max(jobs, more) < MANY else engine


@dataclass(frozen=True)
class Runs:
    """The outcomes of runs, by scenario, policy and seed."""

    _outcomes: dict[Hashable, dict[tuple[str, int], Outcome]] = field(
        default_factory=dict, repr=False
    )
    _met: dict[int, tuple[Model, dict[tuple[str, int], Outcome]]] = field(
        default_factory=dict, repr=False
    )

    def _of(self, scenario: Model) -> dict[tuple[str, int], Outcome]:
        """Return outcomes by policy and seed; a known scenario is not hashed again."""
        if id(scenario) not in self._met:
            self._met[id(scenario)] = (
                scenario,
                self._outcomes.setdefault(_key(scenario), {}),
            )
        return self._met[id(scenario)][1]

    def outcome(self, scenario: Model, policy: Any, seed: int) -> Outcome:
        """Return the outcome of a run, or its error as text."""
        return self._of(scenario)[policy_name(policy), seed]

    def figures(self, scenario: Model, policy: Any, seed: int) -> dict[str, Any]:
        """Return the figures of a run's summary, or its error under "error"."""
        return _figures(scenario, self.outcome(scenario, policy, seed))

    def take(self, block: Block, outcomes: Sequence[Outcome]) -> None:
        """Add the outcomes of a block; warn if a run was repeated and differs."""
        scenario, seed = block.scenario, block.seed
        for policy, outcome in zip(block.policies, outcomes):
            before = self._of(scenario).setdefault((policy_name(policy), seed), outcome)
            if before is not outcome:
                _warn_if_different(scenario, policy, seed, before, outcome)


def _figures(scenario: Model, outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, str):
        return {"error": outcome}
    return subject_of(scenario).figures(outcome)


def _texts(scenario: Model, outcome: Outcome) -> dict[str, str]:
    """Return figures as strings, so that NaN equals NaN, and a NumPy number equals the
    same number from a results directory.
    """
    return {name: f"{value}" for name, value in _figures(scenario, outcome).items()}


def _warn_if_different(
    scenario: Model, policy: Any, seed: int, before: Outcome, after: Outcome
) -> None:
    """Warn if two runs with the same seed differ, with the first figure that does."""
    first, second = _texts(scenario, before), _texts(scenario, after)
    for name in first | second:
        value, other = first.get(name), second.get(name)
        # the texts of two errors may contain addresses
        if value != other and (name != "error" or None in (value, other)):
            log.warning(
                "%s, %s %s: two runs with seed %d differ (%s is %s, then %s); draw"
                ' random numbers from draw("name") or view.rng, and use neither clock'
                " nor set order",
                scenario.name,
                scenario.policy_label,
                policy_name(policy),
                seed,
                name,
                value,
                other,
            )
            return


def replicate(
    wanted: Iterable[Replications],
    executor: Executor | int | None = None,
    store: Store | None = None,
    engine: str = "auto",
    keep: Callable[[Run], Outcome] | None = None,
) -> Runs:
    """Carry out the requested runs, each only once. The first run of each policy that
    involves user code is repeated, and a warning is logged if the two differ.

    executor, engine: as in `compare`. store: saves outcomes and supplies saved ones.
    keep: module-level function that returns the outcome of a run with records; None:
    the outcome of the subject, without records.
    """
    wanted = list(wanted)
    pairs = {
        (id(scenario), policy_name(policy)): (scenario, policy)
        for scenario, policies, _ in wanted
        for policy in policies
    }
    of_users = set()
    for (_, name), (scenario, policy) in pairs.items():
        # reject values that cannot be copied before the first run
        scenario_copy, policy_copy, *_ = isolated(scenario, policy)
        policy = policy.policy if isinstance(policy, Named) else policy
        if scenario_copy is not scenario or policy_copy is not policy:
            of_users.add(name)
    blocks = _blocks(wanted)
    if not keep:
        blocks = [*blocks, *_repeated(blocks, of_users)]
    workers = executor if isinstance(executor, int) else 1
    engine_used = engine_for(engine, wanted, _work(blocks) // max(1, workers))
    tasks = list(_tasks([b._replace(engine=engine_used, keep=keep) for b in blocks]))
    runs = Runs()
    for task, outcomes in zip(tasks, _carried_out(tasks, executor, store)):
        for block, by_policy in zip(task, outcomes):
            runs.take(block, by_policy)
    if not keep:
        _warn_of_mistakes(runs, wanted)
    return runs


def _warn_of_mistakes(runs: Runs, wanted: Iterable[Replications]) -> None:
    """Warn of the first policy whose figures suggest a mistake in a user's model."""
    for scenario, policies, seeds in wanted:
        for policy in policies if users_part(scenario) is not None else ():
            rows = [
                _texts(scenario, runs.outcome(scenario, policy, seed)) for seed in seeds
            ]
            if mistake := _mistake(rows):
                label = f"{scenario.policy_label} {policy_name(policy)}"
                log.warning("%s, %s: %s", scenario.name, label, mistake)
                return  # a sweep may have many points


def _mistake(rows: Sequence[Mapping[str, str]]) -> str:
    """Return a likely mistake in a model, from its figures per seed; "" if none."""
    if len(rows) == 1 or not any(rows) or any("error" in row for row in rows):
        return ""
    if all(row == rows[0] for row in rows):
        return (
            f"all {len(rows)} seeds give the same figures; if the model is random, draw"
            ' its numbers from draw("name"), not from a generator with a fixed seed,'
            " and check whether an env.process(...) or a yield is missing"
        )
    never_granted = [
        name
        for name in (figure.removesuffix("_queue") for figure in rows[0])
        if all(
            row.get(f"{name}_queue", "0.0") != "0.0"
            and row.get(f"{name}_wait") == row.get(f"{name}_withdrawn_pct") == "0.0"
            for row in rows
        )
    ]
    return (
        f"no request that waited for {' or '.join(never_granted)} was ever granted: is"
        " a release missing, or do processes wait for one another?"
        if never_granted
        else ""
    )


def _carried_out(
    tasks: Sequence[Sequence[Block]],
    executor: Executor | int | None,
    store: Store | None,
) -> list[list[list[Outcome]]]:
    """Return the outcomes per task and block, from runs or from the store."""
    first = store.take_numbers(len(tasks)) if store else 0
    shapes = [[len(block.policies) for block in task] for task in tasks]
    done = {
        number: kept
        for number, shape in enumerate(shapes)
        if store and (kept := store.load(first + number, shape)) is not None
    }
    with progress(total=sum(map(_work, tasks)), unit=" jobs", unit_scale=True) as bar:
        bar.update(sum(_work(tasks[number]) for number in done))
        left = {number: task for number, task in enumerate(tasks) if number not in done}
        try:
            for number, outcomes in as_they_come(_carry_out, left, executor):
                if store:
                    store.save(first + number, outcomes)
                done[number] = outcomes
                bar.update(_work(tasks[number]))
        except WorkerError as error:
            saved = (
                f"; {len(done)} of {len(tasks)} tasks are saved in {store.path}"
                if store
                else ""
            )
            raise WorkerError(f"{error}{saved}") from error
    return [done[number] for number in range(len(tasks))]


def _blocks(wanted: Iterable[Replications]) -> list[Block]:
    """Return one block per scenario and seed, so that its jobs are drawn once."""
    numbers: dict[Hashable, int] = {}
    groups: dict[tuple[int, int], tuple[Model, dict[str, Any]]] = {}
    for scenario, policies, seeds in wanted:
        number = numbers.setdefault(_key(scenario), len(numbers))
        for seed in seeds:
            _, named = groups.setdefault((number, seed), (scenario, {}))
            named.update((policy_name(policy), policy) for policy in policies)
    return [
        Block(scenario, seed, tuple(named.values()))
        for (_, seed), (scenario, named) in groups.items()
    ]


def _repeated(blocks: Sequence[Block], of_users: set[str]) -> Iterator[Block]:
    """Yield a block with the first run of each policy whose runs involve user code."""
    for block in blocks:
        policies = [item for item in block.policies if policy_name(item) in of_users]
        if policies:
            yield block._replace(policies=tuple(policies))
            of_users = of_users - {*map(policy_name, policies)}


def _key(scenario: Model) -> Hashable:
    """Return a scenario's key: itself if hashable without user code, else its id."""
    try:
        hash(scenario)
    except TypeError:
        return id(scenario)
    return scenario if users_part(scenario) is None else id(scenario)


def _work(blocks: Sequence[Block]) -> int:
    return sum(
        subject_of(block.scenario).work * len(block.policies) for block in blocks
    )


def _tasks(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Group blocks into tasks of at least about TASK_S; long runs are separate."""
    task: list[Block] = []
    task_s = 0.0
    for block in blocks:
        subject = subject_of(block.scenario)
        run_s = RUN_S + subject.work / subject.pace_per_s  # an estimate
        if run_s > TASK_S:
            yield from (
                [block._replace(policies=(policy,))] for policy in block.policies
            )
            continue
        task.append(block)
        task_s += run_s * len(block.policies)
        if task_s >= TASK_S:
            yield task
            task, task_s = [], 0.0
    if task:
        yield task


def _carry_out(task: Sequence[Block]) -> list[list[Outcome]]:
    return [_outcomes(block) for block in task]


def _outcomes(block: Block) -> list[Outcome]:
    scenario, seed, policies, engine, keep = block
    # jobs of a user's class may change in a run
    shared = len(policies) > 1 and users_part(scenario) is None
    drawn = _or_error(lambda: subject_of(scenario).draw(seed) if shared else None)

    def outcome(policy: Any) -> Outcome:
        run = run_isolated(
            scenario, policy, seed, drawn=drawn, records=bool(keep), engine=engine
        )
        return (keep or subject_of(scenario).outcome)(run)

    return [
        drawn if isinstance(drawn, str) else _or_error(partial(outcome, policy))
        for policy in policies
    ]


def _or_error(function: Callable[[], Any]) -> Any:
    """Call a function; return its result or, even for SystemExit, its error as text."""
    try:
        return function()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, PolicyError):  # which names the line
            return error_text(error)
        # SimPy raises a copy of the error of a process, whose cause is the error itself
        cause = error.__cause__
        origin = cause if type(cause) is type(error) else error
        return f"{error_text(error)}{line_of(origin, ['user'])}"
