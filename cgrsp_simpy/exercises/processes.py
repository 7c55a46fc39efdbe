"""Exercises of the lectures on events, processes, measuring and verification."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import simpy
from numpy.random import Generator

from cgrsp_simpy.analysis.queueing import erlang_b, erlang_c
from cgrsp_simpy.engine.monitors import Monitor
from cgrsp_simpy.exercises.exercise import (
    NEVER,
    NO_RESULT,
    NOTHING,
    Environment,
    Exercise,
    Mistake,
    Times,
    code,
    drawn,
    ends,
    in_turn,
    number,
    recorded,
    results,
    same,
    system,
    waits,
)


def _customers(rng: Generator, customers: int = 8) -> dict[str, Any]:
    """Draw arrivals and service times that cause a queue."""
    return {
        "arrivals": np.cumsum(rng.exponential(3, customers)).round(2),
        "services": rng.exponential(5, customers).round(2) + 0.1,
    }


def _jobs(rng: Generator, jobs: int = 8) -> dict[str, Any]:
    """Draw jobs such that none arrives when another one ends."""
    return {
        "arrivals": 16 * rng.integers(0, 4, jobs).cumsum() + np.arange(jobs),
        "priorities": rng.permutation(jobs),
        "works": 16 * rng.integers(1, 5, jobs),
    }


def _by_priority(arrivals: Any, priorities: Any, works: Any, **interrupts: bool) -> Any:
    """Return times in the system if the smallest priority value is served first."""
    times = ends(arrivals, works, lambda job, _: priorities[job], **interrupts)
    return times - arrivals


NO_END = Mistake(
    lambda arrivals, *_: np.full(len(arrivals), NEVER),
    "no process ends: it has a loop, or waits for what never occurs",
)
NO_WAIT = Mistake(
    lambda arrivals, *_: np.zeros(len(arrivals)),
    "nobody waits: keep `env.now` before the request, `yield` the request and the"
    " timeout, and release the server after the service",
)


# ---- lecture 1 ----


def _by(key: Callable[[Any], Any]) -> Callable[[Any], list[int]]:
    return lambda events: [event[2] for event in sorted(events, key=key)]


# ---- lecture 2 ----


def _leave_station(station: Any, arrivals: Times, work: float) -> np.ndarray:
    """Return the times at which parts leave an answer's station."""
    env = Environment()
    before, after = simpy.Store(env), simpy.Store(env)
    env.start(station(env, before, after, work))

    def part(env: simpy.Environment, before: simpy.Store) -> Any:
        yield before.put("part")
        passed_on = yield after.get()
        return env.now if passed_on == "part" else NEVER

    return results(part, env, before, arrivals)


# ---- lecture 3 ----


def _area(times: Times, lengths: Times, end: float) -> float:
    return float(np.dot(lengths, np.diff([*times, end])))


def _tallied(customer: Any, arrivals: Times, services: Times) -> list[float]:
    """Return the values that an answer records in a monitor."""
    env, desk = system()
    stay = Monitor(env)
    results(lambda *of: customer(*of[:2], stay, of[2]), env, desk, arrivals, services)
    return stay.values.tolist()


# ---- lecture 4 ----


def _beds(formula: Any, load: float, pct: float) -> int:
    return int(np.argmax(100 * formula(np.arange(1, 200), load) <= pct)) + 1


# ---- lecture 15 ----


def _once(work: float, mean: float, restart: float = 0.0) -> float:
    """Return the expected time of work that restarts completely after a failure."""
    return float(-mean * np.expm1(-work / mean) * np.exp((work + restart) / mean))


def _served(arrivals: Times, talks: Times, patience: float) -> np.ndarray:
    return 1 * (waits(arrivals, talks, 1, patience) <= patience)


def _timed(process: Any) -> Callable[..., Any]:
    """Return a process that returns its time in the system."""

    def timed(env: Environment, *arguments: Any) -> Any:
        begin = env.now
        yield env.start(process(env, *arguments))
        return env.now - begin

    return timed


def _finished(job: Any, work: float, every: float, failures: Times) -> float:
    """Return the result of an answer's process that is interrupted at failures."""
    env = Environment()
    process = env.start(job(env, work, every))
    for failure in failures:
        env.run(failure)
        if process.is_alive:
            process.interrupt()
    env.run_to_end()
    return NOTHING if process.value is None else process.value


def _with_checkpoints(work: float, every: float, failures: Times) -> float:
    """Return the end of a job that keeps completed checkpoint intervals at failures."""
    now = kept = 0.0
    for failure in failures:
        if now + work - kept > failure:
            kept, now = kept + (failure - now) // every * every, failure
    return now + work - kept


EXERCISES: dict[str, Exercise] = {
    "1.1": Exercise(
        "Four customers arrive at the minutes {arrivals}. Their services take"
        " {services} minutes. One teller serves them first come, first served. What is"
        " the mean wait in the queue, in minutes?",
        lambda arrivals, services: number(
            lambda: waits(arrivals, services).mean(),
            "min",
            1e-3,
            Mistake(
                lambda: (waits(arrivals, services) + services).mean(),
                "that is the time in the bank; the wait ends when the service begins",
            ),
            Mistake(
                lambda: waits(arrivals, services).sum(),
                "that is the sum; divide it by four",
            ),
            Mistake(
                lambda: waits(arrivals, services)[1:].mean(),
                "the customer who does not wait counts as well, with 0",
            ),
            Mistake(
                lambda: waits(np.cumsum(arrivals), services).mean(),
                "these are times on the clock, not interarrival times",
            ),
            Mistake(
                lambda: waits(arrivals, services, 2).mean(), "that is with two tellers"
            ),
            way="one line per event, as in the lecture's table",
        ),
        lambda rng: {
            "arrivals": rng.permutation([1, 2, 3, 4]).cumsum().tolist(),
            "services": rng.permutation([5, 7, 8, 9]).tolist(),
        },
    ),
    "1.2": Exercise(
        "A function `in_order(events)`: the numbers of the events in the order in which"
        " they occur.",
        code(
            "a function of a list of events",
            drawn(
                lambda rng: {
                    "events": [
                        (*rng.integers((4, 2)).tolist(), event)
                        for event in rng.permutation(10).tolist()
                    ]
                }
            ),
            same(
                _by(lambda event: event[:2]),
                Mistake(
                    _by(lambda event: event[0]),
                    "events of the same time go by priority first",
                ),
                Mistake(
                    _by(lambda event: event[1]), "the time counts before the priority"
                ),
                Mistake(
                    _by(lambda event: event),
                    "events of the same time and priority go in the order of"
                    " scheduling, not of their numbers",
                ),
                Mistake(
                    _by(lambda event: (event[0], -event[1])),
                    "the smaller priority goes first",
                ),
                Mistake(
                    lambda events: _by(lambda event: event[:2])(events[::-1]),
                    "events of the same time and priority: scheduled first goes first",
                ),
            ),
        ),
    ),
    "1.3": Exercise(
        "A process `source(env, gaps, times)` that records the times of arrivals.",
        code(
            "a function of env and two lists",
            drawn(lambda rng: {"gaps": rng.exponential(5, 6).round(2) + 0.1}),
            same(
                np.cumsum,
                Mistake(lambda gaps: gaps, "these are the gaps; append `env.now`"),
                Mistake(
                    lambda gaps: [0, *np.cumsum(gaps)[:-1]],
                    "the first arrival is after the first gap",
                ),
                Mistake(
                    lambda gaps: [0, *np.cumsum(gaps)],
                    "nobody arrives at time 0",
                ),
                Mistake(lambda gaps: 0 * gaps, "no time passes: `yield` the timeout"),
                Mistake(
                    lambda gaps: [sum(gaps)], "one time per arrival, not only the last"
                ),
                Mistake(lambda _: [], "nothing is appended to the list `times`"),
                tried=lambda source, gaps: recorded(source, Environment(), list(gaps)),
            ),
        ),
    ),
    "2.1": Exercise(
        "Customers of an M/M/1 queue arrive every {gap:g} minutes on average, and a"
        " service takes {service:g} minutes on average. What is the mean wait in the"
        " queue, in minutes?",
        lambda gap, service: number(
            lambda: service**2 / (gap - service),
            "min",
            1e-3,
            Mistake(
                lambda: (service**2 / (gap - service)) + service,
                "that is the time in the system; the wait ends when the service begins",
            ),
            Mistake(
                lambda: service / (gap - service),
                "that is in service times, or the number of customers in the system",
            ),
            Mistake(
                lambda: (service**2 / (gap - service)) / 2,
                "that is with services of equal length; these are exponential",
            ),
            Mistake(
                lambda: (service**2 / (gap - service)) / gap,
                "that is the number of customers in the queue",
            ),
            Mistake(lambda: (service**2 / (gap - service)) / 60, "that is in hours"),
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
            drawn(_customers),
            same(
                lambda arrivals, services: waits(arrivals, services, 2),
                NO_RESULT,
                NO_END,
                Mistake(
                    lambda arrivals, services: waits(arrivals, services, 2) + services,
                    "that is the time until the customer leaves; the wait ends when the"
                    " service begins",
                ),
                NO_WAIT,
                Mistake(
                    lambda arrivals, _: [0, 0, *[NEVER] * (len(arrivals) - 2)],
                    "only two customers are served: who releases the servers?",
                ),
                Mistake(
                    lambda arrivals, _: [0, *[NEVER] * (len(arrivals) - 1)],
                    "a customer requests both servers: one request is enough",
                ),
                Mistake(
                    lambda arrivals, services: waits(arrivals, services, 2) + arrivals,
                    "that is the time on the clock; subtract that of the arrival",
                ),
                tried=lambda process, *case: results(process, *system(2), *case),
            ),
        ),
    ),
    "2.3": Exercise(
        "A process `station(env, before, after, work)` of one machine between two"
        " stores.",
        code(
            "a function of env, two stores and work",
            drawn(
                lambda rng: {
                    "arrivals": np.cumsum(rng.exponential(4, 8)).round(2) + 5,
                    "work": rng.uniform(3, 5),
                }
            ),
            same(
                lambda arrivals, work: ends(arrivals, np.full(len(arrivals), work)),
                Mistake(
                    lambda arrivals, work: arrivals + work,
                    "the machine works on several parts at the same time",
                ),
                Mistake(
                    lambda arrivals, work: [
                        arrivals[0] + work,
                        *[NEVER] * (len(arrivals) - 1),
                    ],
                    "only the first part leaves: the station takes the next one",
                ),
                Mistake(
                    lambda arrivals, _: arrivals, "no time passes: `yield` the timeout"
                ),
                Mistake(
                    lambda arrivals, work: ends(
                        arrivals - work, np.full(len(arrivals), work)
                    ),
                    "a part leaves without work: take it, work, and pass it on, in this"
                    " order",
                ),
                Mistake(
                    lambda arrivals, _: np.full(len(arrivals), NEVER),
                    "no part leaves: `yield before.get()` returns the part; put it into"
                    " `after`, and go on for ever",
                ),
                tried=_leave_station,
            ),
        ),
    ),
    "3.1": Exercise(
        "At the times {times} the length of a queue changes to {lengths}; the run ends"
        " at time {end}. What is the time average of the length?",
        lambda times, lengths, end: number(
            lambda: _area(times, lengths, end) / end,
            "customers",
            1e-3,
            Mistake(
                lambda: float(np.mean(lengths)),
                "that counts every length once; weight it with the time it lasts",
            ),
            Mistake(
                lambda: _area(times, lengths, times[-1]) / times[-1],
                "the last length lasts until the end of the run",
            ),
            Mistake(
                lambda: _area(times, lengths, times[-1]) / end,
                "the last length lasts until the end of the run",
            ),
            Mistake(
                lambda: _area(times, lengths, end) / times[-1],
                "divide by the whole time, until the end of the run",
            ),
            Mistake(
                lambda: float(np.dot(lengths[1:], np.diff(times))) / end,
                "a length lasts from its time on, not up to it",
            ),
            Mistake(
                lambda: _area(times, lengths, end), "that is the area; divide by time"
            ),
            way="each length times how long it lasts, over the whole time",
        ),
        lambda rng: {
            "times": [0, *rng.permutation([4, 7, 9, 12, 15]).cumsum().tolist()],
            "lengths": [0, *rng.permutation([1, 2, 3, 4]).tolist(), 5],
            "end": 87,
        },
    ),
    "3.2": Exercise(
        "A ward has {patients:g} patients on average, and {per_day:g} arrive per day on"
        " average. How many hours does a patient stay on average?",
        lambda patients, per_day: number(
            lambda: 24 * patients / per_day,
            "hours",
            1e-3,
            Mistake(lambda: patients / per_day, "that is in days"),
            Mistake(
                lambda: 24 * per_day / patients,
                "the other way round: L is rate times W",
            ),
            Mistake(
                lambda: per_day * patients, "L is the rate times W; what is asked for?"
            ),
            Mistake(lambda: 24 / per_day, "that is the mean interarrival time"),
            Mistake(lambda: 24 * patients * per_day, "divide by the rate"),
            way="Little's law: which of L, lambda and W are known?",
        ),
        lambda rng: {
            "patients": int(rng.integers(11, 40)),
            "per_day": round(rng.uniform(2, 4.5), 1),
        },
    ),
    "3.3": Exercise(
        "A process `customer(env, desk, stay, service)` that records its time in the"
        " system in a monitor.",
        code(
            "a function of env, desk, stay and service",
            drawn(_customers),
            same(
                lambda *case: waits(*case) + case[1],
                Mistake(waits, "that is the wait; record from arrival to departure"),
                Mistake(
                    ends,
                    "that is the time on the clock; subtract that of the arrival",
                ),
                Mistake(
                    lambda _, services: services,
                    "that is the service time: keep `env.now` before the request",
                ),
                Mistake(
                    lambda arrivals, services: services[
                        np.argsort(arrivals + services)
                    ],
                    "all are served at once: `yield` the request, and release the"
                    " server after the service",
                ),
                Mistake(
                    lambda _, services: 0 * services,
                    "no time passes: `yield` the timeout",
                ),
                Mistake(
                    lambda *case: (waits(*case) + case[1])[:1],
                    "only one customer leaves: who releases the server?",
                ),
                Mistake(lambda *_: [], "nothing is recorded: `stay.tally(...)`"),
                tried=_tallied,
            ),
        ),
    ),
    "4.1": Exercise(
        "In a ward {per_day:g} patients arrive per day on average and stay for {days:g}"
        " days on average; nobody can wait. How many beds does it need at least, so"
        " that at most {pct:g} % of the patients are sent on?",
        lambda per_day, days, pct: number(
            lambda: _beds(erlang_b, per_day * days, pct),
            "beds",
            0.0,
            Mistake(
                lambda: per_day * days,
                "that is the load: how many beds are used on average if there are"
                " enough",
            ),
            *(
                Mistake(
                    lambda off=off: _beds(erlang_b, per_day * days, pct) + off,
                    "off by one: what is the share with so many beds, and with one"
                    " fewer?",
                )
                for off in (-1, 1)
            ),
            Mistake(
                lambda: _beds(erlang_c, max(per_day * days, 1), pct),
                "that is formula C, for patients who wait; here they are sent on",
            ),
            Mistake(
                lambda: _beds(erlang_b, per_day / days, pct),
                "the load is the rate times the mean stay",
            ),
            Mistake(
                lambda: _beds(erlang_b, per_day * days, pct / 100),
                "the formula gives a share, not a percentage",
            ),
            way="formula B for several numbers of beds: `cg.queueing.erlang_b`",
        ),
        lambda rng: {
            "per_day": int(rng.integers(2, 7)),
            "days": int(rng.integers(2, 6)),
            "pct": int(rng.choice([1, 2, 5])),
        },
    ),
    "4.2": Exercise(
        "A process `patient(env, bed, urgent, stay)` that returns the wait for the bed,"
        " urgent patients first.",
        code(
            "a function of env, bed, urgent and stay",
            drawn(
                lambda rng: {
                    "arrivals": (jobs := _jobs(rng))["arrivals"],
                    "urgent": rng.permutation([0, 0, 0, 0, 1, 1, 1, 1]),
                    "stays": jobs["works"],
                }
            ),
            same(
                lambda arrivals, urgent, stays: (
                    _by_priority(arrivals, 1 - urgent, stays) - stays
                ),
                NO_RESULT,
                NO_END,
                Mistake(
                    lambda arrivals, _, stays: waits(arrivals, stays),
                    "that is first come, first served: give the request a priority",
                ),
                Mistake(
                    lambda *case: _by_priority(*case) - case[2],
                    "the others go first: the smallest priority is served first",
                ),
                Mistake(
                    lambda arrivals, urgent, stays: _by_priority(
                        arrivals, 1 - urgent, stays
                    ),
                    "that is until the patient leaves; the wait ends with the bed",
                ),
                Mistake(
                    lambda arrivals, urgent, stays: (
                        _by_priority(arrivals, 1 - urgent, stays) - stays + arrivals
                    ),
                    "that is the time on the clock; subtract that of the arrival",
                ),
                Mistake(
                    lambda arrivals, *_: [0, *[NEVER] * (len(arrivals) - 1)],
                    "only the first patient leaves: who releases the bed?",
                ),
                NO_WAIT,
                tried=lambda process, *case: results(
                    process, *system(1, simpy.PriorityResource), *case
                ),
            ),
        ),
    ),
    "15.1": Exercise(
        "A job needs {work:g} hours of work. The machine fails every {mean:g} hours on"
        " average (exponential times), the job then begins again, and a restart takes"
        " {minutes:g} minutes. How many hours does the job take on average?",
        lambda work, mean, minutes: number(
            lambda: _once(work, mean, minutes / 60),
            "hours",
            1e-3,
            Mistake(lambda: _once(work, mean), "that is without the time of restarts"),
            Mistake(
                lambda: _once(work + minutes / 60, mean),
                "the first attempt needs no restart",
            ),
            Mistake(
                lambda: _once(work, mean, minutes),
                "the restart takes minutes, not hours",
            ),
            Mistake(
                lambda: work * (1 + (work / 2 + minutes / 60) / mean),
                "a second attempt can fail as well, and a third one",
            ),
            Mistake(lambda: 60 * _once(work, mean, minutes / 60), "that is in minutes"),
            way="E(L) for one piece: the first attempt, and each later one",
        ),
        lambda rng: {
            "work": int(rng.integers(4, 9)),
            "mean": int(rng.integers(3, 7)),
            "minutes": int(rng.integers(12, 31)),
        },
    ),
    "15.2": Exercise(
        "A process `job(env, work, every)` that is interrupted and continues from its"
        " last checkpoint.",
        code(
            "a function of env, work and every",
            drawn(
                lambda rng: {
                    "work": rng.uniform(5, 9),
                    "a checkpoint every": rng.uniform(0.5, 1.5),
                    "failures at": np.cumsum(rng.exponential(2, 30) + 0.2).round(2),
                }
            ),
            same(
                _with_checkpoints,
                Mistake(lambda *_: NOTHING, "the process returns nothing"),
                Mistake(
                    lambda work, _, failures: _with_checkpoints(work, work, failures),
                    "the job begins again after each failure: keep what was saved at"
                    " the last checkpoint",
                ),
                Mistake(
                    lambda work, *_: work,
                    "nothing is lost: the work since the last checkpoint has to be done"
                    " again",
                ),
                Mistake(
                    lambda _, every, failures: _with_checkpoints(
                        every, every, failures
                    ),
                    "only one piece: go on until all the work is done",
                ),
                Mistake(
                    lambda work, every, failures: _with_checkpoints(
                        np.ceil(work / every) * every, every, failures
                    ),
                    "the last piece may be shorter than the others",
                ),
                tried=_finished,
            ),
        ),
    ),
    "15.3": Exercise(
        "A process `caller(env, desk, talk, patience)` that reneges.",
        code(
            "a function of env, desk, talk and patience",
            drawn(lambda rng: {**_customers(rng, 12), "patience": rng.uniform(4, 9)}),
            in_turn(
                same(
                    _served,
                    NO_RESULT,
                    Mistake(
                        lambda *case: 1 - _served(*case),
                        "1 if served, 0 if the caller left",
                    ),
                    Mistake(
                        lambda arrivals, *_: np.ones(len(arrivals)),
                        "nobody reneges: wait for the request or the timeout",
                    ),
                    Mistake(
                        lambda *case: np.cumprod(_served(*case)),
                        "a caller who reneges has not left the queue: withdraw the"
                        " request",
                    ),
                    Mistake(
                        lambda arrivals, *_: np.arange(len(arrivals)) < 1,
                        "only the first caller is served: who releases the server?",
                    ),
                    tried=lambda process, *case: results(process, *system(), *case),
                ),
                same(
                    lambda *case: (
                        np.minimum(waits(case[0], case[1], 1, case[2]), case[2])
                        + case[1] * _served(*case)
                    ),
                    Mistake(
                        lambda *case: (
                            waits(case[0], case[1], 1, case[2])
                            + case[1] * _served(*case)
                        ),
                        "a caller reneges as soon as the patience ends: wait for the"
                        " request or the timeout",
                    ),
                    tried=lambda process, *case: results(
                        _timed(process), *system(), *case
                    ),
                ),
            ),
        ),
    ),
    "15.4": Exercise(
        "A process `job(env, machine, priority, work)` that is interrupted by jobs of"
        " smaller priority and keeps the work done.",
        code(
            "a function of env, machine, priority and work",
            drawn(_jobs),
            same(
                lambda *case: _by_priority(*case, preempt=True),
                NO_RESULT,
                Mistake(
                    lambda *case: _by_priority(*case, preempt=True, repeat=True),
                    "the job begins again after an interrupt: subtract the work done",
                ),
                Mistake(
                    _by_priority, "nobody is interrupted: `preempt` has to be True"
                ),
                Mistake(
                    lambda arrivals, priorities, works: _by_priority(
                        arrivals, -priorities, works, preempt=True
                    ),
                    "the smallest priority goes first",
                ),
                Mistake(
                    lambda *case: case[0] + _by_priority(*case, preempt=True),
                    "that is the time on the clock; subtract that of the arrival",
                ),
                Mistake(
                    lambda *case: _by_priority(*case, preempt=True) - case[2],
                    "that is the time without service; from arrival to departure",
                ),
                tried=lambda process, *case: results(
                    process, *system(1, simpy.PreemptiveResource), *case
                ),
            ),
        ),
    ),
}
"""Exercises by number."""
