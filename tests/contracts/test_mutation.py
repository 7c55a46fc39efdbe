"""The sampler of changes (tests/mutation.py) makes changes, and the same ones for a
seed.
"""

import ast
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
mutation = runpy.run_path(str(ROOT / "tests" / "mutation.py"))

SOURCE = '''\
"""At most 3 words."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    LEAST = 1


def kept(é: int, limit: float = 0.5, *, all: bool = False) -> list[int]:
    """No more than 2 of them."""
    found: list[int] = []
    for value in range(é):
        if value % 2 == 0 and not all:
            continue
        found.append(-value)
    return found if limit <= 0.0 else []


@figure.draws
def _() -> int:
    return 3
'''


def made_of(tmp_path):
    path = tmp_path / "source.py"
    path.write_text(SOURCE, encoding="utf-8")
    return [change.made() for change in mutation["changes"](path)]


def test_each_change_alters_one_line_that_runs_and_parses(tmp_path):
    made = made_of(tmp_path)
    lines = SOURCE.splitlines()
    altered = []
    for text in made:
        ast.parse(text)
        new = text.splitlines()
        assert len(new) == len(lines)
        [one] = [(old, now) for old, now in zip(lines, new, strict=True) if old != now]
        altered.append(one[1].strip())
    assert len(set(made)) == len(made)
    assert altered == [
        "def kept(é: int, limit: float = 0.55, *, all: bool = False) -> list[int]:",
        "def kept(é: int, limit: float = 0.5, *, all: bool = True) -> list[int]:",
        "if value * 2 == 0 and not all:",
        "if value % 3 == 0 and not all:",
        "if value % 2 != 0 and not all:",
        "if value % 2 == 1 and not all:",
        "if value % 2 == 0 or not all:",
        "if value % 2 == 0 and all:",
        "break",
        "pass",
        "found.append(value)",
        "return found if limit < 0.0 else []",
        "return found if limit <= 1.0 else []",
    ]


@pytest.mark.slow
def test_a_seed_draws_the_same_changes_and_another_seed_others():
    drawn = mutation["drawn"]
    one, again, other = (drawn(20, seed, ["engine", "studies"]) for seed in (1, 1, 2))
    assert one == again != other
    assert [len(some) for some in one.values()] == [10, 10]
    for change in [*one["engine"], *one["studies"], *other["engine"]]:
        ast.parse(change.made())


def test_every_room_has_a_floor_or_is_one_of_drawings_and_pages():
    package = mutation["PACKAGE"]
    folders = {
        path.parent.relative_to(package) for path in package.rglob("*/__init__.py")
    }
    rooms = {str(folder) for folder in folders if folder.parts[:-1] != ("papers",)}
    assert rooms == {*mutation["FLOORS"], *mutation["LEFT_OUT"]}
    assert all(mutation["files_of"](room) for room in mutation["FLOORS"])


@pytest.mark.slow
def test_what_is_said_to_alter_nothing_is_a_change_that_can_be_drawn():
    for file, line in mutation["EQUAL"]:
        made = mutation["changes"](mutation["PACKAGE"] / file)
        assert (file, line) in map(mutation["key_of"], made)


def test_of_tests_that_run_a_changed_line_the_narrowest_are_run_first():
    here, file = (
        "tests/contracts/test_mutation.py",
        "cgrsp_simpy/engine/policy_caller.py",
    )
    change = mutation["changes"](ROOT / file)[-1]
    number = change.lines()[0]
    long, short = f"{here}::made_of", f"{here}::test_a_seed"
    lines = {1: [""], number - 1: [short, "tests/test_gone.py::test_it", long]}
    assert mutation["tests_of"](change, {file: lines}) == [short, long]

    *files, last = mutation["tests_of"](change, {file: lines | {number: [""]}})
    assert "tests/engine/test_policy_caller.py" in files  # it names the changed file
    assert here in files and last not in (short, long)
