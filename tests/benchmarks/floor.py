"""The thesis's day written by hand in SimPy, for five policies: a fair reference for
the cost of the package's engine.

Market, provisioning, records and figures are bit-identical to those of the package.
Jobs and draws are the columns of the workload. There are no views, checks or listeners,
and no other model.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from heapq import heappop, heappush

import numpy as np
import simpy

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream, uniforms
from cgrsp_simpy.rental.policies.rules import COST_WEIGHT, STOCK_PENALTY

DECIDE = 2  # priority of a decision: after everything else of an instant
LOW = 2  # stock


class Fifo:
    """A run of first come, first served on one seed; the base of the other policies."""

    def __init__(self, scenario, seed):
        columns = zip(*scenario.workload.columns(seed, scenario.service))
        self.jobs = list(zip(*[np.concatenate(column).tolist() for column in columns]))
        self.market, self.gpus = scenario.market, scenario.slots
        self.bands = [
            {gpu.name: self.market.below(gpu, hour) for gpu in self.gpus}
            for hour in self.market.change_hours
        ]
        self.reference_s = scenario.gpus[0].mean_execution_s
        self.seen = uniforms(stream(seed, "seen"))
        self.env = simpy.Environment()
        self.slots = [simpy.Resource(self.env, 1) for _ in self.gpus]
        self.is_idle = [True] * len(self.gpus)
        self.queue, self.shown = deque(), {}
        self.decision, self.rows = self.env.event(), []

    def run(self):
        """Return the table of jobs and the figures of the run."""
        self.env.process(self.dispatcher())
        self.env.process(self.source())
        self.env.run()
        table = np.array(self.rows)
        submit_s, deadline_s, start_s, finish_s, cost_usd = table[:, 1:].T
        wait_s, late_s = start_s - submit_s, np.maximum(0.0, finish_s - deadline_s)
        figures = (
            *(wait_s.mean(), np.percentile(wait_s, 95)),
            *((late_s > 0.0).mean(), late_s.mean(), cost_usd.sum()),
        )
        return table[np.argsort(table[:, 0])], figures

    def status(self, slot, uniform):
        hour = (self.market.clock.start_h + self.env.now / 3600.0) % 24.0
        band = self.bands[bisect_right(self.market.change_hours, hour) - 1]
        high, medium = band[self.gpus[slot].name]
        return 0 if uniform < high else 1 if uniform < medium else 2

    def request_decision(self):
        if not self.decision.triggered:
            self.decision._ok, self.decision._value = True, None
            self.env.schedule(self.decision, DECIDE)

    def dispatcher(self):
        while True:
            yield self.decision
            self.decision = self.env.event()
            self.shown = {}
            self.decide()

    def enqueue(self, job, granted):
        self.queue.append(granted)

    def decide(self):
        """Grant idle slots to waiting jobs."""
        while self.queue and any(self.is_idle):
            self.grant(self.queue.popleft(), self.is_idle.index(True))

    def grant(self, granted, slot):
        self.is_idle[slot] = False
        granted.succeed(slot)

    def offers(self):
        """Return the first idle slot of each type."""
        first = {}
        for slot, gpu in enumerate(self.gpus):
            if self.is_idle[slot]:
                first.setdefault(gpu.name, slot)
        return list(first.values())

    def best_slot(self, job):
        """Return the slot of least score; statuses are drawn once per decision."""
        slots = self.offers()
        if len(slots) == 1:
            return slots[0]
        for slot in slots:
            name = self.gpus[slot].name
            if name not in self.shown:
                self.shown[name] = self.status(slot, next(self.seen))
        scores = self.scores(job, [self.gpus[slot] for slot in slots])
        return slots[scores.index(min(scores))]

    def job_process(self, job):
        number, submit_s, deadline_s, complexity, *_, status, delay, service = job
        granted, level = self.env.event(), complexity - 1
        self.enqueue(job, granted)
        if any(self.is_idle):
            self.request_decision()
        slot = yield granted
        status = self.status(slot, status)
        yield self.env.timeout(self.market.provisioning_s(status, delay))
        with self.slots[slot].request() as turn:
            yield turn
            start_s = self.env.now
            service_s = self.gpus[slot].mean_execution_s[level] * service
            yield self.env.timeout(service_s)
        self.is_idle[slot] = True
        if self.queue:
            self.request_decision()
        cost_usd = service_s * self.gpus[slot].price_usd_per_h / 3600.0
        row = number, submit_s, deadline_s, start_s, self.env.now, cost_usd
        self.rows.append(row)

    def source(self):
        for job in self.jobs:
            delay_s = job[1] - self.env.now
            if self.env.now + delay_s < job[1]:
                delay_s = math.nextafter(delay_s, math.inf)
            yield self.env.timeout(delay_s)
            self.env.process(self.job_process(job))


class Sorted(Fifo):
    """Jobs by a key that does not change while they wait."""

    def __init__(self, scenario, seed):
        super().__init__(scenario, seed)
        self.queue = []

    def enqueue(self, job, granted):
        heappush(self.queue, (*self.key(job), job, granted))

    def decide(self):
        while self.queue and any(self.is_idle):
            *_, job, granted = heappop(self.queue)
            self.grant(granted, self.best_slot(job))


class Spt(Sorted):
    """Shortest first, on the slot of least score (thesis Eq. 4.1)."""

    def key(self, job):
        return self.reference_s[job[3] - 1], job[2], job[0]

    def scores(self, job, gpus):
        level = job[3] - 1
        fastest_s = min([gpu.mean_execution_s[level] for gpu in gpus])
        cheapest_usd = min([gpu.price_usd_per_h for gpu in gpus])
        scores = []
        for gpu in gpus:
            speed = gpu.mean_execution_s[level] / fastest_s
            cost = gpu.price_usd_per_h / cheapest_usd
            penalty = STOCK_PENALTY[self.shown[gpu.name]]
            scores.append((1 - COST_WEIGHT) * speed + COST_WEIGHT * cost + penalty)
        return scores


class Edf(Sorted):
    """Earliest deadline first, on the fastest slot of the best stock."""

    def key(self, job):
        return job[2], job[0]

    def scores(self, job, gpus):
        level = job[3] - 1
        return [(self.shown[gpu.name], gpu.mean_execution_s[level]) for gpu in gpus]


class ByClass(Fifo):
    """Jobs by tiers of deadlines that change with time.

    The jobs of a class differ only in submission and deadline, and arrive in order of
    both; only the first of each tier of each class can be next.
    """

    reserve = 0  # idle slots that only tight jobs may take

    def __init__(self, scenario, seed):
        super().__init__(scenario, seed)
        self.queue = 0  # number of waiting jobs
        self.classes = {}  # level and tight -> deadline, job and event of each job

    def enqueue(self, job, granted):
        entries = self.classes.setdefault((job[3] - 1, job[4]), [])
        entries.append((job[2], job, granted))
        self.queue += 1

    def decide(self):
        limits = self.limits()
        while self.queue and any(self.is_idle):
            only_tight = sum(self.is_idle) <= self.reserve
            entries, place = self.first(limits, only_tight)
            if entries is None:
                return
            _, job, granted = entries.pop(place)
            self.queue -= 1
            slot = self.best_slot(job)
            self.granted(job, slot)
            self.grant(granted, slot)

    def granted(self, job, slot):
        pass

    def first(self, limits, only_tight):
        """Return the next job: the list of its class, and its position in the list."""
        least, entries, place = (math.inf,), None, 0
        for (level, tight), jobs in self.classes.items():
            if only_tight and not tight:
                continue
            at = 0
            for before_s, rank, seconds in limits(level, tight):
                if at == len(jobs):
                    break
                due_s, job, _ = jobs[at]
                if due_s < before_s:
                    key = rank, seconds, due_s, job[0]
                    if key < least:
                        least, entries, place = key, jobs, at
                    at = bisect_left(jobs, (before_s,), at)
        return entries, place


class Cadr(ByClass):
    """Cost-aware deadline risk (thesis Section 4.5.11, Eq. 4.5)."""

    def limits(self):
        now_s, offers = self.env.now, [self.gpus[slot] for slot in self.offers()]
        fastest_s = [min(times) for times in zip(*[g.mean_execution_s for g in offers])]

        def of_class(level, tight):
            e = fastest_s[level]
            doomed_s = math.nextafter(now_s + e, math.inf)
            at_risk_s = math.nextafter(now_s + 3.0 * e, math.inf)
            return (doomed_s, 2, 0.0), (at_risk_s, 0, 0.0), (math.inf, 1, e)

        return of_class

    def scores(self, job, gpus):
        deadline_s, level, now_s = job[2], job[3] - 1, self.env.now
        best, scores = min([self.shown[gpu.name] for gpu in gpus]), []
        for gpu in gpus:
            mean_s = gpu.mean_execution_s[level]
            stocked = self.shown[gpu.name] != LOW or best == LOW
            if stocked and now_s + mean_s <= deadline_s:
                scores.append((0.0, gpu.price_usd_per_h, mean_s))
            else:
                scores.append((1.0, mean_s, 0.0))
        return scores


class Rh(ByClass):
    """Rolling Horizon (thesis Section 4.5.10, Algorithm 4)."""

    def __init__(self, scenario, seed):
        super().__init__(scenario, seed)
        known = scenario.known()
        self.fastest_s, self.ends_s = known.fastest_s, [0.0] * len(self.gpus)
        if known.offered_load < 0.95:
            self.reserve = min(1, len(self.gpus) - 1)

    def granted(self, job, slot):
        mean_s = self.gpus[slot].mean_execution_s[job[3] - 1]
        self.ends_s[slot] = self.env.now + mean_s

    def limits(self):
        now_s = self.env.now
        busy = zip(self.ends_s, self.is_idle)
        end_s = min([end_s for end_s, is_idle in busy if not is_idle], default=0.0)
        next_free_s = max(now_s, end_s)

        def of_class(level, tight):
            e = self.fastest_s[level]
            if self.reserve and tight:
                return (now_s + e, 3, 0.0), (math.inf, 0, 0.0)
            return (now_s + e, 3, 0.0), (next_free_s + e, 1, 0.0), (math.inf, 2, e)

        return of_class

    def scores(self, job, gpus):
        _, submit_s, deadline_s, complexity, *_ = job
        now_s, scores = self.env.now, []
        for gpu in gpus:
            mean_s = gpu.mean_execution_s[complexity - 1]
            missed = 10.0 if mean_s > deadline_s - now_s else 0.0
            qos = 1.0 * (now_s - submit_s) + missed
            cost_usd = mean_s * gpu.price_usd_per_h / 3600
            penalty = STOCK_PENALTY[self.shown[gpu.name]]
            scores.append(0.5 * qos + 0.5 * cost_usd + penalty)
        return scores


FLOORS = {"fifo": Fifo, "spt": Spt, "edf": Edf, "cadr": Cadr, "rh": Rh}


def check(day, policy, seed):
    """Raise AssertionError unless the times and costs equal those of the package."""
    scenario = cg.day(day)
    rows, _ = FLOORS[policy](scenario, seed).run()
    jobs = cg.simulate(scenario, policy, seed).jobs
    names = "job", "submit_s", "deadline_s", "start_s", "finish_s", "cost_usd"
    for name, column in zip(names, rows.T):
        assert (jobs[name] == column).all(), (day, policy, seed, name)
