"""Figures, rows and descriptions of a model's runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from cgrsp_simpy.base.checks import InputError, check_one_of
from cgrsp_simpy.base.metric import Metric, ratio, summed
from cgrsp_simpy.base.timeline import VISIT, Timeline
from cgrsp_simpy.engine.claim import Claim

Columns = Mapping[str, np.ndarray[Any, Any]]
NO_COLUMNS: Mapping[str, str] = {}
"""`Report.claim_columns` of reports that do not use them."""


class EndTally:
    """The time of the last completion; `Report.tally` returns such an object per run.

    end_s: seconds; 0 before the first completion.
    """

    def __init__(self) -> None:
        self.end_s = 0.0

    def add(self, jobs: Columns) -> None:
        """Add a block of jobs, as columns."""
        self.end_s = max(self.end_s, float(jobs["finish_s"].max(initial=0.0)))


class WaitTally(EndTally):
    """Waits and responses of jobs, and the time of the last completion.

    Attributes
    ----------
    wait_s, response_s : list of array
        Per block, the total wait and the time from arrival to completion of each job,
        seconds. A job without a granted claim has no wait.
    claims : int
        Number of granted claims.
    window : pair of float
        Jobs that end at or after the first time and before the second count, seconds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.wait_s: list[np.ndarray[Any, Any]] = []
        self.response_s: list[np.ndarray[Any, Any]] = []
        self.claims, self.window = 0, (0.0, math.inf)

    def add(self, jobs: Columns) -> None:
        super().add(jobs)
        begin_s, end_s = self.window
        finish_s = jobs["finish_s"]
        in_window = (finish_s >= begin_s) & (finish_s < end_s)
        self.wait_s.append(jobs["wait_s"][in_window & (jobs["claims"] > 0)])
        self.claims += int(jobs["claims"][in_window].sum())
        self.response_s.append((finish_s - jobs["submit_s"])[in_window])

    @property
    def span_s(self) -> float:
        """Length of the window up to the last completion, seconds."""
        begin_s, end_s = self.window
        return min(self.end_s, end_s) - begin_s

    def figures(self) -> dict[str, float]:
        """Return mean and 95th percentile of a job's total wait, the mean wait per
        claim, and the mean response; NaN if there are no jobs.
        """
        wait_s, response_s = (
            np.concatenate([np.empty(0), *blocks])
            for blocks in (self.wait_s, self.response_s)
        )
        return {
            "wait_s": float(wait_s.mean()) if len(wait_s) else math.nan,
            "wait_p95_s": float(np.percentile(wait_s, 95)) if len(wait_s) else math.nan,
            "claim_wait_s": ratio(summed(wait_s.tolist()), self.claims),
            "response_s": float(response_s.mean()) if len(response_s) else math.nan,
        }


def columns_of(run: Any) -> dict[str, Any]:
    """Return the columns of `Run.jobs` by name, and the column "resources" of
    `Report.rows`.
    """
    jobs, parts = run.jobs, run.parts()
    return {name: jobs[name] for name in jobs.dtype.names or ()} | {
        "resources": [
            " ".join(
                f"{number}" if amount == 1 else f"{number}:{amount:g}"
                for number, amount in parts.get(job, ())
            )
            for job in jobs["job"].tolist()
        ]
    }


def rows_of(columns: Mapping[str, Any], tags: Any) -> list[dict[str, Any]]:
    """Convert columns to one dict per row, including additional columns of a log.

    tags: the additional columns, as in `Report.tags`.
    """
    values = [
        column.tolist() if isinstance(column, np.ndarray) else column
        for column in columns.values()
    ]
    rows = [dict(zip(columns, row)) for row in zip(*values)]
    return [row | tags.of(n, row) for n, row in enumerate(rows)] if tags else rows


class Report:
    """Figures, rows and descriptions of a model's runs; `Model.report` names the class.

    Attributes
    ----------
    metrics : mapping
        Name of each figure of a run's summary -> Metric.
    shown, tested : sequences of str
        The figures in a comparison's table, and those tested against the first policy.
    precise : str
        The figure to which a study's precision applies if it names no figure.
    note : str
        Note for readers of the figures; printed below every table.
    infinite : str
        Meaning of an infinite figure; printed below a comparison with the names of the
        policies concerned.
    claim_columns : mapping
        Name -> dtype of the columns of `Run.jobs` that the engine fills: a job's total
        wait for its granted claims, and their number. NO_COLUMNS in reports that do not
        use them.
    keeps_jobs : bool
        Whether the figures need the record of every job; then runs keep records even
        with records=False.
    tags : mapping
        Additional columns of the log from which the jobs come.
    groups : sequence of str or None
        Other columns by whose values figures can be reported, which are names or whole
        numbers; None: those of the rows, which are known only after a run.
    """

    metrics: Mapping[str, Metric] = {
        "wait_s": Metric("mean total wait of a job", "s"),
        "wait_p95_s": Metric("95th percentile of the total wait", "s"),
        "claim_wait_s": Metric("mean wait of a claim", "s"),
        "response_s": Metric("mean time from arrival to completion", "s"),
        "utilisation_pct": Metric("use of open resources", "%", "more"),
    }
    shown: Sequence[str] = ("wait_s", "wait_p95_s", "response_s", "utilisation_pct")
    tested: Sequence[str] = ("wait_s", "wait_p95_s", "response_s")
    precise: ClassVar[str] = "wait_s"
    note: str = ""
    infinite: ClassVar[str] = ""
    keeps_jobs: ClassVar[bool] = False
    claim_columns: ClassVar[Mapping[str, str]] = {"wait_s": "f8", "claims": "i8"}
    groups: Sequence[str] | None = None

    def __init__(self, model: Any) -> None:
        self.model: Any = model

    @property
    def tags(self) -> Any:
        """The `cgrsp_simpy.logs.Tags` of the model's `source`; empty if it has none."""
        return getattr(getattr(self.model, "source", None), "tags", {})

    @property
    def dtypes(self) -> Mapping[str, str]:
        """Name -> dtype of columns of `Run.jobs`; others are inferred from values."""
        columns: Mapping[str, str] = self.model.columns
        return columns

    def tally(self) -> Any:
        """Return an object that aggregates the jobs of a run block by block; it has
        add(columns) and the time of the last completion, end_s.
        """
        return WaitTally() if self.claim_columns else EndTally()

    def state_class(self) -> Any:
        """Return the class of the states of runs, derived from `engine.state.State`."""
        raise InputError(f"runs of {self.model.name} cannot start from a state")

    def summary(self, run: Any) -> dict[str, Any]:
        """Return the figures of a run by name."""
        size = summed(spec.size for spec in self.model.resources())
        open_s = size * run.tally.span_s - summed(run.closed_s)
        used_pct = ratio(100.0 * summed(run.held_s), open_s)
        return {**run.tally.figures(), "utilisation_pct": used_pct, **run.measured}

    def summary_of(self, run: Any, chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
        """Return figures of selected jobs of a run; chosen: a mask of shape (jobs,)."""
        tally, jobs = WaitTally(), run.jobs[chosen]
        tally.window = getattr(run.tally, "window", tally.window)
        tally.add({name: jobs[name] for name in jobs.dtype.names or ()})
        return {"jobs": int(chosen.sum()), **tally.figures()}

    def rows(self, run: Any) -> list[dict[str, Any]]:
        """Return one dict per job, for files: the columns of `Run.jobs`, the resources
        of its last claim, with amounts other than 1 ("0 3", "2:4"), and the log's
        additional columns.
        """
        return rows_of(columns_of(run), self.tags)

    def check_column(self, column: str, names: Iterable[str] | None = None) -> None:
        """Raise InputError for a column by which figures cannot be reported.

        names: columns of the rows, after a run; before it, an unknown column is allowed
        if `groups` is None.
        """
        names = names if self.groups is None else self.groups
        if names is not None:
            check_one_of("column", column, [*self.tags, *names])

    def kinds(self, run: Any, by: str) -> dict[int, str]:
        """Return the label by job that sets its colour in plots: the value of a column
        of `Run.jobs`.
        """
        check_one_of("colour_by", by, run.jobs.dtype.names or ())
        values = run.jobs[by].tolist()
        return {
            job: f"{by} {value}" for job, value in zip(run.jobs["job"].tolist(), values)
        }

    def timeline(self, run: Any, **changes: Any) -> Timeline:
        """Return the resources and jobs of a run, for plots.

        changes: fields of Timeline that replace those set here.
        """
        jobs, resources = run.jobs, tuple(self.model.resources())
        visits = np.empty(len(jobs), VISIT)
        names = jobs.dtype.names or ()
        # names of the columns of VISIT in `Run.jobs`
        of_jobs = ("job", "submit_s", "dispatch_s", "finish_s", "deadline_s")
        for name, column in zip(VISIT.names or (), of_jobs):
            visits[name] = jobs[column] if column in names else np.nan
        fields = {
            "label": resources[0].label if resources else "resource",
            "resources": tuple(str(spec.index) for spec in resources),
            "sizes": tuple(spec.size for spec in resources),
            "claims": run.claims,
            "visits": visits,
            "policy": run.policy,
        }
        return Timeline(**{**fields, **changes})

    def describe(self, kind: str, claim: Claim) -> str:
        """Return the detail of a claim's event that a listing shows.

        kind: submit, start or finish.
        """
        return ""
