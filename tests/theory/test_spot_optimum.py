"""The omniscient optimum against a search through every course on a grid twice as fine, and
against what can be seen at a glance.
"""

from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cgrsp_simpy.logs.market import Series
from cgrsp_simpy.spot import expected
from cgrsp_simpy.spot.market import Job, Stretch, Zone
from cgrsp_simpy.spot.optimum import Market, optimum
from cgrsp_simpy.spot.policies import POLICIES
from cgrsp_simpy.spot.scenario import Scenario

STEP_S = 60
HISTORY = Series.of("seen", STEP_S, [True, False, True, True])


@pytest.fixture(scope="module", autouse=True)
def a_coarse_program():
    """What is tested holds for any grid of the policy of least expected cost."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expected, "STEPS", 30)
        yield
    expected._plan.cache_clear()


def zone(status, name="a"):
    """A zone with a status in each step from the start on."""
    changes = [0, *(k for k in range(1, len(status)) if status[k] != status[k - 1])]
    stretches = tuple(Stretch(float(k * STEP_S), bool(status[k])) for k in changes)
    return Zone(name, stretches, HISTORY)


def terms(work, deadline, overhead, k=3.0):
    return Job(0, *(float(each * STEP_S) for each in (work, deadline, overhead)), 1.0, k)


def run_on(market, policy):
    scenario = Scenario(zones=len(market.zones))
    return scenario.run(policy, drawn=[(0.0, market.job, market)])


def searched_usd(job, statuses, finer=2):
    """The least cost over every course in steps of STEP_S / finer: at each step the job is idle,
    or has an instance, kept or begun anew.
    """
    step_s = STEP_S / finer
    work, deadline, overhead = (
        round(each / step_s) for each in (job.work_s, job.deadline_s, job.overhead_s)
    )
    prices = [job.spot_usd_per_h] * len(statuses) + [job.on_demand_usd_per_h]

    @cache
    def least(time, place, begun, left):
        """place: None or one; begun: steps of its changeover that are done."""
        if left == 0:
            return 0.0
        if time == deadline:
            return float("inf")
        best = least(time + 1, None, 0, left)
        for other, price in enumerate(prices):
            if other < len(statuses) and not statuses[other][time // finer]:
                continue
            for so_far in (begun, 0) if other == place else (0,):
                changing = so_far < overhead
                then = least(time + 1, other, min(so_far + 1, overhead), left - (not changing))
                best = min(best, price * step_s / 3600 + then)
        return best

    return least(0, None, 0, work)


@st.composite
def cases(draw):
    work, overhead = draw(st.integers(1, 7)), draw(st.integers(1, 2))
    deadline = work + overhead + draw(st.integers(0, 6))
    status = st.lists(st.booleans(), min_size=deadline, max_size=deadline)
    statuses = draw(st.lists(status, min_size=1, max_size=2))
    return terms(work, deadline, overhead, draw(st.sampled_from([1.2, 2.0, 3.0]))), statuses


@given(cases())
@settings(max_examples=100)
# on demand comes first, and ends within a cell, since spot is needed to the very end
@example((terms(6, 9, 1), [[0, 0, 0, 0, 1, 1, 1, 1, 1]]))
def test_the_optimum_is_what_a_search_finds(case):
    job, statuses = case
    zones = tuple(zone(status, str(number)) for number, status in enumerate(statuses))
    found = optimum(job, zones)
    assert found.cost_usd == pytest.approx(searched_usd(job, statuses), abs=1e-9)
    figures = run_on(Market(job, zones), "optimum").summary()
    assert figures["cost_usd"] == pytest.approx(found.cost_usd, abs=1e-9)
    assert not figures["missed"]


@pytest.mark.parametrize(
    ("status", "work", "deadline", "overhead", "usd_in_steps"),
    [
        ([1] * 9, 6, 9, 1, 7),  # spot from start to end
        ([0] * 9, 6, 9, 1, 3 * 7),  # on demand
        ([0, 0, 0, 1, 1, 1, 1, 1, 1], 5, 9, 1, 6),  # waits
        ([0, 0, 1, 1, 1, 0, 0, 0, 0], 4, 9, 1, 3 + 3 * 3),  # two steps on spot, two on demand
        ([0, 0, 1, 0, 0, 0, 0, 0, 0], 4, 9, 1, 3 * 5),  # an instance too short is no use
        ([1, 1, 1, 0, 1, 1, 1, 1, 1], 6, 9, 1, 3 + 5),  # taken once
    ],
)
def test_the_optimum_where_it_can_be_seen_at_a_glance(
    status, work, deadline, overhead, usd_in_steps
):
    found = optimum(terms(work, deadline, overhead), (zone(status),))
    assert found.cost_usd == pytest.approx(usd_in_steps * STEP_S / 3600)


@given(cases())
@settings(max_examples=60)
def test_no_policy_is_cheaper(case):
    job, statuses = case
    market = Market(job, tuple(zone(status, str(n)) for n, status in enumerate(statuses)))
    for name in POLICIES:
        figures = run_on(market, name).summary()
        assert figures["cost_usd"] >= market.optimum.cost_usd - 1e-9, name
