"""How studies run schedulers of a cluster."""

from __future__ import annotations

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.cluster.jobs import Jobs, Offered
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
        """Return a scheduler from its text; InputError also if it needs a column that
        the jobs lack.
        """
        scheduler: Scheduler = super().make_policy(policy)
        for column in self.model.shortage(scheduler)[:1]:
            raise InputError(
                f"scheduler {policy_name(scheduler)} needs"
                f" {NEEDED.get(column, column)}, which {self.model.offered} does not"
                " tell"
            )
        return scheduler

    @property
    def parts(self) -> dict[str, Offered]:
        source = self.model.source
        return {"source": source} if isinstance(source, Offered) else {}
