"""The thesis's days on a market with persistent stock: effects on policies and
findings, and the value of seeing the stock. Figures as CSV, PNG and SVG.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch

from cgrsp_simpy.base.table import digits, grouped
from cgrsp_simpy.market.law import Measured
from cgrsp_simpy.market.measured import measured
from cgrsp_simpy.papers.thesis.findings import FAILS, FINDINGS, HOLDS, RECORDED, Claim
from cgrsp_simpy.papers.thesis.markets import (
    DEPENDS,
    GONE,
    MARGINS,
    NO_MEANING,
    UNDECIDED,
    finding_rows,
    persistent,
    replayed,
)
from cgrsp_simpy.papers.thesis.runs import Results, reproduce
from cgrsp_simpy.papers.thesis.verdict import p_text
from cgrsp_simpy.plots.figure import (
    Figures,
    Gallery,
    Handles,
    Row,
    markdown,
    numbers,
    where,
)
from cgrsp_simpy.plots.style import ink_on, looks
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.workload import DAYS
from cgrsp_simpy.studies.compare import Comparison, compare
from cgrsp_simpy.studies.study import stars

POLICIES = ("fifo", "rh", "cadr", "triage", "watch")
FIRST_SEED, SEEDS = 5000, 20
TAUS_MIN = (5, 15, 30, 60, 102, 240)
LOOKS = {
    "never": "none",
    "60 min": "poll:3600",
    "15 min": "poll:900",
    "5 min": "poll:300",
    "always": "now",
}
MARKETS = {  # name -> persistence in minutes, visibility
    "thesis": (0, "none"),
    "15 min, blind": (15, "none"),
    "15 min, seen": (15, "now"),
    "1.7 h, blind": (102, "none"),
    "1.7 h, seen": (102, "now"),
}
SEEN = {"blind": "none", "seen": "now"}
MEASURES = {"wait_min": "mean wait (min)", "miss_pct": "missed deadlines (%)"}
NOUNS = {"wait_min": "wait (min)", "miss_pct": "missed (%)"}  # if there is less room


class Runs:
    """Comparisons of POLICIES, made on first use, and the runs behind the findings.

    seeds: number, from 5000 on. executor: as in `compare`. replay: a recorded market,
    whose stock is one of the findings' markets. finding_seeds: number, from 0 on, and
    number of months; None: as behind each printed figure. findings: to judge.
    """

    def __init__(
        self,
        seeds: int = SEEDS,
        executor: Executor | int | None = None,
        replay: Measured | None = None,
        finding_seeds: int | None = None,
        findings: Sequence[Claim] = (*FINDINGS, *RECORDED),
    ) -> None:
        self._seeds, self._executor = range(FIRST_SEED, FIRST_SEED + seeds), executor
        self._replay = replay
        self._finding_seeds = finding_seeds
        self._findings = findings
        self._done: dict[tuple[str, float, str, bool], Comparison] = {}

    def study(
        self, name: str, tau_min: float, sight: str, free: bool = False
    ) -> Comparison:
        """Compare on a day of the thesis with persistent stock, visible or not."""
        key = name, tau_min, sight, free
        if key not in self._done:
            scenario = day(
                name, free_types=free, persistence_s=60.0 * tau_min, sight=sight
            )
            self._done[key] = compare(scenario, POLICIES, self._seeds, self._executor)
        return self._done[key]

    def judged(self) -> list[Row]:
        """Judge the findings in each of the markets, by group, as `finding_rows`."""
        groups: dict[str, dict[str, Results]] = {}
        for name, market in MARKETS.items():
            group = "persistent" if market[0] else "thesis"
            groups.setdefault(group, {})[name] = self._results(persistent(*market))
        if self._replay is not None:
            groups["measured"] = {
                f"replay, {seen}": self._results(replayed(self._replay, sight))
                for seen, sight in SEEN.items()
            }
        return finding_rows(self._findings, groups)

    def _results(self, put: Callable[[Scenario], Scenario]) -> Results:
        """Return the runs of the findings on a market."""
        n = self._finding_seeds
        wanted = [
            (part.measure, n or part.n)
            for finding in self._findings
            for part in finding.parts
        ]
        return reproduce(wanted, n, self._executor, market=put)


def _rows(study: Comparison, **place: Any) -> list[Row]:
    """Return means, half widths and differences from FIFO of the measures by policy."""
    found, differences = [], study.as_dict()["differences"]
    tests = {row["alternative"]: row for row in differences}
    for policy, row in study.means().items():
        own = {**place, "policy": policy}
        for name in MEASURES:
            own[name], own[f"{name}_half_width"] = row[name].mean, row[name].half_width
            if policy in tests:
                test = tests[policy][name]
                own[f"{name}_from_fifo"] = test["mean"]
                own[f"{name}_p_holm"] = test["p_holm"]
        found.append(own)
    return found


FIGURES = Figures("market_", columns=len(POLICIES))


@FIGURES.add(
    "persistence",
    "Waits and misses against the persistence of stock, hectic day",
    (6.3, 5.0),
    note="hectic day, five slots of fixed types, 20 seeds, 95 % intervals",
)
def by_tau(runs: Runs) -> list[Row]:
    """Return the hectic day by persistence, hidden and visible."""
    return [
        row
        for seen, sight in SEEN.items()
        for tau_min in (0, *TAUS_MIN)
        for study in [runs.study("hectic", tau_min, sight if tau_min else "none")]
        for row in _rows(study, seen=seen, tau_min=tau_min)
    ]


@by_tau.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    grid = canvas.subplots(2, 2, sharex=True, sharey="col")
    own = {
        f"stock {'not ' * (seen == 'blind')}seen": where(rows, seen=seen)
        for seen in SEEN
    }
    _panels(grid, own, "tau_min", [0, *TAUS_MIN], "persistence (min); 0: the thesis")
    return _legend(canvas, grid[0][0])


@by_tau.says
def _(rows: list[Row]) -> str:
    def told(seen: str, tau_min: int, policy: str) -> str:
        [row] = where(rows, seen=seen, tau_min=tau_min, policy=policy)
        return f"{row['wait_min']:.1f} min and {row['miss_pct']:.2f} %"

    return (
        f"Wait and misses of CADR: {told('blind', 0, 'cadr')} in the thesis's market,"
        f" {told('blind', 15, 'cadr')} where stock persists for 15 minutes,"
        f" {told('blind', 240, 'cadr')} at four hours. Of watch, which sees the stock:"
        f" {told('seen', 15, 'watch')} at 15 minutes, {told('seen', 240, 'watch')} at"
        " four hours."
    )


@FIGURES.add(
    "sight",
    "What seeing the stock is worth, hectic day",
    (6.3, 5.0),
    note="hectic day, five slots, persistence 15 min, 20 seeds, 95 % intervals",
)
def by_sight(runs: Runs) -> list[Row]:
    """Return the hectic day by how often the stock is seen."""
    return [
        row
        for types in ("fixed", "free")
        for look, sight in LOOKS.items()
        for row in _rows(
            runs.study("hectic", 15, sight, types == "free"), types=types, look=look
        )
    ]


@by_sight.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    grid = canvas.subplots(2, 2, sharex=True)
    own = {f"{types} types": where(rows, types=types) for types in ("fixed", "free")}
    _panels(grid, own, "look", list(LOOKS), "how often the stock is looked at")
    return _legend(canvas, grid[0][0])


@by_sight.says
def _(rows: list[Row]) -> str:
    def watch(types: str) -> str:
        waits = ", ".join(
            f"{row['wait_min']:.1f} ({row['look']})"
            for row in where(rows, types=types, policy="watch")
        )
        return f"{waits} on {types} types"

    return (
        f"Mean wait of watch, minutes, by how often it looks: {watch('fixed')};"
        f" {watch('free')}."
    )


@FIGURES.add(
    "days",
    "Four days on five markets",
    (6.3, 8.0),
    note=(
        "five slots of fixed types, 20 seeds, 95 % intervals; by how long stock"
        " persists"
    ),
)
def by_day(runs: Runs) -> list[Row]:
    """Return each day on each market."""
    return [
        row
        for name in DAYS
        for market, (tau_min, sight) in MARKETS.items()
        for row in _rows(runs.study(name, tau_min, sight), day=name, market=market)
    ]


@by_day.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """Draw one line per policy, by market, and one column per day."""
    grid = canvas.subplots(2, len(DAYS), sharey=True)
    places = list(MARKETS)
    lines = len(POLICIES)
    for (name, noun), axes in zip(NOUNS.items(), grid):
        for which, ax in zip(DAYS, axes):
            for number, (policy, look) in enumerate(zip(POLICIES, looks(POLICIES))):
                own = where(rows, day=which, policy=policy)
                ax.errorbar(
                    [row[name] for row in own],
                    [(lines + 1) * places.index(row["market"]) + number for row in own],
                    xerr=[row[f"{name}_half_width"] for row in own],
                    color=look.colour,
                    marker=look.marker,
                    linestyle="none",
                    markersize=3.5,
                    elinewidth=0.8,
                    label=policy,
                )
            for place in range(1, len(places)):
                ax.axhline((lines + 1) * place - 1, color="0.8", linewidth=0.6)
            most = max(1.0, ax.get_xlim()[1])
            ax.set(xlim=(-0.04 * most, most), xlabel=noun)  # room for the marks at 0
            ax.locator_params(axis="x", nbins=4, min_n_ticks=3)
            ax.set_title(which, loc="left", fontsize="medium")
            ax.tick_params(axis="y", length=0)
            ax.grid(visible=False, axis="y")
        middles = [
            (lines + 1) * place + (lines - 1) / 2 for place in range(len(places))
        ]
        axes[0].set_yticks(middles, [name.replace(", ", ",\n") for name in places])
        axes[0].set_ylim((lines + 1) * len(places) - 1, -1)
    return cast(Handles, grid[0][0].get_legend_handles_labels()[0])


@by_day.tables
def _(rows: list[Row]) -> str:
    head = "day | stock | policy | wait, min | from fifo | missed, % | from fifo"
    lines = [
        [
            row["day"],
            row["market"],
            row["policy"],
            *(
                cell
                for name in MEASURES
                for cell in (_value(row, name), _against(row, name))
            ),
        ]
        for row in rows
    ]
    told = (
        "Differences are paired by seed; t-tests, Holm over the eight of a comparison's"
        " four"
    )
    return (
        f"{markdown(head, 3, lines)}\n\n"
        f"{told} figures and policies: * p < 0.05, *** p < 0.001."
    )


def _value(row: Row, name: str) -> str:
    return f"{row[name]:.2f} ± {row[f'{name}_half_width']:.2f}"


def _against(row: Row, name: str) -> str:
    if f"{name}_from_fifo" not in row:
        return ""
    p = row[f"{name}_p_holm"]
    marks = "" if p is None else stars(p).replace("*", "\\*")
    return f"{row[f'{name}_from_fifo']:+.2f} {marks}".strip()


@by_day.says
def _(rows: list[Row]) -> str:
    seen = [row for row in rows if row["market"].endswith("seen")]
    watch = where(seen, policy="watch")
    won = sum(
        row["miss_pct"]
        <= min(numbers(where(seen, day=row["day"], market=row["market"]), "miss_pct"))
        for row in watch
    )
    return (
        "Where the stock is seen, watch misses no more than any other of these"
        f" policies in {won} of {len(watch)} cases. Persistence alone shortens waits:"
        " while a type is out of stock, fewer slots are sent into the long delay than"
        " when every dispatch draws its own."
    )


def _panels(
    grid: Any, rows: Mapping[str, list[Row]], column: str, places: list[Any], told: str
) -> None:
    """Draw a row of panels per title, one panel per measure, over a column's values."""
    for (title, own), line in zip(rows.items(), grid):
        for name, ax in zip(MEASURES, line):
            _lines(ax, own, [places.index(row[column]) for row in own], name)
            ax.set_title(title, loc="left", fontsize="medium")
    for ax in grid[-1]:
        ax.set_xticks(range(len(places)), list(map(str, places)))
        ax.set_xlabel(told)


def _lines(ax: Axes, rows: Sequence[Row], x: Sequence[float], name: str) -> None:
    """Draw marks of each policy with 95 % intervals, side by side, joined by a line."""
    for number, (policy, look) in enumerate(zip(POLICIES, looks(POLICIES))):
        own = [(row, at) for row, at in zip(rows, x) if row["policy"] == policy]
        aside = 0.12 * (number - (len(POLICIES) - 1) / 2)
        ax.errorbar(
            [at + aside for _, at in own],
            [row[name] for row, _ in own],
            [row[f"{name}_half_width"] for row, _ in own],
            color=look.colour,
            marker=look.marker,
            linestyle=look.line,
            markersize=3.5,
            elinewidth=0.8,
            label=policy,
        )
    ax.set_ylabel(MEASURES[name])


def _legend(canvas: Canvas, ax: Axes) -> Handles:
    """Return legend handles of the policies; start every value axis at 0."""
    for each in canvas.axes:
        each.set_ylim(0, max(1.0, each.get_ylim()[1]))
    return cast(Handles, ax.get_legend_handles_labels()[0])


CELLS = {  # verdict -> colour and sign
    HOLDS: ("#0072B2", "+"),
    FAILS: ("#D55E00", "\N{MINUS SIGN}"),
    GONE: ("#F5C189", "0"),
    UNDECIDED: ("#E4E4E4", "?"),
    DEPENDS: ("#FFFFFF", "\N{PLUS-MINUS SIGN}"),
}
EDGE: dict[str, Any] = {"edgecolor": "#888888", "linewidth": 0.4}  # of a cell


def _by_finding(rows: list[Row]) -> dict[tuple[str, str], dict[str, str]]:
    """Return verdicts on each finding with runs, by market.

    And by group, after its markets, if it has several.
    """
    found: dict[tuple[str, str], dict[str, str]] = {}
    for group, markets in _groups(rows).items():
        own = where(rows, group=group)
        for row in own:
            by_market = found.setdefault((row["where"], row["sentence"]), {})
            by_market[row["market"]] = row["in_market"]
        for row in own if len(markets) > 1 else ():
            found[row["where"], row["sentence"]][f"all {group}"] = row["in_group"]
    return found


def _groups(rows: list[Row]) -> dict[str, list[str]]:
    """Return the groups of markets, each with its markets."""
    judged = [row for row in rows if row["in_market"] != NO_MEANING]
    return {
        group: list(dict.fromkeys(row["market"] for row in own))
        for group, own in grouped(judged, lambda row: str(row["group"])).items()
    }


findings = FIGURES.add(
    "findings",
    "The thesis's findings on other markets",
    (6.3, 8.4),
    note=(
        "by how long stock persists; as many seeds as behind the printed figures, 30"
        " or 10; in replays those\n"
        "that begin on one day count once, and the months all together"
    ),
    options=" market=FILE",
    rows=Runs.judged,
    legend={"columns": len(CELLS)},
)


@findings.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    found, ax = _by_finding(rows), canvas.subplots()
    markets = list(next(iter(found.values())))
    firsts = [own[0] for own in _groups(rows).values()]
    gaps = [
        0.3 * (name in firsts) + 0.15 * (name.startswith("all ")) for name in markets
    ]
    places = [x + gap for x, gap in enumerate(accumulate(gaps))]
    for y, verdicts in enumerate(found.values()):
        for x, verdict in zip(places, verdicts.values()):
            colour, sign = CELLS[verdict]
            ax.barh(y, 0.94, 0.9, x - 0.47, color=colour, **EDGE)
            ax.text(x, y, sign, ha="center", va="center_baseline", color=ink_on(colour))
    texts = [textwrap.fill(f"{where}. {said}", 50) for where, said in found]
    ax.set_yticks(range(len(texts)), texts, fontsize="small")
    ax.set_xticks(places, markets, rotation=90)
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    ax.set(xlim=(places[0] - 0.5, places[-1] + 0.5), ylim=(len(texts) - 0.5, -0.5))
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    return [
        Patch(facecolor=colour, label=f"{sign} {verdict}", **EDGE)
        for verdict, (colour, sign) in CELLS.items()
        if any(verdict in verdicts.values() for verdicts in found.values())
    ]


@findings.tables
def _(rows: list[Row]) -> str:
    """The verdicts by group of markets, each with its reasons, in Markdown; and what
    they mean.
    """
    groups = _groups(rows)
    lines = [
        [place, sentence]
        + [
            _reasons(where(rows, where=place, sentence=sentence, group=group))
            for group in groups
        ]
        for place, sentence in _by_finding(rows)
    ]
    head = " | ".join(["where", "finding", *groups])
    outside = [
        f"- {row['where']}: {row['sentence']}; {row['part']}."
        for row in where(rows, in_market=NO_MEANING)
    ]
    return "\n\n".join(
        [
            markdown(head, len(groups) + 2, lines),
            _RULES,
            "Without a meaning on other markets:",
            "\n".join(outside),
        ]
    )


def _reasons(rows: list[Row]) -> str:
    """Describe a finding's verdict in a group, with counts and deciding criteria."""
    markets = {row["market"]: row["in_market"] for row in rows}
    whole = rows[0]["in_group"]
    parts = []
    for verdict in sorted(CELLS, key=lambda each: each != whole):
        if own := [
            row for row in rows if row["of_part"] == row["in_market"] == verdict
        ]:
            row, among, where = _deciding(own, verdict), "", ""
            if len(markets) > 1:
                among = f" in {list(markets.values()).count(verdict)} of {len(markets)}"
                where = f" ({row['market']})"
            parts.append(f"{verdict}{among}: {_estimate(row, verdict)}{where}")
    told = "; ".join(parts)
    return f"**{whole}**" + (
        told.removeprefix(whole) if told.startswith(whole) else f": {told}"
    )


def _estimate(row: Row, verdict: str) -> str:
    """Format a criterion's value with its interval."""
    value, half, p = row["value"], row["half_width"], row[_p(verdict)]
    if row["n"] < 2 or math.isinf(half):
        return f"{row['part']} {value:+z{digits(value)}}, n = {row['n']}: no interval"
    form = digits(max(abs(value), half))
    return f"{row['part']} {value:+z{form}} ± {half:{form}}, p {p_text(p)}"


def _deciding(rows: list[Row], verdict: str) -> Row:
    """Return a verdict's least certain criterion if all must hold, else the surest."""
    choose = max if verdict in (HOLDS, UNDECIDED) else min
    return choose(rows, key=lambda row: float(row[_p(verdict)]))


def _p(verdict: str) -> str:
    """Return the name of the p-value that a verdict rests on."""
    return "p_gone" if verdict == GONE else "p_holm"


_RULES = (
    "Every finding is the reproduction report's own test, on other runs. Markets stand"
    " in groups: the thesis's own; those whose stock persists; and a measured one,"
    " replayed, unseen and seen. Behind each verdict stands in how many markets of the"
    " group it is so, and of these the part that decides. Parts that compare policies"
    " rest on differences by seed; in a replay seeds that begin on one of its days"
    " count once, each day may be correlated with the next, and the months count once"
    " all together. p is two-sided, by Student's t against the nearest bound of the"
    " part, with Holm's adjustment over all parts in the market. **holds**: all parts"
    " lie within their bounds, p < 0.05. **does not hold**: one lies outside."
    " **gone**: none lies outside, but a difference of two policies is within"
    f" {MARGINS['wait_min']:g} minute, or {MARGINS['miss_pct']:g} points of missed"
    " deadlines, of 0 (p < 0.05, Holm over these tests), and its sign is not sure."
    " **undecided**: else, at these seeds. Over the markets of a group a finding"
    " **holds** if it does in each, **does not hold** if in each it does not or is"
    " gone, **depends** if it holds in one and does not, or is gone, in another, and"
    " is undecided else."
)


@findings.says
def _(rows: list[Row]) -> str:
    found = _by_finding(rows)
    told = "; ".join(f"{group}: {_counted(rows, group)}" for group in _groups(rows))
    by_market = "; ".join(
        f"{name} {sum(own[name] == HOLDS for own in found.values())}"
        for markets in _groups(rows).values()
        for name in markets
    )
    return (
        f"Verdicts on {len(found)} findings, by group of markets: {told}. Findings that"
        f" hold, by market: {by_market}. A replay is of one month: its seeds differ in"
        " the day on which they begin."
    )


def _counted(rows: list[Row], group: str) -> str:
    """Count the findings by verdict in a group."""
    own = {
        (row["where"], row["sentence"]): row["in_group"]
        for row in where(rows, group=group)
    }
    counts = Counter(own.values())
    return ", ".join(
        f"{verdict} {counts[verdict]}" for verdict in (HOLDS, FAILS, DEPENDS, UNDECIDED)
    )


def _intro(_: Runs) -> list[str]:
    return [
        "# The thesis's days on a market whose stock persists",
        (
            "In the thesis every dispatch draws the stock that it meets anew. Here the"
            " variate of a type's stock is held, and drawn anew at the epochs of a"
            " Poisson process; the chances at each hour are the thesis's. `watch` holds"
            " a slot while its type is seen out of stock and is expected to recover"
            " sooner than the delay would end. Each picture has the CSV of what is"
            " plotted beside it. All of them: `cgrsp papers figures market --out"
            " figures/market`; with `market=FILE` (here of H100 and A100 GPUs,"
            " October and November 2025) the findings are judged on a replayed market,"
            " too: the statuses of its types, in turn for the thesis's, whose prices"
            " and times remain."
        ),
    ]


def _runs(executor: Executor | int | None, market: Sequence[str | Path] = ()) -> Runs:
    """Return the runs, with findings also on a measured market.

    market: files for `cg.measured`.
    """
    return Runs(executor=executor, replay=measured(*market) if market else None)


GALLERY = Gallery("market", _runs, FIGURES, _intro)
draw_figures = GALLERY.draw
