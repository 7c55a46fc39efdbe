"""Step functions of time: counts or weights of present intervals, and averages."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.base.arrays import Floats


def counted(begins: npt.ArrayLike, ends: npt.ArrayLike) -> tuple[Any, Any]:
    """Return the sorted begin and end times, and the number present from each."""
    begins, ends = np.asarray(begins, float), np.asarray(ends, float)
    return summed_steps(begins, ends, np.ones(len(begins), int))


def summed_steps(begins: Floats, ends: Floats, weights: Any) -> tuple[Any, Any]:
    """Return the sorted begin and end times, and the weight present from each."""
    times = np.concatenate([begins, ends])
    changes = np.concatenate([weights, -weights])
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(changes[order])


def averages(times: Floats, values: Floats, edges: Floats) -> Floats:
    """Return a step function's time averages between edges; its initial value is 0."""
    times = np.concatenate([edges[:1], times, edges[-1:]]).clip(*edges[[0, -1]])
    area = np.append(0.0, np.cumsum(np.append(0.0, values) * np.diff(times)))
    return np.asarray(np.diff(np.interp(edges, times, area)) / np.diff(edges))
