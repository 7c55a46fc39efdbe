"""The text of a log, plain or gzipped, and its lines as cells."""

from __future__ import annotations

import codecs
import csv
import gzip
import logging
import re
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.model.files import Text, check_named

# the numbers of lines, and their cells, or what is wrong with them
Rows = Iterator[tuple[int, list[str] | str]]
log = logging.getLogger(__name__)
HEADER = re.compile(r";\s*([^:;]*?)\s*:\s*(\S.*)")  # a line of the header of an SWF file

# Old files are of any encoding: bytes that are not UTF-8 are taken for Latin-1, so that
# names stay apart.
codecs.register_error(
    "cgrsp_simpy.latin1",
    lambda error: (error.object[error.start : error.end].decode("latin-1"), error.end),  # type: ignore[attr-defined]
)


@contextmanager
def faults_of(path: Path) -> Iterator[None]:
    """Name the file in whatever goes wrong with it, as an InputError of one line."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: damaged gzip file ({error})") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """The text of a file; whether it is gzipped is seen from its content."""
    check_named(path)
    with path.open("rb") as raw:
        file = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw
        start = file.peek(1)
        if not start:
            raise InputError("the file is empty")
        if b"\0" in start or start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise InputError("not a text file in UTF-8")
        yield Text(cast(BinaryIO, file), encoding="utf-8-sig", errors="cgrsp_simpy.latin1")


def comma_rows(file: TextIO, header: dict[str, str]) -> Rows:  # noqa: ARG001, as of every format
    """Rows of a CSV file; a quoted cell may hold commas and line breaks."""
    table = csv.reader(file, strict=True)
    while True:
        line = table.line_num + 1
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            # cut off within quotes: nobody knows where the row should have ended
            if "end of data" in str(error):
                raise InputError(f"line {line}: not CSV ({error})") from None
            yield line, f"not CSV ({error})"
        else:
            if len(cells) > 1 or "".join(cells).strip():
                yield line, cells


def parted_by(names: list[str], wanted: Collection[str]) -> str:
    """What is wrong with the header of a table whose cells are parted by another sign than a comma,
    where that is in the one name that there is, or would give one that is wanted; else "".
    """
    for sign, told in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        parts = [part.strip() for part in ",".join(names).split(sign)]
        if {*parts} & {*wanted} or (len(names) == 1 and len(parts) > 1):
            return f"; its cells are parted by {told}, where commas are needed"
    return ""


def pipe_rows(file: TextIO, header: dict[str, str]) -> Rows:  # noqa: ARG001
    """Lines with a bar between the fields."""
    return _split(file, "|")


def tab_rows(file: TextIO, header: dict[str, str]) -> Rows:  # noqa: ARG001
    """Lines with a tab between the fields."""
    return _split(file, "\t")


def _split(file: TextIO, separator: str) -> Rows:
    return (
        (line, text.rstrip("\r\n").split(separator))
        for line, text in enumerate(file, 1)
        if text.strip()
    )


def swf_rows(file: TextIO, header: dict[str, str]) -> Rows:
    """Lines with white space between the fields; what the comments, which begin with a semicolon,
    tell goes into `header`.
    """
    for line, text in enumerate(file, 1):
        cells = text.split()
        if cells and cells[0][0] != ";":
            if line == 1:
                log.info("%s: no header: nothing is known of the machine", file.name)
            yield line, cells
        elif match := HEADER.match(text.strip()):
            header.setdefault(match[1], match[2])
