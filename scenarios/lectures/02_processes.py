"""SimPy in eight steps; then three rules that keep a model right: book slots at
dispatch, decide once an instant, and at its end.

(Lecture 2: processes, in two parts)
"""

# %% [markdown]
# Lecture 1 kept the event list by hand. From here on SimPy keeps it, and we write
# **processes**: the stories of those who act. Part 1 is what SimPy offers them, one
# small example each, and ends with a scheduler. (Interrupts have a lecture of their
# own, the eleventh.) Part 2 makes it a complete model of rented GPUs, breaks it three
# times, and compares it with the package's engine. Either part is an hour.

# %%
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.engine.events import delay_until  # submit_s - now, safe from rounding
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.plots.style import EXECUTING, PROVISIONING

# %% [markdown]
# ## Part 1: SimPy in eight steps
#
# ### 1 A clock and a timeout
# An `Environment` is clock and event list in one. A timeout is an entry of the list.
# `run` takes entries until none is left.

# %%
env = simpy.Environment()
env.timeout(30)
env.timeout(5)
env.run()
print("1  the clock stands at", env.now)

# %% [markdown]
# ### 2 A process
# A function with `yield` becomes a process. It yields an event, sleeps until that
# happens, and goes on where it was. A process is an event itself, its end: another
# process may wait for it, and gets what it returns.


# %%
def render(env, frame, seconds):
    """A frame that takes its time."""
    yield env.timeout(seconds)
    return f"{frame} at {env.now} s"


def film(env):
    """One frame after the other."""
    for seconds in (40, 10):
        done = yield env.process(render(env, f"a frame of {seconds} s", seconds))
        print("2 ", done)


env = simpy.Environment()
env.process(film(env))
env.run()

# %% [markdown]
# ### 3 A resource
# A `Resource` has places and a queue, first come, first served. `request()` is an event
# that happens when a place is there; the `with` gives it back. Now the frames render
# side by side, as many as there are GPUs. One GPU would need 100 s for the four; two
# have rendered all after 60 s.


# %%
def on_a_gpu(env, gpus, frame, seconds, **request):
    """A frame that needs a GPU."""
    with gpus.request(**request) as granted:
        yield granted
        print(f"   frame {frame} starts at {env.now:2} s")
        yield env.timeout(seconds)


SECONDS = (40, 10, 30, 20)
env = simpy.Environment()
gpus = simpy.Resource(env, capacity=2)
for frame, seconds in enumerate(SECONDS):
    env.process(on_a_gpu(env, gpus, frame, seconds))
print(f"3  two GPUs, frames of {SECONDS} s, {sum(SECONDS)} s in all")
env.run()
print(claim("two have rendered all after 60 s", env.now, equal=60))

# %% [markdown]
# ### 4 A resource with priorities
# In a `PriorityResource` the smallest priority goes next. With the length as priority
# that is shortest first. Frame 0 was alone when it came: who executes is not stopped.

# %%
env = simpy.Environment()
gpu = simpy.PriorityResource(env, capacity=1)
for frame, seconds in enumerate(SECONDS):
    env.process(on_a_gpu(env, gpu, frame, seconds, priority=seconds))
print("4  one GPU, shortest first")
env.run()

# %% [markdown]
# ### 5 A store
# A `Store` keeps things: one process puts, another gets, and waits while there is
# nothing. It parts those who submit from those who work. (`PriorityStore` gives out the
# smallest thing, `FilterStore` the first that fits.)


# %%
def submit(env, store, every_s, frames):
    """Put a frame into the store at equal distances."""
    for frame in range(frames):
        yield env.timeout(every_s)
        yield store.put(frame)


def worker(env, store, name, seconds):
    """Take the oldest frame, work, and come again."""
    while True:
        frame = yield store.get()
        taken.append((frame, name, env.now))
        yield env.timeout(seconds)


env, taken = simpy.Environment(), []
store = simpy.Store(env)
env.process(submit(env, store, every_s=10, frames=6))
env.process(worker(env, store, "fast", 15))
env.process(worker(env, store, "slow", 40))
env.run()
print("5 ", ", ".join(f"{name} takes {frame} at {at} s" for frame, name, at in taken))
by_fast = sum(name == "fast" for _, name, _ in taken)
print(claim("The fast worker takes more frames than the slow one", by_fast, above=3))

# %% [markdown]
# The fast worker takes more frames than the slow one, and nobody has told it to.
#
# ### 6 A container
# A `Container` holds an amount: memory, money, licences. Who asks for more than is left
# waits, and so do those behind.


# %%
def load(env, memory, name, gigabytes, seconds):
    """A job that needs memory of a GPU."""
    yield memory.get(gigabytes)
    print(f"   job {name} has its {gigabytes} GB at {env.now} s")
    yield env.timeout(seconds)
    yield memory.put(gigabytes)


env = simpy.Environment()
memory = simpy.Container(env, capacity=24, init=24)
print("6  a GPU with 24 GB")
for name, gigabytes, seconds in (("a", 16, 30), ("b", 10, 20), ("c", 8, 10)):
    env.process(load(env, memory, name, gigabytes, seconds))
env.run()

# %% [markdown]
# Job c would have fitted beside a. But b came before it: first come, first served can
# leave room empty that a later job could use. (To let c pass is called backfilling.)
#
# ### 7 An event of one's own, and conditions
# `env.event()` is a bell without a clock: nobody knows when it rings. `succeed(value)`
# rings it, once. `one | other` happens with the first of two, `one & other` with
# the last. So a process can be patient, but not for ever.


# %%
def patient(env, bell, until_s):
    """Wait for a bell, but not for ever."""
    happened = yield bell | env.timeout(until_s)
    heard = happened.todict().get(bell, "nothing")
    print(f"7  patience of {until_s} s: hears {heard} at {env.now} s")


def ringer(env, bell):
    """Ring after a minute."""
    yield env.timeout(60)
    bell.succeed("the bell")


env = simpy.Environment()
bell = env.event()
env.process(ringer(env, bell))
for until_s in (20, 600):
    env.process(patient(env, bell, until_s))
env.run()

# %% [markdown]
# ### 8 A dispatcher
# A resource decides by itself who is next. A scheduler wants to decide: by deadline,
# by price, by anything. So let the jobs wait for an event each, and let a process of
# its own, the **dispatcher**, choose whose event happens. It sleeps until a **bell**
# rings, for a job that comes or one that ends. A bell rings once, and so a new one is
# hung up each time.


# %%
class OneGpu:
    """A GPU that takes the job with the least key."""

    def __init__(self, jobs, key):
        self.env = simpy.Environment()
        self.key = key
        self.waiting = {}
        self.busy = False
        self.bell, self.starts = self.env.event(), {}
        self.env.process(self.dispatcher())
        for job in jobs:
            self.env.process(self.job_process(job))
        self.env.run()

    def ring(self):
        """Wake the dispatcher, if it is not awake."""
        if not self.bell.triggered:
            self.bell.succeed()

    def job_process(self, job):
        """Come, wait to be chosen, work, go. A job is (submission, seconds)."""
        yield self.env.timeout(job[0])
        chosen = self.waiting[job] = self.env.event()
        self.ring()
        yield chosen
        self.starts[job] = self.env.now
        yield self.env.timeout(job[1])
        self.busy = False
        self.ring()

    def dispatcher(self):
        """Sleep, decide, sleep."""
        while True:
            yield self.bell
            self.bell = self.env.event()
            if self.waiting and not self.busy:
                self.busy = True
                self.waiting.pop(min(self.waiting, key=self.key)).succeed()


def submission(job):  # keys of the order
    return job[0]


def length(job):
    return job[1]


FOUR, end_s = [(0, 40), (5, 10), (6, 30), (7, 20)], []
for order, key in (("oldest", submission), ("shortest", length)):
    gpu = OneGpu(FOUR, key)
    print(
        f"8  {order} first:",
        ", ".join(
            f"{seconds} s at {at_s}" for (_, seconds), at_s in gpu.starts.items()
        ),
    )
    end_s.append(gpu.env.now)
no_break = end_s == [sum(seconds for _, seconds in FOUR)] * 2
print(claim("the GPU works without a break in either order", no_break, equal=True))

# %% [markdown]
# The key is one line, and the GPU works without a break in either order. Only who
# waits is another.
#
# ## Part 2: a complete model, and three rules
#
# ### Slots, jobs and a dispatcher
# The smallest complete model of rented GPUs: a slot is a resource, a job is a process,
# the scheduler is the dispatcher of step 8. A job waits for its dispatch, then for its
# GPU (the provisioning delay), requests the slot, executes, and gives it back.


# %%
class Model:
    """Slots, jobs and a dispatcher.

    order: the key by which waiting jobs are sorted. records: what happened, by job id.
    """

    def __init__(self, scenario, order, seed=0):
        self.scenario, self.order, self.env = scenario, order, simpy.Environment()
        self.slots = [simpy.Resource(self.env) for _ in scenario.slots]
        self.taken, self.waiting, self.records = set(), {}, {}
        self.bell = self.env.event()
        self.env.process(self.dispatcher())
        self.env.process(
            self.source(scenario.workload.generate(seed, scenario.service))
        )
        self.env.run()

    def source(self, jobs):
        """Start the life of each job when it is submitted."""
        for job, draws in jobs:
            yield self.env.timeout(delay_until(self.env.now, job.submit_s))
            self.env.process(self.job_process(job, draws))

    def job_process(self, job, draws):
        """Wait for dispatch, for the GPU, for the slot; execute; give it back."""
        env, market = self.env, self.scenario.market
        dispatched = self.waiting[job] = env.event()
        self.ring()
        slot = yield dispatched
        gpu, dispatch_s = self.scenario.slots[slot], env.now
        yield env.timeout(
            market.provisioning_s(
                market.status(gpu, dispatch_s, draws.status), draws.delay
            )
        )
        with self.slots[slot].request() as granted:
            yield granted
            start_s = env.now
            yield env.timeout(gpu.mean_execution_s[job.complexity - 1] * draws.service)
        self.taken.discard(slot)
        self.records[job.id] = (slot, dispatch_s, start_s, env.now)
        self.ring()

    def dispatcher(self):
        """Sleep, let the instant end, decide."""
        while True:
            yield self.bell
            yield from self.rest_of_instant()
            self.bell = self.env.event()
            self.decide()

    def decide(self):
        """Send the first jobs in the order to the first idle slots."""
        for job, slot in zip(sorted(self.waiting, key=self.order), self.idle()):
            self.taken.add(slot)
            self.waiting.pop(job).succeed(slot)

    def idle(self):
        """Rule 1: a slot is taken from its dispatch on."""
        return [slot for slot in range(len(self.slots)) if slot not in self.taken]

    def ring(self):
        """Rule 2: one bell an instant, however many ring."""
        if self.waiting and self.idle() and not self.bell.triggered:
            self.bell.succeed()

    def rest_of_instant(self):
        """Rule 3: as long as anything else is due now, go behind it."""
        while self.env.peek() == self.env.now:
            yield self.env.timeout(0)


# %% [markdown]
# ### Each rule has a tempting alternative
# It is one method long. All three run without an error message.


# %%
class DoubleBooking(Model):
    """Asks the resources.

    But a job requests its slot only after the provisioning delay.
    """

    def idle(self):
        return [slot for slot, resource in enumerate(self.slots) if resource.count == 0]


class AtOnce(Model):
    """Needs no bell. Whoever comes or goes decides at once."""

    def ring(self):
        self.decide()


class EarlyBell(Model):
    """Decides as soon as the bell is heard.

    What the instant still brings comes after the decision.
    """

    def rest_of_instant(self):
        yield from ()


def small(name, submit_s, complexity, slots, delay_s):
    """Jobs of 30, 60, 90 s for complexity 1, 2, 3."""
    gpu = cg.GpuType(
        "GPU",
        price_usd_per_h=1.0,
        mean_execution_s=(30, 60, 90),
        high_stock_probability=1.0,
    )
    jobs = cg.JobList(
        [
            cg.Job(n, at_s, at_s + 3600, level)
            for n, (at_s, level) in enumerate(zip(submit_s, complexity))
        ]
    )
    at = {
        "market": cg.Market(delay_s=((delay_s, delay_s),) * 3),
        "service": cg.Service(sigma=(0, 0, 0)),
    }
    return cg.Scenario(name, jobs, (gpu,) * slots, (gpu,), **at)


cases = {
    DoubleBooking: small(
        "two jobs, two slots, GPUs that take 30 s to come",
        (0, 20),
        (2, 2),
        slots=2,
        delay_s=30,
    ),
    AtOnce: small(
        "at 60 s job 0 ends and a short job 2 comes",
        (0, 10, 60),
        (2, 3, 1),
        slots=1,
        delay_s=0,
    ),
    EarlyBell: small(
        "a log with whole minutes: three jobs come at 0 s",
        (0, 0, 0),
        (3, 2, 1),
        slots=1,
        delay_s=0,
    ),
}


def shortest(job):  # the order of the queue
    return job.complexity


for wrong, scenario in cases.items():
    print(scenario.name)
    for name, model in (
        (wrong.__name__, wrong(scenario, shortest)),
        ("right", Model(scenario, shortest)),
    ):
        told = [
            f"job {n}: slot {slot}, {start:3g} to {end:3g} s"
            for n, (slot, _, start, end) in sorted(model.records.items())
        ]
        print(f"  {name:<14}", "   ".join(told))

# %% [markdown]
# - **Double booking.** Between dispatch and request the resource looks free. Both jobs
#   go to slot 0, and slot 1 stays idle.
# - **Ties.** Of what is due at one instant SimPy takes what was made earlier. Job 0's
#   end was made earlier than job 2's arrival; whoever decides at once sends the long
#   job 1 before the short one is seen.
# - **The end of the instant.** The source puts one arrival after the other on the list.
#   When it comes to the third, the bell that the first has rung has been heard already.
#   `peek()` says when the next entry is due, and `timeout(0)` goes behind all that is.
#
# ### The small model against the engine
# The package's engine keeps the same rules, with more checks (`engine/simulation.py`,
# `claim.py`, `rental/process.py`). Is our small model the same? On a normal and on the
# hectic day, with their draws, we compare every slot and time, without tolerance.

# %% Against the engine
SEEDS = range(1, 11)


def records_and_wait(kind, day, seed):
    """What happened, job by job, and the mean wait in minutes."""
    submit_s = {
        job.id: job.submit_s for job, _ in day.workload.generate(seed, day.service)
    }
    found = kind(day, lambda job: job.submit_s, seed).records
    waits_s = [start_s - submit_s[job] for job, (_, _, start_s, _) in found.items()]
    records = [(job, *record) for job, record in sorted(found.items())]
    return records, np.mean(waits_s) / 60


flattered, same = {}, 0
for name in ("normal", "hectic"):
    day, waits_min = cg.day(name), {Model: [], DoubleBooking: []}
    for seed in SEEDS:
        jobs = cg.simulate(day, "fifo", seed).jobs
        engine = jobs[["job", "slot", "dispatch_s", "start_s", "finish_s"]].tolist()
        for kind in waits_min:
            records, wait_min = records_and_wait(kind, day, seed)
            same += (kind is Model) == (records == engine)
            waits_min[kind].append(wait_min)
    flattered[name] = cg.statistics.paired_difference(
        waits_min[DoubleBooking], waits_min[Model]
    )
    print(f"{name:7} day, mean of {len(SEEDS)} seeds:", end="")
    for kind, waits in waits_min.items():
        print(f"  {kind.__name__} waits {np.mean(waits):5.1f} min", end="")
    print()
print(claim("the small model gives the engine's records to the bit", same, equal=40))
said = "On the normal day double booking makes the wait longer"
print(claim(said, flattered["normal"], above=0))
said = "On the hectic day it makes it look far shorter"
print(claim(said, flattered["hectic"], below=-60))

# %% [markdown]
# On every one of these days the small model gives the engine's records to the bit;
# with double booking on none. On the normal day double booking makes the wait longer.
# On the hectic day it makes it look far shorter: several GPUs are on their way to one
# slot at once, which no slot allows. A mistake that flatters is found last.

# %% The figure
with cg.plots.styled("lecture"):
    figure = plt.figure(figsize=(12, 6.75), layout="constrained")
    for row, (wrong, scenario) in zip(
        figure.subplots(3, 2, sharex=True), cases.items()
    ):
        for ax, model, title in zip(row, (wrong, Model), (wrong.__name__, "right")):
            for job, (slot, dispatch_s, start_s, finish_s) in model(
                scenario, shortest
            ).records.items():
                ax.broken_barh(
                    [(dispatch_s, start_s - dispatch_s)],
                    (job - 0.42, 0.84),
                    color=PROVISIONING,
                )
                ax.broken_barh(
                    [(start_s, finish_s - start_s)], (job - 0.42, 0.84), color=EXECUTING
                )
                ax.text(
                    (start_s + finish_s) / 2,
                    job,
                    f"slot {slot}",
                    ha="center",
                    va="center",
                    fontsize="small",
                )
            ax.set_yticks(
                range(job_count := scenario.workload.jobs),
                [f"job {job}" for job in range(job_count)],
            )
            ax.set(xlim=(0, 185), ylim=(job_count - 0.5, -0.5))
            ax.set_title(title, fontsize="medium", loc="left")
            ax.set_xlabel(
                "time (s); grey: dispatched, does not execute yet"
                if wrong is EarlyBell
                else ""
            )
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lecture_2.png", dpi=150)

# %% [markdown]
# ## Key points
# - A process sleeps on events: timeouts, requests, things, amounts, bells, other
#   processes, and the first or the last of several.
# - Processes read like the story of a job; what happens between them at one instant
#   needs rules of its own.
# - What is promised is taken. Decide once an instant, when all of it is known.
# - A decision is made when something rings: an arrival, an end. A policy that wants to
#   be asked later answers `cg.Wake(at_s)`.
#
# ## Exercises
# **2.1** Three slots, first come, first served, GPUs that take 30 s to come. Three jobs
# of 60 s are submitted at 0, 10 and 20 s. With `DoubleBooking`, when does the last job
# end, in seconds? `cg.exercises.check(2.1, answer)`
#
# **2.2** Write a policy, a function of a view, that starts jobs in bunches: as soon as
# three jobs wait, or the oldest has waited for 600 s, it starts waiting jobs, oldest
# first, on all idle slots; else none. `cg.exercises.check(2.2, policy)`
#
# **2.3** Write the life of a job as a SimPy process, `job_process(env, slot, delay_s,
# work_s)`: its GPU is ordered when it starts and comes after the delay; then the job
# requests the slot, computes, and leaves. `cg.exercises.check(2.3, life)`
