"""How commands end, what goes to stdout and stderr, and what a terminal shows."""

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import pytest
from support import CGRSP, outcome, output, process, seen_on_a_terminal

import cgrsp_simpy as cg
from cgrsp_simpy import cli
from cgrsp_simpy.cli.options import executor_of
from cgrsp_simpy.cli.parsing import Answer
from cgrsp_simpy.studies.subject import subject_of

posix = pytest.mark.skipif(
    os.name != "posix", reason="signals and process groups are those of POSIX"
)


def test_the_version_matches_the_package(capsys):
    assert output(capsys, "--version") == f"cgrsp {cg.__version__}\n"


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_the_overview_is_printed_without_a_verb(words, capsys):
    assert output(capsys, *words).startswith("usage: cgrsp VERB")


@pytest.mark.parametrize(("workers", "processes"), [(None, 7), (3, 3), (1, None)])
def test_figures_are_drawn_in_one_process_per_core(monkeypatch, workers, processes):
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert executor_of(Namespace(workers=workers)) == processes


# ---- stdout and stderr ----


@pytest.mark.slow
def test_messages_on_a_log_go_to_stderr(tmp_path):
    rows = "submit_s,service_s\n0,5\n9,x\n7200,6\n3600,7\n"
    (tmp_path / "log.csv").write_text(rows)
    line = "run rental trace=log.csv --format json"
    done = process([*CGRSP, *line.split()], tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["figures"][0]["completed"] == 3
    bad, order, loaded = done.stderr.splitlines()
    assert all(text.startswith("cgrsp: ") for text in (bad, order, loaded))
    assert "line 3" in bad and "line 5" in order
    assert "3 jobs over 2.0 h" in loaded and "5 slots" in loaded


@pytest.mark.parametrize(
    ("line", "enough"),
    [
        ("run surge --format csv", 1),
        # a short text fits the pipe: its reader leaves before the first line
        pytest.param("policies hectic", 0, marks=pytest.mark.slow),
        pytest.param("run hectic --show events", 1, marks=pytest.mark.slow),
    ],
)
def test_a_closed_pipe_ends_the_command_without_an_error(line, enough):
    command = subprocess.Popen(
        [*CGRSP, *line.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with command:
        assert len([command.stdout.readline() for _ in range(enough)]) == enough
        command.stdout.close()
        assert command.stderr.read() == ""
    assert command.returncode == 0


def in_a_shell(line, folder):
    return process(["sh", "-c", f"{shlex.join(CGRSP)} {line}"], folder)


@posix
@pytest.mark.parametrize(
    ("closed", "message"),
    [
        (">&-", "cgrsp: stdout is closed, so that no result can be printed\n"),
        pytest.param(">&- 2>&-", "", marks=pytest.mark.slow),
    ],
)
def test_a_command_without_stdout_is_rejected(closed, message, tmp_path):
    line = f"compare quiet --policies fifo --seeds 2 --out out {closed}"
    done = in_a_shell(line, tmp_path)
    assert (done.returncode, done.stderr) == (2, message)
    assert not [*tmp_path.iterdir()]


@posix
@pytest.mark.slow
def test_results_are_printed_without_stderr(tmp_path):
    usual, closed = (
        in_a_shell(f"policies hectic {more}", tmp_path) for more in ("", "2>&-")
    )
    assert closed.returncode == 0 and closed.stdout == usual.stdout


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux")
@pytest.mark.parametrize("line", ["-h", "run -h", "policies hectic"])
def test_a_full_disk_gives_a_one_line_error(line, tmp_path):
    done = in_a_shell(f"{line} >/dev/full", tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith(": No space left on device\n")
    assert done.stderr.count("\n") == 1
    assert in_a_shell("policies x 2>/dev/full", tmp_path).returncode == 2


@pytest.mark.slow
def test_a_terminal_of_ascii_gets_only_ascii(tmp_path):
    named = subject_of(cg.day("quiet", jobs=5)).varied(name="\xe9")
    named.to_toml(tmp_path / "day.toml")
    words = "compare day.toml --policies fifo --seeds 3".split()
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [*CGRSP, *words],
        cwd=tmp_path,
        env=os.environ | ascii_only,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\xe9: mean of 3 seeds +- 95 % half width" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="names of files are Unicode")
def test_results_go_into_a_folder_whose_name_is_no_utf8(tmp_path):
    out = os.fsencode(tmp_path) + b"/out\xff"
    words = "compare quiet jobs=5 --policies fifo --seeds 2 --out".split()
    for _ in range(2):  # the second continues the first
        done = subprocess.run([*CGRSP, *words, out], capture_output=True)
        assert done.returncode == 0, done.stderr
    manifest = json.loads(Path(os.fsdecode(out), "manifest.json").read_bytes())
    assert os.fsdecode(out) in manifest["command"]


# ---- interrupts ----

# Each process that loads this leaves a file with its number.
RULE = """
import os, pathlib
pathlib.Path(f"{os.getpid()}.loaded").touch()
def rule(view):
    return zip(view.queue, view.idle)
"""
# One run takes longer than an interrupt may: workers are ended in the middle of one.
LONG = "compare surge jobs=2000000 --policies own.py:rule --seeds 9 --workers 2"
ALONE = "run hectic rate_per_s=0.01 jobs=3000000 --policy own.py:rule"


@posix
@pytest.mark.parametrize(
    ("line", "send", "processes"),
    [
        (ALONE, os.kill, 1),
        pytest.param(LONG, os.kill, 3, marks=pytest.mark.slow),
        pytest.param(LONG, os.killpg, 3, marks=pytest.mark.slow),
        # while the workers start
        pytest.param(LONG, os.killpg, 1, marks=pytest.mark.slow),
    ],
)
def test_an_interrupt_ends_command_and_workers_with_one_line(
    line, send, processes, tmp_path
):
    (tmp_path / "own.py").write_text(RULE)
    command = subprocess.Popen(
        [*CGRSP, *line.split()],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + 20
        while len([*tmp_path.glob("*.loaded")]) < processes:
            assert time.monotonic() < until
            time.sleep(0.01)
        time.sleep(0.3)
        send(command.pid, signal.SIGINT)
        sent = time.monotonic()
        # workers hold the same stderr: its end shows that none is left
        out, err = command.communicate(timeout=20)
    finally:
        if command.poll() is None:
            os.killpg(command.pid, signal.SIGKILL)
            command.communicate()
    verb = line.split()[0]
    assert (command.returncode, out) == (130, "")
    assert time.monotonic() - sent < 5
    # the first line estimates the time
    assert err.splitlines()[1:] == [f"cgrsp {verb}: interrupted"]


# ---- what a terminal shows ----


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """Replace stderr by a terminal, with no delay before the progress line."""
    stderr = Terminal()
    monkeypatch.setattr("sys.stderr", stderr)
    monkeypatch.setattr(cli, "SILENT_S", 0.0)
    return stderr


@pytest.mark.parametrize(
    "line",
    [
        "compare quiet jobs=5 --seeds 2 --policies fifo",
        "parameters waiting",
        pytest.param("sweep quiet slots=2,3 --seeds 1", marks=pytest.mark.slow),
        pytest.param("papers tables thesis 4.1", marks=pytest.mark.slow),
    ],
)
def test_a_terminal_shows_which_command_works(line, monkeypatch, capsys):
    stderr = terminal(monkeypatch)
    assert cli.main(line.split()) == 0
    assert f"cgrsp {line.split()[0]}: 00:0" in stderr.getvalue()


def test_the_line_counts_and_disappears(monkeypatch, capsys):
    def work(args):
        time.sleep(0.3)
        return Answer("done")

    command = cli.command_of("policies")._replace(carry_out=work)
    monkeypatch.setattr(cli, "EVERY_S", 0.05)
    monkeypatch.setattr(cli, "command_of", lambda verb: command)
    stderr = terminal(monkeypatch)
    assert cli.main(["policies", "hectic"]) == 0
    shown = stderr.getvalue()
    assert shown.count("cgrsp policies: 00:0") >= 3
    *_, blank, end = shown.split("\r")
    assert not blank.strip() and not end.strip()
    assert capsys.readouterr().out == "done\n"


def test_a_quick_command_a_file_and_a_listing_show_no_line(monkeypatch, capsys):
    quick, file, listing = Terminal(), io.StringIO(), Terminal()
    for stderr, line in (
        (quick, "policies hectic"),
        (file, "policies hectic"),
        (listing, "run quiet jobs=3 --show events"),
    ):
        monkeypatch.setattr("sys.stderr", stderr)
        assert cli.main(line.split()) == 0
        assert stderr.getvalue() == ""
        monkeypatch.setattr(cli, "SILENT_S", 0.0)


@posix
@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("run hectic jobs=1000000", b"cgrsp run: 00:01"),
        ("compare hectic --policies fifo --seeds 100", b"%|"),
    ],
)
def test_a_terminal_shows_after_a_second_how_far_a_command_is(line, shown):
    assert shown in seen_on_a_terminal(line, lambda seen: shown in seen, 80)


WORK = {  # command -> jobs and hours that are announced
    "compare hectic --seeds 1000000": "4,750,000,000 simulated 44.0",
    "sweep hectic slots=3,4 --seeds 1000000": "9,500,000,000 simulated 88.0",
    "compare month --seeds 1000000": "40,760,000,000 simulated 377.4",
    "compare waiting machines=104 jobs=1000000 --seeds 10000": (
        "60,000,000,000 simulated 16.7"
    ),
    "compare cluster --seeds 1000000": "8,000,000,000 simulated 555.6",
    "compare dag:er:n=300 budget=10000000 --seeds 100": (
        "1,200,000,090,000 simulated 33,333.3"
    ),
    "compare hgsp:tasks4 --seeds 1000000": "10,000,000,000 simulated 92.6",
    "compare llm --seeds 1000000": "3,000,000,000 simulated 277.8",
    "compare spot --seeds 100000000": "350,000,000,000 simulated 3,240.7",
    "bound hectic --seeds 100000": "95,000,000 bounded 599.7",
    "bound hectic --frontier --seeds 5000": "413,250,000 bounded or simulated 213.4",
    "advise hectic --seeds 1000000": "2,850,285,000 simulated 26.4",
    "papers tables thesis --seeds 10000": "1,679,600,000 simulated 15.6",
    "papers check --seeds 10000": "1,679,600,000 simulated 15.6",
}


@pytest.mark.parametrize("line", WORK)
def test_work_of_hours_requires_yes(line, capsys):
    jobs, *done, hours = WORK[line].split()
    verb, *_ = words = line.split()
    text = f"{jobs} jobs will be {' '.join(done)}, which takes about {hours} hours"
    error = f"cgrsp {verb}: {text}; add --yes to start anyway\n"
    assert outcome(capsys, *words) == (2, "", error)


def test_half_the_width_of_bins_takes_four_times_as_long(capsys):
    line = "bound hectic --seeds 1000000 --bin"
    messages = [outcome(capsys, *line.split(), width)[2] for width in ("10", "5")]
    hours = [
        float(re.search(r"about ([0-9.,]+)", text)[1].replace(",", ""))
        for text in messages
    ]
    assert hours[1] == pytest.approx(4 * hours[0], rel=1e-3)
