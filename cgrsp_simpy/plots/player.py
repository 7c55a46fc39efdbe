"""Data of the HTML page that plays runs; player.html in this folder draws it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgrsp_simpy.base.table import filled_page
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

DIGITS = 7  # digits of the end of a run, in ticks
DECIMALS = 6  # decimals of an amount
TEMPLATE = Path(__file__).with_name("player.html")


def player_page(
    runs: Sequence[Drawn], title: str, captions: Mapping[float, str] = {}
) -> str:
    """Return a self-contained HTML page of a run, or two of the same jobs side by side.

    runs: runs of any model, with jobs. captions: start time in seconds -> text.
    """
    return filled_page(TEMPLATE, title, encoded(runs, captions))


def encoded(runs: Sequence[Drawn], captions: Mapping[float, str]) -> dict[str, Any]:
    """Encode runs compactly for the page, as JSON-serialisable values.

    Times are whole ticks of `tick_s` seconds, a power of ten for which the end of the
    last run has at most seven digits. In each of `runs`, the columns `job` and `ready`
    of the jobs, in order of `ready`, and `from` of the bars are differences from the
    previous row; a job's `wait`, `stay` and `due` count from `ready` (null if it never
    got a resource or has no deadline), a bar's `length` from `from`. A bar's `job` is a
    row number of the jobs; `low` and `amount` are in the unit of its resource, to six
    decimals, and null if every job holds a whole resource. `why`, the reasons for
    decisions, is null for a policy without rules: `at` holds differences, `jobs` row
    numbers of the first waiting jobs, `said` and `offers` indices of `texts`.
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
            [round(at_s / tick_s), text] for at_s, text in sorted(captions.items())
        ],
        "bands": bands and _bands(bands, tick_s),
        "runs": [_run(run, timeline, tick_s) for run, timeline in zip(runs, timelines)],
    }


def _reported(run: Drawn, name: str) -> Any:
    """Return the result of a method of the run's report, or None without one."""
    method = getattr(getattr(run, "report", None), name, None)
    return method and method(run)


def _bands(bands: Bands, tick_s: float) -> dict[str, Any]:
    levels = {
        name: [[round(at_s / tick_s), level, text] for at_s, level, text in rows]
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
    drawn = bars(timeline)
    drawn = drawn[np.argsort(drawn["from_s"], kind="stable")]
    phases = {PHASES[1]: EXECUTING, **phase_greys(drawn["phase"].tolist())}
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
        "bars": _bars(timeline, row, drawn, list(phases), tick_s),
        "why": reasons and _why(reasons, row, tick_s),
    }


def _visits(timeline: Timeline) -> np.ndarray:
    """Return visits in order, including jobs that have only claims."""
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
        "at": _differences(
            _ticks(np.array([choice.time_s for choice in choices]), tick_s)
        ),
        "jobs": [[row[job] for job, _ in choice.ranked] for choice in choices],
        "said": [numbers(told for _, told in choice.ranked) for choice in choices],
        "offers": [
            [[row[job], *numbers(told)] for job, told in choice.offers.items()]
            for choice in choices
        ],
        "kept": [choice.kept for choice in choices],
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
    drawn: np.ndarray,
    phases: list[str],
    tick_s: float,
) -> dict[str, Any]:
    size = np.array(timeline.sizes)[drawn["resource"]]
    begin = _ticks(drawn["from_s"], tick_s)
    whole = bool(((drawn["low"] == 0) & (drawn["high"] == 1)).all())
    return {
        "job": [row[job] for job in drawn["job"].tolist()],
        "place": drawn["resource"].tolist(),
        "phase": [phases.index(phase) for phase in drawn["phase"].tolist()],
        "from": _differences(begin),
        "length": _or_null(_ticks(drawn["to_s"], tick_s) - begin),
        "low": None if whole else _plain(drawn["low"] * size),
        "amount": None if whole else _plain((drawn["high"] - drawn["low"]) * size),
    }


def _ticks(times_s: np.ndarray, tick_s: float) -> np.ndarray:
    return np.rint(times_s / tick_s)


def _differences(values: np.ndarray) -> list[int]:
    return [int(value) for value in np.diff(values, prepend=0).tolist()]


def _or_null(values: np.ndarray) -> list[int | None]:
    return [int(value) if math.isfinite(value) else None for value in values.tolist()]


def _plain(values: np.ndarray) -> list[float]:
    return [
        int(value) if value.is_integer() else value
        for value in values.astype(float).round(DECIMALS).tolist()
    ]
