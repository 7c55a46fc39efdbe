"""Expected cost: the fitted model, and the policy in a persistent market."""

import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cgrsp_simpy as cg
from cgrsp_simpy.market.series import Series
from cgrsp_simpy.market.zones import Price, Stretch, Traces, TwoState, Zone
from cgrsp_simpy.spot import expected
from cgrsp_simpy.spot.expected import Plan, classes_of, hazards, seen, transitions
from cgrsp_simpy.spot.job import Checkpoints, Job
from cgrsp_simpy.spot.optimum import Market
from cgrsp_simpy.studies.subject import subject_of

# ---- the fitted model ----


def test_hazards_are_ends_over_time_at_risk():
    # up 2 h, 3 h; down 1 h, 2 h (goes on)
    series = Series.of("a", 3600, [1, 1, 0, 1, 1, 1, 0, 0])
    assert hazards(series, True, (0.0,)) == pytest.approx([2.5 / 5])
    assert hazards(series, False, (0.0,)) == pytest.approx([1.5 / 3])
    assert hazards(series, True, (0.0, 2.0)) == pytest.approx([1.5 / 4, 1.5 / 1])


def history_of(market, seed):
    """Return the series of a zone before a run."""
    [zone] = market.draw(1, 600.0, seed)
    return zone.history


def test_a_known_model_is_recovered_by_the_fit():
    series = history_of(TwoState(4.0, 1.0, history_h=20_000), 3)
    chance = transitions(series, (0.0,), 0.5)
    decay = math.exp(-0.5 * (1 / 4 + 1))
    expected = [
        [0.2 + 0.8 * decay, 0.8 - 0.8 * decay],
        [0.2 - 0.2 * decay, 0.8 + 0.2 * decay],
    ]
    assert chance == pytest.approx(np.array(expected), abs=0.02)
    assert transitions(series, (0.0, 0.25, 1.0), 0.1).sum(axis=1) == pytest.approx(1)


def test_ages_are_used_if_they_carry_information():
    """One class is enough for a memoryless market; several if times are mixed."""
    assert classes_of([history_of(TwoState(4.0, 1.0, history_h=3000), 3)]) == (0.0,)
    mixed = np.concatenate(
        [[True] * (1 if k % 2 else 100) + [False] * 9 for k in range(200)]
    )
    classes = [
        len(classes_of([Series.of("a", 600, mixed)] * zones)) for zones in (1, 2, 3)
    ]
    assert classes == [4, 2, 1]  # of 8, 16 and 8 states; more would make 64


def test_expected_cost_waits_in_a_persistent_market_if_it_pays(monkeypatch):
    """Spot returns within minutes: with slack the job waits; without spot for days it
    does not.
    """
    monkeypatch.setattr(expected, "STEPS", 120)
    quick, slow = TwoState(10.0, 0.1, 60), TwoState(1.0, 400.0, 60)
    cheap = cg.simulate(
        cg.spot.Scenario(quick, 8.0, 12.0), "expected-cost", 1
    ).summary()
    dear = cg.simulate(cg.spot.Scenario(slow, 8.0, 12.0), "expected-cost", 2).summary()
    assert cheap["on_demand_h"] == dear["spot_h"] == 0
    assert dear["cost_pct"] == pytest.approx(100)


# ---- the plan ----


@given(st.lists(st.floats(0, 1e3), min_size=2), st.floats(0, 9))
def test_values_between_two_steps_of_slack_are_interpolated(values, steps):
    slack = np.arange(len(values))
    np.testing.assert_allclose(
        Plan.less(SimpleNamespace(slack=slack), np.array([values]), steps),
        [np.interp(slack - steps, slack, values)],
    )


@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from([0, 0.5, 1, 3.5, 4, 9])),
        min_size=1,
        max_size=2,
    ),
    *(st.integers(0, 9), st.integers(0, 9), st.sampled_from([None, 5, 9])),
)
def test_a_plan_is_looked_up_by_time_left_job_zones_and_slack(zones, left, slack, on):
    """A plan of 8 steps and 5 of slack; classes of age begin at 0, 1 and 4 h."""
    views = [SimpleNamespace(up=up, since_s=36e3 - 3600 * age) for up, age in zones]
    view = SimpleNamespace(
        **{"now_s": 36e3, "on": on, "on_demand": 9, "zones": dict(zip((5, 7), views))},
        **{"slack_s": 600.0 * slack + 500, "left_s": 600.0 * left - 200},
    )
    plan = SimpleNamespace(
        **{"ages_h": (0.0, 1.0, 4.0), "numbers": [*view.zones], "step_s": 600.0},
        **{"slack": np.arange(6), "choices": np.full((9, 2, 36, 6), -1)},
    )
    classes = [3 * up + (age >= 1) + (age >= 4) for up, age in zones]
    state, slack = classes[-1] + 6 * sum(classes[:-1]), min(slack, 5)
    for choice, place in ((-1, None), (-2, 9), (0, 5)):
        plan.choices[
            min(max(left + slack, 1), 8), int(on is not None), state, slack
        ] = choice
        assert Plan.best(plan, view) == place


@pytest.mark.parametrize(
    ("dear", "spot", "moving", "at", "age_h", "stale"),
    [
        (10.0, 1.0, 0.1, 5, 4.0, False),
        (11.0, 1.0, 0.0, 5, 4.0, False),  # by a tenth
        (11.1, 1.0, 0.0, 5, 4.0, True),
        (8.9, 1.0, 0.0, 5, 4.0, True),
        (10.0, 1.2, 0.0, 5, 4.0, True),
        (10.0, 1.2, 0.0, 5, 3.0, True),
        (10.0, 1.2, 0.0, 5, 2.9, False),  # it is new
        (10.0, 1.0, 0.1, 6, 3.0, True),  # the checkpoint is elsewhere
        (10.0, 1.0, 0.1, 6, 2.9, False),
        (10.0, 1.0, 0.0, 6, 4.0, False),
    ],
)
def test_a_plan_is_computed_again_if_prices_or_the_region_have_changed(
    dear, spot, moving, at, age_h, stale
):
    """Made at 1 h, for prices of 10 on demand and of 1 in zone 7."""
    plan = SimpleNamespace(numbers=[7], prices=[10.0, 1.0], at=5, made_s=3600.0)
    view = SimpleNamespace(
        dear=SimpleNamespace(usd_per_h=dear),
        zones={7: SimpleNamespace(usd_per_h=spot)},
        checkpoints=SimpleNamespace(moving_usd=moving),
        at=at,
        now_s=3600 * (1 + age_h),
    )
    assert Plan.stale(plan, view) == stale


# ---- observations during the run, prices, many zones ----


def test_the_model_is_fitted_to_the_observations_of_the_run_too():
    """Each time that the policy is asked it knows the series up to then, and nothing
    more.
    """
    status = np.arange(900) % 37 < 11
    trace, known = Traces((Series.of("a", 600, status),)), []

    def watching(view):
        known.append((view.now_s, seen(view.zones[0], view.now_s)))
        if view.on is None:
            yield view.job, view.on_demand

    run = subject_of(cg.spot.Scenario(trace, 30.0, 40.0)).run(watching, 3)
    first = run.plan.market.zones[0].history.steps
    assert len(known) > 5
    for now_s, series in known:
        assert series.steps == first + now_s // 600
        assert series.status.tolist() == status[: series.steps].tolist()


def test_the_status_at_the_begin_of_a_run_is_that_of_its_first_poll():
    """Up from the begin on, unlike before, and down from the next poll on."""
    zone = SimpleNamespace(
        history=Series.of("a", 600, [1, 0]),
        turns=[Stretch(0.0, True), Stretch(700.0, False)],
    )
    assert [seen(zone, now_s).status.tolist() for now_s in (0.0, 600.0, 1800.0)] == [
        *([1, 0], [1, 0, 1]),
        [1, 0, 1, 0, 0],
    ]


@pytest.mark.parametrize(("write_s", "columns"), [(0.0, [4, 4]), (2400.0, [5, 6])])
def test_the_job_is_late_if_two_starts_and_a_checkpoint_take_the_slack(
    write_s, columns, monkeypatch
):
    """A start takes an hour, and a step of the plan 40 min, as a checkpoint does."""
    monkeypatch.setattr(expected, "STEPS", 60)
    saved, trace = (
        Checkpoints(write_s=write_s),
        Traces((Series.of("a", 600, [1] * 900),)),
    )

    def late(view):
        raise ValueError([late.sum().item() for late in Plan(view).late])

    scenario = cg.spot.Scenario(trace, 30.0, 40.0, 1.0, checkpoints=saved)
    with pytest.raises(cg.PolicyError, match=re.escape(str(columns))):
        subject_of(scenario).run(late, 3)


def test_a_zone_is_chosen_by_its_price(monkeypatch):
    """Two zones are always available; without the cheaper one the other is used."""
    monkeypatch.setattr(expected, "STEPS", 60)
    history = Series.of("h", 600, [True] * 500 + [False, True])
    for dear in (0, 1):
        zones = [
            Zone(
                f"z{n}",
                (Stretch(-600.0, True),),
                history,
                (Price(0.0, 2.0 if n == dear else 0.9),),
            )
            for n in (0, 1)
        ]
        job = cg.spot.Scenario(hours=8.0, deadline=12.0).job
        drawn = [(0.0, job, Market(job, tuple(zones)))]
        run = subject_of(cg.spot.Scenario(zones=2)).run("expected-cost", drawn=drawn)
        assert run.summary()["spot_usd"] == pytest.approx(0.9 * 8.1)
        one = replace(zones[dear], prices=(Price(0.0, 3.0),))
        alone = subject_of(cg.spot.Scenario(zones=1)).run(
            "expected-cost", drawn=[(0.0, job, Market(job, (one,)))]
        )
        assert alone.summary()["cost_usd"] <= 3.06 * 8.1


def test_if_storage_is_expensive_the_job_does_not_move_back_and_forth(monkeypatch):
    """Storage until the end is also part of the cost on demand; otherwise the job would
    move back and forth forever.
    """
    monkeypatch.setattr(expected, "STEPS", 120)
    turns = (
        (0.0, True),
        (270.0, False),
        (1676.0, True),
        (1677.0, False),
        (1835.0, True),
    )
    zones = (
        Zone(
            "us-west-2a",
            tuple(Stretch(*each) for each in turns),
            Series.of("h", 60, [0] * 8),
        ),
        Zone(
            "us-east-1b",
            (Stretch(0.0, True),),
            Series.of("h", 60, [1]),
            (Price(0.0, 0.0),),
        ),
    )
    job = Job(0, 1171.0, 2407.0, 589.0, 1.0, 1.01)
    stored = Checkpoints(size_gb=10.0, storage_usd_per_gb_month=50.0)
    market = Market(job, zones, stored)
    place = cg.spot.Scenario(zones=2)
    made = subject_of(place).simulation(
        subject_of(place).make_policy("expected-cost"), 0, drawn=[(0.0, job, market)]
    )
    assert not made.advance(200)  # it ends within so many events
