"""Three rules keep a model right: book slots at dispatch, decide once an instant,
and at its end.

(Lecture 2: processes)
"""

# %% [markdown]
# The smallest complete model of rented GPUs: a slot is a **resource**, a job is
# a **process**, and the scheduler is a process, too, the **dispatcher**. It sleeps
# until a **bell** rings, and decides which waiting job goes to which idle slot. A job
# waits for its dispatch, then for its GPU (the provisioning delay), requests the slot,
# executes, and gives it back.

# %%
import simpy
from matplotlib.figure import Figure

import cgrsp_simpy as cg
from cgrsp_simpy.engine.instant import delay_until  # submit_s - now, safe from rounding
from cgrsp_simpy.plots.style import EXECUTING, PROVISIONING


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
            self.env.process(self.life(job, draws))

    def life(self, job, draws):
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
        """Sleep, decide, sleep."""
        while True:
            yield self.bell
            # a bell rings once; the next one is hung up first
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
            self.strike()

    def strike(self):
        """Rule 3: after all else; event.succeed() has priority NORMAL, which is 1, and
        larger comes later.
        """
        self.bell._ok, self.bell._value = True, None
        self.env.schedule(self.bell, priority=2)


# %% [markdown]
# Each rule has a tempting alternative, one method long. All three run without
# an error message.


# %%
class DoubleBooking(Model):
    """Asks the resources.

    But a job requests its slot only after the provisioning delay.
    """

    def idle(self):  # noqa: D102
        return [slot for slot, resource in enumerate(self.slots) if resource.count == 0]


class AtOnce(Model):
    """Needs no bell. Whoever comes or goes decides at once."""

    def strike(self):  # noqa: D102
        self.decide()


class EarlyBell(Model):
    """Rings by a plain event.

    What the instant still brings may come after the decision.
    """

    def strike(self):  # noqa: D102
        self.bell.succeed()


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
# - **Ties.** Of entries at one instant SimPy takes the smaller priority first, then the
#   one made earlier. Job 0's end was made earlier than job 2's arrival; without a bell
#   the long job 1 is gone before the short one is seen.
# - **The end of the instant.** The source puts one arrival after the other on the list.
#   When it comes to the third, the bell that the first has rung is on the list already,
#   and with NORMAL priority it comes before.
#
# The package's engine keeps the same rules, with more checks (`engine/engine.py`,
# `claims.py`, `processes.py`). Is our small model the same? On a normal and on the
# hectic day, with their draws, we compare every slot and time, without tolerance.

# %% Against the engine
for name in ("normal", "hectic"):
    day = cg.day(name)
    engine = cg.simulate(day, "fifo", seed=1).jobs
    columns = engine[["job", "slot", "dispatch_s", "start_s", "finish_s"]].tolist()
    for kind in (Model, DoubleBooking):
        records = sorted(kind(day, lambda job: job.submit_s, seed=1).records.items())
        wait_min = (
            sum(record[2] - engine["submit_s"][job] for job, record in records)
            / len(records)
            / 60
        )
        same = [(job, *record) for job, record in records] == columns
        assert same == (kind is Model)
        print(
            f"{name:<7} {kind.__name__:<14} mean wait {wait_min:6.1f} min;"
            f" equal to the engine's to the bit: {same}"
        )

# %% [markdown]
# Look at the hectic day once more. Double booking does not only make things worse,
# it can make them look far better: several GPUs are on their way to one slot at once,
# which no slot allows. A mistake that flatters is found last.

# %% The figure
with cg.plots.styled("lecture"):
    figure = Figure(figsize=(12, 6.75), layout="constrained")
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
    figure.savefig("lecture_2.png", dpi=150)

# %% [markdown]
# **Key points**
# - Processes read like the story of a job; what happens between them at one instant
#   needs rules of its own.
# - What is promised is taken. Decide once an instant, when all of it is known.
# - A decision is made when something rings: an arrival, an end. A policy that wants to
#   be asked later answers `cg.Wake(at_s)`.
#
# **2.1** Three slots, first come, first served, GPUs that take 30 s to come. Three jobs
# of 60 s are submitted at 0, 10 and 20 s. With `DoubleBooking`, when does the last job
# end, in seconds? `cg.exercises.check(2.1, answer)`
#
# **2.2** Write a policy, a function of a view, that starts jobs in bunches: as soon as
# three jobs wait, or the oldest has waited for 600 s, it starts waiting jobs, oldest
# first, on all idle slots; else none. `cg.exercises.check(2.2, policy)`
