"""Schedulers compared by their ranks on the same graphs."""

from __future__ import annotations

import numpy as np

from cgrsp_simpy.base.table import Table
from cgrsp_simpy.studies.compare import Comparison


def ranking(study: Comparison) -> Table | None:
    """Return mean ranks, with Friedman's test and Nemenyi's critical difference.

    None for fewer than 3 schedulers, after failed runs, and if all seeds
    gave the same: they are then one block.
    """
    values = np.array([study.values(name, "makespan_s") for name in study.policies])
    if len(study.policies) < 3 or study.failures or (values == values[:, :1]).all():
        return None
    # slow to import
    from cgrsp_simpy.analysis.ranks import rank_test

    test = rank_test(values.T)
    heading = (
        f"mean ranks of makespan_s: Friedman chi-square {test.statistic:.1f}, p"
        f" {test.p:.2g}; ranks that differ by more than"
        f" {test.critical_difference:.2f} differ (Nemenyi, 5 %)"
    )
    rows = sorted(zip(test.mean.tolist(), study.policies))
    cells = [[name, f"{rank:.2f}"] for rank, name in rows]
    return Table(heading, [["policy", "rank"], *cells])
