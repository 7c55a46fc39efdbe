"""Sentences of the thesis, judged by its printed figures and by ours."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from cgrsp_simpy.papers.ledger import (
    CONTRADICTED,
    DIFFERENT,
    REPRODUCED,
    UNDECIDED,
)
from cgrsp_simpy.papers.thesis import statements
from cgrsp_simpy.papers.thesis.claims import (
    Claim,
    OfPrint,
    Part,
    judge,
    printed_number,
)
from cgrsp_simpy.papers.thesis.experiments import (
    HECTIC,
    Excess,
    Measure,
    OfMeans,
    Source,
    average,
    mean_of,
)
from cgrsp_simpy.papers.thesis.published import PRINTED

ARITHMETIC = [
    claim
    for claim in statements.CLAIMS
    if all(isinstance(part.measure, OfPrint) for part in claim.parts)
]
CONFIRMED = {
    "Miss varies by 2.28 points over all five theta",
    "CADR's miss varies by 2.13 points over CR*",
    "Of 22 comparisons 15 stay significant after Holm's correction",
    "The p-values are those of Student's t",
    "Student's t of 95 % with 9 degrees of freedom is 2.262",
    "Jobs arrive for about 2.1, 13.9, 2.6 and 10.1 h",
    "SPT wins where cost dominates, and with tardiness at every ratio",
    "CADR is over 60 % less late than RH on the hectic day",
    "CADR is over 60 % less late than RH over the month",
    "SPT's wait is about 20 % below FIFO's",
}


@pytest.mark.parametrize(
    ("low_pct", "queued_pct", "verdicts"),
    [
        (4.99, 24.99, [REPRODUCED, REPRODUCED]),
        (5.0, 25.0, [DIFFERENT, DIFFERENT]),
    ],
)
def test_sentences_on_records_are_judged_by_their_shares(
    low_pct, queued_pct, verdicts, monkeypatch
):
    run = SimpleNamespace(summary=lambda: {"wait_min": 1.0})
    monkeypatch.setattr(statements, "simulate", lambda *_: run)
    monkeypatch.setattr(statements, "low_stock_pct", lambda _: low_pct)
    monkeypatch.setattr(statements, "queue_pct", lambda _: queued_pct)
    assert [entry.verdict for entry in statements.of_records()] == verdicts


class Given:
    """Runs that give the same values for each figure."""

    def __init__(self, values, replications=None):
        self.values, self.replications = values, replications

    def sample(self, measure, n):
        return [np.array(self.values) for _ in measure.sources]


def verdict(claim):
    return judge(claim, Given([1.0, 1.0])).verdict


def test_arithmetic_on_printed_figures_confirms_few_sentences():
    verdicts = {claim.sentence: verdict(claim) for claim in ARITHMETIC}
    assert {*verdicts.values()} == {REPRODUCED, CONTRADICTED}
    effects = {text for text in verdicts if text.startswith("Cohen's d of")}
    confirmed = {text for text, result in verdicts.items() if result == REPRODUCED}
    assert len(effects) == len(PRINTED["5.3"].rows) == 13
    assert confirmed == CONFIRMED | effects
    assert len({(claim.where, claim.sentence) for claim in statements.CLAIMS}) == len(
        statements.CLAIMS
    )


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        (
            "SPT has the lowest hectic wait",
            "hectic: wait_min of SPT - RH 0.58 (Table 5.2: 129.41, 128.83), less than 0"
            " needed",
        ),
        ("RH has the fewest breaches over the month", "RH - CADR 0.11 (Table 5.13"),
        ("At ten seeds, too, RH has the least wait", "RH - CADR 0.1 (Table 5.7: 6.9"),
        ("EDF and CADR have the lowest tardiness", "EDF - Adaptive 0.72 (Table 5.2"),
        ("With seven slots deadline-aware policies", "RH 2.9 (Table 5.7), less than 1"),
        ("FIFO, LCF and Balanced miss about 23 %", "22.01 (Table 5.2: 23.01, 22.3, 2"),
        (
            "Neither of RH and CADR dominates",
            "difference of misses times that of tardiness 0.8844 (Table",
        ),
        ("RH wins whenever service is weighted", "of eight 6 (Table 5.11"),
        ("FIFO and EDF are clearly inferior", "EDF less CADR -0.15 (Table 5.11"),
        ("Under any tardiness-weighted objective", "CADR less RH 0.22 (Table 5.12"),
        ("For a job of medium complexity the RTX", "1.5 (Table 4.1: 70.2, 68.7)"),
        ("The mean wait varies by roughly eight", "spread 2.95 (Table 5.8: 133.04,"),
        ("The dearest policy is CADR at $6.13", "greatest cost 6.15 (Table 5.2)"),
        ("SPT misses about 110 deadlines fewer", "84.07 (Section 5.6: 21.99, 13.14)"),
    ],
)
def test_printed_figures_contradict_a_sentence(sentence, reason):
    (claim,) = [
        each for each in statements.CLAIMS if each.sentence.startswith(sentence)
    ]
    entry = judge(claim, Given([1.0, 1.0]))
    assert entry.verdict == CONTRADICTED
    assert reason in entry.reason


CHANGED = [
    ("5.8", "theta = 60 s", ("138.5", "12.72"), "Section 5.5.4", "eight"),
    ("5.10", "surge, 2 reserved", ("1", "2", "6.1", "1.4"), "Section 5.5.6", "Two"),
    ("5.1", "EDF", ("1", "16.1", "6", "9", "950/950"), "Section 5.2", "EDF"),
    ("5.13", "RH", ("95.2", "7.1", "12.47", "46.37"), "Section 5.6", "about half"),
    ("5.13", "LCF", ("1", "20.5", "15.52", "46.38"), "Section 6.1", "More than five"),
    ("5.12", "ratio = 1", (".9", ".05", ".7", ".26", ".6", ".5"), "6.1.1", "Under any"),
]


@pytest.mark.parametrize(("table", "row", "cells", "where", "text"), CHANGED)
def test_another_printed_number_would_confirm_the_sentence(
    monkeypatch, table, row, cells, where, text
):
    (claim,) = [
        each for each in ARITHMETIC if where in each.where and text in each.sentence
    ]
    assert verdict(claim) == CONTRADICTED
    changed = replace(PRINTED[table], rows={**PRINTED[table].rows, row: cells})
    if row == "surge, 2 reserved":
        changed.rows["surge, 3 reserved"] = cells
    monkeypatch.setitem(PRINTED, table, changed)
    assert verdict(claim) == REPRODUCED


def test_a_printed_number_equals_its_statistic():
    def number(measure, table=""):
        return printed_number(Part("", measure, table=table))

    rh, cadr = (Source(HECTIC, policy, "miss_pct") for policy in ("rh", "cadr"))
    assert number(mean_of(HECTIC, "rh", "miss_pct")) == (7.54, "Table 5.2")
    assert number(mean_of(HECTIC, "rh", "miss_pct"), "5.7") == (6.9, "Table 5.7")
    result, source = number(Measure(Excess(2), (rh, cadr)))
    assert result == pytest.approx(7.54 - 2 * 7.88)
    assert source == "Table 5.2: 7.54, 7.88"
    least = Measure(OfMeans(lambda means: means.min(axis=0)), (rh, cadr))
    assert number(least)[0] == 7.54
    tied = next(
        part.measure
        for claim in statements.CLAIMS
        for part in claim.parts
        if part.text == "hectic: Cohen's d of miss_pct, SPT against EDF"
    )
    assert number(tied) == (0.438, "Table 5.3")
    assert number(mean_of(HECTIC, "fifo", "tight_miss_pct")) == (None, "")


def part(low, high, n=3):
    # not printed
    measure = Measure(average, (Source(HECTIC, "fifo", "tight_miss_pct"),))
    return Part("p", measure, low, high, n)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ([(100, 200)], REPRODUCED),
        ([(0, 10)], DIFFERENT),
        ([(150, 155)], UNDECIDED),  # cuts the interval
        ([(100, 200), (150, 155)], UNDECIDED),
        ([(150, 155), (0, 10)], DIFFERENT),
    ],
)
def test_a_sentence_holds_when_all_its_parts_do(bounds, expected):
    claim = Claim("here", "said", tuple(part(*each) for each in bounds))
    assert judge(claim, Given([140.0, 150.0, 163.0])).verdict == expected


@pytest.mark.parametrize("equal", [True, False])
def test_a_sentence_does_not_hold_by_two_seeds_that_are_equal(equal):
    claim = Claim("here", "said", (part(0, 2, 30),))
    runs = Given([1.0, 1.0 if equal else 1.001], 2)
    assert judge(claim, runs).verdict == (UNDECIDED if equal else REPRODUCED)


def test_the_constant_of_the_rescue_tier_equals_the_text():
    assert statements.DEADLINE_S - statements.THETA_S - statements.LONGEST_S == 2850
