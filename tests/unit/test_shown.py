"""How results show themselves: one line at the prompt, tables of HTML in a notebook, and no noise
from the bar of progress.
"""

import math
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.cli import main
from cgrsp_simpy.model.shown import Table, figure_text
from cgrsp_simpy.studies.study import interval

SCENARIOS = {
    "rental": lambda: cg.day("quiet"),
    "waiting": lambda: cg.waiting.Scenario(cg.waiting.ExponentialJobs(40, 0.02, 500.0), machines=8),
    "hgsp": lambda: cg.hgsp.Scenario("tasks1"),
    "llm": lambda: cg.hgsp.Requests(),
    "cluster": lambda: cg.cluster.Scenario(cg.cluster.Offered(jobs=9)),
    "dag": lambda: cg.dag.Scenario("er:n=9"),
}
every_scenario = pytest.mark.parametrize("name", SCENARIOS)


def cells(html):
    """The texts of each table, row by row; fails on what is not well formed."""
    tables = ElementTree.fromstring(f"<div>{html}</div>").iter("table")
    return [[[cell.text or "" for cell in row] for row in table.iter("tr")] for table in tables]


@every_scenario
def test_a_run_is_one_line_and_in_a_notebook_a_table_of_its_figures(name):
    scenario = SCENARIOS[name]()
    run = cg.simulate(scenario, scenario.compared[0])
    told = repr(run)
    assert len(told) < 120
    assert "\n" not in told
    assert told.startswith(f"<{type(run).__name__} of ")
    assert scenario.compared[0] in told
    [[head, *rows]] = cells(run._repr_html_())
    assert head == ["figure", "value"]
    assert rows == [[figure, figure_text(value)] for figure, value in run.summary().items()]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([156.0, 157.0], "+156.50 ± 6.35"),
        ([0.0] * 3, "+0.00 ± 0.00"),
        ([-0.0] * 3, "+0.00 ± 0.00"),
        ([-0.0021] * 3, "-0.0021 ± 0.0000"),
        ([-0.0020, -0.0022, -0.0021], "-0.0021 ± 0.0002"),
        ([-0.001, 0.002, -0.002], "+0.00 ± 0.01"),
        ([-0.0001, 0.0002, -0.0002], "-0.00003 ± 0.00052"),
        ([-1.0, 1.0, -0.003], "+0.00 ± 2.48"),
        ([-2.1e-9], "-2.1e-09"),
        ([0.004999, math.nan], "+0.0050 (n 1)"),
    ],
)
def test_what_is_shown_to_differ_from_0_is_not_told_as_0_nor_with_a_sign_that_it_has_not(
    values, told
):
    assert interval(mean(values), len(values), "+") == told
    assert {figure_text(value) for value in (0.0, -0.0, -1e-9, 0.0042, 12.0)} == {
        "0.00",
        "-1.0e-09",
        "0.0042",
        "12.00",
    }


def test_a_log_of_one_job_shows_no_0_that_differs_and_no_infinite_load(tmp_path, capsys, caplog):
    caplog.set_level("INFO")
    (tmp_path / "one.csv").write_text("submit_s,service_s\n0,60\n")
    line = ["compare", "--trace", str(tmp_path / "one.csv"), "--policies", "fifo,spt"]
    assert main([*line, "--seeds", "10"]) == 0
    out = capsys.readouterr().out
    assert "-0.00 " not in out and "0.00 ***" not in out and "***" in out
    assert "all at once, on 5 slots" in caplog.text and "inf" not in caplog.text


@pytest.mark.parametrize(
    ("study", "told"),
    [
        (
            lambda: cg.compare(cg.day("quiet"), ["fifo", "rh:reserve=1"], range(3)),
            "<Comparison of quiet: policies fifo, rh:reserve=1, 3 seeds>",
        ),
        (
            lambda: cg.compare(SCENARIOS["llm"](), ["wsrpt"], [0]),
            "<Comparison of Table II, 16 H100, work-conserving: scheduler wsrpt, 1 seed>",
        ),
        (
            lambda: cg.compare(cg.day("quiet"), ["fifo", "spt", "edf", "rh", "lcf", "cadr"], [7]),
            "<Comparison of quiet: 6 policies fifo, spt, edf, rh, ..., 1 seed>",
        ),
        (
            lambda: cg.sweep(
                cg.day, {"name": "quiet", "slots": [2, 3, 4]}, ["fifo", "rh"], range(2)
            ),
            "<Sweep of slots, 3 points: policies fifo, rh, 2 seeds>",
        ),
        (
            lambda: cg.month({"quiet": 1.0}, ["fifo"], days=2, replications=2),
            "<Month of 2 days of quiet 1: policy fifo, 2 seeds>",
        ),
    ],
    ids=["comparison", "schedulers", "many", "sweep", "month"],
)
def test_a_study_is_one_line_and_in_a_notebook_the_tables_that_it_prints(study, told):
    study = study()
    assert repr(study) == told
    found = cells(study._repr_html_())
    assert found == [
        [[cell.strip() for cell in row] for row in table.rows] for table in study.tables
    ]
    assert str(study) == "\n\n".join(table.text() for table in study.tables)


def test_what_a_user_calls_his_things_is_escaped():
    def broken(view):
        raise RuntimeError("<b>no & no</b>")

    study = cg.compare(cg.day("quiet"), ["fifo", lambda view: zip(view.queue, view.idle)], [0, 1])
    assert "&lt;lambda&gt;" in study._repr_html_()
    assert cells(study._repr_html_())[0][2][0] == "<lambda>"
    html = cg.compare(cg.day("quiet"), ["fifo", broken], [0])._repr_html_()
    assert "&lt;b&gt;no &amp; no&lt;/b&gt;" in html
    assert "<b>" not in html
    table = Table("a < b", [["x"], ["<y>"]], "c & d").html()
    assert cells(table) == [[["x"], ["<y>"]]]
    assert "a &lt; b" in table and "c &amp; d" in table


NOTEBOOK = """
import sys, types
for name in ("ipykernel", "ipykernel.zmqshell", "IPython"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["IPython"].get_ipython = lambda: None
sys.modules["ipywidgets"] = None  # not installed
import cgrsp_simpy as cg
print(len(cg.compare(cg.day("quiet"), ["fifo"], range(2)).rows))
"""


def test_a_notebook_without_ipywidgets_hears_nothing_of_it():
    done = subprocess.run(
        [sys.executable, "-W", "always::UserWarning", "-c", NOTEBOOK],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")
