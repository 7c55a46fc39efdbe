"""Costs by market, deadline and overhead, and shares of the omniscient saving."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.table import aligned, grouped
from cgrsp_simpy.market.zones import Traces, TwoState
from cgrsp_simpy.spot.policies import COMPARED
from cgrsp_simpy.spot.scenario import Scenario
from cgrsp_simpy.studies.compare import sweep
from cgrsp_simpy.studies.study import Comparison

DEADLINES_H = (52.0, 70.0)  # default deadlines, hours
OVERHEADS_H = (0.05, 0.2)  # default changeover delays, hours
Terms = tuple[float, float]
"""Deadline and overhead, hours."""


@dataclass(frozen=True)
class DeadlineStudy:
    """Comparisons per market, deadline and overhead, all on the same seeds."""

    studies: Mapping[str, Mapping[Terms, Comparison]]

    @property
    def terms(self) -> list[Terms]:
        """The pairs of deadline and overhead."""
        return list(next(iter(self.studies.values())))

    @property
    def policies(self) -> list[str]:
        """The names of the policies."""
        return next(iter(next(iter(self.studies.values())).values())).policies

    def mean_values(
        self, terms: Terms, policy: str, figure: str, market: str = "all"
    ) -> Floats:
        """Return a metric by seed, of a market or averaged over all, shape (seeds,)."""
        studies = self.studies.values() if market == "all" else [self.studies[market]]
        return np.asarray(
            np.mean([study[terms].values(policy, figure) for study in studies], axis=0)
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per market, deadline, overhead and policy.

        Market "all": means over markets, with the share of the optimum's saving.
        """
        return [
            {
                "market": market,
                "deadline_h": terms[0],
                "overhead_h": terms[1],
                "policy": policy,
                "cost_usd": usd.mean,
                "cost_usd_half": usd.half_width,
                "cost_pct": pct.mean,
                "cost_pct_half": pct.half_width,
                "missed": missed.mean,
                **(self._saving(terms, policy) if market == "all" else {}),
            }
            for terms in self.terms
            for market in (*self.studies, "all")
            for policy in self.policies
            for usd, pct, missed in [
                [
                    mean(self.mean_values(terms, policy, figure, market))
                    for figure in ("cost_usd", "cost_pct", "missed")
                ]
            ]
        ]

    def _saving(self, terms: Terms, policy: str) -> dict[str, float]:
        """Return the saving as a percentage of the optimum's, over all markets."""
        if "optimum" not in self.policies:
            return {}
        cost, best = (
            self.mean_values(terms, name, "cost_pct") for name in (policy, "optimum")
        )
        saving = mean(100 * (100 - cost) / (100 - best))
        return {"saving_pct": saving.mean, "saving_pct_half": saving.half_width}

    def __str__(self) -> str:
        by_terms = grouped(
            self.rows(), lambda row: (row["deadline_h"], row["overhead_h"])
        )
        return "\n\n".join(self._text(terms, rows) for terms, rows in by_terms.items())

    def _text(self, terms: Terms, rows: list[dict[str, Any]]) -> str:
        by_market = grouped(rows, lambda row: str(row["market"]))
        saved = [row for row in by_market["all"] if "saving_pct" in row]
        sections = [(name, "cost_pct", by_market[name]) for name in self.studies]
        if len(self.studies) > 1:
            sections.append(("all", "cost_pct", by_market["all"]))
        if saved:
            sections.append(("saving, % of the optimum's", "saving_pct", saved))
        table = [["market", *self.policies]] + [
            [
                name,
                *(
                    f"{row[figure]:.1f} ± {row[f'{figure}_half']:.1f}"
                    for row in members
                ),
            ]
            for name, figure, members in sections
        ]
        missed = summed(
            summed(studies[terms].values(policy, "missed"))
            for studies in self.studies.values()
            for policy in self.policies
        )
        lines = [
            f"deadline {terms[0]:g} h, overhead {terms[1]:g} h: cost, % of on demand"
            " only, ± 95 % half width",
            *aligned(table),
            f"deadlines missed: {missed:g}",
        ]
        return "\n".join(lines)


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
    """Compare policies in every market, for every deadline and overhead.

    deadlines, overheads, hours: as in `Scenario`, in hours.
    """
    require(len(markets) > 0, "markets", markets, "at least one")
    require(
        "all" not in markets,
        "markets",
        "all",
        "different from all, the name of their mean",
    )
    seeds, studies = list(seeds), {}
    for name, market in markets.items():
        longest, least = max(deadlines or DEADLINES_H), min(overheads or OVERHEADS_H)
        base = Scenario(market, hours, longest, least)
        grid = {"deadline": list(deadlines), "overhead": list(overheads)}
        studies[name] = {
            (point["deadline"], point["overhead"]): study
            for point, study in sweep(base, grid, policies, seeds, executor)
        }
    return DeadlineStudy(studies)
