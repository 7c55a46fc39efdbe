"""A policy cannot change the run through its view: whatever it writes to, takes out of,
sorts or clears, the run is the same.
"""

from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from contracts.test_timelines import first_room

import cgrsp_simpy as cg
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.waiting.policies import first_come, shortest_first, waiting_policy

HALF = cg.waiting.Size("half", 4, 16.0, 0.0)
LEVEL = cg.hgsp.Level(12, "small", 3.0, (1.0, 2.0))


def waiting(order, machines, name="compound"):
    """Jobs of one to four cores, some of them waiting, and the order in which they are
    served.
    """
    rng = np.random.default_rng(1)
    times_s = np.cumsum(rng.integers(0, 20, 200)), rng.integers(0, 90, 200)
    jobs = cg.waiting.ListedJobs(
        *times_s, rng.integers(1, 5, 200), rng.integers(0, 5, 200)
    )
    return cg.waiting.Scenario(jobs, waiting_policy(name, 40, 20), machines), order


def graph(policy):
    """Nodes, some of them waiting for a GPU."""
    servers = cg.dag.Servers(3, memory_gb=5.0, inter_gb_per_s=1.0)
    return cg.dag.Scenario("er:n=40,degree=2", servers), policy


FEW = cg.cluster.Offered(jobs=80, load=1.2, warm_up=0, after=0)
CASES = {  # scenario, and a policy that is asked with jobs waiting and running
    "hgsp": lambda: (
        cg.hgsp.Scenario(LEVEL, noise=0.3, delay_s=2.0),
        "atc:online=true",
    ),
    "hgsp, plan": lambda: (cg.hgsp.Scenario(LEVEL), "greedy"),
    "hgsp, again": lambda: (cg.hgsp.Scenario(LEVEL), "fifo:replan_s=20"),
    "cluster, easy": lambda: (cg.cluster.Scenario(FEW), "easy"),
    "cluster, sbs": lambda: (cg.cluster.Scenario(FEW), "sbs"),
    "cluster, conservative": lambda: (
        cg.cluster.Scenario(replace(FEW, mix=cg.cluster.Mix(overestimate=2))),
        "conservative",
    ),
    "rental": lambda: (cg.day("hectic", jobs=120), "rh"),
    "rental, free types": lambda: (cg.day("surge", jobs=80, free_types=True), "cadr"),
    "rental, warm": lambda: (
        cg.day("hectic", jobs=80, terms=cg.Terms(warm_s=120)),
        "triage",
    ),
    "waiting, fcfs": lambda: waiting(first_come, 3),
    "waiting, sjf": lambda: waiting(shortest_first, 3, "ajw-t"),
    "waiting, shared": lambda: waiting(shortest_first, (HALF, HALF), "ajw"),
    "llm": lambda: (cg.llm.Scenario(cg.llm.Offered(60, rate_per_s=20.0)), "wsrpt"),
    "llm, whole prompts": lambda: (
        cg.llm.Scenario(cg.llm.Offered(60, 20.0), cg.llm.Service(2, whole=True)),
        "fifo",
    ),
    "spot": lambda: (
        cg.spot.Scenario(hours=8.0, deadline=10.0, zones=2),
        "uniform-progress",
    ),
    "spot, oracle": lambda: (cg.spot.Scenario(hours=8.0, deadline=10.0), "next-spot"),
}
CASES |= {
    f"dag, {policy_name(policy)}": partial(graph, policy)
    for policy in ("heft", first_room)
}
CHANGES = (
    lambda value: value.pop(),
    lambda value: value.pop(next(iter(value))),
    lambda value: value.popitem(),
    lambda value: value.append(None),
    lambda value: value.sort(key=id),
    lambda value: value.reverse(),
    lambda value: value.update({None: None}),
    lambda value: value.__setitem__(0, None),
    lambda value: value.__delitem__(0),
    lambda value: value.__setitem__(slice(None), 0),
    lambda value: value.__iadd__([None]),
    lambda value: value.clear(),
)


class Meddling:
    """A policy that tries to change everything in its view, before and during its
    decision.
    """

    def __init__(self, policy):
        self.policy, self.name = policy, policy_name(policy)
        self.asks_on_arrival = getattr(policy, "asks_on_arrival", False)
        self.tried = set()

    def __call__(self, view):
        self.meddle(view)
        for item in self.policy(view) or ():
            yield item
            self.meddle(view)

    def meddle(self, view):
        for name in dir(view):
            if name.startswith("_"):
                continue
            value = getattr(view, name, None)  # None: of the last release
            if callable(value):
                continue
            self.tried.add(name)
            for inner in (value, *(value if isinstance(value, tuple) else ())):
                for change in CHANGES:
                    with suppress(Exception):
                        change(inner)
            for new in (None, 0, [], {}):
                with suppress(Exception):
                    setattr(view, name, new)


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize(
    "case", [pytest.param(make, id=name) for name, make in CASES.items()]
)
def test_a_policy_cannot_change_the_run_through_its_view(case):
    scenario, named = case()
    plain = subject_of(scenario).simulation(subject_of(scenario).make_policy(named), 3)
    meddled = subject_of(scenario).simulation(
        subject_of(scenario).make_policy(named), 3
    )
    meddled.dispatcher.caller.policy = meddling = Meddling(meddled.policy)
    runs = []
    for simulation in (plain, meddled):
        while simulation.advance():
            pass
        runs.append(simulation.close())
    one, other = runs
    assert len(meddling.tried) > 3
    assert str(other.jobs.tolist()) == str(one.jobs.tolist())  # NaN counted as itself
    assert other.claims.tolist() == one.claims.tolist()
    assert str(other.summary()) == str(one.summary())
