"""The rules that all policies here share, in one place ("Can't Be Late", NSDI 2024).

Thrifty: nothing is rented once the job is done; the model sees to that. Exploitation: who has
a spot instance stays on it until it is taken. Safety net: without a spot instance, and with
R(t) <= C(t) + 2 d, on demand to the end. R(t) is the time left, C(t) the computing left, d the
overhead of a start.

With the safety net no deadline is missed. A spot instance is begun with a slack R - C > 2 d only.
Its changeover takes at most d of the slack, and while it computes the slack stays; so there is at
least d when it is taken, enough for the changeover on demand, which nobody takes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from cgrsp_simpy.model.policy import Wake
from cgrsp_simpy.spot.optimum import Market
from cgrsp_simpy.spot.view import Policy, View

ROUNDING_S = 1e-6  # a rule holds from a time on although its sum of doubles is below by so much


class Choice(NamedTuple):
    """Where the job should be, and until when that holds if nothing changes.

    Attributes
    ----------
    place : int or None
        A zone's index, the view's `on_demand`, or None.
    until_s : float
        On the clock of the run, seconds.
    """

    place: int | None
    until_s: float = inf


def is_late(view: View) -> bool:
    """Whether the safety net holds: the slack is worth two starts, or less."""
    return view.slack_s <= 2 * view.job.overhead_s + ROUNDING_S


@dataclass(frozen=True)
class Ruled:
    """A policy: what a function chooses, under exploitation and the safety net.

    Parameters
    ----------
    name : str
        Of the policy.
    choose : callable
        A Choice for a view without a spot instance, while the safety net does not hold.
    """

    name: str
    choose: Callable[[View], Choice]

    def __call__(self, view: View) -> Iterator[Any]:
        """Where the job goes now."""
        if view.on_spot:
            return  # exploitation
        late = is_late(view)
        place, until_s = Choice(view.on_demand) if late else self.choose(view)
        if place != view.on:
            yield view.job, place
        if place is None:
            net_s = view.now_s + view.slack_s - 2 * view.job.overhead_s
            yield Wake(min(max(until_s, view.now_s + ROUNDING_S), net_s))
        elif place == view.on_demand and until_s < inf:
            yield Wake(max(until_s, view.now_s + ROUNDING_S))


class Oracle(ABC):
    """A policy that is told what is to come: a bound for those that are not.

    name: of the policy.
    """

    name: str
    _told: Policy | None = None

    @abstractmethod
    def sees(self, market: Market) -> Policy:
        """The policy, told what the market will do."""

    def __call__(self, view: View) -> Any:
        """Where the job goes now; a run asks a copy, which is told at first."""
        if self._told is None:
            self._told = self.sees(view._market)
        return self._told(view)
