"""Slots by the hour, by hand: when they open, what is billed, and what stops them."""

from dataclasses import replace
from itertools import islice

import pytest
from support import check_refused, output, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.rental.opening import Opening, describe_hours, slot_hours
from cgrsp_simpy.studies.subject import subject_of

GPU = cg.GpuType("G", 3.6, (100.0,), 1.0)
H = 3600.0
MIDNIGHT = cg.Clock(((0.0, 1.0),))
TEN_S = cg.Market(MIDNIGHT, delay_s=((10, 10),) * 3)


def run_of(submits, hours, boot_s=0.0, minimum_s=0.0, market=TEN_S, **more):
    """FIFO on slots that are open by the hour: jobs of 100 s, 10 s of provisioning."""
    jobs = cg.JobList([cg.Job(id, at_s, 1e7) for id, at_s in enumerate(submits)])
    scenario = cg.Scenario(
        "one",
        jobs,
        (GPU,) * max(number for _, number in hours),
        (GPU,),
        market=market,
        service=cg.Service(sigma=(0,)),
        opening=Opening(hours, boot_s, minimum_s),
        **more,
    )
    return cg.simulate(scenario, "fifo")


def test_a_slot_opens_and_closes_every_day_and_a_job_waits_for_it():
    run = run_of([0, 2 * H, 3 * H, 25 * H], [(1, 1), (3, 0)])
    starts_s = [H + 20, 2 * H + 10, 25 * H + 20, 25 * H + 130]
    assert run.jobs["start_s"].tolist() == starts_s
    assert run.summary()["overtime_h"] == 0


def test_hours_repeat_daily_across_midnight_from_any_hour_on():
    spans = Opening([(2, 0), (20, 1)]).spans_s(0, start_h=22)
    assert list(islice(spans, 2)) == [(-2 * H, 4 * H), (22 * H, 28 * H)]
    assert list(Opening([(2, 1)]).spans_s(0, 5.0)) == [(0, float("inf"))]
    opening = Opening([(0, 2), (10, 5), (14, 3)])
    assert opening.mean_slots(5) == pytest.approx((10 * 2 + 4 * 5 + 10 * 3) / 24)
    assert opening.open_s(5, 9.0, 2 * H) == pytest.approx((2 + 5) * H)
    text = describe_hours(opening.hours)
    assert text == "2 slots, 5 from 10 to 14 h, 3 from 14 to 24 h"


def test_a_closing_slot_finishes_its_job_and_is_billed_until_then():
    run = run_of([3 * H - 50, 3 * H], [(1, 1), (3, 0)])
    assert run.jobs["start_s"].tolist() == [3 * H - 40, 25 * H + 20]
    assert run.summary()["overtime_h"] == pytest.approx(60 / H)
    # it still runs when the next hours begin: billed in between, and not ordered again
    run = run_of([3 * H - 50, 3 * H + 5], [(1, 1), (3, 0), (3.01, 1)])
    assert run.summary()["overtime_h"] == pytest.approx(36 / H)
    assert run.jobs["start_s"].tolist()[1] == 3 * H + 60 + 10


def test_boot_time_is_billed_and_may_last_longer_than_the_hours():
    assert run_of([0], [(1, 1), (3, 0)], boot_s=600).jobs["start_s"] == H + 620
    jobs = run_of([0], [(0, 0), (1, 2), (2, 1), (3, 0)], boot_s=1.5 * H).jobs
    assert jobs["slot"] == 0 and jobs["start_s"] == 2.5 * H + 20


def test_each_order_has_its_minimum():
    run = run_of([1.2 * H, 26 * H], [(1, 1), (1.5, 0)], minimum_s=2 * H)
    assert run.summary()["overtime_h"] == pytest.approx(2 * 1.5)


def test_scarce_stock_refuses_or_delays_an_order():
    scarce = cg.HourlyStock("G", ((0, 0, 1),) * 2 + ((1, 0, 0),) * 22)
    market = replace(TEN_S, stock=(scarce,), delay_s=((10, 10), (10, 10), (300, 300)))
    late = run_of([0], [(1, 1), (3, 0)], market=market)
    assert late.jobs["start_s"] == H + 600
    terms = cg.Terms(retry_s=600)
    refused = run_of([0], [(1, 1), (3, 0)], market=market, terms=terms)
    assert refused.jobs["start_s"] == 2 * H + 20
    assert cg.simulate(
        replace(
            refused.scenario, opening=Opening([(0, 0), (1, 1), (1.5, 0), (2.5, 1)])
        ),
        "fifo",
    ).summary()["overtime_h"] == pytest.approx(-0.5)


def test_a_warm_instance_is_returned_when_its_slot_closes():
    terms = cg.Terms(warm_s=3 * H)
    run = run_of([H, 3 * H - 50], [(1, 1), (3, 0)], terms=terms)
    idle = [row for row in run.claims if row["phase"] == "idle-warm"]
    assert [(row["from_s"], row["to_s"]) for row in idle] == [(H + 120, 3 * H - 50)]
    run = run_of([H], [(1, 1), (3, 0)], terms=terms)
    [idle] = [row for row in run.claims if row["phase"] == "idle-warm"]
    assert idle["to_s"] == 3 * H


def test_utilisation_is_of_the_open_slots():
    run = run_of([H - 10], [(0, 1), (1, 0)])
    used = run.held_s[0] / (H + 100)
    assert run.summary()["utilisation_pct"] == pytest.approx(100 * used)


def test_hours_in_python_words_and_files(tmp_path, capsys):
    pairs = [(0, 2), (10, 5), (14, 3)]
    day = cg.day("normal", slots=pairs)
    assert len(day.slots) == 5 and day.opening.hours == tuple(pairs)
    assert subject_of(cg.day("normal")).varied(slots=pairs) == day
    assert subject_of(day).varied(slots=4).opening.hours == ()
    assert slot_hours(["RTX 3090"]) == (["RTX 3090"], ())
    path = tmp_path / "day.toml"
    day.to_toml(path)
    assert cg.Scenario.from_toml(path) == day
    words = ["normal", "slots=0:2+10:5+14:3", "--policy", "fifo"]
    assert '"overtime_h"' in output(capsys, "run", *words, "--format", "json")


@pytest.mark.parametrize(
    "word",
    [
        "slots=0:2+0:3",
        "slots=10:2+9:3",
        "slots=0:0+10:0",
        "slots=25:2",
        "slots=0:2+10:-1",
        "opening.boot_s=-1",
    ],
)
def test_wrong_hours_are_refused_in_one_line(word, capsys):
    assert main(["run", "normal", word, "--policy", "fifo"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "must be" in error


def test_slots_that_are_never_open_long_enough_are_refused():
    check_refused(
        lambda: run_of([0], [(1, 1), (3, 0)], boot_s=2 * H),
        r"boot_s.* less than the 7200 s",
    )
    assert run_of([0], [(1, 1), (3, 0)], boot_s=2 * H - 20).jobs["start_s"] > 0


test_other_numbers_than_that_of_all_slots_and_the_compiled_loop_are_refused = refusals(
    (
        lambda: replace(cg.day("normal"), opening=Opening([(0, 2), (10, 4)])),
        "the number of all slots, 5, as the greatest",
    ),
    (
        lambda: cg.simulate(
            cg.day("normal", slots=[(0, 1)]), "fifo", engine="compiled"
        ),
        "open and close by the hour",
    ),
)
