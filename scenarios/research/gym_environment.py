"""An agent that takes the first allowed action costs more than EDF on a short day.

`GymEnvironment` offers dispatching as an environment of Gymnasium, as the thesis
proposes for future work (Section 6.2.2, point 8); it needs the extra rl. `train_agent`
trains an agent on it.
"""

import math
import sys
from itertools import product

import numpy as np

import cgrsp_simpy as cg
from cgrsp_simpy.decide.recommend import COST, Prices
from cgrsp_simpy.rental.view import SlotView
from cgrsp_simpy.rental.workload import widths
from cgrsp_simpy.studies.subject import subject_of

try:
    import gymnasium
except ImportError:
    sys.exit('Gymnasium is missing: pip install ".[rl]" in a clone')

LOOK_S = 60.0  # between decisions during a hold
MOST_HELD = 1440  # consecutive holds, a day at LOOK_S; then a hold is not allowed
# limits of an observation, which is clipped to them
MOST_H, MOST_JOBS = 48.0, 10_000.0


def earliest_due(view, jobs):
    """Return the job of a class that is due first, of those that can meet their
    deadline.
    """
    fastest_s = view.fastest_s()[jobs[0].complexity - 1]
    able = [job for job in jobs if job.deadline_s >= view.now_s + fastest_s]
    return min(able or jobs, key=lambda job: (job.deadline_s, job.id))


def in_a_minute(view):
    """Return when to decide again after a hold if no event comes before, in seconds."""
    return view.now_s + LOOK_S


class GymEnvironment(gymnasium.Env):
    """Environment whose agent dispatches jobs to rented slots.

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
    to decide again after a hold if no event comes before; None: not before. run: the
    episode's; after its end `run.close()` returns the records. types: of the actions.
    classes: pairs of a deadline class's index and a complexity.
    """

    def __init__(self, scenario, prices=None, pick=earliest_due, look=in_a_minute):
        if max(widths(scenario.workload), default=1) > 1:
            raise ValueError(f"{scenario.name} has jobs that need several slots")
        self.scenario, self.prices = scenario, prices or Prices()
        self.pick, self.look = pick, look
        load, known = scenario.workload, scenario.known()
        self.types = tuple(known.types)
        self.classes = list(
            product(range(len(load.classes)), range(1, len(load.mix) + 1))
        )
        classes, types = len(self.classes), len(self.types)
        self.hold = classes * types
        self.action_space = gymnasium.spaces.Discrete(self.hold + 1)
        by_type = [len(known.fleet), 1.0, 1.0, 1.0]
        least = [*[0.0, -MOST_H] * classes, *[0.0] * 4 * types, -1.0, -1.0, 0.0]
        most = [*[MOST_JOBS, MOST_H] * classes, *by_type * types, 1.0, 1.0, MOST_H]
        self._ends = np.array(least), np.array(most)
        self.observation_space = gymnasium.spaces.Box(*self._ends, dtype=np.float64)

    def reset(self, *, seed=None, options=None):
        """Start a run and return its first observation."""
        super().reset(seed=seed)

        def ask(_):
            self._asked = True

        run_seed = int(self.np_random.integers(2**31)) if seed is None else seed
        self.run = subject_of(self.scenario).simulation(ask, run_seed)
        self._held, self._usd, self._asked = 0, 0.0, False
        observation, _, _, _, info = self._next()
        return observation, info

    def step(self, action):
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
            self.run.dispatcher.carry_out([] if at_s is None else [cg.Wake(at_s)])
            self._held, self._asked = self._held + 1, False
        return self._next()

    def _next(self):
        """Advance to the next decision, or to the end."""
        run, goes_on = self.run, True
        while goes_on and not self._asked:
            goes_on = run.advance(1)
        run.records.flush()
        before, self._usd = self._usd, self.prices.bill(run.records.tally, 0, 1.0)[COST]
        observation = self._observe(run.view)
        mask = np.zeros(self.hold + 1, np.int8)
        mask[list(self._sends)] = 1
        mask[self.hold] = self._held < MOST_HELD
        reward = before - self._usd
        return observation, reward, not goes_on, False, {"action_mask": mask}

    def _observe(self, view):
        """Return the observation; set the job that each action would send."""
        now_s, market = view.now_s, view.known.market
        waiting = {key: [] for key in self.classes}
        for job in view.queue:
            waiting[job.deadline_class, job.complexity].append(job)
        offers = {offer.gpu: offer for offer in view.offers()} if self._asked else {}
        self._sends = {
            n: (jobs, offers[gpu])
            for n, (jobs, gpu) in enumerate(product(waiting.values(), self.types))
            if jobs and gpu in offers
        }
        values = []
        for jobs in waiting.values():
            due_s = min((job.deadline_s for job in jobs), default=math.inf)
            values += len(jobs), (due_s - now_s) / 3600
        for gpu in self.types:
            slot = SlotView(0, gpu)
            chances = list(market.probabilities(gpu, now_s))
            if view.seen_s(slot) is not None:
                chances = [float(view.status(slot) == status) for status in cg.Status]
            idle = view.idle_count if view.known.free_types else 0
            values += idle or sum(free.gpu == gpu for free in view.idle), *chances
        turn = market.clock.hour(now_s) / 24 * math.tau
        end_s = view.next_end_s
        ahead_h = 0.0 if end_s is None else (end_s - now_s) / 3600
        return np.clip([*values, math.sin(turn), math.cos(turn), ahead_h], *self._ends)


if __name__ == "__main__":
    day, prices = cg.day("surge", jobs=60), Prices()
    env = GymEnvironment(day, prices)
    observation, info = env.reset(seed=7)
    over, usd = False, 0.0
    while not over:
        action = np.argmax(info["action_mask"])  # the first that is allowed
        observation, reward, over, _, info = env.step(action)
        usd -= reward
    edf_usd = prices.bill(cg.simulate(day, "edf", 7).tally, 0, 1.0)[COST]
    print(f"first allowed action: {usd:.2f} USD")
    print(f"EDF: {edf_usd:.2f} USD")
