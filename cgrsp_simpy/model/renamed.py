"""Names of the last release."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any


def renamed(module: Mapping[str, Any], names: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` of a module, by which names of the last release are those of today, with a
    warning.
    """
    own = module["__name__"]

    def getattr_(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {own!r} has no attribute {name!r}")
        told = f"{own}.{name} is called {own}.{names[name]} now"
        warnings.warn(told, DeprecationWarning, stacklevel=2)
        return module[names[name]]

    return getattr_
