"""What a policy sees at a decision, unless a model shows more; read only, as are the
lists and dicts in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NoReturn, TypeVar

from cgrsp_simpy.base.checks import InputError, Renamed
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

Kind = TypeVar("Kind", bound=type)


def _sealed(*names: str) -> Callable[[Kind], Kind]:
    """Refuse the methods that change; who keeps it true calls those of the built-in
    type, `list.append(view.queue, job)`.
    """

    def refused(self: Any, *_: Any, **__: Any) -> NoReturn:
        plain = type(self).__mro__[1].__name__
        raise TypeError(f"a view is read only: change a copy, {plain}(...)")

    def plain(self: Any) -> Any:
        kind = type(self)
        return kind, (kind.__mro__[1](self),)

    def seal(kind: Kind) -> Kind:
        kind.__reduce__ = plain  # type: ignore[assignment]  # copies are made at once
        for name in names:
            setattr(kind, name, refused)
        return kind

    return seal


@_sealed(
    *"append extend insert remove pop clear sort reverse".split(),
    *"__setitem__ __delitem__ __iadd__ __imul__".split(),
)
class SealedList(list[Any]):
    """A list that is read at the speed of one."""

    __slots__ = ()


@_sealed(
    *"clear pop popitem setdefault update __setitem__ __delitem__ __ior__".split(),
)
class SealedDict(dict[Any, Any]):
    """A dict that is read at the speed of one."""

    __slots__ = ()


def shown(name: str, doc: str | None = None) -> Any:
    """A property that shows an attribute of a view, or one of its parts "_a.b"."""
    return property(attrgetter(name), doc=doc)


class View:
    """The moment of a decision, read only: one a run, which shows what is so now, the
    grants of the answer so far included.

    A model that shows more derives from it, and overrides those of the methods after
    `need` by which the engine tells what happens.
    """

    __slots__ = ("_now_s", "_numbers", "_queue", "_run")

    def __init__(self, run: Any) -> None:
        self._run, self._now_s = run, 0.0
        self._queue: tuple[Any, ...] | None = None
        self._numbers = {place: number for number, place in enumerate(run.declared)}

    places = Renamed("view.resources")

    now_s: float = shown("_now_s", "The clock, seconds.")

    @property
    def queue(self) -> tuple[Any, ...]:
        """The jobs that wait, oldest first."""
        if self._queue is None:
            self._queue = tuple(self._run.pending_claims)
        return self._queue

    @property
    def running(self) -> tuple[Any, ...]:
        """The jobs that hold places, in order of their grants."""
        return tuple([claim.job for claim in self._run.granted_claims])

    resources: tuple[ResourceSpec, ...] = shown("_run.declared", "All places.")

    @property
    def free(self) -> ResourceSubset[ResourceSpec]:
        """The places that have something free, in their order."""
        return ResourceSubset(self._run.declared, self._run.mask)

    def room(self, place: ResourceSpec) -> float:
        """How much of a place is free; a fraction is rounded up, to nine decimals."""
        left = self._run.free[self._numbers[place]]
        return rounded_up(left) if left % 1 else left

    def need(self, job: Any) -> float:
        """How much of a place a job needs."""
        need = self._run.model.need(job)
        return without_noise(need) if need % 1 else need

    # ---- what the engine asks and tells ----

    def summary(self) -> str:
        """What a listing says of a decision."""
        free = f"{len(self.free)} of {len(self.resources)} free"
        return f"{len(self._run.pending_claims)} waiting, {free}"

    def parse_assignment(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        """The places, by number and amount, that a policy means by an answer: a place
        of this view, or several with an amount each, `((place, amount), ...)`.

        Raises AssignmentError if it means none.
        """
        need = self._run.model.need(claim.job)
        if need % 1:
            need = without_noise(need)
        if not need > 0:
            raise InputError(
                f"need() of {self._run.model.name} must be above 0;"
                f" it is {need!r} for job {job_id(claim.job)}"
            )
        if type(chosen) is ResourceSpec:
            return self._whole(((self._number(chosen), need),))
        try:
            parts = tuple([(self._number(place), amount) for place, amount in chosen])
            total = summed(each[1] for each in parts)
            least = min(each[1] for each in parts)
        except (TypeError, ValueError):
            raise AssignmentError(
                f"{chosen!r}, which is no place of the view"
            ) from None
        if not least > 0:
            raise AssignmentError(f"{chosen!r}, of which an amount is not above 0")
        if not abs(total - need) <= TOLERANCE * max(need, 1.0):
            raise AssignmentError(f"{total:g} in all; it needs {need:g}")
        return self._whole(parts)

    def _whole(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Return the parts; AssignmentError for a slot not taken as a whole."""
        for number, amount in parts:
            place = self._run.declared[number]
            if amount != 1 and not place.unit:
                raise AssignmentError(
                    f"{place.label} {place.index}, which one job holds as a whole;"
                    f" it needs {amount:g}"
                )
        return parts

    def _number(self, place: Any) -> int:
        number = self._numbers.get(place) if type(place) is ResourceSpec else None
        if number is None:
            raise AssignmentError(f"{place!r}, which is no place of the view")
        return number

    def on_decision(self, now_s: float) -> None:
        """A decision begins."""
        self._now_s = now_s

    def on_enqueue(self, job: Any) -> None:
        """A job waits."""
        self._queue = None

    def on_dequeue(self, job: Any) -> None:
        """A job waits no longer."""
        self._queue = None

    def on_full(self, number: int) -> None:
        """Nothing is left of a place: it is granted, or down."""

    def on_available(self, number: int) -> None:
        """Something of a place is free again."""

    def on_release(self, claim: Claim) -> None:
        """A job has left its places."""


def first_come(view: Any) -> Any:
    """First come, first served, on the first place with room; nobody overtakes."""
    for job in view.queue:
        need = view.need(job)
        place = next((each for each in view.free if view.room(each) >= need), None)
        if place is None:
            return
        yield job, place
