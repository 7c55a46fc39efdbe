"""Fixtures of the tests of studies."""

import pytest

from cgrsp_simpy.studies.subject import Subject


@pytest.fixture
def runs(monkeypatch):
    """The runs that are carried out: the slots of the scenario, the policy and the seed
    of each.
    """
    made, run = [], Subject.run

    def counted(subject, policy, seed, **more):
        named = subject.make_policy(policy)
        made.append(
            (
                len(subject.model.slots),
                getattr(named, "name", type(named).__name__),
                seed,
            )
        )
        return run(subject, policy, seed, **more)

    monkeypatch.setattr(Subject, "run", counted)
    return made
