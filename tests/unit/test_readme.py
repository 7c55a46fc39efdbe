"""The README is true: its commands run, its scripts run, and what it shows of their output is
what they print.
"""

import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
COMMANDS = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]
SCRIPTS = [text for kind, text in BLOCKS if kind == "python"]
SHOWN = {
    text.strip(): after.strip() for (_, text), (kind, after) in pairwise(BLOCKS) if kind == "text"
}
QUICK = re.compile(  # a few of every kind; the others: pytest -m slow
    r"cgrsp (waiting optimize|hgsp run|cluster run|dag correlate|lectures$|run .*--step)"
)
LOGS = ROOT.parent / "shared" / "data" / "alibaba_genai_2026"


def run(arguments, folder):
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        arguments,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return (done.stderr + done.stdout).strip()


def calls(command):
    """What a command line calls after the set-up, for the Python that runs the tests."""
    programs = {
        ".venv/bin/cgrsp": [sys.executable, "-m", "cgrsp_simpy"],
        ".venv/bin/python": [sys.executable],
    }
    lines = [shlex.split(part) for part in command.split("&&")]
    return [[*programs[words[0]], *words[1:]] for words in lines if words[0] in programs]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=[pytest.mark.slow] * (not QUICK.search(command)))
        for command in COMMANDS
        if "pytest" not in command
    ],
)
def test_command(command, tmp_path):
    if "--trace" in command and not LOGS.is_dir():
        pytest.skip("the log is not here")
    folder = LOGS if "--trace" in command else tmp_path if "--copy" in command else ROOT
    printed = [run(arguments, folder) for arguments in calls(command)]
    assert all(printed) and printed
    if command in SHOWN:
        assert printed == [SHOWN[command]]


def test_set_up_commands_install_and_run_in_one_line():
    comparison, tests = (
        command for command in COMMANDS if command.startswith("python3 -m venv .venv && ")
    )
    assert "pip install -q . &&" in comparison
    assert tests.endswith("-m pytest -q -n auto")


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_script(script, tmp_path):
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    run([sys.executable, "script.py"], tmp_path)


def test_scripts_are_those_of_the_scenarios():
    study, _, _, policy = SCRIPTS  # between them: one run, and an open scenario
    assert study == (ROOT / "scenarios" / "hectic_day.py").read_text(encoding="utf-8")
    assert policy in (ROOT / "scenarios" / "own_policy.py").read_text(encoding="utf-8")


def test_four_commands_four_outputs():
    assert len(SHOWN) == 4
    assert all(SHOWN.values())
