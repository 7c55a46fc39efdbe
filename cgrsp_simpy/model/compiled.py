"""Inner loops, compiled where the extra `fast` (numba) is there.

Its arrays are lists where it is not, so that the same lines run both ways, with the same result to
the bit. numba takes a second to load: a module imports this file where it computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

try:
    import numba
except ImportError:
    COMPILED = False
else:
    COMPILED = not numba.config.DISABLE_JIT


def compiled(function: F) -> F:
    """The function, compiled if numba is there; fastmath stays off, for equal bits."""
    return cast(F, numba.njit(cache=True)(function)) if COMPILED else function


def rows_of(array: np.ndarray[Any, Any]) -> Any:
    """An array as the functions here have it: lists, which plain Python reads faster, unless they
    are compiled.
    """
    return array if COMPILED else array.tolist()
