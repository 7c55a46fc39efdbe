"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from cgrsp_simpy.model.checks import InputError

__all__ = ["check_folder", "write_whole"]


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
