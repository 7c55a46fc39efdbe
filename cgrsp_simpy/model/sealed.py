"""Lists, dicts and sets that a policy can read and cannot change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

Kind = TypeVar("Kind", bound=type)


def _sealed(*names: str) -> Callable[[Kind], Kind]:
    """Refuse the methods that change; who keeps it true calls those of the built-in type,
    `list.append(view.queue, job)`.
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
