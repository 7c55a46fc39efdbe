"""A replica: a process of steps that requests join and leave (continuous batching)."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import simpy

from cgrsp_simpy.engine.events import PATIENCE_PRIORITY, ScheduledEvent
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.llm.service import Service, StepTime


class Request(NamedTuple):
    """A request that has arrived.

    id: its number in order of arrival, from 1. name: the id, or its line in a log.
    submit_s: arrival, seconds. output_tokens: known here; a real scheduler can only
    estimate it. alone_s: time on an idle replica with its whole prompt in one step,
    seconds.
    """

    id: int
    name: str
    submit_s: float
    prompt_tokens: int
    output_tokens: int
    weight: float
    alone_s: float

    @property
    def tokens(self) -> int:
        """Cache that it needs from its start on: the number of tokens at its end."""
        return self.prompt_tokens + self.output_tokens


# identity is faster than comparing fields
Request.__eq__ = object.__eq__  # type: ignore[method-assign]
Request.__hash__ = object.__hash__  # type: ignore[method-assign]


class Member:
    """A request in a batch: prompt tokens left, time of the first token, end event."""

    __slots__ = ("end", "first_s", "left", "request")

    def __init__(self, request: Request, end: simpy.Event) -> None:
        self.request, self.end = request, end
        self.left, self.first_s = request.prompt_tokens, 0.0


class Batch:
    """The requests of a replica, and its steps.

    held: number of requests on the replica. backlog: their prompt tokens that are not
    yet prefilled. batch, context: number of decoding requests, and their tokens in the
    cache. steps, busy_s: number of steps, and their total time, seconds.
    """

    def __init__(self, run: Simulation, service: Service, step_s: StepTime) -> None:
        self.run, self.service, self.step_s = run, service, step_s
        self.held, self.backlog = 0, 0
        self.batch, self.context = 0, 0
        self.steps, self.busy_s = 0, 0.0
        self.prompts = deque[Member]()
        self.ends: dict[int, list[Member]] = {}  # by step, whose last token it makes
        self.woken = run.env.event()

    def __getstate__(self) -> dict[str, float]:
        """Keep only the numbers after a run."""
        return {
            name: value
            for name, value in vars(self).items()
            if type(value) in (int, float)
        }

    @property
    def open(self) -> bool:
        """Whether a new request would be processed in the next step."""
        return (
            self.held < self.service.max_batch
            and self.backlog < self.service.chunk_tokens
        )

    def join(self, request: Request) -> simpy.Event:
        """Add a request to the next step; its end event has the first token's time."""
        member = Member(request, self.run.env.event())
        self.prompts.append(member)
        if not self.woken.triggered:
            self.woken.succeed()
        return member.end

    def serve(self) -> Process:
        """Run steps as long as there are requests."""
        env = self.run.env
        while True:
            if not (self.prompts or self.batch):
                self.woken = env.event()
                yield self.woken
            # requests that join at this instant are in the step
            closing = ScheduledEvent(env)
            env.schedule(closing, PATIENCE_PRIORITY)
            yield closing
            prompts, tokens, done = self._prefilled()
            seconds = self.step_s(prompts, tokens, self.batch, self.context)
            yield env.timeout(seconds, ("step", None))
            self.steps += 1
            self.busy_s += seconds
            self.backlog -= tokens
            self.context += self.batch
            for member in self.ends.pop(self.steps, ()):
                self.batch -= 1
                self.context -= member.request.tokens
                member.end.succeed(member.first_s)
            for member in done:
                self._first_token(member)
            if self.open:
                self.run.request_decision()

    def _prefilled(self) -> tuple[int, int, list[Member]]:
        """Return number and tokens of a step's prompts, and requests completed."""
        left, number, done = self.service.chunk_tokens, 0, list[Member]()
        while self.prompts and left > 0:
            member = self.prompts[0]
            part = member.left if self.service.whole else min(member.left, left)
            if number and part > left:
                break
            member.left -= part
            left -= part
            number += 1
            if not member.left:
                done.append(self.prompts.popleft())
        return number, self.service.chunk_tokens - left, done

    def _first_token(self, member: Member) -> None:
        """Handle the end of a prefill, which produces the first token."""
        member.first_s, request = self.run.env.now, member.request
        if request.output_tokens == 1:
            member.end.succeed(member.first_s)
            return
        self.batch += 1
        self.context += request.prompt_tokens + 1
        self.ends.setdefault(self.steps + request.output_tokens - 1, []).append(member)
