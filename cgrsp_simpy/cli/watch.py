"""Watch a run of any model: events, steps, a Gantt chart, or an animation."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.files import write_whole
from cgrsp_simpy.base.table import visible
from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.engine.stepping import steps

# Suffix of a picture -> metadata without the date, so that the same run gives the same
# bytes.
PICTURES: dict[str, dict[str, Any]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
FILMS = (".html", ".gif", ".mp4")
LISTED = ("events", "step")


def add_show(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    told = (
        "events: list them before the figures; step: the same with queue, places and"
        " future event list, waiting for Enter after each; or a file: a Gantt chart"
        f" ({', '.join(PICTURES)}), or queue and places in motion ({', '.join(FILMS)}),"
        " of two policies side by side; may be given again"
    )
    parser.add_argument("--show", action="append", metavar="WHAT", help=told)


def check_show(args: argparse.Namespace, policies: Sequence[str]) -> None:
    """Raise InputError for what cannot be shown, before anything is run.

    Also for events in JSON or CSV, and for a second policy that nothing shows.
    """
    shown = args.show or []
    for each in shown:
        allowed = (
            f"events, step, or a file that ends in {', '.join([*PICTURES, *FILMS])}"
        )
        require(
            each in LISTED or _suffix(each) in (*PICTURES, *FILMS),
            "--show",
            each,
            allowed,
        )
        if _suffix(each) == ".mp4":
            # loads matplotlib
            from cgrsp_simpy.plots.animation import check_film

            check_film("--show", each)
    beside = any(_suffix(each) in FILMS for each in shown) and len(policies) == 2
    allowed = f"one, or two with --show and a file that ends in {', '.join(FILMS)}"
    require(len(policies) == 1 or beside, "policies", ", ".join(policies), allowed)
    listed = [each for each in shown if each in LISTED]
    require(len(listed) < 2, "--show", listed, "events or step, not both")
    allowed = "left out with --show events, whose lines would be in it"
    require(
        "events" not in shown or args.format == "table",
        "--format",
        args.format,
        allowed,
    )


def watch(args: argparse.Namespace, set_up: Callable[[Listener | None], Any]) -> Any:
    """Return a run's result, listing its events if requested.

    set_up: returns the run with a listener, about to start.
    """
    if "step" in (args.show or ()):
        return _stepped(set_up)
    return set_up(_say if "events" in (args.show or ()) else None).finish()


def _stepped(set_up: Callable[[Listener], Any]) -> Any:
    """Print each step and wait for Enter; at the end of the input continue without."""
    walk = steps(set_up)
    while True:
        try:
            _say(next(walk), flush=True)
        except StopIteration as end:
            return end.value
        sys.stdin.readline()


def _say(what: object, flush: bool = False) -> None:
    print(visible(str(what), "\n"), flush=flush)


def draw(args: argparse.Namespace, run: Any, beside: Sequence[Any] = ()) -> None:
    """Draw a run, or anything with a timeline, into the files of the option.

    beside: others of the same jobs, for animations.
    """
    for path in args.show or ():
        if _suffix(path) in PICTURES:
            _draw_gantt(run, path)
        elif path not in LISTED:
            from cgrsp_simpy.plots import animate  # loads matplotlib

            animate([run, *beside]).save(path)


def _draw_gantt(run: Any, path: str) -> None:
    from cgrsp_simpy.plots import gantt, styled

    picture = io.BytesIO()
    with styled("print"):
        figure: Any = gantt(run).figure
        figure.savefig(
            picture, format=_suffix(path)[1:], metadata=PICTURES[_suffix(path)]
        )
    write_whole(Path(path), picture.getvalue())


def _suffix(path: str) -> str:
    return Path(path).suffix.lower()
