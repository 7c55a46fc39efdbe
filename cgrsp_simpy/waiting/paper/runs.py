"""The runs behind the figures of waiting-policies.txt, and the workload of Figures 15 to 22."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.model.checks import InputError, require
from cgrsp_simpy.model.table import half
from cgrsp_simpy.plots.figure import Row
from cgrsp_simpy.studies.replicate import Replications, replicate
from cgrsp_simpy.studies.replicate import Runs as Done
from cgrsp_simpy.waiting.jobs import BurstyJobs, Chunk, ExponentialJobs, ListedJobs
from cgrsp_simpy.waiting.machines import M5, PAPER_PRICES, Size, rent_per_h
from cgrsp_simpy.waiting.policies import (
    POLICIES,
    Mispredictions,
    WaitingPolicy,
    waiting_policy,
)
from cgrsp_simpy.waiting.scenario import Scenario
from cgrsp_simpy.waiting.tally import of_trials

log = logging.getLogger(__name__)
Batches = dict[str, list[float]]  # figure -> of the whole run first, then of each batch
# the name of a line, where on the x axis, and what is simulated there
Point = tuple[str, float, Scenario]

RATE_PER_S, SERVICE_S = 0.2, 500.0  # lambda and 1 / mu of Figures 2 to 14 (Section 3.1)
ERRORS_SHARE = 4  # times as many jobs where small errors are to be told from noise
SJF_SHARE, WORKLOAD_SHARE = 1 / 16, 3 / 20  # of the jobs, for the simulations that are slower

# the generated workload comes at a fortieth of the rate of Section 6.1, to be met by a fortieth of
# the 225 machines
SCALE = 40
CLUSTER_RATE_PER_S = 0.4527
PATIENCE_S, SHORT_S = 86_400.0, 180.0  # b and t of Section 6.2
MACHINE = M5[-1]

METRICS = {  # column of the rows -> figure of a run, and what it is divided by
    "normalized_price": ("price", PAPER_PRICES.on_demand),
    "last_utilisation": ("cost_per_h", 1.0),
    "wait_s": ("wait_s", 1.0),
    "wait_h": ("wait_s", 3600.0),
    "opportunity_cents": ("opportunity", 1.0),
}


GENERATED = f"generated bursty jobs, not a log, at 1/{SCALE} of the paper's cluster"


WAIT_OVER, WAIT_UNDER = (0.0, 0.01, 0.03, 0.05, 0.1, 0.2), (0.0, 0.25, 0.5, 0.75, 1.0)
RUN_ERRORS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
HOURS = ("normalized_price", "wait_h", "opportunity_cents")


class Runs:
    """What simulation says of scenarios, each run once.

    jobs: of a trial of Figures 2 to 13; "errors" has up to 4 times as many, Figure 14 a 16th,
    Figures 15 to 22 have 3 of 20. trials: of all but Figures 15 to 22, which have one, with
    intervals from batch means. trace: jobs for Figures 15 to 22 in place of generated ones.
    """

    def __init__(
        self,
        jobs: int = 400_000,
        trials: int = 5,
        trace: ListedJobs | None = None,
        executor: Executor | int | None = None,
    ) -> None:
        self.trials, self.trace, self.executor = trials, trace, executor
        self.exponential = ExponentialJobs(jobs, RATE_PER_S, SERVICE_S)
        self.more = replace(self.exponential, jobs=jobs * ERRORS_SHARE)
        self.fewer = replace(self.exponential, jobs=math.ceil(jobs * SJF_SHARE))
        self.source = trace or BurstyJobs(
            math.ceil(jobs * WORKLOAD_SHARE), rate_per_s=CLUSTER_RATE_PER_S / SCALE
        )
        self._known: dict[Scenario, list[Batches]] = {}

    def of(self, scenarios: Sequence[Scenario]) -> list[list[Batches]]:
        """The figures of each trial of each scenario, whole and by batch."""
        seeds = {
            scenario: range(1 if scenario.shared else self.trials)
            for scenario in scenarios
            if scenario not in self._known
        }
        wanted = [Replications(scenario, [scenario.policy], own) for scenario, own in seeds.items()]
        done = replicate(wanted, self.executor)
        for scenario, own in seeds.items():
            self._known[scenario] = [_figures(done, scenario, seed) for seed in own]
        return [self._known[scenario] for scenario in scenarios]

    @property
    def told(self) -> str:
        """The jobs of Figures 15 to 22."""
        return GENERATED if self.trace is None else f"log {self.trace.name}"

    @cached_property
    def workload(self) -> Workload:
        """The jobs of Figures 15 to 22, and the machines that suit them."""
        return Workload(self.source)

    def rows(self, points: Sequence[Point], x: str, metrics: Sequence[str]) -> list[Row]:
        """A row a point: means over the trials, of one trial from its batches. x: the name of its
        column.
        """
        found = []
        for (line, place, _), trials in zip(points, self.of([each for *_, each in points])):
            row: Row = {"line": line, "from": "simulation", x: place}
            figures = of_trials(trials)
            for metric in metrics:
                figure, unit = METRICS[metric]
                row |= with_half(metric, figures[figure], unit)
            found.append(row)
        return found


def _figures(done: Done, scenario: Scenario, seed: int) -> Batches:
    """What was kept of a run. Raises InputError for one that failed."""
    outcome: Batches | str = done.outcome(scenario, scenario.policy, seed)
    if isinstance(outcome, str):
        raise InputError(outcome.removeprefix("InputError: "))
    return outcome


def with_half(metric: str, value: Mean, unit: float) -> Row:
    """A metric with the half width of its interval."""
    return {metric: value.mean / unit, half(metric): value.half_width / unit}


def mistaken(
    policy: WaitingPolicy, kind: str, share: float
) -> tuple[str, WaitingPolicy, Mispredictions]:
    """A name, a policy, and its mispredicted waits. kind: over or under."""
    return f"{100 * share:g} %", policy, Mispredictions(**{f"wait_{kind}": share})


def run_errors(scenario: Callable[[Mispredictions], Scenario]) -> list[Point]:
    """The policy ljw by shares of mispredicted running times."""
    return [
        (f"{kind}-predictions", 100 * share, scenario(Mispredictions(**{f"run_{kind}": share})))
        for kind in ("over", "under")
        for share in RUN_ERRORS
    ]


class Workload:
    """Jobs, and the numbers of fixed machines to try for them.

    source: the jobs. columns: theirs. load: fixed machines that could be rented for what renting
    for all jobs costs, until the last submission, or for a log until all jobs can have ended.
    machines: numbers to try. ample: the number of Figure 22, as ample as the paper's 200 machines
    are for a load of 150. policies: the six with the paper's b and t; without ajw if some job fits
    on no fixed machine, and rents several at a time.
    """

    def __init__(self, source: BurstyJobs | ListedJobs) -> None:
        self.source = source
        self.columns = Chunk(*(np.concatenate(column) for column in zip(*source.chunks(0))))
        submit_s, run_s, cores, memory_gb = self.columns
        require(
            len(run_s) > 1 and float(run_s.max()) > 0,
            "jobs of the workload",
            len(run_s),
            "at least 2, and not all of no running time",
        )
        self.policies = {name: waiting_policy(name, PATIENCE_S, SHORT_S) for name in POLICIES}
        largest = math.ceil(max(cores.max() / MACHINE.cores, memory_gb.max() / MACHINE.memory_gb))
        self.sizes = (*M5, *map(_several, range(2, largest + 1)))
        if largest > 1:
            del self.policies["ajw"]
            log.warning(
                "ajw is left out: some job fits on no %s, and under ajw every job waits for one",
                MACHINE.name,
            )
        rent = float(rent_per_h(cores, memory_gb, self.sizes) @ run_s)
        last_s = np.max(submit_s + run_s) if isinstance(source, ListedJobs) else submit_s[-1]
        self.load = rent / MACHINE.price_per_h / float(last_s - submit_s[0])
        self.machines, self.ample = tuple(range(2, 10)), 200 // SCALE
        if isinstance(source, ListedJobs):
            self.machines = tuple(
                sorted(
                    {
                        max(1, round(self.load * share))
                        for share in np.linspace(0.5, 2.4, 8).tolist()
                    }
                )
            )
            self.ample = math.floor(self.load * 200 / 150) + 1

    def scenario(self, policy: WaitingPolicy, machines: int, **more: Any) -> Scenario:
        """The jobs under a policy on a number of machines. more: as of a Scenario."""
        return Scenario(self.source, policy, (MACHINE,) * machines, sizes=self.sizes, **more)

    def points(self, line: str, policy: WaitingPolicy, **more: Any) -> list[Point]:
        """A mark for each number of machines; where no wait is limited, for those that
        can do the work.
        """
        fewest = self.load if policy.wait_s == math.inf else 0
        return [
            (line, number, self.scenario(policy, number, **more))
            for number in self.machines
            if number >= fewest
        ]

    def cheapest(self, runs: Runs) -> int:
        """The number of machines that minimises the compound policy's price in Figure 16."""
        points = self.points("compound", self.policies["compound"])
        prices = [row["normalized_price"] for row in runs.rows(points, "machines", HOURS)]
        return min(zip(prices, self.machines))[1]


def _several(number: int) -> Size:
    """Several of the largest machines at a time."""
    return Size(
        f"{number} {MACHINE.name}",
        number * MACHINE.cores,
        number * MACHINE.memory_gb,
        number * MACHINE.price_per_h,
    )
