"""No rule by which triage holds a job costs more than leaving that rule out."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import cgrsp_simpy as cg
from cgrsp_simpy.rental.policies import triage

SEEDS = range(8)
MARGIN = 1.1  # a rule is good on average: on one scenario it may cost a tenth more
SAVES = triage.saves
RULES = {
    "hour": {"saves": lambda *args: args[3].seen and SAVES(*args)},
    "seen": {"saves": lambda *args: not args[3].seen and SAVES(*args)},
    "busy": {"cheaper": lambda *_: False},
}
POLLED = {
    "persistence_s": 20_000.0,
    "sight": "poll:67",
    "medium_s": 60.0,
    "spread": 5.0,
    "low_factor": 5.0,
    "terms": {},
    "load": 0.9,
    "slots": 3,
    "start_h": 12,
    "free_types": False,
}


@st.composite
def terms(draw):
    made = {"billed_from": draw(st.sampled_from(["execution", "provisioning"]))}
    if draw(st.booleans()):
        made["retry_s"] = draw(st.floats(20, 600))
    if draw(st.booleans()):
        made["warm_s"] = draw(st.floats(60, 600))
    return made


def scenario(case):
    """120 jobs on the thesis's types, in a market that lasts and is seen as drawn."""
    medium_s, spread, low_factor = case["medium_s"], case["spread"], case["low_factor"]
    delay_s = (
        (0.0, 10.0),
        (medium_s, spread * medium_s),
        (low_factor * medium_s, low_factor * medium_s * (spread + 1)),
    )
    clock = cg.Clock(cg.Market().clock.bands, case["start_h"])
    market = cg.Market(
        clock, delay_s, persistence_s=case["persistence_s"], sight=case["sight"]
    )
    return cg.Scenario(
        "held",
        cg.PoissonWorkload(120, case["load"] * case["slots"] / 80),
        cg.round_robin(case["slots"], cg.THESIS_GPUS),
        free_types=case["free_types"],
        market=market,
        terms=cg.Terms(**case["terms"]),
    )


def costs(day):
    """USD per job by seed, in SimPy, where the rules can be replaced."""
    policy = triage.Triage()
    rows = [
        cg.simulate(day, lambda view: policy(view), seed).summary() for seed in SEEDS
    ]
    return np.array(
        [
            row["cost_usd"] / day.jobs
            + row["miss_pct"] / 100
            + 0.01 * row["tardiness_min"]
            + 0.001 * row["wait_min"]
            for row in rows
        ]
    )


@pytest.mark.slow
@settings(max_examples=8)
@example(case=POLLED)
@given(
    case=st.fixed_dictionaries(
        {
            "persistence_s": st.floats(100, 15_000),
            "sight": st.sampled_from(["none", "now", "poll:20", "poll:67", "poll:600"]),
            "medium_s": st.floats(30, 300),
            "spread": st.floats(1, 5),
            "low_factor": st.floats(1, 10),
            "terms": terms(),
            "load": st.floats(0.3, 1.2),
            "slots": st.integers(2, 8),
            "start_h": st.integers(0, 23),
            "free_types": st.booleans(),
        }
    )
)
def test_no_holding_rule_of_triage_costs_more_than_its_omission(case):
    """The ratio of the costs, a geometric mean over seeds, less two standard errors."""
    day = scenario(case)
    with_all = costs(day)
    for name, replaced in RULES.items():
        with pytest.MonkeyPatch.context() as patch:
            for function, other in replaced.items():
                patch.setattr(triage, function, other)
            without = costs(day)
        ratios = np.log(with_all / without)
        error = ratios.std(ddof=1) / len(SEEDS) ** 0.5
        assert np.exp(ratios.mean() - 2 * error) <= MARGIN, name
