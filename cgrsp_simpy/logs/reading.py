"""Reader of logs, with the same rules for all formats; see `read_log`."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from cgrsp_simpy.base.checks import InputError, check_one_of, require, shown
from cgrsp_simpy.base.files import (
    Rows,
    faults_of,
    listed,
    note,
    opened,
    separated,
    zone_of,
)
from cgrsp_simpy.base.parameters import checked
from cgrsp_simpy.base.table import many
from cgrsp_simpy.logs.formats import FORMATS, format_of
from cgrsp_simpy.logs.log import (
    COLUMNS,
    TEXT,
    TIME,
    Array,
    Clock,
    Fault,
    Field,
    Format,
    Log,
    Parsed,
    Raw,
    Report,
    Tags,
    of_unix,
    seconds_between,
)

log = logging.getLogger(__name__)
ROWS = 1 << 10  # per chunk
SIGNS = {"tab": "\t", "\\t": "\t"}  # words for delimiters
HEAD = 1 << 16  # characters by which a format is recognised
CLOCK_S = 1.0  # resolution of the clocks of logs
NAME = re.compile(r"[\w .()/#%-]{0,60}")  # name of a column
UNTIMED = {"service_s": "no run time", "submit_s": "no submit time"}
MOMENTS = ("submit_s", "ready_s", "start_s", "end_s", "deadline_s")
SUMMED = ("gpus", "cores", "memory_gb", "nodes")  # over the parts of a job
MOST_YEARS = 50  # longest log
YEAR_S = 365.25 * 86400
DATE = len("2026-03-02")  # most characters of a date without a time of day
DAYS = 36526, 73051  # Excel's day numbers of the years 2000 to 2099
# a number with a decimal comma, and points between thousands
COMMA = re.compile(r"\s*[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?\s*")


@checked
def read_log(
    path: str | Path,
    format: str | Format | None = None,
    *,
    window: str | None = None,
    where: tuple[str, str] | None = None,
    strict: bool = False,
    columns: Mapping[str, str] | None = None,
    tz: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    header: str | None = None,
) -> Log:
    """Read a log, plain or gzipped (detected by content), into a table.

    All formats follow the same rules. A row that does not match the format (wrong
    number of fields, no number, or a number out of range) is bad. A row that is not a
    runnable job (no run time, no submit time, cancelled before it ran, ...) is left out
    and counted by reason. A job of 0 s ran for less than the resolution of the log's
    clock. It is kept; modules whose jobs need a positive run time leave it out and
    count it. A job waits from its ready time, the latest of its submission, its
    eligibility (Slurm's Eligible) and the end of the job that it depends on plus the
    think time, but not later than its recorded start. Rows are sorted by this time.
    Time 0 is that of the log if times are in seconds, the first submission for
    timestamps or Unix times, and the start of a window if there is one. Timestamps with
    a zone are converted to UTC, others are kept; a file with both raises an error.

    path: the file. format: a name of FORMATS, or a Format; None: detected from the
    content, see `sniff`. window: "FROM:TO", two dates, timestamps or numbers of
    seconds; jobs submitted from FROM on and before TO are read. where: a column of the
    file and a string; rows with any other value are not read. strict: raise an error
    for bad rows or an unsorted log, which are otherwise left out, or sorted, with a
    logged message. columns: our name -> name of the column in the file, such as
    {"submit": "created", "service": "seconds"}, in the units of COLUMNS. tz: time zone
    of the log's clock, such as "Europe/Berlin", for timestamps without a zone and for
    the calendar time at time 0. delimiter: delimiter of cells, if not the format's;
    "tab" is allowed. decimal: decimal sign; with "," points may separate thousands.
    header: column names, for a file without a header line, separated by commas, spaces
    or + as in Slurm's --format. Raises InputError with the file's name and, if known,
    line, column, value and allowed values.
    """
    require(
        window is None or isinstance(window, str), "window", window, "a string FROM:TO"
    )
    require(isinstance(path, (str, PathLike)), "path", path, "the path of a file")
    require(decimal in (".", ","), "decimal", decimal, ". or ,")
    require(
        isinstance(columns or {}, Mapping),
        "columns",
        columns,
        "a mapping from names of fields to names of columns",
    )
    path, zone = Path(path), None if tz is None else zone_of(tz)
    require(
        tz is None or zone is not None, "tz", tz, "a time zone such as Europe/Berlin"
    )
    if not isinstance(format, Format | None):
        check_one_of("trace format", format, FORMATS)
        format = FORMATS[format]
    # Slurm's --format may give widths: JobID%20
    names = re.findall(r"([^,+\s%]+)[^,+\s]*", header or "")
    with faults_of(path):
        with opened(path) as file:
            head = file.read(HEAD)
            file.seek(0)
            format = format or (
                FORMATS[format_of(path)] if columns else sniff(head, path, names)
            )
            if format.whole is None:
                how = SIGNS.get(delimiter or "", delimiter), names
                table = _columns(
                    file, head, format, _mapped(format, columns or {}), *how
                )
                content = _Content(Clock(zone), decimal, *table)
                _take_all(content, format, where)
                read = _log(path, format, content, strict)
            else:
                read = _whole_log(path, format.name, format.whole(file))
        if "submit_s" in read:
            return _on_one_axis(read, content.clock, format, window, strict)
        require(
            window is None,
            "window",
            window,
            f"omitted: the format {format.name} has no submission times",
        )
        return read


def _mapped(format: Format, columns: Mapping[str, str]) -> tuple[Field, ...]:
    """Return the fields of a format, some with different names in the file."""
    fields = format.fields
    for key, column in columns.items():
        names = [*dict.fromkeys(item.name for item in fields), *COLUMNS]
        short = {name.removesuffix("_s").removesuffix("_gb"): name for name in names}
        name = key if key in names else short.get(key, key)
        check_one_of(f"column of the format {format.name}", name, names)
        require(
            isinstance(column, str),
            f"column for {key}",
            column,
            "the name of a column of the file",
        )
        new = Field(name, (), TIME if name in MOMENTS else "number")
        new = next((item for item in fields if item.name == name), new)
        others = (item for item in fields if item.name != name)
        fields = (*others, replace(new, of=(column,), needed=True))
    return fields


# ---- rows to columns ----


@dataclass
class _Content:
    """Data read so far.

    taken: our name -> field, its name in the file and its position in a row. others:
    positions of all other columns. remarks: number of rows per remark.
    """

    clock: Clock
    decimal: str
    rows: Rows
    header: dict[str, str]
    width: int
    taken: dict[str, tuple[Field, str, int]]
    others: dict[str, int]
    count: int = 0
    lines: list[int] = field(default_factory=list)
    bad: list[Fault] = field(default_factory=list)
    left_out: dict[str, list[int]] = field(default_factory=dict)
    remarks: Counter[str] = field(default_factory=Counter)
    numbers: list[Mapping[str, Array]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    # each distinct text is stored once
    seen: dict[str, str] = field(default_factory=dict)


def _columns(
    file: TextIO,
    head: str,
    format: Format,
    fields: Sequence[Field],
    delimiter: str | None,
    header: list[str],
) -> tuple[
    Rows, dict[str, str], int, dict[str, tuple[Field, str, int]], dict[str, int]
]:
    """Return the rows below the header line, and the position of each field."""
    entries, taken = dict[str, str](), dict[str, tuple[Field, str, int]]()
    rows = format.rows(file, head, delimiter, entries)
    listed = [header] if header else format.names
    line, cells = next(rows, (0, list(listed[0]) if listed else "the file is empty"))
    if isinstance(cells, str):
        raise InputError(f"line {line}: {cells}" if line else cells)
    where, names = f"line {line}", [name.strip() for name in cells]
    # the first row shows whether a file without a header line has the format
    if listed:
        where = f"the format {format.name}"
        rows = chain([(line, cells)] if line else [], rows)
        names = next(
            (
                list(names_of_format)
                for names_of_format in listed
                if len(names_of_format) == len(cells)
            ),
            [],
        )
        if not names:
            widths = " or ".join(
                str(len(names_of_format)) for names_of_format in listed
            )
            raise InputError(
                f"line {line}: not a row of the format {format.name}, {format.about}"
                f" ({many(len(cells), 'field')}, not {widths})"
            )
    if lacking := _lacking(format, fields, names):
        # other content than a table's header is not shown
        shown = len(names) > 1 and all(map(NAME.fullmatch, names))
        listed_columns = f" (columns: {', '.join(names)[:200]!r})" if shown else ""
        raise InputError(
            f"{where}: no column {lacking[0]}{listed_columns}{_hint(head, format)}"
        )
    place = {name: index for index, name in reversed([*enumerate(names)])}
    for one in fields:
        for name in filter(place.__contains__, one.of):
            taken.setdefault(one.name, (one, name, place[name]))
    used = {name for _, name, _ in taken.values()}
    for name in used:
        require(names.count(name) == 1, f"{where}: column {name}", names, "unique")
    others = {name: index for name, index in place.items() if name and name not in used}
    return rows, entries, len(names), taken, others


def _needed(format: Format, fields: Sequence[Field]) -> list[tuple[str, ...]]:
    """Return, for each required column, its possible names."""
    names = [item.name for item in fields if item.needed]
    return [(key,) for key in format.keys] or [
        tuple(name for other in fields if other.name == key for name in other.of)
        or (key,)
        for key in dict.fromkeys([*names, *(format.skip or ())[:1]])
    ]


def _lacking(
    format: Format, fields: Sequence[Field], names: Collection[str]
) -> list[str]:
    """Return the required columns that are missing in `names`."""
    return [
        " or ".join(alternatives)
        for alternatives in _needed(format, fields)
        if not {*alternatives} & {*names}
    ]


# ---- the format of a file, by its content ----


def _names_in(head: str) -> tuple[str, set[str]]:
    """Return the first line of a file that is not a comment, and possible column names:
    its cells, whatever their delimiter, or the keys of JSON.
    """
    lines = (text for text in head.splitlines() if text.strip() and text[0] != ";")
    line = next(lines, "")
    keys = re.findall(r'"([^"\\]*)"\s*:', head)
    return line, {*keys} or {cell.strip(' "') for cell in re.split(r"[,;|\t^]", line)}


def sniff(head: str, path: Path, header: Sequence[str] = ()) -> Format:
    """Return the format of a file, from its beginning: the first that fits.

    Formats are tried in the order of FORMATS, after the one that the file's name
    suggests, which is also the result if none fits. A format fits if the file has its
    required columns, or if its first row matches a format without a header line.
    """
    line, names = _names_in(head)
    default = FORMATS[format_of(path)]
    fits = (
        candidate
        for candidate in (default, *FORMATS.values())
        if (
            candidate.row.match(line)
            if candidate.names and candidate.row
            else not _lacking(candidate, candidate.fields, header or names)
        )
    )
    format = next(fits, default)
    if format is not default:
        log.info("%s: read as a log of the format %s", path, format.name)
    return format


def _hint(head: str, format: Format) -> str:
    """Describe which other format a file resembles and what is missing, or which
    delimiter it may have.
    """
    line, names = _names_in(head)
    others = [candidate for candidate in FORMATS.values() if not candidate.names]
    for candidate in others:
        if candidate.row and candidate.row.match(line):
            return (
                f"; it resembles the format {candidate.name} without its header line:"
                " give the names of its columns (header='JobID+Submit+Start' in Python,"
                " log.header=JobID+Submit+Start on the command line)"
            )
    surplus, near, lacking = max(
        (
            len(_needed(candidate, candidate.fields)) - 2 * len(lacking),
            candidate.name,
            lacking,
        )
        for candidate in others
        if candidate.name != format.name
        for lacking in [_lacking(candidate, candidate.fields, names)]
    )
    missing = f", without {', '.join(lacking)}" if lacking else ""
    alike = f"; it resembles the format {near}{missing}"
    return alike if surplus > 0 else separated(line, "delimiter")


def _take_all(content: _Content, format: Format, where: tuple[str, str] | None) -> None:
    """Read the rows in chunks."""
    skip = (_place(content, format.skip[0]), format.skip[1]) if format.skip else None
    group = _place(content, format.group) if format.group else None
    only = (_place(content, where[0]), where[1]) if where else None
    rows = iter(content.rows)
    while part := list(islice(rows, ROWS)):
        good: list[tuple[int, list[str]]] = []
        for line, cells in part:
            if (
                isinstance(cells, list)
                and only is not None
                and _cell(cells, only[0]) != only[1]
            ):
                continue
            content.count += 1
            if isinstance(cells, str):
                content.bad.append(Fault(line, cells))
            elif len(cells) != content.width:
                content.bad.append(
                    Fault(
                        line,
                        f"{many(len(cells), 'field')}, not {content.width}",
                        "" if group is None else _cell(cells, group),
                    )
                )
            elif skip is not None and (reason := skip[1](cells[skip[0]])):
                content.left_out.setdefault(reason, []).append(line)
            else:
                good.append((line, cells))
        if good:
            _take(
                content,
                format,
                [line for line, _ in good],
                [cells for _, cells in good],
                group,
            )
    if where is not None and not content.count:
        raise InputError(f"there is no row whose {where[0]} is {where[1]!r}")


def _cell(cells: list[str], place: int) -> str:
    """Return a cell; "" if it is the last or missing, since a row may be truncated."""
    return cells[place] if len(cells) > place + 1 else ""


def _place(content: _Content, column: str) -> int:
    """Return the position of a column in a row."""
    taken = content.taken.items()
    places = {key: place for name, (_, of, place) in taken for key in (name, of)}
    places |= content.others
    check_one_of("column", column, places)
    return places[column]


def _take(
    content: _Content,
    format: Format,
    lines: list[int],
    rows: list[list[str]],
    group: int | None,
) -> None:
    """Add the usable rows of a chunk."""
    cells = list(zip(*rows))
    parsed, faults = _parse(content, format, lines, cells)
    content.clock.zones.check()
    content.bad += [
        Fault(lines[row], what, rows[row][group] if group is not None else "")
        for row, what in sorted(faults.items())
    ]
    for row in faults:
        if (
            sum(
                name in rows[row] and rows[row][place] != name
                for _, name, place in content.taken.values()
            )
            > 1
        ):
            raise InputError(
                f"line {lines[row]}: a second header line, with its columns in another"
                " order: read the parts of the file separately"
            )
    kept = np.ones(len(rows), dtype=bool)
    kept[list(faults)] = False
    untimed = [
        (reason, np.isnan(parsed.columns[name]))
        for name, reason in UNTIMED.items()
        if name in parsed.columns
    ]
    for reason, out in (*parsed.left_out, *untimed):
        for row in np.flatnonzero(out & kept).tolist():
            content.left_out.setdefault(reason, []).append(lines[row])
        kept &= ~out
    rest = np.flatnonzero(kept).tolist()
    if not rest:
        return
    content.remarks.update(
        {what: int(mask[kept].sum()) for what, mask in parsed.remarks}
    )
    content.lines += [lines[row] for row in rest]
    content.numbers.append(
        {name: values[kept] for name, values in parsed.columns.items()}
    )
    texts = {
        name: place
        for name, (item, _, place) in content.taken.items()
        if item.kind == TEXT
    } | content.others
    for name, place in texts.items():
        some = (
            "" if cells[place][row] == format.none else cells[place][row]
            for row in rest
        )
        content.texts.setdefault(name, []).extend(
            content.seen.setdefault(text, text) for text in some
        )


def _parse(
    content: _Content,
    format: Format,
    lines: Sequence[int],
    cells: Sequence[Sequence[str]],
) -> tuple[Parsed, dict[int, str]]:
    """Compute the columns of a log from cells; also return the faults of bad rows."""
    count = len(cells[0])
    faults: dict[int, str] = {}
    numbers: dict[str, Array] = {}
    texts: dict[str, Sequence[str]] = {
        item.name: [""] * count for item in format.fields if item.kind == TEXT
    }
    for name, (item, column, place) in content.taken.items():
        if item.kind == TEXT:
            texts[name] = cells[place]
            continue
        column_cells = cells[place]
        if content.decimal == ",":
            column_cells = [
                text.replace(".", "").replace(",", ".")
                if COMMA.fullmatch(text)
                else text
                for text in column_cells
            ]
        if item.kind == TIME:
            numbers[name], wrong = content.clock.times(
                item, column, column_cells, lines
            )
        else:
            numbers[name], wrong = item.numbers(column, column_cells)
        faults = {**wrong, **faults}
    parsed = format.parse(Raw(numbers, texts, count))
    if "submit_s" in content.taken and content.clock.stamped:
        _, column, place = content.taken["submit_s"]
        dated = np.array([len(text.strip()) <= DATE for text in cells[place]])
        remark = (
            f"whose date in the column {column} has no time of day; midnight is assumed"
        )
        parsed = parsed._replace(remarks=(*parsed.remarks, (remark, dated)))
    for mask, name, allowed in parsed.bad:
        for row in np.flatnonzero(mask).tolist():
            _, column, place = content.taken[name]
            faults.setdefault(
                row, f"{column}(={cells[place][row][:50]!r}) must be {allowed}"
            )
    return parsed, faults


# ---- columns to the log ----


def _whole_log(path: Path, format: str, content: Any) -> Log:
    """Return the log of a format that reads a whole file; content: what it read."""
    columns, tags, edges = content
    line = np.zeros(len(tags["job_id"]), dtype=np.int64)
    return Log(path, format, columns, tags, line, Report(len(line)), edges=edges)


def _log(path: Path, format: Format, content: _Content, strict: bool) -> Log:
    """Report problems and build the log."""
    report = _report(path, content, strict)
    columns = {
        name: np.concatenate([part[name] for part in content.numbers])
        for name in content.numbers[0]
    }
    content.numbers.clear()
    line = np.array(content.lines, dtype=np.int64)
    tags = _tags(content, path, format)
    return Log(path, format.name, columns, tags, line, report, content.header)


def _on_one_axis(
    read: Log, clock: Clock, format: Format, window: str | None, strict: bool
) -> Log:
    """Convert all times to one time axis, and sort the jobs by their ready times."""
    moments = {
        name: of_unix(read[name], read["submit_s"]) for name in MOMENTS if name in read
    }
    submit = moments["submit_s"]
    late = np.flatnonzero(submit[1:] < submit[:-1])
    if len(late):
        note(
            log,
            read.path,
            strict,
            f"submissions out of order, first at line {read.line[late[0] + 1]}",
            "sorted",
        )
    zero, end = _bounds(submit, window, clock)
    seconds = {name: seconds_between(zero, values) for name, values in moments.items()}
    start = clock.local(zero.item()) if submit.dtype.kind == "M" else None
    if format.start and not read.header:
        log.info("%s: no header: the machine is unknown", read.path)
    if start is None and format.start and zero == 0:
        start = format.start(read.header, clock.zone)
    read = replace(read, columns={**read.columns, **seconds}, start=start)
    read = _with_ready(_joined(read, format.part))
    submit_s = read["submit_s"]
    end_s = np.inf if end is None else seconds_between(zero, np.array(end))
    order = np.lexsort((submit_s, read["ready_s"]))
    kept = read.chosen(order[((submit_s >= 0) & (submit_s < end_s))[order]])
    if not len(kept):
        raise InputError(f"no usable job in the window {window}")
    _check_times(kept, strict)
    return kept


def _joined(read: Log, part: re.Pattern[str] | None) -> Log:
    """Join the parts of a job that started together, such as 801+0 and 801+1."""
    ids = read.tags["job_id"]
    if part is None or not any(map(part.search, ids)):
        return read
    jobs = [part.sub("", job) for job in ids]
    rows = enumerate(zip(jobs, ids, read.get("start_s", np.nan).tolist()))
    keys = [
        f"{job} {at}" if job != whole else str(row) for row, (job, whole, at) in rows
    ]
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    log.info(
        "%s: counted with the first of their job: %s",
        read.path,
        f"{many(len(read) - len(first), 'part')} of heterogeneous jobs",
    )
    sums = {
        name: np.bincount(place, np.nan_to_num(read[name]))[order].astype(np.float64)
        for name in {*SUMMED} & {*read.columns}
    }
    tags = Tags({**read.tags, "job_id": jobs})
    joined = replace(read, tags=tags).chosen(first[order])
    return replace(joined, columns={**joined.columns, **sums})


def _with_ready(read: Log) -> Log:
    """Add the ready time of each job; see `read_log`."""
    submit_s, start_s = read["submit_s"], read.get("start_s", np.inf)
    before = read.preceding
    finish_s = read.finish_s
    if unknown := int(np.sum((before >= 0) & np.isnan(finish_s[before]))):
        note(
            log,
            read.path,
            False,
            f"the end of the preceding job of {many(unknown, 'job')} is not recorded",
            "ready at their submission, except in a cluster simulation",
        )
    after_s = finish_s[before] + read.get("think_s", 0)
    # a recorded start before the end of the preceding job contradicts the dependency
    after_s[(before < 0) | (after_s > start_s + CLOCK_S)] = np.nan
    ready_s = np.fmax(submit_s, np.fmax(read.get("ready_s", np.nan), after_s))
    ready_s = np.maximum(submit_s, np.minimum(ready_s, start_s))
    return replace(read, columns={**read.columns, "ready_s": ready_s})


def _check_times(kept: Log, strict: bool) -> None:
    """Report jobs that are ready late or start early, and implausible times."""
    submit_s, later_s = kept["submit_s"], kept["ready_s"] - kept["submit_s"]
    if later_s.any():
        log.info(
            "%s: %d of %d jobs were ready after their submission, by %.2f h on"
            " average and at most %.2f h: their wait starts when they are ready",
            *(kept.path, np.count_nonzero(later_s), len(kept)),
            *(later_s[later_s > 0].mean() / 3600, later_s.max() / 3600),
        )
    first_s, span_s = submit_s.min().item(), np.ptp(submit_s).item()
    allowed = f"at most {MOST_YEARS}; do all times have the same format?"
    years = round(span_s / YEAR_S, 1)
    require(years <= MOST_YEARS, "years between submissions", years, allowed)
    early = int(np.sum(kept.get("start_s", np.inf) < submit_s - CLOCK_S))
    days = kept.start is None and DAYS[0] <= first_s < first_s + span_s <= DAYS[1]
    for fault, problem, remedy in (
        (early, f"{many(early, 'job')} with a start before the submission", "no wait"),
        (
            days and span_s < kept.get("service_s", 0).mean() and (submit_s % 1).any(),
            f"submissions from {first_s:g} on may be day numbers of Excel",
            "read as seconds",
        ),
    ):
        if fault:
            note(log, kept.path, strict, problem, remedy)


def _report(path: Path, content: _Content, strict: bool) -> Report:
    """Build the report; InputError if no row is left, or for bad rows if strict."""
    bad = tuple(sorted(content.bad))
    faults = [f"line {fault.line}: {fault.what}" for fault in bad]
    left_out = {reason: tuple(lines) for reason, lines in content.left_out.items()}
    report = Report(content.count, bad, left_out)
    if not content.lines and not (bad and strict):
        counted = f"bad rows: {len(bad)}; left out: {str(report) or 'none'}"
        raise InputError(
            f"no usable job ({counted}){': ' if bad else ''}{'; '.join(faults[:3])}"
        )
    for remark, number in (+content.remarks).items():
        log.warning("%s: %s %s", path, many(number, "job"), remark)
    if content.clock.unsure:
        log.warning(
            "%s: %s because of a clock change in %s (the first of the two possible"
            " times is used)",
            *(path, many(content.clock.unsure, "ambiguous time"), content.clock.zone),
        )
    if bad:
        note(
            log,
            path,
            strict,
            f"{many(len(bad), 'bad row')}: {listed(faults)}",
            "left out",
        )
    return report


def _tags(content: _Content, path: Path, format: Format) -> Tags:
    """Return all strings, with job_id first and the line number last."""
    lines = list(map(str, content.lines))
    ids = content.texts.pop("job_id", [])
    if not any(ids) and any(content.texts.get("after", ())):
        raise InputError("the column after requires a column job_id")
    ids = ids if any(ids) else lines
    # within groups of rows, ids may repeat
    groups = content.texts.get(format.group, ids)
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
    others = {name: tuple(content.texts.pop(name)) for name in list(content.texts)}
    return Tags({"job_id": ids, **others, "line": lines})


def _bounds(submit: Array, window: str | None, clock: Clock) -> tuple[Any, Any]:
    """Return time 0, which is the start of a window if any, and the window's end."""
    stamped = submit.dtype.kind == "M"
    if window is None:
        return (submit.min() if stamped else 0.0), None
    # timestamps contain colons, too
    for place in (i for i, char in enumerate(window) if char == ":"):
        parts = window[:place], window[place + 1 :]
        try:
            start, stop = (
                np.datetime64(clock.read(text)[0], "us") if stamped else float(text)
                for text in parts
            )
        except ValueError:
            continue
        if start < stop and (stamped or (start >= 0 and stop < np.inf)):
            return start, stop
    raise InputError(
        f"window(={shown(window)}) must be FROM:TO, two"
        f" {'dates or timestamps' if stamped else 'numbers of seconds'}, FROM before TO"
    )
