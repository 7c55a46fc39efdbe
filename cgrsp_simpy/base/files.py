"""Atomic writing, size limits, and reading of text, CSV and TOML with clear errors.

A file named in text that the user did not write is not read.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import logging
import os
import re
import shlex
import tomllib
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import fields
from datetime import UTC, datetime
from inspect import Parameter, signature
from io import BufferedReader, RawIOBase, TextIOWrapper
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeVar, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cgrsp_simpy.base.checks import (
    InputError,
    check_one_of,
    python_number,
    require,
    shown,
)

MOST_BYTES = 1 << 28  # maximum size of an input file, unpacked
MOST_LINES = 2_000_000  # maximum number of lines of an input file
TOO_LARGE = "not JSON (nested too deeply, or a number with thousands of digits)"
_LARGE = ContextVar("large", default=False)
_NAMING = ContextVar("naming", default=True)
BARE = re.compile("[A-Za-z0-9_-]+")  # a key of TOML that needs no quotes
HALF = re.compile("[\ud800-\udfff]")  # UTF-16 surrogates, which are not characters
READING = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors of Python's functions for a text, or a part of an object, of another form."""
T = TypeVar("T")


@contextmanager
def within(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set a context variable to a value within a with block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def large_files() -> AbstractContextManager[None]:
    """Allow files of any size; otherwise MOST_BYTES (unpacked) and MOST_LINES apply."""
    return within(_LARGE, True)


def check_size(size: int) -> None:
    """Raise InputError for a file with too many bytes."""
    if size > MOST_BYTES and not _LARGE.get():
        _refuse_size(f"{MOST_BYTES:,} bytes, unpacked")


def check_lines(number: int) -> None:
    """Raise InputError for too many lines of a file, or entries of its array."""
    if number > MOST_LINES and not _LARGE.get():
        _refuse_size(f"{MOST_LINES:,} lines or entries")


def _refuse_size(limit: str) -> None:
    raise InputError(
        f"more than {limit}, the limit; to read it, use --large-files (in a"
        " script cgrsp_simpy.base.files.large_files)"
    )


class _Counted(RawIOBase):
    """Raw bytes of a file; InputError beyond the size limit."""

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
    """Text of a file that a user names; InputError beyond the size limits."""

    def __init__(self, file: BinaryIO, **how: Any) -> None:
        super().__init__(BufferedReader(_Counted(file)), newline="", **how)
        self._lines = 0

    def seek(self, cookie: int, whence: int = 0) -> int:
        self._lines = 0
        return super().seek(cookie, whence)

    def __next__(self) -> str:  # type: ignore[override]  # as in TextIOWrapper
        line = super().__next__()
        self._lines += 1
        check_lines(self._lines)
        return line


def naming_nothing() -> AbstractContextManager[None]:
    """Forbid, within a with block, reading or importing files named in a text."""
    return within(_NAMING, False)


def check_named(path: str | Path) -> None:
    """Raise InputError if files named in texts are forbidden, or a name is invalid."""
    _check_possible("name of a file", path)
    if not _NAMING.get():
        raise InputError(
            f"it refers to a file, {shown(str(path))}, which is opened only with"
            " --run-code"
        )


def _check_possible(what: str, path: str | os.PathLike[str]) -> None:
    """Raise InputError for a name that no file can have."""
    try:
        possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        possible = False
    require(possible, what, str(path), "a valid file name")


def is_there(path: Path) -> bool:
    """Return whether a file or folder exists; OSError for an invalid name."""
    with suppress(FileNotFoundError, NotADirectoryError):
        path.stat()
        return True
    return False


def output_path(what: str, path: str | os.PathLike[str]) -> Path:
    """Return the path of a file or folder to be written; x/../y is y.

    Raises InputError for an empty path.
    """
    require(str(path) != "", what, path, "a path, not empty (. is the current folder)")
    _check_possible(what, path)
    return Path(os.path.realpath(path)) if ".." in Path(path).parts else Path(path)


def check_folder(path: Path) -> None:
    """Raise InputError if nothing can be written into a folder. This includes the path
    of a file, and parent folders that cannot be created.
    """
    path = output_path("folder", path)
    _check_parents(path, (path, *path.parents))


def check_file(path: Path) -> None:
    """Raise InputError for a path to which no file can be written."""
    path = output_path("file", path)
    _check_parents(path, path.parents)
    is_file = bool(path.name) and not path.is_dir()
    require(is_file, "file", str(path), "the name of a file, not of a folder")


def _check_parents(path: Path, folders: Iterable[Path]) -> None:
    """Raise InputError unless the first of the folders that exists is writable."""
    try:
        is_there(path)  # OSError for a name that is too long
        # lexists: a link to nothing is there, but no folder can be created at it
        there = next(filter(os.path.lexists, folders), path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    if not there.is_dir():
        raise InputError(f"{path}: {there} is not a directory")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"{path}: the folder {there} is not writable")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file as `write_files` does."""
    write_files({path: content})


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Write all of the files, or none; create parent folders.

    Each file is renamed from `path`.part. If one cannot be written, raises InputError
    and removes the .part files and the created folders.
    """
    paths = {output_path("file", path): content for path, content in contents.items()}
    created = list[Path]()
    parts = dict[Path, Path]()
    try:
        for path, content in paths.items():
            check_file(path)
            for folder in reversed(path.parents):
                if not folder.exists():
                    folder.mkdir(exist_ok=True)
                    created.append(folder)
            parts[path] = path.with_name(f"{path.name}.part")
            with parts[path].open("wb") as file:
                created.append(parts[path])
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for path, part in parts.items():
            try:
                part.replace(path)
            except FileNotFoundError:
                # another process wrote the same file at the same time
                if not path.is_file():
                    raise
    except BaseException as error:
        for created_path in reversed(created):
            with suppress(OSError):
                created_path.rmdir() if created_path.is_dir() else created_path.unlink()
        if isinstance(error, OSError):
            raise InputError(f"{path}: {error.strerror or error}") from None
        raise


@contextmanager
def faults_of(path: str | Path) -> Iterator[None]:
    """Convert errors while reading a file to a one-line InputError with its name."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"{path}: damaged gzip file") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path}: not a CSV file") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


@contextmanager
def faults_in(line: int, content: object, form: str) -> Iterator[None]:
    """Convert errors while reading a line to an InputError with its number.

    content: of the line. form: what it must be, for messages.
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"line {line}: {error}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"line {line}: not JSON ({error.msg})") from None
    except READING:
        raise InputError(f"line {line}: {shown(content)} must be {form}") from None


def csv_rows(
    path: str | Path, columns: Sequence[str], also: Mapping[str, str] | None = None
) -> list[tuple[int, dict[str, str]]]:
    """Return (line number, row) pairs of a CSV file that must have certain columns.

    also: alternative column name -> its name here. Raises InputError also for a column
    that occurs twice, and for a row with more cells than columns.
    """
    with opened(Path(path)) as file:
        table = csv.DictReader(file)
        header = [(also or {}).get(name, name) for name in table.fieldnames or ()]
        require(
            not {*columns}.difference(header),
            "columns",
            ",".join(header),
            f"a list that includes {','.join(columns)}",
        )
        check_different(header)
        table.fieldnames = header
        rows = [(table.line_num, row) for row in table]
    for line, row in rows:
        if extra := row.get(None):
            raise InputError(
                f"line {line}: {len(header) + len(extra)} cells, not {len(header)}"
            )
    return rows


def check_different(header: Sequence[str]) -> None:
    """Raise InputError if two columns of a file have the same name."""
    for name, times in Counter(header).items():
        allowed = f"different, but {shown(name)} occurs twice"
        require(times == 1, "columns", ",".join(header), allowed)


def number_or_text(text: str) -> int | float | str:
    """Convert a string to an int or a float if possible; otherwise return it."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def timestamp(text: str) -> datetime:
    """Parse a timestamp, converted to UTC if it has a zone; InputError if invalid."""
    return zoned(text)[0]


def zoned(text: str) -> tuple[datetime, bool]:
    """Return the same timestamp, and whether the text has a zone."""
    try:
        stamp = datetime.fromisoformat(text)
        if stamp.tzinfo is None:
            return stamp, False
        return stamp.astimezone(UTC).replace(tzinfo=None), True
    except (ValueError, OverflowError):
        raise InputError(
            f"timestamp(={shown(text)}) must be of the form YYYY-MM-DD HH:MM:SS"
        ) from None


def in_zone(text: str, zone: ZoneInfo) -> tuple[datetime, bool]:
    """Return a timestamp in UTC, and whether its local time is unambiguous.

    zone: assumed if the text has none; the text may end in the name of a zone. If a
    clock change makes two times possible, the earlier one is returned. Raises
    InputError if the text is not a timestamp.
    """
    time, _, name = text.rpartition(" ")
    named = zone_of(name) if name[:1].isalpha() else None
    stamp, has = zoned(time if named else text)
    if has:
        return stamp, True
    local = stamp.replace(tzinfo=named or zone)
    certain = local.utcoffset() == local.replace(fold=1).utcoffset()
    return zoned(local.isoformat())[0], certain


def zone_of(name: str) -> ZoneInfo | None:
    """Return the time zone with a name such as Europe/Berlin, or None."""
    with suppress(ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo(name)
    return None


def json_of(text: str, **how: Any) -> Any:
    """Parse JSON text; a one-line InputError if it is invalid."""
    try:
        return json.loads(text, **how)
    except InputError:  # raised by a parser in `how`
        raise
    except json.JSONDecodeError as error:
        raise InputError(
            f"line {error.lineno}, column {error.colno}: not JSON ({error.msg})"
        ) from None
    except (RecursionError, ValueError):
        raise InputError(TOO_LARGE) from None


class Zones:
    """Check that either all times in a file have a zone or none has."""

    def __init__(self) -> None:
        self.first: dict[bool, int] = {}

    def see(self, line: int, has: bool) -> None:
        """Record whether the time in a given line has a zone."""
        self.first[has] = min(line, self.first.get(has, line))

    def check(self) -> None:
        """Raise InputError, with the first different line, if only some have a zone."""
        if len(self.first) < 2:
            return
        (before, had), (line, has) = sorted(
            (line, has) for has, line in self.first.items()
        )
        form = {True: "with a zone", False: "without a zone"}
        raise InputError(
            f"line {line}: a time {form[has]}, where line {before} has one {form[had]}:"
            " all times of a file must have one, or none"
        )


def listed(bad: list[str], most: int = 10) -> str:
    """Format the first faults, and the number and lines of the others."""
    more = len(bad) - most
    if more <= 0:
        return "; ".join(bad)
    lines = [
        fault.partition(":")[0].removeprefix("line ") for fault in bad[most : 2 * most]
    ]
    others = f"{', '.join(lines)}{', ...' * (more > most)}"
    return (
        f"{'; '.join(bad[:most])}; and {more} more, at line{'s' * (more > 1)} {others}"
    )


def note(log: logging.Logger, path: Path, strict: bool, what: str, remedy: str) -> None:
    """Log a fault of a file and how it is handled; InputError if strict."""
    if strict:
        raise InputError(f"{what} (rejected in strict mode)")
    log.warning("%s: %s (%s)", path, what, remedy)


def content_of(path: Path) -> bytes:
    """Return the content of a file; InputError if it is too large.

    The limit also holds for a device, whose size is unknown.
    """
    with path.open("rb") as file:
        content = file.read(None if _LARGE.get() else MOST_BYTES + 1)
    check_size(len(content))
    return content


def read_toml(path: Path) -> dict[str, Any]:
    """Read the tables of a TOML file; InputError if invalid, OSError if unreadable."""
    check_named(path)
    content = content_of(path)
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML ({error})") from None
    except UnicodeDecodeError:
        raise InputError("not TOML (not text in UTF-8)") from None
    except RecursionError:
        raise InputError("not TOML (nested too deeply)") from None
    except ValueError:  # Python reads no whole number of more than 4,300 digits
        raise InputError("not TOML (a number with thousands of digits)") from None


def table_of(instance: Any) -> dict[str, Any]:
    """Return the arguments from which a dataclass instance can be created again."""
    return {
        item.name: getattr(instance, item.name)
        for item in fields(instance)
        if item.init
    }


def toml_text(tables: dict[str, Any], path: str = "") -> str:
    """Return tables as TOML text: plain values first, then nested tables."""
    lines, below = [], []
    for key, value in tables.items():
        key = key if BARE.fullmatch(key) else _json(key)
        name = f"{path}{key}"
        if isinstance(value, dict):
            below.append(f"\n[{name}]\n" + toml_text(value, f"{name}."))
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            below += [
                f"\n[[{name}]]\n" + toml_text(entry, f"{name}.") for entry in value
            ]
        else:
            lines.append(f"{key} = {_json(value)}\n")
    return "".join(lines + below)


def _json(value: Any) -> str:
    if isinstance(value, float) and not isfinite(value):
        return str(float(value))  # as in TOML, which JSON has no word for
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=python_number)
    if HALF.search(text):
        raise InputError(
            f"{value!r} cannot be written: it contains an unpaired surrogate character"
        )
    return text.replace("\x7f", "\\u007f")


def check_keys(where: str, table: Any, allowed: Iterable[str]) -> None:
    """Raise InputError for an unknown key, with the most similar allowed key."""
    for key in mapping(where, table):
        check_one_of(f"key in {where}", key, allowed)


def mapping(where: str, table: Any) -> dict[str, Any]:
    """Return a table; InputError for anything else."""
    require(isinstance(table, dict), where, table, "a table")
    return cast(dict[str, Any], table)


def entries(table: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return a key's list of tables; an empty list if the key is missing."""
    tables = table.get(key, [])
    require(isinstance(tables, list), f"[[{key}]]", tables, "a list of tables")
    return list(tables)


FILE = "the file"  # in messages, the outermost table


def make(cls: type[T], table: Any, where: str) -> T:
    """Create an object from a table of arguments; errors name table, key and value."""
    parameters = signature(cls).parameters
    check_keys(where, table, parameters)
    missing = [
        name
        for name, item in parameters.items()
        if item.default is Parameter.empty and name not in table
    ]
    if missing:
        raise InputError(f"{where} lacks {', '.join(missing)}")
    try:
        return cls(**table)
    except InputError as error:
        if where == FILE:  # which is named before the message
            raise
        raise InputError(f"{where}: {error}") from None
    except (TypeError, ValueError):
        raise InputError(
            f"{where}(={shown(table)}) has a value of the wrong type"
        ) from None


# ---- rows of text files, plain or gzipped ----

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
    parts = json_of(text) if whole else text.splitlines()
    check_lines(len(parts))
    for line, part in enumerate(parts, 1):
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
