"""Unusual inputs: valid ones are accepted, others rejected with one line."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from support import check_bad_input, check_refused, outcome, output, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.base.files import write_whole
from cgrsp_simpy.cli import main
from cgrsp_simpy.decide.recommend import Prices, Trials
from cgrsp_simpy.logs import read_log
from cgrsp_simpy.market.series import Series, Snapshots
from cgrsp_simpy.rental.terms import rounding_s
from cgrsp_simpy.studies.subject import subject_of

# ---- tables ----


@pytest.mark.parametrize(("sign", "named"), [(";", ";"), ("\t", "tab"), ("|", "|")])
@pytest.mark.parametrize("read", [read_log, cg.read_market])
def test_a_table_with_another_delimiter_is_reported_as_such(read, sign, named, file):
    path = file(
        f"time{sign}status{sign}submit_s{sign}service_s\n0{sign}low{sign}0,5{sign}10\n",
        "jobs.csv",
    )
    check_refused(
        lambda: read(path),
        [f"are its cells separated by {named!r}, not by commas?"],
    )


def snapshots(status, time_s):
    price = np.full(len(status), np.nan)
    return Snapshots("A", np.array(time_s, float), np.array(status), price)


def test_a_report_on_an_empty_series_has_dashes(file, capsys):
    path = file(
        "time,status\n" + "".join(f"{600 * step},\n" for step in range(9)), "a.csv"
    )
    assert (
        output(capsys, "market", "report", str(path)).splitlines()[1].split()[-11:]
        == ["-"] * 11
    )


# ---- advice ----


def test_policies_and_seeds_may_come_from_generators():
    names, scenario = ("fifo", "spt"), cg.day("normal", jobs=2, slots=1)
    advice = cg.advise(scenario, (name for name in names), (n for n in range(2)))
    assert {option.policy for option in advice.tried} >= {*names}
    assert advice.seeds == [0, 1]
    sweep = cg.sweep(scenario, {"jobs": [5]}, (name for name in names), [0])
    assert [row["policy"] for row in sweep.rows] == ["fifo", "spt"]


@pytest.mark.slow
@pytest.mark.parametrize("term", ["terms.preemption_per_h=2", "terms.suspension=yes"])
def test_advice_has_a_report_if_jobs_are_stopped(term, tmp_path):
    line = ("advise", "hectic", "jobs=12", "--seeds", "2", term)
    assert main([*line, "--policies", "fifo,spt", "--report", str(tmp_path)]) == 0
    assert (tmp_path / "advice.html").exists()


# ---- terms ----


def test_an_instance_that_was_used_is_billed_for_an_increment_at_least():
    assert rounding_s(1e-6, 0.0, 3600.0) == 3600.0 - 1e-6


# ---- empty texts, such as an unset shell variable ----


@pytest.mark.parametrize(
    "line",
    [
        ("run", ""),
        ("compare", "hectic", "--policies", ""),
        ("compare", "hectic", "market=laws.toml", "sight="),
        ("bound", "hectic", "--frontier", "--policies", ""),
        ("advise", "hectic", "--target", ""),
        ("advise", "hectic", "spot.share="),
        ("run", "hgsp:"),
        ("run", "hgsp", "instance=instance.csv", "instance.cluster="),
        ("run", "llm", "trace=log.csv", "log.weight="),
        ("run", "llm", "trace=log.csv", "log.format="),
    ],
)
def test_an_empty_text_is_no_text_that_is_left_out(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "laws.toml").write_text(
        "[[stock]]\n"
        "gpu = 'RTX 3090'\n"
        f"chances = {[[0.5, 0.25, 0.25]] * 24}\n"
        "persistence_s = 600\n"
    )
    (tmp_path / "instance.csv").write_text("task\n")
    (tmp_path / "log.csv").write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n0,9,9\n"
    )
    check_bad_input(outcome(capsys, *line), [])


# ---- logs whose clock does not begin with their jobs ----


def test_a_log_s_rate_and_its_days_are_from_its_first_job_on(tmp_path, caplog):
    """The cost of the jobs is divided by days that do not include the time before the
    first.
    """
    at_s = [900 * job for job in range(200)]
    results = []
    for lead_s in (0, 10_000_000):
        path = tmp_path / f"{lead_s}.csv"
        rows = [f"{lead_s + each},{300 + each % 700}" for each in at_s]
        path.write_text("\n".join(["submit_s,service_s", *rows, ""]))
        results.append(cg.trace(path))
    early, late = results
    assert late.workload.rate_per_s == early.workload.rate_per_s == 200 / (199 * 900)
    assert late.known().offered_load == early.known().offered_load
    days = [Trials(each, ["fifo"], Prices()).days for each in results]
    assert days[1] == days[0] == pytest.approx(199 * 900 / 86400)
    with caplog.at_level("INFO"):
        assert (
            main(
                [
                    "run",
                    "rental",
                    f"trace={tmp_path / '10000000.csv'!s}",
                    "--policy",
                    "fifo",
                ]
            )
            == 0
        )
    assert "over 49.8 h, 4.0 per hour, the first 2,777.8 h after time 0;" in caplog.text


# ---- invalid parts of a scenario ----

CASE = cg.waiting.Scenario(cg.waiting.ExponentialJobs(50, 0.2, 500), machines=20)


test_an_unknown_part_is_named_in_the_error = refusals(
    *(
        (scenario, name, value, [name])
        for scenario, name, value in (
            *((cg.day("hectic"), name, 1) for name in ("gpus", "market", "service")),
            *(
                (cg.day("hectic"), name, "abc")
                for name in ("workload", "gpus", "terms")
            ),
            (cg.day("hectic"), "retry_s", 1e308),
            (CASE, "source", 1),
            (CASE, "machines", [1]),
            (cg.hgsp.Scenario("tasks1"), "cluster", 1),
            (cg.hgsp.Scenario("tasks1"), "cluster", []),
            (cg.hgsp.Scenario("tasks1"), "cluster", [1]),
            (cg.hgsp.Scenario("tasks1"), "slack", 1),
            (cg.hgsp.Scenario("tasks1"), "slack", (1, 2, 3)),
            (cg.llm.Scenario(), "source", 1),
            (cg.llm.Scenario(), "service", 1),
            (cg.llm.Scenario(), "steps", 1),
            (cg.dag.Scenario("er:n=10"), "memory_gb", 1e308),
            *(
                (cg.spot.Scenario(), name, 1e308)
                for name in ("hours", "deadline", "overhead")
            ),
            (cg.spot.Scenario(), "history_h", 1e308),
        )
    ),
    call=lambda scenario, name, value: subject_of(scenario).varied(**{name: value}),
)


# ---- listings ----


@pytest.mark.parametrize("name", [".", "/", "../"])
def test_a_file_without_a_name_is_not_written(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_refused(lambda: write_whole(Path(name), b"x"), [])
    assert not [*tmp_path.parent.glob("*.part"), *tmp_path.iterdir()]


# ---- arguments of the wrong kind ----

GRAPH = cg.dag.Graph([1.0, 2.0], [5, 6], [(0, 1)], [1.0])
RUN = cg.simulate(cg.day("quiet", jobs=5), "fifo")
SERVER = cg.dag.Platform([1.0], [90], [0], [[1.0]])
TASKS = cg.hgsp.generate("tasks1")
COLUMNS = dict.fromkeys(("submit_s", "service_s", "deadline_s"), (1.0,))
COLUMNS |= dict.fromkeys(("gpus", "weight"), (1,))


test_an_argument_of_the_wrong_kind_gives_a_one_line_error = refusals(
    (
        lambda: cg.fit_stock(snapshots([0] * 500, [*range(0, 299_400, 600), 1e12])),
        "seconds that the series of A spans(=1000000000000.0) must be at most",
    ),
    (
        lambda: cg.fit_stock(snapshots([-1] * 500, np.arange(500) * 600.0)),
        "snapshots of A that were fetched(=0) must be at least one",
    ),
    (
        lambda: cg.advise(cg.day("normal"), "fifo", range(2)),
        "policies(='fifo') must be a list of policies",
    ),
    (
        lambda: cg.advise(cg.day("normal"), ["fifo"], 2),
        "seeds(=2) must be a sequence of whole numbers",
    ),
    (
        lambda: cg.advise(cg.day("normal"), [], range(2)),
        "policies(=[]) must be at least one policy",
    ),
    (
        lambda: cg.advise(cg.spot.Scenario(hours=9, deadline=12), ["fifo"], [0, 1]),
        "must be a scenario of rented slots",
    ),
    (
        lambda: cg.Scenario(
            "low",
            cg.PoissonWorkload(2, 0.01),
            slots=cg.round_robin(["RTX 3090"]),
            market=cg.Market(
                series=(cg.StockSeries("RTX 3090", (0.0,), (2,), 86400.0),)
            ),
            terms=cg.Terms(retry_s=60.0),
        ),
        "RTX 3090 is out of stock at every hour",
    ),
    *(
        (lambda time_s=time_s: cg.queueing.mg1_ps(0.01, 50.0, [time_s]), "times_s")
        for time_s in (-1.0, np.nan, np.inf)
    ),
    *(
        (lambda name=name: cg.LoggedWorkload(**{**COLUMNS, name: 1}), name)
        for name in ("submit_s", "service_s", "weight")
    ),
    (lambda: cg.Terms(warm_s=np.int64(-1)), "warm_s"),
    (lambda: cg.Market(clock=5), "clock(=5) must be of type Clock"),
    (lambda: cg.month(scenario=5), "scenario(=5) must be a function"),
    (lambda: cg.compare(cg.day("quiet", jobs=5), out=5), "out(=5) must be a path"),
    (
        lambda: cg.sweep(cg.day, {"name": ["quiet"]}, 5),
        "policies(=5) must be a list",
    ),
    (lambda: cg.trace(5), "path(=5) must be the path of a file"),
    (
        lambda: cg.trace("x.csv", columns=5, format="csv"),
        "columns(=5) must be a mapping",
    ),
    (
        lambda: cg.waiting.Size("A", 1, None, 1.0),
        "memory_gb of A(=None) must be a number",
    ),
    (
        lambda: cg.waiting.analyze(5, 1.0, 1.0, 1),
        "waiting policy(=5) must be a string",
    ),
    (lambda: cg.waiting.plan(5, "p95=1min"), "jobs(=5) must be ListedJobs"),
    (
        lambda: dataclasses.replace(TASKS, task_names=5),
        "task_names(=5) must be a list",
    ),
    (lambda: dataclasses.replace(TASKS, lines=5), "lines(=5) must be a list"),
    (
        lambda: dataclasses.replace(TASKS, times_s="x"),
        "times_s(='x') must be numbers",
    ),
    (
        lambda: cg.hgsp.greedy_assignment(TASKS, [0, 0]),
        "order must contain each of",
    ),
    (lambda: dataclasses.replace(SERVER, names=5), "names(=5) must be a list"),
    (
        lambda: dataclasses.replace(SERVER, latency_s="x"),
        "latency_s(='x') must be numbers",
    ),
    (lambda: dataclasses.replace(GRAPH, names=5), "names(=5) must be a list"),
    (
        lambda: dataclasses.replace(GRAPH, edges=[(0,), (0, 1)]),
        "must be pairs of nodes",
    ),
    (lambda: cg.dag.Problem(5, SERVER), "graph(=5) must be of type Graph"),
    (lambda: cg.dag.Problem(GRAPH, 5), "platform(=5) must be of type Platform"),
    (lambda: cg.dag.Plan([0.5, 0]), "gpu of node 0(=0.5) must be a whole number"),
    (
        lambda: cg.dag.find(cg.dag.Problem(GRAPH, SERVER), 5, 9),
        "scheduler(=5) must be a string",
    ),
    *(
        (lambda changes=changes: Series("a", 60, 9, True, changes), "must be in order")
        for changes in ((5, 3), (5, 5), (0, 3), (5, 9))
    ),
    (lambda: cg.measured(), "market(=()) must be at least one file"),
    (
        lambda: cg.measured("a.toml", "b.csv"),
        "market(=['a.toml', 'b.csv']) must be one file of models",
    ),
    (lambda: cg.plots.gantt(RUN, ax=5), "ax(=5) must be Axes"),
    (
        lambda: cg.plots.animate(RUN, captions=5),
        "captions(=5) must be a mapping",
    ),
)
