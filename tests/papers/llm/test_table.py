"""Table II of the paper, as printed by the authors' loop, and without its double
count.
"""

import pytest

from cgrsp_simpy.papers.ledger import DIFFERENT, REPRODUCED
from cgrsp_simpy.papers.llm.table import PRINTED, printed_loop, table_two


def test_the_authors_loop_gives_all_that_is_printed():
    """FIFO 336.400 and 2.402, WSRPT 108.040 and 1.802, all 20 completed."""
    rows = [row for row in table_two() if row["double_count"]]
    assert len(rows) == 6
    assert {row["verdict"] for row in rows} == {REPRODUCED}
    result = {(row["policy"], row["figure"]): round(row["found"], 3) for row in rows}
    assert result == {
        ("fifo", "weighted_response"): 336.4,
        ("fifo", "mean_response_s"): 2.402,
        ("fifo", "completed"): 20,
        ("wsrpt", "weighted_response"): 108.04,
        ("wsrpt", "mean_response_s"): 1.802,
        ("wsrpt", "completed"): 20,
    }
    fifo, wsrpt = PRINTED["fifo"], PRINTED["wsrpt"]
    for name, change_pct in (("weighted_response", -67.9), ("mean_response_s", -25.0)):
        # as printed, too
        assert round(100 * (wsrpt[name] / fifo[name] - 1), 1) == change_pct


def test_without_the_double_count_fifo_is_the_same_and_wsrpt_has_102_and_1_5():
    """By hand, 8 at a time, seconds: WSRPT ends 8 short ones at .5, 4 short and 4 long
    ones that start then at 1.0 and 2.5, and the last 4 long ones, from 1.0 on, at 3.0.
    """
    rows = [row for row in table_two() if not row["double_count"]]
    differs = {
        (row["policy"], row["figure"]) for row in rows if row["verdict"] == DIFFERENT
    }
    assert differs == {("wsrpt", "weighted_response"), ("wsrpt", "mean_response_s")}
    result = printed_loop("wsrpt", double_count=False)
    by_hand = 10 * (8 * 0.5 + 4 * 1.0) + 4 * 2.5 + 4 * 3.0
    assert result["weighted_response"] == pytest.approx(by_hand)
    assert result["mean_response_s"] == pytest.approx(
        (8 * 0.5 + 4 * 1.0 + 4 * 2.5 + 4 * 3.0) / 20
    )
    assert by_hand == 102
