"""Table II of the paper, as printed and without a step; waits in every table."""

import pytest

from cgrsp_simpy.llm.paper import table_two

# ---- Table II ----


def test_table_two_as_printed_at_steps_of_0_01_s():
    """Printed: FIFO 336.400 and 2.402, WSRPT 108.040 and 1.802, all 20 completed, improvement
    -67.9 % and -25.0 %.

    Work-conserving, as the paper's loop reads, WSRPT would have 102 and 1.5.
    """
    stepped = {(row["scheduler"], row["mode"]): row for row in table_two() if row["step_s"] == 0.01}
    fifo, wsrpt = stepped["fifo", "waves"], stepped["wsrpt", "waves"]
    for row, weighted, mean in ((fifo, 336.4, 2.402), (wsrpt, 108.04, 1.802)):
        figures = (
            round(row["weighted_response"], 3),
            round(row["mean_response_s"], 3),
            row["completed"],
        )
        printed = tuple(
            row[f"printed_{name}"] for name in ("weighted_response", "mean_response_s", "completed")
        )
        assert figures == printed == (weighted, mean, 20)
    assert (round(wsrpt["weighted_change_pct"], 1), round(wsrpt["mean_change_pct"], 1)) == (
        -67.9,
        -25.0,
    )
    assert (wsrpt["printed_weighted_change_pct"], wsrpt["printed_mean_change_pct"]) == (
        -67.9,
        -25.0,
    )
    assert stepped["fifo", "work-conserving"]["weighted_response"] == fifo["weighted_response"]
    assert stepped["wsrpt", "work-conserving"]["weighted_response"] == pytest.approx(102, abs=1e-9)


def test_table_two_without_a_step():
    """By hand, 8 at a time, seconds: FIFO ends 8 at 2.0, 8 at 2.5, 4 at 3.0.

    WSRPT ends 8 short ones at 0.5, 4 short ones at 1.0 and 4 long ones at 2.5; the last 4 long ones
    at 3.0, or in waves at 4.5.
    """
    found = {(row["scheduler"], row["mode"]): row for row in table_two() if row["step_s"] is None}
    fifo = 8 * 2.0 + 10 * (8 * 2.5 + 4 * 3.0)
    soon, waves = (10 * (8 * 0.5 + 4 * 1.0) + 4 * 2.5 + 4 * last for last in (3.0, 4.5))
    for mode, wsrpt, mean in (("work-conserving", soon, 1.5), ("waves", waves, 1.8)):
        for scheduler, figures in (("fifo", (fifo, 2.4)), ("wsrpt", (wsrpt, mean))):
            row = found[scheduler, mode]
            assert (row["weighted_response"], row["mean_response_s"]) == pytest.approx(figures)
            # less the mean execution
            assert row["mean_wait_s"] == pytest.approx(figures[1] - (8 * 2.0 + 12 * 0.5) / 20)
        assert found["wsrpt", mode]["weighted_change_pct"] == pytest.approx(
            100 * (wsrpt / fifo - 1)
        )
        assert "printed_weighted_response" not in found["wsrpt", mode]
    assert (fifo, soon, waves) == (336, 102, 108)


def test_waits_are_apart_from_execution_in_every_table():
    """FIFO at any time: 8 requests wait 0, 8 wait 2.0 s and 4 wait 2.5 s.

    WSRPT: 8 wait 0, 8 wait 0.5 s and 4 wait 1.0 s.
    """
    waits = {
        (row["scheduler"], row["mode"]): [
            row[name] for name in ("mean_wait_s", "wait_p50_s", "wait_p90_s", "wait_p99_s")
        ]
        for row in table_two()
        if row["step_s"] is None
    }
    assert waits["fifo", "work-conserving"] == pytest.approx(
        [(8 * 2.0 + 4 * 2.5) / 20, 2.0, 2.5, 2.5]
    )
    assert waits["wsrpt", "work-conserving"] == pytest.approx(
        [(8 * 0.5 + 4 * 1.0) / 20, 0.5, 1.0, 1.0]
    )
