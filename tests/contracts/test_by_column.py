"""Figures by the values of a column of the input: in every module they add up to those
of the whole, and each row of a schedule contains its own texts.
"""

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from support import check_bad_input, check_refused, csv_rows, outcome, output

import cgrsp_simpy as cg
from cgrsp_simpy.base.table import csv_text
from cgrsp_simpy.cluster.logs import jobs_of
from cgrsp_simpy.dag.logs import read_alibaba
from cgrsp_simpy.hgsp.instance import cluster, write_instance
from cgrsp_simpy.logs import Tags, read_log

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
            "job_id": f"r{request}",
            "TIMESTAMP": f"2023-11-16 18:{rng.randrange(60):02}:{rng.randrange(60):02}",
            "ContextTokens": rng.randrange(1, 9000),
            "GeneratedTokens": rng.randrange(900),
            "customer": rng.choice(CUSTOMERS),
        }
        for request in range(number)
    ]


def jobs(rng, number=60):
    return [
        {
            "job_id": f"j{job}",
            "submit_s": 10 * job,
            "service_s": rng.choice([20, 30, 400]),
            "gpus": 1,
            "customer": rng.choice(CUSTOMERS),
        }
        for job in range(number)
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


def path_of(file, rows):
    """Return the path of a CSV file of these rows; node files have no header."""
    header = "task_name" not in rows[0]
    return str(file(csv_text(rows).split("\n", 0 if header else 1)[-1], "input.csv"))


def hours(rows):
    """Hours from start to end, in all."""
    return sum(row["finish_s"] - row["start_s"] for row in rows) / 3600


def mean_wait_s(rows):
    return np.mean([row["start_s"] - row["submit_s"] for row in rows])


class Case(NamedTuple):
    """A module: rows of a file, its scenario, a policy, and words of the command.

    column: of the file, and by which figures are reported. key: the column of the file
    with names of jobs, and their column in results. sums, means: figures over the
    values of which they are those of the whole. figures: of the rows of a value.
    """

    rows: Callable[[Random], list[dict[str, Any]]]
    scenario: Callable[[str], Any]
    policy: str
    words: str
    figures: dict[str, Callable[[Any], Any]]
    sums: tuple[str, ...] = ()
    means: tuple[str, ...] = ()
    column: str = "customer"
    key: tuple[str, str] = ("job_id", "job_id")


CASES = {
    "rental": Case(
        jobs,
        cg.trace,
        "fifo",
        "rental trace=FILE",
        {
            "wait_min": lambda rows: mean_wait_s(rows) / 60,
            "cost_usd": lambda rows: sum(row["cost_usd"] for row in rows),
        },
        sums=("cost_usd",),
        means=("wait_min", "tardiness_min"),
    ),
    "cluster": Case(
        jobs,
        lambda path: cg.cluster.Scenario(
            jobs_of(read_log(path)), cg.cluster.Cluster((2,))
        ),
        "sjf",
        "cluster trace=FILE cluster=1x2",
        {"wait_s": mean_wait_s, "gpu_hours": hours},
        means=("wait_s",),
    ),
    "waiting": Case(
        jobs,
        lambda path: cg.waiting.Scenario(
            cg.waiting.read_jobs(path, whole=True).jobs, machines=2
        ),
        "ajw-t:wait_s=900",
        "waiting trace=FILE machines=2",
        {"wait_s": mean_wait_s},
        means=("wait_s",),
    ),
    "hgsp": Case(
        tasks,
        lambda path: cg.hgsp.Scenario(
            cg.hgsp.read_instance(path, cluster("small")), noise=0.3
        ),
        "atc",
        "hgsp instance=FILE",
        {"gpu_hours": hours},
        sums=("weighted_tardiness", "twct", "dmc"),
        means=("act_s", "dmr_pct"),
        key=("task", "task"),
    ),
    "llm": Case(
        requests,
        lambda path: cg.llm.Scenario(
            cg.llm.read_requests(path, weight="short"), cg.llm.Service(gpus=4)
        ),
        "wsrpt",
        "llm trace=FILE service.gpus=4",
        {"ttft_p90_s": lambda rows: np.percentile([r["ttft_s"] for r in rows], 90)},
        means=("e2e_s", "ttft_s", "goodput_pct"),
    ),
    "dag": Case(
        nodes,
        lambda path: cg.dag.Scenario(f"{path}:j_1", cg.dag.Servers(2)),
        "rtgs",
        "dag:FILE:j_1 platform.gpus=2",
        {
            "gpu_hours": hours,
            "last_finish_s": lambda rows: max(row["finish_s"] for row in rows),
            "first_start_s": lambda rows: min(row["start_s"] for row in rows),
        },
        column="task_type",
        key=("task_name", "node"),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_reports_by_a_column_are_of_its_rows_and_add_up_to_the_whole(case, file):
    rows = case.rows(Random(0))
    run = cg.simulate(case.scenario(path_of(file, rows)), case.policy)
    of_file, of_result = case.key
    texts = {row[of_file]: row[case.column] for row in rows}
    message, whole, report = run.rows(), run.summary(), run.by(case.column)
    assert {row[of_result]: row[case.column] for row in message} == texts
    assert [row[case.column] for row in report] == sorted({*texts.values()})
    for row in report:
        own = [each for each in message if each[case.column] == row[case.column]]
        expected = {"jobs": len(own), **{k: of(own) for k, of in case.figures.items()}}
        assert {k: row[k] for k in expected} == pytest.approx(expected, rel=1e-12)
    for name in case.sums + case.means:
        weights = [row["jobs"] if name in case.means else 1 for row in report]
        total = sum(row[name] * weight for row, weight in zip(report, weights))
        expected = whole[name] * (len(rows) if name in case.means else 1)
        assert total == pytest.approx(expected, rel=1e-12)
    if "wait_s" in report[0]:
        visits, wait_s = (
            run.timeline.visits,
            sum(r["wait_s"] * r["jobs"] for r in report),
        )
        assert wait_s == pytest.approx((visits["granted_s"] - visits["ready_s"]).sum())


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name, marks=[pytest.mark.slow] * (case.rows is not jobs))
        for name, case in CASES.items()
    ],
)
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_a_command_reports_by_a_column(case, form, file, capsys):
    rows = case.rows(Random(6))
    path = path_of(file, rows)
    line = ["run", *case.words.replace("FILE", path).split(), "--policy", case.policy]
    out = output(capsys, *line, "--by", case.column, "--format", form)
    read = {
        "json": lambda: json.loads(out)["figures"],
        "csv": lambda: csv_rows(out),
        "table": lambda: [
            dict(zip(("value", "jobs"), re.split(" {2,}", line)))
            for line in out.splitlines()[2:]
        ],
    }
    result = {row["value"].strip(): int(row["jobs"]) for row in read[form]()}
    assert result == Counter(row[case.column] for row in rows)
    check_bad_input(
        outcome(capsys, *line, "--by", case.column + "s", "--show", "events"),
        [f" '{case.column}s'; did you mean '{case.column}'?"],
    )


def test_tasks_that_are_written_and_read_again_keep_their_columns(file, tmp_path):
    gpus = cluster("small")
    instance = cg.hgsp.read_instance(path_of(file, tasks(Random(4))), gpus)
    write_instance(instance, path := tmp_path / "again.csv")
    path.write_bytes(gzip.compress(path.read_bytes()))
    again = cg.hgsp.read_instance(path, gpus)
    assert (again.tags, again.task_names) == (instance.tags, instance.task_names)


def test_a_column_has_a_text_for_every_job(file):
    instance = cg.hgsp.read_instance(path_of(file, tasks(Random(8))), cluster("small"))
    source = cg.llm.read_requests(path_of(file, requests(Random(8))))
    short = Tags({"who": "ab"})
    graph = read_alibaba(path_of(file, nodes(Random(8))), "j_1")
    for each in (instance, source, graph):
        with pytest.raises(
            cg.InputError, match=r"texts of tag who\(=2\) must be [36]0, one per job"
        ):
            replace(each, tags=short)


def test_a_study_of_tasks_is_identified_by_their_columns(file, tmp_path):
    instance = cg.hgsp.read_instance(path_of(file, tasks(Random(9))), cluster("small"))
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
def test_jobs_that_are_not_from_a_log_are_grouped_by_names_and_whole_numbers(scenario):
    scenario = scenario()
    run = cg.simulate(scenario, scenario.compared[0])
    check_refused(lambda: run.by("customer"), "unknown column")
    assert {*run.report.groups} == {
        name for name, value in run.rows()[0].items() if type(value) is not float
    }
