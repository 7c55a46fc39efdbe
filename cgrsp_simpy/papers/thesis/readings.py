"""Interpretations of the thesis, fitted to half of its numbers and tested on the rest.

The thesis does not state the stock's hours, the order of jobs with equal times and the
month's mix of days in its runs. They are fitted to the tables (for the mix, rows) with
odd numbers and tested on those with even numbers, and vice versa.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.decide.month import THESIS_MIX
from cgrsp_simpy.market.law import CLOCKS
from cgrsp_simpy.papers.ledger import (
    DIFFERENT,
    REPRODUCED,
    UNDECIDED,
    Entry,
    verdict_of,
)
from cgrsp_simpy.papers.thesis.experiments import (
    FIGURES,
    MONTH,
    NAMES,
    TABLES,
    Cell,
    Results,
    Source,
    Table,
    average,
    reproduce,
)
from cgrsp_simpy.papers.thesis.published import PRINTED
from cgrsp_simpy.papers.thesis.verdict import judged, rounding, tally, z_limit
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.policies import make_policy
from cgrsp_simpy.rental.policies.rule import Tiers
from cgrsp_simpy.rental.policies.rules import ListPolicy
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.view import Assignment, View
from cgrsp_simpy.rental.workload import DAYS

HALVES = {"odd": ("5.5", "5.7", "5.9"), "even": ("5.2", "5.4", "5.6", "5.8", "5.10")}
SEEDS = 3  # of the runs that choose
AGREEING_PCT = 90.0  # of the cells of the other half, for a reading that is confirmed
SHARE_STEPS = 20  # of the shares of days
SETS = 5  # of 30 normal days each
HOURS = {  # hours after the start at which the peak of the stock's clock begins
    "after 4 h": CLOCKS["calibrated"],
    "after 3 h": replace(CLOCKS["calibrated"], start_h=9),
    "after 5 h": replace(CLOCKS["calibrated"], start_h=7),
    "as printed": CLOCKS["printed"],
}


@dataclass(frozen=True)
class ByArrival:
    """Named policy that orders jobs of equal rank and time by arrival."""

    name: str

    def __call__(self, view: View) -> list[Assignment]:
        return _by_arrival(self.name)(view)


@cache
def _by_arrival(name: str) -> ListPolicy:
    policy = make_policy(name)
    assert isinstance(policy, ListPolicy) and isinstance(policy.order, Tiers)
    rule = policy.order

    def order(view: View) -> list[Job]:
        fronts = rule.fronts(view, view.idle_count)
        # a tier without seconds is by deadline
        fronts.sort(key=lambda key: (*key[:2], 0 if key[1] else key[2], key[3]))
        return [job for *_, job in fronts]

    return ListPolicy(order, policy.place, name, policy.reserve)


def readings(results: Results, executor: Executor | int | None) -> Iterator[Entry]:
    """Yield the verdicts on interpretations; results: results of all tables."""
    seeds = min(SEEDS, results.replications or SEEDS)
    few = replace(results, replications=seeds, tables=_tables(False))

    def run(tables: Mapping[str, Table], clock: str = "after 4 h") -> Results:
        def market(scenario: Scenario) -> Scenario:
            return replace(
                scenario, market=replace(scenario.market, clock=HOURS[clock])
            )

        measures = [
            (c.measure, seeds) for table in tables.values() for c in table.cells
        ]
        return replace(
            reproduce(measures, seeds, executor, market=market), tables=tables
        )

    clocks = {clock: run(_tables(False), clock) for clock in [*HOURS][1:]}
    yield from _halved(
        "Section 5.1.1", "start of the peak", {"after 4 h": few} | clocks, results
    )
    some = replace(few, tables=_tables(True))
    late = {
        id: replace(table, cells=tuple(map(_late, table.cells)))
        for id, table in some.tables.items()
    }
    ties = {"by deadline": some, "by arrival": run(late)}
    yield from _halved("Section 4.5", "order of jobs of equal time", ties, results)
    yield from _mixes(results)
    yield _normal_days(executor)


def _tables(tied: bool) -> dict[str, Table]:
    """Return the counted cells; tied: only of policies that can rank jobs equally."""
    return {
        id: replace(
            table,
            cells=tuple(
                cell
                for cell in table.cells
                if cell.measure.statistic is average
                and not cell.again
                and (not tied or _is_tied(cell.measure.sources[0].policy))
            ),
        )
        for id, table in TABLES.items()
        if id in sum(HALVES.values(), ())
    }


def _late(cell: Cell) -> Cell:
    (source,) = cell.measure.sources
    policy: Any = ByArrival(source.policy)
    measure = cell.measure._replace(sources=(source._replace(policy=policy),))
    return replace(cell, measure=measure)


def _is_tied(policy: str) -> bool:
    order = getattr(make_policy(policy), "order", None)
    return isinstance(order, Tiers) and order.function.__name__ != "by_deadline"


def _halved(
    where: str, name: str, tried: Mapping[str, Results], full: Results
) -> Iterator[Entry]:
    """Fit on each half. The first reading is the package's and has the full runs."""
    first, whole = next(iter(tried)), "; fitted and judged on all tables: "
    tables = tried[first].tables
    all_cells = [cell for id in tables for cell in judged(tables[id], full)]
    for fitted, other in (("odd", "even"), ("even", "odd")):
        misfits = {
            reading: float(np.nanmedian([abs(z) for z in _z(results, HALVES[fitted])]))
            for reading, results in tried.items()
        }
        best = min(misfits, key=misfits.__getitem__)
        runs = full if best == first else tried[best]
        found = tally(
            c for id in HALVES[other] for c in judged(tried[best].tables[id], runs)
        )
        verdict = REPRODUCED if found.share_pct >= AGREEING_PCT else DIFFERENT
        medians = ", ".join(f"{key} {value:.2f}" for key, value in misfits.items())
        yield Entry(
            "thesis",
            where,
            f"{name}: fitted on {fitted} tables, judged on {other} ones",
            UNDECIDED if found.undecided else verdict,
            ours=f"{best}: {found}",
            reason=f"median |z| of {fitted} tables: {medians}{whole}{tally(all_cells)}",
        )


def _z(results: Results, ids: tuple[str, ...]) -> list[float]:
    return [cell.z for id in ids for cell in judged(results.tables[id], results)]


def _mixes(results: Results) -> Iterator[Entry]:
    """Fit the mix of days on the rows of Table 5.13 of one half, by least squares."""
    table, kinds = PRINTED["5.13"], [*THESIS_MIX]
    n = results.replications or table.n
    shares = (
        np.array(
            [
                (*some, SHARE_STEPS - sum(some))
                for some in product(range(1, SHARE_STEPS), repeat=len(kinds) - 1)
                if sum(some) < SHARE_STEPS
            ]
        )
        / SHARE_STEPS
    )
    jobs = shares * [DAYS[kind][1] for kind in kinds]
    z = []
    for row, cells in table.rows.items():
        for column, text in zip(table.columns, cells):
            source = Source(MONTH, NAMES[row], FIGURES[column])
            by_kind = np.array(
                [
                    results.values(
                        source._replace(scenario=f"{MONTH} {kind}"), n
                    ).mean()
                    for kind in kinds
                ]
            )
            total = column.startswith("cost")
            weights = 30 * shares if total else jobs / jobs.sum(axis=1, keepdims=True)
            error = results.values(source, n).std(ddof=1) / np.sqrt(table.n)
            z.append((float(text.split()[0]) - weights @ by_kind) / error)
    by_row = np.abs(z).reshape(len(table.rows), len(table.columns), -1)
    for fitted, other, first in (("odd", "even", 0), ("even", "odd", 1)):
        best = int((by_row[first::2] ** 2).sum(axis=(0, 1)).argmin())
        agree = by_row[1 - first :: 2, :, best] <= z_limit(table.n)
        mix = ", ".join(f"{kind} {x:g}" for kind, x in zip(kinds, shares[best]))
        confirmed = 100 * agree.mean() >= AGREEING_PCT
        yield Entry(
            "thesis",
            "Table 5.13",
            f"mix of days: fitted on {fitted} rows, judged on {other} ones",
            REPRODUCED if confirmed else DIFFERENT,
            ours=f"{mix}: {agree.sum()} of {agree.size} cells agree",
            reason="chosen by all rows: "
            + ", ".join(f"{kind} {x:g}" for kind, x in THESIS_MIX.items())
            + "; the policies meet the same days: rows agree or differ together",
        )


def _normal_days(executor: Executor | int | None) -> Entry:
    """Count the cells of the normal day that agree, over sets of 30 simulated days."""
    days = TABLES["5.5"].n
    cells = [cell for cell in TABLES["5.5"].cells if cell.row == "normal"]
    runs = reproduce([(c.measure, SETS * days) for c in cells], executor=executor)
    agree = np.zeros(SETS)
    for cell in cells:
        (values,) = runs.sample(cell.measure, SETS * days)
        sets = values.reshape(SETS, days)
        gaps = abs(float(cell.figure) - sets.mean(axis=1)) - rounding(cell.figure)
        errors = sets.std(axis=1, ddof=1) * np.sqrt(2 / days)
        agree += gaps <= z_limit(days) * errors
    found = mean(agree.tolist())
    numbers = ", ".join(f"{number:.0f}" for number in agree)
    return Entry(
        "thesis",
        "Table 5.5",
        f"normal day: cells that agree of {len(cells)}, over sets of {days} days",
        verdict_of(0.95 * len(cells), found),
        ours=f"{numbers}: {found.mean:.1f} ± {found.half_width:.1f}",
        reason=f"{0.95 * len(cells):g} are expected of a perfect model; the policies"
        " meet the same days, so that cells agree or differ together, and one set of"
        " days is weak evidence",
    )
