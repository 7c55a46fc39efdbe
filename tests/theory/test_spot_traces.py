"""Policies on the measured series of SkyPilot's spot traces (Wu et al., NSDI 2024),
which are not part of the package: 48 h of computing within 52 and 70 h, overheads of
.05 and .2 h, prices of 3.06 and .97 USD per hour. Each run begins in the second half of
a trace; policies may learn from all before it.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.market.series import read_series
from cgrsp_simpy.papers.spot.table import deadline_study
from cgrsp_simpy.spot.policies import COMPARED

TRACES = Path(__file__).parents[3] / "shared" / "data" / "spot_traces"
GANGS = {"16-node": 16, "4-node": 4}  # all instances at once
STARTS = range(12)

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not TRACES.is_dir(), reason="the traces are not here"),
]


@pytest.fixture(scope="module")
def study():
    """All traces, each as a market, at one price, which most of them do not record."""
    markets = {
        path.relative_to(TRACES).as_posix(): cg.spot.Traces(
            (replace(read_series(path, GANGS.get(path.parts[-3], 1)), prices=()),)
        )
        for path in sorted(TRACES.rglob("*.json"))
    }
    return deadline_study(markets, seeds=STARTS)


def test_no_deadline_is_missed(study):
    for terms in study.terms:
        for policy in study.policies:
            assert not study.mean_values(terms, policy, "missed").any(), (terms, policy)


def test_no_run_is_cheaper_than_the_optimum(study):
    for by_terms in study.studies.values():
        for result in by_terms.values():
            least = np.array(result.values("optimum", "cost_usd"))
            for policy in COMPARED:
                assert (
                    np.array(result.values(policy, "cost_usd")) >= least - 1e-9
                ).all(), policy


def difference(study, terms, one, other):
    """Difference of costs, % of on demand only: mean over traces, paired by seed."""
    costs = [study.mean_values(terms, name, "cost_pct") for name in (one, other)]
    return cg.statistics.mean(costs[0] - costs[1])


def test_uniform_progress_is_cheaper_than_greedy_if_the_deadline_is_tight(study):
    """As published; with 70 h there is little between them."""
    for overhead in (0.05, 0.2):
        result = difference(study, (52.0, overhead), "uniform-progress", "greedy")
        assert result.high < 0


def test_expected_cost_is_cheaper_than_uniform_progress_out_of_sample(study):
    for terms in study.terms:
        assert difference(study, terms, "expected-cost", "uniform-progress").high < 0, (
            terms
        )


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ((52.0, 0.2), [8, 18, 27]),
        ((52.0, 0.05), [2, 3, 30]),
        ((70.0, 0.2), [6, 17, 16]),
        ((70.0, 0.05), [2, 14, 15]),
    ],
)
def test_the_cost_of_each_policy_above_the_optimum_agrees_with_the_how_to(
    study, terms, told
):
    names = ("expected-cost", "uniform-progress", "greedy", "optimum")
    *usd, least = (study.mean_values(terms, name, "cost_pct").mean() for name in names)
    assert [round(100 * (each / least - 1)) for each in usd] == told
