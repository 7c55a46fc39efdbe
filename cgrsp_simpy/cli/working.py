"""Terminal line of a working command: its task and the time taken."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from cgrsp_simpy.base.table import progress

SILENT_S, EVERY_S = 1.0, 0.5


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a line on the terminal with the task and its time, from the second second
    on.

    It disappears when the work ends. Nothing is shown if stderr is no terminal.
    """
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    clock = threading.Thread(target=_tell, args=(what, ended), daemon=True)
    clock.start()
    try:
        yield
    finally:
        ended.set()
        clock.join()


def _tell(what: str, ended: threading.Event) -> None:
    if ended.wait(SILENT_S):
        return
    with progress(desc=what, bar_format="{desc}: {elapsed}", delay=0) as line:
        line.start_t -= SILENT_S
        while not ended.wait(EVERY_S):
            line.refresh()
