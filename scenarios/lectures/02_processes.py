"""A teller who is busy for 80 % of the time makes customers wait for 16 minutes on
average, although the service takes only 4.

(Lecture 2: processes)
"""

# %% [markdown]
# Lecture 1 kept the future event list by hand. From here on SimPy keeps it. We describe
# what every **entity** does, such as a customer of a bank: arrive, wait, be served,
# leave. This description is a **process**, and it is written as a Python function.
#
# ## A function that pauses
# A Python function with `yield` is a **generator function**. A call returns a generator
# and runs nothing yet. Each `next` runs it up to the next `yield`; there it pauses,
# keeps its variables, and continues later.

# %%
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim


def visit(name):
    print(name, "arrives")
    yield "first pause"
    print(name, "leaves")
    yield "second pause"


ada, ben = visit("Ada"), visit("Ben")  # nothing is printed here
for generator in (ada, ben, ben, ada):
    print("  ", next(generator))

# %% [markdown]
# Two visits are under way at the same time, although only one line runs at a time. This
# is how SimPy follows thousands of customers.
#
# ## A process and a clock
# A SimPy process pauses at **events**. `env.timeout(4)` is an event that occurs 4 units
# of time from now, here minutes. The **environment** `env` is the clock and the future
# event list. `env.process(...)` starts a process, and `env.run()` takes event after
# event until none is left.


# %%
def customer(env, name, service_min):
    print(f"  {env.now:4.1f} min: the service of {name} begins")
    yield env.timeout(service_min)
    print(f"  {env.now:4.1f} min: {name} leaves")


env = simpy.Environment()
env.process(customer(env, "Ada", 4))
env.process(customer(env, "Ben", 1.5))
env.run()
print(claim("The last customer leaves after 4 minutes", env.now, equal=4))

# %% [markdown]
# Both are served at once: this bank has no limit yet.
#
# ## A resource: one teller
# A **resource** has a number of servers, its capacity, and a queue: first come, first
# served. `request()` returns an event that occurs when a server is free. At the end of
# the `with` block the server is released. These are the four customers of lecture 1.

# %%
ARRIVALS_MIN, SERVICES_MIN = (2, 5, 6, 11), (8, 2, 6, 4)


def bank_customer(env, teller, arrival_min, service_min, waits):
    yield env.timeout(arrival_min)
    with teller.request() as turn:
        yield turn
        waits.append(env.now - arrival_min)
        yield env.timeout(service_min)


env, waits = simpy.Environment(), []
teller = simpy.Resource(env, capacity=1)
for arrival_min, service_min in zip(ARRIVALS_MIN, SERVICES_MIN):
    env.process(bank_customer(env, teller, arrival_min, service_min, waits))
env.run()
print("waits in minutes:", waits, "; the last customer leaves at", env.now)
print(claim("The waits are those of lecture 1", waits == [0, 5, 6, 7], equal=True))

# %% [markdown]
# ## A source, and random times: M/M/1
# Customers of a real bank keep arriving, at times that nobody knows. A **source** is a
# process that waits for an **interarrival time** and then starts a customer. We draw
# interarrival times and **service times** from exponential distributions with means of
# 5 and 4 minutes. Such times are **memoryless**: how long a service has taken so far
# says nothing about how long it will still take. With one server this is the queue
# **M/M/1**, M for memoryless arrivals and services. The teller is busy for 4 of 5
# minutes on average, so the **utilisation** is 0.8.

# %%
GAP_MIN, SERVICE_MIN, CUSTOMERS = 5.0, 4.0, 50_000


def queue_customer(env, teller, service_min, waits):
    arrival_min = env.now
    with teller.request() as turn:
        yield turn
        waits.append(env.now - arrival_min)
        yield env.timeout(service_min)


def source(env, teller, gaps_min, services_min, waits):
    for gap_min, service_min in zip(gaps_min, services_min):
        yield env.timeout(gap_min)
        env.process(queue_customer(env, teller, service_min, waits))


def waits_in(gaps_min, services_min):
    """Return the waits of the customers of one teller."""
    env, waits = simpy.Environment(), []
    teller = simpy.Resource(env)
    env.process(source(env, teller, gaps_min, services_min, waits))
    env.run()
    return np.array(waits)


def times(seed, customers=CUSTOMERS):
    """Draw interarrival times and service times."""
    rng = np.random.default_rng(seed)
    gaps_min = rng.exponential(GAP_MIN, customers)
    return gaps_min, rng.exponential(SERVICE_MIN, customers)


gaps_min, services_min = times(seed=1)
waits_min = waits_in(gaps_min, services_min)
utilisation = SERVICE_MIN / GAP_MIN
formula_min = utilisation / (1 - utilisation) * SERVICE_MIN
print(f"mean wait {waits_min.mean():.1f} min; by the formula {formula_min:.1f} min")
print(claim("The formula says 16 minutes", round(formula_min, 9), equal=16))
ratio = waits_min.mean() / formula_min
print(claim("The simulation is within 20 % of it", ratio, above=0.8, below=1.2))
regular_min = waits_in([GAP_MIN] * 100, [SERVICE_MIN] * 100)
print(claim("With equal times nobody waits", regular_min.max(), equal=0))

# %% [markdown]
# The mean wait of M/M/1 is r / (1 - r) times the mean service time, where r is the
# utilisation. Randomness alone causes it: with equal times of 5 and 4 minutes nobody
# waits. If customers arrive close together, a queue builds up, and an idle minute of
# the teller cannot be used later.
#
# ## Check it without SimPy
# For one server there is a shortcut, **Lindley's recursion**. A customer waits as long
# as the previous one waited and was served, less the time between the two arrivals:
#
#     next wait = max(0, wait + service time - next interarrival time)

# %%
wait_min, by_recursion = 0.0, []
for service_min, next_gap_min in zip(services_min, [*gaps_min[1:], 0.0]):
    by_recursion.append(wait_min)
    wait_min = max(0.0, wait_min + service_min - next_gap_min)
agree = np.allclose(waits_min, by_recursion, rtol=0, atol=1e-6)
print(claim(f"All {CUSTOMERS:,} waits agree with the recursion", agree, equal=True))

# %% [markdown]
# The recursion needs three lines, but it fits this bank only. If tellers differ in
# speed or customers leave the queue, the processes need only a few more lines.

# %% Five shorter runs
means_min = [
    np.cumsum(waits_in(*times(seed, 5000))) / np.arange(1, 5001) for seed in range(2, 7)
]
last_min = [curve[-1] for curve in means_min]
print("five means of 5,000 customers:", *(f"{mean:.1f}" for mean in last_min), "min")
apart_min = max(last_min) - min(last_min)
print(claim("The five means differ by more than a minute", apart_min, above=1))

# %% The figure


def draw():
    with cg.plots.styled("lecture"):
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(15, 6), layout="constrained"
        )
        arrivals_h = np.cumsum(gaps_min[:120]) / 60
        leave_h = arrivals_h + (waits_min[:120] + services_min[:120]) / 60
        times_h = np.linspace(0, 8, 2000)
        inside = (arrivals_h[:, None] <= times_h) & (times_h < leave_h[:, None])
        left.step(times_h, inside.sum(axis=0), where="post", color="#0B4F9C")
        left.set(xlabel="time (h)", ylabel="customers in the bank", xlim=(0, 8))
        for curve in means_min:
            right.plot(curve, color="0.6", lw=1.5)
        right.axhline(formula_min, color="#C04A00", label="formula")
        right.legend(frameon=False, loc="upper right")
        right.set(
            xlabel="customers", ylabel="mean wait so far (min)", xlim=(0, 5000), ylim=0
        )
        left.set_title("(a) the first eight hours", loc="left", fontsize="medium")
        right.set_title("(b) five runs", loc="left", fontsize="medium")
        Path("pictures").mkdir(exist_ok=True)
        figure.savefig("pictures/lecture_2.png", dpi=150)


draw()

# %% [markdown]
# After 5,000 customers the five means still differ by more than a minute. Lecture 9
# shows how precise such a mean is.
#
# ## A store
# A `Store` holds objects. One process puts them in, another gets them, and
# `yield store.get()` waits while there are none and then returns one. A machine makes a
# part every 10 s; two inspectors take parts from the same store. Their loops have no
# end: the run ends when both wait and no event is left.


# %%
def machine(env, store, parts):
    for part in range(parts):
        yield env.timeout(10)
        yield store.put(part)


def inspector(env, store, inspection_s, inspected):
    while True:
        part = yield store.get()
        yield env.timeout(inspection_s)
        inspected.append(part)


env, fast, slow = simpy.Environment(), [], []
store = simpy.Store(env)
env.process(machine(env, store, parts=6))
env.process(inspector(env, store, 15, fast))
env.process(inspector(env, store, 40, slow))
env.run()
print("inspector with 15 s per part:", fast, "; with 40 s:", slow)
print(claim("The fast inspector takes more parts", len(fast) - len(slow), equal=2))

# %% [markdown]
# ## A container
# A `Container` holds an amount, such as litres, money or stock. `get(amount)` waits
# until there is enough, and the requests behind it wait, too. The tank of a petrol
# station has 100 litres left; a delivery arrives after an hour.


# %%
def car(env, tank, arrival_min, litres, served):
    yield env.timeout(arrival_min)
    yield tank.get(litres)
    served.append((litres, env.now))


def delivery(env, tank):
    yield env.timeout(60)
    yield tank.put(500)


env, served = simpy.Environment(), []
tank = simpy.Container(env, capacity=1000, init=100)
for arrival_min, litres in ((5, 60), (10, 50), (15, 30)):
    env.process(car(env, tank, arrival_min, litres, served))
env.process(delivery(env, tank))
env.run()
print("litres, and minute at which the car gets them:", served)
print(claim("30 litres wait behind 50", served[2] == (30, 60), equal=True))

# %% [markdown]
# At minute 15 the tank holds 40 litres, enough for the third car. It waits
# nevertheless, because the second car is ahead of it and needs 50 litres.
#
# ## Events of your own, and conditions
# `env.event()` is an event without a time. It occurs when some process calls
# `succeed()`. `a | b` occurs with the first of two events, and `a & b` with the last;
# `yield` then returns those that have occurred. A process is an event, too: it occurs
# when its function ends, and its `value` is what the function returns. Two people wait
# for a shop to open: one for 20 minutes at most, one for 600.


# %%
def shopper(env, opening, patience_min):
    occurred = yield opening | env.timeout(patience_min)
    return env.now if opening in occurred else None


def shopkeeper(env, opening):
    key, staff = env.timeout(25), env.timeout(30)
    yield key & staff  # both have to be there
    opening.succeed()


env = simpy.Environment()
opening = env.event()
env.process(shopkeeper(env, opening))
one, other = (env.process(shopper(env, opening, most)) for most in (20, 600))
env.run()
print(claim("The first shopper does not enter", one.value is None, equal=True))
print(claim("The other enters at 30, with key and staff", other.value, equal=30))

# %% [markdown]
# ## Three misconceptions
# **"A call of the function starts the process."** It only creates a generator. Without
# `env.process` nothing happens.
#
# **"`env.timeout(4)` delays the process."** Only `yield env.timeout(4)` does. Without
# `yield` the event is created, but no process waits for it: there is no error, and the
# service takes 0 min.
#
# **"The server is free again when the customer's process ends."** Without `with` (or
# `release`) it stays busy forever, and all other customers wait without end.


# %%
def without_yield(env, teller, service_min, leave):
    with teller.request() as turn:
        yield turn
        env.timeout(service_min)
        leave.append(env.now)


def without_release(env, teller, service_min, leave):
    yield teller.request()
    yield env.timeout(service_min)
    leave.append(env.now)


def leave_times(process, start=True):
    """Return when two customers with 4 minutes of service leave."""
    env, leave = simpy.Environment(), []
    teller = simpy.Resource(env)
    for _ in range(2):
        generator = process(env, teller, 4, leave)
        if start:
            env.process(generator)
    env.run()
    return leave


not_started = leave_times(without_release, start=False)
print(claim("A call alone starts nothing", not_started == [], equal=True))
no_time = leave_times(without_yield)
print(claim("Without yield both leave at 0", no_time == [0, 0], equal=True))
one_served = leave_times(without_release)
print(claim("Without release one is served", one_served == [4], equal=True))

# %% [markdown]
# ## Five questions
# <details><summary>1. What does a process do at a <code>yield</code>?</summary>
#
# It pauses until the event that it yields has occurred. Meanwhile other processes run.
# </details>
# <details><summary>2. Which part of SimPy is the future event list?</summary>
#
# The environment. It also holds the clock, <code>env.now</code>.
# </details>
# <details><summary>3. Why does the source start a new process for each customer?
# </summary>
#
# The customers are in the bank at the same time. If the source waited for each of them,
# the next one could only arrive when the previous one has left.
# </details>
# <details><summary>4. When do you take a resource, a store, a container?</summary>
#
# A resource for servers that are used and returned, a store for objects that are
# passed on, a container for an amount.
# </details>
# <details><summary>5. The utilisation of M/M/1 rises from 0.8 to 0.9. What happens to
# the mean wait, in service times?</summary>
#
# It rises from 0.8 / 0.2 = 4 to 0.9 / 0.1 = 9 service times.
# </details>
#
# ## You can now
# - write processes, and start them with `env.process`;
# - let entities wait for a server, an object, an amount, or the first of two events;
# - build M/M/1 from a source, a customer and a resource;
# - check a simulation against a recursion and a formula.
#
# ## References
# - SimPy's documentation, "SimPy in 10 Minutes" and "Topical Guides".
# - Law, *Simulation Modeling and Analysis*, 5th ed., Chapter 1 (the single-server
#   queue).
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation*, 5th ed., Chapter 3
#   (general principles: event scheduling and process interaction) and Chapter 6
#   (queueing models).
#
# ## Exercises
# **2.1** What is the mean wait in the queue of an M/M/1 system, in minutes? Your own
# mean interarrival and service time: `cg.exercises.question(2.1, "your name")`.
# `cg.exercises.check(2.1, answer, "your name")`
#
# **2.2** Write a process `customer(env, desk, service)`: it starts at the arrival,
# requests the resource `desk`, is served for the time `service`, releases the server,
# and returns its wait in the queue. `cg.exercises.check(2.2, customer)`
#
# **2.3** Write a process `station(env, before, after, work)` for one machine: it takes
# a part from the store `before`, works on it for the time `work`, puts it into the
# store `after`, and takes the next one, without an end.
# `cg.exercises.check(2.3, station)`
