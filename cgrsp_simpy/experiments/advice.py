"""Advice told: rows, a table with the Pareto set and gaps to the bound, and a paragraph that follows from the figures."""

from __future__ import annotations

import html
from typing import Any

from cgrsp_simpy.analysis.metrics import slot_hours
from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.experiments.advise import FIGURES, Advice, Option
from cgrsp_simpy.experiments.page import page, paragraph

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
    """An option a row: means, half widths of their 95 % intervals, gaps to the bounds (None where there is none)."""
    pareto = {str(option) for option in advice.pareto}
    answer = []
    for option in advice.options:
        row: dict[str, Any] = {"slots": option.slots, "free_types": option.free_types, "policy": option.policy}
        for name in FIGURES:
            row |= {name: option.figures[name].mean, f"{name}_half": option.figures[name].half_width}
        row |= {f"{name}_over_bound": advice.gap(option, name) for name in ("wait_min", "miss_pct")}
        answer.append(row | {"pareto": str(option) in pareto})
    return answer


def hours(advice: Advice) -> list[dict[str, Any]]:
    """Where the slots' hours go on the first seed, a policy a row, with the scenario's own slots and types."""
    study = advice.found.at(slots=len(advice.scenario.slots), free_types=advice.scenario.free_types)
    return [{"policy": policy, **slot_hours(study.run(policy, study.seeds[0]))} for policy in study.policies]


def _cells(row: dict[str, Any]) -> list[str]:
    means = [f"{row[name]:.2f} ± {row[f'{name}_half']:.2f}" for name in FIGURES]
    gaps = ["" if row[f"{name}_over_bound"] is None else f"{row[f'{name}_over_bound']:+.2f}" for name in ("wait_min", "miss_pct")]
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
    lines = [f"| {' | '.join(HEAD)} |", rule, *(f"| {' | '.join(_cells(row))} |" for row in rows(advice))]
    return "\n\n".join([f"# {_title(advice)}", paragraph_of(advice), "\n".join(lines), *_notes(advice)]) + "\n"


def html_page(advice: Advice) -> str:
    """The same as one page that needs nothing else."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in HEAD)
    body = [
        "<tr>" + "".join(f'<td class="text">{html.escape(cell)}</td>' for cell in _cells(row)) + "</tr>" for row in rows(advice)
    ]
    table = f'<div class="wide"><table><tr>{head}</tr>{"".join(body)}</table></div>'
    title = _title(advice)
    return page(
        title, [f"<h1>{html.escape(title)}</h1>", paragraph(paragraph_of(advice)), table, *map(paragraph, _notes(advice))]
    )


def _title(advice: Advice) -> str:
    seeds = len(advice.found.studies[0].seeds)
    return f"{advice.scenario.name}, {len(advice.scenario.slots)} slots: what to change? Means of {seeds} seeds"


def _notes(advice: Advice) -> list[str]:
    notes = [
        "What stands after ± is half of a 95 % interval. Pareto: no other option has fewer misses, less wait and a lower cost."
    ]
    if advice.unbounded:
        notes.append(f"There is no bound: {advice.unbounded}.")
    if advice.bounds:
        number = next(iter(advice.bounds.values())).n
        notes.append(
            "A bound is what no policy that does not see the future can be below on average, by a linear program. Bounds, and"
            f" gaps to them, are of the first {number} of the seeds."
        )
    return notes


# ---- the paragraph ----


def paragraph_of(advice: Advice) -> str:
    """What the figures say, in plain words."""
    now, slots, free = advice.now, len(advice.scenario.slots), advice.scenario.free_types
    policy = advice.best(slots, free)
    levers = {f"another policy, {policy.policy}": policy}
    if more := sorted({option.slots for option in advice.options if option.slots > slots}):
        option = advice.best(more[0], free)
        levers[f"{_count(more[0] - slots)} more, with {option.policy}"] = option
    if not free:
        option = advice.best(slots, True)
        levers[f"free choice of the types, with {option.policy}"] = option
    levers = {name: option for name, option in levers.items() if str(option) != str(now)}
    sentences = [f"Today, {now}: {_figures(now)}.", *_limits(advice, policy)]
    sentences += [f"{name[0].upper()}{name[1:]}: {_change(advice, option)}." for name, option in levers.items()]
    better = {name: option for name, option in levers.items() if advice.change(option, "miss_pct").high < 0}
    if not better:
        return " ".join([*sentences, "Nothing that was tried is sure to miss fewer deadlines: leave it as it is."])
    first = min(better, key=lambda name: _merit(better[name]))
    return " ".join([*sentences, f"Begin with {first}: of what misses fewest deadlines it costs least."])


def _merit(option: Option) -> tuple[float, float]:
    """Misses to a tenth of a point, then cost."""
    return round(option.figures["miss_pct"].mean, 1), option.figures["cost_usd"].mean


def _count(slots: int) -> str:
    return "one slot" if slots == 1 else f"{slots} slots"


def _limits(advice: Advice, policy: Option) -> list[str]:
    gaps = [advice.gap(policy, name) for name in ("miss_pct", "wait_min")]
    if gaps[0] is None or gaps[1] is None:
        return []
    told = f"{max(gaps[0], 0.0):.2f} points of misses and {max(gaps[1], 0.0):.1f} min of wait"
    return [f"With these slots and types no policy can be better than {policy.policy}, the best here, by more than about {told}."]


def _figures(option: Option) -> str:
    wait, miss, _, cost = (option.figures[name] for name in FIGURES)
    return f"{_told(miss)} % of the deadlines are missed, the mean wait is {_told(wait)} min, the rent {cost.mean:.2f} USD"


def _change(advice: Advice, option: Option) -> str:
    miss, wait, cost = (advice.change(option, name) for name in ("miss_pct", "wait_min", "cost_usd"))
    return f"{miss.mean:+.2f} points of misses{_unsure(miss)}, {wait.mean:+.1f} min of wait{_unsure(wait)}, {cost.mean:+.2f} USD"


def _unsure(change: Mean) -> str:
    """What to add to a difference whose interval holds 0."""
    return " (not certain)" if change.low <= 0 <= change.high else ""


def _told(value: Mean) -> str:
    return f"{value.mean:.2f} ± {value.half_width:.2f}"
