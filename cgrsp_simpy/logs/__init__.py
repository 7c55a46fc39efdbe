"""Logs of real jobs: a registry of formats, and a reader that returns tables.

`read_log` reads a log; `FORMATS` contains the formats. A `Log` holds the file's ids,
tags and columns, which the modules convert to their jobs.
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
