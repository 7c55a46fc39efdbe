"""From a log to a number of slots in an hour: read it, look at it, fit it, replay it,
and decide by a rule that was fixed before.

(Lab: your own log)
"""

# %% [markdown]
# ## What you need
# A log of jobs: when each was submitted, and how long it computed. A CSV file with
# the columns `submit_s` (seconds, or a date and time) and `service_s` (seconds) will
# do; Slurm's sacct, SWF and other formats are known as well (`cgrsp_simpy.logs`), and
# `COLUMNS` renames columns. Put its path below. Until then the lab takes the log that
# comes with the package (`cgrsp sample` writes it into a file): a made-up studio, two
# days of 300 jobs, with rates by hour that we know because it was made with them.

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
# deadlines of the thesis, since a log knows neither. It lists what it has left out.

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
# Before any model: when do jobs come, and how long are they? Long tails, quiet nights,
# bursts and jobs of 0 s are seen here or never.

# %%
shares = np.percentile(service_s, (5, 50, 95))
print(
    f"computing time: mean {service_s.mean():.0f} s, 5, 50 and 95 % are below"
    f" {shares[0]:.0f}, {shares[1]:.0f} and {shares[2]:.0f} s"
)
print(f"standard deviation over mean: {service_s.std() / service_s.mean():.2f}")

# %% [markdown]
# ## Fit (15 minutes)
# Rates by hour of day are counts over hours watched. Each has its error: of a Poisson
# count there is an exact interval (F. Garwood, Biometrika 28, 1936). If counts of the
# same hour differ from day to day by more than that, the jobs do not come as a Poisson
# process: then ask why before you draw from one. Lecture 8 explains how to fit.

# %%
rates = cg.arrival_rates(log.workload)
per_h = np.array(rates.per_h[0])
clock_h = rates.start_h + submit_s / 3600
counts = np.bincount(clock_h.astype(int) % 24, minlength=24)
seen = np.where(counts > 0, counts / np.where(per_h > 0, per_h, 1), days)  # hours
low = np.nan_to_num(chi2.ppf(0.025, 2 * counts)) / 2 / seen
high = chi2.ppf(0.975, 2 * counts + 2) / 2 / seen
print(" hour  jobs an hour   95 % interval")
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
    left.set(xlabel="hour of day", ylabel="jobs an hour", xticks=range(0, 24, 4))
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
# The same jobs under several policies. A replay changes nothing but the policy; what
# users would have done had they waited less, it does not know. These ten seeds are a
# pilot: they say which two policies are worth a question.

# %%
POLICIES = ("fifo", "spt", "edf", "cadr")
study = cg.compare(log, POLICIES, seeds=range(10))
print(study)

# %% [markdown]
# ## One question, fixed before (10 minutes)
# The two with the fewest misses may be closer than their intervals are wide: whoever
# takes the lesser mean then chooses by luck. So write down, before the runs:
#
# - *question*: does the first of the two miss fewer deadlines than the second, on this
#   log? *Measure*: the share of jobs that miss theirs (`miss_pct`), over the whole log.
# - *runs*: 60 seeds that nobody has seen, 200 to 259, the same for both.
# - *decision*: the 95 % interval of the paired difference. If it excludes 0, the one
#   with fewer misses. If not, nothing is decided about misses: then the one with the
#   lower bill, and say so.

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
# The rule, before the numbers: *the policy chosen above; the fewest slots at which the
# whole 95 % interval of its misses is below 5 %; on days that have not been seen.* So
# the days are drawn again from the fitted rates, with other seeds, once as busy as the
# log and once with half as many jobs again. But drawn jobs know three sizes and their
# mean times, and no longer tail. So look first whether they do to today's slots what
# the log does.

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
# - A log is one past. Look at it before you fit, and look again whether drawn days do
#   what it does.
# - The pilot's seeds asked the question, others answered it: whoever judges on those
#   that chose flatters the winner (lecture 8). "Not decided" is an answer, too.
# - The rule came before the numbers. Put in your own log, your own rule, and only then
#   run the last cell.
