"""`cgrsp dag` and its study: answers, resumption, real workflows, bad input."""

import json
from pathlib import Path

import numpy as np
import pytest
from support import csv_rows, outcome

from cgrsp_simpy.dag.platform import Servers
from cgrsp_simpy.dag.policies import SCHEDULERS, SEARCHES, find
from cgrsp_simpy.dag.scenario import Scenario, schedule_of, simulate
from cgrsp_simpy.dag.search import Budget

PEGASUS = Path(__file__).resolve().parents[3] / "shared" / "data" / "pegasus"
GRAPH = ("--graph", "er:n=30", "--platform", "gpus=4")
SMALL = (*GRAPH, "--budget", "evaluations=40")
# the same each time; seconds are not
FIGURES = ("makespan_s", "bound_s", "over_bound", "evaluations")


def said(capsys, *arguments, status=0):
    ended, out, err = outcome(capsys, "dag", *arguments)
    assert ended == status
    return out if status == 0 else err.strip()


@pytest.mark.slow
def test_solve_measures_every_scheduler_by_simulation(capsys):
    answer = json.loads(
        said(
            capsys,
            "solve",
            *SMALL,
            "--policies",
            ",".join(SCHEDULERS),
            "--format",
            "json",
        )
    )
    problem = Scenario("er:n=30", Servers(4)).problem()
    for row in answer["schedulers"]:
        found = find(problem, row["scheduler"], Budget(40))
        assert (
            row["makespan_s"]
            == schedule_of(simulate(problem, found.plan)).makespan_s
            == found.makespan_s
        )
        assert (
            row["over_bound"] == pytest.approx(row["makespan_s"] / row["bound_s"])
            and row["over_bound"] >= 1 - 1e-9
        )
        assert row["evaluations"] == (40 if row["scheduler"] in SEARCHES else 1)


def test_solve_tells_where_and_when_each_node_runs(capsys):
    rows = csv_rows(
        said(capsys, "solve", *GRAPH, "--policies", "heft", "--format", "csv")
    )
    problem = Scenario("er:n=30", Servers(4)).problem()
    found = schedule_of(simulate(problem, find(problem, "heft", Budget(1)).plan))
    assert [float(row["finish_s"]) for row in rows] == found.finish_s.tolist()
    assert [int(row["gpu"]) for row in rows] == found.plan.gpu.tolist()
    told = said(capsys, "solve", *GRAPH, "--policies", "heft,work")
    assert (
        f"{problem.graph.nodes} nodes, {len(problem.graph.edges)} edges, 30 units;"
        " no plan ends before" in told
    )


def test_a_search_in_seconds_ends_in_time(capsys):
    answer = said(
        capsys,
        "solve",
        "--graph",
        "er:n=30",
        "--policies",
        "rtgs,worl-rtgs",
        "--budget",
        "seconds=0.4",
        "--format",
        "json",
    )
    for row in json.loads(answer)["schedulers"]:
        assert "seconds" not in row and row["evaluations"] > 10


@pytest.mark.parametrize("action", ["solve", "compare"])
@pytest.mark.parametrize("format", ["table", "json"])
def test_equal_commands_print_equal_figures(capsys, action, format):
    words = [
        action,
        "--graph",
        "er:n=12",
        "--policies",
        "heft,rtgs",
        "--budget",
        "evaluations=20",
    ]
    words += ["--format", format, *["--seeds", "3"] * (action == "compare")]
    one, other = (said(capsys, *words) for _ in range(2))
    assert one == other and "seconds" not in one


def test_compare_prints_means_tests_and_ranks(capsys):
    told = said(
        capsys,
        "compare",
        *SMALL,
        "--seeds",
        "3",
        "--policies",
        "heft,round-robin,rtgs:b=0.5,paced=true",
    )
    assert "er:n=30 on 4 GPUs, free, 40 evaluations a search: mean of 3 seeds" in told
    assert (
        "rtgs:b=0.5,paced=true" in told
        and "Friedman chi-square" in told
        and "(Nemenyi, 5 %)" in told
    )
    ranks = [float(line.split()[1]) for line in told.splitlines()[-3:]]
    assert ranks == sorted(ranks) and sum(ranks) == pytest.approx(1 + 2 + 3, abs=0.02)


def test_correlate_answers_in_three_forms(capsys):
    arguments = (
        "correlate",
        "--graph",
        "er:n=40",
        "--pairs",
        "60",
        "--concentration",
        "1",
    )
    rows = csv_rows(said(capsys, *arguments, "--format", "csv"))
    answer = json.loads(said(capsys, *arguments, "--format", "json"))
    columns = np.array([[float(row["spd_s"]), float(row["ftg_s"])] for row in rows]).T
    assert np.corrcoef(columns)[0, 1] == pytest.approx(answer["pearson"]["coefficient"])
    assert f"pearson     {answer['pearson']['coefficient']:.3f}" in said(
        capsys, *arguments
    )


@pytest.mark.slow
@pytest.mark.skipif(not PEGASUS.is_dir(), reason="the logs are not here")
@pytest.mark.parametrize(
    "log",
    [
        "epigenomics-chameleon-hep-1seq-100k-001.json",
        "montage-chameleon-dss-05d-001.json",
    ],
)
def test_real_workflows_under_every_scheduler(capsys, log):
    names = ",".join(SCHEDULERS)
    arguments = (
        "--graph",
        PEGASUS / log,
        "--platform",
        "gpus=4",
        "--budget",
        "evaluations=20",
        "--format",
        "json",
    )
    rows = {
        row["scheduler"]: row
        for row in json.loads(said(capsys, "solve", *arguments, "--policies", names))[
            "schedulers"
        ]
    }
    assert all(row["over_bound"] >= 1 - 1e-9 for row in rows.values())
    assert rows["heft"]["makespan_s"] < rows["random"]["makespan_s"]


BAD = [
    (("solve", "--graph", "er:n=0"), "nodes(=0) must be a whole number from 1 to"),
    (("solve", "--graph", "er:m=3"), "unknown parameter of graph er 'm'"),
    (("solve", "--graph", "tree"), "unknown graph 'tree'"),
    (
        ("solve", "--graph", "tasks.csv"),
        "must name a job of the file, as in tasks.csv:j_17",
    ),
    (("solve", "--graph", "nothere.json"), "nothere.json: No such file or directory"),
    (("solve", "--platform", "gpus=0"), "gpus(=0) must be a whole number >= 1"),
    (
        ("solve", "--platform", "tflops=1:x"),
        "tflops(='1:x') must be numbers, such as 1:2",
    ),
    (("solve", "--platform", "tflops=0"), "tflops[0](=0.0) must be a number > 0"),
    (
        ("solve", "--platform", "inter_gb_per_s=-1"),
        "inter_gb_per_s(=-1.0) must be a number >= 0",
    ),
    (("solve", "--policies", "best"), "unknown scheduler 'best'"),
    (("solve", "--policies", "worl-rtgs:b=x"), "b(='x') must be a number"),
    (
        ("solve", "--policies", "heft:seed=1"),
        "unknown parameter of scheduler heft 'seed'",
    ),
    (("solve", "--budget", "seconds=0"), "seconds(=0.0) must be a number > 0"),
    (
        ("solve", "--budget", "evaluations=0"),
        "evaluations(=0) must be a whole number >= 1",
    ),
    (("solve", "--format", "csv"), "one, with --format csv: one row per node"),
    (
        ("solve", "--platform", "memory_gb=0.001", "--graph", "er:n=9"),
        "MB; the largest GPU has 1 MB",
    ),
    (
        ("compare", "--policies", "heft,heft"),
        "policies(=['heft', 'heft']) must be names that differ",
    ),
    (
        ("solve", "--graph", "flow.json:j_17"),
        (
            "graph(='flow.json:j_17') must be without a job: a file in WfFormat is one"
            " graph"
        ),
    ),
    (
        ("solve", "--policies", "heft,cpop", "--budget", "evaluations=9"),
        "--budget goes with a search: annealing, random-search",
    ),
    (
        ("run", "--budget", "seconds=1"),
        "--budget goes with a search: annealing, random-search",
    ),
    (
        ("compare", "--policies", "work,own.py:f", "--budget", "evaluations=9"),
        "--budget goes with a search",
    ),
    (("sweep", "speed=1,2"), "unknown parameter 'speed'"),
    (
        ("sweep", "platform=lab.toml"),
        "platform(='lab.toml') must be of type Servers or of type Platform",
    ),
    (("compare", "--seeds", "0"), "--seeds(=0) must be a whole number >= 1"),
    (("correlate", "--pairs", "2"), "pairs(=2) must be a whole number >= 4"),
    (("figures", "--only", "none"), "unknown figure 'none'"),
]


@pytest.mark.parametrize(
    ("arguments", "message"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD]
)
def test_bad_input_is_one_line(capsys, arguments, message):
    told = said(capsys, *arguments, status=2)
    assert message in told and "\n" not in told and told.startswith("cgrsp dag")


def test_a_connection_that_is_needed_and_not_there_is_named(capsys):
    """Round robin puts nodes on either server in turn; on one server no connection
    between servers is needed.
    """
    arguments = (
        "solve",
        "--graph",
        "er:n=30,degree=3",
        "--platform",
        "per_server=2",
        "--platform",
        "inter_gb_per_s=0",
        "--policies",
        "round-robin",
    )
    told = said(capsys, *arguments, "--platform", "gpus=4", status=2)
    assert "sends data to" in told and "between which there is no bandwidth" in told
    assert "round-robin" in said(capsys, *arguments, "--platform", "gpus=2")
