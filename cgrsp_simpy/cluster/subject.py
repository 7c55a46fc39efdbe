"""How studies run schedulers of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.base.table import Table, figure_text
from cgrsp_simpy.cluster.jobs import Jobs
from cgrsp_simpy.cluster.logs import nodes_of
from cgrsp_simpy.cluster.metrics import by_class
from cgrsp_simpy.cluster.policies import COMPARED, make_scheduler
from cgrsp_simpy.cluster.view import Scheduler
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.studies.subject import Subject

# what a scheduler needs of the jobs, by the column that holds it
NEEDED = {
    "iterations": "the work of each job (iterations)",
    "family": "the model family of each job",
    "user": "jobs of at least two users",
    "qos": "the priority of each job's quality of service (qos)",
}

OVERRUN = (
    "easy expects such a job to end at once, conservative to run as long again; the"
    " others look at waiting jobs only"
)


class ClusterSubject(Subject):
    """Subject of studies; it checks that jobs have the columns that schedulers need."""

    pace_per_s = 4000.0  # a run also has jobs before and after the measured ones

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether jobs are drawn; a log is the same for every seed."""
        return not isinstance(self.model.source, Jobs)

    def left_out(self, names: Iterable[str] = COMPARED) -> dict[str, str]:
        """Return the schedulers that need columns the jobs lack, with reasons."""
        shortages = {name: self.model.shortage(make_scheduler(name)) for name in names}
        return {
            name: f"needs {' and '.join(columns)}, which the log does not have"
            for name, columns in shortages.items()
            if columns
        }

    def make_policy(self, policy: str | Scheduler) -> Scheduler:
        """Return a scheduler; InputError also if it needs a column that jobs lack."""
        scheduler: Scheduler = super().make_policy(policy)
        for column in self.model.shortage(scheduler)[:1]:
            raise InputError(
                f"scheduler {policy_name(scheduler)} needs"
                f" {NEEDED.get(column, column)}, which {self.model.offered} does"
                " not record"
            )
        return scheduler

    def completed(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """As `Subject.completed`; cluster: "8x8", "4x8+2x4" (nodes x GPUs) or file."""
        if isinstance(parameters.get("cluster"), int | str):
            parameters["cluster"] = nodes_of(str(parameters["cluster"]))
        sizes = parameters.get("cluster.sizes")
        for text in sizes if isinstance(sizes, tuple | list) else [sizes]:
            allowed = (
                "the GPUs of each node, such as 8+8; for nodes x GPUs, use"
                f" cluster={text}"
            )
            require("x" not in str(text), "cluster.sizes", text, allowed)
        return parameters

    def details(self, run: Any) -> tuple[Sequence[Table], Mapping[str, Any]]:
        """Return a table of waits by class, with notes on how far they are valid."""
        classes, notes, jobs = by_class(run), list[str](), run.jobs
        if not run.plan.settled:
            notes.append(f"{run.policy} is {run.report.infinite}")
        elif number := int(run.summary()["censored"]):
            notes.append(
                f"{number} jobs had not started when the last one came: their waits"
                " depend on where the jobs end"
            )
        longer = int((jobs["estimate_s"] < jobs["duration_s"]).sum())
        if longer and not jobs["killed"].any():
            notes.append(f"{longer} jobs run longer than their estimates: {OVERRUN}")
        cells = [list(map(figure_text, row.values())) for row in classes]
        tables = [Table("waits by class", [list(classes[0]), *cells], "\n".join(notes))]
        return (tables if classes else []), {"classes": classes, "notes": notes}
