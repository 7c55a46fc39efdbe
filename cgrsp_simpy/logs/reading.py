"""Reader of logs, by the same rules for all formats; see `read_log`."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from cgrsp_simpy.base.checks import InputError, check_one_of, require
from cgrsp_simpy.base.files import faults_of, listed, note, timestamp
from cgrsp_simpy.base.parameters import checked
from cgrsp_simpy.logs.fields import (
    TEXT,
    TIME,
    Array,
    Clock,
    Field,
    Format,
    Made,
    Raw,
    Rows,
    comma_rows,
    of_unix,
    opened,
    parted_by,
    seconds_between,
)
from cgrsp_simpy.logs.formats import FORMATS, format_of
from cgrsp_simpy.logs.log import COLUMNS, Fault, Log, Report, Tags

log = logging.getLogger(__name__)
ROWS = 1 << 10  # per chunk
NAME = re.compile(r"[\w .()/#%-]{0,60}")  # of a column
MOMENTS = ("submit_s", "start_s", "deadline_s")


@checked
def read_log(
    path: str | Path,
    format: str | Format | None = None,
    *,
    window: str | None = None,
    strict: bool = False,
    columns: Mapping[str, str] | None = None,
    where: tuple[str, str] | None = None,
) -> Log:
    """Read a log, plain or gzipped by its content, into a table.

    All formats follow the same rules. A row that does not match the format (wrong
    number of fields, text for a number, a number out of range) is bad. A row that is no
    job that can be run (no run time, no submit time, cancelled before it ran, ...) is
    left out and counted by reason. A job of 0 s ran for less than the log's clock
    resolution and is kept; a module whose jobs must take time leaves it out and counts
    it. Rows are sorted by submission. Time 0 is the log's for seconds, the first
    submission for timestamps or Unix times, and the beginning of a window. Timestamps
    with a zone are converted to UTC, others are kept; a file with both is refused.

    path: the file. format: a name of FORMATS, or a Format; None takes it from the
    file's name: .swf, .trace (philly), .json (wfformat), else csv. window: "FROM:TO",
    two dates, timestamps or numbers of seconds; jobs submitted from FROM on and before
    TO are read. strict: refuse bad rows and an unsorted log, which are otherwise left
    out, or sorted, with a logged note. columns: names of the file's columns by ours,
    such as {"submit": "created", "service": "seconds"}, in the units of COLUMNS. where:
    a column of the file and a text; rows with another text are not read. Raises
    InputError with the file's name and, if any, line, column, value and allowed values.
    """
    require(
        window is None or isinstance(window, str), "window", window, "a text FROM:TO"
    )
    require(isinstance(path, (str, PathLike)), "path", path, "that of a file")
    path = Path(path)
    if not isinstance(format, Format):
        name = format_of(path) if format is None else format
        check_one_of("trace format", name, FORMATS)
        format = FORMATS[name]
    fields = _mapped(format, columns or {})
    with faults_of(path):
        with opened(path) as file:
            if format.whole is not None:
                require(
                    window is None,
                    "window",
                    window,
                    f"left out: the format {format.name} tells no submissions",
                )
                numbers, tags, edges = format.whole(file)
                line = np.zeros(len(tags["job_id"]), dtype=np.int64)
                return Log(
                    path,
                    format.name,
                    numbers,
                    tags,
                    line,
                    Report(len(line)),
                    edges=edges,
                )
            found = _Found(Clock(), *_columns(file, format, fields))
            _take_all(found, format, where)
            if where is not None and not found.count:
                raise InputError(f"there is no row whose {where[0]} is {where[1]!r}")
        return _log(path, format, found, window, strict)


def _mapped(format: Format, columns: Mapping[str, str]) -> tuple[Field, ...]:
    """Return the fields of a format, some with other names in the file."""
    fields = format.fields
    require(
        isinstance(columns, Mapping),
        "columns",
        columns,
        "names of fields -> of columns",
    )
    for key, column in columns.items():
        names = [*dict.fromkeys(each.name for each in fields), *COLUMNS]
        short = {name.removesuffix("_s").removesuffix("_gb"): name for name in names}
        name = key if key in names else short.get(key, key)
        check_one_of(f"column of the format {format.name}", name, names)
        require(
            isinstance(column, str),
            f"column for {key}",
            column,
            "the name of a column of the file",
        )
        kind = TIME if name in MOMENTS else "number"
        own = next(
            (each for each in fields if each.name == name), Field(name, (), kind)
        )
        fields = (
            *(each for each in fields if each.name != name),
            replace(own, of=(column,), needed=True),
        )
    return fields


# ---- rows to columns ----


@dataclass
class _Found:
    """Data read so far.

    taken: by our names, the field, its name in the file and its position in a row.
    others: positions of all other columns.
    """

    clock: Clock
    rows: Rows
    header: dict[str, str]
    width: int
    taken: dict[str, tuple[Field, str, int]]
    others: dict[str, int]
    count: int = 0
    lines: list[int] = field(default_factory=list)
    bad: list[Fault] = field(default_factory=list)
    left_out: dict[str, list[int]] = field(default_factory=dict)
    numbers: list[Mapping[str, Array]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    # each distinct text is stored once
    seen: dict[str, str] = field(default_factory=dict)


def _columns(
    file: TextIO, format: Format, fields: Sequence[Field]
) -> tuple[
    Rows, dict[str, str], int, dict[str, tuple[Field, str, int]], dict[str, int]
]:
    """Return the rows below the header line, and the position of each field."""
    header: dict[str, str] = {}
    rows = format.rows(file, header)
    where, names = f"the format {format.name}", list(format.names)
    if not names:
        line, cells = next(rows, (0, None))
        if cells is None:
            raise InputError("the file is empty")
        if isinstance(cells, str):
            raise InputError(f"line {line}: {cells}")
        where, names = f"line {line}", [name.strip() for name in cells]
    _check_names(where, format, fields, names)
    # its first row shows whether the file has the format
    if format.names and (first := next(rows, None)):
        line, cells = first
        if isinstance(cells, str) or len(cells) != len(names):
            fault = (
                cells
                if isinstance(cells, str)
                else f"{len(cells)} fields, not {len(names)}"
            )
            raise InputError(
                f"line {line}: not a row of the format {format.name}, {format.about}"
                f" ({fault})"
            )
        rows = chain([first], rows)
    place: dict[str, int] = {}
    for index, name in enumerate(names):
        place.setdefault(name, index)  # the first of two with one name
    taken: dict[str, tuple[Field, str, int]] = {}
    for each in fields:
        for name in each.of:
            if name in place:
                taken.setdefault(each.name, (each, name, place[name]))
    used = {name for _, name, _ in taken.values()}
    others = {name: index for name, index in place.items() if name and name not in used}
    return rows, header, len(names), taken, others


def _check_names(
    where: str, format: Format, fields: Sequence[Field], names: list[str]
) -> None:
    """Check that the required columns are present."""
    for choices in [
        *_needed(fields),
        *([{format.skip[0]: None}] if format.skip else []),
    ]:
        if not set(choices) & set(names):
            told = (
                f" (columns: {', '.join(names)[:200]!r})" if _are_names(names) else ""
            )
            hint = _hint(format, names)
            if format.rows is comma_rows:
                hint = hint or parted_by(names, choices)
            raise InputError(f"{where}: no column {' or '.join(choices)}{told}{hint}")


def _are_names(cells: Sequence[str]) -> bool:
    """Whether a line may be a table's header; other content is not shown."""
    return len(cells) > 1 and all(NAME.fullmatch(cell) for cell in cells)


def _needed(fields: Sequence[Field]) -> list[dict[str, None]]:
    """Return, for each required field, the names that it may have."""
    return [
        dict.fromkeys(
            name for other in fields if other.name == each.name for name in other.of
        )
        for each in fields
        if each.needed
    ]


def _hint(format: Format, names: list[str]) -> str:
    """Name the formats with these columns."""
    fit = [
        each.name
        for each in FORMATS.values()
        if each is not format
        and not each.names
        and each.fields
        and all(set(some) & set(names) for some in _needed(each.fields))
    ]
    return f"; they are those of the format {' or '.join(fit)}" if fit else ""


def _take_all(found: _Found, format: Format, where: tuple[str, str] | None) -> None:
    """Read the rows in chunks."""
    skip = (_place(found, format.skip[0]), format.skip[1]) if format.skip else None
    group = _place(found, format.group) if format.group else None
    only = (_place(found, where[0]), where[1]) if where else None
    rows = iter(found.rows)
    while part := list(islice(rows, ROWS)):
        good: list[tuple[int, list[str]]] = []
        for line, cells in part:
            if (
                isinstance(cells, list)
                and only is not None
                and _cell(cells, only[0]) != only[1]
            ):
                continue
            found.count += 1
            if isinstance(cells, str):
                found.bad.append(Fault(line, cells))
            elif len(cells) != found.width:
                fault = f"{len(cells)} fields, not {found.width}"
                found.bad.append(
                    Fault(line, fault, "" if group is None else _cell(cells, group))
                )
            elif skip is not None and (reason := skip[1](cells[skip[0]])):
                found.left_out.setdefault(reason, []).append(line)
            else:
                good.append((line, cells))
        if good:
            _take(
                found,
                format,
                [line for line, _ in good],
                [cells for _, cells in good],
                group,
            )


def _cell(cells: list[str], place: int) -> str:
    """Return a cell; "" if it is the last or missing, since a row may be truncated."""
    return cells[place] if len(cells) > place + 1 else ""


def _place(found: _Found, column: str) -> int:
    """Return the position of a column in a row."""
    places = {name: place for _, name, place in found.taken.values()} | found.others
    check_one_of("column", column, places)
    return places[column]


def _take(
    found: _Found,
    format: Format,
    lines: list[int],
    rows: list[list[str]],
    group: int | None,
) -> None:
    """Add the usable rows of a chunk."""
    cells = list(zip(*rows))
    made, faults = _made(found, format, lines, cells)
    found.clock.zones.check()
    found.bad += [
        Fault(lines[row], what, rows[row][group] if group is not None else "")
        for row, what in sorted(faults.items())
    ]
    kept = np.ones(len(rows), dtype=bool)
    kept[list(faults)] = False
    for reason, out in (*made.left_out, *_untimed(made.columns)):
        for row in np.flatnonzero(out & kept).tolist():
            found.left_out.setdefault(reason, []).append(lines[row])
        kept &= ~out
    rest = np.flatnonzero(kept).tolist()
    if not rest:
        return
    found.lines += [lines[row] for row in rest]
    found.numbers.append({name: values[kept] for name, values in made.columns.items()})
    texts = {
        name: place
        for name, (each, _, place) in found.taken.items()
        if each.kind == TEXT
    } | found.others
    for name, place in texts.items():
        some = (
            "" if cells[place][row] == format.none else cells[place][row]
            for row in rest
        )
        found.texts.setdefault(name, []).extend(
            found.seen.setdefault(text, text) for text in some
        )


def _made(
    found: _Found, format: Format, lines: Sequence[int], cells: Sequence[Sequence[str]]
) -> tuple[Made, dict[int, str]]:
    """Compute the columns of a log from cells, and the faults of bad rows."""
    count = len(cells[0])
    faults: dict[int, str] = {}
    numbers: dict[str, Array] = {}
    texts: dict[str, Sequence[str]] = {
        each.name: [""] * count for each in format.fields if each.kind == TEXT
    }
    for name, (each, column, place) in found.taken.items():
        if each.kind == TEXT:
            texts[name] = cells[place]
            continue
        if each.kind == TIME:
            numbers[name], wrong = found.clock.times(each, column, cells[place], lines)
        else:
            numbers[name], wrong = each.numbers(column, cells[place])
        faults = {**wrong, **faults}
    made = format.made(Raw(numbers, texts, count))
    for mask, name, allowed in made.bad:
        for row in np.flatnonzero(mask).tolist():
            _, column, place = found.taken[name]
            faults.setdefault(
                row, f"{column}(={cells[place][row][:50]!r}) must be {allowed}"
            )
    return made, faults


def _untimed(columns: Mapping[str, Array]) -> Iterable[tuple[str, Array]]:
    """Yield rows without a run time or a submit time, if the format has them."""
    reasons = {"service_s": "no run time", "submit_s": "no submit time"}
    return [
        (reason, np.isnan(columns[name]))
        for name, reason in reasons.items()
        if name in columns
    ]


# ---- columns to the log ----


def _log(
    path: Path, format: Format, found: _Found, window: str | None, strict: bool
) -> Log:
    """Report problems, sort the jobs and put them on one time axis."""
    report = _report(path, found, strict)
    columns = {
        name: np.concatenate([part[name] for part in found.numbers])
        for name in found.numbers[0]
    }
    found.numbers.clear()
    line = np.array(found.lines, dtype=np.int64)
    tags = _tags(found, path, format)
    submit = columns.get("submit_s")
    if submit is None:
        require(
            window is None,
            "window",
            window,
            f"left out: the format {format.name} tells no submissions",
        )
        return Log(path, format.name, columns, tags, line, report, found.header)
    moments = {
        name: of_unix(columns[name], submit) for name in MOMENTS if name in columns
    }
    submit = moments["submit_s"]
    order = np.argsort(submit, kind="stable")
    late = np.flatnonzero(submit[1:] < submit[:-1])
    if len(late):
        told = f"submissions out of order, first at line {line[late[0] + 1]}"
        note(log, path, strict, told, "sorted")
    zero, end = _bounds(submit[order], window)
    inside = (submit[order] >= zero) & (
        submit[order] < end if end is not None else True
    )
    kept = order[inside]
    if not len(kept):
        raise InputError(f"no usable job in the window {window}")
    columns |= {name: seconds_between(zero, values) for name, values in moments.items()}
    columns = {name: values[kept] for name, values in columns.items()}
    start = zero.item() if submit.dtype.kind == "M" else None
    if start is None and format.start and zero == 0:
        start = format.start(found.header)
    return Log(
        path,
        format.name,
        columns,
        tags.chosen(kept),
        line[kept],
        report,
        found.header,
        start,
    )


def _report(path: Path, found: _Found, strict: bool) -> Report:
    """Summarise; raise InputError if no row is left, or for bad ones if strict."""
    bad = tuple(sorted(found.bad))
    faults = [f"line {each.line}: {each.what}" for each in bad]
    left_out = {reason: tuple(lines) for reason, lines in found.left_out.items()}
    report = Report(found.count, bad, left_out)
    if not found.lines and not (bad and strict):
        counted = f"bad rows: {len(bad)}; left out: {str(report) or 'none'}"
        raise InputError(
            f"no usable job ({counted}){': ' if bad else ''}{'; '.join(faults[:3])}"
        )
    if bad:
        told = f"{len(bad)} bad row{'s' * (len(bad) > 1)}: {listed(faults)}"
        note(log, path, strict, told, "left out")
    return report


def _tags(found: _Found, path: Path, format: Format) -> Tags:
    """Return all texts, job_id first and the line number last."""
    lines = list(map(str, found.lines))
    ids = found.texts.pop("job_id", [])
    ids = ids if any(ids) else lines
    # within groups of rows, ids may repeat
    groups = found.texts.get(format.group, ids)
    twice = [
        text for (text, _), number in Counter(zip(ids, groups)).items() if number > 1
    ]
    if twice:
        log.info(
            "%s: job ids that occur more than once: %d, such as %r; line numbers"
            " distinguish them",
            path,
            len(twice),
            twice[0][:50],
        )
    # do not copy a large log
    others = {name: tuple(found.texts.pop(name)) for name in list(found.texts)}
    return Tags({"job_id": ids, **others, "line": lines})


def _bounds(submit: Array, window: str | None) -> tuple[Any, Any]:
    """Return time 0, the beginning of a window, and the window's end."""
    stamped = submit.dtype.kind == "M"
    if window is None:
        return (submit[0] if stamped else 0.0), None
    # timestamps contain colons, too
    for place in (i for i, char in enumerate(window) if char == ":"):
        try:
            start = _moment(window[:place], stamped)
            stop = _moment(window[place + 1 :], stamped)
        except ValueError:
            continue
        if start < stop:
            return start, stop
    kind = "two dates or timestamps" if stamped else "two numbers of seconds"
    raise InputError(f"window(={window!r}) must be FROM:TO, {kind}, FROM before TO")


def _moment(text: str, stamped: bool) -> Any:
    if stamped:
        return np.datetime64(timestamp(text), "us")
    seconds = float(text)
    require(0 <= seconds < np.inf, "window", text, "a number of seconds >= 0")
    return seconds
