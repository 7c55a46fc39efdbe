"""Rules in common: free types, orders and placements put together, jobs of several GPUs."""

import pytest
from rental.policies.views import decide, every_policy_but_random, gpu, queue_of, scenario_of

import cgrsp_simpy as cg
from cgrsp_simpy.rental.policies.rules import by_deadline, cheapest, fastest

# ---- free choice of type ----


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [
        ("fifo", "A"),
        ("spt", "cheap"),
        ("edf", "fast"),
        ("lcf", "cheap"),
        ("balanced", "fast"),
        ("rh", "cheap"),
        ("cadr", "cheap"),
    ],
)
def test_with_free_types_an_idle_slot_is_offered_as_every_type(policy, chosen):
    types = (gpu("A", 2.0, 80.0), gpu("fast", 2.0, 60.0), gpu("cheap", 1.0, 70.0))
    view = scenario_of(types[0], types[0], gpus=types, free_types=True).moment(
        queue_of((28800,)), busy={0: 10.0}
    )
    [(_, slot)] = cg.make_policy(policy)(view)
    assert (slot.index, slot.gpu.name) == (1, chosen)


def test_with_free_types_estimates_are_over_all_types():
    types = (gpu("A", 1.0, (100.0, 100.0, 100.0)), gpu("fast", 1.0, (50.0, 60.0, 70.0)))
    scenario = scenario_of(types[0], types[0], gpus=types, free_types=True)
    urgent = scenario.moment(queue_of((9000, 1), (669, 3)))  # L = 669 - 70 = 599 s
    normal = scenario.moment(queue_of((9000, 1), (670, 3)))
    assert [job.id for job, _ in cg.make_policy("spt-rescue")(urgent)] == [1, 0]
    assert [job.id for job, _ in cg.make_policy("spt-rescue")(normal)] == [0, 1]


# ---- pairs of rules ----


def test_any_order_and_placement_make_a_policy():
    policy = cg.ListPolicy(by_deadline, cheapest)
    slots = [gpu("fast", 2.0, 60.0), gpu("cheap", 1.0, 70.0)]
    view = scenario_of(*slots).moment(queue_of((200,), (100,)))
    assert decide(policy, view) == [(1, 1), (0, 0)]
    assert decide(cg.ListPolicy(by_deadline, fastest), view) == [(1, 0), (0, 1)]


@every_policy_but_random
def test_a_job_of_several_gpus_gets_as_many_slots_and_is_not_overtaken(policy):
    queue = [cg.Job(0, 0.0, 100.0, gpus=2), cg.Job(1, 0.0, 100.0, gpus=2), cg.Job(2, 0.0, 100.0)]
    answer = cg.make_policy(policy)(scenario_of(*[gpu("A")] * 3).moment(queue))
    assert [(job.id, [slot.index for slot in slots]) for job, slots in answer] == [(0, [0, 1])]
