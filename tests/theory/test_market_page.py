"""The page on markets: one and two time scales of a measured market, and prices."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.market.gpu import GPUS_2025
from cgrsp_simpy.market.measured import (
    Measured,
    PolledModel,
    Polls,
    StockFit,
    series_of,
)
from cgrsp_simpy.studies.subject import subject_of

ROOT = Path(__file__).parents[2]
TEXT = " ".join(
    (ROOT / "docs" / "explanation" / "markets.md").read_text(encoding="utf-8").split()
)
TRACES = ROOT.parent / "shared" / "data" / "spot_traces" / "availability" / "1-node"
ZONE = TRACES / "aws-02-15-2023" / "us-east-1d_v100_1.json"
SEEDS = range(60)
# as in tests of `fit_stock`
APART = ("us-east-1d", "us-east-2a", "us-west-2a", "us-west-2c")


@pytest.fixture(scope="module")
def zone():
    """The snapshots of a zone held out when the model was chosen, and its models."""
    if not ZONE.is_file():
        pytest.skip("the trace is not here")
    return laws(ZONE)


def laws(path):
    """The snapshots of a file, and their models of one and of two time scales."""
    [own] = cg.read_market(path)
    two = cg.fit_stock(own)
    one = PolledModel(two.polls, np.array(two.stock.chances)).one_scale()
    stock = replace(two.stock, **one._asdict())
    return own, {"one": StockFit(two.polls, stock), "two": two}


@pytest.mark.slow
def test_runs_and_correlations_agree_with_the_text(zone):
    polls, (one, two) = zone[1]["two"].polls, zone[1].values()

    def told(figures, form):
        return [f"{each:{form}}" for each in figures]

    low, other = (
        told([polls.run_h(is_low), one.run_h(is_low), two.run_h(is_low)], ".1f")
        for is_low in (True, False)
    )
    short = told([polls.short_pct, one.short_pct, two.short_pct], ".0f")
    far = told([polls.correlation(6)[0], one.correlation(6), two.correlation(6)], ".2f")
    for row, values in (
        ("mean run of Low, h", low),
        ("mean run of other stock, h", other),
        ("runs of up to 15 min, %", short),
        ("correlation at 6 h", far),
    ):
        assert f"| {row} | {' | '.join(values)} |" in TEXT
    apart, width = polls.drift_pct
    assert (
        f"in `us-east-1d_v100_1` it differs by {apart:+.0f} ± {width:.0f} points,"
        " without a warning" in TEXT
    )
    assert abs(apart) < width
    [other] = cg.read_market(ZONE.with_name("us-east-1f_v100_1.json"))
    apart, width = Polls(other).drift_pct
    assert f"`us-east-1f_v100_1` differs by {apart:+.0f} ± {width:.0f} points" in TEXT
    assert abs(apart) > width


def test_speeds_and_prices_match_the_catalogue():
    h100, a100 = GPUS_2025
    prices = (
        f"{h100.price_usd_per_h} USD/h for an H100 (80 GB, SXM5) and"
        f" {a100.price_usd_per_h}"
    )
    assert f"{prices} for an A100 (80 GB, PCIe)" in TEXT
    assert (
        f"Their speeds, {h100.speed} and {a100.speed} times that of an RTX 3090" in TEXT
    )


def taken(own, fits):
    """The surge day under EDF on slots of one type, taken when Low, 60 seeds."""
    surge, law = cg.day("surge", slots=["RTX 3090"] * 5), fits["two"].stock
    result = {}
    for name, stock, series in (
        ("replay", law, series_of([own])),
        ("one", fits["one"].stock, ()),
        ("two", law, ()),
    ):
        day = replace(surge, gpus=surge.gpus[:1])
        made = cg.on_market(day, Measured((stock,), {}, series), {"RTX 3090": law.gpu})
        made = subject_of(made).varied(terms=cg.Terms(taken_when_low=True))
        result[name] = cg.compare(made, ["edf"], SEEDS).means()["edf"]
    return result


@pytest.mark.long
def test_preemptions_agree_with_the_text(zone):
    result = taken(*zone)
    for name, row in (
        ("preemptions", "preemptions per day"),
        ("lost_s", "lost execution, s"),
    ):
        means = [result[each][name] for each in ("replay", "one", "two")]
        digits = 1 if name == "preemptions" else 0
        cells = [
            f"{each.mean:.{digits}f} ± {each.half_width:.{digits}f}" for each in means
        ]
        assert f"| {row} | {' | '.join(cells)} |" in TEXT
    assert (
        abs(
            result["two"]["preemptions"].mean / result["replay"]["preemptions"].mean - 1
        )
        < 0.15
    )
