"""A command that receives a signal ends at once, with its workers, and with one line; a
killed command leaves no worker behind.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import CGRSP

pytestmark = pytest.mark.skipif(
    not Path("/proc").is_dir(), reason="processes are counted in /proc"
)
COMMAND = "compare hectic --policies fifo,spt,rh --seeds 1000 --workers 2"


def group(number):
    """The living processes of a group, except loky's keeper of shared resources,
    which ends after them.
    """
    results = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == number and fields[0] != "Z":
                results.append(folder.name)
        except OSError:
            continue
    return results


@pytest.fixture
def command(tmp_path):
    """A command on two workers that has begun."""
    started = subprocess.Popen(
        [sys.executable, "-m", "cgrsp_simpy", *COMMAND.split(), "--out", "out"],
        cwd=tmp_path,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    begun = time.monotonic()
    while (
        not list((tmp_path / "out" / "chunks").glob("*.json"))
        and time.monotonic() - begun < 60
    ):
        time.sleep(0.05)
    yield started
    for process in group(started.pid):
        os.kill(int(process), signal.SIGKILL)
    started.wait()
    started.stdout.close()
    started.stderr.close()


def gone(number, within_s=15.0):
    """Return whether a group of processes has ended within some seconds."""
    begun = time.monotonic()
    while group(number) and time.monotonic() - begun < within_s:
        time.sleep(0.1)
    return not group(number)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "status"),
    [("SIGTERM", 143), ("SIGHUP", 129)],
)
def test_a_signal_ends_command_and_workers_with_one_line(command, name, status):
    os.kill(command.pid, getattr(signal, name))
    out, err = command.communicate(timeout=30)
    assert (command.returncode, out, err) == (
        status,
        "",
        f"cgrsp compare: ended by {name}\n",
    )
    assert gone(command.pid)


@pytest.mark.slow
def test_workers_end_when_their_parent_is_killed(command):
    os.kill(command.pid, signal.SIGKILL)
    command.wait()
    assert gone(command.pid)


IN_C = """
import itertools, sys
def rule(view):
    print("begun", file=sys.stderr, flush=True)
    None in itertools.repeat(0)  # for ever, in C
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs sysv_signal of glibc")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_second_signal_ends_a_process_that_runs_c_code(name, tmp_path):
    number = getattr(signal, name)
    (tmp_path / "own.py").write_text(IN_C)
    line = "run quiet --policy own.py:rule"
    with subprocess.Popen(
        [*CGRSP, *line.split()], cwd=tmp_path, stderr=subprocess.PIPE
    ) as process:
        try:
            assert process.stderr.readline() == b"begun\n"
            time.sleep(0.5)  # until it runs in C
            process.send_signal(number)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.3)
            process.send_signal(number)
            assert process.wait(5) == -number
        finally:
            process.kill()
