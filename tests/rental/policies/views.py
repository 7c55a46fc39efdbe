"""Views written by hand, and the assignments of policies on them."""

from dataclasses import replace

import pytest

import cgrsp_simpy as cg

# Stock that is certain: beta_g = 1 is always shown High, 1e-9 Medium, 0 Low.
HIGH, MEDIUM, LOW = 1.0, 1e-9, 0.0
CERTAIN = cg.Market(
    cg.Clock(((0, 1.0),)), high_cap=1.0, medium_factor=1e9, medium_cap=1.0
)


def gpu(name, price=1.0, times=60.0, stock=HIGH):
    """A type; times: for complexity 1, 2 and 3, or one for all."""
    return cg.GpuType(
        name, price, times if isinstance(times, tuple) else (times,) * 3, stock
    )


def scenario_of(*slots, gpus=None, free_types=False, rate_per_s=100.0):
    """Slots of these types; at the usual rate the load is far above any gate."""
    gpus = tuple(dict.fromkeys(slots)) if gpus is None else gpus
    return cg.Scenario(
        "by hand", cg.PoissonWorkload(100, rate_per_s), slots, gpus, free_types, CERTAIN
    )


def stocked(gpu, stock):
    """The same type, with another stock."""
    return replace(gpu, high_stock_probability=stock)


def queue_of(*jobs):
    """Jobs from (deadline, complexity, tight), each shortened from the right; all
    submitted at 0.
    """
    return [cg.Job(id, 0.0, *job) for id, job in enumerate(jobs)]


def decide(policy, view):
    """The answer as pairs (job id, slot index)."""
    return [(job.id, slot.index) for job, slot in cg.make_policy(policy)(view)]


def order(policy, *jobs, now_s=0.0, slot=None, **view):
    """The ids in the order in which a policy takes jobs, on as many equal slots."""
    slots = [slot or gpu("only", times=(60.0, 70.0, 100.0))] * len(jobs)
    return [
        id
        for id, _ in decide(
            policy, scenario_of(*slots).moment(queue_of(*jobs), now_s, **view)
        )
    ]


def slot_for(policy, slots, deadline_s=28800.0, complexity=1, now_s=0.0, **scenario):
    """The slot to which a policy sends a single job."""
    [(_, slot)] = decide(
        policy,
        scenario_of(*slots, **scenario).moment(
            [cg.Job(0, 0.0, deadline_s, complexity)], now_s
        ),
    )
    return slot


every_policy_but_random = pytest.mark.parametrize(
    "policy", [name for name in cg.POLICIES if name != "random"]
)
