"""What must hold of every policy of a job under a deadline, whatever the market does: no deadline
is missed, nothing is held that costs nothing, and all work is done.
"""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgrsp_simpy.logs.market import Series
from cgrsp_simpy.spot import expected
from cgrsp_simpy.spot.market import Job, Stretch, Zone
from cgrsp_simpy.spot.optimum import Market
from cgrsp_simpy.spot.policies import POLICIES
from cgrsp_simpy.spot.scenario import Scenario, stays

CALLED = [*POLICIES, "time-sliced:slices=1", "time-sliced:slices=37"]


@pytest.fixture(scope="module", autouse=True)
def a_coarse_program():
    """The rules hold for any grid of the policy of least expected cost."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expected, "STEPS", 30)
        yield
    expected._plan.cache_clear()


@st.composite
def markets(draw):
    """A job, and zones that may change at any second, so that instances are also taken during
    their changeover.
    """
    work_s, overhead_s = draw(st.integers(1, 5000)), draw(st.integers(1, 900))
    deadline_s = work_s + overhead_s + draw(st.integers(0, 4000))
    zones = []
    for number in range(draw(st.integers(1, 3))):
        lengths = draw(st.lists(st.integers(1, 1500), max_size=12))
        up, at_s = draw(st.booleans()), -draw(st.integers(0, 3000))
        stretches = [Stretch(float(at_s), up)]
        at_s = 0
        for length in lengths:
            at_s, up = at_s + length, not up
            if at_s < deadline_s:
                stretches.append(Stretch(float(at_s), up))
        history = Series.of("h", 60, draw(st.lists(st.booleans(), min_size=1, max_size=20)))
        zones.append(Zone(f"z{number}", tuple(stretches), history))
    k = draw(st.floats(1.01, 10))
    job = Job(0, float(work_s), float(deadline_s), float(overhead_s), 1.0, k)
    return Market(job, tuple(zones))


def carried_out(market, policy):
    scenario = Scenario(zones=len(market.zones))
    return scenario.run(policy, drawn=[(0.0, market.job, market)])


def is_up(zone, at_s):
    return [stretch for stretch in zone.stretches if stretch.from_s <= at_s][-1].up


@given(markets())
@settings(max_examples=100)
def test_the_rules_hold_for_every_policy(market):
    job, on_demand = market.job, len(market.zones)
    for policy in CALLED:
        run = carried_out(market, policy)
        figures, held = run.summary(), stays(run)
        assert figures["missed"] == 0, policy
        # the work is done, once
        done_s = sum(max(0.0, stay.to_s - stay.from_s - job.overhead_s) for stay in held)
        assert done_s == pytest.approx(job.work_s, abs=1e-3), policy
        # every second held is paid for, and by its phase
        split = [figures[f"{name}_usd"] for name in ("executing", "changeover", "wasted")]
        assert sum(split) == pytest.approx(figures["cost_usd"], abs=1e-9), policy
        # one instance at a time; nothing after the end (thrifty)
        assert all(one.to_s <= other.from_s for one, other in pairwise(held)), policy
        assert [stay.end for stay in held].count("done") == 1
        assert held[-1].end == "done"
        for stay in held:
            if stay.place < on_demand:  # spot is there while it is held
                zone = market.zones[stay.place]
                assert is_up(zone, stay.from_s), policy
                assert not any(
                    stay.from_s < s.from_s < stay.to_s and not s.up for s in zone.stretches
                )
                # exploitation; who knows the future may leave
                assert stay.end != "left" or policy == "optimum", policy
            else:
                assert stay.end != "taken", policy


def net_is_tight(policy):
    """The costliest market for the safety net: an instance is taken just before its changeover
    ends, when two overheads of slack are left.
    """
    d = 100.0
    job = Job(0, 1000.0, 1000.0 + 2 * d + 1.0, d, 1.0, 3.0)
    history = Series.of("h", 60, [True, False])
    taken = (Stretch(0.0, False), Stretch(0.5, True), Stretch(100.0, False), Stretch(101.0, True))
    return carried_out(Market(job, (Zone("z", taken, history),)), policy)


@pytest.mark.parametrize("policy", ["greedy", "uniform-progress", "expected-cost", "time-sliced"])
def test_taken_during_the_changeover_with_two_overheads_left(policy):
    assert net_is_tight(policy).summary()["missed"] == 0


def test_without_the_factor_of_two_a_deadline_would_be_missed(monkeypatch):
    import cgrsp_simpy.spot.view as rules

    monkeypatch.setattr(rules, "is_late", lambda view: view.slack_s <= 0.5 * view.job.overhead_s)
    job = Job(0, 1000.0, 1120.0, 100.0, 1.0, 3.0)
    taken = (Stretch(0.0, True), Stretch(99.0, False))
    zone = Zone("z", taken, Series.of("h", 60, [True, False]))
    assert carried_out(Market(job, (zone,)), "greedy").summary()["missed"] == 1
