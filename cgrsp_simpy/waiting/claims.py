"""Who held which fixed machine, and who ran on demand: what a run of waiting jobs is drawn from.

The places are the fixed machines, of which a job holds one as a whole or as many cores as it
needs, and one more, "on demand", as large as what ran there at most at a time; it is left out
where no job did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cgrsp_simpy.engine.claims import Held, claims_table
from cgrsp_simpy.model.timeline import CLAIM, PHASES, VISIT, Timeline
from cgrsp_simpy.waiting.machines import Size
from cgrsp_simpy.waiting.tally import Columns

__all__ = ["claims_of", "timeline_of"]

Machines = int | tuple[Size, ...]


def claims_of(
    machines: Machines, jobs: Columns, log: Sequence[Held]
) -> np.ndarray[Any, np.dtype[Any]]:
    """One row a job that ran, an array of CLAIM, by its start; log: the engine's.

    Of shared machines the cores are told.
    """
    held = claims_table(log)
    if not isinstance(machines, int):
        # the pool of a machine's cores comes before that of its memory
        held = held[held["place"] % 2 == 0]
        held["place"] //= 2
    rented = np.empty(int(jobs.on_demand.sum()), CLAIM)
    on_demand = jobs.on_demand
    rented["job"], rented["place"], rented["phase"] = (
        jobs.place[on_demand] + 1,
        _number(machines),
        PHASES[-1],
    )
    rented["amount"] = 1.0 if isinstance(machines, int) else jobs.jobs.cores[on_demand]
    rented["from_s"], rented["to_s"] = jobs.start_s[on_demand], jobs.end_s[on_demand]
    claims = np.concatenate([held, rented[rented["to_s"] > rented["from_s"]]])
    return claims[np.argsort(claims["from_s"], kind="stable")]


def timeline_of(
    machines: Machines, jobs: Columns, claims: np.ndarray[Any, np.dtype[Any]], policy: str
) -> Timeline:
    """The run as machines and jobs; these are of two kinds, by where they ran."""
    number = _number(machines)
    sizes = (
        [1.0] * machines if isinstance(machines, int) else [float(size.cores) for size in machines]
    )
    names = [str(index) for index in range(number)]
    if not isinstance(machines, int):
        names = [f"{name}  {size.name}" for name, size in zip(names, machines)]
    if jobs.on_demand.any():
        names.append("on demand")
        sizes.append(_most_at_once(claims[claims["place"] == number]))
    visits = np.empty(len(jobs.place), VISIT)
    visits["job"], visits["ready_s"], visits["granted_s"] = (
        jobs.place + 1,
        jobs.jobs.submit_s,
        jobs.start_s,
    )
    visits["end_s"], visits["due_s"] = jobs.end_s, np.nan
    kinds = dict(
        zip(visits["job"].tolist(), np.where(jobs.on_demand, "on demand", "fixed machine").tolist())
    )
    return Timeline(
        "machine", tuple(names), tuple(sizes), claims, visits, kinds=kinds, policy=policy
    )


def _number(machines: Machines) -> int:
    return machines if isinstance(machines, int) else len(machines)


def _most_at_once(claims: np.ndarray[Any, np.dtype[Any]]) -> float:
    """The greatest sum of amounts at a time; 1 where nothing took time."""
    times_s = np.concatenate([claims["from_s"], claims["to_s"]])
    changes = np.concatenate([claims["amount"], -claims["amount"]])
    running = np.cumsum(changes[np.lexsort((changes, times_s))])  # of one instant, first what ends
    return float(running.max(initial=1.0))
