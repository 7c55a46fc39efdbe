"""Four faults are planted in a model of a ward, and six checks find them all; but no
check finds more than two, and one fault is found by a single formula alone.

(Lecture 4: from the question to a verified program)
"""

# %% [markdown]
# ## The question first
# A hospital ward has ten beds. Urgent patients who get no bed within 6 hours are sent
# on to another hospital. **How many beds does the ward need, so that fewer than one
# urgent patient in sixteen is sent on?**
#
# A model is made for a question. Before any code, we write down the content of the
# model in words that the head of the ward can read and correct. This is the
# **conceptual model**:
#
# | | in the model | left out, and why |
# |---|---|---|
# | patients | arrive at random, half are urgent | hours of the day: stays take days |
# | beds | all alike | cleaning: half an hour, stays take days |
# | stay | random, 4 days on average | a wait does not prolong it: *assumed* |
# | rules | urgent first, then first come, first served | nobody is moved out of a bed |
# | sent on | urgent patients, after 6 h | planned patients wait for ever: *assumed* |
# | staff | none | beds are scarce here, nurses are not |
# | results | share of urgent patients sent on | costs: another question |
#
# An **assumption** is something that we do not know and take to be true: ask, or look
# at data. A **simplification** is something that we know to be different, and leave
# out: give the reason why it does not matter for the question.
#
# ## The program
# Each row of the table is a few lines. Beds are a **resource with priorities**: the
# request with the smallest priority is served first. A patient is a process that waits
# for a bed or for the end of patience; `env.event()`, an event that never occurs, is
# patience without end. If the patience ends first, the patient leaves the `with` block,
# which withdraws the request. Stays are **lognormal**: most are short, a few very long.
#
# Two things make the program testable. It accepts patients by hand (`case`), and it
# writes a **trace**: a line per event.
#
# **Verification** asks: does the program do what the conceptual model says?
# (**Validation**, lecture 5, asks whether the model is like the real ward.) To test our
# checks, the program contains four faults that can be switched on by name (search for
# `fault`). Each is a mistake in one or two lines that also occurs in practice.

# %%
from functools import partial
from math import log
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim

SEED, SIGMA, BEDS = 4000, 0.8, 10
FAULTS = ("stay from arrival", "newest first", "stay in the corridor", "mean as median")
SENT_ON = cg.Metric("urgent patients sent on", "%")


@cg.model(figures={"urgent_sent_on_pct": SENT_ON}, unit_s=3600)
def ward(
    env,
    draw,
    beds=BEDS,
    gap_h=12.0,
    urgent=0.5,
    stay_h=96.0,
    patience_h=6.0,
    cleaning_h=0.0,
    patients=2000,
    exponential=False,
    fault="",
    case=(),
    trace=None,
):
    bed = cg.PriorityResource(env, beds, name="bed")
    inside, waited, sent_on = 0, 0, []

    def record(event, number):
        if trace is not None:
            trace.append((env.now, event, number, inside, len(bed.queue) + bed.count))

    def patient(number, is_urgent, stay_h):
        nonlocal inside, waited
        arrival = env.now
        inside += 1
        rank = -number if fault == "newest first" else number
        # urgent first, then by rank: False is smaller than True
        with bed.request((not is_urgent, rank)) as turn:
            record("arrives", number)
            waited += not turn.triggered  # no bed at once
            limit = env.timeout(patience_h) if is_urgent else env.event()
            has_bed = turn in (yield turn | limit)
            if has_bed:
                record("gets a bed", number)
                if fault == "stay from arrival":
                    stay_h = max(arrival + stay_h - env.now, 0)
                yield env.timeout(stay_h + cleaning_h)
        if not has_bed:
            record("is sent on", number)
            if fault == "stay in the corridor":
                yield env.timeout(stay_h)
        inside -= 1
        record("leaves", number)
        if is_urgent:
            sent_on.append(not has_bed)

    def drawn():
        # a lognormal distribution has the median exp(mu), and a greater mean
        mu = log(stay_h) - (0 if fault == "mean as median" else SIGMA**2 / 2)
        for _ in range(patients):
            stays = draw("stays")
            if exponential:
                stay = stays.exponential(stay_h)
            else:
                stay = stays.lognormal(mu, SIGMA)
            gap = draw("gaps").exponential(gap_h)
            yield gap, draw("urgent").random() < urgent, stay

    def source():
        for number, (gap, is_urgent, stay) in enumerate(case or drawn()):
            yield env.timeout(gap)
            env.process(patient(number, is_urgent, stay))

    env.process(source())
    env.run()
    return {
        "urgent_sent_on_pct": 100 * np.mean(sent_on) if sent_on else 0.0,
        "waited_pct": 100 * waited / len(case or range(patients)),
        "end_h": env.now,
    }


def run(**parameters):
    """Return figures and trace of a run, and the figures of the beds.

    The parameters are those of the ward; `cg.Draw` makes the random streams of a seed.
    """
    env, trace = simpy.Environment(), []
    figures = ward(env, cg.Draw(SEED), trace=trace, **parameters)
    return figures, trace, env.monitors["bed"].figures()


# %% [markdown]
# ## Check 1: a case by hand
# Six patients, two beds, and the event list of lecture 1 on paper: what happens when?
# At hour 9, patient 3 has waited for 6 hours and is sent on. At hour 10 a bed is free,
# and the urgent patient 4 goes before patient 2. The program must give the same
# arrivals, beds and transfers.

# %%
# hours since the previous arrival, whether urgent, hours of stay
CASE = ((0, 0, 10), (1, 0, 20), (1, 0, 5), (1, 1, 6), (2, 1, 8), (2, 0, 4))
BY_HAND = [
    *((0, "arrives", 0), (0, "gets a bed", 0), (1, "arrives", 1), (1, "gets a bed", 1)),
    *((2, "arrives", 2), (3, "arrives", 3), (5, "arrives", 4), (7, "arrives", 5)),
    *((9, "is sent on", 3), (10, "gets a bed", 4), (18, "gets a bed", 2)),
    (21, "gets a bed", 5),
]


def by_hand(fault):
    trace = run(beds=2, case=CASE, fault=fault)[1]
    return [row[:3] for row in trace if row[1] != "leaves"] == BY_HAND


for time_h, event, number, *_ in run(beds=2, case=CASE)[1][7:12]:
    print(f"  {time_h:4.0f} h: patient {number} {event}")

# %% [markdown]
# ## Checks 2 to 4: what must hold in every run
# **Conservation**: patients who have arrived and not left are in the queue or in a bed
# whenever the clock advances. The program counts them in both ways.
#
# **Little's law** (lecture 3): the mean number inside times the length of the run is
# the sum of all times inside.
#
# **Extreme values**: with a thousand beds nobody waits.


# %%
def conserved(fault):
    last = {time_h: counts for time_h, _, _, *counts in run(fault=fault)[1]}
    return all(inside == counted for inside, counted in last.values())


def little(fault):
    figures, trace, bed = run(fault=fault)
    mean_inside = bed["queue"] + bed["utilisation_pct"] / 100 * BEDS
    sign = {"arrives": -1, "leaves": 1}
    inside_h = sum(sign.get(event, 0) * time_h for time_h, event, *_ in trace)
    return np.isclose(mean_inside * figures["end_h"], inside_h)


def extremes(fault):
    return run(beds=1000, fault=fault)[0]["waited_pct"] == 0


# %% [markdown]
# ## Checks 5 and 6: special cases that have a formula
# A. K. Erlang found two formulas for c servers. Both take the **load**: the arrival
# rate times the mean stay. If all patients are urgent with a patience of 0, nobody
# waits, and formula **B** gives the share that is sent on, for any distribution of the
# stay. If nobody is urgent and stays are exponential, the ward is M/M/c (lecture 2,
# with c servers), and formula **C** gives the share that has to wait. A program passes
# if the mean of ten runs lies within 25 % of the formula. This requires that the half
# width of ten runs is smaller: we require 20 %.

# %%
LOAD = 96 / 12  # mean number of busy beds if nobody is sent on
FORMULAS = {
    "Erlang B": (
        {"urgent": 1.0, "patience_h": 0.0},
        "urgent_sent_on_pct",
        100 * cg.queueing.erlang_b(BEDS, LOAD),
    ),
    "Erlang C": (
        {"urgent": 0.0, "exponential": True},
        "waited_pct",
        100 * cg.queueing.erlang_c(BEDS, LOAD),
    ),
}


def like(name, fault):
    special, figure, formula = FORMULAS[name]
    alternative = {"fault": fault, "patients": 1000, **special}
    study = cg.compare(ward, [alternative], seeds=range(SEED, SEED + 10))
    ratio = cg.statistics.mean([row[figure] / formula for row in study.rows])
    if not fault:
        print(f"{name}: simulated / formula {ratio.mean:.2f} ± {ratio.half_width:.2f}")
        print(claim("The half width is below 20 %", ratio.half_width, below=0.2))
    return 0.75 < ratio.mean < 1.25


CHECKS = {
    "by hand": by_hand,
    "conserved": conserved,
    "Little": little,
    "extremes": extremes,
    **{name: partial(like, name) for name in FORMULAS},
}
passes = {
    fault: [bool(check(fault)) for check in CHECKS.values()] for fault in ("", *FAULTS)
}
print(f"{'':21}", *(f"{name:>10}" for name in CHECKS))
for fault, row in passes.items():
    marks = (f"{'ok' if passed else 'found':>10}" for passed in row)
    print(f"{fault or 'no fault':21}", *marks)

finds = ~np.array([passes[fault] for fault in FAULTS])
print(claim("The program without a fault passes all six", all(passes[""]), equal=True))
print(claim("Every fault is found", bool(finds.any(axis=1).all()), equal=True))
print(claim("No check finds more than two", finds.sum(axis=0).max(), equal=2))
by_b_alone = finds[3].nonzero()[0].tolist() == [[*CHECKS].index("Erlang B")]
print(claim("The wrong stay is found by formula B alone", by_b_alone, equal=True))
print(claim("Extreme values find none of the four", finds[:, 3].sum(), equal=0))

# %% [markdown]
# The program without a fault passes all six checks. Every fault is found, but no check
# finds more than two. The case by hand detects wrong rules, but never a wrong
# distribution, because its stays are given. Conservation and Little's law detect errors
# in counting patients. Only formula B detects that the mean was used as the median: in
# the check with formula C the stays are exponential, so the faulty line has no effect.
# Extreme values detect none of these four faults, but may detect another one. So use
# many small checks of different properties, and ask which faults each of them can
# detect.
#
# ## The answer, and what a fault does to it
# Twenty runs of 2,000 patients per alternative, all with the same seeds.

# %%
ALTERNATIVES = {
    "11 beds": {"beds": 11},
    "12 beds": {"beds": 12},
    "12 beds, with cleaning": {"beds": 12, "cleaning_h": 0.5},
    **{f"12 beds, {fault}": {"beds": 12, "fault": fault} for fault in FAULTS[::3]},
}
study = cg.compare(ward, ALTERNATIVES, seeds=range(SEED, SEED + 20))
pct = {
    name: np.array(study.values(name, "urgent_sent_on_pct")) for name in ALTERNATIVES
}
means = {name: cg.statistics.mean(values) for name, values in pct.items()}
for name, mean in means.items():
    print(f"  {name:28} {mean.mean:5.1f} ± {mean.half_width:.1f} % sent on")
print(claim("Eleven beds are too few", means["11 beds"], above=100 / 16))
print(claim("Twelve beds are enough", means["12 beds"], below=100 / 16))
as_median = means["12 beds, mean as median"]
print(claim("With the wrong stay more than one in ten is sent on", as_median, above=10))
flattered = cg.statistics.mean(pct["12 beds, stay from arrival"] - pct["12 beds"])
print(claim("A stay from the arrival shows too few", flattered, below=0))

# %% [markdown]
# Eleven beds are too few, twelve are enough. If the mean is used as the median, the
# answer is "more than twelve": more than one urgent patient in ten is sent on. With the
# stay counted from the arrival, the ward looks better than it is. Such faults are often
# found late, because nobody looks for the cause of a good result.

# %% The figure


def draw():
    with cg.plots.styled("lecture"):
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(15, 6), layout="constrained", width_ratios=(5, 4)
        )
        left.imshow(finds, "Oranges", vmax=1.3, aspect="auto")
        left.set_xticks(range(len(CHECKS)), CHECKS, rotation=40, ha="right")
        left.set(yticks=range(len(FAULTS)), yticklabels=FAULTS)
        for fault, check in zip(*finds.nonzero()):
            left.text(check, fault, "found", ha="center", va="center", color="white")
        left.set_title("(a) which check finds which fault", loc="left", size="medium")
        centre, half = zip(*((mean.mean, mean.half_width) for mean in means.values()))
        right.errorbar(
            centre, list(means), xerr=half, fmt="o", color="#0B4F9C", capsize=6
        )
        right.axvline(100 / 16, color="#C04A00", ls="--")
        right.invert_yaxis()
        right.set(xlabel="urgent patients sent on (%)", xlim=(0, None))
        right.set_title("(b) the answer, limit 6.25 %", loc="left", size="medium")
        Path("pictures").mkdir(exist_ok=True)
        figure.savefig("pictures/lecture_4.png", dpi=150)


draw()

# %% [markdown]
# ## Three misconceptions
# **"It runs without an error, and the result looks plausible, so it is right."** All
# four faulty programs run without an error and give a share between 0 and 100 %.
#
# **"It agrees with the formulas, so it is right."** The program that takes the newest
# patient first agrees with both formulas: the share that waits does not depend on the
# order of service.
#
# **"The more detail, the better the model."** The cleaning of a bed, half an hour after
# each stay, changes the answer by less than one percentage point. It was right to leave
# it out.

# %%
plausible = [0 < run(fault=fault)[0]["urgent_sent_on_pct"] < 100 for fault in FAULTS]
print(claim("All four faulty programs give a plausible share", sum(plausible), equal=4))
agrees = passes["newest first"][4:] == [True, True]
print(claim("Newest first agrees with both formulas", agrees, equal=True))
cleaning = cg.statistics.mean(pct["12 beds, with cleaning"] - pct["12 beds"])
said = "Cleaning changes the share by less than one percentage point"
print(claim(said, cleaning, above=-1, below=1))

# %% [markdown]
# ## Five questions
# <details><summary>1. What is the difference between an assumption and a
# simplification?</summary>
#
# An assumption is taken to be true although it is not known to be. A simplification is
# known not to be true, and made because it does not matter for the question.
# </details>
# <details><summary>2. Verification or validation: the program takes planned patients
# before urgent ones.</summary>
#
# Verification: the program does not do what the conceptual model says.
# </details>
# <details><summary>3. Verification or validation: in the real ward patients stay longer
# at weekends.</summary>
#
# Validation: the model is not like the ward.
# </details>
# <details><summary>4. Why can a case by hand not find a wrong distribution?</summary>
#
# Its stays are given, so nothing is drawn.
# </details>
# <details><summary>5. Which extreme value would show that patients are sent on although
# a bed is free?</summary>
#
# A thousand beds and a patience of 0 hours: nobody may be sent on.
# </details>
#
# ## You can now
# - write a conceptual model with assumptions and simplifications;
# - make a program testable: input by hand, a trace, special cases;
# - verify it by hand, by what must hold, by extreme values and by formulas;
# - judge a check by the faults that it can find.
#
# ## References
# - Law, *Simulation Modeling and Analysis*, 5th ed., Chapter 5 (building valid,
#   credible, and appropriately detailed simulation models).
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation*, 5th ed.,
#   Chapter 10 (verification, calibration and validation).
#
# ## Exercises
# **4.1** Nobody can wait in a ward. How many beds does it need at least, so that at
# most a given share of the patients is sent on? Your own numbers:
# `cg.exercises.question(4.1, "your name")`. Formula B is
# `cg.queueing.erlang_b(beds, load)`. `cg.exercises.check(4.1, answer, "your name")`
#
# **4.2** Write a process `patient(env, bed, urgent, stay)`. `bed` is a
# `simpy.PriorityResource`, and `bed.request(priority=0)` goes before
# `bed.request(priority=1)`; `urgent` is 1 for urgent patients and 0 for others. Urgent
# patients go first, everybody waits as long as it takes, and nobody is moved out of a
# bed. The process returns the wait for the bed. `cg.exercises.check(4.2, patient)`
