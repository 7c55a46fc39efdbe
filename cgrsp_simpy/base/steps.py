"""Step functions of time: numbers of what is present, and averages."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.base.arrays import Floats


def counted(begins: npt.ArrayLike, ends: npt.ArrayLike) -> tuple[Any, Any]:
    """Return the times of begins and ends in order, and the numbers present since."""
    begins, ends = np.asarray(begins, float), np.asarray(ends, float)
    return summed_steps(begins, ends, np.ones(len(begins), int))


def summed_steps(begins: Floats, ends: Floats, weights: Any) -> tuple[Any, Any]:
    """Return the same for the sum of the weights of what is present."""
    times = np.concatenate([begins, ends])
    changes = np.concatenate([weights, -weights])
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(changes[order])


def averages(times: Floats, values: Floats, edges: Floats) -> Floats:
    """Return time averages of a step function, first 0, between successive edges."""
    times = np.concatenate([edges[:1], times, edges[-1:]]).clip(*edges[[0, -1]])
    area = np.append(0.0, np.cumsum(np.append(0.0, values) * np.diff(times)))
    return np.asarray(np.diff(np.interp(edges, times, area)) / np.diff(edges))
