"""Pins, not truths: plans with all their columns, fitted stock, and sums over seeds of
the figures of jobs that wait and of jobs on spot instances, where much happens;
`python tests/pins/test_sums.py` rewrites them.
"""

import json
import re
from collections import Counter
from collections.abc import ValuesView
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.hgsp.generate import LEVELS
from cgrsp_simpy.market.measured import PolledModel
from cgrsp_simpy.market.series import Series, Snapshots
from cgrsp_simpy.market.stock import Stock
from cgrsp_simpy.papers.thesis.statements import CLAIMS, judge
from cgrsp_simpy.spot import expected
from cgrsp_simpy.spot.job import Checkpoints
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.waiting.jobs import DAY_S, ListedJobs
from cgrsp_simpy.waiting.machines import M5, Prices, Size
from cgrsp_simpy.waiting.plan import Limit, Search, plan
from cgrsp_simpy.waiting.policies import Mispredictions
from cgrsp_simpy.waiting.report import of_trials

PINS = Path(__file__).with_name("sums.json")


def columns(value, name=""):
    """Return the numbers and texts of a nested value by their places in it."""
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    elif isinstance(value, list | tuple | ValuesView):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        parts = (columns(part, f"{name} {key}") for key, part in value.items())
        return {place: number for part in parts for place, number in part.items()}
    if value is None or value != value:
        return {}
    return {name.strip(): value if isinstance(value, str) else float(f"{value:.9g}")}


def sums(scenario, policy, seeds):
    """Return the sums over seeds of all figures of a policy."""
    total = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expected, "STEPS", 24)
        for seed in range(seeds):
            run = subject_of(scenario).run(policy, seed)
            total.update({"decisions": run.decisions} | columns(run.summary()))
    return total


# ---- one job on spot instances ----


def zone(rng, name, step_s, share):
    """Return a zone of stretches and prices of random lengths."""
    polls = 240_000 // step_s
    status = np.repeat(rng.random(polls) < share, rng.integers(1, 40, polls))
    prices = rng.choice([0.7, 0.9, 1.4, 3.3], polls).repeat(rng.integers(1, 90, polls))
    return Series.of(name, step_s, status[:polls], prices[:polls])


def traces():
    rng = np.random.default_rng(1)
    zones = tuple(
        zone(rng, *terms)
        for terms in (
            ("us-east-1a", 600, 0.5),
            ("us-east-1b", 600, 0.4),
            ("us-west-2a", 1200, 0.6),
        )
    )
    outages = Series.of("on demand", 600, np.arange(400) % 97 > 8)
    return cg.spot.Traces(zones, 0.5, outages)


SPOT = {
    "three zones": cg.spot.Scenario(
        traces(), 8.0, 12.0, checkpoints=Checkpoints(1800, 120, 60, 20.0, 0.02, 2.0)
    ),
    "two zones": cg.spot.Scenario(
        cg.spot.TwoState(1.0, 0.5, 120),
        6.0,
        7.0,
        0.05,
        zones=2,
        checkpoints=Checkpoints(900, 60, 120),
    ),
}


def programmed():
    """Return the dynamic program of a market, and one of its steps."""
    seen = []

    def watching(view):
        if len(seen) < 3:
            program = expected.Plan(view)
            shape = (2 + len(program.up), program.up.shape[1], len(program.slack))
            after = np.random.default_rng(0).random(shape)
            value, choices = program.step(after, np.arange(shape[2]) - 3)
            parts = {
                "states": program.chance**2,
                "value": np.where(np.isinf(value), 0.0, value),
                "choices": choices,
                "solved": program.choices[1:],
                "late": program.late,
                "shape": program.choices.shape,
            }
            sums = {name: float(np.sum(part)) for name, part in parts.items()}
            seen.append((program.lost, program.numbers, program.moving, sums))
        if view.on is None:
            yield view.job, view.on_demand

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expected, "STEPS", 60)
        subject_of(SPOT["three zones"]).run(watching, 1)
    return seen


# ---- jobs that wait ----


def waited(scenario, policy):
    """Return the figures of a run with intervals from its batches."""
    run = subject_of(scenario).run(policy, 0)
    intervals = of_trials([subject_of(run.scenario).outcome(run)])
    return {"decisions": run.decisions, "figures": intervals}


PAIR = (
    Size("small", 2, 8.0, 1.0, 0.0, 300.0, 60.0, 0.4, 0.0, 0.45, 0.4),
    Size("large", 4, 32.0, 2.1, 600.0, 0.0, 90.0, 0.9, 0.3, 0.9, 0.85),
)
WAITING = {
    f"{order} {'shared' if shared else 'whole'}": cg.waiting.Scenario(
        cg.waiting.BurstyJobs(300, 0.05, 900.0),
        machines=PAIR * 3 + (M5[6],) if shared else 20,
        order=order,
        sizes=(*PAIR, M5[6]) if shared else M5,
        errors=Mispredictions(0.1, 0.2, 0.3, 0.1),
        work_conserving=order == "fcfs",
    )
    for order in ("fcfs", "sjf")
    for shared in (True, False)
}


def generated():
    """Return the sums of the columns of bursty jobs of some days."""
    chunks = cg.waiting.BurstyJobs(3000, 0.002, 900.0).chunks(0)
    return [[float(column.sum()) for column in chunk] for chunk in chunks]


def log(days, mean_s=9000.0, most=4):
    """Return jobs of up to so many cores; those of one core need no memory."""
    rng = np.random.default_rng(days)
    submit_s = np.sort(rng.uniform(0, days * DAY_S, 12 * days))
    submit_s[[0, -1]] = 0, days * DAY_S
    run_s = np.round(rng.exponential(mean_s, 12 * days))
    cores = rng.integers(1, most + 1, 12 * days)
    memory_gb = cores * rng.choice([1.0, 2.0, 6.0], 12 * days) * (most > 1)
    return ListedJobs(submit_s, run_s, cores, memory_gb)


def planned(*arguments, **terms):
    """Return a plan and its text."""
    chosen = plan(*arguments, **terms)
    return {"plan": chosen, "text": str(chosen)}


def searched():
    """Return the candidates of a search for a fleet, as sums, and its plan."""
    size = Size("one", 1, 0.0, 1.0, boot_s=60.0)
    size = replace(size, reserved_1y_per_h=0.41, reserved_3y_per_h=0.4)
    jobs, limit = log(14, 12 * DAY_S, most=1), Limit.read("p90=2h")
    search = Search(jobs, (size,), Prices(), limit, None, -0.3, 3)
    for text in ("sww", "ljw", "compound"):
        search.climb(text)
    search.refine()
    tried = search.tried.values()
    total = {
        name: float(np.sum([getattr(candidate, name) for candidate in tried]))
        for name in ("own", "least_cost", "wait_s", "p95_s", "shares", "value")
    }
    return total | {"candidates": len(tried), "plan": search.chosen()}


# ---- stock ----


@cache
def fit():
    """Return a fit of two scales to eight days of polls."""
    gpu, chances = cg.THESIS_GPUS[0], [(0.6, 0.1, 0.3)] * 12 + [(0.2, 0.2, 0.6)] * 12
    own = cg.HourlyStock(gpu.name, chances, 36_000.0, 900.0, 0.8, 600)
    stock = Stock(cg.Market(cg.Clock(((0, 1.0),)), stock=(own,)), 1)
    time_s = np.arange(0, 8 * DAY_S, 600.0)
    status = np.array([stock.status(gpu, at_s, 0.0) for at_s in time_s.tolist()])
    status[[5, 6, 300, 301, 302, 900]] = -1
    return cg.fit_stock(Snapshots(gpu.name, time_s, status, time_s % 7))


def fitted():
    """Return a fit and that of its first half, with their figures."""
    return [
        {
            "scales": (each.stock.persistence_s, each.stock.switch_s),
            "first_share": each.stock.first_share,
            "one scale": PolledModel(
                each.polls, np.array(each.stock.chances)
            ).one_scale(),
            "short": each.short_pct,
            "correlations": [each.correlation(lag_h) for lag_h in (1 / 6, 2, 20, 120)],
            "runs": (each.run_h(True), each.run_h(False)),
        }
        for each in (fit(), fit().later)
    ]


def counted():
    """Return the figures of the polls of a fit, and of its second half."""
    return [
        {
            "chances": each.stock.chances[::5],
            "low": each.low_pct,
            "shares": each.polls.shares,
            "correlations": [
                each.polls.correlation(lag_h) for lag_h in (1 / 6, 2.0, 20.0)
            ],
            "runs": (each.polls.run_h(True), each.polls.run_h(False)),
            "short": each.polls.short_pct,
            "gaps": each.polls.gaps_h,
            "drift": each.polls.drift_pct,
            "price": each.polls.price_usd_per_h,
        }
        for each in (fit(), fit().later)
    ]


def sentences():
    """Return each part of the thesis's sentences, with its verdict at given figures."""
    given = SimpleNamespace(
        replications=None,
        sample=lambda measure, n: [
            len(text) % 9 + total % 7 + np.arange(n) * (total % 5 + 2) % 11 / 10
            for text in map(repr, measure.sources)
            for total in [sum(map(float, re.findall(r"\d+\.?\d*", text)))]
        ],
    )
    return {
        claim.sentence: [
            f"{entry.where}, {entry.verdict}: {entry.reason}"
            for part in claim.parts
            for entry in [judge(replace(claim, parts=(part,)), given)]
        ]
        for claim in CLAIMS
    }


CASES = {
    **{
        f"{policy} of {name}": partial(
            sums, scenario, policy, 3 if policy == "expected-cost" else 8
        )
        for name, scenario in SPOT.items()
        for policy in scenario.policies
    },
    **{
        f"{policy} of {name}": partial(waited, scenario, policy)
        for name, scenario in WAITING.items()
        for policy in scenario.policies
    },
    "plan of a limit": partial(planned, log(14), "p95=30min", sizes=PAIR, seed=3),
    "plan of a share": partial(
        planned, log(12), "p80=2h", sizes=M5[1:4], policies=["ajw-t", "ljw"]
    ),
    "plan of a budget": partial(
        planned, log(16), budget=25_000.0, sizes=PAIR, policies=["compound:short_s=60"]
    ),
    "plan that grows": partial(
        planned, log(14), "p90=1h", sizes=PAIR, growth=0.2, policies=["sww"], seed=1
    ),
    "search": searched,
    "bursty jobs": generated,
    "program": programmed,
    "levels of tasks": LEVELS.values,
    "fit": fitted,
    "polls": counted,
    "sentences": sentences,
}


@pytest.fixture(scope="module")
def pinned():
    return json.loads(PINS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_figures_equal_the_pins(name, pinned):
    # an optimiser finds other last digits with another SciPy
    rel = 1e-3 if name == "fit" else 1e-7
    assert columns(CASES[name]()) == {
        place: value if isinstance(value, str) else pytest.approx(value, rel=rel)
        for place, value in pinned[name].items()
    }


def test_every_case_is_pinned_and_nothing_else(pinned):
    assert pinned.keys() == CASES.keys()


if __name__ == "__main__":
    lines = (
        f"{json.dumps(name)}: {json.dumps(columns(case()))}"
        for name, case in CASES.items()
    )
    PINS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
