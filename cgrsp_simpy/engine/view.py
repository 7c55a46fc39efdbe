"""The read-only view of a run that policies see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NoReturn

from cgrsp_simpy.base.checks import InputError, Renamed, shown
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.policy import AssignmentError
from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.events import job_id
from cgrsp_simpy.engine.resources import (
    TOLERANCE,
    ResourceSpec,
    ResourceSubset,
    rounded_up,
    without_noise,
)


def _refuse_change(self: Any, *_: Any, **__: Any) -> NoReturn:
    builtin = type(self).__mro__[1].__name__
    raise TypeError(f"a view is read-only: change a copy, {builtin}(...)")


def _reduce_to_builtin(self: Any) -> Any:
    """Return the reduce value: copies and pickles become an ordinary list or dict."""
    builtin = type(self).__mro__[1]
    return builtin, (builtin(self),)


class SealedList(list[Any]):
    """A read-only list.

    Reading is as fast as with the built-in type, and a copy is an ordinary list.
    Methods that change it raise TypeError. The view itself calls methods of the
    built-in type, such as `list.append(queue, job)`.
    """

    __slots__ = ()
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse_change
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse_change
    __reduce__ = _reduce_to_builtin


class SealedDict(dict[Any, Any]):
    """A read-only dict, analogous to SealedList."""

    __slots__ = ()
    clear = pop = popitem = setdefault = update = _refuse_change
    __setitem__ = __delitem__ = __ior__ = _refuse_change
    __reduce__ = _reduce_to_builtin


def read_only(path: str, doc: str | None = None) -> Any:
    """Return a property that reads a private, possibly nested attribute of the view;
    path: such as "_now_s" or "_run.declared".
    """
    return property(attrgetter(path), doc=doc or "")  # not the doc of attrgetter


class View:
    """Read-only state of a run for a policy.

    If the policy yields its answer item by item, the view includes the previous items.
    A model that shows more derives a class from it. Its hooks (`on_...`) are called by
    the engine when something happens, so that the view can keep its state up to date.
    """

    __slots__ = ("_now_s", "_numbers", "_queue", "_run")

    def __init__(self, run: Any) -> None:
        self._run, self._now_s = run, 0.0
        self._queue: tuple[Any, ...] | None = None
        # the engine knows resources by number: their position in `run.resources`
        self._numbers = {spec: number for number, spec in enumerate(run.declared)}

    now_s: float = read_only("_now_s", "The clock, seconds.")

    @property
    def queue(self) -> tuple[Any, ...]:
        """Waiting jobs, oldest first."""
        if self._queue is None:  # it has changed since it was last read
            self._queue = tuple(self._run.pending_claims)
        return self._queue

    @property
    def running(self) -> tuple[Any, ...]:
        """Jobs that hold resources, in order of their grants."""
        return tuple([claim.job for claim in self._run.granted_claims])

    resources: tuple[ResourceSpec, ...] = read_only("_run.declared", "All resources.")

    @property
    def free(self) -> ResourceSubset[ResourceSpec]:
        """Resources with free capacity, in their order."""
        return ResourceSubset(self._run.declared, self._run.mask)

    def room(self, resource: ResourceSpec) -> float:
        """Return the free amount of a resource; fractions are rounded up to nine
        decimals, so that `view.room(resource) >= view.need(job)` is a reliable test.
        """
        amount = self._run.free[self._numbers[resource]]
        return rounded_up(amount) if amount % 1 else amount

    def need(self, job: Any) -> float:
        """Return how much a job needs, in the unit of the resources."""
        need = self._run.model.need(job)
        return without_noise(need) if need % 1 else need

    # ---- called by the engine ----

    def summary(self) -> str:
        """Return a summary of the state at a decision, for listings."""
        free = f"{len(self.free)} of {len(self.resources)} free"
        return f"{len(self._run.pending_claims)} waiting, {free}"

    def parse_assignment(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        """Return number and amount of each resource that a policy assigns to a claim.

        chosen: what the policy answers for the job: a resource of this view, or several
        with amounts, `((resource, amount), ...)`. Raises AssignmentError for anything
        else, and if the amounts are not what the job needs.
        """
        need = self.need(claim.job)
        if not need > 0:
            raise InputError(
                f"need() of {self._run.model.name} must be above 0;"
                f" it is {shown(need)} for job {job_id(claim.job)}"
            )
        if type(chosen) is ResourceSpec:
            return self._whole(((self._number(chosen), need),))
        try:
            parts = tuple([(self._number(spec), amount) for spec, amount in chosen])
            total = summed(amount for _, amount in parts)
            least = min(amount for _, amount in parts)
        except (TypeError, ValueError):
            raise AssignmentError(
                f"{shown(chosen)}, which is not a resource of the view"
            ) from None
        if not least > 0:
            raise AssignmentError(f"{shown(chosen)}, in which an amount is not above 0")
        if not math.isclose(total, need, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            raise AssignmentError(f"{total:g} in total; the job needs {need:g}")
        return self._whole(parts)

    def _whole(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Return the parts; AssignmentError for a slot that is assigned in part."""
        for number, amount in parts:
            spec = self._run.declared[number]
            if amount != 1 and not spec.unit:
                raise AssignmentError(
                    f"{spec.label} {spec.index}, which is assigned to one job as"
                    f" a whole; the job needs {amount:g}"
                )
        return parts

    def _number(self, spec: Any) -> int:
        """Return the number of a resource; AssignmentError for other objects."""
        number = self._numbers.get(spec) if type(spec) is ResourceSpec else None
        if number is None:
            raise AssignmentError(f"{shown(spec)}, which is not a resource of the view")
        return number

    def on_decision(self, now_s: float) -> None:
        """Called when a decision begins."""
        self._now_s = now_s

    def on_enqueue(self, job: Any) -> None:
        """Called when a job starts to wait."""
        self._queue = None

    def on_dequeue(self, job: Any) -> None:
        """Called when a job no longer waits."""
        self._queue = None

    def on_full(self, number: int) -> None:
        """Called when a resource has no free capacity any more."""

    def on_available(self, number: int) -> None:
        """Called when a resource has free capacity again."""

    def on_release(self, claim: Claim) -> None:
        """Called when a job has released its resources."""

    places = Renamed("view.resources")


def first_come(view: Any) -> Any:
    """Serve jobs in order of arrival, each on the first resource with enough room.

    A job that does not fit blocks the jobs behind it.
    """
    for job in view.queue:
        need = view.need(job)
        fitting = (resource for resource in view.free if view.room(resource) >= need)
        resource = next(fitting, None)
        if resource is None:
            return
        yield job, resource
