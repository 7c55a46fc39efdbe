"""The thesis's findings on other markets: how each is tested and what a verdict means;
a few of them on few seeds, against comparisons made otherwise.
"""

import csv
import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.market.measured import Measured
from cgrsp_simpy.papers.thesis import markets, persistence
from cgrsp_simpy.papers.thesis.experiments import (
    HECTIC,
    Excess,
    Measure,
    Source,
    average,
    pooled_d,
)
from cgrsp_simpy.papers.thesis.findings import (
    FAILS,
    FINDINGS,
    HOLDS,
    RECORDED,
    Claim,
    Criterion,
)
from cgrsp_simpy.papers.thesis.markets import DEPENDS, GONE, NO_MEANING, UNDECIDED
from cgrsp_simpy.papers.thesis.runs import reproduce
from cgrsp_simpy.studies.subject import subject_of

RECORD = Measured(
    (cg.HourlyStock("A", [(0.6, 0.3, 0.1)] * 24, 900.0),),
    {"A": 9.0},
    (cg.StockSeries("A", (0, 7200, 10800), (0, 2, 1), 90000.0, 8.0),),
)


class Given:
    """Values by seed in place of runs: of each part its own."""

    def __init__(self, *samples, days=None):
        self._samples, self.replications = iter(samples), len(samples[0][0])
        self._days = range(self.replications) if days is None else days

    def sample(self, measure, n):
        return [np.array(each, float) for each in next(self._samples)]

    def clusters(self, measure, n):
        return list(self._days)


def less(figure="wait_min", factor=1.0):
    sources = tuple(Source(HECTIC, policy, figure) for policy in ("spt", "fifo"))
    return Criterion("less", Measure(Excess(factor), sources), -math.inf, 0.0, 30)


@pytest.mark.parametrize(("seeds", "expected"), [(None, [30, 12]), (5, [5, 5])])
def test_a_finding_has_the_seeds_that_are_asked_for_else_its_own(
    seeds, expected, monkeypatch
):
    monkeypatch.setattr(persistence, "reproduce", lambda wanted, *_, **__: wanted)
    findings = [Claim("made", "", (less(), replace(less(), n=12)))]
    runs = persistence.Runs(finding_seeds=seeds, findings=findings)
    assert [n for _, n in runs._results(None)] == expected


def tied():
    sources = tuple(Source(HECTIC, policy, "wait_min") for policy in ("rh", "spt"))
    return Criterion("tied", Measure(pooled_d, sources), -0.8, 0.8, 30)


def parts_tested(parts, *samples, days=None):
    [found] = markets.tested(
        [Claim("here", "said", tuple(parts))], Given(*samples, days=days)
    )
    return found


ZERO = np.zeros(8)
NOISE = np.array([3.0, -4, 2, -1, 5, -3, 1, -2])
TEN = 10 + NOISE


@pytest.mark.parametrize(
    ("mine", "other", "expected"),
    [
        (TEN - 5 + 0.1 * NOISE, TEN, HOLDS),
        (TEN + 5 + 0.1 * NOISE, TEN, FAILS),
        (ZERO, ZERO, GONE),
        (TEN + 0.01 * NOISE, TEN, GONE),
        (TEN - 0.5 + 0.01 * NOISE, TEN, HOLDS),  # little, and its sign is sure
        (TEN + NOISE, TEN, UNDECIDED),
        (TEN - 5, TEN, HOLDS),  # by the same at each seed
    ],
)
def test_of_two_policies_one_is_surely_less_or_more_or_the_difference_is_gone(
    mine, other, expected
):
    [found] = parts_tested([less()], (mine, other))
    assert found.verdict == expected
    paired = cg.statistics.paired_difference(mine, other)
    assert (found.value, found.half_width) == pytest.approx(
        (paired.mean, paired.half_width)
    )
    assert found.p == pytest.approx(paired.p)


def test_a_part_against_a_multiple_is_paired_as_well():
    [found] = parts_tested([less("tardiness_min", 0.4)], (TEN, 3 * TEN + NOISE))
    test = stats.ttest_1samp(TEN - 0.4 * (3 * TEN + NOISE), 0.0)
    assert (found.value, found.p) == pytest.approx(
        (np.mean(TEN - 0.4 * (3 * TEN + NOISE)), test.pvalue)
    )


def test_p_values_are_adjusted_over_all_parts_of_all_findings_in_the_market():
    samples = [(TEN - shift + NOISE, TEN) for shift in (4.0, 3.0, 0.1)]
    findings = [Claim("a", "", (less(), less())), Claim("b", "", (less(),))]
    found = [each for own in markets.tested(findings, Given(*samples)) for each in own]
    p = [each.p for each in found]
    assert p[0] < p[1] < p[2]
    expected = [min(1, 3 * p[0]), max(3 * p[0], 2 * p[1]), max(2 * p[1], p[2])]
    assert [each.p_holm for each in found] == pytest.approx(expected)


def test_seeds_that_begin_on_one_day_of_a_record_count_once():
    """Four days, each met by two seeds that have the same: n is 4, p that of four
    values; and of one day there is nothing to tell.
    """
    days, differences = [0, 1, 2, 3, 3, 2, 1, 0], np.array([3.0, -1, 2, 1.5])
    mine = TEN + differences[days]
    [mean, effect] = parts_tested([less(), tied()], (mine, TEN), (mine, TEN), days=days)
    [alone] = parts_tested([less()], (10 + differences, 10 + ZERO[:4]))
    assert (mean.n, mean.value) == (4, pytest.approx(alone.value))
    assert (mean.half_width, mean.p) == pytest.approx((alone.half_width, alone.p))
    assert effect.value == pytest.approx(pooled_d(mine, TEN))
    [wider] = parts_tested([tied()], (np.tile(mine, 9), np.tile(TEN, 9)), days=days * 9)
    assert (effect.n, wider.n) == (4, 4)
    # more seeds, no more days
    assert wider.half_width == pytest.approx(effect.half_width, rel=0.2)
    [one] = parts_tested([less()], (mine - 90, TEN), days=[5] * 8)
    assert (one.n, one.p, one.p_gone, one.verdict) == (1, 1.0, 1.0, UNDECIDED)
    results = reproduce([], market=markets.replayed(RECORD, "none"))
    (month,) = (Source("month", "rh", "wait_min"),)
    assert set(results.clusters(Measure(average, (month,)), 10)) == {0}
    assert reproduce([]).clusters(Measure(average, (month,)), 3) == [0, 1, 2]
    # of 25 h, from the clock's hour on
    assert results.clusters(less().measure, 3) == [0, 0, 0]


def test_policies_that_never_differ_tie():
    [same, apart] = parts_tested([tied(), tied()], (ZERO, ZERO), (ZERO, ZERO + 1))
    assert (same.value, same.verdict, apart.verdict) == (0.0, HOLDS, FAILS)
    [alike] = parts_tested([tied()], (TEN, TEN[::-1]))
    assert alike.verdict != FAILS
    assert alike.p_gone == 1  # a tie is not a difference that may go


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([HOLDS, HOLDS], HOLDS),
        ([HOLDS, UNDECIDED], UNDECIDED),
        ([UNDECIDED, GONE], GONE),
        ([GONE, FAILS, UNDECIDED], FAILS),
    ],
)
def test_a_finding_in_a_market(parts, expected):
    assert markets.in_market(parts) == expected


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([HOLDS, HOLDS], HOLDS),
        ([FAILS, GONE], FAILS),
        ([HOLDS, GONE, UNDECIDED], DEPENDS),
        ([HOLDS, FAILS], DEPENDS),
        ([HOLDS, UNDECIDED], UNDECIDED),
        ([FAILS, UNDECIDED], UNDECIDED),
    ],
)
def test_a_finding_over_markets(verdicts, expected):
    assert markets.over_markets(verdicts) == expected


# ---- on runs ----

CADR = "Table 5.14, 6"  # misses about as little as RH

FEW = [each for each in FINDINGS if each.where == "Section 5.3"]
PUTS = {"thesis": (0, "none"), "15 min, seen": (15, "now")}


@pytest.fixture(scope="module")
def rows():
    """Two findings on two seeds, in two markets and a replayed one."""
    patch = pytest.MonkeyPatch()
    patch.setattr(persistence, "MARKETS", PUTS)
    runs = persistence.Runs(2, None, RECORD, 2, [*FEW, RECORDED[0]])
    yield runs.judged()
    patch.undo()


def row_of(rows, market, part):
    [found] = [row for row in rows if (row["market"], row["part"]) == (market, part)]
    return found


def test_the_same_finding_is_tested_on_each_market(rows):
    day = {
        "thesis": cg.day("hectic"),
        "15 min, seen": subject_of(HECTIC).varied(persistence_s=900, sight="now"),
    }
    for market, scenario in day.items():
        study = cg.compare(scenario, ["cadr", "adaptive", "fifo"], range(2))
        for figure in ("wait_min", "miss_pct", "tardiness_min"):
            row = row_of(rows, market, f"hectic: {figure} of CADR - Adaptive")
            mine, other = (
                study.values(policy, figure) for policy in ("cadr", "adaptive")
            )
            assert row["value"] == pytest.approx(np.mean(np.subtract(mine, other)))
            assert row["n"] == 2
        tight = row_of(rows, market, "hectic: tight_miss_pct of FIFO")
        assert tight["value"] == pytest.approx(
            study.means()["fifo"]["tight_miss_pct"].mean
        )
        low = row_of(rows, market, "hectic: dispatches that meet Low stock, %")
        shares = [
            np.mean(cg.simulate(scenario, "fifo", seed).jobs["status"] == 2)
            for seed in (0, 1)
        ]
        assert low["value"] == pytest.approx(100 * np.mean(shares))
    seen = {row["market"] for row in rows}
    assert seen == {*PUTS, "replay, blind", "replay, seen", "all"}


def test_a_day_on_stock_that_persists_is_run_once(monkeypatch):
    monkeypatch.setattr(persistence, "compare", lambda *given: given)
    runs = persistence.Runs(2)
    found = runs.study("hectic", 15, "now")
    scenario = cg.day("hectic", persistence_s=900.0, sight="now")
    assert found == (scenario, persistence.POLICIES, range(5000, 5002), None)
    assert runs.study("hectic", 15, "now") is found


def test_of_one_day_of_a_record_no_interval_is_printed(rows):
    told = persistence.FIGURES["findings"].table(rows)
    assert "n = 1: no interval (replay" in told
    assert "nan" not in told and " -0.00 ±" not in told


def test_what_no_run_can_judge_is_listed_with_the_reason(rows):
    none = [row for row in rows if row["in_group"] == NO_MEANING]
    assert [row["where"] for row in none] == [
        "Eq. 3.10",
        "Section 5.6",
        "Section 6.1.1",
        "Section 5.6",
    ]
    assert {row["part"] for row in none} == {markets.PRINTED_ALONE}


def test_a_replay_keeps_types_prices_and_times_and_takes_the_stock_in_turn():
    laws = [cg.HourlyStock(name, [(0.6, 0.3, 0.1)] * 24) for name in "AB"]
    series = [
        cg.StockSeries(name, (0,), (place,), 9e4) for place, name in enumerate("AB")
    ]
    market = Measured(tuple(laws), {"A": 9.0}, tuple(series))
    found = markets.replayed(market, "now")(HECTIC)
    assert (found.gpus, found.slots) == (HECTIC.gpus, HECTIC.slots)
    assert [(each.gpu, each.statuses) for each in found.market.series] == [
        (gpu.name, (place % 2,)) for place, gpu in enumerate(HECTIC.gpus)
    ]
    assert found.market.poll_s == 0


@pytest.mark.slow
def test_months_are_of_days_on_the_market():
    month = Measure(average, (Source("month", "fifo", "wait_min"),))
    found = [
        reproduce([(month, 1)], market=markets.persistent(tau_min, "none")).sample(
            month, 1
        )[0][0]
        for tau_min in (0, 102)
    ]
    months = cg.month(), cg.month(persistence_s=6120.0)
    expected = [cg.simulate(month, "fifo").summary()["wait_min"] for month in months]
    assert found == pytest.approx(expected)
    assert found[0] != found[1]


def test_the_findings_are_drawn_and_told(rows, tmp_path):
    picture = persistence.FIGURES["findings"]
    paths = picture.write(tmp_path, rows)
    with paths[0].open() as file:
        assert len(list(csv.DictReader(file))) == len(rows)
    text = picture.table(rows)
    assert text.count("| **") == 3 * 3  # findings by groups
    assert (
        text.splitlines()[0] == "| where | finding | thesis | persistent | measured |"
    )
    assert "- Eq. 3.10: The objective adds seconds" in text
    told = picture.seen(rows)
    assert "Verdicts on 3 findings, by group of markets: thesis: holds " in told
    for group in ("thesis", "persistent", "measured"):
        (counts,) = re.findall(f"{group}: (holds .*?)[.;]", told)
        assert sum(map(int, re.findall(r"\d+", counts))) == 3


def test_what_one_group_leaves_undecided_does_not_hide_what_another_decides():
    """CADR's finding fails wherever stock persists, as most are decided there; the few
    days of a record decide little.
    """
    path = Path(__file__).parents[3] / "figures" / "market" / "market_findings.csv"
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    judged = {
        (row["where"], row["sentence"], row["group"]): row["in_group"] for row in rows
    }
    for (where, sentence, group), verdict in judged.items():
        markets_of = {
            row["market"]: row["in_market"]
            for row in rows
            if (row["where"], row["sentence"], row["group"]) == (where, sentence, group)
        }
        if verdict != NO_MEANING:
            assert verdict == markets.over_markets(list(markets_of.values()))
    cadr = {
        group: verdict for (where, _, group), verdict in judged.items() if where == CADR
    }
    assert cadr == {"thesis": UNDECIDED, "persistent": FAILS, "measured": UNDECIDED}
    assert {row["n"] for row in rows if row["group"] == "measured"} == {"17", "9", "1"}
    persistent = Counter(
        verdict for (*_, group), verdict in judged.items() if group == "persistent"
    )
    told = persistence.FIGURES["findings"].seen(rows)
    assert persistent == {HOLDS: 5, FAILS: 9, UNDECIDED: 3}
    assert "persistent: holds 5, does not hold 9, depends 0, undecided 3" in told


def test_a_market_that_cannot_be_read_is_one_line(tmp_path, capsys):
    out = tmp_path / "drawn"
    line = [
        "papers",
        "figures",
        "market",
        "findings",
        "market=none.csv",
        "--out",
        str(out),
    ]
    assert main(line) == 2
    [told] = capsys.readouterr().err.splitlines()
    assert "none.csv: No such file" in told
    assert not out.exists()
