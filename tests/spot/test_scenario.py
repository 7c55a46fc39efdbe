"""A job on spot instances as a model: course, costs, rows, sweeps, errors, command."""

import json

from market.snapshots import trace
from spot.cases import DOWN_UP_DOWN, HISTORY, carried_out, course, zone
from support import output, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.market.series import Series
from cgrsp_simpy.spot.job import Checkpoints, Stay
from cgrsp_simpy.studies.subject import subject_of

SMALL = cg.spot.Scenario(hours=8.0, deadline=10.0)


def test_a_stay_is_wasted_unless_it_outlasts_its_changeover():
    stays = [("taken", 60), ("left", 60), ("left", 61), ("taken", 61), ("done", 60)]
    assert [s for s in stays if Stay(0, 10, *s[::-1]).wasted(50)] == stays[:2]


def test_the_job_goes_to_another_zone_when_its_instance_is_taken():
    one, other = zone((0, True), (300, False)), zone((0, False), (100, True), name="b")
    stays = course("greedy", [one, other])
    assert stays == [(0, 0.0, 300.0, "taken"), (1, 300.0, 1100.0, "done")]


def test_the_listing_shows_the_whole_course():
    heard = []
    carried_out("greedy", [DOWN_UP_DOWN], listener=heard.append)
    messages = [
        (event.time_s, event.kind)
        for event in heard
        if event.kind not in ("decide", "submit")
    ]
    assert messages == [
        (200.0, "dispatch"),
        (250.0, "start"),
        (500.0, "taken"),
        (750.0, "dispatch"),
        (800.0, "start"),
        (1550.0, "finish"),
    ]
    assert [
        event.detail for event in heard if event.kind in ("submit", "dispatch")
    ] == [
        "0.28 h of computing left",
        "0.28 h of computing left",
        "spot in a",
        "0.21 h of computing left",
        "on demand",
    ]


def test_the_future_event_list_shows_only_events_with_waiting_processes():
    """Neither the completion on a lost instance nor the wake of a job that moved."""
    for step in cg.step_through(SMALL, "uniform-progress", 3):
        kinds = [due.kind for due in step.future]
        assert kinds.count("wake") <= 1
        assert kinds.count("start") + kinds.count("finish") <= 1


# ---- studies ----


def test_a_run_has_one_row_with_terms_times_and_figures():
    run = cg.simulate(SMALL, "uniform-progress", 1)
    assert run.jobs[["job", "work_s", "finish_s"]].tolist() == [
        (0, 28_800.0, run.plan.stays[-1].to_s)
    ]
    assert run.by("job") == [{"job": 0, "jobs": 1, **run.summary()}]
    [row] = run.rows()
    assert (row["overhead_s"], row["cost_usd"]) == (360.0, run.summary()["cost_usd"])


test_invalid_values_give_a_one_line_error = refusals(
    (lambda: cg.spot.Scenario(hours=0), "hours(=0) must be a number > 0"),
    (lambda: cg.spot.Scenario(overhead=0.0), "overhead(=0.0) must be a number > 0"),
    (lambda: cg.spot.Scenario(overhead=1e-300), "at least one, in hours"),
    (
        lambda: cg.spot.Scenario(overhead=0.1234567),
        "overhead(=0.1234567) must be a whole number of sec",
    ),
    (
        lambda: cg.spot.Scenario(deadline=48.0),
        "deadline(=48.0) must be at least hours + overhead",
    ),
    (
        lambda: cg.spot.Scenario(spot_usd_per_h=-1.0),
        "spot_usd_per_h(=-1.0) must be a number > 0",
    ),
    (
        # the deadline is the earliest that is possible
        lambda: cg.spot.Scenario(hours=8.0, deadline=8.1, spot_usd_per_h=4.0),
        "on_demand_usd_per_h(=3.06) must be a number > 4",
    ),
    (lambda: cg.spot.Scenario("trace.json"), "source(='trace.json') must be"),
    (lambda: cg.spot.Scenario(zones=51), "zones(=51) must be at most 50"),
    (
        lambda: cg.spot.Scenario(checkpoints=3),
        "checkpoints(=3) must be of type Checkpoints",
    ),
    (lambda: Checkpoints(write_s=-1), "write_s(=-1) must be a number >= 0"),
    (lambda: Checkpoints(write_s=0.5), "write_s(=0.5) must be whole seconds"),
    (lambda: Checkpoints(notice_s=30), "notice_s requires checkpoint_s"),
    (
        lambda: Checkpoints(transfer_usd_per_gb=1),
        "transfer_usd_per_gb requires size_gb",
    ),
    (
        lambda: Series.of("h", 60, [1, 0], [1.0]),
        "number of prices(=1) must be 2, one per",
    ),
    (lambda: Series.of("h", 60, [1, 0], [1.0, -1]), "price of poll 1(=-1.0) must"),
    (lambda: cg.spot.Scenario(zones=0), "zones(=0) must be a whole number >= 1"),
    (
        lambda: cg.spot.Scenario(
            cg.spot.Traces((HISTORY,), 1 / HISTORY.steps), zones=2
        ),
        "zones(=2) must be at most 1",
    ),
    (lambda: cg.spot.Traces(()), "series(=()) must be a list of at least one Series"),
    (
        lambda: cg.spot.Traces((HISTORY,), 0.5, "x"),
        "on_demand(='x') must be of type Series",
    ),
    (lambda: cg.spot.Traces((HISTORY,), 0), "history(=0) must be a number > 0"),
    (
        lambda: cg.spot.Traces((HISTORY,), 1.0),
        "history(=1.0) must be a share that leaves some",
    ),
    (lambda: cg.spot.TwoState(up_h=0.01), "up_h(=0.01) must be a number >= 0.0833"),
    (
        lambda: subject_of(cg.spot.Scenario()).make_policy("time-sliced:slices=0"),
        "slices(=0) must be a whole number >= 1",
    ),
)


# ---- the commands ----


def test_zones_on_the_command_line_are_those_in_python(file, capsys):
    paths = [
        file(
            trace([int(k % period < period // 2) for k in range(300)]), f"{period}.json"
        )
        for period in (7, 11, 29)
    ]
    line = (
        f"compare spot trace={paths[0]}+{paths[1]} log.on_demand={paths[2]} hours=6"
        " deadline=9 checkpoint_s=1800 write_s=60 size_gb=10"
        " storage_usd_per_gb_month=0.1 --seeds 3 --policies greedy --format json"
    )
    [result] = json.loads(output(capsys, *line.split()))["figures"]
    traces = cg.spot.read_traces(paths[:2], on_demand=paths[2])
    saved = Checkpoints(1800.0, 60.0, size_gb=10.0, storage_usd_per_gb_month=0.1)
    study = cg.compare(
        cg.spot.Scenario(traces, 6.0, 9.0, checkpoints=saved), ["greedy"], range(3)
    )
    assert result["cost_usd"]["mean"] == study.means()["greedy"]["cost_usd"].mean
    swept = cg.sweep(study.scenario, {"write_s": [0.0, 120.0]}, ["greedy"], range(2))
    assert [each.scenario.checkpoints.write_s for each in swept.studies] == [0.0, 120.0]
