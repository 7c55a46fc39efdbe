"""Textbook models agree with their formulas, and with the same models in bare SimPy,
within four standard errors over seeds that are fixed in advance.
"""

import math

import numpy as np
import pytest
from textbook.models import NAMES, SMALL, bare, formulas, model

import cgrsp_simpy as cg

SEEDS, BARE_SEEDS = range(7000, 7020), range(8000, 8020)
MOST = 4.0  # standard errors
FORMULAS = {name: (parameters, expected) for name, parameters, expected in formulas()}
QUICK = ("inventory", "job_shop", "tandem")  # of the comparisons with bare SimPy
LONG = (
    "balking",
    "bank",
    "emergency_ward",
    "job_shop",
    "machine_repair",
    "reneging",
)  # at full length


def cases(names, quick):
    """Return a short and a full case per model, each with its mark."""
    rows = []
    for name in names:
        mark = [] if name in quick else pytest.mark.slow
        rows.append(pytest.param(name, True, id=f"{name}-short", marks=mark))
        mark = pytest.mark.long if name in LONG else pytest.mark.slow
        rows.append(pytest.param(name, False, id=f"{name}-full", marks=mark))
    return rows


def mean_and_error(values):
    return np.mean(values), np.std(values, ddof=1) / math.sqrt(len(values))


def values_of(name, parameters):
    """Return the values of every figure over the seeds."""
    study = cg.compare(model(name, **parameters), [name], seeds=SEEDS)
    assert not study.failures
    return {figure: study.values(name, figure) for figure in study.figures}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("name", "is_short"), cases(FORMULAS, FORMULAS))
def test_a_model_agrees_with_its_formula(name, is_short):
    parameters, expected = FORMULAS[name]
    values = values_of(name, {**parameters, **(SMALL[name] if is_short else {})})
    for figure, value in expected.items():
        mean, error = mean_and_error(values[figure])
        assert abs(mean - value) < MOST * error, (figure, mean, error, value)


@pytest.mark.quick_cases(0)
@pytest.mark.parametrize(("name", "is_short"), cases(NAMES, QUICK))
def test_a_model_agrees_with_bare_simpy(name, is_short):
    parameters = SMALL[name] if is_short else {}
    values = values_of(name, parameters)
    rows = [bare(name)(seed, **parameters) for seed in BARE_SEEDS]
    assert rows[0].keys() <= values.keys()
    for figure in rows[0]:
        mean, error = mean_and_error(values[figure])
        other, other_error = mean_and_error([row[figure] for row in rows])
        most = MOST * math.hypot(error, other_error)
        assert abs(mean - other) < most, (figure, mean, other, most)


def test_only_the_job_shop_has_no_formula():
    assert set(NAMES) - set(FORMULAS) == {"job_shop"}
