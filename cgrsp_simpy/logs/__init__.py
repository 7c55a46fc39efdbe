"""Logs of real jobs: one registry of formats, each read once into a table that keeps
the file's own ids, tags and columns.

`read_log` reads; `FORMATS` has the formats; a module maps the columns of a `Log` to
jobs of its own.
"""

from cgrsp_simpy.logs.formats import FORMATS, STEPS_PER_S, format_of, philly, swf_text
from cgrsp_simpy.logs.log import COLUMNS, NO_TIME, Log, Report, Tags
from cgrsp_simpy.logs.reading import read_log

__all__ = [
    "COLUMNS",
    "FORMATS",
    "NO_TIME",
    "STEPS_PER_S",
    "Log",
    "Report",
    "Tags",
    "format_of",
    "philly",
    "read_log",
    "swf_text",
]
