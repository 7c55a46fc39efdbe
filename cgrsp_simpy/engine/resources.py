"""Declarations of resources, as policies see them, and the SimPy resources that a run
creates from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import simpy
from simpy.resources.container import ContainerGet, ContainerPut
from simpy.resources.resource import Request

from cgrsp_simpy.base.checks import (
    InputError,
    check_number,
    check_whole,
    entries_of,
    require,
)

Item = TypeVar("Item", covariant=True)

DECIMALS = 9
TOLERANCE = 10.0**-DECIMALS
"""Amounts that differ by less are equal: sums of fractions have rounding errors."""


def snapped(amount: float, size: float) -> float:
    """Round the free amount of a resource to exactly 0 or its size if it differs only
    by rounding errors.

    The tolerance grows with the size, as rounding errors do, but stays far below 1, so
    that whole amounts are exact.
    """
    tolerance = TOLERANCE * min(max(size, 1.0), 1e6)
    for exact in (0.0, size):
        if abs(amount - exact) <= tolerance:
            return exact
    return amount


def rounded_up(amount: float) -> float:
    """Round a free amount up to nine decimals for the test `free >= need`, so that no
    rounding error makes it too small.
    """
    scale = 10.0**DECIMALS
    # 1e-3: a rounding error above a decimal does not lead to the next decimal
    return max(amount, math.ceil(amount * scale - 1e-3) / scale)


def without_noise(amount: float) -> float:
    """Remove the rounding error from a needed amount: 0.3 for 0.1 + 0.2."""
    rounded = round(amount, DECIMALS)
    return rounded if abs(rounded - amount) < TOLERANCE / 1000 else amount


@dataclass(frozen=True, slots=True, eq=False)
class ResourceSpec:
    """Declaration of a resource by a model, as policies see it.

    Attributes
    ----------
    index : int
        Its number in listings and messages; the pools of one machine, such as cores and
        memory, share an index. The engine identifies resources by position.
    label : str
        Noun for the resource, such as slot, node, machine.
    size : float
        Its capacity; 1 if one job uses it as a whole.
    unit : str
        Unit of `size`, such as GPUs; "" for a slot.
    kind : Any
        Kind, such as its GPU type.
    """

    index: int
    label: str = "slot"
    size: float = 1
    unit: str = ""
    kind: Any = None

    def resource(self, env: simpy.Environment) -> Resource:
        """Return a SimPy resource for a run."""
        return Pool(env, self) if self.unit else Slot(env, self)


def slots(
    kinds: int | Iterable[Any], label: str = "slot", first: int = 0
) -> tuple[ResourceSpec, ...]:
    """Return resources that are each held by one job at a time.

    kinds: their number, or a list with the kind of each, such as its GPU type. first:
    index of the first. Raises InputError if there are none.
    """
    if not isinstance(kinds, Iterable):
        check_whole(f"number of {label}s", kinds, least=1)
        kinds = [None] * kinds
    listed = list(kinds)
    require(len(listed) > 0, f"{label}s", listed, "at least one")
    return tuple(
        ResourceSpec(index, label, kind=kind)
        for index, kind in enumerate(listed, first)
    )


def pools(
    sizes: Iterable[float], label: str = "node", unit: str = "units", first: int = 0
) -> tuple[ResourceSpec, ...]:
    """Return resources that several jobs share, each holding an amount.

    sizes: per resource, its capacity in the unit, at least 0. first: index of the
    first. Raises InputError for an invalid size.
    """
    listed = entries_of("sizes", sizes, "a list of numbers, one per resource")
    for size in listed:
        check_number(f"size of a {label}", size, least=0)
    return tuple(
        ResourceSpec(index, label, size, unit)
        for index, size in enumerate(listed, first)
    )


def lowest_bit(mask: int) -> int:
    """Return the number of the lowest set bit of a positive mask."""
    return (mask & -mask).bit_length() - 1  # mask & -mask has that bit alone


def nth_bit(mask: int, skipped: int) -> int:
    """Return the number of the lowest set bit after skipping a number of set bits.

    Binary search: for many resources, that is faster than skipping bit by bit.
    """
    below, width = 0, mask.bit_length() * (skipped > 0)
    while width > 1:
        half = width // 2
        low = mask & (1 << half) - 1
        count = low.bit_count()
        if skipped < count:
            mask, width = low, half
        else:
            mask = mask >> half
            width = width - half
            below = below + half
            skipped = skipped - count
    return below + lowest_bit(mask)


class ResourceSubset(Sequence[Item]):
    """Read-only sequence of some of a run's resources, in order, at one time. It is
    stored as a mask, since policies rarely read all of them.

    declared: all resources. mask: bit n is set if declared[n] is in the subset.
    """

    __slots__ = ("_declared", "_mask")

    def __init__(self, declared: Sequence[Item], mask: int) -> None:
        self._declared, self._mask = declared, mask

    def __len__(self) -> int:
        return self._mask.bit_count()

    def __iter__(self) -> Iterator[Item]:
        mask, declared = self._mask, self._declared
        while mask:
            yield declared[lowest_bit(mask)]
            mask &= mask - 1  # without its lowest bit

    @overload
    def __getitem__(self, key: int) -> Item: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, key: int | slice) -> Item | tuple[Item, ...]:
        if isinstance(key, slice):
            return tuple(self)[key]
        # a range interprets negative keys, and raises IndexError
        return self._declared[nth_bit(self._mask, range(len(self))[key])]

    def __repr__(self) -> str:
        return repr(tuple(self))


def grant_now(event: simpy.Event) -> None:
    """Make an event happen now: a process that yields it continues at once.

    A claim is granted before its job requests the resources, so a request never waits;
    an entry in the event list would only cost time.
    """
    event._ok, event._value = True, None
    # as SimPy marks an event that has happened
    event.callbacks = None  # type: ignore[assignment]


def not_granted(resource: Resource) -> InputError:
    """Return the error for a request without a granted claim."""
    return InputError(
        f"{resource.label} {resource.index} is requested without a grant:"
        " `with run.claim(job) as claim: yield claim`, and then"
        " `with claim.request() as turn: yield turn`"
    )


class Slot(simpy.Resource):
    """A resource that one job uses at a time: a GPU slot or a whole machine.

    filled_by: the claim to which the slot is granted; None if there is none.
    """

    filled_by: Any = None

    def __init__(self, env: simpy.Environment, spec: ResourceSpec) -> None:
        super().__init__(env, capacity=1)
        self.index, self.label, self.kind = spec.index, spec.label, spec.kind
        self.size, self.unit = spec.size, spec.unit

    def shortage(self, free: float, amount: float) -> str:
        """Return why an amount cannot be granted."""
        return f"{self.label} {self.index}, which is busy or already assigned"

    def request(self, amount: float = 1) -> Request:
        """Request the granted slot; amount: always 1."""
        return SlotRequest(self)

    def release(self, request: Request) -> None:  # type: ignore[override]
        """Release a request without SimPy's event, for which no process waits.

        A second release has no effect.
        """
        if request in self.users:
            self.users.remove(request)

    def _trigger_put(self, event: Any) -> None:
        # SimPy calls this to grant what it can of the requests that wait: that is only
        # the new one, since it is granted at once
        if self.filled_by is None or self.users:
            raise not_granted(self)
        request = self.put_queue.pop()
        self.users.append(request)
        request.usage_since = self._env._now
        grant_now(request)


class SlotRequest(Request):
    """SimPy's request of a slot."""

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        # skipped if a finished run discards its processes
        if kind is not GeneratorExit:
            self.resource.release(self)


class Pool(simpy.Container):
    """A resource that jobs share by amounts: GPUs of a node, memory of a machine.

    filled_by: the claim whose grant left no capacity free; None if some is free. users:
    the requests that hold amounts.
    """

    filled_by: Any = None

    def __init__(self, env: simpy.Environment, spec: ResourceSpec) -> None:
        # SimPy requires a capacity above 0; of a pool of size 0, the level is 0
        super().__init__(env, capacity=spec.size or 1.0, init=spec.size)
        self.users: list[PoolRequest] = []
        self.index, self.label, self.kind = spec.index, spec.label, spec.kind
        self.size, self.unit = spec.size, spec.unit

    def shortage(self, free: float, amount: float) -> str:
        """Return why an amount cannot be granted."""
        return (
            f"{self.label} {self.index}, which has {free:g} {self.unit} free; the"
            f" job needs {amount:g}"
        )

    def request(self, amount: float) -> PoolRequest:
        """Request an amount that has been granted."""
        request = PoolRequest(self, amount)
        self.users.append(request)
        return request

    def release(self, request: PoolRequest) -> None:
        """Release a request; a second release has no effect."""
        if request in self.users:
            self.users.remove(request)
            self.put(request.amount)

    def _do_get(self, event: ContainerGet) -> bool:
        level = snapped(self._level - event.amount, self.size)
        if level < 0:
            raise not_granted(self)
        self._level = level
        grant_now(event)
        return True

    def _do_put(self, event: ContainerPut) -> bool:
        self._level = snapped(self._level + event.amount, self.size)
        grant_now(event)
        return True


class PoolRequest(ContainerGet):
    """SimPy's request of an amount of a pool."""

    resource: Pool

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind is not GeneratorExit:
            self.resource.release(self)


Resource = Slot | Pool  # a resource in a run
