"""Policy of least expected cost under a model of persistence, fitted to the past.

Zones alternate between up and down. The rate at which an up or down time ends depends
on its age class (a semi-Markov process), unless one class describes the history as
well. A dynamic program over remaining time and work, zones' states and the job's
resource decides whether to wait, run on demand or start on spot. This policy is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.market.series import Series
from cgrsp_simpy.market.zones import HOUR_S
from cgrsp_simpy.spot.view import Choice, View, ZoneView

STEPS = 600  # steps until the deadline
AGES_H = ((0.0,), (0.0, 1.0), (0.0, 0.25, 1.0, 4.0))
"""Lower ends of classes of age, hours: one class, two, or four."""
MOST_STATES = 16  # maximum number of joint states of all zones
MOVED = 0.1  # relative change of a price from which a plan is renewed
PLANNED_H = 3.0  # least age of a plan that is renewed


def exposure(
    history: Series, up: bool, ages_h: tuple[float, ...]
) -> tuple[Floats, Floats]:
    """Return the ends of up (down) times, and the hours at risk, per age class."""
    runs_h, ended = history.runs_s(up) / HOUR_S, history.ended(up)
    pairs = [
        (
            np.sum(ended & (one < runs_h) & (runs_h <= other)),
            np.clip(runs_h - one, 0.0, other - one).sum(),
        )
        for one, other in pairwise((*ages_h, np.inf))
    ]
    ends, risk_h = np.array(pairs, float).T
    return ends, risk_h


def hazards(history: Series, up: bool, ages_h: tuple[float, ...]) -> Floats:
    """Return the rate at which an up (down) time ends, per age class, 1/h.

    It is (ends + 1/2) / time at risk, by Jeffreys' prior of a Poisson rate.
    """
    ends, risk_h = exposure(history, up, ages_h)
    return np.asarray((ends + 0.5) / np.maximum(risk_h, history.step_s / HOUR_S))


def classes_of(histories: Sequence[Series]) -> tuple[float, ...]:
    """Return the best age classes by Akaike's criterion, within MOST_STATES."""

    def criterion(ages_h: tuple[float, ...]) -> float:
        total = 0.0
        for history, up in product(histories, (False, True)):
            (ends, risk_h) = exposure(history, up, ages_h)
            rates = hazards(history, up, ages_h)
            total += 2 * len(ages_h) - 2 * float(
                np.sum(ends * np.log(rates) - rates * risk_h)
            )
        return total

    one, *more = AGES_H
    few = [ages for ages in more if (2 * len(ages)) ** len(histories) <= MOST_STATES]
    return min([one, *few], key=criterion)


def transitions(history: Series, ages_h: tuple[float, ...], step_h: float) -> Floats:
    """Return a zone's transition probabilities for one step.

    States: down per age class, then up. Ages leave a class at rate 1 / its width.
    """
    classes = len(ages_h)
    rates = np.zeros((2 * classes, 2 * classes))
    for up in (False, True):
        states = up * classes + np.arange(classes)
        rates[states, (not up) * classes] = hazards(history, up, ages_h)
        rates[states[:-1], states[1:]] = 1 / np.diff(ages_h)
    np.fill_diagonal(rates, -rates.sum(axis=1))
    return np.asarray(scipy.linalg.expm(rates * step_h))


def seen(zone: ZoneView, now_s: float) -> Series:
    """Return a zone's history, extended by its course since the run began."""
    past = zone.history
    steps = past.steps + int(now_s // past.step_s)
    turns = zone.turns if zone.turns[0].up != past.status[-1] else zone.turns[1:]
    since = [past.steps + max(0, int(turn.from_s // past.step_s)) for turn in turns]
    changes = (*past.changes, *(poll for poll in since if poll < steps))
    return Series(past.name, past.step_s, steps, past.up, changes)


class ExpectedCost:
    """The resource of least expected cost, evaluated at each step of a `Plan`."""

    plan: Plan | None = None

    def __call__(self, view: View) -> Choice:
        if self.plan is None or self.plan.stale(view):
            self.plan = Plan(view)
        return Choice(self.plan.best(view), view.now_s + self.plan.step_s)


class Plan:
    """The dynamic program. Time and work left are in steps; slack is their difference.

    value: expected cost if the job is idle, on demand or in each zone; one row per
    state of the zones, one column per slack. The overhead of a start counts as added
    work; the rest of an interrupted changeover is lost, unlike in the run. Prices and
    the checkpoint's region are assumed constant, and on demand available. Of many
    zones, those that save most per hour, weighted by availability, are used.
    """

    def __init__(self, view: View) -> None:
        job, saved, dear = view.job, view.checkpoints, view.dear.usd_per_h
        self.made_s, self.at, self.step_s = view.now_s, view.at, job.deadline_s / STEPS
        known = {zone: seen(zone, view.now_s) for zone in view.zones}
        worth = {
            zone: series.availability * (dear - zone.usd_per_h)
            for zone, series in known.items()
        }
        most = MOST_STATES.bit_length() - 1
        weighed = sorted(sorted(known, key=lambda zone: -worth[zone])[:most])
        histories = [known[zone] for zone in weighed]
        self.numbers = [zone.number for zone in weighed]
        self.prices = [dear, *(zone.usd_per_h for zone in weighed)]
        self.ages_h = classes_of(histories)
        classes, step_h = len(self.ages_h), self.step_s / HOUR_S
        self.chance: npt.NDArray[Any] = np.eye(1)
        for history in histories:
            self.chance = np.kron(
                self.chance, transitions(history, self.ages_h, step_h)
            )
        states = list(product(range(2 * classes), repeat=len(weighed)))
        self.up = np.array(
            [[state[n] >= classes for state in states] for n in range(len(weighed))]
        )
        self.stays = self.up | np.array([[zone.kept] for zone in weighed])
        self.usd = step_h * np.array(self.prices)
        self.moving = [view.moving_usd(zone.number) for zone in weighed]
        self.storing = step_h * saved.storing_usd_per_h
        self.start = job.overhead_s / self.step_s  # steps, like `lost`
        self.written = saved.write_s / self.step_s
        self.lost = self.written + saved.abrupt * saved.checkpoint_s / 2 / self.step_s
        self.slack = np.arange(max(0, int(view.slack_s // self.step_s)) + 2)
        least = 2 * self.start + saved.most_lost_s / self.step_s
        self.late = [self.slack <= least, self.slack <= least + self.written]
        self.choices = self.solved(
            int((job.deadline_s - view.now_s) // self.step_s) + 1
        )

    def stale(self, view: View) -> bool:
        """Return whether a price, or the region of the checkpoint, has changed."""
        now = [
            view.dear.usd_per_h,
            *(view.zones[number].usd_per_h for number in self.numbers),
        ]
        moved = any(abs(a - b) > MOVED * b for a, b in zip(now, self.prices))
        away = view.checkpoints.moving_usd > 0 and view.at != self.at
        return (moved or away) and view.now_s >= self.made_s + PLANNED_H * HOUR_S

    def solved(self, most: int) -> npt.NDArray[np.int8]:
        """Return the best choices, by time left, idle or on demand, state and slack.

        A choice is the index of a zone, -1 for idle, or -2 for on demand.
        """
        zones, states = self.up.shape
        value = np.zeros((2 + zones, states, len(self.slack)))
        choices = np.empty((most + 1, 2, states, len(self.slack)), np.int8)
        for left in range(1, most + 1):
            work = left - self.slack  # steps that are left
            value, choices[left] = self.step(value, np.maximum(work, 0))
            value += self.storing
            value[:, :, work <= 0] = 0.0
        return choices

    def step(
        self, after: Floats, work: npt.NDArray[Any]
    ) -> tuple[Floats, npt.NDArray[np.int8]]:
        """Return the values one step earlier, and the best choices."""
        mean = self.chance @ after
        dear, *cheap = self.usd
        value = np.empty_like(mean)
        wait = np.concatenate([mean[0][:, :1], mean[0][:, :-1]], axis=1)
        stay, taken = dear + mean[1], self.less(after[0], self.lost)
        begin = [wait, dear + self.less(mean[1], self.start)]
        for zone, (stays, usd) in enumerate(zip(self.stays, cheap)):
            # a preempted job is idle
            kept = self.chance @ np.where(stays[:, None], after[2 + zone], taken)
            value[2 + zone] = usd + kept
            begin.append(usd + self.moving[zone] + self.less(kept, self.start))
        idle = np.stack(begin)
        paid = np.stack([self.less(values, self.written) for values in begin])
        paid[1] = stay
        for choice, late, more in zip((idle, paid), self.late, (self.start, 0.0)):
            choice[2:][~self.up] = np.inf
            choice[:, :, late] = np.inf
            # on demand to the end; the storage of this step is added with the others'
            steps = work + more
            choice[1][:, late] = (dear * steps + self.storing * (steps - 1))[late]
        value[0], value[1] = idle.min(axis=0), paid.min(axis=0)
        names = np.array([-1, -2, *range(len(self.up))], np.int8)
        return value, names[np.stack([idle.argmin(axis=0), paid.argmin(axis=0)])]

    def less(self, value: Floats, steps: float) -> Floats:
        """Return values for a slack reduced by `steps`, interpolated."""
        if not steps:
            return value
        at = np.clip(self.slack - steps, 0, None)
        low = at.astype(int)
        high = np.minimum(low + 1, self.slack[-1])
        return np.asarray(value[:, low] + (at - low) * (value[:, high] - value[:, low]))

    def best(self, view: View) -> int | None:
        """Return the best resource for a view."""
        classes, state = len(self.ages_h), 0
        for number in self.numbers:
            zone = view.zones[number]
            age_h = (view.now_s - zone.since_s) / HOUR_S
            age = sum(age_h >= edge for edge in self.ages_h) - 1
            state = state * 2 * classes + zone.up * classes + age
        slack = min(int(view.slack_s / self.step_s), int(self.slack[-1]))
        left = min(slack + round(view.left_s / self.step_s), len(self.choices) - 1)
        choice = int(self.choices[max(left, 1), int(view.on is not None), state, slack])
        if choice >= 0:
            return self.numbers[choice]
        return view.on_demand if choice == -2 else None
