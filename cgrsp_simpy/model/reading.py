"""What the readers of logs share: timestamps, and how what is wrong with a file is told."""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from cgrsp_simpy.model.checks import InputError


@contextmanager
def csv_faults(path: str | Path) -> Iterator[None]:
    """Tell whatever goes wrong with a CSV file as an InputError with its name."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path}: not a CSV file") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def timestamp(text: str) -> datetime:
    """A timestamp without zone, one with a zone in UTC; ValueError, of one line, if it is none."""
    return zoned(text)[0]


def zoned(text: str) -> tuple[datetime, bool]:
    """What `timestamp` gives, and whether the text has a zone."""
    try:
        stamp = datetime.fromisoformat(text)
        if stamp.tzinfo is None:
            return stamp, False
        return stamp.astimezone(UTC).replace(tzinfo=None), True
    except (ValueError, OverflowError):
        raise ValueError(f"timestamp(={text!r}) must be of the form YYYY-MM-DD HH:MM:SS") from None


class Zones:
    """Holds the times of a file to having a zone all, or none."""

    def __init__(self) -> None:
        self.first: dict[bool, int] = {}

    def see(self, line: int, has: bool) -> None:
        """A time in a line has a zone, or has none."""
        self.first[has] = min(line, self.first.get(has, line))

    def check(self) -> None:
        """Raise InputError, with the first line that differs, if some have one and others none."""
        if len(self.first) < 2:
            return
        (before, had), (line, has) = sorted((line, has) for has, line in self.first.items())
        told = {True: "with a zone", False: "without a zone"}
        raise InputError(
            f"line {line}: a time {told[has]}, where line {before} has one {told[had]}: all times"
            " of a file must have one, or none"
        )


def listed(bad: list[str], most: int = 10) -> str:
    """What is wrong with the first bad rows, how many more there are, and the first lines of these.

    most: rows of each kind.
    """
    more = len(bad) - most
    if more <= 0:
        return "; ".join(bad)
    lines = [fault.partition(":")[0].removeprefix("line ") for fault in bad[most : 2 * most]]
    others = f"{', '.join(lines)}{', ...' * (more > most)}"
    return f"{'; '.join(bad[:most])}; and {more} more, at line{'s' * (more > 1)} {others}"


def note(log: logging.Logger, path: Path, strict: bool, what: str, remedy: str) -> None:
    """Log what is wrong with a file and what was done about it; being strict, refuse the file."""
    if strict:
        raise InputError(f"{what} (refused, being strict)")
    log.warning("%s: %s (%s)", path, what, remedy)
