"""Rows of text files, plain or gzipped: cells with a delimiter, or JSON objects."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.base.files import Text, check_named, json_of

# line numbers, and their cells or faults
Rows = Iterator[tuple[int, list[str] | str]]
# a line of the header of an SWF file
HEADER = re.compile(r";\s*([^:;]*?)\s*:\s*(\S.*)")

# beginnings of files that are not read
UNREAD = {
    codecs.BOM_UTF16_LE: "in UTF-16: save it in UTF-8",
    codecs.BOM_UTF16_BE: "in UTF-16: save it in UTF-8",
    b"PK\x03\x04": "a zip archive or workbook: unpack it, or save it as CSV",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: unpack it, or use gzip",
    b"\xfd7zXZ\0": "compressed by xz: unpack it, or use gzip",
    b"BZh": "compressed by bzip2: unpack it, or use gzip",
}


def _latin1(error: UnicodeError) -> tuple[str, int]:
    fault = cast(UnicodeDecodeError, error)
    return fault.object[fault.start : fault.end].decode("latin-1"), fault.end


# Old files have any encoding: bytes that are not UTF-8 are decoded as Latin-1, so that
# names stay distinct.
codecs.register_error("cgrsp_simpy.latin1", _latin1)


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """Open a text file; whether it is gzipped is detected from its content."""
    check_named(path)
    with path.open("rb") as raw:
        file = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw
        start = file.peek(1)
        if not start:
            raise InputError("the file is empty")
        for sign, kind in UNREAD.items():
            if start.startswith(sign):
                raise InputError(f"not a text file in UTF-8, but {kind}")
        if b"\0" in start:
            raise InputError("not a text file in UTF-8")
        yield Text(
            cast(BinaryIO, file), encoding="utf-8-sig", errors="cgrsp_simpy.latin1"
        )


def comma_rows(file: TextIO, delimiter: str = ",") -> Rows:
    """Yield rows of a CSV file; quoted cells may contain delimiters and line breaks."""
    table = csv.reader(file, strict=True, delimiter=delimiter)
    while True:
        line = table.line_num + 1
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            # truncated within quotes: the end of the row is unknown
            if "end of data" in str(error):
                raise InputError(f"line {line}: not CSV ({error})") from None
            yield line, f"not CSV ({error})"
        else:
            if len(cells) > 1 or "".join(cells).strip():
                yield line, cells


def separated(line: str, option: str = "") -> str:
    """Describe the delimiter of a header line if it is not a comma, or return "".

    option: argument of the log readers that sets the delimiter.
    """
    if re.search(r"\w {2,}\w", line):
        return "; are its cells aligned by blanks? sacct -P separates them"
    signs = {*re.findall(r"[;|^~\t]+", re.sub(r'^\W+|\W+$|"', "", line))}
    sign = "tab" if signs == {"\t"} else "".join(signs)
    word = shlex.quote(f"log.{option}={sign}")
    hint = f" ({option}={sign!r} in Python, {word} on the command line)"
    question = f"; are its cells separated by {sign!r}, not by commas?"
    return f"{question}{hint * bool(option)}" if len(signs) == 1 else ""


def split_rows(file: TextIO, delimiter: str | None, header: dict[str, str]) -> Rows:
    """Yield lines split at a delimiter, or at white space if the delimiter is None.

    With white space, lines that begin with a semicolon are comments; their entries are
    added to `header`.
    """
    for line, text in enumerate(file, 1):
        if delimiter is None and text.lstrip()[:1] == ";":
            if match := HEADER.match(text.strip()):
                header.setdefault(match[1], match[2])
        elif text.strip():
            yield line, text.rstrip("\r\n").split(delimiter)


def json_rows(file: TextIO, flat: Callable[[Any], dict[str, Any]]) -> Rows:
    """Yield the names, then the cells, of JSON objects, one per line or in an array.

    flat: function that converts an object to strings and numbers by name.
    """
    text, rows = file.read(), list[tuple[int, dict[str, Any] | str]]()
    whole = text.lstrip()[:1] == "["
    for line, part in enumerate(json_of(text) if whole else text.splitlines(), 1):
        try:
            if whole or part.strip():
                rows.append((line, flat(part if whole else json.loads(part))))
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            rows.append((line, f"not an object of the format: {str(part)[:50]!r}"))
    objects = [row for _, row in rows if not isinstance(row, str)]
    names = list(dict.fromkeys(name for row in objects for name in row))
    yield 1, names
    for line, row in rows:
        yield (
            line,
            row
            if isinstance(row, str)
            else [
                value if isinstance(value, str) else json.dumps(value)
                for value in ("" if row.get(n) is None else row[n] for n in names)
            ],
        )


def name_of(path: Path) -> str:
    """Return a series' name from its file's name, without the extensions."""
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name
