"""The state of a queue at one time, and runs that start from it.

A run from a state first repeats the recorded past: jobs arrive and are granted
resources at the recorded times. Unknown values are drawn from their distributions
conditional on the past. Then the policy takes over. A model defines the content of its
states in a class derived from `State`, and the start of its runs from a state in a
class derived from the model and `FromState`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, cast

import cloudpickle

from cgrsp_simpy.base.checks import InputError, check_number, require, shown
from cgrsp_simpy.base.files import (
    FILE,
    faults_of,
    json_of,
    mapping,
    opened,
    write_whole,
)
from cgrsp_simpy.base.parameters import (
    Entries,
    NotNegative,
    UpToInfinity,
    Whole,
    declared,
    limits,
    parameter,
)
from cgrsp_simpy.base.parts import part_of
from cgrsp_simpy.base.policy import Wake, WrapsPolicy
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.base.table import json_text
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.engine.simulation import Simulation

MOST_JOBS = 10_000  # maximum number of jobs of a state


@declared("{} of job {id}")
class WaitingJob:
    """A waiting job."""

    id: Whole = parameter("Number of the job, increasing in order of submission.")
    submit_s: NotNegative = parameter("Time of submission, seconds.")


@declared()
class State:
    """The known state of a queue and its resources at one time.

    A derived class declares the types of `waiting` and `running`. A running job has
    `since_s`, the time at which its resources were granted.
    """

    now_s: Annotated[
        float, limits("a number from 0 to 10,000,000, 115 days", ge=0, le=1e7)
    ] = parameter(
        "Current time, seconds since time 0 of the scenario (at its hour of day)."
    )
    waiting: Entries[Any] = parameter("Jobs in the queue.", default=())
    running: Entries[Any] = parameter("Jobs that hold resources.", default=())
    to_come: Whole | None = parameter(
        "Number of jobs still to arrive. Default: all jobs of the workload; for a"
        " list or log, those submitted later.",
        default=None,
    )
    wake_s: UpToInfinity | None = parameter(
        "Time of the policy's next decision, seconds, unless a job arrives or"
        " ends earlier. Default: now. Infinity (null in JSON): at the next such"
        " event.",
        default=None,
    )
    policy: str = parameter(
        "Name of the policy whose memory the state contains.", default=""
    )
    memory: Any = parameter("Return value of the policy's `save`.", default=None)
    scenario: str = parameter(
        "Name and parameters of the scenario, as on the command line: hectic slots=5.",
        default="",
    )

    usual: ClassVar[str] = ""
    """The policy that decides on a state unless another one is named."""

    def __post_init__(self) -> None:
        now_s, known = self.now_s, sorted(self.jobs, key=lambda job: job.id)
        most = f"at most {MOST_JOBS:,}"
        require(len(known) <= MOST_JOBS, "number of jobs", len(known), most)
        for before, job in pairwise(known):
            require(before.id != job.id, "id", job.id, "unique, but two jobs have it")
            in_order = before.submit_s <= job.submit_s
            allowed = f"at least that of job {before.id}, {before.submit_s:g}"
            require(in_order, f"submit_s of job {job.id}", job.submit_s, allowed)
        for job in known:
            allowed = f"at most now_s, {now_s:g}"
            name = f"submit_s of job {job.id}"
            require(job.submit_s <= now_s, name, job.submit_s, allowed)
        if self.wake_s is not None:
            allowed = f"at least now_s, {now_s:g}"
            require(self.wake_s >= now_s, "wake_s", self.wake_s, allowed)

    @property
    def jobs(self) -> tuple[Any, ...]:
        """All jobs, running ones first."""
        return (*self.running, *self.waiting)

    @property
    def past_estimate(self) -> int:
        """Number of running jobs that have run for longer than their estimates."""
        return 0

    def resumed(self, scenario: Any) -> Any:
        """Return a model of the scenario that starts from this state.

        Raises InputError for a state that is impossible in the scenario, and for a
        scenario whose states cannot be fully described.
        """
        raise NotImplementedError

    @classmethod
    def parts_of(cls, live: Simulation) -> dict[str, Any]:
        """Return the model-specific parameters of the state of a run in progress."""
        raise NotImplementedError

    # ---- of a run ----

    @classmethod
    def of(cls, run: Any, at_s: float) -> Self:
        """Return the state of a simulated run after all events up to a time, seconds.

        The run is repeated up to that time. Raises InputError for a policy whose memory
        changes but that does not save it.
        """
        check_number("at_s", at_s, least=0)
        model = run.scenario
        require(
            run.rule is not None,
            "run",
            run,
            "a run of `simulate`, which can be repeated",
        )
        live: Simulation = model.subject(model).simulation(run.rule, run.seed)
        carry_out(live, at_s)
        live.view.on_decision(at_s)
        wake = live.dispatcher.wake
        wakes_s = (time_s for time_s, *_, event in live.env._queue if event is wake)
        policy = _inner(live.policy)
        return cls(
            now_s=at_s,
            wake_s=next(wakes_s, math.inf),
            policy=policy_name(policy),
            memory=_memory_of(policy, _inner(run.rule)),
            **cls.parts_of(live),
        )

    # ---- JSON ----

    @classmethod
    def from_table(cls, table: Any) -> Self:
        """Create the state that a table describes, such as one from a JSON file that
        conforms to data/state.schema.json or data/cluster_state.schema.json.
        """
        table = {**mapping(FILE, table)}
        for name in ("waiting", "running"):
            rows = table.get(name)
            if isinstance(rows, list):
                number, most = len(rows), f"at most {MOST_JOBS:,}"
                require(number <= MOST_JOBS, f"jobs {name}", number, most)
        if table.get("wake_s", 0.0) is None:
            table["wake_s"] = math.inf
        return cast(Self, part_of(cls, table, ""))

    def table(self) -> dict[str, Any]:
        """Return the state as a table for JSON, in which infinity becomes null."""
        return {
            item.name: _plain(getattr(self, item.name))
            for item in fields(self)
            if getattr(self, item.name) != item.default
        }

    def to_json(self, path: str | Path) -> None:
        """Write the state to a JSON file; an existing one is overwritten."""
        write_whole(Path(path), f"{json_text(self.table())}\n".encode())


def table_of(path: str | Path) -> Mapping[str, Any]:
    """Return the content of a state's JSON file; InputError for an invalid file."""
    with faults_of(path), opened(Path(path)) as file:
        hooks = {"parse_constant": _refuse_constant, "object_pairs_hook": _different}
        return mapping(FILE, json_of(file.read(), **hooks))


def _different(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; InputError if a key occurs twice."""
    table = dict(pairs)
    names = [name for name, _ in pairs]
    require(len(table) == len(pairs), "keys of an object", names, "different")
    return table


def _refuse_constant(name: str) -> None:
    raise InputError(f"{name} must be a finite number")


def _plain(value: Any) -> Any:
    """Convert a parameter for JSON: entries become tables without unknown values."""
    if not isinstance(value, tuple):
        return value
    return [
        {key: item for key, item in asdict(row).items() if item is not None}
        if hasattr(row, "__dataclass_fields__")
        else row
        for row in value
    ]


def _memory_of(policy: Any, before: Any) -> Any:
    """Return the memory that a policy saves, None if it has none.

    before: the policy as passed to the run. Policies of this package save theirs.
    """
    if hasattr(policy, "save"):
        return policy.save()
    in_package = type(policy).__module__.startswith("cgrsp_simpy.")
    if not in_package and hasattr(policy, "__dict__"):
        memories = [cloudpickle.dumps(vars(item)) for item in (policy, before)]
        name = policy_name(policy)
        if memories[0] != memories[1]:
            raise InputError(
                f"policy {name!r} has attributes that a state does not contain;"
                " define save(), which returns them, and restore(memory)"
            )
    return None


def carry_out(live: Simulation, at_s: float) -> None:
    """Advance a run to a time, seconds, including all events at that time."""
    while live.env.peek() <= at_s and live.advance(1):
        pass


# ---- a run that starts from a state ----


@declared()
class FromState:
    """Second base class, with the model's, of models that start from a state."""

    wait_s: UpToInfinity = parameter(
        "Time from the state during which nothing is dispatched, seconds.",
        default=0.0,
        kw_only=True,
    )
    state: Any = parameter("State in which runs start.", kw_only=True)

    @cached_property
    def running(self) -> dict[int, Any]:
        """The entries of the running jobs, by number."""
        return {entry.id: entry for entry in self.state.running}

    def assignment(self, view: Any, entry: Any) -> Any:
        """Return the assignment with which a running job was started."""
        raise NotImplementedError

    def on_resume(self, view: Any) -> None:
        """Called before the first decision, if that is at the time of the state."""

    def explained(self, policy: Any, view: Any) -> tuple[Any, dict[int, str]]:
        """Return the answer of a policy, and the known reasons for its assignments by
        job.
        """
        return policy(view), {}

    def described(
        self, job: Any, chosen: Any, reasons: Mapping[int, str]
    ) -> dict[str, Any]:
        """Return a table row on a started job and its assignment."""
        raise NotImplementedError

    def one_more(self, text: str) -> Any:
        """Return the model with one more resource of the kind that a text names."""
        raise NotImplementedError


def _inner(policy: Any) -> Any:
    return policy.policy if isinstance(policy, Replay) else policy


class Replay(WrapsPolicy):
    """A policy that first starts a state's running jobs at their recorded times.

    Then it decides like another policy. answer: a list to record the other policy's
    answers, or None. reasons: those of its last assignments, by job, if answers are
    recorded.
    """

    answer: list[Any] | None = None
    reasons: Mapping[int, str] = {}

    def __init__(self, policy: Any, state: State) -> None:
        self.policy, self.name = copy.deepcopy(policy), policy_name(policy)
        self._past = sorted(state.running, key=lambda entry: entry.since_s)
        if state.memory is not None and state.policy == self.name:
            restores = hasattr(self.policy, "restore")
            allowed = (
                "a policy with a method restore(memory), because the state contains a"
                " memory"
            )
            require(restores, "policy", self.name, allowed)
            try:
                self.policy.restore(state.memory)
            except (AttributeError, IndexError, KeyError, TypeError, ValueError):
                raise InputError(
                    f"memory(={shown(state.memory)}) must be a return value of save()"
                    f" of policy {self.name!r}"
                ) from None

    def __call__(self, view: Any) -> Iterator[Any]:
        run = view._run
        model, now_s, asked = run.model, view.now_s, False
        state_s, from_s = model.state.now_s, model.state.now_s + model.wait_s
        wake_s = from_s
        if model.state.wake_s is not None and not model.wait_s:
            wake_s = model.state.wake_s
        while self._past and self._past[0].since_s <= now_s:
            yield model.assignment(view, self._past.pop(0))
        if self._past:
            yield Wake(self._past[0].since_s)
        elif now_s < from_s or now_s == state_s < wake_s:
            if wake_s < math.inf:
                yield Wake(wake_s)
        elif run.dispatcher.may_decide:
            asked = True
            if now_s == state_s:
                model.on_resume(view)
            yield from self._decided(model, view)
        run.dispatcher.decisions -= not asked

    def _decided(self, model: Any, view: Any) -> Iterator[Any]:
        """Yield the items of the other policy's answer; record them if requested."""
        if self.answer is None:
            answer = self.policy(view)
        else:
            answer, self.reasons = model.explained(self.policy, view)
        if answer is None:
            return
        for item in answer if hasattr(answer, "__iter__") else (answer,):
            if self.answer is not None:
                self.answer.append(item)
            yield item


class FromStateSubject:
    """Base of the subjects of models that start from a state."""

    if TYPE_CHECKING:
        model: Any

    def draw(self, seed: int) -> Any:
        """Draw the arrivals of a seed."""
        return list(self.model.arrivals(Draw(seed)))

    def simulation(self, policy: Any, seed: int, **how: Any) -> Simulation:
        """Set up a run without starting it."""
        # the policy of a repeated run is already a Replay
        replay = Replay(_inner(policy), self.model.state)
        base: Any = super()
        live: Simulation = base.simulation(replay, seed, **how)
        return live
