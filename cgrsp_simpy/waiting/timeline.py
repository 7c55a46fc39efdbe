"""Who held which fixed machine, and who ran on demand: what a run of waiting jobs is drawn from.

The places are the fixed machines, of which a job holds one as a whole or as many cores as it
needs, and one more, "on demand", as large as what ran there at most at a time; it is left out
where no job did.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.model.timeline import CLAIM, PHASES, VISIT, Timeline
from cgrsp_simpy.waiting.machines import Size


def timeline_of(run: Run, machines: int | tuple[Size, ...]) -> Timeline:
    """The run as machines and jobs; these are of two kinds, by where they ran."""
    jobs, held = run.jobs, run.claims
    on_demand, amounts = jobs["on_demand"], np.ones(len(jobs))
    if isinstance(machines, int):
        names, sizes = [str(index) for index in range(machines)], [1.0] * machines
    else:
        names = [f"{index}  {size.name}" for index, size in enumerate(machines)]
        sizes, amounts = [float(size.cores) for size in machines], jobs["cores"]
        held = held[held["place"] % 2 == 0]  # cores; those of its memory come behind
        held["place"] //= 2
    visits, rented = np.empty(len(jobs), VISIT), np.empty(len(jobs), CLAIM)
    visits["job"], visits["ready_s"] = jobs["job"], jobs["submit_s"]
    visits["granted_s"], visits["end_s"] = jobs["start_s"], jobs["finish_s"]
    visits["due_s"] = np.nan
    rented["job"], rented["place"], rented["phase"] = jobs["job"], len(names), PHASES[-1]
    rented["amount"] = amounts
    rented["from_s"], rented["to_s"] = jobs["start_s"], jobs["finish_s"]
    rented = rented[on_demand & (rented["to_s"] > rented["from_s"])]
    if on_demand.any():
        names.append("on demand")
        sizes.append(_most_at_once(rented))
    claims = np.concatenate([held, rented])
    kinds = np.where(on_demand, "on demand", "fixed machine")
    return Timeline(
        "machine",
        tuple(names),
        tuple(sizes),
        claims[np.argsort(claims["from_s"], kind="stable")],
        visits,
        kinds=dict(zip(jobs["job"].tolist(), kinds.tolist())),
        policy=run.policy,
    )


def _most_at_once(claims: npt.NDArray[Any]) -> float:
    """The greatest sum of amounts at a time; 1 where nothing took time."""
    times_s = np.concatenate([claims["from_s"], claims["to_s"]])
    changes = np.concatenate([claims["amount"], -claims["amount"]])
    running = np.cumsum(changes[np.lexsort((changes, times_s))])  # of one instant, first what ends
    return float(running.max(initial=1.0))
