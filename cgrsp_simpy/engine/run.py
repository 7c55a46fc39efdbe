"""Records of a run: one row per job, its claims, and its figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from cgrsp_simpy.base.checks import InputError, require, shown
from cgrsp_simpy.base.policy import HoldsPolicies
from cgrsp_simpy.base.table import HasRows, Table, figure_text, visible
from cgrsp_simpy.base.timeline import Timeline
from cgrsp_simpy.engine.claim import ClaimRecords, Part, claims_table
from cgrsp_simpy.engine.report import Columns, Report

T = TypeVar("T")
RESOURCES = "resources"  # the column of `Run.rows` that lists those of a job
BLOCK = 8192  # rows that are summed at a time
TIMES = ("submit_s", "dispatch_s", "start_s", "finish_s")


class Records:
    """Collects one row per completed job, aggregates the rows block by block, and keeps
    them if required.

    Attributes
    ----------
    tally : Any
        Sums over the jobs, from `Report.tally`.
    names : list of str
        The columns, once a block is aggregated: the job's fields, `TIMES`, the report's
        claim_columns, and the model's.
    blocks : list of list of array, or None
        Columns per block; None if rows are not kept.
    claims : iterable of ClaimRecord, or None
        The released claims, as ClaimRecords unless a compiled run supplies them; None
        if they are not kept.
    dtypes : mapping
        Name -> dtype of the columns whose dtype does not depend on the jobs.
    missing_row : tuple
        Values of the model's columns for a job without a record.
    """

    def __init__(self, report: Report, keep: bool) -> None:
        model = report.model
        self.tally, self.names = report.tally(), list[str]()
        self.blocks: list[list[np.ndarray[Any, Any]]] | None = [] if keep else None
        self._released = ClaimRecords()
        self.claims: Any = self._released if keep else None
        self.dtypes = {
            **dict.fromkeys(TIMES, "f8"),
            **report.claim_columns,
            **report.dtypes,
        }
        self.missing_row = tuple(
            _missing(np.dtype(dtype)) for dtype in model.columns.values()
        )
        self._model = model
        # columns of a row after the job
        self._row_names = (*TIMES, *report.claim_columns, *model.columns)
        self._width = 1 + len(self._row_names)
        self._most = BLOCK * self._width
        self._values: list[Any] = []  # values of rows not yet in the sums
        self._summed_up = 0  # number of rows
        self._job_fields: tuple[str, ...] = ()
        self._jobs_are_tuples = True

    def check(self, job: Any) -> None:
        """Check the first arriving job of each class.

        Raises InputError if its fields would overwrite other columns, or differ from
        those of earlier jobs.
        """
        names, model = job_fields(job), self._model
        if self._job_fields and names != self._job_fields:
            raise InputError(
                f"job {shown(job)} of {model.name} has the attributes"
                f" {', '.join(names)};"
                f" earlier jobs have {', '.join(self._job_fields)}: all jobs must"
                " have the same attributes"
            )
        self._job_fields = names
        self._jobs_are_tuples = self._jobs_are_tuples and isinstance(job, tuple)
        taken = ["job", *self._row_names, RESOURCES]
        # submit_s of the job, if it has one, replaces the time of its arrival
        added = [name for name in names if name != "submit_s"]
        counts = Counter([*column_names(added), *taken[1:]])
        for column in [name for name, count in counts.items() if count > 1]:
            owner = "the jobs" if column in names else "columns"
            raise InputError(
                f"{owner} of {model.name} cannot contain {column!r}: the name is"
                f" already a column (taken: {', '.join(dict.fromkeys(taken))})"
            )

    @property
    def number(self) -> int:
        """Number of rows."""
        return self._summed_up + len(self._values) // self._width

    def add(self, row: tuple[Any, ...]) -> None:
        """Add the row of a job: the job, `TIMES`, the report's claim_columns, and the
        model's columns.
        """
        self._values += row
        if len(self._values) >= self._most:
            self.flush()

    def flush(self) -> None:
        """Aggregate the rows added since the last block."""
        self._released.pack()
        if not self._values:
            return
        width = self._width
        jobs, *recorded = [self._values[column::width] for column in range(width)]
        self._summed_up += len(jobs)
        self._values = []
        names = job_fields(jobs[0])
        if self._jobs_are_tuples:
            values = [*zip(*jobs)]
        else:  # a job without an id is a number
            values = [tuple(getattr(job, name, job) for job in jobs) for name in names]
        columns: dict[str, Any] = dict(zip(column_names(names), values))
        # submit_s of the job is checked against the time of its arrival
        for job, submit_s, at_s in zip(jobs, columns.get("submit_s", ()), recorded[0]):
            if not submit_s <= at_s:  # nor may it be NaN
                raise InputError(
                    f"job {shown(job)} of {self._model.name} arrives at {at_s:g} s,"
                    f" before its submit_s, {shown(submit_s)}; submit_s must not be"
                    " later"
                )
        for name, column in zip(self._row_names, recorded):
            columns.setdefault(name, column)
        for name, column in columns.items():
            try:
                columns[name] = np.array(column, self.dtypes.get(name))
            except (TypeError, ValueError) as error:
                raise InputError(f"column {name} of jobs: {error}") from error
        self.take(columns)

    def take(self, jobs: Columns) -> None:
        """Add a block of rows, as columns."""
        self.names = list(jobs)
        self.tally.add(jobs)
        if self.blocks is not None:
            self.blocks.append(list(jobs.values()))


def job_fields(job: Any) -> tuple[str, ...]:
    """Return the names of a job's fields; only "id" for a number."""
    if hasattr(job, "_fields"):
        return tuple(job._fields)
    return tuple(item.name for item in fields(job)) if is_dataclass(job) else ("id",)


def column_names(names: Iterable[str]) -> list[str]:
    """Return the column names of a job's fields; "id" becomes "job"."""
    return ["job" if name == "id" else name for name in names]


def recorded(records: T | None) -> T:
    """Return the records of a run; InputError if the run has kept none."""
    if records is None:
        raise InputError("this run has no records; simulate with records=True")
    return records


def _missing(dtype: np.dtype[Any]) -> Any:
    """Return a missing value: NaN, -1 for whole numbers, and 0 or "" for others."""
    return {"f": math.nan, "i": -1}.get(dtype.kind, np.zeros((), dtype).item())


class Run(HoldsPolicies, HasRows):
    """One simulated run of a model; a notebook displays a table of its figures.

    Attributes
    ----------
    scenario : Model
        The simulated scenario.
    policy : str
        Its name.
    seed : int
        Seed of all random numbers.
    decisions : int
        Number of calls of the policy.
    held_s : tuple of float
        Per resource, amount times seconds from grant to release.
    closed_s : tuple of float
        Per resource, amount times seconds for which it was closed and not held.
    measured : dict
        Figures of monitors that the model has created, such as a `cg.Container`.
    report : Report
        The scenario's.
    tally : Any
        Sums over the jobs, from `Report.tally`.
    plan : Any
        Data that the model prepared for the run and its figures, such as a schedule or
        the batches of its servers; otherwise None.
    rule : Any
        The policy as passed, for repeating the run; None if there is none.
    """

    def __init__(
        self,
        scenario: Any,
        policy: str,
        seed: int,
        records: Records,
        *,
        decisions: int = 0,
        held_s: Sequence[float] = (),
        closed_s: Sequence[float] = (),
        measured: Mapping[str, float] | None = None,
        plan: Any = None,
        rule: Any = None,
    ) -> None:
        records.flush()
        self.scenario, self.policy, self.seed = scenario, policy, seed
        self.report: Report = scenario.report(scenario)
        self.decisions = decisions
        self.held_s, self.closed_s = tuple(held_s), tuple(closed_s)
        self.measured = dict(measured or {})
        self.tally = records.tally
        self.plan, self.rule = plan, rule
        self._claim_records, self._blocks = records.claims, records.blocks
        self._dtypes = records.dtypes
        self._names = records.names or [*{"job": "i8", **records.dtypes}]

    @property
    def title(self) -> str:
        """Scenario, policy and seed."""
        return f"{self.scenario.name}: {self.policy}, seed {self.seed}"

    @cached_property
    def jobs(self) -> np.ndarray[Any, Any]:
        """Structured array with one row per job, sorted by its number.

        Columns: the job's fields (`job` is its number); submit_s, dispatch_s (the first
        grant), start_s, finish_s, seconds, NaN for what has not happened; wait_s, its
        total wait for granted claims, and claims, their number, unless the report has
        other columns; and the model's columns.
        """
        names, dtypes, blocks = self._names, self._dtypes, recorded(self._blocks)
        columns = [np.concatenate(column) for column in zip(*blocks)]
        # without jobs, their own fields are unknown, and only "job" has no dtype
        columns = columns or [np.empty(0, dtypes.get(name, "i8")) for name in names]
        jobs = np.empty(
            len(columns[0]),
            [
                (name, dtypes.get(name, column.dtype))
                for name, column in zip(names, columns)
            ],
        )
        by_number = np.argsort(columns[0], kind="stable")
        for name, column in zip(names, columns):
            jobs[name] = column[by_number]
        return jobs

    @cached_property
    def claims(self) -> np.ndarray[Any, Any]:
        """Structured array of CLAIM with one row per phase of a claim's resource.

        Sorted by job, claim, resource and phase, without phases of length 0. resource:
        its number. amount: the amount that the job held. phase: provisioning,
        executing, or a phase of the model. from_s, to_s: seconds.
        """
        return claims_table(recorded(self._claim_records))

    def parts(self) -> dict[Any, Sequence[Part]]:
        """Return, by job, the number and amount of each resource of its last claim."""
        return {
            job: parts
            for job, parts, _, started_s, _, _ in self._claim_records or ()
            if not math.isnan(started_s)
        }

    @cached_property
    def timeline(self) -> Timeline:
        """Resources and jobs of the run, for plots."""
        return self.report.timeline(self)

    def summary(self) -> Mapping[str, Any]:
        """Return the figures by name; the report's `metrics` describe them."""
        return self.report.summary(self)

    def state(self, at_s: float) -> Any:
        """Return the state of the run after all events up to a time, seconds, from
        which runs can start; for rented slots, a `State`.

        Raises InputError for a model whose report has no `state_class`.
        """
        return self.report.state_class().of(self, at_s)

    def __repr__(self) -> str:
        return visible(f"<{type(self).__name__} of {self.title}>")

    def _repr_html_(self) -> str:
        rows = [[name, figure_text(value)] for name, value in self.summary().items()]
        return Table(self.title, [["figure", "value"], *rows]).html()

    def by(self, column: str) -> list[dict[str, Any]]:
        """Return the figures of the jobs per value of a column of `rows()` or a log.

        One row per value, in ascending order. Raises InputError for an unknown column,
        and for one of floating-point numbers.
        """
        tags, rows = self.report.tags, self.rows()
        self.report.check_column(column, rows[0] if rows else ())
        values = np.array(
            tags[column] if column in tags else [row[column] for row in rows]
        )
        require(
            values.dtype.kind != "f",
            "column",
            column,
            "a column of names or whole numbers",
        )
        return [
            {column: value, **self.report.summary_of(self, chosen=values == value)}
            for value in np.unique(values).tolist()
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per job, as `Report.rows`."""
        return self.report.rows(self)
