"""What a run of any model leaves: one row a job, who held what, and figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cgrsp_simpy.engine.claim import Held, claims_table
from cgrsp_simpy.engine.events import job_id
from cgrsp_simpy.model.checks import InputError, check_one_of, require
from cgrsp_simpy.model.shown import ShownRun
from cgrsp_simpy.model.table import to_pandas, write_csv
from cgrsp_simpy.model.timeline import Timeline

if TYPE_CHECKING:
    import pandas

    from cgrsp_simpy.engine.model import Model
    from cgrsp_simpy.engine.places import Place

__all__ = ["Records", "Run", "Tally"]

BLOCK = 8192  # rows that are summed at a time
TIMES = ("submit_s", "dispatch_s", "start_s", "finish_s")
KINDS = dict.fromkeys(TIMES, "f8")
Columns = Mapping[str, np.ndarray[Any, Any]]


class Tally:
    """The waits and responses of jobs, seconds, and the last completion.

    wait_s, response_s: blocks, of shape (jobs,); a job that never started has no wait.
    """

    def __init__(self) -> None:
        self.wait_s: list[np.ndarray[Any, Any]] = []
        self.response_s: list[np.ndarray[Any, Any]] = []
        self.end_s = 0.0

    def add(self, jobs: Columns) -> None:
        """Add rows, given as columns."""
        wait_s = jobs["start_s"] - jobs["submit_s"]
        self.wait_s.append(wait_s[~np.isnan(wait_s)])
        self.response_s.append(jobs["finish_s"] - jobs["submit_s"])
        self.end_s = max(self.end_s, float(jobs["finish_s"].max(initial=0.0)))

    def figures(self) -> dict[str, float]:
        """Mean and 95th percentile of the wait, mean response; NaN of no jobs."""
        wait_s, response_s = (
            np.concatenate(blocks) if blocks else np.empty(0)
            for blocks in (self.wait_s, self.response_s)
        )
        return {
            "wait_s": float(wait_s.mean()) if len(wait_s) else math.nan,
            "wait_p95_s": float(np.percentile(wait_s, 95)) if len(wait_s) else math.nan,
            "response_s": float(response_s.mean()) if len(response_s) else math.nan,
        }


class Records:
    """Takes the rows of a run as jobs end; tallies them block by block, and keeps them if asked to.

    names: of the columns, once there is a row: the job's own fields, `TIMES`, and the model's.
    number: of rows.
    """

    def __init__(self, model: Model, keep: bool) -> None:
        self.tally, self.number, self.names = model.tally(), 0, list[str]()
        self.blocks: list[list[np.ndarray[Any, Any]]] | None = [] if keep else None
        self._own = tuple(model.columns)
        self._rows: list[tuple[Any, ...]] = []
        self._nothing = (math.nan,) * len(self._own)
        self._has_submit = self._is_tuple = False

    def add(
        self,
        job: Any,
        submit_s: float,
        dispatch_s: float,
        start_s: float,
        finish_s: float,
        notes: tuple[Any, ...],
    ) -> None:
        """Take the row of a job; notes: the model's own columns, in their order."""
        if not self.names:
            self._name(job)
        head = job if self._is_tuple else self._fields_of(job)
        times = (
            (dispatch_s, start_s, finish_s)
            if self._has_submit
            else (submit_s, dispatch_s, start_s, finish_s)
        )
        self._rows.append(head + times + (notes or self._nothing))
        self.number += 1
        if len(self._rows) >= BLOCK:
            self.close()

    def close(self) -> None:
        """Tally what is left."""
        if self._rows:
            columns = zip(self.names, zip(*self._rows))
            self._rows = []
            self.take({name: np.array(each, KINDS.get(name)) for name, each in columns})

    def take(self, jobs: Columns) -> None:
        """Take rows, given as columns."""
        self.names = list(jobs)
        self.tally.add(jobs)
        if self.blocks is not None:
            self.blocks.append(list(jobs.values()))

    def _name(self, job: Any) -> None:
        own = list(getattr(job, "_fields", ()))
        self._is_tuple = bool(own)
        if not own and is_dataclass(job):
            own = [item.name for item in fields(job)]
        self._fields, own = (
            own,
            ["job" if name == "id" else name for name in own] or ["job"],
        )
        self._has_submit = "submit_s" in own
        self.names = [*own, *TIMES[self._has_submit :], *self._own]

    def _fields_of(self, job: Any) -> tuple[Any, ...]:
        return tuple(getattr(job, name) for name in self._fields) or (job_id(job),)


class Run(ShownRun):
    """One simulated run, of any model.

    Attributes
    ----------
    scenario : Model
        What was run.
    policy : str
        Its name.
    seed : int
        Of all random numbers.
    decisions : int
        How often the policy was asked.
    held_s : tuple of float
        By place, amount times seconds for which it was held, from grant to release.
    tally : Any
        What the scenario sums up of its jobs.
    """

    def __init__(
        self,
        scenario: Model,
        policy: str,
        seed: int,
        records: Records,
        places: Sequence[Place] = (),
        log: Sequence[Held] | None = None,
        decisions: int = 0,
        held_s: Sequence[float] = (),
    ) -> None:
        records.close()
        self.scenario, self.policy, self.seed = scenario, policy, seed
        self.decisions, self.held_s, self.tally = decisions, tuple(held_s), records.tally
        self._places, self._log = places, log
        self._names, self._blocks = records.names, records.blocks

    @property
    def title(self) -> str:
        """The scenario, the policy and the seed."""
        return f"{self.scenario.name}: {self.policy}, seed {self.seed}"

    @cached_property
    def jobs(self) -> np.ndarray[Any, Any]:
        """One row a job, by its number: a structured array.

        Columns: the job's own fields (`job` is its number); submit_s, dispatch_s (places were first
        granted), start_s, finish_s, seconds, NaN for what has not happened; and the model's.
        """
        if self._blocks is None:
            raise InputError("this run kept no records; simulate with records=True")
        columns = [np.concatenate(blocks) for blocks in zip(*self._blocks)]
        kinds = self.scenario.kinds_of_columns()
        described = [
            (name, kinds.get(name, column.dtype))
            for name, column in zip(self._names, columns)
        ]
        jobs = np.empty(len(columns[0]) if columns else 0, described)
        if columns:
            order = np.argsort(columns[0], kind="stable")
            for name, column in zip(self._names, columns):
                jobs[name] = column[order]
        return jobs

    @cached_property
    def claims(self) -> np.ndarray[Any, Any]:
        """Who held what: one row a job, place and phase that takes time, by time of grant; a
        structured array of CLAIM.

        place: number of the place. amount: what the job held of it. phase: provisioning, executing,
        or the model's own. from_s, to_s: seconds.
        """
        if self._log is None:
            raise InputError("this run kept no records; simulate with records=True")
        return claims_table(self._log)

    @cached_property
    def timeline(self) -> Timeline:
        """The run as places and jobs, which it is drawn from."""
        return self.scenario.timeline(self)

    def summary(self) -> Mapping[str, Any]:
        """The figures by name; the scenario's `metrics` say what they are."""
        return self.scenario.summary(self)

    def by(self, column: str) -> list[dict[str, Any]]:
        """The figures of the jobs of each value of a column of `jobs`, or of a log's own.

        Returns a row for each value, in their order. Raises InputError for a column that is not
        there.
        """
        tags = self.scenario.tags
        if column in tags:
            return tags.report(
                column, lambda chosen: self.scenario.summary_of(self, chosen)
            )
        names = self.jobs.dtype.names or ()
        check_one_of("column", column, [*names, *tags])
        values = self.jobs[column]
        require(
            values.dtype.kind != "f", "column", column, "one of names or whole numbers"
        )
        return [
            {column: value, **self.scenario.summary_of(self, values == value)}
            for value in np.unique(values).tolist()
        ]

    def rows(self) -> list[dict[str, Any]]:
        """One dict a job: its columns, its places in words, and a log's own columns."""
        return self.scenario.rows(self)

    def to_csv(self, path: str | Path) -> None:
        """Write the rows to a CSV file, one a job; one that is there is overwritten."""
        write_csv(path, self.rows())

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame; needs the extra "pandas"."""
        return to_pandas(self.rows())
