"""The schedulers by name: who starts next, as functions of a moment; and schedulers from text such as "hps:monotone=true"."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from cgrsp_simpy.cluster.backfilling import Conservative, easy
from cgrsp_simpy.cluster.batching import sbs
from cgrsp_simpy.cluster.hybrid import adaptive, hps
from cgrsp_simpy.cluster.predictive import pbs
from cgrsp_simpy.cluster.simulation import Scheduler
from cgrsp_simpy.cluster.single import LeastAttained, fifo, fifo_skip, shortest, shortest_gpu, sjf
from cgrsp_simpy.model.checks import InputError, check_one_of

__all__ = ["SCHEDULERS", "fifo", "make_scheduler"]

# Factories; those of schedulers without parameters give the one that there is, but for schedulers that remember.
SCHEDULERS: dict[str, Callable[..., Scheduler]] = {
    "fifo": lambda: fifo,
    "fifo-skip": lambda: fifo_skip,
    "sjf": lambda: sjf,
    "shortest": lambda: shortest,
    "shortest-gpu": lambda: shortest_gpu,
    "adaptive": adaptive,
    "hps": hps,
    "pbs": pbs,
    "sbs": sbs,
    "easy": lambda: easy,
    "conservative": Conservative,
    "las": LeastAttained,
}


def make_scheduler(scheduler: str | Scheduler) -> Scheduler:
    """A scheduler from its text: "easy", "hps:monotone=true,aging_boost=3"; a callable is passed through.

    Raises InputError for an unknown name or parameter, or a value that a parameter cannot have.
    """
    if not isinstance(scheduler, str):
        if not callable(scheduler):
            raise InputError(f"scheduler(={scheduler!r}) must be a name or a function of a moment")
        return scheduler
    name, _, rest = scheduler.partition(":")
    check_one_of("scheduler", name, SCHEDULERS)
    factory = SCHEDULERS[name]
    return factory(**_parameters(scheduler, rest, factory))


def _parameters(text: str, rest: str, factory: Callable[..., Scheduler]) -> dict[str, Any]:
    """Keyword arguments from "a=1,b=true", each of the kind of its default."""
    own = inspect.signature(factory).parameters
    given: dict[str, Any] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"scheduler {text!r}: {part!r} must be of the form parameter=value")
        check_one_of(f"parameter of scheduler {text.partition(':')[0]}", key, own)
        if key in given:
            raise InputError(f"scheduler {text!r}: {key} is given twice")
        read, allowed = READERS[type(own[key].default)]
        try:
            given[key] = read(value)
        except (KeyError, ValueError):
            raise InputError(f"scheduler {text!r}: {key}(={value!r}) must be {allowed}") from None
    return given


READERS: dict[type, tuple[Callable[[str], Any], str]] = {
    bool: ({"true": True, "false": False}.__getitem__, "true or false"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    str: (str, "a text"),
}
