"""Random models against the same processes in bare SimPy with a dispatcher of its own:
everything happens at the same times and in the same order, and the records agree.
"""

import math
import random
from collections import Counter
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import simpy

import cgrsp_simpy as cg

# later within an instant than SimPy's timeouts, whose priority is 1
DECISION_PRIORITY, PATIENCE_PRIORITY = 2, 3


def drawn_program(seed):
    """Draw sizes of resources, jobs with stages, downtimes, interrupts and a policy."""
    rng = random.Random(seed)
    scale = rng.choice([0, 1])  # 0: on a grid, so that many events are simultaneous

    def time():
        return rng.choice([0, 0.5, 1, 2, 3]) + scale * rng.random()

    def stage():
        return SimpleNamespace(
            patience_s=rng.choice([math.inf, math.inf, time()]),
            setup_s=time() / 2,
            work_s=time(),
            gives_up_s=rng.choice([None, None, None, time()]),
            requests_late=rng.random() < 0.3,
            closes=rng.choice([None, None, None, 0, 1]),
            tries=rng.choice([1, 3]),
        )

    at_s, jobs, pools = 0.0, [], rng.random() < 0.5
    sizes = [rng.choice([2, 3, 4]) if pools else 1 for _ in range(rng.randint(1, 4))]
    for _ in range(rng.randint(3, 14)):
        at_s += time() / 2
        stages = [stage() for _ in range(rng.choice([1, 1, 2, 3]))]
        need = rng.choice([1, 1, 2, 3]) if pools else 1
        need = min(need, sum(sizes))
        jobs.append(SimpleNamespace(at_s=at_s, stages=stages, need=need))
        jobs[-1].rank = rng.randint(0, 3)
    downs = [(rng.randrange(len(sizes)), time(), time() + 0.25, rng.random() < 0.6)]
    return SimpleNamespace(
        sizes=sizes,
        jobs=jobs,
        pools=pools,
        downs=downs * rng.choice([0, 1, 2]),
        interrupts=[(rng.randrange(len(jobs)), time() * 2) for _ in range(3)],
        sign=rng.choice([-1, 0, 1]),
        skips=rng.random() < 0.5,
        suspends=rng.random() < 0.4,
    )


def answers(program, now_s, queue, free, since_s):
    """Return the assignments: pairs of a key and parts, or a key to suspend.

    since_s: key -> time of the grant of running jobs.
    """

    def rank(key):
        return program.sign * program.jobs[number_of(key)].rank

    grants = []
    for key in sorted(queue, key=rank):
        need, parts = program.jobs[number_of(key)].need, []
        for number, amount in enumerate(free):
            taken = min(amount, need - sum(part for _, part in parts))
            if taken > 0:
                parts.append((number, taken))
        if sum(part for _, part in parts) == need:
            grants.append((key, tuple(parts)))
            for number, amount in parts:
                free[number] -= amount
        elif not program.skips:
            break
    below = [key for key in since_s if since_s[key] < now_s]
    if program.suspends and queue and not grants and below:
        lowest = max(below, key=lambda key: (rank(key), str(key)))
        if rank(lowest) > min(map(rank, queue)):
            return [], lowest
    return grants, None


def number_of(key):
    return key[0] if isinstance(key, tuple) else key


# ---- processes; run: the engine's, or a Bare ----


def job_process(run, number, log):
    env = run.env
    for place, stage in enumerate(run.program.jobs[number].stages):
        for trial in range(stage.tries):
            key, patience_s = (number, place), stage.patience_s if not trial else 9.0
            try:
                with run.claim(key, patience_s, not stage.requests_late) as claim:
                    answer = claim
                    if stage.gives_up_s is not None:
                        yield claim | run.timeout(stage.gives_up_s)
                        answer = claim.value if claim.triggered else None
                    elif (yield claim) is None:
                        answer = None
                    log.append((env.now, number, place, answer and claim.parts))
                    if answer is None:
                        break
                    with closed(run, stage.closes, dict(claim.parts)):
                        yield run.timeout(stage.setup_s)
                    if stage.requests_late:
                        claim.request()
                    yield run.timeout(stage.work_s)
                    log.append((env.now, number, place, "served"))
                    break
            except simpy.Interrupt:
                log.append((env.now, number, place, "interrupted"))


def closed(run, place, held):
    """A place that another job may have been granted in this instant is closed."""
    closes = place in range(len(run.resources)) and place not in held
    return run.down(run.resources[place], True) if closes else nullcontext()


def outage(run, place, from_s, length_s, interrupt):
    yield run.timeout(from_s)
    with run.down(run.resources[place], interrupt):
        yield run.timeout(length_s)


def interruption(run, number, at_s):
    yield run.timeout(at_s)
    process = run.job_processes.get(number)
    if process is not None and process.is_alive:
        process.interrupt()


def further_processes(run, program):
    return [
        *(outage(run, *down) for down in program.downs),
        *(interruption(run, *item) for item in program.interrupts),
    ]


# ---- the model, and the same in bare SimPy ----


class Drawn(cg.Model):
    def __init__(self, program):
        self.program, self.log = program, []

    def resources(self):
        sizes = self.program.sizes
        return cg.pools(sizes) if self.program.pools else cg.slots(len(sizes))

    def need(self, key):
        return self.program.jobs[number_of(key)].need

    def arrivals(self, draw):
        return [(job.at_s, number) for number, job in enumerate(self.program.jobs)]

    def set_up(self, run):
        run.program = self.program

    def processes(self, run):
        return further_processes(run, self.program)

    def job_process(self, run, number):
        return job_process(run, number, self.log)


def policy_of(program):
    @cg.policy(suspends=program.suspends)
    def rule(view):
        free = [view.room(resource) for resource in view.resources]
        since_s = {
            claim.job: claim.granted_s
            for claim in view._run.granted_claims
            if not claim.revoked
        }
        grants, lowest = answers(program, view.now_s, view.queue, free, since_s)
        for key, parts in grants:
            yield key, tuple((view.resources[n], amount) for n, amount in parts)
        if lowest is not None:
            yield cg.Suspend(lowest)

    return rule


class BareClaim(simpy.Event):
    parts, is_revoked, requested_s, state = (), False, math.inf, "waiting"

    def __init__(self, run, key, request):
        super().__init__(run.env)
        self.run, self.key, self.process = run, key, run.env.active_process
        self.made_s = run.env.now
        if request:
            self.callbacks.append(lambda _: self.request())

    def request(self):
        """Record the request; the amounts are taken at the grant."""
        if self.state == "granted":
            self.requested_s = self.env.now

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not GeneratorExit:
            self.run.leave(self)


class Bare:
    """Environment, resources and dispatcher of a program."""

    def __init__(self, program):
        self.program, self.log, self.env = program, [], simpy.Environment()
        self.timeout, self.resources = self.env.timeout, range(len(program.sizes))
        self.left, self.closed = list(program.sizes), Counter()
        self.queue, self.running, self.ends = {}, {}, {}
        self.waits_s, self.claims = Counter(), Counter()
        self.dispatch_s, self.start_s = {}, {}
        self.is_due, self.job_processes, self.held_s = False, {}, [0.0] * len(self.left)
        for process in further_processes(self, program):
            self.env.process(process)
        source = self.env.process(self.source())
        while source.is_alive or self.job_processes:
            self.env.step()

    def source(self):
        for number, job in enumerate(self.program.jobs):
            if job.at_s > self.env.now:
                yield self.timeout(job.at_s - self.env.now)
            process = self.env.process(job_process(self, number, self.log))
            self.job_processes[number] = process
            process.callbacks.append(lambda _, number=number: self.ended(number))

    def ended(self, number):
        del self.job_processes[number]
        self.ends[number] = self.env.now

    def claim(self, key, patience_s, request):
        claim = self.queue[key] = BareClaim(self, key, request)
        self.request_decision()
        if patience_s < math.inf:
            self.at_priority(PATIENCE_PRIORITY, patience_s, lambda: self.give_up(claim))
        return claim

    def at_priority(self, priority, delay_s, action):
        event = simpy.Event(self.env)
        event._ok, event._value = True, None
        event.callbacks.append(lambda _: action())
        self.env.schedule(event, priority, delay_s)

    def give_up(self, claim):
        if claim.state == "waiting":
            claim.succeed(None)
            self.leave(claim)

    def request_decision(self):
        if self.queue and not self.is_due:
            self.is_due = True
            self.at_priority(DECISION_PRIORITY, 0, self.decide)

    def decide(self):
        self.is_due = False
        free = [0 if self.closed[n] else left for n, left in enumerate(self.left)]
        since_s = {
            key: claim.since_s
            for key, claim in self.running.items()
            if not claim.is_revoked
        }
        queue = list(self.queue)
        grants, lowest = answers(self.program, self.env.now, queue, free, since_s)
        for key, parts in grants:
            claim = self.running[key] = self.queue.pop(key)
            claim.parts, claim.since_s, claim.state = parts, self.env.now, "granted"
            for number, amount in parts:
                self.left[number] -= amount
            claim.succeed(claim)
        if lowest is not None:
            self.revoke(self.running[lowest])

    def revoke(self, claim):
        if claim.is_revoked:
            return
        claim.is_revoked = True
        if claim.processed:
            claim.process.interrupt()
        else:
            claim.callbacks.append(
                lambda _: claim.state != "ended" and claim.process.interrupt()
            )

    def leave(self, claim):
        if claim.state == "waiting":
            del self.queue[claim.key]
        elif claim.state == "granted":
            del self.running[claim.key]
            for number, amount in claim.parts:
                self.left[number] += amount
                self.held_s[number] += amount * (self.env.now - claim.since_s)
            held = claim.since_s < self.env.now
            if held or claim.requested_s < math.inf or claim.is_revoked:
                number = claim.key[0]
                self.claims[number] += 1
                self.waits_s[number] += claim.since_s - claim.made_s
                for times, time in (
                    (self.dispatch_s, claim.since_s),
                    (self.start_s, claim.requested_s),
                ):
                    times[number] = min(time, times.get(number, math.inf))
        claim.state = "ended"
        self.request_decision()

    @contextmanager
    def down(self, place, interrupt):
        self.closed[place] += 1
        for claim in [*self.running.values()] if interrupt else ():
            if any(number == place for number, _ in claim.parts):
                self.revoke(claim)
        try:
            yield
        finally:
            self.closed[place] -= 1
            if not self.closed[place]:
                self.request_decision()


@pytest.mark.parametrize(
    "seeds", [range(60), pytest.param(range(60, 1000), marks=pytest.mark.slow)], ids=len
)
def test_a_model_is_its_processes_in_bare_simpy(seeds):
    for seed in seeds:
        program = drawn_program(seed)
        model, bare = Drawn(program), Bare(program)
        run = cg.simulate(model, policy_of(program), seed)
        assert model.log == bare.log, seed
        assert dict(run.jobs[["job", "finish_s"]].tolist()) == bare.ends, seed
        assert run.held_s == pytest.approx(bare.held_s), seed
        for job in run.jobs:
            number = job["job"]
            assert job["wait_s"] == pytest.approx(bare.waits_s[number]), seed
            assert job["claims"] == bare.claims[number], seed
            for name in ("dispatch_s", "start_s"):
                expected = getattr(bare, name).get(number, math.inf)
                assert np.nan_to_num(job[name], nan=math.inf) == expected, seed
