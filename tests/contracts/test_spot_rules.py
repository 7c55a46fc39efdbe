"""Properties of every policy of a job with a deadline, on any market:
no deadline is missed, every instance is paid for, and all work is done.
"""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spot.cases import a_coarse_program  # noqa: F401

import cgrsp_simpy as cg
from cgrsp_simpy.market.series import Series
from cgrsp_simpy.market.zones import Price, Stretch, Zone
from cgrsp_simpy.spot import view
from cgrsp_simpy.spot.job import FREE, Checkpoints, Job
from cgrsp_simpy.spot.optimum import Market
from cgrsp_simpy.studies.subject import subject_of

CALLED = [*cg.spot.POLICIES, "time-sliced:slices=1", "time-sliced:slices=37"]


@st.composite
def markets(draw):
    """A job, and zones that may change at any second, so that instances are also taken
    during their changeover; prices that move, places whose instances are kept, and
    checkpoints.
    """
    work_s, overhead_s = draw(st.integers(1, 5000)), draw(st.integers(1, 900))
    deadline_s = work_s + overhead_s + draw(st.integers(0, 4000))

    def moments():
        """When something changes, after the start."""
        at_s = 0
        for length in draw(st.lists(st.integers(1, 1500), max_size=12)):
            at_s += length
            if at_s < deadline_s:
                yield float(at_s)

    k = draw(st.floats(1.01, 10))
    zones = []
    for number in range(draw(st.integers(1, 3))):
        up = draw(st.booleans())
        stretches = [Stretch(-float(draw(st.integers(0, 3000))), up)]
        for at_s in moments():
            stretches.append(Stretch(at_s, not stretches[-1].up))
        prices = []
        if draw(st.booleans()):
            usd_per_h = st.floats(0, 1.5 * k)
            prices = [Price(at_s, draw(usd_per_h)) for at_s in (0.0, *moments())]
        history = Series.of(
            "h", 60, draw(st.lists(st.booleans(), min_size=1, max_size=20))
        )
        name = draw(st.sampled_from(["us-east-1", "us-west-2"])) + "abc"[number]
        kept = draw(st.sampled_from([False, False, True]))
        zones.append(Zone(name, tuple(stretches), history, tuple(prices), kept))
    seconds = st.integers(0, 300)
    saved = Checkpoints(checkpoint_s=float(draw(seconds)), write_s=float(draw(seconds)))
    if saved.checkpoint_s:
        saved = replace(saved, notice_s=draw(st.sampled_from([0.0, 30.0, 120.0])))
    if draw(st.booleans()):
        prices = draw(st.sampled_from([(0.0, 0.0), (0.02, 0.0), (0.02, 50.0)]))
        saved = replace(saved, size_gb=10.0)
        saved = replace(
            saved, transfer_usd_per_gb=prices[0], storage_usd_per_gb_month=prices[1]
        )
    job = Job(0, float(work_s), float(deadline_s), float(overhead_s), 1.0, k)
    return Market(job, tuple(zones), draw(st.sampled_from([FREE, saved])))


def carried_out(market, policy):
    scenario = cg.spot.Scenario(zones=len(market.zones))
    return subject_of(scenario).run(policy, drawn=[(0.0, market.job, market)])


def is_up(zone, at_s):
    return [stretch for stretch in zone.stretches if stretch.from_s <= at_s][-1].up


def check_rules(market, policy):
    job, on_demand = market.job, len(market.zones)
    run = carried_out(market, policy)
    figures, held = run.summary(), run.plan.stays
    assert figures["missed"] == 0, policy
    # the work is done once, apart from what is lost
    done_s = sum(max(0.0, stay.to_s - stay.from_s - job.overhead_s) for stay in held)
    lost_s = 3600 * figures["lost_h"]
    assert done_s == pytest.approx(job.work_s + lost_s, abs=1e-3), policy
    ends = sum(stay.end != "done" for stay in held)
    assert lost_s <= ends * (market.checkpoints.most_lost_s + 1e-3), policy
    # every second held is paid for, by its phase and by its place
    phases = [figures[f"{name}_usd"] for name in ("executing", "changeover", "wasted")]
    rents = [figures[f"{name}_usd"] for name in ("spot", "on_demand")]
    others = [figures[f"{name}_usd"] for name in ("transfer", "storage")]
    assert sum(phases) == pytest.approx(sum(rents), abs=1e-9), policy
    assert sum(rents) + sum(others) == pytest.approx(figures["cost_usd"], abs=1e-9), (
        policy
    )
    # none is cheaper than perfect information, up to the moments that it leaves early
    assert figures["cost_usd"] >= market.optimum.cost_usd - 1e-6, policy
    # one instance at a time; nothing after the end (thrifty)
    assert all(one.to_s <= other.from_s for one, other in pairwise(held)), policy
    assert [stay.end for stay in held].count("done") == 1
    assert held[-1].end == "done"
    for stay in held:
        place = market.places[stay.place]
        assert is_up(place, stay.from_s), policy
        if stay.place < on_demand and not place.kept:  # spot is there while it is held
            assert not any(
                stay.from_s < s.from_s < stay.to_s and not s.up for s in place.stretches
            )
            # exploitation; who knows the future may leave
            assert stay.end != "left" or policy == "optimum", policy
        else:
            assert stay.end != "taken", policy


@given(markets())
@settings(max_examples=60)
def test_the_rules_hold_for_every_policy(market):
    for policy in CALLED:
        check_rules(market, policy)


@pytest.mark.slow
@given(markets())
@settings(max_examples=600)
def test_the_rules_hold_in_thousands_of_runs(market):
    """Of 600 markets and 10 policies."""
    for policy in CALLED:
        check_rules(market, policy)


def test_without_the_factor_of_two_a_deadline_would_be_missed(monkeypatch):
    monkeypatch.setattr(
        view, "is_late", lambda view: view.slack_s <= 0.5 * view.job.overhead_s
    )
    job = Job(0, 1000.0, 1120.0, 100.0, 1.0, 3.0)
    taken = (Stretch(0.0, True), Stretch(99.0, False))
    zone = Zone("z", taken, Series.of("h", 60, [True, False]))
    assert carried_out(Market(job, (zone,)), "greedy").summary()["missed"] == 1
