"""Table II: 20 requests in the authors' loop, each with its own GPUs (hgsp.txt VI)."""

from __future__ import annotations

from typing import Any

from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.papers.ledger import DIFFERENT, REPRODUCED

GPUS, DEGREE = 16, 2  # GPUs of the cluster; tau of a request
TOKENS_PER_S = 1000.0  # rate of a request; the decode phase adds nothing
STEP_S = 0.01  # Section VI.D
# (weight, tokens) in order of arrival, all at 0, Section VI.C
REQUESTS = [(1.0, 2000)] * 8 + [(10.0, 500)] * 12
# "Weighted Wait", "Avg Wait", "Completed"; printed waits end with the completion
PRINTED = {
    "fifo": {"weighted_response": 336.400, "mean_response_s": 2.402, "completed": 20},
    "wsrpt": {"weighted_response": 108.040, "mean_response_s": 1.802, "completed": 20},
}


def printed_loop(policy: str, double_count: bool) -> dict[str, float]:
    """Return the figures of Table II by the authors' loop, under fifo or wsrpt.

    The clock is a floating-point sum of steps: 250 of them are less than 2.5 s, so a
    request that waits for a completion at 2.5 s starts at 2.51 s. double_count: the
    slots to fill are the idle GPUs // 2 minus the running requests, as in the authors'
    program; False: all slots.
    """
    waiting = [(weight, tokens / TOKENS_PER_S) for weight, tokens in REQUESTS]
    if policy == "wsrpt":
        waiting.sort(key=lambda request: -request[0] / request[1])  # Eq. 17
    running = list[float]()
    ended = list[tuple[float, float]]()
    now_s = 0.0
    while waiting:
        running = [end_s for end_s in running if end_s > now_s]
        idle = (GPUS - DEGREE * len(running)) // DEGREE
        slots = max(0, idle - len(running) * double_count)
        starts, waiting = waiting[:slots], waiting[slots:]
        ended += [(weight, now_s + time_s) for weight, time_s in starts]
        running += [now_s + time_s for _, time_s in starts]
        now_s += STEP_S
    return {
        # Eq. 16, a_i = 0
        "weighted_response": summed(weight * end_s for weight, end_s in ended),
        "mean_response_s": summed(end_s for _, end_s in ended) / len(ended),
        "completed": len(ended),
    }


def table_two() -> list[dict[str, Any]]:
    """Return one row per printed figure, with and without the double count.

    verdict: as in the ledger; reproduced if the figure rounds to the printed one.
    """
    return [
        {
            "policy": policy,
            "double_count": double_count,
            "figure": figure,
            "found": round(figures[figure], 6),
            "printed": value,
            "verdict": REPRODUCED if round(figures[figure], 3) == value else DIFFERENT,
        }
        for double_count in (True, False)
        for policy, printed in PRINTED.items()
        for figures in [printed_loop(policy, double_count)]
        for figure, value in printed.items()
    ]
