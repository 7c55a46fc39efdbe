"""Results of a study: their representation, unknown names, and sentences on
differences.
"""

import json
import math
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats
from studies.runs import busy, never, normal, quiet, unlucky
from support import check_refused, output, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.base.table import figure_text
from cgrsp_simpy.studies.study import interval

SCENARIOS = {
    "rental": lambda: cg.day("quiet"),
    "waiting": lambda: cg.waiting.Scenario(
        cg.waiting.ExponentialJobs(40, 0.02, 500.0), machines=8
    ),
    "hgsp": lambda: cg.hgsp.Scenario(cg.hgsp.Level(9, "small", 3.0, (1.0, 2.0))),
    "llm": lambda: cg.llm.Scenario(cg.llm.Offered(20)),
    "cluster": lambda: cg.cluster.Scenario(
        cg.cluster.Offered(jobs=9, warm_up=0, after=0)
    ),
    "dag": lambda: cg.dag.Scenario("er:n=9"),
}


def cells(html):
    """The texts of each table, row by row; fails on what is not well formed."""
    tables = ElementTree.fromstring(f"<div>{html}</div>").iter("table")
    return [
        [[cell.text or "" for cell in row] for row in table.iter("tr")]
        for table in tables
    ]


@pytest.mark.parametrize("name", SCENARIOS)
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
    assert rows == [
        [figure, figure_text(value)] for figure, value in run.summary().items()
    ]


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
def test_a_significant_difference_is_not_printed_as_0_or_with_a_wrong_sign(
    values, told
):
    assert interval(cg.statistics.mean(values), len(values), "+") == told
    texts = "0.00 -1.0e-09 9.9e-07 0.0000010 0.0042 0.01 12.00".split()
    assert [figure_text(float(text)) for text in texts] == texts
    assert [figure_text(value) for value in (-0.0, 0.005)] == ["0.00", "0.01"]


def test_a_log_of_one_job_shows_no_0_that_differs_and_no_infinite_load(
    tmp_path, capsys, caplog
):
    caplog.set_level("INFO")
    (tmp_path / "one.csv").write_text("submit_s,service_s\n0,60\n")
    line = [
        "compare",
        "rental",
        f"trace={tmp_path / 'one.csv'!s}",
        "--policies",
        "fifo,spt",
    ]
    out = output(capsys, *line, "--seeds", "10")
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
            (
                "<Comparison of 20 drawn requests, 8 h100-80gb, 2 per replica: policy"
                " wsrpt, 1 seed>"
            ),
        ),
        (
            lambda: cg.compare(
                cg.day("quiet"), ["fifo", "spt", "edf", "rh", "lcf", "cadr"], [7]
            ),
            "<Comparison of quiet: 6 policies fifo, spt, edf, rh, ..., 1 seed>",
        ),
        (
            lambda: cg.sweep(
                cg.day, {"name": "quiet", "slots": [2, 3, 4]}, ["fifo", "rh"], range(2)
            ),
            "<Sweep of slots, 3 points: policies fifo, rh, 2 seeds>",
        ),
        (
            lambda: cg.compare(cg.month({"quiet": 1.0}, 2), ["fifo"], range(2)),
            "<Comparison of 2 days of quiet 1: policy fifo, 2 seeds>",
        ),
    ],
    ids=["comparison", "schedulers", "many", "sweep", "month"],
)
def test_a_study_is_one_line_and_in_a_notebook_the_tables_that_it_prints(study, told):
    study = study()
    assert repr(study) == told
    result = cells(study._repr_html_())
    assert result == [
        [[cell.strip() for cell in row] for row in table.rows] for table in study.tables
    ]
    assert str(study) == "\n\n".join(table.text() for table in study.tables)


NOTEBOOK = """
import sys, types
for name in ("ipykernel", "ipykernel.zmqshell", "IPython"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["IPython"].get_ipython = lambda: None
sys.modules["ipywidgets"] = None  # not installed
import cgrsp_simpy as cg
print(len(cg.compare(cg.day("quiet"), ["fifo"], range(2)).rows))
"""


@pytest.mark.slow
def test_a_notebook_without_ipywidgets_shows_no_warning():
    done = subprocess.run(
        [sys.executable, "-W", "always::UserWarning", "-c", NOTEBOOK],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


TESTED = ("wait_min", "miss_pct", "tardiness_min", "cost_usd")


# ---- names that a study does not have ----


@pytest.fixture(scope="module", params=["compare", "month"])
def tried(request):
    month = cg.month({"quiet": 1.0}, 1)
    scenario = quiet if request.param == "compare" else month
    return cg.compare(scenario, ["fifo", "spt"], range(2))


UNKNOWN = [
    (lambda study: study.values("fifo", "wait_mn"), "figure 'wait_mn'; did you mean"),
    (lambda study: study.values("fiffo", "wait_min"), "policy 'fiffo'; did you mean"),
    (lambda study: study.means()["ss"], "unknown policy 'ss'"),
    (
        lambda study: study.means()["spt"]["mis_pct"],
        "'mis_pct'; did you mean 'miss_pct'",
    ),
    # the one compared with
    (lambda study: study.differences()["fifo"], "unknown policy 'fifo' (allowed: spt)"),
    # is not tested
    (lambda study: study.differences()["spt"]["jobs"], "unknown figure 'jobs'"),
    (
        lambda study: study.tests()["spt"]["waitmin"],
        "'waitmin'; did you mean 'wait_min'",
    ),
    # before the runs, which fail
    (
        lambda _: cg.compare(quiet, [never], [0]).by("colour"),
        "unknown column 'colour'",
    ),
    (lambda study: cg.plots.policy_bars(study, "wait_mn"), "unknown metric 'wait_mn'"),
    (lambda study: cg.plots.pareto(study, "wait_mn", "miss_pct"), "metric 'wait_mn'"),
]


@pytest.mark.parametrize(("looked_up", "words"), UNKNOWN)
def test_an_unknown_name_is_rejected_with_the_nearest(looked_up, words, tried):
    check_refused(lambda: looked_up(tried), [words])


test_a_sweep_rejects_an_unknown_name_and_suggests_the_nearest = refusals(
    (lambda study: study.at(slot=1), "unknown name in the grid"),
    (lambda study: study.at(slots=1, rate=3), "unknown name in the grid"),
    (lambda study: study.at(name="quiet", slots=1), "unknown name in the grid"),
    (lambda study: study.at(slots=1).values("fifo", "wait_mins"), "mean 'wait_min'"),
    (lambda study: cg.plots.sweep_lines(study, "wait_mins"), "mean 'wait_min'"),
    call=lambda looked_up: looked_up(
        cg.sweep(cg.day, {"name": "quiet", "slots": [1, 2]}, ["fifo"], range(2))
    ),
)


# ---- sentences on the differences ----


@pytest.fixture(scope="module")
def study():
    return cg.compare(
        cg.day("hectic", 2, jobs=120), ["fifo", "spt", "edf", "rh"], range(12)
    )


def told(study):
    rows = json.loads(study.json())["differences"]
    assert {row.pop("from") for row in rows} == {study.policies[0]}
    return {row.pop("alternative"): row for row in rows}


def test_the_tests_use_the_values(study):
    for policy, row in told(study).items():
        assert list(row) == list(TESTED)
        for figure, value in row.items():
            ours, first = study.values(policy, figure), study.values("fifo", figure)
            if np.array_equal(ours, first):
                continue
            test = cg.statistics.paired_test(ours, first)
            for name in ("t", "p", "d", "d_paired", "wilcoxon_p", "n"):
                assert value[name] == getattr(test, name)
            interval = stats.ttest_rel(ours, first).confidence_interval()
            assert value["ci95"] == pytest.approx(interval, rel=1e-9)


def test_holm_is_over_every_policy_and_figure(study):
    cells = [value for row in told(study).values() for value in row.values()]
    assert len(cells) == 3 * 4
    p = [value["p"] for value in cells]
    assert [value["p_holm"] for value in cells] == cg.statistics.holm(p)
    by_policy = [
        each for k in range(3) for each in cg.statistics.holm(p[4 * k : 4 * k + 4])
    ]
    assert cg.statistics.holm(p) != by_policy
    assert "Holm over these 12:" in str(study)


def test_a_study_names_the_family_of_holms_correction():
    study = cg.compare(busy, ["fifo", "spt", never], range(6))
    assert "Holm over these 4:" in str(study)


def test_stars_follow_the_adjusted_p_values(study):
    stars = 0
    lines = {line.split()[0]: line for line in str(study).splitlines()[7:] if line}
    for policy, row in told(study).items():
        shown = re.findall(r"[+-][\d.]+ ± *[\d.]+(?: (\*+))?", lines[policy])
        assert shown == [
            "*" * sum(value["p_holm"] < limit for limit in (0.05, 0.01, 0.001))
            for value in row.values()
        ]
        stars += sum(map(len, shown))
    assert stars > 9


@pytest.mark.parametrize("seeds", [2, 4, 5])
def test_few_seeds_are_noted(seeds):
    study = cg.compare(busy, ["fifo", "spt"], range(seeds))
    few = seeds < 5
    assert ("fewer than 5 pairs" in str(study)) == few
    wait = told(study)["spt"]["wait_min"]
    assert wait.get("note") == ("fewer than 5 pairs" if few else None)


def test_one_seed_has_no_interval_and_a_note():
    study = cg.compare(busy, ["fifo", "spt"], [3])
    assert str(study).splitlines()[0] == "hectic: 1 seed (an interval needs two)"
    assert "±" not in str(study)
    assert "difference" not in str(study)
    wait = told(study)["spt"]["wait_min"]
    assert (
        wait["mean"]
        == study.values("spt", "wait_min")[0] - study.values("fifo", "wait_min")[0]
    )
    assert wait.pop("note") == "fewer than 2 pairs"
    assert [
        wait[name]
        for name in ("t", "p", "p_holm", "wilcoxon_p", "d", "d_paired", "ci95")
    ] == [
        *[None] * 6,
        [None, None],
    ]


def test_differences_that_are_all_zero_are_noted():
    twin = cg.ListPolicy(cg.rules.by_submission, cg.rules.first_idle, name="twin")
    wait = told(cg.compare(normal, [twin, unlucky(normal, [])], range(6)))["rule"][
        "wait_min"
    ]
    assert (wait["mean"], wait["p"], wait["t"], wait["note"]) == (
        0,
        1,
        None,
        "all differences are zero",
    )
