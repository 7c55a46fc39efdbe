"""Views and allowed answers of a policy of a job on spot instances."""

from dataclasses import replace

from spot.cases import DOWN_UP_DOWN, carried_out, zone
from support import refusals

import cgrsp_simpy as cg
from cgrsp_simpy.market.zones import Price


def test_a_view_does_not_reveal_the_future():
    seen, on = [], []

    def watching(view):
        seen.append((view.now_s, *view.zones[0][1:3], view.left_s, view.slack_s))
        on.append((view.on, view.on_spot, view.up))
        if view.on is None:
            yield view.job, view.on_demand

    # the second zone is as expensive as on demand
    carried_out(
        watching, [DOWN_UP_DOWN, replace(DOWN_UP_DOWN, prices=(Price(0.0, 3.0),))]
    )
    assert [each[:3] for each in seen] == [
        (0.0, False, 0.0),
        (0.0, False, 0.0),
        (200.0, True, 200.0),
        (500.0, False, 500.0),
    ]
    assert seen[2][3:] == (1000.0 - 150.0, 1600.0 - 200.0 - 850.0)
    assert on[2] == (2, False, (0,))


def to_and_fro(view):
    return [(view.job, view.on_demand if view.on is None else None)]


test_an_answer_that_cannot_be_carried_out_is_an_error = refusals(
    *(
        (lambda view, answer=answer: [(view.job, answer)], words)
        for answer, words in (
            (0, "zone 0, where there is no spot instance now"),
            (5, "5, which is neither"),
            ("spot", "'spot', which is neither"),
            (None, "no instance; that would not move the job"),
        )
    ),
    (to_and_fro, "second move at the same time"),
    (lambda view: [], "1 job waiting"),
    (
        lambda view: [(view.job, 1)] * (view.now_s > 100),
        "on demand, where there is no instance available now",
    ),
    call=lambda policy: carried_out(
        policy, [DOWN_UP_DOWN], on_demand=zone((0, True), (100, False))
    ),
    error=cg.PolicyError,
)


def test_a_policy_that_ignores_the_safety_net_misses_the_deadline():
    def lazy(view):
        if view.on is None and view.now_s >= 1000:
            yield view.job, (view.up or [view.on_demand])[0]
        elif view.on is None:
            yield cg.Wake(1000.0)

    result = carried_out(lazy, [zone((0, True))])
    assert [tuple(stay) for stay in result.plan.stays] == [
        (0, 1000.0, 1600.0, "taken"),
        (1, 1600.0, 2100.0, "done"),
    ]
    assert result.summary()["missed"] == 1
