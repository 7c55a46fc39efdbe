"""In every module, a job requests its granted resources from SimPy."""

from collections import Counter
from dataclasses import replace

import pytest
import simpy
from engine.bench import Shop
from simpy.resources.container import ContainerGet
from simpy.resources.resource import Request
from support import check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.hgsp.generate import LEVELS
from cgrsp_simpy.studies.subject import subject_of

LEVEL = vars(LEVELS["tasks1"]) | {"tasks": 30}
SCENARIOS = {
    "rental": (cg.day("normal", jobs=30), "edf"),
    "warm": (
        replace(cg.day("surge", jobs=40), terms=cg.Terms(warm_s=120.0, retry_s=60.0)),
        "edf",
    ),
    "waiting": (
        cg.waiting.Scenario(cg.waiting.ExponentialJobs(400, 0.02, 500.0), machines=8),
        "ajw-t",
    ),
    "hgsp": (cg.hgsp.Scenario(cg.hgsp.Level(**LEVEL)), "atc"),
    "llm": (
        cg.llm.Scenario(cg.llm.Offered(30, rate_per_s=9.0), cg.llm.Service(gpus=4)),
        "fifo",
    ),
    "cluster": (
        cg.cluster.Scenario(cg.cluster.Offered(jobs=30, warm_up=0, after=0)),
        "easy",
    ),
    "dag": (cg.dag.Scenario("er:n=20", cg.dag.Servers(3)), "heft"),
    "spot": (cg.spot.Scenario(hours=8.0, deadline=10.0), "greedy"),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_job_requests_each_of_its_resources_once(name, monkeypatch):
    made = Counter()

    def counted(kind):
        init = kind.__init__

        def count(self, resource, *arguments):
            made[resource] += 1
            init(self, resource, *arguments)

        monkeypatch.setattr(kind, "__init__", count)

    counted(Request)
    counted(ContainerGet)
    scenario, policy = SCENARIOS[name]
    simulation = subject_of(scenario).simulation(
        subject_of(scenario).make_policy(policy), 3
    )
    run = simulation.finish()
    assert all(isinstance(place, simpy.resources.base.BaseResource) for place in made)
    started = Counter()
    executing = run.claims[run.claims["phase"] == "executing"]
    started.update(simulation.resources[number] for number in executing["resource"])
    assert made == started and sum(made.values()) > 0
    for place in simulation.resources:
        assert not place.users and not place.put_queue and not place.get_queue
        assert isinstance(place, simpy.Resource) or place.level == place.size


@pytest.mark.parametrize(
    ("call", "resources"),
    [
        ("request", cg.slots(2)),
        ("request", cg.pools([2.0], "slot")),
        ("get", cg.pools([2.0], "slot")),
    ],
)
def test_a_resource_that_was_not_granted_cannot_be_requested(call, resources):
    def job_process(run, job):
        arguments = () if isinstance(run.resources[0], simpy.Resource) else (1.0,)
        yield getattr(run.resources[0], call)(*arguments)
        yield run.timeout(1.0)

    check_refused(
        lambda: cg.simulate(Shop(job_process, [0.0] * 5, resources), "first"),
        ["slot 0 is requested without a grant"],
    )


def releases_after_the_block(run, job):
    with run.claim(job, request=False) as claim:
        yield claim
        with claim.request() as turn:
            yield turn
            yield run.timeout(10.0)
        assert turn not in turn.resource.users
        turn.resource.release(turn)


def releases_after_the_claim(run, job):
    with run.claim(job, request=False) as claim:
        yield claim
        turn = claim.request()
        yield turn
        yield run.timeout(10.0)
    turn.resource.release(turn)


RESOURCES = {"slots": cg.slots(2), "pool": cg.pools([2.0])}


@pytest.mark.parametrize("resources", RESOURCES.values(), ids=RESOURCES)
@pytest.mark.parametrize(
    "job_process", [releases_after_the_block, releases_after_the_claim]
)
def test_a_second_release_has_no_effect_as_in_simpy(job_process, resources):
    simulation = Simulation(Shop(job_process, [0.0] * 5, resources), cg.first_come)
    assert simulation.finish().jobs["finish_s"].tolist() == [10, 10, 20, 20, 30]
    for place in simulation.resources:
        assert not place.users
        assert isinstance(place, simpy.Resource) or place.level == place.size
