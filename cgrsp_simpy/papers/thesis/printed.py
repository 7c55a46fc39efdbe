"""Every printed statement of the thesis's results, as entries of the ledger.

The thesis does not state the stock's hours, the order of jobs with equal times and the
month's mix of days in its runs. Interpretations of these are fitted to the tables (for
the mix, rows) with odd numbers and tested on those with even numbers, and vice versa.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cache
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.decide.month import THESIS_MIX, month
from cgrsp_simpy.market.gpu import THESIS_GPUS
from cgrsp_simpy.market.model import CLOCKS, Market
from cgrsp_simpy.market.stock import DAY_S
from cgrsp_simpy.papers.ledger import (
    DIFFERENT,
    REPRODUCED,
    UNDECIDED,
    UNTESTABLE,
    Entry,
    Setting,
    claimed,
    compared,
    settings,
    untestable,
    verdict_of,
)
from cgrsp_simpy.papers.thesis.claims import judge
from cgrsp_simpy.papers.thesis.experiments import (
    COLUMNS,
    MONTH,
    NAMES,
    SINGLE_SEED,
    TABLES,
    Cell,
    Measure,
    Results,
    Source,
    Table,
    average,
    reproduce,
)
from cgrsp_simpy.papers.thesis.published import INPUTS, JOBS_OF_TYPES, PRINTED
from cgrsp_simpy.papers.thesis.statements import CLAIMS, LARGE, TEN, of_records
from cgrsp_simpy.papers.thesis.verdict import (
    CANNOT,
    Judged,
    inputs,
    judged,
    rounding,
    tally,
    z_limit,
)
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.job import Job, Service
from cgrsp_simpy.rental.policies import make_policy
from cgrsp_simpy.rental.policies.hybrid import (
    MISS_WEIGHT,
    WAIT_WEIGHT,
    cadr,
    rolling_horizon,
    spt_rescue,
)
from cgrsp_simpy.rental.policies.rules import ListPolicy, Tiers
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.view import Assignment, View
from cgrsp_simpy.rental.workload import DAYS
from cgrsp_simpy.studies.store import Store, open_store

# ---- interpretations ----

HALVES = {"odd": ("5.5", "5.7", "5.9"), "even": ("5.2", "5.4", "5.6", "5.8", "5.10")}
SEEDS = 3  # seeds of the runs that select the reading
AGREEING_PCT = 90.0  # share of agreeing cells that confirms a reading
SHARE_STEPS = 20  # grid steps of the shares of days
SETS = 5  # sets of 30 normal days each
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
            reading: float(
                np.nanmedian(
                    [
                        abs(cell.z)
                        for id in HALVES[fitted]
                        for cell in judged(results.tables[id], results)
                    ]
                )
            )
            for reading, results in tried.items()
        }
        best = min(misfits, key=misfits.__getitem__)
        runs = full if best == first else tried[best]
        agreement = tally(
            c for id in HALVES[other] for c in judged(tried[best].tables[id], runs)
        )
        verdict = REPRODUCED if agreement.share_pct >= AGREEING_PCT else DIFFERENT
        medians = ", ".join(f"{key} {value:.2f}" for key, value in misfits.items())
        yield Entry(
            where,
            f"{name}: fitted on {fitted} tables, judged on {other} ones",
            UNDECIDED if agreement.undecided else verdict,
            ours=f"{best}: {agreement}",
            reason=f"median |z| of {fitted} tables: {medians}{whole}{tally(all_cells)}",
        )


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
            source = Source(MONTH, NAMES[row], COLUMNS[column])
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
        yield Entry(
            "Table 5.13",
            f"mix of days: fitted on {fitted} rows, judged on {other} ones",
            REPRODUCED if 100 * agree.mean() >= AGREEING_PCT else DIFFERENT,
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
    share = mean(agree.tolist())
    numbers = ", ".join(f"{number:.0f}" for number in agree)
    return Entry(
        "Table 5.5",
        f"normal day: cells that agree of {len(cells)}, over sets of {days} days",
        verdict_of(0.95 * len(cells), share),
        ours=f"{numbers}: {share.mean:.1f} ± {share.half_width:.1f}",
        reason=f"{0.95 * len(cells):g} are expected of a perfect model; the policies"
        " meet the same days, so that cells agree or differ together, and one set of"
        " days is weak evidence",
    )


# ---- entries of the ledger ----

OF_CLAIMS = ("5.14", "6.1")  # tables of sentences, with which all others are judged
IDS = (*INPUTS, *TABLES, *OF_CLAIMS)  # ids of all tables and numbers of the text


def entries(
    seeds: int | None = None,
    executor: Executor | int | None = None,
    ids: Sequence[str] = IDS,
    out: str | Path | None = None,
) -> Iterator[Entry]:
    """Yield the cells of tables, sentences, readings and untestable statements.

    seeds: replications (months for 5.13), by default the printed numbers. ids: ids of
    tables; 5.14 or 6.1 selects all sentences. executor, out: as in `compare`. Raises
    InputError for an unknown table.
    """
    results, _ = run_tables(ids, seeds, executor, out)
    for cell in judged_cells(results, ids):
        if cell.printed or cell.verdict == UNTESTABLE:
            yield cell.entry()
    if {*ids} & {*OF_CLAIMS}:
        yield from (judge(claim, results) for claim in CLAIMS)
        yield from of_records()
    if [*ids] == [*IDS]:
        yield from readings(results, executor)
        for where, reason in CANNOT:
            yield Entry(where, "", UNTESTABLE, reason=reason)
        yield from of_text()


def of_text() -> list[Entry]:
    """Return the entries of settings and other numbers in the text of Chapter 5."""
    return [*settings(SETTINGS), *_computed(), *untestable(NOT_TESTABLE)]


FACTORS = dict(CLOCKS["printed"].bands)  # hour -> m(t)
# m(t) -> hour
CALIBRATED = {factor: hour for hour, factor in Market().clock.bands}
# reason -> place, subject, printed text and our values
SETTINGS: dict[str, list[Setting]] = {
    "the default here": [
        (
            "Section 5.1.1",
            "least and greatest delay at High, Medium and Low stock, s",
            "0 to 10, 30 to 120, 600 to 7200",
            [bound for bounds in Market().delay_s for bound in bounds],
        ),
        (
            "Section 5.1.1",
            "m(t) off-peak, in the morning, at the peak and in the evening",
            "1.3, 0.9, 0.5, 1.0",
            [*CALIBRATED],
        ),
        (
            "Section 5.1.1",
            "alpha_1 and alpha_2",
            "1, 10",
            [WAIT_WEIGHT, MISS_WEIGHT],
        ),
        (
            "Section 5.1.1",
            "deviation of times within strata; ours at complexity 2",
            "0.11",
            [Service().sigma[1]],
        ),
        *(
            (where, what, text, [signature(policy).parameters[name].default])
            for where, what, text, policy, name in (
                ("Section 5.5.4", "theta, s", "600", spt_rescue, "threshold_s"),
                ("Section 5.5.5", "CR*", "3", cadr, "critical_ratio"),
                ("Section 5.5.6", "rho_res", "1", rolling_horizon, "reserve"),
            )
        ),
        ("Section 5.1.2", "days of Phase 4", "30", [month().days]),
    ],
    "the tables are judged with these": [
        ("Section 5.1.2", "seed of Phase 2", "42", [SINGLE_SEED]),
        (
            "Section 5.1.2",
            "replications of Phases 3 and 4",
            "30, 10",
            [PRINTED["5.2"].n, PRINTED["5.13"].n],
        ),
        ("Section 5.1.3", "least |d| of a meaningful effect", "0.8", [LARGE]),
    ],
    (
        "calibrated to the tables, see the start of the peak; as printed: clock=printed"
    ): [
        (
            "Figure 5.3",
            "hours at which off-peak, morning, peak and evening begin",
            "18, 6, 9, 0",
            [CALIBRATED[FACTORS[hour]] for hour in (18, 6, 9, 0)],
        ),
    ],
}


def _loads() -> list[Entry]:
    loads = [
        (text, day(name, slots=slots).known().offered_load, slots, bounds)
        for text, name, slots, bounds in (
            ("quiet day: far below 1", "quiet", 5, (0, 0.1)),
            ("normal day: far below 1", "normal", 5, (0, 0.1)),
            ("hectic day: above 1", "hectic", 5, (1, math.inf)),
            ("hectic day: far above 1", "hectic", 3, (2, math.inf)),
        )
    ]
    return [
        claimed(
            "Section 5.5",
            f"rho, {slots} slots, {text}",
            low < load < high,
            ours=f"{load:.3g}",
            reason="lambda times the mean execution time over C_max, as in Algorithm 4",
            printed="1",
            otherwise=DIFFERENT,
        )
        for text, load, slots, (low, high) in loads
    ]


def _computed() -> list[Entry]:
    price = {gpu.name: gpu.price_usd_per_h for gpu in THESIS_GPUS}
    dearer = price["RTX 3090"] / price["RTX A5000"]
    cost = {name: float(cells[3]) for name, cells in PRINTED["5.2"].rows.items()}
    more_pct = 100 * abs(cost["RH"] / cost["SPT+Rescue"] - 1)
    surge = dict(zip(PRINTED["5.5"].columns, PRINTED["5.5"].rows["surge"]))
    misses = [float(surge[name].split("/")[1]) for name in ("FIFO", "LCF", "Balanced")]
    least, most = 10, 11
    place = PRINTED["5.11"].columns.index("FIFO")
    worst = min(float(cells[place]) for cells in PRINTED["5.11"].rows.values())
    return [
        *_loads(),
        compared(
            "Section 5.1.1",
            "run of 86,400 s, in h",
            "24",
            DAY_S / 3600,
            reason="runs last until all jobs are completed here",
        ),
        compared(
            "Section 5.1.1",
            "jobs of all GPU types",
            "6,627",
            sum(JOBS_OF_TYPES.values()),
            reason=", ".join(
                f"{name} {jobs:,}" for name, jobs in JOBS_OF_TYPES.items()
            ),
        ),
        compared(
            "Section 5.1.1",
            "RTX 3090 dearer than the A5000, %",
            "70",
            100 * (dearer - 1),
            reason="Table 4.1",
        ),
        compared(
            "Section 5.1.2",
            "runs of the comparison of days",
            "1,200",
            len(DAYS) * len(TEN) * PRINTED["5.5"].n,
            reason="four days, ten schedulers, 30 seeds",
        ),
        compared(
            "Section 5.1.3",
            "Student's t of 95 % (alpha 0.05) with 29 degrees of freedom",
            "2.045",
            z_limit(30),
        ),
        claimed(
            "Section 5.3",
            "cost of RH, within this of SPT+Rescue's, %",
            more_pct <= 1,
            ours=f"{more_pct:.2f}",
            reason="Table 5.2",
            printed="1",
        ),
        claimed(
            "Figure 5.5",
            "miss of FIFO, LCF and Balanced on surge days, %",
            least <= min(misses) and max(misses) <= most,
            ours=f"{min(misses):g} to {max(misses):g}",
            reason="Table 5.5",
            printed=f"{least} to {most}",
        ),
        claimed(
            "Section 5.5.7",
            "FIFO's composite is near this in every row",
            worst >= 0.9,
            ours=f"at least {worst:g}",
            reason="Table 5.11",
            printed="1.00",
        ),
    ]


# reason -> place, subject and printed text of the statements that it concerns
NOT_TESTABLE: dict[str, list[tuple[str, str, str]]] = {
    "the data set of rendering jobs is not public": [
        ("Section 5.1.1", "execution times, s", "30 to 352"),
        ("Section 5.1.1", "coefficient of variation", "0.28"),
        ("Section 5.1.1", "mean times of RTX 3090 and A5000, s", "78.1, 74.0"),
        ("Section 5.1.1", "resolutions", "1080p to 4K"),
        ("Figure 5.1", "median times of A5000 and A4000, s", "68, 87"),
        ("Figure 5.1", "hours of most arrivals", "06:00 to 09:00"),
    ],
    "the snapshots are not public": [
        ("Section 5.1.1", "snapshots", "77"),
        ("Section 5.1.1", "their hours", "01:00 to 02:00, 18:00 to 19:00"),
    ],
}


def judged_cells(results: Results, ids: Sequence[str]) -> Iterator[Judged]:
    """Yield the figures of tables, compared with ours."""
    for id in ids:
        if id not in OF_CLAIMS:
            yield from judged(TABLES[id], results) if id in TABLES else inputs(id)


def run_tables(
    ids: Sequence[str],
    replications: int | None = None,
    executor: Executor | int | None = None,
    out: str | Path | None = None,
) -> tuple[Results, Store | None]:
    """Return the runs behind tables and the store; arguments as in `entries`."""
    most = replications or max(
        (TABLES[id].seeds(None) for id in ids if id in TABLES), default=30
    )
    store = open_store(
        out, "thesis", {}, range(most), tables=list(ids), replications=replications
    )
    return reproduce(wanted_of(ids, replications), replications, executor, store), store


def wanted_of(
    ids: Sequence[str], replications: int | None = None
) -> list[tuple[Measure, int]]:
    """Return the measures of tables with numbers of seeds; InputError if unknown."""
    for id in ids:
        check_one_of("table", id, IDS)
    wanted = [
        (cell.measure, TABLES[id].seeds(replications))
        for id in ids
        if id in TABLES
        for cell in TABLES[id].cells
    ]
    if {*ids} & {*OF_CLAIMS}:
        wanted += [
            (part.measure, replications or part.n)
            for claim in CLAIMS
            for part in claim.parts
            if isinstance(part.measure, Measure)
        ]
    return wanted


GROUPS = {"cgrsp papers tables thesis": entries}
