"""A policy that uses persistence: least expected cost under a law fitted to what was seen.

Each zone is up and down in turn; the rate at which that ends depends on how long it has lasted, by
classes of age (a semi-Markov process), or not, if that describes the zones' history as well. The
rates are fitted to that history. Then a dynamic program over the time left, the work left, the
state of the zones and where the job is tells whether to wait, to compute on demand, or to begin on
spot. This policy is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from cgrsp_simpy.logs.market import Series
from cgrsp_simpy.spot.market import HOUR_S, Job
from cgrsp_simpy.spot.view import Choice, View

Floats = npt.NDArray[np.float64]
STEPS = 600  # of the time until the deadline
AGES_H = ((0.0,), (0.0, 1.0), (0.0, 0.25, 1.0, 4.0))
"""Where classes of age begin, hours: none but the first, two classes, four."""
MOST_STATES = 64  # of all zones together


def exposure(history: Series, up: bool, ages_h: tuple[float, ...]) -> tuple[Floats, Floats]:
    """How many times up, or down, ended in each class of age, and the time at risk there, hours."""
    runs_h, ended = history.runs_s(up) / HOUR_S, history.ended(up)
    ends, risk_h = [], []
    for one, other in pairwise((*ages_h, np.inf)):
        ends.append(float(np.sum(ended & (one < runs_h) & (runs_h <= other))))
        risk_h.append(float(np.clip(runs_h - one, 0.0, other - one).sum()))
    return np.array(ends), np.array(risk_h)


def hazards(history: Series, up: bool, ages_h: tuple[float, ...]) -> Floats:
    """The rate at which a time up, or down, ends, by class of age, 1/h.

    Ends over the time at risk, with half an end more (Jeffreys' prior of a Poisson rate), since
    none may have been seen.
    """
    ends, risk_h = exposure(history, up, ages_h)
    return np.asarray((ends + 0.5) / np.maximum(risk_h, history.step_s / HOUR_S))


def classes_of(histories: Sequence[Series]) -> tuple[float, ...]:
    """The classes of age that describe zones best by Akaike's criterion, of those of AGES_H that do
    not make too many states.
    """

    def criterion(ages_h: tuple[float, ...]) -> float:
        total = 0.0
        for history, up in product(histories, (False, True)):
            (ends, risk_h), rates = exposure(history, up, ages_h), hazards(history, up, ages_h)
            total += 2 * len(ages_h) - 2 * float(np.sum(ends * np.log(rates) - rates * risk_h))
        return total

    one, *more = AGES_H
    few = [ages for ages in more if (2 * len(ages)) ** len(histories) <= MOST_STATES]
    return min([one, *few], key=criterion)


def transitions(history: Series, ages_h: tuple[float, ...], step_h: float) -> Floats:
    """Probabilities from state to state of a zone in a step: down by class of age, then up by class
    of age. Within a class ages go on at the rate 1 / its width.
    """
    classes = len(ages_h)
    rates = np.zeros((2 * classes, 2 * classes))
    for up in (False, True):
        other = 0 if up else classes
        for age, rate in enumerate(hazards(history, up, ages_h)):
            here = up * classes + age
            rates[here, other] = rate
            if age + 1 < classes:
                rates[here, here + 1] = 1 / (ages_h[age + 1] - ages_h[age])
    np.fill_diagonal(rates, -rates.sum(axis=1))
    return np.asarray(scipy.linalg.expm(rates * step_h))


def expected_cost(view: View) -> Choice:
    """The place of least expected cost from now on; asked again after each step of the program."""
    plan = _plan(view.job, tuple(zone.history for zone in view.zones))
    return Choice(plan.best(view), view.now_s + plan.step_s)


@lru_cache(maxsize=8)
def _plan(job: Job, histories: tuple[Series, ...]) -> _Plan:
    return _Plan(job, histories)


class _Plan:
    """The dynamic program. Time left and work left are counted in steps; slack is their difference.

    value: of the job idle, on demand and in each zone; a row a state of the zones, a column a
    slack. The overhead of a start is taken as work that is added; of a changeover cut short, the
    rest of the overhead is then lost as well, which the real run does not lose.
    """

    def __init__(self, job: Job, histories: tuple[Series, ...]) -> None:
        self.job, zones = job, len(histories)
        self.step_s = job.deadline_s / STEPS
        self.ages_h = classes_of(histories)
        classes = len(self.ages_h)
        each = [transitions(history, self.ages_h, self.step_s / HOUR_S) for history in histories]
        self.chance: npt.NDArray[Any] = each[0]
        for other in each[1:]:
            self.chance = np.kron(self.chance, other)
        states = list(product(range(2 * classes), repeat=zones))
        self.up = np.array([[state[zone] >= classes for state in states] for zone in range(zones)])
        self.start = job.overhead_s / self.step_s  # in steps
        self.slack = np.arange(int((job.deadline_s - job.work_s) // self.step_s) + 2)
        self.late = self.slack <= 2 * self.start
        self.usd = self.step_s / HOUR_S * np.array([job.on_demand_usd_per_h, job.spot_usd_per_h])
        self.choices = self.solved()

    def solved(self) -> npt.NDArray[np.int8]:
        """The best place from idle and from on demand: by time left, state and slack; a zone's
        index, -1 for idle, -2 for on demand.
        """
        most = STEPS + 1
        zones, states = self.up.shape
        value = np.zeros((2 + zones, states, len(self.slack)))
        choices = np.empty((most + 1, 2, states, len(self.slack)), np.int8)
        for left in range(1, most + 1):
            work = left - self.slack  # steps that are left
            value, choices[left] = self.step(value, np.maximum(work, 0))
            value[:, :, work <= 0] = 0.0
        return choices

    def step(self, after: Floats, work: npt.NDArray[Any]) -> tuple[Floats, npt.NDArray[np.int8]]:
        """The values one step earlier, and the best places from idle and on demand."""
        mean = self.chance @ after
        dear, cheap = self.usd
        value = np.empty_like(mean)
        wait = np.concatenate([mean[0][:, :1], mean[0][:, :-1]], axis=1)
        stay = dear + mean[1]
        begin = [dear + self.begun(mean[1])]
        for zone, up in enumerate(self.up):
            # who is still there goes on, who is taken is idle
            kept = self.chance @ np.where(up[:, None], after[2 + zone], after[0])
            value[2 + zone] = cheap + kept
            begin.append(np.where(up[:, None], cheap + self.begun(kept), np.inf))
        idle = np.stack([wait, *begin])
        paid = np.stack([wait, stay, *begin[1:]])
        idle[:, :, self.late] = np.inf
        paid[:, :, self.late] = np.inf
        idle[1][:, self.late] = (dear * (work + self.start))[self.late]
        paid[1][:, self.late] = (dear * work)[self.late]
        value[0], value[1] = idle.min(axis=0), paid.min(axis=0)
        names = np.array([-1, -2, *range(len(self.up))], np.int8)
        return value, names[np.stack([idle.argmin(axis=0), paid.argmin(axis=0)])]

    def begun(self, value: Floats) -> Floats:
        """Values with the slack that a start leaves, between whole steps of it."""
        at = np.clip(self.slack - self.start, 0, None)
        low = at.astype(int)
        high = np.minimum(low + 1, self.slack[-1])
        return np.asarray(value[:, low] + (at - low) * (value[:, high] - value[:, low]))

    def best(self, view: View) -> int | None:
        """The place for a view."""
        classes, state = len(self.ages_h), 0
        for zone in view.zones:
            age_h = (view.now_s - zone.since_s) / HOUR_S
            age = sum(age_h >= edge for edge in self.ages_h) - 1
            state = state * 2 * classes + zone.up * classes + age
        slack = min(int(view.slack_s / self.step_s), int(self.slack[-1]))
        left = min(slack + round(view.left_s / self.step_s), len(self.choices) - 1)
        choice = int(self.choices[max(left, 1), int(view.on is not None), state, slack])
        return {-1: None, -2: view.on_demand}.get(choice, choice)
