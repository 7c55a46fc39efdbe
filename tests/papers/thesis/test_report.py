"""How the thesis's report is shown: Markdown, the page, the commands."""

import html.parser
import re
import shutil
from pathlib import Path

import pytest
from support import csv_rows, process

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.papers.thesis.findings import FINDINGS, HOLDS, Verdict
from cgrsp_simpy.papers.thesis.page import SECTIONS
from cgrsp_simpy.papers.thesis.published import INPUTS, PRINTED
from cgrsp_simpy.papers.thesis.report import IDS, Report
from cgrsp_simpy.papers.thesis.verdict import Judged
from cgrsp_simpy.papers.thesis.wording import CANNOT_TITLE
from cgrsp_simpy.studies.subject import Subject

THESIS = Path(__file__).parents[4] / "shared" / "papers" / "thesis.txt"


# ---- How it is shown ----


def test_inputs_are_those_of_table_4_1(small):
    cells = small.tables["4.1"]
    assert len(cells) == len(INPUTS.rows) * len(INPUTS.columns)
    assert {each.verdict for each in cells} == {"agrees", "inferred"}
    assert [each.row for each in cells if each.verdict == "inferred"] == [
        "RTX A5000",
        "RTX A4500",
    ]


def test_markdown_has_a_line_a_figure_with_published_reproduced_and_verdict(small):
    lines = [line for line in small.markdown().splitlines() if line.startswith("| CR*")]
    assert len(lines) == 10
    row, column, published, reproduced, z, verdict = (
        part.strip() for part in lines[0].strip("|").split("|")
    )
    assert (row, column, published) == ("CR* = 1.5", "wait, min", "131.45")
    assert "±" in reproduced
    assert float(z) == pytest.approx(small.tables["5.9"][0].z, abs=0.05)
    assert verdict.strip("*") in ("undecided", "differs")  # of three seeds


class Page(html.parser.HTMLParser):
    """Counts cells, keeps ids and links, and checks that tags close."""

    def __init__(self, text):
        super().__init__()
        self.open, self.cells, self.ids, self.links = [], 0, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        assert "src" not in given
        assert tag not in ("script", "link", "img", "iframe")
        self.cells += tag == "td"
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_one_page_that_needs_nothing_else(small):
    page = Page(small.html())
    assert page.open == []
    assert page.cells == 2 * len(small.cells)  # of the thesis, and here
    assert "url(" not in small.html()


def test_every_link_of_the_page_leads_to_a_place_on_it(small):
    said = [Verdict(each.where, each.sentence, "holds", ("why",)) for each in FINDINGS]
    said.append(Verdict("Eq. 3.10", "adds seconds", "does not hold", ("why not",)))
    page = Page(Report(None, small.tables, said).html())
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert all(link.startswith("#") for link in page.links)
    assert len(page.ids) == len(set(page.ids))
    # each table stands under its section, each finding leads to its test and back
    assert page.ids.index("s5.5.5") < page.ids.index("t5.9")
    assert {f"#test{number}" for number in range(1, len(said) + 1)} <= set(page.links)
    assert {"#s5.7", "#s6.1.1", "#s5.5.6", "#s3.6"} <= set(page.links)


def test_a_cell_says_which_figure_is_published(small):
    text = small.html()
    rows = re.findall(r'<tr class="(printed|here)">(.*?)</tr>', text)
    assert len(rows) % 2 == 0
    for (kind, theirs), (other, ours) in zip(rows[::2], rows[1::2]):
        assert (kind, other) == ("printed", "here")
        assert ">thesis<" in theirs
        assert "<b>here</b>" in ours
    first = small.tables["5.9"][0]
    theirs, ours = next(
        pair for pair in zip(rows[::2], rows[1::2]) if first.row in pair[0][1]
    )
    assert f">{first.printed}<" in theirs[1]
    assert f">{first.ours} ±" in ours[1]


def test_the_page_says_what_each_colour_means(small):
    key = small.html().split('class="key"')[1].split("</p>")[0]
    for verdict in ("agrees", "differs", "undecided", "inferred"):
        assert f'class="{verdict}"' in key and f".{verdict} {{" in small.html()


def test_each_chapter_begins_with_what_agrees(small):
    judged = [each for each in small.tables["5.9"] if each.verdict]
    agreeing, undecided = (
        sum(figure.verdict == verdict for figure in judged)
        for verdict in ("agrees", "undecided")
    )
    chapters = small.html().split('<h2 id="c')[1:]
    assert [text[0] for text in chapters] == ["4", "5"]
    told = (
        f"Of all {len(judged)} judged figures {agreeing} agree, {undecided} are"
        " undecided"
    )
    assert undecided and told in chapters[1].split("<h3")[0]


def test_every_table_has_its_section():
    """Thesis: the section in whose text each table stands."""
    of_tables = {id: number for number, (_, ids) in SECTIONS.items() for id in ids}
    assert set(of_tables) == set(IDS)
    if not THESIS.is_file():
        pytest.skip("the thesis is not at hand")
    lines, section = THESIS.read_text(encoding="utf-8").splitlines(), ""
    found = {}
    for line in lines[540:]:  # behind the table of contents
        heading = re.match(r"([3-6](?:\.\d+)+) [A-Z]", line)
        section = heading[1] if heading else section
        table = re.match(r"Table (\d\.\d+):", line)
        if table and table[1] in of_tables:
            found.setdefault(table[1], section)
    assert found == {id: of_tables[id] for id in found}
    assert len(found) >= 10


@pytest.fixture
def widest():
    """A report with every printed table, each cell as wide as they come: one that
    differs.
    """
    tables = {}
    for id, printed in PRINTED.items():
        if id in IDS:
            tables[id] = [
                Judged(
                    id,
                    row,
                    column,
                    part,
                    text.strip(),
                    "130.11",
                    21.90,
                    30,
                    9.9,
                    "differs",
                    True,
                )
                for row, cells in printed.rows.items()
                for column, cell in zip(printed.columns, cells)
                for part, text in zip(("wait, min", "miss, %"), cell.split("/"))
                if text.strip()
            ]
    return Report(
        None,
        tables,
        [Verdict(each.where, each.sentence, HOLDS, ()) for each in FINDINGS],
    )


def browser(folder, *words):
    """What Chromium prints of report.html in a folder."""
    given = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-sync",
        "--no-first-run",
    ]
    given += [
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-quic",
    ]
    given += [f"--user-data-dir={folder / 'browser'}", *words]
    return process(
        [shutil.which("chromium"), *given, f"file://{folder}/report.html"], folder
    )


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("chromium") is None, reason="Chromium is not installed"
)
def test_no_table_of_the_page_is_wider_than_a_laptop(widest, tmp_path):
    measure = (
        "<script>document.title = [document.documentElement, "
        "...document.querySelectorAll('.wide')]"
        ".filter(each => each.scrollWidth > each.clientWidth).length</script></body>"
    )
    text = widest.html().replace("</body>", measure)
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    found = browser(tmp_path, "--dump-dom", "--window-size=1280,800").stdout
    assert "<title>0</title>" in found


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("chromium") is None, reason="Chromium is not installed"
)
def test_the_page_prints_on_a4(widest, tmp_path):
    (tmp_path / "report.html").write_text(widest.html(), encoding="utf-8")
    browser(tmp_path, "--print-to-pdf=report.pdf")
    pdf = (tmp_path / "report.pdf").read_bytes()
    sizes = set(re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf))
    assert {(round(float(width)), round(float(height))) for width, height in sizes} == {
        (595, 842)
    }


def test_a_cell_that_does_not_agree_carries_a_note():
    far = Judged(
        "5.9",
        "CR* = 1.5",
        "miss, %",
        "",
        "8.95",
        "20.00",
        1.0,
        10,
        -9.0,
        "differs",
        True,
        "look here",
    )
    report = Report(None, {"5.9": [far]}, [])
    assert "look here" in report.markdown()
    assert "**differs**" in report.markdown()
    assert "look here" in report.html()
    assert "≠" in report.html()


def test_rows_hold_every_figure(small):
    rows = csv_rows(cg.base.table.csv_text(small.rows()))
    assert len(rows) == len(small.cells)
    assert {row["table"] for row in rows} == {"4.1", "5.9"}
    assert all(row["published_n"] == "10" for row in rows if row["table"] == "5.9")


def test_ids_are_every_table_with_figures():
    assert list(IDS) == ["4.1", *(f"5.{number}" for number in range(1, 15)), "6.1"]


# ---- Commands ----


def run(line, capsys):
    status = main(["papers", *line.split()])
    out, err = capsys.readouterr()
    return status, out, err


def test_table_command_prints_one_table(capsys, small):
    status, out, err = run(
        "tables thesis 5.9 --seeds 3 --workers 1 --format markdown", capsys
    )
    assert (status, err) == (0, "")
    assert "## Table 5.9." in out
    assert "## Table 5.2." not in out
    assert CANNOT_TITLE not in out and CANNOT_TITLE in small.markdown()
    assert [line for line in out.splitlines() if line.startswith("| CR")] == [
        line for line in small.markdown().splitlines() if line.startswith("| CR")
    ]


def test_out_holds_report_and_cells_and_is_resumed(capsys, tmp_path, monkeypatch):
    line = f"tables thesis 5.9 --seeds 2 --workers 1 --out {tmp_path / 'r'}"
    first = run(line, capsys)
    files = {
        path.name: path.read_bytes()
        for path in (tmp_path / "r").iterdir()
        if path.is_file()
    }
    assert {
        "report.md",
        "report.html",
        "cells.csv",
        "configuration.json",
        "manifest.json",
    } <= set(files)
    monkeypatch.setattr(Subject, "run", None)  # nothing is run again
    assert run(line, capsys)[1] == first[1]
    assert files == {
        path.name: path.read_bytes()
        for path in (tmp_path / "r").iterdir()
        if path.is_file()
    }
    status, _, err = run(line.replace("5.9", "5.8"), capsys)
    assert status == 2
    assert "tables[0]" in err
