"""Figures, rows and descriptions of runs of the waiting policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.base.arrays import Bools, Floats
from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.base.timeline import CLAIM, PHASES, Timeline
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.report import NO_COLUMNS, Columns, Report, rows_of
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.waiting.jobs import CHUNK, Chunk
from cgrsp_simpy.waiting.machines import Prices, Size, paid_s, rented

BATCHES = 20  # batches of a run, for its intervals
# share of generated jobs left out at either end (waiting-policies.txt Section 3.1)
TRIM = 0.1
COUNTED = ("job", "submit_s", "run_s", "cores", "memory_gb", "start_s", "on_demand")


@dataclass
class Tally:
    """Sums over the counted jobs, per batch of consecutive jobs; its size is constant.

    jobs: number of jobs of the run. sizes: price table of shared machines, or None if a
    job takes a whole machine, whose rent is then 1 per hour. steady: whether the jobs
    are part of an endless stream. If so, the middle 80 % count, and fixed machines are
    paid from the first of their submissions to the last. Otherwise, as for a log, all
    count, and fixed machines are paid from the first submission to the last end.

    sums: one row per batch, plus one at each end for jobs that do not count. Columns:
    jobs, waits and running times in s, jobs on demand, rents of all jobs' running times
    (price per hour times seconds), and payments for jobs on demand.
    """

    jobs: int
    sizes: Sequence[Size] | None = None
    steady: bool = True
    sums: Floats = field(init=False)

    def __post_init__(self) -> None:
        trim = int(TRIM * self.jobs) if self.steady else 0
        batches = max(1, min(BATCHES, self.jobs - 2 * trim))
        self._edges = np.linspace(trim, self.jobs - trim, batches + 1).astype(np.int64)
        # times between which a batch pays the fixed machines
        self._edges_s = np.zeros(batches + 1)
        self.sums = np.zeros((batches + 2, 6))
        self._ended: list[Columns] = []  # and not counted
        self._counted, self._uncounted, self._enough = 0, 0, CHUNK

    def add(self, jobs: Columns) -> None:
        """Add jobs that have ended; they are counted in order of submission."""
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
        """Count the jobs that follow those counted so far.

        A batch of a stream pays until the next batch's first submission, or the last
        one; one of a log pays from the end of all earlier jobs to its last end.
        """
        place, submit_s, run_s = jobs["job"] - 1, jobs["submit_s"], jobs["run_s"]
        edges = (
            np.minimum(self._edges, self.jobs - 1 if self.steady else 0) - self._counted
        )
        # for a log, those of the first run only
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
        """Return the figures of the run and of each batch, shape (1 + batches,).

        fixed_per_h: rent of all fixed machines, in the currency of `sizes`. Keys:
        wait_s, service_s: mean wait and running time. price: P per hour of work, in the
        prices' unit (Eq. 5 over the work done). on_demand_fraction: share of the jobs.
        opportunity: P w (Section 4.2.1). load: rent of all jobs per hour; without
        `sizes`, busy machines. cost_per_h: in the unit of the prices; with `sizes`, in
        their currency. Raises InputError if the counted jobs have no work, or all of a
        stream arrive at once. Batches without work or time have NaN or infinity.
        """
        sums = self.sums[1:-1]
        jobs, wait_s, run_s, on_demand, rent, rented = np.vstack(
            [sums.sum(axis=0), sums]
        ).T
        edges_s = np.maximum.accumulate(self._edges_s)
        span_s = np.concatenate([[edges_s[-1] - edges_s[0]], np.diff(edges_s)])
        if rent[0] == 0:
            raise InputError(
                "the price per hour of work is undefined: the"
                " counted jobs run for 0 s, or their rent is 0"
            )
        require(
            span_s[0] > 0,
            "jobs",
            self.jobs,
            "at least 2, with different submission times, so that the price per"
            " hour is defined",
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
    """Return means with 95 % intervals, over seeds or from a single run's batches.

    trials: see `WaitingSubject.outcome`.
    """
    if len(trials) == 1:
        return {name: batched(values) for name, values in trials[0].items()}
    return {name: mean([trial[name][0] for trial in trials]) for name in trials[0]}


def batched(values: Sequence[float] | Floats) -> Mean:
    """Return the figure of a run, with a half width computed from its batches."""
    spread, centre = mean(values[1:], in_order=True), float(values[0])
    return replace(
        spread,
        mean=centre,
        low=centre - spread.half_width,
        high=centre + spread.half_width,
    )


def most_at_once(claims: np.ndarray[Any, Any]) -> float:
    """Return the greatest total amount at one time."""
    times_s = np.concatenate([claims["from_s"], claims["to_s"]])
    changes = np.concatenate([claims["amount"], -claims["amount"]])
    # at the same time, ends precede starts
    return float(np.cumsum(changes[np.lexsort((changes, times_s))]).max())


class WaitingReport(Report):
    """The paper's figures, of a whole run and per batch."""

    claim_columns = NO_COLUMNS
    metrics: Mapping[str, Metric] = {  # money is in the unit of the prices
        "wait_s": Metric("mean wait", "s"),
        "price": Metric("price per hour of work"),
        "on_demand_fraction": Metric("share of jobs on demand", better=""),
        "opportunity": Metric("price of the mean wait"),
        "service_s": Metric("mean running time", "s", ""),
        "load": Metric(
            "offered load in machines, or rent per hour if all jobs are rented",
            better="",
        ),
        "cost_per_h": Metric("cost per hour"),
    }
    shown = ("wait_s", "price", "on_demand_fraction", "opportunity")
    tested = shown
    precise = "wait_s"
    groups = ("job", "cores", "on_demand")

    def tally(self) -> Tally:
        return Tally(
            self.model.jobs,
            self.model.sizes if self.model.shared else None,
            self.model.steady,
        )

    def summary(self, run: Run) -> dict[str, float]:
        """Return the figures of a log's jobs, or of the middle 80 % of generated jobs.

        Raises InputError if the jobs have no work; see `Tally.figures`.
        """
        return first_of(self.batches(run))

    def batches(self, run: Run) -> dict[str, list[float]]:
        """Return name -> the figure of the whole run, then those of its batches."""
        figures = run.tally.figures(self.model.fixed_per_h, self.model.prices)
        return {name: values.tolist() for name, values in figures.items()}

    def summary_of(self, run: Run, chosen: Bools) -> dict[str, float]:
        """Return the figures of selected jobs.

        jobs: their number. wait_s, service_s: means. on_demand_fraction: share on
        demand. core_hours, on_demand_core_hours: cores times running time.
        """
        jobs = run.jobs[chosen]
        core_h = jobs["cores"] * jobs["run_s"] / 3600
        return {
            "jobs": len(jobs),
            "wait_s": float((jobs["start_s"] - jobs["submit_s"]).mean()),
            "service_s": float(jobs["run_s"].mean()),
            "on_demand_fraction": float(jobs["on_demand"].mean()),
            "core_hours": float(core_h.sum()),
            "on_demand_core_hours": float(core_h[jobs["on_demand"]].sum()),
        }

    def rows(self, run: Run) -> list[dict[str, Any]]:
        jobs = run.jobs
        more = {
            "wait_s": jobs["start_s"] - jobs["submit_s"],
            "on_demand": jobs["on_demand"] + 0,
        }
        names = ("job", *Chunk._fields, "start_s")
        return rows_of({name: jobs[name] for name in names} | more, self.tags)

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        """Return the timeline; jobs on demand are shown on an additional resource."""
        # places: a machine's cores, then its memory
        jobs, step = run.jobs, 1 + self.model.shared
        names = (
            [str(index) for index in range(self.model.machines)]
            if isinstance(self.model.machines, int)
            else [
                f"{index}  {size.name}"
                for index, size in enumerate(self.model.machines)
            ]
        )
        sizes = [float(place.size) for place in tuple(self.model.resources())[::step]]
        claims = run.claims[run.claims["resource"] % step == 0]
        claims["resource"] //= step
        needs = jobs["cores"] if self.model.shared else np.ones(len(jobs))
        place, phase = (np.full(len(jobs), value) for value in (len(names), PHASES[1]))
        columns = (jobs["job"], place, needs, phase, jobs["start_s"], jobs["finish_s"])
        rented = np.rec.fromarrays(columns, CLAIM)[jobs["on_demand"]]
        rented = rented[rented["to_s"] > rented["from_s"]]
        if len(rented):
            names.append("on demand")
            sizes.append(most_at_once(rented))
        claims = np.concatenate([claims, rented])
        kinds = np.where(jobs["on_demand"], "on demand", "fixed machine")
        fields = {
            "label": "machine",
            "resources": tuple(names),
            "sizes": tuple(sizes),
            "claims": claims[np.argsort(claims["from_s"], kind="stable")],
            "kinds": dict(zip(jobs["job"].tolist(), kinds.tolist())),
        }
        chart = super().timeline(run, **fields | parts)
        chart.visits["granted_s"] = jobs["start_s"]
        return chart

    def describe(self, kind: str, claim: Claim) -> str:
        job, wait_s = claim.job, claim.started_s - claim.job.submit_s
        texts = {"start": f"waited {wait_s:.2f} s", "finish": f"ran {job.run_s:.2f} s"}
        return texts.get(kind, str(job))


def first_of(batches: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return name -> the figure of the whole run."""
    return {name: values[0] for name, values in batches.items()}
