"""The shortest job first halves the mean wait of a workshop; the earliest due date
first does not shorten it, but makes fewer jobs late.

(Lecture 16: scheduling)
"""

# %% [markdown]
# A workshop has one machine. Jobs arrive at random, and each has a **due date**. If
# several jobs wait, somebody has to decide which is next. A **dispatching rule**
# decides this, for example first come, first served. We write it three times: as a
# priority of a resource, as a process of our own, and as a policy of a `cg.Model`.
#
# ## Priorities
# A `PriorityResource` serves the request with the smallest priority first. With the
# work of a job as its priority this is **shortest processing time first** (SPT).

# %%
import operator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import simpy
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim


class Job(NamedTuple):
    """All times in minutes. earliest: the work must not begin before."""

    id: int
    arrival: float
    work: float
    due: float
    earliest: float = 0.0


def prioritised(env, machine, job, start):
    yield env.timeout(job.arrival)
    with machine.request(priority=job.work) as turn:
        yield turn
        start[job.id] = env.now
        yield env.timeout(job.work)


def by_resource(jobs):
    """Return the start of each job."""
    env, start = simpy.Environment(), {}
    machine = simpy.PriorityResource(env)
    for job in jobs:
        env.process(prioritised(env, machine, job, start))
    env.run()
    return start


apart = [Job(0, 0, 60, 200), Job(1, 10, 90, 200), Job(2, 20, 30, 200)]
together = [Job(0, 0, 90, 200), Job(1, 0, 60, 200), Job(2, 0, 30, 200)]
print("arrivals at 0, 10, 20 min, starts:", by_resource(apart))
print("arrivals at 0, 0, 0 min, starts:", by_resource(together))
print(claim("The short job 2 is before job 1", by_resource(apart)[2], equal=60))
print(claim("Three at once: the longest is first", by_resource(together)[0], equal=0))

# %% [markdown]
# The second case is a surprise. The resource decides as soon as the first request is
# made, and two further arrivals of the same instant are still on the event list. Times
# in real logs are often whole minutes, so that such **ties** are common. Two more
# things cannot be done in this way: a priority is fixed at the request, so it cannot
# depend on the time that has passed since; and the resource never leaves a machine
# idle while a job waits.
#
# ## A dispatcher
# So we write the decision as a process. A **dispatcher** sleeps until something happens
# that may need a decision: a job arrives, a job ends. Each of these makes the **wake
# event** occur. Then the dispatcher waits for the end of the instant, decides, and
# sleeps again.
#
# - A job puts an event of its own into `waiting` and waits for it.
# - `wake` occurs once per decision, even if several jobs want it.
# - As long as another event is due now, the dispatcher lets it occur first:
#   `env.peek()` is the time of the next event.


# %%
class Shop:
    """Machines, jobs, and a dispatcher.

    rule: takes the waiting jobs and the time; returns the next job, or the time at
    which it wants to be asked again.
    """

    def __init__(self, jobs, rule, machines=1):
        self.env, self.rule, self.free = simpy.Environment(), rule, machines
        self.waiting, self.start, self.wake = {}, {}, self.env.event()
        self.env.process(self.dispatcher())
        self.env.process(self.source(jobs))
        self.env.run()

    def source(self, jobs):
        for job in jobs:
            yield self.env.timeout(max(0, job.arrival - self.env.now))
            self.env.process(self.job(job))

    def job(self, job):
        self.waiting[job] = turn = self.env.event()
        self.ring()
        yield turn
        self.start[job.id] = self.env.now
        yield self.env.timeout(job.work)
        self.free += 1
        self.ring()

    def ring(self):
        if not self.wake.triggered:
            self.wake.succeed()

    def dispatcher(self):
        while True:
            yield self.wake
            yield from self.rest_of_instant()
            self.wake = self.env.event()
            self.decide()

    def rest_of_instant(self):
        while self.env.peek() == self.env.now:
            yield self.env.timeout(0)

    def decide(self):
        while self.waiting and self.free:
            choice = self.rule([*self.waiting], self.env.now)
            if not isinstance(choice, Job):
                self.env.process(self.alarm(choice))
                return
            self.free -= 1  # taken from now on, not only from the start of the work
            self.waiting.pop(choice).succeed()

    def alarm(self, at):
        yield self.env.timeout(at - self.env.now)
        self.ring()


def first_come(jobs, _now):
    return min(jobs, key=operator.attrgetter("arrival"))


def shortest(jobs, _now):
    return min(jobs, key=operator.attrgetter("work"))


def earliest_due(jobs, _now):
    return min(jobs, key=operator.attrgetter("due"))


def critical_ratio(jobs, now):
    """The time until the due date, in times of the work. The smallest is next."""
    return min(jobs, key=lambda job: (job.due - now) / job.work)


start = Shop(together, shortest).start
print("arrivals at 0, 0, 0 min, starts:", start)
print(claim("Now the shortest of three is first", start[2], equal=0))

# %% [markdown]
# **Slack** is the time until the due date, less the work: due - now - work. The time
# `now` is the same for all, so an order by slack is a fixed priority, due - work. The
# **critical ratio** (due - now) / work is not: two jobs can change places while they
# wait. Only a dispatcher that computes it at each decision can use it.
#
# ## Two shorter dispatchers that fail
# Two shorter dispatchers seem to do the same. Both run without an error message, but
# their results are wrong.


# %%
class AtOnce(Shop):
    """Decide in the process that calls, without a dispatcher."""

    def ring(self):
        self.decide()


class Early(Shop):
    """Decide as soon as the wake event occurs."""

    def rest_of_instant(self):
        yield from ()


tie = [Job(0, 0, 60, 200), Job(1, 10, 90, 200), Job(2, 60, 30, 200)]
for name, jobs in (("three arrive at 0 min", together), ("tie at 60 min", tie)):
    print(name)
    for kind in (AtOnce, Early, Shop):
        print(f"  {kind.__name__:7}", dict(sorted(kind(jobs, shortest).start.items())))
wrong = [kind(together, shortest).start[2] for kind in (AtOnce, Early)]
print(claim("Neither starts the shortest of three first", min(wrong), above=0))
late = AtOnce(tie, shortest).start[2]
print(claim("AtOnce: job 1 at 60 min, so job 2 at 150", late, equal=150))

# %% [markdown]
# At 60 min job 0 ends and the short job 2 arrives. The end was scheduled earlier, so
# SimPy takes it first, and `AtOnce` decides before it has seen the arrival.
#
# ## Four rules, many jobs
# Interarrival and service times are exponential with means of 10 and 8 minutes, so the
# utilisation is 0.8. Half of the jobs are due 30 minutes after their arrival, the
# others after three hours. A job is **late** if it ends after its due date; its
# **tardiness** is the time by which it is late, and 0 if it is not.

# %%
GAP, WORK, JOBS, SEED = 10.0, 8.0, 20_000, 1


def drawn(draw, jobs):
    arrivals = draw("gaps").exponential(GAP, jobs).cumsum()
    works = draw("works").exponential(WORK, jobs)
    allowed = draw("dues").choice([30.0, 180.0], jobs)
    return [*map(Job, range(jobs), arrivals, works, arrivals + allowed)]


def table(jobs, start):
    """Return service times, waits and tardiness of all jobs."""
    arrival, work, due = np.array([job[1:4] for job in jobs]).T
    start = np.array([start[job.id] for job in jobs])
    return work, start - arrival, np.maximum(0, start + work - due)


RULES = {
    "first come": first_come,
    "shortest": shortest,
    "due date": earliest_due,
    "critical ratio": critical_ratio,
}
jobs = drawn(cg.Draw(SEED), JOBS)
results = {name: table(jobs, Shop(jobs, rule).start) for name, rule in RULES.items()}
mean, most, late = {}, {}, {}
print(f"in minutes{'':6}mean wait  longest wait  mean tardiness   late")
for name, (_, wait, tardiness) in results.items():
    mean[name], most[name] = wait.mean(), wait.max()
    late[name] = 100 * np.mean(tardiness > 0)
    print(f"{name:16}{mean[name]:9.1f}{most[name]:14.0f}", end="")
    print(f"{tardiness.mean():16.1f}{late[name]:6.1f} %")
mean_ratio = {name: mean[name] / mean["first come"] for name in RULES}
print(
    claim(
        "Shortest first: half the wait", mean_ratio["shortest"], above=0.3, below=0.65
    )
)
print(claim("By due date it stays", mean_ratio["due date"], above=0.95, below=1.05))
print(claim("But fewer are late", late["due date"] / late["first come"], below=0.95))
longest = most["shortest"] / most["first come"]
print(claim("The longest wait is longer with shortest first", longest, above=1.5))
ratio = mean_ratio["critical ratio"]
print(claim("The critical ratio makes the mean wait longer", ratio, above=1.05))

# %% [markdown]
# Why does an order by due date not shorten the mean wait? Exchange two waiting jobs. If
# they have the same work, one gains as much time as the other loses. Only an order that
# puts short jobs before long ones shortens the mean, and a due date says nothing about
# the work. An order that does not look at the work has the mean wait of first come,
# first served, if the service times of all jobs have the same distribution.
#
# The critical ratio looks at the work, but divides by it: of two jobs with the same
# time left until their due dates it takes the longer one (unless both are overdue), so
# it makes the mean wait longer. And SPT has a price: a long job waits for all shorter
# ones, also for those that arrive later.
#
# ## Validation by a formula
# For one machine both mean waits are known. Let R be half of the arrival rate times the
# mean of the squared work: the mean of the work that an arrival finds in progress.
# First come, first served waits R / (1 - r), where r is the utilisation. Under SPT a
# job of work x waits R / (1 - r(x))^2, where r(x) is the utilisation by jobs of work up
# to x.

# %%
RATE, IN_PROGRESS = 1 / GAP, 2 * WORK**2 / GAP / 2


def expected_wait(work):
    """Under shortest first, of jobs of this work."""
    x = np.asarray(work) / WORK
    return IN_PROGRESS / (1 - WORK / GAP * (1 - (1 + x) * np.exp(-x))) ** 2


# by inversion: service times of equal share
of_all = (np.arange(100_000) + 0.5) / 100_000
formula = {
    "first come": IN_PROGRESS / (1 - WORK / GAP),
    "shortest": expected_wait(-WORK * np.log(1 - of_all)).mean(),
}
for name, expected in formula.items():
    print(f"{name}: {mean[name]:.1f} min, by the formula {expected:.1f} min")
    ratio = mean[name] / expected
    print(claim("The simulation is within 20 % of it", ratio, above=0.8, below=1.2))

# %% [markdown]
# ## Waking up at a time
# Some decisions are due at a time at which nothing else happens. The machine is noisy,
# and noisy jobs must not begin before 60 min. A rule that has no job to start returns
# the time of the next decision, and an alarm makes the wake event occur.


# %%
def allowed(jobs, now):
    ready = [job for job in jobs if job.earliest <= now]
    return first_come(ready, now) if ready else min(job.earliest for job in jobs)


class NoAlarm(Shop):
    def alarm(self, at):
        yield from ()


noisy = [Job(0, 5, 20, 200, earliest=60), Job(1, 10, 20, 200)]
without, start = NoAlarm(noisy, allowed).start, Shop(noisy, allowed).start
print("without an alarm:", without)
print("with an alarm:   ", start)
print(claim("Without an alarm one of two jobs starts", len(without), equal=1))
print(claim("With it the noisy job starts at 60", start[0], equal=60))

# %% [markdown]
# Without an alarm the job waits forever, and the run ends without a message, because
# the event list is empty.
#
# ## The same as a `cg.Model`
# The package has this dispatcher, with many checks. A `cg.Model` returns its resources,
# its arrivals, and the process of a job, in which `run.claim` waits for the decision. A
# **policy** is a function of a **view**: `view.queue` (waiting jobs), `view.free`
# (machines), `view.now_s`. It returns pairs of a job and a machine, or
# `cg.Wake(at_s)` to be asked again. Times are in seconds here.


# %%
@dataclass(frozen=True)
class Workshop(cg.Model):
    jobs: int = 1000

    policies = {"first come": cg.first_come}

    def resources(self):
        return cg.slots(1, "machine")

    def arrivals(self, draw):
        return [(60 * job.arrival, job) for job in drawn(draw, self.jobs)]

    def job_process(self, run, job):
        with run.claim(job) as turn:
            yield turn
            yield run.timeout(60 * job.work)


def by(rule):
    """Return a policy for one machine."""

    def policy(view):
        return [(rule(view.queue, view.now_s / 60), view.free[0])]

    return policy


def spt(view):
    return zip(sorted(view.queue, key=lambda job: job.work), view.free)


policies = {"first come": by(first_come), "shortest": spt, "due date": by(earliest_due)}
study = cg.compare(Workshop(), policies, seeds=range(SEED, SEED + 10))
print(study)
for name in policies:
    start = Shop(drawn(cg.Draw(SEED), 1000), RULES[name]).start
    run = study.run(name, SEED).jobs
    gap = max(abs(row["start_s"] / 60 - start[row["job"]]) for row in run)
    print(claim(f"{name}: all starts are those of our dispatcher", gap, below=1e-6))
change = study.differences()
print(claim("Shortest first waits less", change["shortest"]["wait_s"], below=0))
by_due = change["due date"]["wait_s"]
print(claim("By due date: less than 5 min of change", by_due, above=-300, below=300))


# %% The figure


def draw_figure():
    with cg.plots.styled("lecture"):
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(16, 6.5), layout="constrained"
        )
        edges = np.quantile(results["first come"][0], np.linspace(0, 1, 11))
        colours = ("#555555", "#0B4F9C", "#C04A00", "#2E7D32")
        for (name, (work, wait, tardiness)), colour in zip(results.items(), colours):
            tenth = np.clip(np.searchsorted(edges, work) - 1, 0, 9)
            x, y = ([v[tenth == n].mean() for n in range(10)] for v in (work, wait))
            left.plot(x, y, "o-", color=colour, label=name)
            minutes = np.linspace(0, 240, 481)
            share = [100 * np.mean(tardiness > minute) for minute in minutes]
            right.plot(minutes, share, color=colour)
        x = np.linspace(0, 26, 200)
        left.plot(x, expected_wait(x), color="black", ls=":", label="formula")
        left.set(xlabel="work (min)", ylabel="mean wait (min)", ylim=0, xlim=(0, 27))
        left.legend(frameon=False)
        right.set(xlabel="tardiness (min)", ylabel="jobs late by more (%)")
        right.set(xlim=(0, 240), ylim=(0.05, 60), yscale="log")
        left.set_title("(a) who waits", loc="left", fontsize="medium")
        right.set_title("(b) who is late", loc="left", fontsize="medium")
        Path("pictures").mkdir(exist_ok=True)
        figure.savefig("pictures/lecture_16.png", dpi=150)


draw_figure()

# %% [markdown]
# ## Three misconceptions
# **"A queue by due date is a shorter queue."** The mean wait stays the same, as shown
# above.
#
# **"Shortest first is better for everybody, since the mean is shorter."** The longest
# tenth of the jobs waits longer than under first come, first served.
#
# **"A priority resource serves the most important of those who arrive at the same
# time."** It serves the first whose request is made.

# %%
work, wait, _ = results["shortest"]
longest = work > np.quantile(work, 0.9)
ratio = wait[longest].mean() / results["first come"][1][longest].mean()
print(claim("The longest tenth waits longer", ratio, above=1.2))

# %% [markdown]
# ## You can now
# - order a queue by a priority, and explain when this is not enough;
# - write a dispatcher with a wake event that decides at the end of an instant;
# - let a decision happen at a time at which nothing else does;
# - explain which rules can shorten the mean wait, and who waits longer instead;
# - write a policy as a function of a view, and compare policies by `cg.compare`.
#
# ## Five questions
# <details><summary>1. Why does the dispatcher wait for the end of the instant?
# </summary>
#
# Until then further jobs may arrive, or end, at the same time. A decision before that
# does not know all candidates.
# </details>
# <details><summary>2. Why is an order by slack a fixed priority?</summary>
#
# The slack of all waiting jobs falls at the same rate, so their order never changes.
# </details>
# <details><summary>3. Two jobs of 20 and 50 minutes wait for a free machine. By how
# much does shortest first reduce the sum of their waits, compared with the other order?
# </summary>
#
# By 30 minutes: the second one waits for 20 minutes instead of 50.
# </details>
# <details><summary>4. When does a policy have to ask for a wake-up?</summary>
#
# If it leaves a machine idle although a job waits, and the reason ends at a time at
# which no job arrives or ends.
# </details>
# <details><summary>5. Why is a machine counted as taken from the decision on, not from
# the request?</summary>
#
# Between the two the next decision may be made, and it would give the machine to a
# second job.
# </details>
#
# ## References
# - Pinedo, *Scheduling: Theory, Algorithms, and Systems* (dispatching rules).
# - Law, *Simulation Modeling and Analysis* (5th ed.), Chapter 2 (a job-shop model) and
#   Chapter 14 (manufacturing systems).
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation* (5th ed.),
#   Chapter 6 (queueing models).
#
# ## Exercises
# **16.1** Four jobs wait for one machine at time 0. What is their total tardiness if
# the shortest is first? Your own service times and due dates:
# `cg.exercises.question(16.1, "your name")`
# Check it: `cg.exercises.check(16.1, answer, "your name")`
#
# **16.2** Write a process `job(env, machine, work, due)`. `machine` is a
# `simpy.PriorityResource`; the waiting job with the earliest due date is next. The
# process starts at the arrival and returns the tardiness.
# Check it: `cg.exercises.check(16.2, job)`
#
# **16.3** Write a process `oven(env, store, size, patience, work, ends)`. It takes a
# part from the `simpy.Store`, or waits for one. From then on it waits until it has
# `size` parts, or for `patience` minutes. Then it bakes its parts for `work` minutes,
# appends the time of the end to the list `ends` once per part, and begins again.
# Check it: `cg.exercises.check(16.3, oven)`
#
# **16.4** Write a policy, a function of a view, for one machine: the waiting job with
# the smallest critical ratio is next. Jobs have `work_s` and `due_s`.
# Check it: `cg.exercises.check(16.4, policy)`
