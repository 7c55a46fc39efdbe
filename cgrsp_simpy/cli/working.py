"""What a terminal is told while a command works: what it does, and for how long."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from cgrsp_simpy.base.table import progress

SILENT_S, EVERY_S = 1.0, 0.5


@contextmanager
def working(what: str) -> Iterator[None]:
    """From the second second on, a line on the terminal with what is done and the time
    it has taken; it goes when the work ends. Nothing where stderr is no terminal.
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
