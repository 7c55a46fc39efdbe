"""The suites of scenarios: their laws, and how triage does on five of each."""

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import suite
from benchmarks.judge import judge
from benchmarks.suite import TEST, TRAIN, scenario, wide
from scipy import stats
from support import process

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.rental.workload import COMPLEXITY_MIX, LoggedWorkload

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "bounds.md"
SMALL = [4, 6, 11, 64, 79]  # those of TRAIN with fewest jobs
WIDE = [58, 57, 15, 69, 39]  # and of the second law

# ---- the law of the scenarios ----


def test_the_suite_is_two_hundred_scenarios_whose_seeds_do_not_meet():
    assert len(TRAIN) + len(TEST) == 200
    assert not set(TRAIN) & set(TEST)


def test_the_scenarios_keep_to_the_law():
    made = [scenario(seed) for seed in [*TRAIN, *TEST]]
    for each in made:
        assert len(each.slots) in {*range(2, 13), 50}
        assert 0.5 <= each.known().offered_load <= 2.0001
        assert 200 <= each.jobs <= 900 * (2 if len(each.slots) == 50 else 1)
        windows_s = [own.window_s for own in each.workload.classes]
        assert (
            windows_s == sorted(windows_s)
            and windows_s[0] >= 1800
            and windows_s[-1] <= 43200
        )
        assert sum(own.share for own in each.workload.classes) == pytest.approx(1)
        assert len(each.gpus) in (2, 3, 4)
    share = {
        "thesis": np.mean([each.gpus[0].name == "RTX 3090" for each in made]),
        "free": np.mean([each.free_types for each in made]),
        "fifty": np.mean([len(each.slots) == 50 for each in made]),
        "hourly": np.mean([bool(each.market.stock) for each in made]),
        "harmless": np.mean([each.market.delay_s[2][1] == 600 for each in made]),
        "three": np.mean([len(each.workload.classes) == 3 for each in made]),
        "persists": np.mean([each.market.persists for each in made]),
        "seen": np.mean([each.market.poll_s is not None for each in made]),
        "warm": np.mean([each.terms.warm_s > 0 for each in made]),
        "log": np.mean([isinstance(each.workload, LoggedWorkload) for each in made]),
        "long Medium": np.mean([each.market.delay_s[1] != (30, 120) for each in made]),
        "refused": np.mean([each.terms.retry_s is not None for each in made]),
    }
    wanted = {
        "thesis": 0.5,
        "free": 0.3,
        "fifty": 0.1,
        "hourly": 0.2,
        "harmless": 0.2,
        "three": 0.25,
        "persists": 0.3,
        "seen": 0.2,
        "warm": 0.2,
        "log": 0.2,
        "long Medium": 0.3,
        "refused": 0.2,
    }
    for name, own in share.items():  # four standard errors
        assert own == pytest.approx(wanted[name], abs=4 * math.sqrt(0.25 / 200)), name


def test_what_lasts_is_seen_and_kept_within_the_law():
    made = [scenario(seed) for seed in TRAIN]
    for each in made:
        market, terms = each.market, each.terms
        assert market.persistence_s == 0 or 300 <= market.persistence_s <= 4 * 3600
        assert (
            market.poll_s is None or market.poll_s == 0 or 60 <= market.poll_s <= 1800
        )
        assert terms.warm_s == 0 or 60 <= terms.warm_s <= 900
        assert (
            replace(terms, warm_s=0, billed_from="execution", retry_s=None)
            == cg.Terms()
        )
        assert terms.retry_s is None or 30 <= terms.retry_s <= 600
    assert {each.market.poll_s for each in made if each.market.persists} > {None, 0.0}
    assert {each.terms.billed_from for each in made if each.terms.warm_s} == {
        "execution",
        "provisioning",
    }


def gpus_of(seed):
    gpus = suite._gpus(stream(seed, "suite"))
    return () if gpus == cg.THESIS_GPUS else gpus


def lasting(seed):
    return suite._persistent(stream(seed, "suite sight"), cg.Market())


def slower(seed):
    nothing = cg.Market(delay_s=((0, 0), (0, 0), (600, 7200)))
    return suite._slower(stream(seed, "suite delays"), nothing)


def refusing(seed):
    return suite._refusing(stream(seed, "suite retries"), cg.Terms())


def kept(seed):
    return suite._terms(stream(seed, "suite terms"))


@pytest.mark.parametrize(
    ("drawn", "least", "most"),
    [
        (lambda seed: [gpu.mean_execution_s[0] for gpu in gpus_of(seed)], 20, 240),
        (lambda seed: [gpu.price_usd_per_h for gpu in gpus_of(seed)], 0.2, 5),
        (lambda seed: [lasting(seed).persistence_s], 300, 4 * 3600),
        (lambda seed: [lasting(seed).poll_s], 60, 1800),
        (lambda seed: [kept(seed).warm_s], 60, 900),
        (lambda seed: [slower(seed).delay_s[1][0]], 60, 300),
        (lambda seed: [refusing(seed).retry_s], 30, 600),
    ],
    ids=["execution", "price", "persistence", "poll", "warm", "Medium", "retry"],
)
def test_what_is_drawn_by_ratios_has_a_uniform_logarithm(drawn, least, most):
    values = np.array([value for seed in range(1000) for value in drawn(seed) if value])
    assert len(values) > 80
    assert least <= values.min() and values.max() <= most
    uniform = np.log(values / least) / np.log(most / least)
    assert stats.kstest(uniform, "uniform").pvalue > 0.001


def test_what_was_added_to_the_law_changes_nothing_else(monkeypatch):
    """Of the same seed: without persistence, warm instances and a log."""
    new = [scenario(seed) for seed in range(12)]
    monkeypatch.setattr(
        suite, "stream", lambda seed, name: Never if " " in name else stream(seed, name)
    )
    old = [scenario(seed) for seed in range(12)]
    for with_, without in zip(new, old):
        delay_s = without.market.delay_s
        market = replace(with_.market, persistence_s=0, sight="none", delay_s=delay_s)
        assert market == without.market and without.terms == cg.Terms()
        assert with_.workload.deadlines == without.workload.deadlines
        # whose load is from its first job on
        log = isinstance(with_.workload, LoggedWorkload)
        load = without.known().offered_load
        assert with_.known().offered_load == pytest.approx(
            load, rel=0.06 if log else 1e-6
        )
        if not log:
            assert with_.workload == without.workload and with_.slots == without.slots


class Never:
    """A generator of which no share of scenarios gets anything."""

    @staticmethod
    def random():
        return 0.99


def test_a_log_comes_in_batches_and_is_the_same_in_each_run():
    made = [scenario(seed) for seed in TRAIN]
    logs = [each for each in made if isinstance(each.workload, LoggedWorkload)]
    sizes = [each.jobs / len(set(each.workload.submit_s)) for each in logs]
    assert 1 <= min(sizes) < 2 and 4 < max(sizes) < 9
    first, second = (
        list(logs[0].workload.generate(seed, logs[0].service)) for seed in (0, 1)
    )
    assert [job.submit_s for job, _ in first] == [job.submit_s for job, _ in second]
    mean_s = [np.dot(COMPLEXITY_MIX, each.slots[0].mean_execution_s) for each in logs]
    found = [
        np.log(each.workload.service_s) - np.log(s) for each, s in zip(logs, mean_s)
    ]
    assert min(map(np.std, found)) > 0.2 and max(map(np.std, found)) < 1.6
    # 0 for lognormal seconds of that mean
    off = [each.mean() + each.var() / 2 for each in found]
    assert abs(np.mean(off)) < 4 * stats.sem(off) < 0.05
    drawn = [
        suite._gpus(stream(int(each.name.split()[1]), "suite"))[0] for each in logs
    ]
    times = [  # of those of the types as they were drawn; then these follow the log
        np.mean(each.workload.service_s) / np.dot(COMPLEXITY_MIX, gpu.mean_execution_s)
        for each, gpu in zip(logs, drawn)
    ]
    assert abs(np.mean(times) - 1) < 4 * stats.sem(times) < 0.2


def test_long_delays_at_medium_stock_are_at_most_those_at_low_stock():
    made = [law(seed).market.delay_s for law in (scenario, wide) for seed in TRAIN]
    assert all(medium <= low for _, *both in made for medium, low in zip(*both))
    assert any(medium == low for _, medium, low in made)


# ---- the second law ----


@pytest.fixture(scope="module")
def all_wide():
    return [wide(seed) for seed in [*TRAIN, *TEST]]


@pytest.mark.parametrize(("law", "name"), [(scenario, "suite 3"), (wide, "wide 3")])
def test_a_seed_names_a_scenario_of_a_law(law, name):
    assert law(3) == law(3) != law(4)
    assert law(3).name == name
    with pytest.raises(cg.InputError, match="seed"):
        law(-1)


def test_the_wide_scenarios_keep_to_their_law(all_wide):
    assert len({each.jobs for each in all_wide}) > 100
    for each in all_wide:
        assert 1 <= len(each.slots) <= 40 and 150 <= each.jobs <= 900
        assert isinstance(each.workload, LoggedWorkload)
        classes = each.workload.classes
        windows_s = [own.window_s for own in classes]
        assert windows_s == sorted(windows_s) and 1 <= len(windows_s) <= 5
        assert windows_s[0] >= 600 and windows_s[-1] <= 86_400
        assert sum(own.share for own in classes) == pytest.approx(1)
        assert all(own.tight == (own.window_s < 7200) for own in classes)
        assert len({own.name for own in classes}) == len(classes)
        market, terms = each.market, each.terms
        assert market.persistence_s == 0 or 300 <= market.persistence_s <= 4 * 3600
        assert (
            market.poll_s is None or market.poll_s == 0 or 60 <= market.poll_s <= 1800
        )
        assert (
            replace(terms, warm_s=0, billed_from="execution", retry_s=None)
            == cg.Terms()
        )
        assert terms.retry_s is None or 30 <= terms.retry_s <= 600
    gaps = [np.diff(each.workload.submit_s) for each in all_wide]
    share = {
        "few": np.mean([len(each.slots) <= 6 for each in all_wide]),
        "thesis": np.mean([each.gpus[0].name == "RTX 3090" for each in all_wide]),
        "free": np.mean([each.free_types for each in all_wide]),
        "hourly": np.mean([bool(each.market.stock) for each in all_wide]),
        "persists": np.mean([each.market.persists for each in all_wide]),
        "warm": np.mean([each.terms.warm_s > 0 for each in all_wide]),
        "three or more": np.mean([len(each.workload.classes) > 2 for each in all_wide]),
        "bursts": np.mean([own.std() / own.mean() > 1.25 for own in gaps]),
    }
    wanted = {
        "few": math.log(6.5) / math.log(40),
        "thesis": 0.5,
        "free": 0.3,
        "hourly": 0.5 + 0.5 * 0.2,
        "persists": 0.3,
        "warm": 0.2,
        "three or more": 0.6,
        "bursts": 0.6,
    }
    for name, own in share.items():  # four standard errors
        assert own == pytest.approx(wanted[name], abs=4 * math.sqrt(0.25 / 200)), name


def test_the_offered_load_of_a_wide_scenario_is_what_was_drawn(monkeypatch):
    """From second 0 to the last submission, by the mean of the jobs' own times over the
    slots.
    """
    drawn, make = [], suite._log

    def look_on(*given):
        drawn.append(given[2])
        return make(*given)

    monkeypatch.setattr(suite, "_log", look_on)
    for each in map(wide, TRAIN):
        load, slots = each.workload, each.slots
        work_s = np.mean(load.service_s) * np.mean([1 / gpu.speed for gpu in slots])
        found = each.jobs * work_s / (load.submit_s[-1] * len(slots))
        assert found == pytest.approx(drawn[-1]) and 0.4 <= drawn[-1] <= 1.6
        assert each.known().offered_load == pytest.approx(drawn[-1], rel=0.06)
    assert len(drawn) == len(TRAIN)
    assert stats.kstest((np.array(drawn) - 0.4) / 1.2, "uniform").pvalue > 0.001


def streams_of(monkeypatch, law):
    """The names of the streams that a law draws from, and how often each is made."""
    names = []
    monkeypatch.setattr(
        suite, "stream", lambda seed, name: names.append(name) or stream(seed, name)
    )
    law(5)
    monkeypatch.undo()
    return names


def test_the_two_laws_share_no_stream(monkeypatch):
    first, second = streams_of(monkeypatch, scenario), streams_of(monkeypatch, wide)
    assert sorted(second) == [
        "suite wide",
        *(f"suite wide {part}" for part in ("delays", "retries", "sight", "terms")),
    ]
    assert len(set(first + second)) == len(first) + len(second)


def test_terms_and_persistence_of_a_wide_scenario_change_nothing_else(monkeypatch):
    new = [wide(seed) for seed in range(12)]
    last = ("sight", "terms", "delays", "retries")
    monkeypatch.setattr(
        suite,
        "stream",
        lambda seed, name: Never if name.endswith(last) else stream(seed, name),
    )
    for with_, without in zip(new, map(wide, range(12))):
        delay_s = without.market.delay_s
        market = replace(with_.market, persistence_s=0, sight="none", delay_s=delay_s)
        assert replace(with_, market=market, terms=cg.Terms()) == without
    assert any(each.terms.warm_s for each in new) and any(
        each.market.persists for each in new
    )


def test_windows_of_the_second_law_have_a_uniform_logarithm():
    drawn = [
        own.window_s
        for seed in range(500)
        for own in suite._classes(stream(seed, "classes"))
    ]
    uniform = np.log(np.array(drawn) / 600) / math.log(144)
    assert stats.kstest(uniform, "uniform").pvalue > 0.001


def test_scarcity_comes_and_goes_by_the_hour():
    markets = [
        suite._jumping(stream(seed, "jumping"), cg.THESIS_GPUS) for seed in range(200)
    ]
    lows = np.array(
        [[[h[2] for h in own.chances] for own in each.stock] for each in markets]
    )
    assert lows.shape == (200, len(cg.THESIS_GPUS), 24)
    scarce = lows > 0
    assert lows[scarce].min() >= 0.05 and lows.max() <= 0.6
    # an hour is as the last one with a chance of .825 in the mean, at first scarce with
    # one of .4
    stays = (scarce[..., 1:] == scarce[..., :-1]).mean()
    assert stays == pytest.approx(0.825, abs=0.01)
    assert 0.4 < scarce.mean() < 0.5
    for each in markets:
        least, most = each.delay_s[2]
        assert 120 <= least <= 900 and most == pytest.approx(12 * least, rel=0.01)
        assert (
            each.delay_s[:2] == cg.Market().delay_s[:2] and 0 <= each.clock.start_h < 24
        )


def test_times_of_the_second_law_come_in_bursts_and_have_heavy_tails():
    for seed in range(50):
        submit = suite._bursts(stream(seed, "b"), 300)
        times = suite._tails(stream(seed, "t"), 300)
        assert len(submit) == len(times) == 300
        assert (np.diff(submit) > 0).all() and submit[0] > 0 and times.min() > 0
    spread = [np.log(suite._tails(stream(seed, "t"), 900)).std() for seed in range(200)]
    assert 0.09 < min(spread) < 0.2 and 1.3 < max(spread) < 1.7
    busy = [np.diff(suite._bursts(stream(seed, "b"), 900)) for seed in range(200)]
    variation = np.array([gaps.std() / gaps.mean() for gaps in busy])
    assert variation[variation < 1.25].mean() == pytest.approx(1, abs=0.05)
    # half of the jobs at a tenth of the gap: the root of 1.01 / .55^2 - 1
    assert variation[variation > 1.25].mean() == pytest.approx(1.53, abs=0.05)


@pytest.mark.parametrize("seed", [0, 2, 5003])
def test_a_wide_scenario_runs(seed):
    day = wide(seed)
    assert cg.simulate(day, "edf", 0).summary()["completed"] == day.jobs


# ---- triage ----


def on_small(seeds, law=scenario, small=SMALL):
    return judge([law(seed) for seed in small], ["edf", "rh", "cadr", "triage"], seeds)


def test_on_five_small_scenarios_triage_costs_less_than_the_best_of_three():
    """Three runs show no more. Triage costs half a cent less than the best of three in
    the mean, CADR 14 more; where an interval of three runs says that it costs more, it
    is by a tenth of a cent.
    """
    study = on_small(range(3))
    assert study.regret("triage").mean < 0 < 0.1 < study.regret("cadr").mean
    assert all(each.difference.low < 0.001 for each in study.against_best("triage"))
    assert not study.behind("triage")


@pytest.mark.slow
def test_on_five_small_scenarios_triage_costs_no_more_than_the_best_of_three():
    """In the mean a cent less; CADR costs 14 more, EDF 7."""
    study = on_small(range(100, 120))
    assert study.regret("triage").mean < -0.005
    assert all(each.difference.low <= 0 for each in study.against_best("triage"))
    assert not study.behind("triage")


@pytest.mark.slow
def test_on_five_small_wide_scenarios_triage_costs_less_than_each_of_three():
    """US cents per job: triage 4.7, EDF 7.2, CADR 7.9, RH 10.4. It is not shown to be
    cheaper than the best of the three in each scenario: 2.3 less, with a 95 % interval
    from 5.9 less to 1.4 more. In one of the five, of nine slots, it costs .024 more,
    and that interval is above 0.
    """
    study = on_small(range(100, 120), wide, WIDE)
    cents = {row["policy"]: 100 * row["usd_per_job"] for row in study.table()}
    assert cents["triage"] < 5 < 7 < cents["edf"] < cents["cadr"] < 8 < cents["rh"]
    regret = study.regret("triage")
    assert regret.low < regret.mean < -0.02 < 0 < regret.high < 0.02
    certain = [
        each.difference
        for each in study.against_best("triage")
        if each.difference.low > 0
    ]
    assert [each.mean for each in certain] == pytest.approx([0.00024], abs=0.0001)
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
