"""Four faults are planted in a ward's program, and six checks find them all; but no
check finds more than two, and one fault is found by a single formula alone.

(Lecture 16: from system to verified program)
"""

# %% [markdown]
# ## The question first
# A hospital ward has ten beds. Urgent patients find them taken and are sent on to
# another hospital. **How many beds does the ward need, so that fewer than one urgent
# patient in sixteen is sent on?** A model is made for a question. What it holds is
# written down before any code, so that the ward's head can read it, and say no. This is
# the **conceptual model**:
#
# | | in the model | left out, and why |
# |---|---|---|
# | patients | come at random, half of them urgent | hours of the day: stays take days |
# | beds | all alike | cleaning: minutes beside days |
# | stay | lognormal, 4 days on average | who waits does not stay longer: *we assume* |
# | rules | urgent first, then the oldest | nobody is moved out of a bed |
# | sent on | an urgent patient after 6 h | the planned wait for ever: *we assume* |
# | staff | - | beds are short here, nurses are not |
# | results | share sent on; wait of the planned | costs: another question |
#
# What we do not know and take for granted is an **assumption**: ask, or look at data.
# What we know to be otherwise, and leave out, is a **simplification**: say why it does
# not matter for the question.
#
# ## The program
# Places, arrivals, the life of a patient: the table's rows. `case` lets us give it
# patients by hand. A program that can be given its input can be tested.

# %%
from dataclasses import dataclass, replace
from math import inf, log
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim

SEED, PILOT = 162_000, 167_000  # no seed from here on was run before
HOUR_S, SIGMA = 3600, 0.8


class Patient(NamedTuple):
    id: int
    urgent: bool
    came_s: float
    stay_s: float


def urgent_first(view):
    return zip(sorted(view.queue, key=lambda each: not each.urgent), view.free)


@dataclass(frozen=True)
class Ward(cg.Model):
    beds: int = 10
    gap_h: float = 12.0
    urgent: float = 0.5
    stay_h: float = 96.0
    patience_h: float = 6.0
    patients: int = 2000
    exponential: bool = False  # stays, in place of lognormal
    case: tuple = ()  # hour of arrival, urgent, hours of stay

    def resources(self):
        return cg.slots(self.beds, "bed")

    def mu(self):
        return log(self.stay_h) - SIGMA**2 / 2  # so that the mean is right

    def stays_h(self, draw):
        if self.exponential:
            return draw.exponential(self.stay_h, self.patients)
        return draw.lognormal(self.mu(), SIGMA, self.patients)

    def arrivals(self, draw):
        at_h = draw("gaps").exponential(self.gap_h, self.patients).cumsum()
        urgent = draw("urgent").random(self.patients) < self.urgent
        drawn = zip(at_h, urgent.tolist(), self.stays_h(draw("stays")))
        for n, (hour, is_urgent, stay_h) in enumerate(self.case or drawn):
            yield (
                HOUR_S * hour,
                Patient(n, is_urgent, HOUR_S * hour, HOUR_S * stay_h),
            )

    def job_process(self, run, patient):
        patience_s = HOUR_S * self.patience_h if patient.urgent else inf
        with run.claim(patient, patience_s=patience_s) as claim:
            if (yield claim) is not None:
                yield self.in_bed(run, patient)
                return
        yield from self.sent_on(run, patient)

    def in_bed(self, run, patient):
        return run.timeout(patient.stay_s)

    def sent_on(self, run, patient):
        run.emit("sent on", patient, "")
        return []  # nothing to wait for


# %% [markdown]
# ## Four faults
# **Verification** asks: does the program do what the table says? (Validation, lecture
# 12, asks whether the table is the ward.) To know what our checks are worth, we plant
# faults. All four programs run without an error.


# %%
class FromArrival(Ward):
    def in_bed(self, run, patient):  # the wait counts as stay
        return run.timeout(max(patient.came_s + patient.stay_s - run.now_s, 0))


class Corridor(Ward):
    def sent_on(self, run, patient):  # stays all the same, in no bed
        return [*super().sent_on(run, patient), run.timeout(patient.stay_s)]


class Median(Ward):
    def mu(self):  # the mean is taken for the median
        return log(self.stay_h)


def newest_first(view):
    return zip(
        sorted(view.queue, key=lambda each: (not each.urgent, -each.id)), view.free
    )


PROGRAMS = {
    "right": (Ward(), urgent_first),
    "stay from arrival": (FromArrival(), urgent_first),
    "newest first": (Ward(), newest_first),
    "stay in the corridor": (Corridor(), urgent_first),
    "median for mean": (Median(), urgent_first),
}

# %% [markdown]
# ## By hand, and beside the trace
# Six patients, two beds, and the event list of lecture 1: what is the state after each
# hour at which something happens? At 9 h patient 3 is sent on; at 10 h the urgent
# patient 4 overtakes patient 2. `cg.step_through` shows a model of one's own, too.

# %%
CASE = (  # hour of arrival, urgent, hours of stay
    *((0, False, 10), (1, False, 20), (2, False, 5)),
    *((3, True, 6), (5, True, 8), (7, False, 4)),
)
BY_HAND = {  # hour -> who waits, who is in the beds
    **{0: ((), (0, None)), 1: ((), (0, 1)), 2: ((2,), (0, 1))},
    **{3: ((2, 3), (0, 1)), 5: ((2, 3, 4), (0, 1)), 7: ((2, 3, 4, 5), (0, 1))},
    **{9: ((2, 4, 5), (0, 1)), 10: ((2, 5), (4, 1)), 18: ((5,), (2, 1))},
    **{21: ((), (2, 5)), 23: ((), (None, 5)), 25: ((), (None, None))},
}


def states(ward, policy):  # second -> who waits and who is in bed, at its end
    return {
        step.time_s: (step.waiting, step.slots)
        for step in cg.step_through(ward, policy, SEED)
    }


def by_hand(ward, policy):
    seen = states(replace(ward, beds=2, case=CASE), policy)
    return seen == {HOUR_S * hour: state for hour, state in BY_HAND.items()}


trace = cg.step_through(Ward(beds=2, case=CASE), urgent_first)
print(*(step for step in trace if step.time_s in (9 * HOUR_S, 10 * HOUR_S)), sep="\n")

# %% [markdown]
# ## What must hold in every run
# **Conservation**: who has come and has not left waits or is in bed, at every instant;
# once counted by the rows of the patients, once by the states. **Little's law** by the
# same two routes: patients inside, averaged over time, beside rate times time inside.
# **Extremes**: with a thousand beds nobody waits (but for rounding).


# %%
def inside(ward, policy):
    few = replace(ward, patients=300)
    jobs, seen = cg.simulate(few, policy, SEED).jobs, states(few, policy)
    by_states = [
        len(queue) + len(beds) - beds.count(None) for queue, beds in seen.values()
    ]
    came, left = (
        np.searchsorted(np.sort(jobs[name]), [*seen], "right")
        for name in ("submit_s", "finish_s")
    )
    spent_s = (jobs["finish_s"] - jobs["submit_s"]).sum()
    return np.array([*seen]), np.array(by_states), came - left, spent_s  # instants in s


def conserved(ward, policy):
    return np.array_equal(*inside(ward, policy)[1:3])


def little(ward, policy):
    at_s, by_states, _, spent_s = inside(ward, policy)
    return np.isclose(by_states[:-1] @ np.diff(at_s), spent_s)


def extremes(ward, policy):
    jobs = cg.simulate(replace(ward, beds=1000), policy, SEED).jobs
    return np.allclose(jobs["start_s"], jobs["submit_s"], rtol=0, atol=1e-3)


# %% [markdown]
# ## Special cases that have a formula
# If all are urgent and nobody waits, the ward is Erlang's loss system: formula **B**,
# for any law of the stay. If all are planned and stays are exponential, it is M/M/c:
# formula **C**, the share that waits. A pilot of the right program, with seeds of its
# own, says how many runs give the figure to ± 8 %; a program passes if the whole
# interval lies within a quarter of the formula.


# %%
def measured(ward, policy, of, seeds):
    runs = (cg.simulate(ward, policy, seed).jobs for seed in seeds)
    # a fifth is left out
    return np.array([of(jobs[len(jobs) // 5 :]) for jobs in runs])


FORMULAS = {
    "Erlang B": (
        {"urgent": 1.0, "patience_h": 0.0},
        lambda jobs: np.isnan(jobs["start_s"]).mean(),
        cg.queueing.erlang_b(Ward.beds, Ward.stay_h / Ward.gap_h),
    ),
    "Erlang C": (
        {"urgent": 0.0, "exponential": True},
        lambda jobs: (jobs["start_s"] - jobs["submit_s"] > 1e-3).mean(),
        cg.queueing.erlang_c(Ward.beds, Ward.stay_h / Ward.gap_h),
    ),
}


def like(case, of, formula):
    pilot = measured(Ward(**case), urgent_first, of, range(PILOT, PILOT + 20))
    runs = cg.statistics.replications_needed(pilot, 0.08)

    def check(ward, policy):
        own = measured(replace(ward, **case), policy, of, range(SEED, SEED + runs))
        ratio = cg.statistics.mean(own / formula)
        return ratio.low > 0.75 and ratio.high < 1.25

    return check


CHECKS = {
    "by hand": by_hand,
    "conserved": conserved,
    "Little": little,
    "extremes": extremes,
    **{name: like(*how) for name, how in FORMULAS.items()},
}
passes = {
    program: [bool(check(*how)) for check in CHECKS.values()]
    for program, how in PROGRAMS.items()
}
print(f"\n{'':21}", *(f"{name:>10}" for name in CHECKS))
for program, row in passes.items():
    print(f"{program:21}", *(f"{'ok' if each else 'found':>10}" for each in row))
found = ~np.array([passes[program] for program in list(PROGRAMS)[1:]])
print(claim("The right program passes all six", all(passes["right"]), equal=True))
print(claim("no check finds more than two", found.sum(axis=0).max(), equal=2))
print(claim("Every fault is found", bool(found.any(axis=1).all()), equal=True))
by_b = found[3].nonzero()[0].tolist() == [[*CHECKS].index("Erlang B")]
print(claim("The wrong stay is found by formula B alone", by_b, equal=True))
print(claim("Extremes find none", found[:, 3].sum(), equal=0))

# %% [markdown]
# The right program passes all six. Every fault is found, yet no check finds more than
# two. The case by hand sees rules, but never a distribution: its stays are given.
# Conservation and Little's law see who is counted wrongly, and nothing else. The wrong
# stay is found by formula B alone: in case C the stays are exponential, and the faulty
# line does not run. Extremes find none of ours; of other faults they may be the first
# to tell. So take many small checks that look at different things, and ask of each
# which fault it could see at all.
#
# ## The answer, and what a fault makes of it


# %%
def urgent_sent_on_pct(program, beds):
    ward, policy = PROGRAMS[program]
    pct = measured(
        replace(ward, beds=beds),
        policy,
        lambda jobs: 100 * np.isnan(jobs["start_s"][jobs["urgent"]]).mean(),
        range(SEED, SEED + 20),
    )
    each = cg.statistics.mean(pct)
    print(f"  {program:17} {beds:3} beds {each.mean:6.1f} ± {each.half_width:.1f} %")
    return pct


print("share of urgent patients who are sent on, 20 runs of each")
eleven, twelve = (urgent_sent_on_pct("right", beds) for beds in (11, 12))
wrong = urgent_sent_on_pct("median for mean", 12)
less = urgent_sent_on_pct("stay from arrival", 12) - twelve
print(claim("Eleven beds are too few", cg.statistics.mean(eleven), above=100 / 16))
print(claim("twelve are enough", cg.statistics.mean(twelve), below=100 / 16))
print(claim("more than one in ten is sent on", cg.statistics.mean(wrong), above=10))
print(claim("the ward looks better than it is", cg.statistics.mean(less), below=0))

# %% [markdown]
# Eleven beds are too few, twelve are enough. With the mean stay taken for the median,
# of the urgent at twelve beds more than one in ten is sent on: somebody would have
# bought more. With the stay counted from the arrival the ward looks better than it is:
# a fault that flatters is found last.

# %% The figure
with cg.plots.styled("lecture"):
    figure, axes = plt.subplots(
        1, 3, figsize=(18, 6), layout="constrained", width_ratios=(4, 4, 5)
    )
    for ax, program in zip(axes, ("right", "stay from arrival")):
        ward = replace(PROGRAMS[program][0], beds=2, case=CASE)
        cg.plots.gantt(cg.simulate(ward, urgent_first), ax=ax).get_legend().remove()
        ax.set_title(f"by hand: {program}", loc="left", fontsize="medium")
    axes[2].imshow(found, "Oranges", vmax=1.3)
    axes[2].set_title("which check finds which fault", loc="left", fontsize="medium")
    axes[2].set_xticks(range(len(CHECKS)), CHECKS, rotation=40, ha="right")
    axes[2].set(yticks=range(len(found)), yticklabels=list(PROGRAMS)[1:])
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lecture_16.png", dpi=150)

# %% [markdown]
# ## Key points
# - Write down first: the question, what is in, what is out and why; assumptions are
#   what you do not know, simplifications what you leave out.
# - Verification: does the program do what is written? By hand, by trace, by what must
#   hold, by extremes, by formulas of special cases.
# - A check is worth the faults that it can see. Plant some, and look.
#
# ## Exercises
# **16.1** Three patients a day come to a ward and stay for 4 days on average; nobody
# can wait. How many beds does it need at least, so that at most one patient in a
# hundred is sent on? `cg.exercises.check(16.1, answer)`
#
# **16.2** One more check: write a function `most(jobs)` of a run's rows, as of
# `cg.simulate(...).jobs`, that gives the greatest number of patients in bed at one
# instant, from the columns `start_s` and `finish_s`. Who leaves in an instant makes
# room first; who never started has NaN there. `cg.exercises.check(16.2, most)`
