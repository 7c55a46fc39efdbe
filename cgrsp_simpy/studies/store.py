"""Results directories: identity of a study, and its finished tasks for resuming."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.base.files import (
    content_of,
    faults_of,
    is_there,
    output_path,
    within,
    write_files,
)
from cgrsp_simpy.base.parameters import Count, checked
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.studies.identity import Identity, digest

Outcome = list[Any] | dict[str, Any] | str
"""Stored result of a run, as plain values; a text is the error that ended it."""

PACKAGES = ("simpy", "numpy", "scipy")


@contextmanager
@checked
def verifying(sample: Count, seed: int = 0) -> Iterator[Checked]:
    """Make studies in a with block repeat finished tasks and compare the outcomes.

    Nothing is written. sample: number of tasks, drawn by the seed; all if there are
    fewer. Raises InputError for an unfinished directory during the study, and for a
    stray file after it.
    """
    checked = Checked(sample, seed)
    with within(_CHECKED, checked):
        yield checked
    for path in checked.left.values():
        raise InputError(f"{path} does not belong to any task of the study; remove it")


@dataclass
class Checked:
    """Verification result: repeated tasks, those that differ, and files left."""

    sample: int
    seed: int
    tasks: list[int] = field(default_factory=list)
    differing: list[int] = field(default_factory=list)
    left: dict[int, Path] = field(default_factory=dict)

    def choose(self, store: Store) -> None:
        """Draw the tasks of a results directory that are repeated."""
        done = store.numbers()
        if not done:
            raise InputError(f"{store.path} contains no finished tasks")
        chosen = stream(self.seed, "verify").permutation(len(done))[: self.sample]
        self.tasks = sorted(done[place] for place in chosen)
        self.left = {task: store.path / f"chunks/{task:06}.json" for task in self.tasks}


_CHECKED: ContextVar[Checked | None] = ContextVar("checked", default=None)


class Store:
    """The results directory of one study.

    path: created if missing. configuration: JSON-serialisable parameters of the study.
    data: lists by digest. Raises InputError if the directory belongs to another study
    or version, or cannot be written.
    """

    def __init__(
        self,
        path: str | Path,
        configuration: Mapping[str, Any],
        seeds: Sequence[int],
        data: Mapping[str, Sequence[Any]],
    ) -> None:
        require(isinstance(path, (str, PathLike)), "out", path, "a path")
        self.path = output_path("out", path)
        self._numbers, self._checked = 0, _CHECKED.get()
        configuration = json.loads(json.dumps({**configuration, "seeds": list(seeds)}))
        self._study = digest(json.dumps(configuration).encode())
        manifest = {
            "versions": _versions(),
            "seeds": list(seeds),
            "command": shlex.join(sys.argv),
        }
        _check_no_links(self.path)
        if self._is_new():
            texts = {
                **{f"data/{name}": f"{json.dumps(data[name])}\n" for name in data},
                "manifest": _json(manifest),
                "configuration": _json(configuration),
            }
            self.write({f"{name}.json": texts[name] for name in texts})
        else:
            path = self.path / "configuration.json"
            try:
                self._refuse_other("", kept_json(path), configuration)
            except RecursionError:
                raise damaged(path) from None
            stored = kept_json(self.path / "manifest.json")
            if not isinstance(stored, dict) or not isinstance(
                stored.get("versions"), dict
            ):
                raise damaged(self.path / "manifest.json")
            self._refuse_other("version of ", stored["versions"], manifest["versions"])
        if self._checked:
            self._checked.choose(self)

    def _is_new(self) -> bool:
        with faults_of(self.path):
            if (self.path / "configuration.json").is_file():
                return False
            entries = self.path.iterdir() if self.path.exists() else ()
            unknown = {entry.name for entry in entries} - _BEGUN
            if any((self.path / "chunks").glob("*")):
                unknown.add("chunks")
        if unknown:
            raise InputError(
                f"{self.path} contains files ({min(unknown)}, ...) but no"
                " configuration.json; use an empty directory"
            )
        return True

    def _refuse_other(self, what: str, stored: Any, current: Any) -> None:
        difference = _difference(stored, current)
        if difference is not None:
            name, old, new = difference
            raise InputError(
                f"{self.path} was created with {what}{name} {old}, not {new}; use"
                " another directory"
            )

    def numbers(self) -> list[int]:
        """Return the numbers of the finished tasks."""
        stems = [path.stem for path in (self.path / "chunks").glob("[0-9]*.json")]
        return sorted(
            int(stem)
            for stem in stems
            if stem.isdecimal() and stem == f"{int(stem):06}"
        )

    def take_numbers(self, count: int) -> int:
        """Reserve `count` numbers for tasks; return the first."""
        first = self._numbers
        self._numbers += count
        return first

    def load(self, number: int, shape: Sequence[int]) -> list[list[Any]] | None:
        """Return the outcomes of a task; None if unfinished or if one run failed.

        shape: the number of outcomes of each of its blocks.
        """
        if self._checked and number in self._checked.tasks:
            return None  # run again
        kept = self._kept(number, shape)
        if self._checked and kept is None:
            raise InputError(
                f"{self.path} is not finished; run the same command again to continue"
            )
        failed = kept and any(isinstance(value, str) for unit in kept for value in unit)
        return None if failed and not self._checked else kept

    def _kept(self, number: int, shape: Sequence[int]) -> list[list[Any]] | None:
        path = self.path / "chunks" / f"{number:06}.json"
        if not path.is_file():
            return None
        content = kept_json(path)
        try:
            sound = content["sha256"] == self._sum(number, content["outcomes"])
        except (LookupError, TypeError, RecursionError):
            # a file of another form, or nested too deeply
            sound = False
        if not sound:
            raise damaged(path)
        outcomes = [[_outcome(value) for value in unit] for unit in content["outcomes"]]
        if [len(unit) for unit in outcomes] != list(shape):
            raise damaged(path)
        return outcomes

    def _sum(self, number: int, plain: Any) -> str:
        """Return the checksum of a task's outcomes in this study."""
        return hashlib.sha256(
            json.dumps([self._study, number, plain]).encode()
        ).hexdigest()

    def save(self, number: int, outcomes: Sequence[Sequence[Outcome]]) -> None:
        """Save the outcomes of a task; while verifying, compare them instead."""
        if self._checked:
            self._checked.left.pop(number, None)
            kept = self._kept(number, [len(unit) for unit in outcomes])
            if json.dumps(_plain(kept)) != json.dumps(_plain(outcomes)):
                self._checked.differing.append(number)
            return
        plain = json.loads(json.dumps(_plain(outcomes)))
        chunk = {"sha256": self._sum(number, plain), "outcomes": plain}
        self.write({f"chunks/{number:06}.json": json.dumps(chunk) + "\n"})

    def write(self, texts: Mapping[str, str]) -> None:
        """Write all of the files, or none; do nothing while verifying."""
        if not self._checked:
            # a path that is not UTF-8 has surrogates, which JSON escapes so
            write_files(
                {
                    self.path / name: text.encode(errors="backslashreplace")
                    for name, text in texts.items()
                }
            )


def kept_json(path: Path) -> Any:
    """Read a JSON file of a results directory; InputError if it cannot be read."""
    with faults_of(path):
        if is_there(path) and not path.is_file():  # a pipe has no end
            raise InputError("not a file")
        content = content_of(path)
    try:
        return json.loads(content.decode())
    except (ValueError, RecursionError):
        raise damaged(path) from None


def damaged(path: Path) -> InputError:
    """Return the error for a damaged or altered file of a results directory."""
    return InputError(f"{path} is damaged or altered; remove it")


def _check_no_links(path: Path) -> None:
    """Raise InputError for a results directory with links or special files."""
    with faults_of(path):
        foreign = [
            entry.path
            for folder in (path, path / "chunks", path / "data")
            if folder.is_dir()
            for entry in os.scandir(folder)
            if not (
                entry.is_file(follow_symlinks=False)
                or entry.is_dir(follow_symlinks=False)
            )
        ]
    for name in foreign:
        raise InputError(
            f"{name} is a link or not a file: a results directory must contain"
            " regular files"
        )


# files after an interrupted creation
_BEGUN = {
    "chunks",
    "data",
    "manifest.json",
    "manifest.json.part",
    "configuration.json.part",
}


def _versions() -> dict[str, str]:
    return {
        "Python": platform.python_version(),
        "cgrsp_simpy": f"{version('cgrsp_simpy')}, source {source_digest()}",
        **{name: version(name) for name in PACKAGES},
    }


@cache
def source_digest(package: Path = Path(__file__).parents[1]) -> str:
    """Return a digest of a package's files, except figures, plots, CLI and lectures."""
    files = sorted(path.relative_to(package) for path in package.rglob("*.py"))
    aside = ("cli", "plots", "lectures")
    run = [
        path
        for path in files
        if path.parts[0] not in aside and not path.stem.endswith("figures")
    ]
    return digest(
        b"".join(
            path.as_posix().encode() + (package / path).read_bytes() for path in run
        )
    )


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _plain(outcome: Any) -> Any:
    """Convert an outcome for JSON, which has neither NaN nor infinity."""
    if isinstance(outcome, float) and not math.isfinite(outcome):
        return {"float": str(outcome)}
    if isinstance(outcome, dict):
        return {name: _plain(value) for name, value in outcome.items()}
    return (
        [_plain(value) for value in outcome] if isinstance(outcome, list) else outcome
    )


def _outcome(kept: Any) -> Any:
    if isinstance(kept, dict):
        return (
            float(kept["float"])
            if [*kept] == ["float"]
            else {name: _outcome(value) for name, value in kept.items()}
        )
    return [_outcome(value) for value in kept] if isinstance(kept, list) else kept


def _difference(
    stored: Any, current: Any, name: str = ""
) -> tuple[str, str, str] | None:
    """Return the first field in which two values differ, with its values, or None."""
    if isinstance(stored, dict) and isinstance(current, dict):
        pairs = [
            (key, stored.get(key), current.get(key))
            for key in dict.fromkeys((*stored, *current))
        ]
        inner = (
            _difference(old, new, f"{name}.{key}".lstrip("."))
            for key, old, new in pairs
        )
        order = (
            None
            if list(stored) == list(current)
            else (name, _short(list(stored)), _short(list(current)))
        )
        return next((difference for difference in inner if difference), order)
    if (
        isinstance(stored, list)
        and isinstance(current, list)
        and len(stored) == len(current)
    ):
        inner = (
            _difference(old, new, f"{name}[{place}]")
            for place, (old, new) in enumerate(zip(stored, current))
        )
        return next((difference for difference in inner if difference), None)
    return None if stored == current else (name, _short(stored), _short(current))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= 60:
        return text
    return (
        f"a list of {len(value)}, {text[:30]}...{text[-15:]}"
        if isinstance(value, list)
        else f"{text[:60]}..."
    )


def open_store(
    out: str | Path | None,
    kind: str,
    policies: Mapping[str, Any],
    seeds: Sequence[int],
    **more: Any,
) -> Store | None:
    """Open a study's results directory, identified by all inputs of the study."""
    if out is None:
        return None
    identity = Identity()
    configuration = {"study": kind, **identity.of(more)}
    data = dict(identity.data)  # a user's own code may hold more, which is not kept
    configuration["policies"] = {
        name: identity.policy(policy) for name, policy in policies.items()
    }
    return Store(
        out, {**configuration, "code": dict(sorted(identity.code.items()))}, seeds, data
    )
