"""The runs behind the figures of waiting-policies.txt, and the workload of Figures 15 to 22."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
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
from cgrsp_simpy.waiting.jobs import BurstyJobs, Chunk, ExponentialJobs, ListedJobs
from cgrsp_simpy.waiting.machines import M5, PAPER_PRICES, rented
from cgrsp_simpy.waiting.policies import NO_ERRORS, POLICIES, WaitingPolicy, waiting_policy
from cgrsp_simpy.waiting.scenario import Scenario
from cgrsp_simpy.waiting.tally import of_trials

log = logging.getLogger(__name__)
Batches = dict[str, list[float]]  # figure -> of the whole run first, then of each batch
# the name of a line, where on the x axis, and what is simulated there
Point = tuple[str, float, Scenario]

RATE_PER_S, SERVICE_S = 0.2, 500.0  # lambda and 1 / mu of Figures 2 to 14 (Section 3.1)
# Figures 15 to 22: the rate of the paper's year (Section 6.1); half of its jobs are so many times
# those of a trial, and 2.6 days', for Figure 17
CLUSTER_RATE_PER_S, HALF_A_YEAR, DAYS = 0.4527, 18.0, 0.25
PATIENCE_S, SHORT_S = 86_400.0, 180.0  # b and t of Section 6.2
MACHINE, MACHINES, AMPLE, LOAD = M5[-1], (100, 125, 150, 175, 200, 225, 250), 200, 150

METRICS = {  # column of the rows -> figure of a run, and what it is divided by
    "normalized_price": ("price", PAPER_PRICES.on_demand),
    "last_utilisation": ("cost_per_h", 1.0),
    "wait_s": ("wait_s", 1.0),
    "wait_h": ("wait_s", 3600.0),
    "opportunity_cents": ("opportunity", 1.0),
}


class Runs:
    """What simulation says of scenarios, each run once.

    jobs: of a trial of Figures 2 to 13; "errors" has up to 4 times as many, Figure 14 a 16th,
    Figures 15 to 22 18 times as many, but Figure 17 a quarter. trials: of all but Figures 15 to 22,
    which have one, with intervals from batch means. trace: jobs for Figures 15 to 22 in place of
    generated ones.
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
        self.source, self.few = (
            trace or BurstyJobs(math.ceil(jobs * share)) for share in (HALF_A_YEAR, DAYS)
        )
        self._known: dict[Scenario, list[Batches]] = {}

    def of(self, scenarios: Sequence[Scenario]) -> list[list[Batches]]:
        """The figures of each trial of each scenario, whole and by batch.

        Raises InputError for a run that failed.
        """
        unknown = dict.fromkeys(each for each in scenarios if each not in self._known)
        seeds = {each: range(1 if each.shared else self.trials) for each in unknown}
        wanted = [Replications(each, [each.policy], own) for each, own in seeds.items()]
        done = replicate(wanted, self.executor)
        for each, own in seeds.items():
            self._known[each] = [done.outcome(each, each.policy, seed) for seed in own]
            for outcome in self._known[each]:
                if isinstance(outcome, str):
                    raise InputError(outcome.removeprefix("InputError: "))
        return [self._known[each] for each in scenarios]

    def exponentials(self, share: float) -> ExponentialJobs:
        """So many times the jobs of a trial."""
        return replace(self.exponential, jobs=math.ceil(self.exponential.jobs * share))

    @property
    def told(self) -> str:
        """The jobs of Figures 15 to 22."""
        generated = "generated bursty jobs at the rate of the paper's log"
        return f"log {self.trace.name}" if self.trace else generated

    @cached_property
    def workload(self) -> Workload:
        """The jobs of Figures 15 to 22, and the machines that suit them."""
        return Workload(self.source)

    def rows(
        self,
        points: Sequence[Point],
        x: str,
        metrics: Sequence[str],
        beside: WaitingPolicy | None = None,
    ) -> list[Row]:
        """A row a point: means over the trials, of one trial from its batches.

        x: the name of its column. beside: a policy; then each metric has a column of its difference
        from what that one, with no errors, has on the same jobs and machines.
        """
        scenarios = [each for *_, each in points]
        if beside:
            plain: dict[str, Any] = {"errors": NO_ERRORS, "work_conserving": False}
            scenarios += [replace(each, policy=beside, **plain) for each in scenarios]
        trials = self.of(scenarios)
        rows = [
            {"line": line, "from": "simulation", x: place, **_columns(of_trials(own), metrics)}
            for (line, place, _), own in zip(points, trials)
        ]
        for row, own, other in zip(rows, trials, trials[len(points) :]):
            row |= _columns(of_trials(differences(own, other)), metrics, "_difference")
        return rows


def differences(trials: Sequence[Batches], others: Sequence[Batches]) -> list[Batches]:
    """What one scenario has beyond another in the same trials, whole and by batch."""
    with np.errstate(invalid="ignore"):  # of batches without work
        return [
            {name: np.subtract(values, other[name]).tolist() for name, values in own.items()}
            for own, other in zip(trials, others)
        ]


def _columns(figures: dict[str, Mean], metrics: Sequence[str], ending: str = "") -> Row:
    return {
        column: value / METRICS[metric][1]
        for metric in metrics
        for found in [figures[METRICS[metric][0]]]
        for column, value in (
            (metric + ending, found.mean),
            (half(metric + ending), found.half_width),
        )
    }


class Workload:
    """Jobs, and the numbers of fixed machines to try for them.

    source: the jobs. columns: theirs. load: about so many machines could be rented for what renting
    for all jobs costs; of a log until all of them can have ended. machines, ample: numbers to try,
    and that of Figure 22, to a load as the paper's to its 150. policies: the six with the paper's b
    and t; without ajw if some job fits on no fixed machine.
    """

    def __init__(self, source: BurstyJobs | ListedJobs) -> None:
        self.source, self.load = source, float(LOAD)
        self.columns = Chunk(*(np.concatenate(column) for column in zip(*source.chunks(0))))
        submit_s, run_s, cores, memory_gb = self.columns
        worked = len(run_s) > 1 and float(run_s.max()) > 0
        allowed = "at least 2, and not all of no running time"
        require(worked, "jobs of the workload", len(run_s), allowed)
        self.policies = {name: waiting_policy(name, PATIENCE_S, SHORT_S) for name in POLICIES}
        if rented(cores, memory_gb, (MACHINE,))[1].max() > 1:
            del self.policies["ajw"]
            why = "ajw is left out: some job fits on no %s, and under ajw every job waits for one"
            log.warning(why, MACHINE.name)
        if isinstance(source, ListedJobs):
            rent = float(rented(cores, memory_gb)[2] @ run_s)
            self.load = rent / MACHINE.price_per_h / float(np.max(submit_s + run_s) - submit_s[0])
        numbers = [max(1, round(self.load * number / LOAD)) for number in (*MACHINES, AMPLE)]
        self.machines, self.ample = sorted(set(numbers)), numbers[-1]

    def scenario(self, policy: WaitingPolicy, machines: int, **more: Any) -> Scenario:
        """The jobs under a policy on a number of machines. more: as of a Scenario."""
        own = {"source": self.source, "machines": (MACHINE,) * machines, **more}
        return Scenario(policy=policy, **own)

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
