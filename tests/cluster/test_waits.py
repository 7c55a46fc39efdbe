"""Forecasts of waits from what was known at each submission."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from support import check_bad_input, check_refused, outcome, output

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.cli import main
from cgrsp_simpy.cluster import waits
from cgrsp_simpy.cluster.waits import (
    LEVELS,
    coverage,
    known_waits,
    pinball_s,
    rolling_forecast,
)


def log_of(number):
    """A log of one server: its jobs wait for those before them."""
    rng = stream(5, "suite waits")
    arrival_s = np.cumsum(rng.exponential(100.0, number))
    duration_s = rng.choice([20.0, 60.0, 400.0], number, p=[0.5, 0.4, 0.1])
    free_s, start_s = 0.0, np.empty(number)
    for job, (at_s, seconds) in enumerate(zip(arrival_s, duration_s)):
        start_s[job] = max(at_s, free_s)
        free_s = start_s[job] + seconds
    return cg.cluster.Jobs(
        arrival_s=arrival_s,
        gpus=rng.choice([1, 2, 3, 8], number),
        duration_s=duration_s,
        estimate_s=duration_s * rng.choice([1.0, 1.2], number),
        iterations=None,
        kind=np.zeros(number, int),
        family=None,
        user=rng.integers(0, 3, number),
        start_s=start_s,
    )


def test_the_control_is_of_the_last_known_waits_of_the_size_class():
    jobs = log_of(600)
    known = known_waits(jobs)
    size = np.floor(np.log2(jobs.gpus))
    for job in (40, 299, 599):
        then = jobs.start_s <= jobs.arrival_s[job]
        then[job:] = False
        own = np.flatnonzero(then & (size == size[job]))
        chosen = own if len(own) >= 20 else np.flatnonzero(then)
        last = chosen[np.argsort(jobs.start_s[chosen], kind="stable")][-200:]
        expected = np.quantile(known.wait_s[last], LEVELS)
        assert known.control[job] == pytest.approx(expected)
        waiting = (jobs.arrival_s < jobs.arrival_s[job]) & (
            jobs.start_s > jobs.arrival_s[job]
        )
        work_s = (jobs.gpus * jobs.estimate_s)[waiting].sum()
        assert known.features[job, 5] == waiting.sum()
        assert known.features[job, 7] == pytest.approx(work_s)


def test_what_is_known_does_not_depend_on_what_comes():
    jobs = log_of(300)
    later = jobs.start_s.copy()
    later[150:] += 5000.0
    changed = cg.cluster.Jobs(
        **{name: getattr(jobs, name) for name in jobs.columns} | {"start_s": later},
        family=None,
        iterations=None,
    )
    before = slice(0, 151)
    known, other = known_waits(jobs), known_waits(changed)
    assert np.array_equal(known.features[before], other.features[before])
    assert np.array_equal(known.control[before], other.control[before])
    assert not np.array_equal(known.features[-1], other.features[-1])


def test_quantiles_are_scored_by_the_pinball_loss():
    wait_s = np.array([0.0, 10.0])
    quantiles_s = np.array([[0.0, 2.0, 4.0], [4.0, 12.0, 20.0]])
    losses = [0.0, 0.5 * 2, 0.05 * 4, 0.05 * 6, 0.5 * 2, 0.05 * 10]
    assert pinball_s(wait_s, quantiles_s) == pytest.approx(np.mean(losses))
    assert coverage(wait_s, quantiles_s) == 1.0
    assert coverage(wait_s, quantiles_s + 5.0) == 0.5


@pytest.mark.slow
def test_a_forecast_is_sharper_than_the_last_waits(monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setattr(waits, "EVERY", 2000)
    known = known_waits(log_of(6000))
    quantiles_s = rolling_forecast(known, 2000)
    wait_s, control = known.wait_s[2000:], known.control[2000:]
    assert pinball_s(wait_s, quantiles_s) < 0.5 * pinball_s(wait_s, control)
    assert 0.85 <= coverage(wait_s, quantiles_s) <= 0.95


def test_without_scikit_learn_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    check_refused(
        lambda: rolling_forecast(known_waits(log_of(50)), 30),
        r'pip install "\.\[forecast\]"',
    )


def written(jobs, path):
    """The command that forecasts the waits of a log in a file."""
    rows = zip(jobs.arrival_s, jobs.start_s, jobs.duration_s, jobs.gpus)
    lines = [",".join(f"{value:.0f}" for value in row) for row in rows]
    path.write_text("submit_s,start_s,service_s,gpus\n" + "\n".join(lines) + "\n")
    return f"forecast {path} cluster=1x8 --policies fifo,shortest".split()


def unexplained(number):
    """A log in which jobs wait at random."""
    jobs = log_of(number)
    jobs.start_s[:] = jobs.arrival_s + stream(6, "suite waits").exponential(300, number)
    return jobs


@pytest.mark.slow
def test_the_command_forecasts_a_log_that_no_scheduler_explains(tmp_path, capsys):
    pytest.importorskip("sklearn")
    command = written(unexplained(800), tmp_path / "log.csv")
    answer = json.loads(output(capsys, *command, "--format", "json"))
    schema = Path(cg.__file__).parent / "data" / "answer.schema.json"
    jsonschema.validate(answer, json.loads(schema.read_text()))
    assert answer["explained_by"] == []
    assert [row["alternative"] for row in answer["figures"]] == ["model", "control"]
    rows = answer["forecast"]["jobs"]
    assert [row["job"] for row in rows] == list(range(240, 800))
    assert all(row["wait_p5_s"] <= row["wait_p95_s"] for row in rows)
    assert output(capsys, *command).startswith("no scheduler explains this log: none")


def test_the_command_without_scikit_learn_names_the_extra(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    assert main(written(unexplained(100), tmp_path / "log.csv")) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert 'pip install ".[forecast]"' in line


def test_a_log_that_a_scheduler_explains_is_simulated(tmp_path, capsys):
    run = cg.simulate(
        cg.cluster.Scenario(log_of(300), cg.cluster.Cluster((8,))), "fifo"
    )
    jobs = log_of(300)
    jobs.start_s[:] = np.round(run.jobs["start_s"])
    out = output(capsys, *written(jobs, tmp_path / "log.csv"))
    assert "fifo explains this log" in out and "--policies fifo" in out


@pytest.mark.parametrize("words", ["--slot 8", "--later 1", "--seeds 3"])
def test_options_of_a_state_are_refused_with_a_log(words, capsys):
    check_bad_input(
        outcome(capsys, *f"forecast log.csv {words}".split()),
        ["must be omitted if a log is given"],
    )


def test_jobs_without_gpus_have_their_own_class_and_cores_count_without_any_gpu():
    jobs = log_of(40)
    on_cores = replace(jobs, gpus=np.zeros(40), cores=jobs.gpus)
    features = known_waits(jobs).features
    assert np.array_equal(known_waits(on_cores).features, features)
    few = replace(jobs, gpus=np.arange(40) % 3, cores=jobs.gpus)
    assert known_waits(few).features[:, 0].tolist() == [-1, 0, 1] * 13 + [-1]


def test_a_log_without_waits_is_refused():
    jobs = log_of(20)
    jobs.start_s[:] = np.nan
    check_refused(lambda: known_waits(jobs), "the log records no waits")
