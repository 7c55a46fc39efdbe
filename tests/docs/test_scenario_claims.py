"""The first lines of scenarios/ hold with other seeds than theirs: pytest -m long."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import script

import cgrsp_simpy as cg
from cgrsp_simpy.market.stock import Stock

SCENARIOS = Path(__file__).parents[2] / "scenarios"
OFFERS = [
    Path(__file__).parents[3] / "shared" / "data" / "gpu_market" / f"{name}.jsonl.gz"
    for name in ("H100_80GB_SXM5", "A100_80GB_PCIe")
]
LOG = (
    Path(__file__).parents[3]
    / "shared"
    / "data"
    / "alibaba_genai_2026"
    / "lora_request_trace.csv"
)
ZONE = (
    Path(__file__).parents[3]
    / "shared/data/spot_traces/availability/1-node"
    / "aws-02-15-2023/us-east-1f_v100_1.json"
)
SEEDS = range(6000, 6030)

pytestmark = pytest.mark.long


def less(study, figure, first, second):
    """Return whether a policy's figure is certainly below another's, pair by pair."""
    return (
        cg.statistics.paired_difference(
            study.values(first, figure), study.values(second, figure)
        ).high
        < 0
    )


def test_adaptive_fails_hps_is_touchy_but_less():
    adaptive_fails, seeds = script("adaptive_fails"), range(701, 713)
    weight = [
        adaptive_fails.moved("adaptive", "adaptive:efficiency=0.44", seed)
        for seed in seeds
    ]
    boost = [adaptive_fails.moved("hps", "hps:aging_boost=2.2", seed) for seed in seeds]
    assert cg.statistics.mean(boost).low > 0
    assert cg.statistics.paired_difference(weight, boost).low > 0
    out = (SCENARIOS / "adaptive_fails.out").read_text(encoding="utf-8")
    more, half = map(
        float,
        re.search(r"adaptive moves (\S+) ± (\S+) points more than hps", out).groups(),
    )
    assert more - half > 0


def test_policies_with_the_least_waits_and_misses_on_the_hectic_day():
    study = cg.compare(
        cg.day("hectic"), ["fifo", "spt", "edf", "rh", "cadr"], range(6100, 6190)
    )
    assert all(
        less(study, "wait_min", best, other)
        for best in ("spt", "rh")
        for other in ("fifo", "edf", "cadr")
    )
    assert all(
        less(study, "miss_pct", best, other)
        for best in ("rh", "cadr")
        for other in ("fifo", "spt", "edf")
    )
    assert less(study, "tardiness_min", "cadr", "rh")


def test_how_many_slots_six_or_eight():
    for slots, enough in (
        (5, ()),
        (6, ("cadr",)),
        (7, ("cadr",)),
        (8, ("fifo", "rh", "cadr")),
    ):
        study = cg.compare(cg.day("hectic", slots=slots), ["fifo", "rh", "cadr"], SEEDS)
        assert (
            tuple(
                policy
                for policy, row in study.means().items()
                if row["miss_pct"].high <= 1
            )
            == enough
        )


def test_own_policy_last_in_first_out_keeps_the_wait_and_is_later():
    own = script("own_policy")
    study = cg.compare(cg.day("hectic"), ["fifo", own.youngest_first], SEEDS)
    wait = cg.statistics.paired_difference(
        study.values("youngest_first", "wait_min"), study.values("fifo", "wait_min")
    )
    assert abs(wait.mean) < 2 * wait.half_width < 12
    assert less(study, "tardiness_min", "fifo", "youngest_first")


@pytest.mark.parametrize("seed", [601, 602])
def test_deadline_week_tardiness_is_a_quarter(seed):
    tasks = cg.hgsp.generate(script("deadline_week").WEEK, seed=seed)
    fifo = cg.hgsp.greedy_assignment(tasks, range(tasks.tasks), least_start=True)
    atc = cg.hgsp.dispatch(tasks, cg.hgsp.RULES["atc"])
    assert (
        3.5 < fifo.metrics["weighted_tardiness"] / atc.metrics["weighted_tardiness"] < 5
    )


@pytest.mark.skipif(not OFFERS[0].is_file(), reason="the snapshots are not here")
def test_replayed_month_hardly_waits_except_on_days_without_stock():
    day = script("replay_month").replayed(OFFERS, free_types=True, sight="now")
    waits, out_of_stock = [], []
    for seed in range(6000, 6040):
        stock = Stock(day.market, seed)
        met = [[stock.status(gpu, 600.0 * k, 0) for gpu in day.gpus] for k in range(48)]
        out_of_stock.append(np.mean([min(each) == cg.Status.LOW for each in met]))
        waits.append(cg.simulate(day, "watch", seed).summary()["wait_min"])
    waits, out_of_stock = np.array(waits), np.array(out_of_stock)
    assert np.median(waits) < 3
    assert out_of_stock[waits > 60].min() > 0.75
    assert waits[out_of_stock < 0.1].max() < 15


@pytest.mark.skipif(not ZONE.is_file(), reason="the trace is not here")
def test_spot_replayed_waits_are_the_replay_s_and_a_law_is_not_shown_to_take_others():
    own, seeds = script("spot_replayed"), range(6000, 6200)
    zone = cg.measured(ZONE)
    by_rate = cg.Terms(preemption_per_h=own.per_h(zone.series[0]), **own.SAVED)
    replay, law, rate = (
        cg.compare(own.rented(market, terms), ["edf"], seeds).means()["edf"]
        for market, terms in (
            (zone, own.TAKEN),
            (zone._replace(series=()), own.TAKEN),
            (None, by_rate),
        )
    )
    assert 0.5 < rate["lost_s"].mean / replay["lost_s"].mean < 1
    assert replay["wait_min"].mean > 3 * rate["wait_min"].high
    for figure in ("preemptions", "lost_s", "wait_min"):
        assert (
            law[figure].high > replay[figure].low
            and replay[figure].high > law[figure].low
        )
    assert law["wait_min"].low > 3 * rate["wait_min"].high


@pytest.mark.skipif(not LOG.is_file(), reason="the log is not here")
def test_a_logs_hours_spare_it_scarce_stock_until_its_peaks_queue():
    rates_of_a_log = script("rates_of_a_log")
    log = cg.trace(LOG, format="gentd26", window=rates_of_a_log.WINDOW)
    rates = cg.arrival_rates(log.workload)
    even = replace(rates, per_h=[sum(rates.per_h[0]) / 24] * 24)

    def wait(each, times):
        day = rates_of_a_log.day(log, each, times)
        return cg.compare(day, ["cadr"], range(6000, 6020)).means()["cadr"]["wait_min"]

    own, spread = wait(rates, 1), wait(even, 1)
    assert own.mean == pytest.approx(11, abs=2)
    assert spread.mean == pytest.approx(30, abs=4)
    assert own.high < spread.low
    assert wait(rates, 4).low > wait(even, 4).high


def test_real_log_waits_eleven_minutes_by_low_stock():
    log = cg.trace(LOG, format="gentd26", window="2024-11-20:2024-11-22")
    runs = [cg.simulate(log, "fifo", seed) for seed in range(6000, 6040)]
    wait = cg.statistics.mean([run.summary()["wait_min"] for run in runs])
    assert 10 < wait.low < wait.high < 13
    assert cg.statistics.mean(
        [(run.jobs["status"] == cg.Status.LOW).sum() for run in runs]
    ).mean == pytest.approx(17, abs=1)
    assert log.known().offered_load == pytest.approx(0.08, abs=0.005)


def test_warm_or_cold_a_minute_on_a_hectic_day():
    warm_or_cold = script("warm_or_cold")
    cold, warm = (warm_or_cold.days("hectic", kept_s, SEEDS) for kept_s in (0, 60))
    assert 0.70 < 1 - warm["wait_min"] / cold["wait_min"] < 0.82
    rent = [day["cost_usd"] - day["provisioning_usd"] for day in (cold, warm)]
    assert 1.03 < rent[1] / rent[0] < 1.07
    assert 0.60 < 1 - warm["cost_usd"] / cold["cost_usd"] < 0.72
    cold, five, thirty = (
        warm_or_cold.days("normal", kept_s, SEEDS) for kept_s in (0, 300, 1800)
    )
    rent = [day["cost_usd"] - day["provisioning_usd"] for day in (cold, five, thirty)]
    assert 3.3 < rent[1] / rent[0] < 5
    assert 8 < rent[2] / rent[0] < 12
    assert thirty["wait_min"] < 0.25 * cold["wait_min"]
    assert 1 < cold["wait_min"] - five["wait_min"] < 3


def test_slots_by_the_hour_the_rule_is_best_if_slots_boot_quickly():
    slots = script("slots_by_the_hour")
    for boot_s, best in zip(slots.BOOTS_S, ("threshold rule", "1 slot, ")):
        usd = {
            name: np.mean([slots.cost_of(day, seed)[0] for seed in SEEDS])
            for name, day in slots.plans(boot_s).items()
        }
        cheapest = min(usd, key=usd.get)
        assert cheapest.startswith(best)
        fixed = min(usd[name] for name in usd if "always open" in name)
        assert usd[cheapest] < 0.4 * fixed
        assert (usd["threshold rule"] > 2 * fixed) == (best == "1 slot, ")


@pytest.mark.parametrize("overhead", [0.05, 0.2])
def test_waiting_until_the_safety_net_costs_nearly_as_much_as_on_demand(overhead):
    market = cg.spot.TwoState(up_h=2.3, down_h=1.6)
    day = cg.spot.Scenario(market, hours=48.0, deadline=52.0, overhead=overhead)
    study = cg.compare(day, ["greedy", "uniform-progress"], SEEDS)
    assert 85 < study.means()["greedy"]["cost_pct"].mean < 100
    assert less(study, "cost_pct", "uniform-progress", "greedy")


def test_how_many_zones_each_one_saves_and_the_second_the_most():
    """Under greedy the second one does not save the most."""
    market = cg.spot.TwoState(up_h=1.0, down_h=3.0)
    day = cg.spot.Scenario(market, hours=24.0, deadline=28.0)
    policies = ["greedy", "uniform-progress"]
    study = cg.sweep(day, {"zones": [1, 2, 3, 4]}, policies, range(6000, 6020))
    for policy in policies:
        means = [each.means()[policy]["cost_pct"].mean for each in study.studies]
        saved = -np.diff(means)
        assert saved.min() > 0
        assert (saved.argmax() == 0) == (policy != "greedy")


def test_spot_checkpoints_youngs_interval_is_near_the_best():
    own = script("spot_checkpoints")
    minutes = (2, 5, 10, 20, 40, 80, None)
    cost = {
        each: own.figures(own.SPOT_USD, own.spot(each and 60 * each), SEEDS)["cost_usd"]
        for each in minutes
    }
    dear = own.figures(own.ON_DEMAND_USD, cg.Terms(), SEEDS)["cost_usd"]
    assert cost[20] < 1.01 * min(cost.values())
    assert max(cost[10], cost[40]) < 1.05 * cost[20]
    assert min(cost[2], cost[80]) > 1.1 * cost[20]
    assert 0.3 < 1 - (dear - cost[None]) / (dear - cost[20]) < 0.6
