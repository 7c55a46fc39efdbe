"""The schedulers by name: who starts next, as functions of a view; and schedulers from text such as
"hps:monotone=true".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cgrsp_simpy.cluster.backfilling import Conservative, easy
from cgrsp_simpy.cluster.batching import sbs
from cgrsp_simpy.cluster.hybrid import adaptive, hps
from cgrsp_simpy.cluster.predictive import pbs
from cgrsp_simpy.cluster.single import LeastAttained, fifo, fifo_skip, shortest, shortest_gpu, sjf
from cgrsp_simpy.cluster.view import Scheduler
from cgrsp_simpy.model.parameters import chosen

# Schedulers, and factories of those that have parameters or remember.
SCHEDULERS: dict[str, Callable[..., Any]] = {
    "fifo": fifo,
    "fifo-skip": fifo_skip,
    "sjf": sjf,
    "shortest": shortest,
    "shortest-gpu": shortest_gpu,
    "adaptive": adaptive,
    "hps": hps,
    "pbs": pbs,
    "sbs": sbs,
    "easy": easy,
    "conservative": Conservative,
    "las": LeastAttained,
}

COMPARED = ("fifo", "sjf", "shortest", "shortest-gpu", "hps", "pbs", "sbs", "easy")
"""Names of the schedulers that are compared unless told."""


def make_scheduler(scheduler: str | Scheduler) -> Scheduler:
    """A scheduler from its text.

    scheduler: "easy", "hps:monotone=true,aging_boost=3", "own.py:widest_first"; a callable is
    passed through. Raises InputError for an unknown name, parameter or file, or a value that a
    parameter cannot have.
    """
    return chosen("scheduler", scheduler, SCHEDULERS)
