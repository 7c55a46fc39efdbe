"""Logs of real jobs: a registry of formats, and a reader that returns tables.

`read_log` reads a log; `FORMATS` contains the formats. A `Log` holds the file's ids,
tags and columns, which the modules convert to their jobs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cgrsp_simpy.logs.log import COLUMNS, NO_TIME, Log, Reading, Report, Tags

if TYPE_CHECKING:
    from cgrsp_simpy.logs.formats import (
        FORMATS,
        STEPS_PER_S,
        format_of,
        philly,
        swf_text,
    )
    from cgrsp_simpy.logs.reading import read_log

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


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Load the formats when they are first used."""
        if name in __all__:
            module = "reading" if name == "read_log" else "formats"
            return getattr(import_module(f"{__name__}.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
