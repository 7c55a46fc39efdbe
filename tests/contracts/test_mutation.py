"""The lists of the sampler of changes (tests/mutation.py) belong to this package."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
mutation = runpy.run_path(str(ROOT / "tests" / "mutation.py"))


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
