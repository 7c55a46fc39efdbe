"""The lists of tests/mutation.py name files and lines of this package."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
mutation = runpy.run_path(str(ROOT / "tests" / "mutation.py"))


def test_every_subpackage_has_a_coverage_floor_or_only_draws():
    package = mutation["PACKAGE"]
    folders = {
        path.parent.relative_to(package) for path in package.rglob("*/__init__.py")
    }
    rooms = {str(folder) for folder in folders if folder.parts[:-1] != ("papers",)}
    assert rooms == {*mutation["FLOORS"], *mutation["LEFT_OUT"]}
    assert all(mutation["files_of"](room) for room in mutation["FLOORS"])


@pytest.mark.slow
def test_a_change_without_effect_can_be_drawn():
    for file, line in mutation["EQUAL"]:
        made = mutation["changes"](mutation["PACKAGE"] / file)
        assert (file, line) in map(mutation["key_of"], made)
