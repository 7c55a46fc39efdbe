"""Properties under any terms of renting, in random small scenarios."""

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_scenarios import scenarios
from support import drawn

import cgrsp_simpy as cg
from cgrsp_simpy.rental.policies import PREEMPTIVE
from cgrsp_simpy.studies.subject import subject_of

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
    """The scenario under these terms, if they are possible."""
    try:
        return replace(scenario, terms=terms)
    except cg.InputError:  # a type that is never in stock
        assume(False)


@QUICK
@given(
    scenario=any_scenario,
    terms=terms_of_renting,
    policy=policies,
    seed=st.integers(0, 99),
)
def test_all_jobs_end_and_the_parts_of_the_cost_add_up(scenario, terms, policy, seed):
    scenario = under(scenario, terms)
    run = cg.simulate(scenario, policy, seed)
    result = run.summary()
    assert result["completed"] == scenario.jobs
    assert list(result) == list(subject_of(scenario).report.metrics)
    assert result["cost_usd"] == pytest.approx(run.jobs["cost_usd"].sum())
    parts = [name for name in terms.columns if name.endswith("_usd")]
    for total, part in [(result["cost_usd"], [result[name] for name in parts])] + [
        (row["cost_usd"], [row[name] for name in parts]) for row in run.rows()
    ]:
        assert not parts or sum(part) == pytest.approx(total)
    bare = cg.simulate(scenario, policy, seed, records=False)
    assert bare.summary() == pytest.approx(result, nan_ok=True)


@QUICK
@given(
    scenario=any_scenario,
    terms=terms_of_renting,
    policy=policies,
    seed=st.integers(0, 99),
)
def test_a_slot_has_one_phase_at_a_time_and_each_is_paid(scenario, terms, policy, seed):
    scenario = replace(under(scenario, terms), free_types=False)
    run = cg.simulate(under(scenario, terms), policy, seed)
    by_slot, by_phase = defaultdict(list), defaultdict(float)
    for claim in run.claims:
        by_slot[claim["resource"]].append((claim["from_s"], claim["to_s"]))
        usd_per_h = scenario.slots[claim["resource"]].price_usd_per_h
        held_h = (claim["to_s"] - claim["from_s"]) / 3600
        by_phase[claim["phase"]] += held_h * usd_per_h
    for spans in by_slot.values():
        assert all(end <= start for (_, end), (start, _) in pairwise(sorted(spans)))
    result = run.summary()
    if "executing_usd" in result:
        assert result["executing_usd"] == pytest.approx(
            by_phase["executing"], abs=1e-12
        )
    if terms.warm_s and (run.jobs["gpus"] == 1).all():  # else some wait warm for others
        assert result["idle_usd"] == pytest.approx(by_phase["idle-warm"], abs=1e-12)
        if terms.billed_from == "provisioning":
            assert result["provisioning_usd"] == pytest.approx(
                by_phase["provisioning"], abs=1e-12
            )
    assert sum(run.held_s) == pytest.approx(
        sum(row["gpus"] * (row["finish_s"] - row["dispatch_s"]) for row in run.jobs)
    )


# ---- preemption ----

OWN = ("restarting_s", "checkpoints_s")  # columns where the terms have them
one_type = scenarios().filter(
    lambda each: len(set(each.slots)) == 1 and not each.free_types
)


def stops(env, run, times_s, orderly):
    """Take the slots of the job that has run longest at each of these times."""
    for at_s in sorted(times_s):
        yield env.timeout(max(0.0, at_s - env.now))
        if run.granted_claims:
            claim = next(iter(run.granted_claims))
            run.revoke(claim, cg.Suspend(claim.job) if orderly else "taken away")


@QUICK
@given(
    scenario=any_scenario | one_type,
    terms=terms_of_renting,
    times_s=st.lists(st.floats(0, 5000) | st.integers(0, 600), max_size=12),
    orderly=st.booleans(),
    every_s=st.sampled_from([None, 7.0, 29.0]),
    cost_s=st.sampled_from([0.0, 2.5]),
    restart_s=st.sampled_from([0.0, 11.0]),
    policy=policies,
)
def test_a_job_that_is_stopped_at_any_time_is_not_lost(
    scenario, terms, times_s, orderly, every_s, cost_s, restart_s, policy
):
    spot = {"preemption_per_h": 1e-9}  # what is taken is taken by the test
    stopping = {
        "checkpoint_s": every_s,
        "checkpoint_cost_s": cost_s,
        "restart_s": restart_s,
    }
    scenario = under(scenario, replace(terms, suspension=True, **stopping, **spot))
    simulation = subject_of(scenario).simulation(
        subject_of(scenario).make_policy(policy), 7
    )
    simulation.process(stops(simulation.env, simulation, times_s, orderly), counts=True)
    run = simulation.finish()
    jobs, phases = run.jobs, defaultdict(float)
    assert jobs["job"].tolist() == list(range(scenario.jobs))
    assert not simulation.granted_claims
    assert not orderly or not jobs["lost_s"].any()
    seconds_of = {
        name: jobs[name] if name in jobs.dtype.names else jobs["lost_s"] * 0
        for name in OWN
    }
    for claim in run.claims:
        phases[claim["job"], claim["phase"]] += claim["to_s"] - claim["from_s"]
    for place, (row, (job, draws)) in enumerate(zip(jobs, drawn(scenario, 7))):
        own = {name: column[place] for name, column in seconds_of.items()}
        assert row["finish_s"] >= row["start_s"] >= row["dispatch_s"] >= job.submit_s
        for phase, held_s in (
            ("executing", row["service_s"]),
            ("restarting", own["restarting_s"]),
        ):
            assert phases[job.id, phase] == pytest.approx(held_s * job.gpus, abs=1e-6)
        work_s = row["service_s"] - row["lost_s"] - own["checkpoints_s"]
        if len(set(scenario.slots)) == 1 and not scenario.free_types:
            mean_s = scenario.slots[0].mean_execution_s[job.complexity - 1]
            assert work_s == pytest.approx(mean_s * draws.service)
    result = run.summary()
    parts = [result[name] for name in scenario.terms.columns if name.endswith("_usd")]
    assert not parts or sum(parts) == pytest.approx(result["cost_usd"])


@QUICK
@given(
    scenario=any_scenario,
    per_h=st.sampled_from([0.5, 5.0]),
    warm_s=seconds,
    suspension=st.booleans(),
    policy=st.sampled_from([*cg.POLICIES, *PREEMPTIVE]),
    seed=st.integers(0, 99),
)
def test_on_spot_every_policy_completes_all_jobs(
    scenario, per_h, warm_s, suspension, policy, seed
):
    allowed = suspension or policy in PREEMPTIVE
    terms = cg.Terms(
        preemption_per_h=per_h, warm_s=warm_s, checkpoint_s=20.0, suspension=allowed
    )
    scenario = under(scenario, terms)
    run = cg.simulate(scenario, policy, seed)
    assert run.jobs["job"].tolist() == list(range(scenario.jobs))
    spans = defaultdict(list)
    for claim in run.claims:
        spans[claim["resource"]].append((claim["from_s"], claim["to_s"]))
    for own in spans.values():
        assert all(end <= start for (_, end), (start, _) in pairwise(sorted(own)))
    held_s = sum(
        row["gpus"] * (row["finish_s"] - row["dispatch_s"] - row["away_s"])
        for row in run.jobs
    )
    assert sum(run.held_s) == pytest.approx(held_s, abs=1e-6)
    assert cg.simulate(scenario, policy, seed).jobs.tobytes() == run.jobs.tobytes()
