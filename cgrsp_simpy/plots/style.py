"""Style shared by all figures: Okabe and Ito's colours, some darkened or replaced.

Colours of policies are distinct for colour-blind readers; in grey, policies differ by
lightness or by marker and line style. To draw and save in one of the styles:

    with plots.styled("lecture"):
        plots.gantt(run).figure.savefig("gantt.svg")

"print" is for a page, "lecture" for a projector, "single" and "double" for one and two
columns of a journal, 88 and 180 mm wide, in 8 pt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple, cast

import numpy as np
from matplotlib import RcParams, colormaps, rc_context, rcParams, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from cgrsp_simpy.base.checks import InputError, check_one_of, nearest, require, shown
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.timeline import PHASES

__all__ = [
    "COLUMNS_MM",
    "COMPLEXITY",
    "DEADLINE",
    "EXECUTING",
    "IDLE",
    "LOOKS",
    "MISSED",
    "OWN_PHASES",
    "POLICY",
    "PROVISIONING",
    "STATUS",
    "STYLE",
    "Look",
    "axes",
    "colour_of",
    "ink",
    "ink_on",
    "kind_colours",
    "looks",
    "phase_greys",
    "styled",
]


class Look(NamedTuple):
    """Look of a policy. marker, line: a marker and line style of matplotlib."""

    colour: str
    marker: str
    line: str | tuple[float, tuple[float, ...]]


# Sixteen looks that are all distinct, also for colour-blind readers.
_POLICIES = {
    "fifo": Look("#000000", "o", "-"),
    "spt": Look("#E69F00", "s", (0, (5, 1.5))),
    "edf": Look("#0B4F9C", "^", (0, (6, 1.5, 1, 1.5))),
    "lcf": Look("#5C5C5C", "v", (0, (1, 1))),
    "balanced": Look("#C9BE86", "<", (0, (2, 1))),
    "random": Look("#BDBDBD", "X", (0, (1, 2))),
    "spt-rescue": Look("#D872AD", "D", (0, (9, 2))),
    "adaptive": Look("#56B4E9", "P", (0, (4, 1, 1, 1, 1, 1))),
    "rh": Look("#C04A00", "*", (0, (12, 1.5))),
    "cadr": Look("#009E73", "h", "-"),
    "cadr-oo": Look("#004733", ">", (0, (3, 1.5))),
    "c-mu": Look("#C301BE", "x", (0, (5, 1, 1, 1))),
    "atc": Look("#5705FB", "+", (0, (10, 1, 2, 1))),
    "covert": Look("#09763E", "1", (0, (3, 1, 3, 3))),
    "triage": Look("#7A0177", "H", (0, (2, 1, 6, 1))),
    "watch": Look("#87E13C", "8", (0, (8, 1.5, 1, 1.5))),
}
_LIKE = {  # names of other modules -> the one of these whose look they share
    # clusters, in addition to fifo and adaptive
    "fifo-skip": "lcf",
    "sjf": "spt",
    "shortest": "balanced",
    "shortest-gpu": "edf",
    "hps": "cadr",
    "pbs": "spt-rescue",
    "sbs": "rh",
    "easy": "triage",
    "conservative": "cadr-oo",
    "las": "random",
    "multifactor": "watch",
    "ordered": "covert",
    # tasks on GPUs, in addition to fifo
    "greedy": "adaptive",
    "sagreedy": "spt-rescue",
    "sagreedy-arrived": "cadr-oo",
    "wspt": "spt",
    "wsrpt": "spt",
    "edd": "edf",
    "search": "triage",
    "milp": "cadr",
    # graphs, in addition to random
    "annealing": "triage",
    "heft": "fifo",
    "woa": "spt",
    "rtgs": "edf",
    "round-robin": "lcf",
    "work": "balanced",
    "ddqn": "spt-rescue",
    "min-min": "adaptive",
    "random-search": "rh",
    "worl-rtgs": "cadr",
    "cpop": "cadr-oo",
    "longest-first": "watch",
    "best-simple": "atc",
    # spot or on demand
    "on-demand": "fifo",
    "time-sliced": "spt",
    "uniform-progress": "edf",
    "uniform-failover": "triage",
    "expected-cost": "cadr",
    "next-spot": "spt-rescue",
    "optimum": "lcf",
    # waiting
    "ajw": "fifo",
    "njw": "spt",
    "ajw-t": "edf",
    "sww": "adaptive",
    "compound": "cadr",
}
# A name has one look in every model; names that are drawn together differ.
LOOKS = {
    **_POLICIES,
    **{name: _POLICIES[other] for name, other in _LIKE.items()},
    "ljw": Look(_POLICIES["rh"].colour, "D", (0, (9, 2))),
}
_OWN = (  # styles of a user's policies
    Look("#A52DFF", "p", "-"),
    Look("#78964B", "8", (0, (7, 2))),
    Look("#872D0F", "d", (0, (4, 1.5))),
    Look("#9687FF", "D", (0, (3, 1, 1, 1))),
)
# colours of the policies by name
POLICY = {name: look.colour for name, look in _POLICIES.items()}
COMPLEXITY = ("#9ecae1", "#4292c6", "#084594")  # complexity 1, 2, 3 and more
DEADLINE = ("#c6bfe0", "#5e3c99")  # loose, tight
STATUS = ("#c7e9c0", "#41ab5d", "#00441b")  # High, Medium, Low stock met at dispatch
EXECUTING = COMPLEXITY[1]  # colour of a job that executes
PROVISIONING = "#e0e0e0"  # colour of a resource in provisioning
OWN_PHASES = ("#a6a6a6", "#7f7f7f", "#595959")  # colours of a user's model
# colours of executing jobs
KIND = {
    **{
        f"complexity {level}": colour
        for level, colour in enumerate(COMPLEXITY, start=1)
    },
    "complexity 3 and more": COMPLEXITY[2],
    **dict(zip(("loose deadline", "tight deadline"), DEADLINE)),
    **dict(zip(("High stock", "Medium stock", "Low stock"), STATUS)),
    "executing": EXECUTING,
}
# colours of a user's model with few kinds
FEW_KINDS = {1: (EXECUTING,), 2: COMPLEXITY[::2], 3: COMPLEXITY}
IDLE = "#ffffff"  # colour of an idle resource
MISSED = "#D55E00"  # colour of a missed deadline

MM = 25.4  # per inch
# inches, of a new figure unless rcParams set another size; the text width of a page
SIZE = (6.3, 3.9)
# in every style: reproducible bytes; text in a PDF stays text, as journals require, and
# in a PGF has the fonts of the document
_EVERY = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "cgrsp_simpy",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "pgf.rcfonts": False,
    "pgf.texsystem": "pdflatex",
    "savefig.dpi": 200,
}
COLUMNS_MM = {"single": 88.0, "double": 180.0}  # widths of a journal's columns
STYLE: dict[str, dict[str, Any]] = {
    "print": {
        "figure.figsize": SIZE,
        "font.size": 9.0,  # "small" is 7.5 pt
        "lines.linewidth": 1.2,
        "lines.markersize": 4.5,
        "axes.linewidth": 0.6,
        **_EVERY,
    },
    "lecture": {
        "figure.figsize": (10.0, 5.6),
        "font.size": 16.0,
        "lines.linewidth": 2.4,
        "lines.markersize": 9.0,
        "axes.linewidth": 1.2,
        **_EVERY,
    },
    **{
        column: {
            "figure.figsize": (width_mm / MM, width_mm / MM * SIZE[1] / SIZE[0]),
            "font.size": 8.0,  # "small" is 6.7 pt
            "lines.linewidth": 1.0,
            "lines.markersize": 3.5,
            "axes.linewidth": 0.5,
            **_EVERY,
        }
        for column, width_mm in COLUMNS_MM.items()
    },
}
"""Matplotlib's settings by use of a figure: print, lecture, a journal's columns."""

Style = str | Mapping[str, Any]


def styled(style: Style = "print") -> AbstractContextManager[None]:
    """Return a context in which matplotlib draws and saves in a style.

    SVG files saved within it with `metadata={"Date": None}` are reproducible.

    style: "print", "lecture", "single" or "double"; or settings of matplotlib by name
    ({"font.size": 10}), the others as in "print". The caller's non-default settings
    stay. Raises InputError for another name or setting.
    """
    name, changes = (style, {}) if isinstance(style, str) else ("print", style)
    check_one_of("style", name, STYLE)
    require(
        isinstance(changes, Mapping),
        "style",
        changes,
        "a name or a mapping of matplotlib settings",
    )
    now, default = (
        cast(dict[str, Any], params) for params in (rcParams, rcParamsDefault)
    )
    settings = cast(dict[str, Any], RcParams())
    for key, value in changes.items():
        if key not in default:
            raise InputError(
                f"unknown setting of style {shown(key)}{nearest(str(key), default)}"
                " (allowed: those of matplotlib.rcParams)"
            )
        allowed = f"a value that matplotlib allows, such as {shown(default[key])}"
        with suppress(ValueError):
            settings[key] = value
        require(key in settings, f"style: {key}", value, allowed)
    usual = {
        key: value for key, value in STYLE[name].items() if now[key] == default[key]
    }
    return rc_context(cast(Any, {**usual, **settings}))


def colour_of(policy: str) -> str | None:
    """Return the colour of a built-in policy, with or without parameters, or None."""
    look = LOOKS.get(_base(policy))
    return look.colour if look else None


def looks(policies: Iterable[str]) -> list[Look]:
    """Return looks of policies in one figure; those with one base name are shades."""
    result: list[Look] = []
    bases: list[str] = []
    for policy in policies:
        base = _base(policy)
        users = [
            name for name in dict.fromkeys(bases) if name not in LOOKS and name != base
        ]
        look = LOOKS.get(base, _OWN[len(users) % len(_OWN)])
        result.append(_shade(look, bases.count(base)))
        bases.append(base)
    return result


def _base(policy: str) -> str:
    name, _, function = policy.partition(":")
    return function if name.endswith(".py") else name


def _shade(look: Look, number: int) -> Look:
    """Return a shade of a look: dark colours become lighter, light ones darker."""
    if number == 0:
        return look
    target = 1.0 if _luminance(look.colour) < 0.4 else 0.0
    others = [
        candidate
        for candidate in (*_OWN, *_POLICIES.values())
        if candidate.line != look.line
    ]
    other = others[number % len(others)]
    return other._replace(colour=mixed(look.colour, target, min(0.8, 0.35 * number)))


def _luminance(colour: str) -> float:
    """Return the perceived luminance from 0 to 1, white (Rec. 709, gamma 2.2)."""
    parts = zip((0.2126, 0.7152, 0.0722), to_rgb(colour))
    return summed(share * part**2.2 for share, part in parts)


def mixed(colour: str, grey: float, share: float) -> str:
    """Mix a colour with a share of a grey, from 0 (black) to 1 (white)."""
    red, green, blue = (part + share * (grey - part) for part in to_rgb(colour))
    return str(to_hex((red, green, blue)))


def ink(colour: str) -> str:
    """Darken a colour until it is readable as text on white."""
    return mixed(
        colour, 0.0, 1 - min(1.0, (0.18 / max(_luminance(colour), 1e-9)) ** (1 / 2.2))
    )


def kind_colours(kinds: Iterable[str]) -> dict[str, str]:
    """Return colours of kinds of jobs: those in KIND, and light to dark for others."""
    there = set(kinds)
    others = sorted(there - KIND.keys(), key=_with_numbers)
    shades = FEW_KINDS.get(len(others)) or [
        to_hex(colour)
        for colour in colormaps["viridis"](np.linspace(0.93, 0.0, len(others)))
    ]
    return {kind: colour for kind, colour in KIND.items() if kind in there} | dict(
        zip(others, shades)
    )


def phase_greys(phases: Iterable[str]) -> dict[str, str]:
    """Return greys of phases other than execution."""
    there = set(phases)
    greys = {
        phase: OWN_PHASES[place % len(OWN_PHASES)]
        for place, phase in enumerate(sorted(there - set(PHASES)))
    }
    return {PHASES[0]: PROVISIONING, **greys} if PHASES[0] in there else greys


def _with_numbers(text: str) -> list[str | int]:
    """Return a sort key that compares numbers in strings by value."""
    return [
        int(part) if place % 2 else part
        for place, part in enumerate(re.split(r"(\d+)", text))
    ]


def ink_on(ground: str) -> str:
    """Return black or white, whichever is readable on a background colour."""
    return "white" if _luminance(ground) < 0.3 else "black"


def axes(ax: Axes | None, height: float = SIZE[1] / SIZE[0]) -> Axes:
    """Return the Axes, or Axes of a new figure with this height-to-width ratio."""
    if ax is not None:
        require(isinstance(ax, Axes), "ax", ax, "Axes of Matplotlib")
        return ax
    size = tuple(rcParams["figure.figsize"])
    width = SIZE[0] if size == tuple(rcParamsDefault["figure.figsize"]) else size[0]
    figure = Figure(figsize=(width, width * height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()
