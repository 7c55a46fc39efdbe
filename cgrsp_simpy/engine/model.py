"""A model: its resources, its arrivals, and the process of a job."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import get_annotations, getattr_static, isfunction
from typing import Any, ClassVar

import numpy as np

from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.engine.report import Report
from cgrsp_simpy.engine.resources import ResourceSpec
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.engine.view import View, first_come

MOVED = {
    "life": "job_process(run, job)",
    "places": "resources()",
    "noun": "policy_label",
    "says": "describe(kind, claim) of its Report",
    **dict.fromkeys(
        "metrics shown tested precise note infinite keeps_jobs tally summary summary_of"
        " rows kinds timeline".split(),
        "an attribute of its Report (`report = ...`)",
    ),
}
"""Name of a model's attribute in the last release -> its name now."""

MOVED_TO_SUBJECT = {
    "run": "cg.simulate(scenario, policy, seed)",
    **dict.fromkeys(
        "work make_policy draw simulation varied outcome is_random default_policies"
        " not_compiled".split(),
        "an attribute of studies.subject.subject_of(scenario)",
    ),
}
"""What was called on a model in the last release -> its name now."""


def _is_columns(value: Any) -> bool:
    try:
        np.dtype([*value.items()])
    except (AttributeError, TypeError, ValueError):
        return False
    return True


ATTRIBUTES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "policies": (
        lambda value: isinstance(value, Mapping) and all(map(callable, value.values())),
        "a mapping from names to functions",
    ),
    "compared": (lambda value: isinstance(value, (list, tuple)), "a list of policies"),
    "columns": (_is_columns, 'a mapping from names to NumPy types, such as "f8"'),
    "report": (lambda value: isinstance(value, type), "a subclass of Report"),
}
"""Class attribute of a model -> whether a value is allowed, and what is allowed."""


class Model:
    """Everything that a run depends on except the policy and the seed: a frozen
    dataclass of parameters with the methods `resources`, `arrivals` and `job_process`.

        @dataclass(frozen=True)
        class Workshop(cg.Model):
            machines: int = 2

            def resources(self):
                return cg.slots(self.machines, "machine")

            def arrivals(self, draw):
                gaps_s = draw("gaps").exponential(60, size=100)
                return zip(gaps_s.cumsum(), range(100))

            def job_process(self, run, job):
                with run.claim(job) as claim:
                    yield claim
                    yield run.timeout(run.draw("work", job).exponential(100))

        cg.simulate(Workshop(), "first", 0).summary()

    Attributes
    ----------
    name : str
        Name in tables and messages; by default the name of the class in words.
    policies : mapping
        Name -> policy, or a function that returns a policy for given parameters.
    compared : sequence of str
        The policies that a comparison runs by default; if empty, all.
    policy_label : str
        Noun for a policy in tables and messages, such as scheduler.
    columns : mapping
        Name -> dtype of the columns that the model adds to `Run.jobs`, in the order of
        the arguments of `run.record`. Missing values are NaN, or -1 in integer columns.
    report : type
        The `Report` class of its runs.
    subject : type, optional
        The class with which studies run it; by default `studies.subject.Subject`.
    """

    policies: ClassVar[Mapping[str, Callable[..., Any]]] = {"first": first_come}
    compared: ClassVar[Sequence[str]] = ()
    policy_label: ClassVar[str] = "policy"
    columns: ClassVar[Mapping[str, str]] = {}
    report: ClassVar[type[Report]] = Report
    subject: ClassVar[Any] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        taken = [name for name in vars(Model) if not name.startswith("_")]
        parameters = _field_names(cls)
        for name in taken:
            if name in parameters or _replaces_method(cls, name):
                raise InputError(
                    f"{cls.__name__}: {name!r} is an attribute of every model; choose"
                    f" another name (taken: {', '.join(taken)})"
                )
        for name in (MOVED.keys() & vars(cls).keys()) - parameters:
            raise InputError(f"{cls.__name__}.{name} is now {MOVED[name]}")
        for name, (is_allowed, allowed) in ATTRIBUTES.items():
            value = getattr_static(cls, name)
            is_valid = isinstance(value, property) or is_allowed(value)
            require(is_valid, f"{cls.__name__}.{name}", value, allowed)

    def __getattr__(self, name: str) -> Any:
        if name == "name":
            return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(self).__name__).lower()
        new_name = (MOVED | MOVED_TO_SUBJECT).get(name)
        hint = f"; it is now {new_name}" if new_name else ""
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}{hint}"
        )

    def resources(self) -> Iterable[ResourceSpec]:
        """Return the resources to claim: `cg.slots(...)`, `cg.pools(...)`, or both."""
        raise NotImplementedError(f"{type(self).__name__} has no resources()")

    def arrivals(self, draw: Draw) -> Iterable[tuple[Any, ...]]:
        """Return the jobs in order of arrival: pairs (time, job), times in seconds.

        A third value may hold draws for the job's process (`run.hidden[job]`) that no
        policy sees, such as its true work.

        A job is a whole number, or anything hashable with a whole number `id`. All jobs
        have the same fields, which are columns of `Run.jobs`.

        draw: draw("name") is the run's random stream of that name, a NumPy Generator.
        """
        raise NotImplementedError(f"{type(self).__name__} has no arrivals()")

    def job_process(self, run: Simulation, job: Any) -> Process:
        """Simulate a job from its arrival to its end: a SimPy process."""
        raise NotImplementedError(f"{type(self).__name__} has no job_process()")

    def processes(self, run: Simulation) -> Iterable[Process]:
        """Return processes other than those of jobs, such as failures; the run does not
        wait for their end.
        """
        return ()

    def set_up(self, run: Simulation) -> None:
        """Prepare a run before anything happens: set attributes of the run that
        processes share, such as `run.licences`.
        """

    def need(self, job: Any) -> float:
        """Return the amount that a job needs, in the unit of the resources."""
        return 1

    def view(self, run: Simulation) -> Any:
        """Return what policies see of a run: an instance of View or a subclass."""
        return View(run)


def _field_names(cls: type) -> set[str]:
    """Return the names, including inherited ones, that the dataclass decorator, which
    runs after `__init_subclass__`, will turn into fields.
    """
    return {
        name
        for base in cls.__mro__
        if base is not Model
        for name, annotation in get_annotations(base).items()
        # as a string, an annotation has not been evaluated
        if not re.match(
            r"(\w+\.)?ClassVar\b",
            annotation if type(annotation) is str else repr(annotation),
        )
    }


def _replaces_method(cls: type, name: str) -> bool:
    """Return whether a non-function, such as a number, replaces a method of Model."""
    if not isfunction(vars(Model)[name]):
        return False
    value = getattr_static(cls, name)
    return not (callable(value) or isinstance(value, classmethod))
