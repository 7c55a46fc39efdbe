"""Advice on policies, slots and types: what is compared, what is told, and where hours go."""

import json
from pathlib import Path

import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.metrics import slot_hours
from cgrsp_simpy.cli import main
from cgrsp_simpy.experiments.advice import html_page, markdown, paragraph_of, rows
from cgrsp_simpy.experiments.advise import Advice, advise, variant
from cgrsp_simpy.experiments.gaps import with_gaps
from cgrsp_simpy.model.checks import InputError

LOG = Path(__file__).resolve().parents[3] / "shared" / "data" / "alibaba_genai_2026" / "lora_request_trace.csv"
DAY = cg.day("hectic", jobs=60)
POLICIES = ("fifo", "edf", "cadr")


@pytest.fixture(scope="module")
def found() -> Advice:
    return advise(DAY, POLICIES, [4, 6], range(3), bound_seeds=1)


def test_everything_is_compared_on_the_same_seeds(found):
    assert len(found.options) == 3 * 3 * 2  # policies, slots with the scenario's own, types
    option = next(option for option in found.options if (option.policy, option.slots, option.free_types) == ("edf", 6, True))
    alone = cg.compare(variant(DAY, 6, True), ["edf"], range(3)).means()["edf"]
    assert all(option.figures[name] == alone[name] for name in option.figures)


def test_a_variant_goes_on_with_the_types_in_turn():
    own = [gpu.name for gpu in DAY.slots]
    assert [gpu.name for gpu in variant(DAY, 7, False).slots] == [*own, *own[:2]]
    assert variant(DAY, 5, False) == DAY and variant(DAY, 5, True).free_types


def test_the_pareto_set_is_what_nothing_beats(found):
    front = found.pareto
    assert front and all(not other.beats(one) for one in front for other in found.options)
    assert all(any(other.beats(one) for other in front) for one in found.options if one not in front)


def test_gaps_are_to_the_bound_on_its_own_seeds(found):
    """One seed of three has a bound: the gap is that seed's wait less its bound."""
    for row in rows(found):
        bound = found.bounds.get((row["slots"], row["free_types"], "wait_min"))
        assert (bound is None) == (row["wait_min_over_bound"] is None) == (row["slots"] != 5)
        if bound is not None:
            study = found.found.at(slots=row["slots"], free_types=row["free_types"])
            assert bound.n == 1
            assert row["wait_min_over_bound"] == pytest.approx(study.values(row["policy"], "wait_min")[0] - bound.mean)


def test_gaps_of_a_comparison_are_by_seed():
    study = cg.compare(DAY, ["fifo", "edf"], range(2))
    gaps = with_gaps(study)
    for before, after in zip(study.rows, gaps.rows):
        assert {name: after[name] for name in before} == before
    bounds = {row["seed"]: row["wait_min"] - row["wait_gap_min"] for row in gaps.rows if row["policy"] == "fifo"}
    for row in gaps.rows:
        assert row["wait_min"] - row["wait_gap_min"] == pytest.approx(bounds[row["seed"]])
    assert "wait_gap_min" in str(gaps) and "miss_gap_pct" in str(gaps)


def test_the_paragraph_follows_from_the_figures(found):
    text, now = paragraph_of(found), found.now
    assert text.startswith(f"Today, fifo on 5 slots of fixed type: {now.figures['miss_pct'].mean:.2f} ±")
    change = found.change(found.best(6, False), "miss_pct").mean
    assert f"One slot more, with {found.best(6, False).policy}: {change:+.2f} points of misses" in text
    assert markdown(found).count("\n| ") == len(found.options) + 1
    assert html_page(found).count("<tr>") == len(found.options) + 1


def test_nothing_is_recommended_that_is_not_better():
    quiet = advise(cg.day("quiet", jobs=5), ["fifo", "spt"], [5, 6], range(3), bound_seeds=0)
    assert paragraph_of(quiet).endswith("leave it as it is.")


@pytest.mark.parametrize("policy", ["fifo", "triage"])
def test_hours_of_slots_sum_to_all_there_are(policy):
    run = cg.simulate(cg.day("hectic"), policy, 1)
    hours = slot_hours(run)
    capacity_h = 5 * run.totals.end_s / 3600
    assert sum(hours.values()) == pytest.approx(capacity_h) and min(hours.values()) > -1e-9
    held = sum(value for name, value in hours.items() if not name.startswith("idle"))
    assert held == pytest.approx(capacity_h * run.summary()["utilisation_pct"] / 100)
    assert (hours["idle_held"] > 0.1) == (policy == "triage")  # fifo never leaves a slot idle while a job waits


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
    assert main([*arguments, "--try-slots", "5,6", "--report", str(tmp_path), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["rows"]) == 2 * 2 * 2
    names = {path.name for path in tmp_path.iterdir()}
    assert {"advice.md", "advice.html", "advice.csv", "advice_points.png", "advice_hours.svg"} <= names


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
    """Measured times have no law, so that there is no bound; all else is told."""
    arguments = ["advise", "--trace", str(LOG), "--trace-format", "gentd26", "--window", "2024-11-20:2024-11-21"]
    assert main([*arguments, "--policies", "fifo,triage", "--seeds", "2", "--try-slots", "6"]) == 0
    told = capsys.readouterr().out
    assert "Today, fifo on 5 slots of fixed type" in told and "There is no bound:" in told


def test_no_policy_is_an_error():
    with pytest.raises(InputError, match="policies"):
        advise(DAY, [], [5], range(2))
