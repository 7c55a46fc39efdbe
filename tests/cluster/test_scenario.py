"""A cluster as a model: your own schedulers and placements, sweeps, limits, claims,
steps.
"""

from math import inf

import numpy as np
import pytest
from cluster.cases import ONE_NODE, SMALL_NODES, jobs_of, simulate
from support import (
    check_refused,
    output,
    refusals,
    swf_of_three,
    waits_s,
)

import cgrsp_simpy as cg
from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER, Cluster
from cgrsp_simpy.cluster.jobs import Jobs, Mix, Offered, generate
from cgrsp_simpy.cluster.report import by_class, measured
from cgrsp_simpy.cluster.scenario import OVERRUN, Scenario, StoppingRule
from cgrsp_simpy.studies.subject import subject_of

MIX_OF_ONE = Mix(gpus=((1,),), gpu_shares=(1.0,))


def test_a_test_view_has_all_jobs_of_a_seed_waiting():
    scenario = Scenario(Offered(MIX_OF_ONE, jobs=4, warm_up=2, after=3), Cluster((4,)))
    view, other = (scenario.moment(30.0, seed) for seed in (1, 2))
    assert (view.now_s, len(view.queue), view.running) == (30.0, 9, {})
    assert next(cg.cluster.make_scheduler("fifo")(view)) == (0, ((0, 1),))
    assert view.estimate_s[0] != other.estimate_s[0]


# ---- your own placements ----


def last_fit(size, free):
    """Return the node with the most room."""
    return -free


def test_a_user_placement_is_compared_and_stored(tmp_path):
    spread, own = (
        Scenario(Offered(jobs=40, warm_up=0), placement=each)
        for each in ("spread", last_fit)
    )
    expected = cg.compare(spread, ["fifo"], range(2)).rows
    assert cg.compare(own, ["fifo"], range(2), out=tmp_path / "out").rows == expected
    assert cg.compare(own, ["fifo"], range(2), out=tmp_path / "out").rows == expected
    check_refused(
        lambda: cg.compare(spread, ["fifo"], range(2), out=tmp_path / "out"),
        r"was created with scenario\.placement",
    )


test_an_impossible_setting_gives_a_one_line_error_before_the_first_run = refusals(
    ("source", "a log", r"source\(='a log'\) must be of type Offered or of type J"),
    ("mix", "wide", r"mix\(='wide'\) must be of type Mix"),
    ("cluster", "8", r"cluster\(='8'\) must be numbers of nodes"),
    (
        "cluster",
        SMALL_NODES,
        r"widest job of the mix\(=32\) must be at most 8 GPUs",
    ),
    ("placement", "bst", r"unknown placement 'bst'; did you mean 'best'"),
    ("kill_at_limit", 2, r"kill_at_limit\(=2\) must be true or false"),
    ("lod", 1.0, "unknown parameter 'lod'; did you mean 'load'"),
    ("load", 0.0, r"load\(=0.0\) must be a number >= 1e-06"),
    call=lambda name, wrong: cg.sweep(Scenario(), {name: [wrong]}, ["fifo"], range(2)),
)


# ---- which jobs are measured, and when enough have arrived ----

STABLE = ("fifo-skip", "easy", "conservative", "multifactor")  # at a load of .9
NOT_STABLE = [name for name in cg.cluster.SCHEDULERS if name not in STABLE]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", STABLE)
def test_the_same_jobs_wait_as_long_however_many_are_measured(name):
    few, many = (
        subject_of(Scenario(Offered(jobs=jobs, load=0.9, warm_up=0))).run(name, 3)
        for jobs in (100, 300)
    )
    assert few.plan.settled and len(few.jobs) < len(many.jobs)
    assert (measured(few) == measured(many)[:100]).all()
    assert few.summary()["wait_s"] == waits_s(many.jobs)[:100].mean()
    assert few.summary()["censored"] == 0


def test_jobs_arrive_until_no_more_work_waits_than_the_measured_and_later_jobs_met():
    """In GPU-seconds, on average; once all of the measured jobs have ended."""
    jobs = (
        subject_of(Scenario(Offered(jobs=100, load=0.9, warm_up=0))).run("easy", 3).jobs
    )
    gpu_s = jobs["gpus"] * (jobs["finish_s"] - jobs["start_s"])
    waiting = np.tril(jobs["start_s"] > jobs["submit_s"][:, None], -1) @ np.floor(
        gpu_s + 1e-6
    )
    met = waiting.cumsum() / np.arange(1, len(jobs) + 1)
    ended = jobs["submit_s"] >= jobs["finish_s"][:100].max()
    assert np.flatnonzero(ended & (waiting <= met))[0] == len(jobs) - 1


@pytest.mark.parametrize(("gpu_s", "stops"), [(2, True), (3, False)])
def test_the_work_that_measured_and_later_jobs_met_is_counted_from_the_first(
    gpu_s, stops
):
    """Job 0 is not measured; jobs 1 to 4 meet 6, 0, 0 and `gpu_s` GPU-seconds, and job
    4 arrives after the ends of the measured jobs 1 and 2.
    """
    rule = StoppingRule(Offered(jobs=2, warm_up=1, after=9))
    *_, last = (
        getattr(rule, name)(*arguments)
        for name, *arguments in (
            *(("arrives", 0, 6), ("arrives", 1, 4), ("starts", 6), ("ends", 0)),
            *(("starts", 4), ("ends", 1), ("arrives", 2, 8), ("starts", 8)),
            *(("arrives", 3, gpu_s), ("ends", 2), ("arrives", 4, 1)),
        )
    )
    assert (last, rule.settled) == (stops, stops)


@pytest.mark.long
def test_waits_of_stable_schedulers_do_not_depend_on_how_many_jobs_arrive():
    """The first 1,000 jobs, load .9, eight seeds, with 1,000, 3,000 and 9,000 arrivals
    at most.
    """
    result = {
        after: cg.compare(
            Scenario(Offered(jobs=1000, load=0.9, warm_up=0, after=after)),
            list(cg.cluster.SCHEDULERS),
            range(8),
        )
        for after in (0, 2000, 8000)
    }
    for name in STABLE:
        means = [study.means()[name]["wait_s"].mean for study in result.values()]
        assert max(means[1:]) == pytest.approx(min(means[1:]), rel=0.02), name
    assert result[8000].note.startswith(", ".join(NOT_STABLE) + ": unstable")


def test_warm_up_and_cool_down_are_not_measured():
    scenario = Scenario(Offered(jobs=60, load=0.7, warm_up=40))
    run = subject_of(scenario).run("easy", 1)
    own = run.jobs[40:100]
    assert len(run.jobs) > 100 == 40 + len(run.rows())
    assert [row["job"] for row in run.rows()] == list(range(40, 100))
    result = run.summary()
    wait_s = own["start_s"] - own["submit_s"]
    assert (
        result["wait_s"] == wait_s.mean() and result["starved"] == (wait_s > 1800).sum()
    )
    assert (
        result["wait_variance_s2"] == wait_s.var()
        and result["wait_max_s"] == wait_s.max()
    )
    from_s, to_s = own["submit_s"][[0, -1]]
    assert result["success_pct"] == pytest.approx(
        100 * (own["finish_s"] <= to_s).mean()
    )
    finish_s = run.jobs["finish_s"]  # of all jobs
    completed = ((from_s <= finish_s) & (finish_s <= to_s)).sum()
    assert result["throughput_per_h"] == pytest.approx(
        completed * 3600 / (to_s - from_s)
    )
    span_s = np.clip(run.jobs["finish_s"], from_s, to_s) - np.clip(
        run.jobs["start_s"], from_s, to_s
    )
    busy = run.jobs["gpus"] @ span_s / (64 * (to_s - from_s))
    assert result["utilisation_pct"] == pytest.approx(100 * busy)
    assert sum(row["jobs"] for row in by_class(run)) == 2 * 60
    assert sum(row["jobs"] for row in run.by("gpus")) == 60


def test_a_scheduler_that_is_not_stable_is_named_and_its_waits_are_infinite(capsys):
    """A policy that serves narrow jobs first never has 32 free GPUs; FIFO serves too
    few.
    """
    offered = Offered(jobs=120, load=1.4, warm_up=0, after=180)
    study = cg.compare(Scenario(offered), ["easy", "hps"], range(2))
    assert study.note == f"easy, hps: {Scenario.report.infinite}"
    assert study.note in str(study)
    run = study.run("hps", 0)
    result, own = run.summary(), measured(run)
    late = run.jobs["start_s"][:120] > run.jobs["submit_s"][-1]
    assert result["wait_s"] == result["wait_variance_s2"] == inf and result["jain"] == 0
    assert (np.isinf(own["start_s"]) == late).all() and result[
        "censored"
    ] == late.sum() > 0
    assert max(row["wait_s"] for row in by_class(run)) == inf
    assert np.isfinite([result[name] for name in ("throughput_per_h", "starved")]).all()
    options = "run cluster jobs=120 warm_up=0 after=180 load=1.4 --policy hps"
    assert f"hps is {Scenario.report.infinite}" in output(capsys, *options.split())


def test_a_precision_that_no_seed_can_reach_adds_no_runs():
    offered = Offered(jobs=50, load=1.4, warm_up=0, after=200)
    study = cg.compare(Scenario(offered), ["fifo"], range(2), precision=0.5)
    assert study.seeds == [0, 1] and study.means()["fifo"]["wait_s"].mean == inf


def test_a_log_lists_the_waits_that_depend_on_its_end(capsys, tmp_path):
    run = simulate(
        jobs_of((0, 8, 10), (1, 8, 10), (2, 8, 10), estimate_s=[10, 9, 11]),
        ONE_NODE,
        cg.cluster.make_scheduler("fifo"),
    )
    assert (run.summary()["censored"], run.summary()["wait_s"]) == (2, 9)
    [censored, longer] = subject_of(run.scenario).details(run)[1]["notes"]
    assert longer == f"1 job took longer than estimated: {OVERRUN}"
    assert censored.split(":")[0] in output(
        capsys, "run", "cluster", f"trace={swf_of_three(tmp_path)!s}", "cluster=1x8"
    )


# ---- limits ----


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("name", cg.cluster.SCHEDULERS)
def test_killing_equals_running_jobs_cut_to_their_limits(name):
    rng = np.random.default_rng(1)
    jobs = generate(Mix(), 150, 1.1, PAPER_CLUSTER, 3)
    columns = {
        each: getattr(jobs, each)
        for each in ("arrival_s", "gpus", "iterations", "kind", "family", "user")
    }
    limit_s = jobs.duration_s * rng.choice([0.5, 1.0, 2.0], jobs.jobs)
    long = Jobs(**columns, duration_s=jobs.duration_s, estimate_s=limit_s)
    cut = Jobs(
        **columns, duration_s=np.minimum(jobs.duration_s, limit_s), estimate_s=limit_s
    )
    killed = simulate(
        long, PAPER_CLUSTER, cg.cluster.make_scheduler(name), kill_at_limit=True
    )
    shorter = simulate(cut, PAPER_CLUSTER, cg.cluster.make_scheduler(name))
    assert np.array_equal(killed.jobs["start_s"], shorter.jobs["start_s"])
    assert np.array_equal(killed.jobs["finish_s"], shorter.jobs["finish_s"])
    assert killed.jobs["killed"].sum() == (limit_s < jobs.duration_s).sum() > 0


# ---- claims, timeline, listing ----


LISTING = """\
      0.00  submit    job 0              6 GPUs, limit 10.00 s
      0.00  decide                       1 waiting, 8 of 8 GPUs idle
      0.00  start     job 0     node 0,1  6 GPUs, 0.00 s of wait
      1.00  submit    job 1              4 GPUs, limit 2.50 s
      1.00  decide                       1 waiting, 2 of 8 GPUs idle
     10.00  finish    job 0     node 0,1  10.00 s of execution
     10.00  decide                       1 waiting, 8 of 8 GPUs idle
     10.00  start     job 1     node 0   4 GPUs, 9.00 s of wait
     12.50  finish    job 1     node 0   2.50 s of execution, killed at its limit
"""


def test_a_listing_describes_gpus_limits_and_nodes():
    jobs, heard = jobs_of((0, 6, 10), (1, 4, 5), estimate_s=[10, 2.5]), []
    simulate(
        jobs,
        SMALL_NODES,
        cg.cluster.make_scheduler("fifo"),
        kill_at_limit=True,
        listener=heard.append,
    )
    assert "\n".join(map(str, heard)) + "\n" == LISTING


# ---- your own job processes ----


class Frail(Scenario):
    """A cluster whose first node is down from 5 s to 20 s; its jobs continue later."""

    def job_process(self, run, job):
        yield from run.resumed(job, self.time_s(run.hidden[job]))
        run.record(job, *run.hidden[job][1:], False)

    def processes(self, run):
        def down():
            yield run.timeout(5)
            with run.down(run.resources[0]):
                yield run.timeout(15)

        return [down()]


def test_a_node_that_is_down_is_not_shown_and_its_jobs_begin_again_when_there_is_room():
    seen = []

    def look(view):
        seen.append((view.now_s, view.idle(), view.queue))
        yield from cg.cluster.make_scheduler("easy")(view)

    jobs = jobs_of((0, 4, 10), (0, 2, 8), (1, 2, 30), (12, 4, 3))
    run = subject_of(Frail(jobs, SMALL_NODES)).run(look)
    assert seen == [
        (0, [4, 4], [0, 1]),
        (1, [0, 2], [2]),
        (8, [0, 2], [0]),
        (12, [0, 2], [0, 3]),
        (20, [4, 2], [0, 3]),
        (25, [4, 2], [3]),
    ]
    assert run.jobs["finish_s"].tolist() == [25, 8, 31, 28]
