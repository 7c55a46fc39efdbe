"""Service times: realised over mean execution time, by complexity."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.model.checks import check_number, check_one_of, entries_of, require

DISTRIBUTIONS = ("lognormal", "exponential")  # laws of the service factors


@dataclass(frozen=True)
class Service:
    """The law of a job's realised over mean execution time; the mean of this factor is 1.

    The default is the calibrated reading of thesis Remark 1, which prints the range 0.04 to 0.23
    and the pooled value 0.11.

    Parameters
    ----------
    distribution : str
        "lognormal" (thesis Eq. 3.12) or "exponential".
    sigma : tuple of float
        Standard deviation of the log by complexity 1, 2, ..., >= 0; 0 gives deterministic times.
        Unused by "exponential".
    """

    distribution: str = "lognormal"
    sigma: tuple[float, ...] = (0.04, 0.11, 0.23)

    def __post_init__(self) -> None:
        check_one_of("service distribution", self.distribution, DISTRIBUTIONS)
        object.__setattr__(
            self,
            "sigma",
            entries_of("sigma", self.sigma, "a list of numbers, one a complexity level"),
        )
        require(len(self.sigma) > 0, "sigma", self.sigma, "one number a complexity level")
        for sigma in self.sigma:
            check_number("sigma", sigma, least=0)

    def factors(self, generator: Generator, complexity: np.ndarray) -> list[float]:
        """Realised over mean execution times, one factor a job.

        generator: of the random numbers. complexity: of shape (jobs,), whole numbers from 1.
        Result: in the order of `complexity`. Thesis Eq. 3.12.
        """
        if self.distribution == "exponential":
            drawn: list[float] = generator.standard_exponential(len(complexity)).tolist()
            return drawn
        sigma = np.asarray(self.sigma)[complexity - 1]
        # mean preserved, thesis Eq. 3.12
        logs = generator.standard_normal(len(complexity)) * sigma - 0.5 * sigma**2
        # math.exp: np.exp differs in the last bit between processors
        return [math.exp(log) for log in logs.tolist()]
