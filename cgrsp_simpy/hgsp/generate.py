"""The paper's four sets of tasks, drawn from its distributions (hgsp.txt Section IV).

The distributions are not printed. Those of tasks3 and tasks4 are in the authors' public
program, whose two seeds give both files row by row. Those of tasks1 and tasks2, whose
seed is not known, are inferred from the files: gaps between arrivals are uniform from 0
to 5 s. No task needs more than the 24 GB of the smallest GPU.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from random import Random
from typing import Annotated

import numpy as np

from cgrsp_simpy.base.checks import check_one_of, require
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.parameters import (
    AtLeastAMillionth,
    Count,
    Entries,
    NotNegative,
    Whole,
    checked,
    declared,
    from_text,
    listed,
    parameter,
    rule,
)
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.base.table import many
from cgrsp_simpy.hgsp.instance import CLUSTERS, COLUMNS, Gpu, Instance, cluster

# speed used for task times in the deadline distributions: the A30 of the text
SPEED = 30.0
SIZES_GB = tuple(float(gb) for gb in range(6, 25) if gb != 9)
DIGITS = 2  # decimals of arrivals and deadlines


in_order = rule(
    "a pair [least, greatest] with least <= greatest",
    lambda pair: pair[0] <= pair[1],
)
Span = Annotated[
    tuple[NotNegative, NotNegative], listed("a pair of numbers >= 0", 2), in_order
]
Work = Annotated[
    Span,
    rule(
        "whole numbers >= 1",
        lambda pair: pair[0] >= 1 and all(float(value).is_integer() for value in pair),
    ),
]
GpusOfLevel = Annotated[
    str | Annotated[Entries[Gpu], rule("a list of at least one Gpu", bool)],
    from_text(lambda name: name if name in CLUSTERS else cluster(name)),
]


@declared()
class Level:
    """Parameters of a load level; attributes of tasks are drawn uniformly."""

    tasks: Count = parameter("Number of tasks.")
    cluster: GpusOfLevel = parameter(
        "The GPUs, the name of a cluster of the paper, or a file, see `read_cluster`."
    )
    load: AtLeastAMillionth = parameter(
        "Offered work per second, divided by the total speed of the GPUs."
    )
    slack: Span = parameter(
        "Minimum and maximum time from arrival to deadline, as multiples of the"
        " task's time at speed 30; 0:0: no such time."
    )
    slack_s: Span = parameter(
        "Minimum and maximum time in seconds, added to that; 0:0: no such time.",
        default=(0.0, 0.0),
    )
    workload: Work = parameter(
        "Minimum and maximum workload, whole numbers.", default=(100.0, 800.0)
    )
    memory_gb: Annotated[
        Entries[NotNegative], rule("a list of at least one size", bool)
    ] = parameter("Memory sizes, all equally likely.", default=SIZES_GB)
    greatest_weight: Count = parameter(
        "Greatest weight; weights are whole numbers from 1.", default=5
    )
    uniform_gaps: bool = parameter(
        "Whether interarrival times are uniform from 0 to twice their mean; if"
        " not, arrival times are uniform.",
        default=False,
    )

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """The GPUs of the cluster."""
        return cluster(self.cluster) if isinstance(self.cluster, str) else self.cluster

    @property
    def span_s(self) -> float:
        """Mean time span of arrivals, seconds: mean work over load and speed."""
        speed = summed(gpu.speed for gpu in self.gpus)
        return self.tasks * sum(self.workload) / 2 / (self.load * speed)

    @property
    def name(self) -> str:
        """Description of the parameters."""
        spans = (("", self.slack), (" s", self.slack_s))
        slack = " + ".join(
            f"{pair[0]:g} to {pair[1]:g}{unit}" for unit, pair in spans if any(pair)
        )
        return (
            f"{many(self.tasks, 'task')} on {many(len(self.gpus), 'GPU')}, load"
            f" {self.load:.4g},"
            f" slack {slack or 'none'}"
        )


# Arrivals within 2500 s (tasks1, tasks2), 1500 s and 1000 s; three GPUs have a speed of
# 190.
_TASKS1 = Level(
    tasks=1000,
    cluster="small",
    load=1000 * 405 / (2500 * 190),
    slack=(0.0, 0.0),
    slack_s=(10.0, 50.0),
    workload=(10.0, 800.0),
    memory_gb=tuple(float(gb) for gb in range(6, 25)),
    greatest_weight=4,
    uniform_gaps=True,
)
LEVELS = {
    "tasks1": _TASKS1,
    "tasks2": replace(_TASKS1, cluster="medium", load=1000 * 405 / (2500 * 380)),
    "tasks3": Level(1500, "small", 1500 * 450 / (1500 * 190), (0.8, 1.5)),
    "tasks4": Level(
        2000, "large", 2000 * 500 / (1000 * 570), (0.5, 1.0), workload=(200.0, 800.0)
    ),
}
AUTHORS_SEEDS = {"tasks3": 342, "tasks4": 442}  # seeds of their program's `random`


@checked
def generate(
    level: str | Level, seed: Whole = 0, gpus: tuple[Gpu, ...] | None = None
) -> Instance:
    """Draw tasks of a load level; tasks3 and tasks4 with seed 0 are the paper's own.

    level: "tasks1" (medium), "tasks2" (medium), "tasks3" (high), "tasks4" (extreme), or
    a `Level`. gpus: by default the level's cluster; the arrivals do not depend on them.
    Raises InputError for another level. hgsp.txt Section IV.
    """
    name = level if isinstance(level, str) else "generated"
    if isinstance(level, str):
        check_one_of("load level", level, LEVELS)
        level = LEVELS[level]
    require(isinstance(level, Level), "level", level, "a Level or the name of one")
    known = AUTHORS_SEEDS.get(name) if seed == 0 else None
    rng = Random(
        int.from_bytes(stream(seed, "tasks").bytes(16)) if known is None else known
    )
    rows = np.array(
        [_task(rng, level, arrival_s) for arrival_s in _arrivals(rng, level)]
    )
    return Instance(
        **dict(zip(COLUMNS, rows.T)),
        gpus=gpus or level.gpus,
        name=f"{name} seed {seed}",
    )


def _arrivals(rng: Random, level: Level) -> list[float]:
    if not level.uniform_gaps:
        return sorted(rng.uniform(0, level.span_s) for _ in range(level.tasks))
    most_s = 2 * level.span_s / level.tasks
    return list(accumulate(rng.uniform(0, most_s) for _ in range(level.tasks)))


def _task(rng: Random, level: Level, arrival_s: float) -> tuple[float, ...]:
    """Draw workload, memory, deadline, weight and arrival, in the authors' order.

    Deadlines are computed from unrounded arrivals.
    """
    workload = rng.randint(*map(int, level.workload))
    memory_gb = rng.choice(level.memory_gb)
    weight = rng.randint(1, level.greatest_weight)
    slack_s = workload / SPEED * rng.uniform(*level.slack) if any(level.slack) else 0.0
    slack_s += rng.uniform(*level.slack_s) if any(level.slack_s) else 0.0
    return (
        workload,
        memory_gb,
        round(arrival_s + slack_s, DIGITS),
        weight,
        round(arrival_s, DIGITS),
    )
