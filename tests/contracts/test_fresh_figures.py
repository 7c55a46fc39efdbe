"""The CSV of every committed figure is computed again and compared, numbers up to
rounding.

Sums may be taken in another order by another NumPy; so numbers are the same that differ
by less than a part in 10^9.
"""

import csv
import io
import math
import re
from functools import cache
from html import unescape
from itertools import chain
from pathlib import Path

import pytest
from support import DATA, csv_rows, output

import cgrsp_simpy as cg
from cgrsp_simpy.base.table import csv_text
from cgrsp_simpy.decide.figures import ADVICE
from cgrsp_simpy.papers.cluster import figures as cluster
from cgrsp_simpy.papers.dag import figures as dag
from cgrsp_simpy.papers.hgsp import figures as hgsp
from cgrsp_simpy.papers.llm import figures as llm
from cgrsp_simpy.papers.spot import figures as spot
from cgrsp_simpy.papers.thesis import figures as thesis
from cgrsp_simpy.papers.thesis.printed import run_tables
from cgrsp_simpy.papers.waiting import figures as waiting

FOLDER = Path(__file__).parents[2] / "figures"
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the figures are in the repository alone"
)

AZURE = DATA / "azure_llm_2023" / "AzureLLMInferenceTrace_code.csv"
RUNS = {
    "cluster": cache(lambda: cluster.Runs(executor=2)),
    "dag": cache(lambda: dag.Runs(executor=2)),
    "hgsp": cache(lambda: hgsp.Runs(executor=2)),
    "spot": cache(lambda: spot.Runs(executor=2)),
    "llm": lambda: llm.Runs(
        cg.llm.read_requests(AZURE) if AZURE.exists() else llm.LIKE_AZURE, 2
    ),
    "waiting": cache(lambda: waiting.Runs(executor=2)),
}
FAST = {
    "cluster": ("gantt", "course", "aging"),
    "dag": ("gantt",),
    "hgsp": ("gantt",),
    "llm": ("table2",),
    "spot": ("course",),
    "waiting": ("table1",),
    "thesis": ("3.1", "3.2", "4.1", "5.1", "5.2", "5.3"),
}
GALLERIES = {
    "cluster": cluster.FIGURES,
    "dag": dag.FIGURES,
    "hgsp": hgsp.FIGURES,
    "llm": llm.FIGURES,
    "spot": spot.FIGURES,
    "waiting": waiting.FIGURES,
    "thesis": thesis.FIGURES,
}


def made(module, id):
    """The rows of a figure, computed as its command computes them."""
    if module == "thesis":
        figure = thesis.FIGURES[id]
        return figure.rows(run_tables(list(figure.needs), None, 2)[0])
    return GALLERIES[module][id].rows(RUNS[module]())


@pytest.mark.quick_cases(0)
@pytest.mark.parametrize(
    ("module", "id"),
    [
        pytest.param(
            module,
            id,
            id=f"{module} {id}",
            marks=() if id in FAST[module] else pytest.mark.long,
        )
        for module, figures in GALLERIES.items()
        for id in figures
    ],
)
def test_the_plotted_data_equal_the_packages(module, id):
    folder = FOLDER if module == "thesis" else FOLDER / module
    if (module, id) == ("llm", "gpus") and not AZURE.exists():
        pytest.skip("the log is not here")
    assert not stale(made(module, id), folder / f"{GALLERIES[module][id].stem}.csv")


@pytest.mark.slow
def test_the_advice_equals_the_packages():
    """That of `cgrsp advise hectic --report figures/advice`."""
    folder = FOLDER / "advice"
    result = cg.advise(cg.day("hectic"))
    assert not stale(result.rows, folder / "advice.csv")
    for figure in ADVICE:
        assert not stale(figure.rows(result), folder / f"{figure.stem}.csv")
    page = unescape((folder / "advice.html").read_text(encoding="utf-8"))
    assert all(line in page for line in (*result.lines, *result.rest))


def test_the_page_on_advice_quotes_its_report():
    """The report agrees with the output of the package."""
    report = unescape((FOLDER / "advice" / "advice.html").read_text(encoding="utf-8"))
    page = FOLDER.parent / "docs" / "howto" / "advise.md"
    parts = page.read_text(encoding="utf-8").replace("> ", "").split("\n>\n")
    messages = [" ".join(part.split()) for part in parts]
    lines = re.findall(r"<p>(.*?)</p>", report)[:3]
    assert lines[0] == messages[0][-len(lines[0]) :] and lines[1] == messages[1]
    assert messages[2].startswith(lines[2])
    text = " ".join(messages)
    first = re.search(r"it saves ([^ ]* ± [^ ]*) USD per day", report)[1]
    assert f"which saves {first} USD per day" in text and "here triage" in text
    options = re.search(r"kind of change \((\d+) tried\)", report)[1]
    assert f"list all {options} options that were tried" in text


@pytest.mark.long
def test_the_frontier_equals_the_packages(capsys):
    """That of `cgrsp bound hectic --frontier --seeds 10 --bin 10 --report
    figures/frontier`.
    """
    options = (
        "--frontier",
        "--seeds",
        "10",
        "--bin",
        "10",
        "--workers",
        "2",
        "--format",
        "csv",
    )
    title = {"title": "hectic, 10 seeds, 20 draws of each"}
    rows = [
        row | title for row in csv_rows(output(capsys, "bound", "hectic", *options))
    ]
    assert not stale(rows, FOLDER / "frontier" / "frontier.csv")


def stale(rows, path):
    """The cells of a CSV file that differ from those of the rows, in pairs."""
    kept = path.read_text(encoding="utf-8")
    cells, others = (
        list(csv.reader(io.StringIO(text))) for text in (csv_text(rows), kept)
    )
    assert [len(row) for row in cells] == [len(row) for row in others]
    return [pair for pair in zip(chain(*cells), chain(*others)) if not same(*pair)]


def same(one, other):
    """Texts that are equal, or numbers that are nearly."""
    try:
        return one == other or math.isclose(
            float(one), float(other), rel_tol=1e-9, abs_tol=1e-12
        )
    except ValueError:
        return False


def test_every_committed_figure_is_declared():
    declared = {
        FOLDER / ("" if m == "thesis" else m) / f"{f.stem}.csv"
        for m, g in GALLERIES.items()
        for f in g.values()
    }
    names = ("advice", *(figure.stem for figure in ADVICE))
    declared |= {FOLDER / "advice" / f"{name}.csv" for name in names}
    declared.add(FOLDER / "frontier" / "frontier.csv")
    # of scenarios; tests/docs/test_scenarios.py compares these
    declared |= {FOLDER / f"{name}.csv" for name in ("hectic_day", "tiles")}
    assert set(FOLDER.rglob("*.csv")) == declared
