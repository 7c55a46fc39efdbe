"""The command line: what each command prints, where it prints it, and how it ends."""

import codecs
import json
import math
import os
import shlex
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import pytest
from support import CGRSP, csv_rows, outcome, seen_on_a_terminal

import cgrsp_simpy as cg
from cgrsp_simpy import cli
from cgrsp_simpy.cli import main
from cgrsp_simpy.cli.options import executor_of, summary
from cgrsp_simpy.rental.policies import PREEMPTIVE
from cgrsp_simpy.rental.record import JobRecord

YOUNGEST = """
def youngest_first(view):
    return zip(sorted(view.queue, key=lambda job: -job.submit_s), view.idle)
"""
FIGURES = (
    "jobs completed wait_min miss_pct tight_miss_pct loose_miss_pct tardiness_min"
    " cost_usd utilisation_pct makespan_h"
).split()


def test_the_summary_of_a_docstring_is_its_first_paragraph_in_one_line():
    assert (
        summary("""Waits, and\n    looks again.\n\n    Then more.\n    """)
        == "Waits, and looks again."
    )
    assert summary("Waits.") == "Waits."
    assert summary(None) == ""


def process(line, **options):
    """Run a command in a process of its own."""
    return subprocess.run(
        [*CGRSP, *line.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **options,
    )


# ---- compare ----


def test_compare_json_holds_the_means_of_compare_in_python(printed):
    found = json.loads(
        printed("compare --day quiet --policies fifo,rh --seeds 4 --format json")
    )
    study = cg.compare(cg.day("quiet"), ["fifo", "rh"], range(4))
    assert found["policies"] == {
        policy: {
            name: {"mean": value.mean, "ci95": [value.low, value.high], "n": value.n}
            for name, value in row.items()
        }
        for policy, row in study.means().items()
    }
    assert list(found["policies"]) == ["fifo", "rh"]
    assert set(found["policies"]["rh"]) >= set(FIGURES)
    assert all(
        value["ci95"][0] <= value["mean"] <= value["ci95"][1]
        for value in found["policies"]["rh"].values()
    )
    assert (found["scenario"], found["seeds"]) == ("quiet", [0, 1, 2, 3])
    assert found["differences"]["from"] == "fifo"
    assert list(found["differences"]["policies"]) == ["rh"]


def test_compare_csv_is_a_row_a_policy_and_seed(printed):
    rows = csv_rows(
        printed("compare --day quiet --policies fifo,spt --seeds 7:10 --format csv")
    )
    expected = cg.compare(cg.day("quiet"), ["fifo", "spt"], range(7, 10)).rows
    assert [(row["policy"], int(row["seed"])) for row in rows] == [
        (p, s) for p in ("fifo", "spt") for s in (7, 8, 9)
    ]
    for row, same in zip(rows, expected, strict=True):
        # in full: the text gives the same number again
        assert row == {name: str(value) for name, value in same.items()}


def test_compare_prints_a_table_with_intervals_and_tests_against_the_first_policy(
    printed,
):
    table = printed("compare --day quiet --policies edf,fifo --seeds 3")
    lines = table.splitlines()
    assert "quiet" in lines[0]
    assert "3 seeds" in lines[0]
    assert lines[1].split()[:3] == ["policy", "wait_min", "miss_pct"]
    assert [line.split()[0] for line in lines[2:4]] == ["edf", "fifo"]
    assert lines[2].count("±") > 0
    assert "difference from edf" in table
    assert table == str(cg.compare(cg.day("quiet"), ["edf", "fifo"], range(3))) + "\n"


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_figure_that_does_not_exist_is_null_in_json_and_a_dash_in_the_table(
    printed, seeds
):
    line = f"compare --day quiet --tight-fraction 0 --policies fifo,spt --seeds {seeds}"
    text = printed(f"{line} --format json")
    assert "NaN" not in text
    assert json.loads(text)["policies"]["fifo"]["tight_miss_pct"] == {
        "mean": None,
        "ci95": [None, None],
        "n": 0,
    }
    assert "nan" not in printed(line)
    assert math.isnan(
        float(csv_rows(printed(f"{line} --format csv"))[0]["tight_miss_pct"])
    )


def test_a_part_with_an_equals_sign_belongs_to_the_policy_before_it(printed):
    found = json.loads(
        printed(
            "compare --day quiet --policies rh:reserve=2,gate=0.9,fifo --seeds 2"
            " --format json"
        )
    )
    assert list(found["policies"]) == ["rh:reserve=2,gate=0.9", "fifo"]
    found = json.loads(
        printed(
            "compare --day quiet --policies fifo,rh:gate=0.9,cadr:critical_ratio=5"
            " --seeds 2 --format json"
        )
    )
    assert list(found["policies"]) == ["fifo", "rh:gate=0.9", "cadr:critical_ratio=5"]


def test_a_parameter_reaches_its_policy(printed):
    waits = json.loads(
        printed(
            "compare --day surge --jobs 60 --policies spt,spt:cost_weight=1 --seeds 2"
            " --format json"
        )
    )
    costs = [
        waits["policies"][policy]["cost_usd"]["mean"]
        for policy in ("spt", "spt:cost_weight=1")
    ]
    assert costs[0] != costs[1]


def test_the_scenario_options_are_those_of_day(printed):
    line = (
        "--day surge --slots 3 --tight-fraction 0.5 --jobs 40 --rate-per-s 0.01"
        " --free-types --market clock=printed"
    )
    scenario = cg.day("surge", 3, 0.5, 40, 0.01, True, "printed")
    rows = csv_rows(printed(f"run {line} --policy cadr --seed 3 --format csv"))
    assert [float(row["finish_s"]) for row in rows] == cg.simulate(
        scenario, "cadr", 3
    ).jobs["finish_s"].tolist()


def test_without_a_scenario_it_is_a_hectic_day(printed):
    assert printed("run --policy fifo") == printed("run --day hectic --policy fifo")


# ---- run ----


def test_run_prints_every_figure(printed):
    title, *lines = printed("run --day quiet --policy edf --seed 5").splitlines()
    assert title == "quiet, edf, seed 5"
    figures = cg.simulate(cg.day("quiet"), "edf", 5).summary()
    assert [line.split() for line in lines] == [
        [name, str(value) if isinstance(value, int) else f"{value:.2f}"]
        for name, value in figures.items()
    ]


def test_run_json_is_the_summary(printed):
    found = json.loads(
        printed("run --day quiet --policy rh:reserve=2 --seed 5 --format json")
    )
    summary = cg.simulate(cg.day("quiet"), "rh:reserve=2", 5).summary()
    assert found == {
        "scenario": "quiet",
        "policy": "rh:reserve=2",
        "seed": 5,
        "summary": summary,
    }
    without = json.loads(printed("run --day quiet --tight-fraction 0 --format json"))
    assert without["summary"]["tight_miss_pct"] is None


def test_run_csv_is_a_row_a_job(printed):
    rows = csv_rows(printed("run --day quiet --format csv"))
    run = cg.simulate(cg.day("quiet"), "fifo")
    assert list(rows[0]) == [*JobRecord._fields, "slots"]
    assert [float(row["start_s"]) for row in rows] == run.jobs["start_s"].tolist()
    assert [row["gpu"] for row in rows] == [
        run.scenario.gpus[gpu].name for gpu in run.jobs["gpu"]
    ]
    assert {row["status"] for row in rows} <= {"High", "Medium", "Low"}


def test_run_events_lists_every_event_in_order_of_time_and_then_the_figures(printed):
    text = printed("run --day quiet --show events")
    events, figures = text.split("quiet, fifo, seed 0\n")
    lines = [line.split() for line in events.splitlines()]
    times = [float(line[0]) for line in lines]
    assert times == sorted(times)
    kinds = [line[1] for line in lines]
    assert [
        kinds.count(kind) for kind in ("submit", "dispatch", "start", "finish")
    ] == [6, 6, 6, 6]
    assert kinds[0] == "submit"
    assert set(kinds) == {"submit", "decide", "dispatch", "start", "finish"}
    assert text.endswith(figures)
    assert f"quiet, fifo, seed 0\n{figures}" == printed("run --day quiet")


def test_run_takes_a_scenario_file(printed, tmp_path):
    path = tmp_path / "scenario.toml"
    scenario = cg.day("normal", 3, jobs=20)
    scenario.to_toml(path)
    found = json.loads(printed(f"run {path} --policy spt --seed 2 --format json"))
    assert found["scenario"] == "normal"
    assert found["summary"] == cg.simulate(scenario, "spt", 2).summary()
    study = json.loads(
        printed(f"compare {path} --policies spt --seeds 3 --format json")
    )
    assert (
        study["policies"]["spt"]["wait_min"]["mean"]
        == cg.compare(scenario, ["spt"], range(3)).means()["spt"]["wait_min"].mean
    )


# ---- policies, version ----


def test_policies_lists_all_eighteen_with_section_and_parameters(printed):
    _, *lines = printed("policies").splitlines()
    assert [line.split()[0] for line in lines] == [*cg.POLICIES, *PREEMPTIVE]
    assert len(lines) == 18
    sections = "4.5.1 4.5.2 4.5.3 4.5.4 4.5.5 4.5.6 4.5.8 4.5.12 4.5.10 4.5.11 4.5.11"
    sections += " textbook textbook textbook ours ours 6.2.2 6.2.2"
    assert [line.split()[1] for line in lines] == sections.split()
    by_name = {line.split()[0]: line for line in lines}
    assert "reserve=1" in by_name["rh"]
    assert "gate=0.95" in by_name["rh"]
    assert "threshold_s=600" in by_name["spt-rescue"]
    assert "critical_ratio=3" in by_name["cadr"]
    assert "look_ahead=2" in by_name["atc"] and "late=11" in by_name["c-mu"]
    assert "[" not in by_name["fifo"]


def test_each_parameter_listed_can_be_given(printed):
    for line in printed("policies").splitlines()[1:]:
        _, bracket, parameters = line.partition("[")
        if bracket and not line.startswith("policy"):
            cg.make_policy(
                f"{line.split()[0]}:{parameters.rstrip(']').replace(' ', ',')}"
            )


def test_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"cgrsp {cg.__version__}\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "compare --polices fifo",
            "unrecognized arguments: --polices; did you mean '--policies'",
        ),
        ("cluster run x", "cluster run: unrecognized arguments: x (see"),
        (
            "cluster run --lod=2",
            "cluster run: unrecognized arguments: --lod=2; did you mean '--load'",
        ),
        (
            "compare --zzz",
            "compare: unrecognized arguments: --zzz (see cgrsp compare --help)",
        ),
        ("compar", "did you mean 'compare'? (see cgrsp --help)"),
        ("cluster compar", "did you mean 'compare'? (see cgrsp cluster --help)"),
        ("run --format tabel", "unknown --format 'tabel'; did you mean 'table'?"),
        ("run --format 7", "unknown --format '7' (allowed: table, csv, json)"),
    ],
)
def test_a_misspelt_word_is_one_line_that_offers_the_nearest(capsys, line, said):
    status, out, err = outcome(capsys, *line.split())
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err and err.startswith("cgrsp")


def test_the_module_is_the_command():
    done = process("run --day quiet --seed 1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("quiet, fifo, seed 1\n")


# ---- stdout and stderr ----


def test_what_was_left_out_of_a_log_and_what_was_loaded_go_to_stderr(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("submit_s,service_s\n0,5\n9,x\n7200,6\n3600,7\n")
    done = process(f"run --trace {path} --format json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["summary"]["completed"] == 3
    bad, order, loaded = done.stderr.splitlines()
    assert all(line.startswith("cgrsp: ") for line in (bad, order, loaded))
    assert "line 3" in bad
    assert "line 5" in order
    assert "3 jobs over 2.0 h" in loaded
    assert "service median 6 s" in loaded
    assert "offered load" in loaded
    assert "5 slots" in loaded


# ---- a user's own policy ----


def test_a_function_in_a_file_is_a_policy(printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my_rules.py").write_text(YOUNGEST)
    found = json.loads(
        printed(
            "compare --day normal --policies fifo,my_rules.py:youngest_first --seeds"
            " 2 --format json"
        )
    )
    assert list(found["policies"]) == ["fifo", "my_rules.py:youngest_first"]
    first = printed(
        "run --day normal --policy my_rules.py:youngest_first"
    ).splitlines()[0]
    assert first == "normal, my_rules.py:youngest_first, seed 0"


def test_a_file_of_policies_may_hold_dataclasses(printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my_rules.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n\n"
        "@dataclass\n"
        "class Rule:\n"
        "    most: int = 9\n\n"
        "    def __call__(self, view):\n"
        "        return zip(view.queue[: self.most], view.idle)\n\n"
        "rule = Rule()\n"
    )
    assert printed("run --day quiet --policy my_rules.py:rule --format csv") == printed(
        "run --day quiet --format csv"
    )


@pytest.mark.slow
def test_the_figures_are_the_same_with_two_workers(tmp_path):
    (tmp_path / "my_rules.py").write_text(YOUNGEST)
    line = (
        "compare --day normal --policies my_rules.py:youngest_first,random,rh:reserve=2"
        " --seeds 5 --format csv"
    )
    alone = process(line, cwd=tmp_path)
    together = process(f"{line} --workers 2", cwd=tmp_path)
    assert (together.returncode, together.stderr) == (0, "")
    assert len(csv_rows(together.stdout)) == 15
    assert together.stdout == alone.stdout


@pytest.mark.parametrize(("workers", "processes"), [(None, 7), (3, 3), (1, None)])
def test_there_are_as_many_processes_as_told_else_one_a_core(
    monkeypatch, workers, processes
):
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert executor_of(Namespace(workers=workers)) == processes


# ---- an early end ----


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("run --day hectic --show events", marks=pytest.mark.slow),
        "run --day surge --format csv",
        pytest.param("policies", marks=pytest.mark.slow),
    ],
)
def test_a_reader_that_leaves_early_ends_the_command_quietly(line):
    command = subprocess.Popen(
        [*CGRSP, *line.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with command:
        # a short text fits the pipe: there the reader leaves before the first line
        if line != "policies":
            assert command.stdout.readline()
        command.stdout.close()
        assert command.stderr.read() == ""
    assert command.returncode == 0


posix = pytest.mark.skipif(
    os.name != "posix", reason="signals and process groups are those of POSIX"
)
# Each process that loads this leaves a file with its number.
TELLING = """
import os, pathlib
pathlib.Path(f"{os.getpid()}.loaded").touch()
def rule(view):
    return zip(view.queue, view.idle)
"""
# A single run of it takes longer than an interrupt may: the workers have to be ended in
# the middle of one.
LONG = (
    "compare --day surge --jobs 2000000 --policies my_rules.py:rule --seeds 9"
    " --workers 2"
)


def interrupted(folder, line, send, ready, after_s):
    """A long command that is interrupted some time after it is ready: its status, what
    it printed, the seconds it took to end.

    Its children hold the same stderr: that this can be read to its end means that none
    of them is left.
    """
    (folder / "my_rules.py").write_text(TELLING)
    command = subprocess.Popen(
        [*CGRSP, *line.split()],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + 20
        while not ready(command.pid) and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(after_s)
        send(command.pid, signal.SIGINT)
        sent = time.monotonic()
        out, err = command.communicate(timeout=20)
        return command.returncode, out, err, time.monotonic() - sent
    finally:
        if command.poll() is None:
            os.killpg(command.pid, signal.SIGKILL)
            command.communicate()


def assert_one_line(ended, verb):
    status, out, err, seconds = ended
    assert err.endswith(f"cgrsp {verb}: interrupted\n")
    assert len(err.splitlines()) == 2  # the first tells how long it would have taken
    assert (status, out) == (130, "")
    assert seconds < 5


@posix
@pytest.mark.parametrize(
    "send",
    [os.kill, pytest.param(os.killpg, marks=pytest.mark.slow)],
    ids=["the process", "its group"],
)
def test_an_interrupt_ends_command_and_workers_with_one_line(tmp_path, send):
    def ready(_):
        # the command and both workers are at work
        return len(list(tmp_path.glob("*.loaded"))) == 3

    assert_one_line(interrupted(tmp_path, LONG, send, ready, after_s=0.5), "compare")


@posix
@pytest.mark.skipif(
    not Path("/proc/self/task").exists(),
    reason="the children of a process are read from /proc",
)
@pytest.mark.parametrize(
    "after_s",
    [
        pytest.param(0.05, marks=pytest.mark.slow),
        pytest.param(0.2, marks=pytest.mark.slow),
        0.4,
    ],
)
def test_an_interrupt_while_the_workers_start_is_one_line_too(tmp_path, after_s):
    def ready(pid):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return len(children) >= 3  # the two trackers of resources, and a worker

    assert_one_line(interrupted(tmp_path, LONG, os.killpg, ready, after_s), "compare")


@posix
def test_an_interrupt_without_workers_is_one_line(tmp_path):
    def ready(_):
        return list(tmp_path.glob("*.loaded"))

    line = "run --day hectic --rate-per-s 0.01 --jobs 3000000 --policy my_rules.py:rule"
    assert_one_line(interrupted(tmp_path, line, os.kill, ready, after_s=0.3), "run")


# ---- tables to files and to pandas ----


@pytest.fixture(scope="module")
def study():
    return cg.compare(cg.day("quiet"), ["fifo", "spt"], range(2))


@pytest.fixture(scope="module")
def run():
    return cg.simulate(cg.day("quiet"), "fifo")


def test_a_comparison_is_written_as_csv(study, tmp_path):
    study.to_csv(tmp_path / "study.csv")
    rows = csv_rows((tmp_path / "study.csv").read_text())
    assert [{**row, "seed": int(row["seed"])} for row in rows] == [
        {
            name: value if name in ("policy", "seed") else str(value)
            for name, value in row.items()
        }
        for row in study.rows
    ]


def test_a_comparison_is_written_as_json_as_the_command_prints_it(
    study, printed, tmp_path
):
    study.to_json(tmp_path / "study.json")
    text = (tmp_path / "study.json").read_text()
    assert text == printed(
        "compare --day quiet --policies fifo,spt --seeds 2 --format json"
    )


def test_a_run_is_written_as_csv_as_the_command_prints_it(run, printed, tmp_path):
    run.to_csv(tmp_path / "run.csv")
    assert (tmp_path / "run.csv").read_text() == printed("run --day quiet --format csv")


@pytest.mark.slow
def test_tables_go_to_pandas(study, run):
    pytest.importorskip("pandas")
    figures, records = study.to_pandas(), run.to_pandas()
    assert figures.shape == (4, 12)
    assert figures["policy"].tolist() == ["fifo", "fifo", "spt", "spt"]
    assert figures["wait_min"].tolist() == [row["wait_min"] for row in study.rows]
    assert list(records.columns) == [*JobRecord._fields, "slots"]
    assert records["finish_s"].tolist() == run.jobs["finish_s"].tolist()


@pytest.mark.parametrize("table", ["study", "run"])
def test_without_pandas_the_error_names_the_extra(table, request, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[pandas\]" in a clone'):
        request.getfixturevalue(table).to_pandas()


# ---- progress ----


@posix
@pytest.mark.parametrize(
    "line",
    [
        "run --day hectic --jobs 100000",
        pytest.param(
            "compare --day hectic --policies fifo --seeds 100", marks=pytest.mark.slow
        ),
    ],
)
def test_a_terminal_sees_a_progress_bar_after_a_second(line):
    assert b"%|" in seen_on_a_terminal(line, lambda seen: b"%|" in seen, 80)


# ---- stdout ----


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux")
@pytest.mark.slow
def test_a_completion_that_cannot_be_printed_is_one_line():
    pytest.importorskip("shtab")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*CGRSP, "--completion", "bash"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (done.returncode, done.stderr) == (2, "cgrsp: No space left on device\n")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are Unicode")
def test_results_go_into_a_folder_whose_name_is_no_utf8(tmp_path):
    out = os.fsencode(tmp_path) + b"/out\xff"
    words = "compare --day quiet --policies fifo --seeds 2 --jobs 5 --out".split()
    for _ in range(2):  # the second resumes
        done = subprocess.run([*CGRSP, *words, out], capture_output=True)
        assert done.returncode == 0, done.stderr
    manifest = json.loads(Path(os.fsdecode(out), "manifest.json").read_bytes())
    assert os.fsdecode(out) in manifest["command"]


@posix
@pytest.mark.parametrize(
    "closed", [">&-", pytest.param(">&- 2>&-", marks=pytest.mark.slow)]
)
def test_with_stdout_closed_a_command_is_refused(tmp_path, closed):
    line = (
        f"{shlex.join(CGRSP)} compare --day quiet --policies fifo --seeds 2 --out out"
        f" {closed}"
    )
    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True
    )
    message = "cgrsp: stdout is closed, so that no result can be printed\n"
    assert (done.returncode, done.stderr) == (2, "" if "2>" in closed else message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@posix
def test_with_stderr_closed_results_are_printed():
    line = f"{shlex.join(CGRSP)} policies"
    usual, closed = (
        subprocess.run(["sh", "-c", f"{line} {more}"], capture_output=True)
        for more in ("", "2>&-")
    )
    assert closed.returncode == 0 and closed.stdout == usual.stdout


def test_a_terminal_of_ascii_gets_what_it_can_show():
    words = "compare --day quiet --policies fifo --seeds 3".split()
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [*CGRSP, *words], env=os.environ | ascii_only, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"quiet: mean of 3 seeds +- 95 % half width" in done.stdout


def test_letters_that_an_encoding_lacks_are_escaped():
    codecs.register_error("cgrsp", cli._in_ascii)
    assert "0.5 ± 0.1 é".encode("ascii", "cgrsp") == rb"0.5 +- 0.1 \xe9"
    assert "± é".encode("latin-1", "cgrsp") == "± é".encode("latin-1")
