"""No policy can change a run by what it does to its view, in any module."""

from contextlib import suppress

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.waiting.orders import first_come, shortest_first

HALF = cg.waiting.Size("half", 4, 16.0, 0.0)


def waiting(order, machines, name="compound"):
    """Jobs of one to four cores, of which some wait; and the order in which these are served."""
    rng = np.random.default_rng(1)
    times_s = np.cumsum(rng.integers(0, 20, 200)), rng.integers(0, 90, 200)
    jobs = cg.waiting.ListedJobs(*times_s, rng.integers(1, 5, 200), rng.integers(0, 5, 200))
    return cg.waiting.Scenario(jobs, cg.waiting.waiting_policy(name, 40, 20), machines), order


CASES = {  # a scenario, and a policy of it that is a function of a view
    "waiting, fcfs": lambda: waiting(first_come, 3),
    "waiting, sjf": lambda: waiting(shortest_first, 3, "ajw-t"),
    "waiting, shared": lambda: waiting(shortest_first, (HALF, HALF), "ajw"),
}


def attacks(view, name):
    """What can be tried on a public attribute that is no method."""
    value = getattr(view, name)
    if callable(value):
        return
    yield lambda: setattr(view, name, None)
    yield lambda: delattr(view, name)
    for change in ("pop", "append", "clear", "sort", "reverse", "update", "popitem", "add"):
        method = getattr(value, change, None)
        yield lambda method=method: method()
        yield lambda method=method: method(next(iter(value)))
        yield lambda method=method: method(key=lambda item: -hash(item))
    yield lambda: value.__setitem__(0, None)
    yield lambda: value.__setitem__(next(iter(value)), None)
    yield lambda: value.__setitem__(slice(None), 0)
    yield lambda: value.__delitem__(0)
    yield lambda: value.__iadd__([None])
    for item in list(value)[:3] if hasattr(value, "__iter__") else [value]:
        for own in [each for each in dir(item) if not each.startswith("_")]:
            yield lambda item=item, own=own: setattr(item, own, 0)


@pytest.mark.parametrize("case", CASES)
def test_what_a_policy_does_to_its_view_changes_nothing(case):
    scenario, policy = CASES[case]()
    tried = []

    def hostile(view):
        for name in [each for each in dir(view) if not each.startswith("_")]:
            for attack in attacks(view, name):
                with suppress(Exception):
                    attack()
                tried.append(name)
        return policy(view)

    plain, attacked = (cg.simulate(scenario, each, 1) for each in (policy, hostile))
    assert len(set(tried)) > 3
    assert str(attacked.jobs.tolist()) == str(plain.jobs.tolist())  # NaN counted as itself
    assert attacked.claims.tolist() == plain.claims.tolist()
