"""The runs behind the thesis's tables."""

import math

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.papers.thesis.experiments import (
    MONTH,
    TABLES,
    Measure,
    Source,
    average,
)
from cgrsp_simpy.papers.thesis.runs import reproduce
from cgrsp_simpy.studies.replicate import label
from cgrsp_simpy.studies.subject import Subject, subject_of

# ---- Runs ----


@pytest.mark.slow
def test_reproduced_means_are_those_of_compare(small):
    study = cg.compare(cg.day("hectic"), ["cadr:critical_ratio=5"], range(3))
    (cell,) = [
        each for each in small if (each.row, each.column) == ("CR* = 5.0", "wait, min")
    ]
    mean = study.means()["cadr:critical_ratio=5"]["wait_min"]
    assert (cell.ours, cell.half_width) == (
        f"{mean.mean:.2f}",
        pytest.approx(mean.half_width),
    )
    deviation = np.std(study.values("cadr:critical_ratio=5", "wait_min"), ddof=1)
    error = deviation * math.sqrt(1 / 10 + 1 / 3)
    assert cell.z == pytest.approx(
        (131.62 - mean.mean - math.copysign(0.005, 131.62 - mean.mean)) / error,
        rel=1e-6,
    )


def test_a_run_that_tables_share_is_run_once(monkeypatch):
    calls = []
    real = Subject.run

    def counting(subject, policy, seed=0, **rest):
        calls.append((subject.model, label(policy), seed))
        return real(subject_of(cg.day("quiet")), policy, seed, records=False)

    monkeypatch.setattr(Subject, "run", counting)
    measures = [
        (cell.measure, 2)
        for id in ("5.2", "5.3", "5.4", "5.7", "5.9")
        for cell in TABLES[id].cells
    ]
    reproduce(measures)
    # eleven policies on the hectic day, seven on three other fleets, four other
    # critical ratios
    assert len(calls) == 2 * (11 + 3 * 7 + 4)


@pytest.mark.slow
def test_the_month_is_that_of_month():
    measure = Measure(average, (Source(MONTH, "fifo", "cost_usd"),))
    found = reproduce([(measure, 2)]).values(measure.sources[0], 2)
    study = cg.compare(cg.month(), ["fifo"], range(2))
    assert found.tolist() == study.values("fifo", "cost_usd")
