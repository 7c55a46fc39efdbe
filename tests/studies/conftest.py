"""Fixtures of the tests of studies."""

import pytest

import cgrsp_simpy as cg


@pytest.fixture
def runs(monkeypatch):
    """The runs that are carried out: the slots of the scenario, the policy and the seed
    of each.
    """
    made, run = [], cg.Scenario.run

    def counted(scenario, policy, seed, **more):
        named = scenario.make_policy(policy)
        made.append(
            (len(scenario.slots), getattr(named, "name", type(named).__name__), seed)
        )
        return run(scenario, policy, seed, **more)

    monkeypatch.setattr(cg.Scenario, "run", counted)
    return made
