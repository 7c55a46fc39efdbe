"""`cgrsp llm`: what it prints, and with what status."""

import io
import json

import pytest
from support import check_bad_input, csv_rows, outcome, output

LOG = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:15:50,500,0\n"
    "2023-11-16 18:15:40,2000,0\n"
    "2023-11-16 18:15:40,500,5\n"
)
STEPS = (
    "gpu,tensor_parallel,phase,batch,tokens,ms\n"
    "x,1,prompt,1,1,1\n"
    "x,1,prompt,1,1001,1001\n"
    "x,1,token,1,1,10\n"
)
OWN = "gpu=x,gpus=1,tensor_parallel=1,memory_gb=2,weights_gb=1,kv_mb=0.1,max_batch=1"


def told(capsys, *words):
    return outcome(capsys, "llm", *words)


def test_the_table_is_printed_with_a_verdict_a_cell(capsys):
    rows = json.loads(told(capsys, "table", "--format", "json")[1])["rows"]
    found = {(row["policy"], row["double_count"], row["figure"]): row for row in rows}
    assert len(found) == 12
    assert found["wsrpt", True, "weighted_response"]["found"] == pytest.approx(108.04)
    assert found["wsrpt", True, "weighted_response"]["verdict"] == "agrees"
    assert found["wsrpt", False, "weighted_response"]["found"] == pytest.approx(102)
    assert found["wsrpt", False, "weighted_response"]["verdict"] == "differs"
    out = output(capsys, "llm", "table")
    assert "the authors' loop counts the requests that run twice" in out


def test_a_policy_is_run_listed_stepped_and_drawn(capsys, tmp_path, monkeypatch):
    few = ("--requests", "requests=5,cv=0,output_tokens=3")
    found = json.loads(
        told(capsys, "run", "--policy", "wsrpt", *few, "--format", "json")[1]
    )
    assert found["scenario"] == "5 drawn requests, 8 h100-80gb, 2 a replica"
    assert found["policy"] == "wsrpt"
    assert found["summary"]["goodput_pct"] == 100
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    gantt = tmp_path / "llm.svg"
    shown = ["--show", "step", "--show", str(gantt)]
    out = output(capsys, "llm", "run", *few, "--service", "gpus=4", *shown)
    assert "replicas: 1(2003) -" in out
    assert gantt.stat().st_size > 1000
    assert "alibaba, sacct (default: azure)" in " ".join(
        told(capsys, "run", "-h", "all")[1].split()
    )
    line = told(capsys, "run", *few, "--show", "events")[1].splitlines()[0]
    assert line.endswith(
        "job 1              request 1, 2000 prompt tokens, 3 to come, weight 1"
    )


def test_requests_of_a_log_and_steps_of_a_file(capsys, tmp_path):
    """One after the other, 1 ms a prompt token, 10 ms a token after the first: line 3
    from 0 to 2, line 4 to 2.54, line 2 from 10 on. A chunk is of 2,048 tokens.
    """
    for name, text in (("log.csv", LOG), ("steps.csv", STEPS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    words = [
        "--trace",
        tmp_path / "log.csv",
        "--steps",
        tmp_path / "steps.csv",
        "--service",
        OWN,
    ]
    rows = csv_rows(
        told(capsys, "run", *words, "--policy", "fifo", "--format", "csv")[1]
    )
    assert [row["name"] for row in rows] == ["3", "4", "2"]
    assert [float(row["start_s"]) for row in rows] == pytest.approx([0, 2, 10])
    assert [float(row["finish_s"]) for row in rows] == pytest.approx([2, 2.54, 10.5])
    targets = ["--ttft-target-s", "2.1", "--tpot-target-s", "0.01"]
    found = json.loads(told(capsys, "run", *words, *targets, "--format", "json")[1])[
        "summary"
    ]
    assert found["goodput_pct"] == pytest.approx(200 / 3)
    check_bad_input(
        told(capsys, "run", *words, "--service", "kv_mb=0.5"), ["kv_mb", "twice"]
    )
    own = OWN.replace("kv_mb=0.1", "kv_mb=0.5")
    status, _, err = told(capsys, "run", *words[:-1], own)
    assert status == 2
    assert (
        "request 3 needs a cache of 2001 tokens; a replica of 1 x, 1 a replica has 2000"
        in err
    )


def test_the_model_of_the_steps_is_named_behind_the_file(capsys, tmp_path):
    path, head, *rows = tmp_path / "steps.csv", *STEPS.splitlines()
    slow = [
        ",".join([*row.split(",")[:-1], f"{2 * float(row.split(',')[-1])}"])
        for row in rows
    ]
    lines = [
        f"{head},model",
        *(f"{row},a" for row in rows),
        *(f"{row},b" for row in slow),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    few = ("--requests", "requests=5,cv=0", "--service", OWN, "--format", "json")
    fast_s, slow_s = (
        json.loads(told(capsys, "run", *few, "--steps", f"{path}:model={name}")[1])[
            "summary"
        ]["tpot_s"]
        for name in "ab"
    )
    assert slow_s == pytest.approx(2 * fast_s)
    check_bad_input(
        told(capsys, "run", *few, "--steps", path), ["model(=None)", "one of a, b"]
    )
    words = ["unknown model 'c'", "a, b"]
    check_bad_input(told(capsys, "run", *few, "--steps", f"{path}:model=c"), words)


def test_a_roofline_is_an_option(capsys):
    few = ("--requests", "requests=5,cv=0", "--format", "json")
    fast, slow = (
        json.loads(told(capsys, "run", *few, "--steps", f"roofline{more}")[1])[
            "summary"
        ]["tpot_s"]
        for more in ("", ":efficiency=0.25")
    )
    assert slow == pytest.approx(2 * fast, rel=0.01)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["run", "--log", "weight=short"],
            "--log(='weight=short') must be given with --trace",
        ),
        (
            ["run", "--trace", "x.csv", "--requests", "requests=3"],
            "--requests(='requests=3') must be left out with --trace",
        ),
        (
            ["run", "--service", "memory=2"],
            "unknown name 'memory'; did you mean 'memory_gb'",
        ),
        (
            ["run", "--service", "gpus=3"],
            "gpus(=3) must be a multiple of tensor_parallel, 2",
        ),
        (["run", "--service", "gpu=b200"], "unknown gpu 'b200'"),
        (["run", "--steps", "nowhere.csv"], "nowhere.csv: No such file"),
        (
            ["run", "--steps", "roofline:tflop=1"],
            "unknown name 'tflop'; did you mean 'tflops'",
        ),
        (
            ["run", "--requests", "rate_per_s=0"],
            "rate_per_s(=0.0) must be a number > 0",
        ),
        (["run", "--policy", "fio"], "unknown policy 'fio'; did you mean 'fifo'?"),
        (
            ["run", "--cluster", "gpus=4"],
            "--cluster gpus=4; it is --service gpus=N,memory_gb=GB now",
        ),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, words, said):
    check_bad_input(told(capsys, *words), [said])
