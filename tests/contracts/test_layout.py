"""Tests are found by path: those of cgrsp_simpy/<room>/<file>.py are in
tests/<room>/test_<file>.py, those of a room as a whole in tests/<room>/test_<room>.py.
"""

import ast
import re
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "cgrsp_simpy"
# of several files: they name what they test
BESIDE = ("contracts", "docs", "pins", "textbook", "theory")
SMALL = 30  # statements
ELSEWHERE = {  # file, or folder -> the tests of what has none of its own, and why
    "__init__.py": "contracts/test_docstrings.py",  # each public name
    "analysis/queueing.py": "theory/test_queueing.py",
    "app": "contracts/test_app.py",  # starts every page
    "cli": "contracts/test_every_module.py",  # runs every command
    "engine/claim.py": "engine/test_run.py",  # no claim without a run
    "engine/dispatcher.py": "engine/test_run.py",
    "engine/ledger.py": "engine/test_run.py",  # no ledger without a run
    "engine/model.py": "engine/test_run.py",
    "engine/state.py": "rental/test_state.py",  # no state without a model
    "engine/resources.py": "engine/test_run.py",
    "market/figures.py": "market/test_measured.py",  # draws a report
    "logs": "logs/test_formats.py",  # the same rules for every format
    "base/metric.py": "conftest.py",  # no float of the package is added in another way
    "plots": "plots/test_plots.py",  # draws each plot
    "rental/days.py": "theory/test_queues.py",
    "rental/kernel": "rental/kernel/test_loop.py",  # by whole runs
    "rental/resume.py": "rental/test_state.py",  # compiled, by whole runs
    "rental/toml.py": "rental/test_scenario.py",
    "papers/thesis/table_figures.py": "papers/thesis/test_figures.py",
    "papers/waiting/run_figures.py": "papers/waiting/test_figures.py",
    "papers/cluster/public_program.py": "papers/test_ledger.py",
    # their entries, as recorded
    **{
        f"papers/{paper}/printed.py": "papers/test_ledger.py"
        for paper in ("waiting", "cluster", "hgsp", "dag")
    },
    # figures and rows of a room's runs
    **{
        f"{room}/report.py": f"{room}/test_scenario.py"
        for room in ("dag", "hgsp", "llm", "spot")
    },
}


def statements(path):
    """Return the number of statements of a file, without docstrings."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    messages = [
        each
        for each in nodes
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
    ]
    return sum(isinstance(each, ast.stmt) for each in nodes) - len(messages)


def named(path):
    """The modules that a test imports."""
    text = path.read_text(encoding="utf-8")
    for module, names in re.findall(r"^ *from (\S+) import (\([^)]*\)|.*)", text, re.M):
        yield module
        yield from (f"{module}.{name}" for name in re.findall(r"\w+", names))


def own(file):
    """Return the test file of a file of the package."""
    name = file.parent.name if file.stem == "__init__" else file.stem
    return TESTS / file.parent / f"test_{name}.py"


@pytest.mark.skipif(not (TESTS.parent / ".git").exists(), reason="no clone")
def test_the_top_level_holds_these_folders_only():
    listed = subprocess.run(
        ["git", "ls-files"],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    folders = {line.split("/")[0] for line in listed.stdout.split() if "/" in line}
    visible = {"cgrsp_simpy", "docs", "figures", "scenarios", "tests"}
    assert {name for name in folders if name[0] != "."} == visible


def test_each_file_of_the_package_has_its_tests():
    files = [path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py"))]
    by_name = {
        name
        for room in BESIDE
        for path in (TESTS / room).glob("*.py")
        for name in named(path)
    }
    without = [
        file
        for file in files
        if not own(file).exists()
        and ".".join((PACKAGE.name, *file.with_suffix("").parts)) not in by_name
        and statements(PACKAGE / file) > SMALL
    ]
    left = {file: {str(file), str(file.parent)} & ELSEWHERE.keys() for file in without}
    assert not [str(file) for file, places in left.items() if not places]
    assert set().union(*left.values()) == ELSEWHERE.keys()
    assert all((TESTS / test).exists() for test in ELSEWHERE.values())


def test_each_test_of_a_room_has_its_file_of_the_package():
    tests = {
        path
        for path in TESTS.rglob("test_*.py")
        if path.parent.relative_to(TESTS).parts[0] not in BESIDE
    }
    assert not tests - {
        own(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py")
    }
