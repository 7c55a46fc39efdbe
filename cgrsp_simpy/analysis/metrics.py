"""From a run's records to figures that its summary leaves out; several of them by two routes that must agree."""

from __future__ import annotations

import numpy as np

from cgrsp_simpy.model.market import Status
from cgrsp_simpy.model.record import Run
from cgrsp_simpy.model.timeline import Timeline

__all__ = ["in_system", "littles_law", "queue_length", "slot_hours", "time_average", "utilisation", "waiting"]


def queue_length(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Jobs submitted and not yet dispatched, as a step function: times in seconds, and the number from each time on."""
    return _steps(run.jobs["submit_s"], run.jobs["dispatch_s"])


def waiting(timeline: Timeline) -> tuple[np.ndarray, np.ndarray]:
    """Jobs that wait in a run of any model, as a step function: times in seconds, and the number from each time on."""
    visits = timeline.visits
    never = np.isnan(visits["granted_s"])
    return _steps(visits["ready_s"], np.where(never, visits["end_s"], visits["granted_s"]))


def in_system(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Jobs submitted and not yet completed, as a step function: times in seconds, and the number from each time on."""
    return _steps(run.jobs["submit_s"], run.jobs["finish_s"])


def _steps(ups: np.ndarray, downs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    times = np.concatenate([ups, downs])
    changes = np.concatenate([np.ones(len(ups), int), -np.ones(len(downs), int)])
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(changes[order])


def time_average(times_s: np.ndarray, values: np.ndarray, end_s: float) -> float:
    """Average from 0 to end_s of a step function that is 0 before its first time."""
    return float(np.sum(values * np.diff(np.append(times_s, end_s))) / end_s)


def littles_law(run: Run) -> tuple[float, float]:
    """L and lambda W of a whole run: the mean number of jobs in the system, over time and over jobs."""
    end_s = run.totals.end_s
    response_s = run.jobs["finish_s"] - run.jobs["submit_s"]  # thesis Eq. 3.8
    return time_average(*in_system(run), end_s), len(run.jobs) / end_s * float(response_s.mean())


def slot_hours(run: Run) -> dict[str, float]:
    """Where the slots' hours go, up to the last completion, by name; they sum to slots x hours.

    service; provisioning_high, _medium and _low, by the status met; idle_held: idle while jobs wait; idle_empty: while none does.
    """
    jobs, end_s, slots = run.jobs, run.totals.end_s, len(run.slot_held_s)
    hours = {"service": float(jobs["service_s"] @ jobs["gpus"]) / 3600}
    for status in Status:
        own = jobs[jobs["status"] == status]
        hours[f"provisioning_{status.name.lower()}"] = float(own["delay_s"] @ own["gpus"]) / 3600
    held = [_steps(np.repeat(jobs[name], jobs["gpus"]), np.empty(0)) for name in ("dispatch_s", "finish_s")]
    times_s = np.unique(np.concatenate([queue_length(run)[0], *(times for times, _ in held)]))
    taken, given_back = (_at(times_s, *steps) for steps in held)
    idle = slots - taken + given_back
    waits = _at(times_s, *queue_length(run)) > 0
    hours["idle_held"] = time_average(times_s, idle * waits, end_s) * end_s / 3600
    hours["idle_empty"] = slots * end_s / 3600 - sum(hours.values())
    return hours


def _at(times_s: np.ndarray, changes_s: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values of a step function that is 0 before its first time."""
    place = np.searchsorted(changes_s, times_s, side="right") - 1
    return np.where(place < 0, 0, values[np.maximum(place, 0)])


def utilisation(run: Run) -> tuple[float, float]:
    """Share of slot time held, provisioning included, up to the last completion: from the slots and from the jobs."""
    capacity_s = len(run.slot_held_s) * run.totals.end_s
    held_s = (run.jobs["finish_s"] - run.jobs["dispatch_s"]) * run.jobs["gpus"]
    return sum(run.slot_held_s) / capacity_s, float(held_s.sum()) / capacity_s
