"""A minimal model, whose whole event log is asserted."""

import math
import weakref

import cgrsp_simpy as cg
from cgrsp_simpy.engine.simulation import Simulation


class BenchReport(cg.Report):
    def describe(self, kind, claim):
        return f"number {claim.job}"


class Bench(cg.Model):
    """A minimal model: jobs are numbers, and `log` records the events."""

    name = "bench"
    report = BenchReport

    def __init__(self, policy, *sizes, asks_on_arrival=False, stops=True):
        self.sizes, self.stops, self.jobs, self.times = sizes, stops, [], {}
        self.policy = cg.policy(asks_on_arrival=asks_on_arrival)(policy)
        self.log, self.claims, self.beside = [], [], []

    def job(self, number, at_s, run_s, setup_s=0.0, patience_s=math.inf, need=1):
        self.jobs.append((at_s, number))
        self.times[number] = run_s, setup_s, patience_s, need

    def resources(self):
        pool = max(self.sizes) > 1
        return (
            cg.pools(self.sizes, "node", "GPUs") if pool else cg.slots(len(self.sizes))
        )

    def need(self, number):
        return self.times[number][3]

    def processes(self, run):
        return [process(run) for process in self.beside]

    def job_process(self, run, number):
        run_s, setup_s, patience_s, _ = self.times[number]
        with run.claim(number, patience_s, request=False) as claim:
            self.claims.append(weakref.ref(claim))
            if (yield claim) is None:
                self.log.append((run.now_s, "leaves", number))
                return
            try:
                yield run.timeout(setup_s)
                claim.request()
                self.log.append((run.now_s, "starts", number))
                yield run.timeout(run_s)
                self.log.append((run.now_s, "ends", number))
            except cg.Interrupt as interrupt:
                if not self.stops:
                    raise
                self.log.append((run.now_s, interrupt.cause, number))

    def go(self):
        self.simulation = Simulation(self, self.policy, drawn=self.jobs)
        self.left = self.simulation.finish()
        return self.log


def one_each(view):
    """First come, first served, one slot per job, the first free one."""
    return list(zip(view.queue, view.free))


class Shop(cg.Model):
    """A model made of functions: one for the jobs 0, 1, ..., one per further process.

    arrivals: times, or how many jobs arrive one second apart. slots: a number, or any
    resources. methods: others, by name, without `self`.
    """

    def __init__(self, job_process, arrivals=5, slots=1, beside=(), **methods):
        at_s = range(arrivals) if isinstance(arrivals, int) else arrivals
        self.jobs = [(time_s, n) for n, time_s in enumerate(at_s)]
        self.kept = cg.slots(slots) if isinstance(slots, int) else slots
        self.beside = beside
        vars(self).update(methods, job_process=job_process)

    def resources(self):
        return self.kept

    def arrivals(self, draw):
        return self.jobs

    def processes(self, run):
        return [process(run) for process in self.beside]

    def job_process(self, run, job):
        raise NotImplementedError


def eager_watchdog(monkeypatch):
    """Look for runs without an end every 1,000 events, not every 100,000."""
    monkeypatch.setattr("cgrsp_simpy.engine.watchdog.MANY", 1000)
    monkeypatch.setattr(Simulation.advance, "__defaults__", (1000,))


def waits(run, job):
    """A job of 10 s."""
    with run.claim(job) as claim:
        yield claim
        yield run.timeout(10.0)
