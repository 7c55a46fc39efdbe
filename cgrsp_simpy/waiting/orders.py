"""In what order the jobs that wait get fixed machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cgrsp_simpy.model.parameters import chosen
from cgrsp_simpy.model.policy import Wake
from cgrsp_simpy.waiting.jobs import Job
from cgrsp_simpy.waiting.view import View

Order = Callable[[View], Iterable["tuple[Job, int] | Wake"] | None]
"""Answers with pairs of a job and the machine that it gets; a generator is asked for the next pair
when the last has its own.
"""


def first_come(view: View) -> Iterator[tuple[Job, int]]:
    """First come, first served: while the first finds no room, those behind it wait."""
    while (job := view.first()) is not None and (machine := view.room(job)) is not None:
        yield job, machine


def shortest_first(view: View) -> Iterator[tuple[Job, int]]:
    """The job of the shortest running time first of those that find room; of equals the first to
    come.
    """
    place, line, refused = 0, view.by_time, set[tuple[int, float]]()  # needs that find no room now
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


def order_of(order: str | Order) -> Order:
    """An order from its text, fcfs, sjf or "own.py:function"; a function of a View is passed
    through.

    Raises InputError for an unknown name or file, or what is neither text nor function.
    """
    return chosen("order", order, ORDERS)
