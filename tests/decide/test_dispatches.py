"""Dispatches and their bounds at given prices, without a solver: pins, not truths."""

from dataclasses import replace

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.decide.bounds import _Program, _units
from cgrsp_simpy.decide.dispatches import Dispatches

DAY = cg.day("hectic", jobs=30)
SCENARIOS = {
    # from 8 o'clock over two nights, so that the clock changes on later days
    "two days": replace(
        DAY,
        workload=replace(DAY.workload, rate_per_s=1 / 5000),
        market=replace(
            DAY.market,
            stock=(
                cg.HourlyStock("RTX A4500", [(0.2, 0.3, 0.5), (0.6, 0.3, 0.1)] * 12),
            ),
        ),
    ),
    # instances may be warm: delays count as 0
    "free types": replace(DAY, free_types=True, terms=cg.Terms(warm_s=0.5)),
    "lasting stock": replace(DAY, market=replace(DAY.market, persistence_s=900.0)),
    "log": cg.Scenario(
        "log",
        cg.LoggedWorkload(
            [600.0 * n for n in range(12)],
            [400.0 + 130 * n for n in range(12)],
            [600.0 * n + 900 for n in range(12)],
            [1] * 12,
            [1 + n % 3 for n in range(12)],
        ),
        DAY.gpus,
        DAY.gpus,
    ),
}


def figures(name):
    """Sums over levels, steps, types and jobs, and some positions."""
    scenario, figures = SCENARIOS[name], []
    drawn = list(scenario.workload.generate(1, scenario.service))
    for objective in ("mix", "cost"):
        units = _units(scenario, objective)
        problem = Dispatches(scenario, 1, drawn, units, 60.0, 20)
        rng = np.random.default_rng(0)
        price = rng.random((len(problem.slots), problem.end)) * 1e-4
        least = problem.least(price)
        bounds = [
            problem.costs(least, job)[1].min(axis=1).sum() for job in problem.jobs
        ]
        program = _Program(problem, 20)
        job, steps = problem.jobs[5], np.arange(problem.end)
        figures += [
            *(problem.end, len(problem.steps), sum(problem.changes)),
            *(len(program.groups), program.basis.shape[1], program.bound(price)),
            *(program.basis.sum(), least.sum(), sum(bounds)),
            *(problem.at(job, 0, v, steps).sum() for v in range(2)),
        ]
    return [float(f"{figure:.9g}") for figure in figures]


PINNED = {
    "two days": [
        *(2500, 2508, 51660, 30, 251, -35.8517642),
        *(2582, 1266673.95, 1366059.82, 87311.7998, 87343.7467),
        *(2500, 2508, 51660, 30, 251, -37.112147),
        *(2582, 22808.8559, 113090.519, 8465.23457, 8467.73098),
    ],
    "free types": [
        *(20, 24, 0, 6, 2, -0.761116682),
        *(20, 108.851929, 208.762388, 5.2193463, 5.2193463),
        *(20, 24, 0, 6, 2, -0.146541776),
        *(20, 5.80199579, 10.5107213, 0.309147056, 0.309147056),
    ],
    "lasting stock": [
        *(40, 44, 0, 6, 3, -0.991702665),
        *(40, 412.128014, 914.720068, 23.7963977, 25.3519533),
        *(40, 44, 0, 6, 3, -0.446029427),
        *(40, 18.2354361, 43.7324951, 1.01902527, 1.06569193),
    ],
    "log": [
        *(120, 124, 0, 12, 7, 62.0715378),
        *(120, 20742.3608, 12587.5231, 1029.02986, 1034.99931),
        *(140, 144, 0, 12, 8, 16.9857148),
        *(140, 2093.2145, 3270.70248, 436.730583, 438.277583),
    ],
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_figures_equal_the_pins(name):
    assert figures(name) == pytest.approx(PINNED[name], rel=1e-7)
