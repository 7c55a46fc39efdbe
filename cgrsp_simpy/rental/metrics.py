"""From a run's records to figures that its summary leaves out; several of them by two routes
that must agree.
"""

from __future__ import annotations

import numpy as np

from cgrsp_simpy.analysis.metrics import queue_length, step_function, time_average, values_at
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.model.checks import require
from cgrsp_simpy.rental.market import Status


def slot_hours(run: Run) -> dict[str, float]:
    """Where the slots' hours go, from time 0 to the last completion, by name; they sum to slots x
    hours.

    service; provisioning_high, _medium and _low, by the status met; idle_held: idle while jobs
    wait; idle_empty: while none does. Raises InputError for terms under which jobs are stopped:
    one record tells of all stays of a job.
    """
    terms = run.scenario.terms
    require("away_s" not in terms.columns, "terms", terms, "such that no job is stopped")
    jobs, end_s, slots = run.jobs, run.tally.end_s, len(run.held_s)
    hours = {"service": float(jobs["service_s"] @ jobs["gpus"]) / 3600}
    for status in Status:
        own = jobs[jobs["status"] == status]
        hours[f"provisioning_{status.name.lower()}"] = float(own["delay_s"] @ own["gpus"]) / 3600
    held = [
        step_function(np.repeat(jobs[name], jobs["gpus"]), np.empty(0))
        for name in ("dispatch_s", "finish_s")
    ]
    times_s = np.unique(np.concatenate([queue_length(run)[0], *(times for times, _ in held)]))
    taken, given_back = (values_at(times_s, *steps) for steps in held)
    idle = slots - taken + given_back
    waits = values_at(times_s, *queue_length(run)) > 0
    hours["idle_held"] = time_average(times_s, idle * waits, end_s) * end_s / 3600
    hours["idle_empty"] = slots * end_s / 3600 - sum(hours.values())
    return hours


def utilisation(run: Run) -> tuple[float, float]:
    """Share of slot time held, provisioning included, from time 0 to the last completion: from the
    slots and from the jobs.
    """
    capacity_s = len(run.held_s) * run.tally.end_s
    jobs = run.jobs
    away_s = jobs["away_s"] if "away_s" in run.scenario.terms.columns else 0.0
    held_s = (jobs["finish_s"] - jobs["dispatch_s"] - away_s) * jobs["gpus"]
    return sum(run.held_s) / capacity_s, float(held_s.sum()) / capacity_s
