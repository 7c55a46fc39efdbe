"""One long job on the engine: it goes where its policy sends it, and spot instances are
taken from it.
"""

from __future__ import annotations

import copy
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import simpy

from cgrsp_simpy.engine.claims import Claim, Slot
from cgrsp_simpy.engine.engine import Engine
from cgrsp_simpy.engine.events import Listener, policy_name
from cgrsp_simpy.engine.instant import delay_until
from cgrsp_simpy.spot.market import Stretch, Zone
from cgrsp_simpy.spot.optimum import Optimum, optimum
from cgrsp_simpy.spot.outcome import Outcome, Stay
from cgrsp_simpy.spot.rules import Oracle
from cgrsp_simpy.spot.view import JOB, Policy, State, Terms

__all__ = ["Drawn", "Simulation"]

Process = Generator[simpy.Event, Any, None]
ROUNDING_S = 1e-6  # computing below this is done: sums of doubles


@dataclass(frozen=True, eq=False)
class Drawn:
    """What the policies of a seed share.

    Attributes
    ----------
    terms : Terms
        Of the job.
    zones : tuple of Zone
        What the market does.
    """

    terms: Terms
    zones: tuple[Zone, ...]

    @cached_property
    def optimum(self) -> Optimum:
        """The least cost of who knows all that is to come, found when first asked for."""
        return optimum(self.terms, self.zones)


class Simulation:
    """A run that has been set up and not let go.

    The zones are SimPy resources, as is the instance on demand. A zone's own process takes the
    job's instance, by an interrupt, when the zone has none any more; after the deadline there is
    none anywhere. The run works on a copy of the policy.

    Parameters
    ----------
    drawn : Drawn
        The job and its market.
    policy : callable or Oracle
        A function of a SpotView, or who is told what is to come.
    listener : callable or None
        Called with each Event.
    """

    def __init__(self, drawn: Drawn, policy: Policy | Oracle, listener: Listener | None) -> None:
        self.drawn, self.terms = drawn, drawn.terms
        env = self.env = simpy.Environment()
        self.state = State(self.terms, drawn.zones)
        places = [Slot(env, "place", index) for index in range(len(drawn.zones) + 1)]
        self.name = policy_name(policy)
        own = policy.sees(drawn) if isinstance(policy, Oracle) else copy.deepcopy(policy)
        self.engine = Engine(env, places, self.state, own, listener, hears_all=True)
        self.stays: list[Stay] = []
        self.done = False
        for index, zone in enumerate(drawn.zones):
            env.process(self.zone_process(index, zone.stretches[1:]))
        env.process(self.job_process())

    def close(self) -> Outcome:
        """What the run leaves, once nothing is left to happen."""
        self.engine.check_done()
        return Outcome(self.drawn, self.name, tuple(self.stays))

    # ---- the job ----

    def job_process(self) -> Process:
        """The job: from place to place as the policy says, until the work is done."""
        while True:
            claim = yield self.engine.claim(JOB)
            if self.state.claim is not None:
                self.engine.revoke(self.state.claim, "left")
            if claim.parts:
                self.env.process(self.stay(claim))

    def stay(self, claim: Claim) -> Process:
        """On one instance: changeover, then work until it is done, or the instance is gone.

        Parameters
        ----------
        claim : Claim
            That of the instance.

        Yields
        ------
        simpy.Event
            To be run by SimPy.
        """
        env, engine, state = self.env, self.engine, self.state
        claim.process, state.claim, end = env.active_process, claim, "done"
        engine.tell("dispatch", claim, self.told(claim.parts[0][0]))
        try:
            yield env.timeout(self.terms.overhead_s, ("start", JOB))
            claim.acquire()
            engine.tell("start", claim, f"{state.left_s / 3600:.2f} h of computing left")
            yield env.timeout(state.left_s, ("finish", JOB))
        except simpy.Interrupt as interrupt:
            end = str(interrupt.cause)
        left_s = state.left_at(env.now)
        end = "done" if left_s < ROUNDING_S else end
        self.stays.append(Stay(claim.parts[0][0], claim.granted_s, env.now, end))
        kind = "finish" if end == "done" else end
        engine.tell(kind, claim, f"{left_s / 3600:.2f} h of computing left")
        self.done = end == "done"
        if self.done:
            engine.withdraw(JOB)
        engine.release(claim)

    # ---- the market ----

    def zone_process(self, index: int, stretches: Sequence[Stretch]) -> Process:
        """A zone: it has spot instances, and has none, in turn; at the deadline it has none.

        Parameters
        ----------
        index : int
            Of the zone.
        stretches : sequence of Stretch
            What is to come.

        Yields
        ------
        simpy.Event
            To be run by SimPy.
        """
        end = Stretch(self.terms.deadline_s, False)
        for stretch in (*stretches, end):
            yield self.env.timeout(delay_until(self.env.now, stretch.from_s))
            if self.done:
                return
            self.state.now_in[index] = stretch
            if not stretch.up and self.state.on == index and self.state.claim is not None:
                self.engine.revoke(self.state.claim, "taken")
            self.engine.dispatcher.ring()

    def told(self, place: int) -> str:
        """What a listing calls a place.

        Parameters
        ----------
        place : int
            Its index.

        Returns
        -------
        str
            Such as "on demand".
        """
        zones = self.drawn.zones
        return f"spot in {zones[place].name}" if place < len(zones) else "on demand"
