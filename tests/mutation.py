"""Do the quick tests notice a changed program? Change it in many small ways, and see.

    python -m tests.mutation --sample 200

draws changes by a seed, the same number in each room of the package, makes each in a copy of the
project and runs the quick tests on it up to the first that fails: the changed file's own, those
that name most of it, those of its room and the pins, then, without `--near`, all others. It prints
what was caught by room, and each change that no test noticed; exit status 1 where a room falls
below its floor. Tests that take LONGER times what they take without a change count as failing.
Drawings and pages are left out: their numbers are sizes and places on paper; and the data of
figures: the long tests make the committed rows anew. Changes that cannot alter any result stand in
EQUAL, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from py_compile import PycInvalidationMode
from queue import Queue
from typing import NamedTuple

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "cgrsp_simpy"
FLOORS = {  # share of the changes that the quick tests must notice
    "engine": 0.98,
    "rental/policies": 0.98,
    "rental": 0.95,
    "waiting": 0.95,
    "cluster": 0.95,
    "dag": 0.95,
    "hgsp": 0.95,
    "analysis": 0.95,
    "studies": 0.95,
    "model": 0.95,
    "logs": 0.95,
    "spot": 0.95,
    "llm": 0.95,
    "decide": 0.95,
    "thesis": 0.95,
    "exercises": 0.95,
    "cli": 0.95,
}
LEFT_OUT = ("plots", "app")  # rooms of drawings and pages
DRAWN = ("figures", "page")  # ends of the names of files of drawings
NOT_COPIED = (".git", ".venv", ".*cache*", "__pycache__", "build", "dist")
OWN = 5  # test files of a changed file's own, asked first
LONGER = 5  # so many times the time without a change, and START_S, is no end
START_S = 60  # a busy machine starts Python slowly
EQUAL: dict[tuple[str, str], str] = {
    ("engine/places.py", "super().__init__(env, capacity=place.size or 1.1, init=place.size)"): (
        "of a pool of nothing, nothing is ever taken or given back"
    ),
    (
        "hgsp/exact.py",
        "self._rows.append(({self._x(i, j): 1.0 for j in own}, 1.0, 1.1))  # Eq. 2",
    ): "they are whole numbers",
    (
        "analysis/statistics.py",
        "least, most = most, 3 * most",
    ): "halving finds the same number between any two such bounds",
    (
        "studies/replicate.py",
        "drawn = _or_error(lambda: scenario.draw(seed) if len(policies) > 2 else None)",
    ): "what is drawn belongs to the seed: each run draws the same again",
    (
        "cluster/paper/table.py",
        'if {"throughput_per_h", "utilisation_pct"} < row.keys()',
    ): "each published row that has both has a further figure",
}
"""(file, changed line) of changes that alter no result: why."""
OTHER = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}


class Change(NamedTuple):
    """One change of a file: the text from `start` up to `stop` becomes `new`."""

    path: Path
    start: int
    stop: int
    new: str

    def made(self) -> str:
        """The file's text with the change."""
        text = self.path.read_text(encoding="utf-8")
        return text[: self.start] + self.new + text[self.stop :]

    def lines(self) -> tuple[int, str, str]:
        """Number of the line that changes, the line before, and after."""
        number = self.path.read_text(encoding="utf-8")[: self.start].count("\n")
        before = self.path.read_text(encoding="utf-8").splitlines()[number]
        return number + 1, before.strip(), self.made().splitlines()[number].strip()

    def __str__(self) -> str:
        number, before, after = self.lines()
        return f"{self.path.relative_to(ROOT)}:{number}\n    - {before}\n    + {after}"


# ---- which changes there are ----


def changes(path: Path) -> list[Change]:
    """Every change of a file that the sampler can draw, in the order of the text."""
    text = path.read_text(encoding="utf-8")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:
        row = text[starts[line - 1] : starts[line]]
        return starts[line - 1] + len(row.encode()[:column].decode())

    def between(left: ast.expr, right: ast.expr, kind: type) -> tuple[int, int, str]:
        old, new = OTHER[kind]
        first = place(left.end_lineno or 0, left.end_col_offset or 0)
        at = text.index(old, first, place(right.lineno, right.col_offset))
        return at, at + len(old), new

    found = []
    for node in code_of(ast.parse(text)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            pairs = zip(sides, sides[1:], node.ops, strict=False)
            found += [between(left, right, type(op)) for left, right, op in pairs]
        elif isinstance(node, ast.BinOp) and type(node.op) in OTHER:
            found.append(between(node.left, node.right, type(node.op)))
        elif isinstance(node, ast.BoolOp):
            found.append(between(node.values[0], node.values[1], type(node.op)))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            first = place(node.lineno, node.col_offset)  # of an operand parentheses stay
            found.append((first, first + len("not " if isinstance(node.op, ast.Not) else "-"), ""))
        else:
            new = replaced(node)
            if new is not None:
                ends = (
                    place(node.lineno, node.col_offset),
                    place(node.end_lineno, node.end_col_offset),
                )
                found.append((*ends, new))
    return [Change(path, *each) for each in sorted(found)]


def code_of(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree that run: not annotations, and not what type checkers alone read.

    What stands within the text of an f-string is left out: Python 3.11 does not say where it is.
    """
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or for_types(node) or isinstance(node, ast.JoinedStr):
                continue
            yield node
            yield from code_of(node)


def for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def replaced(node: ast.AST) -> str | None:
    """Another number, a call that is not made, or the other end of a loop; None: nothing else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return str(not node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return str(node.value + 1)
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        return repr(node.value * 1.1 if node.value else 1.0)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return "pass"
    if isinstance(node, ast.Break | ast.Continue):
        return "continue" if isinstance(node, ast.Break) else "break"
    return None


def files_of(room: str) -> list[Path]:
    """The files of a room, and of its paper, whose numbers are not those of a drawing."""
    paths = [*(PACKAGE / room).glob("*.py"), *(PACKAGE / room / "paper").glob("*.py")]
    return sorted(path for path in paths if not path.stem.endswith((*DRAWN, "__init__")))


def drawn(sample: int, seed: int, rooms: Sequence[str]) -> dict[str, list[Change]]:
    """The same number of changes from each room, drawn by a seed; at least `sample` in all."""
    each = -(-sample // len(rooms))
    found = {}
    for room in rooms:
        rng = np.random.default_rng([seed, list(FLOORS).index(room)])
        every = [change for path in files_of(room) for change in changes(path)]
        chosen = rng.choice(len(every), size=min(each, len(every)), replace=False)
        found[room] = [every[index] for index in sorted(chosen)]
    return found


# ---- whether the tests notice ----


def tests_near(path: Path) -> tuple[list[str], list[str]]:
    """A changed file's own tests and those that name most of what it defines; others of its room
    and the pins.
    """
    made = ast.parse(path.read_text(encoding="utf-8")).body
    names = {path.stem} | {
        node.name for node in made if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    package = ".".join(path.relative_to(ROOT).parent.parts)
    texts = {test: test.read_text(encoding="utf-8") for test in all_tests()}

    own_test = ROOT / "tests" / path.relative_to(PACKAGE).parent / f"test_{path.stem}.py"

    def named(test: Path) -> tuple[bool, bool, int]:
        words = {*re.findall(r"\w+", texts[test]), *test.stem.split("_")}
        return test == own_test, path.parent.name in test.parts, len(names & words)

    def near(test: Path) -> bool:
        in_room = package in texts[test] or path.parent.name in test.parts
        return in_room or test.parent.name == "pins"

    first = sorted(texts, key=named, reverse=True)
    own, others = first[:OWN], filter(near, first[OWN:])
    return [str(test.relative_to(ROOT)) for test in own], [
        str(test.relative_to(ROOT)) for test in others
    ]


def all_tests() -> list[Path]:
    """Every test file."""
    return sorted((ROOT / "tests").rglob("test_*.py"))


def copy_of_project(folder: Path) -> Path:
    """A copy of what the tests read; what is not changed is compiled once."""
    ignored = shutil.ignore_patterns(*NOT_COPIED)
    shutil.copytree(ROOT, folder, ignore=ignored, symlinks=True)
    by_content = PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(folder / PACKAGE.name, quiet=1, invalidation_mode=by_content)
    return folder


def fails(folder: Path, tests: Sequence[str], limit_s: float | None) -> bool:
    """Whether a quick test fails in a copy of the project, or the tests do not end."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    paths = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(
            command, cwd=folder, env=paths, capture_output=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return ended.returncode not in (0, pytest.ExitCode.NO_TESTS_COLLECTED)


def limit_of(folder: Path, tests: Sequence[str]) -> float:
    """Seconds after which tests do not end; they must pass as long as nothing is changed."""
    start_s = time.monotonic()
    if fails(folder, tests, None):
        sys.exit(f"without any change, in a copy of the project, these fail: {' '.join(tests)}")
    return START_S + LONGER * (time.monotonic() - start_s)


def caught(change: Change, folders: Queue[Path], near_s: float, others_s: float | None) -> bool:
    """Whether tests notice a change: those near it, and the others where they have a limit."""
    own, near = tests_near(change.path)
    others = [str(test.relative_to(ROOT)) for test in all_tests()]
    others = [test for test in others if test not in own + near]
    folder = folders.get()
    changed = folder / change.path.relative_to(ROOT)
    changed.write_text(change.made(), encoding="utf-8")
    try:
        noticed = any(fails(folder, some, near_s) for some in (own, near) if some)
        return noticed or (others_s is not None and fails(folder, others, others_s))
    finally:
        shutil.copy(change.path, changed)
        folders.put(folder)


def main() -> int:
    """Draw changes, run the tests on each, print what they noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, default=200, help="changes, over all rooms")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", default=",".join(FLOORS), help="names, with commas")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--near", action="store_true", help="only tests of the room, and pins")
    options = parser.parse_args()
    sample = drawn(options.sample, options.seed, options.rooms.split(","))
    below = False
    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(options.workers) as pool:
        folders: Queue[Path] = Queue()
        for number in range(options.workers):
            folders.put(copy_of_project(Path(made) / str(number)))
        others_s = None if options.near else limit_of(Path(made) / "0", [])
        for room, some in sample.items():
            own, near = tests_near(some[0].path)
            near_s = limit_of(Path(made) / "0", [*own, *near])
            trial = partial(caught, folders=folders, near_s=near_s, others_s=others_s)
            told = 0
            for change, noticed in zip(some, pool.map(trial, some), strict=True):
                if not noticed:
                    told += key_of(change) not in EQUAL
                    why = EQUAL.get(key_of(change), "no test notices")
                    print(f"  {change}\n    {why}", flush=True)
            share = 1 - told / len(some)
            below |= share < FLOORS[room]
            print(f"{room}: {share:.1%} of {len(some)}; floor {FLOORS[room]:.0%}", flush=True)
    return int(below)


def key_of(change: Change) -> tuple[str, str]:
    _, _, after = change.lines()
    return str(change.path.relative_to(PACKAGE)), after


if __name__ == "__main__":
    sys.exit(main())
