"""Inner loops, compiled if the extra `fast` (numba) is installed.

Without it, lists replace arrays, and the same code returns identical results. Importing
numba takes a second, so modules import this file only when they compute.
"""

from __future__ import annotations

import bisect as plain
import logging
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
log = logging.getLogger(__name__)

try:
    import numba
except ImportError:
    COMPILED = False
else:
    COMPILED = not numba.config.DISABLE_JIT

ask: Any = None  # the call of a rule, if there is a compiler

if COMPILED:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, overload

    RULE = types.void(*[types.CPointer(types.float64)] * 3)
    """Of a rule: its figures, its parameters, its answer."""

    @intrinsic  # type: ignore[untyped-decorator]
    def _ask(_: Any, address: Any, figures: Any, parameters: Any, answer: Any) -> Any:
        """Call the compiled rule at a memory address."""

        def build(target: Any, builder: Any, signature: Any, values: Any) -> Any:
            pointer = ir.DoubleType().as_pointer()
            rule = ir.FunctionType(ir.VoidType(), [pointer] * 3).as_pointer()
            arrays = [
                target.make_array(kind)(target, builder, value)
                for kind, value in zip(signature.args[1:], values[1:])
            ]
            data = [builder.bitcast(array.data, pointer) for array in arrays]
            builder.call(builder.inttoptr(values[0], rule), data)
            return target.get_dummy_value()

        return types.none(address, figures, parameters, answer), build

    ask = _ask


def cached(
    function: Callable[..., Any], decorator: Any, *signature: Any, **options: Any
) -> Any:
    """Compile a function with a numba decorator, cached on disk if possible."""
    try:
        return decorator(*signature, cache=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
    _report_no_cache()
    return decorator(*signature, **options)(function)


@cache
def _report_no_cache() -> None:
    """Log, once per process, that compiled code is not cached."""
    log.info(
        "numba cannot write a cache, so each process compiles the code again; set"
        " the environment variable NUMBA_CACHE_DIR to a writable folder"
    )


def compiled(function: F) -> F:
    """Compile a function if possible, without fastmath, so that results are equal."""
    return cast(F, cached(function, numba.njit)) if COMPILED else function


# options of functions called by compiled code only: without the Python wrapper, which
# takes most of the compilation time
CALLEE = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def standalone(function: F) -> F:
    """Like `compiled`, for functions that allocate no memory."""
    return cast(F, cached(function, numba.njit, _nrt=False)) if COMPILED else function


def inlined(function: F) -> F:
    """Like `standalone`, but inlined; for functions called only by such functions."""
    how = {"forceinline": True, **CALLEE}
    return cast(F, cached(function, numba.njit, **how)) if COMPILED else function


def cache_folder(function: Any) -> Path | None:
    """Return the folder in which numba caches a compiled function, or None."""
    path = function.stats.cache_path
    return path and Path(path)


def rows_of(array: np.ndarray[Any, Any]) -> Any:
    """Convert an array for these functions: to a list, unless they are compiled."""
    return array if COMPILED else array.tolist()


def called(function: Any, implementation: Any = None) -> None:
    """Let compiled code call a Python function, or its implementation if given."""
    if COMPILED:
        overload(function, jit_options=CALLEE, strict=False)(
            lambda *_: implementation or function
        )


def forget(folder: Path, files: Iterable[Any], modules: Iterable[Any]) -> None:
    """Remove cached code of `files` that is older than any of the modules it calls."""
    changed_s = max(Path(module.__file__).stat().st_mtime for module in modules)
    for module in files:
        for index in folder.glob(f"{Path(module.__file__).stem}.*.nbi"):
            with suppress(OSError):  # another process has, or nobody may
                if index.stat().st_mtime < changed_s:
                    index.unlink()


@inlined
def bisect(
    row: np.ndarray[Any, Any], value: float, low: int, high: int, after: bool
) -> int:
    """Return `bisect_left` within row[low:high]; `bisect_right` if `after`."""
    middle = high - 1  # behind all, most often
    while low < high:
        if row[middle] < value or (after and row[middle] == value):
            low = middle + 1
        else:
            high = middle
        middle = (low + high) >> 1
    return low


called(math.nextafter, lambda x, y: np.nextafter(x, y))
called(
    plain.bisect_left,
    lambda row, value, low, high: bisect(row, value, low, high, False),
)
called(
    plain.bisect_right,
    lambda row, value, low, high: bisect(row, value, low, high, True),
)
