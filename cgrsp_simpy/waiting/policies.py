"""The six waiting policies (which jobs wait for a fixed machine) and queue orders."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from inspect import signature

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.base.checks import (
    check_one_of,
    require,
)
from cgrsp_simpy.base.parameters import (
    Fraction,
    NotNegative,
    UpToInfinity,
    checked,
    declared,
    parameter,
)
from cgrsp_simpy.base.policy import Wake, parameters
from cgrsp_simpy.waiting.jobs import Job
from cgrsp_simpy.waiting.view import View

# b and t of waiting-policies.txt Sections 3 and 4
BASELINE_WAIT_S, BASELINE_SHORT_S = 900.0, 180.0


@declared()
class WaitingPolicy:
    """Rule that decides which jobs wait; the others rent machines on demand."""

    name: str = parameter("The policy's name in tables.")
    wait_s: UpToInfinity = parameter(
        "b, greatest wait, seconds; 0: no waiting, infinite: no limit.",
        default=math.inf,
    )
    short_s: NotNegative = parameter(
        "t, seconds; a job with a shorter running time goes on demand without waiting.",
        default=0.0,
    )
    balks: bool = parameter(
        "Whether a job that would wait longer than wait_s goes on demand at once"
        " instead of after wait_s. Jobs know their wait, unlike in balking on the"
        " queue length.",
        default=False,
    )

    @property
    def rents(self) -> bool:
        """Whether jobs may run on demand; False only for ajw."""
        return self.wait_s < math.inf or self.short_s > 0


def ajw() -> WaitingPolicy:
    """All jobs wait, for as long as it takes (waiting-policies.txt Section 3.1)."""
    return WaitingPolicy("ajw")


def njw() -> WaitingPolicy:
    """No jobs wait: if no machine is idle, they go on demand (Section 3.2)."""
    return WaitingPolicy("njw", wait_s=0.0)


def ajw_t(wait_s: float = BASELINE_WAIT_S) -> WaitingPolicy:
    """All jobs wait, but no longer than a limit; then they go on demand.

    wait_s: b, seconds. waiting-policies.txt Section 3.3.
    """
    return WaitingPolicy("ajw-t", wait_s=wait_s)


def sww(wait_s: float = BASELINE_WAIT_S) -> WaitingPolicy:
    """Short waits wait: jobs that would exceed a limit go on demand at once.

    wait_s: b, seconds. waiting-policies.txt Section 4.1.
    """
    return WaitingPolicy("sww", wait_s=wait_s, balks=True)


def ljw(short_s: float = BASELINE_SHORT_S) -> WaitingPolicy:
    """Long jobs wait: short ones go on demand at once.

    short_s: t, seconds; jobs that run below it are short. waiting-policies.txt Section
    4.2.
    """
    return WaitingPolicy("ljw", short_s=short_s)


def compound(
    wait_s: float = BASELINE_WAIT_S, short_s: float = BASELINE_SHORT_S
) -> WaitingPolicy:
    """Combination of ljw and sww: long jobs wait if their wait would be short.

    wait_s, short_s: b and t, seconds. waiting-policies.txt Section 4.3.
    """
    return WaitingPolicy("compound", wait_s=wait_s, short_s=short_s, balks=True)


POLICIES: dict[str, Callable[..., WaitingPolicy]] = {
    "ajw": ajw,
    "njw": njw,
    "ajw-t": ajw_t,
    "sww": sww,
    "ljw": ljw,
    "compound": compound,
}
"""Name -> factory, with the paper's baseline for b and t."""


@checked
def waiting_policy(
    text: str,
    wait_s: NotNegative = BASELINE_WAIT_S,
    short_s: NotNegative = BASELINE_SHORT_S,
) -> WaitingPolicy:
    """Return a policy from a string such as "ajw" or "sww:wait_s=60".

    Parameters in the string override the arguments. wait_s: b, seconds, for ajw-t, sww
    and compound. short_s: t, seconds, for ljw and compound. Raises InputError for an
    unknown name or parameter.
    """
    require(isinstance(text, str), "waiting policy", text, "a string")
    name = text.partition(":")[0]
    check_one_of("waiting policy", name, POLICIES)
    factory, limits = POLICIES[name], {"wait_s": wait_s, "short_s": short_s}
    usual = {limit: limits[limit] for limit in limits_of(name)}
    return factory(**{**usual, **parameters("waiting policy", text, factory)})


def limits_of(name: str) -> tuple[str, ...]:
    """Return which of the parameters wait_s and short_s a policy of POLICIES has."""
    return tuple(signature(POLICIES[name]).parameters)


@declared()
class Mispredictions:
    """Shares of wrong predictions; wait_over + wait_under must be at most 1.

    waiting-policies.txt Sections 4.1.1 and 4.2.1.
    """

    wait_over: Fraction = parameter(
        "Share of the jobs that a balking policy sends on demand although their"
        " wait would be within the limit.",
        default=0.0,
    )
    wait_under: Fraction = parameter(
        "Share of the jobs that stay in the queue although their wait is too long.",
        default=0.0,
    )
    run_over: Fraction = parameter(
        "Share of the short jobs that are predicted to be long.", default=0.0
    )
    run_under: Fraction = parameter(
        "Share of the long jobs that are predicted to be short.", default=0.0
    )

    def __post_init__(self) -> None:
        both = self.wait_over + self.wait_under
        require(both <= 1, "wait_over + wait_under", both, "at most 1")


NO_ERRORS = Mispredictions()
WAITS, RENTS_AT_ONCE, MISLED = 0, 1, 2
"""Prediction for a job on its arrival. WAITS: it may wait for a fixed machine; whether
the wait is too long for a policy that balks follows in the simulation. RENTS_AT_ONCE:
it goes on demand. MISLED: its wait is underestimated; it waits, in vain if too long.
"""
Predictions = npt.NDArray[np.int8]


Order = Callable[[View], Iterable[tuple[Job, int] | Wake] | None]
"""Answers with pairs of a job and the machine that it gets; a generator is asked for
the next pair when the last has its own.
"""


def first_come(view: View) -> Iterator[tuple[Job, int]]:
    """First come, first served: if the first job has no room, it blocks all others."""
    while (job := view.first()) is not None and (machine := view.room(job)) is not None:
        yield job, machine


def shortest_first(view: View) -> Iterator[tuple[Job, int]]:
    """Shortest job that has room first; ties are broken by arrival."""
    # needs without room now
    place, line, refused = 0, view.by_time, set[tuple[int, float]]()
    while place < len(line) and not view.full:
        job = line[place]
        needs = (job.cores, job.memory_gb)
        if needs not in refused and (machine := view.room(job)) is not None:
            yield job, machine
        else:
            refused.add(needs)
            place += 1


ORDERS: dict[str, Order] = {"fcfs": first_come, "sjf": shortest_first}
"""Orders of the waiting jobs by name."""
