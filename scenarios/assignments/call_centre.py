"""A call centre whose callers hang up: how many agents does it need?

You build a queue with reneging in SimPy, verify it against the Erlang-A formula, and
recommend a number of agents with confidence intervals. About six hours. Lectures 2 to
4, 9 to 11 and 15.

(Assignment: call centre)
"""

# %% [markdown]
# ## The problem
# A call centre has a number of agents. Calls come at random. A caller who finds all
# agents busy waits in one queue, first come, first served. Callers have limited
# **patience**: a caller who is not answered in time hangs up and does not call again.
# The manager wants few lost calls and no idle agents.
#
# In the terms of the lectures: the **entities** are callers, with the attributes talk
# time and patience. The agents are one **resource** of several servers.
# **Interarrival times**, talk times and patience are exponential and independent.
# A caller who leaves the queue unserved **reneges**. All times are in minutes.

# %%
import math

import numpy as np
import simpy

import cgrsp_simpy as cg

# %% [markdown]
# Write your name as your lecturer knows it. Your numbers depend on it.

# %%
student = "your name"

# %%
numbers = cg.Draw(0)(f"call centre of {student}")
GAP_MIN = round(float(numbers.uniform(0.5, 1.5)), 2)  # mean interarrival time
AGENTS, share = ((4, 0.5), (5, 0.4), (5, 0.6), (6, 0.5), (6, 0.6))[numbers.integers(5)]
TALK_MIN = round(AGENTS * GAP_MIN, 2)  # mean talk time, so today's load is 1
PATIENCE_MIN = round(share * TALK_MIN, 2)  # mean patience
WARM_UP_MIN, END_MIN = 200 * GAP_MIN, 2200 * GAP_MIN
MOST_PCT = 5.0  # of all callers may renege
print(f"{student}: a call every {GAP_MIN} min, talk {TALK_MIN} min,")
print(f"patience {PATIENCE_MIN} min, {AGENTS} agents today")

# %% [markdown]
# ## What to submit
# This notebook, with code in the answer cells and text in the two report cells. Cells
# with points are tests; run them often. After submission, further tests run.
#
# | step | points |
# |---|---|
# | 1 conceptual model | 3 |
# | 2 the process of a caller | 4 |
# | 3 the source | 3 |
# | 4 measuring | 3 |
# | 5 verification against a formula | 3 |
# | 6 experiment and recommendation | 4 |
#
# ## 1 Conceptual model
# Describe the model before you write code, in at most 200 words: entities with their
# attributes, the resource, the events that change the state, what a caller does from
# arrival to departure, three assumptions, and the performance measures. For one
# assumption, say in which direction it may change the result.
#
# | criterion | full | half | none |
# |---|---|---|---|
# | components (1) | entities, attributes, resource, measures complete | one missing | more |
# | events (1) | arrival, answer, hang-up and end of talk; who acts at each | hang-up unclear | events missing |
# | assumptions (1) | three that matter for the question, and the effect of one on a figure with its reason | three, without effect | fewer, or general ones |

# %% [markdown]
# <!-- 3 points -->
# Entities: callers, with talk time and patience, both drawn at arrival. Resource:
# agents, identical, one queue, first come, first served. State: number of busy agents
# and the queue. Events: *arrival* (a free agent answers, or the caller queues),
# *hang-up* (patience ends in the queue: the caller is removed from it), *end of talk*
# (the caller leaves, the agent takes the first in the queue, an *answer*). After an
# answer, patience has no effect. Measures: share that reneges, mean wait of all
# callers, utilisation.
#
# Assumptions: the arrival rate is constant; nobody calls again; talk times are
# exponential. If those who hung up did call again, the true load would be higher, so
# the model would promise too few lost calls.

# %% [markdown]
# ## 2 The process of a caller
# Write the process. It appends its record to `calls` at arrival and completes it later:
# `answered` and `left` are times, None if it has not happened. A caller who hangs up
# has `left` and no `answered`. Patience counts from arrival and ends with the answer. A
# caller without patience (0 minutes) is answered at once or hangs up at once.


# %%
def caller(env, desk, talk_min, patience_min, calls):
    """Be answered within patience_min and talk for talk_min, or hang up.

    desk: resource of the agents. calls: list of records, one dict per caller in order
    of arrival, with arrival, talk, patience, answered and left.
    """
    call = {
        "arrival": env.now,
        "talk": talk_min,
        "patience": patience_min,
        "answered": None,
        "left": None,
    }
    calls.append(call)
    ### BEGIN SOLUTION
    with desk.request() as turn:
        yield turn | env.timeout(patience_min)
        if turn.triggered:
            call["answered"] = env.now
            yield env.timeout(talk_min)
    call["left"] = env.now
    ### END SOLUTION


# %% [markdown]
# A trace by hand: `play` starts callers at given times and runs until the end.


# %%
def play(callers, agents=1, end_min=1000):
    """Return (answered, left) of each of the (arrival, talk, patience), and the
    resource after the run.
    """
    env, calls = simpy.Environment(), []
    desk = simpy.Resource(env, agents)

    def start(arrival_min, talk_min, patience_min):
        yield env.timeout(arrival_min)
        yield from caller(env, desk, talk_min, patience_min, calls)

    for row in callers:
        env.process(start(*row))
    env.run(end_min)
    return [(call["answered"], call["left"]) for call in calls], desk


# %%
# 2 points
assert play([(0, 5, 9), (1, 5, 9)])[0] == [(0, 5), (5, 10)]
assert play([(0, 5, 9), (1, 5, 2)])[0] == [(0, 5), (None, 3)]
### BEGIN HIDDEN TESTS
# patience ends with the answer, and does not cut a talk that is longer
assert play([(0, 50, 9)])[0] == [(0, 50)]
# a caller in second place has waited since the arrival, not since a move in the queue
three = [(0, 5, 9), (1, 5, 9), (2, 5, 4.5)]
assert play(three)[0] == [(0, 5), (5, 10), (None, 6.5)]
assert play([(0, 4, 9), (1, 4, 9), (2, 4, 9)], agents=2)[0][2] == (4, 8)
### END HIDDEN TESTS

# %%
# 2 points
rows, desk = play([(0, 5, 9), (1, 5, 2), (2, 5, 9)])
assert rows[2] == (5, 10)
### BEGIN HIDDEN TESTS
assert desk.count == len(desk.queue) == 0
# no patience: answered at once, or gone at once
assert play([(0, 5, 0), (1, 5, 0), (6, 5, 0)])[0] == [(0, 5), (None, 1), (6, 11)]
# a server is not held for a caller who has gone
rows, desk = play([(0, 10, 99)] + [(1, 5, 2)] * 5 + [(9, 1, 99)])
assert rows[-1] == (10, 11)
assert desk.count == len(desk.queue) == 0
# callers who are inside at the end have no time of departure
assert play([(0, 50, 9), (1, 5, 99)], end_min=20)[0] == [(0, None), (None, None)]
### END HIDDEN TESTS

# %% [markdown]
# ## 3 The source
# Write the source and run the model. Use the streams `draw("gaps")`, `draw("talk")` and
# `draw("patience")`, each a NumPy generator. The source draws talk time and patience of
# each caller at arrival, so that every number of agents meets the same callers (common
# random numbers). The first caller comes after the first interarrival time. Call the
# resource "agents": `cg.Resource(env, agents, name="agents")`, SimPy's resource with
# statistics, with which the tests compare your records.


# %%
def record_calls(env, draw, agents, gap_min, talk_min, patience_min, end_min):
    """Simulate until end_min; return the records of all calls in order of arrival."""
    ### BEGIN SOLUTION
    desk, calls = cg.Resource(env, agents, name="agents"), []

    def source():
        while True:
            yield env.timeout(draw("gaps").exponential(gap_min))
            talk = draw("talk").exponential(talk_min)
            patience = draw("patience").exponential(patience_min)
            env.process(caller(env, desk, talk, patience, calls))

    env.process(source())
    env.run(end_min)
    return calls
    ### END SOLUTION


# %% [markdown]
# The model for studies is given. It uses your function `figures` of step 4, where you
# find what its figures mean.


# %%
@cg.model(
    figures={
        "reneged_pct": cg.Metric("callers who renege", "%"),
        "wait_min": cg.Metric("mean wait of all callers", "min"),
        "utilisation_pct": cg.Metric("utilisation of the agents", "%", ""),
    }
)
def call_centre(
    env,
    draw,
    agents=AGENTS,
    gap_min=GAP_MIN,
    talk_min=TALK_MIN,
    patience_min=PATIENCE_MIN,
    warm_up_min=WARM_UP_MIN,
    end_min=END_MIN,
):
    calls = record_calls(env, draw, agents, gap_min, talk_min, patience_min, end_min)
    return figures(calls, agents, warm_up_min, end_min)


def trace(seed, agents=AGENTS, talk_min=TALK_MIN, end_min=END_MIN):
    """Return the records of one run."""
    return record_calls(
        simpy.Environment(),
        cg.Draw(seed),
        agents,
        GAP_MIN,
        talk_min,
        PATIENCE_MIN,
        end_min,
    )


# %%
# 2 points
calls = trace(1)
served = sum(
    call["answered"] is not None and call["left"] is not None for call in calls
)
reneged = sum(call["answered"] is None and call["left"] is not None for call in calls)
inside = sum(call["left"] is None for call in calls)
assert len(calls) == served + reneged + inside
### BEGIN HIDDEN TESTS
assert reneged > 0 and served > reneged and inside < 10 * AGENTS
expected = END_MIN / GAP_MIN
assert abs(len(calls) - expected) < 4.5 * math.sqrt(expected)
# Little's law: the queue that the resource measured is the waits of the records
env = simpy.Environment()
calls = record_calls(env, cg.Draw(2), AGENTS, GAP_MIN, TALK_MIN, PATIENCE_MIN, END_MIN)
measured = env.monitors["agents"].figures()
waits_min = math.fsum(
    next(time for time in (c["answered"], c["left"], END_MIN) if time is not None)
    - c["arrival"]
    for c in calls
)
assert math.isclose(measured["queue"] * END_MIN, waits_min, rel_tol=1e-9)
### END HIDDEN TESTS

# %%
# 1 points
assert trace(1) == trace(1)
### BEGIN HIDDEN TESTS
assert trace(1) != trace(2)
few, many = trace(3), trace(3, agents=AGENTS + 3)
for name in ("arrival", "talk", "patience"):
    assert [call[name] for call in few] == [call[name] for call in many]
# hardly any load: all are answered at once
assert all(call["answered"] == call["arrival"] for call in trace(4, talk_min=1e-9))
### END HIDDEN TESTS

# %% [markdown]
# ## 4 Measuring
# Compute the figures of the measured window, from the end of the warm-up to the end of
# the run:
#
# - `reneged_pct`: of the calls that were answered or hung up within the window, the
#   share in per cent that hung up;
# - `wait_min`: mean wait of the same calls, those that hung up included;
# - `utilisation_pct`: talking time within the window, over agents times its length. A
#   talk may begin before the window or continue after it; only the part inside counts.
#
# Without a call in the window, the first two are NaN.


# %%
def figures(calls, agents, warm_up_min, end_min):
    """Return reneged_pct, wait_min and utilisation_pct of the window as a dict."""
    ### BEGIN SOLUTION
    waits, hung_up, busy_min = [], 0, 0.0
    for call in calls:
        begin = call["answered"]
        decided = call["left"] if begin is None else begin
        if decided is not None and warm_up_min <= decided <= end_min:
            waits.append(decided - call["arrival"])
            hung_up += begin is None
        if begin is not None:
            end = min(begin + call["talk"], end_min)
            busy_min += max(0.0, end - max(begin, warm_up_min))
    return {
        "reneged_pct": 100 * hung_up / len(waits) if waits else math.nan,
        "wait_min": sum(waits) / len(waits) if waits else math.nan,
        "utilisation_pct": 100 * busy_min / (agents * (end_min - warm_up_min)),
    }
    ### END SOLUTION


# %%
# 3 points
def example(arrival, talk, answered, left):
    return {
        "arrival": arrival,
        "talk": talk,
        "patience": 9,
        "answered": answered,
        "left": left,
    }


two = [example(12, 4, 12, 16), example(13, 5, None, 15)]
result = figures(two, 2, 10, 20)
assert math.isclose(result["reneged_pct"], 50)
assert math.isclose(result["wait_min"], 1)
assert math.isclose(result["utilisation_pct"], 20)
### BEGIN HIDDEN TESTS
# only the part of a talk inside the window counts
across = [example(8, 4, 8, 12), example(18, 9, 18, None), example(1, 2, 1, 3)]
result = figures(across, 1, 10, 20)
assert math.isclose(result["utilisation_pct"], 40)
assert result["wait_min"] == 0 and result["reneged_pct"] == 0
# the warm-up is not measured; a caller in the queue at the end has no wait yet
early = [example(1, 5, None, 9), example(8, 1, 11, 12), example(19, 1, None, None)]
result = figures(early, 1, 10, 20)
assert result["reneged_pct"] == 0 and math.isclose(result["wait_min"], 3)
empty = figures([], 1, 10, 20)
assert empty["utilisation_pct"] == 0
assert math.isnan(empty["reneged_pct"]) and math.isnan(empty["wait_min"])
# the resource measures the same utilisation
run = cg.simulate(call_centre, {"warm_up_min": 0.0}, 5).summary()
assert math.isclose(run["utilisation_pct"], run["agents_utilisation_pct"], rel_tol=1e-9)
### END HIDDEN TESTS

# %% [markdown]
# ## 5 Verification against a formula
# The number of callers inside is a birth-death process (lecture 10). With n inside, it
# rises at the rate 1 / gap. It falls at the rate min(n, agents) / talk, plus one over
# the mean patience for each caller in the queue. This is the model **M/M/c+M**, or
# **Erlang-A**. Compute the steady state from these rates, with so many states that the
# rest is negligible, and from it the share that reneges and the mean wait of all
# callers. Do not call a function of `cg.queueing`; the tests compare with it.


# %%
def erlang_a(gap_min, talk_min, patience_min, agents):
    """Return the share of callers who renege, in per cent, and the mean wait."""
    ### BEGIN SOLUTION
    states = agents + 1000
    inside = np.arange(1, states)
    falls = np.minimum(inside, agents) / talk_min
    falls = falls + np.maximum(inside - agents, 0) / patience_min
    logs = np.concatenate([[0.0], -np.log(gap_min * falls).cumsum()])
    share = np.exp(logs - logs.max())
    share /= share.sum()
    queue = (share * np.maximum(np.arange(states) - agents, 0)).sum()
    return 100 * queue / patience_min * gap_min, queue * gap_min
    ### END SOLUTION


# %%
def agrees(values, exact):
    """Return whether the 99.99 % confidence interval of the runs contains the exact
    value.
    """
    interval = cg.statistics.mean(values, confidence=0.9999)
    return interval.low <= exact <= interval.high


# %%
# 2 points
pct, wait_min = erlang_a(1.0, 5.0, 3.0, 5)
assert math.isclose(pct, 19.67, abs_tol=0.01)
assert math.isclose(wait_min, 0.590, abs_tol=0.001)
### BEGIN HIDDEN TESTS
for case in ((1.0, 5.0, 3.0, 5), (0.5, 4.0, 2.0, 10), (1.0, 0.8, 6.0, 1)):
    gap, talk, patience, agents = case
    exact = cg.queueing.erlang_a(1 / gap, 1 / talk, agents, patience)
    pct, wait_min = erlang_a(*case)
    assert math.isclose(pct, 100 * exact.left, rel_tol=1e-6)
    assert math.isclose(wait_min, exact.wait_s, rel_tol=1e-6)
# hardly any patience is Erlang B, a very long one Erlang C
lost_pct = 100 * float(cg.queueing.erlang_b(5, 4.0))
assert math.isclose(erlang_a(1.0, 4.0, 1e-4, 5)[0], lost_pct, rel_tol=1e-4)
wait_min = float(cg.queueing.mmc(1.0, 1 / 4.0, 5).wait_s)
assert math.isclose(erlang_a(1.0, 4.0, 1e6, 5)[1], wait_min, rel_tol=1e-4)
### END HIDDEN TESTS

# %%
# 1 points
study = cg.compare(call_centre, {"today": {}}, seeds=range(12))
exact_pct, exact_wait_min = erlang_a(GAP_MIN, TALK_MIN, PATIENCE_MIN, AGENTS)
print(study)
print(f"formula: {exact_pct:.2f} % renege, mean wait {exact_wait_min:.3f} min")
assert agrees(study.values("today", "reneged_pct"), exact_pct)
assert agrees(study.values("today", "wait_min"), exact_wait_min)
### BEGIN HIDDEN TESTS
exact = cg.queueing.erlang_a(1 / GAP_MIN, 1 / TALK_MIN, AGENTS, PATIENCE_MIN)
assert agrees(study.values("today", "reneged_pct"), 100 * float(exact.left))
assert agrees(study.values("today", "utilisation_pct"), 100 * float(exact.utilisation))
### END HIDDEN TESTS

# %% [markdown]
# ## 6 Experiment and recommendation
# How many agents are needed, so that at most 5 % of the callers renege? Run at least
# ten replications per number of agents, on the same seeds. Take so many replications
# that the half width of the 95 % interval of the share that reneges today is at most a
# tenth of its mean.
#
# - `today`: this interval, a `cg.statistics.Mean`, of today's number of agents;
# - `fewest`: the smallest number of agents whose whole 95 % interval is at most 5 %.

# %%
### BEGIN SOLUTION
alternatives = {f"{n} agents": {"agents": n} for n in range(AGENTS, AGENTS + 5)}
study = cg.compare(call_centre, alternatives, seeds=range(100, 112))
print(study)
intervals = {
    alternatives[name]["agents"]: means["reneged_pct"]
    for name, means in study.means().items()
}
today = intervals[AGENTS]
fewest = min(n for n, interval in intervals.items() if interval.high <= MOST_PCT)
### END SOLUTION
print(f"today {today.mean:.1f} ± {today.half_width:.1f} %; {fewest} agents are needed")

# %%
# 1 points
assert today.n >= 10
assert today.half_width <= 0.1 * today.mean
### BEGIN HIDDEN TESTS
exact = cg.queueing.erlang_a(
    1 / GAP_MIN, 1 / TALK_MIN, np.array([AGENTS, fewest - 1, fewest]), PATIENCE_MIN
)
exact_pct = 100 * exact.left
assert abs(today.mean - exact_pct[0]) < 3 * today.half_width
assert exact_pct[2] < MOST_PCT < exact_pct[1]
### END HIDDEN TESTS

# %% [markdown]
# Write a report for the manager, who knows no simulation, in at most 250 words:
# question, how it was studied, result with intervals, recommendation and its limits.
#
# | criterion | full | half | none |
# |---|---|---|---|
# | result (1) | figures with intervals and units in the text itself, replications, run length and warm-up | one missing | means alone |
# | recommendation (1) | follows from the intervals and names its price (idle agents) | without its price, or from means alone | against the figures, or without them |
# | limits (1) | two assumptions of this case, with the direction of their effect on the recommendation | without direction | fewer, or general phrases |

# %% [markdown]
# <!-- 3 points -->
# **Question.** How many agents, so that at most 5 % of the callers hang up?
#
# **Study.** A simulation of about 2,000 calls after 200 as warm-up, 12 times for each
# number of agents, with the same callers. The model agrees with the Erlang-A formula.
#
# **Result** (mean and 95 % interval). Today, with 6 agents, 19.16 ± 1.08 % hang up.
# With 8 agents 6.89 ± 0.68 % do, with 9 agents 3.73 ± 0.58 %. Only the last interval is
# below 5 %.
#
# **Recommendation.** Employ 9 agents. The price is idle time: they talk for 64.88 ±
# 1.36 % of the time instead of 81.67 ± 1.10 %.
#
# **Limits.** The arrival rate is constant in the model; in a rush hour more callers
# hang up, so plan each hour by its own rate. Callers do not call again; if they do, the
# load is higher, and 9 agents may be too few.
