"""The README's picture: a hectic day under FIFO and CADR, drawn from one run of each.

Run it from the project's root: python scenarios/readme_figure.py. The CSV next to the
picture has one row per job and policy.
"""

import numpy as np

import cgrsp_simpy as cg
from cgrsp_simpy.base.timeline import CLAIM, VISIT, Timeline
from cgrsp_simpy.plots.figure import Figure, where

POLICIES, SEED = ("fifo", "cadr"), 6
TIMES = ("submit_s", "dispatch_s", "start_s", "finish_s", "deadline_s")


def rows(runs):
    """Return one row per job and policy: its complexity, slot and times."""
    return [
        {
            **{"policy": run.policy, "job": int(job["job"])},
            **{"complexity": int(job["complexity"]), "slot": int(job["slot"])},
            "gpu": run.scenario.slots[job["slot"]].name,
            **{name: round(float(job[name]), 1) for name in TIMES},
        }
        for run in runs
        for job in run.jobs
    ]


def timeline(policy, jobs):
    """Return the timeline of a policy from its rows."""
    slots = dict(sorted((row["slot"], row["gpu"]) for row in jobs))
    claims = [
        (row["job"], row["slot"], 1.0, phase, row[start], row[end])
        for row in jobs
        for phase, start, end in (
            ("provisioning", "dispatch_s", "start_s"),
            ("executing", "start_s", "finish_s"),
        )
    ]
    moments = ("job", "submit_s", "dispatch_s", "finish_s", "deadline_s")
    visits = [tuple(row[name] for name in moments) for row in jobs]
    return Timeline(
        "slot",
        tuple(f"{slot}  {gpu}" for slot, gpu in slots.items()),
        (1.0,) * len(slots),
        np.array(claims, CLAIM),
        np.array(visits, VISIT),
        kinds={row["job"]: f"complexity {row['complexity']}" for row in jobs},
        policy=policy,
    )


def draw(canvas, rows):
    """Slots under CADR above, waiting jobs under both policies below."""
    top, bottom = canvas.subplots(2, sharex=True, height_ratios=(3, 2))
    runs = [timeline(policy, where(rows, policy=policy)) for policy in POLICIES]
    cg.plots.gantt(runs[1], ax=top).set(xlabel="", ylabel="slot, under CADR")
    cg.plots.queue_length(runs, ax=bottom)
    bottom.set_xlabel("time (h); 950 jobs arrive in the first 2.6 h")
    for ax in (top, bottom):
        ax.axvspan(4, 10, color="#fff3cd", zorder=0)
    bottom.text(
        4.1,
        0.93,
        "scarce stock: provisioning takes up to 2 h",
        transform=bottom.get_xaxis_transform(),
        va="top",
        fontsize="small",
    )
    legend = top.get_legend()
    legend.remove()  # to the edge of the figure
    return legend.legend_handles


FIGURE = Figure(
    "hectic_day",
    "A hectic day under FIFO and CADR",
    (6.3, 4.2),
    rows=rows,
    draw=draw,
    texts=("gpu",),
)

if __name__ == "__main__":
    day = cg.day("hectic")
    runs = [cg.simulate(day, policy, seed=SEED) for policy in POLICIES]
    FIGURE.write("figures", rows(runs))
    for run in runs:
        figures = run.summary()
        print(
            f"{run.policy}: {figures['wait_min']:.0f} min mean wait,"
            f" {figures['miss_pct']:.1f} % of deadlines missed"
        )
