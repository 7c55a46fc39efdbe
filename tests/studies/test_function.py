"""Any SimPy function as the subject of a study."""

import functools
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import simpy
from studies.function_models import bank, short_bank
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.studies.function import FunctionModel
from cgrsp_simpy.studies.subject import subject_of


def test_a_model_stays_an_ordinary_function():
    env = simpy.Environment()
    assert bank(env, cg.Draw(3), tellers=3, until_s=600) is None
    assert (env.now, bank.__name__) == (600, "bank")
    assert pickle.loads(pickle.dumps(bank)) is bank


def test_alternatives_use_the_same_draws():
    study = cg.compare(bank, [{"tellers": 2}, {"tellers": 3}], seeds=range(6))
    arrivals = [
        study.run(policy, 4).requests["made_s"].tolist()
        for policy in ("tellers=2", "tellers=3")
    ]
    assert arrivals[0] == arrivals[1]
    assert cg.compare(bank, [{"tellers": 3}], seeds=[4]).rows[0] == study.rows[6 + 4]


def test_alternatives_are_parameters_functions_and_other_models():
    def other_bank(env, draw, tellers=1, until_s=100.0):
        desk = cg.Resource(env, tellers, name="desk")
        env.run(until_s)
        return {"tellers": desk.capacity}

    study = cg.compare(
        functools.partial(bank, until_s=3600.0),
        {
            "as it is": "bank",
            "longest": {"rule": max},
            "other": other_bank,
            "three": {"tellers": 3},
        },
        seeds=range(2),
    )
    assert study.policies == ["as it is", "longest", "other", "three"]
    waits = {policy: study.values(policy, "desk_wait") for policy in study.policies}
    assert waits["longest"] > waits["as it is"] > waits["three"]
    assert study.values("other", "tellers") == [1, 1]
    assert study.run("other", 0).plan.end_s == 3600


def test_unnamed_alternatives_are_called_by_their_parameters():
    study = cg.compare(
        bank,
        [
            "bank",
            {"tellers": 3, "rule": max},
            {"until_s": 60.0},
            {"rule": np.eye(2)},
            {"rule": [object()]},
        ],
        seeds=[1],
    )
    assert study.policies == [
        "bank",
        "tellers=3,rule=max",
        "until_s=60.0",
        "rule=[[1. 0.]  [0. 1.]]",
        "rule=[<object object>]",
    ]


def test_declared_figures_alone_are_shown_and_tested():
    study = cg.compare(short_bank, [{"tellers": 2}, {"tellers": 3}], seeds=range(5))
    assert list(study.tests()["tellers=3"]) == ["wait", "served"]
    assert "desk_wait" in study.figures
    assert "desk_wait" not in str(study)
    assert study.metrics["served"].better == "more"


def test_without_a_declaration_all_figures_are_tested():
    study = cg.compare(bank, [{"tellers": 2}, {"tellers": 3}], seeds=range(3))
    assert list(study.tests()["tellers=3"]) == study.figures

    def idle(env):
        cg.Resource(env, name="desk")
        env.run(10)

    check_refused(
        lambda: cg.compare(
            cg.model(idle), precision={"desk_wait": 0.1}, seeds=range(2)
        ),
        ["no run of idle has a value for it"],
    )


@pytest.mark.slow
def test_precision_and_selection_take_any_figure():
    study = cg.compare(bank, precision={"desk_utilisation_pct": 0.05}, seeds=range(3))
    mean = study.means()["bank"]["desk_utilisation_pct"]
    assert mean.half_width <= 0.05 * mean.mean
    chosen = cg.select(
        bank, [{"tellers": 2}, {"tellers": 4}], 5.0, figure="desk_wait", first=5
    )
    assert chosen.best == "tellers=4"
    assert cg.select(short_bank, [{"tellers": 2}, {"tellers": 4}], 5.0, first=5)


@pytest.mark.parametrize(("letters", "shown"), [(41, "c" * 39 + "…"), (40, "c" * 40)])
def test_a_long_name_of_a_process_is_shortened(letters, shown):
    @cg.model
    def model(env):
        desk = cg.Resource(env, name="desk")

        def customer():
            with desk.request() as turn:
                yield turn

        customer.__name__ = customer.__qualname__ = "c" * letters
        env.process(customer())
        env.run(1)

    assert cg.simulate(model, records=True).rows()[0]["process"] == shown


def test_a_sweep_varies_parameters():
    sweep = cg.sweep(bank, {"tellers": [2, 3], "gap_s": 50.0}, seeds=range(3))
    assert [point for point, _ in sweep] == [{"tellers": 2}, {"tellers": 3}]
    alone = cg.compare(bank, [{"tellers": 3, "gap_s": 50.0}], seeds=range(3))
    assert sweep.at(tellers=3).values("bank", "desk_wait") == alone.values(
        "tellers=3,gap_s=50.0", "desk_wait"
    )


def test_a_figure_does_not_replace_the_parameter_of_a_sweep():
    @cg.model
    def model(env, tellers=1):
        desk = cg.Resource(env, tellers, name="desk")
        env.run(1)
        return {"tellers": 10 * desk.capacity}

    assert cg.compare(model, [{}], seeds=[0]).rows[0]["tellers"] == 10
    rows = cg.sweep(model, {"tellers": [1, 2]}, seeds=[0]).rows
    assert [row["tellers"] for row in rows] == [1, 2]
    assert all("different from the names" in row["error"] for row in rows)


@pytest.mark.parametrize(
    "value",
    [np.int64(3), np.float32(0.5), Fraction(1, 4), True, np.True_, np.inf],
    ids=str,
)
def test_a_results_directory_keeps_every_kind_of_number(tmp_path, value):
    @cg.model
    def model(env):
        env.run(1)
        return {"figure": value}

    study = cg.compare(model, [{}], seeds=[0], out=tmp_path)
    assert (study.rows[0]["figure"], study.note) == (value, "")
    assert cg.compare(model, [{}], seeds=[0], out=tmp_path).rows == study.rows


def test_a_results_directory_keeps_runs_and_repeats_those_that_failed(tmp_path):
    mended = tmp_path / "mended"

    @cg.model
    def shop(env, seed, tills=1, file=str(mended)):
        (tmp_path / f"run {tills} {seed}").touch()
        if seed == 1 and tills == 1 and not Path(file).exists():
            raise RuntimeError("no license") from KeyError(seed)
        cg.Resource(env, tills, name="till")
        env.run(60)

    def study():
        return cg.compare(shop, [{}, {"tills": 2}], range(3), out=tmp_path / "out")

    first = study()
    assert [
        (row["seed"], "no license (test_function.py, line " in row["error"])
        for row in first.failures
    ] == [(1, True)]
    assert "1 of 6 runs failed" in str(first)
    for path in tmp_path.glob("run *"):
        path.unlink()
    mended.touch()
    again = study()
    assert not again.failures
    assert [path.name for path in tmp_path.glob("run *")] == ["run 1 1"]
    kept = [row for row in first.rows if "error" not in row]
    assert all(str(row) in map(str, again.rows) for row in kept)


def test_another_version_of_the_function_is_another_study(tmp_path):
    def version(minutes):
        @cg.model
        def shop(env, until_s=60.0):
            cg.Resource(env, name="till")
            env.run(until_s * minutes)

        return shop

    cg.compare(version(1), seeds=[0], out=tmp_path / "out")
    check_refused(
        lambda: cg.compare(version(2), seeds=[0], out=tmp_path / "out"),
        ["use another directory"],
    )


def test_a_run_has_a_row_per_process_and_one_per_request():
    run = cg.simulate(bank, seed=1)
    jobs, requests = run.jobs, run.requests
    assert [*jobs["process"]] == ["customer"] * len(requests)
    started = jobs[~np.isnan(jobs["start_s"])]
    assert started["wait_s"] == pytest.approx(started["start_s"] - started["submit_s"])
    assert run.summary()["desk_wait"] == pytest.approx(started["wait_s"].mean())
    times, queue = run.series("desk", "queue")
    average = np.sum(queue * np.diff(np.append(times, run.plan.end_s)))
    assert average / run.plan.end_s == pytest.approx(run.summary()["desk_queue"])


def visit(env, desks, work):
    """Use some resources, one after the other."""
    for desk in desks:
        with desk.request() as turn:
            yield turn
            yield env.timeout(work)


def two_visits(env, work, until=None, stations=1):
    """Simulate two customers who arrive together."""
    desks = [cg.Resource(env, name=f"desk{n}") for n in range(stations)]
    for _ in range(2):
        env.process(visit(env, desks[::-1], work))
    env.run(until)


def test_a_process_of_several_requests_waits_in_all():
    run = cg.simulate(cg.model(lambda env: two_visits(env, 3, stations=2)))
    columns = run.jobs[["wait_s", "claims", "finish_s"]]
    assert (columns.tolist(), run.timeline.end_s) == ([(0, 2, 6), (3, 2, 9)], 9)


def test_records_are_in_seconds_and_figures_in_the_models_unit():
    run = cg.simulate(cg.model(unit_s=3600)(lambda env: two_visits(env, 2, None, 2)))
    requests = run.plan.requests[["resource", "made_s", "granted_s"]].tolist()
    assert (requests, run.jobs["wait_s"].tolist()) == (
        [(1, 0, 0), (1, 0, 7200), (0, 7200, 7200), (0, 14_400, 14_400)],
        [0, 7200],
    )
    assert run.timeline.end_s == run.plan.end_s == 21_600
    waits = run.series("desk1", "wait")[1].tolist()
    assert (waits, run.summary()["desk1_wait"]) == ([0, 2], 1)


def test_figures_by_process_leave_the_warm_up_out():
    @cg.model(unit_s=60)
    def two_kinds(env):
        desk = cg.Resource(env, name="desk")

        def slow():
            yield from visit(env, [desk], 6)

        def quick(arrival):
            yield env.timeout(arrival)
            yield from visit(env, [desk], 1)

        env.process(slow())
        env.process(quick(2))
        env.process(quick(10))
        cg.warm_up(env, 6.5, 20)
        env.run(20)

    by_kind = {row["process"]: row for row in cg.simulate(two_kinds).by("process")}
    assert by_kind["quick"]["wait_s"] == 60 * (4 + 0) / 2
    assert np.isnan(by_kind["slow"]["wait_s"])  # it ended during the warm-up


def test_runs_and_studies_can_be_pickled():
    study = cg.compare(bank, {"two": {"rule": lambda works: works[0]}}, seeds=[1])
    assert pickle.loads(pickle.dumps(study)).rows == study.rows
    run = cg.simulate(bank, {"tellers": 3}, seed=1)
    assert pickle.loads(pickle.dumps(run)).summary() == run.summary()


def test_the_file_of_a_run(tmp_path):
    cg.simulate(bank).to_csv(tmp_path / "run.csv")
    assert (tmp_path / "run.csv").read_text().startswith("job,submit_s,")


@pytest.mark.slow
def test_vidigi_reads_the_events_of_a_run(tmp_path):
    pandas = pytest.importorskip("pandas")
    logging = pytest.importorskip("vidigi.logging")
    run = cg.simulate(bank, seed=1)
    run.to_csv(tmp_path / "log.csv", layout="vidigi")
    log = logging.EventLogger()
    log.from_csv(pandas.read_csv(tmp_path / "log.csv"))
    counts = log.summary()["event_types"]
    granted = ~np.isnan(run.requests["granted_s"])
    assert counts["queue"] == len(run.requests)
    assert counts["resource_use"] == granted.sum()
    assert set(log.to_dataframe()["resource_id"].dropna()) == {1, 2}
    snapshots = log.reshape_for_animations(every_x_time_units=600)
    at = snapshots[snapshots["snapshot_time"] == 6000]
    using = (run.requests["granted_s"] <= 6000) & ~(run.requests["ended_s"] <= 6000)
    assert (at["event_type"] == "resource_use").sum() == using.sum()


EVENTS = """\
time,entity_id,pathway,event_type,event,resource_id,run_number
0.0,0,visit,arrival_departure,arrival,,0
0.0,1,impatient,arrival_departure,arrival,,0
0.0,2,visit,arrival_departure,arrival,,0
0.0,3,visit,arrival_departure,arrival,,0
0.0,4,visit,arrival_departure,arrival,,0
0.0,5,visit,arrival_departure,arrival,,0
0.0,0,visit,queue,desk queue,,0
0.0,0,visit,resource_use,desk,1,0
0.0,1,impatient,queue,desk queue,,0
0.0,2,visit,queue,desk queue,,0
0.0,2,visit,resource_use,desk,2,0
0.0,3,visit,queue,desk queue,,0
0.0,4,visit,queue,desk queue,,0
0.0,5,visit,queue,desk queue,,0
1.0,0,visit,resource_use_end,desk end,1,0
1.0,3,visit,resource_use,desk,1,0
1.0,0,visit,arrival_departure,depart,,0
2.0,1,impatient,arrival_departure,depart,,0
3.0,2,visit,resource_use_end,desk end,2,0
3.0,4,visit,resource_use,desk,2,0
3.0,2,visit,arrival_departure,depart,,0
"""


def test_the_events_of_two_servers_and_six_customers(tmp_path):
    """The lowest free server serves; two customers do not end, one waits, and one
    leaves at time 2.
    """

    def impatient(env, desk):
        with desk.request() as _:
            yield env.timeout(2)

    def two_servers(env):
        desk = cg.Resource(env, 2, name="desk")
        for work in (3, 1, 4, 9, 1):
            env.process(visit(env, [desk], work))
        env.process(impatient(env, desk))
        env.run(4.5)

    cg.simulate(cg.model(two_servers)).to_csv(tmp_path / "log.csv", layout="vidigi")
    assert (tmp_path / "log.csv").read_text() == EVENTS


def longest(works, least=0.0):
    return max(*works, least)


def test_partials_of_functions_are_labelled_by_their_fixed_arguments(tmp_path):
    rules = [functools.partial(longest, least=50.0), functools.partial(longest)]
    study = cg.compare(bank, [{"rule": rule} for rule in rules], seeds=[0])
    assert study.policies == ["rule=longest(least=50.0)", "rule=longest()"]
    sweep = cg.sweep(bank, {"rule": [min, *rules]}, seeds=[0], out=tmp_path / "out")
    assert [point["rule"] for point, _ in sweep] == [
        "min",
        "longest(least=50.0)",
        "longest()",
    ]
    alone = cg.compare(bank, [{"rule": rules[0]}], seeds=[0]).rows[0]["desk_wait"]
    assert sweep.at(rule=rules[0]).values("bank", "desk_wait") == [alone]
    assert "longest()" in (tmp_path / "out" / "summary.json").read_text()


def test_a_study_keeps_its_alternatives():
    changes = {"tellers": 3}
    study = cg.compare(bank, {"more": changes}, seeds=[0])
    changes["tellers"] = 9
    assert study.run("more", 0).summary()["desk_wait"] == study.rows[0]["desk_wait"]


# ---- invalid input ----


DESK = "cg.Resource(env, name='desk'); "
REFUSED = [  # parameters and body of a function, and what is wrong with it
    ("env", "cg.Resource(env); env.timeout(3)", "f was not run: call env.run()"),
    ("env", "yield env.timeout(3)", "model f must not yield itself"),
    ("env, tellers", "env.run(1)", "parameter 'tellers' needs a default"),
    ("env, *sizes", "env.run(1)", "*sizes cannot be a parameter"),
    ("env", "env.run(1); return [3]", "f()(=[3]) must be a dict of figures"),
    (
        "env",
        "env.run(1); return {'wait': 'long'}",
        "figure 'wait'(='long') must be a number",
    ),
    ("env", f"{DESK}cg.Monitor(env, 'desk'); env.run(1)", "used by two monitors"),
    (
        "env",
        "cg.Monitor(env, name='wait'); env.run(1); return {'wait': 3.0}",
        "a name that no figure of a monitor has",
    ),
    ("env", "env.run(1)", "model f has no figures"),
    ("env, tellers=1, /", "env.run(1)", "'env' is positional-only"),
    ("env", "cg.Monitor(env, name='seed'); env.run(1)", "different from the names"),
    ("env", "env.run(1); return {3: 4.0}", "figure of f()(=3) must be a string"),
    ("env", "env.run(1); return {'wait': 10**400}", "figure 'wait' is too large"),
    (
        "env",
        f"{DESK}cg.warm_up(env, 100); env.run(50)",
        "ended at 50, but cg.warm_up measures from 100",
    ),
    (
        "env",
        f"{DESK}cg.warm_up(env, 50); env.run(50)",
        "ended at 50, but cg.warm_up measures from 50",
    ),
    (
        "env",
        f"{DESK}cg.warm_up(env, 100); env.timeout(20); env.run()",
        "the model ended before 100",
    ),
    (
        "env",
        f"{DESK}cg.warm_up(env, 10, end=60); env.run(50)",
        "ended at 50, but cg.warm_up measures from 10 to 60",
    ),
    (
        "env",
        "env.most_at_once = 99; "
        "env.process(env.timeout(n < 9 or 1e-20) for n in range(500)); env.run(99)",
        "99 timeouts at time 9 have not advanced it",
    ),
]


@pytest.mark.parametrize(("parameters", "body", "message"), REFUSED)
def test_a_value_that_is_not_a_model_gives_a_one_line_error(parameters, body, message):
    names = {"cg": cg}
    exec(f"def f({parameters}):\n    {body}", names)
    check_refused(lambda: cg.simulate(cg.model(names["f"])), [message])


def yields(env):
    yield env.timeout(3)


@cg.model(figures={"desk_wiat": cg.Metric("wait", "s")})
def misspelt(env):
    cg.Resource(env, name="desk")
    env.run(1)


test_wrong_use_of_a_model_is_rejected = refusals(
    (lambda: cg.sweep(bank, {"teller": [2]}), "did you mean 'tellers'"),
    (lambda: cg.compare(bank, [{"teller": 2}]), "did you mean 'tellers'"),
    (lambda: cg.compare(bank, ["bonk"]), "unknown alternative 'bonk'"),
    (lambda: cg.compare(bank, [yields]), "must not yield itself"),
    (lambda: cg.model(figures=["wait"]), "a mapping from names to cg.Metric"),
    (lambda: cg.model(figures={"wait": "s"}), "a mapping from names to cg.Metric"),
    (
        lambda: cg.model(figures={"use": cg.Metric("use", better="high")}),
        "with better='less', 'more' or ''",
    ),
    (lambda: cg.simulate(misspelt), "did you mean 'desk_wait'?"),
    (lambda: cg.compare(bank, {"tellers": 3}), "alternative(=3) must be a dict"),
    (
        lambda: cg.compare(bank, [cg.model(unit_s=60)(lambda env: None)]),
        "unit_s of <lambda>(=60) must be 1",
    ),
    (lambda: cg.simulate(functools.partial(bank, 3)), "passed by name"),
    (lambda: cg.compare(bank, precision=0.1), 'named, as in precision={"desk_wait": '),
    (lambda: cg.compare(bank, precision={"x": 0.1}, seeds=[0, 1]), "figure 'x'"),
    (lambda: cg.select(bank, [{}, {"tellers": 3}], 1.0), 'or figure="desk_wait": '),
    (
        lambda: cg.select(bank, [{}, {"tellers": 3}], 1.0, figure="y"),
        "unknown figure 'y'",
    ),
    (lambda: cg.simulate(bank, listener=print), "bank is a function"),
    (lambda: cg.simulate(bank).to_csv("log.csv", "events"), "unknown layout 'events'"),
    (lambda: cg.simulate(bank, records=False).series("desk", "queue"), "records"),
    (lambda: cg.simulate(bank).series("disk", "queue"), "did you mean 'desk'"),
    (lambda: cg.simulate(bank).series("desk", "level"), "unknown series of desk"),
    (lambda: cg.compare(yields), "a function with @cg.model"),
    (lambda: cg.model(max), "must be a function"),
    (lambda: cg.model(unit_s=0), "unit_s"),
)


def test_a_model_without_draws_is_not_random():
    assert subject_of(FunctionModel(bank)).is_random
    assert not subject_of(FunctionModel(lambda env: env.run(1))).is_random


def test_unfinished_jobs_are_missing_values():
    run = cg.simulate(cg.model(lambda env: two_visits(env, 100, 50)))
    assert np.isnan(run.jobs["finish_s"]).tolist() == [True, True]
    assert np.isnan(run.jobs["start_s"]).tolist() == [False, True]
    assert run.claims[["amount", "to_s"]].tolist() == [(1, run.timeline.end_s)]
    assert run.timeline.end_s == 50
    assert [
        run.summary()[name] for name in ("desk0_queue", "desk0_utilisation_pct")
    ] == [1, 100]
