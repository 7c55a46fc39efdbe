"""Reports as self-contained HTML pages."""

from __future__ import annotations

from collections.abc import Iterable

from cgrsp_simpy.base.table import html_text

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
