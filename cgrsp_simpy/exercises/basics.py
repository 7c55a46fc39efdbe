"""Exercises of lectures 1 to 4: events, processes, queues, randomness."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import nan
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.metrics import queue_length, time_average
from cgrsp_simpy.analysis.queueing import mmc
from cgrsp_simpy.base.policy import PolicyError, Wake
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.exercises.exercise import Exercise, Mistake, code, number
from cgrsp_simpy.market.gpu import GpuType
from cgrsp_simpy.market.law import Market
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.job import Job, Service
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.view import Assignment, Policy, View
from cgrsp_simpy.rental.workload import JobList, LoggedWorkload, Workload
from cgrsp_simpy.studies.compare import compare
from cgrsp_simpy.studies.replicate import simulate


def plain(
    workload: Workload,
    mean_s: tuple[float, ...],
    slots: int = 1,
    service: Service | None = None,
) -> Scenario:
    """Return equal slots without delays, and jobs of exactly their mean time.

    Or with the log's times, or a service.
    """
    gpu = GpuType("GPU", 1.0, mean_s, 1.0)
    service_times = service or Service(sigma=(0.0,) * len(mean_s))
    at_once = Market(delay_s=((0, 0),) * 3)
    return Scenario(
        "exercise",
        workload,
        (gpu,) * slots,
        (gpu,),
        market=at_once,
        service=service_times,
    )


def mean_wait_s(run: Run, until: str = "start_s") -> float:
    """Return the mean time from submission to start, or to another moment."""
    return float((run.jobs[until] - run.jobs["submit_s"]).mean())


# ---- lecture 1: the event list ----


FIRST_S = 10.0  # of the first arrival


def four_jobs(policy: str) -> Run:
    """Run the lecture's four jobs."""
    jobs = tuple(
        Job(i, at_s, at_s + 3600.0, level)
        for i, (at_s, level) in enumerate(
            ((FIRST_S, 4), (25.0, 1), (30.0, 3), (55.0, 2))
        )
    )
    return simulate(plain(JobList(jobs), (10.0, 20.0, 30.0, 40.0)), policy)


def wait_of_those_who_wait_s(run: Run) -> float:
    """Return the mean wait of jobs that do not start at once."""
    wait_s = run.jobs["start_s"] - run.jobs["submit_s"]
    return float(wait_s[wait_s > 0].mean())


def mean_queue(run: Run) -> float:
    """Return the time average of the number of jobs in the queue."""
    return time_average(*queue_length(run), run.tally.end_s)


def area(run: Run) -> float:
    """Return the time integral of the number of jobs in the queue, in job seconds."""
    return float(mean_queue(run) * run.tally.end_s)


def queue_over_events(run: Run) -> float:
    """Return the mean number of jobs in the queue over the instants of events."""
    times_s, lengths = queue_length(run)
    instants = np.union1d(times_s, run.jobs["finish_s"])
    return float(np.mean([lengths[times_s <= instant][-1] for instant in instants]))


# ---- lecture 2: processes ----

SUBMITS_S, DELAY_S, WORK_S = (0.0, 10.0, 20.0), 30.0, 60.0


def last_end_s(slots: int, delay_on_slot: bool = False) -> float:
    """Return the end of the last of three jobs that take turns on the slots.

    delay_on_slot: whether the slot is held during the delay.
    """
    free_s = [0.0] * slots
    for i, submit_s in enumerate(SUBMITS_S):
        on_slot_s, before_s = (DELAY_S, 0.0) if delay_on_slot else (0.0, DELAY_S)
        free_s[i % slots] = (
            max(free_s[i % slots], submit_s + before_s) + on_slot_s + WORK_S
        )
    return max(free_s)


BUNCH, PATIENCE_S = 3, 600


def bunches(view: View) -> Iterable[Assignment | Wake]:
    """Answer the exercise."""
    oldest_s = view.queue[0].submit_s
    if view.waiting >= BUNCH or view.now_s >= oldest_s + PATIENCE_S:
        return list(zip(view.queue, view.idle))
    return [Wake(oldest_s + PATIENCE_S)]


# Whole seconds, so that rounding does not affect "600 s". Single jobs, pairs, threes, a
# crowd, and a second job after just 600 s.
BUNCH_SUBMITS_S = (
    *(0, 1000, 1500, 3000, 3300, 3540, 5000, 5005, 5010, 5015, 5020, 5025, 5030),
    *(7000, 7600, 7650, 9000, 9100, 9200),
)
BUNCH_JOBS = JobList(
    tuple(Job(i, float(at_s), at_s + 36000.0) for i, at_s in enumerate(BUNCH_SUBMITS_S))
)


def judge_bunches(policy: Any) -> str:
    """Run the policy, and compare the dispatch of each job."""
    try:
        found_s = dispatches_s(policy)
    except PolicyError as error:
        asleep = "nothing else to come" in str(error)
        return f"{error}{'; who rings the bell when 600 s are over?' if asleep else ''}"
    right_s = dispatches_s(bunches)
    if np.array_equal(found_s, right_s):
        return ""
    if np.array_equal(found_s, dispatches_s("fifo")):
        return "this is FIFO: no job waits for a bunch"
    job = int(np.flatnonzero(found_s != right_s)[0])
    submits = ", ".join(map(str, BUNCH_SUBMITS_S[: job + 1][-4:]))
    when = "early" if found_s[job] < right_s[job] else "late"
    return (
        f"in a test with submissions at {submits} s the last of these is dispatched too"
        f" {when}"
    )


def dispatches_s(policy: str | Policy) -> np.ndarray:
    """Return the dispatch of each job, on two slots with jobs of 200 s."""
    return np.asarray(
        simulate(plain(BUNCH_JOBS, (200.0,), slots=2), policy).jobs["dispatch_s"]
    )


# ---- lecture 3: queues ----

RATE_PER_S, MEAN_S, MOST_WAIT_S = 6 / 60, 60.0, 5.0
MANY_SLOTS = np.arange(1, 200)


def slots_needed(wait_s: np.ndarray) -> int:
    """Return the fewest slots with a short enough wait.

    wait_s: by number of slots, from 1 on.
    """
    return int(MANY_SLOTS[wait_s <= MOST_WAIT_S][0])


def separate_wait_s() -> np.ndarray:
    """Return mean waits by number of slots with separate queues and equal shares."""
    return np.array(
        [float(mmc(RATE_PER_S / slots, 1 / MEAN_S, 1).wait_s) for slots in MANY_SLOTS]
    )


@cache
def surge() -> Run:
    """Run the day of the exercise on Little's law."""
    return simulate(day("surge"), "fifo", 3)


def little(until: str) -> float:
    """Return arrivals per second, times the mean time from submission to a column."""
    run = surge()
    return float(mean_wait_s(run, until) * len(run.jobs) / run.tally.end_s)


# ---- lecture 4: randomness ----

COMMON_SEEDS = 50


@cache
def seeds_worth() -> float:
    """Return by what factor independent seeds raise the variance of a difference."""
    study = compare(day("normal"), ["fifo", "spt"], range(COMMON_SEEDS))
    fifo, spt = (
        np.array(study.values(policy, "wait_min")) for policy in study.policies
    )
    return float((fifo.var(ddof=1) + spt.var(ddof=1)) / (spt - fifo).var(ddof=1))


@cache
def wait_by_streams_s(services: str) -> float:
    """Return the mean wait of 5,000 jobs with gaps from the stream "arrivals" of seed
    4.

    services: the stream of the service times.
    """
    jobs = 5000
    gaps_s = stream(4, "arrivals").exponential(12.5, jobs)
    service_s = stream(4, services).exponential(10.0, jobs)
    log = LoggedWorkload(
        tuple(gaps_s.cumsum()),
        tuple(service_s),
        (nan,) * jobs,
        (1,) * jobs,
        (1.0,) * jobs,
    )
    return mean_wait_s(simulate(plain(log, (10.0, 10.0, 10.0)), "fifo"))


EXERCISES: dict[str, Exercise] = {
    "1.1": Exercise(
        "A GPU that falls free takes the shortest waiting job. What is the mean wait of"
        " the four jobs, in seconds?",
        number(
            lambda: mean_wait_s(four_jobs("spt")),
            "s",
            1e-3,
            Mistake(
                lambda: mean_wait_s(four_jobs("fifo")),
                "that is the wait if the oldest goes first; which one is the shortest?",
            ),
            Mistake(
                lambda: mean_wait_s(four_jobs("spt")) / 60,
                "in seconds, not in minutes",
            ),
            Mistake(
                lambda: mean_wait_s(four_jobs("spt"), "finish_s"),
                "the wait ends with the start of a job, not with its end",
            ),
            Mistake(
                lambda: wait_of_those_who_wait_s(four_jobs("spt")),
                "a job that starts at once counts, too, with a wait of 0",
            ),
            Mistake(
                lambda: 4 * mean_wait_s(four_jobs("spt")),
                "that is the sum of the waits, not their mean",
            ),
            way="go on from the lecture's table by hand: whom does each free GPU take?",
        ),
    ),
    "1.2": Exercise(
        "First come, first served: how many jobs wait on average over time, from 0 s"
        " until the last job ends?",
        number(
            lambda: mean_queue(four_jobs("fifo")),
            "jobs",
            5e-3,
            Mistake(
                lambda: mean_wait_s(four_jobs("fifo")),
                "that is the mean wait in seconds; how many jobs wait?",
            ),
            Mistake(
                lambda: queue_over_events(four_jobs("fifo")),
                "that is the mean over the rows of the table; a row that lasts longer"
                " should count for more",
            ),
            Mistake(
                lambda: (
                    area(four_jobs("fifo")) / (four_jobs("fifo").tally.end_s - FIRST_S)
                ),
                "the average starts at 0 s, not at the first arrival; nobody waits"
                " before it, but the time counts",
            ),
            Mistake(
                lambda: area(four_jobs("fifo")),
                "that is the area under the curve; over how long a time is it spread?",
            ),
            Mistake(
                lambda: mean_queue(four_jobs("spt")),
                "that is for the shortest first; here the oldest goes first",
            ),
            way=(
                "draw the number of waiting jobs over time, as the lecture does: what"
                " is its mean?"
            ),
        ),
    ),
    "2.1": Exercise(
        "Three jobs on three slots with double booking: when does the last job end, in"
        " seconds?",
        number(
            lambda: last_end_s(slots=1),
            "s",
            1e-3,
            Mistake(
                lambda: last_end_s(slots=3),
                "that is how it should be; here no job has requested a slot yet when"
                " the others come",
            ),
            Mistake(
                lambda: last_end_s(slots=1, delay_on_slot=True),
                "GPUs come side by side: a job holds its slot only from its request on",
            ),
            Mistake(
                lambda: last_end_s(slots=2),
                "when job 2 is dispatched, is any slot requested already?",
            ),
            way=(
                "for each job: when is it dispatched, to which slot, and when does its"
                " GPU come?"
            ),
        ),
    ),
    "2.2": Exercise(
        "A policy that starts jobs, oldest first, on all idle slots once three wait or"
        " the oldest has waited for 600 s.",
        code("a policy, a function of a view", lambda: [{}], judge_bunches),
    ),
    "3.1": Exercise(
        "6 jobs a minute of 60 s each: how many slots with one queue for a mean wait of"
        " at most 5 s?",
        number(
            lambda: slots_needed(mmc(RATE_PER_S, 1 / MEAN_S, MANY_SLOTS).wait_s),
            "slots",
            1e-9,
            Mistake(
                lambda: RATE_PER_S * MEAN_S,
                "so many slots are busy on average; with no more than these the queue"
                " grows for ever",
            ),
            Mistake(
                lambda: RATE_PER_S * MEAN_S + 1,
                "with one slot more than the load the queue is stable; is it short?",
            ),
            Mistake(
                lambda: slots_needed(separate_wait_s()),
                "that is for a queue of its own before every slot; here all share one",
            ),
            way="let `cg.queueing.mmc` give the mean wait for several numbers of slots",
        ),
    ),
    "3.2": Exercise(
        "Surge day, FIFO, seed 3: how many jobs are waiting for their dispatch on"
        " average, from 0 s to the end of the last job?",
        number(
            lambda: little("dispatch_s"),
            "jobs",
            5e-3,
            Mistake(
                lambda: little("start_s"),
                "that includes jobs whose GPU is on its way; they have been dispatched"
                " already",
            ),
            Mistake(
                lambda: little("finish_s"),
                "that is the number in the system; how many of them wait for their"
                " dispatch?",
            ),
            Mistake(
                lambda: (
                    surge().scenario.workload.rate_per_s
                    * mean_wait_s(surge(), "dispatch_s")
                ),
                "the rate at which jobs arrive while they arrive; over the whole run,"
                " up to the end of the last job, it is lower",
            ),
            Mistake(
                lambda: little("dispatch_s") * 60,
                "a mean wait in minutes goes with a rate per minute",
            ),
            Mistake(
                lambda: little("dispatch_s") / 60,
                "a mean wait in minutes goes with a rate per minute",
            ),
            way="Little's law for the queue alone: which rate, and which time in it?",
        ),
    ),
    "4.1": Exercise(
        "How many independent seeds for each policy give the difference the variance"
        " that 50 common seeds give it?",
        number(
            lambda: COMMON_SEEDS * seeds_worth(),
            "seeds",
            1e-2,
            Mistake(seeds_worth, "so many times the seeds; of how many?"),
            Mistake(
                lambda: COMMON_SEEDS * seeds_worth() ** 0.5,
                "that is by the ratio of the widths; the width falls with the root of"
                " the number of seeds",
            ),
            Mistake(
                lambda: 2 * COMMON_SEEDS * seeds_worth(),
                "that is for both policies together; the question is for each",
            ),
            Mistake(
                lambda: COMMON_SEEDS / seeds_worth(),
                "the other way round: with independent seeds it takes more",
            ),
            way=(
                "set the variance of the difference with n seeds each equal to that of"
                " common seeds"
            ),
        ),
    ),
    "4.2": Exercise(
        "Gaps and service times from one stream, taken twice: what is the mean wait, in"
        " seconds?",
        number(
            lambda: wait_by_streams_s("arrivals"),
            "s",
            5e-3,
            Mistake(
                lambda: wait_by_streams_s("service"),
                "that is with a stream for each purpose, as it should be; what if both"
                " take the same one?",
            ),
            Mistake(
                lambda: float(mmc(1 / 12.5, 1 / 10, 1).wait_s),
                "that is M/M/1's, whose service times know nothing of the gaps; here"
                " they are the same numbers on another scale",
            ),
            Mistake(
                lambda: wait_by_streams_s("arrivals") / 60, "in seconds, not in minutes"
            ),
            Mistake(
                lambda: wait_by_streams_s("arrivals") + 10,
                "the wait ends with the start of a job, not with its end",
            ),
            way=(
                "follow the first jobs by hand: when do they come, how long do they"
                " take?"
            ),
        ),
    ),
}
"""Exercises of the lectures on the basics, by number."""
