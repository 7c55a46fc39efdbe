"""From a log to a number of slots in an hour: read it, look at it, fit it, replay it,
and decide by a rule that was fixed before.

(Lab: your own log)
"""

# %% [markdown]
# ## What you need
# You need a log of jobs with the submission time and the computing time of each job. A
# CSV file with the columns `submit_s` (seconds, or a date and time) and `service_s`
# (seconds) is enough; Slurm's sacct, SWF and other formats are known as well
# (`cgrsp_simpy.logs`), and `COLUMNS` renames columns. Put its path below. Until then
# the lab uses the log that comes with the package (`cgrsp sample` writes it to a file):
# a fictitious studio, two days of 300 jobs, generated with known rates by hour.

# %%
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import chi2

import cgrsp_simpy as cg

SAMPLE = files("cgrsp_simpy") / "data" / "studio.csv"
LOG = SAMPLE  # the path of your own log
COLUMNS = {}  # e.g. {"submit_s": "Submitted", "service_s": "Seconds"}
SLOTS = 4  # how many GPUs at once you rent today

# %% [markdown]
# ## Read (10 minutes)
# `cg.trace` reads the log and makes a scenario of it: its jobs, with the market and the
# deadlines of the thesis, since a log contains neither. It lists what it has omitted.

# %%
log = cg.trace(LOG, slots=SLOTS, columns=COLUMNS or None)
submit_s, service_s = (
    np.array(column) for column in (log.workload.submit_s, log.workload.service_s)
)
days = submit_s[-1] / 86400
print(f"{len(submit_s)} jobs in {days:.1f} days")
print(f"load on {SLOTS} slots by execution time: {log.known().offered_load:.2f}")

# %% [markdown]
# ## Look (10 minutes)
# Before you build a model, look at the data: when do jobs arrive, and how long are
# they? This is the time to find long tails, quiet nights, bursts and jobs of 0 s.

# %%
shares = np.percentile(service_s, (5, 50, 95))
print(
    f"computing time: mean {service_s.mean():.0f} s, 5, 50 and 95 % are below"
    f" {shares[0]:.0f}, {shares[1]:.0f} and {shares[2]:.0f} s"
)
print(f"standard deviation over mean: {service_s.std() / service_s.mean():.2f}")

# %% [markdown]
# ## Fit (15 minutes)
# A rate by hour of day is the count divided by the number of observed hours. Each rate
# has an error: there is an exact interval for a Poisson count (F. Garwood, Biometrika
# 28, 1936). If counts of the same hour differ from day to day by more than that, the
# jobs do not arrive as a Poisson process: find the reason before you draw from such a
# process. Lecture 8 explains how to fit.

# %%
rates = cg.arrival_rates(log.workload)
per_h = np.array(rates.per_h[0])
clock_h = rates.start_h + submit_s / 3600
counts = np.bincount(clock_h.astype(int) % 24, minlength=24)
seen = np.where(counts > 0, counts / np.where(per_h > 0, per_h, 1), days)  # hours
low = np.nan_to_num(chi2.ppf(0.025, 2 * counts)) / 2 / seen
high = chi2.ppf(0.975, 2 * counts + 2) / 2 / seen
print(" hour  jobs per hour   95 % interval")
for hour in range(0, 24, 3):
    print(f"{hour:5} {per_h[hour]:13.1f}   {low[hour]:5.1f} to {high[hour]:5.1f}")
# the sample was drawn so: 300 jobs per day, hour by hour in these proportions
true_per_h = 300 * np.array([4] * 8 + [20] * 10 + [8] * 6) / 280
if LOG == SAMPLE:
    held = np.sum((low <= true_per_h) & (true_per_h <= high))
    print(f"the true rate lies in {held} of 24 intervals")

# %% The figure
with cg.plots.styled("lecture"):
    figure, (left, right) = plt.subplots(1, 2, figsize=(14, 5.6), layout="constrained")
    left.bar(range(24), per_h, color="0.75", label="fitted")
    left.errorbar(
        range(24),
        per_h,
        (per_h - low, high - per_h),
        fmt="none",
        color="0.3",
        capsize=4,
    )
    if LOG == SAMPLE:
        left.step(
            np.arange(25) - 0.5,
            (*true_per_h, true_per_h[-1]),
            where="post",
            color="#C04A00",
            label="true",
        )
    left.set(xlabel="hour of day", ylabel="jobs per hour", xticks=range(0, 24, 4))
    left.legend(frameon=False)
    right.hist(
        service_s,
        bins=np.geomspace(max(service_s.min(), 1), service_s.max(), 30),
        color="#4292c6",
    )
    right.set(xscale="log", xlabel="computing time (s)", ylabel="jobs")
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lab_own_log.png", dpi=150)

# %% [markdown]
# ## Replay (10 minutes)
# The same jobs are simulated under several policies. A replay changes only the policy;
# it does not show what users would have done if they had waited less. These ten seeds
# are a pilot study: they show which two policies to compare.

# %%
POLICIES = ("fifo", "spt", "edf", "cadr")
study = cg.compare(log, POLICIES, seeds=range(10))
print(study)

# %% [markdown]
# ## One question, fixed before (10 minutes)
# The two policies with the fewest misses may differ by less than the width of their
# intervals; then the lower mean is a matter of chance. So write down, before the runs:
#
# - *question*: does the first of the two miss fewer deadlines than the second, on this
#   log? *Measure*: the share of jobs that miss theirs (`miss_pct`), over the whole log.
# - *runs*: 60 seeds that have not been used before, 200 to 259, the same for both.
# - *decision*: the 95 % interval of the paired difference. If it excludes 0, choose the
#   policy with fewer misses. Otherwise the misses decide nothing: choose the policy
#   with the lower cost, and report this.

# %%
rivals = sorted(POLICIES, key=lambda name: study.means()[name]["miss_pct"].mean)[:2]
judged = cg.compare(log, rivals, seeds=range(200, 260))
found = cg.statistics.paired_difference(
    *(judged.values(name, "miss_pct") for name in rivals)
)
first, second = rivals
print(
    f"misses, {first} - {second}, {judged.n} seeds:"
    f" {found.mean:+.2f} ± {found.half_width:.2f} points"
)
bills = {name: judged.means()[name]["cost_usd"].mean for name in rivals}
if found.low > 0 or found.high < 0:
    best = first if found.mean < 0 else second
    print(f"decided: {best} misses fewer")
else:
    best = min(bills, key=bills.get)
    print(f"nothing is decided about misses; {best} has the lower bill")

# %% [markdown]
# ## How many slots? (10 minutes)
# State the rule before you see the numbers: *the policy chosen above; the fewest slots
# at which the whole 95 % interval of its misses is below 5 %; on days that have not
# been used before.* So new days are drawn from the fitted rates, with other seeds, once
# as busy as the log and once with 50 % more jobs. But drawn jobs have only three sizes
# with their mean times, and no long tail. So check first whether drawn days and the log
# give similar results with today's slots.

# %%
LIMIT_PCT = 5.0


def drawn(times, slots):
    """Two days at the fitted rates, so many times as high; mean times are the log's."""
    raised = replace(rates, per_h=tuple(times * per_h))
    workload = cg.HourlyWorkload(round(2 * times * per_h.sum()), raised)
    fleet = cg.round_robin(slots, log.gpus)
    return replace(log, slots=fleet, name=f"{times} x", workload=workload)


replayed = judged.means()[best]["miss_pct"]
again = cg.compare(drawn(1, SLOTS), [best], seeds=range(100, 110)).means()[best]
for name, missed in (("the log", replayed), ("drawn days", again["miss_pct"])):
    print(
        f"{best} on {SLOTS} slots, {name}: misses"
        f" {missed.mean:.1f} ± {missed.half_width:.1f} %"
    )
for times in (1, 1.5):
    for slots in range(2, 13):
        found = cg.compare(drawn(times, slots), [best], seeds=range(100, 110))
        missed = found.means()[best]["miss_pct"]
        print(
            f"{times:3} x the jobs, {best}, {slots:2} slots: misses"
            f" {missed.mean:5.1f} ± {missed.half_width:.1f} %"
        )
        if missed.high < LIMIT_PCT:
            print(f"  so {slots} slots")
            break
    else:
        print("  so more than 12 slots, or another policy")

# %% [markdown]
# ## What to take home
# - A log is one realisation. Look at it before you fit, and check whether drawn days
#   behave like it.
# - The pilot's seeds raised the question, and other seeds answered it. A judgement on
#   the seeds of the selection favours the winner (lecture 8). "Not decided" is an
#   answer, too.
# - The rule was stated before the numbers. Insert your own log and your own rule, and
#   only then run the last cell.
