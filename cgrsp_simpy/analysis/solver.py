"""Calls of HiGHS through SciPy (`milp`, `linprog`), with a retry and clear errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import scipy

# statuses with a solution: optimal; a limit of time or iterations was reached
SOLVED, LIMIT = 0, 1


class SolverError(RuntimeError):
    """Error for a failure of the solver on a program that has a solution."""


def tried_twice(
    solve: Callable[[bool], scipy.optimize.OptimizeResult],
) -> scipy.optimize.OptimizeResult:
    """Call a solver with presolve and, if it fails, without presolve.

    HiGHS fails on some programs (status 4, "Solve error") only with presolve.
    """
    result = solve(True)
    return result if result.status in (SOLVED, LIMIT) else solve(False)
