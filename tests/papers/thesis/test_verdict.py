"""How the thesis's cells are judged."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

import cgrsp_simpy as cg
from cgrsp_simpy.papers.ledger import DIFFERENT, REPRODUCED, UNDECIDED, UNTESTABLE
from cgrsp_simpy.papers.thesis import experiments, verdict
from cgrsp_simpy.papers.thesis.experiments import (
    TABLES,
    OfMeans,
    average,
    paired_t,
    pooled_d,
    reproduce,
)
from cgrsp_simpy.papers.thesis.published import INPUTS, PRINTED
from cgrsp_simpy.papers.thesis.verdict import (
    Judged,
    Tally,
    composite_error,
    deviation,
    rounding,
    tally,
    verdict_of,
    z_score,
)

# ---- How it is judged ----


def test_deviation_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(1).normal(size=12)
    assert deviation(average, [values], 30) == pytest.approx(
        values.std(ddof=1) / math.sqrt(30)
    )
    assert deviation(lambda x: x.mean(axis=-1), [values], 30) == pytest.approx(
        values.std(ddof=1) / math.sqrt(30)
    )
    # the same by drawing again
    drawn = deviation(OfMeans(lambda means: means[0]), [values], 30)
    assert drawn == pytest.approx(
        values.std(ddof=1) / math.sqrt(30), rel=4 / math.sqrt(2 * verdict.RESAMPLES)
    )
    # the same in every run
    assert drawn == pytest.approx(0.10654051819 * math.sqrt(12 / 11))


def test_a_jackknife_of_two_seeds_has_no_deviation():
    values = [np.array([1.0, 2.0]), np.array([0.0, 3.0])]
    assert deviation(pooled_d, values, 2) == math.inf
    assert math.isnan(deviation(OfMeans(lambda means: means[0]), [np.ones(1)], 2))
    # no deviation to divide by
    assert deviation(pooled_d, [np.ones(5), np.zeros(5)], 5) != 0


@pytest.mark.parametrize("n", [2, 3, 10, 30, 1000])
def test_the_limit_of_z_is_students(n):
    assert verdict.z_limit(n) == pytest.approx(stats.t.ppf(0.975, n - 1))


@pytest.mark.parametrize(
    ("z", "n", "printed", "expected"),
    [
        # beyond the limit of 30 seeds, 2.045, within that of 10, 2.262
        (2.2, 10, 10, REPRODUCED),
        (2.3, 10, 10, DIFFERENT),
        (2.0, 1000, 30, DIFFERENT),
        (2.0, 30, 30, REPRODUCED),
        (0.0, 6, 30, UNDECIDED),
        (2.5, 6, 30, UNDECIDED),
        (2.7, 6, 30, DIFFERENT),
        (math.inf, 6, 30, UNDECIDED),  # six equal seeds
        (math.inf, 30, 30, DIFFERENT),
        (math.nan, 30, 30, UNDECIDED),
        (0.0, 7, 30, REPRODUCED),
        (0.0, 3, 10, UNDECIDED),
        (0.0, 1, 30, UNDECIDED),
    ],
)
def test_a_verdict_rests_on_enough_seeds(z, n, printed, expected):
    assert verdict_of(z, n, printed) == expected


@pytest.fixture(scope="module")
def few():
    """Two rows of Table 5.3 at five and at six seeds."""
    rows = ("RH vs FIFO, miss", "EDF vs FIFO, wait")
    cells = tuple(cell for cell in TABLES["5.3"].cells if cell.row in rows)
    table = replace(TABLES["5.3"], cells=cells)
    results = reproduce([(cell.measure, 6) for cell in cells])
    [edf] = [cell for cell in cells if (cell.row, cell.column) == (rows[1], "t")]
    return {"edf": results.sample(edf.measure, 5)} | {
        n: {
            (figure.row, figure.column): figure
            for figure in verdict.judged(table, replace(results, replications=n))
        }
        for n in (5, 6)
    }


def test_at_six_seeds_one_t_differs_and_the_others_are_undecided(few):
    far = few[6]["RH vs FIFO, miss", "t"]
    assert (far.verdict, far.ours) == (DIFFERENT, "-45.548")
    assert far.half_width == pytest.approx(20.9, abs=0.05)
    others = [
        one for one in few[6].values() if one.column in ("t", "d") and one is not far
    ]
    assert [one.verdict for one in others] == [UNDECIDED] * 3
    assert all(one.half_width < 25 for one in others)


def test_p_values_of_few_seeds_are_of_as_many_pairs(few):
    row, figures, (edf, fifo) = "EDF vs FIFO, wait", few[5], few["edf"]
    assert figures[row, "p"].ours == verdict.p_text(stats.ttest_rel(edf, fifo).pvalue)
    significant = figures[row, "significant"]
    assert (significant.ours, significant.verdict) == ("No", UNDECIDED)


@pytest.mark.parametrize(
    ("t", "p", "significant", "expected"),
    [(2.02, "0.053", "No", UNDECIDED), (2.05, "0.050", "Yes", REPRODUCED)],
)
def test_a_conclusion_agrees_if_it_is_the_printed_one(t, p, significant, expected):
    """Of thirty pairs, t is significant from 2.045 on; "Yes" is printed."""
    cells = [cell for cell in TABLES["5.3"].cells if cell.column == "t"][:1]
    noise = np.linspace(-1, 1, 30)
    ours = [noise + t * noise.std(ddof=1) / math.sqrt(30), np.zeros(30)]
    results = SimpleNamespace(replications=30, sample=lambda measure, n: ours)
    rows = verdict.judged(replace(TABLES["5.3"], cells=cells), results)
    assert [(row.column, row.ours, row.verdict) for row in rows] == [
        ("t", f"{t:.3f}", DIFFERENT),
        ("p", p, DIFFERENT),
        ("significant", significant, expected),
    ]


@pytest.mark.parametrize(
    ("shift", "spread", "expected", "shown"),
    [
        (0.0, 10.0, REPRODUCED, "274.58 (-134.42 to 283.58; 44 %)"),
        (185.9, 10.0, REPRODUCED, "460.48 (51.48 to 469.48; 4 %)"),
        (186.1, 10.0, DIFFERENT, "460.68 (51.68 to 469.68; 4 %)"),
        (-232.1, 10.0, DIFFERENT, "42.48 (-366.52 to 51.48; 96 %)"),
        (0.004, 0.0, REPRODUCED, "51.58 at every seed"),
        (-0.004, 0.0, REPRODUCED, "51.58 at every seed"),
        (0.006, 0.0, DIFFERENT, "51.59 at every seed"),
        (-0.006, 0.0, DIFFERENT, "51.57 at every seed"),
    ],
)
def test_a_figure_of_one_seed_is_judged_by_the_middle_of_many(
    shift, spread, expected, shown
):
    """Of 45 values at even distances 95 % lie from 18.6 below to 23.2 above one."""
    [cell, *_] = TABLES["5.1"].cells
    cell = replace(cell, printed="51.58")
    values = 51.58 + shift + spread * (np.arange(45) - 19.7) * (spread > 0)
    results = SimpleNamespace(sample=lambda measure, n: [values])
    judged = verdict.of_cell("5.1", cell, results, 45)
    assert (judged.verdict, judged.ours) == (expected, shown)


class Run(NamedTuple):
    """A run of which the seed and the utilisation over time are known."""

    seed: int

    def summary(self):
        return {"utilisation_pct": self.seed + 0.25}


@pytest.mark.parametrize(("share", "expected"), [(0.99, REPRODUCED), (1.01, DIFFERENT)])
def test_utilisation_over_events_is_judged_by_five_seeds(share, expected, monkeypatch):
    """A mean of five seeds and one further value differ by sqrt(1 + 1/5) deviations."""
    by_seed = {42: 4.0, 0: 1.0, 1: 2.0, 2: 3.0, 3: 5.0}
    most = stats.t.ppf(0.975, 4) * np.std([*by_seed.values()], ddof=1) * 1.2**0.5
    figures = dict(
        zip(PRINTED["5.1"].columns, next(iter(PRINTED["5.1"].rows.values())))
    )
    printed = figures["utilisation, %"]
    middle = float(printed) - share * most - rounding(printed)
    monkeypatch.setattr(verdict, "simulate", lambda *of: Run(of[-1]))
    run_pct = lambda run: middle - 3 + by_seed[run.seed]  # noqa: E731
    monkeypatch.setattr(verdict, "event_utilisation_pct", run_pct)
    judged = next(verdict.event_utilisation("5.1"))
    assert (judged.verdict, judged.n) == (expected, 1)
    assert judged.ours == f"{middle + 1:.2f} (42.2)"


def test_statistics_work_along_the_last_axis():
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(2, 5, 30))
    for statistic in (pooled_d, paired_t(30)):
        assert statistic(a, b) == pytest.approx(
            [float(statistic(*row)) for row in zip(a, b)]
        )
    figures = rng.normal(size=(18, 5, 30))
    scored = experiments.composite(2, 0.3, 10)
    assert scored(*figures) == pytest.approx(
        [float(scored(*figures[:, row])) for row in range(5)]
    )


def test_statistics_of_cells_match_the_textbooks():
    rng = np.random.default_rng(3)
    a, b = rng.normal(1, 2, 30), rng.normal(0, 1, 30)
    assert pooled_d(a, b) == pytest.approx(
        cg.statistics.cohens_d(a.tolist(), b.tolist())
    )
    assert paired_t(30)(a, b) == pytest.approx(stats.ttest_rel(a, b).statistic)
    # four times the pairs
    assert paired_t(120)(a, b) == pytest.approx(2 * paired_t(30)(a, b))


@pytest.mark.parametrize(
    ("printed", "ours", "error", "z"),
    [
        (5.2, 5.0, 0.1, 1.5),
        (4.8, 5.0, 0.1, -1.5),
        (5.04, 5.0, 0.1, 0.0),  # within the rounding
        (0.0, 0.04, 0.0, 0.0),  # no deviation at all, and none needed
        (1.0, 0.0, 0.0, math.inf),
        (0.0, 1.0, 0.0, -math.inf),
        (5.0, 5.0, math.inf, math.nan),
    ],
)
def test_z_counts_standard_errors_beyond_the_rounding(printed, ours, error, z):
    assert z_score(printed, ours, error, 0.05) == pytest.approx(z, nan_ok=True)


@pytest.mark.parametrize(
    ("printed", "half"),
    [("0.5", 0.05), ("7.54", 0.005), ("950", 0.5), ("-2.882", 0.0005)],
)
def test_rounding_is_half_of_the_last_digit(printed, half):
    assert rounding(printed) == pytest.approx(half)


def test_a_cell_is_an_entry_with_its_interval_and_z(small):
    entry, cell = small[0].entry(), small[0]
    assert (entry.where, entry.statement) == ("Table 5.9", "CR* = 1.5, wait, min")
    assert (entry.printed, entry.verdict) == ("131.45", cell.verdict)
    assert entry.ours == f"{cell.ours} ± {cell.half_width:.2f}"
    assert entry.reason == f"z {cell.z:+.1f}; 10 seeds printed"


def test_the_tally_includes_only_counted_jobs():
    cells = [
        Judged("5.2", "a", "b", "", "1", "1", z=z, counted=counted, verdict=verdict)
        for z, counted, verdict in (
            (1, True, REPRODUCED),
            (-3, True, DIFFERENT),
            (9, False, DIFFERENT),
        )
    ]
    assert tally(cells) == Tally(2, 1, math.sqrt(5))
    assert str(tally(cells)) == "1 of 2 cells agree (50.0 %), rms z 2.24"
    few = Judged("5.2", "a", "b", "", "1", "1", counted=True, verdict=UNDECIDED)
    assert tally([*cells, few]) == Tally(3, 1, math.sqrt(5), 1)
    assert str(tally([*cells, few])) == (
        "1 of 3 cells agree (33.3 %), 1 are undecided, rms z 2.24"
    )
    assert math.isnan(tally([]).rms_z)


def test_all_entries_of_table_5_11_follow_from_the_printed_cells_of_5_7():
    assert composite_error() < 0.01


def test_every_printed_input_equals_the_packages():
    assert {cell.verdict for id in INPUTS for cell in verdict.inputs(id)} == {
        REPRODUCED,
        UNTESTABLE,
    }


def test_p_values_below_a_thousandth_are_not_rounded():
    assert [verdict.p_text(p) for p in (0.0009, 0.001, 0.0016)] == [
        "< 0.001",
        "0.001",
        "0.002",
    ]


def test_event_utilisation_of_two_jobs_by_hand():
    """One slot, no delay: job 0 at 0 for 100 s, job 1 submitted at 50."""
    gpu = cg.GpuType("G", 1.0, (100.0,), 1.0)
    jobs = cg.JobList((cg.Job(0, 0.0, 1e6), cg.Job(1, 50.0, 1e6)))
    market = cg.Market(delay_s=((0, 0), (0, 0), (0, 0)))
    scenario = cg.Scenario(
        "two", jobs, (gpu,), (gpu,), market=market, service=cg.Service(sigma=(0.0,))
    )
    run = cg.simulate(scenario, "fifo")
    # held after: arrival 0 (0), decision (1), start (1), arrival 1 (1), decision (1),
    # completion (0), decision (1), start (1), completion (0), decision (0)
    assert verdict.event_utilisation_pct(run) == pytest.approx(60)
