"""The outcome of a run: its figures, its jobs, and who held which machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.logs import Tags
from cgrsp_simpy.model.checks import InputError, require
from cgrsp_simpy.model.model import Metric
from cgrsp_simpy.model.shown import ShownRun
from cgrsp_simpy.model.timeline import Timeline
from cgrsp_simpy.waiting.claims import timeline_of
from cgrsp_simpy.waiting.jobs import ListedJobs
from cgrsp_simpy.waiting.tally import Columns, Tally

if TYPE_CHECKING:
    from cgrsp_simpy.waiting.case import Case

__all__ = ["METRICS", "Outcome", "batched", "of_trials"]

METRICS = {
    "wait_s": Metric("mean wait", "s"),
    "price": Metric("price of an hour's work"),
    "on_demand_fraction": Metric("share of jobs on demand", better=""),
    "opportunity": Metric("price of the mean wait"),
    "service_s": Metric("mean running time", "s", ""),
    "load": Metric("work that comes: machines kept busy, or rent an hour of all jobs", better=""),
    "cost_per_h": Metric("cost of an hour"),
}
"""What the figures of a run are; money is in the unit of the prices."""


@dataclass(frozen=True, repr=False)
class Outcome(ShownRun):
    """What a run leaves.

    Attributes
    ----------
    case : Case
        What was run, its policy and order included.
    seed : int
        Of its random numbers.
    tally : Tally
        The sums behind the figures.
    jobs : Columns, optional
        What became of each job, in order of submission, if that was to be kept.
    claims : structured array, optional
        Then, of a simulation, who held which machine: an array of CLAIM as of `claims_of`; jobs are
        numbered from 1.
    """

    case: Case
    seed: int
    tally: Tally
    jobs: Columns | None = None
    claims: np.ndarray[Any, np.dtype[Any]] | None = None

    @property
    def policy(self) -> str:
        """The waiting policy's name, and that of an order other than first come, first served."""
        order, policy = self.case.order, self.case.policy.name
        told = order if isinstance(order, str) else policy_name(order)
        return policy if order == "fcfs" else f"{policy}, {told}"

    @property
    def title(self) -> str:
        """The case, the policy and the seed."""
        return f"{self.case.name}: {self.policy}, seed {self.seed}"

    @property
    def timeline(self) -> Timeline:
        """The run as machines and jobs.

        Raises
        ------
        InputError
            Where it has not been simulated, or nothing was kept.
        """
        if self.jobs is None or self.claims is None:
            raise InputError(
                "only a simulation whose jobs are kept has a timeline: simulate(case, keep=True)"
            )
        return timeline_of(self.case.machines, self.jobs, self.claims, self.policy)

    def rows(self) -> list[dict[str, Any]]:
        """One dict a job: its number from 1, what it needs, when it came and started,
        seconds; tags.

        Raises
        ------
        InputError
            Where no jobs were kept.
        """
        if self.jobs is None:
            raise InputError("only a run whose jobs are kept has rows: simulate(case, keep=True)")
        done = self.jobs
        names = ("job", *done.jobs._fields, "start_s", "wait_s", "on_demand")
        columns = (
            done.place + 1,
            *done.jobs,
            done.start_s,
            done.wait_s,
            done.on_demand.astype(int),
        )
        rows = [dict(zip(names, row)) for row in zip(*(column.tolist() for column in columns))]
        return [{**row, **self.tags.of(place, row)} for place, row in enumerate(rows)]

    def summary(self) -> dict[str, float]:
        """The figures of METRICS: of a log all jobs count, of generated ones the middle 80 %.

        cost_per_h of shared machines is in the money of the sizes.

        Raises
        ------
        InputError
            For jobs without any work; see `Tally.figures`.
        """
        return {name: values[0].item() for name, values in self.by_batch().items()}

    @property
    def means(self) -> dict[str, Mean]:
        """The same with 95 % intervals from batch means, for a single long run."""
        return {name: batched(values) for name, values in self.by_batch().items()}

    def by(self, tag: str) -> list[dict[str, Any]]:
        """What became of the jobs of each value of a log's column.

        Parameters
        ----------
        tag : str
            The column's name.

        Returns
        -------
        list of dict
            A row for each value, in the order of the alphabet: by, value (the column and its
            value); jobs (their number); wait_s, service_s (means, seconds); on_demand_fraction
            (share of the jobs); core_hours, on_demand_core_hours (cores times running time, of all
            and of those on demand).

        Raises
        ------
        InputError
            For a column that the log does not have, or where the jobs were not kept.
        """
        require(self.jobs is not None, "jobs", None, "kept: simulate(case, keep=True)")
        assert self.jobs is not None
        done = self.jobs
        core_h = done.jobs.cores * done.jobs.run_s / 3600
        return self.tags.report(
            tag,
            lambda chosen: {
                "wait_s": float(done.wait_s[chosen].mean()),
                "service_s": float(done.jobs.run_s[chosen].mean()),
                "on_demand_fraction": float(done.on_demand[chosen].mean()),
                "core_hours": float(core_h[chosen].sum()),
                "on_demand_core_hours": float(core_h[chosen & done.on_demand].sum()),
            },
        )

    @property
    def tags(self) -> Tags:
        """The log's own columns of the jobs, job_id among them; none for jobs that are
        not from a log.
        """
        source = self.case.source
        return source.tags if isinstance(source, ListedJobs) else Tags()

    def by_batch(self) -> dict[str, npt.NDArray[np.float64]]:
        """The figures of the whole run first, then of each batch of jobs."""
        found = self.tally.figures(self.case.fixed_per_h, self.case.prices)
        unit = self.case.prices.on_demand if self.case.shared else 1.0
        return {**found, "cost_per_h": found["cost_per_h"] / unit}


def batched(values: npt.NDArray[np.float64]) -> Mean:
    """The mean of a whole run, with the half width that its batches have; values: as
    of `by_batch`.
    """
    found, centre = mean(values[1:]), values[0].item()
    return replace(
        found, mean=centre, low=centre - found.half_width, high=centre + found.half_width
    )


def of_trials(outcomes: Sequence[Outcome]) -> dict[str, Mean]:
    """Means with 95 % intervals over seeds, or from the batches of a single run."""
    if len(outcomes) == 1:
        return outcomes[0].means
    figures = [outcome.summary() for outcome in outcomes]
    return {name: mean([each[name] for each in figures]) for name in figures[0]}
