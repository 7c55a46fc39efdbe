"""A job shop: a further machine, or another order of the jobs?

You build a network of machines in SimPy, verify it against bounds and a queue with a
known answer, and compare a further machine with a dispatching rule. About six hours.
Lectures 2 to 4, 9 to 11 and 16.

(Assignment: job shop)
"""

# %% [markdown]
# ## The problem
# A workshop makes three types of parts. It has four groups of equal machines: saws,
# lathes, mills and a paint booth. Orders come at random. Each type has its **route**,
# the groups that it visits in this order, and a mean time for each operation. Orders
# wait at a group whose machines are all busy. Customers complain about long delivery
# times. The owner can buy one machine, or let each group take the job with the shortest
# next operation first (**SPT**, shortest processing time) instead of first come, first
# served (**FIFO**).
#
# In the terms of the lectures: the **entities** are jobs, with type, route and
# operation times. The groups are four **resources** of one or more servers. The
# **flow time** of a job is the time from arrival to its last completion. Interarrival
# times are exponential; operation times have a gamma distribution of shape 2. All times
# are in hours.

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
numbers = cg.Draw(0)(f"job shop of {student}")
GROUPS = ("saws", "lathes", "mills", "paint")
ROUTES = ((0, 1, 2, 3), (1, 2, 3), (2, 1, 2, 3))  # positions in GROUPS, by type
SHARES = (0.5, 0.3, 0.2)  # of the types among the jobs
MACHINES = (1, 2, 2, 1)
GAP_H = 1.0  # mean interarrival time
# the utilisation of each group, and from it the means of its operations
LOADS = [float(load) for load in numbers.uniform(0.5, 0.65, 4)]
BOTTLENECK = int(numbers.choice([1, 2]))
LOADS[BOTTLENECK] = 0.9
MEANS_H = tuple(
    LOADS[group]
    * MACHINES[group]
    * GAP_H
    / sum(share * route.count(group) for share, route in zip(SHARES, ROUTES))
    for group in range(4)
)  # of an operation, by group
WARM_UP_H, END_H = 200.0, 1000.0
for name, machines, mean_h in zip(GROUPS, MACHINES, MEANS_H):
    print(f"{name}: {machines} machines, mean operation time {mean_h:.2f} h")

# %% [markdown]
# ## What to submit
# This notebook, with code in the answer cells and text in the two report cells. Cells
# with points are tests; run them often. After submission, further tests run.
#
# | step | points |
# |---|---|
# | 1 conceptual model | 3 |
# | 2 the process of a job | 4 |
# | 3 the source | 3 |
# | 4 measuring | 3 |
# | 5 verification against bounds and a formula | 3 |
# | 6 experiment and recommendation | 4 |
#
# ## 1 Conceptual model
# Describe the model before you write code, in at most 200 words: entities with their
# attributes, resources, the events that change the state, what a job does from arrival
# to departure, three assumptions, and the performance measures. For one assumption, say
# in which direction it may change the result.
#
# | criterion | full | half | none |
# |---|---|---|---|
# | components (1) | entities, attributes, resources, measures complete | one missing | more |
# | events (1) | arrival, start and end of an operation, departure; what happens to job and machine at each | the machine after an operation unclear | events missing |
# | assumptions (1) | three that matter for the question, and the effect of one on a figure with its reason | three, without effect | fewer, or general ones |

# %% [markdown]
# <!-- 3 points -->
# Entities: jobs, with type, route and one operation time per visit, drawn at arrival.
# Resources: four groups of equal machines, each with one queue. State: busy machines
# and queue of each group. Events: *arrival* (the job requests a machine of the first
# group of its route), *start of an operation* (a machine becomes busy), *end of an
# operation* (the machine is released and takes the next job of its queue; the job goes
# to the next group or, after its last operation, *departs*). Measures: mean flow time
# in the window, utilisation of each group.
#
# Assumptions: no transport and set-up times; machines do not fail; operation times are
# independent of each other. Failures would take capacity, mostly felt at the group with
# the highest load, so true flow times would be longer than the model's.

# %% [markdown]
# ## 2 The process of a job
# Write the process. The job visits the groups of its route one after the other. Each
# group is a `simpy.PriorityResource`; the priority of a request is the operation time
# if `rule` is "spt", and 0 if it is "fifo". The job appends its record to `jobs` at
# arrival; `starts` gets the time of the start of each operation, `finish` the time of
# the last completion.


# %%
def job(env, groups, route, works_h, rule, jobs):
    """Visit the groups of the route; works_h are the operation times.

    jobs: list of records, one dict per job in order of arrival, with arrival, route,
    works, starts and finish (None before).
    """
    record = {
        "arrival": env.now,
        "route": route,
        "works": works_h,
        "starts": [],
        "finish": None,
    }
    jobs.append(record)
    ### BEGIN SOLUTION
    for group, work_h in zip(route, works_h):
        with groups[group].request(work_h if rule == "spt" else 0) as turn:
            yield turn
            record["starts"].append(env.now)
            yield env.timeout(work_h)
    record["finish"] = env.now
    ### END SOLUTION


# %% [markdown]
# `play` starts jobs at given times and runs until the last one has left.


# %%
def play(jobs, machines=(1, 1), rule="fifo"):
    """Return (starts, finish) of each of the (arrival, route, works), and the groups
    after the run.
    """
    env, records = simpy.Environment(), []
    groups = [simpy.PriorityResource(env, n) for n in machines]

    def start(arrival_h, route, works_h):
        yield env.timeout(arrival_h)
        yield from job(env, groups, route, works_h, rule, records)

    for row in jobs:
        env.process(start(*row))
    env.run()
    return [(record["starts"], record["finish"]) for record in records], groups


# %%
# 2 points
assert play([(0, (0, 1), (3, 2))])[0] == [([0, 3], 5)]
assert play([(0, (0, 1), (3, 2)), (1, (0, 1), (3, 2))])[0][1] == ([3, 6], 8)
### BEGIN HIDDEN TESTS
# two jobs that pass each other, and a machine that is free while its last job waits
rows, groups = play([(0, (0, 1), (4, 2)), (1, (1, 0), (2, 5))])
assert rows == [([0, 4], 6), ([1, 4], 9)]
rows, groups = play([(0, (0, 1), (1, 9)), (0.5, (0, 1), (1, 9)), (0.7, (0,), (1,))])
assert rows == [([0, 1], 10), ([1, 10], 19), ([2], 3)]
assert all(group.count == len(group.queue) == 0 for group in groups)
# a group that is visited twice, and two machines in a group
assert play([(0, (0, 1, 0), (1, 2, 3))])[0] == [([0, 1, 3], 6)]
rows, _ = play([(0, (0,), (5,)), (1, (0,), (5,)), (2, (0,), (5,))], machines=(2,))
assert rows == [([0], 5), ([1], 6), ([5], 10)]
### END HIDDEN TESTS

# %%
# 2 points
three = [(0, (0,), (5,)), (1, (0,), (4,)), (2, (0,), (1,))]
assert play(three, rule="fifo")[0] == [([0], 5), ([5], 9), ([9], 10)]
assert play(three, rule="spt")[0] == [([0], 5), ([6], 10), ([5], 6)]
### BEGIN HIDDEN TESTS
# the next operation counts, not the whole job or the first operation
rows, _ = play(
    [(0, (1,), (5,)), (0, (0, 1), (1, 4)), (0, (0, 1), (2, 1)), (4, (1,), (2,))],
    rule="spt",
)
assert rows == [([0], 5), ([0, 8], 12), ([1, 5], 6), ([6], 8)]
# nobody is preempted
assert play([(0, (0,), (9,)), (1, (0,), (1,))], rule="spt")[0][0] == ([0], 9)
### END HIDDEN TESTS

# %% [markdown]
# ## 3 The source
# Write the source and run the model. Use the streams `draw("gaps")`, `draw("types")`
# and `draw("works")`, each a NumPy generator. The source draws the type and all
# operation times of a job at its arrival, so that every alternative meets the same jobs
# (common random numbers). A gamma distribution of shape 2 and mean m is
# `gamma(2, m / 2)`. The first job comes after the first interarrival time. Make the
# groups with `cg.PriorityResource(env, n, name=...)` and the names of GROUPS. It is
# SimPy's resource with statistics; the tests compare your records with it.


# %%
def record_jobs(env, draw, machines, rule, gap_h, means_h, end_h):
    """Simulate until end_h; return the records of all jobs in order of arrival.

    machines, means_h: number of machines and mean operation time, by group.
    """
    ### BEGIN SOLUTION
    groups = [cg.PriorityResource(env, n, name) for n, name in zip(machines, GROUPS)]
    jobs = []

    def source():
        while True:
            yield env.timeout(draw("gaps").exponential(gap_h))
            route = ROUTES[draw("types").choice(3, p=SHARES)]
            works_h = [draw("works").gamma(2, means_h[group] / 2) for group in route]
            env.process(job(env, groups, route, works_h, rule, jobs))

    env.process(source())
    env.run(end_h)
    return jobs
    ### END SOLUTION


# %% [markdown]
# The model for studies is given. It uses your function `figures` of step 4, where you
# find what its figures mean.


# %%
@cg.model(
    figures={
        "flow_h": cg.Metric("mean flow time", "h"),
        **{
            f"{name}_pct": cg.Metric(f"utilisation of {name}", "%", "")
            for name in GROUPS
        },
    }
)
def job_shop(
    env,
    draw,
    machines=MACHINES,
    rule="fifo",
    gap_h=GAP_H,
    means_h=MEANS_H,
    warm_up_h=WARM_UP_H,
    end_h=END_H,
):
    jobs = record_jobs(env, draw, machines, rule, gap_h, means_h, end_h)
    return figures(jobs, machines, warm_up_h, end_h)


def trace(seed, machines=MACHINES, rule="fifo", gap_h=GAP_H):
    """Return the records of one run."""
    env = simpy.Environment()
    return record_jobs(env, cg.Draw(seed), machines, rule, gap_h, MEANS_H, END_H)


# %%
# 2 points
jobs = trace(1)
left = sum(record["finish"] is not None for record in jobs)
inside = sum(record["finish"] is None for record in jobs)
assert len(jobs) == left + inside and left > inside
### BEGIN HIDDEN TESTS
expected = END_H / GAP_H
assert abs(len(jobs) - expected) < 4.5 * math.sqrt(expected)
kinds = [ROUTES.index(tuple(record["route"])) for record in jobs]
for kind, share in enumerate(SHARES):
    sd = math.sqrt(len(jobs) * share * (1 - share))
    assert abs(kinds.count(kind) - len(jobs) * share) < 4.5 * sd
for record in jobs:
    assert len(record["works"]) == len(record["route"])
    ends = [start + work for start, work in zip(record["starts"], record["works"])]
    begins = [record["arrival"], *ends]
    # an operation begins after the one before
    assert all(b <= s + 1e-9 for b, s in zip(begins, record["starts"]))
    assert record["finish"] is None or math.isclose(record["finish"], ends[-1])
# Little's law: the queues that the resources measured are the waits of the records
env = simpy.Environment()
jobs = record_jobs(env, cg.Draw(2), MACHINES, "fifo", GAP_H, MEANS_H, END_H)
waits_h = dict.fromkeys(range(4), 0.0)
for record in jobs:
    ready_h = record["arrival"]
    for place, group in enumerate(record["route"]):
        if ready_h >= END_H:
            break
        is_waiting = place >= len(record["starts"])
        start_h = END_H if is_waiting else record["starts"][place]
        waits_h[group] += start_h - ready_h
        if is_waiting:
            break
        ready_h = start_h + record["works"][place]
for group, name in enumerate(GROUPS):
    queue = env.monitors[name].figures()["queue"]
    assert math.isclose(queue * END_H, waits_h[group], rel_tol=1e-9, abs_tol=1e-9)
### END HIDDEN TESTS

# %%
# 1 points
assert trace(1) == trace(1)
### BEGIN HIDDEN TESTS
assert trace(1) != trace(2)
few, many = trace(3), trace(3, machines=(2, 3, 3, 2), rule="spt")
for name in ("arrival", "route", "works"):
    assert [record[name] for record in few] == [record[name] for record in many]
# hardly any load: nobody waits
for record in trace(4, machines=(99, 99, 99, 99)):
    if record["finish"] is not None:
        flow_h = record["finish"] - record["arrival"]
        assert math.isclose(flow_h, sum(record["works"]), rel_tol=1e-9)
### END HIDDEN TESTS

# %% [markdown]
# ## 4 Measuring
# Compute the figures of the measured window, from the end of the warm-up to the end of
# the run:
#
# - `flow_h`: mean flow time of the jobs whose last completion is within the window
#   (NaN without any);
# - `saws_pct` and so on, by the names in GROUPS: time of operations within the window,
#   over machines times its length. An operation may begin before the window or continue
#   after it; only the part inside counts.


# %%
def figures(jobs, machines, warm_up_h, end_h):
    """Return flow_h and the utilisation of each group of the window as a dict."""
    ### BEGIN SOLUTION
    flows_h, busy_h = [], [0.0] * len(machines)
    for record in jobs:
        finish = record["finish"]
        if finish is not None and warm_up_h <= finish <= end_h:
            flows_h.append(finish - record["arrival"])
        for group, start, work in zip(
            record["route"], record["starts"], record["works"]
        ):
            inside_h = min(start + work, end_h) - max(start, warm_up_h)
            busy_h[group] += max(0.0, inside_h)
    shares = {
        f"{name}_pct": 100 * busy / (n * (end_h - warm_up_h))
        for name, busy, n in zip(GROUPS, busy_h, machines)
    }
    return {"flow_h": sum(flows_h) / len(flows_h) if flows_h else math.nan, **shares}
    ### END SOLUTION


# %%
# 3 points
def example(arrival, route, works, starts, finish):
    return {
        "arrival": arrival,
        "route": route,
        "works": works,
        "starts": starts,
        "finish": finish,
    }


two = [
    example(12, (0, 1), (2, 3), [12, 14], 17),
    example(13, (0,), (2,), [14], 16),
]
result = figures(two, (1, 2, 1, 1), 10, 20)
assert math.isclose(result["flow_h"], 4)
assert math.isclose(result["saws_pct"], 40) and math.isclose(result["lathes_pct"], 15)
### BEGIN HIDDEN TESTS
# only the part of an operation inside the window counts
across = [
    example(7, (0,), (4,), [8], 12),
    example(17, (0,), (9,), [18], None),
    example(1, (0, 1), (2, 9), [1], None),
]
result = figures(across, (1, 1, 1, 1), 10, 20)
assert math.isclose(result["saws_pct"], 40) and result["lathes_pct"] == 0
assert math.isclose(result["flow_h"], 5)
# the warm-up is not measured
early = [example(1, (0,), (8,), [1], 9), example(9, (0,), (1,), [9], 10.5)]
result = figures(early, (1, 1, 1, 1), 10, 20)
assert math.isclose(result["flow_h"], 1.5) and result["saws_pct"] == 0
assert math.isnan(figures([], (1, 1, 1, 1), 10, 20)["flow_h"])
# the resources measure the same utilisation
run = cg.simulate(job_shop, {"warm_up_h": 0.0}, 5).summary()
for name in GROUPS:
    measured = run[f"{name}_utilisation_pct"]
    assert math.isclose(run[f"{name}_pct"], measured, rel_tol=1e-9)
### END HIDDEN TESTS

# %% [markdown]
# ## 5 Verification against bounds and a formula
# A network like this one has no simple formula for the flow time, but:
#
# 1. The **utilisation** of a group follows from arrival rate, shares, routes, means and
#    machines alone.
# 2. If a given set of jobs is present at time 0, the time of the last completion (the
#    **makespan**) is at least the longest job's work, and at least the work of each
#    group over its machines.
# 3. If all types visited the saws first, these alone would be **M/G/1**: the formula of
#    Pollaczek and Khinchine gives the wait. The last test makes such a shop from your
#    functions.
#
# Write the first two.


# %%
def utilisations(gap_h, means_h, machines):
    """Return the utilisation of each group, in per cent, in the long run."""
    ### BEGIN SOLUTION
    visits = [
        sum(share * route.count(group) for share, route in zip(SHARES, ROUTES))
        for group in range(len(machines))
    ]
    return [
        100 * number * mean / gap_h / n
        for number, mean, n in zip(visits, means_h, machines)
    ]
    ### END SOLUTION


def least_makespan_h(jobs, machines):
    """Return the greatest of the lower bounds for jobs (route, works) at time 0."""
    ### BEGIN SOLUTION
    loads = [0.0] * len(machines)
    for route, works in jobs:
        for group, work in zip(route, works):
            loads[group] += work
    by_group = (load / n for load, n in zip(loads, machines))
    return max(*by_group, *(sum(works) for _, works in jobs))
    ### END SOLUTION


# %%
def agrees(values, exact):
    """Return whether the 99.99 % confidence interval of the runs contains the exact
    value.
    """
    interval = cg.statistics.mean(values, confidence=0.9999)
    return interval.low <= exact <= interval.high


# %%
# 1 points
assert least_makespan_h([((0, 1), (3, 2)), ((0,), (4,))], (1, 1)) == 7
### BEGIN HIDDEN TESTS
assert least_makespan_h([((0, 1), (3, 6)), ((0,), (4,))], (2, 1)) == 9
assert least_makespan_h([((0,), (3,))] * 4, (2,)) == 6
random = np.random.default_rng(7)
for _ in range(50):
    listed = [
        (
            (route := tuple(random.permutation(3).tolist())),
            random.integers(1, 9, 3).tolist(),
        )
        for _ in range(6)
    ]
    for rule in ("fifo", "spt"):
        rows, _ = play([(0, *row) for row in listed], (1, 2, 1), rule)
        makespan_h = max(finish for _, finish in rows)
        all_h = sum(sum(works) for _, works in listed)
        assert least_makespan_h(listed, (1, 2, 1)) <= makespan_h <= all_h
### END HIDDEN TESTS

# %%
# 2 points
study = cg.compare(job_shop, {"today": {}}, seeds=range(10))
exact_pct = utilisations(GAP_H, MEANS_H, MACHINES)
print(study)
print("utilisation by the formula:", [f"{value:.1f} %" for value in exact_pct])
for name, exact in zip(GROUPS, exact_pct):
    assert agrees(study.values("today", f"{name}_pct"), exact)
### BEGIN HIDDEN TESTS
assert np.allclose(exact_pct, [100 * load for load in LOADS])
assert np.allclose(utilisations(2.0, (1, 1, 1, 1), (1, 1, 1, 2)), [25, 50, 60, 25])
# only the saws take time, so they are M/G/1 (gamma of shape 2: cv^2 = 1/2)
alone = cg.compare(
    job_shop,
    {"saws": {"gap_h": 1.0, "means_h": (1.4, 1e-9, 1e-9, 1e-9)}},
    seeds=range(50, 60),
)
wait_h = float(cg.queueing.mg1(0.5, 1 / 1.4, 0.5**0.5).wait_s)  # half of the jobs
assert agrees(alone.values("saws", "flow_h"), 0.5 * (wait_h + 1.4))
### END HIDDEN TESTS

# %% [markdown]
# ## 6 Experiment and recommendation
# Compare today's shop, the shop with one further machine in each group in turn, and
# today's shop with SPT. Run at least ten replications, on the same seeds.
#
# - `best_group`: the name of the group where a further machine shortens the mean flow
#   time most;
# - `saved_h`: by how much, and `spt_saved_h`: how much SPT saves without a further
#   machine. Both are `cg.statistics.paired_difference(...)`, so positive if the mean
#   flow time is shorter than today. Pair by seed.

# %%
### BEGIN SOLUTION
alternatives = {"today": {}, "spt": {"rule": "spt"}}
for group, name in enumerate(GROUPS):
    more = [n + (other == group) for other, n in enumerate(MACHINES)]
    alternatives[name] = {"machines": tuple(more)}
study = cg.compare(job_shop, alternatives, seeds=range(100, 110))
print(study)
saved = {
    name: cg.statistics.paired_difference(
        study.values("today", "flow_h"), study.values(name, "flow_h")
    )
    for name in alternatives
    if name != "today"
}
spt_saved_h = saved.pop("spt")
best_group = max(saved, key=lambda name: saved[name].mean)
saved_h = saved[best_group]
### END SOLUTION
print(f"a further machine in {best_group} saves {saved_h.mean:.2f} h")
print(f"SPT saves {spt_saved_h.mean:.2f} h")

# %%
# 1 points
assert best_group in GROUPS
assert saved_h.n >= 10 and spt_saved_h.n >= 10
### BEGIN HIDDEN TESTS
assert best_group == GROUPS[BOTTLENECK]
more = tuple(n + (group == BOTTLENECK) for group, n in enumerate(MACHINES))
check = cg.compare(
    job_shop,
    {"today": {}, "more": {"machines": more}, "spt": {"rule": "spt"}},
    seeds=range(300, 306),
)
for name, claimed in (("more", saved_h), ("spt", spt_saved_h)):
    again = cg.statistics.paired_difference(
        check.values("today", "flow_h"), check.values(name, "flow_h")
    )
    # two independent studies differ by less than six standard errors
    error = math.hypot(again.sd / again.n**0.5, claimed.sd / claimed.n**0.5)
    assert claimed.mean > 0 and abs(again.mean - claimed.mean) < 6 * error
### END HIDDEN TESTS

# %% [markdown]
# Write a report for the owner, who knows no simulation, in at most 250 words: question,
# how it was studied, result with intervals, recommendation and its limits.
#
# | criterion | full | half | none |
# |---|---|---|---|
# | result (1) | savings with intervals and units in the text itself, replications, run length and warm-up | one missing | means alone |
# | recommendation (1) | weighs the machine against SPT by the intervals, and says who is worse off under SPT | only one of both, or from means alone | against the figures, or without them |
# | limits (1) | two assumptions of this case, with the direction of their effect on the recommendation | without direction | fewer, or general phrases |

# %% [markdown]
# <!-- 3 points -->
# **Question.** Does a further machine or another order shorten delivery times, and by
# how much?
#
# **Study.** A simulation of 800 hours after 200 hours of warm-up, ten times per
# alternative with the same jobs. The utilisations agree with the formula.
#
# **Result** (mean and 95 % interval). Today a job takes 11.43 ± 1.88 h. A further
# machine among the mills, which are busy for 90 % of the time, saves 5.24 ± 1.85 h; in
# the other groups it saves less than an hour. SPT saves 3.35 ± 1.30 h and costs
# nothing.
#
# **Recommendation.** Begin with SPT. It makes jobs with long operations wait longer;
# give their customers later dates. If the flow time is still too long, buy a mill, and
# no other machine.
#
# **Limits.** Machines do not fail in the model; failures make the bottleneck worse, so
# the mill would save more. Operation times are known before the start; with estimates
# SPT saves less.
