"""Plans against reality: a plan frozen, a plan made anew from time to time, and rules asked online, where not all is certain."""

from __future__ import annotations

from dataclasses import dataclass

from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.policies import Follow, Online, Replan, TaskPolicy
from cgrsp_simpy.hgsp.rules import RULES
from cgrsp_simpy.hgsp.schedule import Schedule
from cgrsp_simpy.hgsp.simulation import Uncertainty, simulate
from cgrsp_simpy.hgsp.solve import Limits, own_policy, scheduler_of
from cgrsp_simpy.model.checks import InputError, check_number, require

__all__ = ["Trial", "Way", "trials", "ways"]

MOST_PLANS = 100_000  # within the time of the first


@dataclass(frozen=True)
class Way:
    """How a scheduler meets reality.

    scheduler: a name of SCHEDULERS, or a policy of one's own. online: it is asked whenever a GPU is idle and tasks wait.
    replan_s: it plans anew every so many seconds what has arrived and not started. If neither, its plan is frozen: it is made
    ahead, with every arrival known, and its order is carried out.
    """

    scheduler: str | TaskPolicy
    online: bool = False
    replan_s: float | None = None

    def __str__(self) -> str:
        name = self.scheduler if isinstance(self.scheduler, str) else policy_name(self.scheduler)
        return f"{name} every {self.replan_s:g} s" if self.replan_s else f"{name} {'online' if self.online else 'frozen'}"

    def policy(self, plan: Schedule, limits: Limits) -> TaskPolicy:
        """The policy that carries it out. plan: the scheduler's, made ahead. limits: of plans that are made anew.

        Raises InputError if plans would be made so often that the run takes for ever.
        """
        if self.replan_s is not None:
            scheduler, end_s = scheduler_of(self.scheduler), float(plan.finish_s.max())
            least_s = end_s / MOST_PLANS
            require(self.replan_s >= least_s, "replan", self.replan_s, f"at least {least_s:g} for a plan of {end_s:g} s")
            return Replan(lambda instance: scheduler(instance, limits).schedule, self.replan_s, str(self))
        if self.online:
            return own_policy(self.scheduler) or Online(RULES[str(self.scheduler)])
        return Follow(plan)


def ways(
    scheduler: str | TaskPolicy, limits: Limits, *, unknown_arrivals: bool = False, replan_s: float | None = None
) -> list[Way]:
    """The ways that are open to a scheduler: frozen, if arrivals are known; replanned, if asked for; online, if it is a rule.

    A policy of one's own is always online. Raises InputError if none is open, or for a scheduler that cannot plan every so often.
    """
    scheduler_of(scheduler)
    if own_policy(scheduler) is not None:
        return [Way(scheduler, online=True)]
    found = [] if unknown_arrivals else [Way(scheduler)]
    if replan_s is not None:
        check_number("replan", replan_s, above=0)
        _check_replanning(scheduler, limits)
        found.append(Way(scheduler, replan_s=replan_s))
    if scheduler in RULES:
        found.append(Way(scheduler, online=True))
    if not found:
        raise InputError(
            f"{scheduler} plans ahead, which unknown arrivals do not allow; have it plan anew (--replan), or use a rule"
            f" ({', '.join(RULES)})"
        )
    return found


def _check_replanning(scheduler: str | TaskPolicy, limits: Limits) -> None:
    if scheduler == "milp":
        raise InputError("milp takes too long to plan anew (--replan)")
    if scheduler == "annealing" and limits.moves is None and limits.seconds is None:
        raise InputError("annealing plans anew (--replan) with few moves; give their number (--moves) or seconds (--time-budget)")


@dataclass(frozen=True)
class Trial:
    """A scheduler in reality.

    planned: its plan, made ahead with all known; of a policy of one's own, what it does where all is certain. measured: what
    came of it.
    """

    way: Way
    planned: Schedule
    measured: Schedule


def trials(instance: Instance, found: list[Way], uncertainty: Uncertainty, limits: Limits) -> list[Trial]:
    """Ways of one scheduler on the same instance, with the same draws."""
    plan = scheduler_of(found[0].scheduler)(instance, limits).schedule
    return [Trial(way, plan, simulate(instance, way.policy(plan, limits), uncertainty)) for way in found]
