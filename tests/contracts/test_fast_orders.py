"""An order by tiers looks only at the fronts of the classes: it must be the order that
sorting the whole queue gives.
"""

from functools import partial
from itertools import product
from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import several, whole_queue

import cgrsp_simpy as cg
from cgrsp_simpy.rental.policies.rules import Tiers

QUICK = settings(max_examples=40)

TIERED = [
    name
    for name in cg.POLICIES
    if isinstance(getattr(cg.make_policy(name), "order", None), Tiers)
]
VARIANTS = [
    "spt-rescue:threshold_s=-50",
    "adaptive:pressure=2,wide_s=900",
    "rh:reserve=3,gate=100",
    "rh:gate=0",
    "cadr:critical_ratio=1",
]


def general(policy):
    """The same policy with the order computed by its definition."""
    made = cg.make_policy(policy)
    return cg.ListPolicy(
        partial(whole_queue, made.order), made.place, made.name, made.reserve
    )


def test_these_policies_have_an_order_by_tiers():
    assert TIERED == ["spt", "edf", "spt-rescue", "adaptive", "rh", "cadr", "cadr-oo"]


# ---- random queues, on times whose sums are exact ----

EXACT = (
    cg.GpuType("A", 0.5, (60, 70, 100), 0.5),
    cg.GpuType("B", 0.25, (50, 90, 95), 0.9),
    cg.GpuType("C", 1.0, (64, 64, 64), 0.7),
)
NOW_S = 10_000.0
SUBMIT_S = (0.0, 100.0, 9000.0, NOW_S)
# Seconds left to the deadline: around 0, the times, three times the times, 600 s and
# 28800 s after them.
LEFT_S = (
    *(-5000, -200, -1, 0, 1, 30),
    *range(49, 102, 3),
    *(50, 60, 70, 110, 150, 151, 180, 192, 210, 270, 285, 300, 301, 400),
)
LEFT_S += (
    649,
    650,
    651,
    660,
    664,
    670,
    690,
    700,
    701,
    950,
    3600,
    28799,
    28800,
    28850,
    28900,
)
JOBS = st.sampled_from(
    list(product(SUBMIT_S, LEFT_S, (1, 2, 3), (False, True), (1, 1, 1, 2, 3)))
)


@st.composite
def moments(draw, gangs=False):
    """Parts of a view: a scenario, its queue, the busy slots.

    gangs: with jobs of several GPUs.
    """
    slots = draw(st.lists(st.sampled_from(EXACT), min_size=1, max_size=7))
    load = cg.PoissonWorkload(100, draw(st.sampled_from([1e-4, 10.0])))
    scenario = cg.Scenario("moment", load, slots, EXACT, draw(st.booleans()))
    rows = sorted(
        draw(st.lists(JOBS, min_size=draw(st.sampled_from([0, 5, 15])), max_size=30))
    )
    queue = [
        cg.Job(
            id,
            submit_s,
            max(submit_s, NOW_S + left_s),
            complexity,
            tight,
            min(gpus, len(slots)) if gangs else 1,
        )
        for id, (submit_s, left_s, complexity, tight, gpus) in enumerate(rows)
    ]
    busy = draw(
        st.dictionaries(
            st.integers(1, len(slots)), st.sampled_from([-30.0, 0.0, 10.0, 90.0, 300.0])
        )
    )
    return (
        scenario,
        queue,
        {slot: NOW_S + left_s for slot, left_s in busy.items() if slot < len(slots)},
    )


any_moment = moments() | moments(gangs=True)


def view_of(moment):
    scenario, queue, busy = moment
    return scenario.moment(queue, NOW_S, busy)


def answer(policy, moment):
    """The assignments as numbers."""
    return [
        (job.id, tuple((slot.index, slot.gpu.name) for slot in several(slots)))
        for job, slots in policy(view_of(moment))
    ]


@pytest.mark.quick_cases(5)
@pytest.mark.parametrize("policy", TIERED + VARIANTS)
@QUICK
@given(moment=any_moment)
def test_fronts_of_classes_give_the_first_of_any_queue(policy, moment):
    view, order = view_of(moment), cg.make_policy(policy).order
    most = len(view.idle)
    assert order(view)[:most] == whole_queue(order, view)[:most]
    assert len(order(view)) >= min(most, view.waiting)
    assert answer(cg.make_policy(policy), moment) == answer(general(policy), moment)


# ---- the definitions, as the thesis words them ----


def spt(view, job, idle_s, all_s):
    # W-hat_j on the reference type
    return EXACT[0].mean_execution_s[job.complexity - 1]


def edf(view, job, idle_s, all_s):
    return 0


def spt_rescue(view, job, idle_s, all_s):
    laxity_s = job.deadline_s - view.now_s - idle_s  # Eq. 4.3
    return (0, 0) if laxity_s < 600 else (1, idle_s)


def adaptive(view, job, idle_s, all_s):
    laxity_s = job.deadline_s - view.now_s - idle_s
    theta_s = 28800 if len(view.queue) > 10 else 600
    return (2, 0) if laxity_s < 0 else (0, 0) if laxity_s < theta_s else (1, idle_s)


def rh(view, job, idle_s, all_s):
    ends = [
        slot.expected_end_s for slot in view.slots if slot.expected_end_s is not None
    ]
    free_s = max(view.now_s, min(ends)) if ends else view.now_s
    if view.now_s + all_s > job.deadline_s:
        return (3, 0)
    if job.tight and view.known.offered_load < 0.95 and len(view.slots) > 1:
        return (0, 0)
    return (1, 0) if free_s + all_s > job.deadline_s else (2, all_s)


def cadr(view, job, idle_s, all_s):
    ratio = (job.deadline_s - view.now_s) / idle_s  # Eq. 4.5
    return (2, 0) if ratio <= 1 else (0, 0) if ratio <= 3 else (1, idle_s)


DEFINITIONS = {
    "spt": spt,
    "edf": edf,
    "spt-rescue": spt_rescue,
    "adaptive": adaptive,
    "rh": rh,
    "cadr": cadr,
    "cadr-oo": cadr,
}


@pytest.mark.parametrize("policy", TIERED)
@QUICK
@given(moment=moments())
def test_orders_match_the_definitions(policy, moment):
    view = view_of(moment)
    idle = EXACT if view.known.free_types else {slot.gpu for slot in view.idle}
    every = EXACT if view.known.free_types else {slot.gpu for slot in view.slots}

    def key(job):
        idle_s, all_s = (
            min(gpu.mean_execution_s[job.complexity - 1] for gpu in gpus)
            for gpus in (idle, every)
        )
        return DEFINITIONS[policy](view, job, idle_s, all_s), job.deadline_s, job.id

    assert whole_queue(cg.make_policy(policy).order, view) == sorted(
        view.queue, key=key
    )


# ---- orders by an index: the whole queue by its definition ----


def c_mu(slack_s, e, mean_s):
    return 11 / e if slack_s < 0 else 1 / e


def atc(slack_s, e, mean_s):
    return exp(-max(0, slack_s) / (2 * mean_s)) / e  # Vepsalainen and Morton 1987


def covert(slack_s, e, mean_s):
    return max(0, 1 - max(0, slack_s) / (2 * mean_s)) / e  # Carroll 1965


INDICES = {"c-mu": c_mu, "atc": atc, "covert": covert}


def by_index(policy):
    """All waiting jobs, the greatest index first; equal ones by deadline, then by
    submission.
    """

    def order(view):
        idle = {slot.gpu for slot in view.idle}
        gpus = view.known.gpus if view.known.free_types else idle
        mix = view.known.complexity_mix
        estimates = [
            min(gpu.mean_execution_s[level] for gpu in gpus) for level in range(3)
        ]
        mean_s = sum(share * e for share, e in zip(mix, estimates))

        def key(job):
            e = estimates[job.complexity - 1]
            index = INDICES[policy](job.deadline_s - view.now_s - e, e, mean_s)
            return -index, job.deadline_s, job.id

        return sorted(view.queue, key=key)

    return order


@pytest.mark.parametrize("policy", INDICES)
@QUICK
@given(moment=any_moment)
def test_orders_by_an_index_equal_a_scan_of_the_queue(policy, moment):
    view = view_of(moment)
    assert list(cg.make_policy(policy).order(view)) == by_index(policy)(view)
    scanned = cg.ListPolicy(by_index(policy), cg.make_policy(policy).place, policy)
    assert answer(cg.make_policy(policy), moment) == answer(scanned, moment)
