"""The thesis's day written by hand in SimPy, for FIFO and SPT: a fair reference for the
cost of the package's engine.

Market, provisioning, records and figures equal those of the package to the bit. Jobs
and draws are the columns of the workload. There are no views, checks or listeners, and
no other model.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from heapq import heappop, heappush

import numpy as np
import simpy

from cgrsp_simpy.base.streams import stream, uniforms
from cgrsp_simpy.rental.policies.rules import COST_WEIGHT, STOCK_PENALTY

DECIDE = 2  # priority of a decision: after everything else of an instant


class Floor:
    """A run of one policy, "fifo" or "spt", on one seed."""

    def __init__(self, scenario, policy, seed):
        columns = zip(*scenario.workload.columns(seed, scenario.service))
        self.jobs = list(zip(*[np.concatenate(column).tolist() for column in columns]))
        self.market, self.gpus = scenario.market, scenario.slots
        self.bands = [
            {gpu.name: self.market.below(gpu, hour) for gpu in self.gpus}
            for hour in self.market.change_hours
        ]
        self.reference_s = scenario.gpus[0].mean_execution_s
        self.shortest, self.seen = policy == "spt", uniforms(stream(seed, "seen"))
        self.env = simpy.Environment()
        self.slots = [simpy.Resource(self.env, 1) for _ in self.gpus]
        self.is_idle = [True] * len(self.gpus)
        self.queue = [] if self.shortest else deque()
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
            shown = {}
            while self.queue and any(self.is_idle):
                if self.shortest:
                    *_, level, granted = heappop(self.queue)
                    slot = self.best_slot(level, shown)
                else:
                    granted, slot = self.queue.popleft(), self.is_idle.index(True)
                self.is_idle[slot] = False
                granted.succeed(slot)

    def best_slot(self, level, shown):
        """Return the slot of least score (thesis Eq. 4.1), the first idle of its
        type.
        """
        offers = {}
        for slot, gpu in enumerate(self.gpus):
            if self.is_idle[slot]:
                offers.setdefault(gpu.name, slot)
        slots = list(offers.values())
        if len(slots) == 1:
            return slots[0]
        gpus = [self.gpus[slot] for slot in slots]
        fastest_s = min([gpu.mean_execution_s[level] for gpu in gpus])
        cheapest_usd = min([gpu.price_usd_per_h for gpu in gpus])
        best, least = slots[0], math.inf
        for slot, gpu in zip(slots, gpus):
            if gpu.name not in shown:
                shown[gpu.name] = self.status(slot, next(self.seen))
            speed = gpu.mean_execution_s[level] / fastest_s
            cost = gpu.price_usd_per_h / cheapest_usd
            penalty = STOCK_PENALTY[shown[gpu.name]]
            score = (1 - COST_WEIGHT) * speed + COST_WEIGHT * cost + penalty
            if score < least:
                best, least = slot, score
        return best

    def job_process(self, job):
        number, submit_s, deadline_s, complexity, *_, status, delay, service = job
        granted, level = self.env.event(), complexity - 1
        if self.shortest:
            key = self.reference_s[level], deadline_s, number
            heappush(self.queue, (*key, level, granted))
        else:
            self.queue.append(granted)
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
