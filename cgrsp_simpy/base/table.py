"""Results as CSV, JSON and pandas; tables in four formats; progress bars."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from cgrsp_simpy.base.checks import tried
from cgrsp_simpy.base.files import write_whole

if TYPE_CHECKING:
    import pandas

Rows = Sequence[Mapping[str, Any]]
Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)
# first characters of a formula in spreadsheets
FORMULA = ("=", "+", "-", "@", "\t", "\r")

# characters that move the cursor, colour, hide or reverse text, or cannot be encoded
CONTROLS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\ufeff\ud800-\udfff]"
)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Group items by key, in order of first occurrence."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def visible(text: str, keep: str = "") -> str:
    """Escape control characters in a string for a terminal.

    keep: characters to leave unescaped, such as line ends.
    """
    return CONTROLS.sub(
        lambda match: match[0] if match[0] in keep else ascii(match[0])[1:-1], text
    )


def html_text(text: str) -> str:
    """Escape markup and control characters in a string for an HTML page."""
    return html.escape(visible(text, "\n\t"))


def filled_page(template: Path, title: str, data: Any) -> str:
    """Return an HTML page: the template with title and data for @TITLE@ and @DATA@."""
    # numbers of other types, such as fractions, as float
    text = json.dumps(
        _escaped(data), separators=(",", ":"), allow_nan=False, default=float
    )
    head, end = template.read_text(encoding="utf-8").split("@DATA@")
    head = head.replace("@TITLE@", html_text(title))
    return "".join([head, text.replace("<", "\\u003c"), end])


def _escaped(value: Any) -> Any:
    """Escape control characters in all strings of plain values."""
    if isinstance(value, str):
        return visible(value, "\n")
    if isinstance(value, dict):
        return {_escaped(name): _escaped(entry) for name, entry in value.items()}
    return [_escaped(entry) for entry in value] if isinstance(value, list) else value


def csv_text(rows: Rows) -> str:
    """Return rows as CSV with a header line; numbers in full, missing cells empty.

    A string that a spreadsheet would interpret as a formula, such as "=x", is preceded
    by an apostrophe.
    """
    out = io.StringIO()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writerow({column: _cell(column) for column in columns})
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    # halves of characters
    return out.getvalue().encode(errors="backslashreplace").decode()


def _cell(value: Any) -> Any:
    if (
        isinstance(value, str)
        and value.startswith(FORMULA)
        and tried(float, value) is None
    ):
        return f"'{value}"
    return value


def from_cell(text: str) -> str:
    """Undo the apostrophe that `csv_text` adds to a cell."""
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text


def write_csv(path: str | Path, rows: Rows) -> None:
    """Write the rows to a CSV file, atomically."""
    write_whole(Path(path), csv_text(rows).encode())


def to_pandas(rows: Rows) -> pandas.DataFrame:
    """Return rows as a pandas DataFrame; ImportError without the extra pandas."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            'pandas is missing: pip install ".[pandas]" in a clone'
        ) from None
    return pandas.DataFrame(list(rows))


class HasRows(Protocol):
    """Base of results with one row per job or day, which can be written to a file."""

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per row."""

    def to_csv(self, path: str | Path) -> None:
        """Write the rows to a CSV file; an existing one is overwritten."""
        write_csv(path, self.rows())

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas DataFrame; needs the extra "pandas"."""
        return to_pandas(self.rows())


def json_text(value: Any) -> str:
    """Return a value as JSON; null for a number that is NaN or infinite."""
    return json.dumps(or_none(value), indent=2, allow_nan=False)


def or_none(value: Any) -> Any:
    """Replace NaN and infinite numbers by None, in nested lists and mappings."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: or_none(entry) for name, entry in value.items()}
    return (
        [or_none(entry) for entry in value]
        if isinstance(value, (list, tuple))
        else value
    )


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Format a table as lines, the first column aligned left, the others right."""
    rows = [list(map(visible, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]
        ).rstrip()
        for row in rows
    ]


def half(metric: str) -> str:
    """Return the name of the column with a metric's half widths."""
    return f"{metric}_half_width_95"


def with_halves(means: Mapping[str, Any]) -> dict[str, float]:
    """Return columns with the means and the half widths of their intervals."""
    return {
        column: value
        for name, estimate in means.items()
        for column, value in ((name, estimate.mean), (half(name), estimate.half_width))
    }


class Table(NamedTuple):
    """A table for readers.

    title: text above it. rows: the first row holds the column names. note: text below
    it, if any.
    """

    title: str
    rows: Sequence[Sequence[str]]
    note: str = ""

    def text(self) -> str:
        """Return the table for a terminal, with aligned columns."""
        title, note = (visible(text, "\n") for text in (self.title, self.note))
        return "\n".join(filter(None, [title, *aligned(self.rows), note]))

    def html(self) -> str:
        """Return the table as HTML, for a notebook."""
        head, *body = [[html_text(cell.strip()) for cell in row] for row in self.rows]
        lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in body]
        return (
            '<table><caption style="text-align:'
            f' left">{html_text(self.title)}</caption>'
            f"<thead><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr></thead>"
            f"<tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"
            + (f"<p>{html_text(self.note)}</p>" if self.note else "")
        )

    def markdown(self) -> str:
        """Return the table in Markdown, with its title above and its note below."""
        title, note = map(_markdown_text, (self.title, self.note))
        head, *body = [list(map(_markdown_text, row)) for row in self.rows]
        rule = [
            "---:" if all(map(NUMERIC.match, column)) else "---"
            for column in zip(*(self.rows[1:] or self.rows))
        ]
        lines = [f"| {' | '.join(row)} |" for row in (head, rule, *body)]
        return "\n\n".join(part for part in [title, "\n".join(lines), note] if part)

    def latex(self) -> str:
        """Return a LaTeX table environment; it needs the package booktabs."""
        title, note = map(_latex_text, (self.title, self.note))
        head, *body = [" & ".join(map(_latex_text, row)) for row in self.rows]
        columns = "".join(
            "r" if all(map(NUMERIC.match, column)) else "l"
            for column in zip(*(self.rows[1:] or self.rows))
        )
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                *([rf"\caption{{{title}}}"] if title else []),
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                rf"{head} \\",
                r"\midrule",
                *(rf"{line} \\" for line in body),
                r"\bottomrule",
                r"\end{tabular}",
                *([rf"\par\small {note}"] if note else []),
                r"\end{table}",
            ]
        )


NUMERIC = re.compile(r"\s*([-+]?[\d.]|[-∞]?\s*$|inf)")
"""The beginning of a cell that is aligned to the right."""
LATEX = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # after a line's end it would be an argument
    "±": r"$\pm$",
    "×": r"$\times$",
    "∞": r"$\infty$",
    "…": r"\ldots{}",
    "–": "--",
}
"""The LaTeX form of a character that is special there."""


def _latex_text(text: str) -> str:
    words = " ".join(visible(text, "\n").split())
    return "".join(LATEX.get(letter, letter) for letter in words)


def _markdown_text(text: str) -> str:
    return re.sub(r"([\\`*\[<|])", r"\\\1", " ".join(visible(text, "\n").split()))


def many(number: float, noun: str, form: str = "") -> str:
    """Format a count with its noun; form: of the number, such as "," for thousands."""
    return f"{number:{form}} {noun}" + ("" if number == 1 else "s")


def figure_text(value: Any) -> str:
    """Format a figure; a dash if it is unknown."""
    if value is None or value != value:
        return "-"
    return f"{value:z,{digits(value)}}" if isinstance(value, float) else str(value)


def rounded(value: float, half_width: float) -> str:
    """Format a mean ± half width, to two significant digits of the half width."""
    if not half_width > 0:
        return short_text(value)
    form = f".{max(0, 1 - math.floor(math.log10(half_width)))}f"
    return f"{value:z{form}} ± {half_width:{form}}"


def cells_of(
    rows: Sequence[Mapping[str, Any]], shown: Callable[[Any], str] = figure_text
) -> list[list[str]]:
    """Return the column names and rows as strings; shown: formats a value."""
    return [list(rows[0]), *([shown(value) for value in row.values()] for row in rows)]


def short_text(value: Any) -> str:
    """Format a number to four digits, without decimals from 1000; a dash for None."""
    if isinstance(value, int | float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return "-" if value is None else str(value)


def document(
    subject: str,
    figures: Sequence[Mapping[str, Any]],
    *,
    parameters: Mapping[str, Any] | None = None,
    alternatives: Sequence[str] = (),
    seeds: Sequence[int] = (),
    **more: Any,
) -> dict[str, Any]:
    """Return the content of a command's JSON output.

    subject: the scenario, log or paper. figures: one entry per alternative, or per row
    of the table; a mean is an object with mean, ci95 and n. alternatives: policies, or
    other alternatives that are compared. more: content specific to this command.
    """
    return {
        "subject": subject,
        "parameters": dict(parameters or {}),
        "alternatives": list(alternatives),
        "seeds": list(seeds),
        "figures": list(figures),
        **more,
    }


def digits(size: float) -> str:
    """Return a number format: two decimals, or more to show two digits of `size`."""
    small = abs(size)
    if not 0 < small < 0.005:
        return ".2f"
    return f".{1 - math.floor(math.log10(small))}f" if small >= 1e-6 else ".1e"


def progress(things: Iterable[Any] | None = None, **how: Any) -> Any:
    """Return a progress bar, shown after a second on a terminal or in a notebook.

    things: an iterable to count; if None, the caller updates the bar. how: parameters
    of tqdm: total, unit, and so on.
    """
    with warnings.catch_warnings():
        # a notebook without ipywidgets
        warnings.filterwarnings("ignore", "IProgress not found")
        from tqdm.auto import tqdm  # here, since it takes asyncio

        class Bar(tqdm):  # type: ignore[type-arg]
            monitor_interval = 0  # no thread: a browser's Python cannot start one

        return Bar(
            things,
            **{"delay": 1, "disable": None, "leave": False, "miniters": 1, **how},
        )


# ---- HTML pages ----

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
STYLE = """
body { font: 16px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 84rem; padding: 0 1rem; color: #222 }
h1 { font-size: 1.6rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
.summary { font-weight: 600 }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem }
th, td { border: 1px solid #ccc; padding: 0; text-align: right; vertical-align: top; white-space: nowrap }
th, td.text, td div { padding: .25rem .5rem }
th { background: #f2f2f2; text-align: left; font-weight: 600 }
td div + div { border-top: 1px dotted #aaa }
.ours { color: #555 }
.agrees { background: #e3f1ea } .differs { background: #fbdcc8 } .inferred { background: #fff6cf }
.undecided { background: #e6e6f2 }
.holds { color: #00684a; font-weight: 600 } .fails { color: #a63c00; font-weight: 600 } .open { color: #7a5c00; font-weight: 600 }
td.text { text-align: left; white-space: normal } ul { padding-left: 1.2rem } .notes { font-size: .88rem }
"""


def page(title: str, body: Iterable[str], style: str = "") -> str:
    """Return an HTML page with a title, body elements, and additional styles."""
    return PAGE.format(
        title=html_text(title), style=STYLE + style, body="\n".join(body)
    )


def paragraph(text: str) -> str:
    """Return a text as an HTML paragraph."""
    return f"<p>{html_text(text)}</p>"


def bullets(lines: Iterable[str], kind: str = "") -> str:
    """Return lines as an HTML list; kind: its CSS class."""
    return (
        f'<ul class="{kind}">'
        + "".join(f"<li>{html_text(line)}</li>" for line in lines)
        + "</ul>"
    )
