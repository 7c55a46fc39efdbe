"""Instances that the market preempts when the stock of their type becomes Low,
replayed or by a model, by hand and at random.
"""

from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import refusals

import cgrsp_simpy as cg
from cgrsp_simpy.market.model import CLOCKS
from cgrsp_simpy.market.stock import Stock
from cgrsp_simpy.studies.subject import subject_of

GPU, OTHER = cg.GpuType("G", 3.6, (100.0,), 1.0), cg.GpuType("H", 3.6, (100.0,), 1.0)
START_H = CLOCKS["calibrated"].start_h
HIGH, LOW = 0, 2
NEVER = float("inf")


def recorded(times_s, statuses, length_s=1e6, gpu="G"):
    """A series that every run meets from its beginning: it is shorter than two days."""
    return cg.StockSeries(gpu, times_s, statuses, length_s, START_H)


def on_spot(jobs, *series, slots=(GPU,), gpus=1, **terms):
    """Jobs of 100 s, by submission; an instance takes 10 s to come."""
    listed = [cg.Job(id, at_s, 1e6, gpus=gpus) for id, at_s in enumerate(jobs)]
    market = cg.Market(delay_s=((10, 10),) * 3, series=series)
    return cg.Scenario(
        "spot",
        cg.JobList(listed),
        slots,
        tuple(dict.fromkeys(slots)),
        market=market,
        service=cg.Service(sigma=(0,)),
        terms=cg.Terms(taken_when_low=True, **terms),
    )


def phases(run):
    return [
        (row["job"], row["phase"], row["from_s"], row["to_s"]) for row in run.claims
    ]


def taken(scenario, policy="fifo", seed=0):
    """When instances are taken, and of which slots."""
    events = []
    subject_of(scenario).run(policy, seed, listener=events.append)
    return [(event.time_s, event.slots) for event in events if event.kind == "preempt"]


DAY_S = 86400.0
DOWN_AT_80 = recorded((0, 80, 200), (HIGH, LOW, HIGH), DAY_S)


def test_a_job_resumes_from_its_checkpoint_when_the_type_is_available_again():
    """A worked example: up to 80 s and from 200 s on instances are to be had. The job
    has computed 70 s at 80, in which it has written two checkpoints of 2 s, at 30 and
    60 s of work; 6 s are lost. It is refused at 80, 130 and 180 s, and at 230 s rented
    again; 40 s and a checkpoint are left.
    """
    spot = {"checkpoint_s": 30, "checkpoint_cost_s": 2, "restart_s": 5}
    run = cg.simulate(on_spot([0], DOWN_AT_80, retry_s=50, **spot), "fifo")
    assert phases(run) == [
        (0, "provisioning", 0, 10),
        (0, "executing", 10, 80),
        (0, "provisioning", 230, 240),
        (0, "restarting", 240, 245),
        (0, "executing", 245, 287),
    ]
    (row,) = run.rows()
    expected = {
        "preemptions": 1,
        "refusals": 3,
        "lost_s": 6,
        "checkpoints_s": 6,
        "away_s": 150,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)


def test_without_refusals_an_instance_ordered_at_low_stock_stays_until_the_next_low():
    again = recorded((0, 80, 200, 250, 1000), (HIGH, LOW, HIGH, LOW, HIGH), DAY_S)
    run = cg.simulate(on_spot([0, 0], again), "fifo")
    assert phases(run) == [
        (0, "provisioning", 0, 10),
        (0, "executing", 10, 80),
        (0, "provisioning", 80, 90),
        (0, "executing", 90, 190),
        (1, "provisioning", 190, 200),
        (1, "executing", 200, 250),
        (1, "provisioning", 250, 260),
        (1, "executing", 260, 360),
    ]


def test_an_instance_ordered_before_the_stock_runs_out_is_preempted_on_arrival():
    run = cg.simulate(
        on_spot([0], recorded((0, 5, 1000), (HIGH, LOW, HIGH), DAY_S)), "fifo"
    )
    assert run.jobs["preemptions"].tolist() == [1]
    assert phases(run)[-2:] == [(0, "provisioning", 10, 20), (0, "executing", 20, 120)]


def test_all_instances_of_a_type_are_taken_and_no_others():
    scenario = on_spot(
        [0, 0, 0],
        DOWN_AT_80,
        recorded((0,), (HIGH,), DAY_S, "H"),
        slots=(GPU, OTHER, GPU),
    )
    assert taken(scenario) == [(80, (0,)), (80, (2,))]


def test_a_series_that_is_shorter_than_the_run_starts_again():
    series = recorded((0, 500), (HIGH, LOW), 600.0)
    times_s = [at_s for at_s, _ in taken(on_spot([0] * 20, series))]
    assert times_s == [500 + 600 * turn for turn in range(len(times_s))]
    assert len(times_s) > 2


# ---- stock that runs out ----

series_at_random = st.lists(
    st.tuples(st.integers(1, 50_000), st.sampled_from([0, 1, 2])),
    min_size=1,
    max_size=12,
)


@settings(max_examples=30)
@given(series_at_random, st.integers(0, 99), st.booleans())
def test_a_shortage_is_each_change_from_something_to_low(steps, seed, dated):
    times_s = [0.0]
    for gap_s, _ in steps:
        times_s.append(times_s[-1] + gap_s)
    statuses = [status for _, status in steps]
    start_h = START_H if dated else None
    series = cg.StockSeries("G", times_s[:-1], statuses, times_s[-1], start_h)
    stock = Stock(cg.Market(series=(series,)), seed)
    result, at_s = [], 0.0
    while (at_s := stock.runs_out_s(GPU, at_s)) < 2 * DAY_S:
        result.append(at_s)
    changes_s = stock.changes_s(GPU, 1e-3, 2 * DAY_S)
    expected = [
        time_s
        for time_s in changes_s
        if stock.status(GPU, time_s - 1e-3, 0) != LOW
        and stock.status(GPU, time_s + 1e-3, 0) == LOW
    ]
    assert result == pytest.approx(expected, abs=1e-6)
    # also asked again
    assert all(stock.runs_out_s(GPU, at_s - 1e-3) == at_s for at_s in result)


@settings(max_examples=60)
@given(series_at_random)
def test_the_longest_time_in_stock_equals_a_scan_of_the_series(steps):
    edges = [0]
    for gap_s, _ in steps:
        edges.append(edges[-1] + gap_s)
    statuses = [status for _, status in steps]
    series = cg.StockSeries("G", edges[:-1], statuses, edges[-1])
    longest = own = 0
    for (from_s, to_s), status in zip([*pairwise(edges)] * 2, statuses * 2):
        own = 0 if status == LOW else own + to_s - from_s
        longest = max(longest, own)
    assert series.longest_s == (longest if LOW in statuses else NEVER)


def test_stock_by_a_law_runs_out_as_often_as_it_should():
    """Of epochs every 900 s, a share of 0.3 x 0.7 makes it Low that was not; of 4
    standard errors, the count is taken for a Poisson one.
    """
    law = cg.HourlyStock("G", [(0.5, 0.2, 0.3)] * 24)
    stock = Stock(cg.Market(stock=(law,), persistence_s=900.0), 3)
    count, at_s, horizon_s = 0, 0.0, 400 * DAY_S
    while (at_s := stock.runs_out_s(GPU, at_s)) < horizon_s:
        count += 1
    expected = horizon_s / 900 * 0.3 * 0.7
    assert abs(count - expected) < 4 * expected**0.5


@pytest.mark.parametrize(
    ("chances", "first_s"),
    [
        ([(0.5, 0.5, 0.0)] * 24, NEVER),
        ([(0.0, 0.0, 1.0)] * 24, NEVER),
        # Low in one hour of the day; the clock begins at 8
        ([(0.0, 0.0, 1.0), *[(1.0, 0.0, 0.0)] * 23], 16 * 3600),
        ([*[(1.0, 0.0, 0.0)] * 23, (0.0, 0.0, 1.0)], 15 * 3600),
    ],
)
def test_stock_runs_out_only_if_it_is_low_at_times(chances, first_s):
    stock = Stock(
        cg.Market(stock=(cg.HourlyStock("G", chances),), persistence_s=900.0), 3
    )
    assert stock.runs_out_s(GPU, 5.0) == first_s


# ---- properties of any run ----


@settings(max_examples=25)
@given(
    steps=series_at_random,
    tau_s=st.sampled_from([None, 900.0, 7200.0]),
    retry_s=st.sampled_from([None, 300.0]),
    warm_s=st.sampled_from([0.0, 400.0]),
    every_s=st.sampled_from([None, 25.0]),
    policy=st.sampled_from(["fifo", "rh", "watch", "triage", "edf-p"]),
    seed=st.integers(0, 99),
)
def test_claims_add_up_and_the_same_seed_gives_the_same_bits(
    steps, tau_s, retry_s, warm_s, every_s, policy, seed
):
    edges = [0]
    for gap_s, _ in [(5000, HIGH), *steps]:
        edges.append(edges[-1] + gap_s)
    statuses = [HIGH, *(status for _, status in steps)]
    day = cg.day("hectic", jobs=60, slots=2)
    types = () if tau_s else [gpu.name for gpu in day.gpus]
    series = tuple(
        cg.StockSeries(name, edges[:-1], statuses, edges[-1]) for name in types
    )
    market = cg.Market(persistence_s=tau_s or 0.0, series=series, sight="now")
    terms = cg.Terms(
        taken_when_low=True,
        retry_s=retry_s,
        warm_s=warm_s,
        checkpoint_s=every_s,
        suspension=policy == "edf-p",
    )
    spot = subject_of(subject_of(day).varied(market=market)).varied(terms=terms)
    run, again = subject_of(spot).run(policy, seed), subject_of(spot).run(policy, seed)
    assert run.jobs.tobytes() == again.jobs.tobytes()
    assert run.jobs["job"].tolist() == list(range(60))
    held_s, spans = defaultdict(float), defaultdict(list)
    for claim in run.claims:
        held_s[claim["job"], claim["phase"]] += claim["to_s"] - claim["from_s"]
        spans[claim["resource"]].append((claim["from_s"], claim["to_s"]))
    for row in run.jobs:
        assert held_s[row["job"], "executing"] == pytest.approx(
            row["service_s"], abs=1e-6
        )
    for own in spans.values():
        assert all(end <= start for (_, end), (start, _) in pairwise(sorted(own)))
    # An instance takes at most two hours to become available.
    stock = Stock(market, seed)
    for at_s, slots in taken(spot, policy, seed):
        [gpu] = {spot.slots[slot] for slot in slots} or {None}
        types = [gpu] if gpu else set(spot.slots)  # a warm one names its slot in words
        assert any(
            stock.runs_out_s(each, at_s - 7200.001) <= at_s + 1e-6 for each in types
        )


# ---- input ----


test_impossible_values_give_a_one_line_error = refusals(
    (
        lambda: cg.day("quiet", terms=cg.Terms(taken_when_low=True)),
        (
            r"taken_when_low\(='RTX 3090'\) must be omitted if the stock of a"
            r" type does not"
        ),
    ),
    (lambda: cg.Terms(taken_when_low="yes"), "true or false"),
    (  # 99 s in stock at a stretch, for jobs of 100 s
        lambda: on_spot([0], recorded((0, 99), (HIGH, LOW), 500.0)),
        (
            r"longest seconds without Low stock of G\(=99.0\) must be at least 300,"
            r" because a job needs 100 s"
        ),
    ),
    (
        lambda: subject_of(cg.day("quiet", persistence_s=5.0)).varied(
            taken_when_low=True
        ),
        (
            r"persistence_s of RTX 3090\(=5.0\) must be at least 10.09, because a"
            r" job needs 100.9 s"
        ),
    ),
)
