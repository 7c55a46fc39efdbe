"""No policy can change a run by what it does to its view, in any module."""

from contextlib import suppress

import pytest

import cgrsp_simpy as cg

CASES = {  # a scenario, and a policy by name
    "cluster, easy": lambda: (cg.cluster.Scenario(cg.cluster.Offered(jobs=80, load=1.2)), "easy"),
    "cluster, sbs": lambda: (cg.cluster.Scenario(cg.cluster.Offered(jobs=80, load=1.2)), "sbs"),
    "cluster, conservative": lambda: (
        cg.cluster.Scenario(cg.cluster.Offered(cg.cluster.Mix(overestimate=2), 80, 1.2)),
        "conservative",
    ),
}
CHANGES = (
    *("pop append clear sort reverse update popitem add extend insert remove".split()),
    *("__setitem__ __delitem__ __iadd__ __ior__ resize fill".split()),
)


def attacks(view, name):
    """What can be tried on a public attribute that is no method."""
    value = getattr(view, name)
    if callable(value):
        return
    for new in (None, 0, []):
        yield lambda new=new: setattr(view, name, new)
    yield lambda: delattr(view, name)
    for item in (value, *(value if isinstance(value, tuple) else ())):
        keys = [0, slice(None), *list(item)[:1]] if hasattr(item, "__iter__") else []
        for change in [getattr(item, name) for name in CHANGES if hasattr(item, name)]:
            yield change
            for given in ([None], 0, {}, *keys):
                yield lambda change=change, given=given: change(given)
                yield lambda change=change, given=given: change(given, 0)
        for own in [each for each in dir(item) if not each.startswith("_")]:
            yield lambda item=item, own=own: setattr(item, own, 0)


class Hostile:
    """A policy that attacks its view before it answers, and after each item."""

    def __init__(self, policy):
        self.policy, self.tried = policy, set()
        self.asks_on_arrival = getattr(policy, "asks_on_arrival", False)

    def attack(self, view):
        for name in [each for each in dir(view) if not each.startswith("_")]:
            for attack in attacks(view, name):
                with suppress(Exception):
                    attack()
                self.tried.add(name)

    def __call__(self, view):
        self.attack(view)
        for item in self.policy(view) or ():
            yield item
            self.attack(view)

    def __deepcopy__(self, _):
        return self  # so that the test sees what it tried


@pytest.mark.parametrize("case", CASES)
def test_what_a_policy_does_to_its_view_changes_nothing(case):
    scenario, name = CASES[case]()
    plain = cg.simulate(scenario, name, 1)
    hostile = Hostile(scenario.make_policy(name))
    attacked = cg.simulate(scenario, hostile, 1)
    assert len(hostile.tried) > 3
    assert str(attacked.jobs.tolist()) == str(plain.jobs.tolist())  # NaN counted as itself
    assert attacked.claims.tolist() == plain.claims.tolist()
