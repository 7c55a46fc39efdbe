"""The same scenario gives the same figures on the command line and in Python."""

import json
from functools import partial

import pytest
from support import output

import cgrsp_simpy as cg
from cgrsp_simpy.base.table import csv_text
from cgrsp_simpy.decide.recommend import Prices
from cgrsp_simpy.studies.subject import subject_of

LOG = "job,submit_s,service_s,cores,memory_gb\n" + "".join(
    f"{n},{40 * n},{200 + 17 * (n % 5)},{1 + n % 3},{n % 4}\n" for n in range(30)
)
BANK = """
import cgrsp_simpy as cg

@cg.model
def bank(env, draw, tellers=2, work_s=3.0):
    desk, times = cg.Resource(env, tellers, name="desk"), draw("bank")

    def customer():
        with desk.request() as claim:
            yield claim
            yield env.timeout(times.exponential(work_s))

    def arrivals():
        while True:
            yield env.timeout(times.exponential(2.0))
            env.process(customer())

    env.process(arrivals())
    env.run(100)
"""


def jobs(number):
    return cg.waiting.ExponentialJobs(number)


COMPARED = {  # words -> the scenario in Python
    "hectic slots=7 jobs=40": lambda: cg.day("hectic", slots=7, jobs=40),
    "quiet jobs=20 terms.warm_s=60 retry_s=30": lambda: cg.day(
        "quiet", jobs=20, terms=cg.Terms(warm_s=60, retry_s=30)
    ),
    "surge jobs=30 gpus=2025 slots=3 tight_fraction=0.5": lambda: cg.day(
        "surge", 3, 0.5, 30, gpus="2025"
    ),
    "normal jobs=20 persistence_s=1800 sight=now clock=printed": lambda: cg.day(
        "normal", jobs=20, persistence_s=1800, sight="now", clock="printed"
    ),
    "rental trace=log.csv slots=2 tight_fraction=0.4": lambda: cg.trace(
        "log.csv", slots=2, tight_fraction=0.4
    ),
    "month days=3 slots=3 jobs=9 mix.quiet=0.25 mix.normal=0.5": lambda: cg.month(
        {"quiet": 0.25, "normal": 0.5, "hectic": 0.15, "surge": 0.1},
        3,
        slots=3,
        jobs=9,
    ),
    "waiting jobs=400 machines=104 prices.fixed=3": lambda: cg.waiting.Scenario(
        jobs(400), machines=104, prices=cg.waiting.Prices(fixed=3)
    ),
    "waiting trace=log.csv machines=2x4": lambda: subject_of(
        cg.waiting.Scenario(cg.waiting.read_jobs("log.csv").jobs)
    ).varied(machines="2x4"),
    "waiting trace=log.csv machines=2": lambda: cg.waiting.Scenario(
        cg.waiting.read_jobs("log.csv", whole=True).jobs, machines=2
    ),
    "cluster jobs=20 load=0.7 warm_up=0 after=0": lambda: subject_of(
        cg.cluster.Scenario()
    ).varied(jobs=20, load=0.7, warm_up=0, after=0),
    "cluster jobs=15 warm_up=0 after=0 cluster=4x8+2x4 placement=pack": lambda: (
        subject_of(cg.cluster.Scenario(placement="pack")).varied(
            jobs=15, warm_up=0, after=0, cluster="4x8+2x4"
        )
    ),
    "hgsp:tasks1 source.tasks=10 noise=0.2": lambda: subject_of(
        cg.hgsp.Scenario("tasks1")
    ).varied(tasks=10, noise=0.2),
    "llm source.requests=10 service.gpus=4": lambda: subject_of(
        cg.llm.Scenario()
    ).varied(requests=10, gpus=4),
    "dag:er:n=12,degree=2 platform.gpus=4": lambda: subject_of(
        cg.dag.Scenario("er:n=12,degree=2")
    ).varied(gpus=4),
    "spot hours=4 deadline=6 up_h=5": lambda: subject_of(
        cg.spot.Scenario(hours=4, deadline=6)
    ).varied(up_h=5),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "bank.py").write_text(BANK)


def told(capsys, line):
    return output(capsys, *line.split())


@pytest.mark.parametrize("words", COMPARED)
def test_compare_and_run_by_command_equal_those_in_python(words, capsys):
    scenario = COMPARED[words]()
    policies = [*subject_of(scenario).default_policies()][:2]
    names = ",".join(policies)
    random = subject_of(scenario).is_random_under(policies)
    seeds = range(3 if random else 1)
    out = told(
        capsys, f"compare {words} --policies {names} --seeds {len(seeds)} --format csv"
    )
    assert out == csv_text(cg.compare(scenario, policies, seeds).rows)
    run = cg.simulate(scenario, policies[-1], 0)
    out = told(capsys, f"run {words} --policy {policies[-1]} --format csv")
    assert out == csv_text(run.rows())


def bank():
    space = {}
    exec(BANK, space)
    return space["bank"]


@pytest.mark.parametrize(
    ("line", "study"),
    [
        (
            "sweep --seeds 2 hectic slots=2,3 jobs=20 --policies fifo,rh",
            lambda: cg.sweep(
                cg.day("hectic"),
                {"slots": [2, 3], "jobs": 20},
                ["fifo", "rh"],
                range(2),
            ),
        ),
        (
            "sweep --seeds 2 hectic name=quiet,surge jobs=9 --policies fifo",
            lambda: cg.sweep(
                cg.day, {"name": ["quiet", "surge"], "jobs": 9}, ["fifo"], range(2)
            ),
        ),
        (
            "sweep --seeds 2 hectic rh:reserve=0,1 jobs=20 terms.warm_s=0,60"
            " --policies rh",
            lambda: cg.sweep(
                cg.day("hectic"),
                {"rh:reserve": [0, 1], "jobs": 20, "terms.warm_s": [0, 60]},
                ["rh"],
                range(2),
            ),
        ),
        (
            "sweep --seeds 2 bank.py:bank tellers=2,3 work_s=2.5",
            lambda: cg.sweep(
                bank(), {"tellers": [2, 3], "work_s": 2.5}, seeds=range(2)
            ),
        ),
        (
            "sweep --seeds 1 hectic name=quiet,normal jobs=9 free_types=true,false"
            " clock=printed tight_fraction=0.5 --policies spt",
            lambda: cg.sweep(
                cg.day,
                {
                    "name": ["quiet", "normal"],
                    "jobs": 9,
                    "free_types": [True, False],
                    "clock": "printed",
                    "tight_fraction": 0.5,
                },
                ["spt"],
                [0],
            ),
        ),
        (
            "compare --seeds 3 bank.py:bank tellers=2,3 work_s=2.5",
            lambda: cg.compare(
                partial(bank(), work_s=2.5), [{"tellers": 2}, {"tellers": 3}], range(3)
            ),
        ),
        (
            "compare quiet jobs=5 --policies fifo",  # the seeds, too
            lambda: cg.compare(cg.day("quiet", jobs=5), ["fifo"]),
        ),
        *(
            pytest.param(
                "compare hectic jobs=60 --policies fifo,spt --seeds 3"
                f" --precision {text}",
                lambda precision=precision: cg.compare(
                    cg.day("hectic", jobs=60),
                    ["fifo", "spt"],
                    range(3),
                    precision=precision,
                ),
                marks=[pytest.mark.slow] * (text != "0.2"),
            )
            for text, precision in (
                ("0.2", 0.2),
                ("miss_pct=0.9,wait_min=0.2", {"miss_pct": 0.9, "wait_min": 0.2}),
                ("0.2,cost_usd=0.02", {"wait_min": 0.2, "cost_usd": 0.02}),
            )
        ),
    ],
)
def test_a_study_by_command_equals_the_one_in_python(line, study, capsys):
    assert told(capsys, f"{line} --format csv") == csv_text(study().rows)


@pytest.mark.slow
def test_advice_by_command_equals_the_one_in_python(capsys):
    line = "advise hectic jobs=30 --seeds 2 --policies fifo,spt prices.price_miss=2"
    result = json.loads(told(capsys, f"{line} --format json"))
    prices = Prices(price_miss=2)
    advice = cg.advise(
        cg.day("hectic", jobs=30), ["fifo", "spt"], range(2), prices=prices
    )
    assert result["advice"]["lines"] == advice.lines
    assert [row["total_usd"] for row in result["figures"]] == [
        row["total_usd"] for row in advice.rows
    ]
