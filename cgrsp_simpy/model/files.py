"""Files that appear whole or not at all, and what of the files of others is read: none where a
text that is not the user's own names it, and none without end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from io import BufferedReader, RawIOBase, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

from cgrsp_simpy.model.checks import InputError

MOST_BYTES = 1 << 28  # of a file that is read, unpacked
MOST_LINES = 2_000_000  # of one, likewise
_LARGE = ContextVar("large", default=False)
_NAMING = ContextVar("naming", default=True)


@contextmanager
def large_files() -> Iterator[None]:
    """Within it, files of any size are read; else of at most MOST_BYTES, unpacked, and MOST_LINES
    lines.
    """
    token = _LARGE.set(True)
    try:
        yield
    finally:
        _LARGE.reset(token)


def check_size(size: int) -> None:
    """Refuse a file of more bytes than are read."""
    if size > MOST_BYTES and not _LARGE.get():
        _refuse_size(f"{MOST_BYTES:,} bytes, unpacked")


def _refuse_size(limit: str) -> None:
    raise InputError(
        f"more than {limit}, the limit; --large-files (in a script"
        " cgrsp_simpy.model.files.large_files) lifts it"
    )


class _Counted(RawIOBase):
    """The bytes of a file, up to the limit."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._count, self.name = file, 0, file.name

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._count = self._file.seek(offset, whence)
        return self._count

    def readinto(self, into: Any) -> int:
        number: int = self._file.readinto(into)  # type: ignore[attr-defined]
        self._count += number
        check_size(self._count)
        return number

    def close(self) -> None:
        self._file.close()
        super().close()


class Text(TextIOWrapper):
    """The text of a file that a user names, up to the limits of bytes and of lines.

    Raises InputError, as it is read, beyond them.
    """

    def __init__(self, file: BinaryIO, **how: Any) -> None:
        super().__init__(BufferedReader(_Counted(file)), newline="", **how)
        self._lines = 0

    def seek(self, cookie: int, whence: int = 0) -> int:
        """As of any file; lines count anew."""
        self._lines = 0
        return super().seek(cookie, whence)

    def __next__(self) -> str:  # type: ignore[override]  # as of TextIOWrapper
        self._lines += 1
        if self._lines > MOST_LINES and not _LARGE.get():
            super().__next__()  # unless the file ends here
            _refuse_size(f"{MOST_LINES:,} lines")
        return super().__next__()


def text_of(path: str | Path, encoding: str = "utf-8-sig") -> Text:
    """The text of a file as it is, up to the limits."""
    check_named(path)
    return Text(Path(path).open("rb"), encoding=encoding)


@contextmanager
def naming_nothing() -> Iterator[None]:
    """Within it, no text can name a file that is then read or imported."""
    token = _NAMING.set(False)
    try:
        yield
    finally:
        _NAMING.reset(token)


def check_named(path: str | Path) -> None:
    """Refuse a file that a text names where no text may."""
    if not _NAMING.get():
        raise InputError(f"it names a file, {str(path)!r}, which is opened only with --run-code")


def check_folder(path: Path) -> None:
    """Refuse a folder that nothing can be written into, before the work for it.

    Raises InputError for a file, and where folders on the way cannot be made.
    """
    try:
        there = next(each for each in (path, *path.parents) if each.exists())
    except OSError as error:  # a name that is too long
        raise InputError(f"{path}: {error.strerror or error}") from None
    if not there.is_dir():
        raise InputError(f"{path}: {there} is not a directory")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"{path}: nothing can be written into {there}")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file by way of `path`.part; folders on the way are made.

    Raises InputError, and leaves no part, if it cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and path.is_file():
            # the same is written twice at a time, and the other has just put the same bytes there
            return
        with suppress(OSError):
            part.unlink()
        raise InputError(f"{path}: {error.strerror or error}") from None
