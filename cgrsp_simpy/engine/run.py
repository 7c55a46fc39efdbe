"""Records of a run: one row per job, its claims, and its figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cgrsp_simpy.base.checks import InputError, check_one_of, require
from cgrsp_simpy.base.policy import HoldsPolicies
from cgrsp_simpy.base.table import Table, figure_text, to_pandas, visible, write_csv
from cgrsp_simpy.base.timeline import Timeline
from cgrsp_simpy.engine.claim import ClaimRecord, Part, claims_table
from cgrsp_simpy.engine.report import Columns, Report

if TYPE_CHECKING:
    import pandas

RESOURCES = "resources"  # the column of `Run.rows` that lists those of a job
BLOCK = 8192  # rows that are summed at a time
TIMES = ("submit_s", "dispatch_s", "start_s", "finish_s")
KINDS = dict.fromkeys(TIMES, "f8")


class Records:
    """Takes rows as jobs end, sums them up block by block, and keeps them if required.

    names: of the columns, once there is a row: the job's own fields, `TIMES`, and the
    model's.
    """

    def __init__(self, report: Report, keep: bool) -> None:
        model = report.model
        self.tally, self.names = report.tally(), list[str]()
        self.blocks: list[list[np.ndarray[Any, Any]]] | None = [] if keep else None
        self.claims: list[ClaimRecord] | None = [] if keep else None
        self._closed = 0
        self._kinds = {**KINDS, **report.claim_columns, **report.dtypes}
        self._recorded = (*TIMES, *report.claim_columns, *model.columns)
        # values of a job without a record
        self.missing_row = tuple(
            _missing(np.dtype(kind)) for kind in model.columns.values()
        )
        self._rows: list[tuple[Any, ...]] = []
        self._model = model
        self._attributes: tuple[str, ...] = ()  # of the jobs
        self._tuples = True  # whether all are tuples

    def check(self, job: Any) -> None:
        """Check the first job of each class that arrives.

        Raises InputError if its attributes would overwrite other columns, or are not
        those of the jobs before it.
        """
        names, model = attributes(job), self._model
        if self._attributes and names != self._attributes:
            raise InputError(
                f"job {job!r} of {model.name} has the attributes {', '.join(names)};"
                f" the jobs before it have {', '.join(self._attributes)}: all must have"
                " the same"
            )
        self._attributes = names
        self._tuples = self._tuples and isinstance(job, tuple)
        taken = ["job", *self._recorded, RESOURCES]
        numbers = Counter([*column_names(names), *taken[1:]])
        numbers["submit_s"] -= "submit_s" in names  # a job may have its own
        for column in [name for name, number in numbers.items() if number > 1]:
            owner = "the jobs" if column in names else "columns"
            raise InputError(
                f"{owner} of {model.name} cannot contain {column!r}: there is a column"
                f" of that name already (taken: {', '.join(dict.fromkeys(taken))})"
            )

    @property
    def number(self) -> int:
        """Number of rows."""
        return self._closed + len(self._rows)

    def add(self, row: tuple[Any, ...]) -> None:
        """Add the row of a job: the job, `TIMES` and the model's own columns."""
        self._rows.append(row)
        if len(self._rows) >= BLOCK:
            self.close()

    def close(self) -> None:
        """Sum up the remaining rows."""
        if not self._rows:
            return
        jobs, *times = zip(*self._rows)
        self._closed += len(jobs)
        self._rows = []
        names = attributes(jobs[0])
        if self._tuples:
            values = [*zip(*jobs)]
        else:  # a job without an id is a number
            values = [tuple(getattr(job, name, job) for job in jobs) for name in names]
        columns: dict[str, Any] = dict(zip(column_names(names), values))
        for job, submit_s, at_s in zip(jobs, columns.get("submit_s", ()), times[0]):
            if not submit_s <= at_s:
                raise InputError(
                    f"job {job!r} of {self._model.name} arrives at {at_s:g} s, and its"
                    f" submit_s is {submit_s!r}; it must not be later"
                )
        for name, recorded in zip(self._recorded, times):
            columns.setdefault(name, recorded)
        for name, column in columns.items():
            try:
                columns[name] = np.array(column, self._kinds.get(name))
            except (TypeError, ValueError) as error:
                raise InputError(f"column {name} of jobs: {error}") from error
        self.take(columns)

    def take(self, jobs: Columns) -> None:
        """Add rows, as columns."""
        self.names = list(jobs)
        self.tally.add(jobs)
        if self.blocks is not None:
            self.blocks.append(list(jobs.values()))


def attributes(job: Any) -> tuple[str, ...]:
    """Return the names of a job's fields; "id" alone for a number."""
    if hasattr(job, "_fields"):
        return tuple(job._fields)
    return tuple(item.name for item in fields(job)) if is_dataclass(job) else ("id",)


def column_names(names: Iterable[str]) -> list[str]:
    """Return the columns of a job's fields."""
    return ["job" if name == "id" else name for name in names]


def _missing(kind: np.dtype[Any]) -> Any:
    """Return a missing value: NaN, -1 for whole numbers, and 0 or "" for others."""
    return {"f": math.nan, "i": -1}.get(kind.kind, np.zeros((), kind).item())


class Run(HoldsPolicies):
    """One simulated run of a model; in a notebook it shows a table of its figures.

    Attributes
    ----------
    scenario : Model
        What was run.
    policy : str
        Its name.
    seed : int
        Seed of all random numbers.
    decisions : int
        How often the policy was asked.
    held_s : tuple of float
        Per resource, amount times seconds from grant to release.
    closed_s : tuple of float
        Per resource, amount times seconds for which it was closed and held by nobody.
    measured : dict
        Figures of monitors that the model has created, such as a `cg.Container`.
    report : Report
        The scenario's.
    tally : Any
        Sums over the jobs, from `Report.tally`.
    plan : Any
        What the model planned ahead, or what else its figures need; None otherwise.
    rule : Any
        The policy itself, to repeat the run; None if there is none.
    """

    def __init__(
        self,
        scenario: Any,
        policy: str,
        seed: int,
        records: Records,
        decisions: int = 0,
        held_s: Sequence[float] = (),
        plan: Any = None,
        rule: Any = None,
        closed_s: Sequence[float] = (),
        measured: Mapping[str, float] = {},
    ) -> None:
        records.close()
        self.scenario, self.policy, self.seed = scenario, policy, seed
        self.report: Report = scenario.report(scenario)
        self.decisions = decisions
        self.held_s, self.closed_s = tuple(held_s), tuple(closed_s)
        self.measured = dict(measured)
        self.tally = records.tally
        self.plan, self.rule, self._log = plan, rule, records.claims
        self._names, self._blocks = records.names, records.blocks

    @property
    def title(self) -> str:
        """Scenario, policy and seed."""
        return f"{self.scenario.name}: {self.policy}, seed {self.seed}"

    @cached_property
    def jobs(self) -> np.ndarray[Any, Any]:
        """Structured array with one row per job, by its number.

        Columns: the job's own fields (`job` is its number); submit_s, dispatch_s
        (the first grant), start_s, finish_s, seconds, NaN for what has not
        happened; and the model's.
        """
        if self._blocks is None:
            raise InputError("this run kept no records; simulate with records=True")
        kinds = self.report.dtypes
        names = self._names or [*dict.fromkeys(["job", *TIMES, *kinds])]
        columns = [np.concatenate(blocks) for blocks in zip(*self._blocks)]
        columns = columns or [np.empty(0)] * len(names)
        jobs = np.empty(
            len(columns[0]),
            [
                (name, kinds.get(name, column.dtype))
                for name, column in zip(names, columns)
            ],
        )
        order = np.argsort(columns[0], kind="stable")
        for name, column in zip(names, columns):
            jobs[name] = column[order]
        return jobs

    @cached_property
    def claims(self) -> np.ndarray[Any, Any]:
        """Structured array of CLAIM: one row per job, claim, resource and phase that
        takes time, in this order.

        resource: its number. amount: how much the job held of it. phase:
        provisioning, executing, or the model's own. from_s, to_s: seconds.
        """
        if self._log is None:
            raise InputError("this run kept no records; simulate with records=True")
        return claims_table(self._log)

    def parts(self) -> dict[Any, Sequence[Part]]:
        """Return by job the number and amount of each resource last used."""
        return {
            job: parts
            for job, parts, _, started_s, *_ in self._log or ()
            if started_s == started_s
        }

    @cached_property
    def timeline(self) -> Timeline:
        """Resources and jobs of the run, for plots."""
        return self.report.timeline(self)

    def summary(self) -> Mapping[str, Any]:
        """Return the figures by name; the report's `metrics` describe them."""
        return self.report.summary(self)

    def __repr__(self) -> str:
        return visible(f"<{type(self).__name__} of {self.title}>")

    def _repr_html_(self) -> str:
        rows = [[name, figure_text(value)] for name, value in self.summary().items()]
        return Table(self.title, [["figure", "value"], *rows]).html()

    def by(self, column: str) -> list[dict[str, Any]]:
        """Return the figures of the jobs per value of a column of `rows()` or a log.

        One row per value, in their order. Raises InputError for a column
        that is not there.
        """
        tags, rows = self.report.tags, self.rows()
        check_one_of("column", column, [*tags, *(rows[0] if rows else ())])
        values = np.array(
            tags[column] if column in tags else [row[column] for row in rows]
        )
        require(
            values.dtype.kind != "f", "column", column, "one of names or whole numbers"
        )
        return [
            {column: value, **self.report.summary_of(self, values == value)}
            for value in np.unique(values).tolist()
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per job, as `Report.rows`."""
        return self.report.rows(self)

    def to_csv(self, path: str | Path) -> None:
        """Write the rows to a CSV file; an existing one is overwritten."""
        write_csv(path, self.rows())

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas DataFrame; needs the extra "pandas"."""
        return to_pandas(self.rows())
