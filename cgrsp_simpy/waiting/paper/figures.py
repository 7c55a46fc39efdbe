"""The table and the figures of waiting-policies.txt, drawn anew.

Figures 2 to 14 are the paper's own setting. Figures 15 to 22 are about a year-long log that is
not at hand: here they are of generated jobs with that log's printed features, at a fortieth of its
rate, or of a log of the user's.
"""

from __future__ import annotations

from cgrsp_simpy.plots.figure import Gallery
from cgrsp_simpy.waiting.paper import formula_figures, workload_figures
from cgrsp_simpy.waiting.paper.runs import Runs

FIGURES = formula_figures.FIGURES | workload_figures.FIGURES


def _intro(runs: Runs) -> list[str]:
    return [
        "# Figures of the waiting policies, drawn from this package's formulas and runs",
        "After Ambati, Bashir, Irwin and Shenoy, “Modeling and Analyzing Waiting Policies for"
        " Cloud-Enabled Schedulers”. A price is relative to that of renting for every job;"
        " an opportunity cost is P w with P in US cents per hour of an m5.large; what stands after"
        " ± is half of a 95 % interval. Each picture has the CSV of what is plotted beside it."
        " All of them: `cgrsp waiting figures --out figures/waiting`.",
        f"Figures 15 to 22: {runs.told}. Their intervals are from the batches of one run,"
        " all lines share the jobs, and so most of what an interval holds moves all lines alike.",
    ]


draw_figures = Gallery("waiting", Runs, FIGURES, _intro).draw
