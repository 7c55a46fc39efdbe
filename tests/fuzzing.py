"""Commands in separate processes, each with limits, for tests that run very many of
them.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sys
import time
import warnings
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from cgrsp_simpy.cli import main, overview

WITHIN_S = 120
MEMORY = 4 * 2**30
FILE = 2**28
WATCHED = {"--show", "events", "step"}  # print before anything can go wrong


class Ended(NamedTuple):
    """How a command ended; status is minus the signal where one ended it."""

    status: int
    out: str
    err: str


@cache
def load():
    """Load what commands need, once and not in each process that is forked."""
    overview()
    for part in ("linalg", "ndimage", "optimize", "special"):
        import_module(f"scipy.{part}")


def carried_out(words: list[str], folder: Path, logs: Path) -> Ended:
    """Run a command in a folder, in a process that is forked from this one."""
    load()
    sys.stdout.flush()
    sys.stderr.flush()
    # of threads of pytest's, which a command does not wait for
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.setsid()
            os.chdir(folder)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            for number, name in ((1, "out"), (2, "err")):
                os.dup2(
                    os.open(logs / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number
                )
            sys.stdin, sys.stdout, sys.stderr = (
                os.fdopen(number, mode, encoding="utf-8", errors="surrogateescape")
                for number, mode in ((0, "r"), (1, "w"), (2, "w"))
            )
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
            sys.argv = ["cgrsp", *words]
            # it ends without what runs at a normal exit, and leaves semaphores to their
            # tracker
            os.environ["PYTHONWARNINGS"] = "ignore:resource_tracker"
            try:
                status = main(words)
            except SystemExit as left:
                status = left.code if isinstance(left.code, int) else 99
            except BaseException:
                import traceback

                traceback.print_exc()
                status = 98
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)
    status = _awaited(child)
    out, err = (
        (logs / name).read_text("utf-8", errors="surrogateescape")
        for name in ("out", "err")
    )
    return Ended(status, out, err)


def _awaited(child: int) -> int:
    """The status of a child, which is killed with all that it started if it takes too
    long.
    """
    until = time.monotonic() + WITHIN_S
    while time.monotonic() < until:
        number, status = os.waitpid(child, os.WNOHANG)
        if number:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL


def shown(content: object) -> str:
    """A content as text, its long runs of one sign made short."""
    return re.sub(r"(.{1,8}?)\1{20,}", r"\1...\1", repr(content))[:1500]


def faults(words: list[str], ended: Ended) -> list[str]:
    """Return the faults in how a command ended."""
    lines = ended.err.splitlines()
    message = lines[-1:] if ended.status == 2 else []
    notes = lines[: len(lines) - len(message)]
    results = []
    if ended.status not in (0, 1, 2):
        results.append(f"status {ended.status}")
    if "Traceback" in ended.err or "Warning" in ended.err:
        results.append("a traceback or a warning")
    if ended.status == 2 and not message:
        results.append("no line of error")
    if not all(line.startswith("cgrsp: ") for line in notes):
        results.append("an unexpected line")
    if ended.status == 2 and ended.out and not WATCHED & set(words):
        results.append("output in addition to an error")
    if ended.status in (0, 1) and not WATCHED & set(words) and _asks_json(words):
        results += [] if _is_json(ended.out) else ["no JSON"]
    return results


def _asks_json(words: list[str]) -> bool:
    return any(pair == ("--format", "json") for pair in pairwise(words))


def _is_json(text: str) -> bool:
    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True
