"""The thesis's tables are reproduced: for a perfect model 95 % of the cells have |z|
below 2.045, and the rms z is 1.
"""

import os
from dataclasses import replace

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.papers.thesis.experiments import COUNTED, HECTIC, TABLES, reproduce
from cgrsp_simpy.papers.thesis.printed import judged_cells, run_tables
from cgrsp_simpy.papers.thesis.verdict import judged, tally

CORES = os.cpu_count() or 1


@pytest.mark.slow
def test_tables_of_ten_seeds_at_the_printed_number():
    ids = ("5.7", "5.8", "5.9")
    result = tally(judged_cells(run_tables(ids, executor=CORES)[0], ids))
    assert result.cells == 76
    assert result.share_pct >= 90  # 95 % with a standard error of 2.5 %
    assert result.rms_z < 1.25


@pytest.mark.slow
def test_the_printed_clock_does_not_reproduce_the_tables():
    late = cg.day("hectic", clock="printed")
    cells = [
        replace(
            cell,
            measure=cell.measure._replace(
                sources=tuple(
                    one._replace(scenario=late) for one in cell.measure.sources
                )
            ),
        )
        for cell in TABLES["5.9"].cells
    ]
    table = replace(TABLES["5.9"], cells=tuple(cells))
    assert {
        one.scenario for cell in TABLES["5.9"].cells for one in cell.measure.sources
    } == {HECTIC}
    result = tally(judged(table, reproduce([(cell.measure, 10) for cell in cells])))
    assert result.share_pct < 60
    assert result.rms_z > 3


@pytest.mark.long
def test_all_tables_over_300_seeds():
    """234 cells of Tables 5.2 and 5.4 to 5.10, and the month without RH's row."""
    cells = [*judged_cells(run_tables(COUNTED, 300, CORES)[0], COUNTED)]
    days = tally(each for each in cells if each.table != "5.13")
    month = tally(each for each in cells if each.table == "5.13" and each.row != "RH")
    assert (days.cells, month.cells) == (234, 36)
    assert days.share_pct >= 95
    assert days.rms_z <= 1.05
    assert month.share_pct >= 95
    assert month.rms_z <= 1.05


# ---- the hectic day against another simulator ----

# Hectic day, C_max = 5: mean wait min, miss %, tardiness min, cost USD, of an
# independent simulator over 300 seeds.
LONG_RUN = {
    "rh": (130.46, 7.86, 20.40, 6.11),
    "cadr": (135.20, 8.31, 6.27, 6.13),
    "spt-rescue": (135.26, 12.30, 5.99, 6.12),
    "adaptive": (155.86, 9.68, 3.10, 6.14),
    "spt": (130.30, 15.08, 15.24, 6.11),
    "edf": (156.29, 11.42, 3.17, 6.14),
    "lcf": (156.16, 22.13, 23.74, 6.15),
    "balanced": (155.04, 21.67, 23.22, 6.15),
    "fifo": (156.05, 22.07, 23.60, 6.15),
    "random": (155.79, 21.35, 30.03, 6.14),
}
FIGURES = ("wait_min", "miss_pct", "tardiness_min", "cost_usd")


@pytest.mark.long
def test_the_hectic_day_has_the_long_run_means_of_another_simulator():
    """Over 100 seeds, each mean is within 2.5 standard errors and the rounding."""
    study = cg.compare(cg.day("hectic"), list(LONG_RUN), range(100))
    for policy, references in LONG_RUN.items():
        for figure, reference in zip(FIGURES, references, strict=True):
            values = np.array(study.values(policy, figure))
            error = values.std(ddof=1) / len(values) ** 0.5
            off = abs(values.mean() - reference) - 0.005
            assert off < 2.5 * error, (policy, figure)
