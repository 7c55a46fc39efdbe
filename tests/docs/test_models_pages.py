"""The pages on textbook models show every script of scenarios/textbook in full, each
with its output.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "howto" / "models"
SCRIPTS = sorted((ROOT / "scenarios" / "textbook").glob("*.py"))
PAGES = sorted(FOLDER.glob("*.md"))
INDEX = (FOLDER / "index.md").read_text(encoding="utf-8")


def included(page):
    """Return the files that a page includes."""
    names = re.findall(r"^```{literalinclude} (\S+)", page.read_text("utf-8"), re.M)
    return [(page.parent / name).resolve() for name in names]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_a_script_and_then_its_output(page):
    script, output = included(page)
    assert script in SCRIPTS
    assert output == script.with_suffix(".out")
    assert output.is_file()


def test_every_script_is_shown():
    assert {included(page)[0] for page in PAGES} == set(SCRIPTS)


def test_the_table_lists_every_page_with_its_script():
    rows = re.findall(r"^\| \[\w+\]\((\w+)\.md\) \| `(\w+)\.py` \|", INDEX, re.M)
    pages = {page.stem: included(page)[0].stem for page in PAGES}
    del pages["index"]
    assert dict(rows) == pages


def test_the_table_on_random_streams_has_the_numbers_of_its_script():
    page = (ROOT / "docs" / "howto" / "simpy.md").read_text(encoding="utf-8")
    printed = (ROOT / "scenarios" / "random_streams.out").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.* stream.*?) \| (-.* s) \|$", page, re.M)
    assert [f"{streams}: {change}" for streams, change in rows] == printed.splitlines()
