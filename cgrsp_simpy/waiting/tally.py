"""What became of the jobs, and what it costs: sums by batch, from which price, wait and
share on demand follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.engine.report import Columns
from cgrsp_simpy.waiting.jobs import CHUNK
from cgrsp_simpy.waiting.machines import Prices, Size, paid_s, rented

BATCHES = 20  # batches of a run, whose spread tells how sure its means are
# share of generated jobs at either end that is left out (waiting-policies.txt Section
# 3.1)
TRIM = 0.1
COUNTED = ("job", "submit_s", "run_s", "cores", "memory_gb", "start_s", "on_demand")


@dataclass
class Tally:
    """Sums over the jobs that count, by batch of jobs that follow each other; its size
    does not grow with the jobs. They are added in the order of submission, whatever the
    order in which jobs end and the parts in which they are given: the sums are equal,
    to the bit.

    jobs: number of jobs to come. sizes: price table of shared machines, or None where a
    job takes a whole machine, whose rent then counts as 1 an hour. steady: whether the
    jobs are a part of a stream without end. Then the middle 80 % count, and fixed
    machines are paid from the first of their submissions to the last. Of jobs that are
    all there are, such as a log's, each counts, and fixed machines are paid until the
    work is done: from the first submission to the last end.

    sums: one row a batch, and one before and behind them for jobs that do not count: of
    the jobs, their waits and running times in s, jobs on demand, rents of all jobs'
    running times (price per hour times seconds), and what those on demand pay.
    """

    jobs: int
    sizes: Sequence[Size] | None = None
    steady: bool = True
    sums: Floats = field(init=False)

    def __post_init__(self) -> None:
        trim = int(TRIM * self.jobs) if self.steady else 0
        batches = max(1, min(BATCHES, self.jobs - 2 * trim))
        self._edges = np.linspace(trim, self.jobs - trim, batches + 1).astype(np.int64)
        # from when to when a batch pays the fixed machines
        self._edges_s = np.zeros(batches + 1)
        self.sums = np.zeros((batches + 2, 6))
        self._ended: list[Columns] = []  # and not counted
        self._counted, self._uncounted, self._enough = 0, 0, CHUNK

    def add(self, jobs: Columns) -> None:
        """Take jobs that have ended; those are counted before which all have."""
        self._ended.append(jobs)
        self._uncounted += len(jobs["job"])
        if (
            self._uncounted < self._enough
            and self._counted + self._uncounted < self.jobs
        ):
            return
        ended = {
            name: np.concatenate([part[name] for part in self._ended])
            for name in COUNTED
        }
        order = np.argsort(ended["job"], kind="stable")
        row = ended["job"][order] - 1 - self._counted
        ready = int(np.count_nonzero(row == np.arange(len(row))))
        self._count({name: column[order[:ready]] for name, column in ended.items()})
        self._ended = [{name: column[order[ready:]] for name, column in ended.items()}]
        self._counted, self._uncounted = self._counted + ready, self._uncounted - ready
        self._enough = self._uncounted + CHUNK

    def _count(self, jobs: Columns) -> None:
        """Count jobs that follow those counted; a batch of a stream pays from its first
        submission to the next batch's, or to the last job's; one of a log from the
        moment at which the jobs before it have all ended to the one at which its own
        have, too.
        """
        place, submit_s, run_s = jobs["job"] - 1, jobs["submit_s"], jobs["run_s"]
        edges = (
            np.minimum(self._edges, self.jobs - 1 if self.steady else 0) - self._counted
        )
        # of a log, of the first alone
        here = np.flatnonzero((edges >= 0) & (edges < len(place)))
        self._edges_s[here] = submit_s[edges[here]]
        batch = np.searchsorted(self._edges, place, side="right")
        if not self.steady:
            np.maximum.at(self._edges_s, batch, jobs["start_s"] + run_s)
        rent = billed = run_s
        if self.sizes is not None:
            index, _, rent_per_h = rented(jobs["cores"], jobs["memory_gb"], self.sizes)
            rent = rent_per_h * run_s
            billed = rent_per_h * paid_s(run_s, index, self.sizes)
        wait_s, on_demand = jobs["start_s"] - submit_s, jobs["on_demand"]
        columns = (
            np.ones(len(batch)),
            wait_s,
            run_s,
            on_demand,
            rent,
            billed * on_demand,
        )
        # each sum goes on, a job at a time
        rows = np.append(np.arange(len(self.sums)), batch)
        for sums, column in zip(self.sums.T, columns):
            sums[:] = np.bincount(rows, np.append(sums, column))

    def figures(self, fixed_per_h: float, prices: Prices) -> dict[str, Floats]:
        """Figures of the whole first, then of each batch; arrays of shape (1 +
        batches,).

        fixed_per_h: what all fixed machines would cost to rent, in the money of
        `sizes`. wait_s, service_s: means. price: of an hour's work, P in the unit of
        the prices (Eq. 5 over the work done). on_demand_fraction: share of the jobs.
        opportunity: P w, the price of the mean wait (Section 4.2.1). load: rent per
        hour of all jobs; without `sizes`, machines at work. cost_per_h: in the unit of
        the prices, per unit of rent; with `sizes`, in their money.

        Raises InputError where the jobs that count bring no work, of which an hour has
        no price, or all come at one time in a stream without end. A batch without work,
        or without time, has figures that are NaN or infinite.
        """
        sums = self.sums[1:-1]
        jobs, wait_s, run_s, on_demand, rent, rented = np.vstack(
            [sums.sum(axis=0), sums]
        ).T
        edges_s = np.maximum.accumulate(self._edges_s)
        span_s = np.concatenate([[edges_s[-1] - edges_s[0]], np.diff(edges_s)])
        if rent[0] == 0:
            raise InputError(
                f"an hour of work has no price: the {jobs[0]:,.0f} jobs that count run"
                " for 0 s, or at no rent"
            )
        require(
            span_s[0] > 0,
            "jobs",
            self.jobs,
            "at least 2, submitted at different times, for a price per hour",
        )
        # a batch without work or time
        with np.errstate(divide="ignore", invalid="ignore"):
            cost = prices.fixed * fixed_per_h * span_s + prices.on_demand * rented
            unit = 1.0 if self.sizes is None else prices.on_demand
            price = cost / rent
            return {
                "wait_s": wait_s / jobs,
                "price": price,
                "on_demand_fraction": on_demand / jobs,
                "opportunity": price * wait_s / jobs / 3600,
                "service_s": run_s / jobs,
                "load": rent / span_s,
                "cost_per_h": cost / span_s / unit,
            }


def of_trials(trials: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, Mean]:
    """Means with 95 % intervals over seeds, or from the batches of a single run.

    trials: of each the figures of the whole run, then of each batch, as of
    `WaitingSubject.outcome`.
    """
    if len(trials) == 1:
        return {name: batched(values) for name, values in trials[0].items()}
    return {name: mean([each[name][0] for each in trials]) for name in trials[0]}


def batched(values: Sequence[float] | Floats) -> Mean:
    """The mean of a whole run, with the half width that its batches have, each
    correlated with the next.
    """
    found, centre = mean(values[1:], in_order=True), float(values[0])
    return replace(
        found,
        mean=centre,
        low=centre - found.half_width,
        high=centre + found.half_width,
    )


def most_at_once(claims: np.ndarray[Any, Any]) -> float:
    """The greatest sum of amounts at a time; 1 where nothing took time."""
    times_s = np.concatenate([claims["from_s"], claims["to_s"]])
    changes = np.concatenate([claims["amount"], -claims["amount"]])
    # of one instant, first what ends
    running = np.cumsum(changes[np.lexsort((changes, times_s))])
    return float(running.max(initial=1.0))
