"""Bounds against means over many draws of the same arrivals: odd small scenarios, logs,
and the frontier of wait against misses.
"""

import json
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.figure import Figure as Canvas
from support import check_bad_input, check_refused, needs, outcome, output, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.base.table import write_csv
from cgrsp_simpy.cli import main
from cgrsp_simpy.decide import gaps
from cgrsp_simpy.decide.bounds import OBJECTIVES, Weights, check_proved, lower_bound
from cgrsp_simpy.decide.clairvoyant import optimum
from cgrsp_simpy.decide.figures import FRONTIER, draw_frontier
from cgrsp_simpy.decide.gaps import Frontier, frontier, over_draws
from cgrsp_simpy.rental.job import DeadlineClasses
from cgrsp_simpy.studies.subject import subject_of

POLICIES = ("fifo", "spt", "edf", "rh", "cadr", "triage")
FIGURES = ("wait_min", "miss_pct", "tardiness_min")
DRAWS = 80


def odd(number):
    """A small scenario like no other: fleet, market, deadlines and service drawn."""
    rng = Random(f"bound {number}")
    gpus = tuple(
        cg.GpuType(
            f"type {k}",
            rng.uniform(0.1, 2.0),
            tuple(sorted(rng.uniform(20, 400) for _ in range(3))),
            rng.uniform(0.05, 1.0),
        )
        for k in range(rng.randint(1, 3))
    )
    hours = sorted(rng.sample(range(1, 24), rng.randint(0, 3)))
    clock = cg.Clock(
        tuple((hour, rng.uniform(0.2, 1.4)) for hour in (0, *hours)),
        start_h=rng.randrange(24),
    )
    low_s = rng.uniform(100, 1500)
    delay_s = (
        (0.0, rng.uniform(0, 30)),
        (30.0, 120.0),
        (low_s, low_s * rng.uniform(1, 5)),
    )
    deadlines = DeadlineClasses(
        rng.random(), rng.uniform(60, 600), rng.uniform(600, 7200)
    )
    load = cg.PoissonWorkload(
        rng.randint(5, 25), rng.uniform(0.003, 0.1), deadlines=deadlines
    )
    service = rng.choice(
        [cg.Service(), cg.Service("exponential"), cg.Service(sigma=(0.0, 0.5, 1.0))]
    )
    slots = tuple(rng.choice(gpus) for _ in range(rng.randint(1, 4)))
    market = cg.Market(clock, delay_s)
    return cg.Scenario(
        f"odd {number}",
        load,
        slots,
        gpus,
        rng.random() < 0.3,
        market=market,
        service=service,
    )


def reached(scenario, policy, seed, draws=DRAWS):
    """Of each objective the mean over draws, and its standard error."""
    runs = over_draws(scenario, policy, seed, draws)
    result = {}
    for name, weights in OBJECTIVES.items():
        values = [
            sum(w * run[figure] for w, figure in zip(weights, FIGURES)) for run in runs
        ]
        result[name] = np.mean(values), np.std(values, ddof=1) / np.sqrt(draws)
    return result


def assert_none_is_below(scenario, seed, policies, bin_s):
    bounds = {
        name: lower_bound(scenario, seed, name, bin_s).value or 0.0
        for name in OBJECTIVES
    }
    for policy in policies:
        for name, (value, error) in reached(scenario, policy, seed).items():
            if value == 0 and name in ("miss", "tardiness"):
                # that of all draws none is late has a chance if less than ten are
                # expected
                assert bounds["miss"] / 100 * scenario.jobs * DRAWS < 10, (
                    scenario.name,
                    policy,
                )
            else:
                assert value >= bounds[name] - 4 * error - 1e-9, (
                    scenario.name,
                    policy,
                    name,
                )


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_no_policy_has_less_than_the_bound_on_a_few_odd_scenarios(number):
    assert_none_is_below(odd(number), 0, ("spt", "edf"), 300.0)


@pytest.mark.long
@pytest.mark.parametrize("number", range(100))
def test_no_policy_has_less_than_the_bound_on_a_hundred_odd_scenarios(number):
    assert_none_is_below(odd(number), number, POLICIES, 120.0)


def test_other_draws_leave_the_jobs_and_measured_times_as_they_are():
    scenario = replace(
        odd(1), workload=cg.JobList((cg.Job(0, 0, 90), cg.Job(1, 5, 900)))
    )
    runs = over_draws(scenario, "fifo", 0, 5)
    assert len({run["wait_min"] for run in runs}) > 1
    assert runs == over_draws(scenario, "fifo", 0, 5)
    log = cg.LoggedWorkload((0.0, 9.0), (60.0, 70.0), (90.0, 900.0), (1, 1), (1.0, 1.0))
    certain = cg.Market(cg.Clock(((0, 1.0),)), delay_s=((20.0, 20.0),) * 3)
    logged = cg.Scenario("log", log, market=certain)
    seen = over_draws(logged, "fifo", 0, 5)
    assert all(run["wait_min"] == pytest.approx(20 / 60) for run in seen)


@pytest.mark.parametrize(
    "market",
    [pytest.param(own, marks=needs("numba", pytest.mark.slow)) for own in (0.0, 900.0)],
)
def test_draws_are_the_same_by_both_engines(market):
    log = cg.LoggedWorkload(
        (0.0, 9.0, 9.0), (60.0, 70.0, 90.0), (90.0, 900.0, 99.0), (1,) * 3, (1.0,) * 3
    )
    day = subject_of(cg.day("hectic", jobs=200)).varied(persistence_s=market)
    for scenario in (day, replace(day, workload=log)):
        for policy in ("rh", "cadr", "random"):
            assert over_draws(scenario, policy, 3, 4) == over_draws(
                scenario, policy, 3, 4, "compiled"
            )


test_draws_are_checked = refusals(
    (lambda: over_draws(odd(0), "fifo", 0, 0), r"number\(=0\)")
)


# ---- measured times ----


def test_the_bound_of_measured_times_equals_that_of_certain_ones():
    """One slot, certain delays: of two jobs that cannot both be in time one is
    missed.
    """
    certain = cg.Market(cg.Clock(((0, 1.0),)), delay_s=((20.0, 20.0),) * 3)
    one = cg.GpuType("one", 0.1, (1.0,), 0.5)
    for due_s in ((80.0, 80.0), (70.0, 500.0)):
        log = cg.LoggedWorkload((0.0, 0.0), (60.0, 60.0), due_s, (1, 1), (1.0, 1.0))
        scenario = cg.Scenario("log", log, (one,), (one,), market=certain)
        bound = lower_bound(scenario, objective="miss", bin_s=10)
        assert bound.value == pytest.approx(50, abs=1)


def of_two(submit_s, service_s, gpus):
    """A log whose second job is this one."""
    columns = (0.0, submit_s), (60.0, service_s), (9e7, 9e7), (1, gpus), (1.0, 1.0)
    return cg.Scenario("log", cg.LoggedWorkload(*columns))


test_logs_of_weeks_and_of_wide_jobs_are_rejected = refusals(
    (of_two(1e6, 60.0, 1), "last submission"),
    (of_two(9.0, 1e6, 1), "longest execution"),
    (of_two(9.0, 60.0, 2), "gpus of job 1"),
    call=lower_bound,
)


# ---- features without a proof ----


def test_a_part_not_covered_by_the_proof_is_rejected_unless_left_out():
    @dataclass(frozen=True)
    class Lasting(cg.Market):
        lasts_s: float = 0.0

    check_proved(replace(odd(0), market=Lasting()))
    lasting = replace(cg.day("quiet"), market=Lasting(lasts_s=600.0))
    for asked, what in ((lower_bound, "bound"), (optimum, "optimum")):
        message = rf"no {what} known: lasts_s of the market\(=600.0\) must be 0.0"
        with pytest.raises(cg.InputError, match=message):
            asked(lasting)
    hourly = cg.HourlyStock("RTX 3090", ((0.5, 0.3, 0.2),) * 24)
    check_proved(replace(cg.day("quiet"), market=cg.Market(stock=(hourly,))))
    for own in ({"preemption_per_h": 0.1}, {"suspension": True}):
        with pytest.raises(
            cg.InputError, match=f"no bound known: {next(iter(own))} of the terms"
        ):
            lower_bound(replace(cg.day("quiet"), terms=cg.Terms(**own)))
    check_refused(
        lambda: optimum(replace(cg.day("quiet"), terms=cg.Terms(warm_s=5))),
        "no optimum known: warm_s of the terms",
    )


test_weights_are_checked = refusals(
    (Weights(), "weights"),
    (Weights(miss=-1), "weight of miss"),
    (Weights(inf), "wait"),
    call=lambda weights: lower_bound(odd(0), objective=weights),
)


# ---- the frontier ----


def made(least):
    return Frontier(
        odd(0), (0,), 600.0, {price: [value] for price, value in least.items()}
    )


def test_corners_by_hand():
    """Wait >= 10, miss >= 1, wait + 2 miss >= 20."""
    result = made({0.0: 10, 2.0: 20, inf: 1})
    assert result.corners["bound"] == [(10, 5), (18, 1)]
    assert result.miss_pct(9) == inf
    assert [result.miss_pct(wait) for wait in (10, 14, 18, 30)] == [5, 3, 1, 1]
    # of two seeds, a half width is 12.706 times half their difference
    of_two = replace(result, seeds=(0, 1), least={0.0: [9.0, 11.0], inf: [2.0, 2.02]})
    corners = {"bound": (10, 2.01), "low": (0, 1.882938), "high": (22.7062, 2.137062)}
    assert of_two.corners == {kind: [pytest.approx(at)] for kind, at in corners.items()}


def test_gaps_are_means_over_draws_above_the_bounds_of_a_seed(monkeypatch):
    """A seed without a known bound counts as 0, unless none has one."""
    monkeypatch.setattr(
        gaps,
        "lower_bounds",
        lambda scenario, objectives, *_: [
            [
                SimpleNamespace(value=0.5 if objective == "wait" else None),
                SimpleNamespace(value=None),
            ]
            for objective in objectives
        ],
    )
    two_jobs = cg.day("quiet", jobs=2)
    study = gaps.with_gaps(cg.compare(two_jobs, ["spt"], range(2)))
    assert [row["wait_gap_min"] for row in study.rows] == [
        pytest.approx(np.mean([run["wait_min"] for run in runs]) - 0.5 * (seed == 0))
        for seed in range(2)
        for runs in [over_draws(two_jobs, "spt", seed, gaps.DRAWS)]
    ]
    assert np.isnan([row["miss_gap_pct"] for row in study.rows]).all()
    check_refused(
        lambda: gaps.with_gaps(SimpleNamespace(scenario=cg.cluster.Scenario())),
        ["a scenario of rented slots"],
    )


def test_without_an_interval_there_are_no_corners_of_one():
    """Of one seed, and of two in a replayed market that begin on its only day."""
    days = cg.StockSeries("RTX 3090", (0.0,), (0,), 1.5 * 86_400, 8.0)
    replayed = replace(cg.day("quiet"), market=cg.Market(series=(days,)))
    for scenario, seeds in ((odd(0), (0,)), (replayed, (0, 1))):
        least = {0.0: [1.0] * len(seeds), inf: [2.0] * len(seeds)}
        result = Frontier(scenario, seeds, 600.0, least)
        assert result.corners == {"bound": [(1, 2)]}


@given(
    st.dictionaries(st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0, inf]), st.integers(0, 20))
)
@example({0.5: 0})  # these lines meet at a negative wait
def test_corners_give_the_fewest_misses_at_each_wait(least):
    """Each is on it, and it is straight between two, and after the last."""
    result = made({1.0: 10} | least)
    corners = result.corners["bound"]
    for wait, miss in [*corners, (corners[-1][0] + 1, corners[-1][1])]:
        assert result.miss_pct(wait + 1e-9) == pytest.approx(miss, abs=1e-6)
    for (wait, miss), (later, less) in pairwise(corners):
        assert result.miss_pct((wait + later) / 2) == pytest.approx((miss + less) / 2)
        assert miss > less


def test_three_lines_through_a_point_have_one_corner():
    """Wait >= .3, miss >= .1, wait + .7 miss >= .37: rounded, their corners differ."""
    assert len(made({0.0: 0.3, 0.7: 0.37, inf: 0.1}).corners["bound"]) == 1


def test_the_frontier_is_the_bounds_at_its_prices():
    """Of jobs that never miss, 0 is the only bound of the misses."""
    load = replace(odd(0).workload, deadlines=(cg.DeadlineClass("late", 1.0, 1e6),))
    case, weights = replace(odd(0), workload=load), Weights(wait=1, miss=2)
    result = frontier(case, [0, 1], prices=(2.0, inf), bin_s=3600)
    assert (result.seeds, result.bin_s) == ((0, 1), 3600)
    assert result.least == {
        2.0: [lower_bound(case, seed, weights, 3600).value for seed in (0, 1)],
        inf: [0.0, 0.0],
    }


test_prices_are_checked = refusals(
    ({"prices": ()}, "prices"),
    ({"prices": (1.0, 1.0)}, "prices"),
    ({"prices": (-1.0,)}, "price"),
    call=lambda given: frontier(odd(0), [0], **given),
)


# ---- the command ----


@pytest.mark.parametrize(
    ("line", "jobs"),
    [
        ("bound hectic --objective miss --seeds 60 --bin 5", 60 * 950),
        (
            "bound hectic --frontier --seeds 30 --policies fifo,edf",
            30 * (7 + 2 * 20) * 950,
        ),
        ("compare hectic --gap --seeds 100 --policies fifo", 100 * (2 + 20) * 950),
    ],
)
def test_an_hour_of_bounds_is_announced_before_it_starts(capsys, line, jobs):
    assert main(line.split()) == 2
    error = capsys.readouterr().err
    assert f"{jobs:,} jobs" in error
    assert "bounded" in error and "add --yes to start anyway" in error


def test_an_invalid_bound_is_rejected_before_the_comparison(capsys, tmp_path):
    words = "compare hectic terms.preemption_per_h=0.1 --policies fifo --gap --seeds 2"
    check_bad_input(
        outcome(capsys, *words.split(), "--out", str(tmp_path / "out")),
        ["no bound known: preemption_per_h of the terms"],
    )
    assert not (tmp_path / "out").exists()


SMALL = ("bound", "quiet", "jobs=3", "--seeds", "2")


@pytest.mark.slow
def test_the_frontier_of_one_seed_has_no_intervals_in_print(capsys):
    line = "bound quiet jobs=1 --seeds 1 --frontier --bin 1440 --policies fifo"
    assert "±" not in output(capsys, *line.split())


def frontier_axes(rows):
    """The Axes with a drawn frontier."""
    canvas = Canvas()
    draw_frontier(canvas, rows)
    return canvas.axes[0]


def test_the_frontier_of_one_seed_has_no_intervals_in_its_picture():
    corners = {"wait_min_half": None, "miss_pct_half": None, "name": ""}
    rows = [{"kind": "bound", "wait_min": 10.0, "miss_pct": 5.0, **corners}]
    rows += [
        {**corners, "kind": "policy", "name": "edf", "wait_min": 12.0, "miss_pct": 9.0}
    ]
    rows[1] |= {"wait_min_half": np.nan, "miss_pct_half": np.nan}
    texts = frontier_axes(rows).get_legend().texts
    labels = [text.get_text() for text in texts]
    assert labels == ["edf", "lower bound", "below the bound"]


def test_the_frontier_is_redrawn_with_its_title(tmp_path):
    halves = {"wait_min_half": 1.0, "miss_pct_half": 1.0, "title": "a title"}
    rows = [
        {"kind": kind, "name": "edf", "wait_min": 10.0, "miss_pct": 5.0, **halves}
        for kind in ("bound", "policy")
    ]
    write_csv(tmp_path / "frontier.csv", rows)
    [ax] = FRONTIER.redraw(tmp_path / "frontier.csv").axes
    assert ax.get_legend().get_title().get_text() == "a title"


def test_the_intervals_of_policies_near_the_frontier_end_within_the_axes():
    whole = {"name": "edf", "wait_min": 30.0, "wait_min_half": 9.0}
    rows = [{"kind": "bound", "wait_min": 10.0, "miss_pct": 5.0}]
    rows += [{**whole, "kind": "policy", "miss_pct": 9.0, "miss_pct_half": 4.0}]
    ax = frontier_axes(rows)
    assert ax.get_xlim()[1] > 39 and ax.get_ylim()[1] > 13


@pytest.mark.slow
def test_the_frontier_is_printed_and_drawn(capsys, tmp_path):
    options = (
        "--frontier",
        "--bin",
        "30",
        "--policies",
        "fifo,edf",
        "--report",
        str(tmp_path),
    )
    content = json.loads(output(capsys, *SMALL, *options, "--format", "json"))
    kinds = {point["kind"] for point in content["figures"]}
    assert kinds == {"policy", "bound", "low", "high"}
    assert (tmp_path / "frontier.png").stat().st_size > 10_000
    assert (tmp_path / "frontier.csv").read_text().count("policy,") == 2
