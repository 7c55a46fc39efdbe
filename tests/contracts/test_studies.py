"""Every feature of a study: a plain SimPy function, a cg.Model and a day of rental."""

import json
import pickle
from dataclasses import dataclass

import pytest
from studies.function_models import bank

import cgrsp_simpy as cg
from cgrsp_simpy import plots


@dataclass(frozen=True)
class Counter(cg.Model):
    """One queue, as a cg.Model."""

    clerks: int = 2
    jobs: int = 60

    def resources(self):
        return cg.slots(self.clerks, "clerk")

    def arrivals(self, draw):
        at_s = draw("gaps").exponential(60, self.jobs).cumsum()
        works_s = draw("works").exponential(100, self.jobs)
        return [(at, n, work) for n, (at, work) in enumerate(zip(at_s, works_s))]

    def job_process(self, run, job):
        with run.claim(job) as claim:
            yield claim
            yield run.timeout(run.hidden[job])


def last_come(view):
    return zip(reversed(view.queue), view.free)


SUBJECTS = {
    "function": (bank, {"two": {}, "three": {"tellers": 3}}, "tellers", "desk_wait"),
    "model": (Counter(), {"two": "first", "three": last_come}, "clerks", "wait_s"),
    "rental": (
        cg.day("normal", jobs=40),
        {"two": "fifo", "three": "rh"},
        "slots",
        "wait_min",
    ),
}


@pytest.fixture(params=SUBJECTS)
def subject(request):
    return SUBJECTS[request.param]


def test_compare(subject):
    scenario, alternatives, _, figure = subject
    study = cg.compare(scenario, alternatives, seeds=range(4))
    assert study.policies == ["two", "three"]
    assert [len(study.values(name, figure)) for name in alternatives] == [4, 4]
    assert study.differences()["three"][figure].n == 4
    assert "paired by seed" in str(study)


def test_sweep(subject):
    scenario, _, parameter, figure = subject
    sweep = cg.sweep(scenario, {parameter: [2, 4]}, seeds=range(2))
    waits = [sweep.at(**{parameter: number}).means() for number in (2, 4)]
    few, many = (next(iter(rows.values()))[figure].mean for rows in waits)
    assert few > many


def test_select(subject):
    scenario, alternatives, _, figure = subject
    policies = list(alternatives.values())
    means = cg.compare(scenario, policies, seeds=range(3)).means()
    least = min(means, key=lambda name: means[name][figure].mean)
    # so large a difference is excluded by the first runs: the best of them is chosen
    chosen = cg.select(scenario, policies, 1e6, figure=figure, first=3)
    assert chosen.best == least
    assert set(chosen.means) == set(means)


def test_precision(subject):
    scenario, alternatives, _, figure = subject
    study = cg.compare(scenario, alternatives, seeds=range(3), precision={figure: 0.5})
    for name in study.policies:
        mean = study.means()[name][figure]
        assert mean.half_width <= 0.5 * abs(mean.mean)


def test_results_directory(subject, tmp_path):
    scenario, alternatives, _, _ = subject
    out = tmp_path / "out"
    study = cg.compare(scenario, alternatives, seeds=range(3), out=out)
    chunks = sorted((out / "chunks").iterdir())
    times = [path.stat().st_mtime_ns for path in chunks]
    assert cg.compare(scenario, alternatives, range(3), out=out).rows == study.rows
    assert [path.stat().st_mtime_ns for path in chunks] == times
    chunks[0].unlink()
    assert cg.compare(scenario, alternatives, range(3), out=out).rows == study.rows
    with pytest.raises(cg.InputError, match="use another directory"):
        cg.compare(scenario, alternatives, range(4), out=out)


@pytest.mark.parametrize("executor", [1, 2])
def test_workers(subject, executor):
    scenario, alternatives, _, _ = subject
    here = cg.compare(scenario, alternatives, seeds=range(3))
    assert cg.compare(scenario, alternatives, range(3), executor).rows == here.rows


@pytest.mark.slow
def test_dask(subject):
    distributed = pytest.importorskip("distributed")
    scenario, alternatives, _, _ = subject
    here = cg.compare(scenario, alternatives, seeds=range(3))
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        there = cg.compare(scenario, alternatives, range(3), client.get_executor())
    assert there.rows == here.rows


def test_pickle(subject):
    scenario, alternatives, _, _ = subject
    study = cg.compare(scenario, alternatives, seeds=range(2))
    copy = pickle.loads(pickle.dumps(study))
    assert copy.rows == study.rows
    run = study.run("three", 1)
    assert pickle.loads(pickle.dumps(run)).summary() == run.summary()


@pytest.mark.slow
def test_files_and_frames(subject, tmp_path):
    pytest.importorskip("pandas")
    scenario, alternatives, _, figure = subject
    study = cg.compare(scenario, alternatives, seeds=range(2))
    study.to_csv(tmp_path / "rows.csv")
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 5
    study.to_json(tmp_path / "study.json")
    stored = json.loads((tmp_path / "study.json").read_text())
    assert stored["figures"][1][figure]["n"] == 2
    assert study.to_pandas()[figure].tolist() == [row[figure] for row in study.rows]
    assert "<table" in study._repr_html_()
    run = study.run("two", 0)
    assert len(run.to_pandas()) == len(run.jobs)
    assert "<table" in run._repr_html_()


def test_plots(subject, tmp_path):
    scenario, alternatives, parameter, figure = subject
    study = cg.compare(scenario, alternatives, seeds=range(3))
    run = study.run("two", 0)
    for ax in (
        plots.policy_bars(study, figure),
        plots.gantt(run),
        plots.queue_length([run, study.run("three", 0)]),
        plots.slot_timeline(run),
        plots.wait_histogram(run),
        plots.sweep_lines(
            cg.sweep(scenario, {parameter: [2, 3]}, seeds=range(2)), figure
        ),
    ):
        ax.figure.savefig(tmp_path / "plot.png")
    plots.animate(run).save(tmp_path / "player.html")
    assert "<script" in (tmp_path / "player.html").read_text()


def test_a_failed_run_is_a_row_with_its_error(subject):
    scenario, alternatives, _, _ = subject
    wrong = (
        {"wrong": {"gap_s": "x"}} if scenario is bank else {"wrong": lambda v: 1 / 0}
    )
    study = cg.compare(scenario, {**alternatives, **wrong}, seeds=range(2))
    assert [row["policy"] for row in study.failures] == ["wrong", "wrong"]
    assert len(study.rows) == 6
