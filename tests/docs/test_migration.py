"""The new names and commands on the migration page exist."""

import re
from functools import reduce
from pathlib import Path

import cgrsp_simpy as cg
from cgrsp_simpy.cli import VERBS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "migration.md"
ROWS = [
    line.strip("| ").split(" | ")
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and "| 0.4 |" not in line
]
NEW = " ".join(new for _, new in ROWS)


def test_every_row_has_an_old_and_a_new_name():
    assert len(ROWS) > 30 and all(len(row) == 2 for row in ROWS)


def test_new_names_exist():
    for name in {*re.findall(r"`cg\.([\w.]+)", NEW)}:
        assert reduce(getattr, name.split("."), cg) is not None


def test_new_commands_begin_with_a_verb():
    verbs = re.findall(r"`cgrsp (\w+)", NEW)
    assert len(verbs) > 10 and set(verbs) <= set(VERBS)
