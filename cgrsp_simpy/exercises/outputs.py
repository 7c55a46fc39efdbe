"""Exercises of lectures 9 to 13: output analysis, queues, comparing, experiments,
variance reduction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import simpy
from numpy.random import Generator
from scipy import stats

from cgrsp_simpy.analysis.queueing import mmc
from cgrsp_simpy.analysis.statistics import (
    holm,
    mean,
    paired_difference,
    replications_needed,
)
from cgrsp_simpy.exercises.exercise import (
    Environment,
    Exercise,
    Mistake,
    code,
    drawn,
    ends,
    number,
    same,
    system,
    waits,
)


def _customers(rng: Generator, number: int = 20, load: float = 0.9) -> dict[str, Any]:
    """Draw interarrival and service times."""
    gaps, works = rng.exponential(10, (2, number))
    return {"gaps": gaps.tolist(), "works": (load * works).tolist()}


def _waits(gaps: Any, works: Any, servers: int = 1) -> np.ndarray:
    return waits(np.cumsum(gaps), works, servers)


def _responses(gaps: Any, works: Any, servers: int = 1) -> np.ndarray:
    return np.asarray(_waits(gaps, works, servers) + works)


def _half(x: Any, times: float, ddof: int = 1) -> float:
    """Return `times` standard errors of the mean."""
    return float(times * np.std(x, ddof=ddof) / math.sqrt(len(x)))


# ---- lecture 9: output analysis ----


def _late(gaps: Any, works: Any, warm_up: float, *, served: int = 0) -> float:
    """Return the mean wait of arrivals after the warm-up; served=1: of starts."""
    times = _waits(gaps, works)
    return float(times[np.cumsum(gaps) + served * times >= warm_up].mean())


def _closing(gaps: Any, works: Any, closes: float) -> np.ndarray:
    """Return the number of arrivals before closing, begin and end of the last service,
    and the time of the last event, which may be the next arrival.
    """
    arrivals = np.cumsum(gaps)
    inside = np.sum(arrivals <= closes)
    end = (arrivals + _responses(gaps, works))[inside - 1]
    return np.array(
        [inside, end - works[inside - 1], end, max([end, *arrivals[inside:][:1]])]
    )


def _batches(waits: Any, batches: int, *, times: float = 0.0, ddof: int = 1) -> Any:
    """Return the interval from batch means; times > 0: replaces Student's quantile."""
    means = np.reshape(waits, (batches, -1)).mean(axis=1)
    half = _half(means, times or stats.t.ppf(0.975, batches - 1), ddof)
    return means.mean() - half, means.mean() + half


# ---- lecture 10: queues ----


def _clerks(enough: Callable[[int], bool], load: float) -> int:
    """Return the least number of servers above the load that satisfies `enough`."""
    return next(filter(enough, range(math.floor(load) + 1, 1000)))


def _over_time(times: Callable[..., Any], last: int = 1) -> Callable[..., float]:
    """Return a function: sum of times / run length; last=0: to the last arrival."""
    return lambda *case: float(
        times(*case).sum() / (np.cumsum(case[0]) + last * _responses(*case)).max()
    )


def _at_arrivals(gaps: Any, works: Any, servers: int) -> float:
    arrivals = np.cumsum(gaps)
    times = arrivals + _responses(gaps, works, servers)
    return float(np.mean([np.sum(times[:k] > at) for k, at in enumerate(arrivals)]))


def _joined(
    gaps: Any, works: Any, desks: int, *, rule: Callable[[list[int]], Any]
) -> np.ndarray:
    """Return waits if a rule selects a desk by the numbers of customers there."""
    rows: list[list[float]] = [[0.0] for _ in range(desks)]
    times = []
    for arrival, work in zip(np.cumsum(gaps), works):
        row = rows[rule([sum(end > arrival for end in row) for row in rows])]
        times.append(max(row[-1] - arrival, 0.0))
        row.append(arrival + times[-1] + work)
    return np.array(times)


# ---- lecture 11: comparing ----


def _shortest(gaps: Any, works: Any, *, sign: int = 1) -> float:
    """Return the mean wait if the shortest work is next; for sign -1, the longest."""
    arrivals = np.cumsum(gaps)
    times = ends(arrivals, works, lambda n, _: sign * works[n])
    return float(np.mean(times - works - arrivals))


def _difference(gaps: Any, works: Any, one: int, two: int) -> float:
    return float(np.mean(_waits(gaps, works, one) - _waits(gaps, works, two)))


# ---- lecture 12: experiments ----


def _on_hand(
    case: tuple[Any, ...],
    least: float = 0.0,
    upwards: bool = True,
    soon: bool = False,
    ordered: bool = True,
) -> float:
    """Return the mean stock; the other arguments select common mistakes."""
    low, high, gaps, sizes, lead = case
    arrivals, changes = np.cumsum(gaps), [(0.0, high)]
    for at, size in zip(arrivals, sizes):
        changes.append((at, -size))
        position = sum(items for time, items in changes if ordered or time <= at)
        if position <= low:
            items = high - (position if upwards else low)
            changes.append((at + lead * (not soon), items))
    times, items = np.transpose(sorted(changes, key=lambda change: change[0]))
    spans = np.diff(np.minimum([*times, np.inf], arrivals[-1]))
    return float(np.maximum(items.cumsum(), least) @ spans / arrivals[-1])


def _effect(
    gaps: Any,
    works: Any,
    *,
    signs: tuple[int, ...] = (1, -1, -1, 1),
    times: float = 1.0,
) -> float:
    """Return half the signed sum of mean waits; times: exponent of the speed."""
    means = [
        _waits(gaps, np.divide(works, speed**times), servers).mean()
        for servers in (1, 2)
        for speed in (1, 1.5)
    ]
    return float(np.dot(signs, means) / 2)


def _vertex(x: Any, y: Any) -> float:
    return float(np.polynomial.Polynomial.fit(x, y, 2).deriv().roots()[0])


def _lowest(x: Any, y: Any) -> float:
    fit, limits = np.polyfit(x, y, 2), (min(x), max(x))
    inside = np.clip(_vertex(x, y), *limits)
    return float(min((*limits, inside), key=lambda at: np.polyval(fit, at)))


# ---- lecture 13: variance reduction ----


def _correlation(a: float) -> float:
    """Return the correlation of e^(aU) and e^(a(1 - U))."""
    mean_square = (math.expm1(a) / a) ** 2
    return (math.exp(a) - mean_square) / (math.expm1(2 * a) / 2 / a - mean_square)


def _pair(u: Any, v: Any, gap: float, work: float, *, u2: Any, v2: Any) -> float:
    """Return the mean wait over two runs; u2, v2: random numbers of the second run."""
    logs = np.log1p(-np.array([[u, v], [u2, v2]]))
    return float(np.mean([_waits(-gap * x, -work * y) for x, y in logs]))


def _controlled(y: Any, x: Any, known: float, *, slope: float = 0.0) -> float:
    """Return the mean of y with control variate x; slope: replaces that of y on x."""
    return float(np.mean(y) - (np.mean(x) - known) * (slope or np.polyfit(x, y, 1)[0]))


def _external(
    gaps: Any, works: Any, slope: float, known: float, *, speed: float = 2
) -> float:
    fast = _waits(gaps, np.divide(works, speed))
    return _controlled(_waits(gaps, works, 2), fast, known, slope=slope)


EXERCISES: dict[str, Exercise] = {
    "9.1": Exercise(
        "A function `steady(env, desk, gaps, works, warm_up)`: the mean wait of the"
        " customers who arrive at the end of the warm-up or later.",
        code(
            "a function of env, desk, gaps, works and warm_up",
            drawn(lambda rng: {**_customers(rng), "warm_up": rng.uniform(30, 90)}),
            same(
                _late,
                Mistake(
                    lambda gaps, works, _: _waits(gaps, works).mean(),
                    "that includes the customers of the warm-up",
                ),
                Mistake(
                    lambda *case: _late(*case, served=1),
                    "a customer belongs to the warm-up by the time of arrival, not of"
                    " service",
                ),
                Mistake(
                    lambda gaps, works, warm_up: _responses(gaps, works)[
                        np.cumsum(gaps) >= warm_up
                    ].mean(),
                    "that is the time in the system; a wait ends when service begins",
                ),
                Mistake(
                    lambda gaps, works, warm_up: _late(
                        [0.0, *gaps[1:]], works, warm_up
                    ),
                    "the first customer arrives gaps[0] after time 0",
                ),
                Mistake(
                    lambda *_: 0.0,
                    "nobody waits: start a process per customer, who holds the desk"
                    " during the service",
                ),
                tried=lambda submitted, *case: submitted(*system(), *case),
            ),
        ),
    ),
    "9.2": Exercise(
        "A pilot study gave the mean waits {pilot} min of eight days. How many days"
        " are needed in all for a 95 % half width of {percent} % of the mean? (The"
        " least n with t s / √n small enough, t with n - 1 degrees of freedom.)",
        lambda pilot, percent: number(
            lambda: replications_needed(pilot, percent / 100),
            "days",
            0.0,
            Mistake(
                lambda: math.ceil(
                    (100 * 1.96 * np.std(pilot, ddof=1) / percent / np.mean(pilot)) ** 2
                ),
                "that is with the normal quantile; use Student's t",
            ),
            Mistake(
                lambda: math.ceil(
                    (
                        100
                        * stats.t.ppf(0.975, len(pilot) - 1)
                        * np.std(pilot, ddof=1)
                        / percent
                        / np.mean(pilot)
                    )
                    ** 2
                ),
                "that is with the degrees of freedom of the pilot; n days have n - 1",
            ),
            Mistake(
                lambda: replications_needed(pilot, percent / 200),
                "that is for the whole width; the question is for half",
            ),
            Mistake(
                lambda: replications_needed(pilot, percent / 100) - 1,
                "with these days the half width is a little too large; if n = (t s /"
                " half width)² goes back and forth between two numbers, test each n"
                " from the smaller one on",
            ),
            Mistake(
                lambda: replications_needed(pilot, percent / 100) - len(pilot),
                "in all, with the eight days of the pilot",
            ),
            way="`replications_needed` takes the pilot and the half width as a share",
        ),
        lambda rng: {
            "pilot": rng.gamma(25, 0.2, 8).round(1).tolist(),
            "percent": int(rng.integers(3, 6)),
        },
    ),
    "9.3": Exercise(
        "A function `closing(env, desk, gaps, works, closes)`: the number of customers"
        " served, and the time at which the last one leaves.",
        code(
            "a function of env, desk, gaps, works and closes",
            drawn(
                lambda rng: {
                    **(case := _customers(rng)),
                    "closes": case["gaps"][0] + rng.uniform(50, 110),
                }
            ),
            same(
                lambda *case: _closing(*case)[[0, 2]],
                Mistake(
                    lambda gaps, works, _: _closing(gaps, works, math.inf)[[0, 2]],
                    "that serves the customers who come after closing as well",
                ),
                Mistake(
                    lambda gaps, works, closes: (
                        np.sum(np.cumsum(gaps) + _responses(gaps, works) <= closes),
                        closes,
                    ),
                    "those who are inside at closing are served, too",
                ),
                Mistake(
                    lambda *case: (_closing(*case)[0], case[-1]),
                    "the last customer leaves after the doors close",
                ),
                Mistake(
                    lambda *case: _closing(*case)[[0, 1]],
                    "that is when the last service begins; when does it end?",
                ),
                Mistake(
                    lambda *case: _closing(*case)[[0, 3]],
                    "the last event may be the arrival of a customer who does not"
                    " enter; record the departures",
                ),
                tried=lambda submitted, *case: submitted(*system(), *case),
            ),
        ),
    ),
    "9.4": Exercise(
        "A function `batch_interval(waits, batches)`: the two ends of the 95 % interval"
        " from batch means.",
        code(
            "a function of a list and a number",
            drawn(
                lambda rng: {
                    "waits": _waits(*_customers(rng, 60).values()).tolist(),
                    "batches": int(rng.choice([5, 6, 10])),
                }
            ),
            same(
                _batches,
                Mistake(
                    lambda waits, _: (mean(waits).low, mean(waits).high),
                    "that treats the waits as independent; use means of batches",
                ),
                Mistake(
                    lambda *case: _batches(*case, times=1.96),
                    "that is with the normal quantile; few batches need Student's t",
                ),
                Mistake(
                    lambda waits, batches: _batches(
                        waits, batches, times=stats.t.ppf(0.975, batches - 1), ddof=0
                    ),
                    "the standard deviation of a sample divides by n - 1",
                ),
                Mistake(
                    lambda waits, batches: _batches(
                        np.reshape(waits, (-1, batches)).T.ravel(), batches
                    ),
                    "a batch consists of successive waits",
                ),
                within=1e-4,
            ),
        ),
    ),
    "10.1": Exercise(
        "Calls come at random, {rate} per minute, and take {work} s each on average,"
        " exponentially distributed. What is the least number of clerks with one common"
        " queue for a mean wait of at most {limit} s?",
        lambda rate, work, limit: number(
            lambda: _clerks(
                lambda clerks: mmc(rate / 60, 1 / work, clerks).wait_s <= limit,
                rate * work / 60,
            ),
            "clerks",
            0.0,
            Mistake(
                lambda: _clerks(bool, rate * work / 60),
                "so many keep the utilisation below 1; how long is the wait then?",
            ),
            Mistake(
                lambda: _clerks(
                    lambda clerks: mmc(rate / 60 / clerks, 1 / work, 1).wait_s <= limit,
                    rate * work / 60,
                ),
                "that is with a separate queue per clerk",
            ),
            Mistake(
                lambda: _clerks(
                    lambda clerks: 1 / (clerks / work - rate / 60) <= limit,
                    rate * work / 60,
                ),
                "that is for the mean wait of the calls that wait; many do not",
            ),
            way="`cg.queueing.mmc` for several numbers of clerks; rates per second",
        ),
        lambda rng: {
            "rate": int(rng.integers(4, 10)),
            "work": int(rng.integers(6, 13)) * 10,
            "limit": int(rng.integers(3, 9)) + 0.7,
        },
    ),
    "10.2": Exercise(
        "A function `mean_number(env, desk, gaps, works)`: the time average of the"
        " number of customers in the system.",
        code(
            "a function of env, desk, gaps and works",
            drawn(lambda rng: {**_customers(rng), "servers": int(rng.integers(1, 3))}),
            same(
                _over_time(_responses),
                Mistake(
                    _over_time(_waits),
                    "that is the mean number of those who wait; count those in service,"
                    " too",
                ),
                Mistake(
                    lambda *case: _responses(*case).mean(),
                    "that is the mean time in the system; by what does Little's law"
                    " multiply it?",
                ),
                Mistake(
                    _over_time(_responses, last=0),
                    "average until the last customer leaves, not until the last one"
                    " arrives",
                ),
                Mistake(
                    _at_arrivals,
                    "that is an average over arrivals; take the average over time",
                ),
                tried=lambda submitted, gaps, works, servers: submitted(
                    *system(servers), gaps, works
                ),
            ),
        ),
    ),
    "10.3": Exercise(
        "A function `bound(gap, gap_sd, work, work_sd)`: Kingman's upper bound of the"
        " mean wait.",
        code(
            "a function of two means and two standard deviations",
            drawn(
                lambda rng: {
                    "mean gap": rng.uniform(10, 20),
                    "its sd": rng.uniform(2, 30),
                    "mean service": rng.uniform(2, 9),
                    "its sd ": rng.uniform(2, 30),
                }
            ),
            same(
                lambda a, sd_a, s, sd_s: (sd_a**2 + sd_s**2) / 2 / (a - s),
                Mistake(
                    lambda a, sd_a, s, sd_s: (sd_a**2 + sd_s**2) / (a - s),
                    "that is twice the bound",
                ),
                Mistake(
                    lambda a, sd_a, s, sd_s: (sd_a + sd_s) / 2 / (a - s),
                    "variances, not standard deviations",
                ),
                Mistake(
                    lambda a, sd_a, s, sd_s: (
                        s * s / (a - s) * (sd_a**2 / a**2 + sd_s**2 / s**2) / 2
                    ),
                    "that is Kingman's approximation in heavy traffic, not the bound",
                ),
            ),
        ),
    ),
    "10.4": Exercise(
        "A function `shortest_queue(env, desks, gaps, works)`: the mean wait if"
        " customers join the desk with the fewest customers.",
        code(
            "a function of env, desks, gaps and works",
            drawn(
                lambda rng: {
                    **_customers(rng, 30, 2.5),
                    "desks": int(rng.integers(2, 4)),
                }
            ),
            same(
                lambda *case: _joined(*case, rule=np.argmin).mean(),
                Mistake(
                    lambda *case: _joined(
                        *case, rule=lambda row: np.argmin(np.maximum(row, 1))
                    ).mean(),
                    "a customer in service counts, too; `len(desk.queue)` counts those"
                    " who wait",
                ),
                Mistake(
                    lambda *case: _waits(*case).mean(),
                    "that is with one common queue; who has joined a desk stays there",
                ),
                Mistake(
                    lambda *case: (_joined(*case, rule=np.argmin) + case[1]).mean(),
                    "that is the time in the system; a wait ends when service begins",
                ),
                tried=lambda submitted, gaps, works, desks: submitted(
                    env := Environment(),
                    [simpy.Resource(env) for _ in range(desks)],
                    gaps,
                    works,
                ),
            ),
        ),
    ),
    "11.1": Exercise(
        "A function `saving(one, two, gaps, works)`: the mean wait in the first system"
        " minus the mean wait in the second, for the same customers.",
        code(
            "a function of two systems, gaps and works",
            drawn(
                lambda rng: {
                    **_customers(rng, 20, 1.5),
                    "servers of one": int(rng.choice([1, 2, 4])),
                    "servers of two": 3,
                }
            ),
            same(
                _difference,
                Mistake(
                    lambda *case: -_difference(*case),
                    "the sign: the first system minus the second",
                ),
                Mistake(
                    lambda *case: len(case[0]) * _difference(*case),
                    "that is the sum over customers; take means",
                ),
                Mistake(
                    lambda gaps, works, *servers: _difference(
                        np.diff(gaps, prepend=0), works, *servers
                    ),
                    "`gaps` are times between arrivals, not times of arrival",
                ),
                tried=lambda submitted, gaps, works, one, two: submitted(
                    system(one), system(two), gaps, works
                ),
            ),
        ),
    ),
    "11.2": Exercise(
        "Seven days with common random numbers gave the mean waits {one} min of a"
        " system and {two} min of another one, day by day. What is the half width of"
        " the 95 % interval of the mean difference, in min?",
        lambda one, two: number(
            lambda: paired_difference(one, two).half_width,
            "min",
            5e-3,
            Mistake(
                lambda: _half(np.subtract(one, two), 1.96),
                "that is with the normal quantile; seven pairs need Student's t",
            ),
            Mistake(
                lambda: _half(np.subtract(one, two), stats.t.ppf(0.975, 6), 0),
                "the standard deviation of a sample divides by n - 1",
            ),
            Mistake(
                lambda: 2 * paired_difference(one, two).half_width,
                "that is the whole width; the question is for half",
            ),
            Mistake(
                lambda: _half(np.subtract(one, two), 1.0),
                "that is the standard error; Student's t is the factor",
            ),
            *(
                Mistake(
                    lambda freedom=freedom: math.hypot(
                        *(_half(x, stats.t.ppf(0.975, freedom)) for x in (one, two))
                    ),
                    "that treats the days as independent; take differences by day",
                )
                for freedom in (6, 12)
            ),
            way="seven differences: their mean, standard deviation, Student's t",
        ),
        lambda rng: {
            "one": (one := rng.normal(40, 6, 7)).round(1).tolist(),
            "two": (one + rng.normal(2, 1.5, 7)).round(1).tolist(),
        },
    ),
    "11.3": Exercise(
        "A function `adjusted(p)`: the p-values after Holm's correction, in the order"
        " of the list.",
        code(
            "a function of a list",
            drawn(lambda rng: {"p": (rng.random(6) ** 3).round(4).tolist()}),
            same(
                holm,
                Mistake(
                    lambda p: np.minimum(1, len(p) * np.array(p)),
                    "that is Bonferroni's",
                ),
                Mistake(
                    lambda p: stats.false_discovery_control(p),
                    "that is Benjamini and Hochberg's, which bounds another error",
                ),
                Mistake(
                    lambda p: np.sort(holm(p)), "in the order of the list, not sorted"
                ),
                Mistake(
                    lambda p: np.minimum(
                        1, (len(p) + 1 - stats.rankdata(p)) * np.array(p)
                    ),
                    "a greater p must not become the smaller one: take the running"
                    " maximum",
                ),
            ),
        ),
    ),
    "11.4": Exercise(
        "A function `shortest_first(env, desk, gaps, works)`: the mean wait if the"
        " customer with the shortest work is next.",
        code(
            "a function of env, desk, gaps and works",
            drawn(_customers),
            same(
                _shortest,
                Mistake(
                    lambda *case: _waits(*case).mean(),
                    "that is in order of arrival; a request has a priority",
                ),
                Mistake(
                    lambda *case: _shortest(*case, sign=-1),
                    "that takes the longest work first; the least number is next",
                ),
                Mistake(
                    lambda gaps, works: _shortest(gaps, works) + np.mean(works),
                    "that is the time in the system; a wait ends when service begins",
                ),
                tried=lambda submitted, *case: submitted(
                    *system(1, simpy.PriorityResource), *case
                ),
            ),
        ),
    ),
    "12.1": Exercise(
        "A 2^2 design gave these mean costs: {low} USD with both factors low, {one} USD"
        " with A high, {two} USD with B high, {high} USD with both high. What is the"
        " interaction effect of A and B, in USD?",
        lambda low, one, two, high: number(
            lambda: (low - one - two + high) / 2,
            "USD",
            1e-9,
            Mistake(
                lambda: low - one - two + high,
                "that is the difference of the differences; the effect is half of it",
            ),
            Mistake(
                lambda: (one + two - low - high) / 2,
                "the sign: the effect of A with B high minus that with B low",
            ),
            Mistake(
                lambda: (low - one - two + high) / 4,
                "that is a coefficient of the regression; an effect is twice as much",
            ),
            Mistake(
                lambda: (high + one - low - two) / 2, "that is the main effect of A"
            ),
            Mistake(
                lambda: (high + two - low - one) / 2, "that is the main effect of B"
            ),
            way="what does A change with B high, and what with B low?",
        ),
        lambda rng: dict(
            zip(
                ("low", "one", "two", "high"),
                (
                    rng.permuted([0, 13, 31, 74]) + 80.5 + rng.random(4).round(1)
                ).tolist(),
            )
        ),
    ),
    "12.2": Exercise(
        "A function `on_hand(env, low, high, gaps, sizes, lead)`: the time average of"
        " the items on hand.",
        code(
            "a function of env, low, high, gaps, sizes and lead",
            drawn(
                lambda rng: {
                    "low": int(rng.integers(3, 8)),
                    "high": int(rng.integers(12, 20)),
                    "gaps": rng.exponential(1, 40).tolist(),
                    "sizes": rng.integers(1, 5, 40).tolist(),
                    "lead": rng.uniform(1, 4),
                }
            ),
            same(
                lambda *case: _on_hand(case),
                Mistake(
                    lambda *case: _on_hand(case, -math.inf),
                    "a negative level is backlog; on hand are 0 items then",
                ),
                Mistake(
                    lambda *case: _on_hand(case, upwards=False),
                    "order up to `high`: the position can be below `low`",
                ),
                Mistake(
                    lambda *case: _on_hand(case, soon=True),
                    "a delivery arrives `lead` after the order",
                ),
                Mistake(
                    lambda *case: _on_hand(case, ordered=False),
                    "what is on order belongs to the position",
                ),
                Mistake(
                    lambda low, *rest: _on_hand((low - 1, *rest)),
                    "order at `low` as well, not only below it",
                ),
                tried=lambda submitted, *case: submitted(Environment(), *case),
            ),
        ),
    ),
    "12.3": Exercise(
        "A function `interaction(systems, gaps, works)`: the interaction effect of"
        " servers and speed on the mean wait.",
        code(
            "a function of systems, gaps and works",
            drawn(lambda rng: _customers(rng, 20, 1.2)),
            same(
                _effect,
                Mistake(
                    lambda *case: 2 * _effect(*case),
                    "that is the difference of the differences; the effect is half of"
                    " it",
                ),
                Mistake(lambda *case: -_effect(*case), "the sign"),
                Mistake(
                    lambda *case: _effect(*case, signs=(-1, -1, 1, 1)),
                    "that is the main effect of the servers",
                ),
                Mistake(
                    lambda *case: _effect(*case, signs=(-1, 1, -1, 1)),
                    "that is the main effect of the speed",
                ),
                Mistake(
                    lambda *case: _effect(*case, times=-1.0),
                    "a faster server needs less time: works[k] / speed",
                ),
                tried=lambda submitted, *case: submitted(
                    {(c, speed): system(c) for c in (1, 2) for speed in (1, 1.5)},
                    *case,
                ),
            ),
        ),
    ),
    "12.4": Exercise(
        "A function `lowest(x, y)`: where the fitted parabola is lowest.",
        code(
            "a function of two lists",
            drawn(
                lambda rng: {
                    "x": 1 + rng.random(5).round(2),
                    "y": rng.normal(0, 1, 5).round(2),
                }
            ),
            same(
                _lowest,
                Mistake(
                    _vertex,
                    "look between the least and the greatest x, at the ends as well",
                ),
                Mistake(
                    lambda x, y: np.clip(_vertex(x, y), min(x), max(x)),
                    "a parabola that opens downwards is lowest at one of the ends",
                ),
                Mistake(
                    lambda x, y: x[np.argmin(y)],
                    "that is the lowest point, not where the parabola is lowest",
                ),
                within=1e-4,
            ),
        ),
    ),
    "13.1": Exercise(
        "The mean of e^(aU), U uniform on 0 to 1 and a = {a}, is estimated from"
        " antithetic pairs. By theory: what is the variance ratio, the factor by which"
        " the plain method needs more runs?",
        lambda a: number(
            lambda: 1 / (1 + _correlation(a)),
            "a ratio",
            5e-3,
            Mistake(
                lambda: 2 / (1 + _correlation(a)),
                "a pair costs two runs; compare it with two independent ones",
            ),
            Mistake(
                lambda: (1 + _correlation(a)) ** -0.5,
                "that is the ratio of the widths; the runs go with its square",
            ),
            Mistake(
                lambda: 1 + _correlation(a),
                "that is the variance that is left; take its reciprocal",
            ),
            Mistake(
                lambda: 1 / (1 - _correlation(a) ** 2),
                "that is the ratio of a control variate of this correlation",
            ),
            way="the variance of a pair's mean, and that of two independent runs",
        ),
        lambda rng: {"a": round(float(rng.uniform(1, 3)), 1)},
    ),
    "13.2": Exercise(
        "A function `pair(one, two, u, v, gap, work)`: the mean of the two mean waits"
        " of an antithetic pair.",
        code(
            "a function of two systems, u, v, gap and work",
            drawn(
                lambda rng: {
                    **dict(zip("uv", rng.random((2, 20)).tolist())),
                    "gap": rng.uniform(9, 12),
                    "work": rng.uniform(7, 9),
                }
            ),
            same(
                lambda u, v, *means: _pair(
                    u, v, *means, u2=1 - np.array(u), v2=1 - np.array(v)
                ),
                Mistake(
                    lambda u, v, *means: _pair(u, v, *means, u2=u, v2=v),
                    "that is the same run twice; the second one has 1 - u and 1 - v",
                ),
                Mistake(
                    lambda u, v, *means: _pair(u, v, *means, u2=1 - np.array(u), v2=v),
                    "the service times need 1 - v in the second run",
                ),
                Mistake(
                    lambda u, v, *means: _pair(u, v, *means, u2=u, v2=1 - np.array(v)),
                    "the interarrival times need 1 - u in the second run",
                ),
                Mistake(
                    lambda u, v, *means: _pair(
                        u, v, *means, u2=1 - np.array(v), v2=1 - np.array(u)
                    ),
                    "u is for interarrival times in both runs, v for service times",
                ),
                tried=lambda submitted, *case: submitted(system(), system(), *case),
            ),
        ),
    ),
    "13.3": Exercise(
        "A function `controlled(y, x, known)`: the mean of y with the control x.",
        code(
            "a function of two lists and a number",
            drawn(
                lambda rng: {
                    "y": (x := rng.normal(10, 2, (2, 8)).round(1))[0] + 2 * x[1],
                    "x": x[1],
                    "known": 10.0,
                }
            ),
            same(
                _controlled,
                Mistake(lambda y, *_: np.mean(y), "that is the plain mean"),
                Mistake(
                    lambda *case: _controlled(*case, slope=1.0),
                    "that is with the slope 1; what is the slope of y on x?",
                ),
                Mistake(
                    lambda y, x, known: 2 * np.mean(y) - _controlled(y, x, known),
                    "the sign: subtract what the control explains",
                ),
                Mistake(
                    lambda y, x, known: _controlled(
                        y, x, known, slope=np.cov(x, y)[0, 1] / np.var(x)
                    ),
                    "covariance and variance with the same divisor, n - 1",
                ),
                Mistake(
                    lambda y, x, known: _controlled(
                        y, x, known, slope=1 / np.polyfit(y, x, 1)[0]
                    ),
                    "that is by the regression of x on y; take that of y on x",
                ),
            ),
        ),
    ),
    "13.4": Exercise(
        "A function `external(two, one, gaps, works, b, known)`: the mean wait with two"
        " servers, and with the wait of one fast server as control.",
        code(
            "a function of two systems, gaps, works, b and known",
            drawn(
                lambda rng: {
                    **_customers(rng, 20, 1.8),
                    "b": rng.uniform(0.5, 1),
                    "known": rng.uniform(5, 9),
                }
            ),
            same(
                _external,
                Mistake(
                    lambda *case: _external(*case, speed=1),
                    "the single server is twice as fast: works[k] / 2",
                ),
                Mistake(
                    lambda gaps, works, b, known: _external(gaps, works, -b, known),
                    "the sign: subtract what the control explains",
                ),
                Mistake(
                    lambda gaps, works, b, _: _external(gaps, works, b, 0.0),
                    "subtract b times the control's distance from its known mean",
                ),
                Mistake(
                    lambda gaps, works, *_: _waits(gaps, works, 2).mean(),
                    "that is the plain mean",
                ),
                tried=lambda submitted, *case: submitted(system(2), system(1), *case),
            ),
        ),
    ),
}
"""Exercises of the lectures on outputs, by number."""
