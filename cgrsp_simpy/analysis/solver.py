"""HiGHS as called by SciPy (`milp`, `linprog`), with a second try and clear errors."""

from __future__ import annotations

from collections.abc import Callable

import scipy

# statuses with a solution: optimal; a limit of time or iterations was reached
SOLVED, LIMIT = 0, 1


class SolverError(RuntimeError):
    """The solver failed on a program that has a solution."""


def tried_twice(
    solve: Callable[[bool], scipy.optimize.OptimizeResult],
) -> scipy.optimize.OptimizeResult:
    """Call a solver with presolve and, if it fails, without; check the result's status.

    HiGHS fails on some programs (status 4, "Solve error") with its presolve only.
    """
    result = solve(True)
    return result if result.status in (SOLVED, LIMIT) else solve(False)
