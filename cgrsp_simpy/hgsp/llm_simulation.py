"""LLM requests served by the engine: each claims its tau GPUs of the cluster at once, in an order, at any time or at steps."""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice
from typing import Any

import numpy as np
import simpy

from cgrsp_simpy.engine.claims import Claim, Part, Pool
from cgrsp_simpy.engine.engine import Engine
from cgrsp_simpy.engine.events import Listener, policy_name
from cgrsp_simpy.engine.instant import delay_until
from cgrsp_simpy.hgsp.instance import Floats
from cgrsp_simpy.hgsp.llm_requests import LlmCluster, Requests
from cgrsp_simpy.model.checks import check_number
from cgrsp_simpy.model.decision import PlaceError, Wake

__all__ = ["SCHEDULERS", "STEP_S", "Request", "RequestPolicy", "RequestState", "Serving", "Stepped", "Waves", "fifo", "wsrpt"]

STEP_S = 0.01  # Section VI.D
Process = Generator[simpy.Event, Any, None]


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A request that has arrived.

    id: its number in order of arrival, from 1. gpus: tau, all held at once. time_s: p_prefill + p_decode, seconds.
    """

    id: int
    arrival_s: float
    weight: float
    gpus: int
    time_s: float


class RequestState:
    """The requests that wait and the GPUs, as policies see them. waiting: oldest first. free: GPUs that are idle, of `gpus`.

    A policy answers with pairs (request, number of its GPUs), and if it likes with a `Wake`.
    """

    def __init__(self, gpus: int) -> None:
        self.gpus = self.free = gpus
        self.now_s = 0.0
        self.waiting: dict[Request, Claim] = {}

    def view(self, now_s: float) -> RequestState:
        """Itself, at the time that it is."""
        self.now_s = now_s
        return self

    def summary(self) -> str:
        """What a listing says of a decision."""
        return f"{len(self.waiting)} waiting, {self.free} of {self.gpus} GPUs idle"

    def describe(self, request: Request) -> str:
        """What a listing says of a request that arrives."""
        return f"{request.gpus} GPUs for {request.time_s:.2f} s, weight {request.weight:g}"

    def add(self, request: Request) -> None:
        """A request waits."""

    def gave_up(self, request: Request) -> None:
        """No request does."""

    def granted(self, claim: Claim, gpus: int) -> Sequence[Part]:
        """So many GPUs are a request's; that must be all that it needs."""
        if gpus != claim.job.gpus:
            raise PlaceError(f"{gpus!r} GPUs; it needs {claim.job.gpus}")
        self.free -= gpus
        return ((0, gpus),)

    def released(self, claim: Claim, now_s: float) -> None:  # noqa: ARG002
        """A request has ended."""
        self.free += claim.job.gpus


# ---- policies: the order of the waiting requests, and when a decision may be made ----

RequestPolicy = Callable[[RequestState], Any]
Answer = Iterator[tuple[Request, int]]


def _in_order(view: RequestState, requests: Iterable[Request]) -> Answer:
    """Each with its GPUs; the first that finds too few waits for them, and is not overtaken."""
    for request in requests:
        if request.gpus > view.free:
            return
        yield request, request.gpus


def fifo(view: RequestState) -> Answer:
    """First come, first served."""
    yield from _in_order(view, list(islice(view.waiting, view.free)))  # each takes a GPU at least


def wsrpt(view: RequestState) -> Answer:
    """The largest w / (p_prefill + p_decode) first, equal ones by arrival, then number (hgsp.txt Eq. 17).

    Nothing is interrupted, so that what remains of a waiting request is the whole of it.
    """
    yield from _in_order(view, nlargest(view.free, view.waiting, key=lambda request: request.weight / request.time_s))  # stable


SCHEDULERS: dict[str, RequestPolicy] = {"fifo": fifo, "wsrpt": wsrpt}


class Waves:
    """A policy that is asked only when every GPU is idle: nothing starts until the whole running batch has ended."""

    def __init__(self, policy: RequestPolicy) -> None:
        self.policy, self.name = policy, policy_name(policy)

    def __call__(self, view: RequestState) -> Any:
        """The next batch, if none runs."""
        return self.policy(view) if view.free == view.gpus else []


class Stepped:
    """A policy that is asked only at steps of a clock, as in the loop of hgsp.txt Section VI.D.

    At each step, requests whose completion is reached free their GPUs, arrivals join the queue, and then the policy decides;
    whatever happens between two steps is noticed at the second. A request's completion is its start plus its execution time,
    not the step at which that is noticed.

    The clock is a running sum of `step_s` in floating point, t = t + step, and this is where the printed late step comes from.
    Two hundred steps of 0.01 s sum to 2.0000000000000013, so that a request that ends at 2.0 is noticed at step 200. But 250 of
    them sum to 2.4999999999999907: a request that ends at 2.5 is not yet complete at step 250, and its GPUs start the next
    request at step 251, at 2.51 s. A clock of exact multiples would be late nowhere on that workload.
    """

    def __init__(self, policy: RequestPolicy, step_s: float = STEP_S) -> None:
        check_number("step_s", step_s, above=0)
        self.policy, self.step_s, self.name = policy, step_s, policy_name(policy)
        self._clock_s = 0.0
        self._woken = False

    def __call__(self, view: RequestState) -> Any:
        """What the policy decides at a step; between steps, to be woken at the next."""
        on_step = self._woken and view.now_s >= self._clock_s  # the wake may come a rounding after its time
        if not on_step:
            while self._clock_s < view.now_s:
                self._clock_s += self.step_s
            on_step = self._clock_s == view.now_s
        self._woken = not on_step
        return self.policy(view) if on_step else [Wake(self._clock_s)]


# ---- the simulation ----


class Serving:
    """Requests that are about to be served. A request's GPUs are any of the cluster's, which is one pool of them."""

    def __init__(self, requests: Requests, cluster: LlmCluster, policy: RequestPolicy, listener: Listener | None = None) -> None:
        env = self.env = simpy.Environment()
        pool = Pool(env, "cluster", 1, cluster.gpus, "GPUs")
        self.engine = Engine(env, [pool], RequestState(cluster.gpus), copy.deepcopy(policy), listener)
        self.start_s, self.finish_s = np.zeros((2, requests.requests))
        env.process(self.source(requests, cluster.times_s(requests)))

    def close(self) -> tuple[Floats, Floats]:
        """When each request started and ended, seconds, once nothing is left to happen."""
        self.engine.check_done()
        return self.start_s, self.finish_s

    def source(self, requests: Requests, times_s: Floats) -> Process:
        """Start the process of each request when it arrives."""
        env = self.env
        columns = (requests.arrival_s, requests.weight, requests.gpus, times_s)
        for id, row in enumerate(zip(*(column.tolist() for column in columns)), start=1):
            request = Request(id, *row)
            yield env.timeout(delay_until(env.now, request.arrival_s), ("submit", id))
            env.process(self.request_process(request))

    def request_process(self, request: Request) -> Process:
        """A request: wait for all its GPUs, execution, release. They are there at once."""
        env, engine, index = self.env, self.engine, request.id - 1
        claim = yield engine.claim(request)
        claim.acquire()
        self.start_s[index] = env.now
        if engine.listener:
            engine.tell("start", claim, f"{request.gpus} GPUs, {env.now - request.arrival_s:.2f} s after its arrival")
        yield env.timeout(request.time_s, ("finish", request.id))
        self.finish_s[index] = env.now
        if engine.listener:
            engine.tell("finish", claim, f"{request.time_s:.2f} s of execution")
        engine.release(claim)
