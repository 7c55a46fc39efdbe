"""The first line of every textbook script holds for other seeds than its own."""

import numpy as np
import pytest
from textbook.models import NAMES, model

import cgrsp_simpy as cg

SEEDS = range(9500, 9510)
CLAIMS = {  # the two alternatives, and by figure the bounds of the ratio of the means
    "balking": (
        {"places": 2},
        {"places": 4},
        {"balked_pct": (0.5, 0.9), "chair_wait": (1.5, 3)},
    ),
    "bank": ({"night": 2}, {"night": 3}, {"plain": (0.4, 0.8), "vip": (0.94, 1.0)}),
    "emergency_ward": (
        {"priorities": (0, 0, 0)},
        {"priorities": (0, 1, 2)},
        {"urgent": (0.25, 0.4), "minor": (1.5, 4)},
    ),
    "inventory": (
        {"low": 25},
        {"low": 30},
        {"stock_immediate_pct": (1.02, 1.06), "stock_level": (1.05, 1.3)},
    ),
    "job_shop": (
        {"machines": (3, 2, 4, 3, 1)},
        {"machines": (3, 3, 4, 3, 1)},
        {"response": (0.5, 0.7)},
    ),
    "machine_repair": (
        {"repairers": 2},
        {"repairers": 3},
        {"parts_per_h": (1 + 1 / 9, 1 + 1 / 5.5)},
    ),
    "mmc": ({"servers": 2}, {"servers": 3}, {"desk_wait": (0.07, 0.14)}),
    "reneging": ({"agents": 5}, {"agents": 4}, {"desk_withdrawn_pct": (2, 3)}),
    "tandem": ({"places": 2}, {"places": 4}, {"throughput": (1.06, 1.085)}),
    "traffic_light": ({"batch": 10}, {"batch": 12}, {"wait": (0.55, 0.65)}),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=pytest.mark.long if name == "job_shop" else pytest.mark.slow
        )
        for name in NAMES
    ],
)
def test_the_first_line_holds(name):
    first, second, bounds = CLAIMS[name]
    study = cg.compare(model(name), {"first": first, "second": second}, seeds=SEEDS)
    for figure, (least, most) in bounds.items():
        before, after = (
            np.mean(study.values(policy, figure)) for policy in ("first", "second")
        )
        assert least < after / before < most, (figure, after / before)
        if not least <= 1 <= most:  # a difference is claimed
            difference = study.differences()["second"][figure]
            assert difference.low * difference.high > 0, (figure, difference)
