"""How studies run schedulers of a cluster."""

from __future__ import annotations

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.cluster.jobs import Jobs, Offered
from cgrsp_simpy.cluster.policies import COMPARED, make_scheduler
from cgrsp_simpy.cluster.view import Scheduler
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.studies.subject import Subject

NEEDED = {  # what jobs that lack a column do not tell
    "iterations": "the work of each job (iterations)",
    "family": "the model family of each job",
    "user": "jobs of at least two users",
    "qos": "the priority of each job's quality of service (qos)",
}


class ClusterSubject(Subject):
    """Schedulers run if the jobs have the columns that they need."""

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether jobs are drawn; a log is the same for every seed."""
        return not isinstance(self.model.source, Jobs)

    def default_policies(self) -> tuple[str, ...]:
        """Return the schedulers of a comparison, except those whose columns the jobs
        lack.
        """
        return tuple(
            name for name in COMPARED if not self.model.shortage(make_scheduler(name))
        )

    def make_policy(self, policy: str | Scheduler) -> Scheduler:
        """As of `Model`; InputError also for a scheduler that needs a column that the
        jobs lack.
        """
        made: Scheduler = super().make_policy(policy)
        for column in self.model.shortage(made)[:1]:
            raise InputError(
                f"scheduler {policy_name(made)} needs {NEEDED.get(column, column)},"
                f" which {self.model.offered} does not tell"
            )
        return made

    @property
    def parts(self) -> dict[str, Offered]:
        return (
            {"source": self.model.source}
            if isinstance(self.model.source, Offered)
            else {}
        )
