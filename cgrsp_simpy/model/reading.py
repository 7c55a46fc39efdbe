"""What the readers of logs share: timestamps, and how what is wrong with a file is told."""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from cgrsp_simpy.model.checks import InputError

__all__ = ["csv_faults", "listed", "note", "timestamp"]


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
    try:
        stamp = datetime.fromisoformat(text)
        return stamp.astimezone(UTC).replace(tzinfo=None) if stamp.tzinfo else stamp
    except (ValueError, OverflowError):
        raise ValueError(f"timestamp(={text!r}) must be of the form YYYY-MM-DD HH:MM:SS") from None


def listed(bad: list[str], most: int = 10) -> str:
    """What is wrong with the first bad rows, and the line numbers of all others."""
    others = ", ".join(fault.partition(":")[0].removeprefix("line ") for fault in bad[most:])
    return "; ".join(bad[:most]) + (
        f"; and {len(bad) - most} more, at lines {others}" if others else ""
    )


def note(log: logging.Logger, path: Path, strict: bool, what: str, remedy: str) -> None:
    """Log what is wrong with a file and what was done about it; being strict, refuse the file."""
    if strict:
        raise InputError(f"{what} (refused, being strict)")
    log.warning("%s: %s (%s)", path, what, remedy)
