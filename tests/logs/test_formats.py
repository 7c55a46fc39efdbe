"""The registry of log formats: one table and the same rules for all formats; ids and
tags in results.
"""

import gzip
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from cluster.cases import simulate as simulate_cluster
from hypothesis import given, settings
from hypothesis import strategies as st
from support import (
    check_bad_input,
    check_refused,
    csv_rows,
    outcome,
    output,
    waits_s,
)

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.cluster.logs import cluster_of, jobs_of, schedule_text
from cgrsp_simpy.logs import FORMATS, read_log
from cgrsp_simpy.logs.formats import SLICE

HERE = Path(__file__).resolve().parents[1] / "data"
# read from a folder next to the project, not part of it
REAL = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture
def told(capsys):
    """Status, stdout and stderr of a command."""
    return partial(outcome, capsys)


# ---- every format, on a made-up file ----

SACCT = """\
JobID|User|Account|Partition|QOS|State|Submit|Start|End|TimelimitRaw|ReqTRES|AllocTRES
101|ann|phys|gpu|normal|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:05:00|\
2024-03-01T11:05:00|120|cpu=8,gres/gpu=2|cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1
101.batch||phys|||COMPLETED|2024-03-01T10:05:00|2024-03-01T10:05:00|\
2024-03-01T11:05:00|||cpu=8,mem=64G,node=1
101.0||phys|||COMPLETED|2024-03-01T10:05:00|2024-03-01T10:05:00|2024-03-01T11:05:00|||\
cpu=8,mem=64G,node=1
102_1|bob|chem|gpu|low|FAILED|2024-03-01T10:01:00|2024-03-01T10:06:00|\
2024-03-01T10:07:00|UNLIMITED|cpu=1|\
billing=3,cpu=1,gres/gpu:v100=1,gres/gpu:t4=2,mem=4000M,node=1
102_[2-5]|bob|chem|gpu|low|PENDING|2024-03-01T10:01:00|Unknown|Unknown|60|\
cpu=1,gres/gpu=1|
103|ann|phys|gpu|normal|CANCELLED by 1000|2024-03-01T10:02:00|None|2024-03-01T10:03:00|\
60|cpu=1,gres/gpu=1|
104|ann|phys|gpu|normal|CANCELLED by 7|2024-03-01T10:02:00|2024-03-01T10:03:00|\
2024-03-01T10:03:00|60|cpu=1,gres/gpu=1|
105|cat|phys|gpu|normal|RUNNING|2024-03-01T10:02:00|2024-03-01T10:02:30|Unknown|60|\
cpu=1|cpu=1,node=1
106|cat|phys|cpu|normal|COMPLETED|2024-03-01T10:03:00|2024-03-01T10:03:30|\
2024-03-01T10:03:30|60|cpu=1|cpu=1,mem=1.5T,node=1
"""

ALLOCATED = "cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1"

# name -> file, text, columns that are expected, some tags, rows left out
MADE_UP = {
    "csv": (
        "log.csv",
        (
            "job_id,customer,submit_s,service_s,gpus,deadline_s\n"
            "x,acme,5,60,2,90\n"
            'y,"b, co",7,0,,7\n'
        ),
        {
            "submit_s": [5, 7],
            "service_s": [60, 0],
            "gpus": [2, None],
            "deadline_s": [90, 7],
        },
        {"job_id": ("x", "y"), "customer": ("acme", "b, co"), "line": ("2", "3")},
        {},
    ),
    "gentd26": (
        "log.csv",
        (
            "gmt_create,predict_status,exec_time_seconds,groupId\n"
            "2024-11-15 10:00:00,SUCCEED,3,G1\n2024-11-15 10:00:05,FAILED,x,G2\n"
        ),
        {"submit_s": [0], "service_s": [3]},
        {"groupId": ("G1",), "job_id": ("2",), "predict_status": ("SUCCEED",)},
        {"predict_status FAILED": (3,)},
    ),
    "swf": (
        "log.swf",
        (
            "; MaxNodes: 2\n"
            "; MaxProcs: 8\n"
            "9 5 3 60 4 -1 1048576 5 90 -1 1 7 1 3 2 1 -1 -1\n"
            "10 6 -1 -1 4 -1 -1 4 90 -1 1 8 1 3 2 1 -1 -1\n"
            "12 8 0 1 1 -1 524288 1 0 1048576.5 5 7 1 3 2 1 -1 -1\n"
            "13 9 1 5 1 -1 -1 1 9 -1 2 7 1 3 2 1 -1 -1\n"
            "14 9 1 5 1 -1 -1 1 9 -1 4 7 1 3 2 1 -1 -1\n"
            "15 9 1 0 1 -1 -1 1 9 -1 5 7 1 3 2 1 -1 -1\n"
            "16 -1 1 5 1 -1 -1 1 9 -1 1 7 1 3 2 1 -1 -1\n"
            "17 9 1 5 0 -1 -1 0 9 -1 1 7 1 3 2 1 -1 -1\n"
            "18 9 1 5 1 -1 -1 1 9 -1 6 7 1 3 2 1 -1 -1\n"
            "11 67.5 1.5 60.5 -1 -1 524288.5 2 0.5 -1 0 7 1 3 2 1 9 0.5\n"
        ),
        {
            "submit_s": [5, 8, 9, 67.5],
            "ready_s": [5, 8, 9, 68.5],
            "start_s": [8, 8, 10, 69],
            "service_s": [60, 1, 5, 60.5],
            "limit_s": [90, None, 9, 0.5],
            "think_s": [None, None, None, 0.5],
            "gpus": [4, 1, 1, 2],
            "cores": [4, 1, 1, 2],
            "memory_gb": [4, 1, 0, 1],
        },
        {
            "job_id": ("9", "12", "18", "11"),
            "user": ("7",) * 4,
            "queue": ("2",) * 4,
            "wait time": ("3", "0", "1", "1.5"),
            "think time": ("", "", "", "0.5"),
            "after": ("", "", "", "9"),
        },
        {
            "no run time": (4,),
            "part of a job": (6, 7),
            "cancelled before it ran": (8,),
            "no submit time": (9,),
            "no processors": (10,),
        },
    ),
    "philly": (
        "log.trace",
        "A3C\tpython3 a.py\t--n\t1\t440\t5.0\t2\n",
        {"submit_s": [5], "service_s": [100], "known_work": [440], "gpus": [2]},
        {"job_type": ("A3C",), "command": ("python3 a.py",), "job_id": ("1",)},
        {},
    ),
    "openb": (
        "log.csv",
        (
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
            "creation_time,deletion_time,scheduled_time\n"
            "p0,4000,8192,1,500,V100,LS,Running,10,130,30\n"
            "p1,500,1024,0,0,,BE,Failed,20,70,20\n"
            "p2,500,1024,2,1000,,BE,Running,30,40,40\n"
            "p3,500,1024,1,1,,BE,Running,30,39,40\n"
            "p4,500,1024,1,1,,BE,Pending,30,39,\n"
        ),
        {
            "submit_s": [10, 20, 30],
            "start_s": [30, 20, 40],
            "service_s": [100, 50, 0],
            "gpus": [1, 0, 2],
            "cores": [4, 0.5, 0.5],
            "memory_gb": [8, 1, 1],
        },
        {
            "job_id": ("p0", "p1", "p2"),
            "qos": ("LS", "BE", "BE"),
            "gpu_spec": ("V100", "", ""),
            "gpu_milli": ("500", "0", "1000"),
        },
        {"no run time": (5,), "never scheduled": (6,)},
    ),
    "azure": (
        "log.csv",
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\n"
            "2023-11-16 18:17:03.9799600,4808,10\n"
            "2023-11-16 18:17:04.0319600,1,0\n"
        ),
        {
            "submit_s": [0, 0.052],
            "prompt_tokens": [4808, 1],
            "output_tokens": [10, 0],
        },
        {"job_id": ("2", "3")},
        {},
    ),
    "wfformat": (
        "log.json",
        json.dumps(
            {
                "schemaVersion": "1.4",
                "workflow": {
                    "tasks": [
                        {
                            "name": "a",
                            "runtimeInSeconds": 4,
                            "files": [],
                            "machine": "m1",
                        },
                        {
                            "name": "b",
                            "parents": ["a"],
                            "runtimeInSeconds": 5,
                            "files": [],
                            "memoryInBytes": 2**29,
                        },
                    ]
                },
            }
        ),
        {"service_s": [4, 5], "memory_gb": [0, 0.5]},
        {"job_id": ("a", "b"), "machine": ("m1", "")},
        {},
    ),
    "alibaba": (
        "log.csv",
        "M1,3,j_1,1,Terminated,10,25,100,0.5\ntask_x,1,j_2,2,Failed,5,5,50,0.1\n",
        {"start_s": [10, 5], "service_s": [15, 0]},
        {
            "job_id": ("M1", "task_x"),
            "job_name": ("j_1", "j_2"),
            "status": ("Terminated", "Failed"),
        },
        {},
    ),
    "sacct": (
        "log.txt",
        SACCT,
        {
            "submit_s": [0, 60, 120, 180],
            "service_s": [3600, 60, 0, 0],
            "limit_s": [7200, 365 * 86400, 3600, 3600],
            "start_s": [300, 360, 150, 210],
            "end_s": [3900, 420, None, 210],
            "running": [0, 0, 1, 0],
            "gpus": [2, 3, 0, 0],
            "cores": [8, 1, 1, 1],
            "memory_gb": [64, 4000 / 1024, None, 1536],
            "nodes": [1, 1, 1, 1],
        },
        {
            "job_id": ("101", "102_1", "105", "106"),
            "user": ("ann", "bob", "cat", "cat"),
            "account": ("phys", "chem", "phys", "phys"),
            "qos": ("normal", "low", "normal", "normal"),
        },
        {
            "step of a job": (3, 4),
            "cancelled before it ran": (7, 8),
            "no run time": (6,),
        },
    ),
    # four instances of 50 % of a GPU and 600 % of a core
    "pai": (
        "log.csv",
        (
            "fe1,tensorflow,1.0,Terminated,494319.0,494405.0,600.0,29.3,100.0,V100\n"
            "fe2,worker,4.0,Terminated,494320.0,494505.0,600.0,29.5,50.0,T4\n"
            "fe3,worker,4.0,Running,494320.0,,600.0,29.5,50.0,T4\n"
            "fe4,ps,1.0,Failed,494321.0,494321.0,,,,\n"
        ),
        {
            "submit_s": [494319, 494320, 494321],
            "service_s": [86, 185, 0],
            "gpus": [1, 4, 0],
            "cores": [6, 24, 0],
            "memory_gb": [29.3, 118, 0],
        },
        {"job_id": ("fe1", "fe2", "fe4"), "gpu_type": ("V100", "T4", "")},
        {"no run time": (3,)},
    ),
    # the second attempt is part of the job's run time; the third job never started
    "philly_json": (
        "cluster_job_log.json",
        json.dumps(
            [
                {
                    "status": "Pass",
                    "vc": "v1",
                    "jobid": "application_1",
                    "submitted_time": "2017-10-06 14:38:00",
                    "user": "u1",
                    "attempts": [
                        {
                            "start_time": "2017-10-06 14:40:00",
                            "end_time": "2017-10-06 15:00:00",
                            "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}],
                        },
                        {
                            "start_time": "2017-10-06 15:10:00",
                            "end_time": "2017-10-06 15:11:00",
                            "detail": [
                                {"ip": "m1", "gpus": ["gpu0"]},
                                {"ip": "m2", "gpus": ["gpu1"]},
                            ],
                        },
                    ],
                },
                {
                    "status": "Killed",
                    "vc": "v1",
                    "jobid": "application_2",
                    "submitted_time": "2017-10-06 14:39:00",
                    "user": "u2",
                    "attempts": [],
                },
            ]
        ),
        {
            "submit_s": [0],
            "start_s": [120],
            "service_s": [1260],
            "gpus": [2],
            "nodes": [2],
        },
        {"job_id": ("application_1",), "partition": ("v1",), "attempts": ("2",)},
        {"no run time": (2,)},
    ),
    "mooncake": (
        "log.jsonl",
        (
            '{"timestamp": 0, "input_length": 6758, "output_length": 500,'
            ' "hash_ids": [0, 1]}\n'
            '{"timestamp": 3052, "input_length": 7322, "output_length": 490,'
            ' "hash_ids": []}\n'
        ),
        {
            "submit_s": [0, 3.052],
            "prompt_tokens": [6758, 7322],
            "output_tokens": [500, 490],
        },
        {"hash_ids": ("[0, 1]", "[]")},
        {},
    ),
    "llm": (
        "log.jsonl",
        (
            '{"request_id": "r1", "arrival_time": 1.5, "num_prompt_tokens": 12,'
            ' "num_generation_tokens": 3}\n'
            '{"request_id": "r2", "arrival_time": 2, "num_prompt_tokens": 7,'
            ' "num_generation_tokens": 1}\n'
        ),
        {"submit_s": [1.5, 2], "prompt_tokens": [12, 7], "output_tokens": [3, 1]},
        {"job_id": ("r1", "r2")},
        {},
    ),
}


def test_every_format_has_a_made_up_file():
    assert MADE_UP.keys() == FORMATS.keys()


@pytest.mark.parametrize("name", MADE_UP)
def test_a_format_is_recognised_by_its_content(file, name):
    path, text, *_ = MADE_UP[name]
    result = read_log(
        file(text, path.replace(".trace", ".txt").replace(".swf", ".txt"))
    )
    assert result.format == name


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", MADE_UP)
def test_a_format_becomes_the_common_columns_tags_and_a_report(file, name, packed):
    path, text, columns, tags, left_out = MADE_UP[name]
    result = read_log(
        file(gzip.compress(text.encode()) if packed else text, path), name, strict=True
    )
    if "submit_s" in columns:
        columns = {"ready_s": columns["submit_s"], **columns}
    assert {
        column: [None if value != value else value for value in values]
        for column, values in result.columns.items()
    } == {
        column: pytest.approx(values, nan_ok=True) for column, values in columns.items()
    }
    assert {tag: result.tags[tag] for tag in tags} == tags
    assert result.report.left_out == left_out and not result.report.bad
    assert all(len(texts) == len(result) for texts in result.tags.values())


def test_names_and_units_of_the_authors_of_the_waiting_policies(file):
    log = read_log(
        file(
            "time,wallclock_runtime_sec,wallclock_limit_sec,num_cores,total_MB_req,"
            "userid\n5,60,90,3,2048,ann\n6,0,-1,-1,-1,-1\n7,2,1,1,0,bob\n"
            "-1,5,1,1,1,bob\n8,-1,1,1,1,bob\n"
        ),
        strict=True,
    )
    columns = {
        "submit_s": [5, 6, 7],
        "service_s": [60, 0, 2],
        "limit_s": [90, np.nan, 1],
        "cores": [3, np.nan, 1],
        "memory_gb": [2, np.nan, 0],
    }
    for name, values in columns.items():
        np.testing.assert_array_equal(log[name], values)
    assert log.tags["user"] == ("ann", "-1", "bob")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("csv", "submit_s,service_s\n0,5\n"),
        (
            "openb",
            "cpu_milli,memory_mib,num_gpu,gpu_milli,qos,creation_time,deletion_time,"
            "scheduled_time\n4000,8192,1,500,LS,10,130,30\n",
        ),
        (
            "sacct",
            "JobID|Submit|Start|End\n"
            "1|2024-03-01T10:00:00|2024-03-01T10:05:00|2024-03-01T11:05:00\n",
        ),
        (
            "llm",
            '{"arrival_time": 1.5, "num_prompt_tokens": 1, "num_generation_tokens": 1}',
        ),
    ],
)
def test_a_file_that_has_only_the_needed_columns_is_read(file, name, text):
    assert len(read_log(file(text), name, strict=True)) == 1


@pytest.mark.parametrize("name", MADE_UP)
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(file, name):
    path, text, *_ = MADE_UP[name]
    plain = read_log(file(text, path), name)
    odd = read_log(file(("\ufeff" + text).replace("\n", "\r\n"), path), name)
    assert {**plain.tags} == {**odd.tags}
    for column, values in plain.columns.items():
        np.testing.assert_array_equal(values, odd[column])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "name", "rows", "left_out"),
    [
        ("alibaba_genai_2026/lora_request_trace.csv", "gentd26", 26_392, 431),
        ("swf/NASA-iPSC-1993-3.1-cln.swf.gz", "swf", 18_239, 0),
        ("gavel_philly/0e4a51.trace", "philly", 1181, 0),
        ("alibaba_gpu_v2023/openb_pod_list_default.csv", "openb", 7255, 897),
        ("azure_llm_2023/AzureLLMInferenceTrace_code.csv", "azure", 8819, 0),
        ("pegasus/montage-chameleon-dss-05d-001.json", "wfformat", 58, 0),
    ],
)
def test_real_logs_are_read_whole(path, name, rows, left_out):
    if not (REAL / path).exists():
        pytest.skip("the folder of real data is absent")
    result = read_log(REAL / path, name, strict=True)
    assert (len(result), sum(result.report.counts.values()), result.report.bad) == (
        rows,
        left_out,
        (),
    )


@pytest.mark.parametrize(
    ("path", "rows", "hour"),
    [
        ("nasa_ipsc.swf", 200, 0),
        ("philly_0e4a51.trace", 60, None),
        ("azure_llm_code.csv", 300, 18),
    ],
)
def test_the_excerpts_are_read_whole(path, rows, hour):
    """The NASA log begins on 1 October 1993 at 0:00:03 local time, the other at 18:17
    on 16 November 2023.
    """
    result = read_log(
        HERE / path, "azure" if path.startswith("azure") else None, strict=True
    )
    assert len(result) == rows and (result.start.hour if result.start else None) == hour


# ---- times ----


@pytest.mark.parametrize(
    "times",
    [
        ["2023-11-14T22:13:20+00:00", "2023-11-14T23:14:20+01:00"],
        ["2023-11-14T22:13:20Z", "2023-11-14T22:14:20+00:00"],
        ["1700000000", "1700000060"],
        ["1700000000.0", "1.70000006e9"],
    ],
)
@pytest.mark.parametrize("column", ["timestamp", "submit_s", "time"])
def test_dates_with_zones_and_unix_times_are_one_axis(file, column, times):
    text = f"{column},service_s\n" + "".join(f"{time},5\n" for time in times)
    result = read_log(file(text), strict=True)
    assert result["submit_s"].tolist() == [0, 60]
    assert result.start.isoformat() == "2023-11-14T22:13:20"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            ["2024-01-01 10:00,1,", "2024-01-01 11:00Z,1,"],
            "line 3: a time with a zone, where",
        ),
        (
            ["2024-01-01 10:00+02:00,1,", "2024-01-01 11:00,1,"],
            "line 3: a time without a zone",
        ),
        (  # read column by column, reported by rows
            [
                "2024-01-01 10:00Z,1,",
                "2024-01-01 10:00Z,1,2024-01-01 11:00",
                "2024-01-01 10:00,1,",
            ],
            (
                "line 3: a time without a zone, where line 2 has one with a zone: all"
                " times of a file"
            ),
        ),
        (
            ["2024-01-01 10:00Z,1,2024-01-01 10:00"],
            "line 2: a time with a zone, where line 2",
        ),
        (
            ["2024-01-01 10:00,1,"] * 5000 + ["2024-01-01 10:00Z,1,"],
            "line 5002: a time with",
        ),
    ],
)
def test_mixing_times_with_and_without_a_zone_is_rejected(file, rows, words):
    with pytest.raises(cg.InputError) as error:
        read_log(file("\n".join(["timestamp,service_s,deadline_s", *rows])))
    assert words in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_unix_times_in_milliseconds_are_rejected(file):
    check_refused(
        lambda: read_log(file("timestamp,service_s\n100000000000,5\n")),
        r"log: earliest submission\(=100000000000\.0\) must be seconds",
    )


def test_a_window_is_of_any_format():
    whole = read_log(HERE / "nasa_ipsc.swf")
    part = read_log(HERE / "nasa_ipsc.swf", window="5000:20000")
    inside = (whole["submit_s"] >= 5000) & (whole["submit_s"] < 20000)
    assert (part["submit_s"] + 5000).tolist() == whole["submit_s"][inside].tolist()
    assert part.tags["job_id"] == whole.tags.chosen(np.flatnonzero(inside))["job_id"]
    first = read_log(HERE / "nasa_ipsc.swf", window="0:5000")
    assert len(first["submit_s"]) == (whole["submit_s"] < 5000).sum() > 0


# ---- rows in any order, with more columns ----

ROWS = st.lists(
    st.tuples(
        st.integers(0, 50),
        st.integers(0, 9),
        st.integers(0, 4),
        st.text("abc ,\"'é", max_size=5),
    ),
    min_size=1,
    max_size=30,
)


@given(ROWS)
@settings(max_examples=15, deadline=None)
def test_two_modules_that_read_one_swf_see_the_same_jobs(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("logs") / "log.swf"
    path.write_text(
        "; Version: 2.2\n"
        + "".join(
            f"{job} {at} -1 {run} {cpus} -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n"
            for job, (at, run, cpus, _) in enumerate(rows)
        )
    )
    fit = sorted((at, job) for job, (at, run, cpus, _) in enumerate(rows) if cpus)
    if not any(rows[job][1] for _, job in fit):
        return  # no job takes time
    first = read_log(path)
    waiting, cluster = (
        cg.waiting.read_jobs(path).jobs,
        jobs_of(first, cg.cluster.Cluster((4,))),
    )
    rental = cg.trace(path).workload
    assert waiting.tags["job_id"] == tuple(str(job) for _, job in fit)
    timed = [place for place, run_s in enumerate(waiting.run_s) if run_s]
    # a job of 0 s is left out by those whose jobs take time
    assert cluster.tags == rental.tags == waiting.tags.chosen(timed)
    assert rental.tags.chosen(range(len(timed))) is rental.tags
    for ours, theirs in (
        ("submit_s", "arrival_s"),
        ("run_s", "duration_s"),
        ("cores", "gpus"),
    ):
        values = getattr(waiting, ours)[timed]
        assert (values - (values[0] if ours == "submit_s" else 0)).tolist() == getattr(
            cluster, theirs
        ).tolist()
    assert (
        list(rental.service_s) == cluster.duration_s.tolist()
        and list(rental.gpus) == cluster.gpus.tolist()
    )


# ---- column mapping ----


def test_columns_of_other_names_are_mapped(file, told):
    path = file("id,created,seconds,cards,org\na,5,60,2,acme\nb,7,30,1,bco\n")
    mapping = {
        "submit": "created",
        "service": "seconds",
        "gpus": "cards",
        "job_id": "id",
    }
    result = read_log(path, columns=mapping)
    assert result["submit_s"].tolist() == [5, 7] and result["gpus"].tolist() == [2, 1]
    assert {**result.tags} == {
        "job_id": ("a", "b"),
        "org": ("acme", "bco"),
        "line": ("2", "3"),
    }
    words = [f"log.{ours}={theirs}" for ours, theirs in mapping.items()]
    for command in (
        ["run", "rental"],
        ["run", "cluster"],
        ["run", "waiting", "machines=1", "--policy", "njw"],
    ):
        status, out, _ = told(*command, f"trace={path}", *words, "--format", "csv")
        assert (status, *(row["job_id"] for row in csv_rows(out))) == (0, "a", "b")


def test_a_mapped_log_survives_a_scenario_file(file, tmp_path):
    path = file("created,service_s\n5,60\n7,30\n")
    scenario = cg.trace(path, columns={"submit": "created"})
    scenario.to_toml(tmp_path / "s.toml")
    assert cg.Scenario.from_toml(tmp_path / "s.toml") == scenario


# ---- invalid input ----

HEAD = "job_id,submit_s,service_s\n"
REFUSED = [
    # no header
    (
        "a,0,5\nb,1,6\n",
        "line 1: no column submit_s or timestamp or time (columns: 'a, 0, 5')",
    ),
    (
        "when;took\n1;5\n",
        (
            "submit_s or timestamp or time; are its cells separated by ';', not by"
            " commas? (delimiter=';' in Python, 'log.delimiter=;' on the command line)"
        ),
    ),
    ("Submit;Start\n1;5\n", "are its cells separated by ';', not by commas?"),  # 2 of 4
    ("when\ttook\n1\t5\n", "are its cells separated by 'tab', not by commas?"),
    ("", "the file is empty"),
    ("\n  \n", "the file is empty"),
    (b"\x89PNG\r\n\x1a\n\x00\x00", "not a text file"),
    (HEAD.encode("utf-16"), "not a text file in UTF-8"),
    (gzip.compress(HEAD.encode() * 9, mtime=0)[:-9], "damaged gzip file"),
    (HEAD, "no usable job (bad rows: 0; left out: none)"),
    (
        HEAD + "a,-1,5\n",
        (
            "no usable job (bad rows: 1; left out: none): line 2: submit_s(='-1') must"
            " be a number >= 0"
        ),
    ),
    (HEAD + "a,0,nan\n", "line 2: service_s(='nan') must be a number >= 0"),
    (HEAD + "a,0,5,6\n", "line 2: 4 fields, not 3"),
    (
        HEAD + f"{'a' * 140_000},0,5\n",
        "line 2: not CSV (field larger than field limit (131072))",
    ),
    (HEAD + 'a,0,5\n"b,1,5\n', "line 3: not CSV (unexpected end of data)"),
    (
        "gmt_create,status,exec_time_seconds\n",
        "it resembles the format gentd26, without predict_status",
    ),
    (
        "TIMESTAMP,ContextTokens,Generated\n",
        "it resembles the format azure, without GeneratedTokens",
    ),
    ("submit_s,service_s,submit_s\n1,2,3\n", "line 1: column submit_s(="),
    # two files in one
    (HEAD + "a,0,5\njob_id,service_s,submit_s\nb,5,9\n", "line 3: a second header"),
    (
        HEAD.replace("job_id", '"two\nlines"').replace("submit_s", "sbmit"),
        "line 1: no column submit_s",
    ),
]


def test_three_faults_are_listed_if_no_row_is_usable(file, told):
    path = file(HEAD + "a,0,0:05:00\n" * 2000)
    _, _, err = told("run", "rental", f"trace={path}")
    assert (
        "no usable job (bad rows: 2000; left out: none): line 2: service_s(='0:05:00')"
        in err
    )
    assert "line 4: " in err and "line 5" not in err and len(err) < 500


@pytest.mark.parametrize(
    ("text", "said"), REFUSED, ids=[said[:60] for _, said in REFUSED]
)
def test_an_unreadable_log_gives_a_one_line_error(file, told, text, said):
    path = file(text)
    for command in (
        ["run", "rental"],
        ["run", "cluster"],
        ["run", "waiting", "machines=1", "--policy", "njw"],
    ):
        check_bad_input(told(*command, f"trace={path}"), [said, str(path)])


def test_a_long_field_and_a_broken_quote_are_bad_rows_among_good_ones(file):
    result = read_log(file(HEAD + f'a,0,5\n{"b" * 140_000},1,5\n"c"c,2,5\nd,3,5\n'))
    assert result.tags["job_id"] == ("a", "d") and [
        fault.line for fault in result.report.bad
    ] == [
        3,
        4,
    ]


@pytest.mark.parametrize(
    ("name", "good", "odd", "said"),
    [
        ("csv", "60,2", "60,2.5", "gpus(='2.5') must be a whole number >= 0"),
        ("csv", ",90", ",4", "deadline_s(='4') must be at or after the submission"),
        ("swf", "60 4", "60 4.5", "allocated processors(='4.5') must be a whole"),
        ("swf", " 5 90", " 5.5 90", "requested processors(='5.5') must be a whole"),
        ("swf", "-1 1 7 1", "-1 1.5 7 1", "status(='1.5') must be a whole number"),
        ("swf", "9 5", "9 -2", "submit time(='-2') must be a number >= 0 and"),
        ("philly", "440", "0", "steps(='0') must be a number >= 1"),
        ("philly", "440", "", "steps(='') must be a number >= 1"),
        ("philly", "5.0", "", "arrival(='') must be a number >= 0"),
        ("philly", "5.0\t2", "5.0\t0", "gpus(='0') must be a whole number >= 1"),
        ("philly", "5.0\t2", "5.0\t1.5", "gpus(='1.5') must be a whole number >= 1"),
        ("philly", "A3C", "A3D", "job_type(='A3D') must be one whose steps per second"),
        ("openb", ",1,500", ",1,1001", "gpu_milli(='1001') must be a number > 0"),
        ("openb", ",1,500", ",1,0", "gpu_milli(='0') must be a number > 0, at most"),
        ("openb", ",1,500", ",1.5,500", "num_gpu(='1.5') must be a whole number"),
        ("swf", "1048576", "1e300", "used memory(='1e300') must be a number >= 0 and"),
        *(
            (
                "sacct",
                ALLOCATED,
                tres,
                f"AllocTRES(={tres!r}) must be in the form cpu=8",
            )
            for tres in (
                *("gres/gpu:a=9999999999999999999K", "gres/gpu=1.5"),
                *("gres/gpu:a=many", "mem=1e9G", "cpu"),
            )
        ),
        ("azure", "4808,10", "0,0", "GeneratedTokens(='0') must be at least 1 if"),
        ("azure", "4808,10", "4808.5,10", "ContextTokens(='4808.5') must be a whole"),
        ("azure", "4808,10", "4808,1.5", "GeneratedTokens(='1.5') must be a whole"),
        ("alibaba", "10,25", "0,25", "start_time(='0') must be a number > 0"),
        ("alibaba", "10,25", "10,0", "end_time(='0') must be a number > 0"),
        ("alibaba", "10,25", "10,9", "end_time(='9') must be at least start_time"),
        ("alibaba", "M1", "M1_x", "task_name(='M1_x') must be like M5_3_4"),
        ("alibaba", "j_1", "", "job_name(='') must be given"),
        ("pai", "1.0,T", "0,T", "inst_num(='0') must be a whole number >= 1"),
        ("pai", "1.0,T", "1.5,T", "inst_num(='1.5') must be a whole number >= 1"),
        ("pai", "494405.0", "494318", "end_time(='494318') must be at least start"),
        ("mooncake", "6758", "6758.5", "input_length(='6758.5') must be a whole"),
        ("mooncake", "500", "500.5", "output_length(='500.5') must be a whole number"),
        ("mooncake", "6758", '""', "input_length(='') must be a whole number >= 0"),
        ("llm", " 12", " 12.5", "num_prompt_tokens(='12.5') must be a whole number"),
        ("llm", " 3}", " 3.5}", "num_generation_tokens(='3.5') must be a whole number"),
    ],
)
def test_a_value_that_cannot_be_is_a_bad_row(file, name, good, odd, said):
    path, text, *_ = MADE_UP[name]
    assert good in text
    log = file(text.replace(good, odd, 1), path)
    check_refused(lambda: read_log(log, format=name, strict=True), [said])


@pytest.mark.parametrize(("first_s", "dated"), [(999_999_999, False), (10**9, True)])
def test_times_from_2001_on_are_dates(file, first_s, dated):
    log = read_log(file(f"{HEAD}a,{first_s},5\nb,{first_s + 60},5\n"))
    assert (log.start is not None) == dated


def test_bytes_that_are_not_utf8_are_latin1_so_that_names_stay_apart(file):
    result = read_log(file((HEAD + "Müller,0,5\nMöller,1,5\n").encode("latin-1")))
    assert result.tags["job_id"] == ("Müller", "Möller")


@pytest.mark.parametrize(
    ("name", "who", "command", "column"),
    [
        ("azure", "jobs on rented GPUs", ["run", "rental"], "service_s"),
        ("azure", "jobs of a cluster", ["run", "cluster"], "service_s"),
        (
            "alibaba",
            "jobs for waiting policies",
            ["run", "waiting", "machines=1", "--policy", "njw"],
            "submit_s",
        ),
        ("csv", "jobs of a cluster", ["run", "cluster"], "gpus"),
        ("csv", "LLM requests", None, "prompt_tokens"),
    ],
)
def test_a_required_column_missing_from_the_format_gives_a_one_line_error(
    file, told, name, who, command, column
):
    path = file(MADE_UP[name][1].replace("gpus", "cards"))
    said = f"the format {name} has no {column} "
    if command is None:
        check_refused(lambda: cg.llm.read_requests(path, format=name), said)
        return
    check_bad_input(
        told(*command, f"trace={path}", f"log.format={name}"),
        [said, f"which {who} need"],
    )


# ---- one rule for jobs of 0 s, and for what is missing ----


def test_a_job_of_0_s_is_kept_in_the_log_and_omitted_if_jobs_must_take_time(
    file, caplog
):
    caplog.set_level("INFO")
    path = file(
        "job_id,submit_s,service_s,gpus,cores\n"
        "a,0,5,1,1\n"
        "b,1,0,1,1\n"
        "c,2,,1,1\n"
        "d,,5,1,1\n"
        "e,3,5,0,1\n"
        "f,4,5,1,0\n"
    )
    log = read_log(path)
    assert log.tags["job_id"] == ("a", "b", "e", "f")
    assert log.report.left_out == {"no run time": (4,), "no submit time": (5,)}
    assert cg.waiting.read_jobs(path, whole=True).jobs.tags["job_id"] == ("a", "b", "e")
    assert (
        jobs_of(log).tags["job_id"]
        == cg.trace(path).workload.tags["job_id"]
        == ("a", "f")
    )
    assert (
        "rows left out: 1 of no run time, 1 of no submit time, 1 of no GPU, 1 of run"
        " time 0" in caplog.text
    )


def test_a_log_without_its_header_is_reported(file, caplog):
    caplog.set_level("INFO")
    job = "1 0 0 10 2 -1 -1 2 9 -1 1 1 1 -1 1 -1 -1 -1\n"
    for header in ("", "; MaxProcs: 4\n"):
        caplog.clear()
        read_log(file(header + job, f"log{len(header)}.swf"))
        assert ("no header: the machine is unknown" in caplog.text) == (not header)


# ---- ids and tags in the results ----


def test_a_column_named_like_a_result_gets_the_prefix_log(file):
    run = cg.simulate(
        cg.trace(file("submit_s,service_s,slot,status\n0,5,mine,ok\n")), "fifo"
    )
    [row] = run.rows()
    assert (row["log_slot"], row["log_status"], row["slot"]) == ("mine", "ok", 0)


def test_rows_of_waiting_jobs_have_the_ids_of_the_file(file, told):
    path = file("job_id,submit_s,service_s\nlate,9,5\nearly,0,5\nnone,3,\n")
    status, out, _ = told(
        "run",
        "waiting",
        f"trace={path}",
        "machines=1",
        "--policy",
        "njw",
        "--format",
        "csv",
    )
    assert status == 0
    assert [(row["job_id"], row["submit_s"]) for row in csv_rows(out)] == [
        ("early", "0.0"),
        ("late", "9.0"),
    ]


# ---- the cluster's shape, and a schedule as SWF ----


@pytest.mark.parametrize(
    ("header", "sizes"),
    [
        ("; MaxNodes: 3\n; MaxProcs: 8\n", (3, 3, 2)),
        ("; MaxNodes: 128 \n; MaxProcs: 128 (of which 8 are down)\n", (1,) * 128),
        ("; MaxProcs: 6\n", (6,)),
        ("; MaxNodes: 6\n", None),
        ("; MaxNodes: 9\n; MaxProcs: 4\n", (1,) * 4),
        ("; MaxProcs: many\n", None),
        ("", None),
    ],
)
def test_the_header_of_a_log_describes_the_cluster(file, header, sizes):
    result = cluster_of(
        read_log(
            file(header + "1 0 -1 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n", "log.swf")
        )
    )
    assert (None if result is None else result.sizes) == sizes


def test_a_command_uses_the_cluster_of_the_header_by_default(told):
    """Jobs of 128 processors do not fit on the 64 GPUs that are the default."""
    status, out, _ = told("run", "cluster", f"trace={HERE / 'nasa_ipsc.swf'}")
    assert status == 0 and out.startswith("nasa_ipsc.swf, 128 GPUs on 128 nodes, fifo")
    assert (
        told("run", "cluster", f"trace={HERE / 'nasa_ipsc.swf'}", "cluster=8x8")[0] == 2
    )


def test_a_schedule_is_written_as_swf_and_read_again(told, file):
    log = read_log(HERE / "nasa_ipsc.swf")
    jobs, cluster = jobs_of(log, cg.cluster.Cluster((128,))), cg.cluster.Cluster((128,))
    outcome = simulate_cluster(jobs, cluster, cg.cluster.make_scheduler("sjf"))
    path = file(schedule_text(outcome), "schedule.swf")
    back = read_log(path, strict=True)
    assert (
        cluster_of(back) == cluster
        and back.tags["job_id"] == jobs.tags["job_id"]
        and back.tags["user"] == jobs.tags["user"]
    )
    assert (
        back["submit_s"].tolist() == jobs.arrival_s.tolist()
        and back["service_s"].tolist() == jobs.duration_s.tolist()
    )
    assert [float(text) for text in back.tags["wait time"]] == waits_s(
        outcome.jobs
    ).tolist()
    assert (
        told(
            "run",
            "cluster",
            f"trace={HERE / 'nasa_ipsc.swf'}",
            "cluster=1x128",
            "--policy",
            "sjf",
            "--show",
            path,
        )[0]
        == 0
    )
    assert path.read_text() == schedule_text(outcome)


@pytest.mark.parametrize(
    ("first", "second", "user", "numbers"),
    [("b x", "a", "12", (12, 7, -1)), ("9" * 5000, "7", "u", (1, 2, 3))],
)
def test_ids_that_are_not_numbers_are_in_the_comments_of_a_schedule(
    file, first, second, user, numbers
):
    rows = f"{first},0.5,5.25,2,{user}\n{second},1,5,1,7\nc,1,5,1,\n"
    jobs = jobs_of(read_log(file(f"job_id,submit_s,service_s,gpus,user\n{rows}")))
    text = schedule_text(
        simulate_cluster(
            jobs, cg.cluster.Cluster((2,)), cg.cluster.make_scheduler("fifo")
        )
    )
    assert f"; Note: job 1 is {first}\n; Note: job 2 is {second}\n" in text
    assert text.splitlines()[-3:] == [
        f"1 0 0 5.25 2 -1 -1 2 5.25 -1 1 {numbers[0]} -1 -1 -1 -1 -1 -1",
        f"2 0.5 4.75 5 1 -1 -1 1 5 -1 1 {numbers[1]} -1 -1 -1 -1 -1 -1",
        f"3 0.5 4.75 5 1 -1 -1 1 5 -1 1 {numbers[2]} -1 -1 -1 -1 -1 -1",
    ]


def test_a_comparison_by_column_equals_the_runs_and_rejects_a_wrong_column(
    tmp_path, file, capsys
):
    rows = [f"{60 * number},{50 + number},{'ab'[number % 2]}" for number in range(20)]
    path = file("\n".join(["submit_s,service_s,customer", *rows]) + "\n", "log.csv")
    line = [
        "compare",
        "rental",
        f"trace={path!s}",
        "--policies",
        "fifo,edf",
        "--seeds",
        "3",
    ]
    result = csv_rows(output(capsys, *line, "--by", "customer", "--format", "csv"))
    assert [(row["value"], row["policy"]) for row in result] == [
        ("a", "edf"),
        ("a", "fifo"),
        ("b", "edf"),
        ("b", "fifo"),
    ]
    runs = [
        cg.simulate(cg.trace(path), "edf", seed).by("customer")[0] for seed in range(3)
    ]
    mean = sum(run["wait_min"] for run in runs) / 3
    assert float(result[0]["wait_min"]) == pytest.approx(mean, rel=1e-12)
    for more in (
        ["--by", "custmer"],
        ["--by", "customer", "--out", str(tmp_path / "out")],
    ):
        assert main([*line, *more]) == 2
        assert capsys.readouterr().err.splitlines()[-1].startswith("cgrsp compare: ")
    assert not (tmp_path / "out").exists()


def test_a_format_without_submission_times_has_no_window(file):
    path = file("M1,1,j_1,1,Terminated,10,20,100,0.5\n")
    check_refused(
        lambda: read_log(path, format="alibaba", window="0:5"),
        ["window", "omitted: the format alibaba has no submission times"],
    )


def test_a_time_column_without_valid_values_is_rejected(file):
    path = file(
        "JobID|Submit|Start|End|ElapsedRaw|AllocTRES|State\n"
        "2|x|y|2024-01-01T00:09:00|9|gres/gpu=2|FAILED\n"
    )
    check_refused(lambda: read_log(path), ["Submit(='x') must be"])


def test_a_long_window_is_shortened_in_the_message(file):
    path = file(HEAD + "a,0,5\n")
    line = check_refused(lambda: read_log(path, window="9" * 5000), ["FROM:TO"])
    assert len(line) < 1000


def test_a_line_of_a_million_characters_matches_no_format():
    """Patterns that try every way to split it would take minutes."""
    for format in FORMATS.values():
        for sign in "x9":
            assert not (format.row and format.row.match(sign * 10**6))
    assert not SLICE.search("gres/" + "9" * 10**6)
