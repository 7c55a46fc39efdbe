"""Table II of the paper: LLM inference requests under FIFO and WSRPT (hgsp.txt Section VI).

A request owns its tau GPUs from its start to its end; this is the paper's model. A server that
batches runs many requests on the same GPUs: in the decode phase each step reads all weights for one
more token of every request of the batch, so that a step for many takes hardly longer than a step
for one. By the paper's own figures (Section VI.A) a single request decodes 100 to 500 tokens/s;
the 5000 that it gives to each request are those of a batch of 10 to 50. Scenario that own their
GPUs need many times the GPUs of a batching server: read a number of GPUs here as that of places to
run in, not as that of GPUs to buy.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from cgrsp_simpy.llm.policies import STEP_S
from cgrsp_simpy.llm.scenario import WAIT_PERCENTILES, Scenario

OWNED = (
    "A request owns its GPUs from start to end, which is the paper's model; it needs many times"
    " the GPUs of a server that batches requests."
)
"""What figures of requests have to say of the model."""
# "Weighted Wait", "Avg Wait", "Completed"
PRINTED = {"fifo": (336.400, 2.402, 20), "wsrpt": (108.040, 1.802, 20)}
PRINTED_NAMES = ("weighted_response", "mean_response_s", "completed")  # what these are called here
PRINTED_CHANGE_PCT = (-67.9, -25.0)


def table_two() -> list[dict[str, Any]]:
    """Table II in every mode: work-conserving and in waves, at any time and at steps of 0.01 s; a
    row a scheduler.

    Columns: scheduler, mode, step_s (None: at any time), and of `Scenario.summary`
    weighted_response, mean_response_s (which the paper prints as waits), the waits proper, and
    completed; of wsrpt also weighted_change_pct and mean_change_pct, by how much it changes the
    responses that FIFO gives in the same mode (printed as "improvement", negative where they are
    shorter). At steps of 0.01 s, which is how the paper simulates (Section VI.D), the printed value
    stands beside each under printed_ and its name. The paper's loop is work-conserving; its figures
    for WSRPT come out in waves only.
    """
    rows: list[dict[str, Any]] = []
    for waves, step_s in product((False, True), (None, STEP_S)):
        fifo, wsrpt = (_row(scheduler, waves, step_s) for scheduler in ("fifo", "wsrpt"))
        changes = [100 * (wsrpt[name] / fifo[name] - 1) for name in PRINTED_NAMES[:2]]
        wsrpt |= dict(zip(("weighted_change_pct", "mean_change_pct"), changes))
        if step_s:
            wsrpt |= dict(
                zip(("printed_weighted_change_pct", "printed_mean_change_pct"), PRINTED_CHANGE_PCT)
            )
        rows += [fifo, wsrpt]
    return rows


def _row(scheduler: str, waves: bool, step_s: float | None) -> dict[str, Any]:
    found = Scenario(waves=waves, step_s=step_s).run(scheduler).summary()
    shown = (*PRINTED_NAMES[:2], "mean_wait_s", *WAIT_PERCENTILES, "completed")
    mode = {
        "scheduler": scheduler,
        "mode": "waves" if waves else "work-conserving",
        "step_s": step_s,
    }
    printed = (
        {f"printed_{name}": value for name, value in zip(PRINTED_NAMES, PRINTED[scheduler])}
        if step_s
        else {}
    )
    return {**mode, **{name: found[name] for name in shown}, **printed}
