"""Pins, not truths: the exact records of every policy on every day, seed 0;
`python tests/pins/test_pins.py` rewrites them.
"""

import hashlib
import json
from math import isnan
from pathlib import Path

import pytest

import cgrsp_simpy as cg

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
    """A hash of the records' floats, and what a reader can make out of them."""
    run = cg.simulate(cg.day(day), policy, seed=0)
    bits = b"".join(run.jobs[name].astype("<f8").tobytes() for name in FLOATS)
    figures = {
        name: round(value, 6)
        for name, value in run.summary().items()
        if not isnan(value)
    }
    return {"records_sha256": hashlib.sha256(bits).hexdigest(), "summary": figures}


def all_pins():
    return {
        f"{policy} {day}": pin(policy, day) for policy in cg.POLICIES for day in DAYS
    }


@pytest.fixture(scope="module")
def pinned():
    return json.loads(PINS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("policy", cg.POLICIES)
def test_records_are_the_pinned_ones(policy, day, pinned):
    found, expected = pin(policy, day), pinned[f"{policy} {day}"]
    # first: it says what moved
    assert found["summary"] == pytest.approx(expected["summary"], abs=2e-6, rel=0)
    assert found["records_sha256"] == expected["records_sha256"]


def test_every_policy_and_day_is_pinned_and_nothing_else(pinned):
    assert set(pinned) == {f"{policy} {day}" for policy in cg.POLICIES for day in DAYS}
    assert len(
        {
            entry["records_sha256"]
            for key, entry in pinned.items()
            if key.endswith("hectic")
        }
    ) == len(cg.POLICIES)


if __name__ == "__main__":
    PINS.write_text(
        json.dumps(all_pins(), indent=1, allow_nan=False) + "\n", encoding="utf-8"
    )
