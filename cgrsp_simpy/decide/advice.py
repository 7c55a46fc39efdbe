"""Advice told: sentences that follow from the figures, rows, a table, and a page to print; and
where the slots' hours go.
"""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.metrics import queue_length, step_function, time_average, values_at
from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.decide.gaps import LUCKS
from cgrsp_simpy.decide.recommend import (
    COST,
    FIGURES,
    FIXED,
    FREE,
    LEAST_SEEDS,
    PARTS,
    SHOWN,
    WEEK,
    WORTH,
    Advice,
    Option,
    cheapest,
    own_types,
    shown_cheaper,
    variant,
)
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.model.checks import require
from cgrsp_simpy.model.table import digits
from cgrsp_simpy.rental.market import Status
from cgrsp_simpy.rental.scenario import widths
from cgrsp_simpy.rental.workload import JobList, LoggedWorkload
from cgrsp_simpy.studies.page import bullets, page, paragraph
from cgrsp_simpy.studies.study import clustered, many


def slot_hours(run: Run) -> dict[str, float]:
    """Where the slots' hours go, from time 0 to the last completion, by name; they sum to slots x
    hours.

    service; provisioning_high, _medium and _low, by the status met; idle_held: idle while jobs
    wait; idle_empty: while none does. Raises InputError for terms under which jobs are stopped:
    one record tells of all stays of a job.
    """
    terms = run.scenario.terms
    require("away_s" not in terms.columns, "terms", terms, "such that no job is stopped")
    jobs, end_s, slots = run.jobs, run.tally.end_s, len(run.held_s)
    hours = {"service": float(jobs["service_s"] @ jobs["gpus"]) / 3600}
    for status in Status:
        own = jobs[jobs["status"] == status]
        hours[f"provisioning_{status.name.lower()}"] = float(own["delay_s"] @ own["gpus"]) / 3600
    held = [
        step_function(np.repeat(jobs[name], jobs["gpus"]), np.empty(0))
        for name in ("dispatch_s", "finish_s")
    ]
    times_s = np.unique(np.concatenate([queue_length(run)[0], *(times for times, _ in held)]))
    taken, given_back = (values_at(times_s, *steps) for steps in held)
    idle = slots - taken + given_back
    waits = values_at(times_s, *queue_length(run)) > 0
    hours["idle_held"] = time_average(times_s, idle * waits, end_s) * end_s / 3600
    hours["idle_empty"] = slots * end_s / 3600 - sum(hours.values())
    return hours


def utilisation(run: Run) -> tuple[float, float]:
    """Share of slot time held, provisioning included, from time 0 to the last completion: from the
    slots and from the jobs.
    """
    capacity_s = len(run.held_s) * run.tally.end_s
    jobs = run.jobs
    away_s = jobs["away_s"] if "away_s" in run.scenario.terms.columns else 0.0
    held_s = (jobs["finish_s"] - jobs["dispatch_s"] - away_s) * jobs["gpus"]
    return sum(run.held_s) / capacity_s, float(held_s.sum()) / capacity_s


HEAD = (
    "policy",
    "slots",
    "types",
    "cost, USD/day",
    "against today",
    "rent",
    "slots",
    "misses",
    "late",
    "waits",
    "missed, %",
    "wait, min",
    "late, min",
    "over the bound: missed",
    "wait",
    "Pareto",
)
NEGLIGIBLE = 1e-6  # USD, minutes and per cent
NAMED = 4  # options that a sentence names, of those it counts
WORSE = {  # figures that can get worse: name and unit
    "miss_pct": ("misses", "points"),
    "wait_min": ("wait", "min"),
    "tardiness_min": ("lateness", "min a job"),
    "rent_usd": ("rent", "USD a day"),
    "slots_usd": ("slots", "USD a day"),
}
PICTURES = {
    "advice_cost": "The cost of a day by what it is for: today, and of each fleet the cheapest"
    " policy; 95 % intervals of the whole over the seeds.",
    "advice_points": "Missed deadlines against mean wait with today's number of slots.",
    "advice_slots": "The cost of a day by the number of slots.",
}
"""By name, what is said of a picture."""
PRINT = """
body { max-width: 60rem }
figure { margin: 1.2rem 0; break-inside: avoid } figure img { width: 100%; max-width: 42rem }
figcaption { font-size: .88rem; color: #444 } li { margin: .3rem 0 }
summary { cursor: pointer } details table { font-size: .7rem } details th { white-space: normal }
@page { size: A4; margin: 16mm }
@media print {
  body { font-size: 9.5pt; line-height: 1.3; margin: 0; padding: 0 } h1 { font-size: 14pt }
  figure { margin: 4mm 0 } figure img { width: auto; max-width: 100%; max-height: 105mm }
  details summary { font-size: 9pt } .wide { overflow: visible }
  details table { font-size: 5.2pt } td.text, details th { padding: .3mm .6mm }
}
"""


def rows(advice: Advice) -> list[dict[str, Any]]:
    """An option a row, least cost first: means, paired differences from today and gaps to the
    bounds, with half widths of their 95 % intervals; None where there is no gap.
    """
    pareto, shown = (
        {str(option) for option in own} for own in (advice.pareto, shown_cheaper(advice.others))
    )
    answer = []
    for option in advice.options:
        row: dict[str, Any] = {
            "policy": option.policy,
            "slots": option.slots,
            "types": option.types,
        }
        for name in FIGURES:
            row |= _spread(name, option.figures[name])
        for name in (COST, *WORSE):
            row |= _spread(f"{name}_change", option.change[name])
        for name in ("wait_min", "miss_pct"):
            row |= _spread(f"{name}_over_bound", advice.gap(option, name))
        answer.append(row | {"pareto": str(option) in pareto, "cheaper": str(option) in shown})
    return answer


def _spread(name: str, value: Mean | None) -> dict[str, float | None]:
    if value is None:
        return {name: None, f"{name}_half": None}
    return {name: value.mean, f"{name}_half": value.half_width}


def hours(advice: Advice) -> list[dict[str, Any]]:
    """Where the slots' hours go on the first seed, a policy a row, with the scenario's own
    slots and types.
    """
    now = advice.now
    study = advice.found.at(fleet=f"{now.slots}, {now.types}")
    return [
        {"policy": policy, **slot_hours(study.run(policy, study.seeds[0]))}
        for policy in study.policies
    ]


# ---- pages ----


def markdown(advice: Advice) -> str:
    """Title, sentences and table in Markdown."""
    rule = "|---|---:|---|" + "---:|" * (len(HEAD) - 4) + "---|"
    lines = [
        f"| {' | '.join(HEAD)} |",
        rule,
        *(f"| {' | '.join(_cells(row))} |" for row in rows(advice)),
    ]
    told = "\n".join(f"- {sentence}" for sentence in sentences(advice))
    return "\n\n".join([f"# {_title(advice)}", told, "\n".join(lines), *_notes(advice)]) + "\n"


def html_page(advice: Advice, pictures: Mapping[str, bytes] | None = None) -> str:
    """A page to print that needs nothing else: sentences, figures, and the table on demand.

    pictures: PNG files by names of PICTURES.
    """
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in HEAD)
    body = [
        "<tr>"
        + "".join(f'<td class="text">{html.escape(cell)}</td>' for cell in _cells(row))
        + "</tr>"
        for row in rows(advice)
    ]
    table = f'<div class="wide"><table><tr>{head}</tr>{"".join(body)}</table></div>'
    options = many(len(advice.options), "option")
    title = _title(advice)
    return page(
        title,
        [
            f"<h1>{html.escape(title)}</h1>",
            bullets(sentences(advice)),
            *(_figure(name, content) for name, content in (pictures or {}).items()),
            *map(paragraph, _notes(advice)),
            f"<details><summary>All {options}, least cost first</summary>{table}</details>",
        ],
        PRINT,
    )


def _figure(name: str, content: bytes) -> str:
    told = html.escape(PICTURES[name])
    source = f"data:image/png;base64,{b64encode(content).decode()}"
    return f'<figure><img src="{source}" alt="{told}"><figcaption>{told}</figcaption></figure>'


def _title(advice: Advice) -> str:
    study, own = advice.found.studies[0], many(len(advice.scenario.slots), "slot")
    means = f"Means of {many(len(study.seeds), 'seed')}{clustered(study)}"
    return f"{advice.scenario.name}, {own}: what to change? {means}"


def _cells(row: dict[str, Any]) -> list[str]:
    def cell(name: str, sign: str = "") -> str:
        return _text(row[name], row[f"{name}_half"], sign)

    return [
        row["policy"],
        str(row["slots"]),
        row["types"],
        cell(COST),
        cell(f"{COST}_change", "+"),
        *(_text(row[name]) for name in PARTS),
        *map(cell, ("miss_pct", "wait_min", "tardiness_min")),
        *(cell(f"{name}_over_bound", "+") for name in ("miss_pct", "wait_min")),
        "yes" if row["pareto"] else "",
    ]


def _notes(advice: Advice) -> list[str]:
    miss, late, wait, slot = (f"{price:g}" for price in astuple(advice.prices))
    days = f"{advice.days:.3g} days" if advice.days > 1 else "one day"
    notes = [
        f"Prices: {miss} USD a missed deadline, {late} a minute late, {wait} a minute waiting,"
        f" {slot} a slot kept a day; the rent is the market's. A run counts as {days}.",
        "What stands after ± is half of a 95 % interval, of each figure by itself."
        f" {_luck(advice)} Changes are"
        " paired by seed, and not decided where their interval holds 0. An option is shown to"
        " cost less than today if a t-test says so after Holm's correction for the"
        f" {many(len(advice.others), 'other')} (p < {SHOWN}), and the saving is at least"
        f" {100 * WORTH:g} % of today's cost{_sure_of_days(advice)}."
        " Pareto: no other option has as few misses, as short a wait and as little to pay for rent"
        " and slots in the mean, and less of one.",
    ]
    if advice.spot:
        kept = advice.scenario.terms.checkpoint_s is not None
        notes.append(
            f"Spot instances cost {advice.spot.share:g} of a type's price and are taken back at"
            f" {advice.spot.per_h:g} an hour; their jobs"
            f" {'go on from their last checkpoint' if kept else 'begin again'}."
        )
    if any(option.policy == _later(advice.now) for option in advice.options):
        notes.append(
            f"{_later(advice.now)}: while provisioning takes longer than its mean over the day,"
            f" loose jobs wait that can still be in time if they start when it ends; else"
            f" {advice.now.policy}."
        )
    if advice.unbounded:
        notes.append(f"There is no bound: {advice.unbounded}.")
    if advice.bounds:
        number = len(next(iter(advice.bounds.values())))
        notes.append(
            "A bound is what no policy that does not see the future can be below on average,"
            f" by a linear program. Gaps to it are of the first {number} of the seeds, each with"
            f" the mean over {LUCKS} draws of the same arrivals,"
            f" paired{'' if number >= LEAST_SEEDS else f'; {_few(number)}, and no gap'}."
        )
    return notes


# ---- sentences ----


def sentences(advice: Advice) -> list[str]:
    """What the figures say, in plain words."""
    shown = shown_cheaper(advice.others)
    return [
        _today(advice),
        _first(advice),
        _best(advice, shown),
        *(f"{name}: {_change(advice, option)}" for name, option in levers(advice).items()),
        *_limits(advice),
    ]


def levers(advice: Advice) -> dict[str, Option]:
    """Changes of one thing, told in words, the smallest first; all else is as today.

    The cheapest other policy; today's with loose jobs later; free or fixed types; the cheapest
    slots of one type; the cheapest type on spot instances; the next numbers of slots, and the
    cheapest that was tried; and of all that are shown to cost less than today the smallest, which
    pays first, and the cheapest.
    """
    now, others = advice.now, advice.others
    policies = [one for one in others if (one.slots, one.types) == (now.slots, now.types)]
    kept = [one for one in others if one.policy == now.policy]
    slots = [one for one in kept if one.types == now.types]
    types = [one for one in kept if one.slots == now.slots]
    found = _cheapest(one for one in policies if one.policy != _later(now))
    found += [one for one in policies if one.policy == _later(now)]
    found += [one for one in types if one.types in (FIXED, FREE)]
    for kind in ("all ", "spot "):
        found += _cheapest(one for one in types if one.types.startswith(kind))
    if slots:
        more = sorted((one for one in slots if one.slots > now.slots), key=lambda one: one.slots)
        fewer = sorted((one for one in slots if one.slots < now.slots), key=lambda one: -one.slots)
        found += [*more[:1], *fewer[:1], cheapest(slots)]
    paying = _paying(advice)
    found += [*paying[:1], *_cheapest(paying)]
    return {
        _lever(advice, option): option
        for option in sorted(found, key=lambda option: _size(now, option))
    }


def _paying(advice: Advice) -> list[Option]:
    """The changes of one thing that are shown to cost less than today: the smallest first, of
    equals the cheapest.
    """
    now = advice.now
    alone = (
        one
        for one in shown_cheaper(advice.others)
        if (one.policy != now.policy) + (one.slots != now.slots) + (one.types != now.types) == 1
        and _holds(advice, one)
    )
    return sorted(alone, key=lambda one: (_size(now, one), one.cost))


def _size(now: Option, option: Option) -> tuple[int, bool]:
    """How much a change takes: slots before types, and a policy, which costs nothing, least."""
    return abs(option.slots - now.slots), option.types != now.types


def _holds(advice: Advice, option: Option) -> bool:
    """Whether an option costs less also for days like those of the log, where these are enough."""
    change = advice.for_days(option)
    return change is None or change.high < 0


def _cheapest(options: Iterable[Option]) -> list[Option]:
    """The cheapest, if there are any."""
    own = list(options)
    return [cheapest(own)] if own else []


def _later(now: Option) -> str:
    return f"{now.policy}-later"


def _lever(advice: Advice, option: Option) -> str:
    now = advice.now
    if option.policy == _later(now):
        return f"Loose jobs start after the scarce hours, with {now.policy} as today"
    if option.policy != now.policy:
        return f"Another policy, {option.policy}"
    if option.slots != now.slots:
        return f"{_count(advice, option.slots)}, with {now.policy} as today"
    named = {FREE: "Free choice of the types", FIXED: "Fixed types in place of free ones"}
    kind, _, gpu = option.types.partition(" ")
    alike = f"Slots all of type {gpu}" if kind == "all" else f"Spot instances of {gpu}"
    own = named.get(option.types, alike)
    return f"{own}, with {now.policy} as today"


def _count(advice: Advice, number: int) -> str:
    """The slots that another number adds or takes away, with their types where these are fixed."""
    own, other = (
        advice.scenario.slots,
        variant(advice.scenario, number, advice.scenario.free_types).slots,
    )
    slots, which = abs(number - len(own)), "more" if number > len(own) else "fewer"
    names = ", ".join(gpu.name for gpu in (other[len(own) :] or own[number:]))
    told = f"One slot {which}" if slots == 1 else f"{slots} slots {which}"
    return told if advice.scenario.free_types else f"{told} ({names})"


def _today(advice: Advice) -> str:
    now = advice.now
    cost, miss, wait = (_mean(now.figures[name]) for name in (COST, "miss_pct", "wait_min"))
    return (
        f"Today, {now}: a day costs {cost} USD: {_bill(now)}."
        f" {miss} % of the deadlines are missed, the mean wait is {wait} min."
        f"{_overload(advice)}{_days_told(advice)}"
    )


def _overload(advice: Advice) -> str:
    """That more work comes than the slots can do, in all or in some hours."""
    above = sum(load > 1 for load in advice.loads)
    if not above:
        return ""
    hours, most = len(advice.loads), max(advice.loads)
    mean_load, slots = sum(advice.loads) / hours, many(advice.now.slots, "slot")
    by_hour = f"more than they can do in {above} of {many(hours, 'hour')}, at most {most:.2f} times"
    if mean_load > 1:
        return (
            f" Overloaded: while jobs come they bring {mean_load:.2f} times the work that {slots}"
            f" can do, provisioning included ({by_hour}). The queue grows as long as such jobs"
            " come, so that the cost of a day depends on how long it is watched."
        )
    return (
        f" While jobs come they bring {mean_load:.2f} times the work that {slots} can do,"
        f" provisioning included, but {by_hour}."
    )


def _days_told(advice: Advice) -> str:
    """What an interval is of, where the days are those of a log."""
    if not advice.whole_days:
        return ""
    if advice.block_days:
        days, block = advice.whole_days, advice.block_days
        return (
            f' {_luck(advice)} What stands behind "for days like these" is of the log\'s {days}'
            f" days, drawn again in blocks of {block}."
        )
    return (
        f" {_luck(advice)} Nothing is said of other days: for that the log, of"
        f" {advice.days:.2g} days, is too short (at least {WEEK})."
    )


def _luck(advice: Advice) -> str:
    """What an interval over the seeds is of."""
    study = advice.found.studies[0]
    once = f"{clustered(study)}: seeds of one count once" if study.common else ""
    if study.n < LEAST_SEEDS:
        few = _few(study.n, advice.scenario.common or "seed")
        return f"{few[0].upper()}{few[1:]}."
    if isinstance(advice.scenario.workload, (LoggedWorkload, JobList)):
        luck = "± is of the luck of stock and delays on these jobs alone"
        return f"{luck}, over {len(study.seeds)} seeds{once}."
    return f"It is over {len(study.seeds)} days drawn by the same law{once}."


def _few(number: int, noun: str = "seed") -> str:
    return f"{many(number, noun)} give{'s' * (number == 1)} no interval (at least {LEAST_SEEDS})"


def _sure_of_days(advice: Advice) -> str:
    told = ", and is advised if the interval for days like these does not hold 0"
    return told if advice.block_days else ""


def _bill(option: Option) -> str:
    rent, slots, misses, late, waits = (_text(option.figures[name].mean) for name in PARTS)
    return (
        f"rent {rent}, slots {slots}, missed deadlines {misses}, lateness {late}, waiting {waits}"
    )


def _change(advice: Advice, option: Option) -> str:
    """What an option changes, and what gets worse."""
    now, change = advice.now, option.change
    before, after = (_text(each.figures["miss_pct"].mean) for each in (now, option))
    told = (
        f"{_difference(change[COST])} USD a day{_for_days(advice, option)}, of which rent"
        f" {_difference(change['rent_usd'])};"
        f" misses {before} to {after} % ({_difference(change['miss_pct'])} points),"
        f" wait {_difference(change['wait_min'])} min."
    )
    return told + _worse(option)


def _for_days(advice: Advice, option: Option) -> str:
    """Half of the interval over the days; its mean is that over the seeds."""
    change = advice.for_days(option)
    if change is None:
        return ""
    undecided = "" if _decided(change) else ", not decided"
    return f" (for days like these ± {change.half_width:.2f}{undecided})"


def _worse(option: Option) -> str:
    """The figures that are shown to get worse."""
    worse = [
        f"{noun} by {_mean(option.change[name])} {unit}"
        for name, (noun, unit) in WORSE.items()
        if option.change[name].low > 0
    ]
    return f" What gets worse: {', '.join(worse)}." if worse else ""


def _first(advice: Advice) -> str:
    paying = _paying(advice)
    if not paying:
        like = " for days like these" if advice.block_days else ""
        return f"No change of one thing alone is shown to cost less{like}."
    first, best = paying[0], cheapest(paying)
    name = _lever(advice, first)
    told = (
        f"What pays first: {name[0].lower()}{name[1:]}. Of changes of one thing that are shown to"
        f" cost less it is the smallest: {_saved(advice, first)}."
    )
    if not advice.between(best, first, COST).high < 0:
        return told
    return f"{told} More saves: {_lever(advice, best)}: {_saved(advice, best)}."


def _saved(advice: Advice, option: Option) -> str:
    saved = option.change[COST]
    told = _text(-saved.mean, saved.half_width)
    return f"{told} USD a day less than today{_for_days(advice, option)}"


def _best(advice: Advice, shown: Sequence[Option]) -> str:
    """The option that costs least, what gets worse with it, and what is not told apart from it."""
    others = len(advice.others)
    best = next(
        (
            one
            for one in sorted(shown, key=lambda one: (one.cost, one.slots))
            if _holds(advice, one)
        ),
        None,
    )
    tried = f"Of the {many(others, 'other')} that {'was' if others == 1 else 'were'} tried"
    if best is None:
        none = f"{tried} none is shown to cost less than today"
        if shown:
            none += f" for days like these, though {len(shown)} on these days"
        none = none if others else "Nothing else was tried"
        return f"{none}: leave it as it is.{_alike(advice, advice.now)}"
    saved = best.change[COST]
    return (
        f"{tried} {len(shown)}"
        f" {'is' if len(shown) == 1 else 'are'} shown to cost less than today;"
        f" of these {best} costs least: {_mean(best.figures[COST])} USD a day,"
        f" {_text(-saved.mean, saved.half_width)} less than today{_for_days(advice, best)}:"
        f" {_bill(best)}."
        f"{_worse(best)}{_alike(advice, best)}{_edge(advice, best)}"
    )


def _alike(advice: Advice, best: Option) -> str:
    """The options whose cost is not told apart from one's."""
    others = [option for option in advice.options if str(option) != str(best)]
    apart = {str(one): advice.between(one, best, COST) for one in others}
    alike = [name for name, each in apart.items() if not (each.low > 0 or each.high < 0)]
    if not alike:
        return ""
    more = f"; and {len(alike) - NAMED} more" if len(alike) > NAMED else ""
    seeds = many(best.figures[COST].n, advice.scenario.common or "seed")
    return f" Not told apart from it by cost at {seeds}: {'; '.join(alike[:NAMED])}{more}."


def _edge(advice: Advice, best: Option) -> str:
    """That the best number of slots is the last that was tried."""
    tried = {one.slots for one in advice.options}
    least = max(widths(advice.scenario.workload), default=1)
    if len(tried) > 1 and best.slots == max(tried):
        return f" More than {many(best.slots, 'slot')} were not tried, and may cost less still."
    if len(tried) > 1 and best.slots == min(tried) > least:
        return f" Fewer than {many(best.slots, 'slot')} were not tried, and may cost less still."
    return ""


def _limits(advice: Advice) -> list[str]:
    best = cheapest(advice.at(len(advice.scenario.slots), own_types(advice.scenario)))
    miss, wait = (advice.gap(best, name) for name in ("miss_pct", "wait_min"))
    if miss is None or wait is None:
        return []
    return [
        f"With today's slots and types {best.policy}, the cheapest, lies above what no policy can"
        f" be below on average by {_difference(miss)} points of misses and"
        f" {_difference(wait)} min of wait ({many(miss.n, 'seed')})."
    ]


def _decided(change: Mean) -> bool:
    """Whether the interval of a difference does not hold 0, or all differences are 0."""
    return change.low > 0 or change.high < 0 or change.low == change.high == 0


def _difference(change: Mean) -> str:
    """A difference with its interval, and whether that holds 0."""
    told = _text(change.mean, change.half_width, "+")
    return told + ("" if _decided(change) else " (not decided)")


def _mean(value: Mean) -> str:
    return _text(value.mean, value.half_width)


def _text(value: float | None, half_width: float | None = None, sign: str = "") -> str:
    """A figure and half of its interval, where there is one, both told as 0 only where they are
    less than NEGLIGIBLE.
    """
    if value is None:
        return ""
    half = half_width or 0.0
    shown = [size for size in (abs(value), half) if size >= NEGLIGIBLE]
    form = digits(min(shown, default=0.0))
    told = f"{value:{sign}z{form}}"
    return f"{told} ± {half:{form}}" if half in shown else told  # else no interval, or no luck
