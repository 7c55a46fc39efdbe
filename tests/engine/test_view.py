"""Views: policies can read them, but not change anything."""

from collections.abc import Collection, Mapping
from random import Random

import pytest
import simpy
from engine.jobs import AT_ONCE, HECTIC, jobs
from support import check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.rental.job import Draws

# ---- visible state ----


def busy_view():
    """A view that a policy was shown in the middle of a run, with jobs waiting and
    slots busy.
    """
    views = []

    def policy(view):
        if view.waiting < 3:
            return zip(view.queue, view.idle)
        views.append(view)
        raise RuntimeError("seen enough")

    check_refused(
        lambda: cg.simulate(HECTIC, policy, seed=4), "seen enough", cg.PolicyError
    )
    return views[0]


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("queue", "deadline_s"),
        ("queue", "new"),
        ("slots", "expected_end_s"),
        ("idle", "gpu"),
        ("idle", "new"),
    ],
)
def test_the_jobs_and_slots_of_a_view_are_read_only(part, name):
    # a name that a frozen dataclass with slots lacks is a TypeError there
    with pytest.raises((AttributeError, TypeError)):
        setattr(getattr(busy_view(), part)[0], name, None)


def test_operator_knowledge_is_read_only():
    assert cg.cluster.View.gpus.__doc__ == ""  # not that of attrgetter
    with pytest.raises(AttributeError):
        busy_view().known.arrival_rate_per_s = 1.0


def test_a_list_of_offers_may_be_changed_by_the_policy():
    view = busy_view()
    view.offers().clear()
    assert view.offers() == list(view.idle) != []


def reachable(root):
    """All objects to which a path of public attributes and items leads."""
    result, todo = {}, [root]
    while todo:
        item = todo.pop()
        if id(item) in result or isinstance(item, (str, int, float, Random, type)):
            continue
        result[id(item)] = item
        todo += [
            getattr(item, name)
            for name in dir(item)
            if not name.startswith("_") and not callable(getattr(item, name))
        ]
        todo += item.values() if isinstance(item, Mapping) else ()
        todo += item if isinstance(item, Collection) else ()
    return list(result.values())


def test_no_path_from_a_view_leads_to_a_draw_or_into_the_simulation():
    result = reachable(busy_view())
    assert sum(isinstance(item, cg.Job) for item in result) >= 3
    assert not [
        item
        for item in result
        if isinstance(
            item, (Draws, simpy.Environment, simpy.Event, simpy.Resource, Simulation)
        )
    ]


@pytest.mark.parametrize("policy", ["random", "rh", "atc"])
def test_the_queue_of_a_view_merges_its_classes_in_order(policy):
    decide = cg.make_policy(policy)

    def checked(view):
        of_classes = {job for own in view.classes for job in own.jobs}
        assert list(view.queue) == sorted(of_classes, key=lambda job: job.id)
        assert (view.first(2), view.waiting) == ([*view.queue[:2]], len(view.queue))
        return decide(view)

    cg.simulate(HECTIC, checked, seed=4)


def test_the_status_shown_is_independent_of_the_one_that_a_dispatch_meets():
    shown = []

    def policy(view):
        shown.append(view.status(view.idle[0]))
        assert view.status(view.idle[0]) == shown[-1]  # within a decision it stays
        return zip(view.queue, view.idle)

    number = 400
    even = cg.GpuType("even", 0.25, (60,), 0.5)  # High or Medium, by one half each
    market = cg.Market(cg.Clock(((0, 1.0),)), delay_s=AT_ONCE)
    model = cg.Scenario(
        "even",
        cg.JobList(jobs(*range(0, 1000 * number, 1000))),
        (even,),
        (even,),
        market=market,
    )
    met = cg.simulate(model, policy, seed=4).jobs["status"]
    standard_error = (number / 4) ** 0.5
    assert len(shown) == number
    assert abs((met == shown).sum() - number / 2) < 4 * standard_error
    assert abs(number - number / 2) > 4 * standard_error  # were the draw itself shown
