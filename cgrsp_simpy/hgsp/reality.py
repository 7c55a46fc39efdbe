"""How a scheduler meets reality: its plan frozen, a plan made anew from time to time, or a
rule asked online.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.policies import Follow, Online, Replan, TaskPolicy
from cgrsp_simpy.hgsp.rules import RULES
from cgrsp_simpy.hgsp.schedulers import SCHEDULERS, Found, Limits
from cgrsp_simpy.model.checks import InputError, check_bool, check_number, check_whole, require

MOST_PLANS = 100_000  # within the time of the first

OWNERS = {
    "online": tuple(RULES),
    "replan_s": tuple(name for name in SCHEDULERS if name != "milp"),  # which takes too long
    "moves": ("annealing",),
    "seconds": ("annealing", "milp"),
}
"""Parameter -> the schedulers that have it."""


@dataclass(frozen=True)
class Plan:
    """What a scheduler has planned ahead of a run.

    Attributes
    ----------
    way : Way
        Whose it is.
    instance : Instance
        The tasks of the run, and its GPUs.
    found : Found, optional
        Schedule, bound and course; None of a policy of one's own, which plans nothing ahead.
    seconds : float
        That it took, on the clock of this computer.
    """

    way: Way
    instance: Instance
    found: Found | None
    seconds: float


@dataclass(frozen=True)
class Way:
    """A scheduler, and how it meets reality.

    Unless it is asked online or plans anew, its plan is frozen: it is made ahead, with every
    arrival known, and its order is carried out.

    Parameters
    ----------
    scheduler : str or callable
        A name of SCHEDULERS, or a policy of one's own, which is asked as tasks arrive.
    online : bool
        A rule (wspt, edd, atc) is asked whenever a GPU is idle and tasks wait.
    replan_s : float
        It plans anew every so many seconds what has arrived and not started; 0: it does not.
    moves : int
        Of the annealing; 0: as the scenario says.
    seconds : float
        That the annealing or the MILP may take; 0: as the scenario says.

    Raises
    ------
    InputError
        For what is not allowed, or what the scheduler does not have.
    """

    scheduler: str | TaskPolicy
    online: bool = False
    replan_s: float = 0.0
    moves: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        check_bool("online", self.online)
        check_number("replan_s", self.replan_s, least=0)
        check_whole("moves", self.moves, least=0)
        check_number("seconds", self.seconds, least=0)
        require(
            not (self.online and self.replan_s),
            "replan_s",
            self.replan_s,
            "0 for a rule that is asked online",
        )
        for name, owners in OWNERS.items():
            if getattr(self, name) and self.scheduler not in owners:
                raise InputError(
                    f"{self.scheduler} has no {name}; it goes with {' or '.join(owners)}"
                )

    @property
    def name(self) -> str:
        """Its text, such as "atc:online=true", or the name of the function."""
        if not isinstance(self.scheduler, str):
            return policy_name(self.scheduler)
        given = {name: getattr(self, name) for name in OWNERS if getattr(self, name)}
        told = ",".join(
            f"{name}={'true' if value is True else f'{value:.12g}'}"
            for name, value in given.items()
        )
        return f"{self.scheduler}:{told}" if told else self.scheduler

    @property
    def is_frozen(self) -> bool:
        """Whether it is a plan made ahead whose order is carried out."""
        return isinstance(self.scheduler, str) and not (self.online or self.replan_s)

    def within(self, moves: int | None, seconds: float | None) -> Way:
        """The same with a scenario's limits, None or 0 for none, where it has none of its own."""
        asked = {"moves": moves, "seconds": seconds}
        own = self.moves or self.seconds
        more = {
            name: value
            for name, value in asked.items()
            if value and not own and self.scheduler in OWNERS[name]
        }
        return replace(self, **more)  # type: ignore[arg-type]

    def plan(self, instance: Instance, seed: int) -> Plan:
        """What it plans ahead of a run; seed: of its search."""
        begin_s, name = time.perf_counter(), self.scheduler
        found = SCHEDULERS[name](instance, self._limits(seed)) if isinstance(name, str) else None
        return Plan(self, instance, found, time.perf_counter() - begin_s)

    def policy(self, plan: Plan, seed: int) -> TaskPolicy:
        """The policy that carries its plan out.

        Raises InputError if plans would be made so often that the run takes for ever.
        """
        if plan.found is None or not isinstance(self.scheduler, str):
            assert callable(self.scheduler)
            return self.scheduler
        if self.online:
            return Online(RULES[self.scheduler], self.name)
        if not self.replan_s:
            return Follow(plan.found.schedule, self.name)
        scheduler, limits = SCHEDULERS[self.scheduler], self._limits(seed)
        end_s = float(plan.found.schedule.finish_s.max())
        least_s = end_s / MOST_PLANS
        allowed = f"at least {least_s:g} for a plan of {end_s:g} s"
        require(self.replan_s >= least_s, "replan_s", self.replan_s, allowed)
        return Replan(
            lambda instance: scheduler(instance, limits).schedule, self.replan_s, self.name
        )

    def _limits(self, seed: int) -> Limits:
        return Limits(seed, self.moves or None, self.seconds or None)


POLICIES = {name: partial(Way, name) for name in SCHEDULERS}
"""Name -> its way, with the parameters of `Way`."""
