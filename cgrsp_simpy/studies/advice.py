"""Advice told: rows, a table with the Pareto set and gaps to the bound, and a paragraph that
follows from the figures.
"""

from __future__ import annotations

import html
from math import isnan
from typing import Any

from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.rental.metrics import slot_hours
from cgrsp_simpy.studies.advise import Advice, variant
from cgrsp_simpy.studies.gaps import LUCKS
from cgrsp_simpy.studies.page import page, paragraph
from cgrsp_simpy.studies.recommend import (
    EQUAL_MISSES,
    FIGURES,
    SLACK,
    Option,
    cheapest,
    recommended,
)

__all__ = ["hours", "html_page", "markdown", "paragraph_of", "rows"]

HEAD = (
    "slots",
    "types",
    "policy",
    "wait, min",
    "missed, %",
    "tardiness, min",
    "cost, USD",
    "over the bound: wait",
    "missed",
    "Pareto",
)


def rows(advice: Advice) -> list[dict[str, Any]]:
    """An option a row: means and gaps to the bounds, with half widths of their 95 % intervals;
    None where there is no gap.
    """
    pareto = {str(option) for option in advice.pareto}
    answer = []
    for option in advice.options:
        row: dict[str, Any] = {
            "slots": option.slots,
            "free_types": option.free_types,
            "policy": option.policy,
        }
        for name in FIGURES:
            row |= {
                name: option.figures[name].mean,
                f"{name}_half": option.figures[name].half_width,
            }
        for name in ("wait_min", "miss_pct"):
            gap = advice.gap(option, name)
            row |= {
                f"{name}_over_bound": gap and gap.mean,
                f"{name}_over_bound_half": gap and gap.half_width,
            }
        answer.append(row | {"pareto": str(option) in pareto})
    return answer


def hours(advice: Advice) -> list[dict[str, Any]]:
    """Where the slots' hours go on the first seed, a policy a row, with the scenario's own
    slots and types.
    """
    study = advice.found.at(slots=len(advice.scenario.slots), free_types=advice.scenario.free_types)
    return [
        {"policy": policy, **slot_hours(study.run(policy, study.seeds[0]))}
        for policy in study.policies
    ]


def _cells(row: dict[str, Any]) -> list[str]:
    means = [_told(row[name], row[f"{name}_half"]) for name in FIGURES]
    gaps = [
        _told(row[f"{name}_over_bound"], row[f"{name}_over_bound_half"], "+")
        for name in ("wait_min", "miss_pct")
    ]
    return [
        str(row["slots"]),
        "free" if row["free_types"] else "fixed",
        row["policy"],
        *means,
        *gaps,
        "yes" if row["pareto"] else "",
    ]


def markdown(advice: Advice) -> str:
    """Title, paragraph and table in Markdown."""
    rule = "|---:|---|---|" + "---:|" * 6 + "---|"
    lines = [
        f"| {' | '.join(HEAD)} |",
        rule,
        *(f"| {' | '.join(_cells(row))} |" for row in rows(advice)),
    ]
    return (
        "\n\n".join(
            [f"# {_title(advice)}", paragraph_of(advice), "\n".join(lines), *_notes(advice)]
        )
        + "\n"
    )


def html_page(advice: Advice) -> str:
    """The same as one page that needs nothing else."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in HEAD)
    body = [
        "<tr>"
        + "".join(f'<td class="text">{html.escape(cell)}</td>' for cell in _cells(row))
        + "</tr>"
        for row in rows(advice)
    ]
    table = f'<div class="wide"><table><tr>{head}</tr>{"".join(body)}</table></div>'
    title = _title(advice)
    return page(
        title,
        [
            f"<h1>{html.escape(title)}</h1>",
            paragraph(paragraph_of(advice)),
            table,
            *map(paragraph, _notes(advice)),
        ],
    )


def _title(advice: Advice) -> str:
    seeds = len(advice.found.studies[0].seeds)
    return (
        f"{advice.scenario.name}, {len(advice.scenario.slots)} slots: what to change?"
        f" Means of {seeds} seeds"
    )


def _notes(advice: Advice) -> list[str]:
    notes = [
        "What stands after ± is half of a 95 % interval, of each figure by itself. Pareto:"
        " no other option has as few misses, as short a wait and as low a rent in the mean,"
        f" and less of one. In the advice misses are equal within {EQUAL_MISSES} points; wait and"
        f" rent are no worse if their intervals end below {100 * SLACK:.0f} % more than now."
    ]
    if advice.unbounded:
        notes.append(f"There is no bound: {advice.unbounded}.")
    if advice.bounds:
        number = len(next(iter(advice.bounds.values())))
        notes.append(
            "A bound is what no policy that does not see the future can be below on average,"
            f" by a linear program. Gaps to it are of the first {number} of the seeds, each with"
            f" the mean over {LUCKS} draws of the same arrivals,"
            f" paired{'' if number > 1 else '; one seed gives no interval, and no gap'}."
        )
    return notes


# ---- the paragraph ----


def paragraph_of(advice: Advice) -> str:
    """What the figures say, in plain words."""
    now = advice.now
    sentences = [f"Today, {now}: {_figures(now)}.", *_limits(advice)]
    sentences += [
        f"{name[0].upper()}{name[1:]}: {_change(option)}."
        for name, option in levers(advice).items()
    ]
    found = recommended(advice.options, now)
    if found is None:
        return " ".join(
            [*sentences, "Nothing that was tried is shown to be better: leave it as it is."]
        )
    option, what = found
    why = (
        f"it {what}; of the options shown to do so that miss fewest, within {EQUAL_MISSES} points,"
        " it costs least"
    )
    return " ".join([*sentences, f"Begin with {option}: {why}."])


def levers(advice: Advice) -> dict[str, Option]:
    """One thing to change at a time, beside the policy, told in words, with the
    best option there.
    """
    slots, free = len(advice.scenario.slots), advice.scenario.free_types
    tried = sorted({option.slots for option in advice.options})
    answer: dict[str, Option] = {}
    if others := [
        option for option in advice.at(slots, free) if option.policy != advice.now.policy
    ]:
        answer[f"another policy, {cheapest(others).policy}"] = cheapest(others)
    for number in [
        *[more for more in tried if more > slots][:1],
        *[fewer for fewer in tried if fewer < slots][-1:],
    ]:
        option = cheapest(advice.at(number, free))
        answer[f"{_count(advice, number)}, with {option.policy}"] = option
    if not free:
        option = cheapest(advice.at(slots, True))
        answer[f"free choice of the types, with {option.policy}"] = option
    return answer


def _count(advice: Advice, number: int) -> str:
    """The slots that another number adds or takes away, with their types where these are fixed."""
    own, other = (
        advice.scenario.slots,
        variant(advice.scenario, number, advice.scenario.free_types).slots,
    )
    slots, which = abs(number - len(own)), "more" if number > len(own) else "fewer"
    names = ", ".join(gpu.name for gpu in (other[len(own) :] or own[number:]))
    told = f"one slot {which}" if slots == 1 else f"{slots} slots {which}"
    return told if advice.scenario.free_types else f"{told} ({names})"


def _limits(advice: Advice) -> list[str]:
    best = cheapest(advice.at(len(advice.scenario.slots), advice.scenario.free_types))
    miss, wait = (advice.gap(best, name) for name in ("miss_pct", "wait_min"))
    if miss is None or wait is None:
        return []
    told = f"{_difference(miss)} points of misses and {_difference(wait)} min of wait"
    return [
        (
            f"What no policy can be below on average lies below {best.policy}, the best here,"
            f" by {told} ({miss.n} seeds)."
        )
    ]


def _figures(option: Option) -> str:
    wait, miss, _, cost = (
        _told(option.figures[name].mean, option.figures[name].half_width) for name in FIGURES
    )
    return f"{miss} % of the deadlines are missed, the mean wait is {wait} min, the rent {cost} USD"


def _change(option: Option) -> str:
    miss, wait, cost = (
        _difference(option.change[name], "+") for name in ("miss_pct", "wait_min", "cost_usd")
    )
    return f"{miss} points of misses, {wait} min of wait, {cost} USD"


def _difference(change: Mean, sign: str = "") -> str:
    """A difference with its interval, and whether that holds 0."""
    shown = change.low > 0 or change.high < 0 or change.low == change.high == 0
    return _told(change.mean, change.half_width, sign) + ("" if shown else " (not certain)")


def _told(value: float | None, half_width: float | None, sign: str = "") -> str:
    """A figure and half of its interval, where there is one."""
    if value is None:
        return ""
    return f"{value:{sign}z.2f}" + (
        "" if half_width is None or isnan(half_width) else f" ± {half_width:.2f}"
    )
