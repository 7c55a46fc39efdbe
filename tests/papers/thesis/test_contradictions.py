"""Sentences of the thesis that its printed numbers decide."""

from dataclasses import replace

import pytest

from cgrsp_simpy.papers.thesis import contradictions
from cgrsp_simpy.papers.thesis.published import PRINTED

CONFIRMED = {
    "CADR's miss varies by 2.13 points over CR*",
    "CADR is over 60 % less late than RH on the hectic day",
    "CADR is over 60 % less late than RH over the month",
    "SPT's wait is about 20 % below FIFO's",
}


def test_most_of_them_are_contradicted():
    sentences = [*contradictions.decided()]
    assert {text for _, text, holds, _ in sentences if holds} == CONFIRMED
    assert len({text for _, text, *_ in sentences}) == len(sentences) == 28
    for _, _, _, reason in sentences:
        assert any(letter.isdigit() for letter in reason)


CHANGED = [
    ("5.8", "theta = 600 s", ("133.45", "8.56"), "Section 4.5.8"),
    ("5.8", "theta = 60 s", ("138.5", "12.72"), "Section 5.5.4"),
    ("5.10", "surge, 2 reserved", ("131.0", "2.57", "6.1", "1.4"), "Section 5.5.6"),
    ("5.1", "EDF", ("147.84", "16.1", "6.13", "95.7", "950/950"), "Section 5.2"),
    ("5.2", "CADR", ("132.8", "7.9", "6.08", "6.16"), "Section 6.1.1"),
    ("5.13", "RH", ("95.2", "7.1", "12.47", "46.37"), "Section 5.6"),
    ("5.13", "LCF", ("108.07", "20.5", "15.52", "46.38"), "Section 6.1"),
    (
        "5.12",
        "ratio = 10",
        ("0.96", "0.19", "0.70", "0.24", "0.11", "0.50"),
        "Section 3.4",
    ),
]


@pytest.mark.parametrize(("table", "row", "cells", "where"), CHANGED)
def test_another_printed_number_would_confirm_the_sentence(
    monkeypatch, table, row, cells, where
):
    changed = replace(PRINTED[table], rows={**PRINTED[table].rows, row: cells})
    monkeypatch.setitem(PRINTED, table, changed)
    holding = [
        place
        for place, text, holds, _ in contradictions.decided()
        if holds and text not in CONFIRMED
    ]
    assert where in holding
