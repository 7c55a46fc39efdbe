"""The compiled loop, run as plain Python, leaves the same runs as SimPy; this takes
seconds, compiling it minutes.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from rental.test_bulk import INDICES, OTHERS, POLICIES, RESERVED, differing, tied

from cgrsp_simpy.base.compiled import COMPILED
from cgrsp_simpy.rental import bulk
from cgrsp_simpy.rental.kernel import loop, rules
from cgrsp_simpy.studies.subject import subject_of

pytestmark = pytest.mark.skipif(COMPILED, reason="the loop is compiled")


class Fields:
    """A record of an array, its fields as attributes."""

    def __init__(self, record):
        self.__dict__["record"] = record

    def __getattr__(self, name):
        return self.record[name]

    def __setattr__(self, name, value):
        self.record[name] = value


def with_fields(value):
    """A tuple of arrays and records, their fields as attributes, as numba has them."""
    if isinstance(value, np.void):
        return Fields(value)
    if isinstance(value, np.ndarray) and value.dtype.names:
        return value.view(np.recarray)
    if hasattr(value, "_asdict"):
        return type(value)(*map(with_fields, value))
    return value


@pytest.fixture
def plain(monkeypatch):
    """Replaces what only numba can do."""
    called, advance = [None], loop.advance

    def cached(rule, *_):
        called.append(rule)
        return SimpleNamespace(address=len(called) - 1)

    def ask(address, figures, *others):
        called[address](figures[0].item(), *others)

    def advanced(*arguments):
        return advance(*map(with_fields, arguments))

    numba = SimpleNamespace(
        __version__="", carray=lambda values, _: values, njit=lambda rule: rule, cfunc=0
    )
    bulk.compiled_rule.cache_clear()
    for module, name, value in (
        *((bulk, "COMPILED", True), (bulk, "numba", numba), (bulk, "cached", cached)),
        *((bulk, "RULE", None), (bulk, "KEPT", None)),
        *((rules, "ask", ask), (loop, "advance", advanced)),
    ):
        monkeypatch.setattr(module, name, value, raising=False)
    yield
    bulk.compiled_rule.cache_clear()


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("policy", [*POLICIES, *INDICES, *RESERVED])
def test_what_happens_at_one_instant_happens_in_simpys_order(policy):
    cases = [tied(seed, seed % 3 == 0, seed) for seed in (2, 3)]
    assert differing(cases, [policy], range(1)) == []


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("name", OTHERS)
def test_other_scenarios_are_those_of_simpy(name):
    scenario = subject_of(OTHERS[name]).varied(jobs=40)
    policies = ["rh", "cadr"] + ["triage"] * (scenario.market.poll_s is None)
    assert differing([scenario], policies, range(1)) == []
