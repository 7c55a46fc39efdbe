"""The runs behind the figures of GPU clusters, each made once."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import cached_property

from cgrsp_simpy.cluster.jobs import Offered
from cgrsp_simpy.cluster.paper import table
from cgrsp_simpy.cluster.policies import SCHEDULERS
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.model.checks import check_whole
from cgrsp_simpy.studies.compare import Comparison, compare

LOAD = 0.9  # of the figures that show one load


class Runs:
    """Runs that figures share, each made once. seeds: how many, from 0. jobs: of each run."""

    def __init__(
        self, seeds: int = 10, jobs: int = 1000, executor: Executor | int | None = None
    ) -> None:
        check_whole("seeds", seeds, least=1)
        check_whole("jobs", jobs, least=2)
        self.seeds, self.jobs, self.executor = seeds, jobs, executor
        self._runs: dict[str, Run] = {}

    @cached_property
    def compared(self) -> Comparison:
        """All schedulers at one load."""
        return compare(
            Scenario(Offered(jobs=self.jobs, load=LOAD)),
            tuple(name for name in SCHEDULERS if name != "multifactor"),  # that is for logs
            range(self.seeds),
            self.executor,
        )

    @cached_property
    def tabled(self) -> dict[float, Comparison]:
        """The paper's schedulers at each load; at LOAD the others as well."""
        others = [load for load in table.LOADS if load != LOAD]
        found = table.studies(others, range(self.seeds), self.jobs, self.executor) | {
            LOAD: self.compared
        }
        return {load: found[load] for load in table.LOADS}

    def run(self, scheduler: str) -> Run:
        """A run of seed 0."""
        if scheduler not in self._runs:
            self._runs[scheduler] = one_run(scheduler, self.jobs, 0)
        return self._runs[scheduler]


def one_run(scheduler: str, jobs: int, seed: int) -> Run:
    """A run at one load."""
    run: Run = Scenario(Offered(jobs=jobs, load=LOAD)).run(scheduler, seed)
    return run
