"""A job on spot instances: small markets whose whole course is known, the fitted law, and what is
wrong told in one line.
"""

import json
import math
from itertools import pairwise

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.logs.series import Series
from cgrsp_simpy.spot.expected import classes_of, hazards, transitions
from cgrsp_simpy.spot.market import Job, Stretch, Traces, TwoState, Zone, read_traces
from cgrsp_simpy.spot.metrics import stays
from cgrsp_simpy.spot.optimum import Market
from cgrsp_simpy.spot.policies import make_policy
from cgrsp_simpy.spot.scenario import Scenario

HISTORY = Series.of("seen", 600, [True, False] * 10)
SMALL = Scenario(hours=8.0, deadline=10.0)


def zone(*stretches, name="a"):
    return Zone(name, tuple(Stretch(float(from_s), up) for from_s, up in stretches), HISTORY)


def carried_out(policy, zones, work=1000.0, deadline=1600.0, overhead=50.0, listener=None):
    job = Job(0, work, deadline, overhead, 1.0, 3.0)
    drawn = [(0.0, job, Market(job, tuple(zones)))]
    return Scenario(zones=len(zones)).run(policy, drawn=drawn, listener=listener)


def course(policy, zones, **more):
    return [tuple(stay) for stay in stays(carried_out(policy, zones, **more))]


DOWN_UP_DOWN = zone((0, False), (200, True), (500, False))


@pytest.mark.parametrize(
    ("policy", "stays"),
    [
        ("on-demand", [(1, 0.0, 1050.0, "done")]),
        # 250 s on spot are done; the slack is 350 s then, and is 2 d at 750 s
        ("greedy", [(0, 200.0, 500.0, "taken"), (1, 750.0, 1550.0, "done")]),
        # behind from the start; taken with 150 + 250 s done, which is ep(640 s)
        (
            "uniform-progress",
            [(1, 0.0, 200.0, "left"), (0, 200.0, 500.0, "taken"), (1, 640.0, None, None)],
        ),
        # what is left after spot is as cheap at any later time
        ("optimum", [(0, 200.0, 500.0, "taken"), (1, None, None, "done")]),
    ],
)
def test_the_course_of_a_small_market(policy, stays):
    found = course(policy, [DOWN_UP_DOWN])
    assert len(found) >= len(stays)
    for own, expected in zip(found, stays):
        for value, wanted in zip(own, expected):
            assert wanted is None or value == pytest.approx(wanted)


def test_uniform_progress_falls_behind_and_gets_ahead_by_two_overheads():
    """C / R = 0.8, d = 10: without spot, on demand from 0 until progress is ep(t + 2 d); then idle
    until progress is ep(t).
    """
    down = zone((0, False))
    found = course("uniform-progress", [down], work=800.0, deadline=1000.0, overhead=10.0)
    first, second = found[:2]
    # progress t - 10 reaches 0.8 (t + 20) at t = 130; idle until 0.8 t is 120
    assert first[1:3] == pytest.approx((0.0, 130.0))
    assert second[1] == pytest.approx(150.0)
    assert found[-1][3] == "done"


def test_time_sliced_does_the_share_of_each_slice():
    found = course("time-sliced:slices=2", [zone((0, False))], work=800.0, deadline=1200.0)
    # the first slice ends at 600 s: its 400 s of work and two overheads begin at 100 s
    assert found[0][1:3] == pytest.approx((100.0, 550.0))
    assert found[0][3] == "left"
    assert found[1][1] == pytest.approx(600.0 + 100.0)


def test_next_spot_skips_what_is_too_short_and_takes_what_lasts():
    short = zone((0, True), (70, False), name="short")
    long = zone((0, True), (900, False), name="long")
    # 70 s are less than d k / (k - 1) = 75 s
    assert course("next-spot", [short])[0][0] == 1
    assert course("next-spot", [short, long])[0][:3] == (1, 0.0, 900.0)


@pytest.mark.parametrize(("next_s", "then"), [(500, (0, 500.0)), (510, (1, 400.0))])
def test_next_spot_waits_for_what_comes_before_it_is_two_overheads_behind(next_s, then):
    """250 s are done at 300 s, which is ep(500 s - 2 d), and ep(400 s)."""
    twice = zone((0, True), (300, False), (next_s, True), (1400, False))
    assert course("next-spot", [twice])[1][:2] == pytest.approx(then)


def test_the_job_goes_to_another_zone_when_its_instance_is_taken():
    one, other = zone((0, True), (300, False)), zone((0, False), (100, True), name="b")
    stays = course("greedy", [one, other])
    assert stays == [(0, 0.0, 300.0, "taken"), (1, 300.0, 1100.0, "done")]


def test_costs_are_split_by_phase():
    cut = zone((0, True), (30, False), (100, True), (400, False))
    figures = carried_out("greedy", [cut]).summary()
    assert figures["wasted_usd"] == pytest.approx(30 / 3600)
    assert figures["changeover_usd"] == pytest.approx((50 + 3 * 50) / 3600)
    assert figures["executing_usd"] == pytest.approx((250 + 3 * 750) / 3600)
    assert figures["taken"] == 2
    assert figures["restarts"] == 2
    assert figures["spot_h"] * 3600 == pytest.approx(330)
    held_h = figures["spot_h"] + figures["on_demand_h"]
    assert figures["idle_h"] == pytest.approx(figures["finish_h"] - held_h)


def test_the_listing_tells_the_whole_course():
    heard = []
    carried_out("greedy", [DOWN_UP_DOWN], listener=heard.append)
    told = [(event.time_s, event.kind) for event in heard if event.kind not in ("decide", "submit")]
    assert told == [
        (200.0, "dispatch"),
        (250.0, "start"),
        (500.0, "taken"),
        (750.0, "dispatch"),
        (800.0, "start"),
        (1550.0, "finish"),
    ]
    assert [event.detail for event in heard if event.kind == "dispatch"] == [
        "spot in a",
        "on demand",
    ]


def test_the_future_event_list_shows_only_what_somebody_waits_for():
    """Not when an instance that was taken would have finished, nor when to wake who has moved."""
    for step in cg.step_through(SMALL, "uniform-progress", 3):
        kinds = [due.kind for due in step.future]
        assert kinds.count("wake") <= 1
        assert kinds.count("start") + kinds.count("finish") <= 1


def test_a_view_tells_nothing_of_what_is_to_come():
    seen, on = [], []

    def watching(view):
        seen.append((view.now_s, *view.zones[0][1:3], view.left_s, view.slack_s))
        on.append((view.on, view.on_spot, view.up))
        if view.on is None:
            yield view.job, view.on_demand

    carried_out(watching, [DOWN_UP_DOWN])
    assert [each[:3] for each in seen] == [
        (0.0, False, 0.0),
        (0.0, False, 0.0),
        (200.0, True, 200.0),
        (500.0, False, 500.0),
    ]
    assert seen[2][3:] == (1000.0 - 150.0, 1600.0 - 200.0 - 850.0)
    assert on[2] == (1, False, (0,))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (0, "zone 0, where there is no spot instance now"),
        (5, "5, which is no zone"),
        ("spot", "'spot', which is no zone"),
        (None, "no place, where it is"),
    ],
)
def test_an_answer_that_cannot_be_carried_out_is_an_error(answer, told):
    with pytest.raises(cg.PolicyError, match=told):
        carried_out(lambda view: [(view.job, answer)], [DOWN_UP_DOWN])


def test_to_and_fro_within_an_instant_is_an_error():
    with pytest.raises(cg.PolicyError, match="second move in one instant"):
        carried_out(
            lambda view: [(view.job, view.on_demand if view.on is None else None)], [DOWN_UP_DOWN]
        )


def test_a_policy_that_never_moves_the_job_is_an_error():
    with pytest.raises(cg.PolicyError, match="1 jobs waiting"):
        carried_out(lambda view: [], [DOWN_UP_DOWN])


def test_who_ignores_the_safety_net_misses_the_deadline_and_loses_spot_there():
    def lazy(view):
        if view.on is None and view.now_s >= 1000:
            yield view.job, (view.up or [view.on_demand])[0]
        elif view.on is None:
            yield cg.Wake(1000.0)

    found = carried_out(lazy, [zone((0, True))])
    assert [tuple(stay) for stay in stays(found)] == [
        (0, 1000.0, 1600.0, "taken"),
        (1, 1600.0, 2100.0, "done"),
    ]
    assert found.summary()["missed"] == 1


# ---- markets ----


def test_one_poll_on_each_side_of_the_history_is_enough():
    assert Traces((Series.of("a", 600, [True, False]),), history=0.5).before == 1


def test_a_run_meets_the_poll_in_which_it_ends():
    market = TwoState(0.5, 0.5, step_s=600, history_h=1.0)
    runs = [[market.draw(1, length_s, seed) for seed in range(20)] for length_s in (1200, 900)]
    assert runs[0] == runs[1]
    assert {len(own.stretches) for [own] in runs[0]} == {1, 2}


def test_a_run_begins_after_the_history_and_sees_the_trace():
    status = np.arange(400) % 7 < 3
    trace = Traces((Series.of("a", 900, status),), history=0.25)
    for seed in range(20):
        [found] = trace.draw(1, 20 * 3600.0, seed)
        assert found.history.status.tolist() == status[:100].tolist()
        assert found.stretches[0].from_s <= 0
        polls = [
            [stretch for stretch in found.stretches if stretch.from_s <= 900 * k][-1].up
            for k in range(80)
        ]
        starts = [k for k in range(100, 321) if status[k : k + 80].tolist() == polls]
        assert starts
        since = {k - int(-found.stretches[0].from_s / 900) for k in starts}
        assert all(status[k - 1] != status[k] for k in since)


def test_a_short_series_begins_anew_and_that_is_said(caplog):
    trace = Traces((Series.of("a", 3600, [True] * 10 + [False, True, True, False]),), 0.7)
    Scenario(trace, 8.0, 10.0)
    assert "a: 5.0 h after its history are shorter than a run of 10.0 h" in caplog.text
    [found] = trace.draw(1, 36000.0, 1)
    assert all(one.up != other.up for one, other in pairwise(found.stretches))
    assert len(found.stretches) > 3


def test_zones_of_a_made_up_market_do_not_depend_on_their_number():
    market = TwoState(2.0, 1.0)
    one, three = market.draw(1, 50 * 3600.0, 4), market.draw(3, 50 * 3600.0, 4)
    assert one[0] == three[0]
    assert len({found.stretches for found in three}) == 3


def test_the_made_up_market_has_the_mean_times_asked_for():
    series = TwoState(2.0, 1.0)._series(0, 400_000, 1)
    for up, mean_h in ((True, 2.0), (False, 1.0)):
        runs_h = series.runs_s(up) / 3600
        error = runs_h.std(ddof=1) / math.sqrt(len(runs_h))
        assert abs(runs_h.mean() - mean_h) < 4 * error


# ---- the fitted law ----


def test_hazards_are_ends_over_time_at_risk():
    series = Series.of("a", 3600, [1, 1, 0, 1, 1, 1, 0, 0])  # up 2 h, 3 h; down 1 h, 2 h (goes on)
    assert hazards(series, True, (0.0,)) == pytest.approx([2.5 / 5])
    assert hazards(series, False, (0.0,)) == pytest.approx([1.5 / 3])
    assert hazards(series, True, (0.0, 2.0)) == pytest.approx([1.5 / 4, 1.5 / 1])


def test_a_known_law_is_found_again():
    series = TwoState(4.0, 1.0, history_h=20_000)._series(0, 240_000, 3)
    for up, mean_h in ((True, 4.0), (False, 1.0)):
        for ages in ((0.0,), (0.0, 1.0)):
            assert hazards(series, up, ages) == pytest.approx([1 / mean_h] * len(ages), rel=0.1)
    chance = transitions(series, (0.0,), 0.5)
    decay = math.exp(-0.5 * (1 / 4 + 1))
    expected = [[0.2 + 0.8 * decay, 0.8 - 0.8 * decay], [0.2 - 0.2 * decay, 0.8 + 0.2 * decay]]
    assert chance == pytest.approx(np.array(expected), abs=0.02)
    assert transitions(series, (0.0, 0.25, 1.0), 0.1).sum(axis=1) == pytest.approx(1)


def test_ages_count_where_they_tell_something():
    """Of a memoryless market one class is enough; where times are short or long, several."""
    assert classes_of([TwoState(4.0, 1.0)._series(0, 40_000, 3)]) == (0.0,)
    mixed = np.concatenate([[True] * (1 if k % 2 else 100) + [False] * 9 for k in range(200)])
    assert len(classes_of([Series.of("a", 600, mixed)])) > 1
    assert len(classes_of([Series.of("a", 600, mixed)] * 4)) == 1  # else too many states


def test_in_a_market_that_lasts_expected_cost_waits_where_it_pays():
    """Spot returns within minutes: with slack the job waits; without spot for days it does not."""
    quick, slow = TwoState(10.0, 0.1, 60), TwoState(1.0, 400.0, 60)
    cheap = cg.simulate(Scenario(quick, 8.0, 12.0), "expected-cost", 1).summary()
    dear = cg.simulate(Scenario(slow, 8.0, 12.0), "expected-cost", 2).summary()
    assert cheap["on_demand_h"] == 0
    assert dear["spot_h"] == 0
    assert dear["cost_pct"] == pytest.approx(100)


# ---- studies ----


def test_equal_seeds_give_equal_runs_and_policies_the_same_market():
    one, other = (cg.simulate(SMALL, name, 3) for name in ("greedy", "greedy"))
    assert one.summary() == other.summary()
    assert stays(one) == stays(other)
    third = cg.simulate(SMALL, "uniform-progress", 3)
    assert third.plan.market.zones == one.plan.market.zones


def test_a_run_has_one_row_with_terms_times_and_figures():
    run = cg.simulate(SMALL, "uniform-progress", 1)
    assert run.jobs[["job", "work_s", "finish_s"]].tolist() == [(0, 28_800.0, stays(run)[-1].to_s)]
    assert run.by("job") == [{"job": 0, "jobs": 1, **run.summary()}]
    [row] = run.rows()
    assert row["overhead_s"] == 360.0
    assert row["cost_usd"] == run.summary()["cost_usd"]


def test_the_optimum_saves_all_that_can_be_saved():
    study = cg.compare(SMALL, cg.spot.COMPARED, range(4))
    some = [cost < 99.9 for cost in study.values("optimum", "cost_pct")]
    assert some == [True, False, True, True]  # on seed 1 there is no spot instance in time
    for name, share in (("optimum", 100), ("on-demand", 0)):
        saved = study.values(name, "saving_pct")
        wanted = [share if there else math.nan for there in some]
        assert saved == pytest.approx(wanted, nan_ok=True)
    assert study.values("on-demand", "cost_pct") == pytest.approx([100] * 4)
    for name in cg.spot.COMPARED:
        assert not any(study.values(name, "missed"))


def test_a_sweep_varies_the_market_too():
    found = cg.sweep(SMALL, {"up_h": [1.0, 5.0], "zones": [1, 2]}, ["greedy"], [0])
    assert [study.scenario.source.up_h for study in found.studies] == [1.0, 1.0, 5.0, 5.0]
    assert [study.scenario.number_of_zones for study in found.studies] == [1, 2, 1, 2]
    with pytest.raises(cg.InputError, match="did you mean 'up_h'"):
        SMALL.varied(up=3.0)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Scenario(hours=0), "hours(=0) must be a number > 0"),
        (lambda: Scenario(overhead=0.0), "overhead(=0.0) must be a number > 0"),
        (
            lambda: Scenario(overhead=0.1234567),
            "overhead(=0.1234567) must be a whole number of sec",
        ),
        (lambda: Scenario(deadline=48.0), "deadline(=48.0) must be at least hours + overhead"),
        (lambda: Scenario(spot_usd_per_h=-1.0), "spot_usd_per_h(=-1.0) must be a number > 0"),
        (lambda: Scenario(spot_usd_per_h=4.0), "on_demand_usd_per_h(=3.06) must be a number > 4"),
        (lambda: Scenario("trace.json"), "source(='trace.json') must be"),
        (lambda: Scenario(zones=9), "zones(=9) must be at most 8"),
        (lambda: Scenario(zones=0), "zones(=0) must be a whole number >= 1"),
        (lambda: Scenario(Traces((HISTORY,)), zones=2), "zones(=2) must be at most 1"),
        (lambda: Traces(()), "series(=()) must be at least one Series"),
        (lambda: Traces((HISTORY,), 0), "history(=0) must be a number > 0"),
        (lambda: Traces((HISTORY,), 1.0), "history(=1.0) must be a share that leaves polls"),
        (lambda: Traces((HISTORY, Series("b", 60, 9, True))), "must have one step: seen has 600 s"),
        (lambda: TwoState(up_h=0.01), "up_h(=0.01) must be a number >= 0.0833"),
        (lambda: make_policy("time-sliced:slices=0"), "slices(=0) must be a whole number >= 1"),
    ],
)
def test_what_is_not_allowed_is_one_line(make, told):
    with pytest.raises(cg.InputError) as error:
        make()
    assert told in str(error.value)
    assert "\n" not in str(error.value)


# ---- the commands ----


@pytest.fixture
def files(tmp_path):
    """Two zones as files."""
    paths = []
    for number, period in enumerate((7, 11)):
        data = [int(k % period < period // 2) for k in range(300)]
        path = tmp_path / f"zone{number}.json"
        path.write_text(json.dumps({"metadata": {"gap_seconds": 600}, "data": data}))
        paths.append(str(path))
    return paths


def test_files_of_zones_on_the_command_line(files, capsys):
    words = ["--hours", "6", "--deadline", "8", "--overhead", "0.1", "--format", "json"]
    line = ["spot", "compare", "--trace", *files, *words, "--seeds", "3"]
    assert main([*line, "--policies", "greedy,optimum"]) == 0
    found = json.loads(capsys.readouterr().out)["policies"]
    study = cg.compare(Scenario(read_traces(files), 6.0, 8.0), ["greedy", "optimum"], range(3))
    assert found["greedy"]["cost_usd"]["mean"] == study.means()["greedy"]["cost_usd"].mean
    assert main([*line, "--policies", "greedy,optimum", "--zones", "1"]) == 0
    one = json.loads(capsys.readouterr().out)["policies"]
    assert one["optimum"]["cost_usd"]["mean"] >= found["optimum"]["cost_usd"]["mean"]


def test_a_swept_deadline_may_lie_where_the_usual_job_does_not_fit(capsys):
    line = ["spot", "sweep", "deadline=60,70", "--hours", "55", "--policies", "on-demand"]
    assert main([*line, "--seeds", "1", "--format", "csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--trace none.json", "No such file"),
        ("--needed 2", "--needed(=2) must be given with --trace"),
        ("--history 0.3", "--history(=0.3) must be given with --trace"),
        ("--trace {0} --up 2", "--up(=2.0) must be left out beside --trace"),
        ("--trace {0} --needed 0", "needed(=0) must be a whole number >= 1"),
        ("--trace {0} {1} --zones 3", "zones(=3) must be at most 2"),
        ("--prices 3", "--prices(='3') must be two numbers"),
        ("--prices 3,1", "on_demand_usd_per_h(=1.0) must be a number > 3"),
        ("--deadline 40", "deadline(=40.0) must be at least hours + overhead"),
        ("--up 0", "up_h(=0.0) must be a number >="),
    ],
)
def test_bad_options_are_one_line(words, told, files, capsys):
    assert main(["spot", "compare", *words.format(*files).split()]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert told in err
