"""Tables in the formats of papers."""

from __future__ import annotations

import sys

import pytest

from cgrsp_simpy.base.checks import cut
from cgrsp_simpy.base.table import Table, digits, html_text, progress, rounded, visible

AWKWARD = Table(
    "10 % of a_b & c: ± 95 %",
    [["policy", "wait_min"], ["rh:a=1|2", "1.00 ± 0.1"], ["[x] ~^\\", "<5 #$ {}"]],
    "note: p < 0.05",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (visible("\x1b[1m\x9b\n"), r"\x1b[1m\x9b\n"),
        (visible("a\n\tb", "\n\t"), "a\n\tb"),
        (html_text("<\x1b\n"), "&lt;\\x1b\n"),
        (digits(0.005), ".2f"),
        (digits(-0.00499), ".4f"),
        (digits(0.0), ".2f"),
        (digits(1e-6), ".7f"),
        (digits(9.9e-7), ".1e"),
        (rounded(3.25, 0.5), "3.25 ± 0.50"),
        (rounded(3.25, 0.0), "3.25"),
        (cut("a" * 400), "a" * 400),
        (cut("a" * 401), "a" * 200 + "..." + "a" * 20),
    ],
)
def test_texts_of_numbers_and_of_control_characters(text, expected):
    assert text == expected


def test_markdown_has_one_row_per_line_and_escapes_what_would_be_markup():
    assert AWKWARD.markdown().splitlines() == [
        "10 % of a_b & c: ± 95 %",
        "",
        "| policy | wait_min |",
        "| --- | --- |",
        r"| rh:a=1\|2 | 1.00 ± 0.1 |",
        r"| \[x] ~^\\ | \<5 #$ {} |",
        "",
        r"note: p \< 0.05",
    ]


def test_latex_escapes_what_latex_would_read():
    text = AWKWARD.latex()
    assert r"\caption{10 \% of a\_b \& c: $\pm$ 95 \%}" in text
    assert r"rh:a=1\textbar{}2 & 1.00 $\pm$ 0.1 \\" in text
    assert (
        r"{[}x] \textasciitilde{}\textasciicircum{}\textbackslash{} &"
        r" \textless{}5 \#\$ \{\} \\"
    ) in text


def test_numbers_are_aligned_to_the_right_and_texts_to_the_left():
    table = Table("", [["a", "b", "c"], ["x", "-1.5 ± 2", "-"], ["y", "3", "9 %"]])
    assert r"\begin{tabular}{lrr}" in table.latex()
    assert "| --- | ---: | ---: |" in table.markdown()


def test_a_progress_bar_starts_no_thread():
    """A browser's Python cannot start one."""
    assert progress(()).monitor is None


def test_a_notebook_without_widgets_shows_no_warning(monkeypatch, recwarn):
    """In the browser, where tqdm recognises a notebook by a module of IPython."""
    for name in ("IPython.utils._process_emscripten", "ipywidgets"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("auto", "autonotebook", "notebook"):
        monkeypatch.delitem(sys.modules, f"tqdm.{name}", raising=False)
    assert progress((7,)).total == 1 and not recwarn.list
