"""HiGHS as SciPy calls it (`scipy.optimize.milp`, `linprog`): a second try where it
fails, and never a failure without a word.
"""

from __future__ import annotations

from collections.abc import Callable

import scipy

# the statuses of an answer: optimal; a limit of time or iterations was reached
SOLVED, LIMIT = 0, 1


class SolverError(RuntimeError):
    """The solver gave no answer to a program that has one."""


def tried_twice(
    solve: Callable[[bool], scipy.optimize.OptimizeResult],
) -> scipy.optimize.OptimizeResult:
    """The answer of a solver that is told whether to presolve; its status tells whether
    it is one.

    With its presolve HiGHS fails on some programs (status 4, "Solve error") that it
    solves without.
    """
    found = solve(True)
    return found if found.status in (SOLVED, LIMIT) else solve(False)
