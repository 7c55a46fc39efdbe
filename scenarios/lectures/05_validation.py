"""A model that is tuned to the mean wait of a log passes the test of the mean, and is
still wrong; another figure shows it.

(Lecture 5: validation)
"""

# %% [markdown]
# ## Is it the right model?
# **Verification** asks whether the program does what the conceptual model says (lecture
# 4). **Validation** asks whether the model represents the real system well enough for
# the question. There are three steps: experts check the assumptions (**face
# validity**), data check the inputs (lecture 8), and the outputs of model and system
# are compared. This lecture is about the third.
#
# The system is a repair shop with three bays. A job waits for a bay, first come, first
# served. In the bay the mechanic fetches the spare part: mostly from the shelf, but in
# one case of five from the warehouse, in 3 to 6 minutes. Then the repair begins. A log
# has the times of arrival and of the beginning and end of each repair, for ten days of
# 120 jobs. We simulate 200 such days, so that there are 20 logs. `stream(SEED, name)`
# is a generator of random numbers that depends on the seed and the name (lecture 6).

# %%
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.plots.style import MISSED

SEED = 50_000
DAYS, LOG, JOBS = 200, 10, 120  # a log has ten days


def shop(arrivals, works, fetches, bays=3, shortest_first=False):
    """Return the wait of each job until its repair begins, in minutes."""
    env = simpy.Environment()
    bay = simpy.PriorityResource(env, bays)
    waits = np.zeros(len(arrivals))

    def job(n):
        yield env.timeout(arrivals[n])
        with bay.request(works[n] if shortest_first else 0) as turn:
            yield turn
            yield env.timeout(fetches[n])
            waits[n] = env.now - arrivals[n]
            yield env.timeout(works[n])

    for n in range(len(arrivals)):
        env.process(job(n))
    env.run()
    return waits


def fetching(name, number):
    rng = stream(SEED, name, number)
    shelf, warehouse = rng.uniform(0.1, 0.5, JOBS), rng.uniform(3, 6, JOBS)
    return np.where(rng.random(JOBS) < 0.2, warehouse, shelf)


ARRIVALS = stream(SEED, "gaps").exponential(5.5, (DAYS, JOBS)).cumsum(axis=1)
WORKS = stream(SEED, "works").lognormal(np.log(10) - 0.8**2 / 2, 0.8, (DAYS, JOBS))
days = zip(ARRIVALS, WORKS, range(DAYS))
system = np.array([shop(*jobs, fetching("system", day)) for *jobs, day in days])
print(f"the log: mean wait {system[:LOG].mean():.2f} min")

# %% [markdown]
# ## Five models
# Each model is driven by the arrivals and repair times of the log (**trace-driven**),
# so that system and model process the same jobs. One model is right. One ignores
# fetching, one has a bay too many, one serves the shortest job first. The last one
# ignores fetching, too, but it was **calibrated** (tuned): its repair times are
# multiplied by a factor that makes its mean wait equal to that of the first log.


# %%
def model(day, replication=0, fetch=True, longer=1.0, **change):
    """Return the waits of a trace-driven model."""
    fetches = fetch * fetching("model", day + DAYS * replication)
    return shop(ARRIVALS[day], longer * WORKS[day], fetches, **change)


factors = (1.0, 1.1, 1.2, 1.3, 1.4)
means = [
    np.mean([model(day, fetch=False, longer=factor) for day in range(LOG)])
    for factor in factors
]
tuned = float(np.interp(system[:LOG].mean(), means, factors))
MODELS = {
    "right": {},
    "no fetching": {"fetch": False},
    "a bay too many": {"bays": 4},
    "shortest first": {"shortest_first": True},
    "tuned": {"fetch": False, "longer": tuned},
}
waits = {
    name: np.array([model(day, **change) for day in range(DAYS)])
    for name, change in MODELS.items()
}
print(f"tuned: repairs {100 * (tuned - 1):.0f} % longer")

# %% [markdown]
# ## An interval for the difference
# The difference model - system per day is one observation; ten days give a 95 %
# confidence interval (Student's t). Both sides have the same jobs, so most of the
# variation cancels. The table also shows for how many of the 20 logs the interval
# excludes 0. For the right model one is expected. For a wrong model this is the
# **power** of the test. With a real log it is unknown; a simulated system shows it.

# %%
FIGURES = {
    "mean wait, min": lambda waits: waits.mean(axis=1),
    "repairs that begin at once, %": lambda waits: 100 * (waits < 0.05).mean(axis=1),
}
first, power = {}, {}
print(f"model - system{'':4}" + "".join(f"{figure:30}" for figure in FIGURES))
for name in MODELS:
    print(f"{name:16}", end="")
    for figure, values in FIGURES.items():
        difference = values(waits[name]) - values(system)
        logs = [cg.statistics.mean(days) for days in difference.reshape(-1, LOG)]
        power[name, figure] = sum(not log.low <= 0 <= log.high for log in logs)
        interval = first[name, figure] = logs[0]
        print(f"{interval.mean:7.2f} ± {interval.half_width:<5.2f}", end="")
        print(f"{power[name, figure]:3} of 20      ", end="")
    print()
WAIT, AT_ONCE = FIGURES
print(claim("the right model is rarely rejected", power["right", WAIT], below=6))
two = min(power["no fetching", WAIT], power["a bay too many", WAIT])
print(claim("two wrong models are rejected for most logs", two, above=14))
order = power["shortest first", WAIT]
print(claim("shortest first: less often", order, above=1, below=20))
passes = first["tuned", WAIT].low <= 0 <= first["tuned", WAIT].high
print(claim("The tuned model passes the test of the mean", passes, equal=True))
print(claim("repairs that begin at once reject it", power["tuned", AT_ONCE], equal=20))
close = cg.statistics.mean((waits["right"] - system).mean(axis=1))
print(claim("right to half a minute, 200 days", close, above=-0.5, below=0.5))

# %% [markdown]
# The test of the mean wait rejects two wrong models for most logs (here for all), and
# shortest first less often. The tuned model passes this test, because it was calibrated
# to the mean. A second figure, the share of repairs that begin at once, rejects it for
# every log: in the system no repair begins at once. The kind of error shows what is
# missing: a delay that affects even jobs that find an empty bay.
#
# So validate with figures, and with days, that were not used for calibration. And ask
# for a small interval, not only for one that contains 0: agree beforehand which error
# is acceptable, here half a minute. The whole interval has to be within it. With 200
# days, the right model is right to half a minute in this sense; ten days are few.
#
# ## The Turing test
# Show an expert the queue of a recorded day among several simulated ones, as in part
# (a) of the figure. If nobody can identify the real day, this is weak evidence for the
# model; if somebody can, ask how (Schruben 1980). In numbers: among 19 replications of
# the day, the rank of its mean wait is uniform on 1 to 20 if the model is right.

# %%
ranks, error = {}, np.sqrt((20**2 - 1) / 12 / 20)
print(f"standard error of a mean of 20 ranks: {error:.1f}")
for name in ("right", "shortest first"):
    replications = [
        [model(day, copy, **MODELS[name]).mean() for day in range(20)]
        for copy in range(1, 20)
    ]
    ranks[name] = 1 + np.sum(replications < system[:20].mean(axis=1), axis=0)
    apart = (ranks[name].mean() - 10.5) / error
    print(f"{name:15} mean rank of 20 days {ranks[name].mean():5.1f}", end=", ")
    print(f"{apart:+.1f} standard errors from 10.5")
right_rank, order_rank = (days.mean() for days in ranks.values())
print(claim("right: the mean rank is near 10.5", right_rank, above=5.5, below=15.5))
print(claim("shortest first: the system waits longer", order_rank, above=12))

# %% [markdown]
# By chance, the mean rank of the right model is about two standard errors below 10.5,
# which happens to one right model in twenty. Shortest first: the system waits longer
# than most replications, so that even 20 days show the error.


# %%
def draw_figure():
    figure = plt.figure(figsize=(15, 6.5), layout="constrained")
    grid = figure.add_gridspec(4, 2)
    for row, values in enumerate([model(0, 1), model(0, 2), system[0], model(0, 3)]):
        ax = figure.add_subplot(grid[row, 0])
        times = np.concatenate([ARRIVALS[0], ARRIVALS[0] + values])
        by_time = np.argsort(times, kind="stable")
        length = np.repeat([1, -1], JOBS)[by_time].cumsum()
        ax.step(times[by_time] / 60, length, where="post", color="#0B4F9C", lw=1.6)
        ax.set(xlim=(0, 12), ylim=(0, 12), yticks=(0, 5, 10), xticks=range(0, 13, 3))
        ax.label_outer()
    ax.set_xlabel("time (h)")
    ax.set_ylabel("waiting jobs", y=2.3)  # at the height of the four
    ax = figure.add_subplot(grid[:, 1])
    for place, name in enumerate(MODELS):
        interval = first[name, WAIT]
        colour = "#0B4F9C" if interval.low <= 0 <= interval.high else MISSED
        ax.plot([interval.low, interval.high], [place] * 2, color=colour, lw=3)
        ax.plot(interval.mean, place, "o", color=colour)
    ax.axvline(0, color="black", lw=1.2)
    ax.set(yticks=range(len(MODELS)), yticklabels=MODELS, ylim=(4.5, -0.5))
    ax.set_xlabel("mean wait, model - system (min)")
    for letter, ax in zip("ab", figure.axes[::4]):
        ax.set_title(f"({letter})", loc="left", fontsize="medium")
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lecture_5.png", dpi=150)


with cg.plots.styled("lecture"):
    draw_figure()

# %% [markdown]
# In part (a) of the figure, the third panel is the log.
#
# ## Three misconceptions
# **"The mean agrees, so the model is valid."** The tuned model agrees in the mean, and
# in it more than 30 % of the repairs begin at once; in the system none.
#
# **"The interval contains 0, so the model is valid."** With logs of three days, the
# interval of the wrong order (shortest first) contains 0 for more than half of the
# logs. With few data, nearly every model is accepted.
#
# **"The model may as well use random input."** With other random days, the
# interval for the right model is at least twice as wide as with the days of the log.

# %%
wrong = first["tuned", AT_ONCE]
print(claim("tuned: repairs that begin at once, %", wrong, above=30))
difference = (waits["shortest first"] - system).mean(axis=1)[:198].reshape(-1, 3)
short = [cg.statistics.mean(days) for days in difference]
contain = np.mean([log.low <= 0 <= log.high for log in short])
print(claim("three days: share of intervals that contain 0", contain, above=0.5))
daily, model_daily = system.mean(axis=1), waits["right"].mean(axis=1)
paired = (model_daily - daily).std()
apart = np.hypot(daily.std(), model_daily.std())
print(claim("random input: times as wide", apart / paired, above=2))

# %% [markdown]
# ## Five questions
# 1. What is the difference between verification and validation?
# 2. Why are the differences taken per day?
# 3. Which data may be used for validation if some were used for calibration?
# 4. The interval for model - system is 0.1 ± 3 min. What follows?
# 5. On three days in four the system waits longer than at least 18 of 19 replications.
#    What follows?
#
# <details><summary>Answers</summary>
#
# 1. Verification compares program and conceptual model, validation compares model and
#    real system.
# 2. Model and system process the same jobs of the day, so most of the variation
#    cancels; and the days are independent.
# 3. Other days, and other figures.
# 4. Little: the model may be wrong by three minutes. More days are needed.
# 5. The waits of the model are too short. For a right model this is expected on one day
#    in ten.
#
# </details>
#
# ## You can now
# - drive a model by a log, and compute an interval for the difference per day;
# - choose figures and days that were not used for calibration;
# - state which error is acceptable, and test for it;
# - find the power of a validation with errors that you introduce yourself.
#
# ## References
# - Law, *Simulation Modeling and Analysis* (5th ed.), Chapter 5.
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation* (5th ed.),
#   Chapter 10.
# - Schruben (1980), Simulation 34, 101-105 (the Turing test).
#
# ## Exercises
# **5.1** A log of ten days has certain mean waits, and a trace-driven model has others
# (`cg.exercises.question(5.1, "your name")`). What is the half width of the 95 %
# confidence interval for the difference, in min?
# Check it: `cg.exercises.check(5.1, answer, "your name")`
#
# **5.2** If the model is right, the rank of the log among 19 replications is 1 or 20 on
# one day in ten. What is the probability that this happens on at least a certain number
# of days (`cg.exercises.question(5.2, "your name")` gives the numbers)?
# Check it: `cg.exercises.check(5.2, answer, "your name")`
#
# **5.3** Write the model of this lecture, `replay(env, bays, log, waits)`, for
# `env.process`. `log` is a list of triples (arrival, fetching time, repair time),
# sorted by arrival, and `bays` is a `simpy.Resource`. When the repair of a job begins,
# append the pair (arrival, wait) to `waits`.
# Check it: `cg.exercises.check(5.3, replay)`
