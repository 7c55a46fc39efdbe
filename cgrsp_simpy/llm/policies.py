"""The policies' view of requests and replicas, and the policies: queue orders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cgrsp_simpy.base.policy import AssignmentError
from cgrsp_simpy.base.table import many
from cgrsp_simpy.engine import view as engine
from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.resources import ResourceSpec
from cgrsp_simpy.llm.batch import Batch, Request


class View(engine.View):
    """The waiting requests and the replicas at the current time; read-only.

    A policy returns pairs (request, replica). A replica with a full batch, or no room
    in its cache, raises an error; otherwise, the request waits there for its prefill.
    """

    __slots__ = ()

    @property
    def free(self) -> tuple[ResourceSpec, ...]:  # type: ignore[override]
        """The replicas on which a new request would be processed in the next step."""
        return tuple(
            place for place, batch in zip(self.resources, self._run.plan) if batch.open
        )

    def backlog(self, replica: ResourceSpec) -> int:
        """Return the prompt tokens that a replica still has to prefill."""
        return self._run.plan[self._number(replica)].backlog  # type: ignore[no-any-return]

    def least_loaded(self, request: Request) -> ResourceSpec | None:
        """Return the free replica with the most room if a request fits, else None."""
        room = [place for place in self.free if self.room(place) >= request.tokens]
        return max(room, key=self.room, default=None)

    # ---- called by the engine ----

    def summary(self) -> str:
        free = f"{len(self.free)} of {len(self.resources)} replicas free"
        return f"{len(self._run.pending_claims)} waiting, {free}"

    def parse_assignment(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        """Assign a request to a replica; AssignmentError if its batch is full."""
        number, request = self._number(chosen), claim.job
        batch: Batch = self._run.plan[number]
        if batch.held >= batch.service.max_batch:
            raise AssignmentError(
                f"replica {chosen.index}, which already has"
                f" {many(batch.held, 'request')}"
            )
        batch.held += 1
        batch.backlog += request.prompt_tokens
        return ((number, request.tokens),)

    def on_release(self, claim: Claim) -> None:
        self._run.plan[claim.parts[0][0]].held -= 1


# ---- policies: the order of waiting requests, each on the least loaded replica ----

Policy = Callable[[View], Any]
"""A function of a View that returns or yields pairs (request, replica)."""


Answer = Iterator[tuple[Request, ResourceSpec]]


def in_order(view: View, key: Callable[[Request], float]) -> Answer:
    """Start requests by increasing key, on the least loaded replica; no overtaking."""
    for request in sorted(view.queue, key=key) if view.free else ():
        replica = view.least_loaded(request)
        if replica is None:
            return
        yield request, replica


def fifo(view: View) -> Answer:
    """First come, first served."""
    return in_order(view, lambda request: request.id)


def sjf(view: View) -> Answer:
    """Shortest request first, by its time on an idle replica."""
    return in_order(view, lambda request: request.alone_s)


def wsrpt(view: View) -> Answer:
    """Largest w / (p_prefill + p_decode) first (hgsp.txt Eq. 17)."""
    return in_order(view, lambda request: -request.weight / request.alone_s)


POLICIES: dict[str, Policy] = {"fifo": fifo, "sjf": sjf, "wsrpt": wsrpt}
"""Orders of the waiting requests by name."""
