"""Exercises of the lectures on scheduling and on the thesis's rented GPUs."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy
from numpy.random import Generator

from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import slots
from cgrsp_simpy.exercises.exercise import (
    NEVER,
    NO_RESULT,
    Exercise,
    Mistake,
    Times,
    code,
    drawn,
    ends,
    number,
    recorded,
    results,
    same,
    system,
)
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.studies.compare import compare
from cgrsp_simpy.studies.replicate import simulate


def _jobs(rng: Generator) -> dict[str, Any]:
    """Draw jobs such that several wait at the same time."""
    arrivals = np.cumsum(rng.exponential(3, 10)).round(2)
    return {
        "arrivals": arrivals,
        "works": rng.exponential(5, 10).round(2) + 0.5,
        "dues": (arrivals + rng.choice([4, 30], 10) + rng.uniform(0, 4, 10)).round(2),
    }


def _in_order(key: Callable[..., float]) -> Callable[..., Any]:
    """Return a function that computes ends under a key of work, due date and time."""
    return lambda arrivals, works, dues: ends(
        arrivals, works, lambda job, now: key(works[job], dues[job], now)
    )


# ---- lecture 16 ----

_by_due = _in_order(lambda _work, due, _now: due)
_shortest = _in_order(lambda work, _due, _now: work)


def _tardiness(times: Any, dues: Any) -> Any:
    return np.maximum(0, np.subtract(times, dues))


def _oven(oven: Any, arrivals: Times, *sizes: Any) -> list[float]:
    """Return the end times that an answer records."""
    env, store = system(math.inf, simpy.Store)
    for arrival in arrivals:
        env.timeout(arrival).callbacks.append(lambda _: store.put("part"))
    return recorded(oven, env, store, *sizes)


def _baked(
    arrivals: Times,
    size: int,
    patience: float,
    work: float,
    *,
    again: bool = False,
    lost: int = 0,
) -> list[float]:
    """Return the end of baking of each part.

    again: whether the patience restarts with each part (a mistake). lost: parts per
    incomplete batch taken by a request that was not cancelled (a mistake).
    """
    times, first, now = list[float](), 0, 0.0
    while first < len(arrivals):
        now, after = max(now, arrivals[first]), first + 1
        limit = now + patience
        for arrival in arrivals[after : first + size]:
            if arrival <= limit:
                now, after = max(now, arrival), after + 1
                limit = now + patience if again else limit
        now = (now if after - first == size else limit) + work
        times += [now] * (after - first)
        first = after + lost * (after - first < size)
    return [time for time in times if time < math.inf]


_Job = namedtuple("_Job", "id arrival_s work_s due_s")


@dataclass(frozen=True)
class _Shop(Model):
    jobs: tuple[_Job, ...]

    def resources(self) -> Any:
        return slots(1, "machine")

    def arrivals(self, draw: Any) -> Any:
        return [(job.arrival_s, job) for job in self.jobs]

    def job_process(self, run: Any, job: Any) -> Any:
        with run.claim(job) as turn:
            yield turn
            yield run.timeout(job.work_s)


def _scheduled(policy: Any, *columns: Times) -> Any:
    """Return the ends of jobs under a policy."""
    jobs = tuple(map(_Job, range(len(columns[0])), *columns))
    records = simulate(_Shop(jobs), policy).jobs
    return records["finish_s"][np.argsort(records["job"])]


# ---- lecture 17 ----


def _rented(held: Any, arrivals: Any, delays: Any, *_: Any) -> Any:
    """Return the waits of jobs that hold their slot for given times."""
    return ends(arrivals, held) - held + delays - arrivals


# ---- lecture 18 ----


def _judge_policy(policy: Any) -> str:
    """Return the error of a policy."""
    study = compare(day("hectic"), {"fifo": "fifo", "yours": policy}, range(3))
    if study.failures:
        return f"the policy fails: {study.failures[0]['error']}"
    fifo, yours = study.means().values()
    if yours["tight_miss_pct"].mean > 1:
        return (
            f"{yours['tight_miss_pct'].mean:.1f} % of the rush orders are late: which"
            " job must not be overtaken any longer, and how do you see it?"
        )
    if yours["wait_min"].mean > 0.9 * fifo["wait_min"].mean:
        return (
            f"the mean wait is {yours['wait_min'].mean:.0f} min, FIFO's"
            f" {fifo['wait_min'].mean:.0f}: what should decide among jobs that are in"
            " no hurry?"
        )
    return ""


def _z(printed: float, mean: float, sd: float, *days: int) -> float:
    return (printed - mean) / (sd * math.sqrt(sum(1 / count for count in days)))


EXERCISES: dict[str, Exercise] = {
    "16.1": Exercise(
        "Four jobs wait for one machine at time 0. Their works take {works} minutes,"
        " and they are due at the minutes {dues}. What is their total tardiness in"
        " minutes if the shortest job is first?",
        lambda works, dues: number(
            lambda: _tardiness(_shortest([0] * 4, works, dues), dues).sum(),
            "min",
            0.0,
            Mistake(
                lambda: _tardiness(_by_due([0] * 4, works, dues), dues).sum(),
                "that is in the order of due dates",
            ),
            Mistake(
                lambda: _tardiness(ends([0] * 4, works), dues).sum(),
                "that is in the order of the list",
            ),
            Mistake(
                lambda: np.subtract(_shortest([0] * 4, works, dues), dues).sum(),
                "a job that is early does not make up for a late one: its tardiness"
                " is 0",
            ),
            Mistake(
                lambda: _tardiness(_shortest([0] * 4, works, dues) - works, dues).sum(),
                "a job is late by its end, not by its start",
            ),
            Mistake(
                lambda: _tardiness(_shortest([0] * 4, works, dues), dues).mean(),
                "that is the mean; the question asks for the total",
            ),
            way="one line per job in the order of service: start, end, due date",
        ),
        lambda rng: {
            name: np.roll(times, shift).tolist()
            for scale, shift in [rng.integers((2, 1), (40, 4)).tolist()]
            for name, times in (
                ("works", np.multiply(scale, [10, 8, 5, 3])),
                ("dues", np.multiply(scale, [7, 20, 6, 24])),
            )
        },
    ),
    "16.2": Exercise(
        "A process `job(env, machine, work, due)`: earliest due date first; it returns"
        " the tardiness.",
        code(
            "a function of env, machine, work, due",
            drawn(_jobs),
            same(
                lambda *jobs: _tardiness(_by_due(*jobs), jobs[2]),
                NO_RESULT,
                Mistake(
                    lambda *jobs: _by_due(*jobs) - jobs[2],
                    "that is the lateness; the tardiness of an early job is 0",
                ),
                Mistake(
                    lambda *jobs: _tardiness(_shortest(*jobs), jobs[2]),
                    "that is shortest first: the priority is the due date",
                ),
                Mistake(
                    lambda *jobs: _tardiness(ends(jobs[0], jobs[1]), jobs[2]),
                    "that is first come, first served: give the request a priority",
                ),
                Mistake(
                    lambda *jobs: _tardiness(
                        _in_order(lambda _work, due, _now: -due)(*jobs), jobs[2]
                    ),
                    "the smallest priority is served first",
                ),
                Mistake(_by_due, "that is the end on the clock"),
                Mistake(
                    lambda *jobs: np.where(
                        np.arange(len(jobs[0])),
                        NEVER,
                        _tardiness(jobs[0] + jobs[1], jobs[2]),
                    ),
                    "who releases the machine?",
                ),
                Mistake(
                    lambda *jobs: _tardiness(jobs[0] + jobs[1], jobs[2]),
                    "nobody waits: `yield` the request, and keep the machine during"
                    " the work",
                ),
                tried=lambda job, *jobs: results(
                    job, *system(1, simpy.PriorityResource), *jobs
                ),
            ),
        ),
    ),
    "16.3": Exercise(
        "A process `oven(env, store, size, patience, work, ends)` that bakes parts in"
        " batches.",
        code(
            "a function of env, store, size, patience, work, ends",
            drawn(
                lambda rng: {
                    "arrivals": np.cumsum(rng.exponential(4, 24)).round(3) + 0.5,
                    "size": int(rng.integers(3, 5)),
                    "patience": float(rng.integers(5, 9)),
                    "work": float(rng.integers(2, 12)),
                }
            ),
            same(
                _baked,
                Mistake(
                    lambda *case: _baked(*case, again=True),
                    "the patience begins with the first part, not again with each one",
                ),
                Mistake(
                    lambda *case: _baked(*case, lost=1),
                    "parts get lost: cancel the request that is still waiting when the"
                    " patience ends",
                ),
                Mistake(
                    lambda arrivals, _, *times: _baked(arrivals, 1, *times),
                    "one part at a time",
                ),
                Mistake(
                    lambda arrivals, size, _, work: _baked(
                        arrivals, size, math.inf, work
                    ),
                    "the oven waits for a full batch, without an end",
                ),
                Mistake(
                    lambda arrivals, size, _, work: _baked(arrivals, size, 0, work),
                    "the oven does not wait for further parts",
                ),
                Mistake(
                    lambda *case: np.unique(_baked(*case)),
                    "one end per part, not per batch",
                ),
                Mistake(lambda *case: _baked(*case)[: case[1]], "only the first batch"),
                tried=_oven,
            ),
        ),
    ),
    "16.4": Exercise(
        "A policy, a function of a view: the smallest critical ratio first.",
        code(
            "a policy, a function of a view",
            drawn(_jobs),
            same(
                _in_order(lambda work, due, now: (due - now) / work),
                Mistake(
                    _in_order(lambda work, due, _: due - work),
                    "that is the slack: divide by the work",
                ),
                Mistake(
                    _in_order(lambda work, due, _: due / work),
                    "the time until the due date depends on `view.now_s`",
                ),
                Mistake(
                    _in_order(lambda work, due, now: (now - due) / work),
                    "the smallest is next, not the largest",
                ),
                Mistake(_by_due, "that is the due date"),
                Mistake(_shortest, "that is shortest first"),
                Mistake(
                    lambda arrivals, works, _: ends(arrivals, works),
                    "that is first come, first served",
                ),
                tried=_scheduled,
            ),
        ),
    ),
    "17.1": Exercise(
        "In the peak a GPU is provisioned in {medium} s with probability 0.7 and in"
        " {low} s with probability 0.3. A job then computes for {work} s. A slot is"
        " held for both. How many jobs per hour can {slots} slots serve?",
        lambda medium, low, work, slots: number(
            lambda: 3600 * slots / (0.7 * medium + 0.3 * low + work),
            "jobs per hour",
            1e-3,
            Mistake(
                lambda: 3600 * slots / work,
                "that counts the execution alone; what else holds a slot?",
            ),
            Mistake(
                lambda: 3600 * slots / (0.7 * medium + 0.3 * low),
                "that counts the provisioning alone",
            ),
            Mistake(
                lambda: 3600 / (0.7 * medium + 0.3 * low + work), "that is one slot"
            ),
            Mistake(
                lambda: slots / (0.7 * medium + 0.3 * low + work),
                "that is per second",
            ),
            Mistake(
                lambda: 60 * slots / (0.7 * medium + 0.3 * low + work),
                "that is per minute",
            ),
            Mistake(
                lambda: 3600 * slots * (0.7 / (medium + work) + 0.3 / (low + work)),
                "that is a mean of paces; take the mean of the times, since a slot is"
                " held longer by a job that waits longer",
            ),
            way="one over the mean time that a job holds a slot, times the slots",
        ),
        lambda rng: {
            "medium": int(rng.integers(6, 12)) * 10,
            "low": int(rng.integers(20, 50)) * 100,
            "work": int(rng.integers(10, 30)) * 10,
            "slots": int(rng.integers(3, 9)),
        },
    ),
    "17.2": Exercise(
        "A process `job(env, slot, delay, work)`: it returns its wait until the"
        " execution begins.",
        code(
            "a function of env, slot, delay, work",
            drawn(
                lambda rng: {
                    "arrivals": np.cumsum(rng.exponential(2, 8)).round(2),
                    "delays": rng.exponential(3, 8).round(2) + 0.1,
                    "works": rng.exponential(4, 8).round(2) + 0.1,
                }
            ),
            same(
                lambda *jobs: _rented(jobs[1] + jobs[2], *jobs),
                NO_RESULT,
                Mistake(
                    lambda *jobs: _rented(jobs[1] + jobs[2], *jobs) - jobs[1],
                    "the wait lasts until the execution begins, not until the slot is"
                    " granted",
                ),
                Mistake(
                    lambda *jobs: _rented(jobs[1] + jobs[2], *jobs) + jobs[2],
                    "that is until the end of the execution",
                ),
                Mistake(
                    lambda arrivals, delays, works: (
                        ends(arrivals + delays, works) - works - arrivals
                    ),
                    "the slot is held during the provisioning, too: request it first",
                ),
                Mistake(
                    lambda *jobs: _rented(jobs[1], *jobs),
                    "the slot is released before the execution",
                ),
                Mistake(
                    lambda arrivals, delays, _: np.where(
                        np.arange(len(arrivals)), NEVER, delays
                    ),
                    "who releases the slot?",
                ),
                Mistake(
                    lambda arrivals, _, works: ends(arrivals, works) - works - arrivals,
                    "the GPU is there at once: what of the delay?",
                ),
                Mistake(lambda *jobs: jobs[1], "nobody waits for the slot"),
                Mistake(
                    lambda *jobs: _rented(jobs[1] + jobs[2], *jobs) + jobs[0],
                    "that is the time on the clock; subtract that of the arrival",
                ),
                tried=lambda job, *jobs: results(job, *system(), *jobs),
            ),
        ),
    ),
    "18.1": Exercise(
        "A table prints a mean wait of {printed} min over {theirs} days. Your"
        " {days} days have a mean of {mean} min and a standard deviation of {sd} min"
        " between days. What is z, the difference printed - yours over its standard"
        " error?",
        lambda printed, theirs, days, mean, sd: number(
            lambda: _z(printed, mean, sd, theirs, days),
            "standard errors",
            1e-3,
            Mistake(
                lambda: -_z(printed, mean, sd, theirs, days),
                "the sign: printed - yours",
            ),
            Mistake(
                lambda: _z(printed, mean, sd, days), "the printed mean is random, too"
            ),
            Mistake(lambda: _z(printed, mean, sd, theirs), "your mean is random, too"),
            Mistake(
                lambda: _z(printed, mean, sd, 1),
                "that is in standard deviations of a day, not of the means",
            ),
            Mistake(
                lambda: _z(printed, mean, sd, theirs + days),
                "the variances of two means add up; this pools the days",
            ),
            way="the variances of the two means add up",
        ),
        lambda rng: {
            "printed": round(float(rng.uniform(150, 160)), 1),
            "theirs": 30,
            "days": int(rng.integers(10, 26)),
            "mean": round(float(rng.uniform(140, 148)), 1),
            "sd": round(float(rng.uniform(12, 20)), 1),
        },
    ),
    "18.2": Exercise(
        "Which policy waits at least 10 % less than FIFO and misses at most 1 % of the"
        " rush orders, over hectic days 0, 1 and 2?",
        code("a policy, a function of a view", lambda: [{}], _judge_policy),
    ),
}
