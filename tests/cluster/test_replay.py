"""Replay of a log: the scheduler that explains it, ties, or none; intervals, changes
and errors. The logs of `plain.py` come from a simulator without code of the package.
"""

import random
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from cluster import plain
from support import check_refused, outcome, refusals, waits_s

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.cluster.jobs import Jobs, Mix, generate
from cgrsp_simpy.cluster.logs import jobs_of, read_jobs
from cgrsp_simpy.cluster.replay import (
    FLOOR,
    MOST_UNEXPLAINED,
    ORDERED,
    Replay,
    changed,
    replay,
)
from cgrsp_simpy.cluster.scenario import Pooled, Scenario, pooled
from cgrsp_simpy.logs import Tags, read_log
from cgrsp_simpy.studies.subject import subject_of

CLUSTERS = [
    cg.cluster.Cluster((8,) * 8),
    cg.cluster.Cluster((4,) * 16),
    cg.cluster.Cluster((8,) * 4 + (4,) * 8),
]


def stamp(seconds):
    return (datetime(2026, 3, 1) + timedelta(seconds=round(float(seconds)))).isoformat()


def slurm(jobs):
    """The rows of a run as sacct prints them, in whole seconds."""
    lines = ["JobID|User|Submit|Start|End|Timelimit|AllocTRES"]
    for row in jobs:
        minutes, seconds = divmod(int(row["estimate_s"]), 60)
        limit = (
            f"{minutes // 1440}-{minutes // 60 % 24:02}:{minutes % 60:02}:{seconds:02}"
        )
        times = "|".join(
            stamp(row[name]) for name in ("submit_s", "start_s", "finish_s")
        )
        lines.append(
            f"{row['job']}|u{row['user']}|{times}|{limit}|gres/gpu={row['gpus']}"
        )
    return "\n".join(lines) + "\n"


def read(folder, rows, cluster=None):
    path = folder / "log.txt"
    path.write_text(rows, encoding="utf-8")
    return Scenario(
        *[read_jobs(path, "sacct", *filter(None, [cluster])), *filter(None, [cluster])]
    )


@cache
def log_of(scheduler, jobs=200, seed=3, placement="best"):
    scenario = Scenario(
        generate(Mix(), jobs, 1.0, CLUSTERS[0], seed), placement=placement
    )
    whole = replace(
        scenario.source,
        arrival_s=np.floor(scenario.source.arrival_s),
        duration_s=np.ceil(scenario.source.duration_s),
        estimate_s=np.ceil(scenario.source.estimate_s),
    )
    return slurm(subject_of(replace(scenario, source=whole)).run(scheduler).jobs)


def test_if_nobody_waits_no_scheduler_explains_the_log(tmp_path):
    idle = Scenario(generate(Mix(), 20, 0.01, CLUSTERS[0], 0))
    result = replay(
        read(tmp_path, slurm(subject_of(idle).run("fifo").jobs)), ["fifo", "easy"]
    )
    assert result.explained_by == result.what_if(["nodes=1"]) == []
    assert [row["scheduler"] for row in result.rows] == ["recorded", "fifo", "easy"]
    assert "agreement_pct" not in result.rows[0]


def test_a_log_without_starts_is_simulated_alone():
    """Jobs of a mix, which no log has recorded."""
    result = replay(
        Scenario(generate(Mix(), 50, 0.9, CLUSTERS[0], 0)),
        ["fifo", "easy", lambda view: cg.cluster.SCHEDULERS["fifo"](view)],
    )
    assert result.explained_by == [] and list(result.waits_s)[:2] == ["fifo", "easy"]
    assert np.array_equal(*[*result.waits_s.values()][::2])
    assert [row["scheduler"] for row in result.what_if(["placement=pack"])] == ["fifo"]


@pytest.mark.parametrize(
    ("late_s", "explained_by"),
    [
        ({"a": [1] * 10}, ["a"]),
        ({"a": [0] * 10, "b": [1] * 10}, ["a"]),
        ({"a": [0] * 10, "b": [2, *[0] * 9]}, ["a"]),  # a explains each wait
        ({"a": [2, *[0] * 9], "b": [*[0] * 9, 2]}, ["a", "b"]),
        ({"a": [3] * 10, "b": [2] * 10}, ["b"]),
        ({"a": [60] * 10}, ["a"]),
        ({"a": [-60] * 10}, ["a"]),
        ({"a": [60.1] * 10}, []),
        ({"a": [-60.1] * 10}, []),
        ({"a": [100, -100] * 5}, ["a"]),  # a tenth of the recorded waits
        ({"a": [101, -101] * 5}, []),
    ],
)
def test_ten_recorded_waits_of_1000_s_are_explained(late_s, explained_by):
    waits_s = {
        name: 1000.0 + np.array(off_s)
        for name, off_s in {"recorded": [0] * 10, **late_s}.items()
    }
    agreement = dict.fromkeys(late_s, np.array([1] * 7 + [0] * 3))
    assert Replay(None, waits_s, agreement, {}).explained_by == explained_by


def test_no_scheduler_explains_a_log_of_another_cluster(tmp_path):
    """A log of 64 GPUs on 56."""
    scenario = read(tmp_path, log_of("easy"), cg.cluster.Cluster((8,) * 7))
    result = replay(scenario, ["fifo", "easy"])
    assert result.explained_by == result.what_if(["nodes=1"]) == []
    check_refused(lambda: result.what_if(["gpus=3"]), ["what-if 'gpus'", "nodes"])
    assert {row["explains"] for row in result.rows} == {None, "no"}
    assert (
        100 * MOST_UNEXPLAINED
        < 100 * result.unexplained
        == min([100, *(row["unexplained_pct"] for row in result.rows[1:])])
    )


def test_changes_are_paired_job_by_job_with_the_scenario_without_them(tmp_path):
    result = replay(read(tmp_path, log_of("easy")), ["easy", "fifo"])
    wider, other, limited = result.what_if(
        [
            *("nodes=2", "scheduler=fifo", "kill_at_limit=true"),
            *(f"placement={result.scenario.placement}", "kill_at_limit=false"),
            *("scheduler=easy", "nodes=2"),  # the present scheduler, and repeated
        ]
    )
    assert result.explained_by == [wider["scheduler"]] == ["easy"]
    more = Scenario(
        result.scenario.source, cg.cluster.Cluster((8,) * 10), result.scenario.placement
    )
    assert wider["wait_s"] == waits_s(subject_of(more).run("easy").jobs).mean()
    differences = result.waits_s["fifo"] - result.waits_s["easy"]
    assert other["wait_difference_s"] == pytest.approx(differences.mean())
    assert other["wait_difference_s_low"] < other["wait_difference_s"]
    assert (limited["wait_difference_s"], limited["wait_difference_s_high"]) == (0, 0)


def test_added_nodes_are_like_the_last_node():
    cluster = cg.cluster.Cluster(
        (2, 4), cores=(8, 16), types=("a", "b"), partitions=("p", "p,q")
    )
    jobs = replace(
        generate(Mix(gpus=((1,),), gpu_shares=(1.0,)), 5, 0.9, cluster, 0),
        cores=[1] * 5,
    )
    more, scheduler = changed(Scenario(jobs, cluster), "easy", "nodes=2")
    assert scheduler == "easy" and more.cluster == cg.cluster.Cluster(
        (2, 4, 4, 4),
        cores=(8, 16, 16, 16),
        types=("a", *"bbb"),
        partitions=("p", *["p,q"] * 3),
    )


BOUND = """JobID|Partition|Submit|Start|End|Timelimit|ReqTRES|AllocTRES
1|gpu|2026-03-02T09:00:00|2026-03-02T09:00:00|2026-03-02T10:00:00|60||\
cpu=4,node=2,gres/gpu=4
2|gpu|2026-03-02T09:01:00|2026-03-02T10:00:00|2026-03-02T11:00:00|60||\
cpu=4,node=1,gres/gpu=2
3|cpu|2026-03-02T09:02:00|2026-03-02T{}|2026-03-02T12:00:00|60||cpu=8,node=1
4|gpu|2026-03-02T09:03:00|2026-03-02T11:00:00|2026-03-02T12:00:00|60||\
cpu=4,node=2,gres/gpu=4
"""


@pytest.mark.parametrize("exact", [True, False])
def test_a_log_of_partitions_cores_and_nodes_is_replayed(exact, tmp_path):
    """Not exact: by the log, job 1 ends five minutes after job 2 took its place."""
    cluster = cg.cluster.Cluster(
        (2, 2, 0), cores=(8, 8, 8), partitions=("gpu", "gpu", "cpu")
    )
    rows = BOUND.format("09:02:00")
    rows = (
        rows
        if exact
        else rows.replace("09:00:00|2026-03-02T10:00", "09:00:00|2026-03-02T10:05")
    )
    result = replay(read(tmp_path, rows, cluster), ["fifo-skip", "fifo"])
    recorded_s = result.waits_s["recorded"]
    assert recorded_s.tolist() == [0, 59 * 60, 0, 117 * 60]
    assert result.explained_by == ["fifo-skip"]
    assert not exact or np.array_equal(result.waits_s["fifo-skip"], recorded_s)
    # with nodes, not exact, job 2 finds no room; fifo would not start 3 before 2
    assert result.agreement["fifo"].tolist() == ([1, 0, 1, 1] if exact else [1])


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("tag", ["partition", "gpu_type"])
@pytest.mark.parametrize(
    "cluster",
    [
        cg.cluster.Cluster((8,) * 7),
        cg.cluster.Cluster((8,) * 7, types=("a",) * 7),
        cg.cluster.Cluster((8,) * 7, partitions=("a",) * 7),
    ],
    ids=["plain", "types", "partitions"],
)
def test_jobs_name_a_partition_or_type_whether_or_not_the_cluster_does(
    cluster, tag, tmp_path
):
    """The recorded starts of 64 GPUs fit no placement on 56."""
    scenario = read(tmp_path, log_of("easy"), cg.cluster.Cluster((8,) * 7))
    source = replace(scenario.source, tags=Tags({tag: ("a",) * scenario.source.jobs}))
    plain = replay(scenario, ["fifo", "easy"])
    result = replay(Scenario(source, cluster), ["fifo", "easy"])
    assert result.agreement["easy"].size
    assert result.agreement["easy"].mean() == pytest.approx(
        plain.agreement["easy"].mean(), abs=0.05
    )


@pytest.mark.parametrize("mark", ["types", "partitions"])
def test_a_job_may_span_node_groups_of_unequal_size(mark, tmp_path):
    """Five nodes of 2 GPUs each; job 1 has all five, job 2 starts before it ends."""
    rows = """JobID|Submit|Start|End|Timelimit|AllocTRES
1|2026-03-02T09:00:00|2026-03-02T09:00:00|2026-03-02T10:05:00|60|node=5,gres/gpu=10
2|2026-03-02T09:01:00|2026-03-02T10:00:00|2026-03-02T11:00:00|60|node=1,gres/gpu=2
3|2026-03-02T09:03:00|2026-03-02T11:00:00|2026-03-02T12:00:00|60|node=5,gres/gpu=10
"""
    cluster = cg.cluster.Cluster((2,) * 5, **{mark: (*"aaaa", "b")})
    scenario = read(tmp_path, rows, cluster)
    name = {"types": "gpu_type", "partitions": "partition"}[mark]
    source = replace(scenario.source, tags=Tags({name: ("",) * 3}))
    result = replay(replace(scenario, source=source), ["fifo", "fifo-skip"])
    assert result.agreement and result.waits_s["recorded"].tolist() == [
        0,
        59 * 60,
        117 * 60,
    ]


def test_jobs_without_gpus_alone_are_replayed_by_their_cores(tmp_path):
    rows = (
        BOUND.format("09:02:00").replace(",gres/gpu=4", "").replace(",gres/gpu=2", "")
    )
    scenario = read(tmp_path, rows, cg.cluster.Cluster((2, 0), cores=(8, 8)))
    scenario = replay(scenario, ["fifo-skip", "fifo"]).scenario
    assert not scenario.source.gpus.any() and scenario.cluster.cores == (8, 8)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nodes=0", ["what-if nodes(=0)", "1"]),
        ("nodes=-1", ["what-if nodes(=-1)", "a whole number"]),
        ("nodes", ["what-if 'nodes' must be of the form name=value"]),
        ("gpus=3", ["what-if 'gpus'", "nodes"]),
        ("scheduler=best", ["scheduler 'best'"]),
        ("scheduler=pbs", ["pbs needs"]),
        ("placement=tight", ["placement 'tight'"]),
        ("nodes=100001", ["what-if nodes(=100001)", "at most 100,000"]),
        ("nodes=many", ["what-if nodes(='many')", "a whole number"]),
        ("kill_at_limit=maybe", ["kill_at_limit(='maybe')", "true or false"]),
    ],
)
def test_an_impossible_change_is_rejected_before_the_replay(
    text, words, tmp_path, capsys, monkeypatch
):
    scenario = read(tmp_path, log_of("fifo", 20))
    check_refused(lambda: changed(scenario, "easy", text), words)
    monkeypatch.setattr("cgrsp_simpy.cli.records.replay", None)
    line = ("replay", tmp_path / "log.txt", "log.format=sacct", "--what-if", text)
    assert all(word in outcome(capsys, *line)[2] for word in words)


def test_no_scheduler_sees_when_jobs_started(tmp_path):
    seen = []

    def look(view):
        seen.append(hasattr(view.jobs, "start_s"))

    with pytest.raises(Exception, match="look"):
        subject_of(read(tmp_path, log_of("fifo", 20))).run(look)
    assert seen and not any(seen)


@pytest.mark.slow
def test_a_slurm_that_starts_jobs_in_cycles_is_named_still(tmp_path):
    """Every start is up to a minute late, which no simulation here reproduces."""
    scenario = read(tmp_path, log_of("shortest", 400))
    late_s = stream(7, "late").uniform(0, 59, scenario.source.jobs)
    late = replace(scenario.source, start_s=np.floor(scenario.source.start_s + late_s))
    assert replay(
        replace(scenario, source=late), ["fifo", "fifo-skip", "easy", "sjf", "shortest"]
    ).explained_by == ["shortest"]


CHAIN = (
    "job_id,submit_s,start_s,service_s,gpus,after,think_s\n"
    "x,0,0,100,1,,\n"
    "a,0,100,100,1,,\n"
    "b,1,210,50,1,a,10\n"
    "c,2,300,50,1,b,\n"
)


def test_a_dependent_job_is_ready_when_its_predecessor_ends_in_the_simulation(file):
    """On one GPU x runs to 100 and a to 200: b is ready at 210, and c when b ends at
    260. On two, a starts at 0 and everything after it is 100 s earlier.
    """
    jobs = jobs_of(read_log(file(CHAIN, "log.csv")), cg.cluster.Cluster((1,)))
    arrivals_s = dict(zip(jobs.tags["job_id"], jobs.arrival_s.tolist()))
    assert arrivals_s == {"x": 0, "a": 0, "b": 210, "c": 260}
    for gpus, submit_s in ((1, [0, 0, 210, 260]), (2, [0, 0, 110, 160])):
        run = cg.simulate(Scenario(jobs, cg.cluster.Cluster((gpus,))), "fifo")
        assert run.jobs["submit_s"].tolist() == submit_s
        assert (run.jobs["start_s"] - run.jobs["submit_s"])[2:].tolist() == [0, 0]
    result = replay(Scenario(jobs, cg.cluster.Cluster((1,))), ["fifo"])
    assert result.waits_s["recorded"].tolist() == [0, 100, 0, 40]
    assert result.moved.startswith("2 of 4 jobs were ready later than submitted")


@pytest.mark.parametrize(
    ("more", "gpus", "start_s"),
    [
        # with two GPUs b is ready at 110, before d, which was ready before it in the
        # log; then both wait for the GPUs that e holds
        (
            "d,150,300,9,2,,\ne,105,106,80,2,,\n",
            2,
            [("x", 0), ("a", 0), ("e", 105), ("d", 235), ("b", 185)],
        ),
        # b becomes ready as d arrives, at 210, and is above it in the log
        ("d,210,260,9,1,,\n", 1, [("x", 0), ("a", 100), ("b", 210), ("d", 260)]),
    ],
    ids=["another order", "one instant"],
)
def test_jobs_that_become_ready_are_served_first_come(more, gpus, start_s, file):
    text, cluster = CHAIN.partition("c,2")[0] + more, cg.cluster.Cluster((gpus,))
    jobs = jobs_of(read_log(file(text, "log.csv")), cluster)
    run = cg.simulate(Scenario(jobs, cluster), "fifo")
    assert [*zip(jobs.tags["job_id"], run.jobs["start_s"].tolist())] == start_s


test_a_job_cannot_follow_one_that_arrives_later = refusals(
    (
        lambda: Jobs(
            arrival_s=[0.0, 1.0],
            gpus=[1, 1],
            duration_s=[1.0, 1.0],
            estimate_s=[1.0, 1.0],
            iterations=None,
            kind=[1, 1],
            family=None,
            user=None,
            predecessor=[1, -1],
            think_s=[0.0, 0.0],
            earliest_s=[0.0, 0.0],
        ),
        "job 1 must come after its predecessor",
    )
)


@pytest.mark.slow
def test_easy_explains_a_slurm_log_with_dependencies():
    """A fifth of the jobs was submitted 2 to 6 hours before it was eligible."""
    path = Path(__file__).resolve().parents[3] / "shared/data/cases/p09b_dependency.txt"
    if not path.exists():
        pytest.skip("the folder of cases is absent")
    nodes = cg.cluster.Cluster((8,) * 8)
    result = replay(Scenario(jobs_of(read_log(path), nodes), nodes), ["fifo", "easy"])
    assert result.explained_by == ["easy"] and result.agreement["easy"].mean() > FLOOR
    assert result.waits_s["recorded"].mean() == pytest.approx(1700.535)


def test_a_what_if_moves_the_whole_chain(file):
    """With two GPUs nobody waits, and b and c are ready 100 s earlier, too."""
    text = CHAIN.replace("c,2,300", "c,2,260")
    jobs = jobs_of(read_log(file(text, "log.csv")), cg.cluster.Cluster((1,)))
    result = replay(Scenario(jobs, cg.cluster.Cluster((1,))), ["fifo", "easy"])
    assert result.waits_s["recorded"].tolist() == [0, 100, 0, 0]
    for row in result.what_if(["nodes=1"]):
        assert row["wait_s"] == 0 and row["wait_difference_s"] == -25


def test_a_job_is_ready_at_the_end_of_a_first_job_that_has_no_recorded_one(file):
    """In a simulation b may be ready from its submission at 50 on, not from 150 on, the
    time in the log; c does not depend on itself.
    """
    text = (
        "job_id,submit_s,start_s,ready_s,service_s,gpus,after\n"
        "a,0,,0,5,1,\nb,50,200,150,9,1,a\nc,60,300,160,9,1,c\n"
    )
    jobs = jobs_of(read_log(file(text, "log.csv")), cg.cluster.Cluster((1,)))
    assert [*zip(jobs.predecessor, jobs.earliest_s)] == [(-1, 0), (0, 50), (-1, 160)]


def test_a_job_submitted_after_the_end_of_its_predecessor_is_ready_then(file):
    """It is submitted 40 s after that end, so it does not depend on it. With a think
    time of 40 s it is submitted when it is ready, as in a chain of feedback. One of
    101 s would have it ready over a minute later than it was. No job depends on itself.
    """
    text = "job_id,submit_s,start_s,service_s,gpus,after,think_s\na,0,0,100,1,,\n"
    for after, earliest_s in (
        ("a,0", [0, 140]),
        ("a,40", [0, 0]),
        ("a,100", [0, 140]),
        ("a,101", None),
        ("b,", None),
    ):
        path = file(f"{text}b,140,140,50,1,{after}\n", "log.csv")
        jobs = jobs_of(read_log(path), cg.cluster.Cluster((1,)))
        assert jobs.arrival_s.tolist() == [0, 140]
        assert earliest_s == (
            jobs.earliest_s if earliest_s is None else jobs.earliest_s.tolist()
        )


@pytest.mark.parametrize(
    "scheduler",
    [
        "easy",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ORDERED),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("conservative", "hps", "las", "multifactor", "sjf")
        ),
    ],
)
def test_the_log_of_a_scheduler_is_explained_by_it(scheduler, tmp_path):
    candidates = dict.fromkeys(
        [scheduler, "fifo", "fifo-skip", "shortest", "shortest-gpu", "easy"]
    )
    if scheduler in ("hps", "las"):
        candidates |= dict.fromkeys(
            cg.cluster.SCHEDULERS.keys() - {"pbs", "sbs", "ordered"}
        )
    scenario = read(tmp_path, log_of(scheduler, seed=4, placement="spread"))
    result = replay(scenario, list(candidates))
    assert (result.explained_by, result.scenario.placement) == ([scheduler], "spread")


def test_two_nodes_of_two_gpus_may_have_another_placement(file):
    """The third job waits for both GPUs of a node: the others run on both nodes."""
    text = "submit_s,start_s,service_s,gpus\n0,0,100,1\n0,0,200,1\n1,100,50,2\n"
    jobs = jobs_of(read_log(file(text, "log.csv")), nodes := cg.cluster.Cluster((2, 2)))
    result = replay(Scenario(jobs, nodes), ["fifo"])
    assert (result.explained_by, result.scenario.placement) == (["fifo"], "spread")


def test_in_a_long_log_a_refuted_simulation_is_ended(file, monkeypatch):
    """Ten short jobs go first, and a long one last; under FIFO they all wait for it.

    The first job runs for longer than all jobs wait together.
    """
    rows = [
        *("first,0,0,900", "a,900,900,20"),
        "long,901,1020,1000",
        *(f"{job},{902 + job},{920 + 10 * job},10" for job in range(10)),
    ]
    text = "job_id,submit_s,start_s,service_s,gpus\n" + ",1\n".join([*rows, ""])
    nodes = cg.cluster.Cluster((1,))
    scenario = Scenario(jobs_of(read_log(file(text, "log.csv")), nodes), nodes)
    monkeypatch.setattr("cgrsp_simpy.cluster.replay.LONG", 5)
    ended = replay(scenario, ["fifo", "shortest"])
    assert ended.left_out.startswith("left out: fifo differ from the recorded")
    assert [row["wait_s"] is None for row in ended.rows] == [False, False, True]
    # differences that are equal to the sum do not refute it
    text = "submit_s,start_s,service_s,gpus\n0,99,9,1\n" + "".join(
        f"{at_s},{at_s},1,1\n" for at_s in range(200, 220, 2)
    )
    equal = Scenario(jobs_of(read_log(file(text, "equal.csv")), nodes), nodes)
    assert "fifo" in replay(equal, ["fifo"]).waits_s
    monkeypatch.setattr("cgrsp_simpy.cluster.replay.LONG", 13)  # its jobs
    whole = replay(scenario, ["fifo", "shortest"])
    assert whole.rows[2]["unexplained_pct"] > 100
    for result in (ended, whole):
        assert result.explained_by == ["shortest"] and result.unexplained == 0
        assert np.array_equal(result.waits_s["shortest"], result.waits_s["recorded"])


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("multiple", [1, 4])
def test_nodes_of_one_gpu_are_pooled_with_equal_waits(multiple):
    """GPUs that only serve jobs together are one node there."""
    cluster = cg.cluster.Cluster((1,) * (32 * multiple + 2))
    jobs = generate(Mix(overestimate=1.0), 60, 1.2, cg.cluster.Cluster((1,) * 32), 0)
    # the quick case has jobs that are submitted after the end of another
    before = np.where(np.arange(60) % 7 > 4, np.arange(60) - 2, -1)
    more = {"predecessor": before, "think_s": np.zeros(60)} if multiple == 1 else {}
    jobs = replace(jobs, gpus=jobs.gpus * multiple, **more)
    scenario = Scenario(jobs, cluster)
    assert type(pooled(scenario)) is Pooled
    for name in cg.cluster.SCHEDULERS:
        run = subject_of(scenario).run(name)
        equal = subject_of(pooled(scenario)).run(name)
        assert np.array_equal(run.jobs, equal.jobs), name


# ---- logs of a simulator that shares no code with the package ----

HOWTO = Path(__file__).parents[2] / "docs" / "howto" / "replay.md"
NODES, SIZE = 8, 8
PLAIN = cg.cluster.Cluster((SIZE,) * NODES)


def plain_run(seed):
    """A run whose scheduler, placement, load and limits are drawn."""
    generator = random.Random(f"{seed} run")
    scheduler = generator.choice([*plain.KNOWN, *plain.UNKNOWN])
    placement = generator.choice(["first", "best", "spread"])
    jobs = plain.drawn(seed, 250, NODES, SIZE, generator.uniform(1.1, 1.3), seed % 2)
    return plain.Run(jobs, NODES, SIZE, scheduler, placement)


def plain_waits(run, ids):
    numbers = [int(job[1:]) for job in ids]
    return np.array([run.start_s[number] - run.ready_s[number] for number in numbers])


@pytest.mark.parametrize("scheduler", plain.KNOWN)
@pytest.mark.parametrize("placement", plain.KEYS)
def test_a_simulator_without_code_of_the_package_gives_equal_waits(
    scheduler, placement, file
):
    """Gangs on several nodes, limits that are too long, and dependent jobs."""
    run = plain.Run(
        plain.drawn(7, 80, NODES, SIZE, 1.3, exact=False),
        NODES,
        SIZE,
        scheduler,
        placement,
    )
    jobs = jobs_of(read_log(file(plain.log_of(run), "log.csv")), PLAIN)
    again = subject_of(Scenario(jobs, PLAIN, placement)).run(scheduler)
    assert (
        waits_s(again.jobs).tolist() == plain_waits(run, jobs.tags["job_id"]).tolist()
    )


@pytest.mark.slow
def test_at_least_18_of_20_plain_logs_are_explained_correctly_or_not_at_all(file):
    """Seeds and distributions were fixed before any of these logs was replayed."""
    right, named = 0, 0
    for seed in range(3000, 3020):
        run = plain_run(seed)
        jobs = jobs_of(read_log(file(plain.log_of(run), f"{seed}.csv")), PLAIN)
        result = replay(Scenario(jobs, PLAIN))
        known = [run.scheduler] * (run.scheduler in plain.KNOWN)
        right += result.explained_by == known
        if result.explained_by == known != []:
            named += 1
            more = plain.Run(run.jobs, NODES + 1, SIZE, run.scheduler, run.placement)
            easy = plain.Run(run.jobs, NODES, SIZE, "easy", run.placement)
            rows = result.what_if(["nodes=1", "scheduler=easy"])
            for row, changed_run in zip(rows, (more, easy)):
                waits_s = plain_waits(changed_run, jobs.tags["job_id"])
                assert row["wait_s"] == pytest.approx(waits_s.mean(), abs=1)
        else:
            assert result.explained_by or result.what_if(["nodes=1"]) == []
    assert right >= 18 and named >= 8
    text = " ".join(HOWTO.read_text(encoding="utf-8").split())
    assert f"For {right} of 20 further logs, replay named the right scheduler" in text
