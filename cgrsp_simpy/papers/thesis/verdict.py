"""Verdicts on printed and reproduced figures: is the difference sampling noise?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy

from cgrsp_simpy.analysis.statistics import holm, paired_test
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.market.gpu import THESIS_GPUS
from cgrsp_simpy.papers.ledger import (
    DIFFERENT,
    REPRODUCED,
    UNDECIDED,
    UNTESTABLE,
    Entry,
)
from cgrsp_simpy.papers.thesis.experiments import (
    COUNTED,
    HECTIC,
    NAMES,
    SCORED,
    SINGLE_SEED,
    Cell,
    Excess,
    OfMeans,
    Results,
    Statistic,
    Table,
    average,
    composites,
    weights_in,
)
from cgrsp_simpy.papers.thesis.published import INPUTS, PRINTED
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.job import DeadlineClasses
from cgrsp_simpy.rental.policies import make_policy
from cgrsp_simpy.rental.workload import DAYS
from cgrsp_simpy.studies.replicate import simulate

# ---- Notes on cells that differ, and on what cannot be reproduced ----

# note -> (table, row, column, part) of the cells that differ for this reason
KNOWN = {
    "known: the printed mean of these 30 seeds lies about two standard errors below the"
    " long-run mean": [
        ("5.2", "SPT", "cost, USD", ""),
        ("5.2", "Balanced", "cost, USD", ""),
    ],
    "known: on the normal day CADR's printed figure lies two to two and a half standard"
    " errors from the long-run mean": [
        ("5.5", "normal", "CADR", "wait, min"),
        ("5.5", "normal", "CADR", "miss, %"),
    ],
    "known: the long-run mean is 21.8; its neighbours at 30 % and 70 % agree": [
        ("5.6", "50 %", "SPT+Rescue", "")
    ],
    "known: neither a reservation of 0 nor of 1 slots explains RH's printed miss,"
    " tardiness and cost of the month together": [
        ("5.13", "RH", column, "")
        for column in ("wait, min", "miss, %", "tardiness, min", "cost, USD")
    ],
    "known: in Table 5.2, the same day with as many slots, waits are 129 to 159 min": [
        ("Figure 5.7", "hectic", "least wait, min", ""),
        ("Figure 5.7", "hectic", "greatest wait, min", ""),
    ],
}
# columns that are divided by a standard deviation
STANDARDISED = ("t", "d", "d of wait", "d of miss")

CANNOT = (
    (
        "Table 4.1, Figures 5.1 and 5.3 (b)",
        "The data set of 6,627 rendering jobs is not public: Table 4.1's averages over"
        " all jobs and Figures 5.1 and 5.3 (b) rest on it. Its means by type and"
        " complexity, as printed, are inputs here.",
    ),
    (
        "Table 5.1",
        "Table 5.1 is one seed of a generator that is not public; its figures cannot"
        " recur, but must lie within the distribution over seeds.",
    ),
    (
        "Tables 5.2 to 5.13",
        "The published seeds' random numbers are unknown: equality is possible in"
        " distribution only.",
    ),
    (
        "Tables 2.1 and 3.1 to 3.3",
        "Tables 2.1 and 3.1 to 3.3 are text: related work and symbols.",
    ),
    (
        "Table 5.13",
        "The mix of days of Phase 4 is not printed; it is inferred (0.20 quiet, 0.55"
        " normal, 0.15 hectic, 0.10 surge, drawn day by day) from Table 5.13's"
        " intervals and costs.",
    ),
    (
        "Table 5.3",
        "Of the 22 comparisons of Section 5.3's family Table 5.3 prints 13; Holm's"
        " step-down is taken over these.",
    ),
    (
        "Figures 3.1 to 5.2",
        "Figures 3.1, 3.2, 4.1 and 5.2 are examples and a diagram; they are drawn here"
        " from runs of the same examples.",
    ),
    (
        "Figures 5.4 to 5.9",
        "Figures 5.4 to 5.9 print only the numbers of the tables and of their captions;"
        " they are drawn again from our runs.",
    ),
)
"""Table or figure -> what cannot be reproduced, and why."""

# ---- Verdicts ----

RESAMPLES = 1000  # bootstrap samples, for the deviation of functions of means
COARSEST = 2.0  # see `too_few`


@dataclass(frozen=True)
class Judged:
    """Printed figure compared with ours.

    row, column, part: as in Cell. half_width: that of our 95 % interval. n: our number
    of replications. z: (printed - ours) / error, less the rounding of the printed
    figure; error^2 is the sum of the statistic's variances for the printed number of
    seeds and for ours, for a mean sd^2 (1 / printed n + 1 / n); NaN if undefined.
    verdict: as in the ledger; empty if nothing is printed. counted: whether tallied.
    """

    table: str
    row: str
    column: str
    part: str
    printed: str
    ours: str
    half_width: float = math.nan
    n: int = 0
    z: float = math.nan
    verdict: str = ""
    counted: bool = False
    note: str = ""
    value: float = math.nan  # ours, unrounded

    def entry(self) -> Entry:
        """Return the entry of the ledger."""
        place = f"Table {self.table}" if self.table[0].isdigit() else self.table
        column = f"{self.column}: {self.part}" if self.part else self.column
        half = f"{self.half_width:.{decimals(self.ours)}f}"
        n = PRINTED[self.table].n if self.table in PRINTED else 0
        reasons = (
            "" if math.isnan(self.z) else f"z {self.z:+z.1f}",
            f"{n} seed{'s' * (n > 1)} printed" * (n > 0),
            self.note,
        )
        return Entry(
            place,
            f"{self.row}, {column}",
            self.verdict,
            printed=self.printed,
            ours=self.ours if math.isnan(self.half_width) else f"{self.ours} ± {half}",
            reason="; ".join(filter(None, reasons)),
        )


def judged(table: Table, results: Results) -> list[Judged]:
    """Judge every figure of a table."""
    n = table.seeds(results.replications)
    if table.n == 1:
        cells = [of_cell(table.id, cell, results, n) for cell in table.cells]
        cells += event_utilisation(table.id)
    else:
        cells = [_judge(table, cell, results, n) for cell in table.cells]
        cells += _significance(table, results, n, cells) if table.id == "5.3" else []
    return cells


def _judge(table: Table, cell: Cell, results: Results, n: int) -> Judged:
    values = results.sample(cell.measure, n)
    statistic, printed = cell.measure.statistic, float(cell.figure)
    ours, sd = float(statistic(*values)), deviation(statistic, values, n)
    printed_sd = sd if table.n == n else deviation(statistic, values, table.n)
    z = z_score(printed, ours, math.hypot(sd, printed_sd), rounding(cell.figure))
    verdict = "" if math.isnan(printed) else verdict_of(z, n, table.n)
    return Judged(
        table.id,
        cell.row,
        cell.column,
        cell.part,
        cell.printed,
        f"{ours:.{max(2, decimals(cell.figure))}f}",
        z_limit(n) * sd if math.isfinite(sd) else math.nan,
        n,
        z if math.isfinite(z) or verdict == DIFFERENT else math.nan,
        verdict,
        table.id in COUNTED and statistic is average and not cell.again,
        _note(table.id, cell) if verdict == DIFFERENT else "",
        ours,
    )


def deviation(statistic: Statistic, values: Sequence[np.ndarray], n: int) -> float:
    """Estimate the standard deviation of a statistic over n seeds from ours.

    A mean, or a mean difference by seed, has s / sqrt(n). A function of means, which
    need not be smooth, is bootstrapped with n of our seeds, and its variance corrected
    as a sample variance. Other statistics divide by a deviation and are jackknifed,
    because a bootstrap of few seeds can draw one seed n times. The jackknife is
    infinite for fewer than three seeds, and NaN if the statistic does not exist.
    """
    if isinstance(statistic, Excess):
        values, statistic = [statistic.by_seed(*values)], average
    seeds = len(values[0])
    if statistic is average:
        return float(values[0].std(ddof=1)) / math.sqrt(n)
    if isinstance(statistic, OfMeans):
        drawn = stream(0, "bootstrap").integers(seeds, size=(RESAMPLES, n))
        resampled = statistic(*(figure[drawn] for figure in values))
        resampled = resampled[np.isfinite(resampled)]
        if len(resampled) < 2 or seeds < 2:
            return math.nan
        return float(resampled.std(ddof=1)) * math.sqrt(seeds / (seeds - 1))
    if seeds < 3:
        return math.inf
    return float(_pseudo_values(statistic, values).std(ddof=1)) / math.sqrt(n)


def _pseudo_values(statistic: Statistic, values: Sequence[np.ndarray]) -> np.ndarray:
    """Return the jackknife's pseudo-values n T - (n - 1) T_i, leaving out seed i.

    NaN or infinite if the statistic is. Source: Tukey (1958), Annals of Mathematical
    Statistics 29, 614.
    """
    n = len(values[0])
    without = np.array(
        [
            float(statistic(*(np.delete(figure, seed) for figure in values)))
            for seed in range(n)
        ]
    )
    with np.errstate(invalid="ignore"):  # two infinities
        return np.asarray(n * statistic(*values) - (n - 1) * without)


def z_score(printed: float, ours: float, error: float, rounded: float) -> float:
    """Return by how many standard errors the printed figure exceeds ours.

    The rounding is subtracted: 0 within it; NaN without a finite error.
    """
    beyond = max(abs(printed - ours) - rounded, 0.0)  # NaN if nothing is printed
    if not math.isfinite(error):
        return math.nan
    if beyond == 0:
        return 0.0
    return math.copysign(
        beyond / error if error > 0 else math.inf * beyond, printed - ours
    )


def z_limit(n: float) -> float:
    """Return t* of n seeds, which bounds |z| in 95 % of cells: 2.045 for 30.

    Also the half width of a 95 % interval, in standard deviations of the statistic
    (thesis Section 5.1.3).
    """
    return float(scipy.special.stdtrit(n - 1, 0.975))


def too_few(n: int, printed: int) -> bool:
    """Return whether n seeds are too few to confirm a figure of `printed` seeds.

    They are if a difference must be over COARSEST times as large to be detected.
    """
    least, usual = (
        z_limit(seeds) * math.sqrt(1 / seeds + 1 / printed) for seeds in (n, printed)
    )
    return not least <= COARSEST * usual  # NaN for one seed


def verdict_of(z: float, n: int, printed: int) -> str:
    """Return the verdict on a figure, given its z over n of our seeds.

    Too few seeds can show a difference, but no agreement; equal values show neither.
    """
    few = too_few(n, printed)
    if abs(z) > z_limit(n):
        return UNDECIDED if few and math.isinf(z) else DIFFERENT
    return UNDECIDED if few or math.isnan(z) else REPRODUCED


def decimals(printed: str) -> int:
    """Return the decimals of a printed figure."""
    return len(printed.partition(".")[2])


def rounding(printed: str) -> float:
    """Return the greatest rounding error of a printed figure."""
    return 0.5 * 10.0 ** -decimals(printed) * (1 + 1e-9)


def _note(table: str, cell: Cell) -> str:
    by_fifo = any(source.policy == "fifo" for source in cell.measure.sources)
    if by_fifo and cell.column in STANDARDISED:
        return (
            "divided by standard deviations of which FIFO's printed ones are small: 9.1"
            " min of wait by its interval, against 11.4 in the long run"
        )
    place = (table, cell.row, cell.column, cell.part)
    chance = "not among the cells known to differ; one in twenty does so by chance"
    return next((note for note, cells in KNOWN.items() if place in cells), chance)


# ---- Table 5.1: one seed ----


def of_cell(table: str, cell: Cell, results: Results, n: int) -> Judged:
    """Judge a figure of the printed seed by the distribution over our seeds."""
    (values,) = results.sample(cell.measure, n)
    low, high = np.quantile(values, [0.025, 0.975])
    printed, digits = float(cell.figure), decimals(cell.figure)
    below, half = 100 * float(np.mean(values < printed)), rounding(cell.figure)
    ours, note = f"{low:.{digits}f} at every seed", ""
    if low < high:
        ours = (
            f"{values[SINGLE_SEED]:.{digits}f} ({low:.{digits}f} to {high:.{digits}f};"
            f" {below:.0f} %)"
        )
        note = (
            f"wait, miss and cost: our seed {SINGLE_SEED} (95 % of {n} seeds; share of"
            " these below the printed figure)"
        )
    verdict = REPRODUCED if low - half <= printed <= high + half else DIFFERENT
    return Judged(
        *(table, cell.row, cell.column, cell.part, cell.printed, ours),
        n=n,
        verdict=verdict,
        note=note,
    )


def event_utilisation(table: str) -> Iterator[Judged]:
    """Yield the verdicts on a table's utilisation, a mean over events."""
    column = "utilisation, %"
    place = PRINTED[table].columns.index(column)
    for row, cells in PRINTED[table].rows.items():
        runs = [
            simulate(HECTIC, make_policy(NAMES[row]), seed)
            for seed in (SINGLE_SEED, *range(4))
        ]
        values = [event_utilisation_pct(run) for run in runs]
        printed, centre = cells[place], float(np.mean(values))
        error = float(np.std(values, ddof=1)) * math.sqrt(1 + 1 / len(values))
        z = z_score(float(printed), centre, error, rounding(printed))
        over_time = runs[0].summary()["utilisation_pct"]
        yield Judged(
            *(table, row, column, "", printed, f"{values[0]:.2f} ({over_time:.1f})"),
            n=1,
            verdict=REPRODUCED if abs(z) <= z_limit(len(values)) else DIFFERENT,
            note="utilisation: as printed, a mean over events; in brackets our average"
            " over time",
        )


def event_utilisation_pct(run: Run) -> float:
    """Return the share of held slots averaged over events, not over time, percent.

    Events: arrival, two decisions, start, completion. The printed 95.7 % is this
    figure.
    """
    jobs = run.jobs
    taken, freed = np.sort(jobs["dispatch_s"]), np.sort(jobs["finish_s"])

    def held(at: str, side: Literal["left", "right"] = "right") -> np.ndarray:
        started = np.searchsorted(taken, jobs[at], side)
        return np.asarray(started - np.searchsorted(freed, jobs[at], "right"))

    events = [held("submit_s", "left"), held("submit_s"), held("start_s")]
    events += [held("finish_s", "left"), held("finish_s")]
    return 100 * float(np.mean(events)) / len(run.scenario.slots)


# ---- Table 5.3: tests ----


def _significance(
    table: Table, results: Results, n: int, of_t: Sequence[Judged]
) -> Iterator[Judged]:
    """Yield p-values of at most the printed number of pairs, and Holm's conclusions.

    A p-value agrees if its t does.
    """
    t, pairs = [t_cell for t_cell in of_t if t_cell.column == "t"], min(n, table.n)
    values = [t_cell.value * math.sqrt(pairs / table.n) for t_cell in t]
    p_values = [float(2 * scipy.special.stdtr(pairs - 1, -abs(one))) for one in values]
    measures = {cell.row: cell.measure for cell in table.cells}
    for t_cell, p, adjusted in zip(t, p_values, holm(p_values)):
        printed = dict(
            zip(PRINTED[table.id].columns, PRINTED[table.id].rows[t_cell.row])
        )
        samples = results.sample(measures[t_cell.row], n)
        test = paired_test(*(sample.tolist() for sample in samples))
        ours = "Yes" if adjusted < 0.05 else "No"
        open_ = ours != printed["significant"] or (
            too_few(n, table.n) and bool(ours == "No" or test.note)
        )
        note = (
            f"p by Holm {p_text(adjusted)}, by Wilcoxon {p_text(test.wilcoxon_p)},"
            f" paired d {test.d_paired:.3f}"
        )
        for column, text, verdict in (
            ("p", p_text(p), t_cell.verdict),
            ("significant", ours, UNDECIDED if open_ else REPRODUCED),
        ):
            yield replace(
                t_cell,
                column=column,
                printed=printed[column],
                ours=text,
                half_width=math.nan,
                z=math.nan,
                verdict=verdict,
                note=note,
            )


def p_text(p: float) -> str:
    """Format a p-value to three decimals."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


# ---- Inputs ----


def inputs(id: str) -> Iterator[Judged]:
    """Yield the inputs of a table, printed or inferred."""
    values: dict[str, tuple[float, ...]] = {
        gpu.name: (
            gpu.price_usd_per_h,
            *gpu.mean_execution_s,
            100 * gpu.high_stock_probability,
        )
        for gpu in THESIS_GPUS
    }
    late = DeadlineClasses()
    windows = (100 * late.tight_fraction, late.tight_window_s, late.loose_window_s)
    for name, (rate_per_s, jobs) in DAYS.items():
        values[name] = (jobs, rate_per_s, len(day(name).slots), *windows)
    for row, cells in INPUTS[id].rows.items():
        for column, printed, ours in zip(INPUTS[id].columns, cells, values[row]):
            text = f"{ours:.{decimals(printed or '0.0')}f}"
            verdict = UNTESTABLE
            note = "inferred: not printed, and no table is sensitive to it"
            if printed:
                agrees = math.isclose(float(printed), ours)
                verdict, note = REPRODUCED if agrees else DIFFERENT, ""
            yield Judged(id, row, column, "", printed, text, verdict=verdict, note=note)


# ---- The whole ----


@dataclass(frozen=True)
class Tally:
    """Numbers of counted cells that agree or are undecided. rms_z: NaN without z."""

    cells: int
    agreeing: int
    rms_z: float
    undecided: int = 0

    @property
    def share_pct(self) -> float:
        """Share of the cells that agree."""
        return 100 * self.agreeing / self.cells if self.cells else math.nan

    def __str__(self) -> str:
        undecided = f", {self.undecided} are undecided" if self.undecided else ""
        return (
            f"{self.agreeing} of {self.cells} cells agree ({self.share_pct:.1f}"
            f" %){undecided}, rms z {self.rms_z:.2f}"
        )


def tally(figures: Iterable[Judged]) -> Tally:
    """Return the tally of the counted cells."""
    cells = [figure for figure in figures if figure.counted]
    z = np.array([cell.z for cell in cells if not math.isnan(cell.z)])
    rms = math.sqrt(float(np.mean(z**2))) if len(z) else math.nan
    verdicts = Counter(cell.verdict for cell in cells)
    return Tally(len(cells), verdicts[REPRODUCED], rms, verdicts[UNDECIDED])


def composite_error() -> float:
    """Return the greatest error of Table 5.11 recomputed from Table 5.7 at C_max = 5.

    The costs of those runs are not printed; their six normalised values are fitted to
    Table 5.11 by least squares.
    """
    wait, miss = np.array(
        [cell.split("/") for cell in _row("5.7", "C_max = 5")], float
    ).T
    entries = np.array([_row("5.11", row) for row in PRINTED["5.11"].rows], float)
    settings = [weights_in(row) for row in PRINTED["5.11"].rows]
    weight = np.array([[w] for w, _ in settings])
    service = np.array(
        [composites(wait, miss, wait, 0.0, ratio) for _, ratio in settings]
    )
    cost = (weight * (entries - (1 - weight) * service)).sum(axis=0) / (weight**2).sum()
    return float(np.abs(weight * cost + (1 - weight) * service - entries).max())


def _row(id: str, row: str) -> list[str]:
    by_name = dict(zip(PRINTED[id].columns, PRINTED[id].rows[row]))
    return [
        by_name[name] for policy in SCORED for name in by_name if NAMES[name] == policy
    ]
