"""What became of the jobs, and what it costs: sums by batch, from which price, wait and share
on demand follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.model.checks import InputError, require
from cgrsp_simpy.waiting.jobs import Chunk, Floats, Ints
from cgrsp_simpy.waiting.machines import Prices, Size, rent_per_h

__all__ = ["BATCHES", "Columns", "Tally", "joined"]

BATCHES = 20  # batches of a run, whose spread tells how sure its means are
# share of generated jobs at either end that is left out (waiting-policies.txt Section 3.1)
TRIM = 0.1


class Columns(NamedTuple):
    """What became of some jobs, each column of shape (jobs,).

    place: in the order of submission. jobs: the jobs. start_s: when each started, on a fixed
    machine or on demand. on_demand: whether on demand.
    """

    place: Ints
    jobs: Chunk
    start_s: Floats
    on_demand: npt.NDArray[np.bool_]

    @property
    def wait_s(self) -> Floats:
        """Seconds from submission to start."""
        return self.start_s - self.jobs.submit_s

    @property
    def end_s(self) -> Floats:
        """When each ended."""
        return self.start_s + self.jobs.run_s


def joined(kept: Sequence[Columns]) -> Columns:
    """All jobs of parts that follow each other."""
    jobs = Chunk(*map(np.concatenate, zip(*(done.jobs for done in kept))))
    place, start_s, on_demand = (
        np.concatenate([getattr(done, name) for done in kept])
        for name in ("place", "start_s", "on_demand")
    )
    return Columns(place, jobs, start_s, on_demand)


@dataclass
class Tally:
    """Sums over the jobs that count, by batch of jobs that follow each other; its size does not
    grow with the jobs.

    jobs: number of jobs to come. sizes: price table of shared machines, or None where a job takes
    a whole machine, whose rent then counts as 1 an hour. steady: whether the jobs are a part of
    a stream without end. Then the middle 80 % count, and fixed machines are paid from the first of
    their submissions to the last. Of jobs that are all there are, such as a log's, each counts, and
    fixed machines are paid until the work is done: from the first submission to the last end.

    sums: one row a batch, of the jobs, their waits and running times in s, jobs on demand, rents of
    all jobs' running times (price per hour times seconds), and rents of those on demand.
    """

    jobs: int
    sizes: Sequence[Size] | None = None
    steady: bool = True
    sums: Floats = field(init=False)
    _edges: Ints = field(init=False)
    _edges_s: Floats = field(init=False)  # from when to when a batch pays the fixed machines

    def __post_init__(self) -> None:
        trim = int(TRIM * self.jobs) if self.steady else 0
        batches = max(1, min(BATCHES, self.jobs - 2 * trim))
        self._edges = np.linspace(trim, self.jobs - trim, batches + 1).astype(np.int64)
        self._edges_s = np.zeros(batches + 1)
        self.sums = np.zeros((batches, 6))

    def add(self, done: Columns) -> None:
        """Count jobs; of equal parts in the same order the sums are equal, to the bit."""
        batch = np.searchsorted(self._edges, done.place, side="right") - 1
        if self.steady:
            self._note_submissions(done)
        else:
            self._note_ends(done, batch)
        inside = (batch >= 0) & (batch < len(self.sums))
        rent = self._rent_per_h(done.jobs) * done.jobs.run_s
        columns = (
            np.ones(len(batch)),
            done.wait_s,
            done.jobs.run_s,
            done.on_demand,
            rent,
            rent * done.on_demand,
        )
        for sums, column in zip(self.sums.T, columns):
            sums += np.bincount(batch[inside], column[inside], len(self.sums))

    def _note_submissions(self, done: Columns) -> None:
        """Where no job is left behind the last edge, its time is that of the last job."""
        edges = np.minimum(self._edges, self.jobs - 1)
        for row in np.flatnonzero(np.isin(done.place, edges)):
            self._edges_s[edges == done.place[row]] = done.jobs.submit_s[row]

    def _note_ends(self, done: Columns, batch: Ints) -> None:
        """A batch pays from the moment at which the jobs before it have all ended to the one at
        which its own have, too.
        """
        for row in np.flatnonzero(done.place == 0):
            self._edges_s[0] = done.jobs.submit_s[row]
        np.maximum.at(self._edges_s, batch + 1, done.end_s)

    def _rent_per_h(self, jobs: Chunk) -> Floats:
        if self.sizes is None:
            return np.ones(len(jobs.run_s))
        return rent_per_h(jobs.cores, jobs.memory_gb, self.sizes)

    def figures(self, fixed_per_h: float, prices: Prices) -> dict[str, Floats]:
        """Figures of the whole first, then of each batch; arrays of shape (1 + batches,).

        fixed_per_h: what all fixed machines would cost to rent, in the money of `sizes`. wait_s,
        service_s: means. price: of an hour's work, P in the unit of the prices (Eq. 5 over the
        work done). on_demand_fraction: share of the jobs. opportunity: P w, the price of the mean
        wait (Section 4.2.1). load: rent per hour of all jobs; without `sizes`, machines at work.
        cost_per_h: in the unit of the prices, per unit of rent.

        Raises InputError where the jobs that count bring no work, of which an hour has no price,
        or all come at one time in a stream without end. A batch without work, or without time, has
        figures that are NaN or infinite.
        """
        jobs, wait_s, run_s, on_demand, rent, rented = np.vstack(
            [self.sums.sum(axis=0), self.sums]
        ).T
        edges_s = np.maximum.accumulate(self._edges_s)
        span_s = np.concatenate([[edges_s[-1] - edges_s[0]], np.diff(edges_s)])
        if rent[0] == 0:
            raise InputError(
                f"an hour of work has no price: the {jobs[0]:,.0f} jobs that count run for 0 s,"
                " or at no rent"
            )
        require(
            span_s[0] > 0,
            "jobs",
            self.jobs,
            "at least 2, submitted at different times, for a price per hour",
        )
        with np.errstate(divide="ignore", invalid="ignore"):  # a batch without work or time
            cost = prices.fixed * fixed_per_h * span_s + prices.on_demand * rented
            price = cost / rent
            return {
                "wait_s": wait_s / jobs,
                "price": price,
                "on_demand_fraction": on_demand / jobs,
                "opportunity": price * wait_s / jobs / 3600,
                "service_s": run_s / jobs,
                "load": rent / span_s,
                "cost_per_h": cost / span_s,
            }
