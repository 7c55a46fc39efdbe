"""Markets x deadlines x overheads: what each policy costs against on demand only, and which share
of the omniscient optimum's saving it reaches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.model.checks import require
from cgrsp_simpy.model.metric import summed
from cgrsp_simpy.model.table import aligned
from cgrsp_simpy.spot.market import Traces, TwoState
from cgrsp_simpy.spot.policies import COMPARED
from cgrsp_simpy.spot.scenario import Scenario
from cgrsp_simpy.studies.compare import Comparison
from cgrsp_simpy.studies.sweep import sweep

DEADLINES_H = (52.0, 70.0)  # deadlines that are studied unless told, hours
OVERHEADS_H = (0.05, 0.2)  # changeover delays that are studied unless told, hours
Floats = npt.NDArray[np.float64]
Terms = tuple[float, float]
"""Deadline and overhead, hours."""


@dataclass(frozen=True)
class DeadlineStudy:
    """Comparisons by market, and by deadline and overhead; all on the same seeds."""

    studies: Mapping[str, Mapping[Terms, Comparison]]

    @property
    def terms(self) -> list[Terms]:
        """The pairs of deadline and overhead."""
        return list(next(iter(self.studies.values())))

    @property
    def policies(self) -> list[str]:
        """The names of the policies."""
        return next(iter(next(iter(self.studies.values())).values())).policies

    def mean_values(self, terms: Terms, policy: str, figure: str) -> Floats:
        """A figure by seed, the mean over markets, shape (seeds,)."""
        values = [study[terms].values(policy, figure) for study in self.studies.values()]
        return np.asarray(np.mean(values, axis=0))

    def saving(self, terms: Terms, policy: str) -> Mean:
        """The saving over that of the optimum, percent: of each seed, savings of all markets
        together, since in a market without spot instances there is next to nothing to save.
        """
        cost, best = (self.mean_values(terms, name, "cost_pct") for name in (policy, "optimum"))
        return mean(100 * (100 - cost) / (100 - best))

    def rows(self) -> list[dict[str, Any]]:
        """A row a market, deadline, overhead and policy, with means and half widths; in the rows of
        market "all" the means over markets, with the share of the optimum's saving.
        """
        found = []
        for terms in self.terms:
            for name, by_terms in (*self.studies.items(), ("all", None)):
                for policy in self.policies:
                    row: dict[str, Any] = {
                        "market": name,
                        "deadline_h": terms[0],
                        "overhead_h": terms[1],
                        "policy": policy,
                    }
                    for figure in ("cost_usd", "cost_pct", "missed"):
                        told = mean(
                            self.mean_values(terms, policy, figure)
                            if by_terms is None
                            else by_terms[terms].values(policy, figure)
                        )
                        row |= {figure: told.mean, f"{figure}_half": told.half_width}
                    del row["missed_half"]
                    if by_terms is None and "optimum" in self.policies:
                        told = self.saving(terms, policy)
                        row |= {"saving_pct": told.mean, "saving_pct_half": told.half_width}
                    found.append(row)
        return found

    def __str__(self) -> str:
        """Costs by market, percent of on demand only: a line a market, a column a policy."""
        lines = []
        for terms in self.terms:
            rows = [row for row in self.rows() if (row["deadline_h"], row["overhead_h"]) == terms]
            lines += [
                f"deadline {terms[0]:g} h, overhead {terms[1]:g} h: cost, % of on demand only,"
                " ± 95 % half width"
            ]
            table = [["market", *self.policies]]
            for name in [*self.studies, *(["all"] if len(self.studies) > 1 else [])]:
                own = [row for row in rows if row["market"] == name]
                cells = [f"{row['cost_pct']:.1f} ±{row['cost_pct_half']:4.1f}" for row in own]
                table.append([name, *cells])
            own = [row for row in rows if "saving_pct" in row]
            if own:
                cells = [f"{row['saving_pct']:.1f} ±{row['saving_pct_half']:4.1f}" for row in own]
                table.append(["saving, % of the optimum's", *cells])
            missed = summed(
                summed(by_terms[terms].values(policy, "missed"))
                for by_terms in self.studies.values()
                for policy in self.policies
            )
            lines += [*aligned(table), f"deadlines missed: {missed:g}", ""]
        return "\n".join(lines[:-1])


def deadline_study(
    markets: Mapping[str, Traces | TwoState],
    deadlines: Sequence[float] = DEADLINES_H,
    overheads: Sequence[float] = OVERHEADS_H,
    policies: Sequence[Any] = COMPARED,
    seeds: Iterable[int] = range(30),
    *,
    hours: float = 48.0,
    executor: Executor | int | None = None,
) -> DeadlineStudy:
    """Compare policies in every market, given by name, for every deadline and overhead.

    deadlines, overheads, hours: as of `Scenario`, hours. policies, seeds, executor: as of
    `cg.compare`. Raises InputError for what is not allowed.
    """
    require(len(markets) > 0, "markets", markets, "at least one")
    require("all" not in markets, "markets", "all", "names other than that of their mean")
    seeds, found = list(seeds), {}
    for name, market in markets.items():
        base = Scenario(market, hours, max(deadlines, default=hours), min(overheads, default=0))
        grid = {"deadline": list(deadlines), "overhead": list(overheads)}
        swept = sweep(base, grid, policies, seeds, executor)
        points = [(point["deadline"], point["overhead"]) for point in swept.points]
        found[name] = dict(zip(points, swept.studies))
    return DeadlineStudy(found)
