"""Table I of the paper, cell by cell: printed, reproduced, and a verdict.

The paper's tasks3 and tasks4 are generated; tasks1 and tasks2 are in the authors'
repository, without a licence, and are read if there is a copy. Misprints: tasks2 has
1000 tasks (2000 in the text), tasks3 1500 (1000); the printed runs have GPU speeds of
76, 40 and 74 (57, 30, 55.5 times 4/3); the annealing ran with K = 1000 and alpha = 0.99
(100 and 0.95), and inserts tasks into gaps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.base.table import grouped
from cgrsp_simpy.hgsp.generate import AUTHORS_SEEDS, LEVELS, generate
from cgrsp_simpy.hgsp.instance import CLUSTERS, Gpu, Instance, read_instance
from cgrsp_simpy.hgsp.policies import SCHEDULERS, SEEDED
from cgrsp_simpy.papers.ledger import DIFFERENT, REPRODUCED, UNDECIDED
from cgrsp_simpy.studies.executors import as_they_come

# data set and scheduler -> weighted tardiness in s and missed deadlines in %, as
# printed
PRINTED = {
    ("tasks1", "fifo"): ("524", "5.7"),
    ("tasks1", "greedy"): ("503", "5.2"),
    ("tasks1", "sagreedy"): ("393", "4.9"),
    ("tasks2", "fifo"): ("140", "1.9"),
    ("tasks2", "greedy"): ("0.35", "0.1"),
    ("tasks2", "sagreedy"): ("0.35", "0.1"),
    ("tasks3", "fifo"): ("4.40M", "99.5"),
    ("tasks3", "greedy"): ("4.40M", "99.6"),
    ("tasks3", "sagreedy"): ("3.96M", "56.7"),
    ("tasks4", "fifo"): ("2.26M", "99.1"),
    ("tasks4", "greedy"): ("2.26M", "99.1"),
    ("tasks4", "sagreedy"): ("2.23M", "91.3"),
}
METRICS = ("weighted_tardiness", "dmr_pct")
SIZES = ("small", "medium", "large")
# quantiles over seeds between which a printed value has to lie
RANGE = (0.025, 0.975)
# with 39 seeds, a further value is outside their range with probability 1/20
LEAST_SEEDS = 39
NOT_PRINTED_SEEDS = 5  # enough for a range


def printed_value(cell: str) -> float:
    """Value of a printed cell, with M for a million."""
    return float(cell.rstrip("M")) * (1e6 if cell.endswith("M") else 1)


def table_one(
    tasks: str | Path | None = None,
    seeds: Iterable[int] = range(40),
    policies: Collection[str] = ("fifo", "greedy", "sagreedy"),
    executor: Executor | int | None = None,
) -> list[dict[str, Any]]:
    """Return one row per data set, cluster, scheduler and metric, with its verdict.

    The paper prints one cluster per data set; the others have no verdict and at most
    five seeds. FIFO and Greedy agree if the result rounds to the printed value;
    SAGreedy if the printed value lies within the central 95 % of its seeds, whose ends
    are the quantiles of rank (n + 1) p. With fewer than 39 seeds the ends are the least
    and the greatest value, and a value outside is undecided. tasks: folder of the
    authors' tasks1.csv to tasks4.csv; without it tasks1 and tasks2 are generated, one
    instance per seed.
    """
    all_seeds = tuple(seeds)
    keys = [
        (dataset, size, scheduler, seed, tasks)
        for dataset, scheduler in PRINTED
        if scheduler in policies
        for size in SIZES
        for seed in _seeds_of(dataset, size, scheduler, all_seeds, tasks)
    ]
    measured = dict(as_they_come(_measured, dict(zip(keys, keys)), executor))
    return [
        {
            "dataset": dataset,
            "cluster": size,
            "scheduler": scheduler,
            "metric": metric,
            "printed": cell,
            "least": min(values),
            "greatest": max(values),
            "verdict": _verdict(values, cell, _is_random(dataset, scheduler, tasks)),
        }
        for (dataset, size, scheduler), group in grouped(
            keys, lambda key: key[:3]
        ).items()
        for metric, cell, values in zip(
            METRICS,
            PRINTED[dataset, scheduler] if _is_printed(dataset, size) else ("", ""),
            zip(*(measured[key] for key in group)),
        )
    ]


def _seeds_of(
    dataset: str,
    size: str,
    scheduler: str,
    seeds: Sequence[int],
    tasks: str | Path | None,
) -> Sequence[int]:
    """Return one seed if the result is not random, and few if it is not printed."""
    if not _is_random(dataset, scheduler, tasks):
        return seeds[:1]
    return seeds if _is_printed(dataset, size) else seeds[:NOT_PRINTED_SEEDS]


def _is_printed(dataset: str, size: str) -> bool:
    return size == LEVELS[dataset].cluster


def _is_random(dataset: str, scheduler: str, tasks: str | Path | None) -> bool:
    return scheduler in SEEDED or (tasks is None and dataset not in AUTHORS_SEEDS)


def _verdict(values: Sequence[float], cell: str, random: bool) -> str:
    """Return the verdict on a printed cell, given our values; "" without a cell."""
    if not cell:
        return ""
    low, high = np.quantile(values, RANGE, method="weibull").tolist()
    rounded = {_rounded(low, cell), _rounded(high, cell)}
    if low <= printed_value(cell) <= high or rounded == {cell}:
        return REPRODUCED
    return UNDECIDED if random and len(values) < LEAST_SEEDS else DIFFERENT


def _measured(key: tuple[str, str, str, int, str | Path | None]) -> tuple[float, ...]:
    """Return the figures of METRICS."""
    dataset, size, scheduler, seed, tasks = key
    instance = _instance(dataset, CLUSTERS[size], seed, tasks)
    metrics = SCHEDULERS[scheduler](instance, seed, None, None).schedule.metrics
    return tuple(metrics[name] for name in METRICS)


def _instance(
    dataset: str, gpus: tuple[Gpu, ...], seed: int, tasks: str | Path | None
) -> Instance:
    if tasks is None:
        return generate(dataset, 0 if dataset in AUTHORS_SEEDS else seed, gpus)
    path = Path(tasks, f"{dataset}.csv")
    if not path.is_file():
        raise InputError(
            f"{path}: no such file; a folder with tasks1.csv to tasks4.csv is needed"
        )
    return read_instance(path, gpus)


def _rounded(value: float, cell: str) -> str:
    """Format a value in the unit and with the decimals of a printed cell."""
    number = cell.rstrip("M")
    decimals = len(number.partition(".")[2])
    return f"{value / (1e6 if cell != number else 1):.{decimals}f}{cell[len(number) :]}"
