"""Comparison of policies on the same seeds: means with intervals, and paired differences from the first policy."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgrsp_simpy.analysis.statistics import Mean, mean, paired_difference
from cgrsp_simpy.experiments.replicate import replicate
from cgrsp_simpy.model.decision import Policy
from cgrsp_simpy.model.scenario import Scenario
from cgrsp_simpy.model.table import to_pandas, write_csv

if TYPE_CHECKING:
    import pandas

__all__ = ["Comparison", "compare"]

SHOWN = ("wait_min", "miss_pct", "tight_miss_pct", "tardiness_min", "cost_usd", "utilisation_pct")
TESTED = ("wait_min", "miss_pct", "tardiness_min", "cost_usd")


def compare(
    scenario: Scenario,
    policies: Sequence[str | Policy],
    seeds: Iterable[int],
    executor: Executor | int | None = None,
) -> Comparison:
    """Run each policy on each seed; every policy meets the same jobs with the same luck (common random numbers).

    policies: as in `simulate`; the first is the one that the others are tested against. seeds: whole numbers >= 0.
    executor: None runs here, a number in as many processes, or any concurrent.futures.Executor.

    Raises InputError for a policy or seed that is not allowed, PolicyError for an answer that cannot be carried out.
    """
    return Comparison(scenario.name, replicate(scenario, policies, seeds, executor))


@dataclass(frozen=True)
class Comparison:
    """Figures of several policies on the same seeds.

    rows: one dict a policy and seed, with the keys policy, seed and those of `Run.summary`.
    """

    scenario: str
    rows: list[dict[str, Any]] = field(repr=False)

    @property
    def policies(self) -> list[str]:
        """The policies in the order of the comparison."""
        return list(dict.fromkeys(row["policy"] for row in self.rows))

    @property
    def seeds(self) -> list[int]:
        """The seeds in the order of the comparison."""
        return list(dict.fromkeys(row["seed"] for row in self.rows))

    def values(self, policy: str, figure: str) -> list[float]:
        """A figure of a policy by seed."""
        return [row[figure] for row in self.rows if row["policy"] == policy]

    def means(self) -> dict[str, dict[str, Mean]]:
        """Policy -> figure -> mean with its 95 % interval."""
        figures = [key for key in self.rows[0] if key not in ("policy", "seed")]
        return {policy: {figure: mean(self.values(policy, figure)) for figure in figures} for policy in self.policies}

    def differences(self) -> dict[str, dict[str, Mean]]:
        """Policy -> figure -> mean of the paired differences from the first policy, with interval and p-value."""
        first, *others = self.policies
        return {
            policy: {name: paired_difference(self.values(policy, name), self.values(first, name)) for name in TESTED}
            for policy in others
        }

    def to_csv(self, path: str | Path) -> None:
        """Write the rows to a CSV file."""
        write_csv(path, self.rows)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame; needs the extra "pandas"."""
        return to_pandas(self.rows)

    def as_dict(self) -> dict[str, Any]:
        """Means and differences as plain values; None where a value does not exist."""
        return {
            "scenario": self.scenario,
            "seeds": self.seeds,
            "policies": _plain(self.means()),
            "differences": {"from": self.policies[0], "policies": _plain(self.differences(), test=True)},
        }

    def to_json(self, path: str | Path) -> None:
        """Write means and differences to a JSON file."""
        Path(path).write_text(json.dumps(self.as_dict(), indent=2) + "\n", encoding="utf-8")

    def __str__(self) -> str:
        """A table of means with 95 % intervals, and one of paired differences from the first policy."""
        count = len(self.seeds)
        title = f"{self.scenario}: mean of {count} seed{'s' * (count > 1)}" + (" ± 95 % half width" if count > 1 else "")
        means = [[policy] + [_interval(row[name]) for name in SHOWN] for policy, row in self.means().items()]
        lines = [title, *_aligned([["policy", *SHOWN], *means])]
        if len(self.policies) > 1 and count > 1:
            tests = [
                [policy] + [f"{_interval(row[name], '+')} {_stars(row[name].p)}" for name in TESTED]
                for policy, row in self.differences().items()
            ]
            heading = f"difference from {self.policies[0]}, paired by seed (t-test: * p < 0.05, ** p < 0.01, *** p < 0.001)"
            lines += ["", heading, *_aligned([["policy", *(f"{name}    " for name in TESTED)], *tests])]
        return "\n".join(lines)


def _interval(value: Mean, sign: str = "") -> str:
    if math.isnan(value.mean):
        return "-"
    return f"{value.mean:{sign}.2f}" + ("" if math.isnan(value.low) else f" ±{value.half_width:5.2f}")


def _stars(p: float) -> str:
    return f"{'*' * ((p < 0.05) + (p < 0.01) + (p < 0.001)):<3}"


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]


def _plain(table: dict[str, dict[str, Mean]], test: bool = False) -> dict[str, dict[str, dict[str, Any]]]:
    def value(entry: Mean) -> dict[str, Any]:
        plain = {"mean": _or_none(entry.mean), "ci95": [_or_none(entry.low), _or_none(entry.high)], "n": entry.n}
        return {**plain, "p": _or_none(entry.p)} if test else plain

    return {policy: {name: value(entry) for name, entry in row.items()} for policy, row in table.items()}


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number
