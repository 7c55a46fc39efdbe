"""Five GPUs with work for less than a third of their time make jobs wait more than
an hour: they take too long to come.

(Lecture 7: a bottleneck that moves)
"""

# %% [markdown]
# ## A load that looks low
# A cloud GPU is not there when you ask for it. It is provisioned first: within seconds
# while stock is High, in a minute or so while it is Medium, in ten minutes to two hours
# while it is Low. Its slot is held meanwhile. The provider allows C_max slots at once,
# here five. On the surge day jobs come for ten hours, and each needs little more than
# a minute of a GPU. Is that much?

# %%
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.metrics import queue_length
from cgrsp_simpy.exercises import claim

day = cg.day("surge")
arrivals = 3600 * day.workload.rate_per_s
run = cg.simulate(day, "fifo", seed=0)
print(
    f"{arrivals:.0f} jobs an hour on C_max = {len(day.slots)} slots; load by execution"
    f" time {day.known().offered_load:.2f}"
)
print(f"mean wait {run.summary()['wait_min']:.0f} min")
load = day.known().offered_load
print(
    claim("Five GPUs with work for less than a third of their time", load, below=1 / 3)
)

# %% [markdown]
# ## The pace
# The load says that the fleet is idle two thirds of the time. The wait says that it
# is not. The load leaves out what else holds the slots. So work out the **pace**: the
# most jobs that C_max slots can serve in an hour, when each is held for provisioning
# and for execution. The chances of High, Medium and Low depend on the hour, and
# so does the pace.


# %%
def expected_s(gpu, hour):
    """Mean provisioning delay and mean execution time of a job that is dispatched at
    an hour of the run.
    """
    chances = day.market.probabilities(gpu, 3600 * hour)
    delay_s = sum(
        chance * (least + most) / 2
        for chance, (least, most) in zip(chances, day.market.delay_s)
    )
    return delay_s, sum(
        share * mean_s for share, mean_s in zip(day.workload.mix, gpu.mean_execution_s)
    )


def pace(hour):
    """The most jobs an hour."""
    return sum(3600 / sum(expected_s(gpu, hour)) for gpu in day.slots)


def time_share(start, end, since_s, until_s):
    """Share of the slots' time between two instants that lies between two
    events of each job.
    """
    inside_s = np.clip(run.jobs[end], since_s, until_s) - np.clip(
        run.jobs[start], since_s, until_s
    )
    return 100 * inside_s.sum() / (until_s - since_s) / len(day.slots)


END_H = run.tally.end_s / 3600
print(
    "              expected delay,    pace,   share of the slots' time,"
    " %          jobs waiting"
)
print(
    "        hours    RTX 3090, s  jobs / h   executing  provisioning    idle"
    "      at the end"
)
idle = {}
for since, until in ((0, 4), (4, 10), (10, END_H)):
    shares = [
        time_share(*pair, 3600 * since, 3600 * until)
        for pair in (("start_s", "finish_s"), ("dispatch_s", "start_s"))
    ]
    times_s, waiting = queue_length(run)
    queue = waiting[np.searchsorted(times_s, 3600 * until, "right") - 1]
    row = (
        f"{since:5} to {until:4.1f} {expected_s(day.gpus[0], since)[0]:14.0f}"
        f" {pace(since):9.0f}"
    )
    print(
        f"{row} {shares[0]:11.0f} {shares[1]:13.0f} {100 - sum(shares):7.0f} {queue:15}"
    )
    idle[since] = 100 - sum(shares)
print(claim("the slots are idle more than half of their time", idle[0], above=50))

# %% [markdown]
# ## Where the bottleneck is
# In the first hours it is the demand: the slots are idle more
# than half of their time. Then stock runs short, the pace falls far below the arrivals,
# and the queue grows by the difference, hour after hour. The GPUs do little work;
# the slots are full of jobs whose GPU has not come yet. After the peak the pace is high
# again, but the queue is there: now the backlog must be worked off. (The run does a
# little better than the formula, which holds for a peak that lasts: a delay that begins
# late in the peak ends after it.)
#
# ## Six remedies
# A remedy helps where the bottleneck is. Two days, the surge day and the hectic day,
# whose jobs all come before the peak, at five times the rate. Six remedies each,
# ten seeds, FIFO. A run begins at 08:00; stock is scarce from 12:00 to 18:00, hours 4
# to 10 of the run.


# %%
def with_gpus(scenario, factor):
    def faster(gpu):
        return replace(
            gpu,
            mean_execution_s=tuple(mean_s / factor for mean_s in gpu.mean_execution_s),
        )

    return replace(
        scenario,
        slots=tuple(map(faster, scenario.slots)),
        gpus=tuple(map(faster, scenario.gpus)),
    )


def with_market(scenario, **changes):
    return replace(scenario, market=replace(scenario.market, **changes))


def held(since_h):
    """FIFO, but from an hour of the run on nothing starts until hour 10, when
    the peak ends.
    """

    def policy(view):
        return (
            [cg.Wake(36000)]
            if 3600 * since_h <= view.now_s < 36000
            else zip(view.queue, view.idle)
        )

    return policy


REMEDIES = {  # how a day is changed, and who schedules it
    "as it is": (cg.day, "fifo"),
    "GPUs twice as fast": (lambda name: with_gpus(cg.day(name), 2), "fifo"),
    "two slots more": (lambda name: cg.day(name, slots=7), "fifo"),
    "GPUs that are there at once": (
        lambda name: with_market(cg.day(name), delay_s=((0, 0),) * 3),
        "fifo",
    ),
    "nothing starts in the peak": (cg.day, held(4)),
    "nothing starts before 18:00": (cg.day, held(0)),
    "all is submitted after 18:00": (
        lambda name: with_market(
            cg.day(name), clock=replace(day.market.clock, start_h=18)
        ),
        "fifo",
    ),
}
print(f"\n{'mean wait, min; rush orders late, %':36}{'surge':>14}{'hectic':>25}")
found = {}  # remedy, day, figure -> its values by seed
for remedy, (scenario, policy) in REMEDIES.items():
    print(f"{remedy:30}", end="")
    for name in ("surge", "hectic"):
        study = cg.compare(scenario(name), [policy], range(10))
        for figure in ("wait_min", "tight_miss_pct", "cost_usd"):
            found[remedy, name, figure] = np.array(
                study.values(study.policies[0], figure)
            )
        wait = cg.statistics.mean(found[remedy, name, "wait_min"])
        late_pct = found[remedy, name, "tight_miss_pct"].mean()
        print(f"{wait.mean:8.1f} ± {wait.half_width:4.1f}; {late_pct:5.1f} %", end="")
    print()


def share(remedy, name, figure="wait_min"):
    """Of the day as it is, seed by seed."""
    as_it_is = found["as it is", name, figure]
    return cg.statistics.mean(found[remedy, name, figure] / as_it_is)


WAIT, LATE = "wait_min", "tight_miss_pct"
late, peak = "nothing starts before 18:00", "nothing starts in the peak"
other_day = "all is submitted after 18:00"
print()
wait = cg.statistics.mean(found["as it is", "surge", WAIT])
print(claim("make jobs wait more than an hour", wait, above=60))
for remedy in list(REMEDIES)[1:4]:
    said = "the first three cuts the hectic day's wait to less than a third"
    print(claim(said, share(remedy, "hectic"), below=1 / 3))
faster = share("GPUs twice as fast", "surge")
print(claim("On the surge day faster GPUs are nearly wasted", faster, above=0.7))
at_once = found["GPUs that are there at once", "surge", WAIT].max()
print(claim("GPUs that are there at once leave hardly any wait", at_once, below=0.1))

# %% [markdown]
# Each of the first three cuts the hectic day's wait to less than a third. On the surge
# day faster GPUs are nearly wasted, and GPUs that are there at once leave hardly any
# wait.
#
# ## "Start after the peak": is it a remedy?
# The advice can be read in two ways, and they are two different days. We measure both.
#
# **Jobs come as they come, and are held.** The bill hardly changes, for a GPU on its
# way is not paid for. But a job waits from its submission on, whoever holds it. With
# nothing started before 18:00, when the peak is over, the jobs of the surge day wait
# three times as long and more, and every rush order is late. Even to start nothing in
# the peak alone makes the wait longer: a slow pace is better than none.
#
# **Jobs come later.** The last row is something else. There nobody is held: the
# *submissions* come ten hours later, to a market that has its peak behind it. It is the
# day of another studio, one whose morning is the provider's evening, or of one that
# rents where it is evening. Such a studio hardly waits. But a studio whose frames are
# ready at 08:00 does not become that one by holding them. Whoever moves the clock
# together with the submissions compares two studios, and calls the difference a policy.
# And the hectic day's own demand is too much even then.

# %% Both ways
longer = cg.statistics.paired_difference(
    found[late, "surge", WAIT], 3 * found["as it is", "surge", WAIT]
)
print(claim("wait three times as long and more", longer, above=0))
print(claim("every rush order is late", found[late, "surge", LATE].min(), equal=100))
worse = cg.statistics.paired_difference(
    found[peak, "surge", WAIT], found["as it is", "surge", WAIT]
)
print(claim("the peak alone makes the wait longer", worse, above=0))
for remedy in (late, peak):
    bill = share(remedy, "surge", "cost_usd")
    print(claim("The bill hardly changes", bill, above=0.9, below=1.1))
never_min = cg.statistics.mean(found[other_day, "surge", WAIT])
print(claim("Such a studio hardly waits", never_min, below=1))
still_min = cg.statistics.mean(found[other_day, "hectic", WAIT])
print(claim("demand is too much even then", still_min, above=60))

# %% The figure
with cg.plots.styled("lecture"):
    figure, (top, middle, bottom) = plt.subplots(
        3, 1, figsize=(14, 10), sharex=True, layout="constrained"
    )
    hours = np.arange(0, END_H, 0.05)
    top.step(
        hours,
        [pace(hour) for hour in hours],
        where="post",
        color="#0B4F9C",
        label=f"pace of {len(day.slots)} slots",
    )
    top.step(
        [0, day.workload.jobs / arrivals, END_H],
        [arrivals, 0, 0],
        where="post",
        color="#C04A00",
        ls="--",
        label="arrivals",
    )
    top.set(ylabel="jobs an hour", ylim=(0, None))
    top.legend(frameon=False, loc="upper center")
    cg.plots.slot_timeline(run, ax=middle).set(xlabel="")
    middle.set_ylabel("slots")
    cg.plots.queue_length(run, ax=bottom)
    for ax in (top, bottom):
        ax.axvspan(4, 10, color="#fff3cd", zorder=0)
    top.text(9.9, 150, "stock is scarce", ha="right")
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lecture_7.png", dpi=150)

# %% [markdown]
# ## Key points
# - A load must count everything that holds a slot, not only the work.
# - A queue grows by arrivals minus pace. A pace that falls for some hours is enough,
#   however low the load of the day.
# - The bottleneck moves: demand, then provisioning, then the backlog. A mean over
#   the day hides it.
# - Find the bottleneck before you buy. What cures one day may be wasted on another.
# - The wait begins with the submission. To hold jobs until stock is back moves the
#   start, not the submission.
#
# ## Exercises
# **7.1** What is the least number of slots at which the pace in the peak
# keeps up with the surge day's arrivals? Slots have the types in turn, as in
# `cg.day("surge", slots=n).slots`.
# Check it: `cg.exercises.check(7.1, answer)`
#
# **7.2** On the surge day under FIFO, seeds 0 to 9: how much of all the waiting, in per
# cent, is a job's own provisioning (`delay_s`)? The rest it spends in the queue.
# Check it: `cg.exercises.check(7.2, answer)`
