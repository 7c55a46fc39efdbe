"""Recorded values, not proven ones: plans with all their columns, fitted stock, and
sums over seeds of the figures of jobs that wait and of jobs on spot instances, where
much happens; `python tests/pins/test_sums.py` rewrites them.
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
from cgrsp_simpy.analysis.solver import SOLVED
from cgrsp_simpy.base.compiled import rows_of
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.cluster import jobs
from cgrsp_simpy.dag import generate
from cgrsp_simpy.hgsp import bounds, descent
from cgrsp_simpy.hgsp.exact import solve_exact
from cgrsp_simpy.hgsp.generate import LEVELS
from cgrsp_simpy.hgsp.search import state_of
from cgrsp_simpy.market.measured import PolledModel
from cgrsp_simpy.market.series import Series, Snapshots
from cgrsp_simpy.market.stock import Stock
from cgrsp_simpy.papers.thesis import claims, statements
from cgrsp_simpy.spot import expected
from cgrsp_simpy.spot.job import Checkpoints
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.waiting.formulas import closed_form
from cgrsp_simpy.waiting.jobs import DAY_S, ListedJobs
from cgrsp_simpy.waiting.machines import M5, Prices, Size
from cgrsp_simpy.waiting.plan import Limit, Search, plan
from cgrsp_simpy.waiting.policies import Mispredictions, waiting_policy
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


def weighted(part):
    """Return a sum of an array in which each place has its own weight."""
    values = part.toarray() if hasattr(part, "toarray") else np.array(part, float)
    finite = np.where(np.isinf(values), 7 * np.sign(values), values)
    return float(np.sum(finite * np.random.default_rng(0).random(finite.shape)))


def arrays(*values):
    """Return each array of some objects as a weighted sum."""
    return [
        {
            name: weighted(part)
            for name, part in vars(value).items()
            if isinstance(part, np.ndarray) and part.dtype.kind in "biuf"
        }
        for value in values
    ]


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


def aged(seed, polls=4000):
    """Return a zone with times of one poll, of 10 or of 90, and a price."""
    rng = np.random.default_rng(seed)
    status = np.resize([True, False], polls).repeat(rng.choice([1, 10, 90], polls))
    return Series.of(f"us-east-{seed}a", 600, status[:polls], [0.5 + seed / 9] * polls)


def programmed(*zones):
    """Return the dynamic program of a market, and one of its steps; numbers of arrays
    are weighted by their positions.
    """
    seen = []

    def watching(view):
        if not seen:
            program, rng = expected.Plan(view), np.random.default_rng(0)
            shape = (2 + len(program.up), program.up.shape[1], len(program.slack))
            value, choices = program.step(rng.random(shape), np.arange(shape[2]) - 3)
            parts = {
                "states": program.chance,
                "value": value,
                "choices": choices,
                "solved": program.choices[1:],
                "late": program.late,
                "shape": program.choices.shape,
            }
            sums = {name: weighted(part) for name, part in parts.items()}
            terms = (program.ages_h, program.lost, program.numbers, program.moving)
            seen.append((*terms, sums))
        if view.on is None:
            yield view.job, view.on_demand

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expected, "STEPS", 60)
        source = cg.spot.Traces(zones, 0.5) if zones else traces()
        subject_of(replace(SPOT["three zones"], source=source)).run(watching, 1)
    return seen


# ---- tasks on GPUs ----


def tasks(seed, number=9):
    """Return tasks in whole numbers, so that much falls on the same instant."""
    rng = np.random.default_rng(seed)
    arrival_s = np.cumsum(rng.choice([0, 0, 1, 2, 5], number))
    return cg.hgsp.Instance(
        rng.integers(1, 5, number).astype(float),
        rng.choice([4.0, 8.0, 16.0], number),
        arrival_s + rng.integers(0, 8, number),
        rng.integers(0, 3, number).astype(float),
        arrival_s,
        [cg.hgsp.Gpu("a", 8, 1), cg.hgsp.Gpu("b", 16, 2), cg.hgsp.Gpu("c", 16, 1)],
        free_s=[0.0, 1.0, 2.0],
    )


def moved():
    """Return the best moves of tasks, and what rounds of a search make of them."""
    results = []
    for seed, number in enumerate((9, 9, 9, 12, 12, 15, 20, 60, 60)):
        rng = np.random.default_rng(seed)
        order = rng.permutation(number)
        start = cg.hgsp.greedy_assignment(tasks(seed, number), order)
        state, best = state_of(start), state_of(start)
        draws = rows_of(rng.random((3, descent.PER_ROUND)))
        for moves in (0, 30 + 50 * seed):
            rounds = descent.rounds(state, best, draws, moves)
            values = descent.objective(state), descent.objective(best)
            best_moves = [descent.best_move(state, task, 1e-9) for task in order]
            plans = state.gpu, state.place, best.gpu, best.place, best_moves
            results.append((rounds, values, state.ends[0], state.ends[1]))
            results.append([weighted(plan) for plan in plans])
    return results


def bounded():
    """Return the linear programs of tasks, and bounds with prices in place of the
    solver's, with few nodes, and of many tasks.
    """
    results = []

    def solver(*parts, **terms):
        for term in terms.values():
            parts += (*vars(term).values(),) if hasattr(term, "lb") else (term,)
        arrays = [part for part in parts if not isinstance(part, str | dict)]
        results.append([weighted(part) for part in arrays])
        dual = -np.random.default_rng(0).random(len(terms.get("b_ub", ())))
        fields = {"x": None, "mip_dual_bound": None, "status": SOLVED}
        return SimpleNamespace(**fields, ineqlin=SimpleNamespace(marginals=dual / 9))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scipy.optimize.linprog", solver)
        patch.setattr("scipy.optimize.milp", solver)
        patch.setattr("cgrsp_simpy.hgsp.exact.START_MOVES", 60)
        patch.setattr(bounds, "MOST_TASKS", 6)
        patch.setattr(bounds, "MOST_VARIABLES", 90)
        for seed in range(6):
            many, few = (
                replace(each, deadline_s=each.arrival_s, free_s=np.zeros(3))
                for each in (tasks(seed, 13), tasks(seed, 4 + seed))
            )
            results.append([solve_exact(few).bound, bounds.by_capacity(few)])
            results.append([bounds.by_capacity(many), bounds.by_few(tasks(seed, 20))])
            results += [
                bounds.least_of_few(few, range(4 + seed), nodes)
                for nodes in (0, 4, 20, 80)
            ]
    return results


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
            for entry in [claims.judge(replace(claim, parts=(part,)), given)]
        ]
        for claim in statements.CLAIMS
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
        planned, log(23), "p90=1h", sizes=PAIR, growth=0.2, policies=["sww"], seed=1
    ),
    "search": searched,
    "bursty jobs": generated,
    "closed forms": lambda: arrays(
        *(
            closed_form(waiting_policy(text), 2.5, 1.0, [1, 2, 3, 4, 9])
            for text in ("ajw", "njw", "ajw-t:wait_s=2", "ljw:short_s=0.3")
        ),
        *(
            closed_form(policy, 0.2, 30.0, np.arange(1, 12), Prices(2, 3), *terms)
            for policy in (waiting_policy("sww:wait_s=20"),)
            for terms in ((), (Mispredictions(0.2, 0.1),), (Mispredictions(1.0),))
        ),
        *(
            closed_form(compound, 0.2, 30.0, [2, 5, 8], as_printed=as_printed)
            for compound in (waiting_policy("compound:wait_s=20,short_s=9"),)
            for as_printed in (False, True)
        ),
    ),
    "drawn graphs": lambda: arrays(
        cg.dag.training_graph(5, 2, 3, 3, 2),
        cg.dag.training_graph(4, 4, 6, 1, 1, "1f1b", samples=7.0, parameters_gb=0.3),
        cg.dag.training_graph(3, 1, 2, 2, 3, activation_gb=0.5, work_tflop=0.0),
        generate.erdos_renyi(40, 3.0, seed=2),
        generate.erdos_renyi(17, 2.5, "large", seed=5),
        generate.star(9),
        cg.dag.Servers(7, per_server=3, tflops=(1.0, 2.5)).platform(),
    ),
    "drawn jobs": lambda: arrays(
        cg.hgsp.generate("tasks4", 3),
        cg.hgsp.generate(cg.hgsp.Level(30, "medium", 3.0, (0.5, 2), (1, 9)), 4),
        jobs.generate(jobs.Mix(overestimate=1.0), 90, 0.8, cg.cluster.Cluster((64,))),
        *(
            cg.llm.Offered(40, 2.0, 900, 100, cv, "short").draw(Draw(6))
            for cv in (0.0, 2.0)
        ),
    ),
    "program": programmed,
    "program of ages": partial(programmed, aged(0)),
    "program of two ages": partial(programmed, aged(1), aged(2)),
    "program of six zones": partial(programmed, *map(aged, (5, 0, 3, 4, 2, 1))),
    "ages": lambda: [
        expected.classes_of([aged(zone, 30 + 9 * seed) for zone in range(seed % 3 + 1)])
        for seed in range(40)
    ],
    "levels of tasks": LEVELS.values,
    "moves of tasks": moved,
    "bounds of tasks": bounded,
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
