"""Options: policies, announced work, processes; notes of bounds."""

import json
import logging
import math
from argparse import Namespace
from types import SimpleNamespace

import pytest
from support import output

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.cli import VERBS, command_of, decisions, plan, records
from cgrsp_simpy.cli.options import check_work, policies_given, policies_of
from cgrsp_simpy.decide.bounds import Bound


def test_the_verbs_with_processes_and_those_with_engines():
    commands = {verb: command_of(verb) for verb in VERBS}
    engines = {verb for verb, command in commands.items() if command.engines}
    assert engines == {"compare", "sweep", "papers", "forecast"}
    parallel = {verb for verb, command in commands.items() if command.parallel}
    assert parallel == engines - {"forecast"} | {"bound", "advise"}


@pytest.mark.parametrize(
    ("text", "policies"),
    [
        ("a", ["a"]),
        (" a , b", ["a", "b"]),
        ("a,b:x=1,y=2,z=3,c", ["a", "b:x=1,y=2,z=3", "c"]),
        ("a:x=1,b:x=2", ["a:x=1", "b:x=2"]),
        ("x=1,a", ["x=1", "a"]),
    ],
)
def test_parameters_belong_to_the_policy_before_them(text, policies):
    assert policies_of(text) == policies


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (decisions._load, "1.3", 1.3),
        (decisions._load, "+30%", 1.3),
        (decisions._load, "-25%", 0.75),
        (plan._share, "0.2", 0.2),
        (plan._share, "20%", 0.2),
    ],
)
def test_shares_and_changes_in_per_cent(parse, text, value):
    assert parse(text) == pytest.approx(value, rel=1e-12)


def test_policies_left_out_by_default_are_reported(caplog):
    subject = SimpleNamespace(
        default_policies=lambda: ["a", "b"], left_out=lambda: {"c": "needs a column"}
    )
    assert policies_given(Namespace(policies=("c",)), subject) == ["c"]
    assert caplog.messages == []
    assert policies_given(Namespace(policies=None), subject) == ["a", "b"]
    assert caplog.messages == ["c is left out: needs a column"]


REFUSED = "; add --yes to start anyway"


@pytest.mark.parametrize(
    ("jobs", "options", "message"),
    [
        (600, {}, ""),
        (601, {}, "601 jobs will be run, which takes about a minute"),
        (899, {}, "899 jobs will be run, which takes about a minute"),
        (901, {}, "901 jobs will be run, which takes about 2 minutes"),
        (901, {"workers": 2}, ""),
        (3600, {"workers": 2}, "3,600 jobs will be run, which takes about 3 minutes"),
        (36_000, {}, "36,000 jobs will be run, which takes about 60 minutes"),
        (36_010, {}, "36,010 jobs will be run, which takes about 60 minutes" + REFUSED),
        (
            60_000,
            {"workers": 4},
            "60,000 jobs will be run, which takes about 25 minutes" + REFUSED,
        ),
        (
            54_000,
            {"yes": True},
            "54,000 jobs will be run, which takes about 90 minutes",
        ),
        (54_010, {"yes": True}, "54,010 jobs will be run, which takes about 1.5 hours"),
        (700, {"kept": 100_000}, "700 jobs will be run, which takes about a minute"),
        (
            700,
            {"kept": 105_000},
            "700 jobs will be run, which takes about a minute, 0.1 GB",
        ),
        (1, {"kept": 8_000_000}, ""),
        (
            1,
            {"kept": 8_000_001},
            "1 job will be run, which takes about a minute, 8.0 GB" + REFUSED,
        ),
    ],
)
def test_work_of_a_minute_is_announced_and_of_an_hour_rejected(
    jobs, options, message, caplog
):
    args = Namespace(
        workers=options.pop("workers", None), yes=options.pop("yes", False)
    )
    with caplog.at_level(logging.INFO, logger="cgrsp_simpy"):
        try:
            check_work(args, jobs, per_s=10.0, done="run", **options)
            text = "".join(caplog.messages)
        except cg.InputError as error:
            text = str(error)
    assert text == message


def test_a_replay_asks_each_policy_twice_at_two_moments_of_each_job(file, monkeypatch):
    """And simulates it: 5 calls per job and policy."""
    text, work = "job_id,submit_s,start_s,service_s,gpus\n1,0,0,9,1\n2,1,9,9,1\n", []
    monkeypatch.setattr(
        records, "check_work", lambda _, *of, kept: work.extend([*of, kept])
    )
    how = {
        "words": ["cluster=1x1"],
        "verb": "replay",
        "policies": ["fifo", "easy", "sjf"],
    }
    records.replayed(Namespace(**how), str(file(text, "log.csv")))
    assert work == [5 * 2 * 3, 2]


@pytest.mark.parametrize(
    ("bounds", "known", "notes"),
    [
        ([(1.0, None), (1.0, None)], {}, ["all draws of each job, in steps of 90 s"]),
        ([(None, None)] * 2, {}, ["all draws of each job, in steps of 90 s"]),
        (
            [(None, 0.0), (3.0, 3.5), (3.0, None)],
            {"persists": True, "retry_s": 0.0},
            [
                "no bound known for 1 seed, which count as 0",
                "mean of these 3 seeds alone: they are too few",
                "the bound is for policies that know the future stock",
                "provisioning is left out, as instances may be warm or refused",
                "prices in bins of 1.5 min: 0.25 below the program in groups",
            ],
        ),
        (
            [(1.0, None), (1.0, None)],
            {"warm_s": 1.0},
            ["provisioning is left out", "all draws of each job"],
        ),
    ],
)
def test_notes_of_bounds(bounds, known, notes):
    scenario = SimpleNamespace(
        market=SimpleNamespace(persists=known.get("persists", False)),
        terms=SimpleNamespace(
            warm_s=known.get("warm_s", 0.0), retry_s=known.get("retry_s")
        ),
    )
    bounds = [Bound(value, program, 90.0) for value, program in bounds]
    programs = [bound for bound in bounds if bound.program is not None]
    value = mean([bound.value or 0.0 for bound in bounds])
    texts = decisions.caveats(scenario, bounds, programs, value)
    assert len(texts) == len(notes)
    for text, note in zip(texts, notes):
        assert text.startswith(note)


LIMITS = SimpleNamespace(
    scenario=cg.day("quiet", jobs=3),
    seeds=range(2),
    bin_s=90.0,
    corners={"bound": [(1.25, 8.0)], "high": [(1.5, 9.0)]},
    means={50.0: mean([3.0, 4.0]), math.inf: mean([1.0, 2.0])},
    miss_pct=lambda wait_min: 10.0 - wait_min,
)
VALUES = {"wait_min": (2.0, 4.0), "miss_pct": (5.0, 5.0)}
MEANS = {("fifo", name, n): VALUES[name][n] for name in VALUES for n in (0, 1)}
FRONTIER = "bound quiet jobs=3 --frontier --policies fifo --seeds 2 --bin 1.5"


def test_the_frontier_by_command(capsys, monkeypatch):
    monkeypatch.setattr(decisions, "frontier", lambda *_, **__: LIMITS)
    monkeypatch.setattr(decisions, "expected", lambda *_: MEANS)
    line = FRONTIER.split()
    first, _, *lines = output(capsys, *line).splitlines()
    assert first.endswith("these corners; 2 seeds, prices in bins of 1.5 min")
    rows = [row.split() for row in lines if row[:1].isdigit() or row[:4] == "fifo"]
    fifo = ["fifo", "3.00", "±", "12.71", "5.00", "±", "0.00", "7.00"]
    assert rows == [["1.25", "8.00"], fifo]
    content = json.loads(output(capsys, *line, "--format", "json"))
    assert content["bin_min"] == 1.5
    assert [(row["price_min_a_pct"], row["mean"]) for row in content["least"]] == [
        (50.0, 3.5),
        ("inf", 1.5),
    ]
    assert [row["kind"] for row in content["figures"]] == ["bound", "high", "policy"]


@pytest.mark.parametrize(
    ("line", "replaced", "messages"),
    [
        (
            f"{FRONTIER} --report a",
            {
                "cli.decisions.frontier": LIMITS,
                "cli.decisions.expected": MEANS,
                "plots.figure.Figure.write": None,
            },
            ["the figure is in a"],
        ),
        (
            "advise quiet --out a --report b",
            {
                "cli.decisions.advise": SimpleNamespace(
                    as_dict=dict, rows=[], failures=[]
                ),
                "decide.figures.write_report": None,
            },
            ["results are in a", "the report is in b"],
        ),
        (
            "lectures --browser a --pyodide b",
            {"exercises.browser.write": None},
            ["building JupyterLite, which takes up to a minute", "a/index.html"],
        ),
        (
            "lectures 1 --slides a",
            {"cli.teaching.slides": "", "cli.teaching.write_files": None},
            [
                "running lecture 1, which takes up to a minute",
                "a/01_event_list.slides.html",
            ],
        ),
        (
            "redraw figure_5_6.csv",
            {
                "plots.figure.Figure.contents": {"a.png": b""},
                "cli.papers.write_files": None,
            },
            ["a.png"],
        ),
    ],
)
def test_a_command_writes_its_files_and_lists_them(
    line, replaced, messages, monkeypatch, caplog, capsys
):
    caplog.set_level(logging.INFO)
    called = []
    for name, result in replaced.items():
        monkeypatch.setattr(
            f"cgrsp_simpy.{name}",
            lambda *_, name=name, result=result, **__: called.append(name) or result,
        )
    printed = output(capsys, *line.split()).splitlines()
    assert called == [*replaced] and {*messages} <= {*caplog.messages, *printed}
