"""Forecasts of waits from what was known at each submission."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest
from support import check_refused, output

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.cli import main
from cgrsp_simpy.cluster import waits
from cgrsp_simpy.cluster.waits import (
    LEVELS,
    KnownWaits,
    coverage,
    known_waits,
    pinball_s,
    rolling_forecast,
)
from cgrsp_simpy.decide.live import PARTS
from cgrsp_simpy.logs import Tags


def log_of(number):
    """A log of one server: its jobs wait for those before them; in tens of seconds, so
    that events coincide.
    """
    rng = stream(5, "suite waits")
    arrival_s = np.cumsum(rng.exponential(100.0, number)).round(-1)
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


def class_of(gpus):
    """1 for 1 GPU, 2 for up to 3, 3 for up to 7; 0 for none."""
    return np.floor(np.log2(np.maximum(gpus, 0.5))).astype(int) + 1


def known_at(jobs, job, start_h):
    """The features and the control of one job, each as `known_waits` defines it."""
    now_s, size, wait_s = (
        jobs.arrival_s[job],
        class_of(jobs.gpus),
        jobs.start_s - jobs.arrival_s,
    )
    queues = np.array(jobs.tags["queue"])
    earlier = np.arange(jobs.jobs) < job
    waiting = earlier & (jobs.start_s > now_s)
    running = earlier & ~waiting & (jobs.start_s + jobs.duration_s > now_s)
    left_s = jobs.start_s + jobs.estimate_s - now_s
    started = np.flatnonzero(earlier & ~waiting)
    started = started[np.argsort(jobs.start_s[started], kind="stable")]
    of_size, of_queue, of_user = (
        [0.0, *wait_s[started][(column == column[job])[started]]]
        for column in (size, queues, jobs.user)
    )
    recent = of_queue[1:][-200:] or [0.0]
    nine = sorted(of_size[1:][-9:] or [0.0])
    control = np.quantile(
        (of_size if len(of_size) > 20 else [0.0, *wait_s[started]])[1:][-200:] or [0.0],
        LEVELS,
    )
    same, wider = waiting & (size == size[job]), waiting & (size >= size[job])
    work_s = jobs.gpus * jobs.estimate_s
    in_hour = jobs.start_s[started][jobs.start_s[started] >= now_s - 3600]
    hour = start_h + now_s / 3600
    features = [
        *(size[job] - 1, jobs.estimate_s[job], sorted({*queues}).index(queues[job])),
        *(hour % 24, hour // 24 % 7),
        *(waiting.sum(), jobs.gpus[waiting].sum(), work_s[waiting].sum()),
        *(same.sum(), work_s[same].sum(), wider.sum(), work_s[wider].sum()),
        *((waiting & (queues == queues[job])).sum(),),
        *((waiting & (jobs.user == jobs.user[job])).sum(),),
        *(running.sum(), jobs.gpus[running].sum()),
        max(0.0, (jobs.gpus * left_s)[running].sum()),
        *(max([0.0, *(now_s - jobs.arrival_s[who])]) for who in (waiting, same)),
        *(*control, nine[len(nine) // 2], of_size[-1]),
        *(np.mean(recent), recent[-1], of_user[-1], len(in_hour)),
        now_s - in_hour[-1] if len(in_hour) else 3600,
    ]
    return features, control


def test_features_and_control_use_only_the_jobs_known_at_a_submission():
    """From Saturday evening on, on an overloaded server; some starts are unknown, and
    nothing starts for over an hour before the last job.
    """
    jobs, rng = log_of(700), stream(7, "suite waits")
    queues = rng.choice(["short", "long", "night"], jobs.jobs).tolist()
    start_s = np.where(rng.random(jobs.jobs) < 0.1, np.nan, jobs.start_s)
    arrival_s = jobs.arrival_s.copy()
    arrival_s[-1] = start_s[-1] = np.nanmax(start_s) + 3601
    duration_s = jobs.duration_s * rng.choice([1.0, 1.0, 30.0], jobs.jobs)
    jobs = replace(
        jobs,
        tags=Tags({"queue": tuple(queues)}),
        start_s=start_s,
        arrival_s=arrival_s,
        duration_s=duration_s,
    )
    known = known_waits(jobs, start_h=160.5)
    jobs = jobs.chosen(np.flatnonzero(~np.isnan(jobs.start_s)), "")
    assert known.submit_s.tolist() == jobs.arrival_s.tolist()
    assert known.wait_s.tolist() == (jobs.start_s - jobs.arrival_s).tolist()
    for job in (*range(200), *range(200, jobs.jobs, 23), jobs.jobs - 1):
        features, control = known_at(jobs, job, 160.5)
        assert known.features[job] == pytest.approx(features), job
        assert known.control[job] == pytest.approx(control), job


class Shares:
    """Instead of scikit-learn: predicts a feature times the mean wait it has seen."""

    def __init__(self, quantile, **settings):
        assert settings == {
            "loss": "quantile",
            "max_iter": 150,
            "learning_rate": 0.08,
            "min_samples_leaf": 50,
            "early_stopping": False,
            "random_state": 0,
        }
        self.quantile = quantile

    def fit(self, features, wait_s):
        self.mean_s = (features[:, 0] + wait_s).mean()

    def predict(self, features):
        return (features[:, 0] - 0.02) * (1.5 - self.quantile) * self.mean_s


SMALL = {"EVERY": 40, "LEARNED": 60, "CALIBRATED": 28, "TOGETHER": 3}


def test_a_forecast_uses_and_is_scaled_by_started_jobs(monkeypatch):
    """Fits, predictions and factors, job by job. The predictions are in the wrong
    order, and some are negative.
    """
    for name, value in SMALL.items():
        monkeypatch.setattr(waits, name, value)
    module = SimpleNamespace(HistGradientBoostingRegressor=Shares)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", module)
    rng, number, first = stream(8, "suite waits"), 200, 31
    submit_s, wait_s = np.cumsum(rng.integers(1, 9, number)), rng.exponential(40, 200)
    wait_s = np.round(wait_s)  # so that some start at a submission
    known = KnownWaits(rng.random((number, 1)), np.empty(0), submit_s, wait_s)
    raw = np.zeros((number, 3))
    for job in range(first, number):
        begin = first + (job - first) // 40 * 40
        fitted = [k for k in range(begin) if submit_s[k] + wait_s[k] <= submit_s[begin]]
        mean_s = (known.features[:, 0] + wait_s)[fitted[-60:]].mean()
        ratios = 1.5 - np.array(LEVELS[::-1])
        raw[job] = np.maximum(0, ratios * (known.features[job, 0] - 0.02) * mean_s)
    raw.sort(axis=1)
    expected, counts = raw.copy(), set()
    for job in range(first, number):
        begin = first + (job - first) // 3 * 3
        ends_s = submit_s + wait_s
        latest = [k for k in range(first, number) if ends_s[k] <= submit_s[begin]]
        latest = sorted(latest, key=ends_s.__getitem__)[-28:]
        counts.add(len(latest))
        if len(latest) >= 28 // 4:
            for place in (0, 2):
                ratios = (1 + wait_s[latest]) / (1 + raw[latest, place])
                factor = np.quantile(ratios, LEVELS[place])
                expected[job, place] = factor * (1 + raw[job, place]) - 1
    assert {0, 5, 7, 28} < counts
    expected = np.sort(np.maximum(expected, 0), axis=1)[first:]
    assert rolling_forecast(known, first) == pytest.approx(expected)
    assert rolling_forecast(known, number - 1).shape == (1, 3)
    check_refused(lambda: rolling_forecast(known, number), "first(=200)")
    early, late = (replace(known, wait_s=np.full(number, s)) for s in (0.0, 1e6))
    assert rolling_forecast(early, 1).shape == (number - 1, 3)
    check_refused(lambda: rolling_forecast(late, 1), "other jobs have started")


def test_quantiles_are_scored_by_the_pinball_loss():
    wait_s = np.array([0.0, 10.0])
    quantiles_s = np.array([[0.0, 2.0, 4.0], [4.0, 12.0, 20.0]])
    losses = [0.0, 0.5 * 2, 0.05 * 4, 0.05 * 6, 0.5 * 2, 0.05 * 10]
    assert pinball_s(wait_s, quantiles_s) == pytest.approx(np.mean(losses))
    assert coverage(wait_s, quantiles_s) == coverage(wait_s, quantiles_s - 3.0) == 1.0
    assert (
        coverage(wait_s, quantiles_s + 5.0) == coverage(wait_s, quantiles_s - 10) == 0.5
    )


@pytest.mark.slow
def test_a_forecast_is_sharper_than_the_last_waits(monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setattr(waits, "EVERY", 2000)
    known = known_waits(log_of(6000))
    quantiles_s = rolling_forecast(known, 2000)
    wait_s, control = known.wait_s[2000:], known.control[2000:]
    assert pinball_s(wait_s, quantiles_s) < 0.5 * pinball_s(wait_s, control)
    assert 0.85 <= coverage(wait_s, quantiles_s) <= 0.95


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


@pytest.mark.parametrize(
    ("jobs", "module"),
    [
        (100, SimpleNamespace(HistGradientBoostingRegressor=Shares)),
        pytest.param(800, None, marks=pytest.mark.slow),
    ],
)
def test_the_command_forecasts_a_log_that_no_scheduler_explains(
    jobs, module, tmp_path, capsys, monkeypatch
):
    module = module or pytest.importorskip("sklearn.ensemble")
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", module)
    command = written(unexplained(jobs), tmp_path / "log.csv")
    answer = json.loads(output(capsys, *command, "--format", "json"))
    schema = Path(cg.__file__).with_name("data") / "answer.schema.json"
    jsonschema.validate(answer, json.loads(schema.read_text()))
    rows, known = answer["forecast"]["jobs"], np.rint(unexplained(jobs).arrival_s)
    known = (np.rint(unexplained(jobs).start_s) - known)[jobs * 3 // 10 :]
    assert [(row["job"], row["wait_s"]) for row in rows] == [
        *enumerate(known, jobs * 3 // 10)
    ]
    waits_s = np.array([[row[f"wait_{part}_s"] for part in PARTS] for row in rows])
    scores = pinball_s(known, waits_s), 100 * coverage(known, waits_s)
    assert [*answer["figures"][0].values()] == ["model", *scores]
    assert (answer["figures"][1]["alternative"], answer["explained_by"]) == (
        "control",
        [],
    )
    assert output(capsys, *command).startswith("no scheduler explains this log: none")


def test_the_command_without_scikit_learn_names_the_extra(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    assert main(written(unexplained(100), tmp_path / "log.csv")) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert 'pip install ".[forecast]"' in line


def test_jobs_without_gpus_have_their_own_class_and_cores_count_without_any_gpu():
    jobs = log_of(40)
    on_cores = replace(jobs, gpus=np.zeros(40), cores=jobs.gpus)
    features = known_waits(jobs).features
    assert np.array_equal(known_waits(on_cores).features, features)
    few = replace(jobs, gpus=np.arange(40) % 3, cores=jobs.gpus)
    assert known_waits(few).features[:, 0].tolist() == [-1, 0, 1] * 13 + [-1]


def test_a_log_without_waits_is_rejected():
    jobs = log_of(20)
    jobs.start_s[:] = np.nan
    check_refused(lambda: known_waits(jobs), "the log records no waits")
    jobs.start_s[7] = jobs.arrival_s[7] + 3
    assert known_waits(jobs).wait_s == pytest.approx([3])
