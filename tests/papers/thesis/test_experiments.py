"""The thesis's tables: the printed values, and the measure of each cell."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from support import check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.papers.thesis import experiments
from cgrsp_simpy.papers.thesis.experiments import (
    HECTIC,
    MONTH,
    TABLES,
    Measure,
    Source,
    average,
    known_directory,
    of_policies,
    reproduce,
)
from cgrsp_simpy.papers.thesis.published import PRINTED
from cgrsp_simpy.papers.thesis.verdict import KNOWN
from cgrsp_simpy.studies.subject import Subject, subject_of

SURGE = cg.day("surge")

# ---- Printed values ----


@pytest.mark.parametrize("id", PRINTED)
def test_printed_rows_have_one_cell_per_column(id):
    assert all(
        len(cells) == len(PRINTED[id].columns) for cells in PRINTED[id].rows.values()
    )


def test_a_policy_that_is_not_printed_is_run_for_its_cells():
    assert {
        each.policy
        for cell in of_policies(TABLES["5.4"], {"own": "edf"}).cells
        for each in cell.measure.sources
    } == {"edf"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "is not a results directory of cgrsp"),
        (
            '{"tables": "5.1, 5.2, 5.3", "replications": 3}',
            "is not a results directory of cgrsp",
        ),
        (
            '{"tables": ["5.1"], "replications": "3"}',
            "is not a results directory of cgrsp",
        ),
        ('{"tables": ["5.1", "5.4"], "replications": null}', "the runs of Table 5.2"),
        ('{"tables": ["5.2", "5.3"], "replications": 3}', "the runs of Table 5.1"),
    ],
)
def test_runs_are_read_from_a_directory_that_has_those_of_all_tables(text, words, file):
    folder = file(text, "configuration.json").parent
    check_refused(lambda: known_directory(folder, ["5.1", "5.2", "5.3"]), words)


@pytest.mark.parametrize("id", ["5.2", "5.13"])
def test_printed_means_lie_in_the_middle_of_their_printed_intervals(id):
    with_interval = [
        cell for cells in PRINTED[id].rows.values() for cell in cells if "[" in cell
    ]
    assert len(with_interval) == {"5.2": 20, "5.13": 10}[id]
    for cell in with_interval:
        mean, low, high = (float(part.strip("[],")) for part in cell.split())
        # all three are rounded
        assert (low + high) / 2 == pytest.approx(mean, abs=0.0101)


def test_tables_that_share_runs_print_the_same_figures():
    hectic = dict(zip(PRINTED["5.5"].columns, PRINTED["5.5"].rows["hectic"]))
    for policy, cells in PRINTED["5.2"].rows.items():
        assert [float(part) for part in hectic[policy].split("/")] == pytest.approx(
            [float(cell.split()[0]) for cell in cells[:2]], abs=0.0501
        )
    for row in PRINTED["5.4"].rows.keys() & PRINTED["5.2"].rows:
        assert PRINTED["5.4"].rows[row][:3] == tuple(
            cell.split()[0] for cell in PRINTED["5.2"].rows[row][:3]
        )


def test_234_cells_of_means_are_counted_once_and_40_of_the_month():
    counted = {
        id: sum(
            not cell.again and len(cell.measure.sources) == 1
            for cell in TABLES[id].cells
        )
        for id in experiments.COUNTED
    }
    assert (counted.pop("5.13"), sum(counted.values())) == (40, 234)
    assert counted["5.4"] == 3  # the order-only row; the others are in Table 5.2


@pytest.mark.parametrize(
    ("id", "wanted", "seeds"),
    [
        ("5.1", None, experiments.SPREAD_SEEDS),
        ("5.1", 3, experiments.SPREAD_SEEDS),
        ("5.1", 999, 999),
        ("5.2", None, 30),
        ("5.2", 3, 3),
    ],
)
def test_a_table_of_one_seed_is_compared_with_many(id, wanted, seeds):
    assert TABLES[id].seeds(wanted) == seeds


@pytest.mark.parametrize(
    ("id", "row", "column", "part", "source"),
    [
        ("5.2", "RH", "miss, %", "", (HECTIC, "rh", "miss_pct")),
        ("5.5", "surge", "CADR", "wait, min", (SURGE, "cadr", "wait_min")),
        (
            *("5.6", "70 %", "SPT", ""),
            (cg.day("surge", tight_fraction=0.7), "spt", "miss_pct"),
        ),
        (
            *("5.7", "C_max = 10", "RH", "miss, %"),
            (cg.day("hectic", slots=10), "rh", "miss_pct"),
        ),
        (
            *("5.8", "theta = 60 s", "wait, min", ""),
            (HECTIC, "spt-rescue:threshold_s=60", "wait_min"),
        ),
        (  # the default: run once for all
            *("5.8", "theta = 600 s", "wait, min", ""),
            (HECTIC, "spt-rescue", "wait_min"),
        ),
        (
            *("5.9", "CR* = 1.5", "miss, %", ""),
            (HECTIC, "cadr:critical_ratio=1.5", "miss_pct"),
        ),
        (
            *("5.10", "surge, 2 reserved", "tight miss, %", ""),
            (SURGE, "rh:reserve=2", "tight_miss_pct"),
        ),
        ("5.13", "LCF", "cost, USD", "", (MONTH, "lcf", "cost_usd")),
    ],
)
def test_cells_measure_the_figure_of_their_row_and_column(
    id, row, column, part, source
):
    place = (row, column, part)
    (cell,) = [c for c in TABLES[id].cells if (c.row, c.column, c.part) == place]
    assert cell.measure.sources[0] == source


def test_an_effect_compares_a_policy_with_the_one_that_it_extends():
    (effect,) = [
        c
        for c in TABLES["5.4"].cells
        if (c.row, c.column) == ("SPT+Rescue", "d of wait")
    ]
    assert [one.policy for one in effect.measure.sources] == ["spt-rescue", "spt"]


def test_known_cells_exist():
    assert {place for places in KNOWN.values() for place in places} <= {
        (id, cell.row, cell.column, cell.part)
        for id in TABLES
        for cell in TABLES[id].cells
    }


# ---- Runs ----


def test_reproduced_means_equal_those_of_compare(small):
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
        calls.append((subject.model, policy_name(policy), seed))
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


def test_a_queue_of_more_than_ten_jobs_counts_as_long():
    """Of twelve jobs that arrive at once, the first two leave more than ten behind
    them, themselves included. Of all, three are sent while stock is Low.
    """
    jobs = {"submit_s": np.zeros(12), "dispatch_s": np.arange(1.0, 13.0)}
    run = SimpleNamespace(jobs=jobs | {"status": np.array([0, 2, 1, 0] * 3)})
    assert experiments.queue_pct(run) == pytest.approx(100 * 2 / 12)
    assert experiments.low_stock_pct(run) == 25


def test_days_of_a_kind_are_averaged_per_month():
    days = [
        {"kind": kind, "policy": policy, "replication": month, "wait_min": wait_min}
        for kind, policy, month, wait_min in (
            ("hectic", "rh", 0, 1.0),
            ("hectic", "rh", 0, 4.0),
            ("hectic", "rh", 2, 7.0),
            ("hectic", "rh", 3, 9.0),
            ("hectic", "fifo", 0, 10.0),
            ("quiet", "rh", 1, 10.0),
        )
    ]
    results = experiments.Results(None, days, None, None)
    source = Source(f"{MONTH} hectic", "rh", "wait_min")
    assert results.values(source, 3).tolist() == [2.5, 7.0]


@pytest.mark.slow
def test_the_month_by_command_equals_month():
    measure = Measure(average, (Source(MONTH, "fifo", "cost_usd"),))
    result = reproduce([(measure, 2)]).values(measure.sources[0], 2)
    study = cg.compare(cg.month(), ["fifo"], range(2))
    assert result.tolist() == study.values("fifo", "cost_usd")
