"""Property tests: the same examples in every run, fewer with the quick tests and
fresh ones with the long tests, and no test that decides this for itself; and the
tiers of tests.
"""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
from support import process

TESTS = Path(__file__).parents[1]
OPTIONS = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))[
    "tool"
]["pytest"]["ini_options"]
OWN = """
from hypothesis import given, settings, strategies as st

@settings(max_examples=12)
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
        "[pytest]\n"
        f"addopts = {OPTIONS['addopts']}\n"
        "markers =\n"
        "  slow: seconds\n"
        "  long: minutes\n"
        "  quick_cases(n): others are slow\n"
    )
    return tmp_path


def asked(folder, *options):
    """One run of pytest in a folder."""
    return process([sys.executable, "-m", "pytest", "-q", *options], folder)


def tried(folder, *options):
    """The examples that one run of pytest tries."""
    asked(folder, *options).check_returncode()
    numbers = (folder / "tried.txt").read_text().split()
    (folder / "tried.txt").unlink()
    return numbers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "number", "is_repeatable"),
    [
        ((), 2, True),  # an eighth of them
        (("-m", "slow"), 12, True),
        (("-m", "long"), 12, False),
        (("-m", "long and hypothesis"), 12, False),
    ],
)
def test_each_tier_has_its_examples(options, number, is_repeatable, folder):
    one, other = tried(folder, *options), tried(folder, *options)
    assert min(len(one), len(other)) >= number
    assert len(one) == number or not is_repeatable
    assert (one == other) == is_repeatable
    assert (folder / "another.txt").exists() == (options == ())


def test_no_test_decides_for_itself_which_examples_it_tries():
    wrong = re.compile(r"derandomize|database=|load_profile|@seed\(")
    files = [path for path in TESTS.rglob("test_*.py") if path != Path(__file__)]
    assert files
    assert not [str(path) for path in files if wrong.search(path.read_text())]


# ---- tiers ----


@pytest.mark.slow
def test_no_test_is_both_slow_and_long(folder):
    (folder / "test_both.py").write_text(
        "import pytest\n"
        "pytestmark = pytest.mark.slow\n"
        "@pytest.mark.long\n"
        "def test_both(): pass\n"
    )
    assert "test_both.py::test_both is both slow and long" in asked(folder).stderr


CASES = """
import pytest

@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_case(number): pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(("tier", "passed"), [([], 2), (["-m", "slow"], 1)])
def test_the_other_cases_of_a_test_with_quick_cases_are_slow(folder, tier, passed):
    (folder / "test_cases.py").write_text(CASES)
    printed = asked(folder, "test_cases.py", *tier).stdout
    assert f"{passed} passed, {3 - passed} deselected" in printed


def marks_of(function):
    """The marks of a test, those of its parameters included."""
    text = " ".join(map(ast.unparse, function.decorator_list))
    return {*re.findall(r"mark\.(\w+)", text)}


@pytest.mark.slow
def test_tests_that_need_further_packages_are_not_quick():
    """`pip install .[test]` gives these; continuous integration installs the others
    afterwards.
    """
    quick = []
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        if "importorskip" not in text:  # parsing all takes seconds
            continue
        functions = [
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef)
        ]
        for function in functions:
            users = [
                other
                for other in functions
                if function.name in (each.arg for each in other.args.args)
            ]
            if any(
                isinstance(node, ast.Attribute) and node.attr == "importorskip"
                for node in ast.walk(function)
            ):
                quick += [
                    f"{path.name}::{each.name}"
                    for each in users or [function]  # of a fixture
                    if not {"slow", "long"} & marks_of(each)
                ]
    assert not quick
