"""Advice on policies, slots and types: what is compared, what is told, and where hours go."""

import json
import re
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.special import stdtr
from support import DATA, check_bad_input, outcome

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.statistics import Mean, holm, mean, paired_difference
from cgrsp_simpy.cli import main
from cgrsp_simpy.decide.advice import html_page, levers, markdown, rows, sentences, slot_hours
from cgrsp_simpy.decide.bounds import lower_bound
from cgrsp_simpy.decide.gaps import LUCKS, over_lucks, with_gaps
from cgrsp_simpy.decide.judge import judge
from cgrsp_simpy.decide.recommend import (
    COST,
    FIGURES,
    FIXED,
    FREE,
    PARTS,
    Advice,
    Option,
    Prices,
    Spot,
    advise,
    cheapest,
    fleets,
    shown_cheaper,
    variant,
)
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.model.files import check_folder
from cgrsp_simpy.rental.gpu import round_robin
from cgrsp_simpy.rental.policies.later import LooseLater

LOG = DATA / "alibaba_genai_2026" / "lora_request_trace.csv"
DAY = cg.day("hectic", jobs=60)
POLICIES = ("fifo", "edf", "cadr")


@pytest.fixture(scope="module")
def found() -> Advice:
    return advise(DAY, POLICIES, [4, 6], range(3), bound_seeds=3)


def test_everything_is_compared_on_the_same_seeds(found):
    # policies and fifo-later; slots x fixed or free, and each type
    assert len(found.options) == 4 * (3 * 2 + 4)
    option = next(
        option
        for option in found.options
        if (option.policy, option.slots, option.types) == ("edf", 6, FREE)
    )
    alone = cg.compare(variant(DAY, 6, True), ["edf"], range(3)).means()["edf"]
    assert all(option.figures[name] == alone[name] for name in FIGURES[:3])
    assert option.figures["rent_usd"] == alone["cost_usd"]


# ---- the next slot ----


@pytest.mark.parametrize("slots", range(1, 10))
@pytest.mark.parametrize("of", [1, 4, 5, 7])
def test_a_variant_is_the_day_with_that_number_of_slots(of, slots):
    assert variant(cg.day("hectic", slots=of), slots, False) == cg.day("hectic", slots=slots)


def test_a_scenario_file_goes_on_with_its_own_types_in_turn(tmp_path):
    file = tmp_path / "own.toml"
    types = "".join(
        f'[[gpu]]\nname = "{name}"\nprice_usd_per_h = 1\n'
        "mean_execution_s = [60, 70, 90]\nhigh_stock_probability = 0.9\n"
        for name in "ABC"
    )
    file.write_text(f"[workload]\njobs = 5\nrate_per_s = 0.01\n[fleet]\nslots = 4\n{types}")
    scenario = cg.Scenario.from_toml(file)
    assert "".join(gpu.name for gpu in scenario.slots) == "ABCA"
    assert "".join(gpu.name for gpu in variant(scenario, 6, True).slots) == "ABCABC"
    file.write_text(
        f'[workload]\njobs = 5\nrate_per_s = 0.01\n[fleet]\nslots = ["B", "B", "A"]\n{types}'
    )
    found = advise(cg.Scenario.from_toml(file), ["fifo"], [2, 5], range(2), bound_seeds=0)
    assert "".join(gpu.name for gpu in variant(found.scenario, 5, False).slots) == "BBABB"
    assert "2 slots more (B, B), with fifo" in markdown(found)
    assert "One slot fewer (A), with fifo" in markdown(found)


def test_one_slot_more_of_a_log_is_the_next_in_turn(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("submit_s,service_s\n" + "".join(f"{10 * i},{30 + i}\n" for i in range(40)))
    found = advise(cg.trace(log, slots=5), ["fifo"], [6], range(2), bound_seeds=0)
    assert found.found.at(fleet="6, fixed types").scenario.slots == cg.trace(log, slots=6).slots
    assert "One slot more (RTX A5000), with fifo" in markdown(found)


def test_the_pareto_set_is_what_nothing_beats(found):
    front = found.pareto
    assert front and all(not other.beats(one) for one in front for other in found.options)
    assert all(
        any(other.beats(one) for other in front) for one in found.options if one not in front
    )


def test_gaps_are_to_the_bound_on_its_own_seeds_and_carry_their_intervals(found):
    """Three seeds have a bound: the gap is their mean waits over many draws of the same
    arrivals less their bounds.
    """
    for row in rows(found):
        bounds = found.bounds.get((row["types"], "wait_min")) if row["slots"] == 5 else None
        assert (
            (bounds is None)
            == (row["wait_min_over_bound"] is None)
            == (row["slots"] != 5 or row["types"] not in (FIXED, FREE))
        )
        if bounds is not None:
            scenario = variant(DAY, 5, row["types"] == FREE)
            policy = row["policy"] if row["policy"] in POLICIES else LooseLater("fifo")
            runs = [over_lucks(scenario, policy, seed, LUCKS) for seed in range(3)]
            waits = [np.mean([run["wait_min"] for run in own]) for own in runs]
            gap = paired_difference(waits, bounds)
            assert row["wait_min_over_bound"] == pytest.approx(gap.mean)
            assert row["wait_min_over_bound_half"] == pytest.approx(gap.half_width)
            assert f"{gap.mean:+.2f} ± {gap.half_width:.2f}" in markdown(found)


@pytest.mark.slow
def test_a_gap_of_two_seeds_has_no_interval_and_is_not_given():
    one = advise(DAY, POLICIES, [5], range(2), bound_seeds=2)
    assert all(
        row["wait_min_over_bound"] is None and row["miss_pct_over_bound_half"] is None
        for row in rows(one)
    )
    assert "no policy can be" not in " ".join(sentences(one))
    assert "2 seeds give no interval (at least 3), and no gap" in markdown(one)


@pytest.mark.slow
def test_gaps_of_a_comparison_are_by_seed():
    study = cg.compare(DAY, ["fifo", "edf"], range(2))
    gaps = with_gaps(study)
    for before, after in zip(study.rows, gaps.rows):
        assert {name: after[name] for name in before} == before
    for row in gaps.rows:
        runs = over_lucks(DAY, row["policy"], row["seed"], LUCKS)
        bound = lower_bound(DAY, row["seed"], "wait", 600.0).value
        wait = np.mean([run["wait_min"] for run in runs])
        assert row["wait_gap_min"] == pytest.approx(wait - bound)
    assert "wait_gap_min" in str(gaps) and "miss_gap_pct" in str(gaps)


def test_the_page_has_a_row_an_option(found):
    assert markdown(found).count("\n| ") == len(found.options) + 1
    assert html_page(found).count("<tr>") == len(found.options) + 1
    costs = [row["total_usd"] for row in rows(found)]
    assert costs == sorted(costs)


def test_the_sentence_on_the_bound_says_the_gap_and_whether_it_is_decided(found):
    best = found.at(5, FIXED)[0]
    miss, wait = (found.gap(best, name) for name in ("miss_pct", "wait_min"))
    told = sentences(found)[-1]
    says(
        told,
        f"{best.policy}, the cheapest, .* by # points of misses and # min of wait",
        [(gap.mean, gap.half_width) for gap in (miss, wait)],
    )
    assert told.endswith("(3 seeds).")


# ---- what an interval is of ----


def log_of_days(folder, days, per_day=24):
    """A log whose odd days bring more than a slot can do, and the scenario of one slot."""
    file = folder / "log.csv"
    gap_s = 86_400 / per_day
    jobs = ((gap_s * n, 4500 if int(n / per_day) % 2 else 600) for n in range(days * per_day + 1))
    file.write_text("submit_s,service_s\n" + "".join(f"{at:.0f},{run}\n" for at, run in jobs))
    return cg.trace(file, slots=1)


def test_a_log_has_an_interval_over_its_days_beside_that_of_the_luck(tmp_path):
    """By hand: the jobs of each day of each seed, what they cost with fifo and with one slot more."""
    scenario = log_of_days(tmp_path, 9)
    found = advise(scenario, ["fifo"], [2], range(3), bound_seeds=0)

    def daily(slots):
        costs = np.zeros(9)
        for seed in range(3):
            jobs = cg.simulate(variant(scenario, slots, False), "fifo", seed).jobs
            late_s = np.maximum(0, jobs["finish_s"] - jobs["deadline_s"])
            wait_s = jobs["start_s"] - jobs["submit_s"]
            costs_usd = jobs["cost_usd"] + 1.0 * (late_s > 0) + 0.01 * late_s / 60 + wait_s / 60e3
            for at, cost in zip(jobs["submit_s"], costs_usd):
                costs[min(8, int(at // 86_400))] += cost / 3
        return costs + 0.25 * slots

    change = daily(2) - daily(1)
    around = np.concatenate([change, change[:2]])  # blocks of 3, in a circle
    blocks = [around[at : at + 3].mean() for at in range(9)]
    half = stats.t.ppf(0.975, 2) * (np.var(blocks) / 2) ** 0.5
    [more] = [one for one in found.at(2, FIXED) if one.policy == "fifo"]
    assert found.for_days(more).mean == pytest.approx(more.change[COST].mean)
    assert found.for_days(more).half_width == pytest.approx(half)
    assert half > more.change[COST].half_width
    told = sentences(found)
    lever = next(each for each in told if each.startswith("One slot more"))
    undecided = ", not decided" if half > abs(change.mean()) else ""
    assert f" USD a day (for days like these ± {half:.2f}{undecided}), of which" in lever
    assert "of the luck of stock and delays on these jobs alone, over 3 seeds." in told[0]
    assert "the log's 9 days, drawn again in blocks of 3" in told[0]


def test_what_days_do_not_show_is_not_advised(tmp_path):
    """A saving that a single day makes is sure for that day's luck, and for no other days."""
    scenario = log_of_days(tmp_path, 9)
    found = advise(scenario, ["fifo"], [2], range(3), bound_seeds=0)
    assert "leave it as it is" not in sentences(found)[2]
    for option in found.others:
        found._by_day[str(option)] = found._daily(found.now) - 50.0 * (np.arange(9) == 4)
    told = sentences(found)
    assert told[1] == "No change of one thing alone is shown to cost less for days like these."
    assert "none is shown to cost less than today for days like these, though" in told[2]


def test_a_short_log_says_that_it_says_nothing_of_other_days(tmp_path):
    found = advise(log_of_days(tmp_path, 2), ["fifo"], [2], range(3), bound_seeds=0)
    assert (
        "Nothing is said of other days: for that the log, of 2 days, is too short"
        in sentences(found)[0]
    )
    assert found.for_days(found.others[0]) is None


@pytest.mark.parametrize(("gap_s", "told"), [(100, "Overloaded: "), (1000, "")])
def test_overload_is_told_where_the_cost_of_a_day_depends_on_how_long_it_is_watched(gap_s, told):
    """Jobs of 300 s or so on one slot: every 100 s they are too many, every 1 000 s they are not."""
    day = cg.day("normal", jobs=100, rate_per_s=1 / gap_s, slots=1)
    found = advise(day, ["fifo"], [], range(3), bound_seeds=0)
    load = float(np.mean(found.loads))
    assert (load > 1) == bool(told) == ("Overloaded: " in sentences(found)[0])
    assert not told or f"they bring {load:.2f} times the work that 1 slot" in sentences(found)[0]
    bills = []
    for days in (1, 2, 3):
        long = cg.day("normal", jobs=days * 86_400 // gap_s, rate_per_s=1 / gap_s, slots=1)
        summary = cg.simulate(long, "fifo", 0, records=False).summary()
        bills.append(Prices().bill(summary, 1, days)[COST])
    assert (bills[2] > 1.2 * bills[1] > 1.44 * bills[0]) == bool(told)


def test_loads_by_the_hour_are_of_the_slots_time(tmp_path):
    scenario = log_of_days(tmp_path, 2)
    found = advise(scenario, ["fifo"], [2], range(3), bound_seeds=0)
    run = cg.simulate(scenario, "fifo", 0)
    assert len(found.loads) == 48
    assert sum(found.loads) * 3600 == pytest.approx(sum(run.held_s))


def test_the_smallest_change_is_told_first_and_what_saves_more_after_it():
    base = np.array([10.0, 11.0, 12.0])
    luck = np.array([0.01, -0.01, 0.0])
    found = made_up(
        {
            ("now", 5, FIXED): base.tolist(),
            ("other", 5, FIXED): (base - 2 + luck).tolist(),
            ("now", 7, FIXED): (base - 4 - luck).tolist(),
            ("other", 7, FIXED): (base + 1 - luck).tolist(),
        }
    )
    told = sentences(found)
    assert told[1].startswith("What pays first: another policy, other. Of changes of one thing")
    assert "More saves: 2 slots more (RTX A5000, RTX A4500), with now as today: 4.00" in told[1]
    assert [name.split(",")[0] for name in levers(found)] == [
        "Another policy",
        "2 slots more (RTX A5000",
    ]


@pytest.mark.parametrize("seeds", [1, 2])
def test_few_seeds_have_no_interval_and_show_nothing(seeds):
    few = advise(DAY, POLICIES, [6], range(seeds), bound_seeds=0)
    assert "nan" not in markdown(few) and not re.search(r"± \d", markdown(few))
    assert f"{'2 seeds give' if seeds == 2 else '1 seed gives'} no interval" in markdown(few)
    assert "leave it as it is." in sentences(few)[2]
    assert not any(row["cheaper"] for row in rows(few))


# ---- what is shown, on made-up tables ----


def table(*rows):
    """Options (policy, slots, cost, standard error of the change); the first is what is now."""
    options = []
    for policy, slots, cost, error in rows:
        change = cost - rows[0][2]
        half = 2.3 * error
        p = 1.0 if change == 0 else 0.0 if error == 0 else 2 * float(stdtr(8, -abs(change) / error))
        options.append(
            Option(
                policy,
                slots,
                FIXED,
                {name: Mean(cost, cost, cost, 9) for name in FIGURES},
                {name: Mean(change, change - half, change + half, 9, p) for name in FIGURES},
            )
        )
    return options


NOW = ("now", 5, 10.0, 0.0)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([("a", 5, 8.0, 0.1)], "a"),
        ([("a", 5, 8.0, 5.0)], None),  # not decided
        ([("a", 5, 12.0, 0.1)], None),  # costs more
        ([("a", 4, 9.75, 0.0)], "a"),  # fewer slots, all else equal
        ([("a", 6, 9.0, 0.1)], "a"),  # more slots that pay
        ([("a", 6, 8.0, 0.1), ("b", 5, 8.0, 0.1)], "b"),  # equal cost: fewer slots
        ([("a", 5, 7.0, 5.0), ("b", 5, 9.0, 0.1)], "b"),  # the lower mean is not shown
        ([("a", 5, 10.0, 0.0)], None),
        ([("a", 5, 9.991, 1e-6)], None),  # shown, and under a tenth of a per cent
        ([("a", 5, 9.989, 1e-6)], "a"),
        ([], None),
    ],
)
def test_what_is_advised_is_the_cheapest_that_is_shown_to_cost_less(others, expected):
    shown = shown_cheaper(table(NOW, *others)[1:])
    assert (cheapest(shown).policy if shown else None) == expected


@pytest.mark.parametrize(
    ("own", "beaten"),
    [
        ({}, False),  # of equals neither beats the other
        ({"miss_pct": 4}, True),
        ({"wait_min": 4}, True),
        ({"rent_usd": 4}, True),
        ({"slots_usd": 4}, True),
        ({"rent_usd": 4, "slots_usd": 6}, False),  # they are paid together
        ({"miss_pct": 4, "wait_min": 6}, False),
        ({"late_usd": 4, COST: 4}, False),
        ({"late_usd": 6, COST: 6, "wait_min": 4}, True),
    ],
)
def test_an_option_beats_another_where_nothing_is_more_and_something_less(own, beaten):
    def option(**figures):
        means = dict.fromkeys(FIGURES, 5) | figures
        shown = {name: Mean(value, value, value, 9) for name, value in means.items()}
        return Option("any", 5, FIXED, shown, {})

    assert option(**own).beats(option()) is beaten
    assert not own or not option().beats(option(**own))


@pytest.mark.slow
def test_where_nothing_is_cheaper_something_is_advised_in_one_table_of_twenty_at_most():
    """200 tables of 20 options that differ by chance alone."""
    draw, named = Random(1), 0
    for _ in range(200):
        before = [draw.gauss(10, 1) for _ in range(9)]
        options: list[Option] = []
        for number in range(20):
            own = [value + draw.gauss(0, 1) for value in before]
            change = paired_difference(own, before)
            figures = {name: mean(own) for name in FIGURES}
            options.append(Option(str(number), 5, FIXED, figures, dict.fromkeys(FIGURES, change)))
        named += bool(shown_cheaper(options))
    assert named / 200 < 0.05 + 4 * (0.05 * 0.95 / 200) ** 0.5


def made_up(costs, scenario=DAY):
    """Advice on options (policy, slots, types), of which every figure is a cost by seed."""
    policies, fleets = (list(dict.fromkeys(own)) for own in zip(*((k[0], k[1:]) for k in costs)))
    studies = [SimpleNamespace(seeds=range(len(next(iter(costs.values())))))]
    made = Advice(scenario, SimpleNamespace(policies=policies, studies=studies), Prices(), {})
    made.__dict__["_fleets"] = dict.fromkeys(fleets, "")
    made.__dict__["_figures"] = {key: dict.fromkeys(FIGURES, own) for key, own in costs.items()}
    return made


def of_policies(**costs):
    return made_up({(name, 5, FIXED): own for name, own in costs.items()})


def test_what_is_now_is_none_of_the_tests_that_holm_corrects_for():
    """One other option is one test: p = 0.03 shows it."""
    less = np.array([-0.5, -1.0, -1.5, -0.1, -1.9, -0.2])
    found = of_policies(now=[10.0] * 6, other=(10 + less).tolist())
    assert 0.025 < stats.ttest_1samp(less, 0).pvalue < 0.05
    assert [(row["policy"], row["cheaper"]) for row in rows(found)] == [
        ("other", True),
        ("now", False),
    ]


def test_what_pays_first_is_shown_to_even_if_another_change_has_the_lower_mean():
    """Policy `wild` costs 2 less in the mean, which three seeds do not decide; `sure` costs 1."""
    found = of_policies(now=[10.0, 11.0, 12.0], wild=[1.0, 2.0, 24.0], sure=[9.0, 10.01, 11.0])
    told = sentences(found)
    assert told[1] == (
        "What pays first: another policy, sure. Of changes of one thing that are shown to cost"
        " less it is the smallest: 1.00 ± 0.01 USD a day less than today."
    )
    assert list(levers(found)) == ["Another policy, wild", "Another policy, sure"]
    assert any(each.startswith("Another policy, sure: -1.00 ± 0.01 USD a day") for each in told)


def test_a_small_saving_is_not_told_as_none():
    """A fifth of a cent a day."""
    told = sentences(of_policies(now=[0.01, 0.02, 0.03], other=[0.008, 0.01801, 0.028]))
    assert "is the smallest: 0.001997 ± 0.000014 USD a day less than today" in told[1]
    assert "other on 5 slots, fixed types costs least: 0.02 ± 0.02 USD a day, 0.0019" in told[2]
    assert told[3].startswith("Another policy, other: -0.001997 ± 0.000014 USD a day")


@pytest.mark.parametrize(("gpus", "said"), [(1, True), (2, False)])
def test_fewer_slots_than_a_job_needs_are_not_said_to_cost_less_perhaps(gpus, said):
    jobs = cg.JobList([cg.Job(0, 0.0, 3600.0, gpus=gpus)])
    now = cg.Scenario("wide", jobs, round_robin(3))
    costs = {("now", 2, FIXED): [8.0, 9.0, 8.5], ("now", 3, FIXED): [10.0, 11.0, 10.5]}
    assert ("Fewer than 2 slots were not tried" in sentences(made_up(costs, now))[2]) == said


def test_types_that_the_terms_do_not_allow_are_not_tried():
    """RTX A4000 is never in stock, where jobs ask again until it is: no slot can have it."""
    never = cg.HourlyStock("RTX A4000", ((0.0, 0.0, 1.0),) * 24)
    without = replace(
        cg.day("quiet"),
        slots=round_robin(2),
        market=cg.Market(stock=(never,)),
        terms=cg.Terms(retry_s=60.0),
    )
    assert list(fleets(without, [3])) == [
        "2, fixed types",
        "3, fixed types",
        *(f"2, all {gpu.name}" for gpu in without.gpus[:3]),
    ]
    with pytest.raises(InputError, match="RTX A4000 is out of stock"):
        fleets(without, [4])


# ---- the cases that advice in figures without prices had wrong ----


def test_fewer_slots_are_advised_where_slots_cost_and_jobs_do_not_suffer():
    """Six jobs a day on five slots."""
    found = advise(cg.day("quiet"), ["cadr"], [1, 2, 3, 4], range(10), bound_seeds=0)
    best = cheapest(shown_cheaper(found.others))
    assert best.slots < 5 and best.change[COST].high < 0
    [fewer] = [option for option in found.at(4, FIXED) if option.policy == "cadr"]
    assert fewer.change["slots_usd"].mean == pytest.approx(-0.25)
    assert any("One slot fewer (RTX 3090), with cadr as today: -0.2" in s for s in sentences(found))


def test_a_slot_that_is_not_worth_its_price_is_not_advised():
    dear = advise(DAY, ["cadr"], [6], range(3), bound_seeds=0, prices=Prices(price_slot=1000))
    assert all(option.slots == 5 for option in shown_cheaper(dear.others))


def test_dear_types_lead_to_cheap_ones_where_misses_cost_little():
    """0.30 and 10 USD/h, the dear type four times faster: rent decides, and is weighed."""
    types = (
        cg.GpuType("cheap", 0.30, (60.0, 70.0, 100.0), 0.6),
        cg.GpuType("dear", 10.0, (15.0, 17.5, 25.0), 0.6),
    )
    day = replace(cg.day("surge", jobs=200), gpus=types, slots=round_robin(5, types))
    prices = Prices(0.01, 0.0001, 0.00001, 0.0)
    found = advise(day, ["cadr", "triage"], [6], range(4), bound_seeds=0, prices=prices)
    best = cheapest(shown_cheaper(found.others))
    assert best.change["rent_usd"].high < 0 and best.figures["rent_usd"].mean < 5
    assert "leave it as it is" not in " ".join(sentences(found))


def test_triage_weighs_by_the_prices_of_the_advice():
    prices = Prices(price_miss=5.0, price_wait=0.0)
    weighed = "triage:price_miss_usd=5.0,price_wait_usd_per_min=0.0"
    own = "triage:price_late_usd_per_min=1"
    assert prices.passed_to(["fifo", "triage", own]) == ["fifo", weighed, own]
    assert Prices(price_slot=1.0).passed_to(["triage"]) == ["triage"]
    found = advise(
        cg.day("surge", jobs=60), ["triage"], [5], range(2), bound_seeds=0, prices=prices
    )
    assert weighed in found.found.policies
    study = judge([cg.day("surge", jobs=60)], ["triage", "fifo"], range(2), prices=prices)
    alone = cg.compare(cg.day("surge", jobs=60), [weighed], range(2))
    assert study.values("surge", weighed, "wait_min") == alone.values(weighed, "wait_min")


def test_fifo_with_free_types_is_said_to_miss_more():
    found = advise(cg.day("hectic", jobs=400), ["fifo"], [5], range(4), bound_seeds=0)
    told = next(each for each in sentences(found) if each.startswith("Free choice of the types"))
    [free] = [option for option in found.at(5, FREE) if option.policy == "fifo"]
    assert free.change["miss_pct"].low > 0
    assert f"misses by {free.change['miss_pct'].mean:.2f} ± " in told.partition("gets worse:")[2]


# ---- every sentence, from the rows of the runs ----


def by_hand(found, row, prices):
    """The cost of a day of one run, written out."""
    slots = int(row["fleet"].split(",")[0])
    jobs = row["completed"]
    return {
        "rent_usd": row["cost_usd"],
        "slots_usd": prices.price_slot * slots,
        "misses_usd": prices.price_miss * jobs * row["miss_pct"] / 100,
        "late_usd": prices.price_late * jobs * row["tardiness_min"],
        "waits_usd": prices.price_wait * jobs * row["wait_min"],
        **{name: row[name] for name in ("miss_pct", "wait_min", "tardiness_min")},
    }


class Table:
    """What the runs' rows say, computed with NumPy and SciPy alone."""

    def __init__(self, found):
        self.values = {}
        for row in found.found.rows:  # in the order of the seeds
            bill = by_hand(found, row, found.prices)
            bill["total_usd"] = sum(bill[part] for part in PARTS)
            name = f"{row['policy']} on {row['fleet'].replace(',', ' slots,', 1)}"
            for figure, value in bill.items():
                self.values.setdefault((name, figure), []).append(value)

    def names(self):
        return list(dict.fromkeys(name for name, _ in self.values))

    def mean(self, name, figure):
        return self._spread(np.array(self.values[name, figure]))

    def change(self, name, other, figure):
        return self._spread(
            np.array(self.values[name, figure]) - np.array(self.values[other, figure])
        )

    @staticmethod
    def _spread(x):
        x = np.where(np.abs(x) < 1e-9, 0, x)
        return x.mean(), stats.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / len(x) ** 0.5


def near(text, value, half=None):
    """Whether figures in a text are these, to their two decimals."""
    told = [float(part) for part in re.findall(r"[-+]?\d+\.\d+", text)]
    wanted = [value, half] if half else [value]  # what has no luck has no interval
    return all(abs(one - other) < 0.00501 for one, other in zip(told, wanted, strict=True))


NUMBER = r"(?<![\d.])(?<!± )([-+]?\d+\.\d+(?: ± \d+\.\d+)?)( \(not decided\))?"


def says(text, pattern, spreads):
    """The intervals that a text states at each group of a pattern are these, and it says which
    hold 0.
    """
    found = re.search(pattern.replace("#", NUMBER), text)
    assert found, (pattern, text)
    stated = list(zip(found.groups()[::2], found.groups()[1::2]))
    for (figures, undecided), (value, half) in zip(stated, spreads, strict=True):
        assert near(figures, value, half), (figures, value, half)
        decided = abs(value) > half or value == half == 0
        assert (undecided is None) == decided or figures[0] not in "+-", (figures, undecided)


@pytest.mark.parametrize(
    ("name", "jobs", "seeds", "policies", "spot"),
    [
        pytest.param("hectic", 200, 4, ("fifo", "cadr", "triage"), None, marks=pytest.mark.slow),
        ("normal", 60, 3, ("cadr", "edf"), Spot(0.4, 0.5)),
        pytest.param("surge", 200, 5, ("edf", "fifo", "spt"), None, marks=pytest.mark.slow),
    ],
)
def test_each_sentence_is_what_the_rows_say(name, jobs, seeds, policies, spot):
    day = cg.day(name, jobs=jobs)
    found = advise(day, policies, [4, 6], range(seeds), bound_seeds=0, spot=spot)
    table, now = Table(found), str(found.now)
    assert now == f"{policies[0]} on 5 slots, fixed types"
    told = sentences(found)
    says(
        told[0],
        "a day costs # USD: .* # % of the deadlines are missed, the mean wait is # min",
        [table.mean(now, figure) for figure in ("total_usd", "miss_pct", "wait_min")],
    )
    assert near(
        told[0].partition("USD: ")[2].partition(". ")[0].split("rent")[1].split(",")[0],
        table.mean(now, "rent_usd")[0],
    )
    changes = levers(found)
    for (lever, option), sentence in zip(changes.items(), told[3:], strict=True):
        assert sentence.startswith(f"{lever}: ")
        figures = ("total_usd", "rent_usd", "miss_pct", "wait_min")
        says(
            sentence,
            r": # USD a day, of which rent #; misses .*\(# points\), wait # min",
            [table.change(str(option), now, figure) for figure in figures],
        )
        worse = sentence.partition("What gets worse: ")[2]
        for figure, noun in (("miss_pct", "misses"), ("wait_min", "wait"), ("rent_usd", "rent")):
            value, half = table.change(str(option), now, figure)
            assert (f"{noun} by" in worse) == (value > half)
    first, best = told[1:3]
    others = [name for name in table.names() if name != now]
    adjusted = holm(
        [
            stats.ttest_rel(table.values[name, "total_usd"], table.values[now, "total_usd"]).pvalue
            for name in others
        ]
    )
    cheaper = [
        name
        for name, p in zip(others, adjusted)
        if p < 0.05
        and -table.change(name, now, "total_usd")[0] >= 0.001 * table.mean(now, "total_usd")[0]
    ]
    paying = [str(option) for option in changes.values() if str(option) in cheaper]
    if paying:
        sizes = {str(one): (abs(one.slots - 5), one.types != FIXED) for one in changes.values()}
        least = min(paying, key=lambda name: (sizes[name], table.mean(name, "total_usd")[0]))
        value, half = table.change(least, now, "total_usd")
        says(first, "less it is the smallest: # USD a day less than today", [(-value, half)])
        lever = next(lever for lever, one in changes.items() if str(one) == least)
        assert first.startswith(f"What pays first: {lever[0].lower()}{lever[1:]}.")
    else:
        assert first == "No change of one thing alone is shown to cost less."
    centre = now
    if cheaper:
        centre = min(cheaper, key=lambda name: table.mean(name, "total_usd")[0])
        value, half = table.change(centre, now, "total_usd")
        says(
            best,
            f"of these {re.escape(centre)} costs least: # USD a day, # less than today",
            [table.mean(centre, "total_usd"), (-value, half)],
        )
        assert f" {len(cheaper)} {'is' if len(cheaper) == 1 else 'are'} shown" in best
    else:
        assert "leave it as it is." in best
    alike = [
        name
        for name in table.names()
        if name != centre
        and (spread := table.change(name, centre, "total_usd"))[1] >= abs(spread[0])
    ]
    listed = best.partition("Not told apart from it by cost")[2].partition(": ")[2]
    assert sum(name in listed for name in alike) == min(4, len(alike))
    assert (f"and {len(alike) - 4} more" in listed) == (len(alike) > 4)


@pytest.mark.slow
def test_a_day_of_a_long_run_is_a_share_of_it():
    """4 000 jobs at 0.02/s come in 2.3 days."""
    long = cg.day("surge", jobs=4000)
    found = advise(long, ["fifo"], [5], [0], bound_seeds=0)
    assert found.days == pytest.approx(4000 / 0.02 / 86_400)
    row = cg.simulate(long, "fifo", 0).summary()
    assert found.now.figures["rent_usd"].mean == pytest.approx(row["cost_usd"] / found.days)
    assert found.now.figures["slots_usd"].mean == 5 * 0.25


def test_the_page_holds_its_figures_and_hides_its_table(found):
    text = html_page(found, {"advice_cost": b"PNG"})
    assert text.count("<figure>") == 1 and "data:image/png;base64,UE5H" in text
    assert text.index("<details>") < text.index("<table>") and "size: A4" in text
    assert not re.search("&lt;|<[a-z]", markdown(found))


@pytest.mark.parametrize("policy", ["fifo", "triage"])
def test_hours_of_slots_sum_to_all_there_are(policy):
    run = cg.simulate(cg.day("hectic"), policy, 1)
    hours = slot_hours(run)
    capacity_h = 5 * run.tally.end_s / 3600
    assert sum(hours.values()) == pytest.approx(capacity_h) and min(hours.values()) > -1e-9
    held = sum(value for name, value in hours.items() if not name.startswith("idle"))
    assert held == pytest.approx(capacity_h * run.summary()["utilisation_pct"] / 100)
    # fifo never leaves a slot idle while a job waits
    assert (hours["idle_held"] > 0.1) == (policy == "triage")


@pytest.mark.slow
def test_the_command_writes_a_report(capsys, tmp_path):
    arguments = [
        "advise",
        "--day",
        "hectic",
        "--jobs",
        "40",
        "--policies",
        "fifo,edf",
        "--seeds",
        "2",
        "--bound-seeds",
        "1",
    ]
    assert (
        main([*arguments, "--try-slots", "5,6", "--report", str(tmp_path), "--format", "json"]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert len(told["rows"]) == 3 * (2 * 2 + 4) and len(told["advice"]) > 3
    names = {path.name for path in tmp_path.iterdir()}
    assert {
        "advice.md",
        "advice.html",
        "advice.csv",
        "advice_points.png",
        "advice_cost.png",
        "advice_slots.png",
        "advice_hours.svg",
    } <= names


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--try-slots", "4,x"), "--try-slots(='4,x') must be whole numbers, such as 4,5,6"),
        (("--try-slots", "0"), "slots(=0) must be a whole number >= 1"),
        (("--bound-seeds", "-1"), "bound_seeds(=-1) must be a whole number >= 0"),
        (("--prices", "price_miss=-1"), "price_miss(=-1.0) must be a number >= 0"),
        (("--spot", "x"), "argument --spot: 'x' must be of the form name=value"),
        (("--spot", "share=.4"), "must be both, as in share=.4,per_h=.2"),
        (("--spot", "share=2,per_h=.1"), "share of a spot price(=2.0)"),
        (("--prices", "price_slot=nan"), "price_slot(=nan)"),
        (("--prices", "price_miss=1e307"), "price_miss(=1e+307) must be at most 1,000,000,000 USD"),
        (("--policies", "none"), "unknown policy 'none'"),
    ],
)
def test_bad_input_is_one_line(capsys, given, message):
    check_bad_input(outcome(capsys, "advise", "--jobs", "5", "--seeds", "2", *given), [message])


@pytest.mark.parametrize("command", ["advise", "bound --frontier"])
@pytest.mark.parametrize("within", ["", "deep/er"])
def test_a_report_that_cannot_be_written_is_refused_before_the_work(
    command, within, capsys, tmp_path, monkeypatch
):
    for name in ("cli.advise.advise", "cli.bound.frontier"):
        monkeypatch.setattr(f"cgrsp_simpy.{name}", lambda *_, **__: pytest.fail("it began"))
    file = tmp_path / "a file"
    file.write_text("kept")
    assert main([*command.split(), "--yes", "--report", str(file / within)]) == 2
    assert f"{file / within}: {file} is not a directory" in capsys.readouterr().err
    assert file.read_text() == "kept"


def test_a_folder_may_be_there_or_not(tmp_path):
    for path in (tmp_path, tmp_path / "new" / "er"):
        check_folder(path)
    assert not (tmp_path / "new").exists()
    with pytest.raises(InputError, match="name too long"):
        check_folder(tmp_path / ("x" * 300))


@pytest.mark.parametrize(
    ("given", "message"),
    [({"prices": 5}, "a Prices"), ({"spot": (0.4, 0.2)}, "a Spot"), ({"scenario": 5}, "scenario")],
)
def test_other_kinds_are_refused(given, message):
    usual = {"scenario": DAY, "policies": ["fifo"], "slots": [5], "seeds": [0], "bound_seeds": 0}
    with pytest.raises(InputError, match=message):
        advise(**(usual | given))


@pytest.mark.parametrize(
    ("types", "told"),
    [
        (("a",), "Nothing else was tried: leave it as it is."),
        (("a", "b"), "Of the 1 other that was tried none is shown to cost less than today"),
    ],
)
def test_one_other_and_none_are_told_as_such(types, told):
    costs = {(name, 5, FIXED): [1.0, 2.0] for name in types}
    assert told in sentences(made_up(costs))[2]


@pytest.mark.slow
@pytest.mark.skipif(not LOG.is_file(), reason="the log is not here")
def test_a_log_has_advice_without_bounds(capsys):
    """A bound of measured times takes minutes: the command for it is named; all else is told."""
    arguments = [
        "advise",
        "--trace",
        str(LOG),
        "--log",
        "format=gentd26",
        "--log",
        "window=2024-11-20:2024-11-21",
    ]
    assert main([*arguments, "--policies", "fifo,triage", "--seeds", "2", "--try-slots", "6"]) == 0
    told = capsys.readouterr().out
    assert "Today, fifo on 5 slots, fixed types" in told and "There is no bound:" in told


def test_what_is_told_of_the_work_on_a_log_counts_no_bounds(tmp_path, monkeypatch, caplog):
    path = tmp_path / "mine.csv"
    path.write_text("submit_s,service_s\n" + "".join(f"{60 * n},90\n" for n in range(1200)))
    monkeypatch.setattr("cgrsp_simpy.cli.advise.advise", lambda *_, **__: pytest.skip("begun"))
    for policies, work in (("fifo", []), ("fifo,spt,edf,rh,cadr,triage", ["simulated"])):
        caplog.clear()
        with caplog.at_level("INFO"), pytest.raises(pytest.skip.Exception):
            main(["advise", "--trace", str(path), "--policies", policies])
        long = [text for text in caplog.messages if "jobs are to be" in text]
        assert len(long) == len(work)
        assert all("to be simulated, a minute or so" in text for text in long)


def test_no_policy_is_an_error():
    with pytest.raises(InputError, match="policies"):
        advise(DAY, [], [5], range(2))
