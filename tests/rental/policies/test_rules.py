"""Rules in common: free types, orders and placements put together, jobs of several
GPUs.
"""

from math import exp

import numpy as np
import pytest
from rental.policies.views import (
    decide,
    every_policy_but_random,
    gpu,
    scenario_of,
)

import cgrsp_simpy as cg
from cgrsp_simpy.rental.policies.classic import atc
from cgrsp_simpy.rental.policies.rules import (
    by_atc,
    by_deadline,
    fastest,
    withheld,
)

# ---- pairs of rules ----


@every_policy_but_random
def test_a_job_of_several_gpus_gets_as_many_slots_and_is_not_overtaken(policy):
    queue = [
        cg.Job(0, 0.0, 100.0, gpus=2),
        cg.Job(1, 0.0, 100.0, gpus=2),
        cg.Job(2, 0.0, 100.0),
    ]
    answer = cg.make_policy(policy)(scenario_of(*[gpu("A")] * 3).moment(queue))
    assert [(job.id, [slot.index for slot in slots]) for job, slots in answer] == [
        (0, [0, 1])
    ]


@withheld
def one_slot():
    return 1


@pytest.mark.parametrize(("order", "gpus"), [(by_deadline, 2), (by_atc, 1)])
def test_a_reserved_slot_goes_to_a_tight_job_before_earlier_jobs(order, gpus):
    policy = cg.ListPolicy(order, fastest, "own", one_slot)
    loose = [cg.Job(id, 0.0, 100.0, gpus=gpus) for id in range(4)]
    tight = cg.Job(4, 0.0, 900.0, tight=True)
    moment = scenario_of(*[gpu("A")] * 2).moment([*loose, tight], busy={0: 50.0})
    assert decide(policy, moment) == [(4, 1)]


@pytest.mark.parametrize("seed", range(3))
def test_an_index_is_multiplied_by_the_weight_of_each_job(seed):
    """Against all waiting jobs one by one: of a class of several weights the heaviest
    may be due last.
    """
    rng, (look_ahead, now_s) = np.random.default_rng(seed), (2.0, 50.0)
    jobs = [
        cg.Job(n, 0.0, float(due_s), int(level), bool(tight), weight=float(weight))
        for n, (due_s, level, tight, weight) in enumerate(
            zip(
                rng.integers(60, 900, 30),
                rng.integers(1, 4, 30),
                rng.integers(0, 2, 30),
                rng.choice([0.0, 0.3, 1.0, 5.0], 30),
            )
        )
    ]
    view = scenario_of(*[gpu("A")] * 9).moment(jobs, now_s)
    e_s = view.fastest_s()
    mean_s = sum(share * e for share, e in zip(view.known.complexity_mix, e_s))

    def rank(job):
        e = e_s[job.complexity - 1]
        slack_s = max(0.0, job.deadline_s - now_s - e)
        index = exp(-slack_s / (look_ahead * mean_s)) / e  # Vepsalainen and Morton 1987
        return -job.weight * index, job.deadline_s, job.id

    expected = [job.id for job in sorted(jobs, key=rank)][:9]
    assert [job.id for job, _ in atc(look_ahead)(view)] == expected
