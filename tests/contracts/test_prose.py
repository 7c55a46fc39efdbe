"""The pages use plain English, without words of an earlier private dialect; the number
of these words in code may only fall.
"""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# habit -> what to write instead
HABITS = {
    r"\b(tells?|told|telling)\b": "print, report, list, record, specify",
    r"\bstands? (in|at|as|for|below|above|beside|behind|with)\b": "is, appears",
    r"\bbeside\b": "next to, compared with, in addition to",
    r"\bbut for\b": "except",
    r"\banew\b": "again",
    r"\bas of\b": "such as",
    r"\bone's own\b": "your own",
    r"\b(taken down|let go|(is|are|be) said of)\b": "recorded, released, described",
    r"\b(rows?|lines?|files?|columns?|jobs|times|seconds|cents|USD|tasks?|slots?|calls?)"
    r" an? (policy|seed|job|row|line|run|day|name|task|node|column|second|hour|minute"
    r"|week|year|figure|type|slot|month|GPU|machine|customer)\b": "per",
}
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    if not {"made", "api.md"} & {*path.parts}
)


def habits_of(text):
    """Return the lines of a text that have a habit, with what to write instead."""
    return [
        f"{line.strip()} ({instead})"
        for line in text.splitlines()
        for habit, instead in HABITS.items()
        if re.search(habit, line)
    ]


def test_pages_use_plain_english():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        prose = re.sub(r"^```.*?^```|`[^`]*`", "", text, flags=re.M | re.S)
        assert habits_of(prose) == [], page


def test_tables_are_whole_and_no_sentence_is_repeated():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        blocks = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S).split("\n\n")
        tables = [block.strip() for block in blocks if re.search(r"^\|", block, re.M)]
        for table in tables:
            assert re.fullmatch(r"\|.*\n\|[|: -]+(\n\|.*)+", table), table
        words = " ".join(b for b in blocks if b.strip() not in tables).split()
        runs = [" ".join(words[start : start + 10]) for start in range(len(words) - 9)]
        repeated = {run for run, times in Counter(runs).items() if times > 1}
        assert {run for run in repeated if "](" not in run} == set(), page


# The numbers of today: lower them when they fall.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "most"), [("cgrsp_simpy", 1), ("scenarios", 0), ("tests", 4)]
)
def test_strings_and_docstrings_use_no_more_of_these_words_than_before(folder, most):
    lines = [
        line
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if " " in node.value
        for line in habits_of(node.value)
    ]
    assert len(lines) <= most, lines[-3:]
