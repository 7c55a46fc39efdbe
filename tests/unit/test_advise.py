"""Advice on policies, slots and types: what is compared, what is told, and where hours go."""

import json
from collections import Counter
from random import Random

import numpy as np
import pytest
from support import DATA

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.statistics import Mean, paired_difference
from cgrsp_simpy.cli import main
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.rental.bounds import lower_bound
from cgrsp_simpy.rental.metrics import slot_hours
from cgrsp_simpy.studies.advice import html_page, markdown, paragraph_of, rows
from cgrsp_simpy.studies.advise import Advice, advise, variant
from cgrsp_simpy.studies.gaps import LUCKS, over_lucks, with_gaps
from cgrsp_simpy.studies.recommend import Option, cheapest, recommended

LOG = DATA / "alibaba_genai_2026" / "lora_request_trace.csv"
DAY = cg.day("hectic", jobs=60)
POLICIES = ("fifo", "edf", "cadr")


@pytest.fixture(scope="module")
def found() -> Advice:
    return advise(DAY, POLICIES, [4, 6], range(3), bound_seeds=2)


def test_everything_is_compared_on_the_same_seeds(found):
    assert len(found.options) == 3 * 3 * 2  # policies, slots with the scenario's own, types
    option = next(
        option
        for option in found.options
        if (option.policy, option.slots, option.free_types) == ("edf", 6, True)
    )
    alone = cg.compare(variant(DAY, 6, True), ["edf"], range(3)).means()["edf"]
    assert all(option.figures[name] == alone[name] for name in option.figures)


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
    assert "2 slots more (B, B), with fifo" in paragraph_of(found)
    assert "One slot fewer (A), with fifo" in paragraph_of(found)


def test_one_slot_more_of_a_log_is_the_next_in_turn(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("submit_s,service_s\n" + "".join(f"{10 * i},{30 + i}\n" for i in range(40)))
    found = advise(cg.trace(log, slots=5), ["fifo"], [6], range(2), bound_seeds=0)
    assert found.found.at(slots=6, free_types=False).scenario.slots == cg.trace(log, slots=6).slots
    assert "One slot more (RTX A5000), with fifo" in paragraph_of(found)


def test_the_pareto_set_is_what_nothing_beats(found):
    front = found.pareto
    assert front and all(not other.beats(one) for one in front for other in found.options)
    assert all(
        any(other.beats(one) for other in front) for one in found.options if one not in front
    )


def test_gaps_are_to_the_bound_on_its_own_seeds_and_carry_their_intervals(found):
    """Two seeds of three have a bound: the gap is their mean waits over many draws of the same
    arrivals less their bounds.
    """
    for row in rows(found):
        bounds = found.bounds.get((row["slots"], row["free_types"], "wait_min"))
        assert (bounds is None) == (row["wait_min_over_bound"] is None) == (row["slots"] != 5)
        if bounds is not None:
            scenario = variant(DAY, row["slots"], row["free_types"])
            waits = [
                np.mean(
                    [run["wait_min"] for run in over_lucks(scenario, row["policy"], seed, LUCKS)]
                )
                for seed in range(2)
            ]
            gap = paired_difference(waits, bounds)
            assert row["wait_min_over_bound"] == pytest.approx(gap.mean) and row[
                "wait_min_over_bound_half"
            ] == pytest.approx(gap.half_width)
            assert f"{gap.mean:+.2f} ± {gap.half_width:.2f}" in markdown(found)


def test_a_gap_of_one_seed_has_no_interval_and_is_not_given():
    one = advise(DAY, POLICIES, [5], range(2), bound_seeds=1)
    assert all(
        row["wait_min_over_bound"] is None and row["miss_pct_over_bound_half"] is None
        for row in rows(one)
    )
    assert "no policy can be" not in paragraph_of(
        one
    ) and "one seed gives no interval, and no gap" in markdown(one)


def test_gaps_of_a_comparison_are_by_seed():
    study = cg.compare(DAY, ["fifo", "edf"], range(2))
    gaps = with_gaps(study)
    for before, after in zip(study.rows, gaps.rows):
        assert {name: after[name] for name in before} == before
    for row in gaps.rows:
        runs = over_lucks(DAY, row["policy"], row["seed"], LUCKS)
        bound = lower_bound(DAY, "wait", row["seed"], 600.0).value
        wait = np.mean([run["wait_min"] for run in runs])
        assert row["wait_gap_min"] == pytest.approx(wait - bound)
    assert "wait_gap_min" in str(gaps) and "miss_gap_pct" in str(gaps)


def test_the_paragraph_follows_from_the_figures(found):
    text, now = paragraph_of(found), found.now
    assert text.startswith(
        f"Today, fifo on 5 slots of fixed type: {now.figures['miss_pct'].mean:.2f} ±"
    )
    option = cheapest(found.at(6, False))
    change = option.change["miss_pct"]
    assert (
        f"One slot more (RTX A5000), with {option.policy}:"
        f" {change.mean:+.2f} ± {change.half_width:.2f}"
    ) in text
    assert markdown(found).count("\n| ") == len(found.options) + 1
    assert html_page(found).count("<tr>") == len(found.options) + 1


def test_nothing_is_recommended_that_is_not_better():
    quiet = advise(cg.day("quiet", jobs=5), ["fifo"], [5], range(3), bound_seeds=0)
    assert paragraph_of(quiet).endswith("leave it as it is.") or "lowers the rent" in paragraph_of(
        quiet
    )


def test_one_seed_shows_nothing():
    one = advise(DAY, POLICIES, [6], [0], bound_seeds=0)
    assert "nan" not in markdown(one) and "±" not in paragraph_of(one)
    assert paragraph_of(one).endswith("leave it as it is.")


# ---- the recommendation, on made-up tables ----

SURE, UNSURE = 0.01, 50.0  # half widths


def table(*options):
    """Options (policy, slots, misses, wait, cost, half width of all changes); the first
    is what is now.
    """
    _, _, *now = options[0]

    def option(policy, slots, *values):
        *figures, half = values
        means = dict(zip(("miss_pct", "wait_min", "cost_usd"), figures))
        changes = [one - other for one, other in zip(figures, now)]
        change = {
            name: Mean(each, each - half, each + half, 9) for name, each in zip(means, changes)
        }
        return Option(
            policy,
            slots,
            False,
            {name: Mean(each, each, each, 9) for name, each in means.items()},
            change,
        )

    return [option(*values) for values in options]


NOW = ("now", 5, 10.0, 100.0, 6.0, 0.0)


@pytest.mark.parametrize(
    ("others", "expected", "what"),
    [
        ([("a", 5, 2.0, 100, 6.0, SURE)], "a", "misses fewer deadlines"),
        ([("a", 5, 2.0, 100, 6.0, UNSURE)], None, ""),
        # equal misses: the cheaper
        ([("a", 5, 2.0, 100, 6.5, SURE), ("b", 6, 2.0, 100, 6.4, SURE)], "b", "misses"),
        # to a tenth of a point
        ([("a", 5, 2.0, 100, 6.5, SURE), ("b", 6, 2.05, 100, 6.4, SURE)], "b", "misses"),
        ([("a", 5, 2.0, 100, 6.5, SURE), ("b", 6, 2.2, 100, 6.4, SURE)], "a", "misses"),
        # as dear: fewer slots
        ([("a", 6, 2.0, 100, 6.0, SURE), ("b", 5, 2.0, 100, 6.0, SURE)], "b", "misses"),
        # then the shorter wait
        ([("a", 5, 2.0, 100, 6.0, SURE), ("b", 5, 2.0, 90, 6.0, SURE)], "b", "misses"),
        ([("a", 5, 2.0, 200, 9.0, SURE)], "a", "misses"),  # deadlines come first
        ([("a", 5, 10.0, 80, 6.0, SURE)], "a", "shortens the wait"),
        ([("a", 5, 11.0, 80, 6.0, SURE)], None, ""),  # more misses
        ([("a", 5, 10.0, 80, 7.0, SURE)], None, ""),  # and dearer
        ([("a", 5, 10.0, 100, 5.0, SURE)], "a", "lowers the rent"),
        ([("a", 5, 10.0, 120, 5.0, SURE)], None, ""),  # and slower
        ([("a", 4, 10.0, 100, 6.0, SURE)], "a", "does with fewer slots"),
        # no difference shown is not: shown to be none
        ([("a", 4, 10.0, 100, 6.0, UNSURE)], None, ""),
        ([("a", 4, 12.0, 100, 6.0, SURE)], None, ""),
        ([("a", 6, 10.0, 100, 6.0, SURE)], None, ""),
        ([("a", 5, 9.0, 100, 6.0, SURE), ("b", 4, 10.0, 50, 3.0, SURE)], "a", "misses"),
        ([], None, ""),
    ],
)
def test_what_is_recommended(others, expected, what):
    options = table(NOW, *others)
    found = recommended(options, options[0])
    assert (None if found is None else found[0].policy) == expected
    assert found is None or found[1].startswith(what)


def test_no_recommendation_is_stronger_than_its_interval_nor_dearer_than_an_equal_one():
    """Tables drawn at random."""
    draw, kinds = Random(1), Counter()
    for _ in range(400):
        rows = [
            (
                str(i),
                draw.randint(3, 7),
                draw.choice([2, 10, 10, 10, 10]),
                draw.choice([50, 98, 100, 100, 130]),
                draw.uniform(5.9, 6.1),
            )
            for i in range(draw.randint(1, 5))
        ]
        options = table(NOW, *((*row, draw.choice([0.001, 0.05, 0.05, 20])) for row in rows))
        found = recommended(options, options[0])
        kinds[found and found[1]] += 1
        if found:
            option, what = found
            name = {"misses": "miss_pct", "shortens": "wait_min", "lowers": "cost_usd"}.get(
                what.split()[0]
            )
            assert option.change[name].high < 0 if name else option.slots < 5
            alike = [other for other in options if name and other.change[name].high < 0]
            equal = [
                other
                for other in alike
                if other.figures["miss_pct"].mean <= option.figures["miss_pct"].mean
            ]
            if what.startswith("misses"):
                assert round(option.figures["cost_usd"].mean, 2) <= min(
                    round(each.figures["cost_usd"].mean, 2) for each in equal
                )
    assert len(kinds) == 5 and min(kinds.values()) > 10


@pytest.mark.parametrize("number", range(4))
def test_advice_on_scenarios_drawn_at_random(number):
    draw = Random(number)
    scenario = cg.day(
        draw.choice(["normal", "hectic", "surge"]),
        draw.randint(2, 6),
        draw.random(),
        60,
        draw.uniform(0.01, 0.06),
    )
    found = advise(scenario, ["fifo", "cadr", "triage"], [3, 5], range(4), bound_seeds=0)
    text, begun = paragraph_of(found), recommended(found.options, found.now)
    assert text.endswith("leave it as it is.") == (begun is None)
    for option in found.options if begun is None else []:
        assert not option.change["miss_pct"].high < 0
    if begun is not None and begun[1] == "misses fewer deadlines":
        assert f"Begin with {begun[0]}:" in text and begun[0].change["miss_pct"].high < 0
        least = begun[0].figures
        for other in found.options:
            fewer = (
                other.change["miss_pct"].high < 0
                and other.figures["miss_pct"].mean <= least["miss_pct"].mean
            )
            assert not fewer or round(other.figures["cost_usd"].mean, 2) >= round(
                least["cost_usd"].mean, 2
            )


@pytest.mark.parametrize("policy", ["fifo", "triage"])
def test_hours_of_slots_sum_to_all_there_are(policy):
    run = cg.simulate(cg.day("hectic"), policy, 1)
    hours = slot_hours(run)
    capacity_h = 5 * run.totals.end_s / 3600
    assert sum(hours.values()) == pytest.approx(capacity_h) and min(hours.values()) > -1e-9
    held = sum(value for name, value in hours.items() if not name.startswith("idle"))
    assert held == pytest.approx(capacity_h * run.summary()["utilisation_pct"] / 100)
    # fifo never leaves a slot idle while a job waits
    assert (hours["idle_held"] > 0.1) == (policy == "triage")


def test_the_command_writes_a_report(capsys, tmp_path):
    arguments = [
        "advise",
        "--day",
        "hectic",
        "--jobs-per-day",
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
    assert len(told["rows"]) == 2 * 2 * 2
    names = {path.name for path in tmp_path.iterdir()}
    assert {
        "advice.md",
        "advice.html",
        "advice.csv",
        "advice_points.png",
        "advice_hours.svg",
    } <= names


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--try-slots", "4,x"), "--try-slots(='4,x') must be whole numbers, such as 4,5,6"),
        (("--try-slots", "0"), "slots(=0) must be a whole number >= 1"),
        (("--bound-seeds", "-1"), "bound_seeds(=-1) must be a whole number >= 0"),
        (("--policies", "none"), "unknown policy 'none'"),
    ],
)
def test_bad_input_is_one_line(capsys, given, message):
    assert main(["advise", "--jobs-per-day", "5", "--seeds", "2", *given]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(not LOG.is_file(), reason="the log is not here")
def test_a_log_has_advice_without_bounds(capsys):
    """A bound of measured times takes minutes: the command for it is named; all else is told."""
    arguments = [
        "advise",
        "--trace",
        str(LOG),
        "--trace-format",
        "gentd26",
        "--window",
        "2024-11-20:2024-11-21",
    ]
    assert main([*arguments, "--policies", "fifo,triage", "--seeds", "2", "--try-slots", "6"]) == 0
    told = capsys.readouterr().out
    assert "Today, fifo on 5 slots of fixed type" in told and "There is no bound:" in told


def test_no_policy_is_an_error():
    with pytest.raises(InputError, match="policies"):
        advise(DAY, [], [5], range(2))
