"""Dispatching as a Gymnasium environment: a step dispatches a job or holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from cgrsp_simpy.base.checks import needed, require
from cgrsp_simpy.base.policy import Wake
from cgrsp_simpy.decide.recommend import COST, Prices, given_or_usual
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.market.law import Status
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.view import SlotView, View
from cgrsp_simpy.rental.workload import widths
from cgrsp_simpy.studies.subject import subject_of

LOOK_S = 60.0  # between questions during a hold
MOST_HELD = 1440  # consecutive holds, a day at LOOK_S; then a hold is not allowed
# limits of an observation, which is clipped to them
MOST_H, MOST_JOBS = 48.0, 10_000.0

Seen = np.ndarray[Any, Any]
Told = dict[str, Any]
Pick = Callable[[View, Sequence[Job]], Job]
Look = Callable[[View], float | None]


def earliest_due(view: View, jobs: Sequence[Job]) -> Job:
    """Return the job of a class that is due first, of those that can meet their
    deadline.
    """
    fastest_s = view.fastest_s()[jobs[0].complexity - 1]
    able = [job for job in jobs if job.deadline_s >= view.now_s + fastest_s]
    return min(able or jobs, key=lambda job: (job.deadline_s, job.id))


def in_a_minute(view: View) -> float:
    """Return when to ask again about a hold if no event comes before, in seconds."""
    return view.now_s + LOOK_S


def gym_env(
    scenario: Scenario,
    prices: Prices | None = None,
    pick: Pick = earliest_due,
    look: Look = in_a_minute,
) -> Any:
    """Return a Gymnasium environment whose agent dispatches jobs; needs the extra rl.

    Action n sends a job of class n // types to an idle slot of type n % types; the last
    action holds. A class is a deadline class and a complexity, in that order. Allowed
    actions are in `info["action_mask"]`; any other counts as a hold. A decision
    continues at the same instant until the agent holds or nothing can be sent.

    The observation is flat: by class the number of pending jobs and the least time to a
    deadline in hours; by type the number of idle slots and the chances of High, Medium
    and Low stock (by the model, or as seen); the hour of day as sine and cosine; and
    the hours until a busy slot is expected to end. The reward is minus the cost of the
    jobs that ended since the last step: rent, misses, lateness and waiting, USD. Its
    sum over a run is minus the bill of `Prices` without the slots. `reset` takes the
    run's seed, or draws one.

    scenario: jobs of one slot each. prices: as in `advise`. pick: chooses the job to
    send among the pending jobs of a class, in order of submission. look: returns when
    to ask again about a hold if no event comes before; None: not before. Raises
    InputError for another module's scenario, jobs on several slots, or if gymnasium is
    missing.
    """
    gymnasium = needed(
        "gymnasium", 'gym_env needs gymnasium: pip install ".[rl]" in a clone'
    )
    require(isinstance(scenario, Scenario), "scenario", scenario, "one of rented slots")
    wide = [gpus for gpus in widths(scenario.workload) if gpus > 1]
    require(not wide, "scenario", scenario.name, "one whose jobs need one slot each")

    class Env(Dispatching, gymnasium.Env):  # type: ignore[misc, name-defined]
        pass

    return Env(gymnasium.spaces, scenario, given_or_usual(prices), pick, look)


class Dispatching:
    """Base of the environment of `gym_env`, without Gymnasium's class.

    run: the episode's; after its end `run.close()` returns the records. types: of the
    actions. classes: pairs of a deadline class's index and a complexity.
    """

    np_random: Any
    run: Simulation

    def __init__(
        self, spaces: Any, scenario: Scenario, prices: Prices, pick: Pick, look: Look
    ) -> None:
        self.scenario, self.prices, self.pick, self.look = scenario, prices, pick, look
        load, known = scenario.workload, scenario.known()
        self.types = tuple(known.types)
        self.classes = list(
            product(range(len(load.classes)), range(1, len(load.mix) + 1))
        )
        self.hold = len(self.classes) * len(self.types)
        self.action_space = spaces.Discrete(self.hold + 1)
        by_class, by_type = [MOST_JOBS, MOST_H], [len(known.fleet), 1.0, 1.0, 1.0]
        most = [
            *by_class * len(self.classes),
            *by_type * len(self.types),
            1.0,
            1.0,
            MOST_H,
        ]
        least = [
            *[0.0, -MOST_H] * len(self.classes),
            *[0.0] * 4 * len(self.types),
            -1.0,
            -1.0,
            0.0,
        ]
        self._ends = np.array(least), np.array(most)
        self.observation_space = spaces.Box(*self._ends, dtype=np.float64)

    def reset(
        self, *, seed: int | None = None, options: Told | None = None
    ) -> tuple[Seen, Told]:
        """Start a run and return its first observation."""
        super().reset(seed=seed)  # type: ignore[misc]

        def ask(_: View) -> None:
            self._asked = True

        own = int(self.np_random.integers(2**31)) if seed is None else seed
        self.run = subject_of(self.scenario).simulation(ask, own)
        self._held, self._usd, self._asked = 0, 0.0, False
        seen, _, _, _, told = self._next()
        return seen, told

    def step(self, action: int) -> tuple[Seen, float, bool, bool, Told]:
        """Send a job, or hold."""
        view, sends = self.run.view, self._sends
        if int(action) not in sends and self._held >= MOST_HELD:
            action = min(sends)
        if int(action) in sends:
            jobs, offer = sends[int(action)]
            self.run.dispatcher.carry_out([(self.pick(view, jobs), offer)])
            self._held, self._asked = 0, bool(view.waiting and view.idle_count)
        else:
            at_s = self.look(view)
            self.run.dispatcher.carry_out([] if at_s is None else [Wake(at_s)])
            self._held, self._asked = self._held + 1, False
        return self._next()

    def _next(self) -> tuple[Seen, float, bool, bool, Told]:
        """Advance to the next decision, or to the end."""
        run, goes_on = self.run, True
        while goes_on and not self._asked:
            goes_on = run.advance(1)
        run.records.flush()
        before, self._usd = self._usd, self.prices.bill(run.records.tally, 0, 1.0)[COST]
        seen, mask = self._seen(run.view), np.zeros(self.hold + 1, np.int8)
        mask[list(self._sends)] = 1
        mask[self.hold] = self._held < MOST_HELD
        return seen, before - self._usd, not goes_on, False, {"action_mask": mask}

    def _seen(self, view: View) -> Seen:
        """Return the observation; set the job that each action would send."""
        now_s, market = view.now_s, view.known.market
        waiting: dict[tuple[int, int], list[Job]] = {key: [] for key in self.classes}
        for job in view.queue:
            waiting[job.deadline_class, job.complexity].append(job)
        offers = {offer.gpu: offer for offer in view.offers()} if self._asked else {}
        self._sends = {
            n: (jobs, offers[gpu])
            for n, (jobs, gpu) in enumerate(product(waiting.values(), self.types))
            if jobs and gpu in offers
        }
        seen: list[float] = []
        for jobs in waiting.values():
            due_s = min((job.deadline_s for job in jobs), default=math.inf)
            seen += len(jobs), (due_s - now_s) / 3600
        for gpu in self.types:
            slot = SlotView(0, gpu)
            chances = list(market.probabilities(gpu, now_s))
            if view.seen_s(slot) is not None:
                chances = [float(view.status(slot) == status) for status in Status]
            idle = view.idle_count if view.known.free_types else 0
            seen += idle or sum(free.gpu == gpu for free in view.idle), *chances
        turn = market.clock.hour(now_s) / 24 * math.tau
        end_s = view.next_end_s
        ahead_h = 0.0 if end_s is None else (end_s - now_s) / 3600
        return np.clip([*seen, math.sin(turn), math.cos(turn), ahead_h], *self._ends)
