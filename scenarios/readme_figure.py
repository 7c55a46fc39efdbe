"""The README's picture: a hectic day under FIFO and CADR, drawn from one run of each.

Run it from the project's root: python scenarios/readme_figure.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

import cgrsp_simpy as cg

if __name__ == "__main__":
    day = cg.day("hectic")
    runs = [cg.simulate(day, policy, seed=6) for policy in ("fifo", "cadr")]
    figure, (top, bottom) = plt.subplots(
        2, figsize=(9, 5.6), sharex=True, layout="constrained", height_ratios=(3, 2)
    )
    cg.plots.gantt(runs[1], ax=top).set(xlabel="", ylabel="slot, under CADR")
    cg.plots.queue_length(runs, ax=bottom)
    bottom.set_xlabel("time (h); 950 jobs arrive in the first 2.6 h")
    for ax in (top, bottom):
        ax.axvspan(4, 10, color="#fff3cd", zorder=0)
    bottom.text(
        4.1,
        0.93,
        "scarce stock: a GPU may take up to 2 h to come",
        transform=bottom.get_xaxis_transform(),
        va="top",
        fontsize=9,
    )
    figure.savefig(Path("figures") / "hectic_day.png", dpi=130)
    for run in runs:
        figures = run.summary()
        print(
            f"{run.policy}: {figures['wait_min']:.0f} min mean wait,"
            f" {figures['miss_pct']:.1f} % of deadlines missed"
        )
