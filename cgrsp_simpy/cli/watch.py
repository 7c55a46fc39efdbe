"""Watching one run of any model: its events, step by step, as a Gantt chart, or set in motion."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cgrsp_simpy.cli.options import add_options
from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.engine.stepping import steps
from cgrsp_simpy.model.checks import require
from cgrsp_simpy.model.files import write_whole
from cgrsp_simpy.model.table import visible

# Suffix of a picture -> what is written into it in place of the date, so that the same run gives
# the same bytes.
PICTURES: dict[str, dict[str, Any]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
FILMS = (".html", ".gif")


def add_watching(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    listing = parser.add_mutually_exclusive_group()
    stepped = "the same with queue, places and future event list, waiting for Enter after each"
    add_options(
        listing,
        ("--events", bool, "list every event before the figures"),
        ("--step", bool, stepped),
    )
    add_options(
        parser,
        ("--gantt FILE", str, f"draw who ran where and when into FILE ({', '.join(PICTURES)})"),
        ("--animate FILE", str, f"set queue and places in motion in FILE ({', '.join(FILMS)})"),
    )


def check_watching(given: argparse.Namespace) -> None:
    """Raise InputError for a file that cannot be drawn, and for events that would be listed into
    JSON or CSV, before anything is run.
    """
    allowed = "left out beside --events, whose lines would stand in it"
    require(not given.events or given.format == "table", "--format", given.format, allowed)
    for option, suffixes in (("gantt", tuple(PICTURES)), ("animate", FILMS)):
        file = getattr(given, option)
        if file is not None:
            allowed = f"a file that ends in {', '.join(suffixes)}"
            require(_suffix(file) in suffixes, f"--{option}", file, allowed)


def watch(given: argparse.Namespace, set_up: Callable[[Listener | None], Any]) -> Any:
    """The outcome of a run, listed as the options say.

    set_up: the run with a listener, about to start.
    """
    if given.step:
        return _stepped(set_up)
    return set_up(_say if given.events else None).finish()


def _stepped(set_up: Callable[[Listener], Any]) -> Any:
    """Print each step and wait for Enter; where there is no more input, go on without."""
    walk = steps(set_up)
    while True:
        try:
            _say(next(walk), flush=True)
        except StopIteration as end:
            return end.value
        sys.stdin.readline()


def _say(what: object, flush: bool = False) -> None:
    print(visible(str(what), "\n"), flush=flush)


def draw(given: argparse.Namespace, run: Any) -> None:
    """Draw a run, or anything with a timeline, into the files that the options name."""
    if given.gantt is not None:
        _draw_gantt(run, given.gantt)
    if given.animate is not None:
        from cgrsp_simpy.plots import animate  # matplotlib, only where it is needed

        animate(run).save(given.animate)


def _draw_gantt(run: Any, path: str) -> None:
    from cgrsp_simpy.plots import gantt, styled

    picture = io.BytesIO()
    with styled("print"):
        figure: Any = gantt(run).figure
        figure.savefig(picture, format=_suffix(path)[1:], metadata=PICTURES[_suffix(path)])
    write_whole(Path(path), picture.getvalue())


def _suffix(path: str) -> str:
    return Path(path).suffix.lower()
