"""Queueing formulas: the Erlang family, reneging, priorities, repair, and batches.

Load a = arrival rate / service rate (erlangs); utilisation rho = a / servers. The
parameters arrival_rate, service_rate and servers are lambda, mu of one server (both per
the same unit of time), and c >= 1 (in `erlang_b` >= 0); waits are in that unit.
Functions are vectorised over servers, accurate for thousands of them, and return
infinity without a steady state. Raises InputError for invalid numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import scipy

from cgrsp_simpy.base.arrays import Floats, Ints
from cgrsp_simpy.base.checks import numbers, require
from cgrsp_simpy.base.parameters import (
    Count,
    NotNegative,
    Positive,
    Shares,
    Whole,
    checked,
    limits,
)

__all__ = [
    "Patience",
    "Queue",
    "batch_service",
    "erlang_a",
    "erlang_b",
    "erlang_c",
    "finite_source",
    "mg1",
    "mg1_preemptive",
    "mg1_priority",
    "mg1_ps",
    "mg1_srpt",
    "mgc",
    "mmc",
    "mmc_patience",
    "mmck",
]


Servers = int | npt.ArrayLike
MOST_IN_A_QUEUE = 10_000_000  # a recursion takes one step per server
Batch = Annotated[int, limits("a whole number from 1 to 1,000,000", ge=1, le=10**6)]


@checked
def erlang_b(servers: Servers, load: NotNegative) -> Floats:
    """Share of customers lost in a system without a queue (M/G/c/c).

    Computed by the recursion B(n) = a B(n - 1) / (n + a B(n - 1)), B(0) = 1. load: a,
    erlang. Returns the shape of `servers`. Source: Erlang (1917).
    """
    numbers = _servers(servers, least=0)
    lost = np.ones(int(numbers.max(initial=0)) + 1)
    for n in range(1, len(lost)):
        lost[n] = load * lost[n - 1] / (n + load * lost[n - 1])
    return np.asarray(lost[numbers])


def erlang_c(servers: Servers, load: float) -> Floats:
    """Share of customers that wait in a queue without reneging (M/M/c).

    load: a, erlang. Returns the shape of `servers`; 1 for load >= servers. Source:
    Erlang (1917).
    """
    numbers = _servers(servers)
    lost, rho = erlang_b(numbers, load), load / numbers
    return np.where(rho < 1, lost / (1 - rho * (1 - lost)), 1.0)


@dataclass(frozen=True, eq=False)
class Queue:
    """Steady state of a queue; each figure is an array over numbers of servers.

    wait_probability: share of customers that wait. wait_s: mean wait of all customers,
    in the unit of 1 / rate. utilisation: share of time that servers are busy.
    """

    wait_probability: Floats
    wait_s: Floats
    utilisation: Floats

    def __post_init__(self) -> None:
        for item in fields(self):  # numbers for a single number of servers
            object.__setattr__(self, item.name, getattr(self, item.name)[()])


def mmc(arrival_rate: float, service_rate: float, servers: Servers) -> Queue:
    """M/M/c, first come, first served: W = C(c, a) / (c mu - lambda).

    Source: Gross and Harris, Section 2.3.
    """
    numbers, load = _rates(arrival_rate, service_rate, servers)
    waiting = erlang_c(numbers, load)
    spare = numbers * service_rate - arrival_rate
    wait = np.where(spare > 0, waiting / np.where(spare > 0, spare, np.inf), np.inf)
    return Queue(waiting, wait, np.minimum(1.0, load / numbers))


@checked
def mgc(
    arrival_rate: float, service_rate: float, servers: Servers, service_cv: NotNegative
) -> Queue:
    """M/G/c, approximately: the wait of M/M/c times (1 + cv^2) / 2; exact if c = 1.

    service_cv: coefficient of variation of the service time. Source: Lee and Longton
    (1959).
    """
    queue = mmc(arrival_rate, service_rate, servers)
    return Queue(
        queue.wait_probability,
        queue.wait_s * (1 + service_cv**2) / 2,
        queue.utilisation,
    )


def mg1(arrival_rate: float, service_rate: float, service_cv: float) -> Queue:
    """M/G/1 by Pollaczek and Khinchine: W = rho (1 + cv^2) / (2 (mu - lambda))."""
    return mgc(arrival_rate, service_rate, 1, service_cv)


@dataclass(frozen=True, eq=False)
class Patience(Queue):
    """Steady state of a queue with reneging or balking; see also `Queue`.

    wait_s: mean wait of all customers, including those that leave unserved. left: share
    of customers that renege or balk.
    """

    left: Floats


@checked
def mmc_patience(
    arrival_rate: float, service_rate: float, servers: Servers, patience_s: NotNegative
) -> Patience:
    """M/M/c whose customers renege after a wait of patience_s (M/M/c+D).

    With d = lambda - c mu, J = integral of e^(d x) from 0 to b, + e^(d b) / (c mu), and
    E = 1 / B(c - 1, a): P(wait) = lambda J / (E + lambda J), P(left) = (1 + d J) / (E +
    lambda J), where 1 + d J = e^(d b) lambda / (c mu). patience_s: b. Exact at every
    load. Source: Zeltyn and Mandelbaum (2005), Queueing Systems 51, 361-402; Baccelli
    and Hebuterne (1981).
    """
    numbers, load = _rates(arrival_rate, service_rate, servers)
    capacity = np.asarray(numbers * service_rate, dtype=np.float64)
    d, b = arrival_rate - capacity, patience_s
    # Scaled by e^(-d b) if d > 0, to avoid overflow.
    scale = np.exp(-np.maximum(d, 0.0) * b)
    end = np.exp(np.minimum(d, 0.0) * b)  # e^(d b), scaled
    area, moment = _integrals(d, b, scale)
    j = area + end / capacity
    # with so many servers nobody ever waits
    with np.errstate(divide="ignore", over="ignore"):
        total = scale / erlang_b(numbers - 1, load) + arrival_rate * j
    left = end * arrival_rate / capacity / total
    wait = arrival_rate / total * (moment + b * end / capacity)
    served = load * (1 - left) / numbers
    return Patience(arrival_rate * j / total, wait, served, left)


@checked
def erlang_a(
    arrival_rate: float, service_rate: float, servers: Servers, patience_s: Positive
) -> Patience:
    """M/M/c whose customers renege after an exponential patience (M/M/c+M, Erlang A).

    With theta = 1 / patience_s, E = B(c, a), rho = lambda / (c mu) and A = 1F1(1; c mu
    / theta + 1; lambda / theta): P(wait) = E / (E + (1 - E) / A), P(left) = P(wait) (1
    - 1 / rho + 1 / (rho A)), W = P(left) / theta. patience_s: the mean. Source: Palm
    (1957); Mandelbaum and Zeltyn (2007), Service Engineering in Action, Section 3.
    """
    numbers, load = _rates(arrival_rate, service_rate, servers)
    blocking, rho = erlang_b(numbers, load), np.asarray(load / numbers)
    capacity = np.asarray(numbers * service_rate, dtype=np.float64)
    served, offered = capacity * patience_s, arrival_rate * patience_s
    # infinite if far overloaded: all but the excess is served
    growth = scipy.special.hyp1f1(1, served + 1, offered)
    wait = blocking / (blocking + (1 - blocking) / growth)
    # equal to the formula above, which loses all digits at a small load
    slope = scipy.special.hyp1f1(2, served + 2, np.minimum(offered, served))
    underloaded = slope / (served + 1) / growth
    left = wait * np.where(rho < 1, underloaded, 1 - 1 / rho + 1 / (rho * growth))
    return Patience(wait, left * patience_s, rho * (1 - left), left)


def mg1_preemptive(
    arrival_rates: npt.ArrayLike, mean_s: npt.ArrayLike, square_s2: npt.ArrayLike
) -> Floats:
    """Mean response times in M/G/1 with preemptive-resume priorities, by class.

    With s(k) the load of classes 1 to k: T(k) = E S_k / (1 - s(k-1)) + sum over i <= k
    of lambda_i E S_i^2 / (2 (1 - s(k-1)) (1 - s(k))). arrival_rates, mean_s, square_s2:
    by class, highest priority first: arrival rate, mean and second moment of the
    service time. Raises InputError for arrays of different lengths, or invalid values.
    Source: Kleinrock, Queueing Systems, volume 2 (1976), Section 3.4.
    """
    rates, means, squares = _columns(
        arrival_rates=arrival_rates, mean_s=mean_s, square_s2=square_s2
    )
    loads = np.cumsum(rates * means)
    before, residual = loads - rates * means, np.cumsum(rates * squares) / 2
    return _where_stable(
        loads, means / _spare(before) + residual / _spare(before) / _spare(loads)
    )


@checked
def mmck(
    arrival_rate: Positive, service_rate: Positive, servers: Servers, places: Whole
) -> Patience:
    """M/M/c whose customers balk if all waiting places are taken (M/M/c/K, K = c + q).

    With r = a / c and E = B(c, a), the probability of c + j customers is E r^j / T,
    where T = 1 + E (r + ... + r^q). Customers who find c + q present leave. places: q,
    the waiting places. Source: Gross and Harris, Section 2.4.
    """
    numbers, load = _rates(arrival_rate, service_rate, servers)
    ratio = np.asarray(load / numbers)[..., np.newaxis]
    waiting = np.arange(places + 1)
    # Divided by r^q if r > 1, to avoid overflow.
    up, down = np.minimum(ratio, 1), np.minimum(1 / ratio, 1)
    powers = up**waiting * down ** (places - waiting)
    powers = erlang_b(numbers, load)[..., np.newaxis] * powers
    powers = powers / (down**places + powers[..., 1:].sum(-1, keepdims=True))
    left = powers[..., -1]
    wait = (powers * waiting).sum(-1) / arrival_rate
    return Patience(powers[..., :-1].sum(-1), wait, load * (1 - left) / numbers, left)


@checked
def finite_source(
    customers: Count, arrival_rate: Positive, service_rate: Positive, servers: Servers
) -> Queue:
    """M/M/c with a finite number of customers, such as machines that need repair.

    With n customers present, arrivals have the rate (N - n) lambda; so p(n) is
    proportional to the product over i <= n of (N - i + 1) lambda / (min(i, c) mu).
    customers: N. arrival_rate: lambda of one customer while it is outside the queue.
    Source: Gross and Harris, Section 2.7.
    """
    numbers, load = _rates(arrival_rate, service_rate, servers)
    servers_of = numbers[..., np.newaxis]
    present = np.arange(customers + 1)

    def probabilities(number: int) -> Floats:
        up = np.arange(1, number + 1)
        steps = np.log((number - up + 1) * load / np.minimum(up, servers_of))
        logs = np.concatenate([np.zeros((*numbers.shape, 1)), steps.cumsum(-1)], -1)
        weights = np.exp(logs - logs.max(-1, keepdims=True))
        return np.asarray(weights / weights.sum(-1, keepdims=True))

    share = probabilities(customers)
    busy = (share * np.minimum(present, servers_of)).sum(-1)
    queue = (share * np.maximum(present - servers_of, 0)).sum(-1)
    # An arriving customer sees the steady state of a system without it.
    waits = (probabilities(customers - 1) * (present[:-1] >= servers_of)).sum(-1)
    return Queue(waits, queue / (busy * service_rate), busy / numbers)


def mg1_priority(
    arrival_rates: npt.ArrayLike, mean_s: npt.ArrayLike, square_s2: npt.ArrayLike
) -> Floats:
    """Mean waits in M/G/1 with non-preemptive priorities, by class.

    With s(k) the load of classes 1 to k, and R the sum over all classes of lambda_i E
    S_i^2 / 2: W(k) = R / ((1 - s(k-1)) (1 - s(k))). Arguments and errors as in
    `mg1_preemptive`. A class that overloads the server counts in R with the share of
    time that higher classes leave to it. Source: Cobham (1954); Kleinrock, Queueing
    Systems, volume 2 (1976), Chapter 3.
    """
    rates, means, squares = _columns(
        arrival_rates=arrival_rates, mean_s=mean_s, square_s2=square_s2
    )
    loads = np.cumsum(rates * means)
    before = loads - rates * means
    room = np.maximum(0, 1 - before)
    served = np.where(loads < 1, rates, room / np.where(means > 0, means, np.inf))
    residual = np.sum(served * squares) / 2
    return _where_stable(loads, residual / _spare(before) / _spare(loads))


@checked
def batch_service(arrival_rate: Positive, cycle_s: Positive, batch: Batch) -> float:
    """Mean wait if up to `batch` customers are served at the end of every cycle.

    With m = lambda C, and z_1, ..., z_(b-1) the other roots of z^b = e^(m (z - 1)) in
    the unit circle, the mean number that a batch leaves behind is Q = m / (2 (b - m)) -
    (b - 1 + m) / 2 + sum of 1 / (1 - z_k), and W = Q / lambda + C / 2. If m < b / 2, Q
    = sum over k >= 1 of E max(0, A(k) - k b) / k, with A(k) Poisson of mean k m, loses
    no digits. arrival_rate: lambda of a Poisson process. cycle_s: C. batch: b. Source:
    Bailey (1954), Journal of the Royal Statistical Society B 16, 80-87; Spitzer (1956),
    Transactions of the American Mathematical Society 82, 323-339.
    """
    mean = arrival_rate * cycle_s
    ratio = mean / batch
    if ratio >= 1:
        return math.inf
    if ratio < 0.5:  # the terms fall by e^-0.19 or faster
        k = np.arange(1, 300)
        tails = scipy.special.pdtrc([k * batch - 1, k * batch], k * mean)
        left = math.fsum(mean * tails[0] - batch * tails[1])
    else:
        turns = np.exp(2j * np.pi * np.arange(1, batch) / batch)
        roots = -scipy.special.lambertw(-ratio * math.exp(-ratio) * turns) / ratio
        left = mean / (2 * (batch - mean)) - (batch - 1 + mean) / 2
        left += float(np.sum(1 / (1 - roots)).real)
    return left / arrival_rate + cycle_s / 2


@checked
def mg1_srpt(arrival_rate: Positive, times_s: npt.ArrayLike, shares: Shares) -> Floats:
    """Mean response times in M/G/1 with shortest remaining processing time first.

    They are given by service time; equal jobs are served first come, first served. With
    F(x) the share of jobs up to x, l(x) their load and m(x) the mean of their squares
    times F(x):

        T(x) = lambda (m(x) + x^2 (1 - F(x))) / (2 (1 - l(x)) (1 - l(x-)))
               + integral from 0 to x of dt / (1 - l(t)).

    arrival_rate: jobs per second. times_s, shares: the possible service times,
    increasing, in seconds, and the share of each. Returns seconds; infinite without a
    steady state. Raises InputError for arrays of different lengths, or invalid values.
    Source: Schrage and Miller (1966), Operations Research 14, 670-684.
    """
    times, parts = _columns(times_s=times_s, shares=shares)
    require(bool(np.all(np.diff(times) > 0)), "times_s", times_s, "increasing")
    loads = arrival_rate * np.cumsum(times * parts)
    before = loads - arrival_rate * times * parts
    longer = 1.0 - np.cumsum(parts)
    work = arrival_rate * (np.cumsum(times**2 * parts) + times**2 * longer) / 2
    service = np.cumsum(np.diff(times, prepend=0.0) / _spare(before))
    return _where_stable(loads, work / _spare(loads) / _spare(before) + service)


@checked
def mg1_ps(arrival_rate: Positive, mean_s: Positive, times_s: npt.ArrayLike) -> Floats:
    """Mean response times in M/G/1 with processor sharing: T(x) = x / (1 - rho).

    times_s: service times x. Source: Kleinrock, Queueing Systems, volume 2 (1976),
    Section 4.4.
    """
    load = np.asarray(arrival_rate * mean_s, np.float64)
    allowed = "finite numbers >= 0"
    times = numbers("times_s", times_s, float, allowed)
    good = bool(np.all(np.isfinite(times) & (times >= 0)))
    require(good, "times_s", times_s, allowed)
    return _where_stable(load, times / _spare(load))


def _spare(load: Floats) -> Floats:
    """Return 1 - load, or infinity without a steady state."""
    return np.where(load < 1, 1 - load, np.inf)


def _where_stable(load: Floats, values: Floats) -> Floats:
    return np.where(load < 1, values, np.inf)


def _columns(**columns: npt.ArrayLike) -> list[Floats]:
    """Return columns as arrays; InputError unless of equal length and numbers >= 0."""
    allowed = f"numbers >= 0, as many as {next(iter(columns))} has"
    arrays = [
        np.atleast_1d(numbers(name, column, float, allowed))
        for name, column in columns.items()
    ]
    for (name, column), array in zip(columns.items(), arrays):
        good = array.shape == arrays[0].shape and bool(
            np.all(np.isfinite(array) & (array >= 0))
        )
        require(good, name, column, allowed)
    return arrays


def _integrals(d: Floats, b: float, scale: Floats) -> tuple[Floats, Floats]:
    """Integrate e^(d x) and x e^(d x) from 0 to b, scaled; by series for small d b."""
    y = d * b
    near = np.abs(y) < 1e-4
    safe = np.where(near, np.inf, d)
    end = np.exp(np.minimum(y, 0.0))  # e^y, scaled
    exact = (end - scale) / safe
    area = np.where(near, scale * b * (1 + y / 2 + y**2 / 6), exact)
    series = scale * b**2 * (0.5 + y / 3 + y**2 / 8)
    return area, np.where(near, series, (b * end - exact) / safe)


@checked
def _rates(
    arrival_rate: Positive, service_rate: Positive, servers: Servers
) -> tuple[Ints, float]:
    return _servers(servers), arrival_rate / service_rate


def _servers(servers: Any, least: int = 1) -> Ints:
    """Return numbers of servers as an array of whole numbers."""
    allowed = f"whole numbers from {least} to {MOST_IN_A_QUEUE:,}"
    counts = numbers("servers", servers, float, allowed)
    valid = (
        (counts >= least) & (counts <= MOST_IN_A_QUEUE) & (counts == np.floor(counts))
    )
    require(bool(np.all(valid)), "servers", servers, allowed)
    return counts.astype(np.int64)
