"""What a policy of any model may answer beside its assignments, and what is wrong
with an answer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

Decided = TypeVar("Decided", bound=Callable[..., Any])


class PolicyError(RuntimeError):
    """A policy answered what cannot be carried out, or brought the run to a halt."""


class PlaceError(ValueError):
    """Why an assignment cannot be carried out.

    In words that follow "sent job 7 to": "slot 9, which is no slot of the fleet".
    """


class Wake(NamedTuple):
    """An answer beside the assignments: decide again at this time at the latest.

    Attributes
    ----------
    at_s : float
        Seconds on the run's clock, later than now.
    """

    at_s: float


class Suspend(NamedTuple):
    """An answer beside the assignments, where the scenario allows it: a running job leaves its
    places and waits again, with what it has done.

    The policy is asked again in the same instant, when the places are free. A job cannot be
    suspended in the instant of its dispatch.

    Attributes
    ----------
    job : Any
        A job that holds places.
    """

    job: Any


class Named(NamedTuple):
    """A policy, or its text, under a name that somebody has given it."""

    name: str
    policy: Any


def policy(
    *,
    asks_on_arrival: bool = False,
    suspends: bool = False,
    needs: Sequence[str] = (),
    keep_s: Callable[[Any, Any], float] | None = None,
) -> Callable[[Decided], Decided]:
    """Declare what a run has to know of a policy, a function of a view, before it asks it; a policy
    that is an object has attributes of these names.

    asks_on_arrival: it is asked at every arrival, also when nothing is free. suspends: it answers
    with Suspends, and so is asked as well. needs: columns of a log without which it cannot decide.
    keep_s: of rented slots, keep_s(view, slot) is for how many seconds an instance is kept warm.
    """

    def declared(function: Decided) -> Decided:
        own = {"asks_on_arrival": asks_on_arrival or suspends, "suspends": suspends}
        for name, value in {**own, "needs": tuple(needs), "keep_s": keep_s}.items():
            setattr(function, name, value)
        return function

    return declared


def is_policy(given: Callable[..., Any]) -> bool:
    """Whether something is a policy, and not a factory of one: a policy cannot be called without
    its view, and all that a factory takes has a default.
    """
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(
        each.kind in positional and each.default is inspect.Parameter.empty
        for each in inspect.signature(given).parameters.values()
    )
