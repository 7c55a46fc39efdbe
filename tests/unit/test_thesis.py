"""The thesis's tables: what is printed, which runs stand behind it, how it is judged, and
how it is shown.
"""

import csv
import html.parser
import io
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from support import process

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.statistics import cohens_d
from cgrsp_simpy.cli import main
from cgrsp_simpy.studies.replicate import label
from cgrsp_simpy.thesis import experiments, verdict
from cgrsp_simpy.thesis.experiments import (
    HECTIC,
    MONTH,
    TABLES,
    Measure,
    Source,
    average,
    composites,
    paired_t,
    pooled_d,
)
from cgrsp_simpy.thesis.findings import (
    FAILS,
    FINDINGS,
    HOLDS,
    OPEN,
    Finding,
    Part,
    Told,
    _told,
)
from cgrsp_simpy.thesis.notes import KNOWN
from cgrsp_simpy.thesis.page import SECTIONS
from cgrsp_simpy.thesis.published import INPUTS, PRINTED
from cgrsp_simpy.thesis.report import IDS, Report, make_report
from cgrsp_simpy.thesis.runs import reproduce
from cgrsp_simpy.thesis.verdict import (
    Judged,
    Tally,
    composite_error,
    deviation,
    rounding,
    tally,
    z_score,
)

THESIS = Path(__file__).parents[3] / "shared" / "papers" / "thesis.txt"


@pytest.fixture(scope="module")
def small():
    """Two tables and the findings' neighbours, on few seeds."""
    return make_report(("4.1", "5.9"), 3)


# ---- What is printed ----


@pytest.mark.parametrize("id", PRINTED)
def test_printed_rows_have_a_cell_a_column(id):
    assert all(len(cells) == len(PRINTED[id].columns) for cells in PRINTED[id].rows.values())


@pytest.mark.parametrize("id", ["5.2", "5.13"])
def test_printed_means_lie_in_the_middle_of_their_printed_intervals(id):
    with_interval = [cell for cells in PRINTED[id].rows.values() for cell in cells if "[" in cell]
    assert len(with_interval) == {"5.2": 20, "5.13": 10}[id]
    for cell in with_interval:
        mean, low, high = (float(part.strip("[],")) for part in cell.split())
        assert (low + high) / 2 == pytest.approx(mean, abs=0.0101)  # all three are rounded


def test_tables_that_share_runs_print_the_same_figures():
    five_two, five_five = PRINTED["5.2"], PRINTED["5.5"]
    hectic = dict(zip(five_five.columns, five_five.rows["hectic"]))
    for policy, cells in five_two.rows.items():
        shown = [float(part) for part in hectic[policy].split("/")]
        assert shown == pytest.approx([float(cell.split()[0]) for cell in cells[:2]], abs=0.0501)
    for row, cells in PRINTED["5.4"].rows.items():
        if row in five_two.rows:
            assert cells[:3] == tuple(cell.split()[0] for cell in five_two.rows[row][:3])


def test_234_cells_of_means_are_counted_once_and_40_of_the_month():
    counted = {
        id: sum(not cell.again and len(cell.measure.sources) == 1 for cell in TABLES[id].cells)
        for id in experiments.COUNTED
    }
    assert counted.pop("5.13") == 40
    assert sum(counted.values()) == 234
    assert counted["5.4"] == 3  # the order-only row; the others stand in Table 5.2


def test_only_three_rows_are_counted_twice():
    """Their figures stand in two tables to different decimals: 234 is the number that a perfect
    model is judged by.
    """
    seen = {}
    for id in experiments.COUNTED:
        for cell in TABLES[id].cells:
            if not cell.again and len(cell.measure.sources) == 1:
                seen.setdefault((cell.measure.sources, TABLES[id].n), []).append((id, cell.row))
    twice = {tuple(places) for places in seen.values() if len(places) > 1}
    assert twice == {
        (("5.7", "C_max = 5"), ("5.8", "theta = 600 s")),
        (("5.7", "C_max = 5"), ("5.9", "CR* = 3.0")),
        (("5.5", "surge"), ("5.10", "surge, 1 reserved")),
    }


def test_cells_measure_what_their_place_says():
    def source(id, row, column, part=""):
        (cell,) = [c for c in TABLES[id].cells if (c.row, c.column, c.part) == (row, column, part)]
        return cell.measure.sources[0]

    assert source("5.2", "RH", "miss, %") == (HECTIC, "rh", "miss_pct")
    assert source("5.5", "surge", "CADR", "wait, min") == (cg.day("surge"), "cadr", "wait_min")
    assert source("5.6", "70 %", "SPT") == (cg.day("surge", tight_fraction=0.7), "spt", "miss_pct")
    assert source("5.7", "C_max = 10", "RH", "miss, %") == (
        cg.day("hectic", slots=10),
        "rh",
        "miss_pct",
    )
    assert source("5.8", "theta = 60 s", "wait, min") == (
        HECTIC,
        "spt-rescue:threshold_s=60",
        "wait_min",
    )
    # the default: run once for all
    assert source("5.8", "theta = 600 s", "wait, min") == (HECTIC, "spt-rescue", "wait_min")
    assert source("5.9", "CR* = 1.5", "miss, %") == (HECTIC, "cadr:critical_ratio=1.5", "miss_pct")
    assert source("5.10", "surge, 2 reserved", "tight miss, %") == (
        cg.day("surge"),
        "rh:reserve=2",
        "tight_miss_pct",
    )
    assert source("5.13", "LCF", "cost, USD") == (MONTH, "lcf", "cost_usd")
    (effect,) = [c for c in TABLES["5.4"].cells if (c.row, c.column) == ("SPT+Rescue", "d of wait")]
    assert [one.policy for one in effect.measure.sources] == ["spt-rescue", "spt"]


def test_every_policy_text_of_every_table_can_be_made():
    for text in {
        source.policy
        for table in TABLES.values()
        for cell in table.cells
        for source in cell.measure.sources
    }:
        assert callable(cg.make_policy(text))


def test_known_cells_exist():
    cells = {(id, cell.row, cell.column, cell.part) for id in TABLES for cell in TABLES[id].cells}
    assert set(KNOWN) <= cells


# ---- How it is judged ----


def test_deviation_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(1).normal(size=12)
    assert deviation(average, [values], 30) == pytest.approx(values.std(ddof=1) / math.sqrt(30))
    drawn = deviation(lambda x: x.mean(axis=-1), [values], 30)  # the same by drawing again
    assert drawn == pytest.approx(
        values.std() / math.sqrt(30), rel=4 / math.sqrt(2 * verdict.RESAMPLES)
    )
    assert drawn == pytest.approx(0.10654051819)  # the same draws in every run


@pytest.mark.parametrize("n", [10, 40])
def test_deviation_of_cohens_d_is_that_over_many_samples_of_the_size(n):
    rng = np.random.default_rng(2)
    large = [rng.normal(1, 1, 2000), rng.normal(0, 1, 2000)]
    true = np.std(pooled_d(rng.normal(1, 1, (4000, n)), rng.normal(0, 1, (4000, n))), ddof=1)
    assert deviation(pooled_d, large, n) == pytest.approx(
        true, rel=4 / math.sqrt(2 * verdict.RESAMPLES)
    )


def test_statistics_work_along_the_last_axis():
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(2, 5, 30))
    for statistic in (pooled_d, paired_t(30)):
        assert statistic(a, b) == pytest.approx([float(statistic(*row)) for row in zip(a, b)])
    figures = rng.normal(size=(18, 5, 30))
    scored = experiments.composite(2, 0.3, 10)
    assert scored(*figures) == pytest.approx([float(scored(*figures[:, row])) for row in range(5)])


def test_statistics_of_cells_are_those_of_the_books():
    rng = np.random.default_rng(3)
    a, b = rng.normal(1, 2, 30), rng.normal(0, 1, 30)
    assert pooled_d(a, b) == pytest.approx(cohens_d(a.tolist(), b.tolist()))
    assert paired_t(30)(a, b) == pytest.approx(stats.ttest_rel(a, b).statistic)
    assert paired_t(120)(a, b) == pytest.approx(2 * paired_t(30)(a, b))  # four times the pairs


def test_z_counts_standard_errors_beyond_the_rounding():
    assert z_score(5.2, 5.0, 0.1, 0.05) == pytest.approx(1.5)
    assert z_score(4.8, 5.0, 0.1, 0.05) == pytest.approx(-1.5)
    assert z_score(5.04, 5.0, 0.1, 0.05) == 0.0  # within the rounding
    assert z_score(0.0, 0.04, 0.0, 0.05) == 0.0  # no deviation at all, and none needed
    assert z_score(1.0, 0.0, 0.0, 0.05) == math.inf


@pytest.mark.parametrize(
    ("printed", "half"), [("0.5", 0.05), ("7.54", 0.005), ("950", 0.5), ("-2.882", 0.0005)]
)
def test_rounding_is_half_of_the_last_digit(printed, half):
    assert rounding(printed) == pytest.approx(half)


def test_tally_counts_what_is_counted():
    cells = [
        Judged("5.2", "a", "b", "", "1", "1", z=z, counted=counted)
        for z, counted in ((1, True), (-3, True), (9, False))
    ]
    assert tally(cells) == Tally(2, 1, math.sqrt(5))
    assert tally(cells).share_pct == 50
    assert math.isnan(tally([]).rms_z)


def test_all_entries_of_table_5_11_follow_from_the_printed_cells_of_5_7():
    assert composite_error() < 0.01


def test_seconds_and_fractions_do_not_give_table_5_11(monkeypatch):
    """Eq. 3.10 as it reads: wait in seconds, a miss counted as 0 or 1."""
    monkeypatch.setattr(
        verdict, "composites", lambda wait, late, *rest: composites(60 * wait, late / 100, *rest)
    )
    assert composite_error() > 0.05


def test_composite_by_hand():
    wait, late, cost = np.array([10.0, 20, 30]), np.array([0.0, 4, 2]), np.array([2.0, 1, 1.5])
    # wait + 10 late: 10, 60, 50 -> 0, 1, 0.8; cost -> 1, 0, 0.5
    assert composites(wait, late, cost, 0.3, 10) == pytest.approx([0.3, 0.7, 0.15 + 0.56])


def test_event_utilisation_of_two_jobs_by_hand():
    """One slot, no delay: job 0 at 0 for 100 s, job 1 submitted at 50."""
    gpu = cg.GpuType("G", 1.0, (100.0,), 1.0)
    jobs = cg.JobList((cg.Job(0, 0.0, 1e6), cg.Job(1, 50.0, 1e6)))
    market = cg.Market(delay_s=((0, 0), (0, 0), (0, 0)))
    scenario = cg.Scenario(
        "two", jobs, (gpu,), (gpu,), market=market, service=cg.Service(sigma=(0.0,))
    )
    run = cg.simulate(scenario, "fifo")
    # held after: arrival 0 (0), decision (1), start (1), arrival 1 (1), decision (1), completion
    # (0), decision (1), start (1), completion (0), decision (0)
    assert verdict.event_utilisation_pct(run) == pytest.approx(60)


def part(low, high, n=3):
    return Part("p", Measure(average, (Source(HECTIC, "fifo", "wait_min"),)), low, high, n)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ([(100, 200)], HOLDS),
        ([(0, 10)], FAILS),
        ([(150, 155)], OPEN),  # cuts the interval
        ([(100, 200), (150, 155)], OPEN),
        ([(150, 155), (0, 10)], FAILS),
    ],
)
def test_a_finding_holds_when_all_its_parts_do(bounds, expected):
    class Given:
        replications = None

        def sample(self, measure, n):
            return [np.array([140.0, 150.0, 163.0])]

    finding = Finding("here", "said", tuple(part(*each) for each in bounds))
    assert _told(finding, Given()).verdict == expected


def test_findings_need_no_runs_beyond_the_tables():
    """Each source of a finding stands behind a cell, on as many seeds."""
    behind = {}
    for table in TABLES.values():
        for cell in table.cells:
            for source in cell.measure.sources:
                behind[source[:2]] = max(table.n, behind.get(source[:2], 0))
    for finding in FINDINGS:
        for each in finding.parts:
            assert all(each.n <= behind[source[:2]] for source in each.measure.sources)


# ---- Runs ----


def test_reproduced_means_are_those_of_compare(small):
    study = cg.compare(cg.day("hectic"), ["cadr:critical_ratio=5"], range(3))
    (cell,) = [
        each
        for each in small.tables["5.9"]
        if (each.row, each.column) == ("CR* = 5.0", "wait, min")
    ]
    mean = study.means()["cadr:critical_ratio=5"]["wait_min"]
    assert (cell.ours, cell.half_width) == (f"{mean.mean:.2f}", pytest.approx(mean.half_width))
    deviation = np.std(study.values("cadr:critical_ratio=5", "wait_min"), ddof=1)
    error = deviation * math.sqrt(1 / 10 + 1 / 3)
    assert cell.z == pytest.approx(
        (131.62 - mean.mean - math.copysign(0.005, 131.62 - mean.mean)) / error, rel=1e-6
    )


def test_a_run_that_tables_share_is_run_once(monkeypatch):
    calls = []
    real = cg.Scenario.run

    def counting(scenario, policy, seed=0, **rest):
        calls.append((scenario, label(policy), seed))
        return real(cg.day("quiet"), policy, seed, records=False)

    monkeypatch.setattr(cg.Scenario, "run", counting)
    measures = [
        (cell.measure, 2) for id in ("5.2", "5.3", "5.4", "5.7", "5.9") for cell in TABLES[id].cells
    ]
    reproduce(measures)
    # eleven policies on the hectic day, seven on three other fleets, four other critical ratios
    assert len(calls) == 2 * (11 + 3 * 7 + 4)


def test_the_month_is_that_of_month():
    measure = Measure(average, (Source(MONTH, "fifo", "cost_usd"),))
    found = reproduce([(measure, 2)]).values(measure.sources[0], 2)
    assert found.tolist() == cg.month(policies=["fifo"], replications=2).values("fifo", "cost_usd")


# ---- How it is shown ----


def test_inputs_are_those_of_table_4_1(small):
    cells = small.tables["4.1"]
    assert len(cells) == len(INPUTS.rows) * len(INPUTS.columns)
    assert {each.verdict for each in cells} == {"agrees", "inferred"}
    assert [each.row for each in cells if each.verdict == "inferred"] == ["RTX A5000", "RTX A4500"]


def test_markdown_has_a_line_a_figure_with_published_reproduced_and_verdict(small):
    lines = [line for line in small.markdown().splitlines() if line.startswith("| CR*")]
    assert len(lines) == 10
    row, column, published, reproduced, z, verdict = (
        part.strip() for part in lines[0].strip("|").split("|")
    )
    assert (row, column, published) == ("CR* = 1.5", "wait, min", "131.45")
    assert "±" in reproduced
    assert float(z) == pytest.approx(small.tables["5.9"][0].z, abs=0.05)
    assert verdict.strip("*") in ("agrees", "differs")


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
    said = [Told(each.where, each.sentence, "holds", ("why",)) for each in FINDINGS]
    said.append(Told("Eq. 3.10", "adds seconds", "does not hold", ("why not",)))
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
    theirs, ours = next(pair for pair in zip(rows[::2], rows[1::2]) if first.row in pair[0][1])
    assert f">{first.printed}<" in theirs[1]
    assert f">{first.ours} ±" in ours[1]


def test_the_page_says_what_each_colour_means(small):
    key = small.html().split('class="key"')[1].split("</p>")[0]
    assert [f'class="{verdict}"' in key for verdict in ("agrees", "differs", "inferred")] == [
        True
    ] * 3


def test_each_chapter_begins_with_what_agrees(small):
    judged = [each for each in small.tables["5.9"] if each.verdict]
    agreeing = sum(each.verdict == "agrees" for each in judged)
    chapters = small.html().split('<h2 id="c')[1:]
    assert [text[0] for text in chapters] == ["4", "5"]
    assert f"Of all {len(judged)} judged figures {agreeing} agree" in chapters[1].split("<h3")[0]


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
    """A report with every printed table, each cell as wide as they come: one that differs."""
    tables = {}
    for id, printed in PRINTED.items():
        if id in IDS:
            tables[id] = [
                Judged(
                    id, row, column, part, text.strip(), "130.11", 21.90, 30, 9.9, "differs", True
                )
                for row, cells in printed.rows.items()
                for column, cell in zip(printed.columns, cells)
                for part, text in zip(("wait, min", "miss, %"), cell.split("/"))
                if text.strip()
            ]
    return Report(None, tables, [Told(each.where, each.sentence, HOLDS, ()) for each in FINDINGS])


def browser(folder, *words):
    """What Chromium prints of report.html in a folder."""
    given = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-sync", "--no-first-run"]
    given += ["--disable-background-networking", "--disable-component-update", "--disable-quic"]
    given += [f"--user-data-dir={folder / 'browser'}", *words]
    return process([shutil.which("chromium"), *given, f"file://{folder}/report.html"], folder)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
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
@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
def test_the_page_prints_on_a4(widest, tmp_path):
    (tmp_path / "report.html").write_text(widest.html(), encoding="utf-8")
    browser(tmp_path, "--print-to-pdf=report.pdf")
    pdf = (tmp_path / "report.pdf").read_bytes()
    sizes = set(re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf))
    assert {(round(float(width)), round(float(height))) for width, height in sizes} == {(595, 842)}


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
    rows = list(csv.DictReader(io.StringIO(cg.model.table.csv_text(small.rows()))))
    assert len(rows) == len(small.cells)
    assert {row["table"] for row in rows} == {"4.1", "5.9"}
    assert all(row["published_n"] == "10" for row in rows if row["table"] == "5.9")


def test_ids_are_every_table_with_figures():
    assert list(IDS) == ["4.1", *(f"5.{number}" for number in range(1, 15)), "6.1"]


# ---- Commands ----


def run(line, capsys):
    status = main(["thesis", *line.split()])
    out, err = capsys.readouterr()
    return status, out, err


def test_table_command_prints_one_table(capsys, small):
    status, out, err = run("table 5.9 --seeds 3 --workers 1", capsys)
    assert (status, err) == (0, "")
    assert "## Table 5.9." in out
    assert "## Table 5.2." not in out
    assert [line for line in out.splitlines() if line.startswith("| CR")] == [
        line for line in small.markdown().splitlines() if line.startswith("| CR")
    ]


def test_out_holds_report_and_cells_and_is_resumed(capsys, tmp_path, monkeypatch):
    line = f"table 5.9 --seeds 2 --workers 1 --out {tmp_path / 'r'}"
    first = run(line, capsys)
    files = {path.name: path.read_bytes() for path in (tmp_path / "r").iterdir() if path.is_file()}
    assert {"report.md", "report.html", "cells.csv", "configuration.json", "manifest.json"} <= set(
        files
    )
    monkeypatch.setattr(cg.Scenario, "run", None)  # nothing is run again
    assert run(line, capsys)[1] == first[1]
    assert files == {
        path.name: path.read_bytes() for path in (tmp_path / "r").iterdir() if path.is_file()
    }
    status, _, err = run(line.replace("5.9", "5.8"), capsys)
    assert status == 2
    assert "tables[0]" in err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("table 5.99", ["'5.99'", "'5.9'", "5.10"]),  # no such table; the nearest is offered
        ("table 2.1", ["'2.1'", "4.1"]),  # text only
        ("table 5.2 --seeds 1", ["--seeds", "1", ">= 2"]),  # no interval, no verdict
        ("check --seeds 0", ["--seeds", "0", ">= 2"]),
        ("tables --workers 0", ["--workers", "0", ">= 1"]),
    ],
)
def test_bad_input_is_one_line(capsys, line, words):
    status, out, err = run(line, capsys)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert all(word in err for word in words)


# rms at most 1.15; at least 93 % within 2.045
@pytest.mark.parametrize(("z", "status"), [(1.0, 0), (1.2, 1), (3.0, 1)])
def test_check_ends_with_1_where_it_falls_short(capsys, monkeypatch, z, status):
    cells = [
        Judged(
            "5.2",
            "a",
            "b",
            "",
            "1",
            "1",
            z=z,
            verdict="agrees" if z < 2.045 else "differs",
            counted=True,
        )
    ] * 20
    monkeypatch.setattr(
        "cgrsp_simpy.cli.thesis.make_report", lambda *_: Report(100, {"5.2": cells}, [])
    )
    found, out, _ = run("check", capsys)
    assert found == status
    assert f"{20 if z < 2.045 else 0} of 20 cells agree" in out
    assert out.splitlines()[-1] == ("not reproduced" if status else "reproduced")
