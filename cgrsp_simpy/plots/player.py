"""A run, or two of the same jobs, as one HTML file that plays them: what the page is
given. How it draws that is in player.html, beside this file; nothing is loaded from
elsewhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgrsp_simpy.base.table import html_text, visible
from cgrsp_simpy.base.timeline import PHASES, Bands, Reasons, Timeline, timeline_of
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.plots.data import Drawn
from cgrsp_simpy.plots.lanes import bars
from cgrsp_simpy.plots.style import (
    EXECUTING,
    MISSED,
    STATUS,
    ink_on,
    kind_colours,
    phase_greys,
)

DIGITS = 7  # of the end of a run, in ticks
DECIMALS = 6  # of an amount
TEMPLATE = Path(__file__).with_name("player.html")


def player_page(
    runs: Sequence[Drawn], title: str, captions: Mapping[float, str] = {}
) -> str:
    """The page of a run, or of two, side by side, of the same jobs.

    runs: of any model, with jobs. title: of the page. captions: by seconds, what is to
    be read from then on. Result: HTML that needs nothing else.
    """
    data = json.dumps(
        _shown(encoded(runs, captions)), separators=(",", ":"), allow_nan=False
    )
    head, rest = TEMPLATE.read_text(encoding="utf-8").split("@TITLE@")
    body, end = rest.split("@DATA@")
    return "".join([head, html_text(title), body, data.replace("<", "\\u003c"), end])


def _shown(value: Any) -> Any:
    """Plain values with control characters escaped in every text."""
    if isinstance(value, str):
        return visible(value, "\n")
    if isinstance(value, dict):
        return {_shown(name): _shown(entry) for name, entry in value.items()}
    return [_shown(entry) for entry in value] if isinstance(value, list) else value


def encoded(runs: Sequence[Drawn], captions: Mapping[float, str]) -> dict[str, Any]:
    """Runs in few and small numbers, as the page reads them.

    Times are whole ticks of `tick_s` seconds, the power of ten that gives the end of
    the last run at most seven digits. Of each of `runs`: columns `job` and `ready` of
    the jobs, in order of `ready`, and `from` of the bars are differences to the row
    before; a job's `wait`, `stay` and `due` count from `ready` (null: never granted a
    place; no deadline), a bar's `length` from `from`. A bar's `job` is a row of the
    jobs; `low` and `amount` are in the unit of its place, to six decimals, and null
    where every job holds a place as a whole. What its policy said of decisions, `why`,
    is null where it declares no rules: `at` are differences, `jobs` rows of the first
    waiting jobs, `said` and `offers` numbers of `texts`.

    Result: plain values for JSON.
    """
    timelines = [timeline_of(run) for run in runs]
    end_s = max(timeline.end_s for timeline in timelines)
    tick_s = 10.0 ** (math.ceil(math.log10(end_s)) - DIGITS) if end_s else 1.0
    bands = next(
        (_reported(run, "bands") for run in runs if isinstance(run, Run)), None
    )
    return {
        "tick_s": tick_s,
        "end": round(end_s / tick_s),
        "late": MISSED,
        "levels": STATUS,
        "captions": [
            [round(at_s / tick_s), told] for at_s, told in sorted(captions.items())
        ],
        "bands": bands and _bands(bands, tick_s),
        "runs": [_run(run, timeline, tick_s) for run, timeline in zip(runs, timelines)],
    }


def _reported(run: Drawn, name: str) -> Any:
    """Return what a method of the run's report returns; None if it has none."""
    method = getattr(getattr(run, "report", None), name, None)
    return method and method(run)


def _bands(bands: Bands, tick_s: float) -> dict[str, Any]:
    levels = {
        name: [[round(at_s / tick_s), level, told] for at_s, level, told in rows]
        for name, rows in bands.levels.items()
    }
    scarce = [
        [round(from_s / tick_s), round(to_s / tick_s)] for from_s, to_s in bands.scarce
    ]
    return {"levels": levels, "scarce": scarce}


def _run(run: Drawn, timeline: Timeline, tick_s: float) -> dict[str, Any]:
    visits = _visits(timeline)
    kinds = kind_colours(
        timeline.kinds.get(job, PHASES[1]) for job in visits["job"].tolist()
    ) or {PHASES[1]: EXECUTING}
    found = bars(timeline)
    found = found[np.argsort(found["from_s"], kind="stable")]
    phases = {PHASES[1]: EXECUTING, **phase_greys(found["phase"].tolist())}
    row = {job: number for number, job in enumerate(visits["job"].tolist())}
    reasons = _reported(run, "reasons")
    return {
        "policy": timeline.policy,
        "noun": timeline.label,
        "places": list(timeline.resources),
        "sizes": _plain(np.array(timeline.sizes)),
        "kinds": _looks(kinds),
        "phases": _looks(phases),
        "jobs": _jobs(timeline, visits, list(kinds), tick_s),
        "bars": _bars(timeline, row, found, list(phases), tick_s),
        "why": reasons and _why(reasons, row, tick_s),
    }


def _visits(timeline: Timeline) -> np.ndarray:
    """Visits in order, and one of each process beside the jobs that had claims."""
    claims, known = timeline.claims, timeline.visits
    others = claims[~np.isin(claims["job"], known["job"])]
    ids, of = np.unique(others["job"], return_inverse=True)
    visits = np.zeros(len(ids), known.dtype)
    visits["job"], visits["ready_s"], visits["due_s"] = ids, np.inf, np.nan
    np.minimum.at(visits["ready_s"], of, others["from_s"])
    np.maximum.at(visits["end_s"], of, others["to_s"])
    visits["granted_s"] = visits["ready_s"]
    return np.sort(np.concatenate([known, visits]), order=["ready_s", "job"])


def _why(reasons: Reasons, row: Mapping[int, int], tick_s: float) -> dict[str, Any]:
    texts: dict[str, int] = {}

    def numbers(told: Iterable[str]) -> list[int]:
        return [texts.setdefault(text, len(texts)) for text in told]

    choices = reasons.choices
    return {
        "order": reasons.order,
        "place": reasons.place,
        "at": _differences(_ticks(np.array([each.time_s for each in choices]), tick_s)),
        "jobs": [[row[job] for job, _ in each.ranked] for each in choices],
        "said": [numbers(told for _, told in each.ranked) for each in choices],
        "offers": [
            [[row[job], *numbers(told)] for job, told in each.offers.items()]
            for each in choices
        ],
        "kept": [each.kept for each in choices],
        "texts": list(texts),
    }


def _looks(colours: dict[str, str]) -> list[dict[str, str]]:
    return [
        {"name": name, "colour": colour, "ink": ink_on(colour)}
        for name, colour in colours.items()
    ]


def _jobs(
    timeline: Timeline, visits: np.ndarray, kinds: list[str], tick_s: float
) -> dict[str, Any]:
    ids = visits["job"].tolist()
    ready = _ticks(visits["ready_s"], tick_s)
    since = {
        name: _or_null(_ticks(visits[column], tick_s) - ready)
        for name, column in (("wait", "granted_s"), ("stay", "end_s"), ("due", "due_s"))
    }
    return {
        "job": _differences(visits["job"]),
        "ready": _differences(ready),
        **since,
        "kind": [kinds.index(timeline.kinds.get(job, PHASES[1])) for job in ids]
        if len(kinds) > 1
        else None,
        "label": [timeline.labels.get(job, str(job)) for job in ids]
        if timeline.labels
        else None,
    }


def _bars(
    timeline: Timeline,
    row: dict[int, int],
    found: np.ndarray,
    phases: list[str],
    tick_s: float,
) -> dict[str, Any]:
    size = np.array(timeline.sizes)[found["resource"]]
    begin = _ticks(found["from_s"], tick_s)
    whole = bool(((found["low"] == 0) & (found["high"] == 1)).all())
    return {
        "job": [row[job] for job in found["job"].tolist()],
        "place": found["resource"].tolist(),
        "phase": [phases.index(phase) for phase in found["phase"].tolist()],
        "from": _differences(begin),
        "length": _or_null(_ticks(found["to_s"], tick_s) - begin),
        "low": None if whole else _plain(found["low"] * size),
        "amount": None if whole else _plain((found["high"] - found["low"]) * size),
    }


def _ticks(times_s: np.ndarray, tick_s: float) -> np.ndarray:
    return np.rint(times_s / tick_s)


def _differences(values: np.ndarray) -> list[int]:
    return [int(value) for value in np.diff(values, prepend=0).tolist()]


def _or_null(values: np.ndarray) -> list[int | None]:
    return [int(value) if math.isfinite(value) else None for value in values.tolist()]


def _plain(values: np.ndarray) -> list[float]:
    """Rounded; whole numbers without a point."""
    return [
        int(value) if value.is_integer() else value
        for value in values.astype(float).round(DECIMALS).tolist()
    ]
