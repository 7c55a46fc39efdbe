"""Random scenarios of tests/benchmarks/suite.py; triage on five of each kind."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import suite
from benchmarks.judge import judge
from benchmarks.suite import TEST, TRAIN, scenario, wide
from support import check_refused, process

import cgrsp_simpy as cg

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "bounds.md"
SMALL = [4, 6, 11, 64, 79]  # those of TRAIN with fewest jobs
WIDE = [58, 57, 15, 69, 39]  # and of the second distribution
SLOTS = {scenario: {*range(2, 13), 50}, wide: {*range(1, 41)}}
JOBS = {scenario: (200, 1800), wide: (150, 900)}
WINDOWS_S = {scenario: (1800, 43_200), wide: (600, 86_400)}
both_laws = pytest.mark.parametrize("law", [scenario, wide])


def test_seeds_for_development_and_for_judging_do_not_overlap():
    assert len({*TRAIN, *TEST}) == 200


@both_laws
def test_a_seed_gives_the_same_scenario_each_time(law):
    assert law(3) == law(3) != law(4)
    check_refused(lambda: law(-1), "seed")


@pytest.mark.quick_cases(1)
@both_laws
def test_scenarios_are_within_the_documented_ranges(law):
    scenarios = [law(seed) for seed in TRAIN]
    for drawn in scenarios:
        assert (
            len(drawn.slots) in SLOTS[law] and 0.35 < drawn.known().offered_load < 2.1
        )
        assert JOBS[law][0] <= drawn.jobs <= JOBS[law][1]
        windows_s = [group.window_s for group in drawn.workload.classes]
        least_s, most_s = WINDOWS_S[law]
        assert least_s <= windows_s[0] <= windows_s[-1] <= most_s
        assert windows_s == sorted(windows_s)
        assert sum(group.share for group in drawn.workload.classes) == pytest.approx(1)
        market, terms = drawn.market, drawn.terms
        assert market.persistence_s == 0 or 300 <= market.persistence_s <= 4 * 3600
        assert not market.poll_s or 60 <= market.poll_s <= 1800
        assert market.delay_s[1] <= market.delay_s[2]
        assert terms.warm_s == 0 or 60 <= terms.warm_s <= 900
        assert terms.retry_s is None or 30 <= terms.retry_s <= 600
        usual = {"warm_s": 0, "billed_from": "execution", "retry_s": None}
        assert replace(terms, **usual) == cg.Terms()
    logs = [isinstance(drawn.workload, cg.LoggedWorkload) for drawn in scenarios]
    assert all(logs) if law is wide else 0.1 < sum(logs) / len(logs) < 0.3


@both_laws
def test_a_drawn_scenario_runs(law):
    assert cg.simulate(law(2), "edf", 0).summary()["completed"] == law(2).jobs


# ---- triage ----


def on_small(seeds, law=scenario, small=SMALL):
    return judge([law(seed) for seed in small], ["edf", "rh", "cadr", "triage"], seeds)


@pytest.mark.slow
def test_on_five_small_scenarios_triage_costs_no_more_than_the_best_of_three():
    """On average one cent less; CADR costs 14 more, EDF 7."""
    study = on_small(range(100, 120))
    assert study.regret("triage").mean < -0.005 < 0.1 < study.regret("cadr").mean
    assert all(row.difference.low <= 0 for row in study.against_best("triage"))
    assert not study.behind("triage")


@pytest.mark.slow
def test_on_five_small_wide_scenarios_triage_costs_less_than_each_of_three():
    """US cents per job: triage 4.7, EDF 7.2, CADR 7.9, RH 10.4. Against the best of the
    three in each scenario the difference is 2.3, with a 95 % interval from 5.9 less to
    1.4 more. In one scenario, of nine slots, triage costs .024 more, and that interval
    is above 0.
    """
    study = on_small(range(100, 120), wide, WIDE)
    cents = {row["policy"]: 100 * row["usd_per_job"] for row in study.table()}
    assert cents["triage"] < 5 < 7 < cents["edf"] < cents["cadr"] < 8 < cents["rh"]
    regret = study.regret("triage")
    assert regret.low < regret.mean < -0.02 < 0 < regret.high < 0.02
    dearer = [row.difference for row in study.against_best("triage")]
    certain = [difference.mean for difference in dearer if difference.low > 0]
    assert certain == pytest.approx([0.00024], abs=0.0001)
    assert not study.behind("triage")


@pytest.mark.slow
def test_the_command_prints_the_table_of_the_page(tmp_path):
    words = [sys.executable, suite.__file__, "--scenarios", "1", "--seeds", "2"]
    done = process(words, tmp_path)
    assert done.returncode == 0, done.stderr
    header, line, *rows = done.stdout.splitlines()
    page = PAGE.read_text(encoding="utf-8")
    assert f"{header}\n{line}\n" in page
    labels = [text.split("|")[1] for text in page.splitlines() if text[:1] == "|"]
    assert [row.split("|")[1] for row in rows] == labels[2:]
