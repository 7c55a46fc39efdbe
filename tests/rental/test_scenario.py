"""Deadline classes, hourly arrival rates, stock by type and hour, weights: by hand, and
errors.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from support import check_bad_input, check_refused, outcome, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.market.model import CLOCKS, Measured
from cgrsp_simpy.rental.job import DeadlineClasses
from cgrsp_simpy.rental.record import Totals, by_class
from cgrsp_simpy.rental.state import State
from cgrsp_simpy.studies.subject import subject_of

HOUR_S = 3600.0
THREE = (
    cg.DeadlineClass("rush", 0.2, 600.0, tight=True, weight=5.0),
    cg.DeadlineClass("day", 0.5, 7200.0),
    cg.DeadlineClass("batch", 0.3, 86400.0),
)
TWO = DeadlineClasses().classes
three = cg.Scenario("three", cg.PoissonWorkload(100, 0.05, deadlines=THREE))


# ---- the thesis as a special case ----


def as_table(market, gpus=cg.THESIS_GPUS):
    """The thesis's model, hour by hour."""
    times_s = [(hour - market.clock.start_h) % 24 * HOUR_S for hour in range(24)]
    return replace(
        market,
        stock=[
            cg.HourlyStock(g.name, [market.probabilities(g, t) for t in times_s])
            for g in gpus
        ],
    )


@pytest.mark.parametrize("policy", ["fifo", "rh", "cadr", "watch", "triage"])
@pytest.mark.parametrize("day", ["normal", "surge"])
def test_the_thesis_written_as_open_scenario_gives_the_same_records(policy, day):
    usual = cg.day(day, jobs=200)
    table = as_table(usual.market)
    written = replace(
        usual, workload=replace(usual.workload, deadlines=TWO), market=table
    )
    run, again = cg.simulate(usual, policy, 1), cg.simulate(written, policy, 1)
    assert run.jobs.tobytes() == again.jobs.tobytes()
    assert run.summary() == pytest.approx(again.summary(), nan_ok=True)
    assert list(run.summary()) == list(again.summary())


# ---- classes ----


def test_classes_are_drawn_by_their_shares_with_their_windows_and_weights():
    load = cg.PoissonWorkload(20000, 0.05, deadlines=THREE)
    jobs = [job for job, _ in load.generate(0, cg.Service())]
    for index, each in enumerate(THREE):
        own = [job for job in jobs if job.deadline_class == index]
        error = (each.share * (1 - each.share) / len(jobs)) ** 0.5
        assert abs(len(own) / len(jobs) - each.share) < 4 * error
        assert {(job.tight, job.weight) for job in own} == {(each.tight, each.weight)}
        assert all(job.deadline_s == job.submit_s + each.window_s for job in own)


def test_figures_by_class_and_weighted_tardiness_by_hand():
    """One slot, 60 s each: ends at 60, 120 and 180; tardiness 0, 100 and 0.5 s;
    weights 1, 3, 0.5.
    """
    gpu = cg.GpuType("A", 3.6, (60.0,), 1.0)
    jobs = [
        cg.Job(0, 0, 60, weight=1.0, deadline_class=0),
        cg.Job(1, 0, 20, weight=3.0, deadline_class=1),
        cg.Job(2, 0, 179.5, weight=0.5, deadline_class=1),
    ]
    scenario = cg.Scenario(
        "by hand",
        cg.JobList(jobs, ["calm", "keen", "none"]),
        [gpu],
        [gpu],
        market=cg.Market(delay_s=((0, 0),) * 3),
        service=cg.Service(sigma=(0,)),
    )
    run = cg.simulate(scenario, "fifo")
    nan = pytest.approx(float("nan"), nan_ok=True)
    calm = {"jobs": 1, "wait_min": 0.0, "miss_pct": 0.0, "tardiness_min": 0.0}
    keen = {
        "jobs": 2,
        "wait_min": 1.5,
        "miss_pct": 100.0,
        "tardiness_min": pytest.approx(50.25 / 60),
    }
    none = {"jobs": 0, "wait_min": nan, "miss_pct": nan, "tardiness_min": nan}
    assert by_class(run.tally) == {"calm": calm, "keen": keen, "none": none}
    summary = run.summary()
    expected = {
        "weighted_tardiness_min": (3 * 100 + 0.5 * 0.5) / 4.5 / 60,
        "tardiness_min": 100.5 / 3 / 60,
        "keen_miss_pct": 100.0,
    }
    assert {name: summary[name] for name in expected} == pytest.approx(expected)
    assert "tight_miss_pct" not in summary
    assert [row["deadline_class"] for row in run.rows()] == ["calm", "keen", "keen"]
    assert run.report.kinds(run, "class") == {
        0: "calm deadline",
        1: "keen deadline",
        2: "keen deadline",
    }
    shares = [
        (each.name, each.share, each.window_s, each.weight)
        for each in scenario.known().classes
    ]
    assert shares == [
        ("calm", 1 / 3, None, None),
        ("keen", 2 / 3, None, None),
        ("none", 0.0, None, None),
    ]


def test_without_weights_and_with_two_classes_the_figures_equal_the_thesis():
    figures = list(cg.simulate(cg.day("quiet"), "fifo").summary())
    assert (
        figures
        == (
            "jobs completed wait_min miss_pct tight_miss_pct loose_miss_pct"
            " tardiness_min cost_usd utilisation_pct makespan_h"
        ).split()
    )
    run = cg.simulate(cg.day("normal"), "fifo")
    own = by_class(run.tally)
    assert list(own) == ["tight", "loose"]
    assert own["tight"]["miss_pct"] == run.summary()["tight_miss_pct"]
    heavy = replace(TWO[0], weight=2.0)
    weighted = cg.PoissonWorkload(10, 0.05, deadlines=(heavy, TWO[1]))
    summary = cg.simulate(cg.Scenario("weights", weighted), "fifo").summary()
    assert {*summary} == {*figures, "weighted_tardiness_min"}


def test_totals_of_runs_add_up_by_class_and_survive_json():
    runs = [cg.simulate(three, "edf", seed) for seed in range(2)]
    both = runs[0].tally + runs[1].tally
    assert both.completed == 200
    assert [own.name for own in both.by_class] == ["rush", "day", "batch"]
    for place, own in enumerate(both.by_class):
        assert own.completed == sum(run.tally.by_class[place].completed for run in runs)
        assert own.wait_s == sum(run.tally.by_class[place].wait_s for run in runs)
    assert both.weighted
    assert both.weight == sum(run.jobs["weight"].sum() for run in runs)
    listed = json.loads(
        json.dumps([getattr(both, name) for name in Totals.__dataclass_fields__])
    )
    assert Totals(*listed) == both
    other = cg.simulate(cg.day("quiet"), "edf").tally
    assert [own.name for own in (both + other).by_class] == [
        "rush",
        "day",
        "batch",
        "tight",
        "loose",
    ]


# ---- logs ----

LOG = """submit_s,service_s,deadline_s,qos
0,5,,gold
10,5,900,
20,5,,batch
30,5,99999,gold
40,5,,
50,5,999999,
"""
GOLD = [
    cg.DeadlineClass("gold", 0.5, 1000.0, tight=True),
    cg.DeadlineClass("batch", 0.5, 5000.0),
]


def test_a_column_of_a_log_gives_the_classes(tmp_path, file):
    path = file(LOG, "log.csv")
    scenario = cg.trace(path, classes=GOLD, class_column="qos")
    jobs = [job for job, _ in scenario.workload.generate(0, cg.Service())]
    assert [job.deadline_class for job in jobs[:4]] == [0, 0, 1, 0]
    assert jobs[4].deadline_class in (0, 1)  # drawn
    assert jobs[5].deadline_class == 1  # no window is as long: the last
    windows = [1000, 890, 5000, 99969, (1000, 5000)[jobs[4].deadline_class], 999949]
    assert [job.deadline_s - job.submit_s for job in jobs] == windows
    assert [job.tight for job in jobs[:4]] == [True, True, False, True]
    assert scenario.known().tight_fraction == pytest.approx((3 + 0.5) / 6)
    scenario.to_toml(tmp_path / "log.toml")
    assert cg.Scenario.from_toml(tmp_path / "log.toml") == scenario
    short = cg.trace(path, classes=[cg.DeadlineClass("short", 1, 9)]).workload
    assert {job.deadline_class for job, _ in short.generate(0, cg.Service())} == {0}


SMALL = cg.DeadlineClass("rush", 0.2, 600.0, tight=True, complexity_mix=[1, 0, 0])
SIZED = (
    SMALL,
    cg.DeadlineClass("day", 0.5, 7200.0),
    cg.DeadlineClass("batch", 0.3, 86400.0, complexity_mix=(0, 0.25, 0.75)),
)


def test_a_deadline_class_may_have_its_own_sizes(tmp_path):
    workload = cg.PoissonWorkload(20_000, 0.01, deadlines=SIZED)
    assert workload.mix == pytest.approx((0.2 + 0.5 * 0.4, 0.275, 0.325))
    jobs = [job for job, _ in workload.generate(0, cg.Service())]
    count = np.zeros((3, 4))
    for job in jobs:
        count[job.deadline_class, job.complexity] += 1
    expected = 20_000 * np.array(
        [[0, 0.2, 0, 0], [0, 0.2, 0.2, 0.1], [0, 0, 0.075, 0.225]]
    )
    assert count == pytest.approx(expected, abs=4 * np.sqrt(20_000 * 0.25))
    assert count[expected == 0].sum() == 0
    scenario = cg.Scenario("sized", replace(workload, jobs=50))
    scenario.to_toml(tmp_path / "sized.toml")
    again = cg.Scenario.from_toml(tmp_path / "sized.toml")
    # all parameters are written, also those at their defaults
    assert (again, (tmp_path / "sized.toml").read_text().count(" = ")) == (scenario, 68)
    assert (
        subject_of(again).run("fifo").jobs == subject_of(scenario).run("fifo").jobs
    ).all()


def test_sizes_of_classes_leave_all_other_draws_as_they_are():
    plain = cg.PoissonWorkload(300, 0.01, deadlines=THREE)
    sized = replace(
        plain, deadlines=(*THREE[:2], replace(THREE[2], complexity_mix=(0, 0, 1)))
    )
    for (one, draws), (other, its) in zip(
        plain.generate(1, cg.Service()), sized.generate(1, cg.Service())
    ):
        assert draws[:2] == its[:2]
        assert tuple(one) == tuple(other._replace(complexity=one.complexity))
        assert other.complexity == (3 if other.deadline_class == 2 else one.complexity)


# ---- files and commands ----

TOML = """
name = "open"
[workload]
jobs = 60
[workload.rates]
per_h = [0, 0, 0, 0, 0, 0, 0, 0, 60, 60, 60, 30,
         30, 30, 30, 30, 30, 30, 9, 9, 9, 9, 9, 0]
start_h = 8.0
[[workload.class]]
name = "rush"
share = 0.25
window_s = 900
tight = true
weight = 2
[[workload.class]]
name = "bulk"
share = 0.75
window_s = 40000
[[market.stock]]
gpu = "RTX 3090"
chances = CHANCES
""".replace("CHANCES", str([[0.9, 0.1, 0.0]] * 12 + [[0.1, 0.2, 0.7]] * 12))


def test_tables_tests_and_sweeps_know_the_figures_of_the_classes():
    study = cg.compare(three, ["fifo", "edf"], range(2), precision=None)
    for name in (
        "rush_miss_pct",
        "day_miss_pct",
        "batch_miss_pct",
        "weighted_tardiness_min",
    ):
        assert name in str(study).splitlines()[1]
    assert "tight_miss_pct" not in str(study)
    assert list(subject_of(three).report.metrics) == list(
        cg.simulate(three, "fifo").summary()
    )
    assert (
        str(subject_of(three).report.metrics["rush_wait_min"])
        == "mean wait, rush (min)"
    )
    swept = cg.sweep(
        three, {"jobs": [20, 30], "deadlines": [THREE, TWO]}, ["fifo"], range(2)
    )
    assert [len(point["deadlines"]) for point, _ in swept] == [3, 2, 3, 2]
    assert "tight_miss_pct" in swept.studies[1].figures
    check_refused(
        lambda: subject_of(three).varied(tight_fraction=0.5), "tight_fraction"
    )
    hourly = cg.HourlyWorkload(5, cg.ArrivalRates([9.0] * 24, 8, "Sunday"))
    printed = subject_of(cg.Scenario("open", hourly)).varied(
        clock="printed", rates=hourly.rates
    )
    assert printed.market.clock == replace(CLOCKS["printed"], start_h=8)


def test_a_clock_by_name_starts_when_the_rates_do(file):
    path = file(
        TOML.replace("start_h = 8.0", 'start_h = 3.5\nstart_day = "Sunday"'),
        "open.toml",
    )
    scenario = cg.Scenario.from_toml(path)
    assert scenario.market.clock == replace(CLOCKS["calibrated"], start_h=3.5)
    assert scenario.workload.rates.start_day == "Sunday"


FLAT = [1.0] * 24


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "share = 0.25",
            "share = 0.5",
            ["[workload]", "classes whose shares sum to 1", "1.25"],
        ),
        (
            "share = 0.25",
            "share = 1.5",
            ["[[workload.class]]", "share of class rush", "1.5"],
        ),
        ("window_s = 900", "", ["[[workload.class]]", "lacks window_s"]),
        (
            "window_s = 900",
            "window_s = 0",
            ["window_s of class rush", "0", "number > 0"],
        ),
        (
            'name = "bulk"',
            'name = "rush"',
            ["classes of different names", "rush, rush"],
        ),
        (
            'name = "bulk"',
            'name = "a b"',
            ["name of DeadlineClass", "'a b'", "letters"],
        ),
        (
            'name = "bulk"',
            'name = "weighted"',
            ["DeadlineClass", "'weighted'", "not 'weighted'"],
        ),
        (
            'name = "rush"',
            'name = "loose"',
            ["tight of class loose", "True", "must be False"],
        ),
        ("tight = true", "tight = 1", ["tight of class rush", "1", "true or false"]),
        ("weight = 2", "weight = -2", ["weight of class rush", "-2", "number >= 0"]),
        (
            "weight = 2",
            "wieght = 2",
            ["key in [[workload.class]]", "'wieght'", "weight"],
        ),
        (
            "jobs = 60",
            "jobs = 60\ntight_fraction = 0.5",
            ["tight_fraction", "[[workload.class]]"],
        ),
        ("jobs = 60", "jobs = 60\nrate_per_s = 0.5", ["[workload]", "'rate_per_s'"]),
        ("per_h = [0, 0", "per_h = [0", ["[workload.rates]", "[23]", "24 numbers"]),
        ("per_h = [0, 0", "per_h = [0, -1", ["per_h[0][1]", "-1", "number >= 0"]),
        ("start_h = 8.0", "start_h = 24", ["start_h", "24", "below 24"]),
        (
            "start_h = 8.0",
            'start_day = "Sun"',
            ["start_day", "'Sun'", "did you mean 'Sunday'"],
        ),
        (
            "start_h = 8.0",
            "start_h = 7\n[market.clock]\nbands = [[0, 1]]",
            ["start_h", "7", "clock, 0"],
        ),
        (
            'gpu = "RTX 3090"',
            'gpu = "RTX 3091"',
            ["GPU type of hourly stock", "'RTX 3091'", "RTX 3090"],
        ),
        (
            "[[0.9, 0.1, 0.0],",
            "[[0.9, 0.2, 0.0],",
            ["chances[0] of RTX 3090", "sum to 1", "1.1"],
        ),
        ("[[0.9, 0.1, 0.0],", "[", ["chances of RTX 3090", "24 triples"]),
    ],
)
def test_forbidden_content_of_a_file_gives_a_one_line_error(
    file, capsys, old, new, words
):
    assert old in TOML
    path = file(TOML.replace(old, new, 1), "open.toml")
    ended = outcome(capsys, "run", path, "--policy", "fifo")
    check_bad_input(ended, [str(path), *words])


JOB = cg.Job(0, 0.0, 9.0)


test_invalid_scenarios_give_a_one_line_error = refusals(
    (lambda: cg.Scenario(3, SMALL), ["name(=3)", "a string"]),
    (lambda: cg.day("quiet", slotz=3), ["'slotz'", "did you mean 'slots'?"]),
    (
        lambda: cg.PoissonWorkload(5, 1, deadlines=[]),
        ["deadlines", "at least one class"],
    ),
    (
        lambda: cg.LoggedWorkload([0], [1], [9], [1], [1], []),
        ["deadlines", "at least one class"],
    ),
    (
        lambda: cg.PoissonWorkload(5, 1, deadlines=["rush"]),
        ["deadlines[0](='rush')", "of type DeadlineClass"],
    ),
    (
        lambda: cg.PoissonWorkload(5, 1, deadlines="rush"),
        ["'rush'", "of type DeadlineClasses or a list"],
    ),
    (
        lambda: cg.PoissonWorkload(5, 1, deadlines=[cg.DeadlineClass("a", 1, None)]),
        ["window_s of class a is None"],
    ),
    (
        lambda: replace(SMALL, complexity_mix=(0.5, 0.6)),
        ["complexity_mix of class rush", "sum to 1 (here 1.1)"],
    ),
    (
        lambda: replace(SMALL, complexity_mix=1),
        ["complexity_mix of class rush(=1)", "a list"],
    ),
    (
        lambda: cg.PoissonWorkload(5, 1, (0.5, 0.5), SIZED),
        [
            "complexity_mix of class rush(=(1, 0, 0))",
            "2 shares, as many as the workload has",
        ],
    ),
    (
        lambda: cg.LoggedWorkload([0], [1], [9], [1], [1], SIZED),
        [
            "complexity_mix of class rush",
            "the jobs of a log have their own complexity",
        ],
    ),
    (lambda: cg.HourlyWorkload(5, FLAT), ["rates", "of type ArrivalRates"]),
    (lambda: cg.ArrivalRates([0] * 24), ["per_h", "above 0"]),
    (lambda: cg.ArrivalRates(5), ["per_h(=5) must be a list"]),
    (lambda: cg.ArrivalRates([FLAT] * 2), ["[24, 24]", "7 lists of 24"]),
    (
        lambda: cg.Scenario("x", cg.HourlyWorkload(5, cg.ArrivalRates(FLAT, 0))),
        ["start_h of the arrival rates(=0)", "clock, 8"],
    ),
    (
        lambda: cg.HourlyStock("A", [(1, 0, 0)]),
        ["chances of A", "24 triples", "(here 1)"],
    ),
    (lambda: cg.Market(stock=["A"]), ["stock[0](='A')", "of type HourlyStock"]),
    (
        lambda: cg.Market(stock=[cg.HourlyStock("A", [(1, 0, 0)] * 24)] * 2),
        ["stock(=", "of different GPU types"],
    ),
    (
        lambda: cg.JobList([JOB], ["one"]),
        ["job 0: deadline_class(=1)", "up to 0 (one)"],
    ),
    (
        lambda: cg.JobList([JOB, cg.Job(1, 0, 9, tight=True, deadline_class=1)]),
        ["job 1: tight(=True)", "False, as for all jobs of class 'loose'"],
    ),
    (lambda: cg.JobList([JOB], ["a", "a"]), ["class_names", "different"]),
    (lambda: cg.JobList([JOB], ["a", ""]), ["name of DeadlineClass", "''"]),
    (
        lambda: cg.JobList([cg.Job(0, 0, 9, deadline_class=-1)]),
        ["deadline_class", "-1"],
    ),
    (
        lambda: three.moment([cg.Job(0, 0, 9, deadline_class=3)]),
        ["deadline_class(=3)", "rush"],
    ),
    (
        lambda: cg.arrival_rates(
            cg.LoggedWorkload((0, 9), (1, 1), (9, 9), (1, 1), (1, 1))
        ),
        ["hour of day", "None", "timestamps"],
    ),
    (
        lambda: cg.arrival_rates(
            cg.LoggedWorkload((0, 7215), (1, 1), (9, 7224), (1, 1), (1, 1), start_h=0)
        ),
        ["hours that the log covers(=2.0)", "at least 24"],
    ),
)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"class_column": "kind"}, ["line 1", "no column kind", "qos"]),
        (
            {"class_column": "qos", "strict": True},
            ["line 2", "qos(='gold')", "tight, loose"],
        ),
        (
            {"classes": GOLD, "tight_fraction": 0.5},
            ["tight_fraction(=0.5)", "omitted"],
        ),
    ],
)
def test_forbidden_content_of_a_log_gives_a_one_line_error(file, options, words):
    path = file(LOG, "log.csv")
    check_refused(lambda: cg.trace(path, **options), words)


def test_a_user_workload_with_jobs_of_no_class_is_rejected():
    class Odd(cg.PoissonWorkload):
        def generate(self, seed, service):
            for job, draws in super().generate(seed, service):
                yield job._replace(deadline_class=2), draws

    check_refused(
        lambda: cg.simulate(cg.Scenario("odd", Odd(3, 0.1)), "fifo"),
        r"deadline_class of a job\(=2\) must be an index up to 1 of tight, loose",
    )


def test_parameters_next_to_a_user_workload_can_vary():
    class Own:
        jobs, rate_per_s, mix, gpus_per_job = 3, 0.1, (1.0,), 1.0
        classes = DeadlineClasses().classes

        def generate(self, seed, service):
            return cg.PoissonWorkload(3, 0.1, (1.0,)).generate(seed, service)

    own = cg.Scenario("own", Own())
    assert subject_of(own).varied(slots=2, warm_s=60.0).slots == own.slots[:2]
    check_refused(lambda: subject_of(own).varied(jobs=4), "unknown parameter 'jobs'")
    state = State.from_table({"now_s": 5, "slots": ["RTX 3090"]})
    check_refused(lambda: state.resumed(own), "of PoissonWorkload, HourlyWorkload, ")


def test_weights_of_a_log_multiply_those_of_its_classes(file):
    path = file("submit_s,service_s,qos,weight\n0,5,gold,3\n1,5,batch,3\n", "log.csv")
    classes = [replace(GOLD[0], weight=2.0), GOLD[1]]
    log = cg.trace(path, classes=classes, class_column="qos").workload
    assert [job.weight for job, _ in log.generate(0, cg.Service())] == [6.0, 3.0]
    assert np.all([each.weight is None for each in log.classes])


def test_the_offered_load_counts_the_slots_of_each_job():
    known = cg.day("hectic").known()
    wider = replace(known, gpus_per_job=2.5)
    assert wider.offered_load == pytest.approx(2.5 * known.offered_load)


def test_jobs_of_a_class_are_in_order_of_deadline_then_of_id():
    """In order of submission they are 4, 2, 3, 1 and 0."""
    due_s = {4: 90.0, 2: 90.0, 3: 90.0, 1: 40.0, 0: 90.0}
    jobs = [cg.Job(id, float(at_s), due_s[id]) for at_s, id in enumerate(due_s)]
    [job_class] = cg.day("quiet").moment(jobs).classes
    assert [job.id for job in job_class.jobs] == [1, 0, 2, 3, 4]
    assert job_class.deadlines_s == [40.0, 90.0, 90.0, 90.0, 90.0]


def test_types_on_a_market_are_matched_by_name_unless_assigned():
    day, stock = cg.day("quiet"), cg.HourlyStock("RTX A5000", ((1.0, 0.0, 0.0),) * 24)
    market = Measured((stock,), {"RTX A5000": 9.0}, ())
    result = cg.on_market(day, market)
    assert result == cg.on_market(day, market, {"RTX A5000": "RTX A5000"})
    dear = {gpu.name: gpu.price_usd_per_h for gpu in result.gpus}
    same = {gpu.name: gpu.price_usd_per_h for gpu in day.gpus}
    assert dear == same | {"RTX A5000": 9.0} and result.market.stock == (stock,)
