"""Small markets whose whole course is known."""

import pytest

from cgrsp_simpy.market.series import Series
from cgrsp_simpy.market.zones import Stretch, Zone
from cgrsp_simpy.spot import expected
from cgrsp_simpy.spot.job import Job
from cgrsp_simpy.spot.optimum import Market
from cgrsp_simpy.spot.scenario import Scenario
from cgrsp_simpy.studies.subject import subject_of


@pytest.fixture(scope="module", autouse=True)
def a_coarse_program():
    """What is tested holds for any grid of the policy of least expected cost."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expected, "STEPS", 30)
        yield


HISTORY = Series.of("seen", 600, [True, False] * 10)


def zone(*stretches, name="a"):
    return Zone(
        name, tuple(Stretch(float(from_s), up) for from_s, up in stretches), HISTORY
    )


def carried_out(
    policy, zones, work=1000.0, deadline=1600.0, overhead=50.0, listener=None, **market
):
    job = Job(0, work, deadline, overhead, 1.0, 3.0)
    drawn = [(0.0, job, Market(job, tuple(zones), **market))]
    return subject_of(Scenario(zones=len(zones))).run(
        policy, drawn=drawn, listener=listener
    )


def course(policy, zones, **more):
    return [tuple(stay) for stay in carried_out(policy, zones, **more).plan.stays]


DOWN_UP_DOWN = zone((0, False), (200, True), (500, False))
