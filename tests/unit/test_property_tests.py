"""Property tests: the same examples in every run, fresh ones beside the long tests, and no test
that decides this for itself.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
OWN = """
from hypothesis import given, settings, strategies as st

@settings(max_examples=5)
@given(st.integers(0, 10**12))
def test_numbers(number):
    with open("tried.txt", "a") as file:
        print(number, file=file)

def test_another():
    open("another.txt", "w")
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "test_own.py").write_text(OWN)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = -m 'not long' --strict-markers\nmarkers = long: takes minutes\n"
    )
    return tmp_path


def tried(folder, *options):
    """The examples that one run of pytest tries."""
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=60,
    )
    numbers = (folder / "tried.txt").read_text().split()
    (folder / "tried.txt").unlink()
    return numbers


def test_examples_are_the_same_in_every_run(folder):
    assert tried(folder) == tried(folder)
    assert (folder / "another.txt").is_file()


@pytest.mark.parametrize("chosen", ["long", "long and hypothesis"])
def test_with_the_long_tests_they_are_fresh(folder, chosen):
    first, second = tried(folder, "-m", chosen), tried(folder, "-m", chosen)
    assert first != second
    assert len(first) >= 5 <= len(second)
    assert not (folder / "another.txt").exists()


def test_no_test_decides_for_itself_which_examples_it_tries():
    wrong = re.compile(r"derandomize|database=|load_profile|@seed\(")
    files = [path for path in TESTS.rglob("test_*.py") if path != Path(__file__)]
    assert files
    assert not [str(path) for path in files if wrong.search(path.read_text())]
