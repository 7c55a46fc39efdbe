"""`cgrsp cluster`, its study and the paper's table: answers, resumption, real logs, bad
input.
"""

import json
import os
import re
from math import inf
from pathlib import Path

import pytest
from support import csv_rows, outcome, swf_of_three

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER, Cluster
from cgrsp_simpy.cluster.jobs import Mix, Offered, generate
from cgrsp_simpy.cluster.metrics import metrics
from cgrsp_simpy.cluster.paper import table
from cgrsp_simpy.cluster.policies import make_scheduler
from cgrsp_simpy.cluster.scenario import Scenario, simulate
from cgrsp_simpy.studies.compare import compare

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
PHILLY = DATA / "gavel_philly" / "0e4a51.trace"


def said(capsys, *arguments, status=0):
    ended, out, err = outcome(capsys, "cluster", *arguments)
    assert ended == status
    return out if status == 0 else err.strip()


def test_a_study_holds_the_figures_of_single_runs():
    study = compare(
        Scenario(Offered(jobs=60, load=1.0, warm_up=0, after=0)),
        ["fifo", "hps:monotone=true"],
        range(2),
    )
    jobs = generate(Mix(), 60, 1.0, PAPER_CLUSTER, 1)
    row = next(
        row
        for row in study.rows
        if row["policy"] == "hps:monotone=true" and row["seed"] == 1
    )
    assert row == {
        "policy": "hps:monotone=true",
        "seed": 1,
        **metrics(simulate(jobs, PAPER_CLUSTER, make_scheduler("hps:monotone=true"))),
    }
    assert (
        study.title
        == "60 jobs of the mix, none after them, offered load 1, 64 GPUs on 8 nodes"
    )


def test_jobs_that_arrive_at_once_have_no_throughput_in_any_format(tmp_path, capsys):
    log = tmp_path / "once.swf"
    log.write_text(
        "".join(
            f"{job} 7 -1 60 8 -1 -1 8 60 -1 1 1 1 1 -1 -1 -1 -1\n" for job in range(2)
        )
    )
    assert re.search(
        r"^throughput_per_h +-$", said(capsys, "run", "--trace", log), re.MULTILINE
    )
    text = said(capsys, "run", "--trace", log, "--format", "json")
    assert (
        json.loads(text, parse_constant=pytest.fail)["summary"]["throughput_per_h"]
        is None
    )
    found = json.loads(
        said(capsys, "compare", "--trace", log, "--format", "json"),
        parse_constant=pytest.fail,
    )
    assert found["policies"]["fifo"]["utilisation_pct"]["mean"] is None


def test_run_prints_figures_classes_and_jobs(capsys):
    cut = ("--warm-up", 0, "--after", 0)
    options = (
        "run",
        "--policy",
        "sjf",
        "--jobs",
        30,
        "--seed",
        2,
        "--cluster",
        "2x8,4x4",
        *cut,
    )
    text = said(capsys, *options)
    assert "32 GPUs on 6 nodes, sjf" in text
    assert "inference" in text
    found = json.loads(said(capsys, *options, "--format", "json"))
    jobs = generate(Mix(), 30, 0.9, Cluster((8, 8, 4, 4, 4, 4)), 2)
    assert found["summary"] == metrics(
        simulate(jobs, Cluster((8, 8, 4, 4, 4, 4)), make_scheduler("sjf"))
    )
    rows = said(capsys, *options, "--format", "csv").splitlines()
    assert rows[0] == (
        "job,submit_s,dispatch_s,start_s,finish_s,gpus,duration_s,estimate_s,"
        "iterations,kind,family,user,killed,nodes"
    )
    assert len(rows) == 31


@pytest.mark.slow
def test_the_table_stars_the_closest_load_and_says_what_cannot_be(capsys):
    text = said(capsys, "table", "--loads", "0.5,0.9", "--seeds", 2)
    assert (
        "at least 3.56 GPU-hours if its GPUs and its duration are independent" in text
    )
    assert "at least 1.10 if the widest jobs are the shortest" in text
    assert (
        "imply 2.31 (fifo), 1.94 (hps), 2.00 (pbs), 2.01 (sbs) GPU-hours a job" in text
    )
    assert (
        "hps: if GPUs and duration are independent, 78.2 % of 64 GPUs allow at most"
        " 14.1 jobs an hour, not 25.8" in text
    )
    hps = [line for line in text.splitlines() if line.startswith("hps ")]
    assert [line.split()[1:3] for line in hps] == [
        [load, setting] for setting in ("cut", "uncut") for load in ("0.5", "0.9")
    ]
    assert sum("*" in line for line in hps) == 2
    # nothing is called impossible without the condition
    assert text.count("independent") == 2 + 4
    assert text.count("dynamic beats static on") == 6


def test_least_variance_is_that_of_such_waits():
    """12 of 1000 waits of 1800 s, the others equal, around a mean of 757 s: 12 x 988 /
    1000 ^ 2 x (1800 - rest) ^ 2.
    """
    rest_s = (757_000 - 12 * 1800) / 988
    assert table.least_variance(table.PUBLISHED["hps"]) == pytest.approx(
        12 * 988 / 1e6 * (1800 - rest_s) ** 2
    )


@pytest.mark.parametrize(
    ("dynamic", "static", "expected"),
    [
        (5.0, 1.0, "yes"),
        (1.0, 5.0, "no"),
        (3.0, 3.0, "open"),
        (inf, 1.0, "yes"),
        (inf, inf, "open"),  # neither is stable
    ],
    ids=["better", "worse", "same", "infinite", "both"],
)
def test_claims_are_decided_by_the_interval(dynamic, static, expected):
    class Made:
        def values(self, name, figure):
            return [
                (dynamic if name in table.DYNAMIC else static) + noise
                for noise in (0.0, 0.3, -0.1)
            ]

    both = {(table.CUT, load): Made() for load in (0.5, 0.9)}
    found = {(row["figure"], row["load"]): row for row in table.claims(both)}
    assert found["throughput_per_h", 0.5]["mean_holds"] == expected
    against = {"yes": "no", "no": "yes", "open": "open"}[expected]
    assert found["starved", 0.9]["best_holds"] == against
    verdict = table.verdict(list(found.values()), "throughput_per_h", "mean")
    assert verdict == ("holds" if expected == "yes" else "holds at no load")


@pytest.mark.skipif(not PHILLY.is_file(), reason="the log is not here")
def test_a_philly_log_runs_under_every_scheduler(capsys):
    found = json.loads(
        said(
            capsys,
            "compare",
            "--trace",
            PHILLY,
            "--jobs",
            300,
            "--format",
            "json",
            "--cluster",
            "20x8",
            "--seeds",
            1,
        )
    )
    assert all(
        row["throughput_per_h"]["mean"] > 0 for row in found["policies"].values()
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--policy", "nope"), "unknown scheduler 'nope'"),
        (("run", "--placement", "nope"), "unknown placement 'nope'"),
        (
            ("run", "--cluster", "8"),
            "cluster(='8') must be nodes x GPUs, such as 8x8 or 4x8,2x4",
        ),
        (
            ("run", "--cluster", "0x8"),
            "number of nodes(=0) must be a whole number >= 1",
        ),
        (
            ("run", "--cluster", "2x4"),
            "widest job of the mix(=32) must be at most 8 GPUs, those of the cluster",
        ),
        (
            ("compare", "--cluster", "2x4"),
            "widest job of the mix(=32) must be at most 8 GPUs, those of the cluster",
        ),
        (
            ("sweep", "load=0.5,0.9", "--cluster", "2x4"),
            "widest job of the mix(=32) must be at most 8 GPUs, those of the cluster",
        ),
        (("sweep", "kill_at_limit=2"), "kill_at_limit(=2) must be true or false"),
        (("run", "--load", "0"), "load(=0.0) must be a number >= 1e-06"),
        (("run", "--jobs", "0"), "--jobs(=0) must be a whole number >= 1"),
        (
            ("run", "--mix", "overestimate=-1"),
            "overestimate(=-1.0) must be a number >= 0",
        ),
        (("run", "--log", "strict=yes"), "--log(='strict') must be given with --trace"),
        (
            ("compare", "--policies", "fifo,fifo"),
            "policies(=['fifo', 'fifo']) must be names that differ",
        ),
        (
            ("compare", "--policies", "hps:aging_boost=x"),
            "aging_boost(='x') must be a number",
        ),
        (
            ("table", "--loads", "0.5,a"),
            "--loads(='0.5,a') must be numbers > 0, such as 0.6,0.9",
        ),
        (("table", "--out", "kept"), "unrecognized arguments: --out kept"),
        (("run", "--trace", "none.trace"), "none.trace"),
        (
            ("run", "--trace", "jobs.txt"),
            "jobs.txt: No such file or directory",
        ),
        (("figures", "--only", "nope"), "unknown figure 'nope'"),
    ],
)
def test_bad_input_is_one_line(capsys, arguments, message):
    error = said(capsys, *arguments, status=2)
    assert message in error
    assert "\n" not in error


def test_schedulers_that_a_log_cannot_serve_are_skipped_or_refused_by_name(
    tmp_path, capsys, caplog
):
    log = tmp_path / "three.swf"
    log.write_text(
        "".join(
            f"{job} 0 -1 {run} 8 -1 -1 8 7200 -1 1 -1 1 -1 -1 -1 -1 -1\n"
            for job, run in enumerate((60, 7000, 60))
        )
    )
    found = json.loads(said(capsys, "compare", "--trace", log, "--format", "json"))
    assert list(found["policies"]) == [
        "fifo",
        "sjf",
        "shortest",
        "shortest-gpu",
        "hps",
        "easy",
    ]
    (told,) = (
        record.getMessage()
        for record in caplog.records
        if record.levelname == "WARNING"
    )
    assert (
        told == "three.swf lacks columns that these schedulers need; they are left out:"
        " pbs (needs iterations), sbs (needs iterations and family)"
    )
    for name, needs in (
        ("pbs", "the work of each job (iterations)"),
        ("las", "jobs of at least two users"),
    ):
        for action in (
            ("run", "--policy", name),
            ("compare", "--policies", f"fifo,{name}"),
        ):
            error = said(capsys, *action, "--trace", log, status=2)
            assert error.endswith(
                f"cgrsp cluster: scheduler {name} needs {needs}, which three.swf does"
                " not tell"
            )


def test_the_table_is_made_by_a_process_a_core_unless_told(monkeypatch, capsys):
    taken = []

    def studies(*_, executor):
        taken.append(executor)
        raise InputError("stop_arrivals")

    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    monkeypatch.setattr(table, "studies", studies)
    said(capsys, "table", "--seeds", "2", status=2)
    said(capsys, "table", "--seeds", "2", "--workers", "3", status=2)
    assert taken == [7, 3]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "the following arguments are required: LOG"),
        (("none.swf",), "none.swf: No such file"),
        (("three.swf", "--policies", "best"), "scheduler 'best'"),
        (
            ("three.swf", "--what-if", "nodes=many"),
            "what-if nodes(='many') must be a whole number",
        ),
        (
            ("three.swf", "--qos", "high"),
            "'high' must be of the form name=number, such as high=100",
        ),
        (("three.swf", "--qos", "high=1,high=2"), "high is given twice"),
        (("three.swf", "--cluster", "none.csv"), "none.csv: No such file"),
        (("three.swf", "--cluster", "4x1"), "needs 8 GPUs; the cluster has 4"),
    ],
)
def test_what_cannot_be_replayed_is_refused_in_one_line(
    tmp_path, monkeypatch, capsys, words, message
):
    swf_of_three(tmp_path)
    monkeypatch.chdir(tmp_path)
    error = said(capsys, "replay", *words, status=2)
    assert message in error and error.strip().count("\n") == 0


def test_a_replay_as_csv_has_a_row_a_scheduler_and_one_a_change(tmp_path, capsys):
    log = swf_of_three(tmp_path)
    words = ("--policies", "fifo,easy", "--what-if", "nodes=1", "--format", "csv")
    rows = csv_rows(said(capsys, "replay", log, "--cluster", "1x8", *words))
    assert [row["what_if"] or row["scheduler"] for row in rows] == [
        "fifo",
        "easy",
        "nodes=1",
    ]
    assert [float(row["wait_s"]) for row in rows] == [100, 100, pytest.approx(100 / 3)]


def test_estimates_shorter_than_the_run_are_counted(tmp_path, capsys):
    log = swf_of_three(tmp_path)
    told = said(capsys, "run", "--trace", log, "--policy", "easy")
    assert (
        "2 jobs run longer than their estimates: easy expects such a job to end at once"
        in told
    )
    assert "longer than their estimates" not in said(
        capsys, "run", "--jobs", "20", "--policy", "easy"
    )


@pytest.mark.parametrize(
    ("waits_s", "reason"),
    [
        ((-1, -1, -1), "the log records no starts"),
        ((0, 0, 0), "no job waited"),
        ((0, 0, 60), "no moment of the log can be judged"),
    ],
)
def test_a_replay_that_judges_no_moment_says_why(tmp_path, capsys, waits_s, reason):
    """In the last log two jobs hold all GPUs at once, and a third waits for them."""
    rows = [
        f"{job} {job} {wait_s} 100 4 -1 -1 4 200 -1 1 1 1 1 1 1 -1 -1"
        for job, wait_s in enumerate(waits_s, start=1)
    ]
    log = tmp_path / "log.swf"
    log.write_text("\n".join(["; MaxProcs: 4", "; MaxNodes: 1", *rows]) + "\n")
    out = said(capsys, "replay", str(log), "--policies", "fifo,easy")
    assert out.splitlines()[1].startswith(reason)
    assert ("recorded" in out) == (waits_s[0] >= 0)
