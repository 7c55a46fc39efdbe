"""What holds under any terms of renting, in random small scenarios."""

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_scenarios import scenarios

import cgrsp_simpy as cg

QUICK = settings(max_examples=40)
seconds = st.sampled_from([0.0, 1.0, 60.0, 77.7, 3600.0])
terms_of_renting = st.builds(
    cg.Terms,
    retry_s=st.sampled_from([None, 30.0, 900.0]),
    warm_s=seconds,
    billed_from=st.sampled_from(["execution", "provisioning"]),
    minimum_s=seconds,
    increment_s=seconds,
    budget_usd_per_day=st.sampled_from([None, 0.02, 1.0]),
)
policies = st.sampled_from(list(cg.POLICIES))
any_scenario = scenarios() | scenarios(gangs=True)


def under(scenario, terms):
    """The scenario under these terms, if it can be."""
    try:
        return replace(scenario, terms=terms)
    except cg.InputError:  # a type that is never in stock
        assume(False)


def price(scenario, run, claim):
    """Of the type that a slot of fixed type has."""
    return scenario.slots[claim["place"]].price_usd_per_h


@QUICK
@given(scenario=any_scenario, terms=terms_of_renting, policy=policies, seed=st.integers(0, 99))
def test_all_jobs_end_and_the_parts_of_the_cost_add_up(scenario, terms, policy, seed):
    scenario = under(scenario, terms)
    run = cg.simulate(scenario, policy, seed)
    found = run.summary()
    assert found["completed"] == scenario.jobs
    assert list(found) == list(scenario.metrics)
    assert found["cost_usd"] == pytest.approx(run.jobs["cost_usd"].sum())
    parts = [name for name in terms.columns if name.endswith("_usd")]
    for total, part in [(found["cost_usd"], [found[name] for name in parts])] + [
        (row["cost_usd"], [row[name] for name in parts]) for row in run.rows()
    ]:
        assert not parts or sum(part) == pytest.approx(total)
    bare = cg.simulate(scenario, policy, seed, records=False)
    assert bare.summary() == pytest.approx(found, nan_ok=True)


@QUICK
@given(scenario=any_scenario, terms=terms_of_renting, policy=policies, seed=st.integers(0, 99))
def test_a_slot_has_one_phase_at_a_time_and_each_is_paid(scenario, terms, policy, seed):
    scenario = replace(under(scenario, terms), free_types=False)
    run = cg.simulate(under(scenario, terms), policy, seed)
    by_slot, by_phase = defaultdict(list), defaultdict(float)
    for claim in run.claims:
        by_slot[claim["place"]].append((claim["from_s"], claim["to_s"]))
        paid = (claim["to_s"] - claim["from_s"]) * price(scenario, run, claim) / 3600
        by_phase[claim["phase"]] += paid
    for spans in by_slot.values():
        assert all(end <= start for (_, end), (start, _) in pairwise(sorted(spans)))
    found = run.summary()
    if "executing_usd" in found:
        assert found["executing_usd"] == pytest.approx(by_phase["executing"], abs=1e-12)
    if terms.warm_s and (run.jobs["gpus"] == 1).all():  # else some wait warm for others
        assert found["idle_usd"] == pytest.approx(by_phase["idle-warm"], abs=1e-12)
        if terms.billed_from == "provisioning":
            assert found["provisioning_usd"] == pytest.approx(by_phase["provisioning"], abs=1e-12)
    assert sum(run.slot_held_s) == pytest.approx(
        sum(row["gpus"] * (row["finish_s"] - row["dispatch_s"]) for row in run.jobs)
    )
