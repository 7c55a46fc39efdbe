"""What a policy of any model may answer beside its assignments, and what is wrong
with an answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["PlaceError", "PolicyError", "Suspend", "Wake"]


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
