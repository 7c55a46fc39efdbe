"""Four jobs on one GPU are eight events, and the clock jumps from one to the next.

(Lecture 1: the event list)
"""

# %% [markdown]
# ## The future event list
# Four jobs share one GPU, first come, first served. How does a program follow them
# through time? It keeps a list of what is due: the **future event list**. It takes the
# earliest entry, sets the clock to it, and lets it change the state. What follows from
# that goes onto the list. A job arrives or a job ends: there is nothing else to know.

# %%
import heapq
from collections import Counter
from pathlib import Path

import simpy
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim

SUBMIT_S = (10, 25, 30, 55)
SERVICE_S = (40, 10, 30, 20)

# %% By hand: a heap, a clock, and a state: a queue, and the job on the GPU
future = [(SUBMIT_S[0], "submit", 0)]
queue, on_gpu, by_hand = [], None, []
while future:
    now_s, kind, job = heapq.heappop(future)
    if kind == "submit":
        queue.append(job)
        if job + 1 < len(SUBMIT_S):  # an arrival puts the next one onto the list
            heapq.heappush(future, (SUBMIT_S[job + 1], "submit", job + 1))
    else:
        on_gpu = None
    if queue and on_gpu is None:  # a start puts the end onto the list
        on_gpu = queue.pop(0)
        heapq.heappush(future, (now_s + SERVICE_S[on_gpu], "finish", on_gpu))
    by_hand.append(
        (
            now_s,
            f"{kind} {job}",
            tuple(queue),
            on_gpu,
            tuple(f"{s} {what} {who}" for s, what, who in sorted(future)),
        )
    )

ROW = "{:>7}  {:<10}{:<10}{:<8}{}"
print(ROW.format("clock/s", "event", "waiting", "on GPU", "future event list"))
for now_s, event, waiting, job, due in by_hand:
    print(
        ROW.format(
            now_s,
            event,
            " ".join(map(str, waiting)) or "-",
            "-" if job is None else job,
            ", ".join(due) or "-",
        )
    )
print(
    f"\n{len(by_hand)} events; a clock that ticks once a second would look"
    f" {by_hand[-1][0]} times, mostly in vain"
)
print(claim("Four jobs on one GPU are eight events", len(by_hand), equal=8))
longest = max(len(due) for *_, due in by_hand)
print(claim("The list is short", longest, below=3))

# %% [markdown]
# The list is short: the next arrival, and the end of the job that runs. The arrivals
# after the next need not be there yet.
#
# ## The same in SimPy
# In SimPy a job is a **process**, a function that pauses at each `yield`. The event
# list is inside the environment. It can be stepped: one call of `env.step()` takes one
# entry. Its own list is longer, since the start of a process, a granted request and
# a release are entries, too.

# %% SimPy, one step at a time
env = simpy.Environment()
gpu = simpy.Resource(env, capacity=1)
start_s = {}


def job_process(job):
    yield env.timeout(SUBMIT_S[job])
    with gpu.request() as granted:
        yield granted
        start_s[job] = env.now
        yield env.timeout(SERVICE_S[job])


for job in range(len(SUBMIT_S)):
    env.process(job_process(job))
taken = Counter()
while env.peek() < simpy.core.Infinity:  # the time of the next entry
    env.step()
    taken[env.now] += 1
print(
    "\nentries that SimPy takes:",
    ", ".join(f"{number} at {now_s}" for now_s, number in taken.items()),
    "s",
)
print(claim("Its own list is longer", sum(taken.values()), above=len(by_hand)))
print("starts:", ", ".join(f"job {job} at {start_s[job]} s" for job in sorted(start_s)))

# %% [markdown]
# ## The same in the package
# The package's engine is made of such processes. `cg.step_through` stops it after each
# event and shows the state. We let a GPU come at once (no provisioning delay) and jobs
# take exactly their mean time. At one instant several events follow each other (submit,
# decide, dispatch, start); the last state of each instant is a row of our table.

# %% The same four jobs in the package
server = cg.GpuType(
    "GPU",
    price_usd_per_h=1.0,
    mean_execution_s=(10, 20, 30, 40),
    high_stock_probability=1.0,
)
jobs = [
    cg.Job(n, at_s, at_s + 3600, complexity=SERVICE_S[n] // 10)
    for n, at_s in enumerate(SUBMIT_S)
]
exact = cg.Service(sigma=(0.0,) * 4)
four = cg.Scenario(
    "four jobs",
    cg.JobList(jobs),
    (server,),
    (server,),
    market=cg.Market(delay_s=((0, 0),) * 3),
    service=exact,
)

steps = list(cg.step_through(four, "fifo"))
print(f"\n{len(steps)} events in the engine; those at 25 s and at 50 s:\n")
print(*(step for step in steps if step.time_s in (25, 50)), sep="\n")

last = {step.time_s: step for step in steps}
in_engine = [
    (
        s,
        step.waiting,
        step.slots[0],
        tuple(f"{due.time_s:g} {due.kind} {due.job}" for due in step.future),
    )
    for s, step in last.items()
]
as_by_hand = in_engine == [(row[0], *row[2:]) for row in by_hand]
print()
said = "the last state of each instant is a row of our table"
print(claim(said, as_by_hand, equal=True))

# %% The figure: between two events nothing changes
with cg.plots.styled("lecture"):
    figure = plt.figure(figsize=(10, 5.6), layout="constrained")
    top, bottom = figure.subplots(2, sharex=True, height_ratios=(2, 3))
    for job, begin_s in start_s.items():
        top.broken_barh(
            [(begin_s, SERVICE_S[job])],
            (0, 1),
            color="#4292c6",
            edgecolor="white",
            linewidth=2,
        )
        top.text(
            begin_s + SERVICE_S[job] / 2,
            0.5,
            f"job {job}",
            ha="center",
            va="center",
            fontsize="small",
        )
    bottom.step(
        [0, *(row[0] for row in by_hand)],
        [0, *(len(row[2]) for row in by_hand)],
        where="post",
        color="black",
    )
    for now_s, event, *_ in by_hand:
        for ax in (top, bottom):
            ax.axvline(
                now_s,
                color="#C04A00" if "submit" in event else "#0B4F9C",
                lw=1.5,
                ls=":",
                zorder=0,
            )
    top.set(
        yticks=[0.5],
        yticklabels=["GPU"],
        title=f"{len(by_hand)} events: a job arrives (orange), or ends (blue)",
    )
    bottom.set(
        xticks=[row[0] for row in by_hand],
        xlim=(0, 114),
        xlabel="clock (s)",
        ylabel="waiting jobs",
        yticks=(0, 1, 2),
    )
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lecture_1.png", dpi=150)

# %% [markdown]
# ## Key points
# - State, clock, future event list: take the earliest entry, set the clock, change the
#   state, enter what follows.
# - The clock jumps. A quiet night costs no more than a quiet second.
# - What counts is the number of events, not the length of the day.
#
# ## Exercises
# **1.1** A GPU that falls free now takes the shortest waiting job, not the oldest.
# What is the mean wait of the four jobs, in seconds, from submission to start?
# `cg.exercises.check(1.1, answer)`
#
# **1.2** First come, first served, as above. How many jobs wait on average over time,
# from 0 s until the last job ends? `cg.exercises.check(1.2, answer)`
#
# **1.3** Write `in_order(events)`. The events are triples (time, priority, number) in
# the order in which they were scheduled. It returns their numbers in the order in which
# they happen: by time, at the same time the smaller priority first, and what is still
# equal as scheduled. `cg.exercises.check(1.3, in_order)`
