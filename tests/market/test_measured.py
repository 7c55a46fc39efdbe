"""Markets from snapshots: the fitted model, scenarios on it, the command, the
catalogue.
"""

import json
import math
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from market.snapshots import trace
from support import check_refused, output, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.base.files import naming_nothing
from cgrsp_simpy.cli import main
from cgrsp_simpy.market.gpu import GPUS_2025
from cgrsp_simpy.market.measured import (
    PolledModel,
    Polls,
    StockFit,
    measured_toml,
    series_of,
)
from cgrsp_simpy.market.model import Holding
from cgrsp_simpy.market.series import Snapshots, read_market
from cgrsp_simpy.market.stock import Stock

DATA = Path(__file__).parents[3] / "shared" / "data"


def made(status, step_s=600.0, gpu="A", start=None):
    """Snapshots with one status per step."""
    time_s, none = np.arange(len(status)) * step_s, np.full(len(status), np.nan)
    return Snapshots(gpu, time_s, np.array(status), none, start)


def simulated(tau_s, step_s, days, seed, chances, **scales):
    """Snapshots of a model."""
    gpu = cg.THESIS_GPUS[0]
    own = cg.HourlyStock(gpu.name, chances, tau_s, **scales)
    market = cg.Market(cg.Clock(((0, 1.0),)), stock=(own,))
    stock = Stock(market, seed)
    times = np.arange(0, days * 86400, step_s)
    return made(
        [int(stock.status(gpu, float(at), 0.0)) for at in times], step_s, gpu.name
    )


# ---- the model ----

FEW, MANY = Holding(9000.0), Holding(40_000.0, 5000.0, 0.7, 1200)


@pytest.mark.parametrize(
    ("tau_s", "step_s", "days"),
    [
        pytest.param(900.0, 195.0, 500, marks=pytest.mark.long),
        pytest.param(6120.0, 600.0, 1000, marks=pytest.mark.slow),
        pytest.param(18000.0, 1800.0, 5000, marks=pytest.mark.long),
    ],
)
def test_a_known_model_is_recovered_by_the_fit(tau_s, step_s, days):
    """Tau within 10 %, and, over each quarter of the day, shares within two points.
    Seeds 0 to 2.

    500, 1000 and 5000 days of snapshots: the standard error of a share over a quarter
    of the day is about .5 sqrt(2 tau / 6 h / days), 0.6, 1.2 and 0.9 points at the
    most.
    """
    day = [(0.7, 0.2, 0.1)] * 8 + [(0.3, 0.3, 0.4)] * 8 + [(0.1, 0.2, 0.7)] * 8
    for seed in range(3):
        result = cg.fit_stock(simulated(tau_s, step_s, days, seed, day)).stock
        assert result.persistence_s == pytest.approx(tau_s, rel=0.10)
        for part in range(4):
            own = slice(6 * part, 6 * part + 6)
            true, fitted = (
                np.mean(each[own], axis=0) for each in (day, result.chances)
            )
            assert np.abs(true - fitted).max() <= 0.02


def test_shares_of_two_statuses_sum_to_one_after_rounding():
    """1/160 and 159/160 of the polls of an hour would both be rounded up."""
    stock = cg.fit_stock(made([0, 1, 1, 1] * 24 + [1] * 96 * 39, 900.0)).stock
    assert stock.chances == ((0.0063, 0.9937, 0.0),) * 24


TWO = {"switch_s": 900.0, "first_share": 0.8, "every_s": 600}


@pytest.fixture(scope="module")
def two():
    """The fit to 300 days of polls of a model of two scales, seed 0."""
    return cg.fit_stock(
        simulated(36000.0, 600.0, 300, 0, [(0.6, 0.0, 0.4)] * 24, **TWO)
    )


@pytest.mark.slow
def test_a_known_model_of_two_scales_is_recovered_by_the_fit(two):
    """The greater of p and 1 - p."""
    result = two.stock
    assert result.persistence_s == pytest.approx(36000, rel=0.15)
    assert result.switch_s == pytest.approx(900, rel=0.15)
    assert result.first_share == pytest.approx(0.8, abs=0.04)
    assert result.every_s == 600
    model = cg.Market(stock=(result,)).holding(result.gpu)
    for lag in (1, 6, 36, 72):
        same = 0.68 + 0.32 * math.exp(-600 * lag / 900)
        assert model.kept(0, 600 * lag) == pytest.approx(
            math.exp(-lag / 60) * same, abs=0.03
        )


@pytest.mark.slow
def test_the_model_gives_runs_and_the_share_of_short_ones(two):
    """Against a simulation of 300 days of the fitted model, seed 5."""
    result = two.stock
    scales = {name: getattr(result, name) for name in TWO}
    again = Polls(
        simulated(result.persistence_s, 600.0, 300, 5, result.chances, **scales)
    )
    assert two.short_pct == pytest.approx(again.short_pct, abs=3)
    assert two.polls.short_pct == pytest.approx(again.short_pct, abs=3)
    for low in (True, False):
        assert two.run_h(low) == pytest.approx(again.run_h(low), rel=0.1)
        assert two.run_h(low) == pytest.approx(two.polls.run_h(low), rel=0.05)


def test_short_runs_by_hand():
    """Of the runs between others: 2 polls, 1, 3 and 1, of ten minutes; those at gaps
    and ends, not.
    """
    polls = Polls(made([0, 2, 2, 0, 2, 2, 2, 0, 2, -1, 0, 2, 0]))
    assert polls.short_pct == pytest.approx(100 * 3 / 5)
    law = cg.HourlyStock("A", [(0.5, 0.0, 0.5)] * 24, 900.0)
    for step_s, share in ((900.0, 50 * (1 - math.exp(-1))), (901.0, math.nan)):
        polls = Polls(made([0, 2, 0], step_s))
        assert StockFit(polls, law).short_pct == pytest.approx(share, nan_ok=True)
        kept = pytest.approx(math.exp(-step_s / 900), rel=1e-9)
        assert StockFit(polls, law).correlation(step_s / 3600) == kept
        assert math.isnan(polls.short_pct) == math.isnan(share)


def test_halves_that_differ_are_reported_and_the_second_is_compared_with_the_first(
    file, capsys, caplog
):
    """6 days Low a third of the time, then 6 days two thirds; days are alike within a
    half.
    """
    rng = np.random.default_rng(0)
    low = [rng.random(144 * 6) < share for share in (1 / 3, 2 / 3)]
    status = [2 * int(each) for half in low for each in half]
    fit = cg.fit_stock(made(status))
    apart, _ = fit.polls.drift_pct
    assert math.isnan(fit.later.polls.drift_pct[1])  # of six days
    path = file(trace([1 - each // 2 for each in status]), "zone.json")
    with caplog.at_level("WARNING"):
        assert main(["market", "fit", str(path), "--format", "json"]) == 0
    assert f"zone drifts: {apart:+.0f} ± " in caplog.text
    result = json.loads(capsys.readouterr().out)
    [row], [later] = result["figures"], result["second_halves"]
    assert row["low_pct"] == pytest.approx(row["low_pct_law"], abs=0.1)
    assert later["low_pct"] > later["low_pct_law"] + 30
    assert cg.fit_stock(made(status[: 144 * 3])).later is None


@pytest.mark.parametrize(
    ("time_s", "status"),
    [
        # 6 s after a step there is one more, 5 s after a step there is none
        ((0, 10, 20, 36), (0, 1, 2, 2, 3)),
        ((0, 10, 20, 35), (0, 1, 2, 2)),
        # a status of 15 s ago is seen, one of 20 s ago is not
        ((0, 10, 15, 45, 55), (0, 1, 2, 2, -1, 3)),
        ((0, 10, 20, 45, 55), (0, 1, 2, 2, -1, 3)),
    ],
)
def test_the_last_status_is_seen_for_a_step_and_a_half(time_s, status):
    polls = Polls(replace(made(range(len(time_s))), time_s=np.array(time_s, float)))
    assert polls.status.tolist() == [*status]


@pytest.mark.parametrize(
    ("holding", "low", "recovery_s"),
    [
        (Holding(900.0), 0.3, 900.0),
        (Holding(900.0, 100.0, 0.7, 60.0), 0.0, 900.0),
        # the first level alone is shown: a step ends it unless it is kept, or Low again
        (Holding(900.0, 100.0, 1.0, 60.0), 0.3, 60 / (1 - math.exp(-60 / 900))),
        (Holding(900.0, 100.0, 0.0, 60.0), 0.8, 60 / (1 - math.exp(-60 / 900))),
        # both levels are drawn again at each step
        (Holding(0.0, 100.0, 0.5, 60.0), 0.4, 60.0),
    ],
)
def test_the_mean_time_until_low_stock_ends_by_hand(holding, low, recovery_s):
    assert holding.recovery_s(low) == pytest.approx(recovery_s)


def test_runs_and_gaps_by_hand():
    polls = Polls(made([2, 2, 0, 0, 0, 2, -1, -1, 0, 2], 3600.0))
    assert (polls.gaps_h, polls.shares) == ([2.0], [0.5, 0.0, 0.5])
    # two steps begin in Low stock with a successor seen, one of them leaves it
    assert [polls.run_h(low) for low in (True, False)] == pytest.approx([2 / 1, 4 / 2])
    for status, lag_h in (
        ([2] * 9, 1 / 6),  # no variance
        ([0, -1] * 5, 1 / 6),  # no pairs
        ([0, 2] * 5, 10 / 6),
        ([0, 2] * 5, 1 / 15),  # no step
        ([-1] * 9, 1 / 6),  # no polls
    ):
        assert np.isnan(Polls(made(status)).correlation(lag_h)).all()
    assert np.isnan(Polls(made([-1] * 9)).shares).tolist() == [True] * 3
    # ten million steps are allowed
    assert Polls(replace(made([0] * 4), time_s=np.array([0, 1, 2, 1e7]))).step_s == 1


def test_the_drift_by_hand():
    """Low stock at 2, 5, ... of the 24 polls of ten days; of nine days too little is
    known.
    """
    low = np.array([2, 5, 4, 8, 6, 11, 9, 10, 7, 8])
    status = (np.arange(24) < low[:, None]).ravel() * 2
    apart = (low - np.repeat([5, 9], 5)) / 0.24
    width = 2 * cg.statistics.mean(apart, in_order=True).half_width
    for days, expected in ((10, (4 / 0.24, width)), (9, (4.25 / 0.24, math.nan))):
        drift = Polls(made(status[: 24 * days], 3600.0)).drift_pct
        assert drift == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("run", "scales"),
    [
        # at each poll: the least of each, tau a step, s a step / ln 1e9, and p 1/2
        (1, (600.0, 29.0, 0.5, 600)),
        (144, None),  # every day: no second scale
        (1000, (2_592_000.0, 0.0, 1.0, 0)),  # never: the greatest tau, 30 days
        (None, (54_029.6, 953.7, 0.7525, 600)),  # drawn from a model: a recorded value
    ],
)
def test_the_scales_of_stock_that_alternates_after_so_many_polls(run, scales):
    drawn = simulated(36000.0, 600.0, 6, 0, [(0.6, 0.0, 0.4)] * 24, **TWO).status
    status = np.arange(144 * 6) // run % 2 * 2 if run else drawn
    model = PolledModel(Polls(made(status)), np.array([(0.5, 0.0, 0.5)] * 24))
    assert model.two_scales() == pytest.approx(scales or model.one_scale(), rel=1e-3)
    # without one half of the days, there is nothing to compare two scales with
    half = np.where(np.arange(144 * 6) // 144 % 2, -1, drawn)
    assert cg.fit_stock(made(half)).stock.switch_s == 0.0


def test_a_formula_is_evaluated_pair_by_pair():
    """Against sums over all pairs of polls, and over twenty equal parts of U."""
    rng = np.random.default_rng(3)
    chances = (1 + rng.multinomial(17, [0.4, 0.2, 0.4], 24)) / 20
    parts = (np.arange(20) + 0.5)[:, None] / 20
    x = (parts > np.cumsum(chances, axis=1)[:, None, :2]).sum(axis=2)  # (hours, parts)
    status, hour = rng.integers(-1, 3, 300), (5 + np.arange(300) // 3) % 24
    status[72:144] = -1  # a day without polls; the last one has not all lags
    model = PolledModel(
        Polls(made(status, 1200.0, start=datetime(2025, 1, 1, 5))), chances
    )
    known = x[hour[status >= 0]]

    def pairs_of(lag):
        for n in range(300 - lag):
            if min(status[n], status[n + lag]) >= 0:
                yield n, x[hour[n]], x[hour[n + lag]], status[n], status[n + lag]

    def logarithm(holding, lag, one, other, before, after):
        w, here = holding.kept(0, 1200 * lag), one == before
        both = np.mean(here & (other == after)) / here.mean()
        return math.log(w * both + (1 - w) * np.mean(other == after))

    def gain(lag, day):
        return np.mean(
            [
                logarithm(MANY, lag, *pair) - logarithm(FEW, lag, *pair)
                for n, *pair in pairs_of(lag)
                if n // 72 == day
            ]
        )

    for lag in (1, 5):
        _, first, then, before, after = map(np.array, zip(*pairs_of(lag)))
        same, means = np.mean(first * then, axis=1), (first.mean(1), then.mean(1))
        apart = means[0] * means[1]
        kept = np.sum((before - means[0]) * (after - means[1])) / np.sum(same - apart)
        assert model.kept(lag) == pytest.approx((kept, len(before)))
        covariance = np.mean(0.3 * same + 0.7 * apart) - known.mean() ** 2
        assert model.correlation(lag, 0.3) == pytest.approx(covariance / known.var())
    for low in (True, False):
        one, other = (
            ((x == 2) == low) for x in map(np.array, [*zip(*pairs_of(1))][1:3])
        )
        stays = 0.3 * np.mean(one & other, axis=1) + 0.7 * one.mean(1) * other.mean(1)
        ends = (one.mean(1) - stays).sum()
        assert model.runs(low, 0.3) == pytest.approx((stays.sum(), ends))
    lags = (1, 2, 3, 5, 7, 11, 16, 24, 36)
    gains = [np.mean([gain(lag, day) for lag in lags]) for day in (0, 2, 3)]
    assert model.tells_more(MANY, FEW) == pytest.approx(gains)


def test_a_fit_takes_two_days_and_is_compared_with_the_second_half_of_four():
    """Of stock that is certain in every hour, tau is 0."""
    statuses = (np.arange(polls) % 2 * 2 for polls in (48, 96, 97))
    fits = [cg.fit_stock(made(status, 3600.0)) for status in statuses]
    assert [fit.stock.persistence_s for fit in fits] == [0.0] * 3
    assert fits[0].later is fits[1].later is None
    assert fits[2].later.polls.seen.sum() == 49


test_snapshots_that_are_too_short_or_sparse_are_rejected = refusals(
    (
        made([0, 2] * 10),
        "length of the series of A(='3.2 h') must be at least 48 h for a fit",
    ),
    (made([0] * 287), "length of the series of A(='47.7 h') must be at least 48 h"),
    (made([-1] * 300), "snapshots of A that were fetched(=0) must be at least one"),
    (made([0, 1] * 60, 7200.0), "time between snapshots of A(='7200 s') must be"),
    (made([0]), "snapshots of A(=1) must be at least two"),
    call=lambda series: cg.fit_stock(series),
)


# ---- replay and scenarios ----


def test_a_replay_holds_each_status_until_the_next_fetched_one():
    [own] = series_of([made([-1, 2, 2, -1, 0, 1, -1], 600.0)])
    assert own == cg.StockSeries("A", (0, 2400, 3000), (2, 0, 1), 4200, 0)


def test_series_with_dates_keep_their_distance():
    starts = (datetime(2025, 1, 1, hour, 30, 36) for hour in (6, 7))
    one, other = (made([0, 2], 600.0, gpu, start) for gpu, start in zip("AB", starts))
    first, second = series_of([one, other])
    assert (first.times_s, first.start_h) == ((0.0, 600.0), 6.51)
    assert (second.times_s, second.start_h) == ((0.0, 4200.0), 6.51)
    check_refused(
        lambda: series_of([one, made([0, 2])]), "all with dates or all without dates"
    )


def test_series_without_dates_of_a_file_keep_their_distance_and_begin_again_together(
    tmp_path,
):
    """B is recorded from an hour after A on, and an hour longer."""
    path = tmp_path / "own.csv"
    rows = [(600 * n, "A", 2 * (n > 2)) for n in range(6)]
    rows += [(3600 + 600 * n, "B", 2 * (n > 3)) for n in range(6)]
    words = ("high", "medium", "low")
    lines = [f"{at_s},{gpu},{words[status]}" for at_s, gpu, status in sorted(rows)]
    path.write_text("\n".join(["time,type,status", *lines]), encoding="utf-8")
    both = read_market(path)
    assert [(each.begins_s, each.start_h) for each in both] == [
        (0.0, 0.0),
        (3600.0, 1.0),
    ]
    first, second = series_of(both)
    assert (first.times_s, second.times_s) == ((0.0, 1800.0), (0.0, 6000.0))
    for series in (first, second):
        assert (series.statuses, series.length_s, series.start_h) == ((0, 2), 7200, 0)


@pytest.fixture
def snapshots(tmp_path):
    """Six days of two types, by the half hour."""
    rng, path = np.random.default_rng(0), tmp_path / "month.csv"
    rows = ["time,type,status,price"]
    for name, price in (("new", 3.5), ("old", 0.5)):
        status = rng.integers(0, 3, 24 * 3).repeat(4)
        at = np.datetime64("2025-10-01T00:00:00") + np.arange(
            len(status)
        ) * np.timedelta64(1800, "s")
        message = ("high", "medium", "low")
        rows += [f"{t},{name},{message[s]},{price}" for t, s in zip(at, status)]
    path.write_text("\n".join(rows))
    return path


@pytest.mark.slow
def test_stock_models_survive_a_file(snapshots, tmp_path, capsys):
    path = tmp_path / "laws.toml"
    assert main(["market", "fit", str(snapshots), "--out", str(path)]) == 0
    fits = [cg.fit_stock(each) for each in read_market(snapshots)]
    result = cg.measured(path)
    assert result.stock == tuple(fit.stock for fit in fits)
    assert (result.prices, result.series) == ({"new": 3.5, "old": 0.5}, ())
    assert measured_toml(fits) == path.read_text()
    words = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line]
    assert words == ["snapshots", "type", "new", "old", "the", "type", "new", "old"]


def test_a_scenario_on_a_market_has_its_stock_prices_and_series(snapshots):
    day = cg.day("quiet", jobs=10)
    names = {"RTX 3090": "new", "RTX A4000": "old"}
    result = cg.on_market(day, cg.measured(snapshots), names, "now")
    for parts in (result.market.stock, result.market.series):
        assert [part.gpu for part in parts] == list(names)
    assert [gpu.price_usd_per_h for gpu in result.gpus] == [3.5, 0.27, 0.25, 0.5]
    assert [gpu.price_usd_per_h for gpu in result.slots] == [3.5, 0.27, 0.25, 0.5, 3.5]
    assert result.known().market.series == ()
    run, stock = cg.simulate(result, "watch", 3), Stock(result.market, 3)
    for record in run.jobs:
        if result.gpus[record["gpu"]].name in names:
            gpu = result.gpus[record["gpu"]]
            assert record["status"] == stock.status(gpu, record["dispatch_s"], 0.0)


LAWS = f"[[stock]]\ngpu = 'A'\nchances = {[[0.5, 0.25, 0.25]] * 24}\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "[[stock]](=0) must be at least one table"),
        ("[[stock]]\ngpu = 'A'\n", "[[stock]] lacks chances"),
        ("stock = 3", "must be a list of tables"),
        (
            f"{LAWS}[[price]]\nusd_per_h = 1\n",
            "gpu of [[price]](=None) must be a GPU type's name",
        ),
        (
            f"{LAWS}[[price]]\ngpu = 'A'\nusd_per_h = -1\n",
            "usd_per_h of A(=-1) must be a number >= 0",
        ),
        (
            f"{LAWS}[[price]]\ngpu = 'A'\nusd_per_h = 1\nusd = 1\n",
            "unknown key in [[price]] 'usd'",
        ),
        ("nonsense", "laws.toml: not TOML (Expected '=' after a key"),
        (f"a = {'[' * 20_000}", "laws.toml: not TOML (nested too deeply)"),
        (
            f"a = {'9' * 5000}",
            "laws.toml: not TOML (a number with thousands of digits)",
        ),
        ("[market]\n", "unknown key in the file 'market'"),
    ],
)
def test_an_invalid_stock_model_file_is_reported(text, told, file):
    check_refused(lambda: cg.measured(file(text, "laws.toml")), [told])


@pytest.mark.parametrize("name", ["laws.toml", "laws.csv"])
def test_a_market_file_is_not_opened_if_no_text_may_name_one(name, file):
    with naming_nothing():
        check_refused(
            lambda: cg.measured(file(LAWS, name)), "opened only with --run-code"
        )


# ---- the command ----


def test_the_report_lists_shares_runs_gaps_and_correlations(file, capsys):
    path = file(trace([0, 0, 1, 1] * 100, 900), "zone.json")
    [row] = json.loads(
        output(capsys, "market", "report", str(path), "--format", "json")
    )["figures"]
    names = ("type", "snapshots", "gaps", "high_pct", "low_pct", "low_pct_by_hour")
    assert [row[name] for name in names] == ["zone", 400, 0, 50, 50, [50.0] * 24]
    assert (row["low_run_h"], row["r_0.5h"]) == pytest.approx((0.5, -1))
    assert "share of Low stock by hour of day, %" in output(
        capsys, "market", "report", str(path)
    )
    assert main(["market", "report", str(path), "--format", "csv"]) == 0


# ---- the catalogue ----


# github.com/lambdal/deeplearning-benchmark, pytorch/pytorch-train-throughput-fp16.csv
# at commit 0551cb7: ssd, bert base and large, gnmt, ncf, resnet50, tacotron2,
# transformer-xl base and large, waveglow
THROUGHPUT = {
    "RTX 3090": (236, 172, 52, 86080, 25118176, 905, 25018, 22863, 7821, 97100),
    "A100_80GB PCIe": (
        437,
        415,
        140,
        227949,
        29393923,
        1527,
        58956,
        41602,
        17082,
        234859,
    ),
    "H100_80GB SXM5": (
        782,
        812,
        301,
        467071,
        52418903,
        2616,
        78108,
        62259,
        30841,
        393500,
    ),
}


def test_the_catalogue_s_speeds_are_geometric_means_of_the_published_throughputs():
    ours, thesis = THROUGHPUT["RTX 3090"], cg.THESIS_GPUS[0].mean_execution_s
    for gpu in GPUS_2025:
        ratios = np.divide(THROUGHPUT[gpu.name], ours)
        assert gpu.speed == round(float(np.exp(np.log(ratios).mean())), 2)
        assert gpu.mean_execution_s == tuple(round(s / gpu.speed, 1) for s in thesis)


@pytest.mark.skipif(not DATA.is_dir(), reason="no real data here")
def test_the_catalogue_has_the_data_s_prices_and_shares():
    for path in (DATA / "gpu_market").glob("*.gz"):
        [own] = read_market(path)
        [gpu] = [each for each in GPUS_2025 if each.name == own.gpu]
        assert gpu.price_usd_per_h == np.nanmedian(own.price_usd_per_h)
        fetched = own.status[own.status >= 0]
        assert gpu.high_stock_probability == pytest.approx(
            np.mean(fetched == 0), abs=5e-4
        )
