"""Suites of scenarios drawn from documented distributions, for judging policies.

A policy that is tuned on the thesis's four days may do badly on others. `scenario`
draws a scenario by its seed: slots, types, prices, stock over the day, delays,
deadlines and load, and features that the thesis does not have: persistence and
visibility of stock, long delays at Medium stock, refusals, warm instances and logs.
Each of these has its own random stream ("suite sight", "suite delays", "suite retries",
"suite terms", "suite log"), so that the rest of a scenario does not depend on it. No
file is read. TRAIN holds seeds for developing policies, TEST those for judging them.

    python tests/benchmarks/suite.py [--scenarios 100] [--seeds 4]

prints the table of docs/explanation/bounds.md: all policies on the TEST scenarios of
`scenario` and of `wide`; it takes about four minutes.
"""

import argparse
from dataclasses import replace
from math import nan

import numpy as np

from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.market.gpu import THESIS_GPUS, GpuType, round_robin
from cgrsp_simpy.market.model import CLOCKS, Clock, HourlyStock, Market
from cgrsp_simpy.rental.job import DeadlineClass, DeadlineClasses
from cgrsp_simpy.rental.policies import POLICIES
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.terms import Terms
from cgrsp_simpy.rental.workload import (
    COMPLEXITY_MIX,
    LoggedWorkload,
    PoissonWorkload,
)

TRAIN = range(100)  # seeds of scenarios for developing policies
TEST = range(5000, 5100)  # seeds of scenarios for judging policies
# Low stock without effect
HARMLESS_S = ((0.0, 10.0), (30.0, 120.0), (120.0, 600.0))


def scenario(seed):
    """Draw the scenario of a seed.

    Two to twelve slots, or fifty in one of ten; half on the thesis's types; free choice
    of type in three of ten; 200 to 900 jobs, twice as many on fifty slots; offered load
    .5 to 2 by execution time alone, from second 0 to the last submission. In one of
    five the jobs are a log. The runs have seeds of their own.
    """
    rng = stream(seed, "suite")
    gpus = _gpus(rng)
    number = 50 if rng.random() < 0.1 else int(rng.integers(2, 13))
    market = _slower(stream(seed, "suite delays"), _market(rng, gpus))
    deadlines = _deadlines(rng)
    slots = round_robin(number, gpus)
    jobs = int(rng.integers(200, 901)) * (2 if number == 50 else 1)
    load, free_types = float(rng.uniform(0.5, 2.0)), bool(rng.random() < 0.3)
    return Scenario(
        f"suite {seed}",
        _workload(stream(seed, "suite log"), jobs, load, deadlines, slots),
        slots,
        gpus,
        free_types=free_types,
        market=_persistent(stream(seed, "suite sight"), market),
        terms=_refusing(
            stream(seed, "suite retries"), _terms(stream(seed, "suite terms"))
        ),
    )


def wide(seed):
    """Draw the scenario of a seed from a second distribution, further from the thesis's
    days.

    One to forty slots, small numbers more often; 150 to 900 jobs of a log, with bursts
    and heavy tails; offered load .4 to 1.6; one to five deadline classes; in half of
    them recurring hours of scarcity; persistent stock, long delays at Medium stock,
    refusals and warm instances as in `scenario`.
    """
    rng = stream(seed, "suite wide")
    gpus = _gpus(rng)
    slots = round_robin(round(40 ** rng.random()), gpus)
    jobs, load = int(rng.integers(150, 901)), float(rng.uniform(0.4, 1.6))
    free_types, deadlines = bool(rng.random() < 0.3), _classes(rng)
    market = _jumping(rng, gpus) if rng.random() < 0.5 else _market(rng, gpus)
    market = _slower(stream(seed, "suite wide delays"), market)
    market = _persistent(stream(seed, "suite wide sight"), market)
    times = _bursts(rng, jobs), _tails(rng, jobs)
    terms = _terms(stream(seed, "suite wide terms"))
    terms = _refusing(stream(seed, "suite wide retries"), terms)
    workload = _log(*times, load, deadlines, slots)
    return Scenario(
        f"wide {seed}",
        workload,
        slots,
        gpus,
        free_types=free_types,
        market=market,
        terms=terms,
    )


def _classes(rng):
    """Draw 1 to 5 classes, due after 10 min to 24 h; below 2 h they are tight."""
    windows_s = sorted(600 * 144 ** rng.random(int(rng.integers(1, 6))))
    shares = rng.dirichlet([1.5] * len(windows_s)).round(3)
    shares[-1] = round(1 - shares[:-1].sum(), 3)
    return tuple(
        DeadlineClass(
            f"class-{index}", float(share), round(window_s), tight=bool(window_s < 7200)
        )
        for index, (share, window_s) in enumerate(zip(shares, windows_s), 1)
    )


def _jumping(rng, gpus):
    """Draw hours that are scarce or not and persist with probability .7 to .95."""
    stock = []
    for gpu in gpus:
        stays, scarce = rng.uniform(0.7, 0.95), bool(rng.random() < 0.4)
        chances = []
        for _ in range(24):
            scarce = scarce if rng.random() < stays else not scarce
            low = round(rng.uniform(0.05, 0.6), 2) if scarce else 0.0
            chances.append(_chances(low, round(rng.uniform(0.3, 1), 2)))
        stock.append(HourlyStock(gpu.name, tuple(chances)))
    low_s = 600 * 0.2 * 7.5 ** rng.random()
    delay_s = (*Market().delay_s[:2], (round(low_s, 1), round(12 * low_s, 1)))
    return Market(
        Clock(((0, 1.0),), float(rng.integers(0, 24))), delay_s, stock=tuple(stock)
    )


def _bursts(rng, jobs):
    """Draw unscaled submission times whose gaps are ten times shorter in bursts."""
    rate = np.repeat(
        rng.permuted(np.tile([1.0, 10.0], jobs)), rng.geometric(0.1, 2 * jobs)
    )[:jobs]
    pace = rate if rng.random() < 0.6 else 1.0
    return np.asarray((rng.exponential(1.0, jobs) / pace).cumsum())


def _tails(rng, jobs):
    """Draw unscaled times, lognormal (sigma .1 to 1.5) or Pareto (shape 1.5 to 2.6)."""
    if rng.random() < 0.6:
        return np.exp(rng.uniform(0.1, 1.5) * rng.standard_normal(jobs))
    return 1 + rng.pareto(rng.uniform(1.5, 2.6), jobs)


def _gpus(rng):
    """Draw the thesis's types, or 2 to 4 of 20 to 240 s, .2 to 5 USD/h, beta .35 to
    .95.
    """
    if rng.random() < 0.5:
        return THESIS_GPUS
    made = []
    for index in range(int(rng.integers(2, 5))):
        base_s = float(20 * 12 ** rng.random())
        times_s = (round(base_s, 1), round(1.15 * base_s, 1), round(1.6 * base_s, 1))
        price = round(float(0.2 * 25 ** rng.random()), 2)
        beta = round(rng.uniform(0.35, 0.95), 2)
        speed = made[0].mean_execution_s[0] / times_s[0] if made else 1.0
        made.append(GpuType(f"type {index + 1}", price, times_s, beta, speed))
    return tuple(made)


def _market(rng, gpus):
    """Draw the calibrated day, other bands, constant or hourly stock."""
    start_h = float(rng.integers(0, 24))
    kind = rng.choice(
        ["calibrated", "bands", "constant", "hourly"], p=[0.3, 0.35, 0.15, 0.2]
    )
    bands = CLOCKS["calibrated"].bands
    if kind == "bands":
        hours = [
            0,
            *sorted(
                rng.choice(range(1, 24), size=int(rng.integers(1, 5)), replace=False)
            ),
        ]
        bands = tuple((float(hour), round(rng.uniform(0.4, 1.3), 2)) for hour in hours)
    elif kind == "constant":
        bands = ((0.0, round(rng.uniform(0.4, 1.3), 2)),)
    stock = tuple(_hourly(rng, gpu.name) for gpu in gpus) if kind == "hourly" else ()
    delay_s = HARMLESS_S if rng.random() < 0.2 else Market().delay_s
    return Market(
        Clock(bands, 8.0 if kind == "calibrated" else start_h), delay_s, stock=stock
    )


def _persistent(rng, market):
    """Make stock last 5 min to 4 h in three of ten, seen now, later or never."""
    if rng.random() >= 0.3:
        return market
    persistence_s = round(300 * 48 ** rng.random())
    poll_s = round(60 * 30 ** rng.random())
    sight = str(rng.choice(["none", "now", f"poll:{poll_s}"]))
    return replace(market, persistence_s=persistence_s, sight=sight)


def _slower(rng, market):
    """Give Medium stock 1 to 5 times a delay of 1 to 5 min, Low no less, in three of
    ten.
    """
    if rng.random() >= 0.3:
        return market
    high, _, low = market.delay_s
    least_s = round(60 * 5 ** rng.random())
    medium = float(least_s), 5.0 * least_s
    low = max(low[0], medium[0]), max(low[1], medium[1])
    return replace(market, delay_s=(high, medium, low))


def _hourly(rng, name):
    """Draw 2 to 10 hours in which Low stock has a probability of up to 1/2."""
    first, length = int(rng.integers(0, 24)), int(rng.integers(2, 11))
    scarce, high = round(rng.uniform(0.05, 0.5), 2), round(rng.uniform(0.3, 1), 2)
    lows = [scarce if (hour - first) % 24 < length else 0.0 for hour in range(24)]
    return HourlyStock(name, tuple(_chances(low, high) for low in lows))


def _chances(low, high):
    """Return probabilities of High, Medium and Low; high: of stock that is not Low."""
    return (1 - low) * high, (1 - low) * (1 - high), low


def _deadlines(rng):
    """Draw shares due after .5 to 2 h and 4 to 12 h; in one of four a third between."""
    tight, tight_s = round(rng.uniform(0, 1), 2), round(rng.uniform(1800, 7200))
    loose_s = round(rng.uniform(4, 12) * 3600)
    if rng.random() < 0.75:
        return DeadlineClasses(tight, tight_s, loose_s)
    middle = round((1 - tight) / 2, 4)
    return (
        DeadlineClass("rush", tight, tight_s, tight=True),
        DeadlineClass("today", middle, round((tight_s + loose_s) / 2)),
        DeadlineClass("later", 1 - tight - middle, loose_s),
    )


def _terms(rng):
    """Keep instances 1 to 15 min after a job, paid while idle, in one of five."""
    if rng.random() >= 0.2:
        return Terms()
    warm_s = round(60 * 15 ** rng.random())
    return Terms(
        warm_s=warm_s, billed_from=("execution", "provisioning")[rng.integers(2)]
    )


def _refusing(rng, terms):
    """Let Low stock refuse jobs, which retry after 30 s to 10 min, in one of five."""
    if rng.random() >= 0.2:
        return terms
    return replace(terms, retry_s=round(30 * 20 ** rng.random()))


def _workload(rng, jobs, load, deadlines, slots):
    """Draw Poisson arrivals or, in one of five, a log of batches of 1 to 6 jobs on
    average.
    """
    if rng.random() >= 0.2:
        work_s = summed(
            share * summed(gpu.mean_execution_s[level] for gpu in slots) / len(slots)
            for level, share in enumerate(COMPLEXITY_MIX)
        )
        return PoissonWorkload(jobs, load * len(slots) / work_s, deadlines=deadlines)
    sigma, size = rng.uniform(0.3, 1.3), rng.uniform(1, 6)
    batch = np.cumsum(rng.random(jobs) < 1 / size)
    own, common = rng.standard_normal(jobs), rng.standard_normal(jobs + 1)[batch]
    service = np.exp(sigma * np.sqrt(0.5) * (own + common) - sigma**2 / 2)
    return _log(
        rng.exponential(1.0, jobs + 1).cumsum()[batch], service, load, deadlines, slots
    )


def _log(submit, service, load, deadlines, slots):
    """Scale submission and service times to an offered load."""
    first, jobs = slots[0], len(submit)  # its speed is 1
    service_s = float(np.dot(COMPLEXITY_MIX, first.mean_execution_s)) * service
    work_s = (
        float(service_s.mean()) * summed(1 / gpu.speed for gpu in slots) / len(slots)
    )
    last_s = jobs * work_s / (load * len(slots))
    return LoggedWorkload(
        submit_s=tuple((submit * last_s / submit[-1]).tolist()),
        service_s=tuple(service_s.tolist()),
        deadline_s=(nan,) * jobs,
        gpus=(1,) * jobs,
        weight=(1,) * jobs,
        deadlines=deadlines,
    )


LABELS = {
    "triage": "triage",
    "watch": "`watch`",
    "atc": "ATC",
    "covert": "COVERT",
    "cadr": "CADR",
    "edf": "EDF",
}


def page_column(study):
    """Return the rows of a column of docs/explanation/bounds.md, by label.

    study: of `judge`, with all policies of LABELS.
    """
    rows = {row["policy"]: row for row in study.table()}
    regret = study.regret("triage")
    dearer = sum(
        item.difference.mean > 0.03 * np.mean(study.values(item.scenario, item.other))
        for item in study.against_best("triage")
    )
    return {
        **{
            label: f"{100 * rows[name]['usd_per_job']:.1f}"
            for name, label in LABELS.items()
        },
        "cheapest other policy of each scenario, minus triage": (
            f"{-100 * regret.mean:.1f} ± {100 * regret.half_width:.1f}"
        ),
        "scenarios in which triage costs over 3 % more than the cheapest other"
        " policy": f"{dearer}",
        "scenarios in which it misses over one point more than the other policy with"
        " fewest misses": f"{rows['triage']['behind']}",
        "of these, scenarios with a 95 % interval above 0": (
            f"{rows['triage']['behind_by_interval']}"
        ),
    }


def main():
    """Print the table in Markdown."""
    from judge import judge  # next to this script

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", type=int, default=len(TEST))
    parser.add_argument("--seeds", type=int, default=4)
    sizes = parser.parse_args()
    columns = [
        page_column(
            judge(
                map(draw, TEST[: sizes.scenarios]), [*POLICIES], range(sizes.seeds), 2
            )
        )
        for draw in (scenario, wide)
    ]
    print("| | `scenario` | `wide` |\n|---|---:|---:|")
    for label in columns[0]:
        print(f"| {label} | {columns[0][label]} | {columns[1][label]} |")


if __name__ == "__main__":
    main()
