"""A print of 4 h takes 8.5 h where the power fails every 3 h, and 4.5 h with a
checkpoint every 20 min.

(Lecture 11: interrupts and preemption)
"""

# %% [markdown]
# A process can be **interrupted**: another one calls `process.interrupt(cause)`, and
# the `yield` at which the process waits raises `simpy.Interrupt`. A workshop has a 3-D
# printer, in a town where the power fails once in 3 h on average, for a moment. Here is
# a print of 4 h. Each time it starts anew. In the package a process beside the jobs'
# takes a place down, which interrupts who holds it.

# %%
from dataclasses import dataclass
from math import ceil, exp, sqrt
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.plots.style import MISSED

WORK_H, PER_H = 4.0, 1 / 3


@dataclass(frozen=True)
class Workshop(cg.Model):
    checkpoint_h: float = WORK_H
    writing_h: float = 0.0
    restart_h: float = 0.0

    def resources(self):
        return cg.slots(1, "printer")

    def arrivals(self, draw):
        return [(0.0, 0)]  # at 0 s, print 0

    def job_process(self, run, job):
        done, again_h = 0, 0.0  # pieces that are safe; what a new start costs
        while done < (pieces := ceil(WORK_H / self.checkpoint_h - 1e-9)):
            need_h = again_h + self.checkpoint_h + self.writing_h
            if done == pieces - 1:  # no checkpoint after the last
                need_h = again_h + WORK_H - self.checkpoint_h * done
            with run.claim(job) as claim:
                yield claim
                try:
                    yield run.timeout(3600 * need_h)
                    done, again_h = done + 1, 0.0
                except simpy.Interrupt:
                    again_h = self.restart_h  # the piece is lost

    def processes(self, run):
        return [self.power(run)]

    def power(self, run):
        while True:
            yield run.timeout(3600 * run.draw("failures").exponential(1 / PER_H))
            with run.down(run.resources[0]):  # interrupts whoever holds it
                yield run.timeout(0)


def simulated_h(runs, *how):
    """Hours until the print is done."""
    done = (cg.simulate(Workshop(*how), "first", seed) for seed in range(runs))
    return cg.statistics.mean([run.jobs["finish_s"][0] / 3600 for run in done])


# %% [markdown]
# ## By formula
# Let failures come at the rate r, and let the print need w in one piece. An attempt
# lasts (1 - e^(-rw)) / r on average and succeeds with the chance e^(-rw). So the mean
# time is E = (e^(rw) - 1) / r, and the variance is (e^(2rw) - 2 rw e^(rw) - 1) / r^2.
# From these follows how many runs give E to ± 5 %; so many we take, here and below.

# %%
x = PER_H * WORK_H
expected_h = (exp(x) - 1) / PER_H
sd_h = sqrt(exp(2 * x) - 2 * x * exp(x) - 1) / PER_H
RUNS = ceil((1.96 * sd_h / (0.05 * expected_h)) ** 2)
found = simulated_h(RUNS)
print(
    f"4 h of work, {RUNS} runs: {found.mean:.2f} ± {found.half_width:.2f} h;"
    f" by formula {expected_h:.2f} h"
)
said = "twice the work is far more than twice the time"
print(claim(said, np.expm1(2 * x) / np.expm1(x), above=4))

# %% [markdown]
# ## Checkpoints
# A checkpoint after each k of work takes c; what was done before it is safe. A
# restart takes R. Each piece of length L (k + c, and the last without c) then takes
# E(L) = (1 - e^(-rL)) / r + (1 - e^(-rL)) (e^(r(L + R)) - 1) / r: the first attempt
# needs L, each later one R + L.

# %%
WRITING_H, RESTART_H = 1 / 60, 2 / 60


def formula_h(checkpoint_h, per_h=PER_H, writing_h=WRITING_H, restart_h=RESTART_H):
    """Expected hours from start to end."""
    pieces = ceil(WORK_H / checkpoint_h - 1e-9)
    lengths = [checkpoint_h + writing_h] * (pieces - 1)
    lengths.append(WORK_H - checkpoint_h * (pieces - 1))
    return sum(
        -np.expm1(-per_h * length)
        * (1 + np.expm1(per_h * (length + restart_h)))
        / per_h
        for length in lengths
    )


MINUTES = (5, 10, 20, 40, 80, 240)
by_interval = {
    minutes: simulated_h(RUNS, minutes / 60, WRITING_H, RESTART_H)
    for minutes in MINUTES
}
print("\ncheckpoint every    simulated      formula, h")
for minutes, measured in by_interval.items():
    print(
        f"{minutes:8} min   {measured.mean:10.2f} ± {measured.half_width:.2f}"
        f" {formula_h(minutes / 60):10.2f}"
    )
grid_h = WORK_H / np.arange(1, 60)
best_h = min(grid_h, key=formula_h)
young_h = sqrt(2 * WRITING_H / PER_H)
print(f"the best of equal pieces: {60 * best_h:.1f} min, {formula_h(best_h):.3f} h")
print(
    f"Young's rule, root of 2 c / r: {60 * young_h:.1f} min, {formula_h(young_h):.3f} h"
)
print(claim("A print of 4 h takes 8.5 h", round(formula_h(WORK_H), 1), equal=8.5))
print(claim("and 4.5 h with a checkpoint", round(formula_h(1 / 3), 1), equal=4.5))
print(claim("is nearly the best", formula_h(young_h) / formula_h(best_h), below=1.005))

# %% [markdown]
# ## Preemption among jobs
# `simpy.PreemptiveResource` interrupts whoever uses it when a request of higher
# priority (a lower number) comes. The cause of the interrupt tells since when the
# loser had used the resource: `cause.usage_since`. What is left of the work is the
# loser's own affair. Two kinds of jobs on one server, theory beside it (Cobham's
# formula without interruption, `cg.queueing.mg1_preemptive` with it); 10 runs of
# 4,000 jobs, the first fifth left out.

# %%
RATES, MEANS = (0.2, 0.1), (1.0, 4.0)  # jobs per minute, minutes


def responses(seed, preempt, keeps=True):
    """Mean minutes from arrival to departure by kind. keeps: work done is kept."""
    env = simpy.Environment()
    server, spent = simpy.PreemptiveResource(env), ([], [])

    def job(kind, work):
        came = env.now
        left = work
        while left > 0:
            with server.request(priority=kind, preempt=preempt) as turn:
                yield turn
                try:
                    yield env.timeout(left)
                    left = 0
                except simpy.Interrupt as interrupt:
                    if keeps:
                        left -= env.now - interrupt.cause.usage_since
        spent[kind].append(env.now - came)

    def source(kind):
        draws = stream(seed, f"kind {kind}")
        for _ in range(round(4000 * RATES[kind] / sum(RATES))):
            yield env.timeout(draws.exponential(1 / RATES[kind]))
            env.process(job(kind, draws.exponential(MEANS[kind])))

    for kind in (0, 1):
        env.process(source(kind))
    env.run()
    return [np.mean(each[len(each) // 5 :]) for each in spent]


squares, residual = [2 * mean**2 for mean in MEANS], np.dot(RATES, np.square(MEANS))
loads = np.cumsum(np.multiply(RATES, MEANS))
CASES = {  # preempt, keeps; formula
    "urgent first": (
        (False, True),
        MEANS + residual / (1 - np.append(0, loads[0])) / (1 - loads),
    ),
    "urgent interrupts": (
        (True, True),
        cg.queueing.mg1_preemptive(RATES, MEANS, squares),
    ),
    "work done is lost": ((True, False), (MEANS[0] / (1 - loads[0]), np.inf)),
}
by_case = {}
print("\nresponse, min          urgent       formula       others       formula")
for name, (how, theory) in CASES.items():
    columns = np.array([responses(seed, *how) for seed in range(10)]).T
    by_case[name] = [cg.statistics.mean(column) for column in columns]
    cells = (
        f"{each.mean:9.2f} ± {each.half_width:<7.2f}{value:6.2f}"
        for each, value in zip(by_case[name], theory)
    )
    print(f"{name:17}", *cells)
again_min = (1 / (1 - RATES[0] * MEANS[1]) - 1) / RATES[0]
print(
    f"load of the others: {loads[1] - loads[0]:.1f}; if work done is lost"
    f" {RATES[1] * again_min:.1f} at least"
)
plainly, at_once = (CASES[name][1] for name in ("urgent first", "urgent interrupts"))
alone = float(cg.queueing.mmc(RATES[0], 1 / MEANS[0], 1).wait_s) + MEANS[0]
print(claim("as if nobody else were there", round(at_once[0] - alone, 9), equal=0))
print(claim("the others pay with a minute", round(at_once[1] - plainly[1], 9), equal=1))
print(claim("The load is far above 1", RATES[1] * again_min, above=1.5))

# %% [markdown]
# Interruption serves the urgent as if nobody else were there, and the others pay with
# a minute. But leave out the line with `usage_since`, and the program still runs:
# each long job starts anew until it finds a gap without urgent ones. With x minutes
# of work that takes (e^(0.2 x) - 1) / 0.2 minutes of service, 20 on average in place
# of 4. The load is far above 1, the queue grows as long as jobs come, and no formula
# has a steady state to offer.
#
# ## With a deadline
# Who rents computers is interrupted, too: a spot instance is cheap because the market
# may take it back. The question changes: spot or on demand, now? `cg.spot` has such
# jobs: 48 h of work within 52 h, a market that is up half of the time, 20 seeds.

# %%
study = cg.compare(
    cg.spot.Scenario(hours=48, deadline=52),
    ["on-demand", "greedy", "uniform-progress"],
    range(20),
)
for name, row in study.means().items():
    print(
        f"{name:17} ${row['cost_usd'].mean:6.2f} ± {row['cost_usd'].half_width:.2f},"
        f" late {row['missed'].mean:.0f}, starts anew {row['restarts'].mean:.1f}"
    )

# %%
with cg.plots.styled("lecture"):
    figure, (left, right) = plt.subplots(1, 2, figsize=(15, 6.5), layout="constrained")
    left.plot(60 * grid_h, [*map(formula_h, grid_h)], color="0.5", label="formula")
    left.errorbar(
        MINUTES,
        [each.mean for each in by_interval.values()],
        [each.half_width for each in by_interval.values()],
        fmt="o",
        color="#0B4F9C",
        capsize=6,
        label="simulated, 95 % interval",
    )
    left.axvline(60 * young_h, 0, 0.5, color=MISSED, ls="--", label="Young's rule")
    left.axhline(WORK_H, color="black", lw=1.2, label="work")
    left.set(
        xscale="log",
        xticks=MINUTES,
        xticklabels=MINUTES,
        ylim=(0, 10),
        xlabel="work between checkpoints (min)",
        ylabel="hours until done",
    )
    left.minorticks_off()
    left.legend(frameon=False, loc="upper left", fontsize="small")
    shown = ("urgent first", "urgent interrupts")
    for kind, name, colour, shift in (
        (0, "urgent", MISSED, -0.1),
        (1, "others", "0.3", 0.1),
    ):
        at = np.arange(len(shown)) + shift
        right.errorbar(
            at,
            [by_case[case][kind].mean for case in shown],
            [by_case[case][kind].half_width for case in shown],
            fmt="o",
            color=colour,
            capsize=6,
            label=f"{name}, simulated",
        )
        right.plot(
            at + 0.08,
            [CASES[case][1][kind] for case in shown],
            "D",
            mfc="white",
            color=colour,
            label=f"{name}, formula",
        )
    right.set(
        xticks=range(len(shown)),
        xticklabels=shown,
        xlim=(-0.5, 1.5),
        ylabel="mean response (min)",
        ylim=(0, 15),
    )
    right.legend(frameon=False, ncols=2, loc="upper left", fontsize="small")
    for letter, ax in zip("ab", (left, right)):
        ax.set_title(f"({letter})", loc="left", fontsize="medium")
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lecture_11.png", dpi=150)

# %% [markdown]
# ## Key points
# - An interrupt ends a `yield` with an exception. What was done until then is the
#   process's own to count.
# - Without checkpoints the expected time grows like e^(rw): twice the work is far more
#   than twice the time.
# - Young's interval, root of 2 c / r, is nearly the best, and near it little changes.
# - Check every preemption against a formula: a lost line of bookkeeping raises
#   no error.
#
# ## Exercises
# A print of 4 h, power that fails once in 3 h on average; a restart takes 2 min, a
# checkpoint 1 min.
#
# **11.1** Without checkpoints: how many hours does the print take if its work is 8 h,
# by formula, restarts included? `cg.exercises.check(11.1, answer)`
#
# **11.2** The print of 4 h is cut into equal pieces, with a checkpoint after each but
# the last. How many pieces give the least expected time? `cg.exercises.check(11.2,
# answer)`
#
# **11.3** Write `done_h(work_h, every_h, failures_h)`. A job starts at 0 h, has so much
# work, and writes a checkpoint after every so many hours of work, which takes no time.
# At the hours of failures_h, in order, the machine fails: the work since the last
# checkpoint is lost, and the job goes on at once. When is it done?
# `cg.exercises.check(11.3, done_h)`
