"""Worked examples of the thesis as scenarios (Sections 3.7 and 4.5.9)."""

from __future__ import annotations

from collections.abc import Sequence

from cgrsp_simpy.market.gpu import GpuType, round_robin
from cgrsp_simpy.market.model import Clock, Market
from cgrsp_simpy.rental.job import Job, Service
from cgrsp_simpy.rental.policies.rules import (
    ListPolicy,
    by_submission,
    cheapest,
    fastest,
)
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.view import SlotView, View
from cgrsp_simpy.rental.workload import JobList

HOUR_S = 3600.0
BY_TABLE = Service("lognormal", (0, 0, 0))  # execution times equal their means
# High stock with negligible delays
ALL_HIGH = Market(Clock(((0, 4.0),)), delay_s=((0, 0),) * 3, high_cap=1.0)

RTX_3090, RTX_A4000 = round_robin(["RTX 3090", "RTX A4000"])
THREE_JOBS = Scenario(
    "three jobs",
    JobList(
        (
            Job(0, submit_s=0, deadline_s=1 * HOUR_S, complexity=1, tight=True),
            Job(1, submit_s=0, deadline_s=8 * HOUR_S, complexity=2),
            Job(2, submit_s=0, deadline_s=8 * HOUR_S, complexity=1),
        )
    ),
    slots=(RTX_3090, RTX_A4000, RTX_A4000, RTX_A4000, RTX_A4000),
    gpus=(RTX_3090, RTX_A4000),
    market=ALL_HIGH,
    service=BY_TABLE,
)
"""The worked example of thesis Section 3.7."""


def fast_if_tight(view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
    """Take the fastest idle slot for a tight job, the cheapest for a loose one."""
    return (fastest if job.tight else cheapest)(view, job, offers)


QOS_FIRST = ListPolicy(by_submission, fast_if_tight, name="quality first")
"""Rule of the text for three jobs: tight ones fast, loose ones cheap."""

NODE = GpuType("node", 0.25, (65, 75, 120), 1.0)  # the rounded times of Figure 4.1
# The text gives J6 and the times at which nodes N1 and N2 become free, 70 and 75 s.
# These submissions and complexities reproduce them, with N0 busy until 120 s and, under
# FIFO, no node free for J6 before N2 at 140 s.
SUBMIT_S = (0, 5, 10, 20, 30, 40, 50)
COMPLEXITY = (3, 1, 1, 2, 1, 3, 2)
SEVEN_JOBS = Scenario(
    "seven jobs",
    JobList(
        tuple(
            Job(
                i,
                submit_s,
                210 if i == 6 else submit_s + 8 * HOUR_S,
                complexity,
                tight=i == 6,
            )
            for i, (submit_s, complexity) in enumerate(zip(SUBMIT_S, COMPLEXITY))
        )
    ),
    slots=(NODE, NODE, NODE),
    gpus=(NODE,),
    market=ALL_HIGH,
    service=BY_TABLE,
)
"""The jobs of thesis Figure 4.1."""
