"""Logs of real jobs: a registry of formats, each read once into a table.

`read_log` reads; `FORMATS` has the formats. A `Log` keeps the file's ids, tags and
columns, which the modules map to their jobs.
"""

from cgrsp_simpy.logs.formats import FORMATS, STEPS_PER_S, format_of, philly, swf_text
from cgrsp_simpy.logs.log import COLUMNS, NO_TIME, Log, Report, Tags
from cgrsp_simpy.logs.reading import Reading, read_log

__all__ = [
    "COLUMNS",
    "FORMATS",
    "NO_TIME",
    "STEPS_PER_S",
    "Log",
    "Reading",
    "Report",
    "Tags",
    "format_of",
    "philly",
    "read_log",
    "swf_text",
]
