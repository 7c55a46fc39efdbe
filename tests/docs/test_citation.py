"""CITATION.cff names who wrote what, and the README cites it."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
REFERENCES = re.split(
    r"^  - type: ", CITATION.split("\nreferences:\n")[1], flags=re.MULTILINE
)[1:]
TITLES = [
    re.search(r'^    title: "(.+)"$', reference, re.MULTILINE)[1]
    for reference in REFERENCES
]
NO_AUTHOR = "The text names no author; this is the account that publishes its source."
PAPERS = {  # of each text: its title, and the names that it, or its publisher, gives
    "Cloud GPU Rendering Scheduling Problem (CGRSP)": ["Liem"],
    "Modeling and Analyzing Waiting Policies": ["Ambati", "Bashir", "Irwin", "Shenoy"],
    "Heterogeneous GPU Scheduling": [],
    "Reducing Fragmentation and Starvation": ["Mamirov"],
    "Efficient Scheduling for GPU-Based Neural Network Training": [
        "Du",
        "Wu",
        "Hou",
        "Nie",
        "Song",
    ],
    "Can't Be Late": ["Wu", "Chiang", "Mao", "Yang", "Friedman", "Shenker", "Stoica"],
}


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"\nversion: {project['version']}\n" in CITATION
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## [{project['version']}] - " in changes


def families(reference):
    return re.findall(r"^      - family-names: (\S.*)$", reference, re.MULTILINE)


def test_every_reference_has_authors_with_names():
    assert len(REFERENCES) == len(PAPERS)
    for reference in REFERENCES:
        authors = reference.split("    authors:\n")[1]
        number = len(
            re.findall(
                r"^      - ",
                re.split(r"^    \S", authors, flags=re.MULTILINE)[0],
                re.MULTILINE,
            )
        )
        given = re.findall(r"^        given-names: \S", reference, re.MULTILINE)
        if NO_AUTHOR in reference:
            assert re.search(r"^      - alias: \S", reference, re.MULTILINE)
        else:
            assert number == len(families(reference)) == len(given) > 0
    assert "anonymous" not in CITATION.lower()


@pytest.mark.parametrize("title", PAPERS)
def test_the_names_match_the_text(title):
    (reference,) = [
        reference for reference, its in zip(REFERENCES, TITLES) if its.startswith(title)
    ]
    assert families(reference) == PAPERS[title]


def test_citations_of_readme_and_howtos_exist():
    """Every link to it has a title or a first author as its text."""
    pages = [ROOT / "README.md", *(ROOT / "docs" / "howto").glob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    cited = [
        " ".join(label.split())
        for label in re.findall(
            r"\[([^]]+)\]\((?:CITATION\.cff|\.\./papers/\w+\.md)\)", text
        )
    ]
    known = {"CITATION.cff", *(f"“{title}”" for title in TITLES)}
    for reference in REFERENCES:
        names = families(reference)
        known |= (
            {f"{names[0]} et al." if len(names) > 2 else " and ".join(names)}
            if names
            else set()
        )
    assert set(cited) <= known
    assert len(set(cited)) == len(REFERENCES)  # the file itself, and all but the thesis
