"""Recorded values, not proven ones: the exact records of every policy on every day,
seed 0, and the figures of every policy of the other modules; `python
tests/pins/test_pins.py` rewrites them.
"""

import hashlib
import json
from math import isnan
from pathlib import Path

import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.studies.subject import subject_of

PINS = Path(__file__).with_name("pins.json")
DAYS = ("quiet", "normal", "hectic", "surge")
FLOATS = (
    "submit_s",
    "deadline_s",
    "dispatch_s",
    "start_s",
    "finish_s",
    "delay_s",
    "service_s",
    "cost_usd",
)


def pin(policy, day):
    """A hash of the records' floats, and readable sums of them."""
    run = cg.simulate(cg.day(day), policy, seed=0)
    bits = b"".join(run.jobs[name].astype("<f8").tobytes() for name in FLOATS)
    figures = {
        name: round(value, 6)
        for name, value in run.summary().items()
        if not isnan(value)
    }
    return {"records_sha256": hashlib.sha256(bits).hexdigest(), "summary": figures}


MODULES = {
    "exponential jobs": cg.waiting.Scenario(
        cg.waiting.ExponentialJobs(400), machines=90
    ),
    "cluster": cg.cluster.Scenario(cg.cluster.Offered(jobs=60, warm_up=10)),
    "hgsp": cg.hgsp.Scenario(cg.hgsp.Level(5, "small", 5.0, (0.4, 1.0)), moves=500),
    "llm": cg.llm.Scenario(cg.llm.Offered(60)),
    "dag": cg.dag.Scenario("er:n=40", cg.dag.Servers(gpus=6), budget=30),
}
SLOW = ("milp", "ddqn")
OTHERS = [
    (policy, module)
    for module, scenario in MODULES.items()
    for policy in scenario.policies
    if policy not in SLOW
]


def figures_of(policy, module):
    """The figures, the number of decisions, and the sum of each column of the jobs."""
    run = subject_of(MODULES[module]).run(policy, 1)
    sums = {
        f"sum of {name}": float(run.jobs[name].sum())
        for name in run.jobs.dtype.names
        if run.jobs[name].dtype.kind in "biuf"
    }
    result = run.summary() | sums | {"decisions": run.decisions}
    return {
        name: float(f"{value:.9g}") for name, value in result.items() if value == value
    }


def all_pins():
    days = {
        f"{policy} {day}": pin(policy, day) for policy in cg.POLICIES for day in DAYS
    }
    return days | {
        f"{policy} of {module}": figures_of(policy, module) for policy, module in OTHERS
    }


@pytest.fixture(scope="module")
def pinned():
    return json.loads(PINS.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "day", [*DAYS[:3], pytest.param("surge", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("policy", cg.POLICIES)
def test_records_equal_the_pins(policy, day, pinned):
    result, expected = pin(policy, day), pinned[f"{policy} {day}"]
    # first: it says what moved
    assert result["summary"] == pytest.approx(expected["summary"], abs=2e-6, rel=0)
    assert result["records_sha256"] == expected["records_sha256"]


@pytest.mark.parametrize(("policy", "module"), OTHERS)
def test_figures_of_other_modules_equal_the_pins(policy, module, pinned):
    expected = pinned[f"{policy} of {module}"]
    result = figures_of(policy, module)
    assert result.keys() == expected.keys()
    for name, value in result.items():
        assert value == pytest.approx(expected[name], rel=1e-7), name


def test_every_policy_and_day_is_pinned_and_nothing_else(pinned):
    days = {f"{policy} {day}" for policy in cg.POLICIES for day in DAYS}
    assert set(pinned) == days | {f"{policy} of {module}" for policy, module in OTHERS}
    assert len(
        {
            entry["records_sha256"]
            for key, entry in pinned.items()
            if key.endswith("hectic")
        }
    ) == len(cg.POLICIES)


if __name__ == "__main__":
    lines = (f"{json.dumps(key)}: {json.dumps(pin)}" for key, pin in all_pins().items())
    PINS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
