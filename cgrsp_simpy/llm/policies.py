"""What an LLM scheduler sees, and the schedulers: orders of the waiting requests, and when a
decision may be made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nlargest
from typing import Any, NamedTuple

from cgrsp_simpy.engine import view as engine
from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.model.checks import check_number
from cgrsp_simpy.model.policy import PlaceError, Wake

STEP_S = 0.01  # between decisions in the loop of hgsp.txt Section VI.D, seconds


class Request(NamedTuple):
    """A request that has arrived.

    Attributes
    ----------
    id : int
        Its number in order of arrival, from 1.
    name : str
        The id, unless requests are named.
    arrival_s : float
        Seconds.
    weight : float
        Importance, without a unit.
    gpus : int
        tau, all held at once.
    time_s : float
        p_prefill + p_decode, seconds.
    """

    id: int
    name: str
    arrival_s: float
    weight: float
    gpus: int
    time_s: float


# two are equal only if they are the same object, which is found at once
Request.__eq__, Request.__hash__ = object.__eq__, object.__hash__  # type: ignore[method-assign]


class View(engine.View):
    """The requests that wait and the GPUs, as policies see them; read only, and of the moment.

    A policy answers with pairs (request, number of its GPUs), and if it likes with a `Wake`.
    """

    __slots__ = ()

    @property
    def gpus(self) -> int:
        """Number of GPUs of the cluster."""
        return int(self.places[0].size)

    @property
    def free(self) -> int:  # type: ignore[override]
        """Number of GPUs that are idle."""
        return self._run.free[0]  # type: ignore[return-value]

    def summary(self) -> str:
        return f"{len(self._run.waiting)} waiting, {self.free} of {self.gpus} GPUs idle"

    def granted(self, claim: Claim, gpus: int) -> Sequence[Part]:
        """So many GPUs are a request's; raises PlaceError unless that is all that it needs."""
        if gpus != claim.job.gpus:
            raise PlaceError(f"{gpus!r} GPUs; it needs {claim.job.gpus}")
        return ((0, gpus),)


# ---- policies: the order of the waiting requests, and when a decision may be made ----

RequestPolicy = Callable[[View], Any]
"""A function of a View that answers with pairs (request, number of GPUs)."""
Answer = Iterator[tuple[Request, int]]


def _in_order(view: View, requests: Iterable[Request]) -> Answer:
    """Each with its GPUs; the first that finds too few waits for them, and is not overtaken."""
    for request in requests:
        if request.gpus > view.free:
            return
        yield request, request.gpus


def fifo(view: View) -> Answer:
    """First come, first served."""
    yield from _in_order(view, view.queue)


def wsrpt(view: View) -> Answer:
    """The largest w / (p_prefill + p_decode) first, equal ones by arrival, then number
    (hgsp.txt Eq. 17).

    Nothing is interrupted, so that what remains of a waiting request is the whole of it.
    """
    # stable
    yield from _in_order(
        view, nlargest(view.free, view.queue, key=lambda request: request.weight / request.time_s)
    )


SCHEDULERS: dict[str, RequestPolicy] = {"fifo": fifo, "wsrpt": wsrpt}
"""Orders of the waiting requests by name."""


class Waves:
    """A policy that is asked only when every GPU is idle: nothing starts until the whole running
    batch has ended.
    """

    def __init__(self, policy: RequestPolicy) -> None:
        self.policy, self.name = policy, policy_name(policy)

    def __call__(self, view: View) -> Any:
        """The next batch, if none runs."""
        return self.policy(view) if view.free == view.gpus else []


class Stepped:
    """A policy that is asked only at steps of a clock, as in the loop of hgsp.txt Section VI.D.

    At each step, requests whose completion is reached free their GPUs, arrivals join the queue,
    and then the policy decides; whatever happens between two steps is noticed at the second.
    A request's completion is its start plus its execution time, not the step at which
    that is noticed.

    The clock is a running sum of `step_s` in floating point, t = t + step, and this is where the
    printed late step comes from. Two hundred steps of 0.01 s sum to 2.0000000000000013, so that
    a request that ends at 2.0 is noticed at step 200. But 250 of them sum to 2.4999999999999907:
    a request that ends at 2.5 is not yet complete at step 250, and its GPUs start the next request
    at step 251, at 2.51 s. A clock of exact multiples would be late nowhere on that workload.
    """

    def __init__(self, policy: RequestPolicy, step_s: float = STEP_S) -> None:
        check_number("step_s", step_s, above=0)
        self.policy, self.step_s, self.name = policy, step_s, policy_name(policy)
        self._clock_s = 0.0
        self._woken = False

    def __call__(self, view: View) -> Any:
        """What the policy decides at a step; between steps, to be woken at the next."""
        # the wake may come a rounding after its time
        on_step = self._woken and view.now_s >= self._clock_s
        if not on_step:
            while self._clock_s < view.now_s:
                self._clock_s += self.step_s
            on_step = self._clock_s == view.now_s
        self._woken = not on_step
        return self.policy(view) if on_step else [Wake(self._clock_s)]
