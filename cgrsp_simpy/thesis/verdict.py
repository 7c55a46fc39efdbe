"""Printed beside reproduced: whether the difference is within sampling noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from cgrsp_simpy.analysis.statistics import holm, paired_test
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.model.streams import stream
from cgrsp_simpy.rental.gpu import THESIS_GPUS
from cgrsp_simpy.rental.policies import make_policy
from cgrsp_simpy.studies.replicate import simulate
from cgrsp_simpy.thesis.experiments import (
    COUNTED,
    HECTIC,
    NAMES,
    SCORED,
    SINGLE_SEED,
    Cell,
    Excess,
    Statistic,
    Table,
    average,
    composites,
    weights_in,
)
from cgrsp_simpy.thesis.notes import CHANCE, KNOWN, STANDARDISED, STANDARDISED_NOTE
from cgrsp_simpy.thesis.published import INPUTS, PRINTED
from cgrsp_simpy.thesis.runs import Results

RESAMPLES = 1000  # of seeds, for the deviation of other statistics than means
LIMIT = 2.045  # |z| of 95 % of the cells of a perfect model; t* of 30 seeds, thesis Section 5.1.3
AGREES, DIFFERS, INPUT, SHOWN = "agrees", "differs", "inferred", ""


@dataclass(frozen=True)
class Judged:
    """A printed figure beside ours.

    row, column, part: as in Cell. printed, ours: as text. half_width: of the 95 % interval of ours;
    n: its replications.
    z: (printed - ours) / error, less the rounding of the printed figure, where error^2 is the sum
    of the statistic's variances over the printed number of seeds and over ours, of a mean sd^2
    (1 / printed n + 1 / n); NaN where none can be given. verdict: agrees, differs, inferred (an
    input that is not printed) or empty. counted: in the tally.
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
    verdict: str = SHOWN
    counted: bool = False
    note: str = ""
    value: float = math.nan  # ours, in full


def judged(table: Table, results: Results) -> list[Judged]:
    """Every figure of a table, judged."""
    n = table.seeds(results.replications)
    if table.n == 1:
        found = [_single(table.id, cell, results, n) for cell in table.cells]
        found += _event_utilisation(table.id)
    else:
        found = [_judge(table, cell, results, n) for cell in table.cells]
        found += _significance(table, results, n) if table.id == "5.3" else []
    return sorted(found, key=_place)  # stable: two figures of a cell stay in their order


def _place(each: Judged) -> tuple[int, int]:
    """Where a figure stands in its printed table; what is ours alone comes after."""
    printed = PRINTED[each.table]
    columns = [*printed.columns, each.column]
    return [*printed.rows, each.row].index(each.row), columns.index(each.column)


def _judge(table: Table, cell: Cell, results: Results, n: int) -> Judged:
    values = results.sample(cell.measure, n)
    statistic = cell.measure.statistic
    ours, own = float(statistic(*values)), deviation(statistic, values, n)
    theirs = own if table.n == n else deviation(statistic, values, table.n)
    z = z_score(float(cell.figure), ours, math.hypot(own, theirs), rounding(cell.figure))
    verdict = SHOWN if math.isnan(z) else AGREES if abs(z) <= LIMIT else DIFFERS
    return Judged(
        table.id,
        cell.row,
        cell.column,
        cell.part,
        cell.printed,
        f"{ours:.{max(2, decimals(cell.figure))}f}",
        half_width(own, n),
        n,
        z,
        verdict,
        table.id in COUNTED and statistic is average and not cell.again,
        _note(table.id, cell) if verdict == DIFFERS else "",
        ours,
    )


def deviation(statistic: Statistic, values: Sequence[np.ndarray], n: int) -> float:
    """Standard deviation of a statistic over n seeds: of a mean, or a mean difference by seed,
    s / sqrt(n), of others by drawing n of our seeds again.
    """
    if isinstance(statistic, Excess):
        values, statistic = [statistic.by_seed(*values)], average
    if statistic is average:
        return float(values[0].std(ddof=1)) / math.sqrt(n)
    drawn = stream(0, "bootstrap").integers(len(values[0]), size=(RESAMPLES, n))
    found = statistic(*(each[drawn] for each in values))
    found = found[np.isfinite(found)]  # a seed may be drawn n times: no deviation to divide by
    return float(np.std(found, ddof=1)) if len(found) > 1 else math.nan


def z_score(printed: float, ours: float, error: float, rounded: float) -> float:
    """How many standard errors the printed figure lies above ours, its rounding discounted; 0
    within the rounding.
    """
    beyond = max(abs(printed - ours) - rounded, 0.0)  # NaN where nothing is printed
    if beyond == 0:
        return 0.0
    return math.copysign(beyond / error if error > 0 else math.inf * beyond, printed - ours)


def half_width(own: float, n: float) -> float:
    """Half the width of the 95 % interval of a statistic over n seeds, from its deviation (thesis
    Section 5.1.3).
    """
    return float(scipy.special.stdtrit(n - 1, 0.975)) * own


def decimals(printed: str) -> int:
    """Decimals of a printed figure."""
    return len(printed.partition(".")[2])


def rounding(printed: str) -> float:
    """The most by which rounding may have changed a printed figure."""
    return 0.5 * 10.0 ** -decimals(printed) * (1 + 1e-9)


def _note(table: str, cell: Cell) -> str:
    if cell.column in STANDARDISED and any(
        source.policy == "fifo" for source in cell.measure.sources
    ):
        return STANDARDISED_NOTE
    return KNOWN.get((table, cell.row, cell.column, cell.part), CHANCE)


# ---- Table 5.1: one seed ----


def _single(table: str, cell: Cell, results: Results, n: int) -> Judged:
    """A figure of the printed seed, whose random numbers are not known, within the distribution
    over our seeds.
    """
    (values,) = results.sample(cell.measure, n)
    low, high = np.quantile(values, [0.025, 0.975])
    printed, digits = float(cell.figure), decimals(cell.figure)
    if low == high:
        ours, note = f"{low:.{digits}f} at every seed", ""
    else:
        below = 100 * float(np.mean(values < printed))
        ours = (
            f"{values[SINGLE_SEED]:.{digits}f} ({low:.{digits}f} to {high:.{digits}f};"
            f" {below:.0f} %)"
        )
        note = (
            f"wait, miss and cost: our seed {SINGLE_SEED} (95 % of {n} seeds; share of these below"
            " the printed figure)"
        )
    verdict = (
        AGREES
        if low - rounding(cell.figure) <= printed <= high + rounding(cell.figure)
        else DIFFERS
    )
    return Judged(
        table, cell.row, cell.column, cell.part, cell.printed, ours, n=n, verdict=verdict, note=note
    )


def _event_utilisation(table: str) -> Iterator[Judged]:
    column = "utilisation, %"
    place = PRINTED[table].columns.index(column)
    for row, cells in PRINTED[table].rows.items():
        runs = [
            simulate(HECTIC, make_policy(NAMES[row]), seed) for seed in (SINGLE_SEED, *range(4))
        ]
        values = [event_utilisation_pct(run) for run in runs]
        error = float(np.std(values, ddof=1)) * math.sqrt(1 + 1 / len(values))
        z = z_score(float(cells[place]), float(np.mean(values)), error, rounding(cells[place]))
        over_time = runs[0].summary()["utilisation_pct"]
        note = "utilisation: as printed, a mean over events; in brackets our average over time"
        verdict = AGREES if abs(z) <= LIMIT else DIFFERS
        ours = f"{values[0]:.2f} ({over_time:.1f})"
        yield Judged(table, row, column, "", cells[place], ours, n=1, verdict=verdict, note=note)


def event_utilisation_pct(run: Run) -> float:
    """Slots held, averaged over processed events: a job's arrival, two decisions, start
    and completion.

    The printed 95.7 % comes out so for every policy; it is not an average over time.
    """
    jobs = run.jobs
    taken, freed = np.sort(jobs["dispatch_s"]), np.sort(jobs["finish_s"])

    def held(at: str, side: Literal["left", "right"] = "right") -> np.ndarray:
        """side: "left" before the decision of the instant, else after it."""
        started = np.searchsorted(taken, jobs[at], side)
        return np.asarray(started - np.searchsorted(freed, jobs[at], "right"))

    events = [held("submit_s", "left"), held("submit_s"), held("start_s")]
    events += [held("finish_s", "left"), held("finish_s")]
    return 100 * float(np.mean(events)) / len(run.scenario.slots)


# ---- Table 5.3: tests ----


def _significance(table: Table, results: Results, n: int) -> Iterator[Judged]:
    """p-values at the printed number of pairs, with Holm's step-down over the printed family, and
    what each concludes.
    """
    cells = [cell for cell in table.cells if cell.column == "t"]
    samples = {cell.row: results.sample(cell.measure, n) for cell in cells}
    t = [float(cell.measure.statistic(*samples[cell.row])) for cell in cells]
    p_values = [float(2 * scipy.special.stdtr(table.n - 1, -abs(each))) for each in t]
    for row, p, adjusted in zip(samples, p_values, holm(p_values)):
        printed = dict(zip(PRINTED[table.id].columns, PRINTED[table.id].rows[row]))
        test = paired_test(*(values.tolist() for values in samples[row]))
        ours = "Yes" if adjusted < 0.05 else "No"
        same = ours == printed["significant"]
        told = "concluded otherwise from these seeds; z of t and d tells whether that is noise"
        for column, value, verdict, note in (
            ("p", p_text(p), SHOWN, ""),
            ("Holm's p", p_text(adjusted), SHOWN, ""),
            ("Wilcoxon's p", p_text(test.wilcoxon_p), SHOWN, ""),
            ("paired d", f"{test.d_paired:.3f}", SHOWN, ""),
            ("significant", ours, AGREES if same else SHOWN, "" if same else told),
        ):
            theirs = printed.get(column, "")
            yield Judged(table.id, row, column, "", theirs, value, n=n, verdict=verdict, note=note)


def p_text(p: float) -> str:
    """A p-value, to three decimals."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


# ---- Table 4.1: inputs ----


def inputs() -> list[Judged]:
    """Table 4.1: what the model takes from it, and what is inferred."""
    found = []
    for gpu in THESIS_GPUS:
        values = (
            gpu.price_usd_per_h,
            *gpu.mean_execution_s,
            100 * gpu.high_stock_probability,
        )
        for column, printed, ours in zip(INPUTS.columns, INPUTS.rows[gpu.name], values):
            text = f"{ours:.{decimals(printed)}f}" if printed else f"{ours:.1f}"
            note = "" if printed else "inferred: not printed, and no table is sensitive to it"
            same = AGREES if printed == text else DIFFERS
            found.append(
                Judged(
                    INPUTS.id,
                    gpu.name,
                    column,
                    "",
                    printed,
                    text,
                    verdict=same if printed else INPUT,
                    note=note,
                )
            )
    return found


# ---- The whole ----


@dataclass(frozen=True)
class Tally:
    """How many of the counted cells agree. rms_z: root mean square of their z."""

    cells: int
    agreeing: int
    rms_z: float

    @property
    def share_pct(self) -> float:
        """Share of the cells that agree."""
        return 100 * self.agreeing / self.cells if self.cells else math.nan

    def __str__(self) -> str:
        return (
            f"{self.agreeing} of {self.cells} cells agree ({self.share_pct:.1f} %), rms z"
            f" {self.rms_z:.2f}"
        )


def tally(found: Iterable[Judged]) -> Tally:
    """The tally of the counted cells."""
    z = np.array([each.z for each in found if each.counted])
    rms = math.sqrt(float(np.mean(z**2))) if len(z) else math.nan
    return Tally(len(z), int(np.sum(np.abs(z) <= LIMIT)), rms)


def composite_error() -> float:
    """The greatest difference between Table 5.11 and what follows from the printed cells of
    Table 5.7 at C_max = 5.

    The costs of those runs are not printed; their six normalised values are the least-squares ones
    of Table 5.11 itself.
    """
    wait, miss = np.array([cell.split("/") for cell in _row("5.7", "C_max = 5")], float).T
    entries = np.array([_row("5.11", row) for row in PRINTED["5.11"].rows], float)
    settings = [weights_in(row) for row in PRINTED["5.11"].rows]
    weight = np.array([[w] for w, _ in settings])
    service = np.array([composites(wait, miss, wait, 0.0, ratio) for _, ratio in settings])
    cost = (weight * (entries - (1 - weight) * service)).sum(axis=0) / (weight**2).sum()
    return float(np.abs(weight * cost + (1 - weight) * service - entries).max())


def _row(id: str, row: str) -> list[str]:
    by_name = dict(zip(PRINTED[id].columns, PRINTED[id].rows[row]))
    return [by_name[name] for policy in SCORED for name in by_name if NAMES[name] == policy]
