"""Number of jobs over time in a run of any model, and averages."""

from __future__ import annotations

import numpy as np

from cgrsp_simpy.base.timeline import Timed, Timeline, counted, timeline_of


def queue_length(run: Timed | Timeline) -> tuple[np.ndarray, np.ndarray]:
    """Return the queue length as a step function: times in seconds, and lengths."""
    visits = timeline_of(run).visits
    never = np.isnan(visits["granted_s"])
    return counted(
        visits["ready_s"], np.where(never, visits["end_s"], visits["granted_s"])
    )


def time_average(times_s: np.ndarray, values: np.ndarray, end_s: float) -> float:
    """Return the average of a step function, initially 0, from 0 to end_s."""
    return float(np.sum(values * np.diff(np.append(times_s, end_s))) / end_s)


def littles_law(run: Timed | Timeline) -> tuple[float, float]:
    """Return L, the time-average number in system, and lambda W, both from records."""
    visits = timeline_of(run).visits
    # thesis Eq. 3.8
    end_s = float(visits["end_s"].max())
    response_s = visits["end_s"] - visits["ready_s"]
    in_system = counted(visits["ready_s"], visits["end_s"])
    rate_per_s = len(visits) / end_s
    return time_average(*in_system, end_s), rate_per_s * float(response_s.mean())
