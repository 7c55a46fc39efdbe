"""Resources with statistics: the events are SimPy's, and the figures equal those
computed from every event.
"""

import math
import random
from collections import Counter, defaultdict

import numpy as np
import pytest
import simpy
from engine.programs import KINDS, Listed, modelled, random_plans, resources_of
from hypothesis import given, settings
from hypothesis import strategies as st
from support import check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.engine.monitors import figures_of, monitors


@pytest.mark.parametrize(
    "seeds", [range(8), pytest.param(range(1000), marks=pytest.mark.slow)], ids=len
)
def test_events_have_the_order_of_simpy(seeds):
    for seed in seeds:
        rng, (plain, measured) = random.Random(seed), (Listed(), Listed())
        plans = random_plans(rng)
        assert modelled(plain, plans, resources_of(plain, simpy), 200) == modelled(
            measured, plans, resources_of(measured, cg), 200
        )
        assert plain.order == measured.order


class Observed(simpy.Environment):
    """An environment that adds up after every event what it sees of its resources."""

    def __init__(self, warm_up):
        super().__init__()
        self.resources, self.areas = resources_of(self, cg), Counter()
        self.warm_up_ends, self.arrivals, self.waits = warm_up, {}, defaultdict(list)

    def step(self):
        before, seen = self.now, {}
        for kind, thing in self.resources.items():
            if kind in KINDS:
                seen[kind, "queue"], seen[kind, "use"] = len(thing.queue), thing.count
                seen[kind, "open"] = max(thing.capacity, thing.count)
            else:
                level = thing.level if kind == "Container" else len(thing.items)
                seen[kind, "level"] = level
        try:
            super().step()
        finally:  # the end of the run is an exception
            # no server has been free while a request waited
            assert self.now == before or not [
                kind
                for kind in KINDS
                if seen[kind, "queue"] and seen[kind, "use"] < seen[kind, "open"]
            ]
            span = max(0.0, self.now - max(before, self.warm_up_ends))
            for name, number in seen.items():
                self.areas[name] += number * span
            for kind in KINDS:
                self.observe_requests(kind, self.resources[kind])

    def observe_requests(self, kind, thing):
        for request in (*thing.queue, *thing.users):
            arrived = self.arrivals.setdefault(request, self.now)
            if request in thing.users and arrived is not None:
                self.arrivals[request] = None
                if self.now >= self.warm_up_ends:
                    self.waits[kind].append(self.now - arrived)


def calendar(env, rng):
    """Close and open the servers at random times."""
    while True:
        yield env.timeout(rng.choice([2, 5]))
        desk = env.resources[rng.choice(KINDS)]
        if rng.random() < 0.5:
            desk.close(rng.randint(0, 4))
        else:
            desk.capacity = rng.randint(0, 4)


@given(st.integers(0, 2**32), st.sampled_from([0, 7.3, 20]))
@settings(max_examples=60)
def test_averages_equal_those_of_an_observer_of_every_event(seed, warm_up):
    env, rng = Observed(warm_up), random.Random(seed)
    env.process(calendar(env, rng))
    if warm_up:
        cg.warm_up(env, warm_up)
    modelled(env, random_plans(rng), env.resources, 50)
    figures, area, span = figures_of(env), env.areas, 50 - warm_up
    for name, kind in zip(monitors(env), env.resources):
        if kind not in KINDS:
            level = area[kind, "level"] / span
            assert figures[f"{name}_level"] == pytest.approx(level, abs=1e-9)
            continue
        opened = area[kind, "open"]
        use = 100 * area[kind, "use"] / opened if opened else math.nan
        result = figures[f"{name}_queue"], figures[f"{name}_utilisation_pct"]
        expected = pytest.approx(
            (area[kind, "queue"] / span, use), abs=1e-9, nan_ok=True
        )
        assert result == expected
        assert sorted(env.resources[kind].waits) == sorted(env.waits[kind])


def one_user(env, desk, arrival, work, name="", log=None, **request):
    """Start a process that uses the resource, and logs its end or its interrupt."""

    def process():
        yield env.timeout(arrival)
        try:
            with desk.request(**request) as turn:
                yield turn
                yield env.timeout(work)
            end = (name, env.now)
        except simpy.Interrupt as interrupt:
            assert interrupt.cause.resource is desk
            end = (name, "out", env.now)
        if log is not None:
            log.append(end)

    env.process(process())


def at(env, time, action):
    """Do something at a time."""

    def process():
        yield env.timeout(time)
        action()

    env.process(process())


@pytest.mark.parametrize(
    ("calendar", "period", "capacities"),
    [
        ([(0, 2), (2, 5)], 4, [(0, 2), (2, 5), (4, 2), (6, 5), (8, 2)]),
        (((time, time) for time in (0, 6)), 12, [(0, 0), (6, 6)]),  # a generator
    ],
)
def test_a_calendar_with_a_period_begins_again(calendar, period, capacities):
    env = simpy.Environment()
    desk = cg.Resource(env, 0, name="desk")
    cg.schedule(env, desk, calendar, period=period)
    env.run(9.5)
    changes = dict(desk.capacities)  # the last of an instant
    assert list(changes.items()) == capacities


def test_a_calendar_that_begins_at_0_applies_to_requests_made_before_it():
    env = simpy.Environment()
    desk = cg.Resource(env, name="desk")
    cg.schedule(env, desk, [(0, 0), (5, 1)])
    desk.request()
    env.run()
    assert list(desk.waits) == [5]


@pytest.mark.parametrize("kind", KINDS)
def test_close_interrupts_the_last_in_order(kind):
    env, log = simpy.Environment(), []
    desk = getattr(cg, kind)(env, 2, name="desk")
    low, high = ({}, {}) if kind == "Resource" else ({"priority": 1}, {"priority": 0})
    one_user(env, desk, 0, 10, "first", log, **high)
    one_user(env, desk, 0, 10, "second", log, **low)
    at(env, 3, lambda: desk.close(1))
    env.run()
    assert log == [("second", "out", 3), ("first", 10)]


def test_a_preemptor_takes_the_place_of_a_user_whose_server_is_closing():
    env, log = simpy.Environment(), []
    desk = cg.PreemptiveResource(env, 2, name="desk")
    for name, arrival, priority in (("a", 0, 1), ("b", 0, 2), ("c", 2, 0)):
        one_user(env, desk, arrival, 10, name, log, priority=priority)
    at(env, 1, lambda: setattr(desk, "capacity", 1))
    env.run()
    assert log == [("b", "out", 2), ("a", 10), ("c", 12)]


def test_a_window_leaves_out_what_follows_but_counts_values_of_its_time():
    env = simpy.Environment()
    response = cg.Monitor(env, "response")
    late = cg.Monitor(env, "late")

    def entity(arrival, stay):
        yield env.timeout(arrival)
        yield env.timeout(stay)
        response.tally(env.now - arrival, at=arrival)
        late.tally(env.now - arrival)

    for arrival, stay in ((1, 3), (6, 8), (9, 1), (12, 2)):
        env.process(entity(arrival, stay))
    cg.warm_up(env, 5, end=11)
    one_user(env, cg.Resource(env, name="desk"), 8, 20)
    env.run(20)
    assert [
        figures_of(env)[name] for name in ("response", "late", "desk_utilisation_pct")
    ] == [(8 + 1) / 2, 1, 50]


def test_resources_created_after_the_window_are_not_measured():
    env = simpy.Environment()
    cg.warm_up(env, 5, end=10)
    env.timeout(20)
    env.run(12)
    one_user(env, cg.Resource(env), 0, 3)
    cg.Store(env).put(1)
    cg.Monitor(env).tally(1)
    env.run()
    assert all(math.isnan(value) for value in figures_of(env).values())


@pytest.mark.parametrize(("warm_up", "mean"), [(None, 3), (2, 2)])
def test_a_value_may_belong_to_a_time_before_its_monitor_was_created(warm_up, mean):
    env = simpy.Environment()
    if warm_up:
        cg.warm_up(env, warm_up)
    env.run(5)
    response = cg.Monitor(env, "response")
    response.tally(4, at=1)
    response.tally(2, at=5)
    assert response.figures()[""] == mean


def test_shares_of_withdrawn_requests_and_of_gets_served_at_once():
    env = simpy.Environment()
    desk, box = cg.Resource(env, name="desk"), cg.Container(env, init=1, name="box")

    def impatient():
        with desk.request() as turn:
            while not turn.triggered and env.now < 2:
                yield env.timeout(1)
        with desk.request():
            pass  # it sees the queue, and leaves at once
        with box.get(1) as get:
            yield get | env.timeout(4)

    one_user(env, desk, 0, 5)
    at(env, 0, lambda: [env.process(impatient()) for _ in range(3)])
    at(env, 3, lambda: box.put(1))
    env.run()
    figures = figures_of(env)
    assert (figures["desk_withdrawn_pct"], figures["desk_wait"]) == (
        pytest.approx(600 / 7),
        0,
    )
    names = ("box_immediate_pct", "box_wait", "box_withdrawn_pct")
    assert [figures[name] for name in names] == pytest.approx([50, 0.5, 100 / 3])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda env, desk: desk.release(cg.Resource(env, name="till").request()),
            "desk can release only its own requests",
        ),
        # as after `turn = yield desk.request()`
        (
            lambda env, desk: desk.release(None),
            "which returns None",
        ),
        (lambda env, desk: cg.Resource(env, name="desk"), "'desk' is used by two"),
        (
            lambda env, desk: [cg.Monitor(env, "desk_wait").tally(9), figures_of(env)],
            "'desk_wait'; rename one",
        ),
        (lambda env, desk: cg.Resource(env, -1), "capacity(=-1)"),
        (lambda env, desk: cg.Resource(env, 1.5), "capacity(=1.5)"),
        (lambda env, desk: setattr(desk, "capacity", -2), "capacity(=-2)"),
        (lambda env, desk: desk.close(-1), "capacity(=-1)"),
        (lambda env, desk: cg.Container(env).put(0), "amount(=0) must be a number > 0"),
        (lambda env, desk: cg.Container(env).get(math.nan), "amount(=nan)"),
        (lambda env, desk: cg.Container(env).get("a"), "amount(='a')"),
        (lambda env, desk: cg.Container(env, math.nan), "capacity(=nan)"),
        (lambda env, desk: cg.Container(env, 4, init=math.nan), "init(=nan)"),
        (lambda env, desk: cg.FilterStore(env, "a"), "capacity(='a')"),
        (lambda env, desk: cg.FilterStore(env).get(0), "filter(=0)"),
        (
            lambda env, desk: cg.PriorityResource(env).request(math.nan),
            "priority(=nan) must be a number",
        ),
        (lambda env, desk: cg.warm_up(env, 0), "until(=0) must be a number > 0, now"),
        (
            lambda env, desk: [env.run(9), cg.warm_up(env, 5)],
            "until(=5) must be a number > 9, now: call cg.warm_up before env.run",
        ),
        (lambda env, desk: cg.warm_up(env, 5, end=5), "end(=5)"),
        (
            lambda env, desk: [cg.warm_up(env, 5), cg.warm_up(env, 9)],
            "already called with 5",
        ),
        (lambda env, desk: cg.schedule(env, desk, []), "times of the calendar"),
        (lambda env, desk: cg.schedule(env, desk, [(3, 1), (2, 2)]), "ascending"),
        (lambda env, desk: cg.schedule(env, desk, [(3, 1), (3, 2)]), "ascending"),
        (lambda env, desk: cg.schedule(env, desk, [(1, -1)]), "capacity(=-1)"),
        (lambda env, desk: cg.schedule(env, desk, [(math.inf, 1)]), "finite"),
        (lambda env, desk: cg.schedule(env, desk, [0, 1]), "pairs of a time"),
        (lambda env, desk: cg.schedule(env, desk, [("a", 1)]), "pairs of a time"),
        (lambda env, desk: cg.schedule(env, cg.Store(env), [(0, 1)]), "resource(="),
        (
            lambda env, desk: cg.schedule(env, desk, [(0, 1), (3, 0), (5, 2)], 5),
            "period(=5)",
        ),
        (lambda env, desk: desk.series(), "has no records"),
        (lambda env, desk: cg.Store(env).series(), "has no records"),
        (lambda env, desk: cg.Monitor(env, "seen").tally("soon"), "value(='soon')"),
        (lambda env, desk: cg.Monitor(env, "seen").tally(math.nan), "value(=nan)"),
        (lambda env, desk: cg.Monitor(env, "seen").tally(1, at=math.nan), "at(=nan)"),
        (lambda env, desk: cg.Monitor(env, "seen").tally(1, at="now"), "at(='now')"),
        (lambda env, desk: cg.Monitor(env, "seen").tally(1, at=5), "at(=5)"),
    ],
)
def test_invalid_calls_are_rejected(wrong, message):
    env = simpy.Environment()
    desk = cg.Resource(env, name="desk")
    check_refused(lambda: wrong(env, desk), [message])


def test_a_series_counts_who_waits_and_who_uses():
    env = simpy.Environment()
    env.keeps_records = True
    desk, box = cg.Resource(env, name="desk"), cg.Container(env, init=2, name="box")
    one_user(env, desk, 1, 4)
    one_user(env, desk, 2, 4)

    at(env, 3, lambda: box.get(2))
    env.run(7)
    series = {**desk.series(), **box.series()}
    # the second user begins when the first one ends: never two in use
    assert {name: np.column_stack(series[name]).tolist() for name in series} == {
        "queue": [[0, 0], [1, 0], [2, 1], [5, 0]],
        "in use": [[0, 0], [1, 1], [5, 1]],
        "wait": [[1, 0], [5, 3]],
        "capacity": [[0, 1]],
        "level": [[0, 2], [3, 0]],
    }


@pytest.mark.parametrize(
    ("kind", "takes", "warm_s"),
    [
        (cg.Store, 0, 2),
        (cg.Store, 0, 0),
        (cg.FilterStore, 1, 2),
        (cg.PriorityStore, 1, 0),
    ],
)
def test_initial_items_of_a_store_count(kind, takes, warm_s):
    env = simpy.Environment()
    env.keeps_records = True
    shop = kind(env, name="shop")
    shop.items = ["a", "b"]  # as in SimPy's examples

    at(env, 4, lambda: [shop.get() for _ in range(takes)])
    if warm_s:
        cg.warm_up(env, warm_s)
    env.run(10)
    levels = [[0, 0], [0, 2], [4, 1]][: 2 + takes]
    assert np.column_stack(shop.series()["level"]).tolist() == levels
    assert shop.figures()["level"] == pytest.approx(2 - takes * 6 / (10 - warm_s))


@pytest.mark.parametrize("library", [simpy, cg])
def test_arguments_have_simpys_names(library):
    env = simpy.Environment()
    tank, shop = library.Container(env, capacity=9, init=5), library.FilterStore(env)
    got = []

    def process():
        yield tank.put(amount=2)
        yield tank.get(amount=1)
        yield shop.put(item="a") & shop.put(item="b")
        got.append((yield shop.get(filter=lambda item: item == "b")))

    env.process(process())
    env.run()
    assert (tank.level, got) == (6, ["b"])
    with pytest.raises(TypeError):  # only a FilterStore has filters
        library.Store(env).get(lambda item: item == "b")


def test_names_count_the_monitors_of_an_environment():
    env = simpy.Environment()
    cg.Resource(env)
    cg.Store(env)
    assert list(monitors(env)) == ["resource1", "store2"]
