"""Exercises of the lectures on events, processes, measuring and verification."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import simpy
from numpy.random import Generator

from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises.exercise import Case, Exercise, Mistake, code, number, same

# end of a judge's run, and how many events it may take
END, EVENTS = 100_000.0, 50_000
# results of processes that did not end, and that returned nothing
NEVER, NOTHING = -1.0, -2.0
Times = Sequence[float] | np.ndarray


def _drawn(
    make: Callable[[Generator], Case], cases: int = 20
) -> Callable[[], Iterator[Case]]:
    """Draw cases at random, the same ones each time."""
    return lambda: map(make, [stream(0, "exercise")] * cases)


def _run(env: simpy.Environment) -> None:
    """Run to END, or raise RuntimeError if time does not advance."""
    for _ in range(EVENTS):
        if env.peek() > END:
            return
        env.step()
    raise RuntimeError(f"time stays at {env.now:g}: is there a yield before timeout?")


def _results(process: Any, desk: Any, arrivals: Times, *columns: Times) -> np.ndarray:
    """Start a process per arrival and return what each one returns.

    desk: what the processes share. columns: further arguments of the processes.
    """
    env, results = desk._env, np.full(len(arrivals), NEVER)

    def arrive(n: int) -> Any:
        yield env.timeout(arrivals[n])
        arguments = [float(column[n]) for column in columns]
        result = yield env.process(process(env, desk, *arguments))
        results[n] = NOTHING if result is None else result

    for n in range(len(arrivals)):
        env.process(arrive(n))
    _run(env)
    return results


def _customers(rng: Generator, customers: int = 8) -> dict[str, Any]:
    """Draw arrivals and service times that cause a queue."""
    return {
        "arrivals": np.cumsum(rng.exponential(3, customers)).round(2),
        "services": rng.exponential(5, customers).round(2) + 0.1,
    }


def _waits(arrivals: Times, services: Times, servers: int = 1) -> np.ndarray:
    """Return waits, first come, first served, by when the servers are free."""
    free, waits = [0.0] * servers, []
    for arrival, service in zip(arrivals, services):
        begin = max(arrival, heapq.heappop(free))
        heapq.heappush(free, begin + service)
        waits.append(begin - arrival)
    return np.array(waits)


def _resource(servers: int = 1, kind: Any = simpy.Resource) -> Any:
    return kind(simpy.Environment(), servers)


NO_RESULT = Mistake(
    lambda arrivals, *_: np.full(len(arrivals), NOTHING), "the process returns nothing"
)


# ---- lecture 2 ----


def _two_desks(process: Any, arrivals: Times, services: Times) -> np.ndarray:
    return _results(process, _resource(2), arrivals, services)


def _mean_wait(gap: float, service: float) -> float:
    """Return the mean wait of M/M/1 from the means."""
    return service * service / (gap - service)


def _leave_station(station: Any, arrivals: Times, work: float) -> np.ndarray:
    """Return when each part is in the second store."""
    env, leave = simpy.Environment(), np.full(len(arrivals), NEVER)
    before, after = simpy.Store(env), simpy.Store(env)

    def source() -> Any:
        for part, arrival in enumerate(arrivals):
            yield env.timeout(arrival - env.now)
            yield before.put(part)

    def sink() -> Any:
        while True:
            part = yield after.get()
            leave[part] = env.now

    for process in (source(), sink(), station(env, before, after, work)):
        env.process(process)
    _run(env)
    return leave


def _one_by_one(arrivals: Times, work: float) -> np.ndarray:
    return _waits(arrivals, [work] * len(arrivals)) + arrivals + work


def _work_first(arrivals: Times, work: float) -> np.ndarray:
    """Return when parts leave a station that works before it takes a part."""
    return _waits(np.subtract(arrivals, work), [work] * len(arrivals)) + arrivals


def _first_only(results: np.ndarray, first: int = 1) -> np.ndarray:
    return np.where(np.arange(len(results)) < first, results, NEVER)


EXERCISES: dict[str, Exercise] = {
    "2.1": Exercise(
        "Customers of an M/M/1 queue arrive every {gap:g} minutes on average, and a"
        " service takes {service:g} minutes on average. What is the mean wait in the"
        " queue, in minutes?",
        lambda gap, service: number(
            lambda: _mean_wait(gap, service),
            "min",
            1e-3,
            Mistake(
                lambda: _mean_wait(gap, service) + service,
                "that is the time in the system; the wait ends when the service begins",
            ),
            Mistake(
                lambda: service / (gap - service),
                "that is in service times, or the number of customers in the system",
            ),
            Mistake(
                lambda: _mean_wait(gap, service) / 2,
                "that is with services of equal length; these are exponential",
            ),
            Mistake(
                lambda: _mean_wait(gap, service) / gap,
                "that is the number of customers in the queue",
            ),
            Mistake(lambda: _mean_wait(gap, service) / 60, "that is in hours"),
            Mistake(lambda: service / gap, "that is the utilisation"),
            way="the utilisation r first, then r / (1 - r) service times",
        ),
        lambda rng: {
            "gap": (gap := int(rng.integers(5, 20))),
            "service": round(gap * rng.uniform(0.55, 0.9), 1),
        },
    ),
    "2.2": Exercise(
        "A process `customer(env, desk, service)` that returns its wait.",
        code(
            "a function of env, desk and service",
            _drawn(_customers),
            same(
                lambda arrivals, services: _waits(arrivals, services, 2),
                NO_RESULT,
                Mistake(
                    lambda arrivals, services: _waits(arrivals, services, 2) + services,
                    "that is the time until the customer leaves; the wait ends when the"
                    " service begins",
                ),
                Mistake(
                    lambda arrivals, _: np.zeros(len(arrivals)),
                    "nobody waits: `yield` the request and the timeout, and keep the"
                    " server during the service",
                ),
                Mistake(
                    lambda arrivals, _: _first_only(np.zeros(len(arrivals)), 2),
                    "only two customers are served: who releases the servers?",
                ),
                Mistake(
                    lambda arrivals, services: _waits(arrivals, services, 2) + arrivals,
                    "that is the time on the clock; subtract that of the arrival",
                ),
                tried=_two_desks,
            ),
        ),
    ),
    "2.3": Exercise(
        "A process `station(env, before, after, work)` of one machine between two"
        " stores.",
        code(
            "a function of env, two stores and work",
            _drawn(
                lambda rng: {
                    "arrivals": np.cumsum(rng.exponential(4, 8)).round(2) + 5,
                    "work": rng.uniform(3, 5),
                }
            ),
            same(
                _one_by_one,
                Mistake(
                    lambda arrivals, work: arrivals + work,
                    "the machine works on several parts at the same time",
                ),
                Mistake(
                    lambda arrivals, work: _first_only(_one_by_one(arrivals, work)),
                    "only the first part leaves: the station takes the next one",
                ),
                Mistake(
                    lambda arrivals, _: arrivals,
                    "no time passes: `yield` the timeout",
                ),
                Mistake(
                    _work_first,
                    "the machine works before it has a part: take the part first",
                ),
                Mistake(
                    lambda arrivals, _: np.full(len(arrivals), NEVER),
                    "no part leaves: put it into the second store",
                ),
                tried=_leave_station,
            ),
        ),
    ),
}
"""Exercises by number."""
