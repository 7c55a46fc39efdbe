"""Figures by the values of a column of the input: in every module they add up to those
of the whole, and each row of a schedule carries its own texts.
"""

import json
import re
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from support import check_refused, csv_rows

import cgrsp_simpy as cg
from cgrsp_simpy.base.table import csv_text
from cgrsp_simpy.cli import main
from cgrsp_simpy.dag.logs import read_alibaba
from cgrsp_simpy.hgsp.instance import cluster, write_instance
from cgrsp_simpy.logs import Tags

CUSTOMERS = ("ann", "bob", "")


def tasks(rng, number=60):
    return [
        {
            "customer": rng.choice(CUSTOMERS),
            "task": f"t{task}",
            "workload": rng.uniform(100, 9000),
            "memory_gb": rng.choice([4, 30, 60]),
            "deadline_s": rng.uniform(0, 2000),
            "weight": rng.randrange(1, 6),
            "arrival_s": rng.randrange(900),
        }
        for task in range(number)
    ]


def requests(rng, number=60):
    return [
        {
            "TIMESTAMP": f"2023-11-16 18:{rng.randrange(60):02}:{rng.randrange(60):02}",
            "ContextTokens": rng.randrange(1, 9000),
            "GeneratedTokens": rng.randrange(900),
            "customer": rng.choice(CUSTOMERS),
        }
        for _ in range(number)
    ]


def nodes(rng, number=30):
    """Batch tasks of one job; each but the first waits for one before it."""
    return [
        {
            "task_name": f"M{node}"
            + (f"_{rng.randrange(1, node)}" if node > 1 else ""),
            "instance_num": rng.randrange(1, 9),
            "job_name": "j_1",
            "task_type": rng.choice(["1", "3", "7"]),
            "status": "Terminated",
            "start_time": 100,
            "end_time": 100 + rng.randrange(1, 500),
            "plan_cpu": 100,
            "plan_mem": 0.5,
        }
        for node in range(1, number + 1)
    ]


@pytest.fixture
def file(tmp_path):
    def written(rows, name="input.csv", header=True):
        path = tmp_path / name
        path.write_text(
            csv_text(rows).split("\n", 0 if header else 1)[-1], encoding="utf-8"
        )
        return str(path)

    return written


def adds_up(report, whole, sums, means=()):
    """Sums over the values are the whole's; means weighted by jobs are, too."""
    jobs = sum(row["jobs"] for row in report)
    for name in sums:
        assert sum(row[name] for row in report) == pytest.approx(whole[name], rel=1e-12)
    for name in means:
        mean = sum(row[name] * row["jobs"] for row in report) / jobs
        assert mean == pytest.approx(whole[name], rel=1e-12)
    return jobs


def test_tasks_of_a_file_are_reported_by_their_customers(file, seed=0):
    rows = tasks(Random(seed))
    instance = cg.hgsp.read_instance(file(rows), cluster("small"))
    run = cg.simulate(cg.hgsp.Scenario(instance, noise=0.3), "atc", seed)
    report, whole = run.by("customer"), run.summary()
    sums, means = ("weighted_tardiness", "twct", "dmc"), ("act_s", "dmr_pct")
    assert adds_up(report, whole, sums, means) == len(rows)
    own = {row["task"]: row["customer"] for row in rows}
    assert [row["customer"] for row in report] == sorted(set(own.values()))
    schedule = run.rows()
    assert all(row["customer"] == own[row["task"]] for row in schedule)
    ran_h = (
        sum(
            row["finish_s"] - row["start_s"]
            for row in schedule
            if row["customer"] == "ann"
        )
        / 3600
    )
    [ann] = [row for row in report if row["customer"] == "ann"]
    assert ann["gpu_hours"] == pytest.approx(ran_h, rel=1e-12)


def test_tasks_that_are_written_and_read_again_keep_their_columns(file, tmp_path):
    gpus = cluster("small")
    instance = cg.hgsp.read_instance(file(tasks(Random(4))), gpus)
    write_instance(instance, tmp_path / "again.csv")
    again = cg.hgsp.read_instance(tmp_path / "again.csv", gpus)
    assert again.tags == instance.tags
    assert again.task_names == instance.task_names


def test_requests_of_a_log_are_reported_by_their_customers(file, seed=0):
    rows = requests(Random(seed))
    source = cg.llm.read_requests(file(rows), weight="short")
    run = cg.simulate(cg.llm.Scenario(source, cg.llm.Service(gpus=4)), "wsrpt")
    report = run.by("customer")
    assert adds_up(
        report, run.summary(), (), ("e2e_s", "ttft_s", "goodput_pct")
    ) == len(rows)
    told = run.rows()
    assert all(
        rows[int(row["name"]) - 2]["customer"] == row["customer"] for row in told
    )
    times_s = [row["ttft_s"] for row in told if row["customer"] == "bob"]
    [bob] = [row for row in report if row["customer"] == "bob"]
    assert bob["ttft_p90_s"] == pytest.approx(np.percentile(times_s, 90), rel=1e-12)


@pytest.mark.parametrize("scheduler", ["heft", "rtgs"])
def test_nodes_of_a_graph_are_reported_by_a_column_of_their_log(file, scheduler):
    rows = nodes(Random(5))
    scenario = cg.dag.Scenario(f"{file(rows, header=False)}:j_1", cg.dag.Servers(2))
    run = cg.simulate(scenario, scheduler)
    report = run.by("task_type")
    assert sum(row["jobs"] for row in report) == len(rows)
    assert max(row["last_finish_s"] for row in report) == run.jobs["finish_s"].max()
    assert min(row["first_start_s"] for row in report) == run.jobs["start_s"].min()
    told = run.rows()
    for row in report:
        own = [each for each in told if each["task_type"] == row["task_type"]]
        ran_h = sum(each["finish_s"] - each["start_s"] for each in own) / 3600
        assert row["gpu_hours"] == pytest.approx(ran_h, rel=1e-12)
    visits = run.timeline.visits
    wait_s = sum(row["wait_s"] * row["jobs"] for row in report)
    assert wait_s == pytest.approx(
        (visits["granted_s"] - visits["ready_s"]).sum(), rel=1e-12
    )


@pytest.mark.quick_cases(0)
@pytest.mark.parametrize(
    ("rows", "words", "policies", "column"),
    [
        (
            tasks,
            "{} hgsp instance=FILE noise=0.2",
            "atc:online=true,greedy",
            "customer",
        ),
        (requests, "{} llm trace=FILE service.gpus=4", "wsrpt,fifo", "customer"),
        pytest.param(
            nodes,
            "{} dag:FILE:j_1 platform.gpus=2",
            "heft,rtgs",
            "task_type",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["hgsp", "llm", "dag"],
)
def test_the_commands_report_by_a_column(file, capsys, rows, words, policies, column):
    path = file(rows(Random(6)), header=rows is not nodes)

    def told(action, *more):
        status = main([*words.replace("FILE", path).format(action).split(), *more])
        out, err = capsys.readouterr()
        return status, out, err

    first = policies.split(",")[0]
    status, out, _ = told("run", "--policy", first, "--by", column, "--format", "csv")
    alone = csv_rows(out)
    assert (status, {row["by"] for row in alone}) == (0, {column})
    status, out, _ = told(
        "compare", "--policies", policies, "--by", column, "--format", "json"
    )
    found = json.loads(out)["figures"]
    assert status == 0
    assert {row["alternative"] for row in found} == set(policies.split(","))
    assert len(found) == 2 * len(alone)
    status, out, _ = told("compare", "--policies", policies, "--by", column)
    assert status == 0
    assert out.splitlines()[1].split()[:3] == [column, "alternative", "jobs"]
    status, out, err = told("compare", "--policies", policies, "--by", column + "s")
    assert (status, out) == (2, "")
    assert re.search(
        f"unknown (tag|column) '{column}s'; did you mean '{column}'\\?", err
    )


def test_a_column_has_a_text_for_every_job(file):
    instance = cg.hgsp.read_instance(file(tasks(Random(8))), cluster("small"))
    source, short = cg.llm.read_requests(file(requests(Random(8)))), Tags({"who": "ab"})
    graph = read_alibaba(file(nodes(Random(8)), header=False), "j_1")
    for each in (instance, source, graph):
        with pytest.raises(
            cg.InputError, match=r"texts of tag who\(=2\) must be [36]0, one per job"
        ):
            replace(each, tags=short)


def test_a_study_of_tasks_is_told_apart_by_their_columns(file, tmp_path):
    instance = cg.hgsp.read_instance(file(tasks(Random(9))), cluster("small"))
    other = replace(instance, tags=Tags({"customer": ["zoe"] * instance.tasks}))
    cg.compare(cg.hgsp.Scenario(instance), ["atc"], [0], out=tmp_path / "out")
    check_refused(
        lambda: cg.compare(cg.hgsp.Scenario(other), ["atc"], [0], out=tmp_path / "out"),
        ["use another directory"],
    )


@pytest.mark.parametrize(
    "scenario",
    [
        lambda: cg.day("quiet"),
        lambda: cg.hgsp.Scenario("tasks1"),
        lambda: cg.llm.Scenario(cg.llm.Offered(20)),
        lambda: cg.cluster.Scenario(cg.cluster.Offered(jobs=9, warm_up=0, after=0)),
        lambda: cg.dag.Scenario("er:n=9"),
        lambda: cg.waiting.Scenario(
            cg.waiting.ExponentialJobs(40, 0.02, 500.0), machines=8
        ),
    ],
    ids=["rental", "hgsp", "requests", "cluster", "dag", "waiting"],
)
def test_jobs_that_are_of_no_log_have_no_columns(scenario):
    scenario = scenario()
    run = cg.simulate(scenario, scenario.compared[0])
    check_refused(
        lambda: run.by("customer"),
        r"these jobs have no columns of a log|unknown column",
    )
