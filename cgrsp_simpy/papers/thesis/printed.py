"""Every printed statement of the thesis's results, as entries of the ledger."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from inspect import signature
from pathlib import Path

from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.decide.month import month
from cgrsp_simpy.market.gpu import THESIS_GPUS
from cgrsp_simpy.market.law import CLOCKS, Market
from cgrsp_simpy.market.stock import DAY_S
from cgrsp_simpy.papers import ledger
from cgrsp_simpy.papers.ledger import UNTESTABLE, Entry
from cgrsp_simpy.papers.thesis.experiments import (
    SINGLE_SEED,
    TABLES,
    Measure,
    Results,
    reproduce,
)
from cgrsp_simpy.papers.thesis.published import INPUTS, PRINTED
from cgrsp_simpy.papers.thesis.readings import readings
from cgrsp_simpy.papers.thesis.statements import CLAIMS, LARGE, TEN, judged_claims
from cgrsp_simpy.papers.thesis.verdict import CANNOT, Judged, inputs, judged, z_limit
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.job import Service
from cgrsp_simpy.rental.policies.hybrid import cadr, spt_rescue
from cgrsp_simpy.rental.policies.rolling_horizon import (
    MISS_WEIGHT,
    WAIT_WEIGHT,
    rolling_horizon,
)
from cgrsp_simpy.rental.workload import DAYS
from cgrsp_simpy.studies.store import Store, open_store

OF_CLAIMS = ("5.14", "6.1")  # tables of sentences, with which all others are judged
IDS = (*INPUTS, *TABLES, *OF_CLAIMS)  # of all tables, and of numbers of the text
JOBS = {"RTX 3090": 1119, "RTX A5000": 4916, "RTX A4000": 257, "RTX A4500": 335}
claimed, compared = (
    partial(judge, "thesis") for judge in (ledger.claimed, ledger.compared)
)
settings = partial(ledger.settings, "thesis")
untestable = partial(ledger.untestable, "thesis")


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
        yield from judged_claims(results)
    if [*ids] == [*IDS]:
        yield from readings(results, executor)
        for where, reason in CANNOT:
            yield Entry("thesis", where, "", UNTESTABLE, reason=reason)
        yield from of_text()


def of_text() -> list[Entry]:
    """Return the entries of settings and other numbers in the text of Chapter 5."""
    return [*_settings(), *_computed(), *_untestable()]


def _settings() -> list[Entry]:
    market, by_hour = Market(), dict(CLOCKS["printed"].bands)
    calibrated = {factor: hour for hour, factor in market.clock.bands}
    return [
        *settings(
            "the default here",
            (
                "Section 5.1.1",
                "least and greatest delay at High, Medium and Low stock, s",
                "0 to 10, 30 to 120, 600 to 7200",
                [bound for bounds in market.delay_s for bound in bounds],
            ),
            (
                "Section 5.1.1",
                "m(t) off-peak, in the morning, at the peak and in the evening",
                "1.3, 0.9, 0.5, 1.0",
                [factor for _, factor in market.clock.bands],
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
        ),
        *settings(
            "the tables are judged with these",
            ("Section 5.1.2", "seed of Phase 2", "42", [SINGLE_SEED]),
            (
                "Section 5.1.2",
                "replications of Phases 3 and 4",
                "30, 10",
                [PRINTED["5.2"].n, PRINTED["5.13"].n],
            ),
            ("Section 5.1.3", "least |d| of a meaningful effect", "0.8", [LARGE]),
        ),
        *settings(
            "calibrated to the tables, see the start of the peak; as printed:"
            " clock=printed",
            (
                "Figure 5.3",
                "hours at which off-peak, morning, peak and evening begin",
                "18, 6, 9, 0",
                [calibrated[by_hour[hour]] for hour in (18, 6, 9, 0)],
            ),
        ),
    ]


def _computed() -> list[Entry]:
    price = {gpu.name: gpu.price_usd_per_h for gpu in THESIS_GPUS}
    dearer = price["RTX 3090"] / price["RTX A5000"]
    cost = {name: float(cells[3]) for name, cells in PRINTED["5.2"].rows.items()}
    more_pct = 100 * abs(cost["RH"] / cost["SPT+Rescue"] - 1)
    surge = dict(zip(PRINTED["5.5"].columns, PRINTED["5.5"].rows["surge"]))
    misses = [float(surge[name].split("/")[1]) for name in ("FIFO", "LCF", "Balanced")]
    place = PRINTED["5.11"].columns.index("FIFO")
    worst = min(float(cells[place]) for cells in PRINTED["5.11"].rows.values())
    loads = [
        (text, day(name, slots=slots).known().offered_load, slots, bounds)
        for text, name, slots, bounds in (
            ("quiet day: far below 1", "quiet", 5, (0, 0.1)),
            ("normal day: far below 1", "normal", 5, (0, 0.1)),
            ("hectic day: above 1", "hectic", 5, (1, math.inf)),
            ("hectic day: far above 1", "hectic", 3, (2, math.inf)),
        )
    ]
    runs = len(DAYS) * len(TEN) * PRINTED["5.5"].n
    return [
        *(
            claimed(
                "Section 5.5",
                f"rho, {slots} slots, {text}",
                low < load < high,
                f"{load:.3g}",
                "lambda times the mean execution time over C_max, as in Algorithm 4",
                "1",
                ledger.DIFFERENT,
            )
            for text, load, slots, (low, high) in loads
        ),
        compared(
            "Section 5.1.1",
            "run of 86,400 s, in h",
            "24",
            DAY_S / 3600,
            "runs last until all jobs are completed here",
            0,
        ),
        compared(
            "Section 5.1.1",
            "jobs of all GPU types",
            "6,627",
            sum(JOBS.values()),
            ", ".join(f"{name} {jobs:,}" for name, jobs in JOBS.items()),
            0,
        ),
        compared(
            "Section 5.1.1",
            "RTX 3090 dearer than the A5000, %",
            "70",
            100 * (dearer - 1),
            "Table 4.1",
        ),
        compared(
            "Section 5.1.2",
            "runs of the comparison of days",
            "1,200",
            runs,
            "four days, ten schedulers, 30 seeds",
            0,
        ),
        compared(
            "Section 5.1.3",
            "Student's t of 95 % (alpha 0.05) with 29 degrees of freedom",
            "2.045",
            z_limit(30),
            within=0.0005,
        ),
        claimed(
            "Section 5.3",
            "cost of RH, within this of SPT+Rescue's, %",
            more_pct <= 1,
            f"{more_pct:.2f}",
            "Table 5.2",
            "1",
        ),
        claimed(
            "Figure 5.5",
            "miss of FIFO, LCF and Balanced on surge days, %",
            min(misses) >= 10 and max(misses) <= 11,
            f"{min(misses):g} to {max(misses):g}",
            "Table 5.5",
            "10 to 11",
        ),
        claimed(
            "Section 5.5.7",
            "FIFO's composite is near this in every row",
            worst >= 0.9,
            f"at least {worst:g}",
            "Table 5.11",
            "1.00",
        ),
    ]


def _untestable() -> list[Entry]:
    return [
        *untestable(
            "the data set of rendering jobs is not public",
            ("Section 5.1.1", "execution times, s", "30 to 352"),
            ("Section 5.1.1", "coefficient of variation", "0.28"),
            ("Section 5.1.1", "mean times of RTX 3090 and A5000, s", "78.1, 74.0"),
            ("Section 5.1.1", "resolutions", "1080p to 4K"),
            ("Figure 5.1", "median times of A5000 and A4000, s", "68, 87"),
            ("Figure 5.1", "hours of most arrivals", "06:00 to 09:00"),
        ),
        *untestable(
            "the snapshots are not public",
            ("Section 5.1.1", "snapshots", "77"),
            ("Section 5.1.1", "their hours", "01:00 to 02:00, 18:00 to 19:00"),
        ),
    ]


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
