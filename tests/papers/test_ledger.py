"""The ledger of printed statements: complete, and as recorded."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.cli import parser_of
from cgrsp_simpy.papers import catalogue, ledger
from cgrsp_simpy.papers.cluster import public_program
from cgrsp_simpy.papers.cluster.printed import computed as of_cluster
from cgrsp_simpy.papers.hgsp.printed import computed as of_hgsp
from cgrsp_simpy.papers.hgsp.printed import of_table_two as of_llm
from cgrsp_simpy.papers.ledger import Entry
from cgrsp_simpy.papers.thesis.printed import of_text as of_thesis

PAPERS = Path(__file__).parents[3] / "shared" / "papers"
NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?")
RECORDED = ledger.recorded()


def numbers(text):
    return [float(each.replace(",", "")) for each in NUMBER.findall(text)]


def tables_of_thesis():
    """Number of a table -> its cells, without the names of rows and columns."""
    lines = (PAPERS / "thesis.txt").read_text(encoding="utf-8").splitlines()
    found = {}
    for place, line in enumerate(lines):
        if heading := re.match(r"Table (\d\.\d+): ", line):
            start = next(n for n in range(place, len(lines)) if "\t" in lines[n])
            rows = []
            while "\t" in lines[start]:
                once = re.sub(
                    r"(?<![.\d])(\d+)/\1(?![.\d])", r"\1", lines[start]
                )  # 950/950 jobs
                rows.append(once.split("\t")[1:])
                start += 1
            found[heading[1]] = [cell for row in rows[1:] for cell in row]
    return found


needs_papers = pytest.mark.skipif(not PAPERS.is_dir(), reason="needs the documents")
OF_RESERVATIONS = Counter([0, 0, 1, 1, 2, 2, 3, 3])  # names of rows of Table 5.10


@needs_papers
@pytest.mark.parametrize("number", [f"5.{n}" for n in range(1, 14)])
def test_every_cell_of_the_theses_tables_is_in_the_ledger(number):
    printed = [n for cell in tables_of_thesis()[number] for n in numbers(cell)]
    of_table = [
        n
        for entry in RECORDED
        if entry.paper == "thesis" and entry.where == f"Table {number}"
        for n in numbers(entry.printed)
    ]
    missing = Counter(printed) - Counter(of_table)
    if number == "5.10":
        missing -= OF_RESERVATIONS
    assert not missing
    assert len(printed) >= 10


@needs_papers
@pytest.mark.parametrize("number", ["5.14", "6.1"])
def test_numbers_of_summaries_are_in_the_tables(number):
    tables = tables_of_thesis()
    cells = [cell for n in range(1, 14) for cell in tables[f"5.{n}"]]
    known = {n for cell in cells for n in numbers(cell)}
    known |= {abs(n) for n in known} | {60.0, 1.46}  # see the contradictions
    found = {abs(n) for cell in tables[number] for n in numbers(cell)}
    assert {n for n in found if n != round(n)} - known == set()


@needs_papers
@pytest.mark.parametrize(
    ("paper", "file", "head", "least"),
    [
        ("hgsp", "hgsp.txt", r"tasks\d \(", 32),
        ("hgsp", "hgsp.txt", r"(FIFO|WSRPT|Improvement)\t", 6),
        ("cluster", "cluster-schedulers.txt", r"\| [HPS].*\(...\) \|", 15),
        ("waiting", "waiting-policies.txt", r"<i>(On-demand|Fixed)", 12),
    ],
)
def test_every_cell_of_the_other_tables_is_in_the_ledger(paper, file, head, least):
    lines = (PAPERS / file).read_text(encoding="utf-8").splitlines()
    rows = [re.split(r"\t|\|", line) for line in lines if re.match(head, line)]
    printed = {
        abs(n)
        for row in rows
        for cell in [part for part in row if part.strip()][1:]
        for n in numbers(cell.replace("\\$", ""))
    }
    assert sum(len(row) - 1 for row in rows) >= least / 2
    of_paper = {
        abs(n)
        for entry in RECORDED
        if entry.paper == paper
        for n in numbers(f"{entry.printed} {entry.statement}")
    }
    assert printed - of_paper - {0.4, 0.7, 1.0} == set()


# lines of the chapters of results
RESULTS = {
    "thesis": ("thesis", (1073, 1457)),
    "waiting-policies": ("waiting", (366, 384), (403, 489)),
    "cluster-schedulers": ("cluster", (296, 322)),
    "hgsp": ("hgsp", (204, 265), (287, 395)),
    "worl-rtgs": ("dag", (359, 454)),
}
NO_STATEMENT = re.compile(
    r"(Figures?|Fig\.|Tables?|Sections?|§|Phases?) ?[\d.]+"  # references
    r"|^\W*\d[\d.]*\)? [A-Z*]|\[\d+\]|quad \(\d+\)|[_^]\{?\d"  # headings, formulas
    r"|[A-Za-z]\w*\d\S*|Llama3-70B"  # names
    r"|(July|June|March|November) 20\d\d|\d+\.\d+\.\d\S*"  # dates, versions
)


@needs_papers
@pytest.mark.parametrize("file", RESULTS)
def test_every_number_of_the_results_is_in_an_entry(file):
    paper, *ranges = RESULTS[file]
    lines = (PAPERS / f"{file}.txt").read_text(encoding="utf-8").splitlines()
    printed = {
        abs(n)
        for first, last in ranges
        for line in lines[first - 1 : last]
        for n in numbers(NO_STATEMENT.sub(" ", line))
    }
    of_paper = {
        abs(n)
        for entry in RECORDED
        if entry.paper == paper
        for text in (entry.where, entry.statement, entry.printed, entry.reason)
        for n in numbers(text)
    }
    assert len(printed) > 20
    assert printed - of_paper == set()


def found(paper, *words):
    return [
        entry
        for entry in RECORDED
        if entry.paper == paper
        and all(word in f"{entry.where} {entry.statement}" for word in words)
    ]


@pytest.mark.parametrize(
    ("paper", "words", "verdict"),
    [
        ("thesis", ("Section 5.5.4", "eight minutes"), ledger.CONTRADICTED),
        ("thesis", ("Section 4.5.8", "2.28"), ledger.CONTRADICTED),
        ("thesis", ("Section 5.3", "has 22 comparisons"), ledger.CONTRADICTED),
        ("thesis", ("Figure 5.7", "152 to 190"), ledger.CONTRADICTED),
        ("thesis", ("Section 5.6", "SPT+Rescue, hectic miss"), ledger.REPRODUCED),
        ("thesis", ("Section 5.1.1", "hectic, jobs"), ledger.REPRODUCED),
        ("thesis", ("start of the peak", "fitted on odd"), ledger.REPRODUCED),
        ("thesis", ("equal time", "fitted on even"), ledger.REPRODUCED),
        ("cluster", ("hps, wait_variance_s2",), ledger.IMPOSSIBLE),
        ("cluster", ("hps, wait_s, by the public program",), ledger.IMPOSSIBLE),
        ("dag", ("Spearman, real workloads: variance",), ledger.IMPOSSIBLE),
        ("dag", ("critical difference", "10 workloads"), ledger.CONTRADICTED),
        ("dag", ("synthetic workloads", "configurations"), ledger.CONTRADICTED),
        ("dag", ("in several cases of medium size",), ledger.CONTRADICTED),
        ("hgsp", ("wsrpt, weighted_response, as described",), ledger.DIFFERENT),
        ("hgsp", ("decoding, tokens/s",), ledger.CONTRADICTED),
        ("hgsp", ("GPU speeds of 57",), ledger.DIFFERENT),
        ("waiting", ("Figure 7", "approaches NJW's"), ledger.CONTRADICTED),
        ("waiting", ("Section 6.4", "approaches 0 as f_under"), ledger.CONTRADICTED),
        ("waiting", ("Figure 13", "lowest opportunity cost"), ledger.REPRODUCED),
        ("hgsp", ("up to 25 %",), ledger.CONTRADICTED),
        ("hgsp", ("tasks3, Best, weighted",), ledger.REPRODUCED),
        ("waiting", ("NJW, best s",), ledger.REPRODUCED),
        ("thesis", ("delay at High, Medium and Low",), ledger.REPRODUCED),
        ("hgsp", ("cooling rate",), ledger.DIFFERENT),
    ],
)
def test_the_text_of_an_entry(paper, words, verdict):
    (entry,) = found(paper, *words)
    assert entry.verdict == verdict


def test_the_printed_throughput_of_hps_is_more_than_its_utilisation_allows():
    (entry,) = found("cluster", "hps, throughput and utilisation")
    assert entry.verdict == ledger.CONTRADICTED
    assert entry.printed.startswith("25.8/h")
    assert " 14.1 jobs per hour" in entry.reason


def test_entries_are_distinct_and_give_reasons_if_not_reproduced():
    assert {entry.paper for entry in RECORDED} == {*ledger.PAPERS}
    assert {entry.verdict for entry in RECORDED} <= {*ledger.MEANING}
    keys = Counter((e.paper, e.where, e.statement) for e in RECORDED)
    assert [key for key, times in keys.items() if times > 1] == []
    for entry in RECORDED:
        assert entry.verdict in (ledger.REPRODUCED, ledger.DIFFERENT) or entry.reason


def test_every_command_of_the_ledger_names_a_paper_and_its_tables():
    for command in {entry.command for entry in RECORDED}:
        _, verb, *words = command.split()
        args = parser_of(verb).parse_words(words)
        name, *ids = args.words
        if args.action == "check":
            assert name in ledger.PAPERS and not ids
        else:
            assert args.action == "tables" and {*ids} <= {*catalogue.PAPERS[name].ids}


@pytest.mark.parametrize("name", catalogue.PAPERS)
def test_files_of_figures_begin_with_the_prefix_of_their_paper(name):
    paper = catalogue.PAPERS[name]
    stems = [figure.stem for figure in paper.module.FIGURES.values()]
    assert stems and all(stem.startswith(f"{paper.prefix}_") for stem in stems)


@pytest.mark.parametrize("paper", ["waiting", "dag"])
def test_papers_without_long_runs_agree_with_the_recorded_ledger(paper):
    found = [*ledger.entries([paper])]
    assert found == [entry for entry in RECORDED if entry.paper == paper]
    assert ledger.lost(found) == []


def test_statements_of_texts_are_as_recorded():
    for entry in [
        *ledger.of_paper("thesis", of_thesis()),
        *ledger.of_paper("hgsp", [*of_hgsp(), *of_llm()]),
        *ledger.of_paper("cluster", of_cluster()),
    ]:
        assert entry in [
            replace(recorded, command="")
            for recorded in found(entry.paper, entry.where, entry.statement)
        ]


def test_a_lost_agreement_is_noticed():
    (best,) = found("waiting", "NJW, best s")
    changed = replace(best, verdict=ledger.DIFFERENT)
    entries = best, changed, replace(changed, statement="another")
    assert [ledger.lost([entry]) for entry in entries] == [[], [changed], []]


@pytest.mark.parametrize(
    ("printed", "ours", "verdict"),
    [
        ("about 1,234.5 s", 1234.549, ledger.REPRODUCED),
        ("about 1,234.5 s", 1234.551, ledger.CONTRADICTED),
        ("-1,234.5 to 7", -1234.451, ledger.REPRODUCED),
        ("-3", -2.5, ledger.REPRODUCED),
        ("-3", -2.499, ledger.CONTRADICTED),
    ],
)
def test_a_number_agrees_with_one_that_is_rounded_to_it(printed, ours, verdict):
    assert ledger.compared("Table 1", "x", printed, ours).verdict == verdict


@pytest.mark.parametrize(
    ("printed", "values", "rounding", "verdict"),
    [
        (10.0, (9.9, 10.0, 10.2), 0.0, ledger.REPRODUCED),
        (10.0, (1.0, 10.0, 20.0), 0.0, ledger.UNDECIDED),  # an interval of ± 24
        (10.0, (19.9, 20.0, 20.1), 0.0, ledger.DIFFERENT),
        (10.0, (10.0,), 0.0, ledger.UNDECIDED),
        (10.0, (9.5, 9.5), 0.5, ledger.REPRODUCED),
        (10.0, (10.5, 10.5), 0.5, ledger.REPRODUCED),
        (10.0, (9.25, 9.25), 0.5, ledger.DIFFERENT),
        (10.0, (10.75, 10.75), 0.5, ledger.DIFFERENT),
        (10.0, (9.8, 10.2), 0.5, ledger.REPRODUCED),  # an interval of ± 2.5
        (10.0, (9.75, 10.25), 0.5, ledger.UNDECIDED),  # an interval of ± 3.2
    ],
)
def test_a_wide_interval_confirms_nothing(printed, values, rounding, verdict):
    assert ledger.verdict_of(printed, mean(values), rounding) == verdict


def test_the_summary_counts_every_entry_once():
    entries = [
        Entry("Table 1", "x", ledger.REPRODUCED, paper="a"),
        Entry("Table 1", "y", ledger.DIFFERENT, paper="a"),
        Entry("Table 1", "x", ledger.REPRODUCED, paper="b"),
    ]
    rows = [(row["paper"], row[ledger.REPRODUCED]) for row in ledger.summary(entries)]
    assert rows == [("a", 1), ("b", 1), ("all", 2)]


def test_the_readme_has_the_counts_of_the_ledger():
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    numbers_of = dict(ledger.summary(RECORDED)[-1])
    del numbers_of["paper"]
    sentence = (
        "Of {}, {reproduced} are reproduced, {different} differ, {undecided} are"
        " undecided, {contradicted} are contradicted by the document's own numbers,"
        " {impossible} are impossible, and {not testable} cannot be tested."
    )
    wanted = sentence.format(len(RECORDED), **numbers_of)
    assert wanted in " ".join(text.split())


def test_the_public_program_loses_jobs_that_do_not_fit_at_once():
    jobs = [
        public_program.Job(0.5, 4, 100.0),
        public_program.Job(1.0, 2, 10.0),  # offered with the first; first does not wait
        public_program.Job(50.0, 8, 10.0),  # does not fit, and is never offered again
        public_program.Job(101.0, 8, 10.0),  # the first has ended in this second
    ]
    waits = public_program.run(jobs, public_program.ORDERS["fifo"], gpus=8)
    assert waits == [0.5, 0.0, 0.0]


@pytest.mark.parametrize("order", public_program.ORDERS)
def test_no_job_of_the_public_program_waits_for_more_than_a_second(order):
    jobs = public_program.drawn(3, 400)
    waits = public_program.run(jobs, public_program.ORDERS[order], gpus=16)
    assert 0 < len(waits) < 400
    assert 0 <= min(waits) <= max(waits) < 1
